/* CPU device, operators: Scale, and Sinkhorn's balancing of a matrix.
 *
 * Scale is one fused pass with the parameters as broadcast views. Sinkhorn is an
 * iteration over a float32 copy: each sweep reads the matrix once, row by row, for both
 * factors. It is serial, so its sums do not depend on the number of threads.
 */
#include <math.h>
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* ---- Scale(x, scale, bias, axis, numAxes, scaleFromBlob, y): x * scale + bias, whose
 * dimensions are x's from `axis` on: numAxes of them (-1: all) with scaleFromBlob, as
 * many as scale has without. An extent of 1 broadcasts. */

/* v: the parameter, whose dimensions are x's from `axis` on, stretched over all of x. A
 * parameter of one element has no dimensions. */
static void scale_view(asnd_view *v, const asnd_nd *a, const asnd_nd *x, int axis) {
    asn_view_set(v, a);
    int behind = asn_nd_size(a) == 1 ? 0 : x->ndim - axis - a->ndim;
    /* One element fits anywhere. */
    while (asn_nd_size(a) == 1 && v->nd.ndim > 0)
        asn_view_drop(v, 0);
    for (int d = 0; d < behind; d++)
        asn_view_insert(v, v->nd.ndim, 1, 0);
    asn_view_broadcast(v, x->ndim, x->shape);
}

/* In float32, rounded once. */
static asn_status scale_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const asnd_packed *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->at[0]);
    asnd_view scale, bias;
    asnd_prog prog;
    asn_prog_begin(&prog, x->ndim, x->shape, 0);
    scale_view(&scale, asn_exec_nd(e, p->at[1]), x, p->axis);
    int y = asn_prog_as(&prog, asn_prog_in(&prog, x), ASN_F32);
    int by = asn_prog_as(&prog, asn_prog_in(&prog, &scale.nd), ASN_F32);
    y = asn_prog_op2(&prog, ASN_OP_MULTIPLY, y, by);
    if (p->at[2] >= 0) {
        scale_view(&bias, asn_exec_nd(e, p->at[2]), x, p->axis);
        int b = asn_prog_as(&prog, asn_prog_in(&prog, &bias.nd), ASN_F32);
        y = asn_prog_op2(&prog, ASN_OP_ADD, y, b);
    }
    asn_prog_out(&prog, y, asn_exec_nd(e, p->at[6]));
    return asn_prog_run(&prog);
}

/* Parameter i, unless NULL or one element, has x's extents, or 1, from `axis` on: `count`
 * of them; -1: as many as it has. */
static asn_status check_scale(const asnd_call *c, int i, int axis, int count) {
    const asnd_nd *a = asn_call_nd(c, i), *x = asn_call_nd(c, 0);
    if (a == NULL || asn_nd_size(a) == 1) return ASN_OK;
    bool fits = count < 0 ? a->ndim <= x->ndim - axis : a->ndim == count;
    for (int d = 0; d < a->ndim && fits; d++)
        fits = a->shape[d] == 1 || a->shape[d] == x->shape[axis + d];
    if (fits) return ASN_OK;
    char got[ASN_SHAPE_TEXT], all[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, which is not %s of x, %s, from dimension "
                         "%d on",
                         c->op->name, c->op->params[i].name,
                         asn_shape_text(got, a->ndim, a->shape),
                         count < 0 ? "that" : "the numAxes dimensions",
                         asn_shape_text(all, x->ndim, x->shape), axis);
}

asn_status asn_planner_scale(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    const uint32_t dtypes = ASN_BIT(ASN_F32) | ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    int axis, count = -1;
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_call_one_of(c, i, dtypes));
    ASN_TRY(asn_call_one_of(c, 6, dtypes));
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 3), x->ndim, &axis));
    int64_t axes = asn_call_int(c, 4);
    if (axes < -1 || axes > x->ndim - axis)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numAxes is %lld; it must be -1 or in [0, %d]",
                             c->op->name, (long long)axes, x->ndim - axis);
    if (asn_call_int(c, 5)) count = axes < 0 ? x->ndim - axis : (int)axes;
    for (int i = 1; i < 3; i++)
        ASN_TRY(check_scale(c, i, axis, count));
    if (c->first[2] >= 0)
        ASN_TRY(
            asn_call_same_shape(c, 2, asn_call_nd(c, 1)->ndim, asn_call_nd(c, 1)->shape));
    ASN_TRY(asn_call_same_shape(c, 6, x->ndim, x->shape));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, scale_body, 200 + (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    return ASN_OK;
}

/* ---- Sinkhorn(cost, tol, p): exp(cost) with rows and columns scaled in turns until the
 * columns' factors move by tol at most, on average */

/* A bound for an iteration that does not converge. */
enum { MOST_SWEEPS = 100000 };

/* An m x n matrix and its factors; sums: of the columns, n of them. */
typedef struct {
    const float *cost; /* its exponential */
    float *rows, *columns;
    double *sums;
    int64_t m, n;
} balance;

/* One sweep: rows = 1 / (m (cost @ columns + eps)), columns likewise; returns how far the
 * columns' factors moved, on average. A row is read for its own factor and at once for
 * the columns' sums, while it is in the cache. */
static double sweep(balance *b) {
    const float eps = 1e-8f;
    memset(b->sums, 0, (size_t)b->n * sizeof *b->sums);
    for (int64_t i = 0; i < b->m; i++) {
        const float *row = b->cost + i * b->n;
        double sum = 0;
        for (int64_t j = 0; j < b->n; j++)
            sum += (double)row[j] * (double)b->columns[j];
        b->rows[i] = 1.0f / ((float)b->m * ((float)sum + eps));
        double factor = (double)b->rows[i];
        for (int64_t j = 0; j < b->n; j++)
            b->sums[j] += factor * (double)row[j];
    }
    double error = 0;
    for (int64_t j = 0; j < b->n; j++) {
        float factor = 1.0f / ((float)b->n * ((float)b->sums[j] + eps));
        error += (double)fabsf(b->columns[j] - factor);
        b->columns[j] = factor;
    }
    return error / (double)b->n;
}

/* An iteration that does not converge within MOST_SWEEPS is an error rather than a result
 * nobody asked for. */
static asn_status sinkhorn_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    int64_t m = in->shape[0], n = in->shape[1];
    double tol = p->kind ? p->arg[1].f : 1e-4, error = INFINITY;
    asnd_view cost;
    asnd_prog prog;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, in->shape, &cost));
    asn_prog_begin(&prog, 2, in->shape, 0);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, in), ASN_F32);
    asn_prog_out(&prog, asn_prog_op1(&prog, ASN_OP_EXP, x), &cost.nd);
    ASN_TRY(asn_prog_run(&prog));
    /* The result is computed in place of exp(cost). */
    float *data = (float *)(void *)cost.nd.data;
    balance b = {data,
                 asn_tmp_alloc(tmp, (size_t)m * sizeof(float)),
                 asn_tmp_alloc(tmp, (size_t)n * sizeof(float)),
                 asn_tmp_alloc(tmp, (size_t)n * sizeof(double)),
                 m,
                 n};
    if (b.rows == NULL || b.columns == NULL || b.sums == NULL) return ASN_ERR_MEMORY;
    for (int64_t j = 0; j < n; j++)
        b.columns[j] = 1;
    int sweeps = 0;
    while (error > tol && sweeps++ < MOST_SWEEPS)
        error = sweep(&b);
    if (error > tol)
        return asn_error_set(
            ASN_ERR_RUNTIME,
            "Sinkhorn: the factors still move by %g after %d sweeps; tol "
            "is %g",
            error, MOST_SWEEPS, tol);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            data[i * n + j] = b.columns[j] * data[i * n + j] * b.rows[i];
    return asn_packed_done(e, p, 2, &cost);
}

/* tol is a scalar, which may be NULL: then it is 1e-4. */
asn_status asn_planner_sinkhorn(asnd_call *c) {
    const asnd_nd *cost = asn_call_nd(c, 0);
    const uint32_t dtypes = ASN_BIT(ASN_F32) | ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    double tol = 1;
    ASN_TRY(asn_call_one_of(c, 0, dtypes));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_same_dtype(c, 2, 0));
    ASN_TRY(asn_call_same_shape(c, 2, 2, cost->shape));
    if (asn_call_scalar(c, 1) != NULL) ASN_TRY(asn_call_number(c, 1, &tol));
    if (!(tol > 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: tol is %g; it must be above 0",
                             c->op->name, tol);
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, sinkhorn_body, 1000 + 40 * (double)asn_nd_size(cost));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = asn_call_scalar(c, 1) != NULL;
    return ASN_OK;
}
