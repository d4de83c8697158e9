/* CPU device: greatest common divisors and lowest common multiples with AVX-512.
 *
 * Euclid's steps on 64 pairs at a time, until the last of them is done, by way of
 * floating point: a division takes as long for sixteen lanes as for one (int64 below 100:
 * 10.7 ns one by one, 1.1 so). Magnitudes below 2^22 fit float32, those below 2^51
 * float64: with x + y below the precision a quotient x / y rounds to an integer only if
 * it is one, so that its floor is the integers' and the fused remainder is exact. Blocks
 * with larger ones go one by one. A lane whose divisor is 0 is done: nothing divides.
 */
#include "device/cpu/math/gcd_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define INLINE __attribute__((always_inline)) static inline

enum { PAIRS = 64, FEW = 4, GCD = 0, LCM = 1 };
#define SMALL ((uint64_t)1 << 22)
#define WIDE  ((uint64_t)1 << 51)

static asnd_ew_fn other[2][ASN_DTYPE_COUNT];

/* ---- magnitudes as 64 numbers of 4 bytes, or of 8 */

/* Magnitudes of 16 elements of up to 4 bytes, the v-th of a block. The most negative
 * number of 32 bits stays 2^31 as unsigned. */
INLINE __m512i load_4(const char *p, int item, bool sign, int v) {
    const char *at = p + 16 * v * item;
    __m512i x;
    if (item == 1) {
        __m128i bytes = _mm_loadu_si128((const void *)at);
        x = sign ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    } else if (item == 2) {
        __m256i words = _mm256_loadu_si256((const void *)at);
        x = sign ? _mm512_cvtepi16_epi32(words) : _mm512_cvtepu16_epi32(words);
    } else {
        x = _mm512_loadu_si512(at);
    }
    return sign ? _mm512_abs_epi32(x) : x;
}

/* Magnitudes of 8 elements of 4 or 8 bytes. */
INLINE __m512i load_8(const char *p, int item, bool sign, int v) {
    const char *at = p + 8 * v * item;
    if (item == 8) {
        __m512i x = _mm512_loadu_si512(at);
        return sign ? _mm512_abs_epi64(x) : x;
    }
    __m256i words = _mm256_loadu_si256((const void *)at);
    return _mm512_cvtepu32_epi64(sign ? _mm256_abs_epi32(words) : words);
}

INLINE __m512i narrow_8(const char *p, bool sign, int v) { /* below 2^22 */
    __m256i low = _mm512_cvtepi64_epi32(load_8(p, 8, sign, 2 * v));
    __m256i high = _mm512_cvtepi64_epi32(load_8(p, 8, sign, 2 * v + 1));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* No smaller than the largest of a block, less than twice as large. 0 for 8 and 16 bits,
 * whose magnitudes always fit float32. By or of all: no lane is compared. */
INLINE uint64_t largest(const char *a, const char *b, int item, bool sign) {
    if (item < 4) return 0;
    __m512i any = _mm512_setzero_si512();
    for (int v = 0; v < PAIRS * item / 64; v++) {
        __m512i x = item == 4 ? load_4(a, 4, sign, v) : load_8(a, 8, sign, v);
        __m512i y = item == 4 ? load_4(b, 4, sign, v) : load_8(b, 8, sign, v);
        any = _mm512_or_si512(any, _mm512_or_si512(x, y));
    }
    if (item == 4) return (uint32_t)_mm512_reduce_or_epi32(any);
    return (uint64_t)_mm512_reduce_or_epi64(any);
}

/* ---- Euclid's steps on four vectors, whose divisions overlap; x becomes the divisor */

INLINE void euclid_f32(__m512 x[4], __m512 y[4]) {
    const __m512 zero = _mm512_setzero_ps();
    for (unsigned left = 1; left;) {
        left = 0;
        for (int v = 0; v < 4; v++) {
            __mmask16 on = _mm512_cmp_ps_mask(y[v], zero, _CMP_NEQ_OQ);
            __m512 q = _mm512_maskz_div_ps(on, x[v], y[v]);
            q = _mm512_roundscale_ps(q, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
            __m512 rest = _mm512_maskz_fnmadd_ps(on, q, y[v], x[v]);
            x[v] = _mm512_mask_mov_ps(x[v], on, y[v]);
            y[v] = rest;
            left |= on;
        }
    }
}

INLINE void euclid_f64(__m512d x[4], __m512d y[4]) {
    const __m512d zero = _mm512_setzero_pd();
    for (unsigned left = 1; left;) {
        left = 0;
        for (int v = 0; v < 4; v++) {
            __mmask8 on = _mm512_cmp_pd_mask(y[v], zero, _CMP_NEQ_OQ);
            __m512d q = _mm512_maskz_div_pd(on, x[v], y[v]);
            q = _mm512_roundscale_pd(q, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
            __m512d rest = _mm512_maskz_fnmadd_pd(on, q, y[v], x[v]);
            x[v] = _mm512_mask_mov_pd(x[v], on, y[v]);
            y[v] = rest;
            left |= on;
        }
    }
}

/* ---- blocks; quotients by the divisor 1 where it is 0: lcm(0, 0) is 0 */

INLINE void store_4(char *out, int item, int v, __m512i r) { /* results wrap */
    char *at = out + 16 * v * item;
    if (item == 1)
        _mm_storeu_si128((void *)at, _mm512_cvtepi32_epi8(r));
    else if (item == 2)
        _mm256_storeu_si256((void *)at, _mm512_cvtepi32_epi16(r));
    else
        _mm512_storeu_si512(at, r);
}

/* Products of numbers below 2^32. */
INLINE __m512i wide_product(__m256i q, __m256i m) {
    return _mm512_mul_epu32(_mm512_cvtepu32_epi64(q), _mm512_cvtepu32_epi64(m));
}

/* 64 pairs of magnitudes below 2^22, in float32; a product of 8 bytes is wide (below
 * 2^44). */
INLINE void small_block(char *out, const char *a, const char *b, int item, bool sign,
                        int kind) {
    __m512i p[4], m[4];
    __m512 x[4], y[4];
    for (int v = 0; v < 4; v++) {
        p[v] = item == 8 ? narrow_8(a, sign, v) : load_4(a, item, sign, v);
        m[v] = item == 8 ? narrow_8(b, sign, v) : load_4(b, item, sign, v);
        x[v] = _mm512_cvtepi32_ps(p[v]);
        y[v] = _mm512_cvtepi32_ps(m[v]);
    }
    euclid_f32(x, y);
    for (int v = 0; v < 4; v++) {
        __m512i r = _mm512_cvtps_epi32(x[v]);
        if (kind == LCM) {
            __m512 by = _mm512_max_ps(x[v], _mm512_set1_ps(1));
            r = _mm512_cvtps_epi32(_mm512_div_ps(_mm512_cvtepi32_ps(p[v]), by));
        }
        if (item < 8) {
            store_4(out, item, v, kind == LCM ? _mm512_mullo_epi32(r, m[v]) : r);
            continue;
        }
        __m256i low = _mm512_castsi512_si256(r), high = _mm512_extracti64x4_epi64(r, 1);
        __m256i m0 = _mm512_castsi512_si256(m[v]);
        __m256i m1 = _mm512_extracti64x4_epi64(m[v], 1);
        __m512i first = kind == LCM ? wide_product(low, m0) : _mm512_cvtepu32_epi64(low);
        __m512i last = kind == LCM ? wide_product(high, m1) : _mm512_cvtepu32_epi64(high);
        _mm512_storeu_si512(out + 128 * v, first);
        _mm512_storeu_si512(out + 128 * v + 64, last);
    }
}

/* Half of a block. */
INLINE void wide_half(char *out, const char *a, const char *b, int item, bool sign,
                      int kind) {
    __m512i m[4];
    __m512d x[4], y[4], p[4];
    for (int v = 0; v < 4; v++) {
        m[v] = load_8(b, item, sign, v);
        p[v] = x[v] = _mm512_cvtepu64_pd(load_8(a, item, sign, v));
        y[v] = _mm512_cvtepu64_pd(m[v]);
    }
    euclid_f64(x, y);
    for (int v = 0; v < 4; v++) {
        __m512i r = _mm512_cvtpd_epu64(x[v]);
        if (kind == LCM) {
            __m512d by = _mm512_max_pd(x[v], _mm512_set1_pd(1));
            r = _mm512_mullo_epi64(_mm512_cvtpd_epu64(_mm512_div_pd(p[v], by)), m[v]);
        }
        if (item == 8)
            _mm512_storeu_si512(out + 64 * v, r);
        else
            _mm256_storeu_si256((void *)(out + 32 * v), _mm512_cvtepi64_epi32(r));
    }
}

/* False: a number is too large. */
INLINE bool block(char *out, const char *a, const char *b, int item, bool sign,
                  int kind) {
    const uint64_t most = largest(a, b, item, sign);
    if (most >= WIDE) return false;
    if (most < SMALL) {
        small_block(out, a, b, item, sign, kind);
    } else if (item >= 4) {
        const int half = PAIRS / 2 * item;
        wide_half(out, a, b, item, sign, kind);
        wide_half(out + half, a + half, b + half, item, sign, kind);
    }
    return true;
}

#define LOOP(name, kind, item, sign, dtype)                                              \
    static void name(int64_t n, void *dst, const void *a, const void *b,                 \
                     const void *c) {                                                    \
        enum { BYTES = PAIRS * (item) };                                                 \
        const char *x = a, *y = b;                                                       \
        char *to = dst;                                                                  \
        for (; n >= PAIRS; n -= PAIRS, to += BYTES, x += BYTES, y += BYTES)              \
            if (!block(to, x, y, item, sign, kind))                                      \
                other[kind][dtype](PAIRS, to, x, y, c);                                  \
        if (n <= FEW) {                                                                  \
            if (n > 0) other[kind][dtype](n, to, x, y, c);                               \
            return;                                                                      \
        }                                                                                \
        char last[3][BYTES] = {{0}};                                                     \
        memcpy(last[0], x, (size_t)n * (item));                                          \
        memcpy(last[1], y, (size_t)n * (item));                                          \
        if (block(last[2], last[0], last[1], item, sign, kind))                          \
            memcpy(to, last[2], (size_t)n * (item));                                     \
        else                                                                             \
            other[kind][dtype](n, to, x, y, c);                                          \
    }
#define LOOPS(tag, item, sign, dtype)                                                    \
    LOOP(gcd_##tag, GCD, item, sign, dtype)                                              \
    LOOP(lcm_##tag, LCM, item, sign, dtype)
LOOPS(i8, 1, true, ASN_I8)
LOOPS(u8, 1, false, ASN_U8)
LOOPS(i16, 2, true, ASN_I16)
LOOPS(u16, 2, false, ASN_U16)
LOOPS(i32, 4, true, ASN_I32)
LOOPS(u32, 4, false, ASN_U32)
LOOPS(i64, 8, true, ASN_I64)
LOOPS(u64, 8, false, ASN_U64)

void asn_kernels_gcd_avx512(asnd_kernels *k) {
    static const struct {
        asn_dtype dtype;
        asnd_ew_fn fn[2];
    } loops[] = {{ASN_I8, {gcd_i8, lcm_i8}},    {ASN_U8, {gcd_u8, lcm_u8}},
                 {ASN_I16, {gcd_i16, lcm_i16}}, {ASN_U16, {gcd_u16, lcm_u16}},
                 {ASN_I32, {gcd_i32, lcm_i32}}, {ASN_U32, {gcd_u32, lcm_u32}},
                 {ASN_I64, {gcd_i64, lcm_i64}}, {ASN_U64, {gcd_u64, lcm_u64}}};
    static const asn_op ops[2] = {ASN_OP_GCD, ASN_OP_LCM};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int kind = 0; kind < 2; kind++) {
            asnd_ew_fn *slot = &k->ew[ops[kind]][loops[i].dtype];
            other[kind][loops[i].dtype] = *slot;
            *slot = loops[i].fn[kind];
            k->cost[ops[kind]] = 10;
        }
}
#endif
