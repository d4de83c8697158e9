/* L2 numpy: eig, pinv, and singular values of Hermitian matrices (decompositions.h).
 *
 * The device decomposes in double precision and always gives complex eigenvalues. NumPy
 * shows real ones where all imaginary parts are exactly zero; that is asked of the wide
 * results, before they are rounded to single precision, where a small part could vanish.
 * The pseudo-inverse divides by 1 where a singular value counts as nothing, so that no
 * floating-point exception is raised for quotients that nobody sees.
 */
#include "numpy/decompositions.h"

#include <string.h>

#include "array/views.h"
#include "graph/operators/families.h"
#include "graph/operators/solvers.h"
#include "graph/ufunc/operands.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/picking.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* `a` with a new axis before axis `at` (of the result). */
static asn_status expanded(asn_array *out, const asn_array *a, int at) {
    asn_layout view;
    ASN_TRY(asn_view_expand(&view, &a->layout, a->layout.ndim + 1, (uint64_t)1 << at));
    asn_array_view(out, a, &view);
    return ASN_OK;
}

/* ---- eigenvalues */

/* Waits for the values. */
static asn_status all_true(const asn_array *truth, bool *yes) {
    const asn_reduce_options all = {
        .axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE, .now = true};
    asn_array answer;
    asn_scalar value;
    ASN_TRY(asn_ufunc_reduce(ASN_OP_LOGICAL_AND, truth, NULL, &answer, &all));
    asn_status status = asn_array_get_item(&answer, 0, &value);
    asn_array_fini(&answer);
    *yes = !status && value.bytes[0];
    return status;
}

/* LAPACK may not return from what is not finite. Other shapes and dtypes have messages of
 * their own, the solver's. */
static asn_status check_finite(const asn_array *a) {
    ASN_TEMPORARIES;
    const asn_layout *l = &a->layout;
    const asn_dtype dtype = asn_layout_dtype(l);
    bool finite;
    if (l->ndim < 2 || l->shape[l->ndim - 1] != l->shape[l->ndim - 2] ||
        !asn_is_inexact(dtype) || asn_is_half(dtype))
        return ASN_OK;
    ASN_MAKE(truth, asn_np_unary(truth, ASN_OP_ISFINITE, a));
    ASN_TRY(all_true(truth, &finite));
    return finite ? ASN_OK
                  : asn_error_set(ASN_ERR_LINALG, "Array must not contain infs or NaNs");
}

/* Whether all imaginary parts are exactly zero. Waits for the values. */
static asn_status are_real(const asn_array *values, bool *real) {
    ASN_TEMPORARIES;
    ASN_MAKE(imaginary, asn_np_part(imaginary, values, 1));
    ASN_MAKE(zero,
             asn_np_binary(zero, ASN_OP_EQUAL, asn_np_of(imaginary), asn_operand_int(0)));
    return all_true(zero, real);
}

/* A wide complex result as the caller gets it. */
static asn_status delivered(asn_array *out, const asn_array *wide, bool real,
                            bool single) {
    ASN_TEMPORARIES;
    if (!real) return asn_np_astype(out, wide, single ? ASN_C64 : ASN_C128);
    ASN_MAKE(part, asn_np_part(part, wide, 0));
    return asn_copy(out, part, single ? ASN_F32 : ASN_F64, 'C');
}

/* (Contract in decompositions.h.) The results of the solver are wide; they become the
 * caller's dtype at the end. */
asn_status asn_np_eig(asn_array *values, asn_array *vectors, const asn_array *a,
                      bool real) {
    ASN_TEMPORARIES;
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    const bool single = dtype == ASN_F32 || dtype == ASN_C64;
    const asn_solver s = {.op = vectors ? ACLNNX_LINALG_EIG : ACLNNX_LINALG_EIGVALS,
                          .failed = "Eigenvalues did not converge"};
    ASN_TRY(check_finite(a));
    ASN_MAKE(x, asn_np_astype(x, a,
                              !single            ? dtype
                              : dtype == ASN_F32 ? ASN_F64
                                                 : ASN_C128));
    asn_array *made = &temporaries_.made[temporaries_.count];
    ASN_TRY(asn_solver_run(&s, x, NULL, made));
    temporaries_.count += asn_solver_results(s.op);
    real = real && !asn_is_complex(dtype);
    if (real) ASN_TRY(are_real(&made[0], &real));
    ASN_TRY(delivered(values, &made[0], real, single));
    asn_status status = vectors ? delivered(vectors, &made[1], real, single) : ASN_OK;
    if (status) asn_array_fini(values);
    return status;
}

/* ---- singular values */

/* -1 where a value is negative, else 1, in their dtype. */
static asn_status signs_of(asn_array *out, const asn_array *values) {
    ASN_TEMPORARIES;
    const asn_dtype dtype = asn_layout_dtype(&values->layout);
    asn_operand minus = {.weak = 0}, one = {.weak = 0};
    const asn_scalar numbers[2] = {asn_scalar_int(-1), asn_scalar_int(1)};
    ASN_TRY(asn_scalar_cast(&numbers[0], dtype, &minus.scalar));
    ASN_TRY(asn_scalar_cast(&numbers[1], dtype, &one.scalar));
    ASN_MAKE(negative,
             asn_np_binary(negative, ASN_OP_LESS, asn_np_of(values), asn_operand_int(0)));
    return asn_where(out, negative, &minus, &one);
}

/* Equal sizes come in the reverse of their order, as a reversed stable argsort gives
 * them. */
static asn_status descending(asn_array *out, const asn_array *sizes) {
    ASN_TEMPORARIES;
    const int last = sizes->layout.ndim - 1;
    ASN_MAKE(ascending, asn_argsort(ascending, sizes, last));
    return asn_np_flip(out, ascending, (uint64_t)1 << last);
}

/* The conjugate transpose of u * sign, a column each. */
static asn_status signed_adjoint(asn_array *out, const asn_array *u,
                                 const asn_array *sign) {
    ASN_TEMPORARIES;
    ASN_MAKE(row, expanded(row, sign, sign->layout.ndim - 1));
    ASN_MAKE(product,
             asn_np_binary(product, ASN_OP_MULTIPLY, asn_np_of(u), asn_np_of(row)));
    ASN_MAKE(turned, asn_np_swapaxes(turned, product, -1, -2));
    return asn_np_unary(out, ASN_OP_CONJUGATE, turned);
}

/* (Contract in decompositions.h.) For a Hermitian a = v w v^H: the sizes of w are the
 * singular values, u is v, and the signs of w go into vh. Everything is reordered by the
 * sizes. */
asn_status asn_np_svd_hermitian(asn_array *u, asn_array *s, asn_array *vh,
                                const asn_array *a) {
    ASN_TEMPORARIES;
    const asn_solver eigh = {.op = ACLNNX_LINALG_EIGH,
                             .failed = "Eigenvalues did not converge"};
    asn_array *values = &temporaries_.made[0], *vectors = &temporaries_.made[1];
    ASN_TRY(asn_solver_run(&eigh, a, NULL, values));
    temporaries_.count = 2;
    ASN_MAKE(sign, signs_of(sign, values));
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, values));
    ASN_MAKE(order, descending(order, size));
    ASN_MAKE(columns, expanded(columns, order, order->layout.ndim - 1));
    ASN_MAKE(ordered, asn_np_take_along_axis(ordered, sign, order, -1));
    ASN_MAKE(sizes, asn_np_take_along_axis(sizes, size, order, -1));
    ASN_MAKE(left, asn_np_take_along_axis(left, vectors, columns, -1));
    ASN_MAKE(right, signed_adjoint(right, left, ordered));
    asn_array *const results[3] = {u, s, vh}, *const made[3] = {left, sizes, right};
    for (int i = 0; i < 3; i++) {
        asn_status status = asn_array_share(results[i], made[i]);
        for (int k = 0; status && k < i; k++)
            asn_array_fini(results[k]);
        ASN_TRY(status);
    }
    return ASN_OK;
}

/* ---- the pseudo-inverse */

/* 1 / s, and 0 for those up to rcond times the largest, in the dtype of s. */
static asn_status inverse_values(asn_array *out, const asn_array *s,
                                 const asn_operand *rcond) {
    ASN_TEMPORARIES;
    const asn_reduce_options last = {.axes = (uint64_t)1 << (s->layout.ndim - 1),
                                     .keepdims = true,
                                     .dtype = ASN_DTYPE_NONE};
    const asn_operand zero = asn_operand_int(0), one = asn_operand_int(1);
    asn_operand share = *rcond;
    share.weak = 0; /* a number counts as the array NumPy makes of it */
    if (rcond->array) {
        ASN_MAKE(column, expanded(column, rcond->array, rcond->array->layout.ndim));
        share.array = column;
    }
    ASN_MAKE(largest, asn_ufunc_reduce(ASN_OP_MAXIMUM, s, NULL, largest, &last));
    ASN_MAKE(cutoff, asn_np_binary(cutoff, ASN_OP_MULTIPLY, share, asn_np_of(largest)));
    ASN_MAKE(counts,
             asn_np_binary(counts, ASN_OP_GREATER, asn_np_of(s), asn_np_of(cutoff)));
    /* NumPy fills s itself, which must then hold one quotient for each of these. */
    ASN_TRY(asn_check_out_shape(s, counts->layout.ndim, counts->layout.shape));
    const asn_operand values = asn_np_of(s);
    ASN_MAKE(divisor, asn_where(divisor, counts, &values, &one));
    ASN_MAKE(inverse, asn_np_unary(inverse, ASN_OP_RECIPROCAL, divisor));
    const asn_operand quotient = asn_np_of(inverse);
    return asn_where(out, counts, &quotient, &zero);
}

/* Of a dtype as it is, integers too: NumPy's empty. */
static asn_status of_nothing(asn_array *result, const asn_array *a) {
    const asn_layout *l = &a->layout;
    int64_t shape[ASN_MAX_DIMS];
    memcpy(shape, l->shape, (size_t)l->ndim * sizeof *shape);
    shape[l->ndim - 1] = l->shape[l->ndim - 2];
    shape[l->ndim - 2] = l->shape[l->ndim - 1];
    return asn_array_new(result, asn_layout_dtype(l), l->ndim, shape, 'C');
}

/* conj(a) = u s vh, so the inverse of a is vh^T s^-1 u^T: no conjugate of the factors is
 * needed. */
asn_status asn_np_pinv(asn_array *result, const asn_array *a, const asn_operand *rcond,
                       bool hermitian) {
    ASN_TEMPORARIES;
    const asn_layout *l = &a->layout;
    const asn_solver svd = {.op = ACLNNX_LINALG_SVD, .failed = "SVD did not converge"};
    const asn_array *x = a;
    if (l->ndim >= 2 && !(l->shape[l->ndim - 1] && l->shape[l->ndim - 2]))
        return of_nothing(result, a);
    if (asn_is_complex(asn_layout_dtype(l))) {
        ASN_MAKE(conjugate, asn_np_unary(conjugate, ASN_OP_CONJUGATE, a));
        x = conjugate;
    }
    asn_array *made = &temporaries_.made[temporaries_.count]; /* u, s, vh */
    ASN_TRY(hermitian ? asn_np_svd_hermitian(&made[0], &made[1], &made[2], x)
                      : asn_solver_run(&svd, x, NULL, made));
    temporaries_.count += 3;
    ASN_MAKE(inverse, inverse_values(inverse, &made[1], rcond));
    ASN_MAKE(column, expanded(column, inverse, inverse->layout.ndim));
    ASN_MAKE(left, asn_np_swapaxes(left, &made[0], -1, -2));
    ASN_MAKE(scaled,
             asn_np_binary(scaled, ASN_OP_MULTIPLY, asn_np_of(column), asn_np_of(left)));
    ASN_MAKE(right, asn_np_swapaxes(right, &made[2], -1, -2));
    return asn_matmul(right, scaled, NULL, result);
}
