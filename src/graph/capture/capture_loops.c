/* L2 graph: small fused programs of a capture as single loops (see replay.h).
 *
 * A fused program of ten operations on ten elements takes 2 us to describe, check and set
 * out; the loops it stands for take 10 to 30 ns each and are known when it is captured.
 * So a step over few contiguous elements keeps its program as a list of loops, too
 * (aclnnxLoopRun, as graph/small/direct.c uses them: of the same kernels, so of the same
 * bits), which a replay runs when nothing is queued; otherwise the program goes to the
 * stream.
 */
#include "graph/capture/capture_steps.h"

#include <string.h>

#include "base/dtype.h"
#include "graph/small/binding.h"
#include "graph/plan/launch.h"

enum {
    MOST_ELEMENTS = 1024,
    SCRATCH_BYTES = 64 << 10, /* of registers between loops */
    STACKED = -1              /* a register that is an operand */
};

/* A copy has no loop. */
typedef struct {
    const asn_loop *loop;
    int32_t n, bytes;
    uint8_t dst, num_in, src[3], immediates;
} loop_call;

struct asn_replay_loops {
    int num_calls, num_operands, num_regs, scratch;
    loop_call *calls;
    int32_t *at; /* of a register that is no operand: its place in the scratch memory */
};

/* ---- making a list */

typedef struct {
    const aclnnxProgram *p;
    int64_t n;
    int num_calls, scratch;
    loop_call calls[ACLNNX_MAX_INSTRS + 3 * ACLNNX_MAX_OPERANDS];
    uint8_t dtype[ACLNNX_MAX_REGS + ACLNNX_MAX_OPERANDS];
    bool single[ACLNNX_MAX_REGS + ACLNNX_MAX_OPERANDS]; /* one element for all */
    int32_t at[ACLNNX_MAX_REGS + ACLNNX_MAX_OPERANDS];
    uint8_t room[ACLNNX_MAX_REGS + ACLNNX_MAX_OPERANDS]; /* bytes an element, or 0 */
    int num_regs;
} maker;

/* Row-major without gaps over the program's shape. */
static bool is_packed(const aclnnxProgram *p, const aclnnxOperand *o, asn_dtype dtype) {
    int64_t step = asn_itemsize(dtype);
    for (int d = p->numDims - 1; o->strides && d >= 0; d--) {
        if (p->shape[d] != 1 && o->strides[d] != step) return false;
        step *= p->shape[d];
    }
    return true;
}

static bool is_single(const aclnnxProgram *p, const aclnnxOperand *o) {
    if (!o->data) return true;
    for (int d = 0; d < p->numDims; d++)
        if (p->shape[d] != 1 && (!o->strides || o->strides[d])) return false;
    return true;
}

static bool overlaps(const maker *m, const aclnnxOperand *a, int64_t bytes,
                     const aclnnxOperand *b) {
    const char *x = a->data, *y = b->data;
    int64_t other = m->n * asn_itemsize(asn_dtype_from_acl(b->dtype));
    return x && y && x < y + other && y < x + bytes;
}

/* A register in the scratch memory, of 8 bytes an element at least: a register has values
 * of several dtypes, one after the other. */
static bool take_scratch(maker *m, int reg, asn_dtype dtype) {
    int item = asn_itemsize(dtype), room = item < 8 ? 8 : item;
    int64_t bytes = (m->n * room + 63) & ~(int64_t)63;
    m->dtype[reg] = (uint8_t)dtype;
    if (m->room[reg]) return item <= m->room[reg];
    if (m->scratch + bytes > SCRATCH_BYTES) return false;
    m->room[reg] = (uint8_t)room;
    m->at[reg] = m->scratch;
    m->scratch += (int)bytes;
    return true;
}

static loop_call *add(maker *m, int dst, int src, int num_in, int64_t n) {
    loop_call *c = &m->calls[m->num_calls++];
    *c = (loop_call){.n = (int32_t)n,
                     .dst = (uint8_t)dst,
                     .num_in = (uint8_t)num_in,
                     .src = {(uint8_t)src}};
    return c;
}

static void add_copy(maker *m, int dst, int src) {
    loop_call *c = add(m, dst, src, 1, m->n);
    c->bytes = (int32_t)(m->n * asn_itemsize((asn_dtype)m->dtype[src]));
}

/* Inputs and outputs are registers of their own: an output that lies over other operands,
 * or is reduced, is computed in the scratch memory, and `real[k]` is where it goes. */
static bool set_operands(maker *m, int *real) {
    const aclnnxProgram *p = m->p;
    int num = p->numIn + p->numOut;
    m->num_regs = p->numRegs;
    for (int i = 0; i < num; i++) {
        const aclnnxOperand *o = &p->operands[i];
        asn_dtype dtype = asn_dtype_from_acl(o->dtype);
        bool reduces = i >= p->numIn && o->reduceOp != ACLNNX_NO_REDUCE;
        m->dtype[i] = (uint8_t)dtype;
        m->at[i] = STACKED;
        m->single[i] = i < p->numIn && m->n > 1 && is_single(p, o);
        real[i] = i;
        if (o->flags & ACLNNX_ACCUMULATE) return false;
        if (!reduces && !m->single[i] && o->data && !is_packed(p, o, dtype)) return false;
        bool meets = reduces;
        for (int k = 0; i >= p->numIn && k < num && !meets; k++)
            meets = k != i && overlaps(m, o, m->n * asn_itemsize(dtype), &p->operands[k]);
        if (i < p->numIn || !meets) continue;
        real[i] = m->num_regs++; /* the operand itself: a register of a new number */
        m->dtype[real[i]] = (uint8_t)dtype;
        m->at[real[i]] = STACKED;
        if (!take_scratch(m, i, dtype)) return false;
    }
    return true;
}

static int arity_of(uint16_t opcode, asn_op *op) {
    for (int k = 0; k < ASN_OP_COUNT; k++)
        if (asn_device_opcode((uint16_t)k) == opcode) {
            *op = (asn_op)k;
            return k == ASN_OP_CAST || k == ASN_OP_COPY ? 1 : asn_op_table[k].num_in;
        }
    return -1;
}

static bool add_instr(maker *m, const aclnnxInstr *in) {
    asn_op op = ASN_OP_COUNT;
    int num_in = arity_of(in->op, &op);
    if (num_in < 0) return false;
    bool single = m->n > 1;
    for (int k = 0; k < num_in; k++)
        single = single && m->single[in->src[k]];
    asn_dtype to = asn_dtype_from_acl(in->outDtype);
    bool operand = in->dst < m->p->numIn + m->p->numOut;
    if (single && operand) return false; /* a number spread over an array */
    if (operand && m->dtype[in->dst] != to) return false;
    for (int k = 0; k < num_in; k++) /* element on element is fine, of one size */
        if (in->src[k] == in->dst &&
            asn_itemsize((asn_dtype)m->dtype[in->dst]) != asn_itemsize(to))
            return false;
    if (!operand && !take_scratch(m, in->dst, to)) return false;
    m->dtype[in->dst] = (uint8_t)to;
    m->single[in->dst] = single;
    int64_t n = single ? 1 : m->n;
    if (op == ASN_OP_COPY) {
        if (m->single[in->src[0]] != single) return false;
        loop_call *c = add(m, in->dst, in->src[0], 1, n);
        c->bytes = (int32_t)(n * asn_itemsize(to));
        return true;
    }
    loop_call *c = add(m, in->dst, in->src[0], num_in, n);
    for (int k = 0; k < num_in; k++) {
        c->src[k] = in->src[k];
        if (m->single[in->src[k]] && !single) c->immediates |= (uint8_t)(1u << k);
    }
    if (op == ASN_OP_CAST && c->immediates) return false;
    c->loop = op == ASN_OP_CAST
                  ? asn_acl.aclnnxLoopFind(ACLNNX_LOOP_CAST, in->outDtype, in->dtype)
                  : asn_acl.aclnnxLoopFind(ACLNNX_LOOP_MAP, in->op, in->dtype);
    return c->loop != NULL;
}

/* A reduction of everything, from the scratch memory to where it goes. */
static bool add_fold(maker *m, int reg, int real) {
    const aclnnxProgram *p = m->p;
    const aclnnxOperand *o = &p->operands[reg];
    for (int d = 0; d < p->numDims; d++)
        if (p->shape[d] != 1 && !(p->reduceMask >> d & 1)) return false;
    if (m->n * asn_itemsize((asn_dtype)m->dtype[reg]) > ACLNNX_LOOP_BYTES) return false;
    loop_call *c = add(m, real, reg, 1, m->n);
    c->loop = asn_acl.aclnnxLoopFind(ACLNNX_LOOP_FOLD, o->reduceOp, o->dtype);
    return c->loop != NULL;
}

static bool make(maker *m) {
    const aclnnxProgram *p = m->p;
    int real[ACLNNX_MAX_OPERANDS], num = p->numIn + p->numOut;
    if (p->numRegs + p->numOut > ACLNNX_MAX_REGS) return false;
    if (!set_operands(m, real)) return false;
    for (int i = 0; i < p->numInstrs; i++)
        if (!add_instr(m, &p->instrs[i])) return false;
    for (int i = p->numIn; i < num; i++) {
        if (real[i] == i) continue;
        if (p->operands[i].reduceOp == ACLNNX_NO_REDUCE)
            add_copy(m, real[i], i);
        else if (!add_fold(m, i, real[i]))
            return false;
    }
    return true;
}

void asn_capture_loops(asn_replay_step *s, const aclnnxProgram *program) {
    maker m = {.p = program, .n = s->elements};
    if (m.n < 1 || m.n > MOST_ELEMENTS || !asn_device_host_access() ||
        !asn_acl.aclnnxLoopFind || !asn_acl.aclnnxLoopRun || !make(&m))
        return;
    struct asn_replay_loops *l = asn_capture_alloc(sizeof *l);
    loop_call *calls = asn_capture_copy(m.calls, (size_t)m.num_calls * sizeof *calls);
    int32_t *at = asn_capture_copy(m.at, (size_t)m.num_regs * sizeof *at);
    if (!l || !calls || !at) return;
    *l = (struct asn_replay_loops){.num_calls = m.num_calls,
                                   .num_operands = program->numIn + program->numOut,
                                   .num_regs = m.num_regs,
                                   .scratch = m.scratch,
                                   .calls = calls,
                                   .at = at};
    s->loops = l;
}

/* ---- running it */

void asn_capture_loops_run(const asn_replay_step *s, uint32_t *sink) {
    _Alignas(64) char scratch[SCRATCH_BYTES];
    const struct asn_replay_loops *l = s->loops;
    const aclnnxOperand *operands = s->fused.operands;
    const aclnnxOperand *outs = operands + s->fused.numIn;
    void *reg[ACLNNX_MAX_REGS];
    for (int i = 0; i < l->num_operands; i++)
        reg[i] = operands[i].data ? operands[i].data : (void *)operands[i].immediate;
    int moved = s->fused.numRegs; /* registers of operands that are computed elsewhere */
    for (int i = 0; i < s->fused.numOut; i++)
        if (l->at[s->fused.numIn + i] >= 0) reg[moved++] = outs[i].data;
    for (int i = s->fused.numIn; i < s->fused.numRegs; i++)
        if (l->at[i] >= 0) reg[i] = scratch + l->at[i];
    for (int i = 0; i < l->num_calls; i++) {
        const loop_call *c = &l->calls[i];
        if (!c->loop) {
            memcpy(reg[c->dst], reg[c->src[0]], (size_t)c->bytes);
            continue;
        }
        const void *src[3];
        for (int k = 0; k < c->num_in; k++)
            src[k] = reg[c->src[k]];
        asn_loop_run(c->loop, c->n, reg[c->dst], src, c->immediates, sink);
    }
}
