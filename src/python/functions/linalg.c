/* L3 python: solvers and decompositions, for asnumpy.linalg: what is no array becomes
 * one, results get the class of the operand that NumPy says.
 *
 * _linalg is the general one, by the device's code of the operation; det, inv and solve
 * have rows of their own, since a small matrix takes no longer than reading seven
 * arguments. eig, pinv and Hermitian singular values call numpy/decompositions.h. Stacks
 * of matrices (leading axes) are the core's to run through, and so are the checks of
 * shapes and the LinAlgError of a matrix without a result. */
#include "python/functions/function.h"

#include <float.h>

#include "graph/operators/solvers.h"
#include "numpy/decompositions.h"

/* Each result: as the class of operand a or b, or of neither, '-' (what NumPy wraps). */
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

/* A result of the class that the caller sees, a scalar where it has no dimensions; takes
 * `made`. operands: (a, b), as the caller gave them. */
static PyObject *wrapped(asn_array *made, char as, PyObject *const *operands) {
    PyObject *parent = operands[as == 'b'], *r = asn_ndarray_wrap(made);
    if (r) r = asn_ndarray_return(r);
    return as != '-' && asn_is_ndarray(parent) ? asn_subclass_wrap(r, parent, NULL) : r;
}

/* One array or scalar, or a tuple of as many as the operation has. Takes made[]; NULL: an
 * error. */
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

/* _linalg(op, a, b, full, upper, rcond, message). b is looked at by solve and lstsq
 * alone; message: the LinAlgError's, empty for none. Floating-point exceptions are
 * reported when the results are there: a warning that is an error drops them. */
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
    /* The others have no b, whatever was given. */
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

/* det, inv, solve: one result, of (a) or, with `two`, of (a, b); failed: what is said of
 * a matrix without one, NULL for nothing. */
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

/* The frequent three; a singular matrix has the determinant 0. */
static PyObject *f_det(PyObject *const *v) {
    return solved(ACLNNX_LINALG_DET, NULL, v, false);
}
static PyObject *f_inv(PyObject *const *v) {
    return solved(ACLNNX_LINALG_INV, "Singular matrix", v, false);
}
static PyObject *f_solve(PyObject *const *v) {
    return solved(ACLNNX_LINALG_SOLVE, "Singular matrix", v, true);
}

/* ---- what src/numpy composes */

/* (a, vectors, real): the eigenvalues, or them and the vectors; with `real` real where
 * all eigenvalues are. Values are plain arrays, vectors of a's class. */
static PyObject *f_eig(PyObject *const *v) {
    bool both, real;
    asn_array made[2];
    if (asn_bool_from_py(v[1], &both) < 0 || asn_bool_from_py(v[2], &real) < 0)
        return NULL;
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    if (!a) return NULL;
    asn_status status = asn_np_eig(&made[0], both ? &made[1] : NULL, asn_of(a), real);
    if (status)
        asn_raise(status);
    else
        r = result_of(both ? ACLNNX_LINALG_EIG : ACLNNX_LINALG_EIGVALS, made, v);
    if (r && asn_fp_check() < 0) Py_CLEAR(r);
    Py_DECREF(a);
    return r;
}

/* (a): U, S and Vh of Hermitian matrices, from their eigenvalues. */
static PyObject *f_svd_hermitian(PyObject *const *v) {
    asn_array made[3];
    PyObject *a = asn_asarray(v[0]), *r = NULL;
    if (!a) return NULL;
    asn_status status = asn_np_svd_hermitian(&made[0], &made[1], &made[2], asn_of(a));
    r = status ? asn_raise(status) : result_of(ACLNNX_LINALG_SVD, made, v);
    if (r && asn_fp_check() < 0) Py_CLEAR(r);
    Py_DECREF(a);
    return r;
}

/* pinv's rtol=None: the rounding error of a's dtype times the longer side, as a number of
 * that dtype (the array API's default). -1: a has no such dtype, or no axes. */
static int default_rcond(PyObject *a, asn_operand *out) {
    const asn_layout *l = &asn_of(a)->layout;
    const asn_dtype dtype = asn_layout_dtype(l), real = asn_real_dtype(dtype);
    int64_t longest = 0;
    if (!asn_is_inexact(dtype)) {
        PyErr_Format(PyExc_ValueError, "data type <class 'numpy.%s'> not inexact",
                     asn_dtype_name(dtype));
        return -1;
    }
    if (l->ndim == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "pinv: an array without axes has no extent for rtol=None");
        return -1;
    }
    /* Of a stack the matrices' sides alone. */
    for (int d = l->ndim > 2 ? l->ndim - 2 : 0; d < l->ndim; d++)
        if (l->shape[d] > longest) longest = l->shape[d];
    const double eps = real == ASN_F32 ? FLT_EPSILON : DBL_EPSILON;
    const asn_scalar wide = asn_scalar_float((double)longest * eps);
    *out = (asn_operand){.array = NULL};
    ASN_PY_TRY_INT(asn_scalar_cast(&wide, real, &out->scalar));
    return 0;
}

/* How small a singular value counts as 0, relative to the largest: from rcond= and rtol=,
 * of which one may be given; NumPy's default is 1e-15. *owner: to be released after the
 * call. -1: an error. */
static int rcond_of(PyObject *a, PyObject *rcond, PyObject *rtol, asn_operand *out,
                    PyObject **owner) {
    *owner = NULL;
    bool given = rcond && rcond != Py_None;
    if (given && !asn_is_no_value(rtol)) {
        PyErr_SetString(PyExc_ValueError, "`rtol` and `rcond` can't be both set.");
        return -1;
    }
    if (given) return asn_operand_from_py(rcond, out, owner);
    if (rtol == Py_None) return default_rcond(a, out);
    if (!asn_is_no_value(rtol)) return asn_operand_from_py(rtol, out, owner);
    *out = asn_operand_float(1e-15);
    return 0;
}

/* (a, rcond, hermitian, *, rtol) */
static PyObject *f_pinv(PyObject *const *v) {
    asn_operand rcond;
    PyObject *owner = NULL, *r = NULL;
    bool hermitian = false;
    if (v[2] && asn_bool_from_py(v[2], &hermitian) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]);
    if (a && rcond_of(a, v[1], v[3], &rcond, &owner) == 0) {
        asn_ndarray *made = asn_ndarray_alloc();
        if (made)
            r = asn_ndarray_finish(
                made, asn_np_pinv(&made->array, asn_of(a), &rcond, hermitian));
        if (r && asn_is_ndarray(v[0])) r = asn_subclass_wrap(r, v[0], NULL);
    }
    Py_XDECREF(owner);
    Py_XDECREF(a);
    return r;
}

asn_function_def asn_linalg_functions[] = {
    ASN_FUNCTION(
        "_linalg", "op, a, b, full, upper, rcond, message, /", f_linalg,
        "One solver or decomposition; op as ACLNNX_LINALG_*. An empty message: a matrix "
        "without a result is no error."),
    ASN_FUNCTION(
        "_linalg_eig", "a, vectors, real, /", f_eig,
        "The eigenvalues, and with vectors the eigenvectors too; with real, real "
        "where all eigenvalues are."),
    ASN_FUNCTION("_linalg_svd_hermitian", "a, /", f_svd_hermitian,
                 "U, S and Vh of Hermitian matrices."),
    ASN_FUNCTION_OF("linalg", "pinv",
                    "a, rcond=None, hermitian=False, *, rtol=<no value>", f_pinv,
                    "The Moore-Penrose inverse; singular values up to rcond times the "
                    "largest count as 0."),
    ASN_FUNCTION_OF("linalg", "det", "a", f_det, "The determinant."),
    ASN_FUNCTION_OF("linalg", "inv", "a", f_inv,
                    "The inverse of (a stack of) square matrices."),
    ASN_FUNCTION_OF("linalg", "solve", "a, b", f_solve,
                    "x with a @ x = b; b is one vector, or a stack of matrices of "
                    "columns."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
