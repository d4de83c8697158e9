/* L3 python: __array_ufunc__ of other types in a ufunc's operands (NEP 13).
 *
 * Operands of the types that programs use most are let through by a pointer comparison.
 * Of the others, those whose type brings an __array_ufunc__ of its own (neither ours nor
 * numpy.ndarray's) are asked in NumPy's order: left to right, subclasses before their
 * bases; None is a refusal.
 *
 * What they are called with is normalised as NumPy does it: inputs by position,
 * everything else by name, outputs as a tuple under "out", arguments that say nothing
 * left out. */
#include "python/ndarray/methods.h"
#include "python/ufunc/ufunc.h"

/* The override `obj` brings, looked up on its type: a new reference (of None too), NULL
 * for none (no error set). */
static PyObject *find_override(PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (type == asn_py.ndarray || type == &PyArray_Type || type == &PyFloat_Type ||
        type == &PyLong_Type || type == &PyBool_Type || type == &PyList_Type ||
        type == &PyTuple_Type || obj == Py_None || PyArray_IsScalar(obj, Generic))
        return NULL;
    PyObject *method = PyObject_GetAttr((PyObject *)type, asn_py.s_array_ufunc);
    if (!method) {
        PyErr_Clear();
        return NULL;
    }
    /* What is inherited from an array class unchanged is no override. */
    PyObject *bases[] = {(PyObject *)asn_py.ndarray, (PyObject *)&PyArray_Type};
    for (int i = 0; i < 2; i++) {
        PyObject *own = PyObject_GetAttr(bases[i], asn_py.s_array_ufunc);
        bool inherited = own == method;
        Py_XDECREF(own);
        if (inherited) {
            Py_DECREF(method);
            return NULL;
        }
    }
    return method;
}

/* (Contract in ufunc.h.) None counts: it is an override that refuses. */
bool asn_ufunc_is_overridden(PyObject *array) {
    PyObject *method = find_override(array);
    Py_XDECREF(method);
    return method != NULL;
}

/* An operand that overrides, and how. */
typedef struct {
    PyObject *object, *method; /* borrows object, owns method */
} override_entry;
enum { MAX_OVERRIDES = 8 }; /* more of different types are not asked */

/* Adds obj in NumPy's order; of each type the first alone. -1: it refuses all ufuncs. */
static int add_override(PyObject *obj, override_entry *found, int *count) {
    PyObject *method = find_override(obj);
    if (!method) return 0;
    if (method == Py_None) {
        PyErr_Format(PyExc_TypeError,
                     "operand '%s' does not support ufuncs (__array_ufunc__=None)",
                     Py_TYPE(obj)->tp_name);
        Py_DECREF(method);
        return -1;
    }
    /* -1: there is one of this type already. */
    int place = *count;
    for (int i = 0; i < *count; i++) {
        if (Py_TYPE(found[i].object) == Py_TYPE(obj)) place = -1;
        /* A subclass goes before its superclass. */
        if (place == *count && PyType_IsSubtype(Py_TYPE(obj), Py_TYPE(found[i].object)))
            place = i;
        if (place == -1) break;
    }
    if (place == -1 || *count == MAX_OVERRIDES) {
        Py_DECREF(method);
        return 0;
    }
    for (int i = *count; i > place; i--)
        found[i] = found[i - 1];
    found[place] = (override_entry){obj, method};
    (*count)++;
    return 0;
}

/* Who is asked: inputs, outputs (also in out=) and where=. How many; found[].method is
 * owned. -1: an error, nothing is owned. */
static int collect_overrides(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames, override_entry *found) {
    int count = 0;
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    for (Py_ssize_t i = 0; i < total; i++) {
        if (i >= nargs) {
            PyObject *name = PyTuple_GET_ITEM(kwnames, i - nargs);
            if (PyUnicode_CompareWithASCIIString(name, "out") != 0 &&
                PyUnicode_CompareWithASCIIString(name, "where") != 0)
                continue;
            if (PyTuple_CheckExact(args[i])) {
                for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args[i]); k++)
                    if (add_override(PyTuple_GET_ITEM(args[i], k), found, &count) < 0)
                        goto fail;
                continue;
            }
            /* Positions past the outputs are errors, which are found later. */
        } else if (i >= u->nin + u->nout) {
            break;
        }
        if (add_override(args[i], found, &count) < 0) goto fail;
    }
    return count;
fail:
    for (int i = 0; i < count; i++)
        Py_DECREF(found[i].method);
    return -1;
}

/* out=(None, None) gives no output. */
static bool is_all_none(PyObject *tuple) {
    if (!PyTuple_Check(tuple)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) != Py_None) return false;
    return true;
}

/* Arguments of the methods that may come by position; overrides see them by name, but for
 * the inputs, of which there are `inputs`. */
typedef struct {
    const char *method;
    Py_ssize_t inputs, count;
    const char *names[6];
} method_args;

/* NULL: a method whose arguments all stay where they are. */
static const method_args *args_of(const char *method) {
    static const method_args all[] = {
        {"reduce", 1, 6, {"axis", "dtype", "out", "keepdims", "initial", "where"}},
        {"accumulate", 1, 3, {"axis", "dtype", "out"}},
        {"reduceat", 2, 3, {"axis", "dtype", "out"}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].method, method) == 0) return &all[i];
    return NULL;
}

/* One argument of a method as NumPy passes it on: no output that is None, other outputs
 * in a tuple, no initial= that stands for none. -1: an error. */
static int add_keyword(const asn_ufunc *u, PyObject *kwargs, const char *name,
                       PyObject *value) {
    bool is_out = strcmp(name, "out") == 0;
    if (is_out && PyTuple_Check(value) && asn_ufunc_check_out_count(u, value) < 0)
        return -1;
    if (is_out && (value == Py_None || is_all_none(value))) return 0;
    if (strcmp(name, "initial") == 0 && asn_is_no_value(value)) return 0;
    PyObject *packed =
        is_out && !PyTuple_Check(value) ? PyTuple_Pack(1, value) : Py_NewRef(value);
    /* Two names of one argument; overrides see the long one. */
    if (strcmp(name, "sig") == 0) name = "signature";
    int rc = packed ? PyDict_SetItemString(kwargs, name, packed) : -1;
    Py_XDECREF(packed);
    return rc;
}

/* The positional arguments past the inputs, by name. -1: too many, or one given twice. */
static int add_positional(const asn_ufunc *u, const method_args *m, PyObject *kwargs,
                          PyObject *const *args, Py_ssize_t nargs) {
    if (nargs - m->inputs > m->count) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes from %zd to %zd positional arguments but %zd were given",
                     m->method, m->inputs, m->inputs + m->count, nargs);
        return -1;
    }
    for (Py_ssize_t i = m->inputs; i < nargs; i++) {
        const char *name = m->names[i - m->inputs];
        if (PyDict_GetItemString(kwargs, name)) {
            PyErr_Format(PyExc_TypeError,
                         "argument for %s() given by name ('%s') and position (%zd)",
                         m->method, name, i);
            return -1;
        }
        if (add_keyword(u, kwargs, name, args[i]) < 0) return -1;
    }
    return 0;
}

/* kwargs dict of the call; positional outputs become out=(...), as NumPy passes them. A
 * new reference, or NULL. */
static PyObject *override_kwargs(asn_ufunc *u, const char *method, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *kwargs = PyDict_New();
    if (!kwargs) return NULL;
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
        if (!name || add_keyword(u, kwargs, name, args[nargs + k]) < 0) goto fail;
    }
    const method_args *m = args_of(method);
    if (m && nargs > m->inputs && add_positional(u, m, kwargs, args, nargs) < 0)
        goto fail;
    bool given = false;
    for (Py_ssize_t i = u->nin; i < nargs; i++)
        given |= args[i] != Py_None;
    if (strcmp(method, "__call__") == 0 && given) {
        PyObject *out = PyTuple_New(u->nout);
        if (!out) goto fail;
        for (int k = 0; k < u->nout; k++)
            PyTuple_SET_ITEM(out, k,
                             Py_NewRef(u->nin + k < nargs ? args[u->nin + k] : Py_None));
        int rc = PyDict_SetItemString(kwargs, "out", out);
        Py_DECREF(out);
        if (rc < 0) goto fail;
    }
    return kwargs;
fail:
    Py_DECREF(kwargs);
    return NULL;
}

/* What is wrong with the arguments whatever the operands are; NumPy finds it before it
 * asks an override. -1: an error. */
static int check_arguments(asn_ufunc *u, const char *method, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames) {
    bool outer = strcmp(method, "outer") == 0;
    if (outer && nargs != u->nin) {
        PyErr_Format(PyExc_TypeError,
                     "outer() takes %d positional arguments but %zd were given", u->nin,
                     nargs);
        return -1;
    }
    if (!outer && strcmp(method, "__call__") != 0) return 0;
    return asn_ufunc_check_call(u, args, nargs, kwnames);
}

/* type(object).__array_ufunc__(object, ufunc, method, inputs..., **kwargs), by the hook
 * where one is set (_on_override). */
static PyObject *call_override(asn_ufunc *u, const char *method,
                               const override_entry *entry, PyObject *const *args,
                               Py_ssize_t inputs, PyObject *kwargs) {
    PyObject *all = PyTuple_New(inputs + 3);
    if (!all) return NULL;
    PyTuple_SET_ITEM(all, 0, Py_NewRef(entry->object));
    PyTuple_SET_ITEM(all, 1, Py_NewRef(u));
    PyTuple_SET_ITEM(all, 2, PyUnicode_FromString(method));
    for (Py_ssize_t i = 0; i < inputs; i++)
        PyTuple_SET_ITEM(all, 3 + i, Py_NewRef(args[i]));
    PyObject *result = NULL;
    if (PyTuple_GET_ITEM(all, 2))
        result = asn_py.override_hook
                     ? PyObject_CallFunctionObjArgs(asn_py.override_hook, entry->method,
                                                    all, kwargs, NULL)
                     : PyObject_Call(entry->method, all, kwargs);
    Py_DECREF(all);
    return result;
}

/* Sets the TypeError of a call that every override refused; asnumpy._support words it. */
static void refuse(asn_ufunc *u, const char *method, PyObject *const *args,
                   Py_ssize_t inputs, PyObject *kwargs) {
    PyObject *name = PyUnicode_FromString(method), *tuple = PyTuple_New(inputs);
    for (Py_ssize_t i = 0; tuple && i < inputs; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    PyObject *all[4] = {(PyObject *)u, name, tuple, kwargs};
    PyObject *text = name && tuple ? asn_support_call("override_refused", all, 4) : NULL;
    if (text) PyErr_SetObject(PyExc_TypeError, text);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(tuple);
}

/* (Contracts in ufunc.h.) */
int asn_ufunc_overridden(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    override_entry found[MAX_OVERRIDES];
    int count = collect_overrides(u, args, nargs, kwnames, found);
    for (int i = 0; i < count; i++)
        Py_DECREF(found[i].method);
    return count < 0 ? -1 : count > 0;
}

int asn_ufunc_override(asn_ufunc *u, const char *method, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames, PyObject **result) {
    override_entry found[MAX_OVERRIDES];
    int count = collect_overrides(u, args, nargs, kwnames, found);
    if (count <= 0) return count;
    bool call = strcmp(method, "__call__") == 0;
    PyObject *kwargs = check_arguments(u, method, args, nargs, kwnames) < 0
                           ? NULL
                           : override_kwargs(u, method, args, nargs, kwnames);
    const method_args *m = args_of(method);
    /* Which arguments are inputs: of outer and at, all of them. */
    Py_ssize_t inputs = call ? u->nin : m ? m->inputs : nargs;
    if (inputs > nargs) inputs = nargs;
    *result = NULL;
    /* NotImplemented passes the call to the next; the last one's is an error. */
    for (int i = 0; kwargs && i < count; i++) {
        *result = call_override(u, method, &found[i], args, inputs, kwargs);
        if (*result != Py_NotImplemented) break;
        if (i + 1 == count) refuse(u, method, args, inputs, kwargs);
        Py_CLEAR(*result);
    }
    Py_XDECREF(kwargs);
    for (int i = 0; i < count; i++)
        Py_DECREF(found[i].method);
    return *result ? 1 : -1;
}
