/* CPU device, operators: views that are written out: StridedSlice, ConfusionTranspose.
 *
 * StridedSlice(self, begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask,
 * shrinkAxisMask, out) is TensorFlow's strided_slice, and so Python's indexing: entry i
 * of the lists is begin[i]:end[i]:strides[i] of the next dimension; by bit i of a mask
 * the beginning or the end is that of the dimension, the entry stands for all dimensions
 * that the others leave ("..."), it is a new dimension of extent 1, or the single
 * element begin[i], whose dimension goes.
 *
 * ConfusionTranspose(x, perm, shape, transposeFirst, y): transposed by perm, then of
 * another shape, or the other way around.
 */
#include <string.h>

#include "device/opapi/core/plan.h"

/* ---- StridedSlice */

/* The lists and masks of a call. */
typedef struct {
    const int64_t *begin, *end, *strides;
    int count;
    int64_t masks[5]; /* begin, end, ellipsis, new axis, shrink */
} slice_spec;

enum { BEGIN, END, ELLIPSIS, NEW_AXIS, SHRINK };

static bool has(const slice_spec *s, int mask, int i) {
    return s->masks[mask] >> i & 1;
}

/* Slices dimension `axis` of the view by entry i. */
static asn_status slice_entry(const asnd_call *c, const slice_spec *s, int i,
                              asnd_view *v, int axis) {
    int64_t n = v->shape[axis], step = s->strides[i], begin = s->begin[i], count;
    if (has(s, SHRINK, i)) {
        if (begin < 0) begin += n;
        if (begin < 0 || begin >= n)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: begin[%d] is %lld; there are %lld elements",
                                 c->op->name, i, (long long)s->begin[i], (long long)n);
        asn_view_slice(v, axis, begin, 1, 1);
        asn_view_drop(v, axis);
        return ASN_OK;
    }
    if (step == 0 || step == INT64_MIN)
        return asn_error_set(ASN_ERR_VALUE, "%s: strides[%d] is %lld", c->op->name, i,
                             (long long)step);
    /* Backwards the dimension is flipped, and positions count from its other end. */
    int64_t end = s->end[i];
    begin = begin < 0 ? begin + n : begin;
    end = end < 0 ? end + n : end;
    if (step < 0) {
        asn_view_flip(v, axis);
        begin = n - 1 - (begin < -1 ? -1 : begin > n ? n : begin);
        end = n - 1 - (end < -1 ? -1 : end > n ? n : end);
        step = -step;
    }
    begin = has(s, BEGIN, i) || begin < 0 ? 0 : begin > n ? n : begin;
    end = has(s, END, i) || end > n ? n : end;
    count = end > begin ? (end - begin - 1) / step + 1 : 0;
    asn_view_slice(v, axis, begin, count, step);
    return ASN_OK;
}

/* Masks may name entries that are there alone, and one ellipsis. */
static asn_status check_spec(const asnd_call *c, const slice_spec *s, int ndim) {
    int used = 0, ellipses = 0;
    for (int i = 0; i < s->count; i++) {
        ellipses += has(s, ELLIPSIS, i);
        used += !has(s, ELLIPSIS, i) && !has(s, NEW_AXIS, i);
    }
    if (ellipses <= 1 && used <= ndim && s->count - used + ndim <= ASN_ND_MAX_DIMS)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %d entries slice self, which has %d dimensions, with %d "
                         "ellipses; there may be one",
                         c->op->name, used, ndim, ellipses);
}

asn_status asn_planner_strided_slice(asnd_call *c) {
    const asnd_array *lists[3];
    slice_spec s;
    asnd_view v;
    asn_view_set(&v, asn_call_nd(c, 0));
    for (int i = 0; i < 3; i++) {
        lists[i] = asn_call_array(c, 1 + i);
        if (lists[i]->size != lists[0]->size || lists[i]->size > 2 * ASN_ND_MAX_DIMS)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: begin, end and strides have %llu, %llu and %llu "
                                 "entries",
                                 c->op->name, (unsigned long long)lists[0]->size,
                                 (unsigned long long)asn_call_array(c, 2)->size,
                                 (unsigned long long)asn_call_array(c, 3)->size);
    }
    s.begin = lists[0]->data;
    s.end = lists[1]->data;
    s.strides = lists[2]->data;
    s.count = (int)lists[0]->size;
    for (int i = 0; i < 5; i++)
        s.masks[i] = asn_call_int(c, 4 + i);
    ASN_TRY(check_spec(c, &s, v.nd.ndim));
    int axis = 0;
    for (int i = 0; i < s.count; i++) {
        if (has(&s, ELLIPSIS, i)) {
            int behind = 0; /* dimensions that later entries slice */
            for (int k = i + 1; k < s.count; k++)
                behind += !has(&s, NEW_AXIS, k);
            axis = v.nd.ndim - behind;
        } else if (has(&s, NEW_AXIS, i)) {
            asn_view_insert(&v, axis++, 1, 0);
        } else {
            ASN_TRY(slice_entry(c, &s, i, &v, axis));
            axis += !has(&s, SHRINK, i);
        }
    }
    return asn_plan_move(c, 0, &v, 9);
}

/* ---- ConfusionTranspose */

/* shape: between the two steps: of x transposed, or of x reshaped. */
typedef struct {
    asnd_plan_head head;
    int in, out, ndim, axes[ASN_ND_MAX_DIMS];
    bool first; /* transposed first */
    int64_t shape[ASN_ND_MAX_DIMS];
} confusion_plan;

static asn_status confusion_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const confusion_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->in), *out = asn_exec_nd(e, p->out);
    asnd_view v, packed;
    asn_view_set(&v, in);
    if (p->first) {
        asn_view_permute(&v, p->axes);
        ASN_TRY(asn_tmp_view(tmp, in->dtype, v.nd.ndim, v.shape, &packed));
        ASN_TRY(asn_move(&packed.nd, &v.nd));
        asn_view_plain(&v, in->dtype, out->ndim, out->shape, packed.nd.data);
        return asn_move(out, &v.nd);
    }
    char *data = in->data;
    if (!asn_nd_is_contiguous(in)) {
        ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &packed));
        ASN_TRY(asn_move(&packed.nd, in));
        data = packed.nd.data;
    }
    asn_view_plain(&v, in->dtype, p->ndim, p->shape, data);
    asn_view_permute(&v, p->axes);
    return asn_move(out, &v.nd);
}

asn_status asn_planner_confusion_transpose(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    const asnd_array *perm = asn_call_array(c, 1), *shape = asn_call_array(c, 2);
    const int64_t *extents = shape->data;
    bool first = asn_call_int(c, 3) != 0;
    int64_t size = 1, permuted[ASN_ND_MAX_DIMS];
    uint64_t ndim = first ? (uint64_t)x->ndim : shape->size, seen = 0;
    if (perm->size != ndim || ndim > ASN_ND_MAX_DIMS || shape->size > ASN_ND_MAX_DIMS)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: perm names %llu dimensions; there are %llu", c->op->name,
            (unsigned long long)perm->size, (unsigned long long)ndim);
    for (uint64_t d = 0; d < shape->size; d++)
        if (extents[d] < 0 || __builtin_mul_overflow(size, extents[d], &size)) size = -1;
    if (size != asn_nd_size(x))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: shape must have the %lld elements that x has",
                             c->op->name, (long long)asn_nd_size(x));
    int axes[ASN_ND_MAX_DIMS] = {0};
    for (int d = 0; d < (int)ndim; d++) {
        ASN_TRY(asn_call_axis(c, ((const int64_t *)perm->data)[d], (int)ndim, &axes[d]));
        if (seen >> axes[d] & 1)
            return asn_error_set(ASN_ERR_VALUE, "%s: perm names dimension %d twice",
                                 c->op->name, axes[d]);
        seen |= UINT64_C(1) << axes[d];
        permuted[d] = first ? 0 : extents[axes[d]];
    }
    ASN_TRY(asn_call_same_shape(c, 4, (int)shape->size, first ? extents : permuted));
    ASN_TRY(asn_call_same_dtype(c, 0, 4));
    if (asn_call_operand(c, 4)->is_empty) return ASN_OK;
    confusion_plan *p =
        asn_call_plan(c, confusion_body, sizeof *p, 200 + 2 * (double)size);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[4];
    p->ndim = (int)shape->size;
    p->first = first;
    memcpy(p->axes, axes, sizeof axes);
    memcpy(p->shape, extents, (size_t)p->ndim * sizeof *p->shape);
    return ASN_OK;
}
