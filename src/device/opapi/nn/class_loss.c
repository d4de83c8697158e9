/* CPU device, operators: losses whose targets are classes: NLLLoss, NLLLoss2d, their
 * gradients, MultilabelMarginLoss.
 *
 * Only the elements that targets name are read, in float64; sums run in the order of the
 * targets, so that they do not depend on the number of threads. A target that is no class
 * is an error of the execution.
 *
 * Forward and backward are one loop over the targets (class_chunk): what is read at a
 * target's place in one is written there in the other. The gradient is filled with zeros
 * first, since every other element is one.
 */
#include <string.h>

#include "device/cpu/threads.h"
#include "device/opapi/core/formula.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/core/packed.h"

/* Targets that a thread takes at a time. */
enum { CHUNK = 1 << 12 };

/* total: the output, or input, of the weights' sum. */
typedef struct {
    asnd_plan_head head;
    int dy, self, target, weight, out, total; /* operands; -1: absent */
    int axis, reduction;
    int64_t ignored;
} class_plan;

/* What the loop over targets works on. Forwards values and used receive -weight * x and
 * the weight of each target; backwards values holds what is multiplied by -weight. */
typedef struct {
    asnd_view x; /* the classes' dimension dropped; of a gradient, what is written */
    int64_t n, classes, stride, ignored;
    const int64_t *targets;
    const double *weights; /* per class, or NULL */
    double *values, *used; /* per target; of a gradient: what is written, NULL */
    int64_t bad;           /* a position whose target is no class, or -1 */
} class_work;

/* Where element i, in row-major order, of the view lies: the targets' order, whatever the
 * strides are. */
static char *place(const asnd_view *v, int64_t i) {
    char *at = v->nd.data;
    for (int d = v->nd.ndim - 1; d >= 0; d--) {
        at += i % v->shape[d] * v->strides[d];
        i /= v->shape[d];
    }
    return at;
}

/* Targets [chunk * CHUNK, ...). A target out of range is remembered and skipped;
 * whichever thread was last names it. */
static void class_chunk(void *ctx, int64_t chunk) {
    class_work *w = ctx;
    asn_dtype dtype = w->x.nd.dtype;
    int64_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (int64_t i = chunk * CHUNK; i < end; i++) {
        int64_t t = w->targets[i];
        bool skip = t == w->ignored;
        if (!skip && (t < 0 || t >= w->classes)) {
            __atomic_store_n(&w->bad, i, __ATOMIC_RELAXED);
            skip = true;
        }
        double weight = skip ? 0 : w->weights ? w->weights[t] : 1;
        /* Backwards: places differ from target to target, so that no two threads write
         * one. */
        if (w->used == NULL) {
            char *to = skip ? NULL : place(&w->x, i) + t * w->stride;
            if (to) asn_value_from_double(dtype, to, -weight * w->values[i]);
            continue;
        }
        w->used[i] = weight;
        w->values[i] = 0;
        if (!skip)
            w->values[i] =
                -weight * asn_value_to_double(dtype, place(&w->x, i) + t * w->stride);
    }
}

/* Runs the loop over all targets; ASN_ERR_INDEX names one that is no class. */
static asn_status run_classes(class_work *w) {
    w->bad = -1;
    asn_pool_run(class_chunk, w, (w->n + CHUNK - 1) / CHUNK, 10 * (double)w->n);
    if (w->bad < 0) return ASN_OK;
    return asn_error_set(
        ASN_ERR_INDEX, "target %lld is %lld; it must be in [0, %lld) or ignoreIndex",
        (long long)w->bad, (long long)w->targets[w->bad], (long long)w->classes);
}

/* Sets up the loop. x: self forwards, the gradient backwards; the class' dimension is
 * left out of the view and kept as a stride. values and used are the caller's to set. */
static asn_status begin(const class_plan *p, aclOpExecutor *e, const asnd_nd *x,
                        asnd_tmp *tmp, class_work *w) {
    asn_view_set(&w->x, x);
    w->classes = x->shape[p->axis];
    w->stride = x->strides[p->axis];
    asn_view_drop(&w->x, p->axis);
    w->n = asn_nd_size(&w->x.nd);
    w->ignored = p->ignored;
    w->weights = NULL;
    w->used = NULL;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->target), ASN_I64, tmp, &w->targets));
    return p->weight < 0
               ? ASN_OK
               : asn_packed_data(asn_exec_nd(e, p->weight), ASN_F64, tmp, &w->weights);
}

/* Writes one value to an output of one element. */
static void put(aclOpExecutor *e, int operand, double value) {
    const asnd_nd *to = asn_exec_nd(e, operand);
    asn_value_from_double(to->dtype, to->data, value);
}

/* The loss and the sum of the weights used. A mean over nothing but ignored targets is 0
 * / 0, NaN, as PyTorch's. */
static asn_status nll_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const class_plan *p = plan;
    class_work w;
    ASN_TRY(begin(p, e, asn_exec_nd(e, p->self), tmp, &w));
    w.values = asn_tmp_alloc(tmp, (size_t)w.n * sizeof *w.values);
    w.used = asn_tmp_alloc(tmp, (size_t)w.n * sizeof *w.used);
    if (w.values == NULL || w.used == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(run_classes(&w));
    if (p->reduction == ASN_REDUCTION_NONE) {
        const asnd_nd *out = asn_exec_nd(e, p->out);
        asnd_view from;
        asn_view_plain(&from, ASN_F64, out->ndim, out->shape, w.values);
        put(e, p->total, 0); /* as PyTorch's */
        return asn_move(out, &from.nd);
    }
    double sum = 0, total = 0;
    for (int64_t i = 0; i < w.n; i++) {
        sum += w.values[i];
        total += w.used[i];
    }
    put(e, p->total, total);
    put(e, p->out, p->reduction == ASN_REDUCTION_MEAN ? sum / total : sum);
    return ASN_OK;
}

/* gradInput = -weight * dy / totalWeight at each target's place (without the division
 * unless the loss is a mean), 0 elsewhere. */
static asn_status nll_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    static const uint8_t zero[16];
    const class_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out), *total = asn_exec_nd(e, p->total);
    const double *dy;
    class_work w;
    ASN_TRY(begin(p, e, out, tmp, &w));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->dy), ASN_F64, tmp, &dy));
    w.values = asn_tmp_alloc(tmp, (size_t)w.n * sizeof *w.values);
    if (w.values == NULL) return ASN_ERR_MEMORY;
    double divisor = 1;
    if (p->reduction == ASN_REDUCTION_MEAN)
        divisor = asn_value_to_double(total->dtype, total->data);
    for (int64_t i = 0; i < w.n; i++)
        w.values[i] = dy[p->reduction == ASN_REDUCTION_NONE ? i : 0] / divisor;
    ASN_TRY(asn_cpu_fill(out, zero));
    return run_classes(&w);
}

/* ---- planning */

/* Checks self, target and weight: self (N, C), (C), and with positions (N, C, H, W), (C,
 * H, W); target is self without the classes. *axis: the classes' dimension. */
static asn_status check_classes(const asnd_call *c, int self, int *axis) {
    bool planes = c->op->arg == 2;
    const asnd_nd *x = asn_call_nd(c, self), *target = asn_call_nd(c, self + 1);
    const asnd_nd *weight = asn_call_nd(c, self + 2);
    int least = planes ? 3 : 1;
    char got[ASN_SHAPE_TEXT];
    asnd_view want;
    ASN_TRY(asn_norm_check(c, self, x->ndim, x->shape));
    if (x->ndim != least && x->ndim != least + 1)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: self has shape %s; it must have %d or %d dimensions",
            c->op->name, asn_shape_text(got, x->ndim, x->shape), least, least + 1);
    *axis = x->ndim - least;
    asn_view_set(&want, x);
    asn_view_drop(&want, *axis);
    /* A single target may have shape (1,). */
    bool one = want.nd.ndim == 0 && target->ndim == 1 && target->shape[0] == 1;
    if (!one) ASN_TRY(asn_call_same_shape(c, self + 1, want.nd.ndim, want.shape));
    ASN_TRY(asn_index_dtype(c, self + 1, target));
    return weight ? asn_norm_check(c, self + 2, 1, x->shape + *axis) : ASN_OK;
}

/* The parameters stand in one order behind `self`, which both operators share. NULL with
 * the error set. */
static class_plan *plan_class(asnd_call *c, asnd_body_fn body, int self, int axis,
                              int reduction) {
    class_plan *p = asn_call_plan(
        c, body, sizeof *p, 500 + 12 * (double)asn_nd_size(asn_call_nd(c, self + 1)));
    if (p == NULL) return NULL;
    p->self = c->first[self];
    p->target = c->first[self + 1];
    p->weight = c->first[self + 2];
    p->reduction = reduction;
    p->ignored = asn_call_int(c, self + 4);
    p->axis = axis;
    p->dy = -1;
    return p;
}

/* NLLLoss, NLLLoss2d (self, target, weight, reduction, ignoreIndex, out, totalWeightOut)
 */
asn_status asn_planner_nll(asnd_call *c) {
    const asnd_nd *target = asn_call_nd(c, 1);
    int axis = 0, reduction = 0;
    ASN_TRY(check_classes(c, 0, &axis));
    ASN_TRY(asn_call_reduction(c, 3, 2, &reduction));
    ASN_TRY(asn_call_floating(c, 5));
    ASN_TRY(asn_call_floating(c, 6));
    ASN_TRY(asn_call_one_element(c, 6));
    if (reduction == ASN_REDUCTION_NONE)
        ASN_TRY(asn_call_same_shape(c, 5, target->ndim, target->shape));
    else
        ASN_TRY(asn_call_one_element(c, 5));
    class_plan *p = plan_class(c, nll_body, 0, axis, reduction);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->out = c->first[5];
    p->total = c->first[6];
    return ASN_OK;
}

/* NLLLossBackward, NLLLoss2dBackward (gradOutput, self, target, weight, reduction,
 * ignoreIndex, totalWeight, out) */
asn_status asn_planner_nll_backward(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 1), *target = asn_call_nd(c, 2);
    int axis = 0, reduction = 0;
    ASN_TRY(check_classes(c, 1, &axis));
    ASN_TRY(asn_call_reduction(c, 4, 2, &reduction));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 6));
    ASN_TRY(asn_call_one_element(c, 6));
    ASN_TRY(asn_norm_check(c, 7, x->ndim, x->shape));
    if (reduction == ASN_REDUCTION_NONE)
        ASN_TRY(asn_call_same_shape(c, 0, target->ndim, target->shape));
    else
        ASN_TRY(asn_call_one_element(c, 0));
    if (asn_call_operand(c, 7)->is_empty) return ASN_OK;
    class_plan *p = plan_class(c, nll_backward_body, 1, axis, reduction);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->total = c->first[6];
    p->out = c->first[7];
    return ASN_OK;
}

/* ---- MultilabelMarginLoss(self, target, reduction, out, isTarget): per row, over the
 * classes j that it names before the first -1 and those i that it does not, the sum of
 * max(0, 1 - x[j] + x[i]) / C */

/* Rows of `classes` elements each. bad: a position whose target is no class, or -1. */
typedef struct {
    const double *x;
    const int64_t *targets;
    double *values;
    uint8_t *named;
    int64_t classes, bad;
} margin_work;

/* One row of the loss: its sum runs in the order of its targets. named[i] becomes 1 for
 * each class that the row names. */
static void margin_row(void *ctx, int64_t row) {
    margin_work *w = ctx;
    int64_t n = w->classes, count = 0;
    const double *x = w->x + row * n;
    const int64_t *t = w->targets + row * n;
    uint8_t *named = w->named + row * n;
    memset(named, 0, (size_t)n);
    for (; count < n && t[count] != -1; count++) {
        if (t[count] < 0 || t[count] >= n) {
            __atomic_store_n(&w->bad, row * n + count, __ATOMIC_RELAXED);
            return;
        }
        named[t[count]] = 1;
    }
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < n; i++) {
            double margin = 1 - x[t[k]] + x[i];
            /* NaN is no margin to leave out. */
            if (!named[i] && !(margin <= 0)) sum += margin;
        }
    }
    w->values[row] = sum / (double)n;
}

/* `total` is isTarget here: 1 for the classes that a row names. */
static asn_status margin_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const class_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    int64_t rows = self->ndim == 2 ? self->shape[0] : 1;
    int64_t classes = self->ndim > 0 ? self->shape[p->axis] : 1;
    asnd_view named;
    margin_work w = {.classes = classes, .bad = -1};
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->self), ASN_F64, tmp, &w.x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->target), ASN_I64, tmp, &w.targets));
    ASN_TRY(asn_tmp_view(tmp, ASN_U8, self->ndim, self->shape, &named));
    w.named = (uint8_t *)named.nd.data;
    w.values = asn_tmp_alloc(tmp, (size_t)rows * sizeof *w.values);
    if (w.values == NULL) return ASN_ERR_MEMORY;
    asn_pool_run(margin_row, &w, rows, 4 * (double)(rows * classes));
    if (w.bad >= 0)
        return asn_error_set(
            ASN_ERR_INDEX, "target %lld is %lld; it must be in [-1, %lld)",
            (long long)w.bad, (long long)w.targets[w.bad], (long long)classes);
    ASN_TRY(asn_move(asn_exec_nd(e, p->total), &named.nd));
    if (p->reduction == ASN_REDUCTION_NONE) {
        asnd_view from;
        asn_view_plain(&from, ASN_F64, out->ndim, out->shape, w.values);
        return asn_move(out, &from.nd);
    }
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += w.values[i];
    put(e, p->out, p->reduction == ASN_REDUCTION_MEAN ? sum / (double)rows : sum);
    return ASN_OK;
}

/* self is (N, C), (C), or one element; the loss of one row is one value whatever the
 * reduction. */
asn_status asn_planner_multilabel_margin(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int reduction = 0;
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_norm_check(c, 0, x->ndim, x->shape));
    if (x->ndim > 2 || (x->ndim > 0 && x->shape[x->ndim - 1] == 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self has shape %s; it must be (N, C), (C) or (), C "
                             "above 0",
                             c->op->name, asn_shape_text(got, x->ndim, x->shape));
    ASN_TRY(asn_call_same_shape(c, 1, x->ndim, x->shape));
    ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    ASN_TRY(asn_call_reduction(c, 2, 2, &reduction));
    ASN_TRY(asn_call_floating(c, 3));
    ASN_TRY(asn_call_same_shape(c, 4, x->ndim, x->shape));
    ASN_TRY(asn_call_real(c, 4));
    if (reduction == ASN_REDUCTION_NONE && x->ndim == 2)
        ASN_TRY(asn_call_same_shape(c, 3, 1, x->shape));
    else
        ASN_TRY(asn_call_one_element(c, 3));
    class_plan *p =
        asn_call_plan(c, margin_body, sizeof *p, 500 + 10 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->target = c->first[1];
    p->out = c->first[3];
    p->total = c->first[4];
    p->axis = x->ndim > 0 ? x->ndim - 1 : 0;
    p->reduction = reduction;
    return ASN_OK;
}
