/* CPU device, operators: products of small integers.
 *
 * QuantMatmul, V2, V3, V4; WeightQuantBatchMatmulV2, V3. Integer products are summed in
 * float64, which is exact below 2**53; the rest is float32, as CANN's formulas have it:
 *     ((x1 @ x2 + integer bias) * scale * row scale + real bias) [+ offset, rounded,
 * int8] An int32 matrix holds eight int4 of its last dimension in an element. A scale of
 * dtype uint64 or int64 is a word of TransQuantParamV2.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm.h"
#include "device/opapi/quant.h"

typedef struct {
    asn_plan_head head;
    int x1, x2, bias, scale, offset, rows, out; /* operands; -1: absent */
    bool trans1, trans2;
    float factor; /* the scale that is a number */
} product_plan;

/* A stack of matrices of integers or halves as `t`. */
static asn_status matrices(const asn_nd *a, bool trans, asn_dtype t, asn_tmp *tmp,
                           asn_view *v) {
    asn_view plain, wide;
    if (a->dtype == ASN_I32) {
        int64_t shape[ASN_ND_MAX_DIMS];
        memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
        shape[a->ndim - 1] *= 8;
        ASN_TRY(asn_packed_of(a, ASN_I32, tmp, &plain));
        ASN_TRY(asn_tmp_view(tmp, ASN_F32, a->ndim, shape, &wide));
        asn_quant_unpack((const int32_t *)(void *)plain.nd.data, asn_nd_size(a),
                         (float *)(void *)wide.nd.data);
        ASN_TRY(asn_packed_of(&wide.nd, t, tmp, v));
    } else {
        ASN_TRY(asn_packed_of(a, t, tmp, v));
    }
    if (trans) asn_view_swap_last(v);
    return ASN_OK;
}

/* float32 scales, and the offsets that words carry (NULL: none). */
static asn_status scales(const asn_nd *a, asn_tmp *tmp, float **scale, float **offset) {
    asn_view v;
    int64_t n = asn_nd_size(a);
    *offset = NULL;
    *scale = asn_tmp_alloc(tmp, (size_t)n * sizeof **scale);
    if (*scale == NULL) return ASN_ERR_MEMORY;
    if (asn_is_floating(a->dtype)) {
        ASN_TRY(asn_packed_of(a, ASN_F32, tmp, &v));
        memcpy(*scale, v.nd.data, (size_t)n * sizeof **scale);
        return ASN_OK;
    }
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, &v));
    *offset = asn_tmp_alloc(tmp, (size_t)n * sizeof **offset);
    if (*offset == NULL) return ASN_ERR_MEMORY;
    const uint64_t *words = (const uint64_t *)(void *)v.nd.data;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)words[i];
        int32_t nine = (int32_t)(words[i] >> 37 & 0x1ff);
        memcpy(&(*scale)[i], &bits, sizeof bits);
        (*offset)[i] = (float)(nine >= 256 ? nine - 512 : nine);
    }
    return ASN_OK;
}

static asn_status product_body(aclOpExecutor *e, void *plan, asn_tmp *tmp) {
    const product_plan *p = plan;
    const asn_nd *to = asn_exec_nd(e, p->out);
    asn_view a, b, sum, out, bias, rows, shift;
    float *scale = NULL, *offset = NULL;
    ASN_TRY(matrices(asn_exec_nd(e, p->x1), p->trans1, ASN_F64, tmp, &a));
    ASN_TRY(matrices(asn_exec_nd(e, p->x2), p->trans2, ASN_F64, tmp, &b));
    int64_t m = to->shape[to->ndim - 2], n = to->shape[to->ndim - 1], shape[64];
    memcpy(shape, to->shape, (size_t)to->ndim * sizeof *shape);
    shape[to->ndim - 1] = a.shape[a.nd.ndim - 1];
    asn_view_broadcast(&a, to->ndim, shape);
    shape[to->ndim - 2] = b.shape[b.nd.ndim - 2];
    shape[to->ndim - 1] = n;
    asn_view_broadcast(&b, to->ndim, shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, to->ndim, to->shape, &sum));
    ASN_TRY(asn_cpu_matmul(&a.nd, &b.nd, &sum.nd));
    bool whole = false;
    const float *add = NULL;
    if (p->bias >= 0) {
        whole = asn_exec_nd(e, p->bias)->dtype == ASN_I32;
        ASN_TRY(asn_packed_like(asn_exec_nd(e, p->bias), to, whole ? ASN_F64 : ASN_F32,
                                tmp, &bias));
        if (!whole) add = (const float *)(void *)bias.nd.data;
    }
    if (p->scale >= 0) ASN_TRY(scales(asn_exec_nd(e, p->scale), tmp, &scale, &offset));
    bool one = p->scale < 0 || asn_nd_size(asn_exec_nd(e, p->scale)) == 1;
    const float *row = NULL, *more = NULL;
    if (p->rows >= 0) {
        ASN_TRY(asn_packed_of(asn_exec_nd(e, p->rows), ASN_F32, tmp, &rows));
        row = (const float *)(void *)rows.nd.data;
    }
    if (p->offset >= 0) {
        ASN_TRY(asn_packed_like(asn_exec_nd(e, p->offset), to, ASN_F32, tmp, &shift));
        more = (const float *)(void *)shift.nd.data;
    }
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, to->ndim, to->shape, &out));
    const double *s = (const double *)(void *)sum.nd.data;
    float *y = (float *)(void *)out.nd.data;
    bool eight = to->dtype == ASN_I8;
    for (int64_t i = 0; i < asn_nd_size(to); i++) {
        int64_t j = one ? 0 : i % n;
        double total = whole ? s[i] + ((const double *)(void *)bias.nd.data)[i] : s[i];
        float v = (float)total * (scale != NULL ? scale[j] : p->factor);
        if (row != NULL) v *= row[i / n % m];
        if (add != NULL) v += add[i];
        if (eight && more != NULL) v += more[i];
        if (eight && more == NULL && offset != NULL) v += offset[j];
        y[i] = eight ? (float)asn_quant_value(v, ASN_ROUND_EVEN, -128, 127) : v;
    }
    return asn_move(to, &out.nd);
}

/* Parameters of the four operators by arg; -1: none. */
static const struct {
    int8_t bias, scale, offset, rows, trans1, trans2, out;
} places[] = {{2, -1, -1, -1, -1, -1, 4},
              {2, 3, -1, -1, 4, 5, 6},
              {4, 2, 3, -1, 5, 6, 7},
              {5, 2, 3, 4, 6, 7, 8}};

static asn_status product_shape(const asn_call *c, bool trans1, bool trans2, int *ndim,
                                int64_t *shape) {
    const asn_nd *a = asn_call_nd(c, 0), *b = asn_call_nd(c, 1);
    int na = a->ndim, nb = b->ndim, most = na > nb ? na : nb;
    int64_t wide_a = a->dtype == ASN_I32 ? 8 : 1, wide_b = b->dtype == ASN_I32 ? 8 : 1;
    int64_t a0 = a->shape[na - 2], a1 = a->shape[na - 1] * wide_a;
    int64_t b0 = b->shape[nb - 2], b1 = b->shape[nb - 1] * wide_b;
    bool fits = (trans1 ? a0 : a1) == (trans2 ? b1 : b0);
    *ndim = most;
    for (int d = 0; d < most - 2 && fits; d++) {
        int da = d - (most - na), db = d - (most - nb);
        int64_t x = da < 0 ? 1 : a->shape[da], y = db < 0 ? 1 : b->shape[db];
        fits = x == y || x == 1 || y == 1;
        shape[d] = x == 1 ? y : x;
    }
    shape[most - 2] = trans1 ? a1 : a0;
    shape[most - 1] = trans2 ? b0 : b1;
    if (fits) return ASN_OK;
    char left[ASN_SHAPE_TEXT], right[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE, "%s: shapes %s and %s do not multiply",
                         c->op->name, asn_shape_text(left, na, a->shape),
                         asn_shape_text(right, nb, b->shape));
}

static asn_status check_product(const asn_call *c, int kind, int ndim,
                                const int64_t *shape) {
    uint32_t floats = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    int scale = places[kind].scale, rows = places[kind].rows, out = places[kind].out;
    int64_t n = shape[ndim - 1], m = shape[ndim - 2];
    ASN_TRY(asn_call_one_of(c, out, kind < 2 ? floats : floats | ASN_BIT(ASN_I8)));
    ASN_TRY(asn_call_same_shape(c, out, ndim, shape));
    ASN_TRY(asn_call_one_of(c, places[kind].bias,
                            kind < 2 ? ASN_BIT(ASN_I32)
                                     : floats | ASN_BIT(ASN_I32) | ASN_BIT(ASN_F32)));
    const asn_nd *bias = asn_call_nd(c, places[kind].bias);
    if (bias != NULL && !asn_nd_broadcasts(bias, ndim, shape))
        return asn_call_same_shape(c, places[kind].bias, 1, &n);
    if (scale >= 0) {
        uint32_t words = ASN_BIT(ASN_U64) | ASN_BIT(ASN_I64);
        int64_t have = asn_nd_size(asn_call_nd(c, scale));
        ASN_TRY(asn_call_one_of(
            c, scale, kind == 1 ? words : words | ASN_BIT(ASN_F32) | ASN_BIT(ASN_BF16)));
        /* QuantMatmulV2's is padded to a multiple of 16. */
        if (have != 1 && have != n && !(kind == 1 && have == (n + 15) / 16 * 16))
            return asn_call_same_shape(c, scale, 1, &n);
    }
    if (rows >= 0 && c->first[rows] >= 0) ASN_TRY(asn_call_same_shape(c, rows, 1, &m));
    int offset = places[kind].offset;
    if (offset >= 0 && c->first[offset] >= 0 &&
        (asn_call_nd(c, out)->dtype != ASN_I8 ||
         !asn_nd_broadcasts(asn_call_nd(c, offset), ndim, shape)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: offset goes with an int8 output and has 1 or %lld "
                             "elements",
                             c->op->name, (long long)n);
    return ASN_OK;
}

asn_status asn_planner_quant_matmul(asn_call *c) {
    int kind = c->op->arg, ndim, out = places[kind].out;
    int64_t shape[ASN_ND_MAX_DIMS];
    bool trans1 = places[kind].trans1 >= 0 && asn_call_int(c, places[kind].trans1);
    bool trans2 = places[kind].trans2 >= 0 && asn_call_int(c, places[kind].trans2);
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_rank(c, i, 2, kind < 2 ? 3 : 6));
        ASN_TRY(
            asn_call_one_of(c, i, ASN_BIT(ASN_I8) | (kind < 2 ? 0 : ASN_BIT(ASN_I32))));
    }
    ASN_TRY(product_shape(c, trans1, trans2, &ndim, shape));
    ASN_TRY(check_product(c, kind, ndim, shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    double work = (double)asn_nd_size(asn_call_nd(c, out)) *
                  (double)asn_call_nd(c, 0)->shape[asn_call_nd(c, 0)->ndim - 1];
    product_plan *p = asn_call_plan(c, product_body, sizeof *p, 500 + work / 10);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->x1 = c->first[0];
    p->x2 = c->first[1];
    p->bias = c->first[places[kind].bias];
    p->scale = places[kind].scale < 0 ? -1 : c->first[places[kind].scale];
    p->offset = places[kind].offset < 0 ? -1 : c->first[places[kind].offset];
    p->rows = places[kind].rows < 0 ? -1 : c->first[places[kind].rows];
    p->out = c->first[out];
    p->trans1 = trans1;
    p->trans2 = trans2;
    p->factor = kind == 0 ? (float)asn_call_double(c, 3) : 1;
    return ASN_OK;
}

/* ---- WeightQuantBatchMatmulV2(x, weight, antiquantScale, antiquantOffset, quantScale,
 * quantOffset, bias, antiquantGroupSize, y), V3 with innerPrecise:
 * x @ ((weight + offset) * scale) + bias */

/* A parameter of one element, a row, or a row for each group, at (i, j). */
static float anti_parameter(const asn_view *v, int64_t group, int64_t i, int64_t j) {
    const float *x = (const float *)(void *)v->nd.data;
    int64_t size = asn_nd_size(&v->nd), n = v->nd.ndim ? v->shape[v->nd.ndim - 1] : 1;
    if (size == 1) return x[0];
    return size == n ? x[j] : x[(group > 0 ? i / group : i) * n + j];
}

static asn_status weight_quant_body(aclOpExecutor *e, void *plan, asn_tmp *tmp) {
    const asn_packed *p = plan;
    const asn_nd *to = asn_exec_nd(e, p->kind);
    asn_view x, weight, scale, offset, bias, sum, w;
    ASN_TRY(matrices(asn_exec_nd(e, p->at[0]), false, ASN_F32, tmp, &x));
    ASN_TRY(matrices(asn_exec_nd(e, p->at[1]), false, ASN_F32, tmp, &weight));
    ASN_TRY(asn_packed_in(e, p, 2, ASN_F32, tmp, &scale));
    if (p->at[3] >= 0) ASN_TRY(asn_packed_in(e, p, 3, ASN_F32, tmp, &offset));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, weight.shape, &w));
    int64_t k = w.shape[0], n = w.shape[1], group = p->arg[7].i;
    const float *from = (const float *)(void *)weight.nd.data;
    float *f = (float *)(void *)w.nd.data;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++) {
            float v = from[i * n + j];
            if (p->at[3] >= 0) v += anti_parameter(&offset, group, i, j);
            f[i * n + j] = v * anti_parameter(&scale, group, i, j);
        }
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &sum));
    ASN_TRY(asn_cpu_matmul(&x.nd, &w.nd, &sum.nd));
    if (p->at[6] >= 0) {
        ASN_TRY(asn_packed_like(asn_exec_nd(e, p->at[6]), to, ASN_F32, tmp, &bias));
        for (int64_t i = 0; i < asn_nd_size(to); i++)
            ((float *)(void *)sum.nd.data)[i] += ((float *)(void *)bias.nd.data)[i];
    }
    return asn_move(to, &sum.nd);
}

asn_status asn_planner_weight_quant_matmul(asn_call *c) {
    int y = c->op->num_params - 1, ndim;
    int64_t shape[ASN_ND_MAX_DIMS], group = asn_call_int(c, 7);
    uint32_t halves = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    ASN_TRY(asn_call_one_of(c, 0, halves));
    ASN_TRY(asn_call_one_of(c, 1, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_rank(c, i, 2, 2));
    ASN_TRY(product_shape(c, false, false, &ndim, shape));
    if (c->first[4] >= 0 || c->first[5] >= 0 || group < 0)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: quantScaleOptional and quantOffsetOptional must be NULL "
            "for outputs of float16 and bfloat16, antiquantGroupSize not "
            "negative",
            c->op->name);
    int64_t depth = asn_call_nd(c, 1)->shape[0], n = shape[1];
    int64_t rows = group > 0 ? (depth + group - 1) / group : 1;
    for (int i = 2; i < 4; i++) {
        ASN_TRY(asn_call_floating(c, i));
        const asn_nd *a = asn_call_nd(c, i);
        int64_t size = a == NULL ? 1 : asn_nd_size(a), want[2] = {rows, n};
        bool row_last = size == 1 || a->shape[a->ndim - 1] == n;
        if (size != 1 && (!row_last || (size != n && size != rows * n)))
            return asn_call_same_shape(c, i, 2, want);
    }
    ASN_TRY(asn_call_floating(c, 6));
    if (c->first[6] >= 0 && !asn_nd_broadcasts(asn_call_nd(c, 6), 2, shape))
        return asn_call_same_shape(c, 6, 1, &n);
    ASN_TRY(asn_call_one_of(c, y, halves));
    ASN_TRY(asn_call_same_shape(c, y, 2, shape));
    if (asn_call_operand(c, y)->is_empty) return ASN_OK;
    asn_packed *p = asn_packed_plan(
        c, weight_quant_body, 500 + (double)(shape[0] + 20) * (double)depth * n / 10);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = c->first[y];
    return ASN_OK;
}
