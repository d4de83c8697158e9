/* L2 runtime: buffers (see buffer.h): what happens when one begins, first needs storage,
 * and ends.
 *
 * A small buffer lives on in its thread's stock with its storage (stock.h); a larger one
 * gives the storage to the pool and keeps the struct. A struct that waits is as a new
 * one: only its storage, if any, and scratch numbers are set.
 *
 * Memory that was adopted never reaches the stock or the pool: it goes back to its owner
 * by `release`. What watching costs is one test of a flag at each step (watch.h).
 */
#include "runtime/memory/buffer.h"

#include "base/alloc.h"
#include "runtime/device.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/streams/stream.h"
#include "runtime/memory/stock.h"
#include "runtime/streams/uses.h"
#include "runtime/memory/watch.h"

bool asn_buffer_serial;

/* Structs without storage, where one lock is held anyway: linked by their contexts. Else
 * the thread's stock has them. */
enum { SPARES = 256 };
static asn_buffer *spare;
static int num_spares;

/* A struct from the thread's stock, else from the host's allocator; NULL: no memory. */
static __attribute__((noinline)) asn_buffer *new_struct(void) {
    asn_buffer *b = asn_stock_take_struct();
    if (!b && (b = asn_malloc(sizeof *b))) *b = (asn_buffer){.data = NULL};
    return b;
}

/* A struct without storage. Linked structs are for serial callers only: nothing guards
 * the list. */
static inline asn_buffer *take_struct(void) {
    asn_buffer *b = spare;
    if (!b || !asn_buffer_serial) return new_struct();
    spare = b->context;
    num_spares--;
    b->context = NULL;
    return b;
}

/* The other way: to the list, to the stock, or freed when they are full. Sanitizers see
 * each struct's end. */
static inline void put_struct(asn_buffer *b) {
#ifndef ASN_SANITIZE
    if (asn_buffer_serial && num_spares < SPARES) {
        b->context = spare;
        spare = b;
        num_spares++;
        return;
    }
#endif
    if (asn_buffer_serial || !asn_stock_put_struct(b)) asn_free(b);
}

asn_status asn_buffer_new(asn_buffer **out, int64_t nbytes) {
    asn_buffer *b = nbytes <= ASN_STOCK_BYTES ? asn_stock_take(nbytes) : NULL;
    if (!b) {
        if (!(b = take_struct())) return ASN_ERR_MEMORY;
        b->device = asn_pool_device;
    }
    atomic_init(&b->refs, 1);
    b->nbytes = nbytes;
    if (__builtin_expect(asn_memory_watched, 0)) asn_watch_made(b);
    *out = b;
    return ASN_OK;
}

asn_status asn_buffer_adopt(asn_buffer **out, void *data, int64_t nbytes,
                            void (*release)(void *), void *context) {
    asn_buffer *b = take_struct();
    if (!b) return ASN_ERR_MEMORY;
    b->data = data;
    b->nbytes = nbytes;
    b->shared = b->lasting = true;
    b->device = 0;
    b->release = release;
    b->context = context;
    b->of = NULL;
    atomic_init(&b->refs, 1);
    *out = b;
    return ASN_OK;
}

/* Hands adopted memory back to its owner, when nothing uses it any more. */
static void end_adopted(asn_buffer *b) {
    /* Queued operations may still read the owner's memory (uses.h says: none). */
    if (!asn_stream_are_many()) asn_stream_drain();
    b->release(b->context);
    b->release = NULL;
    b->context = NULL;
    b->of = NULL;
}

/* asn_buffer_set_lock's; NULL: none. */
static void (*lock_all)(void), (*unlock_all)(void);

void asn_buffer_set_lock(void (*lock)(void), void (*unlock)(void)) {
    lock_all = lock;
    unlock_all = unlock;
}

/* The last reference is gone. The storage goes to those that still use it (uses.h leaves
 * no data then), to its owner, to the stock together with the struct, or to the pool. */
static void destroy(asn_buffer *b) {
    if (__builtin_expect(asn_memory_watched, 0)) asn_watch_ended(b);
    if (__builtin_expect(b->uses != NULL, 0)) asn_uses_end(b);
    b->shared = b->lasting = false;
    if (b->release) {
        end_adopted(b);
        b->data = NULL;
    } else if (b->data) {
        if (asn_stock_put(b)) return;
        asn_pool_free(&(asn_block){b->data, b->capacity, b->range, b->device});
        b->data = NULL;
        b->capacity = 0;
        b->range = NULL;
    }
    put_struct(b);
}

static __attribute__((noinline)) void destroy_locked(asn_buffer *b) {
    lock_all();
    destroy(b);
    unlock_all();
}

void asn_buffer_destroy(asn_buffer *b) {
    if (__builtin_expect(lock_all != NULL, 0))
        destroy_locked(b);
    else
        destroy(b);
}

void asn_buffer_pass_storage(asn_buffer *to, asn_buffer *from) {
    to->data = from->data;
    to->capacity = from->capacity;
    to->range = from->range;
    to->device = from->device;
    from->data = NULL;
    from->capacity = 0;
    from->range = NULL;
    if (__builtin_expect(from->uses != NULL, 0)) asn_uses_pass(to, from);
    if (__builtin_expect(asn_memory_watched, 0)) asn_watch_taken(to);
}

/* With several streams, a block that only the active queue still uses comes before the
 * pool; when the pool has nothing, the blocks that other queues hold are waited for, and
 * it is asked once more. */
asn_status asn_buffer_ensure(asn_buffer *b) {
    asn_block block;
    if (b->data) {
        if (__builtin_expect(asn_memory_watched, 0)) asn_watch_touched(b);
        return ASN_OK;
    }
    ASN_TRY(asn_device_open());
    if (__builtin_expect(asn_stream_are_many(), 0) && asn_uses_storage(b)) {
        if (asn_memory_watched) asn_watch_taken(b);
        return ASN_OK;
    }
    asn_status status = asn_pool_alloc(b->nbytes, &block);
    if (status == ASN_ERR_MEMORY && asn_stream_are_many() && asn_uses_reclaim())
        status = asn_pool_alloc(b->nbytes, &block);
    if (status) {
        if (asn_memory_watched) asn_watch_failed(b->nbytes);
        return status;
    }
    b->data = block.data;
    b->capacity = block.capacity;
    b->range = block.range;
    b->device = block.device;
    if (__builtin_expect(asn_memory_watched, 0)) asn_watch_taken(b);
    return ASN_OK;
}
