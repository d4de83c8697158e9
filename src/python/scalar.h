/* L3 python: one element <-> Python and NumPy scalars. */
#ifndef ASN_PYTHON_SCALAR_H
#define ASN_PYTHON_SCALAR_H

#include "python/core.h"

/* The NumPy scalar of an element. */
PyObject *asn_scalar_to_numpy(const asn_scalar *s);
/* The same from an element in memory. */
PyObject *asn_scalar_at(asn_dtype dtype, const void *bytes);
/* The Python bool, int, float or complex of an element (as ndarray.item). */
PyObject *asn_scalar_to_python(const asn_scalar *s);

/* Reads a Python number (exactly bool, int, float, complex) or NumPy scalar as an
 * operand: 1 when it is one, 0 when it is something else, -1 on error. */
int asn_scalar_operand(PyObject *obj, asn_operand *out);

/* The element that `array[...] = obj` stores for a scalar object, with NumPy's errors
 * (OverflowError "Python integer 300 out of bounds for uint8", ValueError for NaN to int,
 * TypeError for complex to real). Anything that is no number goes through int(), float()
 * or complex() as NumPy does. */
int asn_scalar_pack(PyObject *obj, asn_dtype dtype, asn_scalar *out);

#endif
