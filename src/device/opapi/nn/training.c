/* CPU device, operators: training in mixed precision, and stochastic gradient descent,
 * as PyTorch's operators of the same names.
 *
 * Unscaling multiplies gradients and notes whether one is infinite or NaN; the scale of
 * the loss then shrinks at once, or grows after so many steps without. What is one number
 * on the device is read when the operator runs.
 */
#include <math.h>

#include "device/opapi/nn/norm.h"

/* The tensor at parameter i is one real number. */
static asn_status one_number(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (asn_nd_size(a) == 1 && !asn_is_complex(a->dtype)) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has %lld elements of dtype %s; it must be one real number",
        c->op->name, c->op->params[i].name, (long long)asn_nd_size(a),
        asn_dtype_name(a->dtype));
}

/* Of whatever real dtype. */
static double number(const aclOpExecutor *e, int operand) {
    const asnd_nd *a = &e->operands[operand].nd;
    return asn_value_to_double(a->dtype, a->data);
}

/* Rounded to the tensor's dtype. */
static void number_set(aclOpExecutor *e, int operand, double value) {
    const asnd_nd *a = &e->operands[operand].nd;
    asn_value_from_double(a->dtype, a->data, value);
}

/* ---- ForeachNonFiniteCheckAndUnscale(scaledGrads, foundInf, inScale): x = x * inScale;
 * foundInf becomes 1 where an x is infinite or NaN, else it stays */

/* Operands: the members from `first` on. */
typedef struct {
    asnd_plan_head head;
    int first, count, found, scale;
} unscale_plan;

/* Whether all of a tensor is finite, then the product in its place. */
static asn_status unscale(const asnd_nd *x, double scale, bool *finite) {
    asn_dtype t = x->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    /* Looked for before the product, which may be infinite where the gradient was not. */
    uint8_t all = 1;
    int64_t strides[ASN_ND_MAX_DIMS] = {0};
    asnd_nd kept = {.data = (char *)&all,
                    .dtype = ASN_BOOL,
                    .ndim = x->ndim,
                    .shape = x->shape,
                    .strides = strides};
    asnd_prog p;
    uint64_t every = x->ndim > 0 ? (UINT64_C(2) << (x->ndim - 1)) - 1 : 0;
    asn_prog_begin(&p, x->ndim, x->shape, every);
    int value = asn_prog_as(&p, asn_prog_in(&p, x), t);
    asn_prog_reduce(&p, ASN_OP_LOGICAL_AND, asn_prog_op1(&p, ASN_OP_ISFINITE, value),
                    &kept);
    ASN_TRY(asn_prog_run(&p));
    *finite = all != 0;
    asn_prog_begin(&p, x->ndim, x->shape, 0);
    value = asn_prog_as(&p, asn_prog_in(&p, x), t);
    asn_prog_out(
        &p, asn_prog_op2(&p, ASN_OP_MULTIPLY, value, asn_prog_const(&p, t, scale)), x);
    return asn_prog_run(&p);
}

/* Tensor after tensor: what is infinite in one does not stop the others. */
static asn_status unscale_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const unscale_plan *u = plan;
    double scale = number(e, u->scale);
    bool all = true;
    for (int k = 0; k < u->count; k++) {
        if (e->operands[u->first + k].is_empty) continue;
        bool finite = true;
        ASN_TRY(unscale(asn_exec_nd(e, u->first + k), scale, &finite));
        all &= finite;
    }
    if (!all) number_set(e, u->found, 1);
    return ASN_OK;
}

/* Members may have different dtypes and shapes. */
asn_status asn_planner_unscale(asnd_call *c) {
    int count = (int)asn_call_array(c, 0)->size;
    double elements = 0;
    ASN_TRY(one_number(c, 1));
    ASN_TRY(one_number(c, 2));
    for (int k = 0; k < count; k++) {
        const asnd_operand *o = &c->e->operands[c->first[0] + k];
        if (o->is_absent || !asn_is_floating(o->nd.dtype))
            return asn_error_set(
                o->is_absent ? ASN_ERR_NULL_POINTER : ASN_ERR_TYPE,
                "%s: member %d of scaledGrads must be a tensor of a real "
                "floating dtype",
                c->op->name, k);
        elements += (double)asn_nd_size(&o->nd);
    }
    if (count == 0) return ASN_OK;
    unscale_plan *p = asn_call_plan(c, unscale_body, sizeof *p, 300 + elements);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->first = c->first[0];
    p->count = count;
    p->found = c->first[1];
    p->scale = c->first[2];
    return ASN_OK;
}

/* ---- AmpUpdateScale(currentScale, growthTracker, foundInf, growthFactor, backoffFactor,
 * growthInterval, updatedScale, updatedGrowthTracker) */

/* Operands, and the numbers of the call. */
typedef struct {
    asnd_plan_head head;
    int scale, tracker, found, new_scale, new_tracker;
    double growth, backoff;
    int64_t interval;
} update_plan;

/* A scale that would no longer be finite stays. */
static asn_status update_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const update_plan *u = plan;
    double scale = number(e, u->scale), steps = number(e, u->tracker) + 1;
    if (number(e, u->found) != 0) {
        scale *= u->backoff;
        steps = 0;
    } else if (steps == (double)u->interval) {
        double grown = (float)(scale * u->growth);
        if (isfinite(grown)) scale = grown;
        steps = 0;
    }
    number_set(e, u->new_scale, scale);
    number_set(e, u->new_tracker, steps);
    return ASN_OK;
}

/* All tensors are single numbers; the outputs may be the inputs. */
asn_status asn_planner_amp_update_scale(asnd_call *c) {
    static const int tensors[] = {0, 1, 2, 6, 7};
    for (int k = 0; k < 5; k++)
        ASN_TRY(one_number(c, tensors[k]));
    update_plan *p = asn_call_plan(c, update_body, sizeof *p, 100);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->scale = c->first[0];
    p->tracker = c->first[1];
    p->found = c->first[2];
    p->growth = asn_call_double(c, 3);
    p->backoff = asn_call_double(c, 4);
    p->interval = asn_call_int(c, 5);
    p->new_scale = c->first[6];
    p->new_tracker = c->first[7];
    return ASN_OK;
}

/* ---- FusedSgd(params, grads, momentumBufferList, gradScale, weightDecay, momentum, lr,
 * dampening, nesterov, maximize, isFirstStep) */

/* The numbers are floats in CANN's interface. buffer: -1: there are none. */
typedef struct {
    asnd_plan_head head;
    int param, grad, buffer, scale, count;
    double decay, momentum, lr, dampening;
    bool nesterov, maximize, first;
} sgd_plan;

/* value * factor */
static int times(asnd_prog *p, asn_dtype t, int value, double factor) {
    return asn_prog_op2(p, ASN_OP_MULTIPLY, value, asn_prog_const(p, t, factor));
}

/* g = grad / scale, which is written back; g = -g to maximize, + decay * param; b = g at
 * first, else momentum * b + (1 - dampening) * g; the step is lr * b, with Nesterov
 * lr * (g + momentum * b). */
static asn_status sgd_step(aclOpExecutor *e, const sgd_plan *s, int k, double scale) {
    const asnd_nd *param = asn_exec_nd(e, s->param + k),
                  *grad = asn_exec_nd(e, s->grad + k);
    asn_dtype t = param->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    asnd_prog p;
    asn_prog_begin(&p, param->ndim, param->shape, 0);
    int x = asn_prog_as(&p, asn_prog_in(&p, param), t);
    int g = asn_prog_as(&p, asn_prog_in(&p, grad), t);
    if (s->scale >= 0) {
        g = asn_prog_op2(&p, ASN_OP_DIVIDE, g, asn_prog_const(&p, t, scale));
        asn_prog_out(&p, g, grad);
    }
    if (s->maximize) g = asn_prog_op1(&p, ASN_OP_NEGATIVE, g);
    if (s->decay != 0) g = asn_prog_op2(&p, ASN_OP_ADD, g, times(&p, t, x, s->decay));
    /* b = momentum b + (1 - dampening) g, in the first step g itself; the step is b, or
     * with Nesterov's momentum g + momentum b. */
    int step = g;
    if (s->buffer >= 0 && s->momentum != 0) {
        const asnd_nd *buffer = asn_exec_nd(e, s->buffer + k);
        int b = g;
        if (!s->first) {
            b = times(&p, t, asn_prog_as(&p, asn_prog_in(&p, buffer), t), s->momentum);
            b = asn_prog_op2(&p, ASN_OP_ADD, b, times(&p, t, g, 1 - s->dampening));
        }
        asn_prog_out(&p, b, buffer);
        step = s->nesterov ? asn_prog_op2(&p, ASN_OP_ADD, g, times(&p, t, b, s->momentum))
                           : b;
    }
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_SUBTRACT, x, times(&p, t, step, s->lr)),
                 param);
    return asn_prog_run(&p);
}

/* Parameter after parameter: each is one fused pass. */
static asn_status sgd_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const sgd_plan *s = plan;
    double scale = s->scale < 0 ? 1 : number(e, s->scale);
    for (int k = 0; k < s->count; k++)
        if (!e->operands[s->param + k].is_empty) ASN_TRY(sgd_step(e, s, k, scale));
    return ASN_OK;
}

/* Lists of one length whose members have one shape; buffers may be missing as a whole. */
static asn_status sgd_check(const asnd_call *c, double *elements) {
    uint64_t count = asn_call_array(c, 0)->size;
    for (int i = 0; i < 3; i++) {
        const asnd_array *list = asn_call_array(c, i);
        /* params, grads and momentum buffers; PyTorch makes the buffers on the first step
         * with momentum, so that a call without momentum has none. */
        if (i == 2 && (list == NULL || list->size == 0)) break;
        if (list->size != count)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s has %llu members, %s %llu",
                                 c->op->name, c->op->params[0].name,
                                 (unsigned long long)count, c->op->params[i].name,
                                 (unsigned long long)list->size);
        for (int k = 0; k < (int)count; k++) {
            const asnd_operand *o = &c->e->operands[c->first[i] + k],
                               *p = &c->e->operands[c->first[0] + k];
            if (o->is_absent || p->is_absent || !asn_is_floating(o->nd.dtype) ||
                !asn_nd_same_shape(&o->nd, &p->nd))
                return asn_error_set(ASN_ERR_VALUE,
                                     "%s: member %d of %s must be a tensor of a real "
                                     "floating dtype, and of the parameter's shape",
                                     c->op->name, k, c->op->params[i].name);
            *elements += (double)asn_nd_size(&o->nd);
        }
    }
    return ASN_OK;
}

/* Without momentum there are no buffers. */
asn_status asn_planner_fused_sgd(asnd_call *c) {
    double elements = 0;
    ASN_TRY(sgd_check(c, &elements));
    if (c->first[3] >= 0) ASN_TRY(one_number(c, 3));
    if (asn_call_array(c, 0)->size == 0) return ASN_OK;
    const asnd_array *buffers = asn_call_array(c, 2);
    if (asn_call_double(c, 5) != 0 && (buffers == NULL || buffers->size == 0))
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is %s, but momentum is %g",
                             c->op->name, c->op->params[2].name,
                             buffers ? "empty" : "NULL", asn_call_double(c, 5));
    sgd_plan *p = asn_call_plan(c, sgd_body, sizeof *p, 300 + elements);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->count = (int)asn_call_array(c, 0)->size;
    p->param = c->first[0];
    p->grad = c->first[1];
    p->buffer = buffers != NULL && buffers->size > 0 ? c->first[2] : -1;
    p->scale = c->first[3];
    p->decay = asn_call_double(c, 4);
    p->momentum = asn_call_double(c, 5);
    p->lr = asn_call_double(c, 6);
    p->dampening = asn_call_double(c, 7);
    p->nesterov = asn_call_int(c, 8) != 0;
    p->maximize = asn_call_int(c, 9) != 0;
    p->first = asn_call_int(c, 10) != 0;
    return ASN_OK;
}
