/* CPU device, operators: products that quantise: QuantMatmulDequant, BatchMatmulQuant,
 * FlatQuant. In float32, rounded half to even.
 *
 * QuantMatmulDequant quantises x into a temporary of int8 and multiplies it by the kernel
 * for int8 (gemm_int8.h), whose sums are exact; the scales follow on the sums. What CANN
 * reserves for later (xOffset) must be absent.
 *
 * FlatQuant and BatchMatmulQuant multiply in float32, since their inputs are not
 * integers; only the result is quantised.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_int8.h"
#include "device/opapi/quant/quant.h"

/* ---- QuantMatmulDequant(x, weight, weightScale, bias, xScale, xOffset, smoothScale,
 * xQuantMode, transposeWeight, out): x, times smoothScale, is divided by its scale and
 * rounded; (x @ weight + bias) * weightScale * scale. Without xScale the scale is the
 * largest magnitude of a row, or of all, by 127. An int64 weightScale holds a float32
 * that has the scale in it. */

/* Quantises n values of x in rows of `width`, each times smooth (NULL: 1), into q, and
 * returns their scale, which is `given` or found; v has room for n. A block of zeros has
 * scale 0, and zeros. */
static float quantise_block(const float *x, const float *smooth, int64_t width, int64_t n,
                            const float *given, float *v, int8_t *q) {
    float most = 0;
    for (int64_t i = 0; i < n; i++) {
        v[i] = smooth != NULL ? x[i] * smooth[i % width] : x[i];
        most = fmaxf(most, fabsf(v[i]));
    }
    float scale = given != NULL ? *given : most / 127.0f;
    for (int64_t i = 0; i < n; i++)
        q[i] = (int8_t)(given == NULL && scale == 0
                            ? 0
                            : asn_quant_value(v[i] / scale, ASN_ROUND_EVEN, -128, 127));
    return scale;
}

/* *scale: weightScale, of float32 or int64, as n values, one for each column; a single
 * one stands for all. */
static asn_status weight_scales(const asnd_nd *a, int64_t n, asnd_tmp *tmp,
                                float **scale) {
    asnd_view v, wide;
    *scale = asn_tmp_alloc(tmp, (size_t)n * sizeof **scale);
    if (*scale == NULL) return ASN_ERR_MEMORY;
    asn_view_plain(&wide, a->dtype, 1, &n, NULL);
    ASN_TRY(asn_packed_like(a, &wide.nd, a->dtype, tmp, &v));
    if (a->dtype == ASN_F32) memcpy(*scale, v.nd.data, (size_t)n * sizeof **scale);
    for (int64_t j = 0; a->dtype == ASN_I64 && j < n; j++) {
        uint32_t bits = (uint32_t)((const int64_t *)(void *)v.nd.data)[j];
        memcpy(&(*scale)[j], &bits, sizeof bits);
    }
    return ASN_OK;
}

/* kind: pertoken, a scale for each row of x; else one for all. */
static asn_status dequant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[9]);
    int64_t m = to->shape[0], n = to->shape[1], k = asn_exec_nd(e, p->at[0])->shape[1];
    bool by_row = p->kind != 0, contains = asn_exec_nd(e, p->at[2])->dtype == ASN_I64;
    asnd_view x, weight, given, smooth, bias, sum, out, q;
    const float *factors = NULL, *scales = NULL;
    const int32_t *whole = NULL;
    float *columns;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    asn_view_set(&weight, asn_exec_nd(e, p->at[1]));
    /* The kernel takes the weight by strides: transposition is a view. */
    if (p->arg[8].i) asn_view_swap_last(&weight);
    ASN_TRY(weight_scales(asn_exec_nd(e, p->at[2]), n, tmp, &columns));
    if (p->at[3] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 3, ASN_I32, tmp, &bias));
        whole = (const int32_t *)(void *)bias.nd.data;
    }
    if (p->at[4] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 4, ASN_F32, tmp, &given));
        scales = (const float *)(void *)given.nd.data;
    }
    if (p->at[6] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 6, ASN_F32, tmp, &smooth));
        factors = (const float *)(void *)smooth.nd.data;
    }
    /* The quantised x, the exact sums, the result before it is rounded. */
    ASN_TRY(asn_tmp_view(tmp, ASN_I8, 2, x.shape, &q));
    ASN_TRY(asn_tmp_view(tmp, ASN_I32, 2, to->shape, &sum));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &out));
    float *v = asn_tmp_alloc(tmp, (size_t)(m * k) * sizeof *v);
    float *rows = asn_tmp_alloc(tmp, (size_t)m * sizeof *rows);
    if (v == NULL || rows == NULL) return ASN_ERR_MEMORY;
    /* What shares a scale: a row, or everything. */
    int64_t block = by_row ? k : m * k;
    /* v is scratch, of the longest block: the whole of x per tensor. */
    for (int64_t i = 0; i < (by_row ? m : 1); i++)
        rows[i] = quantise_block((const float *)(void *)x.nd.data + i * block, factors, k,
                                 block, scales != NULL ? scales + i : NULL, v,
                                 (int8_t *)q.nd.data + i * block);
    ASN_TRY(asn_cpu_matmul_int8(&q.nd, &weight.nd, &sum.nd));
    const int32_t *s = (const int32_t *)(void *)sum.nd.data;
    float *y = (float *)(void *)out.nd.data;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            /* The bias is added to the exact sum. */
            int64_t total = (int64_t)s[i * n + j] + (whole != NULL ? whole[j] : 0);
            float value = (float)total * columns[j];
            y[i * n + j] = contains ? value : value * rows[by_row ? i : 0];
        }
    return asn_packed_done(e, p, 9, &out);
}

/* float16 in and out, as documented; everything between is float32 and int32. */
asn_status asn_planner_matmul_dequant(asnd_call *c) {
    int ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    const char *mode = c->args[7].p;
    bool by_row = strcmp(mode, "pertoken") == 0;
    if (!by_row && strcmp(mode, "pertensor") != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: xQuantMode is \"%.20s\"; it must be pertoken or "
                             "pertensor",
                             c->op->name, mode);
    uint32_t half = ASN_BIT(ASN_F16), single = ASN_BIT(ASN_F32);
    ASN_TRY(asn_call_one_of(c, 0, half));
    ASN_TRY(asn_call_one_of(c, 1, ASN_BIT(ASN_I8)));
    ASN_TRY(asn_call_one_of(c, 2, single | ASN_BIT(ASN_I64)));
    ASN_TRY(asn_call_one_of(c, 3, ASN_BIT(ASN_I32)));
    ASN_TRY(asn_call_one_of(c, 4, single | half));
    ASN_TRY(asn_call_one_of(c, 6, half));
    ASN_TRY(asn_call_one_of(c, 9, half));
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_rank(c, i, 2, 2));
    ASN_TRY(asn_quant_product_shape(c, false, asn_call_int(c, 8) != 0, &ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 9, 2, shape));
    /* Scales of x: one for each row, or one. */
    int64_t rows = by_row ? shape[0] : 1;
    if (asn_nd_size(asn_call_nd(c, 2)) != 1)
        ASN_TRY(asn_call_same_shape(c, 2, 1, shape + 1));
    if (c->first[3] >= 0) ASN_TRY(asn_call_same_shape(c, 3, 1, shape + 1));
    if (c->first[4] >= 0) ASN_TRY(asn_call_same_shape(c, 4, 1, &rows));
    if (c->first[6] >= 0)
        ASN_TRY(asn_call_same_shape(c, 6, 1, asn_call_nd(c, 0)->shape + 1));
    if (c->first[5] >= 0 && !asn_call_operand(c, 5)->is_empty)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: xOffsetOptional is reserved; it must be "
                             "NULL",
                             c->op->name);
    if (asn_call_nd(c, 2)->dtype == ASN_I64 && (by_row || c->first[4] < 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: a weightScale of int64 goes with pertensor and an "
                             "xScaleOptional",
                             c->op->name);
    if (asn_call_operand(c, 9)->is_empty) return ASN_OK;
    double work =
        (double)shape[0] * (double)(shape[1] + 20) * (double)asn_call_nd(c, 0)->shape[1];
    asnd_packed *p = asn_packed_plan(c, dequant_body, 500 + work / 60);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = by_row;
    return ASN_OK;
}

/* ---- BatchMatmulQuant(x1, x2, quantParam, bias, transposeX1, transposeX2, out):
 * (x1 @ x2 + bias) * scale + offset in int8, both from words of TransQuantParamV2 */

/* The product is made in float32; then column j is scaled, shifted and rounded. */
static asn_status matmul_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[6]), *words = asn_exec_nd(e, p->at[2]);
    asnd_view a, b, bias, out;
    float *scale, *offset;
    /* One word for all columns, or one for each. */
    int64_t n = to->shape[1], one = asn_nd_size(words) == 1;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &a));
    ASN_TRY(asn_packed_in(e, p, 1, ASN_F32, tmp, &b));
    if (p->arg[4].i) asn_view_swap_last(&a);
    if (p->arg[5].i) asn_view_swap_last(&b);
    ASN_TRY(asn_quant_words(words, tmp, &scale, &offset));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &out));
    ASN_TRY(asn_cpu_matmul(&a.nd, &b.nd, &out.nd));
    const float *add = NULL;
    if (p->at[3] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 3, ASN_F32, tmp, &bias));
        add = (const float *)(void *)bias.nd.data;
    }
    float *y = (float *)(void *)out.nd.data;
    for (int64_t i = 0; i < asn_nd_size(to); i++) {
        int64_t j = one ? 0 : i % n;
        float v = add != NULL ? y[i] + add[i % n] : y[i];
        y[i] =
            (float)asn_quant_value(v * scale[j] + offset[j], ASN_ROUND_EVEN, -128, 127);
    }
    return asn_packed_done(e, p, 6, &out);
}

asn_status asn_planner_matmul_quant(asnd_call *c) {
    int ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_F16)));
        ASN_TRY(asn_call_rank(c, i, 2, 2));
    }
    ASN_TRY(asn_call_one_of(c, 2, ASN_BIT(ASN_U64)));
    ASN_TRY(asn_call_one_of(c, 3, ASN_BIT(ASN_F16)));
    ASN_TRY(asn_call_one_of(c, 6, ASN_BIT(ASN_I8)));
    ASN_TRY(asn_quant_product_shape(c, asn_call_int(c, 4) != 0, asn_call_int(c, 5) != 0,
                                    &ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 6, 2, shape));
    int64_t n = shape[1], have = asn_nd_size(asn_call_nd(c, 2));
    ASN_TRY(asn_call_rank(c, 2, 1, 1));
    /* One, a column's, or those padded to a multiple of 16. */
    if (have != 1 && have != n && have != (n + 15) / 16 * 16)
        return asn_call_same_shape(c, 2, 1, &n);
    if (c->first[3] >= 0) ASN_TRY(asn_call_same_shape(c, 3, 1, &n));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    double work = (double)shape[0] * (double)n * (double)asn_nd_size(asn_call_nd(c, 0)) /
                  (double)shape[0];
    return asn_packed_plan(c, matmul_quant_body, 500 + work / 40) ? ASN_OK
                                                                  : ASN_ERR_MEMORY;
}

/* ---- FlatQuant(x, kroneckerP1, kroneckerP2, clipRatio, out, quantScale), V2 with
 * dstTypeMax behind clipRatio, which is of floats of 4 bits: every matrix
 * of x becomes y = P1 @ x @ P2, quantScale max |y| / (7 / clipRatio), out y by it in
 * int4. A matrix of zeros has scale 0 and zeros. */

/* A matrix at a time: its largest magnitude is known when all of it is. */
static asn_status flat_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view x, left, right, half, y, scales, out;
    const int q_at = p->kind, scale_at = q_at + 1;
    const asnd_nd *to = asn_exec_nd(e, p->at[q_at]);
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_in(e, p, 1, ASN_F32, tmp, &left));
    ASN_TRY(asn_packed_in(e, p, 2, ASN_F32, tmp, &right));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, x.shape, &half));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, x.shape, &y));
    int64_t count = x.shape[0], m = x.shape[1], n = x.shape[2], size = m * n;
    asn_view_insert(&left, 0, count, 0);
    asn_view_insert(&right, 0, count, 0);
    ASN_TRY(asn_cpu_matmul(&x.nd, &right.nd, &half.nd));
    ASN_TRY(asn_cpu_matmul(&left.nd, &half.nd, &y.nd));
    ASN_TRY(asn_packed_out(e, p, scale_at, ASN_F32, tmp, &scales));
    ASN_TRY(asn_tmp_view(tmp, to->dtype, to->ndim, to->shape, &out));
    int32_t *q = asn_tmp_alloc(tmp, (size_t)size * sizeof *q);
    if (q == NULL) return ASN_ERR_MEMORY;
    int64_t bytes = asn_nd_size(to) / count * asn_itemsize(to->dtype);
    for (int64_t i = 0; i < count; i++) {
        const float *v = (const float *)(void *)y.nd.data + i * size;
        float most = 0;
        for (int64_t k = 0; k < size; k++)
            most = fmaxf(most, fabsf(v[k]));
        float scale = most / (float)(7 / p->arg[3].f);
        for (int64_t k = 0; k < size; k++)
            q[k] = scale > 0 ? asn_quant_value(v[k] / scale, ASN_ROUND_EVEN, -8, 7) : 0;
        asn_quant_store(q, size, to->dtype, true, out.nd.data + i * bytes);
        ((float *)(void *)scales.nd.data)[i] = scale;
    }
    ASN_TRY(asn_quant_done(e, p->at[q_at], &out));
    return asn_packed_done(e, p, scale_at, &scales);
}

/* x is (matrices, m, n), with square P1 of m and P2 of n in its dtype; quantScale has one
 * scale for each matrix. */
asn_status asn_planner_flat_quant(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    double ratio = asn_call_double(c, 3);
    int q_at = c->op->num_params - 2;
    ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16)));
    ASN_TRY(asn_call_rank(c, 0, 3, 3));
    for (int i = 1; i < 3; i++) {
        int64_t square[2] = {x->shape[i], x->shape[i]};
        ASN_TRY(asn_call_same_dtype(c, i, 0));
        ASN_TRY(asn_call_same_shape(c, i, 2, square));
    }
    if (!(ratio > 0 && ratio <= 1))
        return asn_error_set(ASN_ERR_VALUE, "%s: clipRatio is %g; it must be in (0, 1]",
                             c->op->name, ratio);
    if (q_at == 5 && asn_call_double(c, 4) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: dstTypeMax is %g; for int4 it must be 0",
                             c->op->name, asn_call_double(c, 4));
    bool int4 = asn_call_operand(c, q_at)->is_int4;
    ASN_TRY(asn_call_one_of(c, q_at, ASN_BIT(int4 ? ASN_I8 : ASN_I32)));
    ASN_TRY(asn_quant_out_shape(c, q_at, x, true));
    ASN_TRY(asn_call_one_of(c, q_at + 1, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_same_shape(c, q_at + 1, 1, x->shape));
    if (asn_call_operand(c, q_at)->is_empty) return ASN_OK;
    double work = (double)asn_nd_size(x) * (double)(x->shape[1] + x->shape[2] + 20);
    asnd_packed *p = asn_packed_plan(c, flat_quant_body, 500 + work / 20);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = q_at;
    return ASN_OK;
}
