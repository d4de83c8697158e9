/* L3 python: the first call of a jitted function with arguments of a kind (see jit.h).
 *
 * The function runs, with views of the arguments that it may write through, while a
 * capture is open: reductions to a number and elements are 0-d arrays then, and a look at
 * a value is an error. What is left when it has returned is checked: an array that
 * somebody outside holds would keep the values of this one call.
 *
 * What the function computes is computed in this call, too, so its arrays are the first
 * result; replays make theirs. Every way out closes the capture, which holds the
 * library's lock. */
#include "python/jit/jit.h"

#include <string.h>

/* ---- the capture's two ends */

/* The arrays of objects; nothing is owned. */
static void borrow(PyObject *const *objects, int n, const asn_array **arrays) {
    for (int i = 0; i < n; i++)
        arrays[i] = asn_of(objects[i]);
}

/* Opens the capture; views: objects over the arguments' memory, without bases, new
 * references. -1: an error, and no capture is open. */
static int begin(const asn_jit_key *key, PyObject **views) {
    const asn_array *args[ASN_JIT_ARRAYS];
    int n = key->num_arrays, made = 0;
    /* The capture makes the views; the objects take them when it is open. */
    asn_array *over = PyMem_Calloc((size_t)n + 1, sizeof *over);
    if (!over) return PyErr_NoMemory(), -1;
    for (; made < n && (views[made] = (PyObject *)asn_ndarray_alloc()); made++)
        continue;
    borrow(key->arrays, n, args);
    asn_status status = made == n ? asn_capture_begin(n, args, over) : ASN_OK;
    if (made < n || status) {
        if (status) asn_raise(status);
        while (made > 0)
            asn_ndarray_drop((asn_ndarray *)views[--made]);
        PyMem_Free(over);
        return -1;
    }
    for (int i = 0; i < n; i++)
        asn_array_move(asn_of(views[i]), &over[i]);
    PyMem_Free(over);
    return 0;
}

/* -1: RuntimeError, arrays of the trace are alive beside the `num` that are held here. A
 * cycle that nobody reaches does not count: the collector runs before the second look. */
static int check_alive(const asn_jit *jit, int num, const asn_array *const *arrays) {
    int alive = 0;
    for (int turn = 0; turn < 2; turn++) {
        ASN_PY_TRY_INT(asn_capture_alive(num, arrays, &alive));
        if (alive && turn == 0) PyGC_Collect();
    }
    if (!alive) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "jit: %d array%s made while %R was traced %s held by something that "
                 "outlives the call, which later calls would not set; return %s instead",
                 alive, alive == 1 ? "" : "s", jit->function, alive == 1 ? "is" : "are",
                 alive == 1 ? "it" : "them");
    return -1;
}

/* Ends the capture with the result's arrays as what a replay makes; *replay NULL: it has
 * nothing to launch again. -1: an error, the capture is still open. */
static int end(const asn_jit *jit, const asn_jit_key *key, const asn_jit_tree *tree,
               PyObject *const *views, asn_replay **replay) {
    int n = (int)PyList_GET_SIZE(tree->arrays), held = n, num_views = key->num_arrays;
    const asn_array **arrays = PyMem_Calloc((size_t)(n + num_views) + 1, sizeof *arrays);
    if (!arrays) return PyErr_NoMemory(), -1;
    borrow(((PyListObject *)tree->arrays)->ob_item, n, arrays);
    /* Views of the arguments are alive too, but for those that were returned. */
    for (int i = 0; i < num_views; i++) {
        bool returned = false;
        for (int k = 0; k < n; k++)
            returned |= arrays[k] == asn_of(views[i]);
        if (!returned) arrays[held++] = asn_of(views[i]);
    }
    int rc = check_alive(jit, held, arrays);
    if (rc == 0) {
        asn_status status = asn_capture_end(n, arrays, replay);
        if (status) {
            asn_raise(status);
            rc = -1;
        }
    }
    PyMem_Free(arrays);
    return rc;
}

/* ---- an entry */

/* The extents as a tuple of ints. */
static PyObject *shape_of(const asn_layout *l) {
    PyObject *shape = PyTuple_New(l->ndim);
    for (int d = 0; shape && d < l->ndim; d++) {
        PyObject *extent = PyLong_FromLongLong(l->shape[d]);
        if (!extent) Py_CLEAR(shape);
        if (shape) PyTuple_SET_ITEM(shape, d, extent);
    }
    return shape;
}

/* "float64 (3, 4)" for each array of a call: what explain shows. */
static PyObject *describe(const asn_jit_key *key) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < key->num_arrays; i++) {
        const asn_layout *l = &asn_of(key->arrays[i])->layout;
        PyObject *shape = shape_of(l);
        PyObject *text = shape ? PyUnicode_FromFormat(
                                     "%s %R", asn_dtype_name(asn_layout_dtype(l)), shape)
                               : NULL;
        Py_XDECREF(shape);
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* An entry of the call; takes *tree and replay. NULL: memory ran out; the replay is still
 * the caller's. */
static asn_jit_entry *entry_new(const asn_jit_key *key, asn_jit_tree *tree,
                                asn_replay *replay) {
    asn_jit_entry *e = PyMem_Calloc(1, sizeof *e);
    if (!e) return NULL;
    e->refs = 1;
    e->replay = replay;
    e->tree = *tree;
    *tree = (asn_jit_tree){0};
    asn_replay_info info;
    asn_replay_get_info(replay, &info);
    e->constants = info.constants > 0;
    e->num_arrays = key->num_arrays;
    e->num_results = (int)PyList_GET_SIZE(e->tree.arrays);
    e->hash = key->hash;
    e->length = key->length;
    e->key = PyMem_Malloc(key->length);
    e->statics = PyMem_Calloc((size_t)key->num_statics + 1, sizeof *e->statics);
    e->signature = describe(key);
    if (e->key && e->statics && e->signature) {
        memcpy(e->key, key->bytes, key->length);
        for (int i = 0; i < key->num_statics; i++)
            e->statics[i] = Py_NewRef(key->statics[i]);
        e->num_statics = key->num_statics;
        return e;
    }
    e->replay = NULL; /* the caller's still */
    asn_jit_entry_release(e);
    return NULL;
}

void asn_jit_entry_release(asn_jit_entry *e) {
    if (!e || --e->refs) return;
    asn_replay_free(e->replay);
    asn_jit_tree_fini(&e->tree);
    for (int i = 0; i < e->num_statics; i++)
        Py_DECREF(e->statics[i]);
    PyMem_Free(e->statics);
    PyMem_Free(e->key);
    Py_XDECREF(e->signature);
    PyMem_Free(e);
}

/* ---- results */

/* The argument that a result is, all of it; -1: it is another array, or a part. */
static int same_as_arg(const asn_jit_entry *e, const asn_jit_key *key, int i,
                       const asn_array *result) {
    if (asn_replay_result_arg(e->replay, i) < 0) return -1;
    for (int k = 0; k < key->num_arrays; k++) {
        const asn_array *a = asn_of(key->arrays[k]);
        if (a->buffer == result->buffer && a->layout.offset == result->layout.offset &&
            a->layout.dtype == result->layout.dtype &&
            asn_layout_identical(&a->layout, &result->layout))
            return k;
    }
    return -1;
}

PyObject *asn_jit_results(const asn_jit_entry *e, const asn_jit_key *key,
                          asn_array *results) {
    PyObject *few[8] = {NULL}, **arrays = few, *made = NULL;
    int n = e->num_results, have = 0;
    if (n > 8 && !(arrays = PyMem_Calloc((size_t)n, sizeof *arrays))) PyErr_NoMemory();
    for (; arrays && have < n; have++) {
        int same = same_as_arg(e, key, have, &results[have]);
        if (same >= 0) {
            arrays[have] = Py_NewRef(key->arrays[same]);
            asn_array_fini(&results[have]);
            continue;
        }
        asn_ndarray *r = asn_ndarray_alloc();
        if (!r) break;
        asn_array_move(&r->array, &results[have]);
        /* A view of an argument shows the argument as its base. */
        int arg = asn_replay_result_arg(e->replay, have);
        if (arg >= 0) asn_ndarray_set_base(r, key->arrays[arg]);
        arrays[have] = (PyObject *)r;
    }
    if (arrays && have == n) made = asn_jit_tree_make(&e->tree, arrays);
    /* After a failure the arrays that no object has taken are still to be ended. */
    for (int i = have; i < n; i++)
        asn_array_fini(&results[i]);
    for (int i = 0; i < have; i++)
        Py_DECREF(arrays[i]);
    if (arrays != few) PyMem_Free(arrays);
    return made;
}

/* The trace's own arrays as the call's result; what shows an argument shows the call's
 * own array, not the view that the function was given. NULL: an error. */
static PyObject *first_result(const asn_jit_entry *e, const asn_jit_key *key,
                              PyObject *traced) {
    const asn_array *args[ASN_JIT_ARRAYS];
    int n = e->num_results;
    asn_array *results = PyMem_Calloc((size_t)n + 1, sizeof *results);
    if (!results) return PyErr_NoMemory();
    borrow(key->arrays, key->num_arrays, args);
    asn_status status = ASN_OK;
    for (int i = 0; i < n && !status; i++) {
        status = asn_replay_result_arg(e->replay, i) >= 0
                     ? asn_replay_view(e->replay, i, args, &results[i])
                     : asn_array_share(&results[i], asn_of(PyList_GET_ITEM(traced, i)));
        while (status && i > 0)
            asn_array_fini(&results[--i]);
    }
    PyObject *made = status ? asn_raise(status) : asn_jit_results(e, key, results);
    PyMem_Free(results);
    return made;
}

/* A traced array as the caller gets it where there is no replay: over the argument's own
 * memory, if it shows a view's. A new reference, or NULL. */
static PyObject *as_result(const asn_jit_key *key, PyObject *traced,
                           PyObject *const *views) {
    const asn_array *a = asn_of(traced);
    for (int k = 0; k < key->num_arrays; k++) {
        if (traced == views[k]) return Py_NewRef(key->arrays[k]);
        /* A part of the argument, through the view's buffer. */
        if (a->buffer != asn_of(views[k])->buffer) continue;
        asn_ndarray *r = asn_ndarray_alloc();
        asn_status status = r ? asn_layout_copy(&r->array.layout, &a->layout) : ASN_OK;
        if (!r) return NULL;
        if (status) {
            asn_ndarray_drop(r);
            return asn_raise(status);
        }
        r->array.buffer = asn_buffer_retain(asn_of(key->arrays[k])->buffer);
        asn_ndarray_set_base(r, key->arrays[k]);
        return (PyObject *)r;
    }
    return Py_NewRef(traced);
}

/* The result of a trace that holds for this call alone. */
static PyObject *only_result(const asn_jit_key *key, const asn_jit_tree *tree,
                             PyObject *const *views) {
    int n = (int)PyList_GET_SIZE(tree->arrays), have = 0;
    PyObject **arrays = PyMem_Calloc((size_t)n + 1, sizeof *arrays), *made = NULL;
    if (!arrays) return PyErr_NoMemory();
    while (have < n &&
           (arrays[have] = as_result(key, PyList_GET_ITEM(tree->arrays, have), views)))
        have++;
    if (have == n && asn_fp_check() == 0) made = asn_jit_tree_make(tree, arrays);
    while (have > 0)
        Py_DECREF(arrays[--have]);
    PyMem_Free(arrays);
    return made;
}

/* ---- the trace */

/* The function with the views in the arguments' places. */
static PyObject *call(const asn_jit *jit, const asn_jit_key *key, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames, PyObject *const *views) {
    PyObject *tuple, *dict, *result = NULL;
    if (asn_jit_key_replace(key, jit, args, nargs, kwnames, views, &tuple, &dict) == 0)
        result = PyObject_Call(jit->function, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

/* (Contract in jit.h.) `rc` says whether the capture has ended well; from there on only
 * memory can run out. */
PyObject *asn_jit_trace(const asn_jit *jit, const asn_jit_key *key, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *kwnames, asn_jit_entry **out) {
    PyObject *views[ASN_JIT_ARRAYS], *made = NULL;
    asn_jit_tree tree = {0};
    asn_replay *replay = NULL;
    *out = NULL;
    if (begin(key, views) < 0) return NULL;
    PyObject *result = call(jit, key, args, nargs, kwnames, views);
    int rc = result ? asn_jit_tree_read(&tree, result) : -1;
    /* The function's result must not be what keeps its arrays alive. */
    if (rc == 0) Py_CLEAR(result);
    if (rc == 0) rc = end(jit, key, &tree, views, &replay);
    if (rc < 0) { /* the function's own error is the one to tell */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        asn_capture_abort();
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(result);
    PyObject *traced = NULL;
    if (rc == 0 && !replay) { /* it holds for this call alone */
        made = only_result(key, &tree, views);
    } else if (replay) {
        traced = Py_NewRef(tree.arrays);
        *out = entry_new(key, &tree, replay);
        if (!*out) asn_replay_free(replay);
    }
    if (*out) {
        Py_CLEAR((*out)->tree.arrays);
        made = asn_fp_check() < 0 ? NULL : first_result(*out, key, traced);
    } else if (!made && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(traced);
    asn_jit_tree_fini(&tree);
    for (int i = 0; i < key->num_arrays; i++)
        Py_DECREF(views[i]);
    return made;
}
