/* CPU device, operators: blocks written at positions of a cache.
 *
 * InplaceScatterUpdate(data, indices, updates, axis), InplaceQuantScatter(selfRef,
 * indices, updates, quantScales, quantZeroPoints, axis, quantAxis, reduction): updates[i]
 * goes to data[i] (or data[indices[i, 0]]) from position indices[i] (indices[i, 1]) of
 * the axis on; quantised as Quantize does it, updates / scale + zero point rounded half
 * to even.
 */
#include <string.h>

#include "device/opapi/quant/quant.h"

/* Writes block i of the updates; all positions are checked first, since they are data: a
 * first round checks, a second one writes. */
static asn_status write_blocks(const asnd_nd *data, const asnd_view *indices,
                               const asnd_nd *updates, int axis) {
    const int64_t *index = (const int64_t *)(void *)indices->nd.data;
    bool pairs = indices->nd.ndim == 2;
    int64_t n = updates->shape[0], long_axis = updates->shape[axis];
    for (int check = 1; check >= 0; check--) /* nothing is written when one is wrong */
        for (int64_t i = 0; i < n; i++) {
            int64_t row = pairs ? index[2 * i] : i,
                    at = pairs ? index[2 * i + 1] : index[i];
            if (row < 0 || row >= data->shape[0] || at < 0 ||
                at > data->shape[axis] - long_axis)
                return asn_error_set(ASN_ERR_INDEX,
                                     "block %lld at (%lld, %lld) is out of bounds",
                                     (long long)i, (long long)row, (long long)at);
            if (check) continue;
            asnd_view to, from;
            asn_view_set(&to, data);
            asn_view_set(&from, updates);
            asn_view_slice(&to, axis, at, long_axis, 1);
            asn_view_slice(&to, 0, row, 1, 1);
            asn_view_slice(&from, 0, i, 1, 1);
            ASN_TRY(asn_move(&to.nd, &from.nd));
        }
    return ASN_OK;
}

/* kind 0: as they are; 1: quantised into int8 in row-major order. n[0]: quantAxis. */
static asn_status scatter_update_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *updates = asn_exec_nd(e, p->at[2]);
    asnd_view indices, plain, q;
    ASN_TRY(asn_packed_in(e, p, 1, ASN_I64, tmp, &indices));
    if (p->kind == 0)
        return write_blocks(asn_exec_nd(e, p->at[0]), &indices, updates, p->axis);
    /* Scale and zero point of each position along quantAxis; the latter may be absent
     * (0). */
    const float *scale[2] = {NULL, NULL};
    int64_t n = asn_nd_size(updates), along = updates->shape[p->n[0]];
    for (int i = 0; i < 2; i++) { /* in whatever shape they are: a line along quantAxis */
        if (p->at[3 + i] < 0) continue;
        asnd_view line;
        ASN_TRY(asn_packed_in(e, p, 3 + i, ASN_F32, tmp, &line));
        scale[i] = (const float *)(void *)line.nd.data;
    }
    ASN_TRY(asn_packed_of(updates, ASN_F32, tmp, &plain));
    ASN_TRY(asn_tmp_view(tmp, ASN_I8, updates->ndim, updates->shape, &q));
    int64_t inner = 1;
    for (int d = (int)p->n[0] + 1; d < updates->ndim; d++)
        inner *= updates->shape[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i / inner % along;
        float v = ((const float *)(void *)plain.nd.data)[i] / scale[0][k];
        if (scale[1] != NULL) v += scale[1][k];
        q.nd.data[i] = (char)asn_quant_value(v, ASN_ROUND_EVEN, -128, 127);
    }
    return write_blocks(asn_exec_nd(e, p->at[0]), &indices, &q.nd, p->axis);
}

/* data's extents hold the updates' along the first dimension and the axis, and are the
 * same elsewhere. The axis is not the first, which the index names. */
asn_status asn_planner_scatter_update(asnd_call *c) {
    const asnd_nd *data = asn_call_nd(c, 0), *indices = asn_call_nd(c, 1),
                  *updates = asn_call_nd(c, 2);
    bool quant = c->op->arg == 1;
    int axis = 0, quant_axis = 0;
    ASN_TRY(asn_index_dtype(c, 1, indices));
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_rank(c, 1, 1, 2));
    ASN_TRY(asn_call_rank(c, 2, data->ndim, data->ndim));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, quant ? 5 : 3), data->ndim, &axis));
    bool fits = axis > 0 && indices->shape[0] == updates->shape[0] &&
                (indices->ndim == 1 || indices->shape[1] == 2);
    for (int d = 0; d < data->ndim && fits; d++)
        fits = d == 0 || d == axis ? updates->shape[d] <= data->shape[d]
                                   : updates->shape[d] == data->shape[d];
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: updates must have the extents of %s but for the first, "
                             "one per index, and the axis, which is not the first",
                             c->op->name, c->op->params[0].name);
    if (quant) {
        if (asn_call_int(c, 7) != 1)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: reduction is %lld; 1 (update) is all", c->op->name,
                                 (long long)asn_call_int(c, 7));
        /* V2 says how to round: to int8 there is one way. */
        if (c->op->num_params > 8 && strcmp(c->args[8].p, "rint") != 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: roundMode is \"%.20s\"; to int8 it must be rint",
                                 c->op->name, (const char *)c->args[8].p);
        ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_I8)));
        ASN_TRY(asn_call_floating(c, 2));
        ASN_TRY(asn_call_floating(c, 3));
        ASN_TRY(asn_call_axis(c, asn_call_int(c, 6), data->ndim, &quant_axis));
        for (int i = 3; i < 5; i++)
            if (c->first[i] >= 0 &&
                asn_nd_size(asn_call_nd(c, i)) != updates->shape[quant_axis])
                return asn_call_same_shape(c, i, 1, updates->shape + quant_axis);
    } else {
        ASN_TRY(asn_call_same_dtype(c, 2, 0));
    }
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, scatter_update_body, 300 + 3 * (double)asn_nd_size(updates));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->n[0] = quant_axis;
    return ASN_OK;
}
