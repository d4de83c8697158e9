/* CPU device, operators: ApplyAdamWV2, one step of the optimiser AdamW (Loshchilov and
 * Hutter, "Decoupled weight decay regularization", 2019), as CANN documents it: with
 * amsgrad the maximum is taken of the corrected second moment.
 *
 * m and v are the running means of the gradient and of its square; step t makes var = var
 * * (1 - lr * decay) - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
 * maximize turns the gradient's sign.
 */
#include <math.h>

#include "device/opapi/nn/norm.h"

/* Operands: top is the maximum of amsgrad, -1 without it. */
typedef struct {
    asnd_plan_head head;
    int var, m, v, top, grad, step;
    double lr, beta1, beta2, decay, eps;
    bool amsgrad, maximize;
} adam_plan;

/* a as a value of dtype t. */
static int in_as(asnd_prog *p, const asnd_nd *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, a), t);
}

/* old * beta + new * (1 - beta) */
static int blend(asnd_prog *p, int old, int new, double beta, asn_dtype t) {
    old = asn_prog_op2(p, ASN_OP_MULTIPLY, old, asn_prog_const(p, t, beta));
    new = asn_prog_op2(p, ASN_OP_MULTIPLY, new, asn_prog_const(p, t, 1 - beta));
    return asn_prog_op2(p, ASN_OP_ADD, old, new);
}

/* One fused pass with up to four outputs, each in place: an element is read before it is
 * written. The step's corrections are numbers, computed once in double precision. */
static asn_status adam_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const adam_plan *a = plan;
    const asnd_nd *var = asn_exec_nd(e, a->var), *step = asn_exec_nd(e, a->step);
    asn_dtype t = var->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    double count = asn_value_to_double(step->dtype, step->data);
    asnd_prog p;
    asn_prog_begin(&p, var->ndim, var->shape, 0);
    int g = in_as(&p, asn_exec_nd(e, a->grad), t);
    if (a->maximize) g = asn_prog_op1(&p, ASN_OP_NEGATIVE, g);
    int m = blend(&p, in_as(&p, asn_exec_nd(e, a->m), t), g, a->beta1, t);
    int v = blend(&p, in_as(&p, asn_exec_nd(e, a->v), t),
                  asn_prog_op2(&p, ASN_OP_MULTIPLY, g, g), a->beta2, t);
    int first = asn_prog_const(&p, t, 1 - pow(a->beta1, count));
    int second = asn_prog_const(&p, t, 1 - pow(a->beta2, count));
    first = asn_prog_op2(&p, ASN_OP_DIVIDE, m, first);
    second = asn_prog_op2(&p, ASN_OP_DIVIDE, v, second);
    if (a->amsgrad)
        second = asn_prog_op2(&p, ASN_OP_MAXIMUM, in_as(&p, asn_exec_nd(e, a->top), t),
                              second);
    int root = asn_prog_op1(&p, ASN_OP_SQRT, second);
    root = asn_prog_op2(&p, ASN_OP_ADD, root, asn_prog_const(&p, t, a->eps));
    int move = asn_prog_op2(&p, ASN_OP_DIVIDE, first, root);
    move = asn_prog_op2(&p, ASN_OP_MULTIPLY, move, asn_prog_const(&p, t, a->lr));
    int x = in_as(&p, var, t);
    x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, asn_prog_const(&p, t, 1 - a->lr * a->decay));
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, move);
    asn_prog_out(&p, m, asn_exec_nd(e, a->m));
    asn_prog_out(&p, v, asn_exec_nd(e, a->v));
    if (a->amsgrad) asn_prog_out(&p, second, asn_exec_nd(e, a->top));
    asn_prog_out(&p, x, var);
    return asn_prog_run(&p);
}

/* ApplyAdamWV2(varRef, mRef, vRef, maxGradNormOptionalRef, grad, step, lr, beta1, beta2,
 * weightDecay, eps, amsgrad, maximize) */
/* ApplyAdamWV2(varRef, mRef, vRef, maxGradNormOptionalRef, grad, step, lr, beta1, beta2,
 * weightDecay, eps, amsgrad, maximize): step is a tensor of one number, read when it
 * runs. */
asn_status asn_planner_adam(asnd_call *c) {
    const asnd_nd *var = asn_call_nd(c, 0), *step = asn_call_nd(c, 5);
    for (int i = 0; i < 5; i++)
        ASN_TRY(asn_norm_check(c, i, var->ndim, var->shape));
    bool amsgrad = asn_call_int(c, 11) != 0;
    if (amsgrad && c->first[3] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but amsgrad needs it",
                             c->op->name, c->op->params[3].name);
    if (asn_nd_size(step) != 1 || asn_is_complex(step->dtype))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: step has %lld elements of dtype %s; it must be one "
                             "real number",
                             c->op->name, (long long)asn_nd_size(step),
                             asn_dtype_name(step->dtype));
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    adam_plan *p =
        asn_call_plan(c, adam_body, sizeof *p, 500 + 3 * (double)asn_nd_size(var));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->var = c->first[0];
    p->m = c->first[1];
    p->v = c->first[2];
    p->top = c->first[3];
    p->grad = c->first[4];
    p->step = c->first[5];
    p->lr = asn_call_double(c, 6);
    p->beta1 = asn_call_double(c, 7);
    p->beta2 = asn_call_double(c, 8);
    p->decay = asn_call_double(c, 9);
    p->eps = asn_call_double(c, 10);
    p->amsgrad = amsgrad;
    p->maximize = asn_call_int(c, 12) != 0;
    return ASN_OK;
}
