/* L2 graph: arrays put together from pieces are read where the pieces lie (see
 * plan_forward.h).
 *
 * np.roll and np.concatenate write a temporary by a copy per piece, each over a slab of
 * one axis. Where elementwise programs are all that reads it, the copies are left out:
 * such a program runs once per region between the cuts of its inputs, and finds each
 * input in the source of the slab that holds the region. The regions along the cuts are
 * thin (a roll by one: a row or a column), the one in the middle is nearly everything. A
 * step of the shallow-water equations on 256 x 256 so saves sixteen copies of half a
 * megabyte.
 *
 * The temporary's writers are the pieces and nothing else, together they tile it, and
 * nobody writes their sources before the last reader has run. */
#include "graph/plan/plan_forward.h"

#include <string.h>

#include "graph/plan/plan_group.h"

enum {
    WORTH = 16384,   /* elements of a program that is cut into regions */
    REGION = 4096,   /* ... and of its regions on average: a call takes 1 to 2 us */
    SHORT_ROW = 192, /* bytes: of such, regions within rows take longer than the copies
                        (v + roll(v, 2, 1), one run on two cores, us, in regions and with
                        the roll copied: 8333 x 12 bytes 129, 38; float32 124, 41; 1500 x
                        64 bytes 22, 11; 400 x 256 float32 15, 23) */
    MAX_CUTS = 2 * ACLNNX_MAX_OPERANDS
};

/* A plain copy from another buffer, without a cast. */
static bool is_piece(const asn_node *node) {
    return node->op == ASN_OP_COPY && node->reduce_op == ASN_OP_NONE &&
           node->num_in == 1 && node->in[0].buffer &&
           node->in[0].buffer != node->out.buffer &&
           node->in[0].dtype == node->out.dtype && node->loop == node->out.dtype;
}

/* The axis along which `piece` is a slab of what `reader` reads as `ref`, and where it
 * begins; -1: it is none. */
static int slab_axis(const asn_node *piece, const asn_node *reader, const asn_ref *ref,
                     int64_t *start) {
    int axis = -1;
    if (piece->ndim != reader->ndim || piece->out.dtype != ref->dtype) return -1;
    for (int d = 0; d < reader->ndim; d++) {
        if (piece->shape[d] > 1 && piece->out.strides[d] != ref->strides[d]) return -1;
        if (piece->shape[d] == reader->shape[d]) continue;
        if (axis >= 0 || piece->shape[d] > reader->shape[d]) return -1;
        axis = d;
    }
    if (axis < 0 || ref->strides[axis] <= 0) return -1;
    /* Bytes from the reader's first element to the piece's. */
    int64_t behind = piece->out.offset - ref->offset;
    *start = behind / ref->strides[axis];
    return behind % ref->strides[axis] == 0 ? axis : -1;
}

/* (Contract in plan_forward.h.) Pieces are kept in order of their starts; at the end they
 * must tile the axis without gap or overlap. */
bool asn_plan_pieces(asn_pieces *pieces, const asn_node *nodes, int count, int reader,
                     const asn_ref *ref) {
    int64_t covered = 0, starts[ASN_MAX_PIECES];
    pieces->num = 0;
    pieces->axis = 0;
    for (int i = 0; i < count; i++) {
        if (nodes[i].out.buffer != ref->buffer) continue;
        int64_t start;
        if (!is_piece(&nodes[i]) || i > reader || pieces->num == ASN_MAX_PIECES)
            return false;
        int axis = slab_axis(&nodes[i], &nodes[reader], ref, &start);
        if (axis < 0 || (pieces->num && axis != pieces->axis)) return false;
        pieces->axis = (uint8_t)axis;
        int at = pieces->num++;
        for (; at > 0 && starts[at - 1] > start; at--) {
            starts[at] = starts[at - 1];
            pieces->node[at] = pieces->node[at - 1];
        }
        starts[at] = start;
        pieces->node[at] = (uint8_t)i;
    }
    for (int k = 0; k < pieces->num; k++) {
        if (starts[k] != covered) return false;
        covered += nodes[pieces->node[k]].shape[pieces->axis];
    }
    return pieces->num && covered == nodes[reader].shape[pieces->axis];
}

/* The source of piece c still holds when program `last` runs: nobody in between, nor
 * beside the piece in its program, writes it. */
static bool source_lasts(const asn_plan *plan, const asn_node *nodes, int count, int c,
                         int last) {
    for (int k = 0; k < count; k++)
        if (k != c && (k > c || plan->group_of[k] >= plan->group_of[c]) &&
            plan->group_of[k] <= last &&
            asn_refs_overlap(&nodes[k], &nodes[k].out, &nodes[c], &nodes[c].in[0]))
            return false;
    return true;
}

/* Whether program g has a reduction, which cannot run in regions. */
static bool reduces(const asn_plan *plan, const asn_node *nodes, int count, int g) {
    for (int i = 0; i < count; i++)
        if (plan->group_of[i] == g && nodes[i].reduce_op != ASN_OP_NONE) return true;
    return false;
}

/* Whether the cuts fall within rows of a few bytes. */
static bool cuts_short_rows(const asn_node *reader, const asn_ref *ref, int axis) {
    int64_t item = asn_itemsize((asn_dtype)ref->dtype);
    return ref->strides[axis] == item && reader->shape[axis] * item < SHORT_ROW;
}

/* Whether every reader of the buffer that piece c writes can do without it; `regroups`:
 * reductions in its program are no obstacle. */
static bool can_forward(const asn_plan *plan, const asn_node *nodes, int count,
                        const bool *dead, int c, bool regroups) {
    int last = -1;
    asn_pieces pieces = {.num = 0};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < nodes[i].num_in; k++) {
            if (nodes[i].in[k].buffer != nodes[c].out.buffer) continue;
            if (nodes[i].size < WORTH || is_piece(&nodes[i]) ||
                (regroups ? nodes[i].reduce_op != ASN_OP_NONE
                          : reduces(plan, nodes, count, plan->group_of[i])) ||
                !asn_plan_pieces(&pieces, nodes, count, i, &nodes[i].in[k]) ||
                cuts_short_rows(&nodes[i], &nodes[i].in[k], pieces.axis))
                return false;
            if (plan->group_of[i] > last) last = plan->group_of[i];
        }
    if (last < 0) return false;
    for (int k = 0; k < pieces.num; k++)
        if (!dead[pieces.node[k]] ||
            !source_lasts(plan, nodes, count, pieces.node[k], last))
            return false;
    return true;
}

/* Each cut once; too many are dropped, which estimates fewer regions. */
static void add_cut(int64_t *cuts, int *num, int64_t at) {
    for (int i = 0; i < *num; i++)
        if (cuts[i] == at) return;
    if (*num < MAX_CUTS) cuts[(*num)++] = at;
}

/* Whether the regions of program g, as `forwarded` stands, are worth their calls. */
static bool regions_pay(const asn_plan *plan, const asn_node *nodes, int count, int g) {
    int64_t cuts[ACLNNX_MAX_DIMS][MAX_CUTS], regions = 1, size = 0;
    int num[ACLNNX_MAX_DIMS] = {0};
    for (int i = 0; i < count; i++) {
        if (plan->group_of[i] != g) continue;
        size = nodes[i].size;
        for (int k = 0; k < nodes[i].num_in; k++) {
            asn_pieces pieces;
            if (!nodes[i].in[k].buffer ||
                !asn_plan_pieces(&pieces, nodes, count, i, &nodes[i].in[k]) ||
                !plan->forwarded[pieces.node[0]])
                continue;
            int64_t at = 0;
            for (int p = 0; p + 1 < pieces.num; p++) {
                at += nodes[pieces.node[p]].shape[pieces.axis];
                add_cut(cuts[pieces.axis], &num[pieces.axis], at);
            }
        }
    }
    for (int d = 0; d < ACLNNX_MAX_DIMS; d++)
        regions *= num[d] + 1;
    return regions * REGION <= size;
}

/* All pieces of the temporary together. */
static void mark(asn_plan *plan, const asn_node *nodes, int count, int c, bool forward) {
    for (int i = 0; i < count; i++)
        if (nodes[i].out.buffer == nodes[c].out.buffer) plan->forwarded[i] = forward;
}

/* Whether regions pay for every program that reads the temporary. */
static bool readers_pay(const asn_plan *plan, const asn_node *nodes, int count, int c) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < nodes[i].num_in; k++)
            if (nodes[i].in[k].buffer == nodes[c].out.buffer &&
                !regions_pay(plan, nodes, count, plan->group_of[i]))
                return false;
    return true;
}

/* (Contract in plan_forward.h.) One temporary after the other; each may make the regions
 * of a program more. */
bool asn_plan_forward(asn_plan *plan, const asn_node *nodes, int count, const bool *dead,
                      bool regroups) {
    bool any = false;
    memset(plan->forwarded, 0, sizeof plan->forwarded);
    for (int c = 0; c < count; c++) {
        if (!dead[c] || plan->forwarded[c] || !is_piece(&nodes[c])) continue;
        if (!can_forward(plan, nodes, count, dead, c, regroups)) continue;
        mark(plan, nodes, count, c, true);
        if (!readers_pay(plan, nodes, count, c)) mark(plan, nodes, count, c, false);
        any |= plan->forwarded[c];
    }
    return any;
}

bool asn_plan_forwards_hold(const asn_plan *plan, const asn_node *nodes, int count,
                            const bool *dead) {
    for (int c = 0; c < count; c++)
        if (plan->forwarded[c] && !(can_forward(plan, nodes, count, dead, c, false) &&
                                    readers_pay(plan, nodes, count, c)))
            return false;
    return true;
}
