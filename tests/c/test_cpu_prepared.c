/* Programs that were run before: the same results and conditions on other addresses, by
 * any number of threads; what differs in anything that a plan depends on is another
 * program; the table is bounded, and does without memory. */
#include "random_program.h"

#include <pthread.h>

#include "base/cpu.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/fused/prepared_table.h"

static int64_t found(void) {
    return asn_prepared_count().reused;
}
static int64_t kept(void) {
    return asn_prepared_count().kept;
}

/* ---- random programs: prepared anew for way 1, known for way 0 */

static uint32_t run_way(setting *s, const program *p, int way, bool in_place) {
    aclnnxOperand operands[INPUTS + OUTPUTS];
    uint32_t flags = 0;
    aclnnxProgram q = program_of(s, p, way, in_place, operands, &flags);
    CHECK(asn_cpu_fused(&q) == ASN_OK, "");
    return flags;
}

/* The view's elements at other addresses. */
static void move(view *v) {
    ptrdiff_t offset = (char *)v->nd.data - v->memory;
    int64_t last = offset, size = asn_itemsize(v->nd.dtype);
    for (int d = 0; d < v->nd.ndim; d++)
        if (v->strides[d] > 0) last += v->strides[d] * (v->shape[d] - 1);
    char *memory = malloc((size_t)(last + size));
    memcpy(memory, v->memory, (size_t)(last + size));
    free(v->memory);
    v->memory = memory;
    v->nd.data = memory + offset;
}

static void test_random(int total, int64_t *known) {
    setting s;
    program p;
    bool in_place;
    make_case(&s, &p, total, &in_place);
    asn_prepared_clear();
    uint32_t expected = run_way(&s, &p, 1, in_place), flags = 0;
    int64_t before = found();
    for (int turn = 0; turn < 4; turn++) { /* seen, kept, found */
        for (int i = 0; i < INPUTS; i++)
            move(&s.in[i]);
        for (int o = 0; o < OUTPUTS; o++)
            move(&s.out[0][o]);
        flags = run_way(&s, &p, 0, in_place);
    }
    *known += found() > before;
    bool good = flags == expected;
    if (!good) printf("  conditions %x, prepared anew %x\n", flags, expected);
    for (int o = 0; o < OUTPUTS; o++)
        good &= same_bytes(&s.out[0][o], &s.out[1][o]);
    CHECK(good, "");
    if (!good) print_program(&p);
    close_setting(&s);
}

static void test_randoms(void) {
    const asnd_jit_mode modes[] = {ASN_JIT_OFF, ASN_JIT_ON, ASN_JIT_ALWAYS};
    asnd_jit_mode before = asn_jit_now();
    int64_t known = 0;
    for (int i = 0; i < 2400; i++) {
        asn_jit_switch(modes[i % 3]);
        test_random(OUTPUTS + (int)random_below(i % 10 == 0 ? 110 : 14), &known);
    }
    asn_jit_switch(before);
    printf("%lld of 2400 programs were known\n", (long long)known);
    CHECK(known > 800, "few programs are kept");
}

/* ---- one program in many variants: out = (a + b) * c over rows, and its sum */

enum { ROWS = 6, COLUMNS = 20, ROOM = 4096 };

typedef struct {
    double memory[5][ROOM]; /* a, b, c, out, sum */
    int64_t shape[2], strides[5][2];
    aclnnxOperand operands[5];
    aclnnxInstr instrs[2];
    aclnnxProgram program;
    uint32_t flags;
} variant;

static void variant_init(variant *v, bool sums) {
    const uint8_t acl = (uint8_t)asn_dtype_table[ASN_F64].acl;
    memset(v, 0, sizeof *v);
    v->shape[0] = ROWS;
    v->shape[1] = COLUMNS;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < ROOM; k++)
            v->memory[i][k] = i < 3 ? (double)(k * (i + 2) % 31) - 7 : -1;
        v->strides[i][0] = 2 * COLUMNS * sizeof(double); /* rows with gaps */
        v->strides[i][1] = sizeof(double);
        v->operands[i] = (aclnnxOperand){.data = v->memory[i],
                                         .strides = v->strides[i],
                                         .dtype = acl,
                                         .reduceOp = ACLNNX_NO_REDUCE};
    }
    v->strides[4][1] = 0;
    v->operands[4].reduceOp = ASN_OP_ADD;
    int sum = 3 + sums;
    v->instrs[0] = (aclnnxInstr){ASN_OP_ADD, acl, acl, 5, {0, 1, 0}};
    v->instrs[1] = (aclnnxInstr){ASN_OP_MULTIPLY, acl, acl, (uint8_t)sum, {5, 2, 0}};
    if (sums) v->operands[3] = v->operands[4];
    if (sums) v->instrs[1].dst = 3;
    v->program = (aclnnxProgram){.numDims = 2,
                                 .numIn = 3,
                                 .numOut = 1,
                                 .numInstrs = 2,
                                 .numRegs = 6,
                                 .shape = v->shape,
                                 .reduceMask = sums ? 2 : 0,
                                 .operands = v->operands,
                                 .instrs = v->instrs,
                                 .fpFlags = &v->flags};
}

/* A copy whose operands lie in its own memory. */
static variant *variant_copy(const variant *v) {
    variant *w = malloc(sizeof *w);
    *w = *v;
    w->program.shape = w->shape;
    w->program.operands = w->operands;
    w->program.instrs = w->instrs;
    if (w->program.fpFlags) w->program.fpFlags = &w->flags;
    for (int i = 0; i < 4; i++) {
        aclnnxOperand *o = &w->operands[i];
        const char *was = o->data;
        if (was) o->data = (char *)w->memory + (was - (const char *)v->memory);
        if (o->strides == v->strides[i]) o->strides = w->strides[i];
        if (o->strides == v->strides[4]) o->strides = w->strides[4];
    }
    return w;
}

static void check_same(variant *v, variant *w, const char *what) {
    bool same =
        memcmp(v->memory, w->memory, sizeof v->memory) == 0 && v->flags == w->flags;
    CHECK(same, "");
    if (!same) printf("  variant: %s\n", what);
}

/* The variant, met when all others may be known, against itself prepared anew. Returns
 * whether it was known. */
static bool run_variant(const variant *v, const char *what) {
    variant *known = variant_copy(v), *anew = variant_copy(v);
    int64_t before = found();
    CHECK(asn_cpu_fused(&known->program) == ASN_OK, "");
    bool was_known = found() > before;
    asn_prepared_clear();
    CHECK(asn_cpu_fused(&anew->program) == ASN_OK, "");
    check_same(known, anew, what);
    free(known);
    free(anew);
    return was_known;
}

static void make_known(const variant *v) {
    int64_t before = kept();
    for (int turn = 0; turn < 4; turn++) {
        variant *w = variant_copy(v);
        CHECK(asn_cpu_fused(&w->program) == ASN_OK, "");
        free(w);
    }
    CHECK(kept() == before + 1, "the program was not kept");
}

enum {
    SAME,
    NUMBERS,
    LAST_KNOWN = NUMBERS, /* what is to be found */
    SHAPE,
    EXTENT_ONE,
    STRIDE,
    BACKWARDS,
    BROADCAST,
    NO_STRIDES,
    IN_PLACE_A,
    IN_PLACE_C,
    OVER_BOTH,
    IMMEDIATE,
    OPERATION,
    ORDER,
    DTYPE,
    NO_CONDITIONS,
    REDUCTION,
    ACCUMULATES,
    OTHER_AXIS,
    NOT_REDUCED,
    NUM_VARIANTS
};
static const char *const names[NUM_VARIANTS] = {
    "the same",     "other numbers", "another shape", "one row",     "other gaps",
    "backwards",    "one row of b",  "no strides",    "over a",      "over c",
    "a, c and out", "a number",      "subtract",      "other order", "float32",
    "no flags",     "maximum",       "accumulates",   "other axis",  "not reduced"};

static void set_dtype(variant *v, asn_dtype dt) {
    uint8_t acl = (uint8_t)asn_dtype_table[dt].acl;
    for (int i = 0; i < 5; i++)
        v->operands[i].dtype = acl;
    for (int k = 0; k < 2; k++)
        v->instrs[k].dtype = v->instrs[k].outDtype = acl;
    for (int i = 0; i < 4; i++)
        v->strides[i][1] = v->strides[i][1] ? asn_itemsize(dt) : 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < ROOM; k++)
            ((float *)v->memory[i])[k] = (float)(k % (i + 9));
    v->strides[4][1] = 0;
}

/* false: there is no such variant of this program. */
static bool change(variant *v, int what, bool sums) {
    aclnnxOperand *o = v->operands;
    switch (what) {
    case NUMBERS:
        for (int k = 0; k < ROOM; k++)
            v->memory[1][k] = k * 0.25;
        return true;
    case SHAPE: v->shape[1] = COLUMNS - 1; return true;
    case EXTENT_ONE: v->shape[0] = 1; return true;
    case STRIDE: v->strides[2][0] -= sizeof(double); return true;
    case BACKWARDS:
        v->strides[0][0] = -v->strides[0][0];
        o[0].data = v->memory[0] + (ROWS - 1) * 2 * COLUMNS;
        return true;
    case BROADCAST: v->strides[1][0] = 0; return true;
    case NO_STRIDES: o[1].strides = NULL; return true;
    case IN_PLACE_A: o[3].data = o[0].data; return !sums;
    case IN_PLACE_C: o[3].data = o[2].data; return !sums;
    case OVER_BOTH: o[3].data = o[2].data = o[0].data; return !sums;
    case IMMEDIATE:
        o[1].data = NULL;
        o[1].strides = NULL;
        memcpy(o[1].immediate, &v->memory[0][5], sizeof(double));
        return true;
    case OPERATION: v->instrs[0].op = ASN_OP_SUBTRACT; return true;
    case ORDER:
        v->instrs[1].src[0] = 2;
        v->instrs[1].src[1] = 0;
        return true;
    case DTYPE: set_dtype(v, ASN_F32); return true;
    case NO_CONDITIONS: v->program.fpFlags = NULL; return true;
    case REDUCTION: o[3].reduceOp = ASN_OP_MAXIMUM; return sums;
    case ACCUMULATES: o[3].flags = ACLNNX_ACCUMULATE; return sums;
    case NOT_REDUCED: v->program.reduceMask = 0; return sums;
    case OTHER_AXIS: /* the rows, not the columns */
        v->strides[4][0] = 0;
        v->strides[4][1] = sizeof(double);
        v->program.reduceMask = 1;
        return sums;
    default: return true;
    }
}

static void test_variants(bool sums) {
    static variant base, other;
    variant_init(&base, sums);
    for (int what = 0; what < NUM_VARIANTS; what++) {
        variant_init(&other, sums);
        if (!change(&other, what, sums)) continue;
        asn_prepared_clear();
        make_known(&base);
        bool known = run_variant(&other, names[what]);
        CHECK(known == (what <= LAST_KNOWN), "");
        if (known != (what <= LAST_KNOWN)) printf("  variant: %s\n", names[what]);
    }
}

/* Immediates are no part of a program. */
static void test_numbers(void) {
    static variant v;
    asn_prepared_clear();
    int64_t before = found();
    for (int turn = 0; turn < 6; turn++) {
        double number = turn * 1.5 - 2;
        variant_init(&v, false);
        change(&v, IMMEDIATE, false);
        memcpy(v.operands[1].immediate, &number, sizeof number);
        CHECK(asn_cpu_fused(&v.program) == ASN_OK, "");
        for (int row = 0; row < ROWS; row++)
            for (int k = 0; k < COLUMNS; k++) {
                int at = row * 2 * COLUMNS + k;
                CHECK(v.memory[3][at] == (v.memory[0][at] + number) * v.memory[2][at],
                      "");
            }
    }
    CHECK(found() == before + 4, "seen, kept, then found");
}

/* A malformed program is refused as if nothing were known. */
static void test_errors(void) {
    static variant v;
    variant_init(&v, false);
    asn_prepared_clear();
    make_known(&v);
    v.program.numRegs = 2;
    CHECK(asn_cpu_fused(&v.program) == ASN_ERR_VALUE, "");
    variant_init(&v, false);
    v.operands[3].data = NULL;
    CHECK(asn_cpu_fused(&v.program) == ASN_ERR_NULL_POINTER, "");
    variant_init(&v, false);
    v.program.shape = NULL;
    CHECK(asn_cpu_fused(&v.program) == ASN_ERR_NULL_POINTER, "");
    variant_init(&v, false);
    v.shape[0] = 0;
    CHECK(asn_cpu_fused(&v.program) == ASN_OK, "");
    CHECK(v.memory[3][0] == -1, "an empty program writes nothing");
}

/* ---- a program that is held */

/* The same on operands of the variant's places, prepared and by its description. */
static void check_held(asnd_prepared *held, const variant *v, const char *what) {
    variant *known = variant_copy(v), *anew = variant_copy(v);
    void *addresses[ACLNNX_MAX_OPERANDS];
    asn_program_addresses(&known->program, addresses);
    CHECK(asn_prepared_run_on(held, addresses, known->program.fpFlags) == ASN_OK, "");
    asn_prepared_clear();
    CHECK(asn_cpu_fused(&anew->program) == ASN_OK, "");
    check_same(known, anew, what);
    free(known);
    free(anew);
}

/* One program in all the cases that differ in addresses, numbers and wanted conditions
 * alone, in turn: each is planned once. */
static void test_held(void) {
    static const int cases[] = {SAME,       NUMBERS,   IN_PLACE_A,
                                IN_PLACE_C, OVER_BOTH, NO_CONDITIONS};
    enum { CASES = sizeof cases / sizeof *cases };
    static variant v;
    asnd_prepared *held;
    variant_init(&v, false);
    CHECK(asn_prepared_new(&held, &v.program) == ASN_OK, "");
    int64_t reused = found();
    for (int turn = 0; turn < 3 * CASES; turn++) {
        variant_init(&v, false);
        change(&v, cases[turn % CASES], false);
        check_held(held, &v, names[cases[turn % CASES]]);
    }
    CHECK(found() >= reused + 2 * CASES, "");
    asn_prepared_release(held);
}

/* Shared rows are copied together, dimensions turned round: at every address. */
static void test_held_rows(void) {
    static variant v;
    for (int backwards = 0; backwards < 2; backwards++) {
        asnd_prepared *held = NULL;
        for (int turn = 0; turn < 4; turn++) {
            variant_init(&v, false);
            for (int i = 0; i < 4; i++) {
                if (!backwards) break;
                v.strides[i][0] = -v.strides[i][0];
                v.operands[i].data = v.memory[i] + (ROWS - 1) * 2 * COLUMNS;
            }
            if (!backwards) v.strides[1][0] = 0;
            if (!backwards) v.strides[1][1] = 3 * sizeof(double);
            v.memory[0][7] = turn;
            if (!held) CHECK(asn_prepared_new(&held, &v.program) == ASN_OK, "");
            check_held(held, &v, backwards ? "backwards" : "a shared row");
        }
        asn_prepared_release(held);
    }
}

/* ---- bounds */

static void test_eviction(void) {
    static variant v;
    asn_prepared_clear();
    int64_t dropped = asn_prepared_table_count().dropped;
    for (int turn = 0; turn < 3; turn++)
        for (int k = 0; k < 1500; k++) {
            variant_init(&v, false);
            v.strides[2][0] = 8 * k; /* a stride that overlaps is an input's right */
            CHECK(asn_cpu_fused(&v.program) == ASN_OK, "");
            double expected =
                (v.memory[0][2 * COLUMNS] + v.memory[1][2 * COLUMNS]) * v.memory[2][k];
            CHECK(v.memory[3][2 * COLUMNS] == expected, "");
        }
    int64_t bytes = asn_prepared_count().bytes;
    CHECK(asn_prepared_table_count().dropped > dropped, "");
    CHECK(bytes > 0 && bytes <= 512 * 16 * 1024, "");
    asn_prepared_clear();
    CHECK(asn_prepared_count().bytes == 0, "");
}

/* Operands of which the caches hold a part: their addresses decide how they are stored.
 */
static void test_large(void) {
    int64_t n = (int64_t)6 << 20,
            shared = asn_cpu_caches().last; /* 48 MiB, or more than L3 */
    if (shared > 0 && n < shared / 5) n = shared / 5;
    double *memory = calloc((size_t)n, sizeof *memory);
    if (!memory) return;
    const uint8_t acl = (uint8_t)asn_dtype_table[ASN_F64].acl;
    int64_t stride = sizeof(double);
    aclnnxOperand o[2] = {{memory, &stride, {0}, acl, 0, ACLNNX_NO_REDUCE},
                          {memory, &stride, {0}, acl, 0, ACLNNX_NO_REDUCE}};
    aclnnxInstr in[2] = {{ASN_OP_NEGATIVE, acl, acl, 2, {0}},
                         {ASN_OP_SQRT, acl, acl, 1, {2}}};
    aclnnxProgram p = {.numDims = 1,
                       .numIn = 1,
                       .numOut = 1,
                       .numInstrs = 2,
                       .numRegs = 3,
                       .shape = &n,
                       .operands = o,
                       .instrs = in};
    asn_prepared_clear();
    int64_t before = kept();
    for (int turn = 0; turn < 3; turn++)
        CHECK(asn_cpu_fused(&p) == ASN_OK, "");
    CHECK(kept() == before, "");
    free(memory);
}

/* ---- memory and threads */

static void test_no_memory(void) {
    static variant v, w;
    variant_init(&v, false);
    variant_init(&w, false);
    asnd_jit_mode mode = asn_jit_switch(ASN_JIT_OFF);
    asn_prepared_clear();
    int64_t before = kept();
    CHECK(asn_cpu_fused(&w.program) == ASN_OK, "seen");
    asn_alloc_fail_after(1);
    CHECK(asn_cpu_fused(&v.program) == ASN_OK, "not kept");
    asn_alloc_fail_after(0);
    CHECK(kept() == before && *asn_error_message() == 0, "");
    check_same(&v, &w, "without memory");
    CHECK(asn_cpu_fused(&v.program) == ASN_OK && kept() == before + 1, "");
    asn_jit_switch(mode);
}

/* A long sum has parts, which a known program needs memory for as well. */
static void test_no_memory_for_parts(void) {
    int64_t n = 100000, stride = sizeof(double), none = 0;
    double *memory = malloc((size_t)n * sizeof *memory), sum = 0;
    for (int64_t i = 0; i < n; i++)
        memory[i] = 0.5;
    const uint8_t acl = (uint8_t)asn_dtype_table[ASN_F64].acl;
    aclnnxOperand o[2] = {{memory, &stride, {0}, acl, 0, ACLNNX_NO_REDUCE},
                          {&sum, &none, {0}, acl, 0, ASN_OP_ADD}};
    aclnnxInstr in[2] = {{ASN_OP_ADD, acl, acl, 2, {0, 0}},
                         {ASN_OP_SQUARE, acl, acl, 1, {2}}};
    aclnnxProgram p = {.numDims = 1,
                       .numIn = 1,
                       .numOut = 1,
                       .numInstrs = 2,
                       .numRegs = 3,
                       .shape = &n,
                       .reduceMask = 1,
                       .operands = o,
                       .instrs = in};
    asn_prepared_clear();
    int64_t before = found();
    for (int turn = 0; turn < 4; turn++)
        CHECK(asn_cpu_fused(&p) == ASN_OK && sum == (double)n, "");
    CHECK(found() > before, "");
    asn_alloc_fail_after(1);
    CHECK(asn_cpu_fused(&p) == ASN_ERR_MEMORY, "");
    asn_alloc_fail_after(0);
    sum = 0;
    CHECK(asn_cpu_fused(&p) == ASN_OK && sum == (double)n, "");
    free(memory);
}

enum { THREADS = 4, TURNS = 600, SHAPES = 40 };

static asnd_prepared *shared;

/* All threads run one program, whose plans they make and find at once. */
static void *run_shared(void *seed) {
    variant *v = malloc(sizeof *v);
    int64_t wrong = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        void *addresses[ACLNNX_MAX_OPERANDS];
        variant_init(v, false);
        if ((turn + *(int *)seed) % 3 == 1) change(v, IN_PLACE_A, false);
        if ((turn + *(int *)seed) % 3 == 2) change(v, IN_PLACE_C, false);
        const double expected = (v->memory[0][3] + v->memory[1][3]) * v->memory[2][3];
        asn_program_addresses(&v->program, addresses);
        if (asn_prepared_run_on(shared, addresses, &v->flags)) wrong++;
        wrong += ((const double *)v->operands[3].data)[3] != expected;
    }
    free(v);
    *(int *)seed = wrong != 0;
    return NULL;
}

static void *run_many(void *seed) {
    variant *v = malloc(sizeof *v);
    int64_t wrong = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t number = (turn * 7 + *(int *)seed) % SHAPES;
        variant_init(v, turn & 1);
        v->strides[2][0] = 8 * (1 + number); /* other elements of c */
        if (asn_cpu_fused(&v->program)) wrong++;
        const double *a = v->memory[0], *b = v->memory[1], *c = v->memory[2];
        double sum = 0;
        for (int k = 0, row = 2 * COLUMNS; k < COLUMNS; k++)
            sum += (a[row + k] + b[row + k]) * c[1 + number + k];
        const double *out = (const double *)v->operands[3].data;
        wrong += (turn & 1) ? out[2 * COLUMNS] != sum
                            : out[2 * COLUMNS] !=
                                  (a[2 * COLUMNS] + b[2 * COLUMNS]) * c[1 + number];
        if (*(int *)seed == 0 && turn % 100 == 99) asn_prepared_clear();
    }
    free(v);
    *(int *)seed = wrong != 0;
    return NULL;
}

static void run_in_threads(void *(*run)(void *)) {
    pthread_t threads[THREADS];
    int seeds[THREADS];
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run, &seeds[i]) == 0, "");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(seeds[i] == 0, "");
    }
}

static void test_threads(void) {
    static variant v;
    run_in_threads(run_many);
    variant_init(&v, false);
    CHECK(asn_prepared_new(&shared, &v.program) == ASN_OK, "");
    run_in_threads(run_shared);
    asn_prepared_release(shared);
}

int main(void) {
    test_variants(false);
    test_variants(true);
    test_numbers();
    test_errors();
    test_held();
    test_held_rows();
    test_eviction();
    test_large();
    test_no_memory();
    test_no_memory_for_parts();
    test_threads();
    test_randoms();
    asn_prepared_clear();
    return check_report("test_cpu_prepared");
}
