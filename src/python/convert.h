/* L3 python: Python objects -> what the core takes: dtypes, shapes, axes, orders,
 * castings, arrays, operands. */
#ifndef ASN_PYTHON_CONVERT_H
#define ASN_PYTHON_CONVERT_H

#include "python/core.h"
#include "python/ndarray/subclass.h"

/* ---- dtypes */
/* NumPy's dtype object; borrows. NULL with an error only for bfloat16 without ml_dtypes.
 */
PyArray_Descr *asn_descr(asn_dtype dtype);
PyObject *asn_descr_object(asn_dtype dtype); /* a new reference */
/* ASN_DTYPE_NONE when asnumpy has no such dtype (no error set). */
asn_dtype asn_dtype_from_descr(PyArray_Descr *descr);
/* Anything numpy.dtype() takes. None and NULL give ASN_DTYPE_NONE. TypeError for dtypes
 * we do not have. */
int asn_dtype_from_py(PyObject *obj, asn_dtype *out);

/* NumPy's ComplexWarning of a cast that drops imaginary parts; -1 when it is an error. */
int asn_complex_check(asn_dtype from, asn_dtype to);

/* ---- small arguments; obj NULL leaves the default in *out */
int asn_order_from_py(PyObject *obj, char *out); /* 'C', 'F', 'A', 'K'; None keeps */
/* "no", "equiv", "safe", "same_kind", "unsafe". */
int asn_casting_from_py(PyObject *obj, asn_casting *out);
/* copy=: None if needed (-1), True always (1), False never (0); absent (NULL): `absent`.
 * NumPy's _CopyMode enum has the values ALWAYS 1, NEVER 0, IF_NEEDED 2. */
int asn_copy_mode_from_py(PyObject *copy, int absent, int *out);
int asn_mode_from_py(PyObject *obj, int *out);  /* take's mode: 0 raise, 1 wrap, 2 clip */
int asn_bool_from_py(PyObject *obj, bool *out); /* truth */
/* What a sequence holds, as a tuple: code that is called for an item may change a list.
 * TypeError with `message`: it is none. */
PyObject *asn_items_of(PyObject *obj, const char *message);
/* A list or tuple, to be read in place: itself, or a tuple of the items of a list that
 * other threads may change meanwhile. A new reference; NULL where memory runs out. */
static inline PyObject *asn_steady_items(PyObject *o) {
    return ASN_FREE_THREADED && PyList_Check(o) ? PyList_AsTuple(o) : Py_NewRef(o);
}
/* The first item of a list or tuple; a new reference, or NULL: it has none, by now. */
static inline PyObject *asn_first_item(PyObject *o) {
    PyObject *items = asn_steady_items(o), *first = NULL;
    if (!items) PyErr_Clear();
    if (items && PySequence_Fast_GET_SIZE(items) > 0)
        first = Py_NewRef(PySequence_Fast_GET_ITEM(items, 0));
    Py_XDECREF(items);
    return first;
}
int asn_int64_from_py(PyObject *obj, int64_t *out); /* __index__ */
int asn_index_from_py(PyObject *obj, int64_t *out); /* the same, no bool */
/* An axis as it is given: an integer, but no bool. */
int asn_axis_value_from_py(PyObject *obj, int64_t *out);
int asn_axis_from_py(PyObject *obj, int ndim, int *out); /* one axis, normalised */
/* The same of those methods where NumPy takes bools, too. */
int asn_loose_axis_from_py(PyObject *obj, int ndim, int *out);
/* None and NULL: every axis (*axes = all bits of ndim, *all = true); else a number or a
 * tuple of them, a bit each. -1: AxisError, or ValueError for one that is listed twice.
 */
int asn_axes_from_py(PyObject *obj, int ndim, uint64_t *axes, bool *all);
/* One axis, also as a tuple of one or as all of one, NULL: 0; ValueError: several, or
 * none; TypeError: of no dimensions. */
int asn_only_axis_from_py(PyObject *obj, int ndim, const char *method, int *out);
/* An int or a sequence of ints into shape[ASN_MAX_DIMS]; negative ones pass, more than
 * the maximum are a ValueError. */
int asn_shape_from_py(PyObject *obj, int64_t *shape, int *ndim);
/* The extents as a tuple of ints; a new reference. */
PyObject *asn_shape_to_py(int ndim, const int64_t *shape);
int asn_is_no_value(PyObject *obj); /* NULL or numpy._NoValue */

/* ---- arrays */
/* A NumPy array's elements as an ndarray: zero-copy where possible unless copy. `fresh`:
 * nobody else sees the NumPy array, so the result counts as owning. What is copied keeps
 * its order in memory, but with `copy`, which makes it row-major. */
PyObject *asn_from_numpy(PyObject *array, bool copy, bool fresh);
/* After asn_from_numpy of a NumPy array that the caller does not keep: its base becomes
 * the array's. */
void asn_base_pass_on(PyObject *array, PyObject *host);
/* A list or tuple of Python floats and ints, or such lists of one length: float64, or
 * int64 when all are ints that fit. NULL without an error when it is something else, or
 * `dtype` (unless NONE) is another. */
PyObject *asn_from_numbers(PyObject *sequence, asn_dtype dtype); /* numbers.c */
/* A list or tuple of exact arrays of one dtype and shape, row-major: they, stacked. NULL
 * without an exception: it is none (functions_join.c). */
PyObject *asn_stacked_items(PyObject *items);
/* Any array-like as ndarray (itself if it is one). */
PyObject *asn_asarray(PyObject *obj);
/* The same, of exactly `dtype` (cast unsafely, as np.asarray(obj, dtype)). NONE: as is.
 */
PyObject *asn_asarray_dtype(PyObject *obj, asn_dtype dtype);
/* `array`, or where it is a non-canonical bool array (graph/ufunc/truth.h) its canonical
 * values. Takes array. */
PyObject *asn_truth_values(PyObject *array);
/* copy: 1 always, 0 never (ValueError if needed), -1 if needed. order 'C','F','A','K'.
 * subok keeps subclasses */
PyObject *asn_array_from_any(PyObject *obj, asn_dtype dtype, int copy, char order,
                             int ndmin, bool subok);

/* The number that a device's name means: of the kind in use alone the current one, else
 * that behind it ("cpu:0", "ascend:1"; "npu" is another word for "ascend"). ValueError of
 * a kind that is not in use, of a number that no device has, of anything else. */
int asn_device_from_py(PyObject *device, int *number);
/* A device= argument: None, or the name of the current device; ValueError for another,
 * as arrays are made on the current one. */
int asn_device_check(PyObject *device);

/* After a number was refused: whether it is an integer beyond every dtype, which NumPy
 * makes an object; the error is then that of a dtype that the device lacks. */
bool asn_integer_is_object(PyObject *obj);

/* ---- operands of ufuncs. `owner` receives a reference to release after the call, or
 * NULL. */
int asn_operand_from_py(PyObject *obj, asn_operand *out, PyObject **owner);
/* The fast ones only: exact ndarray (while no ufunc is replaced: asn_is_quick), Python
 * numbers, NumPy scalars. 1 yes, 0 something else, -1 error. */
static inline int asn_operand_quick(PyObject *obj, asn_operand *out);
/* out= argument: an ndarray, or a NumPy array written through (owner then holds the
 * wrapper). */
int asn_out_from_py(PyObject *obj, asn_array **out, PyObject **owner);
/* After a write to what that gave: the memory of `obj`, where it is NumPy's, shows it. A
 * status, for asn_raise. */
asn_status asn_out_written(PyObject *obj, const asn_array *out, PyObject *owner);

#include "python/scalar.h"

static inline int asn_operand_quick(PyObject *obj, asn_operand *out) {
    if (ASN_LIKELY(asn_is_quick(obj))) {
        out->array = asn_of(obj);
        out->weak = 0;
        return 1;
    }
    if (PyFloat_CheckExact(obj)) {
        out->array = NULL;
        out->weak = 'f';
        out->scalar.dtype = ASN_F64;
        double v = PyFloat_AS_DOUBLE(obj);
        memcpy(out->scalar.bytes, &v, sizeof v);
        return 1;
    }
    return asn_scalar_operand(obj, out);
}

/* Whether it is PyTorch's asarray or frombuffer that asks for a buffer (torch_buffer.c).
 */
bool asn_buffer_is_for_torch(int flags);

#endif
