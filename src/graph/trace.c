/* L2 graph: recording (see trace.h; flush.c runs what is recorded).
 *
 * When is an operation recorded? Recording pays when operations can share a pass over
 * memory. Below EAGER_ELEMENTS the call overhead is everything, and an operation with
 * nothing pending on its buffers runs at once through the shortest path. Buffers that the
 * host may touch behind our back never stay recorded.
 */
#include "graph/trace.h"

#include <math.h>
#include <string.h>

#include "array/broadcast.h"
#include "graph/capture.h"
#include "graph/engine.h"
#include "graph/launch.h"
#include "graph/lock.h"
#include "graph/record.h"
#include "graph/streams.h"
#include "graph/transient.h"
#include "runtime/stream.h"
#include "runtime/sync.h"

enum {
    EAGER_ELEMENTS = 2048,
    /* So many small operations in a row on recorded buffers: a loop over elements or rows
     * has begun, and what is recorded will not grow. Run it, and the loop eagerly. */
    SMALL_RUN = 4
};
/* Buffers that only the trace keeps alive may hold this much before it is flushed. */
static const int64_t HELD_BYTES_MAX = (int64_t)256 << 20;

asn_trace asn_the_trace = {.nodes = asn_the_trace.room};
/* lazy_wish: what the face asked for; off while conditions are to be met where they
 * arise. */
static bool lazy_on = true, lazy_wish = true, at_once;

/* ---- drafts */

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

static void ease_division(asn_node *n) {
    double inverse;
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

static int64_t *arena_take(asn_trace *t, int words) {
    int64_t *p = t->arena + t->arena_used;
    t->arena_used += (size_t)words;
    return p;
}

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

static void keep_ref(asn_trace *t, asn_ref *ref, int ndim) {
    if (!ref->buffer) {
        ref->strides = NULL;
        return;
    }
    int64_t *kept = arena_take(t, ndim);
    memcpy(kept, ref->strides, (size_t)ndim * sizeof *kept);
    ref->strides = kept;
    asn_buffer_retain(ref->buffer)->trace_refs++;
    t->reach += ref->buffer->nbytes;
}

static asn_status record(const asn_draft *d) {
    asn_trace *t = &asn_the_trace;
    uint32_t line = asn_record_line();
    if (t->count == ASN_TRACE_MAX_NODES) ASN_TRY(asn_trace_make_room());
    ASN_TRY(arena_room(t, 5 * d->node.ndim));
    asn_node *n = &t->nodes[t->count++];
    *n = d->node;
    n->line = line;
    ease_division(n);
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
    if (read < HELD_BYTES_MAX) t->look_at = t->reach + HELD_BYTES_MAX - read;
    return held > HELD_BYTES_MAX;
}

/* Looked into at every 16th node, and only where all that the trace reaches, buffers
 * counted once per reference, comes to so much. */
static bool may_hold_much(const asn_trace *t, int count) {
    return count % 16 == 0 && t->reach > HELD_BYTES_MAX && t->reach > t->look_at;
}

/* ---- the short way to record */

static inline void share_ref(asn_ref *ref, const asn_array *a, int64_t *strides) {
    ref->buffer = asn_buffer_retain(a->buffer);
    ref->buffer->trace_refs++;
    asn_the_trace.reach += a->buffer->nbytes;
    ref->offset = a->layout.offset;
    ref->dtype = a->layout.dtype;
    ref->strides = strides;
}

/* Strides as a draft writes them: 0 for an extent of 1. */
static int64_t *take_strides(const asn_layout *l) {
    int64_t *strides = arena_take(&asn_the_trace, l->ndim);
    for (int d = 0; d < l->ndim; d++)
        strides[d] = l->shape[d] == 1 ? 0 : l->strides[d];
    return strides;
}

/* One block of strides serves every operand with elements of one size. */
static void record_rows(asn_node *n, int num_in, const asn_operand *in,
                        const asn_array *result, asn_dtype loop) {
    asn_trace *t = &asn_the_trace;
    const asn_layout *l = &result->layout;
    n->shape = arena_take(t, l->ndim);
    for (int d = 0; d < l->ndim; d++)
        n->shape[d] = l->shape[d];
    int64_t *out = take_strides(l), *rows = l->dtype == loop ? out : NULL;
    share_ref(&n->out, result, out);
    n->out.buffer->trace_writes++;
    for (int k = 0; k < num_in; k++) {
        if (!in[k].array) {
            asn_draft_immediate(&n->in[k], &in[k].scalar);
            n->in[k].strides = NULL;
            continue;
        }
        if (!rows) rows = take_strides(&in[k].array->layout);
        share_ref(&n->in[k], in[k].array, rows);
    }
}

bool asn_trace_record_rows(asn_op op, asn_dtype loop, int num_in, const asn_operand *in,
                           const asn_array *result) {
    asn_trace *t = &asn_the_trace;
    const asn_layout *l = &result->layout;
    uint32_t line = l->size > EAGER_ELEMENTS ? asn_record_line() : 0;
    asn_lock();
    bool can = lazy_on && l->size > EAGER_ELEMENTS && !ASN_CAPTURING;
    for (int k = 0; k < num_in && can; k++)
        can = in[k].array
                  ? !in[k].array->buffer->shared && in[k].array->layout.ndim == l->ndim
                  : in[k].scalar.dtype == loop;
    if (t->kept) asn_transient_forget(t);
    can = can && t->arena && t->count < ASN_TRACE_MAX_NODES &&
          !may_hold_much(t, t->count + 1) &&
          t->arena_used + 5 * (size_t)l->ndim <= ASN_TRACE_ARENA;
    if (can) {
        asn_node *n = &t->nodes[t->count++];
        n->op = (uint16_t)op;
        n->reduce_op = ASN_OP_NONE;
        n->loop = (uint8_t)loop;
        n->num_in = (uint8_t)num_in;
        n->ndim = (uint8_t)l->ndim;
        n->accumulate = false;
        n->line = line;
        n->reduce_mask = 0;
        n->size = l->size;
        record_rows(n, num_in, in, result, loop);
        ease_division(n);
        asn_the_trace.small_run = 0;
        asn_counters.recorded++;
    }
    asn_unlock();
    return can;
}

static bool pending(const asn_node *n) {
    if (n->out.buffer->trace_refs) return true;
    for (int k = 0; k < n->num_in; k++)
        if (n->in[k].buffer && n->in[k].buffer->trace_writes) return true;
    return false;
}

static bool touches_shared(const asn_node *n) {
    bool shared = n->out.buffer->shared;
    for (int k = 0; k < n->num_in; k++)
        shared = shared || (n->in[k].buffer && n->in[k].buffer->shared);
    return shared;
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
    bool full = may_hold_much(t, t->count) && holds_much(t);
    return !may || full ? asn_trace_flush() : ASN_OK;
}

static asn_status submit_locked(asn_draft *d) {
    asn_node *n = &d->node;
    if (asn_the_trace.kept) asn_transient_forget(&asn_the_trace);
    if (ASN_CAPTURING) return submit_captured(d);
    bool waits = asn_the_trace.count && pending(n);
    bool shared = touches_shared(n);
    asn_the_trace.small_run =
        n->size > EAGER_ELEMENTS ? 0 : asn_the_trace.small_run + waits;
    if (asn_the_trace.small_run >= SMALL_RUN) {
        ASN_TRY(asn_trace_flush());
        waits = false;
    }
    if (!waits && (!lazy_on || shared || d->now || n->size <= EAGER_ELEMENTS)) {
        asn_counters.eager++;
        return asn_launch_node(n);
    }
    ASN_TRY(record(d));
    asn_trace *t = &asn_the_trace;
    if (!lazy_on || shared) return asn_trace_flush();
    if (may_hold_much(t, t->count) && holds_much(t)) return asn_trace_flush();
    return ASN_OK;
}

asn_status asn_trace_submit(asn_draft *d) {
    asn_lock();
    asn_status status = submit_locked(d);
    asn_unlock();
    return status;
}

/* ---- switches */

asn_status asn_synchronize(void) {
    static const char why[] = "synchronize()";
    asn_mark mark = {0, 0, -1};
    asn_lock();
    asn_status status = ASN_OK;
    if (asn_capture_open()) { /* nobody looks at anything: what is recorded runs */
        status = asn_trace_flush();
        asn_unlock();
        return status;
    }
    if (asn_the_trace.count || asn_stream_busy) status = asn_sync_begin(why, &mark);
    if (!status) status = asn_trace_flush();
    if (!status) status = asn_streams_wait_all();
    asn_sync_end(why, mark);
    asn_unlock();
    return status;
}

asn_status asn_set_lazy(bool on, bool *before) {
    asn_lock();
    if (before) *before = lazy_wish;
    lazy_wish = on;
    lazy_on = lazy_wish && !at_once;
    asn_status status = lazy_on ? ASN_OK : asn_trace_flush();
    asn_unlock();
    return status;
}

asn_status asn_set_at_once(bool on) {
    asn_lock();
    at_once = on;
    lazy_on = lazy_wish && !at_once;
    asn_status status = lazy_on ? ASN_OK : asn_trace_flush();
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
