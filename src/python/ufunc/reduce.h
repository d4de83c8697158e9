/* L3 python: reductions with NumPy's arguments, shared by methods, functions and
 * ufunc.reduce. `array` is an ndarray, of a subclass too; results are new references, of
 * the class that NumPy gives, or NULL with an exception. */
#ifndef ASN_PYTHON_UFUNC_REDUCE_H
#define ASN_PYTHON_UFUNC_REDUCE_H

#include "python/ufunc/ufunc.h"

/* self as 1-d: a view where possible unless copy; order 'C', 'F', 'A', 'K'.
 * methods_shape.c */
PyObject *asn_flatten(PyObject *self, char order, bool copy);

/* moments.c: mean, var and std; ddof and mean: NumPy's arguments, NULL or no_value:
 * absent. */
PyObject *asn_mean_run(PyObject *array, const asn_reduce_args *args);
/* root: std. */
PyObject *asn_var_run(PyObject *array, const asn_reduce_args *args, PyObject *ddof,
                      PyObject *mean, bool root);
/* The first position of an extreme: of all elements, flattened, where axis is None. */
PyObject *asn_argreduce_run(PyObject *array, PyObject *axis, PyObject *out,
                            PyObject *keepdims, bool maximum);

#endif
