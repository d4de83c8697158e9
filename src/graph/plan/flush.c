/* L2 graph: flushing: the recorded nodes are planned and run (see trace.h).
 *
 * All of them, when somebody asks for a value; as many of the oldest as is best, when the
 * trace is full (trace_split.c). More than a program holds go in parts that end where
 * little has to be stored. A flush may leave a result out that only the caller's stack
 * holds (transient.c): its node stays recorded.
 *
 * After a failure nothing of what was to run stays recorded: the values of later nodes
 * would be made of what was not computed. The lock is held throughout. */
#include <string.h>

#include "graph/plan/bands.h"
#include "graph/engine.h"
#include "graph/counters.h"
#include "graph/opcodes.h"
#include "graph/plan/launch.h"
#include "graph/profile_events.h"
#include "graph/plan/plan_cut.h"
#include "graph/trace/trace.h"
#include "graph/trace/trace_split.h"
#include "graph/trace/transient.h"
#include "graph/trace/unread.h"
#include "runtime/device.h"

/* The trace's reference goes; of a number there is none. */
static void drop_ref(asn_ref *ref) {
    if (!ref->buffer) return;
    ref->buffer->trace_refs--;
    asn_buffer_release(ref->buffer);
    ref->buffer = NULL;
}

/* A node that goes: it writes and reads nothing any more. */
static void drop_node(asn_node *n) {
    if (n->out.buffer) n->out.buffer->trace_writes--;
    drop_ref(&n->out);
    for (int k = 0; k < n->num_in; k++)
        drop_ref(&n->in[k]);
}

/* Whether the program's nodes are nodes of the trace, not slices. */
static bool is_whole(const asn_plan *plan, const asn_program *p) {
    for (int i = 0; i < p->num_nodes && plan->num_slices; i++)
        if (plan->slices[p->nodes[i]].cut) return false;
    return true;
}

/* Programs in order; a program's nodes let go of their buffers once it is launched, so
 * that dead operands return to the pool in stream order. The sources of copies that do
 * not run are held until their readers are. */
static asn_status run_plan(asn_plan *plan, asn_node *nodes, const bool *keep,
                           bool keeps) {
    asn_node room[ASN_TRACE_MAX_NODES];
    const asn_node *planned = asn_plan_nodes(plan, nodes, room);
    asn_bands bands;
    for (int g = 0, num = 1; g < plan->num_programs; g += num) {
        asn_program *p = &plan->programs[g];
        bands.num = 1;
        if (!plan->num_slices) asn_bands_find(&bands, plan, nodes, keep, g);
        num = bands.num;
        ASN_TRY(num > 1 ? asn_bands_run(&bands, plan, g, nodes)
                        : asn_launch_program(p, planned,
                                             !keeps && is_whole(plan, p) ? plan->forwarded
                                                                         : NULL));
        for (int done = g; done < g + num; done++, p++)
            for (int i = 0; i < p->num_nodes; i++) {
                int at = plan->num_slices ? plan->slices[p->nodes[i]].node : p->nodes[i];
                if (!keep[at] && plan->last[at] == done) drop_node(&nodes[at]);
            }
    }
    return ASN_OK;
}

/* No node is left: nodes and words begin at the front again. */
static void forget_extent(asn_trace *t) {
    t->nodes = t->room;
    t->arena = t->arena_room;
    t->arena_used = 0;
    t->reach = t->look_at = 0;
}

/* What nodes have in the arena, moved by so many words. */
static void move_extents(asn_trace *t, ptrdiff_t words) {
    for (int i = 0; i < t->count; i++) {
        asn_node *n = &t->nodes[i];
        n->shape += words;
        n->out.strides += words;
        for (int k = 0; k < n->num_in; k++)
            if (n->in[k].buffer) n->in[k].strides += words;
    }
}

/* Nodes and arena begin with the first remaining node, which has what comes first there.
 */
static void begin_later(asn_trace *t, int gone) {
    t->rows.itemsize = 0;
    if (t->count == 0) {
        forget_extent(t);
        return;
    }
    t->nodes += gone;
    t->arena_used -= (size_t)(t->nodes[0].shape - t->arena);
    t->arena = t->nodes[0].shape;
    if (t->nodes - t->room > ASN_TRACE_MAX_NODES) {
        memmove(t->room, t->nodes, (size_t)t->count * sizeof *t->nodes);
        t->nodes = t->room;
    }
    if (t->arena - t->arena_room > ASN_TRACE_ARENA) {
        memmove(t->arena_room, t->arena, t->arena_used * sizeof *t->arena);
        move_extents(t, t->arena_room - t->arena);
        t->arena = t->arena_room;
    }
}

/* (Contract in trace.h.) Nodes that have let go already are skipped. */
void asn_trace_drop_first(asn_trace *t, int n) {
    for (int i = 0; i < n; i++)
        if (t->nodes[i].out.buffer) drop_node(&t->nodes[i]);
    t->count -= n;
    begin_later(t, n);
}

/* After a flush: the nodes to keep move to the front, the others go. */
static void finish_nodes(asn_trace *t, const bool *keep) {
    int count = t->count;
    t->count = 0;
    for (int i = 0; i < count; i++) {
        if (keep[i])
            t->nodes[t->count++] = t->nodes[i];
        else if (t->nodes[i].out.buffer)
            drop_node(&t->nodes[i]);
    }
    t->kept = t->count;
    t->rows.itemsize = 0;
    if (t->count == 0) forget_extent(t);
}

/* Without the fused operator: one node after the other. */
static asn_status run_singly(asn_node *nodes, int count) {
    for (int i = 0; i < count; i++) {
        if (ASN_PROFILING) asn_profile_line_set(nodes[i].line);
        asn_status status = asn_lower_node(&nodes[i]);
        if (ASN_PROFILING) asn_profile_line_set(0);
        ASN_TRY(status);
        drop_node(&nodes[i]);
    }
    return ASN_OK;
}

/* dead[i]: nobody outside the trace can read what node i writes. */
static void find_dead(const asn_node *nodes, int count, bool *dead) {
    for (int i = 0; i < count; i++)
        dead[i] = asn_buffer_only_traced(nodes[i].out.buffer);
}

/* Runs the first `count` nodes, which must be all of them when some are to be kept. */
static asn_status run_first(asn_trace *t, int count, bool *keep, bool *keeps) {
    bool dead[ASN_TRACE_MAX_NODES], hit;
    asn_plan *plan;
    ASN_TRY(asn_device_open());
    if (!asn_fuse_enabled()) return run_singly(t->nodes, count);
    find_dead(t->nodes, count, dead);
    if (count == t->count)
        *keeps = asn_transient_keep(t, dead, keep);
    else
        /* Only some are run: what the rest reads must be stored. */
        asn_trace_spare_rest(t, count, dead);
    asn_unread_casts(t->nodes, count, dead);
    ASN_TRY(asn_plan_get(&plan, t->nodes, count, dead, &hit));
    if (hit)
        asn_counters.plan_hits++;
    else
        asn_counters.plan_misses++;
    return run_plan(plan, t->nodes, keep, *keeps);
}

/* The lock is recursive: a release callback, or an operator that a node is lowered to,
 * must not start over, nor look at the nodes. */
static bool flushing;

/* how_many: of the first nodes; the whole of a flush but for its parts. */
static asn_status flush_some(int (*how_many)(const asn_trace *t)) {
    asn_trace *t = &asn_the_trace;
    if (flushing) return ASN_OK;
    flushing = true; /* forgetting may release buffers, too */
    asn_transient_forget(t);
    t->rows.itemsize = 0;
    int count = how_many(t);
    if (count == 0) {
        flushing = false;
        return ASN_OK;
    }
    bool keep[ASN_TRACE_MAX_NODES] = {false}, keeps = false;
    asn_status status = run_first(t, count, keep, &keeps);
    if (keeps && status) memset(keep, 0, sizeof keep);
    if (count == t->count || status) /* the rest reads what has not been computed */
        finish_nodes(t, keep);
    else
        asn_trace_drop_first(t, count);
    t->small_run = 0;
    flushing = false;
    return status;
}

static int all_nodes(const asn_trace *t) {
    return t->count;
}

asn_status asn_trace_make_room(void) {
    return flush_some(asn_trace_split);
}

/* (Contract in trace.h.) First parts, as long as they end before the last node. */
asn_status asn_trace_flush(void) {
    asn_trace *t = &asn_the_trace;
    if (flushing) return ASN_OK;
    for (int before = 0; t->count != before && asn_trace_part(t) < t->count;) {
        before = t->count;
        ASN_TRY(asn_trace_make_room());
    }
    return flush_some(all_nodes);
}

/* (Contract in trace.h.) A write must also come after recorded reads. */
asn_status asn_trace_materialise(const asn_buffer *b, bool for_write) {
    if (b->trace_writes || (for_write && b->trace_refs)) return asn_trace_flush();
    return ASN_OK;
}
