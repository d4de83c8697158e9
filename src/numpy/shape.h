/* L2 numpy: other shapes of the same elements: views where strides allow, else copies. */
#ifndef ASN_NUMPY_SHAPE_H
#define ASN_NUMPY_SHAPE_H

#include "graph/array.h"

/* Row-major. `shape` may hold one -1. */
ASN_CHECK_RESULT asn_status asn_np_reshape(asn_array *out, const asn_array *a, int ndim,
                                           const int64_t *shape);
/* One axis of all elements. */
ASN_CHECK_RESULT asn_status asn_np_ravel(asn_array *out, const asn_array *a);
/* The elements start, start + step, ... of an array of one axis; step may be -1. */
ASN_CHECK_RESULT asn_status asn_np_slice(asn_array *out, const asn_array *a,
                                         int64_t start, int64_t stop, int64_t step);
/* The real (0) or the imaginary (1) part of a complex array. */
ASN_CHECK_RESULT asn_status asn_np_part(asn_array *out, const asn_array *a, int part);
/* `a` as `dtype`: itself where it is of it. */
ASN_CHECK_RESULT asn_status asn_np_astype(asn_array *out, const asn_array *a,
                                          asn_dtype dtype);

#endif
