/* CPU device: handles that can be checked.
 *
 * Streams, events, contexts, tensors, executors are handed to programs as plain pointers,
 * and programs hand back anything: NULL, freed handles, handles of another kind, stack
 * addresses. Each kind therefore lives in an arena of its own: one reservation of address
 * space, cut into slots, never unmapped. "Is this one of ours, and alive?" is a range
 * check and one load, takes no lock and cannot fault.
 *
 * Invariants: a slot starts with asnd_slot; its magic is ASN_SLOT_LIVE exactly while a
 * program may use the handle. Freed slots are reused oldest first when `fifo`, so that a
 * stale handle is recognised for as long as possible; newest first otherwise, which keeps
 * them in cache. Memory of a slot keeps its last content: what a kind sets up once (its
 * mutex) stays set up.
 */
#ifndef ASN_DEVICE_ACL_HANDLE_H
#define ASN_DEVICE_ACL_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASN_SLOT_LIVE = 0x41534e31, ASN_SLOT_FREE = 0 };

/* What every object of an arena begins with. */
typedef struct asnd_slot {
    _Atomic uint32_t magic;
    uint32_t next; /* index + 1 of the next free slot */
} asnd_slot;

typedef struct asnd_arena {
    const char *kind; /* for messages: "stream" */
    uint32_t slot_size, capacity;
    bool fifo;
    _Atomic(char *) base;
    _Atomic uint32_t used; /* slots ever taken */
    pthread_mutex_t lock;
    uint32_t head, tail; /* index + 1 */
} asnd_arena;

#define ASN_ARENA_INIT(kind, size, capacity, fifo)                                       \
    {kind, size, capacity, fifo, NULL, 0, PTHREAD_MUTEX_INITIALIZER, 0, 0}

/* A slot whose magic is not yet set (the caller publishes it with asn_slot_publish);
 * NULL, with the thread's error set, when the arena is full. */
void *asn_arena_take(asnd_arena *arena) __attribute__((warn_unused_result));
/* Takes back a slot whose magic the caller has cleared with asn_slot_retire. */
void asn_arena_give(asnd_arena *arena, void *slot);
/* The same, but the slot is the last to be reused: for handles that a program may still
 * name. */
void asn_arena_give_last(asnd_arena *arena, void *slot);

/* A thread's own few free slots: taking and giving back costs no lock then. What a thread
 * keeps when it ends is returned by asn_slot_cache_flush. */
enum { ASN_SLOT_CACHE = 32 };
typedef struct asnd_slot_cache {
    uint32_t count;
    void *slots[ASN_SLOT_CACHE];
} asnd_slot_cache;
void *asn_slot_cache_fill(asnd_slot_cache *cache, asnd_arena *arena);
void asn_slot_cache_flush(asnd_slot_cache *cache, asnd_arena *arena);

static inline void *asn_slot_cache_take(asnd_slot_cache *cache, asnd_arena *arena) {
    if (__builtin_expect(cache->count != 0, 1)) return cache->slots[--cache->count];
    return asn_slot_cache_fill(cache, arena);
}
static inline void asn_slot_cache_give(asnd_slot_cache *cache, asnd_arena *arena,
                                       void *slot) {
    if (__builtin_expect(cache->count == ASN_SLOT_CACHE, 0))
        asn_slot_cache_flush(cache, arena);
    cache->slots[cache->count++] = slot;
}

void asn_arena_lock(asnd_arena *arena); /* around fork */
void asn_arena_unlock(asnd_arena *arena);

/* From here on the handle is valid for other threads, with what was written before. */
static inline void asn_slot_publish(void *slot) {
    atomic_store_explicit(&((asnd_slot *)slot)->magic, ASN_SLOT_LIVE,
                          memory_order_release);
}

/* false when it was not alive: of two threads that free one handle, one succeeds. */
static inline bool asn_slot_retire(void *slot) {
    uint32_t live = ASN_SLOT_LIVE;
    return atomic_compare_exchange_strong(&((asnd_slot *)slot)->magic, &live,
                                          ASN_SLOT_FREE);
}

/* For any pointer: it is compared, and read only inside the reservation. */
static inline bool asn_arena_alive(asnd_arena *arena, const void *handle) {
    char *base = atomic_load_explicit(&arena->base, memory_order_acquire);
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)base;
    uintptr_t limit =
        (uintptr_t)atomic_load_explicit(&arena->used, memory_order_relaxed) *
        arena->slot_size;
    if (base == NULL || offset >= limit || offset % arena->slot_size != 0) return false;
    return atomic_load_explicit(&((asnd_slot *)handle)->magic, memory_order_acquire) ==
           ASN_SLOT_LIVE;
}

/* The live slot with this index, or NULL: `for (i = 0; i < arena->used; i++)`. */
static inline void *asn_arena_at(asnd_arena *arena, uint32_t index) {
    char *slot = atomic_load_explicit(&arena->base, memory_order_acquire);
    if (slot == NULL) return NULL;
    slot += (size_t)index * arena->slot_size;
    return asn_arena_alive(arena, slot) ? slot : NULL;
}

#endif
