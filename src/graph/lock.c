/* L2 graph: the library's lock (see lock.h).
 *
 * Without a binding's lock it is a mutex. With one (serial), `owner` is the lock, and a
 * thread that finds it taken lets go of the binding's lock, sleeps until `owner` is NULL,
 * takes the binding's lock again and looks again: the library's lock is only ever taken
 * and given back by a thread that holds the binding's. The mutex and the condition then
 * serve the sleepers alone.
 *
 * Who gives the lock back still holds the binding's, and would take it again before any
 * sleeper has both. So one that has slept PATIENCE_NS is the heir when the lock is given
 * back next: until it comes, or HEIR_NS have passed (a binding that ends lets no thread
 * come), nobody else takes it.
 */
#include "graph/lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "graph/engine.h"
#include "graph/streams.h"
#include "runtime/memory/buffer.h"
#include "runtime/forks.h"
#include "runtime/profile.h"

struct asn_lock_state asn_lock_state;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static void *(*hook_enter)(void);
static void (*hook_leave)(void *);
static int (*hook_held)(void);

/* PATIENCE_NS is Python's own interval between threads. */
enum { PATIENCE_NS = 5000000, HEIR_NS = 100000000 };

/* The sleeper that is the next heir, with since when it has slept, and the heir. They are
 * set with the mutex, and cleared by who takes the lock. */
static const void *eldest, *heir;
static int64_t eldest_since;

static const void *load(const void **at) {
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void store(const void **at, const void *thread) {
    __atomic_store_n(at, thread, __ATOMIC_RELAXED);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The thread that is about to fork: nobody else takes the lock any more. One that took it
 * again and again would else always be in time to be found in the middle of something. */
static const void *forker;

static void choose_way(void) {
    bool quick =
        asn_lock_state.serial && !asn_stream_many && !load(&forker) && !load(&heir);
    /* Looked at without the lock: not touched where it never changes. */
    if (asn_lock_state.quick != quick) asn_lock_state.quick = quick;
}

void asn_lock_refresh(void) {
    choose_way();
}

void asn_set_blocking_hooks(void *(*enter)(void), void (*leave)(void *),
                            int (*held)(void)) {
    hook_enter = enter;
    hook_leave = leave;
    hook_held = held;
    asn_lock_state.serial = asn_buffer_serial = held != NULL;
    if (!asn_lock_state.serial) asn_buffer_set_lock(asn_lock, asn_unlock);
    choose_way();
}

void asn_set_arrival_hook(void (*arrival)(void)) {
    asn_lock_state.arrival = arrival;
}

void *asn_blocking_enter(void) {
    if (ASN_PROFILING && asn_lock_is_mine()) asn_profile_line_hold();
    return hook_enter ? hook_enter() : NULL;
}

void asn_blocking_leave(void *state) {
    if (hook_leave && state) hook_leave(state);
    if (ASN_PROFILING) asn_profile_line_release();
}

/* Whether it is not for the caller, who does not have it. */
static bool is_taken(void) {
    if (asn_lock_owner()) return true;
    const void *only = load(&forker) ? load(&forker) : load(&heir);
    return only && only != asn_lock_self();
}

static void take(void) {
    const void *self = asn_lock_self();
    asn_lock_give_to(self);
    asn_lock_state.depth = 1;
    if (load(&eldest) == self) store(&eldest, NULL);
    if (load(&heir)) store(&heir, NULL);
    if (asn_stream_many)
        asn_streams_arrive();
    else
        choose_way();
}

/* Sleeps until the lock is given back, or its heir has not come in time: it is nobody's
 * then. With the mutex. */
static void wait_freed(void) {
    const void *expected = load(&heir);
    if (asn_lock_owner() || !expected) {
        pthread_cond_wait(&freed, &mutex);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += HEIR_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (pthread_cond_timedwait(&freed, &mutex, &until) == ETIMEDOUT &&
        !asn_lock_owner() && load(&heir) == expected)
        store(&heir, NULL);
}

static void sleep_until_free(int64_t since) {
    asn_lock_state.waiters++;
    void *state = asn_blocking_enter();
    pthread_mutex_lock(&mutex);
    while (is_taken()) {
        if (!load(&eldest) || since < eldest_since) {
            store(&eldest, asn_lock_self());
            eldest_since = since;
        }
        wait_freed();
    }
    pthread_mutex_unlock(&mutex);
    asn_blocking_leave(state);
    asn_lock_state.waiters--;
}

/* The lock is given back, with the mutex: who has slept long has it next. */
static void choose_heir(void) {
    const void *thread = load(&eldest);
    if (!thread || now_ns() - eldest_since < PATIENCE_NS) return;
    store(&heir, thread);
    store(&eldest, NULL);
    choose_way();
}

static void arrive(void) {
    if (asn_lock_state.arrival) asn_lock_state.arrival();
}

void asn_lock_slow(void) {
    if (asn_lock_owner() == asn_lock_self()) {
        asn_lock_state.depth++;
        return;
    }
    if (asn_lock_state.serial) {
        arrive();
        int64_t since = is_taken() ? now_ns() : 0;
        while (is_taken()) {
            sleep_until_free(since);
            arrive(); /* others called meanwhile */
        }
        take();
        return;
    }
    if (pthread_mutex_trylock(&mutex) != 0) {
        void *state = asn_blocking_enter();
        pthread_mutex_lock(&mutex);
        take();
        asn_blocking_leave(state);
    } else {
        take();
    }
    arrive();
}

/* Who wants the lock may have it. */
static void give_back(void) {
    bool serial = asn_lock_state.serial;
    if (serial) pthread_mutex_lock(&mutex);
    asn_lock_give_to(NULL);
    if (serial) {
        choose_heir();
        pthread_cond_broadcast(&freed);
    }
    pthread_mutex_unlock(&mutex);
}

/* What the call raised becomes its thread's: an heir may be in before it asks, also where
 * calls are serial, and would report it as what ran under other modes than its own. */
void asn_unlock_slow(void) {
    if (asn_fp_exceptions) asn_fp_keep_own();
    give_back();
}

int asn_lock_suspend(void) {
    int depth = asn_lock_state.depth;
    if (!asn_lock_state.serial && asn_fp_exceptions) asn_fp_keep_own();
    asn_lock_state.depth = 1;
    give_back();
    return depth;
}

void asn_lock_resume(int depth) {
    asn_lock();
    asn_lock_state.depth = depth;
}

bool asn_lock_is_outermost(void) {
    /* The C binding, which has no hooks, holds the lock from beginning to end. */
    return asn_lock_state.depth <= (hook_enter ? 1 : 2);
}

/* ---- fork
 *
 * The child is one thread: what others were about at that instant nobody ends there. So
 * the lock is taken before, and nobody is in the middle of anything, while the device
 * still goes on (runtime/forks.h). A thread that does not hold the binding's lock cannot
 * wait for this one. */

static _Thread_local bool taken_to_fork;

static void before_fork(void) {
    taken_to_fork = !asn_lock_state.serial || hook_held();
    if (!taken_to_fork) return;
    if (asn_lock_state.serial) store(&forker, asn_lock_self());
    choose_way();
    asn_lock();
}

static void go_on(void) {
    store(&forker, NULL);
    choose_way();
    asn_unlock();
}

static void after_fork_in_parent(void) {
    if (taken_to_fork) go_on();
}

/* Those that slept here are gone, and the mutex may have been theirs for a moment. */
static void after_fork_in_child(void) {
    asn_lock_state.waiters = 0;
    heir = eldest = NULL;
    pthread_cond_init(&freed, NULL);
    pthread_mutex_init(&mutex, NULL);
    if (!taken_to_fork) {
        if (asn_lock_owner() != asn_lock_self()) asn_lock_give_to(NULL);
        return;
    }
    if (!asn_lock_state.serial) pthread_mutex_lock(&mutex);
    go_on();
}

__attribute__((constructor)) static void handle_forks(void) {
    asn_forks_handle(before_fork, after_fork_in_parent, after_fork_in_child);
}
