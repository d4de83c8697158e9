/* CPU device: the registers of a JIT program and its memory: loads and stores, which
 * value is in which register, what gives way when there are none left (see
 * jit_compile.c).
 *
 * The policy is Belady's: the value whose next reader is furthest gives its register up,
 * which is best where every eviction costs the same. What is spilled stays in its slot,
 * so a second eviction stores nothing. A register that is pinned belongs to the operation
 * being written, a fixed one to its value for the whole function.
 */
#include "device/cpu/jit/jit_compiler.h"

static const uint8_t address_registers[ASN_JIT_ADDRESSES] = {RBX, R8, R9, R12, R14, R15};

int asn_jit_address_register(int n) {
    return address_registers[n];
}

void asn_jit_add_fixup(asnd_jit_compiler *c, size_t at, int tail, const void *bytes,
                       int size, bool spread) {
    int i = 0;
    while (i < c->num_constants && c->constant[i] != bytes)
        i++;
    if (i == ASN_JIT_MAX_CONSTANTS || c->num_fixups == ASN_JIT_MAX_FIXUPS) {
        c->failed = true;
        return;
    }
    if (i == c->num_constants) {
        c->constant[i] = bytes;
        c->constant_size[i] = (uint8_t)size;
        c->constant_spread[i] = false;
        c->num_constants++;
    }
    c->constant_spread[i] |= spread;
    c->fixups[c->num_fixups++] =
        (asnd_jit_fixup){(uint32_t)at, (uint8_t)tail, (uint16_t)i};
}

/* ---- memory */

x86_mem asn_jit_address_of(asnd_jit_compiler *c, int pointer, int lane, bool moves) {
    x86_mem m = {RAX, moves ? R11 : RSP, moves ? asn_lane_bytes(lane) : 1, 0};
    for (int i = 0; i < c->num_addresses; i++)
        if (c->addresses[i] == pointer) {
            m.base = address_registers[i];
            return m;
        }
    x86_general_mem(&c->code, X86_LOAD, RAX, (x86_mem){RDI, RSP, 1, 8 * pointer});
    return m;
}

x86_mem asn_jit_address_in(asnd_jit_compiler *c, int pointer, int lane, bool second) {
    x86_mem m = asn_jit_address_of(c, pointer, lane, true);
    if (second) m.disp += asn_jit_vector_bytes(c, lane);
    return m;
}

/* The instruction of the four, of 1, 2, 4 and 8 bytes, for elements of `bytes`. */
static x86_vop by_element(int bytes, const x86_vop *of_8) {
    return of_8[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

/* One element to every lane. */
static void emit_splat(asnd_jit_compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop splats[] = {X86_SPLAT_8, X86_SPLAT_16, X86_SPLAT_32, X86_SPLAT_64};
    x86_vector_mem(&c->code, by_element(asn_lane_bytes(lane), splats),
                   asn_jit_vector_bytes(c, lane), reg, m, 0);
}

/* A vector of the program's lanes, 4 to 64 bytes. In the rest the lanes past the end get
 * the first element, then the masked load the others. */
static void emit_load(asnd_jit_compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop loads[] = {X86_LOAD_8, X86_LOAD_16, X86_LOAD_32, X86_LOAD_64};
    int bytes = asn_jit_vector_bytes(c, lane);
    x86_vop load = bytes == 4 ? X86_LOAD_4 : bytes == 8 ? X86_LOAD_LOW : X86_LOAD_64;
    if (c->tail) {
        emit_splat(c, reg, lane, m);
        x86_vector_mem(&c->code, by_element(asn_lane_bytes(lane), loads), bytes, reg, m,
                       ASN_JIT_TAIL_MASK);
    } else {
        x86_vector_mem(&c->code, load, bytes, reg, m, 0);
    }
}

void asn_jit_emit_store(asnd_jit_compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop loads[] = {X86_LOAD_8, X86_LOAD_16, X86_LOAD_32, X86_LOAD_64};
    int bytes = asn_jit_vector_bytes(c, lane);
    x86_vop op = c->tail ? by_element(asn_lane_bytes(lane), loads) : X86_LOAD_64;
    op.opcode |= X86_STORE_BIT;
    if (!c->tail && bytes <= 8) op = bytes == 8 ? X86_STORE_LOW : X86_STORE_4;
    x86_vector_mem(&c->code, op, bytes, reg, m, c->tail ? ASN_JIT_TAIL_MASK : 0);
}

void asn_jit_emit_copy(asnd_jit_compiler *c, int to, int from) {
    x86_vector(&c->code, X86_COPY, c->width, to, 0, from);
}

/* 64 bytes each, from the stack pointer up. */
static x86_mem spill_slot(int slot) {
    return (x86_mem){RSP, RSP, 1, 64 * slot};
}

/* ---- registers */

/* What memory has, and will keep, is loaded again when it is needed; what would be lost
 * is stored to its slot. */
static void evict(asnd_jit_compiler *c, int reg) {
    int value = c->owner[reg];
    int kind = c->p->values[value].kind;
    bool lost = kind == ASN_JIT_COMPUTED || (kind == ASN_JIT_INPUT && c->p->in_place);
    if (lost && c->spill[value] < 0) {
        if (c->spills == ASN_JIT_MAX_SPILLS) c->failed = true;
        c->spill[value] = (int16_t)c->spills++;
        if (c->spills > c->frame) c->frame = c->spills;
        x86_vop store = X86_LOAD_64;
        store.opcode |= X86_STORE_BIT;
        x86_vector_mem(&c->code, store, c->width, reg, spill_slot(c->spill[value]), 0);
    }
    c->reg[value] = -1;
    c->owner[reg] = ASN_JIT_FREE;
}

int asn_jit_take_register(asnd_jit_compiler *c, bool low) {
    int furthest = -1, best = -1, used = 0;
    for (int r = 0; r < ASN_JIT_REGISTERS; r++)
        used += c->owner[r] != ASN_JIT_FREE || c->pinned >> r & 1;
    if (used + 1 > c->peak) c->peak = used + 1;
    for (int r = 0; r < (low ? ASN_JIT_LOW : c->registers); r++) {
        if (c->owner[r] == ASN_JIT_FREE && !(c->pinned >> r & 1)) {
            best = r;
            break;
        }
        if (c->owner[r] < 0 || c->pinned >> r & 1 || c->fixed[c->owner[r]]) continue;
        int next = c->next_use[c->owner[r]];
        if (next > furthest) {
            furthest = next;
            best = r;
        }
    }
    if (best < 0) {
        c->failed = true;
        return 0;
    }
    if (c->owner[best] != ASN_JIT_FREE) evict(c, best);
    c->pinned |= 1u << best;
    return best;
}

/* ---- complex numbers lie interleaved in memory, in registers as two vectors */

/* Positions that a permutation of 32-bit or 64-bit elements takes: every other one, and
 * those of two vectors in turn. Positions from 16 (8) on are the second vector's. */
static const _Alignas(64) uint32_t apart_32[2][16] = {
    {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
    {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31}};
static const _Alignas(64) uint64_t apart_64[2][8] = {{0, 2, 4, 6, 8, 10, 12, 14},
                                                     {1, 3, 5, 7, 9, 11, 13, 15}};
static const _Alignas(64) uint32_t together_32[2][16] = {
    {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23},
    {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31}};
static const _Alignas(64) uint64_t together_64[2][8] = {{0, 8, 1, 9, 2, 10, 3, 11},
                                                        {4, 12, 5, 13, 6, 14, 7, 15}};

/* A register with a permutation's positions, pinned. */
static int take_positions(asnd_jit_compiler *c, const void *positions) {
    int reg = asn_jit_take_register(c, false);
    asn_jit_add_fixup(c, x86_vector_rip(&c->code, X86_LOAD_64, 64, reg), 0, positions, 64,
                      false);
    return reg;
}

/* Where the numbers of this vector begin: a complex128 is no scale of an address. */
static x86_mem address_of_pairs(asnd_jit_compiler *c, int pointer, int lane,
                                bool second) {
    x86_mem m = asn_jit_address_of(c, pointer, ASN_LANE_F64, true);
    if (second) m.disp += 2 * asn_jit_vector_bytes(c, lane);
    if (asn_lane_bytes(lane) == 4) return m;
    x86_general_mem(&c->code, X86_LEA, RCX, (x86_mem){R11, R11, 1, 0});
    m.index = RCX;
    return m;
}

/* The real or imaginary parts of a vector's worth of complex numbers: one permutation of
 * the two vectors (or the one) that hold them. */
static void load_part(asnd_jit_compiler *c, int reg, const asnd_jit_value *v) {
    bool wide = asn_lane_bytes(v->lane) == 8,
         half = asn_jit_vector_bytes(c, v->lane) < 64;
    uint32_t pinned = c->pinned;
    int positions = take_positions(c, wide ? (const void *)apart_64[v->part - 1]
                                           : apart_32[v->part - 1]);
    x86_mem m = address_of_pairs(c, v->pointer, v->lane, v->second);
    if (half) { /* one vector holds them all */
        x86_vector_indexed(&c->code, X86_PERMUTE_32, reg, positions, m);
    } else {
        x86_vector_mem(&c->code, X86_LOAD_64, 64, reg, m, 0);
        m.disp += 64;
        x86_vector_indexed(&c->code, wide ? X86_PICK_64 : X86_PICK_32, reg, positions, m);
    }
    c->pinned = pinned;
}

/* One element, or one part of a complex one, in every lane. */
static void load_constant(asnd_jit_compiler *c, int reg, const asnd_jit_value *v) {
    x86_mem m = asn_jit_address_of(c, v->pointer, v->lane, false);
    if (v->part == 2) m.disp += asn_lane_bytes(v->lane);
    emit_splat(c, reg, v->lane, m);
}

void asn_jit_store_pairs(asnd_jit_compiler *c, const asnd_jit_store *store, int re,
                         int im) {
    int lane = c->p->values[store->value].lane;
    bool wide = asn_lane_bytes(lane) == 8, half = asn_jit_vector_bytes(c, lane) < 64;
    x86_vop op = X86_LOAD_64;
    op.opcode |= X86_STORE_BIT;
    int both = asn_jit_take_register(c, false);
    for (int k = 0; k < (half ? 1 : 2); k++) {
        int positions =
            take_positions(c, wide ? (const void *)together_64[k] : together_32[k]);
        asn_jit_emit_copy(c, both, re);
        x86_vector(&c->code, wide ? X86_PICK_64 : X86_PICK_32, 64, both, positions, im);
        x86_mem m = address_of_pairs(c, store->pointer, lane, store->second);
        m.disp += 64 * k;
        x86_vector_mem(&c->code, op, 64, both, m, 0);
        c->pinned &= ~(1u << positions);
    }
    c->pinned &= ~(1u << both);
}

int asn_jit_need(asnd_jit_compiler *c, int value) {
    const asnd_jit_value *v = &c->p->values[value];
    if (c->reg[value] < 0) {
        int reg = asn_jit_take_register(c, false);
        c->reg[value] = (int16_t)reg;
        c->owner[reg] = (int16_t)value;
        if (v->kind == ASN_JIT_INPUT && c->spill[value] < 0 && v->part)
            load_part(c, reg, v);
        else if (v->kind == ASN_JIT_INPUT && c->spill[value] < 0)
            emit_load(c, reg, v->lane,
                      asn_jit_address_in(c, v->pointer, v->lane, v->second));
        else if (v->kind == ASN_JIT_CONST)
            load_constant(c, reg, v);
        else if (v->kind == ASN_JIT_ZERO)
            x86_vector(&c->code, X86_XOR, c->width, reg, reg, reg);
        else
            x86_vector_mem(&c->code, X86_LOAD_64, c->width, reg,
                           spill_slot(c->spill[value]), 0);
    }
    c->pinned |= 1u << c->reg[value];
    return c->reg[value];
}

void asn_jit_release_dead(asnd_jit_compiler *c) {
    for (int r = 0; r < ASN_JIT_REGISTERS; r++) {
        int value = c->owner[r];
        if (value < 0 || c->fixed[value] || c->p->values[value].last_use > c->at)
            continue;
        c->reg[value] = -1;
        c->owner[r] = ASN_JIT_FREE;
    }
    c->pinned = 0;
}
