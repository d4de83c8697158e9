/* CPU device, private to matrix products: a matrix times a few vectors or some rows,
 * which is read once, as it lies. */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_FEW_H
#define ASN_DEVICE_CPU_GEMM_GEMM_FEW_H

#include "device/cpu/gemv/gemv_lines.h"
#include "device/cpu/nd.h"

enum { ASN_ROWS_SOME = 512 /* rows by a widened matrix: of more, a copy of it wins */ };

/* t = a b where one of them is up to `most` vectors and the other a matrix with
 * contiguous rows or columns: of halves, with vectors of the same dtype or float32 and t
 * in float32; of float32 and float64, two to four vectors, and columns of b or rows of a
 * that are contiguous. *done false: it is no such product, or too small a one.
 * ASN_ERR_MEMORY, ASN_ERR_RUNTIME (no BLAS). */
ASN_CHECK_RESULT asn_status asn_gemm_few(const asnd_nd *a, const asnd_nd *b,
                                         const asnd_nd *t, int64_t most, bool *done);

/* As asn_wide_lines_run, of any count of vectors: of more than ASN_WIDE_FEW a product of
 * matrices of float32 for some lines at a time, which stay in the cache. Must equal the
 * product by a float32 copy of the whole matrix, but for the order of sums. */
ASN_CHECK_RESULT asn_status asn_gemm_lines(const asnd_wide_lines *l, double ns);

#endif
