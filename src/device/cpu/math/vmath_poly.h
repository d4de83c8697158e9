/* CPU device: the constants and polynomials of the vector functions (vmath.h), one set
 * per precision; _D and _F are float64 and float32. Polynomials are minimax
 * (tools/elementary_polynomials.py), z is the square of the reduced argument, and what
 * each computes stands before it. Long ones are split in even and odd terms: two short
 * chains of fused multiply-adds keep the pipes busier than one long one.
 */
#ifndef ASN_DEVICE_CPU_MATH_VMATH_POLY_H
#define ASN_DEVICE_CPU_MATH_VMATH_POLY_H

#include "device/cpu/math/scalar.h"

/* A loop that calls one is not vectorised. */
#define V_FUNCTION static inline __attribute__((always_inline))

V_FUNCTION double v_fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
V_FUNCTION float v_fmaf(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}

#define V_P2(f, x, a, b)                f(b, x, a)
#define V_P3(f, x, a, b, c)             f(V_P2(f, x, b, c), x, a)
#define V_P4(f, x, a, b, c, d)          f(V_P3(f, x, b, c, d), x, a)
#define V_P5(f, x, a, b, c, d, e)       f(V_P4(f, x, b, c, d, e), x, a)
#define V_P6(f, x, a, b, c, d, e, g)    f(V_P5(f, x, b, c, d, e, g), x, a)
#define V_P7(f, x, a, b, c, d, e, g, h) f(V_P6(f, x, b, c, d, e, g, h), x, a)
#define V_P8(f, x, a, ...)              f(V_P7(f, x, __VA_ARGS__), x, a)
#define V_P9(f, x, a, ...)              f(V_P8(f, x, __VA_ARGS__), x, a)
#define V_P10(f, x, a, ...)             f(V_P9(f, x, __VA_ARGS__), x, a)
/* A list of coefficients as arguments. */
#define V_CALL(polynomial, ...) polynomial(__VA_ARGS__)

/* Adding these leaves the nearest integer in the low bits (|a| < 2^51, 2^22). */
#define V_ROUND_D 0x1.8p52
#define V_ROUND_F 0x1.8p23f

/* Sums of two: HI is the constant rounded, LO the rest rounded. */
#define V_LN2_HI_D       0x1.62e42fefa39efp-1
#define V_LN2_LO_D       0x1.abc9e3b39803fp-56
#define V_LN2_HI_F       0x1.62e43p-1f
#define V_LN2_LO_F       -0x1.05c61p-29f
#define V_LOG2_E_D       0x1.71547652b82fep+0
#define V_LOG2_E_LO_D    0x1.777d0ffda0d24p-56
#define V_LOG2_E_F       0x1.715476p+0f
#define V_LOG2_E_LO_F    0x1.4ae0cp-26f
#define V_LOG10_E_D      0x1.bcb7b1526e50ep-2
#define V_LOG10_E_LO_D   0x1.95355baaafad3p-57
#define V_LOG10_E_F      0x1.bcb7b2p-2f
#define V_LOG10_E_LO_F   -0x1.5b235ep-27f
#define V_LOG10_2_D      0x1.34413509f79ffp-2
#define V_LOG10_2_LO_D   -0x1.9dc1da994fd21p-59
#define V_LOG10_2_F      0x1.344136p-2f
#define V_LOG10_2_LO_F   -0x1.ec10cp-27f
#define V_HALF_PI_D      0x1.921fb54442d18p+0
#define V_HALF_PI_LO_D   0x1.1a62633145c07p-54
#define V_HALF_PI_LAST_D -0x1.f1976b7ed8fbcp-110
#define V_HALF_PI_F      0x1.921fb6p+0f
#define V_HALF_PI_LO_F   -0x1.777a5cp-25f
#define V_HALF_PI_LAST_F -0x1.ee59dap-50f
#define V_INV_HALF_PI_D  0x1.45f306dc9c883p-1
#define V_INV_HALF_PI_F  0x1.45f306p-1f
/* 2 / ln2 / 3 */
#define V_LOG2_C1_D    0x1.ec709dc3a03fdp-1
#define V_LOG2_C1_LO_D 0x1.d27f05548af0cp-55
#define V_LOG2_C1_F    0x1.ec709ep-1f
#define V_LOG2_C1_LO_F -0x1.e2fe02p-28f

/* (exp(r) - 1 - r) / r^2, |r| <= ln2 / 2: error 2^-56. */
#define V_EXP_EVEN_D                                                                     \
    0x1.000000000000bp-1, 0x1.5555555550041p-5, 0x1.6c16c185a385ap-10,                   \
        0x1.a019969e6f597p-16, 0x1.28b03ee2bb793p-22
#define V_EXP_ODD_D                                                                      \
    0x1.5555555555561p-3, 0x1.111111110d64ep-7, 0x1.a01a01badb60ep-13,                   \
        0x1.71dddfda9fc09p-19, 0x1.af85715c3f88p-26
#define V_EXP_F                                                                          \
    0x1p-1f, 0x1.555556p-3f, 0x1.55548p-5f, 0x1.11107ep-7f, 0x1.6d967p-10f,              \
        0x1.a1b7e2p-13f
V_FUNCTION double v_exp_poly(double r) {
    double z = r * r;
    double even = V_CALL(V_P5, v_fma, z, V_EXP_EVEN_D);
    return v_fma(V_CALL(V_P5, v_fma, z, V_EXP_ODD_D), r, even);
}
V_FUNCTION float v_exp_polyf(float r) {
    return V_CALL(V_P6, v_fmaf, r, V_EXP_F);
}
/* erf(x) / x - 1, |x| <= 1: error 2^-55, 2^-28. */
V_FUNCTION double v_erf_poly(double z) {
    double x = z * z;
    double even =
        V_P6(v_fma, x, 0x1.06eba8214db68p-3, 0x1.ce2f21a040d16p-4, 0x1.565bccf92b22cp-8,
             0x1.f9a2baa8d85d8p-14, 0x1.b97fd3c481b99p-20, 0x1.d71b0bbe2722cp-27);
    double odd = V_P6(v_fma, x, -0x1.812746b0379bdp-2, -0x1.b82ce311fa936p-6,
                      -0x1.c02db03dd563ap-11, -0x1.f4ca4d6d09df1p-17,
                      -0x1.5c0726720bc97p-23, -0x1.abae3f2b28261p-31);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_erf_polyf(float z) {
    return V_P7(v_fmaf, z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f,
                -0x1.b7f90ep-6f, 0x1.5405b2p-8f, -0x1.a3f7p-11f, 0x1.496a3p-14f);
}
/* log2(erfc(x)), 1 <= x <= V_ERF_ONE: error of erf(x) 2^-59, 2^-29. */
V_FUNCTION double v_erf_power(double x) {
    double z = x * x;
    double even =
        V_P10(v_fma, z, -0x1.166cb5fb7ba74p-22, -0x1.d6407d7f82aa1p-1,
              0x1.c2f3acf3fd4f9p-6, -0x1.4e8599014310fp-9, -0x1.0f66da547641fp-14,
              0x1.107bd04e2b6d2p-14, 0x1.a2debc3a443d2p-18, 0x1.856293129abb2p-23,
              0x1.96abfa6bf039fp-30, 0x1.aa21442aa4619p-40);
    double odd = V_P9(
        v_fma, z, -0x1.a0be5755f8d44p+0, -0x1.2f94bf07fd328p-3, 0x1.a8620b50b95fbp-12,
        0x1.e501e0c925074p-11, -0x1.a9b30139e54b3p-14, -0x1.8fa6d1c7b6344p-16,
        -0x1.495924345619p-20, -0x1.51ad392e657ffp-26, -0x1.303de99b222bbp-34);
    return v_fma(odd, x, even);
}
V_FUNCTION float v_erf_powerf(float x) {
    return V_P7(v_fmaf, x, -0x1.0223cp-11f, -0x1.a044a6p+0f, -0x1.d75ee6p-1f,
                -0x1.30a5dcp-3f, 0x1.021a7ep-5f, -0x1.16b71cp-8f, 0x1.19fb38p-12f);
}
/* exp(x^2) erfc(x) (x + K) of t = (x - K) / (x + K), K = V_ERFC_CENTRE, for 1/2 <= x <=
 * 26.6 (0 <= x <= 9.4): error 2^-53, 2^-25. */
V_FUNCTION double v_erfc_poly(double t) {
    /* Even and odd terms nearly cancel: the first six are added one after the other. */
    double z = t * t;
    double even =
        V_P8(v_fma, z, 0x1.38dbd2c8c6a97p-4, 0x1.908f473b2020ep-8, -0x1.dd285019d369fp-12,
             -0x1.e7cfbb630048bp-19, 0x1.3ae44647bcbep-18, -0x1.c3fe74ab5ea7dp-21,
             0x1.fed4a1fe720ap-24, -0x1.9ad426f8884afp-27);
    double odd =
        V_P7(v_fma, z, -0x1.b00c052c26f63p-6, -0x1.269b526d1b919p-12,
             0x1.72cdac69a4277p-13, -0x1.3c6f722c9ac6cp-16, 0x1.7e6644cd97286p-20,
             -0x1.46c3427ebb376p-24, 0x1.6721eaeadb574p-30);
    return V_P7(v_fma, t, 0x1.18932bf08e154p+0, -0x1.f3fe31ecb49bfp-1,
                0x1.8be202d26c6fep-1, -0x1.14eacb1ad034p-1, 0x1.52cac23710585p-2,
                -0x1.645fd8a4bc0c3p-3, v_fma(odd, t, even));
}
V_FUNCTION float v_erfc_polyf(float t) {
    return V_P10(v_fmaf, t, 0x1.058672p+0f, -0x1.5fd38ep-1f, 0x1.1e2ddap-2f,
                 -0x1.2a7ca6p-5f, -0x1.6059fp-6f, 0x1.a5d8cp-8f, 0x1.905baap-9f,
                 -0x1.7bd03ep-11f, -0x1.1cea3ep-11f, -0x1.d08eecp-15f);
}
/* (2^f - 1 - f ln2) / f^2, |f| <= 1/2 */
V_FUNCTION double v_exp2_poly(double f) {
    double z = f * f;
    double even =
        V_P5(v_fma, z, 0x1.ebfbdff82c5a5p-3, 0x1.3b2ab6fb9ff55p-7, 0x1.4309130f2fbf0p-13,
             0x1.62bfc6cc24db1p-20, 0x1.e61ca95e1cb9cp-28);
    double odd =
        V_P5(v_fma, z, 0x1.c6b08d704a0d7p-5, 0x1.5d87fe78a0e69p-10, 0x1.ffcbfc7c389c4p-17,
             0x1.b524ce03ed51bp-24, 0x1.ea182682cb287p-32);
    return v_fma(odd, f, even);
}
V_FUNCTION float v_exp2_polyf(float f) {
    return V_P5(v_fmaf, f, 0x1.ebfbe0p-3f, 0x1.c6aed0p-5f, 0x1.3b29aap-7f,
                0x1.5f47b0p-10f, 0x1.448fc4p-13f);
}
/* (sinh(r) / r - 1) / z and (cosh(r) - 1) / z, |r| <= ln2 / 2 */
V_FUNCTION double v_sinh_poly(double z) {
    return V_P5(v_fma, z, 0x1.5555555555559p-3, 0x1.111111110f6d3p-7,
                0x1.a01a01afd69abp-13, 0x1.71ddf87867317p-19, 0x1.af5e7eec6ef80p-26);
}
V_FUNCTION double v_cosh_poly(double z) {
    return V_P6(v_fma, z, 0.5, 0x1.555555555555cp-5, 0x1.6c16c16c13f2ap-10,
                0x1.a01a01b17dd19p-16, 0x1.27e4c5049eb5dp-22, 0x1.1f9540a0750cbp-29);
}
V_FUNCTION float v_sinh_polyf(float z) {
    return V_P3(v_fmaf, z, 0x1.555556p-3f, 0x1.1110b2p-7f, 0x1.a16f78p-13f);
}
V_FUNCTION float v_cosh_polyf(float z) {
    return V_P3(v_fmaf, z, 0.5f, 0x1.55547ep-5f, 0x1.6d977ep-10f);
}
/* f - log(1 + f) - minus, 1 + f in [sqrt(1/2), sqrt(2)]. float64: with s = f / (2 + f) it
 * is s (f - R(s^2)), error 2^-58; float32 does without a division. */
V_FUNCTION double v_log_rest(double f, double minus) {
    double s = f / (2 + f), z = s * s, w = z * z;
    double even =
        V_P3(v_fma, w, 0x1.999999997fdbap-2, 0x1.c71c52096bd1bp-3, 0x1.39a1bacfc6493p-3);
    double odd =
        V_P3(v_fma, w, 0x1.24924941f108ap-2, 0x1.74663ee69c148p-3, 0x1.2f056339de214p-3);
    double poly = v_fma(z, v_fma(odd, z, even), 0x1.5555555555592p-1);
    return v_fma(s, v_fma(-z, poly, f), -minus);
}
V_FUNCTION float v_log_restf(float f, float minus) {
    float z = f * f;
    float even = V_P5(v_fmaf, z, 0x1.fffff8p-2f, 0x1.0003fep-2f, 0x1.543242p-3f,
                      0x1.0e8436p-3f, 0x1.407204p-4f);
    float odd = V_P4(v_fmaf, z, -0x1.555544p-2f, -0x1.99a968p-3f, -0x1.22115cp-3f,
                     -0x1.0a56e2p-3f);
    return v_fmaf(z, v_fmaf(odd, f, even), -minus);
}
/* (atanh(s) / s - 1) / z, |s| <= 0.2035 */
V_FUNCTION double v_atanh_poly(double z) {
    double w = z * z;
    double even = V_P4(v_fma, w, 0x1.555555555554dp-2, 0x1.249249214cddfp-3,
                       0x1.745c2d6e10246p-4, 0x1.0d8fb927015cep-4);
    double odd = V_P4(v_fma, w, 0x1.999999999cbe1p-3, 0x1.c71c751147ef8p-4,
                      0x1.3b3967f47a9b9p-4, 0x1.1d0d2a02a27e0p-4);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_atanh_polyf(float z) {
    return V_P3(v_fmaf, z, 0x1.5555bep-2f, 0x1.992312p-3f, 0x1.378dfp-3f);
}
/* Q of log2((1 + s) / (1 - s)) = s (C0 + C1 z + z^2 Q(z)), C0 = 2 / ln2, C1 = C0 / 3;
 * the same interval. */
V_FUNCTION double v_log2_poly(double z) {
    double w = z * z;
    double even = V_P4(v_fma, w, 0x1.2776c50ef9d24p-1, 0x1.484b142182fc9p-2,
                       0x1.c69f8931daecep-3, 0x1.85e68a5170d1bp-3);
    double odd =
        V_P3(v_fma, w, 0x1.a61762a759a29p-2, 0x1.0c9a63de8ec4fp-2, 0x1.87b106fe51e2bp-3);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_log2_polyf(float z) {
    return V_P3(v_fmaf, z, 0x1.27770ep-1f, 0x1.a5bb8p-2f, 0x1.59f7ap-2f);
}
/* (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z^2, |r| <= pi / 4 */
V_FUNCTION double v_sin_poly(double z) {
    return V_P6(v_fma, z, -0x1.5555555555549p-3, 0x1.111111110f879p-7,
                -0x1.a01a019c115dep-13, 0x1.71de357781442p-19, -0x1.ae5e660f6eca7p-26,
                0x1.5d92f4180fd46p-33);
}
V_FUNCTION double v_cos_poly(double z) {
    return V_P6(v_fma, z, 0x1.555555555554cp-5, -0x1.6c16c16c1517cp-10,
                0x1.a01a019cb18e0p-16, -0x1.27e4f809cca01p-22, 0x1.1ee9ebcfb2d74p-29,
                -0x1.8fae8ec55e861p-37);
}
V_FUNCTION float v_sin_polyf(float z) {
    return V_P3(v_fmaf, z, -0x1.555546p-3f, 0x1.11073ap-7f, -0x1.99437p-13f);
}
V_FUNCTION float v_cos_polyf(float z) {
    return V_P3(v_fmaf, z, 0x1.55554ap-5f, -0x1.6c0c8ap-10f, 0x1.9a01f6p-16f);
}
/* (tan(r) / r - 1) / z, |r| <= pi / 4 */
V_FUNCTION double v_tan_poly(double z) {
    double w = z * z;
    double even = V_P7(v_fma, w, 0x1.55555555554f1p-2, 0x1.ba1ba1b464b55p-5,
                       0x1.226e123a1edadp-7, 0x1.7d5b27eae4abap-10, 0x1.d25d03c42046bp-13,
                       -0x1.bab99a5b5401dp-16, -0x1.78769f154167cp-15);
    double odd = V_P7(v_fma, w, 0x1.1111111118372p-3, 0x1.664f49a99e110p-6,
                      0x1.d6d9382649165p-9, 0x1.37fc3e695d7b8p-11, 0x1.1e51509a56347p-13,
                      0x1.773340d8f3902p-14, 0x1.5e088100c0f71p-16);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_tan_polyf(float z) {
    return V_P6(v_fmaf, z, 0x1.5554d2p-2f, 0x1.11309p-3f, 0x1.b52c66p-5f, 0x1.92f336p-6f,
                0x1.76125cp-9f, 0x1.38c082p-7f);
}
/* (atan(t) / t - 1) / z, |t| <= 1/2 */
V_FUNCTION double v_atan_poly(double z) {
    double w = z * z;
    double even =
        V_P7(v_fma, w, -0x1.5555555555552p-2, -0x1.2492492450083p-3,
             -0x1.745d1375429b1p-4, -0x1.110c5f6940832p-4, -0x1.ac6d48a8cb982p-5,
             -0x1.2ff1920b4b738p-5, -0x1.11b2097deb4f5p-7);
    double odd =
        V_P6(v_fma, w, 0x1.9999999999021p-3, 0x1.c71c71a9e01d6p-4, 0x1.3b135f0f3063ep-4,
             0x1.e181cd38c88c0p-5, 0x1.77e914e13c3bfp-5, 0x1.8334157d2e1f5p-6);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_atan_polyf(float z) {
    return V_P5(v_fmaf, z, -0x1.555512p-2f, 0x1.997b54p-3f, -0x1.224de2p-3f,
                0x1.a02784p-4f, -0x1.a47676p-5f);
}
/* (asin(t) / t - 1) / z, |t| <= 1/2 */
V_FUNCTION double v_asin_poly(double z) {
    double w = z * z;
    double even = V_P7(v_fma, w, 0x1.5555555555577p-3, 0x1.6db6db72143bdp-5,
                       0x1.6e8bdeee4d54dp-6, 0x1.ca1fa0761e349p-7, 0x1.613f70e8ee311p-7,
                       0x1.63a8186335b5ep-6, 0x1.0b4b5b07ebcf0p-5);
    double odd =
        V_P6(v_fma, w, 0x1.333333332e100p-4, 0x1.f1c71a945fdf8p-6, 0x1.1c49ef7c62130p-6,
             0x1.7584faf9afba6p-7, 0x1.e5ccbfa6f0e82p-9, -0x1.580d0c9a7819bp-6);
    return v_fma(odd, z, even);
}
V_FUNCTION float v_asin_polyf(float z) {
    return V_P5(v_fmaf, z, 0x1.5555c8p-3f, 0x1.3301e4p-4f, 0x1.747e48p-5f, 0x1.8c284ep-6f,
                0x1.596d1ep-5f);
}
/* ((1 - r)^(-2/3) - 1) / r, -0.1208 <= r <= 0.1134; float64: -4e-5 <= r <= 1e-4, error
 * 2^-59 */
V_FUNCTION double v_cbrt_poly(double r) {
    return V_P3(v_fma, r, 0x1.555555555527ep-1, 0x1.1c71c71ba95dap-1,
                0x1.f9bbabbca5f1ep-2);
}
V_FUNCTION float v_cbrt_polyf(float r) {
    return V_P6(v_fmaf, r, 0x1.555558p-1f, 0x1.1c71bep-1f, 0x1.f99db6p-2f, 0x1.cf9744p-2f,
                0x1.b9f388p-2f, 0x1.9a3afp-2f);
}
/* ((1 - r)^(-1/3) - 1) / r in the wider interval: error 2^-17.7 */
V_FUNCTION double v_cbrt_near(double r) {
    return V_P3(v_fma, r, 0x1.5555f5c933976p-2, 0x1.ca77afeb07a82p-3,
                0x1.62915784f3cdfp-3);
}
V_FUNCTION float v_cbrt_nearf(float r) {
    return r; /* not needed */
}

#endif
