/* CPU device: the words of number_lanes.h with AVX2.
 *
 * There are no conversions between 64-bit integers and floats: an addition to the bits of
 * 3 * 2^51, whose last place is one, and a subtraction do it below 2^51. Masks are
 * narrowed by the saturating packs, which stay within a register's halves; one exchange
 * at the end puts bytes in order (0.7 instructions an element, where a compiler's shuffle
 * across the halves at every step takes 1.9).
 */
#ifndef ASN_DEVICE_CPU_SIMD_NUMBER_LANES_AVX2_H
#define ASN_DEVICE_CPU_SIMD_NUMBER_LANES_AVX2_H

enum { V_FLAGS = 32 };

/* The operators' comparisons of floats would raise "invalid" for a quiet NaN. */
#define COMPARE(name, op, quiet)                                                         \
    INLINE asnd_on_8 v_##name##_f64(asn_v_f64 a, asn_v_f64 b) {                          \
        return (asnd_on_8)_mm256_cmp_pd((__m256d)a, (__m256d)b, quiet);                  \
    }                                                                                    \
    INLINE asnd_on_4 v_##name##_f32(asn_v_f32 a, asn_v_f32 b) {                          \
        return (asnd_on_4)_mm256_cmp_ps((__m256)a, (__m256)b, quiet);                    \
    }                                                                                    \
    INLINE asnd_on_8 v_##name##_i64(asn_v_i64 a, asn_v_i64 b) {                          \
        return (asnd_on_8)(a op b);                                                      \
    }                                                                                    \
    INLINE asnd_on_8 v_##name##_u64(asn_v_u64 a, asn_v_u64 b) {                          \
        return (asnd_on_8)(a op b);                                                      \
    }                                                                                    \
    INLINE asnd_on_4 v_##name##_u32(asn_v_u32 a, asn_v_u32 b) {                          \
        return (asnd_on_4)(a op b);                                                      \
    }
COMPARE(lt, <, _CMP_LT_OQ)
COMPARE(le, <=, _CMP_LE_OQ)
COMPARE(eq, ==, _CMP_EQ_OQ)
COMPARE(ne, !=, _CMP_NEQ_UQ)
#undef COMPARE
INLINE asnd_on_4 v_lt_i32(asn_v_i32 a, asn_v_i32 b) {
    return (asnd_on_4)(a < b);
}
/* The complement of bits: the compiler would take a minimum and a comparison. */
INLINE asnd_on_4 v_le_i32(asn_v_i32 a, asn_v_i32 b) {
    return (asnd_on_4) ~(asn_v_i64)(b < a);
}
INLINE asnd_on_4 v_eq_i32(asn_v_i32 a, asn_v_i32 b) {
    return (asnd_on_4)(a == b);
}
INLINE asnd_on_4 v_ne_i32(asn_v_i32 a, asn_v_i32 b) {
    return (asnd_on_4)(a != b);
}

/* The sign over the upper half, and from there to the lower one: half the time of a
 * comparison of 64 bits. */
INLINE asnd_on_8 v_negative_i64(asn_v_i64 x) {
    return (asnd_on_8)_mm256_shuffle_epi32(_mm256_srai_epi32((__m256i)x, 31), 0xf5);
}
INLINE asnd_on_4 v_negative_i32(asn_v_i32 x) {
    return x >> 31;
}
/* The signs of all lanes as a number: a mask has them all or none. */
INLINE bool v_some_8(asnd_on_8 on) {
    return _mm256_movemask_pd((__m256d)on) != 0;
}
INLINE bool v_every_on_8(asnd_on_8 on) {
    return _mm256_movemask_pd((__m256d)on) == 15;
}
INLINE bool v_some_4(asnd_on_4 on) {
    return _mm256_movemask_ps((__m256)on) != 0;
}
/* A blend looks at each lane's first bit alone. */
INLINE asn_v_f64 v_pick_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)on);
}
INLINE asn_v_f32 v_pick_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)on);
}

/* Eight registers of four lanes: of each four bytes two come out below and two above. */
INLINE void v_flags_8(char *out, const asnd_on_8 *on) {
    __m256i w[4], v[2];
    for (int i = 0; i < 4; i++)
        w[i] = _mm256_packs_epi32((__m256i)on[2 * i], (__m256i)on[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        v[i] = _mm256_packs_epi16(w[2 * i], w[2 * i + 1]);
    __m256i bytes = _mm256_and_si256(_mm256_packs_epi16(v[0], v[1]), _mm256_set1_epi8(1));
    __m128i below = _mm256_castsi256_si128(bytes),
            above = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128((void *)out, _mm_unpacklo_epi16(below, above));
    _mm_storeu_si128((void *)(out + 16), _mm_unpackhi_epi16(below, above));
}
/* Four of eight lanes. */
INLINE void v_flags_4(char *out, const asnd_on_4 *on) {
    __m256i low = _mm256_packs_epi32((__m256i)on[0], (__m256i)on[1]),
            high = _mm256_packs_epi32((__m256i)on[2], (__m256i)on[3]);
    __m256i bytes = _mm256_and_si256(_mm256_packs_epi16(low, high), _mm256_set1_epi8(1));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    v_store(out, _mm256_permutevar8x32_epi32(bytes, order));
}
/* The test does the and itself, and leaves a flag for the branch. */
INLINE bool v_meet(asnd_lanes x, asnd_lanes y) {
    return !_mm256_testz_si256(x, y);
}
/* By halves: four lanes, two, one. */
INLINE uint64_t v_or_8(asnd_lanes x) {
    __m128i two = _mm_or_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint64_t)(_mm_cvtsi128_si64(two) | _mm_extract_epi64(two, 1));
}
INLINE uint32_t v_or_4(asnd_lanes x) {
    const uint64_t two = v_or_8(x);
    return (uint32_t)(two | two >> 32);
}

/* ---- floats */

#define ROUND(name, way)                                                                 \
    INLINE asn_v_f64 v_##name##_f64(asn_v_f64 x) {                                       \
        return (asn_v_f64)_mm256_round_pd((__m256d)x, way | _MM_FROUND_NO_EXC);          \
    }                                                                                    \
    INLINE asn_v_f32 v_##name##_f32(asn_v_f32 x) {                                       \
        return (asn_v_f32)_mm256_round_ps((__m256)x, way | _MM_FROUND_NO_EXC);           \
    }
ROUND(floor, _MM_FROUND_TO_NEG_INF)
ROUND(trunc, _MM_FROUND_TO_ZERO)
#undef ROUND

INLINE asn_v_f64 v_fnma_f64(asn_v_f64 a, asn_v_f64 b, asn_v_f64 c) {
    return (asn_v_f64)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
INLINE asn_v_f32 v_fnma_f32(asn_v_f32 a, asn_v_f32 b, asn_v_f32 c) {
    return (asn_v_f32)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE asn_v_f64 v_addsub_f64(asn_v_f64 a, asn_v_f64 b, asn_v_f64 c) {
    return (asn_v_f64)_mm256_fmaddsub_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
INLINE asn_v_f32 v_addsub_f32(asn_v_f32 a, asn_v_f32 b, asn_v_f32 c) {
    return (asn_v_f32)_mm256_fmaddsub_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE asn_v_f64 v_sqrt_f64(asn_v_f64 x) {
    return (asn_v_f64)_mm256_sqrt_pd((__m256d)x);
}
INLINE asn_v_f32 v_sqrt_f32(asn_v_f32 x) {
    return (asn_v_f32)_mm256_sqrt_ps((__m256)x);
}
/* Lanes that are not on divide by one. */
INLINE asn_v_f64 v_quotient_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return a / v_pick_f64(on, b, v_every_f64(1));
}
INLINE asn_v_f32 v_quotient_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return a / v_pick_f32(on, b, v_every_f32(1));
}
INLINE asn_v_f64 v_rest_f64(asnd_on_8 on, asn_v_f64 q, asn_v_f64 b, asn_v_f64 a) {
    return (asn_v_f64)(on & (asn_v_i64)v_fnma_f64(q, b, a));
}
INLINE asn_v_f32 v_rest_f32(asnd_on_4 on, asn_v_f32 q, asn_v_f32 b, asn_v_f32 a) {
    return (asn_v_f32)(on & (asn_v_i32)v_fnma_f32(q, b, a));
}

/* ---- integers */

INLINE asn_v_u8 v_min_u8(asn_v_u8 a, asn_v_u8 b) {
    return (asn_v_u8)_mm256_min_epu8((__m256i)a, (__m256i)b);
}
INLINE asn_v_i32 v_abs_i32(asn_v_i32 x) {
    return (asn_v_i32)_mm256_abs_epi32((__m256i)x);
}
/* -x is ~x + 1, which wraps. */
INLINE asn_v_i64 v_abs_i64(asn_v_i64 x) {
    const asn_v_u64 sign = (asn_v_u64)(x < 0);
    return (asn_v_i64)(((asn_v_u64)x ^ sign) - sign);
}
/* Half a register of memory, or a quarter: no byte is read but the lanes'. */
INLINE asn_v_i32 v_widen_4(const void *p, int item, bool sign) {
    if (item == 4) return (asn_v_i32)v_load(p);
    if (item == 1) {
        const __m128i x = _mm_loadl_epi64(p);
        return (asn_v_i32)(sign ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x));
    }
    const __m128i x = _mm_loadu_si128(p);
    return (asn_v_i32)(sign ? _mm256_cvtepi16_epi32(x) : _mm256_cvtepu16_epi32(x));
}
INLINE asn_v_i64 v_widen_8(const void *p, int item, bool sign) {
    if (item == 8) return (asn_v_i64)v_load(p);
    const __m128i x = _mm_loadu_si128(p);
    return (asn_v_i64)(sign ? _mm256_cvtepi32_epi64(x) : _mm256_cvtepu32_epi64(x));
}
/* The shuffle takes words from both, within halves; then halves change places. */
INLINE asn_v_i32 v_words(asn_v_i64 a, asn_v_i64 b) {
    const __m256 mixed = _mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    return (asn_v_i32)_mm256_permute4x64_epi64((__m256i)mixed, 0xd8);
}
INLINE asn_v_i64 v_low_words(asn_v_i64 x, asn_v_i64 y) {
    return (asn_v_i64)_mm256_blend_epi32((__m256i)x, (__m256i)y, 0xaa);
}
/* The low bytes of each lane to the place where its half of the register has them. */
INLINE void v_narrow_4(void *p, int item, asn_v_i32 x) {
    if (item == 4) {
        v_store(p, (asnd_lanes)x);
        return;
    }
    const __m256i bytes =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i pairs =
        _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9, 12, 13);
    const __m256i y = _mm256_shuffle_epi8((__m256i)x, item == 1 ? bytes : pairs);
    const __m128i z =
        _mm_or_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
    if (item == 1)
        _mm_storel_epi64(p, z);
    else
        _mm_storeu_si128(p, z);
}
INLINE void v_narrow_8(void *p, int item, asn_v_i64 x) {
    if (item == 8)
        v_store(p, (asnd_lanes)x);
    else
        _mm_storeu_si128(p, _mm256_castsi256_si128((__m256i)v_words(x, x)));
}
INLINE asn_v_i64 v_wide_low(asn_v_i32 x) {
    return (asn_v_i64)_mm256_cvtepu32_epi64(_mm256_castsi256_si128((__m256i)x));
}
INLINE asn_v_i64 v_wide_high(asn_v_i32 x) {
    return (asn_v_i64)_mm256_cvtepu32_epi64(_mm256_extracti128_si256((__m256i)x, 1));
}
/* The product of the low words of 64-bit lanes; of whole lanes there is none. */
INLINE asn_v_i64 v_wide_product_low(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)_mm256_mul_epu32((__m256i)v_wide_low(x), (__m256i)v_wide_low(y));
}
INLINE asn_v_i64 v_wide_product_high(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)_mm256_mul_epu32((__m256i)v_wide_high(x), (__m256i)v_wide_high(y));
}

/* ---- conversions */

#define V_SHIFTED 6755399441055744.0 /* 3 * 2^51 */

/* A float64 from 2^52 on has its units in the last place: adding x to the bits adds x
 * to the number, as long as the exponent stays. */
INLINE asn_v_f64 v_f64_of_i64(asn_v_i64 x) {
    const asn_v_f64 shifted = v_every_f64(V_SHIFTED);
    return (asn_v_f64)(x + (asn_v_i64)shifted) - shifted;
}
INLINE asn_v_i64 v_i64_of_f64(asn_v_f64 x) {
    const asn_v_f64 shifted = v_every_f64(V_SHIFTED);
    return (asn_v_i64)(x + shifted) - (asn_v_i64)shifted;
}
/* Unsigned integers are signed ones moved by 2^31. */
INLINE asn_v_f64 v_f64_of_words(__m128i x, bool sign) {
    if (sign) return (asn_v_f64)_mm256_cvtepi32_pd(x);
    x = _mm_xor_si128(x, _mm_set1_epi32(INT32_MIN));
    return (asn_v_f64)_mm256_cvtepi32_pd(x) + v_every_f64(2147483648.0);
}
INLINE asn_v_f64 v_f64_low(asn_v_i32 x, bool sign) {
    return v_f64_of_words(_mm256_castsi256_si128((__m256i)x), sign);
}
INLINE asn_v_f64 v_f64_high(asn_v_i32 x, bool sign) {
    return v_f64_of_words(_mm256_extracti128_si256((__m256i)x, 1), sign);
}
INLINE asn_v_i32 v_i32_of_f64(asn_v_f64 low, asn_v_f64 high, bool sign) {
    const asn_v_f64 least = v_every_f64(sign ? 0 : 2147483648.0);
    const __m128i a = _mm256_cvttpd_epi32((__m256d)(low - least)),
                  b = _mm256_cvttpd_epi32((__m256d)(high - least));
    const __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    return (asn_v_i32)x ^ (sign ? 0 : INT32_MIN);
}

/* A register of float64 is half a register of float32. */
INLINE asn_v_f64 v_widen_f64(const void *p) {
    return (asn_v_f64)_mm256_cvtps_pd(_mm_loadu_ps(p));
}
INLINE void v_narrow_f64(void *p, asn_v_f64 x) {
    _mm_storeu_ps(p, _mm256_cvtpd_ps((__m256d)x));
}

#endif
