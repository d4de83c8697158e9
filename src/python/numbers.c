/* L3 python: lists of Python numbers as arrays, read without NumPy.
 *
 * [1, 2, 3] and [[1.0, 2], [3, 4]]: floats and ints alone, every list of a level of one
 * length. The first items say the shape; one pass checks the whole, a second one reads
 * it. Nothing in between runs Python code, which could change a list; where other threads
 * could, the lists are copied to tuples before.
 */
#include "python/convert.h"
#include "python/ndarray/methods.h"

/* lists deeper than that, and larger ones, are NumPy's and the heap's */
enum { MOST_DIMS = 4, FEW = 32 };

/* What the first items say of a list. */
typedef struct {
    int ndim;
    int64_t shape[MOST_DIMS];
    bool floats; /* one number at least is a float */
} nest;

static bool is_list(PyObject *o) {
    return PyList_CheckExact(o) || PyTuple_CheckExact(o);
}

/* Whether `o`, `levels` deep, has these extents and nothing but numbers. */
static bool check(PyObject *o, int levels, const int64_t *extent, bool *floats) {
    if (!is_list(o) || PySequence_Fast_GET_SIZE(o) != *extent) return false;
    PyObject *const *items = PySequence_Fast_ITEMS(o);
    for (int64_t i = 0; i < *extent; i++) {
        if (levels > 1) {
            if (!check(items[i], levels - 1, extent + 1, floats)) return false;
        } else if (PyFloat_CheckExact(items[i])) {
            *floats = true;
        } else if (!PyLong_CheckExact(items[i])) {
            return false;
        }
    }
    return true;
}

/* The shape by the first items, then the check of all; false: something else. */
static bool shape_of(PyObject *o, nest *shape) {
    shape->ndim = 0;
    shape->floats = false;
    for (PyObject *at = o; is_list(at); at = PySequence_Fast_ITEMS(at)[0]) {
        if (shape->ndim == MOST_DIMS || PySequence_Fast_GET_SIZE(at) == 0) return false;
        shape->shape[shape->ndim++] = PySequence_Fast_GET_SIZE(at);
    }
    return shape->ndim && check(o, shape->ndim, shape->shape, &shape->floats);
}

/* A number as 8 bytes; false when it does not fit. Beside floats an int is one as float()
 * makes it, unless no integer dtype holds it: that is an array of objects. */
static bool read_number(PyObject *o, bool as_float, char *to) {
    int overflow = 0;
    int64_t whole = 0;
    double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : 0;
    if (PyLong_CheckExact(o)) {
        whole = PyLong_AsLongLongAndOverflow(o, &overflow);
        v = (double)whole;
    }
    if (overflow > 0 && as_float) {
        uint64_t large = PyLong_AsUnsignedLongLong(o);
        v = (double)large;
        overflow = large == UINT64_MAX && PyErr_Occurred();
    }
    memcpy(to, as_float ? (void *)&v : (void *)&whole, 8);
    return !overflow;
}

/* The numbers of `o`, `levels` deep, in row-major order; gives what is after the last in
 * `to`, or NULL: one does not fit. */
static char *read_numbers(PyObject *o, int levels, bool as_float, char *to) {
    PyObject *const *items = PySequence_Fast_ITEMS(o);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; to && i < n; i++) {
        if (levels > 1)
            to = read_numbers(items[i], levels - 1, as_float, to);
        else
            to = read_number(items[i], as_float, to) ? to + 8 : NULL;
    }
    return to;
}

/* A copy of `o`, `levels` deep at most, that has tuples for its lists. */
static PyObject *as_tuples(PyObject *o, int levels) {
    if (!is_list(o) || levels == 0) return Py_NewRef(o);
    PyObject *items = asn_items_of(o, ""), *copy;
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;
    if (!n || !is_list(PyTuple_GET_ITEM(items, 0))) return items;
    copy = PyTuple_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item = as_tuples(PyTuple_GET_ITEM(items, i), levels - 1);
        if (item)
            PyTuple_SET_ITEM(copy, i, item);
        else
            Py_CLEAR(copy);
    }
    Py_DECREF(items);
    return copy;
}

/* The array of a sequence that nobody changes; NULL without an error: it is something
 * else, of another dtype than `wish`, or has a number that does not fit. */
static inline PyObject *read_sequence(PyObject *sequence, asn_dtype wish) {
    nest shape;
    if (!shape_of(sequence, &shape)) return NULL;
    asn_dtype dtype = shape.floats ? ASN_F64 : ASN_I64;
    if (wish != ASN_DTYPE_NONE && wish != dtype) return NULL;
    int64_t strides[MOST_DIMS], size = 1;
    for (int d = shape.ndim - 1; d >= 0; size *= shape.shape[d--])
        strides[d] = 8 * size;
    double few[FEW];
    void *values = size <= FEW ? few : PyMem_Malloc((size_t)size * 8);
    if (!values) return PyErr_NoMemory();
    PyObject *r = NULL;
    if (read_numbers(sequence, shape.ndim, shape.floats, values)) {
        asn_ndarray *object = asn_ndarray_alloc();
        if (object)
            r = asn_ndarray_made(object,
                                 asn_array_from_host(&object->array, dtype, shape.ndim,
                                                     shape.shape, strides, values));
    } else {
        PyErr_Clear();
    }
    if (values != few) PyMem_Free(values);
    return r;
}

PyObject *asn_from_numbers(PyObject *sequence, asn_dtype wish) {
    if (!ASN_FREE_THREADED) return read_sequence(sequence, wish);
    PyObject *copy = as_tuples(sequence, MOST_DIMS + 1);
    PyObject *made = copy ? read_sequence(copy, wish) : NULL;
    Py_XDECREF(copy);
    return made;
}
