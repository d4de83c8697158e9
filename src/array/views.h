/* L1 array: the layouts of views. Each makes *out (uninitialised before) from l and
 * copies nothing. Errors are NumPy's, class and substance. Writeability is inherited
 * unless said otherwise.
 */
#ifndef ASN_ARRAY_VIEWS_H
#define ASN_ARRAY_VIEWS_H

#include "array/layout.h"

/* perm: result axis i is axis perm[i] of l; NULL reverses the axes. */
ASN_CHECK_RESULT asn_status asn_view_transpose(asn_layout *out, const asn_layout *l,
                                               const int *perm);
/* Without copying, if strides allow: *possible says so (then *out is set). `shape` may
 * hold one -1. order 'C', 'F' or 'A'. */
ASN_CHECK_RESULT asn_status asn_view_reshape(asn_layout *out, const asn_layout *l,
                                             int ndim, const int64_t *shape, char order,
                                             bool *possible);
/* Replaces a -1 in shape; ValueError "cannot reshape array of size 6 into shape (4,)". */
ASN_CHECK_RESULT asn_status asn_shape_resolve(int64_t size, int ndim,
                                              const int64_t *shape, int64_t *resolved);
/* The elements [start, start + extent) of an axis. */
ASN_CHECK_RESULT asn_status asn_view_range(asn_layout *out, const asn_layout *l, int axis,
                                           int64_t start, int64_t extent);
/* Read-only result, stride 0 along stretched axes. */
ASN_CHECK_RESULT asn_status asn_view_broadcast(asn_layout *out, const asn_layout *l,
                                               int ndim, const int64_t *shape);
/* The k-th diagonal of two axes (not negative) as the last axis; read-only. */
ASN_CHECK_RESULT asn_status asn_view_diagonal(asn_layout *out, const asn_layout *l,
                                              int64_t k, int axis1, int axis2);
/* mask bit d: remove axis d, which must have extent 1. */
ASN_CHECK_RESULT asn_status asn_view_squeeze(asn_layout *out, const asn_layout *l,
                                             uint64_t mask);
/* mask bit d: axis d of the result is new, extent 1. */
ASN_CHECK_RESULT asn_status asn_view_expand(asn_layout *out, const asn_layout *l,
                                            int result_ndim, uint64_t mask);
/* Real (part 0) or imaginary (part 1) parts of a complex layout, as its real dtype. */
ASN_CHECK_RESULT asn_status asn_view_part(asn_layout *out, const asn_layout *l, int part);
/* ndarray.view(dtype): reinterprets bytes; a different itemsize rescales the last axis.
 */
ASN_CHECK_RESULT asn_status asn_view_dtype(asn_layout *out, const asn_layout *l,
                                           asn_dtype dtype);

#endif
