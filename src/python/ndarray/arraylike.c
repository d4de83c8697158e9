/* L3 python: array-likes -> arrays and operands.
 *
 * Order of trial: our arrays, NumPy arrays (adopted without a copy where the device
 * reaches host memory), Python and NumPy scalars, lists of plain numbers, lists of our
 * arrays, then everything NumPy itself can read (sequences, buffers, __array__, ...)
 * through one NumPy array on the host, so that what NumPy accepts is accepted and its
 * errors are NumPy's. A small array is copied rather than adopted: a copy of 1 KB costs
 * less than the bookkeeping of a foreign owner.
 *
 * Adopted memory is never the library's to free: the object that lent it is kept until
 * the core's buffer ends, on whatever thread that happens. dtypes that the device lacks
 * end in HostDtypeError (host_export.c), not in an array of objects. */
#include "python/convert.h"
#include "python/ndarray/methods.h"

enum {
    COPY_BELOW = 4096
}; /* bytes; fresh host arrays under this are copied into the pool */

/* Called by any thread, once, when the last user of adopted memory is gone. */
static void release_object(void *object) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)object);
    PyGILState_Release(gil);
}

/* The elements as an array of the device's own memory; `order` is the copy's order in
 * memory. A bool array with bytes other than 0 and 1 is marked as non-canonical. */
static PyObject *copy_numpy(PyArrayObject *a, asn_dtype dtype, char order) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS];
    for (int i = 0; i < PyArray_NDIM(a); i++)
        shape[i] = PyArray_DIM(a, i), strides[i] = PyArray_STRIDE(a, i);
    asn_status status = asn_array_from_host_as(&r->array, dtype, PyArray_NDIM(a), shape,
                                               strides, PyArray_DATA(a), order);
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    asn_truth_mark(&r->array, PyArray_DATA(a), strides);
    return (PyObject *)r;
}

/* The lowest and one past the highest byte of a's elements, relative to PyArray_DATA. */
static void numpy_bounds(PyArrayObject *a, int64_t *low, int64_t *high) {
    *low = 0;
    *high = PyArray_SIZE(a) ? PyArray_ITEMSIZE(a) : 0;
    for (int i = 0; i < PyArray_NDIM(a) && *high; i++) {
        int64_t reach = (PyArray_DIM(a, i) - 1) * PyArray_STRIDE(a, i);
        if (reach < 0)
            *low += reach;
        else
            *high += reach;
    }
}

/* An array over a's own memory, which keeps `a` until the core lets go of it. The buffer
 * begins at the lowest byte that an element has, so that negative strides stay inside it,
 * or before that, where an element may begin: a layout's offset says what is not aligned.
 * `fresh`: the result shows no base, that is, it counts as owning its memory. */
static PyObject *adopt_numpy(PyArrayObject *a, asn_dtype dtype, bool fresh) {
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS], low, high;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        shape[i] = PyArray_DIM(a, i), strides[i] = PyArray_STRIDE(a, i);
    numpy_bounds(a, &low, &high);
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    int64_t alignment = asn_dtype_table[dtype].alignment;
    low -= (int64_t)((uintptr_t)(PyArray_BYTES(a) + low) & (uintptr_t)(alignment - 1));
    asn_layout layout;
    asn_status status = asn_layout_init_strided(&layout, dtype, PyArray_NDIM(a), shape,
                                                strides, -low, PyArray_ISWRITEABLE(a));
    if (status == ASN_OK) {
        Py_INCREF(a);
        status = asn_array_adopt(&r->array, &layout, PyArray_BYTES(a) + low, high - low,
                                 release_object, a);
        if (status != ASN_OK) Py_DECREF(a);
    }
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    if (!fresh) r->base = Py_NewRef(a);
    asn_truth_mark(&r->array, PyArray_DATA(a), strides);
    return (PyObject *)r;
}

PyObject *asn_from_numpy(PyObject *object, bool copy, bool fresh) {
    PyArrayObject *a = (PyArrayObject *)object;
    asn_dtype dtype = asn_dtype_from_descr(PyArray_DESCR(a));
    if (dtype == ASN_DTYPE_NONE && PyArray_DESCR(a)->type_num <= NPY_CDOUBLE &&
        PyArray_DESCR(a)->type_num != NPY_LONGDOUBLE && !PyArray_ISNOTSWAPPED(a)) {
        /* Foreign byte order: NumPy brings it into ours. */
        PyObject *native =
            PyArray_FromArray(a, PyArray_DescrFromType(PyArray_TYPE(a)), 0);
        PyObject *r = native ? asn_from_numpy(native, copy, true) : NULL;
        Py_XDECREF(native);
        return r;
    }
    /* A dtype of no kind that the device has: the conversion raises NumPy's or
     * HostDtypeError. */
    if (dtype == ASN_DTYPE_NONE) {
        if (asn_dtype_from_py((PyObject *)PyArray_DESCR(a), &dtype) < 0) return NULL;
    }
    bool small = PyArray_NBYTES(a) < COPY_BELOW;
    if (copy) return copy_numpy(a, dtype, 'C');
    if (fresh && small) return copy_numpy(a, dtype, 'K');
    return adopt_numpy(a, dtype, fresh);
}

/* The NumPy array was only the way to another object's memory, which is the base. */
void asn_base_pass_on(PyObject *array, PyObject *host) {
    asn_ndarray *r = (asn_ndarray *)array;
    PyObject *beyond = PyArray_BASE((PyArrayObject *)host);
    if (r->base == host && beyond) Py_SETREF(r->base, Py_NewRef(beyond));
}

/* A 0-d array of the element, cast to dtype unless that is NONE, with a cast's warnings
 * (inf or NaN to an integer raises the exception "invalid"). */
static PyObject *from_scalar(const asn_scalar *scalar, asn_dtype dtype) {
    asn_scalar value = *scalar;
    if (dtype != ASN_DTYPE_NONE && dtype != (asn_dtype)scalar->dtype)
        ASN_PY_TRY(asn_scalar_convert(scalar, dtype, &value));
    if (asn_fp_check() < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_array_from_host(&r->array, (asn_dtype)value.dtype, 0, NULL,
                                            NULL, value.bytes);
    if (status == ASN_OK) return (PyObject *)r;
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* NumPy's ValueError of copy=False; NULL, so that a caller can return it. */
static PyObject *cannot_avoid_copy(void) {
    PyErr_SetString(
        PyExc_ValueError,
        "Unable to avoid copy while creating an array as requested.\nIf using "
        "`np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy "
        "when needed (no behavior change in NumPy 1.x).\nFor more details, see "
        "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-"
        "the-copy-keyword.");
    return NULL;
}

/* Whether an array of the object may be a view of memory that it has. */
static bool lends_memory(PyObject *obj) {
    if (PyArray_IsScalar(obj, Generic) || PyBytes_Check(obj) || PyUnicode_Check(obj))
        return false;
    return PyObject_CheckBuffer(obj) || PyObject_HasAttr(obj, asn_py.s_array) ||
           PyObject_HasAttrString(obj, "__array_interface__") ||
           PyObject_HasAttrString(obj, "__array_struct__");
}

/* A NumPy array, of no subclass, of a dtype that the device has. */
static bool is_device_array(PyObject *obj) {
    return PyArray_CheckExact(obj) &&
           asn_dtype_from_descr(PyArray_DESCR((PyArrayObject *)obj)) != ASN_DTYPE_NONE;
}

/* Whether the error set says that a function takes no copy=. */
static bool is_unexpected_copy(void) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    bool yes = utf8 && strstr(utf8, "unexpected keyword argument 'copy'");
    Py_XDECREF(text);
    PyErr_Restore(type, value, trace);
    return yes;
}

/* method(obj, copy=...), or, after a warning, method(obj) where it takes no copy=:
 * *trusted tells which. */
static PyObject *call_array_method(PyObject *method, PyObject *obj, int copy,
                                   bool *trusted) {
    /* Without copy= (-1: if needed) the method is called as NumPy calls it, with nothing.
     */
    *trusted = copy >= 0;
    if (copy < 0) return PyObject_CallOneArg(method, obj);
    PyObject *names = Py_BuildValue("(s)", "copy");
    PyObject *args[2] = {obj, copy ? Py_True : Py_False};
    PyObject *r = names ? PyObject_Vectorcall(method, args, 1, names) : NULL;
    Py_XDECREF(names);
    if (r || !is_unexpected_copy()) return r;
    PyErr_Clear();
    *trusted = false;
    if (PyErr_WarnEx(PyExc_DeprecationWarning,
                     "__array__ implementation doesn't accept a copy keyword, so passing "
                     "copy=False failed. __array__ must implement 'dtype' and 'copy' "
                     "keyword arguments. To learn more, see the migration guide "
                     "https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
                     "#adapting-to-changes-in-the-copy-keyword",
                     1) < 0)
        return NULL;
    /* NumPy goes on without the keyword only where a copy was allowed anyway. */
    return copy ? PyObject_CallOneArg(method, obj) : cannot_avoid_copy();
}

/* What an object's __array__ gives, called here and only once: an array of ours, which
 * NumPy would refuse, or NumPy's. NULL without an error where there is no such method. */
static PyObject *from_array_method(PyObject *obj, int copy, bool *trusted) {
    /* Lists, tuples, texts and NumPy scalars have no __array__ that NumPy would ask; the
     * look-up is on the type, as for every special method. */
    PyTypeObject *type = Py_TYPE(obj);
    if (type == &PyList_Type || type == &PyTuple_Type || PyUnicode_Check(obj) ||
        PyArray_IsScalar(obj, Generic))
        return NULL;
    PyObject *method = PyObject_GetAttr((PyObject *)type, asn_py.s_array);
    if (!method) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *result = call_array_method(method, obj, copy, trusted);
    Py_DECREF(method);
    if (!result || asn_is_ndarray(result) || PyArray_Check(result)) return result;
    *trusted = false;
    if (result != Py_NotImplemented)
        PyErr_SetString(PyExc_ValueError,
                        "object __array__ method not producing an array");
    Py_DECREF(result);
    return NULL;
}

/* Has the object an __array__ that NumPy would call, and nothing that it would ask first?
 */
static bool gives_array(PyObject *o) {
    PyTypeObject *type = Py_TYPE(o);
    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
        type == &PyBool_Type || o == Py_None || asn_is_ndarray(o) || PyArray_Check(o) ||
        PyArray_IsScalar(o, Generic) || PyObject_CheckBuffer(o))
        return false;
    return PyObject_HasAttr((PyObject *)type, asn_py.s_array) &&
           !PyObject_HasAttrString((PyObject *)type, "__array_interface__");
}

/* Whether a nested sequence has an item, at any depth up to NumPy's limit of dimensions,
 * whose __array__ must be called here first. Recursive with is_array_item. */
static bool has_array_items(PyObject *list, int depth);

static bool is_array_item(PyObject *item, int depth) {
    if (!PyList_CheckExact(item) && !PyTuple_CheckExact(item)) return gives_array(item);
    return depth < NPY_MAXDIMS && has_array_items(item, depth + 1);
}

static bool has_array_items(PyObject *list, int depth) {
    PyObject *items = asn_steady_items(list);
    bool has = false;
    if (!items) PyErr_Clear();
    for (Py_ssize_t i = 0; items && !has && i < PySequence_Fast_GET_SIZE(items); i++)
        has = is_array_item(PySequence_Fast_GET_ITEM(items, i), depth);
    Py_XDECREF(items);
    return has;
}

/* The sequence with what the __array__ of its items give, which may be arrays of ours, as
 * NumPy's: NumPy would refuse those, and a second call of an item that is such a sequence
 * itself would double the calls at every level. Any other object as it is; new reference.
 */
static PyObject *with_host_items(PyObject *obj) {
    if (!(PyList_CheckExact(obj) || PyTuple_CheckExact(obj)) || !has_array_items(obj, 1))
        return Py_NewRef(obj);
    return asn_support_call("host_items", &obj, 1);
}

/* (Contract in convert.h.) The error that is set becomes HostDtypeError. */
bool asn_integer_is_object(PyObject *obj) {
    if (!PyLong_Check(obj) || !PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Format(asn_py.host_dtype, "Python integer %R is an object in an array", obj);
    return true;
}

/* An array of what NumPy makes of an object, adopted or copied; takes the object. dtype
 * NONE: the one that NumPy finds. */
static PyObject *from_host_object(PyObject *obj, asn_dtype dtype) {
    PyArray_Descr *descr = dtype == ASN_DTYPE_NONE ? NULL : asn_descr(dtype);
    PyObject *host = NULL;
    if (dtype == ASN_DTYPE_NONE || descr) {
        Py_XINCREF(descr); /* taken */
        /* FORCECAST: what an __array__ gave is cast as asarray(x, dtype) casts x. */
        host = PyArray_FromAny(obj, descr, 0, 0, NPY_ARRAY_FORCECAST, NULL);
    }
    Py_DECREF(obj);
    if (!host) return NULL;
    /* A list gives a fresh array; an exporter of a buffer gives a view of its memory. */
    bool fresh = PyArray_CHKFLAGS((PyArrayObject *)host, NPY_ARRAY_OWNDATA) &&
                 Py_REFCNT(host) == 1;
    PyObject *r = asn_from_numpy(host, false, fresh);
    if (r) asn_base_pass_on(r, host);
    Py_DECREF(host);
    return r;
}

/* Everything that is neither ours nor a NumPy array. *trusted: an __array__ was told of
 * copy= and has made the copy itself. */
static PyObject *from_other(PyObject *obj, asn_dtype dtype, int copy, bool *trusted) {
    asn_operand scalar;
    int known = asn_scalar_operand(obj, &scalar);
    /* An integer beyond int64 and uint64: NumPy makes an object of it, so without a dtype
     * the HostDtypeError stands; with one it is packed, which may raise OverflowError. */
    if (known < 0 && asn_integer_is_object(obj)) {
        asn_scalar value;
        if (dtype == ASN_DTYPE_NONE) return NULL;
        PyErr_Clear();
        return asn_scalar_pack(obj, dtype, &value) < 0 ? NULL
                                                       : from_scalar(&value, dtype);
    }
    if (known < 0) return NULL;
    /* Weak scalars (Python's) are packed into the dtype with NumPy's bounds checks;
     * NumPy's own scalars are cast, as an array of them would be. */
    if (known) {
        asn_scalar value;
        if (dtype == ASN_DTYPE_NONE || !scalar.weak)
            return from_scalar(&scalar.scalar, dtype);
        return asn_scalar_pack(obj, dtype, &value) < 0 ? NULL
                                                       : from_scalar(&value, dtype);
    }
    /* Lists of Python numbers are by far the most frequent: read without NumPy in
     * between. */
    PyObject *numbers = asn_from_numbers(obj, dtype);
    if (numbers || PyErr_Occurred()) return numbers;
    if (PyRange_Check(obj)) {
        PyObject *list = PySequence_List(obj);
        numbers = list ? asn_from_numbers(list, dtype) : NULL;
        Py_XDECREF(list);
        if (numbers || PyErr_Occurred()) return numbers;
    }
    /* A list of our arrays is stacked on the device; NumPy would fetch each to the host.
     */
    PyObject *rows = asn_stacked_items(obj);
    if (rows && dtype != ASN_DTYPE_NONE) Py_SETREF(rows, asn_asarray_dtype(rows, dtype));
    if (rows || PyErr_Occurred()) return rows;
    /* From here on the object's own code may run, once: its __array__, or what NumPy
     * calls. */
    PyObject *own = from_array_method(obj, copy, trusted);
    if (own && copy >= 0 && is_device_array(own))
        Py_SETREF(own, asn_from_numpy(own, copy == 1 && !*trusted, false));
    if (own && PyArray_Check(own)) {
        *trusted = false;
        return from_host_object(own, dtype);
    }
    if (own && dtype != ASN_DTYPE_NONE) Py_SETREF(own, asn_asarray_dtype(own, dtype));
    if (own || PyErr_Occurred()) return own;
    PyObject *items = with_host_items(obj);
    return items ? from_host_object(items, dtype) : NULL;
}

/* A copy of exactly ndarray, of dtype (NONE: self's own) and in that order, with a cast's
 * floating-point exceptions reported. Unlike asn_copy_cast it takes NONE. */
static PyObject *cast_copy(PyObject *self, asn_dtype dtype, char order) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    if (dtype == ASN_DTYPE_NONE) dtype = asn_dtype_of(self);
    asn_status status = asn_copy(&r->array, asn_of(self), dtype, order);
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    if (asn_fp_check() == 0) return (PyObject *)r;
    Py_DECREF(r);
    return NULL;
}

/* Whether a copy is needed for order=: 'K' and 'A' are content with any layout. */
static bool order_holds(const asn_layout *l, char order) {
    if (order == 'C') return l->flags & ASN_C_CONTIGUOUS;
    if (order == 'F') return l->flags & ASN_F_CONTIGUOUS;
    return true;
}

/* self with leading axes of extent 1 up to ndmin; takes self. */
static PyObject *pad_ndim(PyObject *self, int ndmin) {
    const asn_layout *l = &asn_of(self)->layout;
    if (l->ndim >= ndmin) return self;
    asn_layout view;
    asn_status status = asn_view_expand(&view, l, ndmin, (1ULL << (ndmin - l->ndim)) - 1);
    PyObject *r =
        status == ASN_OK ? asn_ndarray_view(self, &view, true) : asn_raise(status);
    Py_DECREF(self);
    return r;
}

/* What np.array does to an array that was found or made: cast, order, copy, class, ndmin.
 * `owned`: self was made just now and nobody else sees it, so copy=True is met without
 * another copy. copy: as asn_copy_mode_from_py gives it. Takes self. */
static PyObject *finish_array(PyObject *self, asn_dtype dtype, int copy, char order,
                              int ndmin, bool subok, bool owned) {
    bool cast = dtype != ASN_DTYPE_NONE && dtype != asn_dtype_of(self);
    bool reorder = !order_holds(&asn_of(self)->layout, order);
    if (copy == 0 && (cast || reorder)) {
        Py_DECREF(self);
        return cannot_avoid_copy();
    }
    if (cast && asn_complex_check(asn_dtype_of(self), dtype) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    if (cast || reorder || (copy == 1 && !owned)) {
        PyObject *r = cast_copy(self, dtype, order);
        if (subok) r = asn_subclass_keep(r, self);
        Py_DECREF(self);
        if (!r) return NULL;
        self = r;
        /* subok=False drops the class, not the memory: a view of exactly ndarray. */
    } else if (!subok && !asn_is_ndarray_exact(self)) {
        PyObject *r = asn_subclass_plain(self);
        Py_DECREF(self);
        if (!r) return NULL;
        self = r;
    }
    return pad_ndim(self, ndmin);
}

/* Whether a NumPy array has a dtype that the device lacks in any byte order. */
static bool is_host_data(PyObject *obj) {
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)obj);
    return asn_dtype_from_descr(descr) == ASN_DTYPE_NONE &&
           (descr->type_num > NPY_CDOUBLE || descr->type_num == NPY_LONGDOUBLE) &&
           descr->type_num != NPY_HALF;
}

/* Such an array cast to one of ours, by NumPy. */
static PyObject *from_host_data(PyObject *obj, asn_dtype dtype) {
    PyObject *descr = asn_descr_object(dtype);
    PyObject *cast = descr ? PyObject_CallMethod(obj, "astype", "O", descr) : NULL;
    Py_XDECREF(descr);
    PyObject *r = cast ? asn_from_numpy(cast, false, true) : NULL;
    Py_XDECREF(cast);
    return r;
}

/* The general entry, np.array(obj, ...): each branch gives `self` and whether it is
 * owned; finish_array does the rest. The copy of a NumPy array is made at once where its
 * order is row-major anyway; otherwise finish_array copies into the order that is asked
 * for. */
PyObject *asn_array_from_any(PyObject *obj, asn_dtype dtype, int copy, char order,
                             int ndmin, bool subok) {
    if (ndmin > ASN_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "ndmin must be <= NPY_MAXDIMS (%d)", ASN_MAX_DIMS);
        return NULL;
    }
    if (asn_is_ndarray(obj)) {
        bool number = ((asn_ndarray *)obj)->is_number; /* which is no array to NumPy */
        if (number && copy == 0) return cannot_avoid_copy();
        return finish_array(Py_NewRef(obj), dtype, number ? 1 : copy, order, ndmin, subok,
                            false);
    }
    PyObject *self;
    bool owned;
    /* NumPy casts its long doubles, dates and texts itself; without a dtype they are an
     * error. */
    if (PyArray_Check(obj) && dtype != ASN_DTYPE_NONE && is_host_data(obj)) {
        self = copy == 0 ? asn_from_numpy(obj, false, false) : from_host_data(obj, dtype);
        owned = true;
    } else if (PyArray_Check(obj)) {
        bool cast = dtype != ASN_DTYPE_NONE &&
                    dtype != asn_dtype_from_descr(PyArray_DESCR((PyArrayObject *)obj));
        /* A cast copies anyway, so it may read the NumPy array in place. */
        bool keep_order = copy == 1 && !cast && (order == 'C' || order == 'F');
        self =
            asn_from_numpy(obj, copy == 1 && !cast && !keep_order && order == 'C', false);
        owned = false;
    } else {
        if (copy == 0 && !lends_memory(obj)) return cannot_avoid_copy();
        bool trusted = false;
        self = from_other(obj, dtype, copy, &trusted);
        /* What an object's __array__ gave may be the object's own array. */
        owned = trusted ||
                (self && ((asn_ndarray *)self)->base == NULL && Py_REFCNT(self) == 1);
    }
    return self ? finish_array(self, dtype, copy, order, ndmin, subok, owned) : NULL;
}

/* np.asarray without a dtype: nothing is copied that need not be. */
PyObject *asn_asarray(PyObject *obj) {
    if (asn_is_ndarray(obj)) return Py_NewRef(obj);
    if (PyArray_Check(obj)) return asn_from_numpy(obj, false, false);
    bool trusted = false;
    return from_other(obj, ASN_DTYPE_NONE, -1, &trusted);
}

PyObject *asn_truth_values(PyObject *array) {
    if (!array || ASN_LIKELY(!asn_is_noncanonical(asn_of(array)))) return array;
    asn_ndarray *r = asn_ndarray_alloc();
    PyObject *clean =
        r ? asn_ndarray_made(r, asn_truth_clean(&r->array, asn_of(array))) : NULL;
    Py_DECREF(array);
    return clean;
}

PyObject *asn_asarray_dtype(PyObject *obj, asn_dtype dtype) {
    return asn_array_from_any(obj, dtype, -1, 'K', 0, true);
}

/* The quick ones first: exact arrays, Python numbers, NumPy scalars. The rest becomes an
 * array, which `owner` keeps alive while the operation is recorded. */
int asn_operand_from_py(PyObject *obj, asn_operand *out, PyObject **owner) {
    *owner = NULL;
    int quick = asn_operand_quick(obj, out);
    if (quick) return quick < 0 ? -1 : 0;
    PyObject *array = asn_asarray(obj);
    if (!array) return -1;
    *owner = array;
    out->array = asn_of(array);
    out->weak = 0;
    return 0;
}

/* Writing through a NumPy array needs its own memory, so it is adopted whatever its size;
 * what cannot be adopted is a HostDtypeError, upon which NumPy does the whole call. */
int asn_out_from_py(PyObject *obj, asn_array **out, PyObject **owner) {
    *owner = NULL;
    if (asn_is_ndarray(obj)) {
        *out = asn_of(obj);
    } else if (PyArray_Check(obj)) {
        PyArrayObject *a = (PyArrayObject *)obj;
        asn_dtype dtype = asn_dtype_from_descr(PyArray_DESCR(a));
        if (dtype == ASN_DTYPE_NONE) {
            PyErr_Format(asn_py.host_dtype,
                         "out: a NumPy array of dtype %R cannot be written "
                         "in place: it must be native and of a dtype asnumpy has",
                         PyArray_DESCR(a));
            return -1;
        }
        *owner = adopt_numpy(a, dtype, false);
        if (!*owner) return -1;
        *out = asn_of(*owner);
    } else {
        PyErr_SetString(PyExc_TypeError, "return arrays must be of ArrayType");
        return -1;
    }
    if (!((*out)->layout.flags & ASN_WRITEABLE)) {
        Py_CLEAR(*owner);
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
        return -1;
    }
    return 0;
}

/* The caller may look at the NumPy array without asking us. What was adopted from it is a
 * copy on a device whose memory the host does not reach: it is written back. */
asn_status asn_out_written(PyObject *obj, const asn_array *out, PyObject *owner) {
    if (!owner) return ASN_OK;
    ASN_TRY(asn_array_sync(out));
    if (asn_device_host_access()) return ASN_OK;
    PyObject *host = asn_host_copy(owner);
    int rc = host ? PyArray_CopyInto((PyArrayObject *)obj, (PyArrayObject *)host) : -1;
    Py_XDECREF(host);
    return rc < 0 ? ASN_ERR_MEMORY : ASN_OK; /* the exception that is set says more */
}
