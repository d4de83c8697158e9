/* CPU device, operators: groups of ranks, as operators use them (see joined.h). */
#include "device/opapi/joined/joined.h"

#include <string.h>

/* Looked up in the thread that plans, whose current device chooses among communicators of
 * one name. The message of a group that is not found says what the program may have
 * forgotten. */
asn_status asn_join_group(asnd_call *c, const char *parameter, uint32_t *ranks,
                          uint32_t *rank) {
    /* asnrtGroups is a table of functions that libhccl leaves with the runtime when it is
     * loaded, so that this library does not link to it. */
    const char *name = c->args[asn_call_param_named(c, parameter)].p;
    const asnrtGroups *groups = asnrtGroupsGet();
    if (groups == NULL)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s is \"%.127s\", but libhccl, which makes groups, "
                             "is not loaded",
                             c->op->name, parameter, name);
    c->e->group = groups->find(name, ranks, rank);
    if (c->e->group != NULL) return ASN_OK;
    const char *text = aclGetRecentErrMsg();
    return asn_error_set(ASN_ERR_VALUE, "%s: %s: %s; HcclGetCommName gives the name",
                         c->op->name, parameter, text != NULL ? text : "not found");
}

/* A failure keeps its sentence, with the stream's code for what went wrong outside. */
static asn_status call_group(aclOpExecutor *e, const asnrtGroupCall *call) {
    if (asnrtGroupsGet()->call(e->place, e->name, call) == 0) return ASN_OK;
    /* The message is libhccl's own: it knows what the other ranks did. */
    const char *text = aclGetRecentErrMsg();
    return asn_error_set(ASN_ERR_RUNTIME, "%s", text != NULL ? text : "failed");
}

/* All-reduce, all-gather and reduce-scatter have one count, which is the same on every
 * rank. */
asn_status asn_join_call(aclOpExecutor *e, asnrtGroupKind kind, asn_dtype dtype,
                         const void *from, void *to, int64_t count) {
    asnrtGroupCall call = {.kind = kind,
                           .dtype = asn_dtype_table[dtype].acl,
                           .from = from,
                           .to = to,
                           .count = (uint64_t)count};
    /* Nothing to do is alike on every rank. */
    return count == 0 ? ASN_OK : call_group(e, &call);
}

/* Even where this rank has nothing: others may. */
asn_status asn_join_exchange(aclOpExecutor *e, asn_dtype dtype, const void *from,
                             const int64_t *sends, void *to, const int64_t *receives,
                             uint32_t ranks, asnd_tmp *tmp) {
    uint64_t *numbers = asn_tmp_alloc(tmp, 4 * (size_t)ranks * sizeof *numbers);
    if (numbers == NULL) return ASN_ERR_MEMORY;
    /* Four lists in one block: counts and places of what is sent, then of what comes. */
    uint64_t at[2] = {0, 0};
    for (uint32_t r = 0; r < ranks; r++) {
        numbers[r] = (uint64_t)sends[r];
        numbers[2 * ranks + r] = (uint64_t)receives[r];
        numbers[ranks + r] = at[0];
        numbers[3 * ranks + r] = at[1];
        at[0] += (uint64_t)sends[r];
        at[1] += (uint64_t)receives[r];
    }
    asnrtGroupCall call = {.kind = ASNRT_ALL_TO_ALL,
                           .dtype = asn_dtype_table[dtype].acl,
                           .from = from,
                           .to = to,
                           .sends = numbers,
                           .sends_at = numbers + ranks,
                           .receives = numbers + 2 * ranks,
                           .receives_at = numbers + 3 * ranks};
    return call_group(e, &call);
}

/* ---- rows of tokens */

/* Walked by expert, with a place in the rows of each rank. */
asn_status asn_join_permute(const int64_t *counts, uint32_t ranks, int64_t experts,
                            bool back, int64_t bytes, const char *from, char *to,
                            asnd_tmp *tmp) {
    /* counts (ranks, experts). An exchange wants and brings rows by rank, a product for
     * each expert wants them by expert: rank r's rows for expert j start behind those of
     * all ranks before r (by rank), or of all experts before j (by expert). */
    int64_t *by_rank = asn_tmp_alloc(tmp, ranks * sizeof *by_rank), sum = 0;
    if (by_rank == NULL) return ASN_ERR_MEMORY;
    for (uint32_t r = 0; r < ranks; r++) {
        by_rank[r] = sum;
        for (int64_t j = 0; j < experts; j++)
            sum += counts[r * experts + j];
    }
    int64_t by_expert = 0;
    for (int64_t j = 0; j < experts; j++)
        for (uint32_t r = 0; r < ranks; r++) {
            const int64_t n = counts[r * experts + j];
            if (n > 0)
                memcpy(to + (back ? by_rank[r] : by_expert) * bytes,
                       from + (back ? by_expert : by_rank[r]) * bytes,
                       (size_t)(n * bytes));
            by_rank[r] += n;
            by_expert += n;
        }
    return ASN_OK;
}

/* Counts are of rows and by expert; the exchange wants elements, by rank. */
asn_status asn_join_rows(aclOpExecutor *e, asn_dtype dtype, int64_t width,
                         const int64_t *sends, const int64_t *receives, uint32_t ranks,
                         int64_t experts, const void *from, void *to, asnd_tmp *tmp) {
    int64_t *n = asn_tmp_alloc(tmp, 2 * (size_t)ranks * sizeof *n);
    if (n == NULL) return ASN_ERR_MEMORY;
    /* sends and receives (ranks, experts): rows; width: elements of a row. */
    for (uint32_t r = 0; r < ranks; r++) {
        n[r] = n[ranks + r] = 0;
        for (int64_t j = 0; j < experts; j++) {
            n[r] += sends[r * experts + j] * width;
            n[ranks + r] += receives[r * experts + j] * width;
        }
    }
    return asn_join_exchange(e, dtype, from, n, to, n + ranks, ranks, tmp);
}

/* ---- parameters with one allowed value */

static const struct {
    const char *name;
    int64_t value;
} numbers_allowed[] = {
    {"commTurn", 0},       {"streamMode", 1},      {"gatherIndex", 0},
    {"blockSize", 0},      {"groupSize", 0},       {"commQuantMode", 0},
    {"transposeX1", 0},    {"outDtype", 0},        {"groupList_type", 0},
    {"groupListType", 0},  {"zeroExpertNum", 0},   {"copyExpertNum", 0},
    {"constExpertNum", 0}, {"expertShardType", 0}, {"sharedExpertRankNum", 0},
    {"x1QuantMode", 3},    {"x2QuantMode", 2}};

/* Tensors that CANN's pages reserve, or that are refused here; torch_npu passes empty
 * ones. */
static const char *const absent[] = {"quantScale",
                                     "amaxOutOptional",
                                     "sendCountsTensorOptional",
                                     "recvCountsTensorOptional",
                                     "xActiveMask",
                                     "activationScale",
                                     "weightScale",
                                     "groupList",
                                     "xActiveMaskOptional",
                                     "activationScaleOptional",
                                     "weightScaleOptional",
                                     "groupListOptional",
                                     "sharedExpertXOptional",
                                     "elasticInfoOptional",
                                     "oriXOptional",
                                     "constExpertAlpha1Optional",
                                     "constExpertAlpha2Optional",
                                     "constExpertVOptional",
                                     "commScaleOptional",
                                     "x1OffsetOptional",
                                     "x2OffsetOptional",
                                     "timeOutOptional"};

/* commMode names the engine that communicates on an NPU. */
static asn_status check_text(const asnd_call *c, const char *name,
                             const char *const *allowed, int count) {
    int i = asn_call_param_named(c, name);
    const char *text = i < 0 ? NULL : c->args[i].p;
    if (text == NULL) return ASN_OK;
    for (int k = 0; k < count; k++)
        if (strcmp(text, allowed[k]) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s is \"%.32s\"; \"%s\" is allowed",
                         c->op->name, name, text, allowed[0]);
}

/* By name, so that one list serves every version of every operator; a parameter that
 * the operator lacks is passed over. */
asn_status asn_join_reserved(const asnd_call *c) {
    static const char *const sum[] = {"sum"};
    /* An empty name is torch_npu's default. */
    static const char *const modes[] = {"aiv", "ai_cpu", "ccu", ""};
    for (size_t k = 0; k < sizeof numbers_allowed / sizeof *numbers_allowed; k++) {
        int i = asn_call_param_named(c, numbers_allowed[k].name);
        if (i >= 0 && asn_call_int(c, i) != numbers_allowed[k].value)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is %lld; it must be %lld",
                                 c->op->name, numbers_allowed[k].name,
                                 (long long)asn_call_int(c, i),
                                 (long long)numbers_allowed[k].value);
    }
    for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
        int at = asn_call_operand_named(c, absent[k]);
        if (at >= 0 && !c->e->operands[at].is_empty)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is not supported; it must be NULL", c->op->name,
                                 absent[k]);
    }
    ASN_TRY(check_text(c, "reduceOp", sum, 1));
    return check_text(c, "commMode", modes, 4);
}
