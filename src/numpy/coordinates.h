/* L2 numpy: positions in a row-major (or column-major) array as one number, and as one
 * for each dimension.
 */
#ifndef ASN_NUMPY_COORDINATES_H
#define ASN_NUMPY_COORDINATES_H

#include "graph/array.h"

/* A flat index as coordinates. VALUE: out of bounds. */
ASN_CHECK_RESULT asn_status asn_np_unravel(int64_t flat, int ndim, const int64_t *shape,
                                           char order, int64_t *at);
/* The same of int64 arrays: results[ndim], of flat's shape. */
ASN_CHECK_RESULT asn_status asn_np_unravel_index(asn_array *results,
                                                 const asn_array *flat, int ndim,
                                                 const int64_t *shape, char order);

/* What is done about a coordinate out of bounds. */
typedef enum { ASN_BOUNDS_RAISE, ASN_BOUNDS_WRAP, ASN_BOUNDS_CLIP } asn_np_bounds;
/* Coordinates as a flat index, one mode for each dimension. VALUE: out of bounds where
 * the mode is to raise, a dimension without elements. */
ASN_CHECK_RESULT asn_status asn_np_ravel_multi(const int64_t *at, int ndim,
                                               const int64_t *shape,
                                               const asn_np_bounds *modes, char order,
                                               int64_t *flat);
/* The same of int64 arrays, one for each of ndim >= 1 dimensions, broadcast. */
ASN_CHECK_RESULT asn_status asn_np_ravel_multi_index(asn_array *result,
                                                     const asn_array *const *at, int ndim,
                                                     const int64_t *shape,
                                                     const asn_np_bounds *modes,
                                                     char order);

#endif
