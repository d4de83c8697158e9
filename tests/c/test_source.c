/* Programs as C text (device/cpu/jit/source.h) against the engine: random programs over
 * all rows and dtypes, strided, broadcast, in place, with special values, with folds, are
 * compiled by the system's compiler, many in a file, and give the same bits (NaNs are
 * equal) and the same floating-point conditions. An argument is the number of batches. */
#include <dlfcn.h>
#include <unistd.h>

#include "random_program.h"

#include "device/cpu/jit/source.h"

enum { BATCH = 120, BATCHES = 3, SPACE = 1 << 12 };

static const char FLAGS[] = "-O2 -march=native -ffp-contract=off -fno-math-errno "
                            "-fno-trapping-math -fPIC -shared -w";

/* ---- the device's loops, as a text calls them */

struct aclnnxLoop {
    int32_t kind;
    asnd_cpu_loop map;
    asnd_fold_fn fold;
    int64_t item;
};

static int32_t opcode(const char *name) {
    for (int op = 0; op < ASN_OP_COUNT; op++)
        if (!strcmp(asn_op_table[op].name, name)) return op;
    return -1;
}

static const aclnnxLoop *find(int32_t kind, int32_t op, int32_t dtype) {
    static aclnnxLoop loops[8192];
    static int used;
    asn_dtype dt = asn_dtype_from_acl(dtype);
    aclnnxLoop *l = &loops[used++];
    l->kind = kind;
    l->item = asn_itemsize(dt);
    if (kind == ACLNNX_LOOP_MAP)
        return asn_cpu_loop_find(&l->map, (asn_op)op, dt) ? l : NULL;
    if (kind == ACLNNX_LOOP_FOLD) {
        l->fold = asn_kernels_get()->fold[op][dt];
        return l->fold ? l : NULL;
    }
    asn_dtype to = asn_dtype_from_acl(op);
    l->map.fn = asn_kernels_get()->cast[dt][to];
    l->map.num_in = 1;
    l->map.item[0] = (uint8_t)asn_itemsize(dt);
    l->map.out_item = (uint8_t)asn_itemsize(to);
    l->map.raises = dt != to && (asn_is_inexact(dt) || asn_is_half(to));
    return l;
}

static int32_t call(const aclnnxLoop *l, int64_t n, void *out, const void *const *in,
                    uint32_t immediates, uint32_t *flags) {
    if (l->kind != ACLNNX_LOOP_FOLD) {
        asn_cpu_loop_run(&l->map, n, out, in, immediates, flags);
        return 0;
    }
    char element[16];
    memcpy(element, in[0], (size_t)l->item);
    l->fold(n - 1, element, (const char *)in[0] + l->item);
    memcpy(out, element, (size_t)l->item);
    return 0;
}

static const aclnnxHost host = {opcode, find, call};

/* ---- batches */

typedef struct {
    setting s;
    program p;
    bool in_place, has;
    aclnnxOperand operands[INPUTS + OUTPUTS];
    uint32_t flags;
    aclnnxProgram q;
} one;

/* Every tenth input is an immediate. */
static void set_immediates(one *t) {
    for (int i = t->in_place; i < INPUTS; i++) {
        const view *v = &t->s.in[i];
        if (random_below(10)) continue;
        for (int d = 0; d < t->s.ndim; d++)
            t->s.in[i].strides[d] = 0;
        memcpy(t->operands[i].immediate, v->nd.data, (size_t)asn_itemsize(v->nd.dtype));
        t->operands[i].data = NULL;
    }
}

static void make_one(one *t, asn_text *text, int number) {
    char name[32];
    make_setting(&t->s, &t->p, OUTPUTS + (int)random_below(16), &t->in_place);
    asn_dtype last = t->p.dtype[INPUTS + OUTPUTS - 1];
    t->s.reduces = random_below(3) == 0 && !asn_is_complex(last) && !asn_is_half(last);
    t->s.reduction = ASN_OP_MAXIMUM;
    if (t->s.reduces) t->s.mask = ((uint64_t)1 << t->s.ndim) - 1;
    make_outputs(&t->s, &t->p, t->in_place || random_below(4));
    t->q = program_of(&t->s, &t->p, 0, t->in_place, t->operands,
                      random_below(4) ? &t->flags : NULL);
    set_immediates(t);
    snprintf(name, sizeof name, "f%d", number);
    size_t before = text->used;
    CHECK(asn_source_put(text, &t->q, name) == ASN_OK, "");
    t->has = text->used > before;
}

/* By the engine, on operands of its own. */
static uint32_t expect(one *t) {
    aclnnxOperand operands[INPUTS + OUTPUTS];
    uint32_t flags = 0;
    aclnnxProgram q =
        program_of(&t->s, &t->p, 1, t->in_place, operands, t->q.fpFlags ? &flags : NULL);
    for (int i = 0; i < INPUTS; i++)
        if (!t->operands[i].data) {
            memcpy(operands[i].immediate, t->operands[i].immediate, 16);
            operands[i].data = NULL;
        }
    CHECK(asn_cpu_fused(&q) == ASN_OK, "");
    return flags;
}

static void compare(one *t, aclnnxNativeOpen open, aclnnxNative run) {
    char *operands[INPUTS + OUTPUTS];
    for (int i = 0; i < INPUTS + OUTPUTS; i++)
        operands[i] = t->operands[i].data;
    CHECK(open(&host) == 0, "");
    int again = run(operands, t->q.fpFlags);
    uint32_t expected = expect(t);
    CHECK(!again || t->q.fpFlags, "");
    if (again) CHECK(asn_cpu_fused(&t->q) == ASN_OK, "");
    bool good = t->flags == expected;
    if (!good) printf("  conditions %x, by the engine %x\n", t->flags, expected);
    for (int o = 0; o < OUTPUTS; o++)
        good &= same_bytes(&t->s.out[0][o], &t->s.out[1][o]);
    CHECK(good, "");
    if (!good) print_program(&t->p);
}

static void *compile(asn_text *text, const char *folder, int batch) {
    char path[SPACE], command[3 * SPACE];
    const char *compiler = getenv("CC");
    snprintf(path, sizeof path, "%s/text.c", folder);
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fwrite(text->text, 1, text->used, f);
    fclose(f);
    snprintf(command, sizeof command, "%s %s %s -o %s/text%d.so -lm",
             compiler ? compiler : "cc", FLAGS, path, folder, batch);
    if (system(command)) return NULL;
    snprintf(path, sizeof path, "%s/text%d.so", folder, batch);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) printf("%s\n", dlerror());
    unlink(path);
    snprintf(path, sizeof path, "%s/text.c", folder);
    unlink(path);
    return library;
}

static int test_batch(const char *folder, int batch) {
    one *all = calloc(BATCH, sizeof *all);
    asn_text text = {.status = ASN_OK};
    int count = 0;
    asn_source_preamble(&text);
    for (int i = 0; i < BATCH; i++) {
        make_one(&all[i], &text, i);
        count += all[i].has;
    }
    asn_text_put(&text, "const struct {\n    int (*open)(const aclnnx_host *);\n"
                        "    int (*run)(char *const *, uint32_t *);\n} table[] = {\n");
    for (int i = 0; i < BATCH; i++)
        asn_text_put(&text, all[i].has ? "    {f%d_open, f%d},\n" : "    {0, 0},\n", i,
                     i);
    asn_text_put(&text, "};\n");
    void *library = compile(&text, folder, batch);
    CHECK(library, "the text compiles");
    const struct {
        aclnnxNativeOpen open;
        aclnnxNative run;
    } *table = library ? dlsym(library, "table") : NULL;
    for (int i = 0; i < BATCH; i++) {
        if (table && all[i].has) compare(&all[i], table[i].open, table[i].run);
        close_setting(&all[i].s);
    }
    asn_free(text.text);
    free(all);
    return count;
}

/* What is no program, or has no text. */
/* -a of one dimension; the operands' data are the test's. */
static aclnnxProgram negation(int64_t *shape, aclnnxOperand *operands,
                              aclnnxInstr *instr) {
    *instr = (aclnnxInstr){ASN_OP_NEGATIVE, 11, 11, 1, {0}};
    for (int i = 0; i < 2; i++)
        operands[i].dtype = 11, operands[i].reduceOp = ACLNNX_NO_REDUCE;
    return (aclnnxProgram){.numDims = 1,
                           .numIn = 1,
                           .numOut = 1,
                           .numInstrs = 1,
                           .numRegs = 2,
                           .shape = shape,
                           .operands = operands,
                           .instrs = instr};
}

static void test_none(void) {
    asn_text text = {.status = ASN_OK};
    double element = 0;
    int64_t shape[1] = {1 << 20};
    aclnnxOperand operands[2] = {{.data = &element}, {.data = &element}};
    aclnnxInstr instr;
    aclnnxProgram p = negation(shape, operands, &instr);
    CHECK(asn_source_put(&text, &p, "f") == ASN_OK && !text.used, "a large one");
    shape[0] = 0;
    CHECK(asn_source_put(&text, &p, "f") == ASN_OK && !text.used, "an empty one");
    shape[0] = 1;
    instr.op = ASN_OP_EXP;
    CHECK(asn_source_put(&text, &p, "f") == ASN_OK && !text.used, "a call alone");
    instr.op = 60000;
    CHECK(asn_source_put(&text, &p, "f") == ASN_ERR_VALUE && !text.used, "no operation");
    asn_free(text.text);
}

/* Over five elements, written so many elements further on: a text only where the output
 * lies apart from its input or upon it. */
static void test_overlaps(void) {
    double elements[16] = {0};
    for (int step = -1; step <= 1; step += 2)
        for (int shift = -6; shift <= 6; shift++) {
            asn_text text = {.status = ASN_OK};
            int64_t shape[1] = {5}, stride[1] = {8 * step};
            aclnnxOperand operands[2] = {
                {.data = elements + 8, .strides = stride},
                {.data = elements + 8 + shift, .strides = stride}};
            aclnnxInstr instr;
            aclnnxProgram p = negation(shape, operands, &instr);
            bool apart = !shift || abs(shift) >= 5;
            CHECK(asn_source_put(&text, &p, "f") == ASN_OK && (text.used > 0) == apart,
                  "overlaps");
            asn_free(text.text);
        }
}

int main(int argc, char **argv) {
    int batches = argc > 1 ? atoi(argv[1]) : BATCHES;
    char folder[] = "/tmp/asnumpy-source-XXXXXX";
    int count = 0;
    if (!mkdtemp(folder)) return 1;
    test_none();
    test_overlaps();
    for (int i = 0; i < batches; i++)
        count += test_batch(folder, i);
    rmdir(folder);
    printf("%d of %d programs have a text\n", count, BATCH * batches);
    CHECK(count > BATCH * batches / 4, "few programs have a text");
    return check_report("test_source");
}
