/* L2 runtime: the stream that work is put on. There is the library's own and, once a
 * program makes some (queue.h), others: work goes to the active one, which is the current
 * one of the thread that holds the library's lock. */
#ifndef ASN_RUNTIME_STREAMS_STREAM_H
#define ASN_RUNTIME_STREAMS_STREAM_H

#include "runtime/acl_api.h"

/* The active stream. */
aclrtStream asn_stream(void);
/* Something may be queued, on whichever stream: set by asn_stream_launch (a fused call on
 * an idle stream of the library's own leaves nothing), cleared by the wait. */
extern bool asn_stream_busy;
/* A capture is open (graph/capture/replay.h): the stream counts as busy whatever is
 * waited for, so that nothing takes a shortcut past it. */
extern bool asn_stream_held;
static inline void asn_stream_hold(bool on) {
    asn_stream_held = on;
    asn_stream_busy |= on;
}
/* There are streams besides the library's own. Everything they cost is behind this. */
extern bool asn_stream_many;
/* The same without any lock. */
static inline bool asn_stream_are_many(void) {
    return __atomic_load_n(&asn_stream_many, __ATOMIC_RELAXED);
}
/* How often the host waited for a stream. */
extern uint64_t asn_stream_waits;
/* Whether calls that an idle stream runs at once may be queued instead (a test device
 * with delayed launches). */
extern bool asn_stream_lags;

void asn_queue_launched(void) __attribute__((cold));
/* Before something is put on the active stream. `queued`: it may be so on an idle stream
 * of the library's own, too. */
static inline void asn_stream_launch(bool queued) {
    asn_stream_busy |= queued | asn_stream_lags;
    if (__builtin_expect(asn_stream_many, 0)) asn_queue_launched();
}
/* Whether nothing is queued any more on any stream, found out without waiting. A failure
 * met on the way is kept for that stream's next wait. */
bool asn_stream_poll(void);
/* The same, without a call where that is known: the calling thread may compute itself, in
 * order. */
static inline bool asn_stream_is_idle(void) {
    return !asn_stream_busy || asn_stream_poll();
}
/* Waits for all streams, and keeps failures for their next wait. */
void asn_stream_drain(void);
/* Waits for all streams; the first failed task's error, once. */
ASN_CHECK_RESULT asn_status asn_stream_wait(void);

#endif
