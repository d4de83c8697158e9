/* CPU device, private to the tables of kernels: exponents with AVX-512. */
#ifndef ASN_DEVICE_CPU_MATH_EXPONENTS_AVX512_H
#define ASN_DEVICE_CPU_MATH_EXPONENTS_AVX512_H

#include "device/cpu/kernels.h"

/* Puts frexp and ldexp in the place of those that a compiler made. */
void asn_kernels_exponents_avx512(asnd_kernels *k);

#endif
