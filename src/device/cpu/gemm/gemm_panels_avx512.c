/* CPU device: matrix products with AVX-512: tiles of 8 x 24 float64 or 8 x 48 float32.
 *
 * 24 of the 32 registers are sums, three a row of B, and A's elements are operands in
 * memory. FAR_BYTES: a C of so many bytes is likely not in L2, and its lines are asked
 * for before they are added to.
 */
#include "device/cpu/gemm/gemm_panels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define ROWS 8
enum { VECS = 3, FAR_BYTES = 1 << 18, LINE = 64 };

#define NAME(x) x##_f64
#define REAL    double
#define LANES   ROWS
#include "device/cpu/simd/lanes.inc"
#define V                    __m512d
#define MASK                 __mmask8
#define LOAD(p)              _mm512_loadu_pd((const double *)(p))
#define STORE(p, v)          _mm512_storeu_pd((double *)(p), v)
#define SPLAT                _mm512_set1_pd
#define FMA                  _mm512_fmadd_pd
#define MUL                  _mm512_mul_pd
#define FIRST(n)             (__mmask8)((1u << (n)) - 1)
#define SOME_LOAD            _mm512_maskz_loadu_pd
#define SOME_STORE           _mm512_mask_storeu_pd
#define SOME_FMA(m, a, b, c) _mm512_mask3_fmadd_pd(a, b, c, m)
#include "device/cpu/gemm/gemm_panels.inc"
#include "device/cpu/simd/lanes_end.inc"

#define NAME(x) x##_f32
#define REAL    float
#define LANES   ROWS
#include "device/cpu/simd/lanes.inc"
#define V                    __m512
#define MASK                 __mmask16
#define LOAD(p)              _mm512_loadu_ps((const float *)(p))
#define STORE(p, v)          _mm512_storeu_ps((float *)(p), v)
#define SPLAT                _mm512_set1_ps
#define FMA                  _mm512_fmadd_ps
#define MUL                  _mm512_mul_ps
#define FIRST(n)             (__mmask16)((1u << (n)) - 1)
#define SOME_LOAD            _mm512_maskz_loadu_ps
#define SOME_STORE           _mm512_mask_storeu_ps
#define SOME_FMA(m, a, b, c) _mm512_mask3_fmadd_ps(a, b, c, m)
#include "device/cpu/gemm/gemm_panels.inc"
#include "device/cpu/simd/lanes_end.inc"

const asnd_panels_kernels asn_panels_f64_avx512 = {8, WIDE_f64, pack_f64, rows_f64},
                          asn_panels_f32_avx512 = {4, WIDE_f32, pack_f32, rows_f32};

#endif
