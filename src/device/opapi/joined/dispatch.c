/* CPU device, operators: tokens of a mixture of experts sent to the ranks of their
 * experts, and what these made of them fetched back.
 *
 *     MoeDistributeDispatch   expertIds (BS, K) names K experts of each row of x; expandX
 *         has the rows that this rank's experts get, by expert, then by the rank and the
 *         place they came from. quantMode 2: rows times the expert's scales, as int8
 *         with a scale for each row
 *     MoeDistributeCombine    x[t] = the sum over k of expertScales[t, k] * what expert
 *         expertIds[t, k] made of row t; in float32, rounded once
 *
 * Rank r has experts r * local to (r + 1) * local - 1. What dispatch hands to combine is
 * the library's own affair, says CANN's page: here expandIdx has an entry's place among
 * those of this rank for the same expert, epRecvCounts the running sums of rows by
 * expert, then by rank. expandX may be longer than what comes: its rest stays as it is.
 */
#include <string.h>

#include "device/opapi/joined/joined.h"
#include "device/opapi/quant/row_quant.h"

/* Operands, -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x, ids, scales, weights, index, counts, out, row_scales, nums, out_weights;
    bool sums, quantised;
    uint32_t ranks;
    int64_t experts, tokens, k, width; /* experts: of a rank */
} dispatch_plan;

/* The entries (token, k) of this rank, by expert. */
typedef struct {
    const int64_t *expert; /* of each entry */
    int64_t *sends;        /* [expert]: entries for it */
    int64_t *place;        /* of each entry, among those for its expert */
    int64_t *start;        /* [expert]: where its entries begin */
} entries;

/* Counts the entries for every expert of the group and gives each its place among
 * them. An expert that does not exist is refused before anything is sent, so that the
 * other ranks hear of it at once. */
static asn_status entries_of(aclOpExecutor *e, const dispatch_plan *p, asnd_tmp *tmp,
                             entries *s) {
    int64_t n = p->tokens * p->k, all = p->experts * p->ranks, at = 0;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->ids), ASN_I64, tmp, &s->expert));
    s->sends = asn_tmp_alloc(tmp, (size_t)(2 * all + n) * sizeof *s->sends);
    if (s->sends == NULL) return ASN_ERR_MEMORY;
    s->start = s->sends + all;
    s->place = s->start + all;
    memset(s->sends, 0, (size_t)all * sizeof *s->sends);
    for (int64_t i = 0; i < n; i++) {
        if (s->expert[i] < 0 || s->expert[i] >= all)
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: expertIds[%lld][%lld] is %lld; there are %lld "
                                 "experts",
                                 e->name, (long long)(i / p->k), (long long)(i % p->k),
                                 (long long)s->expert[i], (long long)all);
        s->place[i] = s->sends[s->expert[i]]++;
    }
    for (int64_t i = 0; i < all; i++) {
        s->start[i] = at;
        at += s->sends[i];
    }
    return ASN_OK;
}

/* Every rank tells every other one how many rows it sends to its experts: receives
 * [rank * experts + expert]; their sum. */
static asn_status tell_counts(aclOpExecutor *e, const dispatch_plan *p,
                              const int64_t *sends, int64_t **receives, int64_t *sum,
                              asnd_tmp *tmp) {
    int64_t all = p->experts * p->ranks;
    /* A rank has as many numbers for each other one: its experts. */
    int64_t *each = asn_tmp_alloc(tmp, p->ranks * sizeof *each);
    *receives = asn_tmp_alloc(tmp, (size_t)all * sizeof **receives);
    if (each == NULL || *receives == NULL) return ASN_ERR_MEMORY;
    for (uint32_t r = 0; r < p->ranks; r++)
        each[r] = p->experts;
    ASN_TRY(asn_join_exchange(e, ASN_I64, sends, each, *receives, each, p->ranks, tmp));
    *sum = 0;
    for (int64_t i = 0; i < all; i++)
        *sum += (*receives)[i];
    return ASN_OK;
}

/* ---- dispatch */

/* Rows of `bytes` from the tokens to the entries' order. */
static void sort_rows(const dispatch_plan *p, const entries *s, int64_t bytes, bool by_k,
                      const char *from, char *to) {
    for (int64_t i = 0; i < p->tokens * p->k; i++)
        memcpy(to + (s->start[s->expert[i]] + s->place[i]) * bytes,
               from + (by_k ? i : i / p->k) * bytes, (size_t)bytes);
}

/* Rows of the entries to the experts' ranks and into their order; to: `sum` rows. */
static asn_status send_rows(aclOpExecutor *e, const dispatch_plan *p, const entries *s,
                            const int64_t *receives, int64_t sum, asn_dtype dtype,
                            int64_t width, const char *from, char **to, asnd_tmp *tmp) {
    int64_t bytes = width * asn_itemsize(dtype);
    char *got = asn_tmp_alloc(tmp, (size_t)(sum * bytes) + 1);
    *to = asn_tmp_alloc(tmp, (size_t)(sum * bytes) + 1);
    if (got == NULL || *to == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_join_rows(e, dtype, width, s->sends, receives, p->ranks, p->experts, from,
                          got, tmp));
    /* They came by rank; a product of groups wants them by expert. */
    ASN_TRY(
        asn_join_permute(receives, p->ranks, p->experts, false, bytes, got, *to, tmp));
    return ASN_OK;
}

/* The first `rows` rows of an output. */
static asn_status write_rows(const asnd_nd *out, int64_t rows, asn_dtype dtype,
                             char *data) {
    asnd_view to, from;
    int64_t shape[2] = {rows, out->ndim > 1 ? out->shape[1] : 1};
    asn_view_set(&to, out);
    asn_view_slice(&to, 0, 0, rows, 1);
    asn_view_plain(&from, dtype, out->ndim, shape, data);
    return asn_move(&to.nd, &from.nd);
}

/* Each sorted row times its expert's scales, as int8 with a scale. */
static asn_status quantise_rows(aclOpExecutor *e, const dispatch_plan *p,
                                const entries *s, const float *x, int8_t *q, float *scale,
                                asnd_tmp *tmp) {
    const float *factor = NULL;
    /* One byte more than is needed: an allocation of none would be a failure. */
    float *v = asn_tmp_alloc(tmp, (size_t)p->width * sizeof *v + 1);
    if (v == NULL) return ASN_ERR_MEMORY;
    if (p->scales >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->scales), ASN_F32, tmp, &factor));
    for (int64_t i = 0; i < p->tokens * p->k; i++) {
        int64_t to = s->start[s->expert[i]] + s->place[i];
        const float *row = x + i / p->k * p->width;
        for (int64_t j = 0; j < p->width; j++)
            v[j] = row[j] * (factor ? factor[s->expert[i] * p->width + j] : 1);
        scale[to] = asn_quant_row(v, p->width, q + to * p->width);
    }
    return ASN_OK;
}

/* The rows as they are sent: sorted, and quantised where that is wanted. */
static asn_status rows_to_send(aclOpExecutor *e, const dispatch_plan *p, const entries *s,
                               asn_dtype dtype, char **rows, float **scale,
                               asnd_tmp *tmp) {
    int64_t n = p->tokens * p->k;
    asnd_view x;
    *scale = NULL;
    *rows = asn_tmp_alloc(tmp, (size_t)(n * p->width * asn_itemsize(dtype)) + 1);
    if (*rows == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->x), p->quantised ? ASN_F32 : dtype, tmp, &x));
    /* Every token is sent as often as it has experts, for each at another place. */
    if (!p->quantised) {
        sort_rows(p, s, p->width * asn_itemsize(dtype), false, x.nd.data, *rows);
        return ASN_OK;
    }
    *scale = asn_tmp_alloc(tmp, (size_t)n * sizeof **scale + 1);
    if (*scale == NULL) return ASN_ERR_MEMORY;
    return quantise_rows(e, p, s, (const float *)(void *)x.nd.data, (int8_t *)*rows,
                         *scale, tmp);
}

/* expertTokenNums and the counts for combine, from the rows received. */
static asn_status write_numbers(aclOpExecutor *e, const dispatch_plan *p,
                                const entries *s, const int64_t *receives,
                                asnd_tmp *tmp) {
    int64_t n = p->tokens * p->k, all = p->experts * p->ranks, sum = 0;
    int64_t *counts = asn_tmp_alloc(tmp, (size_t)(all + p->experts) * sizeof *counts);
    if (counts == NULL) return ASN_ERR_MEMORY;
    int64_t *nums = counts + all;
    for (int64_t j = 0; j < p->experts; j++) {
        int64_t before = sum;
        for (uint32_t r = 0; r < p->ranks; r++) {
            sum += receives[r * p->experts + j];
            counts[j * p->ranks + r] = sum;
        }
        nums[j] = p->sums ? sum : sum - before;
    }
    ASN_TRY(write_rows(asn_exec_nd(e, p->counts), all, ASN_I64, (char *)counts));
    ASN_TRY(write_rows(asn_exec_nd(e, p->nums), p->experts, ASN_I64, (char *)nums));
    return write_rows(asn_exec_nd(e, p->index), n, ASN_I64, (char *)s->place);
}

/* The numbers go first, since nobody else knows how much comes. Rows, their scales and
 * their weights are then exchanges of their own, in the same order on every rank. */
static asn_status dispatch_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dispatch_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asn_dtype dtype = out->dtype;
    entries s;
    int64_t *receives, sum;
    char *rows, *to;
    float *scale;
    ASN_TRY(entries_of(e, p, tmp, &s));
    ASN_TRY(tell_counts(e, p, s.sends, &receives, &sum, tmp));
    /* The page calls A the most that may come; a program that chose less is told, and
     * so are the ranks that wait for this one. */
    if (sum > out->shape[0])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld rows come for this rank's experts; expandX has "
                             "room for %lld",
                             e->name, (long long)sum, (long long)out->shape[0]);
    ASN_TRY(rows_to_send(e, p, &s, dtype, &rows, &scale, tmp));
    ASN_TRY(send_rows(e, p, &s, receives, sum, dtype, p->width, rows, &to, tmp));
    ASN_TRY(write_rows(out, sum, dtype, to));
    if (p->quantised) {
        ASN_TRY(send_rows(e, p, &s, receives, sum, ASN_F32, 1, (char *)scale, &to, tmp));
        ASN_TRY(write_rows(asn_exec_nd(e, p->row_scales), sum, ASN_F32, to));
    }
    if (p->weights >= 0) {
        char *weights;
        float *sorted =
            asn_tmp_alloc(tmp, (size_t)(p->tokens * p->k) * sizeof *sorted + 1);
        if (sorted == NULL) return ASN_ERR_MEMORY;
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weights), ASN_F32, tmp, &weights));
        sort_rows(p, &s, sizeof(float), true, weights, (char *)sorted);
        ASN_TRY(send_rows(e, p, &s, receives, sum, ASN_F32, 1, (char *)sorted, &to, tmp));
        ASN_TRY(write_rows(asn_exec_nd(e, p->out_weights), sum, ASN_F32, to));
    }
    return write_numbers(e, p, &s, receives, tmp);
}

/* ---- combine */

/* Rows of each rank and expert ([rank * experts + expert]) from their running sums. */
static asn_status counts_of(aclOpExecutor *e, const dispatch_plan *p, int64_t **sends,
                            int64_t *sum, asnd_tmp *tmp) {
    const int64_t *told;
    int64_t all = p->experts * p->ranks, rows = asn_exec_nd(e, p->x)->shape[0];
    *sends = asn_tmp_alloc(tmp, (size_t)all * sizeof **sends);
    if (*sends == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->counts), ASN_I64, tmp, &told));
    *sum = 0;
    for (int64_t i = 0; i < all; i++) {
        if (told[i] < *sum || told[i] > rows)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: epSendCounts[%lld] is %lld; sums ascend to the "
                                 "%lld rows of expandX",
                                 e->name, (long long)i, (long long)told[i],
                                 (long long)rows);
        /* Running sums are by expert, then rank; counts by rank, then expert. */
        (*sends)[i % p->ranks * p->experts + i / p->ranks] = told[i] - *sum;
        *sum = told[i];
    }
    return ASN_OK;
}

/* x[t] = the weighed sum of its entries' rows, which lie in the entries' order. */
static asn_status weigh(aclOpExecutor *e, const dispatch_plan *p, const entries *s,
                        const float *rows, asnd_tmp *tmp) {
    const asnd_nd *out = asn_exec_nd(e, p->out);
    const float *weights;
    const int64_t *index;
    asnd_view sum;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weights), ASN_F32, tmp, &weights));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->index), ASN_I64, tmp, &index));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, out->shape, &sum));
    float *y = (float *)(void *)sum.nd.data;
    memset(y, 0, (size_t)(p->tokens * p->width) * sizeof *y);
    for (int64_t i = 0; i < p->tokens * p->k; i++) {
        if (index[i] < 0 || index[i] >= s->sends[s->expert[i]])
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: expandIdx[%lld] is %lld; it is what dispatch told",
                                 e->name, (long long)i, (long long)index[i]);
        const float *row = rows + (s->start[s->expert[i]] + index[i]) * p->width;
        for (int64_t j = 0; j < p->width; j++)
            y[i / p->k * p->width + j] += weights[i] * row[j];
    }
    return asn_move(out, &sum.nd);
}

/* The way back: this rank sends what its experts made to the ranks that the tokens
 * came from, by the counts that dispatch told, and gets the entries of its own tokens,
 * whose counts follow from expertIds again. */
static asn_status combine_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dispatch_plan *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->x);
    asn_dtype dtype = x->dtype;
    int64_t bytes = p->width * asn_itemsize(dtype), *sends, sum, n = p->tokens * p->k;
    entries s;
    asnd_view from, back, wide;
    ASN_TRY(entries_of(e, p, tmp, &s));
    ASN_TRY(counts_of(e, p, &sends, &sum, tmp));
    ASN_TRY(asn_packed_of(x, dtype, tmp, &from));
    char *sorted = asn_tmp_alloc(tmp, (size_t)(sum * bytes) + 1);
    if (sorted == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_tmp_view(tmp, dtype, 2, (int64_t[]){n, p->width}, &back));
    /* From the experts' order to that of the ranks. */
    ASN_TRY(asn_join_permute(sends, p->ranks, p->experts, true, bytes, from.nd.data,
                             sorted, tmp));
    ASN_TRY(asn_join_rows(e, dtype, p->width, sends, s.sends, p->ranks, p->experts,
                          sorted, back.nd.data, tmp));
    ASN_TRY(asn_tmp_as(tmp, &back.nd, ASN_F32, &wide));
    return weigh(e, p, &s, (const float *)(void *)wide.nd.data, tmp);
}

/* ---- planners */

/* An operand of the first of two names that is there and not empty. */
static int named(const asnd_call *c, const char *one, const char *other) {
    int at = asn_call_operand_named(c, one);
    if (at < 0) at = asn_call_operand_named(c, other);
    return at >= 0 && c->e->operands[at].is_empty ? -1 : at;
}

/* A tensor of at least `rows` rows (of `width`, where that is not 0) of these dtypes. */
static asn_status holds(const asnd_call *c, int operand, const char *name, int64_t rows,
                        int64_t width, uint32_t dtypes) {
    const asnd_nd *a = operand < 0 ? NULL : &c->e->operands[operand].nd;
    if (a == NULL && rows > 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL or empty", c->op->name,
                             name);
    if (a == NULL || ((dtypes >> a->dtype & 1) && a->ndim == (width ? 2 : 1) &&
                      a->shape[0] >= rows && (!width || a->shape[1] == width)))
        return ASN_OK;
    char got[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, dtype %s; it must have %lld rows%s",
                         c->op->name, name, asn_shape_text(got, a->ndim, a->shape),
                         asn_dtype_name(a->dtype), (long long)rows,
                         width ? " as wide as x's" : " and one dimension");
}

/* The group, the experts of a rank, the tokens; no group for tensors' parallelism. */
static asn_status take_group(asnd_call *c, dispatch_plan *p) {
    uint32_t rank = 0;
    int64_t all = asn_call_int(c, asn_call_param_named(c, "moeExpertNum"));
    int64_t size = asn_call_int(c, asn_call_param_named(c, "epWorldSize"));
    int64_t own = asn_call_int(c, asn_call_param_named(c, "epRankId"));
    int64_t tp = asn_call_int(c, asn_call_param_named(c, "tpWorldSize"));
    const asnd_nd *ids = asn_call_nd(c, 1);
    ASN_TRY(asn_join_reserved(c));
    ASN_TRY(asn_join_group(c, "groupEp", &p->ranks, &rank));
    if (size != p->ranks || own != rank || tp > 1 || tp < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: epWorldSize %lld, epRankId %lld, tpWorldSize %lld; the "
                             "group has %u ranks, this is rank %u, and there is no group "
                             "for tensor parallelism (tpWorldSize 0 or 1)",
                             c->op->name, (long long)size, (long long)own, (long long)tp,
                             p->ranks, rank);
    if (all <= 0 || all % p->ranks != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: moeExpertNum is %lld; it must be a multiple of the %u "
                             "ranks",
                             c->op->name, (long long)all, p->ranks);
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_index_dtype(c, 1, ids));
    p->ids = c->first[1];
    p->experts = all / p->ranks;
    p->tokens = ids->shape[0];
    p->k = ids->shape[1];
    return ASN_OK;
}

/* Nanoseconds, about: each entry is copied a few times. The task never runs on the
 * caller, since it waits for other ranks. */
static double work(const dispatch_plan *p) {
    return 1e4 + 4 * (double)(p->tokens * p->k) * (double)p->width;
}

/* V1 names its tensors without endings, V2 and V3 with them; V3 has experts that copy
 * or drop a token, whose numbers must be 0 here. */
asn_status asn_planner_moe_dispatch(asnd_call *c) {
    dispatch_plan p;
    memset(&p, 0, sizeof p);
    const asnd_nd *x = asn_call_nd(c, 0);
    uint32_t halves = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16), single = ASN_BIT(ASN_F32);
    uint32_t ints = ASN_BIT(ASN_I32) | ASN_BIT(ASN_I64);
    int64_t mode = asn_call_int(c, asn_call_param_named(c, "quantMode"));
    int64_t type = asn_call_int(c, asn_call_param_named(c, "expertTokenNumsType"));
    ASN_TRY(take_group(c, &p));
    if ((mode != 0 && mode != 2) || type < 0 || type > 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: quantMode is %lld, expertTokenNumsType %lld; 0 (none) "
                             "or 2 (dynamic), and 0 (sums) or 1 (counts)",
                             c->op->name, (long long)mode, (long long)type);
    p.quantised = mode == 2;
    p.sums = type == 0;
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_one_of(c, 0, halves | single));
    p.x = c->first[0];
    p.width = x->shape[1];
    if (x->shape[0] != p.tokens)
        return asn_error_set(ASN_ERR_VALUE, "%s: x has %lld rows, expertIds %lld",
                             c->op->name, (long long)x->shape[0], (long long)p.tokens);
    /* An output that torch_npu always passes may be given where nothing is written to
     * it. */
    p.scales = named(c, "scales", "scalesOptional");
    p.weights = named(c, "expertScales", "expertScalesOptional");
    p.out = named(c, "expandX", "expandXOut");
    p.row_scales = named(c, "dynamicScales", "dynamicScalesOut");
    p.index = named(c, "expandIdx", "assistInfoForCombineOut");
    p.nums = named(c, "expertTokenNums", "expertTokenNumsOut");
    p.counts = named(c, "epRecvCounts", "epRecvCountsOut");
    p.out_weights = named(c, "expandScales", "expandScalesOut");
    int64_t all = p.experts * p.ranks;
    if (p.scales >= 0) ASN_TRY(holds(c, p.scales, "scales", all, p.width, single));
    if (p.scales >= 0 && !p.quantised)
        return asn_error_set(ASN_ERR_VALUE, "%s: scales go with quantMode 2",
                             c->op->name);
    ASN_TRY(holds(c, p.out, "expandX", p.out < 0, p.width,
                  p.quantised ? ASN_BIT(ASN_I8) : ASN_BIT(x->dtype)));
    int64_t room = p.out < 0 ? 0 : c->e->operands[p.out].nd.shape[0];
    if (p.quantised) ASN_TRY(holds(c, p.row_scales, "dynamicScales", room, 0, single));
    ASN_TRY(holds(c, p.index, "expandIdx", p.tokens * p.k, 0, ints));
    ASN_TRY(holds(c, p.nums, "expertTokenNums", p.experts, 0, ints));
    ASN_TRY(holds(c, p.counts, "epRecvCounts", all, 0, ints));
    if (p.weights >= 0) {
        ASN_TRY(holds(c, p.weights, "expertScales", p.tokens, p.k, single));
        ASN_TRY(holds(c, p.out_weights, "expandScales", room, 0, single));
    }
    return asn_call_keep(c, dispatch_body, &p, sizeof p, work(&p));
}

/* The weights are expertScales; what is added for shared experts is refused, since the
 * page does not say what weighs it. */
asn_status asn_planner_moe_combine(asnd_call *c) {
    dispatch_plan p;
    memset(&p, 0, sizeof p);
    const asnd_nd *x = asn_call_nd(c, 0);
    uint32_t floats = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F32);
    uint32_t ints = ASN_BIT(ASN_I32) | ASN_BIT(ASN_I64);
    ASN_TRY(take_group(c, &p));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_one_of(c, 0, floats));
    p.x = c->first[0];
    p.width = x->shape[1];
    p.index = named(c, "expandIdx", "assistInfoForCombine");
    p.counts = named(c, "epSendCounts", "");
    p.weights = named(c, "expertScales", "");
    p.out = named(c, "x", "xOut");
    ASN_TRY(holds(c, p.index, "expandIdx", p.tokens * p.k, 0, ints));
    ASN_TRY(holds(c, p.counts, "epSendCounts", p.experts * p.ranks, 0, ints));
    ASN_TRY(holds(c, p.weights, "expertScales", p.tokens, p.k, ASN_BIT(ASN_F32)));
    int out = asn_call_out(c);
    p.out = c->first[out];
    ASN_TRY(asn_call_same_dtype(c, out, 0));
    ASN_TRY(asn_call_same_shape(c, out, 2, (int64_t[]){p.tokens, p.width}));
    return asn_call_keep(c, combine_body, &p, sizeof p, work(&p));
}
