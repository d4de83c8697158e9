/* CPU device: moving one block between strided memory and a contiguous buffer. */
#ifndef ASN_DEVICE_CPU_GATHER_H
#define ASN_DEVICE_CPU_GATHER_H

#include <stdint.h>

/* A block of n1 rows of n0 elements of `item` bytes (1, 2, 4, 8, 16), strides in bytes.
 */
void asn_block_gather(void *dst, const char *src, int item, int64_t n0, int64_t s0,
                      int64_t n1, int64_t s1);
void asn_block_scatter(char *dst, const void *src, int item, int64_t n0, int64_t s0,
                       int64_t n1, int64_t s1);

/* dst[0..bytes) = src past the caches; the destination's lines are not read first. */
void asn_block_stream(char *dst, const char *src, int64_t bytes);
/* Orders streamed stores before what follows on this thread. */
void asn_block_stream_end(void);

/* dst[0..n) = *element */
void asn_block_splat(void *dst, const void *element, int item, int64_t n);

#endif
