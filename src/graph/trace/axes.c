/* L2 graph: axes in another order (see axes.h).
 *
 * Operations share a program when their axes agree, one by one. What reads a transposed
 * view of a recorded array, (x - m).T @ w or (x * 2).T.sum(axis=0), agrees with the
 * array's own operation once its axes are named in that one's order: an operation over
 * elements, or a reduction, is the same in any. It is left as it is when one of its
 * inputs agrees already, or when its result would then be written across memory: an
 * element of a transposed operand is better read than written far from the one before.
 */
#include "graph/trace/axes.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 16 /* recorded operations that are looked at, from the last one on */ };

/* The operation that writes the elements of the reference, if it is near. */
static const asn_node *writer_of(const asn_ref *ref) {
    const asn_trace *t = &asn_the_trace;
    int last = t->count > NEAR ? t->count - NEAR : 0;
    for (int i = t->count - 1; i >= last; i--)
        if (t->nodes[i].out.buffer == ref->buffer) return &t->nodes[i];
    return NULL;
}

/* Whether the axes agree as they are. */
static bool in_order(const asn_node *n, const asn_ref *ref, const asn_node *w) {
    for (int d = 0; d < n->ndim; d++)
        if (n->shape[d] != w->shape[d] ||
            (n->shape[d] > 1 && ref->strides[d] != w->out.strides[d]))
            return false;
    return true;
}

/* axis[d]: the axis of the node that is axis d of its reference's writer. */
static bool match(const asn_node *n, const asn_ref *ref, const asn_node *w, int *axis) {
    uint64_t taken = 0;
    for (int d = 0; d < n->ndim; d++) {
        int from = 0;
        while (from < n->ndim &&
               (taken >> from & 1 || n->shape[from] != w->shape[d] ||
                (w->shape[d] > 1 && ref->strides[from] != w->out.strides[d])))
            from++;
        if (from == n->ndim) return false;
        taken |= (uint64_t)1 << from;
        axis[d] = from;
    }
    return true;
}

/* Whether the result lies in the order of the writer's: what is innermost to one is so to
 * the other. */
static bool lies_alike(const asn_node *n, const asn_node *w, const int *axis) {
    for (int d = 0; d < n->ndim; d++)
        for (int e = d + 1; e < n->ndim; e++) {
            if (w->shape[d] == 1 || w->shape[e] == 1) continue;
            int64_t one = llabs(n->out.strides[axis[d]]),
                    other = llabs(n->out.strides[axis[e]]);
            bool outer = llabs(w->out.strides[d]) >= llabs(w->out.strides[e]);
            if (one && other && one != other && (one > other) != outer) return false;
        }
    return true;
}

/* values[d] becomes the value of axis[d]. */
static void permute(int ndim, int64_t *values, const int *axis) {
    int64_t before[ASN_MAX_DIMS];
    memcpy(before, values, (size_t)ndim * sizeof *values);
    for (int d = 0; d < ndim; d++)
        values[d] = before[axis[d]];
}

void asn_draft_follow(asn_draft *d) {
    asn_node *n = &d->node;
    int axis[ASN_MAX_DIMS];
    const asn_node *followed = NULL;
    for (int k = 0; k < n->num_in; k++) {
        const asn_ref *ref = &n->in[k];
        if (!ref->buffer || !ref->buffer->trace_writes) continue;
        const asn_node *w = writer_of(ref);
        if (!w || w->ndim != n->ndim || w->reduce_op != ASN_OP_NONE ||
            w->out.offset != ref->offset)
            continue;
        if (in_order(n, ref, w)) return;
        if (!followed && match(n, ref, w, axis)) followed = w;
    }
    if (!followed || !lies_alike(n, followed, axis)) return;
    uint64_t reduced = 0;
    for (int i = 0; i < n->ndim; i++)
        reduced |= (n->reduce_mask >> axis[i] & 1) << i;
    n->reduce_mask = reduced;
    permute(n->ndim, n->shape, axis);
    permute(n->ndim, n->out.strides, axis);
    for (int k = 0; k < n->num_in; k++)
        if (n->in[k].buffer) permute(n->ndim, n->in[k].strides, axis);
}
