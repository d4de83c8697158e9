/* CPU device: complex loops with AVX2 that a compiler does not find: it gathers and
 * scatters the parts of pairs (absolute of complex128: 2.9 ns, 1.5 so). With AVX-512 the
 * loops of scalar_complex.inc, whose bits these give, vectorise as they are.
 *
 * Loops are asnd_ew_fn (kernels.h): n elements, dst may be an input exactly. Whole
 * vectors first, the rest by the scalar function, which rounds alike, so an element's
 * bits do not depend on its place.
 */
#include "device/cpu/math/complex_avx2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "device/cpu/math/scalar.h"

/* ---- products: real parts a.re b.re - a.im b.im, imaginary a.re b.im + a.im b.re */

/* fmaddsub subtracts in even lanes and adds in odd ones, with one rounding each, as c_mul
 * does. */
static inline __m256d product_f64(__m256d a, __m256d b) {
    __m256d cross = _mm256_mul_pd(_mm256_permute_pd(a, 15), _mm256_permute_pd(b, 5));
    return _mm256_fmaddsub_pd(_mm256_movedup_pd(a), b, cross);
}

static inline __m256 product_f32(__m256 a, __m256 b) {
    __m256 cross = _mm256_mul_ps(_mm256_movehdup_ps(a), _mm256_permute_ps(b, 0xb1));
    return _mm256_fmaddsub_ps(_mm256_moveldup_ps(a), b, cross);
}

static void multiply_c128(int64_t n, void *dst, const void *a, const void *b,
                          const void *c) {
    const asn_c128 *x = a, *y = b;
    asn_c128 *out = dst;
    int64_t i = 0;
    (void)c;
    for (; i + 2 <= n; i += 2)
        _mm256_storeu_pd(&out[i].re, product_f64(_mm256_loadu_pd(&x[i].re),
                                                 _mm256_loadu_pd(&y[i].re)));
    for (; i < n; i++)
        out[i] = c_mul(x[i], y[i]);
}

static void multiply_c64(int64_t n, void *dst, const void *a, const void *b,
                         const void *c) {
    const asn_c64 *x = a, *y = b;
    asn_c64 *out = dst;
    int64_t i = 0;
    (void)c;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_ps(&out[i].re, product_f32(_mm256_loadu_ps(&x[i].re),
                                                 _mm256_loadu_ps(&y[i].re)));
    for (; i < n; i++)
        out[i] = c_mulf(x[i], y[i]);
}

static void square_c128(int64_t n, void *dst, const void *a, const void *b,
                        const void *c) {
    multiply_c128(n, dst, a, a, c);
    (void)b;
}

static void square_c64(int64_t n, void *dst, const void *a, const void *b,
                       const void *c) {
    multiply_c64(n, dst, a, a, c);
    (void)b;
}

/* The sign bit of the imaginary parts is turned, of NaN too. */
static void conjugate_c128(int64_t n, void *dst, const void *a, const void *b,
                           const void *c) {
    const __m256d sign = _mm256_set_pd(-0.0, 0.0, -0.0, 0.0);
    const asn_c128 *x = a;
    asn_c128 *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
    for (; i + 2 <= n; i += 2)
        _mm256_storeu_pd(&out[i].re, _mm256_xor_pd(_mm256_loadu_pd(&x[i].re), sign));
    for (; i < n; i++)
        out[i] = c_conj(x[i]);
}

static void conjugate_c64(int64_t n, void *dst, const void *a, const void *b,
                          const void *c) {
    const __m256 sign = _mm256_castpd_ps(
        _mm256_castsi256_pd(_mm256_set1_epi64x((int64_t)0x8000000000000000u)));
    const asn_c64 *x = a;
    asn_c64 *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_ps(&out[i].re, _mm256_xor_ps(_mm256_loadu_ps(&x[i].re), sign));
    for (; i < n; i++)
        out[i] = c_conjf(x[i]);
}

/* ---- absolute: c_abs on vectors of real and of imaginary parts */

#define R         double
#define V         __m256d
#define B         int64_t
#define NAME      absolute_f64
#define ROOT      _mm256_sqrt_pd
#define EXP_BITS  0x7ff0000000000000
#define FAR_APART 40
#include "device/cpu/math/complex_abs.inc"
#define R         float
#define V         __m256
#define B         int32_t
#define NAME      absolute_f32
#define ROOT      _mm256_sqrt_ps
#define EXP_BITS  0x7f800000
#define FAR_APART 18
#include "device/cpu/math/complex_abs.inc"

/* Unpacking works within 128-bit halves, so results come out as 0 2 1 3; the permutation
 * puts them in order. */
static void absolute_c128(int64_t n, void *dst, const void *a, const void *b,
                          const void *c) {
    const asn_c128 *x = a;
    double *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
    for (; i + 4 <= n; i += 4) {
        __m256d p = _mm256_loadu_pd(&x[i].re), q = _mm256_loadu_pd(&x[i + 2].re);
        __m256d r = absolute_f64(_mm256_unpacklo_pd(p, q), _mm256_unpackhi_pd(p, q));
        _mm256_storeu_pd(out + i, _mm256_permute4x64_pd(r, 0xd8));
    }
    for (; i < n; i++)
        out[i] = c_abs(x[i]);
}

static void absolute_c64(int64_t n, void *dst, const void *a, const void *b,
                         const void *c) {
    const asn_c64 *x = a;
    float *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
    for (; i + 8 <= n; i += 8) {
        __m256 p = _mm256_loadu_ps(&x[i].re), q = _mm256_loadu_ps(&x[i + 4].re);
        __m256 r =
            absolute_f32(_mm256_shuffle_ps(p, q, 0x88), _mm256_shuffle_ps(p, q, 0xdd));
        _mm256_storeu_ps(
            out + i, _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(r), 0xd8)));
    }
    for (; i < n; i++)
        out[i] = c_absf(x[i]);
}

void asn_kernels_complex_avx2(asnd_kernels *k) {
    k->ew[ASN_OP_MULTIPLY][ASN_C128] = multiply_c128;
    k->ew[ASN_OP_MULTIPLY][ASN_C64] = multiply_c64;
    k->ew[ASN_OP_SQUARE][ASN_C128] = square_c128;
    k->ew[ASN_OP_SQUARE][ASN_C64] = square_c64;
    k->ew[ASN_OP_CONJUGATE][ASN_C128] = conjugate_c128;
    k->ew[ASN_OP_CONJUGATE][ASN_C64] = conjugate_c64;
    k->ew[ASN_OP_ABSOLUTE][ASN_C128] = absolute_c128;
    k->ew[ASN_OP_ABSOLUTE][ASN_C64] = absolute_c64;
}
#endif
