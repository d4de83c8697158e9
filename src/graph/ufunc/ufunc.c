/* L2 graph: calling an operation of the table (see ufunc.h).
 *
 * The general path resolves dtypes, broadcasts, makes the result and submits one node;
 * where= adds a selection, an output that overlaps an input in another order adds a
 * temporary. Two short paths stand in front, for row-major arrays of one dtype and shape
 * and Python numbers: small ones run at once (direct.c), large ones are recorded as they
 * are (trace_fast.c).
 */
#include "graph/ufunc/ufunc.h"

#include <string.h>

#include "array/broadcast.h"
#include "graph/capture/capture.h"
#include "graph/ufunc/compare.h"
#include "graph/small/direct.h"
#include "graph/fp.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/ufunc/operands.h"
#include "graph/ufunc/trace_fast.h"
#include "graph/ufunc/truth.h"

static const asn_ufunc_options defaults = ASN_UFUNC_DEFAULTS;

asn_status asn_ufunc_result_dtype(asn_op op, const asn_operand *in,
                                  const asn_ufunc_options *options, asn_dtype *loop,
                                  asn_dtype *result) {
    if (!options) options = &defaults;
    asn_type types[3];
    if (op >= ASN_OP_COUNT) { /* the row of a loop, which has no other dtypes */
        *loop = *result = (asn_dtype)asn_op_table[op].out_dtype;
        return ASN_OK;
    }
    for (int k = 0; k < asn_op_table[op].num_in; k++)
        types[k] = asn_operand_type(&in[k]);
    ASN_TRY(asn_op_resolve(op, types, options->dtype, options->casting, loop));
    *result = asn_op_result(op, *loop);
    return ASN_OK;
}

/* The shape to compute over: that of the operands, out among them, and the mask's. Only
 * inputs stretch. NumPy's message names every operand's shape, a number's too. */
static asn_status broadcast_all(int n, const asn_operand *in, const asn_array *where,
                                const asn_array *out, int *ndim, int64_t *shape) {
    static const asn_layout number = {.ndim = 0, .size = 1};
    const asn_layout *layouts[5];
    int num = 0;
    for (int k = 0; k < n; k++)
        layouts[num++] = in[k].array ? &in[k].array->layout : &number;
    if (out) layouts[num++] = &out->layout;
    if (where) layouts[num++] = &where->layout;
    ASN_TRY(asn_broadcast_shape(num, layouts, ndim, shape));
    return out ? asn_check_out_shape(out, *ndim, shape) : ASN_OK;
}

/* NumPy's errors for an output that is read-only or that the result does not cast to. */
static asn_status check_out(asn_op op, const asn_array *out, asn_dtype result,
                            asn_casting casting) {
    if (!(out->layout.flags & ASN_WRITEABLE))
        return asn_error_set(ASN_ERR_VALUE, "output array is read-only");
    if (!asn_can_cast(result, asn_layout_dtype(&out->layout), casting))
        return asn_error_set(
            ASN_ERR_CASTING,
            "Cannot cast ufunc '%s' output from dtype('%s') to dtype('%s') "
            "with casting rule '%s'",
            asn_op_table[op].name, asn_dtype_name(result),
            asn_dtype_name(asn_layout_dtype(&out->layout)), asn_casting_name(casting));
    return ASN_OK;
}

/* A broadcast view, which single operators refuse to write. */
static bool is_broadcast(const asn_layout *l) {
    for (int d = 0; d < l->ndim; d++)
        if (l->strides[d] == 0 && l->shape[d] > 1) return true;
    return false;
}

/* Fills and submits the node that computes into `target`. */
static asn_status submit_call(asn_op op, asn_dtype loop, const asn_operand *in,
                              const asn_array *target, bool *hazard) {
    asn_draft d;
    asn_draft_init(&d, op, loop, target->layout.ndim, target->layout.shape);
    asn_draft_array(&d, &d.node.out, target);
    for (int k = 0; k < d.node.num_in; k++)
        ASN_TRY(
            asn_draft_operand(&d, &d.node.in[k], &in[k], asn_op_operand(op, k, loop)));
    if (hazard) {
        *hazard = !asn_fuse_enabled() && is_broadcast(&target->layout);
        for (int k = 0; k < d.node.num_in; k++)
            *hazard = *hazard || asn_draft_hazard(&d, &d.node.in[k]);
        if (*hazard) return ASN_OK;
    }
    if (d.node.size == 0) return ASN_OK;
    return asn_trace_submit(&d);
}

/* Whether elements that where= leaves out might raise an exception that is reported. */
static bool may_raise(asn_op op, asn_dtype loop) {
    bool raises = asn_is_inexact(loop) || asn_is_half(loop) ||
                  asn_op_table[op].flags & ASN_OPF_DIVIDES;
    return asn_fp_sink() && raises;
}

/* The temporary's elements where the mask is true. Elsewhere the operation has 1 (arctanh
 * 0) for its inputs, which raises nothing. */
static asn_status submit_chosen(asn_op op, asn_dtype loop, const asn_operand *in,
                                const asn_array *where, const asn_array *temp) {
    const int n = asn_op_table[op].num_in;
    const asn_operand harmless = {.scalar = asn_scalar_int(op != ASN_OP_ARCTANH)};
    asn_operand chosen[3];
    asn_array made[3];
    asn_status status = ASN_OK;
    int count = 0;
    for (; count < n && !status; count += !status) {
        const asn_operand three[3] = {{.array = where}, in[count], harmless};
        status = asn_select(&made[count], asn_op_operand(op, count, loop),
                            temp->layout.ndim, temp->layout.shape, three);
        chosen[count] = (asn_operand){.array = &made[count]};
    }
    if (!status) status = submit_call(op, loop, chosen, temp, NULL);
    while (count)
        asn_array_fini(&made[--count]);
    return status;
}

/* Computes into `out`: directly where that is safe, else through a temporary, which also
 * serves where=. */
static asn_status call_into(asn_op op, asn_dtype loop, asn_dtype dtype,
                            const asn_operand *in, const asn_array *out,
                            const asn_ufunc_options *o, int ndim, const int64_t *shape) {
    ASN_TRY(check_out(op, out, dtype, o->casting));
    bool hazard = true;
    if (!o->where) ASN_TRY(submit_call(op, loop, in, out, &hazard));
    if (!hazard) return ASN_OK;
    asn_array temp;
    ASN_TRY(
        asn_result_new(&temp, dtype, ndim, shape, o->order, asn_op_table[op].num_in, in));
    asn_status status = o->where && may_raise(op, loop)
                            ? submit_chosen(op, loop, in, o->where, &temp)
                            : submit_call(op, loop, in, &temp, NULL);
    asn_operand value = {.array = &temp};
    if (!status) status = asn_assign(out, &value, ASN_CASTING_UNSAFE, o->where);
    asn_array_fini(&temp);
    return status;
}

/* The general path, with the library's lock held. */
static asn_status call_general(asn_op op, const asn_operand *in, const asn_array *out,
                               asn_array *result, const asn_ufunc_options *o) {
    bool done;
    ASN_TRY(asn_compare_mixed(op, in, out, result, o, &done));
    if (done) return ASN_OK;
    asn_dtype loop, dtype;
    int ndim;
    int64_t shape[ASN_MAX_DIMS];
    int n = asn_op_table[op].num_in;
    ASN_TRY(asn_ufunc_result_dtype(op, in, o, &loop, &dtype));
    bool empty = in[0].array && in[0].array->layout.size == 0;
    if (op == ASN_OP_POWER && !empty)
        ASN_TRY(asn_exponents_check(&in[1], o->where, loop));
    ASN_TRY(broadcast_all(n, in, o->where, out, &ndim, shape));
    if (out) return call_into(op, loop, dtype, in, out, o, ndim, shape);
    ASN_TRY(asn_result_new(result, dtype, ndim, shape, o->order, n, in));
    asn_status status;
    if (o->where)
        status = call_into(op, loop, dtype, in, result, o, ndim, shape);
    else
        status = submit_call(op, loop, in, result, NULL);
    if (status) asn_array_fini(result);
    return status;
}

/* Whether the short path for small arrays is worth asking. */
static inline bool is_small(asn_op op, const asn_operand *in) {
    for (int k = 0; k < asn_op_table[op].num_in; k++)
        if (in[k].array && in[k].array->layout.size > ASN_DIRECT_ELEMENTS) return false;
    return true;
}

/* Division of integers by what may be 0 is not put off: NumPy programs catch its warning
 * around the call. (A number other than 0 and -1 raises no floating-point exception.) */
static bool may_divide_by_zero(asn_op op, const asn_operand *in) {
    const asn_op_info *info = &asn_op_table[op];
    if (!(info->flags & ASN_OPF_DIVIDES) || !asn_fp_sink()) return false;
    const asn_operand *divisor = &in[info->num_in - 1];
    if (divisor->array) return asn_is_integer(asn_layout_dtype(&divisor->array->layout));
    asn_scalar wide;
    int64_t value = 0;
    if (!asn_is_integer((asn_dtype)divisor->scalar.dtype)) return false;
    if (asn_scalar_cast(&divisor->scalar, ASN_I64, &wide) == ASN_OK)
        memcpy(&value, wide.bytes, sizeof value);
    return value == 0 || value == -1;
}

/* ldexp of exponents that may not fit the loops' int32. */
static asn_status call_bounded(const asn_operand *in, const asn_array *out,
                               asn_array *result, const asn_ufunc_options *o) {
    asn_operand bounded[2] = {in[0]};
    asn_array owner;
    ASN_TRY(asn_exponent_bound(&in[1], &bounded[1], &owner));
    asn_status status = asn_ufunc_call(ASN_OP_LDEXP, bounded, out, result, o);
    if (in[1].array) asn_array_fini(&owner);
    return status;
}

/* Whether an operand or the mask is a non-canonical bool. */
static bool any_raw(asn_op op, const asn_operand *in, const asn_ufunc_options *o) {
    bool raw = o->where && asn_is_noncanonical(o->where);
    for (int k = 0; k < asn_op_table[op].num_in; k++)
        raw = raw || (in[k].array && asn_is_noncanonical(in[k].array));
    return raw;
}

/* The call on canonical copies of these operands. */
static asn_status call_clean(asn_op op, const asn_operand *in, const asn_array *out,
                             asn_array *result, const asn_ufunc_options *o) {
    asn_operand operands[4] = {{.array = NULL}};
    asn_ufunc_options options = *o;
    asn_array clean[4];
    int n = asn_op_table[op].num_in, made = 0;
    asn_status status = ASN_OK;
    memcpy(operands, in, (size_t)n * sizeof *in);
    operands[n].array = o->where;
    for (int k = 0; k <= n && !status; k++) {
        if (!operands[k].array || !asn_is_noncanonical(operands[k].array)) continue;
        status = asn_truth_clean(&clean[made], operands[k].array);
        if (!status) operands[k].array = &clean[made++];
    }
    options.where = operands[n].array;
    if (!status) status = asn_ufunc_call(op, operands, out, result, &options);
    while (made)
        asn_array_fini(&clean[--made]);
    return status;
}

/* (Contract in ufunc.h.) The short paths are asked for calls without options only. */
asn_status asn_ufunc_call(asn_op op, const asn_operand *in, const asn_array *out,
                          asn_array *result, const asn_ufunc_options *options) {
    const asn_ufunc_options *o = options ? options : &defaults;
    if (op == ASN_OP_LDEXP && asn_exponent_is_wide(in))
        return call_bounded(in, out, result, o);
    if (o == &defaults && (is_small(op, in) ? asn_direct_call(op, in, out, result)
                                            : asn_rows_record(op, in, out, result)))
        return ASN_OK;
    if (any_raw(op, in, o)) return call_clean(op, in, out, result, o);
    asn_lock();
    asn_status status = call_general(op, in, out, result, o);
    asn_unlock();
    ASN_TRY(status);
    if (!may_divide_by_zero(op, in)) return ASN_OK;
    const asn_array *written = out ? out : result;
    asn_lock();
    status = asn_trace_materialise(written->buffer, false);
    if (!status) status = asn_trace_catch_up(true);
    asn_unlock();
    if (status && !out) asn_array_fini(result);
    return status;
}
