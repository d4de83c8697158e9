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

#endif
