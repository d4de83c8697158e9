/* CPU device, operators: the experts' results summed for each token.
 *
 *     out[i] = x1[i] + x2[i] + sum over k of
 *              scales[i, k] * (expandedX[expandedRowIdx[at]] + bias[expertIdx[i, k]])
 *
 * `at` is i + k * rows (MoeFinalizeRouting, dropPadMode 0 and 1) or i * K + k (modes 2
 * and 3). Modes 1 and 3 take expandedX as (experts, capacity, h), and a place of -1 adds
 * nothing. x1, x2, bias and scales may be absent.
 *
 * One pass over the output: a row's terms are added while it is in a cache, and rounded
 * once at the end (asn_rows_sum).
 */
#include "device/opapi/moe/rows.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int from, at, plus[2], bias, scales, expert, out;
    int64_t rows, k;
    bool by_row, drops;
} finalize_plan;

/* Places are checked before anything is written: asn_rows_sum checks those that are
 * too large, the loop here the negative ones, which mean something only where rows
 * may be dropped. */
static asn_status finalize_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const finalize_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->from), *out = asn_exec_nd(e, p->out);
    const int64_t *given = NULL;
    int64_t *at = NULL, *start = NULL, n = p->rows * p->k;
    asnd_view matrix;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at), ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, n, &at));
    ASN_TRY(asn_rows_even(tmp, p->rows, p->k, &start));
    for (int64_t i = 0; i < n; i++) {
        at[i] = given[p->by_row ? i : i / p->k + i % p->k * p->rows];
        if (at[i] < (p->drops ? -1 : 0))
            return asn_error_set(ASN_ERR_INDEX, "expandedRowIdx has the place %lld",
                                 (long long)at[i]);
    }
    asn_view_set(&matrix, from);
    if (from->ndim == 3) {
        ASN_TRY(asn_packed_of(from, from->dtype, tmp, &matrix));
        asn_view_plain(&matrix, from->dtype, 2,
                       (int64_t[]){from->shape[0] * from->shape[1], from->shape[2]},
                       matrix.nd.data);
    }
    asnd_rows_sum s = {.from = &matrix.nd, .start = start, .at = at};
    for (int k = 0; k < 2; k++)
        if (p->plus[k] >= 0) s.plus[k] = asn_exec_nd(e, p->plus[k]);
    if (p->bias >= 0) {
        s.bias = asn_exec_nd(e, p->bias);
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->expert), ASN_I64, tmp, &s.expert));
    }
    if (p->scales >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->scales), asn_wide_dtype(out->dtype),
                                tmp, &s.weight));
    return asn_rows_sum(&s, out, tmp);
}

/* Parameter i, if it is there, is of expandedX's dtype and of this shape. */
static asn_status check_like(const asnd_call *c, int i, const int64_t *shape) {
    if (c->first[i] < 0) return ASN_OK;
    ASN_TRY(asn_call_floating(c, i));
    return asn_call_same_shape(c, i, 2, shape);
}

/* V4's experts without weights (those that give 0, the token or a constant) are not
 * here: what tells them must be absent. Without scales k says how many places a row has.
 */
static asn_status check_plain_experts(const asnd_call *c, int64_t k) {
    static const char *const none[] = {"xOptional",
                                       "alpha1Optional",
                                       "alpha2Optional",
                                       "vOptional",
                                       "zeroExpertRangeOptional",
                                       "copyExpertRangeOptional",
                                       "constantExpertRangeOptional"};
    int i = asn_call_param_named(c, "k");
    if (i < 0) return ASN_OK;
    for (size_t n = 0; n < sizeof none / sizeof *none; n++) {
        int at = asn_call_param_named(c, none[n]);
        bool range = c->op->params[at].kind == ASN_INTS;
        if (range ? c->args[at].p != NULL && asn_call_array(c, at)->size > 0
                  : c->first[at] >= 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is given; it must be NULL",
                                 c->op->name, none[n]);
    }
    if (asn_call_operand_named(c, "scalesOptional") >= 0 || asn_call_int(c, i) == k)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: k is %lld; expandedRowIdx has %lld places for each row",
                         c->op->name, (long long)asn_call_int(c, i), (long long)k);
}

/* MoeFinalizeRouting(expandedX, x1, x2, bias, scales, expandedRowIdx, expandedExpertIdx,
 * out), V2(expandedX, expandedRowIdx, x1, x2, bias, scales, expertIdx, dropPadMode, out),
 * V4 with more between expertIdx and dropPadMode, and behind that. */
asn_status asn_planner_moe_finalize(asnd_call *c) {
    bool v2 = c->op->arg == 1;
    const int at = v2 ? 1 : 5, x1 = v2 ? 2 : 1, bias = x1 + 2, scales = x1 + 3,
              expert = 6, out = c->op->num_params - 1;
    const asnd_nd *x = asn_call_nd(c, 0), *y = asn_call_nd(c, out);
    int64_t mode = v2 ? asn_call_int(c, asn_call_param_named(c, "dropPadMode")) : 0;
    if (mode < 0 || mode > 3)
        return asn_error_set(ASN_ERR_VALUE, "%s: dropPadMode is %lld; it must be 0 to 3",
                             c->op->name, (long long)mode);
    finalize_plan plan = {.by_row = mode >= 2, .drops = mode % 2 == 1};
    int rank = plan.drops ? 3 : 2;
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, out));
    ASN_TRY(asn_call_rank(c, 0, rank, rank));
    ASN_TRY(asn_call_rank(c, out, 2, 2));
    ASN_TRY(asn_call_rank(c, at, 1, 1));
    ASN_TRY(asn_call_position_dtype(c, at));
    int64_t rows = y->shape[0], h = y->shape[1], n = asn_call_nd(c, at)->shape[0];
    int64_t k = rows > 0 ? n / rows : 0;
    if (n != k * rows || x->shape[rank - 1] != h || (!plan.drops && x->shape[0] != n))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld places for %lld rows of %lld elements, expandedX "
                             "has %lld rows of %lld; there must be as many places for "
                             "each row, and a row of expandedX for each, if none is "
                             "dropped",
                             c->op->name, (long long)n, (long long)rows, (long long)h,
                             (long long)x->shape[0], (long long)x->shape[rank - 1]);
    ASN_TRY(check_plain_experts(c, k));
    ASN_TRY(check_like(c, x1, y->shape));
    ASN_TRY(check_like(c, x1 + 1, y->shape));
    ASN_TRY(check_like(c, scales, (int64_t[]){rows, k}));
    if (c->first[expert] >= 0) {
        ASN_TRY(asn_call_position_dtype(c, expert));
        ASN_TRY(asn_call_same_shape(c, expert, 2, (int64_t[]){rows, k}));
    }
    if (c->first[bias] >= 0) {
        ASN_TRY(asn_call_floating(c, bias));
        ASN_TRY(asn_call_rank(c, bias, 2, 2));
        ASN_TRY(check_like(c, bias, (int64_t[]){asn_call_nd(c, bias)->shape[0], h}));
        if (c->first[expert] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: %s is NULL, but there is a bias", c->op->name,
                                 c->op->params[expert].name);
    }
    if (asn_nd_size(y) == 0) return ASN_OK;
    plan.from = c->first[0];
    plan.at = c->first[at];
    plan.plus[0] = c->first[x1];
    plan.plus[1] = c->first[x1 + 1];
    plan.bias = c->first[bias];
    plan.scales = c->first[scales];
    plan.expert = c->first[expert];
    plan.out = c->first[out];
    plan.rows = rows;
    plan.k = k;
    return asn_call_keep(c, finalize_body, &plan, sizeof plan, 500 + (double)(n * h));
}
