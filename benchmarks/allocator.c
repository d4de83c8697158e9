/* What an allocation of device memory costs: seconds of one allocation and its freeing,
 * the mean of `count`. Negative: a call failed.
 *
 * Called by groups/allocator.py. The pattern is a program's: `live` blocks are out at a
 * time, each turn gives the oldest back and takes another. */
#include "acl/acl.h"
#include "asnumpy/asnumpy.h"

#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { LIVE = 8 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

EXPORT double pool(long bytes, long count) {
    asnp_mm_block *live[LIVE] = {NULL};
    int failed = 0;
    double start = 0;
    for (long i = -4 * LIVE; i < count; i++) {
        if (i == 0) start = now();
        asnp_mm_free(live[i & (LIVE - 1)]);
        live[i & (LIVE - 1)] = NULL;
        failed |= asnp_mm_alloc(bytes, &live[i & (LIVE - 1)]);
    }
    double seconds = now() - start;
    for (int i = 0; i < LIVE; i++)
        asnp_mm_free(live[i]);
    return failed ? -1 : seconds / (double)count;
}

EXPORT double host(long bytes, long count) {
    void *volatile live[LIVE] = {NULL};
    double start = now();
    for (long i = 0; i < count; i++) {
        free(live[i & (LIVE - 1)]);
        live[i & (LIVE - 1)] = malloc((size_t)bytes);
    }
    double seconds = now() - start;
    for (int i = 0; i < LIVE; i++)
        free(live[i]);
    return seconds / (double)count;
}

EXPORT double device(long bytes, long count) {
    void *live[LIVE] = {NULL};
    int failed = 0;
    double start = now();
    for (long i = 0; i < count; i++) {
        void **at = &live[i & (LIVE - 1)];
        if (*at) failed |= aclrtFree(*at);
        *at = NULL;
        failed |= aclrtMalloc(at, (size_t)bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    }
    double seconds = now() - start;
    for (int i = 0; i < LIVE; i++)
        if (live[i]) failed |= aclrtFree(live[i]);
    return failed ? -1 : seconds / (double)count;
}
