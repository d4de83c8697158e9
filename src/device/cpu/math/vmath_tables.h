/* CPU device: tables of the vector functions that have some (vmath_power.inc,
 * vmath_tanh.inc), and power's polynomials as macros, for numbers and for vectors.
 * tools/elementary_polynomials.py prints them.
 */
#ifndef ASN_DEVICE_CPU_MATH_VMATH_TABLES_H
#define ASN_DEVICE_CPU_MATH_VMATH_TABLES_H

#include "device/cpu/math/vmath_poly.h"

/* 49/64, where the first of the 16 cells begins, as bits. */
#define V_POWER_FIRST_D 0x3fe8800000000000u
#define V_POWER_FIRST_F 0x3f440000u
#define V_BIT_D         0x1p-52
#define V_BIT_F         0x1p-23f

/* Of each cell: the factor c, and -ln(c) in two parts. The first parts of it and of ln2
 * are multiples of 2^-42 (float32: 2^-16), so that with k below 2^10 (2^7) sums are
 * exact; k comes as k 2^52 (2^23), and ln2 divided by that. c has so few bits that m c -
 * 1 is exact. */
#define V_LN2_TOP_D  0x1.62e42fefa38p-53
#define V_LN2_REST_D 0x1.ef35793c7673p-97
static const _Alignas(64) double v_pow_factor_D[16] = {
    0x1.48p+0, 0x1.38p+0, 0x1.3p+0, 0x1.28p+0, 0x1.18p+0, 0x1.1p+0, 0x1.08p+0, 0x1p+0,
    0x1.ep-1,  0x1.c8p-1, 0x1.bp-1, 0x1.98p-1, 0x1.88p-1, 0x1.7p-1, 0x1.6p-1,  0x1.58p-1};
static const _Alignas(64) double v_pow_high_D[16] = {
    -0x1.fb9186d5e4p-3, -0x1.9525a9cf46p-3, -0x1.5ff3070a7ap-3, -0x1.29552f82p-3,
    -0x1.6f0d28ae58p-4, -0x1.f0a30c0118p-5, -0x1.f829b0e78p-6,  0x0p+0,
    0x1.08598b59e4p-4,  0x1.da72763844p-4,  0x1.5bf406b544p-3,  0x1.d1037f2656p-3,
    0x1.1178e8227ep-2,  0x1.522ae0738ap-2,  0x1.7fafa3bd81p-2,  0x1.973a343135p-2};
static const _Alignas(64) double v_pow_low_D[16] = {
    0x1.d572aab993c87p-47,  0x1.297137d9f158fp-44,
    0x1.8586f183bebf2p-44,  0x1.5b967f4471dfcp-44,
    0x1.4b4641b664613p-44,  0x1.d599e83368e91p-45,
    -0x1.980267c7e09e4p-45, 0x0p+0,
    -0x1.7e5dd7009902cp-46, 0x1.a89401fa71733p-46,
    -0x1.27023eb68981cp-46, -0x1.84a7e75b6f6e4p-47,
    0x1.1ef78ce2d07f2p-44,  0x1.ebe708164c759p-45,
    0x1.46fb79bf6d4cbp-44,  0x1.ab73b16bf4984p-44};
#define V_LN2_TOP_F  0x1.62e4p-24f
#define V_LN2_REST_F 0x1.7f7d1cp-43f
static const _Alignas(64) float v_pow_factor_F[16] = {
    0x1.48p+0f, 0x1.38p+0f, 0x1.3p+0f, 0x1.28p+0f, 0x1.18p+0f, 0x1.1p+0f,
    0x1.08p+0f, 0x1p+0f,    0x1.ep-1f, 0x1.c8p-1f, 0x1.bp-1f,  0x1.98p-1f,
    0x1.88p-1f, 0x1.7p-1f,  0x1.6p-1f, 0x1.58p-1f};
static const _Alignas(64) float v_pow_high_F[16] = {
    -0x1.fb9p-3f, -0x1.9528p-3f, -0x1.5ffp-3f, -0x1.2958p-3f, -0x1.6f1p-4f, -0x1.f0ap-5f,
    -0x1.f84p-6f, 0x0p+0f,       0x1.086p-4f,  0x1.da7p-4f,   0x1.5bf8p-3f, 0x1.d1p-3f,
    0x1.1178p-2f, 0x1.522cp-2f,  0x1.7fbp-2f,  0x1.973cp-2f};
static const _Alignas(64) float v_pow_low_F[16] = {
    -0x1.86d5e4p-19f, 0x1.2b185ep-18f,  -0x1.83853cp-18f, 0x1.683fp-18f,
    0x1.6ba8d4p-19f,  -0x1.86008cp-20f, 0x1.64f188p-18f,  0x0p+0f,
    -0x1.9d2988p-18f, 0x1.3b1c22p-19f,  -0x1.fca55ep-18f, 0x1.bf932ap-18f,
    0x1.d044fcp-19f,  -0x1.1f8c76p-18f, -0x1.7109fap-20f, -0x1.cbcecap-18f};

/* (log(1 + r) - r + r^2 / 2) / r^3, |r| < 0.0342: error of the logarithm 2^-66.7,
 * 2^-36.7; for float64 without its first term, a third. */
#define V_POWER_THIRD_D 0x1.5555555555555p-2
#define V_POWER_EVEN_D                                                                   \
    0x1.99999999990e3p-3, 0x1.2492492ca39f9p-3, 0x1.c71c0b2d160fep-4, 0x1.7583fe895af64p-4
#define V_POWER_ODD_D                                                                    \
    -0x1.ffffffffffd9ep-3, -0x1.555555595d5fcp-3, -0x1.ffffb7983bad4p-4,                 \
        -0x1.9aa2be562715p-4
#define V_POWER_F 0x1.55555p-2f, -0x1.fffffp-3f, 0x1.9a1368p-3f, -0x1.55da3ap-3f

/* tanh of float32: of each cell the centre, and the coefficients, lowest first. */
static const _Alignas(64) float v_tanh_cells[8][16] = {
    {0x1.3ff58p+0f, 0x1.c003cp+0f, 0x1.1ff808p+1f, 0x1.5fe758p+1f, 0x1.bffdcp+1f,
     0x1.1fed18p+2f, 0x1.5fe8cp+2f, 0x1.9fef28p+2f, 0x1.ffd5dp+2f, 0x0p+0f, 0x0p+0f,
     0x0p+0f, 0x0p+0f, 0x1.7ff22p-2f, 0x1.4003d8p-1f, 0x1.bfff6p-1f},
    {0x1.b24c58p-1f, 0x1.e1fcd4p-1f, 0x1.f4be74p-1f, 0x1.fbd37p-1f, 0x1.ff1124p-1f,
     0x1.ffdf94p-1f, 0x1.fffb9cp-1f, 0x1.ffff68p-1f, 0x1.fffff8p-1f, 0x1p+0f, 0x1p+0f,
     0x1p+0f, 0x0p+0f, 0x1.6ee926p-2f, 0x1.1bf728p-1f, 0x1.6866p-1f},
    {0x1.1f3906p-2f, 0x1.d21fbap-4f, 0x1.643be8p-5f, 0x1.0a0d4p-6f, 0x1.dd4adap-9f,
     0x1.03593p-11f, 0x1.190042p-14f, 0x1.30017cp-17f, 0x1.e6846cp-22f, 0x0p+0f, 0x0p+0f,
     0x0p+0f, 0x1p+0f, 0x1.be441p-1f, 0x1.6281dp-1f, 0x1.02507cp-1f},
    {-0x1.e74464p-3f, -0x1.b6ccf2p-4f, -0x1.5c66fep-5f, -0x1.07e1fap-6f, -0x1.dc6b6p-9f,
     -0x1.034842p-11f, -0x1.18fd48p-14f, -0x1.300092p-17f, -0x1.e65112p-22f, 0x0p+0f,
     0x0p+0f, 0x0p+0f, -0x1.24d582p-20f, -0x1.3fcddep-2f, -0x1.893bc6p-2f,
     -0x1.6ba81cp-2f},
    {0x1.bbbc8ep-4f, 0x1.01bb3ep-4f, 0x1.bc0094p-6f, 0x1.5a155p-7f, 0x1.3c2868p-9f,
     0x1.592d6cp-12f, 0x1.763af2p-15f, 0x1.94e6f2p-18f, 0x1.3e2734p-22f, 0x0p+0f, 0x0p+0f,
     0x0p+0f, -0x1.5544dap-2f, -0x1.6dd906p-3f, -0x1.23fcacp-6f, 0x1.4f118cp-4f},
    {-0x1.9be522p-7f, -0x1.816b98p-6f, -0x1.93f716p-7f, -0x1.4eb46ap-8f, -0x1.39eb02p-10f,
     -0x1.58ea8ap-13f, -0x1.76459ap-16f, -0x1.94fb22p-19f, -0x1.3f20bcp-23f, 0x0p+0f,
     0x0p+0f, 0x0p+0f, -0x1.356aep-10f, 0x1.5847dcp-3f, 0x1.1a6838p-3f, 0x1.f2111p-5f},
    {-0x1.42d6c8p-6f, 0x1.c8bcaap-9f, 0x1.04b58cp-8f, 0x1.f699d6p-10f, 0x1.011342p-11f,
     0x1.1f142ap-14f, 0x1.382ff4p-17f, 0x1.51e8d8p-20f, 0x1.30ed5ep-24f, 0x0p+0f, 0x0p+0f,
     0x0p+0f, 0x1.25009ep-3f, 0x1.37b07ap-6f, -0x1.bd37dcp-5f, -0x1.dfa6c2p-5f},
    {0x1.eeec1cp-7f, 0x1.13f182p-9f, -0x1.774e26p-11f, -0x1.1e0b14p-11f, -0x1.4ab03ep-13f,
     -0x1.7b6aa2p-16f, -0x1.9df72ep-19f, -0x1.c0a384p-22f, -0x1.9156p-26f, 0x0p+0f,
     0x0p+0f, 0x0p+0f, -0x1.2eaf8ap-5f, -0x1.1b06a2p-4f, -0x1.8ebe8ap-6f,
     0x1.a5a48ep-7f}};

#endif
