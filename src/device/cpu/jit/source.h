/* CPU device: a fused program as C text (aclnnxSource, aclnn/aclnnx.h), for who compiles
 * what it runs again and again.
 *
 * The text of a program is one function over its shape and strides as they are, which
 * computes the bits that the engine computes: its operations are the expressions of the
 * operation table, which the kernels are compiled from, too (tools/gen_texts.py). What is
 * no short expression (exp, sin, halves, complex numbers, folds) is a call of the
 * device's loop. So the function is a sequence of *stages*: a nest of loops over text,
 * then calls that read what it has stored; the next stage reads what they have.
 */
#ifndef ASN_DEVICE_CPU_JIT_SOURCE_H
#define ASN_DEVICE_CPU_JIT_SOURCE_H

#include "base/text.h"
#include "device/cpu/fused/program.h"

/* What comes before the functions. */
void asn_source_preamble(asn_text *out);
/* The function `name`, and `name`_open, which finds its loops. Nothing is put for a
 * program without a text: one that is large, reduces some of its dimensions only, has no
 * short expression, or whose outputs overlap what it reads other than element on element.
 * An invalid program is an error. p has operands with addresses, whose overlaps count;
 * the text names none of them. ASN_ERR_MEMORY by out->status. */
asn_status asn_source_put(asn_text *out, const aclnnxProgram *p, const char *name);

/* ---- for source.c and source_write.c */

/* Generated: the functions that expressions call; an expression over a, b, c of each
 * row's loop, NULL: it has none; C's name of each dtype's elements. */
extern const char asn_source_functions[];
extern const char *const asn_source_expressions[ASN_OP_COUNT][ASN_DTYPE_COUNT];
extern const char *const asn_source_types[ASN_DTYPE_COUNT];

enum { ASN_SOURCE_DIMS = 8 };

/* How an operand lies in memory. */
typedef enum {
    ASN_SOURCE_IMMEDIATE,
    ASN_SOURCE_SINGLE, /* one element for all */
    ASN_SOURCE_PACKED, /* row-major without gaps */
    ASN_SOURCE_STRIDED
} asnd_source_place;

/* A register: who makes it, at which stage text may read it, and where it is kept. */
typedef struct {
    uint8_t dtype;
    bool looped; /* by a call; otherwise an operand or text */
    bool stored; /* is or has an array of n elements: in the scratch memory, or an operand
                  */
    bool raises; /* text that may raise an exception */
    int16_t stage;
    int32_t scratch; /* its place; -1: none */
} asnd_source_reg;

typedef struct {
    const aclnnxProgram *p;
    asn_text *out;
    const char *name;
    int num_operands;
    bool watched; /* floating-point exceptions are asked for, and may be raised */
    bool doubted; /* some that are raised may not be the program's */
    bool commits; /* so what is written over inputs waits for the last stage */
    int64_t n;
    int num_dims; /* outermost first */
    int64_t extent[ASN_SOURCE_DIMS];
    int64_t stride[ACLNNX_MAX_OPERANDS][ASN_SOURCE_DIMS];
    uint8_t place[ACLNNX_MAX_OPERANDS]; /* asnd_source_place */
    bool in_place[ACLNNX_MAX_OPERANDS]; /* an output over an input, element on element */
    asnd_source_reg reg[ACLNNX_MAX_REGS];
    int last_stage;
    int num_loops;
    int32_t scratch_bytes;
} asnd_source;

static inline bool asn_source_reduces(const asnd_source *s, int reg) {
    return reg >= s->p->numIn && reg < s->num_operands &&
           s->p->operands[reg].reduceOp != ACLNNX_NO_REDUCE;
}
int asn_source_arity(const aclnnxInstr *in);
/* The expression of an instruction, or NULL: it is a call. */
const char *asn_source_expression(const aclnnxInstr *in);
void asn_source_write(asnd_source *s);

#endif
