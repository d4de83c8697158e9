/* L0 base: the locks that a fork waits for.
 *
 * The child of a fork is one thread. A mutex that another thread held at that instant
 * stays locked there, and what it guards is half changed: so a fork takes every mutex of
 * the library first, and parent and child give them back. A file names its own, once:
 *
 *     static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
 *     ASN_FORK_TAKES(table, &lock, ASN_FORK_LEAF)
 *
 * They are taken after the locks that the library's other fork handlers take, so none of
 * those may be asked for with one of these held. A fork waits some seconds at most, since
 * holding one may mean waiting for the fork: C libraries before glibc 2.36 let nobody
 * install a handler meanwhile, as a BLAS library does that is being loaded. A lock that
 * was not to be had is made anew in the child. What belongs to an object (a stream, an
 * executor) is made anew in the child by the object's own file.
 *
 * Each shared library has its own list. pthread_once needs no such care: a child whose
 * parent was in the middle of it does it again. */
#ifndef ASN_BASE_FORKS_H
#define ASN_BASE_FORKS_H

#include <pthread.h>
#include <stdbool.h>

typedef enum {
    ASN_FORK_OUTER, /* leaves are taken with it held */
    ASN_FORK_LEAF   /* no other lock is */
} asn_fork_order;

typedef struct asn_fork_lock {
    pthread_mutex_t *lock;
    asn_fork_order order;
    bool taken;
    struct asn_fork_lock *next;
} asn_fork_lock;

/* As the library loads. Keeps `entry`. */
void asn_fork_add(asn_fork_lock *entry);

#define ASN_FORK_TAKES(name, mutex, order)                                               \
    __attribute__((constructor)) static void name##_at_fork(void) {                      \
        static asn_fork_lock entry = {mutex, order, false, NULL};                        \
        asn_fork_add(&entry);                                                            \
    }

/* For a handler that must have them earlier than they would be: taken at the first of
 * several calls by the thread that forks, given back at the last. */
void asn_fork_take_locks(void);
void asn_fork_give_locks(bool in_child);

#endif
