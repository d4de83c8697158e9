/* CPU device, operators: images resampled, and the gradients (cpu/nn/resample.h).
 *
 * All of Upsample's names have one planner: what differs is the mode, how many spatial
 * dimensions there are, whether corners are aligned, and which scales are given. They are
 * found by the parameters' names and kinds: the tensor first, outputSize, inputSize of
 * gradients, alignCorners, then one scale per dimension (or none). A scale that is not
 * above 0 is not given, which is how programs call PyTorch's None.
 *
 * self is (n, c, w), (n, c, h, w) or (n, c, d, h, w), out the same with outputSize behind
 * the channels; a gradient goes from out's shape to inputSize, which is the whole shape.
 * A gradient is the transpose of the forward operator, also where PyTorch's own takes
 * positions of another precision (nearest modes in float64).
 *
 * Nearest modes take uint8, too: it passes through float32 unchanged.
 */
#include "device/cpu/nn/resample.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/nn/image.h"

typedef struct {
    asnd_plan_head head;
    asnd_resample_axis axes[3];
    int64_t planes;
    int spatial;
    asn_dtype t;
    bool back;
} upsample_plan;

/* Any strides and halves become row-major float32 or float64. */
static asn_status upsample_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const upsample_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, 1);
    asnd_view x, y;
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 0), p->t, &x));
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &y));
    ASN_TRY(asn_resample(p->t, p->planes, p->spatial, p->axes, p->back, x.nd.data,
                         y.nd.data));
    return asn_image_finish(out, &y);
}

/* Fills the axes: `image` is the shape that is resampled, (batch, channels, ...). */
static asn_status axes_of(const asnd_call *c, const int64_t *image, int spatial,
                          asnd_resample_axis *axes) {
    int64_t size[3];
    ASN_TRY(
        asn_image_ints(c, asn_call_param_named(c, "outputSize"), spatial, 1, -1, size));
    int align = asn_call_param_named(c, "alignCorners"), scales = 0;
    for (int d = 0; d < spatial; d++) {
        if (image[2 + d] < 1 || image[2 + d] > INT32_MAX)
            return asn_error_set(
                ASN_ERR_VALUE, "%s: the image has the extent %lld; it must be in [1, %d]",
                c->op->name, (long long)image[2 + d], INT32_MAX);
        axes[d] = (asnd_resample_axis){.in = image[2 + d],
                                       .out = size[d],
                                       .mode = (asnd_resample_mode)(c->op->arg >> 2),
                                       .align = align >= 0 && asn_call_int(c, align)};
    }
    for (int i = 0; i < c->op->num_params && scales < spatial; i++)
        if (c->op->params[i].kind == ASN_DOUBLE)
            axes[scales++].scale = asn_call_double(c, i);
    return ASN_OK;
}

/* Nearest elements of uint8 are moved; the others are computed with. */
static asn_status check_dtypes(const asnd_call *c, int out) {
    bool moves = c->op->arg >> 2 <= ASN_RESAMPLE_NEAREST_EXACT;
    if (!moves || asn_call_nd(c, 0)->dtype != ASN_U8) ASN_TRY(asn_call_floating(c, 0));
    return asn_call_same_dtype(c, 0, out);
}

/* Upsample...(self, outputSize, [inputSize,] [alignCorners,] [scales...,] out). arg: the
 * mode times 4, and the spatial dimensions. */
asn_status asn_planner_upsample(asnd_call *c) {
    int out = asn_call_out(c), spatial = c->op->arg & 3;
    int given = asn_call_param_named(c, "inputSize"), ndim = spatial + 2;
    const asnd_nd *self = asn_call_nd(c, 0);
    const int64_t *image = self->shape;
    asnd_resample_axis axes[3];
    int64_t size[5] = {0}, from[5], to[5];
    if (self->ndim != ndim)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have %d",
                             c->op->name, c->op->params[0].name, self->ndim, ndim);
    ASN_TRY(check_dtypes(c, out));
    if (given >= 0) {
        const asnd_array *sizes = asn_call_array(c, given);
        if (sizes->size != (uint64_t)ndim)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: inputSize has %llu values; it must "
                                 "have %d",
                                 c->op->name, (unsigned long long)sizes->size, ndim);
        ASN_TRY(asn_image_ints(c, given, ndim, 0, -1, size));
        image = size;
    }
    ASN_TRY(axes_of(c, image, spatial, axes));
    /* The image, and the image resampled: a gradient goes from the latter. */
    for (int d = 0; d < ndim; d++) {
        from[d] = image[d];
        to[d] = d < 2 ? image[d] : axes[d - 2].out;
    }
    if (given >= 0) ASN_TRY(asn_call_same_shape(c, 0, ndim, to));
    ASN_TRY(asn_call_same_shape(c, out, ndim, given >= 0 ? from : to));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    double work = (double)asn_nd_size(self) + (double)asn_nd_size(asn_call_nd(c, out));
    upsample_plan *p = asn_call_plan(c, upsample_body, sizeof *p, 2000 + 2 * work);
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int d = 0; d < spatial; d++)
        p->axes[d] = axes[d];
    p->planes = image[0] * image[1];
    p->spatial = spatial;
    p->t = asn_image_dtype(self->dtype);
    p->back = given >= 0;
    return ASN_OK;
}
