/* L2 numpy: one elementwise operation without options, as composed functions call them.
 */
#ifndef ASN_NUMPY_ELEMENTWISE_H
#define ASN_NUMPY_ELEMENTWISE_H

#include "graph/ufunc/ufunc.h"

/* An array as an operand. */
static inline asn_operand asn_np_of(const asn_array *a) {
    return (asn_operand){.array = a};
}

/* op(x), as a new array. */
ASN_CHECK_RESULT static inline asn_status asn_np_unary(asn_array *out, asn_op op,
                                                       const asn_array *x) {
    const asn_operand in = asn_np_of(x);
    return asn_ufunc_call(op, &in, NULL, out, NULL);
}

/* op(x, y), as a new array. */
ASN_CHECK_RESULT static inline asn_status
asn_np_binary(asn_array *out, asn_op op, const asn_operand x, const asn_operand y) {
    const asn_operand in[2] = {x, y};
    return asn_ufunc_call(op, in, NULL, out, NULL);
}

#endif
