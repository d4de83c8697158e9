/* L0 base: a hash of 64-bit words, for tables whose keys are compared whole. */
#ifndef ASN_BASE_HASH_H
#define ASN_BASE_HASH_H

#include <stdint.h>
#include <string.h>

static inline uint64_t asn_hash_mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

/* `at` need not be aligned. Four hashes side by side, since each waits for its product (a
 * plan's key of ten words: 23 -> 6 ns). */
static inline uint64_t asn_hash_words(const void *at, int64_t words) {
    uint64_t h[4] = {0x9e3779b97f4a7c15u ^ (uint64_t)words, 1, 2, 3}, w[4];
    const char *p = at;
    int64_t i = 0;
    for (; i + 4 <= words; i += 4, p += sizeof w) {
        memcpy(w, p, sizeof w);
        for (int k = 0; k < 4; k++)
            h[k] = asn_hash_mix(h[k], w[k]);
    }
    for (; i < words; i++, p += sizeof *w) {
        memcpy(w, p, sizeof *w);
        h[0] = asn_hash_mix(h[0], w[0]);
    }
    for (int k = 1; k < 4; k++)
        h[0] = asn_hash_mix(h[0], h[k]);
    return h[0];
}

#endif
