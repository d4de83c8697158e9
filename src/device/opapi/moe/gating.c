/* CPU device, operators: the gate of a mixture of experts: scores of the experts, and the
 * k best of each token.
 *
 *     MoeGatingTopKSoftmax      y, expertIdx = topk(softmax(x), k)
 *     ... V2 with renorm 1      expertIdx = topk(x, k), y = softmax of those k
 *     MoeGatingTopK             s = softmax(x) or sigmoid(x); the experts are chosen by
 *         s + bias among the kGroup best groups of groupCount, a group being as good as
 *         its largest value or the sum of its two largest (DeepSeek-V3, 2024); y is s
 *         there, for sigmoid divided by its sum + eps, times routedScalingFactor
 *     ... V2                    the same; with a table, the experts of a token are those
 *         that the table has for its id (hashed layers: DeepSeek-V4), whatever the scores
 *
 * Equal scores go by the expert's number. Scores are computed in float32 (float64 for
 * float64) by fused programs, chosen by the device's topk.
 *
 * A gate reads few elements (experts of a token) beside what the experts then do: its
 * last steps, k numbers for each token, run on one thread.
 */
#include <math.h>

#include "device/cpu/sort/sort.h"
#include "device/opapi/moe/rows.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/nn/softmax.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x, bias, finished, y, expert, row, scores, ids, table;
    bool renorm, sigmoid;
    int64_t rows, n, k, groups, best_groups;
    bool two; /* a group's score is the sum of its two largest */
    double scale, eps;
} gate_plan;

/* v: the tensor (..., n) as a matrix; a copy where it is not contiguous. */
static asn_status matrix_of(const asnd_nd *a, int64_t rows, int64_t n, asnd_tmp *tmp,
                            asnd_view *v) {
    asnd_view packed;
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, &packed));
    asn_view_plain(v, a->dtype, 2, (int64_t[]){rows, n}, packed.nd.data);
    return ASN_OK;
}

/* Writes a matrix to a tensor of as many elements. */
static asn_status matrix_to(const asnd_nd *to, const asnd_view *v) {
    asnd_view from;
    asn_view_plain(&from, v->nd.dtype, to->ndim, to->shape, v->nd.data);
    return asn_move(to, &from.nd);
}

/* ---- with softmax */

/* expert: n for finished rows, which no expert has. */
static asn_status write_experts(aclOpExecutor *e, const gate_plan *p, asnd_view *expert,
                                asnd_tmp *tmp) {
    int64_t *at = (int64_t *)(void *)expert->nd.data;
    if (p->finished >= 0) {
        const bool *done = NULL;
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->finished), ASN_BOOL, tmp, &done));
        for (int64_t i = 0; i < p->rows; i++)
            for (int64_t j = 0; done[i] && j < p->k; j++)
                at[i * p->k + j] = p->n;
    }
    ASN_TRY(matrix_to(asn_exec_nd(e, p->expert), expert));
    if (p->row < 0) return ASN_OK;
    /* rowIdx numbers all choices: first the best of every token, then the second best, as
     * routing serves them where an expert has room for few. */
    for (int64_t i = 0; i < p->rows; i++) /* columns one after the other */
        for (int64_t j = 0; j < p->k; j++)
            at[i * p->k + j] = j * p->rows + i;
    return matrix_to(asn_exec_nd(e, p->row), expert);
}

/* The scores of all experts are made in the wide dtype even where they are not
 * asked for: the order of equal halves would else depend on their rounding. With
 * renorm the k best are taken first, since softmax keeps the order, and only those
 * are normalised. */
static asn_status softmax_gate_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const gate_plan *p = plan;
    const int64_t all[] = {p->rows, p->n}, best[] = {p->rows, p->k};
    asnd_view x, scores, y, expert;
    ASN_TRY(matrix_of(asn_exec_nd(e, p->x), p->rows, p->n, tmp, &x));
    asn_dtype wide = asn_wide_dtype(x.nd.dtype);
    ASN_TRY(asn_tmp_view(tmp, wide, 2, best, &y));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, best, &expert));
    ASN_TRY(asn_tmp_view(tmp, wide, 2, all, &scores));
    if (p->renorm) {
        ASN_TRY(asn_move(&scores.nd, &x.nd));
        ASN_TRY(
            asn_cpu_topk(&scores.nd, 1, p->k, ASN_SORT_DESCENDING, &y.nd, &expert.nd));
        ASN_TRY(asn_softmax(&y.nd, 1, &y.nd, tmp));
    } else {
        ASN_TRY(asn_softmax(&x.nd, 1, &scores.nd, tmp));
        if (p->scores >= 0) ASN_TRY(matrix_to(asn_exec_nd(e, p->scores), &scores));
        ASN_TRY(
            asn_cpu_topk(&scores.nd, 1, p->k, ASN_SORT_DESCENDING, &y.nd, &expert.nd));
    }
    ASN_TRY(matrix_to(asn_exec_nd(e, p->y), &y));
    return write_experts(e, p, &expert, tmp);
}

/* ---- with groups */

/* Scores of all groups but the best ones become -infinity. */
static asn_status keep_groups(const gate_plan *p, asnd_view *chosen, asnd_tmp *tmp) {
    int64_t each = p->n / p->groups, tops = p->two ? 2 : 1;
    /* chosen (rows, n) read as (rows, groups, n / groups). */
    asnd_view cut, top, best, score, hidden;
    asn_view_plain(&cut, chosen->nd.dtype, 3, (int64_t[]){p->rows, p->groups, each},
                   chosen->nd.data);
    ASN_TRY(
        asn_tmp_view(tmp, cut.nd.dtype, 3, (int64_t[]){p->rows, p->groups, tops}, &top));
    ASN_TRY(asn_cpu_topk(&cut.nd, 2, tops, ASN_SORT_DESCENDING, &top.nd, NULL));
    asn_view_set(&score, &top.nd);
    asn_view_slice(&score, 2, 0, 1, 1);
    asn_view_drop(&score, 2);
    if (p->two) {
        asnd_view second;
        asnd_prog g;
        asn_view_set(&second, &top.nd);
        asn_view_slice(&second, 2, 1, 1, 1);
        asn_view_drop(&second, 2);
        asn_prog_begin(&g, 2, score.shape, 0);
        int a = asn_prog_in(&g, &score.nd), b = asn_prog_in(&g, &second.nd);
        asn_prog_out(&g, asn_prog_op2(&g, ASN_OP_ADD, a, b), &score.nd);
        ASN_TRY(asn_prog_run(&g));
    }
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, (int64_t[]){p->rows, p->best_groups}, &best));
    ASN_TRY(
        asn_cpu_topk(&score.nd, 1, p->best_groups, ASN_SORT_DESCENDING, NULL, &best.nd));
    ASN_TRY(asn_tmp_view(tmp, ASN_BOOL, 3, (int64_t[]){p->rows, p->groups, 1}, &hidden));
    const int64_t *at = (const int64_t *)(void *)best.nd.data;
    bool *hide = (bool *)hidden.nd.data;
    for (int64_t i = 0; i < p->rows * p->groups; i++)
        hide[i] = true;
    for (int64_t i = 0; i < p->rows * p->best_groups; i++)
        hide[i / p->best_groups * p->groups + at[i]] = false;
    /* Hidden rather than cut out: positions in a row stay the experts' numbers. */
    asn_view_broadcast(&hidden, 3, cut.shape);
    asnd_prog g;
    asn_prog_begin(&g, 3, cut.shape, 0);
    int x = asn_prog_in(&g, &cut.nd), mask = asn_prog_in(&g, &hidden.nd);
    x = asn_prog_op3(&g, ASN_OP_WHERE, mask, asn_prog_const(&g, cut.nd.dtype, -INFINITY),
                     x);
    asn_prog_out(&g, x, &cut.nd);
    return asn_prog_run(&g);
}

/* y[i, j] = s[i, expert[i, j]], divided by the row's sum for sigmoid, times the scale. */
static void weigh(const gate_plan *p, const asnd_view *s, const asnd_view *expert,
                  asnd_view *y) {
    const int64_t *at = (const int64_t *)(void *)expert->nd.data;
    for (int64_t i = 0; i < p->rows; i++) {
        double sum = 0, v;
        for (int pass = 0; pass < 2; pass++)
            /* First pass: the sum; second: the weights. Softmax's scores are not divided
             * again: the k best keep the shares of all that they have. */
            for (int64_t j = 0; j < p->k; j++) {
                int64_t from = i * p->n + at[i * p->k + j], to = i * p->k + j;
                v = s->nd.dtype == ASN_F64 ? ((const double *)(void *)s->nd.data)[from]
                                           : ((const float *)(void *)s->nd.data)[from];
                if (pass == 0) {
                    sum += v;
                    continue;
                }
                v *= p->scale / (p->sigmoid ? sum + p->eps : 1);
                if (y->nd.dtype == ASN_F64)
                    ((double *)(void *)y->nd.data)[to] = v;
                else
                    ((float *)(void *)y->nd.data)[to] = (float)v;
            }
    }
}

/* expert: the table's row for each token's id. */
static asn_status look_up(aclOpExecutor *e, const gate_plan *p, const asnd_view *expert,
                          asnd_tmp *tmp) {
    const asnd_nd *table = asn_exec_nd(e, p->table);
    const int64_t *ids = NULL, *of = NULL;
    int64_t *to = (int64_t *)(void *)expert->nd.data;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->ids), ASN_I64, tmp, &ids));
    ASN_TRY(asn_packed_data(table, ASN_I64, tmp, &of));
    for (int64_t i = 0; i < p->rows; i++) {
        if (ids[i] < 0 || ids[i] >= table->shape[0])
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: inputIds has %lld; tid2eid has %lld rows", e->name,
                                 (long long)ids[i], (long long)table->shape[0]);
        for (int64_t j = 0; j < p->k; j++) {
            int64_t v = of[ids[i] * p->k + j];
            if (v < 0 || v >= p->n)
                return asn_error_set(ASN_ERR_INDEX,
                                     "%s: tid2eid has %lld; there are %lld experts",
                                     e->name, (long long)v, (long long)p->n);
            to[i * p->k + j] = v;
        }
    }
    return ASN_OK;
}

/* The bias only helps to choose: `chosen` is what experts are chosen by, `scores`
 * what they weigh. Groups that are not among the best are taken out of `chosen`
 * before the k best of all are looked for. */
static asn_status choose(aclOpExecutor *e, const gate_plan *p, const asnd_view *scores,
                         const asnd_view *expert, asnd_tmp *tmp) {
    asnd_view chosen, bias;
    asnd_prog g;
    ASN_TRY(asn_tmp_view(tmp, scores->nd.dtype, 2, scores->shape, &chosen));
    asn_prog_begin(&g, 2, scores->shape, 0);
    int v = asn_prog_in(&g, &scores->nd);
    if (p->bias >= 0) {
        asn_view_set(&bias, asn_exec_nd(e, p->bias));
        asn_view_broadcast(&bias, 2, scores->shape);
        v = asn_prog_op2(&g, ASN_OP_ADD, v,
                         asn_prog_as(&g, asn_prog_in(&g, &bias.nd), scores->nd.dtype));
    }
    asn_prog_out(&g, v, &chosen.nd);
    ASN_TRY(asn_prog_run(&g));
    if (p->groups > 1) ASN_TRY(keep_groups(p, &chosen, tmp));
    return asn_cpu_topk(&chosen.nd, 1, p->k, ASN_SORT_DESCENDING, NULL, &expert->nd);
}

/* Scores in the wide dtype, k experts, their weights. */
static asn_status group_gate_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const gate_plan *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->x);
    asn_dtype wide = asn_wide_dtype(x->dtype);
    asnd_view scores, y, expert;
    asnd_prog g;
    ASN_TRY(asn_tmp_view(tmp, wide, 2, x->shape, &scores));
    ASN_TRY(asn_tmp_view(tmp, wide, 2, (int64_t[]){p->rows, p->k}, &y));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, (int64_t[]){p->rows, p->k}, &expert));
    if (p->sigmoid) {
        asn_prog_begin(&g, 2, x->shape, 0);
        int v = asn_prog_as(&g, asn_prog_in(&g, x), wide);
        asn_prog_out(&g, asn_prog_op1(&g, ASN_OP_SIGMOID, v), &scores.nd);
        ASN_TRY(asn_prog_run(&g));
    } else {
        ASN_TRY(asn_softmax(x, 1, &scores.nd, tmp));
    }
    if (p->scores >= 0) ASN_TRY(asn_move(asn_exec_nd(e, p->scores), &scores.nd));
    if (p->table >= 0)
        ASN_TRY(look_up(e, p, &expert, tmp));
    else
        ASN_TRY(choose(e, p, &scores, &expert, tmp));
    weigh(p, &scores, &expert, &y);
    ASN_TRY(asn_move(asn_exec_nd(e, p->y), &y.nd));
    return asn_move(asn_exec_nd(e, p->expert), &expert.nd);
}

/* ---- planners */

/* y and expertIdx (rowIdx) have x's shape with k columns. */
static asn_status check_best(const asnd_call *c, int64_t k) {
    static const char *const names[] = {"yOut", "expertIdxOut", "rowIdxOut"};
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS] = {0};
    for (int d = 0; d < x->ndim; d++)
        shape[d] = x->shape[d];
    if (k < 1 || k > shape[x->ndim - 1])
        return asn_error_set(ASN_ERR_VALUE, "%s: k is %lld; x has %lld experts",
                             c->op->name, (long long)k, (long long)shape[x->ndim - 1]);
    /* (rows, k) or (batch, rows, k), as x is (rows, n) or (batch, rows, n). */
    shape[x->ndim - 1] = k;
    for (int i = 0; i < 3; i++) {
        int at = asn_call_param_named(c, names[i]);
        if (at < 0) continue;
        ASN_TRY(asn_call_same_shape(c, at, x->ndim, shape));
        if (i == 0)
            ASN_TRY(asn_call_same_dtype(c, at, 0));
        else
            ASN_TRY(asn_call_position_dtype(c, at));
    }
    return ASN_OK;
}

/* Nothing is planned for no tokens: outputs are empty, too. The estimate of the
 * work (10 an expert) is of the sort, not of the softmax. */
static asn_status plan_of(asnd_call *c, const gate_plan *plan, asnd_body_fn fn) {
    if (asn_nd_size(asn_call_nd(c, 0)) == 0) return ASN_OK;
    return asn_call_keep(c, fn, plan, sizeof *plan,
                         500 + 10 * (double)asn_nd_size(asn_call_nd(c, 0)));
}

/* MoeGatingTopKSoftmax(x, finished, k, yOut, expertIdxOut, rowIdxOut), V2(x, finished, k,
 * renorm, outputSoftmaxResultFlag, yOut, expertIdxOut, softmaxResultOut). */
asn_status asn_planner_moe_gate(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *done = asn_call_nd(c, 1);
    int renorm = asn_call_param_named(c, "renorm"),
        flag = asn_call_param_named(c, "outputSoftmaxResultFlag"),
        all = asn_call_param_named(c, "softmaxResultOutOptional");
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 3));
    ASN_TRY(check_best(c, asn_call_int(c, 2)));
    if (done != NULL) {
        ASN_TRY(asn_call_one_of(c, 1, ASN_BIT(ASN_BOOL)));
        ASN_TRY(asn_call_same_shape(c, 1, x->ndim - 1, x->shape));
    }
    int64_t n = x->shape[x->ndim - 1];
    gate_plan p = {.x = c->first[0], .bias = -1, .finished = c->first[1], .scores = -1};
    p.y = asn_call_operand_named(c, "yOut");
    p.expert = asn_call_operand_named(c, "expertIdxOut");
    p.row = asn_call_operand_named(c, "rowIdxOut");
    p.n = n;
    p.k = asn_call_int(c, 2);
    p.rows = n == 0 ? 0 : asn_nd_size(x) / n;
    if (renorm >= 0) {
        int64_t value = asn_call_int(c, renorm);
        if (value != 0 && value != 1)
            return asn_error_set(ASN_ERR_VALUE, "%s: renorm is %lld; it must be 0 or 1",
                                 c->op->name, (long long)value);
        p.renorm = value == 1;
        if (!p.renorm && asn_call_int(c, flag) != 0) {
            if (c->first[all] < 0)
                return asn_error_set(ASN_ERR_NULL_POINTER,
                                     "%s: softmaxResultOut is NULL, but "
                                     "outputSoftmaxResultFlag asks for it",
                                     c->op->name);
            ASN_TRY(asn_call_floating(c, all));
            ASN_TRY(asn_call_same_shape(c, all, x->ndim, x->shape));
            p.scores = c->first[all];
        }
    }
    return plan_of(c, &p, softmax_gate_body);
}

/* V2's inputIds (one for each token) and tid2eid (rows of k experts), or neither. */
static asn_status take_table(const asnd_call *c, int64_t rows, int64_t k, gate_plan *p) {
    int ids = asn_call_param_named(c, "inputIdsOptional"), table = ids + 1;
    p->ids = p->table = -1;
    if (ids < 0 || (c->first[ids] < 0 && c->first[table] < 0)) return ASN_OK;
    /* inputIds (rows), tid2eid (ids, k): an id that nobody's row has is the body's error.
     */
    if (c->first[ids] < 0 || c->first[table] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: inputIds and tid2eid are given both or not at all",
                             c->op->name);
    ASN_TRY(asn_call_position_dtype(c, ids));
    ASN_TRY(asn_call_position_dtype(c, table));
    ASN_TRY(asn_call_same_shape(c, ids, 1, &rows));
    ASN_TRY(asn_call_rank(c, table, 2, 2));
    ASN_TRY(asn_call_same_shape(c, table, 2,
                                (int64_t[]){asn_call_nd(c, table)->shape[0], k}));
    p->ids = c->first[ids];
    p->table = c->first[table];
    return ASN_OK;
}

/* MoeGatingTopK(x, bias, k, kGroup, groupCount, groupSelectMode, renorm, normType,
 * outFlag, routedScalingFactor, eps, yOut, expertIdxOut, outOut), V2 with inputIds and
 * tid2eid behind the bias. */
asn_status asn_planner_moe_group_gate(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    const int at = asn_call_param_named(c, "k"), out = c->op->num_params - 1;
    int64_t k = asn_call_int(c, at), best = asn_call_int(c, at + 1),
            groups = asn_call_int(c, at + 2);
    int64_t mode = asn_call_int(c, at + 3), norm = asn_call_int(c, at + 5);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(check_best(c, k));
    int64_t n = x->shape[1];
    if (c->first[1] >= 0) {
        ASN_TRY(asn_call_floating(c, 1));
        ASN_TRY(asn_call_same_shape(c, 1, 1, &n));
    }
    /* The best groups must have k experts between them, or hidden ones would be chosen.
     */
    if (groups < 1 || n % groups != 0 || best < 1 || best > groups ||
        best * (n / groups) < k || (mode == 1 && groups > 1 && n / groups < 2))
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: groupCount %lld, kGroup %lld, k %lld, %lld experts; groups must be of "
            "one size (two at least for groupSelectMode 1), and the best have k experts",
            c->op->name, (long long)groups, (long long)best, (long long)k, (long long)n);
    if (mode < 0 || mode > 1 || norm < 0 || norm > 1 || asn_call_int(c, at + 4) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groupSelectMode is %lld, normType %lld, renorm %lld; "
                             "the first two must be 0 or 1, renorm 0",
                             c->op->name, (long long)mode, (long long)norm,
                             (long long)asn_call_int(c, at + 4));
    gate_plan p = {.x = c->first[0], .bias = c->first[1], .finished = -1, .row = -1};
    p.scores = -1;
    ASN_TRY(take_table(c, x->shape[0], k, &p));
    if (asn_call_int(c, at + 6) != 0) {
        if (c->first[out] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: outOut is NULL, but outFlag asks for it",
                                 c->op->name);
        ASN_TRY(asn_norm_check(c, out, 2, x->shape));
        p.scores = c->first[out];
    }
    p.y = c->first[out - 2];
    p.expert = c->first[out - 1];
    p.sigmoid = norm == 1;
    p.two = mode == 1;
    p.rows = x->shape[0];
    p.n = n;
    p.k = k;
    p.groups = groups;
    p.best_groups = best;
    p.scale = asn_call_double(c, at + 7);
    p.eps = asn_call_double(c, at + 8);
    return plan_of(c, &p, group_gate_body);
}
