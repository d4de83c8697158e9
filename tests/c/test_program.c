/* Building programs (ops/program.h): random expressions of int64, with conversions, sums
 * and outputs that share values, against the same computed one by one; what nothing needs
 * and what is said twice is left out; what is too much is refused. */
#include "check.h"

#include "device/cpu/fused/fused.h"
#include "ops/program.h"

enum { N = 5, INPUTS = 6, MOST = 40, OUTPUTS = 8 };

typedef struct {
    int num;
    int value[MOST];          /* the builder's */
    int64_t element[MOST][N]; /* and what it holds */
} model;

static void add_value(model *m, int value, const int64_t *element) {
    if (m->num == MOST) return;
    m->value[m->num] = value;
    memcpy(m->element[m->num++], element, N * sizeof *element);
}

static void add_random(asn_builder *b, model *m) {
    static const asn_op ops[] = {ASN_OP_ADD, ASN_OP_SUBTRACT, ASN_OP_MULTIPLY,
                                 ASN_OP_MAXIMUM};
    asn_op op = ops[random_below(4)];
    int x = (int)random_below(m->num), y = (int)random_below(m->num);
    int src[2] = {m->value[x], m->value[y]};
    int64_t result[N];
    for (int i = 0; i < N; i++) {
        uint64_t u = (uint64_t)m->element[x][i], v = (uint64_t)m->element[y][i];
        result[i] = op == ASN_OP_ADD          ? (int64_t)(u + v)
                    : op == ASN_OP_SUBTRACT   ? (int64_t)(u - v)
                    : op == ASN_OP_MULTIPLY   ? (int64_t)(u * v)
                    : (int64_t)u > (int64_t)v ? (int64_t)u
                                              : (int64_t)v;
    }
    int value = asn_build_op(b, op, ASN_I64, src);
    if (random_below(5) == 0) { /* through int32 */
        value = asn_build_cast(b, asn_build_cast(b, value, ASN_I32), ASN_I64);
        for (int i = 0; i < N; i++)
            result[i] = (int32_t)result[i];
    }
    CHECK(asn_build_dtype(b, value) == ASN_I64, "");
    add_value(m, value, result);
}

static aclnnxOperand operand_at(void *data, const int64_t *strides) {
    return (aclnnxOperand){.data = data,
                           .strides = strides,
                           .dtype = (uint8_t)asn_dtype_table[ASN_I64].acl,
                           .reduceOp = ACLNNX_NO_REDUCE};
}

static void test_random(void) {
    const int64_t n = N, step = sizeof(int64_t), still = 0;
    int64_t in[INPUTS][N], out[OUTPUTS][N];
    asn_builder b;
    model m = {0};
    asn_build_begin(&b);
    for (int i = 0; i < INPUTS; i++) {
        for (int k = 0; k < N; k++)
            in[i][k] = random_below(2000) - 1000;
        add_value(&m, asn_build_input(&b, ASN_I64), in[i]);
    }
    for (int64_t k = random_below(12); k > 0; k--)
        add_random(&b, &m);
    const int num_out = 1 + (int)random_below(OUTPUTS);
    int shown[OUTPUTS];
    bool sums[OUTPUTS];
    for (int o = 0; o < num_out; o++) {
        shown[o] = (int)random_below(m.num);
        sums[o] = random_below(3) == 0;
        asn_build_output(&b, m.value[shown[o]], sums[o]);
    }
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    aclnnxOperand operands[INPUTS + OUTPUTS];
    asn_built built = {.instrs = instrs};
    CHECK(asn_build_finish(&b, &built) == ASN_OK && built.num_out == num_out, "");
    for (int i = 0; i < built.num_in; i++)
        operands[i] = operand_at(in[built.inputs[i]], &step);
    for (int o = 0; o < num_out; o++) {
        operands[built.num_in + o] = operand_at(out[o], sums[o] ? &still : &step);
        if (sums[o]) operands[built.num_in + o].reduceOp = ASN_OP_ADD;
    }
    aclnnxProgram p = {.numDims = 1,
                       .numIn = built.num_in,
                       .numOut = num_out,
                       .numInstrs = built.num_instrs,
                       .numRegs = built.num_regs,
                       .shape = &n,
                       .reduceMask = 1,
                       .operands = operands,
                       .instrs = instrs};
    CHECK(asn_cpu_fused(&p) == ASN_OK, "");
    for (int o = 0; o < num_out; o++) {
        const int64_t *expected = m.element[shown[o]];
        uint64_t sum = 0;
        for (int k = 0; k < N; k++)
            sum += (uint64_t)expected[k];
        if (sums[o])
            CHECK(out[o][0] == (int64_t)sum, "");
        else
            CHECK(memcmp(out[o], expected, sizeof out[o]) == 0, "");
    }
}

/* x * x + y, twice, of which one is shown; z and what it is for are not needed. */
static void test_what_is_left_out(void) {
    asn_builder b;
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_built built = {.instrs = instrs};
    asn_build_begin(&b);
    int z = asn_build_input(&b, ASN_F32), x = asn_build_input(&b, ASN_F32),
        y = asn_build_input(&b, ASN_F64), shown = -1;
    CHECK(asn_build_cast(&b, x, ASN_F32) == x, "");
    for (int turn = 0; turn < 2; turn++) {
        int square[2] = {x, x}, both[2] = {z, x};
        int wide = asn_build_cast(&b, asn_build_op(&b, ASN_OP_MULTIPLY, ASN_F32, square),
                                  ASN_F64);
        int sum[2] = {wide, y};
        int value = asn_build_op(&b, ASN_OP_ADD, ASN_F64, sum);
        CHECK(turn == 0 || value == shown, "the same value");
        shown = value;
        (void)asn_build_op(&b, ASN_OP_ADD, ASN_F32, both);
    }
    asn_build_output(&b, shown, false);
    CHECK(asn_build_finish(&b, &built) == ASN_OK, "");
    CHECK(built.num_in == 2 && built.inputs[0] == x && built.inputs[1] == y, "");
    CHECK(built.num_instrs == 3 && built.num_regs == 5, "");
    CHECK(instrs[2].dst == 2 && instrs[2].op == ASN_OP_ADD, "the output's register");
}

static void test_too_much(void) {
    asn_builder b;
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_built built = {.instrs = instrs};
    asn_build_begin(&b);
    int value = asn_build_input(&b, ASN_F64);
    for (int i = 0; i < ACLNNX_MAX_INSTRS; i++)
        value = asn_build_op(&b, ASN_OP_NEGATIVE, ASN_F64, &value);
    CHECK(!b.full, "");
    asn_build_output(&b, value, false);
    CHECK(asn_build_finish(&b, &built) == ASN_OK && built.num_instrs == ACLNNX_MAX_INSTRS,
          "");
    asn_build_output(&b, value, false); /* a copy is one more */
    CHECK(asn_build_finish(&b, &built) == ASN_ERR_RUNTIME, "");
    asn_build_begin(&b);
    for (int i = 0; i <= ACLNNX_MAX_OPERANDS; i++)
        value = asn_build_input(&b, ASN_F64);
    CHECK(b.full && asn_build_finish(&b, &built) == ASN_ERR_RUNTIME, "");
    asn_error_clear();
}

int main(void) {
    for (int i = 0; i < 4000; i++)
        test_random();
    test_what_is_left_out();
    test_too_much();
    return check_report("test_program");
}
