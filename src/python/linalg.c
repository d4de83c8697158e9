/* L3 python: one solver or decomposition, for asnumpy.linalg: NumPy's rules about shapes,
 * dtypes and broadcasting, and its LinAlgError.
 *
 * As in NumPy everything is computed in double precision: float32 and complex64 are
 * widened on the way in, and results are rounded once, on the way out. */
#include "function.h"

#include "aclnn/aclnnx.h"

/* Trailing dimensions of the operands and their dtypes, as
 * aclnnx.h lists them. */
typedef struct {
    const char *shapes[ACLNNX_LINALG_MAX_OPERANDS];
    const char *dtypes;
    int num_inputs;
    bool square;
    const char
        *wraps; /* each result: as the class of operand a or b, or of neither, '-' */
} row;

static const row rows[] = {
    [ACLNNX_LINALG_SOLVE] = {{"nn", "nr", "nr"}, "TTT", 2, true, "b"},
    [ACLNNX_LINALG_INV] = {{"nn", "nn"}, "TT", 1, true, "a"},
    [ACLNNX_LINALG_DET] = {{"nn", ""}, "TT", 1, true, "-"},
    [ACLNNX_LINALG_SLOGDET] = {{"nn", "", ""}, "TTR", 1, true, "--"},
    [ACLNNX_LINALG_CHOLESKY] = {{"nn", "nn"}, "TT", 1, true, "a"},
    [ACLNNX_LINALG_QR] = {{"mn", "mp", "pn"}, "TTT", 1, false, "aa"},
    [ACLNNX_LINALG_QR_RAW] = {{"mn", "mn", "k"}, "TTT", 1, false, "a-"},
    [ACLNNX_LINALG_QR_R] = {{"mn", "kn"}, "TT", 1, false, "a"},
    [ACLNNX_LINALG_SVD] = {{"mn", "mp", "k", "qn"}, "TTRT", 1, false, "a-a"},
    [ACLNNX_LINALG_SVDVALS] = {{"mn", "k"}, "TR", 1, false, "-"},
    [ACLNNX_LINALG_EIG] = {{"nn", "n", "nn"}, "TCC", 1, true, "-a"},
    [ACLNNX_LINALG_EIGVALS] = {{"nn", "n"}, "TC", 1, true, "-"},
    [ACLNNX_LINALG_EIGH] = {{"nn", "n", "nn"}, "TRT", 1, true, "-a"},
    [ACLNNX_LINALG_EIGVALSH] = {{"nn", "n"}, "TR", 1, true, "-"},
    [ACLNNX_LINALG_LSTSQ] =
        {{"mn", "mr", "nr", "r", "", "k"}, "TTTRiR", 2, false, "bb--"},
};

typedef struct {
    const row *op;
    int code;
    bool full, upper, vector; /* vector: the second operand came without its columns */
    double rcond;
    asn_dtype dtype;       /* T of the results; the device computes in wide(dtype) */
    PyObject *operands[2]; /* as they were given; borrowed */
    int num_batch;
    int64_t batch[ASN_MAX_DIMS];
    int64_t m, n, r;
} call;

static void *linalg_error(const char *message) {
    PyObject *module = PyImport_ImportModule("numpy.linalg");
    PyObject *type = module ? PyObject_GetAttrString(module, "LinAlgError") : NULL;
    if (type) PyErr_SetString(type, message);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return NULL;
}

static int check_matrix(const asn_layout *l, bool square) {
    char text[96];
    if (l->ndim < 2) {
        snprintf(text, sizeof text,
                 "%d-dimensional array given. Array must be at least two-dimensional",
                 l->ndim);
        linalg_error(text);
        return -1;
    }
    if (!square || l->shape[l->ndim - 1] == l->shape[l->ndim - 2]) return 0;
    linalg_error("Last 2 dimensions of the array must be square");
    return -1;
}

/* The results': float32 and complex64 stay, as do float64 and complex128; integers become
 * float64. */
static int common_dtype(asn_dtype a, asn_dtype b, asn_dtype *out) {
    asn_dtype both[2] = {a, b};
    bool is_complex = false, wide = false;
    for (int i = 0; i < 2; i++) {
        if (both[i] == ASN_F16 || both[i] == ASN_BF16) {
            PyErr_Format(PyExc_TypeError, "array type %s is unsupported in linalg",
                         asn_dtype_name(both[i]));
            return -1;
        }
        is_complex |= both[i] == ASN_C64 || both[i] == ASN_C128;
        wide |= both[i] != ASN_F32 && both[i] != ASN_C64;
    }
    *out = is_complex ? (wide ? ASN_C128 : ASN_C64) : wide ? ASN_F64 : ASN_F32;
    return 0;
}

static int64_t extent(const call *c, char letter) {
    int64_t k = c->m < c->n ? c->m : c->n;
    switch (letter) {
    case 'm': return c->m;
    case 'n': return c->n;
    case 'r': return c->r;
    case 'p': return c->full ? c->m : k;
    case 'q': return c->full ? c->n : k;
    default: return k;
    }
}

/* The batch shape: a's, broadcast with b's. */
static int batch_of(call *c, const asn_layout *a, const asn_layout *b, int b_core) {
    asn_layout first = *a, second;
    const asn_layout *both[2] = {&first, &second};
    first.shape = a->shape;
    first.ndim -= 2;
    if (b) {
        second = *b;
        second.shape = b->shape;
        second.ndim -= b_core;
    }
    ASN_PY_TRY_INT(asn_broadcast_shape(b ? 2 : 1, both, &c->num_batch, c->batch));
    return 0;
}

/* A view of `a` with the batch's shape in front, in *view (uninitialised before). */
static asn_status spread(const call *c, const asn_array *a, int core, asn_array *view) {
    int64_t shape[ASN_MAX_DIMS];
    asn_layout layout;
    int ndim = c->num_batch + core;
    memcpy(shape, c->batch, (size_t)c->num_batch * sizeof *shape);
    for (int d = 0; d < core; d++)
        shape[c->num_batch + d] = a->layout.shape[a->layout.ndim - core + d];
    ASN_TRY(asn_view_broadcast(&layout, &a->layout, ndim, shape));
    asn_array_view(view, a, &layout);
    return ASN_OK;
}

/* b as the operation wants it: a vector gets a column. */
static asn_status second_operand(const call *c, const asn_array *b, asn_array *out) {
    asn_layout layout;
    asn_array column;
    if (!c->vector) return spread(c, b, 2, out);
    ASN_TRY(asn_view_expand(&layout, &b->layout, b->layout.ndim + 1,
                            (uint64_t)1 << b->layout.ndim));
    asn_array_view(&column, b, &layout);
    asn_status status = spread(c, &column, 2, out);
    asn_array_fini(&column);
    return status;
}

static asn_dtype wide(asn_dtype t) {
    return t == ASN_F32 ? ASN_F64 : t == ASN_C64 ? ASN_C128 : t;
}

static asn_dtype output_dtype(char letter, asn_dtype t) {
    bool single = t == ASN_F32 || t == ASN_C64;
    switch (letter) {
    case 'R': return single ? ASN_F32 : ASN_F64;
    case 'C': return single ? ASN_C64 : ASN_C128;
    case 'i': return ASN_I64;
    default: return t;
    }
}

/* Removes the column that second_operand added: of X, and the residuals' only element
 * stays. */
static asn_status drop_column(const call *c, asn_array *x) {
    asn_layout layout;
    asn_array view;
    ASN_TRY(asn_view_squeeze(&layout, &x->layout, (uint64_t)1 << (c->num_batch + 1)));
    asn_array_view(&view, x, &layout);
    asn_array_fini(x);
    asn_array_move(x, &view);
    return ASN_OK;
}

static asn_status make_outputs(const call *c, asn_dtype t, asn_ndarray **made,
                               int num_outputs) {
    int64_t shape[ASN_MAX_DIMS];
    memcpy(shape, c->batch, (size_t)c->num_batch * sizeof *shape);
    for (int i = 0; i < num_outputs; i++) {
        const char *core = c->op->shapes[c->op->num_inputs + i];
        int ndim = c->num_batch;
        for (; *core; core++)
            shape[ndim++] = extent(c, *core);
        asn_dtype dtype = output_dtype(c->op->dtypes[c->op->num_inputs + i], t);
        made[i] = asn_ndarray_alloc();
        if (!made[i]) return asn_error_set(ASN_ERR_MEMORY, "linalg: out of memory");
        asn_status status = asn_array_new(&made[i]->array, dtype, ndim, shape, 'C');
        if (status) {
            asn_ndarray_drop(made[i]);
            made[i] = NULL;
            return status;
        }
    }
    return ASN_OK;
}

/* Inputs of dtype t; fills made[] and says how many matrices failed. */
static asn_status run(const call *c, asn_dtype t, const asn_array *a, const asn_array *b,
                      asn_ndarray **made, int num_outputs, int64_t *failed) {
    const asn_array *arrays[ACLNNX_LINALG_MAX_OPERANDS];
    asn_array inputs[2];
    int num_inputs = c->op->num_inputs, num = 0;
    asn_status status = spread(c, a, 2, &inputs[0]);
    if (status) return status;
    if (b) status = second_operand(c, b, &inputs[1]);
    if (status) {
        asn_array_fini(&inputs[0]);
        return status;
    }
    status = make_outputs(c, t, made, num_outputs);
    for (int i = 0; i < num_inputs; i++)
        arrays[num++] = &inputs[i];
    for (int i = 0; i < num_outputs && !status; i++)
        arrays[num++] = &made[i]->array;
    if (!status)
        status = asn_linalg(c->code, c->upper, c->rcond, c->num_batch, num, arrays,
                            num_inputs, failed);
    if (!status && c->vector) status = drop_column(c, &made[0]->array);
    for (int i = 0; i < num_inputs; i++)
        asn_array_fini(&inputs[i]);
    return status;
}

/* Output i in the dtype and of the class that the caller sees; takes `made`. */
static PyObject *rounded(const call *c, int i, asn_ndarray *made) {
    asn_dtype dtype = output_dtype(c->op->dtypes[c->op->num_inputs + i], c->dtype);
    PyObject *parent = c->operands[c->op->wraps[i] == 'b'], *r;
    bool wrap = c->op->wraps[i] != '-' && asn_is_ndarray(parent);
    if (asn_dtype_of((PyObject *)made) == dtype) {
        r = asn_ndarray_finish(made, ASN_OK);
    } else {
        r = asn_copy_cast((PyObject *)made, dtype, 'K');
        Py_DECREF(made);
        if (r) r = asn_ndarray_return(r);
    }
    return wrap ? asn_subclass_wrap(r, parent, NULL) : r;
}

/* One array or scalar, or a tuple of them. Takes made[]. */
static PyObject *result_of(const call *c, asn_ndarray **made, int count) {
    PyObject *tuple = count > 1 ? PyTuple_New(count) : NULL;
    for (int i = 0; i < count; i++) {
        PyObject *one = rounded(c, i, made[i]);
        if (count == 1) return one;
        if (tuple && one)
            PyTuple_SET_ITEM(tuple, i, one);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *execute(call *c, PyObject *a, PyObject *b, const char *message) {
    const asn_layout *la = &asn_of(a)->layout, *lb = b ? &asn_of(b)->layout : NULL;
    asn_ndarray *made[ACLNNX_LINALG_MAX_OPERANDS] = {NULL};
    int num_outputs = (int)strlen(c->op->dtypes) - c->op->num_inputs;
    int64_t failed = 0;
    if (batch_of(c, la, lb, c->vector ? 1 : 2) < 0) return NULL;
    asn_status status = run(c, asn_dtype_of(a), asn_of(a), b ? asn_of(b) : NULL, made,
                            num_outputs, &failed);
    if (status == ASN_OK && (failed == 0 || !*message))
        return result_of(c, made, num_outputs);
    for (int i = 0; i < num_outputs; i++)
        Py_XDECREF((PyObject *)made[i]);
    return status ? asn_raise(status) : linalg_error(message);
}

/* Extents, and what must agree with what. */
static int dimensions(call *c, PyObject *a, PyObject *b) {
    const asn_layout *la = &asn_of(a)->layout;
    if (check_matrix(la, c->op->square) < 0) return -1;
    c->m = la->shape[la->ndim - 2];
    c->n = la->shape[la->ndim - 1];
    if (!b) return 0;
    const asn_layout *lb = &asn_of(b)->layout;
    c->vector = lb->ndim == 1;
    if (lb->ndim < 1) {
        PyErr_Format(PyExc_ValueError,
                     "solve: Input operand 1 does not have enough dimensions (has %d, "
                     "gufunc core with signature (m,m),(m,n)->(m,n) requires 2)",
                     lb->ndim);
        return -1;
    }
    int64_t length = lb->shape[lb->ndim - (c->vector ? 1 : 2)];
    c->r = c->vector ? 1 : lb->shape[lb->ndim - 1];
    if (length == c->m) return 0;
    PyErr_Format(
        PyExc_ValueError,
        "solve: Input operand 1 has a mismatch in its core dimension 0 (size %lld "
        "is different from %lld)",
        (long long)length, (long long)c->m);
    return -1;
}

/* _linalg(op, a, b, full, upper, rcond, message) */
static PyObject *f_linalg(PyObject *const *v) {
    int64_t code;
    call c = {.vector = false};
    if (asn_int64_from_py(v[0], &code) < 0 || asn_bool_from_py(v[3], &c.full) < 0 ||
        asn_bool_from_py(v[4], &c.upper) < 0)
        return NULL;
    c.rcond = PyFloat_AsDouble(v[5]);
    if (c.rcond == -1 && PyErr_Occurred()) return NULL;
    const char *message = PyUnicode_AsUTF8(v[6]);
    if (!message) return NULL;
    c.code = (int)code;
    c.op = &rows[code];
    c.operands[0] = v[1];
    c.operands[1] = v[2];
    PyObject *a = asn_asarray(v[1]), *r = NULL, *b = NULL;
    if (!a) return NULL;
    if (c.op->num_inputs > 1 && !(b = asn_asarray(v[2]))) goto done;
    if (dimensions(&c, a, b) < 0 ||
        common_dtype(asn_dtype_of(a), b ? asn_dtype_of(b) : asn_dtype_of(a), &c.dtype) <
            0)
        goto done;
    asn_dtype t = wide(c.dtype);
    if (asn_dtype_of(a) != t) Py_SETREF(a, asn_asarray_dtype(a, t));
    if (a && b && asn_dtype_of(b) != t) {
        Py_SETREF(b, asn_asarray_dtype(b, t));
        if (!b) goto done;
    }
    if (a) r = execute(&c, a, b, message);
done:
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

asn_function_def asn_linalg_functions[] = {
    ASN_FUNCTION(
        "_linalg", "op, a, b, full, upper, rcond, message, /", f_linalg,
        "One solver or decomposition; op as ACLNNX_LINALG_*. An empty message: a matrix "
        "without a result is no error."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
