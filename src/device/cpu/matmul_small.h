/* CPU device, private to matrix products: small ones with AVX-512. */
#ifndef ASN_DEVICE_CPU_MATMUL_SMALL_H
#define ASN_DEVICE_CPU_MATMUL_SMALL_H

#include "device/cpu/kernels.h"

/* The function for a row of C of `n` elements, or NULL: the dtype is no float64 or
 * float32, or the row does not fit a register. To be called with AVX-512 only. It
 * gives the bits of kernels.h's matmul. */
asn_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n);

#endif
