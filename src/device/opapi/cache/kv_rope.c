/* CPU device, operators: KvRmsNormRopeCache, which makes a token's compressed key and
 * value (multi-head latent attention; DeepSeek-V2, 2024) and puts them into two caches.
 *
 * kv is (batch, 1, s, Dv + Dk). Its first Dv columns are normalised, x / sqrt(mean(x^2) +
 * epsilon) * gamma, for ckvCache; the last Dk, read as neighbours, turned and written as
 * halves, for kCache. cacheMode "Norm": a cache is (batch, 1, length, D), index (batch,
 * s) the place in it; "PA" and "PA_BNSD": (blocks, blockSize, 1, D), index (batch * s)
 * the slot. A negative index writes nothing.
 */
#include <string.h>

#include "device/opapi/moe/rows.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/nn/rotary.h"

/* Operands; out: -1 without isOutputKv. */
typedef struct {
    asnd_plan_head head;
    int kv, gamma, cos, sin, index, cache[2], out[2];
    bool paged;
    int64_t v, k; /* columns */
    double eps;
} kv_plan;

/* The rows of a result to a cache, packed or through a copy. */
static asn_status store(const asnd_nd *cache, const int64_t *at, const asnd_view *rows,
                        asnd_tmp *tmp) {
    asnd_view packed, to, from;
    int64_t n = rows->shape[0] * rows->shape[2], d = rows->shape[3];
    ASN_TRY(asn_packed_of(cache, cache->dtype, tmp, &packed));
    asn_view_plain(&to, cache->dtype, 2, (int64_t[]){asn_nd_size(cache) / d, d},
                   packed.nd.data);
    asn_view_plain(&from, rows->nd.dtype, 2, (int64_t[]){n, d}, rows->nd.data);
    ASN_TRY(asn_rows_move(&to.nd, at, &from.nd, NULL, n, tmp));
    return packed.nd.data == cache->data ? ASN_OK : asn_move(cache, &packed.nd);
}

/* at[i]: the row of token i in a cache of that shape; of tokens with one place, the last.
 */
static asn_status places(aclOpExecutor *e, const kv_plan *p, const asnd_nd *cache,
                         asnd_tmp *tmp, const int64_t **at) {
    const asnd_nd *index = asn_exec_nd(e, p->index);
    const int64_t *given = NULL;
    int64_t n = asn_nd_size(index), limit = cache->shape[p->paged ? 0 : 2], *row;
    if (p->paged) limit *= cache->shape[1];
    ASN_TRY(asn_packed_data(index, ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, n, &row));
    for (int64_t i = 0; i < n; i++) {
        if (given[i] >= limit)
            return asn_error_set(
                ASN_ERR_INDEX, "KvRmsNormRopeCache: index %lld of a cache of %lld tokens",
                (long long)given[i], (long long)limit);
        int64_t batch = p->paged ? 0 : i / index->shape[1];
        row[i] = given[i] < 0 ? -1 : batch * limit + given[i];
    }
    *at = row;
    return asn_rows_once(at, n, tmp);
}

/* Both parts are computed into memory of their own, packed, then put into the
 * caches row by row; isOutputKv also hands them out in kv's order. */
static asn_status kv_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const kv_plan *p = plan;
    const asnd_nd *kv = asn_exec_nd(e, p->kv);
    asnd_view part[2], result[2], cos, sin, gamma, square;
    for (int i = 0; i < 2; i++) { /* the key, then what is normalised */
        asn_view_set(&part[i], kv);
        asn_view_slice(&part[i], 3, i ? 0 : p->v, i ? p->v : p->k, 1);
        ASN_TRY(asn_tmp_view(tmp, kv->dtype, 4, part[i].shape, &result[i]));
    }
    asn_view_set(&cos, asn_exec_nd(e, p->cos));
    asn_view_set(&sin, asn_exec_nd(e, p->sin));
    asn_view_broadcast(&cos, 4, part[0].shape);
    asn_view_broadcast(&sin, 4, part[0].shape);
    ASN_TRY(asn_rotary_turn(&part[0].nd, &cos.nd, &sin.nd, &result[0].nd,
                            ASN_ROTARY_INTERLEAVE_HALF, false));
    asnd_norm n;
    asn_norm_begin(&n, &part[1].nd, 8);
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &square));
    ASN_TRY(asn_norm_mean_square(&n, &square));
    ASN_TRY(asn_norm_rstd(&n, &square, &square, p->eps));
    asn_norm_spread(&gamma, asn_exec_nd(e, p->gamma), &n, 7);
    asnd_norm_params q = {.rstd = &square.nd, .weight = &gamma.nd};
    ASN_TRY(asn_norm_apply(&n, &q, &result[1].nd));
    for (int i = 0; i < 2; i++) {
        const asnd_nd *cache = asn_exec_nd(e, p->cache[i]);
        const int64_t *at = NULL;
        ASN_TRY(places(e, p, cache, tmp, &at));
        ASN_TRY(store(cache, at, &result[i], tmp));
        if (p->out[i] >= 0) ASN_TRY(asn_move(asn_exec_nd(e, p->out[i]), &result[i].nd));
    }
    return ASN_OK;
}

/* A cache of d columns for what kv has: (batch, 1, length, d), or (blocks, blockSize, 1,
 * d). */
static asn_status check_cache(const asnd_call *c, int i, bool paged, int64_t d) {
    const asnd_nd *a = asn_call_nd(c, i), *kv = asn_call_nd(c, 0);
    ASN_TRY(asn_call_same_dtype(c, i, 0));
    ASN_TRY(asn_call_rank(c, i, 4, 4));
    char got[ASN_SHAPE_TEXT];
    if (a->shape[3] == d && a->shape[paged ? 2 : 1] == 1 &&
        (paged || a->shape[0] == kv->shape[0]))
        return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has shape %s; it must be %s, of %lld columns", c->op->name,
        c->op->params[i].name, asn_shape_text(got, 4, a->shape),
        paged ? "(blocks, blockSize, 1, D)" : "(batch, 1, length, D)", (long long)d);
}

/* cos and sin broadcast to (batch, 1, s, k), but for their columns. */
static asn_status check_tables(const asnd_call *c, int64_t k) {
    const asnd_nd *kv = asn_call_nd(c, 0);
    for (int i = 2; i < 4; i++) {
        const int64_t shape[] = {kv->shape[0], 1, kv->shape[2], k};
        ASN_TRY(asn_call_floating(c, i));
        ASN_TRY(asn_call_rank(c, i, 4, 4));
        if (!asn_nd_broadcasts(asn_call_nd(c, i), 4, shape) ||
            asn_call_nd(c, i)->shape[3] != k)
            return asn_call_same_shape(c, i, 4, shape);
    }
    return ASN_OK;
}

/* KvRmsNormRopeCache(kv, gamma, cos, sin, index, kCacheRef, ckvCacheRef, kRopeScale,
 * ckvScale, kRopeOffset, ckvOffset, epsilon, cacheMode, isOutputKv, kRopeOut, ckvOut) */
asn_status asn_planner_kv_rope(asnd_call *c) {
    const asnd_nd *kv = asn_call_nd(c, 0);
    const char *mode = c->args[12].p;
    kv_plan plan = {.out = {-1, -1}, .eps = asn_call_double(c, 11)};
    for (int i = 7; i < 11; i++)
        if (c->first[i] >= 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is given; without quantisation it must be NULL",
                                 c->op->name, c->op->params[i].name);
    bool norm = mode == NULL || *mode == 0 || strcmp(mode, "Norm") == 0;
    plan.paged = !norm;
    if (!norm && strcmp(mode, "PA") != 0 && strcmp(mode, "PA_BNSD") != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: cacheMode is '%.40s'; it must be Norm, PA or PA_BNSD",
                             c->op->name, mode);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 4, 4));
    ASN_TRY(asn_call_rank(c, 1, 1, 1));
    plan.v = asn_call_nd(c, 1)->shape[0];
    plan.k = kv->shape[3] - plan.v;
    if (kv->shape[1] != 1 || plan.k < 2 || plan.k % 2 != 0 || plan.v < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: kv has %lld heads and %lld columns, gamma %lld; there "
                             "must be one head, and an even number of columns behind "
                             "gamma's",
                             c->op->name, (long long)kv->shape[1],
                             (long long)kv->shape[3], (long long)plan.v);
    ASN_TRY(asn_call_floating(c, 1));
    ASN_TRY(check_tables(c, plan.k));
    int64_t n = kv->shape[0] * kv->shape[2];
    ASN_TRY(asn_call_position_dtype(c, 4));
    ASN_TRY(asn_call_same_shape(c, 4, norm ? 2 : 1,
                                norm ? (int64_t[]){kv->shape[0], kv->shape[2]}
                                     : (int64_t[]){n, 0}));
    for (int i = 0; i < 2; i++) {
        int64_t d = i ? plan.v : plan.k;
        ASN_TRY(check_cache(c, 5 + i, !norm, d));
        plan.cache[i] = c->first[5 + i];
        if (asn_call_int(c, 13) == 0) continue;
        if (c->first[14 + i] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: %s is NULL, but isOutputKv asks for it",
                                 c->op->name, c->op->params[14 + i].name);
        ASN_TRY(
            asn_norm_check(c, 14 + i, 4, (int64_t[]){kv->shape[0], 1, kv->shape[2], d}));
        plan.out[i] = c->first[14 + i];
    }
    if (asn_nd_size(kv) == 0) return ASN_OK;
    plan.kv = c->first[0];
    plan.gamma = c->first[1];
    plan.cos = c->first[2];
    plan.sin = c->first[3];
    plan.index = c->first[4];
    return asn_call_keep(c, kv_body, &plan, sizeof plan,
                         500 + 4 * (double)asn_nd_size(kv));
}
