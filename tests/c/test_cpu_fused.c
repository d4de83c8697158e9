/* The fused engine: every loop of every row against itself one element at a time; random
 * programs against the same instructions run one by one; casts; outputs in place;
 * malformed programs. */
#include "check.h"

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

static void fill_random(const asnd_nd *a, bool small) {
    const asnd_kernels *k = asn_kernels_get();
    int64_t n = asn_nd_size(a);
    for (int64_t i = 0; i < n; i++) {
        static const double corners[] = {0, -0.0, 1, -1, 2, 0.5, 1e30, -1e-30, 100, 127};
        double x = random_below(4)
                       ? (random_unit() - 0.3) * 50
                       : corners[random_below(sizeof corners / sizeof *corners)];
        asn_c128 z = {small ? (double)random_below(5) : x,
                      small ? 0 : (random_unit() - 0.5) * 9};
        k->cast[ASN_C128][a->dtype](1, view_at(a, i), &z, NULL, NULL);
    }
}

/* NaN of any payload are equal; an undefined x87-style difference is not tolerated
 * elsewhere. */
static bool same_element(asn_dtype dt, const void *a, const void *b) {
    if (memcmp(a, b, (size_t)asn_itemsize(dt)) == 0) return true;
    asn_c128 x, y;
    asn_kernels_get()->cast[dt][ASN_C128](1, &x, a, NULL, NULL);
    asn_kernels_get()->cast[dt][ASN_C128](1, &y, b, NULL, NULL);
    if (!asn_is_inexact(dt)) return false;
    bool re = x.re == y.re || (x.re != x.re && y.re != y.re);
    bool im = x.im == y.im || (x.im != x.im && y.im != y.im);
    return re && im;
}

static bool needs_small(asn_op op) {
    return op == ASN_OP_POWER || op == ASN_OP_LEFT_SHIFT || op == ASN_OP_RIGHT_SHIFT ||
           op == ASN_OP_LDEXP;
}

/* One element by the half's definition: float32 loop, then rounding. */
static void reference(asn_op op, asn_dtype dt, void *dst, const void *const src[3]) {
    const asnd_kernels *k = asn_kernels_get();
    const asn_op_info *info = &asn_op_table[op];
    if (k->ew[op][dt]) {
        k->ew[op][dt](1, dst, src[0], src[1], src[2]);
        return;
    }
    char wide[3][16], result[16];
    const void *use[3] = {src[0], src[1], src[2]};
    for (int s = 0; s < info->num_in; s++) {
        if (asn_op_operand(op, s, dt) != dt) continue;
        k->cast[dt][ASN_F32](1, wide[s], src[s], NULL, NULL);
        use[s] = wide[s];
    }
    asn_dtype out = asn_op_result(op, dt);
    k->ew[op][ASN_F32](1, out == dt ? (void *)result : dst, use[0], use[1], use[2]);
    if (out == dt) k->cast[ASN_F32][dt](1, dst, result, NULL, NULL);
}

static void test_row(asn_op op, asn_dtype dt, int ndim, const int64_t *shape) {
    const asn_op_info *info = &asn_op_table[op];
    view in[3], out;
    const asnd_nd *ins[3];
    for (int s = 0; s < info->num_in; s++) {
        view_init(&in[s], asn_op_operand(op, s, dt), ndim, shape, random_below(3) == 0);
        fill_random(&in[s].nd, needs_small(op) && s > 0);
        ins[s] = &in[s].nd;
        if (ndim && random_below(4) == 0) in[s].strides[random_below(ndim)] = 0;
    }
    view_init(&out, asn_op_result(op, dt), ndim, shape, random_below(3) == 0);
    uint32_t flags;
    CHECK(asn_cpu_elementwise(op, dt, ins, &out.nd, &flags) == ASN_OK, "");
    int64_t n = asn_nd_size(&out.nd);
    for (int64_t i = 0; i < n; i++) {
        char want[16];
        const void *src[3] = {NULL, NULL, NULL};
        for (int s = 0; s < info->num_in; s++)
            src[s] = view_at(ins[s], i);
        reference(op, dt, want, src);
        bool same = same_element(out.nd.dtype, view_at(&out.nd, i), want);
        CHECK(same, "");
        if (!same) {
            printf("  %s %s, element %lld\n", info->name, asn_dtype_name(dt),
                   (long long)i);
            break;
        }
    }
    for (int s = 0; s < info->num_in; s++)
        view_fini(&in[s]);
    view_fini(&out);
}

static void test_rows(void) {
    for (int op = 0; op < ASN_OP_CAST; op++) {
        for (int dt = 0; dt < ASN_DTYPE_COUNT; dt++) {
            if (!asn_op_has_loop((asn_op)op, (asn_dtype)dt)) continue;
            int64_t shape[4], line[1] = {1 + random_below(700)};
            test_row((asn_op)op, (asn_dtype)dt, random_shape(shape, 4, 7), shape);
            test_row((asn_op)op, (asn_dtype)dt, 1, line);
        }
    }
}

static void test_casts(void) {
    const asnd_kernels *k = asn_kernels_get();
    for (int from = 0; from < ASN_DTYPE_COUNT; from++) {
        for (int to = 0; to < ASN_DTYPE_COUNT; to++) {
            int64_t n = 1 + random_below(600);
            view in, out;
            view_init(&in, (asn_dtype)from, 1, &n, random_below(2));
            view_init(&out, (asn_dtype)to, 1, &n, random_below(2));
            fill_random(&in.nd, false);
            CHECK(asn_cpu_cast(&in.nd, &out.nd, NULL) == ASN_OK, "");
            for (int64_t i = 0; i < n; i++) {
                char want[16];
                k->cast[from][to](1, want, view_at(&in.nd, i), NULL, NULL);
                CHECK(same_element((asn_dtype)to, view_at(&out.nd, i), want), "");
            }
            view_fini(&in);
            view_fini(&out);
        }
    }
}

/* ---- random programs */

enum { MAX_INSTRS = 14, INPUTS = 3 };

static const asn_op program_ops[] = {
    ASN_OP_ADD,    ASN_OP_SUBTRACT, ASN_OP_MULTIPLY, ASN_OP_MAXIMUM, ASN_OP_NEGATIVE,
    ASN_OP_SQUARE, ASN_OP_LESS,     ASN_OP_WHERE,    ASN_OP_COPY,    ASN_OP_ABSOLUTE};

typedef struct {
    aclnnxInstr instr[MAX_INSTRS];
    asn_dtype dtype[ACLNNX_MAX_REGS];
    int num_instrs, num_regs, num_out;
} random_program;

/* A register of dtype dt among those written, or -1. */
static int pick(const random_program *p, asn_dtype dt, const int *written, int count) {
    for (int tries = 0; tries < 30; tries++) {
        int r = written[random_below(count)];
        if (p->dtype[r] == dt) return r;
    }
    return -1;
}

/* Registers: inputs, two outputs, temporaries. The last instructions write the outputs.
 */
static void make_program(random_program *p, const asn_dtype in[INPUTS]) {
    int written[ACLNNX_MAX_REGS], count = INPUTS;
    for (int i = 0; i < INPUTS; i++) {
        p->dtype[i] = in[i];
        written[i] = i;
    }
    p->num_out = 2;
    p->num_regs = INPUTS + p->num_out;
    p->num_instrs = 0;
    int total = 2 + (int)random_below(MAX_INSTRS - 2);
    while (p->num_instrs < total) {
        asn_op op = program_ops[random_below(sizeof program_ops / sizeof *program_ops)];
        int first = written[random_below(count)], src[3];
        asn_dtype dt = p->dtype[first], to = dt;
        bool casts = random_below(5) == 0, ok = true;
        if (casts) {
            op = ASN_OP_CAST;
            to = in[random_below(INPUTS)];
            src[0] = first;
        } else {
            ok = asn_op_has_loop(op, dt);
            for (int s = 0; s < asn_op_table[op].num_in && ok; s++) {
                src[s] = pick(p, asn_op_operand(op, s, dt), written, count);
                ok = src[s] >= 0;
            }
            if (ok) to = asn_op_result(op, dt);
        }
        if (!ok) continue;
        int left = total - p->num_instrs;
        int dst = left <= p->num_out ? INPUTS + p->num_out - left : p->num_regs++;
        aclnnxInstr *in_ = &p->instr[p->num_instrs++];
        *in_ = (aclnnxInstr){(uint16_t)op,
                             (uint8_t)asn_dtype_table[dt].acl,
                             (uint8_t)asn_dtype_table[to].acl,
                             (uint8_t)dst,
                             {0, 0, 0}};
        for (int s = 0; s < (casts ? 1 : asn_op_table[op].num_in); s++)
            in_->src[s] = (uint8_t)src[s];
        p->dtype[dst] = to;
        written[count++] = dst;
    }
}

static void step_by_step(const random_program *p, view *regs, int ndim,
                         const int64_t *shape) {
    for (int i = 0; i < p->num_instrs; i++) {
        const aclnnxInstr *in = &p->instr[i];
        const asnd_nd *src[3] = {&regs[in->src[0]].nd, &regs[in->src[1]].nd,
                                 &regs[in->src[2]].nd};
        view_init(&regs[in->dst], p->dtype[in->dst], ndim, shape, true);
        asn_dtype dt = asn_dtype_from_acl(in->dtype);
        CHECK(asn_cpu_elementwise((asn_op)in->op, dt, src, &regs[in->dst].nd, NULL) ==
                  ASN_OK,
              "");
    }
}

static void test_program(void) {
    static const asn_dtype choices[] = {ASN_F64, ASN_F32,  ASN_F16,
                                        ASN_I32, ASN_BF16, ASN_U8};
    int64_t shape[4];
    int ndim = 1; /* or small, or large enough for squares (fused_tiles.c) */
    if (random_below(3))
        ndim = random_below(4) ? random_shape(shape, 4, 9) : random_shape(shape, 3, 70);
    if (ndim == 1) shape[0] = 1 + random_below(3000);
    asn_dtype in[INPUTS];
    random_program p;
    for (int i = 0; i < INPUTS; i++)
        in[i] = choices[random_below(6)];
    make_program(&p, in);
    view regs[ACLNNX_MAX_REGS], out[2];
    aclnnxOperand operands[INPUTS + 2];
    memset(operands, 0, sizeof operands);
    for (int i = 0; i < INPUTS; i++) {
        view_init(&regs[i], in[i], ndim, shape, random_below(2));
        fill_random(&regs[i].nd, false);
        if (ndim && random_below(4) == 0) regs[i].strides[random_below(ndim)] = 0;
    }
    step_by_step(&p, regs, ndim, shape);
    for (int i = 0; i < INPUTS + 2; i++) {
        view *v = i < INPUTS ? &regs[i] : &out[i - INPUTS];
        if (i >= INPUTS) view_init(v, p.dtype[i], ndim, shape, random_below(2));
        operands[i] = (aclnnxOperand){.data = v->nd.data,
                                      .strides = v->strides,
                                      .dtype = (uint8_t)asn_dtype_table[v->nd.dtype].acl,
                                      .reduceOp = ACLNNX_NO_REDUCE};
    }
    uint32_t flags;
    aclnnxProgram program = {.numDims = ndim,
                             .numIn = INPUTS,
                             .numOut = 2,
                             .numInstrs = p.num_instrs,
                             .numRegs = p.num_regs,
                             .shape = shape,
                             .operands = operands,
                             .instrs = p.instr,
                             .fpFlags = random_below(2) ? &flags : NULL};
    CHECK(asn_cpu_fused(&program) == ASN_OK, "");
    for (int o = 0; o < 2; o++) {
        int64_t n = asn_nd_size(&out[o].nd);
        bool same = true;
        for (int64_t i = 0; i < n && same; i++)
            same = same_element(out[o].nd.dtype, view_at(&out[o].nd, i),
                                view_at(&regs[INPUTS + o].nd, i));
        CHECK(same, "");
        view_fini(&out[o]);
    }
    for (int r = 0; r < p.num_regs; r++)
        view_fini(&regs[r]);
}

static void test_in_place(void) {
    for (int64_t n = 1; n < 4000; n = n * 3 + 1) {
        double *a = malloc((size_t)n * 8), *b = malloc((size_t)n * 8),
               *c = malloc((size_t)n * 8);
        for (int64_t i = 0; i < n; i++) {
            a[i] = (double)i;
            b[i] = random_unit();
        }
        /* a = a + b; c = a_old * a_new */
        uint8_t f64 = (uint8_t)asn_dtype_table[ASN_F64].acl;
        aclnnxInstr instrs[] = {{ASN_OP_ADD, f64, f64, 2, {0, 1, 0}},
                                {ASN_OP_MULTIPLY, f64, f64, 3, {0, 2, 0}}};
        void *data[] = {a, b, a, c};
        aclnnxOperand operands[4];
        for (int i = 0; i < 4; i++)
            operands[i] = (aclnnxOperand){
                .data = data[i], .dtype = f64, .reduceOp = ACLNNX_NO_REDUCE};
        aclnnxProgram p = {.numDims = 1,
                           .numIn = 2,
                           .numOut = 2,
                           .numInstrs = 2,
                           .numRegs = 4,
                           .shape = &n,
                           .operands = operands,
                           .instrs = instrs};
        CHECK(asn_cpu_fused(&p) == ASN_OK, "");
        for (int64_t i = 0; i < n; i++) {
            CHECK(a[i] == (double)i + b[i], "");
            CHECK(c[i] == (double)i * a[i], "");
        }
        free(a);
        free(b);
        free(c);
    }
}

static void test_malformed(void) {
    double x[4] = {1, 2, 3, 4};
    int64_t n = 4;
    uint8_t f64 = (uint8_t)asn_dtype_table[ASN_F64].acl;
    aclnnxOperand operands[2] = {{.data = x, .dtype = f64, .reduceOp = ACLNNX_NO_REDUCE},
                                 {.data = x, .dtype = f64, .reduceOp = ACLNNX_NO_REDUCE}};
    aclnnxInstr good = {ASN_OP_NEGATIVE, f64, f64, 1, {0, 0, 0}};
    for (int i = 0; i < 20000; i++) {
        aclnnxInstr instrs[3] = {good, good, good};
        uint8_t *bytes = (uint8_t *)instrs;
        aclnnxOperand bad[2] = {operands[0], operands[1]};
        for (int64_t k = 1 + random_below(3); k > 0; k--) {
            if (random_below(4))
                bytes[random_below(sizeof instrs)] = (uint8_t)random_below(40);
            else
                bad[random_below(2)].dtype = (uint8_t)random_below(256);
        }
        aclnnxProgram p = {.numDims = 1,
                           .numIn = 1,
                           .numOut = 1,
                           .numInstrs = 1 + (int)random_below(3),
                           .numRegs = 2 + (int)random_below(4),
                           .shape = &n,
                           .operands = bad,
                           .instrs = instrs};
        double y[8] = {1, 2, 3, 4}, z[8];
        bad[0].data = y;
        bad[1].data = z;
        (void)!asn_cpu_fused(&p); /* must not crash; most are refused */
    }
    aclnnxInstr loop = {ASN_OP_BITWISE_AND, f64, f64, 1, {0, 0, 0}};
    aclnnxProgram p = {.numDims = 1,
                       .numIn = 1,
                       .numOut = 1,
                       .numInstrs = 1,
                       .numRegs = 2,
                       .shape = &n,
                       .operands = operands,
                       .instrs = &loop};
    CHECK(asn_cpu_fused(&p) == ASN_ERR_NO_LOOP, "");
    loop = (aclnnxInstr){ASN_OP_ADD, f64, f64, 1, {0, 1, 0}};
    CHECK(asn_cpu_fused(&p) == ASN_ERR_VALUE, "");
}

int main(void) {
    test_rows();
    test_casts();
    for (int i = 0; i < 400; i++)
        test_program();
    test_in_place();
    test_malformed();
    return check_report("test_cpu_fused");
}
