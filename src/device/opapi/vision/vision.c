/* CPU device, operators: patches, shuffled channels, affine grids, nearest points and
 * deformable attention (cpu/conv.h, cpu/sampling.h).
 *
 * Im2col (n, c, h, w) -> (n, c * kh * kw, windows): column w holds the elements of window
 * w, row (c, i, j) one of them for all windows. Its gradient adds them back, which is
 * PyTorch's fold; elements of the padding fall away. Both share the convolutions' kernels
 * (asn_patches and its transpose).
 *
 * Each is a plan of the kernel's own description and a body that brings tensors into
 * row-major form (image.h); checks of indices that depend on values are the bodies',
 * since they are known when the operator runs. ChannelShuffle moves nothing but views: a
 * transpose of the channels split in two.
 */
#include <string.h>

#include "device/cpu/nn/conv.h"
#include "device/cpu/nn/sampling.h"
#include "device/opapi/nn/image.h"
#include "device/opapi/core/plan.h"

/* The error of parameter i's shape; want: what it must be, in words. */
static asn_status shape_error(const asnd_call *c, int i, const char *want) {
    char got[ASN_SHAPE_TEXT];
    const asnd_nd *a = asn_call_nd(c, i);
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has shape %s; it must be %s", c->op->name,
                         c->op->params[i].name, asn_shape_text(got, a->ndim, a->shape),
                         want);
}

/* Floating tensors, by a list of parameters that ends with -1; float64 when one is. */
static asn_status common_dtype(const asnd_call *c, const int *params, asn_dtype *t) {
    *t = ASN_F32;
    for (; *params >= 0; params++) {
        ASN_TRY(asn_call_floating(c, *params));
        if (asn_call_nd(c, *params)->dtype == ASN_F64) *t = ASN_F64;
    }
    return ASN_OK;
}

/* ---- Im2col */

/* The geometry of a convolution whose windows are the patches. */
typedef struct {
    asnd_plan_head head;
    asnd_conv g;
} patches_plan;

/* The patches of each image. Any dtype: elements are moved by their size. */
static asn_status patches_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const patches_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, 0), *out = asn_exec_nd(e, 1);
    /* self (n, c, h, w), out (n, c kh kw, windows). */
    int size = asn_itemsize(self->dtype);
    int64_t windows = asn_conv_extent(p->g.y), taps = asn_conv_extent(p->g.k);
    asnd_view x, y;
    ASN_TRY(asn_image_plain(tmp, self, self->dtype, &x));
    ASN_TRY(asn_image_result(e, tmp, out, self->dtype, &y));
    for (int64_t n = 0; n < p->g.n; n++)
        asn_patches(&p->g, size, p->g.cx,
                    x.nd.data + n * p->g.cx * asn_conv_extent(p->g.x) * size, 0, windows,
                    y.nd.data + n * p->g.cx * taps * windows * size);
    return asn_image_finish(out, &y);
}

/* The geometry of windows over images of two dimensions (the first of three stays 1).
 * sizes: the parameter of the windows' sizes; dilation, padding, stride follow. patches:
 * the shape (batch, channels * elements of a window, windows). */
static asn_status patches_geometry(const asnd_call *c, int sizes, const int64_t *image,
                                   asnd_conv *g, int64_t patches[3]) {
    for (int d = 0; d < 3; d++) {
        g->k[d] = g->stride[d] = g->dilation[d] = g->x[d] = g->y[d] = 1;
        if (d > 0) g->x[d] = image[d - 1];
    }
    ASN_TRY(asn_image_ints(c, sizes, 2, 1, 0, g->k + 1));
    ASN_TRY(asn_image_ints(c, sizes + 1, 2, 1, 0, g->dilation + 1));
    ASN_TRY(asn_image_ints(c, sizes + 2, 2, 0, -1, g->pad + 1));
    ASN_TRY(asn_image_ints(c, sizes + 3, 2, 1, 0, g->stride + 1));
    for (int d = 1; d < 3; d++) {
        /* Windows along d: floor((x + 2 pad - dilation (k - 1) - 1) / stride) + 1. */
        int64_t span = g->x[d] + 2 * g->pad[d] - g->dilation[d] * (g->k[d] - 1) - 1;
        if (span < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: an extent of %lld with padding %lld is too small "
                                 "for the window",
                                 c->op->name, (long long)g->x[d], (long long)g->pad[d]);
        g->y[d] = span / g->stride[d] + 1;
    }
    patches[0] = g->n;
    patches[1] = g->cx * asn_conv_extent(g->k);
    patches[2] = asn_conv_extent(g->y);
    return ASN_OK;
}

/* Im2col(self, kernelSize, dilation, padding, stride, out); the batch may be missing. */
asn_status asn_planner_im2col(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    asnd_conv g = {.groups = 1, .cy = 1};
    ASN_TRY(asn_image_rank(c, 0, 2));
    ASN_TRY(asn_call_same_dtype(c, 0, 5));
    int batched = self->ndim == 4;
    int64_t shape[3];
    /* Of the shape (batch, rows, windows), without the batch where self has none. */
    g.cx = self->shape[self->ndim - 3];
    g.n = batched ? self->shape[0] : 1;
    ASN_TRY(patches_geometry(c, 1, self->shape + self->ndim - 2, &g, shape));
    ASN_TRY(asn_call_same_shape(c, 5, 2 + batched, shape + !batched));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    patches_plan *p = asn_call_plan(c, patches_body, sizeof *p,
                                    300 + (double)asn_nd_size(asn_call_nd(c, 5)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->g = g;
    return ASN_OK;
}

/* The gradient: patches added up where they came from. */
static asn_status fold_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const patches_plan *p = plan;
    const asnd_nd *grad = asn_exec_nd(e, 0), *out = asn_exec_nd(e, 1);
    asn_dtype t = asn_image_dtype(grad->dtype);
    int size = asn_itemsize(t);
    int64_t windows = asn_conv_extent(p->g.y), taps = asn_conv_extent(p->g.k);
    int64_t image = p->g.cx * asn_conv_extent(p->g.x) * size;
    asnd_view y, x;
    ASN_TRY(asn_image_plain(tmp, grad, t, &y));
    ASN_TRY(asn_image_result(e, tmp, out, t, &x));
    /* Windows overlap, so they add to zeros; an image's channels are shared among
     * threads. */
    memset(x.nd.data, 0, (size_t)(p->g.n * image));
    for (int64_t n = 0; n < p->g.n; n++)
        asn_unpatch(&p->g, size, y.nd.data + n * p->g.cx * taps * windows * size, 0,
                    windows, x.nd.data + n * image);
    return asn_image_finish(out, &x);
}

/* Im2colBackward(gradOutput, inputSize, kernelSize, dilation, padding, stride, out):
 * gradOutput has Im2col's shape, out the images', of the two extents inputSize. */
asn_status asn_planner_im2col_backward(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0), *out = asn_call_nd(c, 6);
    asnd_conv g = {.groups = 1, .cy = 1};
    int batched = out->ndim == 4;
    int64_t size[2], shape[3], image[4];
    ASN_TRY(asn_image_rank(c, 6, 2));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_same_dtype(c, 0, 6));
    ASN_TRY(asn_image_ints(c, 1, 2, 1, 0, size));
    g.cx = out->shape[out->ndim - 3];
    g.n = batched ? out->shape[0] : 1;
    /* out's shape follows from inputSize, gradOutput's from the windows over it. */
    image[0] = g.n;
    image[1] = g.cx;
    image[2] = size[0];
    image[3] = size[1];
    ASN_TRY(patches_geometry(c, 2, size, &g, shape));
    ASN_TRY(asn_call_same_shape(c, 6, out->ndim, image + !batched));
    ASN_TRY(asn_call_same_shape(c, 0, 2 + batched, shape + !batched));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    patches_plan *p =
        asn_call_plan(c, fold_body, sizeof *p, 300 + (double)asn_nd_size(grad));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->g = g;
    return ASN_OK;
}

/* ---- ChannelShuffle */

/* groups: as many as the first of the two dimensions has. */
typedef struct {
    asnd_plan_head head;
    int64_t groups;
} shuffle_plan;

/* v: a's channels split in two dimensions at axis 1: channel c = (outer, inner). */
static void split_channels(const asnd_nd *a, int64_t outer, asnd_view *v) {
    asn_view_set(v, a);
    int64_t inner = a->shape[1] / outer, stride = a->strides[1];
    v->shape[1] = inner;
    /* outer first: a step over it is `inner` channels. */
    asn_view_insert(v, 1, outer, stride * inner);
}

/* Channel (g, i) goes to (i, g). */
static asn_status shuffle_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const shuffle_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, 0), *out = asn_exec_nd(e, 1);
    asnd_view from, to;
    int axes[ASN_ND_MAX_DIMS];
    /* ShuffleNet (Zhang et al., 2018): channels of different groups come to lie side by
     * side, so that the next grouped convolution mixes them. */
    split_channels(self, p->groups, &from);
    split_channels(out, self->shape[1] / p->groups, &to);
    for (int d = 0; d < from.nd.ndim; d++)
        axes[d] = d == 1 ? 2 : d == 2 ? 1 : d;
    asn_view_permute(&from, axes);
    return asn_move(&to.nd, &from.nd);
}

/* ChannelShuffle(self, groups, out) */
asn_status asn_planner_channel_shuffle(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t groups = asn_call_int(c, 1);
    if (self->ndim < 3 || self->ndim >= ASN_ND_MAX_DIMS)
        return shape_error(c, 0, "(batch, channels, ...) of at least 3 dimensions");
    if (groups < 1 || self->shape[1] % groups != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groups is %lld; it must divide the %lld channels",
                             c->op->name, (long long)groups, (long long)self->shape[1]);
    ASN_TRY(asn_call_same_dtype(c, 0, 2));
    ASN_TRY(asn_call_same_shape(c, 2, self->ndim, self->shape));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    shuffle_plan *p =
        asn_call_plan(c, shuffle_body, sizeof *p, 200 + (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->groups = groups;
    return ASN_OK;
}

/* ---- AffineGrid */

/* spatial: 2 or 3; align: the ends of [-1, 1] are the corners' centres. */
typedef struct {
    asnd_plan_head head;
    int spatial;
    bool align;
    asn_dtype t;
} grid_plan;

static asn_status grid_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const grid_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, 1);
    asnd_view theta, grid;
    /* Spatial transformers (Jaderberg et al., 2015): grid point = theta (x, y, [z,] 1),
     * theta (n, 2, 3) or (n, 3, 4), positions in [-1, 1]. */
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 0), p->t, &theta));
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &grid));
    asn_affine_grid(p->t, out->shape[0], p->spatial, out->shape + 1, p->align,
                    theta.nd.data, grid.nd.data);
    return asn_image_finish(out, &grid);
}

/* AffineGrid(theta, size, alignCorners, out): size (n, c, [d,] h, w). */
asn_status asn_planner_affine_grid(asnd_call *c) {
    const asnd_array *size = asn_call_array(c, 1);
    const int64_t *values = size->data;
    int spatial = (int)size->size - 2;
    if (spatial != 2 && spatial != 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: size has %llu values; it must have 4 or 5", c->op->name,
                             (unsigned long long)size->size);
    asn_dtype t;
    ASN_TRY(common_dtype(c, (int[]){0, 3, -1}, &t));
    /* size[1], the channels, has no part in a grid. */
    int64_t shape[5] = {values[0]};
    for (int d = 0; d < spatial; d++)
        shape[1 + d] = values[2 + d];
    shape[1 + spatial] = spatial;
    ASN_TRY(asn_call_same_shape(c, 0, 3, (int64_t[]){values[0], spatial, spatial + 1}));
    ASN_TRY(asn_call_same_shape(c, 3, spatial + 2, shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    grid_plan *p = asn_call_plan(c, grid_body, sizeof *p,
                                 300 + 5 * (double)asn_nd_size(asn_call_nd(c, 3)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->spatial = spatial;
    p->align = asn_call_int(c, 2) != 0;
    p->t = t;
    return ASN_OK;
}

/* ---- ChamferDistanceBackward */

typedef struct {
    asnd_plan_head head;
    asn_dtype t;
} chamfer_plan;

/* For each of the two sets: points, nearest points of the other, the distances'
 * gradients, and the points' gradients, which are made in temporaries if they lie in an
 * input. */
static asn_status chamfer_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    asn_dtype t = ((const chamfer_plan *)plan)->t;
    const asnd_nd *a = asn_exec_nd(e, 0), *b = asn_exec_nd(e, 1);
    /* d/dp |p - q|^2 = 2 (p - q) for a point and its nearest one, which gets the
     * opposite. */
    asnd_chamfer g = {.batch = a->shape[0], .width = a->shape[2]};
    g.n[0] = a->shape[1];
    g.n[1] = b->shape[1];
    asnd_view v[2][4];
    for (int s = 0; s < 2; s++) {
        ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, s), t, &v[s][0]));
        ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 2 + s), ASN_I64, &v[s][1]));
        ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 4 + s), t, &v[s][2]));
        ASN_TRY(asn_image_result(e, tmp, asn_exec_nd(e, 6 + s), t, &v[s][3]));
        g.points[s] = v[s][0].nd.data;
        g.nearest[s] = (const int64_t *)v[s][1].nd.data;
        g.grad[s] = v[s][2].nd.data;
        g.grad_points[s] = v[s][3].nd.data;
    }
    /* Indices are data: one that is wrong is an error of the task. */
    if (!asn_chamfer_gradients(&g, t))
        return asn_error_set(ASN_ERR_INDEX, "an index of a nearest point is outside the "
                                            "other set");
    ASN_TRY(asn_image_finish(asn_exec_nd(e, 6), &v[0][3]));
    return asn_image_finish(asn_exec_nd(e, 7), &v[1][3]);
}

/* ChamferDistanceBackward(xyz1, xyz2, idx1, idx2, gradDist1, gradDist2, gradXyz1,
 * gradXyz2): points of any width, CANN's have 2. */
asn_status asn_planner_chamfer_backward(asnd_call *c) {
    asn_dtype t;
    ASN_TRY(common_dtype(c, (int[]){0, 1, 4, 5, 6, 7, -1}, &t));
    const asnd_nd *a = asn_call_nd(c, 0), *b = asn_call_nd(c, 1);
    if (a->ndim != 3) return shape_error(c, 0, "(batch, points, width)");
    if (b->ndim != 3 || b->shape[0] != a->shape[0] || b->shape[2] != a->shape[2])
        return shape_error(c, 1, "(batch, points, width) of xyz1's batch and width");
    for (int s = 0; s < 2; s++) {
        const asnd_nd *own = s ? b : a;
        ASN_TRY(asn_index_dtype(c, 2 + s, asn_call_nd(c, 2 + s)));
        ASN_TRY(asn_call_same_shape(c, 2 + s, 2, own->shape));
        ASN_TRY(asn_call_same_shape(c, 4 + s, 2, own->shape));
        ASN_TRY(asn_call_same_shape(c, 6 + s, 3, own->shape));
    }
    chamfer_plan *p = asn_call_plan(c, chamfer_body, sizeof *p,
                                    500 + 10 * (double)(asn_nd_size(a) + asn_nd_size(b)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->t = t;
    return ASN_OK;
}

/* ---- deformable attention */

/* g: extents; the body adds the levels' tensors. t: computed in. */
typedef struct {
    asnd_plan_head head;
    asnd_deform g;
    asn_dtype t;
    bool back;
} deform_plan;

/* Inputs are operands 0 to 4 (backwards 5, the gradient, too), outputs follow. Levels'
 * sizes and starts are tensors: whether they fit is seen here. */
static asn_status deform_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const deform_plan *p = plan;
    asnd_deform g = p->g;
    asnd_view in[6], out[3];
    int inputs = p->back ? 6 : 5, outputs = p->back ? 3 : 1;
    for (int i = 0; i < 5; i++)
        ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, i), i == 1 || i == 2 ? ASN_I64 : p->t,
                                &in[i]));
    if (p->back) ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 5), p->t, &in[5]));
    g.sizes = (const int64_t *)in[1].nd.data;
    g.starts = (const int64_t *)in[2].nd.data;
    if (!asn_deform_fits(&g))
        return asn_error_set(ASN_ERR_VALUE,
                             "spatialShape and levelStartIndex reach past the %lld keys",
                             (long long)g.keys);
    for (int i = 0; i < outputs; i++)
        ASN_TRY(asn_image_result(e, tmp, asn_exec_nd(e, inputs + i), p->t, &out[i]));
    if (p->back) {
        asn_deform_gradients(&g, p->t, in[0].nd.data, in[3].nd.data, in[4].nd.data,
                             in[5].nd.data, out[0].nd.data, out[1].nd.data,
                             out[2].nd.data);
    } else {
        asn_deform_sample(&g, p->t, in[0].nd.data, in[3].nd.data, in[4].nd.data,
                          out[0].nd.data);
    }
    for (int i = 0; i < outputs; i++)
        ASN_TRY(asn_image_finish(asn_exec_nd(e, inputs + i), &out[i]));
    return ASN_OK;
}

/* MultiScaleDeformableAttnFunction(value, spatialShape, levelStartIndex, location,
 * attnWeight, output); MultiScaleDeformableAttentionGrad (arg 1) has gradOutput,
 * gradValue, gradLocation, gradAttnWeight for output. */
asn_status asn_planner_deform(asnd_call *c) {
    bool back = c->op->arg != 0;
    asn_dtype t;
    ASN_TRY(back ? common_dtype(c, (int[]){0, 3, 4, 5, 6, 7, 8, -1}, &t)
                 : common_dtype(c, (int[]){0, 3, 4, 5, -1}, &t));
    const asnd_nd *value = asn_call_nd(c, 0), *at = asn_call_nd(c, 3);
    if (value->ndim != 4) return shape_error(c, 0, "(batch, keys, heads, channels)");
    if (at->ndim != 6 || at->shape[5] != 2 || at->shape[0] != value->shape[0] ||
        at->shape[2] != value->shape[2])
        return shape_error(c, 3, "(batch, queries, heads, levels, points, 2)");
    asnd_deform g = {value->shape[0],
                     value->shape[1],
                     value->shape[2],
                     value->shape[3],
                     at->shape[1],
                     at->shape[3],
                     at->shape[4],
                     NULL,
                     NULL};
    ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    ASN_TRY(asn_index_dtype(c, 2, asn_call_nd(c, 2)));
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){g.levels, 2}));
    ASN_TRY(asn_call_same_shape(c, 2, 1, &g.levels));
    ASN_TRY(asn_call_same_shape(c, 4, 5, at->shape));
    int64_t out[3] = {g.batch, g.queries, g.heads * g.channels};
    ASN_TRY(asn_call_same_shape(c, 5, 3, out));
    /* A gradient has the shape of what it is the gradient of. */
    if (back) {
        ASN_TRY(asn_call_same_shape(c, 6, 4, value->shape));
        ASN_TRY(asn_call_same_shape(c, 7, 6, at->shape));
        ASN_TRY(asn_call_same_shape(c, 8, 5, at->shape));
    }
    double samples = (double)asn_nd_size(asn_call_nd(c, 4));
    deform_plan *p = asn_call_plan(c, deform_body, sizeof *p,
                                   500 + samples * (20 + 2 * (double)g.channels));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->g = g;
    p->t = t;
    p->back = back;
    return ASN_OK;
}
