/* CPU device, operators: what the quantising operators share. */
#ifndef ASN_DEVICE_OPAPI_QUANT_QUANT_H
#define ASN_DEVICE_OPAPI_QUANT_QUANT_H

#include "device/opapi/core/packed.h"

/* How a float becomes an integer: halves to even, or a direction. */
typedef enum {
    ASN_ROUND_EVEN,
    ASN_ROUND_FLOOR,
    ASN_ROUND_CEIL,
    ASN_ROUND_TRUNC
} asnd_round;

/* x rounded by the mode, then clamped to [low, high]; NaN gives 0. */
int32_t asn_quant_value(float x, asnd_round mode, int32_t low, int32_t high);

/* int32 values to int8, uint8, int32, or eight int4 in an int32 (the first in the lowest
 * bits): `packed` says which an int32 output is. */
void asn_quant_store(const int32_t *q, int64_t n, asn_dtype dtype, bool packed,
                     void *out);

/* The tensor's integers as row-major int8: int8 as it lies, int4 and int32 unpacked (an
 * int32 is eight of the last dimension, and they have the length then). */
ASN_CHECK_RESULT asn_status asn_quant_ints(const asnd_operand *o, asnd_tmp *tmp,
                                           asnd_view *v);
/* Row-major values (bytes, for a tensor of int4) to the operand, or a view of it. */
ASN_CHECK_RESULT asn_status asn_quant_done(aclOpExecutor *e, int operand,
                                           const asnd_view *v);
ASN_CHECK_RESULT asn_status asn_quant_write(const asnd_operand *o, const asnd_nd *to,
                                            const asnd_view *v);
/* The least value of what the tensor holds: `packs`: an int32 is eight int4. */
static inline int32_t asn_quant_least(const asnd_operand *o, bool packs) {
    if (o->is_int4 || (packs && o->nd.dtype == ASN_I32)) return -8;
    return o->nd.dtype == ASN_U8 ? 0 : o->nd.dtype == ASN_I8 ? -128 : INT32_MIN;
}
/* *scale: float32 scales, one for each element of `a`; *offset: those that words of
 * TransQuantParamV2 carry (floating scales: NULL). Both are temporaries. */
ASN_CHECK_RESULT asn_status asn_quant_words(const asnd_nd *a, asnd_tmp *tmp,
                                            float **scale, float **offset);

/* Tensor i is 1-d along `axis` of like (or has one element), or broadcasts to it. */
ASN_CHECK_RESULT asn_status asn_quant_check(const asnd_call *c, int i,
                                            const asnd_nd *like, int axis);
/* It as float32 over like's whole shape, row-major. */
ASN_CHECK_RESULT asn_status asn_quant_spread(aclOpExecutor *e, int operand,
                                             const asnd_nd *like, int axis, asnd_tmp *tmp,
                                             const float **values);
/* The output has x's shape: with a last extent of an eighth when its dtype is int32 and
 * `packs`. */
ASN_CHECK_RESULT asn_status asn_quant_out_shape(const asnd_call *c, int i,
                                                const asnd_nd *x, bool packs);
/* dst, an aclDataType, is what output i is of: int8, int4, or int32 with eight int4. */
ASN_CHECK_RESULT asn_status asn_quant_out_type(const asnd_call *c, int i, int64_t dst);
/* The shape of parameter 0 times parameter 1, matrices or stacks of them, whose int32
 * elements are eight int4. */
ASN_CHECK_RESULT asn_status asn_quant_product_shape(const asnd_call *c, bool trans1,
                                                    bool trans2, int *ndim,
                                                    int64_t *shape);

#endif
