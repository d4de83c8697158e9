/* L3 C binding: a[...], picking and placing by index and mask (index.h).
 *
 * An index is a list of items, as in NumPy's brackets: integers, slices, an ellipsis, new
 * axes, arrays of integers and masks, whose rules are the core's (graph/index/index.h).
 * Items are translated one by one; what concerns several is checked there, but for the
 * number of ellipses. No item at all is an ellipsis: a[()].
 *
 * Positions of the result's axes follow NumPy's rule for advanced indexing, which is the
 * core's to know; whether a view can be made it decides, too.
 */
#include "graph/index/index.h"

#include <string.h>

#include "capi/capi.h"
#include "graph/ufunc/operands.h"
#include "numpy/picking.h"

/* Every axis, and as many new ones. */
enum { MOST_ITEMS = 2 * ASN_MAX_DIMS };

/* An array as an index: a mask, or integers; one integer without a dimension is an
 * integer. */
static asn_status array_item(const asnp_array *array, asn_index_item *item) {
    ASN_TRY(asn_capi_need(array, "an index array"));
    /* A bool array is a mask, also one without dimensions. */
    asn_dtype dtype = asn_capi_type(array);
    item->array = &array->array;
    item->kind = dtype == ASN_BOOL ? ASN_INDEX_MASK : ASN_INDEX_ARRAY;
    if (dtype != ASN_BOOL && !asn_is_integer(dtype))
        return asn_error_set(ASN_ERR_INDEX,
                             "arrays used as indices must be of integer (or boolean) "
                             "type, not %s",
                             asn_dtype_name(dtype));
    if (dtype == ASN_BOOL || asn_capi_layout(array)->ndim) return ASN_OK;
    /* The index is read here, which waits for it. */
    asn_scalar one, wide;
    item->kind = ASN_INDEX_INT;
    ASN_TRY(asn_array_get_item(&array->array, 0, &one));
    ASN_TRY(asn_scalar_cast(&one, ASN_I64, &wide));
    memcpy(&item->start, wide.bytes, sizeof item->start);
    return ASN_OK;
}

/* ASNP_END is the end in the direction of the step; the core knows it as the smallest
 * number where the step is negative. */
static asn_status one_item(const asnp_index *x, asn_index_item *item) {
    *item = (asn_index_item){.start = x->start, .stop = x->stop, .step = x->step};
    switch (x->kind) {
    case 'i': item->kind = ASN_INDEX_INT; return ASN_OK;
    case 's':
        item->kind = ASN_INDEX_SLICE;
        if (x->step == 0)
            return asn_error_set(ASN_ERR_VALUE, "slice step cannot be zero");
        if (x->step < 0 && x->stop == ASNP_END) item->stop = INT64_MIN;
        return ASN_OK;
    case '.': item->kind = ASN_INDEX_ELLIPSIS; return ASN_OK;
    case 'n': item->kind = ASN_INDEX_NEWAXIS; return ASN_OK;
    case 'a': return array_item(x->array, item);
    default:
        return asn_error_set(ASN_ERR_VALUE,
                             "an index's kind is %d; it may be 'i', 's', '.', 'n' or 'a'",
                             (int)x->kind);
    }
}

/* Translates n entries into items, at least one: without an entry it is an ellipsis.
 * items has room for MOST_ITEMS. */
static asn_status read_items(const asnp_array *a, int32_t n, const asnp_index *index,
                             asn_index_item *items) {
    int ellipses = 0;
    NEED(a);
    if (n < 0 || n > MOST_ITEMS)
        return asn_error_set(ASN_ERR_INDEX, "%d indices; there may be 0 to %d", (int)n,
                             MOST_ITEMS);
    if (n) NEED(index);
    for (int i = 0; i < n; i++) {
        ASN_TRY(one_item(&index[i], &items[i]));
        ellipses += items[i].kind == ASN_INDEX_ELLIPSIS;
    }
    if (ellipses > 1)
        return asn_error_set(ASN_ERR_INDEX,
                             "an index can only have a single ellipsis ('...')");
    if (n == 0) items[0] = (asn_index_item){.kind = ASN_INDEX_ELLIPSIS};
    return ASN_OK;
}

/* A view where integers, slices and new axes are all there is, else a copy. */
asnp_status asnp_index_get(const asnp_array *a, int32_t n, const asnp_index *index,
                           asnp_array **out) {
    IN_LIBRARY;
    /* Integers and arrays are bounds-checked by the core. */
    asn_index_item items[MOST_ITEMS];
    asn_array made;
    NEED(out);
    ASN_TRY(read_items(a, n, index, items));
    return asn_capi_wrap(asn_index_get(&made, &a->array, n ? n : 1, items), &made, out);
}

/* The value broadcasts to a[index]; it may overlap `a`, which the core sees to. */
asnp_status asnp_index_set(asnp_array *a, int32_t n, const asnp_index *index,
                           asnp_operand value) {
    IN_LIBRARY;
    asn_index_item items[MOST_ITEMS];
    asn_operand source;
    ASN_TRY(read_items(a, n, index, items));
    ASN_TRY(asn_capi_writeable(a));
    ASN_TRY(asn_capi_operand(value, &source));
    ASN_TRY(asn_operand_check(&source, asn_capi_type(a)));
    return asn_index_set(&a->array, n ? n : 1, items, &source);
}

/* ufunc.at: an index that comes twice counts twice, unlike get, add, set. */
asnp_status asnp_index_update(const char *name, asnp_array *a, int32_t n,
                              const asnp_index *index, asnp_operand value) {
    IN_LIBRARY;
    asn_index_item items[MOST_ITEMS];
    asn_operand source;
    asn_op op;
    ASN_TRY(asn_capi_binary_op(name, &op));
    ASN_TRY(read_items(a, n, index, items));
    ASN_TRY(asn_capi_writeable(a));
    ASN_TRY(asn_capi_operand(value, &source));
    ASN_TRY(asn_operand_check(&source, asn_capi_type(a)));
    return asn_index_at(op, &a->array, n ? n : 1, items, &source);
}

/* ---- along an axis */

/* NumPy takes bool arrays as masks elsewhere; here they are no indices. */
static asn_status need_integers(const asnp_array *indices) {
    NEED(indices);
    asn_dtype dtype = asn_capi_type(indices);
    return asn_is_integer(dtype)
               ? ASN_OK
               : asn_error_set(ASN_ERR_TYPE,
                               "indices are of %s; they must be of an integer dtype",
                               asn_dtype_name(dtype));
}

/* mode numbers are the core's, in the same order. */
asnp_status asnp_take(const asnp_array *a, const asnp_array *indices, int32_t axis,
                      asnp_mode mode, asnp_array **out) {
    IN_LIBRARY;
    asn_array used, made;
    int at;
    NEED(a);
    NEED(out);
    ASN_TRY(need_integers(indices));
    if ((unsigned)mode > ASNP_CLIP)
        return asn_error_set(ASN_ERR_VALUE,
                             "take: mode is %d; it may be ASNP_RAISE, ASNP_WRAP or "
                             "ASNP_CLIP",
                             (int)mode);
    ASN_TRY(asn_capi_axis(a, axis, &used, &at));
    asn_status status = asn_take(&made, &used, &indices->array, at, (int)mode);
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}

/* What is checked (integers, dimensions), numpy/picking.h checks for both bindings. */
asnp_status asnp_take_along_axis(const asnp_array *a, const asnp_array *indices,
                                 int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(indices);
    NEED(out);
    return asn_capi_wrap(asn_np_take_along_axis(&made, &a->array, &indices->array, axis),
                         &made, out);
}

/* Where indices repeat, the last value stays, as in a[...] = value. */
asnp_status asnp_put_along_axis(asnp_array *a, const asnp_array *indices,
                                asnp_operand values, int32_t axis) {
    IN_LIBRARY;
    asn_operand value;
    NEED(a);
    NEED(indices);
    ASN_TRY(asn_capi_writeable(a));
    ASN_TRY(asn_capi_operand(values, &value));
    ASN_TRY(asn_operand_check(&value, asn_capi_type(a)));
    return asn_np_put_along_axis(&a->array, &indices->array, &value, axis);
}

/* ---- masks and conditions */

/* A mask by name, so that an array of integers is not taken for one. */
asnp_status asnp_mask_get(const asnp_array *a, const asnp_array *mask, asnp_array **out) {
    IN_LIBRARY;
    asnp_index index = asnp_by(mask);
    NEED(mask);
    ASN_TRY(asn_capi_mask(mask, "mask"));
    return asnp_index_get(a, 1, &index, out);
}

/* One value for all places, or one for each in row-major order. */
asnp_status asnp_mask_set(asnp_array *a, const asnp_array *mask, asnp_operand value) {
    IN_LIBRARY;
    asnp_index index = asnp_by(mask);
    NEED(mask);
    ASN_TRY(asn_capi_mask(mask, "mask"));
    return asnp_index_set(a, 1, &index, value);
}

/* One array an axis into out[ndim]; all or none. */
asnp_status asnp_nonzero(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    asn_array made[ASN_MAX_DIMS];
    NEED(a);
    NEED(out);
    ASN_TRY(asn_nonzero(made, &a->array));
    /* From the first failure on, arrays are ended instead of wrapped. */
    int ndim = asn_capi_layout(a)->ndim;
    asnp_status status = ASNP_OK;
    for (int d = 0; d < ndim; d++) {
        out[d] = NULL;
        if (status)
            asn_array_fini(&made[d]);
        else
            status = asn_capi_wrap(ASN_OK, &made[d], &out[d]);
    }
    if (status) asn_capi_release(out, ndim);
    return status;
}

/* Any dtype is a condition: what is not zero is true. */
asnp_status asnp_where(const asnp_array *condition, asnp_operand x, asnp_operand y,
                       asnp_array **out) {
    IN_LIBRARY;
    asn_operand first, second;
    asn_array truth, made;
    NEED(condition);
    NEED(out);
    ASN_TRY(asn_capi_operand(x, &first));
    ASN_TRY(asn_capi_operand(y, &second));
    ASN_TRY(asn_capi_type(condition) == ASN_BOOL
                ? asn_array_share(&truth, &condition->array)
                : asn_copy(&truth, &condition->array, ASN_BOOL, 'K'));
    asn_status status = asn_where(&made, &truth, &first, &second);
    asn_array_fini(&truth);
    return asn_capi_wrap(status, &made, out);
}
