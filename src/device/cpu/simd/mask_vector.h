/* CPU device, private to masks and indices: their loops with vector instructions.
 *
 * asn_context_get()->masks is NULL where there are none; the loops of mask.c and bounds.c
 * do the same then.
 */
#ifndef ASN_DEVICE_CPU_SIMD_MASK_VECTOR_H
#define ASN_DEVICE_CPU_SIMD_MASK_VECTOR_H

#include <stddef.h>
#include <stdint.h>

typedef struct asnd_mask_loops {
    /* How many of n bytes are not 0. */
    int64_t (*count)(const uint8_t *mask, int64_t n);
    /* How many of n words of `item` = 4 or 8 bytes have one of the bits set. */
    int64_t (*count_words)(int item, uint64_t bits, const void *words, int64_t n);
    /* The positions of bytes that are not 0 (counted from `base`); returns how many. The
     * 16-bit ones need room for 16 more behind them. */
    int64_t (*positions)(const uint8_t *mask, int64_t n, uint16_t *pos);
    int64_t (*positions_64)(const uint8_t *mask, int64_t n, int64_t base, int64_t *out);
    /* Elements of 4, 8 or 16 bytes where the mask is not 0, from there to a list or from
     * a list to there; returns how many, and touches no others. The list has `room`
     * elements, those beyond the ones asked for still to be written. */
    int64_t (*select)(int item, const uint8_t *mask, int64_t n, const void *src,
                      void *dst, int64_t room);
    int64_t (*place)(int item, const uint8_t *mask, int64_t n, const void *src, void *dst,
                     int64_t room);
    /* asn_bounds_misses (bounds.h) of contiguous indices. */
    uint64_t (*misses)(const uint64_t *index, int64_t n, uint64_t size);
} asnd_mask_loops;

extern const asnd_mask_loops asn_mask_avx2, asn_mask_avx512, asn_mask_neon;

#endif
