/* L3 python: the method table of ndarray.
 *
 * The docstrings begin with the text from which inspect.signature is made: NumPy's own
 * signatures, checked by a test against NumPy. Class methods and statics stand at the
 * end.
 */
#include "python/ndarray/methods.h"

/* ndarray[shape, dtype] in annotations: NumPy's generic alias of one or two arguments. */
static PyObject *class_getitem(PyObject *cls, PyObject *item) {
    Py_ssize_t n = PyTuple_Check(item) ? PyTuple_GET_SIZE(item) : 1;
    if (n < 1 || n > 2) {
        PyErr_Format(PyExc_TypeError, "Too %s arguments for %R", n > 2 ? "many" : "few",
                     cls);
        return NULL;
    }
    return Py_GenericAlias(cls, item);
}

/* The static method of the name: always a copy, even where memory could be shared. */
static PyObject *from_numpy(PyObject *unused, PyObject *array) {
    (void)unused;
    if (PyArray_Check(array)) return asn_from_numpy(array, true, false);
    PyErr_Format(PyExc_TypeError, "from_numpy takes a NumPy array, got %s",
                 Py_TYPE(array)->tp_name);
    return NULL;
}

/* METH_FASTCALL hands the arguments over as a C array; the text before "--" is what
 * inspect reads. */
#define ASN_ROW(name, text)                                                              \
    {#name, (PyCFunction)(void (*)(void))asn_method_##name,                              \
     METH_FASTCALL | METH_KEYWORDS, #name "($self, " text ")\n--\n\n"},

PyMethodDef asn_ndarray_methods[] = {
    ASN_METHOD_LIST(ASN_ROW){"__class_getitem__", class_getitem, METH_O | METH_CLASS,
                             "__class_getitem__($cls, item, /)\n--\n\n"},
    {"from_numpy", from_numpy, METH_O | METH_STATIC,
     "from_numpy(array, /)\n--\n\nA copy of a NumPy array on the device."},
    {NULL, NULL, 0, NULL},
};
