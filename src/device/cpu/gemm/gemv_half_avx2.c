/* CPU device: a matrix of halves times a vector with AVX2 (F16C) (see gemv_half.h).
 *
 * The loops of float32 (gemv.inc), which widen the matrix's elements as they load them.
 */
#include "device/cpu/gemm/gemv_half.h"
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

#define F(n)         n##_f16
#define T            float
#define SPLIT        f32
#define X            uint16_t
#define X_ALL(p)     ((VEC)_mm256_cvtph_ps(eight(p)))
#define X_TAIL(p, n) ((VEC)_mm256_cvtph_ps(first_of_eight(p, n)))
#include "device/cpu/gemm/gemv.inc"

#define F(n)         n##_bf16
#define T            float
#define SPLIT        f32
#define X            uint16_t
#define X_ALL(p)     ((VEC)from_bf16(eight(p)))
#define X_TAIL(p, n) ((VEC)from_bf16(first_of_eight(p, n)))
#include "device/cpu/gemm/gemv.inc"

void asn_kernels_gemv_half_avx2(asnd_kernels *k) {
    k->gemv_dots[ASN_F16] = gemv_dots_f16;
    k->gemv_dots[ASN_BF16] = gemv_dots_bf16;
    k->gemv_sums[ASN_F16] = gemv_sums_f16;
    k->gemv_sums[ASN_BF16] = gemv_sums_bf16;
}
#endif
