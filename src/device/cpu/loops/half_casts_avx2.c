/* CPU device: conversions between float16 and float32 with AVX2 (F16C) (see
 * half_casts.h).
 *
 * Eight at a time, rounding to nearest (the 0); the last ones by the portable loops.
 */
#include "device/cpu/loops/half_casts.h"

#if defined(__x86_64__)
#include <immintrin.h>

static void to_f32(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const uint16_t *in = a;
    float *out = dst;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    asn_loop_f16_to_f32(n - i, out + i, in + i, b, c);
}

static void to_f16(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const float *in = a;
    uint16_t *out = dst;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
    asn_loop_f32_to_f16(n - i, out + i, in + i, b, c);
}

void asn_kernels_half_casts_avx2(asnd_kernels *k) {
    k->cast[ASN_F16][ASN_F32] = to_f32;
    k->cast[ASN_F32][ASN_F16] = to_f16;
}
#endif
