/* CPU device, operators: expressions that are reduced, scaled, or chosen by an option:
 * losses, their gradients, activations with variants.
 *
 * Halves are computed in float32; float64, and integers of 32 bits and more, in float64;
 * an expression without constants over integers in int64. A tensor that is NULL counts as
 * 1. Options are found by their parameters' names: `reduction`; `approximate`,
 * `isResult`, `logTarget` choose the row's first or second expression.
 *
 * One planner serves them all, since what differs is in the row. A reduced loss is one
 * fused pass that ends in a sum; the mean divides that sum, in double precision, rather
 * than each element.
 */
#include "device/opapi/core/formula.h"

#include <stddef.h>
#include <string.h>

#include "device/opapi/core/plan.h"

/* operand, number: by parameter; shape: what the operands broadcast to. */
typedef struct {
    asnd_plan_head head;
    const asnd_ew *ew;
    int num_params, out, ndim, reduction;
    bool gradient;
    asn_dtype loop;
    double divisor; /* of a mean */
    int operand[ASN_FEW_PARAMS];
    double number[ASN_FEW_PARAMS]; /* where there is no operand */
    int64_t shape[ASN_ND_MAX_DIMS];
} formula_plan;

/* A constant that several steps use is one value of the program. */
int asn_formula_emit(asnd_prog *p, const asnd_ew *ew, const int *values, asn_dtype t) {
    int steps[ACLNNX_MAX_INSTRS] = {0}, consts[ASN_PROG_OPERANDS];
    for (int i = 0; i < ASN_PROG_OPERANDS; i++)
        consts[i] = -1;
    /* Steps come in an order in which each reads parameters, constants and steps before
     * it. */
    for (int k = 0; k < ew->num_steps; k++) {
        const asnd_ew_step *step = &ew->steps[k];
        asn_op op = (asn_op)step->op;
        int count = asn_op_table[op].num_in, src[3] = {0, 0, 0};
        for (int i = 0; i < count; i++) {
            int at = step->src[i] & ASN_EW_INDEX;
            if (step->src[i] & ASN_EW_CONST) {
                if (consts[at] < 0) consts[at] = asn_prog_const(p, t, ew->consts[at]);
                src[i] = consts[at];
            } else {
                src[i] = step->src[i] & ASN_EW_STEP ? steps[at] : values[at];
            }
        }
        steps[k] = count == 1   ? asn_prog_op1(p, op, src[0])
                   : count == 2 ? asn_prog_op2(p, op, src[0], src[1])
                                : asn_prog_op3(p, op, src[0], src[1], src[2]);
    }
    return steps[ew->num_steps - 1];
}

/* ---- the body */

/* Whether the expression reads the parameter. One that it does not is not loaded. */
static bool uses(const asnd_ew *ew, int param) {
    for (int k = 0; k < ew->num_steps; k++)
        for (int i = 0; i < asn_op_table[ew->steps[k].op].num_in; i++)
            if (ew->steps[k].src[i] == param) return true;
    return false;
}

/* The expression over the program's shape; `views` live until it has run. */
static int emit(asnd_prog *p, const formula_plan *f, const aclOpExecutor *e,
                asnd_view *views) {
    int values[ASN_FEW_PARAMS] = {0};
    for (int i = 0; i < f->num_params; i++) {
        if (!uses(f->ew, i)) continue;
        if (f->operand[i] < 0) {
            values[i] = asn_prog_const(p, f->loop, f->number[i]);
            continue;
        }
        asn_view_set(&views[i], asn_exec_nd(e, f->operand[i]));
        asn_view_broadcast(&views[i], p->ndim, p->shape);
        values[i] = asn_prog_as(p, asn_prog_in(p, &views[i].nd), f->loop);
    }
    return asn_formula_emit(p, f->ew, values, f->loop);
}

/* A gradient of a mean is divided in the pass itself. */
static asn_status write_body(const formula_plan *f, const aclOpExecutor *e) {
    asnd_view views[ASN_FEW_PARAMS];
    asnd_prog p;
    asn_prog_begin(&p, f->ndim, f->shape, 0);
    int x = emit(&p, f, e, views);
    if (f->divisor != 1)
        x = asn_prog_op2(&p, ASN_OP_DIVIDE, x, asn_prog_const(&p, f->loop, f->divisor));
    asn_prog_out(&p, x, asn_exec_nd(e, f->out));
    return asn_prog_run(&p);
}

/* The sum of everything, then the mean, to the one element of the output. */
static asn_status reduce_body(const formula_plan *f, const aclOpExecutor *e) {
    static const int64_t zeros[ASN_ND_MAX_DIMS];
    const asnd_nd *out = asn_exec_nd(e, f->out);
    asnd_view views[ASN_FEW_PARAMS];
    _Alignas(16) uint8_t sum[16] = {0};
    asnd_nd total = {(char *)sum, f->ndim, f->loop, f->shape, zeros};
    int64_t size = 1;
    for (int d = 0; d < f->ndim; d++)
        size *= f->shape[d];
    /* A sum of nothing stays 0, and its mean is NaN. */
    if (size > 0) {
        asnd_prog p;
        asn_prog_begin(&p, f->ndim, f->shape, ~UINT64_C(0) >> (64 - f->ndim));
        asn_prog_reduce(&p, ASN_OP_ADD, emit(&p, f, e, views), &total);
        ASN_TRY(asn_prog_run(&p));
    }
    if (f->divisor == 1)
        asn_value_cast(out->dtype, out->data, f->loop, sum);
    else
        asn_value_from_double(out->dtype, out->data,
                              asn_value_to_double(f->loop, sum) / f->divisor);
    return ASN_OK;
}

static asn_status formula_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const formula_plan *f = plan;
    bool whole = f->gradient || f->reduction == ASN_REDUCTION_NONE;
    return whole ? write_body(f, e) : reduce_body(f, e);
}

/* ---- planning */

asn_status asn_call_reduction(const asnd_call *c, int i, int most, int *reduction) {
    int64_t value = asn_call_int(c, i);
    if (value < 0 || value > most)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s is %lld; it must be 0 (none), 1 (mean) or 2 (sum)%s",
                             c->op->name, c->op->params[i].name, (long long)value,
                             most > 2 ? ", or 3 (batchmean)" : "");
    *reduction = (int)value;
    return ASN_OK;
}

asn_status asn_call_one_element(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    char got[ASN_SHAPE_TEXT];
    if (asn_nd_size(a) == 1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has shape %s; it must have one element",
                         c->op->name, c->op->params[i].name,
                         asn_shape_text(got, a->ndim, a->shape));
}

/* *variant: which of a row's two expressions, by the options that the call has. */
static asn_status choose(const asnd_call *c, int *variant) {
    *variant = 0;
    for (int i = 0; i < c->op->num_params; i++) {
        const asnd_param *p = &c->op->params[i];
        bool text = p->kind == ASN_STRING, is_tanh = false;
        if (strcmp(p->name, "approximate") == 0 && text) {
            const char *s = c->args[i].p;
            is_tanh = strcmp(s, "tanh") == 0;
            if (!is_tanh && strcmp(s, "none") != 0)
                return asn_error_set(ASN_ERR_VALUE,
                                     "%s: approximate is \"%s\"; it must be \"none\" or "
                                     "\"tanh\"",
                                     c->op->name, s);
            *variant = is_tanh;
        } else if (strcmp(p->name, "approximate") == 0 ||
                   strcmp(p->name, "isResult") == 0 ||
                   strcmp(p->name, "logTarget") == 0) {
            int64_t value = asn_call_int(c, i);
            if (value != 0 && value != 1)
                return asn_error_set(ASN_ERR_VALUE, "%s: %s is %lld; it must be 0 or 1",
                                     c->op->name, p->name, (long long)value);
            *variant = (int)value;
        }
    }
    return ASN_OK;
}

/* The parameters as operands or numbers, the shape they broadcast to, and the dtype. */
static asn_status take_params(const asnd_call *c, formula_plan *f, int out) {
    bool wide = asn_call_nd(c, out)->dtype == ASN_F64, integers = f->ew->consts == NULL;
    f->num_params = c->op->num_params;
    for (int i = 0; i < c->op->num_params; i++) {
        char kind = c->op->params[i].kind;
        const asnd_nd *a = asn_call_nd(c, i);
        ASN_TRY(asn_call_real(c, i));
        f->operand[i] = -1;
        f->number[i] = 1;
        if (kind == ASN_SCALAR) ASN_TRY(asn_call_number(c, i, &f->number[i]));
        if (kind == ASN_DOUBLE) f->number[i] = asn_call_double(c, i);
        if (strcmp(c->op->params[i].name, "beta") == 0 && !(f->number[i] >= 0))
            return asn_error_set(ASN_ERR_VALUE, "%s: beta is %g; it must not be negative",
                                 c->op->name, f->number[i]);
        if (kind == ASN_INT) f->number[i] = (double)asn_call_int(c, i);
        if (kind != ASN_IN || a == NULL || !uses(f->ew, i)) continue;
        f->operand[i] = c->first[i];
        wide |= a->dtype == ASN_F64 ||
                (asn_is_integer(a->dtype) && asn_itemsize(a->dtype) > 2);
        integers &= asn_is_integer(a->dtype);
        /* The broadcast shape grows by this operand: dimensions in front, then its
         * extents where there were ones. */
        while (f->ndim < a->ndim) {
            memmove(f->shape + 1, f->shape, (size_t)f->ndim * sizeof *f->shape);
            f->shape[0] = 1;
            f->ndim++;
        }
        for (int d = 0; d < a->ndim; d++) {
            int64_t *extent = &f->shape[f->ndim - a->ndim + d];
            if (*extent == 1) *extent = a->shape[d];
            if (a->shape[d] == 1 || a->shape[d] == *extent) continue;
            char got[ASN_SHAPE_TEXT], other[ASN_SHAPE_TEXT];
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has shape %s, which does not broadcast with %s",
                                 c->op->name, c->op->params[i].name,
                                 asn_shape_text(got, a->ndim, a->shape),
                                 asn_shape_text(other, f->ndim, f->shape));
        }
    }
    /* In int64 only if every step has a loop for it. */
    for (int k = 0; k < f->ew->num_steps; k++)
        integers &= asn_op_has_loop((asn_op)f->ew->steps[k].op, ASN_I64);
    f->loop = integers ? ASN_I64 : wide ? ASN_F64 : ASN_F32;
    return ASN_OK;
}

/* The divisor of a mean. */
static double divisor_of(const formula_plan *f) {
    double size = 1;
    if (f->reduction == ASN_REDUCTION_BATCHMEAN)
        return f->ndim > 0 ? (double)f->shape[0] : 1;
    if (f->reduction != ASN_REDUCTION_MEAN) return 1;
    for (int d = 0; d < f->ndim; d++)
        size *= (double)f->shape[d];
    return size;
}

/* arg 1: a gradient, which `reduction` scales; else a loss, which it reduces. */
asn_status asn_planner_formula(asnd_call *c) {
    int out = asn_call_out(c), variant = 0, most = 2;
    formula_plan f;
    memset(&f, 0, offsetof(formula_plan, shape));
    ASN_TRY(choose(c, &variant));
    f.ew = (const asnd_ew *)c->op->detail + variant;
    f.gradient = c->op->arg == 1;
    ASN_TRY(take_params(c, &f, out));
    for (int i = 0; i < c->op->num_params; i++)
        if (strcmp(c->op->params[i].name, "logTarget") == 0) most = 3;
    for (int i = 0; i < c->op->num_params; i++)
        if (strcmp(c->op->params[i].name, "reduction") == 0)
            ASN_TRY(asn_call_reduction(c, i, most, &f.reduction));
    bool whole = f.gradient || f.reduction == ASN_REDUCTION_NONE;
    if (whole)
        ASN_TRY(asn_call_same_shape(c, out, f.ndim, f.shape));
    else
        ASN_TRY(asn_call_one_element(c, out));
    ASN_TRY(asn_call_convertible(c, f.loop, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    f.divisor = divisor_of(&f);
    f.out = c->first[out];
    /* A reduction needs a dimension to reduce. */
    if (!whole && f.ndim == 0) f.shape[f.ndim++] = 1;
    double size = 1;
    for (int d = 0; d < f.ndim; d++)
        size *= (double)f.shape[d];
    return asn_call_keep(c, formula_body, &f, sizeof f,
                         200 + 0.5 * size * f.ew->num_steps);
}
