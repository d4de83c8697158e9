/* L3 python: what asnumpy.sparse is written with: products in CSR, and patterns in
 * capsules (sparse/pattern.h). The classes make arrays of ours and ints of what they are
 * given; shapes, dtypes and thresholds are the core's to refuse, with the message that C
 * programs get. Thresholds are tuples of three floats, None where a strategy looks at
 * none. These functions are private.
 *
 * The classes are sparse/_pattern.py and sparse/_optimizer.py; csr @ dense comes here,
 * too, with the direct strategy (sparse/_product.py). A pattern in a capsule does not
 * change, so that threads may share one without a lock; Python keeps it until the call
 * that was given it is over. Results are wrapped as ndarray, the base class: of a sparse
 * array there is no subclass to keep.
 *
 * What the core waits for (whether b is finite, where rows begin, for blocks) is waited
 * for without the library's lock, which the graph's functions take and leave themselves;
 * other threads of Python's run meanwhile. */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include "graph/lock.h"
#include "runtime/device.h"
#include "sparse/pattern.h"

static const char PATTERN[] = "asnumpy.sparse_pattern";

/* What a capsule holds, borrowed; NULL: another object, with Python's error. */
static asn_sparse_pattern *pattern_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, PATTERN);
}

/* A capsule's end may come on any thread; freeing takes no lock of the library's. */
static void end_pattern(PyObject *capsule) {
    asn_sparse_pattern_free(pattern_of(capsule));
}

/* A capsule, which takes `made`; NULL: Python's error. */
static PyObject *capsule_of(asn_sparse_pattern *made) {
    PyObject *capsule = PyCapsule_New(made, PATTERN, end_pattern);
    if (!capsule) asn_sparse_pattern_free(made);
    return capsule;
}

/* One of ours, subclasses included, borrowed from the arguments; NULL: another object,
 * with Python's error. */
static const asn_array *array_from(PyObject *value) {
    if (asn_is_ndarray(value)) return asn_of(value);
    PyErr_Format(PyExc_TypeError, "sparse products take asnumpy arrays, got %s",
                 Py_TYPE(value)->tp_name);
    return NULL;
}

/* 0, or -1 with an error; *used is `room`, or NULL for None. */
static int thresholds_from(PyObject *value, asn_sparse_thresholds *room,
                           const asn_sparse_thresholds **used) {
    *used = value == Py_None ? NULL : room;
    if (value == Py_None) return 0;
    if (!PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "thresholds are a tuple of three floats");
        return -1;
    }
    return PyArg_ParseTuple(value, "ddd", &room->direct, &room->blocked, &room->inner)
               ? 0
               : -1;
}

/* A strategy by its number, which the core checks; -1 stands for all that an enum may not
 * hold. */
static int strategy_from(PyObject *value, asn_sparse_strategy *out) {
    int64_t number;
    if (asn_int64_from_py(value, &number) < 0) return -1;
    *out = (asn_sparse_strategy)(number < -1 || number > INT32_MAX ? -1 : number);
    return 0;
}

/* (indptr, indices, data, b, strategy, thresholds): rows are indptr's, columns b's. A new
 * array; direct on the CPU device it is recorded or queued, and a capture may hold it. */
static PyObject *f_sparse_matmul(PyObject *const *v) {
    const asn_array *all[4];
    asn_sparse_thresholds room;
    const asn_sparse_thresholds *t;
    asn_sparse_strategy strategy;
    asn_array out;
    for (int i = 0; i < 4; i++)
        if (!(all[i] = array_from(v[i]))) return NULL;
    if (strategy_from(v[4], &strategy) < 0 || thresholds_from(v[5], &room, &t) < 0)
        return NULL;
    const asn_layout *b = &all[3]->layout;
    const asn_sparse_left left = {.rows = all[0]->layout.size - 1,
                                  .cols = b->ndim ? b->shape[0] : 0,
                                  .indptr = all[0],
                                  .indices = all[1],
                                  .data = all[2]};
    ASN_PY_TRY(asn_sparse_times(&out, &left, all[3], strategy, t));
    return asn_ndarray_wrap(&out);
}

/* (mask): a capsule; the mask is copied and waited for. */
static PyObject *f_sparse_pattern(PyObject *const *v) {
    const asn_array *mask = array_from(v[0]);
    asn_sparse_pattern *made;
    if (!mask) return NULL;
    ASN_PY_TRY(asn_sparse_pattern_new(mask, &made));
    return capsule_of(made);
}

/* (rows, cols, lower, upper): a capsule. No array is among the arguments, so that this
 * may be the first call that needs the device. */
static PyObject *f_sparse_banded(PyObject *const *v) {
    int64_t n[4];
    asn_sparse_pattern *made;
    for (int i = 0; i < 4; i++)
        if (asn_int64_from_py(v[i], &n[i]) < 0) return NULL;
    ASN_PY_TRY(asn_device_open());
    ASN_PY_TRY(asn_sparse_pattern_banded(n[0], n[1], n[2], n[3], &made));
    return capsule_of(made);
}

/* (blocks, height, width, rows, cols): a capsule; the class gives whole blocks where it
 * was told no shape. */
static PyObject *f_sparse_blocks(PyObject *const *v) {
    const asn_array *blocks = array_from(v[0]);
    int64_t n[4];
    asn_sparse_pattern *made;
    for (int i = 0; blocks && i < 4; i++)
        if (asn_int64_from_py(v[i + 1], &n[i]) < 0) return NULL;
    if (!blocks) return NULL;
    ASN_PY_TRY(asn_sparse_pattern_blocks(blocks, n[0], n[1], n[2], n[3], &made));
    return capsule_of(made);
}

/* (pattern): (mask, indptr, indices), copies: what a program writes into them leaves the
 * pattern as it is. */
static PyObject *f_sparse_parts(PyObject *const *v) {
    const asn_sparse_pattern *p = pattern_of(v[0]);
    if (!p) return NULL;
    const asn_array *from[3] = {&p->mask, &p->indptr, &p->indices};
    PyObject *all = PyTuple_New(3);
    for (int i = 0; i < 3 && all; i++) {
        asn_array copy;
        const asn_status status =
            asn_copy(&copy, from[i], asn_layout_dtype(&from[i]->layout), 'C');
        if (status) Py_DECREF(all);
        ASN_PY_TRY(status);
        PyObject *made = asn_ndarray_wrap(&copy);
        if (!made) Py_CLEAR(all);
        if (made) PyTuple_SET_ITEM(all, i, made);
    }
    return all;
}

/* (pattern, thresholds): (density, count, filled blocks, dense blocks, strategy, why,
 * each row's count, each block's density). */
static PyObject *f_sparse_analyze(PyObject *const *v) {
    const asn_sparse_pattern *p = pattern_of(v[0]);
    asn_sparse_thresholds room;
    const asn_sparse_thresholds *t;
    asn_sparse_analysis f;
    if (!p || thresholds_from(v[1], &room, &t) < 0) return NULL;
    if (!t) return PyErr_Format(PyExc_TypeError, "analyze needs thresholds");
    const int64_t blocks = (p->rows + ASN_SPARSE_BLOCK - 1) / ASN_SPARSE_BLOCK;
    double *density = PyMem_Malloc((size_t)(blocks + 1) * sizeof *density);
    if (!density) return PyErr_NoMemory();
    const asn_status status = asn_sparse_analyze(p, t, &f, blocks, density);
    PyObject *shares = status ? NULL : PyTuple_New(blocks);
    PyObject *counts = shares ? PyTuple_New(p->rows) : NULL;
    for (int64_t i = 0; counts && i < blocks; i++) {
        PyObject *share = PyFloat_FromDouble(density[i]);
        if (!share) Py_CLEAR(counts);
        if (share) PyTuple_SET_ITEM(shares, i, share);
    }
    for (int64_t i = 0; counts && i < p->rows; i++) {
        PyObject *count = PyLong_FromLongLong(p->ends[i + 1] - p->ends[i]);
        if (!count) Py_CLEAR(counts);
        if (count) PyTuple_SET_ITEM(counts, i, count);
    }
    PyMem_Free(density);
    ASN_PY_TRY(status);
    if (!counts) {
        Py_XDECREF(shares);
        return NULL;
    }
    return Py_BuildValue("(dLLLisNN)", f.density, (long long)f.count, (long long)f.filled,
                         (long long)f.dense, (int)f.strategy, f.why, counts, shares);
}

/* (pattern, a, b, strategy, thresholds): a new array. */
static PyObject *f_sparse_multiply(PyObject *const *v) {
    const asn_sparse_pattern *p = pattern_of(v[0]);
    const asn_array *a = p ? array_from(v[1]) : NULL, *b = a ? array_from(v[2]) : NULL;
    asn_sparse_thresholds room;
    const asn_sparse_thresholds *t;
    asn_sparse_strategy strategy;
    asn_array out;
    if (!b || strategy_from(v[3], &strategy) < 0 || thresholds_from(v[4], &room, &t) < 0)
        return NULL;
    ASN_PY_TRY(asn_sparse_multiply(&out, p, a, b, strategy, t));
    return asn_ndarray_wrap(&out);
}

/* (): the thresholds that are measured once in a process, under the library's lock: of
 * two threads that ask first one waits for the other's. */
static PyObject *f_sparse_measured(PyObject *const *v) {
    (void)v;
    asn_sparse_thresholds t;
    ASN_PY_TRY(asn_device_open());
    asn_lock();
    const asn_status status = asn_sparse_measured(&t);
    asn_unlock();
    ASN_PY_TRY(status);
    return Py_BuildValue("(ddd)", t.direct, t.blocked, t.inner);
}

asn_function_def asn_sparse_functions[] = {
    ASN_FUNCTION("_sparse_matmul", "indptr, indices, data, b, strategy, thresholds, /",
                 f_sparse_matmul, "A sparse matrix in CSR times a dense one."),
    ASN_FUNCTION("_sparse_pattern", "mask, /", f_sparse_pattern, "A pattern."),
    ASN_FUNCTION("_sparse_banded", "rows, cols, lower, upper, /", f_sparse_banded,
                 "A pattern of diagonals."),
    ASN_FUNCTION("_sparse_blocks", "blocks, height, width, rows, cols, /",
                 f_sparse_blocks, "A pattern of blocks."),
    ASN_FUNCTION("_sparse_parts", "pattern, /", f_sparse_parts,
                 "(mask, indptr, indices)"),
    ASN_FUNCTION("_sparse_analyze", "pattern, thresholds, /", f_sparse_analyze,
                 "What a product would do."),
    ASN_FUNCTION("_sparse_multiply", "pattern, a, b, strategy, thresholds, /",
                 f_sparse_multiply, "Elements that count times a dense matrix."),
    ASN_FUNCTION("_sparse_measured", "", f_sparse_measured, "(direct, blocked, inner)"),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
