/* CPU device, private to the JIT: changes to the instructions of a piece: which registers
 * they name, and a register in the place of a constant or memory in that of a register.
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_PATCH_H
#define ASN_DEVICE_CPU_JIT_JIT_PATCH_H

#include "device/cpu/jit/jit_pieces.h"
#include "device/cpu/jit/jit_x86.h"

/* The register in one field of the instruction at `ins` (VEX_IS4: that ends there). The
 * encodings are those of Intel's manual, volume 2: prefixes hold the upper bits of
 * register numbers inverted. */
static inline void patch_field(uint8_t *ins, int kind, unsigned reg) {
    unsigned low = reg & 7, b3 = ~reg >> 3 & 1, b4 = ~reg >> 4 & 1;
    switch (kind) {
    case ASN_FIELD_EVEX_REG:
        ins[1] = (uint8_t)((ins[1] & ~0x90u) | b3 << 7 | b4 << 4);
        ins[5] = (uint8_t)((ins[5] & ~0x38u) | low << 3);
        break;
    case ASN_FIELD_EVEX_RM:
        ins[1] = (uint8_t)((ins[1] & ~0x60u) | b4 << 6 | b3 << 5);
        ins[5] = (uint8_t)((ins[5] & ~0x07u) | low);
        break;
    case ASN_FIELD_EVEX_VVVV:
        ins[2] = (uint8_t)((ins[2] & ~0x78u) | (~reg & 15) << 3);
        ins[3] = (uint8_t)((ins[3] & ~0x08u) | b4 << 3);
        break;
    case ASN_FIELD_VEX_REG:
        ins[1] = (uint8_t)((ins[1] & ~0x80u) | b3 << 7);
        ins[4] = (uint8_t)((ins[4] & ~0x38u) | low << 3);
        break;
    case ASN_FIELD_VEX_RM:
        ins[1] = (uint8_t)((ins[1] & ~0x20u) | b3 << 5);
        ins[4] = (uint8_t)((ins[4] & ~0x07u) | low);
        break;
    case ASN_FIELD_VEX_IS4: ins[-1] = (uint8_t)((ins[-1] & 0x0fu) | reg << 4); break;
    default: /* ASN_FIELD_VEX_VVVV */
        ins[2] = (uint8_t)((ins[2] & ~0x78u) | (~reg & 15) << 3);
        break;
    }
}

/* The instruction with a register in the place of memory: four bytes shorter; `end` is
 * where its displacement was to stand. One that loads becomes a copy, of the same
 * elements where there is a mask. */
static inline void patch_register_evex(uint8_t *end, int kind, unsigned reg) {
    uint8_t *ins = end - 6;
    ins[1] = (uint8_t)((ins[1] & ~0x60u) | (~reg >> 4 & 1) << 6 | (~reg >> 3 & 1) << 5);
    ins[3] &= (uint8_t)~0x10u;
    ins[5] = (uint8_t)((ins[5] & 0x38u) | 0xc0 | (reg & 7));
    if (kind != ASN_CONSTANT_LOADED) return;
    ins[1] = (uint8_t)((ins[1] & ~0x07u) | X86_COPY.map);
    ins[2] = (uint8_t)((ins[2] & 0x80u) | 0x7c | X86_COPY.prefix);
    ins[4] = X86_COPY.opcode;
}
/* The same for VEX, whose displacement begins after five bytes. */
static inline void patch_register_vex(uint8_t *end, int kind, unsigned reg) {
    uint8_t *ins = end - 5;
    ins[1] = (uint8_t)((ins[1] & ~0x20u) | 0x40 | (~reg >> 3 & 1) << 5);
    ins[4] = (uint8_t)((ins[4] & 0x38u) | 0xc0 | (reg & 7));
    if (kind != ASN_CONSTANT_LOADED) return;
    ins[1] = (uint8_t)((ins[1] & ~0x1fu) | X86_COPY.map);
    ins[2] = (uint8_t)((ins[2] & 0x04u) | 0x78 | X86_COPY.prefix);
    ins[3] = X86_COPY.opcode;
}
static inline void patch_register(asnd_code_buffer *c, int kind, unsigned reg) {
    (c->evex ? patch_register_evex : patch_register_vex)(c->bytes + c->size, kind, reg);
}

/* The instruction whose opcode and ModRM byte were just written takes memory instead of
 * the register in its r/m field: a byte longer. VEX. */
static inline void patch_memory(asnd_code_buffer *c, x86_mem m) {
    if (c->full) return;
    uint8_t *ins = c->bytes + c->size - 5;
    int reg = ins[4] >> 3 & 7;
    ins[1] =
        (uint8_t)((ins[1] & ~0x60u) | (~m.index >> 3 & 1) << 6 | (~m.base >> 3 & 1) << 5);
    c->size--;
    x86_address(c, reg, m);
}

#endif
