/* CPU device, operators: fused programs written by hand (ops/program.h) with their
 * operands, for bodies that are a few of them.
 *
 *     asnd_prog p;
 *     asn_prog_begin(&p, in->ndim, in->shape, mask);
 *     int x = asn_prog_as(&p, asn_prog_in(&p, in), ASN_F64);
 *     asn_prog_reduce(&p, ASN_OP_ADD, asn_prog_op(&p, ASN_OP_MULTIPLY, x, x), &sum.nd);
 *     ASN_TRY(asn_prog_run(&p));
 *
 * Every value knows its dtype; the loop dtype of an operation is that of its last operand
 * (the condition of `where` is bool). A mistake (no room, no loop) surfaces in
 * asn_prog_run.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_PROGRAM_H
#define ASN_DEVICE_OPAPI_CORE_PROGRAM_H

#include "device/cpu/fused/fused.h"
#include "device/opapi/core/view.h"
#include "ops/program.h"

enum { ASN_PROG_OPERANDS = 16 };

/* A program under construction; shape is borrowed until it has run. */
typedef struct {
    int ndim;
    const int64_t *shape;
    uint64_t mask;
    asn_builder code;
    aclnnxOperand in[ASN_PROG_OPERANDS], out[ASN_PROG_OPERANDS];
    bool full;
} asnd_prog;

void asn_prog_begin(asnd_prog *p, int ndim, const int64_t *shape, uint64_t reduce_mask);
/* An input of the program's shape (0 strides where it broadcasts); returns its value. */
int asn_prog_in(asnd_prog *p, const asnd_nd *a);
/* A number, or an element of `dtype`, as a value. */
int asn_prog_const(asnd_prog *p, asn_dtype dtype, double value);
int asn_prog_element(asnd_prog *p, asn_dtype dtype, const void *element);
/* The value in another dtype; itself where it has that already. */
int asn_prog_as(asnd_prog *p, int value, asn_dtype dtype);
/* An operation on values; a and b (b and c) are of one dtype, that of its loop. */
int asn_prog_op1(asnd_prog *p, asn_op op, int a);
int asn_prog_op2(asnd_prog *p, asn_op op, int a, int b);
int asn_prog_op3(asnd_prog *p, asn_op op, int a, int b, int c);
/* Writes the value, converted to out's dtype. */
void asn_prog_out(asnd_prog *p, int value, const asnd_nd *out);
/* Accumulates the value with a row of out's dtype over the mask's dimensions, where out's
 * strides are 0; the value is converted to out's dtype first. */
void asn_prog_reduce(asnd_prog *p, asn_op op, int value, const asnd_nd *out);
/* Finishes the program and runs it on the calling thread and the pool. */
ASN_CHECK_RESULT asn_status asn_prog_run(asnd_prog *p);

#endif
