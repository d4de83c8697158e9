/* CPU device, private to the tables of kernels: greatest common divisors with AVX-512. */
#ifndef ASN_DEVICE_CPU_MATH_GCD_AVX512_H
#define ASN_DEVICE_CPU_MATH_GCD_AVX512_H

#include "device/cpu/kernels.h"

/* Puts gcd and lcm in the place of those that a compiler made. */
void asn_kernels_gcd_avx512(asnd_kernels *k);

#endif
