/* A stream's tasks captured and run again: order, copies, operators, lifetimes, errors.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "check.h"

static atomic_int calls;

static void count(void *arg) {
    *(int *)arg = atomic_fetch_add(&calls, 1);
}

static aclTensor *tensor(float *data, int64_t n) {
    int64_t stride = 1;
    return aclCreateTensor(&n, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &n, 1, data);
}

/* out = a + b, launched on the stream. */
static void launch_add(aclrtStream stream, float *a, float *b, float *out, int64_t n,
                       aclOpExecutor **kept) {
    float one = 1;
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    aclTensor *x = tensor(a, n), *y = tensor(b, n), *z = tensor(out, n);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnAddGetWorkspaceSize(x, y, alpha, z, &size, &e));
    if (kept != NULL) CHECK_OK(aclSetAclOpExecutorRepeatable(e));
    if (kept != NULL) *kept = e;
    CHECK_OK(aclnnAdd(NULL, size, e, stream));
    aclDestroyScalar(alpha);
    aclDestroyTensor(x);
    aclDestroyTensor(y);
    aclDestroyTensor(z);
}

static void test_operators(void) {
    enum { N = 1000 };
    static float a[N], b[N], sum[N], twice[N], copy[N];
    aclrtStream stream = NULL, other = NULL;
    aclmdlRI graph = NULL;
    aclOpExecutor *kept = NULL;
    int first = -1;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    launch_add(stream, a, b, sum, N, NULL);
    launch_add(stream, sum, sum, twice, N, &kept);
    CHECK_OK(aclrtMemcpyAsync(copy, sizeof copy, twice, sizeof twice,
                              ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, count, &first));
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, NULL));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    CHECK_ERROR(aclrtSynchronizeStream(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(first == -1);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++)
            a[i] = (float)(i + round), b[i] = (float)(2 * i);
        CHECK_OK(aclmdlRIExecuteAsync(graph, round & 1 ? stream : other));
        CHECK_OK(aclrtSynchronizeStream(round & 1 ? stream : other));
        int wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += copy[i] != 2 * (float)(3 * i + round);
        CHECK(!wrong && first == round);
    }
    CHECK_OK(aclmdlRIDebugPrint(graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclmdlRIDestroy(graph)); /* the run that is queued still happens */
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(atomic_load(&calls) == 6);
    CHECK_ERROR(aclmdlRIExecuteAsync(graph, stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclmdlRIDestroy(graph), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclDestroyAclOpExecutor(kept));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(other));
}

static void test_events(void) {
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclmdlRI graph = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtStreamWaitEvent(stream, event));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void nothing(void *arg) {
    (void)arg;
}

static void test_errors(void) {
    aclrtStream stream = NULL;
    aclmdlRI graph = NULL, inside = NULL;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_ERROR(aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)3),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureEnd(stream, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclmdlRIExecuteAsync(NULL, stream), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclmdlRIExecuteAsync(&status, stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &inside));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE && inside == NULL);
    CHECK_OK(aclmdlRICaptureThreadExchangeMode(&mode));
    CHECK(mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_ERROR(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &inside));
    CHECK_ERROR(aclmdlRIExecuteAsync(inside, NULL), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRIDestroy(inside), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclrtLaunchHostFunc(stream, nothing, NULL));
    /* Destroying a captured stream forgets what it kept. */
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_ERROR(aclmdlRIExecuteAsync(inside, NULL), ACL_ERROR_RT_INVALID_HANDLE);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_operators();
    test_events();
    test_errors();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
