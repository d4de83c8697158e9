/* CPU device, operators: equality of tensors, trace, complex numbers from parts, folds of
 * tensor lists, histograms.
 *
 * Those that are no family of their own. Most are one to three fused programs
 * (program.h); what a body needs beside its operands is in one plan for all of them
 * (misc_plan).
 *
 * A reduction to one value keeps it in a small array of the body, seen as a tensor with
 * strides of 0. Halves are computed in float32 and rounded once.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* What each uses of it is said at the operator. */
typedef struct {
    asnd_plan_head head;
    /* Operands: self, or the first of a list of `count`; other: the second input. */
    int self, other, out, axis, count;
    asn_op op;
    asn_dtype part;   /* Complex: of both parts */
    bool log;         /* IsIn: invert; Round: decimals < 0 */
    double low, high; /* Histc: the range; IsIn: the element; Round: 10 ** |decimals| */
} misc_plan;

/* A plan with self (parameter 0, or the first of its list) and out set, all else 0. ns:
 * nanoseconds an element of self. NULL with the error set. */
static misc_plan *plan_misc(asnd_call *c, asnd_body_fn body, int out, double ns) {
    const asnd_nd *self = asn_call_nd(c, c->first[0] >= 0 ? 0 : out);
    misc_plan *p =
        asn_call_plan(c, body, sizeof *p, 200 + ns * (double)asn_nd_size(self));
    if (p == NULL) return NULL;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->self = c->first[0];
    p->out = c->first[out];
    return p;
}

/* ---- Equal(self, other, out): one bool */

/* *result: whether every element equals its partner; 0 where shapes differ. Both are
 * converted to their common dtype. */
static asn_status all_equal(const asnd_nd *a, const asnd_nd *b, uint8_t *result) {
    *result = 0;
    if (!asn_nd_same_shape(a, b)) return ASN_OK;
    static const int64_t zeros[ASN_ND_MAX_DIMS];
    int64_t ones[ASN_ND_MAX_DIMS];
    for (int d = 0; d < a->ndim; d++)
        ones[d] = 1;
    /* All dimensions are reduced, of extent 1: the one byte of the result. */
    asnd_nd one = {(char *)result, a->ndim, ASN_BOOL, ones, zeros};
    asn_dtype t = (asn_dtype)asn_promote_tensors[a->dtype][b->dtype];
    uint64_t mask = a->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << a->ndim) - 1;
    asnd_prog prog;
    asn_prog_begin(&prog, a->ndim, a->shape, mask);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, a), t);
    int y = asn_prog_as(&prog, asn_prog_in(&prog, b), t);
    asn_prog_reduce(&prog, ASN_OP_LOGICAL_AND, asn_prog_op2(&prog, ASN_OP_EQUAL, x, y),
                    &one);
    return asn_prog_run(&prog);
}

static asn_status equal_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const misc_plan *p = plan;
    uint8_t result;
    ASN_TRY(all_equal(asn_exec_nd(e, p->self), asn_exec_nd(e, p->other), &result));
    return asn_cpu_fill(asn_exec_nd(e, p->out), &result);
}

/* Shapes and dtypes may differ: then the answer is found when it runs. */
asn_status asn_planner_equal(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    if (out->dtype != ASN_BOOL || asn_nd_size(out) != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: out must be one bool", c->op->name);
    misc_plan *p = plan_misc(c, equal_body, 2, 0.5);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->other = c->first[1];
    return ASN_OK;
}

/* ---- PrecisionCompare(golden, realdata, out): 0, or 503 where an element differs; NaN
 * differs from everything and zeros are alike, as in torch.equal. */

static asn_status precision_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const misc_plan *p = plan;
    uint8_t same;
    ASN_TRY(all_equal(asn_exec_nd(e, p->self), asn_exec_nd(e, p->other), &same));
    uint32_t result = same ? 0 : 503;
    return asn_cpu_fill(asn_exec_nd(e, p->out), &result);
}

asn_status asn_planner_precision_compare(asnd_call *c) {
    const asnd_nd *golden = asn_call_nd(c, 0), *real = asn_call_nd(c, 1);
    const asnd_nd *out = asn_call_nd(c, 2);
    if (golden->dtype != real->dtype ||
        (golden->dtype != ASN_F32 && !asn_is_half(golden->dtype)))
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: golden is of %s and realdata of %s; both must be of "
                             "the same one of float16, bfloat16 and float32",
                             c->op->name, asn_dtype_table[golden->dtype].name,
                             asn_dtype_table[real->dtype].name);
    if (golden->ndim > 8 || !asn_nd_same_shape(golden, real))
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: golden has %d dimensions and realdata %d; both must have "
            "the same shape of at most 8",
            c->op->name, golden->ndim, real->ndim);
    if (out->dtype != ASN_U32 || out->ndim != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: out must be a uint32 of no dimensions",
                             c->op->name);
    misc_plan *p = plan_misc(c, precision_body, 2, 0.5);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->other = c->first[1];
    return ASN_OK;
}

/* ---- Trace(self, out) */

/* A diagonal is a line whose stride is the sum of both. It is summed in the promotion of
 * input and output. */
static asn_status trace_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const misc_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    int64_t n = in->shape[0] < in->shape[1] ? in->shape[0] : in->shape[1];
    int64_t stride = in->strides[0] + in->strides[1], one = 1, zero = 0;
    asnd_nd line = {in->data, 1, in->dtype, &n, &stride};
    asn_dtype t = (asn_dtype)asn_promote_tensors[in->dtype][out->dtype];
    asnd_view sum;
    ASN_TRY(asn_tmp_view(tmp, t, 1, &one, &sum));
    sum.strides[0] = zero;
    asnd_prog prog;
    asn_prog_begin(&prog, 1, &n, 1);
    asn_prog_reduce(&prog, ASN_OP_ADD, asn_prog_as(&prog, asn_prog_in(&prog, &line), t),
                    &sum.nd);
    ASN_TRY(asn_prog_run(&prog));
    asn_view_drop(&sum, 0);
    return asn_move(out, &sum.nd);
}

/* An empty matrix has a trace of 0. */
asn_status asn_planner_trace(asnd_call *c) {
    if (asn_call_nd(c, 0)->ndim != 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: self must be 2-d", c->op->name);
    ASN_TRY(asn_call_same_shape(c, 1, 0, NULL));
    ASN_TRY(asn_call_convertible(c, asn_call_nd(c, 0)->dtype, 1));
    return plan_misc(c, trace_body, 1, 0.1) ? ASN_OK : ASN_ERR_MEMORY;
}

/* ---- Complex(real, imag, out); Polar(absolute, angle, out): arg 1 */

/* Both parts are views of the complex output, written in one pass. Polar: absolute *
 * cos(angle) and absolute * sin(angle). */
static asn_status parts_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const misc_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asn_dtype t = p->part;
    asnd_view a, b, re, im;
    asn_view_set(&a, asn_exec_nd(e, p->self));
    asn_view_set(&b, asn_exec_nd(e, p->other));
    asn_view_broadcast(&a, out->ndim, out->shape);
    asn_view_broadcast(&b, out->ndim, out->shape);
    asn_view_set(&re, out);
    re.nd.dtype = t;
    asn_view_set(&im, &re.nd);
    im.nd.data += asn_itemsize(t);
    asnd_prog prog;
    asn_prog_begin(&prog, out->ndim, out->shape, 0);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, &a.nd), t);
    int y = asn_prog_as(&prog, asn_prog_in(&prog, &b.nd), t);
    if (p->op != ASN_OP_NONE) {
        int cosine = asn_prog_op1(&prog, ASN_OP_COS, y),
            sine = asn_prog_op1(&prog, ASN_OP_SIN, y);
        y = asn_prog_op2(&prog, ASN_OP_MULTIPLY, sine, x);
        x = asn_prog_op2(&prog, ASN_OP_MULTIPLY, cosine, x);
    }
    asn_prog_out(&prog, x, &re.nd);
    asn_prog_out(&prog, y, &im.nd);
    return asn_prog_run(&prog);
}

/* The inputs are real and broadcast to out. complex32 comes as a word of its size: parts
 * of float16. */
asn_status asn_planner_parts(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    bool halves = asn_call_operand(c, 2)->source->acl_dtype == ACL_COMPLEX32;
    for (int i = 0; i < 2; i++) {
        const asnd_nd *a = asn_call_nd(c, i);
        if (asn_is_complex(a->dtype) || !(halves || asn_is_complex(out->dtype)))
            return asn_error_set(
                ASN_ERR_TYPE, "%s: the inputs must be real and out complex", c->op->name);
        if (!asn_nd_broadcasts(a, out->ndim, out->shape))
            return asn_call_same_shape(c, i, out->ndim, out->shape);
    }
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    misc_plan *p = plan_misc(c, parts_body, 2, 2);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->other = c->first[1];
    p->op = c->op->arg ? ASN_OP_COS : ASN_OP_NONE;
    p->part = halves ? ASN_F16 : asn_real_dtype(out->dtype);
    return ASN_OK;
}

/* ---- Sum, MaxN, MinN (tensors, out): elementwise over a list; arg is the operation */

/* One pass for each tensor into a temporary of all dtypes' promotion: the output may be
 * one of them. */
static asn_status fold_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const misc_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asn_dtype t = out->dtype;
    for (int k = 0; k < p->count; k++)
        t = (asn_dtype)asn_promote_tensors[t][asn_exec_nd(e, p->self + k)->dtype];
    asnd_view sum, v;
    ASN_TRY(asn_tmp_view(tmp, t, out->ndim, out->shape, &sum));
    for (int k = 0; k < p->count; k++) {
        asn_view_set(&v, asn_exec_nd(e, p->self + k));
        asn_view_broadcast(&v, out->ndim, out->shape);
        asnd_prog prog;
        asn_prog_begin(&prog, out->ndim, out->shape, 0);
        int x = asn_prog_as(&prog, asn_prog_in(&prog, &v.nd), t);
        /* The first tensor begins the result; each other one joins it. */
        if (k > 0) x = asn_prog_op2(&prog, p->op, asn_prog_in(&prog, &sum.nd), x);
        asn_prog_out(&prog, x, &sum.nd);
        ASN_TRY(asn_prog_run(&prog));
    }
    return asn_move(out, &sum.nd);
}

/* Tensors broadcast to out; at least one is needed. */
asn_status asn_planner_fold(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 1);
    const asnd_array *list = asn_call_array(c, 0);
    if (list->size == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: tensors is empty; at least one is needed", c->op->name);
    for (uint64_t k = 0; k < list->size; k++) {
        const asnd_operand *o = &c->e->operands[c->first[0] + (int)k];
        if (o->is_absent || !asn_nd_broadcasts(&o->nd, out->ndim, out->shape))
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: tensor %llu does not broadcast to out", c->op->name,
                                 (unsigned long long)k);
        ASN_TRY(asn_call_convertible(c, o->nd.dtype, 1));
    }
    if (asn_call_operand(c, 1)->is_empty) return ASN_OK;
    misc_plan *p = plan_misc(c, fold_body, 1, (double)list->size);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->count = (int)list->size;
    p->op = (asn_op)c->op->arg;
    return ASN_OK;
}

/* ---- Histc(self, bins, min, max, out): equal bins; min == max takes the data's range */

/* The least and the greatest element; NaN where there is one. */
static void range_of(const double *v, int64_t n, double *low, double *high) {
    *low = *high = v[0];
    for (int64_t i = 1; i < n; i++) {
        *low = v[i] < *low || v[i] != v[i] ? v[i] : *low;
        *high = v[i] > *high || v[i] != v[i] ? v[i] : *high;
    }
}

/* Counts in int64. The last bin holds its upper end; NaN is in none. Of elements that are
 * all equal the range is one less to one more, as in torch.histc; so is the error where
 * the elements' range has no ends. */
static asn_status histc_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const misc_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    int64_t n = asn_nd_size(in), bins = out->shape[0];
    asnd_view x, counts;
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, in->ndim, in->shape, &x));
    ASN_TRY(asn_move(&x.nd, in));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &bins, &counts));
    const double *v = (const double *)x.nd.data;
    int64_t *count = (int64_t *)counts.nd.data;
    memset(count, 0, (size_t)bins * sizeof *count);
    double low = p->low, high = p->high;
    /* min == max: the range of the data. */
    if (low == high && n > 0) range_of(v, n, &low, &high);
    if (!isfinite(low) || !isfinite(high))
        return asn_error_set(ASN_ERR_VALUE,
                             "Histc: the range from %g to %g is not finite", low, high);
    if (low == high) {
        low -= 1;
        high += 1;
    }
    /* Distances of halves, where the whole one overflows. */
    const double part = isinf(high - low) ? 0.5 : 1, span = part * high - part * low;
    for (int64_t i = 0; i < n; i++) {
        if (!(v[i] >= low && v[i] <= high)) continue;
        int64_t k = (int64_t)((part * v[i] - part * low) / span * (double)bins);
        count[k < bins ? k : bins - 1]++;
    }
    return asn_move(out, &counts.nd);
}

/* bins is at least 1, so that the output is never empty. */
asn_status asn_planner_histc(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t bins = asn_call_int(c, 1);
    double range[2] = {0, 0};
    ASN_TRY(asn_call_number(c, 2, &range[0]));
    ASN_TRY(asn_call_number(c, 3, &range[1]));
    if (bins < 1 || !(range[0] <= range[1]) || isinf(range[0]) || isinf(range[1]) ||
        asn_is_complex(self->dtype))
        return asn_error_set(ASN_ERR_VALUE, "%s: %lld bins from %g to %g", c->op->name,
                             (long long)bins, range[0], range[1]);
    ASN_TRY(asn_call_same_shape(c, 4, 1, &bins));
    misc_plan *p = plan_misc(c, histc_body, 4, 3);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->low = range[0];
    p->high = range[1];
    return ASN_OK;
}

/* ---- IsInScalarTensor(element, testElements, assumeUnique, invert, out): one bool */

/* Whether any element of testElements equals p->low, in float64. One value is looked for:
 * a pass is all that is needed, and assumeUnique changes nothing. */
static asn_status is_in_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const misc_plan *p = plan;
    const asnd_nd *a = asn_exec_nd(e, p->self);
    static const int64_t zeros[ASN_ND_MAX_DIMS];
    int64_t ones[ASN_ND_MAX_DIMS];
    uint8_t found = 0;
    for (int d = 0; d < a->ndim; d++)
        ones[d] = 1;
    asnd_nd one = {(char *)&found, a->ndim, ASN_BOOL, ones, zeros};
    asnd_prog prog;
    asn_prog_begin(&prog, a->ndim, a->shape,
                   a->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << a->ndim) - 1);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, a), ASN_F64);
    int y = asn_prog_const(&prog, ASN_F64, p->low);
    asn_prog_reduce(&prog, ASN_OP_LOGICAL_OR, asn_prog_op2(&prog, ASN_OP_EQUAL, x, y),
                    &one);
    ASN_TRY(asn_prog_run(&prog));
    found ^= p->log; /* invert */
    return asn_cpu_fill(asn_exec_nd(e, p->out), &found);
}

/* element is a scalar, read here; testElements is parameter 1. */
asn_status asn_planner_is_in(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 4);
    double element = 0;
    ASN_TRY(asn_call_number(c, 0, &element));
    if (out->dtype != ASN_BOOL || asn_nd_size(out) != 1 ||
        asn_is_complex(asn_call_nd(c, 1)->dtype))
        return asn_error_set(ASN_ERR_VALUE, "%s: out must be one bool, testElements real",
                             c->op->name);
    misc_plan *p = plan_misc(c, is_in_body, 4, 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[1];
    p->low = element;
    p->log = asn_call_int(c, 3) != 0;
    return ASN_OK;
}

/* ---- OneHot(self, numClasses, onValue, offValue, axis, out): out = self == class ? on :
 * off */

/* One program: self stretched along the new axis, compared with the class numbers 0, 1,
 * ... along it. A number that is no class gives off values everywhere. */
static asn_status one_hot_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const misc_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view self, classes, on, off;
    int64_t n = out->shape[p->axis], start = 0, step = 1;
    asn_view_set(&self, asn_exec_nd(e, p->self));
    asn_view_insert(&self, p->axis, n, 0);
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &n, &classes));
    ASN_TRY(asn_cpu_arange(&classes.nd, &start, &step));
    /* The classes vary along p->axis alone. */
    while (classes.nd.ndim < out->ndim - p->axis)
        asn_view_insert(&classes, classes.nd.ndim, 1, 0);
    asn_view_broadcast(&classes, out->ndim, out->shape);
    asn_view_set(&on, asn_exec_nd(e, p->other));
    asn_view_set(&off, asn_exec_nd(e, p->other + 1));
    /* Values of one element, whatever their shape, as 0-d views. */
    on.nd.ndim = off.nd.ndim = 0;
    asn_view_broadcast(&on, out->ndim, out->shape);
    asn_view_broadcast(&off, out->ndim, out->shape);
    asnd_prog prog;
    asn_prog_begin(&prog, out->ndim, out->shape, 0);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, &self.nd), ASN_I64);
    x = asn_prog_op2(&prog, ASN_OP_EQUAL, x, asn_prog_in(&prog, &classes.nd));
    int yes = asn_prog_as(&prog, asn_prog_in(&prog, &on.nd), out->dtype);
    int no = asn_prog_as(&prog, asn_prog_in(&prog, &off.nd), out->dtype);
    asn_prog_out(&prog, asn_prog_op3(&prog, ASN_OP_WHERE, x, yes, no), out);
    return asn_prog_run(&prog);
}

/* axis counts the output's dimensions, one more than self's; -1 puts the classes last. */
asn_status asn_planner_one_hot(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *out = asn_call_nd(c, 5);
    int axis = 0;
    int64_t n = asn_call_int(c, 1);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 4), self->ndim + 1, &axis));
    ASN_TRY(asn_index_dtype(c, 0, self));
    if (n < 0 || self->ndim == ASN_ND_MAX_DIMS || asn_nd_size(asn_call_nd(c, 2)) != 1 ||
        asn_nd_size(asn_call_nd(c, 3)) != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numClasses is %lld; the values have one element",
                             c->op->name, (long long)n);
    asnd_view want;
    asn_view_set(&want, self);
    asn_view_insert(&want, axis, n, 0);
    ASN_TRY(asn_call_same_shape(c, 5, want.nd.ndim, want.shape));
    for (int i = 2; i < 4; i++)
        ASN_TRY(asn_call_convertible(c, asn_call_nd(c, i)->dtype, 5));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    misc_plan *p = plan_misc(c, one_hot_body, 5, (double)out->shape[axis]);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->other = c->first[2];
    p->axis = axis;
    return ASN_OK;
}

/* ---- RoundDecimals(self, decimals, out), in place or not: halves to even after scaling
 */

/* rint(x * 10 ** decimals) / 10 ** decimals, for negative decimals with the operations
 * exchanged: 10 ** -decimals is exact where its reciprocal is not. As numpy.round
 * does. */
static asn_status round_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const misc_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    asn_dtype t = in->dtype == ASN_F64 || asn_is_integer(in->dtype) ? ASN_F64 : ASN_F32;
    asnd_prog prog;
    asn_prog_begin(&prog, in->ndim, in->shape, 0);
    int x = asn_prog_as(&prog, asn_prog_in(&prog, in), t);
    int scale = asn_prog_const(&prog, t, p->high);
    asn_op first = p->log ? ASN_OP_DIVIDE : ASN_OP_MULTIPLY;
    x = asn_prog_op1(&prog, ASN_OP_RINT, asn_prog_op2(&prog, first, x, scale));
    x = asn_prog_op2(&prog, p->log ? ASN_OP_MULTIPLY : ASN_OP_DIVIDE, x, scale);
    asn_prog_out(&prog, x, out);
    return asn_prog_run(&prog);
}

/* Beyond 300 decimals the power would leave the range of a double. */
asn_status asn_planner_round_decimals(asnd_call *c) {
    int out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t decimals = asn_call_int(c, 1);
    if (asn_is_complex(self->dtype) || decimals < -300 || decimals > 300)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self must be real and decimals in [-300, 300]",
                             c->op->name);
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    ASN_TRY(asn_call_convertible(c, self->dtype, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    misc_plan *p = plan_misc(c, round_body, out, 1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->log = decimals < 0;
    p->high = pow(10, fabs((double)decimals));
    return ASN_OK;
}
