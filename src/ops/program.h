/* L1 ops: building a fused program's instructions (aclnn/aclnnx.h).
 *
 *     asn_builder b;
 *     asn_build_begin(&b);
 *     int x = asn_build_input(&b, ASN_F32), y = asn_build_input(&b, ASN_F64);
 *     int wide = asn_build_cast(&b, x, ASN_F64), both[2] = {wide, y};
 *     asn_build_output(&b, asn_build_op(&b, ASN_OP_ADD, ASN_F64, both), false);
 *     asn_build_finish(&b, &program);
 *
 * Operands and results are values, of which each has a dtype and is computed once: the
 * same operation on the same values is the value that it was. Registers are numbered at
 * the end, when instructions that nothing needs and inputs that nobody reads are left
 * out; an output is the register of its value, or a copy where that cannot be.
 */
#ifndef ASN_OPS_PROGRAM_H
#define ASN_OPS_PROGRAM_H

#include "aclnn/aclnnx.h"
#include "base/status.h"
#include "ops/ops.h"

typedef struct {
    uint16_t op;
    uint8_t loop, result; /* dtypes */
    uint8_t num_in;
    int16_t src[3]; /* values */
} asn_build_instr;

/* Value v is input v, or, from ACLNNX_MAX_OPERANDS on, an instruction's result. */
typedef struct {
    int num_in, num_out, num_instrs;
    bool full; /* something was too much, and is missing */
    uint8_t in_dtype[ACLNNX_MAX_OPERANDS];
    asn_build_instr code[ACLNNX_MAX_INSTRS];
    struct {
        int16_t value;
        bool reduces;
    } out[ACLNNX_MAX_OPERANDS];
} asn_builder;

/* What comes of it: the numbers of a program, which inputs it has, and its code, whose
 * opcodes are asn_op values. */
typedef struct {
    int num_in, num_out, num_instrs, num_regs;
    uint8_t inputs[ACLNNX_MAX_OPERANDS]; /* of the builder's, in order */
    aclnnxInstr *instrs;                 /* the caller's, of ACLNNX_MAX_INSTRS */
} asn_built;

static inline void asn_build_begin(asn_builder *b) {
    b->num_in = b->num_out = b->num_instrs = 0;
    b->full = false;
}

int asn_build_input(asn_builder *b, asn_dtype dtype);
/* The value itself where it has the dtype. */
int asn_build_cast(asn_builder *b, int value, asn_dtype dtype);
/* A row's operation in its loop for `loop`, on as many values as it has inputs, of the
 * loop's dtypes. */
int asn_build_op(asn_builder *b, asn_op op, asn_dtype loop, const int *src);
/* The next output; `reduces`: its value is folded, and nobody can read its register. */
void asn_build_output(asn_builder *b, int value, bool reduces);

static inline asn_dtype asn_build_dtype(const asn_builder *b, int value) {
    return (asn_dtype)(value < ACLNNX_MAX_OPERANDS
                           ? b->in_dtype[value]
                           : b->code[value - ACLNNX_MAX_OPERANDS].result);
}

/* Fills in `out`, whose `instrs` is set. ASN_ERR_RUNTIME: it was too much. */
ASN_CHECK_RESULT asn_status asn_build_finish(asn_builder *b, asn_built *out);

#endif
