/* L3 python: methods that reduce: sum, prod, max, min, any, all, mean, std, var, cumsum,
 * cumprod, argmax, argmin, trace.
 *
 * Each reads NumPy's parameters and calls what the function of its name calls
 * (ufunc/reduce.h); only trace is put together here. A receiver with one reference is a
 * temporary: the interpreter's stack alone holds it, so that its memory may be used again
 * (the last field of asn_reduce_args). initial= is 0 and 1 in the signatures as NumPy
 * shows them; absent is NULL. */
#include "python/ndarray/methods.h"

#include "numpy/sums.h"
#include "python/ufunc/reduce_state.h"

/* axis, dtype, out, keepdims, initial, where: all of them. ASN_HOSTED: dtype= may be one
 * that the device lacks (object, long double), which NumPy then sums. */
#define REDUCER(name, OP, text)                                                          \
    ASN_METHOD(name) {                                                                   \
        ASN_ARGS(#name, text);                                                           \
        asn_reduce_args a = {v[0], v[1], v[2], v[3], v[4], v[5], Py_REFCNT(self) == 1};  \
        ASN_HOSTED(#name, asn_reduce_run(OP, self, &a));                                 \
    }
REDUCER(sum, ASN_OP_ADD,
        "axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True")
REDUCER(prod, ASN_OP_MULTIPLY,
        "axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True")

/* max and min have no dtype=, so nothing of theirs goes to the host. */
#define EXTREME(name, OP)                                                                \
    ASN_METHOD(name) {                                                                   \
        ASN_ARGS(#name,                                                                  \
                 "axis=None, out=None, keepdims=False, initial=None, where=True");       \
        asn_reduce_args a = {v[0], NULL, v[1], v[2], v[3], v[4], Py_REFCNT(self) == 1};  \
        return asn_reduce_run(OP, self, &a);                                             \
    }
EXTREME(max, ASN_OP_MAXIMUM)
EXTREME(min, ASN_OP_MINIMUM)

/* all and any have no initial= either. */
#define TRUTH(name, OP)                                                                  \
    ASN_METHOD(name) {                                                                   \
        ASN_ARGS(#name, "axis=None, out=None, keepdims=False, *, where=True");           \
        asn_reduce_args a = {v[0], NULL, v[1], v[2], NULL, v[3], Py_REFCNT(self) == 1};  \
        return asn_reduce_run(OP, self, &a);                                             \
    }
TRUTH(all, ASN_OP_LOGICAL_AND)
TRUTH(any, ASN_OP_LOGICAL_OR)

ASN_METHOD(mean) {
    ASN_ARGS("mean", "axis=None, dtype=None, out=None, keepdims=False, *, where=True");
    asn_reduce_args a = {v[0], v[1], v[2], v[3], NULL, v[4], Py_REFCNT(self) == 1};
    ASN_HOSTED("mean", asn_mean_run(self, &a));
}

/* var and std differ by the root. mean=None is the same as none given. */
#define SPREAD(name, root)                                                               \
    ASN_METHOD(name) {                                                                   \
        ASN_ARGS(#name, "axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, "   \
                        "where=True, mean=None");                                        \
        asn_reduce_args a = {v[0], v[1], v[2], v[4], NULL, v[5], Py_REFCNT(self) == 1};  \
        ASN_HOSTED(#name,                                                                \
                   asn_var_run(self, &a, v[3], v[6] == Py_None ? NULL : v[6], root));    \
    }
SPREAD(var, false)
SPREAD(std, true)

ASN_METHOD(cumsum) {
    ASN_ARGS("cumsum", "axis=None, dtype=None, out=None");
    ASN_HOSTED("cumsum", asn_accumulate_run(ASN_OP_ADD, self, v[0], v[1], v[2], true));
}

ASN_METHOD(cumprod) {
    ASN_ARGS("cumprod", "axis=None, dtype=None, out=None");
    ASN_HOSTED("cumprod",
               asn_accumulate_run(ASN_OP_MULTIPLY, self, v[0], v[1], v[2], true));
}

/* The position of the first extreme; NaN counts as one (NumPy). */
ASN_METHOD(argmax) {
    ASN_ARGS("argmax", "axis=None, out=None, *, keepdims=False");
    return asn_argreduce_run(self, v[0], v[1], v[2], true);
}

ASN_METHOD(argmin) {
    ASN_ARGS("argmin", "axis=None, out=None, *, keepdims=False");
    return asn_argreduce_run(self, v[0], v[1], v[2], false);
}

/* (offset, axis1, axis2, dtype, out), NULL where absent. The diagonal's sum as add.reduce
 * would report it: its floating-point exceptions carry that name. A number of a small
 * array comes at once, without an array, where results of no dimensions are scalars. */
static PyObject *trace_run(PyObject *self, PyObject *const *v) {
    asn_np_diagonals of = {0, 0, 1};
    asn_dtype dtype;
    asn_scalar number;
    asn_array made, *target = NULL;
    PyObject *owner = NULL, *out = asn_out_object(v[4]);
    /* In NumPy's order, so that of several wrong arguments the same one is complained of.
     */
    if (asn_int64_from_py(v[0], &of.offset) < 0 ||
        asn_int64_from_py(v[1], &of.axis1) < 0 ||
        asn_int64_from_py(v[2], &of.axis2) < 0 || asn_dtype_from_py(v[3], &dtype) < 0)
        return NULL;
    if (dtype != ASN_DTYPE_NONE && asn_complex_check(asn_dtype_of(self), dtype) < 0)
        return NULL;
    if (out && asn_out_from_py(out, &target, &owner) < 0) return NULL;
    if (target) {
        asn_status status = asn_np_trace(NULL, NULL, asn_of(self), &of, dtype, target);
        /* out is a NumPy array: written before the caller looks. */
        if (!status) status = asn_out_written(out, target, owner);
        Py_XDECREF(owner);
        if (status) return asn_raise(status);
        return asn_fp_check_as("reduce", ASN_OP_ADD) < 0 ? NULL : Py_NewRef(out);
    }
    asn_scalar *place = asn_gives_scalars() ? &number : NULL;
    ASN_PY_TRY(asn_np_trace(&made, place, asn_of(self), &of, dtype, NULL));
    if (place && number.dtype != ASN_DTYPE_NONE)
        return asn_reduce_scalar(&number, ASN_OP_ADD);
    PyObject *r = asn_ndarray_wrap(&made);
    if (r && asn_fp_check_as("reduce", ASN_OP_ADD) < 0) Py_CLEAR(r);
    if (r) r = asn_ndarray_finish((asn_ndarray *)r, ASN_OK);
    return asn_subclass_keep(r, self);
}

ASN_METHOD(trace) {
    ASN_ARGS("trace", "offset=0, axis1=0, axis2=1, dtype=None, out=None");
    ASN_HOSTED("trace", trace_run(self, v));
}
