/* L2 graph: the trace, the list of recorded operations in program order.
 *
 * A node is one typed operation over an iteration space: it reads up to three references
 * and writes one. A reference is a place (buffer, offset, strides over the node's shape)
 * or an immediate scalar; its dtype may differ from what the operation wants, the cast is
 * implied. A node whose `reduce_op` is set accumulates its first operand into `out`,
 * whose strides are 0 along the axes of reduce_mask. In-place writes and views need no
 * other rule: order is kept, and aliasing is seen in the buffers.
 *
 * A buffer counts the trace's references to it (trace_refs) and the nodes that write it
 * (trace_writes): so what is pending on an array is seen without a search, and a
 * temporary that only the trace still holds need not be computed into memory.
 *
 * A node never partially overlaps itself: asn_ufunc_call and asn_assign put a temporary
 * between overlapping operands. */
#ifndef ASN_GRAPH_TRACE_TRACE_H
#define ASN_GRAPH_TRACE_TRACE_H

#include "graph/array.h"
#include "ops/ops.h"
#include "runtime/streams/stream.h"

enum {
    ASN_TRACE_MAX_NODES = 192,
    ASN_TRACE_ARENA = 192 * 4 * 8,
    ASN_TRACE_EAGER = 2048 /* elements; larger operations are recorded */
};
/* Buffers that only the trace keeps alive may hold this much before it is flushed. */
#define ASN_TRACE_HELD_BYTES ((int64_t)256 << 20)

/* A place that a node reads or writes, or a number that it reads. */
typedef struct {
    asn_buffer *buffer; /* NULL: immediate */
    int64_t offset;
    int64_t *strides;                  /* bytes; the node's ndim of them */
    _Alignas(8) uint8_t immediate[16]; /* which loops read where it lies */
    uint8_t dtype;
} asn_ref;

/* A recorded operation. */
typedef struct {
    union {
        struct {
            uint16_t op;        /* asn_op; ASN_OP_COPY for a plain reduction */
            uint16_t reduce_op; /* ASN_OP_NONE, or the reduction of in[0] */
            uint8_t loop;       /* loop dtype */
            uint8_t num_in;
            uint8_t ndim;
            bool accumulate; /* a reduction whose first value is already in out */
        };
        uint64_t head; /* all of these; the bits above accumulate's are free */
    };
    uint32_t line; /* of the program that recorded it; set while there is a profile */
    uint64_t reduce_mask;
    int64_t size; /* of the iteration space */
    int64_t *shape;
    asn_ref out, in[3];
} asn_node;

/* The recorded nodes; the library's lock is held around every use. */
typedef struct {
    int count;
    bool lazy; /* operations are recorded */
    bool
        at_once; /* floating-point exceptions are wanted from the call that raised them */
    int kept; /* the first ones, whose result an earlier flush left out (transient.h) */
    /* The nodes, and an arena with their shapes and strides. When the oldest go, both
     * begin further on in their rooms, twice as long, and move back only when half of a
     * room is behind them. */
    asn_node *nodes, room[2 * ASN_TRACE_MAX_NODES];
    int64_t *arena, *arena_room; /* owns; NULL before the first node */
    size_t arena_used;
    /* A row-major array of the shape of the last node's result, and its shape and strides
     * in the arena, which the next node may share; itemsize 0: it has none to share.
     * Where there are some, operations are recorded, and none is kept from an earlier
     * flush. */
    struct {
        int itemsize;
        int64_t *shape, *strides;
        asn_layout model;
    } rows;
    int small_run;   /* small operations in a row on recorded buffers */
    int64_t reach;   /* bytes of the buffers with storage that it has come to refer to */
    int64_t look_at; /* the reach from which on to look what the trace holds */
} asn_trace;

extern asn_trace asn_the_trace;

/* A node being built on the caller's stack, with room for its dimensions. */
typedef struct {
    asn_node node;
    bool now;                      /* rather run it at once, whatever its size */
    int64_t dims[5][ASN_MAX_DIMS]; /* shape, out, in[0..2] */
} asn_draft;

/* Starts a draft over `shape`; refs point into its dims. */
void asn_draft_init(asn_draft *d, asn_op op, asn_dtype loop, int ndim,
                    const int64_t *shape);
/* Operand slot: an array broadcast to the draft's shape (which it must fit), or an
 * immediate. */
void asn_draft_array(asn_draft *d, asn_ref *ref, const asn_array *a);
void asn_draft_immediate(asn_ref *ref, const asn_scalar *s);

/* Records the draft, or runs it at once: when laziness is off or pays nothing (small, and
 * nothing pending on its buffers), or when a buffer is shared with the host. Draft
 * operands are borrowed; the trace retains their buffers. */
ASN_CHECK_RESULT asn_status asn_trace_submit(asn_draft *d);

/* Appends the draft's node, after making room. Lock held. */
ASN_CHECK_RESULT asn_status asn_trace_record(asn_draft *d);

/* A division by a number whose inverse is exact becomes a product. */
void asn_node_ease_division(asn_node *n);

/* After a launch on these arrays: waits where the device runs behind the program
 * (stream.h) and the program may not go on: the host shares their memory, or
 * floating-point exceptions are to be reported now (`now`; always while they are errors).
 * With several streams that is the program's own affair. */
ASN_CHECK_RESULT asn_status asn_trace_catch_up(bool now);
ASN_CHECK_RESULT static inline asn_status
asn_trace_catch_up_on(int num, const asn_array *const *arrays) {
    bool shared = false;
    for (int i = 0; i < num && asn_stream_lags; i++)
        shared |= arrays[i]->buffer->shared;
    return asn_stream_lags ? asn_trace_catch_up(shared) : ASN_OK;
}

/* Counts one more reference of the trace to b; returns what its reach grows by. */
static inline int64_t asn_trace_count_ref(asn_buffer *b) {
    return b->trace_refs++ || !b->data ? 0 : b->nbytes;
}

/* Whether to look what the trace holds, now that it has `count` nodes: at every 16th, and
 * only where all that it reaches comes to so much. */
static inline bool asn_trace_may_hold_much(const asn_trace *t, int count) {
    return count % 16 == 0 && t->reach > ASN_TRACE_HELD_BYTES && t->reach > t->look_at;
}

/* Forgets the first n nodes. Lock held. */
void asn_trace_drop_first(asn_trace *t, int n);

/* Runs as many of the oldest nodes as is best. Lock held. */
ASN_CHECK_RESULT asn_status asn_trace_make_room(void);
/* Runs all recorded nodes (enqueues them on the stream). Lock held. */
ASN_CHECK_RESULT asn_status asn_trace_flush(void);
/* Flushes if a recorded node writes the buffer (or, for_write, also if one reads it).
 * Lock held. */
ASN_CHECK_RESULT asn_status asn_trace_materialise(const asn_buffer *b, bool for_write);

#endif
