/* CPU device, operators: ScatterList(varRef, indice, updates, maskOptional, reduce,
 * axis): rows written into each tensor of a list.
 *
 * Tensor i of the list gets updates[i], whose extent along axis may be shorter, from
 * position indice[i] along axis on, unless the mask has a 0 for it. reduce is "update".
 * The values of indice are checked for all tensors before the first is written.
 */
#include <string.h>

#include "device/opapi/core/packed.h"

typedef struct {
    asnd_plan_head head;
    int first, count, index, updates, mask; /* operands; mask: or -1 */
    int axis;                               /* of a tensor of the list */
} list_plan;

/* updates[i], without the list's dimension. */
static void update_of(const asnd_nd *updates, int i, asnd_view *v) {
    asn_view_set(v, updates);
    asn_view_slice(v, 0, i, 1, 1);
    asn_view_drop(v, 0);
}

static asn_status list_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const list_plan *p = plan;
    const asnd_nd *updates = asn_exec_nd(e, p->updates);
    int64_t length = updates->shape[p->axis + 1];
    const int64_t *at;
    const uint8_t *mask = NULL;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->index), ASN_I64, tmp, &at));
    if (p->mask >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->mask), ASN_U8, tmp, &mask));
    for (int i = 0; i < p->count; i++) {
        int64_t n = asn_exec_nd(e, p->first + i)->shape[p->axis];
        if ((mask == NULL || mask[i]) && (at[i] < 0 || at[i] > n - length))
            return asn_error_set(ASN_ERR_INDEX,
                                 "indice[%d] is %lld; %lld of %lld elements are written "
                                 "from there on",
                                 i, (long long)at[i], (long long)length, (long long)n);
    }
    for (int i = 0; i < p->count; i++) {
        asnd_view to, from;
        if (mask != NULL && !mask[i]) continue;
        asn_view_set(&to, asn_exec_nd(e, p->first + i));
        asn_view_slice(&to, p->axis, at[i], length, 1);
        update_of(updates, i, &from);
        ASN_TRY(asn_move(&to.nd, &from.nd));
    }
    return ASN_OK;
}

/* Tensor i of the list goes with updates[i]. */
static asn_status check_member(const asnd_call *c, int i, int axis) {
    const asnd_operand *o = &c->e->operands[c->first[0] + i];
    const asnd_nd *updates = asn_call_nd(c, 2);
    if (o->is_absent)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: varRef[%d] is NULL", c->op->name,
                             i);
    bool fits = o->nd.ndim + 1 == updates->ndim && o->nd.dtype == updates->dtype;
    for (int d = 0; d < o->nd.ndim && fits; d++)
        fits = d == axis ? updates->shape[d + 1] <= o->nd.shape[d]
                         : updates->shape[d + 1] == o->nd.shape[d];
    if (fits) return ASN_OK;
    char got[ASN_SHAPE_TEXT], other[ASN_SHAPE_TEXT];
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: varRef[%d], %s of shape %s, does not go with updates, %s of "
        "shape %s",
        c->op->name, i, asn_dtype_name(o->nd.dtype),
        asn_shape_text(got, o->nd.ndim, o->nd.shape), asn_dtype_name(updates->dtype),
        asn_shape_text(other, updates->ndim, updates->shape));
}

asn_status asn_planner_scatter_list(asnd_call *c) {
    const asnd_array *list = asn_call_array(c, 0);
    const asnd_nd *updates = asn_call_nd(c, 2);
    const char *reduce = c->args[4].p;
    int axis = 0, count = (int)list->size;
    int64_t length = count;
    ASN_TRY(asn_call_rank(c, 2, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    ASN_TRY(asn_call_same_shape(c, 1, 1, &length));
    ASN_TRY(asn_call_one_of(c, 3, ASN_BIT(ASN_U8) | ASN_BIT(ASN_BOOL) | ASN_BIT(ASN_I8)));
    if (asn_call_nd(c, 3) != NULL) ASN_TRY(asn_call_same_shape(c, 3, 1, &length));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 5), updates->ndim - 1, &axis));
    if (strcmp(reduce, "update") != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: reduce is \"%.32s\"; it must be \"update\"",
                             c->op->name, reduce);
    if (updates->shape[0] != length)
        return asn_error_set(ASN_ERR_VALUE, "%s: updates has %lld slices for %d tensors",
                             c->op->name, (long long)updates->shape[0], count);
    for (int i = 0; i < count; i++)
        ASN_TRY(check_member(c, i, axis));
    if (asn_nd_size(updates) == 0) return ASN_OK;
    list_plan *p =
        asn_call_plan(c, list_body, sizeof *p,
                      300 + 100 * (double)count + (double)asn_nd_size(updates));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->first = c->first[0];
    p->count = count;
    p->index = c->first[1];
    p->updates = c->first[2];
    p->mask = c->first[3];
    p->axis = axis;
    return ASN_OK;
}
