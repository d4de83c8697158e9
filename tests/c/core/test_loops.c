/* Loops of the program's own: over operands of any strides against an odometer, on
 * several threads; as operations of fused programs, from several threads at once, which
 * add the same loops; with every allocation failing in turn.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "graph/engine.h"
#include "graph/lock.h"
#include "graph/ufunc/own_loops.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/loops.h"

/* out0 = 2 a - b, out1 = a */
static void both(char **args, const int64_t *n, const int64_t *steps, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++) {
        double a = *(double *)(args[0] + i * steps[0]);
        double b = *(double *)(args[1] + i * steps[1]);
        *(double *)(args[2] + i * steps[2]) = 2 * a - b;
        *(float *)(args[3] + i * steps[3]) = (float)a;
    }
}

static void add(char **args, const int64_t *n, const int64_t *steps, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++)
        *(int64_t *)(args[2] + i * steps[2]) =
            *(int64_t *)(args[0] + i * steps[0]) + *(int64_t *)(args[1] + i * steps[1]);
}

/* ---- the driver */

enum { EXTENT = 6, SPACE = 4 * 4 * EXTENT * EXTENT * EXTENT };

/* A random walk of three axes through memory of `item` bytes an element. */
static void random_strides(int64_t *strides, char **first, char *memory, int64_t item,
                           bool may_repeat) {
    int64_t step = item;
    int order[3] = {0, 1, 2};
    for (int d = 2; d > 0; d--) {
        int other = (int)random_below(d + 1), t = order[d];
        order[d] = order[other], order[other] = t;
    }
    *first = memory;
    for (int i = 0; i < 3; i++) {
        int d = order[i];
        strides[d] = step * (1 + random_below(2));
        step = strides[d] * EXTENT;
        if (random_below(3) == 0) {
            *first += strides[d] * (EXTENT - 1);
            strides[d] = -strides[d];
        }
        if (may_repeat && random_below(4) == 0) {
            if (strides[d] < 0) *first += strides[d] * (EXTENT - 1);
            strides[d] = 0;
        }
    }
}

static void test_driver(void) {
    static int64_t a[SPACE], b[SPACE], out[SPACE], want[SPACE];
    for (int round = 0; round < 300; round++) {
        asn_loop_call c = {.loop = add, .num_args = 3, .num_inputs = 2, .num_dims = 3};
        char *base;
        for (int i = 0; i < SPACE; i++) {
            a[i] = random_below(1000), b[i] = random_below(1000);
            out[i] = want[i] = -1;
        }
        bool reduces = round % 3 == 0; /* into the first operand, which is the output */
        for (int d = 0; d < 3; d++)
            c.shape[d] = EXTENT;
        random_strides(c.strides[1], &c.args[1], (char *)b, 8, true);
        random_strides(c.strides[2], &c.args[2], (char *)out, 8, reduces);
        random_strides(c.strides[0], &c.args[0], (char *)a, 8, true);
        if (reduces) {
            memcpy(c.strides[0], c.strides[2], sizeof c.strides[0]);
            c.args[0] = c.args[2];
        }
        base = (char *)want + (c.args[2] - (char *)out);
        for (int i = 0; i < EXTENT * EXTENT * EXTENT; i++) {
            int at[3] = {i / EXTENT / EXTENT, i / EXTENT % EXTENT, i % EXTENT};
            const char *x = reduces ? base : c.args[0], *y = c.args[1];
            char *z = base;
            for (int d = 0; d < 3; d++) {
                x += c.strides[0][d] * at[d];
                y += c.strides[1][d] * at[d];
                z += c.strides[2][d] * at[d];
            }
            *(int64_t *)z = *(const int64_t *)x + *(const int64_t *)y;
        }
        CHECK_OK(asn_loops_run(&c, 1 + round % 4, 1 + random_below(40)));
        CHECK(!memcmp(out, want, sizeof out));
    }
}

/* ---- in programs */

enum { N = 5000, THREADS = 4, ROUNDS = 30 };

/* As a binding without a lock of its own calls the core. */
#define LOCKED(status, call)                                                             \
    do {                                                                                 \
        asn_lock();                                                                      \
        status = (call);                                                                 \
        asn_unlock();                                                                    \
    } while (0)

static asn_status filled(asn_array *a, double first) {
    double *values = malloc(N * sizeof *values);
    const int64_t shape[1] = {N}, strides[1] = {sizeof *values};
    for (int i = 0; i < N; i++)
        values[i] = first + i;
    asn_status status;
    LOCKED(status, asn_array_from_host(a, ASN_F64, 1, shape, strides, values));
    free(values);
    return status;
}

static void drop(asn_array *a) {
    asn_lock();
    asn_array_fini(a);
    asn_unlock();
}

/* sqrt(2 a - b) + a by the loop and the table, read back. */
static asn_status program(int opcode, const asn_array *a, const asn_array *b,
                          double *values) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    const asn_array *none[2] = {NULL, NULL};
    asn_array made[2], root, sum;
    asn_operand in[2] = {{.array = a}, {.array = b}};
    asn_status status;
    LOCKED(status, asn_own_loop_call(opcode, in, none, made, &options));
    if (status) return status;
    asn_operand x = {.array = &made[0]};
    LOCKED(status, asn_ufunc_call(ASN_OP_SQRT, &x, NULL, &root, NULL));
    if (!status) {
        asn_operand pair[2] = {{.array = &root}, {.array = &made[1]}};
        LOCKED(status, asn_ufunc_call(ASN_OP_ADD, pair, NULL, &sum, NULL));
        drop(&root);
    }
    if (!status) {
        LOCKED(status, asn_array_to_host(&sum, values));
        drop(&sum);
    }
    drop(&made[0]);
    drop(&made[1]);
    return status;
}

static const asn_added_loop the_loop = {.name = "both",
                                        .fn = both,
                                        .num_in = 2,
                                        .num_out = 2,
                                        .dtypes = {ASN_F64, ASN_F64, ASN_F64, ASN_F32}};

static void *work(void *arg) {
    intptr_t seed = (intptr_t)arg, wrong = 0;
    static char names[THREADS];
    int opcode, own;
    asn_array a, b;
    double *values = malloc(N * sizeof *values);
    asn_added_loop mine = the_loop;
    mine.data = &names[seed]; /* a loop that no other thread adds */
    wrong += asn_own_loop_add(&the_loop, &opcode) != ASN_OK || opcode < 0;
    wrong += asn_own_loop_add(&mine, &own) != ASN_OK || own < 0 || own == opcode;
    wrong += filled(&a, 9.0 + (double)seed) != ASN_OK || filled(&b, 2) != ASN_OK;
    for (int round = 0; round < ROUNDS; round++) {
        memset(values, 0, N * sizeof *values);
        wrong += program(round % 2 ? own : opcode, &a, &b, values) != ASN_OK;
        for (int i = 0; i < N; i += 97) {
            double x = 9.0 + (double)seed + i, y = 2.0 + i, r = values[i] - x;
            double error = r * r - (2 * x - y);
            wrong += error > 1e-6 || error < -1e-6;
        }
    }
    drop(&a);
    drop(&b);
    free(values);
    return (void *)wrong;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    for (intptr_t k = 0; k < THREADS; k++)
        CHECK(pthread_create(&threads[k], NULL, work, (void *)k) == 0);
    for (int k = 0; k < THREADS; k++) {
        void *wrong;
        pthread_join(threads[k], &wrong);
        CHECK(wrong == NULL);
    }
}

static void test_adding(void) {
    int opcode, again, output;
    CHECK_OK(asn_own_loop_add(&the_loop, &opcode));
    CHECK_OK(asn_own_loop_add(&the_loop, &again));
    CHECK(opcode == again && opcode >= ASN_OP_COUNT);
    CHECK(asn_op_added(opcode + 1, &output)->fn == both && output == 1);
    CHECK(asn_op_added(ASN_OP_ADD, &output) == NULL);
    CHECK(asn_op_added(ASN_OP_COUNT + ASN_OP_ADDED, &output) == NULL);
    asn_added_loop wide = the_loop;
    wide.num_in = 4;
    CHECK_OK(asn_own_loop_add(&wide, &again));
    CHECK(again == -1);
    wide = the_loop;
    wide.num_out = 7;
    CHECK_OK(asn_own_loop_add(&wide, &again));
    CHECK(again == -1);
    asn_operand in[2] = {{.array = NULL}};
    const asn_array *none[2] = {NULL, NULL};
    asn_array made[2];
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    CHECK_STATUS(asn_own_loop_call(opcode + 1, in, none, made, &options), ASN_ERR_VALUE);
}

static void test_faults(void) {
    static double values[N];
    int opcode;
    asn_array a, b;
    CHECK_OK(asn_own_loop_add(&the_loop, &opcode));
    CHECK_OK(filled(&a, 9));
    CHECK_OK(filled(&b, 2));
    bool done = false;
    for (long k = 1; k < 2000 && !done; k++) {
        asn_alloc_fail_after(k);
        asn_status status = program(opcode, &a, &b, values);
        asn_alloc_fail_after(0);
        done = status == ASN_OK;
        CHECK(done || status == ASN_ERR_MEMORY);
        if (!done) CHECK_OK(asn_synchronize());
    }
    CHECK(done);
    drop(&a);
    drop(&b);
}

/* out[k] = a + k */
static void seven(char **args, const int64_t *n, const int64_t *steps, void *data) {
    (void)data;
    for (int64_t i = 0; i < n[0]; i++)
        for (int k = 0; k < 7; k++) {
            double a;
            memcpy(&a, args[0] + i * steps[0], sizeof a);
            a += k;
            memcpy(args[1 + k] + i * steps[1 + k], &a, sizeof a);
        }
}

/* Long chains of calls that make seven values each, of which one is used. */
static void test_unused_results(void) {
    enum { CALLS = 150 };
    static double values[N];
    const asn_added_loop loop = {.name = "seven",
                                 .fn = seven,
                                 .num_in = 1,
                                 .num_out = 7,
                                 .dtypes = {ASN_F64, ASN_F64, ASN_F64, ASN_F64, ASN_F64,
                                            ASN_F64, ASN_F64, ASN_F64}};
    const asn_array *none[7] = {NULL};
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    for (int used = 0; used < 7; used += 3) {
        int opcode;
        asn_array a, made[7];
        asn_status status;
        CHECK_OK(asn_own_loop_add(&loop, &opcode));
        CHECK_OK(filled(&a, 2));
        for (int i = 0; i < CALLS; i++) {
            asn_operand in = {.array = &a};
            LOCKED(status, asn_own_loop_call(opcode, &in, none, made, &options));
            CHECK_OK(status);
            drop(&a);
            for (int k = 0; k < 7; k++)
                if (k != used) drop(&made[k]);
            asn_array_move(&a, &made[used]);
        }
        LOCKED(status, asn_array_to_host(&a, values));
        CHECK_OK(status);
        for (int i = 0; i < N; i++)
            CHECK(values[i] == 2 + i + CALLS * used);
        drop(&a);
    }
}

/* The same as programs of the device, of every length there is. */
static void test_many_values(void) {
    enum { LENGTH = 1000 };
    static double in[LENGTH], out[LENGTH];
    const int64_t shape = LENGTH;
    aclnnxOwnLoop loop = {.name = "seven", .function = seven, .numIn = 1, .numOut = 7};
    memset(loop.dtypes, ACL_DOUBLE, sizeof loop.dtypes);
    int first = asn_acl.aclnnxRegisterLoop ? asn_acl.aclnnxRegisterLoop(&loop) : -1;
    if (first < 0) return;
    for (int i = 0; i < LENGTH; i++)
        in[i] = i;
    for (int calls = 1; calls <= ACLNNX_MAX_INSTRS; calls++) {
        aclnnxInstr code[ACLNNX_MAX_INSTRS];
        aclnnxOperand operands[2] = {
            {.data = in, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE},
            {.data = out, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE}};
        for (int i = 0; i < calls; i++)
            code[i] = (aclnnxInstr){.op = (uint16_t)(first + 1),
                                    .dtype = ACL_DOUBLE,
                                    .dst = (uint16_t)(i == calls - 1 ? 1 : 2 + i),
                                    .src = {(uint16_t)(i ? 1 + i : 0)}};
        aclnnxProgram program = {.numDims = 1,
                                 .numIn = 1,
                                 .numOut = 1,
                                 .numInstrs = calls,
                                 .numRegs = calls + 1,
                                 .shape = &shape,
                                 .operands = operands,
                                 .instrs = code};
        int status = asn_acl.aclnnxFused(&program, NULL);
        if (!status) status = asn_acl.aclrtSynchronizeStream(NULL);
        CHECK(status == 0);
        for (int i = 0; !status && i < LENGTH; i++)
            CHECK(out[i] == i + calls);
    }
}

/* The last test: no loop finds room afterwards. */
static void test_no_room(void) {
    static char names[ASN_OP_ADDED + 1];
    int opcode = 0, known;
    asn_added_loop mine = the_loop;
    for (int k = 0; k <= ASN_OP_ADDED && opcode >= 0; k++) {
        mine.data = &names[k];
        CHECK_OK(asn_own_loop_add(&mine, &opcode));
    }
    CHECK(opcode == -1);
    CHECK_OK(asn_own_loop_add(&the_loop, &known));
    CHECK(known >= 0);
}

int main(int argc, char **argv) {
    asn_device_set_library_path(argc > 1 ? argv[1] : "");
    test_driver();
    CHECK_OK(asn_device_open());
    test_threads();
    test_adding();
    test_faults();
    test_unused_results();
    test_many_values();
    test_no_room();
    return finish();
}
