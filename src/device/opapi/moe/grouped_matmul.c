/* CPU device, operators: a matrix product for each group, as the experts of a mixture
 * multiply the tokens that were routed to them.
 *
 *     GroupedMatmul      y_i = x_i @ weight_i + bias_i; groupType -1: x, weight and y are
 *         lists of each group's; 0: groups are rows of x, which may be one tensor, as may
 *         be y; weight is a list or (groups, k, n); 2: groups are columns of x and rows
 * of weight, one tensor each, y (groups, m, n)
 *     GroupedMatmulAdd   y_i += x_i @ weight_i of groupType 2
 *
 * groupList has the ends of the groups, or (groupListType 1) their sizes. Rows of y
 * behind the last group are 0. A product is the device's gemm, with the bias as what it
 * adds to; halves accumulate in float32 and are rounded once.
 *
 * Groups go one after the other, each on all threads: experts have different numbers of
 * tokens, and a group on a thread of its own would have the longest one run alone.
 */
#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/moe/grouped_quant.h"

/* First operands and numbers of the lists; list: the operand of groupList, -1: absent, or
 * ends[] holds it. */
typedef struct {
    asnd_plan_head head;
    int x, weight, bias, y, list;
    int64_t num_x, num_weight, num_y, groups;
    int type;
    bool sizes, adds, turn_x, turn_weight;
    int64_t *ends; /* in the executor; NULL: in `list`, or none */
} grouped_plan;

/* ends[i] of each group, from groupList, within `all`. */
static asn_status read_ends(aclOpExecutor *e, const grouped_plan *p, int64_t all,
                            asnd_tmp *tmp, const int64_t **ends) {
    const int64_t *given = p->ends;
    if (p->ends == NULL)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->list), ASN_I64, tmp, &given));
    return asn_packed_ends(e, "groupList", given, p->groups, p->sizes, all, tmp, ends);
}

/* c = a @ b + bias, or c += a @ b; matrices. */
static asn_status multiply(const asnd_view *a, const asnd_view *b, const asnd_nd *bias,
                           const asnd_view *c, bool adds, asnd_tmp *tmp) {
    if (a->shape[1] != b->shape[0] || c->shape[0] != a->shape[0] ||
        c->shape[1] != b->shape[1])
        return asn_error_set(
            ASN_ERR_VALUE,
            "GroupedMatmul: a group is (%lld, %lld) by (%lld, %lld), its "
            "result (%lld, %lld)",
            (long long)a->shape[0], (long long)a->shape[1], (long long)b->shape[0],
            (long long)b->shape[1], (long long)c->shape[0], (long long)c->shape[1]);
    if (asn_nd_size(&c->nd) == 0) return ASN_OK;
    /* In the result's dtype, but for what is added in a wider one. */
    /* asn_cpu_gemm rounds halves once by itself; a bias of float32 under a result of
     * halves must be added before that rounding. */
    asn_dtype loop = c->nd.dtype;
    if (bias != NULL && bias->dtype != loop) loop = asn_wide_dtype(loop);
    asnd_view x, y, sum, line;
    ASN_TRY(asn_tmp_as(tmp, &a->nd, loop, &x));
    ASN_TRY(asn_tmp_as(tmp, &b->nd, loop, &y));
    bool direct = loop == c->nd.dtype && !asn_nds_meet(&a->nd, &c->nd) &&
                  !asn_nds_meet(&b->nd, &c->nd);
    asn_view_set(&sum, &c->nd);
    if (!direct) ASN_TRY(asn_tmp_view(tmp, loop, 2, c->shape, &sum));
    if (adds && !direct) ASN_TRY(asn_move(&sum.nd, &c->nd));
    if (bias != NULL) {
        asn_view_set(&line, bias);
        asn_view_broadcast(&line, 2, c->shape);
        ASN_TRY(asn_move(&sum.nd, &line.nd));
    }
    const double one = 1, zero = 0, beta = adds || bias != NULL ? one : zero;
    const float one_f = 1, beta_f = (float)beta;
    bool f64 = loop == ASN_F64;
    ASN_TRY(asn_cpu_gemm(f64 ? (const void *)&one : &one_f, &x.nd, &y.nd,
                         f64 ? (const void *)&beta : &beta_f, &sum.nd));
    return direct ? ASN_OK : asn_move(&c->nd, &sum.nd);
}

/* v: a tensor (..., k) as a matrix, in place where it is contiguous. */
static asn_status matrix_of(const asnd_nd *a, asnd_tmp *tmp, asnd_view *v) {
    asn_view_set(v, a);
    if (a->ndim == 2) return ASN_OK;
    int64_t k = a->shape[a->ndim - 1], shape[] = {k > 0 ? asn_nd_size(a) / k : 0, k};
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, v));
    asn_view_plain(v, a->dtype, 2, shape, v->nd.data);
    return ASN_OK;
}

/* Group i's matrix of a list, or of one tensor with the groups in front. */
static void member(asnd_view *v, aclOpExecutor *e, int first, int64_t i, bool stacked) {
    asn_view_set(v, asn_exec_nd(e, first + (stacked ? 0 : (int)i)));
    if (!stacked) return;
    asn_view_slice(v, 0, i, 1, 1);
    asn_view_drop(v, 0);
}

/* By rows, or lists of each group's. */
static asn_status rows_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const grouped_plan *p = plan;
    const int64_t *ends = NULL;
    /* One x: rows cut by groupList; a list: each member is a group. Likewise y. */
    const bool one_x = p->num_x == 1 && p->type == 0,
               one_y = p->num_y == 1 && p->type == 0;
    bool stacked = asn_exec_nd(e, p->weight)->ndim == 3;
    if (one_x) ASN_TRY(read_ends(e, p, asn_exec_nd(e, p->x)->shape[0], tmp, &ends));
    int64_t row = 0; /* of y */
    for (int64_t i = 0; i < p->groups; i++) {
        asnd_view a, b, c, copy, bias;
        const asnd_nd *x = asn_exec_nd(e, p->x + (one_x ? 0 : (int)i));
        ASN_TRY(matrix_of(x, tmp, &a));
        if (one_x)
            asn_view_slice(&a, 0, i ? ends[i - 1] : 0, ends[i] - (i ? ends[i - 1] : 0),
                           1);
        member(&b, e, p->weight, i, stacked);
        if (p->bias >= 0) {
            asn_view_set(&bias, asn_exec_nd(e, p->bias + (stacked ? 0 : (int)i)));
            if (stacked) member(&bias, e, p->bias, i, true);
        }
        const asnd_nd *y = asn_exec_nd(e, p->y + (one_y ? 0 : (int)i));
        asn_view_set(&c, y);
        if (one_y) {
            if (row + a.shape[0] > y->shape[0])
                return asn_error_set(ASN_ERR_VALUE,
                                     "%s: the groups have more rows than "
                                     "the output, %lld",
                                     e->name, (long long)y->shape[0]);
            asn_view_slice(&c, 0, row, a.shape[0], 1);
        }
        bool flat = y->ndim != 2;
        if (flat) { /* (..., n) through a matrix */
            ASN_TRY(asn_tmp_view(tmp, y->dtype, 2, (int64_t[]){a.shape[0], b.shape[1]},
                                 &copy));
            asn_view_set(&c, &copy.nd);
        }
        ASN_TRY(multiply(&a, &b, p->bias >= 0 ? &bias.nd : NULL, &c, false, tmp));
        if (flat) {
            asn_view_plain(&c, y->dtype, y->ndim, y->shape, copy.nd.data);
            ASN_TRY(asn_move(y, &c.nd));
        }
        row += a.shape[0];
    }
    if (!one_y) return ASN_OK;
    /* Rows behind the last group: padding that nothing was routed to. */
    asnd_view rest, nothing;
    const asnd_nd *y = asn_exec_nd(e, p->y);
    const double zero = 0;
    asn_view_set(&rest, y);
    asn_view_slice(&rest, 0, row, y->shape[0] - row, 1);
    if (asn_nd_size(&rest.nd) == 0) return ASN_OK;
    asn_view_plain(&nothing, ASN_F64, 0, NULL, (void *)(uintptr_t)&zero);
    asn_view_broadcast(&nothing, 2, rest.shape);
    return asn_move(&rest.nd, &nothing.nd);
}

/* By columns of x and rows of weight; y is (groups, m, n), or (groups * m, n). */
static asn_status columns_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const grouped_plan *p = plan;
    const int64_t *ends = NULL;
    asnd_view x, w;
    asn_view_set(&x, asn_exec_nd(e, p->x));
    asn_view_set(&w, asn_exec_nd(e, p->weight));
    if (p->turn_x) asn_view_swap_last(&x);
    if (p->turn_weight) asn_view_swap_last(&w);
    /* As the gradient of grouped weights: the columns of x (m, k) and the rows of weight
     * (k, n) are tokens, and a group's product is the sum over its own. */
    ASN_TRY(read_ends(e, p, x.shape[1], tmp, &ends));
    for (int64_t i = 0; i < p->groups; i++) {
        int64_t from = i ? ends[i - 1] : 0, count = ends[i] - from;
        asnd_view a, b, c;
        const asnd_nd *y = asn_exec_nd(e, p->y);
        asn_view_set(&a, &x.nd);
        asn_view_set(&b, &w.nd);
        asn_view_slice(&a, 1, from, count, 1);
        asn_view_slice(&b, 0, from, count, 1);
        asn_view_set(&c, y);
        if (y->ndim == 3)
            member(&c, e, p->y, i, true);
        else
            asn_view_slice(&c, 0, i * a.shape[0], a.shape[0], 1);
        ASN_TRY(multiply(&a, &b, NULL, &c, p->adds, tmp));
    }
    return ASN_OK;
}

/* ---- planners */

/* Members of a list; 0: absent or empty. */
static int64_t length_of(const asnd_call *c, int i) {
    return i < 0 || asn_call_array(c, i) == NULL ? 0
                                                 : (int64_t)asn_call_array(c, i)->size;
}

/* Lists of quantisation must be absent, or empty. */
static asn_status check_absent(const asnd_call *c) {
    static const char *const names[] = {"scaleOptional",
                                        "offsetOptional",
                                        "antiquantScaleOptional",
                                        "antiquantOffsetOptional",
                                        "perTokenScaleOptional",
                                        "activationInputOptional",
                                        "activationQuantScaleOptional",
                                        "activationQuantOffsetOptional",
                                        "activationFeatureOutOptional",
                                        "dynQuantScaleOutOptional"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length_of(c, asn_call_param_named(c, names[i])) > 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is given; without quantisation it must be NULL",
                                 c->op->name, names[i]);
    int act = asn_call_param_named(c, "actType");
    if (act < 0 || asn_call_int(c, act) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: actType is %lld; it must be 0 (none)",
                         c->op->name, (long long)asn_call_int(c, act));
}

/* Every member of list i has between `least` and `most` dimensions, is real and floating,
 * and of x's dtype. */
static asn_status check_members(const asnd_call *c, int i, int least, int most) {
    for (int64_t k = 0; k < length_of(c, i); k++) {
        const asnd_operand *o = &c->e->operands[c->first[i] + k];
        if (o->is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: member %lld of %s is NULL",
                                 c->op->name, (long long)k, c->op->params[i].name);
        if (asn_is_floating(o->nd.dtype) && o->nd.ndim >= least && o->nd.ndim <= most)
            continue;
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: member %lld of %s has %d dimensions, dtype %s; it must "
                             "have %d to %d, and be floating",
                             c->op->name, (long long)k, c->op->params[i].name, o->nd.ndim,
                             asn_dtype_name(o->nd.dtype), least, most);
    }
    return ASN_OK;
}

/* The lists' lengths go with each other and with splitItem and groupType. */
static asn_status check_lengths(const asnd_call *c, const grouped_plan *p,
                                int64_t split) {
    bool fits = p->num_x > 0 && p->num_weight > 0 && split >= 0 && split <= 3;
    /* splitItem, of the output: 0 and 1 a tensor of each group, 2 and 3 one tensor. */
    bool one_y = split >= 2;
    if (p->type == 2)
        fits = fits && p->num_x == 1 && p->num_weight == 1 && one_y && p->bias < 0;
    if (p->type == 0) fits = fits && (p->num_x == 1 || p->num_x == p->groups);
    if (p->type == -1) fits = fits && !one_y && p->num_x == p->groups;
    fits = fits && p->num_y == (one_y ? 1 : p->groups);
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %lld x, %lld weights, %lld outputs, %lld groups, groupType "
                         "%d, splitItem %lld; these do not go with each other",
                         c->op->name, (long long)p->num_x, (long long)p->num_weight,
                         (long long)p->num_y, (long long)p->groups, p->type,
                         (long long)split);
}

/* groupList: one number for each group. V1 has an array, the others a tensor. */
static asn_status take_list(asnd_call *c, grouped_plan *p, int i, int64_t *count) {
    *count = 0;
    if (c->args[i].p == NULL) return ASN_OK;
    if (c->op->params[i].kind == ASN_INTS) {
        const asnd_array *list = asn_call_array(c, i);
        *count = (int64_t)list->size;
        if (*count == 0) return ASN_OK;
        p->ends = asnop_executor_alloc(c->e, list->size * sizeof *p->ends);
        if (p->ends == NULL) return asn_call_no_memory();
        for (int64_t k = 0; k < *count; k++)
            p->ends[k] = ((const int64_t *)list->data)[k];
        return ASN_OK;
    }
    ASN_TRY(asn_call_rank(c, i, 1, 1));
    ASN_TRY(asn_index_dtype(c, i, asn_call_nd(c, i)));
    p->list = c->first[i];
    *count = asn_call_nd(c, i)->shape[0];
    return ASN_OK;
}

/* The executor's copy of the plan. Cost: ten for an element of x, since every one
 * meets a column of weights at least; products then use the device's threads by
 * themselves. */
static asn_status plan_groups(asnd_call *c, const grouped_plan *plan) {
    return asn_call_keep(c, plan->type == 2 ? columns_body : rows_body, plan,
                         sizeof *plan,
                         1000 + 10 * (double)asn_nd_size(&c->e->operands[plan->x].nd));
}

/* Versions without the parameter have ends. */
static asn_status group_list_type(const asnd_call *c, grouped_plan *p) {
    int i = asn_call_param_named(c, "groupListType");
    int64_t type = i < 0 ? 0 : asn_call_int(c, i);
    p->sizes = type == 1;
    if (type == 0 || type == 1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: groupListType is %lld; it must be 0 (ends) or 1 (sizes)",
                         c->op->name, (long long)type);
}

/* The bias, if there is one: a list as the weights are. */
static asn_status take_bias(const asnd_call *c, grouped_plan *p) {
    if (length_of(c, 2) == 0) return ASN_OK;
    bool stacked = c->e->operands[p->weight].nd.ndim == 3;
    const asnd_nd *b = &c->e->operands[c->first[2]].nd;
    p->bias = c->first[2];
    if (stacked ? length_of(c, 2) != 1 || b->ndim != 2 || b->shape[0] != p->groups
                : length_of(c, 2) != p->groups || b->ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: bias is a list of %lld; it must be one (groups, n) "
                             "for a weight (groups, k, n), else one (n) for each",
                             c->op->name, (long long)length_of(c, 2));
    return ASN_OK;
}

/* Each group's shapes and dtypes, as far as they do not depend on groupList's numbers. */
static asn_status check_groups(const asnd_call *c, const grouped_plan *p) {
    for (int64_t i = 0; i < p->groups && p->type != 2; i++) {
        const asnd_nd *w = &c->e->operands[p->weight + (p->num_weight > 1 ? i : 0)].nd;
        const asnd_nd *x = &c->e->operands[p->x + (p->num_x > 1 ? i : 0)].nd;
        const asnd_nd *out = &c->e->operands[p->y + (p->num_y > 1 ? i : 0)].nd;
        bool fits =
            x->shape[x->ndim - 1] == w->shape[w->ndim - 2] && x->dtype == w->dtype &&
            out->shape[out->ndim - 1] == w->shape[w->ndim - 1] && out->ndim == x->ndim;
        for (int d = 0; fits && p->num_x > 1 && p->num_y > 1 && d + 1 < x->ndim; d++)
            fits = x->shape[d] == out->shape[d];
        if (p->bias >= 0) {
            const asnd_nd *b = &c->e->operands[p->bias + (w->ndim == 3 ? 0 : i)].nd;
            fits = fits && b->shape[b->ndim - 1] == w->shape[w->ndim - 1];
        }
        if (fits && p->num_x == 1 && p->num_y == 1 && p->type == 0)
            fits = x->shape[0] == out->shape[0];
        char a[ASN_SHAPE_TEXT], b[ASN_SHAPE_TEXT], o[ASN_SHAPE_TEXT];
        if (!fits)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: group %lld is %s by %s to %s; x and weight must be "
                                 "of one dtype and multiply to the output (and the bias "
                                 "have its columns)",
                                 c->op->name, (long long)i,
                                 asn_shape_text(a, x->ndim, x->shape),
                                 asn_shape_text(b, w->ndim, w->shape),
                                 asn_shape_text(o, out->ndim, out->shape));
    }
    return ASN_OK;
}

/* The one group's of columns. */
static asn_status check_columns(const asnd_call *c, const grouped_plan *p) {
    const asnd_nd *x = &c->e->operands[p->x].nd, *w = &c->e->operands[p->weight].nd;
    const asnd_nd *out = &c->e->operands[p->y].nd;
    if (x->shape[1] != w->shape[0] || x->dtype != w->dtype || out->ndim != 3 ||
        out->shape[0] != p->groups || out->shape[1] != x->shape[0] ||
        out->shape[2] != w->shape[1])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: with groupType 2 x is (m, k), weight (k, n) of one "
                             "dtype, the output (groups, m, n)",
                             c->op->name);
    return ASN_OK;
}

/* GroupedMatmul(x, weight, bias, scale, offset, antiquantScale, antiquantOffset,
 * groupList, splitItem, y), V3 with groupType and a tensor for groupList, V4 and V5 with
 * more of quantisation and groupListType. */
asn_status asn_planner_grouped_matmul(asnd_call *c) {
    int quant_size = asn_call_param_named(c, "quantGroupSize");
    if (quant_size >= 0 && asn_call_int(c, quant_size) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: quantGroupSize is %lld; it must be 0",
                             c->op->name, (long long)asn_call_int(c, quant_size));
    if (asn_grouped_is_quantised(c)) return asn_grouped_quant_plan(c);
    int list = asn_call_param_named(c, "groupListOptional"),
        split = asn_call_param_named(c, "splitItem"), y = asn_call_out(c),
        type = asn_call_param_named(c, "groupType");
    grouped_plan p = {.list = -1, .bias = -1, .ends = NULL};
    int64_t count = 0;
    ASN_TRY(check_absent(c));
    ASN_TRY(group_list_type(c, &p));
    ASN_TRY(take_list(c, &p, list, &count));
    /* Older versions have no groupType: a groupList says that rows are cut. */
    p.type = type >= 0 ? (int)asn_call_int(c, type) : count > 0 ? 0 : -1;
    if (p.type != -1 && p.type != 0 && p.type != 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: groupType is %d; it must be -1, 0 or 2",
                             c->op->name, p.type);
    p.num_x = length_of(c, 0);
    p.num_weight = length_of(c, 1);
    p.num_y = length_of(c, y);
    if (p.num_x > 0 && p.num_weight > 0) {
        p.x = c->first[0];
        p.weight = c->first[1];
    }
    /* x of a group of its own may be (batch, ..., k); where groups are rows of one x it
     * is a matrix. */
    ASN_TRY(check_members(c, 0, 2, p.type == -1 ? 6 : 2));
    ASN_TRY(check_members(c, 1, 2, p.type == 0 && p.num_weight == 1 ? 3 : 2));
    ASN_TRY(check_members(c, y, 2, p.type == -1 ? 6 : 3));
    ASN_TRY(check_members(c, 2, 1, 2));
    p.groups = p.num_weight;
    if (p.num_weight == 1 && c->e->operands[p.weight].nd.ndim == 3)
        p.groups = c->e->operands[p.weight].nd.shape[0];
    if (p.type == 2) p.groups = count;
    ASN_TRY(take_bias(c, &p));
    ASN_TRY(check_lengths(c, &p, asn_call_int(c, split)));
    bool needs = p.type == 2 || (p.type == 0 && p.num_x == 1);
    if (needs && count != p.groups)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groupList has %lld numbers; there are %lld groups",
                             c->op->name, (long long)count, (long long)p.groups);
    p.y = c->first[y];
    if (p.type == 2)
        ASN_TRY(check_columns(c, &p));
    else
        ASN_TRY(check_groups(c, &p));
    return p.groups == 0 ? ASN_OK : plan_groups(c, &p);
}

/* GroupedMatmulAdd(x, weight, groupList, yRef, transposeX, transposeWeight, groupType),
 * V2 with groupListType: x is (k, m) with transposeX, weight (k, n). */
asn_status asn_planner_grouped_matmul_add(asnd_call *c) {
    grouped_plan p = {.list = -1, .bias = -1, .type = 2, .adds = true, .ends = NULL};
    int64_t count = 0;
    const asnd_nd *x = asn_call_nd(c, 0), *w = asn_call_nd(c, 1), *y = asn_call_nd(c, 3);
    for (int i = 0; i < 4; i++)
        if (i != 2) {
            ASN_TRY(asn_call_floating(c, i));
            ASN_TRY(asn_call_rank(c, i, 2, i == 3 ? 3 : 2));
        }
    if (asn_call_int(c, 6) != 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: groupType is %lld; it must be 2",
                             c->op->name, (long long)asn_call_int(c, 6));
    ASN_TRY(asn_call_same_dtype(c, 1, 0));
    ASN_TRY(group_list_type(c, &p));
    ASN_TRY(take_list(c, &p, 2, &count));
    p.turn_x = asn_call_int(c, 4) != 0;
    p.turn_weight = asn_call_int(c, 5) != 0;
    /* yRef (groups, m, n): it is read and written, as a gradient that adds up over calls.
     */
    int64_t m = x->shape[p.turn_x ? 1 : 0], n = w->shape[p.turn_weight ? 0 : 1];
    bool fits = x->shape[p.turn_x ? 0 : 1] == w->shape[p.turn_weight ? 1 : 0];
    fits = fits && y->shape[y->ndim - 1] == n &&
           (y->ndim == 3 ? y->shape[0] == count && y->shape[1] == m
                         : y->shape[0] == count * m);
    char got[ASN_SHAPE_TEXT];
    if (!fits)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: yRef has shape %s; x and weight must have one k, and it "
            "be (%lld, %lld, %lld), or the first two in one",
            c->op->name, asn_shape_text(got, y->ndim, y->shape), (long long)count,
            (long long)m, (long long)n);
    p.x = c->first[0];
    p.weight = c->first[1];
    p.y = c->first[3];
    p.groups = count;
    return count == 0 ? ASN_OK : plan_groups(c, &p);
}
