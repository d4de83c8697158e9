/* The elementary functions of the CPU device against wider arithmetic of the C library.
 *
 * float32 loops are compared with the library's float64 functions, float64 loops with its
 * long double ones where those are 64 bits or more wide: the error is measured in units
 * in the last place of the true value and held to the bound of the operation's row.
 * Special values and floating-point conditions must be the C library's own. With the
 * argument "full" (and, if wanted, the name of an operation) every float32 is tried, a
 * minute each.
 */
#include "check.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

#include "base/dtype.h"
#include "base/half.h"
#include "device/cpu/fpflags.h"
#include "base/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/math/scalar.h"

enum { COUNT = 1000 };

typedef struct {
    asn_op op;
    float (*f32)(float);
    double (*f64)(double);
    long double (*wide)(long double);
    double bound32, bound64; /* ULP, of the C library's too: without FMA these are its */
    double low, high;        /* of the arguments that random points favour */
} function;

static const function functions[] = {
    {ASN_OP_EXP, expf, exp, expl, 1, 1.1, -745, 710},
    {ASN_OP_LOG, logf, log, logl, 1.1, 1, 0.5, 2},
    {ASN_OP_EXP2, exp2f, exp2, exp2l, 1, 1.1, -1075, 1025},
    {ASN_OP_EXPM1, expm1f, expm1, expm1l, 1.3, 1.5, -40, 710},
    {ASN_OP_LOG2, log2f, log2, log2l, 1.4, 1.2, 0.5, 2},
    {ASN_OP_LOG10, log10f, log10, log10l, 2, 1.6, 0.5, 2},
    {ASN_OP_LOG1P, log1pf, log1p, log1pl, 1.1, 1, -1, 2},
    {ASN_OP_SIN, sinf, sin, sinl, 1.4, 1, -1e5, 1e5},
    {ASN_OP_COS, cosf, cos, cosl, 1.4, 1, -1e5, 1e5},
    {ASN_OP_TAN, tanf, tan, tanl, 2.5, 2, -1e5, 1e5},
    {ASN_OP_ARCSIN, asinf, asin, asinl, 2, 2, -1, 1},
    {ASN_OP_ARCCOS, acosf, acos, acosl, 1.5, 1.5, -1, 1},
    {ASN_OP_ARCTAN, atanf, atan, atanl, 2, 2, -5, 5},
    {ASN_OP_SINH, sinhf, sinh, sinhl, 2, 2.5, -711, 711},
    {ASN_OP_COSH, coshf, cosh, coshl, 2, 2, -711, 711},
    {ASN_OP_TANH, tanhf, tanh, tanhl, 2.1, 2.1, -22, 22},
    {ASN_OP_ARCSINH, asinhf, asinh, asinhl, 3, 3, -5, 5},
    {ASN_OP_ARCCOSH, acoshf, acosh, acoshl, 3, 3, 1, 5},
    {ASN_OP_ARCTANH, atanhf, atanh, atanhl, 2, 2, -1, 1},
    {ASN_OP_CBRT, cbrtf, cbrt, cbrtl, 1, 3.5, -100, 100},
    {ASN_OP_ERF, erff, erf, erfl, 2, 2, -6, 6},
    {ASN_OP_ERFC, erfcf, erfc, erfcl, 4, 4, -6, 26.5},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double ulp_of(double x, int digits, int min_exp) {
    int e;
    (void)frexp(x, &e);
    if (x == 0 || e < min_exp) e = min_exp;
    return ldexp(1, e - digits);
}

static double error64(double got, long double want) {
    if (isnan(got) && isnan(want)) return 0;
    if (got == (double)want && !isfinite(got)) return 0;
    return (double)fabsl(got - want) / ulp_of((double)want, 53, -1021);
}

static double error32(float got, double want) {
    if (isnan(got) && isnan(want)) return 0;
    if (got == (float)want && !isfinite(got)) return 0;
    return fabs(got - want) / ulp_of(want, 24, -125);
}

static double from_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The vectors' sinh promises more than the library's. */
static double bound(asn_op op, double any) {
    return op == ASN_OP_SINH && asn_cpu_isa() >= ASN_ISA_AVX2 ? 1 : any;
}

/* Any double; one in the favoured range; one by exponent near 0; one beside k pi / 2. */
static double point(const function *f) {
    switch (random_below(4)) {
    case 0: return from_bits(random_u64());
    case 1: return f->low + (f->high - f->low) * random_unit();
    case 2: return (random_unit() - 0.5) * ldexp(1, -(int)random_below(60));
    default: {
        double x = (double)random_below(64000) * 1.5707963267948966;
        return x + (double)(random_below(9) - 4) * ulp_of(x, 53, -1021);
    }
    }
}

static void test_f64(const function *f, int rounds) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    double in[COUNT], out[COUNT], worst = 0, at = 0;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = point(f);
        loop(COUNT, out, in, NULL, NULL);
        for (int i = 0; i < COUNT; i++) {
            double e = error64(out[i], f->wide(in[i]));
            if (!(e <= worst)) worst = e, at = in[i];
        }
    }
    printf("%-6s float64 %.3f ULP at %a\n", asn_op_table[f->op].name, worst, at);
    if (LDBL_MANT_DIG > 53) CHECK(worst <= bound(f->op, f->bound64), "float64 error");
}

/* Every step-th float32. */
static void test_f32(const function *f, uint64_t step) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F32];
    float in[COUNT], out[COUNT], at = 0;
    double worst = 0;
    for (uint64_t u = 0; u < (uint64_t)1 << 32;) {
        for (int i = 0; i < COUNT; i++, u += step) {
            uint32_t bits = (uint32_t)u;
            memcpy(in + i, &bits, sizeof bits);
        }
        loop(COUNT, out, in, NULL, NULL);
        for (int i = 0; i < COUNT; i++) {
            double want = f->f64((double)in[i]);
            if (out[i] == (float)want) continue; /* at most half a unit */
            double e = error32(out[i], want);
            if (!(e <= worst)) worst = e, at = in[i];
        }
    }
    printf("%-6s float32 %.3f ULP at %a\n", asn_op_table[f->op].name, worst, (double)at);
    CHECK(worst <= bound(f->op, f->bound32), "float32 error");
}

static const double specials[] = {0.0,     -0.0,   1.0,     -1.0,     INFINITY, -INFINITY,
                                  NAN,     1e-320, -1e-320, 1e-200,   -1e-200,  1000.0,
                                  -1000.0, 709.79, -708.5,  -745.0,   -746.0,   1e22,
                                  -1e22,   1e300,  1e5,     100000.1, 0x1p-149, 88.8,
                                  -103.0,  -87.5,  3e38,    -1e38};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* The underflow of a subnormal result that is the argument itself, and so exact, is not
 * reported, nor by NumPy. */
static bool loose(asn_op op, double x) {
    return fabs(x) < FLT_MIN && op != ASN_OP_LOG && op != ASN_OP_CBRT;
}

static bool same_sign(double a, double b) {
    return isnan(a) ? isnan(b) : !signbit(a) == !signbit(b);
}

/* Each alone and among ordinary elements, written elsewhere and in place. */
static void test_specials(const function *f) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    asnd_ew_fn loopf = asn_kernels_get()->ew[f->op][ASN_F32];
    for (int s = 0; s < SPECIALS * 8; s++) {
        double in[77], x = specials[s / 8];
        float inf[77], xf = (float)x;
        int at = s & 1 ? 76 : 3, n = s & 2 ? 77 : 1;
        if (n == 1) at = 0;
        for (int i = 0; i < 77; i++)
            inf[i] = (float)(in[i] = f->op == ASN_OP_ARCCOSH ? 1.5 : 0.5);
        in[at] = x, inf[at] = xf;
        asn_fp_clear();
        double want = f->f64(x), got[77];
        uint32_t expected = asn_fp_exceptions();
        asn_fp_clear();
        loop(n, s & 4 ? in : got, in, NULL, NULL);
        CHECK(asn_fp_exceptions() == expected || loose(f->op, x), "float64 conditions");
        if (s & 4) got[at] = in[at];
        CHECK(error64(got[at], want) <= f->bound64 + 0.5 && same_sign(got[at], want),
              "float64 special value");
        asn_fp_clear();
        float wantf = f->f32(xf), gotf[77];
        expected = asn_fp_exceptions();
        asn_fp_clear();
        loopf(n, s & 4 ? inf : gotf, inf, NULL, NULL);
        CHECK(asn_fp_exceptions() == expected || loose(f->op, (double)xf),
              "float32 conditions");
        if (s & 4) gotf[at] = inf[at];
        CHECK(error32(gotf[at], (double)wantf) <= f->bound32 + 0.5 &&
                  same_sign((double)gotf[at], (double)wantf),
              "float32 special value");
    }
}

/* ---- two arguments */

typedef struct {
    asn_op op;
    double (*f64)(double, double);
    float (*f32)(float, float);
    long double (*wide)(long double, long double);
    double bound; /* ULP, of both precisions; 0: the library's bits */
    double low, high, low2, high2;
} function2;

static long double logaddexp_wide(long double a, long double b) {
    long double high = a > b ? a : b;
    return a == b ? a + logl(2) : high + log1pl(expl(-fabsl(a - b)));
}
static long double logaddexp2_wide(long double a, long double b) {
    long double high = a > b ? a : b;
    return a == b ? a + 1 : high + log1pl(exp2l(-fabsl(a - b))) / logl(2);
}

static const function2 functions2[] = {
    {ASN_OP_POWER, pow, powf, powl, 1.3, 0, 20, -60, 60},
    {ASN_OP_ARCTAN2, atan2, atan2f, atan2l, 2.5, -5, 5, -5, 5},
    {ASN_OP_HYPOT, hypot, hypotf, hypotl, 1.2, -5, 5, -5, 5},
    {ASN_OP_LOGADDEXP, f_logaddexp, f_logaddexpf, logaddexp_wide, 2, 0, 20, 0, 20},
    {ASN_OP_LOGADDEXP2, f_logaddexp2, f_logaddexp2f, logaddexp2_wide, 2.2, 0, 20, 0, 20},
    {ASN_OP_FMOD, fmod, fmodf, NULL, 0, -1e6, 1e6, -5, 5},
    {ASN_OP_REMAINDER, f_remainder, f_remainderf, NULL, 0, -1e6, 1e6, -5, 5},
    {ASN_OP_FLOOR_DIVIDE, f_floor_divide, f_floor_dividef, NULL, 0, -1e6, 1e6, -5, 5},
    {ASN_OP_NEXTAFTER, nextafter, nextafterf, NULL, 0, -5, 5, -5, 5},
};
enum { FUNCTIONS2 = sizeof functions2 / sizeof *functions2 };

/* A sum of logarithms is as exact as its larger term. */
static double scale2(const function2 *f, double want, double a, double b) {
    bool sum = f->op == ASN_OP_LOGADDEXP || f->op == ASN_OP_LOGADDEXP2;
    if (fabs(b) > fabs(a)) a = b;
    return sum && fabs(want) < fabs(a) ? ulp_of(want, 53, -1021) / ulp_of(a, 53, -1021)
                                       : 1;
}

/* Small integers and halves, special values, anything, the favoured range. */
static double argument(double low, double high) {
    static const double values[] = {
        0.0, -0.0,   1,     -1,     INFINITY, -INFINITY, NAN,
        0.5, 1e-310, 1e300, -1e300, 2,        3,         __builtin_nans("")};
    switch (random_below(6)) {
    case 0: return values[random_below(sizeof values / sizeof *values)];
    case 1: return from_bits(random_u64());
    case 2: return (double)random_below(61) * 0.5 - 15;
    default: return low + (high - low) * random_unit();
    }
}

/* With bound 0 bits and conditions are the library's; its underflow aside, which NumPy
 * does not report for an exact remainder either. */
static void test_two(const function2 *f, int rounds) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    asnd_ew_fn loopf = asn_kernels_get()->ew[f->op][ASN_F32];
    double a[COUNT], b[COUNT], out[COUNT], worst = 0, worstf = 0;
    float af[COUNT], bf[COUNT], outf[COUNT];
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < COUNT; i++) {
            af[i] = (float)(a[i] = argument(f->low, f->high));
            bf[i] = (float)(b[i] = argument(f->low2, f->high2));
        }
        loop(COUNT, out, a, b, NULL);
        loopf(COUNT, outf, af, bf, NULL);
        for (int i = 0; i < COUNT; i++) {
            double want = f->f64(a[i], b[i]);
            float wantf = f->f32(af[i], bf[i]);
            CHECK(isnan(want) == isnan(out[i]) && same_sign(out[i], want),
                  "float64 kind");
            CHECK(isnan(wantf) == isnan(outf[i]) &&
                      same_sign((double)outf[i], (double)wantf),
                  "float32 kind");
            double e = f->wide ? error64(out[i], f->wide(a[i], b[i])) : out[i] != want;
            e *= scale2(f, want, a[i], b[i]);
            if (e > worst && !isnan(want)) worst = e;
            double wide = f->wide ? f->f64((double)af[i], (double)bf[i]) : (double)wantf;
            e = f->wide ? error32(outf[i], wide) : outf[i] != wantf;
            e *= scale2(f, wide, (double)af[i], (double)bf[i]);
            if (e > worstf && !isnan(wantf)) worstf = e;
        }
    }
    printf("%-12s float64 %.3f ULP float32 %.3f ULP\n", asn_op_table[f->op].name, worst,
           worstf);
    if (LDBL_MANT_DIG > 53) CHECK(worst <= f->bound, "float64 error");
    CHECK(worstf <= f->bound, "float32 error");
}

/* Special arguments one by one: the conditions are the library's. */
static void test_two_conditions(const function2 *f) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    for (int s = 0; s < SPECIALS; s++)
        for (int t = 0; t < SPECIALS; t++) {
            double a = specials[s], b = specials[t], got;
            asn_fp_clear();
            volatile double want = f->f64(a, b);
            uint32_t expected = asn_fp_exceptions() & ~ACLNNX_FP_UNDERFLOW;
            asn_fp_clear();
            loop(1, &got, &a, &b, NULL);
            uint32_t met = asn_fp_exceptions() & ~ACLNNX_FP_UNDERFLOW;
            CHECK(met == expected || isnan(want), "conditions");
        }
}

static void test_ldexp(void) {
    asnd_ew_fn loop = asn_kernels_get()->ew[ASN_OP_LDEXP][ASN_F64];
    double a[COUNT], out[COUNT];
    int32_t k[COUNT];
    for (int r = 0; r < 100; r++) {
        for (int i = 0; i < COUNT; i++) {
            a[i] = argument(-5, 5);
            k[i] = (int32_t)random_below(4400) - 2200;
            if (i % 7 == 0) k[i] = (int32_t)random_u64();
        }
        loop(COUNT, out, a, k, NULL);
        for (int i = 0; i < COUNT; i++) {
            double want = ldexp(a[i], k[i]);
            CHECK(memcmp(&want, out + i, sizeof want) == 0 || isnan(want), "ldexp");
        }
    }
}

/* Bit for bit the library's, without conditions. */
static void test_parts(void) {
    const asnd_kernels *k = asn_kernels_get();
    double a[COUNT], mantissa[COUNT], fraction[COUNT];
    float af[COUNT], mantissaf[COUNT], fractionf[COUNT];
    int32_t e[COUNT], ef[COUNT];
    for (int r = 0; r < 100; r++) {
        for (int i = 0; i < COUNT; i++) {
            a[i] = argument(-1e6, 1e6);
            if (isnan(a[i])) a[i] = NAN; /* none that signals */
            af[i] = i % 5 ? (float)a[i] : ldexpf((float)a[i], -146);
        }
        asn_fp_clear();
        k->ew[ASN_OP_FREXP_MANTISSA][ASN_F64](COUNT, mantissa, a, NULL, NULL);
        k->ew[ASN_OP_FREXP_EXPONENT][ASN_F64](COUNT, e, a, NULL, NULL);
        k->ew[ASN_OP_MODF_FRACTION][ASN_F64](COUNT, fraction, a, NULL, NULL);
        k->ew[ASN_OP_FREXP_MANTISSA][ASN_F32](COUNT, mantissaf, af, NULL, NULL);
        k->ew[ASN_OP_FREXP_EXPONENT][ASN_F32](COUNT, ef, af, NULL, NULL);
        k->ew[ASN_OP_MODF_FRACTION][ASN_F32](COUNT, fractionf, af, NULL, NULL);
        CHECK(!asn_fp_exceptions(), "conditions of parts");
        for (int i = 0; i < COUNT; i++) {
            int n = 0, nf = 0;
            double whole, m = frexp(a[i], &n), f = modf(a[i], &whole);
            float wholef, mf = frexpf(af[i], &nf), ff = modff(af[i], &wholef);
            if (!isfinite(a[i])) n = 0;
            if (!isfinite(af[i])) nf = 0;
            CHECK(e[i] == n && ef[i] == nf, "exponent");
            CHECK(isnan(m) ? isnan(mantissa[i]) : !memcmp(&m, mantissa + i, sizeof m),
                  "float64 mantissa");
            CHECK(isnan(mf) ? isnan(mantissaf[i])
                            : !memcmp(&mf, mantissaf + i, sizeof mf),
                  "float32 mantissa");
            CHECK(isnan(f) ? isnan(fraction[i]) : !memcmp(&f, fraction + i, sizeof f),
                  "float64 fraction");
            CHECK(isnan(ff) ? isnan(fractionf[i])
                            : !memcmp(&ff, fractionf + i, sizeof ff),
                  "float32 fraction");
        }
    }
}

/* Of every half: the difference to its neighbour, which for float16 is the one above. */
static void test_half_spacing(void) {
    static uint16_t in[1 << 16], found[2][1 << 16];
    const asnd_kernels *k = asn_kernels_get();
    for (uint32_t u = 0; u < 1 << 16; u++)
        in[u] = (uint16_t)u;
    asn_fp_clear();
    k->ew[ASN_OP_SPACING][ASN_F16](1 << 16, found[0], in, NULL, NULL);
    k->half[ASN_OP_SPACING][1](1 << 16, found[1], in, NULL, NULL);
    CHECK(!asn_fp_exceptions(), "conditions of spacing");
    for (uint32_t u = 0; u < 1 << 16; u++) {
        uint16_t up = u == 0x8000 ? 1 : u > 0x8000 ? in[u] - 1 : in[u] + 1;
        float gap = asn_f16_to_f32(up) - asn_f16_to_f32(in[u]);
        uint16_t from = u == 0x8000 ? 0 : in[u]; /* -0.0 as 0.0: as floats have it */
        float away = asn_bf16_to_f32(from + 1) - asn_bf16_to_f32(from);
        bool number = (u & 0x7fff) < 0x7c00, numberb = (u & 0x7fff) < 0x7f80;
        CHECK(found[0][u] == (number ? asn_f32_to_f16(gap) : 0x7e00), "float16 spacing");
        CHECK(found[1][u] == (numberb ? asn_f32_to_bf16(away) : 0x7fc0),
              "bfloat16 spacing");
    }
}

/* Whole powers that a float holds come out exact. */
static void test_exact_powers(void) {
    asnd_ew_fn loop = asn_kernels_get()->ew[ASN_OP_POWER][ASN_F64];
    asnd_ew_fn loopf = asn_kernels_get()->ew[ASN_OP_POWER][ASN_F32];
    for (int e = 3; e < 53; e++) {
        for (int x = 2; x < 3000; x++) {
            double a = x, b = e, want = 1, got;
            for (int k = 0; k < e; k++)
                want *= a;
            if (want >= 0x1p53) break;
            float af = (float)a, bf = (float)b, gotf;
            loop(1, &got, &a, &b, NULL);
            loopf(1, &gotf, &af, &bf, NULL);
            CHECK(got == want, "exact float64 power");
            CHECK(want >= 0x1p24 || (double)gotf == want, "exact float32 power");
        }
    }
}

/* A small logarithm times a large exponent, at the cells' ends and anywhere; whole
 * exponents of negative numbers. */
static void test_wide_powers(int rounds) {
    asnd_ew_fn loop = asn_kernels_get()->ew[ASN_OP_POWER][ASN_F64];
    asnd_ew_fn loopf = asn_kernels_get()->ew[ASN_OP_POWER][ASN_F32];
    double a[COUNT], b[COUNT], out[COUNT], worst = 0, worstf = 0;
    float af[COUNT], bf[COUNT], outf[COUNT];
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < COUNT; i++) {
            static const double ends[] = {-1.0 / 64, 1.0 / 32, 0x1p-12, -0x1p-6, 3};
            double u = random_unit(), v = random_unit();
            a[i] = 1 + ends[random_below(5)] * (0.9 + 0.2 * u);
            b[i] = (2 * v - 1) * 700 / log(a[i]);
            af[i] = (float)a[i];
            bf[i] = (float)(b[i] * 0.12);
            if (r % 2)
                a[i] = -a[i], af[i] = -af[i], b[i] = rint(b[i]), bf[i] = rintf(bf[i]);
        }
        loop(COUNT, out, a, b, NULL);
        loopf(COUNT, outf, af, bf, NULL);
        for (int i = 0; i < COUNT; i++) {
            double e = error64(out[i], powl(a[i], b[i]));
            double ef = error32(outf[i], pow((double)af[i], (double)bf[i]));
            if (!(e <= worst)) worst = e;
            if (!(ef <= worstf)) worstf = ef;
        }
    }
    printf("wide powers  float64 %.3f ULP float32 %.3f ULP\n", worst, worstf);
    if (LDBL_MANT_DIG > 53) CHECK(worst <= 1, "float64 wide powers");
    CHECK(worstf <= 1.3, "float32 wide powers");
}

/* Zero to a positive power is no matter for the library: one among ordinary elements. */
static void test_powers_of_zero(void) {
    double a[77], b[77], out[77];
    for (int i = 0; i < 77; i++)
        a[i] = i % 5 ? 2.5 : i % 2 ? 0.0 : -0.0, b[i] = i % 3 ? 0.5 * i : -3;
    a[0] = 0, b[0] = INFINITY, a[10] = -0.0, b[10] = 0x1p60;
    asn_fp_clear();
    asn_kernels_get()->ew[ASN_OP_POWER][ASN_F64](77, out, a, b, NULL);
    CHECK(asn_fp_exceptions() == ACLNNX_FP_DIVIDE, "conditions of powers of zero");
    for (int i = 0; i < 77; i++) {
        double want = pow(a[i], b[i]);
        CHECK(error64(out[i], (long double)want) <= 1 && same_sign(out[i], want),
              "powers of zero");
    }
}

/* An element's result does not depend on its place, so neither on the length. */
static void test_lengths(const function *f) {
    asnd_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    double in[COUNT], out[COUNT], one;
    for (int i = 0; i < COUNT; i++)
        in[i] = point(f);
    for (int64_t n = 0; n < COUNT; n += 1 + n / 9) {
        out[n] = 7;
        loop(n, out, in, NULL, NULL);
        CHECK(out[n] == 7, "written past the end");
        for (int i = 0; i < n; i++) {
            loop(1, &one, in + i, NULL, NULL);
            CHECK(memcmp(&one, out + i, sizeof one) == 0 || (isnan(one) && isnan(out[i])),
                  "place");
        }
    }
}

int main(int argc, char **argv) {
    bool full = argc > 1 && strcmp(argv[1], "full") == 0;
    for (int i = 0; i < FUNCTIONS; i++) {
        if (argc > 2 && strcmp(argv[2], asn_op_table[functions[i].op].name)) continue;
        test_f64(&functions[i], full ? 10000 : 200);
        test_f32(&functions[i], full ? 1 : 9973);
        test_specials(&functions[i]);
        test_lengths(&functions[i]);
    }
    for (int i = 0; i < FUNCTIONS2; i++) {
        if (argc > 2 && strcmp(argv[2], asn_op_table[functions2[i].op].name)) continue;
        test_two(&functions2[i], full ? 10000 : 200);
        test_two_conditions(&functions2[i]);
    }
    test_ldexp();
    test_parts();
    test_half_spacing();
    test_exact_powers();
    test_wide_powers(full ? 3000 : 60);
    test_powers_of_zero();
    return check_report("cpu math");
}
