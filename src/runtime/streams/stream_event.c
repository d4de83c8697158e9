/* L2 runtime: events (see stream_event.h).
 *
 * A first record that streams wait for already is told to them by a signal: a function of
 * the host in each of these streams sleeps until a function of the host in the recording
 * stream sets it. The signal outlives the event while one of them holds it.
 */
#include "runtime/streams/stream_event.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/device.h"
#include "runtime/streams/waits.h"

/* A semaphore that whoever passes leaves open: nothing of it belongs to a thread, which a
 * fork would leave behind. */
struct asn_signal {
    sem_t set;
    int holders;
};

static void signal_release(struct asn_signal *s) {
    if (__atomic_sub_fetch(&s->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
    sem_destroy(&s->set);
    asn_free(s);
}

static struct asn_signal *signal_retain(struct asn_signal *s) {
    __atomic_add_fetch(&s->holders, 1, __ATOMIC_RELAXED);
    return s;
}

static void signal_set(void *arg) {
    struct asn_signal *s = arg;
    sem_post(&s->set);
    signal_release(s);
}

static void signal_wait(void *arg) {
    struct asn_signal *s = arg;
    while (sem_wait(&s->set) != 0) /* a system call was interrupted */
        ;
    sem_post(&s->set);
    signal_release(s);
}

static asn_status make_signal(asn_stream_event *e) {
    if (e->signal) return ASN_OK;
    struct asn_signal *s = asn_calloc(1, sizeof *s);
    if (!s) return ASN_ERR_MEMORY;
    sem_init(&s->set, 0, 0);
    s->holders = 1;
    e->signal = s;
    asn_waits_count(1);
    return ASN_OK;
}

/* ---- making */

asn_status asn_stream_event_new(asn_stream_event **out, asn_queue *by, bool timing,
                                const char *name) {
    static int made;
    ASN_TRY(asn_device_open());
    if (by && !asn_acl.aclrtLaunchHostFunc)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "Event: the %s device has no aclrtLaunchHostFunc, which an "
                             "event made for a stream needs",
                             asn_device_kind());
    asn_stream_event *e = asn_calloc(1, sizeof *e);
    if (!e) return ASN_ERR_MEMORY;
    e->refs = 1;
    e->by = by;
    e->timing = timing;
    if (name && *name)
        snprintf(e->name, sizeof e->name, "%s", name);
    else
        snprintf(e->name, sizeof e->name, "event %d", ++made);
    *out = e;
    return ASN_OK;
}

asn_stream_event *asn_stream_event_retain(asn_stream_event *e) {
    e->refs++;
    return e;
}

/* The device that the event was made on is still open. */
static bool has_event(const asn_stream_event *e) {
    return e->event && e->generation == asn_device_generation;
}

/* Its first record came, or never will: waiting streams are let go. */
static void end_first(asn_stream_event *e) {
    if (!e->signal) return;
    asn_waits_count(-1);
    signal_release(e->signal);
    e->signal = NULL;
}

void asn_stream_event_release(asn_stream_event *e) {
    if (!e || --e->refs) return;
    if (has_event(e)) asn_acl.aclrtDestroyEvent(e->event);
    end_first(e);
    asn_free(e);
}

void asn_stream_event_abandon(asn_stream_event *e) {
    if (!e->by || e->recorded) return;
    struct asn_signal *s = e->signal;
    e->by = NULL;
    if (!s) return;
    asn_waits_abandoned(e);
    signal_set(signal_retain(s));
    end_first(e);
}

/* ---- on streams */

asn_status asn_stream_event_record(asn_stream_event *e, asn_queue *q) {
    if (e->by && e->by != q)
        return asn_error_set(ASN_ERR_RUNTIME, "%s was made for %s to record, not for %s",
                             e->name, e->by->name, q->name);
    if (!has_event(e)) {
        uint32_t flag = e->timing ? ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE : ACL_EVENT_SYNC;
        ASN_ACL_TRY(asn_acl.aclrtCreateEventExWithFlag(&e->event, flag), e->name);
        e->generation = asn_device_generation;
    }
    ASN_ACL_TRY(asn_acl.aclrtRecordEvent(e->event, q->stream), e->name);
    asn_queue_put(q);
    asn_waits_recorded(e, q);
    if (!e->signal) return ASN_OK;
    int code =
        asn_acl.aclrtLaunchHostFunc(q->stream, signal_set, signal_retain(e->signal));
    if (code) signal_set(e->signal); /* early is better than never: the error tells */
    end_first(e);
    return code ? asn_acl_failed(code, e->name) : ASN_OK;
}

static asn_status wait_for_first(asn_stream_event *e, asn_queue *q) {
    ASN_TRY(asn_waits_add_event(q, e));
    ASN_TRY(make_signal(e));
    struct asn_signal *s = signal_retain(e->signal);
    int code = asn_acl.aclrtLaunchHostFunc(q->stream, signal_wait, s);
    if (code) {
        signal_release(s);
        return asn_acl_failed(code, e->name);
    }
    asn_queue_put(q);
    return ASN_OK;
}

asn_status asn_stream_event_wait(asn_stream_event *e, asn_queue *q) {
    if (e->by && !e->recorded) return wait_for_first(e, q);
    bool reached = true;
    if (e->recorded && e->recorded != q && has_event(e))
        ASN_TRY(asn_stream_event_query(e, &reached));
    if (reached) return ASN_OK;
    ASN_TRY(asn_waits_add_event(q, e));
    ASN_ACL_TRY(asn_acl.aclrtStreamWaitEvent(q->stream, e->event), e->name);
    asn_queue_put(q);
    return ASN_OK;
}

asn_status asn_stream_event_query(asn_stream_event *e, bool *out) {
    aclrtEventRecordedStatus state = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    *out = e->recorded && !has_event(e); /* the device was closed since: all is done */
    if (!has_event(e)) return ASN_OK;
    ASN_ACL_TRY(asn_acl.aclrtQueryEventStatus(e->event, &state), e->name);
    *out = state == ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return ASN_OK;
}

asn_status asn_stream_event_elapsed(asn_stream_event *from, asn_stream_event *to,
                                    double *ms) {
    asn_stream_event *both[2] = {from, to};
    float value;
    for (int i = 0; i < 2; i++) {
        bool reached;
        ASN_TRY(asn_stream_event_query(both[i], &reached));
        if (!both[i]->timing)
            return asn_error_set(ASN_ERR_RUNTIME,
                                 "elapsed_time: %s was made without timing",
                                 both[i]->name);
        if (!reached || !has_event(both[i]))
            return asn_error_set(ASN_ERR_RUNTIME,
                                 "elapsed_time: %s is not recorded, or its stream has "
                                 "not reached it yet; synchronize it first",
                                 both[i]->name);
    }
    ASN_ACL_TRY(asn_acl.aclrtEventElapsedTime(&value, from->event, to->event),
                "elapsed_time");
    *ms = (double)value;
    return ASN_OK;
}
