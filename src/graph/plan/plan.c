/* L2 graph: planning (see plan.h).
 *
 * Grouping is plan_group.c; copies that need not run are plan_forward.c's, slices
 * plan_cut.c's. Here the groups become programs, and where there is a choice of whole
 * nodes or slices the better one is taken.
 *
 * Building (ops/program.h). Inside a program each place has a current value: the last one
 * written there. Loads happen once per place. A value is stored only if someone can still
 * read it: its buffer is alive outside the trace, or a node of another program reads it.
 */
#include "graph/plan/plan_cut.h"
#include "graph/plan/plan_forward.h"
#include "graph/plan/plan_group.h"
#include "ops/program.h"

#include <string.h>

/* ---- building one program */

typedef struct {
    int node, slot, value; /* the place's current value */
} place;

/* One program under construction; values are the builder's numbers. */
typedef struct {
    const asn_node *nodes;
    asn_builder code;
    place places[ACLNNX_MAX_OPERANDS + ASN_TRACE_MAX_NODES];
    int num_places;
    asn_source inputs[ACLNNX_MAX_OPERANDS];
    asn_source outputs[ACLNNX_MAX_OPERANDS];
    int value[ASN_TRACE_MAX_NODES]; /* each node's result, in out's dtype */
} builder;

/* Reference `slot` of a node: 0 = out, 1.. = in. */
static const asn_ref *ref_of(const asn_node *node, int slot) {
    return slot == 0 ? &node->out : &node->in[slot - 1];
}

/* The value of a place: what was computed or loaded before, else a new input. */
static int load(builder *b, int node, int slot) {
    const asn_ref *ref = ref_of(&b->nodes[node], slot);
    for (int i = 0; i < b->num_places; i++) {
        place *p = &b->places[i];
        if (asn_refs_same_value(&b->nodes[node], ref,
                                ref_of(&b->nodes[p->node], p->slot)))
            return p->value;
    }
    int value = asn_build_input(&b->code, (asn_dtype)ref->dtype);
    b->inputs[value] = (asn_source){(uint8_t)node, (uint8_t)slot};
    b->places[b->num_places++] = (place){node, slot, value};
    return value;
}

/* A node has written its place: later loads find this value. */
static void set_place(builder *b, int node, int value) {
    const asn_ref *out = &b->nodes[node].out;
    for (int i = 0; i < b->num_places; i++) {
        place *p = &b->places[i];
        const asn_ref *ref = ref_of(&b->nodes[p->node], p->slot);
        if (ref->buffer && asn_refs_same_value(&b->nodes[node], out, ref)) {
            *p = (place){node, 0, value};
            return;
        }
    }
    b->places[b->num_places++] = (place){node, 0, value};
}

/* A node's instructions: casts to the loop's dtype, the operation, a cast to out's. */
static void compute(builder *b, int at) {
    const asn_node *node = &b->nodes[at];
    const asn_op op = (asn_op)node->op;
    const asn_dtype loop = (asn_dtype)node->loop;
    int src[3];
    for (int k = 0; k < node->num_in; k++)
        src[k] = asn_build_cast(&b->code, load(b, at, k + 1),
                                op == ASN_OP_COPY ? loop : asn_op_operand(op, k, loop));
    int value = op == ASN_OP_COPY ? src[0] : asn_build_op(&b->code, op, loop, src);
    b->value[at] = asn_build_cast(&b->code, value, (asn_dtype)node->out.dtype);
    if (node->reduce_op == ASN_OP_NONE) set_place(b, at, b->value[at]);
}

/* Numbers the registers, and drops inputs that nothing needs. */
static asn_status finish(builder *b, asn_program *p) {
    asn_built built = {.instrs = p->instrs};
    ASN_TRY(asn_build_finish(&b->code, &built));
    p->num_in = built.num_in;
    p->num_out = built.num_out;
    p->num_instrs = built.num_instrs;
    p->num_regs = built.num_regs;
    for (int i = 0; i < p->num_in; i++)
        p->operands[i] = b->inputs[built.inputs[i]];
    memcpy(p->operands + p->num_in, b->outputs, (size_t)p->num_out * sizeof *b->outputs);
    return ASN_OK;
}

/* Which inputs are read where their pieces lie, since the copies do not run. */
static void find_forwards(asn_program *p, const asn_plan *plan, const asn_node *nodes,
                          int count) {
    for (int i = 0; i < p->num_in; i++) {
        const asn_source *from = &p->operands[i];
        const asn_ref *ref = ref_of(&nodes[from->node], from->slot);
        for (int k = 0; k < count && ref->buffer; k++) {
            if (!plan->forwarded[k] || nodes[k].out.buffer != ref->buffer) continue;
            asn_pieces *pieces = &p->forwards[p->num_forwards++];
            (void)asn_plan_pieces(pieces, nodes, count, from->node, ref);
            pieces->operand = (uint8_t)i;
            break;
        }
    }
}

/* Program g of the groups; nodes in the trace's order. */
static asn_status build(asn_program *p, builder *b, const asn_plan *plan, int g,
                        const asn_node *nodes, int count, const bool *dead) {
    memset(p, 0, offsetof(asn_program, instrs));
    p->num_forwards = 0;
    b->nodes = nodes;
    b->num_places = 0;
    asn_build_begin(&b->code);
    for (int i = 0; i < count; i++) {
        if (plan->group_of[i] != g) continue;
        p->nodes[p->num_nodes++] = (uint8_t)i;
        if (nodes[i].reduce_op != ASN_OP_NONE) p->reduce_mask = nodes[i].reduce_mask;
        compute(b, i);
    }
    for (int i = 0; i < p->num_nodes; i++) {
        const int at = p->nodes[i];
        if (!asn_plan_must_store(plan, nodes, count, dead, at)) continue;
        b->outputs[b->code.num_out] = (asn_source){(uint8_t)at, 0};
        asn_build_output(&b->code, b->value[at], nodes[at].reduce_op != ASN_OP_NONE);
    }
    ASN_TRY(finish(b, p));
    find_forwards(p, plan, nodes, count);
    return ASN_OK;
}

/* Whether the program loads from the buffer. */
static bool is_read(const asn_program *p, const asn_node *nodes, const asn_buffer *b) {
    for (int i = 0; i < p->num_in; i++)
        if (asn_program_ref(p, nodes, i)->buffer == b) return true;
    return false;
}

/* Outputs that a later program loads: worth keeping in the caches. */
static void find_read_soon(asn_plan *plan, const asn_node *nodes) {
    for (int g = 0; g < plan->num_programs; g++) {
        asn_program *p = &plan->programs[g];
        p->read_soon = 0;
        for (int i = p->num_in; i < p->num_in + p->num_out; i++)
            for (int later = g + 1; later < plan->num_programs; later++)
                if (is_read(&plan->programs[later], nodes,
                            asn_program_ref(p, nodes, i)->buffer))
                    p->read_soon |= 1u << i;
    }
}

/* Programs that have something to run: more than copies that do not. */
static int count_running(const asn_plan *plan, int count) {
    bool runs[ASN_TRACE_MAX_NODES] = {false};
    int num = 0;
    for (int i = 0; i < count; i++) {
        if (plan->forwarded[i] || runs[plan->group_of[i]]) continue;
        runs[plan->group_of[i]] = true;
        num++;
    }
    return num;
}

/* Groups again, now that copies are known not to run, which stood between operations that
 * can share a program: differences of rolls along two axes. (Shallow water, 256 x 256: a
 * step stores seven arrays less.) False: nothing is won, or copies would have to run. */
static bool group_again(asn_plan *plan, asn_group *groups, const asn_node *nodes,
                        int count, const bool *dead) {
    uint8_t before[ASN_TRACE_MAX_NODES];
    asn_group as_before[ASN_TRACE_MAX_NODES];
    const int num = plan->num_programs, running = count_running(plan, count);
    const bool held = asn_plan_forwards_hold(plan, nodes, count, dead);
    memcpy(before, plan->group_of, sizeof before);
    memcpy(as_before, groups, (size_t)num * sizeof *groups);
    plan->num_programs = asn_plan_group_nodes(plan, groups, nodes, count, dead, true);
    if ((!held || count_running(plan, count) < running) &&
        asn_plan_forwards_hold(plan, nodes, count, dead))
        return true;
    plan->num_programs = num;
    memcpy(plan->group_of, before, sizeof before);
    memcpy(groups, as_before, (size_t)num * sizeof *groups);
    return held;
}

/* Leaves copies out: as many as a new grouping allows, or else as this one does. */
static void forward(asn_plan *plan, asn_group *groups, const asn_node *nodes, int count,
                    const bool *dead) {
    if (asn_plan_forward(plan, nodes, count, dead, true) &&
        !group_again(plan, groups, nodes, count, dead) &&
        asn_plan_forward(plan, nodes, count, dead, false))
        (void)group_again(plan, groups, nodes, count, dead);
}

static uint32_t programs_made;

/* A plan of these nodes, all whole. After a failure nothing is left of it. */
static asn_status make(asn_plan *plan, const asn_node *nodes, int count, const bool *dead,
                       bool fuse) {
    asn_group groups[ASN_TRACE_MAX_NODES];
    plan->programs = NULL;
    plan->slices = NULL;
    plan->num_slices = 0;
    memset(plan->forwarded, 0, sizeof plan->forwarded); /* the grouping looks at it */
    plan->num_programs = asn_plan_group_nodes(plan, groups, nodes, count, dead, fuse);
    if (fuse) forward(plan, groups, nodes, count, dead);
    plan->programs = asn_malloc((size_t)plan->num_programs * sizeof *plan->programs);
    if (!plan->programs) return ASN_ERR_MEMORY;
    builder b;
    for (int g = 0; g < plan->num_programs; g++) {
        asn_program *p = &plan->programs[g];
        asn_status status = build(p, &b, plan, g, nodes, count, dead);
        if (status) {
            plan->num_programs = g + 1;
            asn_plan_fini(plan);
            return status;
        }
        p->cut = groups[g].cut;
        p->serial = ++programs_made;
    }
    find_read_soon(plan, nodes);
    return ASN_OK;
}

/* ---- whole nodes, or slices of them */

/* Whether all that the program reads and writes is one stretch of memory, or numbers. */
static bool is_flat(const asn_program *p, const asn_node *nodes, const asn_node *first) {
    for (int i = 0; i < p->num_in + p->num_out; i++) {
        const asn_ref *ref = ref_of(&nodes[p->operands[i].node], p->operands[i].slot);
        int64_t next = asn_itemsize((asn_dtype)ref->dtype);
        for (int d = first->ndim - 1; d >= 0 && ref->buffer; d--) {
            if (first->shape[d] == 1) continue;
            if (ref->strides[d] != next) return false;
            next *= first->shape[d];
        }
    }
    return true;
}

/* ns of a row: what runs a block for each, or only moves it. */
static double row_time(const asn_program *p, const asn_node *nodes,
                       const asn_node *first) {
    bool moves = p->num_instrs == 1 && p->instrs[0].op == ASN_OP_COPY;
    return is_flat(p, nodes, first) ? 0 : moves ? 4 : 15;
}

/* Estimated time of a plan's programs, ns: a call, a row, an operand's bytes. Only to
 * compare two plans of one trace. */
static double estimate(const asn_plan *plan, const asn_node *nodes) {
    double ns = 0;
    for (int g = 0; g < plan->num_programs; g++) {
        const asn_program *p = &plan->programs[g];
        const asn_node *first = &nodes[p->nodes[0]];
        if (!p->num_out) continue;
        int64_t inner = first->ndim ? first->shape[first->ndim - 1] : 1;
        double bytes = 0;
        for (int i = 0; i < p->num_in + p->num_out; i++) {
            const asn_ref *ref = ref_of(&nodes[p->operands[i].node], p->operands[i].slot);
            if (ref->buffer) bytes += asn_itemsize((asn_dtype)ref->dtype);
        }
        ns += 1200 + row_time(p, nodes, first) * (double)(first->size / inner) +
              (double)first->size * (0.04 * p->num_instrs + 0.015 * bytes);
    }
    return ns;
}

static bool has_forwards(const asn_plan *plan) {
    for (int g = 0; g < plan->num_programs; g++)
        if (plan->programs[g].num_forwards) return true;
    return false;
}

/* Plans the slices instead, when there are some and that is faster. Only where no copies
 * are left out: regions and slices are not combined. */
static asn_status try_slices(asn_plan *plan, const asn_node *nodes, int count,
                             const bool *dead) {
    asn_slice slices[ASN_TRACE_MAX_NODES];
    asn_node room[ASN_TRACE_MAX_NODES];
    bool slice_dead[ASN_TRACE_MAX_NODES];
    int num = asn_plan_cut(slices, nodes, count, dead);
    if (!num) return ASN_OK;
    asn_plan other = {.num_slices = num, .slices = slices};
    const asn_node *cut = asn_plan_nodes(&other, nodes, room);
    for (int i = 0; i < num; i++)
        slice_dead[i] = dead[slices[i].node];
    asn_slice *kept = asn_malloc((size_t)num * sizeof *kept);
    asn_status status = kept ? make(&other, cut, num, slice_dead, true) : ASN_ERR_MEMORY;
    if (!status && estimate(&other, cut) < estimate(plan, nodes)) {
        asn_plan whole = *plan;
        *plan = other;
        other = whole;
        memcpy(kept, slices, (size_t)num * sizeof *kept);
        plan->slices = kept;
        plan->num_slices = num;
        kept = NULL;
    }
    if (!status) asn_plan_fini(&other);
    asn_free(kept);
    return status;
}

/* The last program that reads the source of a copy that does not run. */
static int last_reader(const asn_plan *plan, const asn_node *nodes, int count, int c) {
    int last = plan->group_of[c];
    for (int i = c + 1; i < count; i++)
        for (int k = 0; k < nodes[i].num_in; k++)
            if (nodes[i].in[k].buffer == nodes[c].out.buffer && plan->group_of[i] > last)
                last = plan->group_of[i];
    return last;
}

/* plan->last: after which program a node's references may go. Of slices, a node waits for
 * its last one. */
static void find_last(asn_plan *plan, const asn_node *nodes, int count) {
    memset(plan->last, 0, sizeof plan->last);
    for (int i = 0; i < (plan->num_slices ? plan->num_slices : count); i++) {
        uint8_t *last = &plan->last[plan->num_slices ? plan->slices[i].node : i];
        if (plan->forwarded[i])
            *last = plan->num_slices ? ASN_PLAN_NEVER
                                     : (uint8_t)last_reader(plan, nodes, count, i);
        if (plan->group_of[i] > *last) *last = plan->group_of[i];
    }
}

asn_status asn_plan_make(asn_plan *plan, const asn_node *nodes, int count,
                         const bool *dead, bool fuse) {
    ASN_TRY(make(plan, nodes, count, dead, fuse));
    if (fuse && plan->num_programs > 1 && !has_forwards(plan)) {
        asn_status status = try_slices(plan, nodes, count, dead);
        if (status) {
            asn_plan_fini(plan);
            return status;
        }
    }
    find_last(plan, nodes, count);
    return ASN_OK;
}

void asn_plan_fini(asn_plan *plan) {
    for (int g = 0; plan->programs && g < plan->num_programs; g++)
        asn_handles_fini(&plan->programs[g].handles);
    asn_free(plan->programs);
    asn_free(plan->slices);
    plan->programs = NULL;
    plan->slices = NULL;
}
