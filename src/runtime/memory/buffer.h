/* L2 runtime: asn_buffer, reference-counted device memory from the pool.
 *
 * Storage is taken at the first write (asn_buffer_ensure): a large temporary that fusion
 * keeps in registers never has any. (A small buffer may be born with storage.)
 * `trace_refs` counts the references held by recorded operations, so that the trace can
 * see which buffers nobody else holds any more. */
#ifndef ASN_RUNTIME_MEMORY_BUFFER_H
#define ASN_RUNTIME_MEMORY_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct asn_buffer {
    atomic_int refs;
    int32_t trace_refs;
    int32_t trace_writes;            /* recorded operations that write it */
    uint32_t trace_id;               /* scratch of the planner */
    int16_t trace_first, trace_last; /* scratch of the trace */
    bool shared;  /* the host may write it behind our back (adopted or exported): nothing
                     that touches it stays recorded */
    bool lasting; /* for good: adopted, or exported without a way back */
    void *data;   /* device address; NULL until taken */
    int64_t nbytes, capacity; /* asked for; the pool block's size */
    struct asn_range *range;  /* of the pool's block (runtime/memory/memory_pool.h) */
    struct asn_uses
        *uses; /* owns; NULL while one stream uses it (runtime/streams/uses.h) */
    int32_t device, loans;   /* loans: exports that will be taken back */
    void (*release)(void *); /* adopted host memory; else NULL (pool) */
    void *context;
    struct asn_buffer *of; /* NULL, or whose memory it shows: its uses are that one's.
                              Who set it holds a reference until release(context) */
} asn_buffer;

/* Every caller holds one lock (a binding's global one): counting needs no atomic
 * instruction, of which recording an operation would execute four, 5 ns each. */
extern bool asn_buffer_serial;

/* Around the end of a buffer, which streams and the pool must not be busy with: the
 * library's lock, for callers that are not serial and do not hold it: a binding whose
 * objects end on any thread, or, once there are several streams, any. NULL: none. */
void asn_buffer_set_lock(void (*lock)(void), void (*unlock)(void));

ASN_CHECK_RESULT asn_status asn_buffer_new(asn_buffer **out, int64_t nbytes);
/* Over memory the caller keeps alive until release(context). */
ASN_CHECK_RESULT asn_status asn_buffer_adopt(asn_buffer **out, void *data, int64_t nbytes,
                                             void (*release)(void *), void *context);
static inline asn_buffer *asn_buffer_retain(asn_buffer *b) {
    if (asn_buffer_serial)
        atomic_store_explicit(&b->refs,
                              atomic_load_explicit(&b->refs, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}
void asn_buffer_destroy(asn_buffer *b);
static inline void asn_buffer_release(asn_buffer *b) {
    if (!b) return;
    /* The last reference is nobody else's to copy: no atomic subtraction for it. */
    int refs = atomic_load_explicit(&b->refs, memory_order_acquire);
    if (refs == 1)
        asn_buffer_destroy(b);
    else if (asn_buffer_serial)
        atomic_store_explicit(&b->refs, refs - 1, memory_order_relaxed);
    else if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        asn_buffer_destroy(b);
}
/* The host has its address, until that is taken back. The lender holds a reference. */
static inline void asn_buffer_lend(asn_buffer *b) {
    b->loans++;
    b->shared = true;
}
static inline void asn_buffer_take_back(asn_buffer *b) {
    if (--b->loans == 0) b->shared = b->lasting;
}
/* Nothing but recorded operations holds it. */
static inline bool asn_buffer_only_traced(const asn_buffer *b) {
    return atomic_load_explicit(&b->refs, memory_order_acquire) == b->trace_refs;
}
/* Whether writing one may change the other: they are one, or both lie over memory that
 * the host reaches, and overlap there (an array and an array made of its buffer). */
static inline bool asn_buffers_alias(const asn_buffer *a, const asn_buffer *b) {
    if (a == b) return true;
    const char *at = a->data, *bt = b->data;
    return a->shared && b->shared && at && bt && at < bt + b->nbytes &&
           bt < at + a->nbytes;
}
/* `to` takes the storage of `from`, which keeps none. */
void asn_buffer_pass_storage(asn_buffer *to, asn_buffer *from);
/* Takes storage if there is none. MemoryError. */
ASN_CHECK_RESULT asn_status asn_buffer_ensure(asn_buffer *b);

#endif
