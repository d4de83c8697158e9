/* L2 graph: recording (see trace.h; graph/plan/flush.c runs what is recorded).
 *
 * When is an operation recorded? Recording pays when operations can share a pass over
 * memory. Below ASN_TRACE_EAGER the call overhead is everything, and an operation with
 * nothing pending on its buffers runs at once through the shortest path. Buffers that the
 * host may touch at any time (shared ones) never stay recorded. */
#include "graph/trace/trace.h"

#include <math.h>
#include <string.h>

#include "array/broadcast.h"
#include "graph/trace/axes.h"
#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/plan/launch.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/streams.h"
#include "graph/trace/transient.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"

/* So many small operations in a row on recorded buffers: a loop over elements or rows
 * has begun, and what is recorded will not grow. Run it, and the loop eagerly. */
enum { SMALL_RUN = 4 };
asn_trace asn_the_trace = {.lazy = true, .nodes = asn_the_trace.room};
/* What the binding asked for; the trace is not lazy while floating-point exceptions are
 * to be raised by the operation that causes them (`at_once`). */
static bool lazy_wish = true, at_once;

/* ---- drafts */

/* (Contract in trace.h.) Operand slots stay empty. */
void asn_draft_init(asn_draft *d, asn_op op, asn_dtype loop, int ndim,
                    const int64_t *shape) {
    asn_node *n = &d->node;
    d->now = false;
    n->op = (uint16_t)op;
    n->reduce_op = ASN_OP_NONE;
    n->loop = (uint8_t)loop;
    n->num_in = op == ASN_OP_COPY ? 1 : asn_op_table[op].num_in;
    n->ndim = (uint8_t)ndim;
    n->accumulate = false;
    n->reduce_mask = 0;
    n->size = 1;
    n->shape = d->dims[0];
    for (int i = 0; i < ndim; i++) {
        n->shape[i] = shape[i];
        n->size *= shape[i];
    }
    n->out.strides = d->dims[1];
    for (int k = 0; k < 3; k++)
        n->in[k].strides = d->dims[2 + k];
}

void asn_draft_array(asn_draft *d, asn_ref *ref, const asn_array *a) {
    ref->buffer = a->buffer;
    ref->offset = a->layout.offset;
    ref->dtype = a->layout.dtype;
    asn_broadcast_strides(&a->layout, d->node.ndim, d->node.shape, ref->strides);
}

/* (Contract in trace.h.) Unused bytes are cleared, since plans compare them all. */
void asn_draft_immediate(asn_ref *ref, const asn_scalar *s) {
    ref->buffer = NULL;
    ref->offset = 0;
    ref->dtype = s->dtype;
    memset(ref->immediate, 0, sizeof ref->immediate);
    memcpy(ref->immediate, s->bytes, (size_t)asn_itemsize((asn_dtype)s->dtype));
}

/* ---- divisions */

/* What x / c is as x * (1 / c), element for element and bit for bit: c a power of two
 * whose inverse is another. A division holds the core for ten times as long (a
 * shallow-water step has eight of them by 2 * dx). |c| >= 1, so that nothing overflows:
 * the warning would name a product. */
static bool has_exact_inverse(const asn_ref *ref, asn_dtype loop, double *inverse) {
    double c = 0;
    float single;
    int exponent;
    if (ref->buffer || ref->dtype != loop) return false;
    if (loop == ASN_F64) memcpy(&c, ref->immediate, sizeof c);
    if (loop == ASN_F32) {
        memcpy(&single, ref->immediate, sizeof single);
        c = single;
    }
    double most = loop == ASN_F64 ? 0x1p1000 : 0x1p120;
    if (!(fabs(c) >= 1 && fabs(c) <= most) || fabs(frexp(c, &exponent)) != 0.5)
        return false;
    *inverse = 1 / c;
    return true;
}

/* a // 2**k of integers is a shift, and a % 2**k a mask: rounding down is what both do
 * with negative numbers. (A device that has no shift makes one of a division.) */
static void ease_integer_division(asn_node *n) {
    const asn_ref *ref = &n->in[1];
    const int item = asn_itemsize((asn_dtype)n->loop);
    uint64_t c = 0;
    if (n->op != ASN_OP_FLOOR_DIVIDE && n->op != ASN_OP_REMAINDER) return;
    if (ref->buffer || ref->dtype != n->loop || !asn_is_integer((asn_dtype)n->loop) ||
        !asn_fuse_enabled())
        return;
    memcpy(&c, ref->immediate, (size_t)item); /* the lowest byte comes first */
    bool negative = !asn_is_unsigned_int((asn_dtype)n->loop) && c >> (8 * item - 1);
    if (c == 0 || c & (c - 1) || negative) return;
    const uint64_t value =
        n->op == ASN_OP_REMAINDER ? c - 1 : (uint64_t)__builtin_ctzll(c);
    n->op = n->op == ASN_OP_REMAINDER ? ASN_OP_BITWISE_AND : ASN_OP_RIGHT_SHIFT;
    memcpy(n->in[1].immediate, &value, (size_t)item);
}

void asn_node_ease_division(asn_node *n) {
    double inverse;
    ease_integer_division(n);
    if (n->op != ASN_OP_DIVIDE || !has_exact_inverse(&n->in[1], n->loop, &inverse))
        return;
    float single = (float)inverse;
    n->op = ASN_OP_MULTIPLY;
    if (n->loop == ASN_F64)
        memcpy(n->in[1].immediate, &inverse, sizeof inverse);
    else
        memcpy(n->in[1].immediate, &single, sizeof single);
}

/* ---- recording */

/* So many words of the arena, for which there is room. */
static int64_t *arena_take(asn_trace *t, int words) {
    int64_t *p = t->arena + t->arena_used;
    t->arena_used += (size_t)words;
    return p;
}

/* Makes room for so many words. */
static asn_status arena_room(asn_trace *t, int words) {
    if (!t->arena) {
        t->arena_room = asn_malloc(2 * ASN_TRACE_ARENA * sizeof *t->arena);
        if (!t->arena_room) return ASN_ERR_MEMORY;
        t->arena = t->arena_room;
    }
    /* Pointers into the arena must stay: a full one is a reason to flush. */
    if (t->arena_used + (size_t)words > ASN_TRACE_ARENA) return asn_trace_make_room();
    return ASN_OK;
}

/* A reference as the trace keeps it: its strides in the arena, its buffer retained. */
static void keep_ref(asn_trace *t, asn_ref *ref, int ndim) {
    if (!ref->buffer) {
        ref->strides = NULL;
        return;
    }
    int64_t *kept = arena_take(t, ndim);
    memcpy(kept, ref->strides, (size_t)ndim * sizeof *kept);
    ref->strides = kept;
    t->reach += asn_trace_count_ref(asn_buffer_retain(ref->buffer));
}

/* Appends the draft to the trace, with what it reads and writes counted on the buffers.
 */
static asn_status record(asn_draft *d) {
    asn_trace *t = &asn_the_trace;
    if (d->node.ndim > 1 && t->count) asn_draft_follow(d);
    uint32_t line = asn_record_line();
    if (t->count == ASN_TRACE_MAX_NODES) ASN_TRY(asn_trace_make_room());
    ASN_TRY(arena_room(t, 5 * d->node.ndim));
    t->rows.itemsize = 0;
    asn_node *n = &t->nodes[t->count++];
    *n = d->node;
    n->line = line;
    asn_node_ease_division(n);
    n->shape = arena_take(t, n->ndim);
    memcpy(n->shape, d->node.shape, (size_t)n->ndim * sizeof *n->shape);
    keep_ref(t, &n->out, n->ndim);
    n->out.buffer->trace_writes++;
    for (int k = 0; k < n->num_in; k++)
        keep_ref(t, &n->in[k], n->ndim);
    asn_counters.recorded++;
    return ASN_OK;
}

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
    static const char why[] = "the host may look at an operation's memory or conditions";
    asn_mark mark;
    if (!asn_stream_lags || !asn_stream_busy || asn_stream_many || asn_capture_open() ||
        !(now || at_once))
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
    ASN_TRY(record(d));
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
    ASN_TRY(record(d));
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

/* ---- switches */

/* Runs what is recorded and waits by `wait`. */
static asn_status run_and_wait(asn_status (*wait)(void)) {
    static const char why[] = "synchronize()";
    asn_mark mark = ASN_NO_MARK;
    asn_lock();
    asn_status status = ASN_OK;
    if (asn_capture_open()) { /* nobody looks at anything: what is recorded runs */
        status = asn_trace_flush();
        asn_unlock();
        return status;
    }
    if (asn_the_trace.count || asn_stream_busy) status = asn_sync_begin(why, &mark);
    if (!status) status = asn_trace_flush();
    if (!status) status = wait();
    asn_sync_end(why, mark);
    asn_unlock();
    return status;
}

asn_status asn_synchronize(void) {
    return run_and_wait(asn_streams_wait_all);
}

asn_status asn_settle(void) {
    return run_and_wait(asn_streams_wait_free);
}

asn_status asn_finalize(void) {
    /* What is recorded and needed by nobody holds memory, too. */
    ASN_TRY(asn_synchronize());
    asn_lock();
    asn_plan_forget(); /* plans hold handles of the device */
    asn_status status = asn_device_close();
    asn_unlock();
    return status;
}

asn_status asn_set_lazy(bool on, bool *before) {
    asn_lock();
    if (before) *before = lazy_wish;
    lazy_wish = on;
    asn_the_trace.lazy = lazy_wish && !at_once;
    asn_status status = asn_the_trace.lazy ? ASN_OK : asn_trace_flush();
    asn_unlock();
    return status;
}

asn_status asn_set_at_once(bool on) {
    asn_lock();
    at_once = on;
    asn_the_trace.lazy = lazy_wish && !at_once;
    asn_status status = asn_the_trace.lazy ? ASN_OK : asn_trace_flush();
    asn_unlock();
    return status;
}

void asn_engine_get_stats(asn_engine_stats *out) {
    out->recorded = asn_counters.recorded;
    out->eager = asn_counters.eager;
    out->programs = asn_counters.programs;
    out->single_ops = asn_counters.single_ops;
    out->plan_hits = asn_counters.plan_hits;
    out->plan_misses = asn_counters.plan_misses;
    out->fallbacks = asn_counters.fallbacks;
    out->synchronizations = asn_stream_waits;
}
