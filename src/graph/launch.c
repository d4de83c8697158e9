/* L2 graph: from nodes and plans to calls of the fused operator.
 *
 * A program's operands are filled in from the nodes it was planned for: addresses,
 * strides, immediates. Long programs run with the face's global lock released.
 */
#include "graph/launch.h"

#include <stdlib.h>
#include <string.h>

#include "graph/lock.h"
#include "runtime/device.h"
#include "runtime/stream.h"

/* Above this many elements other Python threads may run meanwhile (letting go and taking
 * back the lock costs about 100 ns). */
enum { BLOCKING_ELEMENTS = 1 << 15 };

struct asn_counters asn_counters;

static uint16_t opcodes[ASN_OP_COUNT];

bool asn_fuse_enabled(void) {
    static int enabled = -1;
    if (enabled < 0) {
        const char *wish = getenv("ASNUMPY_FUSE");
        enabled =
            asn_acl.aclnnxFused && asn_acl.aclnnxOpcode && !(wish && wish[0] == '0');
    }
    return enabled;
}

uint16_t asn_device_opcode(uint16_t op) {
    if (op >= ASN_OP_COUNT) return ACLNNX_NO_REDUCE;
    if (!opcodes[op]) {
        int32_t code = asn_acl.aclnnxOpcode(asn_op_table[op].name);
        opcodes[op] = code < 0 ? ACLNNX_NO_REDUCE : (uint16_t)(code + 1);
    }
    return opcodes[op] == ACLNNX_NO_REDUCE ? ACLNNX_NO_REDUCE
                                           : (uint16_t)(opcodes[op] - 1);
}

static void fill_operand(aclnnxOperand *o, const asn_ref *ref) {
    o->flags = 0;
    o->reduceOp = ACLNNX_NO_REDUCE;
    o->dtype = (uint8_t)asn_dtype_table[ref->dtype].acl;
    if (!ref->buffer) {
        o->data = NULL;
        o->strides = NULL;
        memcpy(o->immediate, ref->immediate, sizeof o->immediate);
        return;
    }
    o->data = (char *)ref->buffer->data + ref->offset;
    o->strides = ref->strides;
}

static asn_status fill_output(aclnnxOperand *o, const asn_node *node) {
    ASN_TRY(asn_buffer_ensure(node->out.buffer));
    fill_operand(o, &node->out);
    if (node->reduce_op != ASN_OP_NONE) {
        o->reduceOp = asn_device_opcode(node->reduce_op);
        o->flags = node->accumulate ? ACLNNX_ACCUMULATE : 0;
    }
    return ASN_OK;
}

static asn_status call(aclnnxProgram *program, int64_t elements, uint16_t op) {
    asn_counters.programs++;
    program->fpFlags = asn_fp_sink();
    void *state = elements > BLOCKING_ELEMENTS ? asn_blocking_enter() : NULL;
    int32_t code = asn_acl.aclnnxFused(program, asn_stream());
    asn_blocking_leave(state);
    if (program->fpFlags && *program->fpFlags) asn_fp_note(op);
    if (code) return asn_acl_failed(code, asn_op_table[op].name);
    return ASN_OK;
}

asn_status asn_launch_program(const asn_program *p, const asn_node *nodes) {
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    if (p->num_out == 0) return ASN_OK; /* everything in it was dead */
    ASN_TRY(asn_device_open());
    for (int i = 0; i < p->num_in; i++) {
        const asn_node *node = &nodes[p->operands[i].node];
        int slot = p->operands[i].slot;
        const asn_ref *ref = slot ? &node->in[slot - 1] : &node->out;
        if (ref->buffer) ASN_TRY(asn_buffer_ensure(ref->buffer));
        fill_operand(&operands[i], ref);
    }
    for (int i = p->num_in; i < p->num_in + p->num_out; i++)
        ASN_TRY(fill_output(&operands[i], &nodes[p->operands[i].node]));
    for (int i = 0; i < p->num_instrs; i++) {
        instrs[i] = p->instrs[i];
        instrs[i].op = asn_device_opcode(p->instrs[i].op);
    }
    const asn_node *first = &nodes[p->nodes[0]],
                   *last = &nodes[p->nodes[p->num_nodes - 1]];
    aclnnxProgram program = {.numDims = first->ndim,
                             .numIn = p->num_in,
                             .numOut = p->num_out,
                             .numInstrs = p->num_instrs,
                             .numRegs = p->num_regs,
                             .shape = first->shape,
                             .reduceMask = p->reduce_mask,
                             .operands = operands,
                             .instrs = instrs};
    return call(&program, first->size, last->op);
}

/* Loads, casts where dtypes differ, the operation, a cast into the output. */
asn_status asn_fuse_node(const asn_node *node) {
    aclnnxOperand operands[4];
    aclnnxInstr instrs[5];
    memset(instrs, 0, sizeof instrs);
    ASN_TRY(asn_device_open());
    int n = 0, out = node->num_in, next = out + 1;
    asn_dtype loop = (asn_dtype)node->loop;
    bool copy = node->op == ASN_OP_COPY;
    aclnnxInstr main_instr = {.op = asn_device_opcode(node->op),
                              .dtype = (uint8_t)asn_dtype_table[loop].acl};
    asn_dtype result = copy ? loop : asn_op_result((asn_op)node->op, loop);
    asn_dtype out_dtype = (asn_dtype)node->out.dtype;
    for (int k = 0; k < node->num_in; k++) {
        const asn_ref *ref = &node->in[k];
        if (ref->buffer) ASN_TRY(asn_buffer_ensure(ref->buffer));
        fill_operand(&operands[k], ref);
        asn_dtype want = copy ? loop : asn_op_operand((asn_op)node->op, k, loop);
        main_instr.src[k] = (uint8_t)k;
        if (want != ref->dtype && !(copy && loop == out_dtype)) {
            instrs[n++] = (aclnnxInstr){asn_device_opcode(ASN_OP_CAST),
                                        operands[k].dtype,
                                        (uint8_t)asn_dtype_table[want].acl,
                                        (uint8_t)next,
                                        {(uint8_t)k, 0, 0}};
            main_instr.src[k] = (uint8_t)next++;
        }
    }
    ASN_TRY(fill_output(&operands[out], node));
    uint8_t out_acl = (uint8_t)asn_dtype_table[out_dtype].acl;
    if (copy && (result != out_dtype || node->in[0].dtype != out_dtype)) {
        /* a copy that converts is a cast from where the value stands */
        uint8_t from = main_instr.src[0];
        uint8_t from_dtype = from == 0 ? operands[0].dtype : main_instr.dtype;
        instrs[n++] = (aclnnxInstr){asn_device_opcode(ASN_OP_CAST),
                                    from_dtype,
                                    out_acl,
                                    (uint8_t)out,
                                    {from, 0, 0}};
    } else if (result != out_dtype) {
        main_instr.dst = (uint8_t)next;
        instrs[n++] = main_instr;
        instrs[n++] = (aclnnxInstr){asn_device_opcode(ASN_OP_CAST),
                                    (uint8_t)asn_dtype_table[result].acl,
                                    out_acl,
                                    (uint8_t)out,
                                    {(uint8_t)next, 0, 0}};
        next++;
    } else {
        main_instr.dst = (uint8_t)out;
        main_instr.outDtype = out_acl;
        instrs[n++] = main_instr;
    }
    aclnnxProgram program = {.numDims = node->ndim,
                             .numIn = node->num_in,
                             .numOut = 1,
                             .numInstrs = n,
                             .numRegs = next,
                             .shape = node->shape,
                             .reduceMask = node->reduce_mask,
                             .operands = operands,
                             .instrs = instrs};
    return call(&program, node->size,
                node->reduce_op != ASN_OP_NONE ? node->reduce_op : node->op);
}

asn_status asn_launch_node(const asn_node *node) {
    ASN_TRY(asn_device_open());
    return asn_fuse_enabled() ? asn_fuse_node(node) : asn_lower_node(node);
}
