/* CPU device: advanced indexing, gather and scatter, masks.
 *
 * Index arrays are int64 views. A negative index counts from the end, once; anything else
 * out of range is ASN_ERR_INDEX, `index 7 is out of bounds for axis 0 with size 5`,
 * before self is written. Mask arrays are bool views. Elements of any dtype are moved
 * as bytes.
 */
#ifndef ASN_DEVICE_CPU_INDEX_INDEX_H
#define ASN_DEVICE_CPU_INDEX_INDEX_H

#include "device/cpu/nd.h"
#include "ops/ops.h"

/* out[j..., r...] = self[idx0[j...], ..., idx(nidx-1)[j...], r...]: indexes the leading
 * nidx dimensions of self. The idx have one shape J (broadcast by strides); out's shape
 * is J + the rest of self's. The caller permutes self and out by strides for other
 * placements. */
ASN_CHECK_RESULT asn_status asn_cpu_index_get(const asnd_nd *self, int nidx,
                                              const asnd_nd *const idx[],
                                              const asnd_nd *out);

/* self[idx..., r...] = values[j..., r...]: with ASN_OP_NONE the last duplicate wins; else
 * self = op( self, value), unbuffered in order, as ufunc.at. values has out's shape above
 * (broadcast by strides) and self's dtype, or with an op any that it has a loop for:
 * self's elements are converted to it and back. fp_flags: NULL, or has the ACLNNX_FP_*
 * that an op raised or-ed in. ASN_ERR_NO_LOOP: the op has none for the dtype. */
ASN_CHECK_RESULT asn_status asn_cpu_index_put(const asnd_nd *self, int nidx,
                                              const asnd_nd *const idx[],
                                              const asnd_nd *values, asn_op accumulate_op,
                                              uint32_t *fp_flags);

/* As the two above, but out-of-range indices are wrapped (ASN_INDEX_WRAP) or clipped
 * (ASN_INDEX_CLIP) as numpy.take(mode=...) does. */
typedef enum { ASN_INDEX_RAISE, ASN_INDEX_WRAP, ASN_INDEX_CLIP } asnd_index_mode;
/* out[a..., j..., b...] = self[a..., idx[j...], b...] at `axis`. */
ASN_CHECK_RESULT asn_status asn_cpu_take(const asnd_nd *self, int axis,
                                         const asnd_nd *idx, asnd_index_mode mode,
                                         const asnd_nd *out);

/* out[i, ..., j, ...] = self[i, ..., idx[i, ..., j, ...], ...] along `axis`
 * (numpy.take_along_axis, torch.gather): idx and out have one shape, self may be larger
 * off the axis or broadcast. */
ASN_CHECK_RESULT asn_status asn_cpu_gather(const asnd_nd *self, int axis,
                                           const asnd_nd *idx, const asnd_nd *out);
/* The reverse: self[..., idx[...], ...] = src[...]; accumulate_op as in
 * asn_cpu_index_put. */
ASN_CHECK_RESULT asn_status asn_cpu_scatter(const asnd_nd *self, int axis,
                                            const asnd_nd *idx, const asnd_nd *src,
                                            asn_op accumulate_op);

/* Positions of the elements of `in` that are not 0, in row-major order, as int64. `out`
 * is 2-d of any strides: (in.ndim, N), or (N, in.ndim) when transposed by strides:
 * element (d, i) is addressed as data + d * strides[0] + i * strides[1]. N =
 * asn_cpu_count_nonzero(in) must fit shape[1]. */
ASN_CHECK_RESULT asn_status asn_cpu_nonzero(const asnd_nd *in, const asnd_nd *out,
                                            int64_t *count);

/* out[k] = the k-th element of self where mask holds (one shape, row-major order). out is
 * 1-d and as long as the count at least; *count receives it. */
ASN_CHECK_RESULT asn_status asn_cpu_masked_select(const asnd_nd *self,
                                                  const asnd_nd *mask, const asnd_nd *out,
                                                  int64_t *count);
/* self[mask] = values[0], values[1], ...: values is 1-d; error when it is too short. */
ASN_CHECK_RESULT asn_status asn_cpu_masked_scatter(const asnd_nd *self,
                                                   const asnd_nd *mask,
                                                   const asnd_nd *values);
/* self[mask] = *element */
ASN_CHECK_RESULT asn_status asn_cpu_masked_fill(const asnd_nd *self, const asnd_nd *mask,
                                                const void *element);

/* numpy.repeat along `axis`: counts is 1-d int64, in's extent long or 1 long (every
 * element); out's extent along `axis` is the sum of the counts. Errors: negative count,
 * wrong sum. */
ASN_CHECK_RESULT asn_status asn_cpu_repeat(const asnd_nd *in, int axis,
                                           const asnd_nd *counts, const asnd_nd *out);

#endif
