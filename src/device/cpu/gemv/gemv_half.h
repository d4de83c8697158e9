/* CPU device, private to the tables of kernels: a matrix of halves times a vector.
 *
 * What the loops of float32 give for the matrix widened to float32, bit for bit. Without
 * AVX2 there are none: the matrix is widened some rows at a time (gemm_few.c).
 */
#ifndef ASN_DEVICE_CPU_GEMV_GEMV_HALF_H
#define ASN_DEVICE_CPU_GEMV_GEMV_HALF_H

#include "device/cpu/kernels.h"

void asn_kernels_gemv_half_avx2(asnd_kernels *k);
void asn_kernels_gemv_half_avx512(asnd_kernels *k);

#endif
