/* CPU device, operators: GatherV3(self, dim, index, batchDims, mode, out): slices of self
 * along a dimension, as GatherV2, in each of a batch.
 *
 * The first batchDims dimensions of self and index are the batch, and agree; the others
 * of index replace dimension dim of self, which lies behind the batch. A batch is one
 * call of the kernel for each of its elements; without one it is GatherV2. mode chooses
 * between an NPU's ways to the same result.
 */
#include <string.h>

#include "device/cpu/index/index.h"
#include "device/opapi/core/plan.h"

typedef struct {
    asnd_plan_head head;
    int self, index, out, axis, batch;
} batch_plan;

/* Drops the batch dimensions at element `at` of the batch, in row-major order. */
static void pick(asnd_view *v, const asnd_nd *a, int batch, int64_t at) {
    asn_view_set(v, a);
    for (int d = batch - 1; d >= 0; d--) {
        int64_t i = at % a->shape[d];
        at /= a->shape[d];
        asn_view_slice(v, d, i, 1, 1);
        asn_view_drop(v, d);
    }
}

static asn_status batch_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const batch_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    asnd_view index, from, at, to;
    int64_t count = 1;
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->index), ASN_I64, &index));
    for (int d = 0; d < p->batch; d++)
        count *= self->shape[d];
    for (int64_t i = 0; i < count; i++) {
        pick(&from, self, p->batch, i);
        pick(&at, &index.nd, p->batch, i);
        pick(&to, out, p->batch, i);
        ASN_TRY(
            asn_cpu_take(&from.nd, p->axis - p->batch, &at.nd, ASN_INDEX_RAISE, &to.nd));
    }
    return ASN_OK;
}

asn_status asn_planner_gather_batch(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *index = asn_call_nd(c, 2);
    int64_t batch = asn_call_int(c, 3), mode = asn_call_int(c, 4);
    int64_t shape[2 * ASN_ND_MAX_DIMS];
    int axis = 0, ndim = 0;
    ASN_TRY(asn_index_dtype(c, 2, index));
    ASN_TRY(asn_call_same_dtype(c, 0, 5));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    bool fits = self->ndim > 0 && batch >= 0 && batch <= axis && batch <= index->ndim;
    for (int d = 0; d < batch && fits; d++)
        fits = self->shape[d] == index->shape[d];
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: batchDims is %lld; self and index must agree in so "
                             "many dimensions, all in front of dim",
                             c->op->name, (long long)batch);
    if (mode != 0 && mode != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: mode is %lld; it must be 0 or 1",
                             c->op->name, (long long)mode);
    for (int d = 0; d < axis; d++)
        shape[ndim++] = self->shape[d];
    for (int d = (int)batch; d < index->ndim; d++)
        shape[ndim++] = index->shape[d];
    for (int d = axis + 1; d < self->ndim; d++)
        shape[ndim++] = self->shape[d];
    if (ndim > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "%s: the result would have %d dimensions",
                             c->op->name, ndim);
    ASN_TRY(asn_call_same_shape(c, 5, ndim, shape));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    batch_plan *p = asn_call_plan(c, batch_body, sizeof *p,
                                  300 + 2 * (double)asn_nd_size(asn_call_nd(c, 5)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->index = c->first[2];
    p->out = c->first[5];
    p->axis = axis;
    p->batch = (int)batch;
    return ASN_OK;
}
