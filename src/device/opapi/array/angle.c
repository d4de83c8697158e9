/* CPU device, operators: AngleV2(x, out), torch.angle: of a complex number its argument,
 * of a real one pi where it is negative, 0 where it is not, NaN where it is none.
 * Integers give float32, halves are computed in it.
 */
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* The real or the imaginary parts of a complex tensor, as a view of them. */
static void part(asnd_view *v, const asnd_nd *a, bool imaginary) {
    asn_view_set(v, a);
    v->nd.dtype = a->dtype == ASN_C128 ? ASN_F64 : ASN_F32;
    if (imaginary) v->nd.data += asn_itemsize(v->nd.dtype);
}

static asn_status angle_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[1]);
    asnd_view real, imaginary;
    asnd_prog g;
    int y;
    (void)tmp;
    asn_prog_begin(&g, x->ndim, x->shape, 0);
    if (asn_is_complex(x->dtype)) {
        part(&real, x, false);
        part(&imaginary, x, true);
        int re = asn_prog_in(&g, &real.nd), im = asn_prog_in(&g, &imaginary.nd);
        y = asn_prog_op2(&g, ASN_OP_ARCTAN2, im, re);
    } else {
        int v = asn_prog_as(&g, asn_prog_in(&g, x), p->loop);
        int zero = asn_prog_const(&g, p->loop, 0);
        int pi = asn_prog_const(&g, p->loop, 3.141592653589793);
        int negative = asn_prog_op2(&g, ASN_OP_LESS, v, zero);
        y = asn_prog_op3(&g, ASN_OP_WHERE, negative, pi, zero);
        y = asn_prog_op3(&g, ASN_OP_WHERE, asn_prog_op1(&g, ASN_OP_ISNAN, v), v, y);
    }
    asn_prog_out(&g, y, out);
    return asn_prog_run(&g);
}

asn_status asn_planner_angle(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    ASN_TRY(asn_call_same_shape(c, 1, x->ndim, x->shape));
    ASN_TRY(asn_call_floating(c, 1));
    if (asn_call_operand(c, 1)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, angle_body, 200 + 2 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = asn_wide_dtype(x->dtype);
    return ASN_OK;
}
