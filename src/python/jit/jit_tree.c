/* L3 python: what a jitted function returned, as a template that results are made from
 * (see jit.h): codes in prefix order, each with a number: 'A' array k, 'V' constant k,
 * '(' '[' of n items, '{' of n pairs whose keys are the next constants, 't' a namedtuple
 * of n items whose type is the next constant.
 *
 * Making a result reads the codes once, recursively, as they were written. Constants are
 * shared by all results of an entry: only what cannot change may be one, so a list is
 * made anew each time. */
#include "python/jit/jit.h"

#include <string.h>

/* Appends a code and its number; -1: MemoryError. */
static int put(asn_jit_tree *t, char code, Py_ssize_t number) {
    enum { BYTES = 1 + sizeof number };
    if (t->length + BYTES > t->room) {
        /* Doubled, so that a long result costs few copies. */
        size_t room = 2 * t->room + 8 * BYTES;
        uint8_t *grown = PyMem_Realloc(t->codes, room);
        if (!grown) return PyErr_NoMemory(), -1;
        t->codes = grown;
        t->room = room;
    }
    t->codes[t->length] = (uint8_t)code;
    memcpy(t->codes + t->length + 1, &number, sizeof number);
    t->length += BYTES;
    return 0;
}

/* A constant and the code that refers to it. */
static int put_constant(asn_jit_tree *t, char code, PyObject *o) {
    Py_ssize_t at = PyList_GET_SIZE(t->constants);
    return PyList_Append(t->constants, o) < 0 ? -1 : put(t, code, at);
}

/* One array returned twice is one result. */
static int put_array(asn_jit_tree *t, PyObject *o) {
    Py_ssize_t at = 0, n = PyList_GET_SIZE(t->arrays);
    while (at < n && PyList_GET_ITEM(t->arrays, at) != o)
        at++;
    if (at == n && PyList_Append(t->arrays, o) < 0) return -1;
    return put(t, 'A', at);
}

/* Any value: -1: an error, of what cannot be returned. */
/* Writes the code of one value, and of what is in it; TypeError where the result of a
 * traced function cannot be such a thing. */
static int read_value(asn_jit_tree *t, PyObject *o);

/* -1: an item that cannot be returned, or MemoryError; the same below. */
static int read_items(asn_jit_tree *t, char code, PyObject *o) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (put(t, code, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_value(t, PySequence_Fast_GET_ITEM(o, i)) < 0) return -1;
    return 0;
}

static int read_dict(asn_jit_tree *t, PyObject *o) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (put(t, '{', PyDict_GET_SIZE(o)) < 0) return -1;
    while (PyDict_Next(o, &at, &key, &value))
        if (put_constant(t, 'V', key) < 0 || read_value(t, value) < 0) return -1;
    return 0;
}

/* What is the same in every call: it cannot change, and holds no array. */
static bool is_constant(PyObject *o) {
    return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented ||
           PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o) ||
           PyUnicode_Check(o) || PyBytes_Check(o) || PyType_Check(o) ||
           PyArray_DescrCheck(o) || PyArray_IsScalar(o, Generic) || PySlice_Check(o) ||
           PyRange_Check(o);
}

/* Writes the code of one value, and of what is in it; TypeError where the result of a
 * traced function cannot be such a thing. */
static int read_value(asn_jit_tree *t, PyObject *o) {
    int rc = -1;
    /* Types are exact, as in keys: of a subclass a new object could not be made. */
    if (Py_EnterRecursiveCall(" while jit reads the result")) return -1;
    if (asn_is_ndarray_exact(o)) {
        rc = put_array(t, o);
    } else if (PyTuple_CheckExact(o)) {
        rc = read_items(t, '(', o);
    } else if (PyList_CheckExact(o)) {
        rc = read_items(t, '[', o);
    } else if (PyDict_CheckExact(o)) {
        rc = read_dict(t, o);
    } else if (PyTuple_Check(o) && PyObject_HasAttrString(o, "_fields")) {
        rc =
            put_constant(t, 't', (PyObject *)Py_TYPE(o)) < 0 ? -1 : read_items(t, '(', o);
    } else if (is_constant(o)) {
        rc = put_constant(t, 'V', o);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "jit: the function returned a %s; it may return arrays, numbers, "
                     "strings, None, and tuples, lists and dicts of these",
                     Py_TYPE(o)->tp_name);
    }
    Py_LeaveRecursiveCall();
    return rc;
}

int asn_jit_tree_read(asn_jit_tree *t, PyObject *result) {
    *t = (asn_jit_tree){.constants = PyList_New(0), .arrays = PyList_New(0)};
    int rc = t->constants && t->arrays ? read_value(t, result) : -1;
    if (rc < 0) asn_jit_tree_fini(t);
    return rc;
}

/* Of an empty tree, too. */
void asn_jit_tree_fini(asn_jit_tree *t) {
    PyMem_Free(t->codes);
    Py_CLEAR(t->constants);
    Py_CLEAR(t->arrays);
    t->codes = NULL;
    t->length = t->room = 0;
}

/* ---- making a result */

/* Where in the codes; the same for all levels. */
typedef struct {
    const asn_jit_tree *tree;
    PyObject *const *arrays;
    size_t at;
} reader;

/* The value at r->at, which moves behind it. A new reference, or NULL. */
static PyObject *make(reader *r);

/* n items that follow, as a tuple or a list. */
static PyObject *make_items(reader *r, Py_ssize_t n, bool tuple) {
    PyObject *made = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *item = make(r);
        if (!item)
            Py_CLEAR(made);
        else if (tuple)
            PyTuple_SET_ITEM(made, i, item);
        else
            PyList_SET_ITEM(made, i, item);
    }
    return made;
}

static PyObject *make_dict(reader *r, Py_ssize_t n) {
    PyObject *made = PyDict_New();
    for (Py_ssize_t i = 0; made && i < n; i++) {
        /* The key is the constant just before its value. */
        PyObject *key = make(r), *value = key ? make(r) : NULL;
        if (!value || PyDict_SetItem(made, key, value) < 0) Py_CLEAR(made);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return made;
}

/* The value whose code is next: a letter, then a number (of an array, a constant, or of
 * items that follow). A new reference, or NULL. */
static PyObject *make(reader *r) {
    Py_ssize_t number;
    const uint8_t *code = r->tree->codes + r->at;
    memcpy(&number, code + 1, sizeof number);
    r->at += 1 + sizeof number;
    switch (*code) {
    case 'A': return Py_NewRef(r->arrays[number]);
    case 'V': return Py_NewRef(PyList_GET_ITEM(r->tree->constants, number));
    case '(': return make_items(r, number, true);
    case '[': return make_items(r, number, false);
    case '{': return make_dict(r, number);
    default: { /* 't' */
        PyObject *type = PyList_GET_ITEM(r->tree->constants, number);
        PyObject *items = make(r);
        if (items) Py_SETREF(items, PyObject_CallMethod(type, "_make", "(O)", items));
        return items;
    }
    }
}

PyObject *asn_jit_tree_make(const asn_jit_tree *t, PyObject *const *arrays) {
    reader r = {t, arrays, 0};
    return make(&r);
}
