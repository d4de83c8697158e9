/* CPU device, operators: AdvanceStep, a decoding step of vLLM (advance_step_flashattn).
 *
 *     inputTokens[i] = sampledTokenIds[i], inputPositions[i] = p = seqLens[i],
 *     seqLens[i] = p + 1, slotMapping[i] = blockTables[i, p / blockSize] * blockSize +
 *         p % blockSize
 *
 * for the queries i < numQueries; the other sequences stay as they are. A sequence whose
 * next token has no block is an error, and then nothing is written.
 */
#include "device/opapi/core/packed.h"

/* Element i of a vector of int64 or int32. */
static int64_t get(const asnd_nd *a, int64_t i) {
    const char *p = a->data + i * a->strides[0];
    return a->dtype == ASN_I64 ? *(const int64_t *)(const void *)p
                               : *(const int32_t *)(const void *)p;
}

/* Its value, cut to int32 where the vector is of that: lengths and slots fit, as
 * far as the caches do. */
static void set(const asnd_nd *a, int64_t i, int64_t value) {
    char *p = a->data + i * a->strides[0];
    if (a->dtype == ASN_I64)
        *(int64_t *)(void *)p = value;
    else
        *(int32_t *)(void *)p = (int32_t)value;
}

/* Vectors are written in place, with their strides: four of them are inputs of the
 * next step. */
static asn_status step_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *lengths = asn_exec_nd(e, p->at[3]), *table = asn_exec_nd(e, p->at[5]);
    const int64_t *sampled = NULL, *blocks = NULL;
    int64_t n = p->arg[7].i, size = p->arg[8].i;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_I64, tmp, &sampled));
    ASN_TRY(asn_packed_data(table, ASN_I64, tmp, &blocks));
    for (int check = 1; check >= 0; check--) /* nothing is written when one is wrong */
        for (int64_t i = 0; i < n; i++) {
            int64_t at = get(lengths, i);
            if (at < 0 || at / size >= table->shape[1])
                return asn_error_set(
                    ASN_ERR_INDEX,
                    "AdvanceStep: sequence %lld has length %lld; its row "
                    "of blockTables has %lld blocks of %lld",
                    (long long)i, (long long)at, (long long)table->shape[1],
                    (long long)size);
            if (check) continue;
            int64_t block = blocks[i * table->shape[1] + at / size];
            set(asn_exec_nd(e, p->at[0]), i, sampled[i]);
            set(asn_exec_nd(e, p->at[2]), i, at);
            set(lengths, i, at + 1);
            set(asn_exec_nd(e, p->at[4]), i, block * size + at % size);
        }
    return ASN_OK;
}

/* AdvanceStep(inputTokens, sampledTokenIds, inputPositions, seqLens, slotMapping,
 * blockTables, numSeqs, numQueries, blockSize) */
asn_status asn_planner_advance_step(asnd_call *c) {
    int64_t n = asn_call_int(c, 6), queries = asn_call_int(c, 7),
            size = asn_call_int(c, 8);
    if (n < 0 || queries < 0 || queries > n || size < 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: numSeqs %lld, numQueries %lld, blockSize %lld; there are "
            "no more queries than sequences, and blocks hold a token",
            c->op->name, (long long)n, (long long)queries, (long long)size);
    for (int i = 0; i < 6; i++) {
        ASN_TRY(asn_call_position_dtype(c, i));
        if (i != 1 && i != 5) ASN_TRY(asn_call_same_shape(c, i, 1, &n));
    }
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){queries, 1}));
    ASN_TRY(asn_call_rank(c, 5, 2, 2));
    ASN_TRY(asn_call_same_shape(c, 5, 2, (int64_t[]){n, asn_call_nd(c, 5)->shape[1]}));
    if (queries == 0) return ASN_OK;
    return asn_packed_plan(c, step_body, 300 + 10 * (double)queries) ? ASN_OK
                                                                     : ASN_ERR_MEMORY;
}
