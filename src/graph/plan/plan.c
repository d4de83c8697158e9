/* L2 graph: planning (see plan.h).
 *
 * Grouping is plan_group.c.
 *
 * Building. Inside a program each place has a current register: the last value written
 * there. Loads happen once per place, casts once per (register, dtype). A value is stored
 * only if someone can still read it: its buffer is alive outside the trace, or a node of
 * another program reads it. Instructions nobody needs are removed, registers numbered
 * last.
 */
#include "graph/plan/plan_cut.h"
#include "graph/plan/plan_forward.h"
#include "graph/plan/plan_group.h"

#include <string.h>

/* ---- building one program */

enum { INPUT_BASE = 0, TEMP_BASE = 1000, MAX_TEMPS = 2 * ACLNNX_MAX_INSTRS };

typedef struct {
    int node, slot, reg; /* the place's current value */
} place;

typedef struct {
    uint16_t op, dst, src[3];
    uint8_t dtype, out_dtype, num_in;
    bool needed;
} instr;

typedef struct {
    const asn_node *nodes;
    instr code[ACLNNX_MAX_INSTRS];
    int num_code, num_temps;
    place places[ACLNNX_MAX_OPERANDS + ASN_TRACE_MAX_NODES];
    int num_places;
    struct {
        int from, reg;
        uint8_t dtype;
    } casts[ACLNNX_MAX_INSTRS];
    int num_casts;
    asn_source inputs[ACLNNX_MAX_OPERANDS];
    uint8_t input_dtype[ACLNNX_MAX_OPERANDS];
    int num_inputs;
    uint8_t temp_dtype[MAX_TEMPS];
    int16_t temp_output[MAX_TEMPS]; /* output number bound to the temporary, or -1 */
    asn_source outputs[ACLNNX_MAX_OPERANDS];
    int output_reg[ACLNNX_MAX_OPERANDS];
    int num_outputs;
    int value[ASN_TRACE_MAX_NODES]; /* register holding each node's result, in out's dtype
                                     */
} builder;

static const asn_ref *ref_of(const asn_node *node, int slot) {
    return slot == 0 ? &node->out : &node->in[slot - 1];
}

static asn_dtype reg_dtype(const builder *b, int reg) {
    return (asn_dtype)(reg >= TEMP_BASE ? b->temp_dtype[reg - TEMP_BASE]
                                        : b->input_dtype[reg]);
}

static int new_temp(builder *b, asn_dtype dtype) {
    b->temp_dtype[b->num_temps] = (uint8_t)dtype;
    b->temp_output[b->num_temps] = -1;
    return TEMP_BASE + b->num_temps++;
}

static instr *emit(builder *b, asn_op op, asn_dtype loop, int dst) {
    instr *in = &b->code[b->num_code++];
    *in = (instr){.op = (uint16_t)op, .dst = (uint16_t)dst, .dtype = (uint8_t)loop};
    in->out_dtype = (uint8_t)reg_dtype(b, dst);
    return in;
}

static int cast_to(builder *b, int reg, asn_dtype dtype) {
    asn_dtype from = reg_dtype(b, reg);
    if (from == dtype) return reg;
    for (int i = 0; i < b->num_casts; i++)
        if (b->casts[i].from == reg && b->casts[i].dtype == dtype) return b->casts[i].reg;
    int dst = new_temp(b, dtype);
    instr *in = emit(b, ASN_OP_CAST, from, dst);
    in->src[0] = (uint16_t)reg;
    in->num_in = 1;
    b->casts[b->num_casts].from = reg;
    b->casts[b->num_casts].dtype = (uint8_t)dtype;
    b->casts[b->num_casts++].reg = dst;
    return dst;
}

static int load(builder *b, int node, int slot) {
    const asn_ref *ref = ref_of(&b->nodes[node], slot);
    for (int i = 0; i < b->num_places; i++) {
        place *p = &b->places[i];
        if (asn_refs_same_value(&b->nodes[node], ref,
                                ref_of(&b->nodes[p->node], p->slot)))
            return p->reg;
    }
    int reg = INPUT_BASE + b->num_inputs;
    b->inputs[b->num_inputs] = (asn_source){(uint8_t)node, (uint8_t)slot};
    b->input_dtype[b->num_inputs++] = ref->dtype;
    b->places[b->num_places++] = (place){node, slot, reg};
    return reg;
}

static void set_place(builder *b, int node, int reg) {
    const asn_ref *out = &b->nodes[node].out;
    for (int i = 0; i < b->num_places; i++) {
        place *p = &b->places[i];
        const asn_ref *ref = ref_of(&b->nodes[p->node], p->slot);
        if (ref->buffer && asn_refs_same_value(&b->nodes[node], out, ref)) {
            *p = (place){node, 0, reg};
            return;
        }
    }
    b->places[b->num_places++] = (place){node, 0, reg};
}

/* The register of the same operation on the same values; -1: it is new. */
static int computed(const builder *b, const asn_node *node, const int *src) {
    for (int i = 0; i < b->num_code; i++) {
        const instr *in = &b->code[i];
        bool same = in->op == node->op && in->dtype == node->loop;
        for (int k = 0; k < node->num_in && same; k++)
            same = in->src[k] == src[k];
        if (same) return in->dst;
    }
    return -1;
}

static void compute(builder *b, int at) {
    const asn_node *node = &b->nodes[at];
    int src[3];
    for (int k = 0; k < node->num_in; k++) {
        asn_dtype want = asn_op_operand((asn_op)node->op, k, (asn_dtype)node->loop);
        if (node->op == ASN_OP_COPY) want = (asn_dtype)node->loop;
        src[k] = cast_to(b, load(b, at, k + 1), want);
    }
    int reg = src[0];
    if (node->op != ASN_OP_COPY) reg = computed(b, node, src);
    if (reg < 0) {
        reg = new_temp(b, asn_op_result((asn_op)node->op, (asn_dtype)node->loop));
        instr *in = emit(b, (asn_op)node->op, (asn_dtype)node->loop, reg);
        in->num_in = node->num_in;
        for (int k = 0; k < node->num_in; k++)
            in->src[k] = (uint16_t)src[k];
    }
    b->value[at] = cast_to(b, reg, (asn_dtype)node->out.dtype);
    if (node->reduce_op == ASN_OP_NONE) set_place(b, at, b->value[at]);
}

static int count_uses(const builder *b, int reg) {
    int uses = 0;
    for (int i = 0; i < b->num_code; i++)
        for (int k = 0; k < b->code[i].num_in; k++)
            uses += b->code[i].src[k] == reg;
    return uses;
}

/* Binds node `at`'s value to a new output operand; a value that is no free temporary is
 * copied into one. */
static void store(builder *b, int at) {
    const asn_node *node = &b->nodes[at];
    int reg = b->value[at];
    bool reduces = node->reduce_op != ASN_OP_NONE;
    bool bind = reg >= TEMP_BASE && b->temp_output[reg - TEMP_BASE] < 0 &&
                (!reduces || count_uses(b, reg) == 0);
    if (bind && reduces) /* another node's stored value? then it keeps its register */
        for (int i = 0; i < b->num_places; i++)
            bind = bind && b->places[i].reg != reg;
    if (!bind) {
        asn_dtype dtype = reg_dtype(b, reg);
        int dst = new_temp(b, dtype);
        instr *in = emit(b, ASN_OP_COPY, dtype, dst);
        in->src[0] = (uint16_t)reg;
        in->num_in = 1;
        reg = dst;
    }
    b->temp_output[reg - TEMP_BASE] = (int16_t)b->num_outputs;
    b->outputs[b->num_outputs] = (asn_source){(uint8_t)at, 0};
    b->output_reg[b->num_outputs++] = reg;
}

static void mark_needed(builder *b) {
    bool needed[MAX_TEMPS] = {false};
    for (int i = 0; i < b->num_outputs; i++)
        needed[b->output_reg[i] - TEMP_BASE] = true;
    for (int i = b->num_code - 1; i >= 0; i--) {
        instr *in = &b->code[i];
        in->needed = needed[in->dst - TEMP_BASE];
        for (int k = 0; in->needed && k < in->num_in; k++)
            if (in->src[k] >= TEMP_BASE) needed[in->src[k] - TEMP_BASE] = true;
    }
}

/* Final register numbers: inputs, outputs, temporaries. Inputs that no needed instruction
 * reads are left out. */
static void finish(builder *b, asn_program *p) {
    int map_input[ACLNNX_MAX_OPERANDS], map_temp[MAX_TEMPS];
    bool used[ACLNNX_MAX_OPERANDS] = {false};
    for (int i = 0; i < b->num_code; i++)
        for (int k = 0; b->code[i].needed && k < b->code[i].num_in; k++)
            if (b->code[i].src[k] < TEMP_BASE) used[b->code[i].src[k]] = true;
    for (int i = 0; i < b->num_inputs; i++) {
        map_input[i] = p->num_in;
        if (used[i]) p->operands[p->num_in++] = b->inputs[i];
    }
    p->num_out = b->num_outputs;
    memcpy(p->operands + p->num_in, b->outputs, (size_t)p->num_out * sizeof *b->outputs);
    int next = p->num_in + p->num_out;
    for (int i = 0; i < b->num_temps; i++)
        map_temp[i] = b->temp_output[i] >= 0 ? p->num_in + b->temp_output[i] : -1;
    for (int i = 0; i < b->num_code; i++) {
        const instr *in = &b->code[i];
        if (!in->needed) continue;
        int *dst = &map_temp[in->dst - TEMP_BASE];
        if (*dst < 0) *dst = next++;
        aclnnxInstr *out = &p->instrs[p->num_instrs++];
        out->op = in->op;
        out->dtype = (uint8_t)asn_dtype_table[in->dtype].acl;
        out->outDtype = (uint8_t)asn_dtype_table[in->out_dtype].acl;
        out->dst = (uint8_t)*dst;
        for (int k = 0; k < 3; k++) {
            int s = in->src[k];
            out->src[k] =
                k >= in->num_in
                    ? 0
                    : (uint8_t)(s >= TEMP_BASE ? map_temp[s - TEMP_BASE] : map_input[s]);
        }
    }
    p->num_regs = next;
}

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

static void build(asn_program *p, builder *b, const asn_plan *plan, int g,
                  const asn_node *nodes, int count, const bool *dead) {
    memset(p, 0, offsetof(asn_program, instrs));
    p->num_forwards = 0;
    b->nodes = nodes;
    b->num_code = b->num_temps = b->num_places = b->num_casts = 0;
    b->num_inputs = b->num_outputs = 0;
    for (int i = 0; i < count; i++) {
        if (plan->group_of[i] != g) continue;
        p->nodes[p->num_nodes++] = (uint8_t)i;
        if (nodes[i].reduce_op != ASN_OP_NONE) p->reduce_mask = nodes[i].reduce_mask;
        compute(b, i);
    }
    for (int i = 0; i < p->num_nodes; i++)
        if (asn_plan_must_store(plan, nodes, count, dead, p->nodes[i]))
            store(b, p->nodes[i]);
    mark_needed(b);
    finish(b, p);
    find_forwards(p, plan, nodes, count);
}

static bool is_read(const asn_program *p, const asn_node *nodes, const asn_buffer *b) {
    for (int i = 0; i < p->num_in; i++)
        if (asn_program_ref(p, nodes, i)->buffer == b) return true;
    return false;
}

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

/* Programs that have something to run. */
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

static asn_status make(asn_plan *plan, const asn_node *nodes, int count, const bool *dead,
                       bool fuse) {
    asn_group groups[ASN_TRACE_MAX_NODES];
    plan->programs = NULL;
    plan->slices = NULL;
    plan->num_slices = 0;
    memset(plan->forwarded, 0, sizeof plan->forwarded); /* the grouping looks at it */
    plan->num_programs = asn_plan_group_nodes(plan, groups, nodes, count, dead, fuse);
    if (fuse) forward(plan, groups, nodes, count, dead);
    builder *b = asn_malloc(sizeof *b);
    if (!b) return ASN_ERR_MEMORY;
    plan->programs = asn_malloc((size_t)plan->num_programs * sizeof *plan->programs);
    for (int g = 0; plan->programs && g < plan->num_programs; g++) {
        build(&plan->programs[g], b, plan, g, nodes, count, dead);
        plan->programs[g].cut = groups[g].cut;
        plan->programs[g].serial = ++programs_made;
    }
    asn_free(b);
    if (plan->programs) find_read_soon(plan, nodes);
    return plan->programs ? ASN_OK : ASN_ERR_MEMORY;
}

/* ---- whole nodes, or slices of them */

/* Estimated time of a plan's programs, ns: a call, a row, an operand's bytes. */
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
        ns += 1200 + 15.0 * (double)(first->size / inner) +
              (double)first->size * (0.04 * p->num_instrs + 0.015 * bytes);
    }
    return ns;
}

static bool has_forwards(const asn_plan *plan) {
    for (int g = 0; g < plan->num_programs; g++)
        if (plan->programs[g].num_forwards) return true;
    return false;
}

/* Plans the slices instead, when there are some and that is faster. */
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
