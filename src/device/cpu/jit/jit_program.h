/* CPU device, private to the JIT: a plan's steps as operations on typed lanes
 * (jit_lower.c), for one vector or for two interleaved (jit_interleave.c), for the
 * register allocator (jit_registers.c).
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_PROGRAM_H
#define ASN_DEVICE_CPU_JIT_JIT_PROGRAM_H

#include "device/cpu/jit/jit_pieces.h"
#include "device/cpu/fused/program.h"

enum {
    ASN_JIT_MAX_VALUES = 512,
    ASN_JIT_MAX_OPS = 512,
    ASN_JIT_MAX_STORES = 2 * ACLNNX_MAX_OPERANDS,
    ASN_JIT_MAX_SUMS = 2,
    ASN_JIT_ACCUMULATORS = 4, /* of a sum, 64 bytes each; with AVX2 in two registers */
    ASN_JIT_NONE = 0xffff
};

typedef enum {
    ASN_JIT_INPUT, /* memory at ptr[pointer], moving with the elements */
    ASN_JIT_CONST, /* one element at ptr[pointer] */
    ASN_JIT_ZERO,  /* all bits clear */
    ASN_JIT_COMPUTED
} asnd_jit_kind;

typedef struct {
    uint8_t kind, lane;
    uint8_t
        part; /* in memory: 1 the real part, 2 the imaginary part of complex numbers */
    uint16_t pointer;
    bool second;                 /* of two vectors interleaved */
    int16_t first_use, last_use; /* op index; num_ops: the end */
} asnd_jit_value;

typedef struct {
    const asnd_piece *piece;
    uint16_t src[ASN_PIECE_INPUTS], dst;
    int16_t next_use[ASN_PIECE_INPUTS]; /* of src, after this op */
} asnd_jit_op;

/* Before op `before` the value goes to ptr[pointer]: not earlier, as the memory may be
 * that of an input which earlier operations read. */
typedef struct {
    uint16_t value, pointer, before;
    uint16_t imag;    /* of complex numbers, or NONE */
    bool past_caches; /* whole vectors at multiples of 64 bytes */
    bool second;      /* of two vectors interleaved */
} asnd_jit_store;

/* A value that is summed in four accumulators, as sum.inc does, of two vectors
 * interleaved both; their lanes go to ptr[pointer] at the end. */
typedef struct {
    uint16_t value[2], pointer;
} asnd_jit_sum;

typedef struct {
    const asnd_piece_table *table;
    int vector_bytes, lanes, count_index; /* lanes: elements of a vector */
    int vectors;                          /* that are interleaved: 1 or 2 */
    int num_values, num_ops, num_stores, num_sums;
    bool has_complex; /* whole vectors only */
    bool in_place;    /* an output lies over an input: load before the first store */
    uint16_t
        marks[2]; /* values that say "outside", of 4-byte and 8-byte lanes, or NONE */
    uint16_t first_marks[2]; /* what those start from: all marks of the vectors before */
    asnd_jit_value values[ASN_JIT_MAX_VALUES];
    asnd_jit_op ops[ASN_JIT_MAX_OPS];
    asnd_jit_store stores[ASN_JIT_MAX_STORES];
    asnd_jit_sum sums[ASN_JIT_MAX_SUMS];
} asnd_jit_program;

static inline int asn_lane_bytes(int lane) {
    static const uint8_t bytes[ASN_LANE_COUNT] = {1, 1, 2, 2, 4, 4, 8, 8, 2,
                                                  2, 4, 8, 1, 2, 4, 8, 8, 16};
    return bytes[lane];
}

/* sums: they may stay in registers. false: something has no piece. */
bool asn_jit_lower(asnd_jit_program *program, const asnd_plan *plan,
                   const asnd_piece_table *table, int vector_bytes, bool sums);

/* Where each value is read; the other fields are set. */
void asn_jit_find_uses(asnd_jit_program *program);

/* The program of two vectors, an operation of the one beside the same of the other;
 * its values are those of `one` and then the second vector's. false: it gains nothing, or
 * there is no room. */
bool asn_jit_in_turns(asnd_jit_program *two, const asnd_jit_program *one);

/* Writes the function to `out` (at most `room` bytes); its size, or 0 when it does not
 * fit. `two`: the program for two vectors interleaved, or NULL; it is refused when its
 * values do not stay in registers. */
size_t asn_jit_compile(const asnd_jit_program *one, const asnd_jit_program *two,
                       uint8_t *out, size_t room);

#endif
