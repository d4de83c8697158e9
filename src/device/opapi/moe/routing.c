/* CPU device, operators: tokens in the order of the experts that work on them.
 *
 * MoeInitRouting: expertIdx (rows, K) names K experts of each row of x. Sorted by expert
 * (equal ones stay in order), place p of the order holds entry order[p]; then
 *
 *     expandedX[p] = x[the row of order[p]], expandedRowIdx[order[p]] = p
 *
 * An entry's row is entry / K; in the first version its number comes from rowIdx, whose
 * columns lie one after the other, and the row is number % rows. With dropPadMode 1 every
 * expert has expertCapacity places: what is beyond is dropped (expandedRowIdx -1), places
 * that are left are zeros. V3 takes the experts of activeExpertRange alone, and gives
 * expandedRowIdx as order itself with rowIdxType 1; it moves a scale with each row.
 *
 * Numbers are worked on as int64, whatever the tensors have: there are few of them, and
 * one body then serves all versions and dtypes.
 */
#include <string.h>

#include "device/opapi/moe/rows.h"

enum { TOKENS_NONE, TOKENS_CUMSUM, TOKENS_COUNT };

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x, row_idx, expert, scale;
    int out, out_row, out_expert, counts, before, out_scale;
    int tokens;               /* what `counts` gets */
    int64_t first, last;      /* experts from first up to last - 1 take part */
    int64_t active, capacity; /* capacity 0: nothing is dropped */
    bool scatter;             /* expandedRowIdx is the order */
} init_plan;

/* The entries in the experts' order. expert[p] is that of place p; `count` of them take
 * part. */
typedef struct {
    int64_t n, k, count;
    int64_t *order, *expert;
} entries;

/* Those of other experts go behind: their number is made the largest. */
static asn_status sort_entries(aclOpExecutor *e, const init_plan *p, asnd_tmp *tmp,
                               entries *s) {
    const asnd_nd *a = asn_exec_nd(e, p->expert);
    const int64_t *given = NULL;
    int64_t *numbers = NULL;
    s->n = asn_nd_size(a);
    s->k = a->shape[1];
    ASN_TRY(asn_packed_data(a, ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, s->n, &numbers));
    ASN_TRY(asn_rows_ints(tmp, s->n, &s->order));
    ASN_TRY(asn_rows_ints(tmp, s->n, &s->expert));
    s->count = 0;
    for (int64_t i = 0; i < s->n; i++) {
        bool mine = given[i] >= p->first && given[i] < p->last;
        numbers[i] = mine ? given[i] : INT64_MAX;
        s->count += mine;
    }
    return asn_rows_order(numbers, s->n, s->order, s->expert);
}

/* Tokens of each expert to a tensor, or their running sums. */
static asn_status write_counts(const asnd_nd *to, const entries *s, const init_plan *p,
                               bool sums, asnd_tmp *tmp) {
    int64_t n = asn_nd_size(to), *count = NULL;
    ASN_TRY(asn_rows_ints(tmp, n, &count));
    memset(count, 0, (size_t)n * sizeof *count);
    for (int64_t i = 0; i < s->count; i++)
        count[s->expert[i] - p->first]++;
    for (int64_t i = 1; sums && i < n; i++)
        count[i] += count[i - 1];
    return asn_rows_write(to, count);
}

/* Where place p of the order goes in expandedX: p, or its expert's next place; -1:
 * dropped. */
static void places_of(const entries *s, const init_plan *p, int64_t *place) {
    for (int64_t i = 0, run = 0; i < s->count; i++) {
        run = i > 0 && s->expert[i] == s->expert[i - 1] ? run + 1 : 0;
        place[i] = p->capacity == 0    ? i
                   : run < p->capacity ? (s->expert[i] - p->first) * p->capacity + run
                                       : -1;
    }
}

/* expandedRowIdx: of each entry its place, -1 where it has none; or the order. */
static asn_status write_places(aclOpExecutor *e, const init_plan *p, const entries *s,
                               const int64_t *number, const int64_t *place,
                               asnd_tmp *tmp) {
    int64_t *of = NULL;
    ASN_TRY(asn_rows_ints(tmp, s->n, &of));
    for (int64_t i = 0; i < s->n; i++)
        of[i] = -1;
    for (int64_t i = 0; i < s->count; i++) {
        int64_t entry = number ? number[s->order[i]] : s->order[i];
        if (entry < 0 || entry >= s->n)
            return asn_error_set(ASN_ERR_INDEX, "rowIdx names entry %lld of %lld",
                                 (long long)entry, (long long)s->n);
        of[entry] = place[i];
    }
    return asn_rows_write(asn_exec_nd(e, p->out_row), p->scatter ? s->order : of);
}

/* x's rows to expandedX, and the scales with them; what gets none is 0. */
static asn_status expand(aclOpExecutor *e, const init_plan *p, const entries *s,
                         const int64_t *number, const int64_t *place, asnd_tmp *tmp) {
    const asnd_nd *x = asn_exec_nd(e, p->x), *out = asn_exec_nd(e, p->out);
    asnd_view to, scale, line;
    int64_t *from = NULL, rows = x->shape[0], width = x->shape[1];
    asn_view_set(&to, out);
    if (out->ndim == 3) { /* (experts, capacity, h) */
        ASN_TRY(asn_packed_of(out, out->dtype, tmp, &to));
        int64_t shape[] = {out->shape[0] * out->shape[1], width};
        asn_view_plain(&to, out->dtype, 2, shape, to.nd.data);
    }
    int64_t places = to.shape[0];
    ASN_TRY(asn_rows_ints(tmp, places, &from));
    for (int64_t i = 0; i < places; i++)
        from[i] = -1;
    for (int64_t i = 0; i < s->count; i++)
        if (place[i] >= 0 && place[i] < places)
            from[place[i]] = number ? number[s->order[i]] % rows : s->order[i] / s->k;
    ASN_TRY(asn_rows_move(&to.nd, NULL, x, from, places, tmp));
    if (out->ndim == 3 && to.nd.data != out->data) {
        asnd_view back;
        asn_view_plain(&back, out->dtype, 3, out->shape, to.nd.data);
        ASN_TRY(asn_move(out, &back.nd));
    }
    if (p->scale < 0 || p->out_scale < 0) return ASN_OK;
    asn_view_set(&scale, asn_exec_nd(e, p->scale));
    asn_view_set(&line, asn_exec_nd(e, p->out_scale));
    asn_view_insert(&scale, 1, 1, 0);
    asn_view_insert(&line, 1, 1, 0);
    int64_t n = line.shape[0] < places ? line.shape[0] : places;
    return asn_rows_move(&line.nd, NULL, &scale.nd, from, n, tmp);
}

/* The order first, then where each place of it goes, then everything that is
 * written from these two. Nothing depends on the number of threads: only rows are
 * moved in parallel. */
static asn_status init_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const init_plan *p = plan;
    const int64_t *number = NULL;
    int64_t *place = NULL;
    entries s;
    ASN_TRY(sort_entries(e, p, tmp, &s));
    if (p->row_idx >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->row_idx), ASN_I64, tmp, &number));
    ASN_TRY(asn_rows_ints(tmp, s.n, &place));
    places_of(&s, p, place);
    if (p->counts >= 0 && p->tokens != TOKENS_NONE)
        ASN_TRY(write_counts(asn_exec_nd(e, p->counts), &s, p, p->tokens == TOKENS_CUMSUM,
                             tmp));
    if (p->before >= 0)
        ASN_TRY(write_counts(asn_exec_nd(e, p->before), &s, p, false, tmp));
    ASN_TRY(write_places(e, p, &s, number, place, tmp));
    if (p->out_expert >= 0)
        ASN_TRY(asn_rows_write(asn_exec_nd(e, p->out_expert), s.expert));
    return expand(e, p, &s, number, place, tmp);
}

/* ---- planners */

/* An integer parameter by its name; `other` where there is none. */
static int64_t int_of(const asnd_call *c, const char *name, int64_t other) {
    int i = asn_call_param_named(c, name);
    return i < 0 ? other : asn_call_int(c, i);
}

/* The shapes of x, expertIdx, and the outputs that all versions have. */
static asn_status check_init(const asnd_call *c, init_plan *p, int64_t experts) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int expert = asn_call_param_named(c, "expertIdx"),
        out = asn_call_param_named(c, "expandedXOut"),
        row = asn_call_param_named(c, "expandedRowIdxOut");
    const asnd_nd *idx = asn_call_nd(c, expert);
    char a[ASN_SHAPE_TEXT], b[ASN_SHAPE_TEXT];
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, expert, 2, 2));
    ASN_TRY(asn_call_position_dtype(c, expert));
    ASN_TRY(asn_call_same_dtype(c, out, 0));
    if (x->shape[0] != idx->shape[0])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has shape %s, expertIdx %s; they must "
                             "have as many rows",
                             c->op->name, asn_shape_text(a, 2, x->shape),
                             asn_shape_text(b, 2, idx->shape));
    int64_t n = asn_nd_size(idx), rows = n, h = x->shape[1];
    int64_t active = p->active;
    if (active < 0 && asn_call_param_named(c, "rowIdx") >= 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: activeNum is %lld; it must be at least 0", c->op->name,
                             (long long)active);
    if (asn_call_param_named(c, "rowIdx") >= 0)
        rows = (active < x->shape[0] ? active : x->shape[0]) * idx->shape[1];
    else if (active > 0 && active < n)
        rows = active;
    p->x = c->first[0];
    p->expert = c->first[expert];
    p->out = c->first[out];
    p->out_row = c->first[row];
    ASN_TRY(asn_call_position_dtype(c, row));
    ASN_TRY(asn_call_same_shape(c, row, 1, &n));
    if (p->capacity > 0)
        return asn_call_same_shape(c, out, 3, (int64_t[]){experts, p->capacity, h});
    return asn_call_same_shape(c, out, 2, (int64_t[]){rows, h});
}

/* dropPadMode and the capacity that goes with it. */
static asn_status check_drop(const asnd_call *c, init_plan *p) {
    int64_t mode = int_of(c, "dropPadMode", 0), capacity = int_of(c, "expertCapacity", 0);
    int64_t rows = asn_call_nd(c, 0)->ndim > 0 ? asn_call_nd(c, 0)->shape[0] : 0;
    if (mode == 0) return ASN_OK;
    if (mode != 1 || capacity < 1 || capacity > rows)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: dropPadMode is %lld, expertCapacity %lld; the mode must "
            "be 0 or 1, and then the capacity 1 to the rows of x (%lld)",
            c->op->name, (long long)mode, (long long)capacity, (long long)rows);
    p->capacity = capacity;
    return ASN_OK;
}

/* A tensor of one integer for each expert. */
static asn_status check_counts(const asnd_call *c, const char *name, int64_t experts) {
    int i = asn_call_param_named(c, name);
    if (c->first[i] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but its flag is set",
                             c->op->name, name);
    ASN_TRY(asn_call_position_dtype(c, i));
    return asn_call_same_shape(c, i, 1, &experts);
}

/* V2's counts: of dropPadMode 0 those of the flag, of 1 those before dropping. */
static asn_status check_tokens(const asnd_call *c, init_plan *p, int64_t experts) {
    int64_t flag = int_of(c, "expertTokensCountOrCumsumFlag", 0);
    if (flag < 0 || flag > 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: expertTokensCountOrCumsumFlag is %lld; it must be 0 "
                             "(none), 1 (running sums) or 2 (counts)",
                             c->op->name, (long long)flag);
    if (flag != 0 && p->capacity == 0) {
        ASN_TRY(check_counts(c, "expertTokensCountOrCumsumOutOptional", experts));
        p->counts = asn_call_operand_named(c, "expertTokensCountOrCumsumOutOptional");
        p->tokens = flag == 1 ? TOKENS_CUMSUM : TOKENS_COUNT;
    }
    if (int_of(c, "expertTokensBeforeCapacityFlag", 0) != 0 && p->capacity > 0) {
        ASN_TRY(check_counts(c, "expertTokensBeforeCapacityOutOptional", experts));
        p->before = asn_call_operand_named(c, "expertTokensBeforeCapacityOutOptional");
    }
    return ASN_OK;
}

/* What the three versions share. The work is that of moving x's rows; sorting some
 * numbers for each of them is little beside it. */
static asn_status plan_init(asnd_call *c, const init_plan *plan) {
    return asn_call_keep(c, init_body, plan, sizeof *plan,
                         500 + (double)asn_nd_size(asn_call_nd(c, 0)));
}

/* Before a version says what it has. */
static const init_plan none = {.row_idx = -1,
                               .scale = -1,
                               .out_expert = -1,
                               .counts = -1,
                               .before = -1,
                               .out_scale = -1,
                               .last = INT64_MAX};

/* MoeInitRouting(x, rowIdx, expertIdx, activeNum, expandedXOut, expandedRowIdxOut,
 * expandedExpertIdxOut); V2(x, expertIdx, activeNum, expertCapacity, expertNum,
 * dropPadMode, expertTokensCountOrCumsumFlag, expertTokensBeforeCapacityFlag, ...). */
asn_status asn_planner_moe_init(asnd_call *c) {
    init_plan p = none;
    int row = asn_call_param_named(c, "rowIdx");
    int64_t experts = int_of(c, "expertNum", 0);
    p.active = int_of(c, "activeNum", 0);
    ASN_TRY(check_drop(c, &p));
    ASN_TRY(check_init(c, &p, experts));
    if (row >= 0) {
        int sorted = asn_call_param_named(c, "expandedExpertIdxOut");
        const asnd_nd *idx = asn_call_nd(c, 2);
        int64_t n = asn_nd_size(idx);
        ASN_TRY(asn_call_position_dtype(c, row));
        ASN_TRY(asn_call_same_shape(c, row, 2, idx->shape));
        ASN_TRY(asn_call_position_dtype(c, sorted));
        ASN_TRY(asn_call_same_shape(c, sorted, 1, &n));
        p.row_idx = c->first[row];
        p.out_expert = c->first[sorted];
        p.first = INT64_MIN;
    } else {
        ASN_TRY(check_tokens(c, &p, experts));
        if (p.counts >= 0 || p.before >= 0 || p.capacity > 0) p.last = experts;
    }
    return plan_init(c, &p);
}

/* V3(x, expertIdx, scale, offset, activeNum, expertCapacity, expertNum, dropPadMode,
 * expertTokensNumType, expertTokensNumFlag, quantMode, activeExpertRange, rowIdxType,
 * expandedXOut, expandedRowIdxOut, expertTokensCountOrCumsumOut, expandedScaleOut). */
asn_status asn_planner_moe_init_range(asnd_call *c) {
    init_plan p = none;
    const asnd_array *range = asn_call_array(c, 11);
    int64_t experts = asn_call_int(c, 6), type = asn_call_int(c, 8);
    int64_t row_type = asn_call_int(c, 12);
    if (asn_call_int(c, 10) != -1 || c->first[3] >= 0)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: quantMode is %lld, offset %s; without quantisation they "
            "are -1 and NULL",
            c->op->name, (long long)asn_call_int(c, 10),
            c->first[3] < 0 ? "NULL" : "given");
    if (range->size != 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: activeExpertRange has %llu numbers; it must have 2",
                             c->op->name, (unsigned long long)range->size);
    p.first = ((const int64_t *)range->data)[0];
    p.last = ((const int64_t *)range->data)[1];
    if (p.first < 0 || p.last <= p.first || row_type < 0 || row_type > 1 || type < 0 ||
        type > 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: activeExpertRange [%lld, %lld), expertTokensNumType %lld, rowIdxType "
            "%lld; the range must ascend from 0 at least, the types be 0 or 1",
            c->op->name, (long long)p.first, (long long)p.last, (long long)type,
            (long long)row_type);
    p.active = asn_call_int(c, 4);
    ASN_TRY(check_drop(c, &p));
    if (p.capacity > 0 && (p.first != 0 || p.last != experts))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: activeExpertRange is [%lld, %lld); with dropPadMode 1 "
                             "it must be [0, %lld), all experts",
                             c->op->name, (long long)p.first, (long long)p.last,
                             (long long)experts);
    ASN_TRY(check_init(c, &p, experts));
    p.scatter = row_type == 1 && p.capacity == 0;
    if (asn_call_int(c, 9) != 0) {
        ASN_TRY(
            check_counts(c, "expertTokensCountOrCumsumOutOptional", p.last - p.first));
        p.counts = c->first[15];
        p.tokens = type == 0 && p.capacity == 0 ? TOKENS_CUMSUM : TOKENS_COUNT;
    }
    if (c->first[2] >= 0) {
        ASN_TRY(asn_call_same_shape(c, 2, 1, asn_call_nd(c, 0)->shape));
        if (c->first[16] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: expandedScaleOut is NULL, but scale is given",
                                 c->op->name);
        ASN_TRY(asn_call_rank(c, 16, 1, 1));
        ASN_TRY(asn_call_same_dtype(c, 16, 2));
        p.scale = c->first[2];
        p.out_scale = c->first[16];
    }
    return plan_init(c, &p);
}
