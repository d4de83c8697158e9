/* L3 python: plain cases (plain.c) of identities and of solvers. */
#include "plain.h"
#include "graph/operators/solvers.h"

/* eye(N), eye(N, M) and eye(N, M, k), of float64. */
static PyObject *ones_along(int64_t rows, int64_t columns, int64_t k) {
    const asn_operand zero = asn_operand_int(0), one = asn_operand_int(1);
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status =
        asn_full(&r->array, ASN_F64, 2, (int64_t[]){rows, columns}, 'C', &zero);
    if (status) return asn_ndarray_made(r, status);
    asn_layout along;
    status = asn_view_diagonal(&along, &r->array.layout, k, 0, 1);
    if (!status) {
        asn_array diagonal;
        along.flags |= ASN_WRITEABLE;
        asn_array_view(&diagonal, &r->array, &along);
        status = asn_assign(&diagonal, &one, ASN_CASTING_SAME_KIND, NULL);
        asn_array_fini(&diagonal);
    }
    if (!status) return (PyObject *)r;
    Py_DECREF(r);
    return asn_raise(status);
}

PyObject *asn_plain_eye(PyObject *const *v, Py_ssize_t n) {
    enum { MOST = 1 << 24 };
    int64_t extent[2], k = 0;
    if (n < 1 || n > 3) NOT_PLAIN;
    for (int d = 0; d < 2; d++) {
        PyObject *given = d && n > 1 && v[1] != Py_None ? v[1] : v[0];
        if (!whole(given, &extent[d]) || extent[d] < 0 || extent[d] > MOST) NOT_PLAIN;
    }
    if (n == 3 && (!whole(v[2], &k) || k < -MOST || k > MOST)) NOT_PLAIN;
    return ones_along(extent[0], extent[1], k);
}

PyObject *asn_plain_inv(PyObject *const *v, Py_ssize_t n) {
    return asn_linalg_plain(ACLNNX_LINALG_INV, v, n);
}

PyObject *asn_plain_solve(PyObject *const *v, Py_ssize_t n) {
    return asn_linalg_plain(ACLNNX_LINALG_SOLVE, v, n);
}

PyObject *asn_plain_det(PyObject *const *v, Py_ssize_t n) {
    return asn_linalg_plain(ACLNNX_LINALG_DET, v, n);
}

PyObject *asn_plain_identity(PyObject *const *v, Py_ssize_t n) {
    if (n != 1) NOT_PLAIN;
    return asn_plain_eye(v, n);
}
