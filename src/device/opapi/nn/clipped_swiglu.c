/* CPU device, operators: ClippedSwiglu(x, groupIndexOptional, dim, alpha, limit, bias,
 * interleaved, out), the gate of the GPT-OSS models.
 *
 * x is a matrix: the dimensions in front of dim are its rows, dim and those behind it its
 * columns. A and B are the columns' halves, or (interleaved) the even and the odd ones;
 * A' = min(A, limit), B' = B in [-limit, limit], and the result is
 *
 *     A' * sigmoid(alpha * A') * (B' + bias).
 *
 * With groups only as many rows are computed as the group sizes add up to; the others of
 * out stay as they are. Halves are computed in float32.
 */
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"
#include "device/opapi/nn/norm.h"

/* n[0]: rows, n[1]: columns of out. */
static asn_status clipped_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[7]);
    int64_t rows = p->n[0], columns = p->n[1], two[2] = {rows, 2 * columns};
    bool interleaved = p->arg[6].i != 0;
    asnd_view packed, a, b, result;
    asnd_prog g;
    if (p->at[1] >= 0) {
        const asnd_nd *groups = asn_exec_nd(e, p->at[1]);
        const int64_t *sizes;
        int64_t sum = 0;
        ASN_TRY(asn_packed_data(groups, ASN_I64, tmp, &sizes));
        for (int64_t i = 0; i < asn_nd_size(groups); i++)
            if (sizes[i] < 0 || (sum += sizes[i]) > rows)
                return asn_error_set(ASN_ERR_VALUE,
                                     "groupIndexOptional[%lld] is %lld; there are %lld "
                                     "rows",
                                     (long long)i, (long long)sizes[i], (long long)rows);
        two[0] = sum;
    }
    ASN_TRY(asn_packed_of(x, x->dtype, tmp, &packed));
    asn_view_plain(&a, x->dtype, 2, two, packed.nd.data);
    asn_view_set(&b, &a.nd);
    asn_view_slice(&a, 1, 0, columns, interleaved ? 2 : 1);
    asn_view_slice(&b, 1, interleaved ? 1 : columns, columns, interleaved ? 2 : 1);
    /* Rows that are not computed keep what out has. */
    ASN_TRY(asn_tmp_view(tmp, out->dtype, out->ndim, out->shape, &packed));
    if (two[0] < rows) ASN_TRY(asn_move(&packed.nd, out));
    asn_view_plain(&result, out->dtype, 2, a.shape, packed.nd.data);
    asn_dtype t = p->loop;
    asn_prog_begin(&g, 2, a.shape, 0);
    int limit = asn_prog_const(&g, t, p->arg[4].f);
    int u = asn_prog_as(&g, asn_prog_in(&g, &a.nd), t);
    int v = asn_prog_as(&g, asn_prog_in(&g, &b.nd), t);
    u = asn_prog_op2(&g, ASN_OP_MINIMUM, u, limit);
    v = asn_prog_op2(&g, ASN_OP_MINIMUM, v, limit);
    v = asn_prog_op2(&g, ASN_OP_MAXIMUM, v, asn_prog_const(&g, t, -p->arg[4].f));
    v = asn_prog_op2(&g, ASN_OP_ADD, v, asn_prog_const(&g, t, p->arg[5].f));
    int s = asn_prog_op2(&g, ASN_OP_MULTIPLY, u, asn_prog_const(&g, t, p->arg[3].f));
    u = asn_prog_op2(&g, ASN_OP_MULTIPLY, u, asn_prog_op1(&g, ASN_OP_SIGMOID, s));
    asn_prog_out(&g, asn_prog_op2(&g, ASN_OP_MULTIPLY, u, v), &result.nd);
    if (two[0] > 0) ASN_TRY(asn_prog_run(&g));
    return asn_move(out, &packed.nd);
}

asn_status asn_planner_clipped_swiglu(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t half[ASN_ND_MAX_DIMS], rows = 1, columns = 1;
    int axis = 0;
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_norm_check(c, 0, x->ndim, x->shape));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), x->ndim, &axis));
    if (x->shape[axis] % 2 != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has %lld elements along dimension %d; it must be an "
                             "even number",
                             c->op->name, (long long)x->shape[axis], axis);
    memcpy(half, x->shape, (size_t)x->ndim * sizeof *half);
    half[axis] /= 2;
    ASN_TRY(asn_norm_check(c, 7, x->ndim, half));
    ASN_TRY(asn_call_same_dtype(c, 0, 7));
    ASN_TRY(asn_call_rank(c, 1, 1, 1));
    if (asn_call_nd(c, 1) != NULL) ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    if (!(asn_call_double(c, 4) >= 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: limit is %g; it must not be negative",
                             c->op->name, asn_call_double(c, 4));
    if (asn_call_operand(c, 7)->is_empty) return ASN_OK;
    for (int d = 0; d < x->ndim; d++)
        *(d < axis ? &rows : &columns) *= half[d];
    asnd_packed *p = asn_packed_plan(c, clipped_body, 300 + 3 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = rows;
    p->n[1] = columns;
    p->loop = asn_wide_dtype(x->dtype);
    return ASN_OK;
}
