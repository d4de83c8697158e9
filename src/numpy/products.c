/* L2 numpy: products of arrays (products.h).
 *
 * Each is brought into the form of dot, which is the device's: inner with the second
 * array's last two axes swapped, outer as a product of a column and a row, tensordot as a
 * product of two matrices whose rows and columns are the axes kept and summed. Transposes
 * are views; a reshape copies where strides ask for it, as it does in NumPy.
 */
#include "numpy/products.h"

#include "array/views.h"
#include "graph/operators/families.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"

/* (Contract in products.h.) The message names the axes as the caller has them, so it is
 * made before anything is swapped. */
asn_status asn_np_inner(asn_array *result, const asn_array *a, const asn_array *b) {
    const asn_layout *x = &a->layout, *y = &b->layout;
    if (y->ndim < 2 || x->ndim == 0) return asn_dot(a, b, NULL, result);
    const int64_t n = x->shape[x->ndim - 1], m = y->shape[y->ndim - 1];
    if (n != m) {
        char first[256], second[256];
        return asn_error_set(ASN_ERR_VALUE,
                             "shapes %s and %s not aligned: %lld (dim %d) != %lld (dim "
                             "%d)",
                             asn_shape_format(first, sizeof first, x->ndim, x->shape),
                             asn_shape_format(second, sizeof second, y->ndim, y->shape),
                             (long long)n, x->ndim - 1, (long long)m, y->ndim - 1);
    }
    asn_array turned;
    ASN_TRY(asn_np_swapaxes(&turned, b, -1, -2));
    asn_status status = asn_dot(a, &turned, NULL, result);
    asn_array_fini(&turned);
    return status;
}

/* One length and one dtype: the device conjugates on the way. Else a conjugate and dot,
 * which knows what to say of lengths that differ. */
static asn_status vdot_lines(asn_array *result, const asn_array *a, const asn_array *b) {
    asn_array conjugate;
    bool alike = a->layout.dtype == b->layout.dtype && a->layout.size == b->layout.size;
    if (alike || !asn_is_complex(asn_layout_dtype(&a->layout)))
        return asn_vdot(a, b, result);
    ASN_TRY(asn_np_unary(&conjugate, ASN_OP_CONJUGATE, a));
    asn_status status = asn_dot(&conjugate, b, NULL, result);
    asn_array_fini(&conjugate);
    return status;
}

asn_status asn_np_vdot(asn_array *result, const asn_array *a, const asn_array *b) {
    asn_array x, y;
    if (a->layout.ndim == 1 && b->layout.ndim == 1) return vdot_lines(result, a, b);
    ASN_TRY(asn_np_ravel(&x, a));
    asn_status status = asn_np_ravel(&y, b);
    if (!status) {
        status = vdot_lines(result, &x, &y);
        asn_array_fini(&y);
    }
    asn_array_fini(&x);
    return status;
}

/* `a` flattened, as a row or a column. */
static asn_status line(asn_array *out, const asn_array *a, bool column) {
    asn_array flat;
    asn_layout view;
    ASN_TRY(asn_np_ravel(&flat, a));
    asn_status status = asn_view_expand(&view, &flat.layout, 2, column ? 2 : 1);
    if (!status) asn_array_view(out, &flat, &view);
    asn_array_fini(&flat);
    return status;
}

asn_status asn_np_outer(asn_array *result, const asn_array *a, const asn_array *b,
                        const asn_array *out) {
    asn_array column, row;
    ASN_TRY(line(&column, a, true));
    asn_status status = line(&row, b, false);
    if (!status) {
        const asn_operand in[2] = {asn_np_of(&column), asn_np_of(&row)};
        status = asn_ufunc_call(ASN_OP_MULTIPLY, in, out, result, NULL);
        asn_array_fini(&row);
    }
    asn_array_fini(&column);
    return status;
}

/* ---- tensordot */

/* `a` as a matrix: the n axes (normalised) make its rows when `first`, else its columns.
 * kept[] receives the other extents; *num_kept how many. */
static asn_status as_matrix(asn_array *out, const asn_array *a, int n, const int *axes,
                            bool first, int64_t *kept, int *num_kept) {
    const asn_layout *l = &a->layout;
    int perm[ASN_MAX_DIMS], at = first ? n : 0, sum_at = first ? 0 : l->ndim - n;
    uint64_t mask = 0;
    int64_t summed = 1, rest = 1;
    for (int i = 0; i < n; i++) {
        mask |= (uint64_t)1 << axes[i];
        perm[sum_at++] = axes[i];
        summed *= l->shape[axes[i]];
    }
    *num_kept = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (mask >> d & 1) continue;
        perm[at++] = d;
        rest *= l->shape[d];
        kept[(*num_kept)++] = l->shape[d];
    }
    const int64_t shape[2] = {first ? summed : rest, first ? rest : summed};
    asn_layout view;
    asn_array turned;
    ASN_TRY(asn_view_transpose(&view, l, perm));
    asn_array_view(&turned, a, &view);
    asn_status status = asn_np_reshape(out, &turned, 2, shape);
    asn_array_fini(&turned);
    return status;
}

/* NumPy's error for an axis that is summed twice. */
static asn_status repeated_axes(void) {
    return asn_error_set(ASN_ERR_VALUE, "duplicate axes are not allowed in tensordot");
}

/* Every axis is checked before any extent, and all of them before anything is moved. */
asn_status asn_np_tensordot(asn_array *result, const asn_array *a, const asn_array *b,
                            int n, const int64_t *axes_a, const int64_t *axes_b) {
    int left[ASN_MAX_DIMS], right[ASN_MAX_DIMS], rows, columns;
    int64_t shape[2 * ASN_MAX_DIMS];
    asn_array x, y, product;
    if (n > ASN_MAX_DIMS) return repeated_axes();
    for (int i = 0; i < n; i++) {
        ASN_TRY(asn_axis_of_shape(axes_a[i], a->layout.ndim, &left[i]));
        ASN_TRY(asn_axis_of_shape(axes_b[i], b->layout.ndim, &right[i]));
        for (int j = 0; j < i; j++)
            if (left[i] == left[j] || right[i] == right[j]) return repeated_axes();
    }
    for (int i = 0; i < n; i++)
        if (a->layout.shape[left[i]] != b->layout.shape[right[i]])
            return asn_error_set(ASN_ERR_VALUE,
                                 "shape-mismatch for sum: axis %d of a has %lld elements "
                                 "and axis %d of b %lld",
                                 left[i], (long long)a->layout.shape[left[i]], right[i],
                                 (long long)b->layout.shape[right[i]]);
    ASN_TRY(as_matrix(&x, a, n, left, false, shape, &rows));
    asn_status status = as_matrix(&y, b, n, right, true, shape + rows, &columns);
    if (!status) {
        status = asn_dot(&x, &y, NULL, &product);
        asn_array_fini(&y);
    }
    asn_array_fini(&x);
    ASN_TRY(status);
    status = asn_np_reshape(result, &product, rows + columns, shape);
    asn_array_fini(&product);
    return status;
}
