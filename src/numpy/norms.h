/* L2 numpy: norms of vectors and matrices. Real results; integers, booleans and bfloat16
 * count as float64, as in NumPy, to which bfloat16 is no float.
 */
#ifndef ASN_NUMPY_NORMS_H
#define ASN_NUMPY_NORMS_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* The root of the sum of |a|**2 of all elements, in the order of memory. */
ASN_CHECK_RESULT asn_status asn_np_norm(asn_array *result, const asn_array *a,
                                        bool keepdims);

/* sum(|a|**ord)**(1 / ord) over axes; ord INFINITY: the largest |a|, -INFINITY: the
 * smallest, 0: how many are not zero. Axes, keepdims and `now` of `over` count. VALUE:
 * the smallest of none. */
ASN_CHECK_RESULT asn_status asn_np_vector_norm(asn_array *result, const asn_array *a,
                                               double ord,
                                               const asn_reduce_options *over);

typedef enum {
    ASN_NORM_FROBENIUS, /* of all elements as one vector */
    ASN_NORM_NUCLEAR,   /* the sum of the singular values */
    ASN_NORM_LARGEST,   /* singular value */
    ASN_NORM_SMALLEST,
    ASN_NORM_COLUMNS, /* the largest sum of |a| of a column */
    ASN_NORM_COLUMNS_MIN,
    ASN_NORM_ROWS,
    ASN_NORM_ROWS_MIN,
    ASN_NORM_COUNT /* no norm: what the two functions below do not know */
} asn_np_matrix_order;
/* By NumPy's ord: 2, -2, 1, -1 or an infinity. */
asn_np_matrix_order asn_np_matrix_order_of(double ord);
/* "fro", "f", "nuc", or such a number spelled out. */
asn_np_matrix_order asn_np_matrix_order_named(const char *ord);

/* Of the matrices in two axes, which may be negative. AXIS; VALUE: one axis twice, or the
 * smallest of none. TYPE: singular values of halves. */
ASN_CHECK_RESULT asn_status asn_np_matrix_norm(asn_array *result, const asn_array *a,
                                               asn_np_matrix_order order, int64_t rows,
                                               int64_t columns, bool keepdims);

#endif
