/* CPU device, operators: padding by reflection, replication, wrapping around, and its
 * gradients.
 *
 * padding is (before, after) of the last dimension, then of the one before it, and so on;
 * a negative number cuts, as in PyTorch. Gradients of halves are summed in float32.
 *
 * Each dimension has a table of the source of every place, made in phase 1 in the
 * executor's memory; the kernels (cpu/nn/pads.h) know nothing of the kinds. The gradient
 * goes through the same tables the other way and adds.
 */
#include <string.h>

#include "device/cpu/nn/pads.h"
#include "device/opapi/nn/image.h"
#include "device/opapi/core/plan.h"

enum { PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* from: self, or the gradient that goes `back` to it. */
typedef struct {
    asnd_plan_head head;
    asnd_pads p;
    int from, to; /* operands */
    bool back;
} pad_plan;

/* Forwards elements are moved as bytes, in any dtype; gradients are added up. */
static asn_status pad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const pad_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->from), *to = asn_exec_nd(e, p->to);
    asn_dtype t = from->dtype;
    if (p->back && !asn_is_complex(t)) t = asn_image_dtype(t);
    asnd_view x, y;
    ASN_TRY(asn_image_plain(tmp, from, t, &x));
    ASN_TRY(asn_image_result(e, tmp, to, t, &y));
    if (p->back) {
        asn_pads_add(&p->p, asn_real_dtype(t), asn_is_complex(t) ? 2 : 1, x.nd.data,
                     y.nd.data);
    } else {
        asn_pads_take(&p->p, asn_itemsize(t), x.nd.data, y.nd.data);
    }
    return asn_image_finish(to, &y);
}

/* ---- tables */

/* What is left of n elements when negative padding has cut them. */
static int64_t cut(int64_t n, const int64_t *pad) {
    return n + (pad[0] < 0 ? pad[0] : 0) + (pad[1] < 0 ? pad[1] : 0);
}

/* The element, in [0, n), that place i comes from; places before the array are negative.
 * What wraps around is the array after the cut, as in PyTorch. */
static int64_t source(int kind, int64_t i, int64_t n, const int64_t *pad) {
    switch (kind) {
    case PAD_REFLECT: return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
    case PAD_REPLICATE: return i < 0 ? 0 : i < n ? i : n - 1;
    default: {
        int64_t left = cut(n, pad), start = pad[0] < 0 ? -pad[0] : 0;
        return start + ((i - start) % left + left) % left;
    }
    }
}

/* How far one side may be padded: a reflection does not repeat the edge. */
static int64_t limit(int kind, int64_t n) {
    return kind == PAD_REFLECT ? n - 1 : kind == PAD_CIRCULAR ? n : INT32_MAX;
}

/* The table of one dimension of n elements, padded by pad[0] before and pad[1] behind:
 * *from gets *extent numbers, in the executor's memory. */
static asn_status table(const asnd_call *c, int kind, int64_t n, const int64_t *pad,
                        int64_t *extent, const int64_t **from) {
    /* What wraps around is limited by what the cut leaves. */
    int64_t most = limit(kind, kind == PAD_CIRCULAR ? cut(n, pad) : n);
    for (int side = 0; side < 2; side++)
        if (pad[side] > most || pad[side] < -INT32_MAX)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: padding is %lld; an extent of %lld allows at most "
                                 "%lld",
                                 c->op->name, (long long)pad[side], (long long)n,
                                 (long long)most);
    *extent = n + pad[0] + pad[1];
    if (*extent < 1 || n < 1 || (kind == PAD_CIRCULAR && cut(n, pad) < 1))
        return asn_error_set(
            ASN_ERR_VALUE, "%s: an extent of %lld padded by %lld and %lld is empty",
            c->op->name, (long long)n, (long long)pad[0], (long long)pad[1]);
    int64_t *values = asnop_executor_alloc(c->e, (size_t)*extent * sizeof *values);
    if (values == NULL) return asn_call_no_memory();
    for (int64_t o = 0; o < *extent; o++)
        values[o] = source(kind, o - pad[0], n, pad);
    *from = values;
    return ASN_OK;
}

/* Plans both directions. self, pads, from, to: parameters; self is the one of the
 * unpadded shape. arg: the kind, and the spatial dimensions times 8. */
static asn_status plan_pads(asnd_call *c, int self, int pads, int from, int to,
                            bool back) {
    int kind = c->op->arg & 7, spatial = c->op->arg >> 3, n;
    const asnd_nd *x = asn_call_nd(c, self);
    const asnd_array *a = asn_call_array(c, pads);
    int64_t shape[ASN_ND_MAX_DIMS];
    static const int64_t none[2] = {0, 0};
    ASN_TRY(asn_image_rank(c, self, spatial));
    if (a->size != 2 * (uint64_t)spatial)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: padding has %llu values; it must have %d", c->op->name,
                             (unsigned long long)a->size, 2 * spatial);
    /* Checked and filled here, copied when everything fits. */
    pad_plan q;
    memset(&q, 0, sizeof q);
    n = x->ndim;
    memcpy(shape, x->shape, (size_t)n * sizeof *shape);
    q.p.planes = 1;
    for (int d = 0; d < n - spatial; d++)
        q.p.planes *= shape[d];
    /* Missing dimensions have extent 1 and no padding; pairs come last dimension
     * first. */
    for (int d = 0; d < 3; d++) {
        bool real = d >= 3 - spatial;
        const int64_t *pad = real ? (int64_t *)a->data + 2 * (2 - d) : none;
        q.p.in[d] = real ? shape[n - 3 + d] : 1;
        ASN_TRY(table(c, kind, q.p.in[d], pad, &q.p.out[d], &q.p.from[d]));
        if (real) shape[n - 3 + d] = q.p.out[d];
    }
    ASN_TRY(asn_call_same_shape(c, back ? from : to, n, shape));
    if (back) ASN_TRY(asn_call_same_shape(c, to, n, x->shape));
    ASN_TRY(asn_call_convertible(c, asn_call_nd(c, from)->dtype, to));
    if (asn_call_operand(c, to)->is_empty) return ASN_OK;
    pad_plan *p = asn_call_plan(c, pad_body, sizeof *p,
                                300 + (double)q.p.planes *
                                          (double)(q.p.out[0] * q.p.out[1] * q.p.out[2]));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->p = q.p;
    p->from = c->first[from];
    p->to = c->first[to];
    p->back = back;
    return ASN_OK;
}

/* (self, padding, out) */
asn_status asn_planner_pad_image(asnd_call *c) {
    ASN_TRY(asn_call_same_dtype(c, 0, 2));
    return plan_pads(c, 0, 1, 0, 2, false);
}

/* (gradOutput, self, padding, gradInput) */
asn_status asn_planner_pad_image_backward(asnd_call *c) {
    asn_dtype t = asn_call_nd(c, 0)->dtype;
    if (!asn_is_inexact(t))
        return asn_error_set(
            ASN_ERR_TYPE, "%s: gradOutput has dtype %s; it must be floating or complex",
            c->op->name, asn_dtype_name(t));
    ASN_TRY(asn_call_same_dtype(c, 0, 3));
    return plan_pads(c, 1, 2, 0, 3, true);
}
