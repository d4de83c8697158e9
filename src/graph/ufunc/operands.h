/* L2 graph: what ufunc calls, reductions and assignments share about their operands. */
#ifndef ASN_GRAPH_UFUNC_OPERANDS_H
#define ASN_GRAPH_UFUNC_OPERANDS_H

#include "graph/trace/trace.h"
#include "graph/ufunc/ufunc.h"

static inline asn_type asn_operand_type(const asn_operand *o) {
    asn_type t = {o->array ? o->array->layout.dtype : o->scalar.dtype,
                  o->array ? 0 : o->weak};
    if (t.weak) t.dtype = ASN_DTYPE_NONE;
    return t;
}

/* OverflowError when a Python integer does not fit dtype. */
ASN_CHECK_RESULT asn_status asn_operand_check(const asn_operand *o, asn_dtype dtype);

/* Puts operand `o`, wanted as `dtype`, into a draft's reference. */
ASN_CHECK_RESULT asn_status asn_draft_operand(asn_draft *d, asn_ref *ref,
                                              const asn_operand *o, asn_dtype dtype);

/* Whether writing `out` over the draft's shape would disturb input `ref` before it is
 * read: they overlap and are not element for element the same place. */
bool asn_draft_hazard(const asn_draft *d, const asn_ref *ref);

/* The dtype that op.reduce of an `in` array works in. `wish`: dtype=, or NONE for NumPy's
 * default, which is the operation's on `out` (the dtype of out=) and `in`; without out=
 * (NONE) sums and products of small integers widen. */
ASN_CHECK_RESULT asn_status asn_reduce_dtype(asn_op op, asn_dtype in, asn_dtype wish,
                                             asn_dtype out, asn_dtype *loop);

/* in[1] where in[0], a mask, is true, else in[2], as `dtype`, whatever theirs are, over
 * that shape. */
ASN_CHECK_RESULT asn_status asn_select(asn_array *result, asn_dtype dtype, int ndim,
                                       const int64_t *shape, const asn_operand in[3]);

/* The axes as operands of these strides have them, innermost first; the last `core` stay
 * innermost. */
void asn_order_by_strides(int *perm, int ndim, int core, int num,
                          const int64_t strides[][ASN_MAX_DIMS]);

/* A fresh result over `shape` as NumPy lays it out: order 'K' follows the inputs'
 * strides. */
ASN_CHECK_RESULT asn_status asn_result_new(asn_array *result, asn_dtype dtype, int ndim,
                                           const int64_t *shape, char order, int num_in,
                                           const asn_operand *in);

/* The same for stacks of matrices or vectors (core: their number of dimensions), which
 * lie row-major themselves: the stack's order follows the inputs', of ndim dimensions, up
 * to three of them. */
ASN_CHECK_RESULT asn_status asn_result_new_stack(asn_array *result, asn_dtype dtype,
                                                 int ndim, const int64_t *shape, int core,
                                                 int num_in, const asn_array *const *in);

/* out's shape must be the broadcast shape: ValueError "non-broadcastable output operand
 * ...". */
ASN_CHECK_RESULT asn_status asn_check_out_shape(const asn_array *out, int ndim,
                                                const int64_t *shape);

#endif
