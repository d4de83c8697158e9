/* CPU device: small matrix products with AVX-512.
 *
 * Below about 500 multiplications a call of BLAS costs more than the product, and where
 * rows and sums are short, more than half of a large one. Rows of C stay in registers,
 * four at a time.
 */
#include "device/cpu/gemm/matmul_small.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define NAME            small_f64
#define T               double
#define VEC             __m512d
#define LOAD(m, p)      _mm512_mask_loadu_pd(_mm512_set1_pd(*(const double *)(p)), m, p)
#define STORE           _mm512_mask_storeu_pd
#define LOAD_ALL(p)     _mm512_loadu_pd((const double *)(p))
#define STORE_ALL(p, v) _mm512_storeu_pd((double *)(p), v)
#define SPLAT           _mm512_set1_pd
#define MUL             _mm512_mul_pd
#define ADD             _mm512_add_pd
#define MASK            __mmask8
#define FIRST(n)        (__mmask8)((1u << (n)) - 1)
#include "device/cpu/gemm/matmul_small.inc"
#define NAME            small_f32
#define T               float
#define VEC             __m512
#define LOAD(m, p)      _mm512_mask_loadu_ps(_mm512_set1_ps(*(const float *)(p)), m, p)
#define STORE           _mm512_mask_storeu_ps
#define LOAD_ALL(p)     _mm512_loadu_ps((const float *)(p))
#define STORE_ALL(p, v) _mm512_storeu_ps((float *)(p), v)
#define SPLAT           _mm512_set1_ps
#define MUL             _mm512_mul_ps
#define ADD             _mm512_add_ps
#define MASK            __mmask16
#define FIRST(n)        (__mmask16)((1u << (n)) - 1)
#include "device/cpu/gemm/matmul_small.inc"

#include "device/cpu/gemm/matmul_many_rows.inc"
#define NAME many_3_f64
#define T    double
#define VEC  __m256d
#define LOAD(p)                                                                          \
    _mm256_mask_loadu_pd(_mm256_set1_pd(*(const double *)(p)), 7, (const double *)(p))
#define STORE(p, v) _mm256_mask_storeu_pd((double *)(p), 7, v)
#include "device/cpu/gemm/matmul_many.inc"
#define NAME        many_8_f64
#define T           double
#define VEC         __m512d
#define LOAD(p)     _mm512_loadu_pd((const double *)(p))
#define STORE(p, v) _mm512_storeu_pd((double *)(p), v)
#include "device/cpu/gemm/matmul_many.inc"
#define NAME    many_2_f32
#define T       float
#define VEC     __m128
#define LOAD(p) _mm_mask_loadu_ps(_mm_set1_ps(*(const float *)(p)), 3, (const float *)(p))
#define STORE(p, v) _mm_mask_storeu_ps((float *)(p), 3, v)
#include "device/cpu/gemm/matmul_many.inc"
#define NAME    many_3_f32
#define T       float
#define VEC     __m128
#define LOAD(p) _mm_mask_loadu_ps(_mm_set1_ps(*(const float *)(p)), 7, (const float *)(p))
#define STORE(p, v) _mm_mask_storeu_ps((float *)(p), 7, v)
#include "device/cpu/gemm/matmul_many.inc"

const asnd_small_products asn_small_products_avx512 = {
    {small_f32, small_f64},
    {{[1] = many_1_f32,
      [2] = many_2_f32,
      [3] = many_3_f32,
      [4] = many_4_f32,
      [8] = many_8_f32},
     {[1] = many_1_f64,
      [2] = many_2_f64,
      [3] = many_3_f64,
      [4] = many_4_f64,
      [8] = many_8_f64}},
};
#endif
