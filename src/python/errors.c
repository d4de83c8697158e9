/* L3 python: core failures -> Python exceptions.
 *
 * The status names the class (status.def), the thread's message is the text. Classes that
 * are NumPy's own (AxisError, the UFuncTypeError family) are looked up once at import.
 * NumPy's casting and no-loop errors are built from their parts where the ufunc is known
 * (ufunc.c); here they are plain TypeErrors, as NumPy raises for most of them.
 */
#include "python/core.h"

/* The class of a status; what is not listed is a ValueError, as most complaints are. */
static PyObject *status_class(asn_status status) {
    switch (status) {
    case ASN_ERR_MEMORY: return PyExc_MemoryError;
    case ASN_ERR_TYPE:
    case ASN_ERR_CASTING:
    case ASN_ERR_NO_LOOP: return PyExc_TypeError;
    case ASN_ERR_INDEX: return PyExc_IndexError;
    case ASN_ERR_AXIS: return asn_py.axis_error;
    case ASN_ERR_OVERFLOW: return PyExc_OverflowError;
    case ASN_ERR_ZERO_DIVISION: return PyExc_ZeroDivisionError;
    case ASN_ERR_FLOATING_POINT: return PyExc_FloatingPointError;
    case ASN_ERR_BUFFER: return PyExc_BufferError;
    case ASN_ERR_UNSUPPORTED: return PyExc_NotImplementedError;
    case ASN_ERR_RUNTIME: return PyExc_RuntimeError;
    default: return PyExc_ValueError;
    }
}

/* NumPy's LinAlgError, imported when there is one to raise. */
static void raise_linalg(void) {
    PyObject *module = PyImport_ImportModule("numpy.linalg");
    PyObject *type = module ? PyObject_GetAttrString(module, "LinAlgError") : NULL;
    if (type) PyErr_SetString(type, asn_error_message());
    Py_XDECREF(type);
    Py_XDECREF(module);
}

/* (Contract in core.h.) The message is the thread's last (base/error.h). */
void *asn_raise(asn_status status) {
    /* A callback into Python (a release hook, a warning turned into an error) may have
     * raised already. */
    if (PyErr_Occurred()) return NULL;
    if (status == ASN_ERR_LINALG)
        raise_linalg();
    else
        PyErr_SetString(status_class(status), asn_error_message());
    return NULL;
}
