/* CPU device, private to the tables of kernels: truth values of numbers with AVX2. */
#ifndef ASN_DEVICE_CPU_LOOPS_PREDICATES_AVX2_H
#define ASN_DEVICE_CPU_LOOPS_PREDICATES_AVX2_H

#include "device/cpu/kernels.h"

/* Puts them in the place of those that a compiler made; for machines with AVX2 alone. */
void asn_kernels_predicates_avx2(asnd_kernels *k);

#endif
