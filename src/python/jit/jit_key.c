/* L3 python: jitted calls as keys (see jit.h).
 *
 * The key is a string of bytes: one letter for each leaf and container, then what
 * decides: an array's layout, a number's bytes (so that 0.0 and -0.0 differ, and a NaN is
 * equal to itself). What has no bytes of its own, static arguments, strings, large
 * integers, dtypes, is compared by type and ==; of these the bytes hold only the hash.
 *
 * Reading stops at the first error: `broken` is set, with the Python exception, and every
 * put after it adds nothing of consequence. A letter before each item keeps keys of
 * different trees apart, whatever bytes follow. */
#include "python/jit/jit.h"

#include <string.h>

#include "python/convert.h"
#include "graph/fp.h"
#include "graph/operators/families.h"
#include "precision/precision.h"
#include "runtime/memory/memory_pool.h"

/* Appends bytes; past the limit the key is broken. */
static void put(asn_jit_key *k, const void *bytes, size_t n) {
    if (k->length + n > sizeof k->bytes) {
        if (!k->broken)
            PyErr_SetString(PyExc_TypeError, "jit: the call has too many arguments");
        k->broken = true;
        return;
    }
    memcpy(k->bytes + k->length, bytes, n);
    k->length += n;
}

static void put_letter(asn_jit_key *k, char letter) {
    put(k, &letter, 1);
}

/* An object that is compared by type and ==; borrowed. It must be hashable. */
static void put_object(asn_jit_key *k, char letter, PyObject *o) {
    put_letter(k, letter);
    if (k->num_statics == ASN_JIT_STATICS) {
        if (!k->broken)
            PyErr_Format(PyExc_TypeError,
                         "jit: the call has more than %d strings, dtypes and static "
                         "arguments",
                         ASN_JIT_STATICS);
        k->broken = true;
        return;
    }
    Py_hash_t hash = PyObject_Hash(o);
    if (hash == -1) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "jit: static argument of type %s is not hashable; results are kept "
                     "by its value",
                     Py_TYPE(o)->tp_name);
        k->broken = true;
        return;
    }
    put(k, &hash, sizeof hash);
    k->statics[k->num_statics++] = o;
}

/* ---- arrays */

/* Each array before `i` whose bytes lie among its own, and how far apart their first
 * elements are. */
static void put_sharing(asn_jit_key *k, int i) {
    const asn_array *a = asn_of(k->arrays[i]);
    for (int32_t j = 0; j < i; j++) {
        const asn_array *b = asn_of(k->arrays[j]);
        if (!asn_buffers_alias(a->buffer, b->buffer) || !asn_array_may_share(a, b))
            continue;
        /* Over the host's memory two buffers may lie over one another: addresses tell. */
        int64_t apart = a->layout.offset - b->layout.offset;
        if (a->buffer != b->buffer)
            apart += (const char *)a->buffer->data - (const char *)b->buffer->data;
        put_letter(k, '&');
        put(k, &j, sizeof j);
        put(k, &apart, sizeof apart);
    }
}

/* An argument that is an array. Takes it. */
static void put_array(asn_jit_key *k, PyObject *array) {
    if (k->num_arrays == ASN_JIT_ARRAYS) {
        Py_DECREF(array);
        if (!k->broken)
            PyErr_Format(PyExc_TypeError, "jit: the call has more than %d arrays",
                         ASN_JIT_ARRAYS);
        k->broken = true;
        return;
    }
    int at = k->num_arrays++;
    k->arrays[at] = array;
    const asn_layout *l = &asn_of(array)->layout;
    /* flags: writeable, and non-canonical bool */
    uint8_t head[4] = {'A', l->dtype, (uint8_t)l->ndim, l->flags};
    put(k, head, sizeof head);
    put(k, l->shape, (size_t)l->ndim * sizeof *l->shape);
    put(k, l->strides, (size_t)l->ndim * sizeof *l->strides);
    put_sharing(k, at);
}

/* ---- leaves and containers */

static void put_value(asn_jit_key *k, PyObject *o);

/* Containers: the letter, how many, the items; a list and a tuple differ. */
static void put_items(asn_jit_key *k, char letter, PyObject *sequence) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    put_letter(k, letter);
    put(k, &n, sizeof n);
    for (Py_ssize_t i = 0; i < n && !k->broken; i++)
        put_value(k, PySequence_Fast_GET_ITEM(sequence, i));
}

/* A dict in its own order: a call with another order of keys is another kind. */
static void put_dict(asn_jit_key *k, PyObject *dict) {
    PyObject *key, *value;
    Py_ssize_t at = 0, n = PyDict_GET_SIZE(dict);
    put_letter(k, '{');
    put(k, &n, sizeof n);
    while (!k->broken && PyDict_Next(dict, &at, &key, &value)) {
        put_object(k, 'k', key);
        put_value(k, value);
    }
}

/* Ints beyond int64 are compared as objects. */
static void put_long(asn_jit_key *k, PyObject *o) {
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
        put_object(k, 'o', o);
        return;
    }
    put_letter(k, 'i');
    put(k, &value, sizeof value);
}

/* NumPy's numbers by type and bytes; dates and the like as objects. */
static void put_numpy_scalar(asn_jit_key *k, PyObject *o) {
    char bytes[32];
    PyArray_Descr *descr = PyArray_DescrFromScalar(o);
    if (!descr) {
        k->broken = true;
        return;
    }
    int kind = descr->type_num;
    /* The bytes of a long double have gaps that may differ: such a number is only seen as
     * another. */
    bool number = PyTypeNum_ISNUMBER(kind) || PyTypeNum_ISBOOL(kind);
    size_t size = (size_t)PyDataType_ELSIZE(descr);
    if (number && size <= sizeof bytes) {
        PyArray_ScalarAsCtype(o, bytes);
        put_letter(k, 'n');
        put(k, &kind, sizeof kind);
        put(k, bytes, size);
    } else {
        put_object(k, 'o', o);
    }
    Py_DECREF(descr);
}

/* As collections.namedtuple and typing.NamedTuple make them. */
static bool is_namedtuple(PyObject *o) {
    return PyTuple_Check(o) && PyObject_HasAttrString(o, "_fields");
}

/* Leaves without bytes that nevertheless say all by their value. */
static bool is_value(PyObject *o) {
    return o == Py_None || o == Py_Ellipsis || PyUnicode_CheckExact(o) ||
           PyBytes_CheckExact(o) || PyType_Check(o) || PyArray_DescrCheck(o);
}

/* Any argument. Types are exact: a subclass may mean anything, and is an error, but for
 * namedtuples. NumPy arrays become arrays of ours, over their memory where possible. */
static void put_value(asn_jit_key *k, PyObject *o) {
    /* A list may hold itself. */
    if (Py_EnterRecursiveCall(" while jit reads the arguments")) {
        k->broken = true;
        return;
    }
    if (asn_is_ndarray_exact(o)) {
        put_array(k, Py_NewRef(o));
    } else if (PyFloat_CheckExact(o)) {
        double v = PyFloat_AS_DOUBLE(o);
        put_letter(k, 'f');
        put(k, &v, sizeof v);
    } else if (PyBool_Check(o)) {
        put_letter(k, o == Py_True ? 'T' : 'F');
    } else if (PyLong_CheckExact(o)) {
        put_long(k, o);
    } else if (PyComplex_CheckExact(o)) {
        Py_complex v = PyComplex_AsCComplex(o);
        put_letter(k, 'c');
        put(k, &v, sizeof v);
    } else if (PyTuple_CheckExact(o)) {
        put_items(k, '(', o);
    } else if (PyList_CheckExact(o)) {
        put_items(k, '[', o);
    } else if (PyDict_CheckExact(o)) {
        put_dict(k, o);
    } else if (PyArray_CheckExact(o)) {
        PyObject *array = asn_asarray(o);
        if (array)
            put_array(k, array);
        else
            k->broken = true;
    } else if (PyArray_IsScalar(o, Generic)) {
        put_numpy_scalar(k, o);
    } else if (is_namedtuple(o)) {
        put_object(k, 't', (PyObject *)Py_TYPE(o));
        put_items(k, '(', o);
    } else if (is_value(o)) {
        put_object(k, 'o', o);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "jit: an argument is of type %s; arguments are arrays, numbers, "
                     "strings, dtypes, None, and tuples, lists and dicts of these; what "
                     "is another thing, like self, is a static argument "
                     "(static_argnums=, static_argnames=)",
                     Py_TYPE(o)->tp_name);
        k->broken = true;
    }
    Py_LeaveRecursiveCall();
}

/* Whether an argument is static: by position, or by name where that is not NULL. An error
 * of the look-up counts as no. */
static bool is_static(const asn_jit *jit, Py_ssize_t at, PyObject *name) {
    if (name) return jit->names && PySet_Contains(jit->names, name) == 1;
    return at < 64 && jit->numbers >> at & 1;
}

/* What decides beside the arguments: the device, and whether floating-point exceptions
 * are collected, as the programs differ by it. */
static void put_state(asn_jit_key *k) {
    asn_look_begin(); /* whether this thread's are */
    uint8_t state[2] = {asn_fp_sink() != NULL, (uint8_t)asn_pool_device};
    asn_look_end();
    put(k, state, sizeof state);
    /* What was traced has the implementations of its time (ufunc/replaced.c). */
    uint64_t version = ASN_READ(asn_py.replaced_version);
    if (version) put(k, &version, sizeof version);
    /* And the precision of its products. */
    if (!asn_product_precision_of || !asn_product_precision_of->asks()) return;
    const asn_precision p = asn_precision_present();
    const double narrow[] = {(double)p.dtype, p.automatic, p.unchecked, p.error};
    put(k, narrow, sizeof narrow);
}

/* A multiplicative hash of eight bytes at a time; equal keys are compared byte by byte,
 * so it need only spread them. */
static uint64_t hash_of(const uint8_t *bytes, size_t n) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ n, word;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    for (; n; n--)
        hash = (hash ^ *bytes++) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 29;
}

/* (Contract in jit.h.) Made at every call, so nothing is allocated for a usual one. */
bool asn_jit_key_make(asn_jit_key *k, const asn_jit *jit, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames) {
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    k->num_arrays = k->num_statics = 0;
    k->length = 0;
    k->broken = false;
    put_state(k);
    for (Py_ssize_t i = 0; i < nargs + named && !k->broken; i++) {
        PyObject *name = i < nargs ? NULL : PyTuple_GET_ITEM(kwnames, i - nargs);
        /* Keywords in the call's order; f(a=1, b=2) and f(b=2, a=1) are two kinds. */
        if (name) put_object(k, '=', name);
        if (is_static(jit, i, name))
            put_object(k, 's', args[i]);
        else
            put_value(k, args[i]);
    }
    if (k->broken) {
        asn_jit_key_fini(k);
        return false;
    }
    k->hash = hash_of(k->bytes, k->length);
    return true;
}

/* (Contract in jit.h.) May be called twice. */
void asn_jit_key_fini(asn_jit_key *k) {
    for (int i = 0; i < k->num_arrays; i++)
        Py_DECREF(k->arrays[i]);
    k->num_arrays = 0;
}

/* ---- the same tree with other arrays, in the order of the key's */

/* o with its arrays replaced, in the order in which put_value meets them; `next` counts.
 * Leaves are shared, containers made anew. A new reference, or NULL. */
static PyObject *replace(PyObject *o, PyObject *const *arrays, int *next) {
    if (asn_is_ndarray_exact(o) || PyArray_CheckExact(o))
        return Py_NewRef(arrays[(*next)++]);
    if (PyDict_CheckExact(o)) {
        PyObject *made = PyDict_New(), *key, *value;
        Py_ssize_t at = 0;
        while (made && PyDict_Next(o, &at, &key, &value)) {
            PyObject *item = replace(value, arrays, next);
            if (!item || PyDict_SetItem(made, key, item) < 0) Py_CLEAR(made);
            Py_XDECREF(item);
        }
        return made;
    }
    bool named = !PyTuple_CheckExact(o) && is_namedtuple(o);
    /* A leaf. */
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o) && !named) return Py_NewRef(o);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    PyObject *made = PyList_New(n);
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *item = replace(PySequence_Fast_GET_ITEM(o, i), arrays, next);
        if (item)
            PyList_SET_ITEM(made, i, item);
        else
            Py_CLEAR(made);
    }
    if (made && named)
        Py_SETREF(made,
                  PyObject_CallMethod((PyObject *)Py_TYPE(o), "_make", "(O)", made));
    else if (made && PyTuple_CheckExact(o))
        Py_SETREF(made, PyList_AsTuple(made));
    return made;
}

int asn_jit_key_replace(const asn_jit_key *k, const asn_jit *jit, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *kwnames, PyObject *const *arrays,
                        PyObject **tuple, PyObject **dict) {
    (void)k;
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    int next = 0;
    *tuple = PyTuple_New(nargs);
    *dict = named ? PyDict_New() : NULL;
    bool ok = *tuple && (!named || *dict);
    for (Py_ssize_t i = 0; i < nargs + named && ok; i++) {
        PyObject *name = i < nargs ? NULL : PyTuple_GET_ITEM(kwnames, i - nargs);
        /* Static arguments are handed on, whatever they hold. */
        PyObject *o = is_static(jit, i, name) ? Py_NewRef(args[i])
                                              : replace(args[i], arrays, &next);
        ok = o != NULL;
        if (ok && !name) {
            PyTuple_SET_ITEM(*tuple, i, o);
        } else if (ok) {
            ok = PyDict_SetItem(*dict, name, o) == 0;
            Py_DECREF(o);
        }
    }
    if (ok) return 0;
    Py_CLEAR(*tuple);
    Py_CLEAR(*dict);
    return -1;
}
