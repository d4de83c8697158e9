/* CPU device, operators: the passes of normalisations (see norm.h).
 *
 * Forward: the mean, then the squared deviations from it (sums of squares would cancel),
 * then one pass that writes. Backward, with h = (x - mean) * rstd and d = dy * weight: dx
 * = rstd * (d - mean(d) - h * mean(d * h)), dw = sum(dy * h), db = sum(dy). Without a
 * mean (RMS) the variance is the mean square, and mean(d) drops out. Where Swish stands
 * behind, dy is first multiplied by its derivative.
 *
 * Each pass is a fused program over the input's space, in which statistics and parameters
 * broadcast by strides of 0; so layouts, halves and threads are the engine's business. h
 * is computed again in each pass that needs it rather than stored.
 */
#include "device/opapi/nn/norm.h"

#include <string.h>

/* An empty mask counts one element. */
void asn_norm_begin(asnd_norm *n, const asnd_nd *x, uint64_t mask) {
    n->x = x;
    n->t = x->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    n->mask = mask;
    n->count = 1;
    for (int d = 0; d < x->ndim; d++)
        if (mask >> d & 1) n->count *= (double)x->shape[d];
    /* What is normalised is alpha x + plus[0] + plus[1]: x itself until a caller says
     * more (DeepNorm's residual, for one). */
    n->alpha = 1;
    n->plus[0] = n->plus[1] = NULL;
}

asn_status asn_norm_kept(asnd_tmp *tmp, const asnd_norm *n, uint64_t mask,
                         asnd_view *out) {
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int d = 0; d < n->x->ndim; d++)
        shape[d] = mask >> d & 1 ? 1 : n->x->shape[d];
    /* Memory for what is left of x's shape, and strides of 0 along what was summed:
     * passes over x read it as if it had x's shape. */
    ASN_TRY(asn_tmp_view(tmp, n->t, n->x->ndim, shape, out));
    for (int d = 0; d < n->x->ndim; d++)
        if (mask >> d & 1) out->strides[d] = 0;
    return ASN_OK;
}

void asn_norm_spread(asnd_view *v, const asnd_nd *a, const asnd_norm *n, uint64_t mask) {
    asn_view_set(v, a);
    for (int d = 0; d < n->x->ndim; d++)
        if (mask >> d & 1) asn_view_insert(v, d, 1, 0);
}

/* A view of x's space as a value of the arithmetic's dtype. */
static int value(asnd_prog *p, const asnd_norm *n, const asnd_nd *a) {
    return asn_prog_as(p, asn_prog_in(p, a), n->t);
}

/* What is normalised. */
static int source(asnd_prog *p, const asnd_norm *n) {
    int x = value(p, n, n->x);
    if (n->alpha != 1)
        x = asn_prog_op2(p, ASN_OP_MULTIPLY, x, asn_prog_const(p, n->t, n->alpha));
    for (int k = 0; k < 2; k++)
        if (n->plus[k]) x = asn_prog_op2(p, ASN_OP_ADD, x, value(p, n, n->plus[k]));
    return x;
}

/* In place: sums to means. */
static asn_status divide(const asnd_norm *n, const asnd_view *v) {
    asnd_prog p;
    asn_prog_begin(&p, v->nd.ndim, v->shape, 0);
    int x = asn_prog_in(&p, &v->nd), count = asn_prog_const(&p, n->t, n->count);
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_DIVIDE, x, count), &v->nd);
    return asn_prog_run(&p);
}

asn_status asn_norm_statistics(const asnd_norm *n, const asnd_view *mean,
                               const asnd_view *variance) {
    asnd_prog p;
    /* The mean must be whole before deviations from it are taken. */
    asn_prog_begin(&p, n->x->ndim, n->x->shape, n->mask);
    asn_prog_reduce(&p, ASN_OP_ADD, source(&p, n), &mean->nd);
    ASN_TRY(asn_prog_run(&p));
    ASN_TRY(divide(n, mean));
    asn_prog_begin(&p, n->x->ndim, n->x->shape, n->mask);
    int x = source(&p, n);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, asn_prog_in(&p, &mean->nd));
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op2(&p, ASN_OP_MULTIPLY, x, x),
                    &variance->nd);
    ASN_TRY(asn_prog_run(&p));
    return divide(n, variance);
}

asn_status asn_norm_mean_square(const asnd_norm *n, const asnd_view *square) {
    asnd_prog p;
    asn_prog_begin(&p, n->x->ndim, n->x->shape, n->mask);
    int x = source(&p, n);
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op2(&p, ASN_OP_MULTIPLY, x, x), &square->nd);
    ASN_TRY(asn_prog_run(&p));
    return divide(n, square);
}

asn_status asn_norm_rstd(const asnd_norm *n, const asnd_view *to,
                         const asnd_view *variance, double eps) {
    asnd_prog p;
    asn_prog_begin(&p, to->nd.ndim, to->shape, 0);
    int x = value(&p, n, &variance->nd);
    x = asn_prog_op2(&p, ASN_OP_ADD, x, asn_prog_const(&p, n->t, eps));
    asn_prog_out(&p, asn_prog_op1(&p, ASN_OP_RSQRT, x), &to->nd);
    return asn_prog_run(&p);
}

/* h = (x - mean) * rstd, as a value of the program. */
static int normalised(asnd_prog *p, const asnd_norm *n, const asnd_norm_params *q) {
    int x = source(p, n);
    if (q->mean) x = asn_prog_op2(p, ASN_OP_SUBTRACT, x, value(p, n, q->mean));
    return asn_prog_op2(p, ASN_OP_MULTIPLY, x, value(p, n, q->rstd));
}

/* The weight, or one more than it (Gemma). */
static int weight_of(asnd_prog *p, const asnd_norm *n, const asnd_norm_params *q) {
    int w = value(p, n, q->weight);
    return q->one_more ? asn_prog_op2(p, ASN_OP_ADD, w, asn_prog_const(p, n->t, 1)) : w;
}

/* z = h * weight + bias. */
static int affine(asnd_prog *p, const asnd_norm *n, const asnd_norm_params *q) {
    int z = normalised(p, n, q);
    if (q->weight) z = asn_prog_op2(p, ASN_OP_MULTIPLY, z, weight_of(p, n, q));
    return q->bias ? asn_prog_op2(p, ASN_OP_ADD, z, value(p, n, q->bias)) : z;
}

/* scale * z. */
static int scaled(asnd_prog *p, const asnd_norm *n, double scale, int z) {
    if (scale == 1) return z;
    return asn_prog_op2(p, ASN_OP_MULTIPLY, z, asn_prog_const(p, n->t, scale));
}

asn_status asn_norm_apply(const asnd_norm *n, const asnd_norm_params *q,
                          const asnd_nd *out) {
    asnd_prog p;
    asn_prog_begin(&p, n->x->ndim, n->x->shape, 0);
    int x = affine(&p, n, q);
    if (q->swish) {
        int s = asn_prog_op1(&p, ASN_OP_SIGMOID, scaled(&p, n, *q->swish, x));
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, s);
    }
    asn_prog_out(&p, x, out);
    if (q->again) asn_prog_out(&p, asn_prog_as(&p, x, out->dtype), q->again);
    if (q->sum) asn_prog_out(&p, source(&p, n), q->sum);
    return asn_prog_run(&p);
}

/* The gradient of z. Swish's derivative is s * (1 + scale * z * (1 - s)). */
static int upstream(asnd_prog *p, const asnd_norm *n, const asnd_norm_params *q,
                    const asnd_nd *dy) {
    int d = value(p, n, dy);
    if (q->swish == NULL) return d;
    int one = asn_prog_const(p, n->t, 1);
    int z = scaled(p, n, *q->swish, affine(p, n, q));
    int s = asn_prog_op1(p, ASN_OP_SIGMOID, z);
    z = asn_prog_op2(p, ASN_OP_MULTIPLY, z, asn_prog_op2(p, ASN_OP_SUBTRACT, one, s));
    z = asn_prog_op2(p, ASN_OP_MULTIPLY, s, asn_prog_op2(p, ASN_OP_ADD, one, z));
    return asn_prog_op2(p, ASN_OP_MULTIPLY, d, z);
}

/* d = dz * weight, as a value of the program. */
static int weighted(asnd_prog *p, const asnd_norm *n, const asnd_norm_params *q,
                    const asnd_nd *dy) {
    int d = upstream(p, n, q, dy);
    return q->weight ? asn_prog_op2(p, ASN_OP_MULTIPLY, d, weight_of(p, n, q)) : d;
}

/* Writes g->dx and g->dplus. Frozen statistics do not depend on x: dx = d * rstd alone.
 */
static asn_status input_gradient(const asnd_norm *n, const asnd_norm_params *q,
                                 const asnd_norm_grads *g, asnd_tmp *tmp) {
    asnd_view d_mean, dh_mean;
    asnd_prog p;
    if (!g->frozen) {
        /* mean(d) and mean(d * h), both in one pass. */
        ASN_TRY(asn_norm_kept(tmp, n, n->mask, &d_mean));
        ASN_TRY(asn_norm_kept(tmp, n, n->mask, &dh_mean));
        asn_prog_begin(&p, n->x->ndim, n->x->shape, n->mask);
        int h = normalised(&p, n, q), d = weighted(&p, n, q, g->dy);
        if (q->mean) asn_prog_reduce(&p, ASN_OP_ADD, d, &d_mean.nd);
        asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op2(&p, ASN_OP_MULTIPLY, d, h),
                        &dh_mean.nd);
        ASN_TRY(asn_prog_run(&p));
        if (q->mean) ASN_TRY(divide(n, &d_mean));
        ASN_TRY(divide(n, &dh_mean));
    }
    asn_prog_begin(&p, n->x->ndim, n->x->shape, 0);
    int d = weighted(&p, n, q, g->dy);
    if (!g->frozen) {
        int h = normalised(&p, n, q);
        h = asn_prog_op2(&p, ASN_OP_MULTIPLY, h, asn_prog_in(&p, &dh_mean.nd));
        if (q->mean)
            d = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, asn_prog_in(&p, &d_mean.nd));
        d = asn_prog_op2(&p, ASN_OP_SUBTRACT, d, h);
    }
    d = asn_prog_op2(&p, ASN_OP_MULTIPLY, d, value(&p, n, q->rstd));
    if (g->more) d = asn_prog_op2(&p, ASN_OP_ADD, d, value(&p, n, g->more));
    if (g->dplus) asn_prog_out(&p, d, g->dplus);
    asn_prog_out(&p, scaled(&p, n, n->alpha, d), g->dx);
    return asn_prog_run(&p);
}

/* dw and db are made in temporaries of the arithmetic's dtype, and moved to their
 * outputs, converted, when no input is read any more. */
asn_status asn_norm_backward(const asnd_norm *n, const asnd_norm_params *q,
                             const asnd_norm_grads *g, asnd_tmp *tmp) {
    asnd_view dw, db;
    if (g->dw || g->db) {
        asnd_prog p;
        ASN_TRY(asn_norm_kept(tmp, n, g->param_mask, &dw));
        ASN_TRY(asn_norm_kept(tmp, n, g->param_mask, &db));
        asn_prog_begin(&p, n->x->ndim, n->x->shape, g->param_mask);
        int dy = upstream(&p, n, q, g->dy);
        if (g->db) asn_prog_reduce(&p, ASN_OP_ADD, dy, &db.nd);
        if (g->dw)
            asn_prog_reduce(&p, ASN_OP_ADD,
                            asn_prog_op2(&p, ASN_OP_MULTIPLY, dy, normalised(&p, n, q)),
                            &dw.nd);
        ASN_TRY(asn_prog_run(&p));
    }
    /* param_mask: what weight and bias broadcast over, which is not what the statistics
     * are taken over (layer norm: rows are the one, columns the other). */
    /* dx last: it may be dy. */
    if (g->dx) ASN_TRY(input_gradient(n, q, g, tmp));
    if (g->dw) ASN_TRY(asn_move(&g->dw->nd, &dw.nd));
    return g->db ? asn_move(&g->db->nd, &db.nd) : ASN_OK;
}

/* An absent parameter fits. */
asn_status asn_norm_check(const asnd_call *c, int i, int ndim, const int64_t *shape) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL) return ASN_OK;
    ASN_TRY(asn_call_floating(c, i));
    return asn_call_same_shape(c, i, ndim, shape);
}

asn_status asn_norm_output_mask(const asnd_call *c, int i, int size, bool *wanted) {
    const asnd_array *mask = asn_call_array(c, i);
    if (mask->size != (uint64_t)size)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %llu elements; it must have %d",
                             c->op->name, c->op->params[i].name,
                             (unsigned long long)mask->size, size);
    for (int k = 0; k < size; k++) {
        wanted[k] = ((const bool *)mask->data)[k];
        /* The outputs follow the mask. */
        if (wanted[k] && c->first[i + 1 + k] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but %s wants it",
                                 c->op->name, c->op->params[i + 1 + k].name,
                                 c->op->params[i].name);
    }
    return ASN_OK;
}
