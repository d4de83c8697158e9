/* L2 graph: the library's lock (see lock.h). */
#include "graph/lock.h"

#include <pthread.h>
#include <stddef.h>

#include "graph/engine.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *owner; /* address of the owning thread's `self`, else NULL */
static int depth;
static _Thread_local char self;

static void *(*hook_enter)(void);
static void (*hook_leave)(void *);

void asn_set_blocking_hooks(void *(*enter)(void), void (*leave)(void *)) {
    hook_enter = enter;
    hook_leave = leave;
}

void *asn_blocking_enter(void) {
    return hook_enter ? hook_enter() : NULL;
}

void asn_blocking_leave(void *state) {
    if (hook_leave && state) hook_leave(state);
}

void asn_lock(void) {
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == &self) {
        depth++;
        return;
    }
    if (pthread_mutex_trylock(&mutex) != 0) {
        void *state = asn_blocking_enter();
        pthread_mutex_lock(&mutex);
        __atomic_store_n(&owner, &self, __ATOMIC_RELAXED);
        depth = 1;
        asn_blocking_leave(state);
        return;
    }
    __atomic_store_n(&owner, &self, __ATOMIC_RELAXED);
    depth = 1;
}

void asn_unlock(void) {
    if (--depth) return;
    __atomic_store_n(&owner, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}
