/* L2 runtime: handlers around a fork (see forks.h). */
#include "runtime/forks.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/forks.h"
#include "runtime/profile.h"

static struct {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
} handlers;

/* How many of those installed have prepared and not yet gone on, in the thread that
 * forks, which is the child's too. */
static _Thread_local int prepared;

void asn_forks_handle(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void)) {
    handlers.before = before;
    handlers.in_parent = in_parent;
    handlers.in_child = in_child;
}

static void before(void) {
    if (prepared++) return;
    handlers.before();
    asn_fork_take_locks();
    asn_profile_hold();
}

static void give_locks(bool in_child) {
    asn_profile_let_go();
    asn_fork_give_locks(in_child);
}

static void in_parent(void) {
    if (--prepared) return;
    give_locks(false);
    handlers.in_parent();
}

static void in_child(void) {
    if (--prepared) return;
    give_locks(true);
    handlers.in_child();
}

void asn_forks_come_first(void) {
    if (handlers.before) pthread_atfork(before, in_parent, in_child);
}
