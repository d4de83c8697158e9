/* CPU device, operators: CoalesceSparse(uniqueLen, uniqueIndices, indices, values,
 * newIndices, newValues): the entries of a sparse tensor, one for each position.
 *
 * Entry i has the position indices[i] and the value values[i], a slice; it belongs to
 * position uniqueIndices[i] of the result, which has as many entries as uniqueLen has
 * elements: newIndices[uniqueIndices[i]] = indices[i], and newValues[uniqueIndices[i]] is
 * the sum of the values that meet there, in their order; halves are summed in float32.
 * Only the length of uniqueLen counts.
 */
#include "device/cpu/index/index.h"
#include "device/opapi/core/packed.h"

/* to[rows[i]] is from[i], or their sum; rows that are not named are 0. */
static asn_status put_rows(const asnd_nd *out, const asnd_nd *from, const asnd_view *rows,
                           asn_dtype t, asn_op op, asnd_tmp *tmp) {
    static const uint8_t zero[16];
    const asnd_nd *list[1] = {&rows->nd};
    asnd_view to, values, none;
    int64_t one = 1;
    ASN_TRY(asn_tmp_as(tmp, from, t, &values));
    ASN_TRY(asn_tmp_view(tmp, t, out->ndim, out->shape, &to));
    asn_view_plain(&none, t, 0, &one, (void *)(uintptr_t)zero);
    asn_view_broadcast(&none, out->ndim, out->shape);
    ASN_TRY(asn_move(&to.nd, &none.nd));
    ASN_TRY(asn_cpu_index_put(&to.nd, 1, list, &values.nd, op, NULL));
    return asn_move(out, &to.nd);
}

static asn_status coalesce_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *values = asn_exec_nd(e, p->at[3]);
    asnd_view rows;
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->at[1]), ASN_I64, &rows));
    ASN_TRY(put_rows(asn_exec_nd(e, p->at[4]), asn_exec_nd(e, p->at[2]), &rows, ASN_I64,
                     ASN_OP_NONE, tmp));
    return put_rows(asn_exec_nd(e, p->at[5]), values, &rows, p->loop, ASN_OP_ADD, tmp);
}

asn_status asn_planner_coalesce(asnd_call *c) {
    const asnd_nd *length = asn_call_nd(c, 0), *indices = asn_call_nd(c, 2);
    const asnd_nd *values = asn_call_nd(c, 3);
    int64_t shape[ASN_ND_MAX_DIMS];
    ASN_TRY(asn_call_rank(c, 0, 1, 1));
    ASN_TRY(asn_call_rank(c, 2, 2, 2));
    ASN_TRY(asn_call_rank(c, 3, 1, ASN_ND_MAX_DIMS));
    for (int i = 0; i < 3; i++)
        ASN_TRY(asn_index_dtype(c, i, asn_call_nd(c, i)));
    ASN_TRY(asn_index_dtype(c, 4, asn_call_nd(c, 4)));
    ASN_TRY(asn_call_same_dtype(c, 3, 5));
    if (values->dtype == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: values has dtype bool, which has no sums",
                             c->op->name);
    ASN_TRY(asn_call_same_shape(c, 1, 1, indices->shape));
    if (values->shape[0] != indices->shape[0])
        return asn_error_set(ASN_ERR_VALUE, "%s: %lld positions for %lld values",
                             c->op->name, (long long)indices->shape[0],
                             (long long)values->shape[0]);
    shape[0] = length->shape[0];
    shape[1] = indices->shape[1];
    ASN_TRY(asn_call_same_shape(c, 4, 2, shape));
    for (int d = 1; d < values->ndim; d++)
        shape[d] = values->shape[d];
    ASN_TRY(asn_call_same_shape(c, 5, values->ndim, shape));
    if (asn_call_operand(c, 4)->is_empty && asn_call_operand(c, 5)->is_empty)
        return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, coalesce_body, 300 + 4 * (double)asn_nd_size(values));
    if (p == NULL) return ASN_ERR_MEMORY;
    bool half = values->dtype == ASN_F16 || values->dtype == ASN_BF16;
    p->loop = half ? ASN_F32 : values->dtype;
    return ASN_OK;
}
