/* L2 graph: nodes in slices, so that updates of parts of an array fuse (see plan_cut.h).
 *
 * r = 4 * u; r[1:] -= u[:-1]; r[:-1] -= u[1:] are three passes over r, since programs
 * have one shape. Cut at the first and the last row they are three small problems: the
 * rows between take part in all three operations, which become one program, the first and
 * the last row in two. A node is elementwise and never overlaps itself, so it may be
 * taken apart freely; what may be fused then is decided by the grouping, which sees
 * slices as nodes like any other (equal edges share a program, so the nine regions of a
 * five-point stencil are four). Whether it pays is for the planner to compare (plan.c):
 * conjugate gradients on 256 x 256 go from five passes to one.
 *
 * A *frame* is the iteration space of the largest node that touches such an array; its
 * members are the nodes whose references to the array lie at one place of the frame, and
 * those that make a member's temporaries or read its results element for element. Only
 * positive strides and up to four dimensions: everything else is left whole. */
#include "graph/plan/plan_cut.h"

#include <string.h>

enum { MAX_CUTS = 8, MOST_FRAMES = 4 /* tried, each costs 0.1 ms */, NONE = -1 };

/* The members of a frame, and where they lie in it. */
typedef struct {
    const asn_node *nodes;
    const bool *dead;
    int count, ndim;
    const int64_t *shape, *strides; /* of the frame, and of its array */
    const asn_buffer *array;
    int64_t offset;
    uint8_t dtype;
    bool member[ASN_TRACE_MAX_NODES];
    int64_t start[ASN_TRACE_MAX_NODES][ASN_SLICE_DIMS];
    int num_cuts[ASN_SLICE_DIMS];
    int64_t cuts[ASN_SLICE_DIMS][MAX_CUTS]; /* ascending */
} frame;

/* Elementwise, and of as many dimensions. */
static bool may_join(const frame *f, int at) {
    const asn_node *node = &f->nodes[at];
    return node->reduce_op == ASN_OP_NONE && node->ndim == f->ndim;
}

/* Where `ref`, of a node of this shape, begins in the frame; false: it does not lie in
 * it element for element. */
static bool locate(const frame *f, const int64_t *shape, const asn_ref *ref,
                   int64_t *start) {
    int64_t rest = ref->offset - f->offset;
    bool done[ASN_SLICE_DIMS] = {false};
    if (ref->dtype != f->dtype || rest < 0) return false;
    for (int k = 0; k < f->ndim; k++) {
        int d = 0; /* strides in descending order */
        while (done[d])
            d++;
        for (int i = d + 1; i < f->ndim; i++)
            if (!done[i] && f->strides[i] > f->strides[d]) d = i;
        done[d] = true;
        start[d] = f->strides[d] > 0 ? rest / f->strides[d] : 0;
        rest -= start[d] * f->strides[d];
        if ((shape[d] > 1 && ref->strides[d] != f->strides[d]) || f->strides[d] < 0 ||
            (f->strides[d] == 0 && f->shape[d] > 1) || start[d] + shape[d] > f->shape[d])
            return false;
    }
    return rest == 0;
}

/* Reference `slot` of a node: 0 = out, 1.. = in. */
static const asn_ref *ref_of(const asn_node *node, int slot) {
    return slot == 0 ? &node->out : &node->in[slot - 1];
}

/* Node `at` touches the array, at one place of the frame only; sets its start there. */
static bool lies_in(frame *f, int at) {
    const asn_node *node = &f->nodes[at];
    bool found = false;
    int64_t start[ASN_SLICE_DIMS] = {0};
    for (int k = 0; k <= node->num_in; k++) {
        const asn_ref *ref = ref_of(node, k);
        if (ref->buffer != f->array) continue;
        if (!locate(f, node->shape, ref, start)) return false;
        if (found && memcmp(start, f->start[at], sizeof start) != 0) return false;
        memcpy(f->start[at], start, sizeof start);
        found = true;
    }
    return found;
}

/* Whether element i of x, over a's shape, is element i of y, over b's. */
static bool same_elements(const asn_node *a, const asn_ref *x, const asn_node *b,
                          const asn_ref *y) {
    if (x->buffer != y->buffer || x->offset != y->offset || x->dtype != y->dtype)
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] ||
            (a->shape[d] > 1 && x->strides[d] != y->strides[d]))
            return false;
    return true;
}

/* How many nodes write the buffer. */
static int writers(const frame *f, const asn_buffer *b) {
    int n = 0;
    for (int i = 0; i < f->count; i++)
        n += f->nodes[i].out.buffer == b;
    return n;
}

/* Node `at` makes a temporary that only members read, all at one place of the frame,
 * where it is then a member, too. */
static bool feeds(frame *f, int at) {
    const asn_node *node = &f->nodes[at];
    int reader = NONE;
    if (!f->dead[at] || writers(f, node->out.buffer) != 1) return false;
    for (int i = 0; i < f->count; i++)
        for (int k = 0; k < f->nodes[i].num_in; k++) {
            const asn_ref *ref = &f->nodes[i].in[k];
            if (ref->buffer != node->out.buffer) continue;
            if (!f->member[i] || !same_elements(node, &node->out, &f->nodes[i], ref) ||
                (reader != NONE &&
                 memcmp(f->start[i], f->start[reader], sizeof f->start[i]) != 0))
                return false;
            reader = i;
        }
    if (reader != NONE) memcpy(f->start[at], f->start[reader], sizeof f->start[at]);
    return reader != NONE;
}

/* Node `at` reads what a member, alone, writes: it lies where that does. */
static bool follows(frame *f, int at) {
    const asn_node *node = &f->nodes[at];
    for (int i = 0; i < at; i++) {
        const asn_node *before = &f->nodes[i];
        if (!f->member[i] || before->out.buffer == f->array) continue;
        for (int k = 0; k < node->num_in; k++)
            if (same_elements(node, &node->in[k], before, &before->out) &&
                writers(f, before->out.buffer) == 1) {
                memcpy(f->start[at], f->start[i], sizeof f->start[at]);
                return true;
            }
    }
    return false;
}

/* An edge of a member along axis d, in order, once; false: there are too many. */
static bool add_cut(frame *f, int d, int64_t at) {
    int n = f->num_cuts[d], i = n;
    while (i > 0 && f->cuts[d][i - 1] > at)
        i--;
    if (i > 0 && f->cuts[d][i - 1] == at) return true;
    if (n == MAX_CUTS) return false;
    memmove(&f->cuts[d][i + 1], &f->cuts[d][i], (size_t)(n - i) * sizeof at);
    f->cuts[d][i] = at;
    f->num_cuts[d]++;
    return true;
}

/* The frame of the array that node `at` writes a part of; false: it has none, or too
 * many edges. */
static bool find_frame(frame *f, int at) {
    const asn_buffer *array = f->nodes[at].out.buffer;
    const asn_node *largest = &f->nodes[at];
    const asn_ref *whole = &largest->out;
    f->ndim = largest->ndim;
    memset(f->member, 0, sizeof f->member);
    memset(f->num_cuts, 0, sizeof f->num_cuts);
    for (int i = 0; i < f->count; i++)
        for (int k = 0; k <= f->nodes[i].num_in && may_join(f, i); k++)
            if (ref_of(&f->nodes[i], k)->buffer == array &&
                f->nodes[i].size > largest->size) {
                largest = &f->nodes[i];
                whole = ref_of(largest, k);
            }
    if (largest == &f->nodes[at]) return false;
    f->array = array;
    f->shape = largest->shape;
    f->strides = whole->strides;
    f->offset = whole->offset;
    f->dtype = whole->dtype;
    /* Those that touch the array; then, backwards, what feeds them; then what follows
     * them. */
    for (int i = 0; i < f->count; i++)
        f->member[i] = may_join(f, i) && lies_in(f, i);
    for (int i = f->count - 1; i >= 0; i--)
        f->member[i] = f->member[i] || (may_join(f, i) && feeds(f, i));
    for (int i = 0; i < f->count; i++)
        f->member[i] = f->member[i] || (may_join(f, i) && follows(f, i));
    for (int i = 0; i < f->count; i++)
        for (int d = 0; d < f->ndim && f->member[i]; d++)
            if (!add_cut(f, d, f->start[i][d]) ||
                !add_cut(f, d, f->start[i][d] + f->nodes[i].shape[d]))
                return false;
    return f->member[at];
}

/* Appends the slices of node `at`: the boxes between the cuts that it covers. */
static int slice_member(const frame *f, int at, asn_slice *slices, int num) {
    const asn_node *node = &f->nodes[at];
    int index[ASN_SLICE_DIMS], first[ASN_SLICE_DIMS], end[ASN_SLICE_DIMS];
    for (int d = 0; d < f->ndim; d++) {
        for (first[d] = 0; f->cuts[d][first[d]] != f->start[at][d];)
            first[d]++;
        for (end[d] = first[d]; f->cuts[d][end[d]] != f->start[at][d] + node->shape[d];)
            end[d]++;
        index[d] = first[d];
    }
    for (int d = 0; d >= 0;) {
        if (num == ASN_TRACE_MAX_NODES) return ASN_TRACE_MAX_NODES + 1;
        asn_slice *s = &slices[num++];
        *s = (asn_slice){.node = (uint8_t)at, .cut = true};
        for (int k = 0; k < f->ndim; k++) {
            s->start[k] = f->cuts[k][index[k]] - f->start[at][k];
            s->shape[k] = f->cuts[k][index[k] + 1] - f->cuts[k][index[k]];
        }
        /* The next box, row-major; d becomes -1 behind the last. */
        for (d = f->ndim - 1; d >= 0 && ++index[d] == end[d]; d--)
            index[d] = first[d];
    }
    return num;
}

/* A node that writes less than all of an array that others touch too. */
static bool writes_part(const asn_node *nodes, int count, int at) {
    const asn_node *node = &nodes[at];
    bool larger = false;
    if (node->reduce_op != ASN_OP_NONE || !node->ndim || node->ndim > ASN_SLICE_DIMS)
        return false;
    for (int i = 0; i < count && !larger; i++)
        for (int k = 0; k <= nodes[i].num_in && !larger; k++)
            larger = nodes[i].size > node->size &&
                     ref_of(&nodes[i], k)->buffer == node->out.buffer;
    return larger;
}

/* (Contract in plan_cut.h.) The first array that has a frame is cut; the others' nodes
 * stay whole. */
int asn_plan_cut(asn_slice *slices, const asn_node *nodes, int count, const bool *dead) {
    int num = 0;
    frame f = {.nodes = nodes, .dead = dead, .count = count};
    bool found = false;
    for (int i = 0, tries = MOST_FRAMES; i < count && !found && tries; i++)
        if (writes_part(nodes, count, i)) {
            found = find_frame(&f, i);
            tries--;
        }
    if (!found) return 0;
    for (int i = 0; i < count; i++) {
        if (f.member[i])
            num = slice_member(&f, i, slices, num);
        else if (num < ASN_TRACE_MAX_NODES)
            slices[num++] = (asn_slice){.node = (uint8_t)i};
        else
            return 0;
        if (num > ASN_TRACE_MAX_NODES) return 0;
    }
    return num;
}

/* (Contract in plan_cut.h.) A slice is its node with a smaller shape, and references
 * moved. */
const asn_node *asn_plan_nodes(const asn_plan *plan, const asn_node *nodes,
                               asn_node *room) {
    if (!plan->num_slices) return nodes;
    for (int i = 0; i < plan->num_slices; i++) {
        asn_slice *s = &plan->slices[i];
        asn_node *n = &room[i];
        *n = nodes[s->node];
        if (!s->cut) continue;
        n->shape = s->shape;
        n->size = 1;
        for (int d = 0; d < n->ndim; d++) {
            n->size *= s->shape[d];
            n->out.offset += s->start[d] * n->out.strides[d];
            for (int k = 0; k < n->num_in; k++)
                if (n->in[k].buffer) n->in[k].offset += s->start[d] * n->in[k].strides[d];
        }
    }
    return room;
}
