/* CPU device, private to the tables of kernels: quotients and remainders of vectors of
 * integers (divide.inc). */
#ifndef ASN_DEVICE_CPU_INTEGERS_DIVIDE_H
#define ASN_DEVICE_CPU_INTEGERS_DIVIDE_H

#include "device/cpu/kernels.h"

/* Each puts its loops in the place of those that a compiler made, for machines with its
 * instruction set alone. */
void asn_kernels_divide_avx2(asnd_kernels *k);
void asn_kernels_divide_avx512(asnd_kernels *k);

#endif
