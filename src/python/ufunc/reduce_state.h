/* L3 python: what reductions share: their options as read from Python, and the forms of
 * their results. */
#ifndef ASN_PYTHON_UFUNC_REDUCE_STATE_H
#define ASN_PYTHON_UFUNC_REDUCE_STATE_H

#include "python/ufunc/reduce.h"

/* Options read from Python, and references to release. */
typedef struct {
    asn_reduce_options options; /* what the core takes */
    asn_operand initial;        /* what options.initial refers to, if any */
    PyObject *initial_owner, *where_owner, *out_owner; /* or NULL */
    asn_array *out;                                    /* out=; NULL: none */
    bool all_axes; /* axis=None, or every axis by number */
} asn_reduce_state;

/* 0, or -1 with the exception set; asn_reduce_fini either way. */
int asn_reduce_init(asn_reduce_state *s, asn_op op, PyObject *array,
                    const asn_reduce_args *a);
void asn_reduce_fini(asn_reduce_state *s);

/* out=: None, an array, or a tuple of one. Returns the object itself, borrowed; NULL for
 * none. */
PyObject *asn_out_object(PyObject *out);
/* The result of a reduction into out=, or of all axes to a number, once it is computed:
 * floating-point exceptions are reported as "reduce", or as what op raised on the way. A
 * new reference, or NULL. */
PyObject *asn_reduce_out(const asn_reduce_state *s, asn_op op, const asn_reduce_args *a,
                         asn_status status);
PyObject *asn_reduce_scalar(const asn_scalar *s, asn_op op);

/* None or <no value> where both mean "not given". */
static inline bool asn_is_default(PyObject *o) {
    return !o || o == Py_None || o == asn_py.no_value;
}

/* All axes of an array of so many: None, or the only one by its number. */
static inline bool asn_axis_is_all(PyObject *axis, int ndim) {
    if (!axis || axis == Py_None) return true;
    if (ndim != 1 || !PyLong_CheckExact(axis)) return false;
    int overflow;
    long which = PyLong_AsLongAndOverflow(axis, &overflow);
    return !overflow && (which == 0 || which == -1);
}

/* All axes and nothing else asked for: the result is a scalar. */
static inline bool asn_reduce_is_plain(const asn_reduce_args *a, const asn_array *of) {
    return asn_gives_scalars() && asn_axis_is_all(a->axis, of->layout.ndim) &&
           asn_is_default(a->dtype) && asn_is_default(a->out) &&
           (asn_is_default(a->keepdims) || a->keepdims == Py_False) &&
           asn_is_no_value(a->initial) &&
           (asn_is_no_value(a->where) || a->where == Py_True);
}

/* A run of `call` on a subclass's elements, as NumPy's ufuncs wrap it. */
#define ASN_OF_SUBCLASS(call, out)                                                       \
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array))) {                                    \
        PyObject *plain = asn_subclass_plain(array), *made = plain ? call : NULL;        \
        Py_XDECREF(plain);                                                               \
        return asn_subclass_wrap(made, array, out);                                      \
    }

#endif
