/* CPU device: small matrix products with AVX2.
 *
 * Below about 500 multiplications a call of BLAS costs more than the product, and where
 * rows and sums are short, more than half of a large one. Rows of C stay in registers,
 * four at a time. A masked load gives 0 in the lanes beyond the row, which the blend
 * makes the row's first element.
 */
#include "device/cpu/gemm/matmul_small.h"
#include "device/cpu/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define NAME small_f64
#define T    double
#define VEC  __m256d
#define LOAD(m, p)                                                                       \
    _mm256_blendv_pd(_mm256_set1_pd(*(const double *)(p)),                               \
                     _mm256_maskload_pd((const double *)(p), m), (VEC)(m))
#define STORE(p, m, v)  _mm256_maskstore_pd((double *)(p), m, v)
#define LOAD_ALL(p)     _mm256_loadu_pd((const double *)(p))
#define STORE_ALL(p, v) _mm256_storeu_pd((double *)(p), v)
#define SPLAT           _mm256_set1_pd
#define MUL             _mm256_mul_pd
#define ADD             _mm256_add_pd
#define MASK            __m256i
#define FIRST(n)        v_tail_mask(n, sizeof(T))
#include "device/cpu/gemm/matmul_small.inc"
#define NAME small_f32
#define T    float
#define VEC  __m256
#define LOAD(m, p)                                                                       \
    _mm256_blendv_ps(_mm256_set1_ps(*(const float *)(p)),                                \
                     _mm256_maskload_ps((const float *)(p), m), (VEC)(m))
#define STORE(p, m, v)  _mm256_maskstore_ps((float *)(p), m, v)
#define LOAD_ALL(p)     _mm256_loadu_ps((const float *)(p))
#define STORE_ALL(p, v) _mm256_storeu_ps((float *)(p), v)
#define SPLAT           _mm256_set1_ps
#define MUL             _mm256_mul_ps
#define ADD             _mm256_add_ps
#define MASK            __m256i
#define FIRST(n)        v_tail_mask(n, sizeof(T))
#include "device/cpu/gemm/matmul_small.inc"

#include "device/cpu/gemm/matmul_many_rows.inc"

const asnd_small_products asn_small_products_avx2 = {
    {small_f32, small_f64},
    {{[1] = many_1_f32, [4] = many_4_f32, [8] = many_8_f32},
     {[1] = many_1_f64, [2] = many_2_f64, [4] = many_4_f64}},
};
#endif
