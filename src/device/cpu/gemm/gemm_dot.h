/* CPU device, private to matrix products: int8, uint8 and bfloat16 by the processor's dot
 * products of pairs and quadruples (AVX-512 BF16 and VNNI). */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_DOT_H
#define ASN_DEVICE_CPU_GEMM_GEMM_DOT_H

#include <stdbool.h>

#include "device/cpu/context.h"
#include "device/cpu/nd.h"

/* t = a @ b: int8 or uint8 all three, wrapping, int8 with t int32, wrapping too, or
 * bfloat16 with t float32 or, rounded once, bfloat16; shapes as in asn_cpu_matmul, k > 0.
 * *done tells whether it was: false when the processor has no such instructions, the
 * product is small, rows of a or t are not contiguous, or sums are too long to be rounded
 * once. */
ASN_CHECK_RESULT static inline asn_status asn_gemm_dot(const asnd_nd *a, const asnd_nd *b,
                                                       const asnd_nd *t, bool *done) {
    const asnd_context *context = asn_context_get();
    *done = false;
    return context->dots ? context->dots(a, b, t, done) : ASN_OK;
}

enum { ASN_DOT_ROWS = 6 }; /* of a tile */

/* Whether a product of such a size is none of the small ones. */
static inline bool asn_gemm_dot_pays(int64_t m, int64_t k, int64_t n) {
    enum { LEAST_WORK = 1 << 15 };
    return m >= ASN_DOT_ROWS && (double)m * (double)k * (double)n >= LEAST_WORK;
}

/* The context's, with AVX-512. */
ASN_CHECK_RESULT asn_status asn_gemm_dot_avx512(const asnd_nd *a, const asnd_nd *b,
                                                const asnd_nd *t, bool *done);
/* out[i] = the inner product in float32 of row i, of n contiguous bfloat16, and v, n of
 * them; out_step in bytes. Where the context has dots_of_bf16. */
void asn_dots_of_bf16_avx512(int64_t rows, int64_t n, const char *x, int64_t x_row,
                             const uint16_t *v, char *out, int64_t out_step);

#endif
