/* CPU device: matrix products of every dtype.
 *
 * float32 and float64 are our own with AVX-512; else, and complex, they run OpenBLAS,
 * single-threaded, under our own split over the pool. It is opened at the first product
 * that needs it: $ASNUMPY_OPENBLAS, else libscipy_openblas.so beside this library, else
 * the system's libopenblas. Small products and vectors are our own loops and need no
 * library. Halves accumulate in float32; bool is or-and; integers wrap.
 */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_H
#define ASN_DEVICE_CPU_GEMM_GEMM_H

#include "device/cpu/nd.h"

/* c = a @ b. Shapes (..., m, k), (..., k, n), (..., m, n) with one ndim >= 2 and one
 * batch shape (a and b broadcast by 0 strides); one dtype; any strides; c overlaps
 * neither. k = 0 gives zeros. Errors: ASN_ERR_RUNTIME when no BLAS can be opened,
 * ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_cpu_matmul(const asnd_nd *a, const asnd_nd *b,
                                           const asnd_nd *c);

/* The same where `a` and `b` have different dtypes, float32 and a half, c is float32 and
 * every product is one by a few vectors: without a copy of the matrices. *done false: it
 * is no such product, and nothing happened. */
ASN_CHECK_RESULT asn_status asn_cpu_matmul_mixed(const asnd_nd *a, const asnd_nd *b,
                                                 const asnd_nd *c, bool *done);

/* c = conjugate(a) @ b of a complex row and column. */
void asn_cpu_vdot(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c);

/* c = alpha * (a @ b) + beta * c; alpha, beta point to one element of the dtype (of
 * float32 for halves). beta == 0 never reads c. */
ASN_CHECK_RESULT asn_status asn_cpu_gemm(const void *alpha, const asnd_nd *a,
                                         const asnd_nd *b, const void *beta,
                                         const asnd_nd *c);

/* A symbol of the BLAS/LAPACK library by its plain name ("cblas_dgemm", "dgesv_"),
 * whatever the library's prefix. ASN_ERR_MEMORY: there was none to open the library;
 * ASN_ERR_RUNTIME: there is no such library, or symbol in it. */
ASN_CHECK_RESULT asn_status asn_blas_symbol(const char *name, void **symbol);

#endif
