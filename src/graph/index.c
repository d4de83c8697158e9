/* L2 graph: getting and setting through an index (see index.h).
 *
 * A basic index is a view. An advanced one is CANN's Index or IndexPutImpl on the planned
 * base, whose leading axes the arrays address; the result's axes are then moved to where
 * NumPy puts them. Setting one value under a mask is an elementwise selection and stays
 * in the trace. Indices are checked by the device while it gathers; the precise message
 * is worked out only after a failure.
 */
#include "graph/index.h"

#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_index.h"
#include "aclnnop/aclnn_index_put_impl.h"
#include "aclnnop/aclnn_masked_scatter.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_nonzero_v2.h"
#include "array/broadcast.h"
#include "array/views.h"
#include "graph/direct.h"
#include "graph/families.h"
#include "graph/index_plan.h"
#include "graph/launch.h"
#include "graph/lock.h"
#include "graph/record.h"
#include "graph/truth.h"
#include "graph/operands.h"
#include "graph/operator.h"
#include "graph/streams.h"
#include "runtime/sync.h"
#include "runtime/uses.h"

/* One int or slice on an array of few dimensions, in range: what loops are made of. False
 * leaves everything to the plan. */
static bool quick_view(asn_array *out, const asn_array *a, const asn_index_item *item) {
    const asn_layout *l = &a->layout;
    if (l->ndim < 1 || l->ndim > ASN_INLINE_DIMS) return false;
    int64_t extent = l->shape[0], start = item->start, count = 1, step = 0;
    int drop = 0;
    if (item->kind == ASN_INDEX_INT) {
        start += start < 0 ? extent : 0;
        if (start < 0 || start >= extent) return false;
        drop = 1;
    } else if (item->kind == ASN_INDEX_SLICE && item->step > 0) {
        int64_t stop = item->stop;
        start += start < 0 ? extent : 0;
        stop += stop < 0 ? extent : 0;
        if (start < 0) start = 0;
        if (stop > extent) stop = extent;
        step = item->step;
        if (start >= stop) return false;
        count = step == 1 ? stop - start : (stop - start - 1) / step + 1;
    } else {
        return false;
    }
    asn_layout *v = &out->layout;
    v->ndim = l->ndim - drop;
    v->dtype = l->dtype;
    v->shape = v->dims;
    v->strides = v->dims + ASN_INLINE_DIMS;
    v->flags = l->flags;
    v->offset = l->offset + start * l->strides[0];
    if (l->ndim == 1 && !drop) { /* flags of one axis, without the general rules */
        v->size = v->shape[0] = count;
        v->strides[0] = l->strides[0] * step;
        if (step != 1 && count > 1)
            v->flags &= (uint8_t)~(ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS);
        if (count > 1 || (l->flags & ASN_C_CONTIGUOUS)) {
            out->buffer = asn_buffer_retain(a->buffer);
            return true;
        }
    }
    for (int d = drop; d < l->ndim; d++) {
        v->shape[d - drop] = l->shape[d];
        v->strides[d - drop] = l->strides[d];
    }
    if (!drop) {
        v->shape[0] = count;
        v->strides[0] *= step;
    }
    asn_layout_update(v);
    out->buffer = asn_buffer_retain(a->buffer);
    return true;
}

asn_status asn_index_view(asn_array *out, const asn_array *a, int n,
                          const asn_index_item *items) {
    if (n == 1 && quick_view(out, a, items)) return ASN_OK;
    asn_index_plan p;
    ASN_TRY(asn_index_plan_make(&p, a, n, items));
    asn_array_move(out, &p.base);
    p.base.layout.shape = p.base.layout.dims;
    asn_index_plan_fini(&p);
    return ASN_OK;
}

/* ---- gather */

static asn_status tensor_list(const asn_index_plan *p, aclTensorList **out) {
    aclTensor *tensors[ASN_MAX_DIMS];
    for (int i = 0; i < p->num_arrays; i++) {
        asn_status status = asn_operator_tensor(&p->arrays[i], ASN_READ, &tensors[i]);
        if (status) {
            asn_operator_drop(i, tensors);
            return status;
        }
    }
    *out = asn_operator_list(p->num_arrays, tensors);
    if (*out) return ASN_OK;
    asn_operator_drop(p->num_arrays, tensors);
    return ASN_ERR_MEMORY;
}

/* The arrays' shape, then the base's axes that no array addresses. */
static int gathered_shape(const asn_index_plan *p, int64_t *shape) {
    int n = p->ndim;
    memcpy(shape, p->shape, (size_t)n * sizeof *shape);
    for (int d = p->num_arrays; d < p->base.layout.ndim; d++)
        shape[n++] = p->base.layout.shape[d];
    return n;
}

/* The device's complaint about an index becomes NumPy's IndexError. Without memory the
 * indices themselves may not have been computed. */
static asn_status index_failure(const asn_index_plan *p, asn_status status) {
    char message[512];
    static const char why[] = "indices are checked";
    asn_mark mark = ASN_NO_MARK;
    if (ASN_CAPTURING)
        asn_capture_checked(); /* replays check, too */
    else if (!status && asn_stream_busy)
        ASN_TRY(asn_sync_begin(why, &mark));
    if (!status) status = asn_streams_wait_active();
    asn_sync_end(why, mark);
    if (!status || status == ASN_ERR_MEMORY) return status;
    strncpy(message, asn_error_message(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    ASN_TRY(asn_index_plan_check(p));
    return asn_error_set(status, "%s", message);
}

/* perm such that axis i of the result is axis perm[i] of (arrays' shape, rest). */
static void placement(const asn_index_plan *p, int ndim, int *perm) {
    int at = 0;
    for (int d = 0; d < p->insert_at; d++)
        perm[at++] = p->ndim + d;
    for (int d = 0; d < p->ndim; d++)
        perm[at++] = d;
    for (int d = p->insert_at; at < ndim; d++)
        perm[at++] = p->ndim + d;
}

static asn_status transpose(asn_array *a, const int *perm) {
    asn_layout view;
    asn_array moved;
    ASN_TRY(asn_view_transpose(&view, &a->layout, perm));
    asn_array_view(&moved, a, &view);
    asn_array_fini(a);
    asn_array_move(a, &moved);
    return ASN_OK;
}

static asn_status transpose_result(const asn_index_plan *p, asn_array *a) {
    int perm[2 * ASN_MAX_DIMS];
    if (p->insert_at == 0 || p->ndim == 0) return ASN_OK;
    placement(p, a->layout.ndim, perm);
    return transpose(a, perm);
}

/* The axes of (arrays' shape, rest) as NumPy's result has them in memory, outermost
 * first: the rest by the strides of what is indexed, else the arrays' by theirs. False:
 * as they are. */
static bool result_order(const asn_index_plan *p, int *perm) {
    const int n = p->ndim, rest = p->base.layout.ndim - p->num_arrays;
    for (int d = 0; d < n + rest; d++)
        perm[d] = d;
    if (rest < 2 && (rest || n < 2)) return false;
    if (rest) {
        const int64_t *strides = p->base.layout.strides + p->num_arrays - n;
        for (int d = n + 1; d < n + rest; d++)
            for (int k = d; k > n; k--) {
                int outer = perm[k - 1], inner = perm[k];
                if (llabs(strides[outer]) >= llabs(strides[inner])) break;
                perm[k - 1] = inner, perm[k] = outer;
            }
    } else {
        enum { LOOKED_AT = 3 };
        int64_t strides[LOOKED_AT][ASN_MAX_DIMS];
        int inner[ASN_MAX_DIMS], num = 0;
        for (; num < LOOKED_AT && num < p->num_arrays; num++)
            memcpy(strides[num], p->arrays[num].layout.strides, (size_t)n * 8);
        asn_order_by_strides(inner, n, 0, num, strides);
        for (int d = 0; d < n; d++)
            perm[d] = inner[n - 1 - d];
    }
    int last = -1; /* axes of one element may lie anywhere */
    for (int i = 0; i < n + rest; i++) {
        int d = perm[i];
        int64_t extent =
            d < n ? p->shape[d] : p->base.layout.shape[d - n + p->num_arrays];
        if (extent == 1) continue;
        if (d < last) return true;
        last = d;
    }
    return false;
}

/* The plan whose result lies in memory as `perm` says. */
static asn_status reorder(asn_index_plan *p, const int *perm) {
    int64_t shape[ASN_MAX_DIMS] = {0};
    int of_base[2 * ASN_MAX_DIMS];
    for (int d = 0; d < p->ndim; d++)
        shape[d] = p->shape[perm[d]];
    memcpy(p->shape, shape, (size_t)p->ndim * sizeof *shape);
    for (int i = 0; i < p->num_arrays; i++)
        ASN_TRY(transpose(&p->arrays[i], perm));
    for (int d = 0; d < p->base.layout.ndim; d++)
        of_base[d] = d < p->num_arrays
                         ? d
                         : perm[p->ndim + d - p->num_arrays] - p->ndim + p->num_arrays;
    return transpose(&p->base, of_base);
}

static asn_status gather_rows(asn_array *out, const asn_index_plan *p) {
    int64_t shape[2 * ASN_MAX_DIMS];
    int ndim = gathered_shape(p, shape);
    ASN_TRY(asn_array_new(out, asn_layout_dtype(&p->base.layout), ndim, shape, 'C'));
    asn_status status = ASN_OK;
    if (out->layout.size) {
        aclTensor *t[2] = {NULL, NULL};
        aclTensorList *list = NULL;
        const asn_array *all[2] = {&p->base, out};
        status = asn_operator_tensors(2, all, 1 << 1, t);
        if (!status) status = tensor_list(p, &list);
        bool made = !status;
        ASN_OPERATOR(status, Index, "index", t[0], list, t[1]);
        if (made) status = index_failure(p, status);
        asn_operator_drop_list(list);
        asn_operator_drop(2, t);
    } else {
        status = asn_index_plan_check(p);
    }
    if (status) asn_array_fini(out);
    return status;
}

/* in_order: the result lies row-major as far as its axes go, as take's does. */
static asn_status gather(asn_array *out, asn_index_plan *p, bool in_order) {
    int perm[2 * ASN_MAX_DIMS], back[2 * ASN_MAX_DIMS];
    bool moved = !in_order && result_order(p, perm);
    if (moved) ASN_TRY(reorder(p, perm));
    ASN_TRY(gather_rows(out, p));
    asn_status status = ASN_OK;
    for (int d = 0; d < out->layout.ndim && moved; d++)
        back[perm[d]] = d;
    if (moved) status = transpose(out, back);
    if (!status) status = transpose_result(p, out);
    if (status) asn_array_fini(out);
    return status;
}

static asn_status count_true(const asn_array *mask, int64_t *n) {
    asn_array total;
    asn_scalar count = {0};
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE, .now = true};
    ASN_TRY(asn_ufunc_reduce(ASN_OP_ADD, mask, NULL, &total, &all));
    asn_status status = asn_array_get_item(&total, 0, &count);
    asn_array_fini(&total);
    memcpy(n, count.bytes, sizeof *n);
    return status;
}

/* a[mask] with one mask over all axes: no index arrays needed. */
static asn_status select_masked(asn_array *out, const asn_array *a,
                                const asn_array *mask) {
    int64_t n;
    ASN_TRY(count_true(mask, &n));
    ASN_TRY(asn_array_new(out, asn_layout_dtype(&a->layout), 1, &n, 'C'));
    if (n == 0) return ASN_OK;
    aclTensor *t[3];
    const asn_array *all[3] = {a, mask, out};
    asn_status status = asn_operator_tensors(3, all, 1 << 2, t);
    ASN_OPERATOR(status, MaskedSelect, "boolean index", t[0], t[1], t[2]);
    asn_operator_drop(3, t);
    if (status) asn_array_fini(out);
    return status;
}

static bool is_full_mask(const asn_array *a, int n, const asn_index_item *items) {
    return n == 1 && items[0].kind == ASN_INDEX_MASK && a->layout.ndim > 0 &&
           asn_layout_same_shape(&a->layout, &items[0].array->layout);
}

static asn_status get_locked(asn_array *out, const asn_array *a, int n,
                             const asn_index_item *items, bool in_order) {
    if (is_full_mask(a, n, items)) return select_masked(out, a, items[0].array);
    asn_index_plan p;
    ASN_TRY(asn_index_plan_make(&p, a, n, items));
    asn_status status = ASN_OK;
    if (p.num_arrays) {
        status = gather(out, &p, in_order);
    } else {
        asn_array_move(out, &p.base);
        p.base.layout.shape = p.base.layout.dims;
    }
    asn_index_plan_fini(&p);
    return status;
}

static bool holds_array(const asn_index_item *item) {
    return item->kind == ASN_INDEX_ARRAY || item->kind == ASN_INDEX_MASK;
}

static asn_status get(asn_array *out, const asn_array *a, int n,
                      const asn_index_item *items, bool in_order) {
    if (n == 1 && holds_array(items) && asn_direct_index(out, a, items->array))
        return ASN_OK;
    asn_lock();
    asn_status status = get_locked(out, a, n, items, in_order);
    asn_unlock();
    if (!status) asn_truth_follow(out, a);
    return status;
}

asn_status asn_index_get(asn_array *out, const asn_array *a, int n,
                         const asn_index_item *items) {
    return get(out, a, n, items, false);
}

/* ---- scatter */

/* Values of a dtype, apart from a's memory: themselves, if they are that. */
static asn_status values_for(asn_array *out, const asn_array *values, const asn_array *a,
                             asn_dtype dtype, char order) {
    bool as_is = asn_layout_dtype(&values->layout) == dtype &&
                 (order == 'K' || values->layout.flags & ASN_C_CONTIGUOUS) &&
                 !asn_buffers_alias(values->buffer, a->buffer);
    return as_is ? asn_array_share(out, values) : asn_copy(out, values, dtype, order);
}

/* The value broadcast to the result's shape, as a view whose axes are (arrays' shape,
 * rest), of the target's dtype. */
static asn_status spread_value(const asn_index_plan *p, const asn_operand *value,
                               asn_dtype dtype, asn_array *out) {
    int64_t gathered[2 * ASN_MAX_DIMS], shape[2 * ASN_MAX_DIMS];
    int ndim = gathered_shape(p, gathered), perm[2 * ASN_MAX_DIMS],
        back[2 * ASN_MAX_DIMS];
    placement(p, ndim, perm);
    for (int i = 0; i < ndim; i++) {
        shape[i] = gathered[perm[i]];
        back[perm[i]] = i;
    }
    asn_array packed;
    asn_layout view, turned, squeezed;
    if (value->array) {
        ASN_TRY(values_for(&packed, value->array, &p->base, dtype, 'K'));
    } else {
        ASN_TRY(asn_operand_check(value, dtype));
        ASN_TRY(asn_full(&packed, dtype, 0, NULL, 'C', value));
    }
    uint64_t extra = 0;
    for (int d = 0; d < packed.layout.ndim - ndim && packed.layout.shape[d] == 1; d++)
        extra |= (uint64_t)1 << d;
    asn_status status = asn_view_squeeze(&squeezed, &packed.layout, extra);
    if (!status) {
        if (asn_view_broadcast(&view, &squeezed, ndim, shape)) {
            char from[256], to[256];
            status = asn_error_set(ASN_ERR_VALUE,
                                   "shape mismatch: value array of shape %s could not be "
                                   "broadcast to indexing "
                                   "result of shape %s",
                                   asn_shape_format(from, sizeof from, packed.layout.ndim,
                                                    packed.layout.shape),
                                   asn_shape_format(to, sizeof to, ndim, shape));
        } else {
            status = asn_view_transpose(&turned, &view, back);
            asn_layout_fini(&view);
        }
        asn_layout_fini(&squeezed);
    }
    if (!status) asn_array_view(out, &packed, &turned);
    asn_array_fini(&packed);
    return status;
}

static asn_status scatter(const asn_index_plan *p, const asn_operand *value) {
    asn_array values;
    ASN_TRY(spread_value(p, value, asn_layout_dtype(&p->base.layout), &values));
    asn_status status = ASN_OK;
    if (values.layout.size) {
        aclTensor *t[2] = {NULL, NULL};
        aclTensorList *list = NULL;
        const asn_array *all[2] = {&p->base, &values};
        status = asn_operator_tensors(2, all, 1 << 0, t);
        if (!status) status = tensor_list(p, &list);
        bool made = !status;
        ASN_OPERATOR(status, IndexPutImpl, "index assignment", t[0], list, t[1], false,
                     false);
        if (made) status = index_failure(p, status);
        asn_operator_drop_list(list);
        asn_operator_drop(2, t);
    } else {
        status = asn_index_plan_check(p);
    }
    asn_array_fini(&values);
    return status;
}

/* a[mask] = values, one for each true element in row-major order. */
static asn_status scatter_masked(const asn_array *a, const asn_array *mask,
                                 const asn_array *values) {
    int64_t n;
    ASN_TRY(count_true(mask, &n));
    if (values->layout.size != n)
        return asn_error_set(
            ASN_ERR_VALUE,
            "NumPy boolean array indexing assignment cannot assign %lld input "
            "values to the %lld output values where the mask is true",
            (long long)values->layout.size, (long long)n);
    if (n == 0) return ASN_OK;
    asn_array packed;
    ASN_TRY(values_for(&packed, values, a, asn_layout_dtype(&a->layout), 'C'));
    aclTensor *t[3];
    const asn_array *all[3] = {a, mask, &packed};
    asn_status status = asn_operator_tensors(3, all, 1 << 0, t);
    ASN_OPERATOR(status, InplaceMaskedScatter, "boolean index assignment", t[0], t[1],
                 t[2]);
    asn_operator_drop(3, t);
    asn_array_fini(&packed);
    return status;
}

static asn_status set_locked(const asn_array *a, int n, const asn_index_item *items,
                             const asn_operand *value) {
    if (!(a->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "assignment destination is read-only");
    bool single = !value->array || value->array->layout.ndim == 0;
    if (is_full_mask(a, n, items) && single)
        return asn_assign(a, value, ASN_CASTING_UNSAFE, items[0].array);
    if (is_full_mask(a, n, items) && value->array->layout.ndim == 1 &&
        value->array->layout.size != 1 &&
        !asn_buffers_alias(items[0].array->buffer, a->buffer))
        return scatter_masked(a, items[0].array, value->array);
    asn_index_plan p;
    ASN_TRY(asn_index_plan_make(&p, a, n, items));
    asn_status status = p.num_arrays
                            ? scatter(&p, value)
                            : asn_assign(&p.base, value, ASN_CASTING_UNSAFE, NULL);
    asn_index_plan_fini(&p);
    return status;
}

asn_status asn_index_set(const asn_array *a, int n, const asn_index_item *items,
                         const asn_operand *value) {
    if (n == 1 && holds_array(items) && asn_direct_index_set(a, items->array, value))
        return ASN_OK;
    if (value->array)
        ASN_TRUTH_OF(value->array,
                     asn_index_set(a, n, items, &(asn_operand){.array = &clean}))
    asn_lock();
    asn_status status = set_locked(a, n, items, value);
    asn_unlock();
    return status;
}

/* ---- nonzero */

/* Of a row-major mask; rows of one table, whose length the device is asked for first. */
static asn_status nonzero_table(asn_array *out, const asn_array *truth) {
    int ndim = truth->layout.ndim, made = 0;
    int64_t shape[2] = {ndim, 0};
    asn_array table;
    ASN_TRY(count_true(truth, &shape[1]));
    ASN_TRY(asn_array_new(&table, ASN_I64, 2, shape, 'C'));
    asn_status status = ASN_OK;
    aclTensor *t[2] = {NULL, NULL};
    if (shape[1]) {
        const asn_array *all[2] = {truth, &table};
        status = asn_operator_tensors(2, all, 1 << 1, t);
        ASN_OPERATOR(status, NonzeroV2, "nonzero", t[0], t[1]);
    }
    asn_operator_drop(2, t);
    for (; made < ndim && !status; made++) {
        asn_index_item row = {.kind = ASN_INDEX_INT, .start = made};
        status = asn_index_view(&out[made], &table, 1, &row);
        if (status) break;
    }
    if (status)
        for (int i = 0; i < made; i++)
            asn_array_fini(&out[i]);
    asn_array_fini(&table);
    return status;
}

asn_status asn_nonzero(asn_array *out, const asn_array *a) {
    if (a->layout.ndim == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "Calling nonzero on 0d arrays is not allowed. Use "
                             "np.atleast_1d(scalar).nonzero() instead. If the "
                             "context of this error is of the form "
                             "`arr[nonzero(cond)]`, just use `arr[cond]`.");
    if (asn_direct_nonzero(out, a)) return ASN_OK;
    ASN_TRUTH_OF(a, asn_nonzero(out, &clean))
    asn_array truth;
    ASN_TRY(asn_copy(&truth, a, ASN_BOOL, 'C'));
    asn_status status =
        asn_direct_nonzero(out, &truth) ? ASN_OK : nonzero_table(out, &truth);
    asn_array_fini(&truth);
    return status;
}

/* ---- take */

/* Indices outside the axis brought inside: by remainder, or by clipping to its ends. */
static asn_status tame_indices(asn_array *out, const asn_array *indices, int64_t extent,
                               int mode) {
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    if (mode == 1) {
        asn_operand in[2] = {{.array = indices},
                             {.scalar = asn_scalar_int(extent), .weak = 'i'}};
        return asn_ufunc_call(ASN_OP_REMAINDER, in, NULL, out, &plain);
    }
    asn_operand in[3] = {{.array = indices},
                         {.scalar = asn_scalar_int(0), .weak = 'i'},
                         {.scalar = asn_scalar_int(extent - 1), .weak = 'i'}};
    return asn_ufunc_call(ASN_OP_CLIP, in, NULL, out, &plain);
}

asn_status asn_take(asn_array *out, const asn_array *a, const asn_array *indices,
                    int axis, int mode) {
    asn_index_item items[ASN_MAX_DIMS];
    asn_array wide, tame;
    int64_t extent = a->layout.shape[axis];
    if (extent == 0 && indices->layout.size)
        return asn_error_set(ASN_ERR_INDEX,
                             "cannot do a non-empty take from an empty axes.");
    ASN_TRY(asn_layout_dtype(&indices->layout) == ASN_I64
                ? asn_array_share(&wide, indices)
                : asn_copy(&wide, indices, ASN_I64, 'C'));
    if (mode) {
        asn_status status = tame_indices(&tame, &wide, extent ? extent : 1, mode);
        asn_array_fini(&wide);
        ASN_TRY(status);
        asn_array_move(&wide, &tame);
    }
    for (int d = 0; d < axis; d++)
        items[d] = (asn_index_item){
            .kind = ASN_INDEX_SLICE, .start = 0, .stop = INT64_MAX, .step = 1};
    items[axis] = (asn_index_item){.kind = ASN_INDEX_ARRAY, .array = &wide};
    asn_status status = get(out, a, axis + 1, items, true);
    asn_array_fini(&wide);
    return status;
}

/* ---- at */

/* One indexed element after the other, through views: any operation on any device. */
static asn_status at_by_elements(asn_op op, const asn_index_plan *p,
                                 const asn_array *values) {
    int64_t n = 1, index[ASN_MAX_DIMS] = {0};
    for (int d = 0; d < p->ndim; d++)
        n *= p->shape[d];
    asn_ufunc_options unsafe = ASN_UFUNC_DEFAULTS;
    unsafe.casting = ASN_CASTING_UNSAFE;
    for (int64_t i = 0; i < n; i++) {
        asn_index_item items[ASN_MAX_DIMS], place[ASN_MAX_DIMS];
        for (int k = 0; k < p->num_arrays; k++) {
            int64_t offset = 0;
            asn_scalar at;
            for (int d = 0; d < p->ndim; d++)
                offset += index[d] * p->arrays[k].layout.strides[d];
            ASN_TRY(asn_array_get_item(&p->arrays[k], offset, &at));
            items[k] = (asn_index_item){.kind = ASN_INDEX_INT};
            memcpy(&items[k].start, at.bytes, 8);
        }
        for (int d = 0; d < p->ndim; d++)
            place[d] = (asn_index_item){.kind = ASN_INDEX_INT, .start = index[d]};
        asn_array target, value;
        ASN_TRY(asn_index_view(&target, &p->base, p->num_arrays, items));
        asn_operand in[2] = {{.array = &target}, {.array = &value}};
        asn_status status = ASN_OK;
        if (values) status = asn_index_view(&value, values, p->ndim, place);
        if (!status) {
            status = asn_ufunc_call(op, in, &target, NULL, &unsafe);
            if (values) asn_array_fini(&value);
        }
        asn_array_fini(&target);
        ASN_TRY(status);
        for (int d = p->ndim - 1; d >= 0 && ++index[d] == p->shape[d]; d--)
            index[d] = 0;
    }
    return ASN_OK;
}

static void plain_operand(aclnnxOperand *o, const asn_array *a) {
    memset(o, 0, sizeof *o);
    o->data = (char *)a->buffer->data + a->layout.offset;
    o->strides = a->layout.strides;
    o->dtype = (uint8_t)asn_dtype_table[a->layout.dtype].acl;
    o->reduceOp = ACLNNX_NO_REDUCE;
}

static asn_status at_fused(asn_op op, const asn_index_plan *p, const asn_array *values) {
    aclnnxOperand self, value, index[ASN_MAX_DIMS];
    ASN_TRY(asn_trace_flush());
    ASN_TRY(asn_buffer_ensure(p->base.buffer));
    ASN_TRY(asn_buffer_ensure(values->buffer));
    for (int i = 0; i < p->num_arrays; i++)
        ASN_TRY(asn_buffer_ensure(p->arrays[i].buffer));
    plain_operand(&self, &p->base);
    plain_operand(&value, values);
    for (int i = 0; i < p->num_arrays; i++)
        plain_operand(&index[i], &p->arrays[i]);
    uint32_t *sink = asn_fp_sink();
    ASN_TRY(asn_buffer_use(p->base.buffer, true));
    ASN_TRY(asn_buffer_use(values->buffer, false));
    for (int i = 0; i < p->num_arrays; i++)
        ASN_TRY(asn_buffer_use(p->arrays[i].buffer, false));
    asn_stream_launch(false);
    asn_mark mark = asn_profile_begin_on_device();
    int code = asn_acl.aclnnxUpdateAt(
        asn_device_opcode((uint16_t)op), &self, p->base.layout.ndim, p->base.layout.shape,
        p->num_arrays, index, p->ndim, p->shape, &value, sink, asn_stream());
    asn_fp_note(asn_op_table[op].name);
    if (mark.ticks)
        asn_record_relative(mark, "update at", 2, (const asn_array *[]){&p->base, values},
                            0);
    return index_failure(p, code ? asn_acl_failed(code, asn_op_table[op].name) : ASN_OK);
}

asn_status asn_index_at(asn_op op, const asn_array *a, int n, const asn_index_item *items,
                        const asn_operand *value) {
    if (!(a->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "array is read-only");
    asn_index_plan p;
    asn_lock();
    asn_status status = asn_index_plan_make(&p, a, n, items);
    if (!status) {
        asn_array values;
        asn_dtype dtype = asn_layout_dtype(&a->layout), loop = dtype;
        asn_type types[2] = {{(uint8_t)dtype, 0}, {(uint8_t)dtype, 0}};
        if (value) types[1] = asn_operand_type(value);
        /* The result is cast back whatever its dtype, as NumPy's is. */
        status = asn_op_resolve(op, types, ASN_DTYPE_NONE, ASN_CASTING_UNSAFE, &loop);
        if (!status && value)
            status = spread_value(&p, value, asn_op_operand(op, 1, loop), &values);
        if (!status) {
            bool direct = value && asn_fuse_enabled() && asn_acl.aclnnxUpdateAt &&
                          loop == dtype && asn_op_result(op, loop) == dtype &&
                          p.num_arrays;
            status = direct ? at_fused(op, &p, &values)
                            : at_by_elements(op, &p, value ? &values : NULL);
            if (value) asn_array_fini(&values);
        }
        asn_index_plan_fini(&p);
    }
    asn_unlock();
    return status;
}
