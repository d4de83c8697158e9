/* L2 runtime: the memory pool over aclrtMalloc.
 *
 * Sizes are rounded up to classes, four to each power of two (at most 25% over), at least
 * 64 bytes. Small blocks (up to 64 KiB) are cut from 2 MiB slabs; larger ones are device
 * allocations of their own, kept when freed up to a limit. A large request takes an idle
 * block of up to four times its size before fresh memory; before there is fresh memory,
 * idle blocks of other sizes go, so that the pool never holds more than was once in use,
 * but for what a loop keeps coming back to. Freed blocks are reused last
 * in, first out, so that a loop's temporaries stay in cache. Reuse is in stream order:
 * the library has one stream per device, and host writes wait for it.
 */
#ifndef ASN_RUNTIME_POOL_H
#define ASN_RUNTIME_POOL_H

#include <stdint.h>

#include "base/status.h"
#include "runtime/device.h"

enum { ASN_POOL_MIN_SHIFT = 6 };

/* The class of a block of nbytes: class c holds (4 + c % 4) << (c / 4 + 4) bytes. */
static inline int asn_pool_class(int64_t nbytes) {
    /* multiples of 64 keep every block aligned to a cache line */
    uint64_t n = nbytes <= 64 ? 64 : ((uint64_t)nbytes + 63) & ~(uint64_t)63;
    if (n == 64) return 0;
    int shift = 63 - __builtin_clzll(n - 1);
    /* 2^shift <= n - 1 < 2^(shift + 1): quarter steps above 2^shift */
    int quarter = (int)(((n - 1) >> (shift - 2)) & 3);
    return (shift - ASN_POOL_MIN_SHIFT) * 4 + quarter + 1;
}

/* *capacity receives the block's class size, to be handed back to asn_pool_free. Any
 * thread. */
ASN_CHECK_RESULT asn_status asn_pool_alloc(int64_t nbytes, void **out, int64_t *capacity);
void asn_pool_free(void *block, int64_t capacity);
/* Frees everything cached; outstanding small blocks keep their slabs. */
void asn_pool_trim(void);
/* Before the device closes: all blocks are gone. */
void asn_pool_fini(void);

#endif
