/* CPU device, operators: the gradients of Softmax and LogSoftmax, from their outputs y: y
 * * (dy - sum(dy * y)) and dy - exp(y) * sum(dy), sums along the dimension.
 *
 * Two fused passes: the sum, kept as a broadcast view, then the result. The operators
 * themselves are in array/misc.c.
 */
#include "device/opapi/nn/norm.h"

/* Operands, the dimension, and whether it is LogSoftmax. */
typedef struct {
    asnd_plan_head head;
    int dy, y, out, axis;
    bool log;
} softmax_plan;

/* A tensor without dimensions is a line of one. float64 if either input is, else
 * float32. */
static asn_status backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const softmax_plan *s = plan;
    asnd_view dy, y, out, sum;
    asn_view_set(&dy, asn_exec_nd(e, s->dy));
    asn_view_set(&y, asn_exec_nd(e, s->y));
    asn_view_set(&out, asn_exec_nd(e, s->out));
    asn_view_at_least_1d(&dy);
    asn_view_at_least_1d(&y);
    asn_view_at_least_1d(&out);
    asnd_norm n;
    asn_norm_begin(&n, &y.nd, UINT64_C(1) << s->axis);
    if (dy.nd.dtype == ASN_F64) n.t = ASN_F64;
    ASN_TRY(asn_norm_kept(tmp, &n, n.mask, &sum));
    asnd_prog p;
    asn_prog_begin(&p, y.nd.ndim, y.shape, n.mask);
    int d = asn_prog_as(&p, asn_prog_in(&p, &dy.nd), n.t), x = 0;
    if (!s->log) {
        x = asn_prog_as(&p, asn_prog_in(&p, &y.nd), n.t);
        d = asn_prog_op2(&p, ASN_OP_MULTIPLY, d, x);
    }
    asn_prog_reduce(&p, ASN_OP_ADD, d, &sum.nd);
    ASN_TRY(asn_prog_run(&p));
    /* The sum broadcasts along the axis by its stride of 0. */
    asn_prog_begin(&p, y.nd.ndim, y.shape, 0);
    d = asn_prog_as(&p, asn_prog_in(&p, &dy.nd), n.t);
    x = asn_prog_as(&p, asn_prog_in(&p, &y.nd), n.t);
    int total = asn_prog_in(&p, &sum.nd);
    if (s->log) {
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, asn_prog_op1(&p, ASN_OP_EXP, x), total);
        x = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, x);
    } else {
        d = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, total);
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, d);
    }
    asn_prog_out(&p, x, &out.nd);
    return asn_prog_run(&p);
}

/* SoftmaxBackward, LogSoftmaxBackward (gradOutput, output, dim, out) */
asn_status asn_planner_softmax_backward(asnd_call *c) {
    const asnd_nd *y = asn_call_nd(c, 1);
    int axis = 0;
    for (int i = 0; i < 4; i += i == 1 ? 2 : 1)
        ASN_TRY(asn_norm_check(c, i, y->ndim, y->shape));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), y->ndim, &axis));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    softmax_plan *p =
        asn_call_plan(c, backward_body, sizeof *p, 200 + 2 * (double)asn_nd_size(y));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->dy = c->first[0];
    p->y = c->first[1];
    p->out = c->first[3];
    p->axis = axis;
    p->log = c->op->arg == 1;
    return ASN_OK;
}
