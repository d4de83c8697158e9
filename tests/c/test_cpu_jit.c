/* The JIT against its oracle, the block interpreter: random programs over all rows and
 * dtypes, contiguous, strided, broadcast and in place, short and so long that registers
 * spill, with special values, with reductions. Results agree bit for bit (NaNs are
 * equal), and so do the floating-point conditions. */
#include "random_program.h"

#include "device/cpu/jit.h"

/* The same program on the same inputs, by one engine; returns the conditions. */
static uint32_t run(setting *s, const program *p, bool interpreted, bool in_place) {
    aclnnxOperand operands[INPUTS + OUTPUTS];
    uint32_t flags = 0;
    aclnnxProgram q = program_of(s, p, interpreted, in_place, operands, &flags);
    asn_jit_mode before = asn_jit_switch(interpreted ? ASN_JIT_OFF : ASN_JIT_ALWAYS);
    CHECK(asn_cpu_fused(&q) == ASN_OK, "");
    asn_jit_switch(before);
    return flags;
}

static void test_one(int total) {
    setting s;
    program p;
    bool in_place;
    make_case(&s, &p, total, &in_place);
    uint32_t flags = run(&s, &p, false, in_place);
    uint32_t expected = run(&s, &p, true, in_place);
    bool good = flags == expected;
    if (!good) printf("  conditions %x, interpreted %x\n", flags, expected);
    for (int o = 0; o < OUTPUTS; o++)
        good &= same_bytes(&s.out[0][o], &s.out[1][o]);
    CHECK(good, "");
    if (!good) print_program(&p);
    close_setting(&s);
}

int main(void) {
    int compiled = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t before = asn_jit_count().compiled;
        test_one(OUTPUTS + (int)random_below(i % 10 == 0 ? 110 : 14));
        compiled += asn_jit_count().compiled > before;
    }
    asn_jit_mode now = asn_jit_switch(ASN_JIT_ON);
    bool there = asn_jit_now() != ASN_JIT_OFF;
    asn_jit_switch(now);
    printf("compiled %d of 4000 programs, %.1f us each\n", compiled,
           asn_jit_count().compile_ns / 1e3 / (compiled ? compiled : 1));
    CHECK(!there || compiled > 800, "the JIT took few programs");
    return check_report("test_cpu_jit");
}
