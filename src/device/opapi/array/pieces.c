/* CPU device, operators: tensors that are put together from pieces.
 *
 * ChunkCat(tensors, dim, numChunks, out), torch._chunk_cat: each tensor is padded with
 * zeros to a multiple of numChunks along dim and cut into that many chunks; the chunks
 * of a number, flattened from dim on, stand one behind the other in a row of out, whose
 * dimension dim is the number of the chunk.
 *
 * UnfoldGrad(gradOut, inputSizes, dim, size, step, gradIn), the gradient of
 * Tensor.unfold: element j of window i goes to place i * step + j along dim, where
 * windows that overlap add up. RepeatInterleaveGrad(gradOut, repeats, axis, gradIn): the
 * repeats of a slice add up. Halves are summed in float32.
 */
#include <string.h>

#include "device/cpu/index/index.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* All elements become 0. */
static asn_status clear(const asnd_nd *a) {
    static const uint8_t zero[16];
    asnd_view v;
    int64_t one = 1;
    asn_view_plain(&v, a->dtype, 0, &one, (void *)(uintptr_t)zero);
    asn_view_broadcast(&v, a->ndim, a->shape);
    return asn_move(a, &v.nd);
}

/* What sums of t are computed in. */
static asn_dtype sum_dtype(asn_dtype t) {
    return t == ASN_F16 || t == ASN_BF16 ? ASN_F32 : t;
}

/* ---- ChunkCat */

typedef struct {
    asnd_plan_head head;
    int first, count, out, axis;
    int64_t chunks;
} chunk_plan;

/* Columns of a tensor: its elements in a chunk, from dimension axis on, padding included.
 */
static int64_t chunk_columns(const asnd_nd *a, int axis, int64_t chunks, int64_t *rows) {
    int64_t columns = *rows = (a->shape[axis] + chunks - 1) / chunks;
    for (int d = axis + 1; d < a->ndim; d++)
        columns *= a->shape[d];
    return columns;
}

/* Chunk k of tensor a to columns from `column` on. */
static asn_status put_chunk(const chunk_plan *p, const asnd_nd *a, int64_t rows,
                            const asnd_nd *out, int64_t k, int64_t column) {
    int64_t begin = k * rows, left = a->shape[p->axis] - begin;
    int64_t step = out->strides[p->axis + 1];
    asnd_view from, to;
    if (left > rows) left = rows;
    if (left <= 0) return ASN_OK;
    asn_view_set(&from, a);
    asn_view_slice(&from, p->axis, begin, left, 1);
    /* The row of out with a's dimensions: those in front are out's. */
    asn_view_set(&to, &from.nd);
    to.nd.dtype = out->dtype;
    to.nd.data = out->data + k * out->strides[p->axis] + column * step;
    for (int d = a->ndim - 1; d >= p->axis; d--) {
        to.strides[d] = step;
        step *= a->shape[d];
    }
    memcpy(to.strides, out->strides, (size_t)p->axis * sizeof *to.strides);
    return asn_move(&to.nd, &from.nd);
}

static asn_status chunk_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const chunk_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    int64_t column = 0, rows;
    (void)tmp;
    ASN_TRY(clear(out));
    for (int i = 0; i < p->count; i++) {
        const asnd_nd *a = asn_exec_nd(e, p->first + i);
        int64_t columns = chunk_columns(a, p->axis, p->chunks, &rows);
        for (int64_t k = 0; k < p->chunks && asn_nd_size(a) > 0; k++)
            ASN_TRY(put_chunk(p, a, rows, out, k, column));
        column += columns;
    }
    return ASN_OK;
}

asn_status asn_planner_chunk_cat(asnd_call *c) {
    const asnd_array *list = asn_call_array(c, 0);
    int64_t chunks = asn_call_int(c, 2), shape[ASN_ND_MAX_DIMS + 1], columns = 0, rows;
    int axis = 0, count = (int)list->size;
    if (count == 0 || chunks < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numChunks is %lld, of %d tensors; there must be at "
                             "least one of each",
                             c->op->name, (long long)chunks, count);
    for (int i = 0; i < count; i++)
        if (c->e->operands[c->first[0] + i].is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: tensors[%d] is NULL",
                                 c->op->name, i);
    const asnd_nd *first = &c->e->operands[c->first[0]].nd;
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), first->ndim, &axis));
    for (int i = 0; i < count; i++) {
        const asnd_nd *a = &c->e->operands[c->first[0] + i].nd;
        bool fits = a->ndim > axis && a->dtype == first->dtype;
        for (int d = 0; d < axis && fits; d++)
            fits = a->shape[d] == first->shape[d];
        if (!fits)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: tensors[%d] must be of the dtype of the first, and "
                                 "agree with it in front of dimension %d",
                                 c->op->name, i, axis);
        columns += chunk_columns(a, axis, chunks, &rows);
    }
    memcpy(shape, first->shape, (size_t)axis * sizeof *shape);
    shape[axis] = chunks;
    shape[axis + 1] = columns;
    ASN_TRY(asn_call_same_shape(c, 3, axis + 2, shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    chunk_plan *p = asn_call_plan(c, chunk_body, sizeof *p,
                                  300 + 2 * (double)asn_nd_size(asn_call_nd(c, 3)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->first = c->first[0];
    p->count = count;
    p->out = c->first[3];
    p->axis = axis;
    p->chunks = chunks;
    return ASN_OK;
}

/* ---- UnfoldGrad */

/* One program for each place of a window: there no two windows meet. */
static asn_status unfold_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *grad = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[5]);
    int64_t size = p->arg[3].i, step = p->arg[4].i, one = 1;
    int last = grad->ndim - 1;
    asnd_view sum, from, to;
    ASN_TRY(asn_tmp_view(tmp, p->loop, out->ndim, out->shape, &sum));
    ASN_TRY(clear(&sum.nd));
    asnd_nd whole = sum.nd;
    if (out->ndim == 0) asn_view_plain(&sum, p->loop, 1, &one, whole.data);
    for (int64_t j = 0; j < size && asn_nd_size(grad) > 0; j++) {
        asn_view_set(&from, grad);
        asn_view_slice(&from, last, j, 1, 1);
        asn_view_drop(&from, last);
        asn_view_at_least_1d(&from);
        asn_view_set(&to, &sum.nd);
        asn_view_slice(&to, p->axis, j, from.shape[p->axis], step);
        asnd_prog g;
        asn_prog_begin(&g, to.nd.ndim, to.shape, 0);
        int x = asn_prog_as(&g, asn_prog_in(&g, &from.nd), p->loop);
        x = asn_prog_op2(&g, ASN_OP_ADD, asn_prog_in(&g, &to.nd), x);
        asn_prog_out(&g, x, &to.nd);
        ASN_TRY(asn_prog_run(&g));
    }
    asn_view_plain(&sum, p->loop, out->ndim, out->shape, whole.data);
    return asn_move(out, &sum.nd);
}

asn_status asn_planner_unfold_grad(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0);
    const asnd_array *sizes = asn_call_array(c, 1);
    const int64_t *extents = sizes->data;
    int64_t size = asn_call_int(c, 3), step = asn_call_int(c, 4);
    int64_t shape[ASN_ND_MAX_DIMS + 1];
    int ndim = (int)sizes->size, axis = 0, to = 0;
    if (sizes->size >= ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "%s: inputSizes has %llu numbers",
                             c->op->name, (unsigned long long)sizes->size);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), ndim, &axis));
    int64_t extent = ndim > 0 ? extents[axis] : 1;
    if (size < 0 || step < 1 || size > extent)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: size is %lld and step %lld; size must be in [0, %lld], "
                             "and step positive",
                             c->op->name, (long long)size, (long long)step,
                             (long long)extent);
    for (int d = 0; d < ndim; d++)
        shape[to++] = d == axis ? (extent - size) / step + 1 : extents[d];
    shape[to++] = size;
    ASN_TRY(asn_call_same_shape(c, 0, to, shape));
    ASN_TRY(asn_call_same_shape(c, 5, ndim, extents));
    ASN_TRY(asn_call_same_dtype(c, 0, 5));
    if (grad->dtype == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: gradOut has dtype bool", c->op->name);
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, unfold_body, 300 + 3 * (double)asn_nd_size(grad));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->loop = sum_dtype(grad->dtype);
    return ASN_OK;
}

/* ---- RepeatInterleaveGrad */

static asn_status repeats_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *grad = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[3]);
    int64_t n = out->shape[p->axis], length = grad->shape[p->axis], at = 0;
    const int64_t *repeats;
    asnd_view index, sum, to, from;
    const asnd_nd *list[1] = {&index.nd};
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_I64, tmp, &repeats));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &length, &index));
    for (int64_t i = 0; i < n; i++) {
        if (repeats[i] < 0 || repeats[i] > length - at)
            return asn_error_set(ASN_ERR_VALUE,
                                 "repeats[%lld] is %lld; together they must be the %lld "
                                 "slices of gradOut",
                                 (long long)i, (long long)repeats[i], (long long)length);
        for (int64_t k = 0; k < repeats[i]; k++)
            ((int64_t *)(void *)index.nd.data)[at++] = i;
    }
    if (at != length)
        return asn_error_set(ASN_ERR_VALUE,
                             "repeats add up to %lld; gradOut has %lld slices",
                             (long long)at, (long long)length);
    ASN_TRY(asn_tmp_view(tmp, p->loop, out->ndim, out->shape, &sum));
    ASN_TRY(clear(&sum.nd));
    if (length > 0) {
        ASN_TRY(asn_tmp_as(tmp, grad, p->loop, &from));
        asn_view_set(&to, &sum.nd);
        asn_view_to_front(&to, p->axis, 1);
        asn_view_to_front(&from, p->axis, 1);
        ASN_TRY(asn_cpu_index_put(&to.nd, 1, list, &from.nd, ASN_OP_ADD, NULL));
    }
    return asn_move(out, &sum.nd);
}

asn_status asn_planner_repeat_interleave_grad(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0), *out = asn_call_nd(c, 3);
    int64_t shape[ASN_ND_MAX_DIMS];
    int axis = 0;
    ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), grad->ndim, &axis));
    memcpy(shape, grad->shape, (size_t)grad->ndim * sizeof *shape);
    if (out->ndim == grad->ndim) shape[axis] = out->shape[axis];
    ASN_TRY(asn_call_same_shape(c, 3, grad->ndim, shape));
    ASN_TRY(asn_call_same_shape(c, 1, 1, &shape[axis]));
    ASN_TRY(asn_call_same_dtype(c, 0, 3));
    if (grad->dtype == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: gradOut has dtype bool", c->op->name);
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, repeats_body, 300 + 3 * (double)asn_nd_size(grad));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = axis;
    p->loop = sum_dtype(grad->dtype);
    return ASN_OK;
}
