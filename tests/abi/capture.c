/* A stream's tasks captured and run again: order, copies, operators, lifetimes, errors.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Two streams that join a capture, one by the other, and return: the order of the events
 * holds whichever stream the model runs on. */
static void test_streams_that_join(void) {
    enum { N = 1000 };
    static float a[N], b[N], c[N], d[N];
    aclrtStream origin = NULL, second = NULL, third = NULL;
    aclrtEvent fork = NULL, deep = NULL, back = NULL, unused = NULL;
    aclmdlRI graph = NULL, inside = NULL;
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    uint32_t id = 0, other_id = 0;
    CHECK_OK(aclrtCreateStream(&origin));
    CHECK_OK(aclrtCreateStream(&second));
    CHECK_OK(aclrtCreateStream(&third));
    aclrtEvent *events[] = {&fork, &deep, &back, &unused};
    for (int i = 0; i < 4; i++)
        CHECK_OK(aclrtCreateEvent(events[i]));
    CHECK_OK(aclmdlRICaptureBegin(origin, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    launch_add(origin, a, a, b, N, NULL);
    CHECK_OK(aclrtRecordEvent(fork, origin));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclmdlRICaptureGetInfo(second, &status, &inside));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE && inside != NULL);
    CHECK_OK(aclmdlRIGetId(inside, &id));
    CHECK_ERROR(aclrtSynchronizeStream(second), ACL_ERROR_API_NOT_SUPPORT);
    launch_add(second, b, a, c, N, NULL);
    CHECK_OK(aclrtRecordEvent(deep, second));
    CHECK_OK(aclrtStreamWaitEvent(third, deep));
    launch_add(third, c, c, d, N, NULL);
    CHECK_OK(aclrtRecordEvent(back, third));
    CHECK_ERROR(aclmdlRICaptureEnd(third, &graph), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclrtStreamWaitEvent(origin, back)); /* second is behind third */
    launch_add(origin, d, b, d, N, NULL);
    CHECK_OK(aclmdlRICaptureEnd(origin, &graph));
    CHECK(graph == inside);
    CHECK_OK(aclmdlRICaptureGetInfo(third, &status, &inside));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE && inside == NULL);
    for (int round = 1; round < 4; round++) {
        for (int i = 0; i < N; i++)
            a[i] = (float)(i * round);
        CHECK_OK(aclmdlRIExecuteAsync(graph, round == 2 ? second : origin));
        CHECK_OK(aclrtSynchronizeStream(round == 2 ? second : origin));
        int wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += d[i] != 8 * (float)(i * round);
        CHECK(!wrong);
    }
    /* A join whose tasks nobody waits for. What was kept is dropped, and all is as it
     * was. */
    CHECK_OK(aclmdlRICaptureBegin(origin, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(fork, origin));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclrtRecordEvent(back, second));
    CHECK_OK(aclrtStreamWaitEvent(origin, back));
    launch_add(second, b, a, c, N, NULL); /* behind the return */
    CHECK_ERROR(aclmdlRICaptureEnd(origin, &inside), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_OK(aclrtSynchronizeStream(second));
    /* An event of a capture that is over, and two captures at a time. */
    CHECK_OK(aclmdlRICaptureBegin(origin, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureBegin(second, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(unused, origin));
    CHECK_ERROR(aclrtStreamWaitEvent(second, unused), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
    CHECK_OK(aclrtStreamWaitEvent(third, unused));
    CHECK_OK(aclrtDestroyStream(third)); /* a member that goes away did not return */
    CHECK_ERROR(aclmdlRICaptureEnd(origin, &inside), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_OK(aclmdlRICaptureEnd(second, &inside));
    CHECK_OK(aclmdlRIGetId(inside, &other_id));
    CHECK(id != other_id);
    CHECK_OK(aclmdlRIDestroy(inside));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_ERROR(aclmdlRIGetId(graph, &id), ACL_ERROR_RT_INVALID_HANDLE);
    for (int i = 0; i < 4; i++)
        CHECK_OK(aclrtDestroyEvent(*events[i]));
    CHECK_OK(aclrtDestroyStream(origin));
    CHECK_OK(aclrtDestroyStream(second));
}

static uint64_t *counted, left;

static void count_down(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    *counted = --left;
}

/* A model whose body is one host function; graph: where it was captured. */
static void capture_body(aclrtStream stream, aclmdlRI body, void (*function)(void *),
                         void *arg) {
    aclmdlRI graph = NULL;
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(stream, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtLaunchHostFunc(stream, function, arg));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK(graph == body);
}

/* if, while and switch, by values that tasks of the model write. */
static void test_conditions(void) {
    enum { SWITCHES = 3 };
    aclrtStream stream = NULL, inner = NULL;
    aclmdlRI graph = NULL, ifs[2] = {NULL}, loop[1] = {NULL}, cases[SWITCHES] = {NULL};
    aclmdlRICondHandle choose = NULL, again = NULL, which = NULL;
    uint64_t *value = NULL, *number = NULL, picked = 1, chosen = 0;
    int seen[2 + SWITCHES];
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&inner));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    aclmdlRICaptureStatus status;
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    CHECK_OK(aclmdlRICondHandleCreate(graph, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT,
                                      &choose));
    CHECK_OK(aclmdlRICondHandleCreate(graph, 3, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT,
                                      &again));
    CHECK_OK(aclmdlRICondHandleCreate(graph, 1, (aclmdlRICondHandleFlag)0, &which));
    CHECK_OK(aclmdlRICondHandleGetCondPtr(choose, &value));
    CHECK_OK(aclmdlRICondHandleGetCondPtr(again, &counted));
    CHECK_OK(aclmdlRICondHandleGetCondPtr(which, &number));
    CHECK(*number == 1);
    CHECK_OK(aclrtMemcpyAsync(value, sizeof *value, &chosen, sizeof chosen,
                              ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclrtMemcpyAsync(number, sizeof *number, &picked, sizeof picked,
                              ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    aclmdlRICondTaskParams branch = {choose, ACL_MODEL_RI_COND_TYPE_IF, 2, ifs};
    aclmdlRICondTaskParams repeat = {again, ACL_MODEL_RI_COND_TYPE_WHILE, 1, loop};
    aclmdlRICondTaskParams pick = {which, ACL_MODEL_RI_COND_TYPE_SWITCH, SWITCHES, cases};
    CHECK_OK(aclmdlRIAddCondTask(branch, stream, 0));
    CHECK_OK(aclmdlRIAddCondTask(repeat, stream, 0));
    CHECK_OK(aclmdlRIAddCondTask(pick, stream, 0));
    CHECK_ERROR(aclmdlRIAddCondTask(branch, inner, 0), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRIAddCondTask(branch, stream, 1), ACL_ERROR_INVALID_PARAM);
    repeat.size = 2;
    CHECK_ERROR(aclmdlRIAddCondTask(repeat, stream, 0), ACL_ERROR_INVALID_PARAM);
    for (int i = 0; i < 2; i++)
        capture_body(inner, ifs[i], count, &seen[i]);
    capture_body(inner, loop[0], count_down, NULL);
    for (int i = 0; i < SWITCHES - 1; i++) /* the last stays empty */
        capture_body(inner, cases[i], count, &seen[2 + i]);
    CHECK_ERROR(
        aclmdlRICaptureToModelRIBegin(inner, ifs[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
        ACL_ERROR_RT_MODEL_CAPTURED);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_ERROR(aclmdlRIExecuteAsync(ifs[0], stream), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclmdlRIDestroy(ifs[0]), ACL_ERROR_API_NOT_SUPPORT);
    for (uint64_t round = 0; round < 5; round++) {
        atomic_store(&calls, 0);
        for (int i = 0; i < 2 + SWITCHES; i++)
            seen[i] = -1;
        chosen = round % 2;
        picked = round;
        left = 3;
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(seen[0] == (chosen ? 0 : -1) && seen[1] == (chosen ? -1 : 0));
        CHECK(seen[2] == (picked == 0 ? 4 : -1) && seen[3] == (picked == 1 ? 4 : -1));
        CHECK(atomic_load(&calls) == 4 + (picked < 2) && left == 0);
    }
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_ERROR(aclmdlRICondHandleGetCondPtr(choose, &value),
                ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(
        aclmdlRICaptureToModelRIBegin(inner, ifs[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
        ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(inner));
}

/* A model that ends before a body of it does; what is outside of a capture. */
static void test_conditions_that_are_refused(void) {
    aclrtStream stream = NULL, inner = NULL;
    aclmdlRI graph = NULL, body = NULL, ended = NULL;
    aclmdlRICondHandle handle = NULL;
    aclmdlRICaptureStatus status;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&inner));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    CHECK_ERROR(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)2, &handle),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)0, &handle));
    aclmdlRICondTaskParams params = {handle, ACL_MODEL_RI_COND_TYPE_IF, 1, &body};
    CHECK_OK(aclmdlRIAddCondTask(params, stream, 0));
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(inner, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &ended), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_ERROR(aclmdlRICaptureEnd(inner, &ended), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)0, &handle),
                ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclmdlRICondHandleGetCondPtr(NULL, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_ERROR(aclmdlRICondHandleCreate(graph, 0, (aclmdlRICondHandleFlag)0, &handle),
                ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(inner));
}

static atomic_bool entered, allowed, gave_up;

/* On the device until the host allows it to go on, for 5 seconds at most. */
static void linger(void *arg) {
    (void)arg;
    atomic_store(&entered, true);
    for (int i = 0; i < 5000 && !atomic_load(&allowed); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    atomic_store(&gave_up, !atomic_load(&allowed));
}

/* Waiting for an event of a model that runs does not wait for the model's end. */
static void test_events_beside_a_run(void) {
    aclrtStream stream = NULL, other = NULL;
    aclrtEvent event = NULL;
    aclmdlRI graph = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_ERROR(aclrtSynchronizeEventWithTimeout(event, 100), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_OK(aclrtLaunchHostFunc(stream, linger, NULL));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_ERROR(aclrtSynchronizeEventWithTimeout(event, 1),
                ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    while (!atomic_load(&entered))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK_OK(aclrtStreamWaitEvent(other, event));
    CHECK_OK(aclrtSynchronizeStream(other));
    atomic_store(&allowed, true);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(!atomic_load(&gave_up));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(other));
}

/* The records of a capture that came to nothing keep nobody waiting. */
static void test_events_of_no_capture(void) {
    aclrtStream stream = NULL, second = NULL;
    aclrtEvent event = NULL, fork = NULL;
    aclmdlRI graph = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&second));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtCreateEvent(&fork));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtRecordEvent(fork, stream));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_OK(aclrtSynchronizeEventWithTimeout(event, 1000));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtSynchronizeEventWithTimeout(event, 1000));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyEvent(fork));
    CHECK_OK(aclrtDestroyStream(second));
}

/* A model that is being captured into `stream`, with a condition's body. */
static void begin_with_body(aclrtStream stream, aclmdlRI *body) {
    aclmdlRI graph = NULL;
    aclmdlRICondHandle handle = NULL;
    aclmdlRICaptureStatus status;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    CHECK_OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT,
                                      &handle));
    aclmdlRICondTaskParams params = {handle, ACL_MODEL_RI_COND_TYPE_IF, 1, body};
    CHECK_OK(aclmdlRIAddCondTask(params, stream, 0));
}

/* A model whose body's capture came to nothing is none; one that has ended takes no
 * body any more. */
static void test_bodies_that_fail(void) {
    aclrtStream stream = NULL, inner = NULL, second = NULL;
    aclrtEvent fork = NULL;
    aclmdlRI graph = NULL, body = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&inner));
    CHECK_OK(aclrtCreateStream(&second));
    CHECK_OK(aclrtCreateEvent(&fork));
    begin_with_body(stream, &body);
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(inner, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtRecordEvent(fork, inner));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_ERROR(aclmdlRICaptureEnd(inner, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    begin_with_body(stream, &body);
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(inner, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtLaunchHostFunc(inner, count, NULL));
    CHECK_OK(aclrtDestroyStream(inner));
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    begin_with_body(stream, &body);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_ERROR(
        aclmdlRICaptureToModelRIBegin(second, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
        ACL_ERROR_RT_MODEL_CAPTURED);
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyEvent(fork));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(second));
}

/* A loop in a branch, captured before the branch's end or behind it; the outermost model
 * cannot end while the loop is being captured. */
static void test_conditions_in_conditions(bool behind) {
    aclrtStream stream = NULL, inner = NULL, deep = NULL;
    aclmdlRI graph = NULL, body = NULL, loop = NULL;
    aclmdlRICondHandle again = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateStream(&inner));
    CHECK_OK(aclrtCreateStream(&deep));
    begin_with_body(stream, &body);
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(inner, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICondHandleCreate(body, 3, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT,
                                      &again));
    CHECK_OK(aclmdlRICondHandleGetCondPtr(again, &counted));
    aclmdlRICondTaskParams repeat = {again, ACL_MODEL_RI_COND_TYPE_WHILE, 1, &loop};
    CHECK_OK(aclmdlRIAddCondTask(repeat, inner, 0));
    if (!behind) capture_body(deep, loop, count_down, NULL);
    CHECK_OK(aclmdlRICaptureEnd(inner, &graph));
    if (behind) capture_body(deep, loop, count_down, NULL);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    for (int round = 0; round < 3; round++) {
        left = 3;
        atomic_store(&calls, 0);
        CHECK_OK(aclmdlRIExecuteAsync(graph, inner));
        CHECK_OK(aclrtSynchronizeStream(inner));
        CHECK(atomic_load(&calls) == 3 && left == 0);
    }
    CHECK_OK(aclmdlRIDestroy(graph));
    begin_with_body(stream, &body);
    CHECK_OK(
        aclmdlRICaptureToModelRIBegin(inner, body, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclmdlRICondHandleCreate(body, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT,
                                      &repeat.handle));
    CHECK_OK(aclmdlRIAddCondTask(repeat, inner, 0));
    CHECK_OK(aclmdlRICaptureEnd(inner, &graph));
    CHECK_OK(aclmdlRICaptureToModelRIBegin(deep, loop, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_ERROR(aclmdlRICaptureEnd(stream, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK_ERROR(aclmdlRICaptureEnd(deep, &graph), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStream(inner));
    CHECK_OK(aclrtDestroyStream(deep));
}

/* A capture that is open at a fork is one in the child, too. */
static void test_fork(void) {
    aclrtStream stream = NULL;
    aclmdlRI graph = NULL;
    char to[4] = "old";
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    pid_t child = fork();
    if (child == 0) alarm(10);
    CHECK_OK(aclrtMemcpyAsync(to, 4, "new", 4, ACL_MEMCPY_DEFAULT, stream));
    CHECK(strcmp(to, "old") == 0);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(strcmp(to, "new") == 0);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));
    if (child == 0) _exit(check_done());
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Two threads end one capture: one of them has it. */
static atomic_int at_the_end, ended;

static void *end_capture(void *stream) {
    aclmdlRI graph = NULL;
    atomic_fetch_add(&at_the_end, 1);
    while (atomic_load(&at_the_end) < 2)
        ;
    aclError code = aclmdlRICaptureEnd(stream, &graph);
    CHECK(code == ACL_SUCCESS || code == ACL_ERROR_API_NOT_SUPPORT);
    if (code != ACL_SUCCESS) return NULL;
    atomic_fetch_add(&ended, 1);
    CHECK_OK(aclmdlRIDestroy(graph));
    return NULL;
}

/* What was given back once is given out once: two captures have two models. */
static void two_models(void) {
    aclrtStream stream[2] = {NULL, NULL};
    aclmdlRI graph[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(aclrtCreateStream(&stream[i]));
        CHECK_OK(aclmdlRICaptureBegin(stream[i], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(aclmdlRICaptureEnd(stream[i], &graph[i]));
    CHECK(graph[0] != graph[1]);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(aclmdlRIDestroy(graph[i]));
        CHECK_OK(aclrtDestroyStream(stream[i]));
    }
}

static void test_two_ends(void) {
    for (int i = 0; i < 300; i++) {
        aclrtStream stream = NULL;
        pthread_t other;
        atomic_store(&at_the_end, 0);
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
        if (pthread_create(&other, NULL, end_capture, stream) != 0) return;
        (void)end_capture(stream);
        pthread_join(other, NULL);
        CHECK(atomic_exchange(&ended, 0) == 1);
        CHECK_OK(aclrtDestroyStream(stream));
        two_models();
    }
}

/* A thread runs the model that another one destroys: it runs, or is refused. */
static void *run_model(void *graph) {
    aclrtStream stream = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    atomic_fetch_add(&at_the_end, 1);
    while (atomic_load(&at_the_end) < 2)
        ;
    aclError code = aclmdlRIExecuteAsync(graph, stream);
    CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
    return NULL;
}

static void test_run_and_destroy(void) {
    aclrtStream stream = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 300; i++) {
        aclmdlRI graph = NULL;
        pthread_t other;
        atomic_store(&at_the_end, 0);
        CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
        CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
        if (pthread_create(&other, NULL, run_model, graph) != 0) return;
        atomic_fetch_add(&at_the_end, 1);
        while (atomic_load(&at_the_end) < 2)
            ;
        CHECK_OK(aclmdlRIDestroy(graph));
        pthread_join(other, NULL);
        two_models();
    }
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
    test_streams_that_join();
    test_conditions();
    test_conditions_that_are_refused();
    test_events_beside_a_run();
    test_events_of_no_capture();
    test_bodies_that_fail();
    test_conditions_in_conditions(false);
    test_conditions_in_conditions(true);
    test_two_ends();
    test_run_and_destroy();
    test_errors();
    test_fork();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
