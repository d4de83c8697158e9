/* L2 graph: from nodes and plans to calls of the fused operator.
 *
 * A planned program is launched by its handle (handles.h) and the addresses of its nodes'
 * operands; where it has none yet, by a description. Long programs run with the binding's
 * global lock released.
 *
 * A launch takes these steps: storage for the operands (results may take over that of
 * operands that die), their addresses, other streams' uses of them, the call, and the
 * name under which its floating-point exceptions are told. Regions and bands are the same
 * program over boxes of its space, with addresses moved. */
#include "graph/plan/launch.h"

#include <string.h>

#include "graph/counters.h"
#include "graph/fp.h"
#include "graph/opcodes.h"
#include "graph/capture/capture.h"
#include "graph/device/fallback.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/plan/reuse.h"
#include "ops/added.h"
#include "ops/program.h"
#include "runtime/device.h"
#include "runtime/streams/uses.h"

enum {
    BLOCKING_ELEMENTS = 1 << 15, /* above, other Python threads may run meanwhile */
    LARGE_BYTES = 4 << 20 /* a result in bands from here on is none for the caches */
};

/* Where a reference's elements are; of a number: its bytes. */
static void *address_of(const asn_ref *ref) {
    if (!ref->buffer) return (void *)(uintptr_t)ref->immediate;
    return (char *)ref->buffer->data + ref->offset;
}

/* A reference as an operand; `address` of its first element in the box. */
static void describe_operand(aclnnxOperand *o, const asn_ref *ref, void *address) {
    o->flags = 0;
    o->reduceOp = ACLNNX_NO_REDUCE;
    o->dtype = (uint8_t)asn_dtype_table[ref->dtype].acl;
    o->data = ref->buffer ? address : NULL;
    o->strides = ref->buffer ? ref->strides : NULL;
    if (!ref->buffer) memcpy(o->immediate, ref->immediate, sizeof o->immediate);
}

/* A node's output: of a reduction with its opcode, and whether it adds to what is there.
 */
static void describe_output(aclnnxOperand *o, const asn_node *node, void *address) {
    describe_operand(o, &node->out, address);
    if (node->reduce_op == ASN_OP_NONE) return;
    o->reduceOp = asn_device_opcode(node->reduce_op);
    o->flags = node->accumulate ? ACLNNX_ACCUMULATE : 0;
}

/* A launch: a box of a program's space, whose operands are here. */
typedef struct {
    asn_program *p;
    const asn_node *nodes;
    const asn_ref *refs[ACLNNX_MAX_OPERANDS];
    void *addresses[ACLNNX_MAX_OPERANDS];
    asn_way way;
    int64_t shape[ACLNNX_MAX_DIMS];
    /* How the program says it, once described. */
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    aclnnxProgram program;
} box;

/* The program as the device reads it, over the box. It lies in the box itself, and
 * borrows what nodes point to. */
static const aclnnxProgram *describe(void *context) {
    box *b = context;
    const asn_program *p = b->p;
    for (int i = 0; i < p->num_in; i++)
        describe_operand(&b->operands[i], b->refs[i], b->addresses[i]);
    for (int i = p->num_in; i < p->num_in + p->num_out; i++) {
        describe_output(&b->operands[i], &b->nodes[p->operands[i].node], b->addresses[i]);
        if (p->read_soon >> i & 1) b->operands[i].flags |= ACLNNX_READ_SOON;
        if (b->way.parts >> i & 1) b->operands[i].flags |= ACLNNX_PART;
    }
    for (int i = 0; i < p->num_instrs; i++) {
        b->instrs[i] = p->instrs[i];
        b->instrs[i].op = asn_device_opcode(p->instrs[i].op);
    }
    b->program = (aclnnxProgram){.numDims = b->nodes[p->nodes[0]].ndim,
                                 .numIn = p->num_in,
                                 .numOut = p->num_out,
                                 .numInstrs = p->num_instrs,
                                 .numRegs = p->num_regs,
                                 .shape = b->shape,
                                 .reduceMask = p->reduce_mask,
                                 .operands = b->operands,
                                 .instrs = b->instrs,
                                 .fpFlags = asn_fp_sink()};
    return &b->program;
}

/* By its handle and addresses, or (NULL) as `program` says it. */
static asn_status run(aclnnxPrepared *prepared, void *const *addresses,
                      const aclnnxProgram *program, int64_t elements, uint16_t op) {
    asn_counters.programs++;
    void *state = elements > BLOCKING_ELEMENTS ? asn_blocking_enter() : NULL;
    if (!asn_acl.aclnnxFused) {
        asn_status status = asn_host_fused(program, asn_op_table[op].name);
        asn_blocking_leave(state);
        return status;
    }
    asn_stream_launch(false);
    int32_t code =
        prepared ? asn_acl.aclnnxRun(prepared, addresses, asn_fp_sink(), asn_stream())
                 : asn_acl.aclnnxFused(program, asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(false); /* another thread may have waited meanwhile */
    return code ? asn_acl_failed(code, asn_op_table[op].name) : ASN_OK;
}

/* A capture keeps descriptions, not handles. */
static asn_status run_box(box *b, int64_t elements, uint16_t op) {
    aclnnxPrepared *prepared =
        ASN_CAPTURING ? NULL : asn_handles_get(&b->p->handles, &b->way, describe, b);
    if (!prepared) (void)describe(b);
    return run(prepared, b->addresses, &b->program, elements, op);
}

/* divmod is two operations on the same operands, of which either may raise an exception:
 * it has one name then. */
static bool is_divmod(const asn_program *p, const asn_node *nodes) {
    const asn_node *found[2] = {NULL, NULL};
    for (int i = 0; i < p->num_nodes; i++) {
        const asn_node *n = &nodes[p->nodes[i]];
        if (n->op == ASN_OP_FLOOR_DIVIDE) found[0] = n;
        if (n->op == ASN_OP_REMAINDER) found[1] = n;
    }
    bool pair = found[0] && found[1];
    for (int k = 0; k < 2 && pair; k++)
        pair = found[0]->in[k].buffer == found[1]->in[k].buffer &&
               found[0]->in[k].offset == found[1]->in[k].offset;
    return pair;
}

/* Whether it is the reduction of a node that may raise an exception. */
static bool reduces(const asn_node *node) {
    return node->reduce_op != ASN_OP_NONE && asn_is_inexact((asn_dtype)node->out.dtype) &&
           !(asn_op_table[node->reduce_op].flags & ASN_OPF_EXTREME);
}

/* What NumPy calls a program's node. */
static const char *called(const asn_program *p, const asn_node *nodes,
                          const asn_node *node) {
    bool quotient = node->op == ASN_OP_FLOOR_DIVIDE || node->op == ASN_OP_REMAINDER;
    if (reduces(node)) return "reduce";
    return quotient && is_divmod(p, nodes) ? "divmod" : asn_op_table[node->op].name;
}

/* Names the operation of a program for the floating-point exceptions that it raised: the
 * last one that may divide by zero where that is one of them, else the last that
 * computes, which neither a copy nor a comparison does. (Which node raised is not known:
 * the device reports for the program.) */
static void note_exceptions(const asn_program *p, const asn_node *nodes) {
    const uint32_t *met = asn_fp_sink();
    if (!ASN_CAPTURING && (!met || !*met)) return;
    const asn_node *computes = &nodes[p->nodes[p->num_nodes - 1]], *pole = NULL;
    for (int i = 0; i < p->num_nodes; i++) {
        const asn_node *node = &nodes[p->nodes[i]];
        const uint16_t flags = asn_op_table[node->op].flags;
        if (reduces(node) || (node->op != ASN_OP_COPY && !(flags & ASN_OPF_PREDICATE)))
            computes = node;
        if (flags & ASN_OPF_POLE) pole = node;
    }
    if (ASN_CAPTURING)
        asn_capture_names(called(p, nodes, pole ? pole : computes),
                          called(p, nodes, computes));
    if (!met || !*met) return;
    if (*met & ACLNNX_FP_DIVIDE && pole) computes = pole;
    asn_fp_note(called(p, nodes, computes));
}

/* ---- programs in regions (plan_forward.c) */

enum { MAX_CUTS = 2 * ACLNNX_MAX_OPERANDS + 2 };

typedef struct {
    int num;
    int64_t at[MAX_CUTS]; /* ascending: 0, ..., the extent */
} axis_cuts;

/* In ascending order, each place once. */
static void add_cut(axis_cuts *c, int64_t at) {
    int i = c->num;
    while (i > 0 && c->at[i - 1] > at)
        i--;
    if (i > 0 && c->at[i - 1] == at) return;
    memmove(&c->at[i + 1], &c->at[i], (size_t)(c->num - i) * sizeof at);
    c->at[i] = at;
    c->num++;
}

/* Reads the operand from its piece at `start`. */
static void find_forward(box *b, const asn_pieces *pieces, const int64_t *start) {
    int64_t before = 0, at = start[pieces->axis];
    int k = 0;
    while (at >= before + b->nodes[pieces->node[k]].shape[pieces->axis])
        before += b->nodes[pieces->node[k++]].shape[pieces->axis];
    const asn_ref *source = &b->nodes[pieces->node[k]].in[0];
    b->refs[pieces->operand] = source;
    b->addresses[pieces->operand] =
        (char *)address_of(source) - before * source->strides[pieces->axis];
}

/* The axes' cuts: where the pieces of any forwarded input begin. The pieces' sources must
 * have storage before they are read. */
static asn_status find_cuts(const box *b, axis_cuts *cuts, int ndim) {
    const asn_program *p = b->p;
    for (int d = 0; d < ndim; d++) {
        cuts[d].num = 0;
        add_cut(&cuts[d], 0);
        add_cut(&cuts[d], b->shape[d]);
    }
    for (int f = 0; f < p->num_forwards; f++) {
        const asn_pieces *pieces = &p->forwards[f];
        int64_t at = 0;
        for (int k = 0; k < pieces->num; k++) {
            const asn_node *piece = &b->nodes[pieces->node[k]];
            ASN_TRY(asn_buffer_ensure(piece->in[0].buffer));
            add_cut(&cuts[pieces->axis], at += piece->shape[pieces->axis]);
        }
    }
    return ASN_OK;
}

/* All boxes between cuts, row-major; each has one piece of every forwarded input. */
static asn_status run_regions(box *b, int ndim, uint16_t op) {
    axis_cuts cuts[ACLNNX_MAX_DIMS];
    const asn_program *p = b->p;
    void *addresses[ACLNNX_MAX_OPERANDS];
    int64_t start[ACLNNX_MAX_DIMS], regions = 1;
    const int num = p->num_in + p->num_out;
    ASN_TRY(find_cuts(b, cuts, ndim));
    memcpy(addresses, b->addresses, (size_t)num * sizeof *addresses);
    for (int d = 0; d < ndim; d++)
        regions *= cuts[d].num - 1;
    for (int64_t r = 0; r < regions; r++) {
        int64_t rest = r, elements = 1;
        for (int d = ndim - 1; d >= 0; d--) {
            const int64_t *cut = &cuts[d].at[rest % (cuts[d].num - 1)];
            rest /= cuts[d].num - 1;
            start[d] = cut[0];
            elements *= b->shape[d] = cut[1] - cut[0];
        }
        memcpy(b->addresses, addresses, (size_t)num * sizeof *addresses);
        for (int f = 0; f < p->num_forwards; f++)
            find_forward(b, &p->forwards[f], start);
        for (int i = 0; i < num; i++)
            for (int d = 0; b->refs[i]->buffer && d < ndim; d++)
                b->addresses[i] =
                    (char *)b->addresses[i] + start[d] * b->refs[i]->strides[d];
        b->way.region = (int32_t)r;
        ASN_TRY(run_box(b, elements, op));
    }
    return ASN_OK;
}

/* Whether the operand is read from pieces, not from its own buffer. */
static bool is_forwarded(const asn_program *p, int operand) {
    for (int f = 0; f < p->num_forwards; f++)
        if (p->forwards[f].operand == operand) return true;
    return false;
}

/* The box becomes the band's rows; operands that are `fixed` stay, or go round their
 * ring. Large results are told to be parts of something larger. */
static void move_to_band(box *b, const asn_band *band) {
    const asn_program *p = b->p;
    b->shape[0] = b->way.rows = band->rows;
    for (int i = 0; i < p->num_in + p->num_out; i++) {
        const asn_ref *ref = b->refs[i];
        if (!ref->buffer) continue;
        bool fixed = band->fixed >> i & 1;
        int64_t start = !fixed ? band->start : band->ring ? band->start % band->ring : 0;
        b->addresses[i] = (char *)b->addresses[i] + start * ref->strides[0];
        if (!fixed && i >= p->num_in && ref->buffer->nbytes >= LARGE_BYTES)
            b->way.parts |= 1u << i;
    }
}

static asn_status use_ref(const asn_ref *ref, bool write) {
    return ref->buffer ? asn_buffer_use(ref->buffer, write) : ASN_OK;
}

/* The streams that use the operands' memory come first. */
static asn_status use_program(const asn_program *p, const asn_node *nodes) {
    for (int i = 0; i < p->num_in + p->num_out; i++)
        if (!is_forwarded(p, i))
            ASN_TRY(use_ref(asn_program_ref(p, nodes, i), i >= p->num_in));
    for (int f = 0; f < p->num_forwards; f++)
        for (int k = 0; k < p->forwards[f].num; k++)
            ASN_TRY(use_ref(&nodes[p->forwards[f].node[k]].in[0], false));
    return ASN_OK;
}

/* The same for a node that is a program of its own. */
static asn_status use_node(const asn_node *node) {
    for (int k = 0; k < node->num_in; k++)
        ASN_TRY(use_ref(&node->in[k], false));
    return use_ref(&node->out, true);
}

/* Storage for the operands, and where they are. */
static asn_status find_operands(box *b, const bool *forwarded) {
    asn_program *p = b->p;
    for (int i = 0; i < p->num_in; i++) {
        b->refs[i] = asn_program_ref(p, b->nodes, i);
        if (is_forwarded(p, i)) continue;
        if (b->refs[i]->buffer) ASN_TRY(asn_buffer_ensure(b->refs[i]->buffer));
        b->addresses[i] = address_of(b->refs[i]);
    }
    if (forwarded && !p->num_forwards) asn_reuse_operands(p, b->nodes, forwarded);
    for (int i = p->num_in; i < p->num_in + p->num_out; i++) {
        b->refs[i] = asn_program_ref(p, b->nodes, i);
        ASN_TRY(asn_buffer_ensure(b->refs[i]->buffer));
        b->addresses[i] = address_of(b->refs[i]);
    }
    return ASN_OK;
}

/* A program: whole, in regions, or (band not NULL) over rows of it. */
static asn_status launch(asn_program *p, const asn_node *nodes, const bool *forwarded,
                         const asn_band *band) {
    box b;                              /* which is filled as far as it is used */
    if (p->num_out == 0) return ASN_OK; /* everything in it was dead */
    ASN_TRY(asn_device_open());
    if (ASN_PROFILING) asn_profile_line_set(nodes[p->nodes[p->num_nodes - 1]].line);
    const asn_node *first = &nodes[p->nodes[0]],
                   *last = &nodes[p->nodes[p->num_nodes - 1]];
    b.p = p;
    b.nodes = nodes;
    b.way = (asn_way){.rows = -1};
    memcpy(b.shape, first->shape, (size_t)first->ndim * sizeof *b.shape);
    ASN_TRY(find_operands(&b, forwarded));
    if (band) move_to_band(&b, band);
    if (asn_stream_many) ASN_TRY(use_program(p, nodes));
    asn_mark mark = asn_profile_begin_on_device();
    ASN_TRY(p->num_forwards ? run_regions(&b, first->ndim, last->op)
                            : run_box(&b, first->size, last->op));
    if (mark.ticks) asn_record_program(mark, p, nodes, band ? band->rows : -1);
    note_exceptions(p, nodes);
    return ASN_OK;
}

asn_status asn_launch_program(asn_program *p, const asn_node *nodes,
                              const bool *forwarded) {
    asn_status status = launch(p, nodes, forwarded, NULL);
    if (ASN_PROFILING) asn_profile_line_set(0);
    return status;
}

asn_status asn_launch_band(asn_program *p, const asn_node *nodes, const asn_band *band) {
    asn_status status = launch(p, nodes, NULL, band);
    if (ASN_PROFILING) asn_profile_line_set(0);
    return status;
}

/* A node as a program of its own, which reads all of its inputs. */
static asn_status build_node(const asn_node *node, asn_built *out) {
    asn_builder b;
    const asn_op op = (asn_op)node->op;
    const asn_dtype loop = (asn_dtype)node->loop, to = (asn_dtype)node->out.dtype;
    int src[3] = {0};
    asn_build_begin(&b);
    for (int k = 0; k < node->num_in; k++) {
        src[k] = asn_build_input(&b, (asn_dtype)node->in[k].dtype);
        if (op != ASN_OP_COPY)
            src[k] = asn_build_cast(&b, src[k], asn_op_operand(op, k, loop));
    }
    int value = op == ASN_OP_COPY ? src[0] : asn_build_op(&b, op, loop, src);
    asn_build_output(&b, asn_build_cast(&b, value, to), node->reduce_op != ASN_OP_NONE);
    ASN_TRY(asn_build_finish(&b, out));
    for (int i = 0; i < out->num_instrs; i++)
        out->instrs[i].op = asn_device_opcode(out->instrs[i].op);
    return ASN_OK;
}

/* (Contract in launch.h.) By description: it is not planned. */
asn_status asn_fuse_node(const asn_node *node) {
    aclnnxOperand operands[4];
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_built built = {.instrs = instrs};
    const int out = node->num_in;
    ASN_TRY(asn_device_open());
    for (int k = 0; k < node->num_in; k++) {
        if (node->in[k].buffer) ASN_TRY(asn_buffer_ensure(node->in[k].buffer));
        describe_operand(&operands[k], &node->in[k], address_of(&node->in[k]));
    }
    ASN_TRY(asn_buffer_ensure(node->out.buffer));
    describe_output(&operands[out], node, address_of(&node->out));
    if (asn_stream_many) ASN_TRY(use_node(node));
    ASN_TRY(build_node(node, &built));
    aclnnxProgram program = {.numDims = node->ndim,
                             .numIn = node->num_in,
                             .numOut = 1,
                             .numInstrs = built.num_instrs,
                             .numRegs = built.num_regs,
                             .shape = node->shape,
                             .reduceMask = node->reduce_mask,
                             .operands = operands,
                             .instrs = instrs,
                             .fpFlags = asn_fp_sink()};
    uint16_t op = node->reduce_op != ASN_OP_NONE ? node->reduce_op : node->op;
    asn_mark mark = asn_profile_begin_on_device();
    ASN_TRY(run(NULL, NULL, &program, node->size, op));
    if (mark.ticks) asn_record_node(mark, node);
    asn_fp_note(reduces(node) ? "reduce" : asn_op_table[op].name);
    return ASN_OK;
}

asn_status asn_launch_node(const asn_node *node) {
    ASN_TRY(asn_device_open());
    return asn_fuse_enabled() ? asn_fuse_node(node) : asn_lower_node(node);
}
