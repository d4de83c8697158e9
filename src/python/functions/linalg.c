/* L3 python: one solver or decomposition, for asnumpy.linalg: what is no array becomes
 * one, results get the class of the operand that NumPy says. */
#include "python/functions/function.h"

#include "graph/operators/solvers.h"

/* Each result: as the class of operand a or b, or of neither, '-'. */
static const char *const wraps[] = {
    [ACLNNX_LINALG_SOLVE] = "b",    [ACLNNX_LINALG_INV] = "a",
    [ACLNNX_LINALG_DET] = "-",      [ACLNNX_LINALG_SLOGDET] = "--",
    [ACLNNX_LINALG_CHOLESKY] = "a", [ACLNNX_LINALG_QR] = "aa",
    [ACLNNX_LINALG_QR_RAW] = "a-",  [ACLNNX_LINALG_QR_R] = "a",
    [ACLNNX_LINALG_SVD] = "a-a",    [ACLNNX_LINALG_SVDVALS] = "-",
    [ACLNNX_LINALG_EIG] = "-a",     [ACLNNX_LINALG_EIGVALS] = "-",
    [ACLNNX_LINALG_EIGH] = "-a",    [ACLNNX_LINALG_EIGVALSH] = "-",
    [ACLNNX_LINALG_LSTSQ] = "bb--",
};

/* A result of the class that the caller sees; takes `made`. */
static PyObject *wrapped(asn_array *made, char as, PyObject *const *operands) {
    PyObject *parent = operands[as == 'b'], *r = asn_ndarray_wrap(made);
    if (r) r = asn_ndarray_return(r);
    return as != '-' && asn_is_ndarray(parent) ? asn_subclass_wrap(r, parent, NULL) : r;
}

/* One array or scalar, or a tuple of them. Takes made[]. */
static PyObject *result_of(int op, asn_array *made, PyObject *const *operands) {
    int count = asn_solver_results(op);
    PyObject *tuple = count > 1 ? PyTuple_New(count) : NULL;
    for (int i = 0; i < count; i++) {
        PyObject *one = wrapped(&made[i], wraps[op][i], operands);
        if (count == 1) return one;
        if (tuple && one) {
            PyTuple_SET_ITEM(tuple, i, one);
        } else {
            Py_XDECREF(one);
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* _linalg(op, a, b, full, upper, rcond, message) */
static PyObject *f_linalg(PyObject *const *v) {
    int64_t code;
    asn_solver s = {.op = 0};
    if (asn_int64_from_py(v[0], &code) < 0 || asn_bool_from_py(v[3], &s.full) < 0 ||
        asn_bool_from_py(v[4], &s.upper) < 0)
        return NULL;
    s.op = (int)code;
    s.rcond = PyFloat_AsDouble(v[5]);
    if (s.rcond == -1 && PyErr_Occurred()) return NULL;
    const char *message = PyUnicode_AsUTF8(v[6]);
    if (!message) return NULL;
    s.failed = *message ? message : NULL;
    bool two = code == ACLNNX_LINALG_SOLVE || code == ACLNNX_LINALG_LSTSQ;
    PyObject *a = asn_asarray(v[1]), *b = a && two ? asn_asarray(v[2]) : NULL, *r = NULL;
    if (a && (b || !two)) {
        asn_array made[ACLNNX_LINALG_MAX_OPERANDS];
        asn_status status = asn_solver_run(&s, asn_of(a), b ? asn_of(b) : NULL, made);
        r = status ? asn_raise(status) : result_of(s.op, made, v + 1);
        if (r && asn_fp_check() < 0) Py_CLEAR(r);
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

/* One result; failed: what is said of a matrix without one. */
static PyObject *solved(int op, const char *failed, PyObject *const *v, bool two) {
    const asn_solver s = {.op = op, .failed = failed};
    asn_array made[ACLNNX_LINALG_MAX_OPERANDS];
    PyObject *a = asn_asarray(v[0]), *b = a && two ? asn_asarray(v[1]) : NULL, *r = NULL;
    if (a && (b || !two)) {
        asn_status status = asn_solver_run(&s, asn_of(a), b ? asn_of(b) : NULL, made);
        r = status ? asn_raise(status) : result_of(op, made, v);
        if (r && asn_fp_check() < 0) Py_CLEAR(r);
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

static PyObject *f_det(PyObject *const *v) {
    return solved(ACLNNX_LINALG_DET, NULL, v, false);
}
static PyObject *f_inv(PyObject *const *v) {
    return solved(ACLNNX_LINALG_INV, "Singular matrix", v, false);
}
static PyObject *f_solve(PyObject *const *v) {
    return solved(ACLNNX_LINALG_SOLVE, "Singular matrix", v, true);
}

asn_function_def asn_linalg_functions[] = {
    ASN_FUNCTION(
        "_linalg", "op, a, b, full, upper, rcond, message, /", f_linalg,
        "One solver or decomposition; op as ACLNNX_LINALG_*. An empty message: a matrix "
        "without a result is no error."),
    ASN_FUNCTION_OF("linalg", "det", "a", f_det, "The determinant."),
    ASN_FUNCTION_OF("linalg", "inv", "a", f_inv,
                    "The inverse of (a stack of) square matrices."),
    ASN_FUNCTION_OF("linalg", "solve", "a, b", f_solve,
                    "x with a @ x = b; b is one vector, or a stack of matrices of "
                    "columns."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
