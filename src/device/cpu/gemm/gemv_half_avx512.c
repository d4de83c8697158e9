/* CPU device: a matrix of halves times a vector with AVX-512 (see gemv_half.h).
 *
 * The loops of float32 (gemv.inc), which widen the matrix's elements as they load them.
 */
#include "device/cpu/gemm/gemv_half.h"
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

#define F(n)         n##_f16
#define T            float
#define SPLIT        f32
#define X            uint16_t
#define X_ALL(p)     ((VEC)_mm512_cvtph_ps(sixteen(p)))
#define X_TAIL(p, n) ((VEC)_mm512_cvtph_ps(first_of_sixteen(p, n)))
#include "device/cpu/gemm/gemv.inc"

#define F(n)         n##_bf16
#define T            float
#define SPLIT        f32
#define X            uint16_t
#define X_ALL(p)     ((VEC)from_bf16(sixteen(p)))
#define X_TAIL(p, n) ((VEC)from_bf16(first_of_sixteen(p, n)))
#include "device/cpu/gemm/gemv.inc"

void asn_kernels_gemv_half_avx512(asnd_kernels *k) {
    k->gemv_dots[ASN_F16] = gemv_dots_f16;
    k->gemv_dots[ASN_BF16] = gemv_dots_bf16;
    k->gemv_sums[ASN_F16] = gemv_sums_f16;
    k->gemv_sums[ASN_BF16] = gemv_sums_bf16;
}
#endif
