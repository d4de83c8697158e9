/* The C binding from several threads, each with handles and messages of its own; and work
 * of a program's own on the library's stream, in order with the library's, by an event.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "asnumpy/asnumpy.h"

enum { THREADS = 4, ROUNDS = 200, N = 5000 };

static int failures;

static void check(int ok, const char *what) {
    if (ok) return;
    printf("%s (%s)\n", what, asnp_message());
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

static asnp_array *common; /* N ones, which every thread reads */

static asnp_status times(int32_t num_in, asnp_array *const *in, int32_t num_out,
                         asnp_array **out, void *context) {
    (void)num_in, (void)num_out;
    return asnp_binary_number("multiply", in[0], asnp_int(*(int *)context), out);
}

/* An operator for each thread beside one name's ufunc: registered, called, removed. */
static void registry(int k) {
    char name[16];
    snprintf(name, sizeof name, "times%d", k);
    asnp_registration mine = {name, NULL, ASNP_DTYPE_NONE, k,        times,
                              &k,   NULL, "tests",         __FILE__, __LINE__};
    asnp_registration again = mine, found;
    asnp_array *a = NULL, *b = NULL, *c = NULL;
    double element = 0;
    const int64_t first = 0;
    again.name = "square";
    again.priority = -1 - k; /* the table's own is taken before it */
    check(!asnp_register(&mine) && !asnp_register(&again), "register");
    check(asnp_register(&mine) == ASNP_ERROR_RUNTIME, "registered twice");
    check(!asnp_share(common, &a), "share");
    check(!asnp_call(name, 1, &a, 1, &b), "call");
    check(!asnp_get_double(b, &first, &element) && element == k, "another thread's");
    check(!asnp_call("square", 1, &b, 1, &c), "square");
    check(!asnp_get_double(c, &first, &element) && element == k * k, "not the table's");
    check(!asnp_find(name, NULL, ASNP_FLOAT64, &found) && found.context == &k, "find");
    check(!asnp_unregister(name, NULL, ASNP_DTYPE_NONE, k), "unregister");
    check(!asnp_unregister("square", NULL, ASNP_DTYPE_NONE, -1 - k), "unregister");
    asnp_release(a), asnp_release(b), asnp_release(c);
}

/* A little of everything on arrays of the thread's own, and of the common one. */
static void various(int k) {
    const int64_t shape[2] = {40, 50};
    asnp_rng *g = NULL;
    asnp_array *t[9] = {NULL};
    int64_t many = 0;
    double mean = 0;
    check(!asnp_rng_new("PCG64", (uint64_t)k, &g), "rng");
    check(!asnp_rng_random(g, ASNP_FLOAT64, 2, shape, &t[0]), "random");
    check(!asnp_slice(t[0], 0, k, ASNP_END, 2, &t[1]), "slice");
    check(!asnp_assign(t[1], asnp_of_number(asnp_int(2))), "assign");
    check(!asnp_binary_number("equal", t[0], asnp_int(2), &t[2]), "equal");
    check(!asnp_count_nonzero(t[2], 0, NULL, 0, &t[3]), "count");
    check(!asnp_get_int64(t[3], NULL, &many), "get");
    check(many == (40 - k + 1) / 2 * 50, "the count is another thread's");
    check(!asnp_share(common, &t[4]), "share");
    check(!asnp_slice(t[4], 0, 0, 10 * k, 1, &t[5]), "slice");
    check(!asnp_binary_number("multiply", t[5], asnp_int(k), &t[6]), "multiply");
    check(!asnp_mean(t[6], 0, NULL, 0, &t[7]), "mean");
    check(!asnp_get_double(t[7], NULL, &mean), "get");
    check(mean == k, "the mean is another thread's");
    check(!asnp_sort(t[0], 1, &t[8]), "sort");
    for (int i = 0; i < 9; i++)
        asnp_release(t[i]);
    asnp_rng_release(g);
    registry(k);
}

/* sum(k * i) for i < N, recorded and read; and each thread's own failure. */
static void *work(void *argument) {
    int k = *(int *)argument;
    char sentence[64];
    snprintf(sentence, sizeof sentence, "there is no operation 'f%d'", k);
    for (int round = 0; round < ROUNDS; round++) {
        asnp_array *a = NULL, *b = NULL, *c = NULL;
        double sum = 0;
        check(!asnp_arange(asnp_float(0), asnp_float(N), asnp_float(1), ASNP_FLOAT64, &a),
              "arange");
        check(!asnp_binary_number("multiply", a, asnp_int(k), &b), "multiply");
        check(!asnp_sum(b, 0, NULL, 0, &c), "sum");
        check(!asnp_get_double(c, NULL, &sum), "get");
        check(sum == (double)k * N * (N - 1) / 2, "the sum is another thread's");
        check(asnp_unary(sentence + strlen("there is no operation '"), a, &c) != 0,
              "a name that is none");
        check(strncmp(asnp_message(), sentence, strlen(sentence) - 1) == 0,
              "the message is another thread's");
        asnp_release(a);
        asnp_release(b);
        asnp_release(c);
        various(k);
    }
    return NULL;
}

/* Short calls one after the other: threads meet at the library's lock. */
static void *repeats(void *argument) {
    int k = *(int *)argument;
    asnp_array *a = NULL;
    const int64_t n = 3;
    check(!asnp_full(ASNP_FLOAT64, 1, &n, asnp_float(k), &a), "full");
    for (int round = 0; round < 100 * ROUNDS; round++) {
        asnp_array *b = NULL, *c = NULL;
        double sum = 0;
        check(!asnp_repeat(a, k, 0, &b) && !asnp_sum(b, 0, NULL, 0, &c), "repeat");
        check(!asnp_get_double(c, NULL, &sum) && sum == 3 * k * k, "the repeated");
        asnp_release(b), asnp_release(c);
    }
    asnp_release(a);
    return NULL;
}

static void threads(void *(*work)(void *)) {
    const int64_t n = N;
    pthread_t ids[THREADS];
    check(!asnp_ones(ASNP_FLOAT64, 1, &n, &common), "ones");
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        check(pthread_create(&ids[i], NULL, work, &numbers[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    asnp_release(common);
}

/* A copy on a stream of our own that awaits what is recorded; the library then overwrites
 * its source, after the copy. */
static void streams(void) {
    static double copied[N];
    const int64_t n = N;
    asnp_array *a = NULL, *b = NULL;
    void *library = NULL, *address = NULL;
    aclrtStream ours = NULL;
    aclrtEvent done = NULL, read = NULL;
    check(!asnp_full(ASNP_FLOAT64, 1, &n, asnp_float(2), &a), "full");
    check(!asnp_unary("square", a, &b), "square");
    check(!asnp_data(b, &address), "data");
    check(!asnp_stream(&library), "stream");
    check(!aclrtCreateStream(&ours), "a stream");
    check(!aclrtCreateEvent(&done) && !aclrtCreateEvent(&read), "events");
    check(!aclrtRecordEvent(done, library), "record");
    check(!aclrtStreamWaitEvent(ours, done), "wait");
    check(!aclrtMemcpyAsync(copied, sizeof copied, address, sizeof copied,
                            ACL_MEMCPY_DEVICE_TO_HOST, ours),
          "copy");
    check(!aclrtRecordEvent(read, ours), "record");
    check(!aclrtStreamWaitEvent(library, read), "wait");
    check(!asnp_assign(b, asnp_of_number(asnp_int(7))), "assign");
    check(!asnp_synchronize(), "synchronize");
    check(copied[0] == 4 && copied[N - 1] == 4, "the copy came too late");
    check(((double *)address)[N - 1] == 7, "the assignment is lost");
    aclrtDestroyEvent(done);
    aclrtDestroyEvent(read);
    aclrtDestroyStream(ours);
    asnp_release(a);
    asnp_release(b);
}

int main(void) {
    threads(work);
    threads(repeats);
    streams();
    check(!asnp_finalize(), "finalize");
    printf("threads: %s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
