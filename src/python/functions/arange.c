/* L3 python: arange, with NumPy's rules for its length and its second value.
 *
 * The length comes from Python's own arithmetic on the arguments, (stop - start) / step,
 * since they may be any numbers; the elements from NumPy's filling loops, which know two
 * values and their difference in the dtype: for float16 or large floats that step is not
 * the one given. Floats and ints that are exact doubles are computed in C. Dates and what
 * is no number are NumPy's own affair, errors included.
 *
 * All must equal NumPy to the bit, the length too: ceil of a quotient that was rounded
 * once is not the number of steps that fit, but it is what NumPy gives. */
#include <math.h>

#include "python/functions/function.h"

/* A float, or an int that is one exactly (up to 2**53 in size). */
static bool exact_double(PyObject *o, double *value) {
    if (PyFloat_CheckExact(o)) {
        *value = PyFloat_AS_DOUBLE(o);
        return true;
    }
    int overflow = 1;
    const long long most = 1LL << 53;
    long long v = PyLong_CheckExact(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
    *value = (double)v;
    return !overflow && v <= most && v >= -most;
}

/* (stop - start) / step in Python's arithmetic, which for these numbers is C's; a step of
 * 0 is left to Python, whose ZeroDivisionError NumPy raises. *imag: NaN where the
 * quotient is no complex number. -1: the error. */
static int arange_ratio(PyObject *start, PyObject *stop, PyObject *step, double *ratio,
                        double *imag) {
    *imag = NAN;
    double first, last, by;
    if (exact_double(start, &first) && exact_double(stop, &last) &&
        exact_double(step, &by) && by != 0) {
        *ratio = (last - first) / by;
        return 0;
    }
    PyObject *span = PyNumber_Subtract(stop, start);
    PyObject *quotient = span ? PyNumber_TrueDivide(span, step) : NULL;
    Py_XDECREF(span);
    if (!quotient) return -1;
    if (PyComplex_Check(quotient)) {
        *ratio = PyComplex_RealAsDouble(quotient);
        *imag = PyComplex_ImagAsDouble(quotient);
    } else {
        *ratio = PyFloat_AsDouble(quotient);
    }
    Py_DECREF(quotient);
    return *ratio == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* ceil((stop - start) / step), as NumPy counts; 0 where that is negative. Plain ints are
 * divided as integers, since a double would round large ones; of a complex quotient the
 * part that counts less counts, and it is refused for a real dtype (NONE: none is asked
 * for). -1: an error, as of a number of elements that is NaN or
 * too large. */
static int arange_length(PyObject *start, PyObject *stop, PyObject *step, asn_dtype dtype,
                         int64_t *n) {
    if (PyLong_CheckExact(start) && PyLong_CheckExact(stop) && PyLong_CheckExact(step)) {
        int o1, o2, o3;
        int64_t a = PyLong_AsLongLongAndOverflow(start, &o1), span;
        int64_t b = PyLong_AsLongLongAndOverflow(stop, &o2);
        int64_t s = PyLong_AsLongLongAndOverflow(step, &o3);
        if (!o1 && !o2 && !o3 && s != 0 && !__builtin_sub_overflow(b, a, &span)) {
            *n = asn_arange_steps(span, s);
            return 0;
        }
    }
    double count, imag;
    if (arange_ratio(start, stop, step, &count, &imag) < 0) return -1;
    if (!isnan(imag)) {
        int64_t other;
        if (dtype != ASN_DTYPE_NONE && !asn_is_complex(dtype)) {
            PyErr_SetString(PyExc_TypeError, "must be real number, not complex");
            return -1;
        }
        ASN_PY_TRY_INT(asn_arange_count(count, n));
        ASN_PY_TRY_INT(asn_arange_count(imag, &other));
        if (other < *n) *n = other;
        return 0;
    }
    /* A ratio that underflows to +0 between different ends still has the start. */
    if (count == 0 && !signbit(count)) {
        int differ = PyObject_RichCompareBool(start, stop, Py_NE);
        if (differ < 0) return -1;
        count = differ;
    }
    ASN_PY_TRY_INT(asn_arange_count(count, n));
    return 0;
}

/* The step as NumPy's filling loops see it: second value minus first, in the dtype. */
static int arange_step(PyObject *start, PyObject *step, asn_dtype dtype,
                       const asn_scalar *first, asn_scalar *out) {
    PyObject *second = PyNumber_Add(start, step);
    asn_scalar next;
    int rc = second ? asn_scalar_pack(second, dtype, &next) : -1;
    Py_XDECREF(second);
    if (rc < 0) return -1;
    ASN_PY_TRY_INT(asn_arange_delta(first, &next, out));
    return 0;
}

/* NumPy's arange but for reading its options; dtype NONE: what promotion of the three
 * numbers gives, at least int64. */
static PyObject *arange(PyObject *start, PyObject *stop, PyObject *step,
                        asn_dtype dtype) {
    PyObject *parts[3] = {start, stop, step};
    int64_t n;
    if (arange_length(start, stop, step, dtype, &n) < 0) return NULL;
    asn_dtype common = ASN_I64, one;
    for (int i = 0; i < 3 && dtype == ASN_DTYPE_NONE; i++) {
        if (asn_value_dtype(parts[i], &one) < 0) return NULL;
        common = asn_promote(common, one);
    }
    if (dtype == ASN_DTYPE_NONE) dtype = common;
    /* NumPy has no loop that fills bools: the first two are set, and there can be no
     * third. */
    if (dtype == ASN_BOOL && n > 2) {
        PyErr_SetString(PyExc_TypeError,
                        "arange() is only supported for booleans when the "
                        "result has at most length 2.");
        return NULL;
    }
    asn_scalar first, delta = {.dtype = (uint8_t)dtype};
    if (asn_scalar_pack(start, dtype, &first) < 0) return NULL;
    memset(delta.bytes, 0, sizeof delta.bytes);
    if (dtype == ASN_BOOL) {
        PyObject *second = PyNumber_Add(start, step);
        int rc = second ? asn_scalar_pack(second, dtype, &delta) : -1;
        Py_XDECREF(second);
        if (rc < 0) return NULL;
        /* Of ints the step is what was given; the second value might overflow where no
         * element is. */
    } else if (dtype == ASN_I64 && PyLong_CheckExact(start) && PyLong_CheckExact(step)) {
        if (asn_scalar_pack(step, dtype, &delta) < 0) return NULL;
    } else if (n > 1 && arange_step(start, step, dtype, &first, &delta) < 0) {
        return NULL;
    }
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    /* Fills by first + i * delta, or for bools, false or true, by both values. */
    asn_operand value = {NULL, first, 0};
    asn_status status = dtype == ASN_BOOL
                            ? asn_full(&r->array, dtype, 1, &n, 'C', &value)
                            : asn_arange_fill(&r->array, dtype, &first, &delta, n);
    if (status == ASN_OK && dtype == ASN_BOOL && n == 2)
        status = asn_array_set_item(&r->array, 1, &delta);
    if (status == ASN_OK) return (PyObject *)r;
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* Dates, spans of time and what is no number: NumPy's affair, errors included. Arrays of
 * no dimensions are numbers here. */
static bool is_host_bound(PyObject *obj) {
    if (!obj || obj == Py_None || asn_is_ndarray(obj)) return false;
    if (PyArray_Check(obj))
        return asn_dtype_from_descr(PyArray_DESCR((PyArrayObject *)obj)) ==
               ASN_DTYPE_NONE;
    return (!PyNumber_Check(obj) || PyArray_IsScalar(obj, Datetime) ||
            PyArray_IsScalar(obj, Timedelta));
}

/* arange(start_or_stop, /, stop, step, *, dtype, device, like, start): the first bound is
 * the stop where it stands alone, and start has a keyword too, as NumPy shows it. */
PyObject *asn_arange_run(PyObject *const *v) {
    asn_dtype dtype;
    for (int i = 0; i < 4; i++) {
        PyObject *bound = v[i < 3 ? i : 6];
        if (is_host_bound(bound))
            return PyErr_Format(asn_py.host_dtype, "arange() of %s is the host's",
                                Py_TYPE(bound)->tp_name);
    }
    if (asn_dtype_from_py(v[3], &dtype) < 0 || asn_device_check(v[4]) < 0 ||
        asn_like_check(v[5]) < 0)
        return NULL;
    if (v[0] && v[6])
        return PyErr_Format(PyExc_TypeError,
                            "arange() got multiple values for argument 'start'");
    PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1);
    PyObject *start = v[0] ? v[0] : v[6] ? v[6] : zero, *stop = v[1];
    if ((!stop || stop == Py_None) && !v[6]) { /* a start by its name is no stop */
        stop = v[0];
        start = zero;
    }
    PyObject *step = v[2] && v[2] != Py_None ? v[2] : one, *r = NULL;
    if (!zero || !one) goto done;
    if (!stop || stop == Py_None) {
        PyErr_SetString(PyExc_TypeError, "arange() requires stop to be specified.");
        goto done;
    }
    if (start == Py_None) {
        PyErr_SetString(PyExc_TypeError, "arange() takes a number as start, not None");
        goto done;
    }
    r = arange(start, stop, step, dtype);
done:
    Py_XDECREF(zero);
    Py_XDECREF(one);
    return r;
}
