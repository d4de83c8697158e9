/* L3 python: the functions that reduce: sum, prod, max, min, any, all, mean, std, var,
 * argmax, argmin, cumsum, ...
 *
 * Each reads NumPy's parameters into the arguments of the reductions that methods share
 * (ufunc/reduce.h). A temporary argument (nobody else holds it) is told to the engine,
 * which then need not store it: `(a - b).sum()` reads a and b once and writes nothing.
 *
 * keepdims=, initial= and where= default to NumPy's <no value>, which says "not given"
 * even where None has a meaning. */
#include "numpy/sums.h"
#include "python/functions/function.h"
#include "python/ufunc/reduce_state.h"

/* The rest of a function: `expr` with v[0] as the array a. */
#define WITH_ARRAY(expr)                                                                 \
    PyObject *a = asn_asarray(v[0]);                                                     \
    if (!a) return NULL;                                                                 \
    PyObject *r = expr;                                                                  \
    Py_DECREF(a);                                                                        \
    return r

/* The same for a reduction with `args`; a temporary has the references of the caller's
 * stack and a. */
#define WITH_REDUCED(expr)                                                               \
    PyObject *a = asn_asarray(v[0]);                                                     \
    if (!a) return NULL;                                                                 \
    args.temporary = a == v[0] && Py_REFCNT(a) == 2;                                     \
    PyObject *r = expr;                                                                  \
    Py_DECREF(a);                                                                        \
    return r

/* (a, axis, [dtype,] out, keepdims, initial, where): sum and prod have dtype=. */
static PyObject *reduce_values(asn_op op, PyObject *const *v, bool has_dtype) {
    int k = has_dtype ? 2 : 1;
    asn_reduce_args args = {
        v[1], has_dtype ? v[2] : NULL, v[k + 1], v[k + 2], v[k + 3], v[k + 4], false};
    WITH_REDUCED(asn_reduce_run(op, a, &args));
}

static PyObject *f_sum(PyObject *const *v) {
    return reduce_values(ASN_OP_ADD, v, true);
}
static PyObject *f_prod(PyObject *const *v) {
    return reduce_values(ASN_OP_MULTIPLY, v, true);
}
static PyObject *f_max(PyObject *const *v) {
    return reduce_values(ASN_OP_MAXIMUM, v, false);
}
static PyObject *f_min(PyObject *const *v) {
    return reduce_values(ASN_OP_MINIMUM, v, false);
}

/* any and all have no dtype= and no initial=: (a, axis, out, keepdims, *, where). */
static PyObject *truth(asn_op op, PyObject *const *v) {
    asn_reduce_args args = {v[1], NULL, v[2], v[3], NULL, v[4], false};
    WITH_REDUCED(asn_reduce_run(op, a, &args));
}

static PyObject *f_all(PyObject *const *v) {
    return truth(ASN_OP_LOGICAL_AND, v);
}
static PyObject *f_any(PyObject *const *v) {
    return truth(ASN_OP_LOGICAL_OR, v);
}

/* (a, axis, dtype, out, keepdims, *, where) */
static PyObject *f_mean(PyObject *const *v) {
    asn_reduce_args args = {v[1], v[2], v[3], v[4], NULL, v[5], false};
    WITH_REDUCED(asn_mean_run(a, &args));
}

/* var and std: (a, axis, dtype, out, ddof, keepdims, *, where, mean, correction).
 * correction= is the array API's name of ddof=; only one of them may be given, unless
 * ddof is 0. */
static PyObject *spread(PyObject *const *v, bool root) {
    PyObject *ddof = v[4];
    if (!asn_is_no_value(v[8])) {
        if (ddof && !(PyLong_CheckExact(ddof) && PyLong_AsLong(ddof) == 0)) {
            PyErr_SetString(PyExc_ValueError,
                            "ddof and correction can't be provided simultaneously.");
            return NULL;
        }
        ddof = v[8];
    }
    asn_reduce_args args = {v[1], v[2], v[3], v[5], NULL, v[6], false};
    WITH_REDUCED(asn_var_run(a, &args, ddof, v[7], root));
}

static PyObject *f_var(PyObject *const *v) {
    return spread(v, false);
}
static PyObject *f_std(PyObject *const *v) {
    return spread(v, true);
}

/* (a, axis, out, *, keepdims) */
static PyObject *f_argmax(PyObject *const *v) {
    WITH_ARRAY(asn_argreduce_run(a, v[1], v[2], v[3], true));
}

static PyObject *f_argmin(PyObject *const *v) {
    WITH_ARRAY(asn_argreduce_run(a, v[1], v[2], v[3], false));
}

/* (a, axis, dtype, out): the running sums of all elements where axis is None. */
static PyObject *f_cumsum(PyObject *const *v) {
    WITH_ARRAY(asn_accumulate_run(ASN_OP_ADD, a, v[1], v[2], v[3], true));
}

static PyObject *f_cumprod(PyObject *const *v) {
    WITH_ARRAY(asn_accumulate_run(ASN_OP_MULTIPLY, a, v[1], v[2], v[3], true));
}

/* count_nonzero but for the class. A number comes without an array where all elements are
 * counted and scalars are wanted. */
static PyObject *counted(PyObject *a, PyObject *axis, PyObject *keepdims) {
    asn_reduce_options over = {.dtype = ASN_DTYPE_NONE};
    asn_scalar number;
    asn_array made;
    bool all, keep = false;
    if (asn_axes_from_py(axis, asn_of(a)->layout.ndim, &over.axes, &all) < 0) return NULL;
    if (!asn_is_no_value(keepdims) && asn_bool_from_py(keepdims, &keep) < 0) return NULL;
    over.keepdims = keep;
    over.now = all && !keep && asn_gives_scalars(); /* a number at once, if it can be */
    ASN_PY_TRY(asn_np_count_nonzero(&made, over.now ? &number : NULL, asn_of(a), &over));
    if (over.now && number.dtype != ASN_DTYPE_NONE)
        return asn_reduce_scalar(&number, ASN_OP_ADD);
    PyObject *r = asn_ndarray_wrap(&made);
    return r ? asn_ndarray_finish((asn_ndarray *)r, ASN_OK) : NULL;
}

/* (a, axis, *, keepdims). Of all elements NumPy gives a plain number, whatever the class;
 * along axes it is a reduction, which __array_wrap__ sees. */
static PyObject *f_count_nonzero(PyObject *const *v) {
    PyObject *a = asn_asarray(v[0]);
    if (!a) return NULL;
    bool whole = !v[1] || v[1] == Py_None;
    PyObject *r = counted(a, v[1], v[2]);
    if (!whole || (v[2] && v[2] != Py_False)) r = asn_subclass_wrap(r, a, NULL);
    Py_DECREF(a);
    return r;
}

/* Signatures that several functions share. */
#define SUM_ARGS                                                                         \
    "a, axis=None, dtype=None, out=None, keepdims=<no value>, initial=<no value>, "      \
    "where=<no value>"
#define MAX_ARGS                                                                         \
    "a, axis=None, out=None, keepdims=<no value>, initial=<no value>, where=<no value>"
#define ALL_ARGS "a, axis=None, out=None, keepdims=<no value>, *, where=<no value>"
#define VAR_ARGS                                                                         \
    "a, axis=None, dtype=None, out=None, ddof=0, keepdims=<no value>, *, "               \
    "where=<no value>, mean=<no value>, correction=<no value>"
#define ARG_ARGS "a, axis=None, out=None, *, keepdims=<no value>"

asn_function_def asn_reduce_functions[] = {
    ASN_FUNCTION("sum", SUM_ARGS, f_sum, "Sum of the elements over axes."),
    ASN_FUNCTION("prod", SUM_ARGS, f_prod, "Product of the elements over axes."),
    ASN_FUNCTION("max", MAX_ARGS, f_max, "Largest element over axes; NaN propagates."),
    ASN_FUNCTION("amax", MAX_ARGS, f_max, "Largest element over axes; NaN propagates."),
    ASN_FUNCTION("min", MAX_ARGS, f_min, "Smallest element over axes; NaN propagates."),
    ASN_FUNCTION("amin", MAX_ARGS, f_min, "Smallest element over axes; NaN propagates."),
    ASN_FUNCTION("all", ALL_ARGS, f_all, "Whether all elements are true."),
    ASN_FUNCTION("any", ALL_ARGS, f_any, "Whether any element is true."),
    ASN_FUNCTION(
        "mean",
        "a, axis=None, dtype=None, out=None, keepdims=<no value>, *, where=<no value>",
        f_mean, "Arithmetic mean over axes."),
    ASN_FUNCTION("var", VAR_ARGS, f_var, "Variance over axes."),
    ASN_FUNCTION("std", VAR_ARGS, f_std, "Standard deviation over axes."),
    ASN_FUNCTION("argmax", ARG_ARGS, f_argmax, "Index of the first largest element."),
    ASN_FUNCTION("argmin", ARG_ARGS, f_argmin, "Index of the first smallest element."),
    ASN_FUNCTION("cumsum", "a, axis=None, dtype=None, out=None", f_cumsum,
                 "Running sums."),
    ASN_FUNCTION("cumprod", "a, axis=None, dtype=None, out=None", f_cumprod,
                 "Running products."),
    ASN_FUNCTION("count_nonzero", "a, axis=None, *, keepdims=False", f_count_nonzero,
                 "Number of nonzero elements."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
