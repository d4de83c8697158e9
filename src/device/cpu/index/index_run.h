/* CPU device: what an indexing walks over (index.c runs it): the indices' shape J, and
 * the rest of self's dimensions.
 */
#ifndef ASN_DEVICE_CPU_INDEX_INDEX_RUN_H
#define ASN_DEVICE_CPU_INDEX_INDEX_RUN_H

#include <stdbool.h>

#include "device/cpu/index/index.h"

/* A dimension of the rest: its extent, and how it lies in self and in the other view (the
 * result of a get, the values of a put). */
typedef struct {
    int64_t extent, self, other; /* strides in bytes */
} asnd_index_rest;

typedef enum { ASN_MOVE_GET, ASN_MOVE_PUT, ASN_MOVE_ACCUMULATE } asnd_move_kind;

typedef struct {
    asnd_move_kind kind;
    asnd_index_mode mode;
    asn_op op;
    asn_dtype dtype, loop; /* loop: of `other`, which an accumulation computes in */
    char *self, *other;
    int num_idx, num_j, num_rest, item;
    int64_t run; /* bytes moved per index: the contiguous tail */
    const char *idx[ASN_ND_MAX_DIMS];
    int64_t bound[ASN_ND_MAX_DIMS], self_stride[ASN_ND_MAX_DIMS];
    /* J, innermost first: extents, strides of `other` and of each index array */
    int64_t extent[ASN_ND_MAX_DIMS + 1], other_stride[ASN_ND_MAX_DIMS + 1];
    int64_t idx_stride[ASN_ND_MAX_DIMS + 1][ASN_ND_MAX_DIMS];
    asnd_index_rest rest[ASN_ND_MAX_DIMS];
    /* Elements of J and of the rest; pieces of a line of J and positions of each; what a
     * pool chunk takes, pieces or (split_rest) positions of the rest's loops. */
    int64_t size_j, size_rest, pieces, piece, rest_per_chunk;
    bool split_rest;
    bool inside; /* the rest's innermost dimension is walked for each index */
    bool stream; /* long rows, many of them, past the caches */
    bool checks; /* pieces check their indices; missed: one was outside */
    int missed;
    bool tracks; /* floating-point exceptions, of an accumulation, go to `met` (atomic) */
    uint32_t met;
} asnd_index_run;

/* One index array, one element per index, and if they are added up, a dtype with a loop
 * for it. */
bool asn_index_is_simple(const asnd_index_run *r);
/* Two index arrays of neighbours in memory, one element per pair, whose elements are got.
 */
bool asn_index_is_pairs(const asnd_index_run *r);

/* Fills r, of which kind, mode and op are set. IndexError (unless pieces check their
 * indices), ValueError. */
ASN_CHECK_RESULT asn_status asn_index_setup(asnd_index_run *r, const asnd_nd *self,
                                            int nidx, const asnd_nd *const idx[],
                                            const asnd_nd *other);

#endif
