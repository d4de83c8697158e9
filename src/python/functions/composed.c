/* L3 python: the type of public functions written in Python over the core.
 *
 * What such a function must leave to others (arguments with an __array_function__, data
 * that the device lacks, subclasses) is found out in Python, by asnumpy._support.hosted,
 * which takes 0.3 us: three times what a small function does. Nearly every call has
 * nothing but arrays, numbers, names and short sequences of them: such a call goes
 * straight to the function. Any other goes to `careful`, the same function behind that
 * look; so does one that may have like=.
 *
 * The object otherwise passes for a Python function: it has a __dict__ (functools.wraps
 * fills it), binds to instances, pickles by name. It takes part in garbage collection,
 * since the function's globals refer to it. */
#include "python/functions/function.h"

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    /* the function alone; behind the look; __dict__ or NULL */
    PyObject *function, *careful, *dict;
    bool takes_like; /* a call with keywords may have like= */
} composed;

/* Types whose objects have nothing that a function would have to leave to others. (A
 * subclass of one of these is another type.) */
static bool is_usual_type(const PyTypeObject *t) {
    return t == &PyFloat_Type || t == &PyLong_Type || t == &PyBool_Type ||
           t == &PyUnicode_Type || t == &PySlice_Type || t == &PyComplex_Type ||
           t == &PyType_Type || t == &PyFunction_Type || t == &PyCFunction_Type ||
           t == &PyRange_Type || t == &PyDict_Type || t == &PyEllipsis_Type ||
           t == asn_py.function || t == &PyDoubleArrType_Type ||
           t == &PyLongArrType_Type || t == &PyBoolArrType_Type ||
           t == &PyFloatArrType_Type || t == &PyIntArrType_Type ||
           t == &PyCDoubleArrType_Type;
}

/* Of a dtype that the device has, in this machine's byte order, by NumPy's numbers of
 * types: bool to complex128 without long double, and float16. */
static bool is_device_array(PyArrayObject *a) {
    int type = PyArray_TYPE(a);
    return PyArray_ISNOTSWAPPED(a) &&
           (type == NPY_HALF || (type <= NPY_CDOUBLE && type != NPY_LONGDOUBLE));
}

/* Whether all arguments are as usual, lists and tuples by their items. What is too long
 * or too deep to look at is not: `careful` then looks. */
static bool all_usual(PyObject *const *args, Py_ssize_t n, int depth) {
    enum { LONGEST = 32, DEEPEST = 4 };
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        if (Py_TYPE(x) == asn_py.ndarray || x == Py_None || is_usual_type(Py_TYPE(x)))
            continue;
        if (PyArray_CheckExact(x)) {
            if (!is_device_array((PyArrayObject *)x)) return false;
            continue;
        }
        if (!(PyTuple_CheckExact(x) || PyList_CheckExact(x)) || depth == DEEPEST)
            return false;
        Py_ssize_t length = PySequence_Fast_GET_SIZE(x);
        PyObject *items = length <= LONGEST ? asn_steady_items(x) : NULL;
        bool usual = items && all_usual(PySequence_Fast_ITEMS(items),
                                        PySequence_Fast_GET_SIZE(items), depth + 1);
        Py_XDECREF(items);
        if (!usual) return false;
    }
    return true;
}

/* One vectorcall for both ways. An argument that is usual may still hold data that the
 * device lacks (a text in a list), which shows when it is converted: the host's turn. */
static PyObject *composed_call(PyObject *object, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
    composed *self = (composed *)object;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (!all_usual(args, total, 0) || (self->takes_like && kwnames))
        return PyObject_Vectorcall(self->careful, args, nargsf, kwnames);
    PyObject *r = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    if (ASN_LIKELY(r != NULL) || !asn_host_may_answer()) return r;
    return asn_host_retry(object, args, nargs, kwnames);
}

/* _composed(function, careful, takes_like); once for each function, on import. */
static PyObject *composed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *careful;
    int takes_like;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOp:composed", &function, &careful, &takes_like))
        return NULL;
    composed *self = (composed *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = composed_call;
    self->function = Py_NewRef(function);
    self->careful = Py_NewRef(careful);
    self->takes_like = takes_like;
    return (PyObject *)self;
}

/* The collector's look at what the object refers to, and its way to break a cycle. */
static int composed_traverse(PyObject *object, visitproc visit, void *arg) {
    composed *self = (composed *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->careful);
    Py_VISIT(self->dict);
    return 0;
}

/* NULL afterwards: what the collector clears may still be called by a finaliser. */
static int composed_clear(PyObject *object) {
    composed *self = (composed *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->careful);
    Py_CLEAR(self->dict);
    return 0;
}

static void composed_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    composed_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* A function: a class that has one binds it, unless it is asked for by the class itself,
 * or NumPy has it built in. */
static PyObject *composed_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    if (!object || object == Py_None) return Py_NewRef(self);
    PyObject *name = PyObject_GetAttrString(self, "__name__");
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    PyObject *r = NULL;
    if (text) r = asn_is_built_in(text) ? Py_NewRef(self) : PyMethod_New(self, object);
    Py_XDECREF(name);
    return r;
}

/* As a Python function shows itself, without the address. */
static PyObject *composed_repr(PyObject *self) {
    PyObject *name = PyObject_GetAttrString(self, "__qualname__");
    PyObject *r = name ? PyUnicode_FromFormat("<function %U>", name) : NULL;
    Py_XDECREF(name);
    return r;
}

/* Pickled by name: a str says where in its module the object is. */
static PyObject *composed_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyGetSetDef composed_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef composed_methods[] = {
    {"__reduce__", composed_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef composed_members[] = {
    /* CPython's way to tell a heap type where the C call and the __dict__ are. */
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(composed, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(composed, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Makes the type, as _core._composed. */
int asn_composed_init_type(PyObject *module) {
    PyType_Slot slots[] = {
        {Py_tp_new, composed_new},
        {Py_tp_dealloc, composed_dealloc},
        {Py_tp_traverse, composed_traverse},
        {Py_tp_clear, composed_clear},
        {Py_tp_getset, composed_getset},
        {Py_tp_methods, composed_methods},
        {Py_tp_members, composed_members},
        {Py_tp_descr_get, composed_get},
        {Py_tp_repr, composed_repr},
        {Py_tp_call, PyVectorcall_Call},
        {0, NULL},
    };
    PyType_Spec spec = {
        "asnumpy._core._composed", sizeof(composed), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    int rc = PyModule_AddObjectRef(module, "_composed", type);
    Py_DECREF(type);
    return rc;
}
