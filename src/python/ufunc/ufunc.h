/* L3 python: ufunc objects, and the calls of the table's operations that the array type
 * shares with them. */
#ifndef ASN_PYTHON_UFUNC_UFUNC_H
#define ASN_PYTHON_UFUNC_UFUNC_H

#include "python/args.h"
#include "python/convert.h"

typedef enum {
    ASN_UFUNC_PLAIN, /* one row of the table */
    ASN_UFUNC_PAIR,  /* two results, one row each */
    ASN_UFUNC_CORE,  /* a generalised ufunc: matmul, vecdot, matvec, vecmat */
} asn_ufunc_kind;

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    const char *name, *args;    /* args: "x1, x2" */
    const char *core_signature; /* "(n),(n)->()" or NULL */
    const char *doc;
    uint16_t op, op2; /* asn_op; op2 of a pair */
    uint8_t kind, nin, nout;
} asn_ufunc;

/* Keyword arguments of a call; NULL where absent. */
typedef struct {
    PyObject *out[2], *where, *casting, *order, *dtype, *subok, *signature, *axes, *axis,
        *keepdims;
    bool keep_array; /* out=... */
    bool out_given;  /* out=None included */
} asn_ufunc_kwargs;

int asn_ufunc_init_type(PyObject *module);
static inline bool asn_is_ufunc(PyObject *o) {
    return Py_TYPE(o) == asn_py.ufunc;
}

/* The ufunc object of a row (borrows), for error messages and overrides. */
PyObject *asn_ufunc_of(asn_op op);

/* ndarray_number.c: the cheaper operation that is base ** exponent (an array and an
 * object), ASN_OP_POWER when there is none. */
asn_op asn_power_shortcut(PyObject *base, PyObject *exponent);

/* op(args...) with everything __call__ does but keywords. */
PyObject *asn_ufunc_apply(asn_op op, PyObject *const *args);
/* op(a, b) of two that are exactly ndarrays. */
PyObject *asn_ufunc_apply_pair(asn_op op, PyObject *a, PyObject *b);
/* op(args..., out=self): in-place operators; returns a new reference to args[0]. */
PyObject *asn_ufunc_apply_inplace(asn_op op, PyObject *const *args);
PyObject *asn_ufunc_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);
/* gufunc.c: matmul and its family after overrides were tried. */
PyObject *asn_gufunc_call(asn_ufunc *u, PyObject *const *in, const asn_ufunc_kwargs *kw);

/* Refuses `...` where out= may not have it: positional, or in a tuple. */
int asn_ufunc_check_out(PyObject *out, bool positional);

/* Raises NumPy's exception for a failed call. */
void *asn_ufunc_raise(asn_op op, const asn_operand *in, const asn_array *out,
                      const asn_ufunc_options *options, asn_status status);

/* ufunc_scalars.c: operands among Python and NumPy scalars alone that promotion must see
 * as arrays. */
bool asn_numbers_need_arrays(asn_op op, const asn_operand *in);
static inline bool asn_scalars_need_arrays(asn_op op, const asn_operand *in) {
    return !in[0].array && asn_numbers_need_arrays(op, in);
}
/* Reads all operands of a call; owners are released by the caller. */
int asn_scalars_read(asn_ufunc *u, PyObject *const *args, asn_operand *in,
                     PyObject **owner);

/* Whether an operand, output or mask brings an override of its own; -1 with an error. */
int asn_ufunc_overridden(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* out= is a tuple of as many as there are outputs, or the one; TypeError, ValueError. */
int asn_ufunc_check_out_count(const asn_ufunc *u, PyObject *out);
/* What is wrong with a call whatever its operands are: TypeError. */
int asn_ufunc_check_call(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* Foreign __array_ufunc__: 1 and *result when it took the call, 0 when there is none, -1
 * on error. */
int asn_ufunc_override(asn_ufunc *u, const char *method, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames, PyObject **result);
/* Whether the array's class has an __array_ufunc__ of its own, None included. */
bool asn_ufunc_is_overridden(PyObject *array);
/* Reads where= into *mask (owner keeps it); True and None are no mask. */
int asn_where_from_py(PyObject *obj, const asn_array **mask, PyObject **owner);
/* The loop dtype wished by dtype= or signature= of a plain ufunc. */
int asn_ufunc_loop_dtype(asn_ufunc *u, PyObject *dtype, PyObject *signature,
                         asn_dtype *out);

extern PyMethodDef asn_ufunc_methods[];

/* reduce.c */
typedef struct {
    PyObject *axis, *dtype, *out, *keepdims, *initial,
        *where;     /* NULL or no_value: default */
    bool temporary; /* the caller's stack has the only reference to the array */
} asn_reduce_args;
/* op.reduce over axes (None: all), with NumPy's argument rules. */
PyObject *asn_reduce_run(asn_op op, PyObject *array, const asn_reduce_args *args);
PyObject *asn_accumulate_run(asn_op op, PyObject *array, PyObject *axis, PyObject *dtype,
                             PyObject *out, bool flatten_default);

#endif
