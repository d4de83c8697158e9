/* L2 runtime: which streams use a buffer's memory (see uses.h). */
#include "runtime/streams/uses.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/streams/waits.h"

typedef struct {
    asn_queue *queue;
    uint64_t read, write; /* tickets; 0: never */
} use;

typedef struct asn_uses {
    int num, room;
    use of[];
} uses;

/* Memory of the host may lie under several buffers: those count as one. */
static uses *of_shared;

/* Blocks whose buffer has ended. */
typedef struct {
    asn_block block;
    uses *by;                /* owns */
    void (*release)(void *); /* adopted memory; NULL: the pool's */
    void *context;
} held_block;

static held_block *held; /* owns */
static int num_held, cap_held;
static int64_t bytes_held;
enum { SWEEP_AT = 32, LOOK_AT = 64 }; /* blocks held; of these, how many a taker sees */

static uint64_t last_of(const use *u) {
    return u->read > u->write ? u->read : u->write;
}

/* Drops what has ended. */
static void prune(uses *u) {
    int kept = 0;
    for (int i = 0; u && i < u->num; i++)
        if (asn_queue_pending(u->of[i].queue, last_of(&u->of[i])))
            u->of[kept++] = u->of[i];
    if (u) u->num = kept;
}

static asn_status use_of(uses **at, asn_queue *q, use **out) {
    uses *u = *at;
    for (int i = 0; u && i < u->num; i++)
        if (u->of[i].queue == q) {
            *out = &u->of[i];
            return ASN_OK;
        }
    if (!u || u->num == u->room) {
        int room = u ? 2 * u->room : 2, num = u ? u->num : 0;
        u = asn_realloc(u, sizeof *u + (size_t)room * sizeof *u->of);
        if (!u) return ASN_ERR_MEMORY;
        u->num = num;
        u->room = room;
        *at = u;
    }
    u->of[u->num] = (use){.queue = q};
    *out = &u->of[u->num++];
    return ASN_OK;
}

/* q comes after what the others did; then it is a user itself, of what it launches next.
 */
static asn_status add(uses **at, asn_queue *q, bool write) {
    use *mine;
    for (int i = 0; *at && i < (*at)->num; i++) {
        const use *u = &(*at)->of[i];
        ASN_TRY(asn_queue_follow(q, u->queue, write ? last_of(u) : u->write));
    }
    if (*at && (*at)->num == (*at)->room) prune(*at);
    ASN_TRY(use_of(at, q, &mine));
    *(write ? &mine->write : &mine->read) = q->marked + 1;
    asn_queue_put(q);
    return ASN_OK;
}

/* Addresses of shared memory are known outside: so do queues that were lent. */
static asn_status follow_lent(asn_queue *q) {
    for (int i = 0; asn_queue_get(i); i++) {
        asn_queue *of = asn_queue_get(i);
        if (of->lent) ASN_TRY(asn_queue_follow(q, of, of->marked + 1));
    }
    return ASN_OK;
}

asn_status asn_uses_add(asn_buffer *b, bool write) {
    if (b->of) b = b->of;
    if (b->shared) {
        ASN_TRY(follow_lent(asn_queue_active));
        ASN_TRY(add(&of_shared, asn_queue_active, write));
    }
    return add(&b->uses, asn_queue_active, write);
}

/* Without memory to note a use, the queues are waited for. */
void asn_buffer_used_outside(asn_buffer *b) {
    if (b->of) b = b->of;
    for (int i = 0; asn_queue_get(i); i++) {
        asn_queue *q = asn_queue_get(i);
        use *u;
        if (!q->known || !q->stream) continue;
        asn_queue_put(q);
        q->lent = true;
        if (!asn_stream_many) continue; /* in order with all that comes */
        if (use_of(&b->uses, q, &u) == ASN_OK) {
            u->read = u->write = q->marked + 1;
        } else {
            asn_error_clear();
            asn_stream_drain();
        }
    }
}

static int pending_queues(const uses *u, bool for_write, asn_queue **out, int num) {
    for (int i = 0; u && i < u->num; i++) {
        uint64_t ticket = for_write ? last_of(&u->of[i]) : u->of[i].write;
        bool known = u->of[i].queue->kept && ticket;
        for (int k = 0; k < num; k++)
            if (out[k] == u->of[i].queue) ticket = 0, known = false;
        if (known || asn_queue_pending(u->of[i].queue, ticket))
            out[num++] = u->of[i].queue;
    }
    return num;
}

int asn_uses_queues(const asn_buffer *b, bool for_write, asn_queue **out) {
    if (b->of) b = b->of;
    int num = pending_queues(b->uses, for_write, out, 0);
    if (!b->shared) return num;
    num = pending_queues(of_shared, for_write, out, num);
    for (int i = 0; asn_queue_get(i); i++) {
        bool wanted = asn_queue_get(i)->lent;
        for (int k = 0; k < num; k++)
            wanted &= out[k] != asn_queue_get(i);
        if (wanted) out[num++] = asn_queue_get(i);
    }
    return num;
}

/* ---- blocks in use that no buffer holds */

static void let_go(const held_block *h) {
    asn_free(h->by);
    if (h->release)
        h->release(h->context);
    else
        asn_pool_free(&h->block);
}

static held_block take_at(int i) {
    held_block h = held[i];
    bytes_held -= h.block.capacity;
    memmove(&held[i], &held[i + 1], (size_t)(--num_held - i) * sizeof *held);
    return h;
}

/* Letting go of adopted memory may end further buffers, and come here again. */
void asn_uses_sweep(void) {
    for (int i = 0; i < num_held;) {
        prune(held[i].by);
        if (held[i].by->num) {
            i++;
            continue;
        }
        held_block h = take_at(i);
        let_go(&h);
    }
}

int64_t asn_uses_bytes(void) {
    return bytes_held;
}

/* Keeps the block until its uses end. Without memory to note it, it is waited for. */
static void hold(const held_block *block) {
    if (num_held == cap_held) {
        int capacity = cap_held ? 2 * cap_held : 64;
        held_block *more = asn_realloc(held, (size_t)capacity * sizeof *held);
        if (!more) {
            asn_error_clear();
            asn_stream_drain();
            let_go(block);
            return;
        }
        held = more;
        cap_held = capacity;
    }
    held[num_held++] = *block;
    bytes_held += block->block.capacity;
}

/* Whoever adopted the memory may change it once the buffer has ended. (A stream that
 * waits for an event that nobody recorded cannot be waited for here: the memory stays.)
 */
static void wait_for_users(const uses *u) {
    for (int i = 0; i < u->num; i++) {
        asn_queue *q = u->of[i].queue;
        if (asn_waits_held(q) || !asn_queue_pending(q, last_of(&u->of[i]))) continue;
        asn_status status = asn_queue_wait(q);
        if (status) asn_queue_keep(q, status);
    }
}

void asn_uses_end(asn_buffer *b) {
    if (b->release) wait_for_users(b->uses);
    prune(b->uses);
    if (b->uses->num && b->data) {
        asn_block block = {b->data, b->capacity, b->range, b->device};
        hold(&(held_block){block, b->uses, b->release, b->context});
        b->release = NULL;
        b->data = NULL;
        b->capacity = 0;
        b->range = NULL;
    } else {
        asn_free(b->uses);
    }
    b->uses = NULL;
}

/* Only the active queue uses it still: what is put there comes later anyway. */
static bool fits(const held_block *h, int64_t nbytes) {
    if (h->release || h->block.device != asn_pool_device || h->block.capacity < nbytes ||
        h->block.capacity > nbytes + nbytes / 8 + 4096)
        return false;
    for (int i = 0; i < h->by->num; i++)
        if (h->by->of[i].queue != asn_queue_active &&
            asn_queue_pending(h->by->of[i].queue, last_of(&h->by->of[i])))
            return false;
    return true;
}

/* The latest first: it is the likeliest to be in a cache. */
static bool take(int64_t nbytes, held_block *out) {
    if (num_held > SWEEP_AT) asn_uses_sweep();
    for (int i = num_held - 1, n = 0; i >= 0 && n < LOOK_AT; i--, n++) {
        if (!fits(&held[i], nbytes)) continue;
        *out = take_at(i);
        return true;
    }
    return false;
}

bool asn_uses_storage(asn_buffer *b) {
    held_block h;
    if (!take(b->nbytes, &h)) return false;
    b->data = h.block.data;
    b->capacity = h.block.capacity;
    b->range = h.block.range;
    b->device = h.block.device;
    asn_free(b->uses);
    b->uses = h.by;
    return true;
}

void asn_uses_pass(asn_buffer *to, asn_buffer *from) {
    asn_free(to->uses); /* it had no storage to be used */
    to->uses = from->uses;
    from->uses = NULL;
}

bool asn_uses_reclaim(void) {
    if (!num_held || asn_waits_open()) return false;
    asn_stream_drain();
    asn_uses_sweep();
    return true;
}

asn_status asn_block_take(int64_t nbytes, asn_block *out) {
    held_block h;
    if (asn_stream_many && num_held && take(nbytes, &h)) {
        *out = h.block;
        asn_free(h.by);
        return ASN_OK;
    }
    asn_status status = asn_pool_alloc(nbytes, out);
    return status == ASN_ERR_MEMORY && asn_stream_many && asn_uses_reclaim()
               ? asn_pool_alloc(nbytes, out)
               : status;
}

void asn_block_give(const asn_block *block) {
    uses *by = NULL;
    use *mine;
    if (!asn_stream_many) { /* a later task that gets this block runs after this one */
        asn_pool_free(block);
    } else if (use_of(&by, asn_queue_active, &mine) == ASN_OK) {
        mine->write = asn_queue_active->marked + 1;
        hold(&(held_block){*block, by, NULL, NULL});
    } else {
        asn_error_clear();
        asn_stream_drain();
        asn_pool_free(block);
    }
}
