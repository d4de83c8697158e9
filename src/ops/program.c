/* L1 ops: building a fused program's instructions (see program.h). Equal
 * operations are found by comparing a new one with all before it: programs are short. A
 * register is never used twice. */
#include "ops/program.h"

#include <string.h>

enum {
    FIRST = ACLNNX_MAX_OPERANDS, /* of the results */
    VALUES = FIRST + ACLNNX_MAX_INSTRS + ACLNNX_MAX_OPERANDS,
    NONE = -1
};

int asn_build_input(asn_builder *b, asn_dtype dtype) {
    if (b->num_in == ACLNNX_MAX_OPERANDS) {
        b->full = true;
        return 0;
    }
    b->in_dtype[b->num_in] = (uint8_t)dtype;
    return b->num_in++;
}

static bool same_instr(const asn_build_instr *a, const asn_build_instr *b) {
    if (a->op != b->op || a->loop != b->loop || a->result != b->result) return false;
    for (int k = 0; k < a->num_in; k++)
        if (a->src[k] != b->src[k]) return false;
    return true;
}

/* A new instruction; its value. */
static int emit(asn_builder *b, asn_op op, asn_dtype loop, asn_dtype result,
                const int *src, int num_in) {
    if (b->num_instrs == ACLNNX_MAX_INSTRS) {
        b->full = true;
        return 0;
    }
    asn_build_instr *in = &b->code[b->num_instrs];
    in->op = (uint16_t)op;
    in->loop = (uint8_t)loop;
    in->result = (uint8_t)result;
    in->num_in = (uint8_t)num_in;
    for (int k = 0; k < num_in; k++)
        in->src[k] = (int16_t)src[k];
    return FIRST + b->num_instrs++;
}

/* The same, or the value of an instruction that does the same. */
static int emit_once(asn_builder *b, asn_op op, asn_dtype loop, asn_dtype result,
                     const int *src, int num_in) {
    const int value = emit(b, op, loop, result, src, num_in);
    for (int i = 0; i < value - FIRST; i++) {
        if (!same_instr(&b->code[i], &b->code[value - FIRST])) continue;
        b->num_instrs--;
        return FIRST + i;
    }
    return value;
}

int asn_build_cast(asn_builder *b, int value, asn_dtype dtype) {
    const asn_dtype from = asn_build_dtype(b, value);
    if (from == dtype) return value;
    return emit_once(b, ASN_OP_CAST, from, dtype, &value, 1);
}

int asn_build_op(asn_builder *b, asn_op op, asn_dtype loop, const int *src) {
    return emit_once(b, op, loop, asn_op_result(op, loop), src, asn_op_table[op].num_in);
}

void asn_build_output(asn_builder *b, int value, bool reduces) {
    if (b->num_out == ACLNNX_MAX_OPERANDS) {
        b->full = true;
        return;
    }
    b->out[b->num_out].value = (int16_t)value;
    b->out[b->num_out++].reduces = reduces;
}

/* ---- registers */

/* Whether one of the first num_instrs reads it. */
static bool is_read(const asn_builder *b, int num_instrs, int value) {
    for (int i = 0; i < num_instrs; i++)
        for (int k = 0; k < b->code[i].num_in; k++)
            if (b->code[i].src[k] == value) return true;
    return false;
}

/* reg[value]: the output whose register it is, or NONE. A value has one register: the
 * first output that does not reduce it, or, where nothing else reads it, one that does.
 * Other outputs are copies. */
static void bind_outputs(asn_builder *b, int16_t *reg, bool reduces) {
    const int num_instrs = b->num_instrs;
    for (int o = 0; o < b->num_out && !b->full; o++) {
        int value = b->out[o].value;
        if (b->out[o].reduces != reduces) continue;
        if (value < FIRST || reg[value] != NONE ||
            (reduces && is_read(b, num_instrs, value))) {
            asn_dtype dtype = asn_build_dtype(b, value);
            value = emit(b, ASN_OP_COPY, dtype, dtype, &value, 1);
        }
        reg[value] = (int16_t)o;
    }
}

/* Values that outputs depend on. */
static void mark_needed(const asn_builder *b, const int16_t *reg, bool *needed) {
    memset(needed, 0, (size_t)(FIRST + b->num_instrs) * sizeof *needed);
    for (int i = b->num_instrs - 1; i >= 0; i--) {
        needed[FIRST + i] |= reg[FIRST + i] != NONE;
        for (int k = 0; needed[FIRST + i] && k < b->code[i].num_in; k++)
            needed[b->code[i].src[k]] = true;
    }
}

/* The instruction with registers in the place of values. */
static void put_instr(const asn_build_instr *from, int value, const int16_t *reg,
                      aclnnxInstr *to) {
    *to = (aclnnxInstr){.op = from->op,
                        .dtype = (uint8_t)asn_dtype_table[from->loop].acl,
                        .outDtype = (uint8_t)asn_dtype_table[from->result].acl,
                        .dst = (uint8_t)reg[value]};
    for (int k = 0; k < from->num_in; k++)
        to->src[k] = (uint8_t)reg[from->src[k]];
}

asn_status asn_build_finish(asn_builder *b, asn_built *out) {
    int16_t reg[VALUES];
    bool needed[VALUES];
    memset(reg, 0xff, (size_t)(FIRST + b->num_instrs + b->num_out) * sizeof *reg);
    bind_outputs(b, reg, false);
    bind_outputs(b, reg, true);
    if (b->full)
        return asn_error_set(ASN_ERR_RUNTIME,
                             "a program of more than %d operands or %d instructions",
                             ACLNNX_MAX_OPERANDS, ACLNNX_MAX_INSTRS);
    mark_needed(b, reg, needed);
    out->num_in = out->num_instrs = 0;
    for (int i = 0; i < b->num_in; i++)
        if (needed[i]) out->inputs[out->num_in++] = (uint8_t)i;
    for (int v = FIRST; v < FIRST + b->num_instrs; v++)
        if (reg[v] != NONE) reg[v] = (int16_t)(reg[v] + out->num_in);
    for (int i = 0; i < out->num_in; i++)
        reg[out->inputs[i]] = (int16_t)i;
    int next = out->num_in + b->num_out;
    for (int i = 0; i < b->num_instrs; i++) {
        if (!needed[FIRST + i]) continue;
        if (reg[FIRST + i] == NONE) reg[FIRST + i] = (int16_t)next++;
        put_instr(&b->code[i], FIRST + i, reg, &out->instrs[out->num_instrs++]);
    }
    out->num_out = b->num_out;
    out->num_regs = next;
    return ASN_OK;
}
