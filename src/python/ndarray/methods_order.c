/* L3 python: methods that order elements: sort, argsort, partition, argpartition.
 *
 * Every sort is stable; kind= and stable= are checked as NumPy checks them, and tell
 * whether that goes for what has other bits, too: zeros of both signs, NaN. A partition
 * keeps to NumPy's contract (the element at each kth is where a sort would have it), not
 * to its order within the parts, which NumPy leaves open.
 *
 * NumPy reads the axis of the four methods by different converters (bools are axes for
 * some, errors for others): `arg` tells the argsort kind, which is the strict one. */
#include "numpy/ordering.h"
#include "python/ndarray/methods.h"

/* kind=, order=, stable= and descending= of a sort: 0, or -1 with NumPy's error. order=
 * names fields, of which no array here has any. */
static int check_sort_kind(PyObject *kind, PyObject *order, PyObject *stable,
                           PyObject *descending, bool *keeps, bool *falls) {
    const bool asks_stable = stable && stable != Py_None;
    const bool asks_order = !asn_is_no_value(descending) && descending != Py_None;
    *keeps = *falls = false;
    if (order && order != Py_None) {
        PyErr_SetString(PyExc_ValueError,
                        "Cannot specify order when the array has no fields.");
        return -1;
    }
    if (kind && kind != Py_None) {
        const char *text = PyUnicode_Check(kind) ? PyUnicode_AsUTF8(kind) : NULL;
        /* NumPy looks at the first letter alone, in either case: quick, heap, merge,
         * stable. */
        char first = text ? (char)(*text | 0x20) : 0;
        if (first != 'q' && first != 'h' && first != 'm' && first != 's') {
            if (!PyErr_Occurred())
                PyErr_Format(text ? PyExc_ValueError : PyExc_TypeError,
                             "sort kind must be one of 'quick', 'heap', or 'stable' "
                             "(got %R)",
                             kind);
            return -1;
        }
        *keeps = first == 'm' || first == 's';
        if (!asks_stable && !asks_order) return 0;
        PyErr_SetString(PyExc_ValueError,
                        "`kind` and keyword parameters can't be provided at "
                        "the same time. Use only one of them.");
        return -1;
    }
    if (asks_stable && asn_bool_from_py(stable, keeps) < 0) return -1;
    return asks_order ? asn_bool_from_py(descending, falls) : 0;
}

/* Positions along the axis that a partition is for; none: a whole sort, which may be a
 * stable or a descending one. */
typedef struct {
    bool stable, falls;
    int count;
    int64_t at[ASN_MAX_DIMS]; /* kth, each within the axis */
} positions;

/* *result: self's elements in order along an axis, or with `arg` their positions. */
static asn_status order_axis(asn_array *result, const asn_array *a, int axis, bool arg,
                             const positions *kth) {
    if (kth->falls) return asn_np_sort_descending(result, a, axis, arg);
    if (kth->count)
        return (arg ? asn_argpartition : asn_partition)(result, a, axis, kth->count,
                                                        kth->at);
    return arg ? asn_argsort(result, a, axis) : asn_sort(result, a, axis, kth->stable);
}

/* A new array in order (or the positions). axis NULL: the last; None: of the flattened
 * array; an array of no dimensions has the axis only for argsort, where NumPy treats it
 * as one element. */
static PyObject *ordered(PyObject *self, PyObject *axis, bool arg, const positions *kth) {
    PyObject *a = Py_NewRef(self), *result = NULL;
    int which = asn_of(self)->layout.ndim - 1;
    if (axis == Py_None) {
        Py_SETREF(a, asn_flatten(self, 'C', false));
        which = 0;
    } else if (asn_of(self)->layout.ndim == 0) {
        int64_t value = -1;
        asn_status status = ASN_OK;
        if ((arg && axis ? asn_axis_value_from_py : asn_int64_from_py)(axis, &value) < 0)
            goto done;
        if (!arg || (value != 0 && value != -1))
            status = asn_axis_normalize(value, 0, &which);
        if (status != ASN_OK) {
            asn_raise(status);
            goto done;
        }
        /* There is no axis to sort along, but positions are an array of one, as NumPy's.
         */
        asn_operand zero = {NULL, {ASN_I64, {0}}, 'i'};
        const int64_t one = 1;
        asn_ndarray *r = asn_ndarray_alloc();
        if (r)
            result =
                asn_ndarray_made(r, asn_full(&r->array, ASN_I64, 1, &one, 'C', &zero));
        goto done;
    } else if (axis && (arg ? asn_axis_from_py : asn_loose_axis_from_py)(
                           axis, asn_of(self)->layout.ndim, &which) < 0) {
        goto done;
    }
    asn_ndarray *r = a ? asn_ndarray_alloc() : NULL;
    if (r)
        result = asn_ndarray_made(r, order_axis(&r->array, asn_of(a), which, arg, kth));
done:
    Py_XDECREF(a);
    return asn_subclass_keep(result, self);
}

/* A sort or argsort as the function of that name makes it: always a new array. */
PyObject *asn_sorted_run(PyObject *self, PyObject *axis, PyObject *kind, PyObject *order,
                         PyObject *stable, PyObject *descending, bool arg) {
    positions none;
    none.count = 0; /* the others are half a KB, and stay unset */
    if (check_sort_kind(kind, order, stable, descending, &none.stable, &none.falls) < 0)
        return NULL;
    return ordered(self, axis, arg, &none);
}

/* Through a sorted copy. */
static asn_status descend_in_place(asn_array *a, int axis) {
    asn_array sorted;
    ASN_TRY(asn_np_sort_descending(&sorted, a, axis, false));
    const asn_operand source = {.array = &sorted};
    asn_status status = asn_assign(a, &source, ASN_CASTING_NO, NULL);
    asn_array_fini(&sorted);
    return status;
}

/* Sorts self's memory along an axis; flattening first is not for this. */
static PyObject *order_in_place(PyObject *self, PyObject *axis, const positions *kth) {
    int which = asn_of(self)->layout.ndim - 1;
    if (axis == Py_None) {
        PyErr_SetString(PyExc_TypeError,
                        "'NoneType' object cannot be interpreted as an integer");
        return NULL;
    }
    if (axis && asn_loose_axis_from_py(axis, which + 1, &which) < 0) return NULL;
    if (which < 0) ASN_PY_TRY(asn_axis_normalize(-1, 0, &which));
    ASN_PY_TRY(kth->falls ? descend_in_place(asn_of(self), which)
                          : asn_order_in_place(asn_of(self), which, kth->stable,
                                               kth->count, kth->at));
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

ASN_METHOD(sort) {
    ASN_ARGS("sort", "axis=-1, kind=None, order=None, *, stable=None, descending=None");
    positions none;
    none.count = 0;
    if (check_sort_kind(v[1], v[2], v[3], v[4], &none.stable, &none.falls) < 0)
        return NULL;
    return order_in_place(self, v[0], &none);
}

ASN_METHOD(argsort) {
    ASN_ARGS("argsort",
             "axis=-1, kind=None, order=None, *, stable=None, descending=None");
    return asn_sorted_run(self, v[0], v[1], v[2], v[3], v[4], true);
}

/* NumPy refuses bools as positions, which are integers to Python. -1: it did. */
static int refuse_bools(PyObject *list) {
    bool many = PyList_Check(list) || PyTuple_Check(list), any = false;
    PyObject *items = many ? asn_steady_items(list) : Py_NewRef(list);
    if (!items) return -1;
    Py_ssize_t n = many ? PySequence_Fast_GET_SIZE(items) : 1;
    for (Py_ssize_t i = 0; i < n && !any; i++) {
        PyObject *one = many ? PySequence_Fast_GET_ITEM(items, i) : items;
        any = PyBool_Check(one) || PyArray_IsScalar(one, Bool);
    }
    Py_DECREF(items);
    if (any)
        PyErr_SetString(PyExc_ValueError, "Booleans unacceptable as partition index");
    return any ? -1 : 0;
}

/* `list`, whole numbers that must each be an index of `length` elements (negative ones
 * count from the end); length below 0: not checked. At most ASN_MAX_DIMS of them. */
static int read_positions(PyObject *list, int64_t length, positions *out) {
    int64_t *values = out->at;
    if (refuse_bools(list) < 0) return -1;
    if (asn_shape_from_py(list, values, &out->count) < 0) return -1;
    if (length >= 0) ASN_PY_TRY_INT(asn_np_kth(out->count, values, length));
    return 0;
}

/* More positions than the device takes: each is checked, in portions, then none is kept,
 * because a full sort has all of them in place. */
static int read_many(PyObject *list, int64_t length, positions *out) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    int rc = 0;
    for (Py_ssize_t i = 0; i < n && rc == 0; i += ASN_MAX_DIMS) {
        PyObject *some = PyList_GetSlice(list, i, i + ASN_MAX_DIMS);
        rc = some ? read_positions(some, length, out) : -1;
        Py_XDECREF(some);
    }
    out->count = 0;
    return rc;
}

/* kth of a partition of self along `axis`, checked against its extent. `arg`: positions
 * of what has no dimensions are those of one element. kth may be an array of either
 * library, which is read on the host. */
static int read_kth(PyObject *self, PyObject *kth, PyObject *axis, bool arg,
                    positions *out) {
    int64_t length = asn_of(self)->layout.size;
    int which = asn_of(self)->layout.ndim - 1;
    if (axis != Py_None) {
        int ndim = arg && which < 0 ? 1 : which + 1;
        if (axis && (arg ? asn_axis_from_py : asn_loose_axis_from_py)(axis, ndim, &which))
            return -1;
        if (which >= 0 && asn_of(self)->layout.ndim)
            length = asn_of(self)->layout.shape[which];
    }
    PyObject *list = asn_is_ndarray(kth) || PyArray_Check(kth)
                         ? PyObject_CallMethod(kth, "tolist", NULL)
                         : Py_NewRef(kth);
    if (!list) return -1;
    bool empty = asn_of(self)->layout.size == 0; /* where every position will do */
    if (empty) length = -1;
    int rc = PyList_Check(list) && PyList_GET_SIZE(list) > ASN_MAX_DIMS
                 ? read_many(list, length, out)
                 : read_positions(list, length, out);
    Py_DECREF(list);
    if (empty) out->count = 0;
    return rc;
}

/* kind= of a partition: NumPy has "introselect" alone. */
static int check_select_kind(PyObject *kind) {
    if (!kind || (PyUnicode_Check(kind) &&
                  PyUnicode_CompareWithASCIIString(kind, "introselect") == 0))
        return 0;
    if (PyUnicode_Check(kind))
        PyErr_Format(PyExc_ValueError, "select kind must be 'introselect' (got %R)",
                     kind);
    else
        PyErr_Format(PyExc_TypeError, "select kind must be str, not %s",
                     Py_TYPE(kind)->tp_name);
    return -1;
}

/* (kth, axis, kind, order) in NumPy's order of checks. */
static int read_partition(PyObject *self, PyObject *const *v, bool arg, positions *at) {
    return check_select_kind(v[2]) < 0 || read_kth(self, v[0], v[1], arg, at) < 0 ||
                   check_sort_kind(NULL, v[3], NULL, NULL, &at->stable, &at->falls) < 0
               ? -1
               : 0;
}

PyObject *asn_partitioned_run(PyObject *self, PyObject *kth, PyObject *axis,
                              PyObject *kind, PyObject *order, bool arg) {
    positions at;
    PyObject *v[4] = {kth, axis, kind, order};
    return read_partition(self, v, arg, &at) < 0 ? NULL : ordered(self, axis, arg, &at);
}

/* (Contract in methods.h.) The elements at the positions alone, in the place of the axis:
 * for quantiles, which need no more of a sort. */
PyObject *asn_order_statistics_run(PyObject *self, PyObject *kth) {
    positions at;
    int axis = asn_of(self)->layout.ndim - 1;
    if (axis < 0) ASN_PY_TRY(asn_axis_normalize(-1, 0, &axis));
    if (asn_shape_from_py(kth, at.at, &at.count) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_made(r, asn_order_statistics(&r->array, asn_of(self), axis,
                                                        at.count, at.at))
             : NULL;
}

ASN_METHOD(partition) {
    ASN_ARGS("partition", "kth, axis=-1, kind='introselect', order=None");
    positions at;
    int unused;
    if (asn_of(self)->layout.ndim == 0 && !v[1])
        ASN_PY_TRY(asn_axis_normalize(-1, 0, &unused));
    return read_partition(self, v, false, &at) < 0 ? NULL
                                                   : order_in_place(self, v[1], &at);
}

ASN_METHOD(argpartition) {
    ASN_ARGS("argpartition", "kth, axis=-1, kind='introselect', order=None");
    return asn_partitioned_run(self, v[0], v[1], v[2], v[3], true);
}
