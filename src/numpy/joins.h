/* L2 numpy: arrays joined along an axis, which may be new.
 *
 * Each function makes *result, or fills join->out and leaves *result alone. VALUE, AXIS
 * and TYPE are NumPy's: no arrays, shapes that do not match, a cast that the rule
 * refuses.
 */
#ifndef ASN_NUMPY_JOINS_H
#define ASN_NUMPY_JOINS_H

#include "array/promote.h"
#include "graph/array.h"

/* What is joined, and what the caller asks for. */
typedef struct {
    int count;
    const asn_array *const *arrays;
    const asn_type *types; /* their parts in promotion; NULL: their dtypes */
    asn_dtype dtype;       /* of the result; ASN_DTYPE_NONE: out's, or the common one */
    asn_casting casting;
    const asn_array *out; /* or NULL */
} asn_np_join;

/* Along an axis that all have. */
ASN_CHECK_RESULT asn_status asn_np_concatenate(const asn_np_join *join, int64_t axis,
                                               asn_array *result);
/* Whether they can be stacked: there are some, of one shape. */
ASN_CHECK_RESULT asn_status asn_np_stack_check(const asn_np_join *join);
/* Arrays of one shape along a new axis. */
ASN_CHECK_RESULT asn_status asn_np_stack(const asn_np_join *join, int64_t axis,
                                         asn_array *result);
/* Along the first axis, those of one axis as rows. */
ASN_CHECK_RESULT asn_status asn_np_vstack(const asn_np_join *join, asn_array *result);
/* Along the second axis, or the only one. */
ASN_CHECK_RESULT asn_status asn_np_hstack(const asn_np_join *join, asn_array *result);
/* Along the third axis. */
ASN_CHECK_RESULT asn_status asn_np_dstack(const asn_np_join *join, asn_array *result);
/* Along the second axis, those of one axis as columns. */
ASN_CHECK_RESULT asn_status asn_np_column_stack(const asn_np_join *join,
                                                asn_array *result);

#endif
