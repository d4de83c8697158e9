/* CPU device, operators: convolutions and their gradients.
 *
 * Every operator of the family is one geometry (cpu/conv.h) with an input, a weight, an
 * output, each in one of three roles: a convolution goes from its input X to Y, a
 * transposed one from its input Y to X, gradients the other way. ConvTbc is a 1-d
 * convolution over permuted views. `cubeMathType` chooses reduced precision on an NPU and
 * has no meaning here.
 *
 * One and two dimensions are three with extents of 1, so there is one set of kernels.
 * Halves are computed in float32; integers, of one dtype and forward alone, in int64,
 * which PyTorch has and CANN's pages have not. Tensors that are not row-major in that
 * dtype are copied first; results go straight to the output where it allows that
 * (asn_image_result).
 */
#include <string.h>

#include "device/cpu/nn/conv.h"
#include "device/opapi/nn/image.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

typedef struct {
    asnd_plan_head head;
    asnd_conv g;
    asn_dtype t;
    int input, weight, bias, output;        /* operands; -1: absent */
    int grad_input, grad_weight, grad_bias; /* likewise */
    int spatial;
    bool transposed, tbc;
    bool integers; /* are taken, too */
} conv_plan;

/* Where the parameters of an operator stand; -1: it has none. */
typedef struct {
    int input, weight, bias, output;
    int stride, pad, dilation, output_pad;
} conv_params;

/* ---- views of five dimensions */

/* The view (batch, channels, depth, height, width), whatever of these the tensor lacks;
 * tbc: of a tensor (time, batch, channels). */
static void image_view(const asnd_nd *a, int spatial, bool tbc, asnd_view *v) {
    asn_view_set(v, a);
    if (tbc) asn_view_permute(v, (int[]){1, 2, 0});
    asn_image_stand(v, spatial);
}

/* The view (channels out, channels in, depth, height, width); tbc: of a tensor (window,
 * channels in, channels out). */
static void weight_view(const asnd_nd *a, bool tbc, asnd_view *v) {
    asn_view_set(v, a);
    if (tbc) asn_view_permute(v, (int[]){2, 1, 0});
    while (v->nd.ndim < 5)
        asn_view_insert(v, 2, 1, 0);
}

/* ---- geometry */

/* Reads the padding, parameter i (-1: none, 0): one value, one per dimension, or a pair
 * (before, after) per dimension. */
static asn_status padding(const asnd_call *c, int i, int spatial, int64_t *before,
                          int64_t *after) {
    const asnd_array *a = i < 0 ? NULL : asn_call_array(c, i);
    int64_t pairs[6];
    if (a != NULL && a->size == 2 * (uint64_t)spatial) {
        ASN_TRY(asn_image_ints(c, i, 2 * spatial, 0, -1, pairs));
        for (int d = 0; d < spatial; d++) {
            before[d] = pairs[2 * d];
            after[d] = pairs[2 * d + 1];
        }
        return ASN_OK;
    }
    if (i >= 0) ASN_TRY(asn_image_ints(c, i, spatial, 0, 0, before));
    memcpy(after, before, (size_t)spatial * sizeof *after);
    return ASN_OK;
}

/* Checks the input's channels. With groups the weight has the channels of one group. */
static asn_status channels_check(const asnd_call *c, const conv_params *at, int64_t got,
                                 int64_t want, int64_t filters, int64_t groups) {
    if (groups < 1 || filters % groups != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groups is %lld; it must divide the weight's first "
                             "extent, %lld",
                             c->op->name, (long long)groups, (long long)filters);
    if (got == want) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has %lld channels; with this weight and %lld groups it "
                         "must have %lld",
                         c->op->name, c->op->params[at->input].name, (long long)got,
                         (long long)groups, (long long)want);
}

/* Extents of X and Y in the geometry, of the output in out[]. An output padding makes one
 * of several inputs that give the same output the one meant. */
static asn_status extents(const asnd_call *c, const conv_plan *p, const conv_params *at,
                          const int64_t *in, asnd_conv *g, int64_t *out) {
    int first = 3 - p->spatial;
    int64_t after[3] = {0, 0, 0}, more[3] = {0, 0, 0};
    /* reach: from the first to past the last element of a window. A convolution has
     * floor((in + pads - reach) / stride) + 1 windows; a transposed one goes the other
     * way, from that many to the image they come from. */
    for (int d = 0; d < 3; d++) {
        g->stride[d] = g->dilation[d] = 1;
        g->pad[d] = 0;
    }
    if (at->stride >= 0)
        ASN_TRY(asn_image_ints(c, at->stride, p->spatial, 1, 1, g->stride + first));
    if (at->dilation >= 0)
        ASN_TRY(asn_image_ints(c, at->dilation, p->spatial, 1, 1, g->dilation + first));
    if (p->tbc) {
        g->pad[2] = after[2] = asn_call_int(c, at->pad);
    } else {
        ASN_TRY(padding(c, at->pad, p->spatial, g->pad + first, after + first));
    }
    if (p->transposed)
        ASN_TRY(asn_image_ints(c, at->output_pad, p->spatial, 0, 0, more + first));
    for (int d = 0; d < 3; d++) {
        int64_t reach = g->dilation[d] * (g->k[d] - 1) + 1, pads = g->pad[d] + after[d];
        int64_t larger = g->stride[d] > g->dilation[d] ? g->stride[d] : g->dilation[d];
        if (g->k[d] < 1 || g->pad[d] < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: the window is empty or the padding negative",
                                 c->op->name);
        if (more[d] >= larger && more[d] > 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: outputPadding is %lld; it must be below stride or "
                                 "dilation, %lld",
                                 c->op->name, (long long)more[d], (long long)larger);
        int64_t span = in[d] + pads - reach;
        out[d] = p->transposed ? (in[d] - 1) * g->stride[d] - pads + reach + more[d]
                               : span / g->stride[d] + 1;
        if (p->transposed ? out[d] < 1 : span < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: an extent of %lld with padding %lld is too small "
                                 "for a window of %lld",
                                 c->op->name, (long long)in[d], (long long)pads,
                                 (long long)reach);
        g->x[d] = p->transposed ? out[d] : in[d];
        g->y[d] = p->transposed ? in[d] : out[d];
    }
    return ASN_OK;
}

/* The dtype of the arithmetic: one tensor of float64 makes it float64. */
static asn_status computed_in(const asnd_call *c, const conv_params *at, conv_plan *p) {
    const int operands[4] = {at->input, at->weight, at->output, at->bias};
    bool integers = p->integers && asn_is_integer(asn_call_nd(c, at->input)->dtype);
    p->t = integers ? ASN_I64 : ASN_F32;
    for (int i = 0; i < 4; i++) {
        if (operands[i] < 0 || c->first[operands[i]] < 0) continue;
        if (integers) {
            ASN_TRY(asn_call_same_dtype(c, at->input, operands[i]));
            continue;
        }
        ASN_TRY(asn_call_floating(c, operands[i]));
        if (asn_call_nd(c, operands[i])->dtype == ASN_F64) p->t = ASN_F64;
    }
    return ASN_OK;
}

/* Checks input, weight, output; sets *p as far as both directions share it. For a
 * gradient, input and output are those of the convolution itself: its output is the
 * incoming gradient. */
static asn_status geometry(const asnd_call *c, const conv_params *at, int64_t groups,
                           conv_plan *p) {
    const asnd_nd *w0 = asn_call_nd(c, at->weight), *in0 = asn_call_nd(c, at->input);
    p->spatial = w0->ndim - 2;
    if (p->spatial < 1 || p->spatial > 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: weight has %d dimensions; it must have 3, 4 or 5",
                             c->op->name, w0->ndim);
    ASN_TRY(asn_image_rank(c, at->input, p->spatial));
    if (p->tbc && in0->ndim != 3)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have 3",
                             c->op->name, c->op->params[at->input].name, in0->ndim);
    ASN_TRY(computed_in(c, at, p));
    asnd_view in, w;
    image_view(in0, p->spatial, p->tbc, &in);
    weight_view(w0, p->tbc, &w);
    /* A transposed convolution's weight is (channels in, channels out of a group,
     * ...). */
    asnd_conv *g = &p->g;
    ASN_TRY(channels_check(c, at, in.shape[1],
                           p->transposed ? w.shape[0] : w.shape[1] * groups, w.shape[0],
                           groups));
    int64_t out[5] = {in.shape[0], p->transposed ? w.shape[1] * groups : w.shape[0]};
    g->n = in.shape[0];
    g->groups = groups;
    g->cx = w.shape[1];
    g->cy = w.shape[0] / groups;
    memcpy(g->k, w.shape + 2, sizeof g->k);
    ASN_TRY(extents(c, p, at, in.shape + 2, g, out + 2));
    if (p->tbc)
        return asn_call_same_shape(c, at->output, 3, (int64_t[]){out[4], out[0], out[1]});
    int64_t shape[5];
    int n = 0;
    if (in0->ndim == p->spatial + 2) shape[n++] = out[0];
    shape[n++] = out[1];
    for (int d = 3 - p->spatial; d < 3; d++)
        shape[n++] = out[2 + d];
    return asn_call_same_shape(c, at->output, n, shape);
}

/* Of all groups together: the bias has one value for each. */
static int64_t output_channels(const conv_plan *p) {
    return p->g.groups * (p->transposed ? p->g.cx : p->g.cy);
}

/* Ten products and sums a nanosecond. */
static double work_of(const conv_plan *p) {
    const asnd_conv *g = &p->g;
    double sums = (double)(g->n * g->groups * g->cx) * (double)asn_conv_extent(g->k);
    return 2000 + sums * (double)g->cy * (double)asn_conv_extent(g->y) / 10;
}

/* A plan in the executor's memory, as *q. */
static asn_status adopt(asnd_call *c, asnd_body_fn body, const conv_plan *q) {
    return asn_call_keep(c, body, q, sizeof *q, work_of(q));
}

/* ---- forward */

/* Whether both are bfloat16 and are read so. */
static bool takes_halves(const conv_plan *p, const asnd_nd *in, const asnd_nd *w) {
    return !p->transposed && p->t == ASN_F32 && in->dtype == ASN_BF16 &&
           w->dtype == ASN_BF16 && asn_conv_takes_halves(&p->g);
}

/* Conversion, the kernel, conversion back. A transposed convolution takes Y to X. */
static asn_status forward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const conv_plan *p = plan;
    asnd_view in, w, b, out, x, weight, bias, y;
    image_view(asn_exec_nd(e, p->input), p->spatial, p->tbc, &in);
    weight_view(asn_exec_nd(e, p->weight), p->tbc, &w);
    image_view(asn_exec_nd(e, p->output), p->spatial, p->tbc, &out);
    const bool halves = takes_halves(p, &in.nd, &w.nd);
    ASN_TRY(asn_image_plain(tmp, &in.nd, halves ? ASN_BF16 : p->t, &x));
    ASN_TRY(asn_image_plain(tmp, &w.nd, halves ? ASN_BF16 : p->t, &weight));
    ASN_TRY(asn_image_result(e, tmp, &out.nd, p->t, &y));
    const void *values = NULL;
    if (p->bias >= 0) {
        asn_view_set(&b, asn_exec_nd(e, p->bias));
        ASN_TRY(asn_image_plain(tmp, &b.nd, p->t, &bias));
        values = bias.nd.data;
    }
    if (halves)
        ASN_TRY(asn_conv_of_halves(&p->g, x.nd.data, weight.nd.data, values, y.nd.data));
    else
        ASN_TRY((p->transposed ? asn_conv_to_x : asn_conv_to_y)(
            &p->g, p->t, x.nd.data, weight.nd.data, values, y.nd.data));
    return asn_image_finish(&out.nd, &y);
}

/* at: where the parameters stand; *p: what the operator has set already. */
static asn_status plan_forward(asnd_call *c, const conv_params *at, int64_t groups,
                               conv_plan *p) {
    ASN_TRY(geometry(c, at, groups, p));
    if (c->first[at->bias] >= 0) {
        int64_t channels = output_channels(p);
        ASN_TRY(asn_call_same_shape(c, at->bias, 1, &channels));
    }
    if (asn_call_operand(c, at->output)->is_empty) return ASN_OK;
    p->input = c->first[at->input];
    p->weight = c->first[at->weight];
    p->bias = c->first[at->bias];
    p->output = c->first[at->output];
    return adopt(c, forward_body, p);
}

/* Convolution(input, weight, bias, stride, padding, dilation, transposed, outputPadding,
 * groups, output, cubeMathType) */
asn_status asn_planner_conv(asnd_call *c) {
    static const conv_params at = {0, 1, 2, 9, 3, 4, 5, 7};
    conv_plan p;
    memset(&p, 0, sizeof p);
    p.transposed = asn_call_int(c, 6) != 0;
    p.integers = true;
    return plan_forward(c, &at, asn_call_int(c, 8), &p);
}

/* ConvDepthwise2d(self, weight, kernelSize, bias, stride, padding, dilation, out,
 * cubeMathType): as many groups as channels. */
asn_status asn_planner_conv_depthwise(asnd_call *c) {
    static const conv_params at = {0, 1, 3, 7, 4, 5, 6, -1};
    const asnd_nd *self = asn_call_nd(c, 0), *w = asn_call_nd(c, 1);
    conv_plan p;
    memset(&p, 0, sizeof p);
    int64_t kernel[2];
    ASN_TRY(asn_image_rank(c, 0, 2));
    ASN_TRY(asn_image_ints(c, 2, 2, 1, 0, kernel));
    if (w->ndim != 4 || w->shape[1] != 1 || w->shape[2] != kernel[0] ||
        w->shape[3] != kernel[1])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: weight must have the shape (filters, 1, %lld, %lld) of "
                             "kernelSize",
                             c->op->name, (long long)kernel[0], (long long)kernel[1]);
    return plan_forward(c, &at, self->shape[self->ndim - 3], &p);
}

/* ConvTbc(self, weight, bias, pad, output, cubeMathType): (time, batch, channels), weight
 * (window, channels in, channels out). */
asn_status asn_planner_conv_tbc(asnd_call *c) {
    static const conv_params at = {0, 1, 2, 4, -1, 3, -1, -1};
    conv_plan p;
    memset(&p, 0, sizeof p);
    p.tbc = true;
    return plan_forward(c, &at, 1, &p);
}

/* ---- backward */

/* The sum over everything but the channels, added up in p->t. */
static asn_status bias_gradient(const conv_plan *p, const asnd_nd *grad,
                                const asnd_nd *out, asnd_tmp *tmp) {
    int64_t shape[5] = {1, grad->shape[1], 1, 1, 1};
    asnd_view sum, flat;
    ASN_TRY(asn_tmp_view(tmp, p->t, 5, shape, &sum));
    for (int d = 0; d < 5; d++)
        if (d != 1) sum.strides[d] = 0;
    memset(sum.nd.data, 0, (size_t)(shape[1] * asn_itemsize(p->t)));
    if (asn_nd_size(grad) > 0) {
        asnd_prog q;
        asn_prog_begin(&q, 5, grad->shape, 0x1d);
        asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_as(&q, asn_prog_in(&q, grad), p->t),
                        &sum.nd);
        ASN_TRY(asn_prog_run(&q));
    }
    asn_view_plain(&flat, p->t, 1, shape + 1, sum.nd.data);
    return asn_move(out, &flat.nd);
}

/* Any of the three gradients that are wanted; each is one kernel, or a sum. */
static asn_status backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const conv_plan *p = plan;
    asnd_view grad, in, w, out, y, x, weight, result;
    image_view(asn_exec_nd(e, p->output), p->spatial, p->tbc, &grad);
    image_view(asn_exec_nd(e, p->input), p->spatial, p->tbc, &in);
    weight_view(asn_exec_nd(e, p->weight), p->tbc, &w);
    ASN_TRY(asn_image_plain(tmp, &grad.nd, p->t, &y));
    /* In the gradient of a convolution Y is the incoming gradient and X the input;
     * transposed, they change places.
     * The sources are read before the first gradient is written: they may be the same
     * memory. */
    ASN_TRY(asn_image_plain(tmp, &in.nd, p->t, &x));
    asnd_view input_made, weight_made;
    bool made[2] = {p->grad_input >= 0, p->grad_weight >= 0};
    if (made[0]) {
        image_view(asn_exec_nd(e, p->grad_input), p->spatial, p->tbc, &out);
        ASN_TRY(asn_image_plain(tmp, &w.nd, p->t, &weight));
        ASN_TRY(asn_image_result(e, tmp, &out.nd, p->t, &input_made));
        ASN_TRY((p->transposed ? asn_conv_to_y : asn_conv_to_x)(
            &p->g, p->t, y.nd.data, weight.nd.data, NULL, input_made.nd.data));
    }
    if (made[1]) {
        weight_view(asn_exec_nd(e, p->grad_weight), p->tbc, &result);
        ASN_TRY(asn_image_result(e, tmp, &result.nd, p->t, &weight_made));
        ASN_TRY(asn_conv_to_w(&p->g, p->t, p->transposed ? y.nd.data : x.nd.data,
                              p->transposed ? x.nd.data : y.nd.data,
                              weight_made.nd.data));
    }
    if (p->grad_bias >= 0)
        ASN_TRY(bias_gradient(p, &y.nd, asn_exec_nd(e, p->grad_bias), tmp));
    if (made[0]) ASN_TRY(asn_image_finish(&out.nd, &input_made));
    return made[1] ? asn_image_finish(&result.nd, &weight_made) : ASN_OK;
}

/* The wanted gradients: parameters i[0..2], shaped like input, weight and the bias. */
static asn_status plan_backward(asnd_call *c, const conv_params *at, const int *i,
                                const bool *wanted, conv_plan *p) {
    int *operands[3] = {&p->grad_input, &p->grad_weight, &p->grad_bias};
    int64_t channels = output_channels(p);
    for (int k = 0; k < 3; k++) {
        *operands[k] = -1;
        /* An output that is not wanted is not looked at: it may be NULL. */
        if (!wanted[k]) continue;
        if (c->first[i[k]] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: %s is NULL, but outputMask asks for it",
                                 c->op->name, c->op->params[i[k]].name);
        const asnd_nd *like = asn_call_nd(c, k == 0 ? at->input : at->weight);
        ASN_TRY(asn_call_floating(c, i[k]));
        ASN_TRY(asn_call_same_shape(c, i[k], k == 2 ? 1 : like->ndim,
                                    k == 2 ? &channels : like->shape));
        if (!asn_call_operand(c, i[k])->is_empty) *operands[k] = c->first[i[k]];
    }
    if (p->grad_input < 0 && p->grad_weight < 0 && p->grad_bias < 0) return ASN_OK;
    p->input = c->first[at->input];
    p->weight = c->first[at->weight];
    p->output = c->first[at->output];
    return adopt(c, backward_body, p);
}

/* ConvolutionBackward(gradOutput, input, weight, biasSizes, stride, padding, dilation,
 * transposed, outputPadding, groups, outputMask, cubeMathType, gradInput, gradWeight,
 * gradBias) */
asn_status asn_planner_conv_backward(asnd_call *c) {
    static const conv_params at = {1, 2, -1, 0, 4, 5, 6, 8};
    const asnd_array *mask = asn_call_array(c, 10);
    conv_plan p;
    memset(&p, 0, sizeof p);
    if (mask->size != 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: outputMask has %llu values; it must have 3",
                             c->op->name, (unsigned long long)mask->size);
    p.transposed = asn_call_int(c, 7) != 0;
    ASN_TRY(geometry(c, &at, asn_call_int(c, 9), &p));
    return plan_backward(c, &at, (int[]){12, 13, 14}, mask->data, &p);
}

/* ConvTbcBackward(self, input, weight, bias, pad, cubeMathType, gradInput, gradWeight,
 * gradBias): self is the gradient of the output. */
asn_status asn_planner_conv_tbc_backward(asnd_call *c) {
    static const conv_params at = {1, 2, 3, 0, -1, 4, -1, -1};
    conv_plan p;
    memset(&p, 0, sizeof p);
    p.tbc = true;
    ASN_TRY(geometry(c, &at, 1, &p));
    return plan_backward(c, &at, (int[]){6, 7, 8}, (bool[]){true, true, true}, &p);
}

/* ---- TransConvolutionWeight */

static asn_status weight_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)plan, (void)tmp;
    return asn_move(asn_exec_nd(e, 1), asn_exec_nd(e, 0));
}

/* TransConvolutionWeight(weightIn, transposed, groups, weightOut): the layout that suits
 * Convolution best is here the plain one, in float16. */
asn_status asn_planner_conv_weight(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0), *out = asn_call_nd(c, 3);
    int64_t groups = asn_call_int(c, 2);
    ASN_TRY(asn_call_floating(c, 0));
    if (in->ndim != 4 || asn_call_int(c, 1) != 0 || groups < 1 || groups > 65535)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: weightIn has %d dimensions, groups is %lld; it must have "
            "4, transposed must be false, groups in [1, 65535]",
            c->op->name, in->ndim, (long long)groups);
    if (out->dtype != ASN_F16)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: weightOut has dtype %s; it must be float16",
                             c->op->name, asn_dtype_name(out->dtype));
    ASN_TRY(asn_call_same_shape(c, 3, 4, in->shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    double work = 100 + 0.5 * (double)asn_nd_size(in);
    return asn_call_plan(c, weight_body, sizeof(asnd_plan_head), work) == NULL
               ? ASN_ERR_MEMORY
               : ASN_OK;
}
