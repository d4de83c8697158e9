/* CPU device, private to indexing: elements added where indices say, one after the other,
 * the commonest accumulation. The general ways, element by element through a kernel, are
 * in index.c and along.c, and give the same. */
#ifndef ASN_DEVICE_CPU_INDEX_INDEX_ADD_H
#define ASN_DEVICE_CPU_INDEX_INDEX_ADD_H

#include <stdint.h>

#include "base/dtype.h"

typedef struct {
    /* self[to[i]] += other[from[i]], in bytes. */
    void (*by_offsets)(char *self, const char *other, int64_t n, const int64_t *to,
                       const int64_t *from);
    /* self[idx[i]] += src[i]; negative indices from `bound`, all in range. */
    void (*by_indices)(const char *src, int64_t src_step, char *self, int64_t stride,
                       const char *idx, int64_t idx_step, int64_t n, int64_t bound);
} asnd_index_adds;

/* The loops of float32, float64 and integers of 4 and 8 bytes, whose sums wrap alike with
 * a sign and without; NULL for other dtypes. */
const asnd_index_adds *asn_index_adds_get(asn_dtype dtype);

#endif
