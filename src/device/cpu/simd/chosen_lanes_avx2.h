/* CPU device: the words of chosen_lanes.h with AVX2.
 *
 * A register is eight lanes of 4 bytes or four of 8, a choice a number of as many bits.
 * There is no compressing move: a table has the permutation for each choice
 * (chosen_first_4, chosen_first_8). Loads and stores of the first lanes go by masks
 * (v_tail_mask); chosen ones are loaded with whatever else memory has.
 */
#ifndef ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_AVX2_H
#define ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_AVX2_H

#include "device/cpu/simd/first_lanes.h"
#include "device/cpu/simd/simd.h"

/* No move of first lanes to chosen ones; three chosen elements of 64 are as fast one by
 * one. */
#define V_EXPANDS 0
enum { V_FEW_4 = 3, V_FEW_8 = 3 };

/* The lanes that are not chosen follow in their order, so a permutation loses nothing.
 */
/* As first_lanes, of four lanes of two 32-bit ones each. */
#define TWICE(m, i)       2 * ((below_first_of(m) >> 8 * (i)) & 3)
#define below_first_of(m) LANES_OF((unsigned)(m))
#define EIGHT(m)                                                                         \
    {TWICE(m, 0), TWICE(m, 0) + 1, TWICE(m, 1), TWICE(m, 1) + 1,                         \
     TWICE(m, 2), TWICE(m, 2) + 1, TWICE(m, 3), TWICE(m, 3) + 1}
static const _Alignas(32) uint32_t below_first_8[16][8] = {
    EIGHT(0), EIGHT(1), EIGHT(2),  EIGHT(3),  EIGHT(4),  EIGHT(5),  EIGHT(6),  EIGHT(7),
    EIGHT(8), EIGHT(9), EIGHT(10), EIGHT(11), EIGHT(12), EIGHT(13), EIGHT(14), EIGHT(15)};

/* Eight lanes of 4 bytes: the table's bytes become the permutation's words. */
static inline __m256i chosen_first_4(__m256i x, unsigned chosen) {
    __m128i order = _mm_loadl_epi64((const void *)&first_lanes[chosen]);
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(order));
}
/* Four lanes of 8 bytes, moved as pairs of 4: AVX2 permutes 64-bit lanes by constants
 * alone. */
static inline __m256i chosen_first_8(__m256i x, unsigned chosen) {
    return _mm256_permutevar8x32_epi32(
        x, _mm256_loadu_si256((const void *)below_first_8[chosen]));
}

static inline asnd_lanes v_load(const void *p) {
    return _mm256_loadu_si256(p);
}
static inline void v_store(void *p, asnd_lanes x) {
    _mm256_storeu_si256(p, x);
}
static inline asnd_chosen_4 v_chosen_4(uint64_t bits) {
    return (unsigned)bits & 255;
}
static inline int v_count_4(asnd_chosen_4 chosen) {
    return __builtin_popcount(chosen);
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
/* A masked load reads nothing of the other lanes, which become 0. */
static inline asnd_lanes v_load_first_4(const void *p, int64_t n) {
    return _mm256_maskload_epi32(p, v_tail_mask(n, 4));
}
static inline void v_store_first_4(void *p, int64_t n, asnd_lanes x) {
    _mm256_maskstore_epi32(p, v_tail_mask(n, 4), x);
}
/* Whole registers where memory has them: what is not chosen may be anything. */
static inline asnd_lanes v_load_chosen_4(const void *p, int64_t left,
                                         asnd_chosen_4 chosen) {
    (void)chosen;
    return left >= 8 ? v_load(p) : v_load_first_4(p, left);
}
/* A whole store where there is room, as a masked one is slow. */
static inline void v_store_within_4(void *p, int64_t n, int64_t room, asnd_lanes x) {
    if (room >= 8)
        v_store(p, x);
    else
        v_store_first_4(p, n, x);
}
static inline asnd_lanes v_all_4(const void *p) {
    return _mm256_set1_epi32(*(const int32_t *)p);
}
/* Lanes of 8 bytes from here on. */
static inline asnd_chosen_8 v_chosen_8(uint64_t bits) {
    return (unsigned)bits & 15;
}
static inline int v_count_8(asnd_chosen_8 chosen) {
    return __builtin_popcount(chosen);
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
static inline asnd_lanes v_load_chosen_8(const void *p, int64_t left,
                                         asnd_chosen_8 chosen) {
    (void)chosen;
    return left >= 4 ? v_load(p) : v_load_first_8(p, left);
}
static inline void v_store_within_8(void *p, int64_t n, int64_t room, asnd_lanes x) {
    if (room >= 4)
        v_store(p, x);
    else
        v_store_first_8(p, n, x);
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
/* Unsigned numbers are ordered as signed ones once their first bit is turned. */
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
