/* L1 random: PCG64 eight steps at a time with AVX-512 IFMA.
 *
 * The 128-bit states of eight consecutive steps lie in three registers, as limbs of 52,
 * 52 and 24 bits, and step^8 takes nine multiply-adds of 52-bit limbs. Multiplications
 * look at 52 bits only, so a limb keeps its carry until the number is folded. The words
 * are those of the scalar generator, bit for bit.
 */
#include "random/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define IFMA __attribute__((target("avx512f,avx512dq,avx512ifma")))

/* Eight 128-bit states, a limb of each in a register. */
typedef struct {
    __m512i x0, x1, x2;
} limbs;

/* One number in all lanes. */
IFMA static inline limbs spread(unsigned __int128 v) {
    return (limbs){
        _mm512_set1_epi64((int64_t)((uint64_t)v & (((uint64_t)1 << 52) - 1))),
        _mm512_set1_epi64((int64_t)((uint64_t)(v >> 52) & (((uint64_t)1 << 52) - 1))),
        _mm512_set1_epi64((int64_t)(uint64_t)(v >> 104))};
}

/* What waits longest for the step before comes last in each sum. */
IFMA static inline limbs step(limbs x, limbs m, limbs c) {
    limbs y;
    y.x0 = _mm512_madd52lo_epu64(c.x0, x.x0, m.x0);
    y.x1 = _mm512_madd52hi_epu64(c.x1, x.x0, m.x0);
    y.x1 = _mm512_madd52lo_epu64(y.x1, x.x0, m.x1);
    y.x1 = _mm512_madd52lo_epu64(y.x1, x.x1, m.x0);
    y.x2 = _mm512_madd52lo_epu64(c.x2, x.x0, m.x2);
    y.x2 = _mm512_madd52hi_epu64(y.x2, x.x0, m.x1);
    __m512i high = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x.x1, m.x0);
    high = _mm512_madd52lo_epu64(high, x.x1, m.x1);
    y.x2 = _mm512_madd52lo_epu64(y.x2, x.x2, m.x0);
    y.x1 = _mm512_add_epi64(y.x1, _mm512_srli_epi64(y.x0, 52));
    y.x2 = _mm512_add_epi64(_mm512_add_epi64(y.x2, high), _mm512_srli_epi64(y.x1, 52));
    return y;
}

/* The words of eight states, as in pcg64.c. */
IFMA static inline __m512i fold(limbs x) {
    const __m512i mask = _mm512_set1_epi64(((int64_t)1 << 52) - 1);
    __m512i low =
        _mm512_or_si512(_mm512_and_si512(x.x0, mask), _mm512_slli_epi64(x.x1, 52));
    __m512i high = _mm512_or_si512(_mm512_srli_epi64(_mm512_and_si512(x.x1, mask), 12),
                                   _mm512_slli_epi64(x.x2, 40));
    return _mm512_rorv_epi64(_mm512_xor_si512(low, high), _mm512_srli_epi64(high, 58));
}

/* The state that the generator is left in. */
IFMA static unsigned __int128 last_lane(limbs x) {
    uint64_t a[8], b[8], c[8];
    const uint64_t mask = ((uint64_t)1 << 52) - 1;
    _mm512_storeu_si512(a, x.x0);
    _mm512_storeu_si512(b, x.x1);
    _mm512_storeu_si512(c, x.x2);
    return (a[7] & mask) + ((unsigned __int128)(b[7] & mask) << 52) +
           ((unsigned __int128)c[7] << 104);
}

/* The eight states after `state`. */
IFMA static limbs begin(unsigned __int128 state, unsigned __int128 m,
                        unsigned __int128 c) {
    uint64_t a[8], b[8], d[8];
    const uint64_t mask = ((uint64_t)1 << 52) - 1;
    for (int i = 0; i < 8; i++) {
        state = state * m + c;
        a[i] = (uint64_t)state & mask;
        b[i] = (uint64_t)(state >> 52) & mask;
        d[i] = (uint64_t)(state >> 104);
    }
    return (limbs){_mm512_loadu_si512(a), _mm512_loadu_si512(b), _mm512_loadu_si512(d)};
}

/* Words or numbers in eights; returns how many, and leaves the generator there. */
IFMA static int64_t run(asn_bitgen *g, unsigned __int128 m, int64_t n, void *out,
                        bool doubles) {
    const unsigned __int128 c = g->pcg.inc, m2 = m * m, m4 = m2 * m2;
    const limbs m8 = spread(m4 * m4), c8 = spread(c * (m + 1) * (m2 + 1) * (m4 + 1));
    limbs x = begin(g->pcg.state, m, c), before = x;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512i words = fold(x);
        before = x;
        x = step(x, m8, c8);
        if (doubles) {
            __m512d u = _mm512_cvtepi64_pd(_mm512_srli_epi64(words, 11));
            _mm512_storeu_pd((double *)out + i,
                             _mm512_mul_pd(u, _mm512_set1_pd(0x1p-53)));
        } else
            _mm512_storeu_si512((uint64_t *)out + i, words);
    }
    if (i) g->pcg.state = last_lane(before);
    return i;
}

IFMA int64_t asn_pcg64_words_ifma(asn_bitgen *g, unsigned __int128 m, int64_t n,
                                  void *out) {
    return run(g, m, n, out, false);
}

IFMA int64_t asn_pcg64_doubles_ifma(asn_bitgen *g, unsigned __int128 m, int64_t n,
                                    void *out) {
    return run(g, m, n, out, true);
}

#else
typedef int asn_pcg64_ifma_unused;
#endif
