/* L2 graph: comparisons that no single loop does exactly. */
#ifndef ASN_GRAPH_UFUNC_COMPARE_H
#define ASN_GRAPH_UFUNC_COMPARE_H

#include "graph/ufunc/ufunc.h"

/* If `op` compares a signed with a uint64 operand, or an integer array with a Python
 * integer outside its dtype, computes the exact answer (out or *result as in
 * asn_ufunc_call) and sets *done. */
ASN_CHECK_RESULT asn_status asn_compare_mixed(asn_op op, const asn_operand *in,
                                              const asn_array *out, asn_array *result,
                                              const asn_ufunc_options *o, bool *done);

#endif
