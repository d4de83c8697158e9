/* CPU device: programs that were run before, with their plan made (see prepared.h).
 *
 * A table of a few hundred entries, each in one of a few slots, of which the one used
 * longest ago gives way. An entry is one block of memory: the run, the plan's lists as
 * long as they are, the key. It is never written once it is in the table, so any number
 * of threads run it at once; who runs it holds it, and it holds the machine code.
 *
 * A program is kept when it is met a second time, which its hash says: a loop over
 * shrinking selections has a new program at every turn.
 */
#include "device/cpu/fused/prepared.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "base/hash.h"
#include "device/cpu/fused/fused_weave.h"
#include "device/cpu/jit/jit.h"

enum {
    SETS = 128,
    WAYS = 4,
    SEEN = 1024,            /* hashes of programs met once */
    MOST_BYTES = 16 * 1024, /* of an entry */
    ALIGNMENT = 16
};

struct asn_prepared {
    int32_t users; /* runs in progress, and the table */
    int words;
    int64_t bytes;
    asn_prepared_run run;
    uint64_t *key; /* in the same block, like the plan's lists */
};

typedef struct {
    uint64_t hash, used; /* the clock at its last use */
    asn_prepared *entry;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(prepared, &lock, ASN_FORK_LEAF)
static slot slots[SETS][WAYS]; /* this and what follows: under the lock */
static uint64_t seen[SEEN], now;
static asn_prepared_counts counts;

_Static_assert(sizeof(aclnnxInstr) == sizeof(uint64_t), "an instruction is a word");

/* Inputs that begin where output `o` begins. */
static uint64_t over_inputs(const aclnnxProgram *p, const void *o) {
    uint64_t mask = 0;
    for (int i = 0; i < p->numIn; i++)
        if (p->operands[i].data == o) mask |= (uint64_t)1 << i;
    return mask;
}

/* A few words: a call would take longer. */
static uint64_t *put_words(uint64_t *at, const int64_t *words, int count) {
    for (int d = 0; d < count; d++)
        *at++ = (uint64_t)words[d];
    return at;
}

void asn_program_describe(asn_program_key *key, const aclnnxProgram *p) {
    const int dims = p->numDims, operands = p->numIn + p->numOut;
    key->words = 0;
    if (3 + dims + operands * (1 + dims) + p->numInstrs > ASN_PROGRAM_KEY_WORDS) return;
    uint64_t *at = key->word, given = 0;
    *at++ = (uint64_t)dims | (uint64_t)p->numIn << 8 | (uint64_t)p->numOut << 16 |
            (uint64_t)p->numInstrs << 24 | (uint64_t)p->numRegs << 32 |
            (uint64_t)(p->fpFlags != NULL) << 40 | (uint64_t)asn_jit_now() << 41;
    *at++ = p->reduceMask;
    uint64_t *places = at++;
    at = put_words(at, p->shape, dims);
    for (int i = 0; i < operands; i++) {
        const aclnnxOperand *o = &p->operands[i];
        bool strided = o->data && o->strides;
        given |= (uint64_t)(o->data != NULL) << i | (uint64_t)strided << (32 + i);
        *at++ = (uint64_t)o->dtype | (uint64_t)o->flags << 8 |
                (uint64_t)o->reduceOp << 16 |
                (i < p->numIn ? 0 : over_inputs(p, o->data) << 32);
        if (strided) at = put_words(at, o->strides, dims);
    }
    *places = given;
    memcpy(at, p->instrs, (size_t)p->numInstrs * sizeof *p->instrs);
    key->words = (int)(at - key->word) + p->numInstrs;
    key->hash = asn_hash_words(key->word, key->words);
}

/* The slot of the key, or NULL. */
static slot *look_up(const asn_program_key *key) {
    slot *set = slots[key->hash % SETS];
    for (int k = 0; k < WAYS; k++) {
        const asn_prepared *entry = set[k].entry;
        if (entry && set[k].hash == key->hash && entry->words == key->words &&
            memcmp(entry->key, key->word, (size_t)key->words * sizeof *key->word) == 0)
            return &set[k];
    }
    return NULL;
}

asn_prepared *asn_prepared_find(const asn_program_key *key) {
    if (!key->words || pthread_mutex_trylock(&lock) != 0) return NULL;
    asn_prepared *found = NULL;
    slot *at = look_up(key);
    if (at) {
        found = at->entry;
        at->used = ++now;
        counts.found++;
        __atomic_add_fetch(&found->users, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void asn_prepared_release(asn_prepared *known) {
    if (!known || __atomic_sub_fetch(&known->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    asn_jit_release(known->run.plan.code);
    asn_free(known);
}

void asn_prepared_bind(const asn_prepared *known, asn_prepared_run *run,
                       const aclnnxProgram *p) {
    *run = known->run;
    run->plan.operands = p->operands;
    for (int i = 0; i < run->plan.num_operands; i++)
        run->plan.base[i] = p->operands[i].data;
    if (run->plan.num_reductions)
        run->reduction.plan = &run->plan;
    else
        run->elements.plan = &run->plan;
}

/* ---- keeping */

/* Whether other addresses could give another plan: rows were copied together or turned
 * round, or results may go past the caches, which depends on how operands overlap and
 * where their lines begin. */
static bool depends_on_addresses(const asn_plan *plan, const aclnnxProgram *p) {
    int64_t bytes = 0, all;
    for (int i = 0; i < plan->num_operands; i++) {
        if (plan->base[i] != p->operands[i].data || p->operands[i].flags & ACLNNX_PART)
            return true;
        if (plan->base[i]) bytes += asn_itemsize(plan->dtype[i]);
    }
    return plan->packed || asn_weave_may(plan) ||
           !asn_mul_size(bytes, plan->size, &all) ||
           asn_plan_worth_streaming((asn_traffic){all, plan->num_in});
}

/* Copies a list to `at` in a block of memory, and moves on; NULL: only that. */
static void *put(char *block, int64_t *at, const void *list, int count, size_t item) {
    size_t bytes = (size_t)count * item;
    void *copy = block ? block + *at : NULL;
    if (block && bytes) memcpy(copy, list, bytes);
    *at += ((int64_t)bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
    return copy;
}

/* The bytes of all lists of an entry, which point into the block if there is one. */
static int64_t put_lists(asn_prepared *e, const asn_plan *from,
                         const asn_program_key *key, char *block) {
    asn_plan *to = &e->run.plan;
    int64_t at = 0;
    int operands = from->num_operands, values = from->num_values;
    to->steps = put(block, &at, from->steps, from->num_steps, sizeof *from->steps);
    to->reductions =
        put(block, &at, from->reductions, from->num_reductions, sizeof *from->reductions);
    to->dims = put(block, &at, from->dims, from->num_dims, sizeof *from->dims);
    to->dtype = put(block, &at, from->dtype, operands, sizeof *from->dtype);
    to->value = put(block, &at, from->value, operands, sizeof *from->value);
    to->item = put(block, &at, from->item, values, sizeof *from->item);
    to->value_dtype =
        put(block, &at, from->value_dtype, values, sizeof *from->value_dtype);
    to->slot = put(block, &at, from->slot, values, sizeof *from->slot);
    e->key = put(block, &at, key->word, key->words, sizeof *key->word);
    to->value32 = NULL;
    to->reads_own = to->reads32 = NULL;
    return at;
}

static asn_prepared *copy_of(const asn_prepared_run *run, const asn_program_key *key) {
    asn_prepared head = {.users = 1, .words = key->words, .run = *run};
    const int64_t own = (int64_t)(sizeof head + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
    head.bytes = own + put_lists(&head, &run->plan, key, NULL);
    if (head.bytes > MOST_BYTES) return NULL;
    char *block = asn_malloc((size_t)head.bytes);
    if (!block) {
        asn_error_clear(); /* it will be prepared again */
        return NULL;
    }
    put_lists(&head, &run->plan, key, block + own);
    head.run.plan.operands = NULL;
    asn_jit_hold(head.run.plan.code);
    memcpy(block, &head, sizeof head);
    return (asn_prepared *)(void *)block;
}

static void drop(slot *s) {
    if (!s->entry) return;
    counts.bytes -= s->entry->bytes;
    asn_prepared_release(s->entry);
    *s = (slot){0};
}

static void keep(const asn_program_key *key, const asn_prepared_run *run) {
    uint64_t *met = &seen[key->hash / SETS % SEEN];
    if (*met != key->hash) {
        *met = key->hash;
        return;
    }
    if (look_up(key)) return; /* by another thread */
    slot *set = slots[key->hash % SETS], *oldest = set;
    for (int k = 1; k < WAYS; k++)
        if (set[k].used < oldest->used) oldest = &set[k];
    asn_prepared *entry = copy_of(run, key);
    if (!entry) return;
    counts.dropped += oldest->entry != NULL;
    drop(oldest);
    *oldest = (slot){.hash = key->hash, .used = ++now, .entry = entry};
    counts.bytes += entry->bytes;
    counts.kept++;
}

void asn_prepared_keep(const asn_program_key *key, const asn_prepared_run *run,
                       const aclnnxProgram *p) {
    const asn_plan *plan = &run->plan;
    if (!key->words || !plan->settled || depends_on_addresses(plan, p) ||
        pthread_mutex_trylock(&lock) != 0)
        return;
    keep(key, run);
    pthread_mutex_unlock(&lock);
}

asn_prepared_counts asn_prepared_count(void) {
    pthread_mutex_lock(&lock);
    asn_prepared_counts is = counts;
    pthread_mutex_unlock(&lock);
    return is;
}

void asn_prepared_clear(void) {
    pthread_mutex_lock(&lock);
    for (int s = 0; s < SETS; s++)
        for (int k = 0; k < WAYS; k++)
            drop(&slots[s][k]);
    memset(seen, 0, sizeof seen);
    pthread_mutex_unlock(&lock);
}
