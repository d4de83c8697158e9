/* L1 random: PCG64 (PCG XSL RR 128/64, M. E. O'Neill): a 128-bit linear congruential
 * generator whose state is folded and rotated into 64 bits after each step.
 *
 * One step waits for the multiplication of the step before, so a block of numbers is made
 * by four generators, each four steps at a time: step^4 is a step with another multiplier
 * and increment. The engine of Philox (philox.c) shares the names and the state's fields
 * here: both draw 64-bit words. Where the processor can, eight go at once (pcg64_ifma.c).
 */
#include "random/engines.h"

#define MULTIPLIER                                                                       \
    ((unsigned __int128)0x2360ed051fc65da4 << 64 | (unsigned __int128)0x4385df649fccf645)

static inline uint64_t fold(unsigned __int128 state) {
    uint64_t high = (uint64_t)(state >> 64), low = (uint64_t)state;
    unsigned turn = (unsigned)(high >> 58);
    uint64_t x = high ^ low;
    return x >> turn | x << (-turn & 63);
}

uint64_t asn_pcg64_next(asn_bitgen *g) {
    uint64_t word;
    if (g->kind == ASN_PHILOX) {
        asn_philox_words((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state++, 1, &word);
        return word;
    }
    g->pcg.state = g->pcg.state * MULTIPLIER + g->pcg.inc;
    return fold(g->pcg.state);
}

void asn_pcg64_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    if (g->kind == ASN_PHILOX) {
        asn_philox_words((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state, n, out);
        g->pcg.state += (uint64_t)n;
        return;
    }
    const unsigned __int128 m = MULTIPLIER, c = g->pcg.inc;
    const unsigned __int128 m2 = m * m, m4 = m2 * m2, c4 = c * (m + 1) * (m2 + 1);
    int64_t i = asn_pcg64_many(g, m, n, out);
    unsigned __int128 s0 = g->pcg.state * m + c, s1 = s0 * m + c, s2 = s1 * m + c,
                      s3 = s2 * m + c;
    for (; i + 4 <= n; i += 4) {
        out[i] = fold(s0);
        out[i + 1] = fold(s1);
        out[i + 2] = fold(s2);
        out[i + 3] = fold(s3);
        g->pcg.state = s3;
        s0 = s0 * m4 + c4;
        s1 = s1 * m4 + c4;
        s2 = s2 * m4 + c4;
        s3 = s3 * m4 + c4;
    }
    for (; i < n; i++)
        out[i] = asn_pcg64_next(g);
}

/* As signed numbers, which every processor converts. */
void asn_pcg64_doubles(asn_bitgen *g, int64_t n, double *out) {
    enum { BLOCK = 256 };
    uint64_t block[BLOCK];
    if (g->kind == ASN_PHILOX) {
        asn_philox_doubles((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state, n, out);
        g->pcg.state += (uint64_t)n;
        return;
    }
    for (int64_t i = asn_pcg64_many_doubles(g, MULTIPLIER, n, out); i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        asn_pcg64_block(g, m, block);
        for (int64_t k = 0; k < m; k++)
            out[i + k] = (double)(int64_t)(block[k] >> 11) * 0x1p-53;
    }
}

uint32_t asn_pcg64_next32(asn_bitgen *g) {
    if (g->pcg.has_uint32) {
        g->pcg.has_uint32 = false;
        return g->pcg.uinteger;
    }
    uint64_t next = asn_pcg64_next(g);
    g->pcg.has_uint32 = true;
    g->pcg.uinteger = (uint32_t)(next >> 32);
    return (uint32_t)next;
}

void asn_pcg64_seed(asn_bitgen *g, const uint64_t words[4]) {
    g->kind = ASN_PCG64;
    unsigned __int128 start = (unsigned __int128)words[0] << 64 | words[1];
    unsigned __int128 sequence = (unsigned __int128)words[2] << 64 | words[3];
    g->pcg.inc = sequence << 1 | 1;
    /* one step from 0, add the seed, one more step */
    g->pcg.state = (g->pcg.inc + start) * MULTIPLIER + g->pcg.inc;
    g->pcg.has_uint32 = false;
    g->pcg.uinteger = 0;
    g->has_gauss = false;
    g->gauss = 0;
}

/* Brown's method: the delta-fold step is a step with multiplier m^delta, by repeated
 * squaring. */
void asn_pcg64_advance(asn_bitgen *g, unsigned __int128 delta) {
    if (g->kind == ASN_PHILOX) {
        g->pcg.state = (uint64_t)(g->pcg.state + delta);
        g->pcg.has_uint32 = false;
        return;
    }
    unsigned __int128 mult = MULTIPLIER, plus = g->pcg.inc, all_mult = 1, all_plus = 0;
    for (; delta; delta >>= 1) {
        if (delta & 1) {
            all_mult *= mult;
            all_plus = all_plus * mult + plus;
        }
        plus *= mult + 1;
        mult *= mult;
    }
    g->pcg.state = g->pcg.state * all_mult + all_plus;
    g->pcg.has_uint32 = false;
    g->pcg.uinteger = 0;
}
