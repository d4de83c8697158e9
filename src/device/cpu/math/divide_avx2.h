/* CPU device, private to the tables of kernels: integer quotients with AVX2. */
#ifndef ASN_DEVICE_CPU_MATH_DIVIDE_AVX2_H
#define ASN_DEVICE_CPU_MATH_DIVIDE_AVX2_H

#include "device/cpu/kernels.h"

/* Puts them in the place of those that a compiler made; for machines with AVX2 alone. */
void asn_kernels_divide_avx2(asnd_kernels *k);

#endif
