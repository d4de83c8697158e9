/* The matrix product sample: float32 and float16 products on two streams that an event
 * orders, with the results checked on the host. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_relu.h"
#include "check.h"

enum { M = 16, K = 32, N = 8, BATCH = 3 };

static aclTensor *matrix(void *data, aclDataType dtype, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols}, strides[2] = {cols, 1};
    return aclCreateTensor(shape, 2, dtype, strides, 0, ACL_FORMAT_ND, shape, 2, data);
}

static float a[BATCH][M][K], b[BATCH][K][N], c[BATCH][M][N];

static double reference(int batch, int i, int j) {
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += (double)a[batch][i][k] * b[batch][k][j];
    return sum;
}

static void fill(void) {
    for (int batch = 0; batch < BATCH; batch++)
        for (int k = 0; k < K; k++) {
            for (int i = 0; i < M; i++)
                a[batch][i][k] = (float)((batch * 11 + i * 79 + k * 31) % 101) / 50 - 1;
            for (int j = 0; j < N; j++)
                b[batch][k][j] = (float)((batch * 7 + k * 53 + j * 17) % 89) / 44 - 1;
        }
}

/* relu(a @ b): the product on one stream, the activation on another. */
static void test_two_streams(void) {
    aclrtStream first, second;
    aclrtEvent made;
    uint64_t size;
    aclOpExecutor *executor;
    CHECK_OK(aclrtCreateStream(&first));
    CHECK_OK(aclrtCreateStream(&second));
    CHECK_OK(aclrtCreateEvent(&made));
    aclTensor *ta = matrix(a, ACL_FLOAT, M, K), *tb = matrix(b, ACL_FLOAT, K, N);
    aclTensor *tc = matrix(c, ACL_FLOAT, M, N);
    int8_t keep_dtype = 0;
    CHECK_OK(aclnnMatmulGetWorkspaceSize(ta, tb, tc, keep_dtype, &size, &executor));
    CHECK_OK(aclnnMatmul(NULL, size, executor, first));
    CHECK_OK(aclrtRecordEvent(made, first));
    CHECK_OK(aclrtStreamWaitEvent(second, made));
    CHECK_OK(aclnnInplaceReluGetWorkspaceSize(tc, &size, &executor));
    CHECK_OK(aclnnInplaceRelu(NULL, size, executor, second));
    CHECK_OK(aclrtSynchronizeStream(first));
    CHECK_OK(aclrtSynchronizeStream(second));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            CHECK(fabs(c[0][i][j] - fmax(reference(0, i, j), 0)) < 1e-4);
    CHECK_OK(aclDestroyTensor(ta));
    CHECK_OK(aclDestroyTensor(tb));
    CHECK_OK(aclDestroyTensor(tc));
    CHECK_OK(aclrtDestroyEvent(made));
    CHECK_OK(aclrtDestroyStream(first));
    CHECK_OK(aclrtDestroyStream(second));
}

/* float16 operands made with aclnnCast, a float16 product, compared within its precision.
 */
static void test_half(void) {
    static aclFloat16 ha[M][K], hb[K][N], hc[M][N];
    uint64_t size;
    aclOpExecutor *executor;
    aclTensor *ta = matrix(a, ACL_FLOAT, M, K), *tb = matrix(b, ACL_FLOAT, K, N);
    aclTensor *tha = matrix(ha, ACL_FLOAT16, M, K), *thb = matrix(hb, ACL_FLOAT16, K, N);
    aclTensor *thc = matrix(hc, ACL_FLOAT16, M, N);
    CHECK_OK(aclnnCastGetWorkspaceSize(ta, ACL_FLOAT16, tha, &size, &executor));
    CHECK_OK(aclnnCast(NULL, size, executor, NULL));
    CHECK_OK(aclnnCastGetWorkspaceSize(tb, ACL_FLOAT16, thb, &size, &executor));
    CHECK_OK(aclnnCast(NULL, size, executor, NULL));
    CHECK_OK(aclnnMmGetWorkspaceSize(tha, thb, thc, 1, &size, &executor));
    CHECK_OK(aclnnMm(NULL, size, executor, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            CHECK(fabs(aclFloat16ToFloat(hc[i][j]) - reference(0, i, j)) < 0.03);
    aclTensor *tensors[] = {ta, tb, tha, thb, thc};
    for (int i = 0; i < 5; i++)
        CHECK_OK(aclDestroyTensor(tensors[i]));
}

static void test_batch(void) {
    int64_t sa[3] = {BATCH, M, K}, sb[3] = {BATCH, K, N}, sc[3] = {BATCH, M, N};
    uint64_t size;
    aclOpExecutor *executor;
    aclTensor *ta = aclCreateTensor(sa, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, sa, 3, a);
    aclTensor *tb = aclCreateTensor(sb, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, sb, 3, b);
    aclTensor *tc = aclCreateTensor(sc, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, sc, 3, c);
    CHECK_OK(aclnnBatchMatMulGetWorkspaceSize(ta, tb, tc, 0, &size, &executor));
    CHECK_OK(aclnnBatchMatMul(NULL, size, executor, NULL));
    CHECK_OK(aclrtSynchronizeDevice());
    for (int k = 0; k < BATCH; k++)
        for (int i = 0; i < M; i++)
            CHECK(fabs(c[k][i][N - 1] - reference(k, i, N - 1)) < 1e-4);
    CHECK_ERROR(aclnnBatchMatMulGetWorkspaceSize(ta, ta, tc, 0, &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
    CHECK_OK(aclDestroyTensor(ta));
    CHECK_OK(aclDestroyTensor(tb));
    CHECK_OK(aclDestroyTensor(tc));
}

/* Products need a BLAS library, which the package ships: says so when there is none. */
static bool has_blas(void) {
    uint64_t size;
    aclOpExecutor *executor;
    aclTensor *ta = matrix(a, ACL_FLOAT, M, K), *tb = matrix(b, ACL_FLOAT, K, N);
    aclTensor *tc = matrix(c, ACL_FLOAT, M, N);
    CHECK_OK(aclnnMmGetWorkspaceSize(ta, tb, tc, 0, &size, &executor));
    CHECK_OK(aclnnMm(NULL, size, executor, NULL));
    aclError code = aclrtSynchronizeStream(NULL);
    const char *message = code ? aclGetRecentErrMsg() : NULL;
    bool absent = message != NULL && strstr(message, "no BLAS library") != NULL;
    if (absent) fprintf(stderr, "skipped: %s\n", message);
    CHECK(code == ACL_SUCCESS || absent);
    CHECK_OK(aclDestroyTensor(ta));
    CHECK_OK(aclDestroyTensor(tb));
    CHECK_OK(aclDestroyTensor(tc));
    return !absent;
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    fill();
    if (!has_blas()) return check_failures ? 1 : 77;
    test_two_streams();
    test_half();
    test_batch();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
