/* CPU device, operators: products with something before or behind them.
 *
 * TransposeBatchMatMul: y = permY(permX1(x1) @ permX2(x2)) of three dimensions; with a
 * split factor f the result (m, batch, n) is laid out as (f, m, batch / f * n).
 * FusedMatmul: y = OP(x1 @ x2 + bias, x3), OP by its name: the row's expressions, in
 * which x1 stands for the sum. TransformBiasRescaleQkv: qkv (b, t, 3 d) plus its bias,
 * cut in three and into heads, (b, heads, t, d / heads); queries are divided by the root
 * of d / heads.
 *
 * Products are the device's (cpu/gemm), permutations are views. FusedMatmul keeps its sum
 * in float32 (float64 for float64), so that halves are rounded once.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/formula.h"
#include "device/opapi/core/packed.h"

/* ---- TransposeBatchMatMul */

typedef struct {
    asnd_plan_head head;
    int a, b, out, perm[3][3]; /* of x1, x2, y */
    int64_t split;             /* batchSplitFactor */
    asn_dtype loop;
} transposed_plan;

/* The output as (batch, m, n), or, split, as (f, batch / f, m, n). */
static void stand_out(const transposed_plan *p, const asnd_nd *out, int64_t batch,
                      asnd_view *v) {
    int axes[3];
    asn_view_set(v, out);
    if (p->split > 1) {
        int64_t n = out->shape[2] / (batch / p->split), stride = out->strides[2];
        v->shape[2] = n;
        asn_view_insert(v, 1, batch / p->split, stride * n);
        return;
    }
    for (int d = 0; d < 3; d++)
        axes[p->perm[2][d]] = d;
    asn_view_permute(v, axes);
}

/* Straight into the output where its dtype is the product's and no input lies in it. */
static asn_status transposed_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const transposed_plan *p = plan;
    const asnd_nd *in[2] = {asn_exec_nd(e, p->a), asn_exec_nd(e, p->b)};
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view v[2], to, result;
    for (int k = 0; k < 2; k++) {
        ASN_TRY(asn_tmp_as(tmp, in[k], p->loop, &v[k]));
        asn_view_permute(&v[k], p->perm[k]);
    }
    int64_t batch = v[0].shape[0];
    stand_out(p, out, batch, &to);
    for (int k = 0; k < 2 && p->split > 1; k++) {
        v[k].shape[0] = batch / p->split;
        asn_view_insert(&v[k], 0, p->split, v[k].strides[0] * (batch / p->split));
    }
    bool direct =
        out->dtype == p->loop && !asn_nds_meet(out, in[0]) && !asn_nds_meet(out, in[1]);
    if (direct) return asn_cpu_matmul(&v[0].nd, &v[1].nd, &to.nd);
    ASN_TRY(asn_tmp_view(tmp, p->loop, to.nd.ndim, to.shape, &result));
    ASN_TRY(asn_cpu_matmul(&v[0].nd, &v[1].nd, &result.nd));
    return asn_move(&to.nd, &result.nd);
}

/* Parameter i: an order of three dimensions; NULL: as they are. */
static asn_status order_of(const asnd_call *c, int i, int perm[3]) {
    const asnd_array *a = asn_call_array(c, i);
    int seen = 0;
    for (int d = 0; d < 3; d++)
        perm[d] = d;
    if (a == NULL) return ASN_OK;
    for (uint64_t d = 0; d < 3 && a->size == 3; d++) {
        int64_t axis = ((const int64_t *)a->data)[d];
        if (axis < 0 || axis > 2) break;
        perm[d] = (int)axis;
        seen |= 1 << axis;
    }
    if (seen == 7) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s must be an order of the dimensions 0, 1, 2", c->op->name,
                         c->op->params[i].name);
}

/* TransposeBatchMatMul(x1, x2, bias, scale, permX1, permX2, permY, cubeMathType,
 * batchSplitFactor, out). bias is reserved by CANN; a scale would quantise to int8 in the
 * NPU's own format of scales. */
asn_status asn_planner_transposed_matmul(asnd_call *c) {
    transposed_plan q;
    memset(&q, 0, sizeof q);
    for (int i = 2; i < 4; i++)
        if (c->first[i] >= 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s must be NULL", c->op->name,
                                 c->op->params[i].name);
    for (int k = 0; k < 3; k++)
        ASN_TRY(order_of(c, 4 + k, q.perm[k]));
    int64_t x[2][3];
    for (int k = 0; k < 2; k++) {
        ASN_TRY(asn_call_rank(c, k, 3, 3));
        for (int d = 0; d < 3; d++)
            x[k][d] = asn_call_nd(c, k)->shape[q.perm[k][d]];
    }
    if (x[0][0] != x[1][0] || x[0][2] != x[1][1]) {
        char left[ASN_SHAPE_TEXT], right[ASN_SHAPE_TEXT];
        return asn_error_set(
            ASN_ERR_VALUE, "%s: permuted shapes %s and %s do not multiply", c->op->name,
            asn_shape_text(left, 3, x[0]), asn_shape_text(right, 3, x[1]));
    }
    q.split = asn_call_int(c, 8) > 1 ? asn_call_int(c, 8) : 1;
    if (x[0][0] % q.split != 0)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: batchSplitFactor is %lld; it must divide the batch, %lld",
            c->op->name, (long long)q.split, (long long)x[0][0]);
    const int64_t product[3] = {x[0][0], x[0][1], x[1][2]};
    int64_t shape[3] = {q.split, product[1], product[0] / q.split * product[2]};
    for (int d = 0; d < 3 && q.split == 1; d++)
        shape[d] = product[q.perm[2][d]];
    ASN_TRY(asn_call_same_shape(c, 9, 3, shape));
    q.loop = (asn_dtype)
        asn_promote_tensors[asn_call_nd(c, 0)->dtype][asn_call_nd(c, 1)->dtype];
    ASN_TRY(asn_call_convertible(c, q.loop, 9));
    if (asn_call_operand(c, 9)->is_empty) return ASN_OK;
    double work = (double)asn_nd_size(asn_call_nd(c, 9)) * (double)x[0][2] / 10;
    q.a = c->first[0];
    q.b = c->first[1];
    q.out = c->first[9];
    return asn_call_keep(c, transposed_body, &q, sizeof q, 300 + work);
}

/* ---- FusedMatmul */

typedef struct {
    asnd_plan_head head;
    const asnd_ew *ew; /* NULL: nothing behind the sum */
    int at[5];         /* x1, x2, bias, x3, y; -1: absent */
    asn_dtype loop;
} fused_plan;

/* The sum, then one program: bias, operation, rounding. */
static asn_status fused_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const fused_plan *q = plan;
    const asnd_nd *out = asn_exec_nd(e, q->at[4]);
    int64_t shape[ASN_ND_MAX_DIMS];
    asnd_view x[2], sum, more[2];
    memcpy(shape, out->shape, (size_t)out->ndim * sizeof *shape);
    for (int k = 0; k < 2; k++) {
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, q->at[k]), q->loop, &x[k]));
        for (int d = 1; d < 3; d++)
            shape[out->ndim - d] = x[k].shape[x[k].nd.ndim - d];
        asn_view_broadcast(&x[k], out->ndim, shape);
    }
    ASN_TRY(asn_tmp_view(tmp, q->loop, out->ndim, out->shape, &sum));
    ASN_TRY(asn_cpu_matmul(&x[0].nd, &x[1].nd, &sum.nd));
    asnd_prog p;
    int values[ASN_FEW_PARAMS] = {0};
    asn_prog_begin(&p, out->ndim, out->shape, 0);
    values[0] = asn_prog_in(&p, &sum.nd);
    for (int k = 0; k < 2; k++) { /* bias, x3 */
        if (q->at[2 + k] < 0) continue;
        asn_view_set(&more[k], asn_exec_nd(e, q->at[2 + k]));
        asn_view_broadcast(&more[k], out->ndim, out->shape);
        values[2 + k] = asn_prog_as(&p, asn_prog_in(&p, &more[k].nd), q->loop);
    }
    if (q->at[2] >= 0) values[0] = asn_prog_op2(&p, ASN_OP_ADD, values[0], values[2]);
    if (q->ew) values[0] = asn_formula_emit(&p, q->ew, values, q->loop);
    asn_prog_out(&p, values[0], out);
    return asn_prog_run(&p);
}

/* y's shape: the batches of x1 and x2, broadcast, then m and n. */
static asn_status product_shape(const asnd_call *c, int *ndim, int64_t *shape) {
    const asnd_nd *x[2] = {asn_call_nd(c, 0), asn_call_nd(c, 1)};
    int most = x[0]->ndim > x[1]->ndim ? x[0]->ndim : x[1]->ndim;
    bool fits = x[0]->shape[x[0]->ndim - 1] == x[1]->shape[x[1]->ndim - 2];
    *ndim = most;
    for (int d = 0; d < most - 2; d++) {
        shape[d] = 1;
        for (int k = 0; k < 2; k++) {
            int at = d - (most - x[k]->ndim);
            if (at < 0 || x[k]->shape[at] == 1) continue;
            fits = fits && (shape[d] == 1 || shape[d] == x[k]->shape[at]);
            shape[d] = x[k]->shape[at];
        }
    }
    shape[most - 2] = x[0]->shape[x[0]->ndim - 2];
    shape[most - 1] = x[1]->shape[x[1]->ndim - 1];
    if (fits) return ASN_OK;
    char left[ASN_SHAPE_TEXT], right[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE, "%s: shapes %s and %s do not multiply",
                         c->op->name, asn_shape_text(left, x[0]->ndim, x[0]->shape),
                         asn_shape_text(right, x[1]->ndim, x[1]->shape));
}

/* FusedMatmul(x1, x2, bias, x3, fusedOpType, cubeMathType, y) */
asn_status asn_planner_fused_matmul(asnd_call *c) {
    static const char *const names[] = {"relu",     "add",       "mul",
                                        "gelu_erf", "gelu_tanh", ""};
    enum { PLAIN = 5 };
    const char *name = c->args[4].p;
    int kind = 0, ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    while (kind < PLAIN && strcmp(name, names[kind]) != 0)
        kind++;
    if (kind == PLAIN && name[0] != 0)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: fusedOpType is \"%s\"; it must be empty, relu, add, mul, "
            "gelu_erf or gelu_tanh",
            c->op->name, name);
    bool wants = kind == 1 || kind == 2;
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_call_rank(c, k, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(product_shape(c, &ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 6, ndim, shape));
    if (wants != (c->first[3] >= 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: x3 is %s, but fusedOpType is \"%s\"",
                             c->op->name, wants ? "NULL" : "there", name);
    for (int i = 0; i < 7; i++) {
        if (i == 4 || i == 5) continue;
        ASN_TRY(asn_call_floating(c, i));
        if ((i == 2 || i == 3) && c->first[i] >= 0 &&
            !asn_nd_broadcasts(asn_call_nd(c, i), ndim, shape))
            return asn_call_same_shape(c, i, ndim, shape);
    }
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    const asnd_nd *x = asn_call_nd(c, 0);
    double depth = (double)x->shape[x->ndim - 1];
    fused_plan *p =
        asn_call_plan(c, fused_body, sizeof *p,
                      500 + (double)asn_nd_size(asn_call_nd(c, 6)) * (2 + depth / 10));
    if (p == NULL) return ASN_ERR_MEMORY;
    static const int order[] = {0, 1, 2, 3, 6};
    for (int k = 0; k < 5; k++)
        p->at[k] = c->first[order[k]];
    p->ew = kind == PLAIN ? NULL : (const asnd_ew *)c->op->detail + kind;
    p->loop =
        x->dtype == ASN_F64 || asn_call_nd(c, 1)->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    return ASN_OK;
}

/* ---- TransformBiasRescaleQkv */

typedef struct {
    asnd_plan_head head;
    int64_t heads;
} qkv_plan;

/* Views cut the heads; each of the three is one pass. */
static asn_status qkv_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const qkv_plan *q = plan;
    const asnd_nd *qkv = asn_exec_nd(e, 0), *bias = asn_exec_nd(e, 1);
    int64_t width = qkv->shape[2] / 3, each = width / q->heads;
    asn_dtype t = asn_wide_dtype(qkv->dtype);
    for (int part = 0; part < 3; part++) {
        const asnd_nd *out = asn_exec_nd(e, 2 + part);
        asnd_view x, b;
        asnd_prog p;
        /* (b, t, heads, each) as (b, heads, t, each) */
        asn_view_set(&x, qkv);
        asn_view_slice(&x, 2, part * width, width, 1);
        x.shape[2] = each;
        asn_view_insert(&x, 2, q->heads, qkv->strides[2] * each);
        asn_view_permute(&x, (int[]){0, 2, 1, 3});
        asn_view_set(&b, bias);
        asn_view_slice(&b, 0, part * width, width, 1);
        b.shape[0] = each;
        asn_view_insert(&b, 0, q->heads, bias->strides[0] * each);
        asn_view_insert(&b, 1, 1, 0);
        asn_view_broadcast(&b, 4, out->shape);
        asn_prog_begin(&p, 4, out->shape, 0);
        int sum = asn_prog_op2(&p, ASN_OP_ADD, asn_prog_as(&p, asn_prog_in(&p, &x.nd), t),
                               asn_prog_as(&p, asn_prog_in(&p, &b.nd), t));
        if (part == 0)
            sum = asn_prog_op2(&p, ASN_OP_MULTIPLY, sum,
                               asn_prog_const(&p, t, 1 / sqrt((double)each)));
        asn_prog_out(&p, sum, out);
        ASN_TRY(asn_prog_run(&p));
    }
    return ASN_OK;
}

/* TransformBiasRescaleQkv(qkv, qkvBias, numHeads, q, k, v) */
asn_status asn_planner_qkv(asnd_call *c) {
    const asnd_nd *qkv = asn_call_nd(c, 0);
    int64_t heads = asn_call_int(c, 2);
    ASN_TRY(asn_call_rank(c, 0, 3, 3));
    ASN_TRY(asn_call_same_shape(c, 1, 1, qkv->shape + 2));
    if (heads < 1 || qkv->shape[2] % 3 != 0 || qkv->shape[2] / 3 % heads != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numHeads is %lld; it must divide a third of qkv's last "
                             "extent, %lld",
                             c->op->name, (long long)heads, (long long)qkv->shape[2]);
    int64_t shape[4] = {qkv->shape[0], heads, qkv->shape[1], qkv->shape[2] / 3 / heads};
    ASN_TRY(asn_call_floating(c, 0));
    for (int i = 1; i < 6; i++) {
        if (i == 2) continue;
        ASN_TRY(asn_call_same_dtype(c, 0, i));
        if (i > 2) ASN_TRY(asn_call_same_shape(c, i, 4, shape));
    }
    for (int i = 3; i < 6; i++) /* outputs are written one after the other */
        for (int k = 0; k < 2; k++)
            if (!asn_call_operand(c, i)->is_empty &&
                asn_nds_meet(asn_call_nd(c, i), asn_call_nd(c, k)))
                return asn_error_set(ASN_ERR_VALUE, "%s: %s overlaps an input",
                                     c->op->name, c->op->params[i].name);
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    qkv_plan *p = asn_call_plan(c, qkv_body, sizeof *p, 500 + (double)asn_nd_size(qkv));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->heads = heads;
    return ASN_OK;
}
