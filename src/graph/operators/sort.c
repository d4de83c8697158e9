/* L2 graph: sorting and searching (see families.h).
 *
 * A device with aclnnxSort makes values or indices only, partitions without sorting, and
 * sorts in place. Elsewhere CANN's Sort makes both, one of which is thrown away, and a
 * sorted array serves as a partitioned one.
 *
 * Sorting a non-canonical bool keeps its bytes; its result is then non-canonical as well.
 */
#include <stdio.h>
#include <string.h>

#include "aclnnop/aclnn_argmax.h"
#include "aclnnop/aclnn_argmin.h"
#include "aclnnop/aclnn_bincount.h"
#include "aclnnop/aclnn_searchsorted.h"
#include "aclnnop/aclnn_sort.h"
#include "array/views.h"
#include "graph/capture/capture.h"
#include "graph/small/direct.h"
#include "graph/operators/families.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/device/relative.h"
#include "graph/device/operator.h"
#include "runtime/device.h"
#include "graph/trace/trace.h"
#include "graph/ufunc/truth.h"

/* Both results of CANN's operator: values, in a's order in memory as NumPy's copy is, and
 * int64 indices, row-major. */
static asn_status sort_both(const asn_array *a, int axis, asn_array *values,
                            asn_array *indices) {
    asn_dtype dtype = asn_layout_dtype(&a->layout);
    ASN_TRY(asn_array_new_like(values, a, dtype, 'K'));
    asn_status status =
        asn_array_new(indices, ASN_I64, a->layout.ndim, a->layout.shape, 'C');
    if (status) {
        asn_array_fini(values);
        return status;
    }
    if (a->layout.size) {
        aclTensor *t[3];
        const asn_array *all[3] = {a, values, indices};
        status = asn_operator_tensors(3, all, 1 << 1 | 1 << 2, t);
        ASN_OPERATOR(status, Sort, "sort", t[0], true, axis, false, t[1], t[2]);
        asn_operator_drop(3, t);
    }
    if (status) {
        asn_array_fini(values);
        asn_array_fini(indices);
    }
    return status;
}

/* One call that makes values or indices only, for a device that has it; `what` of
 * ACLNNX_SORT_*. result: made, or a itself. */
static asn_status order_into(const asn_array *result, const asn_array *a, int axis,
                             int what, int num_kth, const int64_t *kth) {
    const char *name = what == ACLNNX_SORT_INDICES ? "argsort" : "sort";
    const asn_array *both[2] = {a, result};
    const int written = result == a ? 2 : 1;
    aclnnxOperand o[2];
    ASN_TRY(asn_relative_operands(2, both, written, o));
    if (!result->layout.size) return ASN_OK;
    ASN_TRY(asn_relative_begin(2, both, written, false));
    int code = asn_acl.aclnnxSort(&o[0], &o[1], a->layout.ndim, a->layout.shape, axis,
                                  what, num_kth, kth, asn_stream());
    return asn_relative_end(code, name, 2, both);
}

/* Whether aclnnxSort does it. It takes a few positions only; for more everything is
 * sorted. */
static bool has_order(int num_kth) {
    enum { MOST_KTH = 64 };
    return asn_fuse_enabled() && asn_acl.aclnnxSort && num_kth <= MOST_KTH;
}

/* The four functions below, which make their result. `what`: ACLNNX_SORT_INDICES,
 * ACLNNX_SORT_VALUES or ACLNNX_SORT_STABLE. CANN's operator is stable. */
static asn_status order(asn_array *result, const asn_array *a, int axis, int what,
                        int num_kth, const int64_t *kth) {
    const bool indices = what == ACLNNX_SORT_INDICES;
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status;
    if (has_order(num_kth)) {
        asn_dtype dtype = indices ? ASN_I64 : asn_layout_dtype(&a->layout);
        status = asn_array_new_like(result, a, dtype, indices ? 'C' : 'K');
        if (!status) {
            status = order_into(result, a, axis, what, num_kth, kth);
            if (status) asn_array_fini(result);
        }
    } else {
        asn_array other; /* sorted is partitioned for every kth */
        status = sort_both(a, axis, indices ? &other : result, indices ? result : &other);
        if (!status) asn_array_fini(&other);
    }
    asn_unlock();
    if (!status && !indices) asn_truth_follow(result, a);
    return status;
}

/* What a sort of values asks the device for. */
static int values_of(bool stable) {
    return stable ? ACLNNX_SORT_STABLE : ACLNNX_SORT_VALUES;
}

/* (Contract in families.h, as of the next three.) */
asn_status asn_sort(asn_array *result, const asn_array *a, int axis, bool stable) {
    return order(result, a, axis, values_of(stable), 0, NULL);
}

asn_status asn_argsort(asn_array *result, const asn_array *a, int axis) {
    return order(result, a, axis, ACLNNX_SORT_INDICES, 0, NULL);
}

asn_status asn_partition(asn_array *result, const asn_array *a, int axis, int num_kth,
                         const int64_t *kth) {
    return order(result, a, axis, ACLNNX_SORT_VALUES, num_kth, kth);
}

asn_status asn_argpartition(asn_array *result, const asn_array *a, int axis, int num_kth,
                            const int64_t *kth) {
    return order(result, a, axis, ACLNNX_SORT_INDICES, num_kth, kth);
}

/* One element of every line along the axis. */
static asn_status slab(asn_array *out, const asn_array *a, int axis, int64_t at) {
    asn_layout one;
    ASN_TRY(asn_layout_copy(&one, &a->layout));
    one.offset += at * one.strides[axis];
    one.shape[axis] = 1;
    asn_layout_update(&one);
    asn_array_view(out, a, &one);
    return ASN_OK;
}

/* The elements at these positions of what is sorted. */
static asn_status take_slabs(asn_array *result, const asn_array *sorted, int axis,
                             int num_kth, const int64_t *kth) {
    asn_status status = ASN_OK;
    for (int j = 0; j < num_kth && !status; j++) {
        asn_array from, to;
        status = slab(&from, sorted, axis, kth[j]);
        if (status) break;
        status = slab(&to, result, axis, j);
        if (!status) {
            asn_operand value = {.array = &from};
            status = asn_assign(&to, &value, ASN_CASTING_UNSAFE, NULL);
            asn_array_fini(&to);
        }
        asn_array_fini(&from);
    }
    return status;
}

/* The order statistics, with the library's lock held. */
static asn_status pick(asn_array *result, const asn_array *a, int axis, int num_kth,
                       const int64_t *kth) {
    int64_t shape[ASN_MAX_DIMS], extent = a->layout.shape[axis];
    for (int j = 0; j < num_kth; j++)
        if (kth[j] < (j ? kth[j - 1] : 0) || kth[j] >= extent)
            return asn_error_set(ASN_ERR_VALUE,
                                 "order statistics: position %lld is out of bounds "
                                 "(%lld) or does not ascend",
                                 (long long)kth[j], (long long)extent);
    memcpy(shape, a->layout.shape, (size_t)a->layout.ndim * sizeof *shape);
    shape[axis] = num_kth;
    ASN_TRY(
        asn_array_new(result, asn_layout_dtype(&a->layout), a->layout.ndim, shape, 'C'));
    asn_status status;
    if (has_order(num_kth)) {
        status = order_into(result, a, axis, ACLNNX_SORT_PICKED, num_kth, kth);
    } else {
        asn_array sorted;
        status = asn_sort(&sorted, a, axis, false);
        if (!status) {
            status = take_slabs(result, &sorted, axis, num_kth, kth);
            asn_array_fini(&sorted);
        }
    }
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) By selection where the device can, which is a few passes; by
 * a whole sort elsewhere. */
asn_status asn_order_statistics(asn_array *result, const asn_array *a, int axis,
                                int num_kth, const int64_t *kth) {
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status = pick(result, a, axis, num_kth, kth);
    asn_unlock();
    if (!status) asn_truth_follow(result, a);
    return status;
}

/* (Contract in families.h.) Without aclnnxSort: sorted elsewhere and copied back. */
asn_status asn_order_in_place(const asn_array *a, int axis, bool stable, int num_kth,
                              const int64_t *kth) {
    const int what = values_of(stable);
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status;
    if (!(a->layout.flags & ASN_WRITEABLE)) {
        status = asn_error_set(ASN_ERR_VALUE, "%s array is read-only",
                               num_kth ? "partition" : "sort");
    } else if (has_order(num_kth)) {
        status = order_into(a, a, axis, what, num_kth, kth);
    } else {
        asn_array ordered;
        status = order(&ordered, a, axis, what, num_kth, kth);
        if (!status) {
            asn_operand values = {.array = &ordered};
            status = asn_assign(a, &values, ASN_CASTING_UNSAFE, NULL);
            asn_array_fini(&ordered);
        }
    }
    asn_unlock();
    return status;
}

/* The positions of the extremes along one axis, with the library's lock held. NumPy's
 * error where the axis has no elements. */
static asn_status argreduce_axis(asn_array *result, const asn_array *a, int axis,
                                 bool keepdims, bool maximum) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < a->layout.ndim; d++)
        if (d != axis || keepdims) shape[ndim++] = d == axis ? 1 : a->layout.shape[d];
    if (a->layout.shape[axis] == 0)
        return asn_error_set(ASN_ERR_VALUE, "attempt to get %s of an empty sequence",
                             maximum ? "argmax" : "argmin");
    ASN_TRY(asn_array_new(result, ASN_I64, ndim, shape, 'C'));
    if (result->layout.size == 0) return ASN_OK;
    aclTensor *t[2];
    const asn_array *all[2] = {a, result};
    asn_status status = asn_operator_tensors(2, all, 1 << 1, t);
    if (maximum)
        ASN_OPERATOR(status, ArgMax, "argmax", t[0], axis, keepdims, t[1]);
    else
        ASN_OPERATOR(status, ArgMin, "argmin", t[0], axis, keepdims, t[1]);
    asn_operator_drop(2, t);
    if (status) asn_array_fini(result);
    return status;
}

/* a as one line: a view where its memory allows, else a copy. */
static asn_status flat_line(asn_array *line, const asn_array *a) {
    asn_layout flat;
    bool possible;
    int64_t size = a->layout.size;
    ASN_TRY(asn_view_reshape(&flat, &a->layout, 1, &size, 'C', &possible));
    if (possible) {
        asn_array_view(line, a, &flat);
        return ASN_OK;
    }
    asn_array packed;
    ASN_TRY(asn_copy(&packed, a, asn_layout_dtype(&a->layout), 'C'));
    asn_status status = asn_view_reshape(&flat, &packed.layout, 1, &size, 'C', &possible);
    if (!status) asn_array_view(line, &packed, &flat);
    asn_array_fini(&packed);
    return status;
}

/* Every extent 1: keepdims of a full reduction. Takes *result. */
static asn_status keep_dims(asn_array *result, int ndim) {
    int64_t ones[ASN_MAX_DIMS];
    asn_layout layout;
    asn_array kept;
    bool possible;
    for (int d = 0; d < ndim; d++)
        ones[d] = 1;
    asn_status status =
        asn_view_reshape(&layout, &result->layout, ndim, ones, 'C', &possible);
    if (!status) asn_array_view(&kept, result, &layout);
    asn_array_fini(result);
    if (!status) asn_array_move(result, &kept);
    return status;
}

/* (Contract in families.h.) Over the flattened array it is the same on a line. A
 * non-canonical bool is made canonical first, as its bytes would be compared. */
asn_status asn_argreduce(asn_array *result, const asn_array *a, int axis, bool keepdims,
                         bool maximum) {
    ASN_TRUTH_OF(a, asn_argreduce(result, &clean, axis, keepdims, maximum))
    if (axis >= 0 && axis == a->layout.ndim - 1 &&
        asn_direct_arg_rows(result, a, keepdims, !maximum))
        return ASN_OK;
    asn_array line;
    asn_lock();
    asn_status status;
    if (axis >= 0) {
        status = argreduce_axis(result, a, axis, keepdims, maximum);
    } else {
        status = flat_line(&line, a);
        if (!status) {
            status = argreduce_axis(result, &line, 0, false, maximum);
            asn_array_fini(&line);
        }
        if (!status && keepdims) status = keep_dims(result, a->layout.ndim);
    }
    asn_unlock();
    return status;
}

/* (Contract in families.h.) Positions are counted from the left, or with `right` behind
 * equal elements. */
asn_status asn_searchsorted(asn_array *result, const asn_array *sorted,
                            const asn_array *values, bool right) {
    asn_lock();
    asn_status status =
        asn_array_new(result, ASN_I64, values->layout.ndim, values->layout.shape, 'C');
    if (!status && values->layout.size) {
        aclTensor *t[3];
        const asn_array *all[3] = {sorted, values, result};
        status = asn_operator_tensors(3, all, 1 << 2, t);
        ASN_OPERATOR(status, SearchSorted, "searchsorted", t[0], t[1], false, right, NULL,
                     t[2]);
        asn_operator_drop(3, t);
        if (status) asn_array_fini(result);
    }
    asn_unlock();
    return status;
}

/* The smallest and the largest value of a non-empty integer array, in one pass. */
static asn_status extremes(const asn_array *x, int64_t *low, int64_t *high) {
    static const asn_op ops[2] = {ASN_OP_MINIMUM, ASN_OP_MAXIMUM};
    asn_array value[2];
    asn_scalar s, wide;
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE};
    ASN_TRY(asn_ufunc_reduce(ops[0], x, NULL, &value[0], &all));
    asn_status status = asn_ufunc_reduce(ops[1], x, NULL, &value[1], &all);
    int made = status ? 1 : 2;
    for (int k = 0; k < 2 && !status; k++) {
        status = asn_array_get_item(&value[k], 0, &s);
        if (!status) status = asn_scalar_cast(&s, ASN_I64, &wide);
        if (!status) memcpy(k ? high : low, wide.bytes, sizeof *low);
    }
    while (made)
        asn_array_fini(&value[--made]);
    return status;
}

/* NumPy's message for a negative element. */
static const char negative_element[] = "'list' argument must have no negative elements";

/* In a trace: the smallest (largest) value is no less (more) than `bound`, which is
 * checked at each replay. The comparison is captured like any other operation, in int64
 * so that the bound fits. */
static asn_status require_extreme(asn_op reduction, const asn_array *x, asn_op compare,
                                  int64_t bound, const char *message) {
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE};
    asn_array extreme, wide, holds;
    ASN_TRY(asn_ufunc_reduce(reduction, x, NULL, &extreme, &all));
    asn_status status = asn_copy(&wide, &extreme, ASN_I64, 'C');
    asn_array_fini(&extreme);
    ASN_TRY(status);
    asn_operand in[2] = {{.array = &wide},
                         {.scalar = asn_scalar_int(bound), .weak = 'i'}};
    status = asn_ufunc_call(compare, in, NULL, &holds, NULL);
    asn_array_fini(&wide);
    ASN_TRY(status);
    status = asn_capture_require(&holds, ASN_ERR_VALUE, message);
    asn_array_fini(&holds);
    return status;
}

/* The result of a trace has the length it was asked to have, whatever the values are; so
 * they must fit it at each replay. What the dtype rules out is not checked. */
static asn_status check_traced(const asn_array *x, int64_t minlength) {
    asn_dtype dtype = asn_layout_dtype(&x->layout);
    char message[160];
    int64_t most;
    if (!minlength)
        return asn_capture_refuse("the length of bincount's result depends on values "
                                  "(minlength, above all of them, says it)");
    if (!asn_is_unsigned_int(dtype))
        ASN_TRY(require_extreme(ASN_OP_MINIMUM, x, ASN_OP_GREATER_EQUAL, 0,
                                negative_element));
    most = dtype == ASN_U8 ? UINT8_MAX : dtype == ASN_U16 ? UINT16_MAX : INT64_MAX;
    if (most < minlength) return ASN_OK;
    (void)snprintf(message, sizeof message,
                   "bincount: an element is %lld or more, and the call was traced with "
                   "minlength=%lld; pass one that is above all elements",
                   (long long)minlength, (long long)minlength);
    return require_extreme(ASN_OP_MAXIMUM, x, ASN_OP_LESS, minlength, message);
}

/* The counts, with the library's lock held. The length depends on the values, so they are
 * read first, unless a trace cannot know them. */
static asn_status bincount_locked(asn_array *result, const asn_array *x,
                                  const asn_array *weights, int64_t minlength) {
    int64_t high = -1, low = 0;
    bool known = true;
    if (x->layout.size) ASN_TRY(asn_capture_known(x, &known));
    if (!known)
        ASN_TRY(check_traced(x, minlength));
    else if (x->layout.size)
        ASN_TRY(extremes(x, &low, &high));
    if (low < 0) return asn_error_set(ASN_ERR_VALUE, "%s", negative_element);
    int64_t n = high + 1 > minlength ? high + 1 : minlength;
    if (x->layout.size == 0) {
        asn_operand zero = {.scalar = asn_scalar_int(0), .weak = 'i'};
        return asn_full(result, ASN_I64, 1, &n, 'C', &zero); /* weights or not */
    }
    ASN_TRY(asn_array_new(result, weights ? ASN_F64 : ASN_I64, 1, &n, 'C'));
    aclTensor *t[3];
    const asn_array *all[3] = {x, weights, result};
    asn_status status = asn_operator_tensors(3, all, 1 << 2, t);
    ASN_OPERATOR(status, Bincount, "bincount", t[0], t[1], n, t[2]);
    asn_operator_drop(3, t);
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) A bool is counted as uint8. */
asn_status asn_bincount(asn_array *result, const asn_array *x, const asn_array *weights,
                        int64_t minlength) {
    if (asn_direct_bincount(result, x, weights, minlength)) return ASN_OK;
    asn_lock();
    asn_status status;
    if (asn_layout_dtype(&x->layout) == ASN_BOOL) {
        asn_array wide;
        status = asn_copy(&wide, x, ASN_U8, 'C');
        if (!status) {
            status = bincount_locked(result, &wide, weights, minlength);
            asn_array_fini(&wide);
        }
    } else {
        status = bincount_locked(result, x, weights, minlength);
    }
    asn_unlock();
    return status;
}
