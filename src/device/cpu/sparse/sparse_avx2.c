/* CPU device: sparse products with AVX2: eight vectors of columns at once. */
#include "device/cpu/sparse/sparse.h"

#include <string.h>

#include "base/integers.h"

#if defined(__x86_64__)

#include "device/cpu/kernels.h"
#include "device/cpu/loops/loop.h"
#include "device/cpu/simd/simd.h"

#define NAME(f)      f##_f32
#define T            float
#define SPLIT        f32
#define SPLAT(x)     ((asn_v_f32)_mm256_set1_ps(x))
#define FMA(a, b, c) ((asn_v_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#include "device/cpu/sparse/sparse_rows.inc"

#define NAME(f)  f##_f64
#define T        double
#define SPLIT    f64
#define SPLAT(x) ((asn_v_f64)_mm256_set1_pd(x))
#define FMA(a, b, c)                                                                     \
    ((asn_v_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#include "device/cpu/sparse/sparse_rows.inc"

const asnd_sparse_loops asn_sparse_f32_avx2 = {VECS_f32 * LANES_f32, rows_f32, fill_f32},
                        asn_sparse_f64_avx2 = {VECS_f64 * LANES_f64, rows_f64, fill_f64};

#endif
