/* CPU device, operators: Index and IndexPutImpl, NumPy's advanced indexing.
 *
 * The indexed dimensions of self are permuted to the front, and the output's (or the
 * values') so that the indices' dimensions lead: that is what the two kernels of
 * cpu/index.h take. Index tensors of any integer dtype are converted to int64; a bool
 * index stands for the positions where it holds. An index out of range is an error of the
 * task, at the next synchronisation: it depends on data.
 *
 * NumPy's rules for the result's shape are kept: the indices broadcast to one shape,
 * whose dimensions stand where the indexed dimensions stood if those are neighbours, and
 * in front of all others if not. torch places them alike.
 */
#include <string.h>

#include "device/cpu/index/index.h"
#include "device/cpu/fused/reduce.h"
#include "device/opapi/core/plan.h"

/* As many as a tensor can have dimensions. */
enum { MAX_INDICES = 64 };

/* Estimated nanoseconds of gathering the elements of `a`. */
static double work_of(const asnd_nd *a) {
    return 200 + 2 * (double)asn_nd_size(a);
}

/* ---- Index(self, indices, out), IndexPutImpl(selfRef, indices, values, accumulate,
 * unsafe) */

typedef struct {
    asnd_plan_head head;
    int self, first, count, other; /* operands: self, the list, out or values */
    bool put;                      /* IndexPutImpl */
    asn_op accumulate;             /* ASN_OP_NONE: values replace */
} index_plan;

/* The index arrays of a call, one per indexed dimension of self. */
typedef struct {
    int count, ndim; /* ndim: of their common shape */
    int64_t shape[ASN_ND_MAX_DIMS];
    int dims[MAX_INDICES]; /* which dimension of self each indexes, ascending */
    asnd_view *views;      /* per index: int64, broadcast to `shape` */
    const asnd_nd *list[MAX_INDICES]; /* of the views, as the kernels take them */
} index_set;

/* A member that stands for a whole dimension: NULL, or an undefined (empty 1-d) tensor.
 */
static bool is_slice(const asnd_operand *o) {
    return o->is_absent || (o->nd.ndim == 1 && o->nd.shape[0] == 0 && o->addr == NULL);
}

/* The indices' common shape grows by `a`, from the right: NumPy's broadcasting, one
 * operand at a time. An index error where an extent is neither 1 nor the same. */
static asn_status join_shape(index_set *set, const asnd_nd *a) {
    while (set->ndim < a->ndim) {
        memmove(set->shape + 1, set->shape, (size_t)set->ndim * sizeof *set->shape);
        set->shape[0] = 1;
        /* Cannot pass the limit: `a` has at most that many dimensions. */
        set->ndim++;
    }
    for (int d = 0; d < a->ndim; d++) {
        int64_t *n = &set->shape[set->ndim - a->ndim + d];
        if (*n == 1) *n = a->shape[d];
        if (a->shape[d] != 1 && a->shape[d] != *n)
            return asn_error_set(ASN_ERR_INDEX,
                                 "the indices' shapes do not broadcast together");
    }
    return ASN_OK;
}

/* A mask's positions, one int64 row per dimension of it: NumPy takes x[mask] as
 * x[mask.nonzero()]. The mask covers dimensions dim, dim + 1, ... of self, whose extents
 * it must have. */
static asn_status add_mask(asnd_tmp *tmp, index_set *set, const asnd_nd *mask,
                           const asnd_nd *self, int dim) {
    int64_t n, got;
    for (int d = 0; d < mask->ndim; d++)
        if (dim + d >= self->ndim || mask->shape[d] != self->shape[dim + d])
            return asn_error_set(
                ASN_ERR_INDEX, "a mask has extent %lld where dimension %d has %lld",
                (long long)mask->shape[d], dim + d,
                dim + d < self->ndim ? (long long)self->shape[dim + d] : 0);
    ASN_TRY(asn_cpu_count_nonzero(mask, &n));
    int64_t shape[2] = {mask->ndim, n};
    asnd_view rows;
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, shape, &rows));
    ASN_TRY(asn_cpu_nonzero(mask, &rows.nd, &got));
    for (int d = 0; d < mask->ndim; d++) {
        asnd_view *v = &set->views[set->count];
        asn_view_set(v, &rows.nd);
        asn_view_slice(v, 0, d, 1, 1);
        asn_view_drop(v, 0);
        ASN_TRY(join_shape(set, &v->nd));
        set->dims[set->count++] = dim + d;
    }
    return ASN_OK;
}

/* Fills the set: indices as views of int64, all broadcast to one shape; a mask counts as
 * many as it has dimensions. The views are temporaries, or the program's int64 tensors
 * themselves. */
static asn_status collect(aclOpExecutor *e, const index_plan *p, asnd_tmp *tmp,
                          index_set *set) {
    const asnd_nd *self = asn_exec_nd(e, p->self);
    int dim = 0;
    set->count = set->ndim = 0;
    set->views = asn_tmp_alloc(tmp, (size_t)(self->ndim + 1) * sizeof *set->views);
    if (set->views == NULL) return ASN_ERR_MEMORY;
    for (int k = 0; k < p->count; k++) {
        const asnd_operand *o = &e->operands[p->first + k];
        if (is_slice(o)) {
            dim++;
        } else if (o->nd.dtype == ASN_BOOL && o->nd.ndim > 0) {
            ASN_TRY(add_mask(tmp, set, &o->nd, self, dim));
            dim += o->nd.ndim;
        } else {
            ASN_TRY(asn_tmp_as(tmp, &o->nd, ASN_I64, &set->views[set->count]));
            ASN_TRY(join_shape(set, &o->nd));
            set->dims[set->count++] = dim++;
        }
    }
    /* Not before all are known: the common shape is final here. */
    for (int k = 0; k < set->count; k++) {
        asn_view_broadcast(&set->views[k], set->ndim, set->shape);
        set->list[k] = &set->views[k].nd;
    }
    return ASN_OK;
}

/* Permutes self so that the indexed dimensions come first, and gives the shape of
 * self[indices]. Returns where the indices' dimensions stand in it: at the first indexed
 * one if they are neighbours, else in front. */
static int arrange(const index_set *set, asnd_view *self, int64_t *shape, int *ndim) {
    int order[ASN_ND_MAX_DIMS], rest[ASN_ND_MAX_DIMS], n = 0;
    bool adjacent = true;
    for (int k = 1; k < set->count; k++)
        adjacent = adjacent && set->dims[k] == set->dims[k - 1] + 1;
    int place = adjacent && set->count > 0 ? set->dims[0] : 0;
    for (int d = 0, k = 0; d < self->nd.ndim; d++) {
        if (k < set->count && set->dims[k] == d) {
            order[k++] = d;
        } else {
            rest[n++] = d;
        }
    }
    *ndim = 0;
    /* rest: the dimensions that are not indexed, in their order; the indices' shape goes
     * in before the one at `place`. */
    for (int i = 0; i <= n; i++) {
        for (int j = 0; i == place && j < set->ndim; j++)
            shape[(*ndim)++] = set->shape[j];
        if (i < n) shape[(*ndim)++] = self->shape[rest[i]];
    }
    memcpy(order + set->count, rest, (size_t)n * sizeof *rest);
    asn_view_permute(self, order);
    return place;
}

/* The body of both. What the indices give is known here only, since masks are data; so
 * the output's shape is checked here too. Index has an output of exactly that shape;
 * IndexPutImpl has values that broadcast to it. */
static asn_status index_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const index_plan *p = plan;
    index_set set;
    asnd_view self, other;
    int64_t shape[ASN_ND_MAX_DIMS];
    int ndim;
    ASN_TRY(collect(e, p, tmp, &set));
    asn_view_set(&self, asn_exec_nd(e, p->self));
    if (self.nd.ndim - set.count + set.ndim > ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_INDEX,
                             "the result would have more than %d dimensions",
                             ASN_ND_MAX_DIMS);
    int place = arrange(&set, &self, shape, &ndim);
    asnd_nd want = {NULL, ndim, self.nd.dtype, shape, shape};
    const asnd_nd *given = asn_exec_nd(e, p->other);
    if (p->put ? !asn_nd_broadcasts(given, ndim, shape)
               : !asn_nd_same_shape(given, &want)) {
        char got[ASN_SHAPE_TEXT], text[ASN_SHAPE_TEXT];
        return asn_error_set(ASN_ERR_VALUE, "the %s shape %s; the indices give %s",
                             p->put ? "values have" : "output has",
                             asn_shape_text(got, given->ndim, given->shape),
                             asn_shape_text(text, ndim, shape));
    }
    /* Nothing is named: the indices are not looked at. */
    if (asn_nd_size(&want) == 0) return ASN_OK;
    if (p->put) {
        ASN_TRY(asn_tmp_as(tmp, given, self.nd.dtype, &other));
        asn_view_broadcast(&other, ndim, shape);
    } else {
        asn_view_set(&other, given);
    }
    /* The kernels want the indices' dimensions in front on both sides. */
    asn_view_to_front(&other, place, set.ndim);
    if (p->put)
        return asn_cpu_index_put(&self.nd, set.count, set.list, &other.nd, p->accumulate,
                                 NULL);
    return asn_cpu_index_get(&self.nd, set.count, set.list, &other.nd);
}

/* Index, or IndexPutImpl where arg is not 0. Checks dtypes, and that no more dimensions
 * are indexed than there are. Whether an index is in range is seen by the body. */
asn_status asn_planner_index(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *other = asn_call_nd(c, 2);
    const asnd_array *list = asn_call_array(c, 1);
    bool put = c->op->arg != 0;
    int used = 0;
    if (!put && other->dtype != self->dtype)
        return asn_error_set(ASN_ERR_TYPE, "%s: out has dtype %s, self %s", c->op->name,
                             asn_dtype_name(other->dtype), asn_dtype_name(self->dtype));
    if (put) ASN_TRY(asn_call_convertible(c, other->dtype, 0));
    for (uint64_t k = 0; k < list->size; k++) {
        const asnd_operand *o = &c->e->operands[c->first[1] + (int)k];
        bool mask = !is_slice(o) && o->nd.dtype == ASN_BOOL && o->nd.ndim > 0;
        if (!is_slice(o) && !mask) ASN_TRY(asn_index_dtype(c, 1, &o->nd));
        used += mask ? o->nd.ndim : 1;
    }
    if (used > self->ndim)
        return asn_error_set(ASN_ERR_INDEX, "%s: %d dimensions are indexed; self has %d",
                             c->op->name, used, self->ndim);
    index_plan *p = asn_call_plan(c, index_body, sizeof *p, work_of(other));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->first = c->first[1];
    p->count = (int)list->size;
    p->other = c->first[2];
    p->put = put;
    p->accumulate = put && asn_call_int(c, 3) ? ASN_OP_ADD : ASN_OP_NONE;
    return ASN_OK;
}
