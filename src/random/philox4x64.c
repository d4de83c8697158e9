/* L1 random: Philox 4x64-10 (Salmon, Moraes, Dror and Shaw, SC 2011), numpy.random's.
 *
 * A block of four words enciphers the counter, which is first incremented: word 0 of a
 * fresh stream comes from counter 1.
 */
#include <string.h>

#include "random/engines.h"

#define MULTIPLIER_0 0xd2e7470ee14c6c93u
#define MULTIPLIER_1 0xca5a826395121157u
#define WEYL_0       0x9e3779b97f4a7c15u
#define WEYL_1       0xbb67ae8584caa73bu
enum { ROUNDS = 10 };

/* Ten rounds with 64-bit products. */
static void encipher(const uint64_t counter[4], const uint64_t key[2], uint64_t out[4]) {
    uint64_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint64_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++, k0 += WEYL_0, k1 += WEYL_1) {
        unsigned __int128 p = (unsigned __int128)MULTIPLIER_0 * x0,
                          q = (unsigned __int128)MULTIPLIER_1 * x2;
        x0 = (uint64_t)(q >> 64) ^ x1 ^ k0;
        x2 = (uint64_t)(p >> 64) ^ x3 ^ k1;
        x1 = (uint64_t)q;
        x3 = (uint64_t)p;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

/* The counter plus 1, over 256 bits. */
static inline void count(uint64_t counter[4]) {
    for (int i = 0; i < 4 && ++counter[i] == 0; i++) {
    }
}

uint64_t asn_philox4x64_next(asn_bitgen *g) {
    if (g->philox.pos == 4) {
        count(g->philox.counter);
        encipher(g->philox.counter, g->philox.key, g->philox.buffer);
        g->philox.pos = 0;
    }
    return g->philox.buffer[g->philox.pos++];
}

/* What waits in the buffer, whole blocks straight into `out`, then the rest through the
 * buffer. The last whole block stays in the buffer, as it does in NumPy. */
void asn_philox4x64_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    int64_t i = 0;
    for (; i < n && g->philox.pos < 4; i++)
        out[i] = asn_philox4x64_next(g);
    for (; i + 4 <= n; i += 4) {
        count(g->philox.counter);
        encipher(g->philox.counter, g->philox.key, out + i);
        if (i + 8 > n) memcpy(g->philox.buffer, out + i, sizeof g->philox.buffer);
    }
    for (; i < n; i++)
        out[i] = asn_philox4x64_next(g);
}

void asn_philox4x64_seed(asn_bitgen *g, const uint64_t counter[4],
                         const uint64_t key[2]) {
    memset(g, 0, sizeof *g);
    g->kind = ASN_PHILOX4X64;
    memcpy(g->philox.counter, counter, sizeof g->philox.counter);
    memcpy(g->philox.key, key, sizeof g->philox.key);
    g->philox.pos = 4;
}

/* What was buffered is gone, as in NumPy. */
void asn_philox4x64_advance(asn_bitgen *g, const uint64_t blocks[4]) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)g->philox.counter[i] + blocks[i];
        g->philox.counter[i] = (uint64_t)carry;
        carry >>= 64;
    }
    memset(g->philox.buffer, 0, sizeof g->philox.buffer);
    g->philox.pos = 4;
    g->has_uint32 = false;
    g->uinteger = 0;
}
