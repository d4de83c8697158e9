/* L2 graph: casts whose result nobody reads.
 *
 * A result that dies before anything needs it is not computed. But a cast may raise a
 * floating-point exception, and NumPy programs see the warning even if they drop the
 * result: `a.astype('f4')` is how they ask whether values fit. So while exceptions are
 * watched, a cast to fewer values runs with the flush that would have dropped it. Other
 * unread operations stay dropped. */
#include "graph/trace/unread.h"

#include "graph/fp.h"

/* Whether some value of `from` has none in `to`, as NumPy reports it. */
static bool may_not_fit(asn_dtype from, asn_dtype to) {
    if (to == ASN_BOOL || from == to) return false;
    if (!asn_is_inexact(from)) return to == ASN_F16 && asn_is_integer(from);
    if (!asn_is_inexact(to)) return true;
    asn_dtype narrow = asn_real_dtype(to), wide = asn_real_dtype(from);
    return asn_itemsize(narrow) < asn_itemsize(wide) ||
           (asn_is_half(narrow) && narrow != wide);
}

/* A plain cast of an array, to a dtype that may not have its values. */
static bool is_doubtful(const asn_node *n) {
    return n->op == ASN_OP_COPY && n->reduce_op == ASN_OP_NONE && n->in[0].buffer &&
           may_not_fit((asn_dtype)n->in[0].dtype, (asn_dtype)n->out.dtype);
}

/* (Contract in unread.h.) A node is live, too, if a live one reads its result. */
void asn_unread_casts(const asn_node *nodes, int count, bool *dead) {
    bool live[ASN_TRACE_MAX_NODES], doubtful = false;
    if (!asn_fp_sink()) return;
    for (int i = 0; i < count && !doubtful; i++)
        doubtful = dead[i] && is_doubtful(&nodes[i]);
    for (int i = count - 1; i >= 0 && doubtful; i--) {
        live[i] = !dead[i];
        for (int j = i + 1; j < count && !live[i]; j++)
            for (int k = 0; k < nodes[j].num_in && live[j]; k++)
                live[i] |= nodes[j].in[k].buffer == nodes[i].out.buffer;
        if (live[i] || !is_doubtful(&nodes[i])) continue;
        live[i] = true;
        dead[i] = false;
    }
}
