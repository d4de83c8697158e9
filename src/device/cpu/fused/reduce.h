/* CPU device: reductions that are no fused programs, and a direct entry to those that
 * are. */
#ifndef ASN_DEVICE_CPU_FUSED_REDUCE_H
#define ASN_DEVICE_CPU_FUSED_REDUCE_H

#include "device/cpu/nd.h"
#include "ops/ops.h"

/* Index of the first largest / smallest element along `axis` (the first NaN wins) into
 * int64 `out`, which has in's dimensions without `axis`. Error: empty axis,
 * ASN_ERR_VALUE. */
ASN_CHECK_RESULT asn_status asn_cpu_argmax(const asnd_nd *in, int axis,
                                           const asnd_nd *out);
ASN_CHECK_RESULT asn_status asn_cpu_argmin(const asnd_nd *in, int axis,
                                           const asnd_nd *out);

/* Reduction with any binary row over the dimensions of `mask`. `out` has in's ndim,
 * extent 1 there, and the dtype of the row's loop (in's, but bool for logical_*, whose
 * input is bool already). fp_flags: NULL, or receives ACLNNX_FP_*. */
ASN_CHECK_RESULT asn_status asn_cpu_reduce(asn_op op, uint64_t mask, const asnd_nd *in,
                                           const asnd_nd *out, uint32_t *fp_flags);

/* *m2 = the sum of (x - mean)^2 over n contiguous float32 or float64 (variance.c). */
ASN_CHECK_RESULT asn_status asn_cpu_squared_deviations(asn_dtype dtype, int64_t n,
                                                       const void *data, double *m2);

/* Number of elements that are not 0. */
ASN_CHECK_RESULT asn_status asn_cpu_count_nonzero(const asnd_nd *in, int64_t *count);

#endif
