/* CPU device, private to the JIT: the state of a compilation, and what its layers ask of
 * each other: registers and memory (jit_registers.c), the pieces of operations
 * (jit_operations.c), the function around them (jit_compile.c).
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_COMPILER_H
#define ASN_DEVICE_CPU_JIT_JIT_COMPILER_H

#include "device/cpu/jit/jit_program.h"
#include "device/cpu/jit/jit_x86.h"

enum {
    ASN_JIT_REGISTERS = 32, /* with AVX-512; 16 with AVX2 */
    ASN_JIT_LOW = 16,       /* what an instruction that is not EVEX can name */
    ASN_JIT_FREE = -1,
    ASN_JIT_STICKY = -2, /* sign bits: "some element was outside", over all vectors */
    ASN_JIT_MAX_SPILLS = 64,
    ASN_JIT_MAX_CONSTANTS = 192,
    ASN_JIT_MAX_FIXUPS = 768,
    ASN_JIT_MAX_WANTED = 96,
    ASN_JIT_TAIL_MASK = 7,
    ASN_JIT_MAX_PARTS = 2,
    ASN_JIT_ADDRESSES = 6 /* that have a register */
};

/* A displacement that is to lead to a constant: `tail` bytes of its instruction follow
 * it, from whose end it counts. */
typedef struct {
    uint32_t at; /* of the displacement */
    uint8_t tail;
    uint16_t constant;
} asnd_jit_fixup;

/* A constant of the pieces that would gain from a register of its own: loads are what
 * limits long programs, one vector a cycle (sqrt(a*a+b*b)*exp(-c)+where(d>0,a,b) in L1:
 * 1.29 ns an element with all of them in memory). data: its offset in the table's data,
 * size in bytes. */
typedef struct {
    uint32_t data;
    uint8_t size;
    bool spread;
    uint16_t uses;
    int16_t reg; /* or -1 */
} asnd_jit_wanted;

typedef struct {
    const asnd_jit_program *p; /* being written: of one vector or two interleaved */
    asnd_code_buffer code;
    bool tail, failed;
    bool counted;                /* a first pass has seen what the program needs */
    bool mixed[ASN_JIT_MAX_OPS]; /* two vectors' operations whose instructions take turns
                                  */
    int registers, width;        /* of vectors, bytes */
    /* Of each value: its register and its spill slot, or -1; the next operation that
     * reads it. */
    int16_t reg[ASN_JIT_MAX_VALUES], spill[ASN_JIT_MAX_VALUES];
    int16_t next_use[ASN_JIT_MAX_VALUES];
    bool fixed[ASN_JIT_MAX_VALUES];   /* in its register all the time */
    int16_t owner[ASN_JIT_REGISTERS]; /* a value, or one of the above */
    uint32_t pinned; /* registers of the operation that is being written */
    int parts;       /* registers of 64 bytes */
    int accumulators[ASN_JIT_MAX_SUMS][ASN_JIT_ACCUMULATORS * ASN_JIT_MAX_PARTS];
    /* sticky: the registers of marks; spills: slots in use, frame: the most of them;
     * peak: the most registers at once; at: the operation being written. */
    int sticky[2], spills, frame, peak, at;
    int num_addresses;
    uint16_t addresses[ASN_JIT_ADDRESSES]; /* pointers that have a register */
    int num_wanted;
    asnd_jit_wanted wanted[ASN_JIT_MAX_WANTED];
    int num_constants, num_fixups;
    const uint8_t *constant[ASN_JIT_MAX_CONSTANTS];
    uint8_t constant_size[ASN_JIT_MAX_CONSTANTS];
    bool constant_spread[ASN_JIT_MAX_CONSTANTS]; /* to a vector */
    asnd_jit_fixup fixups[ASN_JIT_MAX_FIXUPS];
} asnd_jit_compiler;

/* ---- jit_registers.c */

/* Bytes that a vector of the program's lanes takes. */
static inline int asn_jit_vector_bytes(const asnd_jit_compiler *c, int lane) {
    return c->p->lanes * asn_lane_bytes(lane);
}

/* The displacement at `at`, with `tail` bytes of its instruction after it, is to lead to
 * a constant, `spread` to a vector. */
void asn_jit_add_fixup(asnd_jit_compiler *c, size_t at, int tail, const void *bytes,
                       int size, bool spread);
/* The n-th register of those that hold addresses of arrays. */
int asn_jit_address_register(int n);
/* The element at `done` of an array, or its first one. */
x86_mem asn_jit_address_of(asnd_jit_compiler *c, int pointer, int lane, bool moves);
/* Likewise, of the first or second vector. */
x86_mem asn_jit_address_in(asnd_jit_compiler *c, int pointer, int lane, bool second);
/* Stores a vector of the program's lanes; in the rest under the mask. */
void asn_jit_emit_store(asnd_jit_compiler *c, int reg, int lane, x86_mem m);
void asn_jit_emit_copy(asnd_jit_compiler *c, int to, int from);
/* A free register, or that of the value whose next reader is furthest; `low`: one that
 * every instruction can name. It is pinned. */
int asn_jit_take_register(asnd_jit_compiler *c, bool low);
/* Stores the parts of complex numbers, interleaved. */
void asn_jit_store_pairs(asnd_jit_compiler *c, const asnd_jit_store *store, int re,
                         int im);
/* Brings a value into a register, which stays its own until the operation is written. */
int asn_jit_need(asnd_jit_compiler *c, int value);
/* Frees the registers of what is read no more, and unpins all. */
void asn_jit_release_dead(asnd_jit_compiler *c);

/* ---- jit_operations.c */

/* An operation's piece, its operands in registers or where they lie. */
void asn_jit_emit_op(asnd_jit_compiler *c, const asnd_jit_op *op);
/* An operation of one vector and the same of another, the pieces' instructions
 * interleaved; false: not this one. */
bool asn_jit_emit_two(asnd_jit_compiler *c, const asnd_jit_op *ops);
/* The stores of what is known; `before`: the operation they come before. */
void asn_jit_emit_stores(asnd_jit_compiler *c, int before);
#endif
