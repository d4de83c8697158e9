/* CPU device: loops of frexp and ldexp with AVX-512.
 *
 * Each is the loop of kernels.h over a function of exponents_vector.h, whose bits and
 * floating-point exceptions are those of scalar_float.inc, and for ldexp the C library's.
 * Lanes of the last vector beyond n are 0, which raises nothing, and are not stored.
 */
#include "device/cpu/math/exponents_avx512.h"

#if defined(__x86_64__)
#include "device/cpu/math/exponents_vector.h"

/* Whole vectors, then what is left under a mask. */
static void mantissa_f64(int64_t n, void *dst, const void *a_, const void *b_,
                         const void *c_) {
    double *out = dst;
    const double *a = a_;
    (void)b_, (void)c_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd((void *)(out + i),
                         v_frexp_mantissa_f64x8(_mm512_loadu_pd(a + i)));
    if (i == n) return;
    const __mmask8 some = (__mmask8)((1u << (n - i)) - 1);
    _mm512_mask_storeu_pd((void *)(out + i), some,
                          v_frexp_mantissa_f64x8(_mm512_maskz_loadu_pd(some, a + i)));
}

static void mantissa_f32(int64_t n, void *dst, const void *a_, const void *b_,
                         const void *c_) {
    float *out = dst;
    const float *a = a_;
    (void)b_, (void)c_;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps((void *)(out + i),
                         v_frexp_mantissa_f32x16(_mm512_loadu_ps(a + i)));
    if (i == n) return;
    const __mmask16 some = (__mmask16)((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps((void *)(out + i), some,
                          v_frexp_mantissa_f32x16(_mm512_maskz_loadu_ps(some, a + i)));
}

static void exponent_f64(int64_t n, void *dst, const void *a_, const void *b_,
                         const void *c_) {
    int32_t *out = dst;
    const double *a = a_;
    (void)b_, (void)c_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_epi32((void *)(out + i),
                            v_frexp_exponent_f64x8(_mm512_loadu_pd(a + i)));
    if (i == n) return;
    const __mmask8 some = (__mmask8)((1u << (n - i)) - 1);
    _mm256_mask_storeu_epi32((void *)(out + i), some,
                             v_frexp_exponent_f64x8(_mm512_maskz_loadu_pd(some, a + i)));
}

static void exponent_f32(int64_t n, void *dst, const void *a_, const void *b_,
                         const void *c_) {
    int32_t *out = dst;
    const float *a = a_;
    (void)b_, (void)c_;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_epi32((void *)(out + i),
                            v_frexp_exponent_f32x16(_mm512_loadu_ps(a + i)));
    if (i == n) return;
    const __mmask16 some = (__mmask16)((1u << (n - i)) - 1);
    _mm512_mask_storeu_epi32((void *)(out + i), some,
                             v_frexp_exponent_f32x16(_mm512_maskz_loadu_ps(some, a + i)));
}

static void ldexp_f64(int64_t n, void *dst, const void *a_, const void *b_,
                      const void *c_) {
    double *out = dst;
    const double *a = a_;
    const int32_t *k = b_;
    (void)c_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd((void *)(out + i), v_ldexp_f64x8(_mm512_loadu_pd(a + i),
                                                          _mm256_loadu_epi32(k + i)));
    if (i == n) return;
    const __mmask8 some = (__mmask8)((1u << (n - i)) - 1);
    _mm512_mask_storeu_pd((void *)(out + i), some,
                          v_ldexp_f64x8(_mm512_maskz_loadu_pd(some, a + i),
                                        _mm256_maskz_loadu_epi32(some, k + i)));
}

static void ldexp_f32(int64_t n, void *dst, const void *a_, const void *b_,
                      const void *c_) {
    float *out = dst;
    const float *a = a_;
    const int32_t *k = b_;
    (void)c_;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps((void *)(out + i), v_ldexp_f32x16(_mm512_loadu_ps(a + i),
                                                           _mm512_loadu_epi32(k + i)));
    if (i == n) return;
    const __mmask16 some = (__mmask16)((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps((void *)(out + i), some,
                          v_ldexp_f32x16(_mm512_maskz_loadu_ps(some, a + i),
                                         _mm512_maskz_loadu_epi32(some, k + i)));
}

void asn_kernels_exponents_avx512(asnd_kernels *k) {
    k->ew[ASN_OP_FREXP_MANTISSA][ASN_F64] = mantissa_f64;
    k->ew[ASN_OP_FREXP_MANTISSA][ASN_F32] = mantissa_f32;
    k->ew[ASN_OP_FREXP_EXPONENT][ASN_F64] = exponent_f64;
    k->ew[ASN_OP_FREXP_EXPONENT][ASN_F32] = exponent_f32;
    k->ew[ASN_OP_LDEXP][ASN_F64] = ldexp_f64;
    k->ew[ASN_OP_LDEXP][ASN_F32] = ldexp_f32;
}
#endif
