/* A product of matrices for custom_matmul.py: CANN's operator called from C.
 *
 *     cc -O2 -shared -fPIC custom_matmul.c -I$ASCEND_HOME_PATH/include
 * -L$ASCEND_HOME_PATH/lib64 -lopapi -lascendcl -lnnopbase -o libcustom_matmul.so
 *
 * Addresses are the device's. Functions return 0 or CANN's error code, and end when the
 * product is there: they wait for a stream of their own.
 */
#include <acl/acl.h>
#include <aclnnop/aclnn_matmul.h>
#include <stdbool.h>
#include <stdint.h>

#define TRY(call)                                                                        \
    do {                                                                                 \
        int code_ = (call);                                                              \
        if (code_ != 0) return code_;                                                    \
    } while (0)

/* A matrix of rows x columns at `data`, whose rows lie one after the other, or the
 * transpose of such a one. */
static aclTensor *matrix(void *data, int64_t rows, int64_t columns, bool transposed,
                         aclDataType dtype) {
    int64_t shape[2] = {rows, columns};
    int64_t strides[2] = {transposed ? 1 : columns, transposed ? rows : 1};
    int64_t stored = rows * columns;
    return aclCreateTensor(shape, 2, dtype, strides, 0, ACL_FORMAT_ND, &stored, 1, data);
}

static int launch(const aclTensor *a, const aclTensor *b, aclTensor *c, void **workspace,
                  aclrtStream stream) {
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    TRY(aclnnMatmulGetWorkspaceSize(a, b, c, 0, &size, &executor));
    if (size > 0) TRY(aclrtMalloc(workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    TRY(aclnnMatmul(*workspace, size, executor, stream));
    return aclrtSynchronizeStream(stream);
}

/* c = a b, of M x K and K x N; a or b is the transpose of what lies there. */
static int product(void *a, bool ta, void *b, bool tb, void *c, int64_t M, int64_t K,
                   int64_t N, int dtype) {
    aclrtStream stream = NULL;
    void *workspace = NULL;
    TRY(aclrtCreateStream(&stream));
    aclTensor *left = matrix(a, M, K, ta, (aclDataType)dtype);
    aclTensor *right = matrix(b, K, N, tb, (aclDataType)dtype);
    aclTensor *out = matrix(c, M, N, false, (aclDataType)dtype);
    int code = left && right && out ? launch(left, right, out, &workspace, stream) : -1;
    if (left) aclDestroyTensor(left);
    if (right) aclDestroyTensor(right);
    if (out) aclDestroyTensor(out);
    if (workspace) aclrtFree(workspace);
    aclrtDestroyStream(stream);
    return code;
}

/* c[M, N] = a[M, K] b[K, N]; dtype: an aclDataType (0: float32, 1: float16, 27:
 * bfloat16). */
int custom_matmul_forward(void *a, void *b, void *c, int64_t M, int64_t K, int64_t N,
                          int dtype) {
    return product(a, false, b, false, c, M, K, N, dtype);
}

/* grad_a[M, K] = grad_c b^T, grad_b[K, N] = a^T grad_c; either may be NULL. */
int custom_matmul_backward(void *grad_c, void *a, void *b, void *grad_a, void *grad_b,
                           int64_t M, int64_t K, int64_t N, int dtype) {
    if (grad_a) TRY(product(grad_c, false, b, true, grad_a, M, N, K, dtype));
    if (grad_b) TRY(product(a, true, grad_c, false, grad_b, K, M, N, dtype));
    return 0;
}
