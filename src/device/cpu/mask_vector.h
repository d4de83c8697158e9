/* CPU device, private to masks and indices: their loops with AVX-512.
 *
 * To be called where asn_mask_vector_ready() only; elsewhere the loops of mask.c and
 * bounds.c do the same.
 */
#ifndef ASN_DEVICE_CPU_MASK_VECTOR_H
#define ASN_DEVICE_CPU_MASK_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
bool asn_mask_vector_ready(void);
#else
static inline bool asn_mask_vector_ready(void) {
    return false;
}
#endif

/* How many of n bytes are not 0. */
int64_t asn_mask_count(const uint8_t *mask, int64_t n);

/* How many of n words of `item` = 4 or 8 bytes have one of the bits set. */
int64_t asn_mask_count_words(int item, uint64_t bits, const void *words, int64_t n);

/* The positions of bytes that are not 0 (counted from `base`); returns how many. The
 * 16-bit ones need room for 16 more behind them. */
int64_t asn_mask_positions(const uint8_t *mask, int64_t n, uint16_t *pos);
int64_t asn_mask_positions_64(const uint8_t *mask, int64_t n, int64_t base, int64_t *out);

/* Elements of 4 or 8 bytes where the mask is not 0; writes no more than that many. */
int64_t asn_mask_select(int item, const uint8_t *mask, int64_t n, const void *src,
                        void *dst);

/* bounds.c's find_misses of contiguous indices. */
uint64_t asn_index_misses(const uint64_t *index, int64_t n, uint64_t size);

#endif
