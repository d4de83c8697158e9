/* CPU device, operators: integers to floats, and activations to integers.
 *
 *     DequantSwigluQuant   v = (x + integer bias) * weightScale * activationScale + real
 *         bias; y = swish(one half of v) * the other; then quantised, quantScale first
 *     SwiGluQuantV2        the same without the first step, by groups of rows
 *     DequantBias          the first step alone
 *     GeluQuant            y = gelu(x), then quantised
 *
 * "static": round(y * scale + offset); "dynamic": y times scale, with a scale of each
 * row. activateLeft: the left half is activated. Groups are rows in order, each with
 * scales of its own; rows behind the last group take the last group's.
 */
#include <string.h>

#include "device/opapi/core/activation.h"
#include "device/opapi/quant/row_quant.h"

/* Operands, -1: absent. */
typedef struct {
    asnd_plan_head head;
    int x, weight_scale, row_scale, bias, groups, out;
    bool left, sizes;
    asnd_activation act; /* swish: of a gate */
    int64_t rows, wide, n, num_groups;
    asnd_row_quant q;
} act_plan;

/* ---- the first step */

typedef struct {
    const float *weight, *row, *add;
    int64_t weight_size, row_size;
    const int32_t *whole; /* an integer bias */
} dequant;

/* Every parameter as packed floats, but for an integer bias, which is added exactly. */
static asn_status dequant_begin(aclOpExecutor *e, const act_plan *p, asnd_tmp *tmp,
                                dequant *d) {
    memset(d, 0, sizeof *d);
    if (p->weight_scale >= 0) {
        const asnd_nd *a = asn_exec_nd(e, p->weight_scale);
        ASN_TRY(asn_packed_data(a, ASN_F32, tmp, &d->weight));
        d->weight_size = asn_nd_size(a);
    }
    if (p->row_scale >= 0) {
        const asnd_nd *a = asn_exec_nd(e, p->row_scale);
        ASN_TRY(asn_packed_data(a, ASN_F32, tmp, &d->row));
        d->row_size = asn_nd_size(a);
    }
    if (p->bias < 0) return ASN_OK;
    const asnd_nd *bias = asn_exec_nd(e, p->bias);
    return bias->dtype == ASN_I32 ? asn_packed_data(bias, ASN_I32, tmp, &d->whole)
                                  : asn_packed_data(bias, ASN_F32, tmp, &d->add);
}

/* v = row i of x, dequantised. x: int32, or float32 where `whole` is NULL. */
static void dequant_row(const act_plan *p, const dequant *d, int64_t i, int64_t group,
                        const int32_t *whole, const float *x, float *v) {
    /* A row of scales for each group, one row, or one number. */
    const float *weight = d->weight;
    if (weight != NULL && d->weight_size > p->wide) weight += group * p->wide;
    /* v = (x + whole) * weight * row + add: weight of each column, row of each row. The
     * sum of two int32 is made in 64 bits, as it may not fit 32. */
    for (int64_t j = 0; j < p->wide; j++) {
        int64_t at = i * p->wide + j;
        if (whole != NULL) {
            v[j] = (float)((int64_t)whole[at] + (d->whole ? d->whole[j] : 0));
        } else {
            v[j] = x[at] + (d->whole ? (float)d->whole[j] : 0);
        }
        if (weight != NULL) v[j] *= weight[d->weight_size == 1 ? 0 : j];
        if (d->row != NULL) v[j] *= d->row[d->row_size == 1 ? 0 : i];
        if (d->add != NULL) v[j] += d->add[j];
    }
}

/* ---- the activation */

/* Swish of one half of the row times the other half; gelu of all of it. */
static void activate(const act_plan *p, const float *v, float *y) {
    const bool gate = p->act == ASN_SWISH;
    const float *a = gate && !p->left ? v + p->n : v, *b = p->left ? v + p->n : v;
    /* SwiGLU (Shazeer, "GLU Variants Improve Transformer", 2020): swish(a) * b, of the
     * two halves of a row. */
    asn_activate(p->act, p->n, a, y);
    for (int64_t j = 0; gate && j < p->n; j++)
        y[j] *= b[j];
}

/* A row at a time through one buffer: dequantised, activated, quantised. */
static asn_status act_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    act_plan p = *(const act_plan *)plan;
    const asnd_nd *x = asn_exec_nd(e, p.x);
    const int64_t *ends = NULL;
    const int32_t *whole = NULL;
    const float *real = NULL;
    dequant d;
    if (x->dtype == ASN_I32)
        ASN_TRY(asn_packed_data(x, ASN_I32, tmp, &whole));
    else
        ASN_TRY(asn_packed_data(x, ASN_F32, tmp, &real));
    ASN_TRY(dequant_begin(e, &p, tmp, &d));
    if (p.groups >= 0) {
        const int64_t *given;
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p.groups), ASN_I64, tmp, &given));
        ASN_TRY(asn_packed_ends(e, "groupIndex", given, p.num_groups, p.sizes, p.rows,
                                tmp, &ends));
    }
    ASN_TRY(asn_row_quant_begin(e, &p.q, p.rows, p.n, tmp));
    float *v = asn_tmp_alloc(tmp, (size_t)(p.wide + p.n) * sizeof *v);
    if (v == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0, group = 0; i < p.rows; i++) {
        while (ends != NULL && group + 1 < p.num_groups && i >= ends[group])
            group++;
        dequant_row(&p, &d, i, group, whole, real, v);
        activate(&p, v, v + p.wide);
        asn_row_quant_put(&p.q, i, group, v + p.wide, p.n);
    }
    return asn_row_quant_end(e, &p.q);
}

/* ---- planners */

/* "static" or "dynamic". */
static asn_status take_mode(const asnd_call *c, const char *name, bool *dynamic) {
    const char *mode = c->args[asn_call_param_named(c, name)].p;
    *dynamic = mode != NULL && strcmp(mode, "dynamic") == 0;
    if (mode == NULL || *dynamic || strcmp(mode, "static") == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s is \"%.20s\"; it must be static or dynamic", c->op->name,
                         name, mode);
}

/* A tensor of `size` numbers (or one), or absent. */
static asn_status sized(const asnd_call *c, int operand, const char *name, int64_t size,
                        bool integers) {
    if (operand < 0) return ASN_OK;
    const asnd_nd *a = &c->e->operands[operand].nd;
    bool fits = asn_is_floating(a->dtype) || (integers && a->dtype == ASN_I32);
    if (fits && (asn_nd_size(a) == size || asn_nd_size(a) == 1)) return ASN_OK;
    char got[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, dtype %s; it must have %lld numbers",
                         c->op->name, name, asn_shape_text(got, a->ndim, a->shape),
                         asn_dtype_name(a->dtype), (long long)size);
}

/* x's rows and their width; integers where they may be dequantised, halves where it has
 * two. */
static asn_status take_x(asnd_call *c, act_plan *p, bool integers, bool halves) {
    const asnd_nd *x = asn_call_nd(c, 0);
    uint32_t floats = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F32);
    ASN_TRY(asn_call_one_of(c, 0, integers ? floats | ASN_BIT(ASN_I32) : floats));
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    p->x = c->first[0];
    p->wide = x->shape[x->ndim - 1];
    p->n = halves ? p->wide / 2 : p->wide;
    p->rows = p->wide > 0 ? asn_nd_size(x) / p->wide : 0;
    if (!halves || p->wide % 2 == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: x has rows of %lld; their number must be even", c->op->name,
                         (long long)p->wide);
}

/* The groups and what is quantised: scales, offsets, outputs. */
static asn_status take_quant(asnd_call *c, act_plan *p, const char *scale,
                             const char *offset, const char *y, const char *scale_out) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t shape[ASN_ND_MAX_DIMS];
    /* A dynamic scale is the row's own, and has no offset. */
    p->num_groups = 1;
    p->groups = asn_call_operand_named(c, "groupIndexOptional");
    if (p->groups >= 0) {
        const asnd_nd *g = &c->e->operands[p->groups].nd;
        p->num_groups = asn_nd_size(g);
        if (!asn_is_integer(g->dtype) || g->ndim != 1 || p->num_groups == 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: groupIndex must be a 1-d tensor of integers",
                                 c->op->name);
    }
    p->q.scale = asn_call_operand_named(c, scale);
    p->q.offset = p->q.dynamic ? -1 : asn_call_operand_named(c, offset);
    p->q.y = asn_call_operand_named(c, y);
    p->q.scale_out = asn_call_operand_named(c, scale_out);
    if (p->q.dynamic && p->q.scale_out < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL", c->op->name,
                             scale_out);
    ASN_TRY(asn_row_quant_factor(c, p->q.scale, scale, p->n, p->num_groups));
    ASN_TRY(asn_row_quant_factor(c, p->q.offset, offset, p->n, p->num_groups));
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[x->ndim - 1] = p->n;
    return asn_row_quant_check(c, &p->q, x->ndim, shape);
}

/* An empty x has no plan. */
static asn_status keep(asnd_call *c, const act_plan *p) {
    if (p->rows * p->n == 0) return ASN_OK;
    return asn_call_keep(c, act_body, p, sizeof *p, 300 + 30 * (double)(p->rows * p->n));
}

/* SwiGluQuantV2(x, smoothScales, offsets, groupIndex, activateLeft, quantMode,
 * groupListType, dstType, y, scale). */
static asn_status plan_swiglu(asnd_call *c, act_plan *p) {
    int64_t type = asn_call_int(c, asn_call_param_named(c, "groupListType"));
    ASN_TRY(take_x(c, p, false, true));
    ASN_TRY(take_mode(c, "quantModeOptional", &p->q.dynamic));
    p->sizes = type == 1;
    p->q.inverse = true;
    if (type != 0 && type != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groupListType is %lld; it must be 0 (ends) or 1 "
                             "(sizes)",
                             c->op->name, (long long)type);
    ASN_TRY(
        take_quant(c, p, "smoothScalesOptional", "offsetsOptional", "yOut", "scaleOut"));
    int64_t dst = asn_call_int(c, asn_call_param_named(c, "dstType"));
    /* dstType says again what the output is of. */
    bool four = asn_quant_least(&c->e->operands[p->q.y], true) == -8;
    if (dst == (four ? ACL_INT4 : ACL_INT8)) return keep(c, p);
    return asn_error_set(ASN_ERR_VALUE, "%s: dstType is %lld; the output's is %d",
                         c->op->name, (long long)dst, four ? ACL_INT4 : ACL_INT8);
}

/* What DequantSwigluQuantV2 and GeluQuant say of their integers: int8, halves to even.
 * The gate of V2's swigluMode 1 is of GPT-OSS and not here. */
static asn_status check_variants(const asnd_call *c, const act_plan *p) {
    int dst = asn_call_param_named(c, "dstType"),
        dim = asn_call_param_named(c, "activateDim"),
        gate = asn_call_param_named(c, "swigluMode");
    static const char *const names[] = {"roundModeOptional", "roundMode"};
    for (int i = 0; i < 2; i++) {
        int at = asn_call_param_named(c, names[i]);
        const char *mode = at < 0 ? NULL : c->args[at].p;
        if (mode != NULL && strcmp(mode, "rint") != 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is \"%.20s\"; to int8 it must be rint",
                                 c->op->name, names[i], mode);
    }
    if (dst < 0) return ASN_OK;
    int64_t type = asn_call_int(c, dst), last = asn_call_nd(c, 0)->ndim - 1;
    if (type != ACL_INT8 || c->e->operands[p->q.y].nd.dtype != ASN_I8)
        return asn_error_set(ASN_ERR_VALUE, "%s: dstType is %lld; it must be %d (int8)",
                             c->op->name, (long long)type, ACL_INT8);
    if (dim >= 0 && asn_call_int(c, dim) != -1 && asn_call_int(c, dim) != last)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: activateDim is %lld; it must be the last", c->op->name,
                             (long long)asn_call_int(c, dim));
    if (gate < 0 || asn_call_int(c, gate) == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: swigluMode is %lld; it must be 0",
                         c->op->name, (long long)asn_call_int(c, gate));
}

/* GeluQuant(self, inputScale, inputOffset, approximate, quantMode, roundMode, dstType, y,
 * outScale). */
static asn_status plan_gelu(asnd_call *c, act_plan *p) {
    const char *form = c->args[3].p;
    ASN_TRY(take_x(c, p, false, false));
    ASN_TRY(take_mode(c, "quantMode", &p->q.dynamic));
    p->act = strcmp(form, "tanh") == 0 ? ASN_GELU_TANH : ASN_GELU;
    if (p->act == ASN_GELU && strcmp(form, "none") != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: approximate is \"%.20s\"; it must be none or tanh",
                             c->op->name, form);
    ASN_TRY(take_quant(c, p, "inputScaleOptional", "inputOffsetOptional", "y",
                       "outScaleOptional"));
    if (!p->q.dynamic && p->q.scale < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: inputScaleOptional is NULL, quantMode static",
                             c->op->name);
    ASN_TRY(check_variants(c, p));
    return keep(c, p);
}

/* DequantSwigluQuant(x, weightScale, activationScale, bias, quantScale, quantOffset,
 * groupIndex, activateLeft, quantMode, y, scale), V2 with more behind quantMode. */
static asn_status plan_dequant(asnd_call *c, act_plan *p) {
    ASN_TRY(take_x(c, p, true, true));
    ASN_TRY(take_mode(c, "quantModeOptional", &p->q.dynamic));
    p->sizes = true;
    ASN_TRY(take_quant(c, p, "quantScaleOptional", "quantOffsetOptional", "yOut",
                       "scaleOut"));
    ASN_TRY(check_variants(c, p));
    p->weight_scale = asn_call_operand_named(c, "weightScaleOptional");
    p->row_scale = asn_call_operand_named(c, "activationScaleOptional");
    p->bias = asn_call_operand_named(c, "biasOptional");
    if (asn_call_nd(c, 0)->dtype == ASN_I32 && p->weight_scale < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: x is of int32, weightScale is NULL", c->op->name);
    ASN_TRY(sized(c, p->weight_scale, "weightScale", p->num_groups * p->wide, false));
    ASN_TRY(sized(c, p->row_scale, "activationScale", p->rows, false));
    ASN_TRY(sized(c, p->bias, "bias", p->wide, true));
    if (p->bias >= 0 && asn_nd_size(&c->e->operands[p->bias].nd) != p->wide)
        return asn_error_set(ASN_ERR_VALUE, "%s: bias must have %lld numbers",
                             c->op->name, (long long)p->wide);
    return keep(c, p);
}

/* arg 1: DequantSwigluQuant and V2, 2: GeluQuant, else SwiGluQuantV2. */
asn_status asn_planner_act_quant(asnd_call *c) {
    act_plan p;
    memset(&p, 0, sizeof p);
    p.weight_scale = p.row_scale = p.bias = p.groups = p.out = -1;
    if (c->op->arg == 2) return plan_gelu(c, &p);
    p.act = ASN_SWISH;
    p.left = asn_call_int(c, asn_call_param_named(c, "activateLeft")) != 0;
    return c->op->arg == 1 ? plan_dequant(c, &p) : plan_swiglu(c, &p);
}

/* ---- DequantBias(x, weightScale, activateScale, bias, outputDtype, out) */

/* The sum with an integer bias is exact, everything behind it is float32 and rounded
 * once. */
static asn_status dequant_bias_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const act_plan *p = plan;
    const int32_t *x;
    asnd_view out;
    dequant d;
    const asnd_nd *to = asn_exec_nd(e, p->out);
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->x), ASN_I32, tmp, &x));
    ASN_TRY(dequant_begin(e, p, tmp, &d));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, to->ndim, to->shape, &out));
    for (int64_t i = 0; i < p->rows; i++)
        dequant_row(p, &d, i, 0, x, NULL, (float *)(void *)out.nd.data + i * p->wide);
    return asn_move(to, &out.nd);
}

/* outputDtype says again what out is; a difference is refused. */
asn_status asn_planner_dequant_bias(asnd_call *c) {
    act_plan p;
    memset(&p, 0, sizeof p);
    const asnd_nd *x = asn_call_nd(c, 0);
    ASN_TRY(take_x(c, &p, true, false));
    ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_I32)));
    p.weight_scale = c->first[1];
    p.row_scale = c->first[2];
    p.bias = c->first[3];
    p.out = c->first[5];
    ASN_TRY(sized(c, p.weight_scale, "weightScale", p.wide, false));
    ASN_TRY(sized(c, p.row_scale, "activateScale", p.rows, false));
    if (p.bias >= 0) ASN_TRY(asn_call_same_shape(c, 3, 1, &p.wide));
    ASN_TRY(sized(c, p.bias, "bias", p.wide, true));
    ASN_TRY(asn_call_one_of(c, 5, ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16)));
    ASN_TRY(asn_call_same_shape(c, 5, x->ndim, x->shape));
    if (asn_call_int(c, 4) != asn_dtype_table[asn_call_nd(c, 5)->dtype].acl)
        return asn_error_set(ASN_ERR_TYPE, "%s: outputDtype is %lld, out has dtype %s",
                             c->op->name, (long long)asn_call_int(c, 4),
                             asn_dtype_name(asn_call_nd(c, 5)->dtype));
    if (p.rows * p.wide == 0) return ASN_OK;
    return asn_call_keep(c, dequant_bias_body, &p, sizeof p,
                         300 + 4 * (double)(p.rows * p.wide));
}
