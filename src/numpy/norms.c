/* L2 numpy: norms (norms.h).
 *
 * Each is |a|, or |a|**2, and one or two reductions; what lies between is named transient
 * before it is reduced, so that a large array is read once and nothing of its size
 * written. Three things follow NumPy where mathematics leaves a choice: powers are taken
 * without scaling (they may overflow, and warn), the last root is a power by 1 / ord
 * rounded to the result's dtype, and the norm of everything is a dot product of the
 * elements in the order of memory, which is the fastest and rounds as NumPy's does.
 */
#include "numpy/norms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/views.h"
#include "graph/operators/families.h"
#include "graph/operators/solvers.h"
#include "graph/small/direct.h"
#include "graph/trace/transient.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* What the norm is computed in; `a` itself where it is of such a dtype. */
static asn_status as_float(asn_array *out, const asn_array *a) {
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    bool is_float = asn_is_inexact(dtype) && dtype != ASN_BF16;
    return asn_np_astype(out, a, is_float ? dtype : ASN_F64);
}

/* |x|**2, real. */
static asn_status squared(asn_array *out, const asn_array *x) {
    ASN_TEMPORARIES;
    if (!asn_is_complex(asn_layout_dtype(&x->layout)))
        return asn_np_binary(out, ASN_OP_MULTIPLY, asn_np_of(x), asn_np_of(x));
    ASN_MAKE(conjugate, asn_np_unary(conjugate, ASN_OP_CONJUGATE, x));
    ASN_MAKE(product,
             asn_np_binary(product, ASN_OP_MULTIPLY, asn_np_of(conjugate), asn_np_of(x)));
    return asn_np_unary(out, ASN_OP_REAL, product);
}

/* x**e of x >= 0, by cheaper operations for the exponents that have some. */
static asn_status to_power(asn_array *out, const asn_array *x, double e) {
    bool done;
    if (e == 0.5) return asn_np_unary(out, ASN_OP_SQRT, x);
    if (e == -1) return asn_np_unary(out, ASN_OP_RECIPROCAL, x);
    ASN_TRY(asn_power_simple(out, x, e, &done));
    return done ? ASN_OK
                : asn_np_binary(out, ASN_OP_POWER, asn_np_of(x), asn_operand_float(e));
}

/* op.reduce of what only the caller holds and is about to release. */
static asn_status reduced(asn_array *out, asn_op op, const asn_array *dropped,
                          const asn_reduce_options *over) {
    const bool large = dropped->layout.size > ASN_DIRECT_ELEMENTS;
    if (large) asn_transient_name(dropped);
    asn_status status = asn_ufunc_reduce(op, dropped, NULL, out, over);
    if (large) asn_transient_name(NULL);
    return status;
}

/* ---- of all elements */

/* All elements along one axis in the order of memory: a view where there are no gaps. */
static asn_status in_memory_order(asn_array *out, const asn_array *a) {
    ASN_TEMPORARIES;
    const asn_layout *l = &a->layout;
    asn_layout view;
    if (l->ndim < 2 || asn_layout_contiguous(l)) return asn_np_ravel(out, a);
    int perm[ASN_MAX_DIMS] = {0};
    for (int d = 0; d < l->ndim; d++) {
        int at = d;
        for (; at > 0 && llabs(l->strides[perm[at - 1]]) < llabs(l->strides[d]); at--)
            perm[at] = perm[at - 1];
        perm[at] = d;
    }
    ASN_TRY(asn_view_transpose(&view, l, perm));
    asn_array *turned = &temporaries_.made[temporaries_.count++];
    asn_array_view(turned, a, &view);
    return asn_np_ravel(out, turned);
}

/* The sum of squares: of a complex line, of both parts. */
static asn_status dot_itself(asn_array *out, const asn_array *line) {
    ASN_TEMPORARIES;
    if (!asn_is_complex(asn_layout_dtype(&line->layout)))
        return asn_dot(line, line, NULL, out);
    ASN_MAKE(real, asn_np_part(real, line, 0));
    ASN_MAKE(imaginary, asn_np_part(imaginary, line, 1));
    ASN_MAKE(first, asn_dot(real, real, NULL, first));
    ASN_MAKE(second, asn_dot(imaginary, imaginary, NULL, second));
    return asn_np_binary(out, ASN_OP_ADD, asn_np_of(first), asn_np_of(second));
}

asn_status asn_np_norm(asn_array *result, const asn_array *a, bool keepdims) {
    ASN_TEMPORARIES;
    int64_t ones[ASN_MAX_DIMS];
    ASN_MAKE(x, as_float(x, a));
    ASN_MAKE(line, in_memory_order(line, x));
    ASN_MAKE(sum, dot_itself(sum, line));
    if (!keepdims) return asn_np_unary(result, ASN_OP_SQRT, sum);
    ASN_MAKE(root, asn_np_unary(root, ASN_OP_SQRT, sum));
    for (int d = 0; d < a->layout.ndim; d++)
        ones[d] = 1;
    return asn_np_reshape(result, root, a->layout.ndim, ones);
}

/* ---- of vectors */

/* The extreme |x|. The largest of none is 0; there is no smallest. */
static asn_status extreme(asn_array *result, const asn_array *x, bool largest,
                          const asn_reduce_options *over) {
    ASN_TEMPORARIES;
    const asn_operand zero = asn_operand_int(0);
    asn_reduce_options options = *over;
    if (largest) options.initial = &zero;
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, x));
    return reduced(result, largest ? ASN_OP_MAXIMUM : ASN_OP_MINIMUM, size, &options);
}

/* In the dtype of the other norms: NumPy's ord 0 is a float too. */
static asn_status counted(asn_array *result, const asn_array *x,
                          const asn_reduce_options *over) {
    ASN_TEMPORARIES;
    asn_reduce_options options = *over;
    options.dtype = asn_real_dtype(asn_layout_dtype(&x->layout));
    ASN_MAKE(truth,
             asn_np_binary(truth, ASN_OP_NOT_EQUAL, asn_np_of(x), asn_operand_int(0)));
    return reduced(result, ASN_OP_ADD, truth, &options);
}

/* Without scaling: beyond 1e154 squares overflow, in NumPy as well. */
static asn_status euclidean(asn_array *result, const asn_array *x,
                            const asn_reduce_options *over) {
    ASN_TEMPORARIES;
    ASN_MAKE(squares, squared(squares, x));
    ASN_MAKE(sum, reduced(sum, ASN_OP_ADD, squares, over));
    return asn_np_unary(result, ASN_OP_SQRT, sum);
}

/* 1 / ord, where ord and the quotient are rounded to `dtype`. */
static asn_status inverse_order(double ord, asn_dtype dtype, asn_operand *out) {
    const asn_scalar given = asn_scalar_float(ord);
    asn_scalar rounded, wide;
    double value;
    ASN_TRY(asn_scalar_cast(&given, dtype, &rounded));
    ASN_TRY(asn_scalar_cast(&rounded, ASN_F64, &wide));
    memcpy(&value, wide.bytes, sizeof value);
    *out = asn_operand_float(1 / value);
    return ASN_OK;
}

/* ord 1 needs neither power nor root. */
static asn_status by_powers(asn_array *result, const asn_array *x, double ord,
                            const asn_reduce_options *over) {
    ASN_TEMPORARIES;
    asn_operand inverse;
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, x));
    if (ord == 1) return reduced(result, ASN_OP_ADD, size, over);
    ASN_MAKE(powers, to_power(powers, size, ord));
    ASN_MAKE(sum, reduced(sum, ASN_OP_ADD, powers, over));
    ASN_TRY(inverse_order(ord, asn_layout_dtype(&sum->layout), &inverse));
    return asn_np_binary(result, ASN_OP_POWER, asn_np_of(sum), inverse);
}

asn_status asn_np_vector_norm(asn_array *result, const asn_array *a, double ord,
                              const asn_reduce_options *over) {
    ASN_TEMPORARIES;
    asn_reduce_options options = {.axes = over->axes,
                                  .keepdims = over->keepdims,
                                  .now = over->now,
                                  .dtype = ASN_DTYPE_NONE};
    ASN_MAKE(x, as_float(x, a));
    if (isinf(ord)) return extreme(result, x, ord > 0, &options);
    if (ord == 0) return counted(result, x, &options);
    return ord == 2 ? euclidean(result, x, &options)
                    : by_powers(result, x, ord, &options);
}

/* ---- of matrices */

static const struct {
    const char *name;
    double ord; /* NaN: none */
    asn_np_matrix_order order;
} orders[] = {
    {"fro", NAN, ASN_NORM_FROBENIUS},       {"f", NAN, ASN_NORM_FROBENIUS},
    {"nuc", NAN, ASN_NORM_NUCLEAR},         {"2", 2, ASN_NORM_LARGEST},
    {"-2", -2, ASN_NORM_SMALLEST},          {"1", 1, ASN_NORM_COLUMNS},
    {"-1", -1, ASN_NORM_COLUMNS_MIN},       {"inf", INFINITY, ASN_NORM_ROWS},
    {"-inf", -INFINITY, ASN_NORM_ROWS_MIN},
};

/* NaN equals none of them. */
asn_np_matrix_order asn_np_matrix_order_of(double ord) {
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i].ord == ord) return orders[i].order;
    return ASN_NORM_COUNT;
}

asn_np_matrix_order asn_np_matrix_order_named(const char *ord) {
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].name, ord) == 0) return orders[i].order;
    return ASN_NORM_COUNT;
}

/* The extreme of the sums of |x| over one of two axes. Both reductions keep their axes,
 * so that the numbers of the axes stay true. */
static asn_status of_sums(asn_array *result, const asn_array *x, int over, int across,
                          bool largest, bool keepdims) {
    ASN_TEMPORARIES;
    const asn_operand zero = asn_operand_int(0);
    const uint64_t both = (uint64_t)1 << over | (uint64_t)1 << across;
    const asn_reduce_options summed = {
        .axes = (uint64_t)1 << over, .keepdims = true, .dtype = ASN_DTYPE_NONE};
    const asn_reduce_options picked = {.axes = (uint64_t)1 << across,
                                       .keepdims = true,
                                       .dtype = ASN_DTYPE_NONE,
                                       .initial = largest ? &zero : NULL};
    const asn_op op = largest ? ASN_OP_MAXIMUM : ASN_OP_MINIMUM;
    asn_layout view;
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, x));
    ASN_MAKE(sums, reduced(sums, ASN_OP_ADD, size, &summed));
    if (keepdims) return asn_ufunc_reduce(op, sums, NULL, result, &picked);
    ASN_MAKE(kept, asn_ufunc_reduce(op, sums, NULL, kept, &picked));
    ASN_TRY(asn_view_squeeze(&view, &kept->layout, both));
    asn_array_view(result, kept, &view);
    return ASN_OK;
}

/* The singular values of the matrices in two axes, along a last axis. */
static asn_status singular_values(asn_array *out, const asn_array *x, int rows,
                                  int columns) {
    ASN_TEMPORARIES;
    const int64_t from[2] = {rows, columns}, to[2] = {-2, -1};
    const asn_solver s = {.op = ACLNNX_LINALG_SVDVALS, .failed = "SVD did not converge"};
    ASN_MAKE(matrices, asn_np_moveaxis(matrices, x, 2, from, 2, to));
    return asn_solver_run(&s, matrices, NULL, out);
}

/* One decomposition for the stack; only the values are asked for. The largest of none is
 * 0, as initial= says, of the smallest that is an error. */
static asn_status spectral(asn_array *result, const asn_array *x,
                           asn_np_matrix_order order, int rows, int columns,
                           bool keepdims) {
    ASN_TEMPORARIES;
    const asn_operand zero = asn_operand_int(0);
    const bool largest = order == ASN_NORM_LARGEST;
    const asn_op op = largest                     ? ASN_OP_MAXIMUM
                      : order == ASN_NORM_NUCLEAR ? ASN_OP_ADD
                                                  : ASN_OP_MINIMUM;
    ASN_MAKE(values, singular_values(values, x, rows, columns));
    const asn_reduce_options over = {.axes = (uint64_t)1 << (values->layout.ndim - 1),
                                     .dtype = ASN_DTYPE_NONE,
                                     .initial = largest ? &zero : NULL};
    if (!keepdims) return asn_ufunc_reduce(op, values, NULL, result, &over);
    int64_t shape[ASN_MAX_DIMS];
    ASN_MAKE(norms, asn_ufunc_reduce(op, values, NULL, norms, &over));
    for (int d = 0; d < x->layout.ndim; d++)
        shape[d] = d == rows || d == columns ? 1 : x->layout.shape[d];
    return asn_np_reshape(result, norms, x->layout.ndim, shape);
}

/* Axes come before the order, as in NumPy. */
asn_status asn_np_matrix_norm(asn_array *result, const asn_array *a,
                              asn_np_matrix_order order, int64_t rows, int64_t columns,
                              bool keepdims) {
    ASN_TEMPORARIES;
    int row, column;
    ASN_TRY(asn_axis_normalize(rows, a->layout.ndim, &row));
    ASN_TRY(asn_axis_normalize(columns, a->layout.ndim, &column));
    if (row == column) return asn_error_set(ASN_ERR_VALUE, "Duplicate axes given.");
    const uint64_t both = (uint64_t)1 << row | (uint64_t)1 << column;
    const asn_reduce_options over = {
        .axes = both, .keepdims = keepdims, .dtype = ASN_DTYPE_NONE};
    ASN_MAKE(x, as_float(x, a));
    switch (order) {
    case ASN_NORM_FROBENIUS: return euclidean(result, x, &over);
    case ASN_NORM_COLUMNS: return of_sums(result, x, row, column, true, keepdims);
    case ASN_NORM_COLUMNS_MIN: return of_sums(result, x, row, column, false, keepdims);
    case ASN_NORM_ROWS: return of_sums(result, x, column, row, true, keepdims);
    case ASN_NORM_ROWS_MIN: return of_sums(result, x, column, row, false, keepdims);
    case ASN_NORM_NUCLEAR:
    case ASN_NORM_LARGEST:
    case ASN_NORM_SMALLEST: return spectral(result, x, order, row, column, keepdims);
    default: return asn_error_set(ASN_ERR_VALUE, "Invalid norm order for matrices.");
    }
}
