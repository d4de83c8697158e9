/* CPU device: elementary functions that the compiler's vectoriser turns into vector code.
 *
 * Each function is a set of branch-free C functions, written once for both precisions
 * (the vmath_*.inc templates, by family):
 *
 *     v_<f>_outside(a)  cheap: its sign bit is set where core does not do, or where the
 *                       result raises an exception
 *     v_<f>_core(a)     the result elsewhere: no special values, no ends of ranges
 *     v_<f>(a)          the result, special values included
 *     v_<f>_marks(a)    where a is outside: the exceptions (FE_...) that the result
 *                       raises, or V_LIBRARY, an argument that the C library must take
 *
 * The block loop (vmath.inc) runs core; where an element was outside it computes the
 * block again in full, raises what the marks say, drops what the vector arithmetic raised
 * by the way and gives V_LIBRARY's elements to the library. The JIT runs core, and leaves
 * blocks with an element outside to that loop. So nothing here minds exceptions. A
 * subnormal argument that is its own result raises none (the C library: underflow).
 *
 * Every multiplication whose product is added to is fused on purpose (v_fma), and nothing
 * else is (-ffp-contract=off): the bits are the same on every instruction set that has a
 * fused multiply-add. Tables are read by power and float32's tanh alone, which are
 * spelled out for whole vectors (vmath_wide.h). One that has none (baseline x86-64)
 * calls the C library for these rows. Measured errors and speeds are in
 * docs/design/0004-elementary-functions.md.
 *
 * Parameters of the templates: R the type, B and S the unsigned and signed integers of
 * its width, DIGITS of its fraction, BIAS of its exponent, SIGN_BIT, F(name) the suffix,
 * K(constant) the constant of the precision.
 */
#ifndef ASN_DEVICE_CPU_MATH_VMATH_H
#define ASN_DEVICE_CPU_MATH_VMATH_H

#include <float.h>

#include "device/cpu/math/scalar.h"

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define ASN_VMATH 1
#include "device/cpu/math/vmath_poly.h"
#include "device/cpu/math/vmath_tables.h"

enum {
    ASN_VMATH_BLOCK = 8192, /* bytes: operands and a copy stay in L1 */
    V_LIBRARY = 0x1000      /* beside the values FE_... */
};

V_FUNCTION double v_from_bits(uint64_t u) {
    double a;
    memcpy(&a, &u, sizeof a);
    return a;
}
V_FUNCTION float v_from_bitsf(uint32_t u) {
    float a;
    memcpy(&a, &u, sizeof a);
    return a;
}
/* The power of two that a biased exponent stands for. */
V_FUNCTION double v_from_exponent(uint64_t e) {
    return v_from_bits(0x4330000000000000u | e) - (0x1p52 + 1023);
}
V_FUNCTION float v_from_exponentf(uint32_t e) {
    return (float)(int32_t)(e - 127u);
}

/* Of seven bits, nearly (the number of these bits)^(-1/3). The bits, in units of 2^46
 * (2^17), go through a product that leaves a whole number in the low bits. */
V_FUNCTION double v_cbrt_guess(uint64_t u) {
    double number = v_from_bits(u >> 32 | 0x4330000000000000u); /* 2^52 too many */
    double third = v_fma(number, -0x1.5555555555555p-16, 0x1.800155556aa51p+52);
    uint64_t bits;
    memcpy(&bits, &third, sizeof bits);
    return v_from_bits(bits << 46);
}
V_FUNCTION float v_cbrt_guessf(uint32_t u) {
    float third = v_fmaf((float)(int32_t)u, -0x1.555556p-19f, 0x1.8054a2p+23f);
    uint32_t bits;
    memcpy(&bits, &third, sizeof bits);
    return v_from_bitsf(bits << 17);
}

/* What vmath_power.inc needs of a number: itself, a signed integer as a number, the
 * smaller of two, the entry of a table. */
V_FUNCTION double v_all(double a) {
    return a;
}
V_FUNCTION float v_allf(float a) {
    return a;
}
V_FUNCTION double v_multiple(uint64_t u) { /* of 2^32, which AVX2 converts */
    return (double)(int32_t)(u >> 32) * 0x1p32;
}
V_FUNCTION float v_multiplef(uint32_t u) {
    return (float)(int32_t)u;
}
V_FUNCTION double v_number(uint64_t u) {
    return (double)(int64_t)u;
}
V_FUNCTION float v_numberf(uint32_t u) {
    return (float)(int32_t)u;
}
V_FUNCTION double v_least(double a, double b) {
    return a < b ? a : b;
}
V_FUNCTION float v_leastf(float a, float b) {
    return a < b ? a : b;
}
V_FUNCTION double v_entry(const double *table, uint64_t cell) {
    return table[cell & 15];
}
V_FUNCTION float v_entryf(const float *table, uint32_t cell) {
    return table[cell & 15];
}

/* exp: results are normal between LOW and HIGH, LEAST rounds to zero, SAFE is inside. */
#define V_EXP_SAFE_D    708.0
#define V_EXP_LOW_D     -0x1.6232bdd7abcd2p+9
#define V_EXP_HIGH_D    0x1.62e42fefa39efp+9
#define V_EXP_LEAST_D   -0x1.74910d52d3051p+9
#define V_EXP_SAFE_F    87.0f
#define V_EXP_LOW_F     -0x1.5d589ep+6f
#define V_EXP_HIGH_F    0x1.62e42ep+6f
#define V_EXP_LEAST_F   -0x1.9fe368p+6f
#define V_EXP2_HIGH_D   0x1.fffffffffffffp+9
#define V_EXP2_HIGH_F   0x1.fffffep+6f
#define V_EXPM1_SAFE_D  709.0
#define V_EXPM1_SAFE_F  88.0f
#define V_COSH_HIGH_D   0x1.633ce8fb9f87dp+9 /* the last whose cosh is finite */
#define V_COSH_HIGH_F   0x1.65a9f8p+6f
#define V_COSH_SAFE_D   706.0 /* 2^-k is normal */
#define V_COSH_SAFE_F   85.0f
#define V_COSH_ALONE_D  30.0 /* e^-2x is nothing beside 1 */
#define V_COSH_ALONE_F  15.0f
#define V_ERF_ONE_D     6.0 /* beyond, results round to 1 */
#define V_ERF_ONE_F     4.0f
#define V_ERFC_NEAR_D   0.5
#define V_ERFC_NEAR_F   0.0f
#define V_ERFC_CENTRE_D 4.0
#define V_ERFC_CENTRE_F 2.0f
#define V_ERFC_SAFE_D   26.0 /* results and e^-x^2 are normal */
#define V_ERFC_SAFE_F   9.0f
#define V_ERFC_LEAST_D  27.3 /* beyond, results round to zero */
#define V_ERFC_LEAST_F  10.2f
#define V_MIN_D         0x1p-1022
#define V_MIN_F         0x1p-126f
#define V_MAX_D         DBL_MAX
#define V_MAX_F         FLT_MAX
#define V_BELOW_1_D     0x1.fffffffffffffp-1
#define V_BELOW_1_F     0x1.fffffep-1f
#define V_HUGE_D        1e300
#define V_HUGE_F        1e37f
#define V_MODERATE_D    0x1p510
#define V_MODERATE_F    0x1p62f
#define V_SQUARE_D      0x1p450
#define V_SQUARE_F      0x1p50f
#define V_WIDE_D        0x1p30 /* 1 is nothing beside its square */
#define V_WIDE_LOG2_D   30
#define V_WIDE_F        0x1p14f
#define V_WIDE_LOG2_F   14
#define V_WHOLE_D       0x1p53
#define V_WHOLE_F       0x1p24f
#define V_EVEN_D        0x1p51 /* below, V_ROUND shows whether a number is odd */
#define V_EVEN_F        0x1p22f
#define V_ATAN_NEAR_D   0.5
#define V_ATAN_NEAR_F   0.5f
#define V_ATAN_FAR_D    2.0
#define V_ATAN_FAR_F    2.0f
#define V_ANGLE_D       1e9
#define V_ANGLE_F       1e5f

#define R             double
#define B             uint64_t
#define S             int64_t
#define DIGITS        52
#define BIAS          1023
#define SIGN_BIT      63
#define E             double
#define EB            uint64_t
#define V_ROOT        0x3fe6a09e667f3bcdu /* bits of sqrt(1/2) */
#define V_POWER_FIRST V_POWER_FIRST_D
#define F(name)       name
#define K(name)       name##_D
#include "device/cpu/math/vmath_range.inc"
#include "device/cpu/math/vmath_exp.inc"
#include "device/cpu/math/vmath_erf.inc"
#include "device/cpu/math/vmath_log.inc"
#include "device/cpu/math/vmath_trig.inc"
#include "device/cpu/math/vmath_arc.inc"
#include "device/cpu/math/vmath_power.inc"
#include "device/cpu/math/vmath_power_ends.inc"
#include "device/cpu/math/vmath_root.inc"
#include "device/cpu/math/vmath_divide.inc"
#undef R
#undef B
#undef S
#undef DIGITS
#undef BIAS
#undef SIGN_BIT
#undef V_ROOT
#undef E
#undef EB
#undef V_POWER_FIRST
#undef F
#undef K

#define R             float
#define B             uint32_t
#define S             int32_t
#define DIGITS        23
#define BIAS          127
#define SIGN_BIT      31
#define E             float
#define EB            uint32_t
#define V_ROOT        0x3f3504f3u
#define V_POWER_FIRST V_POWER_FIRST_F
#define F(name)       name##f
#define K(name)       name##_F
#include "device/cpu/math/vmath_range.inc"
#include "device/cpu/math/vmath_exp.inc"
#include "device/cpu/math/vmath_erf.inc"
#include "device/cpu/math/vmath_log.inc"
#include "device/cpu/math/vmath_trig.inc"
#include "device/cpu/math/vmath_arc.inc"
#include "device/cpu/math/vmath_power.inc"
#include "device/cpu/math/vmath_power_ends.inc"
#include "device/cpu/math/vmath_root.inc"
#include "device/cpu/math/vmath_tanh.inc"
#include "device/cpu/math/vmath_divide.inc"
#undef R
#undef B
#undef S
#undef DIGITS
#undef BIAS
#undef SIGN_BIT
#undef V_ROOT
#undef E
#undef EB
#undef V_POWER_FIRST
#undef F
#undef K

#include "device/cpu/math/vmath_wide.h"

/* e^2y is finite */
V_FUNCTION uint64_t v_tanh_outside(double a) {
    return v_above(a, 350);
}
V_FUNCTION uint64_t v_tanh_marks(double a) {
    (void)a;
    return 0;
}
V_FUNCTION double v_tanh_core(double a) {
    double y = 2 * fabs(a);
    v_exp_reduced x = v_exp_reduce(y);
    double scale = v_pow2(x.shifted), head = v_fma(scale, x.r, scale - 1);
    double tail = scale * (x.r * x.r) * v_exp_poly(x.r), e = head + tail;
    bool far = y > 2; /* there 1 - 2 / (E + 2) */
    double q = (far ? 2 : e) / (e + 2), p = 1 - q;
    /* E - q (E + 2), and 1 / (E + 2) = p / 2 */
    double rest = v_fma((head - e) + tail, p, v_fma(-q, e, v_fma(-2, q, e)));
    return copysign(far ? p : v_fma(rest, 0.5 * p, q), a);
}
V_FUNCTION double v_tanh(double a) {
    return fabs(a) > 20 ? copysign(1, a) : v_tanh_core(a);
}
V_FUNCTION uint32_t v_tanh_marksf(float a) {
    (void)a;
    return 0;
}
V_FUNCTION float v_tanhf(float a) {
    return v_tanh_coref(a);
}

#endif
#endif
