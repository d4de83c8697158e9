/* CPU device, operators: fused programs written by hand (see program.h). */
#include "device/opapi/program.h"

#include <string.h>

void asn_prog_begin(asn_prog *p, int ndim, const int64_t *shape, uint64_t reduce_mask) {
    p->ndim = ndim;
    p->shape = shape;
    p->mask = reduce_mask;
    p->num_in = p->num_out = p->num_instrs = p->num_values = 0;
    p->full = false;
}

static int value_new(asn_prog *p, asn_dtype dtype, int in) {
    p->values[p->num_values].dtype = dtype;
    p->values[p->num_values].in = in;
    return p->num_values++;
}

static aclnnxOperand operand_of(asn_dtype dtype, void *data, const int64_t *strides) {
    aclnnxOperand o;
    memset(&o, 0, sizeof o);
    o.data = data;
    o.strides = strides;
    o.dtype = (uint8_t)asn_dtype_table[dtype].acl;
    o.reduceOp = ACLNNX_NO_REDUCE;
    return o;
}

static int input_new(asn_prog *p, asn_dtype dtype, aclnnxOperand operand) {
    if (p->num_in == ASN_PROG_OPERANDS) {
        p->full = true;
        return 0;
    }
    p->in[p->num_in] = operand;
    return value_new(p, dtype, p->num_in++);
}

int asn_prog_in(asn_prog *p, const asn_nd *a) {
    return input_new(p, a->dtype,
                     operand_of(a->dtype, a->data, a->ndim ? a->strides : NULL));
}

int asn_prog_element(asn_prog *p, asn_dtype dtype, const void *element) {
    aclnnxOperand o = operand_of(dtype, NULL, NULL);
    memcpy(o.immediate, element, (size_t)asn_itemsize(dtype));
    return input_new(p, dtype, o);
}

int asn_prog_const(asn_prog *p, asn_dtype dtype, double value) {
    _Alignas(16) uint8_t element[16];
    asn_value_from_double(dtype, element, value);
    return asn_prog_element(p, dtype, element);
}

static int emit(asn_prog *p, asn_op op, asn_dtype dtype, asn_dtype result, int a, int b,
                int c) {
    if (p->num_instrs == ASN_PROG_INSTRS) {
        p->full = true;
        return 0;
    }
    int k = p->num_instrs++;
    p->instrs[k].op = (uint16_t)op;
    p->instrs[k].dtype = dtype;
    p->instrs[k].result = result;
    p->instrs[k].src[0] = a;
    p->instrs[k].src[1] = b;
    p->instrs[k].src[2] = c;
    p->instrs[k].value = value_new(p, result, -1);
    return p->instrs[k].value;
}

int asn_prog_as(asn_prog *p, int value, asn_dtype dtype) {
    asn_dtype from = p->values[value].dtype;
    return from == dtype ? value : emit(p, ASN_OP_CAST, from, dtype, value, -1, -1);
}

int asn_prog_op1(asn_prog *p, asn_op op, int a) {
    asn_dtype t = p->values[a].dtype;
    return emit(p, op, t, asn_op_result(op, t), a, -1, -1);
}

int asn_prog_op2(asn_prog *p, asn_op op, int a, int b) {
    asn_dtype t = p->values[b].dtype;
    return emit(p, op, t, asn_op_result(op, t), a, b, -1);
}

int asn_prog_op3(asn_prog *p, asn_op op, int a, int b, int c) {
    asn_dtype t = p->values[c].dtype;
    return emit(p, op, t, asn_op_result(op, t), a, b, c);
}

void asn_prog_out(asn_prog *p, int value, const asn_nd *out) {
    /* An output register is written by an instruction of its own: a conversion or a copy.
     */
    asn_dtype from = p->values[value].dtype;
    int last = from == out->dtype ? emit(p, ASN_OP_COPY, from, from, value, -1, -1)
                                  : asn_prog_as(p, value, out->dtype);
    if (p->num_out == ASN_PROG_OPERANDS) {
        p->full = true;
        return;
    }
    p->out[p->num_out] =
        operand_of(out->dtype, out->data, out->ndim ? out->strides : NULL);
    p->out_value[p->num_out++] = last;
}

void asn_prog_reduce(asn_prog *p, asn_op op, int value, const asn_nd *out) {
    asn_prog_out(p, value, out);
    if (!p->full) p->out[p->num_out - 1].reduceOp = (uint16_t)op;
}

/* The register of a value: inputs, then outputs, then temporaries. */
static uint8_t register_of(const asn_prog *p, int value) {
    if (p->values[value].in >= 0) return (uint8_t)p->values[value].in;
    for (int i = 0; i < p->num_out; i++)
        if (p->out_value[i] == value) return (uint8_t)(p->num_in + i);
    return (uint8_t)(p->num_in + p->num_out + value);
}

asn_status asn_prog_run(const asn_prog *p) {
    if (p->full)
        return asn_error_set(ASN_ERR_RUNTIME, "an operator's program is too long");
    aclnnxOperand operands[2 * ASN_PROG_OPERANDS];
    aclnnxInstr instrs[ASN_PROG_INSTRS];
    memcpy(operands, p->in, (size_t)p->num_in * sizeof *operands);
    memcpy(operands + p->num_in, p->out, (size_t)p->num_out * sizeof *operands);
    for (int k = 0; k < p->num_instrs; k++) {
        aclnnxInstr *in = &instrs[k];
        memset(in, 0, sizeof *in);
        in->op = p->instrs[k].op;
        in->dtype = (uint8_t)asn_dtype_table[p->instrs[k].dtype].acl;
        in->outDtype = (uint8_t)asn_dtype_table[p->instrs[k].result].acl;
        in->dst = register_of(p, p->instrs[k].value);
        for (int i = 0; i < 3; i++)
            if (p->instrs[k].src[i] >= 0)
                in->src[i] = register_of(p, p->instrs[k].src[i]);
    }
    aclnnxProgram program = {.numDims = p->ndim,
                             .numIn = p->num_in,
                             .numOut = p->num_out,
                             .numInstrs = p->num_instrs,
                             .numRegs = p->num_in + p->num_out + p->num_values,
                             .shape = p->shape,
                             .reduceMask = p->mask,
                             .operands = operands,
                             .instrs = instrs};
    return asn_cpu_fused(&program);
}
