/* L3 python: one transform along one axis, for asnumpy.fft: NumPy's rules about lengths,
 * norms, dtypes and out=; the frequencies.
 *
 * asnumpy.fft's functions of several axes and kinds are Python over _fft, which does one
 * axis. out= is written directly where the device may (same dtype and shape, no partial
 * overlap), else by assignment. What a frequency's factor is for n d = 0 is Python's
 * division to say.
 *
 * The kinds are the device's (ACLNNX_FFT_*): forward, inverse, from real, to real.
 * float16 is computed as float32 or complex64; NumPy gives float16 back only from a
 * transform to real. */
#include "python/functions/function.h"

#include "aclnn/aclnnx.h"
#include "numpy/frequencies.h"

/* n=, or as many as there are (of half a spectrum: 2 * (m - 1) real numbers); -1: the
 * exception is set. */
static int points(PyObject *given, const asn_layout *l, int axis, int kind, int64_t *n) {
    *n = axis < l->ndim ? l->shape[axis] : 0;
    if (kind == ACLNNX_FFT_TO_REAL) *n = 2 * (*n - 1);
    if (given && given != Py_None && asn_int64_from_py(given, n) < 0) return -1;
    if (*n >= 1) return 0;
    PyErr_Format(PyExc_ValueError, "Invalid number of FFT data points (%lld) specified.",
                 (long long)*n);
    return -1;
}

/* norm= as NumPy names it, as the factor that the transform is multiplied with; anything
 * but text is no name. -1: an error. */
static int factor(PyObject *norm, int64_t n, int kind, double *scale) {
    const char *text = "backward";
    if (norm && norm != Py_None)
        text = PyUnicode_Check(norm) ? PyUnicode_AsUTF8(norm) : "";
    if (!text) return -1;
    if (asn_fft_factor(text, n, kind, scale)) return 0;
    PyErr_Format(PyExc_ValueError,
                 "Invalid norm value %S; should be \"backward\",\"ortho\" or "
                 "\"forward\".",
                 norm);
    return -1;
}

/* NumPy's checks of out=, of our arrays and its own: class, dimensions, the axis' extent
 * (`made` elements). The other axes are checked when out is written. */
static int out_fits(PyObject *out, const asn_layout *a, int axis, int64_t made) {
    const asn_layout *l;
    if (!asn_is_ndarray(out) && !PyArray_Check(out)) {
        PyErr_SetString(PyExc_TypeError, "return arrays must be of ArrayType");
        return -1;
    }
    bool fits;
    if (asn_is_ndarray(out)) {
        l = &asn_of(out)->layout;
        fits = l->ndim == a->ndim && l->shape[axis] == made;
    } else {
        PyArrayObject *o = (PyArrayObject *)out;
        fits = PyArray_NDIM(o) == a->ndim && PyArray_DIM(o, axis) == made;
    }
    if (fits) return 0;
    PyErr_SetString(PyExc_ValueError, "output array has wrong shape.");
    return -1;
}

/* out[...] = made, or directly into out where dtype and memory allow: out is another
 * buffer, or exactly a itself, which a complex transform of the same length may
 * overwrite. Returns out, a new reference; takes nothing. */
static PyObject *into_out(PyObject *out, const asn_array *a, int kind, int64_t n,
                          double scale, int axis, int64_t made) {
    asn_array *target, result;
    PyObject *owner = NULL;
    if (out_fits(out, &a->layout, axis, made) < 0 ||
        asn_out_from_py(out, &target, &owner) < 0)
        return NULL;
    /* what a transform gives is what its inverse takes */
    asn_dtype dtype = asn_fft_dtype((asn_dtype)a->layout.dtype, kind == ACLNNX_FFT_TO_REAL
                                                                    ? ACLNNX_FFT_FROM_REAL
                                                                    : ACLNNX_FFT_FORWARD);
    bool itself = kind <= ACLNNX_FFT_BACKWARD && made == a->layout.shape[axis] &&
                  target->layout.offset == a->layout.offset;
    bool same = (asn_dtype)target->layout.dtype == dtype &&
                (target->buffer != a->buffer || itself);
    for (int d = 0; d < a->layout.ndim && itself; d++)
        same &= target->buffer != a->buffer ||
                target->layout.strides[d] == a->layout.strides[d];
    for (int d = 0; d < a->layout.ndim; d++)
        same &= d == axis || target->layout.shape[d] == a->layout.shape[d];
    asn_status status = asn_fft(&result, a, kind, n, scale, axis, same ? target : NULL);
    if (!status && !same) {
        asn_operand value = {.array = &result};
        status = asn_assign(target, &value, ASN_CASTING_SAME_KIND, NULL);
    }
    if (!status) asn_array_fini(&result);
    if (!status) status = asn_out_written(out, target, owner);
    Py_XDECREF(owner);
    if (status) return asn_raise(status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(out);
}

/* The transform of a, which is of the kind's input dtype; v: (a, n, axis, norm, out).
 * half: the result is cast to float16. */
static PyObject *run(PyObject *a, PyObject *const *v, int kind, bool half) {
    const asn_layout *l = &asn_of(a)->layout;
    int64_t n, axis_given = -1;
    int axis;
    double scale;
    if (asn_int64_from_py(v[2], &axis_given) < 0) return NULL;
    bool asks_shape = !v[1] || v[1] == Py_None; /* NumPy takes n from there */
    ASN_PY_TRY(asks_shape ? asn_axis_of_shape(axis_given, l->ndim, &axis)
                          : asn_axis_normalize(axis_given, l->ndim, &axis));
    if (points(v[1], l, axis, kind, &n) < 0 || factor(v[3], n, kind, &scale) < 0)
        return NULL;
    if (v[4] && v[4] != Py_None)
        return into_out(v[4], asn_of(a), kind, n, scale, axis,
                        kind == ACLNNX_FFT_FROM_REAL ? n / 2 + 1 : n);
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_fft(&r->array, asn_of(a), kind, n, scale, axis, NULL);
    if (status) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    PyObject *made = asn_ndarray_finish_array(r);
    if (made && half) Py_SETREF(made, asn_asarray_dtype(made, ASN_F16));
    return made;
}

/* _fft(a, n, axis, norm, out, kind): kind as ACLNNX_FFT_*. Real input of a complex
 * transform is cast first, as NumPy does. */
static PyObject *f_fft(PyObject *const *v) {
    int64_t kind;
    if (asn_int64_from_py(v[5], &kind) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    if (!a) return NULL;
    asn_dtype given = asn_dtype_of(a);
    asn_dtype want = asn_fft_dtype(given, (int)kind);
    if (kind == ACLNNX_FFT_FROM_REAL && (given == ASN_C64 || given == ASN_C128)) {
        PyErr_Format(PyExc_TypeError, "rfft takes real numbers, not %s",
                     asn_dtype_name(given));
    } else {
        if (given != want) Py_SETREF(a, asn_asarray_dtype(a, want));
        bool half = given == ASN_F16 && kind == ACLNNX_FFT_TO_REAL;
        if (a) r = run(a, v, (int)kind, half);
    }
    Py_XDECREF(a);
    return r;
}

/* ---- frequencies */

/* 1.0 / (n * d) by Python's arithmetic: d may be anything that multiplies, and what it is
 * decides the dtype. NULL: its error. */
static PyObject *factor_of(PyObject *n, PyObject *d) {
    PyObject *one = PyFloat_FromDouble(1.0);
    PyObject *product = one ? PyNumber_Multiply(n, d ? d : one) : NULL;
    PyObject *r = product ? PyNumber_TrueDivide(one, product) : NULL;
    Py_XDECREF(product);
    Py_XDECREF(one);
    return r;
}

/* fftfreq and rfftfreq: (n, d, device, *, dtype). The positions, as floats, times the
 * factor; n must be an int or a NumPy integer. */
static PyObject *frequencies(PyObject *const *v, bool real) {
    int64_t n;
    asn_operand factor;
    asn_dtype dtype;
    PyObject *owner = NULL, *r = NULL;
    if (!PyLong_Check(v[0]) && !PyArray_IsScalar(v[0], Integer)) {
        PyErr_SetString(PyExc_ValueError, "n should be an integer");
        return NULL;
    }
    PyObject *number = factor_of(v[0], v[1]);
    if (number && asn_int64_from_py(v[0], &n) == 0 && asn_device_check(v[2]) == 0 &&
        asn_dtype_from_py(v[3], &dtype) == 0 &&
        asn_operand_from_py(number, &factor, &owner) == 0) {
        asn_ndarray *made = asn_ndarray_alloc();
        if (made)
            r = asn_ndarray_finish(made, real ? asn_np_rfftfreq(&made->array, n, &factor)
                                              : asn_np_fftfreq(&made->array, n, &factor));
        if (r && dtype != ASN_DTYPE_NONE) Py_SETREF(r, asn_copy_cast(r, dtype, 'K'));
    }
    Py_XDECREF(owner);
    Py_XDECREF(number);
    return r;
}

/* The dtype= is cast to at the end: the array API has it, NumPy does not. */
static PyObject *f_fftfreq(PyObject *const *v) {
    if (PyBool_Check(
            v[0])) { /* no extent of an array, which rfftfreq's arange has none of */
        PyErr_Format(PyExc_TypeError,
                     "expected a sequence of integers or a single integer, got '%R'",
                     v[0]);
        return NULL;
    }
    return frequencies(v, false);
}
static PyObject *f_rfftfreq(PyObject *const *v) {
    return frequencies(v, true);
}

/* What inspect shows; the array API adds dtype=. */
#define FREQUENCY_ARGS "n, d=1.0, device=None"

asn_function_def asn_fft_functions[] = {
    ASN_FUNCTION("_fft", "a, n, axis, norm, out, kind, /", f_fft,
                 "One Fourier transform along one axis; kind 0 forward, 1 inverse, 2 "
                 "from real, 3 to real."),
    ASN_FUNCTION_OF_SHOWN("fft", "fftfreq", FREQUENCY_ARGS,
                          FREQUENCY_ARGS ", *, dtype=None", f_fftfreq,
                          "The frequencies of fft's n elements for samples that are d "
                          "apart.",
                          .asks_none = true),
    ASN_FUNCTION_OF_SHOWN(
        "fft", "rfftfreq", FREQUENCY_ARGS, FREQUENCY_ARGS ", *, dtype=None", f_rfftfreq,
        "The frequencies of rfft's n // 2 + 1 elements for samples that "
        "are d apart.",
        .asks_none = true),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
