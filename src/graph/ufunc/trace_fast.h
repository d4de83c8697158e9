/* L2 graph: the short way to record an operation: large row-major arrays of one dtype and
 * shape, and numbers. */
#ifndef ASN_GRAPH_UFUNC_TRACE_FAST_H
#define ASN_GRAPH_UFUNC_TRACE_FAST_H

#include "graph/small/direct.h"
#include "graph/ufunc/ufunc.h"
#include "ops/ops.h"

/* Records op(in...), into `out` where that is not NULL, else into *result, which is then
 * made. Either all of it is done, or nothing, no error being set: the general path knows
 * what to do. Takes the lock. */
bool asn_rows_record(asn_op op, const asn_operand *in, const asn_array *out,
                     asn_array *result);

/* asn_ufunc_call(op, in, NULL, result, NULL) of a binding that calls it all day. */
ASN_CHECK_RESULT static inline asn_status asn_rows_call(asn_op op, const asn_operand *in,
                                                        asn_array *result) {
    const asn_array *a = in[0].array;
    if (a && a->layout.size > ASN_DIRECT_ELEMENTS &&
        asn_rows_record(op, in, NULL, result))
        return ASN_OK;
    return asn_ufunc_call(op, in, NULL, result, NULL);
}

#endif
