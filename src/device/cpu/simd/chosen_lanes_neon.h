/* CPU device: the words of chosen_lanes.h with NEON, whose registers are four lanes of 4
 * bytes or two of 8. A choice of them is a few bits: the sum of each lane's own bit where
 * a comparison holds, which a table turns into the move of the bytes. Counting bits would
 * go by way of a vector register, so that a number holds the counts of all choices. */
#ifndef ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_NEON_H
#define ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#include "device/cpu/simd/first_lanes.h"

#define V_EXPANDS 0
/* A register of four takes twelve instructions, a chosen one seven or eight. */
enum { V_FEW_4 = 24, V_FEW_8 = 64 };

/* For every choice of four lanes of 4 bytes, or two of 8, the bytes' numbers, those of
 * chosen lanes first. */
#define FIRST(m, i) ((LANES_OF((unsigned)(m)) >> 8 * (i)) & 3)
#define LANE_4(m, i)                                                                     \
    4 * FIRST(m, i), 4 * FIRST(m, i) + 1, 4 * FIRST(m, i) + 2, 4 * FIRST(m, i) + 3
#define BYTES_4(m) {LANE_4(m, 0), LANE_4(m, 1), LANE_4(m, 2), LANE_4(m, 3)}
static const _Alignas(16) uint8_t first_bytes_4[16][16] = {
    BYTES_4(0),  BYTES_4(1),  BYTES_4(2),  BYTES_4(3), BYTES_4(4),  BYTES_4(5),
    BYTES_4(6),  BYTES_4(7),  BYTES_4(8),  BYTES_4(9), BYTES_4(10), BYTES_4(11),
    BYTES_4(12), BYTES_4(13), BYTES_4(14), BYTES_4(15)};
#define IN_ORDER {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
static const _Alignas(16) uint8_t first_bytes_8[4][16] = {
    IN_ORDER, IN_ORDER, {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7}, IN_ORDER};
#undef IN_ORDER

static inline asnd_lanes v_load(const void *p) {
    return vld1q_u8(p);
}
static inline void v_store(void *p, asnd_lanes x) {
    vst1q_u8(p, x);
}

/* ---- lanes of 4 bytes */

static inline asnd_chosen_4 v_chosen_4(uint64_t bits) {
    return (unsigned)bits & 15;
}
/* Four bits of the number for each of the sixteen choices. */
static inline int v_count_4(asnd_chosen_4 chosen) {
    return (int)(0x4332322132212110u >> 4 * chosen & 15);
}
static inline asnd_chosen_4 v_first_4(int64_t n) {
    return n >= 4 ? 15 : (1u << n) - 1;
}
static inline asnd_chosen_4 v_neither_4(asnd_chosen_4 a, asnd_chosen_4 b) {
    return ~(a | b) & 15;
}
/* A permutation of bytes by the table's entry. */
static inline asnd_lanes v_compress_4(asnd_chosen_4 chosen, asnd_lanes x) {
    return vqtbl1q_u8(x, v_load(first_bytes_4[chosen]));
}
/* There is no masked load: up to three elements, one by one. */
static inline asnd_lanes v_load_first_4(const void *p, int64_t n) {
    const uint32_t *from = p;
    if (n >= 4) return v_load(p);
    return vreinterpretq_u8_u32(
        (uint32x4_t){n > 0 ? from[0] : 0, n > 1 ? from[1] : 0, n > 2 ? from[2] : 0, 0});
}
/* Likewise, by way of the stack. */
static inline void v_store_first_4(void *p, int64_t n, asnd_lanes x) {
    uint32_t *to = p, lanes[4];
    if (n >= 4) {
        v_store(p, x);
        return;
    }
    v_store(lanes, x);
    for (int64_t i = 0; i < n; i++)
        to[i] = lanes[i];
}
static inline asnd_lanes v_load_chosen_4(const void *p, int64_t left,
                                         asnd_chosen_4 chosen) {
    (void)chosen;
    return v_load_first_4(p, left);
}
/* A whole store where there is room for it. */
static inline void v_store_within_4(void *p, int64_t n, int64_t room, asnd_lanes x) {
    v_store_first_4(p, room >= 4 ? 4 : n, x);
}
static inline asnd_lanes v_all_4(const void *p) {
    return vreinterpretq_u8_u32(vdupq_n_u32(*(const uint32_t *)p));
}
/* A comparison's lanes (all ones or zeros) as bits. */
static inline asnd_chosen_4 v_bits_4(uint32x4_t mask) {
    return vaddvq_u32(vandq_u32(mask, (uint32x4_t){1, 2, 4, 8}));
}
static inline asnd_chosen_4 v_less_i32(asnd_lanes x, asnd_lanes y) {
    return v_bits_4(vcltq_s32(vreinterpretq_s32_u8(x), vreinterpretq_s32_u8(y)));
}
static inline asnd_chosen_4 v_less_u32(asnd_lanes x, asnd_lanes y) {
    return v_bits_4(vcltq_u32(vreinterpretq_u32_u8(x), vreinterpretq_u32_u8(y)));
}
static inline asnd_chosen_4 v_less_f32(asnd_lanes x, asnd_lanes y) {
    return v_bits_4(vcltq_f32(vreinterpretq_f32_u8(x), vreinterpretq_f32_u8(y)));
}

/* ---- lanes of 8 bytes */

static inline asnd_chosen_8 v_chosen_8(uint64_t bits) {
    return (unsigned)bits & 3;
}
/* 0, 1, 1, 2 for the four choices. */
static inline int v_count_8(asnd_chosen_8 chosen) {
    return (int)(chosen - (chosen >> 1));
}
static inline asnd_chosen_8 v_first_8(int64_t n) {
    return n >= 2 ? 3 : (1u << n) - 1;
}
static inline asnd_chosen_8 v_neither_8(asnd_chosen_8 a, asnd_chosen_8 b) {
    return ~(a | b) & 3;
}
static inline asnd_lanes v_compress_8(asnd_chosen_8 chosen, asnd_lanes x) {
    return vqtbl1q_u8(x, v_load(first_bytes_8[chosen]));
}
static inline asnd_lanes v_load_first_8(const void *p, int64_t n) {
    if (n >= 2) return v_load(p);
    const uint64_t first = n > 0 ? *(const uint64_t *)p : 0;
    return vreinterpretq_u8_u64((uint64x2_t){first, 0});
}
static inline void v_store_first_8(void *p, int64_t n, asnd_lanes x) {
    if (n >= 2)
        v_store(p, x);
    else if (n > 0)
        vst1_u8(p, vget_low_u8(x));
}
static inline asnd_lanes v_load_chosen_8(const void *p, int64_t left,
                                         asnd_chosen_8 chosen) {
    (void)chosen;
    return v_load_first_8(p, left);
}
static inline void v_store_within_8(void *p, int64_t n, int64_t room, asnd_lanes x) {
    v_store_first_8(p, room >= 2 ? 2 : n, x);
}
static inline asnd_lanes v_all_8(const void *p) {
    return vreinterpretq_u8_u64(vdupq_n_u64(*(const uint64_t *)p));
}
/* As v_bits_4, of two lanes. */
static inline asnd_chosen_8 v_bits_8(uint64x2_t mask) {
    return (unsigned)vaddvq_u64(vandq_u64(mask, (uint64x2_t){1, 2}));
}
static inline asnd_chosen_8 v_less_i64(asnd_lanes x, asnd_lanes y) {
    return v_bits_8(vcltq_s64(vreinterpretq_s64_u8(x), vreinterpretq_s64_u8(y)));
}
static inline asnd_chosen_8 v_less_u64(asnd_lanes x, asnd_lanes y) {
    return v_bits_8(vcltq_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y)));
}
static inline asnd_chosen_8 v_less_f64(asnd_lanes x, asnd_lanes y) {
    return v_bits_8(vcltq_f64(vreinterpretq_f64_u8(x), vreinterpretq_f64_u8(y)));
}

#undef FIRST
#undef LANE_4
#undef BYTES_4

#endif
