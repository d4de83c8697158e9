/* CPU device, private to indexing: elements of as many rows as a cache line of the result
 * holds, as g[:, r] asks for them. */
#ifndef ASN_DEVICE_CPU_INDEX_LINES_H
#define ASN_DEVICE_CPU_INDEX_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* For n indices: the elements at src + from[i] and at the 64 / item - 1 rows behind it,
 * `stride` apart, become 64 bytes at dst + to[i]; past the caches, which asks for whole
 * lines and asn_block_stream_end. */
typedef void (*asn_index_lines)(char *dst, const int64_t *to, const char *src,
                                const int64_t *from, int64_t stride, int64_t n,
                                bool stream);

#if defined(__x86_64__)
void asn_index_lines_4(char *dst, const int64_t *to, const char *src, const int64_t *from,
                       int64_t stride, int64_t n, bool stream);
void asn_index_lines_8(char *dst, const int64_t *to, const char *src, const int64_t *from,
                       int64_t stride, int64_t n, bool stream);
#endif

/* NULL: none for this processor or size. */
static inline asn_index_lines asn_index_lines_get(int64_t item) {
#if defined(__x86_64__)
    if (asn_cpu_isa() >= ASN_ISA_AVX512)
        return item == 8 ? asn_index_lines_8 : item == 4 ? asn_index_lines_4 : NULL;
#endif
    (void)item;
    return NULL;
}

#endif
