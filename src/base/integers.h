/* L0 base: arithmetic of sizes. */
#ifndef ASN_BASE_INTEGERS_H
#define ASN_BASE_INTEGERS_H

#include <stdint.h>

static inline int64_t asn_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many pieces of that size it takes. n >= 0, piece > 0. */
static inline int64_t asn_pieces(int64_t n, int64_t piece) {
    return (n + piece - 1) / piece;
}

/* The multiple of unit that follows n, or is n. */
static inline int64_t asn_round_up(int64_t n, int64_t unit) {
    return asn_pieces(n, unit) * unit;
}

#endif
