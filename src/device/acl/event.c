/* CPU device, runtime: events.
 *
 * An event counts: `recorded` rises when aclrtRecordEvent is called, `done` follows when
 * the stream reaches that point. A wait captures `recorded` and ends when `done` reaches
 * it, so that a later record of the same event does not delay it; waiting for an event
 * that was never recorded ends at once. An event with the flag ACL_EVENT_EXTERNAL is a
 * flag instead, by which a captured model meets what is launched elsewhere: a record sets
 * it, a reset clears it, and a wait ends when it is set; what runs of it in a model is
 * done anew by each run. Queued tasks hold a reference: a program may
 * destroy an event that streams still use.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <time.h>

typedef struct rt_event {
    asnd_slot slot;
    bool ready; /* lock and condition are set up */
    uint32_t flags, references;
    uint64_t recorded, done; /* ACL_EVENT_EXTERNAL: done is 1 while it is set */
    int64_t time_ns;         /* when the newest finished record was reached */
    rt_ipc_event
        *shared;   /* of several processes: counts for recorded and done; or NULL */
    rt_mark *mark; /* of the newest record, if it was captured; or NULL */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} rt_event;

/* A queued record, wait or reset: of record `number`. */
typedef struct {
    rt_event *event;
    uint64_t number;
} event_task;

static asnd_arena events = ASN_ARENA_INIT("event", sizeof(rt_event), 1 << 20, true);

/* The event behind a handle; NULL, with *code set, for anything else. */
static rt_event *event_get(const char *function, aclrtEvent handle, aclError *code) {
    if (asn_arena_alive(&events, handle)) return handle;
    *code = handle
                ? asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                            "%s: %p is not an event, or was destroyed", function, handle)
                : asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: event is NULL", function);
    return NULL;
}

/* The last reference gives the slot back; lock and condition stay set up in it. */
static void event_release(rt_event *e) {
    pthread_mutex_lock(&e->lock);
    bool last = --e->references == 0;
    pthread_mutex_unlock(&e->lock);
    if (!last) return;
    if (e->shared != NULL) rt_ipc_event_free(e->shared);
    rt_mark_release(e->mark);
    asn_arena_give(&events, e);
}

static void drop_task(void *arg) {
    event_release(((event_task *)arg)->event);
    asn_free(arg);
}

static bool is_external(const rt_event *e) {
    return (e->flags & ACL_EVENT_EXTERNAL) != 0;
}

/* An older record that comes late, or again, changes nothing. */
static int32_t task_record(void *arg) {
    event_task *t = arg;
    rt_event *e = t->event;
    if (e->shared != NULL) {
        rt_ipc_event_reach(e->shared, (uint32_t)t->number);
        return 0;
    }
    pthread_mutex_lock(&e->lock);
    if (is_external(e)) e->recorded = 1; /* a reset may have come in between */
    if (t->number > e->done || is_external(e)) {
        e->done = t->number;
        e->time_ns = rt_now();
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

/* A record that is dropped without having run, with a capture or by an abort, counts as
 * reached: who waits for it would wait for ever. (One that has run changes nothing here.)
 * An external event stays as it is: what it would let go on is not to. */
static void drop_record(void *arg) {
    if (!is_external(((event_task *)arg)->event)) (void)task_record(arg);
    drop_task(arg);
}

/* Sleeps until record `number` was reached. */
static aclError event_wait(rt_event *e, uint64_t number, int32_t timeout_ms) {
    if (e->shared != NULL)
        return rt_ipc_event_wait(e->shared, (uint32_t)number, timeout_ms);
    struct timespec deadline;
    if (timeout_ms >= 0) rt_deadline(timeout_ms, &deadline);
    int late = 0;
    pthread_mutex_lock(&e->lock);
    while (e->done < number && late != ETIMEDOUT) {
        late = timeout_ms < 0 ? pthread_cond_wait(&e->changed, &e->lock)
                              : pthread_cond_timedwait(&e->changed, &e->lock, &deadline);
    }
    bool done = e->done >= number;
    pthread_mutex_unlock(&e->lock);
    if (done) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                     "the event was not reached within %d ms", timeout_ms);
}

/* Nobody may ever set the event: aborting the stream ends the wait. */
static int32_t wait_external(rt_event *e) {
    enum { LOOK_MS = 20 };
    const rt_stream *s = rt_hooks_stream(); /* a wait is always queued */
    const uint32_t aborts = rt_stream_aborts(s);
    bool set;
    pthread_mutex_lock(&e->lock);
    while (!(set = e->done != 0) && rt_stream_aborts(s) == aborts) {
        struct timespec deadline;
        rt_deadline(LOOK_MS, &deadline);
        (void)pthread_cond_timedwait(&e->changed, &e->lock, &deadline);
    }
    pthread_mutex_unlock(&e->lock);
    if (set) return 0;
    return asnrtFail(ACL_ERROR_FAILURE,
                     "aclrtStreamWaitEvent: the stream was aborted before the event was "
                     "recorded");
}

/* On the stream's worker, which has nothing else to do meanwhile. */
static int32_t task_wait(void *arg) {
    event_task *t = arg;
    return is_external(t->event) ? wait_external(t->event)
                                 : event_wait(t->event, t->number, -1);
}

/* A record that was launched behind the reset stays, unless the event is external. */
static int32_t task_reset(void *arg) {
    event_task *t = arg;
    pthread_mutex_lock(&t->event->lock);
    if (t->number == t->event->recorded || is_external(t->event))
        t->event->done = t->event->recorded = 0;
    pthread_mutex_unlock(&t->event->lock);
    return 0;
}

/* Queues `run` with a reference to the event. */
static aclError event_push(rt_stream *s, asnrtTask run, rt_event *e, uint64_t number) {
    event_task *t = asn_malloc(sizeof *t);
    if (t == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    *t = (event_task){e, number};
    pthread_mutex_lock(&e->lock);
    e->references++;
    pthread_mutex_unlock(&e->lock);
    return asnrtStreamPush((asnrtStreamState *)s, run,
                           run == task_record ? drop_record : drop_task, t);
}

/* In stream order: at once when the stream is idle. */
static aclError event_do(rt_stream *s, asnrtTask run, rt_event *e, uint64_t number) {
    if (asnrtStreamEnter((asnrtStreamState *)s)) {
        event_task t = {e, number};
        asnrtStreamLeave((asnrtStreamState *)s, run(&t));
        return ACL_SUCCESS;
    }
    return event_push(s, run, e, number);
}

/* Takes `shared` (NULL: an event of this process alone), also on failure. */
static aclError event_make(aclrtEvent *event, uint32_t flags, rt_ipc_event *shared) {
    rt_event *e = asn_arena_take(&events);
    if (e == NULL) {
        if (shared != NULL) rt_ipc_event_free(shared);
        return rt_fail_status(ASN_ERR_MEMORY);
    }
    if (!e->ready) {
        pthread_mutex_init(&e->lock, NULL);
        rt_cond_init(&e->changed);
        e->ready = true;
    }
    e->flags = flags;
    e->shared = shared;
    e->mark = NULL;
    e->references = 1;
    e->recorded = e->done = 0;
    e->time_ns = 0;
    asn_slot_publish(e);
    *event = e;
    return ACL_SUCCESS;
}

/* On a CPU flags are stored and mean nothing, but for ACL_EVENT_IPC, which stands alone,
 * and ACL_EVENT_EXTERNAL. */
static aclError event_create(const char *function, aclrtEvent *event, uint32_t flags) {
    if (event == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: event is NULL", function);
    if (!(flags & ACL_EVENT_IPC)) return event_make(event, flags, NULL);
    if (flags != ACL_EVENT_IPC)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: flag 0x%x; ACL_EVENT_IPC (0x%x) goes with no other",
                         function, flags, ACL_EVENT_IPC);
    rt_ipc_event *shared = rt_ipc_event_new();
    if (shared == NULL)
        return asnrtFail(ACL_ERROR_BAD_ALLOC,
                         "%s: the system gives no memory for processes to share",
                         function);
    return event_make(event, flags, shared);
}

/* Creates an event that orders streams and measures time. */
ASN_API aclError aclrtCreateEvent(aclrtEvent *event) {
    return event_create("aclrtCreateEvent", event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
}

/* aclrtCreateEvent; on a CPU every event can do everything. */
ASN_API aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
    return event_create("aclrtCreateEventWithFlag", event, flag);
}

/* aclrtCreateEvent; on a CPU every event can do everything. */
ASN_API aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    return event_create("aclrtCreateEventExWithFlag", event, flag);
}

/* Destroys an event; streams that still use it finish with it. */
ASN_API aclError aclrtDestroyEvent(aclrtEvent event) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtDestroyEvent", event, &code);
    if (e == NULL) return code;
    if (!asn_slot_retire(e)) { /* another thread was faster */
        (void)event_get("aclrtDestroyEvent", event, &code);
        return code;
    }
    event_release(e);
    return ACL_SUCCESS;
}

/* What an event of several processes cannot do. */
static aclError event_alone(const char *function, const rt_event *e) {
    if (e->shared == NULL) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "%s: not for an event with the flag ACL_EVENT_IPC", function);
}

/* The number of the newest record; *reached: it was reached. */
static uint64_t event_newest(rt_event *e, bool *reached) {
    pthread_mutex_lock(&e->lock);
    uint64_t number = e->shared ? rt_ipc_event_newest(e->shared) : e->recorded;
    *reached =
        e->shared ? rt_ipc_event_reached(e->shared, (uint32_t)number) : e->done >= number;
    pthread_mutex_unlock(&e->lock);
    return number;
}

/* Marks the present end of the stream's queue. */
ASN_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtRecordEvent", event, &code);
    if (e == NULL) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if ((code = rt_group_check("aclrtRecordEvent", s)) != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    if (is_external(e)) e->recorded = 0; /* set or not, its records do not count */
    uint64_t number = e->shared ? rt_ipc_event_record(e->shared) : ++e->recorded;
    pthread_mutex_unlock(&e->lock);
    code = event_do(s, task_record, e, number);
    rt_mark *mark = NULL, *before;
    if (code == ACL_SUCCESS && !is_external(e)) code = rt_mark_take(s, &mark);
    pthread_mutex_lock(&e->lock);
    before = e->mark;
    e->mark = mark;
    pthread_mutex_unlock(&e->lock);
    rt_mark_release(before);
    return code;
}

/* Makes the event unrecorded, in stream order. */
ASN_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtResetEvent", event, &code);
    if (e == NULL) return code;
    if ((code = event_alone("aclrtResetEvent", e)) != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if ((code = rt_group_check("aclrtResetEvent", s)) != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    uint64_t number = e->recorded;
    pthread_mutex_unlock(&e->lock);
    return event_do(s, task_reset, e, number);
}

/* Later tasks of the stream wait until the event's last record is reached. If that is in
 * a capture, the stream is captured from here on, too. An external event is waited for
 * until it is recorded, if it was not. */
ASN_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtStreamWaitEvent", event, &code);
    if (e == NULL) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if ((code = rt_group_check("aclrtStreamWaitEvent", s)) != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    rt_mark *mark = rt_mark_share(e->mark);
    pthread_mutex_unlock(&e->lock);
    if (mark != NULL) code = rt_mark_wait(s, mark);
    rt_mark_release(mark);
    if (code != ACL_SUCCESS) return code;
    bool done;
    uint64_t number = event_newest(e, &done);
    return done && !is_external(e) ? ACL_SUCCESS : event_push(s, task_wait, e, number);
}

/* Blocks the caller until the event's last record is reached. */
ASN_API aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return aclrtSynchronizeEventWithTimeout(event, -1);
}

/* aclrtSynchronizeEvent with a limit in milliseconds; -1: none. Refused while the record
 * is in a capture that has not ended. */
ASN_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtSynchronizeEvent", event, &code);
    if (e == NULL) return code;
    if (timeout != -1 && timeout <= 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "timeout is %d; it must be -1 (none) or positive milliseconds",
                         timeout);
    bool done;
    uint64_t number = event_newest(e, &done);
    pthread_mutex_lock(&e->lock);
    rt_mark *mark = rt_mark_share(e->mark);
    e->references++;
    pthread_mutex_unlock(&e->lock);
    bool captured = mark != NULL && rt_mark_is_open(mark);
    rt_mark_release(mark);
    code = captured && !done
               ? asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                           "aclrtSynchronizeEvent: the event is recorded in a capture, "
                           "which has not ended: it is not reached before a run")
               : event_wait(e, number, timeout);
    event_release(e);
    return code;
}

/* *reached: it was recorded, and its newest record is reached. */
static aclError event_reached(const char *function, aclrtEvent event, bool *reached) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get(function, event, &code);
    if (e == NULL) return code;
    bool done;
    *reached = event_newest(e, &done) != 0 && done;
    return ACL_SUCCESS;
}

/* event_reached for functions that events of several processes are not for. */
static aclError event_reached_alone(const char *function, aclrtEvent event,
                                    bool *reached) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get(function, event, &code);
    if (e != NULL) code = event_alone(function, e);
    return code == ACL_SUCCESS ? event_reached(function, event, reached) : code;
}

/* Whether the event was recorded and reached. */
ASN_API aclError aclrtQueryEventStatus(aclrtEvent event,
                                       aclrtEventRecordedStatus *status) {
    RT_CHECK_NOT_NULL("aclrtQueryEventStatus", status);
    bool reached = false;
    aclError code = event_reached("aclrtQueryEventStatus", event, &reached);
    if (code == ACL_SUCCESS)
        *status = reached ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                          : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return code;
}

/* Whether the event was recorded and reached (the older form). */
ASN_API aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
    RT_CHECK_NOT_NULL("aclrtQueryEvent", status);
    bool reached = false;
    aclError code = event_reached_alone("aclrtQueryEvent", event, &reached);
    if (code == ACL_SUCCESS)
        *status = reached ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return code;
}

/* Whether waits for the event would pass. */
ASN_API aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                           aclrtEventWaitStatus *status) {
    RT_CHECK_NOT_NULL("aclrtQueryEventWaitStatus", status);
    bool reached = false;
    aclError code = event_reached_alone("aclrtQueryEventWaitStatus", event, &reached);
    if (code == ACL_SUCCESS)
        *status =
            reached ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return code;
}

/* *time_ns: when the newest record was reached; an error if it is not. */
static aclError event_time(const char *function, aclrtEvent event, int64_t *time_ns) {
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get(function, event, &code);
    if (e == NULL) return code;
    if ((code = event_alone(function, e)) != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    bool reached = e->recorded != 0 && e->done >= e->recorded;
    *time_ns = e->time_ns;
    pthread_mutex_unlock(&e->lock);
    if (reached) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: the event is not recorded, or its stream has not reached it",
                     function);
}

/* Milliseconds from one reached event to another. */
ASN_API aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
                                       aclrtEvent endEvent) {
    RT_CHECK_NOT_NULL("aclrtEventElapsedTime", ms);
    int64_t start = 0, end = 0;
    aclError code = event_time("aclrtEventElapsedTime", startEvent, &start);
    if (code == ACL_SUCCESS) code = event_time("aclrtEventElapsedTime", endEvent, &end);
    if (code == ACL_SUCCESS) *ms = (float)((double)(end - start) * 1e-6);
    return code;
}

/* When the event was reached, in microseconds since an arbitrary start. */
ASN_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp) {
    RT_CHECK_NOT_NULL("aclrtEventGetTimestamp", timestamp);
    int64_t time_ns = 0;
    aclError code = event_time("aclrtEventGetTimestamp", event, &time_ns);
    if (code == ACL_SUCCESS) *timestamp = (uint64_t)(time_ns / 1000);
    return code;
}

/* The handle by which other processes open the event, which has the flag ACL_EVENT_IPC;
 * they can while it lives. */
ASN_API aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle) {
    RT_CHECK_NOT_NULL("aclrtIpcGetEventHandle", handle);
    aclError code = ACL_SUCCESS;
    rt_event *e = event_get("aclrtIpcGetEventHandle", event, &code);
    if (e == NULL) return code;
    if (e->shared != NULL) return rt_ipc_event_handle(e->shared, handle);
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtIpcGetEventHandle: the event was created without the flag "
                     "ACL_EVENT_IPC");
}

/* An event of another process, or of this one, to record, wait for and destroy. */
ASN_API aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event) {
    RT_CHECK_NOT_NULL("aclrtIpcOpenEventHandle", event);
    rt_ipc_event *shared = rt_ipc_event_open(&handle);
    if (shared != NULL) return event_make(event, ACL_EVENT_IPC, shared);
    return ACL_ERROR_INVALID_PARAM; /* the message is set */
}

void rt_event_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        asn_arena_lock(&events);
        return;
    }
    asn_arena_unlock(&events);
    if (stage == RT_FORK_PARENT) return;
    for (uint32_t i = 0; i < atomic_load(&events.used); i++) {
        rt_event *e = asn_arena_at(&events, i);
        if (e == NULL) continue;
        pthread_mutex_init(&e->lock, NULL);
        rt_cond_init(&e->changed);
        e->done = e->recorded; /* queued records are the parent's */
    }
}
