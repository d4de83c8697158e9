/* CPU device, operators: BatchNorm and its gradient. Dimension 1 is the channel;
 * statistics run over all others.
 *
 * Training takes the batch's statistics and moves the running ones towards them (the
 * variance unbiased there); otherwise the running ones are used, and saveMean and
 * saveInvstd receive what was used.
 *
 * The passes are norm.c's; what is here is which statistics they use. Statistics are made
 * in temporaries of the arithmetic's dtype and saved behind.
 */
#include "device/opapi/nn/norm.h"

/* Operands of both directions; out is the input's gradient backwards. */
typedef struct {
    asnd_plan_head head;
    int in, weight, bias, out, running_mean, running_variance, mean, invstd;
    int dy, dw, db; /* operands; -1: absent */
    bool training;
    double eps, momentum;
} batch_plan;

/* Statistics over every dimension but 1, the channel's. */
static void begin(asnd_norm *n, const asnd_nd *x) {
    asn_norm_begin(n, x, ((UINT64_C(2) << (x->ndim - 1)) - 1) & ~UINT64_C(2));
}

/* The view of a tensor of one value per channel in x's space, or NULL when it is
 * absent. */
static const asnd_nd *channels(aclOpExecutor *e, int operand, const asnd_norm *n,
                               asnd_view *v) {
    if (operand < 0) return NULL;
    asn_norm_spread(v, asn_exec_nd(e, operand), n, n->mask);
    return &v->nd;
}

/* running = (1 - momentum) * running + momentum * factor * now, in place. factor makes
 * the biased variance unbiased. */
static asn_status move_towards(const asnd_norm *n, const asnd_view *running,
                               const asnd_view *now, double momentum, double factor) {
    asnd_prog p;
    asn_prog_begin(&p, n->x->ndim, now->shape, 0);
    int old = asn_prog_as(&p, asn_prog_in(&p, &running->nd), n->t);
    old = asn_prog_op2(&p, ASN_OP_MULTIPLY, old, asn_prog_const(&p, n->t, 1 - momentum));
    int x = asn_prog_in(&p, &now->nd);
    x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, asn_prog_const(&p, n->t, factor));
    x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, asn_prog_const(&p, n->t, momentum));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_ADD, old, x), &running->nd);
    return asn_prog_run(&p);
}

/* Writes one value per channel to an output that is wanted. */
static asn_status save(aclOpExecutor *e, int operand, const asnd_norm *n,
                       const asnd_view *from) {
    asnd_view to;
    if (channels(e, operand, n, &to) == NULL) return ASN_OK;
    return asn_move(&to.nd, &from->nd);
}

/* rstd holds the variance until asn_norm_rstd, in place, makes it what its name says: the
 * running variance must be moved by the variance itself. */
static asn_status batch_norm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const batch_plan *b = plan;
    asnd_norm n;
    begin(&n, asn_exec_nd(e, b->in));
    asnd_view mean, rstd, running, weight, bias;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
    if (b->training) {
        ASN_TRY(asn_norm_statistics(&n, &mean, &rstd));
        if (channels(e, b->running_mean, &n, &running))
            ASN_TRY(move_towards(&n, &running, &mean, b->momentum, 1));
        /* Of one element per channel the unbiased variance is NaN. */
        if (channels(e, b->running_variance, &n, &running))
            ASN_TRY(
                move_towards(&n, &running, &rstd, b->momentum, n.count / (n.count - 1)));
    } else {
        (void)channels(e, b->running_mean, &n, &running);
        ASN_TRY(asn_move(&mean.nd, &running.nd));
        (void)channels(e, b->running_variance, &n, &running);
        ASN_TRY(asn_move(&rstd.nd, &running.nd));
    }
    ASN_TRY(asn_norm_rstd(&n, &rstd, &rstd, b->eps));
    ASN_TRY(save(e, b->mean, &n, &mean));
    ASN_TRY(save(e, b->invstd, &n, &rstd));
    /* The gradients that are not wanted stay NULL. */
    asnd_norm_params q = {.mean = &mean.nd,
                          &rstd.nd,
                          channels(e, b->weight, &n, &weight),
                          channels(e, b->bias, &n, &bias)};
    return asn_norm_apply(&n, &q, asn_exec_nd(e, b->out));
}

/* Without training the running statistics are constants (frozen): the gradient then has
 * no terms of the means. */
static asn_status batch_norm_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const batch_plan *b = plan;
    asnd_norm n;
    begin(&n, asn_exec_nd(e, b->in));
    asnd_view mean, rstd, variance, weight, dw, db;
    if (b->training) {
        (void)channels(e, b->mean, &n, &mean);
        (void)channels(e, b->invstd, &n, &rstd);
    } else {
        (void)channels(e, b->running_mean, &n, &mean);
        (void)channels(e, b->running_variance, &n, &variance);
        ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
        ASN_TRY(asn_norm_rstd(&n, &rstd, &variance, b->eps));
    }
    asnd_norm_params q = {
        .mean = &mean.nd, &rstd.nd, channels(e, b->weight, &n, &weight), NULL};
    asnd_norm_grads g = {
        .dy = asn_exec_nd(e, b->dy), NULL, NULL, NULL, n.mask, !b->training};
    if (b->out >= 0) g.dx = asn_exec_nd(e, b->out);
    if (channels(e, b->dw, &n, &dw)) g.dw = &dw;
    if (channels(e, b->db, &n, &db)) g.db = &db;
    return asn_norm_backward(&n, &q, &g, tmp);
}

/* ---- planning */

/* Checks the input, and parameters [first, last], one value per channel each (or
 * NULL). */
static asn_status check_input(const asnd_call *c, int input, int first, int last) {
    const asnd_nd *in = asn_call_nd(c, input);
    if (in->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has %d dimensions; it must have two or more, the "
                             "second the channel",
                             c->op->name, c->op->params[input].name, in->ndim);
    ASN_TRY(asn_norm_check(c, input, in->ndim, in->shape));
    for (int i = first; i <= last; i++)
        ASN_TRY(asn_norm_check(c, i, 1, in->shape + 1));
    return ASN_OK;
}

/* Without training both running statistics must be there. i: the mean's parameter, the
 * variance's behind it. */
static asn_status running_needed(const asnd_call *c, int i, bool training) {
    if (training || (c->first[i] >= 0 && c->first[i + 1] >= 0)) return ASN_OK;
    return asn_error_set(ASN_ERR_NULL_POINTER,
                         "%s: without training, %s and %s are needed", c->op->name,
                         c->op->params[i].name, c->op->params[i + 1].name);
}

/* An output's operand; -1 when it has no elements, and so does not take part. */
static int unless_empty(const asnd_call *c, int i) {
    return c->first[i] < 0 || asn_call_operand(c, i)->is_empty ? -1 : c->first[i];
}

/* BatchNorm(input, weight, bias, runningMean, runningVar, training, momentum, eps,
 * output, saveMean, saveInvstd) */
asn_status asn_planner_batch_norm(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    bool training = asn_call_int(c, 5) != 0;
    ASN_TRY(check_input(c, 0, 1, 4));
    ASN_TRY(running_needed(c, 3, training));
    ASN_TRY(asn_norm_check(c, 8, in->ndim, in->shape));
    for (int i = 9; i < 11; i++)
        if (training || unless_empty(c, i) >= 0)
            ASN_TRY(asn_norm_check(c, i, 1, in->shape + 1));
    /* Other empty inputs have statistics to save: NaN. */
    if (in->shape[1] == 0) return ASN_OK;
    batch_plan *p =
        asn_call_plan(c, batch_norm_body, sizeof *p, 500 + 3 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->weight = c->first[1];
    p->bias = c->first[2];
    p->running_mean = c->first[3];
    p->running_variance = c->first[4];
    p->training = training;
    p->momentum = asn_call_double(c, 6);
    p->eps = asn_call_double(c, 7);
    p->out = c->first[8];
    p->mean = unless_empty(c, 9);
    p->invstd = unless_empty(c, 10);
    return ASN_OK;
}

/* BatchNormBackward(gradOut, input, weight, runningMean, runningVar, saveMean,
 * saveInvstd, training, eps, outputMask, gradInput, gradWeight, gradBias) */
asn_status asn_planner_batch_norm_backward(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 1);
    bool training = asn_call_int(c, 7) != 0, wanted[3];
    ASN_TRY(check_input(c, 1, 2, training ? 2 : 4));
    ASN_TRY(running_needed(c, 3, training));
    for (int i = 5; i < 7 && training; i++) {
        if (c->first[i] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL", c->op->name,
                                 c->op->params[i].name);
        ASN_TRY(asn_norm_check(c, i, 1, in->shape + 1));
    }
    ASN_TRY(asn_norm_output_mask(c, 9, 3, wanted));
    ASN_TRY(asn_norm_check(c, 0, in->ndim, in->shape));
    if (wanted[0]) ASN_TRY(asn_norm_check(c, 10, in->ndim, in->shape));
    for (int i = 1; i < 3; i++)
        if (wanted[i]) ASN_TRY(asn_norm_check(c, 10 + i, 1, in->shape + 1));
    if (in->shape[1] == 0) return ASN_OK;
    batch_plan *p = asn_call_plan(c, batch_norm_backward_body, sizeof *p,
                                  500 + 5 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->in = c->first[1];
    p->weight = c->first[2];
    p->running_mean = c->first[3];
    p->running_variance = c->first[4];
    p->mean = c->first[5];
    p->invstd = c->first[6];
    p->training = training;
    p->eps = asn_call_double(c, 8);
    p->out = wanted[0] ? c->first[10] : -1;
    p->dw = wanted[1] ? c->first[11] : -1;
    p->db = wanted[2] ? c->first[12] : -1;
    return ASN_OK;
}
