/* L3 python: the attributes of ndarray.
 *
 * Attributes that only describe the array touch no device. Those that expose memory
 * (data, ctypes, __array_interface__, __array_struct__) wait for its elements and keep
 * the array alive through the object they return.
 *
 * shape, strides and dtype can be assigned: the array gets another layout over the same
 * buffer, with what NumPy checks before. Every getter returns a new reference; `unused`
 * is the closure, of which none is set. A value of NULL is `del a.name`, which no array
 * allows. */
#include "python/convert.h"

#define LAYOUT(self) (&asn_of(self)->layout)

/* (3, 4): the extents as Python ints. */
static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return asn_shape_to_py(LAYOUT(self)->ndim, LAYOUT(self)->shape);
}

/* Puts a new layout under the same buffer; takes it. */
static void replace_layout(PyObject *self, asn_layout *layout) {
    asn_layout_fini(LAYOUT(self));
    asn_layout_move(LAYOUT(self), layout);
}

/* -1 with NumPy's AttributeError for a deletion. */
static int no_delete(PyObject *value, const char *name) {
    if (value) return 0;
    PyErr_Format(PyExc_AttributeError, "cannot delete array %s", name);
    return -1;
}

/* Assigning shape and dtype is deprecated from NumPy 2.5 on. -1: the warning is an error.
 */
static int warn_of_assignment(const char *text) {
    return asn_numpy_2_5() ? PyErr_WarnEx(PyExc_DeprecationWarning, text, 1) : 0;
}

/* a.shape = ...: a view's rules, row-major, and never a copy. */
static int set_shape(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (no_delete(value, "shape") < 0 ||
        warn_of_assignment(
            "Setting the shape on a NumPy array has been deprecated in NumPy 2.5.\n"
            "As an alternative, you can create a new view using np.reshape (with "
            "copy=False if needed).") < 0)
        return -1;
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    bool possible = false;
    asn_layout view;
    if (asn_shape_from_py(value, shape, &ndim) < 0) return -1;
    ASN_PY_TRY_INT(asn_view_reshape(&view, LAYOUT(self), ndim, shape, 'C', &possible));
    if (!possible) {
        PyErr_SetString(
            PyExc_AttributeError,
            "Incompatible shape for in-place modification. Use `.reshape()` to "
            "make a copy with the desired shape.");
        return -1;
    }
    replace_layout(self, &view);
    return 0;
}

/* Bytes to step in each dimension; NumPy's unit, and the core's. */
static PyObject *get_strides(PyObject *self, void *unused) {
    (void)unused;
    return asn_shape_to_py(LAYOUT(self)->ndim, LAYOUT(self)->strides);
}

/* a.strides = ...: deprecated by NumPy, which warns first. The memory is the whole
 * buffer, so strides may lead out of the array, but not out of what it is part of. */
static int set_strides(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (no_delete(value, "strides") < 0 ||
        PyErr_WarnEx(PyExc_DeprecationWarning,
                     "Setting the strides on a NumPy array has been deprecated in NumPy "
                     "2.4.\nAs an alternative, you can create a new view using "
                     "np.lib.stride_tricks.as_strided.",
                     1) < 0)
        return -1;
    asn_layout *l = LAYOUT(self), view;
    int64_t strides[ASN_MAX_DIMS], low, high;
    int n;
    if (asn_shape_from_py(value, strides, &n) < 0) return -1;
    if (n != l->ndim) {
        PyErr_Format(PyExc_ValueError, "strides must be same length as shape (%d)",
                     l->ndim);
        return -1;
    }
    ASN_PY_TRY_INT(asn_layout_init_strided(&view, (asn_dtype)l->dtype, n, l->shape,
                                           strides, l->offset, l->flags & ASN_WRITEABLE));
    asn_layout_inherit_truth(&view, l);
    /* Bytes of the buffer that the elements would lie in, from low to before high. */
    asn_layout_bounds(&view, &low, &high);
    if (low < 0 || high > asn_of(self)->buffer->nbytes) {
        asn_layout_fini(&view);
        PyErr_SetString(PyExc_ValueError,
                        "strides is not compatible with available memory");
        return -1;
    }
    replace_layout(self, &view);
    return 0;
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return asn_descr_object(asn_dtype_of(self));
}

/* a.dtype = ...: as view(dtype), in place. None is float64. */
static int set_dtype(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    asn_dtype dtype;
    asn_layout view;
    if (no_delete(value, "dtype") < 0 ||
        warn_of_assignment(
            "Setting the dtype on a NumPy array has been deprecated in NumPy 2.5.\n"
            "Instead of changing the dtype on an array x, create a new array with "
            "x.view(new_dtype)") < 0 ||
        asn_dtype_from_py(value, &dtype) < 0)
        return -1;
    if (dtype == ASN_DTYPE_NONE) dtype = ASN_F64;
    ASN_PY_TRY_INT(asn_view_dtype(&view, LAYOUT(self), dtype));
    replace_layout(self, &view);
    return 0;
}

static PyObject *get_ndim(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(LAYOUT(self)->ndim);
}

static PyObject *get_size(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLongLong(LAYOUT(self)->size);
}

static PyObject *get_itemsize(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(asn_itemsize(asn_dtype_of(self)));
}

/* Elements times their size: a view that repeats elements counts each of them. */
static PyObject *get_nbytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLongLong(asn_layout_nbytes(LAYOUT(self)));
}

static PyObject *get_T(PyObject *self, void *unused) {
    (void)unused;
    asn_layout view;
    ASN_PY_TRY(asn_view_transpose(&view, LAYOUT(self), NULL));
    return asn_ndarray_view(self, &view, true);
}

/* The array API's mT: a stack of matrices, each transposed. */
static PyObject *get_mT(PyObject *self, void *unused) {
    (void)unused;
    int ndim = LAYOUT(self)->ndim, perm[ASN_MAX_DIMS];
    if (ndim < 2) {
        PyErr_SetString(PyExc_ValueError, "matrix transpose with ndim < 2 is undefined");
        return NULL;
    }
    for (int i = 0; i < ndim; i++)
        perm[i] = i;
    perm[ndim - 1] = ndim - 2;
    perm[ndim - 2] = ndim - 1;
    asn_layout view;
    ASN_PY_TRY(asn_view_transpose(&view, LAYOUT(self), perm));
    return asn_ndarray_view(self, &view, true);
}

static PyObject *get_flags(PyObject *self, void *unused) {
    (void)unused;
    return asn_flags_new(self);
}

static PyObject *get_base(PyObject *self, void *unused) {
    (void)unused;
    PyObject *base = ((asn_ndarray *)self)->base;
    return Py_NewRef(base ? base : Py_None);
}

/* a.data: a memoryview, by the buffer protocol, which lends the memory. */
static PyObject *get_data(PyObject *self, void *unused) {
    (void)unused;
    return PyMemoryView_FromObject(self);
}

/* The real (0) or imaginary (1) part: of complex arrays a view; the real part of a real
 * array is itself. */
static PyObject *get_part(PyObject *self, int part) {
    asn_layout view;
    if (asn_is_complex(asn_dtype_of(self))) {
        ASN_PY_TRY(asn_view_part(&view, LAYOUT(self), part));
        return asn_ndarray_view(self, &view, true);
    }
    if (part == 0) return Py_NewRef(self);
    /* The imaginary part of a real array is a new read-only array of zeros. */
    asn_operand zero = {NULL, {ASN_I64, {0}}, 'i'};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    int flags = LAYOUT(self)->flags;
    bool fortran = (flags & ASN_F_CONTIGUOUS) && !(flags & ASN_C_CONTIGUOUS);
    asn_status status = asn_full(&r->array, asn_dtype_of(self), LAYOUT(self)->ndim,
                                 LAYOUT(self)->shape, fortran ? 'F' : 'C', &zero);
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    r->array.layout.flags &= (uint8_t)~ASN_WRITEABLE;
    return asn_subclass_keep((PyObject *)r, self);
}

static PyObject *get_real(PyObject *self, void *unused) {
    (void)unused;
    return get_part(self, 0);
}

static PyObject *get_imag(PyObject *self, void *unused) {
    (void)unused;
    return get_part(self, 1);
}

/* a.real = value, a.imag = value: an assignment to the view of that part. */
static int set_part(PyObject *self, PyObject *value, int part) {
    if (no_delete(value, part ? "imag" : "real") < 0) return -1;
    if (part == 1 && !asn_is_complex(asn_dtype_of(self))) {
        PyErr_SetString(PyExc_TypeError, "array does not have imaginary part to set");
        return -1;
    }
    PyObject *target = get_part(self, part);
    if (!target) return -1;
    int rc = asn_ndarray_ass_subscript(target, Py_Ellipsis, value);
    Py_DECREF(target);
    return rc;
}

static int set_real(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    return set_part(self, value, 0);
}

static int set_imag(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    return set_part(self, value, 1);
}

/* a.flat: a new iterator each time, at the beginning. */
static PyObject *get_flat(PyObject *self, void *unused) {
    (void)unused;
    return asn_flatiter_new(self);
}

/* a.flat = value: all elements, the value repeated as often as needed. */
static int set_flat(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    if (no_delete(value, "flat") < 0) return -1;
    PyObject *flat = asn_flatiter_new(self);
    if (!flat) return -1;
    PyObject *all = PySlice_New(NULL, NULL, NULL);
    int rc = all ? PyObject_SetItem(flat, all, value) : -1;
    Py_XDECREF(all);
    Py_DECREF(flat);
    return rc;
}

/* "cpu", or the kind and number of the device that was in use when the array was made:
 * arrays do not move between devices. */
static PyObject *get_device(PyObject *self, void *unused) {
    (void)unused;
    int device = 0;
    ASN_PY_TRY(asn_device_get(&device)); /* opens it: only then is the kind known */
    if (!asn_of(self)->buffer->shared)   /* memory of the host is every device's */
        device = asn_of(self)->buffer->device;
    /* NumPy's word for the one device that it knows */
    if (strcmp(asn_device_kind(), "cpu") == 0 && device == 0)
        return PyUnicode_FromString("cpu");
    return PyUnicode_FromFormat("%s:%d", asn_device_kind(), device);
}

/* An attribute of the NumPy array over the same memory that tells its address, which
 * nobody gives back: so the memory is exported for good, not lent. An exception that the
 * buffer protocol had to drop is raised here, as NumPy asks these attributes next. */
static PyObject *host_attribute(PyObject *self, const char *name) {
    void *data;
    if (asn_host_check_dropped(self) < 0) return NULL;
    if (asn_of(self)->layout.size && asn_device_host_access())
        ASN_PY_TRY(asn_array_export(asn_of(self), &data));
    PyObject *host = asn_host_view(self);
    PyObject *value = host ? PyObject_GetAttrString(host, name) : NULL;
    Py_XDECREF(host);
    return value;
}

static PyObject *get_ctypes(PyObject *self, void *unused) {
    (void)unused;
    return host_attribute(self, "ctypes");
}

static PyObject *get_interface(PyObject *self, void *unused) {
    (void)unused;
    return host_attribute(self, "__array_interface__");
}

static PyObject *get_struct(PyObject *self, void *unused) {
    (void)unused;
    return host_attribute(self, "__array_struct__");
}

/* NumPy's arrays have the priority 0 too; a higher one wins the result's class. */
static PyObject *get_priority(PyObject *self, void *unused) {
    (void)self, (void)unused;
    return PyFloat_FromDouble(0.0);
}

PyGetSetDef asn_ndarray_getset[] = {
    {"shape", get_shape, set_shape, "Tuple of extents; assigning reshapes in place.",
     NULL},
    {"strides", get_strides, set_strides, "Bytes to step in each dimension.", NULL},
    {"dtype", get_dtype, set_dtype, "NumPy's dtype object of the elements.", NULL},
    {"ndim", get_ndim, NULL, "Number of dimensions.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"T", get_T, NULL, "View with the axes reversed.", NULL},
    {"mT", get_mT, NULL, "View with the last two axes swapped.", NULL},
    {"flags", get_flags, NULL, "Memory layout flags.", NULL},
    {"base", get_base, NULL, "The object whose memory this array shows, or None.", NULL},
    {"data", get_data, NULL, "memoryview of the elements.", NULL},
    {"real", get_real, set_real, "View of the real parts.", NULL},
    {"imag", get_imag, set_imag, "View of the imaginary parts.", NULL},
    {"flat", get_flat, set_flat, "Iterator over the elements in row-major order.", NULL},
    {"device", get_device, NULL, "Name of the device that holds the elements.", NULL},
    {"ctypes", get_ctypes, NULL, "ctypes access to the elements on the host.", NULL},
    {"__array_interface__", get_interface, NULL, "Array protocol, Python side.", NULL},
    {"__array_struct__", get_struct, NULL, "Array protocol, C side.", NULL},
    {"__array_priority__", get_priority, NULL, "Array priority.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
