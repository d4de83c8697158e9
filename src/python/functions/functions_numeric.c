/* L3 python: packbits, unpackbits, interp, pad, isreal, isscalar. They read arguments;
 * src/numpy has the rest, and Python the modes of pad() that are rare or callables.
 *
 * What these have in common is that their arguments need more reading than an axis: each
 * part below has its own reader, which gives the errors that NumPy gives, in its order.
 */
#include "python/functions/function.h"
#include "numpy/bits.h"
#include "numpy/interpolation.h"
#include "numpy/padding.h"

/* ---- bits */

/* axis=, count= (NULL: there is none) and bitorder=. -1: an error. */
static int read_bits(PyObject *axis, PyObject *count, PyObject *order, asn_np_bits *b) {
    *b = (asn_np_bits){.flat = !axis || axis == Py_None,
                       .counted = count && count != Py_None};
    if (order && !PyUnicode_Check(order)) {
        PyErr_Format(PyExc_TypeError, "bitorder must be str, not %s",
                     Py_TYPE(order)->tp_name);
        return -1;
    }
    b->little = order && PyUnicode_CompareWithASCIIString(order, "little") == 0;
    if (order && !b->little && PyUnicode_CompareWithASCIIString(order, "big") != 0) {
        PyErr_SetString(PyExc_ValueError, "'order' must be either 'little' or 'big'");
        return -1;
    }
    if (!b->flat && asn_axis_value_from_py(axis, &b->axis) < 0) return -1;
    return b->counted ? asn_int64_from_py(count, &b->count) : 0;
}

/* What both do with an array: the core's call; the result is of the array's class,
 * without a parent. */
static PyObject *of_bits(PyObject *given, const asn_np_bits *b,
                         asn_status (*call)(asn_array *result, const asn_array *a,
                                            const asn_np_bits *bits)) {
    PyObject *a = asn_asarray(given), *r = NULL;
    asn_ndarray *made = a ? asn_ndarray_alloc() : NULL;
    if (made) r = asn_ndarray_made(made, call(&made->array, asn_of(a), b));
    /* NumPy makes the result of that class, but not from that array. */
    if (r && !asn_is_ndarray_exact(a)) r = asn_subclass_adopt(r, Py_TYPE(a), Py_None);
    Py_XDECREF(a);
    return r;
}

/* (a, /, axis, bitorder): eight elements make a byte, of which the last one of a line is
 * filled with zeros. */
static PyObject *f_packbits(PyObject *const *v) {
    asn_np_bits b;
    return read_bits(v[1], NULL, v[2], &b) < 0 ? NULL
                                               : of_bits(v[0], &b, asn_np_packbits);
}

/* (a, /, axis, count, bitorder): count= cuts the result, or fills it with zeros; below 0
 * it cuts that many from the end. */
static PyObject *f_unpackbits(PyObject *const *v) {
    asn_np_bits b;
    return read_bits(v[1], v[2], v[3], &b) < 0 ? NULL
                                               : of_bits(v[0], &b, asn_np_unpackbits);
}

/* ---- interp */

/* left= or right=: one number, or in a traced function any array, whose value is not
 * known yet. *used: out, or NULL where the argument is absent. -1: no number. */
static int read_end(PyObject *obj, bool complex_values, asn_operand *out,
                    const asn_operand **used, PyObject **owner) {
    *used = NULL;
    if (!obj || obj == Py_None) return 0;
    *used = out;
    if (asn_capture_open()) return asn_operand_from_py(obj, out, owner);
    *out = (asn_operand){.array = NULL};
    if (!complex_values) {
        *out = asn_operand_float(PyFloat_AsDouble(obj));
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_complex c = PyComplex_AsCComplex(obj);
    out->scalar.dtype = ASN_C128;
    memcpy(out->scalar.bytes, &c, sizeof c);
    return PyErr_Occurred() ? -1 : 0;
}

/* arrays: x, xp and fp as float64 (fp: or complex128); v: left, right, period. With a
 * period there are no ends. */
static PyObject *interp(PyObject *const *arrays, PyObject *const *v) {
    asn_operand ends[2];
    PyObject *owners[2] = {NULL, NULL}, *r = NULL;
    asn_np_interp_options o = {.periodic = v[2] && v[2] != Py_None};
    const bool complex_values = asn_is_complex(asn_dtype_of(arrays[2]));
    if (o.periodic) o.period = PyFloat_AsDouble(v[2]);
    if (o.periodic && PyErr_Occurred()) return NULL;
    if (o.periodic ||
        (read_end(v[0], complex_values, &ends[0], &o.left, &owners[0]) == 0 &&
         read_end(v[1], complex_values, &ends[1], &o.right, &owners[1]) == 0)) {
        asn_ndarray *made = asn_ndarray_alloc();
        if (made)
            r = asn_ndarray_finish(made, asn_np_interp(&made->array, asn_of(arrays[0]),
                                                       asn_of(arrays[1]),
                                                       asn_of(arrays[2]), &o));
    }
    Py_XDECREF(owners[0]);
    Py_XDECREF(owners[1]);
    return r;
}

/* interp's x and xp as row-major float64. Complex numbers are refused with NumPy's
 * message, which names the rule by which it casts what it computes with; the conversion
 * below, an assignment's, would drop imaginary parts. New reference; NULL: an error. */
static PyObject *places_from_py(PyObject *obj) {
    PyObject *a = asn_asarray(obj);
    if (a && asn_is_complex(asn_dtype_of(a))) {
        PyErr_Format(PyExc_TypeError,
                     "Cannot cast array data from dtype('%s') to dtype('float64') "
                     "according to the rule 'safe'",
                     asn_dtype_name(asn_dtype_of(a)));
        Py_CLEAR(a);
    }
    if (a) Py_SETREF(a, asn_array_from_any(a, ASN_F64, -1, 'C', 0, false));
    return a;
}

/* (x, xp, fp, left, right, period): fp is converted first, then x and xp (NumPy's order
 * of errors), all row-major. Whether xp ascends is not checked, as in NumPy. */
static PyObject *f_interp(PyObject *const *v) {
    PyObject *arrays[3] = {NULL, NULL, asn_asarray(v[2])}, *r = NULL;
    if (!arrays[2]) return NULL;
    asn_dtype dtype = asn_is_complex(asn_dtype_of(arrays[2])) ? ASN_C128 : ASN_F64;
    Py_SETREF(arrays[2], asn_array_from_any(arrays[2], dtype, -1, 'C', 0, false));
    for (int i = 0; i < 2 && arrays[2] && (!i || arrays[0]); i++)
        arrays[i] = places_from_py(v[i]);
    if (arrays[0] && arrays[1] && arrays[2]) r = interp(arrays, v + 3);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(arrays[i]);
    return r;
}

/* ---- pad */

/* pad_width=: one width for all sides, or what Python makes pairs of. widths: before and
 * after each axis. -1: an error, negative widths among them. */
static int read_widths(PyObject *width, int ndim, int64_t (*widths)[2]) {
    int64_t all;
    if (PyLong_CheckExact(width)) {
        if (asn_int64_from_py(width, &all) < 0) return -1;
        for (int d = 0; d < ndim; d++)
            widths[d][0] = widths[d][1] = all;
        if (all >= 0) return 0;
        PyErr_SetString(PyExc_ValueError, "index can't contain negative values");
        return -1;
    }
    PyObject *count = PyLong_FromLong(ndim), *pairs = NULL;
    PyObject *given[2] = {width, count};
    if (count) pairs = asn_support_call("pad_widths", given, 2);
    int rc = pairs ? 0 : -1;
    for (int d = 0; d < ndim && rc == 0; d++)
        for (int side = 0; side < 2 && rc == 0; side++)
            rc = asn_int64_from_py(PyTuple_GET_ITEM(PyTuple_GET_ITEM(pairs, d), side),
                                   &widths[d][side]);
    Py_XDECREF(pairs);
    Py_XDECREF(count);
    return rc;
}

/* pad(mode="wrap"), by the core. */
static PyObject *pad_wrapped(PyObject *given, PyObject *width) {
    int64_t widths[ASN_MAX_DIMS][2];
    PyObject *a = asn_asarray(given), *r = NULL;
    if (a && read_widths(width, asn_of(a)->layout.ndim, widths) == 0) {
        asn_ndarray *made = asn_ndarray_alloc();
        if (made)
            r = asn_ndarray_made(made, asn_np_pad_wrapped(&made->array, asn_of(a),
                                                          (const int64_t (*)[2])widths));
    }
    Py_XDECREF(a);
    return r;
}

/* (array, pad_width, mode, **kwargs): "wrap" without options is the core's, all else is
 * Python's. */
static PyObject *f_pad(PyObject *const *v) {
    if (!v[3] && v[2] && PyUnicode_Check(v[2]) &&
        PyUnicode_CompareWithASCIIString(v[2], "wrap") == 0)
        return pad_wrapped(v[0], v[1]);
    PyObject *mode = v[2] ? Py_NewRef(v[2]) : PyUnicode_FromString("constant");
    PyObject *options = v[3] ? Py_NewRef(v[3]) : PyDict_New(), *r = NULL;
    if (mode && options) {
        PyObject *all[4] = {v[0], v[1], mode, options};
        r = asn_support_call("pad", all, 4);
    }
    Py_XDECREF(mode);
    Py_XDECREF(options);
    return r;
}

/* ---- numbers */

/* isreal of real numbers: an array of True, of a's layout. */
static PyObject *all_true(PyObject *a) {
    const asn_operand yes = {.scalar = {.dtype = ASN_BOOL, .bytes = {1}}};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_array_new_like(&r->array, asn_of(a), ASN_BOOL, 'K');
    /* Never made: dropped there. */
    if (status) return asn_ndarray_made(r, status);
    status = asn_assign(&r->array, &yes, ASN_CASTING_SAME_KIND, NULL);
    if (!status) return asn_ndarray_return((PyObject *)r);
    Py_DECREF(r);
    return asn_raise(status);
}

/* (x): x.imag == 0, of x's own imag where it has one. */
static PyObject *f_isreal(PyObject *const *v) {
    PyObject *x = v[0], *zero = NULL, *r = NULL;
    if (asn_is_ndarray_exact(x) && !asn_is_complex(asn_dtype_of(x))) return all_true(x);
    /* Objects with an imag of their own decide; lists become arrays. */
    PyObject *imag = PyObject_GetAttrString(x, "imag");
    if (!imag) {
        PyErr_Clear();
        PyObject *a = asn_asarray(x);
        imag = a ? PyObject_GetAttrString(a, "imag") : NULL;
        Py_XDECREF(a);
    }
    if (imag) zero = PyLong_FromLong(0);
    if (zero) r = PyObject_RichCompare(imag, zero, Py_EQ);
    Py_XDECREF(zero);
    Py_XDECREF(imag);
    return r;
}

/* (element): what is common is told by its type; Python knows NumPy's full rule. */
static PyObject *f_isscalar(PyObject *const *v) {
    if (PyFloat_CheckExact(v[0]) || PyLong_CheckExact(v[0]) || PyBool_Check(v[0]) ||
        PyComplex_CheckExact(v[0]) || PyUnicode_CheckExact(v[0]) ||
        PyArray_IsScalar(v[0], Generic))
        Py_RETURN_TRUE;
    if (asn_is_ndarray(v[0])) Py_RETURN_FALSE;
    return asn_support_call("isscalar", v, 1); /* numbers of any class are */
}

asn_function_def asn_numeric_functions[] = {
    ASN_FUNCTION("packbits", "a, /, axis=None, bitorder='big'", f_packbits,
                 "Booleans packed into the bits of uint8."),
    ASN_FUNCTION("unpackbits", "a, /, axis=None, count=None, bitorder='big'",
                 f_unpackbits, "The bits of uint8 as an array of 0 and 1."),
    ASN_FUNCTION("interp", "x, xp, fp, left=None, right=None, period=None", f_interp,
                 "Piecewise linear interpolation."),
    ASN_FUNCTION("pad", "array, pad_width, mode='constant', **kwargs", f_pad,
                 "An array with its edges padded, in one of NumPy's eleven modes or by a "
                 "function."),
    ASN_FUNCTION("isreal", "x", f_isreal, "Where the imaginary part is zero."),
    ASN_FUNCTION("isscalar", "element", f_isscalar, "Whether an object is a scalar.",
                 .asks_none = true),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
