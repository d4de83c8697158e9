/* CPU device, operators: LayerNorm and its statistics.
 *
 * out = (x - mean) * rstd * weight + bias over the last dimensions, rstd = 1 /
 * sqrt(variance + eps); mean and rstd in float32 (float64 for float64), in two passes.
 */
#include <string.h>

#include "device/opapi/plan.h"
#include "device/opapi/program.h"

typedef struct {
    asn_plan_head head;
    int in, weight, bias, out, mean, rstd; /* operands; -1: absent */
    uint64_t mask;
    double eps, count;
} norm_plan;

/* x as the arithmetic's dtype in a program over the input's space. */
static int input_as(asn_prog *p, const asn_nd *in, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, in), t);
}

/* mean and 1 / sqrt(variance + eps) of the masked dimensions, kept with extent 1. */
static asn_status statistics(const norm_plan *n, const asn_nd *in, asn_view *mean,
                             asn_view *rstd) {
    asn_dtype t = mean->nd.dtype;
    asn_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, n->mask);
    asn_prog_reduce(&p, ASN_OP_ADD, input_as(&p, in, t), &mean->nd);
    ASN_TRY(asn_prog_run(&p));
    asn_prog_begin(&p, mean->nd.ndim, mean->shape, 0);
    int x = asn_prog_in(&p, &mean->nd), count = asn_prog_const(&p, t, n->count);
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_DIVIDE, x, count), &mean->nd);
    ASN_TRY(asn_prog_run(&p));
    asn_prog_begin(&p, in->ndim, in->shape, n->mask);
    x = input_as(&p, in, t);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, asn_prog_in(&p, &mean->nd));
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op2(&p, ASN_OP_MULTIPLY, x, x), &rstd->nd);
    ASN_TRY(asn_prog_run(&p));
    asn_prog_begin(&p, rstd->nd.ndim, rstd->shape, 0);
    x = asn_prog_in(&p, &rstd->nd);
    x = asn_prog_op2(&p, ASN_OP_DIVIDE, x, asn_prog_const(&p, t, n->count));
    x = asn_prog_op2(&p, ASN_OP_ADD, x, asn_prog_const(&p, t, n->eps));
    asn_prog_out(&p, asn_prog_op1(&p, ASN_OP_RSQRT, x), &rstd->nd);
    return asn_prog_run(&p);
}

static asn_status layer_norm_body(aclOpExecutor *e, void *plan, asn_tmp *tmp) {
    const norm_plan *n = plan;
    const asn_nd *in = asn_exec_nd(e, n->in), *out = asn_exec_nd(e, n->out);
    asn_dtype t = in->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int d = 0; d < in->ndim; d++)
        shape[d] = n->mask >> d & 1 ? 1 : in->shape[d];
    asn_view mean, rstd, weight, bias;
    ASN_TRY(asn_tmp_view(tmp, t, in->ndim, shape, &mean));
    ASN_TRY(asn_tmp_view(tmp, t, in->ndim, shape, &rstd));
    for (int d = 0; d < in->ndim; d++)
        if (n->mask >> d & 1) mean.strides[d] = rstd.strides[d] = 0;
    ASN_TRY(statistics(n, in, &mean, &rstd));
    if (n->mean >= 0) ASN_TRY(asn_move(asn_exec_nd(e, n->mean), &mean.nd));
    if (n->rstd >= 0) ASN_TRY(asn_move(asn_exec_nd(e, n->rstd), &rstd.nd));
    asn_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, 0);
    int x = input_as(&p, in, t);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, asn_prog_in(&p, &mean.nd));
    x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, asn_prog_in(&p, &rstd.nd));
    if (n->weight >= 0) {
        asn_view_set(&weight, asn_exec_nd(e, n->weight));
        asn_view_broadcast(&weight, in->ndim, in->shape);
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, input_as(&p, &weight.nd, t));
    }
    if (n->bias >= 0) {
        asn_view_set(&bias, asn_exec_nd(e, n->bias));
        asn_view_broadcast(&bias, in->ndim, in->shape);
        x = asn_prog_op2(&p, ASN_OP_ADD, x, input_as(&p, &bias.nd, t));
    }
    asn_prog_out(&p, x, out);
    return asn_prog_run(&p);
}

/* LayerNorm(input, normalizedShape, weightOptional, biasOptional, eps, out,
 * meanOutOptional, rstdOutOptional), and with an implementation mode behind, which has no
 * meaning here. */
asn_status asn_planner_layer_norm(asn_call *c) {
    const asn_nd *in = asn_call_nd(c, 0);
    const asn_array *dims = asn_call_array(c, 1);
    int64_t shape[ASN_ND_MAX_DIMS];
    int first = in->ndim - (int)dims->size;
    bool fits = dims->size >= 1 && dims->size <= (uint64_t)in->ndim;
    double count = 1;
    for (int d = 0; fits && d < in->ndim; d++) {
        shape[d] = d < first ? in->shape[d] : 1;
        if (d >= first) count *= (double)in->shape[d];
        fits = d < first || ((int64_t *)dims->data)[d - first] == in->shape[d];
    }
    if (!fits || !asn_is_floating(in->dtype))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: normalizedShape must be the last extents of input, "
                             "which must be of a real floating dtype",
                             c->op->name);
    for (int i = 2; i < 4; i++)
        if (c->first[i] >= 0)
            ASN_TRY(asn_call_same_shape(c, i, (int)dims->size, in->shape + first));
    for (int i = 6; i < 8; i++)
        if (c->first[i] >= 0) ASN_TRY(asn_call_same_shape(c, i, in->ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 5, in->ndim, in->shape));
    for (int i = 5; i < 8; i++)
        if (c->first[i] >= 0) ASN_TRY(asn_call_convertible(c, in->dtype, i));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    norm_plan *p =
        asn_call_plan(c, layer_norm_body, sizeof *p, 500 + 3 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->weight = c->first[2];
    p->bias = c->first[3];
    p->out = c->first[5];
    p->mean = c->first[6];
    p->rstd = c->first[7];
    p->eps = asn_call_double(c, 4);
    p->count = count;
    p->mask = 0;
    for (int d = first; d < in->ndim; d++)
        p->mask |= UINT64_C(1) << d;
    return ASN_OK;
}
