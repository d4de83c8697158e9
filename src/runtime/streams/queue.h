/* L2 runtime: streams with an identity: the library's own one of the current device, and
 * those that a program makes.
 *
 * A queue is a device's stream, a number and a name, the failure of a task until somebody
 * waits, and marks: events of the device that say how far it has come. Queues are pooled:
 * one that nobody holds any more is given out again. They live as long as the process;
 * their streams as long as the device is open.
 *
 * Work is counted in tickets: what is put on a queue between two marks has one. `marked`
 * is the ticket of the last mark or wait, `ended` the last one known to be done; what is
 * put there now has marked + 1. (An event behind each launch would tell more exactly, and
 * cost each launch 0.1 us; a mark is made where a thread leaves a stream, and where one
 * is missing.)
 *
 * Everything here is called with the library's lock or the binding's global one held.
 */
#ifndef ASN_RUNTIME_STREAMS_QUEUE_H
#define ASN_RUNTIME_STREAMS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/streams/stream.h"

enum { ASN_QUEUES = 64, ASN_QUEUE_NAME = 32 };

/* An event on the queue behind `ticket`. */
typedef struct {
    uint64_t ticket;
    aclrtEvent event;
} asn_queue_mark;

typedef struct asn_queue {
    aclrtStream stream; /* NULL: the device was closed since */
    int32_t device, number, priority, refs;
    char name[ASN_QUEUE_NAME];
    bool busy;  /* something may be queued */
    bool lent;  /* ... by others, on memory whose address they were given */
    bool known; /* others were given the stream, and may put work there at any time */
    uint64_t marked, ended, puts, puts_marked; /* tickets; calls, and those marked */
    asn_status kept;                           /* a failure until somebody waits */
    char message[512];
    asn_queue_mark *marks; /* owns; ascending */
    int num_marks, cap_marks;
    uint64_t after[ASN_QUEUES]; /* by number: the ticket it was told to wait for */
    struct asn_holds *holds;    /* owns; what it waits for (waits.h) */
} asn_queue;

/* Where work goes now; never NULL. */
extern asn_queue *asn_queue_active;
/* The library's own one of the current device. */
asn_queue *asn_queue_own(void);
/* The calling thread's, among those of the current device. */
asn_queue *asn_queue_current(void);
/* Makes q current in the calling thread (NULL: the library's own), and shares it. */
void asn_queue_set_current(asn_queue *q);

/* A queue of the current device, fresh or pooled; the caller owns a reference. A smaller
 * `priority` goes first where the device can tell. name: NULL or short. RuntimeError
 * beyond ASN_QUEUES. */
ASN_CHECK_RESULT asn_status asn_queue_new(asn_queue **out, int priority,
                                          const char *name);
asn_queue *asn_queue_retain(asn_queue *q);
/* What is queued there goes on. */
void asn_queue_release(asn_queue *q);
/* By number; NULL beyond the last. */
asn_queue *asn_queue_get(int number);
/* How many there are besides the library's own, and how many of them somebody holds. */
int asn_queue_count(int *held);

/* ---- waiting */

/* Whether nothing is queued on it any more; a failure is kept. */
bool asn_queue_poll(asn_queue *q);
/* Waits for all of it; its first failed task's error, once. */
ASN_CHECK_RESULT asn_status asn_queue_wait(asn_queue *q);
/* The three parts of a wait whose middle one needs no lock: whether there is something to
 * wait for, and how much; the wait; what is known now, and the failure. */
typedef struct {
    uint64_t ticket, puts;
} asn_queue_extent;
bool asn_queue_wait_begin(asn_queue *q, asn_queue_extent *extent);
ASN_CHECK_RESULT asn_status asn_queue_wait_device(asn_queue *q);
ASN_CHECK_RESULT asn_status asn_queue_wait_end(asn_queue *q, asn_queue_extent extent,
                                               asn_status status);
/* Something was put on q, or is about to be. */
static inline void asn_queue_put(asn_queue *q) {
    q->puts++;
    q->busy = asn_stream_busy = true;
}
/* Keeps the error that is set for the queue's next wait, if there is none yet. */
void asn_queue_keep(asn_queue *q, asn_status status);

/* Whether work up to the ticket may not have ended. */
bool asn_queue_pending(asn_queue *q, uint64_t ticket);
/* Marks the present end of the queue, so that others can wait for no more than that. */
ASN_CHECK_RESULT asn_status asn_queue_mark_end(asn_queue *q);
/* What is put on q from now on comes after `of`'s work up to the ticket. RuntimeError
 * when that would close a cycle of waits. */
ASN_CHECK_RESULT asn_status asn_queue_follow(asn_queue *q, asn_queue *of,
                                             uint64_t ticket);

/* ---- device.c: the own queue's stream */

void asn_queue_open(aclrtStream own, int device);
/* Everything has been waited for. */
void asn_queue_close(void);

#endif
