/* L2 runtime: small blocks, up to 64 KiB, cut from slabs of 2 MiB.
 *
 * A block keeps its size class for good; freed blocks of a class are a stack, so that the
 * last one freed, which is the warmest, is the next one used. No locks, no device calls:
 * memory_pool.c has both.
 */
#ifndef ASN_RUNTIME_MEMORY_SLAB_H
#define ASN_RUNTIME_MEMORY_SLAB_H

#include "runtime/memory/segment.h"

enum { ASN_SLAB_BYTES = 2 << 20, ASN_SLAB_LARGEST = 64 << 10, ASN_SLAB_CLASSES = 41 };

typedef struct {
    char *memory;
    int32_t cut, idle; /* blocks; idle is counted by asn_slabs_release */
} asn_slab;

typedef struct {
    struct {
        void **blocks;
        int count, capacity;
    } bins[ASN_SLAB_CLASSES];
    asn_slab *slabs; /* by address */
    int num, capacity;
    char *at, *end; /* what is left of the slab being cut, */
    char *cutting;  /* which starts here */
} asn_slabs;

/* A block of class c: a freed one (*reused), else the next of the slab; NULL: a slab is
 * needed. */
void *asn_slabs_take(asn_slabs *s, int c, bool *reused);
/* Adds a slab to cut from. MemoryError: nothing was taken. */
ASN_CHECK_RESULT asn_status asn_slabs_add(asn_slabs *s, void *memory);
/* Takes a block back; without memory to list it, it is lost until its slab goes. */
void asn_slabs_give(asn_slabs *s, int c, void *block);
/* Removes the slabs of which no block is out: hands each to `release`. */
void asn_slabs_release(asn_slabs *s, void (*release)(void *context, void *memory),
                       void *context);
/* Forgets everything; the slabs' memory goes to `release`. */
void asn_slabs_fini(asn_slabs *s, void (*release)(void *context, void *memory),
                    void *context);

#endif
