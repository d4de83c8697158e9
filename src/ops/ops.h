/* L1 ops: the operation table in C (facts of each row of ops.def; the data are
 * generated). */
#ifndef ASN_OPS_OPS_H
#define ASN_OPS_OPS_H

#include "asn_ops.h"
#include <stddef.h>

#include "base/dtype.h"

enum { ASN_OUT_SAME = 200, ASN_OUT_REAL = 201 };

enum {
    ASN_OPF_COMMUTATIVE = 1,
    ASN_OPF_ASSOCIATIVE = 2,
    ASN_OPF_REORDERABLE = 4,
    ASN_OPF_PREDICATE = 8,
    ASN_OPF_KERNEL = 16,   /* not a ufunc of its own */
    ASN_OPF_DIVIDES = 32,  /* an integer loop that reports division by zero */
    ASN_OPF_POLE = 64,     /* a finite argument has an infinite result */
    ASN_OPF_WIDENS = 128,  /* folds integers in 64 bits */
    ASN_OPF_NO_BOOL = 256, /* NumPy refuses bool, though a loop would hold it */
    /* What follows from a row's expressions (tools/optable.py). */
    ASN_OPF_EXTREME = 512,
    ASN_OPF_TRUTH = 1024, /* reads its operands as true or false */
    ASN_OPF_MOVES = 2048, /* computes nothing */
    /* A comparison; true where a < b, a == b, a > b. */
    ASN_OPF_IF_LESS = 4096,
    ASN_OPF_IF_EQUAL = 8192,
    ASN_OPF_IF_GREATER = 16384,
    ASN_OPF_COMPARES = ASN_OPF_IF_LESS | ASN_OPF_IF_EQUAL | ASN_OPF_IF_GREATER,
};

typedef struct {
    const char *name, *doc;
    const char *cann; /* first CANN operator, without "aclnn"; NULL: none */
    uint8_t num_in;
    uint8_t in_dtype[3]; /* ASN_DTYPE_NONE: the loop dtype */
    uint8_t out_dtype;   /* ASN_OUT_SAME, ASN_OUT_REAL or a dtype */
    uint8_t ints_to;     /* dtype that integers go to, or ASN_DTYPE_NONE */
    uint16_t dtype_mask; /* bit d: a loop for dtype d exists (halves included) */
    uint16_t flags;
    float ulp[ASN_DTYPE_COUNT]; /* error bound of each dtype's loop; 0: exact */
    double identity; /* valid when has_identity; -1 means all bits for bitwise_and */
    bool has_identity;
} asn_op_info;

/* The table's rows, then those of loops that custom operators add (ops/added.h). */
enum { ASN_OP_ADDED = 512 };
extern asn_op_info asn_op_rows[ASN_OP_COUNT + ASN_OP_ADDED];
#define asn_op_table ((const asn_op_info *)asn_op_rows)

/* The result dtype of `op`'s loop for `dtype` (not for ASN_OP_CAST). */
static inline asn_dtype asn_op_result(asn_op op, asn_dtype dtype) {
    uint8_t out = asn_op_table[op].out_dtype;
    if (out == ASN_OUT_SAME) return dtype;
    return out == ASN_OUT_REAL ? asn_real_dtype(dtype) : (asn_dtype)out;
}
/* The dtype of operand `i` in `op`'s loop for `dtype`. */
static inline asn_dtype asn_op_operand(asn_op op, int i, asn_dtype dtype) {
    uint8_t in = asn_op_table[op].in_dtype[i];
    return in == ASN_DTYPE_NONE ? dtype : (asn_dtype)in;
}
/* Whether it is ==, !=, <, <=, > or >=. */
static inline bool asn_op_compares(asn_op op) {
    return asn_op_table[op].flags & ASN_OPF_COMPARES;
}
static inline bool asn_op_has_loop(asn_op op, asn_dtype dtype) {
    return asn_op_table[op].dtype_mask >> dtype & 1;
}
/* Whether NumPy's ufunc has that loop, too: a device may have one of bool besides. */
static inline bool asn_op_has_numpy_loop(asn_op op, asn_dtype dtype) {
    bool refused = dtype == ASN_BOOL && asn_op_table[op].flags & ASN_OPF_NO_BOOL;
    return asn_op_has_loop(op, dtype) && !refused;
}

#endif
