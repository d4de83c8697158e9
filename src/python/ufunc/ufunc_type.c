/* L3 python: ufunc objects: which there are, and their attributes.
 *
 * The list follows from the operation table (every row that is not a kernel), with
 * NumPy's aliases beside it. A ufunc that NumPy names twice with different __name__
 * (deg2rad and radians) has two objects over one row. The attributes are worked out of
 * the row each time they are asked: they are for people and for tests against NumPy's. */
#include "python/docs.h"
#include "python/ufunc/ufunc.h"

/* (Contract in ufunc.h.) Rows that only the library uses have no ufunc. */
PyObject *asn_ufunc_of(asn_op op) {
    if (!asn_py.ufunc_of_row[op])
        PyErr_Format(PyExc_SystemError, "operation %s has no ufunc",
                     asn_op_table[op].name);
    return asn_py.ufunc_of_row[op];
}

/* The getters: new references; `unused` is the closure, of which none is set. What they
 * show is what the call accepts: tests compare each with NumPy's ufunc of the name. */
static PyObject *get_nin(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((asn_ufunc *)self)->nin);
}

static PyObject *get_nout(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((asn_ufunc *)self)->nout);
}

static PyObject *get_nargs(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((asn_ufunc *)self)->nin + ((asn_ufunc *)self)->nout);
}

/* Whether there is a loop of that dtype in NumPy's list, which has no bfloat16: NumPy
 * itself has no such dtype. */
static bool has_type(const asn_ufunc *u, asn_dtype dtype) {
    return dtype != ASN_BF16 && asn_op_has_numpy_loop((asn_op)u->op, dtype);
}

/* "dd->d" for one loop dtype. long_long: int64 and uint64 by their second characters. */
static PyObject *type_text(const asn_ufunc *u, asn_dtype dtype, bool long_long) {
    char text[12], *p = text;
    for (int i = 0; i < u->nin; i++)
        *p++ = asn_dtype_table[asn_op_operand((asn_op)u->op, i, dtype)].character;
    *p++ = '-', *p++ = '>';
    *p++ = asn_dtype_table[asn_op_result((asn_op)u->op, dtype)].character;
    if (u->nout == 2)
        *p++ = asn_dtype_table[asn_op_result((asn_op)u->op2, dtype)].character;
    for (char *c = text; long_long && c < p; c++)
        *c = *c == 'l' ? 'q' : *c == 'L' ? 'Q' : *c;
    return PyUnicode_FromStringAndSize(text, p - text);
}

/* Adds the loop of a dtype to the list, if there is one; -1: an error. long long is
 * int64's second name, and has a loop of its own in NumPy's list. */
static int append_type(PyObject *list, const asn_ufunc *u, asn_dtype dtype,
                       bool long_long) {
    if (!has_type(u, dtype)) return 0;
    PyObject *text = type_text(u, dtype, long_long);
    int rc = text ? PyList_Append(list, text) : -1;
    Py_XDECREF(text);
    return rc;
}

/* In the order of the table of dtypes, which is NumPy's; long long after int64 and
 * uint64. */
static PyObject *get_types(PyObject *self, void *unused) {
    (void)unused;
    const asn_ufunc *u = (asn_ufunc *)self;
    PyObject *list = PyList_New(0);
    for (int d = 0; list && d < ASN_DTYPE_COUNT; d++) {
        if (append_type(list, u, (asn_dtype)d, false) < 0 ||
            (d == ASN_U64 && (append_type(list, u, ASN_I64, true) < 0 ||
                              append_type(list, u, ASN_U64, true) < 0)))
            Py_CLEAR(list);
    }
    return list;
}

/* As many as get_types lists: int64 and uint64 count twice. */
static PyObject *get_ntypes(PyObject *self, void *unused) {
    (void)unused;
    int n = 0;
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        if (has_type((asn_ufunc *)self, (asn_dtype)d))
            n += d == ASN_I64 || d == ASN_U64 ? 2 : 1;
    return PyLong_FromLong(n);
}

/* The identity of the reduction: a bool, an int, or -inf (of logaddexp); None: there is
 * none. */
static PyObject *get_identity(PyObject *self, void *unused) {
    (void)unused;
    const asn_ufunc *u = (asn_ufunc *)self;
    const asn_op_info *info = &asn_op_table[u->op];
    if (u->kind != ASN_UFUNC_PLAIN || !info->has_identity) Py_RETURN_NONE;
    if (info->out_dtype == ASN_BOOL) return PyBool_FromLong(info->identity != 0);
    if (info->identity == -Py_HUGE_VAL) return PyFloat_FromDouble(info->identity);
    return PyLong_FromDouble(info->identity);
}

/* A plain ufunc has no core signature. */
static PyObject *get_signature(PyObject *self, void *unused) {
    (void)unused;
    const char *text = ((asn_ufunc *)self)->core_signature;
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((asn_ufunc *)self)->name);
}

/* NumPy's first line of a ufunc's documentation, from which old tools read a signature,
 * then its text, or the row's own sentence. */
static PyObject *doc_of(const asn_ufunc *u) {
    const char *outputs = u->nout == 2 ? "out=(None, None)" : "out=None";
    const char *extra = u->kind == ASN_UFUNC_CORE ? "" : ", where=True";
    const char *text = asn_docs_find(NULL, u->name);
    if (!text) text = u->doc;
    if (u->nout == 2)
        return PyUnicode_FromFormat(
            "%s(%s[, out1, out2], / [, out=(None, None)], *, where=True, "
            "casting='same_kind', order='K', dtype=None, subok=True[, signature])\n\n%s",
            u->name, u->args, text);
    return PyUnicode_FromFormat("%s(%s, /, %s, *%s, casting='same_kind', order='K', "
                                "dtype=None, subok=True[, signature])\n\n%s",
                                u->name, u->args, outputs, extra, text);
}

/* An inspect.Signature, made by asnumpy._support on demand. */
static PyObject *get_python_signature(PyObject *self, void *unused) {
    (void)unused;
    const asn_ufunc *u = (asn_ufunc *)self;
    PyObject *text = PyUnicode_FromFormat(
        "%s, /, %s, *, %s, casting='same_kind', order='K', dtype=None, subok=True, "
        "signature=None",
        u->args, u->nout == 2 ? "out=(None, None)" : "out=None",
        u->kind == ASN_UFUNC_CORE ? "axes=<no value>, axis=<no value>, keepdims=False"
                                  : "where=True");
    PyObject *support = text ? PyImport_ImportModule("asnumpy._support") : NULL;
    PyObject *r = support ? PyObject_CallMethod(support, "signature", "O", text) : NULL;
    Py_XDECREF(support);
    Py_XDECREF(text);
    return r;
}

static PyGetSetDef ufunc_getset[] = {
    {"nin", get_nin, NULL, "Number of inputs.", NULL},
    {"nout", get_nout, NULL, "Number of outputs.", NULL},
    {"nargs", get_nargs, NULL, "Number of inputs and outputs.", NULL},
    {"ntypes", get_ntypes, NULL, "Number of loops.", NULL},
    {"types", get_types, NULL, "The loops, as 'inputs->outputs' in type characters.",
     NULL},
    {"identity", get_identity, NULL, "Value of the empty reduction, or None.", NULL},
    {"signature", get_signature, NULL, "Core signature of a generalised ufunc, or None.",
     NULL},
    {"__name__", get_name, NULL, NULL, NULL},
    {"__qualname__", get_name, NULL, NULL, NULL},
    {"__signature__", get_python_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* `__doc__` in the type's dict: the text of the class for the class, where CPython asks
 * its __get__ with no object, and each ufunc's own for a ufunc. (An attribute with a
 * getter would show itself for the class.) */
static PyObject *doc_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)self, (void)type;
    if (object && object != Py_None) return doc_of((asn_ufunc *)object);
    const char *text = asn_docs_find(NULL, "ufunc");
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

static void doc_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Gives the type that descriptor. -1: an error. */
static int set_doc(PyTypeObject *ufunc) {
    PyType_Slot slots[] = {
        {Py_tp_descr_get, doc_get}, {Py_tp_dealloc, doc_dealloc}, {0, NULL}};
    PyType_Spec spec = {"asnumpy._core.ufunc_doc", sizeof(PyObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
    PyObject *doc = type ? type->tp_alloc(type, 0) : NULL;
    int rc = doc ? PyObject_SetAttrString((PyObject *)ufunc, "__doc__", doc) : -1;
    Py_XDECREF(doc);
    Py_XDECREF(type);
    return rc;
}

/* As NumPy's: <ufunc 'add'>. */
static PyObject *ufunc_repr(PyObject *self) {
    return PyUnicode_FromFormat("<ufunc '%s'>", ((asn_ufunc *)self)->name);
}

static PyMemberDef ufunc_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(asn_ufunc, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static void ufunc_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((asn_ufunc *)self)->replacement);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Makes an object of `facts`, under its name in the module and in `ufuncs`; the first
 * plain one of a row is the row's. -1: an error. */
static int register_ufunc(PyObject *module, const asn_ufunc *facts) {
    asn_ufunc *u = (asn_ufunc *)asn_py.ufunc->tp_alloc(asn_py.ufunc, 0);
    if (!u) return -1;
    /* The facts are copied over the whole struct; the object's head stays its own. */
    PyObject head = u->ob_base;
    *u = *facts;
    u->ob_base = head;
    u->vectorcall = asn_ufunc_vectorcall;
    int rc = PyDict_SetItemString(asn_py.ufuncs, u->name, (PyObject *)u);
    if (rc == 0) rc = PyModule_AddObjectRef(module, u->name, (PyObject *)u);
    if (u->kind == ASN_UFUNC_PLAIN && !asn_py.ufunc_of_row[u->op])
        asn_py.ufunc_of_row[u->op] = (PyObject *)u;
    Py_DECREF(u);
    return rc;
}

/* What is no row of the table: pairs, second names, generalised ufuncs. */
static const asn_ufunc composed[] = {
    {.name = "divmod",
     .args = "x1, x2",
     .op = ASN_OP_FLOOR_DIVIDE,
     .op2 = ASN_OP_REMAINDER,
     .kind = ASN_UFUNC_PAIR,
     .nin = 2,
     .nout = 2,
     .doc = "Quotient and remainder at once."},
    {.name = "modf",
     .args = "x",
     .op = ASN_OP_MODF_FRACTION,
     .op2 = ASN_OP_TRUNC,
     .kind = ASN_UFUNC_PAIR,
     .nin = 1,
     .nout = 2,
     .doc = "Fraction and integer part."},
    {.name = "frexp",
     .args = "x",
     .op = ASN_OP_FREXP_MANTISSA,
     .op2 = ASN_OP_FREXP_EXPONENT,
     .kind = ASN_UFUNC_PAIR,
     .nin = 1,
     .nout = 2,
     .doc = "Mantissa and exponent: x = m * 2**e."},
    {.name = "deg2rad",
     .args = "x",
     .op = ASN_OP_RADIANS,
     .kind = ASN_UFUNC_PLAIN,
     .nin = 1,
     .nout = 1,
     .doc = "Degrees to radians."},
    {.name = "rad2deg",
     .args = "x",
     .op = ASN_OP_DEGREES,
     .kind = ASN_UFUNC_PLAIN,
     .nin = 1,
     .nout = 1,
     .doc = "Radians to degrees."},
    /* The matmul family shares multiply's dtypes: every numeric dtype has a product. */
    {.name = "matmul",
     .args = "x1, x2",
     .op = ASN_OP_MULTIPLY,
     .kind = ASN_UFUNC_CORE,
     .nin = 2,
     .nout = 1,
     .core_signature = "(n?,k),(k,m?)->(n?,m?)",
     .doc = "Matrix product."},
    {.name = "vecdot",
     .args = "x1, x2",
     .op = ASN_OP_MULTIPLY,
     .kind = ASN_UFUNC_CORE,
     .nin = 2,
     .nout = 1,
     .core_signature = "(n),(n)->()",
     .doc = "Product of vectors, the first conjugated."},
    {.name = "matvec",
     .args = "x1, x2",
     .op = ASN_OP_MULTIPLY,
     .kind = ASN_UFUNC_CORE,
     .nin = 2,
     .nout = 1,
     .core_signature = "(m,n),(n)->(m)",
     .doc = "Product of matrices and vectors."},
    {.name = "vecmat",
     .args = "x1, x2",
     .op = ASN_OP_MULTIPLY,
     .kind = ASN_UFUNC_CORE,
     .nin = 2,
     .nout = 1,
     .core_signature = "(n),(n,m)->(m)",
     .doc = "Product of vectors, conjugated, and matrices."},
};

/* One ufunc for each row that NumPy has; kernels are the library's own operations. The
 * order is the table's. */
static int register_rows(PyObject *module) {
    for (int op = 0; op < ASN_OP_COUNT; op++) {
        const asn_op_info *info = &asn_op_table[op];
        if (info->flags & ASN_OPF_KERNEL) continue;
        asn_ufunc u = {.name = info->name,
                       .doc = info->doc,
                       .op = (uint16_t)op,
                       .kind = ASN_UFUNC_PLAIN,
                       .nin = info->num_in,
                       .nout = 1};
        u.args = info->num_in == 1 ? "x" : info->num_in == 2 ? "x1, x2" : "x1, x2, x3";
        if (register_ufunc(module, &u) < 0) return -1;
    }
    return 0;
}

/* Makes the type, the dict asnumpy.ufuncs, and an object for each row and each of
 * `composed`. */
int asn_ufunc_init_type(PyObject *module) {
    if (asn_docs_put("ufunc", ufunc_getset, asn_ufunc_methods) < 0) return -1;
    PyType_Slot slots[] = {
        {Py_tp_dealloc, ufunc_dealloc},
        {Py_tp_members, ufunc_members},
        {Py_tp_getset, ufunc_getset},
        {Py_tp_methods, asn_ufunc_methods},
        {Py_tp_repr, ufunc_repr},
        {Py_tp_call, PyVectorcall_Call},
        {0, NULL},
    };
    PyType_Spec spec = {"asnumpy.ufunc", sizeof(asn_ufunc), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots};
    asn_py.ufunc = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    asn_py.ufuncs = PyDict_New();
    if (!asn_py.ufunc || !asn_py.ufuncs || set_doc(asn_py.ufunc) < 0) return -1;
    asn_instances_share(asn_py.ufunc);
    if (PyModule_AddObjectRef(module, "ufunc", (PyObject *)asn_py.ufunc) < 0 ||
        PyModule_AddObjectRef(module, "ufuncs", asn_py.ufuncs) < 0 ||
        register_rows(module) < 0)
        return -1;
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
        if (register_ufunc(module, &composed[i]) < 0) return -1;
    return 0;
}
