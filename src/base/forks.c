/* L0 base: taking a library's locks around a fork (see forks.h). */
#include "base/forks.h"

#include <stddef.h>
#include <time.h>

enum { MOST_SECONDS = 2 };

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
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += MOST_SECONDS;
    for (asn_fork_lock *l = first; l != NULL; l = l->next)
        l->taken = pthread_mutex_timedlock(l->lock, &end) == 0;
}

void asn_fork_give_locks(bool in_child) {
    if (--takes) return;
    for (asn_fork_lock *l = first; l != NULL; l = l->next) {
        if (l->taken)
            pthread_mutex_unlock(l->lock);
        else if (in_child)
            pthread_mutex_init(l->lock, NULL);
    }
}

static void in_parent(void) {
    asn_fork_give_locks(false);
}

static void in_child(void) {
    asn_fork_give_locks(true);
}

/* Before the library's other handlers are installed (those of a higher priority come
 * first): of all handlers the first to be installed prepares last. */
__attribute__((constructor(101))) static void handle_forks(void) {
    pthread_atfork(asn_fork_take_locks, in_parent, in_child);
}
