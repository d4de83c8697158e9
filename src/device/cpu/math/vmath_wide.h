/* CPU device: vector functions that are spelled out for whole vectors, because they read
 * tables: a compiler makes gathers of `table[i]`, which take 20 cycles a vector; a table
 * of 16 entries is one permutation of registers.
 *
 * The arithmetic is the template's (vmath_power.inc), included once more with a vector
 * type for R: GNU C's operators work on both. What they do not have is given here for
 * each vector type, named _f64x8 (eight float64), _f32x16 and _f32x8: the fused product,
 * bits, and the entry of a table. The results are those of numbers, bit for bit.
 */
#ifndef ASN_DEVICE_CPU_MATH_VMATH_WIDE_H
#define ASN_DEVICE_CPU_MATH_VMATH_WIDE_H

#if defined(__AVX2__)
#include <immintrin.h>

#include "device/cpu/math/vmath_tables.h"

/* The vector type of `bytes` bytes and its bits' type; reading an array through them is
 * allowed (may_alias). v_all: a number in every lane. */
#define V_WIDE_TYPES(real, bits, bytes, name)                                            \
    typedef real v_##name __attribute__((vector_size(bytes), may_alias));                \
    typedef bits v_bits_##name __attribute__((vector_size(bytes), may_alias));           \
    V_FUNCTION v_bits_##name f_bits_##name(v_##name a) {                                 \
        return (v_bits_##name)a;                                                         \
    }                                                                                    \
    V_FUNCTION v_##name v_from_bits_##name(v_bits_##name u) {                            \
        return (v_##name)u;                                                              \
    }                                                                                    \
    V_FUNCTION v_##name v_all_##name(real a) {                                           \
        return a - (v_##name){0};                                                        \
    }

/* Numbers among the operands become vectors. */
#define v_fma_f32x8(a, b, c)                                                             \
    ((v_f32x8)_mm256_fmadd_ps((__m256)((a) - (v_f32x8){0}),                              \
                              (__m256)((b) - (v_f32x8){0}),                              \
                              (__m256)((c) - (v_f32x8){0})))

V_WIDE_TYPES(float, uint32_t, 32, f32x8)
V_FUNCTION v_f32x8 fabs_f32x8(v_f32x8 a) {
    return (v_f32x8)((v_bits_f32x8)a & 0x7fffffffu);
}
V_FUNCTION v_f32x8 v_number_f32x8(v_bits_f32x8 u) {
    return (v_f32x8)_mm256_cvtepi32_ps((__m256i)u);
}
/* Of 16 entries two registers: without AVX-512 both are permuted by the low three bits
 * and the fourth chooses. */
V_FUNCTION v_f32x8 v_entry_f32x8(const float *table, v_bits_f32x8 cell) {
    __m256 low = _mm256_load_ps(table), high = _mm256_load_ps(table + 8);
#if defined(__AVX512VL__)
    return (v_f32x8)_mm256_permutex2var_ps(low, (__m256i)cell, high);
#else
    low = _mm256_permutevar8x32_ps(low, (__m256i)cell);
    high = _mm256_permutevar8x32_ps(high, (__m256i)cell);
    return (v_f32x8)_mm256_blendv_ps(low, high, (__m256)(cell << 28));
#endif
}

V_FUNCTION v_f32x8 v_least_f32x8(v_f32x8 a, v_f32x8 b) {
    return (v_f32x8)_mm256_min_ps((__m256)a, (__m256)b);
}

#define v_multiple_f32x8 v_number_f32x8

#define R             v_f32x8
#define B             v_bits_f32x8
#define E             float
#define EB            uint32_t
#define DIGITS        23
#define BIAS          127
#define SIGN_BIT      31
#define V_POWER_FIRST V_POWER_FIRST_F
#define F(name)       name##_f32x8
#define K(name)       name##_F
#include "device/cpu/math/vmath_power.inc"
#include "device/cpu/math/vmath_tanh.inc"
#undef R
#undef B
#undef F

#if defined(__AVX512DQ__)
#define v_fma_f32x16(a, b, c)                                                            \
    ((v_f32x16)_mm512_fmadd_ps((__m512)((a) - (v_f32x16){0}),                            \
                               (__m512)((b) - (v_f32x16){0}),                            \
                               (__m512)((c) - (v_f32x16){0})))

V_WIDE_TYPES(float, uint32_t, 64, f32x16)
V_FUNCTION v_f32x16 fabs_f32x16(v_f32x16 a) {
    return (v_f32x16)((v_bits_f32x16)a & 0x7fffffffu);
}
V_FUNCTION v_f32x16 v_number_f32x16(v_bits_f32x16 u) {
    return (v_f32x16)_mm512_cvtepi32_ps((__m512i)u);
}
V_FUNCTION v_f32x16 v_entry_f32x16(const float *table, v_bits_f32x16 cell) {
    return (v_f32x16)_mm512_permutexvar_ps((__m512i)cell, _mm512_load_ps(table));
}

V_FUNCTION v_f32x16 v_least_f32x16(v_f32x16 a, v_f32x16 b) {
    return (v_f32x16)_mm512_min_ps((__m512)a, (__m512)b);
}

#define v_multiple_f32x16 v_number_f32x16

#define R       v_f32x16
#define B       v_bits_f32x16
#define F(name) name##_f32x16
#include "device/cpu/math/vmath_power.inc"
#include "device/cpu/math/vmath_tanh.inc"
#undef R
#undef B
#undef F
#endif

#undef E
#undef EB
#undef DIGITS
#undef BIAS
#undef SIGN_BIT
#undef V_POWER_FIRST
#undef K

#if defined(__AVX512DQ__)
#define v_fma_f64x8(a, b, c)                                                             \
    ((v_f64x8)_mm512_fmadd_pd((__m512d)((a) - (v_f64x8){0}),                             \
                              (__m512d)((b) - (v_f64x8){0}),                             \
                              (__m512d)((c) - (v_f64x8){0})))

V_WIDE_TYPES(double, uint64_t, 64, f64x8)
V_FUNCTION v_f64x8 fabs_f64x8(v_f64x8 a) {
    return (v_f64x8)((v_bits_f64x8)a & 0x7fffffffffffffffu);
}
V_FUNCTION v_f64x8 v_number_f64x8(v_bits_f64x8 u) {
    return (v_f64x8)_mm512_cvtepi64_pd((__m512i)u);
}
V_FUNCTION v_f64x8 v_entry_f64x8(const double *table, v_bits_f64x8 cell) {
    return (v_f64x8)_mm512_permutex2var_pd(_mm512_load_pd(table), (__m512i)cell,
                                           _mm512_load_pd(table + 8));
}

V_FUNCTION v_f64x8 v_least_f64x8(v_f64x8 a, v_f64x8 b) {
    return (v_f64x8)_mm512_min_pd((__m512d)a, (__m512d)b);
}

#define v_multiple_f64x8 v_number_f64x8

#define R             v_f64x8
#define B             v_bits_f64x8
#define E             double
#define EB            uint64_t
#define DIGITS        52
#define BIAS          1023
#define SIGN_BIT      63
#define V_POWER_FIRST V_POWER_FIRST_D
#define F(name)       name##_f64x8
#define K(name)       name##_D
#include "device/cpu/math/vmath_power.inc"
#undef R
#undef B
#undef E
#undef EB
#undef DIGITS
#undef BIAS
#undef SIGN_BIT
#undef V_POWER_FIRST
#undef F
#undef K
#endif
#endif

#endif
