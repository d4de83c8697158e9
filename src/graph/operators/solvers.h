/* L2 graph: solvers and decompositions of (stacks of) matrices with NumPy's rules about
 * shapes, dtypes and broadcasting, over asn_linalg (families.h).
 *
 * As in NumPy everything is computed in double precision: float32 and complex64 are
 * widened on the way in, and results are rounded once, on the way out. */
#ifndef ASN_GRAPH_OPERATORS_SOLVERS_H
#define ASN_GRAPH_OPERATORS_SOLVERS_H

#include "aclnn/aclnnx.h"
#include "graph/array.h"

/* What distinguishes a call of one operation from another. */
typedef struct {
    int op;             /* ACLNNX_LINALG_* */
    bool full, upper;   /* QR's and SVD's square factors; the triangle that is read */
    double rcond;       /* of LSTSQ */
    const char *failed; /* what is said of a matrix without a result; NULL: no error */
} asn_solver;

/* How many results an operation has. */
int asn_solver_results(int op);
/* Fills results[asn_solver_results(op)] (uninitialised before). b: the second operand, or
 * NULL; a vector counts as one column, which the result then lacks. LINALG (LinAlgError):
 * not matrices, not square, or `failed`. VALUE: b's rows are not a's. TYPE: half floats.
 */
ASN_CHECK_RESULT asn_status asn_solver_run(const asn_solver *s, const asn_array *a,
                                           const asn_array *b, asn_array *results);

/* Whether matrices with infinities count as those whose SVD does not converge, which else
 * have NaN for singular values; false at first. Set before the first call, as the NumPy
 * has it that answers are compared with. */
void asn_solver_svd_of_finite(bool only);

#endif
