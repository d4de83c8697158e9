/* L3 python: plain cases (plain.c) of arrays joined along an axis, which may be new. */
#include "convert.h"
#include "plain.h"

enum { MOST_JOINED = 16 };

/* The exact arrays of a tuple or list, of one dtype that joins without a look; how many,
 * 0: it is none. */
static int joined(PyObject *o, const asn_array **arrays) {
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return 0;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
    PyObject *const *items = PySequence_Fast_ITEMS(o);
    if (count > MOST_JOINED) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!asn_is_ndarray_exact(items[i]) ||
            asn_dtype_of(items[i]) != asn_dtype_of(*items))
            return 0;
        arrays[i] = asn_of(items[i]);
    }
    return (int)count;
}

static PyObject *join_along(int count, const asn_array *const *arrays, int axis) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    const asn_dtype dtype = asn_layout_dtype(&arrays[0]->layout);
    return asn_ndarray_finish(r, asn_concatenate(count, arrays, axis, dtype,
                                                 ASN_CASTING_SAME_KIND, NULL, &r->array));
}

/* Views of arrays of one shape with a new axis, joined along it; room for them. */
static PyObject *stacked_in(asn_array *views, const asn_array **at, int count,
                            const asn_array *const *arrays, int axis) {
    const int ndim = arrays[0]->layout.ndim;
    int made = 0;
    asn_status status = ASN_OK;
    for (; made < count && !status; made += !status) {
        asn_layout wider;
        status =
            asn_view_expand(&wider, &arrays[made]->layout, ndim + 1, (uint64_t)1 << axis);
        if (status) break;
        asn_array_view(&views[made], arrays[made], &wider);
        at[made] = &views[made];
    }
    PyObject *r = status ? asn_raise(status) : join_along(count, at, axis);
    while (made)
        asn_array_fini(&views[--made]);
    return r;
}

static PyObject *stacked(int count, const asn_array *const *arrays, int axis) {
    asn_array views[MOST_JOINED];
    const asn_array *at[MOST_JOINED];
    return stacked_in(views, at, count, arrays, axis);
}

PyObject *asn_stacked_items(PyObject *o) {
    enum { MOST = 1 << 16 };
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return NULL;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
    PyObject *const *items = PySequence_Fast_ITEMS(o);
    if (count == 0 || count > MOST || !asn_is_ndarray_exact(*items)) return NULL;
    const asn_layout *first = &asn_of(*items)->layout;
    if (first->size == 0) return NULL; /* NumPy's strides of nothing are its own */
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!asn_is_ndarray_exact(items[i])) return NULL;
        const asn_layout *l = &asn_of(items[i])->layout;
        if (l->dtype != first->dtype || !asn_layout_same_shape(l, first) ||
            !asn_layout_contiguous(l) || l->ndim >= ASN_MAX_DIMS)
            return NULL;
    }
    if (count <= MOST_JOINED) {
        const asn_array *arrays[MOST_JOINED];
        return stacked(joined(o, arrays), arrays, 0);
    }
    asn_array *views = asn_malloc((size_t)count * sizeof *views);
    const asn_array **arrays = asn_malloc(2 * (size_t)count * sizeof *arrays);
    for (Py_ssize_t i = 0; i < count && arrays; i++)
        arrays[i] = asn_of(items[i]);
    PyObject *r = views && arrays
                      ? stacked_in(views, arrays + count, (int)count, arrays, 0)
                      : asn_raise(ASN_ERR_MEMORY);
    asn_free(arrays);
    asn_free(views);
    return r;
}

/* Arrays of one shape. */
PyObject *asn_plain_stack(PyObject *const *v, Py_ssize_t n) {
    const asn_array *arrays[MOST_JOINED];
    int64_t axis = 0;
    const int count = n == 1 || n == 2 ? joined(v[0], arrays) : 0;
    if (!count || (n == 2 && !whole(v[1], &axis))) NOT_PLAIN;
    const asn_layout *first = &arrays[0]->layout;
    axis += axis < 0 ? first->ndim + 1 : 0;
    if (axis < 0 || axis > first->ndim || first->ndim >= ASN_MAX_DIMS) NOT_PLAIN;
    for (int i = 1; i < count; i++)
        if (!asn_layout_same_shape(&arrays[i]->layout, first)) NOT_PLAIN;
    return stacked(count, arrays, (int)axis);
}

/* Arrays of as many axes, one at least, that differ along `axis` alone. */
static PyObject *joined_plainly(PyObject *const *v, Py_ssize_t n, int axis, int least) {
    const asn_array *arrays[MOST_JOINED];
    const int count = n == 1 ? joined(v[0], arrays) : 0;
    int which;
    if (!count || arrays[0]->layout.ndim < least) NOT_PLAIN;
    if (arrays[0]->layout.ndim <= axis) axis = 0;
    if (asn_join_check(count, arrays, axis, &which)) {
        asn_error_clear(); /* it will be said again */
        NOT_PLAIN;
    }
    return join_along(count, arrays, which);
}

PyObject *asn_plain_hstack(PyObject *const *v, Py_ssize_t n) {
    return joined_plainly(v, n, 1, 1);
}

PyObject *asn_plain_vstack(PyObject *const *v, Py_ssize_t n) {
    return joined_plainly(v, n, 0, 2);
}
