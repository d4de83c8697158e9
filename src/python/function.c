/* L3 python: the type of functions implemented in C, with NumPy's exact signatures.
 *
 * A function is its definition: signature text, C implementation, one line of
 * documentation. Calls come by vectorcall; the text is parsed once. inspect.signature()
 * sees a Signature made from the same text, defaults such as <no value> included, which a
 * builtin function could not show. Functions pickle by name.
 */
#include "function.h"

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    asn_function_def *def;
} asn_function;

/* NumPy's result where an argument is of a subclass of NumPy's, else NULL. */
__attribute__((noinline)) static PyObject *call_if_foreign(PyObject *self,
                                                           PyObject *const *args,
                                                           Py_ssize_t nargs,
                                                           PyObject *kwnames) {
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (asn_is_foreign(args[i])) return asn_foreign_call(self, args, nargs, kwnames);
    return NULL;
}

static PyObject *function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
    asn_function_def *def = ((asn_function *)self)->def;
    PyObject *v[ASN_MAX_ARGS];
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (ASN_UNLIKELY(nargs && !(asn_is_ndarray_exact(args[0]) &&
                                asn_is_ndarray_exact(args[nargs - 1])))) {
        PyObject *foreign = call_if_foreign(self, args, nargs, kwnames);
        if (foreign || PyErr_Occurred()) return foreign;
    }
    if (ASN_UNLIKELY(asn_args_parse(&def->signature, args, PyVectorcall_NARGS(nargsf),
                                    kwnames, v) < 0))
        return NULL;
    PyObject *r = def->call(v);
    if (def->signature.var_positional) Py_XDECREF(v[def->signature.positional]);
    if (def->signature.var_keyword) Py_XDECREF(v[def->signature.count - 1]);
    if (ASN_UNLIKELY(!r) && PyErr_ExceptionMatches(asn_py.host_dtype))
        return asn_host_retry(self, args, PyVectorcall_NARGS(nargsf), kwnames);
    return r;
}

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((asn_function *)self)->def->signature.name);
}

static PyObject *get_doc(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((asn_function *)self)->def->doc);
}

static PyObject *get_text_signature(PyObject *self, void *unused) {
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyObject *get_signature(PyObject *self, void *unused) {
    (void)unused;
    const asn_function_def *def = ((asn_function *)self)->def;
    PyObject *text = PyUnicode_FromString(def->shown ? def->shown : def->signature.text);
    PyObject *r = text ? asn_support_call("signature", &text, 1) : NULL;
    Py_XDECREF(text);
    return r;
}

static PyObject *function_repr(PyObject *self) {
    return PyUnicode_FromFormat("<function %s>",
                                ((asn_function *)self)->def->signature.name);
}

static PyObject *function_reduce(PyObject *self, PyObject *unused) {
    return get_name(self, unused);
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
    {NULL, NULL, 0, NULL},
};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(asn_function, vectorcall), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

int asn_function_init_type(PyObject *module) {
    PyType_Slot slots[] = {
        {Py_tp_dealloc, function_dealloc},
        {Py_tp_getset, function_getset},
        {Py_tp_methods, function_methods},
        {Py_tp_members, function_members},
        {Py_tp_repr, function_repr},
        {Py_tp_call, PyVectorcall_Call},
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

int asn_functions_add(PyObject *module, asn_function_def *defs) {
    for (; defs->signature.name; defs++) {
        asn_function *f = (asn_function *)asn_py.function->tp_alloc(asn_py.function, 0);
        if (!f) return -1;
        f->vectorcall = function_call;
        f->def = defs;
        int rc = PyModule_AddObjectRef(module, defs->signature.name, (PyObject *)f);
        Py_DECREF(f);
        if (rc < 0) return -1;
    }
    return 0;
}
