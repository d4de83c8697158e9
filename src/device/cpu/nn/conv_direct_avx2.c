/* CPU device: convolution with AVX2: tiles of 6 filters times 16 float32 or 8 float64.
 *
 * Twelve of the sixteen registers are sums, two hold elements of the picture and one a
 * weight. */
#include "device/cpu/nn/conv_direct.h"

#include "base/integers.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NAME(f) f##_f32
#define T       float
#define V       __m256
#define STRIP   6
#define VECS    2
#define LOAD    _mm256_loadu_ps
#define STORE   _mm256_storeu_ps
#define SPLAT   _mm256_set1_ps
#define FMA     _mm256_fmadd_ps
#define ADD     _mm256_add_ps
#include "device/cpu/nn/conv_direct.inc"

#define NAME(f) f##_f64
#define T       double
#define V       __m256d
#define STRIP   6
#define VECS    2
#define LOAD    _mm256_loadu_pd
#define STORE   _mm256_storeu_pd
#define SPLAT   _mm256_set1_pd
#define FMA     _mm256_fmadd_pd
#define ADD     _mm256_add_pd
#include "device/cpu/nn/conv_direct.inc"

const asnd_conv_loops asn_conv_f32_avx2 = {6, strip_f32, row_f32},
                      asn_conv_f64_avx2 = {6, strip_f64, row_f64};

#endif
