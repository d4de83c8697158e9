/* L2 graph: solvers and decompositions (see solvers.h).
 *
 * One table says for each operation which shapes and dtypes its operands have; everything
 * else follows from it: what is checked, how the outputs are made, what is rounded at the
 * end.
 *
 * The letters of a shape: m, n the matrix' extents, r the columns of the second operand,
 * k the smaller of m and n; p and q are k, or with `full` m and n. Those of the dtypes: T
 * the matrix', R its real one, C its complex one, i int64. */
#include "graph/operators/solvers.h"

#include <string.h>

#include "array/broadcast.h"
#include "array/views.h"
#include "graph/capture/capture.h"
#include "graph/operators/families.h"

/* Trailing dimensions of the operands and their dtypes, as aclnnx.h lists them. */
typedef struct {
    const char *shapes[ACLNNX_LINALG_MAX_OPERANDS];
    const char *dtypes;
    int num_inputs;
    bool square;
} row;

static const row rows[] = {
    [ACLNNX_LINALG_SOLVE] = {{"nn", "nr", "nr"}, "TTT", 2, true},
    [ACLNNX_LINALG_INV] = {{"nn", "nn"}, "TT", 1, true},
    [ACLNNX_LINALG_DET] = {{"nn", ""}, "TT", 1, true},
    [ACLNNX_LINALG_SLOGDET] = {{"nn", "", ""}, "TTR", 1, true},
    [ACLNNX_LINALG_CHOLESKY] = {{"nn", "nn"}, "TT", 1, true},
    [ACLNNX_LINALG_QR] = {{"mn", "mp", "pn"}, "TTT", 1, false},
    [ACLNNX_LINALG_QR_RAW] = {{"mn", "mn", "k"}, "TTT", 1, false},
    [ACLNNX_LINALG_QR_R] = {{"mn", "kn"}, "TT", 1, false},
    [ACLNNX_LINALG_SVD] = {{"mn", "mp", "k", "qn"}, "TTRT", 1, false},
    [ACLNNX_LINALG_SVDVALS] = {{"mn", "k"}, "TR", 1, false},
    [ACLNNX_LINALG_EIG] = {{"nn", "n", "nn"}, "TCC", 1, true},
    [ACLNNX_LINALG_EIGVALS] = {{"nn", "n"}, "TC", 1, true},
    [ACLNNX_LINALG_EIGH] = {{"nn", "n", "nn"}, "TRT", 1, true},
    [ACLNNX_LINALG_EIGVALSH] = {{"nn", "n"}, "TR", 1, true},
    [ACLNNX_LINALG_LSTSQ] = {{"mn", "mr", "nr", "r", "", "k"}, "TTTRiR", 2, false},
};

/* A call: what was asked, and what its operands turned out to be. */
typedef struct {
    const asn_solver *s;
    const row *op;
    bool vector;     /* the second operand came without its columns */
    asn_dtype dtype; /* T of the results; the device computes in wide(dtype) */
    int num_batch;
    int64_t batch[ASN_MAX_DIMS];
    int64_t m, n, r;
} call;

/* (Contract in solvers.h.) Every operand has a letter for its dtype; the first are the
 * inputs'. */
int asn_solver_results(int op) {
    return (int)strlen(rows[op].dtypes) - rows[op].num_inputs;
}

/* NumPy's errors for what is no matrix, or not square. */
static asn_status check_matrix(const asn_layout *l, bool square) {
    if (l->ndim < 2)
        return asn_error_set(
            ASN_ERR_LINALG,
            "%d-dimensional array given. Array must be at least two-dimensional",
            l->ndim);
    if (!square || l->shape[l->ndim - 1] == l->shape[l->ndim - 2]) return ASN_OK;
    return asn_error_set(ASN_ERR_LINALG, "Last 2 dimensions of the array must be square");
}

/* The results' dtype: float32 and complex64 stay, as do float64 and complex128; integers
 * become float64. A TypeError for halves, as in NumPy. */
static asn_status common_dtype(asn_dtype a, asn_dtype b, asn_dtype *out) {
    asn_dtype both[2] = {a, b};
    bool is_complex = false, wide = false;
    for (int i = 0; i < 2; i++) {
        if (asn_is_half(both[i]))
            return asn_error_set(ASN_ERR_TYPE, "array type %s is unsupported in linalg",
                                 asn_dtype_name(both[i]));
        is_complex |= asn_is_complex(both[i]);
        wide |= both[i] != ASN_F32 && both[i] != ASN_C64;
    }
    *out = is_complex ? (wide ? ASN_C128 : ASN_C64) : wide ? ASN_F64 : ASN_F32;
    return ASN_OK;
}

/* What a letter of the table stands for in this call. */
static int64_t extent(const call *c, char letter) {
    int64_t k = c->m < c->n ? c->m : c->n;
    switch (letter) {
    case 'm': return c->m;
    case 'n': return c->n;
    case 'r': return c->r;
    case 'p': return c->s->full ? c->m : k;
    case 'q': return c->s->full ? c->n : k;
    default: return k;
    }
}

/* The batch shape: a's, broadcast with b's. */
static asn_status batch_of(call *c, const asn_layout *a, const asn_layout *b) {
    asn_layout first = *a, second;
    const asn_layout *both[2] = {&first, &second};
    first.shape = a->shape;
    first.ndim -= 2;
    if (b) {
        second = *b;
        second.shape = b->shape;
        second.ndim -= c->vector ? 1 : 2;
    }
    return asn_broadcast_shape(b ? 2 : 1, both, &c->num_batch, c->batch);
}

/* A view of `a` with the batch's shape in front, in *view (uninitialised before). */
static asn_status spread(const call *c, const asn_array *a, int core, asn_array *view) {
    int64_t shape[ASN_MAX_DIMS];
    asn_layout layout;
    int ndim = c->num_batch + core;
    memcpy(shape, c->batch, (size_t)c->num_batch * sizeof *shape);
    memcpy(shape + c->num_batch, a->layout.shape + a->layout.ndim - core,
           (size_t)core * sizeof *shape);
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

/* The dtype that is computed in. */
static asn_dtype wide(asn_dtype t) {
    return t == ASN_F32 ? ASN_F64 : t == ASN_C64 ? ASN_C128 : t;
}

/* The dtype that a letter of the table stands for, where T is t. */
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

/* Makes the outputs, uninitialised. *made counts the arrays that then need their fini,
 * also after an error. */
static asn_status make_outputs(const call *c, asn_array *out, int *made) {
    int64_t shape[ASN_MAX_DIMS];
    int num_outputs = asn_solver_results(c->s->op);
    memcpy(shape, c->batch, (size_t)c->num_batch * sizeof *shape);
    for (int i = 0; i < num_outputs; i++) {
        const char *core = c->op->shapes[c->op->num_inputs + i];
        int ndim = c->num_batch;
        for (; *core; core++)
            shape[ndim++] = extent(c, *core);
        asn_dtype dtype =
            output_dtype(c->op->dtypes[c->op->num_inputs + i], wide(c->dtype));
        ASN_TRY(asn_array_new(&out[i], dtype, ndim, shape, 'C'));
        *made = i + 1;
    }
    return ASN_OK;
}

/* Rounds outputs from the dtype computed in to those that the caller sees. */
static asn_status round_outputs(const call *c, asn_array *out, int num) {
    for (int i = 0; i < num; i++) {
        asn_dtype dtype = output_dtype(c->op->dtypes[c->op->num_inputs + i], c->dtype);
        asn_array rounded;
        if (asn_layout_dtype(&out[i].layout) == dtype) continue;
        ASN_TRY(asn_copy(&rounded, &out[i], dtype, 'K'));
        asn_array_fini(&out[i]);
        asn_array_move(&out[i], &rounded);
    }
    return ASN_OK;
}

static bool finite_svd; /* (solvers.h) */

void asn_solver_svd_of_finite(bool only) {
    finite_svd = only;
}

/* ACLNNX_LINALG_UPPER and ACLNNX_LINALG_FINITE. */
static int options_of(const asn_solver *s) {
    bool svd = s->op == ACLNNX_LINALG_SVD || s->op == ACLNNX_LINALG_SVDVALS;
    return (s->upper ? ACLNNX_LINALG_UPPER : 0) |
           (svd && finite_svd ? ACLNNX_LINALG_FINITE : 0);
}

/* Runs the operation. Inputs have dtype wide(dtype) and are spread over the batch. In a
 * capture the error for a matrix without a result is kept for replays, whose matrices are
 * others. */
static asn_status compute(const call *c, const asn_array *inputs, asn_array *out) {
    const asn_array *arrays[ACLNNX_LINALG_MAX_OPERANDS];
    int64_t failed;
    int made = 0, num = c->op->num_inputs, results = asn_solver_results(c->s->op);
    asn_status status = make_outputs(c, out, &made);
    for (int i = 0; i < num; i++)
        arrays[i] = &inputs[i];
    for (int i = 0; i < made; i++)
        arrays[num + i] = &out[i];
    if (!status)
        status = asn_linalg(c->s->op, options_of(c->s), c->s->rcond, c->num_batch,
                            num + results, arrays, num, &failed);
    if (ASN_CAPTURING && c->s->failed) asn_capture_complaint(c->s->failed);
    if (!status && failed && c->s->failed)
        status = asn_error_set(ASN_ERR_LINALG, "%s", c->s->failed);
    if (!status && c->vector) status = drop_column(c, &out[0]);
    if (!status) status = round_outputs(c, out, results);
    for (int i = 0; i < made && status; i++)
        asn_array_fini(&out[i]);
    return status;
}

/* Reads the extents into *c and checks what must agree with what. */
static asn_status dimensions(call *c, const asn_layout *a, const asn_layout *b) {
    ASN_TRY(check_matrix(a, c->op->square));
    c->m = a->shape[a->ndim - 2];
    c->n = a->shape[a->ndim - 1];
    if (!b) return ASN_OK;
    c->vector = b->ndim == 1;
    if (b->ndim < 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "solve: Input operand 1 does not have enough dimensions (has %d, "
            "gufunc core with signature (m,m),(m,n)->(m,n) requires 2)",
            b->ndim);
    int64_t length = b->shape[b->ndim - (c->vector ? 1 : 2)];
    c->r = c->vector ? 1 : b->shape[b->ndim - 1];
    if (length == c->m) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "solve: Input operand 1 has a mismatch in its core dimension 0 (size %lld "
        "is different from %lld)",
        (long long)length, (long long)c->m);
}

/* Operand i (0: a, 1: b), widened and spread over the batch. */
static asn_status input(const call *c, int i, const asn_array *given, asn_array *out) {
    asn_array widened;
    ASN_TRY(asn_layout_dtype(&given->layout) == wide(c->dtype)
                ? asn_array_share(&widened, given)
                : asn_copy(&widened, given, wide(c->dtype), 'K'));
    asn_status status =
        i ? second_operand(c, &widened, out) : spread(c, &widened, 2, out);
    asn_array_fini(&widened);
    return status;
}

/* (Contract in solvers.h.) A whole stack of matrices is one call of asn_linalg. */
asn_status asn_solver_run(const asn_solver *s, const asn_array *a, const asn_array *b,
                          asn_array *results) {
    call c = {.s = s, .op = &rows[s->op]};
    asn_array inputs[2];
    if (c.op->num_inputs < 2) b = NULL;
    ASN_TRY(dimensions(&c, &a->layout, b ? &b->layout : NULL));
    ASN_TRY(common_dtype(asn_layout_dtype(&a->layout),
                         asn_layout_dtype(b ? &b->layout : &a->layout), &c.dtype));
    ASN_TRY(batch_of(&c, &a->layout, b ? &b->layout : NULL));
    ASN_TRY(input(&c, 0, a, &inputs[0]));
    asn_status status = b ? input(&c, 1, b, &inputs[1]) : ASN_OK;
    if (!status) {
        status = compute(&c, inputs, results);
        if (b) asn_array_fini(&inputs[1]);
    }
    asn_array_fini(&inputs[0]);
    return status;
}
