/* L3 python: what asnumpy.autocast and asnumpy.precision are written with
 * (precision/precision.h). These functions are private.
 *
 * A context's settings are a value of one context variable: bytes that hold the core's
 * struct, which only _precision_pack makes. Threads and asyncio tasks therefore have
 * their own, and leaving a block is ContextVar.reset, whatever was raised in it. The core
 * reads the variable at each product of float32, once the package has been imported.
 *
 * The package checks what its users give and says what is allowed; what a decision needs,
 * and every refusal of a dtype, a shape or a number, is the core's, so that programs in C
 * get the same sentences. Dtypes come back by name: bfloat16 has no object until
 * ml_dtypes is imported, which a program that never asks for it is spared. */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include <string.h>

#include "graph/lock.h"
#include "precision/precision.h"

/* Made with the first settings; lives as long as the process. */
static PyObject *variable;

/* The core's question: a product's caller holds Python's lock. What cannot be read
 * narrows nothing, and is said. */
static asn_precision present(void) {
    asn_precision p = {.dtype = ASN_F32};
    PyObject *value = NULL;
    if (ASN_FREE_THREADED && !PyGILState_Check()) return p; /* no thread of Python's */
    if (PyContextVar_Get(variable, NULL, &value) < 0) PyErr_WriteUnraisable(variable);
    if (value && PyBytes_CheckExact(value) && PyBytes_GET_SIZE(value) == sizeof p)
        memcpy(&p, PyBytes_AS_STRING(value), sizeof p);
    Py_XDECREF(value);
    return p;
}

/* (): the variable, from the first call on asked at each product. */
static PyObject *f_variable(PyObject *const *Py_UNUSED(v)) {
    if (!variable) {
        variable = PyContextVar_New("asnumpy.autocast", NULL);
        if (!variable) return NULL;
        asn_precision_source(present);
    }
    return Py_NewRef(variable);
}

/* (dtype, automatic, unchecked, error): the variable's value. Every byte of it is set,
 * the struct's holes too, so that equal settings are equal bytes. */
static PyObject *f_pack(PyObject *const *v) {
    asn_precision p;
    memset(&p, 0, sizeof p);
    if (asn_dtype_from_py(v[0], &p.dtype) < 0 ||
        asn_bool_from_py(v[1], &p.automatic) < 0 ||
        asn_bool_from_py(v[2], &p.unchecked) < 0)
        return NULL;
    p.error = PyFloat_AsDouble(v[3]);
    if (p.error == -1 && PyErr_Occurred()) return NULL;
    ASN_PY_TRY(asn_precision_check(&p));
    return PyBytes_FromStringAndSize((const char *)&p, sizeof p);
}

/* (): (dtype's name, automatic, checked, error) of the caller's settings. */
static PyObject *f_present(PyObject *const *Py_UNUSED(v)) {
    const asn_precision p = asn_precision_present();
    return Py_BuildValue("(sOOd)", asn_dtype_name(p.dtype),
                         p.automatic ? Py_True : Py_False,
                         p.unchecked ? Py_False : Py_True, p.error);
}

/* (clear): counts by name, as a dict; they are those of all threads and contexts. */
static PyObject *f_counts(PyObject *const *v) {
    bool clear;
    if (asn_bool_from_py(v[0], &clear) < 0) return NULL;
    const asn_precision_counts c = asn_precision_count(clear);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "float32", (long long)c.float32,
                         "bfloat16", (long long)c.bfloat16, "float16",
                         (long long)c.float16, "int8", (long long)c.int8, "beyond_range",
                         (long long)c.beyond_range, "beyond_error",
                         (long long)c.beyond_error);
}

/* (tensor, kind, rows, transposed, for_memory, error): (compute, memory, error, gain,
 * reason). The tensor is an array of ours. */
static PyObject *f_decide(PyObject *const *v) {
    asn_precision_question q;
    asn_precision_decision d;
    int64_t kind;
    if (asn_int64_from_py(v[1], &kind) < 0 || asn_int64_from_py(v[2], &q.rows) < 0 ||
        asn_bool_from_py(v[3], &q.transposed) < 0 ||
        asn_bool_from_py(v[4], &q.for_memory) < 0)
        return NULL;
    q.kind = (asn_precision_class)kind;
    q.error = PyFloat_AsDouble(v[5]);
    if (q.error == -1 && PyErr_Occurred()) return NULL;
    PyObject *tensor = asn_asarray(v[0]);
    if (!tensor) return NULL;
    asn_status status = asn_precision_decide(asn_of(tensor), &q, &d);
    Py_DECREF(tensor);
    ASN_PY_TRY(status);
    return Py_BuildValue("(ssdds)", asn_dtype_name(d.compute), asn_dtype_name(d.memory),
                         d.error, d.gain, d.reason);
}

/* (): a list of (dtype's name, stored, m, k, n, batch, float32_ns, ns). Others may
 * measure meanwhile: each is read under the lock, into memory of no Python object's. */
static PyObject *f_gains(PyObject *const *Py_UNUSED(v)) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list; i++) {
        asn_precision_gain g;
        asn_lock();
        const bool there = i < asn_precision_gain_count();
        if (there) g = asn_precision_gain_at(i);
        asn_unlock();
        if (!there) break;
        PyObject *row =
            Py_BuildValue("(sOLLLLdd)", asn_dtype_name(g.dtype),
                          g.stored ? Py_True : Py_False, (long long)g.m, (long long)g.k,
                          (long long)g.n, (long long)g.batch, g.float32_ns, g.ns);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* (x, axis): (q, scale), both arrays; axis is not negative. */
static PyObject *f_quantise(PyObject *const *v) {
    int64_t axis;
    if (asn_int64_from_py(v[1], &axis) < 0) return NULL;
    PyObject *x = asn_asarray(v[0]), *pair = NULL;
    asn_ndarray *q = x ? asn_ndarray_alloc() : NULL;
    asn_ndarray *scale = q ? asn_ndarray_alloc() : NULL;
    if (scale) {
        asn_status status =
            asn_precision_quantise(&q->array, &scale->array, asn_of(x), (int)axis);
        if (status) {
            asn_ndarray_drop(scale);
            asn_ndarray_drop(q);
            asn_raise(status);
        } else {
            pair = Py_BuildValue("(NN)", asn_ndarray_finish_array(q),
                                 asn_ndarray_finish_array(scale));
        }
    } else if (q) {
        asn_ndarray_drop(q);
    }
    Py_XDECREF(x);
    return pair;
}

/* (q, scale): float32. Both are arrays of ours, which a QuantizedArray keeps. */
static PyObject *f_dequantise(PyObject *const *v) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    return asn_ndarray_finish(
        r, asn_precision_dequantise(&r->array, asn_of(v[0]), asn_of(v[1])));
}

/* (a, q, scale): their product; a is any array-like, the others are arrays of ours. */
static PyObject *f_int8_product(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]), *made = NULL;
    asn_ndarray *r = a ? asn_ndarray_alloc() : NULL;
    if (r) {
        asn_lock();
        asn_status status =
            asn_precision_multiply_int8(asn_of(a), asn_of(v[1]), asn_of(v[2]), &r->array);
        asn_unlock();
        made = asn_ndarray_finish(r, status);
    }
    Py_XDECREF(a);
    return made;
}

asn_function_def asn_precision_functions[] = {
    ASN_FUNCTION("_precision_variable", "", f_variable, "The context variable."),
    ASN_FUNCTION("_precision_pack", "dtype, automatic, unchecked, error, /", f_pack,
                 "Settings as the variable has them."),
    ASN_FUNCTION("_precision_present", "", f_present, "The caller's settings."),
    ASN_FUNCTION("_precision_counts", "clear, /", f_counts, "Products by dtype."),
    ASN_FUNCTION("_precision_decide",
                 "tensor, kind, rows, transposed, for_memory, error, /", f_decide,
                 "A decision."),
    ASN_FUNCTION("_precision_gains", "", f_gains, "What was measured."),
    ASN_FUNCTION("_quantise", "x, axis, /", f_quantise, "(q, scale)"),
    ASN_FUNCTION("_dequantise", "q, scale, /", f_dequantise, "q * scale"),
    ASN_FUNCTION("_int8_product", "a, q, scale, /", f_int8_product, "a @ (q * scale)"),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
