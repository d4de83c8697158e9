/* CPU device, operators: FFNV2, two products with an activation between them, for all
 * rows or for those of each expert.
 *
 *     y = act(x @ weight1 + bias1) @ weight2 + bias2
 *
 * expertTokens has how many rows each expert has, or (tokensIndexFlag) where they end;
 * all rows have one. In float32, rounded once; innerPrecise, which lets an NPU use halves
 * between, changes nothing. Not here: gated activations, whose page does not say which
 * half is activated, and quantised weights. gelu is that of erf.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/activation.h"
#include "device/opapi/core/packed.h"

/* Operands; -1: absent. ends: of each expert's rows, in the executor. */
typedef struct {
    asnd_plan_head head;
    int x, weight[2], bias[2], y;
    int64_t rows, wide[3], experts; /* wide: columns of x, between, of y */
    bool stacked;                   /* weights have the experts in front */
    asnd_activation act;
    int64_t *ends;
} ffn_plan;

/* v: expert g's matrix, or row of a bias, of a tensor that may have them all. */
static void part_of(aclOpExecutor *e, const ffn_plan *p, int operand, int64_t g,
                    asnd_view *v) {
    asn_view_set(v, asn_exec_nd(e, operand));
    if (!p->stacked) return;
    asn_view_slice(v, 0, g, 1, 1);
    asn_view_drop(v, 0);
}

/* Rows of n numbers behind a product. bias: or NULL; act: or NULL. */
typedef struct {
    float *v;
    const float *bias;
    const asnd_activation *act;
    int64_t n;
} rows_end;

static void finish_row(void *ctx, int64_t i) {
    const rows_end *r = ctx;
    float *v = r->v + i * r->n;
    for (int64_t j = 0; r->bias != NULL && j < r->n; j++)
        v[j] += r->bias[j];
    if (r->act != NULL) asn_activate(*r->act, r->n, v, v);
}

/* out = in @ weight k + bias k of expert g, activated behind the first; in and out:
 * float32. */
static asn_status layer(aclOpExecutor *e, const ffn_plan *p, int k, int64_t g,
                        const asnd_view *in, asnd_tmp *tmp, asnd_view *out) {
    asnd_view w, real, line;
    rows_end r = {.v = (float *)(void *)out->nd.data, .n = out->shape[1]};
    part_of(e, p, p->weight[k], g, &w);
    ASN_TRY(asn_tmp_as(tmp, &w.nd, ASN_F32, &real));
    ASN_TRY(asn_cpu_matmul(&in->nd, &real.nd, &out->nd));
    if (p->bias[k] >= 0) {
        part_of(e, p, p->bias[k], g, &line);
        ASN_TRY(asn_packed_data(&line.nd, ASN_F32, tmp, &r.bias));
    }
    if (k == 0) r.act = &p->act;
    if (r.bias != NULL || r.act != NULL)
        asn_pool_run(finish_row, &r, out->shape[0], 2 * (double)asn_nd_size(&out->nd));
    return ASN_OK;
}

/* Rows of one expert, which are all on all threads. */
static asn_status expert(aclOpExecutor *e, const ffn_plan *p, int64_t g, int64_t count,
                         float *x, float *y, asnd_tmp *tmp) {
    asnd_view in, between, out;
    asn_view_plain(&in, ASN_F32, 2, (int64_t[]){count, p->wide[0]}, x);
    asn_view_plain(&out, ASN_F32, 2, (int64_t[]){count, p->wide[2]}, y);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){count, p->wide[1]}, &between));
    ASN_TRY(layer(e, p, 0, g, &in, tmp, &between));
    return layer(e, p, 1, g, &between, tmp, &out);
}

/* One expert after the other: its weights become float32 when its rows come, in memory
 * that goes back before the next, and experts without rows cost nothing. */
static asn_status ffn_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const ffn_plan *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->y);
    asnd_view x, y;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->x), ASN_F32, tmp, &x));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, to->ndim, to->shape, &y));
    for (int64_t g = 0, row = 0; g < p->experts; row = p->ends[g++]) {
        if (p->ends[g] == row) continue;
        asnd_tmp own = {0};
        asn_status status = expert(e, p, g, p->ends[g] - row,
                                   (float *)(void *)x.nd.data + row * p->wide[0],
                                   (float *)(void *)y.nd.data + row * p->wide[2], &own);
        asn_tmp_free(&own);
        ASN_TRY(status);
    }
    return asn_move(to, &y.nd);
}

/* ---- the planner */

/* By its name, as torch_npu's npu_ffn has it. */
static asn_status take_activation(const asnd_call *c, asnd_activation *act) {
    static const char *const names[] = {"relu", "gelu", "fastgelu", "silu"};
    static const asnd_activation kinds[] = {ASN_RELU, ASN_GELU, ASN_FAST_GELU, ASN_SWISH};
    const char *name = c->args[14].p;
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *act = kinds[i];
            return ASN_OK;
        }
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: activation is \"%.20s\"; it must be relu, gelu, fastgelu or "
        "silu",
        c->op->name, name);
}

/* Where each expert's rows end: all of them, together. A row that no expert had would
 * have no result, and y no value there. */
static asn_status take_experts(asnd_call *c, ffn_plan *p) {
    const asnd_array *tokens = asn_call_array(c, 3);
    bool ends = asn_call_int(c, 16) != 0;
    p->stacked = asn_call_nd(c, 1)->ndim == 3;
    p->experts = p->stacked ? asn_call_nd(c, 1)->shape[0] : 1;
    p->ends = asnop_executor_alloc(c->e, (size_t)(p->experts + 1) * sizeof *p->ends);
    if (p->ends == NULL) return asn_call_no_memory();
    p->ends[0] = p->rows;
    int64_t given = tokens == NULL ? 0 : (int64_t)tokens->size, last = 0;
    if (given != (p->stacked ? p->experts : 0))
        return asn_error_set(
            ASN_ERR_VALUE, "%s: expertTokens has %lld numbers; there are %lld experts",
            c->op->name, (long long)given, (long long)(p->stacked ? p->experts : 0));
    for (int64_t g = 0; g < given; g++) {
        /* Compared before it is added: a sum of arbitrary numbers may wrap. */
        int64_t v = ((const int64_t *)tokens->data)[g], from = ends ? last : 0;
        if (v < from || v > (ends ? p->rows : p->rows - last))
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: expertTokens has %lld for expert %lld, whose rows "
                                 "begin at %lld; x has %lld",
                                 c->op->name, (long long)v, (long long)g, (long long)last,
                                 (long long)p->rows);
        p->ends[g] = last = ends ? v : last + v;
    }
    if (!p->stacked || last == p->rows) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: expertTokens says %lld rows; x has %lld",
                         c->op->name, (long long)last, (long long)p->rows);
}

/* Weight k and its bias: (a, b), (b), or with experts in front. A bias may be wider than
 * the weights: CANN has float32 beside bfloat16. */
static asn_status take_layer(const asnd_call *c, ffn_plan *p, int k) {
    int64_t g = p->experts, a = p->wide[k], b = p->wide[k + 1];
    ASN_TRY(asn_call_same_dtype(c, 1 + k, 0));
    ASN_TRY(asn_call_same_shape(c, 1 + k, p->stacked ? 3 : 2,
                                p->stacked ? (int64_t[]){g, a, b} : (int64_t[]){a, b}));
    p->weight[k] = c->first[1 + k];
    p->bias[k] = c->first[4 + k];
    if (p->bias[k] < 0) return ASN_OK;
    ASN_TRY(asn_call_single(c, 4 + k));
    return asn_call_same_shape(c, 4 + k, p->stacked ? 2 : 1,
                               p->stacked ? (int64_t[]){g, b} : &b);
}

/* FFNV2(x, weight1, weight2, expertTokens, bias1, bias2, scale, offset, deqScale1,
 * deqScale2, antiquantScale1, antiquantScale2, antiquantOffset1, antiquantOffset2,
 * activation, innerPrecise, tokensIndexFlag, y) */
asn_status asn_planner_ffn(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *y = asn_call_nd(c, 17);
    ffn_plan p = {.x = c->first[0], .y = c->first[17]};
    ASN_TRY(asn_call_single(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 8));
    for (int i = 6; i < 14; i++)
        if (c->first[i] >= 0 && !asn_call_operand(c, i)->is_empty)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is given; for floats it must be NULL",
                                 c->op->name, c->op->params[i].name);
    ASN_TRY(take_activation(c, &p.act));
    int w = asn_call_nd(c, 1)->ndim;
    ASN_TRY(asn_call_rank(c, 1, 2, 3));
    ASN_TRY(asn_call_rank(c, 17, x->ndim, x->ndim));
    p.wide[0] = x->shape[x->ndim - 1];
    p.wide[1] = asn_call_nd(c, 1)->shape[w - 1];
    p.wide[2] = y->shape[x->ndim - 1];
    p.rows = 1;
    for (int d = 0; d + 1 < x->ndim; d++)
        p.rows *= x->shape[d];
    ASN_TRY(take_experts(c, &p));
    ASN_TRY(take_layer(c, &p, 0));
    ASN_TRY(take_layer(c, &p, 1));
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[x->ndim - 1] = p.wide[2];
    ASN_TRY(asn_call_same_dtype(c, 17, 0));
    ASN_TRY(asn_call_same_shape(c, 17, x->ndim, shape));
    if (p.rows * p.wide[2] == 0) return ASN_OK;
    double work = (double)p.rows * (double)p.wide[1] * (double)(p.wide[0] + p.wide[2]);
    return asn_call_keep(c, ffn_body, &p, sizeof p, 1000 + work / 20);
}
