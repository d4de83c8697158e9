/* L1 ops: what rows without an operator are in other rows (ops.def's `parts`): for
 * devices that have operators only. */
#ifndef ASN_OPS_PARTS_H
#define ASN_OPS_PARTS_H

#include "ops/ops.h"

enum { ASN_PARTS_MOST = 40 /* steps */ };

typedef enum { ASN_PART_OPERAND, ASN_PART_STEP, ASN_PART_NUMBER } asn_part_kind;

typedef struct {
    uint8_t kind, at; /* an operand of the row, the result of a step before, a number */
} asn_part;

typedef struct {
    uint16_t op;
    uint8_t becomes; /* of a copy: the dtype it converts to; else ASN_DTYPE_NONE */
    asn_part from[3];
} asn_op_step;

typedef struct {
    uint16_t op, dtype_mask; /* the row, and the loop dtypes for which this is it */
    uint8_t num_steps;       /* the last one is the result */
    const asn_op_step *steps;
    const double *numbers;
} asn_op_parts;

extern const asn_op_parts asn_op_parts_table[];
extern const int asn_op_num_parts;

/* NULL: the row is not composed for this loop dtype. */
const asn_op_parts *asn_op_parts_find(asn_op op, asn_dtype loop);

/* The loop and result dtypes of every step, where the row's loop dtype is `loop`. */
void asn_op_parts_types(const asn_op_parts *parts, asn_dtype loop,
                        asn_dtype loops[ASN_PARTS_MOST],
                        asn_dtype results[ASN_PARTS_MOST]);

#endif
