/* CPU device, operators: MaskedCausalConv1d, a short convolution of each channel over a
 * sequence that looks back only, and its gradient.
 *
 *     y[s, b, h] = mask[b, s] * sum over w of weight[w, h] * x[s - (W - 1) + w, b, h]
 *
 * x is (S, B, H), what lies before the sequence 0. In float32, rounded once; the sums of
 * the weight's gradient are float64.
 */
#include <string.h>

#include "device/opapi/core/packed.h"

/* Operands: -1: absent. The forward has no grads. */
typedef struct {
    asnd_plan_head head;
    int grad, x, weight, mask, out, out_weight;
    int64_t s, b, h, w;
} conv_plan;

/* Whether the mask lets output (s, b) through: it is (B, S). */
static bool kept(const conv_plan *p, const bool *mask, int64_t s, int64_t b) {
    return mask == NULL || mask[b * p->s + s];
}

/* Channels lie together: the innermost loops run over them. */
static asn_status conv_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const conv_plan *p = plan;
    const float *x, *weight;
    const bool *mask = NULL;
    const asnd_nd *to = asn_exec_nd(e, p->out);
    asnd_view out;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->x), ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weight), ASN_F32, tmp, &weight));
    if (p->mask >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->mask), ASN_BOOL, tmp, &mask));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, to->shape, &out));
    float *y = (float *)(void *)out.nd.data;
    int64_t row = p->b * p->h;
    for (int64_t s = 0; s < p->s; s++)
        for (int64_t b = 0; b < p->b; b++, y += p->h) {
            memset(y, 0, (size_t)p->h * sizeof *y);
            for (int64_t w = 0; w < p->w && kept(p, mask, s, b); w++) {
                int64_t from = s - (p->w - 1) + w;
                if (from < 0) continue;
                const float *v = x + from * row + b * p->h, *by = weight + w * p->h;
                for (int64_t h = 0; h < p->h; h++)
                    y[h] += by[h] * v[h];
            }
        }
    return asn_move(to, &out.nd);
}

/* Every gradient that is not masked goes to the W values that it came from, times their
 * weights, and to the weights, times the values. */
static asn_status conv_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const conv_plan *p = plan;
    const float *g, *x, *weight;
    const bool *mask = NULL;
    asnd_view out, sums;
    int64_t row = p->b * p->h;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->grad), ASN_F32, tmp, &g));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->x), ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weight), ASN_F32, tmp, &weight));
    if (p->mask >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->mask), ASN_BOOL, tmp, &mask));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, asn_exec_nd(e, p->x)->shape, &out));
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, 2, (int64_t[]){p->w, p->h}, &sums));
    float *gx = (float *)(void *)out.nd.data;
    double *gw = (double *)(void *)sums.nd.data;
    memset(gx, 0, (size_t)(p->s * row) * sizeof *gx);
    memset(gw, 0, (size_t)(p->w * p->h) * sizeof *gw);
    for (int64_t s = 0; s < p->s; s++)
        for (int64_t b = 0; b < p->b; b++, g += p->h)
            for (int64_t w = 0; w < p->w && kept(p, mask, s, b); w++) {
                int64_t from = s - (p->w - 1) + w, at = from * row + b * p->h;
                for (int64_t h = 0; from >= 0 && h < p->h; h++) {
                    gx[at + h] += weight[w * p->h + h] * g[h];
                    gw[w * p->h + h] += (double)x[at + h] * g[h];
                }
            }
    ASN_TRY(asn_move(asn_exec_nd(e, p->out_weight), &sums.nd));
    return asn_move(asn_exec_nd(e, p->out), &out.nd);
}

/* MaskedCausalConv1d(x, weight, mask, y); arg 1: the gradient (gradY, x, weight, mask,
 * gradX, gradWeight). */
asn_status asn_planner_causal_conv(asnd_call *c) {
    bool back = c->op->arg == 1;
    int at = back ? 1 : 0, mask = at + 2;
    const asnd_nd *x = asn_call_nd(c, at), *w = asn_call_nd(c, at + 1);
    for (int i = 0; i < c->op->num_params; i++) {
        if (i == mask) continue;
        ASN_TRY(asn_call_single(c, i));
        ASN_TRY(asn_call_same_dtype(c, i, 0));
        if (i == at + 1 || i == 5) continue;
        ASN_TRY(asn_call_rank(c, i, 3, 3));
        ASN_TRY(asn_call_same_shape(c, i, 3, x->shape));
    }
    ASN_TRY(asn_call_rank(c, at + 1, 2, 2));
    ASN_TRY(asn_call_same_shape(c, at + 1, 2, (int64_t[]){w->shape[0], x->shape[2]}));
    if (back) ASN_TRY(asn_call_same_shape(c, 5, 2, w->shape));
    if (c->first[mask] >= 0) {
        ASN_TRY(asn_call_one_of(c, mask, ASN_BIT(ASN_BOOL)));
        ASN_TRY(asn_call_same_shape(c, mask, 2, (int64_t[]){x->shape[1], x->shape[0]}));
    }
    conv_plan p = {.grad = c->first[0],
                   .x = c->first[at],
                   .weight = c->first[at + 1],
                   .mask = c->first[mask],
                   .out = c->first[mask + 1],
                   .out_weight = back ? c->first[5] : -1,
                   .s = x->shape[0],
                   .b = x->shape[1],
                   .h = x->shape[2],
                   .w = w->shape[0]};
    /* Of no window the gradient of x is still set, and of no x that of the weight. */
    if (asn_nd_size(x) == 0 && (!back || asn_nd_size(w) == 0)) return ASN_OK;
    return asn_call_keep(c, back ? conv_grad_body : conv_body, &p, sizeof p,
                         300 + (double)(asn_nd_size(x) * p.w));
}
