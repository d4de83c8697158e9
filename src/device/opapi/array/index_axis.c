/* CPU device, operators: one index tensor along one axis: take, gather, scatter, indexed
 * addition and copies, and their N-dimensional forms.
 *
 * One plan serves all; `kind` says which kernel of cpu/index.h runs on which views. An
 * index out of range is an error of the task, at the next synchronisation: it depends on
 * data.
 *
 * Take and Put count elements flat, in row-major order; the others index one dimension,
 * or the first ones (the ND forms). Operators that write take self and an output: self is
 * copied to the output first, then positions in it are written, in the order of the
 * indices. Where two indices are equal and nothing accumulates, the last one stays.
 *
 * A tensor without dimensions counts as one of shape (1,), as in PyTorch: bodies see
 * nothing else along an indexed dimension.
 */
#include <string.h>

#include "device/cpu/index/index.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* The most numbers that a row of an ND form's indices has. */
enum { MAX_INDICES = 64 };

/* Estimated nanoseconds of moving the elements of `a`. */
static double work_of(const asnd_nd *a) {
    return 200 + 2 * (double)asn_nd_size(a);
}

typedef enum {
    TAKE,       /* out = self[..., index, ...] */
    TAKE_FLAT,  /* out = self.flat[index] */
    PUT_FLAT,   /* out.flat[index] = source */
    GATHER,     /* out[...] = self[..., index[...], ...] */
    SCATTER,    /* out[..., index[...], ...] = source[...] */
    PUT_AXIS,   /* out[..., index, ...] = source */
    GATHER_ND,  /* out = self[index[..., 0], index[..., 1], ...] */
    SCATTER_ND, /* the reverse */
} index_kind;

typedef struct {
    asnd_plan_head head;
    index_kind kind;
    int self, index, source, out; /* source: operand, or -1: `element` */
    int axis;
    asn_op accumulate;  /* ASN_OP_NONE: values replace */
    bool scaled;        /* the source is multiplied by alpha */
    int64_t num_listed; /* index is an aclIntArray, copied here */
    int64_t *listed;    /* in the executor's memory */
    _Alignas(16) uint8_t element[16], alpha[16];
} axis_plan;

/* The source in the output's dtype, times alpha; a scalar source is a 0-d view over a
 * copy of `element`. */
static asn_status source_view(aclOpExecutor *e, const axis_plan *p, asnd_tmp *tmp,
                              asn_dtype dtype, asnd_view *out) {
    if (p->source < 0) {
        int64_t one = 1;
        void *data = asn_tmp_alloc(tmp, 16);
        if (data == NULL) return ASN_ERR_MEMORY;
        memcpy(data, p->element, 16);
        asn_view_plain(out, dtype, 0, &one, data);
        return ASN_OK;
    }
    const asnd_nd *source = asn_exec_nd(e, p->source);
    if (!p->scaled) return asn_tmp_as(tmp, source, dtype, out);
    ASN_TRY(asn_tmp_view(tmp, dtype, source->ndim, source->shape, out));
    asnd_prog prog;
    asn_prog_begin(&prog, source->ndim, source->shape, 0);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, source), dtype);
    int alpha = asn_prog_element(&prog, dtype, p->alpha);
    asn_prog_out(&prog, asn_prog_op2(&prog, ASN_OP_MULTIPLY, x, alpha), &out->nd);
    return asn_prog_run(&prog);
}

/* A tensor's positions as int64, or the numbers of an aclIntArray. */
static asn_status index_view(aclOpExecutor *e, const axis_plan *p, asnd_tmp *tmp,
                             asnd_view *out) {
    if (p->index >= 0) return asn_tmp_as(tmp, asn_exec_nd(e, p->index), ASN_I64, out);
    asn_view_plain(out, ASN_I64, 1, &p->num_listed, p->listed);
    return ASN_OK;
}

/* A 1-d view of all elements in row-major order: of `a` itself where it is contiguous,
 * else of a copy. */
static asn_status flat_view(const asnd_nd *a, asnd_tmp *tmp, asnd_view *flat) {
    int64_t n = asn_nd_size(a);
    char *data = a->data;
    if (!asn_nd_is_contiguous(a)) {
        asnd_view copy;
        ASN_TRY(asn_tmp_view(tmp, a->dtype, a->ndim, a->shape, &copy));
        ASN_TRY(asn_move(&copy.nd, a));
        data = copy.nd.data;
    }
    asn_view_plain(flat, a->dtype, 1, &n, data);
    return ASN_OK;
}

/* out.flat[index] = source. A tensor with gaps is written through a copy of all of it,
 * which then goes back. */
static asn_status put_flat(const asnd_nd *out, const asnd_view *index, asnd_view *source,
                           asn_op accumulate, asnd_tmp *tmp) {
    asnd_view flat, flat_index, flat_source;
    ASN_TRY(flat_view(out, tmp, &flat));
    ASN_TRY(flat_view(&index->nd, tmp, &flat_index));
    ASN_TRY(flat_view(&source->nd, tmp, &flat_source));
    const asnd_nd *list[1] = {&flat_index.nd};
    ASN_TRY(asn_cpu_index_put(&flat.nd, 1, list, &flat_source.nd, accumulate, NULL));
    if (flat.nd.data == out->data) return ASN_OK;
    asnd_view back;
    asn_view_plain(&back, out->dtype, out->ndim, out->shape, flat.nd.data);
    return asn_move(out, &back.nd);
}

/* The columns of `index`, (..., count), as `count` views of shape (...): row i of them
 * names one element or slice. views and list have room for MAX_INDICES. */
static asn_status nd_views(const asnd_nd *index, asnd_view *views, const asnd_nd **list,
                           int *count) {
    int last = index->ndim - 1;
    *count = (int)index->shape[last];
    for (int k = 0; k < *count; k++) {
        asn_view_set(&views[k], index);
        asn_view_slice(&views[k], last, k, 1, 1);
        asn_view_drop(&views[k], last);
        list[k] = &views[k].nd;
    }
    return ASN_OK;
}

/* Writes the source at the positions named. The output holds self already. A scalar
 * source is stretched over what the indices name. */
static asn_status axis_write(const axis_plan *p, const asnd_nd *out,
                             const asnd_view *index, asnd_view *source, asnd_tmp *tmp) {
    asnd_view self;
    const asnd_nd *list[MAX_INDICES] = {&index->nd};
    asn_view_set(&self, out);
    if (p->kind == PUT_FLAT) return put_flat(out, index, source, p->accumulate, tmp);
    if (p->kind == SCATTER) {
        if (source->nd.ndim == 0) { /* a scalar, or a tensor of one element */
            asn_view_broadcast(source, index->nd.ndim, index->shape);
        } else {
            /* CANN: src may be larger than index; what is beyond it is not read. */
            for (int d = 0; d < index->nd.ndim; d++)
                source->shape[d] = index->shape[d];
        }
        return asn_cpu_scatter(&self.nd, p->axis, &index->nd, &source->nd, p->accumulate);
    }
    if (p->kind == SCATTER_ND) {
        int count;
        asnd_view *views = asn_tmp_alloc(tmp, MAX_INDICES * sizeof *views);
        if (views == NULL) return ASN_ERR_MEMORY;
        ASN_TRY(nd_views(&index->nd, views, list, &count));
        return asn_cpu_index_put(&self.nd, count, list, &source->nd, p->accumulate, NULL);
    }
    /* PUT_AXIS: both sides with the indexed axis in front. */
    asn_view_to_front(&self, p->axis, 1);
    if (source->nd.ndim == 0) {
        int64_t shape[ASN_ND_MAX_DIMS];
        memcpy(shape, self.shape, sizeof shape);
        shape[0] = index->shape[0];
        asn_view_broadcast(source, self.nd.ndim, shape);
    } else {
        asn_view_to_front(source, p->axis, 1);
    }
    return asn_cpu_index_put(&self.nd, 1, list, &source->nd, p->accumulate, NULL);
}

/* The body of all. Reads go straight to the kernel; writes copy self first, unless it is
 * the output. */
static asn_status axis_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const axis_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out), *self = asn_exec_nd(e, p->self);
    asnd_view index, source, flat, to, from;
    ASN_TRY(index_view(e, p, tmp, &index));
    asn_view_set(&from, self);
    asn_view_set(&to, out);
    if (p->kind == TAKE || p->kind == GATHER || p->kind == SCATTER ||
        p->kind == PUT_AXIS) {
        asn_view_at_least_1d(&from);
        asn_view_at_least_1d(&index);
        if (p->kind != TAKE) asn_view_at_least_1d(&to);
    }
    switch (p->kind) {
    case TAKE:
        /* An index of one element may have left no dimension in the output. */
        if (to.nd.ndim < from.nd.ndim - 1 + index.nd.ndim)
            asn_view_insert(&to, p->axis, 1, 0);
        return asn_cpu_take(&from.nd, p->axis, &index.nd, ASN_INDEX_RAISE, &to.nd);
    case GATHER: return asn_cpu_gather(&from.nd, p->axis, &index.nd, &to.nd);
    case TAKE_FLAT:
        ASN_TRY(flat_view(self, tmp, &flat));
        return asn_cpu_take(&flat.nd, 0, &index.nd, ASN_INDEX_RAISE, out);
    case GATHER_ND: {
        const asnd_nd *list[MAX_INDICES];
        int count;
        asnd_view *views = asn_tmp_alloc(tmp, MAX_INDICES * sizeof *views);
        if (views == NULL) return ASN_ERR_MEMORY;
        ASN_TRY(nd_views(&index.nd, views, list, &count));
        return asn_cpu_index_get(self, count, list, out);
    }
    default: break;
    }
    ASN_TRY(source_view(e, p, tmp, out->dtype, &source));
    if (p->self != p->out) ASN_TRY(asn_move(out, self));
    if (asn_nd_size(&index.nd) == 0) return ASN_OK;
    return axis_write(p, &to.nd, &index, &source, tmp);
}

/* A plan with its operands; index, source, out: parameters; -1: none. NULL with the error
 * set. */
static axis_plan *plan_axis(asnd_call *c, index_kind kind, int index, int source,
                            int out) {
    int larger = source >= 0 && c->first[source] >= 0 ? source : out;
    double work = work_of(asn_call_nd(c, larger));
    /* These copy all of self to the output as well. */
    if (kind >= SCATTER || kind == PUT_FLAT)
        work += 0.5 * (double)asn_nd_size(asn_call_nd(c, out));
    axis_plan *p = asn_call_plan(c, axis_body, sizeof *p, work);
    if (p == NULL) return NULL;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->kind = kind;
    p->self = c->first[0];
    p->index = index < 0 ? -1 : c->first[index];
    p->source = source < 0 ? -1 : c->first[source];
    p->out = c->first[out];
    p->accumulate = ASN_OP_NONE;
    return p;
}

/* IndexSelect(self, dim, index, out), GatherV2 likewise; Embedding(weight, indices, out)
 * and Take(self, index, out), arg 1: flat. The index's dimensions replace the indexed
 * one. */
asn_status asn_planner_take(asnd_call *c) {
    bool has_dim = c->op->num_params == 4, flat = c->op->arg == 1;
    int index_at = has_dim ? 2 : 1, out_at = index_at + 1, axis = 0, ndim = 0;
    const asnd_nd *self = asn_call_nd(c, 0), *index = asn_call_nd(c, index_at);
    int64_t shape[2 * ASN_ND_MAX_DIMS];
    ASN_TRY(asn_index_dtype(c, index_at, index));
    ASN_TRY(asn_call_same_dtype(c, 0, out_at));
    if (has_dim) ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    for (int d = 0; d < axis; d++)
        shape[ndim++] = self->shape[d];
    for (int d = 0; d < index->ndim; d++)
        shape[ndim++] = index->shape[d];
    for (int d = axis + 1; d < self->ndim && !flat; d++)
        shape[ndim++] = self->shape[d];
    if (ndim > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "%s: the result would have %d dimensions",
                             c->op->name, ndim);
    /* One element: the output may have a dimension of 1 for the index, or, of a 0-d self,
     * none for an index of shape (1,). */
    const asnd_nd *out = asn_call_nd(c, out_at);
    if (!flat && index->ndim == 0 && out->ndim == ndim + 1) {
        memmove(shape + axis + 1, shape + axis, (size_t)(ndim - axis) * sizeof *shape);
        shape[axis] = 1;
        ndim++;
    } else if (!flat && self->ndim == 0 && out->ndim == 0 && asn_nd_size(index) == 1) {
        ndim = 0;
    }
    ASN_TRY(asn_call_same_shape(c, out_at, ndim, shape));
    if (asn_call_operand(c, out_at)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, flat ? TAKE_FLAT : TAKE, index_at, -1, out_at);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    return ASN_OK;
}

asn_status asn_check_along(const asnd_call *c, int dim_at, int index_at, int *axis) {
    const asnd_nd *self = asn_call_nd(c, 0), *index = asn_call_nd(c, index_at);
    ASN_TRY(asn_index_dtype(c, index_at, index));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, dim_at), self->ndim, axis));
    bool fits = index->ndim == self->ndim ||
                (self->ndim + index->ndim == 1); /* (1,) and a 0-d tensor */
    for (int d = 0; d < self->ndim && d < index->ndim && fits; d++)
        fits = d == *axis || index->shape[d] <= self->shape[d];
    if (fits) return ASN_OK;
    char got[ASN_SHAPE_TEXT], have[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: index has shape %s, which does not go with self, %s",
                         c->op->name, asn_shape_text(got, index->ndim, index->shape),
                         asn_shape_text(have, self->ndim, self->shape));
}

asn_status asn_check_scattered(const asnd_call *c, int index_at, int src_at) {
    const asnd_nd *index = asn_call_nd(c, index_at), *src = asn_call_nd(c, src_at);
    if (src->ndim + index->ndim == 1) return ASN_OK;
    for (int d = 0; d < index->ndim; d++)
        if (src->ndim != index->ndim || src->shape[d] < index->shape[d])
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: src is smaller than index along dim %d",
                                 c->op->name, d);
    return ASN_OK;
}

/* Gather(self, dim, index, out): out has index's shape. */
asn_status asn_planner_gather(asnd_call *c) {
    int axis = 0;
    const asnd_nd *index = asn_call_nd(c, 2);
    ASN_TRY(asn_check_along(c, 1, 2, &axis));
    ASN_TRY(asn_call_same_dtype(c, 0, 3));
    ASN_TRY(asn_call_same_shape(c, 3, index->ndim, index->shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, GATHER, 2, -1, 3);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    return ASN_OK;
}

/* Scatter(self, dim, index, src, reduce, out), ScatterAdd without reduce, ScatterValue
 * with a scalar; in place or not. reduce: 0 stores, 1 adds, 2 multiplies. */
asn_status asn_planner_scatter(asnd_call *c) {
    int axis = 0, out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 0);
    const asnd_nd *src = asn_call_nd(c, 3);
    static const asn_op reductions[] = {ASN_OP_NONE, ASN_OP_ADD, ASN_OP_MULTIPLY};
    bool add = c->op->arg == 1;
    int64_t reduce = add ? 1 : asn_call_int(c, 4);
    ASN_TRY(asn_check_along(c, 1, 2, &axis));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (reduce < 0 || reduce > 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: reduce is %lld; it must be 0, 1 or 2",
                             c->op->name, (long long)reduce);
    if (src != NULL) ASN_TRY(asn_check_scattered(c, 2, 3));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, SCATTER, 2, src ? 3 : -1, out);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->accumulate = reductions[reduce];
    return src ? ASN_OK : asn_call_element(c, 3, self->dtype, p->element);
}

/* Shapes of IndexAdd and IndexCopy. index: one axis, or one element; source: self with as
 * many slices as indices along the axis. */
static asn_status put_axis_shapes(const asnd_call *c, int index_at, int source_at,
                                  int axis) {
    const asnd_nd *self = asn_call_nd(c, 0), *index = asn_call_nd(c, index_at);
    const asnd_nd *source = asn_call_nd(c, source_at);
    bool line = self->ndim <= 1 && source->ndim <= 1; /* of which either may be 0-d */
    bool fits = index->ndim <= 1 && (line || source->ndim == self->ndim);
    if (line) fits = fits && asn_nd_size(source) == asn_nd_size(index);
    for (int d = 0; !line && d < self->ndim && fits; d++)
        fits = source->shape[d] == (d == axis ? asn_nd_size(index) : self->shape[d]);
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: index must be 1-d and source like self, but as long as "
                         "index along dim %d",
                         c->op->name, axis);
}

/* IndexAdd(self, dim, index, source, alpha, out), V2 with mode before out;
 * IndexCopy(selfRef, dim, index, source, outRef), in place or not: arg 1. */
asn_status asn_planner_index_axis(asnd_call *c) {
    int axis = 0, out = c->op->num_params - 1;
    bool copy = c->op->arg == 1;
    const asnd_nd *self = asn_call_nd(c, 0);
    /* In place: the last parameter is not an output. */
    if (c->op->params[out].kind == ASN_IN) out = 0;
    int64_t mode = out == 6 ? asn_call_int(c, 5) : 0;
    if (mode != 0 && mode != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: mode is %lld; it must be 0 or 1",
                             c->op->name, (long long)mode);
    ASN_TRY(asn_index_dtype(c, 2, asn_call_nd(c, 2)));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    ASN_TRY(put_axis_shapes(c, 2, 3, axis));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, PUT_AXIS, 2, 3, out);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->accumulate = copy ? ASN_OP_NONE : ASN_OP_ADD;
    if (!copy) {
        ASN_TRY(asn_call_element(c, 4, self->dtype, p->alpha));
        /* A complex alpha may be 1 in its real part alone. */
        p->scaled = asn_value_to_double(self->dtype, p->alpha) != 1 ||
                    asn_is_complex(self->dtype);
    }
    return ASN_OK;
}

/* IndexFill(self, dim, index, value, out), and IndexFillTensor, whose index is an
 * aclIntArray, which is copied into the plan, since it may be destroyed before the body
 * runs; in place or not. */
asn_status asn_planner_index_fill(asnd_call *c) {
    int axis = 0, out = asn_call_out(c);
    bool listed = c->op->params[2].kind == ASN_INTS;
    const asnd_nd *self = asn_call_nd(c, 0);
    const asnd_array *index = asn_call_array(c, 2);
    if (!listed) {
        ASN_TRY(asn_index_dtype(c, 2, asn_call_nd(c, 2)));
        if (asn_call_nd(c, 2)->ndim > 1)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: index has %d dimensions; it must have one or none",
                                 c->op->name, asn_call_nd(c, 2)->ndim);
    }
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), self->ndim, &axis));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, PUT_AXIS, listed ? -1 : 2, -1, out);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    if (!listed) return asn_call_element(c, 3, self->dtype, p->element);
    p->num_listed = (int64_t)index->size;
    p->listed = asnop_executor_alloc(c->e, index->size * sizeof *p->listed);
    if (p->listed == NULL) return asn_call_no_memory();
    memcpy(p->listed, index->data, index->size * sizeof *p->listed);
    return asn_call_element(c, 3, self->dtype, p->element);
}

/* InplacePut(selfRef, index, source, accumulate): flat; one value for each index. */
asn_status asn_planner_put(asnd_call *c) {
    const asnd_nd *index = asn_call_nd(c, 1), *source = asn_call_nd(c, 2);
    ASN_TRY(asn_index_dtype(c, 1, index));
    if (asn_nd_size(index) != asn_nd_size(source))
        return asn_error_set(ASN_ERR_VALUE, "%s: %lld indices for %lld values",
                             c->op->name, (long long)asn_nd_size(index),
                             (long long)asn_nd_size(source));
    if (asn_call_operand(c, 1)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, PUT_FLAT, 1, 2, 0);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->accumulate = asn_call_int(c, 3) ? ASN_OP_ADD : ASN_OP_NONE;
    return ASN_OK;
}

/* GatherNd(self, indices, negativeIndexSupport, out), arg 0; ScatterNd(data, indices,
 * updates, out) and ScatterNdUpdate(varRef, indices, updates), arg 1. indices is (...,
 * depth): each row names a slice of self by its first `depth` dimensions. The result, or
 * the updates, have the shape indices.shape[:-1] + self.shape[depth:]. */
asn_status asn_planner_index_nd(asnd_call *c) {
    bool write = c->op->arg == 1;
    int out = asn_call_out(c), ndim = 0;
    const asnd_nd *self = asn_call_nd(c, 0), *index = asn_call_nd(c, 1);
    int64_t shape[2 * ASN_ND_MAX_DIMS];
    ASN_TRY(asn_index_dtype(c, 1, index));
    int depth = index->ndim > 0 ? (int)index->shape[index->ndim - 1] : 0;
    if (index->ndim == 0 || depth < 1 || depth > self->ndim)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: indices must hold 1 to %d numbers per row", c->op->name,
                             self->ndim);
    for (int d = 0; d < index->ndim - 1; d++)
        shape[ndim++] = index->shape[d];
    for (int d = depth; d < self->ndim; d++)
        shape[ndim++] = self->shape[d];
    if (ndim > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "%s: the result would have %d dimensions",
                             c->op->name, ndim);
    ASN_TRY(asn_call_same_shape(c, write ? 2 : out, ndim, shape));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    axis_plan *p = plan_axis(c, write ? SCATTER_ND : GATHER_ND, 1, write ? 2 : -1, out);
    return p ? ASN_OK : ASN_ERR_MEMORY;
}
