/* CPU device: prepared programs found by what they say (see prepared_table.h).
 *
 * A table of a few hundred entries, each in one of a few slots, of which the one used
 * longest ago gives way. A program is kept when it comes a second time, which its hash
 * says: a loop over shrinking selections has a new program at every turn.
 */
#include "device/cpu/fused/prepared_table.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "base/hash.h"

enum {
    SETS = 128,
    WAYS = 4,
    SEEN = 1024,    /* hashes of programs that came once */
    KEY_WORDS = 480 /* of a program: longer ones are not kept */
};

/* Everything that a program says, but for addresses and immediates. */
typedef struct {
    int words; /* 0: it is too long */
    uint64_t hash;
    uint64_t word[KEY_WORDS];
} program_key;

typedef struct {
    uint64_t hash, used; /* the clock at its last use */
    int words;
    uint64_t *key; /* owns */
    asnd_prepared *known;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(prepared, &lock, ASN_FORK_LEAF)
static slot slots[SETS][WAYS]; /* this and what follows: under the lock */
static uint64_t seen[SEEN], now;
static asnd_prepared_table_counts counts;

_Static_assert(sizeof(aclnnxInstr) == sizeof(uint64_t), "an instruction is a word");

/* A few words: a call would take longer. */
static uint64_t *put_words(uint64_t *at, const int64_t *words, int count) {
    for (int d = 0; d < count; d++)
        *at++ = (uint64_t)words[d];
    return at;
}

/* The key: counts, masks, shape, operands' dtypes and strides, instructions, as words in
 * this order. Counts come first, so keys of different layouts differ. key->words stays 0
 * where it would be too long. */
static void describe(program_key *key, const aclnnxProgram *p) {
    const int dims = p->numDims, operands = p->numIn + p->numOut;
    key->words = 0;
    if (3 + dims + operands * (1 + dims) + p->numInstrs > KEY_WORDS) return;
    uint64_t *at = key->word, given = 0;
    *at++ = (uint64_t)dims | (uint64_t)p->numIn << 8 | (uint64_t)p->numOut << 16 |
            (uint64_t)p->numInstrs << 24 | (uint64_t)p->numRegs << 32;
    *at++ = p->reduceMask;
    uint64_t *places = at++;
    at = put_words(at, p->shape, dims);
    for (int i = 0; i < operands; i++) {
        const aclnnxOperand *o = &p->operands[i];
        bool strided = o->data && o->strides;
        given |= (uint64_t)(o->data != NULL) << i | (uint64_t)strided << (32 + i);
        *at++ =
            (uint64_t)o->dtype | (uint64_t)o->flags << 8 | (uint64_t)o->reduceOp << 16;
        if (strided) at = put_words(at, o->strides, dims);
    }
    *places = given;
    memcpy(at, p->instrs, (size_t)p->numInstrs * sizeof *p->instrs);
    key->words = (int)(at - key->word) + p->numInstrs;
    key->hash = asn_hash_words(key->word, key->words);
}

/* The slot of the key, or NULL. Held: the lock. */
static slot *look_up(const program_key *key) {
    slot *set = slots[key->hash % SETS];
    for (int k = 0; k < WAYS; k++)
        if (set[k].known && set[k].hash == key->hash && set[k].words == key->words &&
            memcmp(set[k].key, key->word, (size_t)key->words * sizeof *key->word) == 0)
            return &set[k];
    return NULL;
}

/* Empties a slot; runs in progress hold the program themselves. */
static void drop(slot *s) {
    asn_prepared_release(s->known);
    asn_free(s->key);
    *s = (slot){0};
}

/* A new entry in the place of the oldest of its set; NULL: there is no memory. */
static slot *keep(const program_key *key, const aclnnxProgram *p) {
    const size_t bytes = (size_t)key->words * sizeof *key->word;
    slot *set = slots[key->hash % SETS], *oldest = set;
    for (int k = 1; k < WAYS; k++)
        if (set[k].used < oldest->used) oldest = &set[k];
    slot fresh = {.hash = key->hash, .words = key->words, .key = asn_malloc(bytes)};
    if (!fresh.key || asn_prepared_new(&fresh.known, p)) {
        asn_free(fresh.key);
        asn_error_clear(); /* who runs it meets what is wrong */
        return NULL;
    }
    memcpy(fresh.key, key->word, bytes);
    counts.dropped += oldest->known != NULL;
    counts.kept++;
    drop(oldest);
    *oldest = fresh;
    return oldest;
}

/* The program, held for the caller, or NULL after its hash was noted for the next
 * time. */
static asnd_prepared *find(const program_key *key, const aclnnxProgram *p) {
    slot *at = look_up(key);
    uint64_t *met = &seen[key->hash / SETS % SEEN];
    counts.found += at != NULL;
    if (!at && *met == key->hash) at = keep(key, p);
    if (!at) {
        *met = key->hash;
        return NULL;
    }
    at->used = ++now;
    asn_prepared_hold(at->known);
    return at->known;
}

/* Nobody waits for the lock: planning anew is always right. */
asnd_prepared *asn_prepared_find(const aclnnxProgram *p) {
    program_key key;
    describe(&key, p);
    if (!key.words || pthread_mutex_trylock(&lock) != 0) return NULL;
    asnd_prepared *found = find(&key, p);
    pthread_mutex_unlock(&lock);
    return found;
}

asnd_prepared_table_counts asn_prepared_table_count(void) {
    pthread_mutex_lock(&lock);
    asnd_prepared_table_counts is = counts;
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
