/* L1 random: PCG64 (PCG XSL RR 128/64) and PCG64DXSM (M. E. O'Neill): a 128-bit linear
 * congruential generator. PCG64 folds and rotates the state after each step into 64 bits;
 * DXSM steps with a multiplier of 64 bits and stirs the state before the step twice.
 *
 * One step waits for the multiplication of the step before, so a block of numbers is made
 * by three generators, each three steps at a time: step^3 is a step with another
 * multiplier and increment; more generators do not fit in the registers. Where the
 * processor can, eight go at once (pcg64_ifma.c).
 */
#include "random/engines.h"

#define MULTIPLIER                                                                       \
    ((unsigned __int128)0x2360ed051fc65da4 << 64 | (unsigned __int128)0x4385df649fccf645)
#define CHEAP 0xda942042e4dd58b5u

enum { LEAST = 8 /* words for which three generators are worth setting up */ };

static inline unsigned __int128 multiplier(const asn_bitgen *g) {
    return g->kind == ASN_PCG64DXSM ? CHEAP : MULTIPLIER;
}

static inline uint64_t stir(unsigned __int128 state) {
    uint64_t x = (uint64_t)(state >> 64);
    x = (x ^ x >> 32) * CHEAP;
    return (x ^ x >> 48) * ((uint64_t)state | 1);
}

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

/* Words, or numbers in [0, 1), in threes; returns how many. DXSM's are of the states
 * before the steps, the others' of those after. */
__attribute__((always_inline)) static inline int64_t
threes(asn_bitgen *g, bool dxsm, bool doubles, int64_t n, void *out) {
    enum { K = 3 };
    const unsigned __int128 m = dxsm ? CHEAP : MULTIPLIER, c = g->pcg.inc;
    const unsigned __int128 m3 = m * m * m, c3 = c * (m * m + m + 1);
    unsigned __int128 s[K] = {dxsm ? g->pcg.state : g->pcg.state * m + c}, last = s[0];
    int64_t i = 0;
    for (int k = 1; k < K; k++)
        s[k] = s[k - 1] * m + c;
    for (; i + K <= n; i += K) {
        last = s[K - 1];
        for (int k = 0; k < K; k++) {
            uint64_t word = dxsm ? stir(s[k]) : fold(s[k]);
            s[k] = s[k] * m3 + c3;
            if (doubles) /* as a signed number, which every processor converts */
                ((double *)out)[i + k] = (double)(int64_t)(word >> 11) * 0x1p-53;
            else
                ((uint64_t *)out)[i + k] = word;
        }
    }
    if (i) g->pcg.state = dxsm ? s[0] : last;
    return i;
}

typedef int64_t (*many)(asn_bitgen *g, int64_t n, void *out);

#define MANY(name, attributes, dxsm, doubles)                                            \
    attributes static int64_t name(asn_bitgen *g, int64_t n, void *out) {                \
        return threes(g, dxsm, doubles, n, out);                                         \
    }
MANY(words, , false, false)
MANY(numbers, , false, true)
MANY(dxsm_words, , true, false)
MANY(dxsm_numbers, , true, true)
#if defined(__x86_64__)
/* mulx leaves the flags and registers alone that mul takes. */
#define MULX __attribute__((target("bmi2")))
MANY(words_mulx, MULX, false, false)
MANY(numbers_mulx, MULX, false, true)
MANY(dxsm_words_mulx, MULX, true, false)
MANY(dxsm_numbers_mulx, MULX, true, true)
#endif

/* What makes many words (or numbers) of a kind here. */
static many find(bool dxsm, bool doubles) {
#if defined(__x86_64__)
    static const many mulx[2][2] = {{words_mulx, numbers_mulx},
                                    {dxsm_words_mulx, dxsm_numbers_mulx}};
    if (__builtin_cpu_supports("bmi2")) return mulx[dxsm][doubles];
#endif
    static const many plain[2][2] = {{words, numbers}, {dxsm_words, dxsm_numbers}};
    return plain[dxsm][doubles];
}

void asn_pcg64_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    bool dxsm = g->kind == ASN_PCG64DXSM;
    int64_t i = dxsm ? 0 : asn_pcg64_many(g, MULTIPLIER, n, out);
    if (n - i >= LEAST) i += find(dxsm, false)(g, n - i, out + i);
    for (; i < n; i++)
        out[i] = asn_pcg64_next(g);
}

void asn_pcg64_doubles(asn_bitgen *g, int64_t n, double *out) {
    bool dxsm = g->kind == ASN_PCG64DXSM;
    int64_t i = dxsm ? 0 : asn_pcg64_many_as_doubles(g, MULTIPLIER, n, out);
    if (n - i >= LEAST) i += find(dxsm, true)(g, n - i, out + i);
    for (; i < n; i++)
        out[i] = (double)(int64_t)(asn_pcg64_next(g) >> 11) * 0x1p-53;
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
