/* L3 python: the type asnumpy.ndarray: making, wrapping, ending objects; its slots.
 *
 * An object embeds its asn_array, so an operation's result is written straight into it.
 * Objects come from a small free list: on a ten-element `a + b` the allocator is a tenth
 * of the time. Free-threaded interpreters have one for each thread, and do without ours.
 * A view's `base` is the object that owns the memory, as in NumPy: the base of a view of
 * a view is the first array. The elements themselves are kept alive by the core's buffer,
 * not by `base`.
 *
 * How a result is made, everywhere in this folder: asn_ndarray_alloc, a call of the core
 * that writes into its `array`, then asn_ndarray_finish (or _made, _done), which raises
 * what went wrong, reports floating-point exceptions, and turns 0-d results into scalars.
 * If the call fails, `array` was never made, and the object is dropped, not finalised. */
#include "python/docs.h"
#include "python/args.h"
#include "python/convert.h"

/* Objects of exactly ndarray that have ended, whole but for their array: the memory and
 * the type's reference stay. Guarded by the global lock. (One place more: no array has
 * 0.) */
enum { FREE_LIST = ASN_FREE_THREADED ? 0 : 64 };
static asn_ndarray *free_list[FREE_LIST + 1];
static int free_count;

/* An array that asn_array_fini accepts and any maker may overwrite: no dimensions, the
 * shape and strides where short ones lie (in the layout itself), no buffer. */
static inline void blank(asn_array *a) {
    a->layout.ndim = 0;
    a->layout.shape = a->layout.dims;
    a->layout.strides = a->layout.dims + ASN_INLINE_DIMS;
    a->buffer = NULL;
}

/* tp_alloc clears the object, so base, weakrefs and is_number are zero. */
asn_ndarray *asn_ndarray_alloc_type(PyTypeObject *type) {
    asn_ndarray *self = (asn_ndarray *)type->tp_alloc(type, 0);
    if (self) blank(&self->array);
    return self;
}

asn_ndarray *asn_ndarray_alloc(void) {
    if (ASN_UNLIKELY(!free_count)) return asn_ndarray_alloc_type(asn_py.ndarray);
    asn_ndarray *self = free_list[--free_count];
    blank(&self->array);
    /* Its type and the reference to it are still there: PyObject_Init costs a call more
     */
    Py_SET_REFCNT((PyObject *)self, 1);
    self->base = self->weakrefs = NULL;
    self->is_number = false;
    return self;
}

/* `array` may hold anything: it was never made, or is another's. */
void asn_ndarray_drop(asn_ndarray *r) {
    blank(&r->array);
    Py_DECREF(r);
}

/* The end of any instance; only those of exactly ndarray go to the free list, where they
 * keep their reference to the type. */
static void ndarray_dealloc(PyObject *object) {
    asn_ndarray *self = (asn_ndarray *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    asn_array_fini(&self->array);
    Py_XDECREF(self->base);
    if (ASN_LIKELY(FREE_LIST && type == asn_py.ndarray && free_count < FREE_LIST)) {
        free_list[free_count++] = self;
        return;
    }
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject *asn_ndarray_wrap(asn_array *a) {
    asn_ndarray *self = asn_ndarray_alloc();
    if (!self) {
        asn_array_fini(a);
        return NULL;
    }
    asn_array_move(&self->array, a);
    return (PyObject *)self;
}

/* Follows the chain of bases to the owner, as NumPy does: views do not keep views. It
 * stops where the class changes, so a subclass's view of an array keeps that array. */
void asn_ndarray_set_base(asn_ndarray *view, PyObject *owner) {
    while (asn_is_ndarray(owner)) {
        PyObject *next = ((asn_ndarray *)owner)->base;
        if (!next || Py_TYPE(next) != Py_TYPE(owner)) break;
        owner = next;
    }
    Py_INCREF(owner);
    Py_XSETREF(view->base, owner);
}

/* (Contract in core.h.) keep_type: a subclass's view is an instance of it, finalised. */
PyObject *asn_ndarray_view(PyObject *self, asn_layout *layout, bool keep_type) {
    bool exact = ASN_LIKELY(asn_is_ndarray_exact(self)) || !keep_type;
    asn_ndarray *view =
        exact ? asn_ndarray_alloc() : asn_ndarray_alloc_type(Py_TYPE(self));
    if (!view) {
        asn_layout_fini(layout);
        return NULL;
    }
    asn_array_view(&view->array, asn_of(self), layout);
    asn_ndarray_set_base(view, self);
    if (ASN_UNLIKELY(!exact) && asn_subclass_finalize((PyObject *)view, self) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return (PyObject *)view;
}

/* (Contract in core.h.) For a subclass the layout moves to an object of that class; the
 * reference to the buffer that the view had goes, as asn_ndarray_view takes its own. */
PyObject *asn_ndarray_view_made(PyObject *self, asn_status status, asn_array *view) {
    if (ASN_UNLIKELY(status != ASN_OK)) return asn_raise(status);
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(self))) {
        asn_layout layout;
        asn_layout_move(&layout, &view->layout);
        asn_buffer_release(view->buffer);
        return asn_ndarray_view(self, &layout, true);
    }
    PyObject *r = asn_ndarray_wrap(view);
    if (r) asn_ndarray_set_base((asn_ndarray *)r, self);
    return r;
}

/* While a function is traced (asnumpy.jit) an element is a 0-d array, but no view: later
 * writes to the array leave it as it is, as they do a NumPy scalar. Takes r. */
static PyObject *copy_of_element(PyObject *r) {
    asn_ndarray *copy = asn_ndarray_alloc();
    asn_status status =
        copy ? asn_copy(&copy->array, asn_of(r), asn_dtype_of(r), 'C') : ASN_OK;
    Py_DECREF(r);
    return copy ? asn_ndarray_finish(copy, status) : NULL;
}

/* (Contract in core.h.) Where arrays of no dimensions stand for scalars the array is
 * marked as a number, whose operators in place make another one. A scalar is a
 * synchronisation. */
PyObject *asn_ndarray_return(PyObject *r) {
    asn_ndarray *self = (asn_ndarray *)r;
    if (ASN_UNLIKELY(asn_capture_open()) && self->array.layout.ndim == 0 && self->base)
        return copy_of_element(r);
    if (self->array.layout.ndim != 0 || !asn_is_ndarray_exact(r)) return r;
    if (!asn_gives_scalars()) {
        self->is_number = true;
        return r;
    }
    asn_scalar element;
    asn_status status = asn_array_get_item(asn_of(r), 0, &element);
    Py_DECREF(r);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check() < 0 ? NULL : asn_scalar_to_numpy(&element);
}

/* (Contract in core.h.) r's elements may still be recorded; what is reported here are
 * exceptions of operations that have run. */
PyObject *asn_ndarray_finish_array(asn_ndarray *r) {
    if (asn_fp_check() == 0) return (PyObject *)r;
    Py_DECREF(r);
    return NULL;
}

/* (Contract in core.h.) Takes r, whatever comes of it. */
PyObject *asn_ndarray_finish(asn_ndarray *r, asn_status status) {
    if (ASN_UNLIKELY(status != ASN_OK)) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    if (ASN_UNLIKELY(asn_fp_check() < 0)) {
        Py_DECREF(r);
        return NULL;
    }
    return r->array.layout.ndim == 0 ? asn_ndarray_return((PyObject *)r) : (PyObject *)r;
}

/* ---- ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None) */

/* The constructor's arguments, as NumPy has them. */
static asn_signature new_sig = {
    .name = "ndarray",
    .text = "shape, dtype=None, buffer=None, offset=0, strides=None, order=None"};

/* Whether every element lies in the buffer: NumPy's own check overflows. low, high: bytes
 * relative to the buffer's begin that elements reach. -1: ValueError. */
static int check_inside(PyArrayObject *host, PyObject *buffer) {
    Py_buffer memory;
    if (PyObject_GetBuffer(buffer, &memory, PyBUF_SIMPLE) < 0) return -1;
    int64_t low = PyArray_BYTES(host) - (char *)memory.buf, high = low;
    bool inside = true;
    for (int d = 0; d < PyArray_NDIM(host); d++) {
        int64_t reach;
        inside &= asn_mul_size(PyArray_DIM(host, d) - 1, PyArray_STRIDE(host, d), &reach);
        int64_t *end = reach < 0 ? &low : &high;
        inside &= asn_add_size(*end, reach, end);
    }
    inside &= asn_add_size(high, PyArray_ITEMSIZE(host), &high);
    inside = PyArray_SIZE(host) == 0 || (inside && low >= 0 && high <= memory.len);
    if (!inside)
        PyErr_Format(PyExc_ValueError,
                     "ndarray: shape, strides and offset lead out of a buffer of %zd "
                     "bytes",
                     memory.len);
    PyBuffer_Release(&memory);
    return inside ? 0 : -1;
}

/* Over the memory of an object with the buffer protocol: NumPy reads it, we adopt the
 * NumPy array. v: the constructor's arguments. A negative offset is caught beforehand,
 * which NumPy would follow to memory before the buffer. */
static PyObject *new_over_buffer(PyObject **v) {
    PyObject *kwargs = PyDict_New();
    static const char *const names[] = {"shape",  "dtype",   "buffer",
                                        "offset", "strides", "order"};
    int64_t offset = 0;
    int rc = kwargs ? asn_int64_from_py(v[3], &offset) : -1;
    if (rc == 0 && offset < 0) { /* NumPy goes there */
        PyErr_Format(PyExc_ValueError, "ndarray: offset must not be negative, got %lld",
                     (long long)offset);
        rc = -1;
    }
    for (int i = 0; rc == 0 && i < 6; i++)
        if (v[i]) rc = PyDict_SetItemString(kwargs, names[i], v[i]);
    PyObject *host = NULL, *empty = PyTuple_New(0);
    if (rc == 0 && empty) host = PyObject_Call((PyObject *)&PyArray_Type, empty, kwargs);
    Py_XDECREF(kwargs);
    Py_XDECREF(empty);
    bool given = v[2] && v[2] != Py_None;
    bool good = host && (!given || check_inside((PyArrayObject *)host, v[2]) == 0);
    PyObject *self = good ? asn_from_numpy(host, false, false) : NULL;
    Py_XDECREF(host);
    return self;
}

/* self's array moved to a new instance of `type`; takes self, NULL passes. It is
 * finalised with None: the constructor has no parent. */
static PyObject *as_subtype(PyObject *self, PyTypeObject *type) {
    if (!self || Py_TYPE(self) == type) return self;
    asn_ndarray *object = asn_ndarray_alloc_type(type);
    if (object) {
        asn_array_move(&object->array, asn_of(self));
        blank(asn_of(self));
        object->base = Py_XNewRef(((asn_ndarray *)self)->base);
    }
    Py_DECREF(self);
    if (object && asn_subclass_finalize((PyObject *)object, Py_None) < 0)
        Py_CLEAR(object);
    return (PyObject *)object;
}

/* The constructor but for dtypes that the device lacks. Without a buffer the elements are
 * not initialised, as in np.empty. */
static PyObject *new_on_device(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *v[ASN_MAX_ARGS];
    if (asn_args_parse_tuple(&new_sig, args, kwargs, v) < 0) return NULL;
    if ((v[2] && v[2] != Py_None) || (v[4] && v[4] != Py_None))
        return as_subtype(new_over_buffer(v), type);
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    asn_dtype dtype;
    char order = 'C';
    if (asn_shape_from_py(v[0], shape, &ndim) < 0 ||
        asn_dtype_from_py(v[1], &dtype) < 0 || asn_order_from_py(v[5], &order) < 0)
        return NULL;
    if (dtype == ASN_DTYPE_NONE) dtype = ASN_F64;
    asn_ndarray *self = asn_ndarray_alloc_type(type);
    if (!self) return NULL;
    asn_status status =
        asn_array_new(&self->array, dtype, ndim, shape, order == 'F' ? 'F' : 'C');
    if (status != ASN_OK) {
        asn_ndarray_drop(self);
        return asn_raise(status);
    }
    if (type != asn_py.ndarray && asn_subclass_finalize((PyObject *)self, Py_None) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Of a dtype that the device lacks: NumPy's array. */
static PyObject *ndarray_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *self = new_on_device(type, args, kwargs);
    if (self || type != asn_py.ndarray || !PyErr_ExceptionMatches(asn_py.host_dtype))
        return self;
    PyErr_Clear();
    return PyObject_Call((PyObject *)&PyArray_Type, args, kwargs);
}

/* operator.concat; `+` adds. CPython calls the slot only for that function. */
static PyObject *ndarray_concat(PyObject *self, PyObject *other) {
    (void)self, (void)other;
    PyErr_SetString(PyExc_TypeError, "arrays have no sequence concatenation: use "
                                     "asnumpy.concatenate()");
    return NULL;
}

/* a[i] = value through the sequence protocol (PySequence_SetItem), which adds the length
 * to a negative index before the slot is called; the mapping slot wants it as it was. */
static int ndarray_set_item(PyObject *self, Py_ssize_t i, PyObject *value) {
    if (i < 0 && asn_of(self)->layout.ndim) /* the length has been added already */
        i -= (Py_ssize_t)asn_of(self)->layout.shape[0];
    PyObject *key = PyLong_FromSsize_t(i);
    int rc = key ? asn_ndarray_ass_subscript(self, key, value) : -1;
    Py_XDECREF(key);
    return rc;
}

/* len(a): the extent of the first axis; TypeError of no dimensions. */
static Py_ssize_t ndarray_length(PyObject *self) {
    const asn_layout *l = &asn_of(self)->layout;
    if (l->ndim) return (Py_ssize_t)l->shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    return -1;
}

/* Iteration over the first axis, by the sequence protocol (asn_ndarray_item). */
static PyObject *ndarray_iter(PyObject *self) {
    if (asn_of(self)->layout.ndim) return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
    return NULL;
}

/* CPython's way to tell a heap type where its weak references are. */
static PyMemberDef ndarray_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(asn_ndarray, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    ndarray_doc,
    "ndarray(shape, dtype=None, buffer=None, offset=0, strides=None, order=None)\n--\n\n"
    "An n-dimensional array of elements of one dtype, on a device.\n\n"
    "Operations are recorded and run fused when a value is needed; basic indexing,\n"
    "transposes and reshapes are views that share memory and write through.");

/* Slots of this file and of those that core.h names; the operators' are in
 * ndarray_number.c. */
static const PyType_Slot fixed_slots[] = {
    {Py_tp_new, ndarray_new},
    {Py_tp_dealloc, ndarray_dealloc},
    {Py_tp_members, ndarray_members},
    {Py_tp_getset, asn_ndarray_getset},
    {Py_tp_methods, asn_ndarray_methods},
    {Py_tp_iter, ndarray_iter},
    {Py_tp_richcompare, asn_ndarray_richcompare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_repr, asn_ndarray_repr},
    {Py_tp_str, asn_ndarray_str},
    {Py_tp_doc, (void *)ndarray_doc},
    {Py_mp_length, ndarray_length},
    {Py_mp_subscript, asn_ndarray_subscript},
    {Py_mp_ass_subscript, asn_ndarray_ass_subscript},
    {Py_sq_length, ndarray_length},
    {Py_sq_concat, ndarray_concat},
    {Py_sq_item, asn_ndarray_item},
    {Py_sq_ass_item, ndarray_set_item},
    {Py_sq_contains, asn_ndarray_contains},
    {Py_bf_getbuffer, asn_ndarray_getbuffer},
    {Py_bf_releasebuffer, asn_ndarray_releasebuffer},
};

/* Takes a parameter that NumPy's method has not got out of the signature that help() and
 * inspect show, in a copy that lives as long as the type. -1: no memory. */
static int hide(const char *method, const char *parameter) {
    for (PyMethodDef *m = asn_ndarray_methods; m->ml_name; m++) {
        const char *at = strcmp(m->ml_name, method) ? NULL : strstr(m->ml_doc, parameter);
        if (!at) continue;
        const char *rest = at + strlen(parameter);
        size_t head = (size_t)(at - m->ml_doc), tail = strlen(rest) + 1;
        char *doc = malloc(head + tail);
        if (!doc) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(doc, m->ml_doc, head);
        memcpy(doc + head, rest, tail);
        m->ml_doc = doc;
    }
    return 0;
}

/* Makes the type. Heap types take one list of slots, so the two tables are joined; 48 is
 * room enough for the operators and the end. */
int asn_ndarray_init_type(PyObject *module) {
    enum { FIXED = sizeof fixed_slots / sizeof *fixed_slots };
    if (asn_docs_put("ndarray", asn_ndarray_getset, asn_ndarray_methods) < 0) return -1;
    if (!asn_numpy_2_5() && (hide("sort", ", descending=None") < 0 ||
                             hide("argsort", ", descending=None") < 0))
        return -1;
    const char *doc = asn_docs_joined(ndarray_doc, NULL, "ndarray");
    if (!doc) return -1;
    PyType_Slot slots[FIXED + 48];
    int n = 0;
    for (; n < FIXED; n++) {
        slots[n] = fixed_slots[n];
        if (slots[n].slot == Py_tp_doc) slots[n].pfunc = (void *)doc;
    }
    for (int i = 0; i < asn_ndarray_number_slot_count; i++)
        slots[n++] = asn_ndarray_number_slots[i];
    slots[n] = (PyType_Slot){0, NULL};
    PyType_Spec spec = {"asnumpy.ndarray", sizeof(asn_ndarray), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    asn_py.ndarray = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    asn_py.quick = asn_py.ndarray;
    if (!asn_py.ndarray || asn_instances_init(module, asn_py.ndarray) < 0) return -1;
    return PyModule_AddObjectRef(module, "ndarray", (PyObject *)asn_py.ndarray);
}
