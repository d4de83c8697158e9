/* Streams of the C binding: what one stream writes another reads, from one thread and
 * from several; memory that changes hands while streams use it; events before they are
 * recorded; cycles of waits; batches. Built and run under the thread and the address
 * sanitizer too, and on the test device that delays launches. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_index.h"
#include "asnumpy/asnumpy.h"

enum { STREAMS = 3, ROUNDS = 60, N = 60000, JOBS = 12 };

static int failures;

static void check(int ok, const char *what) {
    if (ok) return;
    printf("%s (%s)\n", what, asnp_message());
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

static int says(const char *text) {
    return strstr(asnp_message(), text) != NULL;
}

static double first(const asnp_array *a) {
    const int64_t at = 0;
    double value = -1;
    check(!asnp_get_double(a, &at, &value), "get");
    return value;
}

static asnp_array *full(double value) {
    const int64_t n = N;
    asnp_array *a = NULL;
    check(!asnp_full(ASNP_FLOAT64, 1, &n, asnp_float(value), &a), "full");
    return a;
}

static void current(asnp_stream_handle *s) {
    check(!asnp_stream_set_current(s), "set_current");
}

/* x = 2 x + 1 in place, each round on the next stream, and temporaries whose memory the
 * next stream wants. */
static void in_turn(void) {
    asnp_stream_handle *s[STREAMS];
    asnp_array *x = full(0);
    double want = 0;
    for (int i = 0; i < STREAMS; i++)
        check(!asnp_stream_new(i, NULL, &s[i]), "new");
    for (int round = 0; round < ROUNDS; round++) {
        asnp_array *t = NULL, *u = NULL;
        current(s[round % STREAMS]);
        check(!asnp_binary_number("multiply", x, asnp_int(round % 2 ? 2 : 1), &t), "t");
        check(!asnp_binary_number("add", t, asnp_int(1), &u), "u");
        check(!asnp_assign(x, asnp_of(u)), "assign");
        asnp_release(t), asnp_release(u);
        want = (round % 2 ? 2 : 1) * want + 1;
        if (want > 1e9) {
            check(first(x) == want, "the streams' order is lost");
            check(!asnp_assign(x, asnp_of_number(asnp_int(0))), "assign");
            want = 0;
        }
    }
    current(NULL);
    check(first(x) == want, "the streams' order is lost at the end");
    asnp_release(x);
    for (int i = 0; i < STREAMS; i++)
        asnp_stream_release(s[i]);
}

/* ---- threads */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    asnp_array *array;
    int turn;
} ball = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0};

/* Threads pass an array on, each with a stream of its own: nobody waits for a stream. */
static void *player(void *argument) {
    int k = *(int *)argument;
    asnp_stream_handle *mine = NULL;
    asnp_array *own = NULL;
    check(!asnp_stream_new(0, NULL, &mine), "new");
    current(mine);
    own = full(k);
    for (int round = 0; round < ROUNDS; round++) {
        asnp_array *t = NULL, *next = NULL;
        pthread_mutex_lock(&ball.lock);
        while (ball.turn % STREAMS != k)
            pthread_cond_wait(&ball.changed, &ball.lock);
        check(!asnp_add(ball.array, own, &t), "add");
        check(!asnp_binary_number("subtract", t, asnp_int(k - 1), &next), "subtract");
        asnp_release(ball.array), asnp_release(t);
        ball.array = next;
        ball.turn++;
        pthread_cond_broadcast(&ball.changed);
        pthread_mutex_unlock(&ball.lock);
        check(!asnp_binary_number("multiply", own, asnp_int(1), &t), "work of one's own");
        if (round % 16 == 0) check(first(t) == k, "another thread's memory");
        asnp_release(t);
    }
    asnp_release(own);
    current(NULL);
    asnp_stream_release(mine);
    return NULL;
}

static void threads(void) {
    pthread_t ids[STREAMS];
    int numbers[STREAMS];
    ball.array = full(0);
    for (int k = 0; k < STREAMS; k++) {
        numbers[k] = k;
        check(!pthread_create(&ids[k], NULL, player, &numbers[k]), "pthread_create");
    }
    for (int k = 0; k < STREAMS; k++)
        pthread_join(ids[k], NULL);
    check(first(ball.array) == STREAMS * ROUNDS, "a round is lost");
    asnp_release(ball.array);
}

/* ---- events */

static void *recorder(void *argument) {
    asnp_event *event = argument;
    asnp_stream_handle *s = NULL;
    check(!asnp_stream_get_current(&s), "get_current");
    check(strcmp(asnp_stream_name(s), "default") == 0, "a new thread's stream");
    check(!asnp_event_record(event, s), "record");
    asnp_stream_release(s);
    return NULL;
}

static void events(void) {
    asnp_stream_handle *s = NULL, *t = NULL;
    asnp_event *a = NULL, *b = NULL, *c = NULL, *later = NULL;
    int32_t reached = 1;
    double ms = -1;
    check(!asnp_stream_new(0, "s", &s) && !asnp_stream_new(0, "t", &t), "new");
    check(!asnp_event_new(0, NULL, 1, "a", &a) && !asnp_event_new(0, NULL, 1, "b", &b),
          "event_new");
    check(!asnp_event_query(a, &reached) && !reached, "an event that was not recorded");
    check(!asnp_event_synchronize(a) && !asnp_stream_wait_event(s, a), "passes at once");
    check(!asnp_event_record(a, s), "record");
    current(s);
    asnp_array *x = full(1), *y = NULL;
    check(!asnp_unary("sin", x, &y), "sin");
    current(NULL);
    check(!asnp_event_record(b, s) && !asnp_event_synchronize(b), "record");
    check(!asnp_event_elapsed(a, b, &ms) && ms >= 0, "elapsed");
    check(!asnp_event_query(b, &reached) && reached, "query");
    check(!asnp_stream_synchronize(s), "synchronize");
    check(!asnp_stream_query(s, &reached) && reached, "query");
    asnp_event_release(a), asnp_event_release(b);
    asnp_release(x), asnp_release(y);

    /* a cycle: t waits for a, which s records; s would wait for b, which t records */
    check(!asnp_event_new(1, s, 0, "a", &a) && !asnp_event_new(1, t, 0, "b", &b), "new");
    check(!asnp_stream_wait_event(t, a), "wait");
    check(asnp_stream_wait_event(s, b) == ASNP_ERROR_RUNTIME &&
              says("deadlock: s would wait for b, which t is to record; t waits for a, "
                   "which s is to record"),
          "the cycle");
    check(asnp_event_record(a, t) == ASNP_ERROR_RUNTIME && says("made for s"), "whose");
    check(!asnp_stream_query(t, &reached) && !reached, "t is held up");
    check(!asnp_stream_wait(s, t) || says("deadlock"),
          "what s would record comes after t");
    check(!asnp_event_record(a, s) && !asnp_stream_synchronize(t), "it goes on");

    /* one that another thread records, while the host waits */
    pthread_t other;
    check(!asnp_event_new(1, NULL, 0, "later", &later), "new");
    check(!asnp_stream_wait_event(s, later), "wait");
    check(!pthread_create(&other, NULL, recorder, later), "pthread_create");
    check(!asnp_stream_synchronize(s) && !asnp_event_synchronize(later), "wait");
    pthread_join(other, NULL);

    /* one that goes away */
    check(!asnp_event_new(1, t, 0, "gone", &c) && !asnp_stream_wait_event(s, c), "wait");
    asnp_event_release(c);
    check(asnp_stream_synchronize(s) == ASNP_ERROR_RUNTIME &&
              says("s waited for gone, which was never recorded"),
          "gone");
    check(!asnp_stream_synchronize(s), "once");
    asnp_event_release(a), asnp_event_release(b), asnp_event_release(later);
    asnp_stream_release(s), asnp_stream_release(t);
}

/* ---- failed tasks */

/* A task that fails: the fourth of three elements. */
static void fail_on(void *stream) {
    static double data[3], picked;
    static int64_t at = 3;
    const int64_t three = 3, one = 1;
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *from = aclCreateTensor(&three, 1, ACL_DOUBLE, &one, 0, ACL_FORMAT_ND,
                                      &three, 1, data),
              *to = aclCreateTensor(&one, 1, ACL_DOUBLE, &one, 0, ACL_FORMAT_ND, &one, 1,
                                    &picked),
              *which = aclCreateTensor(&one, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &one,
                                       1, &at);
    const aclTensor *list[] = {which};
    aclTensorList *indices = aclCreateTensorList(list, 1);
    check(!aclnnIndexGetWorkspaceSize(from, indices, to, &size, &executor) && !size,
          "plan");
    check(!aclnnIndex(NULL, 0, executor, stream), "aclnnIndex");
    aclDestroyTensor(from), aclDestroyTensor(to), aclDestroyTensorList(indices);
}

static void fail_behind(asnp_stream_handle *s) {
    void *stream = NULL;
    check(!asnp_stream_acl(s, &stream), "acl");
    fail_on(stream);
}

static void errors(void) {
    asnp_stream_handle *bad = NULL, *good = NULL;
    asnp_array *x = full(1), *y = NULL, *z = NULL;
    double value;
    const int64_t at = 5;
    check(!asnp_stream_new(0, "bad", &bad) && !asnp_stream_new(0, NULL, &good), "new");
    fail_behind(bad);
    current(good);
    check(!asnp_unary("negative", x, &y) && first(y) == -1, "another stream's work");
    check(!asnp_stream_synchronize(good), "another stream's failure");
    check(asnp_stream_synchronize(bad) && says("bad: aclnnIndex") &&
              says("index 3 is out"),
          "the failure of the stream");
    check(!asnp_stream_synchronize(bad), "the failure comes once");
    fail_behind(bad);
    current(bad);
    check(!asnp_unary("negative", x, &z), "the stream goes on");
    check(asnp_get_double(z, &at, &value) && says("aclnnIndex"), "a read tells");
    check(!asnp_get_double(z, &at, &value) && value == -1, "once");
    current(NULL);
    asnp_release(x), asnp_release(y), asnp_release(z);
    asnp_stream_release(bad), asnp_stream_release(good);
}

/* While there is one stream, what writes from the host waits for it, and tells what
 * failed there. */
static void filled_behind(void) {
    static const double data[2] = {1, 2};
    const int64_t n = 2;
    void *stream = NULL;
    asnp_array *a = NULL;
    check(!asnp_synchronize() && !asnp_stream(&stream), "the only stream");
    fail_on(stream);
    check(asnp_from_host(ASNP_FLOAT64, 1, &n, NULL, data, &a) && !a && says("aclnnIndex"),
          "a copy from the host tells");
    check(!asnp_from_host(ASNP_FLOAT64, 1, &n, NULL, data, &a) && first(a) == 1, "once");
    asnp_release(a);
}

/* ---- batches */

typedef struct {
    int k, fails;
    double sum;
} job;

static asnp_status sum_of_powers(void *context) {
    job *j = context;
    asnp_array *a = full(j->k), *b = NULL, *s = NULL;
    asnp_status status = asnp_multiply(a, a, &b);
    for (int i = 0; i < 3 && !status; i++) {
        asnp_array *c = NULL;
        status = asnp_multiply(b, a, &c);
        asnp_release(b);
        b = c;
    }
    if (!status) status = asnp_sum(b, 0, NULL, 0, &s);
    if (!status) status = asnp_get_double(s, NULL, &j->sum);
    if (!status && j->fails) status = asnp_unary("no operation", a, &b);
    asnp_release(a), asnp_release(b), asnp_release(s);
    return status;
}

static void batches(void) {
    job jobs[JOBS];
    void *contexts[JOBS];
    int32_t failed = 7;
    for (int k = 0; k < JOBS; k++) {
        jobs[k] = (job){k, 0, -1};
        contexts[k] = &jobs[k];
    }
    check(!asnp_batch(JOBS, sum_of_powers, contexts, STREAMS, &failed), "batch");
    check(failed == -1, "no job failed");
    for (int k = 0; k < JOBS; k++)
        check(jobs[k].sum == (double)N * k * k * k * k * k, "another job's sum");
    jobs[2].fails = 1;
    check(asnp_batch(JOBS, sum_of_powers, contexts, 1, &failed) && failed == 2 &&
              says("no operation"),
          "the failing job");
    check(asnp_batch(1, sum_of_powers, contexts, 0, NULL) == ASNP_ERROR_VALUE, "streams");
    check(!asnp_batch(0, sum_of_powers, NULL, 1, NULL), "no jobs");
}

int main(void) {
    filled_behind();
    for (int i = 0; i < 3; i++) {
        in_turn();
        threads();
        events();
        errors();
        batches();
    }
    check(!asnp_finalize(), "finalize");
    in_turn(); /* the device opens again */
    check(!asnp_finalize(), "finalize");
    printf("streams: %s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
