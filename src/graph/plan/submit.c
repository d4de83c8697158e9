/* L2 graph: what becomes of an operation that is called (see trace.h): it is recorded, or
 * it runs at once.
 *
 * Recording pays when operations can share a pass over memory. Below ASN_TRACE_EAGER the
 * call overhead is everything, and an operation with nothing pending on its buffers runs
 * at once through the shortest path. Buffers that the host may touch behind our back
 * never stay recorded.
 */
#include "graph/capture/capture.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/plan/launch.h"
#include "graph/trace/transient.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"

/* So many small operations in a row on recorded buffers: a loop over elements or rows
 * has begun, and what is recorded will not grow. Run it, and the loop eagerly. */
enum { SMALL_RUN = 4 };

/* Whether what nothing but the trace holds any more is too much. Where all that it reads
 * comes to less, that cannot change before as much again is reached. */
static bool holds_much(asn_trace *t) {
    int64_t held = 0, read = 0;
    for (int i = 0; i < t->count; i++)
        for (int k = 0; k < t->nodes[i].num_in; k++) {
            const asn_buffer *b = t->nodes[i].in[k].buffer;
            if (!b || !b->data) continue;
            int64_t share = b->nbytes / b->trace_refs;
            read += share;
            if (asn_buffer_only_traced(b)) held += share;
        }
    if (read < ASN_TRACE_HELD_BYTES) t->look_at = t->reach + ASN_TRACE_HELD_BYTES - read;
    return held > ASN_TRACE_HELD_BYTES;
}

/* Whether a recorded node writes what the node reads, or touches what it writes: it must
 * then not run before that one. */
static bool pending(const asn_node *n) {
    if (n->out.buffer->trace_refs) return true;
    for (int k = 0; k < n->num_in; k++)
        if (n->in[k].buffer && n->in[k].buffer->trace_writes) return true;
    return false;
}

/* Whether the host shares memory of the node. */
static bool touches_shared(const asn_node *n) {
    bool shared = n->out.buffer->shared;
    for (int k = 0; k < n->num_in; k++)
        shared = shared || (n->in[k].buffer && n->in[k].buffer->shared);
    return shared;
}

asn_status asn_trace_catch_up(bool now) {
    static const char why[] = "the host may look at an operation's memory or exceptions";
    asn_mark mark;
    if (!asn_stream_lags || !asn_stream_busy || asn_stream_many || asn_capture_open() ||
        !(now || asn_the_trace.at_once))
        return ASN_OK;
    ASN_TRY(asn_sync_begin(why, &mark));
    asn_status status = asn_stream_wait();
    asn_sync_end(why, mark);
    return status;
}

/* While a capture is open everything stays recorded, however small: the host looks at
 * nothing before its end, and what is fused once is launched many times. */
static asn_status submit_captured(asn_draft *d) {
    asn_node *n = &d->node;
    bool may = asn_capture_may_record(n->out.buffer);
    for (int k = 0; k < n->num_in; k++)
        may = (!n->in[k].buffer || asn_capture_may_record(n->in[k].buffer)) && may;
    asn_trace *t = &asn_the_trace;
    if (!may) ASN_TRY(asn_trace_flush());
    ASN_TRY(asn_trace_record(d));
    bool full = asn_trace_may_hold_much(t, t->count) && holds_much(t);
    return !may || full ? asn_trace_flush() : ASN_OK;
}

/* Records the operation or runs it. The trace is flushed when it may not go on: nothing
 * is lazy, the host shares the memory, or the trace holds too much. */
static asn_status submit_locked(asn_draft *d) {
    asn_node *n = &d->node;
    if (asn_the_trace.kept) asn_transient_forget(&asn_the_trace);
    if (ASN_CAPTURING) return submit_captured(d);
    bool waits = asn_the_trace.count && pending(n);
    bool shared = touches_shared(n);
    asn_the_trace.small_run =
        n->size > ASN_TRACE_EAGER ? 0 : asn_the_trace.small_run + waits;
    if (asn_the_trace.small_run >= SMALL_RUN) {
        ASN_TRY(asn_trace_flush());
        waits = false;
    }
    if (!waits &&
        (!asn_the_trace.lazy || shared || d->now || n->size <= ASN_TRACE_EAGER)) {
        asn_counters.eager++;
        ASN_TRY(asn_launch_node(n));
        return asn_trace_catch_up(shared);
    }
    ASN_TRY(asn_trace_record(d));
    asn_trace *t = &asn_the_trace;
    if (!asn_the_trace.lazy || shared) {
        ASN_TRY(asn_trace_flush());
        return asn_trace_catch_up(shared);
    }
    if (asn_trace_may_hold_much(t, t->count) && holds_much(t)) return asn_trace_flush();
    return ASN_OK;
}

asn_status asn_trace_submit(asn_draft *d) {
    asn_lock();
    asn_status status = submit_locked(d);
    asn_unlock();
    return status;
}
