/* Typical programs of the operator interface: out = self + alpha * other on a stream, a
 * chain of operators, scalars, in-place forms, with device memory and copies both ways.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnn_exp.h"
#include "aclnn_mul.h"
#include "aclnn_reduce_sum.h"
#include "check.h"

static int64_t shape_size(const int64_t *shape, uint64_t ndim) {
    int64_t n = 1;
    for (uint64_t i = 0; i < ndim; i++)
        n *= shape[i];
    return n;
}

/* Device memory with a copy of the host data, and a contiguous tensor over it. */
static aclTensor *tensor_new(const void *host, const int64_t *shape, uint64_t ndim,
                             aclDataType dtype, void **device) {
    size_t size = (size_t)shape_size(shape, ndim) * aclDataTypeSize(dtype);
    int64_t strides[8] = {0};
    CHECK_OK(aclrtMalloc(device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemcpy(*device, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE));
    for (uint64_t i = ndim; i-- > 0;)
        strides[i] = i == ndim - 1 ? 1 : strides[i + 1] * shape[i + 1];
    aclTensor *t = aclCreateTensor(shape, ndim, dtype, strides, 0, ACL_FORMAT_ND, shape,
                                   ndim, *device);
    CHECK(t != NULL);
    return t;
}

static void test_add(aclrtStream stream) {
    float a[8] = {0, 1, 2, 3, 4, 5, 6, 7}, b[8] = {1, 1, 1, 2, 2, 2, 3, 3}, out[8] = {0};
    int64_t shape[2] = {4, 2};
    float alpha_value = 1.2f;
    void *da, *db, *dout, *workspace = NULL;
    uint64_t size = 99;
    aclOpExecutor *executor = NULL;
    aclTensor *self = tensor_new(a, shape, 2, ACL_FLOAT, &da);
    aclTensor *other = tensor_new(b, shape, 2, ACL_FLOAT, &db);
    aclTensor *result = tensor_new(out, shape, 2, ACL_FLOAT, &dout);
    aclScalar *alpha = aclCreateScalar(&alpha_value, ACL_FLOAT);
    CHECK_OK(aclnnAddGetWorkspaceSize(self, other, alpha, result, &size, &executor));
    if (size > 0) CHECK_OK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclnnAdd(workspace, size, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtMemcpy(out, sizeof out, dout, sizeof out, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 8; i++)
        CHECK(out[i] == a[i] + b[i] * alpha_value);
    /* In place, and captured: the scalar may go before the second phase. */
    CHECK_OK(aclnnInplaceAddGetWorkspaceSize(self, other, alpha, &size, &executor));
    CHECK_OK(aclDestroyScalar(alpha));
    CHECK_OK(aclnnInplaceAdd(NULL, size, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(memcmp(da, out, sizeof out) == 0);
    CHECK_OK(aclDestroyTensor(self));
    CHECK_OK(aclDestroyTensor(other));
    CHECK_OK(aclDestroyTensor(result));
    CHECK_OK(aclrtFree(da));
    CHECK_OK(aclrtFree(db));
    CHECK_OK(aclrtFree(dout));
}

/* sum(exp(x * y)) over the rows of a transposed view: large enough to be queued. */
static void test_chain(aclrtStream stream) {
    enum { ROWS = 700, COLS = 900 };
    static double x[ROWS * COLS], y[ROWS], sums[COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (double)(i % 97) / 97;
    for (int i = 0; i < ROWS; i++)
        y[i] = (double)(i % 13) / 13;
    int64_t plain[2] = {ROWS, COLS}, turned[2] = {COLS, ROWS},
            turned_strides[2] = {1, COLS};
    int64_t row[1] = {ROWS}, column[1] = {COLS}, axis[1] = {1};
    void *dx, *dy, *dt, *ds;
    uint64_t size;
    aclOpExecutor *executor;
    aclTensor *tx = tensor_new(x, plain, 2, ACL_DOUBLE, &dx);
    CHECK_OK(aclDestroyTensor(tx));
    tx = aclCreateTensor(turned, 2, ACL_DOUBLE, turned_strides, 0, ACL_FORMAT_ND, plain,
                         2, dx);
    aclTensor *ty = tensor_new(y, row, 1, ACL_DOUBLE, &dy);
    aclTensor *tt = tensor_new(x, turned, 2, ACL_DOUBLE, &dt);
    aclTensor *ts = tensor_new(sums, column, 1, ACL_DOUBLE, &ds);
    aclIntArray *dims = aclCreateIntArray(axis, 1);
    CHECK_OK(aclnnMulGetWorkspaceSize(tx, ty, tt, &size, &executor));
    CHECK_OK(aclnnMul(NULL, 0, executor, stream));
    CHECK_OK(aclnnInplaceExpGetWorkspaceSize(tt, &size, &executor));
    CHECK_OK(aclnnInplaceExp(NULL, 0, executor, stream));
    CHECK_OK(aclnnReduceSumGetWorkspaceSize(tt, dims, false, ACL_DOUBLE, ts, &size,
                                            &executor));
    CHECK_OK(aclnnReduceSum(NULL, 0, executor, stream));
    CHECK_OK(aclrtMemcpyAsync(sums, sizeof sums, ds, sizeof sums,
                              ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    for (int j = 0; j < COLS; j += 37) {
        double want = 0;
        for (int i = 0; i < ROWS; i++)
            want += exp(x[i * COLS + j] * y[i]);
        CHECK(fabs(sums[j] - want) < 1e-9 * want);
    }
    CHECK_OK(aclDestroyIntArray(dims));
    aclTensor *tensors[] = {tx, ty, tt, ts};
    void *memory[] = {dx, dy, dt, ds};
    for (int i = 0; i < 4; i++) {
        CHECK_OK(aclDestroyTensor(tensors[i]));
        CHECK_OK(aclrtFree(memory[i]));
    }
}

int main(void) {
    aclrtStream stream = NULL;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclnnInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    test_add(stream);
    test_add(NULL);
    test_chain(stream);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclnnFinalize());
    CHECK_OK(aclFinalize());
    return check_done();
}
