/* L2 graph: results in the memory of operands that die (see reuse.h).
 *
 * p = r + beta * p in a loop has two arrays p, of which one is dead when the other is
 * written. In one block the result's lines are in the cache already, and nothing has to
 * be read to be overwritten: of four streams three are left. The fused operator lets an
 * output lie over an input that is read in the same places.
 */
#include "graph/plan/reuse.h"

static bool same_place(const asn_node *n, const asn_ref *x, const asn_ref *y) {
    if (x->offset != y->offset ||
        asn_itemsize((asn_dtype)x->dtype) != asn_itemsize((asn_dtype)y->dtype))
        return false;
    for (int d = 0; d < n->ndim; d++)
        if (n->shape[d] > 1 && x->strides[d] != y->strides[d]) return false;
    return true;
}

/* Nothing but the program's nodes holds the buffer, and they read what lies where `out`
 * writes. A copy that does not run reads later: its readers do, where it would have read.
 */
static bool dies(const asn_program *p, const asn_node *nodes, const bool *forwarded,
                 const asn_node *out, const asn_buffer *b) {
    int reads = 0;
    if (!asn_buffer_only_traced(b)) return false;
    for (int i = 0; i < p->num_nodes; i++) {
        const asn_node *n = &nodes[p->nodes[i]];
        if (n->out.buffer == b) return false;
        if (forwarded[p->nodes[i]]) continue;
        for (int k = 0; k < n->num_in; k++) {
            if (n->in[k].buffer != b) continue;
            if (!same_place(out, &out->out, &n->in[k])) return false;
            reads++;
        }
    }
    return reads == b->trace_refs;
}

void asn_reuse_operands(const asn_program *p, const asn_node *nodes,
                        const bool *forwarded) {
    for (int o = p->num_in; o < p->num_in + p->num_out; o++) {
        const asn_node *out = &nodes[p->operands[o].node];
        asn_buffer *to = out->out.buffer;
        if (to->data || out->reduce_op != ASN_OP_NONE) continue;
        for (int i = 0; i < p->num_in && !to->data; i++) {
            asn_buffer *b = nodes[p->operands[i].node].in[p->operands[i].slot - 1].buffer;
            if (!b || !b->data || b->shared || b->release || b->nbytes != to->nbytes ||
                !dies(p, nodes, forwarded, out, b))
                continue;
            asn_buffer_pass_storage(to, b);
        }
    }
}
