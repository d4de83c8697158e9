/* CPU device, operators: RMSNorm, and normalisations of a sum, with their gradients.
 *
 * s = alpha * x + gx + bias is normalised over the last dimensions, those of gamma:
 *
 *     RMSNorm (Zhang, Sennrich, 2019)   y = s * rstd * gamma, rstd = 1 / sqrt(mean(s^2) +
 * eps) LayerNorm (AddLayerNorm, DeepNorm)    y = (s - mean) * rstd * gamma + beta
 *
 * Which addends there are follows from the operator's parameters: RmsNorm has x alone,
 * AddRmsNorm and AddLayerNorm x1 + x2 (+ bias), DeepNorm alpha * x + gx (Wang et al.,
 * "DeepNet", 2022); GemmaRmsNorm weighs with gamma + 1. The sum is taken again, in the
 * arithmetic's dtype, in each pass that needs it, and is not rounded to a half between.
 * The passes are norm.c's. mean and rstd have one value a row: the leading dimensions,
 * and any number of extents 1 behind them or left out.
 */
#include "device/opapi/nn/norm.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x, plus[2], gamma, beta, mean, rstd;
    int y, again, sum;               /* forward */
    int dy, more, dx, dplus, dw, db; /* backward */
    bool rms, one_more;
    uint64_t mask, leading;
    double eps, alpha;
} sum_plan;

/* The views of a body. */
typedef struct {
    asnd_norm n;
    asnd_norm_params q;
    asnd_view plus[2], gamma, beta;
} sum_views;

/* A tensor over the last dimensions, or NULL. */
static const asnd_nd *over_last(aclOpExecutor *e, int operand, const sum_plan *p,
                                const asnd_norm *n, asnd_view *v) {
    if (operand < 0) return NULL;
    asn_norm_spread(v, asn_exec_nd(e, operand), n, p->leading);
    return &v->nd;
}

/* v: one value a row, kept in x's dimensions. Those of `a` that are longer than 1 are
 * x's leading ones, in order. */
static void rows_view(asnd_view *v, const asnd_nd *a, const asnd_norm *n) {
    asnd_view from;
    asn_view_set(&from, a);
    asn_view_set(v, n->x);
    v->nd.data = a->data;
    v->nd.dtype = a->dtype;
    for (int d = 0, k = 0; d < n->x->ndim; d++) {
        bool kept = !(n->mask >> d & 1) && n->x->shape[d] != 1;
        while (kept && k < from.nd.ndim && from.shape[k] == 1)
            k++;
        v->shape[d] = kept ? n->x->shape[d] : 1;
        v->strides[d] = kept ? from.strides[k++] : 0;
    }
}

/* What both bodies need of the plan. */
static void begin(sum_views *s, aclOpExecutor *e, const sum_plan *p) {
    asn_norm_begin(&s->n, asn_exec_nd(e, p->x), p->mask);
    s->n.alpha = p->alpha;
    for (int k = 0; k < 2; k++) {
        if (p->plus[k] < 0) continue;
        asn_view_set(&s->plus[k], asn_exec_nd(e, p->plus[k]));
        asn_view_broadcast(&s->plus[k], s->n.x->ndim, s->n.x->shape);
        s->n.plus[k] = &s->plus[k].nd;
    }
    s->q = (asnd_norm_params){.weight = over_last(e, p->gamma, p, &s->n, &s->gamma),
                              .bias = over_last(e, p->beta, p, &s->n, &s->beta),
                              .one_more = p->one_more};
}

/* Statistics go to their outputs before the pass that writes, which may overwrite x. */
static asn_status forward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const sum_plan *p = plan;
    sum_views s;
    asnd_view mean, rstd, to;
    begin(&s, e, p);
    ASN_TRY(asn_norm_kept(tmp, &s.n, s.n.mask, &mean));
    ASN_TRY(asn_norm_kept(tmp, &s.n, s.n.mask, &rstd));
    if (p->rms)
        ASN_TRY(asn_norm_mean_square(&s.n, &rstd));
    else
        ASN_TRY(asn_norm_statistics(&s.n, &mean, &rstd));
    ASN_TRY(asn_norm_rstd(&s.n, &rstd, &rstd, p->eps));
    if (p->rstd >= 0) {
        rows_view(&to, asn_exec_nd(e, p->rstd), &s.n);
        ASN_TRY(asn_move(&to.nd, &rstd.nd));
    }
    if (p->mean >= 0) {
        rows_view(&to, asn_exec_nd(e, p->mean), &s.n);
        ASN_TRY(asn_move(&to.nd, &mean.nd));
    }
    s.q.mean = p->rms ? NULL : &mean.nd;
    s.q.rstd = &rstd.nd;
    if (p->again >= 0) s.q.again = asn_exec_nd(e, p->again);
    if (p->sum >= 0) s.q.sum = asn_exec_nd(e, p->sum);
    return asn_norm_apply(&s.n, &s.q, asn_exec_nd(e, p->y));
}

/* The statistics are the forward call's. Without a mean (RMS) q.mean stays NULL. */
static asn_status backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const sum_plan *p = plan;
    sum_views s;
    asnd_view mean, rstd, dw, db;
    begin(&s, e, p);
    rows_view(&rstd, asn_exec_nd(e, p->rstd), &s.n);
    s.q.rstd = &rstd.nd;
    if (p->mean >= 0) {
        rows_view(&mean, asn_exec_nd(e, p->mean), &s.n);
        s.q.mean = &mean.nd;
    }
    asnd_norm_grads g = {.dy = asn_exec_nd(e, p->dy),
                         .dx = asn_exec_nd(e, p->dx),
                         .param_mask = p->leading};
    if (over_last(e, p->dw, p, &s.n, &dw)) g.dw = &dw;
    if (over_last(e, p->db, p, &s.n, &db)) g.db = &db;
    if (p->dplus >= 0) g.dplus = asn_exec_nd(e, p->dplus);
    if (p->more >= 0) g.more = asn_exec_nd(e, p->more);
    return asn_norm_backward(&s.n, &s.q, &g, tmp);
}

/* ---- planning */

/* The parameter of the first of these names that the operator has; -1: none. */
static int named(const asnd_call *c, const char *a, const char *b) {
    int i = asn_call_param_named(c, a);
    return i < 0 && b != NULL ? asn_call_param_named(c, b) : i;
}

/* Parameter i's operand; -1: it is NULL, or the operator has none. */
static int operand(const asnd_call *c, int i) {
    return i < 0 ? -1 : c->first[i];
}

/* Parameter i, if there is one, is floating and of x's shape. */
static asn_status check_like(const asnd_call *c, int i, const asnd_nd *x) {
    return i < 0 ? ASN_OK : asn_norm_check(c, i, x->ndim, x->shape);
}

/* Parameter i, if there is one, has a value a row: x's leading dimensions when extents of
 * 1 are left out. */
static asn_status check_rows(const asnd_call *c, int i, const asnd_nd *x, int first) {
    const asnd_nd *a = i < 0 ? NULL : asn_call_nd(c, i);
    if (a == NULL) return ASN_OK;
    ASN_TRY(asn_call_floating(c, i));
    int d = 0, k = 0;
    for (;;) {
        while (d < first && x->shape[d] == 1)
            d++;
        while (k < a->ndim && a->shape[k] == 1)
            k++;
        if (d == first || k == a->ndim) break;
        if (x->shape[d++] != a->shape[k++]) {
            d = -1;
            break;
        }
    }
    if (d == first && k == a->ndim) return ASN_OK;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has shape %s; it must be %s, with extents of 1 behind",
        c->op->name, c->op->params[i].name, asn_shape_text(got, a->ndim, a->shape),
        asn_shape_text(want, first, x->shape));
}

/* Addend i, if there is one, is floating and broadcasts to x; an operand that is x's
 * gradient path (`whole`) has its shape. */
static asn_status check_addend(const asnd_call *c, int i, const asnd_nd *x, bool whole) {
    const asnd_nd *a = i < 0 ? NULL : asn_call_nd(c, i);
    if (a == NULL) return ASN_OK;
    bool fits = !whole && asn_nd_broadcasts(a, x->ndim, x->shape);
    return asn_norm_check(c, i, fits ? a->ndim : x->ndim, fits ? a->shape : x->shape);
}

/* gamma has the extents of x's last dimensions, from *first on. */
static asn_status check_gamma(const asnd_call *c, int x, int gamma, int *first) {
    const asnd_nd *a = asn_call_nd(c, x), *g = asn_call_nd(c, gamma);
    char got[ASN_SHAPE_TEXT], of[ASN_SHAPE_TEXT];
    ASN_TRY(asn_norm_check(c, x, a->ndim, a->shape));
    if (g->ndim >= 1 && g->ndim <= a->ndim) {
        *first = a->ndim - g->ndim;
        return asn_norm_check(c, gamma, g->ndim, a->shape + *first);
    }
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: gamma has shape %s; it must have the last dimensions of %s, "
        "of shape %s",
        c->op->name, asn_shape_text(got, g->ndim, g->shape), c->op->params[x].name,
        asn_shape_text(of, a->ndim, a->shape));
}

/* What both directions share: checks of x, its addends, gamma and the statistics, and a
 * plan with these. */
static asn_status plan_sum(asnd_call *c, asnd_body_fn body, double ns, sum_plan **plan) {
    int x = named(c, "x", "x1"), first = 0;
    if (x < 0) x = asn_call_param_named(c, "x1Ref");
    int plus = named(c, "x2", "x2Ref"), bias = asn_call_param_named(c, "biasOptional");
    if (plus < 0) plus = asn_call_param_named(c, "gx");
    int gamma = asn_call_param_named(c, "gamma"), beta = asn_call_param_named(c, "beta");
    int mean = named(c, "mean", "meanOut"), rstd = named(c, "rstd", "rstdOut");
    int alpha = asn_call_param_named(c, "alpha"),
        eps = asn_call_param_named(c, "epsilon");
    ASN_TRY(check_gamma(c, x, gamma, &first));
    const asnd_nd *a = asn_call_nd(c, x);
    ASN_TRY(check_addend(c, plus, a, true));
    ASN_TRY(check_addend(c, bias, a, false));
    if (beta >= 0) ASN_TRY(asn_norm_check(c, beta, a->ndim - first, a->shape + first));
    ASN_TRY(check_rows(c, mean, a, first));
    ASN_TRY(check_rows(c, rstd, a, first));
    *plan = asn_call_plan(c, body, sizeof **plan, 500 + ns * (double)asn_nd_size(a));
    if (*plan == NULL) return ASN_ERR_MEMORY;
    uint64_t leading = (UINT64_C(1) << first) - 1;
    uint64_t all = (UINT64_C(2) << (a->ndim - 1)) - 1;
    **plan = (sum_plan){.head = (*plan)->head,
                        .x = c->first[x],
                        .plus = {operand(c, plus), operand(c, bias)},
                        .gamma = c->first[gamma],
                        .beta = operand(c, beta),
                        .mean = operand(c, mean),
                        .rstd = operand(c, rstd),
                        .rms = mean < 0,
                        .one_more = c->op->arg == 1,
                        .leading = leading,
                        .mask = all & ~leading,
                        .eps = eps < 0 ? 0 : asn_call_double(c, eps),
                        .alpha = alpha < 0 ? 1 : asn_call_double(c, alpha)};
    return ASN_OK;
}

/* RmsNorm(x, gamma, epsilon, yOut, rstdOut), GemmaRmsNorm likewise, AddRmsNorm(x1, x2,
 * gamma, epsilon, yOut, rstdOut, xOut), AddRmsNormCast with y1Out, y2Out for yOut,
 * InplaceAddRmsNorm(x1Ref, x2Ref, gamma, epsilon, rstdOut), AddLayerNorm(x1, x2, gamma,
 * beta, biasOptional, epsilon, additionalOutput, yOut, meanOut, rstdOut, xOut),
 * DeepNorm(x, gx, beta, gamma, alpha, epsilon, meanOut, rstdOut, yOut). In place the sum
 * goes to x2. */
asn_status asn_planner_residual_norm(asnd_call *c) {
    int y = named(c, "yOut", "y2Out"), again = asn_call_param_named(c, "y1Out");
    int sum = named(c, "xOut", "x2Ref"),
        extra = asn_call_param_named(c, "additionalOutput");
    if (y < 0) y = asn_call_param_named(c, "x1Ref");
    if (extra >= 0 && asn_call_int(c, extra) == 0) sum = -1;
    if (sum >= 0 && c->first[sum] < 0 && extra >= 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: xOut is NULL, but additionalOutput is true",
                             c->op->name);
    sum_plan *p = NULL;
    ASN_TRY(plan_sum(c, forward_body, 3, &p));
    const asnd_nd *x = &c->e->operands[p->x].nd;
    ASN_TRY(check_like(c, y, x));
    ASN_TRY(check_like(c, again, x));
    ASN_TRY(check_like(c, sum, x));
    p->y = c->first[y];
    p->again = operand(c, again);
    p->sum = operand(c, sum);
    if (asn_call_operand(c, y)->is_empty) c->e->body = NULL;
    return ASN_OK;
}

/* RmsNormGrad(dy, x, rstd, gamma, dxOut, dgammaOut), AddLayerNormGrad(dy, x1, x2, rstd,
 * mean, gamma, dsumOptional, dxOut, dgammaOut, dbetaOut), DeepNormGrad(dy, x, gx, gamma,
 * mean, rstd, alpha, dxOut, dgxOut, dbetaOut, dgammaOut) */
asn_status asn_planner_residual_norm_grad(asnd_call *c) {
    int more = asn_call_param_named(c, "dsumOptional");
    int dx = asn_call_param_named(c, "dxOut"), dplus = asn_call_param_named(c, "dgxOut");
    int dw = asn_call_param_named(c, "dgammaOut"),
        db = asn_call_param_named(c, "dbetaOut");
    int gamma = asn_call_param_named(c, "gamma");
    sum_plan *p = NULL;
    ASN_TRY(plan_sum(c, backward_body, 5, &p));
    const asnd_nd *x = &c->e->operands[p->x].nd, *g = asn_call_nd(c, gamma);
    ASN_TRY(check_like(c, 0, x));
    ASN_TRY(check_like(c, more, x));
    ASN_TRY(check_like(c, dx, x));
    ASN_TRY(check_like(c, dplus, x));
    ASN_TRY(asn_norm_check(c, dw, g->ndim, g->shape));
    if (db >= 0) ASN_TRY(asn_norm_check(c, db, g->ndim, g->shape));
    p->dy = c->first[0];
    p->more = operand(c, more);
    p->dx = c->first[dx];
    p->dplus = operand(c, dplus);
    p->dw = c->first[dw];
    p->db = operand(c, db);
    return ASN_OK;
}
