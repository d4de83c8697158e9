/* L3 python: methods by which other code gets at arrays: conversion to Python and NumPy,
 * protocols, pickling, files.
 *
 * All of them read elements on the host, so each is a synchronisation: what is recorded
 * is run, and its floating-point exceptions are reported before a value leaves. Where
 * NumPy already has the format (printing, tofile, pickle) its own code is called, on a
 * view of the memory or a copy; only item, tolist and tobytes, which programs call in
 * loops, are written here. */
#include "python/ndarray/methods.h"

/* ---- elements as Python objects */

/* item(), item(i), item(i, j): the element's offset in bytes from the first; NumPy's
 * errors. One index of an array of several dimensions is its flat number, row-major. */
static int item_offset(PyObject *self, PyObject *const *where, Py_ssize_t n,
                       int64_t *offset) {
    const asn_layout *l = &asn_of(self)->layout;
    *offset = 0;
    if (n == 0) {
        if (l->size == 1) return 0;
        PyErr_SetString(PyExc_ValueError,
                        "can only convert an array of size 1 to a Python scalar");
        return -1;
    }
    int64_t k;
    if (n == 1 && l->ndim != 1) {
        if (asn_index_from_py(where[0], &k) < 0) return -1;
        int64_t given = k;
        k += k < 0 ? l->size : 0;
        if (k < 0 || k >= l->size) {
            PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for size %lld",
                         (long long)given, (long long)l->size);
            return -1;
        }
        for (int d = l->ndim - 1; d >= 0; d--) {
            *offset += k % l->shape[d] * l->strides[d];
            k /= l->shape[d];
        }
        return 0;
    }
    if (n != l->ndim) {
        PyErr_SetString(PyExc_ValueError, "incorrect number of indices for array");
        return -1;
    }
    for (int d = 0; d < l->ndim; d++) {
        if (asn_index_from_py(where[d], &k) < 0) return -1;
        int64_t given = k;
        k += k < 0 ? l->shape[d] : 0;
        if (k < 0 || k >= l->shape[d]) {
            PyErr_Format(PyExc_IndexError,
                         "index %lld is out of bounds for axis %d with size %lld",
                         (long long)given, d, (long long)l->shape[d]);
            return -1;
        }
        *offset += k * l->strides[d];
    }
    return 0;
}

/* ndarray.item: a Python number. A tuple stands for its items. */
ASN_METHOD(item) {
    if (kwnames && PyTuple_GET_SIZE(kwnames)) {
        PyErr_SetString(PyExc_TypeError, "item() takes no keyword arguments");
        return NULL;
    }
    bool tuple = nargs == 1 && PyTuple_Check(args[0]);
    int64_t offset;
    /* The argument's own items are used in place: a tuple cannot change. */
    if (item_offset(self, tuple ? PySequence_Fast_ITEMS(args[0]) : args,
                    tuple ? PyTuple_GET_SIZE(args[0]) : nargs, &offset) < 0)
        return NULL;
    asn_scalar element;
    ASN_PY_TRY(asn_array_get_item(asn_of(self), offset, &element));
    return asn_fp_check() < 0 ? NULL : asn_scalar_to_python(&element);
}

/* The innermost list of the most frequent dtypes, without a scalar in between; NULL:
 * another dtype (or an error). */
static PyObject *number_list(const char *data, int64_t n, int64_t step, asn_dtype dtype) {
    if (dtype != ASN_F64 && dtype != ASN_I64) return NULL;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++, data += step) {
        PyObject *item = dtype == ASN_F64 ? PyFloat_FromDouble(*(const double *)data)
                                          : PyLong_FromLongLong(*(const int64_t *)data);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* The nested list of the dimensions from d on, whose first element is at data; strides in
 * bytes, so any layout will do. */
static PyObject *list_level(const asn_layout *l, const char *data, int d) {
    if (d == l->ndim - 1 && (l->flags & ASN_ALIGNED)) {
        PyObject *list =
            number_list(data, l->shape[d], l->strides[d], (asn_dtype)l->dtype);
        if (list || PyErr_Occurred()) return list;
    }
    if (d == l->ndim) {
        asn_scalar element = {.dtype = l->dtype};
        memcpy(element.bytes, data, (size_t)asn_itemsize((asn_dtype)l->dtype));
        return asn_scalar_to_python(&element);
    }
    PyObject *list = PyList_New((Py_ssize_t)l->shape[d]);
    for (int64_t i = 0; list && i < l->shape[d]; i++) {
        PyObject *item = list_level(l, data + i * l->strides[d], d + 1);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* ndarray.tolist: of no dimensions, a number. */
ASN_METHOD(tolist) {
    ASN_ARGS("tolist", "");
    const asn_layout *l = &asn_of(self)->layout;
    void *data = NULL;
    if (l->size) {
        if (!asn_device_host_access()) {
            PyObject *host = asn_host_copy(self);
            PyObject *r = host ? PyObject_CallMethod(host, "tolist", NULL) : NULL;
            Py_XDECREF(host);
            return r;
        }
        /* A small array whose value is there needs neither lock nor wait (direct.h). */
        data = asn_direct_element(asn_of(self), 0);
        if (!data) ASN_PY_TRY(asn_array_host(asn_of(self), &data));
        if (asn_fp_check() < 0) return NULL;
    }
    return list_level(l, data, 0);
}

/* A method of the NumPy array over the same elements. Takes args (NULL: an error is set);
 * borrows kwargs. */
static PyObject *host_method(PyObject *self, const char *name, PyObject *args,
                             PyObject *kwargs) {
    PyObject *host = asn_host_view(self);
    PyObject *method = host ? PyObject_GetAttrString(host, name) : NULL;
    PyObject *r = method && args ? PyObject_Call(method, args, kwargs) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(host);
    Py_XDECREF(args);
    return r;
}

/* Row-major memory is its own serialisation; for other layouts and orders NumPy's method.
 */
ASN_METHOD(tobytes) {
    ASN_ARGS("tobytes", "order='C'");
    const asn_layout *l = &asn_of(self)->layout;
    if (!v[0] && l->flags & ASN_C_CONTIGUOUS && asn_device_host_access()) {
        void *data = NULL;
        if (l->size) ASN_PY_TRY(asn_array_host(asn_of(self), &data));
        if (asn_fp_check() < 0) return NULL;
        return PyBytes_FromStringAndSize(data, (Py_ssize_t)asn_layout_nbytes(l));
    }
    /* "A" is of this array's order; a copy on the host has another. */
    const bool any =
        v[0] && PyUnicode_Check(v[0]) && !PyUnicode_CompareWithASCIIString(v[0], "A");
    const bool columns =
        any && (l->flags & (ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS)) == ASN_F_CONTIGUOUS;
    PyObject *given = any    ? Py_BuildValue("(s)", columns ? "F" : "C")
                      : v[0] ? PyTuple_Pack(1, v[0])
                             : PyTuple_New(0);
    return host_method(self, "tobytes", given, NULL);
}

ASN_METHOD(tofile) {
    ASN_ARGS("tofile", "fid, sep='', format='%s'");
    return host_method(self, "tofile",
                       Py_BuildValue("ONN", v[0],
                                     v[1] ? Py_NewRef(v[1]) : PyUnicode_FromString(""),
                                     v[2] ? Py_NewRef(v[2]) : PyUnicode_FromString("%s")),
                       NULL);
}

ASN_METHOD(to_numpy) {
    ASN_ARGS("to_numpy", "");
    return asn_host_copy(self);
}

/* The array API's to_device: there is one device in use, so it is the same array. */
ASN_METHOD(to_device) {
    ASN_ARGS("to_device", "device, /, *, stream=None");
    if (v[1] && v[1] != Py_None) {
        PyErr_SetString(PyExc_ValueError,
                        "The stream argument in to_device() is not supported");
        return NULL;
    }
    return asn_device_check(v[0]) < 0 ? NULL : Py_NewRef(self);
}

/* ---- printing: NumPy formats the elements, read on the host */

/* repr and str: NumPy's of a copy, so print options hold; a subclass shows its own name.
 */
PyObject *asn_ndarray_repr(PyObject *self) {
    PyObject *arg[1] = {self};
    if (!asn_is_ndarray_exact(self)) return asn_support_call("subclass_repr_of", arg, 1);
    PyObject *host = asn_host_copy(self), *r = host ? PyObject_Repr(host) : NULL;
    Py_XDECREF(host);
    return r;
}

PyObject *asn_ndarray_str(PyObject *self) {
    PyObject *host = asn_host_copy(self), *r = host ? PyObject_Str(host) : NULL;
    Py_XDECREF(host);
    return r;
}

/* For notebooks, which look for methods of these names: asnumpy._html makes the text. */
ASN_METHOD(_repr_html_) {
    ASN_ARGS("_repr_html_", "");
    return asn_support_call("repr_html", &self, 1);
}

/* Asked before all others: before repr() has run what is recorded. */
ASN_METHOD(_repr_mimebundle_) {
    ASN_ARGS("_repr_mimebundle_", "include=None, exclude=None");
    return asn_support_call("repr_mimebundle", &self, 1);
}

/* NumPy formats the element of a 0-d array, and allows no format of others. */
ASN_METHOD(__format__) {
    ASN_ARGS("__format__", "spec, /");
    if (asn_of(self)->layout.ndim == 0) {
        asn_scalar element;
        ASN_PY_TRY(asn_array_get_item(asn_of(self), 0, &element));
        if (asn_fp_check() < 0) return NULL;
        PyObject *item = asn_scalar_to_python(&element);
        PyObject *r = item ? PyObject_Format(item, v[0]) : NULL;
        Py_XDECREF(item);
        return r;
    }
    if (PyUnicode_Check(v[0]) && PyUnicode_GET_LENGTH(v[0]) == 0)
        return PyObject_Str(self);
    PyErr_Format(PyExc_TypeError, "unsupported format string passed to %s.__format__",
                 Py_TYPE(self)->tp_name);
    return NULL;
}

/* ---- protocols */

/* np.asarray(a) and the like: a NumPy array over the same memory where the host reaches
 * it, unless copy=True or another dtype is asked for. */
ASN_METHOD(__array__) {
    ASN_ARGS("__array__", "dtype=None, /, *, copy=None");
    if (asn_host_check_dropped(self) < 0) return NULL;
    bool force = v[1] && v[1] != Py_None && PyObject_IsTrue(v[1]) == 1;
    bool never = v[1] && v[1] != Py_None && !force;
    if (never && !asn_device_host_access()) {
        PyErr_SetString(PyExc_ValueError,
                        "Unable to avoid copy: the elements live on a device");
        return NULL;
    }
    PyObject *host =
        force || !asn_device_host_access() ? asn_host_copy(self) : asn_host_view(self);
    if (!host || !v[0] || v[0] == Py_None) return host;
    PyArray_Descr *descr = NULL;
    if (!PyArray_DescrConverter2(v[0], &descr)) {
        Py_DECREF(host);
        return NULL;
    }
    if (!descr || PyArray_EquivTypes(descr, PyArray_DESCR((PyArrayObject *)host))) {
        Py_XDECREF(descr);
        return host;
    }
    PyObject *r = NULL;
    if (never)
        PyErr_SetString(PyExc_ValueError,
                        "Unable to avoid copy: another dtype was asked");
    else
        r = PyArray_CastToType((PyArrayObject *)host, (PyArray_Descr *)Py_NewRef(descr),
                               0);
    Py_DECREF(descr);
    Py_DECREF(host);
    return r;
}

/* Our ufunc for NumPy's (borrows); NULL when there is none, with an error when it is no
 * ufunc. NumPy's ufunc called on our arrays: ours of the same name does the work. Found
 * by name once: NumPy makes a new string of the name each time it is asked. */
static PyObject *own_ufunc(PyObject *theirs) {
    if (asn_is_ufunc(theirs)) return theirs;
    PyObject *own = PyDict_GetItemWithError(asn_py.known_ufuncs, theirs);
    if (own) return own;
    PyErr_Clear(); /* it cannot be a key: then it has no name either */
    PyObject *name = PyObject_GetAttr(theirs, asn_py.s_name);
    if (!name) {
        PyErr_Format(PyExc_TypeError, "__array_ufunc__: a ufunc was expected, got %s",
                     Py_TYPE(theirs)->tp_name);
        return NULL;
    }
    own = PyDict_GetItemWithError(asn_py.ufuncs, name);
    Py_DECREF(name);
    return own && PyDict_SetItem(asn_py.known_ufuncs, theirs, own) < 0 ? NULL : own;
}

/* A ufunc that is none of ours (scipy.special's, np.frompyfunc's): NumPy runs it, on the
 * host. args: NumPy's ufunc, the method's name, then its operands. */
static PyObject *ufunc_on_host(PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    PyObject *positional = PyTuple_New(nargs), *named = PyDict_New(), *r = NULL;
    for (Py_ssize_t i = 0; positional && i < nargs; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    int rc = positional && named ? 0 : -1;
    for (Py_ssize_t i = 0; rc == 0 && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        rc = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
    PyObject *both[2] = {positional, named};
    if (rc == 0) r = asn_support_call("ufunc_on_host", both, 2);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return r;
}

/* NumPy's protocol (NEP 13): np.add(a, ...) with an array of ours arrives here with the
 * ufunc, the method's name and the inputs. out= and the rest stay keywords. */
ASN_METHOD(__array_ufunc__) {
    (void)self;
    if (nargs < 2) {
        PyErr_SetString(PyExc_TypeError, "__array_ufunc__ requires at least 2 arguments");
        return NULL;
    }
    PyObject *own = own_ufunc(args[0]);
    if (own) { /* a subclass's own override has the last word */
        int taken = asn_ufunc_overridden((asn_ufunc *)own, args + 2, nargs - 2, kwnames);
        if (taken < 0) return NULL;
        if (taken) Py_RETURN_NOTIMPLEMENTED;
    } else {
        if (PyErr_Occurred()) return NULL;
        return ufunc_on_host(args, nargs, kwnames);
    }
    if (PyUnicode_CompareWithASCIIString(args[1], "__call__") == 0)
        return asn_ufunc_vectorcall(own, args + 2, (size_t)(nargs - 2), kwnames);
    /* reduce, accumulate, outer, at, reduceat: methods of our ufunc, by their names. */
    PyObject *method = PyObject_GetAttr(own, args[1]);
    PyObject *r =
        method ? PyObject_Vectorcall(method, args + 2, (size_t)(nargs - 2), kwnames)
               : NULL;
    Py_XDECREF(method);
    return r;
}

/* NumPy's protocol for its functions (NEP 18); the work is Python's (asnumpy._support).
 */
ASN_METHOD(__array_function__) {
    (void)self;
    ASN_ARGS("__array_function__", "func, types, args, kwargs");
    return asn_support_call("array_function", v, 4);
}

/* NumPy calls it on a ufunc's result: `array` as an instance of self's class. */
ASN_METHOD(__array_wrap__) {
    ASN_ARGS("__array_wrap__", "array, context=None, return_scalar=True, /");
    PyObject *array = asn_asarray(v[0]);
    if (!array) return NULL;
    /* Only an array of no subclass becomes a scalar, and only when asked. */
    if (v[2] == Py_True && asn_is_ndarray_exact(self) &&
        asn_of(array)->layout.ndim == 0) {
        asn_scalar element;
        asn_status status = asn_array_get_item(asn_of(array), 0, &element);
        Py_DECREF(array);
        ASN_PY_TRY(status);
        return asn_fp_check() < 0 ? NULL : asn_scalar_to_numpy(&element);
    }
    if (Py_TYPE(array) == Py_TYPE(self)) return array;
    PyObject *plain = asn_subclass_plain(array);
    Py_DECREF(array);
    return plain ? asn_subclass_view(plain, self) : NULL;
}

/* What subclasses override, and call through super(): nothing to be done here. */
ASN_METHOD(__array_finalize__) {
    (void)self, (void)args, (void)nargs, (void)kwnames;
    Py_RETURN_NONE;
}

/* The array API standard: the package, if it is of a version that is asked for. */
ASN_METHOD(__array_namespace__) {
    (void)self;
    ASN_ARGS("__array_namespace__", "*, api_version=None");
    if (v[0] && v[0] != Py_None) {
        static const char *const known[] = {"2021.12", "2022.12", "2023.12", "2024.12"};
        bool found = false;
        for (size_t i = 0; PyUnicode_Check(v[0]) && i < sizeof known / sizeof *known; i++)
            found |= PyUnicode_CompareWithASCIIString(v[0], known[i]) == 0;
        if (!found) {
            if (!PyUnicode_Check(v[0])) {
                PyErr_Format(
                    PyExc_ValueError,
                    "Only None and strings are allowed as the Array API version, "
                    "but received: %S.",
                    v[0]);
                return NULL;
            }
            PyErr_Format(PyExc_ValueError,
                         "Version \"%S\" of the Array API Standard is not supported.",
                         v[0]);
            return NULL;
        }
    }
    return PyImport_ImportModule("asnumpy");
}

ASN_METHOD(__dlpack__) {
    return asn_ndarray_dlpack(self, args, nargs, kwnames);
}

ASN_METHOD(__dlpack_device__) {
    (void)args, (void)nargs, (void)kwnames;
    return asn_ndarray_dlpack_device(self, NULL);
}

/* complex(a): of one element without dimensions, with any dtype that casts to it. */
ASN_METHOD(__complex__) {
    ASN_ARGS("__complex__", "");
    if (asn_of(self)->layout.ndim != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "only 0-dimensional arrays can be converted to Python scalars");
        return NULL;
    }
    asn_scalar element, wide;
    ASN_PY_TRY(asn_array_get_item(asn_of(self), 0, &element));
    if (asn_fp_check() < 0) return NULL;
    ASN_PY_TRY(asn_scalar_cast(&element, ASN_C128, &wide));
    return asn_scalar_to_python(&wide);
}

/* With the elements only where the array owns them, NumPy's rule. */
ASN_METHOD(__sizeof__) {
    ASN_ARGS("__sizeof__", "");
    /* with its extents and strides, as NumPy counts them */
    int64_t size = Py_TYPE(self)->tp_basicsize + 16 * asn_of(self)->layout.ndim;
    if (!((asn_ndarray *)self)->base) size += asn_layout_nbytes(&asn_of(self)->layout);
    return PyLong_FromLongLong(size);
}

/* ---- pickling: (reconstruct, (type, host array))
 *
 * The elements travel as a NumPy array, so a pickle can be read where another device is
 * in use. All of it is in Python. */

/* From protocol 5 on the elements may stay out of the stream (PEP 574), as a buffer: not
 * those of subclasses, nor bfloat16, which no buffer describes. */
ASN_METHOD(__reduce_ex__) {
    ASN_ARGS("__reduce_ex__", "protocol, /");
    int64_t protocol;
    if (asn_int64_from_py(v[0], &protocol) < 0) return NULL;
    if (protocol >= 5 && asn_is_ndarray_exact(self) && asn_dtype_of(self) != ASN_BF16)
        return asn_support_call("reduce_to_buffer", &self, 1);
    return asn_support_call("reduce", &self, 1);
}

ASN_METHOD(__reduce__) {
    ASN_ARGS("__reduce__", "");
    PyObject *state[1] = {self};
    return asn_support_call("reduce", state, 1);
}

ASN_METHOD(__setstate__) {
    ASN_ARGS("__setstate__", "state, /");
    PyObject *pair[2] = {self, v[0]};
    return asn_support_call("setstate", pair, 2);
}

ASN_METHOD(dumps) {
    ASN_ARGS("dumps", "");
    PyObject *state[1] = {self};
    return asn_support_call("dumps", state, 1);
}

ASN_METHOD(dump) {
    ASN_ARGS("dump", "file");
    PyObject *pair[2] = {self, v[0]};
    return asn_support_call("dump", pair, 2);
}

/* NumPy's setflags, in NumPy's order; what is refused leaves every flag as it was. */
ASN_METHOD(setflags) {
    ASN_ARGS("setflags", "write=None, align=None, uic=None");
    static int (*const set[])(PyObject *, bool) = {
        asn_ndarray_set_aligned, asn_ndarray_set_writeback, asn_ndarray_set_writeable};
    PyObject *const wish[] = {v[1], v[2], v[0]};
    const uint8_t before = asn_of(self)->layout.flags;
    for (int i = 0; i < 3; i++) {
        if (!wish[i] || wish[i] == Py_None) continue;
        int on = PyObject_IsTrue(wish[i]);
        if (on < 0 || set[i](self, on) < 0) {
            asn_of(self)->layout.flags = before;
            return NULL;
        }
    }
    Py_RETURN_NONE;
}
