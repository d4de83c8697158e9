/* CPU device: the words of chosen_lanes.h with AVX-512.
 *
 * A register is sixteen lanes of 4 bytes or eight of 8, a choice a mask register;
 * compress, expand, masked loads and masked stores are single instructions that touch no
 * other memory, so `left` and `room` say nothing here.
 */
#ifndef ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_AVX512_H
#define ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "device/cpu/simd/mask_count_avx512.h"

/* Registers are faster than single elements however few are chosen. A mask is counted in
 * a register of numbers: GCC 12 keeps it in memory across a call, as one byte, and counts
 * the four that lie there (seen with the thread sanitizer). */
#define V_EXPANDS 1
enum { V_FEW_4 = 0, V_FEW_8 = 0 };

static inline asnd_lanes v_load(const void *p) {
    return _mm512_loadu_si512(p);
}
static inline void v_store(void *p, asnd_lanes x) {
    _mm512_storeu_si512(p, x);
}
static inline asnd_chosen_4 v_chosen_4(uint64_t bits) {
    return (asnd_chosen_4)bits;
}
static inline int v_count_4(asnd_chosen_4 chosen) {
    return asn_mask_count_16(chosen);
}
static inline asnd_chosen_4 v_first_4(int64_t n) {
    return n >= 16 ? 0xffff : (asnd_chosen_4)((1u << n) - 1);
}
static inline asnd_chosen_4 v_neither_4(asnd_chosen_4 a, asnd_chosen_4 b) {
    return _kxnor_mask16(a, b);
}
/* The lanes behind are 0. */
static inline asnd_lanes v_compress_4(asnd_chosen_4 chosen, asnd_lanes x) {
    return _mm512_maskz_compress_epi32(chosen, x);
}
static inline asnd_lanes v_load_first_4(const void *p, int64_t n) {
    return _mm512_maskz_loadu_epi32(v_first_4(n), p);
}
static inline void v_store_first_4(void *p, int64_t n, asnd_lanes x) {
    _mm512_mask_storeu_epi32(p, v_first_4(n), x);
}
static inline asnd_lanes v_load_chosen_4(const void *p, int64_t left,
                                         asnd_chosen_4 chosen) {
    (void)left;
    return _mm512_maskz_loadu_epi32(chosen, p);
}
/* n <= 16: the shift is defined for all of it. */
static inline void v_store_within_4(void *p, int64_t n, int64_t room, asnd_lanes x) {
    (void)room;
    _mm512_mask_storeu_epi32(p, (asnd_chosen_4)((1u << n) - 1), x);
}
static inline asnd_lanes v_expand_4(asnd_chosen_4 chosen, asnd_lanes x) {
    return _mm512_maskz_expand_epi32(chosen, x);
}
static inline void v_store_chosen_4(void *p, asnd_chosen_4 chosen, asnd_lanes x) {
    _mm512_mask_storeu_epi32(p, chosen, x);
}
static inline asnd_lanes v_all_4(const void *p) {
    return _mm512_set1_epi32(*(const int32_t *)p);
}
/* Lanes of 8 bytes from here on. */
static inline asnd_chosen_8 v_chosen_8(uint64_t bits) {
    return (asnd_chosen_8)bits;
}
static inline int v_count_8(asnd_chosen_8 chosen) {
    return asn_mask_count_8(chosen);
}
static inline asnd_chosen_8 v_first_8(int64_t n) {
    return n >= 8 ? 0xff : (asnd_chosen_8)((1u << n) - 1);
}
static inline asnd_chosen_8 v_neither_8(asnd_chosen_8 a, asnd_chosen_8 b) {
    return _kxnor_mask8(a, b);
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
static inline asnd_lanes v_load_chosen_8(const void *p, int64_t left,
                                         asnd_chosen_8 chosen) {
    (void)left;
    return _mm512_maskz_loadu_epi64(chosen, p);
}
static inline void v_store_within_8(void *p, int64_t n, int64_t room, asnd_lanes x) {
    (void)room;
    _mm512_mask_storeu_epi64(p, (asnd_chosen_8)((1u << n) - 1), x);
}
static inline asnd_lanes v_expand_8(asnd_chosen_8 chosen, asnd_lanes x) {
    return _mm512_maskz_expand_epi64(chosen, x);
}
static inline void v_store_chosen_8(void *p, asnd_chosen_8 chosen, asnd_lanes x) {
    _mm512_mask_storeu_epi64(p, chosen, x);
}
static inline asnd_lanes v_all_8(const void *p) {
    return _mm512_set1_epi64(*(const int64_t *)p);
}
/* Every type has its own comparison. */
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
/* Each bit becomes a lane of two bytes, whose bytes' signs are the pair. */
static inline uint64_t v_pairs(uint32_t bits) {
    return _mm512_movepi8_mask(_mm512_movm_epi16((__mmask32)bits));
}

#endif
