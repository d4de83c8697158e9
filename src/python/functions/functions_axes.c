/* L3 python: functions about the order and the direction of axes: moveaxis, rollaxis,
 * swapaxes, flip, fliplr, flipud, rot90, roll, fft.fftshift. They read arguments;
 * numpy/axes.h has the rest.
 *
 * All but roll and fftshift give views. Axes are read as each NumPy function reads them:
 * through operator.index, C's int, or with bools; that is why there are so many readers
 * here. Objects that are no arrays are served by their own methods where NumPy's Python
 * code would call them (transpose, indexing). */
#include "python/functions/function.h"
#include "numpy/axes.h"

/* (Contract in methods.h.) The errors are those of NumPy's C parser ("i" and "n"
 * formats). */
int asn_axis_number_from_py(PyObject *obj, int64_t *out) {
    if (!PyIndex_Check(obj)) {
        PyErr_Format(PyExc_TypeError, "integer argument expected, got %s",
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    if (asn_int64_from_py(obj, out) < 0) return -1;
    /* NumPy's parser wants a C int, whatever an axis of ours could be. */
    if (*out == (int)*out) return 0;
    PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C int");
    return -1;
}

/* axis= as NumPy's normalize_axis_tuple reads it: one number, or any sequence of them. A
 * new tuple; NULL: an error. */
static PyObject *axis_items(PyObject *axis) {
    if (PyTuple_Check(axis) || PyList_Check(axis)) return PySequence_Tuple(axis);
    PyObject *number = PyNumber_Index(axis);
    if (!number) {
        PyErr_Clear();
        return PySequence_Tuple(axis);
    }
    PyObject *items = PyTuple_Pack(1, number);
    Py_DECREF(number);
    return items;
}

/* The same as numbers; more than there can be axes are cut, one being repeated then,
 * which is an error anyway. An int, the usual axis, makes no tuple. */
static int axis_numbers(PyObject *axis, int64_t values[ASN_MAX_DIMS + 1], int *n) {
    if (ASN_LIKELY(PyLong_CheckExact(axis))) {
        *n = 1;
        return asn_axis_number_from_py(axis, values);
    }
    PyObject *items = axis_items(axis);
    if (!items) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    *n = (int)(count > ASN_MAX_DIMS ? ASN_MAX_DIMS + 1 : count);
    int rc = 0;
    for (int i = 0; i < *n && rc == 0; i++)
        rc = asn_axis_number_from_py(PySequence_Fast_GET_ITEM(items, i), &values[i]);
    Py_DECREF(items);
    return rc;
}

/* The rest of a function whose result is the view that `call` makes of v[0] as an array.
 */
#define VIEW(call)                                                                       \
    PyObject *a = asn_asarray(v[0]);                                                     \
    if (!a) return NULL;                                                                 \
    asn_array view;                                                                      \
    PyObject *r = asn_ndarray_view_made(a, call, &view);                                 \
    Py_DECREF(a);                                                                        \
    return r

/* ---- order */

/* What is no array of ours, but has a transpose() of its own, or one of ours that
 * replaces it: that method; NULL without an error: there is none. */
static PyObject *own_transpose(PyObject *object) {
    if (asn_is_ndarray_exact(object) || PyArray_CheckExact(object)) return NULL;
    if (asn_is_ndarray(object)) return asn_function_method("transpose", object);
    PyObject *method = PyObject_GetAttrString(object, "transpose");
    if (!method) PyErr_Clear();
    return method;
}

/* What moves where, of an array of `ndim` axes, as it was given. NumPy checks the first
 * argument before the second one is read: so does read_moves. */
typedef struct {
    int num_source, num_destination;
    int64_t source[ASN_MAX_DIMS + 1], destination[ASN_MAX_DIMS + 1];
} axis_moves;

/* v: a, source, destination. -1: an error of the first, then of the second. */
static int read_moves(PyObject *const *v, int ndim, axis_moves *m) {
    int checked[ASN_MAX_DIMS + 1];
    if (axis_numbers(v[1], m->source, &m->num_source) < 0) return -1;
    ASN_PY_TRY_INT(asn_np_axes(m->num_source, m->source, ndim, "source", checked));
    return axis_numbers(v[2], m->destination, &m->num_destination);
}

/* moveaxis of an object with a transpose() of its own: method(order of the axes). */
static PyObject *call_transpose(PyObject *method, PyObject *const *v) {
    axis_moves m;
    int perm[ASN_MAX_DIMS];
    int64_t order[ASN_MAX_DIMS], ndim = 0;
    PyObject *found = PyObject_GetAttrString(v[0], "ndim");
    int rc = found ? asn_int64_from_py(found, &ndim) : -1;
    Py_XDECREF(found);
    if (rc < 0 || read_moves(v, (int)ndim, &m) < 0) return NULL;
    ASN_PY_TRY(asn_np_moved_order((int)ndim, m.num_source, m.source, m.num_destination,
                                  m.destination, perm));
    for (int d = 0; d < ndim; d++)
        order[d] = perm[d];
    PyObject *axes = asn_shape_to_py((int)ndim, order);
    PyObject *r = axes ? PyObject_CallOneArg(method, axes) : NULL;
    Py_XDECREF(axes);
    return r;
}

/* moveaxis of an array: a view. */
static PyObject *moveaxis(PyObject *a, PyObject *const *v) {
    axis_moves m;
    asn_array view;
    if (read_moves(v, asn_of(a)->layout.ndim, &m) < 0) return NULL;
    return asn_ndarray_view_made(a,
                                 asn_np_moveaxis(&view, asn_of(a), m.num_source, m.source,
                                                 m.num_destination, m.destination),
                                 &view);
}

/* (a, source, destination), each a number or a sequence of them; the other axes keep
 * their order. */
static PyObject *f_moveaxis(PyObject *const *v) {
    PyObject *method = own_transpose(v[0]);
    if (!method && PyErr_Occurred()) return NULL;
    /* One of the two ways has its object in `a`, which the other leaves alone. */
    PyObject *a = method ? Py_NewRef(method) : asn_asarray(v[0]);
    PyObject *r = method ? call_transpose(method, v) : a ? moveaxis(a, v) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(a);
    return r;
}

/* (a, axis, start): the axis moves before `start`. */
static PyObject *f_rollaxis(PyObject *const *v) {
    int64_t axis, start = 0;
    if (asn_axis_number_from_py(v[1], &axis) < 0) return NULL;
    if (asn_int64_from_py(v[2], &start) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
        PyErr_Clear();
        start = INT64_MAX; /* no axis, whichever it is */
    }
    VIEW(asn_np_rollaxis(&view, asn_of(a), axis, start));
}

/* (Contract in methods.h.) A view. */
PyObject *asn_swapaxes_run(PyObject *a, PyObject *axis1, PyObject *axis2) {
    int64_t first = 0, second = 0;
    asn_array view;
    if (asn_axis_number_from_py(axis1, &first) < 0 ||
        asn_axis_number_from_py(axis2, &second) < 0)
        return NULL;
    return asn_ndarray_view_made(a, asn_np_swapaxes(&view, asn_of(a), first, second),
                                 &view);
}

/* (a, axis1, axis2). Of a NumPy scalar the result is one again. */
static PyObject *f_swapaxes(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]);
    PyObject *r = a ? asn_swapaxes_run(a, v[1], v[2]) : NULL;
    Py_XDECREF(a);
    return r && PyArray_IsScalar(v[0], Generic) ? asn_ndarray_return(r) : r;
}

/* ---- direction */

/* The axes that axis= says, as bits; all where it is None. */
static int flipped_axes(PyObject *axis, int ndim, uint64_t *mask) {
    int64_t given[ASN_MAX_DIMS + 1];
    int n, axes[ASN_MAX_DIMS + 1];
    *mask = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    if (!axis || axis == Py_None) return 0;
    if (axis_numbers(axis, given, &n) < 0) return -1;
    ASN_PY_TRY_INT(asn_np_axes(n, given, ndim, NULL, axes));
    *mask = 0;
    for (int i = 0; i < n; i++)
        *mask |= (uint64_t)1 << axes[i];
    return 0;
}

/* Of an object that has dimensions and is no array of exactly ours: by its own index,
 * object[::-1, :], as NumPy's flip does it. */
static PyObject *flip_by_index(PyObject *object, PyObject *ndim_object, PyObject *axis) {
    int64_t ndim = 0;
    uint64_t mask;
    if (asn_int64_from_py(ndim_object, &ndim) < 0 ||
        flipped_axes(axis, (int)ndim, &mask) < 0)
        return NULL;
    PyObject *back = PyLong_FromLong(-1), *key = back ? PyTuple_New((int)ndim) : NULL;
    for (int d = 0; key && d < ndim; d++) {
        PyObject *part = PySlice_New(NULL, NULL, mask >> d & 1 ? back : NULL);
        if (part)
            PyTuple_SET_ITEM(key, d, part);
        else
            Py_CLEAR(key);
    }
    PyObject *r = key ? PyObject_GetItem(object, key) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(back);
    return r;
}

/* (m, axis). What has an `ndim` is indexed; what has none (lists) becomes an array. */
static PyObject *f_flip(PyObject *const *v) {
    if (!asn_is_ndarray_exact(v[0]) && !PyArray_CheckExact(v[0])) {
        PyObject *ndim = PyObject_GetAttrString(v[0], "ndim");
        PyObject *r = ndim ? flip_by_index(v[0], ndim, v[1]) : NULL;
        Py_XDECREF(ndim);
        if (ndim) return r;
        PyErr_Clear();
    }
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    asn_array view;
    uint64_t mask;
    if (a && flipped_axes(v[1], asn_of(a)->layout.ndim, &mask) == 0)
        r = asn_ndarray_view_made(a, asn_np_flip(&view, asn_of(a), mask), &view);
    Py_XDECREF(a);
    return r ? asn_ndarray_return(r) : NULL; /* of no axes: the element */
}

/* fliplr and flipud: along axis 0 or 1, which there must be. */
static PyObject *flip_along(PyObject *m, int axis) {
    PyObject *a = asn_asarray(m), *r = NULL;
    asn_array view;
    if (a && asn_of(a)->layout.ndim <= axis)
        PyErr_Format(PyExc_ValueError, "Input must be >= %d-d.", axis + 1);
    else if (a)
        r = asn_ndarray_view_made(a, asn_np_flip(&view, asn_of(a), 1u << axis), &view);
    Py_XDECREF(a);
    return r;
}

/* (m) */
static PyObject *f_fliplr(PyObject *const *v) {
    return flip_along(v[0], 1);
}
static PyObject *f_flipud(PyObject *const *v) {
    return flip_along(v[0], 0);
}

/* k as an integer, as NumPy 2.5 reads it: of what is none with a warning. NULL: absent,
 * or an error. */
static PyObject *whole_turns(PyObject *k) {
    PyObject *index = k ? PyNumber_Index(k) : NULL;
    if (index || !k || !PyErr_ExceptionMatches(PyExc_TypeError)) return index;
    PyErr_Clear();
    if (PyErr_WarnFormat(
            PyExc_DeprecationWarning, 1,
            "Passing a value for k (%R) that is not an integer type has been "
            "deprecated in NumPy 2.5. The value will be cast to an integer.  "
            "In the future this will be an error.",
            k) < 0)
        return NULL;
    return PyNumber_Long(k);
}

/* k % 4, of any number (an integer from NumPy 2.5 on); what is neither 0, 1 nor 2 then
 * counts as 3, as in NumPy's code. */
static int quarter_turns(PyObject *given, int *turns) {
    PyObject *k = asn_numpy_2_5() ? whole_turns(given) : Py_XNewRef(given);
    if (given && !k) return -1;
    PyObject *four = k ? PyLong_FromLong(4) : NULL;
    PyObject *rest = four ? PyNumber_Remainder(k, four) : NULL;
    double left = rest ? PyFloat_AsDouble(rest) : 1;
    Py_XDECREF(k);
    Py_XDECREF(four);
    Py_XDECREF(rest);
    *turns = left == 0 ? 0 : left == 1 ? 1 : left == 2 ? 2 : 3;
    return PyErr_Occurred() ? -1 : 0;
}

/* (m, k, axes): views, by a transpose and reversals; axes from the first to the second.
 */
static PyObject *f_rot90(PyObject *const *v) {
    /* The default plane is that of the first two axes. */
    int64_t axes[ASN_MAX_DIMS + 1] = {0, 1};
    int turns, n = 2;
    PyObject *items = v[2] ? PySequence_Tuple(v[2]) : NULL;
    if (v[2] && (!items || axis_numbers(items, axes, &n) < 0)) {
        Py_XDECREF(items);
        return NULL;
    }
    Py_XDECREF(items);
    if (n != 2) return PyErr_Format(PyExc_ValueError, "len(axes) must be 2.");
    if (quarter_turns(v[1], &turns) < 0) return NULL;
    VIEW(asn_np_rot90(&view, asn_of(a), turns, axes));
}

/* ---- roll */

/* *shift += one of those that the caller gave, of any size, for an axis of `extent`.
 * Python's remainder brings what no int64 holds into the extent. -1: an error. */
static int add_shift(PyObject *given, int64_t extent, int64_t *shift) {
    int overflow = 0;
    PyObject *rest = NULL;
    PyObject *number = PyLong_CheckExact(given) ? Py_NewRef(given) : PyNumber_Long(given);
    if (!number) return -1;
    int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) {
        PyObject *n = PyLong_FromLongLong(extent ? extent : 1);
        rest = n ? PyNumber_Remainder(number, n) : NULL;
        Py_XDECREF(n);
        value = rest ? PyLong_AsLongLong(rest) : -1;
        Py_XDECREF(rest);
    }
    Py_DECREF(number);
    /* Below the extent in size, so that sums of several cannot overflow. */
    if (extent) *shift = (*shift + value % extent) % extent;
    return PyErr_Occurred() ? -1 : 0;
}

/* shift= as the numbers of a sequence: any number, or what has one axis at most. A new
 * tuple. Lists of plain ints are taken as they are, the rest is NumPy's to read. */
static PyObject *shift_items(PyObject *shift) {
    if (PyTuple_CheckExact(shift) || PyList_CheckExact(shift))
        for (Py_ssize_t i = 0; i <= PySequence_Fast_GET_SIZE(shift); i++) {
            if (i == PySequence_Fast_GET_SIZE(shift)) return PySequence_Tuple(shift);
            if (!PyLong_CheckExact(PySequence_Fast_GET_ITEM(shift, i))) break;
        }
    PyObject *host = PyArray_FromAny(shift, NULL, 0, 0, 0, NULL), *items = NULL;
    if (host && PyArray_NDIM((PyArrayObject *)host) > 1)
        PyErr_SetString(PyExc_ValueError,
                        "'shift' and 'axis' should be scalars or 1D sequences");
    else if (host && PyArray_NDIM((PyArrayObject *)host) == 1)
        items = PySequence_Tuple(host);
    else if (host)
        items = PyTuple_Pack(1, shift);
    Py_XDECREF(host);
    return items;
}

/* The shifts and the axes, broadcast: how far each axis moves all in all; an axis that is
 * named twice moves by the sum. shifts[] is added to. -1: an error. */
static int add_shifts(PyObject *shift, PyObject *axis, const asn_layout *l,
                      int64_t *shifts) {
    PyObject *by = shift_items(shift), *axes = by ? axis_items(axis) : NULL;
    int rc = axes ? 0 : -1, which;
    Py_ssize_t n = by ? PySequence_Fast_GET_SIZE(by) : 0;
    Py_ssize_t m = axes ? PySequence_Fast_GET_SIZE(axes) : 0;
    for (Py_ssize_t i = 0; i < m && rc == 0; i++) /* NumPy checks them all first */
        rc = asn_loose_axis_from_py(PySequence_Fast_GET_ITEM(axes, i), l->ndim, &which);
    if (rc == 0 && n != m && n != 1 && m != 1) {
        PyErr_Format(PyExc_ValueError,
                     "shape mismatch: objects cannot be broadcast to a single shape.  "
                     "Mismatch is between arg 0 with shape (%zd,) and arg 1 with shape "
                     "(%zd,).",
                     n, m);
        rc = -1;
    }
    Py_ssize_t count = n == 1 ? m : n;
    for (Py_ssize_t i = 0; i < count && rc == 0; i++) {
        rc = asn_loose_axis_from_py(PySequence_Fast_GET_ITEM(axes, m == 1 ? 0 : i),
                                    l->ndim, &which);
        if (rc == 0)
            rc = add_shift(PySequence_Fast_GET_ITEM(by, n == 1 ? 0 : i), l->shape[which],
                           &shifts[which]);
    }
    Py_XDECREF(by);
    Py_XDECREF(axes);
    return rc;
}

/* A new array of a's class, each axis moved by shifts[axis]. */
static PyObject *rolled(PyObject *a, const int64_t *shifts) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    return asn_subclass_keep(
        asn_ndarray_made(r, asn_np_roll(&r->array, asn_of(a), shifts)), a);
}

/* axis=None: all elements as one axis, then a's shape again; 0-d stays. */
static PyObject *roll_flat(PyObject *a, PyObject *shift) {
    PyObject *zero = PyLong_FromLong(0), *flat = zero ? asn_ravel_run(a, 'C') : NULL;
    PyObject *moved = NULL, *r = NULL, *shape = NULL;
    int64_t by = 0;
    if (flat && add_shifts(shift, zero, &asn_of(flat)->layout, &by) == 0)
        moved = rolled(flat, &by);
    if (moved) shape = asn_shape_to_py(asn_of(a)->layout.ndim, asn_of(a)->layout.shape);
    if (shape) r = asn_reshape_run(moved, shape, 'C', -1);
    Py_XDECREF(shape);
    Py_XDECREF(moved);
    Py_XDECREF(flat);
    Py_XDECREF(zero);
    return r;
}

/* NumPy's roll; ints for both arguments need no tuples. */
static PyObject *roll(PyObject *a, PyObject *shift, PyObject *axis) {
    const asn_layout *l = &asn_of(a)->layout;
    const bool flat = !axis || axis == Py_None, one = PyLong_CheckExact(shift);
    int64_t shifts[ASN_MAX_DIMS];
    int which = 0;
    /* A vector is its own flat form. */
    if (flat && !(one && l->ndim == 1)) return roll_flat(a, shift);
    memset(shifts, 0, (size_t)l->ndim * sizeof *shifts);
    if (one && (flat || PyLong_CheckExact(axis))) {
        if (!flat && asn_loose_axis_from_py(axis, l->ndim, &which) < 0) return NULL;
        if (add_shift(shift, l->shape[which], &shifts[which]) < 0) return NULL;
    } else if (add_shifts(shift, axis, l, shifts) < 0) {
        return NULL;
    }
    return rolled(a, shifts);
}

/* (a, shift, axis): a copy, its elements moved towards higher positions, those that leave
 * coming back at the beginning. */
static PyObject *f_roll(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]);
    PyObject *r = a ? roll(a, v[1], v[2]) : NULL;
    Py_XDECREF(a);
    return r;
}

/* One of fftshift's axes, which NumPy looks up in the shape. */
static int shifted_axis(PyObject *obj, int ndim, int *axis) {
    int64_t given = 0;
    if (asn_int64_from_py(obj, &given) < 0) return -1;
    ASN_PY_TRY_INT(asn_axis_of_shape(given, ndim, axis));
    return 0;
}

/* axes= of fftshift: those of a sequence, or one; all where it is None. */
static int shifted_axes(PyObject *obj, int ndim, int *axes, int *n) {
    if (!obj || obj == Py_None) {
        for (*n = 0; *n < ndim; ++*n)
            axes[*n] = *n;
        return 0;
    }
    if (PyIndex_Check(obj) && !PySequence_Check(obj)) {
        *n = 1;
        return shifted_axis(obj, ndim, axes);
    }
    PyObject *items = PySequence_Tuple(obj);
    Py_ssize_t count = items ? PyTuple_GET_SIZE(items) : 0;
    int rc = items ? 0 : -1;
    if (count > ASN_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "axes has %zd numbers; it may have 0 to %d", count,
                     ASN_MAX_DIMS);
        rc = -1;
    }
    for (*n = 0; *n < count && rc == 0; ++*n)
        rc = shifted_axis(PyTuple_GET_ITEM(items, *n), ndim, &axes[*n]);
    Py_XDECREF(items);
    return rc;
}

/* (x, axes): each axis by half its extent; `back`: the other way, which for odd extents
 * is not the same. */
static PyObject *fftshift(PyObject *const *v, bool back) {
    int axes[ASN_MAX_DIMS], n;
    PyObject *a = asn_asarray(v[0]), *made = NULL;
    if (a && shifted_axes(v[1], asn_of(a)->layout.ndim, axes, &n) == 0) {
        asn_ndarray *r = asn_ndarray_alloc();
        if (r)
            made =
                asn_ndarray_made(r, asn_np_fftshift(&r->array, asn_of(a), n, axes, back));
    }
    Py_XDECREF(a);
    return made;
}

/* (x, axes) */
static PyObject *f_fftshift(PyObject *const *v) {
    return fftshift(v, false);
}
static PyObject *f_ifftshift(PyObject *const *v) {
    return fftshift(v, true);
}

asn_function_def asn_axes_functions[] = {
    ASN_FUNCTION("moveaxis", "a, source, destination", f_moveaxis,
                 "A view with axes moved to new positions."),
    ASN_FUNCTION("rollaxis", "a, axis, start=0", f_rollaxis,
                 "A view with one axis rolled backwards until it lies before another."),
    ASN_FUNCTION("swapaxes", "a, axis1, axis2", f_swapaxes,
                 "A view with two axes swapped."),
    ASN_FUNCTION("flip", "m, axis=None", f_flip,
                 "A view with the elements reversed along axes."),
    ASN_FUNCTION("fliplr", "m", f_fliplr, "flip along the second axis."),
    ASN_FUNCTION("flipud", "m", f_flipud, "flip along the first axis."),
    ASN_FUNCTION("rot90", "m, k=1, axes=(0, 1)", f_rot90,
                 "A view rotated by 90 degrees k times in a plane."),
    ASN_FUNCTION("roll", "a, shift, axis=None", f_roll,
                 "A copy with the elements shifted along axes, wrapping around."),
    ASN_FUNCTION_OF("fft", "fftshift", "x, axes=None", f_fftshift,
                    "Moves frequency zero to the middle."),
    ASN_FUNCTION_OF("fft", "ifftshift", "x, axes=None", f_ifftshift,
                    "The inverse of fftshift."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
