/* L3 C binding: streams, events, batches (stream.h). A handle of a stream is the core's
 * queue, one of an event the core's event; NULL for a stream is the default one.
 *
 * Waiting for a stream or an event must not hold the library's lock, which the work
 * waited for may need, so those functions leave locking to the core. A batch runs jobs on
 * threads of its own, each with a stream that is current there for as long as the thread
 * lives; jobs are handed out one at a time, so that long ones do not hold up the rest.
 */
#include "capi/capi.h"

#include <pthread.h>
#include <stdio.h>

#include "graph/streams.h"
#include "runtime/device.h"

/* NULL is the default stream of the device in use. */
static asn_queue *queue_of(const asnp_stream_handle *stream) {
    return stream ? (asn_queue *)(uintptr_t)stream : asn_queue_own();
}

/* ---- streams */

/* The core's queue is the handle: one reference, the caller's. */
asnp_status asnp_stream_new(int32_t priority, const char *name,
                            asnp_stream_handle **out) {
    NEED(out);
    asn_queue *q;
    ASN_TRY(asn_streams_new(&q, priority, name));
    *out = (asnp_stream_handle *)q;
    return ASNP_OK;
}

void asnp_stream_release(asnp_stream_handle *stream) {
    IN_LIBRARY;
    asn_queue_release((asn_queue *)stream);
}

/* For the calling thread alone; NULL: the default stream again. */
asnp_status asnp_stream_set_current(asnp_stream_handle *stream) {
    ASN_TRY(asn_device_open());
    return asn_streams_set_current(queue_of(stream));
}

/* A share: the caller releases it. */
asnp_status asnp_stream_get_current(asnp_stream_handle **out) {
    NEED(out);
    IN_LIBRARY;
    ASN_TRY(asn_device_open());
    *out = (asnp_stream_handle *)asn_queue_retain(asn_queue_current());
    return ASNP_OK;
}

const char *asnp_stream_name(const asnp_stream_handle *stream) {
    return queue_of(stream)->name;
}

/* What is recorded is put on it first. */
asnp_status asnp_stream_acl(asnp_stream_handle *stream, void **out) {
    NEED(out);
    ASN_TRY(asn_device_open());
    return asn_streams_handle(queue_of(stream), out);
}

/* The reason is what a profile calls the wait. */
asnp_status asnp_stream_synchronize(asnp_stream_handle *stream) {
    ASN_TRY(asn_device_open());
    return asn_streams_synchronize(queue_of(stream), "asnp_stream_synchronize()");
}

/* Never waits. */
asnp_status asnp_stream_query(asnp_stream_handle *stream, int32_t *out) {
    bool idle = false;
    NEED(out);
    ASN_TRY(asn_device_open());
    ASN_TRY(asn_streams_query(queue_of(stream), &idle));
    *out = idle;
    return ASNP_OK;
}

/* The streams wait, not the caller. */
asnp_status asnp_stream_wait(asnp_stream_handle *stream, asnp_stream_handle *other) {
    ASN_TRY(asn_device_open());
    return asn_streams_follow(queue_of(stream), queue_of(other));
}

/* The wait is put on the stream; the calling thread goes on. */
asnp_status asnp_stream_wait_event(asnp_stream_handle *stream, asnp_event *event) {
    NEED(event);
    return asn_streams_wait_event(queue_of(stream), (asn_stream_event *)event);
}

/* ---- events */

/* by_stream: the event is `by`'s to record, so that others may wait for it before
 * that. */
asnp_status asnp_event_new(int32_t by_stream, asnp_stream_handle *by, int32_t timing,
                           const char *name, asnp_event **out) {
    NEED(out);
    IN_LIBRARY;
    asn_stream_event *e;
    ASN_TRY(asn_stream_event_new(&e, by_stream ? queue_of(by) : NULL, timing != 0, name));
    *out = (asnp_event *)e;
    return ASNP_OK;
}

/* Streams that wait for an event which is never recorded go on, with an error. */
void asnp_event_release(asnp_event *event) {
    if (!event) return;
    IN_LIBRARY;
    asn_stream_event_abandon((asn_stream_event *)event);
    asn_stream_event_release((asn_stream_event *)event);
}

/* Marks the present end of the stream, everything recorded included. */
asnp_status asnp_event_record(asnp_event *event, asnp_stream_handle *stream) {
    NEED(event);
    return asn_streams_record((asn_stream_event *)event, queue_of(stream));
}

/* Never waits; an event that was not recorded is not reached. */
asnp_status asnp_event_query(asnp_event *event, int32_t *out) {
    bool reached = false;
    NEED(event);
    NEED(out);
    IN_LIBRARY;
    ASN_TRY(asn_stream_event_query((asn_stream_event *)event, &reached));
    *out = reached;
    return ASNP_OK;
}

asnp_status asnp_event_synchronize(asnp_event *event) {
    NEED(event);
    return asn_streams_synchronize_event((asn_stream_event *)event);
}

/* Milliseconds, of events that were made with timing and are reached. */
asnp_status asnp_event_elapsed(const asnp_event *from, const asnp_event *to, double *ms) {
    NEED(from);
    NEED(to);
    NEED(ms);
    IN_LIBRARY;
    return asn_stream_event_elapsed((asn_stream_event *)(uintptr_t)from,
                                    (asn_stream_event *)(uintptr_t)to, ms);
}

/* ---- batches */

/* One call of asnp_batch: `next` is the first job that nobody has taken; failed -1:
 * none. */
typedef struct {
    pthread_mutex_t lock; /* of a call: its threads do not outlive a fork */
    int32_t n, next, failed;
    asnp_job job;
    void *const *contexts;
    asn_status status;
    char message[512];
} batch;

/* A thread of the call and the stream that its jobs launch on. */
typedef struct {
    batch *all;
    asn_queue *queue;
    pthread_t thread;
} batch_worker;

/* The next job, or -1: there is none, or one has failed. */
static int32_t take(batch *b) {
    pthread_mutex_lock(&b->lock);
    int32_t k = b->failed < 0 && b->next < b->n ? b->next++ : -1;
    pthread_mutex_unlock(&b->lock);
    return k;
}

/* A job counts as done when its stream is: errors of what it launched are its own. The
 * first failure is kept with its message, since messages are each thread's. */
static void *work(void *arg) {
    batch_worker *w = arg;
    batch *b = w->all;
    asn_status bound = asn_streams_set_current(w->queue);
    for (int32_t k; (k = take(b)) >= 0;) {
        asn_status status = bound;
        if (!bound) status = (asn_status)b->job(b->contexts ? b->contexts[k] : NULL);
        if (!status) status = asn_streams_synchronize(w->queue, "asnp_batch()");
        if (!status) continue;
        pthread_mutex_lock(&b->lock);
        if (b->failed < 0) {
            b->failed = k;
            b->status = status;
            snprintf(b->message, sizeof b->message, "%s", asn_error_message());
        }
        pthread_mutex_unlock(&b->lock);
    }
    if (!bound && asn_streams_set_current(NULL)) asn_error_clear();
    return NULL;
}

/* Starts as many threads as it can; fewer than wished are enough, if there is one. */
static asn_status start(batch *b, batch_worker *workers, int wished, int *started) {
    asn_status status = ASN_OK;
    for (*started = 0; *started < wished; ++*started) {
        batch_worker *w = &workers[*started];
        w->all = b;
        status = asn_streams_new(&w->queue, 0, NULL);
        if (status) break;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            asnp_stream_release((asnp_stream_handle *)w->queue);
            status = asn_error_set(ASN_ERR_RUNTIME, "batch: no thread could be started");
            break;
        }
    }
    if (!*started) return status;
    if (status) asn_error_clear();
    return ASN_OK;
}

/* The calling thread waits and runs none of the jobs; it must not hold the lock. */
asnp_status asnp_batch(int32_t n, asnp_job job, void *const *contexts,
                       int32_t num_streams, int32_t *failed) {
    NEED(job);
    batch_worker workers[ASN_QUEUES];
    batch b = {.n = n, .failed = -1, .job = job, .contexts = contexts};
    int started = 0, wished = num_streams < n ? num_streams : n;
    if (failed) *failed = -1;
    if (n < 0 || num_streams < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "batch: %d jobs on %d streams; there may be 0 or more on 1 "
                             "or more",
                             (int)n, (int)num_streams);
    if (n == 0) return ASNP_OK;
    /* From here on the jobs' threads share b, which outlives them. */
    pthread_mutex_init(&b.lock, NULL);
    asn_status status =
        start(&b, workers, wished < ASN_QUEUES ? wished : ASN_QUEUES - 1, &started);
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        asnp_stream_release((asnp_stream_handle *)workers[i].queue);
    }
    pthread_mutex_destroy(&b.lock);
    if (failed) *failed = b.failed;
    return b.failed >= 0 ? asn_error_set(b.status, "%s", b.message) : status;
}
