/* CPU device: conversions between float16 and float32 in C (see half_casts.h).
 *
 * The arithmetic is base/half.h's, on bits; it raises no floating-point exceptions, so
 * overflow and underflow of a narrowing, and invalid of a signaling NaN that is widened,
 * are raised here, as the machines' instructions do.
 */
#include "device/cpu/loops/half_casts.h"

#include <fenv.h>
#include <math.h>

#include "base/half.h"
#include "device/cpu/fpflags.h"

enum { BLOCK = 256 };

void asn_loop_f16_to_f32(int64_t n, void *dst, const void *a, const void *b,
                         const void *c) {
    const uint16_t *in = a;
    bool signaling = false;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) {
        ((float *)dst)[i] = asn_f16_to_f32(in[i]);
        signaling |= (in[i] & 0x7e00) == 0x7c00 && (in[i] & 0x1ff);
    }
    if (signaling) asn_fp_raise(FE_INVALID);
}

void asn_loop_f32_to_f16(int64_t n, void *dst, const void *a, const void *b,
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

/* float32 rounded through float16 and back, by whatever loops the table has for this
 * machine. */
static void round_f16(int64_t n, void *dst, const void *a, const void *b, const void *c) {
    const asnd_kernels *k = asn_kernels_get();
    uint16_t block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        k->cast[ASN_F32][ASN_F16](m, block, (const float *)a + i, b, c);
        k->cast[ASN_F16][ASN_F32](m, (float *)dst + i, block, b, c);
    }
}

void asn_kernels_half_casts(asnd_kernels *k) {
    k->cast[ASN_F16][ASN_F32] = asn_loop_f16_to_f32;
    k->cast[ASN_F32][ASN_F16] = asn_loop_f32_to_f16;
    k->round_half[ASN_F16] = round_f16;
}
