/* L2 graph: the library's one lock, recursive, and the hooks of a binding with a global
 * lock of its own.
 *
 * Order: a thread that must wait for this lock first lets go of the binding's lock
 * (hooks.enter), so that the holder, which may be waiting for the binding's lock, can go
 * on.
 *
 * A binding that promises to hold its global lock whenever it calls the library
 * (`serial`) makes an uncontended lock two plain stores: every change of `owner` then
 * happens under the binding's lock. A binding whose settings depend on who calls is asked
 * at each call (asn_set_arrival_hook); others do not pay for it.
 */
#ifndef ASN_GRAPH_LOCK_H
#define ASN_GRAPH_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* Who calls. A thread-local's address would do; in a library that is a call of more. */
static inline const void *asn_lock_self(void) {
    return (const void *)pthread_self();
}

/* Of lock.c; here so that asn_lock costs no other call. */
extern struct asn_lock_state {
    const void *owner; /* asn_lock_self() of the thread that has it, else NULL */
    int depth, waiters;
    bool serial;
    bool quick;            /* serial, and one stream */
    void (*arrival)(void); /* NULL, or the binding that is asked at each call */
} asn_lock_state;

void asn_lock_slow(void);
void asn_unlock_slow(void);

/* The thread that has it, which a sleeper looks at without the binding's lock: whole, in
 * no order with anything else. */
static inline const void *asn_lock_owner(void) {
    return __atomic_load_n(&asn_lock_state.owner, __ATOMIC_RELAXED);
}
static inline void asn_lock_give_to(const void *thread) {
    __atomic_store_n(&asn_lock_state.owner, thread, __ATOMIC_RELAXED);
}

/* Whether a function needs no lock that neither waits nor calls what may: who calls holds
 * the binding's lock all the while, and nobody has the library's. */
static inline bool asn_lock_is_idle(void) {
    struct asn_lock_state *s = &asn_lock_state;
    if (__builtin_expect(!s->quick || asn_lock_owner(), 0)) return false;
    if (!s->arrival) return true;
    s->arrival(); /* may wait */
    return __builtin_expect(s->quick && !asn_lock_owner(), 1);
}

static inline void asn_lock(void) {
    struct asn_lock_state *s = &asn_lock_state;
    if (asn_lock_is_idle()) {
        asn_lock_give_to(asn_lock_self());
        s->depth = 1;
    } else {
        asn_lock_slow();
    }
}

static inline void asn_unlock(void) {
    struct asn_lock_state *s = &asn_lock_state;
    if (s->depth > 1)
        s->depth--;
    else if (__builtin_expect(s->serial && !s->waiters, 1))
        asn_lock_give_to(NULL);
    else
        asn_unlock_slow();
}

/* Around a look at what others change with the lock held. A thread that holds the
 * binding's lock needs no other for it. */
static inline void asn_look_begin(void) {
    if (__builtin_expect(!asn_lock_state.serial, 0)) asn_lock_slow();
}
static inline void asn_look_end(void) {
    if (__builtin_expect(!asn_lock_state.serial, 0)) asn_unlock();
}

/* The lock's way is found anew: there are several streams now. Held. */
void asn_lock_refresh(void);
/* Whether the caller holds it. */
static inline bool asn_lock_is_mine(void) {
    return asn_lock_owner() == asn_lock_self();
}
/* Lets go of the lock however often it is held, and takes it again as often. */
int asn_lock_suspend(void);
void asn_lock_resume(int depth);
/* Whether the holder took it no oftener than a function of the binding does, so that a
 * wait may let go of it. */
bool asn_lock_is_outermost(void);

/* Around long work, with asn_lock held: other threads of the binding may run meanwhile.
 */
void *asn_blocking_enter(void);
void asn_blocking_leave(void *state);

#endif
