/* L2 runtime: streams with an identity (see queue.h).
 *
 * While there is only the library's own, `asn_stream_busy` is all that is known of it and
 * its tickets stand still. `asn_stream_many` is set with the first further queue, and
 * cleared by a wait for everything once nobody holds one any more: from then on the
 * library is as it was.
 */
#include "runtime/streams/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/device.h"
#include "runtime/streams/uses.h"
#include "runtime/streams/waits.h"

bool asn_stream_busy, asn_stream_held, asn_stream_lags, asn_stream_many;
uint64_t asn_stream_waits;

static asn_queue own = {.refs = 1, .name = "default"};
static asn_queue *all[ASN_QUEUES] = {&own}; /* by number */
static int count = 1;
asn_queue *asn_queue_active = &own;
static _Thread_local asn_queue *current;

asn_queue *asn_queue_own(void) {
    return &own;
}

asn_queue *asn_queue_current(void) {
    return current && current->stream && current->device == own.device ? current : &own;
}

void asn_queue_set_current(asn_queue *q) {
    if (q) asn_queue_retain(q);
    asn_queue_release(current);
    current = q;
}

asn_queue *asn_queue_get(int number) {
    return number < count ? all[number] : NULL;
}

aclrtStream asn_stream(void) {
    return asn_queue_active->stream;
}

void asn_queue_launched(void) {
    asn_queue_put(asn_queue_active);
}

/* ---- making */

static asn_queue *idle_queue(int device, int priority) {
    for (int i = 1; i < count; i++)
        if (!all[i]->refs && all[i]->stream && all[i]->device == device &&
            all[i]->priority == priority)
            return all[i];
    return NULL;
}

/* A struct for a queue: that of one whose stream is gone, or a new one. */
static asn_status struct_for_queue(asn_queue **out) {
    for (int i = 1; i < count; i++)
        if (!all[i]->refs && !all[i]->stream) {
            *out = all[i];
            return ASN_OK;
        }
    if (count == ASN_QUEUES)
        return asn_error_set(ASN_ERR_RUNTIME,
                             "Stream: %d streams are in use; there may be %d",
                             ASN_QUEUES - 1, ASN_QUEUES - 1);
    asn_queue *q = asn_calloc(1, sizeof *q);
    if (!q) return ASN_ERR_MEMORY;
    q->number = count;
    all[count++] = q;
    *out = q;
    return ASN_OK;
}

/* Streams of their own work on threads of their own, so that the launching thread can go
 * on: not ACL_STREAM_FAST_LAUNCH. */
static asn_status fresh_queue(asn_queue **out, int priority) {
    asn_queue *q = NULL;
    aclrtStream stream;
    ASN_TRY(struct_for_queue(&q));
    ASN_ACL_TRY(asn_acl.aclrtCreateStreamWithConfig(&stream, (uint32_t)priority,
                                                    ACL_STREAM_FAST_SYNC),
                "Stream");
    q->stream = stream;
    q->device = own.device;
    q->priority = priority;
    *out = q;
    return ASN_OK;
}

/* From now on tickets are counted on the own queue too. */
static void begin_many(void) {
    if (asn_stream_many) return;
    asn_stream_drain(); /* uses.h: what is free is in nobody's use */
    own.busy = asn_stream_busy;
    __atomic_store_n(&asn_stream_many, true, __ATOMIC_RELAXED);
}

asn_status asn_queue_new(asn_queue **out, int priority, const char *name) {
    ASN_TRY(asn_device_open());
    if (priority < 0 || priority > 7)
        return asn_error_set(ASN_ERR_VALUE,
                             "Stream: priority is %d; it may be 0 (first) to 7 (last)",
                             priority);
    asn_queue *q = idle_queue(own.device, priority);
    if (!q) ASN_TRY(fresh_queue(&q, priority));
    q->refs = 1;
    if (name && *name)
        snprintf(q->name, sizeof q->name, "%s", name);
    else
        snprintf(q->name, sizeof q->name, "stream %d", q->number);
    begin_many();
    *out = q;
    return ASN_OK;
}

asn_queue *asn_queue_retain(asn_queue *q) {
    q->refs++;
    return q;
}

void asn_queue_release(asn_queue *q) {
    if (q && q != &own) q->refs--;
}

int asn_queue_count(int *held) {
    *held = 0;
    for (int i = 1; i < count; i++)
        *held += all[i]->refs != 0;
    return count - 1;
}

/* ---- waiting */

static void find_busy(void) {
    asn_stream_busy = asn_stream_held;
    for (int i = 0; i < count; i++)
        asn_stream_busy |= all[i]->busy;
}

/* The own queue's state is asn_stream_busy alone while there is no other. */
static inline void look(void) {
    if (!asn_stream_many) own.busy = asn_stream_busy;
}

static void free_event(aclrtEvent event) {
    asn_acl.aclrtDestroyEvent(event);
}

/* Work up to the ticket has ended. */
static void set_ended(asn_queue *q, uint64_t ticket) {
    if (ticket <= q->ended) return;
    q->ended = ticket;
    int gone = 0;
    while (gone < q->num_marks && q->marks[gone].ticket <= ticket)
        free_event(q->marks[gone++].event);
    if (!gone) return;
    q->num_marks -= gone;
    memmove(q->marks, q->marks + gone, (size_t)q->num_marks * sizeof *q->marks);
}

/* Nobody holds a queue and nothing is under way: the library is as it was before the
 * first. */
static void end_many(void) {
    int held;
    if (!asn_stream_many || asn_stream_busy || !asn_queue_count(&held)) return;
    if (!held && asn_queue_active == &own)
        __atomic_store_n(&asn_stream_many, false, __ATOMIC_RELAXED);
}

bool asn_queue_wait_begin(asn_queue *q, asn_queue_extent *extent) {
    look();
    if (!q->busy) return false;
    *extent = (asn_queue_extent){++q->marked, q->puts};
    if (!q->kept) asn_stream_waits++;
    return true;
}

asn_status asn_queue_wait_device(asn_queue *q) {
    ASN_ACL_TRY(asn_acl.aclrtSynchronizeStream(q->stream),
                q == &own ? "synchronize" : q->name);
    return ASN_OK;
}

void asn_queue_keep(asn_queue *q, asn_status status) {
    if (!q->kept) {
        q->kept = status;
        snprintf(q->message, sizeof q->message, "%s", asn_error_message());
    }
    asn_error_clear();
    q->busy = asn_stream_busy = true;
}

asn_status asn_queue_wait_end(asn_queue *q, asn_queue_extent extent, asn_status status) {
    set_ended(q, extent.ticket);
    if (q->puts == extent.puts) q->busy = q->lent = false;
    find_busy();
    if (asn_stream_many) asn_uses_sweep();
    if (q->kept) {
        status = q->kept;
        q->kept = ASN_OK;
        return asn_error_set(status, "%s", q->message);
    }
    return status;
}

asn_status asn_queue_wait(asn_queue *q) {
    asn_queue_extent extent;
    ASN_TRY(asn_waits_check_host(q));
    if (!asn_queue_wait_begin(q, &extent)) return ASN_OK;
    return asn_queue_wait_end(q, extent, asn_queue_wait_device(q));
}

bool asn_queue_poll(asn_queue *q) {
    aclrtStreamStatus state;
    look();
    if (!q->busy) return true;
    if (q->kept || asn_acl.aclrtStreamQuery(q->stream, &state) ||
        state != ACL_STREAM_STATUS_COMPLETE)
        return false;
    asn_status status = asn_queue_wait(q);
    if (status) asn_queue_keep(q, status);
    return !status;
}

bool asn_stream_poll(void) {
    bool idle = true;
    if (!asn_stream_busy) return true;
    if (asn_stream_held) return false;
    for (int i = 0; i < count; i++)
        idle &= asn_queue_poll(all[i]);
    if (idle) end_many();
    return idle;
}

void asn_stream_drain(void) {
    for (int i = 0; i < count; i++) {
        asn_queue *q = all[i];
        if (asn_waits_held(q)) continue;       /* it will not end */
        asn_status status = asn_queue_wait(q); /* with what was kept */
        if (status) asn_queue_keep(q, status);
    }
}

asn_status asn_stream_wait(void) {
    if (!asn_stream_busy) return ASN_OK;
    asn_status first = ASN_OK;
    for (int i = 0; i < count && !first; i++)
        first = asn_queue_wait(all[i]);
    if (!first) end_many();
    return first;
}

/* ---- tickets and marks */

bool asn_queue_pending(asn_queue *q, uint64_t ticket) {
    aclrtEventRecordedStatus state;
    if (ticket <= q->ended) return false;
    if (!q->busy) {
        if (ticket > q->marked) q->marked = ticket; /* what comes now is another */
        set_ended(q, q->marked);
        return false;
    }
    for (int i = 0; i < q->num_marks; i++) {
        if (q->marks[i].ticket < ticket) continue;
        if (asn_acl.aclrtQueryEventStatus(q->marks[i].event, &state) == 0 &&
            state == ACL_EVENT_RECORDED_STATUS_COMPLETE)
            set_ended(q, q->marks[i].ticket);
        break;
    }
    return ticket > q->ended;
}

asn_status asn_queue_mark_end(asn_queue *q) {
    if (!q->busy) return ASN_OK;
    if (q->num_marks && q->puts == q->puts_marked) return ASN_OK;
    if (q->num_marks == q->cap_marks) {
        int capacity = q->cap_marks ? 2 * q->cap_marks : 8;
        asn_queue_mark *more = asn_realloc(q->marks, (size_t)capacity * sizeof *more);
        if (!more) return ASN_ERR_MEMORY;
        q->marks = more;
        q->cap_marks = capacity;
    }
    asn_queue_mark mark = {.ticket = q->marked + 1};
    ASN_ACL_TRY(asn_acl.aclrtCreateEventExWithFlag(&mark.event, ACL_EVENT_SYNC),
                "Stream");
    int code = asn_acl.aclrtRecordEvent(mark.event, q->stream);
    if (code) {
        free_event(mark.event);
        return asn_acl_failed(code, "Stream");
    }
    q->marked = mark.ticket;
    q->puts_marked = q->puts;
    q->marks[q->num_marks++] = mark;
    return ASN_OK;
}

asn_status asn_queue_follow(asn_queue *q, asn_queue *of, uint64_t ticket) {
    if (q == of || q->after[of->number] >= ticket || !asn_queue_pending(of, ticket))
        return ASN_OK;
    ASN_TRY(asn_waits_add_queue(q, of));
    int at = 0;
    while (at < of->num_marks && of->marks[at].ticket < ticket)
        at++;
    if (at == of->num_marks) ASN_TRY(asn_queue_mark_end(of));
    if (at == of->num_marks) return ASN_OK; /* prepared, and never put there */
    ASN_ACL_TRY(asn_acl.aclrtStreamWaitEvent(q->stream, of->marks[at].event), "Stream");
    q->after[of->number] = of->marks[at].ticket;
    asn_queue_put(q);
    return ASN_OK;
}

/* ---- the device */

void asn_queue_open(aclrtStream stream, int device) {
    own.stream = stream;
    own.device = device;
    own.busy = false;
    asn_queue_active = &own;
}

void asn_queue_close(void) {
    asn_uses_sweep();
    for (int i = 0; i < count; i++) {
        asn_queue *q = all[i];
        set_ended(q, ++q->marked);
        if (q->stream) asn_acl.aclrtDestroyStream(q->stream);
        q->stream = NULL;
        q->busy = q->lent = q->known = false;
        q->kept = ASN_OK;
    }
    asn_queue_active = &own;
    asn_stream_many = asn_stream_busy = false;
}
