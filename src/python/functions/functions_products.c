/* L3 python: inner, outer, vdot, tensordot, correlate, convolve. They read arguments;
 * numpy/products.h has the rest.
 *
 * These are C functions in NumPy, or Python over dot; either way their result is of the
 * class that NumPy gives it, which differs from one to the next: the leading operand's,
 * the first subclass's by __array_wrap__, or none. */
#include "python/functions/function.h"
#include "graph/operators/families.h"
#include "numpy/products.h"
#include "python/ufunc/ufunc.h"

/* v[0] and v[1] as arrays, new references; false with an exception. */
static bool two_arrays(PyObject *const *v, PyObject *pair[2]) {
    pair[0] = asn_asarray(v[0]);
    pair[1] = pair[0] ? asn_asarray(v[1]) : NULL;
    if (pair[1]) return true;
    Py_XDECREF(pair[0]);
    return false;
}

static void drop_two(PyObject *pair[2]) {
    Py_DECREF(pair[0]);
    Py_DECREF(pair[1]);
}

typedef asn_status (*product)(asn_array *result, const asn_array *a, const asn_array *b);

/* The core's product of v[0] and v[1]. keep: the result is of the class of the operand
 * that leads. */
static PyObject *of_two(PyObject *const *v, product call, bool keep) {
    PyObject *pair[2], *r = NULL;
    if (!two_arrays(v, pair)) return NULL;
    asn_ndarray *made = asn_ndarray_alloc();
    if (made)
        r = asn_ndarray_finish(made,
                               call(&made->array, asn_of(pair[0]), asn_of(pair[1])));
    if (keep) r = asn_subclass_keep(r, asn_subclass_leader(pair[0], pair[1]));
    drop_two(pair);
    return r;
}

/* (a, b): over the last axes; inner keeps a subclass, vdot gives a number. */
static PyObject *f_inner(PyObject *const *v) {
    return of_two(v, asn_np_inner, true);
}
static PyObject *f_vdot(PyObject *const *v) {
    return of_two(v, asn_np_vdot, false);
}

/* What multiply would raise: outer is multiply.outer to NumPy, so its errors name that
 * ufunc. Returns NULL. */
static PyObject *outer_failed(PyObject *pair[2], const asn_array *out,
                              asn_status status) {
    const asn_operand in[2] = {{.array = asn_of(pair[0])}, {.array = asn_of(pair[1])}};
    const asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    return asn_ufunc_raise(ASN_OP_MULTIPLY, in, out, &options, status);
}

/* (a, b, out): both are flattened; out must have two axes of their sizes. */
static PyObject *f_outer(PyObject *const *v) {
    PyObject *pair[2], *owner = NULL, *r = NULL;
    asn_array *out = NULL;
    if (v[2] && v[2] != Py_None && asn_out_from_py(v[2], &out, &owner) < 0) return NULL;
    if (!two_arrays(v, pair)) {
        Py_XDECREF(owner);
        return NULL;
    }
    asn_ndarray *made = out ? NULL : asn_ndarray_alloc();
    if (made) {
        r = asn_ndarray_finish(
            made, asn_np_outer(&made->array, asn_of(pair[0]), asn_of(pair[1]), NULL));
    } else if (out) {
        asn_status status = asn_np_outer(NULL, asn_of(pair[0]), asn_of(pair[1]), out);
        if (!status) status = asn_out_written(v[2], out, owner);
        r = status               ? outer_failed(pair, out, status)
            : asn_fp_check() < 0 ? NULL
                                 : Py_NewRef(v[2]);
    }
    drop_two(pair);
    Py_XDECREF(owner);
    return r;
}

/* ---- tensordot */

/* One side of axes=: a number or a sequence of them; more than there can be axes are cut,
 * which is an error in the core. -1: an error. */
static int some_axes(PyObject *given, int64_t axes[ASN_MAX_DIMS + 1], int *n) {
    PyObject *items = PyIndex_Check(given) && !PySequence_Check(given)
                          ? PyTuple_Pack(1, given)
                          : asn_items_of(given, "axes are integers, or sequences of "
                                                "them");
    if (!items) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    int rc = 0;
    *n = (int)(count > ASN_MAX_DIMS ? ASN_MAX_DIMS + 1 : count);
    for (int i = 0; i < *n && rc == 0; i++)
        rc = asn_axis_value_from_py(PySequence_Fast_GET_ITEM(items, i), &axes[i]);
    Py_DECREF(items);
    return rc;
}

/* The axes that are summed over, of the first array and of the second; as many of each.
 */
typedef struct {
    int num_left, num_right;
    int64_t left[ASN_MAX_DIMS + 1], right[ASN_MAX_DIMS + 1];
} summed_axes;

/* axes=2: the last `count` axes of the first array and as many first ones of the second.
 */
static int counted_axes(int64_t count, summed_axes *s) {
    if (count > ASN_MAX_DIMS) count = ASN_MAX_DIMS + 1; /* there are not so many */
    s->num_left = s->num_right = count > 0 ? (int)count : 0;
    for (int i = 0; i < s->num_left; i++) {
        s->left[i] = i - count;
        s->right[i] = i;
    }
    return 0;
}

/* axes=: a number, or a pair (lists count as tuples) of numbers or sequences. What is
 * neither, but can be iterated, is unpacked: the errors are those of Python's unpacking.
 * -1: an error. */
static int read_axes(PyObject *axes, summed_axes *s) {
    int64_t count = 2;
    if (!axes) return counted_axes(count, s);
    if (!PyTuple_Check(axes) && !PyList_Check(axes)) {
        PyObject *iterator = PyLong_Check(axes) ? NULL : PyObject_GetIter(axes);
        if (!iterator) {
            PyErr_Clear();
            return asn_int64_from_py(axes, &count) < 0 ? -1 : counted_axes(count, s);
        }
        Py_DECREF(iterator);
    }
    PyObject *pair = asn_items_of(axes, "axes is a number or a pair of sequences");
    if (!pair) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(pair);
    int rc = -1;
    if (n != 2)
        PyErr_Format(PyExc_ValueError,
                     n < 2 ? "not enough values to unpack (expected 2, got %zd)"
                           : "too many values to unpack (expected 2, got %zd)",
                     n);
    else
        rc = some_axes(PySequence_Fast_GET_ITEM(pair, 0), s->left, &s->num_left) < 0 ||
                     some_axes(PySequence_Fast_GET_ITEM(pair, 1), s->right,
                               &s->num_right) < 0
                 ? -1
                 : 0;
    Py_DECREF(pair);
    if (rc == 0 && s->num_left != s->num_right) {
        PyErr_SetString(PyExc_ValueError, "shape-mismatch for sum");
        rc = -1;
    }
    return rc;
}

/* (a, b, axes): a matrix product of the arrays with the summed axes brought together, in
 * numpy/products.h. The class of the operands is lost. */
static PyObject *f_tensordot(PyObject *const *v) {
    PyObject *pair[2], *r = NULL;
    summed_axes s;
    if (!two_arrays(v, pair)) return NULL;
    asn_ndarray *made = read_axes(v[2], &s) == 0 ? asn_ndarray_alloc() : NULL;
    if (made)
        r = asn_ndarray_made(made, asn_np_tensordot(&made->array, asn_of(pair[0]),
                                                    asn_of(pair[1]), s.num_left, s.left,
                                                    s.right));
    drop_two(pair);
    if (r && asn_fp_check() < 0) Py_CLEAR(r);
    return r;
}

/* ---- correlate, convolve */

/* mode=: a name or its number, 0 to 2; absent leaves *mode. -1: NumPy's error. */
static int slide_mode(PyObject *obj, asn_np_slide *mode) {
    static const char *const names[] = {"valid", "same", "full"};
    int64_t number = -1;
    if (!obj) return 0;
    if (PyIndex_Check(obj) && asn_int64_from_py(obj, &number) < 0) return -1;
    for (int i = 0; i < 3; i++)
        if (number == i || (PyUnicode_Check(obj) &&
                            PyUnicode_CompareWithASCIIString(obj, names[i]) == 0)) {
            *mode = (asn_np_slide)i;
            return 0;
        }
    if (PyUnicode_Check(obj))
        PyErr_SetString(PyExc_ValueError, "Use one of 'valid', 'same', or 'full' for "
                                          "convolve/correlate mode");
    else if (PyIndex_Check(obj))
        PyErr_SetString(PyExc_ValueError,
                        "integer convolve/correlate mode must be 0, 1, or 2");
    else
        PyErr_SetString(PyExc_TypeError, "convolve/correlate mode not understood");
    return -1;
}

/* (a, v, mode): v is conjugated where it is complex. NumPy calls the __array_wrap__ of
 * the first operand that is of a subclass. */
static PyObject *f_correlate(PyObject *const *v) {
    PyObject *pair[2], *r = NULL;
    asn_np_slide mode = ASN_SLIDE_VALID;
    if (!two_arrays(v, pair)) return NULL;
    asn_ndarray *made = slide_mode(v[2], &mode) == 0 ? asn_ndarray_alloc() : NULL;
    if (made)
        r = asn_ndarray_made(
            made, asn_np_correlate(&made->array, asn_of(pair[0]), asn_of(pair[1]), mode));
    /* a where it is of a subclass, else v. */
    PyObject *parent = pair[asn_is_ndarray_exact(pair[0])];
    r = asn_subclass_wrap(r, parent, NULL);
    drop_two(pair);
    return r;
}

/* convolve takes numbers, too: what has no axes is a sequence of one. Takes a. */
static PyObject *at_least_1d(PyObject *a) {
    if (!a || ASN_LIKELY(asn_of(a)->layout.ndim)) return a;
    PyObject *wide = asn_array_from_any(a, ASN_DTYPE_NONE, -1, 'K', 1, false);
    Py_DECREF(a);
    return wide;
}

/* (a, v, mode): the class of the operands is lost, as in NumPy. */
static PyObject *f_convolve(PyObject *const *v) {
    asn_np_slide mode = ASN_SLIDE_FULL;
    PyObject *a = at_least_1d(asn_asarray(v[0])), *r = NULL;
    PyObject *b = a ? at_least_1d(asn_asarray(v[1])) : NULL;
    asn_ndarray *made = b && slide_mode(v[2], &mode) == 0 ? asn_ndarray_alloc() : NULL;
    if (made)
        r = asn_ndarray_made(made,
                             asn_np_convolve(&made->array, asn_of(a), asn_of(b), mode));
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

asn_function_def asn_product_functions[] = {
    ASN_FUNCTION("inner", "a, b, /", f_inner, "The sum of products over the last axes."),
    ASN_FUNCTION("vdot", "a, b, /", f_vdot,
                 "The dot product of two flattened arrays, the first conjugated."),
    ASN_FUNCTION("outer", "a, b, out=None", f_outer,
                 "The products of all pairs of two flattened arrays."),
    ASN_FUNCTION("tensordot", "a, b, axes=2", f_tensordot,
                 "The sum of products over given axes."),
    ASN_FUNCTION("correlate", "a, v, mode='valid'", f_correlate,
                 "The cross-correlation of two sequences."),
    ASN_FUNCTION("convolve", "a, v, mode='full'", f_convolve,
                 "The convolution of two sequences."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
