/* CPU device: loads of gemv_half.inc with AVX-512. */
#include "device/cpu/gemv/gemv_half.h"
#include "device/cpu/loops/loop.h"
#include "device/cpu/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Sixteen, or the first n of fewer and zeros. */
__attribute__((always_inline)) static inline __m256i sixteen(const uint16_t *p) {
    return _mm256_loadu_si256((const void *)p);
}
static inline __m256i first_of_sixteen(const uint16_t *p, int64_t n) {
    return _mm256_maskz_loadu_epi16((__mmask16)((1u << (n < 16 ? n : 16)) - 1), p);
}
/* A bfloat16 is the upper half of its float32. */
__attribute__((always_inline)) static inline __m512 from_bf16(__m256i x) {
    return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}

#define ALL       sixteen
#define FIRST     first_of_sixteen
#define FROM_F16  _mm512_cvtph_ps
#define FROM_BF16 from_bf16
#define FILL      asn_kernels_gemv_half_avx512
#include "device/cpu/gemv/gemv_half.inc"
#endif
