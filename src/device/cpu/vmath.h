/* CPU device: elementary functions that the compiler's vectoriser turns into vector code.
 *
 * v_<f>(a) is branch-free and holds where v_<f>_fits(a): no NaN, no infinity, no
 * overflow, no subnormal result, no huge angle; the block loop (vmath.inc) gives the
 * other elements to the C library. So nothing here selects special cases, and every
 * instruction set makes the same bits: products and sums are rounded one by one, never
 * fused (-ffp-contract=off), and no table is read.
 *
 * exp     x = k ln2 + r with k the nearest integer and ln2 in two parts, the first of
 *         which times k is exact (Cody and Waite); exp(r) = 1 + (r + (lo + r^2 P(r))),
 *         lo what rounding r lost; the result is scaled by putting k into the exponent.
 * exp2    the same with r = x - k exact; 2^r = 1 + r Q(r).
 * log     x = 2^k m, m in [sqrt(1/2), sqrt(2)); with f = m - 1 and s = f / (2 + f),
 *         log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R(s^2))): f is exact and
 *         the correction small against it.
 * sin,    |x| = k pi/2 + r with pi/2 in three parts (k below 2^16, the first two
 * cos     products exact), r and its rounding error lo; sin(r) = r + (r^3 S(r^2) + lo)
 * and cos(r) = 1 - (r^2/2 - (r^4 C(r^2) - r lo)) are both computed, and k chooses. (One
 * polynomial over [-pi/2, pi/2] is cheaper, but cos(0) was not 1.)
 *
 * float32 sine and cosine go through float64, the others are native. Polynomials
 * are minimax (tools/elementary_polynomials.py); measured errors are in
 * docs/design/0004-elementary-functions.md.
 */
#ifndef ASN_DEVICE_CPU_VMATH_H
#define ASN_DEVICE_CPU_VMATH_H

#include "device/cpu/scalar.h"

enum { ASN_VMATH_BLOCK = 512 }; /* elements: a copy and its marks stay in L1 */

static inline double v_from_bits(uint64_t u) {
    double a;
    memcpy(&a, &u, sizeof a);
    return a;
}
static inline float v_from_bitsf(uint32_t u) {
    float a;
    memcpy(&a, &u, sizeof a);
    return a;
}

/* Adding these leaves the nearest integer in the low bits (|a| < 2^51, 2^22). */
#define V_ROUND  0x1.8p52
#define V_ROUNDF 0x1.8p23f

/* 2^k; k is the low bits of `shifted` = k + V_ROUND. */
static inline double v_pow2(double shifted) {
    return v_from_bits((f_bits(shifted) + 1023) << 52);
}
static inline float v_pow2f(float shifted) {
    return v_from_bitsf((f_bitsf(shifted) + 127) << 23);
}

#define V_LN2_HI  0x1.62e42fefa4p-1 /* 41 bits */
#define V_LN2_LO  -0x1.8432a1b0e2634p-43
#define V_LN2_HIF 0x1.62e4p-1f /* 15 bits */
#define V_LN2_LOF 0x1.7f7d1cp-20f

static inline int v_exp_fits(double a) {
    return fabs(a) <= 708.0;
}
/* exp(r) - 1 for r + lo, |r| <= ln2 / 2: error 2^-56. */
static inline double v_expm1_reduced(double r, double lo) {
    double z = r * r;
    double p01 = 0x1.000000000000bp-1 + r * 0x1.5555555555561p-3;
    double p23 = 0x1.5555555550041p-5 + r * 0x1.111111110d64ep-7;
    double p45 = 0x1.6c16c185a385ap-10 + r * 0x1.a01a01badb60ep-13;
    double p67 = 0x1.a019969e6f597p-16 + r * 0x1.71dddfda9fc09p-19;
    double p89 = 0x1.28b03ee2bb793p-22 + r * 0x1.af85715c3f88p-26;
    double p = p01 + z * (p23 + z * (p45 + z * (p67 + z * p89)));
    return r + (lo + z * p);
}
static inline double v_exp(double a) {
    double shifted = a * LOG2_E + V_ROUND, k = shifted - V_ROUND;
    double high = a - k * V_LN2_HI, low = k * V_LN2_LO, r = high - low;
    return (1 + v_expm1_reduced(r, (high - r) - low)) * v_pow2(shifted);
}

static inline int v_exp_fitsf(float a) {
    return fabsf(a) <= 87.0f;
}
static inline float v_expf(float a) {
    float shifted = a * (float)LOG2_E + V_ROUNDF, k = shifted - V_ROUNDF;
    float high = a - k * V_LN2_HIF, low = k * V_LN2_LOF, r = high - low, z = r * r;
    float lo = (high - r) - low;
    float p01 = 0x1p-1f + r * 0x1.55549p-3f, p23 = 0x1.55545ep-5f + r * 0x1.123b46p-7f;
    float p = p01 + z * (p23 + z * 0x1.6db40ap-10f);
    return (1 + (r + (lo + z * p))) * v_pow2f(shifted);
}

static inline int v_log_fits(double a) {
    return (a >= 0x1p-1022) & (a <= 0x1.fffffffffffffp1023);
}
/* log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), plus a small term that is added first. */
static inline double v_log1p_reduced(double f, double lo, double k_high) {
    double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double p12 = 0x1.999999997fdbap-2 + z * 0x1.24924941f108ap-2;
    double p34 = 0x1.c71c52096bd1bp-3 + z * 0x1.74663ee69c148p-3;
    double p56 = 0x1.39a1bacfc6493p-3 + z * 0x1.2f056339de214p-3, w = z * z;
    double p = z * (0x1.5555555555592p-1 + z * (p12 + w * (p34 + w * p56)));
    return k_high - ((half - (s * (half + p) + lo)) - f);
}
static inline double v_log(double a) {
    const uint64_t root = 0x3fe6a09e667f3bcdu; /* sqrt(1/2) */
    uint64_t u = f_bits(a) + (0x3ff0000000000000u - root);
    double k = v_from_bits(0x4330000000000000u | u >> 52) - (0x1p52 + 1023);
    double m = v_from_bits((u & 0x000fffffffffffffu) + root);
    return v_log1p_reduced(m - 1, k * V_LN2_LO, k * V_LN2_HI);
}

static inline int v_log_fitsf(float a) {
    return (a >= 0x1p-126f) & (a <= 0x1.fffffep127f);
}
static inline float v_logf(float a) {
    const uint32_t root = 0x3f3504f3u;
    uint32_t u = f_bitsf(a) + (0x3f800000u - root);
    float k = (float)(int32_t)((u >> 23) - 127u);
    float f = v_from_bitsf((u & 0x007fffffu) + root) - 1;
    float s = f / (2 + f), z = s * s, half = 0.5f * f * f;
    float p = 0x1.999a7ap-2f + z * (0x1.2438d8p-2f + z * 0x1.e2f666p-3f);
    p = z * (0x1.555554p-1f + z * p);
    return k * V_LN2_HIF - ((half - (s * (half + p) + k * V_LN2_LOF)) - f);
}

#define V_HALF_PI_1   0x1.921fb5444p+0 /* 37 bits, as the next */
#define V_HALF_PI_2   0x1.68c234c4cp-39
#define V_HALF_PI_3   0x1.98a2e03707345p-77
#define V_INV_HALF_PI 0x1.45f306dc9c883p-1

/* A subnormal sine raises underflow, so it is the library's. */
static inline int v_sin_fits(double a) {
    return (a >= -1e5) & (a <= 1e5) & ((fabs(a) >= 0x1p-1022) | (a == 0));
}
static inline int v_cos_fits(double a) {
    return (a >= -1e5) & (a <= 1e5);
}
static inline int v_sin_fitsf(float a) {
    return (a >= -1e5f) & (a <= 1e5f) & ((fabsf(a) >= 0x1p-126f) | (a == 0));
}
static inline int v_cos_fitsf(float a) {
    return (a >= -1e5f) & (a <= 1e5f);
}
/* sin or cos as the quadrant's lowest bit says, negated by the next. */
static inline double v_quadrant(double sine, double cosine, uint64_t quadrant) {
    uint64_t odd = 0 - (quadrant & 1);
    uint64_t u = (f_bits(sine) & ~odd) | (f_bits(cosine) & odd);
    return v_from_bits(u ^ (quadrant & 2) << 62);
}
/* sin(y + ahead pi/2), y >= 0, negated if `sign` is the sign bit. */
static inline double v_sin_ahead(double y, uint64_t ahead, uint64_t sign) {
    double shifted = y * V_INV_HALF_PI + V_ROUND, k = shifted - V_ROUND;
    double t = y - k * V_HALF_PI_1, c2 = k * V_HALF_PI_2, c3 = k * V_HALF_PI_3;
    double w = t - c2, r = w - c3, lo = ((t - w) - c2) + ((w - r) - c3);
    double z = r * r, w4 = z * z;
    double s01 = -0x1.5555555555549p-3 + z * 0x1.111111110f879p-7;
    double s23 = -0x1.a01a019c115dep-13 + z * 0x1.71de357781442p-19;
    double s45 = -0x1.ae5e660f6eca7p-26 + z * 0x1.5d92f4180fd46p-33;
    double c01 = 0x1.555555555554cp-5 + z * -0x1.6c16c16c1517cp-10;
    double c23 = 0x1.a01a019cb18e0p-16 + z * -0x1.27e4f809cca01p-22;
    double c45 = 0x1.1ee9ebcfb2d74p-29 + z * -0x1.8fae8ec55e861p-37;
    double sine = r + (r * z * (s01 + w4 * (s23 + w4 * s45)) + lo);
    double half = 0.5 * z, high = 1 - half;
    double rest = w4 * (c01 + w4 * (c23 + w4 * c45)) - r * lo;
    double cosine = high + (((1 - high) - half) + rest);
    double result = v_quadrant(sine, cosine, f_bits(shifted) + ahead);
    return v_from_bits(f_bits(result) ^ sign);
}
static inline double v_sin(double a) {
    double y = fabs(a);
    return v_sin_ahead(y, 0, f_bits(a) ^ f_bits(y));
}
static inline double v_cos(double a) {
    return v_sin_ahead(fabs(a), 1, 0);
}

/* The same to float32's precision. */
static inline float v_sin_aheadf(double y, uint64_t ahead, uint64_t sign) {
    double shifted = y * V_INV_HALF_PI + V_ROUND, k = shifted - V_ROUND;
    double r = (y - k * V_HALF_PI_1) - k * V_HALF_PI_2, z = r * r;
    double s = 0x1.11075f0f108b7p-7 + z * -0x1.994e42863c112p-13;
    double c = -0x1.6c0c8a690dcd0p-10 + z * 0x1.9a01f58c69476p-16;
    double sine = r + r * z * (-0x1.55554596464cep-3 + z * s);
    double cosine = 1 - z * (0.5 - z * (0x1.55554ab1f5f6ap-5 + z * c));
    double result = v_quadrant(sine, cosine, f_bits(shifted) + ahead);
    return (float)v_from_bits(f_bits(result) ^ sign);
}
static inline float v_sinf(float a) {
    double y = fabs((double)a);
    return v_sin_aheadf(y, 0, f_bits((double)a) ^ f_bits(y));
}
static inline float v_cosf(float a) {
    return v_sin_aheadf(fabs((double)a), 1, 0);
}

#endif
