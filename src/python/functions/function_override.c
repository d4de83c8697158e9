/* L3 python: __array_function__ of other types in a function's arguments (NEP 18), and of
 * like= (NEP 35).
 *
 * An argument counts whose type brings an __array_function__ of its own, neither ours nor
 * numpy.ndarray's. Arguments are looked at one level deep: the items of a list or tuple
 * too. Types made in C, ours excepted, bring none, so that one pointer comparison and one
 * flag let the usual arguments through. A function with like= looks at like= alone: it
 * fails with OverrideError, a private exception, and the call is made again from here.
 *
 * Which of several overriding types is asked first (subclasses before, left to right) is
 * Python's part: asnumpy._support.override_function. */
#include "python/functions/function.h"

/* The look-up is on the type, as for every special method. */
static bool brings_own(PyTypeObject *type) {
    PyObject *method = PyObject_GetAttr((PyObject *)type, asn_py.s_array_function);
    if (!method) {
        PyErr_Clear();
        return false;
    }
    PyObject *bases[] = {(PyObject *)asn_py.ndarray, (PyObject *)&PyArray_Type};
    bool own = true;
    for (int i = 0; i < 2; i++) {
        PyObject *inherited = PyObject_GetAttr(bases[i], asn_py.s_array_function);
        own = own && inherited != method;
        Py_XDECREF(inherited);
    }
    Py_DECREF(method);
    return own;
}

/* Whether the object's type has an __array_function__ other than ours and NumPy's. No
 * error is set. The type of arrays and types made in C pass first. */
static bool overrides_functions(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type != asn_py.ndarray && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
           brings_own(type);
}

/* `deeper`: into lists and tuples, by one level. */
static bool any_overrides(PyObject *const *items, Py_ssize_t n, bool deeper) {
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = items[i];
        if (ASN_LIKELY(Py_TYPE(item) == asn_py.ndarray)) continue;
        if (deeper && (PyList_CheckExact(item) || PyTuple_CheckExact(item))) {
            PyObject *held = asn_steady_items(item);
            bool any = held && any_overrides(PySequence_Fast_ITEMS(held),
                                             PySequence_Fast_GET_SIZE(held), false);
            if (!held) PyErr_Clear();
            Py_XDECREF(held);
            if (any) return true;
        } else if (overrides_functions(item)) {
            return true;
        }
    }
    return false;
}

bool asn_arguments_override(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return any_overrides(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), true);
}

/* Functions that NumPy makes of a method (its _wrapfunc), which a subclass may replace;
 * by its name where that is another one. */
static const char *const delegating[][2] = {
    {"all", NULL},       {"any", NULL},          {"argmax", NULL},  {"argmin", NULL},
    {"argsort", NULL},   {"argpartition", NULL}, {"clip", NULL},    {"cumprod", NULL},
    {"cumsum", NULL},    {"max", NULL},          {"amax", "max"},   {"min", NULL},
    {"amin", "min"},     {"mean", NULL},         {"nonzero", NULL}, {"prod", NULL},
    {"ravel", NULL},     {"repeat", NULL},       {"reshape", NULL}, {"round", NULL},
    {"around", "round"}, {"searchsorted", NULL}, {"squeeze", NULL}, {"std", NULL},
    {"sum", NULL},       {"swapaxes", NULL},     {"take", NULL},    {"transpose", NULL},
    {"var", NULL},
};

/* (Contract in function.h.) The method counts where the class's is not ndarray's own. */
PyObject *asn_function_method(const char *function, PyObject *object) {
    if (!asn_is_ndarray(object) || asn_is_ndarray_exact(object)) return NULL;
    for (size_t i = 0; i < sizeof delegating / sizeof *delegating; i++) {
        if (strcmp(delegating[i][0], function) != 0) continue;
        const char *name = delegating[i][1] ? delegating[i][1] : function;
        PyObject *its = PyObject_GetAttrString((PyObject *)Py_TYPE(object), name);
        PyObject *ours = PyObject_GetAttrString((PyObject *)asn_py.ndarray, name);
        bool own = its && ours && its != ours;
        Py_XDECREF(its);
        Py_XDECREF(ours);
        PyErr_Clear();
        return own ? PyObject_GetAttrString(object, name) : NULL;
    }
    return NULL;
}

/* (Contract in function.h.) Arrays of the two libraries themselves change nothing. */
int asn_like_check(PyObject *like) {
    if (!like || like == Py_None || asn_is_ndarray_exact(like) ||
        PyArray_CheckExact(like))
        return 0;
    if (overrides_functions(like)) {
        PyErr_SetString(asn_py.override_error, "like= brings an __array_function__");
        return -1;
    }
    if (asn_is_ndarray(like) || PyArray_Check(like)) return 0;
    PyErr_SetString(PyExc_TypeError,
                    "The `like` argument must be an array-like that implements "
                    "the `__array_function__` protocol.");
    return -1;
}

/* The arguments are passed on as they came; the helper looks through them once more, as
 * it needs the types in their order. */
PyObject *asn_function_override(PyObject *function, PyObject *const *args,
                                Py_ssize_t nargs, PyObject *kwnames) {
    PyErr_Clear();
    PyObject *positional = asn_tuple_of(args, nargs);
    PyObject *keywords = asn_keywords_of(args + nargs, kwnames);
    PyObject *r = NULL;
    if (positional && keywords) {
        PyObject *all[3] = {function, positional, keywords};
        r = asn_support_call("override_function", all, 3);
    }
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return r;
}
