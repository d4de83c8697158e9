/* CPU device, operators: GroupedMatmul with small integers.
 *
 * Of integers in x, y = (x @ weight + bias) * scale * perTokenScale: sums are exact in
 * int32 (wrapping), the rest is float32; a bias of floats is added behind the scales. An
 * int32 output has the sums with their bias. Of floats in x, weight is (weight +
 * antiquantOffset) * antiquantScale, turned into float32 group by group.
 *
 * Groups are rows of one x; weight is one tensor (groups, k, n), or a list. scale and the
 * antiquant parameters have n numbers for each group, or one. A weight of int32 holds
 * eight int4 of its last dimension in an element. Rows behind the last group are 0.
 */
#include "device/opapi/moe/grouped_quant.h"

#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_int8.h"
#include "device/opapi/quant/quant.h"

/* Operands: the first of a list; -1: absent. Of scale, offset and bias: whether there is
 * a tensor for each group. */
typedef struct {
    asnd_plan_head head;
    int x, weight, bias, scale, offset, rows, list, y;
    bool weights, biases, scales, offsets, whole, sizes;
    int64_t groups, m, k, n;
} quant_plan;

/* Members of list `name`; 0: absent, or the operator has none. *first: its operand. */
static int64_t list_of(const asnd_call *c, const char *name, int *first) {
    int i = asn_call_param_named(c, name);
    const asnd_array *list = i < 0 ? NULL : asn_call_array(c, i);
    int64_t size = list == NULL ? 0 : (int64_t)list->size;
    /* A list with one empty member is one that is not given, as torch_npu passes it. */
    if (size == 1 && c->e->operands[c->first[i]].is_empty && strcmp(name, "x") != 0)
        size = 0;
    if (first != NULL) *first = size > 0 ? c->first[i] : -1;
    return size;
}

/* Asked of every call first: the other form of the operator knows floats alone. */
bool asn_grouped_is_quantised(const asnd_call *c) {
    int x = -1;
    if (list_of(c, "x", &x) == 0 || c->e->operands[x].is_absent) return false;
    return asn_is_integer(c->e->operands[x].nd.dtype) ||
           list_of(c, "antiquantScaleOptional", NULL) > 0;
}

/* ---- the body */

/* Group g's matrix of the weights, as small integers. */
static asn_status weight_of(aclOpExecutor *e, const quant_plan *p, int64_t g,
                            const asnd_view *all, asnd_tmp *tmp, asnd_view *w) {
    if (p->weights) return asn_quant_ints(&e->operands[p->weight + g], tmp, w);
    asn_view_set(w, &all->nd);
    asn_view_slice(w, 0, g, 1, 1);
    asn_view_drop(w, 0);
    return ASN_OK;
}

/* Group g's numbers of a parameter, as floats: its own tensor, or its part of one. */
static asn_status numbers_of(aclOpExecutor *e, int first, bool each, int64_t g,
                             int64_t groups, asnd_tmp *tmp, const float **v,
                             int64_t *size) {
    float *scale, *word;
    *v = NULL;
    if (first < 0) return ASN_OK;
    const asnd_nd *a = asn_exec_nd(e, first + (each ? (int)g : 0));
    *size = asn_nd_size(a) / (each ? 1 : groups);
    if (a->dtype == ASN_I32) {
        ASN_TRY(asn_packed_data(a, ASN_F32, tmp, v));
    } else {
        /* Words of TransQuantParamV2, or floats. */
        ASN_TRY(asn_quant_words(a, tmp, &scale, &word));
        *v = scale;
    }
    /* One tensor for all: the group's part of it. */
    if (!each) *v += g * *size;
    return ASN_OK;
}

/* Rows from..to of the result, from the group's sums. */
static asn_status finish(aclOpExecutor *e, const quant_plan *p, int64_t g, int64_t from,
                         const asnd_view *sum, const asnd_view *to, const float *rows,
                         asnd_tmp *tmp) {
    const float *scale, *bias;
    int64_t scales = 1, biases = 1, count = sum->shape[0];
    int32_t *s = (int32_t *)(void *)sum->nd.data;
    asnd_view out;
    ASN_TRY(numbers_of(e, p->scale, p->scales, g, p->groups, tmp, &scale, &scales));
    ASN_TRY(numbers_of(e, p->bias, p->biases, g, p->groups, tmp, &bias, &biases));
    /* It wraps as the sums do. */
    /* y = (x @ w + integer bias) * scale * row's scale + real bias. The sums are exact in
     * int32 for k below 2^17, as a product of int8 is 2^14 at most. */
    if (p->whole && bias != NULL) { /* exact: an integer bias */
        const int32_t *exact;
        const asnd_nd *b = asn_exec_nd(e, p->bias + (p->biases ? (int)g : 0));
        ASN_TRY(asn_packed_data(b, ASN_I32, tmp, &exact));
        if (!p->biases) exact += g * p->n;
        for (int64_t i = 0; i < count * p->n; i++)
            s[i] = (int32_t)((uint32_t)s[i] + (uint32_t)exact[i % p->n]);
    }
    if (to->nd.dtype == ASN_I32) return asn_move(&to->nd, &sum->nd);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, sum->shape, &out));
    float *y = (float *)(void *)out.nd.data;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float v = (float)s[i * p->n + j];
            if (scale) v *= scale[scales == 1 ? 0 : j];
            if (rows) v *= rows[from + i];
            if (bias && !p->whole) v += bias[j];
            y[i * p->n + j] = v;
        }
    return asn_move(&to->nd, &out.nd);
}

/* (weight + offset) * scale of one group, as float32. */
static asn_status weight_as_floats(aclOpExecutor *e, const quant_plan *p, int64_t g,
                                   const asnd_view *w, asnd_tmp *tmp, asnd_view *to) {
    const float *scale, *offset;
    int64_t scales = 1, offsets = 1;
    ASN_TRY(numbers_of(e, p->scale, p->scales, g, p->groups, tmp, &scale, &scales));
    ASN_TRY(numbers_of(e, p->offset, p->offsets, g, p->groups, tmp, &offset, &offsets));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, w->shape, to));
    ASN_TRY(asn_move(&to->nd, &w->nd));
    /* CANN's order: the offset is added to the integer, before the scale. */
    float *v = (float *)(void *)to->nd.data;
    for (int64_t i = 0; i < p->k * p->n; i++) {
        if (offset) v[i] += offset[offsets == 1 ? 0 : i % p->n];
        v[i] *= scale[scales == 1 ? 0 : i % p->n];
    }
    return ASN_OK;
}

/* Integers by the exact kernel; floats with weights that became float32, one group of
 * them at a time, so that the memory is that of a single expert. */
static asn_status group_product(aclOpExecutor *e, const quant_plan *p, int64_t g,
                                int64_t from, const asnd_view *x, const asnd_view *w,
                                const asnd_view *to, const float *rows, asnd_tmp *tmp) {
    /* x (rows of the group, k), w (k, n), to (rows of the group, n). */
    asnd_view sum, real;
    const float *bias;
    int64_t biases;
    if (x->nd.dtype == ASN_I8) {
        ASN_TRY(asn_tmp_view(tmp, ASN_I32, 2, to->shape, &sum));
        ASN_TRY(asn_cpu_matmul_int8(&x->nd, &w->nd, &sum.nd));
        return finish(e, p, g, from, &sum, to, rows, tmp);
    }
    ASN_TRY(weight_as_floats(e, p, g, w, tmp, &real));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &sum));
    ASN_TRY(asn_cpu_matmul(&x->nd, &real.nd, &sum.nd));
    ASN_TRY(numbers_of(e, p->bias, p->biases, g, p->groups, tmp, &bias, &biases));
    float *y = (float *)(void *)sum.nd.data;
    for (int64_t i = 0; bias != NULL && i < asn_nd_size(&sum.nd); i++)
        y[i] += bias[i % p->n];
    return asn_move(&to->nd, &sum.nd);
}

/* x is unpacked once; of weights in a list each when its group comes, in memory that goes
 * back before the next. */
static asn_status quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const quant_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->y);
    const asnd_operand *from = &e->operands[p->x];
    const int64_t *given, *ends;
    const float *rows = NULL;
    asnd_view x, all, y;
    if (asn_is_floating(from->nd.dtype)) {
        ASN_TRY(asn_packed_of(&from->nd, ASN_F32, tmp, &x));
    } else {
        ASN_TRY(asn_quant_ints(from, tmp, &x));
    }
    if (!p->weights) ASN_TRY(asn_quant_ints(&e->operands[p->weight], tmp, &all));
    if (p->rows >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->rows), ASN_F32, tmp, &rows));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->list), ASN_I64, tmp, &given));
    ASN_TRY(
        asn_packed_ends(e, "groupList", given, p->groups, p->sizes, p->m, tmp, &ends));
    int64_t row = 0;
    for (int64_t g = 0; g < p->groups; g++) {
        asnd_view a, w;
        int64_t count = ends[g] - row;
        /* An expert without tokens. */
        if (count == 0) continue;
        asn_view_set(&a, &x.nd);
        asn_view_slice(&a, 0, row, count, 1);
        asn_view_set(&y, out);
        asn_view_slice(&y, 0, row, count, 1);
        asnd_tmp own = {0};
        asn_status status = weight_of(e, p, g, &all, &own, &w);
        if (status == ASN_OK)
            status = group_product(e, p, g, row, &a, &w, &y, rows, &own);
        asn_tmp_free(&own);
        ASN_TRY(status);
        row = ends[g];
    }
    asn_view_set(&y, out);
    asn_view_slice(&y, 0, row, p->m - row, 1);
    if (asn_nd_size(&y.nd) == 0) return ASN_OK;
    /* Rows behind the last group. */
    asnd_view nothing;
    const double zero = 0;
    asn_view_plain(&nothing, ASN_F64, 0, NULL, (void *)(uintptr_t)&zero);
    asn_view_broadcast(&nothing, 2, y.shape);
    return asn_move(&y.nd, &nothing.nd);
}

/* ---- the planner */

/* The error of a form that is not here, saying which one is. */
static asn_status wrong(const asnd_call *c, const char *what) {
    return asn_error_set(ASN_ERR_VALUE, "%s: of quantised groups %s", c->op->name, what);
}

/* A parameter with numbers for each group: one tensor for all, or one for each. */
static asn_status take_numbers(const asnd_call *c, const quant_plan *p, const char *name,
                               bool one_fits, uint32_t dtypes, int *first, bool *each) {
    int64_t members = list_of(c, name, first), size = 0;
    /* A list of weights goes with lists of their parameters. */
    *each = members > 1 || (members == 1 && p->weights);
    if (members == 0) return ASN_OK;
    bool fits = members == (*each ? p->groups : 1);
    for (int64_t k = 0; k < members && fits; k++) {
        const asnd_operand *o = &c->e->operands[*first + k];
        size = o->is_absent ? -1 : asn_nd_size(&o->nd) / (*each ? 1 : p->groups);
        fits = !o->is_absent && (dtypes >> o->nd.dtype & 1) &&
               asn_nd_size(&o->nd) == size * (*each ? 1 : p->groups) &&
               (size == p->n || (one_fits && size == 1));
    }
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s is a list of %lld; it must be one tensor with %lld "
                         "numbers for each of the %lld groups, or one for each group, of "
                         "a dtype that the page lists",
                         c->op->name, name, (long long)members, (long long)p->n,
                         (long long)p->groups);
}

/* x, weight and y: one x (m, k), groups of (k, n), one y (m, n). */
static asn_status take_matrices(asnd_call *c, quant_plan *p) {
    int64_t weights = list_of(c, "weight", &p->weight);
    int y = asn_call_out(c);
    if (list_of(c, "x", &p->x) != 1 || weights == 0 || asn_call_array(c, y)->size != 1)
        return wrong(c, "x and y are lists of one tensor, weight is given");
    p->y = c->first[y];
    const asnd_operand *x = &c->e->operands[p->x], *to = &c->e->operands[p->y];
    for (int64_t g = 0; g < weights; g++) {
        const asnd_operand *w = &c->e->operands[p->weight + g];
        bool words = !w->is_absent && !w->is_int4 && w->nd.dtype == ASN_I32;
        int nd = w->is_absent ? 0 : w->nd.ndim;
        /* An int32 word holds eight int4, along the last dimension. */
        /* The first weight says what all are: a stack of matrices, or one of a list. */
        if (g == 0) {
            p->weights = nd == 2;
            p->groups = nd == 3 ? w->nd.shape[0] : weights;
            p->k = nd >= 2 ? w->nd.shape[nd - 2] : -1;
            p->n = nd >= 2 ? w->nd.shape[nd - 1] * (words ? 8 : 1) : -1;
        }
        bool fits = nd == (p->weights ? 2 : 3) && (p->weights || weights == 1) &&
                    (words || w->nd.dtype == ASN_I8) && w->nd.shape[nd - 2] == p->k &&
                    w->nd.shape[nd - 1] * (words ? 8 : 1) == p->n;
        if (!fits)
            return wrong(c, "weight is one tensor (groups, k, n) or a list of (k, n), of "
                            "int8, int4 or int32 with eight int4 in each");
    }
    bool words = !x->is_int4 && x->nd.dtype == ASN_I32;
    /* Sums of integers may be wanted as they are; products of floats are floats. */
    uint32_t outs = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F32);
    if (!asn_is_floating(x->nd.dtype)) outs |= ASN_BIT(ASN_I32);
    p->m = x->nd.ndim == 2 ? x->nd.shape[0] : -1;
    if (x->nd.ndim != 2 || x->nd.shape[1] * (words ? 8 : 1) != p->k ||
        (!words && x->nd.dtype != ASN_I8 && !asn_is_floating(x->nd.dtype)) ||
        to->nd.ndim != 2 || to->nd.shape[0] != p->m || to->nd.shape[1] != p->n ||
        !(outs >> to->nd.dtype & 1))
        return wrong(c, "x is (m, k) of int8, int4 or floats, y (m, n) of floats or "
                        "int32");
    return ASN_OK;
}

/* A list that is given where it has no meaning is refused rather than passed over: its
 * numbers would be missed in the result. The lists that this form does not have, and what
 * else is fixed. */
static asn_status check_rest(const asnd_call *c, bool floats) {
    static const char *const none[] = {
        "activationInputOptional", "activationQuantScaleOptional",
        "activationQuantOffsetOptional", "activationFeatureOutOptional",
        "dynQuantScaleOutOptional"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (list_of(c, none[i], NULL) > 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is given; it must be NULL",
                                 c->op->name, none[i]);
    const char *other[] = {floats ? "scaleOptional" : "antiquantScaleOptional",
                           floats ? "perTokenScaleOptional" : "antiquantOffsetOptional",
                           "offsetOptional"};
    for (int i = 0; i < 3; i++)
        if (list_of(c, other[i], NULL) > 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s does not go with an x of %s",
                                 c->op->name, other[i], floats ? "floats" : "integers");
    int act = asn_call_param_named(c, "actType"),
        type = asn_call_param_named(c, "groupType");
    int64_t split = asn_call_int(c, asn_call_param_named(c, "splitItem"));
    if (act >= 0 && asn_call_int(c, act) != 0) return wrong(c, "actType is 0 (none)");
    if (type >= 0 && asn_call_int(c, type) != 0) return wrong(c, "groupType is 0 (rows)");
    if (split < 2 || split > 3) return wrong(c, "splitItem is 2 or 3 (one output)");
    return ASN_OK;
}

/* Shapes are checked here; the numbers of groupList when the body reads them. */
asn_status asn_grouped_quant_plan(asnd_call *c) {
    quant_plan p;
    memset(&p, 0, sizeof p);
    int list = asn_call_param_named(c, "groupListOptional"),
        type = asn_call_param_named(c, "groupListType");
    if (list < 0 || c->op->params[list].kind != ASN_IN || c->first[list] < 0)
        return wrong(c, "groupList is a tensor, as in V4 and V5");
    ASN_TRY(take_matrices(c, &p));
    const asnd_nd *x = &c->e->operands[p.x].nd;
    bool floats = asn_is_floating(x->dtype);
    uint32_t real = ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F32);
    uint32_t words = ASN_BIT(ASN_I64) | ASN_BIT(ASN_U64);
    ASN_TRY(check_rest(c, floats));
    ASN_TRY(take_numbers(c, &p, floats ? "antiquantScaleOptional" : "scaleOptional", true,
                         floats ? real : real | words, &p.scale, &p.scales));
    ASN_TRY(take_numbers(c, &p, "antiquantOffsetOptional", true, real, &p.offset,
                         &p.offsets));
    ASN_TRY(take_numbers(c, &p, "biasOptional", false,
                         floats ? real : real | ASN_BIT(ASN_I32), &p.bias, &p.biases));
    p.whole = p.bias >= 0 && c->e->operands[p.bias].nd.dtype == ASN_I32;
    /* An int32 output is what a later operator (DequantSwigluQuant) scales itself. */
    bool sums = c->e->operands[p.y].nd.dtype == ASN_I32;
    int64_t rows = list_of(c, "perTokenScaleOptional", &p.rows);
    if (rows > 1 || (rows == 1 && (asn_nd_size(&c->e->operands[p.rows].nd) != p.m ||
                                   c->e->operands[p.rows].nd.dtype != ASN_F32)))
        return wrong(c,
                     "perTokenScale is a list of one float32 tensor, a number for each "
                     "row of x");
    if (sums ? p.scale >= 0 || p.rows >= 0 || (p.bias >= 0 && !p.whole) : p.scale < 0)
        return wrong(c, "an output of floats has scales, one of int32 has none, nor a "
                        "bias of floats");
    ASN_TRY(asn_index_dtype(c, list, asn_call_nd(c, list)));
    if (asn_call_nd(c, list)->ndim != 1 || asn_call_nd(c, list)->shape[0] != p.groups)
        return wrong(c, "groupList has a number for each group");
    p.list = c->first[list];
    p.sizes = type >= 0 && asn_call_int(c, type) == 1;
    if (type >= 0 && asn_call_int(c, type) != 0 && !p.sizes)
        return wrong(c, "groupListType is 0 (ends) or 1 (sizes)");
    if (p.m * p.n == 0) return ASN_OK;
    double work = (double)p.m * (double)p.n * (double)p.k;
    return asn_call_keep(c, quant_body, &p, sizeof p, 1000 + work / (floats ? 10 : 60));
}
