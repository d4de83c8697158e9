/* Random fused programs over all rows and dtypes, with random views for their operands,
 * for tests that run each in two ways: out[0] and out[1]. */
#ifndef ASN_TESTS_RANDOM_PROGRAM_H
#define ASN_TESTS_RANDOM_PROGRAM_H

#include <math.h>

#include "check.h"

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"

enum { INPUTS = 6, OUTPUTS = 3 };

static const asn_dtype dtypes[] = {ASN_F64, ASN_F32, ASN_F64, ASN_F32,  ASN_F16, ASN_BF16,
                                   ASN_I64, ASN_I32, ASN_U8,  ASN_BOOL, ASN_I8,  ASN_U16,
                                   ASN_I16, ASN_U32, ASN_U64, ASN_C128, ASN_C64};

static void fill(const asnd_nd *a, bool special) {
    static const double corners[] = {0,     -0.0,   1,       -1,    2,      INFINITY,
                                     1e300, 1e-310, -800,    1000,  -1e-40, -INFINITY,
                                     NAN,   65504,  -3.5e38, 1e-320};
    const asnd_kernels *k = asn_kernels_get();
    int64_t n = asn_nd_size(a);
    for (int64_t i = 0; i < n; i++) {
        double x = special && random_below(40) == 0
                       ? corners[random_below(sizeof corners / sizeof *corners)]
                       : (random_unit() - 0.3) * 4;
        if (!asn_is_inexact(a->dtype)) x = (double)random_below(7);
        asn_c128 z = {x, random_below(4) ? (random_unit() - 0.5) * 3 : x};
        k->cast[ASN_C128][a->dtype](1, view_at(a, i), &z, NULL, NULL);
    }
}

typedef struct {
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_dtype dtype[ACLNNX_MAX_REGS];
    int num_instrs, num_regs;
} program;

static bool is_slow(asn_op op) { /* loops of many steps on odd arguments */
    return op == ASN_OP_POWER || op == ASN_OP_GCD || op == ASN_OP_LCM ||
           op == ASN_OP_FLOAT_POWER || op == ASN_OP_LDEXP;
}

static int pick(const program *p, asn_dtype dt, const int *written, int count) {
    for (int tries = 0; tries < 40; tries++) {
        /* often an old value: long lifetimes make registers scarce */
        int r = written[random_below(count)];
        if (p->dtype[r] == dt) return r;
    }
    return -1;
}

/* The last instructions write the outputs. */
static void make(program *p, int total) {
    static const asn_op common[] = {
        ASN_OP_ADD,   ASN_OP_SUBTRACT,   ASN_OP_MULTIPLY, ASN_OP_DIVIDE, ASN_OP_MAXIMUM,
        ASN_OP_SQRT,  ASN_OP_EXP,        ASN_OP_LOG,      ASN_OP_SIN,    ASN_OP_TANH,
        ASN_OP_WHERE, ASN_OP_LESS,       ASN_OP_EQUAL,    ASN_OP_FLOOR,  ASN_OP_ABSOLUTE,
        ASN_OP_COPY,  ASN_OP_LOGICAL_AND};
    bool any = random_below(3) == 0;
    int written[ACLNNX_MAX_REGS], count = INPUTS;
    for (int i = 0; i < INPUTS; i++)
        written[i] = i;
    p->num_regs = INPUTS + OUTPUTS;
    p->num_instrs = 0;
    while (p->num_instrs < total) {
        asn_op op = any ? (asn_op)random_below(ASN_OP_CAST)
                        : common[random_below(sizeof common / sizeof *common)];
        int first = written[random_below(count)], src[3] = {0, 0, 0};
        asn_dtype dt = p->dtype[first], to;
        bool casts = random_below(6) == 0;
        if (casts) {
            op = ASN_OP_CAST;
            to = dtypes[random_below(sizeof dtypes / sizeof *dtypes)];
            src[0] = first;
        } else {
            bool ok = asn_op_has_loop(op, dt) && !is_slow(op);
            for (int s = 0; s < asn_op_table[op].num_in && ok; s++) {
                src[s] = pick(p, asn_op_operand(op, s, dt), written, count);
                ok = src[s] >= 0;
            }
            if (!ok) continue;
            to = asn_op_result(op, dt);
        }
        int left = total - p->num_instrs;
        int dst = left <= OUTPUTS ? INPUTS + OUTPUTS - left : p->num_regs++;
        p->instrs[p->num_instrs++] =
            (aclnnxInstr){(uint16_t)op,
                          (uint8_t)asn_dtype_table[dt].acl,
                          (uint8_t)asn_dtype_table[to].acl,
                          (uint8_t)dst,
                          {(uint8_t)src[0], (uint8_t)src[1], (uint8_t)src[2]}};
        p->dtype[dst] = to;
        written[count++] = dst;
    }
}

/* To the sign of zero; any NaN is any other. */
static bool same_float(double a, double b) {
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static bool same_bytes(const view *a, const view *b) {
    asn_dtype dt = a->nd.dtype;
    int64_t n = asn_nd_size(&a->nd), size = asn_itemsize(dt);
    for (int64_t i = 0; i < n; i++) {
        const char *x = view_at(&a->nd, i), *y = view_at(&b->nd, i);
        if (memcmp(x, y, (size_t)size) == 0) continue;
        asn_c128 u, v;
        asn_kernels_get()->cast[dt][ASN_C128](1, &u, x, NULL, NULL);
        asn_kernels_get()->cast[dt][ASN_C128](1, &v, y, NULL, NULL);
        if (!same_float(u.re, v.re) || !same_float(u.im, v.im)) {
            printf("  element %lld of %lld: %g %+gi, otherwise %g %+gi\n", (long long)i,
                   (long long)n, u.re, u.im, v.re, v.im);
            return false;
        }
    }
    return true;
}

static void print_program(const program *p) {
    for (int i = 0; i < p->num_instrs; i++) {
        const aclnnxInstr *in = &p->instrs[i];
        printf("    r%d %s = %s %s(r%d r%d r%d)\n", in->dst,
               asn_dtype_name(p->dtype[in->dst]), asn_op_table[in->op].name,
               asn_dtype_name(p->dtype[in->src[0]]), in->src[0], in->src[1], in->src[2]);
    }
}

typedef struct {
    int ndim;
    int64_t shape[4];
    view in[INPUTS], out[2][OUTPUTS]; /* [1]: by the other way */
    bool reduces;
    asn_op reduction;
    uint64_t mask;
} setting;

/* A reduced output has stride 0 along the reduced dimensions. */
static void init_output(setting *s, view *out, const program *p, int o, bool whole) {
    view_init(out, p->dtype[INPUTS + o], s->ndim, s->shape, whole);
    if (s->reduces && o == OUTPUTS - 1) {
        view_fini(out);
        int64_t kept[4];
        memcpy(kept, s->shape, sizeof kept);
        for (int d = 0; d < s->ndim; d++)
            if (s->mask >> d & 1) kept[d] = 1;
        view_init(out, p->dtype[INPUTS + o], s->ndim, kept, true);
        for (int d = 0; d < s->ndim; d++)
            if (s->mask >> d & 1) out->strides[d] = 0;
    }
}

/* A program of `total` instructions, and operands for it. The first output may lie over
 * an input of its dtype (in_place). */
static void make_setting(setting *s, program *p, int total, bool *in_place) {
    bool special = random_below(2);
    *s = (setting){.ndim = 1 + (int)random_below(3)};
    for (int d = 0; d < s->ndim; d++)
        s->shape[d] = 1 + random_below(s->ndim == 1 ? 2500 : s->ndim == 2 ? 60 : 12);
    if (s->ndim == 2 && random_below(3) == 0) { /* a few long rows */
        s->shape[0] = 1 + random_below(14);
        s->shape[1] = 1 + random_below(1500);
    }
    for (int i = 0; i < INPUTS; i++) {
        p->dtype[i] = dtypes[random_below(sizeof dtypes / sizeof *dtypes)];
        if (i && random_below(2)) p->dtype[i] = p->dtype[i - 1];
    }
    make(p, total);
    for (int i = 0; i < INPUTS; i++) {
        view_init(&s->in[i], p->dtype[i], s->ndim, s->shape, i == 0 || random_below(4));
        fill(&s->in[i].nd, special);
        if (i && random_below(5) == 0)
            for (int d = 0; d < s->ndim; d++)
                if (random_below(2)) s->in[i].strides[d] = 0;
    }
    *in_place = p->dtype[0] == p->dtype[INPUTS] && random_below(2);
}

/* Outputs with the same layout for both ways. */
static void make_outputs(setting *s, const program *p, bool whole) {
    for (int o = 0; o < OUTPUTS; o++) {
        uint64_t seed = check_seed;
        init_output(s, &s->out[0][o], p, o, whole);
        check_seed = seed;
        init_output(s, &s->out[1][o], p, o, whole);
    }
}

/* Both, and of every third program the last output is a sum or maximum along some
 * dimension. */
static inline void make_case(setting *s, program *p, int total, bool *in_place) {
    make_setting(s, p, total, in_place);
    asn_dtype last = p->dtype[INPUTS + OUTPUTS - 1];
    s->reduces = random_below(3) == 0 && last != ASN_BOOL;
    s->reduction = random_below(2) ? ASN_OP_ADD : ASN_OP_MAXIMUM;
    if (s->reduces) s->mask = (uint64_t)1 << random_below(s->ndim);
    make_outputs(s, p, *in_place || random_below(4));
}

static void close_setting(setting *s) {
    for (int i = 0; i < INPUTS; i++)
        view_fini(&s->in[i]);
    for (int o = 0; o < OUTPUTS; o++)
        for (int way = 0; way < 2; way++)
            view_fini(&s->out[way][o]);
}

/* The program over the operands of one way. */
static aclnnxProgram program_of(setting *s, const program *p, int way, bool in_place,
                                aclnnxOperand *operands, uint32_t *flags) {
    memset(operands, 0, (INPUTS + OUTPUTS) * sizeof *operands);
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        view *v = i < INPUTS ? &s->in[i] : &s->out[way][i - INPUTS];
        operands[i] = (aclnnxOperand){.data = v->nd.data,
                                      .strides = v->strides,
                                      .dtype = (uint8_t)asn_dtype_table[v->nd.dtype].acl,
                                      .reduceOp = ACLNNX_NO_REDUCE};
    }
    if (in_place) { /* the first output lies over an input of its dtype */
        view *out = &s->out[way][0];
        memcpy(out->memory, s->in[0].memory,
               (size_t)asn_nd_size(&out->nd) * (size_t)asn_itemsize(out->nd.dtype));
        operands[0].data = out->nd.data;
    }
    if (s->reduces) operands[INPUTS + OUTPUTS - 1].reduceOp = (uint16_t)s->reduction;
    return (aclnnxProgram){.numDims = s->ndim,
                           .numIn = INPUTS,
                           .numOut = OUTPUTS,
                           .numInstrs = p->num_instrs,
                           .numRegs = p->num_regs,
                           .shape = s->shape,
                           .operands = operands,
                           .instrs = p->instrs,
                           .reduceMask = s->mask,
                           .fpFlags = flags};
}

#endif
