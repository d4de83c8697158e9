/* L2 graph: ufunc.reduce (see ufunc.h).
 *
 * A reduction is a node whose output has stride 0 along the reduced axes: it fuses with
 * what computes its input. where= selects the identity (or initial) for the elements left
 * out; initial= is written first and accumulated onto.
 */
#include <math.h>
#include <string.h>

#include "aclnnop/aclnn_std.h"
#include "aclnnop/aclnn_var.h"
#include "array/broadcast.h"
#include "array/views.h"
#include "graph/capture/capture.h"
#include "graph/lock.h"
#include "graph/ufunc/truth.h"
#include "graph/ufunc/operands.h"
#include "graph/device/operator.h"

/* (Contract in operands.h.) Comparisons reduce in bool. */
asn_status asn_reduce_dtype(asn_op op, asn_dtype in, asn_dtype wish, asn_dtype out,
                            asn_dtype *loop) {
    const asn_op_info *info = &asn_op_table[op];
    if (info->num_in != 2)
        return asn_error_set(ASN_ERR_VALUE, "reduce only supported for binary functions");
    if (info->out_dtype == ASN_BOOL && info->in_dtype[0] == ASN_DTYPE_NONE) {
        if (!(info->flags & ASN_OPF_TRUTH) && in != ASN_BOOL && wish != ASN_BOOL)
            return asn_error_set(ASN_ERR_NO_LOOP,
                                 "the resolved dtypes are not compatible with %s.reduce. "
                                 "Resolved (dtype('bool'), dtype('%s'), dtype('bool'))",
                                 info->name, asn_dtype_name(in));
        *loop = ASN_BOOL;
        return ASN_OK;
    }
    asn_type types[2] = {{(uint8_t)in, 0}, {(uint8_t)in, 0}};
    if (wish != ASN_DTYPE_NONE)
        types[0].dtype = types[1].dtype = (uint8_t)wish;
    else if (out != ASN_DTYPE_NONE)
        types[0].dtype = (uint8_t)out;
    else if (info->flags & ASN_OPF_WIDENS && !asn_is_inexact(in) && asn_itemsize(in) < 8)
        types[0].dtype = types[1].dtype =
            (uint8_t)(wish = asn_is_unsigned_int(in) ? ASN_U64 : ASN_I64);
    return asn_op_resolve(op, types, wish, ASN_CASTING_UNSAFE, loop);
}

/* NumPy's errors for what has no answer: no identity and nothing to start from, or
 * several axes in no defined order. */
static asn_status check(asn_op op, const asn_array *a, const asn_reduce_options *o,
                        uint64_t mask, int64_t reduced_size) {
    const asn_op_info *info = &asn_op_table[op];
    if (!(info->flags & ASN_OPF_REORDERABLE) && (mask & (mask - 1)))
        return asn_error_set(
            ASN_ERR_VALUE,
            "reduction operation '%s' is not reorderable, so at most one "
            "axis may be specified",
            info->name);
    if (info->has_identity || o->initial) return ASN_OK;
    if (o->where)
        return asn_error_set(
            ASN_ERR_VALUE,
            "reduction operation '%s' does not have an identity, so to use a "
            "where mask one has to specify 'initial'",
            info->name);
    if (reduced_size == 0 && a->layout.size == 0)
        return asn_error_set(
            ASN_ERR_VALUE,
            "zero-size array to reduction operation %s which has no identity",
            info->name);
    return ASN_OK;
}

/* The identity as an operand; -1 (all bits) and -inf included. */
static asn_operand identity_of(asn_op op) {
    asn_operand o = {.scalar = asn_scalar_float(asn_op_table[op].identity)};
    if (op == ASN_OP_BITWISE_AND) o.scalar = asn_scalar_int(-1);
    return o;
}

/* target's layout with stride-0 axes put back where `mask` says, as a reference of the
 * draft. */
static void reduced_ref(asn_draft *d, const asn_array *target, uint64_t mask,
                        bool keepdims) {
    asn_ref *ref = &d->node.out;
    ref->buffer = target->buffer;
    ref->offset = target->layout.offset;
    ref->dtype = target->layout.dtype;
    int from = 0;
    for (int i = 0; i < d->node.ndim; i++) {
        bool reduced = mask >> i & 1;
        ref->strides[i] = reduced ? 0 : target->layout.strides[from];
        from += !reduced || keepdims;
    }
}

/* A mask may not stretch the input. */
static asn_status check_mask(const asn_array *a, const asn_array *where) {
    const asn_layout *layouts[2] = {&a->layout, &where->layout};
    int ndim;
    int64_t shape[ASN_MAX_DIMS];
    ASN_TRY(asn_broadcast_shape(2, layouts, &ndim, shape));
    return asn_check_out_shape(a, ndim, shape);
}

/* The input with the elements outside of where= replaced by what does not count: the
 * identity, or `initial` of an extreme, which has none. */
static asn_status mask_input(asn_op op, const asn_array *a, const asn_reduce_options *o,
                             asn_dtype loop, asn_array *masked) {
    const int ndim = a->layout.ndim;
    const int64_t *shape = a->layout.shape;
    asn_operand in[3] = {{.array = o->where}, {.array = a}, identity_of(op)};
    if (!asn_op_table[op].has_identity) in[2] = *o->initial;
    return asn_select(masked, loop, ndim, shape, in);
}

/* Of no axis: each element, after `initial` if there is one. */
static asn_status reduce_none(asn_op op, const asn_array *a, const asn_array *target,
                              const asn_reduce_options *o) {
    const asn_operand in[2] = {{.array = target}, {.array = a}};
    ASN_TRY(
        asn_assign(target, o->initial ? o->initial : &in[1], ASN_CASTING_UNSAFE, NULL));
    if (!o->initial) return ASN_OK;
    const asn_ufunc_options options = {ASN_CASTING_UNSAFE,
                                       asn_layout_dtype(&target->layout), 'K', NULL};
    return asn_ufunc_call(op, in, target, NULL, &options);
}

/* Reduces into a fresh target. An empty reduction is its starting value; else the node
 * starts from its first elements, or from `initial`, which is then in place. */
static asn_status reduce_into(asn_op op, const asn_array *a, const asn_array *target,
                              uint64_t mask, const asn_reduce_options *o) {
    asn_operand start = identity_of(op);
    bool empty = a->layout.size == 0;
    if (target->layout.size && (o->initial || empty))
        ASN_TRY(asn_assign(target, o->initial ? o->initial : &start, ASN_CASTING_UNSAFE,
                           NULL));
    if (empty) return ASN_OK;
    asn_draft d;
    asn_draft_init(&d, ASN_OP_COPY, asn_layout_dtype(&a->layout), a->layout.ndim,
                   a->layout.shape);
    asn_draft_array(&d, &d.node.in[0], a);
    reduced_ref(&d, target, mask, o->keepdims);
    d.node.reduce_op = (uint16_t)op;
    d.node.reduce_mask = mask;
    d.node.accumulate = o->initial != NULL;
    d.now = o->now;
    return asn_trace_submit(&d);
}

/* A fresh result for the reduction, uninitialised. */
static asn_status result_shape(const asn_array *a, uint64_t mask, bool keepdims,
                               asn_dtype dtype, asn_array *result) {
    /* kept axes follow the input's order in memory (under where=, that of the input and
     * the mask together), as NumPy's reductions of transposed arrays do */
    asn_array like;
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < a->layout.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (!reduced || keepdims) shape[ndim++] = reduced ? 1 : a->layout.shape[d];
    }
    if (asn_layout_contiguous(&a->layout) || ndim <= 1)
        return asn_array_new(result, dtype, ndim, shape, 'C');
    ASN_TRY(asn_layout_alloc(&like.layout, ndim));
    memcpy(like.layout.shape, shape, (size_t)ndim * sizeof *shape);
    ndim = 0;
    for (int d = 0; d < a->layout.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (!reduced || keepdims)
            like.layout.strides[ndim++] = reduced ? 0 : a->layout.strides[d];
    }
    asn_status status = asn_array_new_like(result, &like, dtype, 'I');
    asn_layout_fini(&like.layout);
    return status;
}

/* out= of a reduction whose result is `made`: its shape, and that it may be written. */
static asn_status check_out(asn_op op, const asn_array *out, const asn_layout *made,
                            bool keepdims) {
    if (!(out->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "output array is read-only");
    if (out->layout.ndim == made->ndim)
        return asn_check_out_shape(out, made->ndim, made->shape);
    return asn_error_set(
        ASN_ERR_VALUE,
        "output parameter for reduction operation %s has the wrong number of "
        "dimensions: Found %d but expected %d%s",
        asn_op_table[op].name, out->layout.ndim, made->ndim,
        keepdims ? " (must match the operand's when keepdims=True)" : "");
}

/* (Contract in ufunc.h.) It reduces into a fresh array, which out= gets a copy of: out
 * may have another dtype, and overlap the input. */
asn_status asn_ufunc_reduce(asn_op op, const asn_array *a, const asn_array *out,
                            asn_array *result, const asn_reduce_options *o) {
    ASN_TRUTH_OF(a, asn_ufunc_reduce(op, &clean, out, result, o))
    int ndim = a->layout.ndim;
    uint64_t mask = o->axes & (ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1);
    asn_dtype loop;
    ASN_TRY(asn_reduce_dtype(op, asn_layout_dtype(&a->layout), o->dtype,
                             out ? asn_layout_dtype(&out->layout) : ASN_DTYPE_NONE,
                             &loop));
    int64_t reduced = 1;
    for (int d = 0; d < ndim; d++)
        if (mask >> d & 1) reduced *= a->layout.shape[d];
    ASN_TRY(check(op, a, o, mask, reduced));
    if (o->initial) ASN_TRY(asn_operand_check(o->initial, loop));
    const bool slices = o->where && !(asn_op_table[op].flags & ASN_OPF_REORDERABLE);
    if (op == ASN_OP_POWER && !slices && mask)
        ASN_TRY(asn_exponents_check_line(a, __builtin_ctzll(mask), !o->initial, loop));
    asn_array fresh, masked;
    const asn_array *input = a;
    if (o->where) ASN_TRY(check_mask(a, o->where));
    if (o->where && !slices) {
        ASN_TRY(mask_input(op, a, o, loop, &masked));
        input = &masked;
    }
    asn_status status = result_shape(input, mask, o->keepdims, loop, &fresh);
    if (status) {
        if (input == &masked) asn_array_fini(&masked);
        return status;
    }
    if (out) {
        status = check_out(op, out, &fresh.layout, o->keepdims);
        if (!status &&
            !asn_can_cast(loop, asn_layout_dtype(&out->layout), ASN_CASTING_UNSAFE))
            status = asn_error_set(ASN_ERR_CASTING,
                                   "Cannot cast %s.reduce output from %s to %s",
                                   asn_op_table[op].name, asn_dtype_name(loop),
                                   asn_dtype_name(asn_layout_dtype(&out->layout)));
    }
    if (!status)
        status = slices  ? asn_ufunc_reduce_slices(op, a, o, &fresh)
                 : !mask ? reduce_none(op, input, &fresh, o)
                         : reduce_into(op, input, &fresh, mask, o);
    if (input == &masked) asn_array_fini(&masked);
    if (!status && out) {
        asn_operand value = {.array = &fresh};
        status = asn_assign(out, &value, ASN_CASTING_UNSAFE, NULL);
    }
    if (status || out)
        asn_array_fini(&fresh);
    else
        asn_array_move(result, &fresh);
    return status;
}

/* ---- any and all of large arrays */

enum { FIRST_PIECE = 1 << 16, PIECE = 1 << 20 };

/* The truth of elements [from, from + n) of a row-major array. */
static asn_status truth_of(asn_op op, const asn_array *a, int64_t from, int64_t n,
                           bool *truth) {
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE};
    asn_layout l;
    asn_array piece, result;
    asn_scalar answer;
    ASN_TRY(asn_layout_init(&l, asn_layout_dtype(&a->layout), 1, &n, 'C'));
    l.offset = a->layout.offset + from * l.strides[0];
    asn_array_view(&piece, a, &l);
    asn_status status = asn_ufunc_reduce(op, &piece, NULL, &result, &all);
    asn_array_fini(&piece);
    ASN_TRY(status);
    status = asn_array_get_item(&result, 0, &answer);
    asn_array_fini(&result);
    *truth = !status && answer.bytes[0];
    return status;
}

/* (Contract in ufunc.h.) The first piece is short: mostly the answer is near the
 * beginning. */
asn_status asn_truth_reduce(asn_op op, const asn_array *a, bool *truth, bool *done) {
    int64_t n = a->layout.size;
    bool decides = op == ASN_OP_LOGICAL_OR;
    /* A recorded array is better reduced by the program that computes it. */
    *done = n > FIRST_PIECE && asn_layout_contiguous(&a->layout) && a->buffer->data &&
            !a->buffer->trace_writes && !asn_is_noncanonical(a) && !asn_capture_open();
    *truth = !decides;
    for (int64_t at = 0, step = FIRST_PIECE; *done && at < n; at += step, step = PIECE) {
        ASN_TRY(truth_of(op, a, at, n - at < step ? n - at : step, truth));
        if (*truth == decides) break;
    }
    return ASN_OK;
}

/* ---- variance of a large array */

asn_status asn_variance_whole(const asn_array *a, int64_t ddof, bool root,
                              asn_scalar *value, bool *done) {
    enum { LARGE = 65536 }; /* below, the arithmetic is what NumPy spells out */
    asn_dtype dtype = asn_layout_dtype(&a->layout);
    double number;
    *done = false;
    if ((dtype != ASN_F32 && dtype != ASN_F64) || a->layout.size < LARGE ||
        a->layout.size <= ddof || !asn_layout_contiguous(&a->layout) ||
        asn_capture_open())
        return ASN_OK;
    asn_array out;
    ASN_TRY(asn_array_new(&out, dtype, 0, NULL, 'C'));
    asn_lock();
    aclTensor *t[2];
    const asn_array *all[2] = {a, &out};
    asn_status status = asn_operator_tensors(2, all, 1 << 1, t);
    if (root)
        ASN_OPERATOR(status, Std, "std", t[0], NULL, ddof, false, t[1]);
    else
        ASN_OPERATOR(status, VarCorrection, "var", t[0], NULL, ddof, false, t[1]);
    asn_operator_drop(2, t);
    asn_unlock();
    if (!status) status = asn_array_get_item(&out, 0, value);
    asn_array_fini(&out);
    ASN_TRY(status);
    if (dtype == ASN_F32) {
        float f;
        memcpy(&f, value->bytes, sizeof f);
        number = (double)f;
    } else {
        memcpy(&number, value->bytes, sizeof number);
    }
    *done = isfinite(number);
    return ASN_OK;
}
