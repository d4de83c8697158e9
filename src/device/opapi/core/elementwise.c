/* CPU device, operators: from expression to fused program.
 *
 * The loop dtype is CANN's promotion of the tensors, then of the scalars
 * (promotion.json), completed by NumPy's rules. Where a step has no loop for it, integers
 * are computed in float32, or float64 when that is the output's dtype; several steps on
 * halves are computed in float32. Inputs of other dtypes are converted in the program
 * itself; a predicate's bool is converted where a step needs a number.
 *
 * The program is made in phase 1, in the executor's memory, and only its addresses are
 * filled in when it runs: a repeated executor costs no planning. A tensor that is read
 * twice is one input. Where all tensors are row-major and of one shape the program has a
 * single dimension, which is the engine's fastest case.
 */
#include "device/opapi/core/plan.h"

#include <math.h>
#include <string.h>

#include "device/cpu/fused/fused.h"
#include "ops/program.h"

enum {
    MAX_IN = 24,
    MAX_STEPS = 64,
    ABSENT = -1 /* an optional parameter that is NULL */
};

/* A program's input: an operand of the executor, or a number. */
typedef struct {
    int16_t operand; /* index in the executor; -1: immediate */
    uint8_t ref;     /* what it was made from */
    asn_dtype dtype;
    _Alignas(16) uint8_t immediate[16];
} input;

/* One planning: the call, the expression, and what is built so far. */
typedef struct {
    asnd_call *c;
    const asnd_ew *ew;
    asn_dtype loop;
    asn_builder code;
    input in[MAX_IN];
    int value[MAX_STEPS]; /* results of steps, or ABSENT */
} builder;

/* What phase 2 runs; the program points into the executor's memory. */
typedef struct {
    aclnnxProgram program;
    int16_t operand[MAX_IN + 1]; /* per program operand: index in the executor, or -1 */
} ew_plan;

/* ---- the loop dtype */

/* Whether the operation leaves every element of the dtype as it is. */
static bool changes_nothing(asn_op op, asn_dtype dtype) {
    return (op == ASN_OP_RINT && asn_is_integer(dtype)) ||
           (op == ASN_OP_REAL && !asn_is_complex(dtype));
}

/* Whether every step can be computed in the dtype. */
static bool all_loops(const asnd_ew *ew, asn_dtype dtype) {
    for (int k = 0; k < ew->num_steps; k++) {
        asn_op op = (asn_op)ew->steps[k].op;
        if (!changes_nothing(op, dtype) && !asn_op_has_loop(op, dtype)) return false;
    }
    return true;
}

/* The error of an expression that has no loop for the dtype. */
static asn_status no_loop(const builder *b, asn_dtype dtype) {
    return asn_error_set(ASN_ERR_NO_LOOP, "%s: not defined for dtype %s", b->c->op->name,
                         asn_dtype_name(dtype));
}

/* The loop dtype of the expression for this call's arguments, before any detour;
 * ASN_DTYPE_NONE if no argument takes part. */
static asn_dtype promoted(const asnd_call *c, const asnd_ew *ew) {
    asn_dtype t = ASN_DTYPE_NONE;
    const asnd_opdesc *op = c->op;
    for (int i = 0; i < op->num_params; i++) {
        const asnd_nd *nd = asn_call_nd(c, i);
        if (!(ew->promotes >> i & 1) || nd == NULL) continue;
        t = t == ASN_DTYPE_NONE ? nd->dtype
                                : (asn_dtype)asn_promote_tensors[t][nd->dtype];
    }
    for (int i = 0; i < op->num_params; i++) {
        const aclScalar *s = c->args[i].p;
        if (!(ew->promotes >> i & 1) || op->params[i].kind != ASN_SCALAR || s == NULL)
            continue;
        if (s->dtype >= ASN_DTYPE_COUNT) continue;
        t = t == ASN_DTYPE_NONE ? (asn_dtype)s->dtype
                                : (asn_dtype)asn_promote_scalar[s->dtype][t];
    }
    return t;
}

/* Steps on halves are computed in float32 and rounded once, at the end: softplus's
 * exponential passes what a float16 holds where its logarithm does not. */
static bool needs_wide(const asnd_ew *ew, asn_dtype t) {
    return asn_is_half(t) && ew->num_steps > 1 && all_loops(ew, ASN_F32);
}

/* `floats`: the operator is one of real analysis (a sine, a quotient), whatever loops
 * integers have; `inverts`: with an output of floats it is. An expression of no tensors
 * takes the output's dtype. */
static asn_status choose_loop(builder *b, asn_dtype out) {
    asn_dtype t = promoted(b->c, b->ew);
    if (t == ASN_DTYPE_NONE) t = out;
    b->loop = needs_wide(b->ew, t) ? ASN_F32 : t;
    bool detour =
        (b->ew->floats || (b->ew->inverts && asn_is_inexact(out))) && !asn_is_inexact(t);
    if (!detour && all_loops(b->ew, t)) return ASN_OK;
    if (asn_is_inexact(t)) return no_loop(b, t);
    b->loop = out == ASN_F64 || out == ASN_C128 ? ASN_F64 : ASN_F32;
    return all_loops(b->ew, b->loop) ? ASN_OK : no_loop(b, t);
}

/* ---- values */

/* *out: the program's value of an input, a new one unless it is there already: the same
 * parameter in the same dtype once, so that x * x reads x once. */
static asn_status add_input(builder *b, const input *in, int *out) {
    for (*out = 0; *out < b->code.num_in; ++*out)
        if (b->in[*out].ref == in->ref && b->in[*out].dtype == in->dtype) return ASN_OK;
    if (*out == MAX_IN)
        return asn_error_set(ASN_ERR_RUNTIME, "%s: too many operands", b->c->op->name);
    b->in[*out] = *in;
    *out = asn_build_input(&b->code, in->dtype);
    return ASN_OK;
}

/* *out: a parameter's value, as an immediate of dtype `want`, or a tensor's, in its own
 * dtype; ABSENT for NULL. */
static asn_status param_value(builder *b, int i, asn_dtype want, int *out) {
    input in = {-1, (uint8_t)i, want, {0}};
    const asnd_arg *arg = &b->c->args[i];
    switch (b->c->op->params[i].kind) {
    case ASN_DOUBLE: asn_value_from_double(want, in.immediate, arg->f); break;
    case ASN_INT: asn_value_from_int(want, in.immediate, arg->i); break;
    case ASN_SCALAR:
    case ASN_SCALARS: {
        bool list = b->c->op->params[i].kind == ASN_SCALARS;
        const aclScalar *s =
            list ? ((const aclScalar *const *)asn_call_array(b->c, i)->data)[b->c->place]
                 : arg->p;
        if (s == NULL) {
            *out = ABSENT;
            return ASN_OK;
        }
        if (s->dtype >= ASN_DTYPE_COUNT)
            return asn_error_set(
                ASN_ERR_TYPE, "%s: %s has dtype %d, which no operator computes with",
                b->c->op->name, b->c->op->params[i].name, (int)s->acl_dtype);
        asn_value_cast(want, in.immediate, (asn_dtype)s->dtype, s->value);
        break;
    }
    default:
        if (b->c->first[i] < 0) {
            *out = ABSENT;
            return ASN_OK;
        }
        in.operand = b->c->first[i];
        in.dtype = b->c->e->operands[in.operand].nd.dtype;
    }
    return add_input(b, &in, out);
}

/* *out: the value of a step's operand, converted to `want`. ABSENT passes through: what
 * is made of it is absent too. */
static asn_status source(builder *b, uint8_t ref, asn_dtype want, int *out) {
    int from = ABSENT;
    if (ref & ASN_EW_STEP) {
        from = b->value[ref & ASN_EW_INDEX];
    } else if (ref & ASN_EW_CONST) {
        input in = {-1, ref, want, {0}};
        asn_value_from_double(want, in.immediate, b->ew->consts[ref & ASN_EW_INDEX]);
        ASN_TRY(add_input(b, &in, &from));
    } else {
        ASN_TRY(param_value(b, ref, want, &from));
    }
    *out = from == ABSENT ? ABSENT : asn_build_cast(&b->code, from, want);
    return ASN_OK;
}

/* ---- steps */

/* A scalar that scales integers must be whole. A fraction would be cut off where the
 * result is of integers; that of a bound may be, as PyTorch has it. */
static asn_status alpha_check(const builder *b, int i, const aclScalar *s) {
    double value = asn_value_to_double((asn_dtype)s->dtype, s->value);
    bool whole = isfinite(value) && floor(value) == value;
    if (asn_is_inexact(b->loop) || !asn_is_inexact((asn_dtype)s->dtype) || whole)
        return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s: %s is %g, but the result is of dtype %s",
                         b->c->op->name, b->c->op->params[i].name, value,
                         asn_dtype_name(b->loop));
}

/* The index of the source that a step without effect passes on; -1: the step does
 * something. Such are a factor alpha of 1, a bound that is absent, the rounding of an
 * integer. */
static asn_status passes_on(builder *b, const asnd_ew_step *step, int count,
                            int *source_index) {
    *source_index = -1;
    if (count == 1) {
        if (changes_nothing((asn_op)step->op, b->loop)) *source_index = 0;
        return ASN_OK;
    }
    for (int k = 0; k < count && k < 2; k++) {
        uint8_t ref = step->src[k];
        if (ref >= ASN_EW_STEP) continue;
        const aclScalar *s = b->c->args[ref].p;
        bool scalar = b->c->op->params[ref].kind == ASN_SCALAR;
        bool absent =
            scalar ? s == NULL : b->c->op->params[ref].optional && b->c->first[ref] < 0;
        if (absent) *source_index = 1 - k;
        if (absent || !scalar || !(b->ew->weak >> ref & 1) || s->dtype >= ASN_DTYPE_COUNT)
            continue;
        bool bound = asn_op_table[step->op].flags & ASN_OPF_EXTREME;
        if (!bound) ASN_TRY(alpha_check(b, ref, s));
        if (step->op == ASN_OP_MULTIPLY && !asn_is_complex((asn_dtype)s->dtype) &&
            asn_value_to_double((asn_dtype)s->dtype, s->value) == 1)
            *source_index = 1 - k;
    }
    return ASN_OK;
}

/* An integer parameter that is an operand of logic is a flag. */
static bool is_predicate(const builder *b, uint8_t ref) {
    if (ref < ASN_EW_STEP) return b->c->op->params[ref].kind == ASN_INT;
    const int value = ref & ASN_EW_STEP ? b->value[ref & ASN_EW_INDEX] : ABSENT;
    return value != ABSENT && asn_build_dtype(&b->code, value) == ASN_BOOL;
}

/* Logic on predicates stays in bool. */
static asn_dtype step_dtype(const builder *b, const asnd_ew_step *step, int count) {
    bool logic = asn_op_table[step->op].flags & ASN_OPF_TRUTH;
    for (int k = 0; k < count && logic; k++)
        logic = is_predicate(b, step->src[k]);
    return logic ? ASN_BOOL : b->loop;
}

/* The step's operation, or its equal for the scalar that is an operand: x ** 2 is a
 * square and x ** -1 a reciprocal of the same values, at a fifth of the time. */
static asn_op step_op(const builder *b, const asnd_ew_step *step) {
    const uint8_t ref = step->src[1];
    if (step->op != ASN_OP_POWER || ref >= ASN_EW_STEP) return (asn_op)step->op;
    const aclScalar *s =
        b->c->op->params[ref].kind == ASN_SCALAR ? b->c->args[ref].p : NULL;
    if (s == NULL || s->dtype >= ASN_DTYPE_COUNT || asn_is_complex((asn_dtype)s->dtype))
        return ASN_OP_POWER;
    const double exponent = asn_value_to_double((asn_dtype)s->dtype, s->value);
    if (exponent == 2) return ASN_OP_SQUARE;
    return exponent == -1 && asn_is_floating(b->loop) ? ASN_OP_RECIPROCAL : ASN_OP_POWER;
}

/* Emits step k. A step with an absent operand and no other to pass on is absent
 * itself. */
static asn_status build_step(builder *b, int k) {
    const asnd_ew_step *step = &b->ew->steps[k];
    const asn_op op = step_op(b, step);
    int count = asn_op_table[op].num_in, pass = -1;
    asn_dtype dtype = step_dtype(b, step, count);
    ASN_TRY(passes_on(b, step, count, &pass));
    if (pass >= 0) return source(b, step->src[pass], dtype, &b->value[k]);
    int src[3];
    for (int i = 0; i < count; i++) {
        ASN_TRY(source(b, step->src[i], asn_op_operand(op, i, dtype), &src[i]));
        if (src[i] == ABSENT) {
            b->value[k] = ABSENT;
            return ASN_OK;
        }
    }
    b->value[k] = asn_build_op(&b->code, op, dtype, src);
    return ASN_OK;
}

/* Emits the output, in the dtype of parameter out_param. Only a chain of optional bounds
 * can be absent altogether. */
static asn_status build_result(builder *b, int value, int out_param) {
    if (value == ABSENT)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: all bounds are NULL",
                             b->c->op->name);
    ASN_TRY(asn_call_convertible(b->c, asn_build_dtype(&b->code, value), out_param));
    value = asn_build_cast(&b->code, value, asn_call_nd(b->c, out_param)->dtype);
    asn_build_output(&b->code, value, false);
    return ASN_OK;
}

/* ---- shapes */

/* The error of an input that does not broadcast to the output. */
static asn_status shape_error(const builder *b, const input *in, const asnd_nd *out) {
    const asnd_nd *a = &b->c->e->operands[in->operand].nd;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, which does not broadcast to %s",
                         b->c->op->name, b->c->op->params[in->ref].name,
                         asn_shape_text(got, a->ndim, a->shape),
                         asn_shape_text(want, out->ndim, out->shape));
}

/* Every input broadcasts to the output, and together they fill it. */
static asn_status check_shapes(const builder *b, int out_param) {
    const asnd_nd *out = asn_call_nd(b->c, out_param);
    int64_t full[ASN_ND_MAX_DIMS];
    int ndim = 0;
    bool inplace = b->c->op->params[out_param].kind == ASN_INOUT;
    for (int k = 0; k < b->code.num_in; k++) {
        if (b->in[k].operand < 0) continue;
        const asnd_nd *a = &b->c->e->operands[b->in[k].operand].nd;
        if (a->ndim > out->ndim) return shape_error(b, &b->in[k], out);
        int shift = out->ndim - a->ndim;
        for (int d = 0; d < a->ndim; d++)
            if (a->shape[d] != 1 && a->shape[d] != out->shape[d + shift])
                return shape_error(b, &b->in[k], out);
        for (; ndim < a->ndim; ndim++)
            full[ndim] = 1; /* counted from the last dimension */
        for (int d = 0; d < a->ndim; d++)
            if (a->shape[d] != 1) full[a->ndim - 1 - d] = a->shape[d];
    }
    /* In place, self may be larger than the other operands together. */
    bool same = inplace || ndim == out->ndim;
    for (int d = 0; d < ndim && same && !inplace; d++)
        same = full[d] == out->shape[ndim - 1 - d];
    for (int d = 0; d < out->ndim; d++)
        if (out->strides[d] == 0 && out->shape[d] > 1 &&
            !asn_call_operand(b->c, out_param)->is_empty)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is a broadcast view, which cannot be written",
                                 b->c->op->name, b->c->op->params[out_param].name);
    if (same) return ASN_OK;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    int64_t shape[ASN_ND_MAX_DIMS];
    for (int d = 0; d < ndim; d++)
        shape[d] = full[ndim - 1 - d];
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has shape %s; the operands give %s",
                         b->c->op->name, b->c->op->params[out_param].name,
                         asn_shape_text(got, out->ndim, out->shape),
                         asn_shape_text(want, ndim, shape));
}

/* Row-major and of out's very shape: no broadcasting. */
static bool is_flat(const asnd_nd *a, const asnd_nd *out) {
    if (a->ndim != out->ndim || !asn_nd_is_contiguous(a)) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != out->shape[d]) return false;
    return true;
}

/* Strides of `a` in out's space; NULL when out of memory. */
static const int64_t *broadcast_strides(aclOpExecutor *e, const asnd_nd *a,
                                        const asnd_nd *out) {
    int64_t *strides = asnop_executor_alloc(e, (size_t)out->ndim * sizeof *strides);
    if (strides == NULL) return NULL;
    int shift = out->ndim - a->ndim;
    for (int d = 0; d < out->ndim; d++)
        strides[d] = d < shift || a->shape[d - shift] == 1 ? 0 : a->strides[d - shift];
    return strides;
}

/* ---- the program */

/* Phase 2: the operands' addresses are the executor's of this run. */
static asn_status run_program(aclOpExecutor *e) {
    ew_plan *plan = e->plan;
    aclnnxOperand *operands = (aclnnxOperand *)plan->program.operands;
    int count = plan->program.numIn + plan->program.numOut;
    for (int i = 0; i < count; i++)
        if (plan->operand[i] >= 0)
            operands[i].data = e->operands[plan->operand[i]].nd.data;
    return asn_cpu_fused(&plan->program);
}

/* Fills the program's operands and space: one flat dimension where every tensor is
 * row-major and of the output's shape, else the output's dimensions with each input's
 * strides. */
static asn_status fill_operands(const builder *b, const asn_built *built, ew_plan *plan,
                                aclnnxOperand *operands, int out_param) {
    aclOpExecutor *e = b->c->e;
    const asnd_nd *out = asn_call_nd(b->c, out_param);
    bool flat = asn_nd_is_contiguous(out);
    for (int k = 0; k < built->num_in && flat; k++) {
        const int16_t index = b->in[built->inputs[k]].operand;
        flat = index < 0 || is_flat(&e->operands[index].nd, out);
    }
    for (int k = 0; k <= built->num_in; k++) {
        bool is_out = k == built->num_in;
        const input *in = &b->in[built->inputs[is_out ? 0 : k]];
        int16_t index = is_out ? b->c->first[out_param] : in->operand;
        aclnnxOperand *o = &operands[k];
        plan->operand[k] = index;
        o->data = NULL;
        o->strides = NULL;
        o->flags = 0;
        o->reduceOp = ACLNNX_NO_REDUCE;
        if (index < 0) {
            o->dtype = (uint8_t)asn_dtype_table[in->dtype].acl;
            memcpy(o->immediate, in->immediate, sizeof o->immediate);
            continue;
        }
        const asnd_nd *a = &e->operands[index].nd;
        o->dtype = (uint8_t)asn_dtype_table[a->dtype].acl;
        o->data = a->data;
        if (flat || out->ndim == 0) continue;
        o->strides = is_out ? out->strides : broadcast_strides(e, a, out);
        if (o->strides == NULL) return asn_call_no_memory();
    }
    if (flat) {
        int64_t *size = asnop_executor_alloc(e, sizeof *size);
        if (size == NULL) return asn_call_no_memory();
        *size = asn_nd_size(out);
        plan->program.numDims = 1;
        plan->program.shape = size;
    } else {
        plan->program.numDims = out->ndim;
        plan->program.shape = out->shape;
    }
    return ASN_OK;
}

/* Finishes the code and copies everything into the executor's memory: the caller's is on
 * its stack. */
static asn_status make_program(builder *b, int out) {
    aclOpExecutor *e = b->c->e;
    aclnnxInstr code[ACLNNX_MAX_INSTRS];
    asn_built built = {.instrs = code};
    ASN_TRY(asn_build_finish(&b->code, &built));
    const size_t bytes = (size_t)built.num_instrs * sizeof *code;
    ew_plan *plan = asnop_executor_alloc(e, sizeof *plan);
    aclnnxOperand *operands =
        asnop_executor_alloc(e, (size_t)(built.num_in + 1) * sizeof *operands);
    aclnnxInstr *instrs = asnop_executor_alloc(e, bytes);
    if (plan == NULL || operands == NULL || instrs == NULL) return asn_call_no_memory();
    ASN_TRY(fill_operands(b, &built, plan, operands, out));
    memcpy(instrs, code, bytes);
    plan->program.numIn = built.num_in;
    plan->program.numOut = 1;
    plan->program.numInstrs = built.num_instrs;
    plan->program.numRegs = built.num_regs;
    plan->program.reduceMask = 0;
    plan->program.operands = operands;
    plan->program.instrs = instrs;
    plan->program.fpFlags = NULL;
    e->plan = plan;
    e->work_ns = asn_cpu_fused_work(&plan->program);
    e->body = run_program;
    return ASN_OK;
}

asn_status asn_ew_plan(asnd_call *c, const asnd_ew *ew) {
    builder b;
    int out = asn_call_out(c);
    b.c = c;
    b.ew = ew;
    asn_build_begin(&b.code);
    ASN_TRY(choose_loop(&b, asn_call_nd(c, out)->dtype));
    int steps = 0; /* one at least */
    do
        ASN_TRY(build_step(&b, steps++));
    while (steps < ew->num_steps);
    ASN_TRY(build_result(&b, b.value[steps - 1], out));
    ASN_TRY(check_shapes(&b, out));
    return asn_call_operand(c, out)->is_empty ? ASN_OK : make_program(&b, out);
}

asn_status asn_planner_elementwise(asnd_call *c) {
    return asn_ew_plan(c, c->op->detail);
}

/* DivMod: 0 divides, 1 rounds towards zero, 2 towards minus infinity; the fourth variant
 * rounds integers towards zero without leaving their dtype. */
asn_status asn_planner_div_mode(asnd_call *c) {
    const asnd_ew *variants = c->op->detail;
    int64_t mode = asn_call_int(c, 2);
    if (mode < 0 || mode > 2)
        return asn_error_set(ASN_ERR_VALUE, "%s: mode is %lld; it must be 0, 1 or 2",
                             c->op->name, (long long)mode);
    asn_dtype t = promoted(c, &variants[2]);
    return asn_ew_plan(c, &variants[mode == 1 && asn_is_integer(t) ? 3 : mode]);
}

/* Sigmoid, Silu: the second variant is of complex numbers, which have no row of their own
 * for it and are written out. */
asn_status asn_planner_complex_apart(asnd_call *c) {
    const asnd_ew *variants = c->op->detail;
    return asn_ew_plan(c, &variants[asn_is_complex(asn_call_nd(c, 0)->dtype) ? 1 : 0]);
}
