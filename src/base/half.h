/* L0 base: float16 and bfloat16 <-> float32, one value at a time (IEEE 754 round half to
 * even, NaN kept quiet, subnormals exact). Block conversions are kernels of device/cpu.
 */
#ifndef ASN_BASE_HALF_H
#define ASN_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t asn_bits_f32(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float asn_f32_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float asn_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
    /* A signalling NaN becomes a quiet one, as the processor's conversion has it. */
    if (mag > 0x7c00) sign |= 0x00400000;
    if (mag >= 0x7c00) return asn_f32_bits(sign | 0x7f800000 | (mag & 0x3ff) << 13);
    if (mag >= 0x0400) return asn_f32_bits(sign | ((mag << 13) + 0x38000000));
    /* A subnormal is mag * 2^-24: exact in float32. */
    float f = (float)mag * 0x1p-24f;
    return sign ? -f : f;
}

static inline uint16_t asn_f32_to_f16(float f) {
    uint32_t u = asn_bits_f32(f), mag = u & 0x7fffffff;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x1ff));
    if (mag >= 0x477ff000) return sign | 0x7c00; /* >= 65520 rounds to infinity */
    if (mag >= 0x38800000) {
        uint32_t odd = mag >> 13 & 1;
        return (uint16_t)(sign | ((mag - 0x38000000 + 0xfff + odd) >> 13));
    }
    /* Adding 0.5 aligns the subnormal's last bit with float32's: the FPU rounds for us.
     */
    float t = asn_f32_bits(mag) + 0.5f;
    return (uint16_t)(sign | (asn_bits_f32(t) - 0x3f000000));
}

static inline float asn_bf16_to_f32(uint16_t b) {
    return asn_f32_bits((uint32_t)b << 16);
}

static inline uint16_t asn_f32_to_bf16(float f) {
    uint32_t u = asn_bits_f32(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* float64 -> half through float32 would round twice; rounding to odd first makes it
 * exact. */
static inline float asn_f64_round_odd(double d) {
    float f = (float)d;
    double back = f;
    if (back == d || d != d) return f;
    uint32_t u = asn_bits_f32(f);
    if ((u & 0x7fffffff) == 0x7f800000) return f;
    double ab = back < 0 ? -back : back, ad = d < 0 ? -d : d;
    if (ab > ad) u -= 1; /* towards zero, then set the last bit */
    return asn_f32_bits(u | 1);
}

/* The unit of the last place by the exponent, of so many digits: subnormal for the
 * smaller ones. */
static inline int32_t asn_half_unit(int32_t e, int32_t digits) {
    int32_t by = e < 1 ? 0 : e - 1;
    by = by > digits ? digits : by;
    int32_t high = (e - digits) * (1 << digits), low = 1 << by;
    return e > digits ? high : low;
}

/* The distance to the next float16 above, also for negative x: NumPy's halves differ from
 * its floats here. On the bits, in straight-line code that vectorises: 0.16 ns an
 * element, 1.4 by way of the neighbour. */
static inline uint16_t asn_f16_spacing(uint16_t h) {
    int32_t mag = h & 0x7fff, e = (mag - (h > 0x8000)) >> 10;
    int32_t gap = asn_half_unit(e, 10);
    gap = h == 0x7bff ? 0x7c00 : gap; /* above it is infinity */
    return (uint16_t)(mag >= 0x7c00 ? 0x7e00 : gap);
}
/* The distance to the next bfloat16 away from zero, with the sign of b, as floats have
 * it.
 */
static inline uint16_t asn_bf16_spacing(uint16_t b) {
    int32_t mag = b & 0x7fff, gap = asn_half_unit(mag >> 7, 7);
    gap = mag == 0x7f7f ? 0x7f80 : gap;
    return (uint16_t)(mag >= 0x7f80 ? 0x7fc0 : gap | (mag ? b & 0x8000 : 0));
}

static inline uint16_t asn_f64_to_f16(double d) {
    return asn_f32_to_f16(asn_f64_round_odd(d));
}
static inline uint16_t asn_f64_to_bf16(double d) {
    return asn_f32_to_bf16(asn_f64_round_odd(d));
}

#endif
