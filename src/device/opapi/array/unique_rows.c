/* CPU device, operators: distinct slices along a dimension, distinct runs.
 *
 * UniqueDim(self, sorted, returnInverse, dim, valueOut, inverseOut, countsOut) and
 * UniqueConsecutive(self, returnInverse, returnCounts, dim, valueOut, inverseOut,
 * countsOut), where dim 1000 means all elements in a row. Slices are compared as rows of
 * ranks (UniqueDim: the ranks of their elements among all, so that one order serves every
 * dtype) or of elements. As in torch, -0.0 equals 0.0, NaN equals nothing, and UniqueDim
 * sorts whatever `sorted` says. The outputs are as large as they may become; the
 * program's tensors get the shapes that come out.
 *
 * UniqueDim ranks all elements by one sort of the flat array, then sorts rows of ranks:
 * comparing integers serves every dtype, and equal elements have equal ranks.
 * UniqueConsecutive compares neighbours in one fused program and sorts nothing.
 */
#include <string.h>

#include "device/cpu/sort/sort.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* CANN's dim for UniqueConsecutive without a dimension. */
enum { ALL_IN_A_ROW = 1000 };

typedef struct {
    asnd_plan_head head;
    int self, values, inverse, counts; /* operands; -1: absent */
    int axis;                          /* -1: all elements in a row */
} rows_plan;

/* ---- sorting rows of ranks */

/* Lexicographic: below 0, 0 or above 0. */
static int compare_rows(const int64_t *a, const int64_t *b, int64_t width) {
    for (int64_t k = 0; k < width; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

/* order = the positions of n rows, ascending and stable: a merge sort from runs of one
 * row up; spare has room for n. Ranks are not moved. */
static void sort_rows(const int64_t *ranks, int64_t n, int64_t width, int64_t *order,
                      int64_t *spare) {
    int64_t *from = order, *to = spare;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t start = 0; start < n; start += 2 * run) {
            int64_t middle = start + run < n ? start + run : n;
            int64_t end = middle + run < n ? middle + run : n, i = start, j = middle;
            for (int64_t k = start; k < end; k++) {
                bool left = j == end;
                if (!left && i < middle)
                    left = compare_rows(ranks + from[i] * width, ranks + from[j] * width,
                                        width) <= 0;
                to[k] = left ? from[i++] : from[j++];
            }
        }
        int64_t *t = from;
        from = to;
        to = t;
    }
    /* After an odd number of rounds the result is in `spare`. */
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Sorts the rows: same[i] = whether row order[i] equals row order[i - 1] (same[0] is not
 * set). Each NaN has a rank of its own. */
static asn_status rank_rows(const asnd_view *rows, asnd_tmp *tmp, int64_t *order,
                            uint8_t *same) {
    int64_t n = rows->shape[0], width = rows->shape[1], size = n * width, count;
    asnd_view flat, values, ranks;
    asn_view_plain(&flat, rows->nd.dtype, 1, &size, rows->nd.data);
    ASN_TRY(asn_tmp_view(tmp, rows->nd.dtype, 1, &size, &values));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &size, &ranks));
    int64_t *spare = asn_tmp_alloc(tmp, (size_t)n * sizeof *spare);
    if (spare == NULL) return ASN_ERR_MEMORY;
    if (size > 0)
        ASN_TRY(
            asn_cpu_unique(&flat.nd, false, &values.nd, NULL, &ranks.nd, NULL, &count));
    const int64_t *r = (const int64_t *)(void *)ranks.nd.data;
    sort_rows(r, n, width, order, spare);
    for (int64_t i = 1; i < n; i++)
        same[i] =
            compare_rows(r + order[i] * width, r + order[i - 1] * width, width) == 0;
    return ASN_OK;
}

/* The same for the rows as they come: order is 0, 1, ..., and same[i] tells of rows i and
 * i - 1. */
static asn_status match_rows(const asnd_view *rows, asnd_tmp *tmp, int64_t *order,
                             uint8_t *same) {
    (void)tmp;
    int64_t n = rows->shape[0], width = rows->shape[1];
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    /* Rows of no elements are all equal. */
    if (n < 2 || width == 0) {
        memset(same, 1, (size_t)n);
        return ASN_OK;
    }
    int64_t shape[2] = {n - 1, width}, all[2] = {n - 1, 1};
    asnd_view before, after, result;
    asn_view_set(&before, &rows->nd);
    asn_view_slice(&before, 0, 0, n - 1, 1);
    asn_view_set(&after, &rows->nd);
    asn_view_slice(&after, 0, 1, n - 1, 1);
    asn_view_plain(&result, ASN_BOOL, 2, all, same + 1);
    /* One program over (n - 1, width): row i with row i + 1, "and" along the row, into a
     * byte each. */
    memset(same + 1, 1, (size_t)n - 1);
    result.shape[1] = width;
    result.strides[1] = 0;
    asnd_prog prog;
    asn_prog_begin(&prog, 2, shape, 2);
    asn_dtype t = asn_is_half(rows->nd.dtype) ? ASN_F32 : rows->nd.dtype;
    int a = asn_prog_as(&prog, asn_prog_in(&prog, &before.nd), t);
    int b = asn_prog_as(&prog, asn_prog_in(&prog, &after.nd), t);
    asn_prog_reduce(&prog, ASN_OP_LOGICAL_AND, asn_prog_op2(&prog, ASN_OP_EQUAL, a, b),
                    &result.nd);
    return asn_prog_run(&prog);
}

/* ---- results */

/* Writes v, which is `count` long along the axis, to the beginning of an output, and
 * tells its tensor the shape. operand -1: nothing. */
static asn_status resize(aclOpExecutor *e, int operand, asnd_view *v, int axis,
                         int64_t count) {
    int64_t shape[ASN_ND_MAX_DIMS];
    asnd_view to;
    if (operand < 0) return ASN_OK;
    asn_view_set(&to, asn_exec_nd(e, operand));
    asn_view_slice(&to, axis, 0, count, 1);
    memcpy(shape, to.shape, (size_t)to.nd.ndim * sizeof *shape);
    ASN_TRY(asn_move(&to.nd, &v->nd));
    asn_exec_resize(e, operand, to.nd.ndim, shape);
    return ASN_OK;
}

/* Writes all outputs. The first row of each run is its value; rows are in `order`, and
 * same[i] says that row i of that order goes on with the run. */
static asn_status write_rows(aclOpExecutor *e, const rows_plan *p, const asnd_view *rows,
                             const int64_t *order, const uint8_t *same, asnd_tmp *tmp) {
    int64_t n = rows->shape[0], count = 0;
    int64_t bytes = rows->shape[1] * asn_itemsize(rows->nd.dtype);
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->values);
    asnd_view first, inverse, counts, shaped;
    ASN_TRY(asn_tmp_view(tmp, rows->nd.dtype, 2, rows->nd.shape, &first));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &inverse));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &counts));
    int64_t *where = (int64_t *)(void *)inverse.nd.data,
            *times = (int64_t *)(void *)counts.nd.data;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || !same[i]) {
            memcpy(first.nd.data + count * bytes, rows->nd.data + order[i] * bytes,
                   (size_t)bytes);
            times[count++] = 0;
        }
        where[order[i]] = count - 1;
        times[count - 1]++;
    }
    int axis = p->axis < 0 ? 0 : p->axis;
    /* What fits values and counts; more is an error of the task. */
    int64_t room = out->shape[axis];
    if (p->counts >= 0 && asn_exec_nd(e, p->counts)->shape[0] < room)
        room = asn_exec_nd(e, p->counts)->shape[0];
    if (count > room)
        return asn_error_set(ASN_ERR_VALUE,
                             "%lld distinct slices; there is room for %lld",
                             (long long)count, (long long)room);
    /* The temporaries have room for n; the first `count` are the result. */
    counts.shape[0] = count;
    ASN_TRY(resize(e, p->counts, &counts, 0, count));
    if (p->inverse >= 0) {
        asn_view_plain(&shaped, ASN_I64, p->axis < 0 ? in->ndim : 1,
                       p->axis < 0 ? in->shape : &n, inverse.nd.data);
        ASN_TRY(asn_move(asn_exec_nd(e, p->inverse), &shaped.nd));
    }
    if (p->axis < 0) {
        asn_view_plain(&shaped, rows->nd.dtype, 1, &count, first.nd.data);
        return resize(e, p->values, &shaped, 0, count);
    }
    /* Rows back to slices: the dimension in front returns to its place. */
    int64_t shape[ASN_ND_MAX_DIMS];
    int axes[ASN_ND_MAX_DIMS];
    shape[0] = count;
    for (int d = 0, k = 1; d < in->ndim; d++) {
        axes[d] = d == axis ? 0 : k;
        if (d != axis) shape[k++] = in->shape[d];
    }
    asn_view_plain(&shaped, rows->nd.dtype, in->ndim, shape, first.nd.data);
    asn_view_permute(&shaped, axes);
    return resize(e, p->values, &shaped, axis, count);
}

/* rows = a packed copy of shape (n, width), each slice along the axis a row; without an
 * axis, each element. */
static asn_status slices(aclOpExecutor *e, const rows_plan *p, asnd_tmp *tmp,
                         asnd_view *rows) {
    const asnd_nd *in = asn_exec_nd(e, p->self);
    asnd_view turned, copy;
    asn_view_set(&turned, in);
    if (p->axis > 0) asn_view_to_front(&turned, p->axis, 1);
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, turned.shape, &copy));
    ASN_TRY(asn_move(&copy.nd, &turned.nd));
    int64_t size = asn_nd_size(in), n = p->axis < 0 ? size : in->shape[p->axis];
    int64_t shape[2] = {n, p->axis < 0 ? 1 : n > 0 ? size / n : 0};
    asn_view_plain(rows, in->dtype, 2, shape, copy.nd.data);
    return ASN_OK;
}

/* Both operators: find the order and the runs, then write. */
static asn_status rows_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp, bool sorts) {
    const rows_plan *p = plan;
    asnd_view rows;
    ASN_TRY(slices(e, p, tmp, &rows));
    int64_t n = rows.shape[0];
    int64_t *order = asn_tmp_alloc(tmp, (size_t)(n + 1) * sizeof *order);
    uint8_t *same = asn_tmp_alloc(tmp, (size_t)n + 1);
    if (order == NULL || same == NULL) return ASN_ERR_MEMORY;
    ASN_TRY((sorts ? rank_rows : match_rows)(&rows, tmp, order, same));
    return write_rows(e, p, &rows, order, same, tmp);
}

/* UniqueDim sorts its slices. */
static asn_status unique_dim_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    return rows_body(e, plan, tmp, true);
}

/* UniqueConsecutive takes them as they come. */
static asn_status consecutive_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    return rows_body(e, plan, tmp, false);
}

/* Checks outputs 4 to 6 of both operators: those that are asked for are there. valueOut
 * is like self but along the axis, inverseOut as long as self, countsOut 1-d. */
static asn_status check_outputs(const asnd_call *c, int axis, bool inverse, bool counts) {
    const asnd_nd *self = asn_call_nd(c, 0), *out = asn_call_nd(c, 4);
    if ((inverse && c->first[5] < 0) || (counts && c->first[6] < 0))
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: an output that is asked for is NULL", c->op->name);
    ASN_TRY(asn_call_same_dtype(c, 4, 0));
    bool fits = out->ndim == (axis < 0 ? 1 : self->ndim);
    for (int d = 0; d < self->ndim && fits && axis >= 0; d++)
        fits = d == axis || out->shape[d] == self->shape[d];
    if (!fits) {
        char got[ASN_SHAPE_TEXT], all[ASN_SHAPE_TEXT];
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: valueOut has shape %s, self %s; valueOut must be %s",
                             c->op->name, asn_shape_text(got, out->ndim, out->shape),
                             asn_shape_text(all, self->ndim, self->shape),
                             axis < 0 ? "1-d" : "like self except along dim");
    }
    if (inverse) {
        ASN_TRY(asn_call_position_dtype(c, 5));
        ASN_TRY(asn_call_same_shape(c, 5, axis < 0 ? self->ndim : 1,
                                    axis < 0 ? self->shape : self->shape + axis));
    }
    if (!counts) return ASN_OK;
    ASN_TRY(asn_call_position_dtype(c, 6));
    return asn_call_rank(c, 6, 1, 1);
}

/* axis -1: all elements in a row. Outputs that are not asked for stay as they are. */
static asn_status plan_rows(asnd_call *c, asnd_body_fn body, int axis, bool inverse,
                            bool counts) {
    ASN_TRY(check_outputs(c, axis, inverse, counts));
    rows_plan *p = asn_call_plan(c, body, sizeof *p,
                                 500 + 40 * (double)asn_nd_size(asn_call_nd(c, 0)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->values = c->first[4];
    p->inverse = inverse ? c->first[5] : -1;
    p->counts = counts ? c->first[6] : -1;
    p->axis = axis;
    return ASN_OK;
}

/* countsOut is always written. */
asn_status asn_planner_unique_dim(asnd_call *c) {
    int axis;
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 3), asn_call_nd(c, 0)->ndim, &axis));
    return plan_rows(c, unique_dim_body, axis, asn_call_int(c, 2) != 0, true);
}

asn_status asn_planner_unique_consecutive(asnd_call *c) {
    int axis = -1;
    if (asn_call_int(c, 3) != ALL_IN_A_ROW) {
        ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
        ASN_TRY(asn_call_axis(c, asn_call_int(c, 3), asn_call_nd(c, 0)->ndim, &axis));
    }
    return plan_rows(c, consecutive_body, axis, asn_call_int(c, 1) != 0,
                     asn_call_int(c, 2) != 0);
}
