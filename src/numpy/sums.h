/* L2 numpy: sums of what an array is counted or cut down to: truth values, a diagonal.
 *
 * `number`: NULL, or the place of a result that is one number and known at once, as those
 * of small arrays are; its dtype then says so (else it is ASN_DTYPE_NONE), and *result is
 * not made. A binding that hands out numbers is spared an array of no dimensions.
 */
#ifndef ASN_NUMPY_SUMS_H
#define ASN_NUMPY_SUMS_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* How many elements are not zero, int64; axes, keepdims and `now` of the options count.
 */
ASN_CHECK_RESULT asn_status asn_np_count_nonzero(asn_array *result, asn_scalar *number,
                                                 const asn_array *a,
                                                 const asn_reduce_options *over);

/* Which diagonals: `offset` above the main one, in the planes of two axes. */
typedef struct {
    int64_t offset, axis1, axis2; /* axes may be negative */
} asn_np_diagonals;

/* The layout of the diagonals as a read-only view, along its last axis. AXIS; VALUE:
 * fewer than two dimensions, or one axis twice. */
ASN_CHECK_RESULT asn_status asn_np_diagonal(asn_layout *view, const asn_layout *l,
                                            const asn_np_diagonals *of);
/* Their sums, added up in `dtype` (ASN_DTYPE_NONE: NumPy's default); into `out` where it
 * is not NULL. */
ASN_CHECK_RESULT asn_status asn_np_trace(asn_array *result, asn_scalar *number,
                                         const asn_array *a, const asn_np_diagonals *of,
                                         asn_dtype dtype, const asn_array *out);

#endif
