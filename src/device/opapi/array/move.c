/* CPU device, operators: conversion, copies, fills, and views written out (permute,
 * expand, slice, flip, roll, repeat).
 *
 * All end in asn_move between two views. A planner here computes the two views once;
 * their addresses are relative to the operands', so that a repeatable executor works.
 *
 * A view costs nothing, so that each of these operators is one pass over the output,
 * however it is described. Overlap is asn_move's to see: it copies first where the two
 * sides share bytes.
 */
#include <string.h>

#include "base/alloc.h"

#include "device/cpu/fused/fused.h"
#include "device/opapi/core/plan.h"

/* An estimate: it decides what runs on the caller, and on how many threads. */
static const double NS_PER_ELEMENT = 0.5;

/* Nanoseconds. */
static double work_of(const asnd_nd *a) {
    return 50 + NS_PER_ELEMENT * (double)asn_nd_size(a);
}

/* ---- out = view of in */

/* A move to operand `out` from a view into operand `in`. */
typedef struct {
    asnd_plan_head head;
    int in, out, ndim;
    int64_t offset;           /* bytes from the input's data */
    int64_t *shape, *strides; /* of the view, in the executor's memory */
} move_plan;

/* The view is made of the address that the input has at this run. */
static asn_status move_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const move_plan *m = plan;
    const asnd_nd *in = asn_exec_nd(e, m->in);
    asnd_nd src = {in->data + m->offset, m->ndim, in->dtype, m->shape, m->strides};
    return asn_move(asn_exec_nd(e, m->out), &src);
}

asn_status asn_plan_move(asnd_call *c, int in, const asnd_view *v, int out) {
    ASN_TRY(asn_call_same_shape(c, out, v->nd.ndim, v->shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    size_t dims = (size_t)v->nd.ndim * sizeof *v->shape;
    move_plan *m = asn_call_plan(c, move_body, sizeof *m, work_of(&v->nd));
    int64_t *numbers = asnop_executor_alloc(c->e, 2 * dims);
    /* A view of no dimensions has no numbers, but memory all the same. */
    if (m == NULL || numbers == NULL) return asn_call_no_memory();
    m->in = c->first[in];
    m->out = c->first[out];
    m->ndim = v->nd.ndim;
    m->offset = v->nd.data - asn_call_nd(c, in)->data;
    m->shape = numbers;
    m->strides = numbers + v->nd.ndim;
    memcpy(m->shape, v->shape, dims);
    memcpy(m->strides, v->strides, dims);
    return ASN_OK;
}

/* A view of parameter 0. Its address may be unknown yet (NULL): offsets alone count. */
static void view_of_first(const asnd_call *c, asnd_view *v) {
    asn_view_set(v, asn_call_nd(c, 0));
}

/* Cast(self, dtype, out): dtype must be out's. Dtypes that nothing computes with have a
 * planner of their own. */
asn_status asn_planner_cast(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    const aclTensor *from = asn_call_operand(c, 0)->source,
                    *to = asn_call_operand(c, 2)->source;
    if (from->dtype == ASN_DTYPE_NONE || to->dtype == ASN_DTYPE_NONE) {
        const asnd_nd *self = asn_call_nd(c, 0);
        if (asn_call_int(c, 1) != to->acl_dtype)
            return asn_error_set(
                ASN_ERR_TYPE, "%s: dtype is %lld, but out has aclDataType %d",
                c->op->name, (long long)asn_call_int(c, 1), (int)to->acl_dtype);
        ASN_TRY(asn_call_same_shape(c, 2, self->ndim, self->shape));
        return asn_plan_narrow(c, 0, 2);
    }
    asn_dtype want = asn_dtype_from_acl((int)asn_call_int(c, 1));
    if (want != out->dtype)
        return asn_error_set(ASN_ERR_TYPE, "%s: dtype is %s, but out has dtype %s",
                             c->op->name, asn_dtype_name(want),
                             asn_dtype_name(out->dtype));
    asnd_view v;
    view_of_first(c, &v);
    return asn_plan_move(c, 0, &v, 2);
}

/* InplaceCopy(selfRef, src): src broadcasts. */
asn_status asn_planner_copy(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *src = asn_call_nd(c, 1);
    if (asn_call_operand(c, 0)->source->dtype == ASN_DTYPE_NONE ||
        asn_call_operand(c, 1)->source->dtype == ASN_DTYPE_NONE)
        return asn_plan_narrow(c, 1, 0);
    if (!asn_nd_broadcasts(src, self->ndim, self->shape))
        return asn_call_same_shape(c, 1, self->ndim, self->shape);
    asnd_view v;
    asn_view_set(&v, src);
    asn_view_broadcast(&v, self->ndim, self->shape);
    return asn_plan_move(c, 1, &v, 0);
}

/* Permute(self, dims, out): dimension d of out is dims[d] of self; each is named once. */
asn_status asn_planner_permute(asnd_call *c) {
    const asnd_array *dims = asn_call_array(c, 1);
    asnd_view v;
    view_of_first(c, &v);
    int axes[ASN_ND_MAX_DIMS] = {0};
    uint64_t seen = 0;
    if (dims->size != (uint64_t)v.nd.ndim)
        return asn_error_set(ASN_ERR_VALUE, "%s: dims names %llu dimensions; self has %d",
                             c->op->name, (unsigned long long)dims->size, v.nd.ndim);
    for (int d = 0; d < v.nd.ndim; d++) {
        ASN_TRY(asn_call_axis(c, ((const int64_t *)dims->data)[d], v.nd.ndim, &axes[d]));
        if (seen >> axes[d] & 1)
            return asn_error_set(ASN_ERR_VALUE, "%s: dims names dimension %d twice",
                                 c->op->name, axes[d]);
        seen |= UINT64_C(1) << axes[d];
    }
    asn_view_permute(&v, axes);
    return asn_plan_move(c, 0, &v, 2);
}

/* Expand(self, size, out): size is out's shape, to which self broadcasts; -1 keeps an
 * extent. */
asn_status asn_planner_expand(asnd_call *c) {
    const asnd_array *size = asn_call_array(c, 1);
    const asnd_nd *out = asn_call_nd(c, 2), *self = asn_call_nd(c, 0);
    bool fits = size->size == (uint64_t)out->ndim &&
                asn_nd_broadcasts(self, out->ndim, out->shape);
    for (int d = 0; fits && d < out->ndim; d++) {
        int64_t want = ((const int64_t *)size->data)[d];
        fits = want == out->shape[d] || want == -1;
    }
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self does not expand to size, or out is not of it",
                             c->op->name);
    asnd_view v;
    view_of_first(c, &v);
    asn_view_broadcast(&v, out->ndim, out->shape);
    return asn_plan_move(c, 0, &v, 2);
}

/* Slices the view along dim: [start, end) in Python's sense, negative numbers from the
 * end, cut to the extent; step > 0. dim may be negative. */
static asn_status slice_axis(const asnd_call *c, asnd_view *v, int64_t dim, int64_t start,
                             int64_t end, int64_t step) {
    int axis = 0;
    ASN_TRY(asn_call_axis(c, dim, v->nd.ndim, &axis));
    if (v->nd.ndim == 0 || step <= 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: step is %lld; it must be positive, and self "
                             "at least 1-d",
                             c->op->name, (long long)step);
    int64_t n = v->shape[axis];
    start = start < 0 ? start + n : start;
    end = end < 0 ? end + n : end;
    start = start < 0 ? 0 : start > n ? n : start;
    /* An empty slice is one of 0 elements at start. */
    end = end < start ? start : end > n ? n : end;
    asn_view_slice(v, axis, start, (end - start + step - 1) / step, step);
    return ASN_OK;
}

/* Slice(self, dim, start, end, step, out) */
asn_status asn_planner_slice(asnd_call *c) {
    asnd_view v;
    view_of_first(c, &v);
    ASN_TRY(slice_axis(c, &v, asn_call_int(c, 1), asn_call_int(c, 2), asn_call_int(c, 3),
                       asn_call_int(c, 4)));
    return asn_plan_move(c, 0, &v, 5);
}

/* SliceV2(self, starts, ends, axes, steps, out): slices one after the other; an axis may
 * be named twice. */
asn_status asn_planner_slices(asnd_call *c) {
    asnd_view v;
    view_of_first(c, &v);
    const asnd_array *a[4];
    for (int i = 0; i < 4; i++) {
        a[i] = asn_call_array(c, i + 1);
        if (a[i]->size != a[0]->size)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: starts, ends, axes, steps differ in length",
                                 c->op->name);
    }
    for (uint64_t k = 0; k < a[0]->size; k++)
        ASN_TRY(slice_axis(c, &v, ((int64_t *)a[2]->data)[k], ((int64_t *)a[0]->data)[k],
                           ((int64_t *)a[1]->data)[k], ((int64_t *)a[3]->data)[k]));
    return asn_plan_move(c, 0, &v, 5);
}

/* Flip(self, dims, out): no dims flip nothing, unlike elsewhere, where none means all. */
asn_status asn_planner_flip(asnd_call *c) {
    uint64_t mask = 0;
    asnd_view v;
    view_of_first(c, &v);
    if (asn_call_array(c, 1)->size > 0) ASN_TRY(asn_call_axes(c, 1, v.nd.ndim, &mask));
    for (int d = 0; d < v.nd.ndim; d++)
        if (mask >> d & 1) asn_view_flip(&v, d);
    return asn_plan_move(c, 0, &v, 2);
}

/* ---- copies whose two sides differ in shape: the same elements in row-major order */

/* Operands. */
typedef struct {
    asnd_plan_head head;
    int in, out;
} flat_plan;

/* A contiguous input is read as a view of out's shape; any other goes through a
 * contiguous temporary first. */
static asn_status flat_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const flat_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->in), *out = asn_exec_nd(e, p->out);
    asnd_view v;
    if (asn_nd_is_contiguous(in)) {
        asn_view_plain(&v, in->dtype, out->ndim, out->shape, in->data);
    } else {
        asnd_view copy;
        ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &copy));
        ASN_TRY(asn_move(&copy.nd, in));
        asn_view_plain(&v, in->dtype, out->ndim, out->shape, copy.nd.data);
    }
    return asn_move(out, &v.nd);
}

/* Flatten(self, axis, out): 2-D, (product before axis, product from it on). axis may be
 * self's number of dimensions: then the second extent is 1. */
asn_status asn_planner_flatten(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t shape[2] = {1, 1}, dim = asn_call_int(c, 1);
    int axis = self->ndim;
    if (dim != self->ndim) ASN_TRY(asn_call_axis(c, dim, self->ndim, &axis));
    for (int d = 0; d < self->ndim; d++)
        shape[d >= axis] *= self->shape[d];
    ASN_TRY(asn_call_same_shape(c, 2, 2, shape));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    flat_plan *p = asn_call_plan(c, flat_body, sizeof *p, work_of(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[2];
    return ASN_OK;
}

/* ---- fills */

typedef struct {
    asnd_plan_head head;
    int out, value; /* value: operand of a 0-d tensor, or -1 */
    _Alignas(16) uint8_t element[16];
} fill_plan;

/* The value of a tensor is read when the operator runs. */
static asn_status fill_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    fill_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    if (p->value >= 0) {
        const asnd_nd *v = asn_exec_nd(e, p->value);
        asn_value_cast(out->dtype, p->element, v->dtype, v->data);
    }
    return asn_cpu_fill(out, p->element);
}

/* The scalar as an element of the tensor. complex32 comes as a word of its size: two
 * float16, rounded from complex64. */
static void element_of(const asnd_call *c, const aclScalar *s, uint8_t *element) {
    const asnd_operand *out = asn_call_operand(c, 0);
    if (out->source->acl_dtype != ACL_COMPLEX32) {
        asn_value_cast(out->nd.dtype, element, (asn_dtype)s->dtype, s->value);
        return;
    }
    float parts[2];
    asn_value_cast(ASN_C64, parts, (asn_dtype)s->dtype, s->value);
    for (int k = 0; k < 2; k++)
        asn_value_cast(ASN_F16, element + 2 * k, ASN_F32, &parts[k]);
}

/* FillScalar, FillTensor (selfRef, value); Zero, One (selfRef): arg is the number. */
asn_status asn_planner_fill(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 0);
    bool constant = c->op->num_params == 1;
    const aclScalar *s =
        !constant && c->op->params[1].kind == ASN_SCALAR ? c->args[1].p : NULL;
    const asnd_nd *tensor = constant || s != NULL ? NULL : asn_call_nd(c, 1);
    if (tensor != NULL && asn_nd_size(tensor) != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: value has %lld elements; it must have one", c->op->name,
                             (long long)asn_nd_size(tensor));
    if (s != NULL && s->dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: value has dtype %d, which no operator computes with",
                             c->op->name, (int)s->acl_dtype);
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    fill_plan *p =
        asn_call_plan(c, fill_body, sizeof *p, 50 + 0.1 * (double)asn_nd_size(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->out = c->first[0];
    p->value = tensor ? c->first[1] : -1;
    if (constant) asn_value_from_int(out->dtype, p->element, c->op->arg);
    if (s != NULL) element_of(c, s, p->element);
    return ASN_OK;
}

/* ---- roll and repeat */

/* count: of the numbers; -1: Roll without dims. */
typedef struct {
    asnd_plan_head head;
    int in, out, count;
    int64_t numbers[]; /* roll: shift per dimension of the (flat) view; repeat: repeats */
} many_plan;

/* Moves src, rolled by shift[d] in [0, extent) along each dimension d from `axis` on, to
 * dst. Each dimension splits the copy in two: up to 2^k blocks for k that roll. */
static asn_status roll_blocks(const asnd_view *dst, const asnd_view *src,
                              const int64_t *shift, int axis) {
    while (axis < src->nd.ndim && shift[axis] == 0)
        axis++;
    if (axis == src->nd.ndim) return asn_move(&dst->nd, &src->nd);
    /* The first n - s go behind the last s. */
    int64_t n = src->shape[axis], s = shift[axis];
    asnd_view to, from;
    asn_view_set(&to, &dst->nd);
    asn_view_set(&from, &src->nd);
    asn_view_slice(&to, axis, s, n - s, 1);
    asn_view_slice(&from, axis, 0, n - s, 1);
    ASN_TRY(roll_blocks(&to, &from, shift, axis + 1));
    asn_view_set(&to, &dst->nd);
    asn_view_set(&from, &src->nd);
    asn_view_slice(&to, axis, 0, s, 1);
    asn_view_slice(&from, axis, n - s, s, 1);
    return roll_blocks(&to, &from, shift, axis + 1);
}

/* Rolls by blocks; without dims the elements roll as one line, through temporaries of
 * both sides, since neither needs to be contiguous. */
static asn_status roll_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const many_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->in), *out = asn_exec_nd(e, p->out);
    asnd_view src, dst, back;
    asn_view_set(&src, in);
    asn_view_set(&dst, out);
    if (p->count >= 0) return roll_blocks(&dst, &src, p->numbers, 0);
    int64_t n = asn_nd_size(in); /* no dims: the flat array rolls */
    asnd_view flat_in, flat_out;
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &src));
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &back));
    ASN_TRY(asn_move(&src.nd, in));
    asn_view_plain(&flat_in, in->dtype, 1, &n, src.nd.data);
    asn_view_plain(&flat_out, in->dtype, 1, &n, back.nd.data);
    ASN_TRY(roll_blocks(&flat_out, &flat_in, p->numbers, 0));
    return asn_move(out, &back.nd);
}

/* Roll(x, shifts, dims, out): a shift for each of dims, or one for the flat array where
 * dims is empty. Shifts of one dimension add up, as in numpy.roll. */
asn_status asn_planner_roll(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    const asnd_array *shifts = asn_call_array(c, 1), *dims = asn_call_array(c, 2);
    bool flat = dims->size == 0;
    if (flat ? shifts->size != 1 : shifts->size != dims->size)
        return asn_error_set(ASN_ERR_VALUE, "%s: %llu shifts for %llu dims", c->op->name,
                             (unsigned long long)shifts->size,
                             (unsigned long long)dims->size);
    ASN_TRY(asn_call_same_shape(c, 3, in->ndim, in->shape));
    int64_t total[ASN_ND_MAX_DIMS] = {0};
    for (uint64_t k = 0; k < shifts->size; k++) {
        int axis = 0;
        if (!flat) ASN_TRY(asn_call_axis(c, ((int64_t *)dims->data)[k], in->ndim, &axis));
        int64_t n = flat ? asn_nd_size(in) : in->ndim ? in->shape[axis] : 1;
        /* In [0, n): C's remainder has the dividend's sign. */
        if (n > 0)
            total[axis] =
                (((total[axis] + ((int64_t *)shifts->data)[k] % n) % n) + n) % n;
    }
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    many_plan *p = asn_call_plan(c, roll_body, sizeof *p + sizeof total, work_of(in));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[3];
    p->count = flat ? -1 : in->ndim;
    memcpy(p->numbers, total, sizeof total);
    return ASN_OK;
}

/* Each repeated dimension of the output is seen as (repeat, extent), the input's with a
 * stride of 0: a broadcast copy in up to twice the dimensions, which the planner has
 * counted. From the last dimension on, so that those before keep their numbers. */
static asn_status repeat_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const many_plan *p = plan;
    asnd_view src, dst;
    asn_view_set(&src, asn_exec_nd(e, p->in));
    asn_view_set(&dst, asn_exec_nd(e, p->out));
    while (src.nd.ndim < p->count)
        asn_view_insert(&src, 0, 1, 0);
    for (int d = p->count - 1; d >= 0; d--) {
        int64_t n = src.shape[d];
        if (p->numbers[d] == 1) continue;
        dst.shape[d] = n;
        asn_view_insert(&dst, d, p->numbers[d], dst.strides[d] * n);
        asn_view_insert(&src, d, p->numbers[d], 0);
    }
    return asn_move(&dst.nd, &src.nd);
}

/* Repeat(self, repeats, out): numpy.tile with as many repeats as dimensions, or more;
 * then self gets dimensions in front. */
asn_status asn_planner_repeat(asnd_call *c) {
    const asnd_nd *in = asn_call_nd(c, 0);
    const asnd_array *repeats = asn_call_array(c, 1);
    int64_t shape[ASN_ND_MAX_DIMS];
    int ndim = (int)repeats->size, repeated = in->ndim;
    if (repeats->size < (uint64_t)in->ndim || repeats->size > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "%s: %llu repeats for %d dimensions",
                             c->op->name, (unsigned long long)repeats->size, in->ndim);
    for (int d = 0; d < ndim; d++) {
        int64_t r = ((int64_t *)repeats->data)[d];
        /* The product may be out of range: asn_mul_size says so. */
        int64_t n = d < ndim - in->ndim ? 1 : in->shape[d - (ndim - in->ndim)];
        if (r < 0 || !asn_mul_size(r, n, &shape[d]))
            return asn_error_set(ASN_ERR_VALUE, "%s: repeats[%d] is %lld", c->op->name, d,
                                 (long long)r);
        repeated += r != 1;
    }
    ASN_TRY(asn_call_same_shape(c, 2, ndim, shape));
    if (ndim + repeated > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_UNSUPPORTED, "%s: too many dimensions are repeated",
                             c->op->name);
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    many_plan *p = asn_call_plan(c, repeat_body, sizeof *p + sizeof shape,
                                 work_of(asn_call_nd(c, 2)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[2];
    p->count = ndim;
    memcpy(p->numbers, repeats->data, (size_t)ndim * sizeof *p->numbers);
    return ASN_OK;
}
