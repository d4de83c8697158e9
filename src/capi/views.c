/* L3 C binding: facts of arrays and views of them (array.h).
 *
 * A view is a handle of its own over the same memory, with its own life; nothing here
 * copies but reshape and ravel where strides do not allow a view. Facts return a value
 * that no array has (NULL, -1) for a NULL handle, with the message set: they have no
 * status to return.
 *
 * What a view may be, the core says (array/views.h); axes are checked here, where the
 * message can name them.
 */
#include "capi/capi.h"

#include "graph/index/index.h"
#include "numpy/axes.h"
#include "numpy/sums.h"

/* ---- facts */

int32_t asnp_ndim(const asnp_array *a) {
    return asn_capi_need(a, "a") ? -1 : asn_capi_layout(a)->ndim;
}

/* Borrowed from the handle. */
const int64_t *asnp_shape(const asnp_array *a) {
    return asn_capi_need(a, "a") ? NULL : asn_capi_layout(a)->shape;
}

/* Bytes; likewise. */
const int64_t *asnp_strides(const asnp_array *a) {
    return asn_capi_need(a, "a") ? NULL : asn_capi_layout(a)->strides;
}

int64_t asnp_size(const asnp_array *a) {
    return asn_capi_need(a, "a") ? -1 : asn_capi_layout(a)->size;
}

asnp_dtype asnp_dtype_of(const asnp_array *a) {
    return asn_capi_need(a, "a") ? ASNP_DTYPE_NONE
                                 : (asnp_dtype)asn_dtype_table[asn_capi_type(a)].acl;
}

/* Of the elements, packed: a view with gaps spans more. */
size_t asnp_nbytes(const asnp_array *a) {
    return asn_capi_need(a, "a") ? 0 : (size_t)asn_layout_nbytes(asn_capi_layout(a));
}

int32_t asnp_is_writeable(const asnp_array *a) {
    return asn_capi_need(a, "a") ? -1 : (asn_capi_layout(a)->flags & ASN_WRITEABLE) != 0;
}

/* Row-major without gaps. */
int32_t asnp_is_contiguous(const asnp_array *a) {
    return asn_capi_need(a, "a") ? -1 : asn_layout_contiguous(asn_capi_layout(a));
}

/* By the bounds of both: interleaved arrays count, too. */
int32_t asnp_may_share_memory(const asnp_array *a, const asnp_array *b) {
    IN_LIBRARY;
    if (asn_capi_need(a, "a") || asn_capi_need(b, "b")) return -1;
    return asn_array_may_share(&a->array, &b->array);
}

/* ---- parts of an axis */

static const asn_index_item whole = {
    .kind = ASN_INDEX_SLICE, .start = 0, .stop = INT64_MAX, .step = 1};

/* One item for one axis, whole axes before it; the core completes the rest. */
static asnp_status one_axis(const asnp_array *a, int32_t axis, asn_index_item item,
                            asnp_array **out) {
    /* Axes behind `at` need no item: an index is completed by whole ones. */
    asn_index_item items[ASN_MAX_DIMS];
    asn_array made;
    int at;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, &at));
    for (int d = 0; d < at; d++)
        items[d] = whole;
    items[at] = item;
    return asn_capi_wrap(asn_index_view(&made, &a->array, at + 1, items), &made, out);
}

/* Python's rules: bounds are cut to the axis, negative ones count from the end. */
asnp_status asnp_slice(const asnp_array *a, int32_t axis, int64_t start, int64_t stop,
                       int64_t step, asnp_array **out) {
    IN_LIBRARY;
    if (step == 0) return asn_error_set(ASN_ERR_VALUE, "slice step cannot be zero");
    if (step < 0 && stop == ASNP_END) stop = INT64_MIN;
    return one_axis(
        a, axis,
        (asn_index_item){
            .kind = ASN_INDEX_SLICE, .start = start, .stop = stop, .step = step},
        out);
}

/* An integer index: the axis goes. */
asnp_status asnp_pick(const asnp_array *a, int32_t axis, int64_t index,
                      asnp_array **out) {
    IN_LIBRARY;
    return one_axis(a, axis, (asn_index_item){.kind = ASN_INDEX_INT, .start = index},
                    out);
}

/* axes NULL: all of them. */
asnp_status asnp_flip(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                      asnp_array **out) {
    IN_LIBRARY;
    uint64_t mask;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_axes(num_axes, axes, asn_capi_layout(a)->ndim, &mask));
    return asn_capi_wrap(asn_np_flip(&made, &a->array, mask), &made, out);
}

/* ---- the order of axes */

/* perm NULL: all axes reversed. Each axis must be named once. */
asnp_status asnp_transpose(const asnp_array *a, const int32_t *perm, asnp_array **out) {
    IN_LIBRARY;
    asn_layout view;
    int checked[ASN_MAX_DIMS];
    uint64_t seen = 0;
    NEED(a);
    NEED(out);
    int ndim = asn_capi_layout(a)->ndim;
    for (int d = 0; d < ndim && perm; d++) {
        ASN_TRY(asn_axis_normalize(perm[d], ndim, &checked[d]));
        if (seen >> checked[d] & 1)
            return asn_error_set(ASN_ERR_VALUE, "transpose: axis %d is listed twice",
                                 (int)perm[d]);
        seen |= (uint64_t)1 << checked[d];
    }
    return asn_capi_view(
        asn_view_transpose(&view, asn_capi_layout(a), perm ? checked : NULL), a, &view,
        out);
}

/* Negative axes count from the end; the core says AXIS. */
asnp_status asnp_swapaxes(const asnp_array *a, int32_t axis1, int32_t axis2,
                          asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_np_swapaxes(&made, &a->array, axis1, axis2), &made, out);
}

/* One axis of the function's list in NumPy. */
asnp_status asnp_moveaxis(const asnp_array *a, int32_t source, int32_t destination,
                          asnp_array **out) {
    IN_LIBRARY;
    const int64_t from = source, to = destination;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_np_moveaxis(&made, &a->array, 1, &from, 1, &to), &made, out);
}

/* ---- other shapes */

/* axis counts the result's dimensions, as in NumPy. */
asnp_status asnp_expand_dims(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    asn_layout view;
    int at;
    NEED(a);
    NEED(out);
    int ndim = asn_capi_layout(a)->ndim + 1;
    ASN_TRY(asn_axis_normalize(axis, ndim, &at));
    return asn_capi_view(
        asn_view_expand(&view, asn_capi_layout(a), ndim, (uint64_t)1 << at), a, &view,
        out);
}

/* NULL: every axis of extent 1; one that is named must have it. */
asnp_status asnp_squeeze(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                         asnp_array **out) {
    IN_LIBRARY;
    asn_layout view;
    uint64_t mask;
    NEED(a);
    NEED(out);
    /* The layout refuses a named axis of another extent (VALUE). */
    const asn_layout *l = asn_capi_layout(a);
    ASN_TRY(asn_capi_axes(num_axes, axes, l->ndim, &mask));
    for (int d = 0; d < l->ndim && !axes; d++)
        if (l->shape[d] != 1) mask &= ~((uint64_t)1 << d);
    return asn_capi_view(asn_view_squeeze(&view, l, mask), a, &view, out);
}

asnp_status asnp_diagonal(const asnp_array *a, int64_t offset, int32_t axis1,
                          int32_t axis2, asnp_array **out) {
    IN_LIBRARY;
    const asn_np_diagonals of = {offset, axis1, axis2};
    asn_layout view;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_np_diagonal(&view, asn_capi_layout(a), &of));
    /* NumPy's is read-only; a C program has asnp_copy for that */
    view.flags |= asn_capi_layout(a)->flags & ASN_WRITEABLE;
    return asn_capi_view(ASN_OK, a, &view, out);
}

/* A view of the real dtype with the complex strides. NumPy's .real of a real array is
 * itself; here it is refused, since a program that asks has mistaken its dtype. */
static asnp_status part(const asnp_array *a, int which, asnp_array **out) {
    asn_layout view;
    NEED(a);
    NEED(out);
    if (!asn_is_complex(asn_capi_type(a)))
        return asn_error_set(ASN_ERR_TYPE, "%s are no complex numbers",
                             asn_dtype_name(asn_capi_type(a)));
    return asn_capi_view(asn_view_part(&view, asn_capi_layout(a), which), a, &view, out);
}

/* A view of the same memory: writing to it changes the complex array. */
asnp_status asnp_real(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    return part(a, 0, out);
}

asnp_status asnp_imag(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    return part(a, 1, out);
}

/* Strides of 0 where it stretches; the view is read-only, since elements share memory. */
asnp_status asnp_broadcast_to(const asnp_array *a, int32_t ndim, const int64_t *shape,
                              asnp_array **out) {
    IN_LIBRARY;
    asn_layout view;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_shape(ndim, shape));
    return asn_capi_view(asn_view_broadcast(&view, asn_capi_layout(a), ndim, shape), a,
                         &view, out);
}

/* One extent of -1 is what the size leaves. */
asnp_status asnp_reshape(const asnp_array *a, int32_t ndim, const int64_t *shape,
                         asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_shape(ndim, shape));
    return asn_capi_wrap(asn_np_reshape(&made, &a->array, ndim, shape), &made, out);
}

/* Row-major; a view where the strides make one axis. */
asnp_status asnp_ravel(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_np_ravel(&made, &a->array), &made, out);
}
