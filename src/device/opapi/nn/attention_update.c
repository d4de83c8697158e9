/* CPU device, operators: one result of attention from several over parts of the keys, by
 * the statistics of their softmax.
 *
 * AttentionUpdate: out = sum_i exp(lse_i - lse) * local_i, lse = log(sum_i exp(lse_i)).
 * RingAttentionUpdate: of two parts with maxima m and sums l, m' = max(m1, m2), l' =
 * sum_i l_i exp(m_i - m'), out = sum_i out_i * l_i exp(m_i - m') / l'.
 *
 * Fused programs; a part whose row saw nothing (lse -infinity, or l 0) adds nothing.
 */
#include <math.h>
#include <string.h>

#include "device/opapi/nn/norm.h"

/* Operands: the first of each list of `count`; lse_out: -1 absent. */
typedef struct {
    asnd_plan_head head;
    int lse, local, count, out, lse_out;
} update_plan;

/* A view as a value of the arithmetic's dtype. */
static int value(asnd_prog *p, const asnd_nd *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, a), t);
}

/* exp(x - top), 0 where x is -infinity: top may be, too. */
static int weight(asnd_prog *p, int x, int top, asn_dtype t) {
    int none = asn_prog_op2(p, ASN_OP_EQUAL, x, asn_prog_const(p, t, -INFINITY));
    int w = asn_prog_op1(p, ASN_OP_EXP, asn_prog_op2(p, ASN_OP_SUBTRACT, x, top));
    return asn_prog_op3(p, ASN_OP_WHERE, none, asn_prog_const(p, t, 0), w);
}

/* to = op(to, x), or to = x at first. */
static asn_status accumulate(asnd_prog *p, asn_op op, bool first, int x,
                             const asnd_view *to, asn_dtype t) {
    if (!first) x = asn_prog_op2(p, op, value(p, &to->nd, t), x);
    asn_prog_out(p, x, &to->nd);
    return asn_prog_run(p);
}

/* The maximum of all lse, then sums of their weights and of the weighted parts: a program
 * each and list member, so that a list may have any length. */
static asn_status update_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const update_plan *u = plan;
    const asnd_nd *lse = asn_exec_nd(e, u->lse), *out = asn_exec_nd(e, u->out);
    asn_dtype t = out->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    /* lse (rows) and out (rows, columns): the weights are made once for their sum, and
     * once more stretched over the columns. */
    asnd_view top, sum, all;
    asnd_prog p;
    ASN_TRY(asn_tmp_view(tmp, t, lse->ndim, lse->shape, &top));
    ASN_TRY(asn_tmp_view(tmp, t, lse->ndim, lse->shape, &sum));
    ASN_TRY(asn_tmp_view(tmp, t, out->ndim, out->shape, &all));
    for (int k = 0; k < u->count; k++) {
        asn_prog_begin(&p, lse->ndim, lse->shape, 0);
        ASN_TRY(accumulate(&p, ASN_OP_MAXIMUM, k == 0,
                           value(&p, asn_exec_nd(e, u->lse + k), t), &top, t));
    }
    for (int k = 0; k < u->count; k++) {
        asn_prog_begin(&p, lse->ndim, lse->shape, 0);
        int w = weight(&p, value(&p, asn_exec_nd(e, u->lse + k), t),
                       value(&p, &top.nd, t), t);
        ASN_TRY(accumulate(&p, ASN_OP_ADD, k == 0, w, &sum, t));
        asnd_view x, m;
        asn_view_set(&x, asn_exec_nd(e, u->lse + k));
        asn_view_set(&m, &top.nd);
        asn_view_insert(&x, lse->ndim, out->shape[lse->ndim], 0);
        asn_view_insert(&m, lse->ndim, out->shape[lse->ndim], 0);
        asn_prog_begin(&p, out->ndim, out->shape, 0);
        w = weight(&p, value(&p, &x.nd, t), value(&p, &m.nd, t), t);
        w = asn_prog_op2(&p, ASN_OP_MULTIPLY, w,
                         value(&p, asn_exec_nd(e, u->local + k), t));
        ASN_TRY(accumulate(&p, ASN_OP_ADD, k == 0, w, &all, t));
    }
    /* Where no part saw anything the sum is 0, and 0 stays instead of 0 / 0. */
    asnd_view s;
    asn_view_set(&s, &sum.nd);
    asn_view_insert(&s, lse->ndim, out->shape[lse->ndim], 0);
    asn_prog_begin(&p, out->ndim, out->shape, 0);
    int total = value(&p, &s.nd, t), x = value(&p, &all.nd, t);
    int none = asn_prog_op2(&p, ASN_OP_EQUAL, total, asn_prog_const(&p, t, 0));
    x = asn_prog_op3(&p, ASN_OP_WHERE, none, x,
                     asn_prog_op2(&p, ASN_OP_DIVIDE, x, total));
    asn_prog_out(&p, x, out);
    ASN_TRY(asn_prog_run(&p));
    /* lse = top + log(sum), of which top may be -infinity: so is lse then. */
    if (u->lse_out < 0) return ASN_OK;
    asn_prog_begin(&p, lse->ndim, lse->shape, 0);
    x = asn_prog_op1(&p, ASN_OP_LOG, value(&p, &sum.nd, t));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_ADD, x, value(&p, &top.nd, t)),
                 asn_exec_nd(e, u->lse_out));
    return asn_prog_run(&p);
}

/* AttentionUpdate(lse, localOut, updateType, out, lseOut); updateType 1 wants lseOut. */
asn_status asn_planner_attention_update(asnd_call *c) {
    const asnd_array *lse = asn_call_array(c, 0), *local = asn_call_array(c, 1);
    int64_t type = asn_call_int(c, 2);
    /* lse[k] (rows), localOut[k] (rows, columns), out (rows, columns), lseOut (rows); any
     * number of dimensions stands for the rows. */
    bool fits = lse->size > 0 && lse->size == local->size && (type == 0 || type == 1);
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: lse is a list of %llu, localOut of %llu, updateType is "
                             "%lld; the lists must be as long, and the type 0 or 1",
                             c->op->name, (unsigned long long)lse->size,
                             (unsigned long long)local->size, (long long)type);
    const asnd_nd *out = asn_call_nd(c, 3);
    ASN_TRY(asn_norm_check(c, 3, out->ndim, out->shape));
    for (int k = 0; k < (int)lse->size; k++) {
        const asnd_nd *a = &c->e->operands[c->first[0] + k].nd;
        const asnd_nd *b = &c->e->operands[c->first[1] + k].nd;
        fits = out->ndim >= 1 && a->ndim == out->ndim - 1 && b->ndim == out->ndim &&
               asn_is_floating(a->dtype) && asn_is_floating(b->dtype);
        for (int d = 0; fits && d < out->ndim; d++)
            fits = b->shape[d] == out->shape[d] &&
                   (d == a->ndim || a->shape[d] == out->shape[d]);
        char want[ASN_SHAPE_TEXT];
        if (!fits)
            return asn_error_set(
                ASN_ERR_VALUE,
                "%s: tensor %d of localOut must be floating and of out's "
                "shape %s, and of lse without the last dimension",
                c->op->name, k, asn_shape_text(want, out->ndim, out->shape));
    }
    if (type == 1 && c->first[4] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: lseOut is NULL, but updateType is 1", c->op->name);
    if (type == 1) ASN_TRY(asn_norm_check(c, 4, out->ndim - 1, out->shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    update_plan *p =
        asn_call_plan(c, update_body, sizeof *p,
                      300 + 2 * (double)asn_nd_size(out) * (double)lse->size);
    if (p == NULL) return ASN_ERR_MEMORY;
    /* Members of a list are operands on end: the first and their number say them all. */
    p->lse = c->first[0];
    p->local = c->first[1];
    p->count = (int)lse->size;
    p->out = c->first[3];
    p->lse_out = type == 1 ? c->first[4] : -1;
    return ASN_OK;
}

/* ---- RingAttentionUpdateV2(prevAttnOut, prevSoftmaxMax, prevSoftmaxSum, curAttnOut,
 * curSoftmaxMax, curSoftmaxSum, actualSeqQlenOptional, inputLayout, inputSoftmaxLayout,
 * attnOut, softmaxMaxOut, softmaxSumOut) */

/* Operands by role: [0] of the former part, [1] of this one, [2] the result. */
typedef struct {
    asnd_plan_head head;
    int out[3], max[3], sum[3];
    bool rows; /* TND */
} ring_plan;

/* v: one value of each row of a statistic, stretched over the columns. SBH: (B, N, S, 8)
 * over (S, B, N, columns); TND: (T, N, 8) over (T, N, columns). */
static void stretched(asnd_view *v, const asnd_nd *a, bool rows, int64_t columns) {
    static const int axes[] = {2, 0, 1};
    asn_view_set(v, a);
    asn_view_drop(v, a->ndim - 1);
    if (!rows) asn_view_permute(v, axes);
    asn_view_insert(v, 3 - rows, columns, 0);
}

/* v: out with its heads apart. */
static void by_heads(asnd_view *v, const asnd_nd *a, bool rows, int64_t heads) {
    asn_view_set(v, a);
    if (rows) return;
    int64_t d = heads ? v->shape[2] / heads : 0, step = v->strides[2];
    v->shape[2] = d;
    asn_view_insert(v, 2, heads, d * step);
}

/* Each part's l exp(m - m') as values, and their sum. shape: m's and l's. */
static int ring_weights(asnd_prog *p, const asnd_nd *const *m, const asnd_nd *const *l,
                        asn_dtype t, int w[2], int *top) {
    int a = value(p, m[0], t), b = value(p, m[1], t);
    *top = asn_prog_op2(p, ASN_OP_MAXIMUM, a, b);
    for (int k = 0; k < 2; k++)
        w[k] = asn_prog_op2(p, ASN_OP_MULTIPLY, value(p, l[k], t),
                            weight(p, k ? b : a, *top, t));
    return asn_prog_op2(p, ASN_OP_ADD, w[0], w[1]);
}

/* The output before the statistics, which may be the former ones' memory. */
static asn_status ring_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const ring_plan *r = plan;
    const asnd_nd *out = asn_exec_nd(e, r->out[2]), *max = asn_exec_nd(e, r->max[2]);
    asn_dtype t = out->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    int64_t heads = max->shape[1];
    asnd_view o[3], m[2], l[2], to[2];
    const asnd_nd *ms[2], *ls[2];
    asnd_prog p;
    /* w: the two weights; top: the joint maximum, as a value of the program. */
    int w[2], top;
    (void)tmp;
    for (int k = 0; k < 3; k++)
        by_heads(&o[k], asn_exec_nd(e, r->out[k]), r->rows, heads);
    for (int k = 0; k < 2; k++) {
        int64_t columns = o[0].shape[o[0].nd.ndim - 1];
        stretched(&m[k], asn_exec_nd(e, r->max[k]), r->rows, columns);
        stretched(&l[k], asn_exec_nd(e, r->sum[k]), r->rows, columns);
        ms[k] = &m[k].nd;
        ls[k] = &l[k].nd;
    }
    asn_prog_begin(&p, o[2].nd.ndim, o[2].shape, 0);
    int total = ring_weights(&p, ms, ls, t, w, &top), x[2];
    for (int k = 0; k < 2; k++)
        x[k] = asn_prog_op2(&p, ASN_OP_MULTIPLY, w[k], value(&p, &o[k].nd, t));
    int sum = asn_prog_op2(&p, ASN_OP_ADD, x[0], x[1]);
    int none = asn_prog_op2(&p, ASN_OP_EQUAL, total, asn_prog_const(&p, t, 0));
    sum = asn_prog_op3(&p, ASN_OP_WHERE, none, sum,
                       asn_prog_op2(&p, ASN_OP_DIVIDE, sum, total));
    asn_prog_out(&p, sum, &o[2].nd);
    ASN_TRY(asn_prog_run(&p));
    /* Once more over the statistics alone, in their own shape: each of the eight equal
     * columns is computed, as CANN has them. */
    for (int k = 0; k < 2; k++) {
        ms[k] = asn_exec_nd(e, r->max[k]);
        ls[k] = asn_exec_nd(e, r->sum[k]);
        asn_view_set(&to[k], asn_exec_nd(e, k ? r->sum[2] : r->max[2]));
    }
    asn_prog_begin(&p, max->ndim, max->shape, 0);
    total = ring_weights(&p, ms, ls, t, w, &top);
    asn_prog_out(&p, top, &to[0].nd);
    asn_prog_out(&p, total, &to[1].nd);
    return asn_prog_run(&p);
}

/* The ends of sequences are not needed: rows do not depend on each other. */
asn_status asn_planner_ring_attention_update(asnd_call *c) {
    const char *layout = c->args[7].p ? c->args[7].p : "SBH";
    const char *softmax = c->args[8].p ? c->args[8].p : "";
    bool rows = strcmp(layout, "TND") == 0;
    const asnd_nd *out = asn_call_nd(c, 0), *max = asn_call_nd(c, 1);
    bool known =
        (rows && (*softmax == 0 || strcmp(softmax, "TND") == 0)) ||
        (strcmp(layout, "SBH") == 0 && (*softmax == 0 || strcmp(softmax, "SBH") == 0));
    if (!known)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: inputLayout is \"%s\", inputSoftmaxLayout \"%s\"; they "
                             "must be \"SBH\" or \"TND\", the second the first or empty",
                             c->op->name, layout, softmax);
    /* SBH has heads and columns in one dimension, and N comes from the statistics; TND
     * has them apart in both. */
    bool fits =
        out->ndim == 3 && max->ndim == (rows ? 3 : 4) &&
        (rows ? max->shape[0] == out->shape[0] && max->shape[1] == out->shape[1]
              : max->shape[0] == out->shape[1] && max->shape[2] == out->shape[0] &&
                    max->shape[1] > 0 && out->shape[2] % max->shape[1] == 0) &&
        max->shape[max->ndim - 1] >= 1;
    char got[ASN_SHAPE_TEXT], of[ASN_SHAPE_TEXT];
    if (!fits)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: prevAttnOut has shape %s, prevSoftmaxMax %s; they must be "
            "(S, B, N * D) and (B, N, S, 8), or (T, N, D) and (T, N, 8)",
            c->op->name, asn_shape_text(got, out->ndim, out->shape),
            asn_shape_text(of, max->ndim, max->shape));
    /* Parameters: of the former part, of this one, of the result. */
    const int outs[] = {0, 3, 9}, stats[] = {1, 2, 4, 5, 10, 11};
    for (int k = 0; k < 3; k++)
        ASN_TRY(asn_norm_check(c, outs[k], out->ndim, out->shape));
    for (int k = 0; k < 6; k++)
        ASN_TRY(asn_norm_check(c, stats[k], max->ndim, max->shape));
    if (asn_call_operand(c, 10)->is_empty) return ASN_OK;
    ring_plan *p =
        asn_call_plan(c, ring_body, sizeof *p, 300 + 3 * (double)asn_nd_size(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < 3; k++) {
        p->out[k] = c->first[outs[k]];
        p->max[k] = c->first[stats[2 * k]];
        p->sum[k] = c->first[stats[2 * k + 1]];
    }
    p->rows = rows;
    return ASN_OK;
}
