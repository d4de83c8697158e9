/* Workspace in a strict run (ASNUMPY_CANN_STRICT=1, which CMake sets): products and
 * reductions ask for some, phase 2 refuses less, and results are right with it. */
#include <stdint.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "check.h"

enum { M = 40, K = 24, N = 56, ACL_PARAM_NULLPTR = 161001, ACL_PARAM_INVALID = 161002 };

static aclTensor *matrix(void *data, aclDataType dtype, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols}, strides[2] = {cols, 1};
    return aclCreateTensor(shape, 2, dtype, strides, 0, ACL_FORMAT_ND, shape, 2, data);
}

/* Device memory with small integers, of which every product is exact. */
static float *numbers(int count) {
    void *p = NULL;
    CHECK_OK(aclrtMalloc(&p, (size_t)count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; p != NULL && i < count; i++)
        ((float *)p)[i] = (float)(i * 7 % 11 - 5);
    return p;
}

static void check_product(const float *a, const float *b, float *c) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            CHECK(c[i * N + j] == sum);
            c[i * N + j] = -1;
        }
}

/* Every workspace that phase 2 refuses, and those that it takes. */
static void test_product(aclrtStream stream) {
    float *a = numbers(M * K), *b = numbers(K * N), *c = numbers(M * N);
    aclTensor *ta = matrix(a, ACL_FLOAT, M, K), *tb = matrix(b, ACL_FLOAT, K, N);
    aclTensor *tc = matrix(c, ACL_FLOAT, M, N);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    void *room = NULL, *small = NULL;
    CHECK_OK(aclnnMatmulGetWorkspaceSize(ta, tb, tc, 0, &size, &e));
    CHECK(size >= (M * K + K * N + M * N) * sizeof(float));
    CHECK_OK(aclrtMalloc(&room, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMalloc(&small, size / 4, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ERROR(aclnnMatmul(NULL, size, e, stream), ACL_PARAM_NULLPTR);
    CHECK_ERROR(aclnnMatmul(NULL, 0, e, stream), ACL_PARAM_NULLPTR);
    CHECK_ERROR(aclnnMatmul(room, size - 1, e, stream), ACL_PARAM_INVALID);
    CHECK_ERROR(aclnnMatmul(small, size, e, stream), ACL_PARAM_INVALID);
    CHECK_ERROR(aclnnMatmul((char *)room + 64, size, e, stream), ACL_PARAM_INVALID);
    /* A refusal leaves the executor as it is. */
    CHECK_OK(aclnnMatmul(room, size, e, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    check_product(a, b, c);
    /* A repeatable one takes each run's own. */
    CHECK_OK(aclnnMatmulGetWorkspaceSize(ta, tb, tc, 0, &size, &e));
    CHECK_OK(aclSetAclOpExecutorRepeatable(e));
    for (int i = 0; i < 3; i++) {
        void *own = NULL;
        CHECK_OK(aclrtMalloc(&own, size, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclnnMatmul(own, size, e, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        check_product(a, b, c);
        CHECK_OK(aclrtFree(own));
    }
    CHECK_OK(aclDestroyAclOpExecutor(e));
    aclDestroyTensor(ta), aclDestroyTensor(tb), aclDestroyTensor(tc);
    void *all[] = {a, b, c, room, small};
    for (int i = 0; i < 5; i++)
        CHECK_OK(aclrtFree(all[i]));
}

/* A result over its operands needs a temporary, which the workspace holds. It may not lie
 * in a tensor: both are in one block here. */
static void test_in_place(aclrtStream stream) {
    enum { S = 32 };
    char *block = NULL;
    const size_t bytes = S * S * sizeof(float);
    CHECK_OK(aclrtMalloc((void **)&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    float *a = (float *)block, want[S];
    for (int i = 0; i < S * S; i++)
        a[i] = (float)(i % 5);
    for (int j = 0; j < S; j++) {
        want[j] = 0;
        for (int k = 0; k < S; k++)
            want[j] += a[k] * a[k * S + j];
    }
    aclTensor *t = matrix(a, ACL_FLOAT, S, S);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnMatmulGetWorkspaceSize(t, t, t, 0, &size, &e));
    CHECK_ERROR(aclnnMatmul(block + bytes - 64, size, e, stream), ACL_PARAM_INVALID);
    memset(block + bytes, 0, size);
    CHECK_OK(aclnnMatmul(block + bytes, size, e, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    for (int j = 0; j < S; j++)
        CHECK(a[j] == want[j]);
    int written = 0;
    for (size_t i = 64; i < size - 64; i++)
        written |= block[bytes + i];
    CHECK(written != 0); /* the temporary was there */
    aclDestroyTensor(t);
    CHECK_OK(aclrtFree(block));
}

/* A reduction asks for parts of its result, not for copies of what it reads. */
static void test_reduction(void) {
    float a[64 * 64], out[1] = {0};
    for (int i = 0; i < 64 * 64; i++)
        a[i] = 1;
    int64_t axes[2] = {0, 1};
    aclIntArray *dims = aclCreateIntArray(axes, 2);
    aclTensor *t = matrix(a, ACL_FLOAT, 64, 64), *sum = matrix(out, ACL_FLOAT, 1, 1);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnReduceSumGetWorkspaceSize(t, dims, true, ACL_FLOAT, sum, &size, &e));
    CHECK(size > 0 && size < sizeof a);
    CHECK(aclnnReduceSum(NULL, 0, e, NULL) == ACL_PARAM_NULLPTR);
    const char *message = aclGetRecentErrMsg();
    CHECK(message != NULL && strstr(message, "workspace is NULL; it needs") != NULL);
    void *room = malloc(size);
    CHECK_OK(aclnnReduceSum(room, size, e, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(out[0] == 64 * 64);
    free(room);
    aclDestroyTensor(t), aclDestroyTensor(sum);
    aclDestroyIntArray(dims);
}

/* Elementwise operators ask for none, nor does a product of nothing. */
static void test_none(void) {
    float a[4] = {1, 2, 3, 4}, one = 1;
    aclTensor *t = matrix(a, ACL_FLOAT, 2, 2), *empty = matrix(NULL, ACL_FLOAT, 0, 2);
    aclTensor *out = matrix(NULL, ACL_FLOAT, 0, 2);
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t size = 99;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnAddGetWorkspaceSize(t, t, alpha, t, &size, &e));
    CHECK(size == 0);
    CHECK_OK(aclnnAdd(NULL, 0, e, NULL));
    CHECK_OK(aclnnMatmulGetWorkspaceSize(empty, t, out, 0, &size, &e));
    CHECK(size == 0);
    CHECK_OK(aclnnMatmul(NULL, 0, e, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(a[3] == 8);
    aclDestroyTensor(t), aclDestroyTensor(empty), aclDestroyTensor(out);
    aclDestroyScalar(alpha);
}

int main(void) {
    aclrtStream stream;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    test_product(NULL);
    test_product(stream);
    test_in_place(stream);
    test_reduction();
    test_none();
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
