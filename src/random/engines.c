/* L1 random: one wide engine for another: the switch on the kind, once per word or block.
 *
 * Blocks make the switch cheap; a single word pays for it. The twister has its own way in
 * each function, since its words are halves.
 */
#include "random/engines.h"

#include "random/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The next word of any wide engine. Philox counts words in `state`, its key is in `inc`.
 */
static uint64_t next_word(asn_bitgen *g) {
    uint64_t word;
    switch (g->kind) {
    case ASN_PHILOX:
        asn_philox_words((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state++, 1, &word);
        return word;
    case ASN_PHILOX4X64: return asn_philox4x64_next(g);
    case ASN_SFC64: return asn_sfc64_next(g);
    default: return asn_pcg64_next(g);
    }
}

void asn_wide_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    switch (g->kind) {
    case ASN_PHILOX:
        asn_philox_words((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state, n, out);
        g->pcg.state += (uint64_t)n;
        break;
    case ASN_PHILOX4X64: asn_philox4x64_block(g, n, out); break;
    case ASN_SFC64: asn_sfc64_block(g, n, out); break;
    default: asn_pcg64_block(g, n, out);
    }
}

/* As signed numbers, which every processor converts. */
void asn_units_baseline(int64_t n, const uint64_t *words, double *out) {
    for (int64_t k = 0; k < n; k++)
        out[k] = (double)(int64_t)(words[k] >> 11) * 0x1p-53;
}

#if defined(__x86_64__)
/* Four at a time: (2^20 + high 2^-32) - (2^20 + 1/2) and (1/2 + low 2^-53), put together
 * as bits from a word's upper 32 bits and the next 21; no step rounds. */
__attribute__((target("avx2"))) void asn_units_avx2(int64_t n, const uint64_t *words,
                                                    double *out) {
    const __m256i above = _mm256_set1_epi64x(0x4130000000000000),
                  below = _mm256_set1_epi64x(0x3fe0000000000000),
                  rest = _mm256_set1_epi64x(0x1fffff);
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        __m256i x = _mm256_loadu_si256((const void *)(words + k));
        __m256i h = _mm256_or_si256(_mm256_srli_epi64(x, 32), above);
        __m256i l = _mm256_and_si256(_mm256_srli_epi64(x, 11), rest);
        __m256d u = _mm256_sub_pd(_mm256_castsi256_pd(h), _mm256_set1_pd(0x1p20 + 0.5));
        l = _mm256_or_si256(l, below);
        _mm256_storeu_pd(out + k, _mm256_add_pd(u, _mm256_castsi256_pd(l)));
    }
    asn_units_baseline(n - k, words + k, out + k);
}
#endif

/* Philox makes numbers from its registers; others by way of a block of words. */
void asn_wide_doubles(asn_bitgen *g, int64_t n, double *out) {
    enum { BLOCK = 256 };
    uint64_t block[BLOCK];
    int64_t i = 0;
    if (g->kind == ASN_PHILOX) {
        asn_philox_doubles((uint64_t)g->pcg.inc, (uint64_t)g->pcg.state, n, out);
        g->pcg.state += (uint64_t)n;
        return;
    }
    if (g->kind == ASN_PCG64) i = asn_pcg64_many_doubles(g, n, out);
    for (; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        asn_wide_block(g, m, block);
        asn_random_loops_get()->units(m, block, out + i);
    }
}

/* The twister: the first of two words is the upper half, as in NumPy. */
uint64_t asn_next64(asn_bitgen *g) {
    if (g->kind != ASN_MT19937) return next_word(g);
    uint64_t high = asn_mt19937_next32(g);
    return high << 32 | asn_mt19937_next32(g);
}

/* Of a wide engine the lower half first; the upper one waits. */
uint32_t asn_next32(asn_bitgen *g) {
    if (g->kind == ASN_MT19937) return asn_mt19937_next32(g);
    if (g->has_uint32) {
        g->has_uint32 = false;
        return g->uinteger;
    }
    uint64_t next = next_word(g);
    g->has_uint32 = true;
    g->uinteger = (uint32_t)(next >> 32);
    return (uint32_t)next;
}

double asn_next_double(asn_bitgen *g) {
    if (g->kind != ASN_MT19937) return (double)(next_word(g) >> 11) * 0x1p-53;
    uint32_t a = asn_mt19937_next32(g) >> 5, b = asn_mt19937_next32(g) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}
