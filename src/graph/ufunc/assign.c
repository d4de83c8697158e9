/* L2 graph: assignment, copies, fills: every movement of values between arrays that is
 * element for element.
 *
 * A copy is a node like any other: it fuses with what computed its source. Overlapping
 * source and destination go through a temporary, or from the right end, so that a[1:] =
 * a[:-1] reads what was there before. */
#include <string.h>

#include "array/broadcast.h"
#include "array/views.h"
#include "graph/engine.h"
#include "graph/small/direct.h"
#include "graph/ufunc/ufunc.h"
#include "graph/ufunc/operands.h"
#include "graph/ufunc/truth.h"

/* NumPy's errors for a destination that is read-only, or that the value does not cast to.
 */
static asn_status check_target(const asn_array *dst, const asn_operand *src,
                               asn_casting casting) {
    if (!(dst->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "assignment destination is read-only");
    asn_type types[2] = {{dst->layout.dtype, 0}, asn_operand_type(src)};
    asn_dtype to = asn_layout_dtype(&dst->layout);
    asn_dtype from =
        types[1].weak ? asn_result_type(2, types) : (asn_dtype)types[1].dtype;
    if (!asn_can_cast(from, to, casting))
        return asn_error_set(ASN_ERR_TYPE,
                             "Cannot cast array data from dtype('%s') to dtype('%s') "
                             "according to the rule '%s'",
                             asn_dtype_name(from), asn_dtype_name(to),
                             asn_casting_name(casting));
    return ASN_OK;
}

/* NumPy lets a source have extra leading axes of extent 1. */
static asn_status check_shapes(const asn_array *dst, const asn_array *src,
                               asn_layout *trimmed) {
    int64_t strides[ASN_MAX_DIMS];
    const asn_layout *l = &src->layout;
    uint64_t mask = 0;
    int extra = l->ndim - dst->layout.ndim;
    for (int d = 0; d < extra && l->shape[d] == 1; d++)
        mask |= (uint64_t)1 << d;
    ASN_TRY(asn_view_squeeze(trimmed, l, mask));
    if (asn_broadcast_strides(trimmed, dst->layout.ndim, dst->layout.shape, strides))
        return ASN_OK;
    asn_layout_fini(trimmed);
    char from[256], to[256];
    return asn_error_set(
        ASN_ERR_VALUE, "could not broadcast input array from shape %s into shape %s",
        asn_shape_format(from, sizeof from, l->ndim, l->shape),
        asn_shape_format(to, sizeof to, dst->layout.ndim, dst->layout.shape));
}

/* The value is what already lies there: the second half of a[1:] += x, which Python
 * spells as a call and an assignment. */
static bool is_itself(const asn_array *dst, const asn_operand *src) {
    if (!src->array || src->array->buffer != dst->buffer) return false;
    const asn_layout *a = &src->array->layout, *b = &dst->layout;
    return a->offset == b->offset && a->dtype == b->dtype &&
           asn_layout_same_shape(a, b) &&
           !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides);
}

/* Records dst[...] = src, under a mask if there is one: the selection then reads dst for
 * the elements that stay. Shapes are checked. */
static asn_status submit_copy(const asn_array *dst, const asn_operand *src,
                              const asn_array *where) {
    asn_draft d;
    asn_dtype to = asn_layout_dtype(&dst->layout);
    asn_dtype from = src->array ? asn_layout_dtype(&src->array->layout) : to;
    asn_draft_init(&d, where ? ASN_OP_WHERE : ASN_OP_COPY, where ? to : from,
                   dst->layout.ndim, dst->layout.shape);
    asn_draft_array(&d, &d.node.out, dst);
    if (where) {
        int64_t strides[ASN_MAX_DIMS];
        if (!asn_broadcast_strides(&where->layout, dst->layout.ndim, dst->layout.shape,
                                   strides)) {
            char from_text[256], to_text[256];
            return asn_error_set(
                ASN_ERR_VALUE,
                "could not broadcast where mask from shape %s into shape %s",
                asn_shape_format(from_text, sizeof from_text, where->layout.ndim,
                                 where->layout.shape),
                asn_shape_format(to_text, sizeof to_text, dst->layout.ndim,
                                 dst->layout.shape));
        }
        asn_draft_array(&d, &d.node.in[0], where);
        ASN_TRY(asn_draft_operand(&d, &d.node.in[1], src, to));
        asn_draft_array(&d, &d.node.in[2], dst);
    } else {
        ASN_TRY(asn_draft_operand(&d, &d.node.in[0], src, to));
    }
    if (d.node.size == 0) return ASN_OK;
    /* what is overwritten before it is read is copied first; if it is both, in two turns
     */
    bool mask_hazard = where && asn_draft_hazard(&d, &d.node.in[0]);
    bool value_hazard = asn_draft_hazard(&d, &d.node.in[where ? 1 : 0]);
    if (!mask_hazard && !value_hazard) return asn_trace_submit(&d);
    if (!where && asn_direct_shift(dst, src->array)) return ASN_OK;
    asn_array temp;
    asn_operand value = *src;
    ASN_TRY(asn_copy(&temp, mask_hazard ? where : src->array,
                     mask_hazard ? asn_layout_dtype(&where->layout) : from, 'K'));
    if (mask_hazard)
        where = &temp;
    else
        value.array = &temp;
    asn_status status = submit_copy(dst, &value, where);
    asn_array_fini(&temp);
    return status;
}

/* (Contract in ufunc.h.) Few elements are copied at once; a number is recorded as an
 * immediate; leading axes of extent 1 that dst lacks are cut off, NumPy's rule for
 * assignments alone. */
asn_status asn_assign(const asn_array *dst, const asn_operand *src, asn_casting casting,
                      const asn_array *where) {
    if (!where && asn_direct_assign(dst, src)) return ASN_OK;
    if (src->array)
        ASN_TRUTH_OF(src->array,
                     asn_assign(dst, &(asn_operand){.array = &clean}, casting, where))
    ASN_TRY(check_target(dst, src, casting));
    if (is_itself(dst, src)) return ASN_OK;
    if (!src->array) return submit_copy(dst, src, where);
    asn_layout trimmed;
    ASN_TRY(check_shapes(dst, src->array, &trimmed));
    asn_array view;
    asn_array_view(&view, src->array, &trimmed);
    asn_operand value = {.array = &view};
    asn_status status = submit_copy(dst, &value, where);
    asn_array_fini(&view);
    return status;
}

/* (Contract in ufunc.h.) A copy of a non-canonical bool as bool keeps its bytes. */
asn_status asn_copy(asn_array *result, const asn_array *a, asn_dtype dtype, char order) {
    if ((order != 'F' || a->layout.ndim <= 1) && asn_direct_copy(result, a, dtype))
        return ASN_OK;
    asn_array clean;
    bool raw = asn_is_noncanonical(a) && dtype != ASN_BOOL;
    if (raw) ASN_TRY(asn_truth_clean(&clean, a));
    asn_operand value = {.array = raw ? &clean : a};
    asn_status status = asn_array_new_like(result, a, dtype, order);
    if (!status) {
        if (!asn_direct_assign(result, &value))
            status = submit_copy(result, &value, NULL);
        if (status)
            asn_array_fini(result);
        else if (!raw)
            asn_truth_follow(result, a);
    }
    if (raw) asn_array_fini(&clean);
    return status;
}

asn_status asn_full(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                    char order, const asn_operand *value) {
    /* A Python integer is checked against dtype below; 0 and 1 fit all. */
    bool fits = !value->weak || (value->weak == 'i' && value->scalar.bytes[0] <= 1 &&
                                 !memcmp(value->scalar.bytes + 1, "\0\0\0\0\0\0", 7));
    if (order == 'C' && !value->array && fits &&
        asn_direct_full(result, dtype, ndim, shape, &value->scalar))
        return ASN_OK;
    ASN_TRY(asn_array_new(result, dtype, ndim, shape, order));
    asn_status status = asn_assign(result, value, ASN_CASTING_UNSAFE, NULL);
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) One selection over the broadcast shape. */
asn_status asn_where(asn_array *result, const asn_array *condition, const asn_operand *x,
                     const asn_operand *y) {
    asn_type types[2] = {asn_operand_type(x), asn_operand_type(y)};
    asn_dtype dtype = asn_result_type(2, types);
    asn_operand in[3] = {{.array = condition}, *x, *y};
    /* NumPy's where casts an integer that does not fit: no error, its low bytes. */
    for (int k = 1; k < 3; k++) {
        if (in[k].array || in[k].weak != 'i' || !asn_is_integer(dtype)) continue;
        const asn_scalar given = in[k].scalar;
        ASN_TRY(asn_scalar_convert(&given, dtype, &in[k].scalar));
        in[k].weak = 0;
    }
    if (asn_direct_call(ASN_OP_WHERE, in, NULL, result)) return ASN_OK;
    for (int k = 0; k < 3; k++)
        if (in[k].array)
            ASN_TRUTH_OF(in[k].array, (in[k].array = &clean,
                                       asn_where(result, in[0].array, &in[1], &in[2])))
    const asn_layout *layouts[3];
    int num = 0, ndim;
    int64_t shape[ASN_MAX_DIMS];
    for (int k = 0; k < 3; k++)
        if (in[k].array) layouts[num++] = &in[k].array->layout;
    ASN_TRY(asn_broadcast_shape(num, layouts, &ndim, shape));
    ASN_TRY(asn_result_new(result, dtype, ndim, shape, 'K', 3, in));
    asn_draft d;
    asn_draft_init(&d, ASN_OP_WHERE, dtype, ndim, shape);
    asn_draft_array(&d, &d.node.out, result);
    asn_status status = ASN_OK;
    for (int k = 0; k < 3 && !status; k++)
        status = asn_draft_operand(&d, &d.node.in[k], &in[k], k == 0 ? ASN_BOOL : dtype);
    if (!status && d.node.size) status = asn_trace_submit(&d);
    if (status) asn_array_fini(result);
    return status;
}
