/* L2 graph: loops of the program's own (custom operators) as recorded operations, which
 * take part in fused programs like the table's. */
#ifndef ASN_GRAPH_UFUNC_OWN_LOOPS_H
#define ASN_GRAPH_UFUNC_OWN_LOOPS_H

#include "graph/ufunc/ufunc.h"
#include "ops/added.h"

/* *opcode: of the loop's first output, for asn_own_loop_call; -1: the device (or the host
 * in its place) does not take it, for its arguments or want of room. */
ASN_CHECK_RESULT asn_status asn_own_loop_add(const asn_added_loop *loop, int *opcode);

/* Records a call, or runs it, as asn_ufunc_call does an operation. out: of each output
 * the array to write, or NULL, where result then receives a new one (on success only).
 * Inputs are cast to the loop's dtypes whatever they are. */
ASN_CHECK_RESULT asn_status asn_own_loop_call(int opcode, const asn_operand *in,
                                              const asn_array *const *out,
                                              asn_array *result,
                                              const asn_ufunc_options *options);

#endif
