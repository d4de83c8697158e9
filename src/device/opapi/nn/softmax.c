/* CPU device, operators: Softmax and LogSoftmax, softmax of scaled and masked scores, and
 * the gradients.
 *
 * Forward, three fused passes over the scores s = scale * x + summands, -infinity where a
 * mask says so: the maximum, the sum of exponentials below it, the result. Without the
 * maximum exp would overflow. The scores are made again in each pass, not stored. Rows of
 * contiguous elements without a mask are one visit each (softmax_rows.h).
 *
 * Backward, from the output y, two passes: y * (dy - sum(dy * y)), or for the logarithm
 * dy
 * - exp(y) * sum(dy), sums along the dimension; times the scale. A masked y is 0, and so
 * is its gradient.
 *
 * Halves are computed in float32 and rounded once.
 */
#include <math.h>

#include "device/cpu/nn/softmax_rows.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/nn/softmax.h"

/* Operands (-1: absent), the dimension, and whether it is LogSoftmax. plus: summands; w:
 * MaskedSoftmaxWithRelPosBias splits x's first dimension by it where it is not 0. */
typedef struct {
    asnd_plan_head head;
    int x, mask, plus[2], dy, y, out, axis;
    bool log, triangle;
    int64_t w;
    double scale;
} softmax_plan;

/* The scores: views that broadcast to x's shape, or NULL. */
typedef struct {
    asnd_view x, mask, plus[2], out;
    const asnd_nd *hidden, *more[2];
} scores;

/* The scores as a value of the program. */
static int emit(asnd_prog *p, const scores *s, const softmax_plan *q, asn_dtype t) {
    int x = asn_prog_as(p, asn_prog_in(p, &s->x.nd), t);
    if (q->scale != 1)
        x = asn_prog_op2(p, ASN_OP_MULTIPLY, x, asn_prog_const(p, t, q->scale));
    for (int k = 0; k < 2; k++)
        if (s->more[k])
            x = asn_prog_op2(p, ASN_OP_ADD, x,
                             asn_prog_as(p, asn_prog_in(p, s->more[k]), t));
    if (s->hidden) {
        int mask = asn_prog_as(p, asn_prog_in(p, s->hidden), ASN_BOOL);
        x = asn_prog_op3(p, ASN_OP_WHERE, mask, asn_prog_const(p, t, -INFINITY), x);
    }
    return x;
}

/* mask: true above the diagonal of the last two dimensions. */
static asn_status triangle_mask(scores *s, asnd_tmp *tmp) {
    int n = s->x.nd.ndim;
    /* fixedTriuMask: the future is hidden, query i sees keys 0 to i. One square for all
     * batches and heads, by strides of 0. */
    ASN_TRY(asn_tmp_view(tmp, ASN_BOOL, 2, s->x.shape + n - 2, &s->mask));
    bool *row = (bool *)s->mask.nd.data;
    for (int64_t i = 0; i < s->mask.shape[0]; i++, row += s->mask.shape[1])
        for (int64_t j = 0; j < s->mask.shape[1]; j++)
            row[j] = j > i;
    return ASN_OK;
}

/* v: the operand, broadcast to x. With w, x is (batch, w, heads, ...); a mask (w, rows,
 * columns) has no heads. */
static const asnd_nd *like_x(asnd_view *v, aclOpExecutor *e, int operand, const scores *s,
                             const softmax_plan *p, bool mask) {
    asn_view_set(v, asn_exec_nd(e, operand));
    if (mask && p->w && v->nd.ndim == 3) asn_view_insert(v, 1, 1, 0);
    asn_view_broadcast(v, s->x.nd.ndim, s->x.shape);
    return &v->nd;
}

/* x and out as (batch / w, w, ...). */
static void split_first(asnd_view *v, int64_t w) {
    int64_t stride = v->strides[0];
    v->shape[0] /= w;
    v->strides[0] *= w;
    asn_view_insert(v, 1, w, stride);
}

/* Whether the scores are x itself, and its rows are what the sums run over. */
static bool is_plain(const scores *s, const softmax_plan *p, int axis) {
    return !p->log && p->scale == 1 && !s->hidden && !s->more[0] && !s->more[1] &&
           axis == s->x.nd.ndim - 1 && asn_softmax_rows_fit(&s->x.nd, &s->out.nd);
}

/* The three passes along the axis. */
static asn_status compute(const scores *s, const softmax_plan *p, int axis,
                          asnd_tmp *tmp) {
    asnd_norm n;
    asnd_view top, sum;
    asn_norm_begin(&n, &s->x.nd, UINT64_C(1) << axis);
    /* The arithmetic is the wider of input and output. */
    if (s->out.nd.dtype == ASN_F64) n.t = ASN_F64;
    if (is_plain(s, p, axis)) return asn_softmax_rows(&s->x.nd, &s->out.nd, n.t);
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &top));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    asnd_prog g;
    asn_prog_begin(&g, s->x.nd.ndim, s->x.shape, n.mask);
    asn_prog_reduce(&g, ASN_OP_MAXIMUM, emit(&g, s, p, n.t), &top.nd);
    ASN_TRY(asn_prog_run(&g));
    asn_prog_begin(&g, s->x.nd.ndim, s->x.shape, n.mask);
    int x = emit(&g, s, p, n.t);
    x = asn_prog_op2(&g, ASN_OP_SUBTRACT, x, asn_prog_in(&g, &top.nd));
    asn_prog_reduce(&g, ASN_OP_ADD, asn_prog_op1(&g, ASN_OP_EXP, x), &sum.nd);
    ASN_TRY(asn_prog_run(&g));
    /* exp(x - maximum) / sum, or x - maximum - log(sum). */
    asn_prog_begin(&g, s->x.nd.ndim, s->x.shape, 0);
    x = emit(&g, s, p, n.t);
    x = asn_prog_op2(&g, ASN_OP_SUBTRACT, x, asn_prog_in(&g, &top.nd));
    int total = asn_prog_in(&g, &sum.nd);
    x = p->log ? asn_prog_op2(&g, ASN_OP_SUBTRACT, x, asn_prog_op1(&g, ASN_OP_LOG, total))
               : asn_prog_op2(&g, ASN_OP_DIVIDE, asn_prog_op1(&g, ASN_OP_EXP, x), total);
    asn_prog_out(&g, x, &s->out.nd);
    return asn_prog_run(&g);
}

asn_status asn_softmax(const asnd_nd *x, int axis, const asnd_nd *out, asnd_tmp *tmp) {
    softmax_plan p = {.scale = 1};
    scores s;
    s.hidden = s.more[0] = s.more[1] = NULL;
    asn_view_set(&s.x, x);
    asn_view_set(&s.out, out);
    return compute(&s, &p, axis, tmp);
}

static asn_status softmax_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const softmax_plan *p = plan;
    scores s;
    s.hidden = s.more[0] = s.more[1] = NULL;
    asn_view_set(&s.x, asn_exec_nd(e, p->x));
    asn_view_set(&s.out, asn_exec_nd(e, p->out));
    asn_view_at_least_1d(&s.x);
    asn_view_at_least_1d(&s.out);
    int axis = p->axis;
    if (p->w && s.x.nd.ndim == 4) {
        split_first(&s.x, p->w);
        split_first(&s.out, p->w);
        axis++;
    }
    for (int k = 0; k < 2; k++)
        if (p->plus[k] >= 0) s.more[k] = like_x(&s.plus[k], e, p->plus[k], &s, p, k == 0);
    if (p->triangle) {
        ASN_TRY(triangle_mask(&s, tmp));
        asn_view_broadcast(&s.mask, s.x.nd.ndim, s.x.shape);
        s.hidden = &s.mask.nd;
    } else if (p->mask >= 0) {
        s.hidden = like_x(&s.mask, e, p->mask, &s, p, true);
    }
    return compute(&s, p, axis, tmp);
}

/* A tensor without dimensions is a line of one. float64 if either input is, else
 * float32. */
static asn_status backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const softmax_plan *s = plan;
    asnd_view dy, y, out, sum;
    asn_view_set(&dy, asn_exec_nd(e, s->dy));
    asn_view_set(&y, asn_exec_nd(e, s->y));
    asn_view_set(&out, asn_exec_nd(e, s->out));
    /* dx = y (dy - sum(dy y)), or dy - exp(y) sum(dy) of a logarithm. */
    asn_view_at_least_1d(&dy);
    asn_view_at_least_1d(&y);
    asn_view_at_least_1d(&out);
    asnd_norm n;
    asn_norm_begin(&n, &y.nd, UINT64_C(1) << s->axis);
    if (dy.nd.dtype == ASN_F64) n.t = ASN_F64;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    asnd_prog p;
    asn_prog_begin(&p, y.nd.ndim, y.shape, n.mask);
    int d = asn_prog_as(&p, asn_prog_in(&p, &dy.nd), n.t), x = 0;
    if (!s->log) {
        x = asn_prog_as(&p, asn_prog_in(&p, &y.nd), n.t);
        d = asn_prog_op2(&p, ASN_OP_MULTIPLY, d, x);
    }
    asn_prog_reduce(&p, ASN_OP_ADD, d, &sum.nd);
    ASN_TRY(asn_prog_run(&p));
    /* The sum broadcasts along the axis by its stride of 0. */
    asn_prog_begin(&p, y.nd.ndim, y.shape, 0);
    d = asn_prog_as(&p, asn_prog_in(&p, &dy.nd), n.t);
    x = asn_prog_as(&p, asn_prog_in(&p, &y.nd), n.t);
    int total = asn_prog_in(&p, &sum.nd);
    if (s->log) {
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, asn_prog_op1(&p, ASN_OP_EXP, x), total);
        x = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, x);
    } else {
        d = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, total);
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, d);
    }
    if (s->scale != 1)
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, asn_prog_const(&p, n.t, s->scale));
    asn_prog_out(&p, x, &out.nd);
    return asn_prog_run(&p);
}

/* ---- planning */

/* A plan along the axis with nothing but an output; NULL with the error set. */
static softmax_plan *plan_softmax(asnd_call *c, asnd_body_fn body, int out, int axis) {
    softmax_plan *p = asn_call_plan(c, body, sizeof *p,
                                    200 + 3 * (double)asn_nd_size(asn_call_nd(c, out)));
    if (p == NULL) return NULL;
    *p = (softmax_plan){.head = p->head,
                        .x = -1,
                        .mask = -1,
                        .plus = {-1, -1},
                        .dy = -1,
                        .y = -1,
                        .out = c->first[out],
                        .axis = axis,
                        .scale = 1};
    return p;
}

/* Softmax(self, dim, out), LogSoftmax likewise. arg 1: LogSoftmax. */
asn_status asn_planner_softmax(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int axis = 0;
    if (!asn_is_floating(self->dtype) || !asn_is_floating(asn_call_nd(c, 2)->dtype))
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: self and out must be of a real floating dtype",
                             c->op->name);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    ASN_TRY(asn_call_same_shape(c, 2, self->ndim, self->shape));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    softmax_plan *p = plan_softmax(c, softmax_body, 2, axis);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->x = c->first[0];
    p->log = c->op->arg == 1;
    return ASN_OK;
}

/* SoftmaxBackward, LogSoftmaxBackward (gradOutput, output, dim, out) */
asn_status asn_planner_softmax_backward(asnd_call *c) {
    const asnd_nd *y = asn_call_nd(c, 1);
    int axis = 0;
    for (int i = 0; i < 4; i += i == 1 ? 2 : 1)
        ASN_TRY(asn_norm_check(c, i, y->ndim, y->shape));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), y->ndim, &axis));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    softmax_plan *p = plan_softmax(c, backward_body, 3, axis);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->y = c->first[1];
    p->log = c->op->arg == 1;
    return ASN_OK;
}

/* A mask is bool or uint8 and broadcasts to the scores, of two dimensions or more. */
static asn_status check_mask(const asnd_call *c, int i, const asnd_nd *x) {
    const asnd_nd *mask = asn_call_nd(c, i);
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    if (x->ndim < 2)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: %s has shape %s; it must have two dimensions or more",
            c->op->name, c->op->params[0].name, asn_shape_text(got, x->ndim, x->shape));
    if (mask == NULL) return ASN_OK;
    if (mask->dtype != ASN_BOOL && mask->dtype != ASN_U8)
        return asn_error_set(ASN_ERR_TYPE, "%s: mask has dtype %s; it must be bool",
                             c->op->name, asn_dtype_name(mask->dtype));
    if (asn_nd_broadcasts(mask, x->ndim, x->shape)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: mask has shape %s, which does not broadcast to %s",
                         c->op->name, asn_shape_text(got, mask->ndim, mask->shape),
                         asn_shape_text(want, x->ndim, x->shape));
}

/* MaskedSoftmaxWithRelPosBias's x is (batch * w, heads, rows, columns) or (batch, w,
 * heads, rows, columns); its mask has w windows, (w, rows, columns), (w, 1, rows,
 * columns) or (1, w, 1, rows, columns), and the bias heads, (heads, rows, columns) with
 * any number of 1 in front. *w: the windows. */
static asn_status check_windows(const asnd_call *c, int64_t *w) {
    const asnd_nd *x = asn_call_nd(c, 0), *mask = asn_call_nd(c, 1);
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    if (x->ndim != 4 && x->ndim != 5)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has shape %s; it must have 4 or 5 "
                             "dimensions",
                             c->op->name, asn_shape_text(got, x->ndim, x->shape));
    /* Windows of a shifted-window transformer (Liu et al., "Swin Transformer", 2021): the
     * mask repeats for every image, the bias for every window. */
    int heads = x->ndim - 3;
    const int64_t *last = x->shape + heads;
    *w = x->ndim == 5 ? x->shape[1] : 1;
    if (mask != NULL) {
        bool fits = mask->ndim >= 3 && mask->ndim <= 5;
        int at = mask->ndim == 5; /* of the windows */
        if (fits && x->ndim == 4) *w = mask->shape[at];
        fits = fits && *w > 0 && x->shape[0] % (x->ndim == 4 ? *w : 1) == 0 &&
               mask->shape[at] == *w && (at == 0 || mask->shape[0] == 1) &&
               (mask->ndim == 3 || mask->shape[at + 1] == 1) &&
               mask->shape[mask->ndim - 2] == last[1] &&
               mask->shape[mask->ndim - 1] == last[2];
        if (!fits)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: attenMask has shape %s, x has %s; it must have x's "
                                 "rows and columns behind the windows",
                                 c->op->name,
                                 asn_shape_text(got, mask->ndim, mask->shape),
                                 asn_shape_text(want, x->ndim, x->shape));
        ASN_TRY(asn_call_floating(c, 1));
    }
    const asnd_nd *bias = asn_call_nd(c, 2);
    bool fits = bias->ndim >= 3 && bias->ndim <= 5;
    for (int d = 0; fits && d < bias->ndim; d++)
        fits = bias->shape[d] == (d < bias->ndim - 3 ? 1 : last[d - bias->ndim + 3]);
    ASN_TRY(asn_call_floating(c, 2));
    return fits ? ASN_OK : asn_call_same_shape(c, 2, 3, last);
}

/* ScaledMaskedSoftmax(x, mask, scale, fixedTriuMask, y), arg 1, and
 * MaskedSoftmaxWithRelPosBias(x, attenMaskOptional, relativePosBias, scaleValue,
 * innerPrecisionMode, out), along the last dimension. */
asn_status asn_planner_masked_softmax(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    bool hides = c->op->arg == 1;
    int out = asn_call_out(c);
    int64_t w = 0;
    ASN_TRY(asn_norm_check(c, 0, x->ndim, x->shape));
    ASN_TRY(asn_norm_check(c, out, x->ndim, x->shape));
    /* ScaledMaskedSoftmax's mask hides, the other operator's is added to the scores. */
    ASN_TRY(hides ? check_mask(c, 1, x) : check_windows(c, &w));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    softmax_plan *p = plan_softmax(c, softmax_body, out, x->ndim - 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->x = c->first[0];
    p->scale = asn_call_double(c, hides ? 2 : 3);
    p->w = w;
    if (hides) {
        p->mask = c->first[1];
        p->triangle = asn_call_int(c, 3) != 0;
    } else {
        p->plus[0] = c->first[1];
        p->plus[1] = c->first[2];
    }
    return ASN_OK;
}

/* ScaledMaskedSoftmaxBackward(gradOutput, y, mask, scale, fixTriuMask, out). What was
 * masked is 0 in y: neither mask is read. */
asn_status asn_planner_masked_softmax_backward(asnd_call *c) {
    const asnd_nd *y = asn_call_nd(c, 1);
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_norm_check(c, i, y->ndim, y->shape));
    ASN_TRY(asn_norm_check(c, 5, y->ndim, y->shape));
    ASN_TRY(check_mask(c, 2, y));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    softmax_plan *p = plan_softmax(c, backward_body, 5, y->ndim - 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->y = c->first[1];
    p->scale = asn_call_double(c, 3);
    return ASN_OK;
}
