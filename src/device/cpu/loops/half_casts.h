/* CPU device, private to the tables of kernels: conversions between float16 and float32.
 *
 * The instructions of F16C and AVX-512 do what no compiler makes of the portable code;
 * both round alike, NaN payloads included.
 */
#ifndef ASN_DEVICE_CPU_LOOPS_HALF_CASTS_H
#define ASN_DEVICE_CPU_LOOPS_HALF_CASTS_H

#include "device/cpu/kernels.h"

/* The portable ones, and float32 rounded through float16. */
void asn_kernels_half_casts(asnd_kernels *k);
/* Put others in their place. */
void asn_kernels_half_casts_avx2(asnd_kernels *k);
void asn_kernels_half_casts_avx512(asnd_kernels *k);

/* The portable loops, for the last elements. */
void asn_loop_f16_to_f32(int64_t n, void *dst, const void *a, const void *b,
                         const void *c);
void asn_loop_f32_to_f16(int64_t n, void *dst, const void *a, const void *b,
                         const void *c);

#endif
