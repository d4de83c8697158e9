/* CPU device: the kernel tables, filled once, and the loops on halves that are written by
 * hand.
 *
 * float16 <-> float32 uses the conversion instructions of F16C and AVX-512, which no
 * compiler makes of the portable code; both round alike, NaN payloads included.
 */
#include "device/cpu/kernels.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>

#include "base/cpu.h"
#include "base/half.h"
#include "device/cpu/loops/casts_avx2.h"
#include "device/cpu/math/complex_avx2.h"
#include "device/cpu/math/divide_avx2.h"
#include "device/cpu/math/exponents_avx512.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/math/gcd_avx512.h"
#include "device/cpu/loops/predicates_avx2.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

void asn_kernels_generated(asnd_kernels *k);

enum { BLOCK = 256 };

static void f16_to_f32(int64_t n, void *dst, const void *a, const void *b,
                       const void *c) {
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++)
        ((float *)dst)[i] = asn_f16_to_f32(((const uint16_t *)a)[i]);
}

static void f32_to_f16(int64_t n, void *dst, const void *a, const void *b,
                       const void *c) {
    const float *in = a;
    uint16_t *out = dst;
    int raised = 0;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) {
        float x = in[i];
        out[i] = asn_f32_to_f16(x);
        if ((out[i] & 0x7fff) == 0x7c00 && fabsf(x) != INFINITY) raised |= FE_OVERFLOW;
        bool small = isless(fabsf(x), 0x1p-14f); /* raises nothing for NaN */
        if (small && asn_f16_to_f32(out[i]) != x) raised |= FE_UNDERFLOW;
    }
    if (raised) asn_fp_raise(raised);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static void
f16_to_f32_f16c(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const uint16_t *in = a;
    float *out = dst;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    f16_to_f32(n - i, out + i, in + i, b, c);
}

__attribute__((target("avx,f16c"))) static void
f32_to_f16_f16c(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const float *in = a;
    uint16_t *out = dst;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
    f32_to_f16(n - i, out + i, in + i, b, c);
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) static void
f16_to_f32_avx512(int64_t n, void *dst, const void *a, const void *b, const void *c) {
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

__attribute__((target("avx512f,avx512bw,avx512vl"))) static void
f32_to_f16_avx512(int64_t n, void *dst, const void *a, const void *b, const void *c) {
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
#endif

static asnd_kernels tables;

static void round_f16(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    uint16_t block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        tables.cast[ASN_F32][ASN_F16](m, block, (const float *)a + i, b, c);
        tables.cast[ASN_F16][ASN_F32](m, (float *)dst + i, block, b, c);
    }
}

static void fill_halves(asnd_kernels *k) {
    k->cast[ASN_F16][ASN_F32] = f16_to_f32;
    k->cast[ASN_F32][ASN_F16] = f32_to_f16;
#if defined(__x86_64__)
    if (asn_cpu_isa() >= ASN_ISA_AVX2) {
        k->cast[ASN_F16][ASN_F32] = f16_to_f32_f16c;
        k->cast[ASN_F32][ASN_F16] = f32_to_f16_f16c;
    }
    if (asn_cpu_isa() >= ASN_ISA_AVX512) {
        k->cast[ASN_F16][ASN_F32] = f16_to_f32_avx512;
        k->cast[ASN_F32][ASN_F16] = f32_to_f16_avx512;
    }
#endif
    k->round_half[ASN_F16] = round_f16;
}

static void fill_tables(void) {
    asn_kernels_generated(&tables);
    fill_halves(&tables);
#if defined(__x86_64__)
    if (asn_cpu_isa() == ASN_ISA_AVX2) {
        asn_kernels_casts_avx2(&tables);
        asn_kernels_complex_avx2(&tables);
        asn_kernels_divide_avx2(&tables);
        asn_kernels_predicates_avx2(&tables);
    }
    if (asn_cpu_isa() == ASN_ISA_AVX512) {
        asn_kernels_exponents_avx512(&tables);
        asn_kernels_gcd_avx512(&tables);
    }
#endif
}

const asnd_kernels *asn_kernels_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static int ready;
    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) return &tables;
    pthread_once(&once, fill_tables);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    return &tables;
}
