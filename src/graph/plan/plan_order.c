/* L2 graph: in which order nodes walk memory (see plan_order.h).
 *
 * A program walks all its operands in one order of its dimensions, which the device
 * chooses as NumPy does: the smallest strides innermost, results before operands. Each of
 * y = b.T * 2 and z = a * 3, which have nothing in common, runs along memory; in one
 * program one of them would jump from line to line (1000 x 1000 float64, two cores: 6.4
 * ms together, 1.0 apart).
 */
#include "graph/plan/plan_order.h"

#include <string.h>

static int64_t step(const asn_ref *ref, int d) {
    return ref->strides[d] < 0 ? -ref->strides[d] : ref->strides[d];
}

/* Which of dimensions x and y the reference has inside: -1 x, 1 y, 0 no say. */
static int inside(const asn_ref *ref, int x, int y) {
    if (!ref->buffer) return 0;
    int64_t sx = step(ref, x), sy = step(ref, y);
    return !sx || !sy || sx == sy ? 0 : sx < sy ? -1 : 1;
}

/* That of the node: its result's, else of the last operand that has a say. */
static int node_inside(const asn_node *n, int x, int y) {
    int found = inside(&n->out, x, y);
    for (int k = n->num_in - 1; k >= 0 && !found; k--)
        found = inside(&n->in[k], x, y);
    return found;
}

/* The node's dimensions of extent above 1 in the order that it would have alone,
 * innermost first; their number. */
static int find_walk(uint8_t *dim, const asn_node *n) {
    int num = 0;
    for (int d = n->ndim - 1; d >= 0; d--) {
        if (n->shape[d] == 1) continue;
        int at = num++;
        for (; at > 0 && node_inside(n, d, dim[at - 1]) < 0; at--)
            dim[at] = dim[at - 1];
        dim[at] = (uint8_t)d;
    }
    return num;
}

bool asn_nodes_walk_alike(const asn_node *a, const asn_node *b) {
    uint8_t v[ASN_MAX_DIMS], w[ASN_MAX_DIMS];
    int num = find_walk(v, a);
    return num == find_walk(w, b) && !memcmp(v, w, (size_t)num * sizeof *v);
}

bool asn_results_cross(const asn_node *a, const asn_node *b) {
    for (int x = 0; x < a->ndim; x++)
        for (int y = x + 1; y < a->ndim; y++)
            if (a->shape[x] > 1 && a->shape[y] > 1 &&
                inside(&a->out, x, y) * inside(&b->out, x, y) < 0)
                return true;
    return false;
}
