/* CPU device, private to the tables of kernels: casts of 64-bit integers with AVX2. */
#ifndef ASN_DEVICE_CPU_LOOPS_CASTS_AVX2_H
#define ASN_DEVICE_CPU_LOOPS_CASTS_AVX2_H

#include "device/cpu/kernels.h"

/* Puts them in the place of those that a compiler made; for machines with AVX2 alone. */
void asn_kernels_casts_avx2(asnd_kernels *k);

#endif
