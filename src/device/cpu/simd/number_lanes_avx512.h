/* CPU device: the words of number_lanes.h with AVX-512.
 *
 * What is on is a mask register, so lanes that are off take no part in a division.
 * Conversions of 64-bit integers and moves of low halves are instructions.
 */
#ifndef ASN_DEVICE_CPU_SIMD_NUMBER_LANES_AVX512_H
#define ASN_DEVICE_CPU_SIMD_NUMBER_LANES_AVX512_H

enum { V_FLAGS = 64 };

#define COMPARE(name, quiet, integers)                                                   \
    INLINE asnd_on_8 v_##name##_f64(asn_v_f64 a, asn_v_f64 b) {                          \
        return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, quiet);                        \
    }                                                                                    \
    INLINE asnd_on_4 v_##name##_f32(asn_v_f32 a, asn_v_f32 b) {                          \
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, quiet);                          \
    }                                                                                    \
    INLINE asnd_on_8 v_##name##_i64(asn_v_i64 a, asn_v_i64 b) {                          \
        return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, integers);                  \
    }                                                                                    \
    INLINE asnd_on_8 v_##name##_u64(asn_v_u64 a, asn_v_u64 b) {                          \
        return _mm512_cmp_epu64_mask((__m512i)a, (__m512i)b, integers);                  \
    }                                                                                    \
    INLINE asnd_on_4 v_##name##_i32(asn_v_i32 a, asn_v_i32 b) {                          \
        return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, integers);                  \
    }                                                                                    \
    INLINE asnd_on_4 v_##name##_u32(asn_v_u32 a, asn_v_u32 b) {                          \
        return _mm512_cmp_epu32_mask((__m512i)a, (__m512i)b, integers);                  \
    }
/* The quiet predicates of floats: a NaN is less than nothing and unlike everything. */
COMPARE(lt, _CMP_LT_OQ, _MM_CMPINT_LT)
COMPARE(le, _CMP_LE_OQ, _MM_CMPINT_LE)
COMPARE(eq, _CMP_EQ_OQ, _MM_CMPINT_EQ)
COMPARE(ne, _CMP_NEQ_UQ, _MM_CMPINT_NE)
#undef COMPARE

INLINE asnd_on_8 v_negative_i64(asn_v_i64 x) {
    return _mm512_movepi64_mask((__m512i)x);
}
INLINE asnd_on_4 v_negative_i32(asn_v_i32 x) {
    return _mm512_movepi32_mask((__m512i)x);
}
INLINE bool v_some_8(asnd_on_8 on) {
    return on != 0;
}
INLINE bool v_some_4(asnd_on_4 on) {
    return on != 0;
}
INLINE asn_v_f64 v_pick_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm512_mask_mov_pd((__m512d)b, on, (__m512d)a);
}
INLINE asn_v_f32 v_pick_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm512_mask_mov_ps((__m512)b, on, (__m512)a);
}

/* Masks are joined in their own registers. */
INLINE void v_flags_4(char *out, const asnd_on_4 *on) {
    const __mmask32 low = _mm512_kunpackw(on[1], on[0]),
                    high = _mm512_kunpackw(on[3], on[2]);
    v_store(out, _mm512_maskz_set1_epi8(_mm512_kunpackd(high, low), 1));
}
INLINE void v_flags_8(char *out, const asnd_on_8 *on) {
    asnd_on_4 joined[4];
    for (int i = 0; i < 4; i++)
        joined[i] = _mm512_kunpackb(on[2 * i + 1], on[2 * i]);
    v_flags_4(out, joined);
}
INLINE bool v_meet(asnd_lanes x, asnd_lanes y) {
    return _mm512_test_epi64_mask(x, y) != 0;
}
INLINE uint64_t v_or_8(asnd_lanes x) {
    return (uint64_t)_mm512_reduce_or_epi64(x);
}
INLINE uint32_t v_or_4(asnd_lanes x) {
    return (uint32_t)_mm512_reduce_or_epi32(x);
}

/* ---- floats */

#define ROUND(name, way)                                                                 \
    INLINE asn_v_f64 v_##name##_f64(asn_v_f64 x) {                                       \
        return (asn_v_f64)_mm512_roundscale_pd((__m512d)x, way | _MM_FROUND_NO_EXC);     \
    }                                                                                    \
    INLINE asn_v_f32 v_##name##_f32(asn_v_f32 x) {                                       \
        return (asn_v_f32)_mm512_roundscale_ps((__m512)x, way | _MM_FROUND_NO_EXC);      \
    }
ROUND(floor, _MM_FROUND_TO_NEG_INF)
ROUND(trunc, _MM_FROUND_TO_ZERO)
#undef ROUND

INLINE asn_v_f64 v_fnma_f64(asn_v_f64 a, asn_v_f64 b, asn_v_f64 c) {
    return (asn_v_f64)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
/* Under a mask that zeroes: lanes that are off divide nothing and raise nothing, and cost
 * no move of their own. */
INLINE asn_v_f64 v_quotient_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm512_maskz_div_pd(on, (__m512d)a, (__m512d)b);
}
INLINE asn_v_f32 v_quotient_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm512_maskz_div_ps(on, (__m512)a, (__m512)b);
}
INLINE asn_v_f64 v_rest_f64(asnd_on_8 on, asn_v_f64 q, asn_v_f64 b, asn_v_f64 a) {
    return (asn_v_f64)_mm512_maskz_fnmadd_pd(on, (__m512d)q, (__m512d)b, (__m512d)a);
}
INLINE asn_v_f32 v_rest_f32(asnd_on_4 on, asn_v_f32 q, asn_v_f32 b, asn_v_f32 a) {
    return (asn_v_f32)_mm512_maskz_fnmadd_ps(on, (__m512)q, (__m512)b, (__m512)a);
}

/* ---- integers */

INLINE asn_v_u8 v_min_u8(asn_v_u8 a, asn_v_u8 b) {
    return (asn_v_u8)_mm512_min_epu8((__m512i)a, (__m512i)b);
}
INLINE asn_v_i32 v_abs_i32(asn_v_i32 x) {
    return (asn_v_i32)_mm512_abs_epi32((__m512i)x);
}
INLINE asn_v_i64 v_abs_i64(asn_v_i64 x) {
    return (asn_v_i64)_mm512_abs_epi64((__m512i)x);
}
INLINE asn_v_i32 v_widen_4(const void *p, int item, bool sign) {
    if (item == 4) return (asn_v_i32)v_load(p);
    if (item == 1) {
        const __m128i x = _mm_loadu_si128(p);
        return (asn_v_i32)(sign ? _mm512_cvtepi8_epi32(x) : _mm512_cvtepu8_epi32(x));
    }
    const __m256i x = _mm256_loadu_si256(p);
    return (asn_v_i32)(sign ? _mm512_cvtepi16_epi32(x) : _mm512_cvtepu16_epi32(x));
}
INLINE asn_v_i64 v_widen_8(const void *p, int item, bool sign) {
    if (item == 8) return (asn_v_i64)v_load(p);
    const __m256i x = _mm256_loadu_si256(p);
    return (asn_v_i64)(sign ? _mm512_cvtepi32_epi64(x) : _mm512_cvtepu32_epi64(x));
}
/* Two moves that narrow and one that joins; a permutation of both registers would hold a
 * third one for its index. */
INLINE asn_v_i32 v_words(asn_v_i64 a, asn_v_i64 b) {
    const __m256i low = _mm512_cvtepi64_epi32((__m512i)a),
                  high = _mm512_cvtepi64_epi32((__m512i)b);
    return (asn_v_i32)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
/* Moves that narrow keep the low bytes; those that saturate have other names. */
INLINE void v_narrow_4(void *p, int item, asn_v_i32 x) {
    if (item == 4)
        v_store(p, (asnd_lanes)x);
    else if (item == 2)
        _mm256_storeu_si256(p, _mm512_cvtepi32_epi16((__m512i)x));
    else
        _mm_storeu_si128(p, _mm512_cvtepi32_epi8((__m512i)x));
}
INLINE void v_narrow_8(void *p, int item, asn_v_i64 x) {
    if (item == 8)
        v_store(p, (asnd_lanes)x);
    else
        _mm256_storeu_si256(p, _mm512_cvtepi64_epi32((__m512i)x));
}
INLINE asn_v_i64 v_wide_low(asn_v_i32 x) {
    return (asn_v_i64)_mm512_cvtepu32_epi64(_mm512_castsi512_si256((__m512i)x));
}
INLINE asn_v_i64 v_wide_high(asn_v_i32 x) {
    return (asn_v_i64)_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64((__m512i)x, 1));
}
/* The low words of 64-bit lanes multiplied: one micro-operation, where the product of
 * whole lanes takes three. */
INLINE asn_v_i64 v_wide_product_low(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)_mm512_mul_epu32((__m512i)v_wide_low(x), (__m512i)v_wide_low(y));
}
INLINE asn_v_i64 v_wide_product_high(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)_mm512_mul_epu32((__m512i)v_wide_high(x), (__m512i)v_wide_high(y));
}

/* ---- conversions */

INLINE asn_v_f64 v_f64_of_i64(asn_v_i64 x) {
    return (asn_v_f64)_mm512_cvtepi64_pd((__m512i)x);
}
INLINE asn_v_i64 v_i64_of_f64(asn_v_f64 x) {
    return (asn_v_i64)_mm512_cvttpd_epi64((__m512d)x);
}
/* Unsigned words have conversions of their own, both ways. */
INLINE asn_v_f64 v_f64_of_words(__m256i x, bool sign) {
    return (asn_v_f64)(sign ? _mm512_cvtepi32_pd(x) : _mm512_cvtepu32_pd(x));
}
INLINE asn_v_f64 v_f64_low(asn_v_i32 x, bool sign) {
    return v_f64_of_words(_mm512_castsi512_si256((__m512i)x), sign);
}
INLINE asn_v_f64 v_f64_high(asn_v_i32 x, bool sign) {
    return v_f64_of_words(_mm512_extracti64x4_epi64((__m512i)x, 1), sign);
}
INLINE asn_v_i32 v_i32_of_f64(asn_v_f64 low, asn_v_f64 high, bool sign) {
    const __m256i a = sign ? _mm512_cvttpd_epi32((__m512d)low)
                           : _mm512_cvttpd_epu32((__m512d)low),
                  b = sign ? _mm512_cvttpd_epi32((__m512d)high)
                           : _mm512_cvttpd_epu32((__m512d)high);
    return (asn_v_i32)_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

#endif
