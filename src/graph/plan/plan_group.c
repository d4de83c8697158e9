/* L2 graph: which nodes of a trace make one program (see plan_group.h).
 *
 * Nodes are taken in program order; each goes into the first program that may hold it. A
 * node depends on an earlier one when they touch the same bytes and one of them writes:
 * read after write, write after read, write after write. If both touch exactly the same
 * place, element for element, the dependence is carried by a register and they may share
 * a program; any other overlap forces a later program. Thus views and in-place writes
 * need no rules of their own.
 *
 * What has nothing in common with a program joins it only if it walks memory in the same
 * order (plan_order.c).
 *
 * Then temporaries sink: a value that only a later program reads is computed there, where
 * it needs no memory. (x - x.mean(0)) / x.std(0) so reads x three times and writes once;
 * without, the difference is written and read back.
 *
 * Both steps are greedy and compare nodes pair by pair, which is affordable: a trace is
 * short, and its plan is kept.
 */
#include "graph/plan/plan_group.h"

#include <string.h>

#include "array/broadcast.h"
#include "base/strides.h"
#include "graph/plan/plan_order.h"

/* ---- places and dependences */

static bool same_shape(const asn_node *a, const asn_node *b) {
    return a->ndim == b->ndim &&
           !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

/* Element i of x is element i of y; both nodes have this shape. */
static bool same_place(const asn_node *node, const asn_ref *x, const asn_ref *y) {
    if (x->offset != y->offset || x->dtype != y->dtype) return false;
    for (int d = 0; d < node->ndim; d++)
        if (node->shape[d] > 1 && x->strides[d] != y->strides[d]) return false;
    return true;
}

bool asn_refs_overlap(const asn_node *a, const asn_ref *x, const asn_node *b,
                      const asn_ref *y) {
    if (x->buffer != y->buffer) return false;
    asn_layout l = {
        .ndim = a->ndim, .dtype = x->dtype, .size = a->size, .offset = x->offset};
    asn_layout m = {
        .ndim = b->ndim, .dtype = y->dtype, .size = b->size, .offset = y->offset};
    l.shape = a->shape;
    l.strides = x->strides;
    m.shape = b->shape;
    m.strides = y->strides;
    return asn_layouts_overlap(&l, &m);
}

/* Whether elements share memory: what is read back is then not what this element wrote.
 */
static bool writes_twice(const asn_node *node, const asn_ref *x) {
    return asn_strides_collide(node->ndim, node->shape, x->strides,
                               asn_itemsize(x->dtype));
}

/* How two nodes may stand: anywhere, the later in the same program or after, after. */
typedef enum { FREE, TOGETHER, LATER } dependence;

/* By one reference of each. A reduction's result is not there before its program ends. */
static dependence between(const asn_node *a, const asn_ref *x, const asn_node *b,
                          const asn_ref *y) {
    if (x->buffer != y->buffer || !x->buffer) return FREE;
    bool reduced = (a->reduce_op != ASN_OP_NONE && x == &a->out) ||
                   (b->reduce_op != ASN_OP_NONE && y == &b->out);
    if (!reduced && same_shape(a, b) && same_place(a, x, y))
        return writes_twice(a, x) ? LATER : TOGETHER;
    return asn_refs_overlap(a, x, b, y) ? LATER : FREE;
}

/* How `later` depends on `earlier`. */
static dependence depends(const asn_node *earlier, const asn_node *later) {
    dependence most = between(earlier, &earlier->out, later, &later->out);
    for (int k = 0; k < later->num_in && most != LATER; k++) {
        dependence d = between(earlier, &earlier->out, later, &later->in[k]);
        most = d > most ? d : most;
    }
    for (int k = 0; k < earlier->num_in && most != LATER; k++) {
        dependence d = between(earlier, &earlier->in[k], later, &later->out);
        most = d > most ? d : most;
    }
    return most;
}

/* ---- grouping */

/* Instructions a node can take: its casts, itself, and a copy where its value may have to
 * stand twice. */
static int most_instrs(const asn_node *node) {
    int n = 2;
    asn_dtype loop = (asn_dtype)node->loop;
    for (int k = 0; k < node->num_in; k++)
        n += (asn_dtype)node->in[k].dtype != asn_op_operand((asn_op)node->op, k, loop);
    return n + (asn_op_result((asn_op)node->op, loop) != (asn_dtype)node->out.dtype);
}

/* Whether the program can take the node in; *why: not. */
static bool fits(const asn_group *g, const asn_node *nodes, const asn_node *node,
                 asn_cut *why) {
    if (!same_shape(&nodes[g->first], node))
        *why = ASN_CUT_SHAPE;
    else if (node->reduce_op != ASN_OP_NONE && g->reduce_mask &&
             g->reduce_mask != node->reduce_mask)
        *why = ASN_CUT_REDUCTION;
    else if (g->operands + node->num_in + 1 > ACLNNX_MAX_OPERANDS ||
             g->instrs + most_instrs(node) > ACLNNX_MAX_INSTRS)
        *why = ASN_CUT_LIMIT;
    else
        return true;
    return false;
}

bool asn_refs_same_value(const asn_node *node, const asn_ref *x, const asn_ref *y) {
    if (x->buffer != y->buffer) return false;
    if (!x->buffer)
        return x->dtype == y->dtype && !memcmp(x->immediate, y->immediate, 16);
    return same_place(node, x, y);
}

/* Reads of node `at` that no node of the group loads or computes already. */
static int new_loads(const asn_plan *plan, int g, const asn_node *nodes, int at) {
    int fresh = 0;
    for (int k = 0; k < nodes[at].num_in; k++) {
        const asn_ref *ref = &nodes[at].in[k];
        bool known = false;
        for (int i = 0; i < at && !known; i++) {
            if (plan->group_of[i] != g) continue;
            known = asn_refs_same_value(&nodes[at], &nodes[i].out, ref);
            for (int m = 0; m < nodes[i].num_in && !known; m++)
                known = asn_refs_same_value(&nodes[at], &nodes[i].in[m], ref);
        }
        fresh += !known;
    }
    return fresh;
}

/* Whether `node` reads what `written` writes. */
static bool reads(const asn_node *node, const asn_node *written) {
    for (int k = 0; k < node->num_in; k++)
        if (node->in[k].buffer == written->out.buffer) return true;
    return false;
}

/* Of what node i reads from copies that do not run, `later` writes the source. */
static bool spoils_source(const asn_plan *plan, const asn_node *nodes, int i,
                          const asn_node *later) {
    for (int c = 0; c < i; c++)
        if (plan->forwarded[c] && reads(&nodes[i], &nodes[c]) &&
            asn_refs_overlap(later, &later->out, &nodes[c], &nodes[c].in[0]))
            return true;
    return false;
}

/* The first program that node j may be in for the sake of node i before it. The reader of
 * a copy that does not run reads the source (plan_forward.c), so it follows those who
 * write that. */
static int follows(const asn_plan *plan, const asn_node *nodes, int i, int j,
                   dependence *d) {
    *d = depends(&nodes[i], &nodes[j]);
    if (plan->forwarded[i] && reads(&nodes[j], &nodes[i])) {
        int group = 0;
        for (int w = 0; w < i; w++)
            if (plan->group_of[w] >= group &&
                asn_refs_overlap(&nodes[w], &nodes[w].out, &nodes[i], &nodes[i].in[0]))
                group = plan->group_of[w] + 1;
        return group;
    }
    if (*d != LATER && spoils_source(plan, nodes, i, &nodes[j])) *d = LATER;
    return *d == LATER ? plan->group_of[i] + 1 : *d == TOGETHER ? plan->group_of[i] : 0;
}

/* Whether node i reads what copies that do not run would have written. */
static bool reads_forwarded(const asn_plan *plan, const asn_node *nodes, int i) {
    for (int c = 0; c < i; c++)
        if (plan->forwarded[c] && reads(&nodes[i], &nodes[c])) return true;
    return false;
}

/* Whether node j would bring a reduction and what runs in regions (plan_forward.c) into
 * one program. */
static bool mixes(const asn_plan *plan, int g, const asn_node *nodes, int count, int j) {
    const bool reduces = nodes[j].reduce_op != ASN_OP_NONE,
               regions = reads_forwarded(plan, nodes, j);
    for (int i = 0; i < count && (reduces || regions); i++)
        if (plan->group_of[i] == g && ((regions && nodes[i].reduce_op != ASN_OP_NONE) ||
                                       (reduces && reads_forwarded(plan, nodes, i))))
            return true;
    return reduces && regions;
}

/* Whether node j has an element in common with node i: one of them writes it, or both
 * read it. */
static bool shares(const asn_node *nodes, int i, int j) {
    const asn_node *a = &nodes[i], *b = &nodes[j];
    if (depends(a, b) != FREE) return true;
    for (int k = 0; k < a->num_in; k++)
        for (int m = 0; m < b->num_in; m++)
            if (a->in[k].buffer && asn_refs_same_value(b, &a->in[k], &b->in[m]))
                return true;
    return false;
}

/* Whether node j, in program g, would have memory walked in another order than what is
 * there, or than it has itself: of a stranger in any; of anybody by results that cross.
 */
static bool strays(const asn_plan *plan, int g, const asn_node *nodes, const bool *dead,
                   int j) {
    bool alike = true;
    for (int i = 0; i < j; i++) {
        if (plan->group_of[i] != g) continue;
        if (!dead[i] && !dead[j] && asn_results_cross(&nodes[i], &nodes[j])) return true;
        alike = alike && asn_nodes_walk_alike(&nodes[i], &nodes[j]);
    }
    for (int i = 0; i < j && !alike; i++)
        if (plan->group_of[i] == g && shares(nodes, i, j)) return false;
    return !alike;
}

/* `count_dead`: results that only the trace holds count as outputs too, which they are
 * when another program reads them. Most never are, so a first try leaves them out;
 * stores_fit tells whether that held. */
static int assign_groups(asn_plan *plan, asn_group *groups, const asn_node *nodes,
                         int count, const bool *dead, bool fuse, bool count_dead) {
    int num = 0;
    for (int j = 0; j < count; j++) {
        int earliest = 0;
        asn_cut why = ASN_CUT_SHAPE;
        for (int i = 0; i < j; i++) {
            dependence d;
            int need = follows(plan, nodes, i, j, &d);
            if (need > earliest) {
                earliest = need;
                if (d == LATER)
                    why = nodes[i].reduce_op != ASN_OP_NONE ? ASN_CUT_REDUCTION
                                                            : ASN_CUT_OVERLAP;
            }
        }
        /* Why the last program ends, for asn_explain. */
        if (num && earliest == num) groups[num - 1].cut = why;
        int g = fuse ? earliest : num;
        for (; g < num; g++) {
            if (!fits(&groups[g], nodes, &nodes[j], &groups[g].cut)) continue;
            if (mixes(plan, g, nodes, j, j)) continue;
            if (!strays(plan, g, nodes, dead, j)) break;
            groups[g].cut = ASN_CUT_ORDER;
        }
        if (g == num) groups[num++] = (asn_group){.first = j, .cut = ASN_CUT_END};
        plan->group_of[j] = (uint8_t)g;
        groups[g].operands += new_loads(plan, g, nodes, j) + (count_dead || !dead[j]);
        groups[g].instrs += most_instrs(&nodes[j]);
        if (nodes[j].reduce_op != ASN_OP_NONE)
            groups[g].reduce_mask = nodes[j].reduce_mask;
    }
    return num;
}

/* (Contract in plan_group.h.) Dead results only for other programs; of a reduction also
 * for its own, as it is not there while that runs. */
bool asn_plan_must_store(const asn_plan *plan, const asn_node *nodes, int count,
                         const bool *dead, int at) {
    const asn_node *node = &nodes[at];
    int g = plan->group_of[at];
    if (plan->forwarded[at]) return false;
    for (int j = at + 1; j < count; j++)
        if (plan->group_of[j] == g && node->reduce_op == ASN_OP_NONE &&
            nodes[j].reduce_op == ASN_OP_NONE &&
            nodes[j].out.buffer == node->out.buffer && same_shape(node, &nodes[j]) &&
            same_place(node, &node->out, &nodes[j].out))
            return false; /* overwritten by the same program */
    if (!dead[at]) return true;
    for (int j = 0; j < count; j++) {
        if (plan->group_of[j] == g && node->reduce_op == ASN_OP_NONE) continue;
        for (int k = 0; k < nodes[j].num_in; k++)
            if (asn_refs_overlap(&nodes[j], &nodes[j].in[k], node, &node->out))
                return true;
        if (j != at && nodes[j].accumulate && nodes[j].out.buffer == node->out.buffer)
            return true;
    }
    return false;
}

/* Loads and stores of each program within its limit. */
static bool stores_fit(const asn_plan *plan, const asn_group *groups, int num_groups,
                       const asn_node *nodes, int count, const bool *dead) {
    int operands[ASN_TRACE_MAX_NODES];
    for (int g = 0; g < num_groups; g++)
        operands[g] = groups[g].operands;
    for (int i = 0; i < count; i++)
        if (dead[i])
            operands[plan->group_of[i]] +=
                asn_plan_must_store(plan, nodes, count, dead, i);
    for (int g = 0; g < num_groups; g++)
        if (operands[g] > ACLNNX_MAX_OPERANDS) return false;
    return true;
}

/* ---- temporaries sink */

/* The one program other than its own whose nodes read node j, element for element; -1:
 * there is none, or more. */
static int only_reader(const asn_plan *plan, const asn_node *nodes, int count, int j) {
    int reader = -1;
    for (int i = 0; i < count; i++) {
        bool touches = nodes[i].out.buffer == nodes[j].out.buffer;
        if (i != j && touches) return -1; /* written in pieces, or again */
        if (i == j || !reads(&nodes[i], &nodes[j])) continue;
        if (i < j || plan->group_of[i] == plan->group_of[j] ||
            (reader >= 0 && plan->group_of[i] != reader) ||
            depends(&nodes[j], &nodes[i]) != TOGETHER)
            return -1;
        reader = plan->group_of[i];
    }
    return reader;
}

/* Nothing is lost when node j leaves its program: what it reads lies in memory anyway, or
 * follows it. */
static bool leaves_nothing(const asn_plan *plan, const asn_node *nodes, int count,
                           const bool *dead, int j) {
    for (int i = 0; i < j; i++) {
        if (plan->group_of[i] != plan->group_of[j] || !reads(&nodes[j], &nodes[i]))
            continue;
        if (asn_plan_must_store(plan, nodes, count, dead, i)) continue;
        for (int k = 0; k < count; k++)
            if (k != j && k != i && reads(&nodes[k], &nodes[i])) return false;
    }
    return true;
}

/* Nobody between the two programs writes what node j reads. */
static bool may_wait(const asn_plan *plan, const asn_node *nodes, int count, int j,
                     int until) {
    for (int i = j + 1; i < count; i++)
        if (plan->group_of[i] <= until && !reads(&nodes[i], &nodes[j]) &&
            depends(&nodes[j], &nodes[i]) != FREE)
            return false;
    return true;
}

/* The program that temporary j may be computed in instead of its own; -1: none. */
static int sinks_to(const asn_plan *plan, const asn_group *groups, const asn_node *nodes,
                    int count, const bool *dead, int j) {
    asn_cut why;
    if (!dead[j] || nodes[j].reduce_op != ASN_OP_NONE) return -1;
    int to = only_reader(plan, nodes, count, j);
    return to >= 0 && fits(&groups[to], nodes, &nodes[j], &why) &&
                   !mixes(plan, to, nodes, count, j) &&
                   may_wait(plan, nodes, count, j, to) &&
                   leaves_nothing(plan, nodes, count, dead, j)
               ? to
               : -1;
}

/* Bytes that the moved nodes and those that they read store. */
static int64_t stored_by(const asn_plan *plan, const asn_node *nodes, int count,
                         const bool *dead, const bool *moved) {
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bool counts = moved[i];
        for (int j = i + 1; j < count && !counts; j++)
            counts = moved[j] && reads(&nodes[j], &nodes[i]);
        if (counts && asn_plan_must_store(plan, nodes, count, dead, i))
            bytes += nodes[i].size * asn_itemsize((asn_dtype)nodes[i].out.dtype);
    }
    return bytes;
}

/* Moves temporary j, and with it what it reads and may go along. Where others then have
 * to be stored in its place, nothing is won (the difference that a stencil's update adds
 * would be two sums): back again. */
static void sink(asn_plan *plan, asn_group *groups, const asn_node *nodes, int count,
                 const bool *dead, int j) {
    bool moved[ASN_TRACE_MAX_NODES] = {false};
    int to = sinks_to(plan, groups, nodes, count, dead, j), from = plan->group_of[j];
    if (to < 0) return;
    asn_group before = groups[to];
    /* Backwards from j: what was moved may take its own temporaries along. */
    for (int i = j; i >= 0; i--) {
        bool goes = i == j;
        for (int k = i + 1; k <= j && !goes; k++)
            goes = moved[k] && plan->group_of[i] == from && reads(&nodes[k], &nodes[i]);
        if (!goes || sinks_to(plan, groups, nodes, count, dead, i) != to) continue;
        groups[to].operands += nodes[i].num_in;
        groups[to].instrs += most_instrs(&nodes[i]);
        plan->group_of[i] = (uint8_t)to;
        moved[i] = true;
    }
    int64_t after = stored_by(plan, nodes, count, dead, moved);
    for (int i = 0; i <= j; i++)
        if (moved[i]) plan->group_of[i] = (uint8_t)from;
    if (after >= stored_by(plan, nodes, count, dead, moved)) {
        groups[to] = before;
        return;
    }
    for (int i = 0; i <= j; i++)
        if (moved[i]) plan->group_of[i] = (uint8_t)to;
}

/* The last ones first: they may make their operands' turn. */
static void sink_temporaries(asn_plan *plan, asn_group *groups, const asn_node *nodes,
                             int count, const bool *dead) {
    for (int j = count - 1; j >= 0; j--)
        sink(plan, groups, nodes, count, dead, j);
}

/* Programs that lost all their nodes go. */
static int drop_empty(asn_plan *plan, asn_group *groups, int num_groups, int count) {
    int kept = 0;
    for (int g = 0; g < num_groups; g++) {
        bool empty = true;
        for (int i = 0; i < count; i++)
            empty &= plan->group_of[i] != g;
        if (empty) continue;
        for (int i = 0; i < count && kept != g; i++)
            if (plan->group_of[i] == g) plan->group_of[i] = (uint8_t)kept;
        groups[kept++] = groups[g];
    }
    return kept;
}

/* (Contract in plan_group.h.) Three tries: without counting dead results, then with, and
 * sunk temporaries if they still fit. */
int asn_plan_group_nodes(asn_plan *plan, asn_group *groups, const asn_node *nodes,
                         int count, const bool *dead, bool fuse) {
    int num = assign_groups(plan, groups, nodes, count, dead, fuse, false);
    if (!stores_fit(plan, groups, num, nodes, count, dead))
        return assign_groups(plan, groups, nodes, count, dead, fuse, true);
    if (!fuse || num < 2) return num;
    uint8_t before[ASN_TRACE_MAX_NODES];
    asn_group as_before[ASN_TRACE_MAX_NODES];
    memcpy(before, plan->group_of, sizeof before);
    memcpy(as_before, groups, (size_t)num * sizeof *groups);
    sink_temporaries(plan, groups, nodes, count, dead);
    if (stores_fit(plan, groups, num, nodes, count, dead))
        return drop_empty(plan, groups, num, count);
    memcpy(plan->group_of, before, sizeof before);
    memcpy(groups, as_before, (size_t)num * sizeof *groups);
    return num;
}
