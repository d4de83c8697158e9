/* L2 graph: streams as the bindings use them (see streams.h). */
#include "graph/streams.h"

#include <time.h>

#include "graph/capture/capture.h"
#include "graph/lock.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/streams/sync.h"
#include "runtime/streams/uses.h"
#include "runtime/streams/waits.h"

enum { NAP_NS = 500000, NAPS = 64 /* between two looks for an interrupt */ };

static bool (*others)(int waiting);
static int waiting; /* threads that wait for what is not recorded yet */

void asn_streams_set_others(bool (*hook)(int)) {
    others = hook;
}

static bool (*interrupted)(const char *waits_for);

void asn_streams_set_interrupted(bool (*hook)(const char *)) {
    interrupted = hook;
}

/* Keeps a failure of the flush for q: the caller is somebody else. */
static void flush_quietly(asn_queue *q) {
    asn_status status = asn_trace_flush();
    if (status) asn_queue_keep(q, status);
}

void asn_streams_arrive(void) {
    asn_queue *mine = asn_queue_current(), *before = asn_queue_active;
    if (mine == before) return;
    flush_quietly(before);
    /* Others need not wait for what comes after this. */
    if (asn_queue_mark_end(before)) asn_error_clear();
    asn_queue_active = mine;
}

asn_status asn_streams_new(asn_queue **out, int priority, const char *name) {
    asn_lock();
    if (!asn_lock_state.serial) asn_buffer_set_lock(asn_lock, asn_unlock);
    asn_status status = asn_trace_flush(); /* tickets are counted from now on */
    if (!status) status = asn_queue_new(out, priority, name);
    asn_lock_refresh();
    asn_unlock();
    return status;
}

/* AscendCL's device is a thread's own. */
static void bind_thread(int device) {
    static _Thread_local int bound = -1;
    if (bound != device) asn_acl.aclrtSetDevice(device);
    bound = device;
}

asn_status asn_streams_set_current(asn_queue *q) {
    if (q == asn_queue_own()) q = NULL;
    if (q && (!q->stream || q->device != asn_queue_own()->device))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s is on device %d%s; the current device is %d", q->name,
                             q->device, q->stream ? "" : ", which was closed since",
                             asn_queue_own()->device);
    ASN_TRY(asn_capture_forbid("another stream is made current"));
    asn_lock();
    if (q) bind_thread(q->device);
    asn_queue_set_current(q);
    if (asn_stream_many) asn_streams_arrive();
    asn_unlock();
    return ASN_OK;
}

/* Puts what is recorded for q there. */
static asn_status flush(const asn_queue *q) {
    return q == asn_queue_active ? asn_trace_flush() : ASN_OK;
}

asn_status asn_streams_handle(asn_queue *q, void **out) {
    ASN_TRY(asn_capture_forbid("a stream's handle is asked for"));
    asn_lock();
    asn_status status = flush(q);
    if (!status) {
        asn_queue_put(q); /* what the caller will put there */
        q->lent = q->known = true;
    }
    *out = q->stream;
    asn_unlock();
    return status;
}

int64_t asn_streams_bytes_held(void) {
    return asn_uses_bytes();
}

/* ---- the host waits */

/* Lets other threads of the binding and of the library go on for a while. */
static void *open_up(bool lock, int *depth) {
    *depth = lock ? asn_lock_suspend() : 0;
    return asn_blocking_enter();
}

static void close_up(void *state, int depth) {
    asn_blocking_leave(state);
    if (depth) asn_lock_resume(depth);
}

/* Other threads of the binding and of the library go on for a while; looks: at an
 * interrupt, too. */
static asn_status nap(asn_queue *q, asn_stream_event *e, bool looks) {
    int depth;
    asn_status status = ASN_OK;
    if (looks) status = asn_waits_host(q, e, false);
    void *state = open_up(true, &depth);
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    asn_blocking_leave(state);
    if (looks && !interrupted(asn_error_message())) {
        asn_error_clear();
        status = ASN_OK;
    }
    if (depth) asn_lock_resume(depth);
    return status;
}

/* Sleeps while `e` (or, NULL, what q waits for) is not recorded. */
static asn_status wait_for_record(asn_queue *q, asn_stream_event *e) {
    asn_status status = ASN_OK;
    waiting++;
    for (int naps = 1; !status && (e ? e->by && !e->recorded : asn_waits_held(q)); naps++)
        status = others && !others(waiting) ? asn_waits_host(q, e, true)
                                            : nap(q, e, interrupted && naps % NAPS == 0);
    waiting--;
    return status;
}

/* `open`: the library's lock may be let go of. */
static asn_status wait_queue(asn_queue *q, bool open) {
    asn_queue_extent extent;
    int depth;
    if (asn_waits_held(q))
        ASN_TRY(open ? wait_for_record(q, NULL) : asn_waits_check_host(q));
    if (!asn_queue_wait_begin(q, &extent)) return ASN_OK;
    asn_queue_retain(q);
    void *state = open_up(open, &depth);
    asn_status status = asn_queue_wait_device(q);
    close_up(state, depth);
    status = asn_queue_wait_end(q, extent, status);
    asn_queue_release(q);
    return status;
}

asn_status asn_streams_wait_active(void) {
    return asn_stream_many ? wait_queue(asn_queue_active, false) : asn_stream_wait();
}

asn_status asn_streams_wait_all(void) {
    asn_status first = ASN_OK;
    if (!asn_stream_many) return asn_stream_wait();
    for (int i = 0; asn_queue_get(i) && !first; i++)
        first = wait_queue(asn_queue_get(i), asn_lock_is_outermost());
    if (!first)
        first = asn_stream_wait(); /* and is as before, if nobody holds a stream */
    return first;
}

asn_status asn_streams_wait_free(void) {
    asn_status first = ASN_OK;
    if (!asn_stream_many) return asn_stream_wait();
    for (int i = 0; asn_queue_get(i) && !first; i++)
        if (!asn_waits_held(asn_queue_get(i)))
            first = wait_queue(asn_queue_get(i), asn_lock_is_outermost());
    return first;
}

asn_status asn_streams_wait_for(const asn_buffer *b, bool for_write) {
    asn_queue *queues[ASN_QUEUES];
    if (!asn_stream_many) return asn_stream_wait();
    int n = asn_uses_queues(b, for_write, queues);
    for (int i = 0; i < n; i++)
        ASN_TRY(wait_queue(queues[i], asn_lock_is_outermost()));
    return ASN_OK;
}

asn_status asn_streams_synchronize(asn_queue *q, const char *why) {
    asn_mark mark = ASN_NO_MARK;
    asn_lock();
    asn_status status = ASN_OK;
    if (q->busy || q == asn_queue_active) status = asn_sync_begin(why, &mark);
    if (!status) status = flush(q);
    if (!status) status = asn_stream_many ? wait_queue(q, true) : asn_stream_wait();
    asn_sync_end(why, mark);
    asn_unlock();
    return status;
}

asn_status asn_streams_synchronize_event(asn_stream_event *e) {
    static const char why[] = "Event.synchronize()";
    asn_mark mark = ASN_NO_MARK;
    int depth, code = 0;
    asn_lock();
    asn_stream_event_retain(e);
    asn_status status = asn_sync_begin(why, &mark);
    if (!status) status = wait_for_record(asn_queue_active, e);
    asn_queue *q = e->recorded;
    if (!status && q && asn_waits_held(q)) status = wait_for_record(q, NULL);
    if (!status && q && e->event) {
        void *state = open_up(true, &depth);
        code = asn_acl.aclrtSynchronizeEvent(e->event);
        if (code) status = asn_acl_failed(code, e->name);
        close_up(state, depth);
    }
    asn_sync_end(why, mark);
    asn_stream_event_release(e);
    asn_unlock();
    return status;
}

/* ---- streams and events */

asn_status asn_streams_query(asn_queue *q, bool *out) {
    asn_lock();
    asn_status status = flush(q);
    if (!status) *out = asn_queue_poll(q);
    asn_unlock();
    return status;
}

asn_status asn_streams_follow(asn_queue *q, asn_queue *of) {
    ASN_TRY(asn_capture_forbid("a stream waits for another"));
    asn_lock();
    asn_status status = asn_trace_flush();
    if (!status) status = asn_queue_follow(q, of, of->marked + 1);
    asn_unlock();
    return status;
}

asn_status asn_streams_record(asn_stream_event *e, asn_queue *q) {
    ASN_TRY(asn_capture_forbid("an event is recorded"));
    asn_lock();
    asn_status status = flush(q);
    if (!status) status = asn_stream_event_record(e, q);
    asn_unlock();
    return status;
}

asn_status asn_streams_wait_event(asn_queue *q, asn_stream_event *e) {
    ASN_TRY(asn_capture_forbid("a stream waits for an event"));
    asn_lock();
    asn_status status = flush(q);
    if (!status) status = asn_stream_event_wait(e, q);
    asn_unlock();
    return status;
}
