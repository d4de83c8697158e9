/* CPU device, operators: Svd(input, fullMatrices, computeUV, sigma, u, v): the singular
 * values of the matrices in the last two dimensions, largest first, and their vectors:
 * input = u @ diag(sigma) @ v^H.
 *
 * Of (m, n) matrices u has m rows and v n rows; with fullMatrices as many columns, else
 * as many as there are values; without computeUV neither is written, and they may be
 * NULL. (PyTorch's NPU backend asks for these shapes, in this order of the parameters.)
 * Halves are computed in float32.
 */
#include <string.h>

#include "device/cpu/linalg/linalg.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* The dtype of absolute values of t. */
static asn_dtype real_of(asn_dtype t) {
    return t == ASN_C64 ? ASN_F32 : t == ASN_C128 ? ASN_F64 : t;
}

/* out = the conjugate of `in`, of out's shape. */
static asn_status conjugate(const asnd_nd *out, const asnd_nd *in) {
    asnd_prog p;
    if (!asn_is_complex(in->dtype)) return asn_move(out, in);
    asn_prog_begin(&p, out->ndim, out->shape, 0);
    asn_prog_out(&p, asn_prog_op1(&p, ASN_OP_CONJUGATE, asn_prog_in(&p, in)), out);
    return asn_prog_run(&p);
}

/* Outputs are made in temporaries: u, sigma, and v^H, as LAPACK has it. */
static asn_status svd_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    bool vectors = p->arg[2].i != 0;
    asnd_view in, sigma, u, v;
    int64_t failed, shape[ASN_ND_MAX_DIMS];
    const asnd_nd *values = asn_exec_nd(e, p->at[3]);
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->at[0]), p->loop, &in));
    ASN_TRY(asn_tmp_view(tmp, real_of(p->loop), values->ndim, values->shape, &sigma));
    int batch = in.nd.ndim - 2;
    if (vectors) {
        const asnd_nd *left = asn_exec_nd(e, p->at[4]), *right = asn_exec_nd(e, p->at[5]);
        ASN_TRY(asn_tmp_view(tmp, p->loop, left->ndim, left->shape, &u));
        memcpy(shape, right->shape, (size_t)right->ndim * sizeof *shape);
        shape[batch] = right->shape[batch + 1];
        shape[batch + 1] = right->shape[batch];
        ASN_TRY(asn_tmp_view(tmp, p->loop, right->ndim, shape, &v));
        asnd_nd nd[] = {in.nd, u.nd, sigma.nd, v.nd};
        ASN_TRY(asn_cpu_linalg(ASN_LINALG_SVD, NULL, batch, 4, nd, &failed));
    } else {
        asnd_nd nd[] = {in.nd, sigma.nd};
        ASN_TRY(asn_cpu_linalg(ASN_LINALG_SVDVALS, NULL, batch, 2, nd, &failed));
    }
    if (failed)
        return asn_error_set(ASN_ERR_VALUE,
                             "the values of %lld of the matrices did not converge",
                             (long long)failed);
    ASN_TRY(asn_move(values, &sigma.nd));
    if (!vectors) return ASN_OK;
    ASN_TRY(asn_move(asn_exec_nd(e, p->at[4]), &u.nd));
    asn_view_swap_last(&v);
    return conjugate(asn_exec_nd(e, p->at[5]), &v.nd);
}

/* Parameter i has input's batch, then these extents (columns -1: absent). */
static asn_status check_part(const asnd_call *c, int i, int64_t rows, int64_t columns) {
    const asnd_nd *input = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS];
    int ndim = input->ndim - 2;
    if (asn_call_nd(c, i) == NULL)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL", c->op->name,
                             c->op->params[i].name);
    memcpy(shape, input->shape, (size_t)ndim * sizeof *shape);
    shape[ndim++] = rows;
    if (columns >= 0) shape[ndim++] = columns;
    return asn_call_same_shape(c, i, ndim, shape);
}

asn_status asn_planner_svd(asnd_call *c) {
    const asnd_nd *input = asn_call_nd(c, 0);
    bool full = asn_call_int(c, 1) != 0, vectors = asn_call_int(c, 2) != 0;
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    if (!asn_is_inexact(input->dtype))
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no %s", c->op->name,
                             asn_dtype_name(input->dtype));
    int64_t m = input->shape[input->ndim - 2], n = input->shape[input->ndim - 1];
    int64_t k = m < n ? m : n;
    ASN_TRY(check_part(c, 3, k, -1));
    ASN_TRY(asn_call_convertible(c, real_of(input->dtype), 3));
    if (vectors) {
        ASN_TRY(check_part(c, 4, m, full ? m : k));
        ASN_TRY(check_part(c, 5, n, full ? n : k));
        ASN_TRY(asn_call_same_dtype(c, 0, 4));
        ASN_TRY(asn_call_same_dtype(c, 0, 5));
    }
    bool nothing = asn_nd_size(input) == 0;
    if (nothing && (!vectors || (asn_call_operand(c, 4)->is_empty &&
                                 asn_call_operand(c, 5)->is_empty)))
        return ASN_OK;
    asnd_packed *p = asn_packed_plan(
        c, svd_body, 1000 + 10 * (double)asn_nd_size(input) * (double)(k + 10));
    if (p == NULL) return ASN_ERR_MEMORY;
    bool half = input->dtype == ASN_F16 || input->dtype == ASN_BF16;
    p->loop = half ? ASN_F32 : input->dtype;
    return ASN_OK;
}
