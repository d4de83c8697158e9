/* CPU device, private to copies: strided moves of one element size, one table per
 * instruction set. Strides are bytes.
 */
#ifndef ASN_DEVICE_CPU_MOVE_MOVES_H
#define ASN_DEVICE_CPU_MOVE_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/context.h"

typedef struct asnd_move_loops {
    /* n1 rows of n0 elements: into a contiguous buffer, out of one, between strides */
    void (*gather)(void *dst, const char *src, int64_t n0, int64_t s0, int64_t n1,
                   int64_t s1);
    void (*scatter)(char *dst, const void *src, int64_t n0, int64_t s0, int64_t n1,
                    int64_t s1);
    void (*move)(char *dst, int64_t d0, int64_t d1, const char *src, int64_t s0,
                 int64_t s1, int64_t n0, int64_t n1);
    /* dst rows of n0 are contiguous, source rows of n1 are; whole lines past the caches
     */
    void (*transpose)(char *dst, int64_t d1, const char *src, int64_t s0, int64_t n0,
                      int64_t n1, bool stream);
    void (*copy)(void *dst, const void *src, int64_t bytes);
    void (*stream)(void *dst, const void *src, int64_t bytes); /* past the caches */
    void (*splat)(void *dst, const void *element, int64_t n);
    /* n elements of each in turn; dst overlaps neither */
    void (*weave)(void *dst, const void *a, const void *b, int64_t n);
} asnd_move_loops;

/* Index k: elements of 2^k bytes. */
extern const asnd_move_loops asn_moves_baseline[5], asn_moves_avx2[5],
    asn_moves_avx512[5];

/* Those of this machine for elements of `item` bytes. */
static inline const asnd_move_loops *asn_move_loops_get(int item) {
    return &asn_context_get()->moves[__builtin_ctz((unsigned)item)];
}

#endif
