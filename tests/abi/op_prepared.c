/* Programs that run again and again: aclnnxPrepare, aclnnxRun, aclnnxRelease. What is
 * prepared is a copy; a run reads its addresses and numbers before it returns, also on a
 * busy stream; a program outlives its handle's release while runs of it are queued. */
#include <stdatomic.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnnx.h"
#include "check.h"

static atomic_int gate;

static void wait_gate(void *arg) {
    (void)arg;
    while (!atomic_load(&gate)) {
    }
}

/* out = a * number + b over six float64. */
typedef struct {
    int64_t shape[1], strides[1];
    aclnnxOperand operands[4];
    aclnnxInstr instrs[2];
    aclnnxProgram program;
    double place[6];
} scaled;

static void describe(scaled *s) {
    memset(s, 0, sizeof *s);
    s->shape[0] = 6;
    s->strides[0] = sizeof(double);
    for (int i = 0; i < 4; i++)
        s->operands[i] = (aclnnxOperand){.data = s->place,
                                         .strides = s->strides,
                                         .dtype = ACL_DOUBLE,
                                         .reduceOp = ACLNNX_NO_REDUCE};
    s->operands[1].data = NULL;
    s->instrs[0] = (aclnnxInstr){
        (uint16_t)aclnnxOpcode("multiply"), ACL_DOUBLE, ACL_DOUBLE, 4, {0, 1, 0}};
    s->instrs[1] = (aclnnxInstr){
        (uint16_t)aclnnxOpcode("add"), ACL_DOUBLE, ACL_DOUBLE, 3, {4, 2, 0}};
    s->program = (aclnnxProgram){.numDims = 1,
                                 .numIn = 3,
                                 .numOut = 1,
                                 .numInstrs = 2,
                                 .numRegs = 5,
                                 .shape = s->shape,
                                 .operands = s->operands,
                                 .instrs = s->instrs};
}

static aclnnxPrepared *prepare(void) {
    scaled s;
    aclnnxPrepared *prepared = NULL;
    describe(&s);
    s.operands[3].data = NULL; /* nothing: an output is no number */
    CHECK_OK(aclnnxPrepare(&s.program, &prepared));
    memset(&s, 0xee, sizeof s);
    return prepared;
}

/* Apart, over one input, over the other, over both. */
static void test_places(void) {
    aclnnxPrepared *prepared = prepare();
    for (int turn = 0; turn < 12; turn++) {
        double x[6], y[6], z[6], number[2] = {turn * 0.5, 0};
        for (int i = 0; i < 6; i++) {
            x[i] = i + turn;
            y[i] = 10 * i;
        }
        double *b = turn % 4 == 3 ? x : y;
        double *out = turn % 4 == 0 ? z : turn % 4 == 2 ? y : x, expected[6];
        for (int i = 0; i < 6; i++)
            expected[i] = x[i] * number[0] + b[i];
        void *addresses[4] = {x, number, b, out};
        CHECK_OK(aclnnxRun(prepared, addresses, NULL, NULL));
        CHECK(memcmp(out, expected, sizeof expected) == 0);
    }
    aclnnxRelease(prepared);
}

static void test_conditions(void) {
    aclnnxPrepared *prepared = prepare();
    double x[6] = {1e300}, y[6] = {0}, z[6], number[2] = {1e300, 0};
    void *addresses[4] = {x, number, y, z};
    for (int turn = 0; turn < 3; turn++) {
        uint32_t met = 0;
        CHECK_OK(aclnnxRun(prepared, addresses, &met, NULL));
        CHECK(met == ACLNNX_FP_OVERFLOW);
        CHECK_OK(aclnnxRun(prepared, addresses, NULL, NULL));
    }
    aclnnxRelease(prepared);
}

static void test_busy(void) {
    double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0}, z[2][6], number[2] = {3, 0};
    aclrtStream stream;
    aclnnxPrepared *prepared = prepare();
    CHECK_OK(aclrtCreateStream(&stream));
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    for (int k = 0; k < 2; k++) {
        void *addresses[4] = {x, number, y, z[k]};
        CHECK_OK(aclnnxRun(prepared, addresses, NULL, stream));
        number[0] = 5;
        memset(addresses, 0, sizeof addresses);
    }
    number[0] = 0;
    aclnnxRelease(prepared);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(z[0][5] == 18 && z[1][5] == 30);
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_errors(void) {
    scaled s;
    aclnnxPrepared *prepared = NULL;
    describe(&s);
    CHECK_ERROR(aclnnxPrepare(NULL, &prepared), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxPrepare(&s.program, NULL), ACLNN_ERR_PARAM_NULLPTR);
    s.instrs[1].src[1] = 4; /* fine, but the input is float32 now: */
    s.operands[0].dtype = ACL_FLOAT;
    CHECK(aclnnxPrepare(&s.program, &prepared) == ACLNN_ERR_PARAM_INVALID);
    CHECK(strstr(aclGetRecentErrMsg(), "instruction 0 (multiply) reads register 0"));
    CHECK(prepared == NULL);
    aclnnxRelease(NULL);
    prepared = prepare();
    double x[6] = {0}, number[2] = {1, 0};
    void *addresses[4] = {x, number, x, NULL};
    CHECK_ERROR(aclnnxRun(NULL, addresses, NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxRun(prepared, NULL, NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK(aclnnxRun(prepared, addresses, NULL, NULL) == ACLNN_ERR_PARAM_NULLPTR);
    CHECK(strstr(aclGetRecentErrMsg(), "operand 3 of 4 has no address"));
    CHECK_ERROR(aclnnxRun(prepared, addresses, NULL, x), ACLNN_ERR_RUNTIME_ERROR);
    aclnnxRelease(prepared);
}

/* Nothing is there to be read or written. */
static void test_empty(void) {
    scaled s;
    aclnnxPrepared *prepared = NULL;
    describe(&s);
    s.shape[0] = 0;
    CHECK_OK(aclnnxPrepare(&s.program, &prepared));
    double number[2] = {1, 0};
    void *addresses[4] = {NULL, number, NULL, NULL};
    CHECK_OK(aclnnxRun(prepared, addresses, NULL, NULL));
    aclnnxRelease(prepared);
}

/* A sum of nothing is written all the same, wherever the inputs are not; without a place
 * for it, or for a number, it is refused. */
static void test_empty_sum(void) {
    scaled s;
    aclnnxPrepared *prepared = NULL;
    const int64_t still[1] = {0};
    describe(&s);
    s.shape[0] = 0;
    s.operands[3].reduceOp = (uint16_t)aclnnxOpcode("add");
    s.operands[3].strides = still;
    s.program.reduceMask = 1;
    CHECK_OK(aclnnxPrepare(&s.program, &prepared));
    double number[2] = {1, 0}, sum = 7;
    void *addresses[4] = {NULL, number, NULL, &sum};
    CHECK_OK(aclnnxRun(prepared, addresses, NULL, NULL));
    CHECK(sum == 0);
    addresses[3] = NULL;
    CHECK_ERROR(aclnnxRun(prepared, addresses, NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    addresses[3] = &sum;
    addresses[1] = NULL;
    CHECK_ERROR(aclnnxRun(prepared, addresses, NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    aclnnxRelease(prepared);
    for (int turn = 0; turn < 4; turn++) { /* new, met again, known */
        describe(&s);
        s.operands[3].data = NULL;
        memcpy(s.operands[1].immediate, number, sizeof number);
        CHECK_ERROR(aclnnxFused(&s.program, NULL), ACLNN_ERR_PARAM_NULLPTR);
    }
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_places();
    test_conditions();
    test_busy();
    test_errors();
    test_empty();
    test_empty_sum();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
