/* CPU device, operators: LayerNorm and its gradient.
 *
 * out = (x - mean) * rstd * weight + bias over the last dimensions, rstd = 1 /
 * sqrt(variance + eps); mean and rstd in float32 (float64 for float64).
 *
 * Two masks describe a call: `mask`, the normalised dimensions, over which statistics
 * run; `leading`, the others, over which the parameters' gradients are summed. The passes
 * are norm.c's.
 */
#include "device/opapi/nn/norm.h"

/* out is the input's gradient backwards. */
typedef struct {
    asnd_plan_head head;
    int in, weight, bias, out, mean, rstd; /* operands; -1: absent */
    int dy, dw, db;
    uint64_t mask, leading;
    double eps;
} layer_plan;

/* The view of a tensor over the last dimensions, or NULL when it is absent. mask: the
 * leading dimensions, which it lacks. */
static const asnd_nd *optional(aclOpExecutor *e, int operand, const asnd_norm *n,
                               uint64_t mask, asnd_view *v) {
    if (operand < 0) return NULL;
    asn_norm_spread(v, asn_exec_nd(e, operand), n, mask);
    return &v->nd;
}

/* Statistics are saved as far as there are outputs for them. */
static asn_status layer_norm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const layer_plan *l = plan;
    asnd_norm n;
    asn_norm_begin(&n, asn_exec_nd(e, l->in), l->mask);
    asnd_view mean, rstd, weight, bias;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
    ASN_TRY(asn_norm_statistics(&n, &mean, &rstd));
    ASN_TRY(asn_norm_rstd(&n, &rstd, &rstd, l->eps));
    if (l->mean >= 0) ASN_TRY(asn_move(asn_exec_nd(e, l->mean), &mean.nd));
    if (l->rstd >= 0) ASN_TRY(asn_move(asn_exec_nd(e, l->rstd), &rstd.nd));
    asnd_norm_params q = {.mean = &mean.nd,
                          &rstd.nd,
                          optional(e, l->weight, &n, l->leading, &weight),
                          optional(e, l->bias, &n, l->leading, &bias)};
    return asn_norm_apply(&n, &q, asn_exec_nd(e, l->out));
}

/* mean and rstd come with extent 1 in the normalised dimensions: stride 0 makes them
 * broadcast. */
static asn_status layer_norm_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const layer_plan *l = plan;
    asnd_norm n;
    asn_norm_begin(&n, asn_exec_nd(e, l->in), l->mask);
    asnd_view mean, rstd, weight, dw, db;
    asn_view_set(&mean, asn_exec_nd(e, l->mean));
    asn_view_set(&rstd, asn_exec_nd(e, l->rstd));
    for (int d = 0; d < n.x->ndim; d++)
        if (n.mask >> d & 1) mean.strides[d] = rstd.strides[d] = 0;
    asnd_norm_params q = {.mean = &mean.nd,
                          &rstd.nd,
                          optional(e, l->weight, &n, l->leading, &weight),
                          NULL};
    asnd_norm_grads g = {
        .dy = asn_exec_nd(e, l->dy), NULL, NULL, NULL, l->leading, false};
    if (l->out >= 0) g.dx = asn_exec_nd(e, l->out);
    if (optional(e, l->dw, &n, l->leading, &dw)) g.dw = &dw;
    if (optional(e, l->db, &n, l->leading, &db)) g.db = &db;
    return asn_norm_backward(&n, &q, &g, tmp);
}

/* normalizedShape names the last dimensions of the input, from *first on; `shape` becomes
 * that of the statistics, with extents of 1 there. */
static asn_status normalized(const asnd_call *c, int input, int at, int *first,
                             int64_t *shape) {
    const asnd_nd *in = asn_call_nd(c, input);
    const asnd_array *dims = asn_call_array(c, at);
    bool fits = dims->size >= 1 && dims->size <= (uint64_t)in->ndim;
    *first = in->ndim - (int)dims->size;
    for (int d = 0; fits && d < in->ndim; d++) {
        shape[d] = d < *first ? in->shape[d] : 1;
        fits = d < *first || ((int64_t *)dims->data)[d - *first] == in->shape[d];
    }
    if (fits && asn_is_floating(in->dtype)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: normalizedShape must be the last extents of input, "
                         "which must be of a real floating dtype",
                         c->op->name);
}

/* A plan with its masks set. ns: nanoseconds an element, roughly. NULL with the error
 * set. */
static layer_plan *plan_layer(asnd_call *c, asnd_body_fn body, const asnd_nd *in,
                              int first, double ns) {
    layer_plan *p = asn_call_plan(c, body, sizeof *p, 500 + ns * (double)asn_nd_size(in));
    if (p == NULL) return NULL;
    p->leading = (UINT64_C(1) << first) - 1;
    p->mask = ((UINT64_C(2) << (in->ndim - 1)) - 1) & ~p->leading;
    return p;
}

/* LayerNorm(input, normalizedShape, weightOptional, biasOptional, eps, out,
 * meanOutOptional, rstdOutOptional), and with an implementation mode behind, which has no
 * meaning here. */
asn_status asn_planner_layer_norm(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS];
    int first = 0;
    ASN_TRY(normalized(c, 0, 1, &first, shape));
    for (int i = 2; i < 4; i++)
        if (c->first[i] >= 0)
            ASN_TRY(asn_call_same_shape(c, i, in->ndim - first, in->shape + first));
    /* torch_npu gives statistics of no rows the shape (0,). */
    bool none = asn_call_operand(c, 0)->is_empty;
    for (int i = 6; i < 8; i++)
        if (c->first[i] >= 0 && !(none && asn_call_operand(c, i)->is_empty))
            ASN_TRY(asn_call_same_shape(c, i, in->ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 5, in->ndim, in->shape));
    /* Optional outputs are NULL or have a convertible dtype. */
    for (int i = 5; i < 8; i++)
        if (c->first[i] >= 0) ASN_TRY(asn_call_convertible(c, in->dtype, i));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    layer_plan *p = plan_layer(c, layer_norm_body, in, first, 3);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->weight = c->first[2];
    p->bias = c->first[3];
    p->out = c->first[5];
    p->mean = c->first[6];
    p->rstd = c->first[7];
    p->eps = asn_call_double(c, 4);
    return ASN_OK;
}

/* LayerNormBackward(gradOut, input, normalizedShape, mean, rstd, weightOptional,
 * biasOptional, outputMask, gradInputOut, gradWeightOut, gradBiasOut) */
asn_status asn_planner_layer_norm_backward(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 1);
    int64_t shape[ASN_ND_MAX_DIMS];
    int first = 0;
    bool wanted[3];
    ASN_TRY(normalized(c, 1, 2, &first, shape));
    const int whole[] = {0, 8}, stats[] = {3, 4}, last[] = {5, 6, 9, 10};
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_norm_check(c, whole[k], in->ndim, in->shape));
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_norm_check(c, stats[k], in->ndim, shape));
    for (int k = 0; k < 4; k++)
        ASN_TRY(asn_norm_check(c, last[k], in->ndim - first, in->shape + first));
    ASN_TRY(asn_norm_output_mask(c, 7, 3, wanted));
    layer_plan *p = plan_layer(c, layer_norm_backward_body, in, first, 5);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->in = c->first[1];
    p->mean = c->first[3];
    p->rstd = c->first[4];
    p->weight = c->first[5];
    p->out = wanted[0] ? c->first[8] : -1;
    p->dw = wanted[1] ? c->first[9] : -1;
    p->db = wanted[2] ? c->first[10] : -1;
    return ASN_OK;
}
