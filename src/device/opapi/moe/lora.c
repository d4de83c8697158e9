/* CPU device, operators: AddLora, products with low-rank matrices that each row names
 * (Chen et al., "Punica: Multi-tenant LoRA serving", 2024: BGMV).
 *
 *     y[i, yOffset : yOffset + ySliceSize] +=
 *         x[i] @ weightA[indices[i], layer]^T @ weightB[indices[i], layer]^T * scale
 *
 * without weightA where it is absent. A row of index -1 has none and stays. CANN's page
 * says that the output takes y's memory, so both get the result. Rows of one index are
 * multiplied together, in float32, and rounded once.
 */
#include "device/cpu/gemm/gemm.h"
#include "device/opapi/moe/rows.h"

typedef struct {
    asnd_plan_head head;
    int y, x, b, indices, a, out; /* operands; a -1: absent */
    int64_t layer, offset;
    float scale;
} lora_plan;

/* z = rows @ weight[index, layer]^T: a view of the weight, turned, which is copied only
 * where it is not float32. */
static asn_status times(aclOpExecutor *e, int weight, int64_t index, int64_t layer,
                        const asnd_view *rows, asnd_tmp *tmp, asnd_view *z) {
    asnd_view w, real;
    asn_view_set(&w, asn_exec_nd(e, weight));
    asn_view_slice(&w, 1, layer, 1, 1);
    asn_view_drop(&w, 1);
    asn_view_slice(&w, 0, index, 1, 1);
    asn_view_drop(&w, 0);
    asn_view_swap_last(&w);
    ASN_TRY(asn_tmp_as(tmp, &w.nd, ASN_F32, &real));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){rows->shape[0], real.shape[1]}, z));
    return asn_cpu_matmul(&rows->nd, &real.nd, &z->nd);
}

/* The rows' numbers in the order of their indices, and these. Indices are data: they are
 * checked here, before anything is multiplied by what they name. */
static asn_status take_order(aclOpExecutor *e, const lora_plan *p, int64_t n,
                             asnd_tmp *tmp, int64_t **order, int64_t **sorted) {
    const int64_t *given;
    int64_t count = asn_exec_nd(e, p->b)->shape[0];
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->indices), ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, n, order));
    ASN_TRY(asn_rows_ints(tmp, n, sorted));
    for (int64_t i = 0; i < n; i++)
        if (given[i] < -1 || given[i] >= count)
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: indices has %lld; there are %lld weights", e->name,
                                 (long long)given[i], (long long)count);
    return asn_rows_order(given, n, *order, *sorted);
}

/* sum[order[i]] += scale * the products of rows from..to, which name one index. */
static asn_status add_index(aclOpExecutor *e, const lora_plan *p, int64_t index,
                            const asnd_view *part, const int64_t *order, asnd_tmp *tmp,
                            const asnd_view *sum) {
    asnd_view low, high;
    if (p->a >= 0) ASN_TRY(times(e, p->a, index, p->layer, part, tmp, &low));
    ASN_TRY(times(e, p->b, index, p->layer, p->a >= 0 ? &low : part, tmp, &high));
    const float *z = (const float *)(void *)high.nd.data;
    for (int64_t i = 0; i < part->shape[0]; i++, z += high.shape[1]) {
        float *s = (float *)(void *)sum->nd.data + order[i] * sum->shape[1] + p->offset;
        for (int64_t j = 0; j < high.shape[1]; j++)
            s[j] += p->scale * z[j];
    }
    return ASN_OK;
}

/* Rows are gathered by their index, so that a weight is converted once and multiplies all
 * rows that name it, in memory that goes back before the next. */
static asn_status lora_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const lora_plan *p = plan;
    const asnd_nd *y = asn_exec_nd(e, p->y);
    int64_t n = y->shape[0], *order, *sorted;
    asnd_view x, rows, sum;
    ASN_TRY(take_order(e, p, n, tmp, &order, &sorted));
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->x), ASN_F32, tmp, &x));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, x.shape, &rows));
    ASN_TRY(asn_rows_move(&rows.nd, NULL, &x.nd, order, n, tmp));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, y->shape, &sum));
    ASN_TRY(asn_move(&sum.nd, y));
    for (int64_t from = 0, to; from < n; from = to) {
        asnd_view part;
        asnd_tmp own = {0};
        for (to = from; to < n && sorted[to] == sorted[from]; to++)
            continue;
        if (sorted[from] < 0) continue;
        asn_view_set(&part, &rows.nd);
        asn_view_slice(&part, 0, from, to - from, 1);
        asn_status status =
            add_index(e, p, sorted[from], &part, order + from, &own, &sum);
        asn_tmp_free(&own);
        ASN_TRY(status);
    }
    ASN_TRY(asn_move(asn_exec_nd(e, p->out), &sum.nd));
    return asn_move(y, &sum.nd);
}

/* weightB is (weights, layers, ySliceSize, r), weightA (weights, layers, r, x's columns).
 */
static asn_status check_weights(const asnd_call *c, int64_t slice) {
    const asnd_nd *x = asn_call_nd(c, 1), *b = asn_call_nd(c, 2), *a = asn_call_nd(c, 4);
    int64_t layer = asn_call_int(c, 5);
    ASN_TRY(asn_call_rank(c, 2, 4, 4));
    int64_t inner = a != NULL ? b->shape[3] : x->shape[1];
    ASN_TRY(asn_call_same_shape(c, 2, 4,
                                (int64_t[]){b->shape[0], b->shape[1], slice, inner}));
    if (a != NULL)
        ASN_TRY(asn_call_same_shape(
            c, 4, 4, (int64_t[]){b->shape[0], b->shape[1], inner, x->shape[1]}));
    if (layer >= 0 && layer < b->shape[1]) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: layerIdx is %lld; there are %lld layers",
                         c->op->name, (long long)layer, (long long)b->shape[1]);
}

/* AddLora(y, x, weightB, indices, weightA, layerIdx, scale, yOffset, ySliceSize, out) */
asn_status asn_planner_add_lora(asnd_call *c) {
    const asnd_nd *y = asn_call_nd(c, 0), *x = asn_call_nd(c, 1);
    int64_t offset = asn_call_int(c, 7), slice = asn_call_int(c, 8);
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    for (int i = 0; i < 10; i++) {
        if (i == 3 || (i > 4 && i < 9) || c->first[i] < 0) continue;
        ASN_TRY(asn_call_single(c, i));
        ASN_TRY(asn_call_same_dtype(c, i, 0));
    }
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){y->shape[0], x->shape[1]}));
    ASN_TRY(asn_call_position_dtype(c, 3));
    ASN_TRY(asn_call_same_shape(c, 3, 1, y->shape));
    ASN_TRY(asn_call_same_shape(c, 9, 2, y->shape));
    if (offset < 0 || slice < 0 || offset > y->shape[1] - slice)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: %lld columns of y from %lld on; it has %lld", c->op->name,
            (long long)slice, (long long)offset, (long long)y->shape[1]);
    ASN_TRY(check_weights(c, slice));
    if (asn_nd_size(y) == 0) return ASN_OK;
    lora_plan p = {.y = c->first[0],
                   .x = c->first[1],
                   .b = c->first[2],
                   .indices = c->first[3],
                   .a = c->first[4],
                   .out = c->first[9],
                   .layer = asn_call_int(c, 5),
                   .offset = offset,
                   .scale = (float)asn_call_double(c, 6)};
    double work = (double)y->shape[0] * (double)(x->shape[1] + slice) *
                  (double)asn_call_nd(c, 2)->shape[3];
    return asn_call_keep(c, lora_body, &p, sizeof p, 1000 + work / 20);
}
