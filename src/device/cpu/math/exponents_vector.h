/* CPU device: frexp and ldexp of whole vectors with AVX-512, which has instructions for
 * them: VGETMANT and VGETEXP normalise subnormals, VSCALEF rounds and raises exceptions
 * as a product by 2^k does (Intel's manual, volume 2). The steps on bits that other
 * machines take are limited by their number (frexp of 1e4 float64: 5.05 us, 2.2 so).
 *
 * Zero, infinity and NaN stay what they are, with exponent 0, under a mask, so that they
 * raise nothing either. Types as in vmath_wide.h: _f64x8, _f32x16, _f32x8.
 */
#ifndef ASN_DEVICE_CPU_MATH_EXPONENTS_VECTOR_H
#define ASN_DEVICE_CPU_MATH_EXPONENTS_VECTOR_H

#if defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

/* name: the suffix; real, word: vectors of floats and of int32; mm, kind: the intrinsics'
 * prefix and suffix; bits: lanes; one: a vector of 1. The mask 0x9f is all classes but
 * finite nonzero numbers; v_ldexp rounds once, to subnormals as well. */
#define V_EXPONENTS(name, real, word, mm, kind, bits, one)                               \
    __attribute__((always_inline)) static inline real v_frexp_mantissa_##name(real a) {  \
        const __mmask##bits on =                                                         \
            (__mmask##bits) ~mm##_fpclass_##kind##_mask(a, 0x9f /* 0, infinity, NaN */); \
        return mm##_mask_getmant_##kind(a, on, a, _MM_MANT_NORM_p5_1,                    \
                                        _MM_MANT_SIGN_src);                              \
    }                                                                                    \
    __attribute__((always_inline)) static inline word v_frexp_exponent_##name(real a) {  \
        const __mmask##bits on = (__mmask##bits) ~mm##_fpclass_##kind##_mask(a, 0x9f);   \
        real e = mm##_add_##kind(mm##_maskz_getexp_##kind(on, a), one);                  \
        return mm##_maskz_cvt##kind##_epi32(on, e);                                      \
    }                                                                                    \
    /* float32: k beyond 2^24 is endless anyway */                                       \
    __attribute__((always_inline)) static inline real v_ldexp_##name(real a, word k) {   \
        return mm##_scalef_##kind(a, mm##_cvtepi32_##kind(k));                           \
    }
V_EXPONENTS(f64x8, __m512d, __m256i, _mm512, pd, 8, _mm512_set1_pd(1))
V_EXPONENTS(f32x16, __m512, __m512i, _mm512, ps, 16, _mm512_set1_ps(1))
V_EXPONENTS(f32x8, __m256, __m256i, _mm256, ps, 8, _mm256_set1_ps(1))
#undef V_EXPONENTS
#endif

#endif
