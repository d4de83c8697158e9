/* CPU device, private to matrix products: small ones with vector instructions. */
#ifndef ASN_DEVICE_CPU_MATMUL_SMALL_H
#define ASN_DEVICE_CPU_MATMUL_SMALL_H

#include "base/cpu.h"
#include "device/cpu/kernels.h"

/* The function for rows of C of n elements, a few, or NULL: the dtype is no float64 or
 * float32, or there is none for the processor. It gives the bits of kernels.h's matmul.
 * Rows that half a register of AVX-512 holds gain nothing by the other. */
#if defined(__x86_64__)
asn_matmul_fn asn_matmul_avx2(asn_dtype dt);
asn_matmul_fn asn_matmul_avx512(asn_dtype dt);
static inline asn_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n) {
    asn_isa isa = asn_cpu_isa();
    bool half = n <= (dt == ASN_F32 ? 8 : 4);
    return isa >= ASN_ISA_AVX512 && !half ? asn_matmul_avx512(dt)
           : isa >= ASN_ISA_AVX2          ? asn_matmul_avx2(dt)
                                          : NULL;
}
#else
static inline asn_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n) {
    (void)dt;
    (void)n;
    return NULL;
}
#endif

#endif
