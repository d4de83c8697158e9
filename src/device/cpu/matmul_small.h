/* CPU device, private to matrix products: small ones with AVX-512. */
#ifndef ASN_DEVICE_CPU_MATMUL_SMALL_H
#define ASN_DEVICE_CPU_MATMUL_SMALL_H

#include "device/cpu/kernels.h"

/* The function for rows of C of a few elements, or NULL: the dtype is no float64 or
 * float32. To be called with AVX-512 only. It gives the bits of kernels.h's matmul. */
asn_matmul_fn asn_matmul_small(asn_dtype dt);

#endif
