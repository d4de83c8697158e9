/* CPU device, operators: the cross entropy of a softmax, in one.
 *
 * SoftmaxCrossEntropyWithLogits(features, labels, loss, backprop), of (N, C) logits x and
 * distributions y: loss[n] = -sum y log softmax(x), backprop = softmax(x) - y.
 *
 * CrossEntropyLoss(input, target, weightOptional, reductionOptional, ignoreIndex,
 * labelSmoothing, lseSquareScaleForZloss, returnZloss, lossOut, logProbOut, zlossOut,
 * lseForZlossOut), torch.nn.functional.cross_entropy: with s the smoothing, w the
 * weights, t[n] the target and l = log softmax(x), row n has the loss
 *
 *     -(1 - s) w[t] l[t] - s / C sum_c w[c] l[c],
 *
 * 0 where t is ignoreIndex (below 0: no row is); the mean divides by the sum of w[t].
 * CrossEntropyLossGrad takes l back: with r the gradient of row n, divided by that sum
 * for a mean, and W = sum w,
 *
 *     exp(l[c]) ((1 - s) w[t] + s / C W) r - (s / C w[c] + [c = t] (1 - s) w[t]) r.
 *
 * The additional loss on the logarithm of the sum ("zloss") is not there in CANN either:
 * a call that asks for it is refused, and its outputs stay as they are.
 *
 * Everything over (N, C) is a fused program, in float32 or float64; what is one number
 * for a row is in float64.
 */
#include <string.h>

#include "device/opapi/core/formula.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/nn/norm.h"

/* a as a value of dtype t. */
static int value(asnd_prog *p, const asnd_nd *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, a), t);
}

/* lse = log sum_c exp(x[n, c]), kept. */
static asn_status log_sum(const asnd_norm *n, asnd_tmp *tmp, asnd_view *lse) {
    asnd_view most;
    asnd_prog p;
    /* Around the row's maximum, so that no exponential overflows. */
    ASN_TRY(asn_norm_kept(tmp, n, n->mask, &most));
    ASN_TRY(asn_norm_kept(tmp, n, n->mask, lse));
    asn_prog_begin(&p, 2, n->x->shape, n->mask);
    asn_prog_reduce(&p, ASN_OP_MAXIMUM, value(&p, n->x, n->t), &most.nd);
    ASN_TRY(asn_prog_run(&p));
    asn_prog_begin(&p, 2, n->x->shape, n->mask);
    int d = asn_prog_op2(&p, ASN_OP_SUBTRACT, value(&p, n->x, n->t),
                         asn_prog_in(&p, &most.nd));
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op1(&p, ASN_OP_EXP, d), &lse->nd);
    ASN_TRY(asn_prog_run(&p));
    int64_t one[2] = {lse->shape[0], 1};
    asn_prog_begin(&p, 2, one, 0);
    int log = asn_prog_op1(&p, ASN_OP_LOG, asn_prog_in(&p, &lse->nd));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_ADD, log, asn_prog_in(&p, &most.nd)),
                 &lse->nd);
    return asn_prog_run(&p);
}

/* ---- SoftmaxCrossEntropyWithLogits */

static asn_status softmax_cross_entropy_body(aclOpExecutor *e, void *plan,
                                             asnd_tmp *tmp) {
    const asnd_packed *q = plan;
    const asnd_nd *x = asn_exec_nd(e, q->at[0]), *y = asn_exec_nd(e, q->at[1]);
    const asnd_nd *loss = asn_exec_nd(e, q->at[2]), *grad = asn_exec_nd(e, q->at[3]);
    asnd_norm n;
    asnd_view lse, sum, row;
    asnd_prog p;
    asn_norm_begin(&n, x, UINT64_C(2));
    n.t = q->loop;
    ASN_TRY(log_sum(&n, tmp, &lse));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    asn_prog_begin(&p, 2, x->shape, n.mask);
    int l =
        asn_prog_op2(&p, ASN_OP_SUBTRACT, asn_prog_in(&p, &lse.nd), value(&p, x, n.t));
    int own = value(&p, y, n.t), zero = asn_prog_const(&p, n.t, 0);
    /* A class without probability has no part, however unlikely x makes it. */
    int none = asn_prog_op2(&p, ASN_OP_EQUAL, own, zero);
    int part = asn_prog_op2(&p, ASN_OP_MULTIPLY, l, own);
    part = asn_prog_op3(&p, ASN_OP_WHERE, none, zero, part);
    asn_prog_reduce(&p, ASN_OP_ADD, part, &sum.nd);
    ASN_TRY(asn_prog_run(&p));
    /* backprop may be the memory of features or labels, which both passes read: it is
     * written by way of a temporary. */
    asnd_view to;
    ASN_TRY(asn_tmp_view(tmp, grad->dtype, 2, x->shape, &to));
    asn_prog_begin(&p, 2, x->shape, 0);
    l = asn_prog_op2(&p, ASN_OP_SUBTRACT, value(&p, x, n.t), asn_prog_in(&p, &lse.nd));
    l = asn_prog_op1(&p, ASN_OP_EXP, l);
    l = asn_prog_op2(&p, ASN_OP_SUBTRACT, l, value(&p, y, n.t));
    asn_prog_out(&p, l, &to.nd);
    ASN_TRY(asn_prog_run(&p));
    asn_view_plain(&row, n.t, 1, x->shape, sum.nd.data);
    ASN_TRY(asn_move(loss, &row.nd));
    return asn_move(grad, &to.nd);
}

asn_status asn_planner_softmax_cross_entropy(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    for (int i = 0; i < 4; i++)
        ASN_TRY(asn_norm_check(c, i, i == 2 ? 1 : 2, x->shape));
    if (x->shape[0] == 0) return ASN_OK;
    if (x->shape[1] == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: features has no classes", c->op->name);
    asnd_packed *p =
        asn_packed_plan(c, softmax_cross_entropy_body, 500 + 6 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    /* One float64 operand makes the arithmetic float64; halves are computed in float32.
     */
    bool wide = x->dtype == ASN_F64 || asn_call_nd(c, 1)->dtype == ASN_F64;
    p->loop = wide ? ASN_F64 : ASN_F32;
    return ASN_OK;
}

/* ---- CrossEntropyLoss and its gradient */

/* Operands, -1: absent. x: input, or logProb. */
typedef struct {
    asnd_plan_head head;
    int x, target, weight, loss, out; /* loss: lossOut or gradLoss */
    int reduction;
    int64_t ignored;
    double smoothing;
    asn_dtype loop;
} entropy_plan;

/* The targets of a call, and for each row its weight, 0 where it is ignored. */
typedef struct {
    const int64_t *target;
    const double *weight; /* per class, or NULL */
    double *row;          /* w[t] */
    double total, all;    /* sums of row and of weight (or C) */
    int64_t rows, classes;
} entropy_rows;

/* Reads targets and weights; a target that is no class is an error. */
static asn_status read_rows(const entropy_plan *q, aclOpExecutor *e, const asnd_nd *x,
                            asnd_tmp *tmp, entropy_rows *r) {
    r->rows = x->shape[0];
    r->classes = x->shape[1];
    r->weight = NULL;
    r->total = r->all = 0;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, q->target), ASN_I64, tmp, &r->target));
    if (q->weight >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, q->weight), ASN_F64, tmp, &r->weight));
    r->row = asn_tmp_alloc(tmp, (size_t)(r->rows + 1) * sizeof *r->row);
    if (r->row == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < r->rows; i++) {
        int64_t t = r->target[i];
        /* Targets are read on the device's side: an asynchronous call reports a bad one
         * when its stream is waited for. */
        bool skip = q->ignored >= 0 && t == q->ignored;
        if (!skip && (t < 0 || t >= r->classes))
            return asn_error_set(ASN_ERR_INDEX,
                                 "target %lld is %lld; it must be in [0, "
                                 "%lld) or ignoreIndex",
                                 (long long)i, (long long)t, (long long)r->classes);
        r->row[i] = skip ? 0 : r->weight ? r->weight[t] : 1;
        r->total += r->row[i];
    }
    for (int64_t k = 0; k < r->classes; k++)
        r->all += r->weight ? r->weight[k] : 1;
    return ASN_OK;
}

/* Whether row i is ignored: its weight alone does not tell. */
static bool is_ignored(const entropy_plan *q, const entropy_rows *r, int64_t i) {
    return q->ignored >= 0 && r->target[i] == q->ignored;
}

/* The weights as a view over (N, C), in dtype t; ones where there are none. */
static asn_status spread_weights(const entropy_plan *q, aclOpExecutor *e,
                                 const asnd_nd *x, asnd_tmp *tmp, asnd_view *w) {
    int64_t one = 1;
    if (q->weight >= 0) {
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, q->weight), q->loop, w));
    } else {
        void *element = asn_tmp_alloc(tmp, 16);
        if (element == NULL) return ASN_ERR_MEMORY;
        asn_value_from_double(q->loop, element, 1);
        asn_view_plain(w, q->loop, 0, &one, element);
    }
    asn_view_broadcast(w, 2, x->shape);
    return ASN_OK;
}

/* A number of a kept view. */
static double kept_at(const asnd_view *v, int64_t row) {
    return asn_value_to_double(v->nd.dtype, v->nd.data + row * v->strides[0]);
}

static asn_status cross_entropy_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const entropy_plan *q = plan;
    const asnd_nd *x = asn_exec_nd(e, q->x), *log = asn_exec_nd(e, q->out);
    const asnd_nd *out = asn_exec_nd(e, q->loss);
    entropy_rows r;
    asnd_norm n;
    asnd_view lse, sum, w, to;
    asnd_prog p;
    ASN_TRY(read_rows(q, e, x, tmp, &r));
    ASN_TRY(spread_weights(q, e, x, tmp, &w));
    asn_norm_begin(&n, x, UINT64_C(2));
    n.t = q->loop;
    ASN_TRY(log_sum(&n, tmp, &lse));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    if (q->smoothing > 0) { /* sum_c w[c] l[c] */
        asn_prog_begin(&p, 2, x->shape, n.mask);
        int l = asn_prog_op2(&p, ASN_OP_SUBTRACT, value(&p, x, n.t),
                             asn_prog_in(&p, &lse.nd));
        l = asn_prog_op2(&p, ASN_OP_MULTIPLY, l, asn_prog_in(&p, &w.nd));
        asn_prog_reduce(&p, ASN_OP_ADD, l, &sum.nd);
        ASN_TRY(asn_prog_run(&p));
    }
    double total = 0, *losses = asn_tmp_alloc(tmp, (size_t)(r.rows + 1) * sizeof *losses);
    if (losses == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < r.rows; i++) {
        losses[i] = 0;
        if (is_ignored(q, &r, i)) continue;
        const char *at = x->data + i * x->strides[0] + r.target[i] * x->strides[1];
        double l = asn_value_to_double(x->dtype, at) - kept_at(&lse, i);
        losses[i] = -(1 - q->smoothing) * r.row[i] * l;
        if (q->smoothing > 0)
            losses[i] -= q->smoothing / (double)r.classes * kept_at(&sum, i);
        total += losses[i];
    }
    /* The logarithms go through a temporary: they may lie over the input. */
    ASN_TRY(asn_tmp_view(tmp, log->dtype, 2, x->shape, &to));
    asn_prog_begin(&p, 2, x->shape, 0);
    asn_prog_out(
        &p,
        asn_prog_op2(&p, ASN_OP_SUBTRACT, value(&p, x, n.t), asn_prog_in(&p, &lse.nd)),
        &to.nd);
    ASN_TRY(asn_prog_run(&p));
    ASN_TRY(asn_move(log, &to.nd));
    if (q->reduction == ASN_REDUCTION_NONE) {
        asn_view_plain(&to, ASN_F64, out->ndim, out->shape, losses);
        return asn_move(out, &to.nd);
    }
    if (q->reduction == ASN_REDUCTION_MEAN) total /= r.total;
    asn_value_from_double(out->dtype, out->data, total);
    return ASN_OK;
}

static asn_status cross_entropy_backward_body(aclOpExecutor *e, void *plan,
                                              asnd_tmp *tmp) {
    const entropy_plan *q = plan;
    const asnd_nd *l = asn_exec_nd(e, q->x), *out = asn_exec_nd(e, q->out);
    entropy_rows r;
    asnd_norm n;
    asnd_view w, a, b, to;
    asnd_prog p;
    const double *dy;
    ASN_TRY(read_rows(q, e, l, tmp, &r));
    ASN_TRY(spread_weights(q, e, l, tmp, &w));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, q->loss), ASN_F64, tmp, &dy));
    asn_norm_begin(&n, l, UINT64_C(2));
    n.t = q->loop;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &a));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &b));
    ASN_TRY(asn_tmp_view(tmp, q->loop, 2, l->shape, &to));
    /* a[n] is what exp(l) is multiplied by, b[n] what every class's weight is, own[n]
     * what the target's alone loses: the three terms of the formula above. */
    double share = q->smoothing / (double)r.classes, rest = 1 - q->smoothing;
    double *own = asn_tmp_alloc(tmp, (size_t)(r.rows + 1) * sizeof *own);
    if (own == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < r.rows; i++) {
        double g = dy[q->reduction == ASN_REDUCTION_NONE ? i : 0];
        if (q->reduction == ASN_REDUCTION_MEAN) g /= r.total;
        if (is_ignored(q, &r, i)) g = 0;
        own[i] = rest * r.row[i] * g;
        asn_value_from_double(n.t, a.nd.data + i * a.strides[0],
                              (rest * r.row[i] + share * r.all) * g);
        asn_value_from_double(n.t, b.nd.data + i * b.strides[0], share * g);
    }
    asn_prog_begin(&p, 2, l->shape, 0);
    int y = asn_prog_op1(&p, ASN_OP_EXP, value(&p, l, n.t));
    y = asn_prog_op2(&p, ASN_OP_MULTIPLY, y, asn_prog_in(&p, &a.nd));
    int other =
        asn_prog_op2(&p, ASN_OP_MULTIPLY, asn_prog_in(&p, &w.nd), asn_prog_in(&p, &b.nd));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_SUBTRACT, y, other), &to.nd);
    ASN_TRY(asn_prog_run(&p));
    for (int64_t i = 0; i < r.rows; i++) {
        if (is_ignored(q, &r, i)) continue;
        char *at = to.nd.data + i * to.strides[0] + r.target[i] * to.strides[1];
        asn_value_from_double(n.t, at, asn_value_to_double(n.t, at) - own[i]);
    }
    return asn_move(out, &to.nd);
}

/* What both have, by parameter: x, target, weight, the reduction and the three numbers
 * behind it; loss and out. The plan is NULL where there is nothing to compute. */
static asn_status plan_entropy(asnd_call *c, int x_at, int reduction_at, int loss_at,
                               int out_at, asnd_body_fn body) {
    static const char *const names[] = {"none", "mean", "sum"};
    const asnd_nd *x = asn_call_nd(c, x_at);
    const char *text = c->args[reduction_at].p;
    int reduction = text == NULL ? ASN_REDUCTION_MEAN : -1;
    double smoothing = asn_call_double(c, reduction_at + 2);
    ASN_TRY(asn_call_rank(c, x_at, 2, 2));
    ASN_TRY(asn_norm_check(c, x_at, 2, x->shape));
    ASN_TRY(asn_norm_check(c, out_at, 2, x->shape));
    ASN_TRY(asn_index_dtype(c, x_at + 1, asn_call_nd(c, x_at + 1)));
    ASN_TRY(asn_call_same_shape(c, x_at + 1, 1, x->shape));
    ASN_TRY(asn_norm_check(c, x_at + 2, 1, x->shape + 1));
    for (int i = 0; i < 3 && text != NULL; i++)
        if (strcmp(text, names[i]) == 0) reduction = i;
    if (reduction < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: reductionOptional is \"%.32s\"; it must be \"none\", "
                             "\"mean\" or \"sum\"",
                             c->op->name, text);
    if (!(smoothing >= 0 && smoothing <= 1))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: labelSmoothing is %g; it must be in [0, 1]",
                             c->op->name, smoothing);
    if (asn_call_double(c, reduction_at + 3) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: lseSquareScaleForZloss is %g; it must be 0",
                             c->op->name, asn_call_double(c, reduction_at + 3));
    ASN_TRY(asn_call_floating(c, loss_at));
    if (reduction == ASN_REDUCTION_NONE)
        ASN_TRY(asn_call_same_shape(c, loss_at, 1, x->shape));
    else
        ASN_TRY(asn_call_one_element(c, loss_at));
    if (x->shape[1] == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has no classes", c->op->name,
                             c->op->params[x_at].name);
    entropy_plan *p = asn_call_plan(c, body, sizeof *p, 500 + 6 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->x = c->first[x_at];
    p->target = c->first[x_at + 1];
    p->weight = c->first[x_at + 2];
    p->loss = c->first[loss_at];
    p->out = c->first[out_at];
    p->reduction = reduction;
    p->ignored = asn_call_int(c, reduction_at + 1);
    p->smoothing = smoothing;
    p->loop = asn_wide_dtype(x->dtype);
    return ASN_OK;
}

asn_status asn_planner_cross_entropy(asnd_call *c) {
    if (asn_call_int(c, 7) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: returnZloss must be false", c->op->name);
    return plan_entropy(c, 0, 3, 8, 9, cross_entropy_body);
}

asn_status asn_planner_cross_entropy_backward(asnd_call *c) {
    return plan_entropy(c, 1, 6, 0, 10, cross_entropy_backward_body);
}
