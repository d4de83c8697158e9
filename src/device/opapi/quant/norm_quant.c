/* CPU device, operators: RMSNorm (of a sum) and its quantisation.
 *
 *     s = x1 + x2, or x;  y = s / sqrt(mean(s^2) + epsilon) * gamma + beta
 *     RmsNormQuant                  round(y * scale + offset)
 *     RmsNormQuantV3                the same, or (divMode) y / scale; tells 1 / sqrt(...)
 *     AddRmsNormQuant, V2           round(y / scales + zeroPoints), or times them
 *                                   (divMode false), once or twice; V2 also tells y
 *                                   without beta
 *     AddRmsNormDynamicQuantV2      y times smoothScale, with a scale of each row
 *
 * The normalised dimensions are the last ones, gamma's. Sums are of float32 and not
 * rounded between; xOut is the rounded s.
 */
#include "device/opapi/quant/row_quant.h"

#include <math.h>
#include <string.h>

/* Operands, -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x1, x2, gamma, beta, x_out, norm_out, rstd_out;
    float epsilon;
    int last; /* how many extents a row has */
    int64_t rows, n;
    asnd_row_quant q[2];
} norm_plan;

/* A tensor as floats, row-major; NULL: absent. */
static asn_status floats(aclOpExecutor *e, int operand, asnd_tmp *tmp, const float **v) {
    *v = NULL;
    return operand < 0 ? ASN_OK
                       : asn_packed_data(asn_exec_nd(e, operand), ASN_F32, tmp, v);
}

/* Row-major float32 for an output that is there; NULL for one that is not. */
static asn_status room(aclOpExecutor *e, int operand, asnd_tmp *tmp, asnd_view *v,
                       float **to) {
    *to = NULL;
    if (operand < 0) return ASN_OK;
    const asnd_nd *a = asn_exec_nd(e, operand);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, a->ndim, a->shape, v));
    *to = (float *)(void *)v->nd.data;
    return ASN_OK;
}

/* Squares are summed in float64: a row of thousands of halves would lose digits that
 * decide on a rounding. */
static asn_status norm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    norm_plan p = *(const norm_plan *)plan;
    const float *x1, *x2, *gamma, *beta;
    float *sums, *norms, *told;
    asnd_view sum_view, norm_view, rstd_view;
    ASN_TRY(floats(e, p.x1, tmp, &x1));
    ASN_TRY(floats(e, p.x2, tmp, &x2));
    ASN_TRY(floats(e, p.gamma, tmp, &gamma));
    ASN_TRY(floats(e, p.beta, tmp, &beta));
    ASN_TRY(room(e, p.x_out, tmp, &sum_view, &sums));
    ASN_TRY(room(e, p.norm_out, tmp, &norm_view, &norms));
    ASN_TRY(room(e, p.rstd_out, tmp, &rstd_view, &told));
    float *s = asn_tmp_alloc(tmp, 2 * (size_t)p.n * sizeof *s);
    if (s == NULL) return ASN_ERR_MEMORY;
    float *v = s + p.n;
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_row_quant_begin(e, &p.q[k], p.rows, p.n, tmp));
    for (int64_t i = 0; i < p.rows; i++) {
        double squares = 0;
        for (int64_t j = 0; j < p.n; j++) {
            s[j] = x1[i * p.n + j] + (x2 ? x2[i * p.n + j] : 0);
            squares += (double)s[j] * s[j];
        }
        if (sums) memcpy(sums + i * p.n, s, (size_t)p.n * sizeof *s);
        float rstd = 1 / sqrtf((float)(squares / (double)p.n) + p.epsilon);
        if (told) told[i] = rstd;
        for (int64_t j = 0; j < p.n; j++) {
            s[j] = s[j] * rstd * gamma[j];
            /* Without beta, as the page of V2 has it. */
            if (norms) norms[i * p.n + j] = s[j];
            if (beta) s[j] += beta[j];
        }
        for (int k = 0; k < 2; k++) {
            /* Each output smooths the row by scales of its own. */
            memcpy(v, s, (size_t)p.n * sizeof *s);
            asn_row_quant_put(&p.q[k], i, 0, v, p.n);
        }
    }
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_row_quant_end(e, &p.q[k]));
    if (sums) ASN_TRY(asn_move(asn_exec_nd(e, p.x_out), &sum_view.nd));
    if (told) ASN_TRY(asn_move(asn_exec_nd(e, p.rstd_out), &rstd_view.nd));
    return norms ? asn_move(asn_exec_nd(e, p.norm_out), &norm_view.nd) : ASN_OK;
}

/* gamma's (and beta's) extents are the last of x's, behind any of 1; sets rows and n. */
static asn_status take_shapes(const asnd_call *c, norm_plan *p) {
    const asnd_nd *x = &c->e->operands[p->x1].nd, *g = &c->e->operands[p->gamma].nd;
    int skip = 0;
    while (skip < g->ndim && g->ndim - skip > 1 && g->shape[skip] == 1)
        skip++;
    int last = g->ndim - skip;
    bool fits = last >= 1 && last <= x->ndim;
    for (int d = 0; d < last && fits; d++)
        fits = g->shape[skip + d] == x->shape[x->ndim - last + d];
    p->last = last;
    p->n = asn_nd_size(g);
    if (p->beta >= 0) fits = fits && asn_nd_size(&c->e->operands[p->beta].nd) == p->n;
    char got[ASN_SHAPE_TEXT], over[ASN_SHAPE_TEXT];
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: gamma has shape %s, x %s; gamma and beta have x's last "
                             "extents",
                             c->op->name, asn_shape_text(got, g->ndim, g->shape),
                             asn_shape_text(over, x->ndim, x->shape));
    p->rows = p->n > 0 ? asn_nd_size(x) / p->n : 0;
    return ASN_OK;
}

/* Which outputs there are of AddRmsNormDynamicQuantV2: by outputMask, or the second where
 * both smooth scales are given. */
static asn_status take_mask(const asnd_call *c, bool wanted[2]) {
    int i = asn_call_param_named(c, "outputMaskOptional");
    const asnd_array *mask = asn_call_array(c, i);
    wanted[0] = true;
    wanted[1] = asn_call_operand_named(c, "smoothScale1Optional") >= 0 &&
                asn_call_operand_named(c, "smoothScale2Optional") >= 0;
    if (mask == NULL || mask->size == 0) return ASN_OK;
    const bool *v = mask->data;
    if (mask->size != 2 || !(v[0] || v[1]))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: outputMask has %llu values; it must have two, of which "
                             "one is true",
                             c->op->name, (unsigned long long)mask->size);
    wanted[0] = v[0];
    wanted[1] = v[1];
    return ASN_OK;
}

/* Parameters of the first and second output: scales, zero points, integers, then those
 * of the dynamic form, then RmsNormQuant's. */
static const char *const names[2][7] = {
    {"scales1", "zeroPoints1Optional", "y1Out", "smoothScale1Optional", "scale1Out",
     "scale", "offset"},
    {"scales2Optional", "zeroPoints2Optional", "y2Out", "smoothScale2Optional",
     "scale2Out", "", ""}};

/* Output k's operands, by the operator's parameters. */
static asn_status take_output(const asnd_call *c, norm_plan *p, int k, bool dynamic,
                              bool wanted) {
    asnd_row_quant *q = &p->q[k];
    bool alone = asn_call_param_named(c, "y") >= 0; /* RmsNormQuant */
    int divides = asn_call_param_named(c, "divMode");
    *q = (asnd_row_quant){.y = -1, .scale = -1, .offset = -1, .scale_out = -1};
    q->dynamic = dynamic;
    q->divides = divides >= 0 && asn_call_int(c, divides) != 0;
    if (!wanted || (alone && k == 1)) return ASN_OK;
    q->y = asn_call_operand_named(c, alone ? "y" : names[k][2]);
    q->scale = asn_call_operand_named(c, names[k][dynamic ? 3 : alone ? 5 : 0]);
    q->offset = dynamic ? -1 : asn_call_operand_named(c, names[k][alone ? 6 : 1]);
    if (alone && q->offset < 0) q->offset = asn_call_operand_named(c, "offsetOptional");
    q->scale_out = asn_call_operand_named(c, names[k][4]);
    ASN_TRY(asn_row_quant_factor(c, q->scale, "a scale", p->n, 1));
    ASN_TRY(asn_row_quant_factor(c, q->offset, "an offset", p->n, 1));
    const asnd_nd *x = &c->e->operands[p->x1].nd;
    return asn_row_quant_check(c, q, x->ndim, x->shape);
}

/* RmsNormQuantV3's outputRstd: rstd is float32, with an extent of 1 for each that is
 * normalised; else it stays as it is. */
static asn_status take_rstd(const asnd_call *c, norm_plan *p) {
    int flag = asn_call_param_named(c, "outputRstd"),
        rstd = asn_call_param_named(c, "rstd");
    p->rstd_out = -1;
    if (flag < 0 || asn_call_int(c, flag) == 0) return ASN_OK;
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++)
        shape[d] = d < x->ndim - p->last ? x->shape[d] : 1;
    ASN_TRY(asn_call_one_of(c, rstd, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_same_shape(c, rstd, x->ndim, shape));
    p->rstd_out = c->first[rstd];
    return ASN_OK;
}

/* One planner for five operators, by the names of their parameters: outputMask tells
 * the dynamic one, a single "y" the one without a sum. */
asn_status asn_planner_norm_quant(asnd_call *c) {
    norm_plan p;
    memset(&p, 0, sizeof p);
    bool dynamic = asn_call_param_named(c, "outputMaskOptional") >= 0;
    bool wanted[2] = {true, asn_call_operand_named(c, "scales2Optional") >= 0};
    int x2 = asn_call_param_named(c, "x2"), axis = asn_call_param_named(c, "axis");
    p.x1 = c->first[0];
    p.x2 = x2 < 0 ? -1 : c->first[x2];
    p.gamma = asn_call_operand_named(c, "gamma");
    p.beta = asn_call_operand_named(c, "beta");
    if (p.beta < 0) p.beta = asn_call_operand_named(c, "betaOptional");
    p.x_out = asn_call_operand_named(c, "xOut");
    p.norm_out = asn_call_operand_named(c, "rmsNormOutOptional");
    p.epsilon = (float)asn_call_double(c, asn_call_param_named(c, "epsilon"));
    if (axis >= 0 && asn_call_int(c, axis) != -1)
        return asn_error_set(ASN_ERR_VALUE, "%s: axis is %lld; it must be -1",
                             c->op->name, (long long)asn_call_int(c, axis));
    /* What is computed with must be of floats. */
    const int read[] = {p.x1, p.x2, p.gamma, p.beta, p.x_out, p.norm_out};
    for (size_t k = 0; k < sizeof read / sizeof *read; k++)
        if (read[k] >= 0 && !asn_is_floating(c->e->operands[read[k]].nd.dtype))
            return asn_error_set(ASN_ERR_TYPE,
                                 "%s: x, gamma, beta and xOut must be of floating dtypes",
                                 c->op->name);
    ASN_TRY(take_shapes(c, &p));
    ASN_TRY(take_rstd(c, &p));
    const asnd_nd *x = asn_call_nd(c, 0);
    for (int i = 1; i < c->op->num_params; i++)
        if (c->first[i] >= 0 &&
            (i == x2 || c->first[i] == p.x_out || c->first[i] == p.norm_out))
            ASN_TRY(asn_call_same_shape(c, i, x->ndim, x->shape));
    if (dynamic) ASN_TRY(take_mask(c, wanted));
    if (dynamic && asn_nd_size(&c->e->operands[p.gamma].nd) != x->shape[x->ndim - 1])
        return asn_error_set(ASN_ERR_VALUE, "%s: gamma must have x's last extent",
                             c->op->name);
    for (int k = 0; k < 2; k++)
        ASN_TRY(take_output(c, &p, k, dynamic, wanted[k]));
    if (asn_nd_size(x) == 0) return ASN_OK;
    return asn_call_keep(c, norm_body, &p, sizeof p, 300 + 8 * (double)asn_nd_size(x));
}
