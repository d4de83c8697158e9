/* The thread pool: every chunk once, nested and concurrent regions, fork, changing the
 * width. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#include "device/cpu/threads.h"

enum { CHUNKS = 1000 };

typedef struct {
    atomic_int seen[CHUNKS];
    bool nested;
} region;

static void inner(void *ctx, int64_t chunk) {
    (void)chunk;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void outer(void *ctx, int64_t chunk) {
    region *r = ctx;
    atomic_fetch_add(&r->seen[chunk], 1);
    if (!r->nested) return;
    atomic_int count = 0;
    asn_pool_run(inner, &count, 10, 1e9);
    CHECK(count == 10, "");
}

static void test_region(bool nested) {
    region r = {.nested = nested};
    asn_pool_run(outer, &r, CHUNKS, 1e9);
    for (int i = 0; i < CHUNKS; i++)
        CHECK(r.seen[i] == 1, "");
}

static void *caller(void *arg) {
    for (int i = 0; i < 200; i++)
        test_region(i % 3 == 0);
    return arg;
}

static void test_callers(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, caller, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void test_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        for (int i = 0; i < 20; i++)
            test_region(true);
        _exit(check_failures != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "");
}

static asnd_pool_times times_now(int64_t *busy) {
    asnd_pool_times t;
    int n = asn_pool_watched(&t, busy, 8);
    CHECK(n >= 1 && n <= 8, "");
    return t;
}

static void uneven(void *ctx, int64_t chunk) {
    (void)ctx;
    struct timespec pause = {0, chunk == 0 ? 20000000 : 1000000};
    nanosleep(&pause, NULL);
}

/* One chunk of 20 ms beside five of 1 ms: whoever has it is longer busy than the mean. */
static void test_watch(void) {
    int64_t before[8] = {0}, after[8] = {0}, busy = 0;
    asnd_pool_times a = times_now(before);
    test_region(false);
    CHECK(times_now(before).regions == a.regions, "counted although nobody watches");
    asn_pool_watch(true);
    asn_pool_watch(true);
    asn_pool_watch(false); /* the other one still does */
    asn_pool_run(uneven, NULL, 6, 1e9);
    asn_pool_watch(false);
    asnd_pool_times b = times_now(after);
    for (int i = 0; i < 8; i++)
        busy += after[i] - before[i];
    CHECK(b.regions == a.regions + 1 && b.chunks == a.chunks + 6, "");
    CHECK(b.span_ns - a.span_ns >= 20000000 && busy >= 24000000, "");
    CHECK(busy <= b.room_ns - a.room_ns, "");
    CHECK(b.lost_ns - a.lost_ns > 0 && b.mean_ns > a.mean_ns, "");
    asn_pool_watch(false); /* one too many */
    test_region(false);
    CHECK(times_now(after).regions == b.regions, "");
}

int main(void) {
    int previous = asn_pool_set_threads(3);
    CHECK(previous >= 1, "");
    CHECK(asn_pool_set_threads(4) == 3, "");
    for (int i = 0; i < 300; i++)
        test_region(i % 2);
    test_callers();
    test_watch();
    test_fork();
    asn_pool_set_threads(1);
    CHECK(asn_pool_width(1e9) == 1, "");
    test_region(true);
    asn_pool_set_threads(0);
    CHECK(asn_pool_threads() >= 1, "");
    region none = {.nested = false};
    asn_pool_run(outer, &none, 0, 1e9);
    return check_report("test_cpu_pool");
}
