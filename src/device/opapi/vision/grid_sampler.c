/* CPU device, operators: GridSampler2D, 3D and their gradients (cpu/nn/grid_sample.h).
 *
 * interpolationMode: 0 bilinear, 1 nearest, 2 bicubic (not of volumes). paddingMode: 0
 * zeros, 1 the edge's value, 2 mirrored. What torch.nn.functional.grid_sample computes;
 * halves in float32.
 *
 * input (n, c, [d,] h, w), grid (n, [d',] h', w', 2 or 3), out (n, c, [d',] h', w').
 */
#include "device/cpu/nn/grid_sample.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/nn/image.h"

/* Operands; those of gradients are -1 where they are not wanted. */
typedef struct {
    asnd_plan_head head;
    asnd_grid g;
    asn_dtype t;
    int input, grid, grad, out, grad_input, grad_grid;
} sampler_plan;

/* Input and grid in row-major form, one kernel. */
static asn_status sample_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const sampler_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view image, grid, y;
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->input), p->t, &image));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->grid), p->t, &grid));
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &y));
    /* Positions lie in [-1, 1]; align: the ends are the corners' centres, else their
     * outer edges. */
    asn_grid_sample(&p->g, p->t, image.nd.data, grid.nd.data, y.nd.data);
    return asn_image_finish(out, &y);
}

/* Gradients that are not wanted have no memory, and the kernel leaves them out. */
static asn_status gradient_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const sampler_plan *p = plan;
    const int outs[2] = {p->grad_input, p->grad_grid};
    void *data[2] = {NULL, NULL};
    asnd_view image, grid, grad, made[2];
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->input), p->t, &image));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->grid), p->t, &grid));
    ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->grad), p->t, &grad));
    for (int k = 0; k < 2; k++) {
        if (outs[k] < 0) continue;
        ASN_TRY(asn_image_result(e, tmp, asn_exec_nd(e, outs[k]), p->t, &made[k]));
        data[k] = made[k].nd.data;
    }
    asn_grid_gradients(&p->g, p->t, image.nd.data, grid.nd.data, grad.nd.data, data[0],
                       data[1]);
    for (int k = 0; k < 2; k++)
        if (outs[k] >= 0) ASN_TRY(asn_image_finish(asn_exec_nd(e, outs[k]), &made[k]));
    return ASN_OK;
}

/* Modes and shapes of input and grid, the parameters `input` and the one behind; out: the
 * shape of what is sampled. */
static asn_status check(const asnd_call *c, int input, asnd_grid *g, int64_t *out) {
    int n = c->op->arg;
    const asnd_nd *image = asn_call_nd(c, input), *grid = asn_call_nd(c, input + 1);
    /* Modes are checked below, before anything is planned by them. */
    *g = (asnd_grid){.spatial = n,
                     .mode = (int)asn_call_int(c, input + 2),
                     .padding = (int)asn_call_int(c, input + 3),
                     .align = asn_call_int(c, input + 4) != 0,
                     .points = 1};
    for (int k = 0; k < 2; k++) {
        /* No bicubic volumes: 64 taps each, which PyTorch does not have either. */
        int64_t value = asn_call_int(c, input + 2 + k), most = k == 0 && n == 3 ? 1 : 2;
        if (value < 0 || value > most)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is %lld; it must be in [0, %lld]",
                                 c->op->name, c->op->params[input + 2 + k].name,
                                 (long long)value, (long long)most);
        ASN_TRY(asn_call_floating(c, input + k));
        const asnd_nd *a = asn_call_nd(c, input + k);
        if (a->ndim != n + 2)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has %d dimensions; it must have %d", c->op->name,
                                 c->op->params[input + k].name, a->ndim, n + 2);
    }
    if (grid->shape[0] != image->shape[0] || grid->shape[n + 1] != n) {
        char got[ASN_SHAPE_TEXT];
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: %s has shape %s; it must begin with the batch, %lld, and "
            "end with %d",
            c->op->name, c->op->params[input + 1].name,
            asn_shape_text(got, grid->ndim, grid->shape), (long long)image->shape[0], n);
    }
    /* A position in an image without elements has no value. */
    for (int d = 0; d < n; d++) {
        g->size[d] = image->shape[2 + d];
        out[2 + d] = grid->shape[1 + d];
        g->points *= out[2 + d];
        if (g->size[d] == 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has an empty dimension other than "
                                 "batch and channels",
                                 c->op->name, c->op->params[input].name);
    }
    g->batch = out[0] = image->shape[0];
    g->channels = out[1] = image->shape[1];
    return ASN_OK;
}

/* The plan of what was checked; float64 where the input is. Finding a position's taps
 * takes 20 ns, using them 4 a channel (bilinear), which decides how many threads work. */
static asn_status adopt(asnd_call *c, int input, const asnd_grid *g, asnd_body_fn body,
                        sampler_plan **plan) {
    double points = (double)(g->batch * g->points);
    sampler_plan *p =
        asn_call_plan(c, body, sizeof *p, 500 + points * (20 + 4 * (double)g->channels));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->g = *g;
    p->t = asn_image_dtype(asn_call_nd(c, input)->dtype);
    p->input = c->first[input];
    p->grid = c->first[input + 1];
    *plan = p;
    return ASN_OK;
}

/* GridSampler(input, grid, interpolationMode, paddingMode, alignCorners, out) */
asn_status asn_planner_grid_sampler(asnd_call *c) {
    asnd_grid g;
    int64_t out[5];
    ASN_TRY(check(c, 0, &g, out));
    ASN_TRY(asn_call_same_dtype(c, 0, 1));
    ASN_TRY(asn_call_same_dtype(c, 0, 5));
    ASN_TRY(asn_call_same_shape(c, 5, g.spatial + 2, out));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    sampler_plan *p;
    ASN_TRY(adopt(c, 0, &g, sample_body, &p));
    p->out = c->first[5];
    return ASN_OK;
}

/* GridSamplerBackward(gradOutput, input, grid, interpolationMode, paddingMode,
 * alignCorners, outputMask, inputGrad, gridGrad) */
asn_status asn_planner_grid_sampler_backward(asnd_call *c) {
    const asnd_array *mask = asn_call_array(c, 6);
    const bool *wanted = mask->data;
    asnd_grid g;
    int64_t out[5];
    ASN_TRY(check(c, 1, &g, out));
    ASN_TRY(asn_call_same_dtype(c, 1, 0));
    ASN_TRY(asn_call_same_dtype(c, 1, 2));
    ASN_TRY(asn_call_same_shape(c, 0, g.spatial + 2, out));
    if (mask->size != 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: outputMask has %llu values; it must have 2",
                             c->op->name, (unsigned long long)mask->size);
    /* An output that the mask does not want may be NULL, and is not looked at. */
    int outs[2] = {-1, -1};
    for (int k = 0; k < 2; k++) {
        const asnd_nd *like = asn_call_nd(c, 1 + k);
        if (!wanted[k]) continue;
        if (asn_call_operand(c, 7 + k) == NULL)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is NULL, but outputMask wants it",
                                 c->op->name, c->op->params[7 + k].name);
        ASN_TRY(asn_call_same_dtype(c, 1, 7 + k));
        ASN_TRY(asn_call_same_shape(c, 7 + k, like->ndim, like->shape));
        if (!asn_call_operand(c, 7 + k)->is_empty) outs[k] = c->first[7 + k];
    }
    if (outs[0] < 0 && outs[1] < 0) return ASN_OK;
    sampler_plan *p;
    ASN_TRY(adopt(c, 1, &g, gradient_body, &p));
    p->grad = c->first[0];
    p->grad_input = outs[0];
    p->grad_grid = outs[1];
    return ASN_OK;
}
