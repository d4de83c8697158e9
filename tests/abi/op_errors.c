/* What hostile programs do to the operators: each time CANN's code and a sentence, never
 * a crash. */
#include <stdint.h>

#include "acl/acl.h"
#include "aclnn/aclnnx.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_permute.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "check.h"

static double data[64], room[1000];
static uint64_t size;
static aclOpExecutor *executor;

static aclTensor *tensor(aclDataType dtype, int64_t n) {
    return aclCreateTensor(&n, 1, dtype, NULL, 0, ACL_FORMAT_ND, &n, 1, data);
}

static void fails_to_create(const void *object) {
    const char *message = aclGetRecentErrMsg();
    CHECK(object == NULL);
    CHECK(message != NULL && strlen(message) > 8);
}

static void test_creation(void) {
    int64_t bad[2] = {2, -3}, huge[3] = {1LL << 31, 1LL << 31, 1LL << 31}, many[65] = {0};
    float one = 1;
    fails_to_create(
        aclCreateTensor(NULL, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, data));
    fails_to_create(
        aclCreateTensor(bad, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, bad, 0, data));
    fails_to_create(
        aclCreateTensor(huge, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, data));
    fails_to_create(
        aclCreateTensor(many, 65, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, data));
    fails_to_create(
        aclCreateTensor(many, 1, ACL_FLOAT, NULL, -1, ACL_FORMAT_ND, NULL, 0, data));
    fails_to_create(aclCreateScalar(NULL, ACL_FLOAT));
    fails_to_create(aclCreateScalar(&one, (aclDataType)1000));
    fails_to_create(aclCreateIntArray(NULL, 3));
    const aclTensor *stray[1] = {(const aclTensor *)data};
    fails_to_create(aclCreateTensorList(stray, 1));
}

static void test_add_arguments(void) {
    float one = 1;
    aclTensor *a = tensor(ACL_FLOAT, 4), *b = tensor(ACL_FLOAT, 3),
              *c = tensor(ACL_FLOAT, 4);
    aclTensor *odd = tensor(ACL_STRING, 4), *flags = tensor(ACL_BOOL, 4);
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(NULL, a, alpha, c, &size, &executor),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK(executor == NULL);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, NULL, c, &size, &executor),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, alpha, NULL, &size, &executor),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, alpha, c, NULL, &executor),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, alpha, c, &size, NULL),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, b, alpha, c, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, alpha, b, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(odd, a, alpha, c, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, alpha, flags, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    /* handles of other kinds, and freed ones */
    CHECK_ERROR(
        aclnnAddGetWorkspaceSize((aclTensor *)alpha, a, alpha, c, &size, &executor),
        ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, a, (aclScalar *)a, c, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyTensor(b));
    CHECK_ERROR(aclnnAddGetWorkspaceSize(a, b, alpha, c, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclDestroyTensor(b), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclDestroyTensor(NULL), ACLNN_ERR_PARAM_NULLPTR);
    /* phase 2 */
    CHECK_ERROR(aclnnAdd(NULL, 0, NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnAdd(NULL, 0, (aclOpExecutor *)data, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclnnAddGetWorkspaceSize(a, a, alpha, c, &size, &executor));
    CHECK_ERROR(aclnnExp(NULL, 0, executor, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, (aclrtStream)data), ACLNN_ERR_RUNTIME_ERROR);
    CHECK_OK(aclnnAdd(NULL, 0, executor, NULL));
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclSetRawTensorAddr(c, NULL));
    CHECK_OK(aclnnAddGetWorkspaceSize(a, a, alpha, c, &size, &executor));
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_OK(aclDestroyAclOpExecutor(executor));
    CHECK_OK(aclDestroyTensor(a));
    CHECK_OK(aclDestroyTensor(c));
    CHECK_OK(aclDestroyTensor(odd));
    CHECK_OK(aclDestroyTensor(flags));
    CHECK_OK(aclDestroyScalar(alpha));
    CHECK_ERROR(aclDestroyScalar(alpha), ACLNN_ERR_PARAM_INVALID);
}

static void test_others(void) {
    aclTensor *a = tensor(ACL_DOUBLE, 6), *b = tensor(ACL_DOUBLE, 6),
              *i = tensor(ACL_DOUBLE, 2);
    int64_t twice[2] = {0, 0}, far[1] = {5};
    aclIntArray *dims = aclCreateIntArray(twice, 2), *away = aclCreateIntArray(far, 1);
    aclTensorList *none = aclCreateTensorList(NULL, 0);
    CHECK_ERROR(aclnnCastGetWorkspaceSize(a, ACL_FLOAT, b, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnCastGetWorkspaceSize(a, (aclDataType)-7, b, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnCatGetWorkspaceSize(none, 0, b, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnCatGetWorkspaceSize(NULL, 0, b, &size, &executor),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(
        aclnnReduceSumGetWorkspaceSize(a, dims, false, ACL_DOUBLE, b, &size, &executor),
        ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(
        aclnnReduceSumGetWorkspaceSize(a, away, false, ACL_DOUBLE, b, &size, &executor),
        ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnPermuteGetWorkspaceSize(a, dims, b, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnIndexSelectGetWorkspaceSize(a, 0, i, i, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclDestroyIntArray((aclIntArray *)none), ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyIntArray(dims));
    CHECK_ERROR(aclDestroyIntArray(dims), ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyIntArray(away));
    CHECK_OK(aclDestroyTensorList(none));
    CHECK_OK(aclDestroyTensor(a));
    CHECK_OK(aclDestroyTensor(b));
    CHECK_OK(aclDestroyTensor(i));
}

static void test_fused(void) {
    int64_t n = 4;
    aclnnxOperand operands[2] = {
        {.data = data, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE},
        {.data = data, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE}};
    aclnnxInstr instr = {
        (uint16_t)aclnnxOpcode("exp"), ACL_DOUBLE, ACL_DOUBLE, 1, {0, 0, 0}};
    aclnnxProgram good = {.numDims = 1,
                          .numIn = 1,
                          .numOut = 1,
                          .numInstrs = 1,
                          .numRegs = 2,
                          .shape = &n,
                          .operands = operands,
                          .instrs = &instr};
    aclnnxProgram p = good;
    CHECK(aclnnxOpcode("exp") >= 0 && aclnnxOpcode("no such") == -1 &&
          aclnnxOpcode(NULL) == -1);
    CHECK_OK(aclnnxFused(&good, NULL));
    CHECK_ERROR(aclnnxFused(NULL, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxFused(&good, data), ACLNN_ERR_RUNTIME_ERROR);
    p.numDims = 65;
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    p = good;
    p.numIn = 1000000;
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    p = good;
    p.operands = NULL;
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_NULLPTR);
    p = good;
    instr.src[0] = 77;
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    instr.src[0] = 0;
    instr.op = 9999;
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    instr.op = (uint16_t)aclnnxOpcode("bitwise_and"); /* no loop for float64 */
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    int64_t square[2] = {2, 2}, whole[2] = {0, 0}, rows[2] = {16, 8};
    aclnnxOperand folded[2] = {operands[0], operands[1]};
    folded[0].strides = rows;
    folded[1].strides = whole;
    folded[1].data = room;
    folded[1].reduceOp = (uint16_t)aclnnxOpcode("subtract");
    instr.op = (uint16_t)aclnnxOpcode("copy");
    p = good;
    p.numDims = 2;
    p.shape = square;
    p.operands = folded;
    p.reduceMask = 3; /* of two dimensions, in no order that would be the only one */
    CHECK_ERROR(aclnnxFused(&p, NULL), ACLNN_ERR_PARAM_INVALID);
    folded[1].reduceOp = (uint16_t)aclnnxOpcode("add");
    CHECK_OK(aclnnxFused(&p, NULL));
    square[0] = 1;
    folded[1].reduceOp = (uint16_t)aclnnxOpcode("subtract");
    CHECK_OK(aclnnxFused(&p, NULL));
    CHECK_ERROR(aclnnxScan(9999, operands, operands, 1, &n, 0, NULL, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxSort(operands, operands, 1, &n, 3, 0, 0, NULL, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxSort(operands, operands, 1, &n, 0, 0, 65, &n, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxSort(operands, operands, 1, &n, 0, 4, 0, NULL, NULL),
                ACLNN_ERR_PARAM_INVALID);
    const int64_t down[2] = {1, 0};
    aclnnxOperand two = *operands;
    CHECK_ERROR(aclnnxSort(operands, &two, 1, &n, 0, ACLNNX_SORT_PICKED, 2, down, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxSort(operands, &two, 1, &n, 0, ACLNNX_SORT_PICKED, 1, &n, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxInterp(operands, operands, operands, NULL, n, n, 0, 0, NULL),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxInterp(operands, operands, operands, operands, n, 0, 0, 0, NULL),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxSort(NULL, operands, 1, &n, 0, 0, 0, NULL, NULL),
                ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(
        aclnnxUpdateAt(0, operands, 1, &n, 5, operands, 1, &n, operands, NULL, NULL),
        ACLNN_ERR_PARAM_INVALID);
}

/* `n` elements of double from element `offset` of the storage, `stride` apart. */
static aclTensor *over(void *storage, int64_t n, int64_t stride, int64_t offset) {
    return aclCreateTensor(&n, 1, ACL_DOUBLE, &stride, offset, ACL_FORMAT_ND, &n, 1,
                           storage);
}

static int exp_plan(const aclTensor *in, aclTensor *out) {
    int code = aclnnExpGetWorkspaceSize(in, out, &size, &executor);
    if (code == ACLNN_SUCCESS) CHECK_OK(aclDestroyAclOpExecutor(executor));
    return code;
}

/* Elements outside of the block of aclrtMalloc that the tensor's address lies in. */
static void test_extents(void) {
    double *block = NULL, *host = NULL, *small[300];
    CHECK_OK(aclrtMalloc((void **)&block, 64 * sizeof *block, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost((void **)&host, 64 * sizeof *host));
    for (int i = 0; i < 300; i++)
        CHECK_OK(aclrtMalloc((void **)&small[i], 64, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 300; i += 2)
        CHECK_OK(aclrtFree(small[i]));
    const struct {
        void *storage;
        int64_t n, stride, offset;
        bool good;
    } cases[] = {{block, 64, 1, 0, true},        {block, 65, 1, 0, false},
                 {block, 64, 1, 1, false},       {block + 10, 54, 1, 0, true},
                 {block + 10, 55, 1, 0, false},  {block, 32, 2, 1, true},
                 {block, 33, 2, 0, false},       {block, 64, -1, 63, true},
                 {block, 64, -1, 62, false},     {block + 63, 1, 1, 0, true},
                 {block + 63, 2, -1, 0, true},   {block, 1000, 0, 63, true},
                 {block, 1000, 0, 64, false},    {block, 0, 1, 1000, true},
                 {host, 64, 1, 0, true},         {host, 65, 1, 0, false},
                 {small[151], 8, 1, 0, true},    {small[151], 9, 1, 0, false},
                 {data, 64, 1, 0, true},         {block, 2, INT64_MAX / 8, 0, false},
                 {block, 2, INT64_MIN, 0, false}};
    aclTensor *row = aclCreateTensor((int64_t[]){64}, 1, ACL_DOUBLE, (int64_t[]){0}, 0,
                                     ACL_FORMAT_ND, NULL, 0, data);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aclTensor *t =
            over(cases[i].storage, cases[i].n, cases[i].stride, cases[i].offset);
        aclTensor *out = over(room, cases[i].n, 1, 0);
        for (int again = 0; again < 2; again++) {
            if (cases[i].good)
                CHECK_OK(exp_plan(t, out));
            else
                CHECK_ERROR(exp_plan(t, out), ACLNN_ERR_PARAM_INVALID);
        }
        if (!cases[i].good) CHECK_ERROR(exp_plan(out, t), ACLNN_ERR_PARAM_INVALID);
        CHECK_OK(aclDestroyTensor(t));
        CHECK_OK(aclDestroyTensor(out));
    }
    aclTensor *t = over(block + 10, 55, 1, 0);
    (void)exp_plan(t, row);
    const char *message = aclGetRecentErrMsg();
    CHECK(message != NULL &&
          strstr(message, "self needs bytes 0 to 440 from its address; "
                          "its block of memory has -80 to 432"));
    CHECK_OK(aclSetRawTensorAddr(t, block + 9)); /* its own block now */
    aclTensor *out = over(host, 55, 1, 0);
    CHECK_OK(aclnnExpGetWorkspaceSize(t, out, &size, &executor));
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
    CHECK_OK(aclnnExp(NULL, 0, executor, NULL));
    CHECK_OK(aclSetInputTensorAddr(executor, 0, t, block + 10));
    for (int again = 0; again < 2; again++)
        CHECK_ERROR(aclnnExp(NULL, 0, executor, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(exp_plan(t, out), ACLNN_ERR_PARAM_INVALID);
    executor = NULL;
    CHECK_OK(aclDestroyTensor(t));
    CHECK_OK(aclDestroyTensor(out));
    CHECK_OK(aclDestroyTensor(row));
    for (int i = 1; i < 300; i += 2)
        CHECK_OK(aclrtFree(small[i]));
    CHECK_OK(aclrtFree(block));
    CHECK_OK(aclrtFreeHost(host));
}

int main(void) {
    float one = 1;
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    aclTensor *t = tensor(ACL_FLOAT, 4);
    /* Objects need no device, runs do. */
    CHECK_OK(aclnnAddGetWorkspaceSize(t, t, alpha, t, &size, &executor));
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, NULL), ACLNN_ERR_RUNTIME_ERROR);
    CHECK_OK(aclDestroyAclOpExecutor(executor));
    CHECK_OK(aclDestroyTensor(t));
    CHECK_OK(aclDestroyScalar(alpha));
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_creation();
    test_add_arguments();
    test_others();
    test_fused();
    test_extents();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
