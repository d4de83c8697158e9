/* CPU device: registers as lanes of 4 or 8 bytes of which some are chosen: the words for
 * passes that compare elements, count them and store those chosen on end. AVX-512 has a
 * mask register and a compressing move for it; with AVX2 a comparison's signs become bits
 * and a table has the move of lanes for every choice.
 *
 * asnd_lanes is a register, v_load and v_store move a whole one. Of lanes of 4 bytes, and
 * likewise of 8: asnd_chosen_4 a choice of them, a bit each; v_first_4(n) the first n, or
 * all; v_neither_4(a, b) those in neither choice; v_compress_4(chosen, x) the chosen ones
 * first, in their order, then anything; v_load_first_4(p, n) the first n from memory, the
 * others 0; v_store_first_4(p, n, x) those to memory, and no more is touched;
 * v_all_4(p) one element in every lane. v_less_<type>(x, y) chooses where x < y, which no
 * NaN is.
 */
#ifndef ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_H
#define ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>

typedef __m512i asnd_lanes;
typedef __mmask16 asnd_chosen_4;
typedef __mmask8 asnd_chosen_8;

static inline asnd_lanes v_load(const void *p) {
    return _mm512_loadu_si512(p);
}
static inline void v_store(void *p, asnd_lanes x) {
    _mm512_storeu_si512(p, x);
}
static inline asnd_chosen_4 v_first_4(int64_t n) {
    return n >= 16 ? 0xffff : (asnd_chosen_4)((1u << n) - 1);
}
static inline asnd_chosen_4 v_neither_4(asnd_chosen_4 a, asnd_chosen_4 b) {
    return _knot_mask16(_kor_mask16(a, b));
}
static inline asnd_lanes v_compress_4(asnd_chosen_4 chosen, asnd_lanes x) {
    return _mm512_maskz_compress_epi32(chosen, x);
}
static inline asnd_lanes v_load_first_4(const void *p, int64_t n) {
    return _mm512_maskz_loadu_epi32(v_first_4(n), p);
}
static inline void v_store_first_4(void *p, int64_t n, asnd_lanes x) {
    _mm512_mask_storeu_epi32(p, v_first_4(n), x);
}
static inline asnd_lanes v_all_4(const void *p) {
    return _mm512_set1_epi32(*(const int32_t *)p);
}
static inline asnd_chosen_8 v_first_8(int64_t n) {
    return n >= 8 ? 0xff : (asnd_chosen_8)((1u << n) - 1);
}
static inline asnd_chosen_8 v_neither_8(asnd_chosen_8 a, asnd_chosen_8 b) {
    return _knot_mask8(_kor_mask8(a, b));
}
static inline asnd_lanes v_compress_8(asnd_chosen_8 chosen, asnd_lanes x) {
    return _mm512_maskz_compress_epi64(chosen, x);
}
static inline asnd_lanes v_load_first_8(const void *p, int64_t n) {
    return _mm512_maskz_loadu_epi64(v_first_8(n), p);
}
static inline void v_store_first_8(void *p, int64_t n, asnd_lanes x) {
    _mm512_mask_storeu_epi64(p, v_first_8(n), x);
}
static inline asnd_lanes v_all_8(const void *p) {
    return _mm512_set1_epi64(*(const int64_t *)p);
}
static inline asnd_chosen_4 v_less_i32(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmplt_epi32_mask(x, y);
}
static inline asnd_chosen_4 v_less_u32(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmplt_epu32_mask(x, y);
}
static inline asnd_chosen_8 v_less_i64(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmplt_epi64_mask(x, y);
}
static inline asnd_chosen_8 v_less_u64(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmplt_epu64_mask(x, y);
}
static inline asnd_chosen_4 v_less_f32(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), _CMP_LT_OQ);
}
static inline asnd_chosen_8 v_less_f64(asnd_lanes x, asnd_lanes y) {
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(x), _mm512_castsi512_pd(y), _CMP_LT_OQ);
}

#elif defined(__AVX2__)
#include "device/cpu/simd/first_lanes_avx2.h"
#include "device/cpu/simd/simd.h"

typedef __m256i asnd_lanes;
typedef unsigned asnd_chosen_4;
typedef unsigned asnd_chosen_8;

static inline asnd_lanes v_load(const void *p) {
    return load(p);
}
static inline void v_store(void *p, asnd_lanes x) {
    store(p, x);
}
static inline asnd_chosen_4 v_first_4(int64_t n) {
    return n >= 8 ? 255 : (1u << n) - 1;
}
static inline asnd_chosen_4 v_neither_4(asnd_chosen_4 a, asnd_chosen_4 b) {
    return ~(a | b) & 255;
}
static inline asnd_lanes v_compress_4(asnd_chosen_4 chosen, asnd_lanes x) {
    return chosen_first_4(x, chosen);
}
static inline asnd_lanes v_load_first_4(const void *p, int64_t n) {
    return _mm256_maskload_epi32(p, v_tail_mask(n, 4));
}
static inline void v_store_first_4(void *p, int64_t n, asnd_lanes x) {
    _mm256_maskstore_epi32(p, v_tail_mask(n, 4), x);
}
static inline asnd_lanes v_all_4(const void *p) {
    return _mm256_set1_epi32(*(const int32_t *)p);
}
static inline asnd_chosen_8 v_first_8(int64_t n) {
    return n >= 4 ? 15 : (1u << n) - 1;
}
static inline asnd_chosen_8 v_neither_8(asnd_chosen_8 a, asnd_chosen_8 b) {
    return ~(a | b) & 15;
}
static inline asnd_lanes v_compress_8(asnd_chosen_8 chosen, asnd_lanes x) {
    return chosen_first_8(x, chosen);
}
static inline asnd_lanes v_load_first_8(const void *p, int64_t n) {
    return _mm256_maskload_epi64(p, v_tail_mask(n, 8));
}
static inline void v_store_first_8(void *p, int64_t n, asnd_lanes x) {
    _mm256_maskstore_epi64(p, v_tail_mask(n, 8), x);
}
static inline asnd_lanes v_all_8(const void *p) {
    return _mm256_set1_epi64x(*(const int64_t *)p);
}
/* Of signed numbers; there is no comparison of others. */
static inline asnd_chosen_4 v_less_i32(asnd_lanes x, asnd_lanes y) {
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(y, x)));
}
static inline asnd_chosen_8 v_less_i64(asnd_lanes x, asnd_lanes y) {
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(y, x)));
}
static inline asnd_chosen_4 v_less_u32(asnd_lanes x, asnd_lanes y) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    return v_less_i32(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
}
static inline asnd_chosen_8 v_less_u64(asnd_lanes x, asnd_lanes y) {
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    return v_less_i64(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
}
static inline asnd_chosen_4 v_less_f32(asnd_lanes x, asnd_lanes y) {
    return (unsigned)_mm256_movemask_ps(
        _mm256_cmp_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), _CMP_LT_OQ));
}
static inline asnd_chosen_8 v_less_f64(asnd_lanes x, asnd_lanes y) {
    return (unsigned)_mm256_movemask_pd(
        _mm256_cmp_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(y), _CMP_LT_OQ));
}
#endif

#endif
