/* L2 numpy: elements picked and placed by arrays of indices and masks (picking.h).
 *
 * The along-axis functions are an ordinary index: the given indices on their axis and, on
 * each other one, its positions as an array that broadcasts. lexsort sorts by the keys
 * one after the other, the least important first, each time by a stable sort of what is
 * in the order so far; one sort by a compound key would need a dtype for it.
 *
 * place and putmask are a[mask] = value where there is one value. Several values are
 * brought into the right order first: repeated, by position among the true elements
 * (place) or among all (putmask).
 */
#include "numpy/picking.h"

#include "array/views.h"
#include "graph/operators/families.h"
#include "graph/small/direct.h"
#include "numpy/shape.h"

/* ---- along an axis */

/* 0, 1, ... n - 1. */
static asn_status count_from_zero(asn_array *out, int64_t n) {
    const asn_scalar zero = asn_scalar_int(0), one = asn_scalar_int(1);
    return asn_arange(out, ASN_I64, &zero, &one, n);
}

/* 0, 1, ... along axis d of ndim. */
static asn_status places_of(asn_array *out, int64_t extent, int d, int ndim) {
    const uint64_t all = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    asn_array line;
    asn_layout view;
    ASN_TRY(count_from_zero(&line, extent));
    asn_status status =
        asn_view_expand(&view, &line.layout, ndim, all & ~((uint64_t)1 << d));
    if (!status) asn_array_view(out, &line, &view);
    asn_array_fini(&line);
    return status;
}

/* The index of the along-axis functions: `indices` on the axis (normalised), on each
 * other one its places, which *places, with room for one array a dimension, owns. INDEX:
 * not integers. VALUE: not a's number of dimensions. */
static asn_status along(const asn_array *a, const asn_array *indices, int axis,
                        asn_index_item *items, asn_np_temporaries *places) {
    const int ndim = a->layout.ndim;
    if (!asn_is_integer(asn_layout_dtype(&indices->layout)))
        return asn_error_set(ASN_ERR_INDEX, "`indices` must be an integer array");
    if (indices->layout.ndim != ndim)
        return asn_error_set(ASN_ERR_VALUE,
                             "`indices` and `arr` must have the same number of "
                             "dimensions, not %d and %d",
                             indices->layout.ndim, ndim);
    for (int d = 0; d < ndim; d++) {
        items[d] = (asn_index_item){.kind = ASN_INDEX_ARRAY, .array = indices};
        if (d == axis) continue;
        asn_array *line = &places->made[places->count];
        ASN_TRY(places_of(line, a->layout.shape[d], d, ndim));
        places->count++;
        items[d].array = line;
    }
    return ASN_OK;
}

asn_status asn_np_take_along_axis(asn_array *result, const asn_array *a,
                                  const asn_array *indices, int64_t axis) {
    ASN_TEMPORARIES;
    asn_index_item items[ASN_MAX_DIMS];
    int which;
    ASN_TRY(asn_axis_normalize(axis, a->layout.ndim, &which));
    ASN_TRY(along(a, indices, which, items, &temporaries_));
    return asn_index_get(result, a, a->layout.ndim, items);
}

asn_status asn_np_put_along_axis(const asn_array *a, const asn_array *indices,
                                 const asn_operand *values, int64_t axis) {
    ASN_TEMPORARIES;
    asn_index_item items[ASN_MAX_DIMS];
    int which;
    ASN_TRY(asn_axis_normalize(axis, a->layout.ndim, &which));
    ASN_TRY(along(a, indices, which, items, &temporaries_));
    return asn_index_set(a, a->layout.ndim, items, values);
}

/* ---- order by several keys */

/* order = order[argsort(key[order])] along the axis. */
static asn_status order_further(asn_array *order, const asn_array *key, int axis) {
    ASN_TEMPORARIES;
    asn_array next;
    ASN_MAKE(ranked, asn_np_take_along_axis(ranked, key, order, axis));
    ASN_MAKE(again, asn_argsort(again, ranked, axis));
    ASN_TRY(asn_np_take_along_axis(&next, order, again, axis));
    asn_array_fini(order);
    asn_array_move(order, &next);
    return ASN_OK;
}

/* Keys without a dimension: NumPy's order of one element. */
asn_status asn_np_lexsort(asn_array *result, int n, const asn_array *const *keys,
                          int64_t axis) {
    int which;
    if (n < 1)
        return asn_error_set(ASN_ERR_TYPE,
                             "need sequence of keys with len > 0 in lexsort");
    const asn_layout *first = &keys[0]->layout;
    for (int i = 1; i < n; i++)
        if (!asn_layout_same_shape(&keys[i]->layout, first))
            return asn_error_set(ASN_ERR_VALUE, "all keys need to be the same shape");
    ASN_TRY(asn_axis_normalize(axis, first->ndim ? first->ndim : 1, &which));
    if (first->ndim == 0) {
        const asn_operand zero = asn_operand_int(0);
        return asn_full(result, ASN_I64, 0, NULL, 'C', &zero);
    }
    ASN_TRY(asn_argsort(result, keys[0], which));
    asn_status status = ASN_OK;
    for (int i = 1; i < n && !status; i++)
        status = order_further(result, keys[i], which);
    if (status) asn_array_fini(result);
    return status;
}

/* ---- by mask */

/* values[at % their number], one for each of them. */
static asn_status repeated(asn_array *out, const asn_array *values, const asn_array *at) {
    ASN_TEMPORARIES;
    ASN_MAKE(flat, asn_np_ravel(flat, values));
    return asn_take(out, flat, at, 0, 1);
}

/* a[mask] = values, of which there are several; mask is of a's shape. */
static asn_status put_several(const asn_array *a, const asn_array *mask,
                              const asn_array *values, bool by_position) {
    ASN_TEMPORARIES;
    asn_index_item items[ASN_MAX_DIMS];
    const int ndim = a->layout.ndim;
    ASN_MAKE(flat, asn_np_ravel(flat, mask));
    ASN_MAKE(where, asn_nonzero(where, flat));
    if (where->layout.size == 0) return ASN_OK;
    if (values->layout.size == 0)
        return by_position
                   ? ASN_OK
                   : asn_error_set(ASN_ERR_VALUE, "Cannot insert from an empty array!");
    ASN_MAKE(order, count_from_zero(order, where->layout.size));
    ASN_MAKE(chosen, repeated(chosen, values, by_position ? where : order));
    const asn_operand value = {.array = chosen};
    if (ndim < 2) {
        ASN_MAKE(line, asn_np_ravel(line, a));
        items[0] = (asn_index_item){.kind = ASN_INDEX_ARRAY, .array = where};
        return asn_index_set(line, 1, items, &value);
    }
    asn_array *places = &temporaries_.made[temporaries_.count];
    ASN_TRY(asn_nonzero(places, mask));
    temporaries_.count += ndim;
    for (int d = 0; d < ndim; d++)
        items[d] = (asn_index_item){.kind = ASN_INDEX_ARRAY, .array = &places[d]};
    return asn_index_set(a, ndim, items, &value);
}

/* A mask of another shape but as many elements counts row-major; other dtypes are truth
 * values. */
static asn_status put_where(const asn_array *a, const asn_array *mask,
                            const asn_operand *values, bool by_position) {
    ASN_TEMPORARIES;
    if (mask->layout.size != a->layout.size)
        return asn_error_set(ASN_ERR_VALUE, "%s: mask and data must be the same size",
                             by_position ? "putmask" : "place");
    if (!(a->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "assignment destination is read-only");
    if (values->array && asn_direct_place(a, mask, values->array, by_position))
        return ASN_OK;
    const asn_array *shaped = mask;
    if (mask->layout.dtype != ASN_BOOL) {
        ASN_MAKE(truth, asn_copy(truth, mask, ASN_BOOL, 'K'));
        shaped = truth;
    }
    if (!asn_layout_same_shape(&mask->layout, &a->layout)) {
        ASN_MAKE(turned, asn_np_reshape(turned, shaped, a->layout.ndim, a->layout.shape));
        shaped = turned;
    }
    const asn_index_item item = {.kind = ASN_INDEX_MASK, .array = shaped};
    if (!values->array) return asn_index_set(a, 1, &item, values);
    if (values->array->layout.size != 1)
        return put_several(a, shaped, values->array, by_position);
    ASN_MAKE(one, asn_np_reshape(one, values->array, 0, NULL));
    return asn_index_set(a, 1, &item, &(asn_operand){.array = one});
}

/* (Contract in picking.h.) Values are counted by the true elements before. */
asn_status asn_np_place(const asn_array *a, const asn_array *mask,
                        const asn_operand *values) {
    return put_where(a, mask, values, false);
}

/* (Contract in picking.h.) Values are counted by all elements before. */
asn_status asn_np_putmask(const asn_array *a, const asn_array *mask,
                          const asn_operand *values) {
    return put_where(a, mask, values, true);
}
