/* CPU device, operators: masks, positions of non-zero elements, repetition by counts.
 *
 * The length of these results depends on data. The output must have room; its aclTensor
 * is given the length the result turned out to have, which a program reads with
 * aclGetViewShape after a synchronisation.
 *
 * Errors that depend on data (no room, counts of a wrong sum) are errors of the task,
 * found before the output is written.
 */
#include <string.h>

#include "device/cpu/index/creation.h"
#include "device/cpu/index/index.h"
#include "device/cpu/fused/reduce.h"
#include "device/opapi/core/plan.h"

/* One plan for all: each operator uses some of the fields. */
typedef struct {
    asnd_plan_head head;
    int self, mask, other, out; /* operands; -1: absent */
    /* NonzeroV2's order; MaskedScatter's mark, too. */
    bool transposed;
    int64_t number; /* RepeatInterleaveInt's repeats */
    /* axis -1: flat. ndim, shape: what self and the mask broadcast to. */
    int axis, ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    _Alignas(16) uint8_t element[16];
} mask_plan;

/* Estimated nanoseconds of a pass over `a`. */
static double work_of(const asnd_nd *a) {
    return 200 + 1.5 * (double)asn_nd_size(a);
}

/* CANN takes masks of bool and of uint8, where every number but 0 is true. */
static asn_status mask_dtype(const asnd_call *c, int i) {
    asn_dtype t = asn_call_nd(c, i)->dtype;
    if (t == ASN_BOOL || t == ASN_U8) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s; it must be bool or uint8",
                         c->op->name, c->op->params[i].name, asn_dtype_name(t));
}

/* The broadcast shape of two parameters, by NumPy's rule; an error names both. */
static asn_status common_shape(const asnd_call *c, int i, int j, int *ndim,
                               int64_t *shape) {
    const asnd_nd *a = asn_call_nd(c, i), *b = asn_call_nd(c, j);
    *ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int d = 0; d < *ndim; d++) {
        int da = d - (*ndim - a->ndim), db = d - (*ndim - b->ndim);
        int64_t n = da < 0 ? 1 : a->shape[da], m = db < 0 ? 1 : b->shape[db];
        if (n != m && n != 1 && m != 1)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s and %s do not broadcast together",
                                 c->op->name, c->op->params[i].name,
                                 c->op->params[j].name);
        shape[d] = n == 1 ? m : n;
    }
    return ASN_OK;
}

/* A plan with self (parameter 0) and out set, the other operands absent; NULL with the
 * error set. */
static mask_plan *plan_mask(asnd_call *c, asnd_body_fn body, int out, double work) {
    mask_plan *p = asn_call_plan(c, body, sizeof *p, work);
    if (p == NULL) return NULL;
    p->self = c->first[0];
    p->mask = p->other = -1;
    p->out = c->first[out];
    return p;
}

/* As bool, stretched over a shape that it fits. */
static asn_status mask_view(aclOpExecutor *e, const mask_plan *p, asnd_tmp *tmp, int ndim,
                            const int64_t *shape, asnd_view *mask) {
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->mask), ASN_BOOL, mask));
    asn_view_broadcast(mask, ndim, shape);
    return ASN_OK;
}

/* ---- MaskedSelect(self, mask, out) */

/* In row-major order of the common shape. The kernel checks that `out` is long enough. */
static asn_status select_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const mask_plan *p = plan;
    asnd_view self, mask;
    int64_t count;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asn_view_set(&self, asn_exec_nd(e, p->self));
    asn_view_broadcast(&self, p->ndim, p->shape);
    ASN_TRY(mask_view(e, p, tmp, p->ndim, p->shape, &mask));
    ASN_TRY(asn_cpu_masked_select(&self.nd, &mask.nd, out, &count));
    asn_exec_resize(e, p->out, 1, &count);
    return ASN_OK;
}

/* out is 1-d; any length passes here, since what is selected is data. There is a plan for
 * an empty output too: its tensor must be told the length 0. */
asn_status asn_planner_masked_select(asnd_call *c) {
    int ndim;
    int64_t shape[ASN_ND_MAX_DIMS];
    const asnd_nd *out = asn_call_nd(c, 2), *self = asn_call_nd(c, 0);
    ASN_TRY(mask_dtype(c, 1));
    ASN_TRY(common_shape(c, 0, 1, &ndim, shape));
    if (out->ndim != 1 || out->dtype != self->dtype)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: out must be 1-d and have self's dtype, %s", c->op->name,
                             asn_dtype_name(self->dtype));
    mask_plan *p = plan_mask(c, select_body, 2, work_of(asn_call_nd(c, 1)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->mask = c->first[1];
    p->ndim = ndim;
    memcpy(p->shape, shape, sizeof shape);
    return ASN_OK;
}

/* ---- MaskedFillScalar, MaskedFillTensor, MaskedScatter (selfRef, mask, value) */

/* Where the mask holds: one value everywhere, or the source's elements in their order
 * (MaskedScatter), which must not change while self is written: a source that lies in
 * self is copied. */
static asn_status fill_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    mask_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, p->self);
    asnd_view mask, values, flat;
    ASN_TRY(mask_view(e, p, tmp, self->ndim, self->shape, &mask));
    if (p->transposed) { /* MaskedScatter */
        const asnd_nd *source = asn_exec_nd(e, p->other);
        int64_t n = asn_nd_size(source);
        char *data = source->data;
        if (source->dtype != self->dtype || !asn_nd_is_contiguous(source) ||
            asn_nds_meet(self, source)) {
            ASN_TRY(asn_tmp_view(tmp, self->dtype, source->ndim, source->shape, &values));
            ASN_TRY(asn_move(&values.nd, source));
            data = values.nd.data;
        }
        asn_view_plain(&flat, self->dtype, 1, &n, data);
        return asn_cpu_masked_scatter(self, &mask.nd, &flat.nd);
    }
    /* A tensor's value is read when the operator runs. */
    if (p->other >= 0) {
        const asnd_nd *v = asn_exec_nd(e, p->other);
        asn_value_cast(self->dtype, p->element, v->dtype, v->data);
    }
    return asn_cpu_masked_fill(self, &mask.nd, p->element);
}

/* The mask broadcasts to self. value: a scalar or a tensor of one element; MaskedScatter
 * (arg 1) has a source of any shape. */
asn_status asn_planner_masked_fill(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *mask = asn_call_nd(c, 1),
                  *value = asn_call_nd(c, 2);
    bool scatter = c->op->arg == 1;
    ASN_TRY(mask_dtype(c, 1));
    if (!asn_nd_broadcasts(mask, self->ndim, self->shape))
        return asn_call_same_shape(c, 1, self->ndim, self->shape);
    if (value != NULL && !scatter && asn_nd_size(value) != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: value has %lld elements; it must have one", c->op->name,
                             (long long)asn_nd_size(value));
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    mask_plan *p = plan_mask(c, fill_body, 0, work_of(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->mask = c->first[1];
    p->other = value ? c->first[2] : -1;
    p->transposed = scatter;
    return value ? ASN_OK : asn_call_element(c, 2, self->dtype, p->element);
}

/* ---- Nonzero(self, out): N x D; NonzeroV2: D x N, arg 1 */

/* Counted before anything is written. What comes out is packed at the output's beginning,
 * as the shape that the tensor is told then says. */
static asn_status nonzero_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const mask_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    int64_t count, got;
    ASN_TRY(asn_cpu_count_nonzero(self, &count));
    int along = p->transposed ? 1 : 0;
    if (count > out->shape[along])
        return asn_error_set(ASN_ERR_VALUE,
                             "%lld elements are not 0; out has room for %lld",
                             (long long)count, (long long)out->shape[along]);
    int64_t shape[2] = {self->ndim, count}, rows[2] = {count, self->ndim};
    asnd_view v; /* packed, when out is longer than the result */
    asn_view_plain(&v, ASN_I64, 2, p->transposed ? shape : rows, out->data);
    /* Strides of its own are kept: packing would write between its elements. */
    if (!asn_nd_is_contiguous(out))
        memcpy(v.strides, out->strides, 2 * sizeof *v.strides);
    /* The kernel wants (dimensions, N). */
    if (!p->transposed) asn_view_permute(&v, (int[]){1, 0});
    if (count > 0) ASN_TRY(asn_cpu_nonzero(self, &v.nd, &got));
    asn_exec_resize(e, p->out, 2, p->transposed ? shape : rows);
    return ASN_OK;
}

/* out has room for N columns or rows; how many there are, the body finds. */
asn_status asn_planner_nonzero(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *out = asn_call_nd(c, 1);
    bool v2 = c->op->arg == 1;
    if (out->dtype != ASN_I64 || out->ndim != 2 || out->shape[v2 ? 0 : 1] != self->ndim)
        return asn_error_set(ASN_ERR_VALUE, "%s: out must be int64 of %s", c->op->name,
                             v2 ? "(self's dimensions, N)" : "(N, self's dimensions)");
    mask_plan *p = plan_mask(c, nonzero_body, 1, work_of(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->transposed = v2;
    return ASN_OK;
}

/* ---- RepeatInterleave...: by a tensor of counts or one number, flat or along dim */

/* A lone count is for every element; without an axis the elements count row-major. out =
 * numpy.repeat(self, counts, axis); self absent: the positions 0, 1, ... are repeated. */
static asn_status interleave_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const mask_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view self, counts;
    int64_t one = 1, number = p->number;
    if (p->other >= 0) {
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->other), ASN_I64, &counts));
        asn_view_at_least_1d(&counts);
    } else {
        asn_view_plain(&counts, ASN_I64, 1, &one, &number);
    }
    if (p->self < 0) { /* RepeatInterleaveTensor: positions */
        int64_t n = counts.shape[0], start = 0, delta = 1;
        ASN_TRY(asn_tmp_view(tmp, out->dtype, 1, &n, &self));
        _Alignas(16) uint8_t from[16], by[16];
        asn_value_from_int(out->dtype, from, start);
        asn_value_from_int(out->dtype, by, delta);
        ASN_TRY(asn_cpu_arange(&self.nd, from, by));
    } else {
        asn_view_set(&self, asn_exec_nd(e, p->self));
        if (p->axis < 0) {
            int64_t n = asn_nd_size(&self.nd);
            asnd_view copy;
            ASN_TRY(asn_tmp_view(tmp, self.nd.dtype, self.nd.ndim, self.shape, &copy));
            ASN_TRY(asn_move(&copy.nd, &self.nd));
            asn_view_plain(&self, copy.nd.dtype, 1, &n, copy.nd.data);
        }
    }
    return asn_cpu_repeat(&self.nd, p->axis < 0 ? 0 : p->axis, &counts.nd, out);
}

/* Everything but the extent along the axis, which the counts decide, and outputSize says:
 * it is checked against the counts by the kernel. */
static asn_status interleave_shape(const asnd_call *c, const asnd_nd *self, int axis,
                                   int out, int64_t size) {
    int64_t shape[ASN_ND_MAX_DIMS] = {size};
    int ndim = axis < 0 ? 1 : self->ndim;
    for (int d = 0; axis >= 0 && d < ndim; d++)
        shape[d] = d == axis ? size : self->shape[d];
    return asn_call_same_shape(c, out, ndim, shape);
}

/* RepeatInterleave, ...WithDim (5 parameters), ...Int, ...IntWithDim, and ...Tensor (arg
 * 1), whose only input are the counts. The parameter before the output is outputSize. */
asn_status asn_planner_repeat_interleave(asnd_call *c) {
    int out = asn_call_out(c), repeats = c->op->arg == 1 ? 0 : 1, axis = -1;
    const asnd_nd *self = repeats == 0 ? NULL : asn_call_nd(c, 0);
    const asnd_nd *counts = asn_call_nd(c, repeats);
    if (counts != NULL && (!asn_is_integer(counts->dtype) || counts->ndim > 1))
        return asn_error_set(ASN_ERR_VALUE, "%s: repeats must be 1-d and integer",
                             c->op->name);
    if (c->op->num_params == 5) {
        ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), self->ndim, &axis));
        if (self->ndim == 0) axis = -1;
    }
    int64_t extent = self == NULL ? 0 : axis < 0 ? asn_nd_size(self) : self->shape[axis];
    /* One count for all, or one for each element. */
    if (counts != NULL && self != NULL && asn_nd_size(counts) != 1 &&
        asn_nd_size(counts) != extent)
        return asn_error_set(ASN_ERR_VALUE, "%s: %lld repeats for %lld elements",
                             c->op->name, (long long)asn_nd_size(counts),
                             (long long)extent);
    ASN_TRY(interleave_shape(c, self, axis, out, asn_call_int(c, out - 1)));
    if (self != NULL && self->dtype != asn_call_nd(c, out)->dtype)
        return asn_error_set(ASN_ERR_TYPE, "%s: out must have self's dtype, %s",
                             c->op->name, asn_dtype_name(self->dtype));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    mask_plan *p = plan_mask(c, interleave_body, out, work_of(asn_call_nd(c, out)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = self ? c->first[0] : -1;
    p->other = counts ? c->first[repeats] : -1;
    p->number = counts ? 0 : asn_call_int(c, 1);
    p->axis = axis;
    if (counts == NULL && p->number < 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: repeats is %lld", c->op->name,
                             (long long)p->number);
    return ASN_OK;
}
