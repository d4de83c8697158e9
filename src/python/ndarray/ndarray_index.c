/* L3 python: a[key] and a[key] = value.
 *
 * A Python key becomes a short list of index items for the core, which does NumPy's
 * indexing. Before that, the keys that loops are made of (an int, ints in a tuple, one
 * slice) take a path of their own that touches no list: in real programs over small
 * slices and single elements this path is most of the time.
 *
 * Basic keys (ints, slices, None, Ellipsis) give views; a key with an array, list or bool
 * in it ("advanced") gathers into a new array. What each key means, and the texts of the
 * errors, are NumPy's; the general path raises them, the quick ones step aside. */
#include "python/convert.h"

/* More than an array has dimensions, since None and bools use up none. */
enum { MAX_ITEMS = 2 * ASN_MAX_DIMS };

/* A key, read. */
typedef struct {
    asn_index_item items[MAX_ITEMS];
    PyObject *owners[MAX_ITEMS]; /* arrays made for items, NULL otherwise */
    int count, owned;            /* items; owners from 0 on */
    bool ellipsis, advanced;     /* there is an Ellipsis; an array */
} index_list;

/* Releases the arrays; after a failed index_init too. */
static void index_fini(index_list *list) {
    for (int i = 0; i < list->owned; i++)
        Py_DECREF(list->owners[i]);
}

/* NumPy's IndexError for an object of no use as an index; -1. */
static int bad_index(void) {
    PyErr_SetString(
        PyExc_IndexError,
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
        "integer or boolean arrays are valid indices");
    return -1;
}

/* Takes `array` (an ndarray) as an index: of bools a mask, of integers positions. A
 * non-canonical bool array is replaced by its canonical values. -1: another dtype. */
static int add_array(index_list *list, asn_index_item *item, PyObject *array) {
    array = asn_truth_values(array);
    if (!array) return -1;
    list->owners[list->owned++] = array;
    asn_dtype dtype = asn_dtype_of(array);
    item->array = asn_of(array);
    item->kind = dtype == ASN_BOOL ? ASN_INDEX_MASK : ASN_INDEX_ARRAY;
    list->advanced = true;
    if (dtype == ASN_BOOL || asn_is_integer(dtype)) return 0;
    PyErr_SetString(PyExc_IndexError,
                    "arrays used as indices must be of integer (or boolean) type");
    return -1;
}

/* An index that must first become an array: lists, tuples, bools, NumPy arrays, objects
 * with __array__. */
static int add_sequence(index_list *list, asn_index_item *item, PyObject *key) {
    PyObject *array = asn_asarray(key);
    /* A list of no elements is an index of none, not of float64. */
    if (array && asn_of(array)->layout.size == 0 && !PyArray_Check(key) &&
        !asn_is_ndarray(key))
        Py_SETREF(array, asn_asarray_dtype(array, ASN_I64));
    if (!array) {
        /* Text, objects and the like index nothing. */
        if (PyErr_ExceptionMatches(asn_py.host_dtype))
            PyErr_SetString(
                PyExc_IndexError,
                "arrays used as indices must be of integer (or boolean) type");
        return -1;
    }
    if (asn_of(array)->layout.ndim == 0 && asn_is_integer(asn_dtype_of(array))) {
        /* One integer, however it came, is an integer. */
        int rc = asn_int64_from_py(array, &item->start);
        item->kind = ASN_INDEX_INT;
        Py_DECREF(array);
        return rc;
    }
    return add_array(list, item, array);
}

/* Anything but Python's ints, slices, None and Ellipsis; NumPy's order of trial: arrays,
 * bools, sequences, then what has __index__, then what can become an array. */
static int add_array_like(index_list *list, asn_index_item *item, PyObject *key) {
    if (asn_is_ndarray(key)) {
        /* A 0-d integer array is an integer, read now. */
        if (asn_of(key)->layout.ndim || asn_dtype_of(key) == ASN_BOOL)
            return add_array(list, item, Py_NewRef(key));
    } else if (PyBool_Check(key) || PyArray_IsScalar(key, Bool)) {
        return add_sequence(list, item, key);
    } else if (PyArray_Check(key) && PyArray_NDIM((PyArrayObject *)key)) {
        return add_sequence(list, item, key);
    } else if (PyList_Check(key) || PyTuple_Check(key)) {
        return add_sequence(list, item, key);
    }
    if (PyIndex_Check(key) && asn_int64_from_py(key, &item->start) == 0) {
        item->kind = ASN_INDEX_INT;
        return 0;
    }
    PyErr_Clear();
    if (PyUnicode_Check(key) || PyFloat_Check(key) || PyComplex_Check(key))
        return bad_index();
    if (add_sequence(list, item, key) == 0) return 0;
    /* A dtype that we lack is no index; what else was raised is the caller's. */
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    return bad_index();
}

/* One part of the key, as the next item; -1 with NumPy's IndexError. */
static int add_key(index_list *list, PyObject *key) {
    if (list->count == MAX_ITEMS) {
        PyErr_Format(PyExc_IndexError, "too many indices for array: at most %d",
                     MAX_ITEMS);
        return -1;
    }
    asn_index_item *item = &list->items[list->count++];
    if (PyLong_CheckExact(key)) {
        item->kind = ASN_INDEX_INT;
        item->start = PyLong_AsLongLong(key);
        if (item->start == -1 && PyErr_Occurred()) {
            PyErr_SetString(PyExc_IndexError,
                            "cannot fit 'int' into an index-sized integer");
            return -1;
        }
        return 0;
    }
    if (PySlice_Check(key)) {
        item->kind = ASN_INDEX_SLICE;
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) return -1;
        item->start = start, item->stop = stop, item->step = step;
        return 0;
    }
    if (key == Py_None) {
        item->kind = ASN_INDEX_NEWAXIS;
        return 0;
    }
    if (key == Py_Ellipsis) {
        item->kind = ASN_INDEX_ELLIPSIS;
        if (list->ellipsis) {
            PyErr_SetString(PyExc_IndexError,
                            "an index can only have a single ellipsis ('...')");
            return -1;
        }
        list->ellipsis = true;
        return 0;
    }
    return add_array_like(list, item, key);
}

/* A bool that is no array counts as an axis of its own, of which there are only so many
 * (NumPy's limit, and its error). */
static int check_bools(const index_list *list, int ndim) {
    int total = ndim;
    for (int i = 0; i < list->count; i++)
        total += list->items[i].kind == ASN_INDEX_MASK &&
                 list->items[i].array->layout.ndim == 0;
    if (total <= ASN_MAX_DIMS) return 0;
    PyErr_Format(
        PyExc_IndexError,
        "too many advanced (array) indices. This probably means you are indexing "
        "with too many booleans. (more than %d found)",
        ASN_MAX_DIMS);
    return -1;
}

/* Reads a whole key for an array of ndim dimensions. 0; -1 with the error; index_fini
 * either way. The number of indices is checked by the core. */
static int index_init(index_list *list, PyObject *key, int ndim) {
    list->count = list->owned = 0;
    list->ellipsis = list->advanced = false;
    if (!PyTuple_Check(key)) return add_key(list, key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (add_key(list, PyTuple_GET_ITEM(key, i)) < 0) return -1;
    return list->advanced ? check_bools(list, ndim) : 0;
}

/* ---- single elements
 *
 * They have two paths: asn_direct_element, where the value is there
 * (graph/small/direct.h), reads without taking the library's lock; else
 * asn_array_get_item, which runs what is recorded and waits. */

/* The byte offset that a key of only ints names, when it is such a key in range: 1; 0
 * otherwise (the general path reports errors). */
static int element_offset(const asn_layout *l, PyObject *key, int64_t *offset) {
    PyObject *const *keys = &key;
    int n = 1;
    if (PyTuple_CheckExact(key)) {
        keys = ((PyTupleObject *)key)->ob_item;
        n = (int)PyTuple_GET_SIZE(key);
    }
    if (n != l->ndim || n == 0) return 0;
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        if (!PyLong_CheckExact(keys[i])) return 0;
        int overflow = 0;
        int64_t k = PyLong_AsLongLongAndOverflow(keys[i], &overflow);
        k += k < 0 ? l->shape[i] : 0;
        if (overflow || k < 0 || k >= l->shape[i]) return 0;
        total += k * l->strides[i];
    }
    *offset = total;
    return 1;
}

/* The element at a byte offset from the first, as a NumPy scalar. */
static PyObject *get_element(PyObject *self, int64_t offset) {
    const char *at = asn_direct_element(asn_of(self), offset);
    if (ASN_LIKELY(at != NULL)) return asn_scalar_at(asn_dtype_of(self), at);
    asn_scalar element;
    ASN_PY_TRY(asn_array_get_item(asn_of(self), offset, &element));
    if (asn_fp_check() < 0) return NULL;
    return asn_scalar_to_numpy(&element);
}

/* (Contract in core.h.) a[i] through the sequence protocol, as iteration asks it: of one
 * dimension an element, else a view of the rest. Python has added the length to a
 * negative i. */
PyObject *asn_ndarray_item(PyObject *self, Py_ssize_t i) {
    const asn_layout *l = &asn_of(self)->layout;
    if (l->ndim == 1 && asn_gives_scalars() && i >= 0 && i < l->shape[0])
        return get_element(self, i * l->strides[0]);
    if (i < 0 && l->ndim) { /* the caller has added the length to it already */
        PyErr_Format(PyExc_IndexError,
                     "index %lld is out of bounds for axis 0 with size %lld",
                     (long long)(i - l->shape[0]), (long long)l->shape[0]);
        return NULL;
    }
    asn_index_item item = {ASN_INDEX_INT, i, 0, 0, NULL};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_index_view(&r->array, asn_of(self), 1, &item);
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    asn_ndarray_set_base(r, self);
    return asn_ndarray_return((PyObject *)r);
}

/* ---- views and gathers */

/* The result of a basic index: a view of self's type. */
static PyObject *get_view(PyObject *self, int n, const asn_index_item *items) {
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(self))) {
        asn_array view;
        return asn_ndarray_view_made(self, asn_index_view(&view, asn_of(self), n, items),
                                     &view);
    }
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_index_view(&r->array, asn_of(self), n, items);
    if (ASN_UNLIKELY(status != ASN_OK)) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    asn_ndarray_set_base(r, self);
    return (PyObject *)r;
}

/* a[key] of a key that was read. Of a subclass both kinds of result are instances of it;
 * a gathered one is a view of a plain array, whose base it shows (NumPy's). */
static PyObject *get_items(PyObject *self, const index_list *list) {
    if (!list->advanced) {
        PyObject *r = get_view(self, list->count, list->items);
        /* a[1, ...] is a 0-d array, a[1] an element. */
        return r && !list->ellipsis ? asn_subclass_element(r) : r;
    }
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_index_get(&r->array, asn_of(self), list->count, list->items);
    if (status != ASN_OK) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    if (asn_fp_check() < 0) { /* of what a mask or an index came from */
        Py_DECREF((PyObject *)r);
        return NULL;
    }
    return asn_subclass_view((PyObject *)r, self);
}

/* a[key]: an element, one slice, then the general path. */
PyObject *asn_ndarray_subscript(PyObject *self, PyObject *key) {
    const asn_layout *l = &asn_of(self)->layout;
    int64_t offset;
    if (asn_gives_scalars() && element_offset(l, key, &offset))
        return get_element(self, offset);
    /* One slice is the first axis; of no dimensions the general path raises. */
    if (PySlice_Check(key) && l->ndim) {
        asn_index_item item = {ASN_INDEX_SLICE, 0, 0, 0, NULL};
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
        item.start = start, item.stop = stop, item.step = step;
        return get_view(self, 1, &item);
    }
    index_list list;
    PyObject *r = index_init(&list, key, l->ndim) < 0 ? NULL : get_items(self, &list);
    index_fini(&list);
    return r;
}

/* ---- assignment */

/* NumPy's ValueError; -1. */
static int read_only(void) {
    PyErr_SetString(PyExc_ValueError, "assignment destination is read-only");
    return -1;
}

/* After asn_asarray refused a value: where it is of a dtype that the device lacks, the
 * value cast by NumPy, unsafely, as assignments do; else NULL with the error as it is. */
static PyObject *cast_on_host(PyObject *value, asn_dtype dtype) {
    if (!PyErr_ExceptionMatches(asn_py.host_dtype)) return NULL;
    PyErr_Clear();
    PyArray_Descr *descr = asn_descr(dtype);
    if (!descr) return NULL;
    Py_INCREF(descr);
    PyObject *host = PyArray_FromAny(value, descr, 0, 0, NPY_ARRAY_FORCECAST, NULL);
    PyObject *r = host ? asn_from_numpy(host, false, true) : NULL;
    Py_XDECREF(host);
    return r;
}

/* The operand that an assignment to elements of dtype reads. Python scalars are packed
 * into dtype with NumPy's checks, arrays are cast when they are written. *owner: an array
 * made for it, to release afterwards. -1: the error, ComplexWarning made an error among
 * them. */
static int value_operand(asn_dtype dtype, PyObject *value, asn_operand *out,
                         PyObject **owner) {
    *owner = NULL;
    out->weak = 0;
    if (asn_is_ndarray(value)) {
        out->array = asn_of(value);
    } else if (PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value) ||
               PyArray_IsScalar(value, Generic)) {
        out->array = NULL;
        return asn_scalar_pack(value, dtype, &out->scalar);
    } else {
        /* Elements of a sequence, and of an array of a dtype that the device lacks, are
         * packed one by one into dtype, as NumPy does. */
        bool known =
            PyArray_Check(value) &&
            asn_dtype_from_descr(PyArray_DESCR((PyArrayObject *)value)) != ASN_DTYPE_NONE;
        PyObject *array = known ? asn_asarray(value) : asn_asarray_dtype(value, dtype);
        if (!array) array = cast_on_host(value, dtype);
        if (!array) return -1;
        *owner = array;
        out->array = asn_of(array);
    }
    if (asn_is_complex((asn_dtype)out->array->layout.dtype) && !asn_is_complex(dtype) &&
        dtype != ASN_BOOL)
        return PyErr_WarnEx(asn_py.complex_warning,
                            "Casting complex values to real discards the imaginary part",
                            1);
    return 0;
}

int asn_assigned_operand(asn_dtype dtype, PyObject *value, asn_operand *out,
                         PyObject **owner) {
    return value_operand(dtype, value, out, owner);
}

/* What is one element without looking further: exact Python numbers, NumPy's scalars. */
static bool is_plain_scalar(PyObject *value) {
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) ||
           PyComplex_CheckExact(value) || PyArray_IsScalar(value, Generic);
}

/* Whether it is an array, of either library, of one dimension or more. */
static bool has_dimensions(PyObject *value) {
    if (asn_is_ndarray(value)) return asn_of(value)->layout.ndim > 0;
    return PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) > 0;
}

/* How deep a list of lists goes, by its first items; 0 for what is no list. Arrays at the
 * bottom add their dimensions. */
static int depth_of(PyObject *value) {
    int depth = 0;
    Py_INCREF(value);
    while (PyList_Check(value) || PyTuple_Check(value)) {
        PyObject *first = asn_first_item(value);
        depth++;
        if (!first) break;
        Py_SETREF(value, first);
    }
    if (depth && asn_is_ndarray(value)) depth += asn_of(value)->layout.ndim;
    if (depth && PyArray_Check(value)) depth += PyArray_NDIM((PyArrayObject *)value);
    Py_DECREF(value);
    return depth;
}

/* A list may have no more dimensions than the view it is assigned to; one element takes
 * no array of any either. Only for basic keys, whose view's dimensions the items tell: an
 * int takes one away, None adds one. -1: NumPy's ValueError. */
static int check_depth(const asn_array *a, const index_list *list, PyObject *value) {
    int ndim = a->layout.ndim;
    bool element = !list->ellipsis;
    for (int i = 0; i < list->count; i++) {
        ndim += (list->items[i].kind == ASN_INDEX_NEWAXIS) -
                (list->items[i].kind == ASN_INDEX_INT);
    }
    if (ndim == 0 && element && a->layout.dtype != ASN_BOOL && has_dimensions(value)) {
        PyErr_SetString(PyExc_ValueError, "setting an array element with a sequence.");
        return -1;
    }
    if (depth_of(value) <= ndim) return 0;
    PyErr_Format(PyExc_ValueError,
                 "setting an array element with a sequence. The value has %d dimensions, "
                 "what it is assigned to has %d.",
                 depth_of(value), ndim);
    return -1;
}

/* a[i, j] = value at a byte offset. A float into float64 is stored directly where the
 * value is there and no recorded operation reads or writes the buffer; all else is
 * written by the core. */
static int set_element(PyObject *self, int64_t offset, PyObject *value) {
    asn_scalar element;
    const asn_buffer *b = asn_of(self)->buffer;
    char *at =
        PyFloat_CheckExact(value) && asn_dtype_of(self) == ASN_F64 && !b->trace_refs
            ? asn_direct_element(asn_of(self), offset)
            : NULL;
    if (at) {
        double v = PyFloat_AS_DOUBLE(value);
        memcpy(at, &v, sizeof v);
        return 0;
    }
    if (asn_scalar_pack(value, asn_dtype_of(self), &element) < 0) return -1;
    ASN_PY_TRY_INT(asn_array_set_item(asn_of(self), offset, &element));
    return asn_fp_check();
}

/* Replaces index arrays that live in the buffer about to be written by copies: `a[a] = v`
 * reads all indices first, as in NumPy. owners has the arrays in the order of their
 * items. */
static int unalias_indices(index_list *list, const asn_array *target) {
    for (int i = 0, owner = 0; i < list->count; i++) {
        asn_index_item *item = &list->items[i];
        if (item->kind != ASN_INDEX_ARRAY && item->kind != ASN_INDEX_MASK) continue;
        PyObject **slot = &list->owners[owner++];
        if (item->array->buffer != target->buffer) continue;
        PyObject *copy = asn_array_from_any(*slot, ASN_DTYPE_NONE, 1, 'K', 0, false);
        if (!copy) return -1;
        Py_SETREF(*slot, copy);
        item->array = asn_of(copy);
    }
    return 0;
}

/* a[key] = value (value NULL: a deletion). Order of errors: read-only, the key, the
 * value. */
int asn_ndarray_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    asn_array *a = asn_of(self);
    if (!value) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    if (!(a->layout.flags & ASN_WRITEABLE)) return read_only();
    int64_t offset;
    if (element_offset(&a->layout, key, &offset)) {
        if (is_plain_scalar(value) || PyList_Check(value) || PyTuple_Check(value))
            return set_element(self, offset, value);
        if (asn_dtype_of(self) != ASN_BOOL && has_dimensions(value)) {
            PyErr_SetString(asn_is_complex(asn_dtype_of(self)) ? PyExc_TypeError
                                                               : PyExc_ValueError,
                            "setting an array element with a sequence.");
            return -1;
        }
    }
    asn_operand source;
    PyObject *owner = NULL;
    index_list list;
    int rc = index_init(&list, key, a->layout.ndim);
    if (rc == 0 && list.advanced)
        rc = unalias_indices(&list, a);
    else if (rc == 0 && !is_plain_scalar(value))
        rc = check_depth(a, &list, value);
    if (rc == 0) rc = value_operand(asn_dtype_of(self), value, &source, &owner);
    if (rc == 0) {
        asn_status status = asn_index_set(a, list.count, list.items, &source);
        if (status != ASN_OK) {
            asn_raise(status);
            rc = -1;
        } else {
            rc = asn_fp_check();
        }
    }
    index_fini(&list);
    Py_XDECREF(owner);
    return rc;
}

/* (Contract in core.h.) ufunc.at: each index counts, repeated ones too. */
int asn_index_apply_at(asn_op op, const asn_array *a, PyObject *key,
                       const asn_operand *value) {
    index_list list;
    int rc = index_init(&list, key, a->layout.ndim);
    if (rc == 0 && list.advanced) rc = unalias_indices(&list, a);
    if (rc == 0) {
        asn_status status = asn_index_at(op, a, list.count, list.items, value);
        if (status != ASN_OK) {
            asn_raise(status);
            rc = -1;
        }
    }
    index_fini(&list);
    return rc;
}
