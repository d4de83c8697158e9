/* L2 numpy: arrays joined along an axis (joins.h).
 *
 * All but concatenate give each array the axes that it lacks, as a view, and concatenate
 * these; which axes are new is what they differ in. Casts are checked here for every
 * array before anything is joined, with the rule's name in the message; numbers of
 * Python's (weak types) are not checked, since they take the dtype of the others.
 *
 * Views of up to FEW arrays lie on the stack: lists are short, and an allocation would
 * cost as much as the join of small ones.
 */
#include "numpy/joins.h"

#include "array/views.h"
#include "graph/operators/families.h"

/* Whether all are of the first one's dtype. */
static bool is_uniform(const asn_np_join *join) {
    const uint8_t dtype = join->arrays[0]->layout.dtype;
    for (int i = 0; i < join->count; i++)
        if (join->arrays[i]->layout.dtype != dtype ||
            (join->types && join->types[i].weak))
            return false;
    return true;
}

/* dtype=, or out's, or promotion's: of types where a Python number is among them. */
static asn_dtype common_dtype(const asn_np_join *join) {
    if (join->dtype != ASN_DTYPE_NONE) return join->dtype;
    if (join->out) return asn_layout_dtype(&join->out->layout);
    if (join->types && !is_uniform(join))
        return asn_result_type(join->count, join->types);
    asn_dtype dtype = asn_layout_dtype(&join->arrays[0]->layout);
    for (int i = 1; i < join->count; i++)
        if (join->arrays[i]->layout.dtype != dtype)
            dtype = asn_promote(dtype, asn_layout_dtype(&join->arrays[i]->layout));
    return dtype;
}

asn_status asn_np_concatenate(const asn_np_join *join, int64_t axis, asn_array *result) {
    int which;
    if (join->count < 1)
        return asn_error_set(ASN_ERR_VALUE, "need at least one array to concatenate");
    ASN_TRY(asn_join_check(join->count, join->arrays, axis, &which));
    asn_dtype dtype = common_dtype(join);
    for (int i = 0; i < join->count; i++) {
        asn_dtype from = asn_layout_dtype(&join->arrays[i]->layout);
        bool weak = join->types && join->types[i].weak;
        if (weak || from == dtype || asn_can_cast(from, dtype, join->casting)) continue;
        return asn_error_set(ASN_ERR_TYPE,
                             "Cannot cast array data from dtype('%s') to dtype('%s') "
                             "according to the rule '%s'",
                             asn_dtype_name(from), asn_dtype_name(dtype),
                             asn_casting_name(join->casting));
    }
    return asn_concatenate(join->count, join->arrays, which, dtype, join->casting,
                           join->out, result);
}

/* For an array of `ndim` axes: how many it shall have, and which of them are new (bit d:
 * axis d). */
typedef int (*widening)(int ndim, uint64_t *mask);

/* vstack: (n,) is (1, n). */
static int as_row(int ndim, uint64_t *mask) {
    *mask = ndim == 0 ? 3 : ndim == 1;
    return ndim < 2 ? 2 : ndim;
}

/* column_stack: (n,) is (n, 1). */
static int as_column(int ndim, uint64_t *mask) {
    *mask = ndim == 0 ? 3 : ndim == 1 ? 2 : 0;
    return ndim < 2 ? 2 : ndim;
}

/* hstack: numbers are arrays of one. */
static int as_line(int ndim, uint64_t *mask) {
    *mask = ndim == 0;
    return ndim < 1 ? 1 : ndim;
}

/* dstack: (n,) is (1, n, 1), (m, n) is (m, n, 1). */
static int as_block(int ndim, uint64_t *mask) {
    *mask = ndim == 0 ? 7 : ndim == 1 ? 5 : ndim == 2 ? 4 : 0;
    return ndim < 3 ? 3 : ndim;
}

/* Joins views of join's arrays; `axis` is new in each where widen is NULL. views and at
 * have room for them. */
static asn_status join_views(const asn_np_join *join, widening widen, int64_t axis,
                             asn_array *views, const asn_array **at, asn_array *result) {
    asn_np_join wide = *join;
    asn_status status = ASN_OK;
    int made = 0;
    wide.arrays = at;
    for (; made < join->count && !status; made += !status) {
        const asn_array *a = join->arrays[made];
        uint64_t mask = (uint64_t)1 << axis;
        int ndim = widen ? widen(a->layout.ndim, &mask) : a->layout.ndim + 1;
        asn_layout view;
        status = asn_view_expand(&view, &a->layout, ndim, mask);
        if (status) break;
        asn_array_view(&views[made], a, &view);
        at[made] = &views[made];
    }
    if (!status) status = asn_np_concatenate(&wide, axis, result);
    while (made)
        asn_array_fini(&views[--made]);
    return status;
}

/* Where no array lacks an axis there is nothing to view. */
static asn_status joined(const asn_np_join *join, widening widen, int64_t axis,
                         asn_array *result) {
    enum { FEW = 16 };
    bool wide_enough = widen != NULL;
    for (int i = 0; i < join->count && wide_enough; i++) {
        uint64_t mask;
        widen(join->arrays[i]->layout.ndim, &mask);
        wide_enough = !mask;
    }
    if (wide_enough) return asn_np_concatenate(join, axis, result);
    if (join->count <= FEW) {
        asn_array views[FEW];
        const asn_array *at[FEW];
        return join_views(join, widen, axis, views, at, result);
    }
    asn_array *views = asn_malloc((size_t)join->count * sizeof *views);
    const asn_array **at = asn_malloc((size_t)join->count * sizeof *at);
    asn_status status =
        views && at ? join_views(join, widen, axis, views, at, result) : ASN_ERR_MEMORY;
    asn_free(at);
    asn_free(views);
    return status;
}

asn_status asn_np_stack_check(const asn_np_join *join) {
    if (join->count < 1)
        return asn_error_set(ASN_ERR_VALUE, "need at least one array to stack");
    const asn_layout *first = &join->arrays[0]->layout;
    for (int i = 1; i < join->count; i++)
        if (!asn_layout_same_shape(&join->arrays[i]->layout, first))
            return asn_error_set(ASN_ERR_VALUE,
                                 "all input arrays must have the same shape");
    return ASN_OK;
}

/* (Contract in joins.h.) The new axis may be behind all others. */
asn_status asn_np_stack(const asn_np_join *join, int64_t axis, asn_array *result) {
    int which;
    ASN_TRY(asn_np_stack_check(join));
    ASN_TRY(asn_axis_normalize(axis, join->arrays[0]->layout.ndim + 1, &which));
    return joined(join, NULL, which, result);
}

asn_status asn_np_vstack(const asn_np_join *join, asn_array *result) {
    return joined(join, as_row, 0, result);
}

/* The first array alone decides the axis, as in NumPy. */
asn_status asn_np_hstack(const asn_np_join *join, asn_array *result) {
    bool lines = join->count && join->arrays[0]->layout.ndim < 2;
    return joined(join, as_line, lines ? 0 : 1, result);
}

asn_status asn_np_dstack(const asn_np_join *join, asn_array *result) {
    return joined(join, as_block, 2, result);
}

asn_status asn_np_column_stack(const asn_np_join *join, asn_array *result) {
    return joined(join, as_column, 1, result);
}
