/* CPU device, operators: tokens permuted to the experts' order and summed back, with
 * their gradients, as in Megatron's permute and unpermute.
 *
 *     MoeTokenPermute           order sorts the indices (tokens, K): permuted[p] =
 *                               tokens[order[p] / K], sortedIndices[order[p]] = p
 *     MoeTokenUnpermute         out[t] = sum over k of permuted[sortedIndices[t K + k]] *
 *                               probs[t, k]
 *
 * numOutTokens cuts permuted off (0: all; below 0: so many from the end); entries that
 * are cut off add nothing on the way back. Each operator's gradient is the other's way:
 * that of probs is the sum of a row of permuted times the token's gradient.
 */
#include "device/opapi/moe/rows.h"

#include "device/opapi/core/program.h"
#include "device/opapi/moe/permute.h"

/* ---- what the gradients share */

/* The gradient of a sum of rows: each row that was summed gets the sum's gradient,
 * times its weight where there is one. Rows that no place names are 0, for they
 * were dropped. */
asn_status asn_moe_spread(const asnd_nd *grad, const int64_t *token, const int64_t *row,
                          const void *weight, int64_t n, const asnd_nd *to,
                          asnd_tmp *tmp) {
    asn_dtype wide = asn_wide_dtype(to->dtype);
    asnd_view taken, by;
    ASN_TRY(asn_tmp_view(tmp, grad->dtype, 2, (int64_t[]){n, grad->shape[1]}, &taken));
    ASN_TRY(asn_rows_move(&taken.nd, NULL, grad, token, n, tmp));
    if (weight != NULL && asn_nd_size(&taken.nd) > 0) {
        asnd_prog g;
        asn_view_plain(&by, wide, 2, (int64_t[]){n, 1}, (void *)(uintptr_t)weight);
        asn_view_broadcast(&by, 2, taken.shape);
        asn_prog_begin(&g, 2, taken.shape, 0);
        int v = asn_prog_as(&g, asn_prog_in(&g, &taken.nd), wide);
        v = asn_prog_op2(&g, ASN_OP_MULTIPLY, v, asn_prog_in(&g, &by.nd));
        asn_prog_out(&g, v, &taken.nd);
        ASN_TRY(asn_prog_run(&g));
    }
    /* Rows that no entry names are 0; programs may name one twice. */
    int64_t *last = NULL;
    asnd_view same;
    ASN_TRY(asn_rows_last(row, n, to->shape[0], tmp, &last));
    ASN_TRY(asn_packed_of(&taken.nd, to->dtype, tmp, &same));
    return asn_rows_move(to, NULL, &same.nd, last, to->shape[0], tmp);
}

/* The gradient of a weight: the scalar product of the row that it weighed and the
 * gradient of the row that this went to. The rows are gathered, then multiplied and
 * summed by a fused reduction in the result's dtype (float32, or float64). */
asn_status asn_moe_dots(const asnd_nd *a, const int64_t *a_row, const asnd_nd *b,
                        const int64_t *b_row, int64_t n, const asnd_nd *to,
                        asnd_tmp *tmp) {
    int64_t h = a->shape[1];
    asnd_view x, y, sum;
    ASN_TRY(asn_tmp_view(tmp, a->dtype, 2, (int64_t[]){n, h}, &x));
    ASN_TRY(asn_tmp_view(tmp, b->dtype, 2, (int64_t[]){n, h}, &y));
    ASN_TRY(asn_rows_move(&x.nd, NULL, a, a_row, n, tmp));
    ASN_TRY(asn_rows_move(&y.nd, NULL, b, b_row, n, tmp));
    asn_view_set(&sum, to);
    asn_view_insert(&sum, 1, 1, 0);
    asn_view_broadcast(&sum, 2, x.shape);
    asnd_prog g;
    asn_prog_begin(&g, 2, x.shape, 2);
    int v = asn_prog_as(&g, asn_prog_in(&g, &x.nd), to->dtype);
    v = asn_prog_op2(&g, ASN_OP_MULTIPLY, v,
                     asn_prog_as(&g, asn_prog_in(&g, &y.nd), to->dtype));
    asn_prog_reduce(&g, ASN_OP_ADD, v, &sum.nd);
    return asn_prog_run(&g);
}

/* ---- by indices */

/* Sorting is stable: of one expert tokens stay in their order, which the gradient
 * relies on, as it adds them up in that order. */
static asn_status permute_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *tokens = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[4]);
    const int64_t *numbers = NULL;
    int64_t n = p->n[0], k = p->n[1], *order = NULL, *place = NULL;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_I64, tmp, &numbers));
    ASN_TRY(asn_rows_ints(tmp, n, &order));
    ASN_TRY(asn_rows_ints(tmp, n, &place));
    ASN_TRY(asn_rows_order(numbers, n, order, NULL));
    for (int64_t i = 0; i < n; i++) {
        place[order[i]] = i;
        order[i] /= k;
    }
    ASN_TRY(asn_rows_write(asn_exec_nd(e, p->at[5]), place));
    return asn_rows_move(out, NULL, tokens, order, out->shape[0], tmp);
}

/* paddedMode is for indices of a form that CANN does not take yet. */
static asn_status check_padded(const asnd_call *c, int i) {
    if (asn_call_int(c, i) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: paddedMode is true; it must be false",
                         c->op->name);
}

/* MoeTokenPermute(tokens, indices, numOutTokens, paddedMode, permuteTokensOut,
 * sortedIndicesOut) */
asn_status asn_planner_moe_permute(asnd_call *c) {
    const asnd_nd *tokens = asn_call_nd(c, 0), *idx = asn_call_nd(c, 1);
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 1, 2));
    ASN_TRY(asn_call_position_dtype(c, 1));
    ASN_TRY(check_padded(c, 3));
    if (idx->shape[0] != tokens->shape[0])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: indices have %lld rows, tokens %lld; they must have as "
                             "many",
                             c->op->name, (long long)idx->shape[0],
                             (long long)tokens->shape[0]);
    int64_t n = asn_nd_size(idx), cut = asn_call_int(c, 2);
    int64_t rows = cut > 0 ? (cut < n ? cut : n) : n + cut;
    if (rows < 0) rows = 0;
    ASN_TRY(asn_call_same_dtype(c, 4, 0));
    ASN_TRY(asn_call_same_shape(c, 4, 2, (int64_t[]){rows, tokens->shape[1]}));
    ASN_TRY(asn_call_position_dtype(c, 5));
    ASN_TRY(asn_call_same_shape(c, 5, 1, &n));
    if (n == 0) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, permute_body, 500 + (double)(n * tokens->shape[1]));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = n;
    p->n[1] = idx->ndim == 2 ? idx->shape[1] : 1;
    return ASN_OK;
}

/* The sorted indices, those beyond the rows that are left made -1. */
static asn_status rows_left(const asnd_nd *a, int64_t rows, asnd_tmp *tmp, int64_t **at) {
    const int64_t *given = NULL;
    int64_t n = asn_nd_size(a);
    ASN_TRY(asn_packed_data(a, ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, n, at));
    for (int64_t i = 0; i < n; i++) {
        if (given[i] < 0 || given[i] >= n)
            return asn_error_set(ASN_ERR_INDEX,
                                 "sortedIndices has %lld; it has %lld "
                                 "elements, which say where each other is",
                                 (long long)given[i], (long long)n);
        (*at)[i] = given[i] < rows ? given[i] : -1;
    }
    return ASN_OK;
}

/* Both sums: n[0] tokens of n[1] entries; at[]: rows, indices, probs, out. */
typedef struct {
    asnd_plan_head head;
    int from, at, probs, out, grad, probs_grad; /* -1: absent */
    int64_t tokens, k;
} unpermute_plan;

/* Without probs each weight is 1, and the sum is MoeTokenPermute's gradient. Places
 * beyond the rows that are left were dropped, and add nothing. */
static asn_status unpermute_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const unpermute_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->from), *out = asn_exec_nd(e, p->out);
    int64_t *at = NULL, *start = NULL;
    ASN_TRY(rows_left(asn_exec_nd(e, p->at), from->shape[0], tmp, &at));
    ASN_TRY(asn_rows_even(tmp, p->tokens, p->k, &start));
    asnd_rows_sum s = {.from = from, .start = start, .at = at};
    if (p->probs >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->probs), asn_wide_dtype(out->dtype), tmp,
                                &s.weight));
    return asn_rows_sum(&s, out, tmp);
}

/* grad of permuted: grad[at[i]] = dy[i / K] * probs[i]; of probs[i]: permuted[at[i]] .
 * dy[i / K]. */
static asn_status unpermute_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const unpermute_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->from), *dy = asn_exec_nd(e, p->grad);
    const asnd_nd *out = asn_exec_nd(e, p->out);
    const void *weight = NULL;
    int64_t n = p->tokens * p->k, *at = NULL, *token = NULL;
    asn_dtype wide = asn_wide_dtype(out->dtype);
    asnd_view sums;
    ASN_TRY(rows_left(asn_exec_nd(e, p->at), from->shape[0], tmp, &at));
    ASN_TRY(asn_rows_ints(tmp, n, &token));
    for (int64_t i = 0; i < n; i++)
        token[i] = i / p->k;
    if (p->probs >= 0) {
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->probs), wide, tmp, &weight));
        if (p->probs_grad >= 0) {
            const asnd_nd *to = asn_exec_nd(e, p->probs_grad);
            asnd_view back;
            ASN_TRY(asn_tmp_view(tmp, wide, 1, &n, &sums));
            ASN_TRY(asn_moe_dots(from, at, dy, token, n, &sums.nd, tmp));
            asn_view_plain(&back, wide, 2, to->shape, sums.nd.data);
            ASN_TRY(asn_move(to, &back.nd));
        }
    }
    return asn_moe_spread(dy, token, at, weight, n, out, tmp);
}

/* The shapes of a sum back: rows (n at most, h), indices (n), probs (tokens, K), and
 * `tokens` rows in parameter `sum`. */
static asn_status check_back(const asnd_call *c, int at, int probs, int sum,
                             unpermute_plan *p) {
    const asnd_nd *rows = asn_call_nd(c, 0), *y = asn_call_nd(c, sum);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, sum));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, sum, 2, 2));
    ASN_TRY(asn_call_rank(c, at, 1, 1));
    ASN_TRY(asn_call_position_dtype(c, at));
    int64_t n = asn_call_nd(c, at)->shape[0];
    p->tokens = y->shape[0];
    p->k = p->tokens > 0 ? n / p->tokens : 0;
    if (p->k * p->tokens != n || rows->shape[1] != y->shape[1] || rows->shape[0] > n)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld rows of %lld elements, %lld sortedIndices, %lld "
                             "tokens of %lld; there must be as many indices for each "
                             "token, an index for each row at least",
                             c->op->name, (long long)rows->shape[0],
                             (long long)rows->shape[1], (long long)n,
                             (long long)y->shape[0], (long long)y->shape[1]);
    p->from = c->first[0];
    p->at = c->first[at];
    p->probs = probs < 0 ? -1 : c->first[probs];
    if (p->probs < 0) return ASN_OK;
    ASN_TRY(asn_call_floating(c, probs));
    return asn_call_same_shape(c, probs, 2, (int64_t[]){p->tokens, p->k});
}

/* What the three ways back share. Without rows and without tokens there is nothing
 * to do; with tokens alone the outputs must still be set to 0. */
static asn_status plan_back(asnd_call *c, asnd_body_fn fn, const unpermute_plan *plan) {
    if (asn_call_operand(c, 0)->is_empty && plan->tokens == 0) return ASN_OK;
    return asn_call_keep(c, fn, plan, sizeof *plan,
                         500 + (double)asn_nd_size(asn_call_nd(c, 0)));
}

/* MoeTokenUnpermute(permutedTokens, sortedIndices, probs, paddedMode, restoreShape, out);
 * MoeTokenPermuteGrad(permutedOutputGrad, sortedIndices, numTopk, paddedMode, out), arg
 * 1, is that sum without probs. */
asn_status asn_planner_moe_unpermute(asnd_call *c) {
    bool grad = c->op->arg == 1;
    int out = grad ? 4 : 5;
    unpermute_plan p = {0};
    ASN_TRY(check_padded(c, 3));
    ASN_TRY(check_back(c, 1, grad ? -1 : 2, out, &p));
    if (grad && asn_call_int(c, 2) != p.k)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numTopk is %lld; a token has %lld indices", c->op->name,
                             (long long)asn_call_int(c, 2), (long long)p.k);
    p.out = c->first[out];
    return plan_back(c, unpermute_body, &p);
}

/* MoeTokenUnpermuteGrad(permutedTokens, unpermutedTokensGrad, sortedIndices, probs,
 * paddedMode, restoreShape, permutedTokensGradOut, probsGradOut) */
asn_status asn_planner_moe_unpermute_grad(asnd_call *c) {
    unpermute_plan p = {0};
    ASN_TRY(check_padded(c, 4));
    ASN_TRY(check_back(c, 2, 3, 1, &p));
    ASN_TRY(asn_call_floating(c, 6));
    ASN_TRY(asn_call_same_shape(c, 6, 2, asn_call_nd(c, 0)->shape));
    p.grad = c->first[1];
    p.out = c->first[6];
    p.probs_grad = p.probs < 0 ? -1 : c->first[7];
    if (p.probs_grad >= 0) {
        ASN_TRY(asn_call_floating(c, 7));
        ASN_TRY(asn_call_same_shape(c, 7, 2, (int64_t[]){p.tokens, p.k}));
    }
    return plan_back(c, unpermute_grad_body, &p);
}
