/* CPU device: scratch of kernels, of which a few blocks stay for the next call. */
#include "device/cpu/scratch.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { SCRATCH_SLOTS = 8, SCRATCH_KEEP = 64 << 20, SCRATCH_HEAD = 64 };
static _Atomic(char *) scratch_slots[SCRATCH_SLOTS];

/* What a thread keeps for its next lines: an atomic exchange would wait for all that the
 * line before stores past the caches. */
static _Thread_local struct {
    bool on;
    int count;
    char *blocks[4];
} held;

void *asn_scratch_take(size_t bytes) {
    if (asn_alloc_fault()) {
        (void)asn_error_set(ASN_ERR_MEMORY, "out of memory: scratch");
        return NULL;
    }
    if (held.count > 0 && *(size_t *)held.blocks[held.count - 1] >= bytes)
        return held.blocks[--held.count] + SCRATCH_HEAD;
    for (int i = 0; i < SCRATCH_SLOTS; i++) {
        char *block = atomic_exchange(&scratch_slots[i], NULL), *none = NULL;
        if (block == NULL) continue;
        if (*(size_t *)block >= bytes) return block + SCRATCH_HEAD;
        if (!atomic_compare_exchange_strong(&scratch_slots[i], &none, block)) free(block);
    }
    size_t whole = (bytes + SCRATCH_HEAD + 63) / 64 * 64;
    char *block = bytes > SIZE_MAX / 2 ? NULL
                  : whole < ASN_LARGE  ? aligned_alloc(64, whole)
                                       : asn_malloc(whole);
    if (block == NULL) {
        (void)asn_error_set(ASN_ERR_MEMORY, "out of memory: %zu bytes of scratch", bytes);
        return NULL;
    }
    *(size_t *)block = bytes;
    return block + SCRATCH_HEAD;
}

void asn_scratch_give(void *scratch) {
    char *block = (char *)scratch - SCRATCH_HEAD;
    if (held.on && held.count < (int)(sizeof held.blocks / sizeof *held.blocks)) {
        held.blocks[held.count++] = block;
        return;
    }
    for (int i = 0; i < SCRATCH_SLOTS && *(size_t *)block <= SCRATCH_KEEP; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&scratch_slots[i], &none, block)) return;
    }
    /* All taken: the newest replaces one, so that what is asked for now is there. */
    if (*(size_t *)block <= SCRATCH_KEEP)
        block = atomic_exchange(&scratch_slots[0], block);
    free(block);
}

void asn_scratch_hold(bool on) {
    held.on = on;
    while (!on && held.count > 0)
        asn_scratch_give(held.blocks[--held.count] + SCRATCH_HEAD);
}
