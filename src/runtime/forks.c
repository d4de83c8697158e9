/* L2 runtime: handlers around a fork (see forks.h). */
#include "runtime/forks.h"

#include <pthread.h>
#include <stdbool.h>

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
    if (!prepared++) handlers.before();
}

static void in_parent(void) {
    if (!--prepared) handlers.in_parent();
}

static void in_child(void) {
    if (!--prepared) handlers.in_child();
}

void asn_forks_come_first(void) {
    if (handlers.before) pthread_atfork(before, in_parent, in_child);
}
