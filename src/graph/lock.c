/* L2 graph: the library's lock (see lock.h).
 *
 * Without a binding's lock it is a mutex. With one (serial), `owner` is the lock, and a
 * thread that finds it taken lets go of the binding's lock, sleeps until `owner` is NULL,
 * takes the binding's lock again and looks again: the library's lock is only ever taken
 * and given back by a thread that holds the binding's. The mutex and the condition then
 * serve the sleepers alone.
 */
#include "graph/lock.h"

#include <stddef.h>

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

/* The thread that is about to fork: nobody else takes the lock any more. One that took it
 * again and again would else always be in time to be found in the middle of something. */
static const void *forker;

static const void *forking(void) {
    return __atomic_load_n(&forker, __ATOMIC_RELAXED);
}

static void choose_way(void) {
    bool quick = asn_lock_state.serial && !asn_stream_many && !forking();
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

static const void *owner(void) {
    return __atomic_load_n(&asn_lock_state.owner, __ATOMIC_RELAXED);
}

/* Whether it is not for the caller, who does not have it. */
static bool is_taken(void) {
    return owner() || (forking() && forking() != asn_lock_self());
}

static void take(void) {
    __atomic_store_n(&asn_lock_state.owner, asn_lock_self(), __ATOMIC_RELAXED);
    asn_lock_state.depth = 1;
    if (asn_stream_many)
        asn_streams_arrive();
    else
        choose_way();
}

static void sleep_until_free(void) {
    asn_lock_state.waiters++;
    void *state = asn_blocking_enter();
    pthread_mutex_lock(&mutex);
    while (is_taken())
        pthread_cond_wait(&freed, &mutex);
    pthread_mutex_unlock(&mutex);
    asn_blocking_leave(state);
    asn_lock_state.waiters--;
}

static void arrive(void) {
    if (asn_lock_state.arrival) asn_lock_state.arrival();
}

void asn_lock_slow(void) {
    if (owner() == asn_lock_self()) {
        asn_lock_state.depth++;
        return;
    }
    if (asn_lock_state.serial) {
        arrive();
        while (is_taken()) {
            sleep_until_free();
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

int asn_lock_suspend(void) {
    int depth = asn_lock_state.depth;
    asn_lock_state.depth = 1;
    asn_unlock_slow();
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
    if (asn_lock_state.serial)
        __atomic_store_n(&forker, asn_lock_self(), __ATOMIC_RELAXED);
    choose_way();
    asn_lock();
}

static void go_on(void) {
    __atomic_store_n(&forker, NULL, __ATOMIC_RELAXED);
    choose_way();
    asn_unlock();
}

static void after_fork_in_parent(void) {
    if (taken_to_fork) go_on();
}

/* Those that slept here are gone, and the mutex may have been theirs for a moment. */
static void after_fork_in_child(void) {
    asn_lock_state.waiters = 0;
    pthread_cond_init(&freed, NULL);
    pthread_mutex_init(&mutex, NULL);
    if (!taken_to_fork) {
        if (owner() != asn_lock_self()) asn_lock_state.owner = NULL;
        return;
    }
    if (!asn_lock_state.serial) pthread_mutex_lock(&mutex);
    go_on();
}

__attribute__((constructor)) static void handle_forks(void) {
    asn_forks_handle(before_fork, after_fork_in_parent, after_fork_in_child);
}

void asn_unlock_slow(void) {
    bool serial = asn_lock_state.serial;
    if (!serial && asn_fp_exceptions) asn_fp_keep_own();
    if (serial) pthread_mutex_lock(&mutex);
    __atomic_store_n(&asn_lock_state.owner, NULL, __ATOMIC_RELAXED);
    if (serial) pthread_cond_broadcast(&freed);
    pthread_mutex_unlock(&mutex);
}
