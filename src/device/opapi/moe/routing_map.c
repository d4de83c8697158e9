/* CPU device, operators: tokens permuted by a map (tokens, experts) of who works on what,
 * and summed back, with the gradients, as in Megatron's permute and unpermute.
 *
 * An entry is a place of the map that is set; entries lie by expert, then token. permuted
 * has a row, and permutedProbs a number, of each:
 *
 *     permuted[i] = tokens[token[i]], permutedProbs[i] = probs[token[i], expert[i]]
 *
 * sortedIndices are the entries by token. With dropAndPad every expert has as many
 * entries, its first tokens in the map, then others, and sortedIndices are their tokens.
 *
 * The way back sums each token's rows, times their probs where there are some. It also
 * tells which row it took when (outIndex) and for which token (permuteTokenId).
 */
#include "device/opapi/moe/permute.h"
#include "device/opapi/moe/rows.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int from, map, probs, sorted, ids, rows; /* read */
    int out, out_probs, out_sorted, out_ids; /* written */
    int64_t tokens, experts, n;
    bool padded;
} map_plan;

/* The entries: of each its token and expert. */
typedef struct {
    int64_t *token, *expert;
} entries;

/* Room for n entries. It lasts as long as the call. */
static asn_status entries_new(asnd_tmp *tmp, int64_t n, entries *s) {
    ASN_TRY(asn_rows_ints(tmp, n, &s->token));
    return asn_rows_ints(tmp, n, &s->expert);
}

/* The map, of bool or int8, transposed and packed. */
static asn_status map_of(const asnd_nd *a, asnd_tmp *tmp, const bool **set) {
    asnd_view v;
    asn_view_set(&v, a);
    /* By expert, then token, as entries lie: each expert's tokens are one line of it. */
    asn_view_swap_last(&v);
    return asn_packed_data(&v.nd, ASN_BOOL, tmp, set);
}

/* From the map. Its entries must be n, or, padded, n / experts of each. */
static asn_status entries_of_map(aclOpExecutor *e, const map_plan *p, asnd_tmp *tmp,
                                 entries *s) {
    const bool *set = NULL;
    /* capacity: rows of each expert (padded), which its tokens fill as far as they go. */
    int64_t i = 0, capacity = p->experts > 0 ? p->n / p->experts : 0;
    ASN_TRY(entries_new(tmp, p->n, s));
    ASN_TRY(map_of(asn_exec_nd(e, p->map), tmp, &set));
    /* i counts on past n, so that a map with more entries than there is room for is seen,
     * though none is stored beyond it. */
    for (int64_t x = 0; x < p->experts; x++) {
        int64_t end = p->padded ? i + capacity : p->n;
        /* Padded: those of the map first, then the others. */
        for (int wanted = 1; wanted >= (p->padded ? 0 : 1); wanted--)
            for (int64_t t = 0; t < p->tokens; t++) {
                if (set[x * p->tokens + t] != (wanted == 1)) continue;
                if (i < end) {
                    s->token[i] = t;
                    s->expert[i] = x;
                }
                i += i < end || !p->padded;
            }
    }
    if (i == p->n) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: routingMap has %lld entries; there must be "
                         "%lld, those of the permuted tokens",
                         e->name, (long long)i, (long long)p->n);
}

/* Padded, from sortedIndices, which are the tokens. */
static asn_status entries_of_tokens(aclOpExecutor *e, const map_plan *p, asnd_tmp *tmp,
                                    entries *s) {
    const int64_t *token = NULL;
    int64_t capacity = p->experts > 0 ? p->n / p->experts : 1;
    ASN_TRY(entries_new(tmp, p->n, s));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->sorted), ASN_I64, tmp, &token));
    for (int64_t i = 0; i < p->n; i++) {
        if (token[i] < 0 || token[i] >= p->tokens)
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: sortedIndices has %lld; there are "
                                 "%lld tokens",
                                 e->name, (long long)token[i], (long long)p->tokens);
        s->token[i] = token[i];
        s->expert[i] = i / capacity;
    }
    return ASN_OK;
}

/* The numbers at the entries of a matrix (tokens, experts), in dtype t. */
static asn_status at_entries(const asnd_nd *a, const entries *s, int64_t n, asn_dtype t,
                             asnd_tmp *tmp, asnd_view *to) {
    asnd_view all, flat, line;
    int64_t *where = NULL, size = asn_nd_size(a);
    ASN_TRY(asn_packed_of(a, t, tmp, &all));
    ASN_TRY(asn_rows_ints(tmp, n, &where));
    for (int64_t i = 0; i < n; i++)
        where[i] = s->token[i] * a->shape[1] + s->expert[i];
    ASN_TRY(asn_tmp_view(tmp, t, 1, &n, to));
    asn_view_plain(&flat, t, 2, (int64_t[]){size, 1}, all.nd.data);
    asn_view_plain(&line, t, 2, (int64_t[]){n, 1}, to->nd.data);
    return asn_rows_move(&line.nd, NULL, &flat.nd, where, n, tmp);
}

/* The other way: a matrix (tokens, experts) of 0 but for the entries. */
static asn_status to_entries(const asnd_nd *to, const asnd_nd *numbers, const entries *s,
                             int64_t n, asnd_tmp *tmp) {
    asnd_view from, line, all, flat;
    int64_t *where = NULL, *last = NULL, size = asn_nd_size(to);
    ASN_TRY(asn_packed_of(numbers, to->dtype, tmp, &from));
    ASN_TRY(asn_rows_ints(tmp, n, &where));
    for (int64_t i = 0; i < n; i++)
        where[i] = s->token[i] * to->shape[1] + s->expert[i];
    /* Two entries may name one place only where sortedIndices repeat a token (padded):
     * the last one counts, whatever thread writes. */
    ASN_TRY(asn_rows_last(where, n, size, tmp, &last));
    ASN_TRY(asn_tmp_view(tmp, to->dtype, to->ndim, to->shape, &all));
    asn_view_plain(&flat, to->dtype, 2, (int64_t[]){size, 1}, all.nd.data);
    asn_view_plain(&line, to->dtype, 2, (int64_t[]){n, 1}, from.nd.data);
    ASN_TRY(asn_rows_move(&flat.nd, NULL, &line.nd, last, size, tmp));
    return asn_move(to, &all.nd);
}

/* The entries by token, equal tokens in their order; the start of each token's. */
static asn_status by_token(const entries *s, const map_plan *p, asnd_tmp *tmp,
                           int64_t **order, int64_t **start) {
    ASN_TRY(asn_rows_ints(tmp, p->n, order));
    ASN_TRY(asn_rows_even(tmp, p->tokens, 0, start));
    ASN_TRY(asn_rows_order(s->token, p->n, *order, NULL));
    for (int64_t i = 0; i < p->n; i++)
        (*start)[s->token[i] + 1]++;
    for (int64_t t = 0; t < p->tokens; t++)
        (*start)[t + 1] += (*start)[t];
    return ASN_OK;
}

/* ---- bodies */

/* Rows by expert, as the entries lie; sortedIndices tell the way back: for each
 * token, in their order, the places where its copies went. */
static asn_status permute_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const map_plan *p = plan;
    entries s;
    int64_t *order = NULL, *start = NULL;
    asnd_view probs;
    ASN_TRY(entries_of_map(e, p, tmp, &s));
    ASN_TRY(asn_rows_move(asn_exec_nd(e, p->out), NULL, asn_exec_nd(e, p->from), s.token,
                          p->n, tmp));
    if (p->probs >= 0) {
        const asnd_nd *a = asn_exec_nd(e, p->probs);
        ASN_TRY(at_entries(a, &s, p->n, a->dtype, tmp, &probs));
        ASN_TRY(asn_move(asn_exec_nd(e, p->out_probs), &probs.nd));
    }
    if (p->padded) return asn_rows_write(asn_exec_nd(e, p->out_sorted), s.token);
    ASN_TRY(by_token(&s, p, tmp, &order, &start));
    return asn_rows_write(asn_exec_nd(e, p->out_sorted), order);
}

/* The gradient of tokens: the sums of their entries' gradients; of probs: the entries'.
 */
static asn_status permute_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const map_plan *p = plan;
    int64_t *order = NULL, *start = NULL;
    entries s;
    if (p->padded)
        ASN_TRY(entries_of_tokens(e, p, tmp, &s));
    else
        ASN_TRY(entries_of_map(e, p, tmp, &s));
    if (p->probs >= 0)
        ASN_TRY(to_entries(asn_exec_nd(e, p->out_probs), asn_exec_nd(e, p->probs), &s,
                           p->n, tmp));
    ASN_TRY(by_token(&s, p, tmp, &order, &start));
    /* A token went to several experts: its gradient is the sum of its copies'. */
    asnd_rows_sum sum = {.from = asn_exec_nd(e, p->from), .start = start, .at = order};
    return asn_rows_sum(&sum, asn_exec_nd(e, p->out), tmp);
}

/* Of the entries, those that a list of n names, in its order: what lies by rows so comes
 * to lie as the rows are taken. The list has been checked to name entries. */
static asn_status pick(const entries *s, const int64_t *at, int64_t n, asnd_tmp *tmp,
                       entries *picked) {
    ASN_TRY(entries_new(tmp, n, picked));
    for (int64_t i = 0; i < n; i++) {
        picked->token[i] = s->token[at[i]];
        picked->expert[i] = s->expert[at[i]];
    }
    return ASN_OK;
}

/* A vector of n indices below `end`. Indices are data, so that they are checked when the
 * operator runs, before anything is read or written by them. */
static asn_status indices_of(aclOpExecutor *e, int operand, const char *what, int64_t n,
                             int64_t end, asnd_tmp *tmp, const int64_t **at) {
    ASN_TRY(asn_packed_data(asn_exec_nd(e, operand), ASN_I64, tmp, at));
    for (int64_t i = 0; i < n; i++)
        if ((*at)[i] < 0 || (*at)[i] >= end)
            return asn_error_set(ASN_ERR_INDEX, "%s: %s has %lld; it must be below %lld",
                                 e->name, what, (long long)(*at)[i], (long long)end);
    return ASN_OK;
}

/* The entries by expert, where they are known: padded, or for the sake of probs. Where
 * they are not, nothing asks for them. */
static asn_status entries_back(aclOpExecutor *e, const map_plan *p, asnd_tmp *tmp,
                               entries *s) {
    if (p->padded) return entries_of_tokens(e, p, tmp, s);
    return p->probs >= 0 ? entries_of_map(e, p, tmp, s) : ASN_OK;
}

/* Padded, tokens may have any number of rows, and take them in their order: sortedIndices
 * are the rows' tokens. Else each has as many, and sortedIndices name them. The probs of
 * rows (permuteProbs) lie as the rows do, the sum's weights in the order of taking. */
static asn_status unpermute_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const map_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    entries s = {0}, taken;
    int64_t *order = NULL, *start = NULL, *id = NULL;
    const int64_t *at = NULL;
    asnd_view probs;
    ASN_TRY(asn_rows_ints(tmp, p->n, &id));
    ASN_TRY(entries_back(e, p, tmp, &s));
    if (p->padded) {
        ASN_TRY(by_token(&s, p, tmp, &order, &start));
        at = order;
    } else {
        ASN_TRY(indices_of(e, p->sorted, "sortedIndices", p->n, p->n, tmp, &at));
        ASN_TRY(
            asn_rows_even(tmp, p->tokens, p->tokens > 0 ? p->n / p->tokens : 0, &start));
    }
    for (int64_t t = 0; t < p->tokens; t++)
        for (int64_t i = start[t]; i < start[t + 1]; i++)
            id[i] = t;
    asnd_rows_sum sum = {.from = asn_exec_nd(e, p->from), .start = start, .at = at};
    if (p->probs >= 0) {
        const asnd_nd *a = asn_exec_nd(e, p->probs);
        if (p->out_probs >= 0) {
            ASN_TRY(at_entries(a, &s, p->n, a->dtype, tmp, &probs));
            ASN_TRY(asn_move(asn_exec_nd(e, p->out_probs), &probs.nd));
        }
        ASN_TRY(pick(&s, at, p->n, tmp, &taken));
        ASN_TRY(at_entries(a, &taken, p->n, asn_wide_dtype(out->dtype), tmp, &probs));
        sum.weight = probs.nd.data;
    }
    ASN_TRY(asn_rows_sum(&sum, out, tmp));
    ASN_TRY(asn_rows_write(asn_exec_nd(e, p->out_sorted), at));
    return asn_rows_write(asn_exec_nd(e, p->out_ids), id);
}

/* A row gets its token's gradient times its prob, which gets their scalar product. Not
 * padded, permuteTokenId is not read (PyTorch's autograd passes sortedIndices for it):
 * each token has as many rows. */
static asn_status unpermute_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const map_plan *p = plan;
    const asnd_nd *dy = asn_exec_nd(e, p->from), *out = asn_exec_nd(e, p->out);
    const int64_t *at = NULL, *given = NULL;
    int64_t *id = NULL, each = p->tokens > 0 ? p->n / p->tokens : 1;
    int64_t capacity = p->experts > 0 ? p->n / p->experts : 1;
    asn_dtype wide = asn_wide_dtype(out->dtype);
    entries s, taken;
    asnd_view probs, sums;
    ASN_TRY(indices_of(e, p->sorted, "outIndex", p->n, p->n, tmp, &at));
    ASN_TRY(asn_rows_ints(tmp, p->n, &id));
    if (p->padded)
        ASN_TRY(indices_of(e, p->ids, "permuteTokenId", p->n, p->tokens, tmp, &given));
    for (int64_t i = 0; i < p->n; i++)
        id[i] = p->padded ? given[i] : i / each;
    if (p->probs < 0) return asn_moe_spread(dy, id, at, NULL, p->n, out, tmp);
    /* Whose prob a row was weighed by: padded, rows lie by expert, as many for each. */
    if (p->padded) {
        ASN_TRY(entries_new(tmp, p->n, &taken));
        for (int64_t i = 0; i < p->n; i++) {
            taken.token[i] = id[i];
            taken.expert[i] = at[i] / capacity;
        }
    } else {
        ASN_TRY(entries_of_map(e, p, tmp, &s));
        ASN_TRY(pick(&s, at, p->n, tmp, &taken));
    }
    if (p->out_probs >= 0) {
        ASN_TRY(asn_tmp_view(tmp, wide, 1, &p->n, &sums));
        ASN_TRY(asn_moe_dots(asn_exec_nd(e, p->rows), at, dy, id, p->n, &sums.nd, tmp));
        ASN_TRY(to_entries(asn_exec_nd(e, p->out_probs), &sums.nd, &taken, p->n, tmp));
    }
    ASN_TRY(at_entries(asn_exec_nd(e, p->probs), &taken, p->n, wide, tmp, &probs));
    return asn_moe_spread(dy, id, at, probs.nd.data, p->n, out, tmp);
}

/* ---- planners */

/* What both planners share. Without entries the gradient of tokens is still set, to
 * 0. */
static asn_status plan_map(asnd_call *c, asnd_body_fn fn, const map_plan *plan,
                           int64_t h) {
    if (plan->n == 0 && plan->tokens == 0) return ASN_OK;
    return asn_call_keep(c, fn, plan, sizeof *plan, 500 + (double)(plan->n * h));
}

static const map_plan none = {.map = -1,
                              .probs = -1,
                              .sorted = -1,
                              .ids = -1,
                              .rows = -1,
                              .out_probs = -1,
                              .out_sorted = -1,
                              .out_ids = -1};

/* A map of bool or int8; its shape becomes the plan's. */
static asn_status check_map(const asnd_call *c, int i, map_plan *p) {
    if (c->first[i] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: routingMap is NULL", c->op->name);
    ASN_TRY(asn_call_rank(c, i, 2, 2));
    ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_BOOL) | ASN_BIT(ASN_I8) | ASN_BIT(ASN_U8)));
    p->map = c->first[i];
    p->tokens = asn_call_nd(c, i)->shape[0];
    p->experts = asn_call_nd(c, i)->shape[1];
    return ASN_OK;
}

/* n entries: as many for each expert (padded) or token. */
static asn_status check_even(const asnd_call *c, const map_plan *p) {
    /* Not padded, numOutTokens is tokens * topK: each token has topK rows. */
    int64_t each = p->padded ? p->experts : p->tokens;
    if (each > 0 ? p->n % each == 0 : p->n == 0) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: %lld permuted tokens; there must be as many for each of %lld "
        "%s",
        c->op->name, (long long)p->n, (long long)each, p->padded ? "experts" : "tokens");
}

/* A vector of n numbers of int32 or int64. */
static asn_status check_indices(const asnd_call *c, int i, int64_t n) {
    ASN_TRY(asn_call_position_dtype(c, i));
    return asn_call_same_shape(c, i, 1, &n);
}

/* MoeTokenPermuteWithRoutingMap(tokens, routingMap, probs, numOutTokens, dropAndPad,
 * permuteTokensOut, permuteProbsOut, sortedIndicesOut) */
asn_status asn_planner_moe_map_permute(asnd_call *c) {
    const asnd_nd *tokens = asn_call_nd(c, 0);
    map_plan p = none;
    p.padded = asn_call_int(c, 4) != 0;
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(check_map(c, 1, &p));
    int64_t each = p.padded ? p.experts : p.tokens, n = asn_call_int(c, 3);
    p.n = each > 0 && n > 0 ? n / each * each : 0;
    if (tokens->shape[0] != p.tokens || n < 0 || (p.padded && p.n > p.tokens * p.experts))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld tokens, a map of %lld by %lld, numOutTokens %lld; "
                             "the map has a row of each token and no more entries",
                             c->op->name, (long long)tokens->shape[0],
                             (long long)p.tokens, (long long)p.experts, (long long)n);
    ASN_TRY(asn_call_same_dtype(c, 5, 0));
    ASN_TRY(asn_call_same_shape(c, 5, 2, (int64_t[]){p.n, tokens->shape[1]}));
    if (c->first[2] >= 0) {
        ASN_TRY(asn_call_same_shape(c, 2, 2, (int64_t[]){p.tokens, p.experts}));
        if (c->first[6] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: permuteProbsOut is NULL, but there are probs",
                                 c->op->name);
        ASN_TRY(asn_call_same_dtype(c, 6, 2));
        ASN_TRY(asn_call_same_shape(c, 6, 1, &p.n));
    }
    ASN_TRY(check_indices(c, 7, p.n));
    p.from = c->first[0];
    p.probs = c->first[2];
    p.out = c->first[5];
    p.out_probs = c->first[6];
    p.out_sorted = c->first[7];
    return plan_map(c, permute_body, &p, tokens->shape[1]);
}

/* MoeTokenPermuteWithRoutingMapGrad(permutedTokenOutputGrad, permutedProbsOutputGrad,
 * sortedIndices, routingMap, numExperts, tokensNum, dropAndPad, tokensGradOut,
 * probsGradOut) */
asn_status asn_planner_moe_map_permute_grad(asnd_call *c) {
    const asnd_nd *dy = asn_call_nd(c, 0);
    map_plan p = none;
    p.padded = asn_call_int(c, 6) != 0;
    p.experts = asn_call_int(c, 4);
    p.tokens = asn_call_int(c, 5);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    if (!p.padded) ASN_TRY(check_map(c, 3, &p));
    if (p.experts != asn_call_int(c, 4) || p.tokens != asn_call_int(c, 5) ||
        p.experts < 0)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: numExperts is %lld, tokensNum %lld, but the map is %lld "
            "by %lld",
            c->op->name, (long long)asn_call_int(c, 4), (long long)asn_call_int(c, 5),
            (long long)p.tokens, (long long)p.experts);
    p.n = dy->shape[0];
    ASN_TRY(check_even(c, &p));
    ASN_TRY(check_indices(c, 2, p.n));
    ASN_TRY(asn_call_floating(c, 7));
    ASN_TRY(asn_call_same_shape(c, 7, 2, (int64_t[]){p.tokens, dy->shape[1]}));
    if (c->first[1] >= 0) {
        ASN_TRY(asn_call_same_shape(c, 1, 1, &p.n));
        if (c->first[8] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: probsGradOut is NULL, but there is a gradient",
                                 c->op->name);
        ASN_TRY(asn_call_floating(c, 8));
        ASN_TRY(asn_call_same_shape(c, 8, 2, (int64_t[]){p.tokens, p.experts}));
    }
    p.from = c->first[0];
    p.probs = c->first[1];
    p.sorted = c->first[2];
    p.out = c->first[7];
    p.out_probs = c->first[8];
    return plan_map(c, permute_grad_body, &p, dy->shape[1]);
}

/* Both ways back: n rows, their sums' tokens. The map is read only where there are
 * probs, and only unless padded, as sortedIndices then say all of it; elsewhere it may
 * be anything, also absent. restoreShape is not read: it is the sum's shape, which the
 * tensor has. */
static asn_status check_back(const asnd_call *c, int rows, int sum, int map, int probs,
                             map_plan *p) {
    const asnd_nd *of = asn_call_nd(c, rows), *y = asn_call_nd(c, sum);
    ASN_TRY(asn_call_floating(c, rows));
    ASN_TRY(asn_call_floating(c, sum));
    ASN_TRY(asn_call_rank(c, rows, 2, 2));
    ASN_TRY(asn_call_rank(c, sum, 2, 2));
    ASN_TRY(asn_call_same_shape(c, sum, 2, (int64_t[]){y->shape[0], of->shape[1]}));
    p->n = of->shape[0];
    p->tokens = y->shape[0];
    p->probs = c->first[probs];
    if (p->probs >= 0) {
        const asnd_nd *a = asn_call_nd(c, probs);
        ASN_TRY(asn_call_floating(c, probs));
        ASN_TRY(asn_call_rank(c, probs, 2, 2));
        p->experts = a->shape[1];
        if (!p->padded) ASN_TRY(check_map(c, map, p));
        ASN_TRY(asn_call_same_shape(c, probs, 2, (int64_t[]){y->shape[0], p->experts}));
        if (p->tokens != y->shape[0])
            return asn_error_set(
                ASN_ERR_VALUE, "%s: routingMap has %lld rows; there are %lld tokens",
                c->op->name, (long long)p->tokens, (long long)y->shape[0]);
    }
    /* Without probs a padded sum does not depend on whose rows they are; otherwise
     * experts have equal shares of the rows, or tokens have. */
    if (p->padded && p->probs < 0) return ASN_OK;
    return check_even(c, p);
}

/* MoeTokenUnpermuteWithRoutingMap(permutedTokens, sortedIndices, routingMap, probs,
 * paddedMode, restoreShape, unpermutedTokens, outIndex, permuteTokenId, permuteProbs) */
asn_status asn_planner_moe_map_unpermute(asnd_call *c) {
    map_plan p = none;
    p.padded = asn_call_int(c, 4) != 0;
    ASN_TRY(check_back(c, 0, 6, 2, 3, &p));
    ASN_TRY(check_indices(c, 1, p.n));
    ASN_TRY(check_indices(c, 7, p.n));
    ASN_TRY(check_indices(c, 8, p.n));
    if (p.probs >= 0 && c->first[9] >= 0) {
        ASN_TRY(asn_call_same_dtype(c, 9, 3));
        ASN_TRY(asn_call_same_shape(c, 9, 1, &p.n));
        p.out_probs = c->first[9];
    }
    p.from = c->first[0];
    p.sorted = c->first[1];
    p.out = c->first[6];
    p.out_sorted = c->first[7];
    p.out_ids = c->first[8];
    return plan_map(c, unpermute_body, &p, asn_call_nd(c, 0)->shape[1]);
}

/* MoeTokenUnpermuteWithRoutingMapGrad(unpermutedTokensGrad, outIndex, permuteTokenId,
 * routingMap, permutedTokens, probs, paddedMode, restoreShape, permutedTokensGradOut,
 * probsGradOut) */
asn_status asn_planner_moe_map_unpermute_grad(asnd_call *c) {
    map_plan p = none;
    p.padded = asn_call_int(c, 6) != 0;
    ASN_TRY(check_back(c, 8, 0, 3, 5, &p));
    ASN_TRY(check_indices(c, 1, p.n));
    ASN_TRY(check_indices(c, 2, p.n));
    if (p.probs >= 0 && c->first[9] >= 0) {
        /* The rows are asked for here alone: their own gradient does without them. */
        if (c->first[4] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: permutedTokens is NULL, but probs want a gradient",
                                 c->op->name);
        ASN_TRY(asn_call_floating(c, 4));
        ASN_TRY(asn_call_same_shape(c, 4, 2, asn_call_nd(c, 8)->shape));
        ASN_TRY(asn_call_floating(c, 9));
        ASN_TRY(asn_call_same_shape(c, 9, 2, (int64_t[]){p.tokens, p.experts}));
        p.rows = c->first[4];
        p.out_probs = c->first[9];
    }
    p.from = c->first[0];
    p.sorted = c->first[1];
    p.ids = c->first[2];
    p.out = c->first[8];
    return plan_map(c, unpermute_grad_body, &p, asn_call_nd(c, 0)->shape[1]);
}
