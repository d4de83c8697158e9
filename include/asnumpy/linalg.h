/* AsNumpy in C: products, solvers, decompositions, norms. Include asnumpy/asnumpy.h.
 *
 * A matrix is the last two axes; axes before them are a stack of matrices and broadcast.
 * Solvers compute in double precision and round to single for float32 and complex64;
 * integers count as float64. TYPE: halves. LINALG: not square, singular, not positive
 * definite, no convergence. UNSUPPORTED: the device does not compute it.
 */
#ifndef ASNUMPY_LINALG_H_
#define ASNUMPY_LINALG_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- products; VALUE: shapes that do not fit */

/* numpy.matmul: 1-d arguments are a row on the left, a column on the right. */
ASNUMPY_API asnp_status asnp_matmul(const asnp_array *a, const asnp_array *b,
                                    asnp_array **out);
/* numpy.dot: over a's last and b's second-last axis; numbers multiply. */
ASNUMPY_API asnp_status asnp_dot(const asnp_array *a, const asnp_array *b,
                                 asnp_array **out);
/* All products of the elements of two flattened arrays. */
ASNUMPY_API asnp_status asnp_outer(const asnp_array *a, const asnp_array *b,
                                   asnp_array **out);
/* The sum of products over axes_a[i] of a and axes_b[i] of b. */
ASNUMPY_API asnp_status asnp_tensordot(const asnp_array *a, const asnp_array *b,
                                       int32_t num_axes, const int32_t *axes_a,
                                       const int32_t *axes_b, asnp_array **out);
/* The sum along a diagonal of the last two axes. */
ASNUMPY_API asnp_status asnp_trace(const asnp_array *a, int64_t offset, asnp_array **out);

/* ---- systems */

/* x with a x = b; b is one vector, or matrices of columns. */
ASNUMPY_API asnp_status asnp_solve(const asnp_array *a, const asnp_array *b,
                                   asnp_array **out);
ASNUMPY_API asnp_status asnp_inv(const asnp_array *a, asnp_array **out);
/* The Moore-Penrose inverse; singular values up to rcond times the largest count as 0. */
ASNUMPY_API asnp_status asnp_pinv(const asnp_array *a, double rcond, asnp_array **out);
ASNUMPY_API asnp_status asnp_det(const asnp_array *a, asnp_array **out);
/* sign * exp(logabsdet) is the determinant. */
ASNUMPY_API asnp_status asnp_slogdet(const asnp_array *a, asnp_array **sign,
                                     asnp_array **logabsdet);
/* x that minimises |b - a x|, of those the shortest, for one matrix a; and, where not
 * NULL: the sums of squared residuals (empty unless a has full rank and more rows than
 * columns), the rank, the singular values. rcond as of pinv; negative: eps * max(m, n).
 */
ASNUMPY_API asnp_status asnp_lstsq(const asnp_array *a, const asnp_array *b, double rcond,
                                   asnp_array **x, asnp_array **residuals, int64_t *rank,
                                   asnp_array **singular_values);

/* ---- decompositions */

/* L (upper 0) with L L^H = a, or U (upper 1) with U^H U = a; one triangle is read. */
ASNUMPY_API asnp_status asnp_cholesky(const asnp_array *a, int32_t upper,
                                      asnp_array **out);
/* a = q r; complete 1: q is square. q may be NULL: r alone. */
ASNUMPY_API asnp_status asnp_qr(const asnp_array *a, int32_t complete, asnp_array **q,
                                asnp_array **r);
/* a = (u * s) vh, s descending; full 1: u and vh are square. u and vh both NULL: s alone.
 */
ASNUMPY_API asnp_status asnp_svd(const asnp_array *a, int32_t full, asnp_array **u,
                                 asnp_array **s, asnp_array **vh);
/* Eigenvalues and, where not NULL, right eigenvectors of length 1: complex, also where
 * all happen to be real. */
ASNUMPY_API asnp_status asnp_eig(const asnp_array *a, asnp_array **values,
                                 asnp_array **vectors);
/* The same of Hermitian matrices, given by one triangle: real and ascending. */
ASNUMPY_API asnp_status asnp_eigh(const asnp_array *a, int32_t upper, asnp_array **values,
                                  asnp_array **vectors);

/* ---- norms; integers count as float64 */

/* Of vectors along axes (NULL: of all elements): sum(|a|**ord)**(1/ord); INFINITY the
 * largest |a|, -INFINITY the smallest, 0 the number of nonzero elements. Over the two
 * axes of a matrix, ord 2 is Frobenius' norm. */
ASNUMPY_API asnp_status asnp_vector_norm(const asnp_array *a, double ord,
                                         int32_t num_axes, const int32_t *axes,
                                         int32_t keepdims, asnp_array **out);
/* Of matrices; ord is "fro", "nuc" (sum of singular values), "2" and "-2" (the largest
 * and the smallest), "1" and "-1" (of the columns' sums), "inf" and "-inf" (rows'). */
ASNUMPY_API asnp_status asnp_matrix_norm(const asnp_array *a, const char *ord,
                                         int32_t keepdims, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
