/* CPU device, operators: rotary position embedding with cos and sin from a cache.
 *
 * The cache has a row for each position: the columns of cos, then as many of sin. The
 * first elements of every head, twice those columns, are turned in pairs (rotary.c): by
 * halves (GPT-NeoX) or neighbours; the rest of the head is copied.
 *
 * With sections (M-RoPE) each section of the columns has positions of its own, one
 * section after the other, or (cacheMode 1) in turn, as Qwen3-VL has it: column j belongs
 * to section j % 3 as long as that lasts, else to the first.
 */
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/nn/rotary.h"

/* Operands: positions, cache, and query and key with their outputs. columns: of cos, half
 * of what is turned; num_sections 0: plain positions. */
typedef struct {
    asnd_plan_head head;
    int positions, cache, x[2], y[2];
    bool half, in_turn;
    int num_sections;
    int64_t sections[8], rows, tokens, columns, extent; /* of a head */
} cache_plan;

/* The row of positions that column j takes. */
static int section_of(const cache_plan *p, int64_t j) {
    if (p->num_sections == 0) return 0;
    if (p->in_turn) {
        int s = (int)(j % 3);
        return s > 0 && j < 3 * p->sections[s] ? s : 0;
    }
    int s = 0;
    for (int64_t end = p->sections[0]; s + 1 < p->num_sections && j >= end;)
        end += p->sections[++s];
    return s;
}

/* cos and sin, (tokens, 1, 2 * columns), from the cache's rows at the positions: what
 * both of a pair are turned by, at both places. */
static asn_status look_up(aclOpExecutor *e, const cache_plan *p, const int64_t *at,
                          asnd_tmp *tmp, asnd_view *cos, asnd_view *sin) {
    const asnd_nd *cache = asn_exec_nd(e, p->cache);
    int64_t item = asn_itemsize(cache->dtype), step = cache->strides[1];
    for (int64_t i = 0; i < p->tokens * (p->num_sections ? p->num_sections : 1); i++)
        if (at[i] < 0 || at[i] >= p->rows)
            return asn_error_set(
                ASN_ERR_VALUE, "position %lld is outside the cache, which has %lld rows",
                (long long)at[i], (long long)p->rows);
    const int64_t shape[] = {p->tokens, 1, 2 * p->columns};
    ASN_TRY(asn_tmp_view(tmp, cache->dtype, 3, shape, cos));
    ASN_TRY(asn_tmp_view(tmp, cache->dtype, 3, shape, sin));
    for (int64_t i = 0; i < p->tokens; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            const char *row =
                cache->data + at[section_of(p, j) * p->tokens + i] * cache->strides[0];
            for (int k = 0; k < 2; k++) {
                int64_t to = p->half ? j + k * p->columns : 2 * j + k;
                to = (i * 2 * p->columns + to) * item;
                memcpy(cos->nd.data + to, row + j * step, (size_t)item);
                memcpy(sin->nd.data + to, row + (p->columns + j) * step, (size_t)item);
            }
        }
    return ASN_OK;
}

/* v: (tokens, heads, n elements of a head from `from` on) of a (tokens, heads * head). */
static void heads_view(asnd_view *v, const asnd_nd *a, int64_t head, int64_t from,
                       int64_t n) {
    asn_view_set(v, a);
    int64_t stride = v->strides[1], heads = v->shape[1] / head;
    v->shape[1] = head;
    asn_view_insert(v, 1, heads, head * stride);
    asn_view_slice(v, 2, from, n, 1);
}

/* Query, then key: the same tables turn both, whatever their heads. */
static asn_status cache_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const cache_plan *p = plan;
    const int64_t turned = 2 * p->columns;
    const int64_t *at = NULL;
    asnd_view cos, sin, c, s;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->positions), ASN_I64, tmp, &at));
    ASN_TRY(look_up(e, p, at, tmp, &cos, &sin));
    for (int k = 0; k < 2; k++) {
        const asnd_nd *in = asn_exec_nd(e, p->x[k]), *out = asn_exec_nd(e, p->y[k]);
        asnd_view x, y, rest, to;
        if (asn_nd_size(out) == 0) continue;
        heads_view(&x, in, p->extent, 0, turned);
        heads_view(&y, out, p->extent, 0, turned);
        heads_view(&rest, in, p->extent, turned, p->extent - turned);
        heads_view(&to, out, p->extent, turned, p->extent - turned);
        if (p->extent > turned) ASN_TRY(asn_move(&to.nd, &rest.nd));
        asn_view_set(&c, &cos.nd);
        asn_view_set(&s, &sin.nd);
        asn_view_broadcast(&c, 3, x.shape);
        asn_view_broadcast(&s, 3, x.shape);
        ASN_TRY(asn_rotary_turn(&x.nd, &c.nd, &s.nd, &y.nd,
                                p->half ? ASN_ROTARY_HALF : ASN_ROTARY_INTERLEAVE,
                                false));
    }
    return ASN_OK;
}

/* Sections of M-RoPE, unless they are absent or all 0: their sum is the columns of cos.
 */
static asn_status sections_of(const asnd_call *c, cache_plan *p, int64_t columns) {
    const asnd_array *list = asn_call_array(c, 4);
    uint64_t n = list == NULL ? 0 : list->size;
    int64_t sum = 0;
    for (uint64_t k = 0; k < n && k < 8; k++) {
        p->sections[k] = ((const int64_t *)list->data)[k];
        sum = p->sections[k] < 0 || sum < 0 ? -1 : sum + p->sections[k];
    }
    p->num_sections = sum == 0 ? 0 : (int)n;
    if (sum == 0) return ASN_OK;
    /* Every column of cos must have a section, and only one. */
    bool fits = n <= 8 && sum == columns && (!p->in_turn || n == 3);
    /* In turn, a section's columns must be there: 3 * section at most, in steps of 3. */
    for (int s = 1; fits && p->in_turn && s < 3; s++)
        fits = 3 * p->sections[s] - 3 + s < columns || p->sections[s] == 0;
    if (fits) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: mropeSection has %llu sections of %lld columns in all; they "
        "must be %lld, half of cosSinCache's%s",
        c->op->name, (unsigned long long)n, (long long)sum, (long long)columns,
        p->in_turn ? ", in 3 sections" : "");
}

/* RopeWithSinCosCache(positions, queryIn, keyIn, cosSinCache, mropeSection, headSize,
 * isNeoxStyle, queryOut, keyOut), V2 with cacheMode behind the style. */
asn_status asn_planner_rope_cache(asnd_call *c) {
    int mode = asn_call_param_named(c, "cacheMode"), out = mode < 0 ? 7 : 8;
    const asnd_nd *at = asn_call_nd(c, 0), *q = asn_call_nd(c, 1), *k = asn_call_nd(c, 2);
    const asnd_nd *cache = asn_call_nd(c, 3);
    int64_t head = asn_call_int(c, 5), tokens = q->ndim > 0 ? q->shape[0] : 0;
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_index_dtype(c, 0, at));
    ASN_TRY(asn_call_floating(c, 3));
    bool fits = cache->ndim == 2 && cache->shape[1] % 2 == 0 && head > 0 &&
                cache->shape[1] <= head;
    if (!fits)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: cosSinCache has shape %s, headSize is %lld; it must have "
            "rows of an even number of columns, headSize at most",
            c->op->name, asn_shape_text(got, cache->ndim, cache->shape), (long long)head);
    if (mode >= 0 && asn_call_int(c, mode) != 0 && asn_call_int(c, mode) != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: cacheMode is %lld; it must be 0 or 1",
                             c->op->name, (long long)asn_call_int(c, mode));
    for (int i = 1; i < 3; i++) {
        const asnd_nd *x = i == 1 ? q : k;
        ASN_TRY(asn_norm_check(c, i, x->ndim, x->shape));
        if (x->ndim != 2 || x->shape[0] != tokens || x->shape[1] % head != 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has shape %s; it must be (tokens, heads * "
                                 "headSize), with headSize %lld",
                                 c->op->name, c->op->params[i].name,
                                 asn_shape_text(got, x->ndim, x->shape), (long long)head);
        ASN_TRY(asn_norm_check(c, out + i - 1, 2, x->shape));
    }
    cache_plan plan = {.half = asn_call_int(c, 6) != 0,
                       .in_turn = mode >= 0 && asn_call_int(c, mode) == 1,
                       .rows = cache->shape[0]};
    ASN_TRY(sections_of(c, &plan, cache->shape[1] / 2));
    const int64_t want[] = {plan.num_sections, tokens};
    ASN_TRY(asn_call_same_shape(c, 0, plan.num_sections ? 2 : 1,
                                plan.num_sections ? want : want + 1));
    plan.positions = c->first[0];
    plan.cache = c->first[3];
    for (int i = 0; i < 2; i++) {
        plan.x[i] = c->first[1 + i];
        plan.y[i] = c->first[out + i];
    }
    plan.tokens = tokens;
    plan.columns = cache->shape[1] / 2;
    plan.extent = head;
    return asn_call_keep(c, cache_body, &plan, sizeof plan,
                         300 + 2 * (double)(asn_nd_size(q) + asn_nd_size(k)));
}
