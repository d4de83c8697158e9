/* L2 graph: ufunc.accumulate, ufunc.reduceat, and reductions slice by slice (ufunc.h).
 *
 * On a device with aclnnxScan an accumulation is one call. Elsewhere sums and products
 * are CANN's Cumsum and Cumprod where it documents the dtype. What else is associative to
 * the last bit takes log2(n) operations over the whole array: r[k:] = op(r[:-k], r[k:])
 * for k = 1, 2, 4, ... Any other operation goes slice by slice along the axis, each slice
 * one operation over all the others.
 *
 * The last two work in place on a copy: operations whose operands overlap their result
 * are as if the operands were copied first (ufunc.h).
 *
 * reduceat is one reduction per segment; those of a vector that are short enough for a
 * single loop are one call of the CPU device. A reduction under where= by an operation
 * that no element leaves as it was (subtract, power, less) goes slice by slice, too. */
#include <string.h>

#include "aclnnop/aclnn_cumprod.h"
#include "aclnnop/aclnn_cumsum.h"
#include "array/views.h"
#include "graph/device/cann.h"
#include "graph/fp.h"
#include "graph/opcodes.h"
#include "graph/small/binding.h"
#include "graph/small/small_call.h"
#include "graph/lock.h"
#include "graph/device/relative.h"
#include "graph/profile_events.h"
#include "graph/ufunc/truth.h"
#include "graph/ufunc/operands.h"
#include "graph/device/operator.h"
#include "runtime/device.h"

/* The dtype to compute in, given a's, dtype= and that of out= (NONE: none; NumPy's
 * default is the operation's on out and a, without out sums and products of small
 * integers widen). An operation whose result is bool accumulates in
 * bool if it is one of truth values, and is refused otherwise. */
static asn_status scan_dtype(asn_op op, asn_dtype in, asn_dtype wish,
                             const asn_array *out, asn_dtype *loop) {
    const asn_op_info *info = &asn_op_table[op];
    if (info->num_in != 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "accumulate only supported for binary functions");
    const bool given = wish == ASN_DTYPE_NONE && out && info->out_dtype != ASN_BOOL;
    if (wish == ASN_DTYPE_NONE && !out && info->flags & ASN_OPF_WIDENS &&
        !asn_is_inexact(in) && asn_itemsize(in) < 8)
        wish = asn_is_unsigned_int(in) ? ASN_U64 : ASN_I64;
    asn_dtype from = wish != ASN_DTYPE_NONE ? wish : in;
    asn_type types[2] = {{given ? out->layout.dtype : (uint8_t)from, 0},
                         {(uint8_t)from, 0}};
    ASN_TRY(asn_op_resolve(op, types, ASN_DTYPE_NONE, ASN_CASTING_SAME_KIND, loop));
    asn_dtype result = asn_op_result(op, *loop);
    if (result == ASN_BOOL && *loop != ASN_BOOL) {
        if (!(info->flags & ASN_OPF_TRUTH))
            return asn_error_set(
                ASN_ERR_NO_LOOP,
                "the resolved dtypes are not compatible with %s.accumulate. "
                "Resolved (dtype('bool'), dtype('%s'), dtype('bool'))",
                info->name, asn_dtype_name(from));
        *loop = ASN_BOOL;
    }
    return ASN_OK;
}

/* The slice [at, at + extent) of an axis; extent -1: the axis is removed. */
static asn_status slab(asn_array *out, const asn_array *a, int axis, int64_t at,
                       int64_t extent) {
    if (extent >= 0) return asn_array_range(out, a, axis, at, extent);
    asn_array one;
    asn_layout squeezed;
    ASN_TRY(asn_array_range(&one, a, axis, at, 1));
    asn_status status = asn_view_squeeze(&squeezed, &one.layout, (uint64_t)1 << axis);
    if (!status) asn_array_view(out, a, &squeezed);
    asn_array_fini(&one);
    return status;
}

/* `now` = op(`before`, `now`), two parts of a line: takes both, `now` if `status`, that
 * of making it, is good. */
static asn_status combine(asn_op op, asn_array *before, asn_status status,
                          asn_array *now) {
    if (!status) {
        asn_operand in[2] = {{.array = before}, {.array = now}};
        asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
        plain.casting = ASN_CASTING_UNSAFE;
        status = asn_ufunc_call(op, in, now, NULL, &plain);
        asn_array_fini(now);
    }
    asn_array_fini(before);
    return status;
}

/* r[i] = op(r[i - 1], r[i]) along the axis, in place. */
static asn_status scan_by_slices(asn_op op, const asn_array *a, int axis) {
    for (int64_t i = 1; i < a->layout.shape[axis]; i++) {
        asn_array before, now;
        ASN_TRY(slab(&before, a, axis, i - 1, -1));
        ASN_TRY(combine(op, &before, slab(&now, a, axis, i, -1), &now));
    }
    return ASN_OK;
}

/* Halves are rounded after every step, which no operator promises. */
static bool has_operator(asn_op op, asn_dtype loop) {
    return (op == ASN_OP_ADD || op == ASN_OP_MULTIPLY) && !asn_is_half(loop) &&
           loop != ASN_BOOL &&
           asn_cann_place_of(op == ASN_OP_ADD ? "Cumsum" : "Cumprod", loop) ==
               ASN_PLACE_DEVICE;
}

/* CANN's Cumsum or Cumprod, from `a` into out of the same shape. */
static asn_status scan_operator(asn_op op, const asn_array *a, const asn_array *out,
                                int axis) {
    aclTensor *t[2] = {NULL, NULL};
    aclDataType dtype = (aclDataType)asn_dtype_table[out->layout.dtype].acl;
    int32_t dim = axis;
    asn_lock();
    const asn_array *all[2] = {a, out};
    asn_status status = asn_operator_tensors(2, all, 1 << 1, t);
    if (ASN_PROFILING && !status)
        asn_record_work(a->layout.size *
                        asn_flops_of(op, asn_layout_dtype(&out->layout)));
    if (op == ASN_OP_ADD) {
        ASN_OPERATOR(status, Cumsum, "cumsum", t[0], (int64_t)axis, dtype, t[1]);
    } else {
        aclScalar *scalar = status ? NULL : asn_operator_scalar(&dim, ACL_INT32);
        if (!status && !scalar) status = ASN_ERR_MEMORY;
        ASN_OPERATOR(status, Cumprod, "cumprod", t[0], scalar, dtype, t[1]);
        asn_operator_drop_scalar(scalar);
    }
    asn_operator_drop(2, t);
    asn_unlock();
    return status;
}

/* Whether the order of operations cannot be seen; of a multiple that wraps it can. */
static bool is_exact(asn_op op, asn_dtype loop) {
    const uint16_t flags = asn_op_table[op].flags;
    return flags & ASN_OPF_ASSOCIATIVE && op != ASN_OP_LCM &&
           (!(flags & ASN_OPF_WIDENS) || !asn_is_inexact(loop));
}

/* In place: after the turn of k every element is the result of the up to 2 k elements
 * that end there. */
static asn_status scan_by_doubling(asn_op op, const asn_array *a, int axis) {
    int64_t n = a->layout.shape[axis];
    for (int64_t k = 1; k < n; k *= 2) {
        asn_array before, now;
        ASN_TRY(slab(&before, a, axis, 0, n - k));
        ASN_TRY(combine(op, &before, slab(&now, a, axis, k, n - k), &now));
    }
    return ASN_OK;
}

/* `in` may be `out`, of the same shape and dtype. */
static asn_status scan_fused(asn_op op, const asn_array *in, const asn_array *out,
                             int axis) {
    const asn_array *both[2] = {in, out};
    aclnnxOperand o[2];
    asn_lock();
    asn_status status = asn_relative_operands(2, both, 1, o);
    if (!status) status = asn_relative_begin(2, both, 1, false);
    if (!status) {
        int code = asn_acl.aclnnxScan(asn_device_opcode((uint16_t)op), &o[0], &o[1],
                                      out->layout.ndim, out->layout.shape, axis,
                                      asn_fp_sink(), asn_stream());
        asn_fp_note("accumulate");
        status = asn_relative_end(code, asn_op_table[op].name, 2, both);
    }
    asn_unlock();
    return status;
}

/* (Contract in ufunc.h.) `straight`: the operator reads `a` itself, else a copy in the
 * dtype computed in, over which it then runs in place. out gets a copy of the result. */
asn_status asn_ufunc_accumulate(asn_op op, const asn_array *a, int axis, asn_dtype dtype,
                                const asn_array *out, asn_array *result) {
    if (a->layout.ndim == 0)
        return asn_error_set(ASN_ERR_TYPE, "cannot accumulate on a scalar");
    ASN_TRUTH_OF(a, asn_ufunc_accumulate(op, &clean, axis, dtype, out, result))
    asn_dtype loop;
    ASN_TRY(scan_dtype(op, asn_layout_dtype(&a->layout), dtype, out, &loop));
    if (op == ASN_OP_POWER) ASN_TRY(asn_exponents_check_line(a, axis, 1, loop));
    asn_array running;
    ASN_TRY(asn_device_open());
    bool fused = asn_fuse_enabled() && asn_acl.aclnnxScan;
    bool operator_ = !fused && has_operator(op, loop);
    bool straight = (fused || operator_) && loop == asn_layout_dtype(&a->layout);
    if (straight)
        ASN_TRY(asn_array_new_like(&running, a, loop, 'I'));
    else
        ASN_TRY(asn_copy(&running, a, loop, 'I'));
    asn_status status = ASN_OK;
    if (a->layout.size) {
        if (fused)
            status = scan_fused(op, straight ? a : &running, &running, axis);
        else if (operator_)
            status = scan_operator(op, straight ? a : &running, &running, axis);
        else if (is_exact(op, loop))
            status = scan_by_doubling(op, &running, axis);
        else
            status = scan_by_slices(op, &running, axis);
    }
    if (!status && out) {
        if (!(out->layout.flags & ASN_WRITEABLE))
            status = asn_error_set(ASN_ERR_VALUE, "output array is read-only");
        if (!status) status = asn_check_out_shape(out, a->layout.ndim, a->layout.shape);
        asn_operand value = {.array = &running};
        if (!status) status = asn_assign(out, &value, ASN_CASTING_UNSAFE, NULL);
    }
    if (status || out)
        asn_array_fini(&running);
    else
        asn_array_move(result, &running);
    return status;
}

/* One slice more: where `where` is true target = op(target, slice at of a's axis), of
 * which it is -1 where no axis is reduced. */
static asn_status reduce_slice(asn_op op, const asn_array *a, const asn_array *where,
                               const asn_array *target, int axis, int64_t at,
                               bool keepdims, asn_ufunc_options o) {
    const int64_t extent = keepdims ? 1 : -1;
    asn_array slice, chosen;
    if (axis < 0) {
        asn_operand in[2] = {{.array = target}, {.array = a}};
        o.where = where;
        return asn_ufunc_call(op, in, target, NULL, &o);
    }
    ASN_TRY(slab(&slice, a, axis, at, extent));
    asn_operand in[2] = {{.array = target}, {.array = &slice}};
    asn_status status = slab(&chosen, where, axis, at, extent);
    if (!status) {
        o.where = &chosen;
        status = asn_ufunc_call(op, in, target, NULL, &o);
        asn_array_fini(&chosen);
    }
    asn_array_fini(&slice);
    return status;
}

/* (Contract in ufunc.h.) */
asn_status asn_ufunc_reduce_slices(asn_op op, const asn_array *a,
                                   const asn_reduce_options *o, const asn_array *target) {
    const asn_layout *l = &a->layout;
    int axis = l->ndim - 1;
    while (axis >= 0 && !(o->axes >> axis & 1))
        axis--;
    asn_layout spread;
    asn_array where, cast;
    ASN_TRY(asn_view_broadcast(&spread, &o->where->layout, l->ndim, l->shape));
    asn_array_view(&where, o->where, &spread);
    const asn_dtype loop = asn_layout_dtype(&target->layout);
    const asn_ufunc_options step = {ASN_CASTING_UNSAFE, loop, 'K', NULL};
    asn_status status = asn_copy(&cast, a, asn_op_operand(op, 1, loop), 'K');
    if (!status) {
        status = asn_assign(target, o->initial, ASN_CASTING_UNSAFE, NULL);
        const int64_t extent = axis < 0 ? 1 : l->shape[axis];
        for (int64_t i = 0; i < extent && !status && target->layout.size; i++)
            status = reduce_slice(op, &cast, &where, target, axis, i, o->keepdims, step);
        asn_array_fini(&cast);
    }
    asn_array_fini(&where);
    return status;
}

/* A segment ends where the next one begins, or holds one element where that is not after
 * its own beginning; the last one's next begins at the end. */
static int64_t segment_end(const int64_t *at, int64_t i) {
    return at[i + 1] > at[i] ? at[i + 1] : at[i] + 1;
}

/* Reduces [from, to) of the axis into the target, which lacks the axis. */
static asn_status reduce_segment(asn_op op, const asn_array *a, int axis, asn_dtype dtype,
                                 int64_t from, int64_t to, const asn_array *target) {
    asn_array segment;
    asn_reduce_options o = {.axes = (uint64_t)1 << axis, .dtype = dtype};
    const bool single = to - from == 1; /* as it is: gcd.reduceat of -6 is -6 */
    ASN_TRY(slab(&segment, a, axis, from, single ? -1 : to - from));
    asn_operand value = {.array = &segment};
    asn_status status = single ? asn_assign(target, &value, ASN_CASTING_UNSAFE, NULL)
                               : asn_ufunc_reduce(op, &segment, target, NULL, &o);
    asn_array_fini(&segment);
    return status;
}

/* Segments that are one loop each: computed at once, on all threads, into `made`, of a
 * vector in the dtype computed in; longer ones stay to be done. bounds: 2 n, written.
 * *done: whether the device has such a loop; sums of floats that are converted first are
 * left to the fused operator, which adds them up in another order. */
static asn_status fold_segments(asn_op op, const asn_array *a, asn_dtype loop,
                                const int64_t *at, int64_t n, int64_t *bounds,
                                const asn_array *made, bool *done) {
    *done = false;
    if (a->layout.ndim != 1 || loop == ASN_BOOL || op == ASN_OP_POWER || n < 2 ||
        (loop != asn_layout_dtype(&a->layout) && asn_is_inexact(loop)) ||
        !asn_direct_ready() || !asn_acl.aclnnxLoopSegments)
        return ASN_OK;
    const aclnnxLoop *fold = asn_binding_loop(ACLNNX_LOOP_FOLD, op, loop);
    if (!fold) return ASN_OK;
    const int64_t longest = ACLNNX_LOOP_BYTES / asn_itemsize(loop);
    for (int64_t i = 0; i < n; i++) {
        int64_t to = segment_end(at, i);
        bounds[2 * i] = at[i];
        bounds[2 * i + 1] = to - at[i] > longest ? at[i] : to;
    }
    asn_array line;
    void *in, *out;
    if (loop == asn_layout_dtype(&a->layout) && asn_layout_contiguous(&a->layout))
        ASN_TRY(asn_array_share(&line, a));
    else
        ASN_TRY(asn_copy(&line, a, loop, 'C'));
    asn_status status = asn_array_host(&line, &in);
    if (!status) status = asn_array_host(made, &out);
    if (!status) {
        uint32_t met = 0;
        uint64_t begin = asn_small_begin();
        int code = asn_acl.aclnnxLoopSegments(fold, n, bounds, out, in,
                                              asn_fp_sink() ? &met : NULL);
        if (met) asn_fp_raise(met, "reduceat");
        asn_small_end_op(begin, code == 0, op, a->layout.size, loop, 1);
        if (code) status = asn_acl_failed(code, "reduceat");
    }
    asn_array_fini(&line);
    *done = !status;
    return status;
}

/* A fresh array of a's shape but for n elements along the axis, in NumPy's order: the
 * axis says nothing, the others are as a's strides have them. */
static asn_status new_segments(asn_array *made, asn_dtype dtype, const asn_array *a,
                               int axis, int64_t n) {
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS];
    asn_array spread = {.layout = a->layout};
    memcpy(shape, a->layout.shape, (size_t)a->layout.ndim * sizeof *shape);
    memcpy(strides, a->layout.strides, (size_t)a->layout.ndim * sizeof *strides);
    shape[axis] = n;
    strides[axis] = 0;
    spread.layout.shape = shape;
    spread.layout.strides = strides;
    const asn_operand like = {.array = &spread};
    return asn_result_new(made, dtype, a->layout.ndim, shape, 'K', 1, &like);
}

/* (Contract in ufunc.h.) The indices are read by the host. */
asn_status asn_ufunc_reduceat(asn_op op, const asn_array *a, const asn_array *indices,
                              int axis, asn_dtype dtype, const asn_array *out,
                              asn_array *result) {
    if (a->layout.ndim == 0)
        return asn_error_set(ASN_ERR_TYPE, "cannot reduceat on a scalar");
    asn_dtype loop;
    int64_t n = indices->layout.size, extent = a->layout.shape[axis];
    ASN_TRY(scan_dtype(op, asn_layout_dtype(&a->layout), dtype, out, &loop));
    int64_t *at = asn_malloc((size_t)(3 * n + 1) * sizeof *at);
    if (!at) return ASN_ERR_MEMORY;
    int64_t *bounds = at + n + 1; /* 2 n of them */
    asn_array made;
    bool folded = false;
    asn_status status = asn_array_to_host(indices, at);
    for (int64_t i = 0; i < n && !status; i++)
        if (at[i] < 0 || at[i] >= extent)
            status = asn_error_set(
                ASN_ERR_INDEX, "index %lld out-of-bounds in %s.reduceat [0, %lld)",
                (long long)at[i], asn_op_table[op].name, (long long)extent);
    if (!status) status = new_segments(&made, loop, a, axis, n);
    if (status) {
        asn_free(at);
        return status;
    }
    at[n] = extent;
    status = fold_segments(op, a, loop, at, n, bounds, &made, &folded);
    for (int64_t i = 0; i < n && !status; i++) {
        asn_array target;
        if (folded && bounds[2 * i + 1] > bounds[2 * i]) continue;
        status = slab(&target, &made, axis, i, -1);
        if (status) break;
        status = reduce_segment(op, a, axis, loop, at[i], segment_end(at, i), &target);
        asn_array_fini(&target);
    }
    asn_free(at);
    if (!status && out) {
        asn_operand value = {.array = &made};
        status = asn_check_out_shape(out, made.layout.ndim, made.layout.shape);
        if (!status) status = asn_assign(out, &value, ASN_CASTING_UNSAFE, NULL);
    }
    if (status || out)
        asn_array_fini(&made);
    else
        asn_array_move(result, &made);
    return status;
}
