/* L2 graph: the library's lock (see lock.h).
 *
 * Without a face's lock it is a mutex. With one (serial), `owner` is the lock, and a
 * thread that finds it taken lets go of the face's lock, sleeps until `owner` is NULL,
 * takes the face's lock again and looks again: the library's lock is only ever taken and
 * given back by a thread that holds the face's. The mutex and the condition then serve
 * the sleepers alone.
 */
#include "graph/lock.h"

#include <stddef.h>

#include "graph/engine.h"
#include "graph/streams.h"
#include "runtime/buffer.h"

struct asn_lock_state asn_lock_state;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static void *(*hook_enter)(void);
static void (*hook_leave)(void *);
static void (*hook_arrival)(void);

static void choose_way(void) {
    bool quick = asn_lock_state.serial && !hook_arrival && !asn_stream_many;
    /* Looked at without the lock: not touched where it never changes. */
    if (asn_lock_state.quick != quick) asn_lock_state.quick = quick;
}

void asn_lock_refresh(void) {
    choose_way();
}

void asn_set_blocking_hooks(void *(*enter)(void), void (*leave)(void *), bool serial) {
    hook_enter = enter;
    hook_leave = leave;
    asn_lock_state.serial = asn_buffer_serial = serial;
    choose_way();
}

void asn_set_arrival_hook(void (*arrival)(void)) {
    hook_arrival = arrival;
    choose_way();
}

void *asn_blocking_enter(void) {
    return hook_enter ? hook_enter() : NULL;
}

void asn_blocking_leave(void *state) {
    if (hook_leave && state) hook_leave(state);
}

static const void *owner(void) {
    return __atomic_load_n(&asn_lock_state.owner, __ATOMIC_RELAXED);
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
    while (owner())
        pthread_cond_wait(&freed, &mutex);
    pthread_mutex_unlock(&mutex);
    asn_blocking_leave(state);
    asn_lock_state.waiters--;
}

void asn_lock_slow(void) {
    if (owner() == asn_lock_self()) {
        asn_lock_state.depth++;
        return;
    }
    if (hook_arrival) hook_arrival();
    if (asn_lock_state.serial) {
        while (owner()) {
            sleep_until_free();
            if (hook_arrival) hook_arrival(); /* others called meanwhile */
        }
        take();
        return;
    }
    if (pthread_mutex_trylock(&mutex) != 0) {
        void *state = asn_blocking_enter();
        pthread_mutex_lock(&mutex);
        take();
        asn_blocking_leave(state);
        return;
    }
    take();
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
    enum { C_FACE = 1 }; /* its functions hold the lock from beginning to end */
    return asn_lock_state.depth <= (asn_lock_state.serial ? 1 : 1 + C_FACE);
}

void asn_unlock_slow(void) {
    bool serial = asn_lock_state.serial;
    if (serial) pthread_mutex_lock(&mutex);
    __atomic_store_n(&asn_lock_state.owner, NULL, __ATOMIC_RELAXED);
    if (serial) pthread_cond_broadcast(&freed);
    pthread_mutex_unlock(&mutex);
}
