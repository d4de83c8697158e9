/* CPU device, operators: how much boxes overlap.
 *
 * mode "iou" is the intersection over the union, "iof" over the ground truth's box alone;
 * eps is added to the divisor.
 *
 * Iou: boxes (x0, y0, x1, y1) of bBoxes (m, 4) and gtBoxes (n, 4), the area of their
 * intersection over that of their union, or (mode "iof") over that of gtBoxes' box. The
 * result is (m, n), or (m, 1) of pairs. One fused program over views of the corners.
 */
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

typedef struct {
    asnd_plan_head head;
    double eps;
    bool foreground, pairs;
} iou_plan;

/* Corner `k` of the boxes as a value of dtype t, in the result's shape: along its rows,
 * or (columns) along its columns. */
static int corner(asnd_prog *p, const asnd_nd *boxes, int k, bool columns, asn_dtype t,
                  asnd_view *v) {
    asn_view_set(v, boxes);
    v->nd.data += k * v->strides[1];
    asn_view_drop(v, 1);
    asn_view_insert(v, columns ? 0 : 1, 1, 0);
    asn_view_broadcast(v, 2, p->shape);
    return asn_prog_as(p, asn_prog_in(p, &v->nd), t);
}

/* The length that both intervals share along axis d, not below 0. */
static int shared(asnd_prog *p, const int *a, const int *b, int d, asn_dtype t) {
    int low = asn_prog_op2(p, ASN_OP_MAXIMUM, a[d], b[d]);
    int high = asn_prog_op2(p, ASN_OP_MINIMUM, a[2 + d], b[2 + d]);
    return asn_prog_op2(p, ASN_OP_MAXIMUM, asn_prog_op2(p, ASN_OP_SUBTRACT, high, low),
                        asn_prog_const(p, t, 0));
}

/* A box that ends before it starts has the area that the formula gives. */
static int area(asnd_prog *p, const int *a) {
    return asn_prog_op2(p, ASN_OP_MULTIPLY, asn_prog_op2(p, ASN_OP_SUBTRACT, a[2], a[0]),
                        asn_prog_op2(p, ASN_OP_SUBTRACT, a[3], a[1]));
}

/* Eight corners as inputs, the quotient as output. */
static asn_status iou_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const iou_plan *q = plan;
    const asnd_nd *first = asn_exec_nd(e, 0), *out = asn_exec_nd(e, 2);
    asn_dtype t = asn_wide_dtype(first->dtype);
    asnd_view views[8];
    int a[4], b[4];
    asnd_prog p;
    asn_prog_begin(&p, 2, out->shape, 0);
    for (int k = 0; k < 4; k++) {
        a[k] = corner(&p, first, k, false, t, &views[k]);
        b[k] = corner(&p, asn_exec_nd(e, 1), k, !q->pairs, t, &views[4 + k]);
    }
    int both =
        asn_prog_op2(&p, ASN_OP_MULTIPLY, shared(&p, a, b, 0, t), shared(&p, a, b, 1, t));
    int whole = area(&p, b);
    if (!q->foreground)
        whole = asn_prog_op2(&p, ASN_OP_SUBTRACT,
                             asn_prog_op2(&p, ASN_OP_ADD, area(&p, a), whole), both);
    whole = asn_prog_op2(&p, ASN_OP_ADD, whole, asn_prog_const(&p, t, q->eps));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_DIVIDE, both, whole), out);
    return asn_prog_run(&p);
}

/* Iou(bBoxes, gtBoxes, mode, eps, aligned, overlap) */
asn_status asn_planner_iou(asnd_call *c) {
    const asnd_nd *a = asn_call_nd(c, 0), *b = asn_call_nd(c, 1);
    const char *mode = c->args[2].p;
    bool pairs = asn_call_int(c, 4) != 0;
    for (int i = 0; i < 2; i++) {
        const asnd_nd *boxes = asn_call_nd(c, i);
        ASN_TRY(asn_call_floating(c, i));
        ASN_TRY(asn_call_rank(c, i, 2, 2));
        ASN_TRY(asn_call_same_shape(c, i, 2, (int64_t[]){boxes->shape[0], 4}));
    }
    ASN_TRY(asn_call_same_dtype(c, 0, 1));
    ASN_TRY(asn_call_same_dtype(c, 0, 5));
    if (strcmp(mode, "iou") != 0 && strcmp(mode, "iof") != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: mode is \"%s\"; it must be iou or iof",
                             c->op->name, mode);
    /* Pairs: box k with box k; else every box with every other. */
    if (pairs) ASN_TRY(asn_call_same_shape(c, 1, 2, a->shape));
    ASN_TRY(
        asn_call_same_shape(c, 5, 2, (int64_t[]){a->shape[0], pairs ? 1 : b->shape[0]}));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    iou_plan *p = asn_call_plan(c, iou_body, sizeof *p,
                                300 + 2 * (double)asn_nd_size(asn_call_nd(c, 5)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->eps = asn_call_double(c, 3);
    p->foreground = strcmp(mode, "iof") == 0;
    p->pairs = pairs;
    return ASN_OK;
}
