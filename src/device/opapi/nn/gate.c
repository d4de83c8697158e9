/* CPU device, operators: activations that gate one half of a tensor by the other (Glu,
 * GeGlu, SwiGlu), PRelu with its weight per channel, and their gradients.
 *
 * A gate's row has the activation (forward) or its gradient (backward: over the incoming
 * gradient and self) as expression; it is applied to the half that is activated.
 *
 * Halves of a tensor are views along the dimension, so each direction is one fused pass
 * with two inputs or two outputs. Parameters are found by their names, since the
 * operators of the family have them in different places.
 */
#include <string.h>

#include "device/opapi/core/formula.h"
#include "device/opapi/nn/norm.h"

/* ew: the activation, or its gradient. self_param, dy_param: the parameters that stand
 * for self and the incoming gradient in it. */
typedef struct {
    asnd_plan_head head;
    const asnd_ew *ew;
    int dy, self, gelu, out, out_gelu; /* operands; -1: absent */
    int axis, self_param, dy_param;
    bool left;  /* the left half is activated */
    bool swish; /* a gradient's activation is x * sigmoid(x) */
} gate_plan;

/* The half that is activated and the one that it gates. */
typedef struct {
    asnd_view active, other;
} halves;

/* The halves of `a`, a tensor of self's shape, as views of it. */
static void halve(halves *h, const asnd_nd *a, const gate_plan *g) {
    int64_t n = a->shape[g->axis] / 2;
    asn_view_set(&h->active, a);
    asn_view_set(&h->other, a);
    asn_view_slice(&h->active, g->axis, g->left ? 0 : n, n, 1);
    asn_view_slice(&h->other, g->axis, g->left ? n : 0, n, 1);
}

/* Halves are computed in float32. */
static asn_dtype loop_of(const asnd_nd *a) {
    return a->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
}

/* a as a value of dtype t. */
static int value(asnd_prog *p, const asnd_nd *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, a), t);
}

/* out = other * activation(active); outGelu, where there is one, is the activation. */
static asn_status gate_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const gate_plan *g = plan;
    const asnd_nd *self = asn_exec_nd(e, g->self);
    asn_dtype t = loop_of(self);
    int values[ASN_MAX_PARAMS] = {0};
    halves h;
    asnd_prog p;
    halve(&h, self, g);
    asn_prog_begin(&p, self->ndim, h.active.shape, 0);
    int other = value(&p, &h.other.nd, t);
    values[g->self_param] = value(&p, &h.active.nd, t);
    int x = asn_formula_emit(&p, g->ew, values, t);
    if (g->out_gelu >= 0) asn_prog_out(&p, x, asn_exec_nd(e, g->out_gelu));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_MULTIPLY, other, x), asn_exec_nd(e, g->out));
    return asn_prog_run(&p);
}

/* d other = dy * activation(active), d active = activation'(active) * dy * other. The
 * activation comes with the call (gelu), or is Glu's sigmoid or SwiGlu's swish. */
static asn_status gate_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const gate_plan *g = plan;
    const asnd_nd *self = asn_exec_nd(e, g->self);
    asn_dtype t = loop_of(self);
    int values[ASN_MAX_PARAMS] = {0};
    halves h, out;
    asnd_prog p;
    halve(&h, self, g);
    halve(&out, asn_exec_nd(e, g->out), g);
    asn_prog_begin(&p, self->ndim, h.active.shape, 0);
    int active = value(&p, &h.active.nd, t), dy = value(&p, asn_exec_nd(e, g->dy), t);
    int activation = g->gelu >= 0 ? value(&p, asn_exec_nd(e, g->gelu), t)
                                  : asn_prog_op1(&p, ASN_OP_SIGMOID, active);
    if (g->swish) activation = asn_prog_op2(&p, ASN_OP_MULTIPLY, activation, active);
    values[g->self_param] = active;
    values[g->dy_param] =
        asn_prog_op2(&p, ASN_OP_MULTIPLY, dy, value(&p, &h.other.nd, t));
    int x = asn_formula_emit(&p, g->ew, values, t);
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_MULTIPLY, dy, activation), &out.other.nd);
    asn_prog_out(&p, x, &out.active.nd);
    return asn_prog_run(&p);
}

/* ---- planning */

/* self has an even extent along the dimension (*axis), the last one where there is no
 * parameter for it (-1); half: its shape with half of it. */
static asn_status check_halves(const asnd_call *c, int self, int dim, int *axis,
                               int64_t *half) {
    const asnd_nd *a = asn_call_nd(c, self);
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_norm_check(c, self, a->ndim, a->shape));
    ASN_TRY(asn_call_axis(c, dim < 0 ? -1 : asn_call_int(c, dim), a->ndim, axis));
    if (a->ndim == 0 || a->shape[*axis] % 2 != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has shape %s; dimension %d must have an even "
                             "extent",
                             c->op->name, c->op->params[self].name,
                             asn_shape_text(got, a->ndim, a->shape), *axis);
    memcpy(half, a->shape, (size_t)a->ndim * sizeof *half);
    half[*axis] /= 2;
    return ASN_OK;
}

/* *variant: which of the row's expressions: an integer or a string, which may be NULL. */
static asn_status approximation(const asnd_call *c, int *variant) {
    int i = asn_call_param_named(c, "approximate");
    int text = asn_call_param_named(c, "approximateOptional");
    *variant = 0;
    if (i >= 0) {
        int64_t value = asn_call_int(c, i);
        *variant = value == 1;
        if (value == 0 || value == 1) return ASN_OK;
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: approximate is %lld; it must be 0 (none) or 1 (tanh)",
                             c->op->name, (long long)value);
    }
    const char *name = text < 0 ? NULL : c->args[text].p;
    if (name == NULL || strcmp(name, "none") == 0) return ASN_OK;
    *variant = 1;
    if (strcmp(name, "tanh") == 0) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: approximateOptional is \"%.32s\"; it must be \"none\" or \"tanh\"",
        c->op->name, name);
}

/* Glu(self, dim, out), GeGlu(self, dim, approximate, out, outGelu), V3 with activateLeft
 * behind approximate; GluBackward(gradOut, self, dim, out), GeGluBackward(gradOutput,
 * self, gelu, dim, approximate, gradInput); SwiGlu(x, dim, out), SwiGluGrad(yGrad, x,
 * dim, out), GeluMul(input, approximateOptional, out). arg 1: a gradient; 2: the left
 * half is activated, in a gradient as x * sigmoid(x). */
asn_status asn_planner_gate(asnd_call *c) {
    static const char *const names[] = {"self", "x", "input"};
    bool backward = (c->op->arg & 1) != 0;
    int self = -1, dim = asn_call_param_named(c, "dim"), out = asn_call_out(c),
        variant = 0;
    int left = asn_call_param_named(c, "activateLeft"),
        gelu = asn_call_param_named(c, "gelu");
    int out_gelu = asn_call_param_named(c, "outGelu"), axis = 0;
    for (int i = 0; i < 3 && self < 0; i++)
        self = asn_call_param_named(c, names[i]);
    const asnd_nd *a = asn_call_nd(c, self);
    int64_t half[ASN_ND_MAX_DIMS];
    ASN_TRY(check_halves(c, self, dim, &axis, half));
    ASN_TRY(approximation(c, &variant));
    ASN_TRY(asn_norm_check(c, out, a->ndim, backward ? a->shape : half));
    if (backward) ASN_TRY(asn_norm_check(c, 0, a->ndim, half));
    if (gelu >= 0) ASN_TRY(asn_norm_check(c, gelu, a->ndim, half));
    if (out_gelu >= 0) ASN_TRY(asn_norm_check(c, out_gelu, a->ndim, half));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    gate_plan *p = asn_call_plan(c, backward ? gate_backward_body : gate_body, sizeof *p,
                                 300 + 4 * (double)asn_nd_size(a));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->ew = (const asnd_ew *)c->op->detail + variant;
    p->dy = backward ? c->first[0] : -1;
    p->dy_param = 0;
    p->self = c->first[self];
    p->self_param = self;
    p->gelu = gelu >= 0 ? c->first[gelu] : -1;
    p->out = c->first[out];
    p->out_gelu = out_gelu >= 0 ? c->first[out_gelu] : -1;
    p->axis = axis;
    p->swish = (c->op->arg & 2) != 0;
    p->left = p->swish || (left >= 0 && asn_call_int(c, left) != 0);
    return ASN_OK;
}

/* ---- Prelu(self, weight, out), PreluBackward(gradOutput, self, weight, gradInput,
 * gradWeight): x where x > 0, else weight * x; one weight, or one per channel */

/* dy, dw: -1 forwards. single: one weight for all. */
typedef struct {
    asnd_plan_head head;
    int dy, self, weight, out, dw;
    bool single;
} prelu_plan;

/* Parameter i holds a value for each channel of x: (C,), or in x's space (1, C, 1 ...).
 */
static asn_status check_channels(const asnd_call *c, int i, const asnd_nd *x) {
    int64_t spread[ASN_ND_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++)
        spread[d] = d == 1 ? x->shape[1] : 1;
    if (asn_call_nd(c, i)->ndim == x->ndim) return asn_norm_check(c, i, x->ndim, spread);
    return asn_norm_check(c, i, 1, x->shape + 1);
}

/* v: the weight, or its gradient, in the space of self: one value per channel (dimension
 * 1), or one for all. */
static void spread_weight(asnd_view *v, const asnd_nd *a, const asnd_norm *n,
                          bool single) {
    if (!single && a->ndim == n->x->ndim) {
        asn_view_set(v, a);
        for (int d = 0; d < a->ndim; d++)
            if (d != 1) v->strides[d] = 0;
        return;
    }
    if (!single) {
        asn_norm_spread(v, a, n, n->mask);
        return;
    }
    asn_view_set(v, a);
    v->nd.ndim = 0;
    for (int d = 0; d < n->x->ndim; d++)
        asn_view_insert(v, 0, 1, 0);
}

/* The dimensions that the weight's gradient is summed over. */
static uint64_t weight_mask(const asnd_nd *x, bool single) {
    uint64_t all = x->ndim > 0 ? (UINT64_C(2) << (x->ndim - 1)) - 1 : 0;
    return single ? all : all & ~UINT64_C(2);
}

/* Both directions: forwards self stands where dy does backwards. The weight's gradient is
 * summed before the input's is written, which may be self, and moved out last. */
static asn_status prelu_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const prelu_plan *q = plan;
    asnd_view x, weight, dy, out, sum, dw;
    asn_view_set(&x, asn_exec_nd(e, q->self));
    asn_view_set(&out, asn_exec_nd(e, q->out));
    asn_view_at_least_1d(&x);
    asn_view_at_least_1d(&out);
    asnd_norm n;
    asn_norm_begin(&n, &x.nd, weight_mask(&x.nd, q->single));
    spread_weight(&weight, asn_exec_nd(e, q->weight), &n, q->single);
    if (q->dy >= 0) {
        asn_view_set(&dy, asn_exec_nd(e, q->dy));
        asn_view_broadcast(&dy, x.nd.ndim, x.shape);
    }
    asnd_prog p;
    if (q->dw >= 0) {
        ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
        asn_prog_begin(&p, x.nd.ndim, x.shape, n.mask);
        int self = value(&p, &x.nd, n.t), zero = asn_prog_const(&p, n.t, 0);
        int g = asn_prog_op2(&p, ASN_OP_MULTIPLY, value(&p, &dy.nd, n.t), self);
        int positive = asn_prog_op2(&p, ASN_OP_GREATER, self, zero);
        asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op3(&p, ASN_OP_WHERE, positive, zero, g),
                        &sum.nd);
        ASN_TRY(asn_prog_run(&p));
    }
    asn_prog_begin(&p, x.nd.ndim, x.shape, 0);
    int self = value(&p, &x.nd, n.t), zero = asn_prog_const(&p, n.t, 0);
    int g = q->dy >= 0 ? value(&p, &dy.nd, n.t) : self;
    int positive = asn_prog_op2(&p, ASN_OP_GREATER, self, zero);
    int scaled = asn_prog_op2(&p, ASN_OP_MULTIPLY, value(&p, &weight.nd, n.t), g);
    asn_prog_out(&p, asn_prog_op3(&p, ASN_OP_WHERE, positive, g, scaled), &out.nd);
    ASN_TRY(asn_prog_run(&p));
    if (q->dw < 0) return ASN_OK;
    spread_weight(&dw, asn_exec_nd(e, q->dw), &n, q->single);
    return asn_move(&dw.nd, &sum.nd);
}

/* dy broadcasts to self. */
asn_status asn_planner_prelu(asnd_call *c) {
    bool backward = c->op->arg == 1;
    int self = backward ? 1 : 0, weight = self + 1, out = self + 2;
    const asnd_nd *x = asn_call_nd(c, self), *w = asn_call_nd(c, weight);
    bool single = asn_nd_size(w) == 1;
    ASN_TRY(asn_norm_check(c, self, x->ndim, x->shape));
    ASN_TRY(asn_norm_check(c, weight, w->ndim, w->shape));
    if (!single && x->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: weight has %lld elements; it must have one, since self "
                             "has no channels",
                             c->op->name, (long long)asn_nd_size(w));
    if (!single) ASN_TRY(check_channels(c, weight, x));
    ASN_TRY(asn_norm_check(c, out, x->ndim, x->shape));
    if (backward) {
        const asnd_nd *dy = asn_call_nd(c, 0);
        bool fits = asn_nd_broadcasts(dy, x->ndim, x->shape);
        ASN_TRY(
            asn_norm_check(c, 0, fits ? dy->ndim : x->ndim, fits ? dy->shape : x->shape));
        ASN_TRY(asn_call_floating(c, out + 1));
        if (single)
            ASN_TRY(asn_call_one_element(c, out + 1));
        else
            ASN_TRY(check_channels(c, out + 1, x));
    }
    if (asn_call_operand(c, backward ? out + 1 : out)->is_empty) return ASN_OK;
    prelu_plan *p =
        asn_call_plan(c, prelu_body, sizeof *p, 300 + 2 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = backward ? c->first[0] : -1;
    p->self = c->first[self];
    p->weight = c->first[weight];
    p->out = c->first[out];
    p->dw = backward ? c->first[out + 1] : -1;
    p->single = single;
    return ASN_OK;
}
