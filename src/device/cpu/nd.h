/* CPU device: an n-dimensional view of memory, as the array kernels take it.
 *
 * A plain value: `data` is the address of element (0, ..., 0); strides are bytes, of any
 * sign, 0 for a broadcast dimension; shape and strides are borrowed. At most
 * ASN_ND_MAX_DIMS dimensions. Elements are aligned to their dtype. Functions write
 * through views that are passed as outputs; an output never has a 0 stride where its
 * extent is above 1, unless the function says so.
 */
#ifndef ASN_DEVICE_CPU_ND_H
#define ASN_DEVICE_CPU_ND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { ASN_ND_MAX_DIMS = 64 };

typedef struct {
    char *data;
    int ndim;
    asn_dtype dtype;
    const int64_t *shape, *strides;
} asnd_nd;

static inline int64_t asn_nd_size(const asnd_nd *a) {
    int64_t n = 1;
    for (int d = 0; d < a->ndim; d++)
        n *= a->shape[d];
    return n;
}

/* Row-major without gaps (strides of extents 0 and 1 do not matter). */
static inline bool asn_nd_is_contiguous(const asnd_nd *a) {
    int64_t expected = asn_itemsize(a->dtype);
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (a->shape[d] != 1 && a->strides[d] != expected) return asn_nd_size(a) == 0;
        expected *= a->shape[d];
    }
    return true;
}

/* The first element of an item of the last `kept` dimensions: a row (1), a matrix (2);
 * items are counted over the other dimensions in order. */
static inline char *asn_nd_item(const asnd_nd *a, int kept, int64_t item) {
    char *p = a->data;
    for (int d = a->ndim - kept - 1; d >= 0; d--) {
        p += item % a->shape[d] * a->strides[d];
        item /= a->shape[d];
    }
    return p;
}

#endif
