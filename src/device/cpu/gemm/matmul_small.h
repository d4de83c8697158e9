/* CPU device, private to matrix products: small ones with vector instructions. */
#ifndef ASN_DEVICE_CPU_GEMM_MATMUL_SMALL_H
#define ASN_DEVICE_CPU_GEMM_MATMUL_SMALL_H

#include "base/cpu.h"
#include "device/cpu/kernels.h"

/* Products one after the other: item i at a + i * a_step, b + i * b_step, c + i * c_step;
 * s is that of one of them. */
typedef void (*asnd_matmul_many_fn)(const asnd_matmul *s, int64_t count, const char *a,
                                    int64_t a_step, const char *b, int64_t b_step,
                                    char *c, int64_t c_step);

/* The function for rows of C of n elements, a few, or NULL: the dtype is no float64 or
 * float32, or there is none for the processor. It gives the bits of kernels.h's matmul.
 * Rows that half a register of AVX-512 holds gain nothing by the other. */
#if defined(__x86_64__)
asnd_matmul_fn asn_matmul_avx2(asn_dtype dt);
asnd_matmul_fn asn_matmul_avx512(asn_dtype dt);
asnd_matmul_many_fn asn_matmul_many_avx2(asn_dtype dt, int64_t n);
asnd_matmul_many_fn asn_matmul_many_avx512(asn_dtype dt, int64_t n);
static inline asnd_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n) {
    asn_isa isa = asn_cpu_isa();
    bool half = n <= (dt == ASN_F32 ? 8 : 4);
    return isa >= ASN_ISA_AVX512 && !half ? asn_matmul_avx512(dt)
           : isa >= ASN_ISA_AVX2          ? asn_matmul_avx2(dt)
                                          : NULL;
}
/* The function for many products of rows of n elements and sums of k, whose A has
 * contiguous rows; NULL as above, or where there is none for n and k. */
static inline asnd_matmul_many_fn asn_matmul_many(asn_dtype dt, int64_t n, int64_t k) {
    asn_isa isa = asn_cpu_isa();
    if (k < 2 || k > 4) return NULL;
    return isa >= ASN_ISA_AVX512 ? asn_matmul_many_avx512(dt, n)
           : isa >= ASN_ISA_AVX2 ? asn_matmul_many_avx2(dt, n)
                                 : NULL;
}
#else
static inline asnd_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n) {
    (void)dt;
    (void)n;
    return NULL;
}
static inline asnd_matmul_many_fn asn_matmul_many(asn_dtype dt, int64_t n, int64_t k) {
    (void)dt;
    (void)n;
    (void)k;
    return NULL;
}
#endif

#endif
