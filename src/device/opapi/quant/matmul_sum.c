/* CPU device, operators: QuantMatmulReduceSumWeightNz, products of int8 summed over a
 * batch.
 *
 *     out[i, j] = sum over b of (x1[b] @ x2[b])[i, j] * x1Scale[b, i] * x2Scale[j]
 *
 * Products are exact in int32, their sum is float32. The NPU's private layout of x2 is
 * the plain one here. What later versions shall use is absent.
 */
#include <string.h>

#include "device/cpu/gemm/gemm_int8.h"
#include "device/opapi/quant/quant.h"

static asn_status sum_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *x1 = asn_exec_nd(e, p->at[0]), *x2 = asn_exec_nd(e, p->at[1]);
    int64_t batch = p->n[0], m = p->n[1], n = p->n[2];
    const float *rows, *columns;
    asnd_view sum, out;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[2]), ASN_F32, tmp, &rows));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[3]), ASN_F32, tmp, &columns));
    ASN_TRY(asn_tmp_view(tmp, ASN_I32, 2, (int64_t[]){m, n}, &sum));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){m, n}, &out));
    const int32_t *s = (const int32_t *)(void *)sum.nd.data;
    float *y = (float *)(void *)out.nd.data;
    memset(y, 0, (size_t)(m * n) * sizeof *y);
    for (int64_t b = 0; b < batch; b++) {
        asnd_view left, right;
        asn_view_set(&left, x1);
        asn_view_set(&right, x2);
        asn_view_slice(&left, 0, b, 1, 1);
        asn_view_slice(&right, 0, b, 1, 1);
        asn_view_drop(&left, 0);
        asn_view_drop(&right, 0);
        ASN_TRY(asn_cpu_matmul_int8(&left.nd, &right.nd, &sum.nd));
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] += (float)s[i * n + j] * rows[b * m + i] * columns[j];
    }
    return asn_packed_done(e, p, 14, &out);
}

/* Only the batch is summed over, and its dimension goes. Of dims the number is looked at
 * alone: the value that torch_npu 2.13 hands over has left its memory by then. */
static asn_status check_sum(const asnd_call *c) {
    const asnd_array *dims = asn_call_array(c, 12);
    for (int i = 4; i < 9; i++)
        if (c->first[i] >= 0 && !asn_call_operand(c, i)->is_empty)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is reserved; it must be NULL",
                                 c->op->name, c->op->params[i].name);
    if (asn_call_int(c, 9) != 0 || asn_call_int(c, 10) != 0 || asn_call_int(c, 13) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: transposeX1, transposeX2 and keepDims must be false",
                             c->op->name);
    if (dims->size != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: dims has %llu values; it must have one, the batch",
                             c->op->name, (unsigned long long)dims->size);
    if (asn_call_int(c, 11) == -1 || asn_call_int(c, 11) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: groupSize is %lld; it must be -1 or 0",
                         c->op->name, (long long)asn_call_int(c, 11));
}

/* (x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset, bias, transposeX1,
 * transposeX2, groupSize, dims, keepDims, out) */
asn_status asn_planner_matmul_sum(asnd_call *c) {
    const asnd_nd *x1 = asn_call_nd(c, 0), *x2 = asn_call_nd(c, 1);
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_I8)));
        ASN_TRY(asn_call_rank(c, i, 3, 3));
        ASN_TRY(asn_call_floating(c, 2 + i));
    }
    ASN_TRY(check_sum(c));
    int64_t batch = x1->shape[0], m = x1->shape[1], k = x1->shape[2], n = x2->shape[2];
    ASN_TRY(asn_call_same_shape(c, 1, 3, (int64_t[]){batch, k, n}));
    ASN_TRY(asn_call_same_shape(c, 2, 2, x1->shape));
    ASN_TRY(asn_call_same_shape(c, 3, 1, &n));
    ASN_TRY(asn_call_one_of(c, 14, ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F16)));
    ASN_TRY(asn_call_same_shape(c, 14, 2, (int64_t[]){m, n}));
    if (m * n == 0) return ASN_OK;
    double work = (double)(batch * m) * (double)n * (double)(k + 60);
    asnd_packed *p = asn_packed_plan(c, sum_body, 500 + work / 60);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = batch;
    p->n[1] = m;
    p->n[2] = n;
    return ASN_OK;
}
