/* CPU device, operators: fused programs written by hand (see program.h).
 *
 * A thin layer over the builder that the whole project shares (ops/program.h): it adds
 * the operands' addresses and strides. Programs are made and run within one call, on the
 * stack. Running out of room is remembered and told once, by asn_prog_run, so that bodies
 * can write their expressions without checks between.
 */
#include "device/opapi/core/program.h"

#include <string.h>

void asn_prog_begin(asnd_prog *p, int ndim, const int64_t *shape, uint64_t reduce_mask) {
    p->ndim = ndim;
    p->shape = shape;
    p->mask = reduce_mask;
    p->full = false;
    asn_build_begin(&p->code);
}

/* An operand's descriptor; data NULL: an immediate, which the caller fills in. */
static aclnnxOperand operand_of(asn_dtype dtype, void *data, const int64_t *strides) {
    aclnnxOperand o;
    memset(&o, 0, sizeof o);
    o.data = data;
    o.strides = strides;
    o.dtype = (uint8_t)asn_dtype_table[dtype].acl;
    o.reduceOp = ACLNNX_NO_REDUCE;
    return o;
}

/* Adds an input, and gives its value; without room, any value. */
static int input_new(asnd_prog *p, asn_dtype dtype, aclnnxOperand operand) {
    if (p->code.num_in == ASN_PROG_OPERANDS) {
        p->full = true;
        return 0;
    }
    p->in[p->code.num_in] = operand;
    return asn_build_input(&p->code, dtype);
}

int asn_prog_in(asnd_prog *p, const asnd_nd *a) {
    return input_new(p, a->dtype,
                     operand_of(a->dtype, a->data, a->ndim ? a->strides : NULL));
}

int asn_prog_element(asnd_prog *p, asn_dtype dtype, const void *element) {
    aclnnxOperand o = operand_of(dtype, NULL, NULL);
    memcpy(o.immediate, element, (size_t)asn_itemsize(dtype));
    return input_new(p, dtype, o);
}

int asn_prog_const(asnd_prog *p, asn_dtype dtype, double value) {
    _Alignas(16) uint8_t element[16];
    asn_value_from_double(dtype, element, value);
    return asn_prog_element(p, dtype, element);
}

int asn_prog_as(asnd_prog *p, int value, asn_dtype dtype) {
    return asn_build_cast(&p->code, value, dtype);
}

int asn_prog_op1(asnd_prog *p, asn_op op, int a) {
    return asn_build_op(&p->code, op, asn_build_dtype(&p->code, a), &a);
}

/* The loop dtype is the last operand's: both were brought to it by asn_prog_as. */
int asn_prog_op2(asnd_prog *p, asn_op op, int a, int b) {
    const int src[2] = {a, b};
    return asn_build_op(&p->code, op, asn_build_dtype(&p->code, b), src);
}

int asn_prog_op3(asnd_prog *p, asn_op op, int a, int b, int c) {
    const int src[3] = {a, b, c};
    return asn_build_op(&p->code, op, asn_build_dtype(&p->code, c), src);
}

/* Adds an output; reduce_op: ACLNNX_NO_REDUCE, or what accumulates. */
static void output_new(asnd_prog *p, uint16_t reduce_op, int value, const asnd_nd *out) {
    if (p->code.num_out == ASN_PROG_OPERANDS) {
        p->full = true;
        return;
    }
    aclnnxOperand *o = &p->out[p->code.num_out];
    *o = operand_of(out->dtype, out->data, out->ndim ? out->strides : NULL);
    o->reduceOp = reduce_op;
    /* The value is converted to the output's dtype; a fold is of that dtype, too. */
    asn_build_output(&p->code, asn_prog_as(p, value, out->dtype),
                     reduce_op != ACLNNX_NO_REDUCE);
}

void asn_prog_out(asnd_prog *p, int value, const asnd_nd *out) {
    output_new(p, ACLNNX_NO_REDUCE, value, out);
}

void asn_prog_reduce(asnd_prog *p, asn_op op, int value, const asnd_nd *out) {
    output_new(p, (uint16_t)op, value, out);
}

/* The inputs that the builder has kept, then all outputs, as a program's operands
 * stand. */
asn_status asn_prog_run(asnd_prog *p) {
    aclnnxOperand operands[2 * ASN_PROG_OPERANDS];
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_built built = {.instrs = instrs};
    if (p->full)
        return asn_error_set(ASN_ERR_RUNTIME, "an operator's program is too long");
    ASN_TRY(asn_build_finish(&p->code, &built));
    for (int i = 0; i < built.num_in; i++)
        operands[i] = p->in[built.inputs[i]];
    memcpy(operands + built.num_in, p->out, (size_t)built.num_out * sizeof *operands);
    aclnnxProgram program = {.numDims = p->ndim,
                             .numIn = built.num_in,
                             .numOut = built.num_out,
                             .numInstrs = built.num_instrs,
                             .numRegs = built.num_regs,
                             .shape = p->shape,
                             .reduceMask = p->mask,
                             .operands = operands,
                             .instrs = instrs};
    return asn_cpu_fused(&program);
}
