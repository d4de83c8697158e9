/* L3 python: methods about shape: reshape, ravel, transpose, squeeze, diagonal, view, ...
 *
 * All are views of the core where strides allow (array/views.h); reshape and ravel copy
 * when they do not, as NumPy's do. A view is made in two steps: a function of the core
 * fills a layout, which fails or not without an object, and asn_ndarray_view puts it over
 * self's buffer. No method here waits for a value: a copy is recorded as any other
 * operation.
 *
 * What must be as NumPy has it is not only the elements: which results share memory, what
 * `base` they show, which of them own their data, and the class of the result. */
#include "numpy/sums.h"
#include "python/ndarray/methods.h"

/* An object of self's type over `view`, which is taken; with a failed status the error.
 */
static PyObject *view_of(PyObject *self, asn_status status, asn_layout *view) {
    return status == ASN_OK ? asn_ndarray_view(self, view, true) : asn_raise(status);
}

/* A copy as an instance of self's class; order as in asn_copy ('K': as self lies). */
static PyObject *copy_as(PyObject *self, char order) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_copy(&r->array, asn_of(self), asn_dtype_of(self), order);
    if (status == ASN_OK) return asn_subclass_keep((PyObject *)r, self);
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* A fresh copy reshaped, the sizes known to agree. The result's base is the copy, as in
 * NumPy, which nobody else holds. Takes copy; NULL: it failed before. */
static PyObject *reshape_fresh(PyObject *copy, int ndim, const int64_t *shape,
                               char order) {
    bool possible = false;
    asn_layout view;
    asn_status status = copy ? asn_view_reshape(&view, &asn_of(copy)->layout, ndim, shape,
                                                order, &possible)
                             : ASN_OK;
    PyObject *r = NULL;
    if (copy && status != ASN_OK)
        asn_raise(status);
    else if (copy && possible)
        r = asn_ndarray_view(copy, &view, true);
    else if (copy)
        PyErr_SetString(PyExc_SystemError, "a contiguous copy did not reshape");
    Py_XDECREF(copy);
    return r;
}

/* NumPy's reshape. shape may have one -1. order 'C', 'F' or 'A' (column-major where self
 * is so, and not row-major too) says in which order the elements are read and placed.
 * copy: 1 always, 0 never (ValueError), -1 if needed. */
static PyObject *reshape(PyObject *self, int ndim, const int64_t *shape, char order,
                         int copy) {
    const asn_layout *l = &asn_of(self)->layout;
    if (order == 'A')
        order =
            (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS) ? 'F' : 'C';
    bool possible = false;
    asn_layout view;
    ASN_PY_TRY(asn_view_reshape(&view, l, ndim, shape, order, &possible));
    if (possible && copy != 1) return asn_ndarray_view(self, &view, true);
    /* It was only to check the shape. */
    if (possible) asn_layout_fini(&view);
    if (copy == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "Unable to avoid creating a copy while reshaping.");
        return NULL;
    }
    /* The copy is whole, so its own order serves; -1 in the shape is replaced before. */
    int64_t resolved[ASN_MAX_DIMS];
    ASN_PY_TRY(asn_shape_resolve(l->size, ndim, shape, resolved));
    return reshape_fresh(copy_as(self, order == 'F' ? 'F' : 'C'), ndim, resolved, order);
}

/* (Contract in methods.h.) The function's order= and copy= are read by the caller. */
PyObject *asn_reshape_run(PyObject *self, PyObject *shape_object, char order, int copy) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    if (shape_object == Py_None) { /* as it is, whatever the others say (NumPy's rule) */
        asn_layout view;
        ASN_PY_TRY(asn_layout_copy(&view, &asn_of(self)->layout));
        return asn_ndarray_view(self, &view, true);
    }
    if (asn_shape_from_py(shape_object, shape, &ndim) < 0) return NULL;
    return reshape(self, ndim, shape, order, copy);
}

/* *shape of a method: one sequence or int, or several ints, which the tuple of arguments
 * is. A new reference; releases the tuple. */
static PyObject *one_or_all(PyObject *tuple) {
    PyObject *r = PyTuple_GET_SIZE(tuple) == 1 ? Py_NewRef(PyTuple_GET_ITEM(tuple, 0))
                                               : Py_NewRef(tuple);
    Py_DECREF(tuple);
    return r;
}

/* a.reshape(2, 3), a.reshape((2, 3)): order 'K' has no meaning here, and is refused. */
ASN_METHOD(reshape) {
    ASN_ARGS("reshape", "*shape, order='C', copy=None");
    PyObject *shape = one_or_all(v[0]);
    char order = 'C';
    int copy;
    PyObject *r = NULL;
    if (asn_order_from_py(v[1], &order) == 0 &&
        asn_copy_mode_from_py(v[2], -1, &copy) == 0) {
        if (order == 'K')
            PyErr_SetString(PyExc_ValueError, "order 'K' is not permitted for reshaping");
        else
            r = asn_reshape_run(self, shape, order, copy);
    }
    Py_DECREF(shape);
    return r;
}

/* A view of the elements in the order of memory, where they have no gaps; else NULL
 * without an error. It is NumPy's ravel('K'): the axes are sorted by their strides,
 * largest first, and if each stride then is the product of what follows, the sorted array
 * is contiguous. */
static PyObject *flatten_in_place(PyObject *self) {
    const asn_layout *l = &asn_of(self)->layout;
    int perm[ASN_MAX_DIMS];
    int64_t reach = asn_itemsize(asn_dtype_of(self));
    for (int i = 0; i < l->ndim; i++) { /* descending strides, axes of extent 1 first */
        int at = i;
        bool one = l->shape[i] == 1;
        for (; at > 0; at--) {
            int before = perm[at - 1];
            if (l->shape[before] == 1 || (!one && l->strides[before] >= l->strides[i]))
                break;
            perm[at] = before;
        }
        perm[at] = i;
    }
    /* From the smallest stride on; negative strides and repeated elements (0) never
     * match. */
    for (int i = l->ndim - 1; i >= 0 && l->shape[perm[i]] > 1; i--) {
        if (l->strides[perm[i]] != reach) return NULL;
        reach *= l->shape[perm[i]];
    }
    asn_layout view;
    PyObject *sorted = view_of(self, asn_view_transpose(&view, l, perm), &view);
    int64_t shape[1] = {l->size};
    PyObject *r = sorted ? reshape(sorted, 1, shape, 'C', -1) : NULL;
    Py_XDECREF(sorted);
    return r;
}

/* (Contract in ufunc/reduce.h.) Where the result is a copy it shows no base: ravel and
 * flatten own what they give, unlike reshape, whose copy is a view of a hidden one. */
PyObject *asn_flatten(PyObject *self, char order, bool copy) {
    const asn_layout *l = &asn_of(self)->layout;
    int64_t shape[1] = {l->size};
    if (order != 'K') {
        if (!copy) {
            PyObject *r = reshape(self, 1, shape, order, -1);
            if (r && asn_of(r)->buffer != asn_of(self)->buffer)
                Py_CLEAR(((asn_ndarray *)r)->base);
            return r;
        }
        if (order == 'A')
            order = (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS) ? 'F'
                                                                                    : 'C';
        PyObject *r = reshape_fresh(copy_as(self, order), 1, shape, order);
        if (r) Py_CLEAR(((asn_ndarray *)r)->base);
        return r;
    }
    /* 'K': the order of memory. A copy in K order has its axes sorted by stride; without
     * a copy, 'K' of a row-major array is 'C', and what has no gaps is a view. */
    if (!copy && (l->flags & ASN_C_CONTIGUOUS)) return reshape(self, 1, shape, 'C', -1);
    if (!copy && l->size) {
        PyObject *r = flatten_in_place(self);
        if (r || PyErr_Occurred()) return r;
    }
    PyObject *fresh = copy_as(self, 'K');
    if (!fresh) return NULL;
    /* The copy has no gaps, so one axis with the stride of an element runs through it in
     * the order of its memory, whatever its own axes are. */
    asn_layout view;
    int64_t stride = asn_itemsize(asn_dtype_of(self));
    asn_status status = asn_layout_init_strided(
        &view, asn_dtype_of(self), 1, shape, &stride, asn_of(fresh)->layout.offset, true);
    /* Non-canonical bool stays what it is under any layout. */
    if (status == ASN_OK) asn_layout_inherit_truth(&view, &asn_of(fresh)->layout);
    PyObject *r = view_of(fresh, status, &view);
    Py_DECREF(fresh);
    if (r) Py_CLEAR(((asn_ndarray *)r)->base);
    return r;
}

/* NumPy's ravel is a view where the array is contiguous in that very order ('A': either),
 * and for 'K' where memory has no gaps; else a copy. */
PyObject *asn_ravel_run(PyObject *self, char order) {
    int flags = asn_of(self)->layout.flags;
    bool view =
        order == 'K' || (flags & (order == 'F'   ? ASN_F_CONTIGUOUS
                                  : order == 'C' ? ASN_C_CONTIGUOUS
                                                 : ASN_F_CONTIGUOUS | ASN_C_CONTIGUOUS));
    return asn_flatten(self, order, !view);
}

ASN_METHOD(ravel) {
    ASN_ARGS("ravel", "order='C'");
    char order = 'C';
    return asn_order_from_py(v[0], &order) < 0 ? NULL : asn_ravel_run(self, order);
}

ASN_METHOD(flatten) {
    ASN_ARGS("flatten", "order='C'");
    char order = 'C';
    return asn_order_from_py(v[0], &order) < 0 ? NULL : asn_flatten(self, order, true);
}

/* (Contract in methods.h.) Errors in NumPy's order: the number of axes, their range,
 * repeats. */
PyObject *asn_transpose_run(PyObject *self, PyObject *axes) {
    int perm[ASN_MAX_DIMS], ndim = asn_of(self)->layout.ndim;
    asn_layout view;
    if (!axes || axes == Py_None)
        return view_of(self, asn_view_transpose(&view, &asn_of(self)->layout, NULL),
                       &view);
    int64_t values[ASN_MAX_DIMS];
    int n;
    uint64_t seen = 0; /* bits of the axes that were named */
    if (asn_shape_from_py(axes, values, &n) < 0) return NULL;
    if (n != ndim) {
        PyErr_SetString(PyExc_ValueError, "axes don't match array");
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        ASN_PY_TRY(asn_axis_normalize(values[i], ndim, &perm[i]));
        if (seen >> perm[i] & 1) {
            PyErr_SetString(PyExc_ValueError, "repeated axis in transpose");
            return NULL;
        }
        seen |= 1ULL << perm[i];
    }
    return view_of(self, asn_view_transpose(&view, &asn_of(self)->layout, perm), &view);
}

/* a.transpose(), a.transpose(1, 0), a.transpose((1, 0)), a.transpose(None). */
ASN_METHOD(transpose) {
    ASN_ARGS("transpose", "*axes");
    if (PyTuple_GET_SIZE(v[0]) == 0) {
        Py_DECREF(v[0]);
        return asn_transpose_run(self, NULL);
    }
    PyObject *axes = one_or_all(v[0]);
    PyObject *r = asn_transpose_run(self, axes);
    Py_DECREF(axes);
    return r;
}

ASN_METHOD(swapaxes) {
    ASN_ARGS("swapaxes", "axis1, axis2, /");
    return asn_swapaxes_run(self, v[0], v[1]);
}

/* axis None: every axis of extent 1 goes; one that is named must have the extent 1. */
PyObject *asn_squeeze_run(PyObject *self, PyObject *axis) {
    const asn_layout *l = &asn_of(self)->layout;
    uint64_t mask = 0;
    bool all;
    asn_layout view;
    if (asn_axes_from_py(axis, l->ndim, &mask, &all) < 0) return NULL;
    for (int d = 0; d < l->ndim; d++) {
        if (!(mask >> d & 1) || l->shape[d] == 1) continue;
        if (!all) {
            PyErr_SetString(PyExc_ValueError,
                            "cannot select an axis to squeeze out which has "
                            "size not equal to one");
            return NULL;
        }
        mask &= ~(1ULL << d);
    }
    if (!mask) return Py_NewRef(self); /* nothing to squeeze */
    return view_of(self, asn_view_squeeze(&view, l, mask), &view);
}

ASN_METHOD(squeeze) {
    ASN_ARGS("squeeze", "axis=None");
    return asn_squeeze_run(self, v[0]);
}

/* A view, writeable where self is; a negative offset is below the main diagonal. */
ASN_METHOD(diagonal) {
    ASN_ARGS("diagonal", "offset=0, axis1=0, axis2=1");
    asn_np_diagonals of = {0, 0, 1};
    asn_layout view;
    if (asn_int64_from_py(v[0], &of.offset) < 0 ||
        asn_int64_from_py(v[1], &of.axis1) < 0 || asn_int64_from_py(v[2], &of.axis2) < 0)
        return NULL;
    return view_of(self, asn_np_diagonal(&view, &asn_of(self)->layout, &of), &view);
}

/* view(type): the same elements as an instance of a subclass, finalised from self. The
 * layout is copied: a view may be reshaped alone. */
static PyObject *view_as_type(PyObject *self, PyTypeObject *type) {
    asn_layout layout;
    ASN_PY_TRY(asn_layout_copy(&layout, &asn_of(self)->layout));
    if (type == asn_py.ndarray) return asn_ndarray_view(self, &layout, false);
    asn_ndarray *view = asn_ndarray_alloc_type(type);
    if (!view) {
        asn_layout_fini(&layout);
        return NULL;
    }
    asn_array_view(&view->array, asn_of(self), &layout);
    asn_ndarray_set_base(view, self);
    if (asn_subclass_finalize((PyObject *)view, self) < 0) Py_CLEAR(view);
    return (PyObject *)view;
}

/* A view as a dtype that the device lacks, or as a class of NumPy's: NumPy's, of the same
 * memory. NULL with the
 * error where the error is another or the host does not reach the memory. */
static PyObject *view_on_host(PyObject *self, PyObject *dtype) {
    if (!PyErr_ExceptionMatches(asn_py.host_dtype)) return NULL;
    bool is_class =
        PyType_Check(dtype) && PyType_IsSubtype((PyTypeObject *)dtype, &PyArray_Type);
    if (!asn_device_host_access()) {
        if (is_class)
            PyErr_Format(asn_py.host_dtype,
                         "view: the host does not reach the device's memory; "
                         "to_numpy(x).view(%s) is a view of a copy",
                         ((PyTypeObject *)dtype)->tp_name);
        return NULL;
    }
    PyErr_Clear();
    PyObject *host = asn_host_view(self);
    PyObject *r = host ? PyObject_CallMethod(host, "view", "O", dtype) : NULL;
    Py_XDECREF(host);
    return r;
}

/* a.view(dtype), a.view(type), a.view(dtype, type): another dtype over the same bytes;
 * the last axis must divide or grow as the size of an element changes (NumPy). */
ASN_METHOD(view) {
    ASN_ARGS("view", "dtype=None, type=None");
    PyObject *dtype = v[0], *type = v[1];
    if (dtype == Py_None) dtype = (PyObject *)&PyFloat_Type; /* as dtype(None) is */
    /* The first argument may be the type, which is told apart by what it is alone. */
    if (dtype && PyType_Check(dtype) &&
        PyType_IsSubtype((PyTypeObject *)dtype, asn_py.ndarray)) {
        if (type) {
            PyErr_SetString(PyExc_ValueError, "Cannot specify output type twice.");
            return NULL;
        }
        type = dtype;
        dtype = NULL;
    }
    if (type && type != Py_None &&
        (!PyType_Check(type) ||
         !PyType_IsSubtype((PyTypeObject *)type, asn_py.ndarray))) {
        PyErr_SetString(PyExc_ValueError, "Type must be a sub-type of ndarray type");
        return NULL;
    }
    /* the class is kept unless asked */
    PyTypeObject *wanted = type && type != Py_None ? (PyTypeObject *)type : Py_TYPE(self);
    asn_dtype to;
    if (asn_dtype_from_py(dtype, &to) < 0) return view_on_host(self, dtype);
    /* The view of the other class first, so that its __array_finalize__ sees self's
     * dtype. */
    PyObject *r = view_as_type(self, wanted);
    if (!r || to == ASN_DTYPE_NONE || to == asn_dtype_of(self)) return r;
    asn_layout view;
    asn_status status = asn_view_dtype(&view, &asn_of(self)->layout, to);
    if (status != ASN_OK) {
        Py_DECREF(r);
        return asn_raise(status);
    }
    asn_layout_fini(&asn_of(r)->layout);
    asn_layout_move(&asn_of(r)->layout, &view);
    /* Through the view other bytes than 0 and 1 may be written. */
    if (asn_dtype_of(self) == ASN_BOOL && view.flags & ASN_WRITEABLE)
        asn_of(self)->layout.flags |= ASN_NONCANONICAL;
    return r;
}

/* getfield: the bytes at `offset` of every element, as dtype: a view, whose strides are
 * self's. An offset that leads out of the element is refused. */
ASN_METHOD(getfield) {
    ASN_ARGS("getfield", "dtype, offset=0");
    asn_dtype dtype;
    int64_t offset = 0;
    const asn_layout *l = &asn_of(self)->layout;
    if (asn_dtype_from_py(v[0], &dtype) < 0 || asn_int64_from_py(v[1], &offset) < 0)
        return NULL;
    if (dtype == ASN_DTYPE_NONE) dtype = ASN_F64;
    if (offset < 0 || offset + asn_itemsize(dtype) > asn_itemsize((asn_dtype)l->dtype)) {
        PyErr_Format(
            PyExc_ValueError,
            "Need 0 <= offset <= %d for requested type but received offset = %lld",
            asn_itemsize((asn_dtype)l->dtype) - asn_itemsize(dtype), (long long)offset);
        return NULL;
    }
    asn_layout view;
    asn_status status =
        asn_layout_init_strided(&view, dtype, l->ndim, l->shape, l->strides,
                                l->offset + offset, l->flags & ASN_WRITEABLE);
    if (status == ASN_OK) asn_layout_inherit_truth(&view, l);
    return view_of(self, status, &view);
}

/* setfield: an assignment to that view. */
ASN_METHOD(setfield) {
    ASN_ARGS("setfield", "val, /, dtype, offset=0");
    PyObject *pair[2] = {v[1], v[2]};
    PyObject *field = asn_method_getfield(self, pair, v[2] ? 2 : 1, NULL);
    int rc = field ? asn_ndarray_ass_subscript(field, Py_Ellipsis, v[0]) : -1;
    Py_XDECREF(field);
    if (rc < 0) return NULL;
    Py_RETURN_NONE;
}

/* resize in place: the array gets a new buffer of that shape, row-major, its elements
 * copied in the order of their memory as far as both go, the rest zero. NumPy
 * reallocates; here the old buffer may still be in use by recorded operations. 0, or -1
 * with the error: a is as it was. */
static int resize_to(PyObject *self, int ndim, const int64_t *shape) {
    asn_array *a = asn_of(self), fresh;
    asn_operand zero = {NULL, {ASN_I64, {0}}, 'i'};
    ASN_PY_TRY_INT(asn_full(&fresh, asn_dtype_of(self), ndim, shape, 'C', &zero));
    /* Elements that both have; as one axis, since both are without gaps. */
    int64_t count =
        fresh.layout.size < a->layout.size ? fresh.layout.size : a->layout.size;
    int64_t item = asn_itemsize(asn_dtype_of(self));
    asn_layout from, to;
    asn_array source, target;
    asn_status status = asn_layout_init_strided(&from, asn_dtype_of(self), 1, &count,
                                                &item, a->layout.offset, true);
    if (status == ASN_OK) {
        asn_array_view(&source, a, &from);
        status =
            asn_layout_init_strided(&to, asn_dtype_of(self), 1, &count, &item, 0, true);
        if (status == ASN_OK) {
            asn_array_view(&target, &fresh, &to);
            asn_operand operand = {.array = &source};
            status = asn_assign(&target, &operand, ASN_CASTING_NO, NULL);
            asn_array_fini(&target);
        }
        asn_array_fini(&source);
    }
    if (status != ASN_OK) {
        asn_array_fini(&fresh);
        ASN_PY_TRY_INT(status);
    }
    asn_array_fini(a);
    asn_array_move(a, &fresh);
    return 0;
}

/* NumPy's resize, which refuses where another object might see the memory go. A shape of
 * as many elements is only a new layout. */
ASN_METHOD(resize) {
    ASN_ARGS("resize", "*new_shape, refcheck=True");
    int64_t shape[ASN_MAX_DIMS];
    int ndim, rc = 0;
    bool refcheck = true;
    if (v[1] && !PyIndex_Check(v[1])) {
        Py_DECREF(v[0]);
        PyErr_Format(PyExc_TypeError, "'%s' object cannot be interpreted as an integer",
                     Py_TYPE(v[1])->tp_name);
        return NULL;
    }
    /* resize() and resize(None) do nothing. */
    if (PyTuple_GET_SIZE(v[0]) == 0 ||
        (PyTuple_GET_SIZE(v[0]) == 1 && PyTuple_GET_ITEM(v[0], 0) == Py_None)) {
        Py_DECREF(v[0]);
        Py_RETURN_NONE;
    }
    PyObject *wish = one_or_all(v[0]);
    rc = asn_shape_from_py(wish, shape, &ndim);
    Py_DECREF(wish);
    if (rc < 0) return NULL;
    if (asn_bool_from_py(v[1], &refcheck) < 0) return NULL;
    const asn_layout *l = &asn_of(self)->layout;
    int64_t wanted = 1;
    for (int d = 0; d < ndim && wanted >= 0; d++)
        if (shape[d] < 0 || __builtin_mul_overflow(wanted, shape[d], &wanted))
            wanted = -1;                                      /* told later */
    if (wanted == l->size && (l->flags & ASN_C_CONTIGUOUS)) { /* another shape, no more */
        asn_layout same;
        bool possible;
        ASN_PY_TRY(asn_view_reshape(&same, l, ndim, shape, 'C', &possible));
        asn_layout_fini(&asn_of(self)->layout);
        asn_layout_move(&asn_of(self)->layout, &same);
        Py_RETURN_NONE;
    }
    if (((asn_ndarray *)self)->base) {
        PyErr_SetString(PyExc_ValueError,
                        "cannot resize this array: it does not own its data");
        return NULL;
    }
    /* Elements in gaps would be lost: NumPy wants one segment. */
    if (!(l->flags & (ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS))) {
        PyErr_SetString(PyExc_ValueError, "resize only works on single-segment arrays");
        return NULL;
    }
    /* The caller's variable and the call hold one reference each. */
    if (refcheck && (Py_REFCNT(self) > 2 || ((asn_ndarray *)self)->weakrefs)) {
        PyErr_SetString(
            PyExc_ValueError,
            "cannot resize an array that references or is referenced\nby another "
            "array in this way.\nUse the np.resize function or refcheck=False");
        return NULL;
    }
    /* Nor may another array have the buffer; recorded operations may, they keep it
     * themselves. */
    if (refcheck &&
        atomic_load(&asn_of(self)->buffer->refs) - asn_of(self)->buffer->trace_refs > 1) {
        PyErr_SetString(
            PyExc_ValueError,
            "cannot resize an array that references or is referenced\nby another "
            "array in this way.\nUse the np.resize function or refcheck=False");
        return NULL;
    }
    if (resize_to(self, ndim, shape) < 0) return NULL;
    Py_RETURN_NONE;
}
