/* L2 numpy: what NumPy makes of eigenvalues and singular values. (Stacks of) matrices in
 * the last two axes. LINALG (LinAlgError) as graph/operators/solvers.h says; TYPE:
 * halves.
 */
#ifndef ASN_NUMPY_DECOMPOSITIONS_H
#define ASN_NUMPY_DECOMPOSITIONS_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* Eigenvalues and, where not NULL, right eigenvectors of length 1: complex, but with
 * `real` real where `a` is and all eigenvalues are, which waits for them. LINALG:
 * infinities or NaN. */
ASN_CHECK_RESULT asn_status asn_np_eig(asn_array *values, asn_array *vectors,
                                       const asn_array *a, bool real);

/* a = (u * s) vh of Hermitian matrices, s descending: their eigenvalues' sizes. */
ASN_CHECK_RESULT asn_status asn_np_svd_hermitian(asn_array *u, asn_array *s,
                                                 asn_array *vh, const asn_array *a);

/* The Moore-Penrose inverse; singular values up to rcond times the largest count as 0. An
 * array of rcond is one for each matrix and broadcasts. */
ASN_CHECK_RESULT asn_status asn_np_pinv(asn_array *result, const asn_array *a,
                                        const asn_operand *rcond, bool hermitian);

#endif
