/* L3 python: what is an instance of asnumpy.ndarray: our arrays and NumPy's. And of
 * ufunc: those of NumPy and of libraries (scipy.special) are of its class.
 *
 * A program asks isinstance(x, np.ndarray), issubclass or a match statement and registers
 * np.ndarray with functools.singledispatch. What it means holds for text, dates, objects
 * and masked arrays too, which functions of ours give as numpy.ndarray. The class of the
 * class answers that; a common base could not: NumPy's class is not ours to derive.
 *
 * CPython asks it only where the type is not the very class: for an array of exactly
 * ndarray, isinstance compares two pointers as before. Subclasses keep the plain answer:
 * no array of NumPy's is one of theirs. Inside the library an instance is one of ours
 * (asn_is_ndarray, asnumpy._core._is_array).
 *
 * It derives from abc.ABCMeta, so that a class may have both ndarray and an abstract
 * class as bases, as NumPy's subclasses do: Python refuses two unrelated metaclasses. */
#include "python/core.h"

/* NumPy's class of what ours is a class of; NULL: it is another class, a subclass too. */
static PyTypeObject *numpys(PyObject *cls) {
    return (PyTypeObject *)cls == asn_py.ndarray ? &PyArray_Type
           : (PyTypeObject *)cls == asn_py.ufunc ? asn_py.numpy_ufunc
                                                 : NULL;
}

/* Whether a class is ours or NumPy's, or derived of one. */
static bool is_either(PyObject *cls, PyObject *ours, PyTypeObject *theirs) {
    return PyType_Check(cls) &&
           (PyType_IsSubtype((PyTypeObject *)cls, (PyTypeObject *)ours) ||
            PyType_IsSubtype((PyTypeObject *)cls, theirs));
}

/* isinstance(x, cls). An object may say that its class is another than its type (proxies,
 * unittest.mock). */
static PyObject *instance_check(PyObject *cls, PyObject *x) {
    if (PyType_IsSubtype(Py_TYPE(x), (PyTypeObject *)cls)) Py_RETURN_TRUE;
    PyTypeObject *theirs = numpys(cls);
    if (!theirs) return PyObject_CallFunctionObjArgs(asn_py.abc_instance, cls, x, NULL);
    if (PyType_IsSubtype(Py_TYPE(x), theirs)) Py_RETURN_TRUE;
    PyObject *told = PyObject_GetAttr(x, asn_py.s_class);
    if (!told && !PyErr_ExceptionMatches(PyExc_AttributeError)) return NULL;
    PyErr_Clear();
    bool is = told && told != (PyObject *)Py_TYPE(x) && is_either(told, cls, theirs);
    Py_XDECREF(told);
    return PyBool_FromLong(is);
}

/* issubclass(other, cls). */
static PyObject *subclass_check(PyObject *cls, PyObject *other) {
    PyTypeObject *theirs = numpys(cls);
    if (!theirs)
        return PyObject_CallFunctionObjArgs(asn_py.abc_subclass, cls, other, NULL);
    if (PyType_Check(other)) return PyBool_FromLong(is_either(other, cls, theirs));
    PyErr_SetString(PyExc_TypeError, "issubclass() arg 1 must be a class");
    return NULL;
}

static PyMethodDef methods[] = {
    {"__instancecheck__", instance_check, METH_O, "Check whether an object is an array."},
    {"__subclasscheck__", subclass_check, METH_O, "Check whether a class is of arrays."},
    {NULL, NULL, 0, NULL},
};

/* asnumpy._core._is_array(x): a plain function, as others of the module ask x's
 * __array_function__. */
static PyObject *is_array(PyObject *module, PyObject *x) {
    (void)module;
    return PyBool_FromLong(asn_is_ndarray(x));
}

static PyMethodDef functions[] = {
    {"_is_array", is_array, METH_O, "Whether x is an array of this library's own."},
    {NULL, NULL, 0, NULL},
};

int asn_instances_init(PyObject *module, PyTypeObject *type) {
    PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
    /* Its size and all else are abc.ABCMeta's. */
    PyType_Spec spec = {"asnumpy._ArrayType", 0, 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *abc = PyImport_ImportModule("abc");
    PyObject *base = abc ? PyObject_GetAttrString(abc, "ABCMeta") : NULL;
    PyObject *bases = base ? PyTuple_Pack(1, base) : NULL;
    if (bases) asn_py.abc_instance = PyObject_GetAttrString(base, "__instancecheck__");
    if (bases) asn_py.abc_subclass = PyObject_GetAttrString(base, "__subclasscheck__");
    PyObject *meta = asn_py.abc_instance && asn_py.abc_subclass
                         ? PyType_FromModuleAndSpec(module, &spec, bases)
                         : NULL;
    Py_XDECREF(bases);
    Py_XDECREF(base);
    Py_XDECREF(abc);
    if (!meta) return -1;
    /* PyType_FromMetaclass, of CPython 3.12 on, takes no metaclass with a __new__ of its
     * own. The type is nobody else's yet; it owns its type. */
    Py_SET_TYPE((PyObject *)type, (PyTypeObject *)meta);
    return PyModule_AddFunctions(module, functions);
}

void asn_instances_share(PyTypeObject *type) {
    Py_SET_TYPE((PyObject *)type,
                (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(asn_py.ndarray)));
}
