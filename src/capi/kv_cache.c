/* L3 C binding: caches of keys and values (kv_cache.h). A handle is the core's cache; the
 * library's lock is held throughout, since nothing here waits for the device.
 *
 * Sequences are given as a list with its length, or as NULL for the first ones, which
 * most programs mean: a list of those is made here, so that the core knows one form. The
 * public struct of options has its fields by size, without holes; the core's has them by
 * what they are for. Positions and tables are 64 bits wide, numbers of sequences and of
 * blocks 32, as CANN's tables are. */
#include "capi/capi.h"

#include "base/alloc.h"
#include "nn/kv_cache.h"
#include "runtime/device.h"

/* The handle, which is const where the call changes nothing. */
static asn_kv_cache *of(const asnp_kv_cache *cache) {
    return (asn_kv_cache *)(uintptr_t)cache;
}

/* Fields have their own order in public; ranges are the core's to check. */
asnp_status asnp_kv_cache_new(const asnp_kv_cache_options *options, asnp_kv_cache **out) {
    NEED(options);
    NEED(out);
    IN_LIBRARY;
    asn_kv_cache *made;
    asn_kv_options o = {.layers = options->layers,
                        .kv_heads = options->kv_heads,
                        .head_dim = options->head_dim,
                        .sequences = options->sequences,
                        .window = options->window,
                        .capacity = options->capacity,
                        .block_size = options->block_size,
                        .blocks = options->blocks,
                        .composed = options->composed != 0};
    ASN_TRY(asn_capi_dtype(options->dtype, false, &o.dtype));
    ASN_TRY(asn_device_open());
    ASN_TRY(asn_kv_new(&o, &made));
    *out = (asnp_kv_cache *)made;
    return ASNP_OK;
}

/* Of NULL too. The arrays go back when what is queued on them has run. */
void asnp_kv_cache_release(asnp_kv_cache *cache) {
    IN_LIBRARY;
    asn_kv_free(of(cache));
}

/* Numbers are the lowest that are free, so that the arrays stay short. */
asnp_status asnp_kv_cache_add(asnp_kv_cache *cache, int32_t *sequence) {
    NEED(cache);
    NEED(sequence);
    IN_LIBRARY;
    return asn_kv_add(of(cache), sequence);
}

/* Its number may come again; the program forgets it first. */
asnp_status asnp_kv_cache_free(asnp_kv_cache *cache, int32_t sequence) {
    NEED(cache);
    IN_LIBRARY;
    return asn_kv_drop(of(cache), sequence);
}

/* *list: the sequences, or 0 ... n - 1 in *made, which the caller frees (NULL is fine).
 */
static asn_status listed(int32_t n, const int32_t *sequences, const int32_t **list,
                         int32_t **made) {
    *made = NULL;
    *list = sequences;
    if (n < 0)
        return asn_error_set(ASN_ERR_VALUE, "%d sequences; there may be 0 or more",
                             (int)n);
    if (sequences) return ASN_OK;
    *made = asn_malloc((size_t)n * sizeof **made);
    if (!*made) return ASN_ERR_MEMORY;
    for (int32_t i = 0; i < n; i++)
        (*made)[i] = i;
    *list = *made;
    return ASN_OK;
}

/* positions has n entries, which nothing here can check; each is compared with the
 * cache's own count, so that a wrong one is told, and the call writes nothing then. */
asnp_status asnp_kv_cache_update(asnp_kv_cache *cache, int32_t layer, const asnp_array *k,
                                 const asnp_array *v, int32_t n, const int32_t *sequences,
                                 const int64_t *positions) {
    NEED(cache);
    NEED(k);
    NEED(v);
    NEED(positions);
    IN_LIBRARY;
    const int32_t *list;
    int32_t *made;
    ASN_TRY(listed(n, sequences, &list, &made));
    asn_status status =
        asn_kv_update(of(cache), layer, &k->array, &v->array, n, list, positions);
    asn_free(made);
    return status;
}

/* The result is recorded or queued like any other: reading it waits. scale is read at
 * once and not kept. */
asnp_status asnp_kv_cache_attention(asnp_kv_cache *cache, int32_t layer,
                                    const asnp_array *q, int32_t n,
                                    const int32_t *sequences, const double *scale,
                                    asnp_array **out) {
    NEED(cache);
    NEED(q);
    NEED(out);
    IN_LIBRARY;
    const int32_t *list;
    int32_t *made;
    asn_array result;
    ASN_TRY(listed(n, sequences, &list, &made));
    asn_status status =
        asn_kv_attention(of(cache), layer, &q->array, n, list, scale, &result);
    asn_free(made);
    return asn_capi_wrap(status, &result, out);
}

/* Of one sequence; the others stay as they are. Its elements are not overwritten, so
 * that views of them which were read before hold until the next update. */
asnp_status asnp_kv_cache_truncate(asnp_kv_cache *cache, int32_t sequence,
                                   int64_t position) {
    NEED(cache);
    IN_LIBRARY;
    return asn_kv_truncate(of(cache), sequence, position);
}

/* Layers differ in the middle of a step, when some have the new tokens and others not. */
asnp_status asnp_kv_cache_tokens(const asnp_kv_cache *cache, int32_t layer,
                                 int32_t sequence, int64_t *first, int64_t *position) {
    NEED(cache);
    NEED(first);
    NEED(position);
    IN_LIBRARY;
    return asn_kv_tokens(of(cache), layer, sequence, first, position);
}

/* Both handles, or none: a caller that sees a failure has nothing to release, and the
 * first one may have been made by then. */
asnp_status asnp_kv_cache_read(asnp_kv_cache *cache, int32_t layer, int32_t sequence,
                               asnp_array **k, asnp_array **v) {
    NEED(cache);
    NEED(k);
    NEED(v);
    IN_LIBRARY;
    asn_array keys, values;
    asnp_array *first;
    ASN_TRY(asn_kv_read(of(cache), layer, sequence, &keys, &values));
    asnp_status status = asn_capi_wrap(ASN_OK, &keys, &first);
    if (status) {
        asn_array_fini(&values);
        return status;
    }
    status = asn_capi_wrap(ASN_OK, &values, v);
    if (status)
        asn_capi_release(&first, 1);
    else
        *k = first;
    return status;
}

/* The list is the cache's own memory: what changes the cache may move it. */
asnp_status asnp_kv_cache_blocks(const asnp_kv_cache *cache, int32_t sequence,
                                 const int32_t **blocks, int64_t *count, int64_t *first) {
    NEED(cache);
    NEED(blocks);
    NEED(count);
    NEED(first);
    IN_LIBRARY;
    return asn_kv_table(of(cache), sequence, blocks, count, first);
}

/* A snapshot of counts; bytes are those of the elements, the pool may give out a few
 * more. */
asnp_status asnp_kv_cache_get_state(const asnp_kv_cache *cache,
                                    asnp_kv_cache_state *out) {
    NEED(cache);
    NEED(out);
    IN_LIBRARY;
    asn_kv_stats s;
    asn_kv_get_stats(of(cache), &s);
    *out = (asnp_kv_cache_state){.nbytes = s.nbytes,
                                 .capacity = s.capacity,
                                 .free_blocks = s.free_blocks,
                                 .moved = s.moved,
                                 .sequences = s.sequences};
    return ASNP_OK;
}
