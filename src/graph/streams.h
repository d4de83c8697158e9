/* L2 graph: streams as the bindings use them.
 *
 * There is one trace, for the thread that holds the library's lock. When a thread with
 * another current stream takes the lock, what is recorded goes to the stream it was
 * recorded for, and work goes to the newcomer's from then on: entering and leaving a
 * stream ends a recording, and nothing else has to.
 *
 * Waits of the host let go of the library's lock and of the binding's while they last, so
 * that other threads can put work on other streams.
 */
#ifndef ASN_GRAPH_STREAMS_H
#define ASN_GRAPH_STREAMS_H

#include "runtime/memory/buffer.h"
#include "runtime/streams/queue.h"
#include "runtime/streams/stream_event.h"

/* lock.c: the calling thread has taken the lock and there are several streams. */
void asn_streams_arrive(void) __attribute__((cold));

/* See asn_queue_new. */
ASN_CHECK_RESULT asn_status asn_streams_new(asn_queue **out, int priority,
                                            const char *name);
/* Makes q (NULL: the library's own) current in the calling thread, which goes on holding
 * what it held. ValueError: q is on another device. */
ASN_CHECK_RESULT asn_status asn_streams_set_current(asn_queue *q);

/* Its aclrtStream, for somebody else's work behind what is recorded for it. */
ASN_CHECK_RESULT asn_status asn_streams_handle(asn_queue *q, void **out);
/* Bytes of ended arrays that a stream still uses. */
int64_t asn_streams_bytes_held(void);

ASN_CHECK_RESULT asn_status asn_streams_synchronize(asn_queue *q, const char *why);
/* Whether everything recorded for q and put there has ended. A recording goes there. */
ASN_CHECK_RESULT asn_status asn_streams_query(asn_queue *q, bool *out);
/* What is put on q from now on comes after what was put on `of`. */
ASN_CHECK_RESULT asn_status asn_streams_follow(asn_queue *q, asn_queue *of);

ASN_CHECK_RESULT asn_status asn_streams_record(asn_stream_event *e, asn_queue *q);
ASN_CHECK_RESULT asn_status asn_streams_wait_event(asn_queue *q, asn_stream_event *e);
/* The host waits until the event is reached; at once for one that nobody will record. */
ASN_CHECK_RESULT asn_status asn_streams_synchronize_event(asn_stream_event *e);

/* The host is about to read (or write) the memory: waits for the streams that write (or
 * use) it. Lock held, everything recorded of it flushed; in the meantime the lock is open
 * if the caller of this library's function held it once. */
ASN_CHECK_RESULT asn_status asn_streams_wait_for(const asn_buffer *b, bool for_write);
/* Waits for all streams, likewise. */
ASN_CHECK_RESULT asn_status asn_streams_wait_all(void);
/* The same, but for streams that wait for an event that is not recorded. */
ASN_CHECK_RESULT asn_status asn_streams_wait_free(void);
/* Waits for the active stream with the lock held; the binding's is open. */
ASN_CHECK_RESULT asn_status asn_streams_wait_active(void);

/* A binding tells whether, of its threads, more than `waiting` exist: somebody may still
 * record what is waited for. NULL: it cannot tell. */
void asn_streams_set_others(bool (*others)(int waiting));
/* A binding tells whether the user wants such a wait to end (and says why it is an
 * error), given what it waits for. Called without the library's lock. NULL: nobody can.
 */
void asn_streams_set_interrupted(bool (*interrupted)(const char *waits_for));

#endif
