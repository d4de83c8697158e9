/* CPU device, operators: grouped products of int8 that end as something else.
 *
 *     v = (x @ w) * scale * pertokenScale of each group (grouped_quant.c, by its planner,
 *         into a temporary of float32); rows behind the last group are 0
 *     GroupedMatmulFinalizeRouting   y[rowIndex[i]] += logit[i] * v[i], and
 *         y[sharedInputOffset + j] += sharedInputWeight * sharedInput[j]; what no row
 *         comes to is 0
 *     GroupedMatmulSwigluQuant       swish(left half of v) * right half, in int8 with a
 *         scale of each row
 *
 * Weights of int4 with matrices that mend their sums are not here, nor floats of 8 bits.
 * WeightNz: the NPU's private layout is the plain one.
 */
#include <string.h>

#include "device/opapi/core/activation.h"
#include "device/opapi/core/inner.h"
#include "device/opapi/moe/grouped_quant.h"
#include "device/opapi/quant/row_quant.h"

/* Operands, -1: absent; v: the temporary. */
typedef struct {
    asnd_plan_head head;
    asnd_inner product;
    int v, list;
    int shared, logit, index, y; /* of FinalizeRouting */
    float weight;
    int64_t offset, groups, m, n;
    bool sizes;
    asnd_row_quant q; /* of SwigluQuant */
} ends_plan;

/* The product into its temporary; *v: the numbers, *rows: those that groups have. */
static asn_status run_product(aclOpExecutor *e, const ends_plan *p, asnd_tmp *tmp,
                              float **v, int64_t *rows) {
    asnd_operand *to = &e->operands[p->v];
    const int64_t *given, *ends;
    asnd_view made;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->nd.shape, &made));
    to->nd.data = made.nd.data;
    *v = (float *)(void *)made.nd.data;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->list), ASN_I64, tmp, &given));
    ASN_TRY(
        asn_packed_ends(e, "groupList", given, p->groups, p->sizes, p->m, tmp, &ends));
    *rows = p->groups > 0 ? ends[p->groups - 1] : 0;
    return asn_inner_run(e, &p->product);
}

/* ---- bodies */

/* Rows are added in their order, so that a sum does not depend on threads. */
static asn_status finalize_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const ends_plan *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->y);
    const int64_t *index;
    const float *logit = NULL, *shared = NULL;
    asnd_view out;
    float *v;
    int64_t rows, n = p->n;
    ASN_TRY(run_product(e, p, tmp, &v, &rows));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->index), ASN_I64, tmp, &index));
    if (p->logit >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->logit), ASN_F32, tmp, &logit));
    if (p->shared >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->shared), ASN_F32, tmp, &shared));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, to->shape, &out));
    float *y = (float *)(void *)out.nd.data;
    memset(y, 0, (size_t)asn_nd_size(to) * sizeof *y);
    for (int64_t i = 0; i < rows; i++) {
        if (index[i] < 0 || index[i] >= to->shape[0])
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: rowIndex has %lld; the output has %lld rows",
                                 e->name, (long long)index[i], (long long)to->shape[0]);
        float by = logit != NULL ? logit[i] : 1;
        for (int64_t j = 0; j < n; j++)
            y[index[i] * n + j] += by * v[i * n + j];
    }
    int64_t count = p->shared < 0 ? 0 : asn_exec_nd(e, p->shared)->shape[0];
    for (int64_t i = 0; i < count * n; i++)
        y[p->offset * n + i] += p->weight * shared[i];
    return asn_move(to, &out.nd);
}

/* A row at a time, into the left half of itself. Rows of no group are 0, whose gate is 0,
 * and have scale 0; CANN leaves them as they are. */
static asn_status swiglu_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    ends_plan p = *(const ends_plan *)plan;
    int64_t rows, half = p.n / 2;
    float *v;
    ASN_TRY(run_product(e, &p, tmp, &v, &rows));
    ASN_TRY(asn_row_quant_begin(e, &p.q, p.m, half, tmp));
    for (int64_t i = 0; i < p.m; i++) {
        float *a = v + i * p.n, *b = a + half;
        asn_activate(ASN_SWISH, half, a, a);
        for (int64_t j = 0; j < half; j++)
            a[j] *= b[j];
        asn_row_quant_put(&p.q, i, 0, a, half);
    }
    return asn_row_quant_end(e, &p.q);
}

/* ---- planners */

/* What grouped_quant.c reads of a call, by these names. */
static const asnd_param product_params[] = {
    {"x", ASN_LIST_IN, false, false, 0, false, 0},
    {"weight", ASN_LIST_IN, false, false, 0, false, 0},
    {"scaleOptional", ASN_LIST_IN, true, false, 0, false, 0},
    {"perTokenScaleOptional", ASN_LIST_IN, true, false, 0, false, 0},
    {"groupListOptional", ASN_IN, true, false, 0, false, 0},
    {"splitItem", ASN_INT, false, false, 0, false, 0},
    {"groupListType", ASN_INT, false, false, 0, false, 0},
    {"out", ASN_LIST_OUT, false, false, 0, false, 0}};

/* The product's operands x, w, scale, rows (-1: absent) and list; type: groupListType.
 * c's tensors must have been looked at before, for they move. */
static asn_status plan_product(asnd_call *c, ends_plan *p, const int operands[4],
                               int64_t type) {
    static const asnd_array one = {.size = 1};
    const asnd_nd *x = &c->e->operands[operands[0]].nd,
                  *w = &c->e->operands[operands[1]].nd;
    if (x->ndim != 2 || x->dtype != ASN_I8 || c->e->operands[operands[0]].is_int4 ||
        w->ndim != 3 || w->dtype != ASN_I8 || c->e->operands[operands[1]].is_int4)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has %d dimensions, dtype %s, the weight %d, %s; they "
                             "must be (m, k) and (groups, k, n) of int8",
                             c->op->name, x->ndim, asn_dtype_name(x->dtype), w->ndim,
                             asn_dtype_name(w->dtype));
    p->groups = w->shape[0];
    p->m = x->shape[0];
    p->n = w->shape[2];
    p->sizes = type == 1;
    p->v = asn_inner_room(c, 1);
    if (p->v < 0) return ASN_ERR_MEMORY;
    ASN_TRY(asn_inner_operand(c, p->v, ASN_F32, 2, (int64_t[]){p->m, p->n}));
    asnd_opdesc op = {c->op->name, product_params,  asn_grouped_quant_plan, NULL, 8,
                      0,           ASN_NO_WORKSPACE};
    asnd_arg args[8] = {{.p = &one}, {.p = &one}, {.p = NULL}, {.p = NULL},
                        {.p = NULL}, {.i = 3},    {.i = type}, {.p = &one}};
    int at[8] = {operands[0], operands[1], operands[2], operands[3],
                 p->list,     -1,          -1,          p->v};
    for (int i = 2; i < 4; i++)
        if (operands[i] >= 0) args[i].p = &one;
    return asn_inner_plan(c, &op, args, at, &p->product);
}

/* The parameters of these names must be absent: NULL, or empty lists and tensors. */
static asn_status check_absent(const asnd_call *c, const char *const *names, int count) {
    for (int k = 0; k < count; k++) {
        int i = asn_call_param_named(c, names[k]);
        if (i < 0 || c->args[i].p == NULL) continue;
        bool list = c->op->params[i].kind == ASN_LIST_IN;
        if (list ? asn_call_array(c, i)->size == 0 || c->e->operands[c->first[i]].is_empty
                 : c->e->operands[c->first[i]].is_empty)
            continue;
        return asn_error_set(ASN_ERR_VALUE, "%s: %s is given; for int8 it must be NULL",
                             c->op->name, names[k]);
    }
    return ASN_OK;
}

/* Numbers that only have one value here: other dtypes of the product, transposed
 * operands, scales by group. */
static asn_status check_fixed(const asnd_call *c, const char *const *names, int count) {
    for (int k = 0; k < count; k++) {
        int i = asn_call_param_named(c, names[k]);
        if (i >= 0 && asn_call_int(c, i) != 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is %lld; it must be 0",
                                 c->op->name, names[k], (long long)asn_call_int(c, i));
    }
    return ASN_OK;
}

/* logit and rowIndex have a number for each row of x; sharedInput's rows lie in y. */
static asn_status check_routing(const asnd_call *c, const ends_plan *p, int out) {
    const asnd_nd *y = asn_call_nd(c, out), *x = asn_call_nd(c, 0);
    int logit = asn_call_param_named(c, "logitOptional"), index = logit + 1,
        shared = logit - 1;
    if (p->index < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: rowIndexOptional is NULL",
                             c->op->name);
    ASN_TRY(asn_call_position_dtype(c, index));
    ASN_TRY(asn_call_same_shape(c, index, 1, x->shape));
    if (p->logit >= 0) {
        ASN_TRY(asn_call_floating(c, logit));
        ASN_TRY(asn_call_same_shape(c, logit, 1, x->shape));
    }
    ASN_TRY(asn_call_one_of(c, out, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_rank(c, out, 2, 2));
    int64_t n = asn_call_nd(c, 1)->shape[2];
    ASN_TRY(asn_call_same_shape(c, out, 2, (int64_t[]){y->shape[0], n}));
    if (p->shared < 0) return ASN_OK;
    const asnd_nd *s = asn_call_nd(c, shared);
    ASN_TRY(asn_call_floating(c, shared));
    ASN_TRY(asn_call_rank(c, shared, 2, 2));
    ASN_TRY(asn_call_same_shape(c, shared, 2, (int64_t[]){s->shape[0], n}));
    if (p->offset >= 0 && p->offset <= y->shape[0] - s->shape[0]) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: sharedInputOffset is %lld; sharedInput has %lld rows, the "
                         "output %lld",
                         c->op->name, (long long)p->offset, (long long)s->shape[0],
                         (long long)y->shape[0]);
}

/* GroupedMatmulFinalizeRoutingWeightNz(x, w, scale, bias, pertokenScale, groupList,
 * sharedInput, logit, rowIndex, dtype, sharedInputWeight, sharedInputOffset, transposeX,
 * transposeW, groupListType, y); V2, V3 and WeightNzV2 with offset, antiquantScale and
 * antiquantOffset behind the bias, the last two with tuningConfig before y. */
asn_status asn_planner_grouped_finalize(asnd_call *c) {
    static const char *const none[] = {"biasOptional", "offsetOptional",
                                       "antiquantScaleOptional",
                                       "antiquantOffsetOptional"};
    static const char *const zero[] = {"dtype", "transposeX", "transposeW"};
    int out = c->op->num_params - 1;
    ends_plan p;
    memset(&p, 0, sizeof p);
    int operands[4] = {c->first[0], c->first[1],
                       asn_call_operand_named(c, "scaleOptional"),
                       asn_call_operand_named(c, "pertokenScaleOptional")};
    ASN_TRY(check_absent(c, none, 4));
    ASN_TRY(check_fixed(c, zero, 3));
    p.list = asn_call_operand_named(c, "groupListOptional");
    p.shared = asn_call_operand_named(c, "sharedInputOptional");
    p.logit = asn_call_operand_named(c, "logitOptional");
    p.index = asn_call_operand_named(c, "rowIndexOptional");
    p.y = c->first[out];
    p.weight = (float)asn_call_double(c, asn_call_param_named(c, "sharedInputWeight"));
    p.offset = asn_call_int(c, asn_call_param_named(c, "sharedInputOffset"));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 3, 3));
    ASN_TRY(check_routing(c, &p, out));
    bool empty = asn_call_operand(c, out)->is_empty;
    int64_t type = asn_call_int(c, asn_call_param_named(c, "groupListType"));
    ASN_TRY(plan_product(c, &p, operands, type));
    if (empty) return ASN_OK;
    return asn_call_keep(c, finalize_body, &p, sizeof p,
                         1000 + p.product.work_ns + 2 * (double)(p.m * p.n));
}

/* GroupedMatmulSwigluQuantWeightNZ(x, weight, bias, offset, weightScale, xScale,
 * groupList, output, outputScale, outputOffset), whose groups are ends; V2 and WeightNzV2
 * (x, weight, weightScale, weightAssistMatrix, bias, xScale, smoothScale, groupList,
 * dequantMode, dequantDtype, quantMode, groupListType, tuningConfig, output, outputScale)
 * with lists of one. outputOffset is for later and stays as it is. */
asn_status asn_planner_grouped_swiglu(asnd_call *c) {
    static const char *const none[] = {"biasOptional", "offsetOptional",
                                       "weightAssistMatrixOptional",
                                       "smoothScaleOptional"};
    static const char *const zero[] = {"dequantMode", "dequantDtype", "quantMode"};
    int kind = asn_call_param_named(c, "groupListType");
    ends_plan p;
    memset(&p, 0, sizeof p);
    ASN_TRY(check_absent(c, none, 4));
    ASN_TRY(check_fixed(c, zero, 3));
    for (int i = 1; i < 3; i++)
        if (c->op->params[i].kind == ASN_LIST_IN && asn_call_array(c, i)->size != 1)
            return asn_error_set(
                ASN_ERR_VALUE, "%s: %s is a list of %llu; it must be one", c->op->name,
                c->op->params[i].name, (unsigned long long)asn_call_array(c, i)->size);
    int operands[4] = {c->first[0], c->first[1], asn_call_operand_named(c, "weightScale"),
                       asn_call_operand_named(c, "xScale")};
    p.list = asn_call_operand_named(c, "groupList");
    p.q = (asnd_row_quant){.scale = -1, .offset = -1, .dynamic = true};
    p.q.y = asn_call_operand_named(c, "output");
    p.q.scale_out = asn_call_operand_named(c, "outputScale");
    const asnd_nd *x = asn_call_nd(c, 0), *w = asn_call_nd(c, 1);
    if (x->ndim != 2 || w->ndim != 3 || w->shape[2] % 2 != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: x has %d dimensions, the weight %d; they must be (m, "
                             "k) and (groups, k, n), of an even n",
                             c->op->name, x->ndim, w->ndim);
    if (c->e->operands[p.q.y].nd.dtype != ASN_I8)
        return asn_error_set(ASN_ERR_TYPE, "%s: output has dtype %s; it must be int8",
                             c->op->name, asn_dtype_name(c->e->operands[p.q.y].nd.dtype));
    ASN_TRY(asn_row_quant_check(c, &p.q, 2, (int64_t[]){x->shape[0], w->shape[2] / 2}));
    ASN_TRY(plan_product(c, &p, operands, kind < 0 ? 0 : asn_call_int(c, kind)));
    if (p.m * p.n == 0) return ASN_OK;
    return asn_call_keep(c, swiglu_body, &p, sizeof p,
                         1000 + p.product.work_ns + 20 * (double)(p.m * p.n));
}
