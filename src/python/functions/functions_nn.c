/* L3 python: what asnumpy.nn.KVCache is written with: a cache of keys and values in a
 * capsule (nn/kv_cache.h). The library's lock is held, as the core asks. These functions
 * are private.
 *
 * The class's methods hand their arguments on as they got them, None for all sequences
 * excepted, since a decoding step calls two of them a layer when what it has read of the
 * weights has driven their code out of the caches: as Python they took 0.1 ms more of a
 * step of 6.3 (twelve calls, 84 MB of int8 weights). Here arrays of any kind become ours,
 * and one sequence or position as many as are wanted. Shapes, dtypes, numbers of layers
 * and sequences are the core's to refuse, with the message that C programs get.
 *
 * A capsule's end may come on any thread, under Python's lock; the core's lock is taken
 * inside it, never the other way round. */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include "graph/lock.h"
#include "nn/kv_cache.h"
#include "runtime/device.h"

static const char CACHE[] = "asnumpy.kv_cache";

/* What a capsule holds, borrowed; NULL: another object, with Python's error. */
static asn_kv_cache *cache_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, CACHE);
}

/* Its arrays go when what is queued on them has run: the memory manager sees to that, and
 * nobody waits here. */
static void end_cache(PyObject *capsule) {
    asn_lock();
    asn_kv_free(cache_of(capsule));
    asn_unlock();
}

/* An int that an int32 holds, as the core counts layers, heads and sequences; -1: an
 * error, OverflowError for a number that is beyond it. */
static int int32_from(PyObject *value, int32_t *out) {
    int64_t wide;
    if (asn_int64_from_py(value, &wide) < 0) return -1;
    if (wide < INT32_MIN || wide > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%lld is beyond 32 bits", (long long)wide);
        return -1;
    }
    *out = (int32_t)wide;
    return 0;
}

/* TypeError of what holds no integers, in the place of any other. */
static void refuse_integers(PyObject *value, const char *name) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "KVCache: %s is %R; it may be an integer or a sequence of integers",
                 name, value);
}

/* An integer alone: 1, with its value; 0: it is none; -1: an error. (NumPy's arrays have
 * the method, and refuse where they are of several.) */
static int alone_from(PyObject *value, int64_t *out) {
    if (!PyIndex_Check(value)) return 0;
    if (asn_int64_from_py(value, out) == 0) return 1;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    return 0;
}

/* An integer `times` times, or the members of a sequence: *n numbers, which PyMem_Free
 * frees. NULL: an error: TypeError for what is neither, OverflowError beyond int64.
 *
 * The members are read from a tuple of them: an __index__ of Python's may change the
 * sequence that it is called from. */
static int64_t *ints_from(PyObject *value, const char *name, int32_t times, int32_t *n) {
    int64_t same;
    const int alone = alone_from(value, &same);
    if (alone < 0) return NULL;
    PyObject *items = alone ? NULL : PySequence_Tuple(value);
    if (!alone && !items) {
        refuse_integers(value, name);
        return NULL;
    }
    *n = alone ? times : (int32_t)PyTuple_GET_SIZE(items);
    int64_t *out = PyMem_Malloc((size_t)(*n + 1) * sizeof *out);
    bool failed = !out;
    if (failed) PyErr_NoMemory();
    for (int32_t i = 0; i < *n && !failed; i++) {
        if (alone)
            out[i] = same;
        else
            failed = asn_int64_from_py(PyTuple_GET_ITEM(items, i), &out[i]) < 0;
    }
    Py_XDECREF(items);
    if (!failed) return out;
    refuse_integers(value, name);
    PyMem_Free(out);
    return NULL;
}

/* The same of sequences, which the core numbers in 32 bits: OverflowError beyond them,
 * since a number that was cut off could be another sequence's. */
static int32_t *sequences_from(PyObject *value, int32_t *n) {
    int64_t *wide = ints_from(value, "sequences", 1, n);
    int32_t *out = wide ? PyMem_Malloc((size_t)(*n + 1) * sizeof *out) : NULL;
    bool failed = !out;
    if (wide && failed) PyErr_NoMemory();
    for (int32_t i = 0; !failed && i < *n; i++) {
        out[i] = (int32_t)wide[i];
        failed = out[i] != wide[i];
        if (failed)
            PyErr_Format(PyExc_OverflowError, "%lld is beyond 32 bits",
                         (long long)wide[i]);
    }
    PyMem_Free(wide);
    if (!failed) return out;
    PyMem_Free(out);
    return NULL;
}

/* (layers, kv_heads, head_dim, sequences, dtype, window, capacity, block_size, blocks,
 * composed): a capsule. 0 stands for no window, a capacity as needed, no blocks: the
 * class writes None for the first and the last. */
static PyObject *f_kv_new(PyObject *const *v) {
    asn_kv_options o;
    asn_kv_cache *c;
    if (int32_from(v[0], &o.layers) < 0 || int32_from(v[1], &o.kv_heads) < 0 ||
        int32_from(v[2], &o.head_dim) < 0 || int32_from(v[3], &o.sequences) < 0 ||
        asn_dtype_from_py(v[4], &o.dtype) < 0 || asn_int64_from_py(v[5], &o.window) < 0 ||
        asn_int64_from_py(v[6], &o.capacity) < 0 ||
        asn_int64_from_py(v[7], &o.block_size) < 0 ||
        asn_int64_from_py(v[8], &o.blocks) < 0 || asn_bool_from_py(v[9], &o.composed) < 0)
        return NULL;
    ASN_PY_TRY(asn_device_open());
    asn_lock();
    asn_status status = asn_kv_new(&o, &c);
    asn_unlock();
    ASN_PY_TRY(status);
    PyObject *capsule = PyCapsule_New(c, CACHE, end_cache);
    if (capsule) return capsule;
    asn_lock();
    asn_kv_free(c);
    asn_unlock();
    return NULL;
}

/* (cache): the number of a new sequence, which the class notes among those in use. */
static PyObject *f_kv_add(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t sequence;
    if (!c) return NULL;
    asn_lock();
    asn_status status = asn_kv_add(c, &sequence);
    asn_unlock();
    ASN_PY_TRY(status);
    return PyLong_FromLong(sequence);
}

/* (cache, sequence): its tokens are given up, and its number may come again. */
static PyObject *f_kv_drop(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t sequence;
    if (!c || int32_from(v[1], &sequence) < 0) return NULL;
    asn_lock();
    asn_status status = asn_kv_drop(c, sequence);
    asn_unlock();
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}

/* (cache, layer, k, v, sequences, positions). Sequences and positions are copied to C's
 * numbers first, and arrays made of k and v, so that no code of Python's runs while the
 * lock is held. A position alone is that of every sequence. A failure of the core leaves
 * the cache as it was; its message names what was got. */
static PyObject *f_kv_update(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t layer, n, num_positions;
    if (!c || int32_from(v[1], &layer) < 0) return NULL;
    int32_t *sequences = sequences_from(v[4], &n);
    int64_t *positions =
        sequences ? ints_from(v[5], "position", n, &num_positions) : NULL;
    PyObject *key = positions ? asn_asarray(v[2]) : NULL;
    PyObject *value = key ? asn_asarray(v[3]) : NULL;
    asn_status status = ASN_OK;
    if (value && num_positions != n) {
        PyErr_Format(PyExc_ValueError,
                     "KVCache.update: %d positions of %d sequences; there must be one of "
                     "each",
                     (int)num_positions, (int)n);
    } else if (value) {
        asn_lock();
        status =
            asn_kv_update(c, layer, asn_of(key), asn_of(value), n, sequences, positions);
        asn_unlock();
    }
    Py_XDECREF(key);
    Py_XDECREF(value);
    PyMem_Free(sequences);
    PyMem_Free(positions);
    if (PyErr_Occurred()) return NULL;
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}

/* (cache, layer, q, sequences, scale): scale None: the usual one. A new array, recorded
 * or queued: nothing waits for it here. */
static PyObject *f_kv_attention(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t layer, n;
    double scale = v[4] == Py_None ? 0 : PyFloat_AsDouble(v[4]);
    asn_array out;
    if (!c || int32_from(v[1], &layer) < 0 || PyErr_Occurred()) return NULL;
    int32_t *sequences = sequences_from(v[3], &n);
    PyObject *q = sequences ? asn_asarray(v[2]) : NULL;
    asn_status status = ASN_OK;
    if (q) {
        asn_lock();
        status = asn_kv_attention(c, layer, asn_of(q), n, sequences,
                                  v[4] == Py_None ? NULL : &scale, &out);
        asn_unlock();
    }
    PyMem_Free(sequences);
    if (!q) return NULL;
    Py_DECREF(q);
    ASN_PY_TRY(status);
    return asn_ndarray_wrap(&out);
}

/* (cache, sequence, position): tokens from position on are forgotten in all layers. */
static PyObject *f_kv_truncate(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t sequence;
    int64_t position;
    if (!c || int32_from(v[1], &sequence) < 0 || asn_int64_from_py(v[2], &position) < 0)
        return NULL;
    asn_lock();
    asn_status status = asn_kv_truncate(c, sequence, position);
    asn_unlock();
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}

/* (cache, layer, sequence): (first, position): a range of Python's, which the class makes
 * of it. */
static PyObject *f_kv_tokens(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t layer, sequence;
    int64_t first, position;
    if (!c || int32_from(v[1], &layer) < 0 || int32_from(v[2], &sequence) < 0)
        return NULL;
    asn_lock();
    asn_status status = asn_kv_tokens(c, layer, sequence, &first, &position);
    asn_unlock();
    ASN_PY_TRY(status);
    return Py_BuildValue("(LL)", (long long)first, (long long)position);
}

/* (cache, layer, sequence): (keys, values), two arrays that share the cache's memory
 * where it is in rows, and keep it when the cache goes. */
static PyObject *f_kv_read(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t layer, sequence;
    asn_array keys, values;
    if (!c || int32_from(v[1], &layer) < 0 || int32_from(v[2], &sequence) < 0)
        return NULL;
    asn_lock();
    asn_status status = asn_kv_read(c, layer, sequence, &keys, &values);
    asn_unlock();
    ASN_PY_TRY(status);
    PyObject *k = asn_ndarray_wrap(&keys), *w = asn_ndarray_wrap(&values);
    PyObject *pair = k && w ? PyTuple_Pack(2, k, w) : NULL;
    Py_XDECREF(k);
    Py_XDECREF(w);
    return pair;
}

/* (cache, sequence): (blocks as a tuple, the token at which the first one begins). The
 * core's list is borrowed, so the tuple is made under the lock. */
static PyObject *f_kv_table(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    int32_t sequence;
    const int32_t *blocks;
    int64_t count, first;
    if (!c || int32_from(v[1], &sequence) < 0) return NULL;
    asn_lock();
    asn_status status = asn_kv_table(c, sequence, &blocks, &count, &first);
    PyObject *tuple = status ? NULL : PyTuple_New(count);
    for (int64_t i = 0; tuple && i < count; i++) {
        PyObject *block = PyLong_FromLong(blocks[i]);
        if (!block) Py_CLEAR(tuple);
        if (block) PyTuple_SET_ITEM(tuple, i, block);
    }
    asn_unlock();
    ASN_PY_TRY(status);
    return tuple ? Py_BuildValue("(NL)", tuple, (long long)first) : NULL;
}

/* (cache): bytes, capacity, free blocks, moved tokens, sequences, as a dict: counts of
 * the host's, for which nothing is looked up on the device. */
static PyObject *f_kv_stats(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    asn_kv_stats s;
    if (!c) return NULL;
    asn_lock();
    asn_kv_get_stats(c, &s);
    asn_unlock();
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:i}", "nbytes", (long long)s.nbytes,
                         "capacity", (long long)s.capacity, "free_blocks",
                         (long long)s.free_blocks, "moved", (long long)s.moved,
                         "sequences", (int)s.sequences);
}

asn_function_def asn_nn_functions[] = {
    ASN_FUNCTION("_kv_new",
                 "layers, kv_heads, head_dim, sequences, dtype, window, capacity, "
                 "block_size, blocks, composed, /",
                 f_kv_new, "A cache."),
    ASN_FUNCTION("_kv_add", "cache, /", f_kv_add, "A new sequence's number."),
    ASN_FUNCTION("_kv_drop", "cache, sequence, /", f_kv_drop, "Frees a sequence."),
    ASN_FUNCTION("_kv_update", "cache, layer, k, v, sequences, positions, /", f_kv_update,
                 "Appends tokens."),
    ASN_FUNCTION("_kv_attention", "cache, layer, q, sequences, scale, /", f_kv_attention,
                 "Attention."),
    ASN_FUNCTION("_kv_truncate", "cache, sequence, position, /", f_kv_truncate,
                 "Forgets tokens."),
    ASN_FUNCTION("_kv_tokens", "cache, layer, sequence, /", f_kv_tokens,
                 "(first, position)"),
    ASN_FUNCTION("_kv_read", "cache, layer, sequence, /", f_kv_read, "(keys, values)"),
    ASN_FUNCTION("_kv_table", "cache, sequence, /", f_kv_table, "(blocks, first token)"),
    ASN_FUNCTION("_kv_stats", "cache, /", f_kv_stats, "What it holds, as a dict."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
