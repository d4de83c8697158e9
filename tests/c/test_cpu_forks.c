/* fork while another thread is in the middle of something that a lock guards: the child
 * may take that lock, and finds what it guards whole. The other thread does nothing else;
 * without the handlers (base/forks.h) some child of a few hundred waits for ever. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/forks.h"
#include "check.h"
#include "device/cpu/fft/fft_plan.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/fused/prepared_table.h"
#include "ops/added.h"

enum { CHILDREN = 60, MOST_SECONDS = 20 };

static void plans(void) {
    for (int n = 64; n < 68; n++) {
        asnd_fft_plan *p = asn_fft_plan_get(n, 8);
        if (p) asn_fft_plan_release(p);
    }
}

static void code(void) {
    (void)asn_jit_count();
}

static void programs(void) {
    (void)asn_prepared_table_count();
}

static void blas(void) {
    void *symbol;
    if (asn_blas_symbol("cblas_no_such_function", &symbol)) asn_error_clear();
}

static void rows(void) {
    static const asn_added_loop none = {.name = "fork", .num_in = 1, .num_out = 1};
    (void)asn_op_add(&none);
}

/* A lock of this file's, held nearly always; `half` is never seen unequal under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(tested, &lock, ASN_FORK_LEAF)
static int half[2];

static void hold(void) {
    pthread_mutex_lock(&lock);
    CHECK(half[0] == half[1]);
    half[0]++;
    nanosleep(&(struct timespec){0, 200000}, NULL);
    half[1]++;
    pthread_mutex_unlock(&lock);
}

/* One that its holder will not give while the fork waits. */
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(not_given, &kept, ASN_FORK_LEAF)
static atomic_bool stop, is_kept;

static void *keep(void *unused) {
    (void)unused;
    pthread_mutex_lock(&kept);
    atomic_store(&is_kept, true);
    while (!atomic_load(&stop))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    pthread_mutex_unlock(&kept);
    return NULL;
}

static void *again(void *work) {
    while (!atomic_load(&stop))
        (*(void (**)(void))work)();
    return NULL;
}

static bool ends_well(pid_t pid) {
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void check_children(void (*work)(void)) {
    pthread_t thread;
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, again, &work) != 0) return;
    bool good = true;
    for (int i = 0; i < CHILDREN && good; i++) {
        nanosleep(&(struct timespec){0, 1000 * (i % 7)}, NULL);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(MOST_SECONDS);
            check_failures = 0;
            work();
            _exit(check_failures);
        }
        good = pid > 0 && ends_well(pid);
    }
    CHECK(good);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

static void check_the_fork_goes_on(void) {
    pthread_t thread;
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, keep, NULL) != 0) return;
    while (!atomic_load(&is_kept))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(MOST_SECONDS);
        _exit(pthread_mutex_trylock(&kept));
    }
    CHECK(pid > 0 && ends_well(pid));
    CHECK(pthread_mutex_trylock(&kept) != 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

int main(void) {
    void (*const works[])(void) = {plans, code, programs, blas, rows, hold};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        check_children(works[i]);
    check_the_fork_goes_on();
    return check_report("test_cpu_forks");
}
