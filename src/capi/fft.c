/* L3 C binding: Fourier transforms (fft.h).
 *
 * One transform along one axis is the core's; this file has what NumPy says around it:
 * how many points, which factor, which dtype goes in, and the order of axes in transforms
 * of several. Those run one axis after the other, the last one first, as NumPy's do; a
 * real transform takes its own axis first forwards and last backwards, since the others
 * need its complex half.
 *
 * Of several axes each is transformed into an array of its own, which ends when the next
 * one is made. NumPy's out= has no counterpart: C programs assign the result.
 */
#include "capi/capi.h"

#include "aclnn/aclnnx.h"
#include "numpy/axes.h"
#include "numpy/frequencies.h"

/* *points: how many points the transform has (n, or 0: as many as there are; to real, 2
 * (m - 1) of m); *scale: the factor of norm ("backward", "ortho", "forward") for its
 * direction. VALUE: no points, another norm. */
static asn_status plan(const asnp_array *a, int64_t n, const char *norm, int axis,
                       int kind, int64_t *points, double *scale) {
    int64_t extent = asn_capi_layout(a)->shape[axis];
    *points = n ? n : kind == ACLNNX_FFT_TO_REAL ? 2 * (extent - 1) : extent;
    if (*points < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "Invalid number of FFT data points (%lld) specified.",
                             (long long)*points);
    if (asn_fft_factor(norm ? norm : "backward", *points, kind, scale)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "Invalid norm value %s; should be \"backward\",\"ortho\" or "
                         "\"forward\".",
                         norm);
}

/* One transform of n points along an axis. The input is cast to the dtype that NumPy
 * transforms: float32 stays single, integers become double. norm NULL: "backward", as
 * NumPy's default. */
static asnp_status transform(const asnp_array *a, int64_t n, int32_t axis,
                             const char *norm, int kind, asnp_array **out) {
    asn_array input, made;
    int64_t points;
    double scale;
    int at;
    NEED(a);
    NEED(out);
    /* The dtype that goes in: single for halves and single, double for all else. */
    asn_dtype given = asn_capi_type(a), want = asn_fft_dtype(given, kind);
    if (kind == ACLNNX_FFT_FROM_REAL && asn_is_complex(given))
        return asn_error_set(ASN_ERR_TYPE, "rfft takes real numbers, not %s",
                             asn_dtype_name(given));
    ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, &at));
    ASN_TRY(plan(a, n, norm, at, kind, &points, &scale));
    ASN_TRY(given == want ? asn_array_share(&input, &a->array)
                          : asn_copy(&input, &a->array, want, 'K'));
    asn_status status = asn_fft(&made, &input, kind, points, scale, at, NULL);
    asn_array_fini(&input);
    return asn_capi_wrap(status, &made, out);
}

/* n differs from the extent: a longer axis is cut, a shorter one extended with zeros. */
asnp_status asnp_fft(const asnp_array *a, int64_t n, int32_t axis, const char *norm,
                     asnp_array **out) {
    IN_LIBRARY;
    return transform(a, n, axis, norm, ACLNNX_FFT_FORWARD, out);
}

asnp_status asnp_ifft(const asnp_array *a, int64_t n, int32_t axis, const char *norm,
                      asnp_array **out) {
    IN_LIBRARY;
    return transform(a, n, axis, norm, ACLNNX_FFT_BACKWARD, out);
}

/* The n / 2 + 1 terms that are not conjugates of others. Complex input is refused. */
asnp_status asnp_rfft(const asnp_array *a, int64_t n, int32_t axis, const char *norm,
                      asnp_array **out) {
    IN_LIBRARY;
    return transform(a, n, axis, norm, ACLNNX_FFT_FROM_REAL, out);
}

/* The reverse of rfft; an odd n must be given, since n / 2 + 1 terms do not tell. */
asnp_status asnp_irfft(const asnp_array *a, int64_t n, int32_t axis, const char *norm,
                       asnp_array **out) {
    IN_LIBRARY;
    return transform(a, n, axis, norm, ACLNNX_FFT_TO_REAL, out);
}

/* ---- several axes */

/* The axes of an n-dimensional transform, the last one first; as in NumPy one may come
 * twice. */
static asn_status read_axes(const asnp_array *a, int32_t num_axes, const int64_t *lengths,
                            const int32_t *axes, int *count, int32_t *at) {
    NEED(a);
    int ndim = asn_capi_layout(a)->ndim;
    *count = axes || lengths ? num_axes : ndim;
    if (*count < 0 || *count > ASN_MAX_DIMS || (!axes && *count > ndim))
        return asn_error_set(ASN_ERR_VALUE, "num_axes is %d; it may be 0 to %d", *count,
                             axes ? ASN_MAX_DIMS : ndim);
    for (int i = 0; i < *count; i++) {
        int one;
        ASN_TRY(asn_axis_normalize(axes ? axes[*count - 1 - i] : -1 - i, ndim, &one));
        at[i] = one;
    }
    return ASN_OK;
}

/* `kind` along axes[0 .. count), each time on the result before; takes nothing. */
static asnp_status in_turn(const asnp_array *a, int count, const int64_t *lengths,
                           const int32_t *at, int from, const char *norm, int kind,
                           asnp_array **out) {
    /* x: the result so far, at first a share of `a`. */
    asnp_array *x = NULL;
    asnp_status status = asnp_share(a, &x);
    for (int i = from; i < count && !status; i++) {
        asnp_array *next = NULL;
        status =
            transform(x, lengths ? lengths[count - 1 - i] : 0, at[i], norm, kind, &next);
        asnp_release(x);
        x = next;
    }
    if (status)
        asnp_release(x);
    else
        *out = x;
    return status;
}

/* Without an axis there is nothing to transform, but complex numbers result. */
static asnp_status complex_along(const asnp_array *a, int32_t num_axes,
                                 const int64_t *lengths, const int32_t *axes,
                                 const char *norm, int kind, asnp_array **out) {
    int32_t at[ASN_MAX_DIMS];
    int count;
    NEED(out);
    ASN_TRY(read_axes(a, num_axes, lengths, axes, &count, at));
    return in_turn(a, count, lengths, at, 0, norm, kind, out);
}

/* axes NULL: the last num_axes where lengths are given, else all. */
asnp_status asnp_fftn(const asnp_array *a, int32_t num_axes, const int64_t *lengths,
                      const int32_t *axes, const char *norm, asnp_array **out) {
    IN_LIBRARY;
    return complex_along(a, num_axes, lengths, axes, norm, ACLNNX_FFT_FORWARD, out);
}

asnp_status asnp_ifftn(const asnp_array *a, int32_t num_axes, const int64_t *lengths,
                       const int32_t *axes, const char *norm, asnp_array **out) {
    IN_LIBRARY;
    return complex_along(a, num_axes, lengths, axes, norm, ACLNNX_FFT_BACKWARD, out);
}

/* A real transform of several axes needs one that is the real one. */
static asn_status need_axis(int count) {
    return count ? ASN_OK
                 : asn_error_set(ASN_ERR_VALUE, "at least 1 axis must be transformed");
}

/* at[0] is the last axis: it goes from real to half, then the others are complex. */
asnp_status asnp_rfftn(const asnp_array *a, int32_t num_axes, const int64_t *lengths,
                       const int32_t *axes, const char *norm, asnp_array **out) {
    IN_LIBRARY;
    int32_t at[ASN_MAX_DIMS];
    int count;
    asnp_array *half = NULL;
    NEED(out);
    ASN_TRY(read_axes(a, num_axes, lengths, axes, &count, at));
    ASN_TRY(need_axis(count));
    asnp_status status = transform(a, lengths ? lengths[count - 1] : 0, at[0], norm,
                                   ACLNNX_FFT_FROM_REAL, &half);
    if (!status)
        status = in_turn(half, count, lengths, at, 1, norm, ACLNNX_FFT_FORWARD, out);
    asnp_release(half);
    return status;
}

/* The reverse: complex along the others, and the last axis back to real. */
asnp_status asnp_irfftn(const asnp_array *a, int32_t num_axes, const int64_t *lengths,
                        const int32_t *axes, const char *norm, asnp_array **out) {
    IN_LIBRARY;
    int32_t at[ASN_MAX_DIMS];
    int count;
    asnp_array *rest = NULL;
    NEED(out);
    ASN_TRY(read_axes(a, num_axes, lengths, axes, &count, at));
    ASN_TRY(need_axis(count));
    asnp_status status =
        in_turn(a, count, lengths, at, 1, norm, ACLNNX_FFT_BACKWARD, &rest);
    if (!status)
        status = transform(rest, lengths ? lengths[count - 1] : 0, at[0], norm,
                           ACLNNX_FFT_TO_REAL, out);
    asnp_release(rest);
    return status;
}

/* ---- frequencies */

/* NumPy divides by n; C has no ZeroDivisionError to say so. */
static asn_status check_count(int64_t n) {
    return n >= 1 ? ASN_OK
                  : asn_error_set(ASN_ERR_VALUE,
                                  "the number of points is %lld; it must be 1 or more",
                                  (long long)n);
}

/* d: the spacing of samples; 0 gives infinite frequencies, as NumPy's division does. */
asnp_status asnp_fftfreq(int64_t n, double d, asnp_array **out) {
    IN_LIBRARY;
    const asn_operand factor = asn_operand_float(1.0 / ((double)n * d));
    asn_array made;
    NEED(out);
    ASN_TRY(check_count(n));
    return asn_capi_wrap(asn_np_fftfreq(&made, n, &factor), &made, out);
}

/* The terms that a real transform of n points has. */
asnp_status asnp_rfftfreq(int64_t n, double d, asnp_array **out) {
    IN_LIBRARY;
    const asn_operand factor = asn_operand_float(1.0 / ((double)n * d));
    asn_array made;
    NEED(out);
    ASN_TRY(check_count(n));
    return asn_capi_wrap(asn_np_rfftfreq(&made, n, &factor), &made, out);
}

/* Rolls the axes listed (NULL: all) by half their extents; back: ifftshift, which differs
 * for odd extents. */
static asnp_status shift(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                         bool back, asnp_array **out) {
    uint64_t mask;
    int at[ASN_MAX_DIMS], n = 0;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_axes(num_axes, axes, asn_capi_layout(a)->ndim, &mask));
    for (int d = 0; d < asn_capi_layout(a)->ndim; d++)
        if (mask >> d & 1) at[n++] = d;
    return asn_capi_wrap(asn_np_fftshift(&made, &a->array, n, at, back), &made, out);
}

/* The zero frequency to the middle; ifftshift puts it back in front. */
asnp_status asnp_fftshift(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                          asnp_array **out) {
    IN_LIBRARY;
    return shift(a, num_axes, axes, false, out);
}

asnp_status asnp_ifftshift(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                           asnp_array **out) {
    IN_LIBRARY;
    return shift(a, num_axes, axes, true, out);
}
