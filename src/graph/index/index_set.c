/* L2 graph: writing through an index (see index.h; index.c reads): a[...] = v and
 * ufunc.at.
 *
 * With a basic index it is an assignment to a view. With an advanced one it is CANN's
 * IndexPutImpl on the planned base, of the value broadcast to the shape that reading
 * would have and turned to the base's axes. One value under a mask is an elementwise
 * selection and stays in the trace; one for each true element is MaskedScatter. `at` is
 * the engine's own operator where it has the operation, else one element after another.
 *
 * CANN's operators write tensors, whose elements lie whole strides apart: an array whose
 * strides are no multiples of its elements is written by way of a copy. */
#include <string.h>

#include "aclnnop/aclnn_index_put_impl.h"
#include "aclnnop/aclnn_masked_scatter.h"
#include "array/broadcast.h"
#include "array/views.h"
#include "graph/small/direct.h"
#include "graph/operators/families.h"
#include "graph/index/index_plan.h"
#include "graph/device/item_strides.h"
#include "graph/fp.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/ufunc/operands.h"
#include "graph/device/relative.h"
#include "graph/streams.h"
#include "graph/ufunc/truth.h"

/* Values of a dtype, apart from a's memory: themselves, if they are that, else a copy in
 * `order` ('K': any). */
static asn_status values_for(asn_array *out, const asn_array *values, const asn_array *a,
                             asn_dtype dtype, char order) {
    bool as_is = asn_layout_dtype(&values->layout) == dtype &&
                 (order == 'K' || values->layout.flags & ASN_C_CONTIGUOUS) &&
                 !asn_buffers_alias(values->buffer, a->buffer);
    return as_is ? asn_array_share(out, values) : asn_copy(out, values, dtype, order);
}

/* The value broadcast to the result's shape, as a view whose axes are (arrays' shape,
 * rest), of the target's dtype. ValueError: it does not broadcast. Leading axes of extent
 * 1 past the result's are dropped, as NumPy drops them. */
static asn_status spread_value(const asn_index_plan *p, const asn_operand *value,
                               asn_dtype dtype, asn_array *out) {
    int64_t gathered[2 * ASN_MAX_DIMS], shape[2 * ASN_MAX_DIMS];
    int ndim = asn_index_plan_shape(p, gathered), perm[2 * ASN_MAX_DIMS],
        back[2 * ASN_MAX_DIMS];
    /* reading's axis i is axis perm[i] of (arrays' shape, rest); `back` is the inverse.
     */
    asn_index_plan_placement(p, ndim, perm);
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

/* By the device; indices are checked, also where there is nothing to write. */
static asn_status scatter(const asn_index_plan *p, const asn_operand *value) {
    asn_array values;
    ASN_TRY(spread_value(p, value, asn_layout_dtype(&p->base.layout), &values));
    asn_status status = ASN_OK;
    if (values.layout.size) {
        aclTensor *t[2] = {NULL, NULL};
        aclTensorList *list = NULL;
        const asn_array *all[2] = {&p->base, &values};
        status = asn_operator_tensors(2, all, 1 << 0, t);
        if (!status) status = asn_index_plan_tensors(p, &list);
        bool made = !status;
        ASN_OPERATOR(status, IndexPutImpl, "index assignment", t[0], list, t[1], false,
                     false);
        if (made) status = asn_index_plan_failure(p, status);
        asn_operator_drop_list(list);
        asn_operator_drop(2, t);
    } else {
        status = asn_index_plan_check(p);
    }
    asn_array_fini(&values);
    return status;
}

/* a[mask] = values, one for each true element in row-major order; ValueError for another
 * number. Values of any dtype that casts. */
static asn_status scatter_masked(const asn_array *a, const asn_array *mask,
                                 const asn_array *values) {
    int64_t n;
    ASN_TRY(asn_index_count_true(mask, &n));
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
                             const asn_operand *value);

/* What no operator can write: by way of a copy, which is assigned back whole. */
static asn_status set_in_copy(const asn_array *a, int n, const asn_index_item *items,
                              const asn_operand *value) {
    asn_array copy;
    ASN_TRY(asn_copy(&copy, a, asn_layout_dtype(&a->layout), 'C'));
    asn_status status = set_locked(&copy, n, items, value);
    if (!status)
        status = asn_assign(a, &(asn_operand){.array = &copy}, ASN_CASTING_UNSAFE, NULL);
    asn_array_fini(&copy);
    return status;
}

/* The lock is held. */
static asn_status set_locked(const asn_array *a, int n, const asn_index_item *items,
                             const asn_operand *value) {
    if (!(a->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "assignment destination is read-only");
    bool single = !value->array || value->array->layout.ndim == 0;
    if (asn_index_is_full_mask(a, n, items) && single)
        /* One value: where(mask, value, a), in place and recorded. */
        return asn_assign(a, value, ASN_CASTING_UNSAFE, items[0].array);
    /* One for each true element; a single element of one axis broadcasts instead, by the
     * plan. */
    if (asn_index_is_full_mask(a, n, items) && value->array->layout.ndim == 1 &&
        value->array->layout.size != 1 &&
        !asn_buffers_alias(items[0].array->buffer, a->buffer) &&
        !asn_items_apart(&a->layout))
        return scatter_masked(a, items[0].array, value->array);
    asn_index_plan p;
    ASN_TRY(asn_index_plan_make(&p, a, n, items));
    asn_status status =
        !p.num_arrays ? asn_assign(&p.base, value, ASN_CASTING_UNSAFE, NULL)
        : asn_items_apart(&p.base.layout) ? set_in_copy(a, n, items, value)
                                          : scatter(&p, value);
    asn_index_plan_fini(&p);
    return status;
}

asn_status asn_index_set(const asn_array *a, int n, const asn_index_item *items,
                         const asn_operand *value) {
    if (n == 1 && asn_index_holds_array(items) &&
        asn_direct_index_set(a, items->array, value))
        return ASN_OK;
    /* A non-canonical bool value is replaced by its canonical one. */
    if (value->array)
        ASN_TRUTH_OF(value->array,
                     asn_index_set(a, n, items, &(asn_operand){.array = &clean}))
    asn_lock();
    asn_status status = set_locked(a, n, items, value);
    asn_unlock();
    return status;
}

/* ---- at */

/* How many elements the index names. */
static int64_t count_places(const asn_index_plan *p) {
    int64_t n = 1;
    for (int d = 0; d < p->ndim; d++)
        n *= p->shape[d];
    return n;
}

/* One indexed element after the other, through views: any operation on any device. Each
 * index is read on the host, so it is slow, and only for what the device has no operator
 * for. values NULL: a unary operation. */
static asn_status at_by_elements(asn_op op, const asn_index_plan *p,
                                 const asn_array *values) {
    const int64_t n = count_places(p);
    int64_t index[ASN_MAX_DIMS] = {0};
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
        /* The next place of the arrays' shape, in row-major order. */
        for (int d = p->ndim - 1; d >= 0 && ++index[d] == p->shape[d]; d--)
            index[d] = 0;
    }
    return ASN_OK;
}

/* By the device's operator, which knows repeated indices: each counts. It is launched at
 * once, not recorded. */
static asn_status at_fused(asn_op op, const asn_index_plan *p, const asn_array *values) {
    const int num = p->num_arrays;
    const asn_array *all[ASN_MAX_DIMS + 2];
    aclnnxOperand o[ASN_MAX_DIMS + 2];
    for (int i = 0; i < num; i++)
        all[i] = &p->arrays[i];
    all[num] = values;
    all[num + 1] = &p->base;
    ASN_TRY(asn_relative_operands(num + 2, all, 1, o));
    ASN_TRY(asn_relative_begin(num + 2, all, 1, false));
    /* Loops of single elements raise for a NaN what NumPy's extremes do not report. */
    bool quiet = asn_op_table[op].flags & ASN_OPF_EXTREME;
    uint32_t *sink = quiet ? NULL : asn_fp_sink();
    int code = asn_acl.aclnnxUpdateAt(asn_device_opcode((uint16_t)op), &o[num + 1],
                                      p->base.layout.ndim, p->base.layout.shape, num, o,
                                      p->ndim, p->shape, &o[num], sink, asn_stream());
    asn_fp_note(asn_op_table[op].name);
    return asn_index_plan_failure(p, code ? asn_acl_failed(code, asn_op_table[op].name)
                                          : ASN_OK);
}

/* Whether the device computes in `loop` where the elements have another dtype: it casts
 * each one there and back. */
static bool computes_apart(asn_op op, asn_dtype loop) {
    return !asn_is_half(loop) && asn_op_operand(op, 0, loop) == loop &&
           asn_op_operand(op, 1, loop) == loop;
}

/* (Contract in index.h.) NumPy resolves the loop for a's dtype and the value's, by its
 * weak rule for numbers. */
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
        if (!status && value && op == ASN_OP_POWER && count_places(&p))
            status = asn_exponents_check(value, NULL, loop);
        if (!status && value)
            status = spread_value(&p, value, asn_op_operand(op, 1, loop), &values);
        /* NumPy's at looks at the indices first, unlike its assignment. */
        if (status == ASN_ERR_VALUE) status = asn_index_plan_failure(&p, status);
        if (!status) {
            bool direct = value && asn_fuse_enabled() && asn_acl.aclnnxUpdateAt &&
                          asn_op_result(op, loop) == loop && p.num_arrays &&
                          (loop == dtype || computes_apart(op, loop));
            status = direct ? at_fused(op, &p, &values)
                            : at_by_elements(op, &p, value ? &values : NULL);
            if (value) asn_array_fini(&values);
        }
        asn_index_plan_fini(&p);
    }
    asn_unlock();
    return status;
}
