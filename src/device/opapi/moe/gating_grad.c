/* CPU device, operators: MoeGatingTopKBackward, the gradient of MoeGatingTopK's scores.
 *
 * Forward, s = sigmoid(x), y[k] = c s[e_k] / (S + eps) with S the sum of the s of a
 * token's experts and c routedScalingFactor. So for these experts
 *
 *     gradX[e_k] = c (g[k] - sum over j of g[j] s[e_j] / (S + eps)) / (S + eps)
 *                  * s[e_k] (1 - s[e_k])
 *
 * and 0 for the others; the choice has no gradient. xNorm is s.
 */
#include <string.h>

#include "device/opapi/core/packed.h"

/* n: rows, experts, k. */
static asn_status gate_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const double *s, *g;
    const int64_t *at;
    asnd_view out;
    int64_t rows = p->n[0], n = p->n[1], k = p->n[2];
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[0]), ASN_F64, tmp, &s));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_F64, tmp, &g));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[2]), ASN_I64, tmp, &at));
    ASN_TRY(asn_packed_out(e, p, 7, ASN_F64, tmp, &out));
    double *to = (double *)(void *)out.nd.data;
    memset(to, 0, (size_t)(rows * n) * sizeof *to);
    for (int64_t i = 0; i < rows; i++, s += n, g += k, at += k, to += n) {
        double sum = p->arg[6].f, dot = 0;
        for (int64_t j = 0; j < k; j++) {
            if (at[j] < 0 || at[j] >= n)
                return asn_error_set(ASN_ERR_INDEX,
                                     "%s: expertIdx has %lld; there are %lld experts",
                                     e->name, (long long)at[j], (long long)n);
            sum += s[at[j]];
            dot += g[j] * s[at[j]];
        }
        for (int64_t j = 0; j < k; j++)
            to[at[j]] +=
                p->arg[5].f * (g[j] - dot / sum) / sum * s[at[j]] * (1 - s[at[j]]);
    }
    return asn_packed_done(e, p, 7, &out);
}

/* (xNorm, gradY, expertIdx, renorm, normType, routedScalingFactor, eps, gradX); CANN has
 * it for the sigmoid (normType 1) alone. */
asn_status asn_planner_moe_gate_grad(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *g = asn_call_nd(c, 1);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 1));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){x->shape[0], g->shape[1]}));
    ASN_TRY(asn_call_position_dtype(c, 2));
    ASN_TRY(asn_call_same_shape(c, 2, 2, g->shape));
    ASN_TRY(asn_call_same_dtype(c, 7, 1));
    ASN_TRY(asn_call_same_shape(c, 7, 2, x->shape));
    if (asn_call_int(c, 3) != 0 || asn_call_int(c, 4) != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: renorm is %lld, normType %lld; they must be 0 and 1 "
                             "(sigmoid)",
                             c->op->name, (long long)asn_call_int(c, 3),
                             (long long)asn_call_int(c, 4));
    if (asn_nd_size(x) == 0) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, gate_grad_body, 300 + 2 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = x->shape[0];
    p->n[1] = x->shape[1];
    p->n[2] = g->shape[1];
    return ASN_OK;
}
