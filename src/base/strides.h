/* L0 base: whether the elements of a strided array share memory. */
#ifndef ASN_BASE_STRIDES_H
#define ASN_BASE_STRIDES_H

#include <stdbool.h>
#include <stdint.h>

/* Strides and `item` in bytes, strides of any sign. false: no two elements share a byte;
 * true: some do, or the strides are not nested as those of slices of one array are (a
 * cautious answer: deciding these is NP-hard in the number of dimensions). */
bool asn_strides_collide(int ndim, const int64_t *shape, const int64_t *strides,
                         int64_t item);

#endif
