/* CPU device, operators: x @ ((weight + offset) * scale) with a weight of int8 or int4.
 */
#ifndef ASN_DEVICE_OPAPI_QUANT_WEIGHT_PRODUCT_H
#define ASN_DEVICE_OPAPI_QUANT_WEIGHT_PRODUCT_H

#include "device/opapi/core/packed.h"

/* Scales or offsets of a weight of (k, n): one, a row of n, or a row of n for each
 * `group` of the k rows. float32, contiguous; data NULL: there are none. */
typedef struct {
    const float *data;
    int64_t size;
} asnd_weight_parameter;

typedef struct {
    const int8_t *data;
    bool nibbles; /* int4, two to a byte, the first in its low bits */
    int64_t k, n;
    int64_t row, col; /* elements from row to row (of k), from column to column; one is 1,
                         of int4 the other is even */
    int64_t group;    /* 0: parameters are one or a row */
    asnd_weight_parameter scale, offset;
} asnd_weight;

/* sum = the product in float32, in new memory of (m, n); x is float32, (m, k),
 * contiguous. */
ASN_CHECK_RESULT asn_status asn_weight_product(const asnd_weight *w, const asnd_view *x,
                                               asnd_tmp *tmp, asnd_view *sum);

#endif
