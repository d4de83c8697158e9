/* CPU device, operators: quantisation with scales found from the data, and the bits of
 * scales and signs.
 *
 * DynamicQuant, DynamicQuantV2, TransQuantParamV2, ConvertWeightToINT4Pack, SignBitsPack,
 * SignBitsUnpack. Each is a loop over packed copies (packed.h); a row's scale needs the
 * whole row first, so rows are the unit of work.
 */
#include <math.h>
#include <string.h>

#include "device/opapi/quant/quant.h"

/* ---- DynamicQuant(x, smoothScales, y, scale), DynamicQuantV2(x, smoothScales,
 * groupIndex, dstType, y, scale, offset): one scale for a row; with an offset the range
 * of the row is the whole range of the integers. A row of zeros has scale 0 and zeros. */

/* One row's result: q, scale and offset. four: integers of 4 bits; packs: eight of them
 * in an int32; shifted: with an offset. */
typedef struct {
    const asnd_packed *p;
    bool packs, four, shifted;
    int32_t *q;
    float scale, offset;
} row_work;

/* Quantises one row into w->q. v: n floats of the caller's, the row after smoothing,
 * which is read twice. */
static void quantise_row(row_work *w, const float *x, const float *smooth, float *v,
                         int64_t n) {
    int32_t top = w->four ? 7 : 127, bottom = -1 - top;
    float low = 0, high = 0, most = 0;
    for (int64_t k = 0; k < n; k++) {
        v[k] = smooth != NULL ? x[k] * smooth[k] : x[k];
        most = fmaxf(most, fabsf(v[k]));
        low = k == 0 || v[k] < low ? v[k] : low;
        high = k == 0 || v[k] > high ? v[k] : high;
    }
    w->scale = w->shifted ? (high - low) / (float)(top - bottom) : most / (float)top;
    w->offset = w->shifted && w->scale > 0 ? (float)top - high / w->scale : 0;
    for (int64_t k = 0; k < n; k++) {
        float y = w->scale > 0 ? v[k] / w->scale + w->offset : 0;
        w->q[k] = asn_quant_value(y, ASN_ROUND_EVEN, bottom, top);
    }
}

/* kind 1: V2. group: whose smooth scales a row takes; groupIndex says where groups end,
 * and rows behind the last end belong to the last group. */
static asn_status dynamic_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    int y = p->kind ? 4 : 2, group_at = p->kind ? p->at[2] : -1;
    const asnd_nd *to = asn_exec_nd(e, p->at[y]);
    asnd_view x, smooth, ends, out, scales, offsets;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_out(e, p, y, to->dtype, tmp, &out));
    ASN_TRY(asn_packed_out(e, p, y + 1, ASN_F32, tmp, &scales));
    row_work w = {
        .p = p, .packs = to->dtype == ASN_I32, .shifted = p->kind && p->at[6] >= 0};
    w.four = asn_quant_least(&e->operands[p->at[y]], true) == -8;
    if (w.shifted) ASN_TRY(asn_packed_out(e, p, 6, ASN_F32, tmp, &offsets));
    const float *factors = NULL;
    if (p->at[1] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 1, ASN_F32, tmp, &smooth));
        factors = (const float *)(void *)smooth.nd.data;
    }
    if (group_at >= 0)
        ASN_TRY(asn_packed_of(asn_exec_nd(e, group_at), ASN_I64, tmp, &ends));
    /* n is above 0: an empty input has no plan. */
    int64_t n = x.shape[x.nd.ndim - 1], rows = asn_nd_size(&x.nd) / n, group = 0;
    int64_t pitch = out.shape[out.nd.ndim - 1] * asn_itemsize(to->dtype);
    /* Scratch of one row: after smoothing, and its integers. */
    float *v = asn_tmp_alloc(tmp, (size_t)n * sizeof *v);
    w.q = asn_tmp_alloc(tmp, (size_t)n * sizeof *w.q);
    if (v == NULL || w.q == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < rows; i++) {
        if (group_at >= 0) {
            const int64_t *end = (const int64_t *)(void *)ends.nd.data;
            while (group + 1 < ends.shape[0] && i >= end[group])
                group++;
        }
        quantise_row(&w, (const float *)(void *)x.nd.data + i * n,
                     factors != NULL ? factors + group * n : NULL, v, n);
        asn_quant_store(w.q, n, to->dtype, w.packs, out.nd.data + i * pitch);
        ((float *)(void *)scales.nd.data)[i] = w.scale;
        if (w.shifted) ((float *)(void *)offsets.nd.data)[i] = w.offset;
    }
    ASN_TRY(asn_quant_done(e, p->at[y], &out));
    ASN_TRY(asn_packed_done(e, p, y + 1, &scales));
    return w.shifted ? asn_packed_done(e, p, 6, &offsets) : ASN_OK;
}

/* arg 1: V2, with groups of rows and, where its operand is there, an offset. smoothScales
 * is one row, or one for each group. */
asn_status asn_planner_dynamic_quant(asnd_call *c) {
    bool second = c->op->arg == 1;
    int y = second ? 4 : 2;
    const asnd_nd *x = asn_call_nd(c, 0), *smooth = asn_call_nd(c, 1);
    const asnd_nd *group = second ? asn_call_nd(c, 2) : NULL;
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 1));
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_one_of(c, y, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    ASN_TRY(asn_quant_out_shape(c, y, x, true));
    if (second) ASN_TRY(asn_quant_out_type(c, y, asn_call_int(c, 3)));
    int64_t shape[2] = {group != NULL ? asn_nd_size(group) : 0, x->shape[x->ndim - 1]};
    if (group != NULL && (smooth == NULL || !asn_is_integer(group->dtype)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groupIndexOptional holds integers and goes with "
                             "smoothScalesOptional",
                             c->op->name);
    if (group != NULL) ASN_TRY(asn_call_same_shape(c, 1, 2, shape));
    if (smooth != NULL && group == NULL) ASN_TRY(asn_call_same_shape(c, 1, 1, shape + 1));
    for (int i = y + 1; i < c->op->num_params; i++) {
        if (c->first[i] < 0) continue;
        ASN_TRY(asn_call_same_shape(c, i, x->ndim - 1, x->shape));
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_F32)));
    }
    if (asn_call_operand(c, y)->is_empty) return ASN_OK;
    return asn_packed_plan(c, dynamic_quant_body, 300 + 8 * (double)asn_nd_size(x))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- TransQuantParamV2(scale, offset, out): the word that products dequantise by:
 * float32 of 19 bits, bit 46, a 9 bit offset at bit 37 */

/* The low 13 bits of the float32 are cut: the word has 19 of them. */
static asn_status quant_param_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[2]);
    const float *scale, *offset;
    asnd_view out;
    ASN_TRY(asn_quant_spread(e, p->at[0], to, to->ndim - 1, tmp, &scale));
    ASN_TRY(asn_quant_spread(e, p->at[1], to, to->ndim - 1, tmp, &offset));
    ASN_TRY(asn_packed_out(e, p, 2, to->dtype, tmp, &out));
    uint64_t *words = (uint64_t *)(void *)out.nd.data;
    for (int64_t i = 0; i < asn_nd_size(to); i++) {
        uint32_t bits;
        memcpy(&bits, &scale[i], sizeof bits);
        words[i] = (bits & UINT32_C(0xffffe000)) | UINT64_C(1) << 46;
        if (offset == NULL) continue;
        int32_t shift = asn_quant_value(offset[i], ASN_ROUND_EVEN, -256, 255);
        words[i] |= ((uint64_t)shift & 0x1ff) << 37;
    }
    return asn_packed_done(e, p, 2, &out);
}

/* scale and offset broadcast to the output, one word for each element of it. */
asn_status asn_planner_quant_param(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    for (int i = 0; i < 2; i++) {
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_F32)));
        ASN_TRY(asn_quant_check(c, i, out, out->ndim - 1));
    }
    ASN_TRY(asn_call_one_of(c, 2, ASN_BIT(ASN_I64) | ASN_BIT(ASN_U64)));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    return asn_packed_plan(c, quant_param_body, 300 + 2 * (double)asn_nd_size(out))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- ConvertWeightToINT4Pack(weight, weightInt4Pack): int32 values of [-8, 7], eight to
 * an int32 */

static asn_status int4_pack_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view in, out;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_I32, tmp, &in));
    ASN_TRY(asn_packed_out(e, p, 1, asn_exec_nd(e, p->at[1])->dtype, tmp, &out));
    asn_quant_store((const int32_t *)(void *)in.nd.data, asn_nd_size(&in.nd),
                    out.nd.dtype, true, out.nd.data);
    return asn_quant_done(e, p->at[1], &out);
}

/* The output is int32, with an eighth of the last extent, or a tensor of int4. */
asn_status asn_planner_int4_pack(asnd_call *c) {
    const asnd_nd *weight = asn_call_nd(c, 0);
    bool int4 = asn_call_operand(c, 1)->is_int4;
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(i == 1 && int4 ? ASN_I8 : ASN_I32)));
    ASN_TRY(asn_quant_out_shape(c, 1, weight, true));
    if (asn_call_operand(c, 1)->is_empty) return ASN_OK;
    return asn_packed_plan(c, int4_pack_body, 300 + (double)asn_nd_size(weight))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- SignBitsPack(self, size, out), SignBitsUnpack(self, size, dtype, out): bit i of
 * byte k is whether element 8 k + i is at least 0; the rest of the last byte is 0 */

/* NaN is not at least 0: its bit is 0. */
static asn_status sign_pack_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view in, out;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &in));
    ASN_TRY(asn_packed_out(e, p, 2, ASN_U8, tmp, &out));
    memset(out.nd.data, 0, (size_t)asn_nd_size(&out.nd));
    const float *x = (const float *)(void *)in.nd.data;
    for (int64_t i = 0; i < in.shape[0]; i++)
        if (x[i] >= 0) out.nd.data[i / 8] |= (char)(1 << i % 8);
    return asn_packed_done(e, p, 2, &out);
}

/* 1.0 for a bit that is set, -1.0 for one that is not. */
static asn_status sign_unpack_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view in, out;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_U8, tmp, &in));
    ASN_TRY(asn_packed_out(e, p, 3, ASN_F32, tmp, &out));
    float *x = (float *)(void *)out.nd.data;
    for (int64_t i = 0; i < 8 * in.shape[0]; i++)
        x[i] = in.nd.data[i / 8] >> i % 8 & 1 ? 1.0f : -1.0f;
    return asn_packed_done(e, p, 3, &out);
}

/* arg 1: SignBitsUnpack. size: the first extent of the output, which must divide its
 * elements. */
asn_status asn_planner_sign_bits(asnd_call *c) {
    bool unpack = c->op->arg == 1;
    int out = unpack ? 3 : 2;
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t size = asn_call_int(c, 1);
    uint32_t floats = ASN_BIT(ASN_F32) | ASN_BIT(ASN_F16), bytes = ASN_BIT(ASN_U8);
    ASN_TRY(asn_call_one_of(c, 0, unpack ? bytes : floats));
    ASN_TRY(asn_call_one_of(c, out, unpack ? floats : bytes));
    ASN_TRY(asn_call_rank(c, 0, 1, 1));
    int64_t n = unpack ? 8 * self->shape[0] : (self->shape[0] + 7) / 8;
    if (size <= 0 || n % size != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: size is %lld; it must divide the %lld %s", c->op->name,
                             (long long)size, (long long)n, unpack ? "signs" : "bytes");
    if (unpack && asn_call_int(c, 2) != asn_dtype_table[asn_call_nd(c, 3)->dtype].acl)
        return asn_error_set(ASN_ERR_TYPE, "%s: dtype is not that of out", c->op->name);
    int64_t shape[2] = {size, n / size};
    ASN_TRY(asn_call_same_shape(c, out, 2, shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    return asn_packed_plan(c, unpack ? sign_unpack_body : sign_pack_body,
                           300 + (double)asn_nd_size(self))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}
