/* CPU device, operators: what the operators on images share.
 *
 * Kernels take contiguous arrays of float32 or float64 (halves are computed in float32)
 * with three spatial dimensions; a tensor that is so already is used where it lies.
 */
#ifndef ASN_DEVICE_OPAPI_NN_IMAGE_H
#define ASN_DEVICE_OPAPI_NN_IMAGE_H

#include "device/opapi/core/view.h"

/* (batch, channels, then `spatial` extents), the batch possibly missing, as (n, c, d, h,
 * w). */
void asn_image_stand(asnd_view *v, int spatial);

/* A contiguous view of the dtype: the array itself, or a temporary copy. */
ASN_CHECK_RESULT asn_status asn_image_plain(asnd_tmp *tmp, const asnd_nd *a,
                                            asn_dtype dtype, asnd_view *out);
/* Where a contiguous result of the dtype may be made: the output itself when it is so and
 * meets no input, else a temporary, which asn_image_finish moves. */
ASN_CHECK_RESULT asn_status asn_image_result(const aclOpExecutor *e, asnd_tmp *tmp,
                                             const asnd_nd *out, asn_dtype dtype,
                                             asnd_view *result);
/* Moves the temporary to the output, with conversion; nothing where they are one. */
ASN_CHECK_RESULT asn_status asn_image_finish(const asnd_nd *out, const asnd_view *result);

/* What the kernels compute in for tensors of dtype t. */
static inline asn_dtype asn_image_dtype(asn_dtype t) {
    return t == ASN_F64 ? ASN_F64 : ASN_F32;
}

/* Parameters. Reads the aclIntArray that parameter i is into values[0 .. n): n numbers in
 * [low, INT32_MAX], or one that stands for all; NULL or empty gives `fallback` (an error
 * where fallback < low). */
ASN_CHECK_RESULT asn_status asn_image_ints(const asnd_call *c, int i, int n, int64_t low,
                                           int64_t fallback, int64_t *values);
/* The tensor has spatial + 1 or spatial + 2 dimensions. */
ASN_CHECK_RESULT asn_status asn_image_rank(const asnd_call *c, int i, int spatial);

#endif
