/* CPU device, operators: ROIAlign and its gradient (cpu/nn/roi_align.h).
 *
 * self (n, c, h, w), rois (count, 5), out (count, c, pooledHeight, pooledWidth). Regions
 * are data: whether their images exist is seen when the operator runs.
 *
 * roiEndMode 0 and 1 are documented for MindSpore's operator of this name; 3 is what
 * torch_npu's ROIAlign calls for aligned=True.
 */
#include "device/cpu/nn/roi_align.h"

#include "device/opapi/core/packed.h"
#include "device/opapi/nn/image.h"

typedef struct {
    asnd_plan_head head;
    asnd_rois g;
    asn_dtype t;
    bool back;
} roi_plan;

/* Operands: images or their bins' gradient, rois, the output. */
static asn_status roi_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const roi_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, 2);
    asnd_view x, rois, y;
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 0), p->t, &x));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, 1), p->t, &rois));
    if (!asn_rois_fit(&p->g, p->t, rois.nd.data))
        return asn_error_set(
            ASN_ERR_INDEX,
            "rois must be finite, and begin with the index of one of %lld "
            "images",
            (long long)p->g.images);
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &y));
    ASN_TRY(p->back ? asn_roi_align_back(&p->g, p->t, x.nd.data, rois.nd.data, y.nd.data)
                    : asn_roi_align(&p->g, p->t, x.nd.data, rois.nd.data, y.nd.data));
    return asn_image_finish(out, &y);
}

/* What both have: in, the images' shape; the numbers by name. Modes that no public page
 * explains are refused. */
static asn_status plan_rois(asnd_call *c, const int64_t *in, bool back) {
    int out = asn_call_out(c);
    roi_plan q = {.back = back};
    asnd_rois *g = &q.g;
    int64_t mode = asn_call_int(c, asn_call_param_named(c, "roiEndMode"));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_same_dtype(c, 0, 1));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    g->count = asn_call_nd(c, 1)->shape[0];
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){g->count, 5}));
    if (mode != 0 && mode != 1 && mode != 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: roiEndMode is %lld; it must be 0, 1 or 3", c->op->name,
                             (long long)mode);
    /* The two operators have height and width in another order: by name. */
    static const char *const names[] = {"pooledHeight", "pooledWidth"};
    for (int d = 0; d < 2; d++) {
        g->pooled[d] = asn_call_int(c, asn_call_param_named(c, names[d]));
        g->size[d] = in[2 + d];
        if (g->pooled[d] < 1 || g->pooled[d] > INT32_MAX || g->size[d] < 1)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is %lld, of an extent of %lld; both must be at "
                                 "least 1",
                                 c->op->name, names[d], (long long)g->pooled[d],
                                 (long long)g->size[d]);
    }
    g->images = in[0];
    g->channels = in[1];
    g->samples = asn_call_int(c, asn_call_param_named(c, "sampleNum"));
    g->scale = asn_call_double(c, asn_call_param_named(c, "spatialScale"));
    g->mode = (int)mode;
    /* The images' shape and the bins'; which of them is read is the direction's. */
    const int64_t bins[4] = {g->count, in[1], g->pooled[0], g->pooled[1]};
    ASN_TRY(asn_call_same_shape(c, back ? 0 : out, 4, bins));
    ASN_TRY(asn_call_same_shape(c, back ? out : 0, 4, in));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    /* About four elements by four weights a bin. */
    double all = (double)(g->count * g->channels * g->pooled[0] * g->pooled[1]);
    q.t = asn_image_dtype(asn_call_nd(c, 0)->dtype);
    return asn_call_keep(c, roi_body, &q, sizeof q, 1000 + 20 * all);
}

/* ROIAlign(self, rois, spatialScale, pooledHeight, pooledWidth, sampleNum, roiEndMode,
 * out) */
asn_status asn_planner_roi_align(asnd_call *c) {
    ASN_TRY(asn_call_rank(c, 0, 4, 4));
    return plan_rois(c, asn_call_nd(c, 0)->shape, false);
}

/* ROIAlignBackward(gradOutput, rois, xdiffShape, pooledWidth, pooledHeight, spatialScale,
 * sampleNum, roiEndMode, out): xdiffShape is the images' shape. */
asn_status asn_planner_roi_align_backward(asnd_call *c) {
    int64_t in[4];
    if (asn_call_array(c, 2)->size != 4)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: xdiffShape has %llu values; it must have 4",
                             c->op->name, (unsigned long long)asn_call_array(c, 2)->size);
    ASN_TRY(asn_image_ints(c, 2, 4, 0, -1, in));
    return plan_rois(c, in, true);
}
