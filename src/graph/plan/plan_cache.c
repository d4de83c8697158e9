/* L2 graph: the plan cache, so that a loop plans once.
 *
 * The key spells the structure of a trace as 64-bit words: per node its operation, dtypes
 * and shape; per reference its buffer as a number counted in order of first appearance,
 * offset and strides; per node whether its result outlives the trace. Addresses and
 * scalar values stay out of it (equal immediates within one program share a register, so
 * that equality is in the key). A table of fixed size; a plan may stand in any of a few
 * slots, and a newer one replaces the one that was used longest ago. (With one slot each,
 * a loop over 62 structures planned a quarter of them again at every turn.)
 * A hit compares the whole key, so a plan is never taken for a trace that only has the
 * same hash.
 */
#include <string.h>

#include "base/hash.h"
#include "graph/engine.h"
#include "graph/plan/plan.h"
#include "graph/profile_events.h"

enum { SETS = 64, WAYS = 8, KEY_MAX = ASN_TRACE_MAX_NODES * 64 };

typedef struct {
    uint64_t used; /* the clock at its last use */
    int64_t *key;  /* owns; NULL: it is empty */
    int words;
    asn_plan plan;
} slot;

/* The lock guards the table. */
static slot slots[SETS][WAYS];
static uint64_t hashes[SETS][WAYS]; /* apart: those of a set are one cache line */
static uint64_t now;
static uint32_t next_id = 1;

/* Most references begin at their buffer's start and have the strides of the node's
 * result, most results shape and strides of the node before: a bit says so in place of
 * the words. */
enum { NO_OFFSET = 1 << 8, LIKE_RESULT = 1 << 9, LIKE_BEFORE = 1 << 10, ID_BIT = 16 };

static inline bool same_words(const int64_t *a, const int64_t *b, int num) {
    if (a == b) return true;
    for (int d = 0; d < num; d++)
        if (a[d] != b[d]) return false;
    return true;
}

/* The different immediates met. */
typedef struct {
    int num;
    struct {
        const asn_ref *ref;
        int place;
    } all[3 * ASN_TRACE_MAX_NODES];
} numbers;

/* Equal immediates have the place of the first of them, so that sharing is part of the
 * structure. Returns the key's end. */
static int64_t *put_number(int64_t *key, numbers *met, const asn_ref *ref, int place) {
    int i = 0;
    while (i < met->num &&
           (met->all[i].ref->dtype != ref->dtype ||
            memcmp(met->all[i].ref->immediate, ref->immediate, sizeof ref->immediate)))
        i++;
    if (i == met->num) {
        met->all[i].ref = ref;
        met->all[i].place = place;
        met->num++;
    }
    *key++ = -1 - ref->dtype;
    *key++ = met->all[i].place;
    return key;
}

/* `like`: strides that go without saying, told by `flag`; or NULL. */
static inline int64_t *put_ref(int64_t *key, const asn_ref *ref, int ndim,
                               const int64_t *like, int64_t flag, uint32_t base) {
    asn_buffer *b = ref->buffer;
    if (b->trace_id < base) b->trace_id = next_id++;
    bool alike = like && same_words(ref->strides, like, ndim);
    *key++ = (int64_t)(b->trace_id - base) << ID_BIT | ref->dtype | (alike ? flag : 0) |
             (ref->offset ? 0 : NO_OFFSET);
    if (ref->offset) *key++ = ref->offset;
    for (int d = 0; d < ndim && !alike; d++)
        *key++ = ref->strides[d];
    return key;
}

/* One node; what is as before, or goes without saying, is a bit of the first word.
 * `base`: where buffers' numbers begin, this time. */
static inline int64_t *put_node(int64_t *key, const asn_node *nodes, int at, bool dead,
                                uint32_t base, numbers *met) {
    const asn_node *node = &nodes[at], *before = at ? node - 1 : node;
    int ndim = node->ndim;
    bool same = at && before->ndim == ndim && before->size == node->size &&
                same_words(node->shape, before->shape, ndim);
    *key++ = (int64_t)(node->head | (uint64_t)dead << 57 | (uint64_t)same << 58);
    if (node->reduce_op != ASN_OP_NONE) *key++ = (int64_t)node->reduce_mask;
    for (int d = 0; d < ndim && !same; d++)
        *key++ = node->shape[d];
    const int64_t *strides = node->out.strides;
    key = put_ref(key, &node->out, ndim, same ? before->out.strides : NULL, LIKE_BEFORE,
                  base);
    for (int k = 0; k < node->num_in; k++)
        if (node->in[k].buffer)
            key = put_ref(key, &node->in[k], ndim, strides, LIKE_RESULT, base);
        else
            key = put_number(key, met, &node->in[k], at * 4 + k + 1);
    return key;
}

/* The key's words, or -1: it would not fit, and the plan is not kept. */
static int make_key(int64_t *key, const asn_node *nodes, int count, const bool *dead) {
    uint32_t base = next_id;
    numbers met;
    int64_t *end = key;
    met.num = 0;
    for (int i = 0; i < count; i++) {
        /* The most that a node can take. */
        if (end - key + 8 + 5 * (nodes[i].ndim + 2) > KEY_MAX) return -1;
        end = put_node(end, nodes, i, dead[i], base, &met);
    }
    return (int)(end - key);
}

/* The slot of the key, or the one to give up for it. */
static slot *find(uint64_t hash, const int64_t *key, int words, bool *hit) {
    slot *set = slots[hash % SETS], *oldest = set;
    const uint64_t *known = hashes[hash % SETS];
    *hit = true;
    for (int k = 0; k < WAYS; k++)
        if (known[k] == hash && set[k].key && set[k].words == words &&
            !memcmp(set[k].key, key, (size_t)words * sizeof *key))
            return &set[k];
    *hit = false;
    for (int k = 1; k < WAYS; k++)
        if (set[k].used < oldest->used) oldest = &set[k];
    return oldest;
}

/* With an event for the profile. */
static asn_status make(asn_plan *plan, const asn_node *nodes, int count,
                       const bool *dead) {
    asn_mark mark = asn_profile_begin();
    ASN_TRY(asn_plan_make(plan, nodes, count, dead, true));
    if (mark.ticks) asn_record_plan(mark, count);
    return ASN_OK;
}

/* (Contract in plan.h.) Nothing is given up before the new plan is there. */
asn_status asn_plan_get(asn_plan **plan, const asn_node *nodes, int count,
                        const bool *dead, bool *hit) {
    static int64_t key[KEY_MAX];
    static asn_plan uncached;
    *hit = false;
    int words = make_key(key, nodes, count, dead);
    if (words < 0) {
        asn_plan_fini(&uncached);
        ASN_TRY(make(&uncached, nodes, count, dead));
        *plan = &uncached;
        return ASN_OK;
    }
    uint64_t hash = asn_hash_words(key, words);
    slot *s = find(hash, key, words, hit);
    size_t bytes = (size_t)words * sizeof *key;
    *plan = &s->plan;
    s->used = ++now;
    if (*hit) return ASN_OK;
    int64_t *copy = asn_malloc(bytes);
    if (!copy) return ASN_ERR_MEMORY;
    asn_plan fresh;
    asn_status status = make(&fresh, nodes, count, dead);
    if (status) {
        asn_free(copy);
        return status;
    }
    memcpy(copy, key, bytes);
    if (s->key) asn_plan_fini(&s->plan);
    asn_free(s->key);
    *s = (slot){.used = now, .key = copy, .words = words, .plan = fresh};
    hashes[hash % SETS][s - slots[hash % SETS]] = hash;
    return ASN_OK;
}

void asn_plan_forget(void) {
    for (int i = 0; i < SETS * WAYS; i++) {
        slot *s = &slots[i / WAYS][i % WAYS];
        if (s->key) asn_plan_fini(&s->plan);
        asn_free(s->key);
        *s = (slot){0};
    }
}
