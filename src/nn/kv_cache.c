/* L2 nn: caches and their sequences; what an update and a reading check (kv_cache.h).
 *
 * A sequence is a slot: a row of each layer's arrays, or a table of blocks. A freed slot
 * is taken again, so that slots stay few and those in use next to each other, which lets
 * one operation serve several.
 *
 * An update checks everything, makes room, records its writes and then moves the extents
 * on: what fails before leaves the cache as it was. */
#include <string.h>

#include "base/alloc.h"
#include "nn/kv_state.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"
#include "runtime/device.h"

/* An option with its least value. */
static asn_status at_least(const char *name, int64_t value, int64_t least) {
    if (value >= least) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "KVCache: %s is %lld; it must be at least %lld",
                         name, (long long)value, (long long)least);
}

/* Options in their ranges; sizes that overflow are found when arrays are made. */
static asn_status check_options(const asn_kv_options *o) {
    ASN_TRY(at_least("layers", o->layers, 1));
    ASN_TRY(at_least("kv_heads", o->kv_heads, 1));
    ASN_TRY(at_least("head_dim", o->head_dim, 1));
    ASN_TRY(at_least("sequences", o->sequences, 0));
    ASN_TRY(at_least("window", o->window, 0));
    ASN_TRY(at_least("capacity", o->capacity, 0));
    if (!asn_is_floating(o->dtype) && o->dtype != ASN_I8)
        return asn_error_set(
            ASN_ERR_TYPE,
            "KVCache: dtype is %s; it may be float16, bfloat16, float32, "
            "float64 or int8",
            asn_dtype_name(o->dtype));
    if (o->block_size == 0 && o->blocks == 0) return ASN_OK;
    if (o->block_size < 1 || o->blocks < 1 || o->blocks > INT32_MAX / o->block_size)
        return asn_error_set(ASN_ERR_VALUE,
                             "KVCache: %lld blocks of %lld tokens; both must be at least "
                             "1, and all tokens at most %d",
                             (long long)o->blocks, (long long)o->block_size, INT32_MAX);
    return ASN_OK;
}

/* Room for so many sequences, in the cache and in each layer. */
static asn_status make_room(asn_kv_cache *c, int32_t room) {
    if (room <= c->room) return ASN_OK;
    asn_kv_sequence *s = asn_realloc(c->sequences, (size_t)room * sizeof *s);
    if (!s) return ASN_ERR_MEMORY;
    c->sequences = s;
    memset(s + c->room, 0, (size_t)(room - c->room) * sizeof *s);
    /* Those of a later layer may be shorter after a failure; no sequence is given a
     * number that one of them has no room for. */
    for (int32_t i = 0; i < c->o.layers; i++) {
        asn_kv_extent *e = asn_realloc(c->layers[i].extents, (size_t)room * sizeof *e);
        if (!e) return ASN_ERR_MEMORY; /* c->room still says what all have */
        c->layers[i].extents = e;
        memset(e + c->room, 0, (size_t)(room - c->room) * sizeof *e);
    }
    c->room = room;
    return ASN_OK;
}

/* Layers, sequences and the list of blocks of a cache whose options are set. */
static asn_status fill(asn_kv_cache *c) {
    c->layers = asn_calloc((size_t)c->o.layers, sizeof *c->layers);
    if (!c->layers) return ASN_ERR_MEMORY;
    if (asn_kv_paged(c)) {
        c->free_blocks = asn_malloc((size_t)c->o.blocks * sizeof *c->free_blocks);
        if (!c->free_blocks) return ASN_ERR_MEMORY;
        /* Taken from the end: block 0 first. */
        for (int64_t i = 0; i < c->o.blocks; i++)
            c->free_blocks[i] = (int32_t)(c->o.blocks - 1 - i);
        c->num_free = c->o.blocks;
    }
    ASN_TRY(make_room(c, c->o.sequences));
    for (int32_t s = 0; s < c->o.sequences; s++)
        c->sequences[s].used = true;
    c->slots = c->o.sequences;
    return ASN_OK;
}

/* No memory of the device is taken: each layer does that at its first update. */
asn_status asn_kv_new(const asn_kv_options *options, asn_kv_cache **out) {
    ASN_TRY(check_options(options));
    asn_kv_cache *c = asn_calloc(1, sizeof *c);
    if (!c) return ASN_ERR_MEMORY;
    c->o = *options;
    c->num_parts = c->o.dtype == ASN_I8 ? 4 : 2;
    asn_status status = fill(c);
    if (status)
        asn_kv_free(c);
    else
        *out = c;
    return status;
}

/* Also of a cache that was made in part. */
void asn_kv_free(asn_kv_cache *c) {
    if (!c) return;
    for (int32_t i = 0; c->layers && i < c->o.layers; i++) {
        for (int p = 0; c->layers[i].made && p < c->num_parts; p++)
            asn_array_fini(&c->layers[i].part[p]);
        asn_free(c->layers[i].extents);
    }
    for (int32_t s = 0; s < c->room; s++)
        asn_free(c->sequences[s].blocks);
    if (c->has_triangle) asn_array_fini(&c->triangle);
    asn_free(c->layers);
    asn_free(c->sequences);
    asn_free(c->free_blocks);
    asn_free(c);
}

/* ---- sequences */

asn_status asn_kv_add(asn_kv_cache *c, int32_t *sequence) {
    int32_t s = 0;
    while (s < c->slots && c->sequences[s].used)
        s++;
    if (s == c->room) {
        if (s > INT32_MAX / 2)
            return asn_error_set(ASN_ERR_VALUE, "KVCache: %d sequences are too many", s);
        ASN_TRY(make_room(c, s ? 2 * s : 4));
    }
    c->sequences[s].used = true;
    if (s == c->slots) c->slots++;
    *sequence = s;
    return ASN_OK;
}

/* A sequence that is in use. */
static asn_status check_sequence(const asn_kv_cache *c, int32_t s, const char *what) {
    if (s >= 0 && s < c->slots && c->sequences[s].used) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "KVCache.%s: sequence %d is not in use", what,
                         (int)s);
}

/* In rows its places stay, for the next one; in blocks all of its blocks go back. */
asn_status asn_kv_drop(asn_kv_cache *c, int32_t s) {
    ASN_TRY(check_sequence(c, s, "free_sequence"));
    if (asn_kv_paged(c)) {
        asn_kv_blocks_cut(c, s, 0);
        c->sequences[s].first = 0;
    }
    for (int32_t i = 0; i < c->o.layers; i++)
        c->layers[i].extents[s] = (asn_kv_extent){0, 0};
    c->sequences[s].used = false;
    return ASN_OK;
}

/* Calls name few sequences: comparing each pair is less than marking them. */
asn_status asn_kv_check(const asn_kv_cache *c, int32_t layer, int32_t n,
                        const int32_t *sequences, const char *what) {
    if (layer < 0 || layer >= c->o.layers)
        return asn_error_set(ASN_ERR_INDEX, "KVCache.%s: layer %d of %d", what,
                             (int)layer, (int)c->o.layers);
    for (int32_t i = 0; i < n; i++) {
        ASN_TRY(check_sequence(c, sequences[i], what));
        for (int32_t j = 0; j < i; j++)
            if (sequences[j] == sequences[i])
                return asn_error_set(ASN_ERR_VALUE,
                                     "KVCache.%s: sequence %d is named twice", what,
                                     (int)sequences[i]);
    }
    return ASN_OK;
}

/* In blocks the first token may lie ahead of a layer that others have left behind: there
 * is none then. */
asn_status asn_kv_tokens(const asn_kv_cache *c, int32_t layer, int32_t sequence,
                         int64_t *first, int64_t *position) {
    ASN_TRY(asn_kv_check(c, layer, 1, &sequence, "tokens"));
    int64_t base = asn_kv_base(c, layer, sequence);
    *position = c->layers[layer].extents[sequence].length;
    *first = base < *position ? base : *position;
    return ASN_OK;
}

asn_status asn_kv_table(const asn_kv_cache *c, int32_t sequence, const int32_t **blocks,
                        int64_t *count, int64_t *first) {
    ASN_TRY(check_sequence(c, sequence, "block_table"));
    const asn_kv_sequence *s = &c->sequences[sequence];
    *blocks = s->blocks;
    *count = s->count;
    *first = s->first * c->o.block_size;
    return ASN_OK;
}

/* All is checked before anything changes. Elements stay where they are, and the next
 * update writes over them. */
asn_status asn_kv_truncate(asn_kv_cache *c, int32_t sequence, int64_t position) {
    int64_t length = 0, base = 0;
    ASN_TRY(check_sequence(c, sequence, "truncate"));
    for (int32_t i = 0; i < c->o.layers; i++) {
        const asn_kv_extent *e = &c->layers[i].extents[sequence];
        if (e->length > length) length = e->length;
        /* A layer that stays as it is may have given up what it likes. */
        int64_t from = asn_kv_base(c, i, sequence);
        if (e->length > position && from > base) base = from;
    }
    if (position < 0 || position > length)
        return asn_error_set(ASN_ERR_VALUE,
                             "KVCache.truncate: position %lld of sequence %d, which is "
                             "at %lld; it may be 0 to that",
                             (long long)position, (int)sequence, (long long)length);
    /* What the next query sees: the window less itself, which is new. */
    int64_t needs = c->o.window ? position - (c->o.window - 1) : 0;
    if (base > (needs > 0 ? needs : 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "KVCache.truncate: position %lld of sequence %d, whose "
                             "tokens before %lld are given up; the window needs them "
                             "from %lld on",
                             (long long)position, (int)sequence, (long long)base,
                             (long long)(needs > 0 ? needs : 0));
    for (int32_t i = 0; i < c->o.layers; i++) {
        asn_kv_extent *e = &c->layers[i].extents[sequence];
        if (e->length > position) e->length = position;
    }
    if (asn_kv_paged(c)) asn_kv_blocks_cut(c, sequence, position);
    return ASN_OK;
}

/* ---- arrays */

asn_status asn_kv_make_parts(const asn_kv_cache *c, int32_t slots, int64_t capacity,
                             asn_array *part) {
    asn_status status = asn_device_open();
    int made = 0;
    for (; made < c->num_parts && !status; made++) {
        const int64_t columns = asn_kv_columns(c, made);
        const int64_t rows[] = {slots, c->o.kv_heads, capacity, columns};
        const int64_t blocks[] = {c->o.blocks, c->o.block_size, c->o.kv_heads, columns};
        status = asn_array_new(&part[made], asn_kv_part_dtype(c, made), 4,
                               asn_kv_paged(c) ? blocks : rows, 'C');
        if (status) break;
        /* Who asks for room hears here that there is none. */
        status = asn_buffer_ensure(part[made].buffer);
    }
    for (int p = 0; status && p < made; p++)
        asn_array_fini(&part[p]);
    return status;
}

void asn_kv_set_parts(const asn_kv_cache *c, asn_kv_layer *l, int32_t slots,
                      int64_t capacity, asn_array *part) {
    for (int p = 0; p < c->num_parts; p++) {
        if (l->made) asn_array_fini(&l->part[p]);
        asn_array_move(&l->part[p], &part[p]);
    }
    l->made = true;
    l->slots = slots;
    l->capacity = capacity;
}

void asn_kv_get_stats(const asn_kv_cache *c, asn_kv_stats *out) {
    *out = (asn_kv_stats){.free_blocks = c->num_free, .moved = c->moved};
    for (int32_t s = 0; s < c->slots; s++)
        out->sequences += c->sequences[s].used;
    for (int32_t i = 0; i < c->o.layers; i++)
        for (int p = 0; c->layers[i].made && p < c->num_parts; p++)
            out->nbytes += asn_layout_nbytes(&c->layers[i].part[p].layout);
    out->capacity =
        asn_kv_paged(c) ? c->o.blocks * c->o.block_size : c->layers[0].capacity;
}

/* ---- updates */

/* One of k and v: (n, kv_heads, tokens, head_dim). */
static asn_status check_tokens(const asn_kv_cache *c, const asn_array *a, int32_t n,
                               int64_t t, const char *name) {
    const asn_layout *l = &a->layout;
    char got[128];
    if (!asn_is_floating(asn_layout_dtype(l)))
        return asn_error_set(ASN_ERR_TYPE,
                             "KVCache.update: %s has dtype %s; it must be float16, "
                             "bfloat16, float32 or float64",
                             name, asn_dtype_name(asn_layout_dtype(l)));
    if (l->ndim == 4 && l->shape[0] == n && l->shape[1] == c->o.kv_heads &&
        (t < 0 || l->shape[2] == t) && l->shape[3] == c->o.head_dim)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "KVCache.update: %s has shape %s; it must be (%d,%d,tokens,"
                         "%d), (sequences, kv_heads, tokens, head_dim)%s",
                         name, asn_shape_format(got, sizeof got, l->ndim, l->shape),
                         (int)n, (int)c->o.kv_heads, (int)c->o.head_dim,
                         t < 0 ? "" : ", of as many tokens as k");
}

/* Each sequence must be where its new tokens begin. */
static asn_status check_positions(const asn_kv_cache *c, int32_t layer, int32_t n,
                                  const int32_t *sequences, const int64_t *positions) {
    for (int32_t i = 0; i < n; i++) {
        int64_t at = c->layers[layer].extents[sequences[i]].length, got = positions[i];
        if (got == at) continue;
        return asn_error_set(ASN_ERR_VALUE,
                             "KVCache.update: position %lld, but layer %d of sequence %d "
                             "is at %lld: %s",
                             (long long)got, (int)layer, (int)sequences[i], (long long)at,
                             got > at ? "there would be a gap"
                                      : "truncate() first to write tokens again");
    }
    return ASN_OK;
}

asn_status asn_kv_update(asn_kv_cache *c, int32_t layer, const asn_array *k,
                         const asn_array *v, int32_t n, const int32_t *sequences,
                         const int64_t *positions) {
    ASN_TRY(asn_capture_forbid("a KV cache changes"));
    ASN_TRY(asn_kv_check(c, layer, n, sequences, "update"));
    ASN_TRY(check_tokens(c, k, n, -1, "k"));
    const int64_t t = k->layout.shape[2];
    ASN_TRY(check_tokens(c, v, n, t, "v"));
    ASN_TRY(check_positions(c, layer, n, sequences, positions));
    if (n == 0 || t == 0) return ASN_OK;
    const bool paged = asn_kv_paged(c);
    ASN_TRY(paged ? asn_kv_blocks_reserve(c, layer, n, sequences, t)
                  : asn_kv_rows_reserve(c, layer, n, sequences, t));
    const asn_array *parts[ASN_KV_PARTS] = {k, v};
    ASN_TEMPORARIES;
    if (c->num_parts == 4) {
        asn_array *const made = temporaries_.made; /* two pairs: keys, values */
        ASN_TRY(asn_kv_quantise(&made[0], &made[1], k));
        temporaries_.count = 2;
        ASN_TRY(asn_kv_quantise(&made[2], &made[3], v));
        temporaries_.count = 4;
        parts[ASN_KV_KEYS] = &made[0], parts[ASN_KV_KEY_SCALES] = &made[1];
        parts[ASN_KV_VALUES] = &made[2], parts[ASN_KV_VALUE_SCALES] = &made[3];
    }
    ASN_TRY(paged ? asn_kv_blocks_write(c, layer, n, sequences, parts)
                  : asn_kv_rows_write(c, layer, n, sequences, parts));
    for (int32_t i = 0; i < n; i++)
        c->layers[layer].extents[sequences[i]].length += t;
    return ASN_OK;
}
