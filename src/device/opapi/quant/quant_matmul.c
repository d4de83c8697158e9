/* CPU device, operators: products of small integers.
 *
 * QuantMatmul, V2, V3, V4, V5, QuantMatmulWeightNz, FusedQuantMatmul. Products are summed
 * in int32, which wraps beyond 2**17 of them; the rest is float32, as CANN's formulas
 * have it:
 *
 * ((x1 @ x2 + integer bias) * scale * row scale + real bias) [+ offset, rounded, int8]
 *
 * An int32 matrix holds eight int4 of its last dimension in an element. A scale of dtype
 * uint64 or int64 is a word of TransQuantParamV2. An int32 result is the sum with its
 * bias, and no scale. FusedQuantMatmul has GELU behind all that.
 *
 * The operators differ in where their parameters stand, which is a table (places),
 * and in what they allow. The product is one call of the int8 kernel into a temporary of
 * sums; what follows is done in chunks of whole rows that the threads share.
 */
#include <string.h>

#include "device/cpu/gemm/gemm_int8.h"
#include "device/opapi/core/activation.h"
#include "device/cpu/threads.h"
#include "device/opapi/quant/quant.h"

/* trans1, trans2: the matrices are given transposed. */
typedef struct {
    asnd_plan_head head;
    int x1, x2, bias, scale, offset, rows, out; /* operands; -1: absent */
    bool trans1, trans2;
    float factor; /* the scale that is a number */
    bool gelu;    /* behind all, of erf or of tanh: */
    asnd_activation act;
} product_plan;

/* Parameters over the columns of the result: the same for every row, or of its shape. */
typedef struct {
    const float *values;
    const int32_t *whole;
    int64_t pitch; /* of rows: 0, or n */
} columns;

/* v: tensor `a` over the result `to`, as int32 or float32 (dt). A row is kept as it is
 * and read again for each row of the result; anything else is spread over the whole. */
static asn_status columns_of(const asnd_nd *a, const asnd_nd *to, asn_dtype dt,
                             asnd_tmp *tmp, columns *v) {
    int64_t n = to->shape[to->ndim - 1];
    asnd_view view;
    bool row = asn_nd_size(a) == n && a->ndim > 0 && a->shape[a->ndim - 1] == n;
    if (row) {
        ASN_TRY(asn_packed_of(a, dt, tmp, &view));
    } else {
        ASN_TRY(asn_packed_like(a, to, dt, tmp, &view));
    }
    v->pitch = row ? 0 : n;
    if (dt == ASN_I32) v->whole = (const int32_t *)(void *)view.nd.data;
    if (dt == ASN_F32) v->values = (const float *)(void *)view.nd.data;
    return ASN_OK;
}

/* ---- from sums to results, rows at a time */

/* Elements of the result that a thread takes at a time, about. */
enum { CHUNK = 1 << 14 };

/* bias: before the scale, of integers; add: behind it, of floats; shift: an int8 result's
 * offset, or else word_offset; row: scales of x1's rows. */
typedef struct {
    const int32_t *sums;
    float *y;
    columns bias, add, shift;
    const float *scale, *word_offset, *row;
    float factor;
    bool one, eight; /* one scale for all; an int8 result */
    bool gelu;
    asnd_activation act;
    int64_t rows, m, n, chunk_rows;
} finish_run;

/* Row i of all stacked rows: bias, scales, real bias, offset and rounding, each in a loop
 * of its own. */
static void finish_row(const finish_run *f, int64_t i) {
    const int32_t *s = f->sums + i * f->n;
    float *y = f->y + i * f->n;
    const int32_t *bias = f->bias.whole ? f->bias.whole + i * f->bias.pitch : NULL;
    const float *add = f->add.values ? f->add.values + i * f->add.pitch : NULL;
    const float *shift = f->shift.values ? f->shift.values + i * f->shift.pitch : NULL;
    float row = f->row ? f->row[i % f->m] : 1;
    for (int64_t j = 0; j < f->n; j++)
        y[j] = (float)(bias ? (int64_t)s[j] + bias[j] : (int64_t)s[j]);
    for (int64_t j = 0; j < f->n; j++)
        y[j] = y[j] * (f->scale ? f->scale[f->one ? 0 : j] : f->factor) * row;
    for (int64_t j = 0; add && j < f->n; j++)
        y[j] += add[j];
    if (f->gelu) asn_activate(f->act, f->n, y, y);
    if (!f->eight) return;
    for (int64_t j = 0; j < f->n; j++) {
        if (shift) {
            y[j] += shift[j];
        } else if (f->word_offset) {
            y[j] += f->word_offset[f->one ? 0 : j];
        }
        y[j] = (float)asn_quant_value(y[j], ASN_ROUND_EVEN, -128, 127);
    }
}

/* Rows of one thread. */
static void finish_chunk(void *ctx, int64_t chunk) {
    const finish_run *f = ctx;
    int64_t end = (chunk + 1) * f->chunk_rows;
    for (int64_t i = chunk * f->chunk_rows; i < end && i < f->rows; i++)
        finish_row(f, i);
}

/* An int32 result: the sums, with their bias. Unsigned, so that it wraps as the kernel's
 * sums do. */
static asn_status whole_result(const asnd_nd *to, const asnd_view *sum,
                               const columns *bias) {
    int64_t n = to->shape[to->ndim - 1];
    uint32_t *s = (uint32_t *)(void *)sum->nd.data;
    for (int64_t i = 0; bias->whole && i < asn_nd_size(to); i++)
        s[i] += (uint32_t)bias->whole[i / n * bias->pitch + i % n];
    return asn_move(to, &sum->nd);
}

/* Batches broadcast by views of both operands, with the result's batch. */
static asn_status product_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const product_plan *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->out);
    asnd_view a, b, sum, out, rows;
    float *scale = NULL, *offset = NULL;
    finish_run f = {.factor = p->factor,
                    .eight = to->dtype == ASN_I8,
                    .gelu = p->gelu,
                    .act = p->act};
    ASN_TRY(asn_quant_ints(&e->operands[p->x1], tmp, &a));
    ASN_TRY(asn_quant_ints(&e->operands[p->x2], tmp, &b));
    if (p->trans1) asn_view_swap_last(&a);
    if (p->trans2) asn_view_swap_last(&b);
    /* Both operands in the result's batch: (..., m, k) and (..., k, n). */
    int64_t m = to->shape[to->ndim - 2], n = to->shape[to->ndim - 1], shape[64];
    memcpy(shape, to->shape, (size_t)to->ndim * sizeof *shape);
    shape[to->ndim - 1] = a.shape[a.nd.ndim - 1];
    asn_view_broadcast(&a, to->ndim, shape);
    shape[to->ndim - 2] = b.shape[b.nd.ndim - 2];
    shape[to->ndim - 1] = n;
    asn_view_broadcast(&b, to->ndim, shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_I32, to->ndim, to->shape, &sum));
    ASN_TRY(asn_cpu_matmul_int8(&a.nd, &b.nd, &sum.nd));
    if (p->bias >= 0) {
        const asnd_nd *bias = asn_exec_nd(e, p->bias);
        bool whole = bias->dtype == ASN_I32;
        ASN_TRY(columns_of(bias, to, whole ? ASN_I32 : ASN_F32, tmp,
                           whole ? &f.bias : &f.add));
    }
    if (to->dtype == ASN_I32) return whole_result(to, &sum, &f.bias);
    if (p->scale >= 0)
        ASN_TRY(asn_quant_words(asn_exec_nd(e, p->scale), tmp, &scale, &offset));
    /* Without a scale tensor the factor is a number (QuantMatmul) or 1. */
    f.scale = scale;
    f.word_offset = offset;
    f.one = p->scale < 0 || asn_nd_size(asn_exec_nd(e, p->scale)) == 1;
    if (p->rows >= 0) {
        ASN_TRY(asn_packed_of(asn_exec_nd(e, p->rows), ASN_F32, tmp, &rows));
        f.row = (const float *)(void *)rows.nd.data;
    }
    if (p->offset >= 0)
        ASN_TRY(columns_of(asn_exec_nd(e, p->offset), to, ASN_F32, tmp, &f.shift));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, to->ndim, to->shape, &out));
    f.sums = (const int32_t *)(void *)sum.nd.data;
    f.y = (float *)(void *)out.nd.data;
    f.m = m;
    f.n = n;
    f.rows = asn_nd_size(to) / n;
    f.chunk_rows = CHUNK / n + 1;
    asn_pool_run(finish_chunk, &f, (f.rows + f.chunk_rows - 1) / f.chunk_rows,
                 3 * (double)asn_nd_size(to));
    return asn_move(to, &out.nd);
}

/* Where the operators have their parameters, by arg; -1: none. */
static const struct {
    int8_t bias, scale, offset, rows, trans1, trans2, out;
} places[] = {{2, -1, -1, -1, -1, -1, 4}, {2, 3, -1, -1, 4, 5, 6},
              {4, 2, 3, -1, 5, 6, 7},     {5, 2, 3, 4, 6, 7, 8},
              {8, 3, 6, 2, 9, 10, 12},    {8, 3, 6, 2, 9, 10, 12},
              {8, 3, -1, 2, -1, -1, 12}};

/* The shape of the product, which has the larger rank of both. Batches broadcast; extents
 * of packed int4 count eightfold. */
asn_status asn_quant_product_shape(const asnd_call *c, bool trans1, bool trans2,
                                   int *ndim, int64_t *shape) {
    const asnd_nd *a = asn_call_nd(c, 0), *b = asn_call_nd(c, 1);
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

/* Dtypes and shapes of everything but x1 and x2. kind: the operator, a row of `places`;
 * shape: the product's. */
static asn_status check_product(const asnd_call *c, int kind, int ndim,
                                const int64_t *shape) {
    uint32_t floats = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    bool floats_only = kind < 2 || kind == 6;
    int scale = places[kind].scale, rows = places[kind].rows, out = places[kind].out;
    int64_t n = shape[ndim - 1], m = shape[ndim - 2];
    ASN_TRY(asn_call_one_of(
        c, out, floats_only ? floats : floats | ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    ASN_TRY(asn_call_same_shape(c, out, ndim, shape));
    bool whole = asn_call_nd(c, out)->dtype == ASN_I32;
    ASN_TRY(asn_call_one_of(c, places[kind].bias,
                            kind < 2 || whole
                                ? ASN_BIT(ASN_I32)
                                : floats | ASN_BIT(ASN_I32) | ASN_BIT(ASN_F32)));
    const asnd_nd *bias = asn_call_nd(c, places[kind].bias);
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
    int offset = places[kind].offset;
    bool scaled_rows = rows >= 0 && c->first[rows] >= 0,
         shifted = offset >= 0 && c->first[offset] >= 0;
    if (scaled_rows) ASN_TRY(asn_call_floating(c, rows));
    if (scaled_rows) ASN_TRY(asn_call_same_shape(c, rows, 1, &m));
    if (shifted) ASN_TRY(asn_call_floating(c, offset));
    if (whole && scaled_rows)
        return asn_error_set(ASN_ERR_VALUE, "%s: an int32 output takes no %s",
                             c->op->name, c->op->params[rows].name);
    if (shifted && (asn_call_nd(c, out)->dtype != ASN_I8 ||
                    !asn_nd_broadcasts(asn_call_nd(c, offset), ndim, shape)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s goes with an int8 output and has 1 or %lld elements",
                             c->op->name, c->op->params[offset].name, (long long)n);
    return ASN_OK;
}

/* V5, QuantMatmulWeightNz(x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset,
 * bias, transposeX1, transposeX2, groupSize, out): what later versions shall use is
 * absent. */
static asn_status check_reserved(const asnd_call *c) {
    static const int reserved[] = {4, 5, 7};
    for (int i = 0; i < 3; i++) {
        const asnd_operand *o = asn_call_operand(c, reserved[i]);
        if (o != NULL && !o->is_empty)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is reserved; it must be NULL",
                                 c->op->name, c->op->params[reserved[i]].name);
    }
    if (asn_call_int(c, 11) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: groupSize is %lld; it must be 0",
                         c->op->name, (long long)asn_call_int(c, 11));
}

/* FusedQuantMatmul(x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset, bias,
 * x3, fusedOpType, groupSize, out): which GELU; x2Offset and x3 are reserved, too. */
static asn_status take_gelu(const asnd_call *c, asnd_activation *act) {
    const char *type = c->args[10].p;
    for (int i = 6; i < 10; i += 3)
        if (c->first[i] >= 0 && !asn_call_operand(c, i)->is_empty)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is reserved; it must be NULL",
                                 c->op->name, c->op->params[i].name);
    *act = strcmp(type, "gelu_erf") == 0 ? ASN_GELU : ASN_GELU_TANH;
    if (*act == ASN_GELU || strcmp(type, "gelu_tanh") == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: fusedOpType is \"%.20s\"; it must be gelu_erf or "
                         "gelu_tanh",
                         c->op->name, type);
}

/* arg 0: QuantMatmul, 1: V2, 2: V3, 3: V4, 4: QuantMatmulWeightNz, 5: V5, 6:
 * FusedQuantMatmul. */
asn_status asn_planner_quant_matmul(asnd_call *c) {
    int kind = c->op->arg, ndim, out = places[kind].out;
    asnd_activation act = ASN_GELU;
    int64_t shape[ASN_ND_MAX_DIMS];
    bool trans1 = places[kind].trans1 >= 0 && asn_call_int(c, places[kind].trans1);
    bool trans2 = places[kind].trans2 >= 0 && asn_call_int(c, places[kind].trans2);
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_rank(c, i, 2, kind < 2 ? 3 : 6));
        bool packs = kind == 2 || kind == 3 || kind >= 5;
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_I8) | (packs ? ASN_BIT(ASN_I32) : 0)));
    }
    if (kind >= 4) ASN_TRY(check_reserved(c));
    if (kind == 6) ASN_TRY(take_gelu(c, &act));
    ASN_TRY(asn_quant_product_shape(c, trans1, trans2, &ndim, shape));
    ASN_TRY(check_product(c, kind, ndim, shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    /* An estimate: 60 products a nanosecond. */
    double work = (double)asn_nd_size(asn_call_nd(c, out)) *
                  (double)asn_call_nd(c, 0)->shape[asn_call_nd(c, 0)->ndim - 1];
    product_plan *p = asn_call_plan(c, product_body, sizeof *p, 500 + work / 60);
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
    p->gelu = kind == 6;
    p->act = act;
    p->factor = kind == 0 ? (float)asn_call_double(c, 3) : 1;
    return ASN_OK;
}
