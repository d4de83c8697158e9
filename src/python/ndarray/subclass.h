/* L3 python: results of operations on subclasses of ndarray. */
#ifndef ASN_PYTHON_NDARRAY_SUBCLASS_H
#define ASN_PYTHON_NDARRAY_SUBCLASS_H

#include "python/core.h"

/* Runs __array_finalize__(parent) of a new instance of a subclass, when it has one; -1:
 * it raised. parent is None for an object that a constructor made. */
int asn_subclass_finalize(PyObject *view, PyObject *parent);
/* self's elements as an array of exactly ndarray: a new reference. */
PyObject *asn_subclass_plain(PyObject *self);
/* asn_ndarray_return for any class: a 0-d array becomes a scalar. Takes array. */
PyObject *asn_subclass_element(PyObject *array);
/* The class of NumPy's result of several operands: that of the highest
 * __array_priority__, the first among equals; borrows. */
PyObject *asn_subclass_leader(PyObject *a, PyObject *b);

/* The elements as an instance of `type`, finalised from parent; takes array. NULL: an
 * error, and array is gone all the same. */
PyObject *asn_subclass_adopt(PyObject *array, PyTypeObject *type, PyObject *parent);
/* The same as a view: its base is `plain`, an array of exactly ndarray. Takes plain. */
PyObject *asn_subclass_view(PyObject *plain, PyObject *parent);
/* The slow halves of asn_subclass_keep and _wrap: parent is an instance of a subclass. */
PyObject *asn_subclass_keep_slow(PyObject *result, PyObject *parent);
/* object.__array_wrap__(array, context, scalar); one that takes fewer arguments is called
 * with those, with NumPy's warning. */
PyObject *asn_array_wrap(PyObject *object, PyObject *array, PyObject *context,
                         bool scalar);
/* out: what the result was to be written to, NULL or None for a new array. */
PyObject *asn_subclass_wrap_slow(PyObject *result, PyObject *parent, PyObject *out);

/* A new array as an instance of parent's class, finalised from parent; takes result.
 * Scalars, foreign arrays and NULL pass. */
static inline PyObject *asn_subclass_keep(PyObject *result, PyObject *parent) {
    return ASN_LIKELY(asn_is_ndarray_exact(parent))
               ? result
               : asn_subclass_keep_slow(result, parent);
}

/* The same through parent.__array_wrap__, which scalars pass too: what ufuncs and their
 * methods do. A result in out (not NULL, not None) is out itself. Takes result. */
static inline PyObject *asn_subclass_wrap(PyObject *result, PyObject *parent,
                                          PyObject *out) {
    return ASN_LIKELY(asn_is_ndarray_exact(parent))
               ? result
               : asn_subclass_wrap_slow(result, parent, out);
}

#endif
