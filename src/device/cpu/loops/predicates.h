/* CPU device, private to the tables of kernels: truth values of vectors of numbers
 * (predicates.inc). */
#ifndef ASN_DEVICE_CPU_LOOPS_PREDICATES_H
#define ASN_DEVICE_CPU_LOOPS_PREDICATES_H

#include "device/cpu/kernels.h"

/* Each puts its loops in the place of those that a compiler made, for machines with its
 * instruction set alone. */
void asn_kernels_predicates_avx2(asnd_kernels *k);
void asn_kernels_predicates_avx512(asnd_kernels *k);

#endif
