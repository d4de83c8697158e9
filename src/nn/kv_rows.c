/* L2 nn: a cache in rows: room for new tokens, and writing them (kv_cache.h).
 *
 * Sequences next to each other whose new tokens go to the same places, as those of a
 * batch that began together do, are written by one copy. */
#include "nn/kv_state.h"
#include "graph/ufunc/ufunc.h"
#include "numpy/elementwise.h"
#include "numpy/temporaries.h"

asn_status asn_kv_rows_view(asn_array *out, const asn_kv_layer *l, int part, int32_t s,
                            int32_t n, int64_t from, int64_t count) {
    ASN_TEMPORARIES;
    ASN_MAKE(slots, asn_array_range(slots, &l->part[part], 0, s, n));
    return asn_array_range(out, slots, 2, from, count);
}

/* How many of a sequence's tokens new ones need beside them. */
static int64_t kept_of(const asn_kv_cache *c, const asn_kv_extent *e) {
    int64_t there = e->length - e->base;
    return c->o.window && there > c->o.window - 1 ? c->o.window - 1 : there;
}

/* The last `kept` tokens of sequence s, of every part, to the front of `to`. */
static asn_status copy_kept(asn_kv_cache *c, const asn_kv_layer *l, int32_t s,
                            int64_t kept, const asn_kv_layer *to) {
    const asn_kv_extent *e = &l->extents[s];
    for (int p = 0; p < c->num_parts && kept > 0; p++) {
        ASN_TEMPORARIES;
        ASN_MAKE(from,
                 asn_kv_rows_view(from, l, p, s, 1, e->length - e->base - kept, kept));
        ASN_MAKE(into, asn_kv_rows_view(into, to, p, s, 1, 0, kept));
        const asn_operand value = asn_np_of(from);
        ASN_TRY(asn_assign(into, &value, ASN_CASTING_NO, NULL));
    }
    c->moved += kept;
    return ASN_OK;
}

/* Arrays of another size, not a smaller one, with all that the present ones hold: other
 * sequences than those of the call may still ask for their oldest tokens. */
static asn_status move_layer(asn_kv_cache *c, asn_kv_layer *l, int64_t capacity) {
    asn_kv_layer to = {.slots = c->slots, .capacity = capacity};
    ASN_TRY(asn_kv_make_parts(c, c->slots, capacity, to.part));
    asn_status status = ASN_OK;
    for (int32_t s = 0; l->made && s < l->slots && !status; s++)
        status = copy_kept(c, l, s, l->extents[s].length - l->extents[s].base, &to);
    if (status)
        for (int p = 0; p < c->num_parts; p++)
            asn_array_fini(&to.part[p]);
    else
        asn_kv_set_parts(c, l, c->slots, capacity, to.part);
    return status;
}

asn_status asn_kv_rows_reserve(asn_kv_cache *c, int32_t layer, int32_t n,
                               const int32_t *sequences, int64_t t) {
    asn_kv_layer *l = &c->layers[layer];
    int64_t most = 0; /* tokens that a sequence has to have room for */
    for (int32_t i = 0; i < n; i++) {
        int64_t need = kept_of(c, &l->extents[sequences[i]]) + t;
        if (need > most) most = need;
    }
    if (most > INT64_MAX / 4) return asn_layout_too_big();
    if (!l->made || most > l->capacity || c->slots > l->slots) {
        int64_t capacity = l->made ? l->capacity : c->o.capacity;
        /* What is there is less than `most`: it and the new tokens fit. */
        if (most > capacity) capacity = 2 * most;
        ASN_TRY(move_layer(c, l, capacity));
    }
    /* Under a window: those that stand at the end begin again at the front. The arrays
     * have room for twice what is kept and new, so that this is once in many tokens. */
    for (int32_t i = 0; i < n; i++) {
        asn_kv_extent *e = &l->extents[sequences[i]];
        if (e->length - e->base + t <= l->capacity) continue;
        int64_t kept = kept_of(c, e);
        ASN_TRY(copy_kept(c, l, sequences[i], kept, l));
        e->base = e->length - kept;
    }
    return ASN_OK;
}

/* Sequences i ... i + m - 1 of the call, which are m slots in a row. */
static asn_status write_some(const asn_kv_cache *c, const asn_kv_layer *l, int32_t s,
                             int32_t i, int32_t m, const asn_array *const *parts) {
    const asn_kv_extent *e = &l->extents[s];
    for (int p = 0; p < c->num_parts; p++) {
        ASN_TEMPORARIES;
        ASN_MAKE(from, asn_array_range(from, parts[p], 0, i, m));
        ASN_MAKE(into, asn_kv_rows_view(into, l, p, s, m, e->length - e->base,
                                        parts[p]->layout.shape[2]));
        const asn_operand value = asn_np_of(from);
        ASN_TRY(asn_assign(into, &value, ASN_CASTING_SAME_KIND, NULL));
    }
    return ASN_OK;
}

/* In the order of the call; a run of slots at one place is a block of the arrays. */
asn_status asn_kv_rows_write(asn_kv_cache *c, int32_t layer, int32_t n,
                             const int32_t *sequences, const asn_array *const *parts) {
    const asn_kv_layer *l = &c->layers[layer];
    for (int32_t i = 0, m; i < n; i += m) {
        const int32_t s = sequences[i];
        int64_t place = l->extents[s].length - l->extents[s].base;
        for (m = 1; i + m < n && sequences[i + m] == s + m; m++)
            if (l->extents[s + m].length - l->extents[s + m].base != place) break;
        ASN_TRY(write_some(c, l, s, i, m, parts));
    }
    return ASN_OK;
}
