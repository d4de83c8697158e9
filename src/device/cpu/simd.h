/* CPU device: vector operations that a compiler does not find by itself, on 64-byte
 * vectors of the compiler's extension (which lowers them to whatever the instruction set
 * has).
 *
 * v_max_<t>(a, b) is a > b ? a : b per lane, v_min_<t> a < b ? a : b: with a NaN, b,
 * which is just what the processor's instruction does; written as a selection it costs
 * three.
 */
#ifndef ASN_DEVICE_CPU_SIMD_H
#define ASN_DEVICE_CPU_SIMD_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

typedef double asn_v_f64 __attribute__((vector_size(64)));
typedef float asn_v_f32 __attribute__((vector_size(64)));
typedef int64_t asn_v_i64 __attribute__((vector_size(64)));
typedef int32_t asn_v_i32 __attribute__((vector_size(64)));

#if defined(__AVX512F__)
static inline asn_v_f64 v_max_f64(asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm512_max_pd((__m512d)a, (__m512d)b);
}
static inline asn_v_f64 v_min_f64(asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm512_min_pd((__m512d)a, (__m512d)b);
}
static inline asn_v_f32 v_max_f32(asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm512_max_ps((__m512)a, (__m512)b);
}
static inline asn_v_f32 v_min_f32(asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm512_min_ps((__m512)a, (__m512)b);
}
typedef unsigned asn_seen;
static inline asn_seen v_seen_f64(asn_seen seen, asn_v_f64 a, asn_v_f64 b) {
    return seen | _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
}
static inline asn_seen v_seen_f32(asn_seen seen, asn_v_f32 a, asn_v_f32 b) {
    return seen | _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}
static inline int v_any(asn_seen seen) {
    return seen != 0;
}
#else
typedef asn_v_i64 asn_seen;
static inline asn_seen v_seen_f64(asn_seen seen, asn_v_f64 a, asn_v_f64 b) {
    return seen | (a != a) | (b != b);
}
static inline asn_seen v_seen_f32(asn_seen seen, asn_v_f32 a, asn_v_f32 b) {
    return seen | (asn_v_i64)((a != a) | (b != b));
}
static inline int v_any(asn_seen seen) {
    int64_t any = 0;
    for (int j = 0; j < 8; j++)
        any |= seen[j];
    return any != 0;
}
static inline asn_v_f64 v_max_f64(asn_v_f64 a, asn_v_f64 b) {
    asn_v_i64 m = a > b;
    return (asn_v_f64)((m & (asn_v_i64)a) | (~m & (asn_v_i64)b));
}
static inline asn_v_f64 v_min_f64(asn_v_f64 a, asn_v_f64 b) {
    asn_v_i64 m = a < b;
    return (asn_v_f64)((m & (asn_v_i64)a) | (~m & (asn_v_i64)b));
}
static inline asn_v_f32 v_max_f32(asn_v_f32 a, asn_v_f32 b) {
    asn_v_i32 m = a > b;
    return (asn_v_f32)((m & (asn_v_i32)a) | (~m & (asn_v_i32)b));
}
static inline asn_v_f32 v_min_f32(asn_v_f32 a, asn_v_f32 b) {
    asn_v_i32 m = a < b;
    return (asn_v_f32)((m & (asn_v_i32)a) | (~m & (asn_v_i32)b));
}
#endif

/* Two vectors cut into runs of 2 width lanes: the first half of every run, and the second
 * half. */
static inline void v_split_f64(int width, asn_v_f64 a, asn_v_f64 b, asn_v_f64 *low,
                               asn_v_f64 *high) {
    if (width == 4) {
        *low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        *high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    } else if (width == 2) {
        *low = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
        *high = __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
    } else {
        *low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        *high = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    }
}
static inline void v_split_f32(int width, asn_v_f32 a, asn_v_f32 b, asn_v_f32 *low,
                               asn_v_f32 *high) {
    if (width == 8) {
        *low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20,
                                       21, 22, 23);
        *high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26,
                                        27, 28, 29, 30, 31);
    } else if (width == 4) {
        *low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24,
                                       25, 26, 27);
        *high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23,
                                        28, 29, 30, 31);
    } else if (width == 2) {
        *low = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24,
                                       25, 28, 29);
        *high = __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23,
                                        26, 27, 30, 31);
    } else {
        *low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                       24, 26, 28, 30);
        *high = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                        25, 27, 29, 31);
    }
}

#endif
