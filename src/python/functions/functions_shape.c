/* L3 python: functions about shape and order: reshape, ravel, transpose, sort, take, ...
 *
 * Nearly all make an array of their first argument and call what the method of the same
 * name calls (ndarray/methods.h), so that a function and a method cannot differ. The
 * functions' own part is what NumPy does around its methods: keywords that only functions
 * have, NumPy scalars that stay scalars, axes that are read differently. */
#include "python/functions/function.h"

/* The rest of a function: `expr` with v[0] as the array a. */
#define WITH_ARRAY(expr)                                                                 \
    PyObject *a = asn_asarray(v[0]);                                                     \
    if (!a) return NULL;                                                                 \
    PyObject *r = expr;                                                                  \
    Py_DECREF(a);                                                                        \
    return r

/* (a, shape, order, *, copy) */
static PyObject *f_reshape(PyObject *const *v) {
    char order = 'C';
    int copy = -1;
    if (asn_order_from_py(v[2], &order) < 0) return NULL;
    if (asn_copy_mode_from_py(v[3], -1, &copy) < 0) return NULL;
    WITH_ARRAY(asn_reshape_run(a, v[1], order, copy));
}

/* (a, order) */
static PyObject *f_ravel(PyObject *const *v) {
    char order = 'C';
    if (asn_order_from_py(v[1], &order) < 0) return NULL;
    WITH_ARRAY(asn_ravel_run(a, order));
}

/* The result that is a view of a NumPy scalar is a scalar again. Takes view; NULL passes.
 */
static PyObject *view_of(PyObject *given, PyObject *view) {
    return view && PyArray_IsScalar(given, Generic) ? asn_ndarray_return(view) : view;
}

/* (a, axes) and (a, axis): NumPy makes views of scalars, and scalars of those. */
static PyObject *f_transpose(PyObject *const *v) {
    WITH_ARRAY(view_of(v[0], asn_transpose_run(a, v[1])));
}
static PyObject *f_squeeze(PyObject *const *v) {
    WITH_ARRAY(view_of(v[0], asn_squeeze_run(a, v[1])));
}

/* (x): the attribute, so that a subclass's own counts. */
static PyObject *f_matrix_transpose(PyObject *const *v) {
    WITH_ARRAY(PyObject_GetAttrString(a, "mT"));
}

/* Axis numbers as NumPy's normalize_axis_tuple takes them, a bool for 0 or 1 among them:
 * a bit for each, of ndim dimensions and `more` (0 or 1) for each number: expand_dims
 * counts axes of its result. *count: how many. -1: an error, repeats among them. */
static int axes_by_index(PyObject *axis, int ndim, int more, int *count, uint64_t *mask) {
    /* NumPy iterates over tuples and lists alone; anything else must be one index. */
    bool many = PyTuple_CheckExact(axis) || PyList_CheckExact(axis);
    PyObject *items = many ? PySequence_Tuple(axis) : PyTuple_Pack(1, axis);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;
    int which, rc = items ? 0 : -1;
    *mask = 0;
    *count = (int)n;
    /* NumPy complains of the dimensions before it looks at an axis. */
    if (more && ndim + n > ASN_MAX_DIMS) {
        PyErr_Format(
            PyExc_ValueError,
            "maximum supported dimension for an ndarray is currently %d, found %zd",
            ASN_MAX_DIMS, ndim + n);
        rc = -1;
    }
    for (Py_ssize_t i = 0; i < n && rc == 0; i++) {
        PyObject *one = PyTuple_GET_ITEM(items, i);
        rc = asn_loose_axis_from_py(one, ndim + more * (int)n, &which);
        if (rc == 0 && *mask >> which & 1) {
            PyErr_SetString(PyExc_ValueError, "repeated axis");
            rc = -1;
        }
        if (rc == 0) *mask |= 1ULL << which;
    }
    Py_XDECREF(items);
    return rc;
}

/* expand_dims: a view with the axes added. */
static PyObject *expand(PyObject *a, PyObject *axis) {
    int n, ndim = asn_of(a)->layout.ndim;
    uint64_t mask;
    if (axes_by_index(axis, ndim, 1, &n, &mask) < 0) return NULL;
    asn_layout view;
    ASN_PY_TRY(asn_view_expand(&view, &asn_of(a)->layout, ndim + n, mask));
    return asn_ndarray_view(a, &view, true);
}

/* (a, axis) */
static PyObject *f_expand_dims(PyObject *const *v) {
    WITH_ARRAY(expand(a, v[1]));
}

/* A read-only view of exactly ndarray, with stride 0 along stretched axes. */
static PyObject *broadcast_to(PyObject *a, PyObject *shape_object) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    asn_layout view;
    if (asn_shape_from_py(shape_object, shape, &ndim) < 0) return NULL;
    for (int i = 0; i < ndim; i++)
        if (shape[i] < 0) {
            PyErr_SetString(PyExc_ValueError,
                            "all elements of broadcast shape must be non-negative");
            return NULL;
        }
    ASN_PY_TRY(asn_view_broadcast(&view, &asn_of(a)->layout, ndim, shape));
    return asn_ndarray_view(a, &view, false);
}

/* (array, shape): a list makes an array of its own, which the view keeps. */
static PyObject *broadcast_plain(PyObject *const *v) {
    WITH_ARRAY(broadcast_to(a, v[1]));
}

/* (array, shape, subok): with subok a subclass's view is finalised as a new array. */
static PyObject *f_broadcast_to(PyObject *const *v) {
    bool keep_type = false;
    if (asn_bool_from_py(v[2], &keep_type) < 0) return NULL;
    PyObject *plain = broadcast_plain(v);
    if (!plain || !keep_type || !asn_is_ndarray(v[0]) || asn_is_ndarray_exact(v[0]))
        return plain;
    /* The result is finalised from the array that was given, as NumPy's is. */
    /* The view's base goes with it. */
    return asn_subclass_keep(plain, v[0]);
}

/* (a): of an array-like, whatever it would be as an array. */
static PyObject *f_shape(PyObject *const *v) {
    WITH_ARRAY(asn_shape_to_py(asn_of(a)->layout.ndim, asn_of(a)->layout.shape));
}

static PyObject *f_ndim(PyObject *const *v) {
    WITH_ARRAY(PyLong_FromLong(asn_of(a)->layout.ndim));
}

/* axis None: all elements; else the product of the extents. */
static PyObject *size_along(PyObject *a, PyObject *axis) {
    const asn_layout *l = &asn_of(a)->layout;
    uint64_t mask;
    int n;
    if (!axis || axis == Py_None) return PyLong_FromLongLong(l->size);
    if (axes_by_index(axis, l->ndim, 0, &n, &mask) < 0) return NULL;
    int64_t size = 1;
    for (int d = 0; d < l->ndim; d++)
        if (mask >> d & 1) size *= l->shape[d];
    return PyLong_FromLongLong(size);
}

/* (a, axis) */
static PyObject *f_size(PyObject *const *v) {
    WITH_ARRAY(size_along(a, v[1]));
}

/* sort and argsort: (a, axis, kind, order, stable, descending). */
static PyObject *sorted_run(PyObject *const *v, bool indices) {
    WITH_ARRAY(asn_sorted_run(a, v[1], v[2], v[3], v[4], v[5], indices));
}

/* New arrays both; -1 is the default axis, None sorts the flattened array. */
static PyObject *f_sort(PyObject *const *v) {
    return sorted_run(v, false);
}

static PyObject *f_argsort(PyObject *const *v) {
    return sorted_run(v, true);
}

/* (a, kth, axis, kind, order) */
static PyObject *f_partition(PyObject *const *v) {
    WITH_ARRAY(asn_partitioned_run(a, v[1], v[2], v[3], v[4], false));
}

static PyObject *f_argpartition(PyObject *const *v) {
    WITH_ARRAY(asn_partitioned_run(a, v[1], v[2], v[3], v[4], true));
}

/* (a, kth), positions in ascending order: what quantiles need of a sort
 * (asnumpy/_quantiles.py). */
static PyObject *f_order_statistics(PyObject *const *v) {
    WITH_ARRAY(asn_order_statistics_run(a, v[1]));
}

/* (a, v, side, sorter): a is sorted, or sorter sorts it. */
static PyObject *f_searchsorted(PyObject *const *v) {
    WITH_ARRAY(asn_searchsorted_run(a, v[1], v[2], v[3]));
}

/* (a, indices, axis, out, mode) and (a, repeats, axis) */
static PyObject *f_take(PyObject *const *v) {
    WITH_ARRAY(asn_take_run(a, v[1], v[2], v[3], v[4]));
}
static PyObject *f_repeat(PyObject *const *v) {
    WITH_ARRAY(asn_repeat_run(a, v[1], v[2]));
}
/* (a, b): the product alone, as a step of a composition that reports once at its end. */
static PyObject *f_contract(PyObject *const *v) {
    if (!asn_is_ndarray(v[0]) || !asn_is_ndarray(v[1]))
        return PyErr_Format(PyExc_TypeError, "two arrays are needed");
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    return asn_ndarray_finish(r, asn_contract(asn_of(v[0]), asn_of(v[1]), &r->array));
}

/* (a): a tuple of positions, one array for each axis. */
static PyObject *f_nonzero(PyObject *const *v) {
    WITH_ARRAY(asn_nonzero_run(a));
}
/* (a, decimals, out), also as `around`. */
static PyObject *f_round(PyObject *const *v) {
    WITH_ARRAY(asn_round_run(a, v[1], v[2]));
}

/* clip(a, a_min, a_max, out, *, min, max, **kwargs): both spellings, not both at once, as
 * NumPy 2.1 has it. Either bound may be None, which bounds nothing. */
static PyObject *f_clip(PyObject *const *v) {
    PyObject *low = v[1], *high = v[2];
    bool old = !asn_is_no_value(low) || !asn_is_no_value(high);
    bool new = !asn_is_no_value(v[4]) || !asn_is_no_value(v[5]);
    /* One bound of the old spelling without the other is a missing argument; of the new
     * spelling it leaves the other side open. */
    if (old && (asn_is_no_value(low) || asn_is_no_value(high))) {
        PyErr_Format(PyExc_TypeError,
                     "clip() missing 1 required positional argument: '%s'",
                     asn_is_no_value(low) ? "a_min" : "a_max");
        return NULL;
    }
    if (old && new) {
        PyErr_SetString(
            PyExc_ValueError,
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are "
            "provided is forbidden.");
        return NULL;
    }
    if (new) low = v[4], high = v[5];
    if (asn_is_no_value(low)) low = NULL;
    if (asn_is_no_value(high)) high = NULL;
    WITH_ARRAY(asn_clip_run(a, low, high, v[3], v[6]));
}

/* (a, order, subok): always a new array. */
static PyObject *f_copy(PyObject *const *v) {
    char order = 'K';
    bool subok = false;
    if (asn_order_from_py(v[1], &order) < 0 || asn_bool_from_py(v[2], &subok) < 0)
        return NULL;
    return asn_array_from_any(v[0], ASN_DTYPE_NONE, 1, order, 0, subok);
}

#define SORT_SHOWN     "a, axis=-1, kind=None, order=None, *, stable=None"
#define SORT_ARGS      SORT_SHOWN ", descending=<no value>"
#define PARTITION_ARGS "a, kth, axis=-1, kind='introselect', order=None"

asn_function_def asn_shape_functions[] = {
    ASN_FUNCTION("reshape", "a, /, shape, order='C', *, copy=None", f_reshape,
                 "The same elements in another shape; a view where possible."),
    ASN_FUNCTION("ravel", "a, order='C'", f_ravel, "The elements in one dimension."),
    ASN_FUNCTION("transpose", "a, axes=None", f_transpose,
                 "A view with the axes permuted."),
    ASN_FUNCTION("matrix_transpose", "x, /", f_matrix_transpose,
                 "A view with the last two axes swapped."),
    ASN_FUNCTION("squeeze", "a, axis=None", f_squeeze,
                 "A view without axes of extent 1."),
    ASN_FUNCTION("expand_dims", "a, axis", f_expand_dims,
                 "A view with new axes of extent 1."),
    ASN_FUNCTION("broadcast_to", "array, shape, subok=False", f_broadcast_to,
                 "A read-only view stretched to a shape."),
    ASN_FUNCTION("shape", "a", f_shape, "The shape of an array-like."),
    ASN_FUNCTION("ndim", "a", f_ndim, "The number of dimensions of an array-like."),
    ASN_FUNCTION("size", "a, axis=None", f_size,
                 "The number of elements, in all or along axes."),
    ASN_FUNCTION("sort", SORT_ARGS, f_sort, "A sorted copy; NaN last.",
                 .shown_before_2_5 = SORT_SHOWN),
    ASN_FUNCTION("argsort", SORT_ARGS, f_argsort, "The indices that sort an array.",
                 .shown_before_2_5 = SORT_SHOWN),
    ASN_FUNCTION("partition", PARTITION_ARGS, f_partition,
                 "A copy in which the kth element is where sorting would put it."),
    ASN_FUNCTION("argpartition", PARTITION_ARGS, f_argpartition,
                 "The indices that partition an array."),
    ASN_FUNCTION("searchsorted", "a, v, side='left', sorter=None", f_searchsorted,
                 "Where values go in a sorted array."),
    ASN_FUNCTION(
        "_order_statistics", "a, kth", f_order_statistics,
        "The elements that sorting puts at these ascending positions of the last "
        "axis."),
    ASN_FUNCTION("_contract", "a, b, /", f_contract,
                 "matmul of two arrays that reports no floating-point exceptions."),
    ASN_FUNCTION("take", "a, indices, axis=None, out=None, mode='raise'", f_take,
                 "Elements by index along an axis."),
    ASN_FUNCTION("repeat", "a, repeats, axis=None", f_repeat, "Each element repeated."),
    ASN_FUNCTION("nonzero", "a", f_nonzero,
                 "Indices of the nonzero elements, one array per axis."),
    ASN_FUNCTION("round", "a, decimals=0, out=None", f_round, "Rounded, halves to even."),
    ASN_FUNCTION("around", "a, decimals=0, out=None", f_round,
                 "Rounded, halves to even."),
    ASN_FUNCTION("clip",
                 "a, a_min=<no value>, a_max=<no value>, out=None, *, min=<no value>, "
                 "max=<no value>, **kwargs",
                 f_clip, "Limited to an interval."),
    ASN_FUNCTION("copy", "a, order='K', subok=False", f_copy, "A copy."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
