/* CPU device: the arenas behind handles.
 *
 * The reservation is virtual (MAP_NORESERVE): a page costs memory once a slot of it is
 * used. Under an address-space limit the reservation is halved until it fits.
 *
 * Slots are taken from the list of free ones, else from the end of those ever used: a
 * page that no slot of was taken is never touched.
 */
#include "device/acl/handle.h"

#include <sys/mman.h>

#include "base/status.h"

/* The reservation exists. */
static asnd_slot *slot_at(asnd_arena *arena, uint32_t index) {
    return (asnd_slot *)(arena->base + (size_t)index * arena->slot_size);
}

/* At the first use; lock held. Fewer than 64 slots are not worth a try. */
static bool arena_reserve(asnd_arena *arena) {
    for (; arena->capacity >= 64; arena->capacity /= 2) {
        void *p =
            mmap(NULL, (size_t)arena->capacity * arena->slot_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        atomic_store_explicit(&arena->base, p, memory_order_release);
        return true;
    }
    arena->capacity = 64;
    return false;
}

void *asn_arena_take(asnd_arena *arena) {
    asnd_slot *slot = NULL;
    pthread_mutex_lock(&arena->lock);
    if (arena->head != 0) {
        slot = slot_at(arena, arena->head - 1);
        arena->head = slot->next;
        if (arena->head == 0) arena->tail = 0;
    } else if (arena->base != NULL || arena_reserve(arena)) {
        uint32_t used = atomic_load_explicit(&arena->used, memory_order_relaxed);
        if (used < arena->capacity) {
            slot = slot_at(arena, used);
            atomic_store_explicit(&arena->used, used + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&arena->lock);
    if (slot == NULL) {
        (void)asn_error_set(ASN_ERR_MEMORY, "no room for another %s: %u are in use",
                            arena->kind, arena->used);
    }
    return slot;
}

/* Back to the list: in front, or (last) at its end. */
static void give(asnd_arena *arena, void *handle, bool last) {
    asnd_slot *slot = handle;
    uint32_t index = (uint32_t)(((char *)handle - arena->base) / arena->slot_size) + 1;
    pthread_mutex_lock(&arena->lock);
    if (last && arena->tail != 0) {
        slot->next = 0;
        slot_at(arena, arena->tail - 1)->next = index;
        arena->tail = index;
    } else {
        slot->next = arena->head;
        arena->head = index;
        if (arena->tail == 0) arena->tail = index;
    }
    pthread_mutex_unlock(&arena->lock);
}

void asn_arena_give(asnd_arena *arena, void *slot) {
    give(arena, slot, arena->fifo);
}
void asn_arena_give_last(asnd_arena *arena, void *slot) {
    give(arena, slot, true);
}

/* Takes a quarter of a cache at once, so that the lock is taken for few of many
 * objects. */
void *asn_slot_cache_fill(asnd_slot_cache *cache, asnd_arena *arena) {
    void *slot = asn_arena_take(arena);
    while (slot != NULL && cache->count < ASN_SLOT_CACHE / 4) {
        void *more = asn_arena_take(arena);
        if (more == NULL)
            break; /* one is enough; the thread's error is overwritten later */
        cache->slots[cache->count++] = more;
    }
    return slot;
}

/* Everything back to the arena. */
void asn_slot_cache_flush(asnd_slot_cache *cache, asnd_arena *arena) {
    while (cache->count != 0)
        asn_arena_give(arena, cache->slots[--cache->count]);
}

void asn_arena_lock(asnd_arena *arena) {
    pthread_mutex_lock(&arena->lock);
}
void asn_arena_unlock(asnd_arena *arena) {
    pthread_mutex_unlock(&arena->lock);
}
