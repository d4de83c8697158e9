/* CPU device, private to sorting: registers of eight 32-bit or four 64-bit lanes, the
 * chosen ones first, with AVX2.
 *
 * chosen: a bit for each lane, as a comparison's signs give them. The lanes that are not
 * chosen follow in their order, so a permutation loses nothing.
 */
#ifndef ASN_DEVICE_CPU_SIMD_FIRST_LANES_AVX2_H
#define ASN_DEVICE_CPU_SIMD_FIRST_LANES_AVX2_H

#include <immintrin.h>

#include "device/cpu/simd/first_lanes.h"

#define INLINE __attribute__((always_inline)) static inline

/* Unaligned, as sorting and masks use them. */
INLINE __m256i load(const void *p) {
    return _mm256_loadu_si256(p);
}
INLINE void store(void *p, __m256i x) {
    _mm256_storeu_si256(p, x);
}

/* As first_lanes, of four lanes of two 32-bit ones each. */
#define TWICE(m, i)       2 * ((below_first_of(m) >> 8 * (i)) & 3)
#define below_first_of(m) LANES_OF((unsigned)(m))
#define EIGHT(m)                                                                         \
    {TWICE(m, 0), TWICE(m, 0) + 1, TWICE(m, 1), TWICE(m, 1) + 1,                         \
     TWICE(m, 2), TWICE(m, 2) + 1, TWICE(m, 3), TWICE(m, 3) + 1}
static const _Alignas(32) uint32_t below_first_8[16][8] = {
    EIGHT(0), EIGHT(1), EIGHT(2),  EIGHT(3),  EIGHT(4),  EIGHT(5),  EIGHT(6),  EIGHT(7),
    EIGHT(8), EIGHT(9), EIGHT(10), EIGHT(11), EIGHT(12), EIGHT(13), EIGHT(14), EIGHT(15)};

/* Eight lanes of 4 bytes: the table's bytes become the permutation's words. */
INLINE __m256i chosen_first_4(__m256i x, unsigned chosen) {
    __m128i order = _mm_loadl_epi64((const void *)&first_lanes[chosen]);
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(order));
}
/* Four lanes of 8 bytes, moved as pairs of 4: AVX2 permutes 64-bit lanes by constants
 * alone. */
INLINE __m256i chosen_first_8(__m256i x, unsigned chosen) {
    return _mm256_permutevar8x32_epi32(x, load(below_first_8[chosen]));
}

#endif
