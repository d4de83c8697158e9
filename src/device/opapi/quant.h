/* CPU device, operators: what the quantising operators share. */
#ifndef ASN_DEVICE_OPAPI_QUANT_H
#define ASN_DEVICE_OPAPI_QUANT_H

#include "device/opapi/packed.h"

typedef enum {
    ASN_ROUND_EVEN,
    ASN_ROUND_FLOOR,
    ASN_ROUND_CEIL,
    ASN_ROUND_TRUNC
} asn_round;

/* Rounded and clamped; NaN gives 0. */
int32_t asn_quant_value(float x, asn_round mode, int32_t low, int32_t high);

/* int32 values to int8, uint8, int32, or eight int4 in an int32 (the first in the lowest
 * bits): `packed` says which an int32 output is. */
void asn_quant_store(const int32_t *q, int64_t n, asn_dtype dtype, bool packed,
                     void *out);
void asn_quant_unpack(const int32_t *packed, int64_t n, float *out);

/* Tensor i is 1-d along `axis` of like (or has one element), or broadcasts to it. */
ASN_CHECK_RESULT asn_status asn_quant_check(const asn_call *c, int i, const asn_nd *like,
                                            int axis);
/* It as float32 over like's whole shape, row-major. */
ASN_CHECK_RESULT asn_status asn_quant_spread(aclOpExecutor *e, int operand,
                                             const asn_nd *like, int axis, asn_tmp *tmp,
                                             const float **values);
/* The output has x's shape: with a last extent of an eighth when its dtype is int32 and
 * `packs`. */
ASN_CHECK_RESULT asn_status asn_quant_out_shape(const asn_call *c, int i, const asn_nd *x,
                                                bool packs);

#endif
