/* CPU device, operators: running sums, products and extremes; positions of extremes.
 *
 * A scan converts into the output and runs there in place. Cummax and Cummin find
 * positions from values: where an element equals the running value, its position is a
 * candidate, and the running maximum of the candidates is the latest of them.
 *
 * The scans themselves go strictly left to right (cpu/loops/scan.h), along any axis by
 * strides. A tensor without dimensions is a line of one element.
 */
#include <string.h>

#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/index/index.h"
#include "device/cpu/fused/reduce.h"
#include "device/cpu/loops/scan.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* One plan for all; which fields count depends on the body. */
typedef struct {
    asnd_plan_head head;
    int self, out, indices, axis; /* operands, -1: absent; the axis */
    asn_op op;
    bool exclusive, reverse, keep, smallest;
} scan_plan;

/* A plan with self (parameter 0), out and the axis set; NULL with the error set. */
static scan_plan *plan_scan(asnd_call *c, asnd_body_fn body, int out, int axis) {
    double work = 100 + 1.5 * (double)asn_nd_size(asn_call_nd(c, 0));
    scan_plan *p = asn_call_plan(c, body, sizeof *p, work);
    if (p == NULL) return NULL;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->self = c->first[0];
    p->out = c->first[out];
    p->indices = -1;
    p->axis = axis;
    return p;
}

/* ---- Cumsum(self, dim, dtype, out), CumsumV2(self, dim, exclusive, reverse, out),
 * Cumprod(input, dim, dtype, out), InplaceCumprod(input, dim) */

/* out = the running op of self along the axis, in out's dtype. A reversed scan is one
 * over views with negative strides. Exclusive: element i is the sum of those before
 * it. */
static asn_status scan_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const scan_plan *p = plan;
    asnd_view in, out;
    asn_view_set(&in, asn_exec_nd(e, p->self));
    asn_view_set(&out, asn_exec_nd(e, p->out));
    asn_view_at_least_1d(&in);
    asn_view_at_least_1d(&out);
    if (p->reverse) {
        asn_view_flip(&in, p->axis);
        asn_view_flip(&out, p->axis);
    }
    if (p->exclusive) { /* out[0] = 0, the rest lags by one */
        int64_t n = out.shape[p->axis];
        _Alignas(16) uint8_t zero[16] = {0};
        asnd_view first;
        asn_view_set(&first, &out.nd);
        asn_view_slice(&first, p->axis, 0, 1, 1);
        asn_view_slice(&in, p->axis, 0, n - 1, 1);
        asn_view_slice(&out, p->axis, 1, n - 1, 1);
        if (n > 1) ASN_TRY(asn_move(&out.nd, &in.nd));
        ASN_TRY(asn_cpu_fill(&first.nd, zero));
        return n > 1 ? asn_cpu_scan(p->op, p->axis, &out.nd, &out.nd, NULL) : ASN_OK;
    }
    /* Without a conversion there is no copy: the scan reads self. */
    if (in.nd.dtype == out.nd.dtype)
        return asn_cpu_scan(p->op, p->axis, &in.nd, &out.nd, NULL);
    ASN_TRY(asn_move(&out.nd, &in.nd));
    return asn_cpu_scan(p->op, p->axis, &out.nd, &out.nd, NULL);
}

/* arg is the operation. dim is an integer or a scalar. `dtype` is taken
 * from the output. */
asn_status asn_planner_scan(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int axis = 0, out = asn_call_out(c);
    bool v2 = c->op->num_params == 5, scalar_dim = c->op->params[1].kind == ASN_SCALAR;
    int64_t dim = scalar_dim ? 0 : asn_call_int(c, 1);
    if (scalar_dim) ASN_TRY(asn_call_element(c, 1, ASN_I64, &dim));
    ASN_TRY(asn_call_axis(c, dim, self->ndim, &axis));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    ASN_TRY(asn_call_convertible(c, self->dtype, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    scan_plan *p = plan_scan(c, scan_body, out, axis);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->op = (asn_op)c->op->arg;
    p->exclusive = v2 && asn_call_int(c, 2);
    p->reverse = v2 && asn_call_int(c, 3);
    return ASN_OK;
}

/* ---- Cummax, Cummin (self, dim, valuesOut, indicesOut) */

/* indices = the position of the running value, the latest among equal ones, as in
 * torch.cummax. An element that equals the running value is a candidate, any other counts
 * as position 0. NaN is a candidate too: from the first one on it is the running
 * value. */
static asn_status extreme_positions(const scan_plan *p, const asnd_view *in,
                                    const asnd_view *values, const asnd_nd *indices,
                                    asnd_tmp *tmp) {
    asnd_view line, latest;
    int64_t n = in->shape[p->axis], zero = 0, one = 1;
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &line));
    ASN_TRY(asn_cpu_arange(&line.nd, &zero, &one));
    /* Positions vary along the axis alone. */
    while (line.nd.ndim < in->nd.ndim - p->axis)
        asn_view_insert(&line, line.nd.ndim, 1, 0);
    asn_view_broadcast(&line, in->nd.ndim, in->shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, in->nd.ndim, in->shape, &latest));
    asnd_prog prog;
    asn_prog_begin(&prog, in->nd.ndim, in->shape, 0);
    int x = asn_prog_in(&prog, &in->nd), y = asn_prog_in(&prog, &values->nd);
    int at = asn_prog_in(&prog, &line.nd), first = asn_prog_const(&prog, ASN_I64, 0);
    int equal = asn_prog_op2(&prog, ASN_OP_EQUAL, x, y);
    int nan = asn_prog_op1(&prog, ASN_OP_ISNAN, x);
    equal = asn_prog_op2(&prog, ASN_OP_LOGICAL_OR, equal, nan);
    asn_prog_out(&prog, asn_prog_op3(&prog, ASN_OP_WHERE, equal, at, first), &latest.nd);
    ASN_TRY(asn_prog_run(&prog));
    ASN_TRY(asn_cpu_scan(ASN_OP_MAXIMUM, p->axis, &latest.nd, &latest.nd, NULL));
    asnd_view to;
    asn_view_set(&to, indices);
    asn_view_at_least_1d(&to);
    return asn_move(&to.nd, &latest.nd);
}

/* First the values, then the positions by comparison with self. */
static asn_status cummax_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const scan_plan *p = plan;
    asnd_view in, values;
    asn_view_set(&in, asn_exec_nd(e, p->self));
    asn_view_set(&values, asn_exec_nd(e, p->out));
    asn_view_at_least_1d(&in);
    asn_view_at_least_1d(&values);
    ASN_TRY(asn_cpu_scan(p->op, p->axis, &in.nd, &values.nd, NULL));
    return extreme_positions(p, &in, &values, asn_exec_nd(e, p->indices), tmp);
}

/* arg is the operation, a maximum or a minimum. */
asn_status asn_planner_cummax(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int axis = 0;
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    for (int i = 2; i < 4; i++)
        ASN_TRY(asn_call_same_shape(c, i, self->ndim, self->shape));
    ASN_TRY(asn_call_same_dtype(c, 2, 0));
    ASN_TRY(asn_call_position_dtype(c, 3));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    scan_plan *p = plan_scan(c, cummax_body, 2, axis);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->op = (asn_op)c->op->arg;
    p->indices = c->first[3];
    return ASN_OK;
}

/* ---- ArgMax, ArgMin (self, dim, keepdim, out); MaxDim, MinDim (self, dim, keepdim, out,
 * indices) */

/* Positions of the first extreme along the axis, NaN before all. Values are gathered at
 * the positions found, so that both name the same element. */
static asn_status extreme_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const scan_plan *p = plan;
    const asnd_nd *indices = asn_exec_nd(e, p->indices);
    asnd_view in, found, kept;
    asn_view_set(&in, asn_exec_nd(e, p->self));
    asn_view_at_least_1d(&in);
    /* The output with the axis kept, of extent 1; `result` is the temporary without it,
     * as the kernel wants it. */
    asn_view_reduced(&kept, indices, UINT64_C(1) << p->axis, p->keep && indices->ndim,
                     in.nd.ndim);
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, kept.nd.ndim, kept.shape, &found));
    asnd_view result;
    asn_view_set(&result, &found.nd);
    asn_view_drop(&result, p->axis);
    ASN_TRY(p->smallest ? asn_cpu_argmin(&in.nd, p->axis, &result.nd)
                        : asn_cpu_argmax(&in.nd, p->axis, &result.nd));
    ASN_TRY(asn_move(&kept.nd, &found.nd));
    if (p->out < 0) return ASN_OK;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view values;
    asn_view_reduced(&values, out, UINT64_C(1) << p->axis, p->keep && out->ndim,
                     in.nd.ndim);
    return asn_cpu_gather(&in.nd, p->axis, &found.nd, &values.nd);
}

/* Five parameters: values and positions. arg 1: the smallest. No elements are an error,
 * unless there is no line at all. */
asn_status asn_planner_extreme(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool with_values = c->op->num_params == 5, keep = asn_call_int(c, 2) != 0;
    int axis = 0, indices = with_values ? 4 : 3;
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    uint64_t mask = self->ndim ? UINT64_C(1) << axis : 0;
    ASN_TRY(asn_check_reduced(c, 0, indices, mask, keep));
    ASN_TRY(asn_call_position_dtype(c, indices));
    if (with_values) ASN_TRY(asn_check_reduced(c, 0, 3, mask, keep));
    if (with_values) ASN_TRY(asn_call_same_dtype(c, 3, 0));
    if (asn_call_operand(c, indices)->is_empty) return ASN_OK;
    if (self->ndim > 0 && self->shape[axis] == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: dim %d has no elements", c->op->name,
                             axis);
    scan_plan *p = plan_scan(c, extreme_body, indices, axis);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->indices = c->first[indices];
    p->out = with_values ? c->first[3] : -1;
    p->keep = keep;
    p->smallest = c->op->arg == 1;
    return ASN_OK;
}
