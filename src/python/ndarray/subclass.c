/* L3 python: results of operations on subclasses of ndarray.
 *
 * NumPy has two ways to keep a subclass, and programs see which one was taken. Functions
 * that move elements (take, sort, repeat, dot, ...) allocate their result as an instance
 * of the operand's class, whose __array_finalize__ sees the operand; a 0-d result of them
 * is a scalar. ufuncs and their methods, reductions among them, make an ndarray and give
 * it to the operand's __array_wrap__, 0-d results too: a subclass's sum is an instance of
 * the subclass. So the core computes with plain arrays, and the results pass one of two
 * functions here; for arrays of exactly ndarray both are a comparison. */
#include "python/ndarray/subclass.h"

#include "python/convert.h"

/* (Contracts in subclass.h.) A class may set __array_finalize__ = None, to have it not
 * called. */
int asn_subclass_finalize(PyObject *view, PyObject *parent) {
    /* Of the type, as NumPy looks it up: an attribute of the instance is none. */
    PyObject *hook = PyObject_GetAttr((PyObject *)Py_TYPE(view), asn_py.s_array_finalize);
    if (!hook) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *pair[2] = {view, parent};
    PyObject *done =
        hook == Py_None ? Py_NewRef(Py_None) : PyObject_Vectorcall(hook, pair, 2, NULL);
    Py_DECREF(hook);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* The base chain ends at self's owner, as of any view. */
PyObject *asn_subclass_plain(PyObject *self) {
    asn_layout layout;
    if (asn_is_ndarray_exact(self)) return Py_NewRef(self);
    ASN_PY_TRY(asn_layout_copy(&layout, &asn_of(self)->layout));
    return asn_ndarray_view(self, &layout, false);
}

PyObject *asn_subclass_element(PyObject *array) {
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array)) && asn_of(array)->layout.ndim == 0)
        Py_SETREF(array, asn_subclass_plain(array));
    return array ? asn_ndarray_return(array) : NULL;
}

/* NumPy's rule: an attribute that is missing or no number counts as 0. */
static double priority_of(PyObject *obj) {
    PyObject *value = PyObject_GetAttr(obj, asn_py.s_array_priority);
    double priority = value ? PyFloat_AsDouble(value) : 0;
    Py_XDECREF(value);
    if (!PyErr_Occurred()) return priority;
    PyErr_Clear();
    return 0;
}

PyObject *asn_subclass_leader(PyObject *a, PyObject *b) {
    if (Py_TYPE(a) == Py_TYPE(b)) return a;
    return priority_of(b) > priority_of(a) ? b : a;
}

/* A second array over the same buffer, with array's base: array itself ends, so the new
 * object owns what array owned. */
PyObject *asn_subclass_adopt(PyObject *array, PyTypeObject *type, PyObject *parent) {
    asn_ndarray *kept = asn_ndarray_alloc_type(type);
    if (kept) {
        asn_layout layout;
        asn_status status = asn_layout_copy(&layout, &asn_of(array)->layout);
        if (status == ASN_OK) {
            asn_array_view(&kept->array, asn_of(array), &layout);
            kept->base = Py_XNewRef(((asn_ndarray *)array)->base);
        } else {
            asn_ndarray_drop(kept);
            kept = asn_raise(status);
        }
    }
    Py_DECREF(array);
    if (kept && asn_subclass_finalize((PyObject *)kept, parent) < 0) Py_CLEAR(kept);
    return (PyObject *)kept;
}

/* Unlike asn_subclass_adopt the result shows `plain` as its base: NumPy's results of
 * advanced indexing are views so made. */
PyObject *asn_subclass_view(PyObject *plain, PyObject *parent) {
    if (asn_is_ndarray_exact(parent)) return plain;
    PyObject *view = asn_subclass_adopt(Py_NewRef(plain), Py_TYPE(parent), parent);
    if (view) asn_ndarray_set_base((asn_ndarray *)view, plain);
    Py_DECREF(plain);
    return view;
}

PyObject *asn_subclass_keep_slow(PyObject *result, PyObject *parent) {
    if (!result || !asn_is_ndarray_exact(result)) return result;
    return asn_subclass_adopt(result, Py_TYPE(parent), parent);
}

/* The new form of the protocol (NumPy 2) first; a TypeError may mean that the method
 * takes fewer arguments, but also come from inside it, so the first error is what is
 * raised if all forms fail. */
PyObject *asn_array_wrap(PyObject *object, PyObject *array, PyObject *context,
                         bool scalar) {
    PyObject *given[] = {object, array, context, scalar ? Py_True : Py_False};
    PyObject *r = PyObject_VectorcallMethod(asn_py.s_array_wrap, given, 4, NULL);
    if (ASN_LIKELY(r != NULL) || !PyErr_ExceptionMatches(PyExc_TypeError)) return r;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (size_t n = 3; n >= 2 && !r; n--) { /* (array, context), then (array) */
        PyErr_Clear();
        r = PyObject_VectorcallMethod(asn_py.s_array_wrap, given, n, NULL);
    }
    if (!r) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    if (PyErr_WarnEx(PyExc_DeprecationWarning,
                     "__array_wrap__ must accept context and return_scalar arguments "
                     "(positionally) in the future. (Deprecated NumPy 2.0)",
                     1) < 0)
        Py_CLEAR(r);
    return r;
}

/* What was written to out is out, of whatever class it is. A scalar becomes a 0-d array
 * for __array_wrap__, and is told to be one (return_scalar). */
PyObject *asn_subclass_wrap_slow(PyObject *result, PyObject *parent, PyObject *out) {
    if (!result || (out && out != Py_None && out != asn_py.no_value)) return result;
    PyObject *array = asn_asarray(result);
    Py_DECREF(result);
    if (!array) return NULL;
    bool scalar = asn_of(array)->layout.ndim == 0;
    PyObject *wrapped = asn_array_wrap(parent, array, Py_None, scalar);
    Py_DECREF(array);
    return wrapped;
}
