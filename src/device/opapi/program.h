/* CPU device, operators: fused programs written by hand, for bodies that are a few of
 * them.
 *
 *     asn_prog p;
 *     asn_prog_begin(&p, in->ndim, in->shape, mask);
 *     int x = asn_prog_as(&p, asn_prog_in(&p, in), ASN_F64);
 *     asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op(&p, ASN_OP_MULTIPLY, x, x), &sum.nd);
 *     ASN_TRY(asn_prog_run(&p));
 *
 * Every value knows its dtype; the loop dtype of an operation is that of its last operand
 * (the condition of `where` is bool). A mistake (no room, no loop) surfaces in
 * asn_prog_run.
 */
#ifndef ASN_DEVICE_OPAPI_PROGRAM_H
#define ASN_DEVICE_OPAPI_PROGRAM_H

#include "device/cpu/fused/fused.h"
#include "device/opapi/view.h"

enum { ASN_PROG_OPERANDS = 16, ASN_PROG_INSTRS = 32 };

typedef struct {
    int ndim, num_in, num_out, num_instrs, num_values;
    const int64_t *shape;
    uint64_t mask;
    aclnnxOperand in[ASN_PROG_OPERANDS], out[ASN_PROG_OPERANDS];
    int out_value[ASN_PROG_OPERANDS];
    asn_dtype out_dtype[ASN_PROG_OPERANDS];
    struct {
        uint16_t op;
        asn_dtype dtype, result;
        int src[3], value;
    } instrs[ASN_PROG_INSTRS];
    struct {
        asn_dtype dtype;
        int in; /* index of the input, -1: computed */
    } values[ASN_PROG_OPERANDS + ASN_PROG_INSTRS];
    bool full;
} asn_prog;

void asn_prog_begin(asn_prog *p, int ndim, const int64_t *shape, uint64_t reduce_mask);
/* An input of the program's shape (0 strides where it broadcasts); returns its value. */
int asn_prog_in(asn_prog *p, const asn_nd *a);
int asn_prog_const(asn_prog *p, asn_dtype dtype, double value);
int asn_prog_element(asn_prog *p, asn_dtype dtype, const void *element);
int asn_prog_as(asn_prog *p, int value, asn_dtype dtype);
int asn_prog_op1(asn_prog *p, asn_op op, int a);
int asn_prog_op2(asn_prog *p, asn_op op, int a, int b);
int asn_prog_op3(asn_prog *p, asn_op op, int a, int b, int c);
/* Writes the value, converted to out's dtype. */
void asn_prog_out(asn_prog *p, int value, const asn_nd *out);
/* Accumulates the value with a row of out's dtype over the mask's dimensions, where out's
 * strides are 0; the value is converted to out's dtype first. */
void asn_prog_reduce(asn_prog *p, asn_op op, int value, const asn_nd *out);
ASN_CHECK_RESULT asn_status asn_prog_run(const asn_prog *p);

#endif
