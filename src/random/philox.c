/* L1 random: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011): word i of a key's stream is a function of i alone.
 *
 * Block b enciphers the counter (b, 0) of 4 x 32 bits; its first two results make the
 * 64-bit word 2 b, the others word 2 b + 1, the earlier of two in the high half. AVX-512
 * enciphers eight counters at a time.
 */
#include "base/cpu.h"
#include "random/engines.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define WEYL_0       0x9e3779b9u
#define WEYL_1       0xbb67ae85u
enum { ROUNDS = 10 };

static void encipher(uint64_t key, uint64_t block, uint64_t words[2]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x0 = (uint32_t)block, x1 = (uint32_t)(block >> 32), x2 = 0, x3 = 0;
    for (int round = 0; round < ROUNDS; round++, k0 += WEYL_0, k1 += WEYL_1) {
        uint64_t p = (uint64_t)MULTIPLIER_0 * x0, q = (uint64_t)MULTIPLIER_1 * x2;
        uint32_t y0 = (uint32_t)(q >> 32) ^ x1 ^ k0, y2 = (uint32_t)(p >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)q;
        x3 = (uint32_t)p;
        x0 = y0;
        x2 = y2;
    }
    words[0] = (uint64_t)x0 << 32 | x1;
    words[1] = (uint64_t)x2 << 32 | x3;
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx512f,avx512dq")))

/* Words of eight blocks: a the even ones, b the odd ones. Only the low halves of the
 * lanes count until the end. */
WIDE static inline void encipher_8(uint64_t key, __m512i block, __m512i *a, __m512i *b) {
    const __m512i m0 = _mm512_set1_epi64(MULTIPLIER_0),
                  m1 = _mm512_set1_epi64(MULTIPLIER_1);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    __m512i x0 = block, x1 = _mm512_srli_epi64(block, 32), x2 = _mm512_setzero_si512(),
            x3 = x2;
    for (int round = 0; round < ROUNDS; round++, k0 += WEYL_0, k1 += WEYL_1) {
        __m512i p = _mm512_mul_epu32(m0, x0), q = _mm512_mul_epu32(m1, x2);
        x0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(q, 32), x1,
                                       _mm512_set1_epi64(k0), 0x96);
        x2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p, 32), x3,
                                       _mm512_set1_epi64(k1), 0x96);
        x1 = q;
        x3 = p;
    }
    const __m512i low = _mm512_set1_epi64(UINT32_MAX);
    *a = _mm512_or_si512(_mm512_slli_epi64(x0, 32), _mm512_and_si512(x1, low));
    *b = _mm512_or_si512(_mm512_slli_epi64(x2, 32), _mm512_and_si512(x3, low));
}

WIDE static inline void store(void *out, __m512i words, bool doubles) {
    if (doubles) {
        __m512d u = _mm512_cvtepi64_pd(_mm512_srli_epi64(words, 11));
        _mm512_storeu_pd(out, _mm512_mul_pd(u, _mm512_set1_pd(0x1p-53)));
    } else
        _mm512_storeu_si512(out, words);
}

/* From an even word on, in sixteens; returns how many. */
WIDE static int64_t fill_wide(uint64_t key, uint64_t first, int64_t n, uint64_t *out,
                              bool doubles) {
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                  low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
                  high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i a, b, block = _mm512_set1_epi64((int64_t)((first + (uint64_t)i) / 2));
        encipher_8(key, _mm512_add_epi64(block, iota), &a, &b);
        store(out + i, _mm512_permutex2var_epi64(a, low, b), doubles);
        store(out + i + 8, _mm512_permutex2var_epi64(a, high, b), doubles);
    }
    return i;
}
#endif

static int64_t fill_start(uint64_t key, uint64_t first, int64_t n, uint64_t *out,
                          bool doubles) {
#if defined(__x86_64__)
    if (asn_cpu_isa() >= ASN_ISA_AVX512) return fill_wide(key, first, n, out, doubles);
#endif
    (void)key, (void)first, (void)n, (void)out, (void)doubles;
    return 0;
}

static double unit(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

void asn_philox_words(uint64_t key, uint64_t first, int64_t n, uint64_t *out) {
    uint64_t pair[2];
    int64_t i = 0;
    if (n && first % 2) {
        encipher(key, first / 2, pair);
        out[i++] = pair[1];
    }
    i += fill_start(key, first + (uint64_t)i, n - i, out + i, false);
    for (; i < n; i += 2) {
        encipher(key, (first + (uint64_t)i) / 2, pair);
        out[i] = pair[0];
        if (i + 1 < n) out[i + 1] = pair[1];
    }
}

void asn_philox_doubles(uint64_t key, uint64_t first, int64_t n, double *out) {
    uint64_t pair[2];
    int64_t i = 0;
    if (n && first % 2) {
        encipher(key, first / 2, pair);
        out[i++] = unit(pair[1]);
    }
    i += fill_start(key, first + (uint64_t)i, n - i, (uint64_t *)(void *)(out + i), true);
    for (; i < n; i += 2) {
        encipher(key, (first + (uint64_t)i) / 2, pair);
        out[i] = unit(pair[0]);
        if (i + 1 < n) out[i + 1] = unit(pair[1]);
    }
}

void asn_philox_seed(asn_bitgen *g, uint64_t key) {
    g->kind = ASN_PHILOX;
    g->pcg.inc = key;
    g->pcg.state = 0;
    g->has_uint32 = false;
    g->uinteger = 0;
    g->has_gauss = false;
    g->gauss = 0;
}
