/* L2 graph: what is true in a few bytes of a mask, eight at a time. */
#ifndef ASN_GRAPH_SMALL_TRUE_BYTES_H
#define ASN_GRAPH_SMALL_TRUE_BYTES_H

#include <stdint.h>
#include <string.h>

/* The top bit of every byte that is not 0, of the eight from `keep` on, or of the `n`
 * that are left. */
static inline uint64_t asn_true_bytes(const uint8_t *keep, int64_t n) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t eight = 0;
    if (n >= 8)
        memcpy(&eight, keep, 8);
    else
        for (int64_t k = 0; k < n; k++)
            eight |= (uint64_t)keep[k] << 8 * k;
    return (((eight & low) + low) | eight) & ~low;
}

/* How many of n bytes are not 0. */
static inline int64_t asn_count_true(const uint8_t *keep, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 8)
        count +=
            (int64_t)((asn_true_bytes(keep + i, n - i) >> 7) * 0x0101010101010101u >> 56);
    return count;
}

#endif
