/* CPU device, operators: matrix products.
 *
 * Every operator of the family is c = alpha * (a @ b) + beta * self with a and b seen as
 * stacks of matrices: a vector is a row or a column by the operator. The dtype is the
 * promotion of all tensors; half results are rounded once. `cubeMathType` chooses reduced
 * precision on an NPU and has no meaning here.
 *
 * The kernels (cpu/gemm) take stacks of matrices of one dtype, by strides, so that
 * transposition and broadcasting are views. What a body adds is conversion, the places of
 * vectors, and the temporary for an output that the kernel cannot write. Addbmm's sum
 * over the batch is one product with a longer inner dimension, instead of a product for
 * each and a sum.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"

typedef struct {
    asnd_plan_head head;
    int a, b, self, out;         /* operands; self -1: none */
    bool trans_a, trans_b, fold; /* fold: the batch is summed over */
    bool column_a, row_b; /* how a vector stands: otherwise a is a row, b a column */
    asn_dtype loop;
    _Alignas(16) uint8_t alpha[16], beta[16];
} matmul_plan;

/* alpha and beta are of this dtype: the kernels scale halves in float32. */
static asn_dtype factor_dtype(asn_dtype loop) {
    return asn_is_half(loop) ? ASN_F32 : loop;
}

/* ---- shapes */

/* Turns the views into stacks of matrices, whatever the tensors are: a vector gets a
 * dimension of extent 1, then matrices are transposed. */
static void stand(const matmul_plan *p, asnd_view *a, asnd_view *b) {
    if (a->nd.ndim == 1) asn_view_insert(a, p->column_a ? 1 : 0, 1, 0);
    if (b->nd.ndim == 1) asn_view_insert(b, p->row_b ? 0 : 1, 1, 0);
    if (p->trans_a) asn_view_swap_last(a);
    if (p->trans_b) asn_view_swap_last(b);
}

/* The result's shape as the output has it: the batch, broadcast by NumPy's rule, unless
 * it is summed over, then rows and columns, without those that vectors lack. An error
 * where the inner extents differ or the batches do not broadcast. */
static asn_status result_shape(const asnd_call *c, const matmul_plan *p,
                               const asnd_nd *a0, const asnd_nd *b0, int *ndim,
                               int64_t *shape) {
    asnd_view a, b;
    asn_view_set(&a, a0);
    asn_view_set(&b, b0);
    stand(p, &a, &b);
    int na = a.nd.ndim, nb = b.nd.ndim, batch = (na > nb ? na : nb) - 2;
    *ndim = 0;
    bool fits = a.shape[na - 1] == b.shape[nb - 2];
    for (int d = 0; d < batch && fits; d++) {
        /* Dimension d of the longer batch in each of the operands; below 0: it lacks
         * it. */
        int da = d - (batch - (na - 2)), db = d - (batch - (nb - 2));
        int64_t x = da < 0 ? 1 : a.shape[da], y = db < 0 ? 1 : b.shape[db];
        fits = x == y || x == 1 || y == 1;
        if (!p->fold) shape[(*ndim)++] = x == 1 ? y : x;
    }
    if (!fits) {
        char left[ASN_SHAPE_TEXT], right[ASN_SHAPE_TEXT];
        return asn_error_set(ASN_ERR_VALUE, "%s: shapes %s and %s do not multiply",
                             c->op->name, asn_shape_text(left, a0->ndim, a0->shape),
                             asn_shape_text(right, b0->ndim, b0->shape));
    }
    if (a0->ndim > 1 || p->column_a) shape[(*ndim)++] = a.shape[na - 2];
    if (b0->ndim > 1 || p->row_b) shape[(*ndim)++] = b.shape[nb - 1];
    return ASN_OK;
}

/* ---- the body */

/* (batch, m, k) -> (m, batch * k), and (batch, k, n) -> (batch * k, n): one product sums
 * the batch. Both become packed copies. */
static asn_status fold_batch(asnd_tmp *tmp, asnd_view *a, asnd_view *b) {
    asnd_view copy;
    int64_t rows[2] = {a->shape[1], a->shape[0] * a->shape[2]};
    int64_t cols[2] = {b->shape[0] * b->shape[1], b->shape[2]};
    asn_view_permute(a, (int[]){1, 0, 2});
    ASN_TRY(asn_tmp_view(tmp, a->nd.dtype, 3, a->shape, &copy));
    ASN_TRY(asn_move(&copy.nd, &a->nd));
    asn_view_plain(a, copy.nd.dtype, 2, rows, copy.nd.data);
    ASN_TRY(asn_tmp_view(tmp, b->nd.dtype, 3, b->shape, &copy));
    ASN_TRY(asn_move(&copy.nd, &b->nd));
    asn_view_plain(b, copy.nd.dtype, 2, cols, copy.nd.data);
    return ASN_OK;
}

/* The output as a stack of matrices of the batch shape: what `stand` did to a vector is
 * done to the result's missing row or column. */
static void stand_out(const matmul_plan *p, const asnd_nd *a0, const asnd_nd *b0,
                      asnd_view *out) {
    if (a0->ndim == 1 && !p->column_a)
        asn_view_insert(out, out->nd.ndim - (b0->ndim > 1 || p->row_b ? 1 : 0), 1, 0);
    if (b0->ndim == 1 && !p->row_b) asn_view_insert(out, out->nd.ndim, 1, 0);
}

/* Stretches v's matrices over the batch that the output has. */
static void broadcast_batch(asnd_view *v, const asnd_view *out) {
    int64_t shape[ASN_ND_MAX_DIMS];
    int n = out->nd.ndim;
    memcpy(shape, out->shape, (size_t)n * sizeof *shape);
    shape[n - 2] = v->shape[v->nd.ndim - 2];
    shape[n - 1] = v->shape[v->nd.ndim - 1];
    asn_view_broadcast(v, n, shape);
}

/* A view in the product's dtype. What has columns in memory keeps them, since products
 * read either and a copy that turns takes several times as long. */
static asn_status matrices_as(asnd_tmp *tmp, const asnd_nd *a, asn_dtype dtype,
                              asnd_view *out) {
    const int nd = a->ndim;
    const int64_t item = asn_itemsize(a->dtype);
    asnd_view from;
    asn_view_set(&from, a);
    bool turned = nd >= 2 && a->strides[nd - 2] == item && a->strides[nd - 1] != item;
    if (turned) asn_view_swap_last(&from);
    ASN_TRY(asn_tmp_as(tmp, &from.nd, dtype, out));
    if (turned) asn_view_swap_last(out);
    return ASN_OK;
}

/* Whether the kernels may multiply operands of different dtypes as they are: float32 and
 * halves, nothing but a product. */
static bool is_mixed(const matmul_plan *p, const asnd_nd *a, const asnd_nd *b) {
    return p->loop == ASN_F32 && a->dtype != b->dtype && p->self < 0 && !p->fold &&
           (asn_is_half(a->dtype) || asn_is_half(b->dtype));
}

/* Straight into the output where its dtype is the product's and no input lies in it; else
 * through a temporary, which rounds halves once. */
static asn_status matmul_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const matmul_plan *p = plan;
    const asnd_nd *a0 = asn_exec_nd(e, p->a), *b0 = asn_exec_nd(e, p->b);
    const asnd_nd *out0 = asn_exec_nd(e, p->out);
    asnd_view a, b, out, result;
    bool direct =
             out0->dtype == p->loop && !asn_nds_meet(out0, a0) && !asn_nds_meet(out0, b0),
         done = false;
    asn_view_set(&out, out0);
    stand_out(p, a0, b0, &out);
    if (direct && is_mixed(p, a0, b0)) {
        asn_view_set(&a, a0);
        asn_view_set(&b, b0);
        stand(p, &a, &b);
        broadcast_batch(&a, &out);
        broadcast_batch(&b, &out);
        ASN_TRY(asn_cpu_matmul_mixed(&a.nd, &b.nd, &out.nd, &done));
        if (done) return ASN_OK;
    }
    ASN_TRY(matrices_as(tmp, a0, p->loop, &a));
    ASN_TRY(matrices_as(tmp, b0, p->loop, &b));
    stand(p, &a, &b);
    if (direct) {
        asn_view_set(&result, &out.nd);
    } else {
        ASN_TRY(asn_tmp_view(tmp, p->loop, out.nd.ndim, out.shape, &result));
    }
    if (p->fold) ASN_TRY(fold_batch(tmp, &a, &b));
    broadcast_batch(&a, &out);
    broadcast_batch(&b, &out);
    /* alpha * (a @ b) + beta * self otherwise: the kernel reads self in the result. */
    if (p->self < 0) {
        ASN_TRY(asn_cpu_matmul(&a.nd, &b.nd, &result.nd));
    } else {
        asnd_view self, to;
        asn_view_set(&self, asn_exec_nd(e, p->self));
        asn_view_broadcast(&self, out0->ndim, out0->shape);
        asn_view_set(&to, &result.nd);
        if (out0->ndim < to.nd.ndim) asn_view_drop(&to, to.nd.ndim - 1); /* Addmv */
        if (p->self != p->out || !direct) ASN_TRY(asn_move(&to.nd, &self.nd));
        ASN_TRY(asn_cpu_gemm(p->alpha, &a.nd, &b.nd, p->beta, &result.nd));
    }
    return direct ? ASN_OK : asn_move(&out.nd, &result.nd);
}

/* ---- planning */

/* Parameter i as an element of the factors' dtype. An absent factor is 1. Halves have
 * factors of float32. */
static asn_status factor(const asnd_call *c, int i, asn_dtype loop, uint8_t *element) {
    const aclScalar *s = asn_call_scalar(c, i);
    if (s == NULL) {
        asn_value_from_int(factor_dtype(loop), element, 1);
        return ASN_OK;
    }
    if (s->dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE, "%s: %s has an unknown dtype", c->op->name,
                             c->op->params[i].name);
    asn_value_cast(factor_dtype(loop), element, (asn_dtype)s->dtype, s->value);
    return ASN_OK;
}

/* Checks the number of dimensions that the strict operators insist on; 0: any from 1
 * on. */
static asn_status rank_check(const asnd_call *c, int i, int rank) {
    int ndim = asn_call_nd(c, i)->ndim;
    if (rank == 0 ? ndim >= 1 : ndim == rank) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have %s%d",
                         c->op->name, c->op->params[i].name, ndim,
                         rank ? "" : "at least ", rank ? rank : 1);
}

/* Plans with what the caller has set in *q: self, a, b are parameter indices (self -1:
 * none). Checks shapes and dtypes; with an empty output there is no plan, and the
 * executor has no body. */
static asn_status plan_product(asnd_call *c, matmul_plan *q, int self, int a, int b,
                               int out) {
    const asnd_nd *x = asn_call_nd(c, a), *y = asn_call_nd(c, b);
    int64_t shape[ASN_ND_MAX_DIMS], size = 1;
    int ndim;
    ASN_TRY(result_shape(c, q, x, y, &ndim, shape));
    ASN_TRY(asn_call_same_shape(c, out, ndim, shape));
    if (self >= 0 && !asn_nd_broadcasts(asn_call_nd(c, self), ndim, shape))
        return asn_call_same_shape(c, self, ndim, shape);
    q->loop = (asn_dtype)asn_promote_tensors[x->dtype][y->dtype];
    if (self >= 0)
        q->loop = (asn_dtype)asn_promote_tensors[q->loop][asn_call_nd(c, self)->dtype];
    ASN_TRY(asn_call_convertible(c, q->loop, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    /* 2 * m * n * k operations, at a rate that is a rough guess by dtype. */
    for (int d = 0; d < ndim; d++)
        size *= shape[d];
    double depth = (double)x->shape[x->ndim - (q->trans_a ? 2 : 1)];
    double rate = q->loop == ASN_F32 || q->loop == ASN_F64 ? 25 : 1; /* flops per ns */
    matmul_plan p = *q;
    p.a = c->first[a];
    p.b = c->first[b];
    p.self = self < 0 ? -1 : c->first[self];
    p.out = c->first[out];
    return asn_call_keep(c, matmul_body, &p, sizeof p,
                         300 + 2 * (double)size * depth / rate);
}

/* Mm, BatchMatMul (arg: 2 or 3 dimensions), Matmul (any), Mv, Dot, Ger (self, mat2, out,
 * ...). Ger is a column times a row; Dot gives a value without dimensions. */
asn_status asn_planner_matmul(asnd_call *c) {
    matmul_plan q;
    memset(&q, 0, sizeof q);
    static const struct {
        int a, b;
    } ranks[] = {[ASN_PRODUCT_ANY] = {0, 0}, [ASN_PRODUCT_MM] = {2, 2},
                 [ASN_PRODUCT_BMM] = {3, 3}, [ASN_PRODUCT_MV] = {2, 1},
                 [ASN_PRODUCT_DOT] = {1, 1}, [ASN_PRODUCT_GER] = {1, 1}};
    ASN_TRY(rank_check(c, 0, ranks[c->op->arg].a));
    ASN_TRY(rank_check(c, 1, ranks[c->op->arg].b));
    q.column_a = q.row_b = c->op->arg == ASN_PRODUCT_GER;
    return plan_product(c, &q, -1, 0, 1, 2);
}

/* Addmm, Baddbmm, Addbmm (self, a, b, beta, alpha, out, ...), Addr; Addmv swaps alpha and
 * beta. Factors are read last, in the dtype that the product turned out to have; an empty
 * output has no plan to put them in. */
asn_status asn_planner_addmm(asnd_call *c) {
    matmul_plan q;
    memset(&q, 0, sizeof q);
    int kind = c->op->arg, out = asn_call_out(c);
    int rank_a = kind == ASN_PRODUCT_MM || kind == ASN_PRODUCT_MV ? 2
                 : kind == ASN_PRODUCT_GER                        ? 1
                                                                  : 3;
    int rank_b = kind == ASN_PRODUCT_MV ? 1 : rank_a;
    ASN_TRY(rank_check(c, 1, rank_a));
    ASN_TRY(rank_check(c, 2, rank_b));
    q.fold = kind == ASN_PRODUCT_FOLD;
    q.column_a = q.row_b = kind == ASN_PRODUCT_GER;
    ASN_TRY(plan_product(c, &q, 0, 1, 2, out));
    if (c->e->body == NULL) return ASN_OK;
    matmul_plan *p = c->e->plan;
    bool swapped = kind == ASN_PRODUCT_MV;
    ASN_TRY(factor(c, swapped ? 3 : 4, p->loop, p->alpha));
    return factor(c, swapped ? 4 : 3, p->loop, p->beta);
}

/* Gemm(A, B, C, alpha, beta, transA, transB, out, cubeMathType): alpha and beta are
 * numbers of the call, not scalars. */
asn_status asn_planner_gemm(asnd_call *c) {
    matmul_plan q;
    memset(&q, 0, sizeof q);
    ASN_TRY(rank_check(c, 0, 2));
    ASN_TRY(rank_check(c, 1, 2));
    q.trans_a = asn_call_int(c, 5) != 0;
    q.trans_b = asn_call_int(c, 6) != 0;
    ASN_TRY(plan_product(c, &q, 2, 0, 1, 7));
    if (c->e->body == NULL) return ASN_OK;
    matmul_plan *p = c->e->plan;
    asn_value_from_double(factor_dtype(p->loop), p->alpha, asn_call_double(c, 3));
    asn_value_from_double(factor_dtype(p->loop), p->beta, asn_call_double(c, 4));
    return ASN_OK;
}

/* TransMatmulWeight(mmWeightRef): on an NPU it changes the layout of weights to the one
 * that products like best. Here that is the plain one; only the argument is checked. */
asn_status asn_planner_matmul_weight(asnd_call *c) {
    ASN_TRY(asn_call_rank(c, 0, 2, 6));
    return asn_call_one_of(c, 0, ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_I8));
}
