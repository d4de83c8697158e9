/* L3 C binding: products, solvers and decompositions (linalg.h).
 *
 * Solvers are one operation of the core with a code (graph/operators/solvers.h), which
 * checks shapes and dtypes and says LINALG where a matrix has no result; what NumPy
 * composes around them (eig's checks, pinv) is numpy/decompositions.h. A result that the
 * caller does not want (NULL) costs as little as the device allows: qr without q and svd
 * without vectors are operations of their own.
 *
 * Stacks of matrices are the rule: all axes but the last two are a batch, for every
 * function but dot, outer, tensordot, lstsq.
 */
#include "capi/capi.h"

#include <float.h>

#include "graph/operators/solvers.h"
#include "numpy/decompositions.h"
#include "numpy/products.h"
#include "numpy/sums.h"

/* ---- products */

/* numpy.matmul: the last two axes are matrices, the others a broadcast stack. */
asnp_status asnp_matmul(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(b);
    NEED(out);
    return asn_capi_wrap(asn_matmul(&a->array, &b->array, NULL, &made), &made, out);
}

/* numpy.dot: for more than two axes not the same as matmul. */
asnp_status asnp_dot(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(b);
    NEED(out);
    return asn_capi_wrap(asn_dot(&a->array, &b->array, NULL, &made), &made, out);
}

/* Of the flattened arguments, as numpy.outer. */
asnp_status asnp_outer(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(b);
    NEED(out);
    return asn_capi_wrap(asn_np_outer(&made, &a->array, &b->array, NULL), &made, out);
}

/* Pairs of axes, each from both arguments; none of them makes an outer product. */
asnp_status asnp_tensordot(const asnp_array *a, const asnp_array *b, int32_t num_axes,
                           const int32_t *axes_a, const int32_t *axes_b,
                           asnp_array **out) {
    IN_LIBRARY;
    int64_t left[ASN_MAX_DIMS], right[ASN_MAX_DIMS];
    asn_array made;
    NEED(a);
    NEED(b);
    NEED(out);
    if (num_axes < 0 || num_axes > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "num_axes is %d; it may be 0 to %d",
                             (int)num_axes, ASN_MAX_DIMS);
    if (num_axes) {
        NEED(axes_a);
        NEED(axes_b);
    }
    for (int i = 0; i < num_axes; i++) {
        left[i] = axes_a[i];
        right[i] = axes_b[i];
    }
    return asn_capi_wrap(
        asn_np_tensordot(&made, &a->array, &b->array, num_axes, left, right), &made, out);
}

/* Over the last two axes, unlike numpy.trace, whose default is the first two. */
asnp_status asnp_trace(const asnp_array *a, int64_t offset, asnp_array **out) {
    IN_LIBRARY;
    const asn_np_diagonals of = {offset, -2, -1};
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_np_trace(&made, NULL, &a->array, &of, ASN_DTYPE_NONE, NULL),
                         &made, out);
}

/* ---- the device's solvers */

/* Results in order into *to[]; a NULL among them is not wanted. All handles or none:
 * where one cannot be made, those before it are released and *to[] is left alone. */
static asnp_status solver(const asn_solver *s, const asnp_array *a, const asnp_array *b,
                          asnp_array **const *to) {
    /* The device makes all results of the operation; what is not wanted ends at once. */
    asn_array made[ACLNNX_LINALG_MAX_OPERANDS];
    asnp_array *handles[ACLNNX_LINALG_MAX_OPERANDS] = {NULL};
    asnp_status status = ASNP_OK;
    int num = asn_solver_results(s->op);
    NEED(a);
    ASN_TRY(asn_solver_run(s, &a->array, b ? &b->array : NULL, made));
    for (int i = 0; i < num; i++) {
        if (status || !to[i])
            asn_array_fini(&made[i]);
        else
            status = asn_capi_wrap(ASN_OK, &made[i], &handles[i]);
    }
    if (status) asn_capi_release(handles, num);
    for (int i = 0; i < num && !status; i++)
        if (to[i]) *to[i] = handles[i];
    return status;
}

/* `failed`: what is said of a matrix without a result; NULL: every matrix has one. */
static asnp_status one_result(int op, const char *failed, const asnp_array *a,
                              const asnp_array *b, asnp_array **out) {
    const asn_solver s = {.op = op, .failed = failed};
    asnp_array **const to[1] = {out};
    NEED(out);
    return solver(&s, a, b, to);
}

/* b of one axis is a vector, anything else matrices, as in NumPy 2. */
asnp_status asnp_solve(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    IN_LIBRARY;
    NEED(b);
    return one_result(ACLNNX_LINALG_SOLVE, "Singular matrix", a, b, out);
}

/* LINALG where one of the matrices is singular; then there is no result for any. */
asnp_status asnp_inv(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    return one_result(ACLNNX_LINALG_INV, "Singular matrix", a, NULL, out);
}

/* A singular matrix has a determinant, 0: nothing can fail. */
asnp_status asnp_det(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    return one_result(ACLNNX_LINALG_DET, NULL, a, NULL, out);
}

/* Both results are needed: the sign is 0 of a singular matrix, and the logarithm -inf. */
asnp_status asnp_slogdet(const asnp_array *a, asnp_array **sign, asnp_array **logabsdet) {
    IN_LIBRARY;
    const asn_solver s = {.op = ACLNNX_LINALG_SLOGDET};
    asnp_array **const to[2] = {sign, logabsdet};
    NEED(sign);
    NEED(logabsdet);
    return solver(&s, a, NULL, to);
}

/* The triangle that `upper` names is read and made; the other is 0. */
asnp_status asnp_cholesky(const asnp_array *a, int32_t upper, asnp_array **out) {
    IN_LIBRARY;
    const asn_solver s = {.op = ACLNNX_LINALG_CHOLESKY,
                          .upper = upper != 0,
                          .failed = "Matrix is not positive definite"};
    asnp_array **const to[1] = {out};
    NEED(out);
    return solver(&s, a, NULL, to);
}

/* q NULL: R alone, which the device has an operation for. */
asnp_status asnp_qr(const asnp_array *a, int32_t complete, asnp_array **q,
                    asnp_array **r) {
    IN_LIBRARY;
    const asn_solver s = {.op = q ? ACLNNX_LINALG_QR : ACLNNX_LINALG_QR_R,
                          .full = complete != 0};
    asnp_array **const both[2] = {q, r};
    asnp_array **const one[1] = {r};
    NEED(r);
    return solver(&s, a, NULL, q ? both : one);
}

/* u and vh both NULL: the values alone. */
asnp_status asnp_svd(const asnp_array *a, int32_t full, asnp_array **u, asnp_array **s,
                     asnp_array **vh) {
    IN_LIBRARY;
    bool factors = u || vh;
    const asn_solver op = {.op = factors ? ACLNNX_LINALG_SVD : ACLNNX_LINALG_SVDVALS,
                           .full = full != 0,
                           .failed = "SVD did not converge"};
    asnp_array **const three[3] = {u, s, vh};
    asnp_array **const one[1] = {s};
    NEED(s);
    return solver(&op, a, NULL, factors ? three : one);
}

/* Complex in any case: a C program must know the dtype before it looks. */
asnp_status asnp_eig(const asnp_array *a, asnp_array **values, asnp_array **vectors) {
    IN_LIBRARY;
    asn_array made[2];
    asnp_array *handles[2] = {NULL};
    NEED(a);
    NEED(values);
    ASN_TRY(asn_np_eig(&made[0], vectors ? &made[1] : NULL, &a->array, false));
    asnp_status status = asn_capi_wrap(ASN_OK, &made[0], &handles[0]);
    if (status && vectors) asn_array_fini(&made[1]);
    if (!status && vectors) status = asn_capi_wrap(ASN_OK, &made[1], &handles[1]);
    if (status) {
        asnp_release(handles[0]);
        return status;
    }
    *values = handles[0];
    if (vectors) *vectors = handles[1];
    return ASNP_OK;
}

/* Only one triangle of `a` is read, as `upper` says. */
asnp_status asnp_eigh(const asnp_array *a, int32_t upper, asnp_array **values,
                      asnp_array **vectors) {
    IN_LIBRARY;
    const asn_solver s = {.op = vectors ? ACLNNX_LINALG_EIGH : ACLNNX_LINALG_EIGVALSH,
                          .upper = upper != 0,
                          .failed = "Eigenvalues did not converge"};
    asnp_array **const to[2] = {values, vectors};
    NEED(values);
    return solver(&s, a, NULL, to);
}

/* ---- least squares */

/* One matrix, and b a vector or a matrix: the device has no stacks here. */
static asn_status check_lstsq(const asnp_array *a, const asnp_array *b) {
    int over = asnp_ndim(b) == 1 ? asnp_ndim(a) : asnp_ndim(b);
    if (asnp_ndim(a) != 2 || over != 2)
        return asn_error_set(ASN_ERR_LINALG,
                             "%d-dimensional array given. Array must be two-dimensional",
                             asnp_ndim(a) != 2 ? asnp_ndim(a) : over);
    return asnp_shape(a)[0] == asnp_shape(b)[0]
               ? ASN_OK
               : asn_error_set(ASN_ERR_LINALG,
                               "lstsq: a has %lld rows and b %lld; they must be as many",
                               (long long)asnp_shape(a)[0], (long long)asnp_shape(b)[0]);
}

/* Residuals exist where the solution is determined and there are more equations than
 * unknowns; else NumPy gives an empty array, and so does this. */
asnp_status asnp_lstsq(const asnp_array *a, const asnp_array *b, double rcond,
                       asnp_array **x, asnp_array **residuals, int64_t *rank,
                       asnp_array **singular_values) {
    IN_LIBRARY;
    /* x, residuals, rank, singular values, in the device's order. */
    asnp_array *made[4] = {NULL}, *kept = NULL;
    asnp_array **const to[4] = {&made[0], &made[1], &made[2], &made[3]};
    int64_t found = 0;
    NEED(a);
    NEED(b);
    NEED(x);
    ASN_TRY(check_lstsq(a, b));
    int64_t m = asnp_shape(a)[0], n = asnp_shape(a)[1];
    const asn_solver s = {.op = ACLNNX_LINALG_LSTSQ,
                          .rcond =
                              rcond < 0 ? DBL_EPSILON * (double)(m > n ? m : n) : rcond,
                          .failed = "SVD did not converge in Linear Least Squares"};
    ASN_TRY(solver(&s, a, b, to));
    asnp_status status = asnp_get_int64(made[2], NULL, &found);
    /* The device gives residuals in any case; those that NumPy does not give are sliced
     * away. */
    bool determined = found == n && m > n;
    if (!status) status = asnp_slice(made[1], 0, 0, determined ? ASNP_END : 0, 1, &kept);
    if (!status) {
        *x = made[0];
        made[0] = NULL;
        if (rank) *rank = found;
        if (residuals) *residuals = kept, kept = NULL;
        if (singular_values) *singular_values = made[3], made[3] = NULL;
    }
    asnp_release(kept);
    asn_capi_release(made, 4);
    return status;
}

/* Singular values up to rcond times the largest count as 0. */
asnp_status asnp_pinv(const asnp_array *a, double rcond, asnp_array **out) {
    IN_LIBRARY;
    const asn_operand share = asn_operand_float(rcond);
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_np_pinv(&made, &a->array, &share, false), &made, out);
}
