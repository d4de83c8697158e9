/* L3 python: ufunc objects, and the calls of the table's operations that the array type
 * shares with them. Results are new references, or NULL with an exception, unless said
 * otherwise; operands are borrowed. */
#ifndef ASN_PYTHON_UFUNC_UFUNC_H
#define ASN_PYTHON_UFUNC_UFUNC_H

#include "python/args.h"
#include "python/convert.h"

/* How the result is computed. */
typedef enum {
    ASN_UFUNC_PLAIN, /* one row of the table */
    ASN_UFUNC_PAIR,  /* two results, one row each */
    ASN_UFUNC_CORE,  /* a generalised ufunc: matmul, vecdot, matvec, vecmat */
} asn_ufunc_kind;

/* A ufunc object; its texts are static. */
typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    const char *name, *args;    /* args: "x1, x2" */
    const char *core_signature; /* "(n),(n)->()" or NULL */
    const char *doc;
    uint16_t op, op2;        /* asn_op; op2 of a pair */
    uint8_t kind, nin, nout; /* of ASN_UFUNC_...; how many inputs, outputs */
    PyObject *replacement;   /* what finds implementations in its place, or NULL; owned */
} asn_ufunc;

/* replaced.c: calls ask `find`, of (dtype, array), for a function or None, before the
 * built-in; NULL: no more. -1: ValueError of a ufunc that cannot be replaced. */
int asn_ufunc_replace(PyObject *ufunc, PyObject *find);
/* function(*args, **kwargs), in which the ufunc is the built-in: the registry calls an
 * implementation that stands in the ufunc's place by the operator's name. */
PyObject *asn_ufunc_call_beside(PyObject *ufunc, PyObject *function, PyObject *args,
                                PyObject *kwargs);
/* Whether nothing stands in its place. */
static inline bool asn_ufunc_is_plain(const asn_ufunc *u) {
    return !ASN_READ(u->replacement);
}

/* Keyword arguments of a call, borrowed; NULL where absent. */
typedef struct {
    PyObject *out[2], *where, *casting, *order, *dtype, *subok, *signature, *axes, *axis,
        *keepdims;
    bool keep_array; /* out=... */
    bool out_given;  /* out=None included */
} asn_ufunc_kwargs;

/* ufunc_type.c: makes the type and its objects. */
int asn_ufunc_init_type(PyObject *module);
static inline bool asn_is_ufunc(PyObject *o) {
    return Py_TYPE(o) == asn_py.ufunc;
}

/* The ufunc object of a row (borrows), for error messages and overrides; NULL:
 * SystemError, the row is a kernel. */
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

/* Refuses `...` where out= may not have it: positional, or in a tuple; -1: TypeError. */
int asn_ufunc_check_out(PyObject *out, bool positional);

/* Raises NumPy's exception for a failed call: of a casting failure (which `status` then
 * is) the one that names the ufunc and the operand, else the core's message. Returns
 * NULL. out: NULL for a new result. */
void *asn_ufunc_raise(asn_op op, const asn_operand *in, const asn_array *out,
                      const asn_ufunc_options *options, asn_status status);

/* ufunc_scalars.c: operands among Python and NumPy scalars alone that promotion must see
 * as arrays; in[] has those of a row of the table. */
bool asn_numbers_need_arrays(asn_op op, const asn_operand *in);
static inline bool asn_scalars_need_arrays(asn_op op, const asn_operand *in) {
    return !in[0].array && asn_numbers_need_arrays(op, in);
}
/* Reads all operands of a call into in[]; owner[i] is released by the caller, also after
 * -1, which is an error. */
int asn_scalars_read(asn_ufunc *u, PyObject *const *args, asn_operand *in,
                     PyObject **owner);

/* Whether an operand, output or mask brings an override of its own: 1 or 0; -1 with an
 * error (an __array_ufunc__ = None is one). */
int asn_ufunc_overridden(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* out= is a tuple of as many as there are outputs, or the one; TypeError, ValueError. */
int asn_ufunc_check_out_count(const asn_ufunc *u, PyObject *out);
/* What is wrong with a call whatever its operands are: -1 with TypeError or ValueError.
 */
int asn_ufunc_check_call(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* Foreign __array_ufunc__ of `method` ("__call__", "reduce", ...): 1 and *result (a new
 * reference) when it took the call, 0 when there is none, -1 on error. */
int asn_ufunc_override(asn_ufunc *u, const char *method, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames, PyObject **result);
/* Whether the array's class has an __array_ufunc__ of its own, None included. */
bool asn_ufunc_is_overridden(PyObject *array);
/* Reads where= into *mask (owner keeps it, and is released by the caller); True is no
 * mask. -1: an error. */
int asn_where_from_py(PyObject *obj, const asn_array **mask, PyObject **owner);
/* The loop dtype wished by dtype= or signature= of a plain ufunc; NONE: neither, or one
 * that leaves it open. -1: an error. */
int asn_ufunc_loop_dtype(asn_ufunc *u, PyObject *dtype, PyObject *signature,
                         asn_dtype *out);

extern PyMethodDef asn_ufunc_methods[];

/* reduce.c */
typedef struct {
    PyObject *axis, *dtype, *out, *keepdims, *initial,
        *where;     /* NULL or no_value: default */
    bool temporary; /* the caller's stack has the only reference to the array */
} asn_reduce_args;
/* op.reduce over axes (None: all), with NumPy's argument rules; the scalar of no
 * dimensions under the scalar policy. */
PyObject *asn_reduce_run(asn_op op, PyObject *array, const asn_reduce_args *args);
/* op.accumulate along one axis; flatten_default: axis None means the flattened array. */
PyObject *asn_accumulate_run(asn_op op, PyObject *array, PyObject *axis, PyObject *dtype,
                             PyObject *out, bool flatten_default);

#endif
