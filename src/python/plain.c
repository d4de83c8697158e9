/* L3 python: the plain cases of functions that are written in Python.
 *
 * A Python frame with its attributes and calls costs 0.3 to 2 us, several times what such
 * a function does on ten elements. Its plain case (positional arguments, arrays of the
 * obvious shapes and dtypes, numbers) is a few lines over the core. Each function here
 * either does the whole call or says NotImplemented and has done nothing: the function in
 * Python then does it, and says what is wrong where something is. A plain case has the
 * name of its function and is found by it (composed.c); its arguments were found usual.
 */
#include "plain.h"
#include "graph/capture/capture.h"

/* Positional arguments and how many. */
#define PLAIN(name) static PyObject *plain_##name(PyObject *const *v, Py_ssize_t n)

/* An array of one axis with elements. */
static bool is_line(PyObject *o) {
    return asn_is_ndarray_exact(o) && asn_of(o)->layout.ndim == 1 &&
           asn_of(o)->layout.size > 0;
}

/* ---- numbers */

PLAIN(isscalar) {
    if (n != 1) NOT_PLAIN;
    if (PyFloat_CheckExact(v[0]) || PyLong_CheckExact(v[0]) || PyBool_Check(v[0]) ||
        PyComplex_CheckExact(v[0]) || PyUnicode_CheckExact(v[0]) ||
        PyArray_IsScalar(v[0], Generic))
        Py_RETURN_TRUE;
    if (asn_is_ndarray_exact(v[0])) Py_RETURN_FALSE;
    NOT_PLAIN;
}

/* ---- elements */

PLAIN(isreal) {
    if (n != 1 || !asn_is_ndarray_exact(v[0]) || asn_is_complex(asn_dtype_of(v[0])) ||
        asn_of(v[0])->layout.ndim == 0)
        NOT_PLAIN;
    const asn_layout *l = &asn_of(v[0])->layout;
    asn_operand yes = {.scalar = {.dtype = ASN_BOOL, .bytes = {1}}};
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_made(
                   r, asn_full(&r->array, ASN_BOOL, l->ndim, l->shape, 'C', &yes))
             : NULL;
}

/* The bits of an array, or the array of bits, without an axis. */
static PyObject *bits(PyObject *const *v, Py_ssize_t n,
                      bool (*call)(asn_array *result, const asn_array *a)) {
    asn_array result;
    if (n != 1 || !asn_is_ndarray_exact(v[0]) || !call(&result, asn_of(v[0]))) NOT_PLAIN;
    return asn_ndarray_wrap(&result);
}

PLAIN(packbits) {
    return bits(v, n, asn_direct_pack);
}

PLAIN(unpackbits) {
    return bits(v, n, asn_direct_unpack);
}

/* ---- axes */

/* One width, mode "wrap". */
PLAIN(pad) {
    int64_t width;
    if (n != 3 || !asn_is_ndarray_exact(v[0]) || !whole(v[1], &width) || width < 1 ||
        !PyUnicode_CheckExact(v[2]) ||
        PyUnicode_CompareWithASCIIString(v[2], "wrap") != 0)
        NOT_PLAIN;
    const asn_layout *l = &asn_of(v[0])->layout;
    if (l->ndim == 0 ||
        (l->flags & (ASN_C_CONTIGUOUS | ASN_RAW_TRUTH)) != ASN_C_CONTIGUOUS)
        NOT_PLAIN;
    for (int d = 0; d < l->ndim; d++)
        if (l->shape[d] < width) NOT_PLAIN;
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_finish(r, asn_pad_wrapped(&r->array, asn_of(v[0]), width))
             : NULL;
}

/* ---- products */

/* Two lines of one dtype that is not complex. */
static bool are_lines(PyObject *a, PyObject *b) {
    return is_line(a) && is_line(b) && asn_dtype_of(a) == asn_dtype_of(b) &&
           !asn_is_complex(asn_dtype_of(a));
}

static asn_status float_at(const asn_array *a, int64_t i, double *value) {
    asn_scalar s;
    ASN_TRY(asn_array_get_item(a, i * a->layout.strides[0], &s));
    memcpy(value, s.bytes, sizeof *value);
    return ASN_OK;
}

PLAIN(interp) {
    if (n != 3 || asn_capture_open() || !asn_is_ndarray_exact(v[0]) ||
        asn_of(v[0])->layout.ndim == 0 || asn_dtype_of(v[0]) != ASN_F64 ||
        !are_lines(v[1], v[2]) || asn_dtype_of(v[1]) != ASN_F64 ||
        asn_of(v[1])->layout.size != asn_of(v[2])->layout.size)
        NOT_PLAIN;
    const asn_array *fp = asn_of(v[2]);
    double left, right;
    ASN_PY_TRY(float_at(fp, 0, &left));
    ASN_PY_TRY(float_at(fp, fp->layout.size - 1, &right));
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status =
        asn_interp(&r->array, asn_of(v[0]), asn_of(v[1]), fp, left, right);
    if (status != ASN_ERR_UNSUPPORTED) return asn_ndarray_made(r, status);
    asn_ndarray_drop(r);
    NOT_PLAIN;
}

const asn_plain *asn_plain_find(const char *name) {
#define ROW(name) {#name, plain_##name, NULL, 0}
    static const asn_plain rows[] = {
        ROW(interp),   ROW(isreal),     ROW(isscalar),
        ROW(packbits), ROW(unpackbits), {"pad", plain_pad, "mode", 2},
    };
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}
