/* Tensors, scalars, lists, executors: what they keep, who owns what, repeated runs. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "acl/acl.h"
#include "aclnn/aclnnx.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_index.h"
#include "aclnnop/aclnn_masked_select.h"
#include "check.h"

static aclTensor *vector(double *data, int64_t n) {
    return aclCreateTensor(&n, 1, ACL_DOUBLE, NULL, 0, ACL_FORMAT_ND, &n, 1, data);
}

static void test_getters(void) {
    double data[64];
    int64_t shape[3] = {2, 3, 4}, strides[3] = {1, 2, 6}, storage[1] = {64}, offset = 0;
    int64_t *dims = NULL;
    uint64_t n = 0;
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    void *addr = NULL;
    aclTensor *t = aclCreateTensor(shape, 3, ACL_DOUBLE, strides, 5, ACL_FORMAT_NCHW,
                                   storage, 1, data);
    CHECK_OK(aclGetViewShape(t, &dims, &n));
    CHECK(n == 3 && dims[0] == 2 && dims[2] == 4);
    free(dims);
    CHECK_OK(aclGetViewStrides(t, &dims, &n));
    CHECK(n == 3 && dims[2] == 6);
    free(dims);
    CHECK_OK(aclGetStorageShape(t, &dims, &n));
    CHECK(n == 1 && dims[0] == 64);
    free(dims);
    CHECK_OK(aclGetViewOffset(t, &offset));
    CHECK_OK(aclGetDataType(t, &dtype));
    CHECK_OK(aclGetFormat(t, &format));
    CHECK_OK(aclGetRawTensorAddr(t, &addr));
    CHECK(offset == 5 && dtype == ACL_DOUBLE && format == ACL_FORMAT_NCHW &&
          addr == data);
    int64_t many[12] = {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3};
    CHECK_OK(
        aclInitTensor(t, many, 12, ACL_INT8, NULL, 0, ACL_FORMAT_ND, many, 12, data));
    CHECK_OK(aclGetViewShape(t, &dims, &n));
    CHECK(n == 12 && dims[11] == 3);
    free(dims);
    /* A storage that was reckoned from the last element of nothing. */
    const int64_t nothing[2] = {0, 128}, one[2] = {1, 128}, before = -127;
    CHECK_OK(
        aclInitTensor(t, nothing, 2, ACL_INT8, NULL, 0, ACL_FORMAT_ND, &before, 1, data));
    CHECK_OK(aclGetStorageShape(t, &dims, &n));
    CHECK(n == 1 && dims[0] == 0);
    free(dims);
    CHECK_ERROR(
        aclInitTensor(t, one, 2, ACL_INT8, NULL, 0, ACL_FORMAT_ND, &before, 1, data),
        ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyTensor(t));
}

/* Programs destroy only the list, or the members too, before or after. */
static void test_list_ownership(void) {
    double x[2] = {1, 2}, y[3] = {3, 4, 5}, out[5];
    uint64_t size, n = 0;
    aclOpExecutor *executor;
    for (int order = 0; order < 3; order++) {
        aclTensor *members[2] = {vector(x, 2), vector(y, 3)}, *result = vector(out, 5);
        aclTensorList *list = aclCreateTensorList((const aclTensor *const *)members, 2);
        CHECK_OK(aclGetTensorListSize(list, &n));
        CHECK(n == 2);
        CHECK_OK(aclnnCatGetWorkspaceSize(list, 0, result, &size, &executor));
        CHECK_OK(aclnnCat(NULL, size, executor, NULL));
        CHECK_OK(aclrtSynchronizeStream(NULL));
        CHECK(out[0] == 1 && out[4] == 5);
        if (order == 1) CHECK_OK(aclDestroyTensor(members[0]));
        aclTensor *newer = order == 1 ? vector(x, 2) : NULL; /* may take the freed slot */
        CHECK_OK(aclDestroyTensorList(list));
        if (newer) CHECK_OK(aclDestroyTensor(newer));
        if (order == 2) {
            CHECK_OK(aclDestroyTensor(members[0]));
            CHECK_OK(aclDestroyTensor(members[1]));
            CHECK_ERROR(aclDestroyTensor(members[1]), ACLNN_ERR_PARAM_INVALID);
        }
        CHECK_OK(aclDestroyTensor(result));
    }
    float one = 1;
    aclScalar *scalars[1] = {aclCreateScalar(&one, ACL_FLOAT)};
    aclScalarList *list = aclCreateScalarList((const aclScalar *const *)scalars, 1);
    CHECK_OK(aclGetScalarListSize(list, &n));
    CHECK(n == 1);
    CHECK_OK(aclDestroyScalarList(list));
}

static atomic_int gate;

static void wait_gate(void *arg) {
    (void)arg;
    while (atomic_load(&gate) == 0)
        usleep(100);
}

/* One executor, many runs, other addresses; also while earlier runs are still queued. */
static void test_repeatable(void) {
    double a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, one = 1, out[3][4];
    uint64_t size;
    aclOpExecutor *executor;
    aclrtStream stream;
    CHECK_OK(aclrtCreateStream(&stream));
    aclTensor *ta = vector(a, 4), *tb = vector(a, 4), *tout = vector(out[0], 4);
    aclScalar *alpha = aclCreateScalar(&one, ACL_DOUBLE);
    CHECK_OK(aclnnAddGetWorkspaceSize(ta, tb, alpha, tout, &size, &executor));
    CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
    CHECK_OK(aclnnAdd(NULL, 0, executor, stream));
    CHECK_OK(aclnnAdd(NULL, 0, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(out[0][3] == 8);
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    for (int i = 1; i < 3; i++) {
        CHECK_OK(aclSetInputTensorAddr(executor, 1, tb, i == 1 ? b : a));
        CHECK_OK(aclSetOutputTensorAddr(executor, 0, tout, out[i]));
        CHECK_OK(aclnnAdd(NULL, 0, executor, stream));
    }
    CHECK_OK(aclSetTensorAddr(executor, 2, tout, out[0]));
    CHECK_ERROR(aclSetTensorAddr(executor, 3, tout, out[0]), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(AclSetInputTensorAddr(executor, 2, tout, out[0]),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyAclOpExecutor(executor)); /* queued runs keep it */
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclDestroyAclOpExecutor(executor), ACLNN_ERR_PARAM_INVALID);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(out[1][3] == 44 && out[2][3] == 8);
    CHECK_OK(aclDestroyTensor(ta));
    CHECK_OK(aclDestroyTensor(tb));
    CHECK_OK(aclDestroyTensor(tout));
    CHECK_OK(aclDestroyScalar(alpha));
    CHECK_OK(aclrtDestroyStream(stream));
}

/* Tensors may go while the run is queued: the executor has captured them. */
static void test_captured(void) {
    double a[4] = {1, 2, 3, 4}, out[4] = {0}, two = 2;
    uint64_t size;
    aclOpExecutor *executor;
    aclrtStream stream;
    CHECK_OK(aclrtCreateStream(&stream));
    aclTensor *ta = vector(a, 4), *tout = vector(out, 4);
    aclScalar *alpha = aclCreateScalar(&two, ACL_DOUBLE);
    CHECK_OK(aclnnAddGetWorkspaceSize(ta, ta, alpha, tout, &size, &executor));
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    CHECK_OK(aclnnAdd(NULL, 0, executor, stream));
    CHECK_ERROR(aclnnAdd(NULL, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyTensor(ta));
    CHECK_OK(aclDestroyTensor(tout));
    CHECK_OK(aclDestroyScalar(alpha));
    CHECK(out[0] == 0);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(out[3] == 12);
    CHECK_OK(aclrtDestroyStream(stream));
}

static void scribble(void *p, size_t size) {
    memset(p, 0x5a, size);
}

/* Calls of the plain-descriptor functions that meet a busy stream: all they need is
 * copied. */
static void test_plain_descriptors(void) {
    double x[6] = {4, 1, 3, 2, 6, 5}, doubled[6], sums[6], sorted[6], updated[6] = {0};
    int64_t shape[1] = {6}, strides[1] = {8}, index[3] = {1, 1, -1}, count[1] = {3};
    double two = 2;
    aclrtStream stream;
    CHECK_OK(aclrtCreateStream(&stream));
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    aclnnxOperand in = {.data = x, .strides = strides, .dtype = ACL_DOUBLE};
    in.reduceOp = ACLNNX_NO_REDUCE;
    aclnnxOperand number = {.dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE}, out = in;
    memcpy(number.immediate, &two, sizeof two);
    aclnnxOperand operands[3] = {in, number, in};
    operands[2].data = doubled;
    int32_t add = aclnnxOpcode("add");
    aclnnxInstr instr = {
        (uint16_t)aclnnxOpcode("multiply"), ACL_DOUBLE, ACL_DOUBLE, 2, {0, 1, 0}};
    aclnnxProgram program = {.numDims = 1,
                             .numIn = 2,
                             .numOut = 1,
                             .numInstrs = 1,
                             .numRegs = 3,
                             .shape = shape,
                             .operands = operands,
                             .instrs = &instr};
    CHECK_OK(aclnnxFused(&program, stream));
    out.data = sums;
    CHECK_OK(aclnnxScan(add, &in, &out, 1, shape, 0, NULL, stream));
    out.data = sorted;
    CHECK_OK(aclnnxSort(&in, &out, 1, shape, 0, 0, 0, NULL, stream));
    out.data = updated;
    aclnnxOperand at = {.data = index, .dtype = ACL_INT64, .reduceOp = ACLNNX_NO_REDUCE};
    int64_t still[1] = {0};
    number.strides = still; /* one value for all indices */
    CHECK_OK(
        aclnnxUpdateAt(add, &out, 1, shape, 1, &at, 1, count, &number, NULL, stream));
    scribble(&program, sizeof program);
    scribble(operands, sizeof operands);
    scribble(&number, sizeof number);
    scribble(&in, sizeof in);
    scribble(&out, sizeof out);
    scribble(&at, sizeof at);
    scribble(&instr, sizeof instr);
    scribble(shape, sizeof shape);
    scribble(strides, sizeof strides);
    scribble(count, sizeof count);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 6; i++)
        CHECK(doubled[i] == 2 * x[i] && sorted[i] == i + 1);
    CHECK(sums[0] == 4 && sums[5] == 21);
    CHECK(updated[1] == 4 && updated[5] == 2 && updated[0] == 0);
    CHECK_OK(aclrtDestroyStream(stream));
}

/* Results whose length depends on data: the tensor tells it afterwards. */
static void test_dynamic_shape(void) {
    double x[6] = {1, 2, 3, 4, 5, 6}, out[6];
    bool mask[6] = {true, false, true, false, false, true};
    int64_t n = 6, *dims = NULL;
    uint64_t size, ndim = 0;
    aclOpExecutor *executor;
    aclTensor *tx = vector(x, 6), *tout = vector(out, 6);
    aclTensor *tm = aclCreateTensor(&n, 1, ACL_BOOL, NULL, 0, ACL_FORMAT_ND, &n, 1, mask);
    CHECK_OK(aclnnMaskedSelectGetWorkspaceSize(tx, tm, tout, &size, &executor));
    CHECK_OK(aclnnMaskedSelect(NULL, size, executor, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK_OK(aclGetViewShape(tout, &dims, &ndim));
    CHECK(ndim == 1 && dims[0] == 3 && out[0] == 1 && out[1] == 3 && out[2] == 6);
    free(dims);
    CHECK_OK(aclDestroyTensor(tx));
    CHECK_OK(aclDestroyTensor(tm));
    CHECK_OK(aclDestroyTensor(tout));
}

/* An error of a queued task comes with the next synchronisation, once. */
static void test_late_error(void) {
    double x[3] = {1, 2, 3}, out[1] = {7};
    int64_t index = 5, one = 1;
    uint64_t size;
    aclOpExecutor *executor;
    aclTensor *tx = vector(x, 3), *tout = vector(out, 1);
    aclTensor *ti =
        aclCreateTensor(&one, 1, ACL_INT64, NULL, 0, ACL_FORMAT_ND, &one, 1, &index);
    aclTensorList *list = aclCreateTensorList((const aclTensor *const *)&ti, 1);
    CHECK_OK(aclnnIndexGetWorkspaceSize(tx, list, tout, &size, &executor));
    CHECK_OK(aclnnIndex(NULL, size, executor, NULL));
    CHECK_ERROR(aclrtSynchronizeStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(out[0] == 7);
    CHECK_OK(aclDestroyTensorList(list));
    CHECK_OK(aclDestroyTensor(tx));
    CHECK_OK(aclDestroyTensor(tout));
}

/* Single loops and products without a stream. */
static void test_loops(void) {
    double x[6] = {3, 1, 2, 6, 5, 4}, y[6], three = 3, sum = 0;
    const void *in[3] = {x, &three, NULL};
    int32_t add = aclnnxOpcode("add"), maximum = aclnnxOpcode("maximum");
    const aclnnxLoop *map = aclnnxLoopFind(ACLNNX_LOOP_MAP, add, ACL_DOUBLE);
    CHECK(map != NULL && map == aclnnxLoopFind(ACLNNX_LOOP_MAP, add, ACL_DOUBLE));
    CHECK_OK(aclnnxLoopRun(map, 6, y, in, 2, NULL));
    for (int i = 0; i < 6; i++)
        CHECK(y[i] == x[i] + 3);
    const aclnnxLoop *fold = aclnnxLoopFind(ACLNNX_LOOP_FOLD, add, ACL_DOUBLE);
    CHECK_OK(aclnnxLoopRun(fold, 6, &sum, in, 0, NULL));
    CHECK(sum == 21);
    const aclnnxLoop *arg = aclnnxLoopFind(ACLNNX_LOOP_ARG, maximum, ACL_DOUBLE);
    int64_t at = -1;
    CHECK_OK(aclnnxLoopRun(arg, 6, &at, in, 0, NULL));
    CHECK(at == 3);
    const aclnnxLoop *cast = aclnnxLoopFind(ACLNNX_LOOP_CAST, ACL_INT32, ACL_DOUBLE);
    int32_t whole[6];
    CHECK_OK(aclnnxLoopRun(cast, 6, whole, in, 0, NULL));
    CHECK(whole[0] == 3 && whole[5] == 4);
    uint32_t met = 0;
    double zeros[2] = {0, 0}, ones[2] = {1, 1};
    const void *pair[3] = {ones, zeros, NULL};
    const aclnnxLoop *divide =
        aclnnxLoopFind(ACLNNX_LOOP_MAP, aclnnxOpcode("divide"), ACL_DOUBLE);
    CHECK_OK(aclnnxLoopRun(divide, 2, y, pair, 0, &met));
    CHECK(met == ACLNNX_FP_DIVIDE);
    CHECK(aclnnxLoopFind(ACLNNX_LOOP_MAP, -1, ACL_DOUBLE) == NULL);
    CHECK(aclnnxLoopFind(ACLNNX_LOOP_MAP, aclnnxOpcode("bitwise_and"), ACL_DOUBLE) ==
          NULL);
    CHECK(aclnnxLoopFind(ACLNNX_LOOP_ARG, add, ACL_DOUBLE) == NULL);
    CHECK(aclnnxLoopFind(9, add, ACL_DOUBLE) == NULL);
    CHECK_ERROR(aclnnxLoopRun(NULL, 1, y, in, 0, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxLoopRun(arg, 0, &at, in, 0, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(aclnnxLoopRun(fold, 1025, &sum, in, 0, NULL), ACLNN_ERR_PARAM_INVALID);
    aclnnxOperand a = {.data = x, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE};
    aclnnxOperand c = a;
    c.data = y;
    CHECK_OK(aclnnxMatmul(&a, &a, &c, 2, 2, 2, NULL)); /* (3 1; 2 6) squared */
    CHECK(y[0] == 11 && y[1] == 9 && y[2] == 18 && y[3] == 38);
    CHECK_ERROR(aclnnxMatmul(&a, NULL, &c, 2, 2, 2, NULL), ACLNN_ERR_PARAM_NULLPTR);
    aclnnxOperand row = a, column = a, one = c;
    row.dtype = column.dtype = one.dtype = ACL_COMPLEX128;
    row.flags = ACLNNX_CONJUGATE;
    CHECK_OK(aclnnxMatmul(&row, &column, &one, 1, 2, 1, NULL)); /* (3 + i, 2 + 6i) */
    CHECK(y[0] == 50 && y[1] == 0);
    column.data = x + 2;
    CHECK_OK(aclnnxMatmul(&row, &column, &one, 1, 1, 1, NULL));
    CHECK(y[0] == 12 && y[1] == 16); /* (3 - i)(2 + 6i) */
    CHECK_ERROR(aclnnxMatmul(&row, &row, &one, 2, 1, 1, NULL), ACLNN_ERR_PARAM_INVALID);
    a.flags = ACLNNX_CONJUGATE;
    CHECK_ERROR(aclnnxMatmul(&a, &a, &c, 1, 1, 1, NULL), ACLNN_ERR_PARAM_INVALID);
    a.flags = 0;
    c.dtype = ACL_FLOAT;
    CHECK_ERROR(aclnnxMatmul(&a, &a, &c, 2, 2, 2, NULL), ACLNN_ERR_PARAM_INVALID);
}

/* out0 = in0 + 1, out1 = in0 > 0 */
static void plus_one(char **args, const int64_t *n, const int64_t *steps, void *calls) {
    ++*(int *)calls;
    for (int64_t i = 0; i < *n; i++) {
        double x = *(double *)(args[0] + i * steps[0]);
        *(double *)(args[1] + i * steps[1]) = x + 1;
        *(_Bool *)(args[2] + i * steps[2]) = x > 0;
    }
}

/* A function of the program's own in a fused program: both outputs by one call. */
static void test_own_loop(void) {
    int calls = 0;
    double x[4] = {-1, 0, 1, 2}, y[4];
    _Bool truth[4];
    aclnnxOwnLoop loop = {.name = "plus_one",
                          .function = plus_one,
                          .data = &calls,
                          .numIn = 1,
                          .numOut = 2,
                          .dtypes = {ACL_DOUBLE, ACL_DOUBLE, ACL_BOOL}};
    int32_t op = aclnnxRegisterLoop(&loop);
    CHECK(op > aclnnxOpcode("add") && op == aclnnxRegisterLoop(&loop));
    const int64_t four = 4;
    aclnnxOperand operands[3] = {
        {.data = x, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE},
        {.data = y, .dtype = ACL_DOUBLE, .reduceOp = ACLNNX_NO_REDUCE},
        {.data = truth, .dtype = ACL_BOOL, .reduceOp = ACLNNX_NO_REDUCE}};
    aclnnxInstr code[3] = {
        {(uint16_t)op, ACL_DOUBLE, ACL_DOUBLE, 3, {0, 0, 0}},
        {(uint16_t)(op + 1), ACL_BOOL, ACL_BOOL, 2, {0, 0, 0}},
        {(uint16_t)aclnnxOpcode("multiply"), ACL_DOUBLE, ACL_DOUBLE, 1, {3, 3, 0}}};
    aclnnxProgram program = {.numDims = 1,
                             .numIn = 1,
                             .numOut = 2,
                             .numInstrs = 3,
                             .numRegs = 4,
                             .shape = &four,
                             .operands = operands,
                             .instrs = code};
    CHECK_OK(aclnnxFused(&program, NULL));
    for (int i = 0; i < 4; i++)
        CHECK(y[i] == (x[i] + 1) * (x[i] + 1) && truth[i] == (x[i] > 0));
    CHECK(calls == 1);
    code[1].dtype = ACL_DOUBLE; /* not the output's */
    CHECK_ERROR(aclnnxFused(&program, NULL), ACLNN_ERR_PARAM_INVALID);
    code[1].op = (uint16_t)(op + 2);
    CHECK_ERROR(aclnnxFused(&program, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK(aclnnxRegisterLoop(NULL) == -1);
    loop.numIn = ACLNNX_OWN_INPUTS + 1;
    CHECK(aclnnxRegisterLoop(&loop) == -1);
    loop.numIn = 1;
    loop.dtypes[2] = 31;
    CHECK(aclnnxRegisterLoop(&loop) == -1);
    CHECK(strstr(aclGetRecentErrMsg(), "argument 2 of plus_one has unknown dtype 31"));
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_getters();
    test_list_ownership();
    test_repeatable();
    test_captured();
    test_plain_descriptors();
    test_dynamic_shape();
    test_late_error();
    test_loops();
    test_own_loop();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
