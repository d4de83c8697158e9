/* CPU device, operators: Inverse(self, out), Slogdet(self, signOut, logOut), Logdet(self,
 * out), Qr(self, some, Q, R), LinalgCholesky(self, upper, out), of the matrices in the
 * last two dimensions.
 *
 * Half precision is computed in float32. A singular matrix has no inverse, and one that
 * is not positive definite no Cholesky factor: the task fails. Of a matrix for Cholesky
 * the lower (`upper`: upper) triangle is read, and the other one of the factor is 0.
 *
 * The kernels (cpu/linalg) take a stack of matrices and give all outputs at once. They
 * work in float32, float64 and their complex dtypes, so that the outputs are temporaries,
 * which asn_move converts. Slogdet's logarithm is real where the matrices are complex;
 * Logdet's is complex.
 */
#include <string.h>

#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

typedef struct {
    asnd_plan_head head;
    asnd_linalg_op op;             /* which kernel */
    asn_dtype dtype;               /* computed in */
    int num_operands, operands[3]; /* self, then the outputs */
    bool logdet;                   /* out = log(sign) + log|det| */
    asnd_linalg_options options;
} decompose_plan;

/* The dtype of absolute values of t; t itself where it is real. */
static asn_dtype real_of(asn_dtype t) {
    return t == ASN_C64 ? ASN_F32 : t == ASN_C128 ? ASN_F64 : t;
}

/* out = log(sign) + size, in one program. The sign of a real matrix is -1, 0 or 1, so
 * that a negative determinant gives NaN; that of a complex one is a phase, whose
 * logarithm is imaginary. */
static asn_status join_log(const asnd_nd *out, const asnd_nd *sign, const asnd_nd *size) {
    asnd_prog prog;
    asn_prog_begin(&prog, out->ndim, out->shape, 0);
    int s = asn_prog_in(&prog, sign), l = asn_prog_in(&prog, size);
    int log = asn_prog_op1(&prog, ASN_OP_LOG, s);
    asn_prog_out(&prog, asn_prog_op2(&prog, ASN_OP_ADD, log, l), out);
    return asn_prog_run(&prog);
}

/* Logdet is Slogdet into temporaries, joined behind. Outputs are made in temporaries,
 * since they may be of half precision. */
static asn_status decompose_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const decompose_plan *p = plan;
    asnd_view views[3];
    asnd_nd nd[3];
    int64_t failed;
    const asnd_nd *in = asn_exec_nd(e, p->operands[0]);
    /* Logdet has the two results of Slogdet, though one output. */
    int batch = in->ndim - 2, count = p->logdet ? 3 : p->num_operands;
    ASN_TRY(asn_tmp_as(tmp, in, p->dtype, &views[0]));
    /* Both temporaries of Logdet have the output's shape, self's batch. */
    for (int i = 1; i < count; i++) {
        const asnd_nd *out = asn_exec_nd(e, p->operands[p->logdet ? 1 : i]);
        bool real = p->op == ASN_LINALG_SLOGDET && i == 2;
        ASN_TRY(asn_tmp_view(tmp, real ? real_of(p->dtype) : p->dtype, out->ndim,
                             out->shape, &views[i]));
    }
    for (int i = 0; i < count; i++)
        nd[i] = views[i].nd;
    ASN_TRY(asn_cpu_linalg(p->op, &p->options, batch, count, nd, &failed));
    /* Only Inverse and Cholesky report matrices: a determinant of 0 is a result. */
    if (failed)
        return asn_error_set(
            ASN_ERR_VALUE, "%lld of the matrices are %s", (long long)failed,
            p->op == ASN_LINALG_CHOLESKY ? "not positive definite" : "singular");
    if (p->logdet) {
        asnd_view size;
        ASN_TRY(asn_tmp_as(tmp, &nd[2], p->dtype, &size));
        return join_log(asn_exec_nd(e, p->operands[1]), &nd[1], &size.nd);
    }
    for (int i = 1; i < count; i++)
        ASN_TRY(asn_move(asn_exec_nd(e, p->operands[i]), &nd[i]));
    return ASN_OK;
}

/* The output's shape: self's batch, then rows and columns (-1: absent). */
static asn_status check_shape(const asnd_call *c, int i, const asnd_nd *self,
                              int64_t rows, int64_t columns) {
    int64_t shape[ASN_ND_MAX_DIMS];
    int ndim = self->ndim - 2;
    memcpy(shape, self->shape, (size_t)ndim * sizeof *shape);
    if (rows >= 0) shape[ndim++] = rows;
    if (columns >= 0) shape[ndim++] = columns;
    return asn_call_same_shape(c, i, ndim, shape);
}

/* Checks the shape of every output against self's. Qr's `some`: Q has as many columns as
 * the shorter side. */
static asn_status check_outputs(const asnd_call *c, asnd_linalg_op op,
                                const asnd_nd *self) {
    int64_t m = self->shape[self->ndim - 2], n = self->shape[self->ndim - 1];
    if (op == ASN_LINALG_QR) {
        int64_t p = asn_call_int(c, 1) && n < m ? n : m;
        ASN_TRY(check_shape(c, 2, self, m, p));
        return check_shape(c, 3, self, p, n);
    }
    if (m != n)
        return asn_error_set(ASN_ERR_VALUE, "%s: matrices of %lld x %lld are not square",
                             c->op->name, (long long)m, (long long)n);
    if (op == ASN_LINALG_INV) return check_shape(c, 1, self, n, n);
    if (op == ASN_LINALG_CHOLESKY) return check_shape(c, 2, self, n, n);
    for (int i = 1; i < c->op->num_params; i++)
        ASN_TRY(check_shape(c, i, self, -1, -1));
    return ASN_OK;
}

/* Plans any of them: arg is the kernel, and the parameters from the first output on
 * are outputs. */
asn_status asn_planner_decompose(asnd_call *c) {
    asnd_linalg_op op = (asnd_linalg_op)c->op->arg;
    const asnd_nd *self = asn_call_nd(c, 0);
    if (self->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: self has %d dimensions, at least 2",
                             c->op->name, self->ndim);
    if (!asn_is_inexact(self->dtype))
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no %s", c->op->name,
                             asn_dtype_name(self->dtype));
    ASN_TRY(check_outputs(c, op, self));
    int first = asn_call_out(c);
    for (int i = first; i < c->op->num_params; i++)
        ASN_TRY(op == ASN_LINALG_SLOGDET && i == 2
                    ? asn_call_convertible(c, real_of(self->dtype), i)
                    : asn_call_same_dtype(c, i, 0));
    /* Qr of (m, 0) matrices with `some` off has a Q of m * m elements, and the
     * determinant of a 0 x 0 matrix is 1: an empty input alone does not mean that nothing
     * is to be done. */
    if (asn_nd_size(self) == 0 && asn_call_operand(c, first)->is_empty) return ASN_OK;
    double n = (double)self->shape[self->ndim - 1];
    /* About n operations for each of the elements. */
    decompose_plan *p =
        asn_call_plan(c, decompose_body, sizeof *p, (double)asn_nd_size(self) * (n + 10));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->op = op;
    p->dtype = self->dtype == ASN_F16 || self->dtype == ASN_BF16 ? ASN_F32 : self->dtype;
    p->logdet = op == ASN_LINALG_SLOGDET && c->op->num_params == 2;
    memset(&p->options, 0, sizeof p->options);
    p->options.upper = op == ASN_LINALG_CHOLESKY && asn_call_int(c, 1) != 0;
    p->operands[0] = c->first[0];
    p->num_operands = 1;
    for (int i = first; i < c->op->num_params; i++)
        p->operands[p->num_operands++] = c->first[i];
    return ASN_OK;
}
