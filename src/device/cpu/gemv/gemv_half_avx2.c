/* CPU device: loads of gemv_half.inc with AVX2 (F16C). */
#include "device/cpu/gemv/gemv_half.h"
#include "device/cpu/loops/loop.h"
#include "device/cpu/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

/* Eight, or the first n of fewer and zeros. */
__attribute__((always_inline)) static inline __m128i eight(const uint16_t *p) {
    return _mm_loadu_si128((const void *)p);
}
static inline __m128i first_of_eight(const uint16_t *p, int64_t n) {
    uint16_t all[8] = {0};
    memcpy(all, p, sizeof *all * (size_t)(n < 8 ? n : 8));
    return eight(all);
}
/* A bfloat16 is the upper half of its float32. */
__attribute__((always_inline)) static inline __m256 from_bf16(__m128i x) {
    return (__m256)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}

#define ALL       eight
#define FIRST     first_of_eight
#define FROM_F16  _mm256_cvtph_ps
#define FROM_BF16 from_bf16
#define FILL      asn_kernels_gemv_half_avx2
#include "device/cpu/gemv/gemv_half.inc"
#endif
