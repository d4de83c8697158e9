/* CPU device: numpy.repeat along an axis.
 *
 * One count for all is a copy in disguise: an extra dimension with stride 0 in the
 * source. Counts of their own become an index array, element i counts[i] times, and a
 * take.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/index/index.h"

/* Each element `count` times: out's axis becomes two, elements outside, repetitions
 * inside. */
static asn_status repeat_all(const asnd_nd *in, int axis, int64_t count,
                             const asnd_nd *out) {
    int64_t shape[ASN_ND_MAX_DIMS + 1], from[ASN_ND_MAX_DIMS + 1],
        to[ASN_ND_MAX_DIMS + 1];
    if (in->ndim == ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "repeat: at most %d dimensions are allowed",
                             ASN_ND_MAX_DIMS - 1);
    for (int d = 0; d <= in->ndim; d++) {
        int s = d <= axis ? d : d - 1;
        shape[d] = d == axis + 1 ? count : in->shape[s];
        from[d] = d == axis + 1 ? 0 : in->strides[s];
        to[d] = d == axis ? out->strides[axis] * count : out->strides[s];
    }
    asnd_nd src = {in->data, in->ndim + 1, in->dtype, shape, from};
    asnd_nd dst = {out->data, in->ndim + 1, in->dtype, shape, to};
    return asn_cpu_copy(&dst, &src);
}

/* Counts are looked at before anything is written; NumPy's messages. */
asn_status asn_cpu_repeat(const asnd_nd *in, int axis, const asnd_nd *counts,
                          const asnd_nd *out) {
    if (axis < 0 || axis >= in->ndim || out->ndim != in->ndim ||
        out->dtype != in->dtype || counts->ndim != 1 || counts->dtype != ASN_I64)
        return asn_error_set(
            ASN_ERR_VALUE,
            "repeat: axis %d of a %d-d %s with %d-d %s counts into a %d-d %s", axis,
            in->ndim, asn_dtype_name(in->dtype), counts->ndim,
            asn_dtype_name(counts->dtype), out->ndim, asn_dtype_name(out->dtype));
    int64_t extent = in->shape[axis], given = counts->shape[0], sum = 0;
    if (given != extent && given != 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "operands could not be broadcast together with shape (%lld,) "
            "(%lld,)",
            (long long)extent, (long long)given);
    for (int64_t i = 0; i < given; i++) {
        int64_t c = *(const int64_t *)(counts->data + i * counts->strides[0]);
        if (c < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "repeats may not contain negative values.");
        if (!asn_add_size(sum, c, &sum))
            return asn_error_set(ASN_ERR_VALUE, "repeat: the result is too large");
    }
    if (given == 1 && !asn_mul_size(sum, extent, &sum))
        return asn_error_set(ASN_ERR_VALUE, "repeat: the result is too large");
    if (sum != out->shape[axis])
        return asn_error_set(ASN_ERR_VALUE,
                             "repeat: the counts add up to %lld, the result has %lld",
                             (long long)sum, (long long)out->shape[axis]);
    if (given == 1) return repeat_all(in, axis, *(const int64_t *)counts->data, out);
    /* Counts of their own: position i stands in the list counts[i] times. */
    int64_t *list = asn_malloc((size_t)sum * sizeof *list);
    if (!list) return ASN_ERR_MEMORY;
    for (int64_t i = 0, at = 0; i < extent; i++)
        for (int64_t c = *(const int64_t *)(counts->data + i * counts->strides[0]); c;
             c--)
            list[at++] = i;
    static const int64_t stride = sizeof(int64_t);
    asnd_nd idx = {(char *)list, 1, ASN_I64, &sum, &stride};
    asn_status status = asn_cpu_take(in, axis, &idx, ASN_INDEX_RAISE, out);
    asn_free(list);
    return status;
}
