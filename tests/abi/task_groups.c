/* Groups of a captured model's tasks, which are replaced between runs and during one;
 * events by which a model meets what is launched elsewhere; errors and lifetimes. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "check.h"

enum { N = 1000 };
static float a[N], b[N], c[N], sum[N], twice[N];

static aclTensor *tensor(float *data) {
    const int64_t n = N, stride = 1;
    return aclCreateTensor(&n, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &n, 1, data);
}

/* out = x + times * y, launched on the stream. */
static void launch_add(aclrtStream stream, float *x, float *y, float times, float *out) {
    aclScalar *alpha = aclCreateScalar(&times, ACL_FLOAT);
    aclTensor *p = tensor(x), *q = tensor(y), *r = tensor(out);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnAddGetWorkspaceSize(p, q, alpha, r, &size, &e));
    CHECK_OK(aclnnAdd(NULL, size, e, stream));
    aclDestroyScalar(alpha);
    aclDestroyTensor(p);
    aclDestroyTensor(q);
    aclDestroyTensor(r);
}

static void fill(void) {
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 1, c[i] = (float)(3 * i), sum[i] = twice[i] = -1;
}

/* Whether twice is 2 (a + times * y). */
static bool right(const float *y, float times) {
    for (int i = 0; i < N; i++)
        if (twice[i] != 2 * (a[i] + times * y[i])) return false;
    return true;
}

/* sum = a + b in a group, twice = sum + sum behind it; an external event, if there is
 * one, is waited for and reset first. */
static aclmdlRI capture(aclrtStream stream, aclrtEvent event, aclrtTaskGrp *group) {
    aclmdlRI graph = NULL;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    if (event != NULL) CHECK_OK(aclrtStreamWaitEvent(stream, event));
    if (event != NULL) CHECK_OK(aclrtResetEvent(event, stream));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    launch_add(stream, a, b, 1, sum);
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, group));
    launch_add(stream, sum, sum, 1, twice);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

static void update(aclrtStream stream, aclrtTaskGrp group, float *y, float times) {
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
    launch_add(stream, a, y, times, sum);
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(stream));
}

static void test_between_runs(void) {
    aclrtStream stream = NULL, other = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    fill();
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    aclmdlRI graph = capture(stream, NULL, &group), told = graph;
    for (int round = 0; round < 2; round++) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(right(b, 1));
    }
    for (int round = 2; round < 20; round++) {
        float *y = round % 3 ? c : b;
        aclrtStream where = round % 2 ? stream : other;
        update(where, group, y, (float)round);
        if (where == other) CHECK_OK(aclrtSynchronizeStream(other));
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(right(y, (float)round));
    }
    /* While a stream takes an update it is not captured, and runs nothing. */
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(other, group));
    CHECK_OK(aclmdlRICaptureGetInfo(other, &status, &told));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE && told == NULL);
    launch_add(other, a, b, 7, sum);
    CHECK(right(c, 19));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(other));
    CHECK_OK(aclmdlRIDestroy(graph)); /* the queued update ends with the group */
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_ERROR(aclmdlRICaptureTaskUpdateBegin(other, group),
                ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(other));
}

/* The model waits for an external event, the update is launched meanwhile. */
static void test_during_a_run(void) {
    aclrtStream stream = NULL, other = NULL;
    aclrtEvent event = NULL;
    aclrtTaskGrp group = NULL;
    fill();
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
    aclmdlRI graph = capture(stream, event, &group);
    for (int round = 1; round < 20; round++) {
        const bool before = round % 4 == 0; /* the update, and not the run */
        if (!before) CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        if (round % 4 == 1) nanosleep(&(struct timespec){0, 2000000}, NULL);
        update(other, group, c, (float)round);
        CHECK_OK(aclrtRecordEvent(event, other));
        if (before) CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(right(c, (float)round));
    }
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclrtRecordEvent(event, other));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    /* A run that nobody lets go on ends with its stream's tasks. */
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    nanosleep(&(struct timespec){0, 2000000}, NULL);
    CHECK_ERROR(aclrtStreamAbort(stream),
                ACL_ERROR_FAILURE); /* what the run ended with */
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(other));
}

static aclrtTaskGrp shared_group;
static aclmdlRI shared_graph;

static void *update_again_and_again(void *arg) {
    aclrtStream stream = NULL;
    (void)arg;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 300; i++)
        update(stream, shared_group, i % 2 ? b : c, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    return NULL;
}

static void *run_again_and_again(void *arg) {
    aclrtStream stream = NULL;
    (void)arg;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 300; i++)
        CHECK_OK(aclmdlRIExecuteAsync(shared_graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    return NULL;
}

/* Each run has one of the lists, whole, whoever replaces them meanwhile. */
static void test_threads(void) {
    aclrtStream stream = NULL;
    pthread_t threads[4];
    fill();
    CHECK_OK(aclrtCreateStream(&stream));
    shared_graph = capture(stream, NULL, &shared_group);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL,
                             i % 2 ? update_again_and_again : run_again_and_again,
                             NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(aclmdlRIExecuteAsync(shared_graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(right(b, 1) || right(c, 1));
    CHECK_OK(aclmdlRIDestroy(shared_graph));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_groups_of_several(void) {
    aclrtStream stream = NULL;
    aclrtTaskGrp first = NULL, second = NULL, none = NULL;
    aclmdlRI graph = NULL;
    fill();
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    launch_add(stream, a, b, 1, sum);
    launch_add(stream, sum, b, 1, sum);
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &first));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    CHECK_OK(aclrtMemcpyAsync(twice, sizeof twice, sum, sizeof sum,
                              ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &second));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &none));
    launch_add(stream, twice, twice, 1, twice);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(right(b, 2));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, second));
    CHECK_OK(aclrtMemcpyAsync(twice, sizeof twice, a, sizeof a,
                              ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(stream));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, none));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(stream));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(right(b, 0));
    /* As many tasks, and of the same kinds. */
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, first));
    launch_add(stream, a, c, 1, sum);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateEnd(stream), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, second));
    launch_add(stream, a, c, 1, sum);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateEnd(stream), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, none));
    launch_add(stream, a, c, 1, sum);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateEnd(stream), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_errors(void) {
    aclrtStream stream = NULL, other = NULL;
    aclrtEvent event = NULL;
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_ERROR(aclmdlRICaptureTaskGrpBegin(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureTaskGrpEnd(stream, &group), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureTaskGrpEnd(stream, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateBegin(stream, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateBegin(stream, stream),
                ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateEnd(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_ERROR(aclmdlRICaptureTaskGrpEnd(stream, &group), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureTaskUpdateEnd(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    CHECK_ERROR(aclmdlRICaptureTaskGrpBegin(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtRecordEvent(event, stream), ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    CHECK_ERROR(aclrtStreamWaitEvent(stream, event), ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    CHECK_ERROR(aclrtResetEvent(event, stream), ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    launch_add(stream, a, b, 1, sum);
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    CHECK_ERROR(aclmdlRICaptureTaskUpdateBegin(stream, group),
                ACL_ERROR_API_NOT_SUPPORT); /* the stream is captured */
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
    CHECK_ERROR(aclmdlRICaptureTaskUpdateBegin(stream, group), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRICaptureTaskGrpBegin(stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtRecordEvent(event, stream), ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    launch_add(stream, a, b, 1, sum);
    CHECK_OK(aclrtDestroyStream(stream)); /* in the midst of an update */
    CHECK_OK(aclmdlRIExecuteAsync(graph, other));
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclmdlRICaptureBegin(other, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(other));
    launch_add(other, a, b, 1, sum);
    CHECK_ERROR(aclmdlRICaptureEnd(other, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_OK(aclmdlRICaptureBegin(other, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(other));
    launch_add(other, a, b, 1, sum);
    CHECK_OK(aclrtDestroyStream(other)); /* in the midst of a group */
    CHECK_OK(aclrtDestroyEvent(event));
}

/* A child has the groups of before, in the state in which they were. */
static void test_fork(void) {
    aclrtStream stream = NULL;
    aclrtTaskGrp group = NULL;
    fill();
    CHECK_OK(aclrtCreateStream(&stream));
    aclmdlRI graph = capture(stream, NULL, &group);
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
    pid_t child = fork();
    if (child == 0) alarm(10);
    launch_add(stream, a, c, 5, sum);
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(stream));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(right(c, 5));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
    if (child == 0) _exit(check_done());
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_between_runs();
    test_during_a_run();
    test_threads();
    test_groups_of_several();
    test_errors();
    test_fork();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
