/* L2 graph: where to end a full trace (see trace_split.h).
 *
 * Nobody asked for a value when a trace is full: it may run any number of its oldest
 * nodes. What crosses the cut has to be stored, and at the end of the trace that is the
 * most: the locals of functions that have not returned yet. So the cut goes where the
 * fewest bytes cross it, in a time loop between two of its steps, and then at the same
 * place in every step, which makes their plans equal. (Shallow water, 256 x 256: 39 -> 31
 * ms.) No part is longer than what one program holds: a plan of three full programs ends
 * the first two wherever they happen to be full, with seven arrays alive where two would
 * do (the escape times of a plane: 21 -> 14 MB).
 */
#include "graph/trace/trace_split.h"

#include <string.h>

#include "aclnn/aclnnx.h"

/* A program holds about so many operations: each is counted as two instructions, or more
 * where it casts. */
enum { PROGRAM = ACLNNX_MAX_INSTRS / 2, LEAST = PROGRAM / 2, NONE = -1 };

/* Whether somebody but the trace holds the buffer. */
static bool is_held(const asn_buffer *b) {
    return atomic_load_explicit(&b->refs, memory_order_acquire) != b->trace_refs;
}

/* Copies of pieces into a temporary mostly do not run (plan_forward.c). */
static bool counts(const asn_node *n) {
    return n->op != ASN_OP_COPY || n->reduce_op != ASN_OP_NONE || !n->in[0].buffer ||
           n->in[0].dtype != n->out.dtype || is_held(n->out.buffer);
}

/* More operations over the largest space, or most of it, than one program holds. */
static bool is_crowded(const asn_trace *t) {
    int64_t largest = 0;
    int num = 0;
    for (int i = 0; i < t->count; i++)
        if (t->nodes[i].size > largest) largest = t->nodes[i].size;
    for (int i = 0; i < t->count; i++) /* all but a row of it is as good */
        num += t->nodes[i].size > largest / 2;
    return num > PROGRAM;
}

/* The first node that writes each buffer and the last that touches it. */
static void find_lives(const asn_trace *t) {
    for (int i = 0; i < t->count; i++)
        t->nodes[i].out.buffer->trace_first = NONE;
    for (int i = 0; i < t->count; i++) {
        const asn_node *n = &t->nodes[i];
        asn_buffer *out = n->out.buffer;
        if (out->trace_first == NONE) out->trace_first = (int16_t)i;
        out->trace_last = (int16_t)i;
        for (int k = 0; k < n->num_in; k++)
            if (n->in[k].buffer) n->in[k].buffer->trace_last = (int16_t)i;
    }
}

/* Where the fewest bytes cross; *crossing: so many, *top: where the most do. */
static int find_cut(const asn_trace *t, int64_t *crossing, int64_t *top) {
    int64_t change[ASN_TRACE_MAX_NODES + 2] = {0}, alive = 0;
    int at = t->count, operations = 0;
    *crossing = INT64_MAX;
    *top = 0;
    find_lives(t);
    for (int i = 0; i < t->count; i++) {
        const asn_buffer *b = t->nodes[i].out.buffer;
        if (b->trace_first != i) continue;
        change[i + 1] += b->nbytes;
        if (!is_held(b)) change[b->trace_last + 1] -= b->nbytes;
    }
    for (int i = 1; i <= t->count; i++) {
        alive += change[i];
        if (alive > *top) *top = alive;
        operations += counts(&t->nodes[i - 1]);
        if (operations < LEAST || operations > PROGRAM || alive > *crossing) continue;
        *crossing = alive;
        at = i;
    }
    return at;
}

int asn_trace_split(const asn_trace *t) {
    int64_t crossing, top;
    return find_cut(t, &crossing, &top);
}

int asn_trace_part(const asn_trace *t) {
    int64_t crossing, top;
    if (!is_crowded(t)) return t->count;
    int at = find_cut(t, &crossing, &top);
    return crossing < top / 2 ? at : t->count;
}

void asn_trace_spare_rest(const asn_trace *t, int count, bool *dead) {
    for (int i = 0; i < t->count; i++)
        t->nodes[i].out.buffer->trace_last = NONE;
    for (int j = count; j < t->count; j++) {
        const asn_node *n = &t->nodes[j];
        n->out.buffer->trace_last = (int16_t)j;
        for (int k = 0; k < n->num_in; k++)
            if (n->in[k].buffer) n->in[k].buffer->trace_last = (int16_t)j;
    }
    for (int i = 0; i < count; i++)
        dead[i] &= t->nodes[i].out.buffer->trace_last == NONE;
}
