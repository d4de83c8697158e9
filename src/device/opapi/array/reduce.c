/* CPU device, operators: reductions.
 *
 * Sums, products, extremes, logic, means, variances, norms: each is one to four fused
 * programs over the input; the output is seen with its reduced dimensions kept (extent 1,
 * stride 0). Halves accumulate in float32, integers in the promotion of input and output.
 * Variance takes two passes, the mean first, or one pass by blocks (variance.c): sums of
 * squares would cancel.
 *
 * One planner serves all: it finds dimensions, keepdim, order, correction by the
 * parameters' names.
 *
 * The general path is `simple`: one operation that accumulates. The others are those
 * whose result needs a second look at the input (variance, norms, log-sum-exp), or two
 * results of one pass (Aminmax). A dimension that is reduced stays in a program's space,
 * with an output stride of 0, so that the same views serve all kinds.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/fused/reduce.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* One plan for all kinds. */
typedef struct {
    asnd_plan_head head;
    asnd_reduce_kind kind;
    uint64_t mask; /* bit d: dimension d of the input is reduced */
    bool keep;
    double number; /* correction, or the norm's order */
    int64_t count; /* elements per result */
    int in, out,
        second;     /* operands; second: mean of VarMean, maximum of Aminmax, or -1 */
    asn_dtype loop; /* computed in */
} reduce_plan;

/* ---- bodies */

/* Where a result of `dtype` goes before its conversion: the output itself when it fits,
 * else a temporary of its shape, with strides of 0 along the mask. */
static asn_status accumulator(asnd_tmp *tmp, const asnd_view *kept, uint64_t mask,
                              asn_dtype dtype, asnd_view *acc) {
    if (kept->nd.dtype == dtype) {
        asn_view_set(acc, &kept->nd);
        return ASN_OK;
    }
    ASN_TRY(asn_tmp_view(tmp, dtype, kept->nd.ndim, kept->shape, acc));
    for (int d = 0; d < kept->nd.ndim; d++)
        if (mask >> d & 1) acc->strides[d] = 0;
    return ASN_OK;
}

/* kept = op(acc), with conversion; ASN_OP_NONE: conversion alone, and nothing where acc
 * is the output itself. */
static asn_status finish(const asnd_view *kept, const asnd_view *acc, asn_op op) {
    if (op == ASN_OP_NONE && kept->nd.data == acc->nd.data) return ASN_OK;
    asnd_prog p;
    asn_prog_begin(&p, kept->nd.ndim, kept->shape, 0);
    int x = asn_prog_in(&p, &acc->nd);
    asn_prog_out(&p, op == ASN_OP_NONE ? x : asn_prog_op1(&p, op, x), &kept->nd);
    return asn_prog_run(&p);
}

/* to = from / divisor; to may be from. */
static asn_status divide_by(const asnd_view *to, const asnd_view *from, double divisor) {
    asnd_prog p;
    asn_prog_begin(&p, to->nd.ndim, to->shape, 0);
    int x = asn_prog_in(&p, &from->nd);
    int n = asn_prog_const(&p, from->nd.dtype, divisor);
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_DIVIDE, x, n), &to->nd);
    return asn_prog_run(&p);
}

/* Kinds that are one accumulation: one pass, and one over the results where they are
 * divided or converted. */
static asn_status simple(const reduce_plan *r, const asnd_nd *in, const asnd_view *kept,
                         asnd_tmp *tmp) {
    static const asn_op ops[] = {
        [ASN_REDUCE_SUM] = ASN_OP_ADD,        [ASN_REDUCE_NANSUM] = ASN_OP_ADD,
        [ASN_REDUCE_LOGSUM] = ASN_OP_ADD,     [ASN_REDUCE_MEAN] = ASN_OP_ADD,
        [ASN_REDUCE_PROD] = ASN_OP_MULTIPLY,  [ASN_REDUCE_MAX] = ASN_OP_MAXIMUM,
        [ASN_REDUCE_MIN] = ASN_OP_MINIMUM,    [ASN_REDUCE_ALL] = ASN_OP_LOGICAL_AND,
        [ASN_REDUCE_ANY] = ASN_OP_LOGICAL_OR,
    };
    asnd_view acc;
    ASN_TRY(accumulator(tmp, kept, r->mask, r->loop, &acc));
    asnd_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    int x = asn_prog_as(&p, asn_prog_in(&p, in), r->loop);
    /* NaN count as 0; integers have none. */
    if (r->kind == ASN_REDUCE_NANSUM && asn_is_inexact(r->loop)) {
        int zero = asn_prog_const(&p, r->loop, 0);
        x = asn_prog_op3(&p, ASN_OP_WHERE, asn_prog_op1(&p, ASN_OP_ISNAN, x), zero, x);
    }
    /* Of no elements the operation's identity; a mean of none divides 0 by 0. */
    asn_prog_reduce(&p, ops[r->kind], x, &acc.nd);
    ASN_TRY(asn_prog_run(&p));
    if (r->kind == ASN_REDUCE_MEAN) return divide_by(kept, &acc, (double)r->count);
    return finish(kept, &acc, r->kind == ASN_REDUCE_LOGSUM ? ASN_OP_LOG : ASN_OP_NONE);
}

/* Smallest to `kept`, largest to `second`, in one pass. */
static asn_status min_max(const reduce_plan *r, const asnd_nd *in, const asnd_view *kept,
                          const asnd_view *second, asnd_tmp *tmp) {
    asnd_view low, high;
    ASN_TRY(accumulator(tmp, kept, r->mask, r->loop, &low));
    ASN_TRY(accumulator(tmp, second, r->mask, r->loop, &high));
    asnd_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    int x = asn_prog_in(&p, in);
    asn_prog_reduce(&p, ASN_OP_MINIMUM, x, &low.nd);
    asn_prog_reduce(&p, ASN_OP_MAXIMUM, x, &high.nd);
    ASN_TRY(asn_prog_run(&p));
    ASN_TRY(finish(kept, &low, ASN_OP_NONE));
    return finish(second, &high, ASN_OP_NONE);
}

/* log(sum(exp(x - m))) + m with m the maximum, or 0 where that is infinite: inf - inf
 * would be NaN. Of no elements -inf, the logarithm of 0. */
static asn_status log_sum_exp(const reduce_plan *r, const asnd_nd *in,
                              const asnd_view *kept, asnd_tmp *tmp) {
    asnd_view m, sum;
    if (r->count == 0) {
        _Alignas(16) uint8_t element[16];
        asn_value_from_double(kept->nd.dtype, element, -INFINITY);
        return asn_cpu_fill(&kept->nd, element);
    }
    ASN_TRY(asn_tmp_view(tmp, r->loop, kept->nd.ndim, kept->shape, &m));
    ASN_TRY(asn_tmp_view(tmp, r->loop, kept->nd.ndim, kept->shape, &sum));
    for (int d = 0; d < in->ndim; d++)
        if (r->mask >> d & 1) m.strides[d] = sum.strides[d] = 0;
    asnd_prog p;
    /* The maximum of each line. */
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    asn_prog_reduce(&p, ASN_OP_MAXIMUM, asn_prog_as(&p, asn_prog_in(&p, in), r->loop),
                    &m.nd);
    ASN_TRY(asn_prog_run(&p));
    /* m = isfinite(m) ? m : 0; of complex numbers the real part, so that the logarithm's
     * imaginary part stays the principal one. */
    asn_prog_begin(&p, m.nd.ndim, m.shape, 0);
    int x = asn_prog_in(&p, &m.nd);
    if (asn_is_complex(r->loop))
        x = asn_prog_as(&p, asn_prog_op1(&p, ASN_OP_REAL, x), r->loop);
    int zero = asn_prog_const(&p, r->loop, 0);
    int finite = asn_prog_op1(&p, ASN_OP_ISFINITE, x);
    asn_prog_out(&p, asn_prog_op3(&p, ASN_OP_WHERE, finite, x, zero), &m.nd);
    ASN_TRY(asn_prog_run(&p));
    /* The sum of exp(x - m), then its logarithm. */
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    x = asn_prog_as(&p, asn_prog_in(&p, in), r->loop);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, asn_prog_in(&p, &m.nd));
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op1(&p, ASN_OP_EXP, x), &sum.nd);
    ASN_TRY(asn_prog_run(&p));
    asn_prog_begin(&p, m.nd.ndim, m.shape, 0);
    x = asn_prog_op1(&p, ASN_OP_LOG, asn_prog_in(&p, &sum.nd));
    asn_prog_out(&p, asn_prog_op2(&p, ASN_OP_ADD, x, asn_prog_in(&p, &m.nd)), &kept->nd);
    return asn_prog_run(&p);
}

/* Whether all elements are reduced, in one piece of float32 or float64, without
 * conversion: then variance_of_line does it in one pass. */
static bool is_one_line(const reduce_plan *r, const asnd_nd *in, const asnd_view *kept) {
    int64_t stride = asn_itemsize(in->dtype);
    if ((in->dtype != ASN_F32 && in->dtype != ASN_F64) || kept->nd.dtype != in->dtype ||
        r->loop != in->dtype || r->count != asn_nd_size(in))
        return false;
    for (int d = in->ndim - 1; d >= 0; stride *= in->shape[d--])
        if (in->shape[d] != 1 && in->strides[d] != stride) return false;
    return true;
}

/* The variance, or its root, of r->count contiguous elements, to the one element of kept.
 * A correction above the count divides by 0, as the other way does. */
static asn_status variance_of_line(const reduce_plan *r, const asnd_nd *in,
                                   const asnd_view *kept) {
    double m2, divisor = fmax((double)r->count - r->number, 0);
    ASN_TRY(asn_cpu_squared_deviations(in->dtype, r->count, in->data, &m2));
    double value = m2 / divisor;
    if (r->kind == ASN_REDUCE_STD) value = sqrt(value);
    if (in->dtype == ASN_F64)
        memcpy(kept->nd.data, &value, sizeof value);
    else
        *(float *)kept->nd.data = (float)value;
    return ASN_OK;
}

/* Variance or standard deviation; second: NULL, or where the mean goes. Two passes over
 * the input: the mean, then the squared deviations, which do not cancel. Those of complex
 * numbers are squares of absolute values. */
static asn_status variance(const reduce_plan *r, const asnd_nd *in, const asnd_view *kept,
                           const asnd_view *second, asnd_tmp *tmp) {
    if (second == NULL && is_one_line(r, in, kept)) return variance_of_line(r, in, kept);
    asn_dtype real = asn_real_dtype(r->loop);
    asnd_view mean, squares;
    ASN_TRY(asn_tmp_view(tmp, r->loop, kept->nd.ndim, kept->shape, &mean));
    ASN_TRY(asn_tmp_view(tmp, real, kept->nd.ndim, kept->shape, &squares));
    for (int d = 0; d < in->ndim; d++)
        if (r->mask >> d & 1) mean.strides[d] = squares.strides[d] = 0;
    asnd_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_as(&p, asn_prog_in(&p, in), r->loop),
                    &mean.nd);
    ASN_TRY(asn_prog_run(&p));
    /* The sums become means in place. */
    ASN_TRY(divide_by(&mean, &mean, (double)r->count));
    if (second != NULL) ASN_TRY(finish(second, &mean, ASN_OP_NONE));
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    int x = asn_prog_as(&p, asn_prog_in(&p, in), r->loop);
    x = asn_prog_op2(&p, ASN_OP_SUBTRACT, x, asn_prog_in(&p, &mean.nd));
    if (asn_is_complex(r->loop)) x = asn_prog_op1(&p, ASN_OP_ABSOLUTE, x);
    asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op2(&p, ASN_OP_MULTIPLY, x, x), &squares.nd);
    ASN_TRY(asn_prog_run(&p));
    double divisor = fmax((double)r->count - r->number, 0);
    asn_prog_begin(&p, squares.nd.ndim, squares.shape, 0);
    int n = asn_prog_const(&p, real, divisor);
    x = asn_prog_op2(&p, ASN_OP_DIVIDE, asn_prog_in(&p, &squares.nd), n);
    if (r->kind == ASN_REDUCE_STD) x = asn_prog_op1(&p, ASN_OP_SQRT, x);
    asn_prog_out(&p, x, &kept->nd);
    return asn_prog_run(&p);
}

/* The vector norm of order r->number: (sum |x|^p)^(1/p), the largest or smallest |x| for
 * an infinite p, the number of elements that are not 0 for p = 0. The orders 1 and 2 need
 * no power. */
static asn_status norm(const reduce_plan *r, const asnd_nd *in, const asnd_view *kept,
                       asnd_tmp *tmp) {
    asn_dtype real = asn_real_dtype(r->loop);
    double order = r->number;
    asn_op op = !isinf(order) ? ASN_OP_ADD : order > 0 ? ASN_OP_MAXIMUM : ASN_OP_MINIMUM;
    asnd_view acc;
    ASN_TRY(asn_tmp_view(tmp, real, kept->nd.ndim, kept->shape, &acc));
    for (int d = 0; d < in->ndim; d++)
        if (r->mask >> d & 1) acc.strides[d] = 0;
    asnd_prog p;
    asn_prog_begin(&p, in->ndim, in->shape, r->mask);
    int x = asn_prog_as(&p, asn_prog_in(&p, in), r->loop);
    x = asn_prog_op1(&p, ASN_OP_ABSOLUTE, x);
    if (order == 0) {
        int zero = asn_prog_const(&p, real, 0);
        x = asn_prog_as(&p, asn_prog_op2(&p, ASN_OP_NOT_EQUAL, x, zero), real);
    } else if (order == 2) {
        x = asn_prog_op2(&p, ASN_OP_MULTIPLY, x, x);
    } else if (order != 1 && !isinf(order)) {
        x = asn_prog_op2(&p, ASN_OP_POWER, x, asn_prog_const(&p, real, order));
    }
    asn_prog_reduce(&p, op, x, &acc.nd);
    ASN_TRY(asn_prog_run(&p));
    bool root = r->kind == ASN_REDUCE_NORM && order != 0 && order != 1 && !isinf(order);
    if (!root) return finish(kept, &acc, ASN_OP_NONE);
    if (order == 2) return finish(kept, &acc, ASN_OP_SQRT);
    asn_prog_begin(&p, acc.nd.ndim, acc.shape, 0);
    x = asn_prog_in(&p, &acc.nd);
    x = asn_prog_op2(&p, ASN_OP_POWER, x, asn_prog_const(&p, real, 1 / order));
    asn_prog_out(&p, x, &kept->nd);
    return asn_prog_run(&p);
}

/* Sees the outputs with their reduced dimensions, and goes on by kind. */
static asn_status reduce_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const reduce_plan *r = plan;
    const asnd_nd *in = asn_exec_nd(e, r->in);
    asnd_view kept, second;
    asn_view_reduced(&kept, asn_exec_nd(e, r->out), r->mask, r->keep, in->ndim);
    if (r->second >= 0)
        asn_view_reduced(&second, asn_exec_nd(e, r->second), r->mask, r->keep, in->ndim);
    switch (r->kind) {
    case ASN_REDUCE_MINMAX: return min_max(r, in, &kept, &second, tmp);
    case ASN_REDUCE_LOGSUMEXP: return log_sum_exp(r, in, &kept, tmp);
    case ASN_REDUCE_VAR:
    case ASN_REDUCE_STD:
        return variance(r, in, &kept, r->second < 0 ? NULL : &second, tmp);
    case ASN_REDUCE_NORM:
    case ASN_REDUCE_POWERS: return norm(r, in, &kept, tmp);
    default: return simple(r, in, &kept, tmp);
    }
}

/* ---- planning */

asn_status asn_check_reduced(const asnd_call *c, int in, int out, uint64_t mask,
                             bool keep) {
    const asnd_nd *a = asn_call_nd(c, in);
    int64_t shape[ASN_ND_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < a->ndim; d++) {
        if (!(mask >> d & 1)) {
            shape[ndim++] = a->shape[d];
        } else if (keep) {
            shape[ndim++] = 1;
        }
    }
    return asn_call_same_shape(c, out, ndim, shape);
}

/* Kinds whose operation has no identity: of no elements they are an error. */
static bool is_extreme(asnd_reduce_kind kind) {
    return kind == ASN_REDUCE_MAX || kind == ASN_REDUCE_MIN || kind == ASN_REDUCE_MINMAX;
}

/* The dtype of the arithmetic: the input's for extremes, bool for logic, else the
 * promotion of input and output, halves in float32. From the mean on, kinds are
 * floating. */
static asn_dtype loop_of(asnd_reduce_kind kind, asn_dtype in, asn_dtype out) {
    if (is_extreme(kind)) return in;
    if (kind == ASN_REDUCE_ALL || kind == ASN_REDUCE_ANY) return ASN_BOOL;
    asn_dtype t = (asn_dtype)asn_promote_tensors[in][out];
    if (asn_is_half(t)) return ASN_F32;
    return kind > ASN_REDUCE_PROD && !asn_is_inexact(t) ? ASN_F32 : t;
}

/* What the parameters of a call say. */
typedef struct {
    uint64_t mask;
    bool keep, noop, whole; /* whole: the operator has no parameter for dimensions */
    double number;
} options;

/* Reads the options by the parameters' kinds and names, since each operator has some of
 * them, in places of its own. Without dimensions everything is reduced; noop
 * (noopWithEmptyAxes) makes that nothing. */
static asn_status read_options(const asnd_call *c, options *o) {
    int ndim = asn_call_nd(c, 0)->ndim, axis = 0;
    /* The default correction is 1; the default order of a norm, 2. */
    *o = (options){.mask = ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << ndim) - 1,
                   .whole = true,
                   .number = 1};
    bool empty = true;
    if (c->op->arg >= ASN_REDUCE_NORM) o->number = 2;
    for (int i = 1; i < c->op->num_params; i++) {
        const asnd_param *p = &c->op->params[i];
        o->whole &= p->kind != ASN_INTS && strcmp(p->name, "dim") != 0;
        if (p->kind == ASN_INTS) {
            ASN_TRY(asn_call_axes(c, i, ndim, &o->mask));
            empty = asn_call_array(c, i) == NULL || asn_call_array(c, i)->size == 0;
        } else if (p->kind == ASN_SCALAR) {
            if (c->args[i].p != NULL) ASN_TRY(asn_call_number(c, i, &o->number));
        } else if (p->kind == ASN_INT && strcmp(p->name, "dim") == 0) {
            ASN_TRY(asn_call_axis(c, asn_call_int(c, i), ndim, &axis));
            o->mask = ndim ? UINT64_C(1) << axis : 0;
        } else if (strncmp(p->name, "keep", 4) == 0) {
            o->keep = asn_call_int(c, i) != 0;
        } else if (strncmp(p->name, "noop", 4) == 0) {
            o->noop = asn_call_int(c, i) != 0;
        } else if (p->kind == ASN_INT && strcmp(p->name, "dtype") != 0) {
            o->number = (double)asn_call_int(c, i); /* correction, unbiased */
        }
    }
    /* It counts only where no dimensions are given. */
    if (c->op->arg == ASN_REDUCE_POWERS && fabs(o->number) >= INT32_MAX)
        o->number = copysign(INFINITY, o->number);
    o->noop = o->noop && empty;
    if (o->noop) o->mask = 0;
    return ASN_OK;
}

/* VarMean's mean, Aminmax's maximum; -1: there is none. */
static int second_out(const asnd_call *c, int first) {
    for (int i = first + 1; i < c->op->num_params; i++)
        if (c->op->params[i].kind == ASN_OUT) return i;
    return -1;
}

/* arg is the kind. The input is parameter 0; outputs are found by their kinds. */
asn_status asn_planner_reduce(asnd_call *c) {
    options o;
    int out = asn_call_out(c), second = second_out(c, out);
    asnd_reduce_kind kind = (asnd_reduce_kind)c->op->arg;
    const asnd_nd *in = asn_call_nd(c, 0);
    ASN_TRY(read_options(c, &o));
    /* CANN writes the one value of an operator without dimensions to shape (1,), too, and
     * llama.cpp's backend that of a row whose dimension it names. */
    const bool one = o.whole || (in->ndim == 1 && o.mask && !o.keep);
    for (int i = out; one && i < c->op->num_params; i++)
        asn_call_one_value(c, i);
    ASN_TRY(asn_check_reduced(c, 0, out, o.mask, o.keep || o.noop));
    if (second >= 0) ASN_TRY(asn_check_reduced(c, 0, second, o.mask, o.keep));
    asn_dtype loop = loop_of(kind, in->dtype, asn_call_nd(c, out)->dtype);
    asn_dtype result = kind >= ASN_REDUCE_VAR ? asn_real_dtype(loop) : loop;
    ASN_TRY(asn_call_convertible(c, result, out));
    /* Elements for each result; 0 is allowed where the operation has an identity. */
    int64_t count = 1;
    for (int d = 0; d < in->ndim; d++)
        if (o.mask >> d & 1) count *= in->shape[d];
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    bool needs_one = is_extreme(kind) || (kind >= ASN_REDUCE_NORM && isinf(o.number));
    if (count == 0 && needs_one)
        return asn_error_set(ASN_ERR_VALUE, "%s: no elements have no extreme",
                             c->op->name);
    reduce_plan *p = asn_call_plan(c, reduce_body, sizeof *p,
                                   100 + 0.5 * (double)asn_nd_size(in) *
                                             (kind >= ASN_REDUCE_LOGSUMEXP ? 4 : 1));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = kind;
    p->mask = o.mask;
    p->keep = o.keep || o.noop;
    p->number = o.number;
    p->count = count;
    p->in = c->first[0];
    p->out = c->first[out];
    p->second = second < 0 ? -1 : c->first[second];
    p->loop = loop;
    return ASN_OK;
}
