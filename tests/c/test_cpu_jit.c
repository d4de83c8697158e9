/* The JIT against its oracle, the block interpreter: random programs over all rows and
 * dtypes, contiguous, strided, broadcast and in place, short and so long that registers
 * spill, with special values, with reductions. Results agree bit for bit (NaNs are
 * equal), and so do the floating-point conditions. */
#include "random_program.h"

#include "device/cpu/jit/jit.h"

/* The same program on the same inputs, by one engine; returns the conditions. */
static uint32_t run(setting *s, const program *p, bool interpreted, bool in_place) {
    aclnnxOperand operands[INPUTS + OUTPUTS];
    uint32_t flags = 0;
    aclnnxProgram q = program_of(s, p, interpreted, in_place, operands, &flags);
    asnd_jit_mode before = asn_jit_switch(interpreted ? ASN_JIT_OFF : ASN_JIT_ALWAYS);
    CHECK(asn_cpu_fused(&q) == ASN_OK, "");
    asn_jit_switch(before);
    return flags;
}

static void compare(setting *at, const program *p, bool in_place) {
    setting s = *at;
    uint32_t flags = run(&s, p, false, in_place);
    uint32_t expected = run(&s, p, true, in_place);
    bool good = flags == expected;
    if (!good) printf("  conditions %x, interpreted %x\n", flags, expected);
    for (int o = 0; o < OUTPUTS; o++)
        good &= same_bytes(&s.out[0][o], &s.out[1][o]);
    CHECK(good, "");
    if (!good) print_program(p);
    close_setting(&s);
}

static void test_one(int total) {
    setting s;
    program p;
    bool in_place;
    make_case(&s, &p, total, &in_place);
    compare(&s, &p, in_place);
}

/* Long contiguous rows, one onto the other: the machine code computes several at a time,
 * and again one by one where an element is outside a function's range. */
static void test_stacked(int total) {
    setting s = {.ndim = 2, .reduces = true, .mask = 1};
    program p;
    bool special = random_below(2);
    s.shape[0] = 1 + random_below(14);
    s.shape[1] = 60 + random_below(1500);
    s.reduction = random_below(2) ? ASN_OP_ADD : ASN_OP_MAXIMUM;
    for (int i = 0; i < INPUTS; i++)
        p.dtype[i] = i && random_below(2)
                         ? p.dtype[i - 1]
                         : dtypes[random_below(sizeof dtypes / sizeof *dtypes)];
    make(&p, total);
    s.reduces = p.dtype[INPUTS + OUTPUTS - 1] != ASN_BOOL;
    s.mask = s.reduces;
    for (int i = 0; i < INPUTS; i++) {
        view_init(&s.in[i], p.dtype[i], s.ndim, s.shape, true);
        fill(&s.in[i].nd, special);
        if (i && random_below(4) == 0) s.in[i].strides[random_below(2)] = 0;
    }
    bool in_place = p.dtype[0] == p.dtype[INPUTS] && random_below(4) == 0;
    make_outputs(&s, &p, true);
    compare(&s, &p, in_place);
}

static void add_instr(program *p, asn_op op, int dst, int a, int b) {
    uint8_t dt = (uint8_t)asn_dtype_table[p->dtype[a]].acl;
    p->dtype[dst] = p->dtype[a];
    p->instrs[p->num_instrs++] =
        (aclnnxInstr){(uint16_t)op, dt, dt, (uint8_t)dst, {(uint8_t)a, (uint8_t)b, 0}};
}

/* A few vectors of a long program and what is left of them, in place, of numbers smaller
 * than the widest: those of the next vector must not change before their turn. */
static void test_rest(asn_dtype small, int64_t n) {
    enum { LONG = 80 };
    program p = {.num_regs = INPUTS + OUTPUTS + LONG};
    setting s = {.ndim = 1, .shape = {n}};
    for (int i = 0; i < INPUTS; i++) {
        p.dtype[i] = i == 1 ? ASN_F64 : small;
        view_init(&s.in[i], p.dtype[i], s.ndim, s.shape, true);
        fill(&s.in[i].nd, false);
    }
    int last = 1;
    for (int k = INPUTS + OUTPUTS; k < p.num_regs; last = k++)
        add_instr(&p, k % 2 ? ASN_OP_ADD : ASN_OP_MULTIPLY, k, last, 1);
    add_instr(&p, ASN_OP_MULTIPLY, INPUTS, 0, 0);
    add_instr(&p, ASN_OP_ADD, INPUTS + 1, last, 1);
    add_instr(&p, ASN_OP_SQRT, INPUTS + 2, last, 0);
    make_outputs(&s, &p, true);
    compare(&s, &p, true);
}

int main(void) {
    int compiled = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t before = asn_jit_count().compiled;
        test_one(OUTPUTS + (int)random_below(i % 10 == 0 ? 110 : 14));
        compiled += asn_jit_count().compiled > before;
    }
    static const asn_dtype small[] = {ASN_I8, ASN_U16, ASN_F32, ASN_I64};
    for (size_t d = 0; d < sizeof small / sizeof *small; d++)
        for (int64_t n = 1; n < 70; n++)
            test_rest(small[d], n);
    asnd_jit_mode now = asn_jit_switch(ASN_JIT_ON);
    bool there = asn_jit_now() != ASN_JIT_OFF;
    asn_jit_switch(now);
    printf("compiled %d of 4000 programs, %lld of them for two vectors in turns, %.1f us "
           "each\n",
           compiled, (long long)asn_jit_count().in_turns,
           asn_jit_count().compile_ns / 1e3 / (compiled ? compiled : 1));
    CHECK(!there || compiled > 800, "the JIT took few programs");
    CHECK(!there || asn_jit_count().in_turns > 400, "few took turns");
    for (int i = 0; i < 1500; i++)
        test_stacked(OUTPUTS + (int)random_below(8));
    return check_report("test_cpu_jit");
}
