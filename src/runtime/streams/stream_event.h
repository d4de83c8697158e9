/* L2 runtime: events: points on a stream that other streams and the host wait for, and
 * between which time is measured.
 *
 * A wait for an event that was never recorded passes at once, as in CANN. An event that
 * was made for a stream (`by`) is one that this stream will record: a wait for it may
 * come first, and lasts until it is recorded and reached. CANN's streams wait for
 * recorded events only, so a function of the host holds the waiting stream until then
 * (aclrtLaunchHostFunc).
 *
 * With the library's lock or the binding's global one held.
 */
#ifndef ASN_RUNTIME_STREAMS_STREAM_EVENT_H
#define ASN_RUNTIME_STREAMS_STREAM_EVENT_H

#include "runtime/streams/queue.h"

typedef struct asn_stream_event {
    aclrtEvent event; /* NULL until it is recorded for the first time */
    char name[ASN_QUEUE_NAME];
    bool timing;
    int refs;
    uint32_t generation;      /* of the device */
    asn_queue *by, *recorded; /* borrows; NULL: nobody said, not yet */
    uint64_t num_holds;       /* of its queue when it was recorded (waits.c) */
    asn_queue *first;         /* where it was recorded for the first time */
    uint64_t first_holds;
    struct asn_signal *signal; /* shared; NULL: nobody waits for the first record */
} asn_stream_event;

/* The caller owns a reference. by: NULL or a queue. */
ASN_CHECK_RESULT asn_status asn_stream_event_new(asn_stream_event **out, asn_queue *by,
                                                 bool timing, const char *name);
asn_stream_event *asn_stream_event_retain(asn_stream_event *e);
void asn_stream_event_release(asn_stream_event *e);
/* Nobody will record it any more: streams that wait for it go on, with an error. */
void asn_stream_event_abandon(asn_stream_event *e);

/* Marks the present end of q. RuntimeError: it was made for another stream. */
ASN_CHECK_RESULT asn_status asn_stream_event_record(asn_stream_event *e, asn_queue *q);
/* What is put on q from now on waits for the event. RuntimeError: a cycle. */
ASN_CHECK_RESULT asn_status asn_stream_event_wait(asn_stream_event *e, asn_queue *q);
/* Whether it was recorded and reached. */
ASN_CHECK_RESULT asn_status asn_stream_event_query(asn_stream_event *e, bool *out);
/* Milliseconds from one to the other. RuntimeError: one is not reached yet, or does not
 * measure time. */
ASN_CHECK_RESULT asn_status asn_stream_event_elapsed(asn_stream_event *from,
                                                     asn_stream_event *to, double *ms);

#endif
