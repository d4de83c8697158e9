/* CPU device: the words of number_lanes.h with NEON.
 *
 * Conversions of 64-bit integers are instructions, and so are the steps that narrow and
 * widen lanes by half; GNU C's operators are instructions otherwise. Here are the words
 * that common divisors take: what other loops say with these words compilers find.
 */
#ifndef ASN_DEVICE_CPU_SIMD_NUMBER_LANES_NEON_H
#define ASN_DEVICE_CPU_SIMD_NUMBER_LANES_NEON_H

INLINE asnd_on_8 v_ne_f64(asn_v_f64 a, asn_v_f64 b) {
    return (asnd_on_8)(a != b);
}
INLINE asnd_on_4 v_ne_f32(asn_v_f32 a, asn_v_f32 b) {
    return (asnd_on_4)(a != b);
}

/* The largest word tells whether there is a bit: one step across the register. */
INLINE bool v_meet(asnd_lanes x, asnd_lanes y) {
    return vmaxvq_u32((uint32x4_t)vandq_u8(x, y)) != 0;
}
INLINE bool v_some_8(asnd_on_8 on) {
    return v_meet((asnd_lanes)on, (asnd_lanes)on);
}
INLINE bool v_some_4(asnd_on_4 on) {
    return v_meet((asnd_lanes)on, (asnd_lanes)on);
}
/* Selected bit by bit. */
INLINE asn_v_f64 v_pick_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return (asn_v_f64)vbslq_f64((uint64x2_t)on, (float64x2_t)a, (float64x2_t)b);
}
INLINE asn_v_f32 v_pick_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return (asn_v_f32)vbslq_f32((uint32x4_t)on, (float32x4_t)a, (float32x4_t)b);
}

INLINE uint64_t v_or_8(asnd_lanes x) {
    const uint64x2_t two = (uint64x2_t)x;
    return vgetq_lane_u64(two, 0) | vgetq_lane_u64(two, 1);
}
INLINE uint32_t v_or_4(asnd_lanes x) {
    const uint64_t two = v_or_8(x);
    return (uint32_t)(two | two >> 32);
}

/* ---- floats */

INLINE asn_v_f64 v_floor_f64(asn_v_f64 x) {
    return (asn_v_f64)vrndmq_f64((float64x2_t)x);
}
INLINE asn_v_f32 v_floor_f32(asn_v_f32 x) {
    return (asn_v_f32)vrndmq_f32((float32x4_t)x);
}
INLINE asn_v_f64 v_fnma_f64(asn_v_f64 a, asn_v_f64 b, asn_v_f64 c) {
    return (asn_v_f64)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
INLINE asn_v_f32 v_fnma_f32(asn_v_f32 a, asn_v_f32 b, asn_v_f32 c) {
    return (asn_v_f32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
/* Lanes that are not on divide by one. */
INLINE asn_v_f64 v_quotient_f64(asnd_on_8 on, asn_v_f64 a, asn_v_f64 b) {
    return a / v_pick_f64(on, b, v_every_f64(1));
}
INLINE asn_v_f32 v_quotient_f32(asnd_on_4 on, asn_v_f32 a, asn_v_f32 b) {
    return a / v_pick_f32(on, b, v_every_f32(1));
}
INLINE asn_v_f64 v_rest_f64(asnd_on_8 on, asn_v_f64 q, asn_v_f64 b, asn_v_f64 a) {
    return (asn_v_f64)(on & (asn_v_i64)v_fnma_f64(q, b, a));
}
INLINE asn_v_f32 v_rest_f32(asnd_on_4 on, asn_v_f32 q, asn_v_f32 b, asn_v_f32 a) {
    return (asn_v_f32)(on & (asn_v_i32)v_fnma_f32(q, b, a));
}

/* ---- integers */

INLINE asn_v_i32 v_abs_i32(asn_v_i32 x) {
    return (asn_v_i32)vabsq_s32((int32x4_t)x);
}
INLINE asn_v_i64 v_abs_i64(asn_v_i64 x) {
    return (asn_v_i64)vabsq_s64((int64x2_t)x);
}
INLINE asn_v_i32 v_widen_4(const void *p, int item, bool sign) {
    if (item == 4) return (asn_v_i32)v_load(p);
    if (item == 2) {
        if (sign) return (asn_v_i32)vmovl_s16(vld1_s16(p));
        return (asn_v_i32)vmovl_u16(vld1_u16(p));
    }
    /* As a number: a load of eight bytes could leave the memory. */
    uint32_t four; /* bytes */
    __builtin_memcpy(&four, p, 4);
    if (sign) return (asn_v_i32)vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
    return (asn_v_i32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}
INLINE asn_v_i64 v_widen_8(const void *p, int item, bool sign) {
    if (item == 8) return (asn_v_i64)v_load(p);
    if (sign) return (asn_v_i64)vmovl_s32(vld1_s32(p));
    return (asn_v_i64)vmovl_u32(vld1_u32(p));
}
/* Every other word of both: the low ones. */
INLINE asn_v_i32 v_words(asn_v_i64 a, asn_v_i64 b) {
    return (asn_v_i32)vuzp1q_u32((uint32x4_t)a, (uint32x4_t)b);
}
INLINE void v_narrow_4(void *p, int item, asn_v_i32 x) {
    if (item == 4) {
        v_store(p, (asnd_lanes)x);
        return;
    }
    const uint16x4_t pairs = vmovn_u32((uint32x4_t)x);
    if (item == 2) {
        vst1_u16(p, pairs);
        return;
    }
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(pairs, pairs));
    const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
    __builtin_memcpy(p, &four, 4);
}
INLINE void v_narrow_8(void *p, int item, asn_v_i64 x) {
    if (item == 8)
        v_store(p, (asnd_lanes)x);
    else
        vst1_u32(p, vmovn_u64((uint64x2_t)x));
}
INLINE asn_v_i64 v_wide_low(asn_v_i32 x) {
    return (asn_v_i64)vmovl_u32(vget_low_u32((uint32x4_t)x));
}
INLINE asn_v_i64 v_wide_high(asn_v_i32 x) {
    return (asn_v_i64)vmovl_high_u32((uint32x4_t)x);
}
INLINE asn_v_i64 v_wide_product_low(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)vmull_u32(vget_low_u32((uint32x4_t)x), vget_low_u32((uint32x4_t)y));
}
INLINE asn_v_i64 v_wide_product_high(asn_v_i32 x, asn_v_i32 y) {
    return (asn_v_i64)vmull_high_u32((uint32x4_t)x, (uint32x4_t)y);
}

/* ---- conversions */

/* Exact both ways, of whole numbers below 2^53. */
INLINE asn_v_f64 v_f64_of_i64(asn_v_i64 x) {
    return (asn_v_f64)vcvtq_f64_s64((int64x2_t)x);
}
INLINE asn_v_i64 v_i64_of_f64(asn_v_f64 x) {
    return (asn_v_i64)vcvtq_s64_f64((float64x2_t)x);
}

#endif
