/* L2 runtime: who waits for whom, so that a cycle of waits is an error where it would
 * close, not a program that stands still.
 *
 * A stream may be told to wait for an event before that is recorded, when the event says
 * which stream will record it (stream_event.h). Such waits, and waits for streams that
 * are held up by them, are the edges. All else was put on its stream before the wait for
 * it and cannot be part of a cycle.
 */
#ifndef ASN_RUNTIME_STREAMS_WAITS_H
#define ASN_RUNTIME_STREAMS_WAITS_H

#include "runtime/streams/queue.h"
#include "runtime/site.h"

struct asn_stream_event;

/* q will wait for the event, which is not recorded. RuntimeError, with the cycle spelled
 * out: the event's stream would have to wait for q. */
ASN_CHECK_RESULT asn_status asn_waits_add_event(asn_queue *q,
                                                struct asn_stream_event *event);
/* q will wait for what has been put on `of`. RuntimeError likewise. */
ASN_CHECK_RESULT asn_status asn_waits_add_queue(asn_queue *q, asn_queue *of);
/* The event is recorded on q now. */
void asn_waits_recorded(struct asn_stream_event *event, asn_queue *q);
/* Nobody will record the event: an error for those that wait for it. */
void asn_waits_abandoned(const struct asn_stream_event *event);
/* So many more events that are not recorded are waited for. */
void asn_waits_count(int more);

/* An edge of the graph, for who shows it. */
typedef struct {
    const asn_queue *from, *to; /* to: NULL where nobody is to record the event */
    const struct asn_stream_event *event; /* NULL: a queue is waited for */
    uint64_t number, as_far;              /* of the wait among those of `from`; as many of
                                             the waits of `to` come before what is waited
                                             for (an event to be recorded: all) */
    asn_site line;
} asn_wait;
/* The waits that last, oldest first for each queue: fills up to `room`, returns how many
 * there are. */
int asn_waits_list(asn_wait *out, int room);

/* Whether some stream waits for an event that is not recorded; whether q does, by way of
 * others or not. */
bool asn_waits_open(void);
bool asn_waits_held(asn_queue *q);
/* Before the host waits for q with the library's lock held, so that nobody can record
 * what q waits for. RuntimeError if it does. */
ASN_CHECK_RESULT asn_status asn_waits_check_host(asn_queue *q);
/* What the host waits for that waits for q (or for the event alone), as a RuntimeError,
 * set; certain: it would be for ever. */
asn_status asn_waits_host(asn_queue *q, struct asn_stream_event *event, bool certain);

#endif
