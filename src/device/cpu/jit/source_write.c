/* CPU device: the text of a program whose stages are known (see source.h).
 *
 *     static const aclnnx_loop *f_loops[1];
 *     int f_open(const aclnnx_host *h) { ... }
 *     int f(char *const *p, uint32_t *flags) {
 *         _Alignas(64) char m[8192];
 *         for (int64_t i0 = 0; i0 < 14; i0++) {
 *             const char *q0 = p[0] + i0 * 128;
 *             char *q1 = p[1] + i0 * 128;
 *             for (int64_t i1 = 0; i1 < 14; i1++) {
 *                 const double r0 = AT(double, q0 + i1 * 8);
 *                 ...
 *
 * Values are r<register>, operands' rows q<operand>, scratch memory m.
 *
 * The function takes the operands' addresses and a word for the exceptions raised (or
 * NULL). It returns 0 when all is done, and 1 when the engine is to run the program
 * instead: nothing that is an input is then written. Bits are those of the engine:
 * constants are put as bit patterns, each operation's result is cast to its dtype, so no
 * wider precision survives.
 */
#include "device/cpu/jit/source.h"

#include <string.h>

static const char PREAMBLE[] =
    "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
    "#include <string.h>\n"
    "typedef struct { float re, im; } asn_c64;\n"
    "typedef struct { double re, im; } asn_c128;\n"
    "typedef struct aclnnx_loop aclnnx_loop;\n"
    "typedef struct {\n"
    "    int32_t (*opcode)(const char *);\n"
    "    const aclnnx_loop *(*find)(int32_t, int32_t, int32_t);\n"
    "    int32_t (*run)(const aclnnx_loop *, int64_t, void *, const void *const *,\n"
    "                   uint32_t, uint32_t *);\n"
    "} aclnnx_host;\nstatic const aclnnx_host *host;\n"
    "#define EACH(T) typedef T at_##T __attribute__((may_alias, aligned(1)));\n"
    "EACH(uint8_t) EACH(int8_t) EACH(uint16_t) EACH(int16_t) EACH(uint32_t)\n"
    "EACH(int32_t) EACH(uint64_t) EACH(int64_t) EACH(float) EACH(double)\n"
    "EACH(asn_c64) EACH(asn_c128)\n"
    "#define AT(T, place) (*(at_##T *)(place))\n"
    "static inline float f32_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }\n"
    "static inline double f64_of(uint64_t u) { double f; memcpy(&f, &u, 8); return f; "
    "}\n"
    "#define SEEN(place) __asm__ volatile(\"\" : : \"r\"(place) : \"memory\")\n"
    "#if defined(__SSE2__)\n#include <xmmintrin.h>\n"
    "static inline void forget(void) {\n"
    "    unsigned s = _mm_getcsr();\n    if (s & 0x1d) _mm_setcsr(s & ~0x3fu);\n}\n"
    "static inline uint32_t met(void) {\n"
    "    unsigned s = _mm_getcsr();\n    return (s >> 2 & 7) | (s << 3 & 8);\n}\n"
    "#else\n#include <fenv.h>\n"
    "static inline void forget(void) { feclearexcept(FE_ALL_EXCEPT); }\n"
    "static inline uint32_t met(void) {\n"
    "    int s = fetestexcept(FE_ALL_EXCEPT);\n"
    "    return (s & FE_DIVBYZERO ? 1u : 0) | (s & FE_OVERFLOW ? 2u : 0) |\n"
    "           (s & FE_UNDERFLOW ? 4u : 0) | (s & FE_INVALID ? 8u : 0);\n}\n"
    "#endif\n";

void asn_source_preamble(asn_text *out) {
    asn_text_append(out, PREAMBLE, sizeof PREAMBLE - 1);
    asn_text_append(out, asn_source_functions, strlen(asn_source_functions));
}

static const char *type_of(const asnd_source *s, int reg) {
    return asn_source_types[s->reg[reg].dtype];
}

/* Four spaces a level, one for the function. */
static void indent(const asnd_source *s, int depth) {
    for (int d = 0; d <= depth; d++)
        asn_text_put(s->out, "    ");
}

/* ---- values */

/* The scalar as an expression, by its bits, so that NaN and -0.0 stay what they are. */
static void put_immediate(const asnd_source *s, int operand) {
    const uint8_t *bytes = s->p->operands[operand].immediate;
    uint64_t word[2] = {0};
    memcpy(word, bytes, sizeof word);
    unsigned long long low = word[0], high = word[1];
    asn_dtype dt = (asn_dtype)s->reg[operand].dtype;
    int bits = 8 * asn_itemsize(dt);
    if (bits < 64 && dt != ASN_C64) low &= ((unsigned long long)1 << bits) - 1;
    switch (dt) {
    case ASN_F32: asn_text_put(s->out, "f32_of(0x%llxu)", low); break;
    case ASN_F64: asn_text_put(s->out, "f64_of(0x%llxu)", low); break;
    case ASN_C64:
        asn_text_put(s->out, "{f32_of(0x%llxu), f32_of(0x%llxu)}", low & 0xffffffff,
                     low >> 32);
        break;
    case ASN_C128:
        asn_text_put(s->out, "{f64_of(0x%llxu), f64_of(0x%llxu)}", low, high);
        break;
    default: asn_text_put(s->out, "(%s)0x%llxu", asn_source_types[dt], low);
    }
}

/* The element of a packed array at the nest's position. */
static void put_position(const asnd_source *s, int64_t item) {
    asn_text_put(s->out, "(");
    for (int d = 0; d < s->num_dims; d++) {
        int64_t step = 1;
        for (int k = d + 1; k < s->num_dims; k++)
            step *= s->extent[k];
        asn_text_put(s->out, "%si%d * %lld", d ? " + " : "", d, (long long)(step * item));
    }
    asn_text_put(s->out, "%s)", s->num_dims ? "" : "0");
}

/* The register's element in the scratch memory, as an lvalue. */
static void put_scratch(const asnd_source *s, int reg) {
    asn_text_put(s->out, "AT(%s, m + %d + ", type_of(s, reg), s->reg[reg].scratch);
    put_position(s, asn_itemsize((asn_dtype)s->reg[reg].dtype));
    asn_text_put(s->out, ")");
}

/* The operand's element at the innermost index, from its row's address. */
static void put_element(const asnd_source *s, int operand) {
    int last = s->num_dims - 1;
    asn_text_put(s->out, "AT(%s, q%d", type_of(s, operand), operand);
    if (last >= 0 && s->stride[operand][last])
        asn_text_put(s->out, " + i%d * %lld", last, (long long)s->stride[operand][last]);
    asn_text_put(s->out, ")");
}

static bool is_input(const asnd_source *s, int reg) {
    return reg < s->p->numIn;
}
static bool is_output(const asnd_source *s, int reg) {
    return reg >= s->p->numIn && reg < s->num_operands && !asn_source_reduces(s, reg);
}
/* A call has left it where it belongs. */
static bool is_there(const asnd_source *s, int reg) {
    return s->reg[reg].looped && s->reg[reg].scratch < 0;
}

/* ---- a stage's text */

/* The stage at which an output is written: over an input, after everything else. */
static int store_stage(const asnd_source *s, int output) {
    return s->in_place[output] ? s->last_stage : s->reg[output].stage;
}

/* What the stage loads, and which operands' rows it needs. */
typedef struct {
    bool loads[ACLNNX_MAX_REGS], rows[ACLNNX_MAX_OPERANDS];
    bool any;
} needs;

/* The stage reads a register; what it makes itself needs no load. */
static void need(const asnd_source *s, needs *n, int reg, int stage) {
    bool made_here =
        !is_input(s, reg) && !s->reg[reg].looped && s->reg[reg].stage == stage;
    if (made_here) return;
    n->loads[reg] = true;
    bool row =
        is_input(s, reg) ? s->place[reg] != ASN_SOURCE_IMMEDIATE : is_there(s, reg);
    if (row) n->rows[reg] = true;
}

/* Whether the instruction is text of this stage. */
static bool is_text_of(const asnd_source *s, const aclnnxInstr *in, int stage) {
    return !s->reg[in->dst].looped && s->reg[in->dst].stage == stage;
}

/* Operands of its text, and what it stores. */
static void find_needs(const asnd_source *s, int stage, needs *n) {
    for (int i = 0; i < s->p->numInstrs; i++) {
        const aclnnxInstr *in = &s->p->instrs[i];
        if (!is_text_of(s, in, stage)) continue;
        n->any = true;
        for (int k = 0; k < asn_source_arity(in); k++)
            need(s, n, in->src[k], stage);
    }
    for (int i = 0; i < s->num_operands; i++) {
        bool copied = is_input(s, i) && s->reg[i].stored && stage == 0;
        bool stores = is_output(s, i) && store_stage(s, i) == stage && !is_there(s, i);
        if (!copied && !stores) continue;
        n->any = true;
        need(s, n, i, stage);
        if (stores) n->rows[i] = true;
    }
}

/* A register's value into a constant of the text. */
static void put_load(const asnd_source *s, int reg, int depth) {
    indent(s, depth);
    asn_text_put(s->out, "const %s r%d = ", type_of(s, reg), reg);
    if (is_input(s, reg) && s->place[reg] == ASN_SOURCE_IMMEDIATE)
        put_immediate(s, reg);
    else if (is_input(s, reg) || is_there(s, reg))
        put_element(s, reg);
    else
        put_scratch(s, reg);
    asn_text_put(s->out, ";\n");
}

/* The expression names its operands a, b, c. */
static void put_operation(const asnd_source *s, const aclnnxInstr *in, int depth) {
    static const char letters[] = "abc";
    const char *type = type_of(s, in->dst);
    indent(s, depth);
    asn_text_put(s->out, "const %s r%d = ({ ", type, in->dst);
    for (int k = 0; k < asn_source_arity(in); k++)
        asn_text_put(s->out, "const %s %c = r%d; ", type_of(s, in->src[k]), letters[k],
                     in->src[k]);
    bool whole = asn_is_complex((asn_dtype)s->reg[in->dst].dtype); /* no cast to those */
    asn_text_put(s->out, whole ? "a; });\n" : "(%s)(%s); });\n", type,
                 asn_source_expression(in));
}

/* To the scratch memory what later stages read, to outputs their results. */
static void put_stores(const asnd_source *s, int stage, int depth) {
    for (int reg = 0; reg < s->p->numRegs; reg++) {
        const asnd_source_reg *r = &s->reg[reg];
        bool here = is_input(s, reg) ? stage == 0 : !r->looped && r->stage == stage;
        if (here && r->scratch >= 0) {
            indent(s, depth);
            put_scratch(s, reg);
            asn_text_put(s->out, " = r%d;\n", reg);
        }
        if (is_output(s, reg) && store_stage(s, reg) == stage && !is_there(s, reg)) {
            indent(s, depth);
            put_element(s, reg);
            asn_text_put(s->out, " = r%d;\n", reg);
        }
    }
}

/* Where operands' rows begin, inside of all dimensions but the last. */
static void put_rows(const asnd_source *s, const needs *n, int depth) {
    for (int i = 0; i < s->num_operands; i++) {
        if (!n->rows[i]) continue;
        indent(s, depth);
        asn_text_put(s->out, "%schar *const q%d = p[%d]", is_input(s, i) ? "const " : "",
                     i, i);
        for (int d = 0; d < s->num_dims - 1; d++)
            if (s->stride[i][d])
                asn_text_put(s->out, " + i%d * %lld", d, (long long)s->stride[i][d]);
        asn_text_put(s->out, ";\n");
    }
}

/* The same in every iteration. */
static bool is_fixed(const asnd_source *s, int reg) {
    return is_input(s, reg) &&
           (s->place[reg] == ASN_SOURCE_SINGLE || s->place[reg] == ASN_SOURCE_IMMEDIATE);
}

/* `fixed`: those that come before the innermost loop. */
static void put_loads(const asnd_source *s, const needs *n, bool fixed, int depth) {
    for (int reg = 0; reg < s->p->numRegs; reg++)
        if (n->loads[reg] && is_fixed(s, reg) == fixed) put_load(s, reg, depth);
}

/* One nest of loops, nothing where the stage has no text. `forget` and `met` clear and
 * read the exceptions around it. */
static void put_stage(const asnd_source *s, int stage) {
    needs n = {.any = false};
    int last = s->num_dims - 1, depth = 1;
    find_needs(s, stage, &n);
    if (!n.any) return;
    asn_text_put(s->out, "    {\n");
    if (s->watched) asn_text_put(s->out, "        if (flags) forget();\n");
    for (int d = 0; d < s->num_dims; d++) {
        if (d == last) {
            put_rows(s, &n, depth);
            put_loads(s, &n, true, depth);
            asn_text_put(s->out, "#pragma GCC ivdep\n");
        }
        indent(s, depth++);
        asn_text_put(s->out, "for (int64_t i%d = 0; i%d < %lld; i%d++) {\n", d, d,
                     (long long)s->extent[d], d);
    }
    if (last < 0) {
        put_rows(s, &n, depth);
        put_loads(s, &n, true, depth);
    }
    put_loads(s, &n, false, depth);
    for (int i = 0; i < s->p->numInstrs; i++)
        if (is_text_of(s, &s->p->instrs[i], stage))
            put_operation(s, &s->p->instrs[i], depth);
    put_stores(s, stage, depth);
    while (depth-- > 1) {
        indent(s, depth);
        asn_text_put(s->out, "}\n");
    }
    if (s->scratch_bytes) asn_text_put(s->out, "        SEEN(m);\n");
    if (s->watched) asn_text_put(s->out, "        if (flags) seen |= met();\n");
    asn_text_put(s->out, "    }\n");
}

/* ---- calls */

/* Of a call's operand: scratch memory or the program's array. */
static void put_address(const asnd_source *s, int reg) {
    if (s->reg[reg].scratch >= 0)
        asn_text_put(s->out, "m + %d", s->reg[reg].scratch);
    else
        asn_text_put(s->out, "p[%d]", reg);
}

/* A call of the device's loop number `number`, over all n elements; one-element operands
 * are marked as immediates. */
static void put_call(const asnd_source *s, const aclnnxInstr *in, int number) {
    unsigned immediates = 0;
    asn_text_put(s->out, "    {\n");
    for (int k = 0; k < asn_source_arity(in); k++) {
        int reg = in->src[k];
        if (!is_input(s, reg) || s->reg[reg].scratch >= 0 || !is_fixed(s, reg)) continue;
        immediates |= 1u << k;
        if (s->place[reg] != ASN_SOURCE_IMMEDIATE) continue;
        uint64_t word[2];
        memcpy(word, s->p->operands[reg].immediate, sizeof word);
        asn_text_put(s->out,
                     "        static const uint64_t word%d[2] = {0x%llxu, 0x%llxu};\n", k,
                     (unsigned long long)word[0], (unsigned long long)word[1]);
    }
    asn_text_put(s->out, "        const void *const in[] = {");
    for (int k = 0; k < asn_source_arity(in); k++) {
        int reg = in->src[k];
        if ((immediates >> k & 1) && s->place[reg] == ASN_SOURCE_IMMEDIATE)
            asn_text_put(s->out, "word%d", k);
        else
            put_address(s, reg);
        asn_text_put(s->out, k + 1 < asn_source_arity(in) ? ", " : "};\n");
    }
    asn_text_put(s->out, "        host->run(%s_loops[%d], %lld, ", s->name, number,
                 (long long)s->n);
    put_address(s, in->dst);
    asn_text_put(s->out, ", in, %u, %s);\n    }\n", immediates,
                 s->watched ? "flags" : "0");
}

/* The fold of a stored value to its output. */
static void put_fold(const asnd_source *s, int output, int number) {
    asn_text_put(s->out, "    {\n        const void *const in[] = {m + %d};\n",
                 s->reg[output].scratch);
    asn_text_put(s->out,
                 "        host->run(%s_loops[%d], %lld, p[%d], in, 0, %s);\n    }\n",
                 s->name, number, (long long)s->n, output, s->watched ? "flags" : "0");
}

/* Loops are numbered by instruction, then by folded output. */
static void put_open(const asnd_source *s) {
    int number = 0;
    if (s->num_loops)
        asn_text_put(s->out, "static const aclnnx_loop *%s_loops[%d];\n", s->name,
                     s->num_loops);
    asn_text_put(s->out, "static int %s_open(const aclnnx_host *h) {\n    host = h;\n",
                 s->name);
    for (int i = 0; i < s->p->numInstrs; i++) {
        const aclnnxInstr *in = &s->p->instrs[i];
        if (!s->reg[in->dst].looped) continue;
        asn_text_put(s->out, "    %s_loops[%d] = ", s->name, number++);
        if (in->op == ASN_OP_CAST)
            asn_text_put(s->out, "h->find(%d, %d, %d);\n", ACLNNX_LOOP_CAST, in->outDtype,
                         in->dtype);
        else
            asn_text_put(s->out, "h->find(%d, h->opcode(\"%s\"), %d);\n", ACLNNX_LOOP_MAP,
                         asn_op_table[in->op].name, in->dtype);
    }
    for (int i = s->p->numIn; i < s->num_operands; i++)
        if (asn_source_reduces(s, i))
            asn_text_put(s->out,
                         "    %s_loops[%d] = h->find(%d, h->opcode(\"%s\"), %d);\n",
                         s->name, number++, ACLNNX_LOOP_FOLD,
                         asn_op_table[s->p->operands[i].reduceOp].name,
                         asn_dtype_table[s->reg[i].dtype].acl);
    for (int i = 0; i < s->num_loops; i++)
        asn_text_put(s->out, "    if (!%s_loops[%d]) return 1;\n", s->name, i);
    asn_text_put(s->out, "    return 0;\n}\n");
}

/* Stage by stage, each followed by the calls that belong to the next; folds last. */
void asn_source_write(asnd_source *s) {
    int number = 0, folded = 0;
    put_open(s);
    asn_text_put(s->out, "static int %s(char *const *p, uint32_t *flags) {\n", s->name);
    if (s->scratch_bytes)
        asn_text_put(s->out, "    _Alignas(64) char m[%d];\n", s->scratch_bytes);
    asn_text_put(s->out, s->watched ? "    uint32_t seen = 0;\n" : "    (void)flags;\n");
    for (int stage = 0; stage <= s->last_stage; stage++) {
        if (s->commits && stage == s->last_stage)
            asn_text_put(s->out, "    if (seen) return 1;\n");
        put_stage(s, stage);
        number = 0;
        for (int i = 0; i < s->p->numInstrs; i++) {
            const aclnnxInstr *in = &s->p->instrs[i];
            if (!s->reg[in->dst].looped) continue;
            if (s->reg[in->dst].stage == stage + 1) put_call(s, in, number);
            number++;
        }
    }
    for (int i = s->p->numIn; i < s->num_operands; i++)
        if (asn_source_reduces(s, i)) put_fold(s, i, number + folded++);
    if (s->watched)
        asn_text_put(s->out, s->doubted ? "    if (seen) return 1;\n"
                                        : "    if (seen) __atomic_fetch_or(flags, seen, "
                                          "__ATOMIC_RELAXED);\n");
    asn_text_put(s->out, "    return 0;\n}\n");
}
