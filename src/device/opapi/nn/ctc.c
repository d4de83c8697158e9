/* CPU device, operators: CtcLoss and its gradient; a sequence is a chunk of the pool.
 *
 * logProbs is (T, N, C) or (T, C); targets (N, S), or all of them one after the other.
 * Rows of logAlpha may be longer than 2 * the longest target + 1: what is not reached is
 * minus infinity. With zeroInfinity an infinite loss and its gradient are 0.
 *
 * What the algorithm is, cpu/nn/ctc.h says. Lengths are arrays of the call and are
 * checked in phase 1; targets are data and are checked when it runs. Sums are made in
 * float64 whatever the dtypes.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/nn/ctc.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/formula.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/core/packed.h"

/* Lengths, and where each sequence's targets start, are arrays in the executor's
 * memory. */
typedef struct {
    asnd_plan_head head;
    int dy, log_probs, targets, loss, alpha, out; /* operands; -1: absent */
    int64_t times, count, classes, row, longest;  /* row: of alpha */
    int64_t blank;
    const int64_t *input_lengths, *target_lengths, *target_starts;
    bool zero_infinity;
} ctc_plan;

/* The packed tensors of a run, in float64; only those of its direction are set. */
typedef struct {
    const ctc_plan *plan;
    const double *log_probs, *dy, *loss_in, *alpha_in;
    const int64_t *targets;
    double *loss, *alpha, *grad, *room;
} ctc_work;

/* Sequence n, as the kernel takes it: times are count * classes elements apart. */
static asnd_ctc sequence(const ctc_work *w, int64_t n) {
    const ctc_plan *p = w->plan;
    return (asnd_ctc){w->log_probs + n * p->classes,
                      p->count * p->classes,
                      p->input_lengths[n],
                      p->classes,
                      w->targets + p->target_starts[n],
                      p->target_lengths[n],
                      p->blank};
}

/* Sequence n's loss, and its alpha of `times` rows. */
static void forward_chunk(void *ctx, int64_t n) {
    const ctc_work *w = ctx;
    const ctc_plan *p = w->plan;
    double *alpha = w->alpha + n * p->times * p->row;
    asnd_ctc c = sequence(w, n);
    for (int64_t i = 0; i < p->times * p->row; i++)
        alpha[i] = -INFINITY;
    w->loss[n] = asn_ctc_forward(&c, alpha, p->row);
    if (p->zero_infinity && isinf(w->loss[n])) w->loss[n] = 0;
}

/* Sequence n's gradient; times past its length have none. */
static void backward_chunk(void *ctx, int64_t n) {
    const ctc_work *w = ctx;
    const ctc_plan *p = w->plan;
    const double *alpha = w->alpha_in + n * p->times * p->row;
    double loss = w->loss_in[n], *grad = w->grad + n * p->classes;
    asnd_ctc c = sequence(w, n);
    int64_t last = 2 * c.length;
    /* A loss that was set to 0 shows in the last row. */
    bool infinite = c.times == 0 ? c.length > 0 : isinf(loss);
    if (c.times > 0 && !infinite)
        infinite = alpha[(c.times - 1) * p->row + last] == -INFINITY &&
                   (last == 0 || alpha[(c.times - 1) * p->row + last - 1] == -INFINITY);
    for (int64_t t = 0; t < p->times; t++)
        memset(grad + t * c.time_stride, 0, (size_t)p->classes * sizeof *grad);
    if (infinite && p->zero_infinity) return;
    asn_ctc_backward(&c, alpha, p->row, loss, w->dy[n],
                     w->room + n * 2 * (2 * p->longest + 1), grad);
}

/* ASN_ERR_INDEX for a target that is no class; only the targets that lengths cover
 * count. */
static asn_status check_targets(const ctc_plan *p, const int64_t *targets) {
    for (int64_t n = 0; n < p->count; n++) {
        for (int64_t k = 0; k < p->target_lengths[n]; k++) {
            int64_t t = targets[p->target_starts[n] + k];
            if (t < 0 || t >= p->classes)
                return asn_error_set(ASN_ERR_INDEX,
                                     "target %lld of sequence %lld is %lld; it must be "
                                     "in [0, %lld)",
                                     (long long)k, (long long)n, (long long)t,
                                     (long long)p->classes);
        }
    }
    return ASN_OK;
}

/* Moves row-major float64 values to an operand of any dtype and strides. */
static asn_status write_out(aclOpExecutor *e, int operand, double *values) {
    const asnd_nd *to = asn_exec_nd(e, operand);
    asnd_view from;
    asn_view_plain(&from, ASN_F64, to->ndim, to->shape, values);
    return asn_move(to, &from.nd);
}

/* Room for so many float64; NULL with the error set. */
static double *numbers(asnd_tmp *tmp, int64_t a, int64_t b, int64_t c) {
    asnd_view v;
    const int64_t shape[] = {a, b, c};
    return asn_tmp_view(tmp, ASN_F64, 3, shape, &v) == ASN_OK
               ? (double *)(void *)v.nd.data
               : NULL;
}

/* out < 0: the loss. */
static asn_status ctc_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const ctc_plan *p = plan;
    ctc_work w = {.plan = p};
    double work = 40 * (double)(p->times * p->count) * (double)p->row;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->log_probs), ASN_F64, tmp, &w.log_probs));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->targets), ASN_I64, tmp, &w.targets));
    ASN_TRY(check_targets(p, w.targets));
    if (p->out < 0) {
        w.loss = numbers(tmp, p->count, 1, 1);
        w.alpha = numbers(tmp, p->count, p->times, p->row);
        if (w.loss == NULL || w.alpha == NULL) return ASN_ERR_MEMORY;
        asn_pool_run(forward_chunk, &w, p->count, work);
        ASN_TRY(write_out(e, p->loss, w.loss));
        return write_out(e, p->alpha, w.alpha);
    }
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->dy), ASN_F64, tmp, &w.dy));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->loss), ASN_F64, tmp, &w.loss_in));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->alpha), ASN_F64, tmp, &w.alpha_in));
    w.grad = numbers(tmp, p->times, p->count, p->classes);
    w.room = numbers(tmp, p->count, 2, 2 * p->longest + 1);
    if (w.grad == NULL || w.room == NULL) return ASN_ERR_MEMORY;
    asn_pool_run(backward_chunk, &w, p->count, 2 * work);
    return write_out(e, p->out, w.grad);
}

/* ---- planning */

/* *lengths: a copy of the aclIntArray that parameter i is, in the executor's memory:
 * `count` numbers, each in [0, most]. */
static asn_status take_lengths(const asnd_call *c, int i, int64_t count, int64_t most,
                               const int64_t **lengths) {
    const asnd_array *a = asn_call_array(c, i);
    if (a->size != (uint64_t)count)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has %llu elements; it must have one per sequence, "
                             "%lld",
                             c->op->name, c->op->params[i].name,
                             (unsigned long long)a->size, (long long)count);
    int64_t *to = asnop_executor_alloc(c->e, (size_t)(count + 1) * sizeof *to);
    if (to == NULL) return asn_call_no_memory();
    if (count > 0) memcpy(to, a->data, (size_t)count * sizeof *to);
    for (int64_t n = 0; n < count; n++)
        if (to[n] < 0 || to[n] > most)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s[%lld] is %lld; it must be in [0, %lld]",
                                 c->op->name, c->op->params[i].name, (long long)n,
                                 (long long)to[n], (long long)most);
    *lengths = to;
    return ASN_OK;
}

/* Finds where every sequence's targets start, and the longest. Targets are (N, S), each
 * row its own, or one line, where each begins behind the one before. */
static asn_status take_targets(const asnd_call *c, int i, ctc_plan *p) {
    const asnd_nd *t = asn_call_nd(c, i);
    bool apart = t->ndim == 2;
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_call_real(c, i));
    if ((t->ndim != 1 && !apart) || (apart && t->shape[0] != p->count))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has shape %s; it must be (N, S) or one dimension, N "
                             "is %lld",
                             c->op->name, c->op->params[i].name,
                             asn_shape_text(got, t->ndim, t->shape), (long long)p->count);
    ASN_TRY(take_lengths(c, i + 2, p->count, t->shape[t->ndim - 1], &p->target_lengths));
    int64_t *starts = asnop_executor_alloc(c->e, (size_t)(p->count + 1) * sizeof *starts),
            total = 0;
    if (starts == NULL) return asn_call_no_memory();
    for (int64_t n = 0; n < p->count; n++) {
        int64_t length = p->target_lengths[n];
        starts[n] = apart ? n * t->shape[1] : total;
        total += length;
        if (length > p->longest) p->longest = length;
    }
    if (!apart && total != t->shape[0])
        return asn_error_set(
            ASN_ERR_VALUE, "%s: %s has %lld elements, but the lengths' sum is %lld",
            c->op->name, c->op->params[i].name, (long long)t->shape[0], (long long)total);
    p->target_starts = starts;
    return ASN_OK;
}

/* Checks the loss, or its gradient, per sequence; logAlpha (N, T, X), (T, X) of one
 * sequence. X is at least 2 * longest + 1. */
static asn_status check_results(const asnd_call *c, int loss, int alpha, ctc_plan *p,
                                bool single) {
    const asnd_nd *a = asn_call_nd(c, alpha);
    int64_t row = a->ndim > 0 ? a->shape[a->ndim - 1] : 0;
    const int64_t want[] = {p->count, p->times,
                            row > 2 * p->longest ? row : 2 * p->longest + 1};
    int skip = single && a->ndim == 2;
    ASN_TRY(asn_norm_check(c, alpha, 3 - skip, want + skip));
    p->row = row;
    if (!single) return asn_norm_check(c, loss, 1, want);
    ASN_TRY(asn_call_floating(c, loss));
    return asn_call_one_element(c, loss);
}

/* CtcLoss(logProbs, targets, inputLengths, targetlengths, blank, zeroInfinity,
 * negLogLikelihoodOut, logAlphaOut); arg 1: CtcLossBackward(gradOut, logProbs, targets,
 * inputLengths, targetLengths, negLogLikelihood, logAlpha, blank, zeroInfinity, out) */
asn_status asn_planner_ctc(asnd_call *c) {
    bool backward = c->op->arg == 1;
    int in = backward ? 1 : 0, loss = backward ? 5 : 6, blank = backward ? 7 : 4;
    const asnd_nd *x = asn_call_nd(c, in);
    bool single = x->ndim == 2;
    char got[ASN_SHAPE_TEXT];
    ctc_plan p = {.dy = -1, .out = -1};
    ASN_TRY(asn_norm_check(c, in, x->ndim, x->shape));
    if ((x->ndim != 3 && !single) || x->shape[x->ndim - 1] == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: logProbs has shape %s; it must be (T, N, C) or (T, C), "
                             "C above 0",
                             c->op->name, asn_shape_text(got, x->ndim, x->shape));
    p.times = x->shape[0];
    p.count = single ? 1 : x->shape[1];
    p.classes = x->shape[x->ndim - 1];
    p.blank = asn_call_int(c, blank);
    p.zero_infinity = asn_call_int(c, blank + 1) != 0;
    if (p.blank < 0 || p.blank >= p.classes)
        return asn_error_set(ASN_ERR_VALUE, "%s: blank is %lld; it must be in [0, %lld)",
                             c->op->name, (long long)p.blank, (long long)p.classes);
    ASN_TRY(take_lengths(c, in + 2, p.count, p.times, &p.input_lengths));
    ASN_TRY(take_targets(c, in + 1, &p));
    ASN_TRY(check_results(c, loss, loss + 1, &p, single));
    if (backward) ASN_TRY(asn_norm_check(c, 9, x->ndim, x->shape));
    if (backward)
        ASN_TRY(asn_call_same_shape(c, 0, asn_call_nd(c, loss)->ndim,
                                    asn_call_nd(c, loss)->shape));
    if (backward) ASN_TRY(asn_call_floating(c, 0));
    if (p.count == 0) return ASN_OK;
    p.log_probs = c->first[in];
    p.targets = c->first[in + 1];
    p.loss = c->first[loss];
    p.alpha = c->first[loss + 1];
    if (backward) p.dy = c->first[0];
    if (backward) p.out = c->first[9];
    return asn_call_keep(c, ctc_body, &p, sizeof p,
                         500 + 40 * (double)(p.times * p.count) * (double)p.row);
}
