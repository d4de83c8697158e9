/* L2 runtime: the library's stream on the current device. */
#ifndef ASN_RUNTIME_STREAM_H
#define ASN_RUNTIME_STREAM_H

#include "runtime/acl_api.h"

aclrtStream asn_stream(void);
/* Something may be queued: set by whoever enqueues (a fused call on an idle stream does
 * not), cleared by the wait. */
extern bool asn_stream_busy;
/* A capture is open (graph/replay.h): the stream counts as busy whatever is waited for,
 * so that nothing takes a shortcut past it. */
extern bool asn_stream_held;
/* How often the host waited for the stream. */
extern uint64_t asn_stream_waits;
/* Whether calls that an idle stream runs at once may be queued instead (a test device
 * with delayed launches). */
extern bool asn_stream_lags;
/* Whether nothing is queued any more, found out without waiting. A failure met on the way
 * is kept for the next asn_stream_wait. */
bool asn_stream_poll(void);
/* Waits for the stream, and keeps a failure for the next asn_stream_wait. */
void asn_stream_settle(void);
/* Waits for the stream; the first failed task's error, once. */
ASN_CHECK_RESULT asn_status asn_stream_wait(void);

#endif
