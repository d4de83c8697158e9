/* Order: tasks of a stream, events between streams, callbacks, timeouts, many threads at
 * once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static atomic_int gate, counter;

static void wait_gate(void *arg) {
    (void)arg;
    while (atomic_load(&gate) == 0)
        usleep(200);
}

static void append(void *arg) {
    int *to = arg;
    *to = atomic_fetch_add(&counter, 1);
}

static void test_order(void) {
    enum { N = 200 };
    aclrtStream stream = NULL;
    int got[N];
    CHECK_OK(aclrtCreateStream(&stream));
    atomic_store(&gate, 0);
    atomic_store(&counter, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    for (int i = 0; i < N; i++)
        CHECK_OK(aclrtLaunchHostFunc(stream, append, &got[i]));
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
    CHECK_ERROR(aclrtSynchronizeStreamWithTimeout(stream, 5),
                ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    /* A copy behind the gate must not overtake. */
    int early = 1, late = 2;
    CHECK_OK(aclrtMemcpyAsync(&early, sizeof early, &late, sizeof late,
                              ACL_MEMCPY_HOST_TO_HOST, stream));
    CHECK(early == 1);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(early == 2);
    for (int i = 0; i < N; i++)
        CHECK(got[i] == i);
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    /* Idle again: done at once, before any synchronisation. */
    int now = 0;
    CHECK_OK(aclrtMemcpyAsync(&now, sizeof now, &late, sizeof late,
                              ACL_MEMCPY_HOST_TO_HOST, stream));
    CHECK(now == 2);
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_events(void) {
    aclrtStream first = NULL, second = NULL;
    aclrtEvent start = NULL, end = NULL;
    int order[2] = {-1, -1};
    CHECK_OK(aclrtCreateStream(&first));
    CHECK_OK(aclrtCreateStreamWithConfig(&second, 0, ACL_STREAM_FAST_LAUNCH));
    CHECK_OK(aclrtCreateEvent(&start));
    CHECK_OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
    atomic_store(&gate, 0);
    atomic_store(&counter, 0);
    CHECK_OK(aclrtRecordEvent(start, first));
    CHECK_OK(aclrtLaunchHostFunc(first, wait_gate, NULL));
    CHECK_OK(aclrtLaunchHostFunc(first, append, &order[0]));
    CHECK_OK(aclrtRecordEvent(end, first));
    CHECK_OK(aclrtStreamWaitEvent(second, end));
    CHECK_OK(aclrtLaunchHostFunc(second, append, &order[1]));
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    CHECK_OK(aclrtQueryEventStatus(end, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_ERROR(aclrtSynchronizeEventWithTimeout(end, 5),
                ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    usleep(2000);
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeEvent(end));
    CHECK_OK(aclrtSynchronizeStream(second));
    CHECK(order[0] == 0 && order[1] == 1);
    float ms = -1;
    CHECK_OK(aclrtEventElapsedTime(&ms, start, end));
    CHECK(ms >= 1.5f && ms < 60000);
    CHECK_OK(aclrtQueryEventStatus(end, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    /* Destroying an event that a stream still needs is fine. */
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(first, wait_gate, NULL));
    CHECK_OK(aclrtRecordEvent(end, first));
    CHECK_OK(aclrtStreamWaitEvent(second, end));
    CHECK_OK(aclrtDestroyEvent(end));
    atomic_store(&gate, 1);
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtDestroyEvent(start));
    CHECK_OK(aclrtDestroyStream(first));
    CHECK_OK(aclrtDestroyStream(second));
}

static atomic_int stop_reports;
static pthread_t report_thread;

static void *process_reports(void *arg) {
    (void)arg;
    while (!atomic_load(&stop_reports))
        (void)aclrtProcessReport(20);
    return NULL;
}

static void count_callback(void *arg) {
    CHECK(pthread_equal(pthread_self(), report_thread));
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void test_callbacks(void) {
    aclrtStream stream = NULL;
    atomic_int calls = 0;
    int order = -1;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_ERROR(aclrtLaunchCallback(count_callback, &calls, ACL_CALLBACK_BLOCK, stream),
                ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    CHECK_ERROR(aclrtProcessReport(1), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    CHECK(pthread_create(&report_thread, NULL, process_reports, NULL) == 0);
    CHECK_OK(aclrtSubscribeReport((uint64_t)report_thread, stream));
    CHECK_ERROR(aclrtSubscribeReport((uint64_t)report_thread, stream),
                ACL_ERROR_REPEAT_SUBSCRIBE);
    atomic_store(&counter, 0);
    for (int i = 0; i < 50; i++)
        CHECK_OK(aclrtLaunchCallback(count_callback, &calls,
                                     i % 2 ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK,
                                     stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, append, &order));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(atomic_load(&calls) == 50 && order == 0);
    CHECK_OK(aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    CHECK_ERROR(aclrtUnSubscribeReport((uint64_t)report_thread, stream),
                ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    atomic_store(&stop_reports, 1);
    pthread_join(report_thread, NULL);
    CHECK_OK(aclrtDestroyStream(stream));
}

/* Several threads use one stream and streams of their own. */
static aclrtStream shared_stream;

static void *hammer(void *arg) {
    int64_t *sum = arg, one = 1, got = 0;
    aclrtStream own = NULL;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&own));
    for (int i = 0; i < 400; i++) {
        CHECK_OK(aclrtMemcpyAsync(&got, sizeof got, &one, sizeof one, ACL_MEMCPY_DEFAULT,
                                  i % 2 ? own : shared_stream));
        if (i % 7 == 0) {
            int ignored;
            CHECK_OK(aclrtLaunchHostFunc(own, append, &ignored));
            CHECK_OK(aclrtSynchronizeStream(own));
        }
        CHECK_OK(aclrtSynchronizeStream(i % 2 ? own : shared_stream));
        *sum += got;
    }
    CHECK_OK(aclrtDestroyStream(own));
    CHECK_OK(aclrtResetDevice(0));
    return NULL;
}

static void test_threads(void) {
    enum { N = 4 };
    pthread_t threads[N];
    int64_t sums[N] = {0};
    CHECK_OK(aclrtCreateStream(&shared_stream));
    for (int i = 0; i < N; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, &sums[i]) == 0);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        CHECK(sums[i] == 400);
    }
    CHECK_OK(aclrtDestroyStream(shared_stream));
}

static void test_abort(void) {
    aclrtStream stream = NULL;
    int ran = -1;
    CHECK_OK(aclrtCreateStream(&stream));
    atomic_store(&gate, 0);
    CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
    usleep(2000); /* the worker is inside */
    CHECK_OK(aclrtLaunchHostFunc(stream, append, &ran));
    atomic_store(&gate, 1);
    CHECK_OK(aclrtDestroyStreamForce(stream));
}

enum { MANY = 300000 };

static atomic_int launched, ran;

static void count(void *arg) {
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static void *launch_many(void *arg) {
    CHECK_OK(aclrtSetDevice(0));
    for (int i = 0; i < MANY; i++) {
        CHECK_OK(aclrtLaunchHostFunc(arg, count, NULL));
        atomic_fetch_add(&launched, 1);
    }
    CHECK_OK(aclrtResetDevice(0));
    return NULL;
}

/* Until nothing has been launched for a while since the first one; a busy machine may
 * take its time to start the thread. */
static int launches_so_far(void) {
    enum { QUIET = 20, PATIENCE = 4000 }; /* times 5 ms */
    int before = -1, now;
    for (int quiet = 0, waits = 0; quiet < QUIET && waits < PATIENCE; waits++) {
        now = atomic_load(&launched);
        quiet = now > 0 && now == before ? quiet + 1 : 0;
        before = now;
        usleep(5000);
    }
    return before;
}

/* A full queue holds the caller, and loses nothing; an abort lets the caller go on. */
static void test_full_queue(void) {
    aclrtStream stream = NULL;
    pthread_t thread;
    CHECK_OK(aclrtCreateStream(&stream));
    for (int aborted = 0; aborted < 2; aborted++) {
        atomic_store(&gate, 0);
        atomic_store(&launched, 0);
        atomic_store(&ran, 0);
        CHECK_OK(aclrtLaunchHostFunc(stream, wait_gate, NULL));
        CHECK(pthread_create(&thread, NULL, launch_many, stream) == 0);
        int held = launches_so_far();
        CHECK(held > 0 && held < MANY);
        CHECK(atomic_load(&ran) == 0);
        atomic_store(&gate, 1);
        if (aborted) CHECK_OK(aclrtStreamAbort(stream));
        pthread_join(thread, NULL);
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK(atomic_load(&launched) == MANY);
        CHECK(aborted ? atomic_load(&ran) <= MANY : atomic_load(&ran) == MANY);
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_order();
    test_events();
    test_callbacks();
    test_threads();
    test_abort();
    test_full_queue();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
