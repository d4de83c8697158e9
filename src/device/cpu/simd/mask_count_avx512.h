/* CPU device: how many lanes an AVX-512 mask has.
 *
 * The mask is moved to a register of numbers on purpose: GCC 12, where it keeps a mask in
 * memory across a call, stores one byte, or two, and counts the four that lie there (seen
 * with the thread sanitizer, whose calls are everywhere).
 */
#ifndef ASN_DEVICE_CPU_SIMD_MASK_COUNT_AVX512_H
#define ASN_DEVICE_CPU_SIMD_MASK_COUNT_AVX512_H

#include <immintrin.h>

static inline int asn_mask_count_16(__mmask16 mask) {
    return __builtin_popcount(_cvtmask16_u32(mask));
}
static inline int asn_mask_count_8(__mmask8 mask) {
    return __builtin_popcount(_cvtmask8_u32(mask));
}

#endif
