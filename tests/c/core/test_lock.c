/* The library's lock with a binding that has a lock of its own: who waits for it gets it
 * though another thread takes it over and over, also where the thread whose turn it is
 * never comes, and in the child of a fork.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "graph/engine.h"
#include "graph/lock.h"

/* The binding's lock, which a thread that ends for good does not take again. */
static pthread_mutex_t binding = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool held, ends;

static void take_binding(void) {
    pthread_mutex_lock(&binding);
    held = true;
}

static void give_binding(void) {
    held = false;
    pthread_mutex_unlock(&binding);
}

static void *enter(void) {
    if (!held) return NULL;
    give_binding();
    return &binding;
}

static void leave(void *state) {
    (void)state;
    if (ends) pthread_exit(NULL);
    take_binding();
}

static int is_held(void) {
    return held;
}

static void nap(void) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Works under the library's lock without the binding's, and between two rounds has the
 * binding's all the while, as a loop of single operators does. */
enum { MOST_ROUNDS = 5000 };
static _Atomic int rounds, stopped;

static void *work(void *unused) {
    (void)unused;
    take_binding();
    while (!stopped && rounds < MOST_ROUNDS) {
        asn_lock();
        void *state = asn_blocking_enter();
        nap();
        asn_blocking_leave(state);
        rounds++;
        asn_unlock();
    }
    give_binding();
    return NULL;
}

/* Turns before which others had more rounds than `bound`: a thread waits five
 * milliseconds before it is the next. A few may be late, on a machine that has no time
 * for it. */
static void test_turns(int turns, int bound) {
    int late = 0;
    for (int i = 0; i < turns; i++) {
        take_binding();
        int before = rounds;
        asn_lock();
        late += rounds - before > bound;
        asn_unlock();
        give_binding();
    }
    if (late > turns / 4) printf("%d of %d turns were late\n", late, turns);
    CHECK(late <= turns / 4);
}

static void *never_comes(void *unused) {
    (void)unused;
    ends = true;
    take_binding();
    asn_lock();
    CHECK(!"the thread has ended");
    return NULL;
}

/* A fork while others work: the child has the lock to itself. */
static void test_child(void) {
    take_binding();
    pid_t child = fork();
    if (!child) {
        alarm(20);
        asn_lock();
        asn_unlock();
        _exit(0);
    }
    give_binding();
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    asn_set_blocking_hooks(enter, leave, is_held);
    pthread_t busy[2], gone;
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&busy[i], NULL, work, NULL));
    while (rounds < 5)
        nap();
    test_turns(20, 60);
    test_child();
    CHECK(!pthread_create(&gone, NULL, never_comes, NULL));
    CHECK(!pthread_join(gone, NULL));
    test_turns(20, 60); /* the first is late by a tenth of a second */
    test_child();
    stopped = 1;
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(busy[i], NULL));
    CHECK(rounds < MOST_ROUNDS);
    return finish();
}
