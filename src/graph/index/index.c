/* L2 graph: reading through an index (see index.h; index_set.c writes).
 *
 * A basic index is a view. An advanced one is CANN's Index on the planned base, whose
 * leading axes the arrays address; the result's axes are then moved to where NumPy puts
 * them, and lie in memory as NumPy's do. A mask over all axes is MaskedSelect, and the
 * places of what is true are NonzeroV2: both ask the device for their number first.
 *
 * Small gathers on the host's side of memory are done at once (graph/small/direct.h);
 * what is here is the general path, which must give the same. NumPy's order in memory of
 * a gathered result is part of the contract: programs look at strides and flags, and
 * ravel('K') of the result depends on it. */
#include "graph/index/index.h"

#include <stdlib.h>
#include <string.h>

#include "aclnnop/aclnn_index.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_nonzero_v2.h"
#include "array/views.h"
#include "graph/small/direct.h"
#include "graph/operators/families.h"
#include "graph/index/index_plan.h"
#include "graph/lock.h"
#include "graph/ufunc/operands.h"
#include "graph/ufunc/truth.h"

/* One int or slice on an array of few dimensions, in range: what loops are made of. *out
 * is made by hand, the layout where short ones lie. False leaves everything to the plan,
 * errors too. */
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
        /* empty slices: their stride and flags are the general rule's */
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
        /* One element: its flags stay true of a contiguous array, otherwise they are
         * worked out below. */
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
    /* The view is the plan's base, which is taken out of the plan before that ends. */
    asn_array_move(out, &p.base);
    p.base.layout.shape = p.base.layout.dims;
    asn_index_plan_fini(&p);
    return ASN_OK;
}

/* ---- gather */

/* *a becomes the view of itself with its axes permuted; after a failure it is as it was.
 */
static asn_status transpose(asn_array *a, const int *perm) {
    asn_layout view;
    asn_array moved;
    ASN_TRY(asn_view_transpose(&view, &a->layout, perm));
    asn_array_view(&moved, a, &view);
    asn_array_fini(a);
    asn_array_move(a, &moved);
    return ASN_OK;
}

/* The arrays' axes from the front to where NumPy puts them. */
static asn_status transpose_result(const asn_index_plan *p, asn_array *a) {
    int perm[2 * ASN_MAX_DIMS];
    if (p->insert_at == 0 || p->ndim == 0) return ASN_OK;
    asn_index_plan_placement(p, a->layout.ndim, perm);
    return transpose(a, perm);
}

/* The axes of (arrays' shape, rest) as NumPy's result has them in memory, outermost
 * first: the rest by the strides of what is indexed, else the arrays' by theirs. perm:
 * position i in memory is axis perm[i]. False: as they are. */
static bool result_order(const asn_index_plan *p, int *perm) {
    const int n = p->ndim, rest = p->base.layout.ndim - p->num_arrays;
    for (int d = 0; d < n + rest; d++)
        perm[d] = d;
    if (rest < 2 && (rest || n < 2)) return false;
    if (rest) {
        const int64_t *strides = p->base.layout.strides + p->num_arrays - n;
        /* Insertion sort by descending size of strides, stable, as NumPy's iterator
         * orders axes. */
        for (int d = n + 1; d < n + rest; d++)
            for (int k = d; k > n; k--) {
                int outer = perm[k - 1], inner = perm[k];
                if (llabs(strides[outer]) >= llabs(strides[inner])) break;
                perm[k - 1] = inner, perm[k] = outer;
            }
    } else {
        /* NumPy looks at the arrays as operands of one iterator; here the first three
         * decide. */
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

/* The plan whose result lies in memory as `perm` says: the shape and the arrays permuted,
 * and the base's other axes. The arrays' axes keep among themselves, and so do the rest.
 */
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

/* *out: (arrays' shape, rest), by the device; row-major in its axes' order, or, with
 * `at`, in that of the result, whose axis i is axis at[i]. An index out of bounds is an
 * IndexError, also where there is nothing to gather: then the host looks. */
static asn_status gather_rows(asn_array *out, const asn_index_plan *p, const int *at) {
    int64_t shape[2 * ASN_MAX_DIMS], placed[2 * ASN_MAX_DIMS];
    int back[2 * ASN_MAX_DIMS], ndim = asn_index_plan_shape(p, shape);
    for (int d = 0; d < ndim && at; d++)
        placed[d] = shape[at[d]], back[at[d]] = d;
    ASN_TRY(asn_array_new(out, asn_layout_dtype(&p->base.layout), ndim,
                          at ? placed : shape, 'C'));
    asn_status status = at ? transpose(out, back) : ASN_OK;
    if (!status && out->layout.size) {
        aclTensor *t[2] = {NULL, NULL};
        aclTensorList *list = NULL;
        const asn_array *all[2] = {&p->base, out};
        status = asn_operator_tensors(2, all, 1 << 1, t);
        if (!status) status = asn_index_plan_tensors(p, &list);
        /* From here on a failure may be the device's complaint about an index. */
        bool made = !status;
        ASN_OPERATOR(status, Index, "index", t[0], list, t[1]);
        if (made) status = asn_index_plan_failure(p, status);
        asn_operator_drop_list(list);
        asn_operator_drop(2, t);
    } else if (!status) {
        status = asn_index_plan_check(p);
    }
    if (status) asn_array_fini(out);
    return status;
}

/* *out as NumPy has it. in_order: row-major, as take's. */
static asn_status gather(asn_array *out, asn_index_plan *p, bool in_order) {
    int perm[2 * ASN_MAX_DIMS], back[2 * ASN_MAX_DIMS];
    bool moved = !in_order && result_order(p, perm);
    bool placed = in_order && p->insert_at > 0 && p->ndim > 0;
    if (moved) ASN_TRY(reorder(p, perm));
    if (placed)
        asn_index_plan_placement(p, p->base.layout.ndim - p->num_arrays + p->ndim, perm);
    ASN_TRY(gather_rows(out, p, placed ? perm : NULL));
    asn_status status = ASN_OK;
    for (int d = 0; d < out->layout.ndim && moved; d++)
        back[perm[d]] = d;
    if (moved) status = transpose(out, back);
    if (!status) status = transpose_result(p, out);
    if (status) asn_array_fini(out);
    return status;
}

/* a[mask] with one mask over all axes: no index arrays needed. How many are true is asked
 * first, which waits. */
static asn_status select_masked(asn_array *out, const asn_array *a,
                                const asn_array *mask) {
    int64_t n;
    ASN_TRY(asn_index_count_true(mask, &n));
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

/* By the plan; the lock is held. A plan without arrays is a view. */
static asn_status get_locked(asn_array *out, const asn_array *a, int n,
                             const asn_index_item *items, bool in_order) {
    if (asn_index_is_full_mask(a, n, items)) return select_masked(out, a, items[0].array);
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

/* The result shows non-canonical bool where a does. */
static asn_status get(asn_array *out, const asn_array *a, int n,
                      const asn_index_item *items, bool in_order) {
    if (n == 1 && asn_index_holds_array(items) && asn_direct_index(out, a, items->array))
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

/* ---- nonzero */

/* Positions of what is true in a row-major mask, lock held: rows of one table, whose
 * length the device is asked for first. out[d] is a view of row d. After a failure some
 * of out may be made. */
static asn_status nonzero_table(asn_array *out, const asn_array *truth) {
    int ndim = truth->layout.ndim;
    int64_t shape[2] = {ndim, 0};
    asn_array table;
    ASN_TRY(asn_index_count_true(truth, &shape[1]));
    ASN_TRY(asn_array_new(&table, ASN_I64, 2, shape, 'C'));
    asn_status status = ASN_OK;
    aclTensor *t[2] = {NULL, NULL};
    if (shape[1]) {
        const asn_array *all[2] = {truth, &table};
        status = asn_operator_tensors(2, all, 1 << 1, t);
        ASN_OPERATOR(status, NonzeroV2, "nonzero", t[0], t[1]);
    }
    asn_operator_drop(2, t);
    for (int d = 0; d < ndim && !status; d++) { /* a row: its view needs no memory */
        asn_index_item row = {.kind = ASN_INDEX_INT, .start = d};
        status = asn_index_view(&out[d], &table, 1, &row);
        for (int k = 0; status && k < d; k++)
            asn_array_fini(&out[k]);
    }
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
    asn_lock();
    asn_status status =
        asn_direct_nonzero(out, &truth) ? ASN_OK : nonzero_table(out, &truth);
    asn_unlock();
    asn_array_fini(&truth);
    return status;
}

/* ---- take */

/* Indices outside the axis brought inside: by remainder (mode 1), or by clipping to its
 * ends (mode 2). *out is int64. */
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

/* Whether one index along the axis takes an element at least. */
static bool takes_some(const asn_layout *l, int axis) {
    bool some = true;
    for (int d = 0; d < l->ndim; d++)
        some = some && (d == axis || l->shape[d]);
    return some;
}

/* The axes before `axis` are taken whole, so the index arrays' shape takes its place. */
asn_status asn_take(asn_array *out, const asn_array *a, const asn_array *indices,
                    int axis, int mode) {
    asn_index_item items[ASN_MAX_DIMS];
    asn_array wide, tame;
    int64_t extent = a->layout.shape[axis];
    /* Where nothing is taken an index is outside as everywhere. (NumPy does not end where
     * it is to be brought inside an axis without extent.) */
    if (extent == 0 && indices->layout.size && (mode || takes_some(&a->layout, axis)))
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
