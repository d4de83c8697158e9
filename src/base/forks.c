/* L0 base: taking a library's locks around a fork (see forks.h). */
#include "base/forks.h"

#include <stddef.h>

static asn_fork_lock *first; /* outer ones, then leaves */

/* Of the thread that forks, which is the child's. */
static _Thread_local int takes;

void asn_fork_add(asn_fork_lock *entry) {
    asn_fork_lock **at = &first;
    while (*at != NULL && (*at)->order <= entry->order)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

void asn_fork_take_locks(void) {
    if (takes++) return;
    for (asn_fork_lock *l = first; l != NULL; l = l->next)
        pthread_mutex_lock(l->lock);
}

void asn_fork_give_locks(void) {
    if (--takes) return;
    for (asn_fork_lock *l = first; l != NULL; l = l->next)
        pthread_mutex_unlock(l->lock);
}

/* Before the library's other handlers are installed (those of a higher priority come
 * first): of all handlers the first to be installed prepares last. */
__attribute__((constructor(101))) static void handle_forks(void) {
    pthread_atfork(asn_fork_take_locks, asn_fork_give_locks, asn_fork_give_locks);
}
