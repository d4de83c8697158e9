/* L3 python: what asnumpy.nn.KVCache is written with: a cache of keys and values in a
 * capsule (nn/kv_cache.h). Arrays come as arrays of ours, sequences and positions as
 * tuples of ints of one length; the class sees to that. The library's lock is held, as
 * the core asks. These functions are private.
 *
 * What the class does before it calls: arrays of any kind become ours, which the class
 * keeps until the call is over; one sequence and one position become tuples; None stands
 * for all sequences in use, which the class keeps a list of. What is left to check here
 * is the kind of each object, since a wrong one must not crash; shapes, dtypes, numbers
 * of layers and sequences are the core's to refuse, with the message that C programs get.
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

/* One of ours, subclasses included; NULL: another object, with Python's error. What it
 * points to is the object's, which the caller's arguments keep. */
static const asn_array *array_from(PyObject *value) {
    if (asn_is_ndarray(value)) return asn_of(value);
    PyErr_Format(PyExc_TypeError, "a KV cache takes asnumpy arrays, got %s",
                 Py_TYPE(value)->tp_name);
    return NULL;
}

/* A tuple of ints as n numbers of `bits` (32 or 64), which PyMem_Free frees. NULL: an
 * error. */
static void *ints_from(PyObject *tuple, int bits, int32_t *n) {
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "sequences and positions are tuples");
        return NULL;
    }
    *n = (int32_t)PyTuple_GET_SIZE(tuple);
    void *out = PyMem_Malloc((size_t)(*n + 1) * sizeof(int64_t));
    if (!out) return PyErr_NoMemory();
    for (int32_t i = 0; i < *n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (bits == 32 ? int32_from(item, (int32_t *)out + i) < 0
                       : asn_int64_from_py(item, (int64_t *)out + i) < 0) {
            PyMem_Free(out);
            return NULL;
        }
    }
    return out;
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
 * numbers first, so that no code of Python's runs while the lock is held. A failure of
 * the core leaves the cache as it was; its message names what was got. */
static PyObject *f_kv_update(PyObject *const *v) {
    asn_kv_cache *c = cache_of(v[0]);
    const asn_array *key = c ? array_from(v[2]) : NULL;
    const asn_array *value = key ? array_from(v[3]) : NULL;
    int32_t layer, n, num_positions;
    if (!value || int32_from(v[1], &layer) < 0) return NULL;
    int32_t *sequences = ints_from(v[4], 32, &n);
    int64_t *positions = sequences ? ints_from(v[5], 64, &num_positions) : NULL;
    if (positions && num_positions != n)
        PyErr_Format(PyExc_ValueError,
                     "KVCache.update: %d positions of %d sequences; there must be one of "
                     "each",
                     (int)num_positions, (int)n);
    asn_status status = ASN_OK;
    if (positions && num_positions == n) {
        asn_lock();
        status = asn_kv_update(c, layer, key, value, n, sequences, positions);
        asn_unlock();
    }
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
    const asn_array *q = c ? array_from(v[2]) : NULL;
    int32_t layer, n;
    double scale = v[4] == Py_None ? 0 : PyFloat_AsDouble(v[4]);
    asn_array out;
    if (!q || int32_from(v[1], &layer) < 0 || PyErr_Occurred()) return NULL;
    int32_t *sequences = ints_from(v[3], 32, &n);
    if (!sequences) return NULL;
    asn_lock();
    asn_status status = asn_kv_attention(c, layer, q, n, sequences,
                                         v[4] == Py_None ? NULL : &scale, &out);
    asn_unlock();
    PyMem_Free(sequences);
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
