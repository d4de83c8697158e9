/* L3 python: methods that reduce: sum, prod, max, min, any, all, mean, std, var, cumsum,
 * cumprod, argmax, argmin. */
#include "python/ndarray/methods.h"

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

#define EXTREME(name, OP)                                                                \
    ASN_METHOD(name) {                                                                   \
        ASN_ARGS(#name,                                                                  \
                 "axis=None, out=None, keepdims=False, initial=None, where=True");       \
        asn_reduce_args a = {v[0], NULL, v[1], v[2], v[3], v[4], Py_REFCNT(self) == 1};  \
        return asn_reduce_run(OP, self, &a);                                             \
    }
EXTREME(max, ASN_OP_MAXIMUM)
EXTREME(min, ASN_OP_MINIMUM)

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

ASN_METHOD(argmax) {
    ASN_ARGS("argmax", "axis=None, out=None, *, keepdims=False");
    return asn_argreduce_run(self, v[0], v[1], v[2], true);
}

ASN_METHOD(argmin) {
    ASN_ARGS("argmin", "axis=None, out=None, *, keepdims=False");
    return asn_argreduce_run(self, v[0], v[1], v[2], false);
}

ASN_METHOD(trace) {
    ASN_ARGS("trace", "offset=0, axis1=0, axis2=1, dtype=None, out=None");
    PyObject *pair[3] = {v[0], v[1], v[2]};
    for (int i = 0; i < 3; i++)
        if (!pair[i]) pair[i] = i == 2 ? Py_True : Py_False; /* ints 1 and 0 */
    PyObject *plain = asn_subclass_plain(self);
    PyObject *diagonal = plain ? asn_method_diagonal(plain, pair, 3, NULL) : NULL;
    Py_XDECREF(plain);
    if (!diagonal) return NULL;
    PyObject *last = PyLong_FromLong(-1);
    asn_reduce_args a = {last, v[3], v[4], NULL, NULL, NULL, false};
    PyObject *r = asn_reduce_run(ASN_OP_ADD, diagonal, &a);
    Py_XDECREF(last);
    Py_DECREF(diagonal);
    if (r && !(v[4] && v[4] != Py_None)) r = asn_subclass_keep(r, self);
    ASN_HOSTED("trace", r);
}
