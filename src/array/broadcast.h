/* L1 array: broadcasting and memory overlap. */
#ifndef ASN_ARRAY_BROADCAST_H
#define ASN_ARRAY_BROADCAST_H

#include "array/layout.h"

/* The common shape of n layouts into ndim/shape (room for ASN_MAX_DIMS). ValueError
 * "operands could not be broadcast together with shapes (2,3) (4,)". */
ASN_CHECK_RESULT asn_status asn_broadcast_shape(int n, const asn_layout *const *layouts,
                                                int *ndim, int64_t *shape);
/* Whether l broadcasts to shape; if so its byte strides there (0 where stretched). */
bool asn_broadcast_strides(const asn_layout *l, int ndim, const int64_t *shape,
                           int64_t *strides);

/* Whether two layouts over the same buffer may share a byte: exact where strides are
 * nested as those of slices of one array are; otherwise it may be cautious (true). */
bool asn_layouts_overlap(const asn_layout *a, const asn_layout *b);
/* Whether two elements of one layout may share memory (a broadcast view); then it may not
 * be written as a whole. */
bool asn_layout_self_overlaps(const asn_layout *l);

#endif
