/* CPU device: validation of a fused program and its lowering to kernel calls.
 *
 * Halves have no loops: an instruction on float16 reads its operands as float32 values
 * (converted once, however many readers there are), runs the float32 loop and rounds the
 * result to the half, so every operation gives the very value that NumPy's half loop
 * gives. A result that only float32 readers want is rounded in place and never becomes a
 * half; one that is only stored is converted straight from the loop's output. Which forms
 * are wanted is known before lowering (mark_readers). Rows with loops on the halves' bits
 * (copy, where, nextafter) use those.
 *
 * A program is checked while it is lowered: every register is written once and before it
 * is read, dtypes are those of the operations' loops, outputs are all written. What
 * passes cannot make the engine read or write outside of its operands' spaces; addresses
 * and strides are the caller's.
 */
#include "device/cpu/fused/program.h"

#include <string.h>

/* What an element of an unknown loop is taken to cost. */
static const double CALL_NS = 2;

/* aclDataType -> asn_dtype + 1 */
static const uint8_t from_acl[32] = {
#define ASN_DTYPE_ROW(ID, name, ctype, ch, kind, size, align, acl) [acl] = ASN_##ID + 1,
#include "base/dtype.def"
#undef ASN_DTYPE_ROW
};

/* From CANN's number to ours; ASN_DTYPE_NONE: the library has no such dtype. */
asn_dtype asn_plan_dtype(int acl) {
    if (acl < 0 || acl >= 32 || !from_acl[acl]) return ASN_DTYPE_NONE;
    return (asn_dtype)(from_acl[acl] - 1);
}

asn_status asn_program_check(const aclnnxProgram *p) {
    if (p->numDims < 0 || p->numDims > ACLNNX_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE,
                             "fused: %d dimensions, at most %d are allowed", p->numDims,
                             ACLNNX_MAX_DIMS);
    if (p->numIn < 0 || p->numOut < 1 || p->numIn > ACLNNX_MAX_OPERANDS ||
        p->numOut > ACLNNX_MAX_OPERANDS - p->numIn)
        return asn_error_set(
            ASN_ERR_VALUE,
            "fused: %d inputs and %d outputs, at most %d operands and at "
            "least one output are allowed",
            p->numIn, p->numOut, ACLNNX_MAX_OPERANDS);
    if (p->numInstrs < 1 || p->numInstrs > ACLNNX_MAX_INSTRS)
        return asn_error_set(ASN_ERR_VALUE, "fused: %d instructions, 1 to %d are allowed",
                             p->numInstrs, ACLNNX_MAX_INSTRS);
    if (p->numRegs < p->numIn + p->numOut || p->numRegs > ACLNNX_MAX_REGS)
        return asn_error_set(ASN_ERR_VALUE, "fused: %d registers, %d to %d are allowed",
                             p->numRegs, p->numIn + p->numOut, ACLNNX_MAX_REGS);
    if ((p->numDims && !p->shape) || !p->operands || !p->instrs)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "fused: shape, operands and instrs must be given");
    return ASN_OK;
}

/* A reducing output's fold. Its register is read in the accumulator's dtype. Fills in a
 * fold, the kernel of partial results and the identity. ASN_ERR_VALUE: the opcode is not
 * binary; ASN_ERR_NO_LOOP: no fold for the dtype. */
static asn_status add_reduction(asnd_plan *plan, int operand) {
    const aclnnxOperand *out = &plan->operands[operand];
    asn_dtype dt = plan->dtype[operand];
    asn_op op = (asn_op)out->reduceOp;
    if ((unsigned)op >= ASN_OP_CAST || asn_op_table[op].num_in != 2)
        return asn_error_set(
            ASN_ERR_VALUE, "fused: output %d reduces with opcode %d, which is not binary",
            operand - plan->num_in, out->reduceOp);
    asnd_reduction *r = &plan->reductions[plan->num_reductions++];
    r->operand = operand;
    r->op = op;
    r->out_dtype = dt;
    r->dtype = asn_is_half(dt) ? ASN_F32 : dt;
    r->fold = plan->kernels->fold[op][r->dtype];
    r->rows = plan->kernels->rows[op][r->dtype];
    r->combine = plan->kernels->ew[op][r->dtype];
    r->sum = op == ASN_OP_ADD ? plan->kernels->sum[r->dtype] : NULL;
    r->splits = asn_op_table[op].flags & ASN_OPF_ASSOCIATIVE;
    r->quiet = plan->kernels->quiet[op][r->dtype];
    if (!r->fold)
        return asn_error_set(ASN_ERR_NO_LOOP, "%s: no reduction for dtype %s",
                             asn_op_table[op].name, asn_dtype_name(dt));
    const asn_op_info *info = &asn_op_table[op];
    r->has_identity = info->has_identity;
    r->from_identity = info->has_identity && (info->flags & ASN_OPF_REORDERABLE);
    if (r->has_identity)
        plan->kernels->cast[ASN_F64][r->dtype](1, r->identity, &info->identity, NULL,
                                               NULL);
    if (asn_is_half(dt))
        plan->reads32[operand] = 1;
    else
        plan->reads_own[operand] = 1;
    return ASN_OK;
}

/* Takes the next number, for a value of `dt`; the room has two values for each register,
 * its own form and a half's float32. */
static uint16_t new_value(asnd_plan *plan, asn_dtype dt) {
    plan->item[plan->num_values] = (uint8_t)asn_itemsize(dt);
    plan->value_dtype[plan->num_values] = (uint8_t)dt;
    return (uint16_t)plan->num_values++;
}

/* Registers 0 .. num_operands-1 are the operands; inputs have values, outputs get theirs
 * when they are written. */
static asn_status define_operands(asnd_plan *plan, const aclnnxProgram *p) {
    memset(plan->dtype, ASN_DTYPE_NONE, (size_t)p->numRegs);
    memset(plan->reads_own, 0, (size_t)p->numRegs);
    memset(plan->reads32, 0, (size_t)p->numRegs);
    for (int r = 0; r < p->numRegs; r++)
        plan->value[r] = plan->value32[r] = ASN_NO_VALUE;
    for (int i = 0; i < plan->num_operands; i++) {
        const aclnnxOperand *o = &p->operands[i];
        asn_dtype dt = asn_plan_dtype(o->dtype);
        if (dt == ASN_DTYPE_NONE)
            return asn_error_set(ASN_ERR_VALUE, "fused: operand %d has unknown dtype %d",
                                 i, o->dtype);
        plan->dtype[i] = (uint8_t)dt;
        if (i < plan->num_in) {
            plan->value[i] = new_value(plan, dt);
        } else if (o->reduceOp != ACLNNX_NO_REDUCE) {
            ASN_TRY(add_reduction(plan, i));
        } else {
            plan->reads_own[i] = 1;
        }
    }
    return ASN_OK;
}

/* The float32 loop stands in for a half's. */
static bool is_lowered(const asnd_plan *plan, const aclnnxInstr *in, asn_dtype dt) {
    return asn_is_half(dt) && in->op < ASN_OP_CAST && !plan->kernels->ew[in->op][dt];
}

/* Inputs of an instruction. */
static int arity(const aclnnxInstr *in) {
    return in->op == ASN_OP_CAST ? 1 : asn_op_table[in->op].num_in;
}

/* Opcodes and register numbers are checked here, before anything uses them as an index.
 * reads32[r], reads_own[r]: somebody reads register r as float32, in its own dtype. */
static asn_status mark_readers(asnd_plan *plan, const aclnnxProgram *p) {
    for (int i = 0; i < p->numInstrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        asn_dtype dt = asn_plan_dtype(in->dtype);
        int output;
        bool known = in->op < ASN_OP_COUNT || asn_op_added(in->op, &output);
        if (!known || dt == ASN_DTYPE_NONE || in->dst >= p->numRegs)
            return asn_error_set(
                ASN_ERR_VALUE,
                "fused: instruction %d (opcode %d, dtype %d, register %d) "
                "is malformed",
                i, in->op, in->dtype, in->dst);
        bool lowered = is_lowered(plan, in, dt);
        for (int s = 0; s < arity(in); s++) {
            if (in->src[s] >= p->numRegs)
                return asn_error_set(ASN_ERR_VALUE,
                                     "fused: instruction %d reads register %d of %d", i,
                                     in->src[s], p->numRegs);
            bool own = in->op == ASN_OP_CAST || asn_op_operand(in->op, s, dt) == dt;
            if (lowered && own)
                plan->reads32[in->src[s]] = 1;
            else if (in->op != ASN_OP_CAST)
                plan->reads_own[in->src[s]] = 1;
        }
    }
    return ASN_OK;
}

/* Appends a step of one input; the other two places name it as well, so that they are
 * valid. */
static asnd_step *add_step(asnd_plan *plan, asn_op op, asn_dtype from, asnd_ew_fn fn,
                           uint16_t dst, uint16_t src) {
    asnd_step *s = &plan->steps[plan->num_steps++];
    s->fn = fn;
    s->dst = dst;
    s->src[0] = s->src[1] = s->src[2] = src;
    s->num_src = 1;
    s->quiet = false;
    s->loop = NULL;
    s->op = (uint16_t)op;
    s->from = (uint8_t)from;
    s->to = plan->value_dtype[dst];
    return s;
}

static void add_cast(asnd_plan *plan, asn_dtype from, uint16_t dst, uint16_t src) {
    add_step(plan, ASN_OP_CAST, from, plan->kernels->cast[from][plan->value_dtype[dst]],
             dst, src);
}

/* The register's value in its own dtype, made from float32 when that is all there is. */
static uint16_t own_value(asnd_plan *plan, int reg) {
    if (plan->value[reg] == ASN_NO_VALUE) {
        asn_dtype dt = plan->dtype[reg];
        plan->value[reg] = new_value(plan, dt);
        add_cast(plan, ASN_F32, plan->value[reg], plan->value32[reg]);
    }
    return plan->value[reg];
}

/* The register's value as float32, converted when it is asked for first. */
static uint16_t float_value(asnd_plan *plan, int reg) {
    if (plan->value32[reg] == ASN_NO_VALUE) {
        plan->value32[reg] = new_value(plan, ASN_F32);
        add_cast(plan, (asn_dtype)plan->dtype[reg], plan->value32[reg], plan->value[reg]);
    }
    return plan->value32[reg];
}

/* After a lowered instruction has left its unrounded result in a float32 value. Rounding
 * in place keeps a float32 that is exactly the half's value, which readers of both forms
 * then agree on. */
static void round_result(asnd_plan *plan, int reg, uint16_t raw) {
    asn_dtype dt = plan->dtype[reg];
    if (plan->reads32[reg]) {
        add_step(plan, ASN_OP_NONE, dt, plan->kernels->round_half[dt], raw, raw);
        plan->value32[reg] = raw;
        if (plan->reads_own[reg]) own_value(plan, reg);
    } else {
        plan->value[reg] = new_value(plan, dt);
        add_cast(plan, ASN_F32, plan->value[reg], raw);
    }
}

/* A half that exists as float32 only is cast from there: the same number, one conversion
 * less. */
static asn_status lower_cast(asnd_plan *plan, const aclnnxInstr *in, int index) {
    asn_dtype from = asn_plan_dtype(in->dtype), to = asn_plan_dtype(in->outDtype);
    int src = in->src[0];
    if (to == ASN_DTYPE_NONE || plan->dtype[src] != from)
        return asn_error_set(
            ASN_ERR_VALUE,
            "fused: instruction %d casts %s to dtype %d, its operand is %s", index,
            asn_dtype_name(from), in->outDtype, asn_dtype_name(plan->dtype[src]));
    plan->dtype[in->dst] = (uint8_t)to;
    bool as_float = plan->value[src] == ASN_NO_VALUE && from != to;
    uint16_t value = as_float ? plan->value32[src] : own_value(plan, src);
    if (as_float && to == ASN_F32) { /* already there */
        plan->value[in->dst] = new_value(plan, to);
        add_step(plan, ASN_OP_COPY, to, plan->kernels->ew[ASN_OP_COPY][to],
                 plan->value[in->dst], value);
        return ASN_OK;
    }
    plan->value[in->dst] = new_value(plan, to);
    add_cast(plan, as_float ? ASN_F32 : from, plan->value[in->dst], value);
    plan->step_ns += 0.1 + 0.012 * asn_itemsize(to);
    return ASN_OK;
}

/* Whether the operation has a loop for `dt` and its inputs hold the dtypes that this
 * reads. ASN_ERR_NO_LOOP, ASN_ERR_VALUE. */
static asn_status check_operands(const asnd_plan *plan, const aclnnxInstr *in,
                                 asn_dtype dt, int index) {
    const asn_op_info *info = &asn_op_table[in->op];
    if (!asn_op_has_loop(in->op, dt))
        return asn_error_set(ASN_ERR_NO_LOOP, "%s: no loop for dtype %s", info->name,
                             asn_dtype_name(dt));
    for (int s = 0; s < info->num_in; s++) {
        asn_dtype want = asn_op_operand(in->op, s, dt), got = plan->dtype[in->src[s]];
        if (got != want)
            return asn_error_set(
                ASN_ERR_VALUE,
                "fused: instruction %d (%s) reads register %d as %s, which "
                "holds %s",
                index, info->name, in->src[s], asn_dtype_name(want),
                got == ASN_DTYPE_NONE ? "nothing yet" : asn_dtype_name(got));
    }
    return ASN_OK;
}

/* ns of one element: the table's figure, or by the element's size for what only moves
 * data; complex numbers five times as much. */
static double step_cost(const asnd_plan *plan, asn_op op, asn_dtype dt) {
    double cost = plan->kernels->cost[op] * 0.1;
    if (cost > 0.15) return asn_is_complex(dt) ? cost * 5 : cost;
    return 0.04 + 0.013 * asn_itemsize(dt);
}

/* Whether a step already calls this loop on these values, for another of its outputs. */
static bool is_same_call(const asnd_step *step, const asn_added_loop *loop,
                         const uint16_t *src) {
    if (!step->loop || step->loop->fn != loop->fn || step->loop->data != loop->data)
        return false;
    for (int s = 0; s < loop->num_in; s++)
        if (step->src[s] != src[s]) return false;
    return step->num_src == loop->num_in;
}

/* Output `output` of a loop of the program's own: by the call that makes another one of
 * the same values, or by a new one. */
static uint16_t lower_call(asnd_plan *plan, const asn_added_loop *loop, int output,
                           const aclnnxInstr *in) {
    uint16_t src[ASN_ADDED_INPUTS];
    for (int s = 0; s < loop->num_in; s++)
        src[s] = own_value(plan, in->src[s]);
    for (int i = 0; i < plan->num_steps; i++) {
        asnd_step *step = &plan->steps[i];
        if (!is_same_call(step, loop, src) || step->taken >> output & 1) continue;
        step->taken |= (uint8_t)(1u << output);
        return step->results[output];
    }
    uint16_t results[ASN_ADDED_ARGS];
    for (int k = 0; k < loop->num_out; k++)
        results[k] = new_value(plan, (asn_dtype)loop->dtypes[loop->num_in + k]);
    asnd_step *step = add_step(plan, (asn_op)in->op, (asn_dtype)loop->dtypes[0], NULL,
                               results[output], src[0]);
    memcpy(step->src, src, (size_t)loop->num_in * sizeof *src);
    memcpy(step->results, results, (size_t)loop->num_out * sizeof *results);
    step->num_src = (uint16_t)loop->num_in;
    step->loop = loop;
    step->taken = (uint8_t)(1u << output);
    step->quiet = true; /* as where it runs alone */
    plan->step_ns += CALL_NS;
    plan->calls = true;
    return results[output];
}

/* One instruction to a step and the conversions that it needs. A copy that no output
 * stores is another name for the same value. */
static asn_status lower_instr(asnd_plan *plan, const aclnnxInstr *in, int index) {
    asn_dtype dt = asn_plan_dtype(in->dtype);
    ASN_TRY(check_operands(plan, in, dt, index));
    asn_dtype result = asn_op_result(in->op, dt);
    plan->dtype[in->dst] = (uint8_t)result;
    bool copies = in->op == ASN_OP_COPY && in->dst >= plan->num_in;
    bool stored = in->dst < plan->num_operands &&
                  plan->operands[in->dst].reduceOp == ACLNNX_NO_REDUCE;
    if (copies && !stored) { /* another name for the same value */
        plan->value[in->dst] = plan->value[in->src[0]];
        plan->value32[in->dst] = plan->value32[in->src[0]];
        return ASN_OK;
    }
    int output;
    const asn_added_loop *own = asn_op_added(in->op, &output);
    if (own) {
        plan->value[in->dst] = lower_call(plan, own, output, in);
        return ASN_OK;
    }
    bool lowered = is_lowered(plan, in, dt);
    asn_dtype loop = lowered ? ASN_F32 : dt;
    uint16_t src[3] = {0, 0, 0};
    int n = asn_op_table[in->op].num_in;
    for (int s = 0; s < n; s++) {
        bool as_float = lowered && asn_op_operand(in->op, s, dt) == dt;
        src[s] = as_float ? float_value(plan, in->src[s]) : own_value(plan, in->src[s]);
    }
    bool rounds = lowered && result == dt;
    uint16_t dst = new_value(plan, rounds ? ASN_F32 : result);
    asnd_step *step = add_step(plan, (asn_op)in->op, loop,
                               plan->kernels->ew[in->op][loop], dst, src[0]);
    if (n > 1) step->src[1] = src[1];
    if (n > 2) step->src[2] = src[2];
    step->num_src = (uint16_t)n;
    step->quiet = plan->kernels->quiet[in->op][dt];
    plan->step_ns += step_cost(plan, in->op, loop);
    if (rounds)
        round_result(plan, in->dst, dst);
    else
        plan->value[in->dst] = dst;
    return ASN_OK;
}

/* A conversion of float16 to a wider float is as quiet as what reads it. Backwards:
 * heard[v] says that some reader of value v raises exceptions that are the program's. */
static void quieten_widenings(asnd_plan *plan) {
    plan->widens_quietly = false;
    bool heard[ASN_MAX_VALUES];
    memset(heard, 0, (size_t)plan->num_values * sizeof *heard);
    for (int i = 0; i < plan->num_reductions; i++)
        heard[plan->reductions[i].value] |= !plan->reductions[i].quiet;
    for (int i = plan->num_steps - 1; i >= 0; i--) {
        asnd_step *step = &plan->steps[i];
        if (step->op == ASN_OP_CAST && asn_cast_widens_half(step->from, step->to))
            plan->widens_quietly |= step->quiet = !heard[step->dst];
        for (int s = 0; s < step->num_src; s++)
            heard[step->src[s]] |= !step->quiet;
    }
}

/* Each reduction folds its register's value in the accumulator's form. */
static void bind_reductions(asnd_plan *plan) {
    for (int i = 0; i < plan->num_reductions; i++) {
        asnd_reduction *r = &plan->reductions[i];
        r->value = asn_is_half(r->out_dtype) ? float_value(plan, r->operand)
                                             : own_value(plan, r->operand);
        plan->step_ns += step_cost(plan, r->op, r->dtype);
    }
}

/* Whether anything in the program can raise a floating-point flag that is its own:
 * reading and writing the flags around every short row of a bool program would cost more
 * than the row. */
static bool can_raise(const asnd_plan *plan, const aclnnxProgram *p) {
    for (int i = 0; i < p->numInstrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        asn_dtype dt = asn_plan_dtype(in->dtype);
        if (in->op >= ASN_OP_COUNT) continue; /* its flags are nobody's */
        if (in->op == ASN_OP_CAST
                ? asn_cast_raises(dt, asn_plan_dtype(in->outDtype))
                : (asn_op_table[in->op].flags & ASN_OPF_DIVIDES) ||
                      (asn_is_inexact(dt) && !plan->kernels->quiet[in->op][dt]))
            return true;
    }
    for (int r = 0; r < plan->num_reductions; r++)
        if ((asn_op_table[plan->reductions[r].op].flags & ASN_OPF_DIVIDES) ||
            (asn_is_inexact(plan->reductions[r].dtype) && !plan->reductions[r].quiet))
            return true;
    return false;
}

/* The plan's lists begin in the caller's room. */
static void use_room(asnd_plan *plan, asnd_plan_room *room) {
    plan->dtype = room->dtype;
    plan->value = room->value;
    plan->value32 = room->value32;
    plan->reads_own = room->reads_own;
    plan->reads32 = room->reads32;
    plan->steps = room->steps;
    plan->item = room->item;
    plan->value_dtype = room->value_dtype;
    plan->slot = room->slot;
    plan->reductions = room->reductions;
    plan->dims = room->dims;
}

/* Operands first, then who reads which form, then instruction by instruction. */
asn_status asn_plan_lower(asnd_plan *plan, asnd_plan_room *room, const aclnnxProgram *p) {
    use_room(plan, room);
    plan->kernels = asn_kernels_get();
    plan->operands = p->operands;
    plan->num_in = p->numIn;
    plan->num_operands = p->numIn + p->numOut;
    plan->track_flags = p->fpFlags != NULL;
    plan->num_steps = plan->num_values = plan->num_reductions = 0;
    plan->folds = plan->calls = false;
    plan->settled = true;
    plan->code = NULL;
    plan->step_ns = 0;
    ASN_TRY(define_operands(plan, p));
    ASN_TRY(mark_readers(plan, p));
    uint8_t written[ACLNNX_MAX_REGS];
    memset(written, 0, (size_t)p->numRegs);
    for (int i = 0; i < plan->num_in; i++)
        written[i] = 1;
    for (int i = 0; i < p->numInstrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        for (int s = 0; s < arity(in); s++)
            if (!written[in->src[s]])
                return asn_error_set(
                    ASN_ERR_VALUE,
                    "fused: instruction %d reads register %d before it is "
                    "written",
                    i, in->src[s]);
        if (written[in->dst])
            return asn_error_set(ASN_ERR_VALUE,
                                 "fused: instruction %d writes register %d a second time",
                                 i, in->dst);
        asn_dtype declared = plan->dtype[in->dst];
        if (in->op == ASN_OP_CAST)
            ASN_TRY(lower_cast(plan, in, i));
        else
            ASN_TRY(lower_instr(plan, in, i));
        if (in->dst < plan->num_operands && plan->dtype[in->dst] != declared)
            return asn_error_set(
                ASN_ERR_VALUE, "fused: instruction %d writes %s to output %d of dtype %s",
                i, asn_dtype_name(plan->dtype[in->dst]), in->dst - plan->num_in,
                asn_dtype_name(declared));
        written[in->dst] = 1;
    }
    for (int i = plan->num_in; i < plan->num_operands; i++)
        if (!written[i])
            return asn_error_set(ASN_ERR_VALUE, "fused: output %d is never written",
                                 i - plan->num_in);
    bind_reductions(plan);
    quieten_widenings(plan);
    plan->track_flags = plan->track_flags && can_raise(plan, p);
    return ASN_OK;
}
