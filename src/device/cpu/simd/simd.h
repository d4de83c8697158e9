/* CPU device: vector operations that a compiler does not find by itself.
 *
 * Accumulators are 64 bytes wide on every machine, so that the order of a sum is the same
 * on all: ASN_PARTS vectors of the compiler's extension, each as wide as the machine's
 * own (ASN_V bytes). A vector wider than the machine's is no substitute: compilers keep
 * it in memory and compare it lane by lane (max of 1e6 float64 with AVX2: 3.6 ms, 0.17 as
 * parts).
 *
 * v_max_<t>(a, b) is a > b ? a : b per lane, v_min_<t> a < b ? a : b: with a NaN, b,
 * which is just what the processor's instruction does; written as a selection it costs
 * three. v_nan_of_<t>(a, m) is a where it is a NaN, else m. v_swap_<t>(v, w) exchanges
 * lanes j and j ^ w.
 *
 * v_seen_<t>(seen, a, b) notes in an asnd_seen, 0 at first, that a or b has a NaN in
 * some lane (a quiet comparison), and v_any(seen) whether there was one. v_tail_<t> loads
 * the last elements of a row. SPLIT, a parameter of the templates, is such a <t>: f64 or
 * f32.
 */
#ifndef ASN_DEVICE_CPU_SIMD_SIMD_H
#define ASN_DEVICE_CPU_SIMD_SIMD_H

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { ASN_V = 64 };
#elif defined(__AVX2__)
enum { ASN_V = 32 };
#else
enum { ASN_V = 16 };
#endif
/* Vectors that make 64 bytes: 1, 2 or 4. */
enum { ASN_PARTS = 64 / ASN_V };

typedef double asn_v_f64 __attribute__((vector_size(ASN_V)));
typedef float asn_v_f32 __attribute__((vector_size(ASN_V)));
typedef int64_t asn_v_i64 __attribute__((vector_size(ASN_V)));
typedef int32_t asn_v_i32 __attribute__((vector_size(ASN_V)));

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
/* AVX-512 selects by a mask register, AVX2 by a lane's sign bit. */
static inline asn_v_f64 v_nan_of_f64(asn_v_f64 a, asn_v_f64 m) {
    const __mmask8 nan = _mm512_cmp_pd_mask((__m512d)a, (__m512d)a, _CMP_UNORD_Q);
    return (asn_v_f64)_mm512_mask_blend_pd(nan, (__m512d)m, (__m512d)a);
}
static inline asn_v_f32 v_nan_of_f32(asn_v_f32 a, asn_v_f32 m) {
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q);
    return (asn_v_f32)_mm512_mask_blend_ps(nan, (__m512)m, (__m512)a);
}
/* AVX-512: a bit per lane. */
typedef unsigned asnd_seen;
static inline asnd_seen v_seen_f64(asnd_seen seen, asn_v_f64 a, asn_v_f64 b) {
    return seen | _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
}
static inline asnd_seen v_seen_f32(asnd_seen seen, asn_v_f32 a, asn_v_f32 b) {
    return seen | _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}
static inline int v_any(asnd_seen seen) {
    return seen != 0;
}
#elif defined(__AVX2__)
static inline asn_v_f64 v_max_f64(asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm256_max_pd((__m256d)a, (__m256d)b);
}
static inline asn_v_f64 v_min_f64(asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)_mm256_min_pd((__m256d)a, (__m256d)b);
}
static inline asn_v_f32 v_max_f32(asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm256_max_ps((__m256)a, (__m256)b);
}
static inline asn_v_f32 v_min_f32(asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)_mm256_min_ps((__m256)a, (__m256)b);
}
static inline asn_v_f64 v_nan_of_f64(asn_v_f64 a, asn_v_f64 m) {
    const __m256d nan = _mm256_cmp_pd((__m256d)a, (__m256d)a, _CMP_UNORD_Q);
    return (asn_v_f64)_mm256_blendv_pd((__m256d)m, (__m256d)a, nan);
}
static inline asn_v_f32 v_nan_of_f32(asn_v_f32 a, asn_v_f32 m) {
    const __m256 nan = _mm256_cmp_ps((__m256)a, (__m256)a, _CMP_UNORD_Q);
    return (asn_v_f32)_mm256_blendv_ps((__m256)m, (__m256)a, nan);
}
/* AVX2: a lane's bits are all set. */
typedef asn_v_i64 asnd_seen;
static inline asnd_seen v_seen_f64(asnd_seen seen, asn_v_f64 a, asn_v_f64 b) {
    return seen | (asnd_seen)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_UNORD_Q);
}
static inline asnd_seen v_seen_f32(asnd_seen seen, asn_v_f32 a, asn_v_f32 b) {
    return seen | (asnd_seen)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
}
static inline int v_any(asnd_seen seen) {
    return !_mm256_testz_si256((__m256i)seen, (__m256i)seen);
}
#else
/* The baseline, by the compiler's operators. a != a holds for NaN alone. */
typedef asn_v_i64 asnd_seen;
static inline asnd_seen v_seen_f64(asnd_seen seen, asn_v_f64 a, asn_v_f64 b) {
    return seen | (a != a) | (b != b);
}
static inline asnd_seen v_seen_f32(asnd_seen seen, asn_v_f32 a, asn_v_f32 b) {
    return seen | (asn_v_i64)((a != a) | (b != b));
}
/* A vector of 16 bytes has two 64-bit lanes. */
static inline int v_any(asnd_seen seen) {
    return (seen[0] | seen[1]) != 0;
}
static inline asn_v_f64 v_nan_of_f64(asn_v_f64 a, asn_v_f64 m) {
    const asn_v_i64 nan = a != a;
    return (asn_v_f64)((nan & (asn_v_i64)a) | (~nan & (asn_v_i64)m));
}
static inline asn_v_f32 v_nan_of_f32(asn_v_f32 a, asn_v_f32 m) {
    const asn_v_i32 nan = a != a;
    return (asn_v_f32)((nan & (asn_v_i32)a) | (~nan & (asn_v_i32)m));
}
/* As masks: no branch, and with a NaN the second one, as the instructions of the
 * others. */
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

/* `w`: a power of two below the number of lanes, known to the compiler. */
#define ASN_SWAP_1_2  1, 0
#define ASN_SWAP_1_4  1, 0, 3, 2
#define ASN_SWAP_2_4  2, 3, 0, 1
#define ASN_SWAP_1_8  1, 0, 3, 2, 5, 4, 7, 6
#define ASN_SWAP_2_8  2, 3, 0, 1, 6, 7, 4, 5
#define ASN_SWAP_4_8  4, 5, 6, 7, 0, 1, 2, 3
#define ASN_SWAP_1_16 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define ASN_SWAP_2_16 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#define ASN_SWAP_4_16 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11
#define ASN_SWAP_8_16 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#if defined(__AVX512F__)
#define ASN_SWAP_F64(w) ASN_SWAP_##w##_8
#define ASN_SWAP_F32(w) ASN_SWAP_##w##_16
#elif defined(__AVX2__)
#define ASN_SWAP_F64(w) ASN_SWAP_##w##_4
#define ASN_SWAP_F32(w) ASN_SWAP_##w##_8
#else
#define ASN_SWAP_F64(w) ASN_SWAP_##w##_2
#define ASN_SWAP_F32(w) ASN_SWAP_##w##_4
#endif
/* Each branch names a constant permutation: a variable one takes a register of
 * positions. */
__attribute__((always_inline)) static inline asn_v_f64 v_swap_f64(asn_v_f64 v, int w) {
#if defined(__AVX512F__)
    if (w == 4) return __builtin_shufflevector(v, v, ASN_SWAP_F64(4));
#endif
#if defined(__AVX2__)
    if (w == 2) return __builtin_shufflevector(v, v, ASN_SWAP_F64(2));
#endif
    (void)w;
    return __builtin_shufflevector(v, v, ASN_SWAP_F64(1));
}
__attribute__((always_inline)) static inline asn_v_f32 v_swap_f32(asn_v_f32 v, int w) {
#if defined(__AVX512F__)
    if (w == 8) return __builtin_shufflevector(v, v, ASN_SWAP_F32(8));
#endif
#if defined(__AVX2__)
    if (w == 4) return __builtin_shufflevector(v, v, ASN_SWAP_F32(4));
#endif
    if (w == 2) return __builtin_shufflevector(v, v, ASN_SWAP_F32(2));
    return __builtin_shufflevector(v, v, ASN_SWAP_F32(1));
}

/* `count` elements, at least one, and `fill` in what is left of a vector. */
#if defined(__AVX512F__)
static inline asn_v_f64 v_tail_f64(const double *p, int64_t count, double fill) {
    __mmask8 mask = (__mmask8)((1u << (count < 8 ? count : 8)) - 1);
    return (asn_v_f64)_mm512_mask_loadu_pd(_mm512_set1_pd(fill), mask, p);
}
static inline asn_v_f32 v_tail_f32(const float *p, int64_t count, float fill) {
    __mmask16 mask = (__mmask16)((1u << (count < 16 ? count : 16)) - 1);
    return (asn_v_f32)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, p);
}
#elif defined(__AVX2__)
/* All ones in the first `count` lanes of `item` bytes, a window onto eight set and eight
 * clear words. */
static inline __m256i v_tail_mask(int64_t count, int item) {
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    int64_t words = count * item / 4;
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - (words < 8 ? words : 8)));
}
static inline asn_v_f64 v_tail_f64(const double *p, int64_t count, double fill) {
    __m256i mask = v_tail_mask(count, 8);
    return (asn_v_f64)_mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask),
                                       (__m256d)mask);
}
static inline asn_v_f32 v_tail_f32(const float *p, int64_t count, float fill) {
    __m256i mask = v_tail_mask(count, 4);
    return (asn_v_f32)_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask),
                                       (__m256)mask);
}
#else
static inline asn_v_f64 v_tail_f64(const double *p, int64_t count, double fill) {
    return (asn_v_f64){p[0], count > 1 ? p[1] : fill};
}
static inline asn_v_f32 v_tail_f32(const float *p, int64_t count, float fill) {
    return (asn_v_f32){p[0], count > 1 ? p[1] : fill, count > 2 ? p[2] : fill,
                       count > 3 ? p[3] : fill};
}
#endif

/* v_split_<t>: two vectors cut into runs of 2 width lanes: the first half of every run,
 * and the second half. */
#if defined(__AVX512F__)
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
#elif defined(__AVX2__)
static inline void v_split_f64(int width, asn_v_f64 a, asn_v_f64 b, asn_v_f64 *low,
                               asn_v_f64 *high) {
    if (width == 2) {
        *low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
        *high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    } else {
        *low = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        *high = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
}
static inline void v_split_f32(int width, asn_v_f32 a, asn_v_f32 b, asn_v_f32 *low,
                               asn_v_f32 *high) {
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
#else
static inline void v_split_f64(int width, asn_v_f64 a, asn_v_f64 b, asn_v_f64 *low,
                               asn_v_f64 *high) {
    (void)width;
    *low = __builtin_shufflevector(a, b, 0, 2);
    *high = __builtin_shufflevector(a, b, 1, 3);
}
static inline void v_split_f32(int width, asn_v_f32 a, asn_v_f32 b, asn_v_f32 *low,
                               asn_v_f32 *high) {
    if (width == 2) {
        *low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
        *high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    } else {
        *low = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        *high = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
}
#endif

#endif
