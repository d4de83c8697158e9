/* CPU device: convolution with AVX-512: tiles of 8 filters times 48 float32 or 24
 * float64.
 *
 * 24 of the 32 registers are sums, three hold elements of the picture and one a weight.
 */
#include "device/cpu/nn/conv_direct.h"

#include "base/integers.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NAME(f) f##_f32
#define T       float
#define V       __m512
#define STRIP   8
#define VECS    3
#define LOAD    _mm512_loadu_ps
#define STORE   _mm512_storeu_ps
#define SPLAT   _mm512_set1_ps
#define FMA     _mm512_fmadd_ps
#define ADD     _mm512_add_ps
#include "device/cpu/nn/conv_direct.inc"

#define NAME(f) f##_f64
#define T       double
#define V       __m512d
#define STRIP   8
#define VECS    3
#define LOAD    _mm512_loadu_pd
#define STORE   _mm512_storeu_pd
#define SPLAT   _mm512_set1_pd
#define FMA     _mm512_fmadd_pd
#define ADD     _mm512_add_pd
#include "device/cpu/nn/conv_direct.inc"

const asnd_conv_loops asn_conv_f32_avx512 = {8, strip_f32, row_f32},
                      asn_conv_f64_avx512 = {8, strip_f64, row_f64};

#endif
