/* AsNumpy in C: streams, events, batches. Include asnumpy/asnumpy.h.
 *
 * A stream is an ordered queue of work on the device; work on different streams may run
 * at the same time. Each thread has a current stream, at first the default one, to which
 * its calls put their work. What an array needs from another stream is waited for, by the
 * streams: results are right without any call of this header but set_current. A handle is
 * released when no thread uses it any more; any thread may call.
 */
#ifndef ASNUMPY_STREAM_H_
#define ASNUMPY_STREAM_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asnp_stream_handle asnp_stream_handle;
typedef struct asnp_event asnp_event;

/* ---- streams: where one is taken, NULL is the default stream */

/* A stream of the current device; pooled: one that was released is given out again, and
 * what is queued there goes on. priority: 0 (first) to 7 (last), where the device has
 * priorities. name: for messages, 31 characters, or NULL. The caller releases it. VALUE:
 * another priority; RUNTIME: 63 are in use. */
ASNUMPY_API asnp_status asnp_stream_new(int32_t priority, const char *name,
                                        asnp_stream_handle **out);
/* NULL is fine. */
ASNUMPY_API void asnp_stream_release(asnp_stream_handle *stream);
/* Makes it the calling thread's. Before the thread ends, it sets NULL. VALUE: it is on
 * another device. */
ASNUMPY_API asnp_status asnp_stream_set_current(asnp_stream_handle *stream);
/* The calling thread's, to be released. */
ASNUMPY_API asnp_status asnp_stream_get_current(asnp_stream_handle **out);
/* Borrowed from the stream. */
ASNUMPY_API const char *asnp_stream_name(const asnp_stream_handle *stream);
/* Its aclrtStream with everything recorded put on it (see asnp_stream in runtime.h). */
ASNUMPY_API asnp_status asnp_stream_acl(asnp_stream_handle *stream, void **out);
/* Waits for everything put on it; the first failure of its tasks, once. RUNTIME: it would
 * wait for ever, for an event that only this thread can still record (where the library
 * can tell). */
ASNUMPY_API asnp_status asnp_stream_synchronize(asnp_stream_handle *stream);
/* *out: whether everything put on it has ended, found out without waiting. */
ASNUMPY_API asnp_status asnp_stream_query(asnp_stream_handle *stream, int32_t *out);
/* What is put on it from now on comes after what was put on the other; after the event.
 * RUNTIME: a cycle of waits, spelled out. */
ASNUMPY_API asnp_status asnp_stream_wait(asnp_stream_handle *stream,
                                         asnp_stream_handle *other);
ASNUMPY_API asnp_status asnp_stream_wait_event(asnp_stream_handle *stream,
                                               asnp_event *event);

/* ---- events
 *
 * A wait for an event that was never recorded ends at once, as in CANN. An event that was
 * made for a stream may be waited for before that stream records it. */

/* by_stream != 0: for `by` (NULL: the default stream) to record, and for no other. timing
 * != 0: asnp_event_elapsed may be asked. name as above. The caller releases it. */
ASNUMPY_API asnp_status asnp_event_new(int32_t by_stream, asnp_stream_handle *by,
                                       int32_t timing, const char *name,
                                       asnp_event **out);
/* NULL is fine. Streams that wait for its first record go on, with an error. */
ASNUMPY_API void asnp_event_release(asnp_event *event);
/* Marks the present end of the stream. RUNTIME: it was made for another one. */
ASNUMPY_API asnp_status asnp_event_record(asnp_event *event, asnp_stream_handle *stream);
/* *out: whether it was recorded, and reached. */
ASNUMPY_API asnp_status asnp_event_query(asnp_event *event, int32_t *out);
/* Waits until it is reached. RUNTIME: see asnp_stream_synchronize. */
ASNUMPY_API asnp_status asnp_event_synchronize(asnp_event *event);
/* Milliseconds from one to the other. RUNTIME: one of them is not reached, or was made
 * without timing. */
ASNUMPY_API asnp_status asnp_event_elapsed(const asnp_event *from, const asnp_event *to,
                                           double *ms);

/* ---- batches */

typedef asnp_status (*asnp_job)(void *context);
/* Runs job(contexts[k]) for each k < n, at most num_streams at a time, each in a thread
 * and on a stream of its own, and waits for what they put there. After a failure no
 * further job is started; *failed (may be NULL) receives its number, or -1, and the
 * status and the message are its. VALUE: n < 0, num_streams < 1. */
ASNUMPY_API asnp_status asnp_batch(int32_t n, asnp_job job, void *const *contexts,
                                   int32_t num_streams, int32_t *failed);

#ifdef __cplusplus
}
#endif
#endif
