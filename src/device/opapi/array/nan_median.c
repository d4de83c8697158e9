/* CPU device, operators: NanMedian(self, out), NanMedianDim(self, dim, keepDim,
 * valuesOut, indicesOut): the lower of two medians of what is not NaN; NaN where nothing
 * else is.
 *
 * By a whole sort of each line, with positions, since NaN sort last and their number is
 * then seen from the end. A selection would need that number first.
 *
 * Without dim all elements are one line. The position that goes with a median is that of
 * the element in its line, the first among equal ones, since sorts are stable.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/sort/sort.h"
#include "device/opapi/core/packed.h"

/* n[0]: elements of a line; n[1]: lines. p->kind is the first output's parameter. */
static asn_status nan_median_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    asnd_view self, rows, sorted, found, values, indices;
    int64_t n = p->n[0], count = p->n[1], shape[2] = {count, n};
    int item = asn_itemsize(in->dtype);
    asn_view_set(&self, in);
    if (p->axis >= 0 && in->ndim > 1) { /* the dimension comes last */
        int axes[ASN_ND_MAX_DIMS], at = 0;
        for (int d = 0; d < in->ndim; d++)
            if (d != p->axis) axes[at++] = d;
        axes[at] = p->axis;
        asn_view_permute(&self, axes);
    }
    /* One line to a row of a packed copy. */
    ASN_TRY(asn_packed_of(&self.nd, in->dtype, tmp, &rows));
    asn_view_plain(&rows, in->dtype, 2, shape, rows.nd.data);
    ASN_TRY(asn_tmp_view(tmp, in->dtype, 2, shape, &sorted));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, shape, &found));
    ASN_TRY(asn_cpu_sort(&rows.nd, 1, 0, &sorted.nd, &found.nd));
    ASN_TRY(asn_tmp_view(tmp, in->dtype, 1, shape, &values));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, shape, &indices));
    for (int64_t i = 0; i < count; i++) {
        int64_t numbers = n; /* NaN sort last */
        if (asn_is_floating(in->dtype))
            while (numbers > 0 &&
                   isnan(asn_value_to_double(
                       in->dtype, sorted.nd.data + (i * n + numbers - 1) * item)))
                numbers--;
        /* The lower median of `numbers` values; of none the first, which is NaN. */
        int64_t at = i * n + (numbers > 0 ? (numbers - 1) / 2 : 0);
        memcpy(values.nd.data + i * item, sorted.nd.data + at * item, (size_t)item);
        ((int64_t *)(void *)indices.nd.data)[i] = ((int64_t *)(void *)found.nd.data)[at];
    }
    /* Kept dimensions of extent 1 do not change the order of elements. */
    int out = p->kind;
    asnd_view to;
    const asnd_nd *v = asn_exec_nd(e, p->at[out]);
    asn_view_plain(&to, in->dtype, v->ndim, v->shape, values.nd.data);
    ASN_TRY(asn_move(v, &to.nd));
    if (p->axis < 0) return ASN_OK;
    asn_view_plain(&to, ASN_I64, v->ndim, v->shape, indices.nd.data);
    return asn_move(asn_exec_nd(e, p->at[out + 1]), &to.nd);
}

/* Two parameters: NanMedian. A line of no elements is an error. */
asn_status asn_planner_nan_median(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool all = c->op->num_params == 2;
    int axis = 0, out = all ? 1 : 3;
    if (asn_is_complex(self->dtype) || self->dtype == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no %s", c->op->name,
                             asn_dtype_name(self->dtype));
    if (!all) ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    uint64_t mask =
        all ? (self->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << self->ndim) - 1)
            : UINT64_C(1) << axis;
    if (all) asn_call_one_value(c, out);
    for (int i = out; i < c->op->num_params; i++)
        ASN_TRY(asn_check_reduced(c, 0, i, mask, !all && asn_call_int(c, 2)));
    ASN_TRY(asn_call_same_dtype(c, out, 0));
    if (!all) ASN_TRY(asn_call_position_dtype(c, out + 1));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    int64_t size = asn_nd_size(self), n = all ? size : self->ndim ? self->shape[axis] : 1;
    if (n == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: no elements have no median",
                             c->op->name);
    asnd_packed *p = asn_packed_plan(c, nan_median_body,
                                     500 + (double)size * (4 + log2((double)n + 1)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = all ? -1 : axis;
    p->kind = out;
    p->n[0] = n;
    p->n[1] = size / n;
    return ASN_OK;
}
