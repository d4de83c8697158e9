/* Makes a failing case small: whatever can go, or become plain, while it still fails,
 * goes. */
#include "case.h"

static bool (*is_failing)(const fuzz_case *);
static bool changed;

static bool try_out(fuzz_case *c, const fuzz_case *smaller) {
    if (memcmp(c, smaller, sizeof *c) == 0 || !fuzz_is_sound(smaller) ||
        !is_failing(smaller))
        return false;
    *c = *smaller;
    changed = true;
    return true;
}

/* ---- the program */

static int dtype_of(const fuzz_case *c, int reg) {
    if (reg < c->num_in) return c->operands[reg].dtype;
    for (int k = 0; k < c->num_instrs; k++)
        if (c->instrs[k].dst == reg) return (int)fuzz_result_of(&c->instrs[k]);
    return -1;
}

/* Without instruction k, whose readers read another register of its dtype. */
static bool drop_instr(fuzz_case *c, int k) {
    const aclnnxInstr gone = c->instrs[k];
    if (gone.dst >= c->num_in && gone.dst < c->num_in + c->num_out) return false;
    for (int other = -1; other < k; other++) {
        int candidates = other < 0 ? c->num_in : 1;
        for (int r = 0; r < candidates; r++) {
            int reg = other < 0 ? r : c->instrs[other].dst;
            if (dtype_of(c, reg) != (int)fuzz_result_of(&gone)) continue;
            fuzz_case s = *c;
            memmove(&s.instrs[k], &s.instrs[k + 1],
                    (size_t)(s.num_instrs - k - 1) * sizeof *s.instrs);
            memset(&s.instrs[--s.num_instrs], 0, sizeof *s.instrs);
            for (int j = k; j < s.num_instrs; j++)
                for (int a = 0; a < 3; a++)
                    if (s.instrs[j].src[a] == gone.dst) s.instrs[j].src[a] = (uint8_t)reg;
            if (try_out(c, &s)) return true;
        }
    }
    return false;
}

/* An instruction that copies instead, where its first operand has the result's dtype. */
static bool plain_instr(fuzz_case *c, int k) {
    fuzz_case s = *c;
    aclnnxInstr *in = &s.instrs[k];
    asn_dtype to = fuzz_result_of(in);
    for (int a = 0; a < fuzz_arity(in); a++) {
        if (dtype_of(c, in->src[a]) != (int)to || in->op == ASN_OP_COPY) continue;
        uint8_t dt = (uint8_t)asn_dtype_table[to].acl, dst = in->dst, src = in->src[a];
        *in = (aclnnxInstr){ASN_OP_COPY, dt, dt, dst, {src, 0, 0}};
        if (try_out(c, &s)) return true;
        s = *c;
    }
    return false;
}

/* Registers from `first` on become `by` lower. */
static void renumber(fuzz_case *s, int first, int by) {
    for (int k = 0; k < s->num_instrs; k++) {
        aclnnxInstr *in = &s->instrs[k];
        if (in->dst >= first) in->dst = (uint8_t)(in->dst - by);
        for (int a = 0; a < 3; a++)
            if (in->src[a] >= first) in->src[a] = (uint8_t)(in->src[a] - by);
    }
    s->num_regs -= by;
}

static void remove_operand(fuzz_case *s, int i) {
    int n = s->num_in + s->num_out;
    memmove(&s->operands[i], &s->operands[i + 1],
            (size_t)(n - i - 1) * sizeof *s->operands);
    memset(&s->operands[n - 1], 0, sizeof *s->operands);
}

static bool is_used(const fuzz_case *c, int reg) {
    for (int k = 0; k < c->num_instrs; k++)
        for (int a = 0; a < fuzz_arity(&c->instrs[k]); a++)
            if (c->instrs[k].src[a] == reg) return true;
    return false;
}

static bool drop_input(fuzz_case *c, int i) {
    if (is_used(c, i)) return false;
    fuzz_case s = *c;
    for (int k = 0; k < s.num_instrs; k++)
        for (int a = fuzz_arity(&s.instrs[k]); a < 3; a++)
            s.instrs[k].src[a] = 0;
    remove_operand(&s, i);
    s.num_in--;
    renumber(&s, i + 1, 1);
    return try_out(c, &s);
}

/* An output becomes a temporary. */
static bool drop_output(fuzz_case *c, int i) {
    fuzz_case s = *c;
    if (s.num_out == 1 || s.num_regs >= ACLNNX_MAX_REGS) return false;
    for (int k = 0; k < s.num_instrs; k++) {
        aclnnxInstr *in = &s.instrs[k];
        if (in->dst == i) in->dst = (uint8_t)s.num_regs;
        for (int a = 0; a < 3; a++)
            if (in->src[a] == i) in->src[a] = (uint8_t)s.num_regs;
    }
    s.num_regs++;
    remove_operand(&s, i);
    s.num_out--;
    renumber(&s, i + 1, 1);
    return try_out(c, &s);
}

/* ---- operands and extents */

static bool smaller_extent(fuzz_case *c, int d) {
    const int64_t n = c->shape[d], tries[] = {1, n / 4, n / 2, n * 3 / 4, n - 16, n - 1};
    for (int t = 0; t < 6; t++) {
        fuzz_case s = *c;
        if (tries[t] < 1 || tries[t] >= n) continue;
        s.shape[d] = tries[t];
        if (try_out(c, &s)) return true;
    }
    return false;
}

static bool plain_layout(fuzz_case *c, int i) {
    fuzz_case s = *c;
    fuzz_operand *o = &s.operands[i];
    int64_t step = asn_itemsize((asn_dtype)o->dtype);
    o->offset = 0;
    o->flags = 0;
    o->immediate = false;
    for (int d = s.ndim - 1; d >= 0; d--) {
        bool reduced =
            o->reduce != ACLNNX_NO_REDUCE && i >= s.num_in && (s.mask >> d & 1);
        o->strides[d] = reduced ? 0 : step;
        if (!reduced) step *= s.shape[d];
    }
    if (s.buffers[o->buffer].bytes < step) s.buffers[o->buffer].bytes = step;
    return try_out(c, &s);
}

static bool plain_buffer(fuzz_case *c, int b) {
    static const int fills[] = {FUZZ_PLAIN, FUZZ_POSITIVE, FUZZ_ONE};
    for (int f = 0; f < 4; f++) {
        fuzz_case s = *c;
        if (f == 3)
            s.buffers[b].shift = 0;
        else if (s.buffers[b].fill <= fills[f])
            continue;
        else
            s.buffers[b].fill = fills[f];
        if (try_out(c, &s)) return true;
    }
    return false;
}

void fuzz_shrink(fuzz_case *c, bool (*fails)(const fuzz_case *)) {
    is_failing = fails;
    do {
        changed = false;
        for (int i = c->num_in + c->num_out - 1; i >= c->num_in; i--)
            (void)drop_output(c, i);
        for (int k = c->num_instrs - 1; k >= 0; k--)
            if (k < c->num_instrs && !drop_instr(c, k)) (void)plain_instr(c, k);
        for (int i = c->num_in - 1; i >= 0; i--)
            (void)drop_input(c, i);
        for (int d = 0; d < c->ndim; d++)
            (void)smaller_extent(c, d);
        for (int i = 0; i < c->num_in + c->num_out; i++)
            (void)plain_layout(c, i);
        for (int b = 0; b < c->num_buffers; b++)
            (void)plain_buffer(c, b);
    } while (changed);
}
