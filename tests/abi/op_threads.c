/* Operators from several threads at once, on streams of their own and on one they share.
 */
#include <pthread.h>
#include <stdint.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "check.h"

enum { THREADS = 4, ROUNDS = 300, SMALL = 33, LARGE = 300000 };

static aclrtStream shared;

typedef struct {
    int number;
    double *data; /* x, y, sum: LARGE each */
    float *narrow;
} job;

static aclTensor *vector(void *data, aclDataType dtype, int64_t n) {
    return aclCreateTensor(&n, 1, dtype, NULL, 0, ACL_FORMAT_ND, &n, 1, data);
}

/* sum = x + 2 * y, narrow = (float)sum */
static void round_trip(const job *j, aclrtStream stream, int64_t n) {
    double two = 2;
    uint64_t size;
    aclOpExecutor *add, *cast;
    aclTensor *x = vector(j->data, ACL_DOUBLE, n),
              *y = vector(j->data + LARGE, ACL_DOUBLE, n);
    aclTensor *sum = vector(j->data + 2 * LARGE, ACL_DOUBLE, n);
    aclTensor *narrow = vector(j->narrow, ACL_FLOAT, n);
    aclScalar *alpha = aclCreateScalar(&two, ACL_DOUBLE);
    CHECK_OK(aclnnAddGetWorkspaceSize(x, y, alpha, sum, &size, &add));
    CHECK_OK(aclnnAdd(NULL, size, add, stream));
    CHECK_OK(aclnnCastGetWorkspaceSize(sum, ACL_FLOAT, narrow, &size, &cast));
    CHECK_OK(aclnnCast(NULL, size, cast, stream));
    CHECK_OK(aclDestroyTensor(x));
    CHECK_OK(aclDestroyTensor(y));
    CHECK_OK(aclDestroyTensor(sum));
    CHECK_OK(aclDestroyTensor(narrow));
    CHECK_OK(aclDestroyScalar(alpha));
}

static void *work(void *arg) {
    const job *j = arg;
    aclrtStream own;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&own));
    for (int i = 0; i < ROUNDS; i++) {
        int64_t n = i % 50 == 0 ? LARGE : SMALL;
        aclrtStream stream = i % 3 == 0 ? shared : own;
        for (int64_t k = 0; k < n; k += SMALL - 1) {
            j->data[k] = i;
            j->data[LARGE + k] = j->number;
        }
        round_trip(j, stream, n);
        CHECK_OK(aclrtSynchronizeStream(stream));
        for (int64_t k = 0; k < n; k += SMALL - 1)
            CHECK(j->narrow[k] == (float)(i + 2 * j->number));
    }
    CHECK_OK(aclrtDestroyStream(own));
    CHECK_OK(aclrtResetDevice(0));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    job jobs[THREADS];
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&shared));
    for (int i = 0; i < THREADS; i++) {
        void *data = NULL, *narrow = NULL;
        size_t size = 3 * LARGE * sizeof(double);
        CHECK_OK(aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(data, size, 0, size));
        CHECK_OK(aclrtMalloc(&narrow, LARGE * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
        jobs[i] = (job){i, data, narrow};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_OK(aclrtFree(jobs[i].data));
        CHECK_OK(aclrtFree(jobs[i].narrow));
    }
    CHECK_OK(aclrtDestroyStream(shared));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
