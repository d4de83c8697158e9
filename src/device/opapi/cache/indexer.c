/* CPU device, operators: LightningIndexer, which tokens a query shall look at (DeepSeek
 * sparse attention: DeepSeek-V3.2, 2025).
 *
 *     score[s, t] = sum over heads g of weights[s, g] * max(query[s, g] . key[t], 0)
 *
 * sparseIndices[s] are the sparseCount best t, the best first, equal scores in their
 * order; places beyond the tokens that there are get -1 (and value 0). sparseMode 3: the
 * last query sees all tokens, each one before it one token less. layouts: BSND; TND, with
 * lengths that are ends; keys also PA_BSND, blocks that blockTable names, with lengths.
 * In float32.
 *
 * DenseLightningIndexerSoftmaxLse tells of the same scores two numbers for each query,
 * from which the indexer's loss makes its softmax:
 *
 *     softmaxMax[s] = greatest score[s, t] of the tokens t that s sees
 *     softmaxSum[s] = sum over those t of exp(score[s, t] - softmaxMax[s])
 *
 * with query (B, S, G, D), key (B, T, 1, D) and weights (B, S, G); flat: S and T of all
 * sequences one behind the other, without B.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/sort/sort.h"
#include "device/opapi/core/packed.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int q, k, w, q_lengths, k_lengths, table, index, value;
    bool q_flat, k_flat, paged, causal;
    int64_t batch, heads, size, count, q_long, k_long; /* extents of S, 0 where flat */
} indexer_plan;

/* Sequence b: rows [from, from + n) of packed tokens. */
typedef struct {
    int64_t from, n;
} span;

/* Lengths are data, so that they are checked when the operator runs. From lengths (NULL:
 * all of `whole` tokens each), which are ends where flat. */
static asn_status span_of(aclOpExecutor *e, const char *name, const int64_t *lengths,
                          bool flat, int64_t b, int64_t whole, int64_t all, span *s) {
    int64_t before = flat && b > 0 ? lengths[b - 1] : 0,
            end = lengths == NULL ? whole : lengths[b];
    bool fits = end >= before && end <= (flat ? all : whole);
    s->from = flat ? before : b * whole;
    s->n = fits ? end - before : 0;
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s of sequence %lld is %lld, of %lld tokens",
                         e->name, name, (long long)b, (long long)end,
                         (long long)(flat ? all : whole));
}

/* keys: (n, size) in float32, of sequence b: where they lie, or gathered from the blocks
 * that hold them. Only blocks that the length reaches are looked up, since the rest of a
 * row of the table may be anything. */
static asn_status keys_of(aclOpExecutor *e, const indexer_plan *p, const float *k,
                          const int64_t *table, int64_t b, const span *s, asnd_tmp *tmp,
                          asnd_view *keys) {
    const asnd_nd *blocks = asn_exec_nd(e, p->k);
    int64_t shape[] = {s->n, p->size};
    if (!p->paged) {
        asn_view_plain(keys, ASN_F32, 2, shape,
                       (void *)(uintptr_t)(k + s->from * p->size));
        return ASN_OK;
    }
    int64_t each = blocks->shape[1], wide = asn_exec_nd(e, p->table)->shape[1];
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, shape, keys));
    for (int64_t t = 0; t < s->n; t += each) {
        int64_t block = t / each < wide ? table[b * wide + t / each] : -1;
        if (block < 0 || block >= blocks->shape[0])
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: blockTable has %lld for token %lld of sequence "
                                 "%lld; there are %lld blocks",
                                 e->name, (long long)block, (long long)t, (long long)b,
                                 (long long)blocks->shape[0]);
        int64_t n = s->n - t < each ? s->n - t : each;
        memcpy((float *)(void *)keys->nd.data + t * p->size, k + block * each * p->size,
               (size_t)(n * p->size) * sizeof *k);
    }
    return ASN_OK;
}

/* The scores of one query from its products with n keys, of which `seen` count: weighted
 * sums over heads of what is above 0, in the heads' order, so that a score does not
 * depend on how many tokens there are. */
static void score_tokens(const float *dots, const float *w, int64_t heads, int64_t n,
                         int64_t seen, float *score) {
    for (int64_t t = 0; t < seen; t++) {
        score[t] = 0;
        for (int64_t g = 0; g < heads; g++)
            score[t] += w[g] * fmaxf(dots[g * n + t], 0);
    }
}

/* One query: `dots` (heads, n) of it, tokens of which `seen` count, to its places. */
static asn_status choose(const indexer_plan *p, const float *dots, const float *w,
                         int64_t n, int64_t seen, asnd_tmp *tmp, int32_t *index,
                         float *value) {
    /* w . max(dots, 0), a sum over a few dozen heads: less work than the products before
     * it, which have `size` terms for each of these. */
    float *score = asn_tmp_alloc(tmp, (size_t)(n > 0 ? n : 1) * sizeof *score);
    if (score == NULL) return ASN_ERR_MEMORY;
    score_tokens(dots, w, p->heads, n, seen, score);
    int64_t k = seen < p->count ? seen : p->count;
    for (int64_t i = k; i < p->count; i++) {
        index[i] = -1;
        value[i] = 0;
    }
    if (k <= 0) return ASN_OK;
    asnd_view all, best, at;
    int64_t *places;
    asn_view_plain(&all, ASN_F32, 1, &seen, score);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &k, &best));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &k, &at));
    ASN_TRY(asn_cpu_topk(&all.nd, 0, k, ASN_SORT_DESCENDING, &best.nd, &at.nd));
    places = (int64_t *)(void *)at.nd.data;
    for (int64_t i = 0; i < k; i++)
        index[i] = (int32_t)places[i];
    memcpy(value, best.nd.data, (size_t)k * sizeof *value);
    return ASN_OK;
}

/* The outputs as packed numbers: places of no query are -1. */
typedef struct {
    asnd_view index, value;
} indexer_out;

/* All queries of one sequence. The scores of a query are a vector as long as the
 * sequence: its memory goes back before the next one, for a prompt has thousands of
 * queries. */
static asn_status sequence(const indexer_plan *p, const float *q, const float *w,
                           const span *qs, const asnd_view *keys, int64_t n,
                           indexer_out *out, asnd_tmp *tmp) {
    asnd_view heads, turned, dots;
    asn_view_set(&turned, &keys->nd);
    asn_view_swap_last(&turned);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){p->heads, n}, &dots));
    for (int64_t i = 0; i < qs->n; i++) {
        /* Causal: queries are the last qs->n of the n tokens, so that query i has n -
         * (qs->n
         * - 1 - i) tokens up to itself. */
        int64_t row = qs->from + i, seen = p->causal ? n - (qs->n - 1 - i) : n;
        asnd_tmp own = {0};
        asn_view_plain(&heads, ASN_F32, 2, (int64_t[]){p->heads, p->size},
                       (void *)(uintptr_t)(q + row * p->heads * p->size));
        if (n > 0) ASN_TRY(asn_cpu_matmul(&heads.nd, &turned.nd, &dots.nd));
        asn_status status = choose(p, (const float *)(void *)dots.nd.data,
                                   w + row * p->heads, n, seen > 0 ? seen : 0, &own,
                                   (int32_t *)(void *)out->index.nd.data + row * p->count,
                                   (float *)(void *)out->value.nd.data + row * p->count);
        asn_tmp_free(&own);
        ASN_TRY(status);
    }
    return ASN_OK;
}

/* Everything is read before anything is written: outputs may share memory with inputs.
 * Places start as -1 (all bits set) and values as 0, for queries beyond a length. */
static asn_status indexer_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const indexer_plan *p = plan;
    const asnd_nd *q_nd = asn_exec_nd(e, p->q), *k_nd = asn_exec_nd(e, p->k);
    const float *q, *k, *w;
    const int64_t *q_lengths = NULL, *k_lengths = NULL, *table = NULL;
    int64_t shape[] = {asn_nd_size(asn_exec_nd(e, p->index)) / p->count, p->count};
    indexer_out out;
    ASN_TRY(asn_packed_data(q_nd, ASN_F32, tmp, &q));
    ASN_TRY(asn_packed_data(k_nd, ASN_F32, tmp, &k));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->w), ASN_F32, tmp, &w));
    if (p->q_lengths >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->q_lengths), ASN_I64, tmp, &q_lengths));
    if (p->k_lengths >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->k_lengths), ASN_I64, tmp, &k_lengths));
    if (p->table >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->table), ASN_I64, tmp, &table));
    ASN_TRY(asn_tmp_view(tmp, ASN_I32, 2, shape, &out.index));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, shape, &out.value));
    memset(out.index.nd.data, 0xff, (size_t)(shape[0] * p->count) * sizeof(int32_t));
    memset(out.value.nd.data, 0, (size_t)(shape[0] * p->count) * sizeof(float));
    for (int64_t b = 0; b < p->batch; b++) {
        asnd_view keys;
        span qs, ks;
        ASN_TRY(span_of(e, "actualSeqLengthsQuery", q_lengths, p->q_flat, b, p->q_long,
                        q_nd->shape[0], &qs));
        ASN_TRY(span_of(e, "actualSeqLengthsKey", k_lengths, p->k_flat, b, p->k_long,
                        k_nd->shape[0], &ks));
        ASN_TRY(keys_of(e, p, k, table, b, &ks, tmp, &keys));
        ASN_TRY(sequence(p, q, w, &qs, &keys, ks.n, &out, tmp));
    }
    asnd_view to;
    const asnd_nd *index = asn_exec_nd(e, p->index);
    asn_view_plain(&to, ASN_I32, index->ndim, index->shape, out.index.nd.data);
    ASN_TRY(asn_move(index, &to.nd));
    if (p->value < 0) return ASN_OK;
    const asnd_nd *value = asn_exec_nd(e, p->value);
    asn_view_plain(&to, ASN_F32, value->ndim, value->shape, out.value.nd.data);
    return asn_move(value, &to.nd);
}

/* ---- the planner */

/* Layout i: BSND (also NULL), TND, and for keys PA_BSND. */
static asn_status take_layout(const asnd_call *c, int i, bool *flat, bool *paged) {
    const char *layout = c->args[i].p;
    *flat = layout != NULL && strcmp(layout, "TND") == 0;
    *paged = layout != NULL && strcmp(layout, "PA_BSND") == 0;
    if (*flat || (*paged && i == 7) || layout == NULL || strcmp(layout, "BSND") == 0)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s is \"%.20s\"; it must be BSND, TND%s",
                         c->op->name, c->op->params[i].name, layout,
                         i == 7 ? " or PA_BSND" : "");
}

/* Lengths, a number for each sequence; flat tokens and blocks have them always. */
static asn_status take_lengths(const asnd_call *c, int i, int64_t batch, bool needed,
                               int *operand) {
    *operand = c->first[i];
    if (*operand < 0 && needed)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL", c->op->name,
                             c->op->params[i].name);
    if (*operand < 0) return ASN_OK;
    ASN_TRY(asn_call_position_dtype(c, i));
    return asn_call_same_shape(c, i, 1, &batch);
}

/* query (B, S, N, D) or (T, N, D), key with one head, which all heads of the query share;
 * weights have the query's shape without D, outputs without N: places are for all heads.
 * Without returnValue torch_npu hands over an empty tensor, which stays as it is. */
static asn_status check_shapes(const asnd_call *c, indexer_plan *p) {
    const asnd_nd *q = asn_call_nd(c, 0), *k = asn_call_nd(c, 1);
    int nq = p->q_flat ? 3 : 4, nk = p->k_flat ? 3 : 4;
    ASN_TRY(asn_call_rank(c, 0, nq, nq));
    ASN_TRY(asn_call_rank(c, 1, nk, nk));
    p->heads = q->shape[nq - 2];
    p->size = q->shape[nq - 1];
    p->q_long = p->q_flat ? 0 : q->shape[1];
    int64_t want[4] = {k->shape[0], nk == 4 ? k->shape[1] : 1, 1, p->size};
    if (nk == 3) want[2] = p->size;
    ASN_TRY(asn_call_same_shape(c, 1, nk, want));
    ASN_TRY(asn_call_same_shape(c, 2, nq - 1, q->shape));
    /* sparseIndices and sparseValues (B, S, 1, count) or (T, 1, count). */
    int64_t out[4] = {q->shape[0], nq == 4 ? q->shape[1] : 1, 1, p->count};
    if (nq == 3) out[2] = p->count;
    ASN_TRY(asn_call_position_dtype(c, 13));
    ASN_TRY(asn_call_same_shape(c, 13, nq, out));
    p->value = -1;
    if (asn_call_int(c, 12) == 0) return ASN_OK;
    if (c->first[14] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: sparseValues is NULL, but returnValue asks for it",
                             c->op->name);
    p->value = c->first[14];
    ASN_TRY(asn_call_single(c, 14));
    return asn_call_same_shape(c, 14, nq, out);
}

/* LightningIndexer(query, key, weights, actualSeqLengthsQuery, actualSeqLengthsKey,
 * blockTable, layoutQuery, layoutKey, sparseCount, sparseMode, preTokens, nextTokens,
 * returnValue, sparseIndices, sparseValues) */
asn_status asn_planner_lightning_indexer(asnd_call *c) {
    indexer_plan p = {.q = c->first[0], .k = c->first[1], .w = c->first[2], .table = -1};
    bool none;
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_call_single(c, i));
    ASN_TRY(take_layout(c, 6, &p.q_flat, &none));
    ASN_TRY(take_layout(c, 7, &p.k_flat, &p.paged));
    p.count = asn_call_int(c, 8);
    int64_t mode = asn_call_int(c, 9);
    p.causal = mode == 3;
    if (p.count < 1 || (mode != 0 && mode != 3) || asn_call_int(c, 10) != INT64_MAX ||
        asn_call_int(c, 11) != INT64_MAX || (!p.paged && p.q_flat != p.k_flat))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: sparseCount is %lld, sparseMode %lld; it must be 1 or "
                             "more, 0 or 3, preTokens and nextTokens 2^63 - 1, and "
                             "layouts without blocks the same",
                             c->op->name, (long long)p.count, (long long)mode);
    ASN_TRY(check_shapes(c, &p));
    const asnd_nd *q = asn_call_nd(c, 0), *k = asn_call_nd(c, 1);
    p.batch = q->shape[0];
    if (p.q_flat && c->first[3] >= 0) p.batch = asn_nd_size(asn_call_nd(c, 3));
    ASN_TRY(take_lengths(c, 3, p.batch, p.q_flat, &p.q_lengths));
    ASN_TRY(take_lengths(c, 4, p.batch, p.k_flat || p.paged, &p.k_lengths));
    p.k_long = p.paged ? 0 : p.k_flat ? 0 : k->shape[1];
    if (p.paged) {
        if (c->first[5] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: blockTable is NULL",
                                 c->op->name);
        ASN_TRY(asn_call_position_dtype(c, 5));
        ASN_TRY(asn_call_rank(c, 5, 2, 2));
        int64_t wide = asn_call_nd(c, 5)->shape[1];
        ASN_TRY(asn_call_same_shape(c, 5, 2, (int64_t[]){p.batch, wide}));
        p.table = c->first[5];
        p.k_long = wide * k->shape[1];
    } else if (!p.k_flat && k->shape[0] != p.batch) {
        return asn_error_set(ASN_ERR_VALUE, "%s: %lld sequences of queries, %lld of keys",
                             c->op->name, (long long)p.batch, (long long)k->shape[0]);
    }
    /* Without keys there are places still, all -1. */
    if (asn_nd_size(asn_call_nd(c, 13)) == 0) return ASN_OK;
    p.index = c->first[13];
    /* Every query element meets every key: a tenth of a nanosecond for each pair. */
    double work = (double)asn_nd_size(q) * (double)(k->shape[0] * k->shape[1]);
    return asn_call_keep(c, indexer_body, &p, sizeof p, 1000 + work / 10);
}

/* ---- the scores' greatest and sum */

/* Operands, and the ends of sequences, which the plan owns (flat: else all are alike). */
typedef struct {
    asnd_plan_head head;
    int q, k, w, top, sum;
    int64_t batch, heads, size;
    const int64_t *q_ends, *k_ends;
} lse_plan;

/* All queries of one sequence, to top and sum, which have a number for each row of q. q:
 * rows of heads * size, w: of heads; keys: n rows of size. With n keys and m queries,
 * query i sees the first n - (m - 1 - i) of them. The scores of a query are a vector as
 * long as the sequence, used again for the next one. There are as many keys as queries at
 * least (check_ends), so that each sees one and its greatest score is a number. */
static asn_status lse_sequence(const lse_plan *p, const float *q, const float *w,
                               const span *qs, const asnd_view *keys, float *top,
                               float *sum, asnd_tmp *tmp) {
    const int64_t n = keys->shape[0];
    asnd_view heads, turned, dots;
    float *score = asn_tmp_alloc(tmp, (size_t)n * sizeof *score);
    if (score == NULL) return ASN_ERR_MEMORY;
    asn_view_set(&turned, &keys->nd);
    asn_view_swap_last(&turned);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){p->heads, n}, &dots));
    for (int64_t row = qs->from; row < qs->from + qs->n; row++) {
        int64_t seen = n - (qs->from + qs->n - 1 - row);
        asn_view_plain(&heads, ASN_F32, 2, (int64_t[]){p->heads, p->size},
                       (void *)(uintptr_t)(q + row * p->heads * p->size));
        ASN_TRY(asn_cpu_matmul(&heads.nd, &turned.nd, &dots.nd));
        score_tokens((const float *)(void *)dots.nd.data, w + row * p->heads, p->heads, n,
                     seen, score);
        top[row] = score[0];
        for (int64_t t = 1; t < seen; t++)
            top[row] = fmaxf(top[row], score[t]);
        sum[row] = 0;
        for (int64_t t = 0; t < seen; t++)
            sum[row] += expf(score[t] - top[row]);
    }
    return ASN_OK;
}

/* Outputs may share memory with inputs: they are written when all sequences are done. The
 * plan's ends are those that phase 1 was given; without them sequences are equally long.
 * The temporaries of a sequence end with it. */
static asn_status lse_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const lse_plan *p = plan;
    const asnd_nd *q_nd = asn_exec_nd(e, p->q), *k_nd = asn_exec_nd(e, p->k);
    const asnd_nd *outs[] = {asn_exec_nd(e, p->top), asn_exec_nd(e, p->sum)};
    const int64_t q_long = q_nd->shape[1], k_long = k_nd->shape[1];
    const float *q, *k, *w;
    asnd_view made[2];
    ASN_TRY(asn_packed_data(q_nd, ASN_F32, tmp, &q));
    ASN_TRY(asn_packed_data(k_nd, ASN_F32, tmp, &k));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->w), ASN_F32, tmp, &w));
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_tmp_view(tmp, ASN_F32, outs[i]->ndim, outs[i]->shape, &made[i]));
    for (int64_t b = 0; b < p->batch; b++) {
        span qs = {b * q_long, q_long}, ks = {b * k_long, k_long};
        asnd_view keys;
        if (p->q_ends != NULL) {
            qs.from = b > 0 ? p->q_ends[b - 1] : 0;
            ks.from = b > 0 ? p->k_ends[b - 1] : 0;
            qs.n = p->q_ends[b] - qs.from;
            ks.n = p->k_ends[b] - ks.from;
        }
        asn_view_plain(&keys, ASN_F32, 2, (int64_t[]){ks.n, p->size},
                       (void *)(uintptr_t)(k + ks.from * p->size));
        asnd_tmp own = {0};
        asn_status status =
            lse_sequence(p, q, w, &qs, &keys, (float *)(void *)made[0].nd.data,
                         (float *)(void *)made[1].nd.data, &own);
        asn_tmp_free(&own);
        ASN_TRY(status);
    }
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_move(outs[i], &made[i].nd));
    return ASN_OK;
}

/* Ends of sequences (parameter i), which ascend to `all`; *ends is memory of the
 * executor. */
static asn_status take_ends(const asnd_call *c, int i, int64_t batch, int64_t all,
                            const int64_t **ends) {
    const asnd_array *a = asn_call_array(c, i);
    const int64_t *given = a->data;
    if ((int64_t)a->size != batch || given[batch - 1] != all)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: %s must have %lld ends, the last of them %lld",
            c->op->name, c->op->params[i].name, (long long)batch, (long long)all);
    int64_t *own = asnop_executor_alloc(c->e, (size_t)batch * sizeof *own);
    if (own == NULL) return ASN_ERR_MEMORY;
    memcpy(own, given, (size_t)batch * sizeof *own);
    *ends = own;
    return ASN_OK;
}

/* Of each sequence there are at least as many keys as queries, so that all see one; ends
 * that do not ascend are found here, too. */
static asn_status check_ends(const asnd_call *c, const lse_plan *p) {
    for (int64_t b = 0; b < p->batch; b++) {
        int64_t q = p->q_ends[b] - (b > 0 ? p->q_ends[b - 1] : 0);
        int64_t k = p->k_ends[b] - (b > 0 ? p->k_ends[b - 1] : 0);
        if (q < 0 || k < q)
            return asn_error_set(
                ASN_ERR_VALUE,
                "%s: sequence %lld has %lld queries and %lld keys; there "
                "must be as many keys at least",
                c->op->name, (long long)b, (long long)q, (long long)k);
    }
    return ASN_OK;
}

/* DenseLightningIndexerSoftmaxLse(queryIndex, keyIndex, weights, actualSeqLengthsQuery,
 * actualSeqLengthsKey, layout, sparseMode, preTokens, nextTokens, softmaxMax,
 * softmaxSum): the outputs are (B, 1, S), flat (1, T). Lengths are arrays of the host,
 * which are checked at once. op-plugin documents sparseMode 3 alone. */
asn_status asn_planner_indexer_lse(asnd_call *c) {
    lse_plan p = {.q = c->first[0], .k = c->first[1], .w = c->first[2]};
    bool flat, none;
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_call_single(c, i));
    ASN_TRY(take_layout(c, 5, &flat, &none));
    if (asn_call_int(c, 6) != 3 || asn_call_int(c, 7) != INT64_MAX ||
        asn_call_int(c, 8) != INT64_MAX)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: sparseMode is %lld; it must be 3, preTokens and "
                             "nextTokens 2^63 - 1",
                             c->op->name, (long long)asn_call_int(c, 6));
    const asnd_nd *q = asn_call_nd(c, 0), *k = asn_call_nd(c, 1);
    const int n = flat ? 3 : 4;
    ASN_TRY(asn_call_rank(c, 0, n, n));
    ASN_TRY(asn_call_rank(c, 1, n, n));
    p.heads = q->shape[n - 2];
    p.size = q->shape[n - 1];
    ASN_TRY(asn_call_same_shape(c, 1, n,
                                flat ? (int64_t[]){k->shape[0], 1, p.size}
                                     : (int64_t[]){q->shape[0], k->shape[1], 1, p.size}));
    ASN_TRY(asn_call_same_shape(c, 2, n - 1, q->shape));
    for (int i = 9; i < 11; i++) {
        ASN_TRY(asn_call_single(c, i));
        ASN_TRY(asn_call_same_shape(c, i, n - 1,
                                    flat ? (int64_t[]){1, q->shape[0]}
                                         : (int64_t[]){q->shape[0], 1, q->shape[1]}));
    }
    p.top = c->first[9];
    p.sum = c->first[10];
    const asnd_array *lengths[] = {asn_call_array(c, 3), asn_call_array(c, 4)};
    for (int i = 0; i < 2; i++)
        if ((lengths[i] != NULL && lengths[i]->size > 0) != flat)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s belongs to the layout TND, which needs it",
                                 c->op->name, c->op->params[3 + i].name);
    p.batch = flat ? (int64_t)lengths[0]->size : q->shape[0];
    /* Lengths decide which keys are seen, so they are looked at here and not when the
     * operator runs: an array of the host may be gone by then. */
    if (flat) {
        ASN_TRY(take_ends(c, 3, p.batch, q->shape[0], &p.q_ends));
        ASN_TRY(take_ends(c, 4, p.batch, k->shape[0], &p.k_ends));
        ASN_TRY(check_ends(c, &p));
    } else if (k->shape[1] < q->shape[1]) {
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld queries and %lld keys; there must "
                             "be as many keys at least",
                             c->op->name, (long long)q->shape[1], (long long)k->shape[1]);
    }
    if (asn_nd_size(asn_call_nd(c, 9)) == 0) return ASN_OK;
    double work = (double)asn_nd_size(q) * (double)(k->shape[0] * k->shape[1]);
    return asn_call_keep(c, lse_body, &p, sizeof p, 1000 + work / 10);
}
