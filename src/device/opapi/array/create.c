/* CPU device, operators: Arange, Range, Linspace, LogSpace, Eye.
 *
 * The output's length is the program's to know: it is computed here and compared with the
 * tensor given, exactly for integers (128 bits hold the difference of any two of 64) and
 * as a double where a float takes part. The elements are the array library's kernels
 * (cpu/index/creation.h).
 *
 * Every planner checks numbers and shapes in phase 1, so that a body cannot fail but for
 * memory. Nothing is drawn from a tensor: the arguments are scalars, and one plan struct
 * holds what each of the operators needs.
 *
 * Arange and Range differ in their end alone, as torch.arange and torch.range do.
 */
#include <math.h>

#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* What a body needs; `first` and `delta` are elements of the output's dtype. */
typedef struct {
    asnd_plan_head head;
    int out;
    bool eye, line, powers;                    /* linspace; logspace: of its base */
    double start, stop, base;                  /* linspace, logspace */
    _Alignas(16) uint8_t first[16], delta[16]; /* arange */
} create_plan;

/* out = base ** linspace(start, stop), in double, or in complex128 where out is complex.
 */
static asn_status write_powers(const create_plan *p, const asnd_nd *out, asnd_tmp *tmp) {
    asnd_view line;
    asnd_prog prog;
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, out->ndim, out->shape, &line));
    ASN_TRY(asn_cpu_linspace(&line.nd, p->start, p->stop, true));
    asn_prog_begin(&prog, out->ndim, out->shape, 0);
    asn_dtype t = asn_is_complex(out->dtype) ? ASN_C128 : ASN_F64;
    int x = asn_prog_as(&prog, asn_prog_in(&prog, &line.nd), t);
    int base = asn_prog_const(&prog, t, p->base);
    asn_prog_out(&prog, asn_prog_op2(&prog, ASN_OP_POWER, base, x), out);
    return asn_prog_run(&prog);
}

/* `out` without its extents of 1; false: it has no dimension, or several others. */
static bool row_of(asnd_view *v, const asnd_nd *out) {
    asn_view_set(v, out);
    for (int d = out->ndim - 1; d >= 0; d--)
        if (v->shape[d] == 1 && v->nd.ndim > 1) asn_view_drop(v, d);
    return v->nd.ndim == 1;
}

/* The body of all. */
static asn_status create_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const create_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    if (p->powers) return write_powers(p, out, tmp);
    if (p->line) return asn_cpu_linspace(out, p->start, p->stop, true);
    if (p->eye) return asn_cpu_eye(out, 0);
    asnd_view row;
    (void)row_of(&row, out); /* it is one: see the planner */
    return asn_cpu_arange(&row.nd, p->first, p->delta);
}

/* ceil((end - start) / step), or floor + 1 with the end (`closed`). v: the three scalars
 * as doubles; v[2], the step, is not 0. Scalars that are all integers are counted in 128
 * bits, exactly; a length that no array can have becomes 0, which no output but an empty
 * one matches. */
static int64_t range_length(const asnd_call *c, const double *v, bool closed) {
    bool whole = true;
    __int128 n[3];
    for (int i = 0; i < 3; i++) {
        const aclScalar *s = asn_call_scalar(c, i);
        whole = whole && !asn_is_inexact((asn_dtype)s->dtype);
        n[i] = s->dtype == ASN_U64
                   ? (__int128)(uint64_t)asn_value_to_int(ASN_U64, s->value)
                   : asn_value_to_int((asn_dtype)s->dtype, s->value);
    }
    if (!whole) {
        double steps = (v[1] - v[0]) / v[2];
        double length = closed ? floor(steps) + 1 : ceil(steps);
        return length > 0 && length < 0x1p62 ? (int64_t)length : 0;
    }
    /* Both signs of the step are one case: span and step are turned so that step > 0. */
    __int128 span = n[2] > 0 ? n[1] - n[0] : n[0] - n[1], step = n[2] > 0 ? n[2] : -n[2];
    if (span < 0 || (span == 0 && !closed)) return 0;
    return (int64_t)(closed ? span / step + 1 : (span + step - 1) / step);
}

/* A plan that writes parameter `out`, at `ns` nanoseconds an element; NULL with the error
 * set. */
static create_plan *plan_create(asnd_call *c, int out, double ns) {
    create_plan *p = asn_call_plan(c, create_body, sizeof *p,
                                   50 + ns * (double)asn_nd_size(asn_call_nd(c, out)));
    if (p != NULL) {
        p->out = c->first[out];
        p->eye = p->line = p->powers = false;
    }
    return p;
}

/* Arange(start, end, step, out) excludes the end, Range includes it (arg 1). The output's
 * length decides; it must be what the numbers give, in one dimension beside extents of 1
 * (llama.cpp's backend has three of these). */
asn_status asn_planner_arange(asnd_call *c) {
    double v[3] = {0, 0, 1};
    const asnd_nd *out = asn_call_nd(c, 3);
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_call_number(c, i, &v[i]));
    if (v[2] == 0 || isnan(v[0]) || isnan(v[1]) || isnan(v[2]))
        return asn_error_set(ASN_ERR_VALUE, "%s: start, end, step are %g, %g, %g",
                             c->op->name, v[0], v[1], v[2]);
    int64_t n = range_length(c, v, c->op->arg != 0);
    asnd_view row;
    if (!row_of(&row, out) || row.shape[0] != n)
        ASN_TRY(asn_call_same_shape(c, 3, 1, &n));
    if (n == 0) return ASN_OK;
    /* The kernel computes first + i * delta in the output's dtype. */
    create_plan *p = plan_create(c, 3, 0.3);
    if (p == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_call_element(c, 0, out->dtype, p->first));
    return asn_call_element(c, 2, out->dtype, p->delta);
}

/* A plan for `steps` values from start to end, parameters 0 to 2; NULL for none. */
static asn_status plan_line(asnd_call *c, int out, create_plan **plan) {
    double v[2] = {0, 0};
    int64_t steps = asn_call_int(c, 2);
    *plan = NULL;
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_number(c, i, &v[i]));
    if (steps < 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: steps is %lld", c->op->name,
                             (long long)steps);
    ASN_TRY(asn_call_same_shape(c, out, 1, &steps));
    if (steps == 0) return ASN_OK;
    create_plan *p = plan_create(c, out, 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->line = true;
    p->start = v[0];
    p->stop = v[1];
    *plan = p;
    return ASN_OK;
}

/* Linspace(start, end, steps, out). The kernel computes in double, the end included; one
 * step gives the start alone. */
asn_status asn_planner_linspace(asnd_call *c) {
    create_plan *p;
    return plan_line(c, 3, &p);
}

/* LogSpace(start, end, steps, base, result): base to the power of each of these. */
asn_status asn_planner_logspace(asnd_call *c) {
    create_plan *p;
    ASN_TRY(plan_line(c, 4, &p));
    if (p == NULL) return ASN_OK;
    p->powers = true;
    p->base = asn_call_double(c, 3);
    return ASN_OK;
}

/* Eye(n, m, out): ones where row and column agree, zeros elsewhere. */
asn_status asn_planner_eye(asnd_call *c) {
    int64_t shape[2] = {asn_call_int(c, 0), asn_call_int(c, 1)};
    if (shape[0] < 0 || shape[1] < 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: n is %lld, m is %lld", c->op->name,
                             (long long)shape[0], (long long)shape[1]);
    ASN_TRY(asn_call_same_shape(c, 2, 2, shape));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    create_plan *p = plan_create(c, 2, 0.3);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->eye = true;
    return ASN_OK;
}
