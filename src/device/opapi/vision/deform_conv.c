/* CPU device, operators: DeformableConv2d and its gradient.
 *
 * An output position (oh, ow) and a window's element (i, j) sample the image at y = oh
 * stride + i dilation - padding + offset_y, likewise x, bilinearly, zero outside, times
 * the mask (modulated). All samples are an image of (oh * kh, ow * kw), deformOut, over
 * which a convolution without overlap follows. offset is (n, 3 * deformableGroups * kh *
 * kw, oh, ow): all x, all y, all masks; without masks a third of it may be missing.
 * Channels are cut into deformableGroups, each with offsets of its own.
 *
 * stride and dilation have four numbers, of which the last two are those of height and
 * width; padding is top, bottom, left, right. deformOut, which the gradient reads, has
 * the mask in it.
 *
 * With s the samples before the mask m: deformOut = m s; the gradient of deformOut is
 * that of a convolution's input, G; dm = the sum of G s over a group's channels, ds = m
 * G, and from ds the gradients of image and positions, which are offset's.
 *
 * So it is sampling at a grid (cpu/nn/grid_sample.h) and a convolution (cpu/nn/conv.h),
 * and the gradient is those of both.
 */
#include <string.h>

#include "device/cpu/nn/conv.h"
#include "device/cpu/nn/grid_sample.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"
#include "device/opapi/nn/image.h"

/* conv: over the samples. at: operands of x, weight, offset, bias or offsetOut,
 * gradOutput, then the outputs; -1: absent. */
typedef struct {
    asnd_plan_head head;
    asnd_conv conv;
    asnd_grid grid;
    asn_dtype t;
    int64_t stride[2], pad[2], dilation[2], groups; /* groups: of offsets */
    int parts;                                      /* of offset: 2 or 3 */
    bool masked;
    int x, weight, offset, bias, grad, samples, out[4];
} deform_plan;

enum { WIDE = 6 };

/* Part k (x, y, mask) of offset, or of its gradient, as (n, groups, oh, kh, ow, kw). */
static void offset_part(const deform_plan *p, const asnd_nd *a, int k, asnd_view *v) {
    /* Channel g * kh * kw + i * kw + j of the part. */
    int64_t kh = p->conv.k[1], kw = p->conv.k[2], step = a->strides[1];
    asn_view_set(v, a);
    asn_view_slice(v, 1, k * p->groups * kh * kw, p->groups * kh * kw, 1);
    v->shape[1] = p->groups;
    v->strides[1] = step * kh * kw;
    asn_view_insert(v, 2, kh, step * kw);
    asn_view_insert(v, 3, kw, step);
    asn_view_permute(v, (int[]){0, 1, 4, 2, 5, 3});
}

/* (n, groups, oh, kh, ow, kw) of contiguous memory whose elements are `step` apart. */
static void sample_view(const deform_plan *p, void *data, int64_t step, asnd_view *v) {
    const int64_t shape[WIDE] = {p->conv.n,    p->groups,    p->conv.y[1],
                                 p->conv.k[1], p->conv.y[2], p->conv.k[2]};
    asn_view_plain(v, p->t, WIDE, shape, data);
    for (int d = 0; d < WIDE; d++)
        v->strides[d] *= step;
}

/* grid (n * groups, points, 2): the windows' positions plus the offsets. */
static asn_status make_grid(aclOpExecutor *e, const deform_plan *p, asnd_tmp *tmp,
                            char **grid) {
    int64_t item = asn_itemsize(p->t);
    *grid = asn_tmp_alloc(tmp, (size_t)(p->grid.batch * p->grid.points * 2 * item));
    if (*grid == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 2; k++) { /* x, y: the last dimension, the one before */
        int d = 1 - k;
        int64_t outs = p->conv.y[1 + d], taps = p->conv.k[1 + d];
        const int64_t plain[2] = {outs, taps};
        asnd_view base, offset, to, in;
        ASN_TRY(asn_tmp_view(tmp, ASN_F64, 2, plain, &base));
        for (int64_t o = 0; o < outs; o++)
            for (int64_t i = 0; i < taps; i++)
                ((double *)(void *)base.nd.data)[o * taps + i] =
                    (double)(o * p->stride[d] + i * p->dilation[d] - p->pad[d]);
        offset_part(p, asn_exec_nd(e, p->offset), k, &offset);
        sample_view(p, *grid + k * item, 2, &to);
        /* The base varies along two of the dimensions only. */
        asn_view_set(&in, &to.nd);
        in.nd.data = base.nd.data;
        in.nd.dtype = ASN_F64;
        for (int axis = 0; axis < WIDE; axis++)
            in.strides[axis] = axis == 2 + 2 * d   ? base.strides[0]
                               : axis == 3 + 2 * d ? base.strides[1]
                                                   : 0;
        asnd_prog q;
        asn_prog_begin(&q, WIDE, to.shape, 0);
        int sum = asn_prog_op2(&q, ASN_OP_ADD,
                               asn_prog_as(&q, asn_prog_in(&q, &offset.nd), p->t),
                               asn_prog_as(&q, asn_prog_in(&q, &in.nd), p->t));
        asn_prog_out(&q, sum, &to.nd);
        ASN_TRY(asn_prog_run(&q));
    }
    return ASN_OK;
}

/* The samples of all channels as (n, groups, channels, oh, kh, ow, kw). */
static void channel_view(const deform_plan *p, const void *data, asnd_view *v) {
    int64_t points = p->grid.points * asn_itemsize(p->t);
    sample_view(p, (void *)data, 1, v);
    v->strides[1] = points * p->grid.channels;
    v->strides[0] = v->strides[1] * p->groups;
    asn_view_insert(v, 2, p->grid.channels, points);
}

/* to = samples times the mask, which may be the same memory. */
static asn_status times_mask(aclOpExecutor *e, const deform_plan *p, const void *samples,
                             void *to) {
    asnd_view x, mask, y;
    asnd_prog q;
    channel_view(p, samples, &x);
    channel_view(p, to, &y);
    offset_part(p, asn_exec_nd(e, p->offset), 2, &mask);
    asn_view_insert(&mask, 2, p->grid.channels, 0);
    asn_prog_begin(&q, WIDE + 1, x.shape, 0);
    int m = asn_prog_as(&q, asn_prog_in(&q, &mask.nd), p->t);
    asn_prog_out(&q, asn_prog_op2(&q, ASN_OP_MULTIPLY, asn_prog_in(&q, &x.nd), m), &y.nd);
    return asn_prog_run(&q);
}

/* Memory for the samples of all channels. */
static asn_status samples_alloc(const deform_plan *p, asnd_tmp *tmp, void **data) {
    int64_t all = p->grid.batch * p->grid.channels * p->grid.points;
    *data = asn_tmp_alloc(tmp, (size_t)(all * asn_itemsize(p->t)));
    return *data == NULL ? ASN_ERR_MEMORY : ASN_OK;
}

/* The samples are an image that a convolution without overlap goes over. */
static asn_status deform_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const deform_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out[0]);
    asnd_view x, weight, bias, y, v;
    char *grid;
    void *samples;
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->x), p->t, &x));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->weight), p->t, &weight));
    if (p->bias >= 0) ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->bias), p->t, &bias));
    ASN_TRY(make_grid(e, p, tmp, &grid));
    ASN_TRY(samples_alloc(p, tmp, &samples));
    asn_grid_sample(&p->grid, p->t, x.nd.data, grid, samples);
    if (p->masked) ASN_TRY(times_mask(e, p, samples, samples));
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &y));
    ASN_TRY(asn_conv_to_y(&p->conv, p->t, samples, weight.nd.data,
                          p->bias >= 0 ? bias.nd.data : NULL, y.nd.data));
    ASN_TRY(asn_image_finish(out, &y));
    /* deformOut is wanted by those who train. */
    if (p->out[1] < 0) return ASN_OK;
    const asnd_nd *deformed = asn_exec_nd(e, p->out[1]);
    asn_view_plain(&v, p->t, 4, deformed->shape, samples);
    return asn_move(deformed, &v.nd);
}

/* The gradient of offset: of the positions, and of the mask, the sum over a group's
 * channels of the samples (not masked) times their gradient. */
static asn_status offset_gradient(aclOpExecutor *e, const deform_plan *p, char *positions,
                                  const void *samples, const void *grads, asnd_tmp *tmp) {
    const asnd_nd *to = asn_exec_nd(e, p->out[2]);
    int64_t item = asn_itemsize(p->t);
    asnd_view part, from;
    for (int k = 0; k < 2; k++) {
        offset_part(p, to, k, &part);
        sample_view(p, positions + k * item, 2, &from);
        ASN_TRY(asn_move(&part.nd, &from.nd));
    }
    /* Without masks there is nothing more, or zeros. */
    if (p->parts < 3) return ASN_OK;
    void *sums = asn_tmp_alloc(tmp, (size_t)(p->grid.batch * p->grid.points * item));
    if (sums == NULL) return ASN_ERR_MEMORY;
    sample_view(p, sums, 1, &from);
    offset_part(p, to, 2, &part);
    if (p->masked) {
        asnd_view x, g, sum;
        asnd_prog q;
        channel_view(p, samples, &x);
        channel_view(p, grads, &g);
        asn_view_set(&sum, &from.nd);
        asn_view_insert(&sum, 2, 1, 0);
        asn_prog_begin(&q, WIDE + 1, x.shape, 1 << 2);
        asn_prog_reduce(&q, ASN_OP_ADD,
                        asn_prog_op2(&q, ASN_OP_MULTIPLY, asn_prog_in(&q, &x.nd),
                                     asn_prog_in(&q, &g.nd)),
                        &sum.nd);
        ASN_TRY(asn_prog_run(&q));
    } else {
        memset(sums, 0, (size_t)(p->grid.batch * p->grid.points * item));
    }
    return asn_move(&part.nd, &from.nd);
}

/* The sum of gradOutput (n, channels, positions) over images and positions. */
static asn_status bias_gradient(aclOpExecutor *e, const deform_plan *p, void *grad,
                                asnd_tmp *tmp) {
    const asnd_nd *to = asn_exec_nd(e, p->out[3]);
    const int64_t shape[3] = {p->conv.n, p->conv.groups * p->conv.cy,
                              p->conv.y[1] * p->conv.y[2]};
    asnd_view g, sum, kept;
    asnd_prog q;
    asn_view_plain(&g, p->t, 3, shape, grad);
    ASN_TRY(asn_tmp_view(tmp, p->t, 1, shape + 1, &sum));
    asn_view_reduced(&kept, &sum.nd, 5, false, 3);
    asn_prog_begin(&q, 3, g.shape, 5);
    asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_in(&q, &g.nd), &kept.nd);
    ASN_TRY(asn_prog_run(&q));
    return asn_move(to, &sum.nd);
}

/* The weight's gradient takes the samples of the forward pass; those of positions and
 * image go through the masked gradient of the samples. */
static asn_status deform_back_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const deform_plan *p = plan;
    const asnd_nd *outs[2] = {asn_exec_nd(e, p->out[0]), asn_exec_nd(e, p->out[1])};
    asnd_view x, weight, y, deformed, dx, dw;
    char *grid, *positions;
    void *samples, *grads;
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->x), p->t, &x));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->weight), p->t, &weight));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->grad), p->t, &y));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->samples), p->t, &deformed));
    ASN_TRY(make_grid(e, p, tmp, &grid));
    positions = asn_tmp_alloc(
        tmp, (size_t)(p->grid.batch * p->grid.points * 2 * asn_itemsize(p->t)));
    if (positions == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(samples_alloc(p, tmp, &samples));
    ASN_TRY(samples_alloc(p, tmp, &grads));
    ASN_TRY(asn_image_result(e, tmp, outs[1], p->t, &dw));
    ASN_TRY(asn_conv_to_w(&p->conv, p->t, deformed.nd.data, y.nd.data, dw.nd.data));
    ASN_TRY(asn_conv_to_x(&p->conv, p->t, y.nd.data, weight.nd.data, NULL, grads));
    ASN_TRY(asn_image_result(e, tmp, outs[0], p->t, &dx));
    void *masked = grads;
    if (p->masked) {
        ASN_TRY(samples_alloc(p, tmp, &masked));
        ASN_TRY(times_mask(e, p, grads, masked));
        asn_grid_sample(&p->grid, p->t, x.nd.data, grid, samples);
    }
    asn_grid_gradients(&p->grid, p->t, x.nd.data, grid, masked, dx.nd.data, positions);
    ASN_TRY(offset_gradient(e, p, positions, samples, grads, tmp));
    ASN_TRY(bias_gradient(e, p, y.nd.data, tmp));
    ASN_TRY(asn_image_finish(outs[1], &dw));
    return asn_image_finish(outs[0], &dx);
}

/* ---- planning */

/* Shapes and numbers: x, weight, offset as parameters, the numbers from `first` on. */
static asn_status geometry(const asnd_call *c, int x, int weight, int offset, int first,
                           deform_plan *p) {
    const asnd_nd *in = asn_call_nd(c, x), *w = asn_call_nd(c, weight);
    const asnd_nd *off = asn_call_nd(c, offset);
    int64_t stride[4], pad[4], dilation[4], groups[2];
    asnd_conv *g = &p->conv;
    ASN_TRY(asn_call_rank(c, x, 4, 4));
    ASN_TRY(asn_call_rank(c, weight, 4, 4));
    ASN_TRY(asn_call_rank(c, offset, 4, 4));
    g->k[0] = g->x[0] = g->y[0] = g->dilation[0] = g->stride[0] = 1;
    ASN_TRY(asn_image_ints(c, first, 2, 1, 0, g->k + 1));
    ASN_TRY(asn_image_ints(c, first + 1, 4, 1, 0, stride));
    ASN_TRY(asn_image_ints(c, first + 2, 4, 0, -1, pad));
    ASN_TRY(asn_image_ints(c, first + 3, 4, 1, 0, dilation));
    for (int k = 0; k < 2; k++) {
        groups[k] = asn_call_int(c, first + 4 + k);
        if (groups[k] < 1 || in->shape[1] % groups[k] != 0 ||
            (k == 0 && w->shape[0] % groups[k] != 0))
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is %lld; it must divide the "
                                 "channels",
                                 c->op->name, c->op->params[first + 4 + k].name,
                                 (long long)groups[k]);
    }
    /* Height, then width; the samples' image has no padding and no overlap. */
    for (int d = 0; d < 2; d++) {
        int64_t window = (g->k[1 + d] - 1) * dilation[2 + d] + 1;
        int64_t room = in->shape[2 + d] + pad[2 * d] + pad[2 * d + 1] - window;
        if (room < 0 || in->shape[2 + d] == 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: an extent of %lld is too small for the window",
                                 c->op->name, (long long)in->shape[2 + d]);
        p->stride[d] = stride[2 + d];
        p->pad[d] = pad[2 * d];
        p->dilation[d] = dilation[2 + d];
        g->y[1 + d] = room / stride[2 + d] + 1;
        g->x[1 + d] = g->y[1 + d] * g->k[1 + d];
        g->stride[1 + d] = g->k[1 + d];
        g->dilation[1 + d] = 1;
        p->grid.size[d] = in->shape[2 + d];
    }
    g->n = in->shape[0];
    g->groups = groups[0];
    g->cx = in->shape[1] / groups[0];
    g->cy = w->shape[0] / groups[0];
    p->groups = groups[1];
    p->masked = asn_call_int(c, first + 6) != 0;
    /* Without masks offset may have the third part all the same. */
    int64_t each = p->groups * g->k[1] * g->k[2];
    p->parts = !p->masked && off->shape[1] == 2 * each ? 2 : 3;
    ASN_TRY(asn_call_same_shape(c, weight, 4,
                                (int64_t[]){w->shape[0], g->cx, g->k[1], g->k[2]}));
    ASN_TRY(asn_call_same_shape(c, offset, 4,
                                (int64_t[]){g->n, p->parts * each, g->y[1], g->y[2]}));
    p->grid.batch = g->n * p->groups;
    p->grid.channels = in->shape[1] / p->groups;
    p->grid.points = g->x[1] * g->x[2];
    p->grid.spatial = 2;
    p->grid.indices = true;
    p->t = asn_image_dtype(in->dtype);
    p->x = c->first[x];
    p->weight = c->first[weight];
    p->offset = c->first[offset];
    return asn_call_floating(c, x);
}

/* Every tensor is of the first one's dtype. */
static asn_status one_dtype(const asnd_call *c) {
    for (int i = 1; i < c->op->num_params; i++) {
        char kind = c->op->params[i].kind;
        if ((kind == ASN_IN || kind == ASN_OUT) && c->first[i] >= 0)
            ASN_TRY(asn_call_same_dtype(c, 0, i));
    }
    return ASN_OK;
}

/* The plan of what was checked; a sample takes 4 ns a channel, finding it 50. */
static asn_status adopt(asnd_call *c, asnd_body_fn body, const deform_plan *q) {
    double samples = (double)(q->grid.batch * q->grid.points);
    double work = samples * (double)q->grid.channels * (4 + (double)q->conv.cy / 5);
    return asn_call_keep(c, body, q, sizeof *q, 1000 + work + 50 * samples);
}

/* DeformableConv2d(x, weight, offset, bias, kernelSize, stride, padding, dilation,
 * groups, deformableGroups, modulated, out, deformOut) */
asn_status asn_planner_deform_conv(asnd_call *c) {
    deform_plan p;
    memset(&p, 0, sizeof p);
    ASN_TRY(geometry(c, 0, 1, 2, 4, &p));
    ASN_TRY(one_dtype(c));
    const asnd_conv *g = &p.conv;
    int64_t channels = asn_call_nd(c, 1)->shape[0];
    if (c->first[3] >= 0) ASN_TRY(asn_call_same_shape(c, 3, 1, &channels));
    ASN_TRY(asn_call_same_shape(c, 11, 4, (int64_t[]){g->n, channels, g->y[1], g->y[2]}));
    if (c->first[12] >= 0)
        ASN_TRY(asn_call_same_shape(
            c, 12, 4, (int64_t[]){g->n, asn_call_nd(c, 0)->shape[1], g->x[1], g->x[2]}));
    if (asn_call_operand(c, 11)->is_empty || asn_call_operand(c, 0)->is_empty)
        return ASN_OK;
    p.bias = c->first[3];
    p.out[0] = c->first[11];
    p.out[1] = c->first[12];
    return adopt(c, deform_body, &p);
}

/* DeformableConv2dBackward(input, gradOutput, offsetOut, weight, offset, kernelSize, ...,
 * modulated, gradInput, gradWeight, gradOffset, gradBias) */
asn_status asn_planner_deform_conv_backward(asnd_call *c) {
    deform_plan p;
    memset(&p, 0, sizeof p);
    ASN_TRY(geometry(c, 0, 3, 4, 5, &p));
    ASN_TRY(one_dtype(c));
    const asnd_conv *g = &p.conv;
    int64_t channels = asn_call_nd(c, 3)->shape[0];
    ASN_TRY(asn_call_same_shape(c, 1, 4, (int64_t[]){g->n, channels, g->y[1], g->y[2]}));
    ASN_TRY(asn_call_same_shape(
        c, 2, 4, (int64_t[]){g->n, asn_call_nd(c, 0)->shape[1], g->x[1], g->x[2]}));
    /* Gradients have the shapes of what they are the gradients of. */
    static const int like[3] = {0, 3, 4};
    for (int k = 0; k < 3; k++) {
        const asnd_nd *a = asn_call_nd(c, like[k]);
        ASN_TRY(asn_call_same_shape(c, 12 + k, a->ndim, a->shape));
    }
    ASN_TRY(asn_call_same_shape(c, 15, 1, &channels));
    if (asn_call_operand(c, 0)->is_empty || asn_call_operand(c, 3)->is_empty)
        return asn_error_set(ASN_ERR_VALUE, "%s: input and weight must have elements",
                             c->op->name);
    p.grad = c->first[1];
    p.samples = c->first[2];
    for (int k = 0; k < 4; k++)
        p.out[k] = c->first[12 + k];
    return adopt(c, deform_back_body, &p);
}
