/* L2 graph: the plan cache, so that a loop plans once.
 *
 * The key spells the structure of a trace as 64-bit words: per node its operation, dtypes
 * and shape; per reference its buffer as a number counted in order of first appearance,
 * offset and strides; per node whether its result outlives the trace. Addresses and
 * scalar values stay out of it (equal immediates within one program share a register, so
 * that equality is in the key). A table of fixed size; a plan may stand in any of a few
 * slots, and a newer one replaces the one that was used longest ago. (With one slot each,
 * a loop over 62 structures planned a quarter of them again at every turn.)
 */
#include <string.h>

#include "graph/engine.h"
#include "graph/plan.h"

enum { SETS = 64, WAYS = 8, KEY_MAX = ASN_TRACE_MAX_NODES * 64 };

typedef struct {
    uint64_t hash, used; /* the clock at its last use */
    int64_t *key;        /* owns */
    int words;
    asn_plan plan;
} slot;

static slot slots[SETS][WAYS];
static uint64_t now;
static uint32_t next_id = 1;

static int put_ref(int64_t *key, const asn_node *nodes, int at, int which,
                   uint32_t base) {
    const asn_node *node = &nodes[at];
    const asn_ref *ref = which == 0 ? &node->out : &node->in[which - 1];
    int n = 0;
    if (!ref->buffer) {
        /* the first equal immediate before it, so that sharing is part of the structure
         */
        int64_t twin = at * 4 + which;
        for (int i = 0; i <= at && twin == at * 4 + which; i++)
            for (int k = 0; k < nodes[i].num_in && i * 4 + k + 1 < at * 4 + which; k++)
                if (!nodes[i].in[k].buffer && nodes[i].in[k].dtype == ref->dtype &&
                    !memcmp(nodes[i].in[k].immediate, ref->immediate, 16)) {
                    twin = i * 4 + k + 1;
                    break;
                }
        key[n++] = -1 - ref->dtype;
        key[n++] = twin;
        return n;
    }
    if (ref->buffer->trace_id < base) ref->buffer->trace_id = next_id++;
    key[n++] = (int64_t)(ref->buffer->trace_id - base) << 8 | ref->dtype;
    key[n++] = ref->offset;
    for (int d = 0; d < node->ndim; d++)
        key[n++] = ref->strides[d];
    return n;
}

static int make_key(int64_t *key, const asn_node *nodes, int count, const bool *dead) {
    uint32_t base = next_id;
    int n = 0;
    for (int i = 0; i < count; i++) {
        const asn_node *node = &nodes[i];
        if (n + 8 + 5 * (node->ndim + 2) > KEY_MAX) return -1;
        key[n++] = (int64_t)node->op | (int64_t)node->reduce_op << 16 |
                   (int64_t)node->loop << 32 | (int64_t)node->num_in << 40 |
                   (int64_t)node->accumulate << 44 | (int64_t)dead[i] << 45 |
                   (int64_t)node->ndim << 48;
        key[n++] = (int64_t)node->reduce_mask;
        for (int d = 0; d < node->ndim; d++)
            key[n++] = node->shape[d];
        for (int k = 0; k <= node->num_in; k++)
            n += put_ref(key + n, nodes, i, k, base);
    }
    return n;
}

static inline uint64_t mix(uint64_t h, int64_t word) {
    h = (h ^ (uint64_t)word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

/* Four hashes side by side, since each waits for its product: 6 ns per node, not 23. */
static uint64_t hash_words(const int64_t *key, int words) {
    uint64_t h[4] = {0x9e3779b97f4a7c15u ^ (uint64_t)words, 1, 2, 3};
    int i = 0;
    for (; i + 4 <= words; i += 4)
        for (int k = 0; k < 4; k++)
            h[k] = mix(h[k], key[i + k]);
    for (; i < words; i++)
        h[0] = mix(h[0], key[i]);
    for (int k = 1; k < 4; k++)
        h[0] = mix(h[0], (int64_t)h[k]);
    return h[0];
}

/* The slot of the key, or the one to give up for it. */
static slot *find(uint64_t hash, const int64_t *key, int words, bool *hit) {
    slot *set = slots[hash % SETS], *oldest = set;
    *hit = true;
    for (int k = 0; k < WAYS; k++) {
        slot *s = &set[k];
        if (s->key && s->hash == hash && s->words == words &&
            !memcmp(s->key, key, (size_t)words * sizeof *key))
            return s;
        if (s->used < oldest->used) oldest = s;
    }
    *hit = false;
    return oldest;
}

asn_status asn_plan_get(const asn_plan **plan, const asn_node *nodes, int count,
                        const bool *dead, bool *hit) {
    static int64_t key[KEY_MAX];
    static asn_plan uncached;
    *hit = false;
    int words = make_key(key, nodes, count, dead);
    if (words < 0) {
        asn_plan_fini(&uncached);
        ASN_TRY(asn_plan_make(&uncached, nodes, count, dead, true));
        *plan = &uncached;
        return ASN_OK;
    }
    uint64_t hash = hash_words(key, words);
    slot *s = find(hash, key, words, hit);
    size_t bytes = (size_t)words * sizeof *key;
    *plan = &s->plan;
    s->used = ++now;
    if (*hit) return ASN_OK;
    int64_t *copy = asn_malloc(bytes);
    if (!copy) return ASN_ERR_MEMORY;
    asn_plan fresh;
    asn_status status = asn_plan_make(&fresh, nodes, count, dead, true);
    if (status) {
        asn_free(copy);
        return status;
    }
    memcpy(copy, key, bytes);
    if (s->key) asn_plan_fini(&s->plan);
    asn_free(s->key);
    *s = (slot){.hash = hash, .used = now, .key = copy, .words = words, .plan = fresh};
    return ASN_OK;
}
