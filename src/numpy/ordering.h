/* L2 numpy: positions in an order, and counts of integers: the checks and conversions
 * around the graph's operators of these names.
 */
#ifndef ASN_NUMPY_ORDERING_H
#define ASN_NUMPY_ORDERING_H

#include "graph/array.h"

/* Positions of a partition among `extent` elements, negative ones counted from the end,
 * in place. VALUE: out of bounds. */
ASN_CHECK_RESULT asn_status asn_np_kth(int n, int64_t *kth, int64_t extent);

/* a from the largest element down along an axis, or with `positions` the int64 positions
 * that bring it there: equal elements keep their order and NaN stands at the end, as in
 * an ascending sort. */
ASN_CHECK_RESULT asn_status asn_np_sort_descending(asn_array *result, const asn_array *a,
                                                   int axis, bool positions);

/* Where values (of any shape) belong in an array of one axis, compared in the common
 * dtype; right: behind equal elements. VALUE: `sorted` has not one axis. */
ASN_CHECK_RESULT asn_status asn_np_searchsorted(asn_array *result,
                                                const asn_array *sorted,
                                                const asn_array *values, bool right);

/* How often each of 0 ... max(x) occurs (int64), or its weights added up (float64);
 * weights may be NULL. TYPE: not integers or booleans, weights that do not cast to
 * float64. VALUE: not one axis, a negative element or minlength, as many weights. */
ASN_CHECK_RESULT asn_status asn_np_bincount(asn_array *result, const asn_array *x,
                                            const asn_array *weights, int64_t minlength);

#endif
