/* L2 graph: drafts of operations, and their recording as nodes (see trace.h;
 * plan/submit.c decides which are recorded, plan/flush.c runs them).
 *
 * Nodes and their shapes and strides lie in two rooms of fixed size, filled from front to
 * back: recording is a few stores, and pointers into the rooms stay.
 */
#include "graph/trace/trace.h"

#include <math.h>
#include <string.h>

#include "array/broadcast.h"
#include "graph/trace/axes.h"
#include "graph/counters.h"
#include "graph/opcodes.h"
#include "graph/profile_events.h"

asn_trace asn_the_trace = {.lazy = true, .nodes = asn_the_trace.room};

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

/* With what the node reads and writes counted on the buffers. */
asn_status asn_trace_record(asn_draft *d) {
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
