/* L3 python: where, dot, bincount, copyto, result_type, promote_types, can_cast,
 * may_share_memory.
 *
 * Arguments are read here; what bincount refuses and casts is numpy/ordering.h's.
 * Promotion (result_type, can_cast) looks at dtypes, arrays and numbers by NumPy's rules
 * of NEP 50: a Python number takes part by its kind alone. A dtype argument of None is
 * float64, as numpy.dtype(None) is. */
#include "numpy/ordering.h"
#include "python/functions/function.h"

/* where(condition, x, y, /): without x and y the positions, as nonzero(). x and y take
 * part in promotion, numbers by their kind; the condition is cast to bool. */
static PyObject *f_where(PyObject *const *v) {
    /* Absent, not None: None would be an object. */
    if (!v[1] != !v[2]) {
        PyErr_SetString(PyExc_ValueError,
                        "either both or neither of x and y should be given");
        return NULL;
    }
    PyObject *condition = asn_asarray(v[0]), *owner[2] = {NULL, NULL}, *r = NULL;
    if (!condition) return NULL;
    if (!v[1]) {
        r = asn_nonzero_run(condition);
        Py_DECREF(condition);
        return r;
    }
    asn_operand x, y;
    if (asn_dtype_of(condition) != ASN_BOOL)
        Py_SETREF(condition, asn_asarray_dtype(condition, ASN_BOOL));
    if (condition && asn_operand_from_py(v[1], &x, &owner[0]) == 0 &&
        asn_operand_from_py(v[2], &y, &owner[1]) == 0) {
        asn_ndarray *result = asn_ndarray_alloc();
        /* where always gives an array, 0-d included. */
        asn_status status =
            result ? asn_where(&result->array, asn_of(condition), &x, &y) : ASN_OK;
        if (status != ASN_OK) {
            asn_ndarray_drop(result);
            asn_raise(status);
        } else {
            r = asn_ndarray_finish_array(result);
        }
    }
    Py_XDECREF(condition);
    Py_XDECREF(owner[0]);
    Py_XDECREF(owner[1]);
    return r;
}

/* (a, b, out). A scalar operand multiplies, as in NumPy. */
static PyObject *f_dot(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]), *b = a ? asn_asarray(v[1]) : NULL;
    PyObject *r = b ? asn_dot_run(a, b, v[2]) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

/* What bincount counts. An array is counted as it is, or must cast to int64 safely; a
 * list is read as integers; others in it are an error from NumPy 2.5 on, a warning before
 * (an empty one holds none). */
static PyObject *counted(PyObject *given) {
    if (asn_is_ndarray(given) || PyArray_Check(given)) return asn_asarray(given);
    PyObject *x = asn_asarray(given);
    if (!x && (asn_numpy_2_5() || !PyErr_ExceptionMatches(asn_py.host_dtype)))
        return NULL;
    PyErr_Clear();
    if (x && (asn_is_integer(asn_dtype_of(x)) || asn_dtype_of(x) == ASN_BOOL)) return x;
    if (x && asn_of(x)->layout.ndim == 0) { /* told before what it is a number of */
        PyErr_SetString(PyExc_ValueError, "object of too small depth for desired array");
        Py_DECREF(x);
        return NULL;
    }
    /* An empty list is float64, which is no reason to warn. */
    bool empty = x && asn_of(x)->layout.size == 0;
    if (asn_numpy_2_5() && !empty) return x; /* asn_np_bincount refuses it */
    Py_XDECREF(x);
    if (!empty &&
        PyErr_WarnEx(
            PyExc_DeprecationWarning,
            "Non-integer input passed to bincount. In a future version of NumPy, "
            "this will be an error. (Deprecated NumPy 2.1)",
            1) < 0)
        return NULL;
    return asn_asarray_dtype(given, ASN_I64);
}

/* bincount(x, /, weights, minlength): as many counts as the largest element needs, so it
 * is a synchronisation. Without weights int64, with weights float64. */
static PyObject *f_bincount(PyObject *const *v) {
    PyObject *x = counted(v[0]);
    PyObject *weights = NULL, *r = NULL;
    int64_t minlength = 0;
    if (!x || asn_index_from_py(v[2], &minlength) < 0) goto done;
    if (v[1] && v[1] != Py_None) {
        weights = asn_asarray(v[1]);
        if (!weights) goto done;
    }
    asn_ndarray *result = asn_ndarray_alloc();
    if (result)
        r = asn_ndarray_finish(result, asn_np_bincount(&result->array, asn_of(x),
                                                       weights ? asn_of(weights) : NULL,
                                                       minlength));
done:
    Py_XDECREF(x);
    Py_XDECREF(weights);
    return r;
}

/* What copyto copies; a Python integer beyond every dtype as a float, into floats, or the
 * error that it is an object. *owner: to be released after the call. */
static int source_from_py(PyObject *obj, asn_dtype dst, asn_operand *src,
                          PyObject **owner) {
    if (asn_operand_from_py(obj, src, owner) == 0) return 0;
    if (!asn_is_inexact(dst) || !asn_integer_is_object(obj)) return -1;
    PyErr_Clear();
    *src = (asn_operand){NULL, {0}, 0};
    return asn_scalar_pack(obj, dst, &src->scalar);
}

/* copyto(dst, src, casting, where): None. dst may be a NumPy array, which is written
 * before the caller looks. */
static PyObject *f_copyto(PyObject *const *v) {
    asn_array *dst;
    PyObject *dst_owner, *src_owner = NULL, *where_owner = NULL;
    asn_operand src;
    asn_casting casting = ASN_CASTING_SAME_KIND;
    const asn_array *where = NULL;
    if (!asn_is_ndarray(v[0]) && !PyArray_Check(v[0])) {
        PyErr_Format(PyExc_TypeError,
                     "copyto() argument 1 must be asnumpy.ndarray, not %s",
                     Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    if (asn_out_from_py(v[0], &dst, &dst_owner) < 0) {
        if (PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "assignment destination is read-only");
        }
        return NULL;
    }
    asn_status status = ASN_OK;
    bool ok =
        asn_casting_from_py(v[2], &casting) == 0 &&
        source_from_py(v[1], asn_layout_dtype(&dst->layout), &src, &src_owner) == 0 &&
        asn_where_from_py(v[3], &where, &where_owner) == 0;
    if (ok && src.weak) { /* a Python number takes dst's dtype when its kind allows */
        asn_type types[2] = {{dst->layout.dtype, 0}, {ASN_DTYPE_NONE, src.weak}};
        /* src as NumPy's asarray would have it */
        asn_dtype common = asn_result_type(2, types);
        src.weak = 0;
        ok = asn_scalar_pack(v[1], common, &src.scalar) == 0;
    }
    if (ok) {
        asn_dtype from =
            src.array ? (asn_dtype)src.array->layout.dtype : (asn_dtype)src.scalar.dtype;
        /* Checked before the copy is recorded, so that dst stays as it is. */
        ok = asn_can_cast(from, (asn_dtype)dst->layout.dtype, casting);
        if (!ok)
            PyErr_Format(
                PyExc_TypeError,
                "Cannot cast array data from dtype('%s') to dtype('%s') according to the "
                "rule '%s'",
                asn_dtype_name(from), asn_dtype_name((asn_dtype)dst->layout.dtype),
                asn_casting_name(casting));
    }
    if (ok) status = asn_assign(dst, &src, casting, where);
    /* A NumPy array is written before the caller can look at it. */
    if (ok && status == ASN_OK) status = asn_out_written(v[0], dst, dst_owner);
    Py_XDECREF(dst_owner);
    Py_XDECREF(src_owner);
    Py_XDECREF(where_owner);
    if (status != ASN_OK) return asn_raise(status);
    if (!ok || asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* An array's, scalar's or dtype's part in promotion: anything that numpy.dtype() takes
 * counts as a dtype, else as an array. -1: an error. */
static int type_from_py(PyObject *obj, asn_type *out) {
    asn_operand o;
    out->weak = 0;
    if (asn_is_ndarray(obj)) {
        out->dtype = (uint8_t)asn_dtype_of(obj);
        return 0;
    }
    /* Python numbers are weak, NumPy's scalars are of their dtype. */
    int known = asn_scalar_operand(obj, &o);
    if (known < 0) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
        PyErr_Clear(); /* a Python int of any size is weak */
        o.weak = 'i';
        known = 1;
    }
    if (known) {
        out->weak = o.weak;
        out->dtype = o.weak ? ASN_DTYPE_NONE : o.scalar.dtype;
        return 0;
    }
    asn_dtype dtype;
    if (PyArray_Check(obj)) obj = (PyObject *)PyArray_DESCR((PyArrayObject *)obj);
    if (obj != Py_None && asn_dtype_from_py(obj, &dtype) == 0) {
        out->dtype = (uint8_t)dtype;
        return 0;
    }
    if (obj == Py_None) {
        out->dtype = ASN_F64;
        return 0;
    }
    PyErr_Clear();
    PyObject *a = asn_asarray(obj);
    if (!a) return -1;
    out->dtype = (uint8_t)asn_dtype_of(a);
    Py_DECREF(a);
    return 0;
}

/* (*arrays_and_dtypes): of arrays and numbers by NEP 50, of any mixture of them. */
static PyObject *f_result_type(PyObject *const *v) {
    Py_ssize_t n = PyTuple_GET_SIZE(v[0]);
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "at least one array or dtype is required");
        return NULL;
    }
    /* Promotion is of all at once: it is not associative where weak numbers take part. */
    asn_type *types = PyMem_New(asn_type, (size_t)n);
    if (!types) return PyErr_NoMemory();
    int rc = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        rc = type_from_py(PyTuple_GET_ITEM(v[0], i), &types[i]);
    PyObject *r = rc == 0 ? asn_descr_object(asn_result_type((int)n, types)) : NULL;
    PyMem_Free(types);
    return r;
}

/* (type1, type2): of dtypes alone, of which None is float64. Promotion is a table
 * (array/promote.h). */
static PyObject *f_promote_types(PyObject *const *v) {
    asn_dtype a, b;
    /* One dtype twice stays what it is, with the metadata that only NumPy keeps; records
     * lose their padding. */
    if (v[0] == v[1] && PyArray_DescrCheck(v[0]) &&
        ((PyArray_Descr *)v[0])->type_num != NPY_VOID &&
        PyArray_ISNBO(((PyArray_Descr *)v[0])->byteorder))
        return Py_NewRef(v[0]);
    if (asn_dtype_from_py(v[0], &a) < 0 || asn_dtype_from_py(v[1], &b) < 0) return NULL;
    if (a == ASN_DTYPE_NONE) a = ASN_F64;
    if (b == ASN_DTYPE_NONE) b = ASN_F64;
    return asn_descr_object(asn_promote(a, b));
}

/* can_cast(from_, to, casting): from_ is a dtype, an array or a NumPy scalar, by its
 * dtype alone (NEP 50). */
static PyObject *f_can_cast(PyObject *const *v) {
    asn_casting casting = ASN_CASTING_SAFE;
    asn_dtype from, to;
    if (v[0] == Py_None || v[1] == Py_None) {
        PyErr_SetString(PyExc_TypeError, "can_cast() needs two dtypes, got None");
        return NULL;
    }
    if (asn_casting_from_py(v[2], &casting) < 0 || asn_dtype_from_py(v[1], &to) < 0)
        return NULL;
    if (asn_is_ndarray(v[0])) {
        from = asn_dtype_of(v[0]);
    } else if (PyLong_CheckExact(v[0]) || PyFloat_CheckExact(v[0]) ||
               PyComplex_CheckExact(v[0])) {
        PyErr_SetString(
            PyExc_TypeError,
            "can_cast() does not support Python ints, floats, and complex because the "
            "result used to depend on the value.\nThis change was part of adopting "
            "NEP 50, we may explicitly allow them again in the future.");
        return NULL;
    } else if (PyArray_IsScalar(v[0], Generic) || PyArray_Check(v[0])) {
        PyObject *a = asn_asarray(v[0]);
        if (!a) return NULL;
        from = asn_dtype_of(a);
        Py_DECREF(a);
    } else if (asn_dtype_from_py(v[0], &from) < 0) {
        return NULL;
    }
    if (from == ASN_DTYPE_NONE) from = ASN_F64;
    if (to == ASN_DTYPE_NONE) to = ASN_F64;
    return PyBool_FromLong(asn_can_cast(from, to, casting));
}

/* (a, b, max_work): whether the bounds of two arrays overlap, which says nothing of
 * elements that lie between each other's; with max_work= what NumPy finds out. Lists make
 * arrays of their own, so they never do. */
static PyObject *f_may_share_memory(PyObject *const *v) {
    if (v[2]) return asn_support_call("may_share_memory", v, 3);
    if (PyArray_Check(v[0]) &&
        PyArray_Check(v[1])) { /* where a device has copies of them */
        PyObject *bounds = PyLong_FromLong(0);
        PyObject *both[] = {v[0], v[1], bounds};
        PyObject *found = bounds ? asn_support_call("may_share_memory", both, 3) : NULL;
        Py_XDECREF(bounds);
        return found;
    }
    PyObject *a = asn_asarray(v[0]), *b = a ? asn_asarray(v[1]) : NULL, *r = NULL;
    if (b) {
        r = PyBool_FromLong(asn_array_may_share(asn_of(a), asn_of(b)));
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

/* (a, b): how many bytes the first element of b lies behind that of a; None where they
 * are in no one memory, or have none yet. */
static PyObject *f_distance(PyObject *const *v) {
    int64_t bytes;
    if (!asn_array_distance(asn_of(v[0]), asn_of(v[1]), &bytes)) Py_RETURN_NONE;
    return PyLong_FromLongLong((long long)bytes);
}

asn_function_def asn_select_functions[] = {
    ASN_FUNCTION("_distance", "a, b, /", f_distance,
                 "Bytes between the first elements of two arrays."),
    ASN_FUNCTION("where", "condition, x=None, y=None, /", f_where,
                 "x where the condition holds, else y; or the indices where it holds."),
    ASN_FUNCTION("dot", "a, b, out=None", f_dot,
                 "Product of vectors, matrices or tensors."),
    ASN_FUNCTION("bincount", "x, /, weights=None, minlength=0", f_bincount,
                 "How often each non-negative integer occurs."),
    ASN_FUNCTION("copyto", "dst, src, casting='same_kind', where=True", f_copyto,
                 "Copies elements into an array."),
    ASN_FUNCTION("result_type", "*arrays_and_dtypes", f_result_type,
                 "The dtype that operands promote to."),
    ASN_FUNCTION("promote_types", "type1, type2, /", f_promote_types,
                 "The smallest dtype that two dtypes cast to safely.", .asks_none = true),
    ASN_FUNCTION("can_cast", "from_, to, casting='safe'", f_can_cast,
                 "Whether a cast is allowed by a rule."),
    ASN_FUNCTION("may_share_memory", "a, b, /, max_work=0", f_may_share_memory,
                 "Whether the memory bounds of two arrays overlap."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
