/* L2 runtime: which streams use a buffer's memory: the dependencies between streams.
 *
 * Each buffer knows, per queue, the tickets of the last work that reads and that writes
 * it. Work on another queue waits for exactly these: a read for writers, a write for
 * readers too. So does the host. A buffer that ends while a queue still uses it leaves
 * its block here: it is given out again at once to work on that very queue, and goes to
 * the pool when the use has ended. The pool and the stocks therefore hold memory that
 * nothing uses, and their order does not matter.
 *
 * None of this happens before there is a second stream (asn_stream_many), and all of it
 * with the library's lock or the binding's global one held.
 */
#ifndef ASN_RUNTIME_STREAMS_USES_H
#define ASN_RUNTIME_STREAMS_USES_H

#include "runtime/memory/buffer.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/streams/queue.h"

asn_status asn_uses_add(asn_buffer *b, bool write) __attribute__((cold));
/* Before the launch that reads (or writes) the buffer's memory: the active queue comes
 * after whoever used it before. RuntimeError: a cycle of waits. */
ASN_CHECK_RESULT static inline asn_status asn_buffer_use(asn_buffer *b, bool write) {
    if (__builtin_expect(asn_stream_many, 0)) return asn_uses_add(b, write);
    return ASN_OK;
}
/* Others, who know the buffer's address, may have put work that reads and writes it on
 * the queues whose streams they were given (asn_queue.known). */
void asn_buffer_used_outside(asn_buffer *b);
/* The queues that the host has to wait for before it reads (or writes) the memory; out
 * has room for ASN_QUEUES. Returns how many. */
int asn_uses_queues(const asn_buffer *b, bool for_write, asn_queue **out);

/* A block for work on the active queue alone: workspace. */
ASN_CHECK_RESULT asn_status asn_block_take(int64_t nbytes, asn_block *out);
/* Once that work was launched. */
void asn_block_give(const asn_block *block);

/* ---- buffer.c's part */

/* The buffer ends: its block stays here if it is in use (b->data is NULL then). */
void asn_uses_end(asn_buffer *b) __attribute__((cold));
/* Storage for b: a block that only the active queue still uses. False: there is none. */
bool asn_uses_storage(asn_buffer *b) __attribute__((cold));
/* `to` takes the storage of `from`, and with it its uses. */
void asn_uses_pass(asn_buffer *to, asn_buffer *from) __attribute__((cold));
/* Waits until every block held here is free and gives it to the pool; false: there is
 * none, or a stream waits for an event that nobody recorded. */
bool asn_uses_reclaim(void) __attribute__((cold));

/* Blocks whose use has ended go to the pool. */
void asn_uses_sweep(void);
/* Bytes of blocks that wait here. */
int64_t asn_uses_bytes(void);

#endif
