/* L2 graph: Fourier transforms along one axis (see families.h), by aclnnxFft.
 *
 * A device without it has them computed by the host's device (asn_host_fft, with the
 * operands copied there and back). The transform works on strides, so that any axis of
 * any view is transformed where it lies. */
#include <math.h>
#include <string.h>

#include "graph/device/fallback.h"
#include "graph/operators/families.h"
#include "graph/fp.h"
#include "graph/lock.h"
#include "graph/device/relative.h"
#include "graph/trace/trace.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"

/* As NumPy's ufuncs of them are called. */
static const char *name_of(int kind, int64_t n) {
    switch (kind) {
    case ACLNNX_FFT_FORWARD: return "fft";
    case ACLNNX_FFT_BACKWARD: return "ifft";
    case ACLNNX_FFT_FROM_REAL: return n % 2 ? "rfft_n_odd" : "rfft_n_even";
    default: return "irfft";
    }
}

/* The transform itself, with the library's lock held. The result has memory and is not
 * empty. */
static asn_status transform(const asn_array *result, const asn_array *a, int kind,
                            int64_t n, double scale, int axis) {
    const asn_array *both[2] = {a, result};
    aclnnxOperand o[2];
    ASN_TRY(asn_relative_operands(2, both, 1, o));
    if (!asn_acl.aclnnxFft) {
        asn_status status = asn_host_fft(kind, n, scale, &o[0], a->layout.shape, &o[1],
                                         result->layout.shape, a->layout.ndim, axis);
        asn_fp_note(name_of(kind, n));
        return status;
    }
    ASN_TRY(asn_relative_begin(2, both, 1, true));
    /* long work: other threads of Python may run meanwhile */
    void *state = asn_blocking_enter();
    int code = asn_acl.aclnnxFft(kind, n, scale, &o[0], a->layout.shape, &o[1],
                                 result->layout.shape, a->layout.ndim, axis,
                                 asn_fp_sink(), asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(true); /* another thread may have waited meanwhile */
    asn_fp_note(name_of(kind, n));
    return asn_relative_end(code, "fft", 2, both);
}

/* A result of a's shape but for one axis, in a's order in memory, as NumPy's. */
static asn_status result_like(asn_array *result, const asn_array *a, asn_dtype dtype,
                              int axis, int64_t extent) {
    asn_array model = {.buffer = NULL};
    ASN_TRY(asn_layout_copy(&model.layout, &a->layout));
    model.layout.shape[axis] = extent;
    asn_status status = asn_array_new_like(result, &model, dtype, 'K');
    asn_layout_fini(&model.layout);
    return status;
}

/* (Contract in families.h.) `complex` is what a complex result of this precision has. */
asn_status asn_fft(asn_array *result, const asn_array *a, int kind, int64_t n,
                   double scale, int axis, const asn_array *into) {
    asn_dtype from = asn_layout_dtype(&a->layout);
    bool single = from == ASN_F32 || from == ASN_C64;
    asn_dtype real = single ? ASN_F32 : ASN_F64, complex = single ? ASN_C64 : ASN_C128;
    ASN_TRY(asn_device_open());
    int64_t extent = kind == ACLNNX_FFT_FROM_REAL ? n / 2 + 1 : n;
    /* The lock covers making the result, too: it may take memory from the pool. */
    asn_lock();
    asn_status status =
        into ? asn_array_share(result, into)
             : result_like(result, a, kind == ACLNNX_FFT_TO_REAL ? real : complex, axis,
                           extent);
    if (!status && result->layout.size) {
        status = transform(result, a, kind, n, scale, axis);
        if (status) asn_array_fini(result);
    }
    asn_unlock();
    return status;
}

asn_dtype asn_fft_dtype(asn_dtype d, int kind) {
    bool single = asn_is_half(d) || d == ASN_F32 || d == ASN_C64;
    if (kind == ACLNNX_FFT_FROM_REAL) return single ? ASN_F32 : ASN_F64;
    return single ? ASN_C64 : ASN_C128;
}

/* The default, "backward", scales the inverse by 1 / n and the other direction not at
 * all; "forward" does the opposite; "ortho" scales both by the root. */
bool asn_fft_factor(const char *norm, int64_t n, int kind, double *scale) {
    bool inverse = kind == ACLNNX_FFT_BACKWARD || kind == ACLNNX_FFT_TO_REAL;
    *scale = 1;
    if (strcmp(norm, inverse ? "backward" : "forward") == 0)
        *scale = 1 / (double)n;
    else if (strcmp(norm, "ortho") == 0)
        *scale = 1 / sqrt((double)n);
    else
        return strcmp(norm, inverse ? "forward" : "backward") == 0;
    return true;
}
