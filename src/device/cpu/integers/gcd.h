/* CPU device, private to the tables of kernels: common divisors and multiples of vectors
 * of integers (gcd.inc). */
#ifndef ASN_DEVICE_CPU_INTEGERS_GCD_H
#define ASN_DEVICE_CPU_INTEGERS_GCD_H

#include "device/cpu/kernels.h"

/* Each puts its loops in the place of those that a compiler made, for machines with its
 * instruction set alone. */
void asn_kernels_gcd_avx2(asnd_kernels *k);
void asn_kernels_gcd_avx512(asnd_kernels *k);
void asn_kernels_gcd_neon(asnd_kernels *k);

#endif
