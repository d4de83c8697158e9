/* The thread pool: every chunk once, nested and concurrent regions, fork, changing the
 * width. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
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

int main(void) {
    int previous = asn_pool_set_threads(3);
    CHECK(previous >= 1, "");
    CHECK(asn_pool_set_threads(4) == 3, "");
    for (int i = 0; i < 300; i++)
        test_region(i % 2);
    test_callers();
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
