/* CPU device, private to masks: bytes that are 0 or not as bits, bits as positions, and
 * words counted by their bits.
 *
 * v_nonzero_bits(p, left): of the next 64 bytes, or those left, which are not 0, a bit
 * each. v_add_nonzero(sums, p): the same of V_COUNTED whole bytes, added to the 64-bit
 * lanes of `sums` (v_add_8, v_total_8); for masks as long as memory this takes no mask
 * registers, whose way to a count is long (AVX-512, 1e6 bytes: 15 us against 43).
 *
 * v_store_positions_2(bits, from, to): the positions of the lowest V_POSITIONS_2 bits
 * that are set, counted from `from`, as 16-bit numbers to memory with room for
 * V_POSITIONS_2. Those of 64 bits: v_positions_from(from) stands before as many bits as a
 * register has lanes of 8 bytes, v_positions_next(at) behind them, and
 * v_positions_of(chosen, at) are those chosen first, then anything.
 *
 * asnd_tally, 0 at first, counts lanes: v_tally_4(tally, x, y) those in which x and y
 * have a bit in common; v_tallied_4(tally, lanes) is how many of all lanes that were
 * counted (of up to 2^31 registers).
 */
#ifndef ASN_DEVICE_CPU_SIMD_MASK_BYTES_H
#define ASN_DEVICE_CPU_SIMD_MASK_BYTES_H

#include <string.h>

#include "device/cpu/simd/chosen_lanes.h"
#include "device/cpu/simd/first_lanes.h"

#if defined(__AVX512F__)
/* AVX-512: a masked load reads no byte beyond `left`. */
enum { V_COUNTED = 64, V_POSITIONS_2 = 16 };

static inline uint64_t v_nonzero_bits(const uint8_t *p, int64_t left) {
    __mmask64 valid = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
    __m512i x = _mm512_maskz_loadu_epi8(valid, p);
    return _mm512_test_epi8_mask(x, x);
}
static inline asnd_lanes v_add_8(asnd_lanes x, asnd_lanes y) {
    return _mm512_add_epi64(x, y);
}
static inline int64_t v_total_8(asnd_lanes x) {
    return _mm512_reduce_add_epi64(x);
}
/* Bytes as 0 and 1, and sums of eight of them in each 64-bit lane (sad). */
static inline asnd_lanes v_add_nonzero(asnd_lanes sums, const uint8_t *p) {
    __m512i ones = _mm512_min_epu8(v_load(p), _mm512_set1_epi8(1));
    return v_add_8(sums, _mm512_sad_epu8(ones, _mm512_setzero_si512()));
}
/* A mask's bits are counted at once, so the tally is a number. */
typedef int64_t asnd_tally;
static inline asnd_tally v_tally_4(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    return tally + __builtin_popcount(_mm512_test_epi32_mask(x, y));
}
static inline asnd_tally v_tally_8(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    return tally + __builtin_popcount(_mm512_test_epi64_mask(x, y));
}
static inline int64_t v_tallied_4(asnd_tally tally, int64_t lanes) {
    (void)lanes;
    return tally;
}
static inline int64_t v_tallied_8(asnd_tally tally, int64_t lanes) {
    (void)lanes;
    return tally;
}
/* Compressed as 32-bit numbers, then narrowed; from + 15 fits 16 bits. */
static inline void v_store_positions_2(uint64_t bits, int64_t from, uint16_t *to) {
    const __m512i lane =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int)from), lane);
    at = v_compress_4((asnd_chosen_4)bits, at);
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(at));
}
static inline asnd_lanes v_positions_from(int64_t from) {
    return v_add_8(_mm512_set1_epi64(from), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}
static inline asnd_lanes v_positions_next(asnd_lanes at) {
    return v_add_8(at, _mm512_set1_epi64(8));
}
static inline asnd_lanes v_positions_of(asnd_chosen_8 chosen, asnd_lanes at) {
    return v_compress_8(chosen, at);
}

#else
/* The 64 bytes from p on, or those left and zeros behind them. */
static inline const uint8_t *v_padded(const uint8_t *p, int64_t left, uint8_t *few) {
    if (left >= 64) return p;
    memset(few, 0, 64);
    memcpy(few, p, (size_t)left);
    return few;
}

#if defined(__AVX2__)
/* AVX2: bytes equal to 0 give the complement of the bits. */
enum { V_COUNTED = 32, V_POSITIONS_2 = 8 };

static inline uint64_t v_nonzero_bits(const uint8_t *p, int64_t left) {
    uint8_t few[64];
    p = v_padded(p, left, few);
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_cmpeq_epi8(v_load(p), zero);
    __m256i high = _mm256_cmpeq_epi8(v_load(p + 32), zero);
    return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(low) |
             (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32);
}
static inline asnd_lanes v_add_8(asnd_lanes x, asnd_lanes y) {
    return _mm256_add_epi64(x, y);
}
static inline int64_t v_total_8(asnd_lanes x) {
    __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
}
static inline asnd_lanes v_add_nonzero(asnd_lanes sums, const uint8_t *p) {
    __m256i ones = _mm256_min_epu8(v_load(p), _mm256_set1_epi8(1));
    return v_add_8(sums, _mm256_sad_epu8(ones, _mm256_setzero_si256()));
}
typedef asnd_lanes asnd_tally;
/* Lanes without such a bit, where a comparison gives -1. */
static inline asnd_tally v_tally_4(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    x = _mm256_cmpeq_epi32(_mm256_and_si256(x, y), _mm256_setzero_si256());
    return _mm256_sub_epi32(tally, x);
}
static inline asnd_tally v_tally_8(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    x = _mm256_cmpeq_epi64(_mm256_and_si256(x, y), _mm256_setzero_si256());
    return _mm256_sub_epi64(tally, x);
}
static inline int64_t v_tallied_8(asnd_tally tally, int64_t lanes) {
    return lanes - v_total_8(tally);
}
/* Each 64-bit lane holds two tallies of 32 bits. */
static inline int64_t v_tallied_4(asnd_tally tally, int64_t lanes) {
    const __m256i odd = _mm256_srli_epi64(tally, 32);
    const __m256i even = _mm256_sub_epi64(tally, _mm256_slli_epi64(odd, 32));
    return lanes - v_total_8(v_add_8(even, odd));
}
/* The table's numbers of eight lanes, widened; behind the chosen ones follow the
 * others. */
static inline void v_store_positions_2(uint64_t bits, int64_t from, uint16_t *to) {
    __m128i lane = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((int64_t)first_lanes[bits & 255]));
    lane = _mm_add_epi16(lane, _mm_set1_epi16((short)from));
    _mm_storeu_si128((__m128i *)to, lane);
}
/* The position of the first lane in every lane: the table's numbers are added to it. */
static inline asnd_lanes v_positions_from(int64_t from) {
    return _mm256_set1_epi64x(from);
}
static inline asnd_lanes v_positions_next(asnd_lanes at) {
    return v_add_8(at, _mm256_set1_epi64x(4));
}
static inline asnd_lanes v_positions_of(asnd_chosen_8 chosen, asnd_lanes at) {
    return v_add_8(at, _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)first_lanes[chosen])));
}

#elif defined(__ARM_NEON)
enum { V_COUNTED = 64, V_POSITIONS_2 = 8 };

/* Every byte's own bit, added up by halves: pairs of bytes, of pairs, of fours. */
static inline uint64_t v_nonzero_bits(const uint8_t *p, int64_t left) {
    uint8_t few[64];
    const uint8x16_t own = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    p = v_padded(p, left, few);
    uint8x16_t x[4];
    for (int k = 0; k < 4; k++) {
        x[k] = v_load(p + 16 * k);
        x[k] = vandq_u8(vtstq_u8(x[k], x[k]), own);
    }
    x[0] = vpaddq_u8(vpaddq_u8(x[0], x[1]), vpaddq_u8(x[2], x[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(x[0], x[0])), 0);
}
static inline asnd_lanes v_add_8(asnd_lanes x, asnd_lanes y) {
    return vreinterpretq_u8_u64(
        vaddq_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y)));
}
static inline int64_t v_total_8(asnd_lanes x) {
    return (int64_t)vaddvq_u64(vreinterpretq_u64_u8(x));
}
/* Four registers' bytes are added first (at most 4), then pairwise to wider lanes. */
static inline asnd_lanes v_add_nonzero(asnd_lanes sums, const uint8_t *p) {
    const uint8x16_t one = vdupq_n_u8(1);
    uint8x16_t ones = vminq_u8(v_load(p), one);
    for (int k = 16; k < V_COUNTED; k += 16)
        ones = vaddq_u8(ones, vminq_u8(v_load(p + k), one));
    const uint32x4_t fours = vpaddlq_u16(vpaddlq_u8(ones));
    return vreinterpretq_u8_u64(vpadalq_u32(vreinterpretq_u64_u8(sums), fours));
}
typedef asnd_lanes asnd_tally;
static inline asnd_tally v_tally_4(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    const uint32x4_t both = vtstq_u32(vreinterpretq_u32_u8(x), vreinterpretq_u32_u8(y));
    return vreinterpretq_u8_u32(vsubq_u32(vreinterpretq_u32_u8(tally), both));
}
static inline asnd_tally v_tally_8(asnd_tally tally, asnd_lanes x, asnd_lanes y) {
    const uint64x2_t both = vtstq_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y));
    return vreinterpretq_u8_u64(vsubq_u64(vreinterpretq_u64_u8(tally), both));
}
static inline int64_t v_tallied_4(asnd_tally tally, int64_t lanes) {
    (void)lanes;
    return (int64_t)vaddlvq_u32(vreinterpretq_u32_u8(tally));
}
static inline int64_t v_tallied_8(asnd_tally tally, int64_t lanes) {
    (void)lanes;
    return v_total_8(tally);
}
static inline void v_store_positions_2(uint64_t bits, int64_t from, uint16_t *to) {
    const uint16x8_t lane = vmovl_u8(vcreate_u8(first_lanes[bits & 255]));
    vst1q_u16(to, vaddq_u16(lane, vdupq_n_u16((uint16_t)from)));
}
static inline asnd_lanes v_positions_from(int64_t from) {
    return vreinterpretq_u8_s64(vdupq_n_s64(from));
}
static inline asnd_lanes v_positions_next(asnd_lanes at) {
    return v_add_8(at, vreinterpretq_u8_s64(vdupq_n_s64(2)));
}
static inline asnd_lanes v_positions_of(asnd_chosen_8 chosen, asnd_lanes at) {
    static const int64_t first[4][2] = {{0, 1}, {0, 1}, {1, 0}, {0, 1}};
    return v_add_8(at, v_load(first[chosen]));
}
#endif
#endif

#endif
