/* L2 nn: a cache in blocks: tables, the list of free blocks, writing and gathering
 * (kv_cache.h).
 *
 * Tokens are written by aclnnScatterPaKvCache and read in a row by aclnnGatherPaKvCache,
 * which take a pool (blocks, block_size, heads, columns) and, for each token, its slot,
 * block * block_size + place. Where the device has no such operator, or not for the
 * dtype, each run of tokens in one block is a copy between views instead. */
#include "aclnnop/aclnn_gather_pa_kv_cache.h"
#include "aclnnop/aclnn_scatter_pa_kv_cache.h"
#include "array/views.h"
#include "base/alloc.h"
#include "nn/kv_state.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

asn_status asn_kv_launch(const asn_acl_operator *op, int code, uint64_t workspace,
                         aclOpExecutor *executor, const char *what, bool *done) {
    *done = code == 0;
    if (code == ACLNN_ERR_PARAM_INVALID) return ASN_OK;
    if (code) return asn_acl_failed(code, what);
    return asn_operator_run(op, workspace, executor, what);
}

/* ---- tables and the list */

/* Blocks that hold `count` tokens. */
static int64_t blocks_for(const asn_kv_cache *c, int64_t count) {
    return count / c->o.block_size + (count % c->o.block_size != 0);
}

/* Blocks go back in the opposite order, so that the next taker has them in this one. */
void asn_kv_blocks_cut(asn_kv_cache *c, int32_t sequence, int64_t count) {
    asn_kv_sequence *s = &c->sequences[sequence];
    while (s->count > 0 && s->first + s->count > blocks_for(c, count))
        c->free_blocks[c->num_free++] = s->blocks[--s->count];
}

/* Gives back the blocks of a sequence whose tokens no layer's next query sees. */
static void evict(asn_kv_cache *c, int32_t sequence) {
    asn_kv_sequence *s = &c->sequences[sequence];
    int64_t least = INT64_MAX, gone = 0;
    for (int32_t i = 0; i < c->o.layers; i++) {
        int64_t length = c->layers[i].extents[sequence].length;
        if (length < least) least = length;
    }
    int64_t first = least - (c->o.window - 1); /* the first token that is needed */
    if (c->o.window == 0 || first <= 0) return;
    for (; gone < s->count && s->first + gone < first / c->o.block_size; gone++)
        c->free_blocks[c->num_free++] = s->blocks[gone];
    s->count -= gone;
    s->first += gone;
    for (int64_t i = 0; i < s->count; i++)
        s->blocks[i] = s->blocks[i + gone];
}

/* Blocks that a sequence lacks for `count` tokens. */
static int64_t missing(const asn_kv_cache *c, int32_t sequence, int64_t count) {
    const asn_kv_sequence *s = &c->sequences[sequence];
    int64_t lacks = blocks_for(c, count) - (s->first + s->count);
    return lacks > 0 ? lacks : 0;
}

/* Room in a sequence's table for so many blocks more. */
static asn_status table_room(asn_kv_sequence *s, int64_t more) {
    if (s->count + more <= s->room) return ASN_OK;
    int64_t room = 2 * (s->count + more);
    int32_t *blocks = asn_realloc(s->blocks, (size_t)room * sizeof *blocks);
    if (!blocks) return ASN_ERR_MEMORY;
    s->blocks = blocks;
    s->room = room;
    return ASN_OK;
}

/* The blocks of all sequences of a call are counted before the first one is taken. */
asn_status asn_kv_blocks_reserve(asn_kv_cache *c, int32_t layer, int32_t n,
                                 const int32_t *sequences, int64_t t) {
    asn_kv_layer *l = &c->layers[layer];
    int64_t lacks = 0;
    /* Positions are below what all blocks hold, which fits 32 bits. */
    const int64_t all = c->o.blocks * c->o.block_size;
    for (int32_t i = 0; i < n; i++) {
        evict(c, sequences[i]);
        int64_t length = l->extents[sequences[i]].length;
        int64_t more = t > all ? c->o.blocks + 1 : missing(c, sequences[i], length + t);
        ASN_TRY(table_room(&c->sequences[sequences[i]], more));
        lacks += more;
    }
    if (lacks > c->num_free)
        return asn_error_set(ASN_ERR_MEMORY,
                             "KVCache.update: %lld blocks are needed, %lld of %lld are "
                             "free; free_sequence() and truncate() give blocks back",
                             (long long)lacks, (long long)c->num_free,
                             (long long)c->o.blocks);
    if (!l->made) {
        asn_array part[ASN_KV_PARTS];
        ASN_TRY(asn_kv_make_parts(c, 0, 0, part));
        asn_kv_set_parts(c, l, 0, all, part);
    }
    for (int32_t i = 0; i < n; i++) {
        asn_kv_sequence *s = &c->sequences[sequences[i]];
        int64_t more = missing(c, sequences[i], l->extents[sequences[i]].length + t);
        for (; more > 0; more--)
            s->blocks[s->count++] = c->free_blocks[--c->num_free];
    }
    return ASN_OK;
}

/* ---- writing */

/* The slot of a sequence's token. */
static int64_t slot_of(const asn_kv_cache *c, int32_t sequence, int64_t token) {
    const asn_kv_sequence *s = &c->sequences[sequence];
    const int64_t size = c->o.block_size;
    return s->blocks[token / size - s->first] * size + token % size;
}

/* (n, heads, t, columns) as tokens (n * t, heads, columns) of the stored dtype. */
static asn_status token_rows(asn_array *out, const asn_array *a, asn_dtype dtype) {
    static const int perm[] = {0, 2, 1, 3};
    const int64_t *shape = a->layout.shape;
    const int64_t rows[] = {shape[0] * shape[2], shape[1], shape[3]};
    asn_layout view;
    ASN_TEMPORARIES;
    ASN_MAKE(cast, asn_np_astype(cast, a, dtype));
    ASN_TRY(asn_view_transpose(&view, &cast->layout, perm));
    asn_array *const turned = &temporaries_.made[temporaries_.count++];
    asn_array_view(turned, cast, &view);
    return asn_np_reshape(out, turned, 3, rows);
}

/* The slots of all new tokens, int32. Of two and more in a block a run has step 1. */
static asn_status new_slots(asn_array *out, const asn_kv_cache *c, const asn_kv_layer *l,
                            int32_t n, const int32_t *sequences, int64_t t) {
    const int64_t count = n * t;
    int64_t *slots = asn_malloc((size_t)count * sizeof *slots);
    if (!slots) return ASN_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++)
        for (int64_t j = 0; j < t; j++) {
            int64_t token = l->extents[sequences[i]].length + j;
            slots[i * t + j] = slot_of(c, sequences[i], token);
        }
    asn_status status = asn_kv_integers(out, ASN_I32, 1, &count, slots);
    asn_free(slots);
    return status;
}

/* Two parts by the operator; *done false: refused. */
static asn_status scatter(const asn_array *keys, const asn_array *values,
                          const asn_array *slots, const asn_array *pools, bool *done) {
    static asn_acl_operator op;
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x[5];
    const asn_array *arrays[] = {keys, values, slots, &pools[0], &pools[1]};
    __typeof__(aclnnScatterPaKvCacheGetWorkspaceSize) *plan;
    *done = false;
    if (!op.run && !asn_acl_find("ScatterPaKvCache", &op)) return ASN_OK;
    asn_status status = asn_operator_tensors(5, arrays, 3u << 3, x);
    plan = (__typeof__(plan))op.get_workspace;
    if (!status) {
        int code = plan(x[0], x[3], x[2], x[1], x[4], NULL, NULL, NULL, (char *)"Norm",
                        (char *)"None", NULL, NULL, &workspace, &executor);
        status = asn_kv_launch(&op, code, workspace, executor, "KVCache.update", done);
    }
    asn_operator_drop(5, x);
    return status;
}

/* The run of a sequence's tokens from `token` on that lie in one block, `most` at most,
 * as a view of a pool: (tokens, heads, columns). */
static asn_status block_run(asn_array *out, const asn_kv_cache *c, const asn_array *pool,
                            int32_t sequence, int64_t token, int64_t most,
                            int64_t *count) {
    const int64_t size = c->o.block_size, place = token % size;
    const int64_t block = slot_of(c, sequence, token) / size;
    asn_layout view;
    *count = most < size - place ? most : size - place;
    ASN_TEMPORARIES;
    ASN_MAKE(one, asn_array_range(one, pool, 0, block, 1));
    ASN_MAKE(run, asn_array_range(run, one, 1, place, *count));
    ASN_TRY(asn_view_squeeze(&view, &run->layout, 1));
    asn_array_view(out, run, &view);
    return ASN_OK;
}

/* `count` tokens of a sequence, from `token` on, between a pool and rows (tokens, heads,
 * columns) from `at` on: block by block. */
static asn_status copy_runs(const asn_kv_cache *c, const asn_array *pool,
                            int32_t sequence, int64_t token, int64_t count,
                            const asn_array *rows, int64_t at, bool to_pool) {
    for (int64_t done = 0, m; done < count; done += m) {
        ASN_TEMPORARIES;
        ASN_MAKE(run, block_run(run, c, pool, sequence, token + done, count - done, &m));
        ASN_MAKE(part, asn_array_range(part, rows, 0, at + done, m));
        const asn_operand value = asn_np_of(to_pool ? part : run);
        ASN_TRY(asn_assign(to_pool ? run : part, &value, ASN_CASTING_NO, NULL));
    }
    return ASN_OK;
}

/* Scales are written as keys and values are: tokens with one column. */
asn_status asn_kv_blocks_write(asn_kv_cache *c, int32_t layer, int32_t n,
                               const int32_t *sequences, const asn_array *const *parts) {
    const asn_kv_layer *l = &c->layers[layer];
    const int64_t t = parts[0]->layout.shape[2];
    const asn_array *slots = NULL;
    ASN_TEMPORARIES;
    if (!c->o.composed) {
        ASN_MAKE(made, new_slots(made, c, l, n, sequences, t));
        slots = made;
    }
    for (int p = 0; p < c->num_parts; p += 2) {
        bool done = false;
        const asn_dtype dtype = asn_kv_part_dtype(c, p);
        ASN_MAKE(keys, token_rows(keys, parts[p], dtype));
        ASN_MAKE(values, token_rows(values, parts[p + 1], dtype));
        if (slots) ASN_TRY(scatter(keys, values, slots, &l->part[p], &done));
        for (int32_t i = 0; i < n && !done; i++) {
            const int64_t token = l->extents[sequences[i]].length;
            ASN_TRY(copy_runs(c, &l->part[p], sequences[i], token, t, keys, i * t, true));
            ASN_TRY(copy_runs(c, &l->part[p + 1], sequences[i], token, t, values, i * t,
                              true));
        }
    }
    return ASN_OK;
}

/* ---- reading */

/* The numbers of a sequence's blocks, int32 (1, blocks). */
static asn_status table_of(asn_array *out, const asn_kv_sequence *s) {
    const int64_t shape[] = {1, s->count};
    int64_t *all = asn_malloc((size_t)s->count * sizeof *all);
    if (!all) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < s->count; i++)
        all[i] = s->blocks[i];
    asn_status status = asn_kv_integers(out, ASN_I32, 2, shape, all);
    asn_free(all);
    return status;
}

/* By the operator, from the table of one sequence's blocks; *done false: refused. */
static asn_status gather(const asn_kv_cache *c, const asn_array *pools, int32_t sequence,
                         int64_t count, asn_array out[2], bool *done) {
    static asn_acl_operator op;
    const int64_t one = 1;
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x[6];
    __typeof__(aclnnGatherPaKvCacheGetWorkspaceSize) *plan;
    *done = false;
    if (!op.run && !asn_acl_find("GatherPaKvCache", &op)) return ASN_OK;
    ASN_TEMPORARIES;
    ASN_MAKE(table, table_of(table, &c->sequences[sequence]));
    ASN_MAKE(lengths, asn_kv_integers(lengths, ASN_I32, 1, &one, &count));
    const asn_array *arrays[] = {&pools[0], &pools[1], table, lengths, &out[0], &out[1]};
    asn_status status = asn_operator_tensors(6, arrays, 3u << 4, x);
    plan = (__typeof__(plan))op.get_workspace;
    if (!status) {
        int code = plan(x[0], x[1], x[2], x[3], x[4], x[5], NULL, (char *)"Norm", false,
                        &workspace, &executor);
        status = asn_kv_launch(&op, code, workspace, executor, "KVCache.read", done);
    }
    asn_operator_drop(6, x);
    return status;
}

/* The tables begin at a block, and so do the tokens that are there. */
asn_status asn_kv_blocks_gather(asn_kv_cache *c, int32_t layer, int32_t s, int part,
                                asn_array out[2]) {
    const asn_kv_layer *l = &c->layers[layer];
    const int64_t base = asn_kv_base(c, layer, s), length = l->extents[s].length;
    const int64_t count = length > base ? length - base : 0;
    const int64_t shape[] = {count, c->o.kv_heads, asn_kv_columns(c, part)};
    const asn_dtype dtype = asn_kv_part_dtype(c, part);
    bool done = false;
    ASN_TRY(asn_array_new(&out[0], dtype, 3, shape, 'C'));
    asn_status status = asn_array_new(&out[1], dtype, 3, shape, 'C');
    if (status) {
        asn_array_fini(&out[0]);
        return status;
    }
    if (!c->o.composed && count > 0)
        status = gather(c, &l->part[part], s, count, out, &done);
    for (int i = 0; i < 2 && !done && !status; i++)
        status = copy_runs(c, &l->part[part + i], s, base, count, &out[i], 0, false);
    for (int i = 0; i < 2 && status; i++)
        asn_array_fini(&out[i]);
    return status;
}
