/* L1 random: the Mersenne Twister (Matsumoto and Nishimura, 1998) with the seeding of
 * RandomState.
 *
 * The state is 624 words of 32 bits, made anew all at once; `pos` is the next of them.
 * Both seedings are the authors' (init_genrand, init_by_array), which RandomState has
 * kept. */
#include "random/engines.h"

enum { N = 624, M = 397 };

/* The authors' recurrence for one word. */
static inline uint32_t twist(uint32_t top, uint32_t rest, uint32_t other) {
    uint32_t y = (top & 0x80000000u) | (rest & 0x7fffffffu);
    return other ^ (y >> 1) ^ (-(y & 1) & 0x9908b0dfu);
}

/* In parts, so that the loops have no remainders and vectorise. */
static void refill(asn_bitgen *g) {
    uint32_t *key = g->mt.key;
    for (int i = 0; i < N - M; i++)
        key[i] = twist(key[i], key[i + 1], key[i + M]);
    for (int i = N - M; i < N - 1; i++)
        key[i] = twist(key[i], key[i + 1], key[i + M - N]);
    key[N - 1] = twist(key[N - 1], key[0], key[M - 1]);
    g->mt.pos = 0;
}

/* A word of the state to a word of output. */
static inline uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

uint32_t asn_mt19937_next32(asn_bitgen *g) {
    if (g->mt.pos == N) refill(g);
    return temper(g->mt.key[g->mt.pos++]);
}

/* What is left of this state, no more. */
int asn_mt19937_block(asn_bitgen *g, int most, uint32_t *out) {
    if (g->mt.pos == N) refill(g);
    int n = N - g->mt.pos < most ? N - g->mt.pos : most;
    for (int i = 0; i < n; i++)
        out[i] = temper(g->mt.key[g->mt.pos + i]);
    g->mt.pos += n;
    return n;
}

void asn_mt19937_seed(asn_bitgen *g, uint32_t seed) {
    g->kind = ASN_MT19937;
    for (uint32_t i = 0; i < N; i++) {
        g->mt.key[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    g->mt.pos = N;
    g->has_gauss = false;
    g->gauss = 0;
}

void asn_mt19937_seed_array(asn_bitgen *g, const uint32_t *init, size_t n) {
    asn_mt19937_seed(g, 19650218u);
    uint32_t *key = g->mt.key;
    size_t i = 1, j = 0;
    for (size_t k = n > N ? n : N; k; k--) {
        key[i] =
            (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * 1664525u) + init[j] + (uint32_t)j;
        if (++i >= N) {
            key[0] = key[N - 1];
            i = 1;
        }
        if (++j >= n) j = 0;
    }
    for (size_t k = N - 1; k; k--) {
        key[i] = (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * 1566083941u) - (uint32_t)i;
        if (++i >= N) {
            key[0] = key[N - 1];
            i = 1;
        }
    }
    key[0] = 0x80000000u;
}
