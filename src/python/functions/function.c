/* L3 python: the type of functions implemented in C, with NumPy's exact signatures.
 *
 * A function is its definition: signature text, C implementation, one line of
 * documentation. Calls come by vectorcall; the text is parsed once. inspect.signature()
 * sees a Signature made from the same text, defaults such as <no value> included, which a
 * builtin function could not show. Functions pickle by name.
 *
 * A call whose arguments are arrays of ours and plain objects goes straight to the C
 * function. Others are asked first, in NumPy's order: an __array_function__ among the
 * arguments, a subclass's method of the function's name, NumPy for its own subclasses, a
 * method of a foreign first argument. After a failure that NumPy may answer
 * (asn_host_may_answer) its function makes the call, on the host. */
#include "python/docs.h"
#include "python/functions/function.h"

/* All functions are of this one type; what differs is in the definition, which is static.
 */
typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    asn_function_def *def;
} asn_function;

/* The call itself: arguments by the signature, the C function, and what its private
 * failures ask for. (_implementation, to Python.) */
static inline PyObject *function_do(PyObject *self, PyObject *const *args,
                                    Py_ssize_t nargs, PyObject *kwnames) {
    asn_function_def *def = ((asn_function *)self)->def;
    PyObject *v[ASN_MAX_ARGS];
    if (ASN_UNLIKELY(asn_args_parse(&def->signature, args, nargs, kwnames, v) < 0))
        return asn_host_may_answer() ? asn_host_retry(self, args, nargs, kwnames) : NULL;
    PyObject *r = def->call(v);
    /* What stands for *args is a tuple made for the call, for **kwargs a dict. */
    if (def->signature.var_positional) Py_XDECREF(v[def->signature.positional]);
    if (def->signature.var_keyword) Py_XDECREF(v[def->signature.count - 1]);
    /* A function that looked at values has run what was recorded for them. */
    if (ASN_UNLIKELY(r && asn_fp_check() < 0)) {
        Py_DECREF(r);
        return NULL;
    }
    if (ASN_LIKELY(r != NULL)) return r;
    if (asn_host_may_answer()) return asn_host_retry(self, args, nargs, kwnames);
    if (PyErr_ExceptionMatches(asn_py.override_error))
        return asn_function_override(self, args, nargs, kwnames);
    return NULL;
}

/* Whether it is a tuple or a list of arrays of exactly ours, not too long to look
 * through: as of np.stack or concatenate, which need no look then. */
static inline bool holds_arrays(PyObject *x) {
    enum { LONGEST = 16 };
    bool list = PyList_CheckExact(x) && !ASN_FREE_THREADED; /* that nobody changes */
    if (!PyTuple_CheckExact(x) && !list) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *const *items = PySequence_Fast_ITEMS(x);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!asn_is_ndarray_exact(items[i])) return false;
    return n <= LONGEST;
}

/* Whether any argument is of a type made in Python, or a list or tuple: one that may
 * bring an __array_function__, or be of a subclass of NumPy's arrays. Flags alone: no
 * attribute is looked up, and usual arguments pass with a load and a test each. */
static inline bool is_unusual(PyObject *const *args, Py_ssize_t total) {
    const unsigned long looked_at =
        Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;
    for (Py_ssize_t i = 0; i < total; i++)
        if (Py_TYPE(args[i]) != asn_py.ndarray &&
            Py_TYPE(args[i])->tp_flags & looked_at && !holds_arrays(args[i]))
            return true;
    return false;
}

/* What the first argument's own method of the function's name makes of the call; or
 * NotImplemented (a new reference); NULL: an error. NumPy's functions do so with what is
 * no array but has, say, a sum(). */
static PyObject *by_own_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    PyObject *all[3] = {self, asn_tuple_of(args, nargs),
                        asn_keywords_of(args + nargs, kwnames)};
    PyObject *r = all[1] && all[2] ? asn_support_call("own_method", all, 3) : NULL;
    Py_XDECREF(all[1]);
    Py_XDECREF(all[2]);
    return r;
}

/* Whether an argument, or what a list of them begins with (at any depth), is of a
 * subclass of NumPy's arrays that brings rules of its own. */
static bool meets_foreign(PyObject *const *args, Py_ssize_t total) {
    enum { DEEPEST = 32 };
    for (Py_ssize_t i = 0; i < total; i++) {
        PyObject *x = Py_NewRef(args[i]);
        for (int depth = 0; depth < DEEPEST; depth++) {
            bool nest = PyList_CheckExact(x) || PyTuple_CheckExact(x);
            PyObject *first = nest ? asn_first_item(x) : NULL;
            if (!first) break;
            Py_SETREF(x, first);
        }
        bool foreign = asn_is_foreign(x);
        Py_DECREF(x);
        if (foreign) return true;
    }
    return false;
}

/* The call, after those were asked who may take it over. Not inlined: the usual call
 * keeps its registers. */
__attribute__((noinline)) static PyObject *
call_looking(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    if (!((asn_function *)self)->def->asks_none &&
        asn_arguments_override(args, nargs, kwnames))
        return asn_function_override(self, args, nargs, kwnames);
    PyObject *method =
        nargs ? asn_function_method(((asn_function *)self)->def->signature.name, args[0])
              : NULL;
    if (method) {
        PyObject *r = PyObject_Vectorcall(method, args + 1, (size_t)(nargs - 1), kwnames);
        Py_DECREF(method);
        return r;
    }
    if (PyErr_Occurred()) return NULL;
    if (meets_foreign(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) {
        PyObject *r = asn_foreign_call(self, args, nargs, kwnames);
        if (r || PyErr_Occurred()) return r;
    }
    if (nargs && Py_TYPE(args[0])->tp_flags & Py_TPFLAGS_HEAPTYPE &&
        !asn_is_ndarray_exact(args[0])) {
        PyObject *r = by_own_method(self, args, nargs, kwnames);
        if (r != Py_NotImplemented) return r;
        Py_DECREF(r);
    }
    return function_do(self, args, nargs, kwnames);
}

/* The vectorcall of every function. */
static PyObject *function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (ASN_UNLIKELY(is_unusual(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))))
        return call_looking(self, args, nargs, kwnames);
    return function_do(self, args, nargs, kwnames);
}

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((asn_function *)self)->def->signature.name);
}

static PyObject *get_doc(PyObject *self, void *unused) {
    (void)unused;
    const asn_function_def *def = ((asn_function *)self)->def;
    const char *text = asn_docs_find(def->module, def->signature.name);
    return PyUnicode_FromString(text ? text : def->doc);
}

/* The signature that inspect shows. */
static const char *shown_text(const asn_function_def *def) {
    if (def->shown_before_2_5 && !asn_numpy_2_5()) return def->shown_before_2_5;
    return def->shown ? def->shown : def->signature.text;
}

/* For help(): None where a default has no text that Python reads. */
static PyObject *get_text_signature(PyObject *self, void *unused) {
    (void)unused;
    const asn_function_def *def = ((asn_function *)self)->def;
    const char *text = shown_text(def);
    if (strchr(text, '<')) Py_RETURN_NONE;
    return PyUnicode_FromFormat("(%s)", text);
}

/* __signature__, which inspect asks first; made anew each time, by Python. */
static PyObject *get_signature(PyObject *self, void *unused) {
    (void)unused;
    const asn_function_def *def = ((asn_function *)self)->def;
    PyObject *text = PyUnicode_FromString(shown_text(def));
    PyObject *r = text ? asn_support_call("signature", &text, 1) : NULL;
    Py_XDECREF(text);
    return r;
}

/* (Contract in function.h.) */
bool asn_is_built_in(const char *name) {
    static const char *const names[] = {"arange",
                                        "array",
                                        "asanyarray",
                                        "asarray",
                                        "ascontiguousarray",
                                        "asfortranarray",
                                        "empty",
                                        "from_dlpack",
                                        "frombuffer",
                                        "fromfile",
                                        "fromiter",
                                        "frompyfunc",
                                        "fromstring",
                                        "promote_types",
                                        "zeros"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* A class that has a function binds it, as it binds NumPy's function of the name; and
 * help() shows signatures of what can be bound alone. */
static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    bool binds = object && object != Py_None &&
                 !asn_is_built_in(((asn_function *)self)->def->signature.name);
    return binds ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyObject *function_repr(PyObject *self) {
    return PyUnicode_FromFormat("<function %s>",
                                ((asn_function *)self)->def->signature.name);
}

/* A str: pickle finds the function by that name in its module. */
static PyObject *function_reduce(PyObject *self, PyObject *unused) {
    return get_name(self, unused);
}

/* The module is a function's own: an instance's would be its type's. Only __module__ of
 * functions of a submodule ("asnumpy.fft") is special. */
static PyObject *function_getattro(PyObject *self, PyObject *name) {
    const char *module = ((asn_function *)self)->def->module;
    if (module && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "__module__") == 0)
        return PyUnicode_FromFormat("asnumpy.%s", module);
    return PyObject_GenericGetAttr(self, name);
}

static void function_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyGetSetDef function_getset[] = {
    {"__name__", get_name, NULL, NULL, NULL},
    {"__qualname__", get_name, NULL, NULL, NULL},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {"__text_signature__", get_text_signature, NULL, NULL, NULL},
    {"__signature__", get_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {"_implementation", (PyCFunction)(void (*)(void))function_do,
     METH_FASTCALL | METH_KEYWORDS, "The function without __array_function__."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(asn_function, vectorcall), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Makes the type, and OverrideError, which only this folder and Python's helpers know. */
int asn_function_init_type(PyObject *module) {
    asn_py.override_error =
        PyErr_NewException("asnumpy._core._OverrideError", PyExc_TypeError, NULL);
    if (!asn_py.override_error ||
        PyModule_AddObjectRef(module, "_OverrideError", asn_py.override_error) < 0)
        return -1;
    PyType_Slot slots[] = {
        {Py_tp_dealloc, function_dealloc},
        {Py_tp_getset, function_getset},
        {Py_tp_methods, function_methods},
        {Py_tp_members, function_members},
        {Py_tp_repr, function_repr},
        {Py_tp_getattro, function_getattro},
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_descr_get, function_get},
        {0, NULL},
    };
    /* Named in the package: an instance's __module__ comes from its type. */
    PyType_Spec spec = {"asnumpy.function", sizeof(asn_function), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots};
    asn_py.function = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!asn_py.function) return -1;
    return PyModule_AddObjectRef(module, "function", (PyObject *)asn_py.function);
}

/* (Contract in function.h.) asks_none is worked out here: functions with like= ask like=
 * alone, and of the others NumPy dispatches none of these. */
int asn_functions_add(PyObject *module, asn_function_def *defs) {
    for (; defs->signature.name; defs++) {
        asn_function *f = (asn_function *)asn_py.function->tp_alloc(asn_py.function, 0);
        if (!f) return -1;
        f->vectorcall = function_call;
        f->def = defs;
        defs->asks_none |= strstr(defs->signature.text, "like=None") != NULL;
        PyObject *name = defs->module ? PyUnicode_FromFormat("_%s_%s", defs->module,
                                                             defs->signature.name)
                                      : PyUnicode_FromString(defs->signature.name);
        int rc = name ? PyObject_SetAttr(module, name, (PyObject *)f) : -1;
        Py_XDECREF(name);
        Py_DECREF(f);
        if (rc < 0) return -1;
    }
    return 0;
}
