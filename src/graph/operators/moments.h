/* L2 graph: means and variances: compositions of operations of the table, with NumPy's
 * accumulation dtypes. */
#ifndef ASN_GRAPH_OPERATORS_MOMENTS_H
#define ASN_GRAPH_OPERATORS_MOMENTS_H

#include "graph/ufunc/ufunc.h"

/* How many elements go into each result: a number, or with where an array of them. */
typedef struct {
    int64_t number;
    asn_array counts; /* with where: int64, shaped as the reduction */
    bool varies;
} asn_item_count;

ASN_CHECK_RESULT asn_status asn_item_count_init(asn_item_count *n, const asn_array *a,
                                                const asn_reduce_options *o);
void asn_item_count_fini(asn_item_count *n);

/* The dtype to accumulate in and the dtype of the result; wish: dtype=, or NONE. Integers
 * are averaged in float64, halves in float32; a variance has no wider accumulator for
 * halves: its result has the dtype of its sum. */
void asn_mean_dtypes(asn_dtype in, asn_dtype wish, asn_dtype *sum, asn_dtype *result);
asn_dtype asn_variance_dtype(asn_dtype in, asn_dtype wish);

/* The mean over o's axes, in o->dtype (the dtype to accumulate in, or NONE); n: the
 * count for o. `into`: NULL, or what receives the sum and is divided; *out is then not
 * made. */
ASN_CHECK_RESULT asn_status asn_mean(const asn_array *a, const asn_reduce_options *o,
                                     const asn_item_count *n, const asn_array *into,
                                     asn_array *out);
/* The mean of |a - mean|**2 with n - ddof elements (not below 0), or its root. `dtype`:
 * to take the mean in; given_mean: NULL, or the mean, kept as extent 1 or a number.
 * `into`: as in asn_mean. */
ASN_CHECK_RESULT asn_status asn_variance(const asn_array *a,
                                         const asn_operand *given_mean,
                                         const asn_reduce_options *o, asn_dtype dtype,
                                         const asn_item_count *n, const asn_operand *ddof,
                                         bool root, const asn_array *into,
                                         asn_array *out);

#endif
