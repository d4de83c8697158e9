/* CPU device, private to indexing: checking and resolving index arrays. */
#ifndef ASN_DEVICE_CPU_INDEX_BOUNDS_H
#define ASN_DEVICE_CPU_INDEX_BOUNDS_H

#include "device/cpu/index/index.h"

/* Every index is in [-size, size), or an IndexError naming `axis`. Reads the array once,
 * in parallel. */
ASN_CHECK_RESULT asn_status asn_bounds_check(const asnd_nd *idx, int64_t size, int axis);

/* The sign bit of the result: some of n indices, `stride` bytes apart, is not in
 * [-size, size). */
uint64_t asn_bounds_misses(const char *p, int64_t stride, int64_t n, uint64_t size);

/* idx in range -> position in [0, size) */
static inline int64_t asn_index_resolve(int64_t i, int64_t size, asnd_index_mode mode) {
    if (mode == ASN_INDEX_RAISE) return i + (i < 0 ? size : 0);
    if (mode == ASN_INDEX_CLIP) return i < 0 ? 0 : i >= size ? size - 1 : i;
    i %= size;
    return i + (i < 0 ? size : 0);
}

#endif
