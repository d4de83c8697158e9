/* L2 graph: results about to be dropped (see transient.h).
 *
 * A node may stay in the trace after a flush only if running it again gives the same: its
 * result has no memory yet, only it writes it, and what it reads is written by nobody
 * afterwards. All nodes that only feed it stay with it, or none stays at all.
 */
#include "graph/trace/transient.h"

#include <string.h>

#include "graph/lock.h"

/* The buffer of the result that a reader named, or NULL. */
static const asn_buffer *named;

/* (Contract in transient.h.) The one reference beside the trace's is that of the owner.
 */
void asn_transient_name(const asn_array *a) {
    asn_lock();
    named = NULL;
    if (a && a->buffer->trace_writes && !a->buffer->shared &&
        atomic_load_explicit(&a->buffer->refs, memory_order_acquire) ==
            a->buffer->trace_refs + 1)
        named = a->buffer;
    asn_unlock();
}

/* What node `at` reads is the same after the flush: nobody writes it, or one node that
 * comes before. */
static bool reads_materialise(const asn_trace *t, int at) {
    for (int k = 0; k < t->nodes[at].num_in; k++) {
        const asn_buffer *b = t->nodes[at].in[k].buffer;
        if (!b || b->trace_writes == 0) continue;
        bool before = false;
        for (int i = 0; i < at; i++)
            before |= t->nodes[i].out.buffer == b;
        if (b->trace_writes > 1 || !before) return false;
    }
    return true;
}

/* (Contract in transient.h.) From the last node to the first: a node is kept if it makes
 * the named result, or only feeds kept ones. */
bool asn_transient_keep(const asn_trace *t, bool *dead, bool *keep) {
    bool repeatable = named && named->trace_writes;
    for (int i = t->count - 1; i >= 0 && repeatable; i--) {
        const asn_buffer *b = t->nodes[i].out.buffer;
        keep[i] = b == named;
        for (int j = i + 1; j < t->count && dead[i] && !keep[i]; j++)
            for (int k = 0; k < t->nodes[j].num_in; k++)
                keep[i] |= keep[j] && t->nodes[j].in[k].buffer == b;
        if (keep[i])
            repeatable = !b->data && b->trace_writes == 1 && reads_materialise(t, i);
    }
    if (!repeatable) memset(keep, 0, (size_t)t->count * sizeof *keep);
    for (int i = 0; i < t->count; i++)
        dead[i] |= keep[i];
    return repeatable;
}

/* (Contract in transient.h.) Kept nodes come first in the trace, and the last of them
 * makes the result. They stay as ordinary nodes where that is still held, or read since.
 */
void asn_transient_forget(asn_trace *t) {
    if (!t->kept) return;
    const asn_buffer *b = t->nodes[t->kept - 1].out.buffer;
    bool dropped = atomic_load_explicit(&b->refs, memory_order_acquire) == b->trace_refs;
    for (int i = t->kept; i < t->count && dropped; i++)
        for (int k = 0; k < t->nodes[i].num_in; k++)
            dropped &= t->nodes[i].in[k].buffer != b; /* read since */
    if (dropped) asn_trace_drop_first(t, t->kept);
    t->kept = 0;
}
