/* CPU device, operators: products with a quantised right-hand side.
 *
 * WeightQuantBatchMatmulV2, V3 and the first of the name: the weights are turned into
 * float32 and multiplied as such (weight_product.c). x is not quantised, so there are no
 * exact integer sums to keep.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/quant/quant.h"
#include "device/opapi/quant/weight_product.h"

/* ---- WeightQuantBatchMatmulV2(x, weight, antiquantScale, antiquantOffset, quantScale,
 * quantOffset, bias, antiquantGroupSize, y), V3 with innerPrecise:
 * x @ ((weight + offset) * scale) + bias, with quantScale times it, + quantOffset, int8
 */

/* sum += operand bias_at where there is one (-1: none). */
static asn_status add_bias(aclOpExecutor *e, const asnd_nd *to, int bias_at,
                           asnd_tmp *tmp, const asnd_view *sum) {
    asnd_view bias;
    if (bias_at < 0) return ASN_OK;
    ASN_TRY(asn_packed_like(asn_exec_nd(e, bias_at), to, ASN_F32, tmp, &bias));
    for (int64_t i = 0; i < asn_nd_size(to); i++)
        ((float *)(void *)sum->nd.data)[i] += ((float *)(void *)bias.nd.data)[i];
    return ASN_OK;
}

/* Turns the sums into integers of int8, in place. The offsets in the words serve where
 * there is no quantOffset. */
static asn_status quantise(aclOpExecutor *e, const asnd_packed *p, asnd_tmp *tmp,
                           asnd_view *sum) {
    asnd_view offset;
    float *scale, *word;
    int64_t n = sum->shape[1], many = asn_nd_size(asn_exec_nd(e, p->at[4])) > 1;
    const float *shift = NULL;
    ASN_TRY(asn_quant_words(asn_exec_nd(e, p->at[4]), tmp, &scale, &word));
    if (p->at[5] >= 0) {
        ASN_TRY(
            asn_packed_like(asn_exec_nd(e, p->at[5]), &sum->nd, ASN_F32, tmp, &offset));
        shift = (const float *)(void *)offset.nd.data;
    }
    float *y = (float *)(void *)sum->nd.data;
    for (int64_t i = 0; i < asn_nd_size(&sum->nd); i++) {
        int64_t j = many * (i % n);
        float v = y[i] * scale[j] + (shift != NULL  ? shift[i]
                                     : word != NULL ? word[j]
                                                    : 0);
        y[i] = (float)asn_quant_value(v, ASN_ROUND_EVEN, -128, 127);
    }
    return ASN_OK;
}

/* Parameter i of the weights, in float32; none where it is absent. */
static asn_status parameter(aclOpExecutor *e, const asnd_packed *p, int i, asnd_tmp *tmp,
                            asnd_weight_parameter *out) {
    asnd_view v;
    *out = (asnd_weight_parameter){NULL, 0};
    if (p->at[i] < 0) return ASN_OK;
    ASN_TRY(asn_packed_in(e, p, i, ASN_F32, tmp, &v));
    *out = (asnd_weight_parameter){(const float *)(void *)v.nd.data, asn_nd_size(&v.nd)};
    return ASN_OK;
}

/* The weights as they lie, where those are in rows or columns; else copied. int32 holds
 * eight int4 of a row in the order in which a tensor of int4 has them. */
static asn_status weight_of(const asnd_operand *o, asnd_tmp *tmp, asnd_weight *w) {
    const bool words = o->nd.dtype == ASN_I32;
    const int64_t *strides = o->nd.strides;
    const int64_t step = o->is_int4 ? 2 : 1; /* of lines: whole bytes */
    *w = (asnd_weight){.data = (const int8_t *)o->nd.data,
                       .nibbles = o->is_int4 || words,
                       .k = o->nd.shape[0],
                       .n = o->nd.shape[1] * (words ? 8 : 1),
                       .row = strides[0] * (words ? 2 : 1),
                       .col = words ? 1 : strides[1]};
    bool lies = words ? strides[1] == sizeof(int32_t) && strides[0] > 0
                      : (strides[1] == 1 && strides[0] > 0 && strides[0] % step == 0) ||
                            (strides[0] == 1 && strides[1] > 1 && strides[1] % step == 0);
    if (lies) return ASN_OK;
    asnd_view bytes;
    ASN_TRY(asn_quant_ints(o, tmp, &bytes));
    w->data = (const int8_t *)bytes.nd.data;
    w->nibbles = false;
    w->row = w->n;
    w->col = 1;
    return ASN_OK;
}

/* kind: the output's operand. Weights are dequantised as (weight + offset) * scale. */
static asn_status weight_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->kind);
    asnd_view x, sum;
    asnd_weight w;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(weight_of(&e->operands[p->at[1]], tmp, &w));
    w.group = p->arg[7].i;
    ASN_TRY(parameter(e, p, 2, tmp, &w.scale));
    ASN_TRY(parameter(e, p, 3, tmp, &w.offset));
    ASN_TRY(asn_weight_product(&w, &x, tmp, &sum));
    ASN_TRY(add_bias(e, to, p->at[6], tmp, &sum));
    if (p->at[4] >= 0) ASN_TRY(quantise(e, p, tmp, &sum));
    return asn_move(to, &sum.nd);
}

/* quantScale and quantOffset go with an int8 result, and with no other; one for all, or
 * one for each column. */
static asn_status check_quant(const asnd_call *c, int y, const int64_t *shape) {
    bool eight = asn_call_nd(c, y)->dtype == ASN_I8;
    if (eight != (c->first[4] >= 0) || (!eight && c->first[5] >= 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: quantScaleOptional goes with an int8 output, and with "
                             "it quantOffsetOptional",
                             c->op->name);
    if (!eight) return ASN_OK;
    ASN_TRY(
        asn_call_one_of(c, 4, ASN_BIT(ASN_F32) | ASN_BIT(ASN_U64) | ASN_BIT(ASN_I64)));
    ASN_TRY(asn_call_one_of(c, 5, ASN_BIT(ASN_F32)));
    for (int i = 4; i < 6; i++) {
        const asnd_nd *a = asn_call_nd(c, i);
        bool row = a == NULL || (asn_nd_broadcasts(a, 2, shape) &&
                                 (asn_nd_size(a) == 1 || asn_nd_size(a) == shape[1]));
        if (!row) return asn_call_same_shape(c, i, 1, shape + 1);
    }
    return ASN_OK;
}

/* antiquantGroupSize rows of the weight share a row of scales; 0: all of them. */
asn_status asn_planner_weight_quant_matmul(asnd_call *c) {
    int y = c->op->num_params - 1, ndim;
    int64_t shape[ASN_ND_MAX_DIMS], group = asn_call_int(c, 7);
    uint32_t halves = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    ASN_TRY(asn_call_one_of(c, 0, halves));
    ASN_TRY(asn_call_one_of(c, 1, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_rank(c, i, 2, 2));
    ASN_TRY(asn_quant_product_shape(c, false, false, &ndim, shape));
    if (group < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: antiquantGroupSize is %lld; it must not be negative",
                             c->op->name, (long long)group);
    /* Scales and offsets: one, a row, or a row for each group of rows. */
    int64_t depth = asn_call_nd(c, 1)->shape[0], n = shape[1];
    int64_t rows = group > 0 ? (depth + group - 1) / group : 1;
    for (int i = 2; i < 4; i++) {
        ASN_TRY(asn_call_floating(c, i));
        const asnd_nd *a = asn_call_nd(c, i);
        int64_t size = a == NULL ? 1 : asn_nd_size(a), want[2] = {rows, n};
        bool row_last = size == 1 || a->shape[a->ndim - 1] == n;
        if (size != 1 && (!row_last || (size != n && size != rows * n)))
            return asn_call_same_shape(c, i, 2, want);
    }
    ASN_TRY(asn_call_floating(c, 6));
    if (c->first[6] >= 0 && !asn_nd_broadcasts(asn_call_nd(c, 6), 2, shape))
        return asn_call_same_shape(c, 6, 1, &n);
    ASN_TRY(asn_call_one_of(c, y, halves | ASN_BIT(ASN_I8)));
    ASN_TRY(asn_call_same_shape(c, y, 2, shape));
    ASN_TRY(check_quant(c, y, shape));
    if (asn_call_operand(c, y)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(
        c, weight_quant_body, 500 + (double)(shape[0] + 20) * (double)depth * n / 10);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = c->first[y];
    return ASN_OK;
}

/* ---- WeightQuantBatchMatmul(x1, x2, diagonalMatrix, deqOffset, deqScale, addOffset,
 * mulScale, bias, transposeX1, transposeX2, antiquantScale, antiquantOffset, out):
 * x1 @ ((x2 + addOffset) * mulScale) + bias */

/* The weight's parameters broadcast over it in its turned shape. */
static asn_status old_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[12]);
    asnd_view x, weight, scale, offset, turned, wide, sum;
    bool trans = p->arg[9].i != 0;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    if (p->arg[8].i) asn_view_swap_last(&x);
    asn_view_set(&turned, asn_exec_nd(e, p->at[1]));
    if (trans) asn_view_swap_last(&turned);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, turned.shape, &weight));
    ASN_TRY(asn_move(&weight.nd, &turned.nd));
    asn_view_set(&wide, &weight.nd);
    ASN_TRY(asn_packed_like(asn_exec_nd(e, p->at[6]), &wide.nd, ASN_F32, tmp, &scale));
    if (p->at[5] >= 0)
        ASN_TRY(
            asn_packed_like(asn_exec_nd(e, p->at[5]), &wide.nd, ASN_F32, tmp, &offset));
    float *w = (float *)(void *)weight.nd.data;
    for (int64_t i = 0; i < asn_nd_size(&weight.nd); i++) {
        if (p->at[5] >= 0) w[i] += ((const float *)(void *)offset.nd.data)[i];
        w[i] *= ((const float *)(void *)scale.nd.data)[i];
    }
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &sum));
    ASN_TRY(asn_cpu_matmul(&x.nd, &weight.nd, &sum.nd));
    ASN_TRY(add_bias(e, to, p->at[7], tmp, &sum));
    return asn_move(to, &sum.nd);
}

/* Dtypes are those that CANN documents; addOffset may be absent. */
asn_status asn_planner_old_weight_quant(asnd_call *c) {
    int ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    bool trans = asn_call_int(c, 9) != 0;
    ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_F16)));
    ASN_TRY(asn_call_one_of(c, 1, ASN_BIT(ASN_I8)));
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_rank(c, i, 2, 2));
    ASN_TRY(asn_quant_product_shape(c, asn_call_int(c, 8) != 0, trans, &ndim, shape));
    int64_t weight[2] = {asn_call_nd(c, 1)->shape[trans], shape[1]};
    for (int i = 5; i < 7; i++) {
        const asnd_nd *a = asn_call_nd(c, i);
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_F16)));
        if (a != NULL && !asn_nd_broadcasts(a, 2, weight))
            return asn_call_same_shape(c, i, 1, shape + 1);
    }
    ASN_TRY(asn_call_one_of(c, 7, ASN_BIT(ASN_F32)));
    if (c->first[7] >= 0 && !asn_nd_broadcasts(asn_call_nd(c, 7), 2, shape))
        return asn_call_same_shape(c, 7, 1, shape + 1);
    ASN_TRY(asn_call_one_of(c, 12, ASN_BIT(ASN_F16)));
    ASN_TRY(asn_call_same_shape(c, 12, 2, shape));
    if (asn_call_operand(c, 12)->is_empty) return ASN_OK;
    double work = (double)(shape[0] + 20) * (double)weight[0] * (double)weight[1];
    return asn_packed_plan(c, old_body, 500 + work / 10) ? ASN_OK : ASN_ERR_MEMORY;
}
