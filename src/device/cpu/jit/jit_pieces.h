/* CPU device, private to the JIT: the tables of machine code that tools/cut_pieces.py
 * writes.
 *
 * A piece computes one operation on whole vectors. Its registers are *slots*: the inputs
 * first, then the others, of which one holds the result; `fields` says where a slot's
 * register number stands in the code. Inputs are left as they were, unless the JIT gives
 * an input's register to its heir, a slot that is written only after the input's last
 * use.
 *
 * A lane is how a value lies in a vector: a dtype, or a bool as an integer 0 or 1 of some
 * width: comparisons make bools as wide as their operands, since narrowing them would
 * cost more than the comparison.
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_PIECES_H
#define ASN_DEVICE_CPU_JIT_JIT_PIECES_H

#include <stdint.h>

#include "base/dtype.h"
#include "ops/ops.h"

typedef enum {
    ASN_LANE_I8,
    ASN_LANE_U8,
    ASN_LANE_I16,
    ASN_LANE_U16,
    ASN_LANE_I32,
    ASN_LANE_U32,
    ASN_LANE_I64,
    ASN_LANE_U64,
    ASN_LANE_F16,
    ASN_LANE_BF16,
    ASN_LANE_F32,
    ASN_LANE_F64,
    ASN_LANE_B8,
    ASN_LANE_B16,
    ASN_LANE_B32,
    ASN_LANE_B64,
    ASN_LANE_C64, /* two vectors of float32 or float64; names a row's pieces only */
    ASN_LANE_C128,
    ASN_LANE_COUNT
} asnd_lane;

/* Vectors have as many elements as fit in the widest dtype of a program: index 0 counts
 * 64-bit elements, each further one doubles. */
enum { ASN_LANE_COUNTS = 4, ASN_PIECE_INPUTS = 6, ASN_NO_HEIR = 255 };

typedef enum {
    ASN_FIELD_EVEX_REG,
    ASN_FIELD_EVEX_VVVV,
    ASN_FIELD_EVEX_RM,
    ASN_FIELD_VEX_REG,
    ASN_FIELD_VEX_VVVV,
    ASN_FIELD_VEX_RM,
    ASN_FIELD_VEX_IS4 /* the upper half of the last byte; `at` is that of the next
                         instruction */
} asnd_field_kind;

typedef struct {
    uint16_t at; /* of the instruction in the piece */
    uint8_t kind, slot;
} asnd_piece_field;

/* Whether the JIT may put a register in the place of a constant in memory: no; as an
 * operand; or the instruction does nothing but load it. Such an instruction's
 * displacement is its seventh byte (EVEX) or its sixth (VEX). With VEX an operand in
 * memory is a whole vector: the JIT writes a constant that is spread in every lane. */
typedef enum {
    ASN_CONSTANT_FIXED,
    ASN_CONSTANT_OPERAND,
    ASN_CONSTANT_LOADED
} asnd_constant_kind;

/* A constant that an instruction of the piece reads, relative to its own address. */
typedef struct {
    uint16_t at;  /* of the 32-bit displacement */
    uint8_t tail; /* bytes of the instruction after it */
    uint8_t size;
    uint8_t kind, spread; /* spread: the register has it in every lane */
    uint32_t data;        /* offset in the table's data */
} asnd_piece_constant;

typedef struct {
    uint32_t code, length;
    uint32_t fields, num_fields;
    uint32_t constants, num_constants;
    uint8_t inputs, slots, result;
    uint8_t heirs[ASN_PIECE_INPUTS];
    uint8_t from_memory; /* bit k: input k is read once, where memory could stand; VEX */
    uint32_t low;        /* slots whose register must be below 16 */
    uint32_t turns, num_turns; /* EVEX: where another vector's piece may come in */
} asnd_piece;

/* Entries are 1 + an index in `pieces`; 0: no such piece. */
typedef struct asnd_piece_table {
    const uint8_t *code;
    const asnd_piece_field *fields;
    const asnd_piece_constant *constants;
    const uint8_t *data;
    const asnd_piece *pieces;
    const uint16_t *turns;
    uint16_t ew[ASN_OP_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS];
    uint16_t im[ASN_OP_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS]; /* imaginary parts */
    /* (arguments, marks): marks, and the sign bit where the arguments do not fit ew */
    uint16_t fit[ASN_OP_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS];
    /* (a, b, x, y): x where the comparison holds */
    uint16_t pick[ASN_OP_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS];
    uint16_t cast[ASN_LANE_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS];
    uint16_t cast_fit[ASN_LANE_COUNT][ASN_LANE_COUNT][ASN_LANE_COUNTS]; /* as fit */
    uint16_t round[ASN_LANE_COUNT][ASN_LANE_COUNTS];
} asnd_piece_table;

#if defined(ASN_JIT)
extern const asnd_piece_table asn_pieces_avx512, asn_pieces_avx2;
#endif

#endif
