/* CPU device, operators: keys and values written to, and read from, a cache of blocks
 * (paged attention; Kwon et al., 2023).
 *
 * A slot is block * blockSize + the place in the block. ScatterPaKvCache puts token t at
 * slot slotMapping[t], a negative one nowhere; GatherPaKvCache puts the tokens of each
 * sequence one after the other, found by its row of blockTables, and zeros where there is
 * no such block. A cache is (blocks, blockSize, heads, size), or with cacheMode "PA_NZ"
 * (blocks, heads * size / last, blockSize, last): a token in parts of `last` elements.
 * Both layouts are read as matrices whose rows are such parts.
 */
#include <string.h>

#include "device/opapi/moe/rows.h"

/* Operands: keys and values, -1: absent, with their caches. */
typedef struct {
    asnd_plan_head head;
    int tokens[2], cache[2], slots, table, lengths, offset;
    bool in_parts, sums;
} paged_plan;

/* The cache, packed, as rows of `last` elements; a slot has `parts` of them. */
typedef struct {
    asnd_view rows;
    int64_t blocks, block, parts;
    bool copied;
} paged_cache;

/* Either layout as a matrix, so that moving rows is all that both operators do. */
static asn_status cache_of(const asnd_nd *a, bool in_parts, asnd_tmp *tmp,
                           paged_cache *x) {
    asnd_view packed;
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, &packed));
    x->copied = packed.nd.data != a->data;
    x->blocks = a->shape[0];
    x->block = a->shape[in_parts ? 2 : 1];
    x->parts = in_parts ? a->shape[1] : 1;
    /* A row is what lies on end: a whole token, or one part of it, whose other parts are
     * blockSize rows apart. */
    int64_t last = in_parts ? a->shape[3] : a->shape[2] * a->shape[3];
    int64_t shape[] = {x->blocks * x->block * x->parts, last};
    asn_view_plain(&x->rows, a->dtype, 2, shape, packed.nd.data);
    return ASN_OK;
}

/* at[t * parts + p]: the row of part p of slot[t]; -1 for a negative slot. */
static asn_status rows_of(const paged_cache *x, const int64_t *slot, int64_t n,
                          asnd_tmp *tmp, int64_t **at) {
    ASN_TRY(asn_rows_ints(tmp, n * x->parts, at));
    for (int64_t t = 0; t < n; t++) {
        if (slot[t] >= x->blocks * x->block)
            return asn_error_set(ASN_ERR_INDEX, "slot %lld of a cache of %lld",
                                 (long long)slot[t], (long long)(x->blocks * x->block));
        for (int64_t p = 0; p < x->parts; p++)
            (*at)[t * x->parts + p] =
                slot[t] < 0
                    ? -1
                    : (slot[t] / x->block * x->parts + p) * x->block + slot[t] % x->block;
    }
    return ASN_OK;
}

/* Tokens (n, heads, size) as rows of a cache's parts; a copy where they are not packed.
 */
static asn_status token_rows(const asnd_nd *a, const paged_cache *x, asnd_tmp *tmp,
                             asnd_view *v) {
    asnd_view packed;
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, &packed));
    int64_t shape[] = {a->shape[0] * x->parts, x->rows.shape[1]};
    asn_view_plain(v, a->dtype, 2, shape, packed.nd.data);
    return ASN_OK;
}

/* What was written to a copy goes to the tensor. */
static asn_status put_back(const asnd_nd *to, const asnd_view *rows) {
    asnd_view from;
    if (rows->nd.data == to->data) return ASN_OK;
    asn_view_plain(&from, to->dtype, to->ndim, to->shape, rows->nd.data);
    return asn_move(to, &from.nd);
}

/* Keys and values go to the same slots; of tokens that name one slot, the last. Where
 * there are no values (ScatterPaCache), keys alone. */
static asn_status scatter_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const paged_plan *p = plan;
    const int64_t *slot = NULL;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->slots), ASN_I64, tmp, &slot));
    ASN_TRY(asn_rows_once(&slot, asn_nd_size(asn_exec_nd(e, p->slots)), tmp));
    for (int k = 0; k < 2 && p->tokens[k] >= 0; k++) {
        const asnd_nd *a = asn_exec_nd(e, p->tokens[k]), *c = asn_exec_nd(e, p->cache[k]);
        paged_cache x;
        asnd_view from;
        int64_t *at = NULL;
        ASN_TRY(cache_of(c, p->in_parts, tmp, &x));
        ASN_TRY(rows_of(&x, slot, a->shape[0], tmp, &at));
        ASN_TRY(token_rows(a, &x, tmp, &from));
        ASN_TRY(asn_rows_move(&x.rows.nd, at, &from.nd, NULL, from.shape[0], tmp));
        ASN_TRY(put_back(c, &x.rows));
    }
    return ASN_OK;
}

/* The slot of each token of all sequences, n at most; -1: zeros. *count gets how many. */
static asn_status slots_of(aclOpExecutor *e, const paged_plan *p, const paged_cache *x,
                           int64_t n, asnd_tmp *tmp, int64_t *slot, int64_t *count) {
    const asnd_nd *table = asn_exec_nd(e, p->table);
    const int64_t *blocks = NULL, *lengths = NULL, *offset = NULL;
    ASN_TRY(asn_packed_data(table, ASN_I64, tmp, &blocks));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->lengths), ASN_I64, tmp, &lengths));
    if (p->offset >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->offset), ASN_I64, tmp, &offset));
    *count = 0;
    for (int64_t i = 0; i < table->shape[0]; i++) {
        int64_t length = p->sums ? lengths[i + 1] - lengths[i] : lengths[i];
        /* seqOffset counts tokens to leave out in front: whole blocks of the table. */
        int64_t first = offset ? offset[i] / x->block : 0;
        for (int64_t j = 0; j < length && *count < n; j++) {
            int64_t b = first + j / x->block, id = -1;
            if (b >= 0 && b < table->shape[1]) id = blocks[i * table->shape[1] + b];
            bool there = id >= 0 && id < x->blocks;
            slot[(*count)++] = there ? id * x->block + j % x->block : -1;
        }
    }
    return ASN_OK;
}

/* Tokens that the output has no room for are left out; rows behind the last token
 * stay as they are. */
static asn_status gather_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const paged_plan *p = plan;
    for (int k = 0; k < 2; k++) {
        const asnd_nd *a = asn_exec_nd(e, p->tokens[k]), *c = asn_exec_nd(e, p->cache[k]);
        paged_cache x;
        asnd_view to;
        int64_t *slot = NULL, *at = NULL, count = 0;
        ASN_TRY(cache_of(c, p->in_parts, tmp, &x));
        ASN_TRY(asn_rows_ints(tmp, a->shape[0], &slot));
        ASN_TRY(slots_of(e, p, &x, a->shape[0], tmp, slot, &count));
        ASN_TRY(rows_of(&x, slot, count, tmp, &at));
        ASN_TRY(token_rows(a, &x, tmp, &to));
        ASN_TRY(asn_rows_move(&to.nd, NULL, &x.rows.nd, at, count * x.parts, tmp));
        ASN_TRY(put_back(a, &to));
    }
    return ASN_OK;
}

/* ---- planners */

/* cacheMode: NULL, "" or "Norm", else "PA_NZ". */
static asn_status check_mode(const asnd_call *c, int i, paged_plan *p) {
    const char *mode = c->args[i].p;
    p->in_parts = mode != NULL && strcmp(mode, "PA_NZ") == 0;
    if (p->in_parts || mode == NULL || *mode == 0 || strcmp(mode, "Norm") == 0)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: cacheMode is '%.40s'; it must be Norm or "
                         "PA_NZ",
                         c->op->name, mode);
}

/* Tokens (n, heads, size) and the cache they go with. */
static asn_status check_pair(const asnd_call *c, int tokens, int cache, paged_plan *p,
                             int k) {
    const asnd_nd *a = asn_call_nd(c, tokens), *b = asn_call_nd(c, cache);
    ASN_TRY(asn_call_rank(c, tokens, 3, 3));
    ASN_TRY(asn_call_rank(c, cache, 4, 4));
    ASN_TRY(asn_call_same_dtype(c, tokens, cache));
    /* Parts need not be heads: only the elements of a token must be as many. */
    bool fits = p->in_parts ? b->shape[1] * b->shape[3] == a->shape[1] * a->shape[2]
                            : b->shape[2] == a->shape[1] && b->shape[3] == a->shape[2];
    char s[ASN_SHAPE_TEXT], t[ASN_SHAPE_TEXT];
    if (!fits || b->shape[p->in_parts ? 2 : 1] < 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: %s has shape %s, %s %s; the cache must be (blocks, "
            "blockSize, heads, size), with PA_NZ (blocks, heads * size / "
            "last, blockSize, last)",
            c->op->name, c->op->params[tokens].name, asn_shape_text(s, 3, a->shape),
            c->op->params[cache].name, asn_shape_text(t, 4, b->shape));
    p->tokens[k] = c->first[tokens];
    p->cache[k] = c->first[cache];
    return ASN_OK;
}

/* What both planners share; no tokens are nothing to do. */
static asn_status plan_pages(asnd_call *c, asnd_body_fn fn, const paged_plan *plan) {
    double size = (double)asn_nd_size(&c->e->operands[plan->tokens[0]].nd);
    if (size == 0) return ASN_OK;
    return asn_call_keep(c, fn, plan, sizeof *plan, 500 + size);
}

/* What compresses the cache must be absent. */
static asn_status check_plain(const asnd_call *c) {
    static const char *const names[] = {"compressLensOptional",
                                        "compressSeqOffsetOptional", "seqLensOptional"};
    for (int k = 0; k < 3; k++)
        if (asn_call_operand_named(c, names[k]) >= 0)
            return asn_error_set(
                ASN_ERR_VALUE,
                "%s: %s is given; it must be NULL, for tokens are written "
                "as they are",
                c->op->name, names[k]);
    int i = asn_call_param_named(c, "scatterModeOptional");
    const char *mode = i < 0 ? NULL : c->args[i].p;
    if (mode == NULL || *mode == 0 || strcmp(mode, "None") == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: scatterMode is '%.40s'; it must be None",
                         c->op->name, mode);
}

/* ScatterPaKvCache(key, keyCacheRef, slotMapping, value, valueCacheRef, compressLens,
 * compressSeqOffset, seqLens, cacheMode, scatterMode, strides, offsets);
 * ScatterPaCache(key, keyCacheRef, slotMapping, compressLens, compressSeqOffset, seqLens,
 * cacheMode). */
asn_status asn_planner_scatter_paged(asnd_call *c) {
    paged_plan p = {.tokens = {-1, -1}, .table = -1, .lengths = -1, .offset = -1};
    int value = asn_call_param_named(c, "value");
    const asnd_nd *key = asn_call_nd(c, 0);
    ASN_TRY(check_plain(c));
    ASN_TRY(check_mode(c, asn_call_param_named(c, "cacheModeOptional"), &p));
    ASN_TRY(check_pair(c, 0, 1, &p, 0));
    ASN_TRY(asn_call_position_dtype(c, 2));
    ASN_TRY(asn_call_same_shape(c, 2, 1, key->shape));
    if (value >= 0) {
        ASN_TRY(check_pair(c, value, value + 1, &p, 1));
        if (asn_call_nd(c, value)->shape[0] != key->shape[0])
            return asn_error_set(ASN_ERR_VALUE, "%s: %lld keys and %lld values",
                                 c->op->name, (long long)key->shape[0],
                                 (long long)asn_call_nd(c, value)->shape[0]);
    }
    p.slots = c->first[2];
    return plan_pages(c, scatter_body, &p);
}

/* GatherPaKvCache(keyCache, valueCache, blockTables, seqLens, keyRef, valueRef,
 * seqOffset, cacheMode, isSeqLensCumsum) */
asn_status asn_planner_gather_paged(asnd_call *c) {
    paged_plan p = {.slots = -1, .sums = asn_call_int(c, 8) != 0};
    ASN_TRY(check_mode(c, 7, &p));
    ASN_TRY(check_pair(c, 4, 0, &p, 0));
    ASN_TRY(check_pair(c, 5, 1, &p, 1));
    ASN_TRY(asn_call_rank(c, 2, 2, 2));
    ASN_TRY(asn_call_position_dtype(c, 2));
    ASN_TRY(asn_call_position_dtype(c, 3));
    /* blockTables (batch, blocks); seqLens (batch), or their sums with a 0 in front
     * (batch + 1). */
    int64_t batch = asn_call_nd(c, 2)->shape[0], want = batch + (p.sums ? 1 : 0);
    ASN_TRY(asn_call_same_shape(c, 3, 1, &want));
    if (c->first[6] >= 0) {
        ASN_TRY(asn_call_position_dtype(c, 6));
        ASN_TRY(asn_call_same_shape(c, 6, 1, &batch));
    }
    if (asn_call_nd(c, 4)->shape[0] != asn_call_nd(c, 5)->shape[0])
        return asn_call_same_shape(c, 5, 3, asn_call_nd(c, 4)->shape);
    p.table = c->first[2];
    p.lengths = c->first[3];
    p.offset = c->first[6];
    return plan_pages(c, gather_body, &p);
}
