/* CPU device, operators: a product with communication before or behind it.
 *
 *     MatmulAllReduce      output = all-reduce(x1 @ x2 + bias + x3)
 *     MatmulReduceScatter  output = the rank's rows of the same sum
 *     AllGatherMatmul      output = gatherOut @ x2 + bias, gatherOut = all ranks' x1
 *     AlltoAllMatmul       output = P @ x2 + bias; of x1 (m, k), cut in one piece of rows
 *         for each rank, P (m / ranks, ranks * k) has the pieces of all side by side
 *     MatmulAlltoAll       the other way round: rank r gets column piece r of x1 @ x2 +
 *         bias (m, n), output (ranks * m, n / ranks)
 *
 * The product is that of floats, of int8 with scales (QuantMatmulV4's) or of floats with
 * quantised weights (WeightQuantBatchMatmulV2's), by the planner of that operator, on x1
 * as a matrix and into a matrix; x3 is added to its rounded result. With commQuantScale1
 * and 2 the all-reduce exchanges int8: each rank sends q1 = round(y / scale1), adds up
 * the pieces it is responsible for, sends q2 = round(sum * scale1 / scale2), and the
 * output is q2 * scale2. Which rank adds up which piece does not show in the result.
 *
 * One task does everything in order; pieces are not overlapped with each other: product
 * and copies want the same cores.
 */
#include <string.h>

#include "device/opapi/core/program.h"
#include "device/opapi/joined/joined.h"
#include "device/opapi/quant/quant.h"

typedef enum { NOTHING, GATHER, SCATTER, REDUCE, EXCHANGE } step;

/* Operands by what they are, -1: absent. a, w, scale, y: temporaries (a: the left matrix;
 * w: x2 turned, or x2 itself; scale: one for each row of a; y: the product). */
typedef struct {
    asnd_plan_head head;
    asnd_inner product;
    int x1, x2, rows, x3, out, kept; /* kept: gatherOut, or the exchanged x1 */
    int a, w, scale, y;
    int comm[2]; /* commQuantScale1 and 2 */
    step before, after;
    uint32_t ranks, rank;
    int64_t m, k, n; /* x1 as a matrix; n of the product */
} join_plan;

/* ---- before the product */

/* to (m / ranks, ranks * k) = the pieces in `from` (ranks, m / ranks, k) side by side. */
static asn_status side_by_side(const join_plan *p, asn_dtype dtype, void *from,
                               void *to) {
    /* A copy, since a product reads its left matrix with one stride between rows. */
    int64_t few = p->m / p->ranks, shape[] = {p->ranks, few, p->k};
    int64_t turned[] = {few, p->ranks, p->k};
    asnd_view v, out;
    asn_view_plain(&v, dtype, 3, shape, from);
    asn_view_permute(&v, (int[]){1, 0, 2});
    asn_view_plain(&out, dtype, 3, turned, to);
    return asn_move(&out.nd, &v.nd);
}

/* Memory for the left matrix: the output that keeps it, where that is plain. */
static asn_status left_memory(aclOpExecutor *e, const join_plan *p, asnd_tmp *tmp,
                              asnd_view *a) {
    const asnd_nd *want = asn_exec_nd(e, p->a);
    const asnd_nd *kept = p->kept < 0 ? NULL : asn_exec_nd(e, p->kept);
    if (kept != NULL && asn_nd_is_contiguous(kept) &&
        !asn_nds_meet(kept, asn_exec_nd(e, p->x1))) {
        asn_view_set(a, kept);
        return ASN_OK;
    }
    return asn_tmp_view(tmp, want->dtype, want->ndim, want->shape, a);
}

/* Puts the left matrix and its scales where the product reads them. */
static asn_status do_before(aclOpExecutor *e, const join_plan *p, asnd_tmp *tmp) {
    const asnd_nd *x1 = asn_exec_nd(e, p->x1);
    asn_dtype dtype = x1->dtype;
    asnd_view x, rows, a, pieces;
    ASN_TRY(asn_packed_of(x1, dtype, tmp, &x));
    if (p->rows >= 0)
        ASN_TRY(asn_packed_of(asn_exec_nd(e, p->rows), ASN_F32, tmp, &rows));
    if (p->before == NOTHING) {
        e->operands[p->a].nd.data = x.nd.data;
        if (p->rows >= 0) e->operands[p->scale].nd.data = rows.nd.data;
        return ASN_OK;
    }
    ASN_TRY(left_memory(e, p, tmp, &a));
    if (p->before == GATHER) {
        ASN_TRY(
            asn_join_call(e, ASNRT_ALL_GATHER, dtype, x.nd.data, a.nd.data, p->m * p->k));
        if (p->rows >= 0) {
            float *all = asn_tmp_alloc(tmp, (size_t)(p->m * p->ranks) * sizeof *all);
            if (all == NULL) return ASN_ERR_MEMORY;
            ASN_TRY(asn_join_call(e, ASNRT_ALL_GATHER, ASN_F32, rows.nd.data, all, p->m));
            e->operands[p->scale].nd.data = (char *)all;
        }
    } else {
        /* Every rank sends and gets pieces of m / ranks rows: the counts are all equal.
         */
        int64_t each[ASN_ND_MAX_DIMS], *counts = each;
        if (p->ranks > ASN_ND_MAX_DIMS)
            counts = asn_tmp_alloc(tmp, p->ranks * sizeof *counts);
        if (counts == NULL) return ASN_ERR_MEMORY;
        for (uint32_t r = 0; r < p->ranks; r++)
            counts[r] = p->m / p->ranks * p->k;
        ASN_TRY(asn_tmp_view(tmp, dtype, a.nd.ndim, a.shape, &pieces));
        ASN_TRY(asn_join_exchange(e, dtype, x.nd.data, counts, pieces.nd.data, counts,
                                  p->ranks, tmp));
        ASN_TRY(side_by_side(p, dtype, pieces.nd.data, a.nd.data));
    }
    if (p->kept >= 0 && a.nd.data != asn_exec_nd(e, p->kept)->data)
        ASN_TRY(asn_move(asn_exec_nd(e, p->kept), &a.nd));
    e->operands[p->a].nd.data = a.nd.data;
    return ASN_OK;
}

/* ---- behind the product */

/* y += x3, both rounded to y's dtype. */
static asn_status add_x3(aclOpExecutor *e, const join_plan *p, asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y);
    asnd_view x3, flat;
    asnd_prog prog;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->x3), y->dtype, tmp, &x3));
    asn_view_plain(&flat, y->dtype, 2, y->shape, x3.nd.data);
    asn_dtype wide = asn_wide_dtype(y->dtype);
    asn_prog_begin(&prog, 2, y->shape, 0);
    int sum =
        asn_prog_op2(&prog, ASN_OP_ADD, asn_prog_as(&prog, asn_prog_in(&prog, y), wide),
                     asn_prog_as(&prog, asn_prog_in(&prog, &flat.nd), wide));
    asn_prog_out(&prog, sum, y);
    return asn_prog_run(&prog);
}

/* The rows that rank r adds up, as elements of the product. */
static int64_t piece_of(const join_plan *p, uint32_t r) {
    int64_t rows = p->m * (r + 1) / p->ranks - p->m * r / p->ranks;
    return rows * p->n;
}

/* The all-reduce by int8. y: the product as float32; scales: of its n columns. */
static asn_status reduce_bytes(aclOpExecutor *e, const join_plan *p, float *y,
                               const float *const scale[2], asnd_tmp *tmp) {
    int64_t all = p->m * p->n, mine = piece_of(p, p->rank), n = p->n;
    int64_t *sends = asn_tmp_alloc(tmp, 2 * p->ranks * sizeof *sends);
    int8_t *q = asn_tmp_alloc(tmp, (size_t)all + 1);
    int8_t *got = asn_tmp_alloc(tmp, (size_t)mine * p->ranks + 1);
    int8_t *sums = asn_tmp_alloc(tmp, (size_t)mine * p->ranks + 1);
    if (sends == NULL || q == NULL || got == NULL || sums == NULL) return ASN_ERR_MEMORY;
    int64_t *receives = sends + p->ranks;
    for (uint32_t r = 0; r < p->ranks; r++) {
        sends[r] = piece_of(p, r);
        receives[r] = mine;
    }
    /* What does not fit into a byte is clamped, as quantisation does. */
    for (int64_t i = 0; i < all; i++)
        q[i] = (int8_t)asn_quant_value(y[i] / scale[0][i % n], ASN_ROUND_EVEN, -128, 127);
    ASN_TRY(asn_join_exchange(e, ASN_I8, q, sends, got, receives, p->ranks, tmp));
    for (int64_t i = 0; i < mine; i++) { /* pieces are whole rows: column i % n */
        int32_t sum = 0;
        for (uint32_t r = 0; r < p->ranks; r++)
            sum += got[r * mine + i];
        float v = (float)sum * (scale[0][i % n] / scale[1][i % n]);
        int8_t b = (int8_t)asn_quant_value(v, ASN_ROUND_EVEN, -128, 127);
        for (uint32_t r = 0; r < p->ranks; r++)
            sums[r * mine + i] = b;
    }
    /* To everybody: the same piece for each rank, whose pieces may differ in length. */
    ASN_TRY(asn_join_exchange(e, ASN_I8, sums, receives, q, sends, p->ranks, tmp));
    for (int64_t i = 0; i < all; i++)
        y[i] = (float)q[i] * scale[1][i % n];
    return ASN_OK;
}

/* The bytes have scales of columns, so that they are made from, and become, float32. */
static asn_status reduce_quantised(aclOpExecutor *e, const join_plan *p, asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y), *out = asn_exec_nd(e, p->out);
    const float *scale[2];
    asnd_view wide, row, result;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, y->shape, &wide));
    ASN_TRY(asn_move(&wide.nd, y));
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_packed_of(asn_exec_nd(e, p->comm[i]), ASN_F32, tmp, &row));
        scale[i] = (const float *)(void *)row.nd.data;
    }
    ASN_TRY(reduce_bytes(e, p, (float *)(void *)wide.nd.data, scale, tmp));
    asn_view_plain(&result, ASN_F32, out->ndim, out->shape, wide.nd.data);
    return asn_move(out, &result.nd);
}

/* Column piece r of every row to rank r. */
static asn_status exchange_columns(aclOpExecutor *e, const join_plan *p, char *to,
                                   asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y);
    /* (m, ranks, few) to (ranks, m, few): what rank r gets lies on end. */
    int64_t few = p->n / p->ranks, shape[] = {p->m, p->ranks, few};
    int64_t turned[] = {p->ranks, p->m, few};
    int64_t *counts = asn_tmp_alloc(tmp, p->ranks * sizeof *counts);
    asnd_view v, pieces;
    if (counts == NULL) return ASN_ERR_MEMORY;
    for (uint32_t r = 0; r < p->ranks; r++)
        counts[r] = p->m * few;
    asn_view_plain(&v, y->dtype, 3, shape, y->data);
    asn_view_permute(&v, (int[]){1, 0, 2});
    ASN_TRY(asn_tmp_view(tmp, y->dtype, 3, turned, &pieces));
    ASN_TRY(asn_move(&pieces.nd, &v.nd));
    return asn_join_exchange(e, y->dtype, pieces.nd.data, counts, to, counts, p->ranks,
                             tmp);
}

/* Straight into the output where that is row-major; the all-reduce may be in place,
 * the others may not, since other ranks read the product while this one writes. */
static asn_status do_after(aclOpExecutor *e, const join_plan *p, asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y), *out = asn_exec_nd(e, p->out);
    if (p->comm[0] >= 0) return reduce_quantised(e, p, tmp);
    asnd_view result;
    asn_view_plain(&result, y->dtype, out->ndim, out->shape, y->data);
    char *to = y->data;
    if (p->after != NOTHING && asn_nd_is_contiguous(out)) {
        to = out->data;
    } else if (p->after == SCATTER || p->after == EXCHANGE) {
        ASN_TRY(asn_tmp_view(tmp, y->dtype, out->ndim, out->shape, &result));
        to = result.nd.data;
    }
    int64_t size = asn_nd_size(out);
    if (p->after == REDUCE)
        ASN_TRY(asn_join_call(e, ASNRT_ALL_REDUCE, y->dtype, y->data, to, size));
    if (p->after == SCATTER)
        ASN_TRY(asn_join_call(e, ASNRT_REDUCE_SCATTER, y->dtype, y->data, to, size));
    if (p->after == EXCHANGE) ASN_TRY(exchange_columns(e, p, to, tmp));
    result.nd.data = to;
    return to == out->data ? ASN_OK : asn_move(out, &result.nd);
}

/* Temporary operands get their memory here: addresses may have been exchanged since
 * the call was planned. */
static asn_status join_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    join_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view y;
    ASN_TRY(do_before(e, p, tmp));
    const asnd_nd *shape = asn_exec_nd(e, p->y);
    bool direct = p->after == NOTHING && asn_nd_is_contiguous(out);
    if (!direct) ASN_TRY(asn_tmp_view(tmp, shape->dtype, 2, shape->shape, &y));
    e->operands[p->y].nd.data = direct ? out->data : y.nd.data;
    if (p->w != p->x2) e->operands[p->w].nd.data = asn_exec_nd(e, p->x2)->data;
    ASN_TRY(asn_inner_run(e, &p->product));
    if (p->x3 >= 0) ASN_TRY(add_x3(e, p, tmp));
    return do_after(e, p, tmp);
}

/* ---- the product's operator */

#define TENSOR(name, kind) {name, kind, true, false, 0, false, 0}
static const asnd_param plain_params[] = {TENSOR("x1", ASN_IN), TENSOR("x2", ASN_IN),
                                          TENSOR("output", ASN_OUT)};
static const asnd_param bias_params[] = {
    TENSOR("bias", ASN_IN),     TENSOR("x1", ASN_IN),        TENSOR("x2", ASN_IN),
    TENSOR("beta", ASN_SCALAR), TENSOR("alpha", ASN_SCALAR), TENSOR("output", ASN_OUT)};
static const asnd_param quant_params[] = {TENSOR("x1", ASN_IN),
                                          TENSOR("x2", ASN_IN),
                                          TENSOR("dequantScale", ASN_IN),
                                          TENSOR("offset", ASN_IN),
                                          TENSOR("the scale of rows", ASN_IN),
                                          TENSOR("bias", ASN_IN),
                                          TENSOR("transposeX1", ASN_INT),
                                          TENSOR("transposeX2", ASN_INT),
                                          TENSOR("output", ASN_OUT)};
static const asnd_param weight_params[] = {TENSOR("x1", ASN_IN),
                                           TENSOR("x2", ASN_IN),
                                           TENSOR("antiquantScale", ASN_IN),
                                           TENSOR("antiquantOffset", ASN_IN),
                                           TENSOR("quantScale", ASN_IN),
                                           TENSOR("quantOffset", ASN_IN),
                                           TENSOR("bias", ASN_IN),
                                           TENSOR("antiquantGroupSize", ASN_INT),
                                           TENSOR("output", ASN_OUT)};

/* The operand of the first of two names that the operator has. */
static int either(const asnd_call *c, const char *one, const char *other) {
    int at = asn_call_operand_named(c, one);
    return at >= 0 ? at : asn_call_operand_named(c, other);
}

/* Chooses the product by the operator's parameters and plans it. */
static asn_status plan_product(asnd_call *c, join_plan *p) {
    /* Versions name the same operands differently, with and without "Optional". */
    int bias = either(c, "bias", "biasOptional");
    int dequant = either(c, "dequantScale", "x2ScaleOptional");
    int anti = asn_call_operand_named(c, "antiquantScale");
    if (dequant < 0) dequant = asn_call_operand_named(c, "x2Scale");
    asnd_arg args[9];
    memset(args, 0, sizeof args);
    /* Scales of x2 say that both are integers. */
    if (dequant >= 0) {
        asnd_opdesc op = {c->op->name, quant_params,    asn_planner_quant_matmul, NULL, 9,
                          3,           ASN_NO_WORKSPACE};
        int at[] = {p->a, p->w, dequant, -1, p->scale, bias, -1, -1, p->y};
        return asn_inner_plan(c, &op, args, at, &p->product);
    }
    /* Scales of the weights alone: x1 is of floats. */
    if (anti >= 0) {
        asnd_opdesc op = {
            c->op->name, weight_params,   asn_planner_weight_quant_matmul, NULL, 9,
            0,           ASN_NO_WORKSPACE};
        int offset = asn_call_operand_named(c, "antiquantOffset");
        int at[] = {p->a, p->w, anti, offset, -1, -1, bias, -1, p->y};
        args[7].i = asn_call_int(c, asn_call_param_named(c, "antiquantGroupSize"));
        return asn_inner_plan(c, &op, args, at, &p->product);
    }
    if (p->scale >= 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: there is a scale of x1's rows, but none of x2",
                             c->op->name);
    asn_dtype left = c->e->operands[p->x1].nd.dtype;
    asn_dtype right = c->e->operands[p->x2].nd.dtype;
    if (!asn_is_floating(left) || left != right)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: x1 and x2 are of dtypes %s and %s; without scales they "
                             "must be of one floating dtype",
                             c->op->name, asn_dtype_name(left), asn_dtype_name(right));
    if (bias < 0) {
        asnd_opdesc op = {c->op->name, plain_params,   asn_planner_matmul, NULL,
                          3,           ASN_PRODUCT_MM, ASN_NO_WORKSPACE};
        return asn_inner_plan(c, &op, args, (int[]){p->a, p->w, p->y}, &p->product);
    }
    asnd_opdesc op = {c->op->name, bias_params,    asn_planner_addmm, NULL,
                      6,           ASN_PRODUCT_MM, ASN_NO_WORKSPACE};
    int at[] = {bias, p->a, p->w, -1, -1, p->y};
    return asn_inner_plan(c, &op, args, at, &p->product);
}

/* ---- planning */

/* Extents of x1 as a matrix, of x2, and what the ranks must divide. */
static asn_status take_shapes(asnd_call *c, join_plan *p, bool turned) {
    const asnd_nd *x1 = asn_call_nd(c, 0), *x2 = asn_call_nd(c, 1);
    ASN_TRY(asn_call_rank(c, 0, 2, p->after == REDUCE ? 3 : 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    p->k = x1->shape[x1->ndim - 1];
    p->m = 1;
    for (int d = 0; d + 1 < x1->ndim; d++)
        p->m *= x1->shape[d];
    p->n = x2->shape[turned ? 0 : 1];
    /* What is cut among the ranks has no rest: CANN's pages ask for that, and pieces
     * of several lengths would have no place in the output's shape. */
    /* x1 (m, k) or (b, s, k) of MatmulAllReduce, x2 (k, n), or (n, k) with transposeX2.
     */
    bool cut = p->before == EXCHANGE || p->after == SCATTER;
    int64_t whole = p->after == EXCHANGE ? p->n : p->m;
    if ((cut || p->after == EXCHANGE) && whole % p->ranks != 0)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: the %lld %s must be a multiple of the %u ranks",
            c->op->name, (long long)whole,
            p->after == EXCHANGE ? "columns of x2" : "rows of x1", p->ranks);
    return ASN_OK;
}

/* The shapes of the output and of what is kept of the left matrix. */
static asn_status check_outputs(const asnd_call *c, join_plan *p, int out, int kept,
                                const int64_t *left) {
    int64_t rows = left[0], cols = p->n, shape[3];
    const asnd_nd *x1 = asn_call_nd(c, 0);
    if (p->after == SCATTER) rows /= p->ranks;
    if (p->after == EXCHANGE) {
        rows *= p->ranks;
        cols /= p->ranks;
    }
    /* With three dimensions (MatmulAllReduce alone) the output has x1's first two. */
    shape[0] = x1->ndim == 3 ? x1->shape[0] : rows;
    shape[1] = x1->ndim == 3 ? x1->shape[1] : cols;
    shape[2] = cols;
    ASN_TRY(asn_call_same_shape(c, out, x1->ndim, shape));
    p->kept = kept < 0 ? -1 : c->first[kept];
    /* torch_npu passes an empty tensor for one that it does not want. */
    if (p->kept >= 0 && c->e->operands[p->kept].is_empty && left[0] * left[1] > 0)
        p->kept = -1;
    if (p->kept < 0) return ASN_OK;
    ASN_TRY(asn_call_same_dtype(c, kept, 0));
    return asn_call_same_shape(c, kept, 2, left);
}

/* The scales of x1's rows: one for each. */
static asn_status take_rows(const asnd_call *c, join_plan *p) {
    p->rows = either(c, "pertokenScaleOptional", "x1ScaleOptional");
    if (p->rows < 0) p->rows = asn_call_operand_named(c, "x1Scale");
    if (p->rows < 0) return ASN_OK;
    /* (m) or (m, 1): only how many there are counts. */
    const asnd_nd *a = &c->e->operands[p->rows].nd;
    if (a->dtype == ASN_F32 && asn_nd_size(a) == p->m) return ASN_OK;
    char got[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: the scale of x1's rows has shape %s, dtype %s; it must "
                         "have %lld elements of float32",
                         c->op->name, asn_shape_text(got, a->ndim, a->shape),
                         asn_dtype_name(a->dtype), (long long)p->m);
}

/* Both scales of the exchanged bytes, or none: one for each column. */
static asn_status take_comm(const asnd_call *c, join_plan *p) {
    p->comm[0] = asn_call_operand_named(c, "commQuantScale1Optional");
    p->comm[1] = asn_call_operand_named(c, "commQuantScale2Optional");
    /* The scales must be the same on every rank, which nobody can check here. */
    bool fits = (p->comm[0] < 0) == (p->comm[1] < 0);
    for (int i = 0; i < 2 && fits && p->comm[0] >= 0; i++) {
        const asnd_nd *a = &c->e->operands[p->comm[i]].nd;
        fits = asn_is_floating(a->dtype) && asn_nd_size(a) == p->n && a->ndim <= 2;
    }
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: commQuantScale1 and commQuantScale2 go together and have "
                         "%lld floats each",
                         c->op->name, (long long)p->n);
}

/* Temporary operands: the left matrix, its scales, x2 turned, the product. */
static asn_status make_operands(asnd_call *c, join_plan *p, bool turned,
                                const int64_t *left) {
    int first = asn_inner_room(c, 4);
    if (first < 0) return ASN_ERR_MEMORY;
    asn_dtype dtype = c->e->operands[p->x1].nd.dtype;
    int64_t y[] = {left[0], p->n};
    p->a = first;
    ASN_TRY(asn_inner_operand(c, p->a, dtype, 2, left));
    p->y = first + 1;
    ASN_TRY(asn_inner_operand(c, p->y, c->e->operands[p->out].nd.dtype, 2, y));
    p->scale = p->rows < 0 ? -1 : first + 2;
    if (p->scale >= 0) ASN_TRY(asn_inner_operand(c, p->scale, ASN_F32, 1, left));
    /* The product reads x2 where the program has it, by its strides; only a
     * transposition that the call asks for is a view of its own. */
    p->w = p->x2;
    if (!turned) return ASN_OK;
    p->w = first + 3;
    const asnd_nd *x2 = &c->e->operands[p->x2].nd;
    int64_t shape[] = {x2->shape[1], x2->shape[0]};
    ASN_TRY(asn_inner_operand(c, p->w, x2->dtype, 2, shape));
    int64_t *strides = (int64_t *)(uintptr_t)c->e->operands[p->w].nd.strides;
    strides[0] = x2->strides[1];
    strides[1] = x2->strides[0];
    return ASN_OK;
}

/* alltoAllAxes: the directions of the exchange, which have one allowed value. */
static asn_status check_axes(const asnd_call *c, bool before) {
    int i = asn_call_param_named(c, "alltoAllAxesOptional");
    const asnd_array *axes = i < 0 ? NULL : asn_call_array(c, i);
    if (axes == NULL || axes->size == 0) return ASN_OK;
    const int64_t *v = axes->data;
    if (axes->size == 2 && v[0] == (before ? -2 : -1) && v[1] == (before ? -1 : -2))
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: alltoAllAxes must be empty or %s",
                         c->op->name, before ? "(-2, -1)" : "(-1, -2)");
}

/* arg: the step before the product times 8, and the one behind it. */
asn_status asn_planner_joined_product(asnd_call *c) {
    join_plan p = {.before = (step)(c->op->arg / 8), .after = (step)(c->op->arg % 8)};
    int out = asn_call_param_named(c, "output");
    int kept = asn_call_param_named(c, "gatherOut");
    if (kept < 0) kept = asn_call_param_named(c, "alltoAllOutOptional");
    int turn = asn_call_param_named(c, "transposeX2");
    bool turned = turn >= 0 && asn_call_int(c, turn) != 0;
    ASN_TRY(asn_join_reserved(c));
    ASN_TRY(check_axes(c, p.before == EXCHANGE));
    ASN_TRY(asn_join_group(c, "group", &p.ranks, &p.rank));
    ASN_TRY(take_shapes(c, &p, turned));
    p.x1 = c->first[0];
    p.x2 = c->first[1];
    p.out = c->first[out];
    p.x3 = either(c, "x3", "x3Optional");
    /* The left matrix as the product reads it: (ranks m, k) of gathered rows, (m / ranks,
     * ranks k) of exchanged pieces. */
    int64_t left[] = {p.m, p.k};
    if (p.before == GATHER) left[0] *= p.ranks;
    if (p.before == EXCHANGE) {
        left[0] /= p.ranks;
        left[1] *= p.ranks;
    }
    ASN_TRY(check_outputs(c, &p, out, kept, left));
    ASN_TRY(take_rows(c, &p));
    ASN_TRY(take_comm(c, &p));
    if (p.x3 >= 0 && !asn_nd_same_shape(&c->e->operands[p.x3].nd, asn_call_nd(c, out)))
        return asn_error_set(ASN_ERR_VALUE, "%s: x3 must have the output's shape",
                             c->op->name);
    ASN_TRY(asn_call_floating(c, out));
    ASN_TRY(make_operands(c, &p, turned, left));
    ASN_TRY(plan_product(c, &p));
    if (asn_call_operand(c, out)->is_empty && p.kept < 0) return ASN_OK;
    return asn_call_keep(c, join_body, &p, sizeof p, 1000 + p.product.work_ns);
}
