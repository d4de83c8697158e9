/* L2 graph: Fourier transforms along one axis (see families.h), by aclnnxFft.
 *
 * A device without it has them computed by the host's device (asn_host_fft, with the
 * operands copied there and back). The transform works on strides, so that any axis of
 * any view is transformed where it lies. */
#include <math.h>
#include <string.h>

#include "graph/plan/fallback.h"
#include "graph/operators/families.h"
#include "graph/plan/launch.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/trace/trace.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/streams/uses.h"

/* An array as the operator wants it, what is recorded for it being flushed. `written`:
 * also what reads it. */
static asn_status operand(const asn_array *a, bool written, aclnnxOperand *o) {
    ASN_TRY(asn_trace_settle(a->buffer, written));
    ASN_TRY(asn_buffer_ensure(a->buffer));
    *o = (aclnnxOperand){.data = (char *)a->buffer->data + a->layout.offset,
                         .strides = a->layout.strides,
                         .dtype = (uint8_t)asn_dtype_table[a->layout.dtype].acl,
                         .reduceOp = ACLNNX_NO_REDUCE};
    return ASN_OK;
}

/* As NumPy's ufuncs of them are called. */
static const char *name_of(int kind, int64_t n) {
    switch (kind) {
    case ACLNNX_FFT_FORWARD: return "fft";
    case ACLNNX_FFT_BACKWARD: return "ifft";
    case ACLNNX_FFT_FROM_REAL: return n % 2 ? "rfft_n_odd" : "rfft_n_even";
    default: return "irfft";
    }
}

/* The event of the profile. A transform of n points is counted as 5 n log2(n) operations,
 * as is usual. */
static void record(asn_mark mark, const asn_array *a, const asn_array *result,
                   int64_t n) {
    double lines = n ? (double)result->layout.size / (double)n : 0;
    double flops = lines * 5 * (double)n * log2((double)(n > 1 ? n : 2));
    asn_record_relative(mark, "fft", 2, (const asn_array *[]){a, result}, (int64_t)flops);
}

/* The transform itself, with the library's lock held. The result has memory and is not
 * empty. */
static asn_status transform(const asn_array *result, const asn_array *a, int kind,
                            int64_t n, double scale, int axis) {
    aclnnxOperand in, out;
    ASN_TRY(operand(a, false, &in));
    ASN_TRY(operand(result, true, &out));
    if (!asn_acl.aclnnxFft) {
        asn_mark mark = asn_profile_begin();
        asn_status status = asn_host_fft(kind, n, scale, &in, a->layout.shape, &out,
                                         result->layout.shape, a->layout.ndim, axis);
        asn_fp_note(name_of(kind, n));
        if (mark.ticks) record(mark, a, result, n);
        return status;
    }
    ASN_TRY(asn_buffer_use(a->buffer, false));
    ASN_TRY(asn_buffer_use(result->buffer, true));
    asn_stream_launch(true);
    asn_mark mark = asn_profile_begin_on_device();
    /* long work: other threads of Python may run meanwhile */
    void *state = asn_blocking_enter();
    int code = asn_acl.aclnnxFft(kind, n, scale, &in, a->layout.shape, &out,
                                 result->layout.shape, a->layout.ndim, axis,
                                 asn_fp_sink(), asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(true); /* another thread may have waited meanwhile */
    asn_fp_note(name_of(kind, n));
    if (mark.ticks) record(mark, a, result, n);
    if (code) return asn_acl_failed(code, "fft");
    return asn_trace_catch_up_on(2, (const asn_array *[]){a, result});
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
