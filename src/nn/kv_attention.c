/* L2 nn: attention over a cache (kv_cache.h).
 *
 * CANN's operator is aclnnFusedInferAttentionScoreV2, which takes keys in rows with the
 * length of each sequence, and pools of blocks with a table. Which keys a query sees is
 * told by the operator's own words where there are several queries (sparseMode 3, causal
 * from the lower right; 4, the same within a window; both with CANN's compressed mask of
 * 2048 x 2048), by a mask for one query under a window (CANN ignores sparseMode then),
 * and needs none for one query without. int8 is made what the queries are, first: the
 * operator's own ways to read it differ from processor to processor.
 *
 * Where the device refuses (a dtype that CANN does not list, such as float64), each
 * sequence's attention is kv_composed.c's. */
#include <math.h>

#include "aclnnop/aclnn_fused_infer_attention_score_v2.h"
#include "array/views.h"
#include "base/alloc.h"
#include "graph/operators/families.h"
#include "nn/kv_state.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* One call of the operator. table NULL: keys in rows. mask NULL, mode: see above. */
typedef struct {
    const asn_array *q, *k, *v, *mask, *table;
    int64_t mode;
    const int64_t *lengths; /* of keys, q's first extent of them */
} fused_call;

/* Runs it into `out`; *done false: the device has no such operator, or not for this. */
static asn_status fused(const asn_kv_cache *c, const asn_kv_query *query,
                        const fused_call *f, const asn_array *out, bool *done) {
    static asn_acl_operator op;
    const int64_t far = INT32_MAX, before = f->mode == 4 ? c->o.window - 1 : far;
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x[6];
    const asn_array *arrays[] = {f->q, f->mask, f->table, out, f->k, f->v};
    __typeof__(aclnnFusedInferAttentionScoreV2GetWorkspaceSize) *plan;
    *done = false;
    if (!op.run && !asn_acl_find("FusedInferAttentionScoreV2", &op)) return ASN_OK;
    asn_status status = asn_operator_tensors(6, arrays, 1u << 3, x);
    aclTensorList *keys = status ? NULL : asn_operator_list(1, &x[4]);
    aclTensorList *values = keys ? asn_operator_list(1, &x[5]) : NULL;
    aclIntArray *lengths =
        values ? asn_operator_ints((int)f->q->layout.shape[0], f->lengths) : NULL;
    if (!status && !lengths) status = ASN_ERR_MEMORY;
    plan = (__typeof__(plan))op.get_workspace;
    if (!status) {
        int code = plan(x[0], keys, values, NULL, x[1], NULL, lengths, NULL, NULL, NULL,
                        NULL, NULL, NULL, NULL, x[2], NULL, NULL, NULL, NULL, NULL, NULL,
                        NULL, NULL, NULL, query->heads, query->scale, before,
                        f->mode == 4 ? 0 : far, (char *)"BNSD", c->o.kv_heads, f->mode, 0,
                        f->table ? c->o.block_size : 0, 0, false, 0, 0, x[3], NULL,
                        &workspace, &executor);
        status = asn_kv_launch(&op, code, workspace, executor, "KVCache.attention", done);
    }
    asn_operator_drop_ints(lengths);
    if (values) x[5] = NULL; /* a list owns its tensor */
    if (keys) x[4] = NULL;
    asn_operator_drop_list(values);
    asn_operator_drop_list(keys);
    asn_operator_drop(6, x);
    return status;
}

/* ---- masks */

/* CANN's compressed mask: true above the diagonal. Made once. */
static asn_status triangle(asn_kv_cache *c) {
    enum { EXTENT = 2048 };
    const asn_scalar start = asn_scalar_int(0), step = asn_scalar_int(1);
    const int64_t column[] = {EXTENT, 1};
    if (c->has_triangle) return ASN_OK;
    ASN_TEMPORARIES;
    ASN_MAKE(j, asn_arange(j, ASN_I32, &start, &step, EXTENT));
    ASN_MAKE(i, asn_np_reshape(i, j, 2, column));
    ASN_TRY(asn_np_binary(&c->triangle, ASN_OP_GREATER, asn_np_of(j), asn_np_of(i)));
    c->has_triangle = true;
    return ASN_OK;
}

/* The keys before the window of each sequence's last token, bool (n, 1, 1, keys). */
static asn_status window_mask(asn_array *out, const asn_kv_cache *c, int64_t n,
                              int64_t keys, const int64_t *lengths) {
    const int64_t column[] = {n, 1, 1, 1};
    const asn_scalar start = asn_scalar_int(0), step = asn_scalar_int(1);
    ASN_TEMPORARIES;
    ASN_MAKE(length, asn_kv_integers(length, ASN_I64, 4, column, lengths));
    ASN_MAKE(from, asn_np_binary(from, ASN_OP_SUBTRACT, asn_np_of(length),
                                 asn_operand_int(c->o.window)));
    ASN_MAKE(j, asn_arange(j, ASN_I64, &start, &step, keys));
    return asn_np_binary(out, ASN_OP_LESS, asn_np_of(j), asn_np_of(from));
}

/* f's mask and mode; `made` is what it is where that is an array of this call's own. */
static asn_status set_mask(asn_kv_cache *c, const asn_kv_query *query, int64_t n,
                           int64_t keys, fused_call *f, asn_array *made, bool *own) {
    int64_t longest = 0;
    *own = false;
    for (int64_t i = 0; i < n; i++)
        if (f->lengths[i] > longest) longest = f->lengths[i];
    if (query->tokens > 1) {
        ASN_TRY(triangle(c));
        f->mask = &c->triangle;
        f->mode = c->o.window ? 4 : 3;
    } else if (c->o.window && longest > c->o.window) {
        ASN_TRY(window_mask(made, c, n, keys, f->lengths));
        *own = true;
        f->mask = made;
    }
    return ASN_OK;
}

/* ---- in rows */

/* q and out: (n, heads, t, head_dim); k, v: (n, kv_heads, at least the lengths,
 * head_dim). The operator, or each sequence's composition. */
static asn_status attend(asn_kv_cache *c, const asn_kv_query *query, fused_call *f,
                         const asn_array *out) {
    const int64_t n = f->q->layout.shape[0];
    bool done = false, own = false;
    if (!c->o.composed) {
        asn_array made;
        ASN_TRY(set_mask(c, query, n, f->k->layout.shape[2], f, &made, &own));
        asn_status status = fused(c, query, f, out, &done);
        if (own) asn_array_fini(&made);
        ASN_TRY(status);
    }
    for (int64_t i = 0; i < n && !done; i++) {
        asn_array *one[4];
        const asn_array *from[] = {f->q, f->k, f->v, out};
        ASN_TEMPORARIES;
        for (int a = 0; a < 4; a++) {
            const int64_t rows = a == 1 || a == 2 ? f->lengths[i] : query->tokens;
            asn_layout view;
            ASN_MAKE(sequence, asn_array_range(sequence, from[a], 0, i, 1));
            ASN_MAKE(part, asn_array_range(part, sequence, 2, 0, rows));
            ASN_TRY(asn_view_squeeze(&view, &part->layout, 1));
            one[a] = &temporaries_.made[temporaries_.count++];
            asn_array_view(one[a], part, &view);
        }
        ASN_TRY(asn_kv_composed(c, query, one[0], one[1], one[2], one[3]));
    }
    return ASN_OK;
}

/* n slots in a row from s on, of int8 as the queries' dtype. */
static asn_status attend_rows(asn_kv_cache *c, int32_t layer, const asn_kv_query *query,
                              const asn_array *q, int32_t s, const int64_t *lengths,
                              const asn_array *out) {
    const asn_kv_layer *l = &c->layers[layer];
    const int32_t n = (int32_t)q->layout.shape[0];
    int64_t count = l->capacity;
    fused_call f = {.q = q, .lengths = lengths};
    ASN_TEMPORARIES;
    if (c->num_parts == 4) { /* no more than what is there is converted */
        count = 0;
        for (int32_t i = 0; i < n; i++)
            if (lengths[i] > count) count = lengths[i];
    }
    ASN_MAKE(k, asn_kv_rows_view(k, l, ASN_KV_KEYS, s, n, 0, count));
    ASN_MAKE(v, asn_kv_rows_view(v, l, ASN_KV_VALUES, s, n, 0, count));
    f.k = k, f.v = v;
    if (c->num_parts == 2) return attend(c, query, &f, out);
    const asn_dtype dtype = asn_layout_dtype(&q->layout);
    ASN_MAKE(ks, asn_kv_rows_view(ks, l, ASN_KV_KEY_SCALES, s, n, 0, count));
    ASN_MAKE(vs, asn_kv_rows_view(vs, l, ASN_KV_VALUE_SCALES, s, n, 0, count));
    ASN_MAKE(k_wide, asn_kv_dequantise(k_wide, k, ks, dtype));
    ASN_MAKE(v_wide, asn_kv_dequantise(v_wide, v, vs, dtype));
    f.k = k_wide, f.v = v_wide;
    return attend(c, query, &f, out);
}

/* ---- in blocks */

/* A pool (blocks, size, heads, columns) as the operator reads it: (blocks, size, H). */
static asn_status joined(asn_array *out, const asn_array *pool) {
    const int64_t *s = pool->layout.shape;
    const int64_t shape[] = {s[0], s[1], s[2] * s[3]};
    return asn_np_reshape(out, pool, 3, shape);
}

/* The tables of n sequences, (n, blocks of the longest), filled up with block 0. */
static asn_status tables(asn_array *out, const asn_kv_cache *c, int32_t n,
                         const int32_t *sequences) {
    int64_t shape[] = {n, 1};
    for (int32_t i = 0; i < n; i++)
        if (c->sequences[sequences[i]].count > shape[1])
            shape[1] = c->sequences[sequences[i]].count;
    int64_t *all = asn_calloc((size_t)(n * shape[1]), sizeof *all);
    if (!all) return ASN_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++) {
        const asn_kv_sequence *s = &c->sequences[sequences[i]];
        for (int64_t b = 0; b < s->count; b++)
            all[i * shape[1] + b] = s->blocks[b];
    }
    asn_status status = asn_kv_integers(out, ASN_I32, 2, shape, all);
    asn_free(all);
    return status;
}

/* All sequences by one call over the pools; *done false: refused. */
static asn_status attend_pools(asn_kv_cache *c, const asn_kv_layer *l,
                               const asn_kv_query *query, const asn_array *q, int32_t n,
                               const int32_t *sequences, const int64_t *lengths,
                               const asn_array *out, bool *done) {
    asn_array made;
    bool own;
    fused_call f = {.q = q, .lengths = lengths};
    ASN_TEMPORARIES;
    ASN_MAKE(k, joined(k, &l->part[ASN_KV_KEYS]));
    ASN_MAKE(v, joined(v, &l->part[ASN_KV_VALUES]));
    ASN_MAKE(table, tables(table, c, n, sequences));
    f.k = k, f.v = v, f.table = table;
    const int64_t room = table->layout.shape[1] * c->o.block_size;
    ASN_TRY(set_mask(c, query, n, room, &f, &made, &own));
    asn_status status = fused(c, query, &f, out, done);
    if (own) asn_array_fini(&made);
    return status;
}

/* One sequence's tokens, gathered in a row. */
static asn_status attend_gathered(asn_kv_cache *c, int32_t layer,
                                  const asn_kv_query *query, const asn_array *q,
                                  int32_t s, const int64_t *length,
                                  const asn_array *out) {
    fused_call f = {.q = q, .lengths = length};
    ASN_TEMPORARIES;
    asn_array *const kv = temporaries_.made;
    ASN_TRY(asn_kv_read(c, layer, s, &kv[0], &kv[1]));
    temporaries_.count = 2;
    asn_array *one[2];
    for (int i = 0; i < 2; i++) {
        asn_layout view;
        ASN_TRY(asn_view_expand(&view, &kv[i].layout, 4, 1));
        one[i] = &temporaries_.made[temporaries_.count++];
        asn_array_view(one[i], &kv[i], &view);
    }
    f.k = one[0], f.v = one[1];
    return attend(c, query, &f, out);
}

/* ---- the call */

/* q's shape and dtype, what it asks for, and that its keys are there. */
static asn_status check_queries(const asn_kv_cache *c, int32_t layer, const asn_array *q,
                                int32_t n, const int32_t *sequences) {
    const asn_layout *l = &q->layout;
    char got[128];
    if (!asn_is_floating(asn_layout_dtype(l)))
        return asn_error_set(ASN_ERR_TYPE,
                             "KVCache.attention: q has dtype %s; it must be float16, "
                             "bfloat16, float32 or float64",
                             asn_dtype_name(asn_layout_dtype(l)));
    if (l->ndim != 4 || l->shape[0] != n || l->shape[1] < 1 ||
        l->shape[1] % c->o.kv_heads || l->shape[3] != c->o.head_dim)
        return asn_error_set(ASN_ERR_VALUE,
                             "KVCache.attention: q has shape %s; it must be (%d,heads,"
                             "tokens,%d), heads being a multiple of %d",
                             asn_shape_format(got, sizeof got, l->ndim, l->shape), (int)n,
                             (int)c->o.head_dim, (int)c->o.kv_heads);
    for (int32_t i = 0; i < n; i++) {
        const int64_t length = c->layers[layer].extents[sequences[i]].length;
        const int64_t base = asn_kv_base(c, layer, sequences[i]), t = l->shape[2];
        int64_t needs = c->o.window ? length - t - (c->o.window - 1) : 0;
        if (needs < 0) needs = 0;
        if (t > length || (t > 0 && base > needs))
            return asn_error_set(
                ASN_ERR_VALUE,
                "KVCache.attention: %lld queries of sequence %d, of which "
                "tokens %lld to %lld are there; they need %lld, from "
                "token %lld on",
                (long long)t, (int)sequences[i], (long long)base, (long long)length,
                (long long)(t > length ? t : length), (long long)needs);
    }
    return ASN_OK;
}

/* Everything is checked; lengths are those of the keys that are there. */
static asn_status run(asn_kv_cache *c, int32_t layer, const asn_kv_query *query,
                      const asn_array *q, int32_t n, const int32_t *sequences,
                      const int64_t *lengths, const asn_array *out) {
    const bool paged = asn_kv_paged(c);
    bool done = false;
    if (paged && c->num_parts == 2 && !c->o.composed)
        ASN_TRY(attend_pools(c, &c->layers[layer], query, q, n, sequences, lengths, out,
                             &done));
    for (int32_t i = 0, m; i < n && !done; i += m) {
        for (m = 1; !paged && i + m < n && sequences[i + m] == sequences[i] + m;)
            m++;
        ASN_TEMPORARIES;
        ASN_MAKE(q_part, asn_array_range(q_part, q, 0, i, m));
        ASN_MAKE(out_part, asn_array_range(out_part, out, 0, i, m));
        ASN_TRY(paged ? attend_gathered(c, layer, query, q_part, sequences[i],
                                        &lengths[i], out_part)
                      : attend_rows(c, layer, query, q_part, sequences[i], &lengths[i],
                                    out_part));
    }
    return ASN_OK;
}

/* The result is made here and filled in parts, one a call of the operator. */
asn_status asn_kv_attention(asn_kv_cache *c, int32_t layer, const asn_array *q, int32_t n,
                            const int32_t *sequences, const double *scale,
                            asn_array *out) {
    ASN_TRY(asn_capture_forbid("a KV cache is read"));
    ASN_TRY(asn_kv_check(c, layer, n, sequences, "attention"));
    ASN_TRY(check_queries(c, layer, q, n, sequences));
    const asn_kv_query query = {.heads = q->layout.shape[1],
                                .tokens = q->layout.shape[2],
                                .scale = scale ? *scale : 1 / sqrt(c->o.head_dim)};
    int64_t *lengths = asn_malloc((size_t)n * sizeof *lengths);
    if (!lengths) return ASN_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++)
        lengths[i] = c->layers[layer].extents[sequences[i]].length -
                     asn_kv_base(c, layer, sequences[i]);
    asn_status status =
        asn_array_new(out, asn_layout_dtype(&q->layout), 4, q->layout.shape, 'C');
    if (!status && out->layout.size > 0) {
        status = run(c, layer, &query, q, n, sequences, lengths, out);
        if (status) asn_array_fini(out);
    }
    asn_free(lengths);
    return status;
}
