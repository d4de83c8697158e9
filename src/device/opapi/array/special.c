/* CPU device, operators: Digamma, Lgamma, Erfinv (self, out), in place or not.
 *
 * Computed in float64 and rounded once: float32 and halves are within 0.51 ULP wherever
 * the value is not next to a zero of the function. In float64:
 *
 * Digamma: reflection below 0, recurrence up to 10, then the asymptotic series
 * (Abramowitz and Stegun 6.3.18) to B_16. |error| <= 4e-15 * max(1, |digamma|).
 *
 * Lgamma: the C library's lgamma_r. Relative error <= 2e-14, absolute 1e-14 next to
 * zeros.
 *
 * Erfinv: a cubic, or Winitzki's formula (2008) from 0.5 on, then Halley's method on erf
 * or erfc until it rests. Relative error <= 4e-15.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"

static const double pi = 3.14159265358979323846;

/* The logarithmic derivative of the gamma function. */
static double digamma(double x) {
    double result = 0;
    if (isnan(x)) return x;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;          /* a pole; also minus infinity */
        result = -pi / tan(pi * (x - rint(x))); /* exact to the nearest pole */
        x = 1 - x;
    }
    /* digamma(x) = digamma(x + 1) - 1 / x, until the series holds. */
    for (; x < 10; x++)
        result -= 1 / x;
    /* The series adds nothing to the logarithm. */
    if (x >= 1e17) return result + log(x);
    /* B_2k / 2k for k = 1 to 8. */
    static const double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                    1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
    double z = 1 / (x * x), sum = 0;
    for (int k = 7; k >= 0; k--)
        sum = z * (sum + series[k]);
    return result + log(x) - 0.5 / x - sum;
}

/* log |gamma(x)|. lgamma would write a global sign, which threads share. */
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* The x' with erf(x') = x; infinite at -1 and 1, NaN beyond. Next to 1 erfc keeps the
 * digits that erf has lost. */
static double erfinv(double x) {
    double a = fabs(x);
    if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
    if (a < 1e-8) return x * 0.88622692545275801365; /* the next term is x**3 / 4 */
    /* A first guess, good enough for a cubic iteration. */
    double y = a * (0.886 + 0.3 * a * a);
    if (a >= 0.5) {
        double l = log((1 - a) * (1 + a)), h = 2 / (pi * 0.147) + l / 2;
        y = sqrt(sqrt(h * h - l / 0.147) - h);
    }
    /* A step below 1e-7 leaves an error far below the last bit: convergence is cubic. */
    double step = y;
    for (int k = 0; k < 8 && fabs(step) > 1e-7 * y; k++) {
        double err = a < 0.5 ? a - erf(y) : erfc(y) - (1 - a);
        double slope = 1.12837916709551257390 * exp(-y * y);
        step = err / (slope - y * err); /* Halley: f'' / f' = -2 y */
        y += step;
    }
    return copysign(y, x);
}

/* By the operator's arg. */
static double (*const functions[])(double) = {digamma, log_gamma, erfinv};

/* Elements that a thread takes at a time. */
enum { CHUNK = 4096 };

/* A parallel region's: f over n values, in place. */
typedef struct {
    double (*f)(double);
    double *x;
    int64_t n;
} special_work;

static void special_chunk(void *ctx, int64_t chunk) {
    const special_work *w = ctx;
    int64_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        w->x[i] = w->f(w->x[i]);
}

/* Through a float64 copy, so that self may be the output. */
static asn_status special_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    asnd_view x;
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, in->ndim, in->shape, &x));
    ASN_TRY(asn_move(&x.nd, in));
    special_work w = {functions[p->kind], (double *)(void *)x.nd.data, asn_nd_size(in)};
    asn_pool_run(special_chunk, &w, (w.n + CHUNK - 1) / CHUNK, 60 * (double)w.n);
    return asn_packed_done(e, p, p->axis, &x);
}

/* p->axis keeps the output's parameter: 0 in place, else 1. */
asn_status asn_planner_special(asnd_call *c) {
    int out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 0);
    if (asn_is_complex(self->dtype))
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no %s", c->op->name,
                             asn_dtype_name(self->dtype));
    ASN_TRY(asn_call_floating(c, out));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, special_body, 200 + 60 * (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = out;
    return ASN_OK;
}
