/* L2 numpy: products of arrays, and the sliding ones of sequences.
 *
 * Each function makes *result; VALUE where extents do not fit, as NumPy says it.
 */
#ifndef ASN_NUMPY_PRODUCTS_H
#define ASN_NUMPY_PRODUCTS_H

#include "graph/array.h"

/* Sums over the last axes of both. */
ASN_CHECK_RESULT asn_status asn_np_inner(asn_array *result, const asn_array *a,
                                         const asn_array *b);
/* The inner product of all elements, the first ones conjugated. */
ASN_CHECK_RESULT asn_status asn_np_vdot(asn_array *result, const asn_array *a,
                                        const asn_array *b);
/* Of all pairs of elements; into `out` where it is not NULL. */
ASN_CHECK_RESULT asn_status asn_np_outer(asn_array *result, const asn_array *a,
                                         const asn_array *b, const asn_array *out);
/* Sums over pairs of axes, n of them. AXIS. */
ASN_CHECK_RESULT asn_status asn_np_tensordot(asn_array *result, const asn_array *a,
                                             const asn_array *b, int n,
                                             const int64_t *axes_a,
                                             const int64_t *axes_b);
/* Which sums: those of whole overlaps, as many as the longer line has, or all. */
typedef enum { ASN_SLIDE_VALID, ASN_SLIDE_SAME, ASN_SLIDE_FULL } asn_np_slide;
/* out[k] = sum_n a[n + k] conj(v[n]) and sum_n a[k - n] v[n]. VALUE: not one axis, or
 * without elements. */
ASN_CHECK_RESULT asn_status asn_np_correlate(asn_array *result, const asn_array *a,
                                             const asn_array *v, asn_np_slide mode);
ASN_CHECK_RESULT asn_status asn_np_convolve(asn_array *result, const asn_array *a,
                                            const asn_array *v, asn_np_slide mode);

#endif
