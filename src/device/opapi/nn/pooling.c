/* CPU device, operators: pooling, its gradients, and unpooling.
 *
 * Windows come from pool_window.c, loops from cpu/window.c; halves are computed in
 * float32, integers in int64. Positions are flat in the plane that is pooled.
 *
 * Six actions serve all operators: the maximum with its positions, the mean, the mean's
 * gradient spread, and, by positions, add (a maximum's gradient), put (unpooling), take
 * (its gradient). MaxPool2dWithMask has bits in bytes where the others have positions;
 * they are translated on the way in and out.
 *
 * Positions are computed in int64 and moved to outputs of int32 or int64. A gradient by
 * positions needs no windows: it adds each element where its maximum came from.
 */
#include <string.h>

#include "device/cpu/threads.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/nn/pool_window.h"

/* The last two move elements of any dtype, from the few to the many and back. */
enum { POOL_MAX, POOL_MEAN, POOL_SPREAD, POOL_ADD, POOL_PUT, POOL_TAKE };

/* few: elements of a plane of the pooled side; many: of the other. */
typedef struct {
    asnd_plan_head head;
    asnd_windows w;
    int from, to, index; /* operands; index -1: none */
    int action, spatial;
    int64_t few, many, planes;
    int64_t mask, rows, columns; /* MaxPool2dWithMask: bytes of a row, rows of a plane,
                                    columns of a window; 0: positions */
} pool_plan;

/* Estimated nanoseconds. */
static double work_of(const asnd_nd *a) {
    return 500 + 4 * (double)asn_nd_size(a);
}

/* Computed in; halves in float32. */
static asn_dtype loop_dtype(asn_dtype t) {
    return asn_is_floating(t) ? asn_image_dtype(t) : ASN_I64;
}

/* ---- masks: of each element of a window a row, of each window a byte: 1 where it holds
 * the maximum */

/* Bytes for the windows of a plane, as CANN pads them. */
static int64_t mask_row(const asnd_windows *w) {
    return ((w->out[1] * w->out[2] + 15) / 16 + 1) * 32;
}

/* The element of window o at the mask's row r, flat in the plane; -1: outside. Here share
 * holds where a window starts before the image's edge cuts it. */
static int64_t mask_element(const pool_plan *p, int64_t r, int64_t o) {
    const asnd_windows *w = &p->w;
    int64_t i = w->share[1][o / w->out[2]] + r / p->columns * w->step[1];
    int64_t j = w->share[2][o % w->out[2]] + r % p->columns * w->step[2];
    return i < 0 || i >= w->in[1] || j < 0 || j >= w->in[2] ? -1 : i * w->in[2] + j;
}

/* A plane's bytes and positions: a task each, as windows are. */
typedef struct {
    const pool_plan *p;
    char *mask;
    int64_t *index;
} mask_job;

/* 1 at the row of each window's maximum. */
static void mask_write_plane(void *ctx, int64_t plane) {
    const mask_job *m = ctx;
    const pool_plan *p = m->p;
    const asnd_windows *w = &p->w;
    char *mask = m->mask + plane * p->rows * p->mask;
    const int64_t *at = m->index + plane * p->few;
    memset(mask, 0, (size_t)(p->rows * p->mask));
    for (int64_t b = 0; b < w->out[1]; b++)
        for (int64_t c = 0; c < w->out[2]; c++, mask++, at++) {
            if (w->start[1][b] >= w->stop[1][b] || w->start[2][c] >= w->stop[2][c])
                continue; /* between its taps lies all of the image */
            int64_t i = *at / w->in[2] - w->share[1][b];
            int64_t j = *at % w->in[2] - w->share[2][c];
            mask[(i / w->step[1] * p->columns + j / w->step[2]) * p->mask] = 1;
        }
}

/* A window without a 1 has no position (-1). */
static void mask_read_plane(void *ctx, int64_t plane) {
    const mask_job *m = ctx;
    const pool_plan *p = m->p;
    const char *mask = m->mask + plane * p->rows * p->mask;
    int64_t *at = m->index + plane * p->few;
    for (int64_t o = 0; o < p->few; o++)
        at[o] = -1;
    for (int64_t r = 0; r < p->rows; r++, mask += p->mask)
        for (int64_t o = 0; o < p->few; o++)
            if (mask[o]) at[o] = mask_element(p, r, o);
}

/* Positions into a mask, and back. */
static asn_status mask_write(const pool_plan *p, asnd_tmp *tmp, int64_t *index,
                             const asnd_nd *out) {
    asnd_view mask;
    ASN_TRY(asn_tmp_view(tmp, ASN_I8, out->ndim, out->shape, &mask));
    mask_job m = {.p = p, .mask = mask.nd.data, .index = index};
    asn_pool_run(mask_write_plane, &m, p->planes, (double)(p->planes * p->few) * 8);
    return asn_move(out, &mask.nd);
}

static asn_status mask_read(const pool_plan *p, asnd_tmp *tmp, const asnd_nd *in,
                            int64_t *index) {
    asnd_view mask;
    ASN_TRY(asn_image_plain(tmp, in, ASN_I8, &mask));
    mask_job m = {.p = p, .mask = mask.nd.data, .index = index};
    asn_pool_run(mask_read_plane, &m, p->planes, (double)(p->planes * p->few * p->rows));
    return ASN_OK;
}

/* ---- the body */

/* Positions as int64, one per element that is pooled to. */
static asn_status positions(const pool_plan *p, asnd_tmp *tmp, const asnd_nd *in,
                            const int64_t **index) {
    if (p->mask == 0) {
        asnd_view v;
        ASN_TRY(asn_image_plain(tmp, in, ASN_I64, &v));
        *index = (const int64_t *)v.nd.data;
        return ASN_OK;
    }
    /* A mask: translated into positions. */
    int64_t *made = asn_tmp_alloc(tmp, (size_t)(p->planes * p->few) * sizeof *made);
    if (made == NULL) return ASN_ERR_MEMORY;
    *index = made;
    return mask_read(p, tmp, in, made);
}

/* Inputs in row-major form, the action, and the output moved if it was made elsewhere. */
static asn_status pool_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const pool_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->from), *to = asn_exec_nd(e, p->to);
    /* Gradients and means are computed in float32 or float64, then rounded once. */
    bool moves = p->action >= POOL_PUT; /* elements are moved, not computed with */
    asn_dtype t = moves ? from->dtype : loop_dtype(from->dtype);
    asnd_view x, y, where;
    const int64_t *index = NULL;
    ASN_TRY(asn_image_plain(tmp, from, t, &x));
    ASN_TRY(asn_image_result(e, tmp, to, t, &y));
    const void *in = x.nd.data;
    void *out = y.nd.data;
    if (p->action >= POOL_ADD)
        ASN_TRY(positions(p, tmp, asn_exec_nd(e, p->index), &index));
    switch (p->action) {
    case POOL_MAX:
        where.nd.data = NULL;
        if (p->index >= 0)
            ASN_TRY(asn_tmp_view(tmp, ASN_I64, to->ndim, to->shape, &where));
        asn_window_max(&p->w, t, in, out, (int64_t *)where.nd.data);
        if (p->index >= 0) {
            const asnd_nd *got = asn_exec_nd(e, p->index);
            int64_t *found = (int64_t *)where.nd.data;
            ASN_TRY(p->mask ? mask_write(p, tmp, found, got) : asn_move(got, &where.nd));
        }
        break;
    case POOL_MEAN: asn_window_mean(&p->w, t, in, out); break;
    case POOL_SPREAD: asn_window_spread(&p->w, t, in, out); break;
    case POOL_ADD:
        ASN_TRY(asn_window_add(p->planes, p->few, p->many, t, in, index, out));
        break;
    case POOL_PUT:
        ASN_TRY(asn_window_put(p->planes, p->few, p->many, t, in, index, out));
        break;
    default:
        ASN_TRY(asn_window_take(p->planes, p->few, p->many, t, in, index, out));
        break;
    }
    return asn_image_finish(to, &y);
}

/* ---- planning: parameters by index; `index` -1: none */

/* Sets the rest of the plan: operands, and how many elements a plane has on both
 * sides. */
static asn_status adopt(asnd_call *c, int from, int to, int index, const pool_plan *q) {
    if (asn_call_operand(c, to)->is_empty) return ASN_OK;
    pool_plan p = *q;
    p.from = c->first[from];
    p.to = c->first[to];
    p.index = index < 0 ? -1 : c->first[index];
    p.planes = q->w.planes;
    p.few = q->w.out[0] * q->w.out[1] * q->w.out[2];
    p.many = q->w.in[0] * q->w.in[1] * q->w.in[2];
    return asn_call_keep(c, pool_body, &p, sizeof p, work_of(asn_call_nd(c, from)));
}

/* Both parameters are of a real floating dtype. */
static asn_status floating(const asnd_call *c, int i, int j) {
    ASN_TRY(asn_call_floating(c, i));
    return asn_call_floating(c, j);
}

/* What a maximum or a mean is taken of: real floating dtypes, or one of integers on both
 * sides. */
static asn_status ordered(const asnd_call *c, int i, int j) {
    if (!asn_is_integer(asn_call_nd(c, i)->dtype)) return floating(c, i, j);
    return asn_call_same_dtype(c, i, j);
}

/* A maximum of no elements is undefined; of no images there is none to compute. */
static asn_status batch_only_empty(const asnd_call *c, int i, int spatial) {
    const asnd_nd *a = asn_call_nd(c, i);
    for (int d = a->ndim - spatial; d < a->ndim; d++)
        if (a->shape[d] == 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has an empty dimension other than the batch",
                                 c->op->name, c->op->params[i].name);
    return ASN_OK;
}

/* Checks parameter i: positions in the pooled shape or, with `mask`, the bytes of
 * MaxPool2dWithMask, for which the plan's mask, rows and columns are set. kernel: the
 * parameter of the window's size, with stride and padding behind it. */
static asn_status index_check(asnd_call *c, int i, int kernel, const asnd_nd *in,
                              int spatial, bool mask, pool_plan *q) {
    if (!mask) {
        ASN_TRY(asn_call_position_dtype(c, i));
        return asn_pool_shape(c, i, in, spatial, &q->w);
    }
    int64_t k[2], shape[4];
    int n = in->ndim;
    ASN_TRY(asn_image_ints(c, kernel, 2, 1, 0, k));
    q->mask = mask_row(&q->w);
    q->rows = k[0] * k[1];
    q->columns = k[1];
    memcpy(shape, in->shape, (size_t)(n - 2) * sizeof *shape);
    shape[n - 2] = k[0] * k[1];
    shape[n - 1] = q->mask;
    if (asn_itemsize(asn_call_nd(c, i)->dtype) != 1)
        return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s; it must be int8",
                             c->op->name, c->op->params[i].name,
                             asn_dtype_name(asn_call_nd(c, i)->dtype));
    /* The masks' loops need each window's start before the image's edge cut it. */
    const asnd_array *strides = asn_call_array(c, kernel + 1);
    const int64_t *s = strides->data;
    int64_t stride[2] = {k[0], k[1]}, pad[2];
    if (strides->size > 0)
        for (int d = 0; d < 2; d++)
            stride[d] = s[strides->size == 1 ? 0 : d];
    ASN_TRY(asn_image_ints(c, kernel + 2, 2, 0, 0, pad));
    for (int d = 0; d < 2; d++)
        for (int64_t o = 0; o < q->w.out[1 + d]; o++)
            q->w.share[1 + d][o] = o * stride[d] - pad[d];
    return asn_call_same_shape(c, i, n, shape);
}

/* MaxPool2dWithIndices, MaxPool2dWithMask, MaxPool3dWithArgmax(self, kernelSize, stride,
 * padding, dilation, ceilMode, out, indices). arg: spatial dimensions, 16 for a mask. */
asn_status asn_planner_max_pool(asnd_call *c) {
    static const asnd_pool_params at = {1, 2, 3, 4, 5, -1, -1};
    int spatial = c->op->arg & 15;
    const asnd_nd *self = asn_call_nd(c, 0);
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 0, spatial));
    ASN_TRY(ordered(c, 0, 6));
    ASN_TRY(batch_only_empty(c, 0, spatial));
    ASN_TRY(asn_pool_windows(c, &at, self, spatial, false, &q.w));
    ASN_TRY(asn_pool_shape(c, 6, self, spatial, &q.w));
    ASN_TRY(index_check(c, 7, 1, self, spatial, c->op->arg & 16, &q));
    q.action = POOL_MAX;
    return adopt(c, 0, 6, 7, &q);
}

/* Their gradients: (gradOutput, self, indices, kernelSize, stride, padding, dilation,
 * ceilMode, gradInput) */
asn_status asn_planner_max_pool_backward(asnd_call *c) {
    static const asnd_pool_params at = {3, 4, 5, 6, 7, -1, -1};
    int spatial = c->op->arg & 15;
    const asnd_nd *self = asn_call_nd(c, 1);
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 1, spatial));
    ASN_TRY(floating(c, 0, 8));
    ASN_TRY(asn_pool_windows(c, &at, self, spatial, false, &q.w));
    ASN_TRY(asn_pool_shape(c, 0, self, spatial, &q.w));
    ASN_TRY(index_check(c, 2, 3, self, spatial, c->op->arg & 16, &q));
    ASN_TRY(asn_call_same_shape(c, 8, self->ndim, self->shape));
    q.action = POOL_ADD;
    return adopt(c, 0, 8, 2, &q);
}

/* MaxPool(self, kernelShape, strides, autoPad, pads, dilations, ceilMode, out): ONNX's,
 * pads (before..., after...); one or two dimensions by kernelShape and self. */
asn_status asn_planner_max_pool_onnx(asnd_call *c) {
    asnd_pool_params at = {1, 2, 4, 5, 6, -1, -1};
    const asnd_nd *self = asn_call_nd(c, 0);
    const asnd_array *dilations = asn_call_array(c, 5);
    int spatial = 2;
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 0, spatial));
    ASN_TRY(asn_call_same_dtype(c, 0, 7));
    if (asn_call_int(c, 3) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: autoPad is %lld; it must be 0 (NOTSET)",
                             c->op->name, (long long)asn_call_int(c, 3));
    if (!asn_is_floating(self->dtype) && !asn_is_integer(self->dtype))
        return asn_call_floating(c, 0);
    if (dilations->size == 4) {
        const int64_t *values = dilations->data;
        for (int d = 0; d < 4; d++)
            if (values[d] != 1)
                return asn_error_set(ASN_ERR_VALUE,
                                     "%s: four dilations must all be 1, not %lld",
                                     c->op->name, (long long)values[d]);
        at.dilation = -1;
    }
    ASN_TRY(asn_pool_windows(c, &at, self, spatial, true, &q.w));
    ASN_TRY(asn_pool_shape(c, 7, self, spatial, &q.w));
    q.action = POOL_MAX;
    return adopt(c, 0, 7, -1, &q);
}

/* A divisor may be negative; 0 stands for none. */
static asn_status divisor_check(const asnd_call *c, const asnd_pool_params *at) {
    int64_t divisor = asn_call_int(c, at->divisor);
    if (divisor >= -INT32_MAX && divisor <= INT32_MAX) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: divisorOverride is %lld; too large",
                         c->op->name, (long long)divisor);
}

/* What both directions plan by; x: the parameter of the input's shape. */
static asn_status plan_mean(const asnd_call *c, const asnd_pool_params *at, int x,
                            pool_plan *q) {
    const asnd_nd *self = asn_call_nd(c, x);
    memset(q, 0, sizeof *q);
    ASN_TRY(asn_image_rank(c, x, c->op->arg));
    ASN_TRY(divisor_check(c, at));
    return asn_pool_windows(c, at, self, c->op->arg, false, &q->w);
}

/* AvgPool2d, AvgPool3d(self, kernelSize, strides, paddings, ceilMode, countIncludePad,
 * divisorOverride, [cubeMathType,] out) */
asn_status asn_planner_avg_pool(asnd_call *c) {
    static const asnd_pool_params at = {1, 2, 3, -1, 4, 5, 6};
    int out = asn_call_out(c);
    pool_plan q;
    ASN_TRY(ordered(c, 0, out));
    ASN_TRY(plan_mean(c, &at, 0, &q));
    ASN_TRY(asn_pool_shape(c, out, asn_call_nd(c, 0), c->op->arg, &q.w));
    q.action = POOL_MEAN;
    return adopt(c, 0, out, -1, &q);
}

/* (gradOutput, self, kernelSize, stride, padding, ceilMode, countIncludePad,
 * divisorOverride, [cubeMathType,] gradInput) */
asn_status asn_planner_avg_pool_backward(asnd_call *c) {
    static const asnd_pool_params at = {2, 3, 4, -1, 5, 6, 7};
    int out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 1);
    pool_plan q;
    ASN_TRY(floating(c, 0, out));
    ASN_TRY(plan_mean(c, &at, 1, &q));
    ASN_TRY(asn_pool_shape(c, 0, self, c->op->arg, &q.w));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    q.action = POOL_SPREAD;
    return adopt(c, 0, out, -1, &q);
}

/* AdaptiveAvgPool2d, 3d(self, outputSize, out); AdaptiveMaxPool2d, 3d have indices
 * behind. */
asn_status asn_planner_adaptive_pool(asnd_call *c) {
    int spatial = c->op->arg;
    const asnd_nd *self = asn_call_nd(c, 0);
    bool max = c->op->num_params == 4;
    int64_t size[3];
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 0, spatial));
    ASN_TRY(floating(c, 0, 2));
    ASN_TRY(asn_image_ints(c, 1, spatial, 0, -1, size));
    ASN_TRY(asn_pool_adaptive(c, self, spatial, size, &q.w));
    ASN_TRY(asn_pool_shape(c, 2, self, spatial, &q.w));
    if (max) ASN_TRY(index_check(c, 3, -1, self, spatial, false, &q));
    q.action = max ? POOL_MAX : POOL_MEAN;
    return adopt(c, 0, 2, max ? 3 : -1, &q);
}

/* (gradOutput, self, out); AdaptiveMaxPool3dBackward(gradOutput, self, indices,
 * gradInput) */
asn_status asn_planner_adaptive_pool_backward(asnd_call *c) {
    int spatial = c->op->arg, out = c->op->num_params - 1;
    const asnd_nd *grad = asn_call_nd(c, 0), *self = asn_call_nd(c, 1);
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 1, spatial));
    ASN_TRY(floating(c, 0, out));
    if (grad->ndim != self->ndim)
        return asn_call_same_shape(c, 0, self->ndim, self->shape);
    ASN_TRY(
        asn_pool_adaptive(c, self, spatial, grad->shape + grad->ndim - spatial, &q.w));
    ASN_TRY(asn_pool_shape(c, 0, self, spatial, &q.w));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (out == 3) ASN_TRY(index_check(c, 2, -1, self, spatial, false, &q));
    q.action = out == 3 ? POOL_ADD : POOL_SPREAD;
    return adopt(c, 0, out, out == 3 ? 2 : -1, &q);
}

/* GlobalAveragePool, GlobalMaxPool(self, out): arg is the action; every dimension behind
 * the channels becomes 1. */
asn_status asn_planner_global_pool(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS], ones[3] = {1, 1, 1}, flat[3] = {1, 1, 1}, strides[3];
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(floating(c, 0, 1));
    if (self->ndim < 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self has %d dimensions; it must have at least 3",
                             c->op->name, self->ndim);
    for (int d = 0; d < self->ndim; d++) {
        shape[d] = d < 2 ? self->shape[d] : 1;
        flat[d < 2 ? d : 2] *= self->shape[d];
    }
    ASN_TRY(asn_call_same_shape(c, 1, self->ndim, shape));
    /* One window over all positions behind the channels, taken as one dimension. */
    asnd_nd all = {self->data, 3, self->dtype, flat, strides};
    memset(strides, 0, sizeof strides);
    ASN_TRY(asn_pool_adaptive(c, &all, 1, ones, &q.w));
    q.action = c->op->arg;
    return adopt(c, 0, 1, -1, &q);
}

/* MaxUnpool2d, 3d(self, indices, outputSize, [stride, padding,] out): elements go to the
 * positions, zeros elsewhere. stride and padding say where outputSize came from. */
asn_status asn_planner_max_unpool(asnd_call *c) {
    int spatial = c->op->arg, out = c->op->num_params - 1;
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t size[3];
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 0, spatial));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_position_dtype(c, 1));
    ASN_TRY(asn_call_same_shape(c, 1, self->ndim, self->shape));
    ASN_TRY(asn_image_ints(c, 2, spatial, 0, -1, size));
    /* outputSize holds the spatial extents of the large side. */
    q.w.planes = 1;
    for (int d = 0; d < self->ndim - spatial; d++)
        q.w.planes *= self->shape[d];
    /* asn_pool_shape wants the large side as `out`, the loop the small one: they change
     * places afterwards. */
    for (int d = 0; d < 3; d++) {
        bool real = d >= 3 - spatial;
        q.w.out[d] =
            real ? size[d - (3 - spatial)] : 1; /* the large side, for its shape */
        q.w.in[d] = real ? self->shape[self->ndim - 3 + d] : 1;
    }
    ASN_TRY(asn_pool_shape(c, out, self, spatial, &q.w));
    for (int d = 0; d < 3; d++) {
        int64_t large = q.w.out[d];
        q.w.out[d] = q.w.in[d];
        q.w.in[d] = large;
    }
    q.action = POOL_PUT;
    return adopt(c, 0, out, 1, &q);
}

/* (gradOutput, self, indices, outputSize, [stride, padding,] out) */
asn_status asn_planner_max_unpool_backward(asnd_call *c) {
    int spatial = c->op->arg, out = c->op->num_params - 1;
    const asnd_nd *self = asn_call_nd(c, 1);
    int64_t size[3];
    pool_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(asn_image_rank(c, 1, spatial));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_position_dtype(c, 2));
    ASN_TRY(asn_call_same_shape(c, 2, self->ndim, self->shape));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    ASN_TRY(asn_image_ints(c, 3, spatial, 0, -1, size));
    q.w.planes = 1;
    for (int d = 0; d < self->ndim - spatial; d++)
        q.w.planes *= self->shape[d];
    for (int d = 0; d < 3; d++)
        q.w.out[d] = d < 3 - spatial ? 1 : size[d - (3 - spatial)];
    ASN_TRY(asn_pool_shape(c, 0, self, spatial, &q.w));
    for (int d = 0; d < 3; d++) {
        q.w.in[d] = q.w.out[d];
        q.w.out[d] = d < 3 - spatial ? 1 : self->shape[self->ndim - 3 + d];
    }
    q.action = POOL_TAKE;
    return adopt(c, 0, out, 2, &q);
}
