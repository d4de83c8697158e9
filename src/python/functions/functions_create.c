/* L3 python: the functions that make arrays: array, asarray, zeros, ones, empty, full,
 * *_like, eye, identity, frombuffer.
 *
 * Their order= is of one of two kinds: those that make an array by its shape know 'C' and
 * 'F' alone, those that have a model know 'K' and 'A' too. like= and device= are checked
 * and then without effect: there is one device in use. Filling is recorded as any
 * operation, so zeros() of what is overwritten soon need not be written at all. A value
 * is cast as NumPy casts it in that very function: with an assignment's checks in some,
 * without in others. */
#include "python/convert.h"
#include "python/functions/function.h"
#include "numpy/identities.h"

/* array()'s ndmin= and ndmax= (0: no limit); -1: NumPy's ValueError. */
static int check_ndmax(int64_t ndmin, int64_t ndmax) {
    if (ndmax < 0 || ndmax > ASN_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "ndmax must be in the range [0, NPY_MAXDIMS (%d)]",
                     ASN_MAX_DIMS);
    else if (ndmax && ndmin > ndmax)
        PyErr_Format(PyExc_ValueError, "ndmin must be <= ndmax (%lld)", (long long)ndmax);
    else
        return 0;
    return -1;
}

/* array(object, dtype, *, copy, order, subok, ndmin, ndmax, like). ndmax= limits how deep
 * NumPy reads a sequence, the rest being objects; there are none here, so a deeper one is
 * an error, found when the array is made. */
static PyObject *f_array(PyObject *const *v) {
    asn_dtype dtype;
    char order = 'K';
    bool subok = false;
    int64_t ndmin = 0, ndmax = ASN_MAX_DIMS;
    int copy;
    if (asn_dtype_from_py(v[1], &dtype) < 0 ||
        asn_copy_mode_from_py(v[2], 1, &copy) < 0 ||
        asn_order_from_py(v[3], &order) < 0 || asn_bool_from_py(v[4], &subok) < 0 ||
        asn_int64_from_py(v[5], &ndmin) < 0 ||
        (v[6] != Py_None && asn_int64_from_py(v[6], &ndmax) < 0) ||
        asn_like_check(v[7]) < 0)
        return NULL;
    /* None: no check, no limit. */
    if (check_ndmax(ndmin, v[6] == Py_None ? 0 : ndmax) < 0) return NULL;
    /* more than any array's: an error there */
    PyObject *r = asn_array_from_any(v[0], dtype, copy, order,
                                     (int)(ndmin > 99 ? 99 : ndmin), subok);
    if (r && asn_of(r)->layout.ndim > ndmax && ndmax > 0) {
        PyErr_Format(PyExc_ValueError,
                     "setting an array element with a sequence. The requested array "
                     "would exceed the maximum number of dimension of %lld.",
                     (long long)ndmax);
        Py_CLEAR(r);
    }
    return r;
}

/* (a, dtype, order, *, device, copy, like) of asarray and asanyarray. An exact array
 * without any option is itself; a number (is_number) is not, since NumPy, which has a
 * scalar in its place, would make an array of it. */
static PyObject *as_array(PyObject *const *v, bool subok) {
    if (ASN_LIKELY(asn_is_ndarray_exact(v[0]) && !v[1] && !v[2] && !v[3] && !v[4] &&
                   !v[5]) &&
        !((asn_ndarray *)v[0])->is_number)
        return Py_NewRef(v[0]);
    asn_dtype dtype;
    char order = 'K';
    int copy;
    if (asn_dtype_from_py(v[1], &dtype) < 0 || asn_order_from_py(v[2], &order) < 0 ||
        asn_device_check(v[3]) < 0 || asn_copy_mode_from_py(v[4], -1, &copy) < 0 ||
        asn_like_check(v[5]) < 0)
        return NULL;
    return asn_array_from_any(v[0], dtype, copy, order, 0, subok);
}

/* asarray gives exactly ndarray, asanyarray lets subclasses through. */
static PyObject *f_asarray(PyObject *const *v) {
    return as_array(v, false);
}
static PyObject *f_asanyarray(PyObject *const *v) {
    return as_array(v, true);
}

/* ascontiguousarray and asfortranarray: (a, dtype, *, like). At least one dimension, a
 * copy only if needed. */
static PyObject *as_ordered(PyObject *const *v, char order) {
    asn_dtype dtype;
    if (asn_dtype_from_py(v[1], &dtype) < 0 || asn_like_check(v[2]) < 0) return NULL;
    return asn_array_from_any(v[0], dtype, -1, order, 1, false);
}

/* (a, dtype, *, like) */
static PyObject *f_ascontiguousarray(PyObject *const *v) {
    return as_ordered(v, 'C');
}
static PyObject *f_asfortranarray(PyObject *const *v) {
    return as_ordered(v, 'F');
}

/* ---- by shape */

/* What shape=, dtype= and order= say. */
typedef struct {
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    asn_dtype dtype; /* NONE: not given */
    char order;
} shape_args;

/* -1: an error; negative extents and the orders 'A' and 'K' are errors of their own here.
 */
static int read_shape(PyObject *shape, PyObject *dtype, PyObject *order, shape_args *s) {
    s->order = 'C';
    if (asn_shape_from_py(shape, s->shape, &s->ndim) < 0 ||
        asn_dtype_from_py(dtype, &s->dtype) < 0 ||
        asn_order_from_py(order, &s->order) < 0)
        return -1;
    for (int i = 0; i < s->ndim; i++)
        if (s->shape[i] < 0) {
            PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
            return -1;
        }
    if (s->order == 'A' || s->order == 'K') {
        PyErr_SetString(PyExc_ValueError, "only 'C' or 'F' order is permitted");
        return -1;
    }
    return 0;
}

/* A new array full of a value; NULL: its elements are not set. */
static PyObject *filled(const shape_args *s, const asn_operand *value) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status =
        value ? asn_full(&r->array, s->dtype, s->ndim, s->shape, s->order, value)
              : asn_array_new(&r->array, s->dtype, s->ndim, s->shape, s->order);
    if (status == ASN_OK) return (PyObject *)r;
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* empty, zeros, ones: (shape, dtype, order, *, device, like); the default is float64. */
static PyObject *by_shape(PyObject *const *v, const asn_operand *value) {
    shape_args s;
    if (read_shape(v[0], v[1], v[2], &s) < 0 || asn_device_check(v[3]) < 0 ||
        asn_like_check(v[4]) < 0)
        return NULL;
    if (s.dtype == ASN_DTYPE_NONE) s.dtype = ASN_F64;
    return filled(&s, value);
}

/* (shape, dtype, order, *, device, like): empty's elements are whatever is in the memory.
 */
static PyObject *f_empty(PyObject *const *v) {
    return by_shape(v, NULL);
}

static PyObject *f_zeros(PyObject *const *v) {
    asn_operand zero = asn_operand_int(0);
    return by_shape(v, &zero);
}

static PyObject *f_ones(PyObject *const *v) {
    asn_operand one = asn_operand_int(1);
    return by_shape(v, &one);
}

/* array[...] = value, then the array; takes array. NULL passes, and an error makes NULL.
 */
static PyObject *fill_with(PyObject *array, PyObject *value) {
    /* A list's numbers are cast as an array's; an int alone is assigned, and must fit. */
    PyObject *list = array && PyList_Check(value) ? asn_asarray(value) : NULL;
    if (array && !list) PyErr_Clear(); /* the assignment says what is wrong with it */
    if (array && asn_ndarray_ass_subscript(array, Py_Ellipsis, list ? list : value) < 0)
        Py_CLEAR(array);
    Py_XDECREF(list);
    return array;
}

/* (Contract in function.h.) An integer beyond every dtype is an object to NumPy, so the
 * error is then HostDtypeError. */
int asn_value_dtype(PyObject *value, asn_dtype *out) {
    asn_operand o;
    PyObject *owner;
    if (asn_operand_from_py(value, &o, &owner) < 0) {
        asn_integer_is_object(value);
        return -1;
    }
    *out = o.array ? (asn_dtype)o.array->layout.dtype : (asn_dtype)o.scalar.dtype;
    Py_XDECREF(owner);
    return 0;
}

/* Whether NumPy's full and full_like cast the number, without the checks of an
 * assignment: 300.0 and np.int64(300) become 44 in int8, while the int 300 is assigned,
 * with its OverflowError. A list's numbers are cast, too (fill_with). */
static bool is_cast(PyObject *number) {
    return PyFloat_CheckExact(number) || PyComplex_CheckExact(number) ||
           PyArray_IsScalar(number, Generic);
}

/* full(shape, fill_value, dtype, order, *, device, like). A Python int is packed with the
 * checks of an assignment; arrays and the rest are assigned, and broadcast. */
static PyObject *f_full(PyObject *const *v) {
    shape_args s;
    if (read_shape(v[0], v[2], v[3], &s) < 0 || asn_device_check(v[4]) < 0 ||
        asn_like_check(v[5]) < 0)
        return NULL;
    if (s.dtype == ASN_DTYPE_NONE && asn_value_dtype(v[1], &s.dtype) < 0) return NULL;
    asn_operand value = {NULL, {0}, 0};
    if (PyLong_Check(v[1])) {
        if (asn_scalar_pack(v[1], s.dtype, &value.scalar) < 0) return NULL;
        return filled(&s, &value);
    }
    if (is_cast(v[1])) {
        asn_operand given;
        int known = asn_scalar_operand(v[1], &given);
        if (known == 0) return fill_with(filled(&s, NULL), v[1]);
        if (known < 0 || asn_complex_check((asn_dtype)given.scalar.dtype, s.dtype) < 0)
            return NULL;
        ASN_PY_TRY(asn_scalar_convert(&given.scalar, s.dtype, &value.scalar));
        return asn_fp_check() < 0 ? NULL : filled(&s, &value);
    }
    return fill_with(filled(&s, NULL), v[1]);
}

/* eye's k=: a number that is no index where it does not fit, as the nearest one that
 * does, which is beyond any matrix as well. NULL leaves *k; -1: no integer. */
static int diagonal_number(PyObject *obj, int64_t *k) {
    int overflow = 0;
    PyObject *index = obj ? PyNumber_Index(obj) : NULL;
    if (!index) return obj ? -1 : 0;
    *k = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow) *k = overflow < 0 ? INT64_MIN + 1 : INT64_MAX;
    return 0;
}

/* Two extents, as read_square has them. */
static PyObject *eye(const shape_args *s, int64_t k) {
    asn_dtype dtype = s->dtype == ASN_DTYPE_NONE ? ASN_F64 : s->dtype;
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_made(
                   r, asn_np_eye(&r->array, dtype, s->shape[0], s->shape[1], k, s->order))
             : NULL;
}

/* read_shape of (rows, columns). */
static int read_square(PyObject *rows, PyObject *columns, PyObject *dtype,
                       PyObject *order, shape_args *s) {
    /* Both extents are read as one shape, whose errors NumPy raises. */
    if (PyLong_CheckExact(rows) && rows == columns) { /* the usual one, without a tuple */
        if (read_shape(rows, dtype, order, s) < 0) return -1;
        s->shape[1] = s->shape[0];
        s->ndim = 2;
        return 0;
    }
    PyObject *shape = PyTuple_Pack(2, rows, columns);
    int rc = shape ? read_shape(shape, dtype, order, s) : -1;
    Py_XDECREF(shape);
    return rc;
}

/* (N, M, k, dtype, order, *, device, like); M None: N. */
static PyObject *f_eye(PyObject *const *v) {
    shape_args s;
    int64_t k = 0;
    PyObject *columns = v[1] && v[1] != Py_None ? v[1] : v[0];
    if (read_square(v[0], columns, v[3], v[4], &s) < 0 || asn_device_check(v[5]) < 0 ||
        asn_like_check(v[6]) < 0 || diagonal_number(v[2], &k) < 0)
        return NULL;
    return eye(&s, k);
}

/* (n, dtype, *, like): eye's square case, with the default dtype float64. */
static PyObject *f_identity(PyObject *const *v) {
    shape_args s;
    if (read_square(v[0], v[0], v[1], NULL, &s) < 0 || asn_like_check(v[2]) < 0)
        return NULL;
    return eye(&s, 0);
}

/* ---- like another array */

/* A fresh array of another shape whose axes have the order that strides give those of l:
 * order='K' with shape= of as many dimensions. */
static asn_status new_ordered(asn_array *out, asn_dtype dtype, const shape_args *s,
                              const asn_layout *l) {
    asn_layout model;
    ASN_TRY(
        asn_layout_init_strided(&model, dtype, s->ndim, s->shape, l->strides, 0, true));
    asn_array prototype = {.layout = model};
    asn_status status = asn_array_new_like(out, &prototype, dtype, 'K');
    asn_layout_fini(&model);
    return status;
}

/* *_like but for the value: a new array with the prototype's shape, dtype, order and
 * class where they are not given. Its elements are not set. */
static PyObject *new_like(PyObject *prototype, PyObject *dtype_object,
                          PyObject *order_object, PyObject *subok, PyObject *shape,
                          PyObject *device) {
    asn_dtype dtype;
    char order = 'K';
    bool keep_type = true;
    if (asn_dtype_from_py(dtype_object, &dtype) < 0 ||
        asn_order_from_py(order_object, &order) < 0 ||
        asn_bool_from_py(subok, &keep_type) < 0 || asn_device_check(device) < 0)
        return NULL;
    /* Of another byte order the result would be so too, which no array of ours can be. */
    if (dtype == ASN_DTYPE_NONE && PyArray_Check(prototype) &&
        !PyArray_ISNOTSWAPPED((PyArrayObject *)prototype))
        return PyErr_Format(asn_py.host_dtype,
                            "arrays of another byte order are the host's");
    PyObject *a = asn_asarray(prototype);
    if (!a) return NULL;
    if (dtype == ASN_DTYPE_NONE) dtype = asn_dtype_of(a);
    asn_ndarray *r = asn_ndarray_alloc();
    asn_status status = ASN_OK;
    if (r && shape && shape != Py_None) {
        shape_args s = {.ndim = 0};
        if (asn_shape_from_py(shape, s.shape, &s.ndim) < 0) {
            asn_ndarray_drop(r);
            Py_DECREF(a);
            return NULL;
        }
        bool fortran = order == 'F' || /* 'A': column-major where only that */
                       (order == 'A' && (asn_of(a)->layout.flags & ASN_F_CONTIGUOUS) &&
                        !(asn_of(a)->layout.flags & ASN_C_CONTIGUOUS));
        /* NumPy keeps the order of the axes as long as there are as many of them. */
        if (order == 'K' && s.ndim == asn_of(a)->layout.ndim)
            status = new_ordered(&r->array, dtype, &s, &asn_of(a)->layout);
        else
            status =
                asn_array_new(&r->array, dtype, s.ndim, s.shape, fortran ? 'F' : 'C');
    } else if (r) {
        status = asn_array_new_like(&r->array, asn_of(a), dtype, order);
    }
    PyObject *made = (PyObject *)r;
    if (r && status != ASN_OK) {
        asn_ndarray_drop(r);
        made = asn_raise(status);
    }
    if (keep_type) made = asn_subclass_keep(made, a);
    Py_DECREF(a);
    return made;
}

/* Fills a fresh array with a small number; takes array, NULL passes. */
static PyObject *fill_small(PyObject *array, int64_t value) {
    if (!array) return NULL;
    asn_operand source = asn_operand_int(value);
    asn_status status = asn_assign(asn_of(array), &source, ASN_CASTING_UNSAFE, NULL);
    if (status == ASN_OK) return array;
    Py_DECREF(array);
    return asn_raise(status);
}

/* (a, dtype, order, subok, shape, *, device) of empty_like, zeros_like, ones_like. */
static PyObject *f_empty_like(PyObject *const *v) {
    return new_like(v[0], v[1], v[2], v[3], v[4], v[5]);
}

/* (a, dtype, order, subok, shape, *, device) */
static PyObject *f_zeros_like(PyObject *const *v) {
    return fill_small(f_empty_like(v), 0);
}
static PyObject *f_ones_like(PyObject *const *v) {
    return fill_small(f_empty_like(v), 1);
}

/* (a, fill_value, dtype, order, subok, shape, *, device): NumPy assigns with unsafe
 * casts, so floats, complex numbers and NumPy scalars are converted first, with the
 * cast's exceptions; the rest is assigned as by a[...] = value. */
static PyObject *f_full_like(PyObject *const *v) {
    PyObject *array = new_like(v[0], v[2], v[3], v[4], v[5], v[6]);
    asn_operand given, value = {NULL, {0}, 0};
    int known = array && is_cast(v[1]) ? asn_scalar_operand(v[1], &given) : 0;
    if (known == 0) return fill_with(array, v[1]);
    if (known < 0 ||
        asn_complex_check((asn_dtype)given.scalar.dtype, asn_dtype_of(array)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    asn_status status =
        asn_scalar_convert(&given.scalar, asn_dtype_of(array), &value.scalar);
    if (status == ASN_OK)
        status = asn_assign(asn_of(array), &value, ASN_CASTING_UNSAFE, NULL);
    if (status == ASN_OK && asn_fp_check() == 0) return array;
    if (status == ASN_OK) {
        Py_DECREF(array);
        return NULL;
    }
    Py_DECREF(array);
    return asn_raise(status);
}

/* linspace of two floats with its end: what np.linspace comes down to most often. (start,
 * stop, num) */
static PyObject *f_line(PyObject *const *v) {
    double start = PyFloat_AsDouble(v[0]), stop = PyFloat_AsDouble(v[1]);
    int64_t n = 0;
    if (PyErr_Occurred() || asn_int64_from_py(v[2], &n) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_finish(r, asn_linspace(&r->array, start, stop, n)) : NULL;
}

/* (buffer, dtype, count, offset, *, like): NumPy checks the buffer and its size, and the
 * array is adopted. Read-only memory gives a read-only array. count -1: as many elements
 * as there are; offset in bytes. */
static PyObject *f_frombuffer(PyObject *const *v) {
    asn_dtype dtype;
    int64_t count = -1, offset = 0;
    if (asn_dtype_from_py(v[1], &dtype) < 0 || asn_int64_from_py(v[2], &count) < 0 ||
        asn_int64_from_py(v[3], &offset) < 0 || asn_like_check(v[4]) < 0)
        return NULL;
    /* NumPy's default here is float64, not what the buffer says. */
    PyArray_Descr *descr = asn_descr(dtype == ASN_DTYPE_NONE ? ASN_F64 : dtype);
    if (!descr) return NULL;
    Py_INCREF(descr);
    PyObject *host = PyArray_FromBuffer(v[0], descr, count, offset);
    PyObject *r = host ? asn_from_numpy(host, false, false) : NULL;
    if (r) asn_base_pass_on(r, host);
    if (r && asn_is_ndarray(v[0])) /* not the memoryview of it */
        Py_SETREF(((asn_ndarray *)r)->base, Py_NewRef(v[0]));
    Py_XDECREF(host);
    return r;
}

/* The options of the functions by shape, and of those with a model. */
#define SHAPE_TAIL "dtype=None, order='C', *, device=None, like=None"
#define LIKE_TAIL  "dtype=None, order='K', subok=True, shape=None, *, device=None"

asn_function_def asn_create_functions[] = {
    ASN_FUNCTION(
        "array",
        "object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, ndmax=0, "
        "like=None",
        f_array, "An array from array-like data."),
    ASN_FUNCTION(
        "asarray", "a, dtype=None, order=None, *, device=None, copy=None, like=None",
        f_asarray, "An array from array-like data, without a copy where possible."),
    ASN_FUNCTION("asanyarray",
                 "a, dtype=None, order=None, *, device=None, copy=None, like=None",
                 f_asanyarray, "asarray that lets subclasses through."),
    ASN_FUNCTION("ascontiguousarray", "a, dtype=None, *, like=None", f_ascontiguousarray,
                 "A row-major array of at least one dimension."),
    ASN_FUNCTION("asfortranarray", "a, dtype=None, *, like=None", f_asfortranarray,
                 "A column-major array of at least one dimension."),
    ASN_FUNCTION("empty", "shape, " SHAPE_TAIL, f_empty, "An array with unset elements."),
    ASN_FUNCTION("zeros", "shape, " SHAPE_TAIL, f_zeros, "An array of zeros."),
    ASN_FUNCTION("ones", "shape, " SHAPE_TAIL, f_ones, "An array of ones."),
    ASN_FUNCTION("full", "shape, fill_value, " SHAPE_TAIL, f_full,
                 "An array of one value."),
    ASN_FUNCTION(
        "eye",
        "N, M=None, k=0, dtype=<class 'float'>, order='C', *, device=None, like=None",
        f_eye, "A matrix with ones on the k-th diagonal."),
    ASN_FUNCTION("identity", "n, dtype=None, *, like=None", f_identity,
                 "The identity matrix of order n."),
    ASN_FUNCTION("empty_like", "prototype, /, " LIKE_TAIL, f_empty_like,
                 "An unset array with the shape and dtype of another."),
    ASN_FUNCTION("zeros_like", "a, " LIKE_TAIL, f_zeros_like,
                 "Zeros with the shape and dtype of another array."),
    ASN_FUNCTION("ones_like", "a, " LIKE_TAIL, f_ones_like,
                 "Ones with the shape and dtype of another array."),
    ASN_FUNCTION("full_like", "a, fill_value, " LIKE_TAIL, f_full_like,
                 "One value with the shape and dtype of another array."),
    ASN_FUNCTION_SHOWN(
        "arange",
        "start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None",
        "start_or_stop=None, /, stop=None, step=1, dtype=None, *, device=None, "
        "like=None, "
        "start=None",
        asn_arange_run, "Evenly spaced values in [start, stop)."),
    ASN_FUNCTION("_line", "start, stop, num, /", f_line,
                 "num float64 from start to stop, both included."),
    ASN_FUNCTION("frombuffer", "buffer, dtype=None, count=-1, offset=0, *, like=None",
                 f_frombuffer, "A one-dimensional array over an object's buffer."),
    ASN_FUNCTION("from_dlpack", "x, /, *, device=None, copy=None", asn_from_dlpack,
                 "An array over the memory of an object with __dlpack__.",
                 .asks_none = true),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
