/* CPU device, private to the JIT: the x86-64 instructions it writes itself, around the
 * pieces: loads, stores, spills, the loop. Vector instructions are encoded as EVEX or,
 * for AVX2, as VEX; Intel's manual, volume 2, has the formats.
 *
 * The code grows in a buffer of fixed size; past its end nothing is written and `full` is
 * set, which the caller looks at once.
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_X86_H
#define ASN_DEVICE_CPU_JIT_JIT_X86_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* General registers. Pieces use RAX, RCX, RDX and RSI. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Writes go to bytes[size...]; evex: vector instructions are EVEX, else VEX. */
typedef struct {
    uint8_t *bytes;
    size_t size, room;
    bool full, evex;
} asnd_code_buffer;

static inline void x86_put(asnd_code_buffer *c, const void *bytes, size_t n) {
    if (c->size + n > c->room) {
        c->full = true;
        return;
    }
    memcpy(c->bytes + c->size, bytes, n);
    c->size += n;
}
static inline void x86_byte(asnd_code_buffer *c, unsigned b) {
    uint8_t byte = (uint8_t)b;
    x86_put(c, &byte, 1);
}
static inline void x86_u32(asnd_code_buffer *c, uint32_t u) {
    x86_put(c, &u, 4);
}

/* An operand in memory: [base + index * scale + disp]; index RSP: none. */
typedef struct {
    int base, index, scale;
    int32_t disp;
} x86_mem;

/* ModRM, SIB and a 32-bit displacement (none when it is 0 and the base allows). reg: the
 * register field of ModRM. A SIB byte is always written, so that any base will do. */
static inline void x86_address(asnd_code_buffer *c, int reg, x86_mem m) {
    int scale = m.scale == 8 ? 3 : m.scale == 4 ? 2 : m.scale == 2 ? 1 : 0;
    bool plain = m.disp == 0 && (m.base & 7) != RBP;
    x86_byte(c, (unsigned)((plain ? 0 : 0x80) | (reg & 7) << 3 | 4));
    x86_byte(c, (unsigned)(scale << 6 | (m.index & 7) << 3 | (m.base & 7)));
    if (!plain) x86_u32(c, (uint32_t)m.disp);
}

/* General registers, 64 bits: opcode with a register and memory, or two registers. */
static inline void x86_general_mem(asnd_code_buffer *c, unsigned opcode, int reg,
                                   x86_mem m) {
    x86_byte(c, (unsigned)(0x48 | (reg >> 3) << 2 | (m.index >> 3) << 1 | m.base >> 3));
    x86_byte(c, opcode);
    x86_address(c, reg, m);
}
static inline void x86_general(asnd_code_buffer *c, unsigned opcode, int reg, int rm) {
    x86_byte(c, (unsigned)(0x48 | (reg >> 3) << 2 | rm >> 3));
    x86_byte(c, opcode);
    x86_byte(c, (unsigned)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}
/* Opcode 81 /extension with a 32-bit number (0: add, 4: and, 5: sub). */
static inline void x86_number(asnd_code_buffer *c, int extension, int rm,
                              int32_t number) {
    x86_byte(c, (unsigned)(0x48 | rm >> 3));
    x86_byte(c, 0x81);
    x86_byte(c, (unsigned)(0xc0 | extension << 3 | (rm & 7)));
    x86_u32(c, (uint32_t)number);
}
enum { X86_LOAD = 0x8b, X86_LEA = 0x8d, X86_MOVE = 0x8b, X86_CMP = 0x3b, X86_SUB = 0x2b };
static inline void x86_push(asnd_code_buffer *c, int reg) {
    if (reg >= 8) x86_byte(c, 0x41);
    x86_byte(c, (unsigned)(0x50 | (reg & 7)));
}
static inline void x86_pop(asnd_code_buffer *c, int reg) {
    if (reg >= 8) x86_byte(c, 0x41);
    x86_byte(c, (unsigned)(0x58 | (reg & 7)));
}

/* Jumps: x86_jump returns where its displacement stands, for x86_land. */
enum { X86_JMP = 0xe9, X86_JA = 0x87, X86_JBE = 0x86, X86_JB = 0x82, X86_JAE = 0x83 };
static inline size_t x86_jump(asnd_code_buffer *c, unsigned kind) {
    if (kind != X86_JMP) x86_byte(c, 0x0f);
    x86_byte(c, kind);
    x86_u32(c, 0);
    return c->size - 4;
}
/* The jump's displacement counts from its own end. */
static inline void x86_land_at(asnd_code_buffer *c, size_t jump, size_t target) {
    int32_t disp = (int32_t)((int64_t)target - (int64_t)(jump + 4));
    if (!c->full) memcpy(c->bytes + jump, &disp, 4);
}
static inline void x86_land(asnd_code_buffer *c, size_t jump) {
    x86_land_at(c, jump, c->size);
}

/* ---- vectors */

/* An EVEX instruction's opcode. */
typedef struct {
    uint8_t map, prefix, wide, opcode; /* prefix: 0 none, 1 66, 2 F3, 3 F2 */
} x86_vop;
static const x86_vop X86_LOAD_8 = {1, 3, 0, 0x6f}, X86_LOAD_16 = {1, 3, 1, 0x6f},
                     X86_LOAD_32 = {1, 2, 0, 0x6f}, X86_LOAD_64 = {1, 2, 1, 0x6f},
                     X86_LOAD_LOW = {1, 2, 1, 0x7e}, X86_STORE_LOW = {1, 1, 1, 0xd6},
                     X86_SPLAT_8 = {2, 1, 0, 0x78}, X86_SPLAT_16 = {2, 1, 0, 0x79},
                     X86_SPLAT_32 = {2, 1, 0, 0x58}, X86_SPLAT_64 = {2, 1, 1, 0x59},
                     X86_COPY = {1, 1, 1, 0x6f}, X86_XOR = {1, 1, 0, 0xef},
                     X86_OR = {1, 1, 0, 0xeb}, X86_STREAM = {1, 1, 0, 0xe7},
                     X86_SPLAT_RAX = {2, 1, 1, 0x7c}, X86_PICK_32 = {2, 1, 0, 0x7f},
                     X86_PICK_64 = {2, 1, 1, 0x7f}, X86_PERMUTE_32 = {2, 1, 0, 0x16},
                     X86_ADD_32 = {1, 0, 0, 0x58}, X86_ADD_64 = {1, 1, 1, 0x58},
                     X86_LOAD_4 = {1, 1, 0, 0x6e}, X86_STORE_4 = {1, 1, 0, 0x7e},
                     X86_SIGNS_32 = {2, 2, 0, 0x39}, /* EVEX only: to a mask register */
    X86_SIGNS_64 = {2, 2, 1, 0x39},
                     X86_SIGN_32 = {2, 1, 0, 0x0e}, /* VEX only: any, to the flags */
    X86_SIGN_64 = {2, 1, 0, 0x0f};
enum { X86_STORE_BIT = 0x10 }; /* 6f -> 7f: the store of the same elements */

/* The prefix and the opcode; x and b extend the r/m operand, as in the REX prefix. VEX
 * has no element sizes, hence no W here. */
static inline void x86_opcode(asnd_code_buffer *c, x86_vop op, int bytes, int reg,
                              int first, unsigned x, unsigned b, int mask) {
    unsigned length = bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
    const uint8_t vex[] = {
        0xc4,
        (uint8_t)((~reg >> 3 & 1) << 7 | (~x & 1) << 6 | (~b & 1) << 5 | op.map),
        (uint8_t)((~first & 15) << 3 | (int)length << 2 | op.prefix),
        op.opcode,
    };
    const uint8_t evex[] = {
        0x62,
        (uint8_t)(vex[1] | (~reg >> 4 & 1) << 4),
        (uint8_t)(op.wide << 7 | (~first & 15) << 3 | 4 | op.prefix),
        (uint8_t)(length << 5 | (~first >> 4 & 1) << 3 | (unsigned)mask),
        op.opcode,
    };
    if (c->evex)
        x86_put(c, evex, sizeof evex);
    else
        x86_put(c, vex, sizeof vex);
}
/* reg = op(first, rm), in the lanes of the mask register (0: all; VEX has none);
 * instructions of one input leave `first` 0. */
static inline void x86_vector_masked(asnd_code_buffer *c, x86_vop op, int bytes, int reg,
                                     int first, int rm, int mask) {
    x86_opcode(c, op, bytes, reg, first, (unsigned)rm >> 4, (unsigned)rm >> 3, mask);
    x86_byte(c, (unsigned)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}
static inline void x86_vector(asnd_code_buffer *c, x86_vop op, int bytes, int reg,
                              int first, int rm) {
    x86_vector_masked(c, op, bytes, reg, first, rm, 0);
}
/* reg, a vector of positions, memory: a permutation with 64 bytes from there. */
static inline void x86_vector_indexed(asnd_code_buffer *c, x86_vop op, int reg,
                                      int positions, x86_mem m) {
    x86_opcode(c, op, 64, reg, positions, (unsigned)m.index >> 3, (unsigned)m.base >> 3,
               0);
    x86_address(c, reg, m);
}
/* From a place of this code that x86_land_at sets later: returns where it is named. */
static inline size_t x86_vector_rip(asnd_code_buffer *c, x86_vop op, int bytes, int reg) {
    x86_opcode(c, op, bytes, reg, 0, 0, 0, 0);
    x86_byte(c, (unsigned)((reg & 7) << 3 | 5));
    x86_u32(c, 0);
    return c->size - 4;
}
/* reg and memory: a load, or a store where the opcode is one. */
static inline void x86_vector_mem(asnd_code_buffer *c, x86_vop op, int bytes, int reg,
                                  x86_mem m, int mask) {
    x86_opcode(c, op, bytes, reg, 0, (unsigned)m.index >> 3, (unsigned)m.base >> 3, mask);
    x86_address(c, reg, m);
}

#endif
