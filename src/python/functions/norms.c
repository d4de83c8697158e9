/* L3 python: norm, vector_norm, matrix_norm of asnumpy.linalg: what `ord` and `axis` may
 * be in Python, in NumPy's order of refusing them. numpy/norms.h has the arithmetic.
 *
 * `ord` is None, a number or a name; which of them means what depends on whether vectors
 * (one axis) or matrices (two axes) are measured. The array's own class plays no part. A
 * result of no dimensions is a scalar. */
#include "python/functions/function.h"

#include <math.h>

#include "numpy/axes.h"
#include "numpy/norms.h"

/* A result, whose overflow is named as NumPy's reductions name theirs; takes r. */
static PyObject *finished(asn_ndarray *r, asn_status status) {
    if (status == ASN_OK && asn_fp_check_as("reduce", ASN_OP_ADD) < 0) {
        Py_DECREF(r);
        return NULL;
    }
    return asn_ndarray_finish(r, status);
}

/* Whether ord is that number. What has no float value is not it; the conversion's
 * exception is dropped. */
static bool is_number(PyObject *ord, double value) {
    if (!ord || ord == Py_None || PyUnicode_Check(ord)) return false;
    double given = PyFloat_AsDouble(ord);
    if (given == -1.0 && PyErr_Occurred()) PyErr_Clear();
    return given == value;
}

/* The norm that needs no axes, the root of the sum of all squares: ord is None, or names
 * it for so many dimensions. */
static bool is_of_all(PyObject *ord, int ndim) {
    if (!ord || ord == Py_None) return true;
    if (PyUnicode_Check(ord))
        return ndim == 2 && (PyUnicode_CompareWithASCIIString(ord, "fro") == 0 ||
                             PyUnicode_CompareWithASCIIString(ord, "f") == 0);
    return ndim == 1 && is_number(ord, 2);
}

/* It flattens, whatever the dimensions; keepdims: as many axes of extent 1. */
static PyObject *norm_of_all(PyObject *a, bool keepdims) {
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? finished(r, asn_np_norm(&r->array, asn_of(a), keepdims)) : NULL;
}

/* Over axes that are normalised, a bit each; ord NULL or None is 2. */
static PyObject *vector_norm(PyObject *a, PyObject *ord, uint64_t axes, bool keepdims) {
    double order = 2;
    if (ord && PyUnicode_Check(ord)) {
        PyErr_Format(PyExc_ValueError, "Invalid norm order '%U' for vectors", ord);
        return NULL;
    }
    if (ord && ord != Py_None) order = PyFloat_AsDouble(ord);
    /* -1 is an order too. */
    if (order == -1.0 && PyErr_Occurred()) return NULL;
    const int ndim = asn_of(a)->layout.ndim;
    const uint64_t all = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    const asn_reduce_options over = {.axes = axes,
                                     .keepdims = keepdims,
                                     .now =
                                         axes == all && !keepdims && asn_gives_scalars()};
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? finished(r, asn_np_vector_norm(&r->array, asn_of(a), order, &over)) : NULL;
}

/* ord= of matrices; NULL and None are Frobenius. ASN_NORM_COUNT: it is none, which is
 * refused after the axes were looked at. -1: an error that is not about ord. */
static int matrix_order(PyObject *ord, asn_np_matrix_order *out) {
    *out = ASN_NORM_FROBENIUS;
    if (!ord || ord == Py_None) return 0;
    if (!PyUnicode_Check(ord)) {
        double value = PyFloat_AsDouble(ord);
        bool none = value == -1.0 && PyErr_Occurred();
        if (none) PyErr_Clear();
        *out = none ? ASN_NORM_COUNT : asn_np_matrix_order_of(value);
        return 0;
    }
    const char *name = PyUnicode_AsUTF8(ord);
    if (!name) return -1;
    *out = asn_np_matrix_order_named(name);
    /* a number spelled out is C's */
    if (*out != ASN_NORM_FROBENIUS && *out != ASN_NORM_NUCLEAR) *out = ASN_NORM_COUNT;
    return 0;
}

/* Over the axes rows and columns, which may be negative. */
static PyObject *matrix_norm(PyObject *a, PyObject *ord, int64_t rows, int64_t columns,
                             bool keepdims) {
    asn_np_matrix_order order;
    if (matrix_order(ord, &order) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? finished(r, asn_np_matrix_norm(&r->array, asn_of(a), order, rows, columns,
                                              keepdims))
             : NULL;
}

/* One number, as int(axis) makes it, and NumPy's one message for all that it does not
 * take. KeyboardInterrupt passes. -1: an error. */
static int one_axis(PyObject *axis, int64_t *out) {
    PyObject *whole = PyNumber_Long(axis);
    int rc = whole ? asn_int64_from_py(whole, out) : -1;
    Py_XDECREF(whole);
    if (rc == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError,
                        "'axis' must be None, an integer or a tuple of integers");
    }
    return -1;
}

/* Along axes that were given, a number or a tuple: of vectors along one, of matrices in
 * two. A name where a number belongs is refused before the axis is looked at. */
static PyObject *norm_along(PyObject *a, PyObject *ord, PyObject *axis, bool keepdims) {
    Py_ssize_t n = PyTuple_Check(axis) ? PyTuple_GET_SIZE(axis) : 1;
    int64_t axes[2];
    int which;
    if (n != 1 && n != 2) {
        PyErr_SetString(PyExc_ValueError, "Improper number of dimensions to norm.");
        return NULL;
    }
    if (!PyTuple_Check(axis) && one_axis(axis, &axes[0]) < 0) return NULL;
    for (Py_ssize_t i = 0; PyTuple_Check(axis) && i < n; i++)
        if (asn_axis_value_from_py(PyTuple_GET_ITEM(axis, i), &axes[i]) < 0) return NULL;
    /* Two axes are a matrix, in the order they were named. */
    if (n == 2) return matrix_norm(a, ord, axes[0], axes[1], keepdims);
    if (ord && PyUnicode_Check(ord))
        return vector_norm(a, ord, 0, keepdims); /* refused */
    ASN_PY_TRY(asn_axis_normalize(axes[0], asn_of(a)->layout.ndim, &which));
    return vector_norm(a, ord, (uint64_t)1 << which, keepdims);
}

/* NumPy's norm(): without axes the array's own dimensions say what it is. */
static PyObject *norm_of(PyObject *a, PyObject *ord, PyObject *axis, bool keepdims) {
    const int ndim = asn_of(a)->layout.ndim;
    if (axis && axis != Py_None) return norm_along(a, ord, axis, keepdims);
    if (is_of_all(ord, ndim)) return norm_of_all(a, keepdims);
    if (ndim == 1) return vector_norm(a, ord, 1, keepdims);
    if (ndim == 2) return matrix_norm(a, ord, 0, 1, keepdims);
    PyErr_SetString(PyExc_ValueError, "Improper number of dimensions to norm.");
    return NULL;
}

/* (x, ord, axis, keepdims): of vectors or of matrices, as the axes say, or x itself. */
static PyObject *f_norm(PyObject *const *v) {
    bool keepdims = false;
    if (v[3] && asn_bool_from_py(v[3], &keepdims) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    if (a) r = norm_of(a, v[1], v[2], keepdims);
    Py_XDECREF(a);
    return r;
}

/* A tuple of axes, or None: all of them, as bits. -1: an error. */
static int axes_of(PyObject *axis, int ndim, uint64_t *mask) {
    int64_t given[ASN_MAX_DIMS];
    int axes[ASN_MAX_DIMS];
    *mask = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    if (!axis || axis == Py_None) return 0;
    Py_ssize_t n = PyTuple_GET_SIZE(axis);
    if (n > ASN_MAX_DIMS) {
        PyErr_SetString(PyExc_ValueError, "repeated axis");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (asn_axis_value_from_py(PyTuple_GET_ITEM(axis, i), &given[i]) < 0) return -1;
    ASN_PY_TRY_INT(asn_np_axes((int)n, given, ndim, NULL, axes));
    *mask = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        *mask |= (uint64_t)1 << axes[i];
    return 0;
}

/* The array API's vector_norm: over any number of axes at once, all for None. */
static PyObject *vector_norm_of(PyObject *a, PyObject *axis, PyObject *ord,
                                bool keepdims) {
    uint64_t axes;
    bool all = !axis || axis == Py_None;
    if (!all && !PyTuple_Check(axis)) return norm_along(a, ord, axis, keepdims);
    if (all && is_of_all(ord, 1)) return norm_of_all(a, keepdims);
    if (axes_of(axis, asn_of(a)->layout.ndim, &axes) < 0) return NULL;
    return vector_norm(a, ord, axes, keepdims);
}

/* (x, /, *, axis, keepdims, ord): ord is 2 unless given. */
static PyObject *f_vector_norm(PyObject *const *v) {
    bool keepdims = false;
    if (v[2] && asn_bool_from_py(v[2], &keepdims) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]), *two = PyLong_FromLong(2), *r = NULL;
    if (a && two) r = vector_norm_of(a, v[1], v[3] ? v[3] : two, keepdims);
    Py_XDECREF(two);
    Py_XDECREF(a);
    return r;
}

/* (x, /, *, keepdims, ord): in the last two axes. */
static PyObject *f_matrix_norm(PyObject *const *v) {
    bool keepdims = false;
    if (v[1] && asn_bool_from_py(v[1], &keepdims) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    if (a) r = matrix_norm(a, v[2], -2, -1, keepdims);
    Py_XDECREF(a);
    return r;
}

asn_function_def asn_norm_functions[] = {
    ASN_FUNCTION_OF("linalg", "norm", "x, ord=None, axis=None, keepdims=False", f_norm,
                    "The norm of a vector or matrix, or of those along axes."),
    ASN_FUNCTION_OF("linalg", "vector_norm", "x, /, *, axis=None, keepdims=False, ord=2",
                    f_vector_norm, "The norm of vectors along axes."),
    ASN_FUNCTION_OF("linalg", "matrix_norm", "x, /, *, keepdims=False, ord='fro'",
                    f_matrix_norm, "The norm of the matrices in the last two axes."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
