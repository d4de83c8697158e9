/* CPU device: elementary functions that the compiler's vectoriser turns into vector code.
 *
 * v_<f>(a) is branch-free and holds where v_<f>_fits(a): no NaN, no infinity, no
 * overflow, no subnormal result, no huge angle; the block loop (vmath.inc) gives the
 * other elements to the C library. So nothing here selects special cases, and every
 * instruction set makes the same bits: products and sums are rounded one by one, never
 * fused (-ffp-contract=off), and no table is read.
 *
 * exp: x = k ln2 + r with k the nearest integer and ln2 in two parts, the first of which
 * times k is exact (Cody and Waite); exp(r) = 1 + (r + (lo + r^2 P(r))), lo what rounding
 * r lost (float64 does without); k is added to the exponent. exp2: the same with r = x -
 * k exact and 2^r = 1 + r Q(r). expm1: ((2^k - 1) + 2^k r) + 2^k (lo + r^2 P(r)). tanh:
 * E / (E + 2) with E = expm1(2 |x|).
 *
 * log: x = 2^k m, m in [sqrt(1/2), sqrt(2)); with f = m - 1 and s = f / (2 + f),
 * log(1 + f) = 2 atanh(s) = f - s (f - R(s^2)): f is exact, the correction small against
 * it. log2, log10: log(m) and 1 / log(base) as sums whose main product is exact. log1p:
 * the same as log with f = 2^-k (1 + x) - 1 and what that rounding lost.
 *
 * sin, cos: |x| = k pi/2 + r with pi/2 in three parts (k below 2^16, the first two
 * products exact) and r's rounding error lo; sin(r) = r + (r^3 S(r^2) + lo) and cos(r) =
 * 1 - (r^2/2 - (r^4 C(r^2) - r lo)) are both computed, and k chooses. (One polynomial
 * over
 * [-pi/2, pi/2] is cheaper, but cos(0) was not 1; float32 can afford it.)
 *
 * float32 sine, cosine and tanh go through float64, the others are native. Polynomials
 * are minimax (tools/elementary_polynomials.py); measured errors and speeds are in
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

/* 2^k; k is the low bits of `shifted` = k + V_ROUND. v_scale: a 2^k, both normal. */
static inline double v_pow2(double shifted) {
    return v_from_bits((f_bits(shifted) + 1023) << 52);
}
static inline float v_pow2f(float shifted) {
    return v_from_bitsf((f_bitsf(shifted) + 127) << 23);
}
static inline double v_scale(double a, double shifted) {
    return v_from_bits(f_bits(a) + (f_bits(shifted) << 52));
}
static inline float v_scalef(float a, float shifted) {
    return v_from_bitsf(f_bitsf(a) + (f_bitsf(shifted) << 23));
}

#define V_LN2_HI  0x1.62e42fefa4p-1 /* 41 bits */
#define V_LN2_LO  -0x1.8432a1b0e2634p-43
#define V_LN2_HIF 0x1.62e4p-1f /* 15 bits */
#define V_LN2_LOF 0x1.7f7d1cp-20f

static inline int v_exp_fits(double a) {
    return fabs(a) <= 708.0;
}
/* exp(r) - 1 - r for |r| <= ln2 / 2: error 2^-56. */
static inline double v_exp_rest(double r) {
    double z = r * r;
    double p01 = 0x1.000000000000bp-1 + r * 0x1.5555555555561p-3;
    double p23 = 0x1.5555555550041p-5 + r * 0x1.111111110d64ep-7;
    double p45 = 0x1.6c16c185a385ap-10 + r * 0x1.a01a01badb60ep-13;
    double p67 = 0x1.a019969e6f597p-16 + r * 0x1.71dddfda9fc09p-19;
    double p89 = 0x1.28b03ee2bb793p-22 + r * 0x1.af85715c3f88p-26;
    double p = p01 + z * (p23 + z * (p45 + z * (p67 + z * p89)));
    return z * p;
}
/* What rounding r loses, at most 2^-55, is left out here. */
static inline double v_exp(double a) {
    double shifted = a * LOG2_E + V_ROUND, k = shifted - V_ROUND;
    double r = (a - k * V_LN2_HI) - k * V_LN2_LO;
    return v_scale(1 + (r + v_exp_rest(r)), shifted);
}

static inline int v_exp_fitsf(float a) {
    return fabsf(a) <= 87.0f;
}
static inline float v_exp_restf(float r) {
    float z = r * r;
    float p01 = 0x1p-1f + r * 0x1.555556p-3f, p23 = 0x1.55548p-5f + r * 0x1.11107ep-7f;
    float p45 = 0x1.6d967p-10f + r * 0x1.a1b7e2p-13f;
    return z * (p01 + z * (p23 + z * p45));
}
static inline float v_expf(float a) {
    float shifted = a * (float)LOG2_E + V_ROUNDF, k = shifted - V_ROUNDF;
    float high = a - k * V_LN2_HIF, low = k * V_LN2_LOF, r = high - low;
    return v_scalef(1 + (r + (((high - r) - low) + v_exp_restf(r))), shifted);
}

static inline int v_exp2_fits(double a) {
    return fabs(a) <= 1021.0;
}
static inline double v_exp2(double a) {
    double shifted = a + V_ROUND, f = a - (shifted - V_ROUND), z = f * f;
    double q12 = 0x1.ebfbdff82c5a5p-3 + f * 0x1.c6b08d704a0d7p-5;
    double q34 = 0x1.3b2ab6fb9ff55p-7 + f * 0x1.5d87fe78a0e69p-10;
    double q56 = 0x1.4309130f2fbf0p-13 + f * 0x1.ffcbfc7c389c4p-17;
    double q78 = 0x1.62bfc6cc24db1p-20 + f * 0x1.b524ce03ed51bp-24;
    double q90 = 0x1.e61ca95e1cb9cp-28 + f * 0x1.ea182682cb287p-32;
    double q = q12 + z * (q34 + z * (q56 + z * (q78 + z * q90)));
    return v_scale(1 + (f * LN2 + z * q), shifted);
}
static inline int v_exp2_fitsf(float a) {
    return fabsf(a) <= 125.0f;
}
static inline float v_exp2f(float a) {
    float shifted = a + V_ROUNDF, f = a - (shifted - V_ROUNDF), z = f * f;
    float q12 = 0x1.ebfbe0p-3f + f * 0x1.c6aed0p-5f;
    float q34 = 0x1.3b29aap-7f + f * 0x1.5f47b0p-10f;
    float q = q12 + z * (q34 + z * 0x1.448fc4p-13f);
    /* The first coefficient is the sum of two floats, and so is 1 + part. */
    float part = f * 0x1.62e43p-1f, head = 1 + part, lost = (1 - head) + part;
    return v_scalef(head + (lost + (z * q + f * 0x1.989ed2p-26f)), shifted);
}

/* expm1: 2^k (1 + e) - 1 = ((2^k - 1) + 2^k r) + 2^k t for exp(r) = 1 + r + t. */
static inline int v_expm1_fits(double a) {
    return fabs(a) <= 700.0;
}
typedef struct {
    double value, lost; /* expm1(a) is their sum */
} v_expm1_sum;
static inline v_expm1_sum v_expm1_split(double a) {
    double shifted = a * LOG2_E + V_ROUND, k = shifted - V_ROUND;
    double high = a - k * V_LN2_HI, low = k * V_LN2_LO, r = high - low;
    double t = ((high - r) - low) + v_exp_rest(r), scale = v_pow2(shifted);
    double head = (scale - 1) + scale * r, tail = scale * t, value = head + tail;
    return (v_expm1_sum){value, (head - value) + tail};
}
static inline double v_expm1(double a) {
    double y = v_expm1_split(a).value;
    return v_from_bits(f_bits(y) | (f_bits(a) & 0x8000000000000000u)); /* of -0.0 */
}
static inline int v_expm1_fitsf(float a) {
    return fabsf(a) <= 87.0f;
}
static inline float v_expm1f(float a) {
    float shifted = a * (float)LOG2_E + V_ROUNDF, k = shifted - V_ROUNDF;
    float high = a - k * V_LN2_HIF, low = k * V_LN2_LOF, r = high - low;
    float t = ((high - r) - low) + v_exp_restf(r), scale = v_pow2f(shifted);
    float one = scale - 1, part = scale * r, head = one + part;
    float lost = ((scale - one) - 1) + ((one - head) + part);
    float y = head + (lost + scale * t);
    return v_from_bitsf(f_bitsf(y) | (f_bitsf(a) & 0x80000000u));
}

/* tanh(y) = E / (E + 2) with E = expm1(2y), which is above 0. */
static inline int v_tanh_fits(double a) {
    return fabs(a) <= 18.0; /* e + 2 loses no bit below 2^52 */
}
static inline double v_tanh(double a) {
    v_expm1_sum e = v_expm1_split(2 * fabs(a));
    double sum = e.value + 2, q = e.value / sum, lost = e.value - (sum - 2);
    double half = 0.5 - 0.5 * q; /* 1 / sum, nearly */
    double y = q + (e.lost * (1 - q) - q * lost) * half;
    return v_from_bits(f_bits(y) | (f_bits(a) & 0x8000000000000000u));
}
static inline int v_tanh_fitsf(float a) {
    return fabsf(a) <= 300.0f;
}
/* In float64, to float32's precision. */
static inline float v_tanhf(float a) {
    double y = 2 * fabs((double)a), shifted = y * LOG2_E + V_ROUND;
    double r = y - (shifted - V_ROUND) * LN2, z = r * r;
    double p = 0x1.5554806cfb3e8p-5 + r * 0x1.11107d09d15d7p-7;
    p = p + z * (0x1.6d96707a6eeecp-10 + r * 0x1.a1b7e1bbdf448p-13);
    p = (0x1.00000042e134ep-1 + r * 0x1.55555597edc87p-3) + z * p;
    double scale = v_pow2(shifted), e = (scale - 1) + scale * (r + z * p);
    float t = (float)(e / (e + 2));
    return v_from_bitsf(f_bitsf(t) | (f_bitsf(a) & 0x80000000u));
}

static inline int v_log_fits(double a) {
    return (a >= 0x1p-1022) & (a <= 0x1.fffffffffffffp1023);
}
/* a = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)). */
typedef struct {
    double k, f;
} v_log_split;
static inline v_log_split v_log_reduce(double a) {
    const uint64_t root = 0x3fe6a09e667f3bcdu; /* sqrt(1/2) */
    uint64_t u = f_bits(a) + (0x3ff0000000000000u - root);
    double k = v_from_bits(0x4330000000000000u | u >> 52) - (0x1p52 + 1023);
    return (v_log_split){k, v_from_bits((u & 0x000fffffffffffffu) + root) - 1};
}
/* R(z), error 2^-58. */
static inline double v_log_rest(double z) {
    double p12 = 0x1.999999997fdbap-2 + z * 0x1.24924941f108ap-2;
    double p34 = 0x1.c71c52096bd1bp-3 + z * 0x1.74663ee69c148p-3;
    double p56 = 0x1.39a1bacfc6493p-3 + z * 0x1.2f056339de214p-3, w = z * z;
    return z * (0x1.5555555555592p-1 + z * (p12 + w * (p34 + w * p56)));
}
/* k_high + (log(1 + f) + lo) */
static inline double v_log1p_reduced(double f, double lo, double k_high) {
    double s = f / (2 + f);
    return k_high - ((s * (f - v_log_rest(s * s)) - lo) - f);
}
static inline double v_log(double a) {
    v_log_split x = v_log_reduce(a);
    return v_log1p_reduced(x.f, x.k * V_LN2_LO, x.k * V_LN2_HI);
}

static inline int v_log_fitsf(float a) {
    return (a >= 0x1p-126f) & (a <= 0x1.fffffep127f);
}
typedef struct {
    float k, f;
} v_log_splitf;
static inline v_log_splitf v_log_reducef(float a) {
    const uint32_t root = 0x3f3504f3u;
    uint32_t u = f_bitsf(a) + (0x3f800000u - root);
    float f = v_from_bitsf((u & 0x007fffffu) + root) - 1;
    return (v_log_splitf){(float)(int32_t)((u >> 23) - 127u), f};
}
static inline float v_log_restf(float z) {
    float p = 0x1.999a7ap-2f + z * (0x1.2438d8p-2f + z * 0x1.e2f666p-3f);
    return z * (0x1.555554p-1f + z * p);
}
static inline float v_log1p_reducedf(float f, float lo, float k_high) {
    float s = f / (2 + f);
    return k_high - ((s * (f - v_log_restf(s * s)) - lo) - f);
}
static inline float v_logf(float a) {
    v_log_splitf x = v_log_reducef(a);
    return v_log1p_reducedf(x.f, x.k * V_LN2_LOF, x.k * V_LN2_HIF);
}

/* log2 and log10: log(m) as a sum, the first part of 21 bits, so that its product with
 * `first`, 24 bits of 1 / log(base), is exact, as is k times the first part of `step`. */
static inline double v_log_base(double a, double first, double second, double step,
                                double step_rest) {
    v_log_split x = v_log_reduce(a);
    double s = x.f / (2 + x.f), half = 0.5 * x.f * x.f;
    double high = v_from_bits(f_bits(x.f - half) & 0xffffffff00000000u);
    double low = ((x.f - high) - half) + s * (half + v_log_rest(s * s));
    double whole = x.k * step, part = high * first, sum = whole + part;
    double rest = x.k * step_rest + (low * (first + second) + high * second);
    return sum + (((whole - sum) + part) + rest);
}
static inline int v_log2_fits(double a) {
    return v_log_fits(a);
}
static inline double v_log2(double a) {
    return v_log_base(a, 0x1.715476p+0, 0x1.4ae0bf85ddf44p-26, 1, 0);
}
static inline int v_log10_fits(double a) {
    return v_log_fits(a);
}
static inline double v_log10(double a) {
    return v_log_base(a, 0x1.bcb7b2p-2, -0x1.5b235e39ab2a9p-27, 0x1.34413509f78p-2,
                      0x1.fef311f12b358p-46);
}

/* 12 bits each here. */
static inline float v_log_basef(float a, float first, float second, float step,
                                float step_rest) {
    v_log_splitf x = v_log_reducef(a);
    float s = x.f / (2 + x.f), half = 0.5f * x.f * x.f;
    float high = v_from_bitsf(f_bitsf(x.f - half) & 0xfffff000u);
    float low = ((x.f - high) - half) + s * (half + v_log_restf(s * s));
    float whole = x.k * step, part = high * first, sum = whole + part;
    float rest = x.k * step_rest + (low * (first + second) + high * second);
    return sum + (((whole - sum) + part) + rest);
}
static inline int v_log2_fitsf(float a) {
    return v_log_fitsf(a);
}
static inline float v_log2f(float a) {
    return v_log_basef(a, 0x1.7160p+0f, -0x1.7135a80000000p-13f, 1, 0);
}
static inline int v_log10_fitsf(float a) {
    return v_log_fitsf(a);
}
static inline float v_log10f(float a) {
    return v_log_basef(a, 0x1.bcc0p-2f, -0x1.09d5b20000000p-15f, 0x1.3440p-2f,
                       0x1.3509f80000000p-18f);
}

/* log1p: with 2^k about 1 + x, f = (2^-k - 1) + 2^-k x as a sum and what it lost. */
static inline int v_log1p_fits(double a) {
    return (a >= -0.9999999) & (a <= 1e300);
}
static inline double v_log1p(double a) {
    double k = v_log_reduce(1 + a).k;
    double scale = v_pow2(V_ROUND - k), one = scale - 1, x = scale * a, f = one + x;
    double back = f - one, lost = (one - (f - back)) + (x - back);
    double s = f / (2 + f), near = (1 - s) * (1 - s); /* 1 / (1 + f) within 7 % */
    double y = v_log1p_reduced(f, k * V_LN2_LO + lost * near, k * V_LN2_HI);
    return v_from_bits(f_bits(y) | (f_bits(a) & 0x8000000000000000u));
}
static inline int v_log1p_fitsf(float a) {
    return (a >= -0.9999f) & (a <= 1e37f);
}
static inline float v_log1pf(float a) {
    float k = v_log_reducef(1 + a).k;
    float scale = v_pow2f(V_ROUNDF - k), one = scale - 1, x = scale * a, f = one + x;
    float back = f - one, lost = (one - (f - back)) + (x - back);
    float s = f / (2 + f), near = (1 - s) * (1 - s);
    float y = v_log1p_reducedf(f, k * V_LN2_LOF + lost * near, k * V_LN2_HIF);
    return v_from_bitsf(f_bitsf(y) | (f_bitsf(a) & 0x80000000u));
}

#define V_HALF_PI_1   0x1.921fb5444p+0 /* 37 bits, as the next */
#define V_HALF_PI_2   0x1.68c234c4cp-39
#define V_HALF_PI_3   0x1.98a2e03707345p-77
#define V_INV_HALF_PI 0x1.45f306dc9c883p-1

/* A subnormal sine raises underflow, so it is the library's. */
static inline int v_sin_fits(double a) {
    return (fabs(a) <= 1e5) & ((fabs(a) >= 0x1p-1022) | (a == 0));
}
static inline int v_cos_fits(double a) {
    return fabs(a) <= 1e5;
}
static inline int v_sin_fitsf(float a) {
    return (fabsf(a) <= 1e5f) & ((fabsf(a) >= 0x1p-126f) | (a == 0));
}
static inline int v_cos_fitsf(float a) {
    return fabsf(a) <= 1e5f;
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

/* To float32's precision one polynomial over [-pi/2, pi/2] is enough and cheaper; sines
 * and cosines are then sin(y - k pi), k an integer or half of one. */
#define V_PI_1   (2 * V_HALF_PI_1)
#define V_PI_2   (2 * V_HALF_PI_2)
#define V_INV_PI (0.5 * V_INV_HALF_PI)
static inline double v_sin_polynomialf(double y, double k) {
    double r = (y - k * V_PI_1) - k * V_PI_2, z = r * r;
    double p = -0x1.55554bc5ade58p-3 +
               z * (0x1.110ed30f32454p-7 +
                    z * (-0x1.9f6fe8b973382p-13 + z * 0x1.5dbca42021e2fp-19));
    return r + r * z * p;
}
static inline float v_sinf(float a) {
    double x = (double)a, y = fabs(x), shifted = y * V_INV_PI + V_ROUND;
    double s = v_sin_polynomialf(y, shifted - V_ROUND);
    uint64_t flip = (f_bits(shifted) << 63) ^ (f_bits(x) ^ f_bits(y));
    return (float)v_from_bits(f_bits(s) ^ flip);
}
static inline float v_cosf(float a) {
    double y = fabs((double)a), shifted = (y * V_INV_PI + 0.5) + V_ROUND;
    double s = v_sin_polynomialf(y, (shifted - V_ROUND) - 0.5);
    return (float)v_from_bits(f_bits(s) ^ f_bits(shifted) << 63);
}

#endif
