/* CPU device, operators: sorting, searching, distinct values, counting.
 *
 * The kernels are cpu/sort's, which take int64 positions: an output of int32 gets its own
 * through a temporary. A tensor without dimensions is a line of one element.
 * Data-dependent lengths (Unique) are told to the program's tensors when the body has run
 * (asn_exec_resize).
 *
 * Orders are NumPy's (cpu/sort/sort.h): NaN is the largest value, complex numbers compare
 * by their real parts first. The kernels sort along any axis by strides, so no dimension
 * is moved.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/sort/sort.h"
#include "device/opapi/core/plan.h"

/* One plan for all. third: the sorter, the weights or the counts. */
typedef struct {
    asnd_plan_head head;
    int self, values, indices, third, axis; /* operands; -1: absent */
    int flags;                              /* ASN_SORT_... */
    int64_t k;        /* Topk: how many, 0: a sort; Kth: the position, from 0 */
    bool keep, right; /* right: of SearchSorted */
    double low, high; /* low: the scalar that is searched */
} order_plan;

/* Nanoseconds, roughly: n log n. */
static double sort_work(const asnd_nd *a, int axis) {
    double n = a->ndim ? (double)a->shape[axis] : 1;
    return 200 + (double)asn_nd_size(a) * (2 + log2(n + 1));
}

/* A plan with self (parameter 0); operands that are not set are absent (-1), numbers 0.
 * NULL with the error set. */
static order_plan *plan_order(asnd_call *c, asnd_body_fn body, double work) {
    order_plan *p = asn_call_plan(c, body, sizeof *p, work);
    if (p == NULL) return NULL;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->self = c->first[0];
    p->values = p->indices = p->third = -1;
    return p;
}

/* Where the kernel writes positions for `out`: the output itself if it is int64, else a
 * temporary, for int32. */
static asn_status positions(const asnd_nd *out, asnd_tmp *tmp, asnd_view *v) {
    if (out->dtype == ASN_I64) {
        asn_view_set(v, out);
        return ASN_OK;
    }
    return asn_tmp_view(tmp, ASN_I64, out->ndim, out->shape, v);
}

/* Converts the temporary, if there is one. */
static asn_status positions_done(const asnd_nd *out, const asnd_view *v) {
    return out->dtype == ASN_I64 ? ASN_OK : asn_move(out, &v->nd);
}

/* ---- Sort(self, stable, dim, descending, valuesOut, indicesOut), Argsort(self, dim,
 * descending, out), the type SortV2(self, dim, descending, valuesOut: arg 1), Topk(self,
 * k, dim, largest, sorted, valuesOut, indicesOut), V2 with sortPolicy before the
 * outputs */

/* values < 0: positions alone (Argsort); indices < 0: values alone (SortV2). All
 * three are of one rank, at least 1. */
static asn_status sort_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const order_plan *p = plan;
    asnd_view self, values, found;
    asn_view_set(&self, asn_exec_nd(e, p->self));
    asn_view_at_least_1d(&self);
    if (p->values >= 0) {
        asn_view_set(&values, asn_exec_nd(e, p->values));
        asn_view_at_least_1d(&values);
    }
    const asnd_nd *v = p->values >= 0 ? &values.nd : NULL;
    if (p->indices < 0) return asn_cpu_sort(&self.nd, p->axis, p->flags, v, NULL);
    const asnd_nd *indices = asn_exec_nd(e, p->indices);
    ASN_TRY(positions(indices, tmp, &found));
    asn_view_at_least_1d(&found);
    if (p->k > 0) {
        ASN_TRY(asn_cpu_topk(&self.nd, p->axis, p->k, p->flags, v, &found.nd));
    } else {
        ASN_TRY(asn_cpu_sort(&self.nd, p->axis, p->flags, v, &found.nd));
    }
    return positions_done(indices, &found);
}

/* Every sort is stable, whether `stable` asks for it or not. */
asn_status asn_planner_sort(asnd_call *c) {
    bool few = c->op->num_params == 4, only_values = c->op->arg != 0;
    int axis = 0, indices = only_values ? -1 : few ? 3 : 5;
    int values = only_values ? 3 : few ? -1 : 4;
    const asnd_nd *self = asn_call_nd(c, 0);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, few ? 1 : 2), self->ndim, &axis));
    if (indices >= 0) {
        ASN_TRY(asn_call_same_shape(c, indices, self->ndim, self->shape));
        ASN_TRY(asn_call_position_dtype(c, indices));
    }
    if (values >= 0) {
        ASN_TRY(asn_call_same_shape(c, values, self->ndim, self->shape));
        ASN_TRY(asn_call_same_dtype(c, values, 0));
    }
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    order_plan *p = plan_order(c, sort_body, sort_work(self, axis));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->values = values < 0 ? -1 : c->first[values];
    p->indices = indices < 0 ? -1 : c->first[indices];
    p->axis = axis;
    p->flags = asn_call_int(c, few ? 2 : 3) ? ASN_SORT_DESCENDING : 0;
    return ASN_OK;
}

/* The k elements come out sorted whatever `sorted` says; NaN counts as the largest. */
asn_status asn_planner_topk(asnd_call *c) {
    int axis = 0;
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t k = asn_call_int(c, 1), shape[ASN_ND_MAX_DIMS];
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), self->ndim, &axis));
    int64_t n = self->ndim ? self->shape[axis] : 1;
    if (k < 0 || k > n)
        return asn_error_set(ASN_ERR_VALUE, "%s: k is %lld; there are %lld elements",
                             c->op->name, (long long)k, (long long)n);
    memcpy(shape, self->shape, (size_t)self->ndim * sizeof *shape);
    if (self->ndim > 0) shape[axis] = k;
    int values = c->op->num_params - 2, indices = values + 1;
    for (int i = values; i <= indices; i++)
        ASN_TRY(asn_call_same_shape(c, i, self->ndim, shape));
    ASN_TRY(asn_call_same_dtype(c, values, 0));
    ASN_TRY(asn_call_position_dtype(c, indices));
    /* The policy names an NPU's sorting network; the result is the same. */
    int64_t policy = values == 6 ? asn_call_int(c, 5) : 0;
    if (policy != 0 && policy != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: sortPolicy is %lld; it must be 0 or 1",
                             c->op->name, (long long)policy);
    if (asn_call_operand(c, values)->is_empty) return ASN_OK;
    order_plan *p = plan_order(c, sort_body, sort_work(self, axis));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->values = c->first[values];
    p->indices = c->first[indices];
    p->axis = axis;
    p->k = k;
    p->flags = asn_call_int(c, 3) ? ASN_SORT_DESCENDING : 0;
    return ASN_OK;
}

/* ---- Kthvalue(self, k, dim, keepdim, valuesOut, indicesOut), MedianDim(self, dim,
 * keepDim, valuesOut, indicesOut), Median(self, valuesOut): the lower of two medians */

/* Of all elements, without its position, in any order that a row-major copy has. */
static asn_status kth_of_all(const order_plan *p, const asnd_nd *in, const asnd_nd *out,
                             asnd_tmp *tmp) {
    const int64_t n = asn_nd_size(in), one = 1;
    asnd_view copy, line, value;
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &copy));
    ASN_TRY(asn_move(&copy.nd, in));
    asn_view_plain(&line, in->dtype, 1, &n, copy.nd.data);
    ASN_TRY(asn_tmp_view(tmp, in->dtype, 1, &one, &value));
    ASN_TRY(asn_cpu_pick(&line.nd, 0, &p->k, 1, &value.nd));
    if (out->ndim == 0) asn_view_drop(&value, 0);
    return asn_move(out, &value.nd);
}

/* Along an axis, where the position is asked for: by a whole sort, whose element at
 * position k is the answer, with the first of the positions that have it. */
static asn_status kth_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const order_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->values);
    asnd_view self, sorted, found;
    if (p->axis < 0) return kth_of_all(p, in, out, tmp);
    asn_view_set(&self, in);
    asn_view_at_least_1d(&self);
    ASN_TRY(asn_tmp_view(tmp, in->dtype, self.nd.ndim, self.shape, &sorted));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, self.nd.ndim, self.shape, &found));
    ASN_TRY(asn_cpu_sort(&self.nd, p->axis, 0, &sorted.nd, &found.nd));
    asn_view_slice(&sorted, p->axis, p->k, 1, 1);
    asn_view_slice(&found, p->axis, p->k, 1, 1);
    /* keepdim is off, or the input has no dimensions. */
    if (out->ndim < sorted.nd.ndim) {
        asn_view_drop(&sorted, p->axis);
        asn_view_drop(&found, p->axis);
    }
    ASN_TRY(asn_move(out, &sorted.nd));
    return asn_move(asn_exec_nd(e, p->indices), &found.nd);
}

/* arg 1: a median; two parameters: of all elements. */
asn_status asn_planner_kth(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool median = c->op->arg == 1, all = c->op->num_params == 2;
    int axis = 0, out = asn_call_out(c), dim_at = median ? 1 : 2;
    if (!all) ASN_TRY(asn_call_axis(c, asn_call_int(c, dim_at), self->ndim, &axis));
    int64_t n = all ? asn_nd_size(self) : self->ndim ? self->shape[axis] : 1;
    /* From 1, as CANN counts; of n values the lower median is the (n + 1) / 2-th. */
    int64_t k = median ? (n + 1) / 2 : asn_call_int(c, 1);
    bool keep = !all && asn_call_int(c, dim_at + 1);
    uint64_t mask =
        all ? (self->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << self->ndim) - 1)
            : UINT64_C(1) << axis;
    if (all) asn_call_one_value(c, out);
    for (int i = out; i < c->op->num_params; i++)
        ASN_TRY(asn_check_reduced(c, 0, i, mask, keep));
    ASN_TRY(asn_call_same_dtype(c, out, 0));
    if (!all) ASN_TRY(asn_call_position_dtype(c, out + 1));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    if (k < 1 || k > n)
        return asn_error_set(ASN_ERR_VALUE, "%s: k is %lld; there are %lld elements",
                             c->op->name, (long long)k, (long long)n);
    order_plan *p = plan_order(c, kth_body, sort_work(self, axis));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->values = c->first[out];
    p->indices = all ? -1 : c->first[out + 1];
    p->axis = all ? -1 : axis;
    p->k = k - 1;
    return ASN_OK;
}

/* ---- SearchSorted(sortedSequence, self, outInt32, right, sorter, out); SearchSorteds: a
 * scalar */

/* A sequence of several dimensions is searched line by line, each value among those of
 * its own line: the leading dimensions of all four agree, and are taken off one by one.
 * sorter: NULL, or the permutation that sorts. */
static asn_status search_rows(const asnd_view *sorted, const asnd_view *sorter,
                              const asnd_view *values, bool right, const asnd_view *out) {
    if (sorted->nd.ndim == 1)
        return asn_cpu_searchsorted(&sorted->nd, sorter ? &sorter->nd : NULL, &values->nd,
                                    right, &out->nd);
    for (int64_t i = 0; i < sorted->shape[0]; i++) {
        const asnd_view *from[4] = {sorted, sorter, values, out};
        asnd_view row[4];
        for (int k = 0; k < 4; k++) {
            if (from[k] == NULL) continue;
            asn_view_set(&row[k], &from[k]->nd);
            asn_view_slice(&row[k], 0, i, 1, 1);
            asn_view_drop(&row[k], 0);
        }
        ASN_TRY(search_rows(&row[0], sorter ? &row[1] : NULL, &row[2], right, &row[3]));
    }
    return ASN_OK;
}

/* Insertion points of the values. In the common dtype; a scalar among integers is looked
 * for in float64. right: behind equal elements. */
static asn_status search_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const order_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->indices);
    asnd_view sorted, values, sorter, found;
    double scalar = p->low;
    int64_t one = 1;
    asn_dtype t = in->dtype;
    if (p->values >= 0)
        t = (asn_dtype)asn_promote_tensors[t][asn_exec_nd(e, p->values)->dtype];
    if (p->values < 0 && !asn_is_inexact(t)) t = ASN_F64;
    ASN_TRY(asn_tmp_as(tmp, in, t, &sorted));
    if (p->values >= 0) {
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->values), t, &values));
    } else {
        asn_view_plain(&values, ASN_F64, 0, &one, &scalar);
        asnd_view copy;
        ASN_TRY(asn_tmp_view(tmp, t, 0, &one, &copy));
        ASN_TRY(asn_move(&copy.nd, &values.nd));
        asn_view_set(&values, &copy.nd);
    }
    if (p->third >= 0)
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->third), ASN_I64, &sorter));
    ASN_TRY(positions(out, tmp, &found));
    ASN_TRY(
        search_rows(&sorted, p->third >= 0 ? &sorter : NULL, &values, p->right, &found));
    return positions_done(out, &found);
}

/* values NULL: a scalar, which goes with a 1-d sequence alone. Bucketize(self,
 * boundaries, outInt32, right, out), arg 1: the sequence comes second. */
asn_status asn_planner_searchsorted(asnd_call *c) {
    bool buckets = c->op->arg == 1;
    int sorted_at = buckets ? 1 : 0, values_at = 1 - sorted_at, to = buckets ? 4 : 5;
    const asnd_nd *sorted = asn_call_nd(c, sorted_at),
                  *values = asn_call_nd(c, values_at);
    const asnd_nd *sorter = buckets ? NULL : asn_call_nd(c, 4), *out = asn_call_nd(c, to);
    bool fits = sorted->ndim >= 1 && (values != NULL || sorted->ndim == 1);
    if (buckets && sorted->ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: boundaries has %d dimensions; it must have one",
                             c->op->name, sorted->ndim);
    for (int d = 0; d < sorted->ndim - 1 && fits; d++)
        fits = values->ndim == sorted->ndim && values->shape[d] == sorted->shape[d];
    if (!fits || (sorter != NULL && !asn_nd_same_shape(sorter, sorted)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: sortedSequence must be 1-d, or go with self row by "
                             "row, and sorter be of its shape",
                             c->op->name);
    if (values == NULL) asn_call_one_value(c, to);
    ASN_TRY(asn_call_same_shape(c, to, values ? values->ndim : 0,
                                values ? values->shape : NULL));
    if ((out->dtype == ASN_I32) != (asn_call_int(c, 2) != 0))
        ASN_TRY(asn_call_position_dtype(c, to));
    ASN_TRY(asn_call_position_dtype(c, to));
    if (asn_call_operand(c, to)->is_empty) return ASN_OK;
    order_plan *p = plan_order(c, search_body, 200 + 30 * (double)asn_nd_size(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[sorted_at];
    p->values = values ? c->first[values_at] : -1;
    if (values == NULL) {
        ASN_TRY(asn_call_number(c, 1, &p->low));
    }
    p->right = asn_call_int(c, 3) != 0;
    p->third = sorter ? c->first[4] : -1;
    p->indices = c->first[to];
    return ASN_OK;
}

/* ---- Unique(self, sorted, returnInverse, valueOut, inverseOut), Unique2 with counts */

/* Distinct values in ascending order, with the value's number for each element and how
 * often each occurs, if these are asked for. As many as the outputs have room for; more
 * values than that are an error of the execution. */
static asn_status unique_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const order_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->values);
    int64_t n = asn_nd_size(in), count = 0;
    asnd_view flat, values, inverse, counts;
    ASN_TRY(asn_tmp_view(tmp, in->dtype, 1, &n, &values));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &inverse));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &counts));
    asnd_view copy;
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &copy));
    ASN_TRY(asn_move(&copy.nd, in));
    asn_view_plain(&flat, in->dtype, 1, &n, copy.nd.data);
    if (n > 0)
        ASN_TRY(asn_cpu_unique(&flat.nd, false, &values.nd, NULL,
                               p->indices >= 0 ? &inverse.nd : NULL,
                               p->third >= 0 ? &counts.nd : NULL, &count));
    int64_t room = asn_nd_size(out);
    if (p->third >= 0 && asn_exec_nd(e, p->third)->shape[0] < room)
        room = asn_exec_nd(e, p->third)->shape[0];
    if (count > room)
        return asn_error_set(ASN_ERR_VALUE,
                             "%lld distinct values; there is room for %lld",
                             (long long)count, (long long)room);
    asnd_view to;
    asn_view_set(&to, out);
    asn_view_slice(&to, 0, 0, count, 1);
    /* The temporaries are as long as the input; their beginnings are the result. */
    values.shape[0] = counts.shape[0] = count;
    ASN_TRY(asn_move(&to.nd, &values.nd));
    asn_exec_resize(e, p->values, 1, &count);
    if (p->third >= 0) {
        asn_view_set(&to, asn_exec_nd(e, p->third));
        asn_view_slice(&to, 0, 0, count, 1);
        ASN_TRY(asn_move(&to.nd, &counts.nd));
        asn_exec_resize(e, p->third, 1, &count);
    }
    if (p->indices < 0) return ASN_OK;
    asn_view_plain(&flat, ASN_I64, in->ndim, in->shape, inverse.nd.data);
    return asn_move(asn_exec_nd(e, p->indices), &flat.nd);
}

/* Sorted whatever `sorted` says. NaN are distinct values each, as in torch. */
asn_status asn_planner_unique(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool with_counts = c->op->num_params == 7, inverse = asn_call_int(c, 2) != 0;
    bool counts = with_counts && asn_call_int(c, 3) != 0;
    int out = with_counts ? 4 : 3;
    if ((inverse && c->first[out + 1] < 0) || (counts && c->first[out + 2] < 0))
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: an output that is asked for is NULL", c->op->name);
    ASN_TRY(asn_call_same_dtype(c, out, 0));
    if (asn_call_nd(c, out)->ndim != 1 || (counts && asn_call_nd(c, out + 2)->ndim != 1))
        return asn_error_set(ASN_ERR_VALUE, "%s: the values and counts are 1-d",
                             c->op->name);
    if (inverse) ASN_TRY(asn_call_same_shape(c, out + 1, self->ndim, self->shape));
    if (inverse) ASN_TRY(asn_call_position_dtype(c, out + 1));
    order_plan *p = plan_order(c, unique_body, 500 + 30 * (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->values = c->first[out];
    p->indices = inverse ? c->first[out + 1] : -1;
    p->third = counts ? c->first[out + 2] : -1;
    return ASN_OK;
}

/* ---- Bincount(self, weights, minlength, out) */

/* Counts in int64, weights in float64, then converted. The kernel refuses negative
 * elements and those past the output's end. */
static asn_status bincount_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const order_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->values);
    const asnd_nd *x = asn_exec_nd(e, p->self);
    asnd_view weights, sums;
    asn_dtype t = p->third >= 0 ? ASN_F64 : ASN_I64;
    if (p->third >= 0)
        ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->third), ASN_F64, &weights));
    if (out->dtype == t) {
        asn_view_set(&sums, out);
    } else {
        ASN_TRY(asn_tmp_view(tmp, t, 1, out->shape, &sums));
    }
    ASN_TRY(asn_cpu_bincount(x, p->third >= 0 ? &weights.nd : NULL, &sums.nd));
    return out->dtype == t ? ASN_OK : asn_move(out, &sums.nd);
}

/* weights may be NULL. out is at least minlength long; how long it must be depends on
 * data, and the body sees it. */
asn_status asn_planner_bincount(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *weights = asn_call_nd(c, 1),
                  *out = asn_call_nd(c, 3);
    if (self->ndim != 1 || out->ndim != 1 || !asn_is_integer(self->dtype) ||
        (weights != NULL && !asn_nd_same_shape(weights, self)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self must be 1-d and integer, out 1-d, weights like "
                             "self",
                             c->op->name);
    if (out->shape[0] < asn_call_int(c, 2))
        return asn_error_set(ASN_ERR_VALUE, "%s: out has %lld bins, minlength is %lld",
                             c->op->name, (long long)out->shape[0],
                             (long long)asn_call_int(c, 2));
    if (out->shape[0] == 0 && asn_nd_size(self) == 0) return ASN_OK;
    order_plan *p = plan_order(c, bincount_body, 200 + 2 * (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->third = weights ? c->first[1] : -1;
    p->values = c->first[3];
    return ASN_OK;
}
