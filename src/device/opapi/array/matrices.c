/* CPU device, operators: LinalgQr, LinalgCross, TriangularSolve, Pdist, and sums of
 * groups of rows.
 *
 * Small operators with a body each, over packed copies (packed.h) or views. QR is the
 * linear algebra kernel's; a cross product three fused passes, one for each component,
 * into a temporary, so that out may be an operand.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* ---- LinalgQr(self, mode, Q, R): mode 0 reduced, 1 complete, 2 R alone (Q is not
 * written) */

/* Through temporaries of the loop's dtype, which may be wider than the outputs'. */
static asn_status qr_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    bool only_r = p->arg[1].i == 2;
    asnd_view views[3];
    asnd_nd nd[3];
    int count = 0;
    int64_t failed;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    ASN_TRY(asn_tmp_as(tmp, in, p->loop, &views[count++]));
    /* Parameters 2 and 3 are Q and R; the kernel for R alone has one output. */
    for (int i = only_r ? 3 : 2; i < 4; i++)
        ASN_TRY(asn_packed_out(e, p, i, p->loop, tmp, &views[count++]));
    for (int i = 0; i < count; i++)
        nd[i] = views[i].nd;
    ASN_TRY(asn_cpu_linalg(only_r ? ASN_LINALG_QR_R : ASN_LINALG_QR, NULL, in->ndim - 2,
                           count, nd, &failed));
    for (int i = 1; i < count; i++)
        ASN_TRY(asn_packed_done(e, p, i + (only_r ? 2 : 1), &views[i]));
    return ASN_OK;
}

/* With k = min(m, n): Q is (m, k) and R (k, n), in the complete mode (m, m) and (m,
 * n). */
asn_status asn_planner_linalg_qr(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t mode = asn_call_int(c, 1), shape[ASN_ND_MAX_DIMS];
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    if (!asn_is_inexact(self->dtype) || mode < 0 || mode > 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: mode is %lld, dtype %s; modes are 0 (reduced), 1 "
                             "(complete), 2 (R), dtypes floating or complex",
                             c->op->name, (long long)mode, asn_dtype_name(self->dtype));
    int n = self->ndim;
    int64_t rows = self->shape[n - 2], columns = self->shape[n - 1];
    int64_t p = mode == 1 || rows < columns ? rows : columns;
    memcpy(shape, self->shape, (size_t)n * sizeof *shape);
    shape[n - 2] = p;
    ASN_TRY(asn_call_same_shape(c, 3, n, shape));
    shape[n - 2] = rows;
    shape[n - 1] = p;
    if (mode != 2) ASN_TRY(asn_call_same_shape(c, 2, n, shape));
    for (int i = 2; i < 4; i++)
        ASN_TRY(asn_call_same_dtype(c, i, 0));
    /* A complete Q of an empty matrix is the identity, which is to be written. */
    if (asn_call_operand(c, 0)->is_empty && asn_call_operand(c, 3)->is_empty &&
        (mode == 2 || asn_call_operand(c, 2)->is_empty))
        return ASN_OK;
    asnd_packed *plan = asn_packed_plan(
        c, qr_body, 1000 + (double)asn_nd_size(self) * ((double)columns + 10));
    if (plan == NULL) return ASN_ERR_MEMORY;
    plan->loop = asn_is_half(self->dtype) ? ASN_F32 : self->dtype;
    return ASN_OK;
}

/* ---- LinalgCross(self, other, dim, out) */

/* Component k is self[k + 1] * other[k + 2] - self[k + 2] * other[k + 1], indices modulo
 * 3: four slices of the operands and one of the result. */
static asn_status cross_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[3]);
    asnd_view out, v[2], part[2][3], result;
    ASN_TRY(asn_packed_out(e, p, 3, p->loop, tmp, &out));
    for (int i = 0; i < 2; i++) {
        asn_view_set(&v[i], asn_exec_nd(e, p->at[i]));
        asn_view_broadcast(&v[i], to->ndim, to->shape);
        for (int k = 0; k < 3; k++) {
            asn_view_set(&part[i][k], &v[i].nd);
            asn_view_slice(&part[i][k], p->axis, k, 1, 1);
        }
    }
    for (int k = 0; k < 3; k++) {
        asnd_prog prog;
        int x[4], next = (k + 1) % 3, last = (k + 2) % 3;
        asn_view_set(&result, &out.nd);
        asn_view_slice(&result, p->axis, k, 1, 1);
        asn_prog_begin(&prog, result.nd.ndim, result.shape, 0);
        const asnd_nd *from[4] = {&part[0][next].nd, &part[1][last].nd, &part[0][last].nd,
                                  &part[1][next].nd};
        for (int i = 0; i < 4; i++)
            x[i] = asn_prog_as(&prog, asn_prog_in(&prog, from[i]), p->loop);
        int first = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x[0], x[1]);
        int second = asn_prog_op2(&prog, ASN_OP_MULTIPLY, x[2], x[3]);
        asn_prog_out(&prog, asn_prog_op2(&prog, ASN_OP_SUBTRACT, first, second),
                     &result.nd);
        ASN_TRY(asn_prog_run(&prog));
    }
    return asn_packed_done(e, p, 3, &out);
}

/* Operands have the output's rank and broadcast to it, with extent 3 along dim. */
asn_status asn_planner_cross(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *other = asn_call_nd(c, 1),
                  *out = asn_call_nd(c, 3);
    int axis = 0;
    ASN_TRY(asn_call_rank(c, 3, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), out->ndim, &axis));
    for (int i = 0; i < 2; i++) {
        const asnd_nd *a = asn_call_nd(c, i);
        if (a->ndim != out->ndim || !asn_nd_broadcasts(a, out->ndim, out->shape))
            return asn_call_same_shape(c, i, out->ndim, out->shape);
        if (a->shape[axis] != 3)
            return asn_error_set(
                ASN_ERR_VALUE, "%s: %s has extent %lld along dim; it must be 3",
                c->op->name, c->op->params[i].name, (long long)a->shape[axis]);
    }
    /* The output is as large as the larger of both: it must not stretch them itself. */
    for (int d = 0; d < out->ndim; d++) {
        int64_t wide = self->shape[d] == 1 ? other->shape[d] : self->shape[d];
        if (out->shape[d] != wide)
            return asn_error_set(ASN_ERR_VALUE, "%s: out has extent %lld, not %lld",
                                 c->op->name, (long long)out->shape[d], (long long)wide);
    }
    asn_dtype t = (asn_dtype)asn_promote_tensors[self->dtype][other->dtype];
    if (t == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no bool", c->op->name);
    ASN_TRY(asn_call_convertible(c, t, 3));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, cross_body, 500 + 2 * (double)asn_nd_size(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = asn_is_half(t) ? ASN_F32 : t;
    p->axis = axis;
    return ASN_OK;
}

/* ---- TriangularSolve(self, A, upper, transpose, unitriangular, xOut, mOut): A x = self,
 * in float64 or complex128; mOut is a copy of A */

typedef double _Complex c128;

/* Solves for r right-hand sides, x (n, r) in place. By substitution, row by row over all
 * right-hand sides; a transposed matrix is read the other way round. The triangle that
 * the matrix lacks is not read, and neither is the diagonal of a unitriangular one. */
static void solve_one(const c128 *a, c128 *x, int64_t n, int64_t r,
                      const asnd_packed *p) {
    bool upper = p->arg[2].i != 0, trans = p->arg[3].i != 0;
    bool backward = upper != trans;
    /* Elements from one column, and one row, of the matrix to the next. */
    int64_t across = trans ? n : 1, down = trans ? 1 : n;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = backward ? n - 1 - step : step;
        int64_t first = backward ? i + 1 : 0, end = backward ? n : i;
        for (int64_t k = first; k < end; k++)
            for (int64_t j = 0; j < r; j++)
                x[i * r + j] -= a[i * down + k * across] * x[k * r + j];
        for (int64_t j = 0; j < r && !p->arg[4].i; j++)
            x[i * r + j] /= a[i * n + i];
    }
}

/* Both operands are broadcast over their common batch in packed copies, of complex128 for
 * all dtypes: one loop serves them. */
static asn_status triangular_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[5]), *copy = asn_exec_nd(e, p->at[6]);
    asnd_view a, x, wide;
    asn_view_set(&wide, asn_exec_nd(e, p->at[1]));
    asn_view_broadcast(&wide, copy->ndim, copy->shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_C128, copy->ndim, copy->shape, &a));
    ASN_TRY(asn_move(&a.nd, &wide.nd));
    asn_view_set(&wide, asn_exec_nd(e, p->at[0]));
    asn_view_broadcast(&wide, to->ndim, to->shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_C128, to->ndim, to->shape, &x));
    ASN_TRY(asn_move(&x.nd, &wide.nd));
    int64_t n = to->shape[to->ndim - 2], r = to->shape[to->ndim - 1];
    int64_t count = n * r > 0 ? asn_nd_size(to) / (n * r) : 0;
    for (int64_t i = 0; i < count; i++)
        solve_one((c128 *)(void *)a.nd.data + i * n * n,
                  (c128 *)(void *)x.nd.data + i * n * r, n, r, p);
    ASN_TRY(asn_packed_done(e, p, 6, &a));
    return asn_packed_done(e, p, 5, &x);
}

/* The batches broadcast by NumPy's rule; xOut and mOut have the common batch. */
asn_status asn_planner_triangular_solve(asnd_call *c) {
    const asnd_nd *b = asn_call_nd(c, 0), *a = asn_call_nd(c, 1);
    uint32_t dtypes =
        ASN_BIT(ASN_F32) | ASN_BIT(ASN_F64) | ASN_BIT(ASN_C64) | ASN_BIT(ASN_C128);
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_rank(c, i, 2, ASN_ND_MAX_DIMS));
        ASN_TRY(asn_call_one_of(c, i, dtypes));
    }
    ASN_TRY(asn_call_same_dtype(c, 1, 0));
    int nb = b->ndim, na = a->ndim, most = na > nb ? na : nb;
    int64_t n = a->shape[na - 1], shape[ASN_ND_MAX_DIMS];
    bool fits = a->shape[na - 2] == n && b->shape[nb - 2] == n;
    for (int d = 0; d < most - 2 && fits; d++) {
        int da = d - (most - na), db = d - (most - nb);
        int64_t x = da < 0 ? 1 : a->shape[da], y = db < 0 ? 1 : b->shape[db];
        fits = x == y || x == 1 || y == 1;
        shape[d] = x == 1 ? y : x;
    }
    if (!fits) {
        char left[ASN_SHAPE_TEXT], right[ASN_SHAPE_TEXT];
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: A has shape %s, self %s; A must be square, with as many "
            "rows as self",
            c->op->name, asn_shape_text(left, na, a->shape),
            asn_shape_text(right, nb, b->shape));
    }
    shape[most - 2] = n;
    shape[most - 1] = b->shape[nb - 1];
    ASN_TRY(asn_call_same_shape(c, 5, most, shape));
    shape[most - 1] = n;
    ASN_TRY(asn_call_same_shape(c, 6, most, shape));
    for (int i = 5; i < 7; i++)
        ASN_TRY(asn_call_same_dtype(c, i, 0));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    return asn_packed_plan(c, triangular_body,
                           500 + 2 * (double)n * (double)asn_nd_size(asn_call_nd(c, 5)))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- Pdist(self, p, out), PdistForward: distances of all pairs of rows, in float64 */

/* The Minkowski distance of order p of two rows of n. p INFINITY is the largest
 * difference (NaN counts), 0 the number of differences. */
static double distance(const double *a, const double *b, int64_t n, double p) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        double d = fabs(a[k] - b[k]);
        if (isinf(p)) {
            sum = d > sum || isnan(d) ? d : sum;
        } else {
            sum += p == 2 ? d * d : p == 1 ? d : p == 0 ? d != 0 : pow(d, p);
        }
    }
    return isinf(p) || p == 0 || p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/* Pairs (i, j) with i < j, in order of i, then j, as scipy's pdist. */
static asn_status pdist_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view x, out;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F64, tmp, &x));
    ASN_TRY(asn_packed_out(e, p, 2, ASN_F64, tmp, &out));
    const double *rows = (const double *)(void *)x.nd.data;
    double *to = (double *)(void *)out.nd.data;
    int64_t n = x.shape[0], width = x.shape[1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            *to++ = distance(rows + i * width, rows + j * width, width, p->arg[1].f);
    return asn_packed_done(e, p, 2, &out);
}

/* p is a scalar of the one operator and a number of the other. */
asn_status asn_planner_pdist(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    double order = asn_call_double(c, 1);
    if (c->op->params[1].kind == ASN_SCALAR) ASN_TRY(asn_call_number(c, 1, &order));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 2));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    if (!(order >= 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: p is %g; it must not be negative",
                             c->op->name, order);
    int64_t n = self->shape[0], pairs = n * (n - 1) / 2;
    ASN_TRY(asn_call_same_shape(c, 2, 1, &pairs));
    if (pairs == 0) return ASN_OK;
    return asn_packed_plan(c, pdist_body,
                           300 + 2 * (double)pairs * (double)self->shape[1])
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- GroupedBiasAddGrad(gradY, groupIdx, out), V2 with groupIdxType before out: sums of
 * the rows of a group; type 0: where groups end, 1: how long they are; without groups the
 * middle of three dimensions is summed */

/* n[0]: rows; n[1]: rows of each group where there are no groups; n[2]: the type. Sums
 * are made in float64. */
static asn_status bias_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view x, ends, out;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F64, tmp, &x));
    ASN_TRY(asn_packed_out(e, p, p->axis, ASN_F64, tmp, &out));
    const int64_t *end = NULL;
    if (p->at[1] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 1, ASN_I64, tmp, &ends));
        end = (const int64_t *)(void *)ends.nd.data;
    }
    int64_t groups = out.shape[0], width = out.shape[1], row = 0;
    const double *from = (const double *)(void *)x.nd.data;
    double *sum = (double *)(void *)out.nd.data;
    memset(sum, 0, (size_t)(groups * width) * sizeof *sum);
    for (int64_t g = 0; g < groups; g++) {
        /* The row at which group g ends; groups follow each other without gaps. */
        int64_t stop = end == NULL ? row + p->n[1] : p->n[2] ? row + end[g] : end[g];
        if (stop < row || stop > p->n[0])
            return asn_error_set(ASN_ERR_INDEX, "group %lld ends at row %lld of %lld",
                                 (long long)g, (long long)stop, (long long)p->n[0]);
        for (; row < stop; row++)
            for (int64_t k = 0; k < width; k++)
                sum[g * width + k] += from[row * width + k];
    }
    return asn_packed_done(e, p, p->axis, &out);
}

/* p->axis keeps the output's place, which differs between the versions. */
asn_status asn_planner_bias_grad(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0), *groups = asn_call_nd(c, 1);
    int out = c->op->num_params - 1;
    int64_t type = out == 3 ? asn_call_int(c, 2) : 0;
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, out));
    ASN_TRY(asn_call_rank(c, 0, groups ? 2 : 3, groups ? 2 : 3));
    if (type != 0 && type != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: groupIdxType is %lld; it must be 0 or 1",
                             c->op->name, (long long)type);
    if (groups != NULL) {
        ASN_TRY(asn_call_rank(c, 1, 1, 1));
        ASN_TRY(asn_index_dtype(c, 1, groups));
    }
    int64_t shape[2] = {groups ? groups->shape[0] : grad->shape[0],
                        grad->shape[grad->ndim - 1]};
    ASN_TRY(asn_call_same_shape(c, out, 2, shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, bias_grad_body, 300 + (double)asn_nd_size(grad));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = out;
    p->n[0] = groups ? grad->shape[0] : grad->shape[0] * grad->shape[1];
    p->n[1] = groups ? 0 : grad->shape[1];
    p->n[2] = type;
    return ASN_OK;
}
