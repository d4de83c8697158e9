/* CPU device, operators: numbers to small integers and back, elementwise.
 *
 * AscendQuant, AscendQuantV3, Quantize, AscendAntiQuant, GroupQuant,
 * FakeQuant...Cachemask. All in float32, rounded half to even unless the call says
 * otherwise, then clamped. An int32 result of a quantisation to int4 holds eight of them,
 * the first in the lowest bits (see quant_ints.c).
 *
 * Scales and offsets are spread over the tensor's shape as packed copies, so that one
 * loop serves scalars, rows and channels.
 *
 * Quantising is: divide or multiply, shift, round, clamp; dequantising needs no rounding.
 * Bodies are serial loops.
 */
#include "device/opapi/quant/quant.h"

#include <math.h>
#include <string.h>

/* x is rounded before it is clamped: what overflows stays an extreme. */
int32_t asn_quant_value(float x, asnd_round mode, int32_t low, int32_t high) {
    switch (mode) {
    case ASN_ROUND_FLOOR: x = floorf(x); break;
    case ASN_ROUND_CEIL: x = ceilf(x); break;
    case ASN_ROUND_TRUNC: x = truncf(x); break;
    default: x = rintf(x); break;
    }
    if (isnan(x)) return 0;
    /* (float)INT32_MAX is 2**31, so that >= keeps the conversion within range. */
    return x <= (float)low ? low : x >= (float)high ? high : (int32_t)x;
}

/* A 1-d parameter stands along the axis: dimensions of extent 1 follow it. One element
 * broadcasts as it is. */
static void stand_along(asnd_view *v, const asnd_nd *like, int axis) {
    if (v->nd.ndim == 1 && v->shape[0] != 1)
        for (int d = axis + 1; d < like->ndim; d++)
            asn_view_insert(v, v->nd.ndim, 1, 0);
}

/* Parameter i has one element, or is 1-d along the axis, or of any shape that broadcasts;
 * NULL fits. */
asn_status asn_quant_check(const asnd_call *c, int i, const asnd_nd *like, int axis) {
    if (c->first[i] < 0) return ASN_OK;
    asnd_view v;
    asn_view_set(&v, asn_call_nd(c, i));
    stand_along(&v, like, axis);
    if (asn_nd_size(&v.nd) == 1 ||
        (v.nd.ndim <= like->ndim && asn_nd_broadcasts(&v.nd, like->ndim, like->shape)))
        return ASN_OK;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has shape %s; it goes along dimension %d of %s",
        c->op->name, c->op->params[i].name,
        asn_shape_text(got, asn_call_nd(c, i)->ndim, asn_call_nd(c, i)->shape), axis,
        asn_shape_text(want, like->ndim, like->shape));
}

/* *values: the operand as float32 over like's whole shape; NULL for an absent parameter
 * (-1), which the loops then leave out. */
asn_status asn_quant_spread(aclOpExecutor *e, int operand, const asnd_nd *like, int axis,
                            asnd_tmp *tmp, const float **values) {
    asnd_view v, wide;
    *values = NULL;
    if (operand < 0) return ASN_OK;
    asn_view_set(&v, asn_exec_nd(e, operand));
    if (asn_nd_size(&v.nd) == 1)
        while (v.nd.ndim > 0)
            asn_view_drop(&v, 0);
    stand_along(&v, like, axis);
    ASN_TRY(asn_packed_like(&v.nd, like, ASN_F32, tmp, &wide));
    *values = (const float *)(void *)wide.nd.data;
    return ASN_OK;
}

asn_status asn_quant_out_shape(const asnd_call *c, int i, const asnd_nd *x, bool packs) {
    const asnd_nd *out = asn_call_nd(c, i);
    if (!packs || out->dtype != ASN_I32)
        return asn_call_same_shape(c, i, x->ndim, x->shape);
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    if (x->ndim == 0 || shape[x->ndim - 1] % 8 != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: eight int4 go into an int32; the last extent of the "
                             "input must be a multiple of 8",
                             c->op->name);
    shape[x->ndim - 1] /= 8;
    return asn_call_same_shape(c, i, x->ndim, shape);
}

asn_status asn_quant_out_type(const asnd_call *c, int i, int64_t dst) {
    const asnd_operand *o = asn_call_operand(c, i);
    bool eight = o->nd.dtype == ASN_I8 && !o->is_int4;
    bool fits =
        eight ? dst == ACL_INT8 : dst == ACL_INT4 || (!o->is_int4 && dst == ACL_INT32);
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE,
                         "%s: dstType is %lld; 2 goes with an int8 output, 3 and 29 with "
                         "an int32 one, 29 with an int4 one",
                         c->op->name, (long long)dst);
}

/* ---- AscendQuant(x, scale, offset, sqrtMode, roundMode, dstType, y); V3 with an axis;
 * Quantize(x, scales, zeroPoints, dtype, axis, out) */

enum { MULTIPLIES, DIVIDES };

/* n[0]: the output's operand, n[1]: the rounding. AscendQuant multiplies by the scale
 * (twice with sqrtMode), Quantize divides by it; both add the offset. */
static asn_status quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]), *to = asn_exec_nd(e, (int)p->n[0]);
    asnd_view x, out;
    const float *scale, *offset;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_quant_spread(e, p->at[1], in, p->axis, tmp, &scale));
    ASN_TRY(asn_quant_spread(e, p->at[2], in, p->axis, tmp, &offset));
    ASN_TRY(asn_tmp_view(tmp, to->dtype, to->ndim, to->shape, &out));
    int64_t n = asn_nd_size(in);
    bool packs = p->kind == MULTIPLIES, twice = packs && p->arg[3].i;
    int32_t *q = asn_tmp_alloc(tmp, (size_t)n * sizeof *q);
    if (q == NULL) return ASN_ERR_MEMORY;
    int32_t low = asn_quant_least(&e->operands[p->n[0]], packs);
    /* The signed range is [low, -1 - low]. */
    int32_t high = low == 0 ? 255 : -1 - low;
    const float *v = (const float *)(void *)x.nd.data;
    for (int64_t i = 0; i < n; i++) {
        float y = packs ? v[i] * scale[i] : v[i] / scale[i];
        if (twice) y *= scale[i];
        if (offset != NULL) y += offset[i];
        q[i] = asn_quant_value(y, (asnd_round)p->n[1], low, high);
    }
    asn_quant_store(q, n, to->dtype, packs, out.nd.data);
    return asn_quant_done(e, (int)p->n[0], &out);
}

/* *mode: the asnd_round that the string parameter i names. */
static asn_status round_mode(const asnd_call *c, int i, int64_t *mode) {
    static const char *const names[] = {"round", "floor", "ceil", "trunc"};
    const char *name = c->args[i].p;
    for (int k = 0; k < 4; k++)
        if (strcmp(name, names[k]) == 0) {
            *mode = k;
            return ASN_OK;
        }
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: roundMode is \"%.20s\"; it must be round, floor, ceil or "
                         "trunc",
                         c->op->name, name);
}

/* The type asked for and the output's must agree: CANN has both in the call.
 * packs: an int4 that is asked for may come packed in int32. */
static asn_status check_type(const asnd_call *c, int64_t dst, int out, bool packs) {
    bool int4 = asn_call_operand(c, out)->is_int4;
    int acl = int4 ? ACL_INT4 : asn_dtype_table[asn_call_nd(c, out)->dtype].acl;
    if (dst == acl || (packs && dst == ACL_INT4 && acl == ACL_INT32)) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE,
                         "%s: the type asked for is %lld, but %s has dtype %s",
                         c->op->name, (long long)dst, c->op->params[out].name,
                         int4 ? "int4" : asn_dtype_name(asn_call_nd(c, out)->dtype));
}

/* arg DIVIDES: Quantize. Without an axis in the call it is the last one. */
asn_status asn_planner_quant(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    bool divides = c->op->arg == DIVIDES;
    int out = c->op->num_params - 1, axis = x->ndim - 1;
    int64_t mode = ASN_ROUND_EVEN;
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 1));
    ASN_TRY(asn_call_one_of(
        c, out, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32) | (divides ? ASN_BIT(ASN_U8) : 0)));
    if (!divides) ASN_TRY(round_mode(c, 4, &mode));
    ASN_TRY(check_type(c, asn_call_int(c, divides ? 3 : 5), out, !divides));
    if (divides || out == 7)
        ASN_TRY(asn_call_axis(c, asn_call_int(c, divides ? 4 : 6), x->ndim, &axis));
    for (int i = 1; i < 3; i++)
        ASN_TRY(asn_quant_check(c, i, x, axis));
    ASN_TRY(asn_quant_out_shape(c, out, x, !divides));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, quant_body, 300 + 6 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->n[0] = c->first[out];
    p->n[1] = mode;
    return ASN_OK;
}

/* ---- AscendAntiQuant(x, scale, offset, dstType, sqrtMode, y): (x + offset) * scale */

/* y holds x as float32 first, and is scaled in place. */
static asn_status anti_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[5]);
    asnd_view x, out;
    const float *scale, *offset;
    ASN_TRY(asn_packed_out(e, p, 5, ASN_F32, tmp, &out));
    float *y = (float *)(void *)out.nd.data;
    int64_t n = asn_nd_size(to);
    ASN_TRY(asn_quant_ints(&e->operands[p->at[0]], tmp, &x));
    ASN_TRY(asn_move(&out.nd, &x.nd));
    ASN_TRY(asn_quant_spread(e, p->at[1], to, to->ndim - 1, tmp, &scale));
    ASN_TRY(asn_quant_spread(e, p->at[2], to, to->ndim - 1, tmp, &offset));
    for (int64_t i = 0; i < n; i++) {
        float v = offset != NULL ? y[i] + offset[i] : y[i];
        v *= scale[i];
        y[i] = p->arg[4].i ? v * scale[i] : v;
    }
    return asn_packed_done(e, p, 5, &out);
}

/* An int32 of x holds eight int4: y's last extent is eight times as long. */
asn_status asn_planner_anti_quant(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *y = asn_call_nd(c, 5);
    int64_t shape[ASN_ND_MAX_DIMS];
    ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    ASN_TRY(asn_call_floating(c, 1));
    ASN_TRY(asn_call_floating(c, 2));
    ASN_TRY(asn_call_one_of(c, 5, ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16)));
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(check_type(c, asn_call_int(c, 3), 5, false));
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    if (x->dtype == ASN_I32) shape[x->ndim - 1] *= 8;
    ASN_TRY(asn_call_same_shape(c, 5, x->ndim, shape));
    for (int i = 1; i < 3; i++)
        ASN_TRY(asn_quant_check(c, i, y, y->ndim - 1));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    return asn_packed_plan(c, anti_quant_body, 300 + 4 * (double)asn_nd_size(y))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- GroupQuant(x, scale, groupIndex, offset, dstType, y): row i of x is multiplied
 * with row g of scale, groupIndex[g - 1] <= i < groupIndex[g]. Rows of no group are left.
 */

/* A row at a time. groupIndex is data: its order is checked on the way. */
static asn_status group_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->at[5]);
    asnd_view x, scale, ends, offset, out, rows;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_in(e, p, 1, ASN_F32, tmp, &scale));
    ASN_TRY(asn_packed_in(e, p, 2, ASN_I64, tmp, &ends));
    ASN_TRY(asn_packed_out(e, p, 5, to->dtype, tmp, &out));
    float shift = 0;
    if (p->at[3] >= 0) {
        ASN_TRY(asn_packed_in(e, p, 3, ASN_F32, tmp, &offset));
        shift = *(const float *)(void *)offset.nd.data;
    }
    const int64_t *end = (const int64_t *)(void *)ends.nd.data;
    int64_t width = x.shape[1], groups = scale.shape[0], row = 0;
    bool packs = to->dtype == ASN_I32;
    int64_t pitch = out.shape[1] * asn_itemsize(to->dtype);
    int32_t low = asn_quant_least(&e->operands[p->at[5]], true);
    int32_t *q = asn_tmp_alloc(tmp, (size_t)width * sizeof *q);
    if (q == NULL) return ASN_ERR_MEMORY;
    for (int64_t g = 0; g < groups; g++) {
        const float *s = (const float *)(void *)scale.nd.data + g * width;
        if (end[g] < row || end[g] > x.shape[0])
            return asn_error_set(ASN_ERR_INDEX, "groupIndex %lld is not in [%lld, %lld]",
                                 (long long)end[g], (long long)row,
                                 (long long)x.shape[0]);
        for (; row < end[g]; row++) {
            const float *v = (const float *)(void *)x.nd.data + row * width;
            for (int64_t k = 0; k < width; k++)
                q[k] =
                    asn_quant_value(v[k] * s[k] + shift, ASN_ROUND_EVEN, low, -1 - low);
            asn_quant_store(q, width, to->dtype, packs, out.nd.data + row * pitch);
        }
    }
    /* Rows of no group, which are the last ones, are not written. */
    if (row == 0) return ASN_OK;
    asn_view_slice(&out, 0, 0, row, 1);
    asn_view_set(&rows, to);
    asn_view_slice(&rows, 0, 0, row, 1);
    return asn_quant_write(&e->operands[p->at[5]], &rows.nd, &out);
}

/* scale is (groups, width), groupIndex the end of each group, offset one number. */
asn_status asn_planner_group_quant(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *scale = asn_call_nd(c, 1);
    for (int i = 0; i < 4; i++)
        if (i != 2) ASN_TRY(asn_call_floating(c, i));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_index_dtype(c, 2, asn_call_nd(c, 2)));
    ASN_TRY(asn_call_one_of(c, 5, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    int64_t shape[2] = {scale->shape[0], x->shape[1]};
    ASN_TRY(asn_call_same_shape(c, 1, 2, shape));
    ASN_TRY(asn_call_same_shape(c, 2, 1, shape));
    if (c->first[3] >= 0 && asn_nd_size(asn_call_nd(c, 3)) != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: offsetOptional must have one element",
                             c->op->name);
    ASN_TRY(check_type(c, asn_call_int(c, 4), 5, true));
    ASN_TRY(asn_quant_out_shape(c, 5, x, true));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    return asn_packed_plan(c, group_quant_body, 300 + 5 * (double)asn_nd_size(x))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}

/* ---- FakeQuantPerChannelAffineCachemask(self, scale, zeroPoint, axis, quantMin,
 * quantMax, out, mask), PerTensor: fakeQuantEnabled for the axis. As torch: the
 * reciprocal of the scale is multiplied, and the zero point added after rounding. */

/* mask: whether the rounded value was in range; without fakeQuantEnabled x passes as it
 * is. */
static asn_status fake_quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    asnd_view x, out, mask;
    const float *scale, *zero;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_quant_spread(e, p->at[1], in, p->axis, tmp, &scale));
    ASN_TRY(asn_quant_spread(e, p->at[2], in, p->axis, tmp, &zero));
    ASN_TRY(asn_packed_out(e, p, 6, ASN_F32, tmp, &out));
    ASN_TRY(asn_packed_out(e, p, 7, ASN_BOOL, tmp, &mask));
    const float *v = (const float *)(void *)x.nd.data;
    float *y = (float *)(void *)out.nd.data;
    double low = (double)p->arg[4].i, high = (double)p->arg[5].i;
    bool enabled = p->kind == 0 || p->arg[3].f >= 1;
    int64_t n = asn_nd_size(in);
    for (int64_t i = 0; i < n; i++) {
        double q = (double)rintf(v[i] * (1.0f / scale[i])) + (double)zero[i];
        double kept = q < low ? low : q > high ? high : q;
        mask.nd.data[i] = (char)(!enabled || (q >= low && q <= high));
        y[i] = enabled ? (float)(kept - (double)zero[i]) * scale[i] : v[i];
    }
    ASN_TRY(asn_packed_done(e, p, 7, &mask));
    return asn_packed_done(e, p, 6, &out);
}

/* One scale and zero point for each channel, or for all (arg 1). */
asn_status asn_planner_fake_quant(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool per_tensor = c->op->arg == 1;
    int axis = 0;
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_floating(c, i));
    ASN_TRY(asn_call_floating(c, 6));
    ASN_TRY(asn_call_one_of(c, 7, ASN_BIT(ASN_BOOL)));
    ASN_TRY(
        asn_call_one_of(c, 2, ASN_BIT(ASN_I32) | ASN_BIT(ASN_I64) | ASN_BIT(ASN_F32)));
    if (!per_tensor) ASN_TRY(asn_call_axis(c, asn_call_int(c, 3), self->ndim, &axis));
    if (asn_call_int(c, 4) > asn_call_int(c, 5))
        return asn_error_set(ASN_ERR_VALUE, "%s: quantMin is %lld, above quantMax, %lld",
                             c->op->name, (long long)asn_call_int(c, 4),
                             (long long)asn_call_int(c, 5));
    int64_t channels = per_tensor || self->ndim == 0 ? 1 : self->shape[axis];
    for (int i = 1; i < 3; i++)
        if (asn_nd_size(asn_call_nd(c, i)) != channels)
            return asn_call_same_shape(c, i, 1, &channels);
    for (int i = 6; i < 8; i++)
        ASN_TRY(asn_call_same_shape(c, i, self->ndim, self->shape));
    if (asn_call_operand(c, 6)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, fake_quant_body, 300 + 6 * (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = per_tensor;
    p->axis = axis;
    return ASN_OK;
}
