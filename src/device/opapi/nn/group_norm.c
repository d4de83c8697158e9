/* CPU device, operators: GroupNorm, with SiLU or Swish behind it, the gradients;
 * InstanceNorm.
 *
 * Dimension 1, the channels, is split into (groups, channels of a group), whatever its
 * stride; statistics run over a group's channels and all positions. InstanceNorm has
 * groups of one channel.
 *
 * The split is a view with one dimension more, which is why a tensor may have one fewer
 * than others here. Parameters are of all channels and are split the same way. The passes
 * are norm.c's.
 */
#include <string.h>

#include "device/opapi/nn/norm.h"

/* groups: of InstanceNorm whether the channels are last. */
typedef struct {
    asnd_plan_head head;
    int in, weight, bias, out, mean, rstd; /* operands; -1: absent */
    int dy, dw, db;
    int64_t groups;
    bool silu; /* x * sigmoid(scale * x) behind it */
    double eps, scale;
} group_plan;

/* v: x with its channels split into (groups, channels of a group). */
static void split(asnd_view *v, const asnd_nd *x, int64_t groups) {
    asn_view_set(v, x);
    int64_t each = groups > 0 ? x->shape[1] / groups : 0, stride = x->strides[1];
    v->shape[1] = each;
    asn_view_insert(v, 1, groups, each * stride);
}

/* Everything but batch and group; ndim with the channels split. */
static uint64_t statistics_mask(int ndim) { /* ndim with the channels split */
    return ((UINT64_C(2) << (ndim - 1)) - 1) & ~UINT64_C(3);
}

/* Everything but group and channel. */
static uint64_t parameter_mask(int ndim) {
    return ((UINT64_C(2) << (ndim - 1)) - 1) & ~UINT64_C(6);
}

/* The view of one value per channel in the split space, or NULL when it is absent. */
static const asnd_nd *channels(aclOpExecutor *e, int operand, const asnd_norm *n,
                               asnd_view *v) {
    if (operand < 0) return NULL;
    const asnd_nd *a = asn_exec_nd(e, operand);
    asn_view_set(v, a);
    v->shape[0] = n->x->shape[2];
    asn_view_insert(v, 0, n->x->shape[1], n->x->shape[2] * a->strides[0]);
    asn_view_insert(v, 0, 1, 0);
    while (v->nd.ndim < n->x->ndim)
        asn_view_insert(v, v->nd.ndim, 1, 0);
    return &v->nd;
}

/* Statistics are saved before the pass that writes, in (batch, groups). */
static asn_status group_norm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const group_plan *g = plan;
    asnd_norm n;
    asnd_view x, out, mean, rstd, weight, bias, to;
    split(&x, asn_exec_nd(e, g->in), g->groups);
    split(&out, asn_exec_nd(e, g->out), g->groups);
    asn_norm_begin(&n, &x.nd, statistics_mask(x.nd.ndim));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
    ASN_TRY(asn_norm_statistics(&n, &mean, &rstd));
    ASN_TRY(asn_norm_rstd(&n, &rstd, &rstd, g->eps));
    asn_norm_spread(&to, asn_exec_nd(e, g->mean), &n, n.mask);
    ASN_TRY(asn_move(&to.nd, &mean.nd));
    asn_norm_spread(&to, asn_exec_nd(e, g->rstd), &n, n.mask);
    ASN_TRY(asn_move(&to.nd, &rstd.nd));
    asnd_norm_params q = {.mean = &mean.nd,
                          &rstd.nd,
                          channels(e, g->weight, &n, &weight),
                          channels(e, g->bias, &n, &bias)};
    if (g->silu) q.swish = &g->scale;
    return asn_norm_apply(&n, &q, &out.nd);
}

/* mean and rstd are the forward call's, (batch, groups). */
static asn_status group_norm_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const group_plan *g = plan;
    asnd_norm n;
    asnd_view x, dy, dx, mean, rstd, weight, bias, dw, db;
    split(&x, asn_exec_nd(e, g->in), g->groups);
    split(&dy, asn_exec_nd(e, g->dy), g->groups);
    asn_norm_begin(&n, &x.nd, statistics_mask(x.nd.ndim));
    asn_norm_spread(&mean, asn_exec_nd(e, g->mean), &n, n.mask);
    asn_norm_spread(&rstd, asn_exec_nd(e, g->rstd), &n, n.mask);
    asnd_norm_params q = {.mean = &mean.nd,
                          &rstd.nd,
                          channels(e, g->weight, &n, &weight),
                          channels(e, g->bias, &n, &bias)};
    if (g->silu) q.swish = &g->scale;
    asnd_norm_grads to = {
        .dy = &dy.nd, NULL, NULL, NULL, parameter_mask(x.nd.ndim), false};
    if (g->out >= 0) {
        split(&dx, asn_exec_nd(e, g->out), g->groups);
        to.dx = &dx.nd;
    }
    if (channels(e, g->dw, &n, &dw)) to.dw = &dw;
    if (channels(e, g->db, &n, &db)) to.db = &db;
    return asn_norm_backward(&n, &q, &to, tmp);
}

/* y, mean and variance of an instance; the mask is of x's own dimensions: height and
 * width, bits 1 and 2 of NHWC, 2 and 3 of NCHW. */
static asn_status instance_norm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const group_plan *g = plan;
    bool last = g->groups != 0; /* NHWC */
    asnd_norm n;
    asn_norm_begin(&n, asn_exec_nd(e, g->in), last ? 6 : 12);
    asnd_view mean, rstd, weight, bias;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &rstd));
    ASN_TRY(asn_norm_statistics(&n, &mean, &rstd));
    ASN_TRY(asn_move(asn_exec_nd(e, g->mean), &mean.nd));
    ASN_TRY(asn_move(asn_exec_nd(e, g->rstd), &rstd.nd));
    ASN_TRY(asn_norm_rstd(&n, &rstd, &rstd, g->eps));
    /* Parameters lie along the channels: every other dimension is in the mask. */
    asn_norm_spread(&weight, asn_exec_nd(e, g->weight), &n, last ? 7 : 13);
    asn_norm_spread(&bias, asn_exec_nd(e, g->bias), &n, last ? 7 : 13);
    asnd_norm_params q = {.mean = &mean.nd, &rstd.nd, &weight.nd, &bias.nd};
    return asn_norm_apply(&n, &q, asn_exec_nd(e, g->out));
}

/* ---- planning */

/* The input has a dimension to spare for the split, and channels that the groups
 * divide. */
static asn_status check_input(const asnd_call *c, int i, int64_t groups) {
    const asnd_nd *in = asn_call_nd(c, i);
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_norm_check(c, i, in->ndim, in->shape));
    if (in->ndim >= 2 && in->ndim < ASN_ND_MAX_DIMS && groups > 0 &&
        in->shape[1] % groups == 0)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, group is %lld; dimension 1 must split "
                         "into the groups",
                         c->op->name, c->op->params[i].name,
                         asn_shape_text(got, in->ndim, in->shape), (long long)groups);
}

/* Parameters N, C and HxW, from i on, must tell the input's shape again. */
static asn_status check_extents(const asnd_call *c, int i, const asnd_nd *in) {
    int64_t rest = 1;
    for (int d = 2; d < in->ndim; d++)
        rest *= in->shape[d];
    char got[ASN_SHAPE_TEXT];
    if (asn_call_int(c, i) == in->shape[0] && asn_call_int(c, i + 1) == in->shape[1] &&
        asn_call_int(c, i + 2) == rest)
        return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: N, C, HxW are %lld, %lld, %lld, but the input has shape %s",
        c->op->name, (long long)asn_call_int(c, i), (long long)asn_call_int(c, i + 1),
        (long long)asn_call_int(c, i + 2), asn_shape_text(got, in->ndim, in->shape));
}

/* GroupNorm(self, gamma, beta, N, C, HxW, group, eps, out, meanOut, rstdOut);
 * GroupNormSilu(self, gamma, beta, group, eps, out, meanOut, rstdOut), whose V2 has
 * activateSilu behind eps; GroupNormSwish(x, gamma, beta, numGroups, dataFormat, eps,
 * activateSwish, swishScale, yOut, meanOut, rstdOut). */
asn_status asn_planner_group_norm(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    int at = c->op->arg == 0 ? 6 : 3, out = asn_call_out(c);
    int64_t groups = asn_call_int(c, at);
    ASN_TRY(check_input(c, 0, groups));
    if (at == 6) ASN_TRY(check_extents(c, 3, in));
    const int64_t kept[] = {in->shape[0], groups};
    ASN_TRY(asn_norm_check(c, 1, 1, in->shape + 1));
    ASN_TRY(asn_norm_check(c, 2, 1, in->shape + 1));
    ASN_TRY(asn_norm_check(c, out, in->ndim, in->shape));
    ASN_TRY(asn_norm_check(c, out + 1, 2, kept));
    ASN_TRY(asn_norm_check(c, out + 2, 2, kept));
    if (in->shape[0] == 0) return ASN_OK;
    group_plan *p =
        asn_call_plan(c, group_norm_body, sizeof *p, 500 + 3 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->weight = c->first[1];
    p->bias = c->first[2];
    p->out = c->first[out];
    p->mean = c->first[out + 1];
    p->rstd = c->first[out + 2];
    p->groups = groups;
    bool swish = c->op->arg == 3; /* its data format stands behind the groups */
    p->eps = asn_call_double(c, swish ? at + 2 : at + 1);
    p->silu = c->op->arg == 1 || (c->op->arg == 2 && asn_call_int(c, at + 2) != 0) ||
              (swish && asn_call_int(c, at + 3) != 0);
    p->scale = swish ? asn_call_double(c, at + 4) : 1;
    return ASN_OK;
}

/* What both gradients share: dy, x, mean, rstd, gamma (and beta, unless it is -1) at
 * these parameters, the three outputs from `out` on, of which `wanted` tells. */
typedef struct {
    int dy, x, mean, rstd, gamma, beta, out;
    bool wanted[3];
    int64_t groups;
} group_grads;

/* Checks all but x, and makes the plan; *plan stays NULL where there are no channels. */
static asn_status plan_backward(asnd_call *c, const group_grads *g, group_plan **plan) {
    const asnd_nd *in = asn_call_nd(c, g->x);
    *plan = NULL;
    const int64_t kept[] = {in->shape[0], g->groups};
    ASN_TRY(asn_norm_check(c, g->dy, in->ndim, in->shape));
    ASN_TRY(asn_norm_check(c, g->mean, 2, kept));
    ASN_TRY(asn_norm_check(c, g->rstd, 2, kept));
    ASN_TRY(asn_norm_check(c, g->gamma, 1, in->shape + 1));
    if (g->beta >= 0) ASN_TRY(asn_norm_check(c, g->beta, 1, in->shape + 1));
    if (g->wanted[0]) ASN_TRY(asn_norm_check(c, g->out, in->ndim, in->shape));
    for (int i = 1; i < 3; i++)
        if (g->wanted[i]) ASN_TRY(asn_norm_check(c, g->out + i, 1, in->shape + 1));
    if (in->shape[1] == 0) return ASN_OK;
    group_plan *p = asn_call_plan(c, group_norm_backward_body, sizeof *p,
                                  500 + 5 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[g->dy];
    p->in = c->first[g->x];
    p->mean = c->first[g->mean];
    p->rstd = c->first[g->rstd];
    p->weight = c->first[g->gamma];
    p->bias = g->beta >= 0 ? c->first[g->beta] : -1;
    p->groups = g->groups;
    p->out = g->wanted[0] ? c->first[g->out] : -1;
    p->dw = g->wanted[1] ? c->first[g->out + 1] : -1;
    p->db = g->wanted[2] ? c->first[g->out + 2] : -1;
    p->silu = false;
    *plan = p;
    return ASN_OK;
}

/* GroupNormSwishGrad(dy, mean, rstd, x, gamma, beta, numGroups, dataFormat, swishScale,
 * dgammaIsRequire, dbetaIsRequire, dxOut, dgammaOut, dbetaOut) */
asn_status asn_planner_group_norm_swish_grad(asnd_call *c) {
    group_grads g = {0, 3, 1, 2, 4, 5, 11, {true}, asn_call_int(c, 6)};
    group_plan *p = NULL;
    ASN_TRY(check_input(c, 3, g.groups));
    for (int k = 1; k < 3; k++) {
        g.wanted[k] = asn_call_int(c, 8 + k) != 0;
        if (g.wanted[k] && c->first[11 + k] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but %s is true",
                                 c->op->name, c->op->params[11 + k].name,
                                 c->op->params[8 + k].name);
    }
    ASN_TRY(plan_backward(c, &g, &p));
    if (p == NULL) return ASN_OK;
    p->silu = true;
    p->scale = asn_call_double(c, 8);
    return ASN_OK;
}

/* GroupNormBackward(gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask,
 * gradInput, gradGammaOut, gradBetaOut) */
asn_status asn_planner_group_norm_backward(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 1);
    group_grads g = {0, 1, 2, 3, 4, -1, 10, {false}, asn_call_int(c, 8)};
    group_plan *p = NULL;
    ASN_TRY(check_input(c, 1, g.groups));
    ASN_TRY(check_extents(c, 5, in));
    ASN_TRY(asn_norm_output_mask(c, 9, 3, g.wanted));
    return plan_backward(c, &g, &p);
}

/* InstanceNorm(x, gamma, beta, dataFormat, eps, y, mean, variance) */
asn_status asn_planner_instance_norm(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    const char *format = c->args[3].p;
    bool last = strcmp(format, "NHWC") == 0;
    if (in->ndim != 4 || (!last && strcmp(format, "NCHW") != 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has %d dimensions, dataFormat is \"%s\"; they must "
                             "be 4 and \"NCHW\" or \"NHWC\"",
                             c->op->name, in->ndim, format);
    int64_t kept[4];
    memcpy(kept, in->shape, sizeof kept);
    kept[last ? 1 : 2] = kept[last ? 2 : 3] = 1;
    ASN_TRY(asn_norm_check(c, 0, 4, in->shape));
    ASN_TRY(asn_norm_check(c, 1, 1, in->shape + (last ? 3 : 1)));
    ASN_TRY(asn_norm_check(c, 2, 1, in->shape + (last ? 3 : 1)));
    ASN_TRY(asn_norm_check(c, 5, 4, in->shape));
    ASN_TRY(asn_norm_check(c, 6, 4, kept));
    ASN_TRY(asn_norm_check(c, 7, 4, kept));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    group_plan *p = asn_call_plan(c, instance_norm_body, sizeof *p,
                                  500 + 3 * (double)asn_nd_size(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->weight = c->first[1];
    p->bias = c->first[2];
    p->eps = asn_call_double(c, 4);
    p->out = c->first[5];
    p->mean = c->first[6];
    p->rstd = c->first[7];
    p->groups = last;
    return ASN_OK;
}
