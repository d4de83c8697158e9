/* CPU device, private to matrix products: small ones with vector instructions. */
#ifndef ASN_DEVICE_CPU_GEMM_MATMUL_SMALL_H
#define ASN_DEVICE_CPU_GEMM_MATMUL_SMALL_H

#include "device/cpu/context.h"
#include "device/cpu/kernels.h"

/* Products one after the other: item i at a + i * a_step, b + i * b_step, c + i * c_step;
 * s is that of one of them. */
typedef void (*asnd_matmul_many_fn)(const asnd_matmul *s, int64_t count, const char *a,
                                    int64_t a_step, const char *b, int64_t b_step,
                                    char *c, int64_t c_step);

/* What one instruction set has; [0] float32, [1] float64. */
typedef struct asnd_small_products {
    asnd_matmul_fn one[2];
    asnd_matmul_many_fn many[2][9]; /* [elements of a row of C]; NULL for most */
} asnd_small_products;
extern const asnd_small_products asn_small_products_avx2, asn_small_products_avx512;

/* The function for rows of C of n elements, a few, or NULL: the dtype is no float64 or
 * float32, or there is none for the processor. It gives the bits of kernels.h's matmul.
 * Rows that half a register of AVX-512 holds gain nothing by the other. */
static inline asnd_matmul_fn asn_matmul_small(asn_dtype dt, int64_t n) {
    const asnd_context *context = asn_context_get();
    bool half = n <= (dt == ASN_F32 ? 8 : 4);
    const asnd_small_products *by = half ? context->half_products : context->products;
    return by && (dt == ASN_F64 || dt == ASN_F32) ? by->one[dt == ASN_F64] : NULL;
}
/* The function for many products of rows of n elements and sums of k, whose A has
 * contiguous rows; NULL as above, or where there is none for n and k. */
static inline asnd_matmul_many_fn asn_matmul_many(asn_dtype dt, int64_t n, int64_t k) {
    const asnd_small_products *by = asn_context_get()->products;
    if (!by || k < 2 || k > 4 || n > 8 || (dt != ASN_F64 && dt != ASN_F32)) return NULL;
    return by->many[dt == ASN_F64][n];
}

#endif
