/* CPU device, operators: distances between all rows of two matrices, and their gradient.
 *
 * Cdist(x1, x2, p, computeMode, out): out[..., i, j] is the p-norm of x1[..., i, :] -
 * x2[..., j, :]; dimensions in front broadcast. p 0 counts the differences, infinity
 * takes the largest; PyTorch's NPU backend writes infinity as -1. computeMode chooses
 * between PyTorch's ways to the same result.
 *
 * CdistBackward(grad, x1, x2, cdist, p, out): the gradient by x1, as torch.cdist has it;
 * a distance of 0 has none. The type CdistGrad has the same arguments, all spread to
 * (..., rows of x1, rows of x2, columns), and sums over the rows of x2.
 *
 * x2 is transposed once for each batch, so that the distances of a row of x1 to many rows
 * of x2 are one loop over neighbouring numbers for each column. Halves are computed in
 * float32. The typed loops are in distance.inc.
 *
 * Euclidean distances of many rows in float32 come from a product of the matrices in
 * float64, as |a|^2 + |b|^2 - 2 a.b. Where that is less than NEAR of the squares, digits
 * have cancelled, and the distance is computed directly: the result is as exact as
 * without the product (PyTorch's own product in float32 is not).
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"

/* Rows of x2 that a loop takes at a time. */
enum { BLOCK = 128 };

/* A parallel region over the rows of x1 in all batches. x2 is transposed, (width, n),
 * forwards and as it is backwards. */
typedef struct {
    const void *x1, *x2, *grad, *dist;
    void *out;
    int64_t m, n, width; /* rows of x1, of x2; columns */
    double p;
} distance_work;

#define T       float
#define NAME(x) x##_f32
#define ABS     fabsf
#define POW     powf
#define SQRT    sqrtf
#include "device/opapi/array/distance.inc"
#define T       double
#define NAME(x) x##_f64
#define ABS     fabs
#define POW     pow
#define SQRT    sqrt
#include "device/opapi/array/distance.inc"

/* A matrix parameter in front of which `out`'s batch stands, row-major in the loop's
 * dtype; transposed: with its last two dimensions exchanged. */
static asn_status take_matrix(aclOpExecutor *e, const asnd_packed *p, int i,
                              const asnd_nd *out, bool transposed, asnd_tmp *tmp,
                              const void **data) {
    int64_t shape[ASN_ND_MAX_DIMS];
    asnd_view v, packed;
    asn_view_set(&v, asn_exec_nd(e, p->at[i]));
    memcpy(shape, out->shape, (size_t)out->ndim * sizeof *shape);
    shape[out->ndim - 2] = v.shape[v.nd.ndim - 2];
    shape[out->ndim - 1] = v.shape[v.nd.ndim - 1];
    asn_view_broadcast(&v, out->ndim, shape);
    if (transposed) asn_view_swap_last(&v);
    ASN_TRY(asn_packed_of(&v.nd, p->loop, tmp, &packed));
    *data = packed.nd.data;
    return ASN_OK;
}

/* ---- Euclidean distances by a product */

static const double NEAR = 1e-7;

enum { LEAST_ROWS = 32, ROWS = 512 }; /* rows of a product: at least, at most */

/* A parallel region over rows [first, ...) of x1, of all batches' rows. */
typedef struct {
    const distance_work *direct;
    const double *norm1, *norm2, *dot; /* squares of all rows; dot: of these rows */
    int64_t first;
} product_work;

static void product_row(void *ctx, int64_t i) {
    const product_work *w = ctx;
    const distance_work *d = w->direct;
    int64_t row = w->first + i, n = d->n;
    const double *dot = w->dot + i * n, *square = w->norm2 + row / d->m * n;
    const float *a = (const float *)d->x1 + row * d->width;
    const float *b = (const float *)d->x2 + row / d->m * n * d->width;
    double own = w->norm1[row];
    float *out = (float *)d->out + row * n;
    for (int64_t j = 0; j < n; j++) {
        double s = own + square[j] - 2 * dot[j];
        out[j] = sqrtf((float)(s > 0 ? s : 0));
    }
    for (int64_t j = 0; j < n; j++) {
        double s = own + square[j] - 2 * dot[j];
        if (s >= NEAR * (own + square[j])) continue; /* NaN is not */
        float sum = 0;
        for (int64_t k = 0; k < d->width; k++)
            sum += (a[k] - b[k * n + j]) * (a[k] - b[k * n + j]);
        out[j] = sqrtf(sum);
    }
}

/* The matrices of parameter i in float64, row-major, and the squares of their rows. */
static asn_status take_squares(aclOpExecutor *e, const asnd_packed *p, int i,
                               const asnd_nd *out, asnd_tmp *tmp, const double **values,
                               double **squares) {
    asnd_packed wide = *p;
    const void *data;
    int64_t rows = p->n[0] * p->n[1 + i], width = p->n[3];
    wide.loop = ASN_F64;
    ASN_TRY(take_matrix(e, &wide, i, out, false, tmp, &data));
    *values = data;
    *squares = asn_tmp_alloc(tmp, (size_t)rows * sizeof **squares);
    if (*squares == NULL) return ASN_ERR_MEMORY;
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t k = 0; k < width; k++)
            sum += (*values)[r * width + k] * (*values)[r * width + k];
        (*squares)[r] = sum;
    }
    return ASN_OK;
}

/* ASN_ERR_RUNTIME: there is no library for products on this machine. */
static asn_status by_product(aclOpExecutor *e, const asnd_packed *p,
                             const distance_work *d, const asnd_nd *out, asnd_tmp *tmp) {
    const double *x1, *x2;
    double *norm1, *norm2, *dot;
    int64_t most = d->m < ROWS ? d->m : ROWS;
    ASN_TRY(take_squares(e, p, 0, out, tmp, &x1, &norm1));
    ASN_TRY(take_squares(e, p, 1, out, tmp, &x2, &norm2));
    dot = asn_tmp_alloc(tmp, (size_t)(most * d->n) * sizeof *dot);
    if (dot == NULL) return ASN_ERR_MEMORY;
    for (int64_t batch = 0; batch < p->n[0]; batch++) {
        int64_t shape[2] = {d->n, d->width};
        asnd_view a, b, c;
        asn_view_plain(&b, ASN_F64, 2, shape,
                       (void *)(uintptr_t)(x2 + batch * d->n * d->width));
        asn_view_swap_last(&b);
        for (int64_t at = 0; at < d->m; at += most) {
            int64_t rows = d->m - at < most ? d->m - at : most;
            int64_t left[2] = {rows, d->width}, result[2] = {rows, d->n};
            product_work w = {d, norm1, norm2, dot, batch * d->m + at};
            asn_view_plain(&a, ASN_F64, 2, left,
                           (void *)(uintptr_t)(x1 + w.first * d->width));
            asn_view_plain(&c, ASN_F64, 2, result, dot);
            ASN_TRY(asn_cpu_matmul(&a.nd, &b.nd, &c.nd));
            asn_pool_run(product_row, &w, rows, (double)(rows * d->n));
        }
    }
    return ASN_OK;
}

/* kind 0: the distances, 1: their gradient. n[0..3]: batches, rows, rows, columns. */
static asn_status distance_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    bool backward = p->kind == 1, wide = p->loop == ASN_F64;
    int first = backward ? 1 : 0, to = backward ? 5 : 4;
    const asnd_nd *out = asn_exec_nd(e, p->at[to]);
    asnd_view result;
    distance_work w = {.m = p->n[1], .n = p->n[2], .width = p->n[3]};
    w.p = p->arg[backward ? 4 : 2].f;
    if (w.p == -1) w.p = INFINITY;
    ASN_TRY(take_matrix(e, p, first, out, false, tmp, &w.x1));
    ASN_TRY(take_matrix(e, p, first + 1, out, !backward, tmp, &w.x2));
    if (backward) {
        ASN_TRY(take_matrix(e, p, 0, out, false, tmp, &w.grad));
        ASN_TRY(take_matrix(e, p, 3, out, false, tmp, &w.dist));
    }
    ASN_TRY(asn_packed_out(e, p, to, p->loop, tmp, &result));
    w.out = result.nd.data;
    asnd_pool_fn fn = backward ? (wide ? grad_row_f64 : grad_row_f32)
                               : (wide ? distance_row_f64 : distance_row_f32);
    bool product = !backward && !wide && w.p == 2 && w.m >= LEAST_ROWS &&
                   w.n >= LEAST_ROWS && w.width > 0;
    if (product) {
        asn_status status = by_product(e, p, &w, out, tmp);
        if (status == ASN_OK) return asn_packed_done(e, p, to, &result);
        if (status != ASN_ERR_RUNTIME) return status;
    }
    double cost = w.p == 2 || w.p == 1 || isinf(w.p) ? 0.5 : 20;
    asn_pool_run(fn, &w, p->n[0] * w.m,
                 cost * (double)(p->n[0] * w.m) * (double)(w.n * w.width + 1));
    return asn_packed_done(e, p, to, &result);
}

/* p is a norm's order, or -1. */
static asn_status check_order(const asnd_call *c, int i) {
    double p = asn_call_double(c, i);
    if (p >= 0 || p == -1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: p is %g; it must not be negative, or be -1 for infinity",
                         c->op->name, p);
}

/* Plans for x1 and x2, parameters `first` and the next, and the parameter `to`. */
static asn_status plan_distance(asnd_call *c, int first, int to) {
    const asnd_nd *x1 = asn_call_nd(c, first), *x2 = asn_call_nd(c, first + 1);
    const asnd_nd *out = asn_call_nd(c, to);
    if (asn_call_operand(c, to)->is_empty) return ASN_OK;
    int64_t batches = 1, m = x1->shape[x1->ndim - 2], n = x2->shape[x2->ndim - 2];
    int64_t width = x1->shape[x1->ndim - 1];
    for (int d = 0; d < out->ndim - 2; d++)
        batches *= out->shape[d];
    double work = (double)(batches * m) * (double)(n * width + 1);
    asnd_packed *p = asn_packed_plan(c, distance_body, 500 + 0.5 * work);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = x1->dtype == ASN_F64 || x2->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    p->n[0] = batches;
    p->n[1] = m;
    p->n[2] = n;
    p->n[3] = width;
    return ASN_OK;
}

asn_status asn_planner_cdist(asnd_call *c) {
    const asnd_nd *x1 = asn_call_nd(c, 0), *x2 = asn_call_nd(c, 1);
    int64_t shape[ASN_ND_MAX_DIMS], mode = asn_call_int(c, 3);
    for (int i = 0; i < 5; i += i == 1 ? 3 : 1)
        ASN_TRY(asn_call_floating(c, i));
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_rank(c, 1, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(check_order(c, 2));
    if (mode < 0 || mode > 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: computeMode is %lld; it must be 0, 1 or 2", c->op->name,
                             (long long)mode);
    /* From the last dimension on: the batch broadcasts. */
    int ndim = x1->ndim > x2->ndim ? x1->ndim : x2->ndim;
    bool fits = x1->shape[x1->ndim - 1] == x2->shape[x2->ndim - 1];
    for (int d = 3; d <= ndim && fits; d++) {
        int64_t a = d <= x1->ndim ? x1->shape[x1->ndim - d] : 1;
        int64_t b = d <= x2->ndim ? x2->shape[x2->ndim - d] : 1;
        shape[ndim - d] = a == 1 ? b : a;
        fits = a == b || a == 1 || b == 1;
    }
    if (!fits) {
        char got[ASN_SHAPE_TEXT], other[ASN_SHAPE_TEXT];
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x1 of shape %s does not go with x2 of shape %s",
                             c->op->name, asn_shape_text(got, x1->ndim, x1->shape),
                             asn_shape_text(other, x2->ndim, x2->shape));
    }
    shape[ndim - 2] = x1->shape[x1->ndim - 2];
    shape[ndim - 1] = x2->shape[x2->ndim - 2];
    ASN_TRY(asn_call_same_shape(c, 4, ndim, shape));
    return plan_distance(c, 0, 4);
}

asn_status asn_planner_cdist_backward(asnd_call *c) {
    const asnd_nd *x1 = asn_call_nd(c, 1), *x2 = asn_call_nd(c, 2);
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int i = 0; i < 6; i += i == 3 ? 2 : 1)
        ASN_TRY(asn_call_floating(c, i));
    ASN_TRY(asn_call_rank(c, 1, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_rank(c, 2, x1->ndim, x1->ndim));
    ASN_TRY(check_order(c, 4));
    memcpy(shape, x1->shape, (size_t)x1->ndim * sizeof *shape);
    shape[x1->ndim - 2] = x2->shape[x1->ndim - 2];
    ASN_TRY(asn_call_same_shape(c, 2, x1->ndim, shape));
    shape[x1->ndim - 2] = x1->shape[x1->ndim - 2];
    shape[x1->ndim - 1] = x2->shape[x1->ndim - 2];
    ASN_TRY(asn_call_same_shape(c, 0, x1->ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 3, x1->ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 5, x1->ndim, x1->shape));
    return plan_distance(c, 1, 5);
}

/* CdistGrad. n[1..3]: rows, lines of one, columns. */
static asn_status slopes_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    distance_work w = {.m = p->n[1], .n = p->n[2], .width = p->n[3], .p = p->arg[4].f};
    const void **inputs[] = {&w.grad, &w.x1, &w.x2, &w.dist};
    asnd_view result;
    if (w.p == -1) w.p = INFINITY;
    for (int i = 0; i < 4; i++)
        ASN_TRY(
            asn_packed_data(asn_exec_nd(e, p->at[i]), p->loop, tmp, (void *)inputs[i]));
    ASN_TRY(asn_packed_out(e, p, 5, p->loop, tmp, &result));
    w.out = result.nd.data;
    asn_pool_run(p->loop == ASN_F64 ? slopes_row_f64 : slopes_row_f32, &w, w.m,
                 8 * (double)w.m * (double)(w.n * w.width + 1));
    return asn_packed_done(e, p, 5, &result);
}

asn_status asn_planner_cdist_grad(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS], rows = 1;
    asn_dtype loop = ASN_F32;
    for (int i = 0; i < 6; i += i == 3 ? 2 : 1) {
        ASN_TRY(asn_call_floating(c, i));
        if (asn_call_nd(c, i)->dtype == ASN_F64) loop = ASN_F64;
    }
    ASN_TRY(asn_call_rank(c, 0, 3, ASN_ND_MAX_DIMS));
    ASN_TRY(check_order(c, 4));
    const int ndim = grad->ndim;
    for (int i = 1; i < 4; i++)
        ASN_TRY(asn_call_same_shape(c, i, ndim, grad->shape));
    memcpy(shape, grad->shape, (size_t)(ndim - 2) * sizeof *shape);
    shape[ndim - 2] = grad->shape[ndim - 1];
    ASN_TRY(asn_call_same_shape(c, 5, ndim - 1, shape));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    for (int d = 0; d < ndim - 2; d++)
        rows *= shape[d];
    const double all = (double)asn_nd_size(grad);
    asnd_packed *p = asn_packed_plan(c, slopes_body, 500 + 8 * all);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = loop;
    p->n[1] = rows;
    p->n[2] = grad->shape[ndim - 2];
    p->n[3] = grad->shape[ndim - 1];
    return ASN_OK;
}
