/* CPU device, operators: how many tokens experts have, and tokens of several ranks put
 * together by expert.
 *
 * MoeComputeExpertTokens(sortedExperts, numExperts, out): out[e] is how many of the
 * sorted numbers are e at most.
 *
 * MoeReRouting(tokens, expertTokenNumPerRank, perTokenScales, expertTokenNumType,
 * idxType, permuteTokensOut, permutePerTokenScalesOut, permuteTokenIdxOut,
 * expertTokenNumOut): tokens lie by rank, then expert, expertTokenNumPerRank (ranks,
 * experts) of them each; they are put by expert, then rank. permuteTokenIdx is where each
 * comes from, expertTokenNum how many an expert has.
 */
#include "device/opapi/moe/rows.h"

/* One walk over the sorted numbers for all experts; numbers above the last expert
 * are not counted. */
static asn_status tokens_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[2]);
    const int64_t *sorted = NULL;
    int64_t n = asn_nd_size(in), *count = NULL;
    ASN_TRY(asn_packed_data(in, ASN_I64, tmp, &sorted));
    ASN_TRY(asn_rows_ints(tmp, out->shape[0], &count));
    for (int64_t i = 0, k = 0; i < out->shape[0]; i++) {
        while (k < n && sorted[k] <= i)
            k++;
        count[i] = k;
    }
    return asn_rows_write(out, count);
}

/* See the file's head. An unsorted operand gives counts up to the first number that
 * is too large, as it would on a sequential reading of the definition. */
asn_status asn_planner_moe_tokens(asnd_call *c) {
    int64_t experts = asn_call_int(c, 1);
    ASN_TRY(asn_call_rank(c, 0, 1, 1));
    ASN_TRY(asn_call_position_dtype(c, 0));
    ASN_TRY(asn_call_position_dtype(c, 2));
    ASN_TRY(asn_call_same_shape(c, 2, 1, &experts));
    if (experts == 0) return ASN_OK;
    return asn_packed_plan(c, tokens_body, 300 + 2 * (double)experts) ? ASN_OK
                                                                      : ASN_ERR_MEMORY;
}

/* from[i]: the row that place i comes from. The counts must be those of all rows. */
static asn_status sources(const int64_t *counts, int64_t ranks, int64_t experts,
                          int64_t rows, int64_t *from, int64_t *per_expert,
                          asnd_tmp *tmp) {
    int64_t *start = NULL, all = 0;
    ASN_TRY(asn_rows_ints(tmp, ranks * experts, &start));
    for (int64_t i = 0; i < ranks * experts; i++) {
        start[i] = all;
        all = counts[i] < 0 || all < 0 || counts[i] > rows ? -1 : all + counts[i];
    }
    if (all != rows)
        return asn_error_set(ASN_ERR_VALUE,
                             "MoeReRouting: expertTokenNumPerRank does not sum to the "
                             "%lld tokens, or is negative",
                             (long long)rows);
    int64_t place = 0;
    for (int64_t e = 0; e < experts; e++) {
        per_expert[e] = 0;
        for (int64_t r = 0; r < ranks; r++) {
            int64_t i = r * experts + e;
            for (int64_t k = 0; k < counts[i]; k++)
                from[place++] = start[i] + k;
            per_expert[e] += counts[i];
        }
    }
    return ASN_OK;
}

/* Counts are checked by `sources` before a row is moved. Scales are vectors, or
 * rows of a matrix; both go with their tokens. */
static asn_status rerouting_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *tokens = asn_exec_nd(e, p->at[0]), *ranks = asn_exec_nd(e, p->at[1]);
    const int64_t *counts = NULL;
    int64_t rows = tokens->shape[0], *from = NULL, *per_expert = NULL;
    ASN_TRY(asn_packed_data(ranks, ASN_I64, tmp, &counts));
    ASN_TRY(asn_rows_ints(tmp, rows, &from));
    ASN_TRY(asn_rows_ints(tmp, ranks->shape[1], &per_expert));
    ASN_TRY(
        sources(counts, ranks->shape[0], ranks->shape[1], rows, from, per_expert, tmp));
    ASN_TRY(asn_rows_move(asn_exec_nd(e, p->at[5]), NULL, tokens, from, rows, tmp));
    if (p->at[2] >= 0) {
        asnd_view scales, to;
        asn_view_set(&scales, asn_exec_nd(e, p->at[2]));
        asn_view_set(&to, asn_exec_nd(e, p->at[6]));
        if (scales.nd.ndim == 1) asn_view_insert(&scales, 1, 1, 0);
        if (to.nd.ndim == 1) asn_view_insert(&to, 1, 1, 0);
        ASN_TRY(asn_rows_move(&to.nd, NULL, &scales.nd, from, rows, tmp));
    }
    ASN_TRY(asn_rows_write(asn_exec_nd(e, p->at[7]), from));
    return asn_rows_write(asn_exec_nd(e, p->at[8]), per_expert);
}

/* See the file's head. Outputs that go with what is absent may be absent, and must
 * be there otherwise. */
asn_status asn_planner_moe_rerouting(asnd_call *c) {
    const asnd_nd *tokens = asn_call_nd(c, 0), *scales = asn_call_nd(c, 2);
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_call_position_dtype(c, 1));
    if (asn_call_int(c, 3) != 1 || asn_call_int(c, 4) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: expertTokenNumType is %lld, idxType %lld; they must be "
                             "1 (counts) and 0 (where a token comes from)",
                             c->op->name, (long long)asn_call_int(c, 3),
                             (long long)asn_call_int(c, 4));
    ASN_TRY(asn_call_same_dtype(c, 5, 0));
    ASN_TRY(asn_call_same_shape(c, 5, 2, tokens->shape));
    if (scales != NULL) {
        ASN_TRY(asn_call_rank(c, 2, 1, 2));
        if (scales->shape[0] != tokens->shape[0])
            return asn_call_same_shape(c, 2, 1, tokens->shape);
        if (c->first[6] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: permutePerTokenScalesOut is NULL, but there are "
                                 "scales",
                                 c->op->name);
        ASN_TRY(asn_call_same_dtype(c, 6, 2));
        ASN_TRY(asn_call_same_shape(c, 6, scales->ndim, scales->shape));
    }
    ASN_TRY(asn_call_position_dtype(c, 7));
    ASN_TRY(asn_call_same_shape(c, 7, 1, tokens->shape));
    ASN_TRY(asn_call_position_dtype(c, 8));
    ASN_TRY(asn_call_same_shape(c, 8, 1, asn_call_nd(c, 1)->shape + 1));
    return asn_packed_plan(c, rerouting_body, 500 + (double)asn_nd_size(tokens))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}
