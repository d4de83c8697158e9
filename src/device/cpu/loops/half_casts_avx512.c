/* CPU device: conversions between float16 and float32 with AVX-512 (see half_casts.h).
 *
 * Sixteen at a time; the last ones under a mask, whose other lanes are 0 and are not
 * stored.
 */
#include "device/cpu/loops/half_casts.h"

#if defined(__x86_64__)
#include <immintrin.h>

static void to_f32(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const uint16_t *in = a;
    float *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
#pragma GCC unroll 4
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(in + i))));
    if (i == n) return;
    __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    __m512 last = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(rest, in + i));
    _mm512_mask_storeu_ps(out + i, rest, last);
}

static void to_f16(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const float *in = a;
    uint16_t *out = dst;
    int64_t i = 0;
    (void)b, (void)c;
#pragma GCC unroll 4
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((void *)(out + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(in + i), 0));
    if (i == n) return;
    __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    __m256i last = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(rest, in + i), 0);
    _mm256_mask_storeu_epi16(out + i, rest, last);
}

void asn_kernels_half_casts_avx512(asnd_kernels *k) {
    k->cast[ASN_F16][ASN_F32] = to_f32;
    k->cast[ASN_F32][ASN_F16] = to_f16;
}
#endif
