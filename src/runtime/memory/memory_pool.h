/* L2 runtime: the memory pool of each device, over aclrtMalloc.
 *
 *     up to 16 KiB    a thread's stock (stock.h), before the pool
 *     up to 64 KiB    slabs (slab.h): a block keeps its class, four to each power of two
 *     up to 2 MiB     bins: blocks of a class, set aside as they are, cut from segments
 *     above           ranges of segments (segment.h), which split and join
 *
 * A fresh segment is as large as what was asked for, or a sixteenth of what the device
 * has given already, between 1 and 16 MiB, and of four blocks for bins: the number of
 * device calls grows with the logarithm of the memory. When the program repeats a step
 * (pattern.h) it is as large as what the step lacks. Before there is fresh memory, idle
 * segments go, so that the pool never holds more than was once in use, but for what a
 * loop keeps coming back to.
 *
 * Reuse is in stream order: host writes wait for the stream. With several streams a block
 * comes back here when none uses it any more (uses.h). Blocks of one device never serve
 * another. Under sanitizers every block is an allocation of its own, so that they see its
 * bounds and its end.
 */
#ifndef ASN_RUNTIME_MEMORY_MEMORY_POOL_H
#define ASN_RUNTIME_MEMORY_MEMORY_POOL_H

#include <stdint.h>

#include "base/status.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/segment.h"

typedef struct {
    void *data;
    int64_t capacity; /* bytes, at least what was asked for */
    asn_range *range; /* NULL: a block of a slab */
    int32_t device;
} asn_block;

/* MemoryError names what holds the memory. Any thread. */
ASN_CHECK_RESULT asn_status asn_pool_alloc(int64_t nbytes, asn_block *out);
void asn_pool_free(const asn_block *block);
/* The device whose memory is given out from now on. No other thread is in the library. */
ASN_CHECK_RESULT asn_status asn_pool_select(int device);
extern int32_t asn_pool_device;
/* Idle memory goes back to the devices. */
void asn_pool_trim(void);
/* Before the devices close: all blocks are gone. */
void asn_pool_fini(void);

#endif
