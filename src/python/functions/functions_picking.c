/* L3 python: take_along_axis, put_along_axis, lexsort, place, putmask. They read
 * arguments; numpy/picking.h has the rest.
 *
 * What is written to is an array of ours, or for put_along_axis a NumPy array through a
 * wrapper; values are cast as NumPy's function of the name casts them: put_along_axis as
 * an assignment, place and putmask safely. */
#include "python/functions/function.h"
#include "numpy/picking.h"
#include "numpy/shape.h"

/* ---- along an axis */

/* The rule of axis=None; -1: NumPy's ValueError. */
static int check_one_dimension(PyObject *indices) {
    if (asn_of(indices)->layout.ndim == 1) return 0;
    PyErr_SetString(PyExc_ValueError,
                    "when axis=None, `indices` must have a single dimension.");
    return -1;
}

/* axis None: positions in the flattened array, where `indices` may even be a mask, as it
 * is an index then; else the core's, whose result is a view of a's class. */
static PyObject *take_along(PyObject *a, PyObject *indices, PyObject *axis_object) {
    int64_t axis = -1;
    if (axis_object == Py_None) {
        /* As `arr.flat[indices]`, which NumPy's code says. */
        PyObject *flat = check_one_dimension(indices) < 0 ? NULL : asn_ravel_run(a, 'C');
        PyObject *r = flat ? asn_ndarray_subscript(flat, indices) : NULL;
        Py_XDECREF(flat);
        return r;
    }
    if (asn_int64_from_py(axis_object, &axis) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    PyObject *made = asn_ndarray_made(
        r, asn_np_take_along_axis(&r->array, asn_of(a), asn_of(indices), axis));
    return made ? asn_subclass_view(made, a) : NULL;
}

/* (arr, indices, axis): the last axis unless it is given. */
static PyObject *f_take_along_axis(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]), *indices = a ? asn_asarray(v[1]) : NULL;
    PyObject *r = indices ? take_along(a, indices, v[2]) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(indices);
    return r;
}

/* arr.flat[indices] = values, with whatever arr.flat is; -1: an error. */
static int put_flat(PyObject *arr, PyObject *indices, PyObject *values) {
    if (check_one_dimension(indices) < 0) return -1;
    PyObject *flat = PyObject_GetAttrString(arr, "flat");
    int rc = flat ? PyObject_SetItem(flat, indices, values) : -1;
    Py_XDECREF(flat);
    return rc;
}

/* put_along_axis; `wrapper` is of a NumPy array, which is written before the caller
 * looks. -1: an error. */
static int put_along(PyObject *arr, PyObject *indices, PyObject *given,
                     PyObject *axis_object) {
    asn_array *a;
    asn_operand values;
    PyObject *wrapper, *owner = NULL;
    int64_t axis;
    if (axis_object == Py_None) return put_flat(arr, indices, given);
    if (asn_int64_from_py(axis_object, &axis) < 0 ||
        asn_out_from_py(arr, &a, &wrapper) < 0)
        return -1;
    int rc = asn_assigned_operand(asn_layout_dtype(&a->layout), given, &values, &owner);
    asn_status status =
        rc < 0 ? ASN_OK : asn_np_put_along_axis(a, asn_of(indices), &values, axis);
    if (rc == 0 && !status) status = asn_out_written(arr, a, wrapper);
    Py_XDECREF(owner);
    Py_XDECREF(wrapper);
    if (status) asn_raise(status);
    return rc < 0 || status ? -1 : asn_fp_check();
}

/* (arr, indices, values, axis): None is returned. values broadcast to the indices.
 */
static PyObject *f_put_along_axis(PyObject *const *v) {
    PyObject *indices = asn_asarray(v[1]);
    int rc = indices ? put_along(v[0], indices, v[2], v[3]) : -1;
    Py_XDECREF(indices);
    if (rc < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- order by several keys */

/* The positions that sort by several keys, a sequence of arrays. `objects` and `keys`
 * have room for them all. */
static PyObject *sort_keys(PyObject *items, int64_t axis, PyObject **objects,
                           const asn_array **keys) {
    const int n = (int)PySequence_Fast_GET_SIZE(items);
    PyObject *r = NULL;
    int made = 0;
    for (; made < n; made++) {
        objects[made] = asn_asarray(PySequence_Fast_GET_ITEM(items, made));
        if (!objects[made]) break;
        keys[made] = asn_of(objects[made]);
    }
    asn_ndarray *order = made == n ? asn_ndarray_alloc() : NULL;
    if (order)
        r = asn_ndarray_finish(order, asn_np_lexsort(&order->array, n, keys, axis));
    while (made)
        Py_DECREF(objects[--made]);
    return r;
}

/* Few keys need no memory; `items` is a sequence that does not change. */
static PyObject *lexsort(PyObject *items, int64_t axis) {
    enum { FEW = 16 };
    const size_t n = (size_t)PySequence_Fast_GET_SIZE(items);
    PyObject *few_objects[FEW], **objects, *r;
    const asn_array *few_keys[FEW], **keys;
    if (n <= FEW) return sort_keys(items, axis, few_objects, few_keys);
    objects = PyMem_Malloc(n * sizeof *objects);
    keys = PyMem_Malloc(n * sizeof *keys);
    r = objects && keys ? sort_keys(items, axis, objects, keys) : PyErr_NoMemory();
    PyMem_Free(objects);
    PyMem_Free(keys);
    return r;
}

/* (keys, axis): an array's first axis counts its keys. */
static PyObject *f_lexsort(PyObject *const *v) {
    int64_t axis = -1;
    if (asn_int64_from_py(v[1], &axis) < 0) return NULL;
    if (!PySequence_Check(v[0]))
        return PyErr_Format(PyExc_TypeError, "object of type '%s' has no len()",
                            Py_TYPE(v[0])->tp_name);
    PyObject *items = asn_items_of(v[0], "keys are a sequence");
    PyObject *r = items ? lexsort(items, axis) : NULL;
    Py_XDECREF(items);
    return r;
}

/* ---- by mask */

/* What is put into elements of a dtype: numbers that it has, arrays that cast to it
 * safely, or what makes its elements (a list is read as that dtype). *owner: to be
 * released after the call. -1: an error. */
static int put_operand(PyObject *given, asn_dtype dtype, asn_operand *out,
                       PyObject **owner) {
    /* The numbers that need no array: they fit exactly, or the general way says why not.
     */
    bool number = (PyFloat_CheckExact(given) && dtype == ASN_F64) ||
                  (PyLong_CheckExact(given) && (dtype == ASN_F64 || dtype == ASN_I64));
    *owner = NULL;
    *out = (asn_operand){.array = NULL};
    /* A number that does not fit is an error further on, of the array's cast. */
    if (number && asn_scalar_pack(given, dtype, &out->scalar) == 0) return 0;
    PyErr_Clear();
    PyObject *array = asn_is_ndarray(given) || PyArray_Check(given)
                          ? asn_asarray(given)
                          : asn_asarray_dtype(given, dtype);
    if (!array) return -1;
    asn_dtype from = asn_dtype_of(array);
    if (from != dtype && !asn_can_cast(from, dtype, ASN_CASTING_SAFE)) {
        PyErr_Format(PyExc_TypeError,
                     "Cannot cast %s from dtype('%s') to dtype('%s') according to the "
                     "rule 'safe'",
                     asn_of(array)->layout.ndim ? "array data" : "scalar",
                     asn_dtype_name(from), asn_dtype_name(dtype));
        Py_DECREF(array);
        return -1;
    }
    *owner = array;
    out->array = asn_of(array);
    return 0;
}

/* place and putmask: (a, mask, values). The core checks the sizes. What is NumPy's NumPy
 * writes to, upon the HostDtypeError. */
static PyObject *put_where(PyObject *const *v,
                           asn_status (*call)(const asn_array *a, const asn_array *mask,
                                              const asn_operand *values)) {
    if (PyArray_Check(v[0]))
        return PyErr_Format(asn_py.host_dtype, "the array written to is the host's");
    if (!asn_is_ndarray(v[0]))
        return PyErr_Format(PyExc_TypeError, "argument 1 must be asnumpy.ndarray, not %s",
                            Py_TYPE(v[0])->tp_name);
    asn_operand values;
    PyObject *mask = asn_asarray(v[1]), *owner = NULL;
    int rc = mask ? put_operand(v[2], asn_dtype_of(v[0]), &values, &owner) : -1;
    asn_status status = rc < 0 ? ASN_OK : call(asn_of(v[0]), asn_of(mask), &values);
    Py_XDECREF(mask);
    Py_XDECREF(owner);
    if (status) asn_raise(status);
    if (rc < 0 || status || asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* place repeats its values in the order of the true elements, putmask by position. */
static PyObject *f_place(PyObject *const *v) {
    return put_where(v, asn_np_place);
}
static PyObject *f_putmask(PyObject *const *v) {
    return put_where(v, asn_np_putmask);
}

asn_function_def asn_picking_functions[] = {
    ASN_FUNCTION("take_along_axis", "arr, indices, axis=-1", f_take_along_axis,
                 "Elements picked along an axis by an index array of matching shape."),
    ASN_FUNCTION("put_along_axis", "arr, indices, values, axis", f_put_along_axis,
                 "Elements put along an axis by an index array of matching shape."),
    ASN_FUNCTION("lexsort", "keys, axis=-1", f_lexsort,
                 "The order of an indirect stable sort with several keys, the last one "
                 "first in rank."),
    ASN_FUNCTION("place", "arr, mask, vals", f_place,
                 "Sets the elements where mask is true, values repeating in order."),
    ASN_FUNCTION("putmask", "a, /, mask, values", f_putmask,
                 "Sets the elements where mask is true to the values at the same "
                 "positions, repeating."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
