/* L3 python, private to the plain cases of functions (plain.c). */
#ifndef ASN_PYTHON_PLAIN_H
#define ASN_PYTHON_PLAIN_H

#include "function.h"

#define NOT_PLAIN return Py_NewRef(Py_NotImplemented)

/* A whole number that fits; false without an error for anything else. */
static inline bool whole(PyObject *o, int64_t *value) {
    int overflow = 0;
    if (!PyLong_CheckExact(o)) return false;
    *value = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow;
}

#endif
