/* CPU device: moving one block between strided memory and a contiguous buffer. */
#ifndef ASN_DEVICE_CPU_MOVE_GATHER_H
#define ASN_DEVICE_CPU_MOVE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

/* Bytes read and written from which a pass stores past the caches: an ordinary store
 * reads its line first and puts something else out, and even a reader that follows at
 * once finds little of the result there (L3 of 32 MiB shared with neighbours, one thread:
 * a + b of 6e5 float64 182 us against 294, of 1e6 457 against 804; with a sum of the
 * result after it 366 against 374, 854 against 1057). Below, a result is wanted in the
 * caches: 2 a of 6e5 with a sum of it 323 us against 209. */
static inline bool asn_worth_streaming(int64_t traffic) {
    return traffic >= asn_cpu_caches().last / 8 * 3; /* 12 MiB of 32 */
}

/* A block of n1 rows of n0 elements of `item` bytes (1, 2, 4, 8, 16), strides in bytes.
 * gather: to a contiguous buffer, row after row; scatter: from one. src and dst do not
 * overlap. */
void asn_block_gather(void *dst, const char *src, int item, int64_t n0, int64_t s0,
                      int64_t n1, int64_t s1);
void asn_block_scatter(char *dst, const void *src, int item, int64_t n0, int64_t s0,
                       int64_t n1, int64_t s1);

/* dst[0..bytes) = src */
void asn_block_copy(void *dst, const void *src, int64_t bytes);
/* dst[0..bytes) = src past the caches; the destination's lines are not read first. */
void asn_block_stream(char *dst, const char *src, int64_t bytes);
/* Orders streamed stores before what follows on this thread. */
void asn_block_stream_end(void);

/* dst[0..n) = *element */
void asn_block_splat(void *dst, const void *element, int item, int64_t n);

#endif
