/* L3 python: ndarray.flat: iteration, indexing and assignment over the elements in
 * row-major order.
 *
 * Elements are addressed by their flat number, which is turned into an offset by dividing
 * through the shape: a view that does not flatten needs no copy to be read or written one
 * element at a time. Slices and arrays of indices gather from a flattened copy and
 * scatter through unravelled indices.
 *
 * Each element that is read is one synchronisation at most: what is recorded is run at
 * the first of them. Results are copies, never views, as NumPy's are; keys that are
 * neither integers, slices nor index arrays go through Python helpers (asnumpy._support).
 */
#include "python/docs.h"
#include "python/ndarray/methods.h"

typedef struct {
    PyObject_HEAD asn_ndarray *array; /* owns a reference */
    int64_t position;                 /* flat number of the element that comes next */
} asn_flatiter;

/* Offset in bytes, relative to the first element, of element k in row-major order. k is
 * within the size. */
static int64_t flat_offset(const asn_layout *l, int64_t k) {
    if (l->ndim == 1) return k * l->strides[0];
    int64_t offset = 0;
    for (int d = l->ndim - 1; d >= 0; d--) {
        offset += k % l->shape[d] * l->strides[d];
        k /= l->shape[d];
    }
    return offset;
}

static const asn_layout *layout_of(PyObject *self) {
    return &((asn_flatiter *)self)->array->array.layout;
}

/* Element k as a NumPy scalar; it waits for the array's value. */
static PyObject *flat_element(PyObject *self, int64_t k) {
    asn_scalar element;
    asn_array *a = &((asn_flatiter *)self)->array->array;
    ASN_PY_TRY(asn_array_get_item(a, flat_offset(&a->layout, k), &element));
    return asn_fp_check() < 0 ? NULL : asn_scalar_to_numpy(&element);
}

static PyObject *flat_next(PyObject *self) {
    asn_flatiter *it = (asn_flatiter *)self;
    if (it->position >= layout_of(self)->size) return NULL;
    return flat_element(self, it->position++);
}

static Py_ssize_t flat_length(PyObject *self) {
    return (Py_ssize_t)layout_of(self)->size;
}

/* A one-dimensional copy. */
static PyObject *flat_copy(PyObject *self) {
    return asn_flatten((PyObject *)((asn_flatiter *)self)->array, 'C', true);
}

/* *k: the flat number that an integer key means, negative ones counting from the end;
 * IndexError, without an axis in its text, as flat iterators raise it. */
static int flat_position(PyObject *self, PyObject *key, int64_t *k) {
    int64_t size = layout_of(self)->size, given;
    if (asn_int64_from_py(key, &given) < 0) return -1;
    *k = given < 0 ? given + size : given;
    if (*k >= 0 && *k < size) return 0;
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for size %lld",
                 (long long)given, (long long)size);
    return -1;
}

/* The only element of a tuple of one: flat indices are one-dimensional. */
static PyObject *plain_key(PyObject *key) {
    return PyTuple_Check(key) && PyTuple_GET_SIZE(key) == 1 ? PyTuple_GET_ITEM(key, 0)
                                                            : key;
}

/* An integer, or what has __index__, but no bool and no array (0-d arrays of integers
 * have __index__ too): those select as arrays. */
static bool is_integer_key(PyObject *key) {
    return PyIndex_Check(key) && !PyBool_Check(key) && !PyArray_IsScalar(key, Bool) &&
           !PyArray_Check(key) && !asn_is_ndarray(key);
}

/* A slice or an index array; errors and warnings are those of flat iterators. */
static PyObject *meant_key(PyObject *self, PyObject *key) {
    if (PySlice_Check(key) ||
        (asn_is_ndarray_exact(key) && asn_is_integer(asn_dtype_of(key))))
        return Py_NewRef(key);
    PyObject *size = PyLong_FromLongLong(layout_of(self)->size);
    PyObject *args[2] = {key, size};
    PyObject *r = size ? asn_support_call("flat_key", args, 2) : NULL;
    Py_XDECREF(size);
    return r;
}

/* flat[key]: a scalar for an integer, else a new one-dimensional array. */
static PyObject *flat_subscript(PyObject *self, PyObject *key) {
    int64_t k;
    key = plain_key(key);
    if (is_integer_key(key))
        return flat_position(self, key, &k) < 0 ? NULL : flat_element(self, k);
    PyObject *meant = meant_key(self, key);
    PyObject *flat =
        meant ? asn_flatten((PyObject *)((asn_flatiter *)self)->array, 'C', false) : NULL;
    PyObject *r = flat ? PyObject_GetItem(flat, meant) : NULL;
    if (r && (PySlice_Check(meant) || meant == Py_Ellipsis)) /* a view: not of a copy */
        Py_SETREF(r, asn_array_from_any(r, ASN_DTYPE_NONE, 1, 'C', 0, true));
    Py_XDECREF(flat);
    Py_XDECREF(meant);
    return r;
}

/* flat[key] = value. An integer sets one element in place; for other keys the helper
 * writes through unravelled indices, with NumPy's repetition of a value that is too
 * short. */
static int flat_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    asn_ndarray *array = ((asn_flatiter *)self)->array;
    int64_t k;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Cannot delete iterator elements");
        return -1;
    }
    if (!(array->array.layout.flags & ASN_WRITEABLE)) {
        PyErr_SetString(PyExc_ValueError, "underlying array is read-only");
        return -1;
    }
    key = plain_key(key);
    if (is_integer_key(key)) {
        asn_scalar element;
        int rc = flat_position(self, key, &k);
        /* Whatever the value's own error was: NumPy replaces it by this one. */
        if (rc == 0 &&
            asn_scalar_pack(value, asn_dtype_of((PyObject *)array), &element) < 0) {
            PyErr_SetString(PyExc_ValueError, "Error setting single item of array.");
            rc = -1;
        }
        if (rc < 0) return -1;
        ASN_PY_TRY_INT(asn_array_set_item(
            &array->array, flat_offset(&array->array.layout, k), &element));
        return asn_fp_check();
    }
    PyObject *args[3] = {(PyObject *)array, key, value};
    PyObject *done = asn_support_call("flat_assign", args, 3);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* __array__(dtype, copy): always a copy, so copy= has nothing to decide. */
static PyObject *flat_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    static asn_signature sig = {.name = "__array__",
                                .text = "dtype=None, /, *, copy=None"};
    PyObject *v[ASN_MAX_ARGS];
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    PyObject *copy = flat_copy(self);
    PyObject *r =
        copy ? PyObject_CallMethod(copy, "__array__", "O", v[0] ? v[0] : Py_None) : NULL;
    Py_XDECREF(copy);
    return r;
}

static PyObject *flat_copy_method(PyObject *self, PyObject *unused) {
    (void)unused;
    return flat_copy(self);
}

static PyObject *flat_base(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(((asn_flatiter *)self)->array);
}

static PyObject *flat_index(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLongLong(((asn_flatiter *)self)->position);
}

/* Coordinates of the element that comes next. */
static PyObject *flat_coords(PyObject *self, void *unused) {
    (void)unused;
    const asn_layout *l = layout_of(self);
    int64_t coords[ASN_MAX_DIMS], k = ((asn_flatiter *)self)->position;
    for (int d = l->ndim - 1; d >= 0; d--) {
        int64_t extent = l->shape[d] > 0 ? l->shape[d] : 1;
        /* Past the end the first coordinate shows it, as NumPy's does. */
        coords[d] = d ? k % extent : k;
        k /= extent;
    }
    return asn_shape_to_py(l->ndim, coords);
}

/* Comparisons are those of the elements, as a one-dimensional array. */
static PyObject *flat_richcompare(PyObject *self, PyObject *other, int op) {
    PyObject *copy = flat_copy(self);
    PyObject *r = copy ? PyObject_RichCompare(copy, other, op) : NULL;
    Py_XDECREF(copy);
    return r;
}

static void flat_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((asn_flatiter *)self)->array);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *asn_flatiter_new(PyObject *array) {
    asn_flatiter *self = (asn_flatiter *)asn_py.flatiter->tp_alloc(asn_py.flatiter, 0);
    if (self) self->array = (asn_ndarray *)Py_NewRef(array);
    return (PyObject *)self;
}

static PyMethodDef flat_methods[] = {
    {"copy", flat_copy_method, METH_NOARGS,
     "copy($self, /)\n--\n\nA one-dimensional copy."},
    {"__array__", (PyCFunction)(void (*)(void))flat_array, METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, /, *, copy=None)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef flat_getset[] = {
    {"base", flat_base, NULL, "The array that is iterated over.", NULL},
    {"index", flat_index, NULL, "Flat number of the next element.", NULL},
    {"coords", flat_coords, NULL, "Coordinates of the next element.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

int asn_flatiter_init_type(PyObject *module) {
    if (asn_docs_put("flatiter", flat_getset, flat_methods) < 0) return -1;
    PyType_Slot slots[] = {
        {Py_tp_dealloc, flat_dealloc},
        {Py_tp_methods, flat_methods},
        {Py_tp_getset, flat_getset},
        {Py_tp_iter, PyObject_SelfIter},
        {Py_tp_iternext, flat_next},
        {Py_tp_richcompare, flat_richcompare},
        {Py_tp_hash, PyObject_HashNotImplemented},
        {Py_mp_length, flat_length},
        {Py_mp_subscript, flat_subscript},
        {Py_mp_ass_subscript, flat_ass_subscript},
        {Py_tp_doc, (void *)asn_docs_find(NULL, "flatiter")},
        {0, NULL},
    };
    PyType_Spec spec = {"asnumpy.flatiter", sizeof(asn_flatiter), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    asn_py.flatiter = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!asn_py.flatiter) return -1;
    return PyModule_AddObjectRef(module, "flatiter", (PyObject *)asn_py.flatiter);
}
