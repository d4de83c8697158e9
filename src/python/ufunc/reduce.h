/* L3 python: reductions with NumPy's arguments, shared by methods, functions and
 * ufunc.reduce. */
#ifndef ASN_PYTHON_UFUNC_REDUCE_H
#define ASN_PYTHON_UFUNC_REDUCE_H

#include "python/ufunc/ufunc.h"

/* self as 1-d: a view where possible unless copy. methods_shape.c */
PyObject *asn_flatten(PyObject *self, char order, bool copy);

PyObject *asn_mean_run(PyObject *array, const asn_reduce_args *args);
/* root: std. */
PyObject *asn_var_run(PyObject *array, const asn_reduce_args *args, PyObject *ddof,
                      PyObject *mean, bool root);
PyObject *asn_argreduce_run(PyObject *array, PyObject *axis, PyObject *out,
                            PyObject *keepdims, bool maximum);

#endif
