/* L3 python: methods that order elements: sort, argsort, partition, argpartition.
 *
 * A partition is a full sort here: a sorted array is partitioned around every kth. The
 * sort is radix for most dtypes, so this costs little; kth is checked as NumPy checks it.
 */
#include "methods.h"

/* stable: kind= and stable= as NumPy reads them. */
static int sort_is_stable(PyObject *kind, PyObject *order, PyObject *stable, bool *out) {
    *out = false;
    if (order && order != Py_None) {
        PyErr_SetString(PyExc_ValueError,
                        "Cannot specify order when the array has no fields.");
        return -1;
    }
    if (stable && stable != Py_None) {
        if (kind && kind != Py_None) {
            PyErr_SetString(PyExc_ValueError,
                            "`kind` and keyword parameters can't be provided at "
                            "the same time. Use only one of them.");
            return -1;
        }
        return asn_bool_from_py(stable, out);
    }
    if (!kind || kind == Py_None) return 0;
    const char *text = PyUnicode_Check(kind) ? PyUnicode_AsUTF8(kind) : NULL;
    char first = text ? (char)(*text | 0x20) : 0;
    if (first != 'q' && first != 'h' && first != 'm' && first != 's') {
        if (!PyErr_Occurred())
            PyErr_Format(text ? PyExc_ValueError : PyExc_TypeError,
                         "sort kind must be one of 'quick', 'heap', or 'stable' (got %R)",
                         kind);
        return -1;
    }
    *out = first == 'm' || first == 's';
    return 0;
}

PyObject *asn_sorted_run(PyObject *self, PyObject *axis, PyObject *kind, PyObject *order,
                         PyObject *stable_object, bool arg) {
    bool stable;
    if (sort_is_stable(kind, order, stable_object, &stable) < 0) return NULL;
    PyObject *a = Py_NewRef(self), *result = NULL;
    int which = asn_of(self)->layout.ndim - 1;
    if (axis == Py_None) {
        Py_SETREF(a, asn_flatten(self, 'C', false));
        which = 0;
    } else if (asn_of(self)->layout.ndim == 0) {
        int64_t value = -1;
        asn_status status = ASN_OK;
        if (asn_int64_from_py(axis, &value) < 0) goto done;
        if (value != 0 && value != -1) status = asn_axis_normalize(value, 0, &which);
        if (status != ASN_OK) {
            asn_raise(status);
            goto done;
        }
        /* One element: sorted as it is. */
        asn_operand zero = {NULL, {ASN_I64, {0}}, 'i'};
        asn_ndarray *r = arg ? asn_ndarray_alloc() : NULL;
        if (!arg)
            result = asn_copy_cast(self, asn_dtype_of(self), 'K');
        else if (r)
            result =
                asn_ndarray_made(r, asn_full(&r->array, ASN_I64, 0, NULL, 'C', &zero));
        goto done;
    } else if (axis && asn_axis_from_py(axis, asn_of(self)->layout.ndim, &which) < 0) {
        goto done;
    }
    asn_ndarray *r = a ? asn_ndarray_alloc() : NULL;
    if (r)
        result =
            asn_ndarray_made(r, arg ? asn_argsort(&r->array, asn_of(a), which, stable)
                                    : asn_sort(&r->array, asn_of(a), which, stable));
done:
    Py_XDECREF(a);
    return result;
}

/* self[...] = values; takes values. */
static PyObject *replace_elements(PyObject *self, PyObject *values) {
    if (!values) return NULL;
    int rc = asn_ndarray_ass_subscript(self, Py_Ellipsis, values);
    Py_DECREF(values);
    if (rc < 0) return NULL;
    Py_RETURN_NONE;
}

ASN_METHOD(sort) {
    ASN_ARGS("sort", "axis=-1, kind=None, order=None, *, stable=None");
    if (asn_of(self)->layout.ndim == 0 && !v[0]) {
        int unused;
        ASN_PY_TRY(asn_axis_normalize(-1, 0, &unused));
    }
    return replace_elements(self, asn_sorted_run(self, v[0], v[1], v[2], v[3], false));
}

ASN_METHOD(argsort) {
    ASN_ARGS("argsort", "axis=-1, kind=None, order=None, *, stable=None");
    return asn_sorted_run(self, v[0], v[1], v[2], v[3], true);
}

/* Every kth must be an index along the axis; a sorted array is partitioned for all of
 * them. */
static int check_kth(PyObject *self, PyObject *kth, PyObject *axis) {
    int64_t length = asn_of(self)->layout.size, values[ASN_MAX_DIMS];
    int which = asn_of(self)->layout.ndim - 1, n;
    if (axis != Py_None) {
        if (axis && asn_axis_from_py(axis, which + 1, &which) < 0) return -1;
        if (which >= 0) length = asn_of(self)->layout.shape[which];
    }
    PyObject *list = asn_is_ndarray(kth) || PyArray_Check(kth)
                         ? PyObject_CallMethod(kth, "tolist", NULL)
                         : Py_NewRef(kth);
    if (!list) return -1;
    int rc = asn_shape_from_py(list, values, &n);
    Py_DECREF(list);
    for (int i = 0; rc == 0 && i < n; i++) {
        int64_t k = values[i] < 0 ? values[i] + length : values[i];
        if (k >= 0 && k < length) continue;
        PyErr_Format(PyExc_ValueError, "kth(=%lld) out of bounds (%lld)", (long long)k,
                     (long long)length);
        rc = -1;
    }
    return rc;
}

ASN_METHOD(partition) {
    ASN_ARGS("partition", "kth, axis=-1, kind='introselect', order=None");
    if (check_kth(self, v[0], v[1]) < 0) return NULL;
    return replace_elements(self, asn_sorted_run(self, v[1], NULL, v[3], NULL, false));
}

ASN_METHOD(argpartition) {
    ASN_ARGS("argpartition", "kth, axis=-1, kind='introselect', order=None");
    if (check_kth(self, v[0], v[1]) < 0) return NULL;
    return asn_sorted_run(self, v[1], NULL, v[3], NULL, true);
}
