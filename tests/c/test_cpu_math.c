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
#include "device/cpu/fpflags.h"
#include "device/cpu/kernels.h"

enum { COUNT = 1000 };

typedef struct {
    asn_op op;
    float (*f32)(float);
    double (*f64)(double);
    long double (*wide)(long double);
    double bound32, bound64; /* ULP */
    double low, high;        /* of the arguments that random points favour */
} function;

static const function functions[] = {
    {ASN_OP_EXP, expf, exp, expl, 1, 1.5, -745, 710},
    {ASN_OP_LOG, logf, log, logl, 1, 1.5, 0.5, 2},
    {ASN_OP_EXP2, exp2f, exp2, exp2l, 1, 1.5, -1075, 1025},
    {ASN_OP_EXPM1, expm1f, expm1, expm1l, 1.1, 1.5, -40, 710},
    {ASN_OP_LOG2, log2f, log2, log2l, 1, 1.5, 0.5, 2},
    {ASN_OP_LOG10, log10f, log10, log10l, 1, 1.5, 0.5, 2},
    {ASN_OP_LOG1P, log1pf, log1p, log1pl, 1, 1.5, -1, 2},
    {ASN_OP_TANH, tanhf, tanh, tanhl, 1, 2, -22, 22},
    {ASN_OP_SIN, sinf, sin, sinl, 1, 2, -1.1e5, 1.1e5},
    {ASN_OP_COS, cosf, cos, cosl, 1, 2, -1.1e5, 1.1e5},
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
    asn_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
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
    if (LDBL_MANT_DIG > 53) CHECK(worst <= f->bound64, "float64 error");
}

/* Every step-th float32. */
static void test_f32(const function *f, uint64_t step) {
    asn_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F32];
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
    CHECK(worst <= f->bound32, "float32 error");
}

static const double specials[] = {0.0,     -0.0,   1.0,     -1.0,     INFINITY, -INFINITY,
                                  NAN,     1e-320, -1e-320, 1e-200,   -1e-200,  1000.0,
                                  -1000.0, 709.79, -708.5,  -745.0,   -746.0,   1e22,
                                  -1e22,   1e300,  1e5,     100000.1, 0x1p-149, 88.8,
                                  -103.0,  -87.5,  3e38,    -1e38};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* NumPy does not report the underflow of a subnormal result that is the argument itself.
 */
static bool loose(asn_op op, double x) {
    return fabs(x) < FLT_MIN &&
           (op == ASN_OP_EXPM1 || op == ASN_OP_LOG1P || op == ASN_OP_TANH);
}

/* Each alone and among ordinary elements, written elsewhere and in place. */
static void test_specials(const function *f) {
    asn_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
    asn_ew_fn loopf = asn_kernels_get()->ew[f->op][ASN_F32];
    for (int s = 0; s < SPECIALS * 8; s++) {
        double in[77], x = specials[s / 8];
        float inf[77], xf = (float)x;
        int at = s & 1 ? 76 : 3, n = s & 2 ? 77 : 1;
        if (n == 1) at = 0;
        for (int i = 0; i < 77; i++)
            in[i] = inf[i] = 1;
        in[at] = x, inf[at] = xf;
        asn_fp_clear();
        double want = f->f64(x), got[77];
        uint32_t expected = asn_fp_conditions();
        asn_fp_clear();
        loop(n, s & 4 ? in : got, in, NULL, NULL);
        CHECK(asn_fp_conditions() == expected || loose(f->op, x), "float64 conditions");
        if (s & 4) got[at] = in[at];
        CHECK(error64(got[at], want) <= 1.5 && !signbit(got[at]) == !signbit(want),
              "float64 special value");
        asn_fp_clear();
        float wantf = f->f32(xf), gotf[77];
        expected = asn_fp_conditions();
        asn_fp_clear();
        loopf(n, s & 4 ? inf : gotf, inf, NULL, NULL);
        CHECK(asn_fp_conditions() == expected || loose(f->op, (double)xf),
              "float32 conditions");
        if (s & 4) gotf[at] = inf[at];
        CHECK(error32(gotf[at], (double)wantf) <= 1 &&
                  !signbit(gotf[at]) == !signbit(wantf),
              "float32 special value");
    }
}

/* An element's result does not depend on its place, so neither on the length. */
static void test_lengths(const function *f) {
    asn_ew_fn loop = asn_kernels_get()->ew[f->op][ASN_F64];
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
    return check_report("cpu math");
}
