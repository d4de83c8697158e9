/* CPU device: which parts of a program are text, and at which stage (see source.h).
 *
 * Each register gets a stage: text reads what text of its own stage or anything of an
 * earlier one has made, a call reads what its stage's text has stored and belongs to the
 * next. Text never changes a bit against the engine: conversions that C leaves undefined,
 * float sums of several blocks, overlaps other than element on element, and programs
 * whose floating-point exceptions could differ are refused, or watched: the function then
 * returns 1 before it has written over an input, and the engine computes all of it.
 */
#include "device/cpu/jit/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fused/block.h"

enum {
    MOST_ELEMENTS = 1 << 15, /* above, threads and the engine's own code are no slower */
    MOST_CALLED = 1 << 12,   /* with calls, which read memory once more */
    SCRATCH_BYTES = 1 << 16
};

int asn_source_arity(const aclnnxInstr *in) {
    return in->op == ASN_OP_CAST ? 1 : asn_op_table[in->op].num_in;
}

/* Conversions that C's own give the bits of: not those from floats to integers. */
static bool converts(asn_dtype from, asn_dtype to) {
    if (asn_is_half(from) || asn_is_half(to) || asn_is_complex(from) ||
        asn_is_complex(to))
        return false;
    return !asn_is_inexact(from) || asn_is_inexact(to);
}

const char *asn_source_expression(const aclnnxInstr *in) {
    asn_dtype dt = asn_plan_dtype(in->dtype);
    if (in->op == ASN_OP_COPY) return "a";
    if (in->op < ASN_OP_CAST) return asn_source_expressions[in->op][dt];
    if (in->op != ASN_OP_CAST) return NULL;
    asn_dtype to = asn_plan_dtype(in->outDtype);
    if (dt == to) return "a";
    if (to == ASN_BOOL && !asn_is_half(dt) && !asn_is_complex(dt)) return "a != 0";
    return converts(dt, to) ? "a" : NULL;
}

/* ---- the space */

/* In bytes, of the program's dimension d; a row-major array's where none are given. */
static int64_t stride_of(const asnd_source *s, int operand, int d) {
    const aclnnxOperand *o = &s->p->operands[operand];
    if (o->strides) return o->strides[d];
    int64_t step = asn_itemsize(asn_plan_dtype(o->dtype));
    for (int k = s->p->numDims - 1; k > d; k--)
        step *= s->p->shape[k];
    return step;
}

/* Whether the operand is an array over the whole space: no immediate, no result of a
 * fold. */
static bool lies(const asnd_source *s, int operand) {
    const aclnnxOperand *o = &s->p->operands[operand];
    return o->data && (operand < s->p->numIn || o->reduceOp == ACLNNX_NO_REDUCE);
}

/* Dimension d joined to the last one, where every operand steps through both alike. */
static bool joins(const asnd_source *s, int d) {
    int last = s->num_dims - 1;
    if (last < 0) return false;
    for (int i = 0; i < s->num_operands; i++)
        if (lies(s, i) && s->stride[i][last] != stride_of(s, i, d) * s->p->shape[d])
            return false;
    return true;
}

/* The dimensions of extent above 1, joined where they can be. False: the space is empty,
 * too large or has too many dimensions for a text. */
static bool set_space(asnd_source *s) {
    const aclnnxProgram *p = s->p;
    s->n = 1;
    for (int d = 0; d < p->numDims; d++) {
        if (p->shape[d] < 1 || p->shape[d] > MOST_ELEMENTS) return false;
        s->n *= p->shape[d];
        if (s->n > MOST_ELEMENTS) return false;
        if (p->shape[d] == 1) continue;
        bool joined = joins(s, d);
        if (!joined && s->num_dims == ASN_SOURCE_DIMS) return false;
        s->num_dims += !joined;
        int at = s->num_dims - 1;
        s->extent[at] = joined ? s->extent[at] * p->shape[d] : p->shape[d];
        for (int i = 0; i < s->num_operands; i++)
            s->stride[i][at] = lies(s, i) ? stride_of(s, i, d) : 0;
    }
    return true;
}

/* How the operand lies over the joined dimensions. */
static asnd_source_place place_of(const asnd_source *s, int operand) {
    if (!s->p->operands[operand].data) return ASN_SOURCE_IMMEDIATE;
    bool single = s->n > 1;
    for (int d = 0; d < s->num_dims; d++)
        single = single && s->stride[operand][d] == 0;
    if (single) return ASN_SOURCE_SINGLE;
    int64_t item = asn_itemsize(asn_plan_dtype(s->p->operands[operand].dtype));
    bool packed = s->num_dims == 0 || (s->num_dims == 1 && s->stride[operand][0] == item);
    return packed ? ASN_SOURCE_PACKED : ASN_SOURCE_STRIDED;
}

/* ---- what overlaps */

typedef struct {
    const char *from, *end;
} range;

/* The bytes from its first to past its last element, strides of either sign. */
static range range_of(const asnd_source *s, int operand) {
    const aclnnxOperand *o = &s->p->operands[operand];
    range r = {o->data, o->data};
    for (int d = 0; d < s->num_dims; d++) {
        int64_t last = s->stride[operand][d] * (s->extent[d] - 1);
        *(last < 0 ? &r.from : &r.end) += last;
    }
    r.end += asn_itemsize(asn_plan_dtype(o->dtype));
    return r;
}

/* Whether operands i and k are the same elements in the same order. */
static bool same_places(const asnd_source *s, int i, int k) {
    const aclnnxOperand *a = &s->p->operands[i], *b = &s->p->operands[k];
    if (a->data != b->data || !lies(s, i) || !lies(s, k) ||
        asn_itemsize(asn_plan_dtype(a->dtype)) != asn_itemsize(asn_plan_dtype(b->dtype)))
        return false;
    return !memcmp(s->stride[i], s->stride[k], (size_t)s->num_dims * sizeof(int64_t));
}

/* An output has a place for each element. Sorted by step, each dimension must step past
 * all that the smaller ones span. */
static bool is_apart(const asnd_source *s, int operand) {
    int64_t span = asn_itemsize(asn_plan_dtype(s->p->operands[operand].dtype));
    int64_t step[ASN_SOURCE_DIMS], extent[ASN_SOURCE_DIMS];
    for (int d = 0; d < s->num_dims; d++) {
        int at = d; /* smallest steps first */
        int64_t this = llabs(s->stride[operand][d]);
        for (; at > 0 && step[at - 1] > this; at--) {
            step[at] = step[at - 1];
            extent[at] = extent[at - 1];
        }
        step[at] = this;
        extent[at] = s->extent[d];
    }
    for (int k = 0; k < s->num_dims; k++) {
        if (step[k] < span) return false;
        span += step[k] * (extent[k] - 1);
    }
    return true;
}

/* No output may share memory with anything but an input that it covers element on element
 * (in_place). */
static bool check_overlaps(asnd_source *s) {
    for (int i = s->p->numIn; i < s->num_operands; i++) {
        if (!s->p->operands[i].data || (lies(s, i) && !is_apart(s, i))) return false;
        range r = range_of(s, i);
        for (int k = 0; k < s->num_operands; k++) {
            if (k == i || !s->p->operands[k].data) continue;
            range o = range_of(s, k);
            if (r.from >= o.end || o.from >= r.end) continue;
            if (k >= s->p->numIn || !same_places(s, i, k)) return false;
            s->in_place[i] = true;
        }
    }
    return true;
}

/* ---- stages */

/* Comparisons tell of a NaN that the operation does not, also those that a compiler makes
 * of equality with infinity; a kernel's exceptions are dropped there. */
static bool tells_too_much(const char *expression) {
    return strpbrk(expression, "<>=") || strstr(expression, "f_");
}

/* Whether the engine would report exceptions of this instruction. */
static bool may_raise(const asnd_plan *plan, const aclnnxInstr *in) {
    asn_dtype dt = asn_plan_dtype(in->dtype);
    if (in->op == ASN_OP_CAST) return asn_is_inexact(dt) && in->outDtype != in->dtype;
    return asn_is_inexact(dt) && !plan->kernels->quiet[in->op][dt];
}

/* A selection stays behind what it selects from: a compiler may compute just the chosen
 * side, and exceptions of the other would be missed. */
static bool selects(const char *expression) {
    return strchr(expression, '?') != NULL;
}

/* The stage of an instruction that is an expression. False: exceptions are watched, it
 * may raise some and its operands are constants, so that a compiler would compute it and
 * raise none. */
static bool place_text(asnd_source *s, const asnd_plan *plan, const aclnnxInstr *in,
                       const char *expression) {
    asnd_source_reg *r = &s->reg[in->dst];
    asn_dtype dt = asn_plan_dtype(in->dtype);
    bool immediate = true;
    for (int k = 0; k < asn_source_arity(in); k++) {
        const asnd_source_reg *src = &s->reg[in->src[k]];
        int stage = src->stage + (s->watched && src->raises && selects(expression));
        if (stage > r->stage) r->stage = (int16_t)stage;
        immediate = immediate && in->src[k] < s->p->numIn &&
                    s->place[in->src[k]] == ASN_SOURCE_IMMEDIATE;
    }
    r->raises = may_raise(plan, in);
    if (s->watched && immediate && r->raises) return false; /* computed by a compiler */
    if (asn_is_inexact(dt) && !r->raises && tells_too_much(expression)) s->doubted = true;
    return true;
}

/* The stage of an instruction that is a call, and which of its operands have to be stored
 * for it: calls read packed arrays, or one element. */
static void place_call(asnd_source *s, const aclnnxInstr *in) {
    asnd_source_reg *r = &s->reg[in->dst];
    int stage = 0;
    for (int k = 0; k < asn_source_arity(in); k++) {
        asnd_source_reg *src = &s->reg[in->src[k]];
        int from = src->looped ? src->stage - 1 : src->stage;
        if (from > stage) stage = from;
        int place = in->src[k] < s->p->numIn ? s->place[in->src[k]] : -1;
        bool one = place == ASN_SOURCE_IMMEDIATE || place == ASN_SOURCE_SINGLE;
        if ((place != ASN_SOURCE_PACKED && !one) || (one && in->op == ASN_OP_CAST))
            src->stored = true;
    }
    r->looped = r->stored = true;
    r->stage = (int16_t)(stage + 1);
    s->num_loops++;
}

/* Text whose value nobody wants is not compiled, so it raises no exceptions, where the
 * engine, which computes it, does. */
static bool drops_exceptions(const asnd_source *s) {
    const aclnnxProgram *p = s->p;
    bool wanted[ACLNNX_MAX_REGS] = {false};
    for (int i = p->numIn; i < s->num_operands; i++)
        wanted[i] = true;
    for (int i = p->numInstrs - 1; i >= 0; i--) {
        const aclnnxInstr *in = &p->instrs[i];
        const asnd_source_reg *dst = &s->reg[in->dst];
        if (!wanted[in->dst] && !dst->looped && dst->raises) return true;
        for (int k = 0; k < asn_source_arity(in); k++)
            if (wanted[in->dst] || dst->looped) wanted[in->src[k]] = true;
    }
    return false;
}

/* False: a loop of the program's own, text that cannot keep the exceptions, or no text at
 * all. */
static bool set_stages(asnd_source *s, const asnd_plan *plan) {
    const aclnnxProgram *p = s->p;
    bool any = false;
    for (int i = 0; i < p->numInstrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        if (in->op >= ASN_OP_COUNT) return false; /* a loop of the program's own */
        const char *expression = asn_source_expression(in);
        s->reg[in->dst].dtype = plan->dtype[in->dst];
        if (!expression)
            place_call(s, in);
        else if (!place_text(s, plan, in, expression))
            return false;
        any = any || expression;
        if (s->reg[in->dst].stage > s->last_stage) s->last_stage = s->reg[in->dst].stage;
    }
    if (s->watched && drops_exceptions(s)) return false;
    return any;
}

/* Text that later stages or folds read, and results of calls that are no packed outputs,
 * go to the scratch memory. */
static bool set_scratch(asnd_source *s) {
    const aclnnxProgram *p = s->p;
    for (int i = 0; i < p->numInstrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        const asnd_source_reg *dst = &s->reg[in->dst];
        for (int k = 0; k < asn_source_arity(in); k++) {
            asnd_source_reg *src = &s->reg[in->src[k]];
            if (!dst->looped && in->src[k] >= p->numIn && src->stage < dst->stage)
                src->stored = true;
        }
    }
    for (int i = p->numIn; i < s->num_operands; i++) {
        asnd_source_reg *r = &s->reg[i];
        if (asn_source_reduces(s, i) || (s->in_place[i] && r->stage < s->last_stage))
            r->stored = true;
        s->num_loops += asn_source_reduces(s, i);
        bool folds = s->n * asn_itemsize((asn_dtype)r->dtype) <= ACLNNX_LOOP_BYTES;
        if (asn_source_reduces(s, i) && !folds) return false;
    }
    for (int i = 0; i < p->numRegs; i++) {
        asnd_source_reg *r = &s->reg[i];
        bool there = i >= p->numIn && i < s->num_operands && r->looped &&
                     !asn_source_reduces(s, i) && !s->in_place[i] &&
                     s->place[i] == ASN_SOURCE_PACKED;
        if (!r->stored || there) continue;
        r->scratch = s->scratch_bytes;
        int64_t bytes = (s->n * asn_itemsize((asn_dtype)r->dtype) + 63) & ~(int64_t)63;
        if (s->scratch_bytes + bytes > SCRATCH_BYTES) return false;
        s->scratch_bytes += (int32_t)bytes;
    }
    return s->num_loops == 0 || s->n <= MOST_CALLED;
}

/* Whether every reduction is over the whole space and starts anew. */
static bool reduces_all(const asnd_source *s) {
    bool some = false;
    for (int i = s->p->numIn; i < s->num_operands; i++) {
        some = some || asn_source_reduces(s, i);
        if (s->p->operands[i].flags & ACLNNX_ACCUMULATE) return false;
    }
    for (int d = 0; some && d < s->p->numDims; d++)
        if (s->p->shape[d] != 1 && !(s->p->reduceMask >> d & 1)) return false;
    return true;
}

/* All that is known of the text before it is written; false: there is to be none. */
static bool make(asnd_source *s, const asnd_plan *plan) {
    if (!reduces_all(s) || !set_space(s) || !check_overlaps(s)) return false;
    for (int i = 0; i < s->p->numRegs; i++)
        s->reg[i].scratch = -1;
    for (int i = 0; i < s->num_operands; i++) {
        s->reg[i].dtype = plan->dtype[i];
        s->place[i] = (uint8_t)place_of(s, i);
    }
    if (!set_stages(s, plan)) return false;
    for (int i = 0; i < s->num_operands; i++)
        s->commits = s->commits || (s->watched && s->doubted && s->in_place[i]);
    s->last_stage += s->commits;
    return set_scratch(s);
}

/* Whether the blocks of the fold matter. */
static bool sums_floats(const asnd_plan *plan) {
    bool some = false;
    for (int r = 0; r < plan->num_reductions; r++)
        some |= asn_is_inexact(plan->reductions[r].dtype);
    return some;
}

/* The bits of a float sum depend on its blocks, of which the text has one. */
static asn_status find_blocks(asnd_plan *plan, const aclnnxProgram *p, bool *one) {
    ASN_TRY(asn_plan_space(plan, p));
    *one = plan->num_dims == 1;
    plan->folds = true;
    if (*one && plan->size) {
        asn_plan_place(plan, false);
        *one = asn_plan_block(plan, plan->size) >= plan->size;
    }
    asn_free(plan->packed);
    return ASN_OK;
}

asn_status asn_source_put(asn_text *out, const aclnnxProgram *p, const char *name) {
    asnd_plan plan;
    asnd_plan_room room;
    asnd_source s = {.p = p, .out = out, .name = name};
    ASN_TRY(asn_program_check(p));
    ASN_TRY(asn_plan_lower(&plan, &room, p));
    s.num_operands = plan.num_operands;
    s.watched = plan.track_flags;
    if (!make(&s, &plan)) return ASN_OK;
    bool one = true;
    if (sums_floats(&plan)) ASN_TRY(find_blocks(&plan, p, &one));
    if (one) asn_source_write(&s);
    return out->status;
}
