/* CPU device, operators: BatchNorm in parts, as several devices that share a batch call
 * them.
 *
 * Stats gives one device's mean and 1 / sqrt(variance + eps); GatherStatsWithCounts joins
 * those of all devices; Elemt applies the result. Backward, ReduceBackward sums one
 * device's gradients, which the devices add up, and ElemtBackward makes the input's.
 *
 * Each operator is a plan with its operands in the order that its body reads them
 * (operand[k]). The joining is of a few numbers for each channel and is done in float64;
 * everything over the input is programs of norm.h's arithmetic.
 */
#include <math.h>

#include "device/opapi/nn/norm.h"

enum { PARTS = 8 };

typedef struct {
    asnd_plan_head head;
    int operand[PARTS], out; /* in the order of each body; -1: absent */
    double eps, momentum;
} parts_plan;

/* Statistics over every dimension but 1, the channel's. */
static void begin(asnd_norm *n, const asnd_nd *x) {
    asn_norm_begin(n, x, ((UINT64_C(2) << (x->ndim - 1)) - 1) & ~UINT64_C(2));
}

/* The view of part k, one value per channel, in x's space, or NULL when it is absent. */
static const asnd_nd *channels(aclOpExecutor *e, const parts_plan *p, int k,
                               const asnd_norm *n, asnd_view *v) {
    if (p->operand[k] < 0) return NULL;
    asn_norm_spread(v, asn_exec_nd(e, p->operand[k]), n, n->mask);
    return &v->nd;
}

/* A view of x's space as a value of the arithmetic's dtype. */
static int as_value(asnd_prog *p, const asnd_norm *n, const asnd_nd *a) {
    return asn_prog_as(p, asn_prog_in(p, a), n->t);
}

/* Parts: input, mean, invstd. The variance is biased: GatherStatsWithCounts weighs it by
 * the counts. */
static asn_status stats_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    asnd_norm n;
    /* Over N and the spatial dimensions of (N, C, ...), in the wide dtype; `to` are the
     * outputs (C). */
    asnd_view mean, rstd, to;
    begin(&n, asn_exec_nd(e, p->operand[0]));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
    ASN_TRY(asn_norm_statistics(&n, &mean, &rstd));
    ASN_TRY(asn_norm_rstd(&n, &rstd, &rstd, p->eps));
    (void)channels(e, p, 1, &n, &to);
    ASN_TRY(asn_move(&to.nd, &mean.nd));
    (void)channels(e, p, 2, &n, &to);
    return asn_move(&to.nd, &rstd.nd);
}

/* Parts: input, weight, bias, mean, invstd, output. */
static asn_status elemt_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const parts_plan *p = plan;
    asnd_norm n;
    asnd_view weight, bias, mean, invstd;
    /* y = (x - mean) * invstd * weight + bias, weight and bias 1 and 0 where absent. */
    begin(&n, asn_exec_nd(e, p->operand[0]));
    asnd_norm_params q = {.mean = channels(e, p, 3, &n, &mean),
                          channels(e, p, 4, &n, &invstd),
                          channels(e, p, 1, &n, &weight),
                          channels(e, p, 2, &n, &bias)};
    return asn_norm_apply(&n, &q, asn_exec_nd(e, p->operand[5]));
}

/* Parts: gradOut, input, mean, invstd, then sumDy, sumDyXmu, gradWeight, gradBias, each
 * as far as it is wanted. sum(dy) and sum(dy * (x - mean)) in one pass; the latter times
 * invstd is the weight's gradient. */
static asn_status reduce_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    asnd_norm n;
    asnd_view mean, invstd, dy_sum, dyx_sum, to;
    begin(&n, asn_exec_nd(e, p->operand[1]));
    (void)channels(e, p, 2, &n, &mean);
    (void)channels(e, p, 3, &n, &invstd);
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &dy_sum));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &dyx_sum));
    asnd_prog prog;
    asn_prog_begin(&prog, n.x->ndim, n.x->shape, n.mask);
    int dy = as_value(&prog, &n, asn_exec_nd(e, p->operand[0]));
    int x = asn_prog_op2(&prog, ASN_OP_SUBTRACT, as_value(&prog, &n, n.x),
                         as_value(&prog, &n, &mean.nd));
    asn_prog_reduce(&prog, ASN_OP_ADD, dy, &dy_sum.nd);
    asn_prog_reduce(&prog, ASN_OP_ADD, asn_prog_op2(&prog, ASN_OP_MULTIPLY, dy, x),
                    &dyx_sum.nd);
    ASN_TRY(asn_prog_run(&prog));
    /* sumDy and gradBias are one number, asked for under two names. */
    if (channels(e, p, 4, &n, &to)) ASN_TRY(asn_move(&to.nd, &dy_sum.nd));
    if (channels(e, p, 5, &n, &to)) ASN_TRY(asn_move(&to.nd, &dyx_sum.nd));
    if (channels(e, p, 7, &n, &to)) ASN_TRY(asn_move(&to.nd, &dy_sum.nd));
    if (channels(e, p, 6, &n, &to) == NULL) return ASN_OK;
    asn_prog_begin(&prog, n.x->ndim, dyx_sum.shape, 0);
    x = asn_prog_in(&prog, &dyx_sum.nd);
    x = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x, as_value(&prog, &n, &invstd.nd));
    asn_prog_out(&prog, x, &to.nd);
    return asn_prog_run(&prog);
}

/* *total: the elements of all devices together, from the tensor of each device's
 * count. */
static asn_status total_count(const asnd_nd *counts, asnd_tmp *tmp, double *total) {
    asnd_view v;
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, 1, counts->shape, &v));
    ASN_TRY(asn_move(&v.nd, counts));
    *total = 0;
    for (int64_t i = 0; i < counts->shape[0]; i++)
        *total += ((const double *)(void *)v.nd.data)[i];
    return ASN_OK;
}

/* Parts: gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter. dx = (dy - sumDy
 * / n - (x - mean) * invstd^2 * sumDyXmu / n) * invstd * weight */
static asn_status elemt_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    asnd_norm n;
    asnd_view v[5];
    double count = 0;
    begin(&n, asn_exec_nd(e, p->operand[1]));
    ASN_TRY(total_count(asn_exec_nd(e, p->operand[7]), tmp, &count));
    asnd_prog prog;
    asn_prog_begin(&prog, n.x->ndim, n.x->shape, 0);
    /* Written for numbers of all devices: sumDy and sumDyXmu are what the devices added
     * up, n all their elements, so that dx is that of one large batch. */
    int part[5] = {0};
    for (int k = 0; k < 5; k++) /* mean, invstd, weight, sumDy, sumDyXmu */
        if (channels(e, p, 2 + k, &n, &v[k])) part[k] = as_value(&prog, &n, &v[k].nd);
    int size = asn_prog_const(&prog, n.t, count);
    int dy = as_value(&prog, &n, asn_exec_nd(e, p->operand[0]));
    int x = as_value(&prog, &n, n.x);
    x = asn_prog_op2(&prog, ASN_OP_SUBTRACT, x, part[0]);
    x = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x, part[1]);
    x = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x, part[1]);
    x = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x,
                     asn_prog_op2(&prog, ASN_OP_DIVIDE, part[4], size));
    dy = asn_prog_op2(&prog, ASN_OP_SUBTRACT, dy,
                      asn_prog_op2(&prog, ASN_OP_DIVIDE, part[3], size));
    dy = asn_prog_op2(&prog, ASN_OP_SUBTRACT, dy, x);
    dy = asn_prog_op2(&prog, ASN_OP_MULTIPLY, dy, part[1]);
    if (p->operand[4] >= 0) dy = asn_prog_op2(&prog, ASN_OP_MULTIPLY, dy, part[2]);
    asn_prog_out(&prog, dy, asn_exec_nd(e, p->out));
    return asn_prog_run(&prog);
}

/* ---- GatherStatsWithCounts: a column of a few devices per channel, in float64 */

/* *values: a copy of a tensor, contiguous in float64; NULL when it is absent. */
static asn_status plain(aclOpExecutor *e, int operand, asnd_tmp *tmp, double **values) {
    asnd_view v;
    *values = NULL;
    if (operand < 0) return ASN_OK;
    const asnd_nd *a = asn_exec_nd(e, operand);
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, a->ndim, a->shape, &v));
    ASN_TRY(asn_move(&v.nd, a));
    *values = (double *)(void *)v.nd.data;
    return ASN_OK;
}

/* Writes values to an output of one dimension, converted; one that is absent is not
 * wanted. */
static asn_status put(aclOpExecutor *e, int operand, double *values) {
    if (operand < 0) return ASN_OK;
    const asnd_nd *to = asn_exec_nd(e, operand);
    asnd_view from;
    asn_view_plain(&from, ASN_F64, 1, to->shape, values);
    return asn_move(to, &from.nd);
}

/* Parts: mean, invstd (devices, channels), counts (devices), the running statistics, the
 * joint mean and invstd. Each device's variance is 1 / invstd^2 - eps; around the joint
 * mean it grows by the square of the distance of the means. */
static asn_status gather_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    const asnd_nd *all = asn_exec_nd(e, p->operand[0]);
    int64_t devices = all->shape[0], size = all->shape[1];
    double *mean, *invstd, *counts, *running_mean, *running_variance, n = 0;
    ASN_TRY(plain(e, p->operand[0], tmp, &mean));
    ASN_TRY(plain(e, p->operand[1], tmp, &invstd));
    ASN_TRY(plain(e, p->operand[2], tmp, &counts));
    ASN_TRY(plain(e, p->operand[3], tmp, &running_mean));
    ASN_TRY(plain(e, p->operand[4], tmp, &running_variance));
    double *joint = asn_tmp_alloc(tmp, (size_t)size * sizeof *joint);
    double *rstd = asn_tmp_alloc(tmp, (size_t)size * sizeof *rstd);
    if (joint == NULL || rstd == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < devices; i++)
        n += counts[i];
    for (int64_t c = 0; c < size; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < devices; i++)
            sum += counts[i] * mean[i * size + c];
        joint[c] = sum / n;
        for (int64_t i = 0; i < devices; i++) {
            /* The theorem of parallel axes, weighed by each device's count. */
            double s = invstd[i * size + c], off = mean[i * size + c] - joint[c];
            squares += counts[i] * (1 / (s * s) - p->eps + off * off);
        }
        rstd[c] = 1 / sqrt(squares / n + p->eps);
        if (running_mean) running_mean[c] += p->momentum * (joint[c] - running_mean[c]);
        /* Unbiased, as PyTorch's: divided by n - 1. */
        if (running_variance)
            running_variance[c] +=
                p->momentum * (squares / (n - 1) - running_variance[c]);
    }
    ASN_TRY(put(e, p->operand[3], running_mean));
    ASN_TRY(put(e, p->operand[4], running_variance));
    ASN_TRY(put(e, p->operand[5], joint));
    return put(e, p->operand[6], rstd);
}

/* ---- sums: BatchNormReduce gives a device's, SyncBatchNormGatherStats joins them */

/* Parts: input, sum, the squares' sum. */
static asn_status sums_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    asnd_norm n;
    asnd_view sum, squares, to;
    begin(&n, asn_exec_nd(e, p->operand[0]));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &squares));
    asnd_prog prog;
    asn_prog_begin(&prog, n.x->ndim, n.x->shape, n.mask);
    int x = as_value(&prog, &n, n.x);
    asn_prog_reduce(&prog, ASN_OP_ADD, x, &sum.nd);
    asn_prog_reduce(&prog, ASN_OP_ADD, asn_prog_op2(&prog, ASN_OP_MULTIPLY, x, x),
                    &squares.nd);
    ASN_TRY(asn_prog_run(&prog));
    (void)channels(e, p, 1, &n, &to);
    ASN_TRY(asn_move(&to.nd, &sum.nd));
    (void)channels(e, p, 2, &n, &to);
    return asn_move(&to.nd, &squares.nd);
}

/* Parts: sums and squares' sums (devices, channels), counts (devices), the running mean
 * and variance, the joint mean and 1 / sqrt(variance + eps). The running variance takes
 * the unbiased one. */
static asn_status sync_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const parts_plan *p = plan;
    const asnd_nd *all = asn_exec_nd(e, p->operand[0]);
    int64_t devices = all->shape[0], size = all->shape[1];
    double *sums = NULL, *squares = NULL, *counts = NULL, *mean = NULL;
    double *variance = NULL, *joint, *rstd, n = 0;
    double **values[] = {&sums, &squares, &counts, &mean, &variance};
    for (int k = 0; k < 5; k++)
        ASN_TRY(plain(e, p->operand[k], tmp, values[k]));
    joint = asn_tmp_alloc(tmp, (size_t)size * sizeof *joint);
    rstd = asn_tmp_alloc(tmp, (size_t)size * sizeof *rstd);
    if (joint == NULL || rstd == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < devices; i++)
        n += counts[i];
    for (int64_t c = 0; c < size; c++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < devices; i++) {
            sum += sums[i * size + c];
            square += squares[i * size + c];
        }
        joint[c] = sum / n;
        /* E[x^2] - E[x]^2: the sums come from the devices, and there is nothing left to
         * take deviations from. */
        double biased = square / n - joint[c] * joint[c];
        rstd[c] = 1 / sqrt(biased + p->eps);
        mean[c] += p->momentum * (joint[c] - mean[c]);
        variance[c] += p->momentum * (biased * n / (n - 1) - variance[c]);
    }
    ASN_TRY(put(e, p->operand[3], mean));
    ASN_TRY(put(e, p->operand[4], variance));
    ASN_TRY(put(e, p->operand[5], joint));
    return put(e, p->operand[6], rstd);
}

/* ---- planning */

/* Parameter i has two dimensions at least and a floating dtype. */
static asn_status check_input(const asnd_call *c, int i) {
    const asnd_nd *in = asn_call_nd(c, i);
    /* (N, C, ...): without a second dimension there is no channel. */
    if (in->ndim >= 2) return asn_norm_check(c, i, in->ndim, in->shape);
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has %d dimensions; it must have two or more, the second "
                         "the channel",
                         c->op->name, c->op->params[i].name, in->ndim);
}

/* Parameters [first, last] have one value per channel each. */
static asn_status check_channels(const asnd_call *c, int input, int first, int last) {
    for (int i = first; i <= last; i++)
        ASN_TRY(asn_norm_check(c, i, 1, asn_call_nd(c, input)->shape + 1));
    return ASN_OK;
}

/* ns: nanoseconds an element of parameter `input`. NULL with the error set. */
static parts_plan *plan_parts(asnd_call *c, asnd_body_fn body, int input, double ns) {
    return asn_call_plan(c, body, sizeof(parts_plan),
                         500 + ns * (double)asn_nd_size(asn_call_nd(c, input)));
}

/* BatchNormStats(input, eps, mean, invstd) */
asn_status asn_planner_batch_norm_stats(asnd_call *c) {
    ASN_TRY(check_input(c, 0));
    ASN_TRY(check_channels(c, 0, 2, 3));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, stats_body, 0, 2);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->operand[0] = c->first[0];
    p->operand[1] = c->first[2];
    p->operand[2] = c->first[3];
    p->eps = asn_call_double(c, 1);
    return ASN_OK;
}

/* BatchNormElemt(input, weight, bias, mean, invstd, eps, output): invstd has eps in it
 * already. */
asn_status asn_planner_batch_norm_elemt(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    ASN_TRY(check_input(c, 0));
    ASN_TRY(check_channels(c, 0, 1, 4));
    ASN_TRY(asn_norm_check(c, 6, in->ndim, in->shape));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, elemt_body, 0, 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 5; k++)
        p->operand[k] = c->first[k];
    p->operand[5] = c->first[6];
    return ASN_OK;
}

/* BatchNormGatherStatsWithCounts(input, mean, invstd, runningMean, runningVar, momentum,
 * eps, counts, meanAll, invstdAll): input tells the channels only. */
asn_status asn_planner_batch_norm_gather(asnd_call *c) {
    const asnd_nd *mean = asn_call_nd(c, 1);
    ASN_TRY(check_input(c, 0));
    ASN_TRY(check_input(c, 1));
    const int64_t kept[] = {mean->shape[0], asn_call_nd(c, 0)->shape[1]};
    ASN_TRY(asn_norm_check(c, 1, 2, kept));
    ASN_TRY(asn_norm_check(c, 2, 2, kept));
    ASN_TRY(check_channels(c, 0, 3, 4));
    ASN_TRY(asn_norm_check(c, 7, 1, kept));
    ASN_TRY(check_channels(c, 0, 8, 9));
    if (asn_call_operand(c, 8)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, gather_body, 1, 5);
    if (p == NULL) return ASN_ERR_MEMORY;
    const int order[] = {1, 2, 7, 3, 4, 8, 9};
    for (int k = 0; k < 7; k++)
        p->operand[k] = c->first[order[k]];
    p->momentum = asn_call_double(c, 5);
    p->eps = asn_call_double(c, 6);
    return ASN_OK;
}

/* BatchNormReduceBackward(gradOut, input, mean, invstd, weight, inputG, weightG, biasG,
 * sumDy, sumDyXmu, gradWeight, gradBias): the flags say which outputs are wanted. */
asn_status asn_planner_batch_norm_reduce(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 1);
    const int flag[] = {5, 5, 6, 7};
    ASN_TRY(check_input(c, 1));
    ASN_TRY(asn_norm_check(c, 0, in->ndim, in->shape));
    ASN_TRY(check_channels(c, 1, 2, 4));
    for (int k = 0; k < 4; k++) {
        if (asn_call_int(c, flag[k]) == 0) continue;
        if (c->first[8 + k] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but %s wants it",
                                 c->op->name, c->op->params[8 + k].name,
                                 c->op->params[flag[k]].name);
        ASN_TRY(check_channels(c, 1, 8 + k, 8 + k));
    }
    if (in->shape[1] == 0) return ASN_OK;
    parts_plan *p = plan_parts(c, reduce_body, 1, 2);
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 4; k++) {
        p->operand[k] = c->first[k];
        p->operand[4 + k] = asn_call_int(c, flag[k]) ? c->first[8 + k] : -1;
    }
    return ASN_OK;
}

/* BatchNormElemtBackward(gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter,
 * gradInput) */
asn_status asn_planner_batch_norm_elemt_backward(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 1), *counter = asn_call_nd(c, 7);
    ASN_TRY(check_input(c, 1));
    ASN_TRY(asn_norm_check(c, 0, in->ndim, in->shape));
    ASN_TRY(check_channels(c, 1, 2, 6));
    ASN_TRY(asn_norm_check(c, 8, in->ndim, in->shape));
    if (counter->ndim != 1 || asn_is_complex(counter->dtype))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: counter has %d dimensions and dtype %s; it must be one "
                             "real dimension",
                             c->op->name, counter->ndim, asn_dtype_name(counter->dtype));
    if (asn_call_operand(c, 8)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, elemt_backward_body, 1, 2);
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 8; k++)
        p->operand[k] = c->first[k];
    p->out = c->first[8];
    return ASN_OK;
}

/* BatchNormReduce(x, sum, squareSum) */
asn_status asn_planner_batch_norm_sums(asnd_call *c) {
    ASN_TRY(check_input(c, 0));
    ASN_TRY(check_channels(c, 0, 1, 2));
    if (asn_call_operand(c, 1)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, sums_body, 0, 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 3; k++)
        p->operand[k] = c->first[k];
    return ASN_OK;
}

/* SyncBatchNormGatherStats(totalSum, totalSquareSum, sampleCount, mean, variance,
 * momentum, eps, batchMean, batchInvstd) */
asn_status asn_planner_batch_norm_sync(asnd_call *c) {
    const asnd_nd *sums = asn_call_nd(c, 0);
    ASN_TRY(asn_call_floating(c, 0));
    if (sums->ndim != 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: totalSum has %d dimensions; it must have "
                             "2, devices and channels",
                             c->op->name, sums->ndim);
    ASN_TRY(asn_norm_check(c, 1, 2, sums->shape));
    ASN_TRY(asn_call_real(c, 2));
    ASN_TRY(asn_call_same_shape(c, 2, 1, sums->shape));
    const int channels_at[] = {3, 4, 7, 8};
    for (int k = 0; k < 4; k++)
        ASN_TRY(asn_norm_check(c, channels_at[k], 1, sums->shape + 1));
    if (asn_call_operand(c, 7)->is_empty) return ASN_OK;
    parts_plan *p = plan_parts(c, sync_body, 0, 5);
    if (p == NULL) return ASN_ERR_MEMORY;
    const int order[] = {0, 1, 2, 3, 4, 7, 8};
    for (int k = 0; k < 7; k++)
        p->operand[k] = c->first[order[k]];
    p->momentum = asn_call_double(c, 5);
    p->eps = asn_call_double(c, 6);
    return ASN_OK;
}
