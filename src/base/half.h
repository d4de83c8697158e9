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

static inline uint16_t asn_f64_to_f16(double d) {
    return asn_f32_to_f16(asn_f64_round_odd(d));
}
static inline uint16_t asn_f64_to_bf16(double d) {
    return asn_f32_to_bf16(asn_f64_round_odd(d));
}

#endif
