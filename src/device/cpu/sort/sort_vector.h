/* CPU device, private to sorting: keys sorted with vector instructions.
 *
 * asn_context_get()->sorts is NULL where there are none. The scalar sorts of sort_keys.c
 * do the rest and are these functions' oracle: plain keys have one sorted order, so all
 * give the same bits.
 */
#ifndef ASN_DEVICE_CPU_SORT_SORT_VECTOR_H
#define ASN_DEVICE_CPU_SORT_SORT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

typedef struct asnd_sort_loops {
    /* Sorts n keys of `bytes` = 4 or 8 in place; `spare`, as long, is for the worst
     * case. */
    void (*sort)(int bytes, void *keys, void *spare, int64_t n);
    /* Moves the keys below the pivot to the front and returns how many they are; n >=
     * 512. */
    int64_t (*part)(int bytes, void *keys, int64_t n, uint64_t pivot);
    /* Sorts each column of a tile of `rows` rows of 64 bytes: 16 or 8 short lines at
     * once. */
    void (*columns)(int bytes, void *tile, int64_t rows);
    /* From so many bytes on, short lines whose elements lie together are sorted one by
     * one all the same. */
    int64_t lined;
    /* Sorts n numbers from `from` to `to` (the same or apart) as their keys would be, of
     * which it makes no copies; or copies them at most, and false: not this dtype, or
     * there is a NaN or -0.0. */
    bool (*numbers)(asn_dtype dt, void *to, const void *from, void *spare, int64_t n);
    /* The passes of a selection, as their scalar twins in sort_keys.inc. */
    int64_t (*within_4)(const uint32_t *from, uint32_t *to, int64_t n, uint32_t low,
                        uint32_t high, int64_t *below);
    int64_t (*within_8)(const uint64_t *from, uint64_t *to, int64_t n, uint64_t low,
                        uint64_t high, int64_t *below);
    int64_t (*three_ways_4)(const uint32_t *from, const uint32_t *from_index,
                            uint32_t *to, uint32_t *to_index, int64_t n, uint32_t pivot);
    int64_t (*three_ways_8)(const uint64_t *from, const uint32_t *from_index,
                            uint64_t *to, uint32_t *to_index, int64_t n, uint64_t pivot);
    /* The three ways of keys without indices, in place; `spare` is as long. */
    int64_t (*alone_4)(uint32_t *keys, uint32_t *spare, int64_t n, uint32_t pivot);
    int64_t (*alone_8)(uint64_t *keys, uint64_t *spare, int64_t n, uint64_t pivot);
    /* The positions of the keys below, at and above the pivot, each ascending, without
     * moving keys. May be NULL. */
    void (*order_4)(const uint32_t *keys, int64_t *to, int64_t n, uint32_t pivot);
    void (*order_8)(const uint64_t *keys, int64_t *to, int64_t n, uint64_t pivot);
} asnd_sort_loops;

extern const asnd_sort_loops asn_sort_avx2, asn_sort_avx512, asn_sort_neon;

/* Twice the depth of even partitions, before the radix sort takes over. */
static inline int asn_sort_depth(int64_t n) {
    return n ? 2 * (64 - __builtin_clzll((uint64_t)n)) : 0;
}

/* sort_keys.c: the radix sort that bounds the quicksort's worst case. */
void asn_keys_radix(int bytes, void *keys, void *spare, int64_t n);

#endif
