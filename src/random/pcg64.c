/* L1 random: PCG64 (PCG XSL RR 128/64) and PCG64DXSM (M. E. O'Neill): a 128-bit linear
 * congruential generator. PCG64 folds and rotates the state after each step into 64 bits;
 * DXSM steps with a multiplier of 64 bits and stirs the state before the step twice.
 *
 * One step waits for the multiplication of the step before, so a block of numbers is made
 * by four generators, each four steps at a time: step^4 is a step with another multiplier
 * and increment. Where the processor can, eight go at once (pcg64_ifma.c).
 */
#include "random/engines.h"
#include "random/loops.h"

#define MULTIPLIER                                                                       \
    ((unsigned __int128)0x2360ed051fc65da4 << 64 | (unsigned __int128)0x4385df649fccf645)
#define CHEAP 0xda942042e4dd58b5u

/* DXSM's fits 64 bits. */
static inline unsigned __int128 multiplier(const asn_bitgen *g) {
    return g->kind == ASN_PCG64DXSM ? CHEAP : MULTIPLIER;
}

/* DXSM's output function. */
static inline uint64_t stir(unsigned __int128 state) {
    uint64_t x = (uint64_t)(state >> 64);
    x = (x ^ x >> 32) * CHEAP;
    return (x ^ x >> 48) * ((uint64_t)state | 1);
}

/* XSL RR: exclusive or of the halves, rotated by the topmost six bits. */
static inline uint64_t fold(unsigned __int128 state) {
    uint64_t high = (uint64_t)(state >> 64), low = (uint64_t)state;
    unsigned turn = (unsigned)(high >> 58);
    uint64_t x = high ^ low;
    return x >> turn | x << (-turn & 63);
}

uint64_t asn_pcg64_next(asn_bitgen *g) {
    unsigned __int128 before = g->pcg.state;
    g->pcg.state = before * multiplier(g) + g->pcg.inc;
    return g->kind == ASN_PCG64DXSM ? stir(before) : fold(g->pcg.state);
}

/* DXSM's words are of the states before the steps, the others' of those after. */
__attribute__((always_inline)) static inline int64_t
fours(asn_bitgen *g, bool dxsm, int64_t i, int64_t n, uint64_t *out) {
    const unsigned __int128 m = dxsm ? CHEAP : MULTIPLIER, c = g->pcg.inc;
    /* Four steps: multiplier m^4, increment c (1 + m + m^2 + m^3). */
    const unsigned __int128 m2 = m * m, m4 = m2 * m2, c4 = c * (m + 1) * (m2 + 1);
    unsigned __int128 s[4], last = g->pcg.state;
    s[0] = dxsm ? last : last * m + c;
    for (int k = 0; k < 3; k++)
        s[k + 1] = s[k] * m + c;
    for (; i + 4 <= n; i += 4) {
        last = s[3];
        for (int k = 0; k < 4; k++) {
            out[i + k] = dxsm ? stir(s[k]) : fold(s[k]);
            s[k] = s[k] * m4 + c4;
        }
    }
    g->pcg.state = dxsm ? s[0] : last;
    return i;
}

int64_t asn_pcg64_fours_baseline(asn_bitgen *g, int64_t i, int64_t n, uint64_t *out) {
    return fours(g, false, i, n, out);
}

/* Products into any registers, and shifts by any: a third of the time is moves
 * otherwise. */
#if defined(__x86_64__)
__attribute__((target("bmi2"))) int64_t asn_pcg64_fours_bmi2(asn_bitgen *g, int64_t i,
                                                             int64_t n, uint64_t *out) {
    return fours(g, false, i, n, out);
}
#endif

/* What vectors make of the next n words or numbers; returns how many. */
static int64_t fill_start(asn_pcg64_fill fill, asn_bitgen *g, int64_t n, void *out) {
    return fill && n >= ASN_PCG64_LEAST ? fill(g, MULTIPLIER, n, out) : 0;
}

/* Vectors first, then fours, then one by one. */
void asn_pcg64_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    int64_t i = 0;
    if (g->kind == ASN_PCG64DXSM) {
        i = fours(g, true, i, n, out);
    } else {
        const asn_random_loops *loops = asn_random_loops_get();
        i = fill_start(loops->pcg64_words, g, n, out);
        i = loops->pcg64_fours(g, i, n, out);
    }
    for (; i < n; i++)
        out[i] = asn_pcg64_next(g);
}

int64_t asn_pcg64_many_doubles(asn_bitgen *g, int64_t n, double *out) {
    return fill_start(asn_random_loops_get()->pcg64_doubles, g, n, out);
}

void asn_pcg64_seed(asn_bitgen *g, asn_bitgen_kind kind, const uint64_t words[4]) {
    g->kind = kind;
    unsigned __int128 start = (unsigned __int128)words[0] << 64 | words[1];
    unsigned __int128 sequence = (unsigned __int128)words[2] << 64 | words[3];
    g->pcg.inc = sequence << 1 | 1;
    /* one step from 0, add the seed, one more step: PCG64's for both, as numpy.random */
    g->pcg.state = (g->pcg.inc + start) * MULTIPLIER + g->pcg.inc;
    g->has_uint32 = false;
    g->uinteger = 0;
    g->has_gauss = false;
    g->gauss = 0;
}

/* Brown's method: the delta-fold step is a step with multiplier m^delta, by repeated
 * squaring. */
void asn_pcg64_advance(asn_bitgen *g, unsigned __int128 delta) {
    if (g->kind == ASN_PHILOX) {
        g->pcg.state = (uint64_t)(g->pcg.state + delta);
        g->has_uint32 = false;
        return;
    }
    unsigned __int128 mult = multiplier(g), plus = g->pcg.inc, all_mult = 1, all_plus = 0;
    for (; delta; delta >>= 1) {
        if (delta & 1) {
            all_mult *= mult;
            all_plus = all_plus * mult + plus;
        }
        plus *= mult + 1;
        mult *= mult;
    }
    g->pcg.state = g->pcg.state * all_mult + all_plus;
    g->has_uint32 = false;
    g->uinteger = 0;
}
