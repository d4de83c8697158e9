/* CPU device, operators: one step of Adam (Kingma and Ba, "Adam: a method for stochastic
 * optimization", 2015) and of AdamW (Loshchilov and Hutter, "Decoupled weight decay
 * regularization", 2019): ApplyAdam, ApplyAdamW, ApplyAdamWV2, and FusedAdam for lists.
 *
 * m and v are the running means of the gradient g and of its square. Step t makes
 *
 *     var = var * (1 - lr * decay) - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t))
 * + eps)
 *
 * maximize turns the gradient's sign. They differ in where t comes from (a step, or
 * powers of beta), in the decay (of AdamW as above; FusedAdam adds decay * var to the
 * gradient, as PyTorch's Adam), and with amsgrad in what the maximum is taken of: the
 * corrected v in ApplyAdamWV2, as CANN documents it, the plain one in the others.
 */
#include <math.h>

#include "device/opapi/nn/norm.h"

/* What a step works on. top: the maximum of amsgrad, or NULL. */
typedef struct {
    const asnd_nd *var, *m, *v, *top, *grad;
} adam_tensors;

/* The step's numbers. first, second: 1 - beta^t of m and v; scale divides the gradient.
 */
typedef struct {
    double lr, beta1, beta2, decay, eps, first, second, scale;
    bool maximize;
    bool coupled;       /* the decay is a part of the gradient */
    bool top_corrected; /* the maximum is of the corrected v */
    bool keeps_top;     /* it is written back */
    bool nesterov;      /* the step takes m as the next one will see it */
} adam_numbers;

/* a as a value of dtype t. */
static int in_as(asnd_prog *p, const asnd_nd *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, a), t);
}

/* value op number; value itself where that changes nothing. */
static int with(asnd_prog *p, asn_op op, int value, double number, asn_dtype t) {
    if (number == 1 && (op == ASN_OP_MULTIPLY || op == ASN_OP_DIVIDE)) return value;
    return asn_prog_op2(p, op, value, asn_prog_const(p, t, number));
}

/* old * beta + new * (1 - beta) */
static int blend(asnd_prog *p, int old, int new, double beta, asn_dtype t) {
    old = asn_prog_op2(p, ASN_OP_MULTIPLY, old, asn_prog_const(p, t, beta));
    new = asn_prog_op2(p, ASN_OP_MULTIPLY, new, asn_prog_const(p, t, 1 - beta));
    return asn_prog_op2(p, ASN_OP_ADD, old, new);
}

/* The gradient as the step takes it; x: var. */
static int gradient(asnd_prog *p, const adam_tensors *a, const adam_numbers *n, int x,
                    asn_dtype t) {
    int g = with(p, ASN_OP_DIVIDE, in_as(p, a->grad, t), n->scale, t);
    if (n->maximize) g = asn_prog_op1(p, ASN_OP_NEGATIVE, g);
    if (!n->coupled || n->decay == 0) return g;
    return asn_prog_op2(p, ASN_OP_ADD, g, with(p, ASN_OP_MULTIPLY, x, n->decay, t));
}

/* One fused pass with up to four outputs, each in place: an element is read before it is
 * written. The step's corrections are numbers, computed once in double precision. */
static asn_status adam_step(const adam_tensors *a, const adam_numbers *n) {
    asn_dtype t = a->var->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    asnd_prog p;
    asn_prog_begin(&p, a->var->ndim, a->var->shape, 0);
    int x = in_as(&p, a->var, t), g = gradient(&p, a, n, x, t);
    int m = blend(&p, in_as(&p, a->m, t), g, n->beta1, t);
    int v = blend(&p, in_as(&p, a->v, t), asn_prog_op2(&p, ASN_OP_MULTIPLY, g, g),
                  n->beta2, t);
    int second = n->top_corrected ? with(&p, ASN_OP_DIVIDE, v, n->second, t) : v, top = 0;
    if (a->top != NULL)
        second = top = asn_prog_op2(&p, ASN_OP_MAXIMUM, in_as(&p, a->top, t), second);
    /* Corrections are factors of the root and of the rate: one division for each element.
     */
    int root = asn_prog_op1(&p, ASN_OP_SQRT, second);
    if (!n->top_corrected) root = with(&p, ASN_OP_MULTIPLY, root, 1 / sqrt(n->second), t);
    root = asn_prog_op2(&p, ASN_OP_ADD, root, asn_prog_const(&p, t, n->eps));
    int way = n->nesterov ? blend(&p, m, g, n->beta1, t) : m;
    int move = asn_prog_op2(&p, ASN_OP_DIVIDE, way, root);
    move = with(&p, ASN_OP_MULTIPLY, move, n->lr / n->first, t);
    if (!n->coupled) x = with(&p, ASN_OP_MULTIPLY, x, 1 - n->lr * n->decay, t);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, move);
    asn_prog_out(&p, m, a->m);
    asn_prog_out(&p, v, a->v);
    if (a->top != NULL && n->keeps_top) asn_prog_out(&p, top, a->top);
    asn_prog_out(&p, x, a->var);
    return asn_prog_run(&p);
}

/* The one number that an operand holds. */
static double number_of(const aclOpExecutor *e, int operand) {
    const asnd_nd *a = asn_exec_nd(e, operand);
    return asn_value_to_double(a->dtype, a->data);
}

/* Parameter i, unless it is NULL, is a tensor of one real number. */
static asn_status check_number(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL || (asn_nd_size(a) == 1 && !asn_is_complex(a->dtype))) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has %lld elements of dtype %s; it must be one real number",
        c->op->name, c->op->params[i].name, (long long)asn_nd_size(a),
        asn_dtype_name(a->dtype));
}

/* amsgrad needs parameter i. */
static asn_status check_top(const asnd_call *c, int i, bool amsgrad) {
    if (!amsgrad || c->first[i] >= 0) return ASN_OK;
    return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but amsgrad needs it",
                         c->op->name, c->op->params[i].name);
}

/* ---- one tensor */

/* Operands: top is -1 without amsgrad. numbers: of beta1Power, beta2Power, lr, then of
 * the weight decay or -1, beta1, beta2, eps; -1: known already. step: or -1. */
typedef struct {
    asnd_plan_head head;
    int var, m, v, top, grad, step, numbers[7];
    bool powers_before; /* the powers are of the step before */
    adam_numbers n;
} adam_plan;

/* The numbers that come as tensors are read when the operator runs. */
static asn_status adam_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const adam_plan *a = plan;
    adam_numbers n = a->n;
    if (a->step >= 0) {
        double count = number_of(e, a->step) + 1;
        n.first = 1 - pow(n.beta1, count);
        n.second = 1 - pow(n.beta2, count);
    } else {
        n.lr = number_of(e, a->numbers[2]);
        n.decay = a->numbers[3] < 0 ? 0 : number_of(e, a->numbers[3]);
        n.beta1 = number_of(e, a->numbers[4]);
        n.beta2 = number_of(e, a->numbers[5]);
        n.eps = number_of(e, a->numbers[6]);
        n.first = 1 - number_of(e, a->numbers[0]) * (a->powers_before ? n.beta1 : 1);
        n.second = 1 - number_of(e, a->numbers[1]) * (a->powers_before ? n.beta2 : 1);
        if (!a->powers_before) { /* eps beside the uncorrected root */
            n.lr *= sqrt(n.second);
            n.second = 1;
        }
    }
    adam_tensors t = {asn_exec_nd(e, a->var), asn_exec_nd(e, a->m), asn_exec_nd(e, a->v),
                      a->top < 0 ? NULL : asn_exec_nd(e, a->top),
                      asn_exec_nd(e, a->grad)};
    return adam_step(&t, &n);
}

/* A plan for the tensors var, m, v (parameters 0 to 2), grad and top (parameters; -1:
 * none), which have var's shape. *p stays NULL where nothing is to do. */
static asn_status plan_adam(asnd_call *c, int grad, int top, bool amsgrad,
                            adam_plan **p) {
    const asnd_nd *var = asn_call_nd(c, 0);
    *p = NULL;
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_norm_check(c, i, var->ndim, var->shape));
    ASN_TRY(asn_norm_check(c, grad, var->ndim, var->shape));
    if (top >= 0) {
        ASN_TRY(asn_norm_check(c, top, var->ndim, var->shape));
        ASN_TRY(check_top(c, top, amsgrad));
    }
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    adam_plan *a =
        asn_call_plan(c, adam_body, sizeof *a, 500 + 3 * (double)asn_nd_size(var));
    if (a == NULL) return ASN_ERR_MEMORY;
    a->var = c->first[0];
    a->m = c->first[1];
    a->v = c->first[2];
    a->top = amsgrad ? c->first[top] : -1;
    a->grad = c->first[grad];
    a->step = -1;
    a->powers_before = false;
    a->n = (adam_numbers){.scale = 1};
    *p = a;
    return ASN_OK;
}

/* ApplyAdamWV2(varRef, mRef, vRef, maxGradNormOptionalRef, grad, step, lr, beta1, beta2,
 * weightDecay, eps, amsgrad, maximize): step is a tensor of one number, the steps before
 * this one (torch_npu gives one less than PyTorch's count, which already has this one).
 */
asn_status asn_planner_adam(asnd_call *c) {
    adam_plan *p;
    bool amsgrad = asn_call_int(c, 11) != 0;
    ASN_TRY(check_number(c, 5));
    ASN_TRY(plan_adam(c, 4, 3, amsgrad, &p));
    if (p == NULL) return ASN_OK;
    p->step = c->first[5];
    p->n.lr = asn_call_double(c, 6);
    p->n.beta1 = asn_call_double(c, 7);
    p->n.beta2 = asn_call_double(c, 8);
    p->n.decay = asn_call_double(c, 9);
    p->n.eps = asn_call_double(c, 10);
    p->n.maximize = asn_call_int(c, 12) != 0;
    p->n.top_corrected = p->n.keeps_top = true;
    return ASN_OK;
}

/* ApplyAdamW(varRef, mRef, vRef, beta1Power, beta2Power, lr, weightDecay, beta1, beta2,
 * eps, grad, maxGradNormOptional, amsgrad, maximize), the powers of the step before;
 * ApplyAdam (arg 1) (varRef, mRef, vRef, beta1Power, beta2Power, lr, beta1, beta2,
 * epsilon, grad, useLocking, useNesterov) with those of this step, lr * sqrt(1 -
 * beta2Power) / (1 - beta1Power) as its rate and eps beside the root of the uncorrected
 * v, as TensorFlow's. */
asn_status asn_planner_adam_powers(asnd_call *c) {
    adam_plan *p;
    bool plain = c->op->arg == 1;
    int grad = plain ? 9 : 10, top = plain ? -1 : 11;
    for (int i = 3; i < grad; i++)
        ASN_TRY(check_number(c, i));
    ASN_TRY(plan_adam(c, grad, top, !plain && asn_call_int(c, 12) != 0, &p));
    if (p == NULL) return ASN_OK;
    for (int i = 0, from = 3; i < 7; i++)
        p->numbers[i] = plain && i == 3 ? -1 : c->first[from++];
    p->powers_before = !plain;
    p->n.maximize = !plain && asn_call_int(c, 13) != 0;
    p->n.nesterov = plain && asn_call_int(c, 11) != 0;
    return ASN_OK;
}

/* ---- lists */

/* Operands of the lists' first members; top, scale, found: -1 where there is none. */
typedef struct {
    asnd_plan_head head;
    int count, var, grad, m, v, top, step, scale, found;
    adam_numbers n;
} fused_adam_plan;

/* Nothing where foundInf is not 0. The steps are those before this one. */
static asn_status fused_adam_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const fused_adam_plan *a = plan;
    adam_numbers n = a->n;
    if (a->found >= 0 && number_of(e, a->found) != 0) return ASN_OK;
    if (a->scale >= 0) n.scale = number_of(e, a->scale);
    for (int k = 0; k < a->count; k++) {
        if (e->operands[a->var + k].is_empty) continue;
        double count = number_of(e, a->step + k) + 1;
        n.first = 1 - pow(n.beta1, count);
        n.second = 1 - pow(n.beta2, count);
        adam_tensors t = {asn_exec_nd(e, a->var + k), asn_exec_nd(e, a->m + k),
                          asn_exec_nd(e, a->v + k),
                          a->top < 0 ? NULL : asn_exec_nd(e, a->top + k),
                          asn_exec_nd(e, a->grad + k)};
        ASN_TRY(adam_step(&t, &n));
    }
    return ASN_OK;
}

/* Parameter i is a list of `count` floating tensors of the shapes of parameter 0's; `top`
 * may be shorter, and a step has at least one element. */
static asn_status check_list(asnd_call *c, int i, int64_t count, bool steps) {
    if (asn_call_array(c, i)->size != (uint64_t)count)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %lld tensors, %s %lld",
                             c->op->name, c->op->params[0].name, (long long)count,
                             c->op->params[i].name,
                             (long long)asn_call_array(c, i)->size);
    for (int k = 0; k < count; k++) {
        const asnd_operand *var = &c->e->operands[c->first[0] + k],
                           *o = &c->e->operands[c->first[i] + k];
        if (var->is_absent || o->is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s has a NULL member",
                                 c->op->name, c->op->params[var->is_absent ? 0 : i].name);
        char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
        bool fits =
            steps ? asn_nd_size(&o->nd) > 0 && !asn_is_complex(o->nd.dtype)
                  : asn_nd_same_shape(&o->nd, &var->nd) && asn_is_floating(o->nd.dtype);
        if (!fits)
            return asn_error_set(
                ASN_ERR_VALUE, "%s: %s[%d] has shape %s and dtype %s; it must be %s%s",
                c->op->name, c->op->params[i].name, k,
                asn_shape_text(got, o->nd.ndim, o->nd.shape), asn_dtype_name(o->nd.dtype),
                steps ? "a real number" : "floating, of shape ",
                steps ? "" : asn_shape_text(want, var->nd.ndim, var->nd.shape));
    }
    return ASN_OK;
}

/* FusedAdam(paramsRef, grads, expAvgsRef, expAvgSqsRef, maxExpAvgSqsRef, stateSteps,
 * gradScaleOptional, foundInfOptional, lr, beta1, beta2, weightDecay, eps, amsgrad,
 * maximize). PyTorch's own call passes each step less one, so steps count from 0. */
asn_status asn_planner_fused_adam(asnd_call *c) {
    int64_t count = (int64_t)asn_call_array(c, 0)->size, elements = 0;
    bool amsgrad = asn_call_int(c, 13) != 0;
    for (int i = 0; i < 4; i++)
        ASN_TRY(check_list(c, i, count, false));
    ASN_TRY(check_top(c, 4, amsgrad));
    if (amsgrad) ASN_TRY(check_list(c, 4, count, false));
    ASN_TRY(check_list(c, 5, count, true));
    ASN_TRY(check_number(c, 6));
    ASN_TRY(check_number(c, 7));
    for (int k = 0; k < count; k++)
        elements += asn_nd_size(&c->e->operands[c->first[0] + k].nd);
    if (elements == 0) return ASN_OK;
    fused_adam_plan *p = asn_call_plan(c, fused_adam_body, sizeof *p,
                                       500 * (double)count + 3 * (double)elements);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->count = (int)count;
    p->var = c->first[0];
    p->grad = c->first[1];
    p->m = c->first[2];
    p->v = c->first[3];
    p->top = amsgrad ? c->first[4] : -1;
    p->step = c->first[5];
    p->scale = c->first[6];
    p->found = c->first[7];
    p->n = (adam_numbers){.lr = asn_call_double(c, 8),
                          .beta1 = asn_call_double(c, 9),
                          .beta2 = asn_call_double(c, 10),
                          .decay = asn_call_double(c, 11),
                          .eps = asn_call_double(c, 12),
                          .scale = 1,
                          .maximize = asn_call_int(c, 14) != 0,
                          .coupled = true,
                          .keeps_top = true};
    return ASN_OK;
}
