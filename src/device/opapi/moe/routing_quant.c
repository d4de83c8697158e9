/* CPU device, operators: MoeInitRoutingQuantV2, tokens in the order of their experts as
 * int8.
 *
 * The order is MoeInitRoutingV2's, by its planner, into a temporary of x's dtype; then
 * each place of it is quantised: quantMode 0 as round(x * scale + offset) with one scale
 * and one offset, 1 with a scale of each place, x times the expert's scale first where
 * there is one. A place that no token came to (dropPadMode 1) has zeros, and scale 0.
 */
#include <string.h>

#include "device/opapi/core/inner.h"
#include "device/opapi/moe/rows.h"
#include "device/opapi/quant/row_quant.h"

/* Operands, -1: absent. rows: the temporary, whose places are (capacity of each expert,
 * or one after the other). */
typedef struct {
    asnd_plan_head head;
    asnd_inner routing;
    int expert, scale, offset, out, scale_out, rows;
    bool dynamic, each; /* each: a row of scales for every expert */
    int64_t places, width, capacity, experts, entries;
} quant_plan;

/* of[place]: the expert that works there; -1: nobody's token is there. */
static asn_status experts_of(aclOpExecutor *e, const quant_plan *p, asnd_tmp *tmp,
                             int64_t **of) {
    const int64_t *given;
    int64_t *order, *sorted;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->expert), ASN_I64, tmp, &given));
    ASN_TRY(asn_rows_ints(tmp, p->entries, &order));
    ASN_TRY(asn_rows_ints(tmp, p->entries, &sorted));
    ASN_TRY(asn_rows_ints(tmp, p->places, of));
    ASN_TRY(asn_rows_order(given, p->entries, order, sorted));
    for (int64_t i = 0; i < p->places; i++)
        (*of)[i] = -1;
    for (int64_t i = 0, run = 0; i < p->entries; i++) {
        /* With a capacity an expert's tokens begin at its first place, and what is
         * beyond the last is dropped; experts that do not exist have no place. */
        run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 0;
        if (p->capacity == 0 && i < p->places) (*of)[i] = sorted[i];
        if (p->capacity > 0 && run < p->capacity && sorted[i] >= 0 &&
            sorted[i] < p->experts)
            (*of)[sorted[i] * p->capacity + run] = sorted[i];
    }
    return ASN_OK;
}

/* One place: v is its row, which may be changed. */
static asn_status quantise_place(aclOpExecutor *e, const quant_plan *p, int64_t expert,
                                 const float *scale, const float *offset, float *v,
                                 int8_t *q, float *told) {
    /* One scale and one offset for everything: experts do not matter. */
    if (!p->dynamic) {
        for (int64_t j = 0; j < p->width; j++)
            q[j] = (int8_t)asn_quant_value(v[j] * scale[0] + offset[0], ASN_ROUND_EVEN,
                                           -128, 127);
        return ASN_OK;
    }
    if (p->each && (expert < 0 || expert >= p->experts))
        return asn_error_set(ASN_ERR_INDEX, "%s: expertIdx names %lld of %lld experts",
                             e->name, (long long)expert, (long long)p->experts);
    const float *of = scale ? scale + (p->each ? expert * p->width : 0) : NULL;
    for (int64_t j = 0; of != NULL && j < p->width; j++)
        v[j] *= of[j];
    *told = asn_quant_row(v, p->width, q);
    return ASN_OK;
}

/* The routing writes everything but expandedX and its scales where the program wants it;
 * the rows, moved and rounded to nothing yet, are quantised one place after the other. */
static asn_status quant_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const quant_plan *p = plan;
    asnd_operand *rows = &e->operands[p->rows];
    const asnd_nd *out = asn_exec_nd(e, p->out);
    const float *scale = NULL, *offset = NULL;
    asnd_view moved, real, to, told;
    int64_t *of;
    ASN_TRY(asn_tmp_view(tmp, rows->nd.dtype, rows->nd.ndim, rows->nd.shape, &moved));
    rows->nd.data = moved.nd.data;
    ASN_TRY(asn_inner_run(e, &p->routing));
    ASN_TRY(asn_tmp_as(tmp, &moved.nd, ASN_F32, &real));
    ASN_TRY(experts_of(e, p, tmp, &of));
    if (p->scale >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->scale), ASN_F32, tmp, &scale));
    if (p->offset >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->offset), ASN_F32, tmp, &offset));
    ASN_TRY(asn_tmp_view(tmp, ASN_I8, out->ndim, out->shape, &to));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &p->places, &told));
    float *v = (float *)(void *)real.nd.data, *scales = (float *)(void *)told.nd.data;
    for (int64_t i = 0; i < p->places; i++) {
        int8_t *q = (int8_t *)to.nd.data + i * p->width;
        scales[i] = 0;
        memset(q, 0, (size_t)p->width);
        if (of[i] >= 0 || p->capacity == 0)
            ASN_TRY(quantise_place(e, p, of[i], scale, offset, v + i * p->width, q,
                                   scales + i));
    }
    ASN_TRY(asn_move(out, &to.nd));
    return p->dynamic ? asn_move(asn_exec_nd(e, p->scale_out), &told.nd) : ASN_OK;
}

/* ---- the planner */

/* The same order as MoeInitRoutingV2's parameters. */
static const asnd_param routing_params[] = {
    {"x", ASN_IN, false, false, 0, false, 0},
    {"expertIdx", ASN_IN, false, false, 0, false, 0},
    {"activeNum", ASN_INT, false, false, 0, false, 0},
    {"expertCapacity", ASN_INT, false, false, 0, false, 0},
    {"expertNum", ASN_INT, false, false, 0, false, 0},
    {"dropPadMode", ASN_INT, false, false, 0, false, 0},
    {"expertTokensCountOrCumsumFlag", ASN_INT, false, false, 0, false, 0},
    {"expertTokensBeforeCapacityFlag", ASN_INT, false, false, 0, false, 0},
    {"expandedXOut", ASN_OUT, false, false, 0, false, 0},
    {"expandedRowIdxOut", ASN_OUT, false, false, 0, false, 0},
    {"expertTokensCountOrCumsumOutOptional", ASN_OUT, true, false, 0, false, 0},
    {"expertTokensBeforeCapacityOutOptional", ASN_OUT, true, false, 0, false, 0}};

/* Scales and offset, as quantMode wants them. */
static asn_status take_scales(const asnd_call *c, quant_plan *p) {
    int64_t mode = asn_call_int(c, 10), size = -1; /* of scale: -1, there is none */
    ASN_TRY(asn_call_one_of(c, 2, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_one_of(c, 3, ASN_BIT(ASN_F32)));
    p->scale = c->first[2];
    p->offset = c->first[3];
    p->scale_out = c->first[15];
    p->dynamic = mode == 1;
    p->experts = asn_call_int(c, 6);
    if (p->scale >= 0) size = asn_nd_size(asn_call_nd(c, 2));
    /* Of one expert a row of scales is everybody's, either way. */
    p->each = p->dynamic && p->scale >= 0 && size == p->experts * p->width && size > 0;
    bool fits = mode == 0
                    ? size == 1 && p->offset >= 0 && asn_nd_size(asn_call_nd(c, 3)) == 1
                    : mode == 1 && (p->scale < 0 || p->each || size == p->width);
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: quantMode is %lld; 0 wants one scale and one offset, 1 "
                             "a row of scales, one for each expert, or none",
                             c->op->name, (long long)mode);
    if (!p->dynamic) return ASN_OK;
    if (p->scale_out < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: dynamicQuantScaleOut is NULL, quantMode 1",
                             c->op->name);
    ASN_TRY(asn_call_one_of(c, 15, ASN_BIT(ASN_F32)));
    return asn_call_same_shape(c, 15, 1, &p->places);
}

/* (x, expertIdx, scale, offset, activeNum, expertCapacity, expertNum, dropPadMode,
 * expertTokensCountOrCumsumFlag, expertTokensBeforeCapacityFlag, quantMode, expandedX,
 * expandedRowIdx, counts, counts before the capacity, dynamicQuantScale). */
asn_status asn_planner_moe_init_quant(asnd_call *c) {
    quant_plan p;
    memset(&p, 0, sizeof p);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_call_one_of(c, 11, ASN_BIT(ASN_I8)));
    ASN_TRY(asn_call_rank(c, 11, 2, 3));
    const asnd_nd *out = asn_call_nd(c, 11);
    /* Taken before there is room for more operands, which moves those that are here. */
    asn_dtype dtype = asn_call_nd(c, 0)->dtype;
    p.expert = c->first[1];
    p.out = c->first[11];
    p.entries = asn_nd_size(asn_call_nd(c, 1));
    p.width = asn_call_nd(c, 0)->shape[1];
    p.places = out->shape[0] * (out->ndim == 3 ? out->shape[1] : 1);
    p.capacity = asn_call_int(c, 7) != 0 ? asn_call_int(c, 5) : 0;
    ASN_TRY(take_scales(c, &p));
    int ndim = out->ndim;
    int64_t shape[3];
    memcpy(shape, out->shape, (size_t)ndim * sizeof *shape);
    p.rows = asn_inner_room(c, 1);
    if (p.rows < 0) return ASN_ERR_MEMORY;
    ASN_TRY(asn_inner_operand(c, p.rows, dtype, ndim, shape));
    asnd_opdesc op = {c->op->name, routing_params,  asn_planner_moe_init, NULL, 12,
                      0,           ASN_NO_WORKSPACE};
    asnd_arg args[12];
    memset(args, 0, sizeof args);
    /* Numbers stand two places further than in the inner operator: scale and offset. */
    for (int i = 2; i < 8; i++)
        args[i] = c->args[i + 2];
    int at[] = {c->first[0], p.expert, -1,     -1,           -1,           -1,
                -1,          -1,       p.rows, c->first[12], c->first[13], c->first[14]};
    ASN_TRY(asn_inner_plan(c, &op, args, at, &p.routing));
    return asn_call_keep(c, quant_body, &p, sizeof p,
                         1000 + 8 * (double)(p.places * p.width));
}
