/* L1 random: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011): word i of a key's stream is a function of i alone.
 *
 * Block b enciphers the counter (b, 0) of 4 x 32 bits; its first two results make the
 * 64-bit word 2 b, the others word 2 b + 1, the earlier of two in the high half. AVX-512
 * and AVX2 encipher eight counters at a time.
 */
#include "random/engines.h"
#include "random/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define WEYL_0       0x9e3779b9u
#define WEYL_1       0xbb67ae85u
enum { ROUNDS = 10 };

/* Ten rounds: words 2 * block and 2 * block + 1 of the key's stream. */
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

/* Eight words, or the numbers in [0, 1) that they make. */
WIDE static inline void store(void *out, __m512i words, bool doubles) {
    if (doubles) {
        __m512d u = _mm512_cvtepi64_pd(_mm512_srli_epi64(words, 11));
        _mm512_storeu_pd(out, _mm512_mul_pd(u, _mm512_set1_pd(0x1p-53)));
    } else
        _mm512_storeu_si512(out, words);
}

/* From an even word on, in sixteens; returns how many. */
WIDE static inline __attribute__((always_inline)) int64_t
fill_wide(uint64_t key, uint64_t first, int64_t n, uint64_t *out, bool doubles) {
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

WIDE int64_t asn_philox_words_avx512(uint64_t key, uint64_t first, int64_t n, void *out) {
    return fill_wide(key, first, n, out, false);
}

WIDE int64_t asn_philox_doubles_avx512(uint64_t key, uint64_t first, int64_t n,
                                       void *out) {
    return fill_wide(key, first, n, out, true);
}

/* ---- AVX2: eight counters at a time, in two vectors of four */

#define NARROW __attribute__((target("avx2")))
enum { GROUPS = 2 };

/* The keys of all rounds, in every lane. */
typedef struct {
    __m256i k0[ROUNDS], k1[ROUNDS];
} round_keys;

/* Once for each fill. */
NARROW static void spread_keys(uint64_t key, round_keys *keys) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < ROUNDS; round++, k0 += WEYL_0, k1 += WEYL_1) {
        keys->k0[round] = _mm256_set1_epi32((int)k0);
        keys->k1[round] = _mm256_set1_epi32((int)k1);
    }
}

/* Results of the blocks from `first` on, four to a vector; the low halves of the lanes
 * count. */
NARROW static inline __attribute__((always_inline)) void
encipher_4(const round_keys *keys, uint64_t first, __m256i x[4][GROUPS]) {
    const __m256i m0 = _mm256_set1_epi64x(MULTIPLIER_0),
                  m1 = _mm256_set1_epi64x(MULTIPLIER_1);
    for (int g = 0; g < GROUPS; g++) {
        __m256i block =
            _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(first + 4 * (uint64_t)g)),
                             _mm256_setr_epi64x(0, 1, 2, 3));
        x[0][g] = block;
        x[1][g] = _mm256_srli_epi64(block, 32);
        x[2][g] = x[3][g] = _mm256_setzero_si256();
    }
    for (int round = 0; round < ROUNDS; round++) {
        const __m256i a = keys->k0[round], b = keys->k1[round];
        for (int g = 0; g < GROUPS; g++) {
            __m256i p = _mm256_mul_epu32(m0, x[0][g]), q = _mm256_mul_epu32(m1, x[2][g]);
            /* The keys first: results of products come late, and gcc would put them so.
             */
            __m256i c = _mm256_xor_si256(x[1][g], a), d = _mm256_xor_si256(x[3][g], b);
            __asm__("" : "+x"(c), "+x"(d));
            x[0][g] = _mm256_xor_si256(_mm256_srli_epi64(q, 32), c);
            x[2][g] = _mm256_xor_si256(_mm256_srli_epi64(p, 32), d);
            x[1][g] = q;
            x[3][g] = p;
        }
    }
}

/* The word with the halves `high` and `low`. */
NARROW static inline __m256i join(__m256i high, __m256i low) {
    return _mm256_blend_epi32(_mm256_slli_epi64(high, 32), low, 0x55);
}

/* That word's upper 53 bits times 2^-53: (2^20 + high 2^-32) - (2^20 + 1/2) and (1/2 +
 * low 2^-53) are put together as bits, and no step rounds. */
NARROW static inline __m256i join_unit(__m256i high, __m256i low) {
    const __m256i zero = _mm256_setzero_si256(),
                  above = _mm256_set1_epi64x(0x4130000000000000),
                  below = _mm256_set1_epi64x(0x3fe0000000000000);
    __m256i h = _mm256_or_si256(_mm256_blend_epi32(zero, high, 0x55), above);
    __m256i l = _mm256_or_si256(_mm256_srli_epi64(_mm256_slli_epi64(low, 32), 43), below);
    __m256d u = _mm256_sub_pd(_mm256_castsi256_pd(h), _mm256_set1_pd(0x1p20 + 0.5));
    return _mm256_castpd_si256(_mm256_add_pd(u, _mm256_castsi256_pd(l)));
}

/* From an even word on, in sixteens; returns how many. */
NARROW static inline __attribute__((always_inline)) int64_t
fill_narrow(uint64_t key, uint64_t first, int64_t n, uint64_t *out, bool doubles) {
    int64_t i = 0;
    round_keys keys;
    if (n >= 8 * GROUPS) spread_keys(key, &keys);
    for (; i + 8 * GROUPS <= n; i += 8 * GROUPS) {
        __m256i x[4][GROUPS];
        encipher_4(&keys, (first + (uint64_t)i) / 2, x);
        for (int g = 0; g < GROUPS; g++) {
            __m256i a = doubles ? join_unit(x[0][g], x[1][g]) : join(x[0][g], x[1][g]);
            __m256i b = doubles ? join_unit(x[2][g], x[3][g]) : join(x[2][g], x[3][g]);
            __m256i low = _mm256_unpacklo_epi64(a, b), high = _mm256_unpackhi_epi64(a, b);
            uint64_t *to = out + i + 8 * g;
            _mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(low, high, 0x20));
            _mm256_storeu_si256((void *)(to + 4),
                                _mm256_permute2x128_si256(low, high, 0x31));
        }
    }
    return i;
}

NARROW int64_t asn_philox_words_avx2(uint64_t key, uint64_t first, int64_t n, void *out) {
    return fill_narrow(key, first, n, out, false);
}

NARROW int64_t asn_philox_doubles_avx2(uint64_t key, uint64_t first, int64_t n,
                                       void *out) {
    return fill_narrow(key, first, n, out, true);
}
#endif

/* What vectors give; 0 where the processor has none. */
static int64_t fill_start(asn_philox_fill fill, uint64_t key, uint64_t first, int64_t n,
                          void *out) {
    return fill ? fill(key, first, n, out) : 0;
}

static double unit(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

/* An odd first word is the second of its block; from then on words come in pairs. */
void asn_philox_words(uint64_t key, uint64_t first, int64_t n, uint64_t *out) {
    uint64_t pair[2];
    int64_t i = 0;
    if (n && first % 2) {
        encipher(key, first / 2, pair);
        out[i++] = pair[1];
    }
    i += fill_start(asn_random_loops_get()->philox_words, key, first + (uint64_t)i, n - i,
                    out + i);
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
    i += fill_start(asn_random_loops_get()->philox_doubles, key, first + (uint64_t)i,
                    n - i, out + i);
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
