/* L3 python: unravel_index and ravel_multi_index. They read arguments;
 * numpy/coordinates.h has the rest. Numbers give numbers without an array on the way.
 *
 * The two functions are each other's inverse between flat numbers and coordinates of a
 * shape, in row-major or column-major order. Indices are int64; what is of another
 * integer dtype is cast, floats are refused. Errors are NumPy's, so those about order=
 * and mode= have texts of their own here. */
#include "python/functions/function.h"
#include "numpy/coordinates.h"

/* Extents: a number or a sequence of them; -1: an error. Whether they are sensible
 * (negative, too many elements) is the core's to check. */
static int read_dims(PyObject *obj, int64_t *shape, int *ndim) {
    if (PyIndex_Check(obj) && !PySequence_Check(obj)) {
        *ndim = 1;
        return asn_int64_from_py(obj, shape);
    }
    PyObject *items = asn_items_of(obj, "dimensions are integers");
    if (!items) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int rc = 0;
    if (n > ASN_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "maximum supported dimension for an ndarray is currently %d, found "
                     "%zd",
                     ASN_MAX_DIMS, n);
        rc = -1;
    }
    for (Py_ssize_t i = 0; i < n && rc == 0; i++)
        rc = asn_int64_from_py(PySequence_Fast_GET_ITEM(items, i), &shape[i]);
    *ndim = (int)n;
    Py_DECREF(items);
    return rc;
}

/* order=, of which only 'C' and 'F' have a meaning here; NumPy names the others apart. */
static int read_order(PyObject *obj, char *order) {
    *order = 'C';
    if (!obj) return 0;
    const char *text = PyUnicode_Check(obj) ? PyUnicode_AsUTF8(obj) : NULL;
    if (text && (strcmp(text, "C") == 0 || strcmp(text, "F") == 0)) {
        *order = *text;
        return 0;
    }
    /* Orders that NumPy knows, but not here. */
    if (text && text[0] && !text[1] && strchr("KAcf", *text))
        PyErr_SetString(PyExc_ValueError, "only 'C' or 'F' order is permitted");
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "order must be one of 'C', 'F', 'A', or 'K' (got %R)", obj);
    return -1;
}

/* Indices as an int64 array, a new reference. An empty list is float64 to NumPy, and gets
 * an error of its own. */
static PyObject *whole_index(PyObject *obj) {
    PyObject *a = asn_asarray(obj);
    if (!a) return NULL;
    asn_dtype dtype = asn_dtype_of(a);
    if (dtype == ASN_BOOL || asn_is_integer(dtype)) {
        Py_SETREF(a, asn_array_from_any(a, ASN_I64, -1, 'K', 0, false));
        return a;
    }
    /* What is not of integers is refused, whatever its values. */
    bool empty = (PyList_Check(obj) || PyTuple_Check(obj)) && asn_of(a)->layout.size == 0;
    PyErr_SetString(PyExc_TypeError,
                    empty ? "indices must be integral: the provided empty sequence was "
                            "inferred as float. Wrap it with 'np.array(indices, "
                            "dtype=np.intp)'"
                          : "only int indices permitted");
    Py_DECREF(a);
    return NULL;
}

/* A Python integer that fits; false without an error for anything else. */
static bool is_number(PyObject *obj, int64_t *value) {
    int overflow = 0;
    if (!PyLong_CheckExact(obj)) return false;
    *value = PyLong_AsLongLongAndOverflow(obj, &overflow);
    return !overflow;
}

/* The NumPy scalar of an index. */
static PyObject *number(int64_t value) {
    return asn_scalar_at(ASN_I64, &value);
}

/* ---- flat indices to coordinates */

/* The shape that coordinates are of. */
typedef struct {
    int ndim;
    int64_t shape[ASN_MAX_DIMS];
    char order;
} grid;

/* One flat number: a tuple of NumPy scalars. */
static PyObject *unravel_number(int64_t flat, const grid *g) {
    int64_t at[ASN_MAX_DIMS];
    ASN_PY_TRY(asn_np_unravel(flat, g->ndim, g->shape, g->order, at));
    PyObject *r = PyTuple_New(g->ndim);
    for (int d = 0; r && d < g->ndim; d++) {
        PyObject *one = number(at[d]);
        if (one)
            PyTuple_SET_ITEM(r, d, one);
        else
            Py_CLEAR(r);
    }
    return r;
}

/* An array of them: a tuple of arrays of its shape, scalars where it has no dimensions.
 */
static PyObject *unravel_array(PyObject *flat, const grid *g) {
    asn_array found[ASN_MAX_DIMS];
    ASN_PY_TRY(asn_np_unravel_index(found, asn_of(flat), g->ndim, g->shape, g->order));
    PyObject *r = PyTuple_New(g->ndim);
    for (int d = 0; d < g->ndim; d++) {
        /* After a failure the arrays that come are still taken, and ended with their
         * objects. */
        PyObject *one = asn_ndarray_wrap(&found[d]);
        if (one) one = asn_ndarray_return(one);
        if (r && one) {
            PyTuple_SET_ITEM(r, d, one);
        } else {
            Py_XDECREF(one);
            Py_CLEAR(r);
        }
    }
    return r;
}

/* (indices, shape, order): the shape is checked first, as in NumPy. */
static PyObject *f_unravel_index(PyObject *const *v) {
    grid g;
    int64_t flat;
    if (read_dims(v[1], g.shape, &g.ndim) < 0 || read_order(v[2], &g.order) < 0)
        return NULL;
    if (is_number(v[0], &flat)) return unravel_number(flat, &g);
    PyObject *indices = whole_index(v[0]);
    PyObject *r = indices ? unravel_array(indices, &g) : NULL;
    Py_XDECREF(indices);
    return r;
}

/* ---- coordinates to flat indices */

/* A name as the core's mode; -1: NumPy's ValueError. */
static int one_mode(PyObject *obj, asn_np_bounds *mode) {
    static const char *const names[] = {"raise", "wrap", "clip"};
    for (int i = 0; i < 3; i++)
        if (PyUnicode_Check(obj) &&
            PyUnicode_CompareWithASCIIString(obj, names[i]) == 0) {
            *mode = (asn_np_bounds)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError,
                 "clipmode must be one of 'clip', 'raise', or 'wrap' (got %R)", obj);
    return -1;
}

/* mode=: one for all dimensions, or one for each; absent is "raise". */
static int read_modes(PyObject *obj, int ndim, asn_np_bounds *modes) {
    asn_np_bounds all = ASN_BOUNDS_RAISE;
    if (!obj || PyUnicode_Check(obj)) {
        if (obj && one_mode(obj, &all) < 0) return -1;
        for (int d = 0; d < ndim; d++)
            modes[d] = all;
        return 0;
    }
    PyObject *items = asn_items_of(obj, "mode is a name, or a sequence of names");
    if (!items) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int rc = 0;
    if (n != ndim) {
        PyErr_Format(PyExc_ValueError,
                     "list of clipmodes has wrong length (%zd instead of %d)", n, ndim);
        rc = -1;
    }
    for (Py_ssize_t i = 0; i < n && rc == 0; i++)
        rc = one_mode(PySequence_Fast_GET_ITEM(items, i), &modes[i]);
    Py_DECREF(items);
    return rc;
}

/* The coordinates as arrays, broadcast together: one flat number each. `made` counts
 * those to release. */
static PyObject *ravel_arrays(PyObject *const *items, const grid *g,
                              const asn_np_bounds *modes) {
    PyObject *objects[ASN_MAX_DIMS], *r = NULL;
    const asn_array *at[ASN_MAX_DIMS];
    int made = 0;
    for (; made < g->ndim; made++) {
        objects[made] = whole_index(items[made]);
        if (!objects[made]) break;
        at[made] = asn_of(objects[made]);
    }
    asn_ndarray *flat = made == g->ndim ? asn_ndarray_alloc() : NULL;
    if (flat)
        r = asn_ndarray_finish(flat, asn_np_ravel_multi_index(&flat->array, at, g->ndim,
                                                              g->shape, modes, g->order));
    while (made)
        Py_DECREF(objects[--made]);
    return r;
}

/* multi_index as n items. All of them ints: no array is made. */
static PyObject *ravel_items(PyObject *const *items, Py_ssize_t n, const grid *g,
                             PyObject *mode) {
    int64_t at[ASN_MAX_DIMS], flat;
    asn_np_bounds modes[ASN_MAX_DIMS];
    if (read_modes(mode, g->ndim, modes) < 0) return NULL;
    if (n != g->ndim)
        return PyErr_Format(PyExc_ValueError,
                            "parameter multi_index must be a sequence of length %d",
                            g->ndim);
    for (int d = 0; d < g->ndim; d++)
        if (!is_number(items[d], &at[d])) return ravel_arrays(items, g, modes);
    ASN_PY_TRY(asn_np_ravel_multi(at, g->ndim, g->shape, modes, g->order, &flat));
    return number(flat);
}

/* (multi_index, dims, mode, order): one item for each dimension; an array counts by its
 * first axis. mode says for each dimension what an index out of bounds is: an error, or
 * wrapped, or the nearest one. */
static PyObject *f_ravel_multi_index(PyObject *const *v) {
    grid g;
    if (read_dims(v[1], g.shape, &g.ndim) < 0 || read_order(v[3], &g.order) < 0)
        return NULL;
    PyObject *items = asn_items_of(v[0], "multi_index is a sequence"), *r = NULL;
    if (items)
        r = ravel_items(PySequence_Fast_ITEMS(items), PySequence_Fast_GET_SIZE(items), &g,
                        v[2]);
    Py_XDECREF(items);
    return r;
}

asn_function_def asn_coordinate_functions[] = {
    ASN_FUNCTION("unravel_index", "indices, shape, order='C'", f_unravel_index,
                 "Flat indices as coordinates: a tuple of one array (or number) per "
                 "dimension."),
    ASN_FUNCTION("ravel_multi_index", "multi_index, dims, mode='raise', order='C'",
                 f_ravel_multi_index,
                 "Coordinates as flat indices. mode, or one for each dimension: what to "
                 "do about indices out of bounds."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
