/* CPU device: register allocation and assembly of a JIT program.
 *
 * One pass over the operations for the loop over whole vectors; with AVX-512 another one
 * for the elements left over, whose loads and stores go under a mask; the spare lanes of
 * a masked load hold the first element, so that they raise no condition of their own
 * (with AVX2 the caller brings whole vectors only). An operand is loaded at its first
 * reader, a result stored where the program says. With no register left, the value whose
 * next reader is furthest goes: to the stack, or nowhere when it lies in memory anyway.
 * Constants, the program's and then those of the pieces, take the registers that are
 * left over; a first pass counts them.
 *
 *   rdi                  the pointers
 *   rbx r8 r9 r12 r14 r15  the first addresses
 *   r10, r11             number of elements, elements done
 *   rax rcx rdx rsi      scratch, the pieces'
 *   k7                   the mask of the last elements
 *   [rsp + 64 i]         spilled values
 */
#include "device/cpu/jit_patch.h"
#include "device/cpu/jit_program.h"

enum {
    REGISTERS = 32, /* with AVX-512; 16 with AVX2 */
    LOW = 16,       /* what an instruction that is not EVEX can name */
    FREE = -1,
    STICKY = -2, /* sign bits: "some element was outside", over all vectors */
    IN_USE = -3, /* by the operation that is being written */
    MAX_SPILLS = 64,
    MAX_CONSTANTS = 192,
    MAX_FIXUPS = 768,
    MAX_WANTED = 96,
    TAIL_MASK = 7,
    ACCUMULATORS = 4, /* of 64 bytes; with AVX2 in two registers each */
    MAX_PARTS = 2,
    IN_MEMORY = 255 /* an input's register, where it has none */
};

static const uint8_t address_registers[] = {RBX, R8, R9, R12, R14, R15};
enum { ADDRESSES = sizeof address_registers };

typedef struct {
    uint32_t at; /* of the displacement */
    uint8_t tail;
    uint16_t constant;
} fixup;

/* A constant of the pieces that would gain from a register of its own: loads are what
 * limits long programs, one vector a cycle (sqrt(a*a+b*b)*exp(-c)+where(d>0,a,b) in L1:
 * 1.29 ns an element with all of them in memory). */
typedef struct {
    uint32_t data;
    uint8_t size;
    bool spread;
    uint16_t uses;
    int16_t reg; /* or -1 */
} wanted_constant;

typedef struct {
    const asn_jit_program *p;
    asn_code_buffer code;
    bool tail, failed;
    int registers, width; /* of vectors, bytes */
    int16_t reg[ASN_JIT_MAX_VALUES], spill[ASN_JIT_MAX_VALUES];
    bool fixed[ASN_JIT_MAX_VALUES]; /* in its register all the time */
    int16_t owner[REGISTERS];       /* a value, or one of the above */
    uint32_t pinned;                /* registers of the present operation's operands */
    int parts;                      /* registers of 64 bytes */
    int accumulators[ASN_JIT_MAX_SUMS][ACCUMULATORS * MAX_PARTS];
    int sticky[2], spills, frame, peak, at;
    int num_addresses;
    uint16_t addresses[ADDRESSES]; /* pointers that have a register */
    int num_wanted;
    wanted_constant wanted[MAX_WANTED];
    int num_constants, num_fixups;
    const uint8_t *constant[MAX_CONSTANTS];
    uint8_t constant_size[MAX_CONSTANTS];
    bool constant_spread[MAX_CONSTANTS]; /* to a vector */
    fixup fixups[MAX_FIXUPS];
} compiler;

/* The displacement at `at`, with `tail` bytes of its instruction after it, is to lead to
 * a constant. */
static void add_fixup(compiler *c, size_t at, int tail, const void *bytes, int size,
                      bool spread) {
    int i = 0;
    while (i < c->num_constants && c->constant[i] != bytes)
        i++;
    if (i == MAX_CONSTANTS || c->num_fixups == MAX_FIXUPS) {
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
    c->fixups[c->num_fixups++] = (fixup){(uint32_t)at, (uint8_t)tail, (uint16_t)i};
}

/* ---- memory */

static int vector_bytes(const compiler *c, int lane) {
    return c->p->lanes * asn_lane_bytes(lane);
}

/* The element at `done` of an array, or its first one. */
static x86_mem address_of(compiler *c, int pointer, int lane, bool moves) {
    x86_mem m = {RAX, moves ? R11 : RSP, moves ? asn_lane_bytes(lane) : 1, 0};
    for (int i = 0; i < c->num_addresses; i++)
        if (c->addresses[i] == pointer) {
            m.base = address_registers[i];
            return m;
        }
    x86_general_mem(&c->code, X86_LOAD, RAX, (x86_mem){RDI, RSP, 1, 8 * pointer});
    return m;
}

static x86_vop by_element(int bytes, const x86_vop *of_8) {
    return of_8[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

static void emit_splat(compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop splats[] = {X86_SPLAT_8, X86_SPLAT_16, X86_SPLAT_32, X86_SPLAT_64};
    x86_vector_mem(&c->code, by_element(asn_lane_bytes(lane), splats),
                   vector_bytes(c, lane), reg, m, 0);
}

static void emit_load(compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop loads[] = {X86_LOAD_8, X86_LOAD_16, X86_LOAD_32, X86_LOAD_64};
    int bytes = vector_bytes(c, lane);
    x86_vop load = bytes == 4 ? X86_LOAD_4 : bytes == 8 ? X86_LOAD_LOW : X86_LOAD_64;
    if (c->tail) {
        emit_splat(c, reg, lane, m);
        x86_vector_mem(&c->code, by_element(asn_lane_bytes(lane), loads), bytes, reg, m,
                       TAIL_MASK);
    } else {
        x86_vector_mem(&c->code, load, bytes, reg, m, 0);
    }
}

static void emit_store(compiler *c, int reg, int lane, x86_mem m) {
    const x86_vop loads[] = {X86_LOAD_8, X86_LOAD_16, X86_LOAD_32, X86_LOAD_64};
    int bytes = vector_bytes(c, lane);
    x86_vop op = c->tail ? by_element(asn_lane_bytes(lane), loads) : X86_LOAD_64;
    op.opcode |= X86_STORE_BIT;
    if (!c->tail && bytes <= 8) op = bytes == 8 ? X86_STORE_LOW : X86_STORE_4;
    x86_vector_mem(&c->code, op, bytes, reg, m, c->tail ? TAIL_MASK : 0);
}

static void emit_copy(compiler *c, int to, int from) {
    x86_vector(&c->code, X86_COPY, c->width, to, 0, from);
}

static x86_mem spill_slot(int slot) {
    return (x86_mem){RSP, RSP, 1, 64 * slot};
}

/* ---- registers */

static int next_use(const compiler *c, int value) {
    const asn_jit_program *p = c->p;
    for (int i = c->at < 0 ? 0 : c->at; i < p->num_ops; i++)
        for (int s = 0; s < p->ops[i].piece->inputs; s++)
            if (p->ops[i].src[s] == value) return i;
    return p->values[value].last_use;
}

static void evict(compiler *c, int reg) {
    int value = c->owner[reg];
    int kind = c->p->values[value].kind;
    bool lost = kind == ASN_JIT_COMPUTED || (kind == ASN_JIT_INPUT && c->p->in_place);
    if (lost && c->spill[value] < 0) {
        if (c->spills == MAX_SPILLS) c->failed = true;
        c->spill[value] = (int16_t)c->spills++;
        if (c->spills > c->frame) c->frame = c->spills;
        x86_vop store = X86_LOAD_64;
        store.opcode |= X86_STORE_BIT;
        x86_vector_mem(&c->code, store, c->width, reg, spill_slot(c->spill[value]), 0);
    }
    c->reg[value] = -1;
    c->owner[reg] = FREE;
}

static int take_register(compiler *c, bool low) {
    int furthest = -1, best = -1, used = 0;
    for (int r = 0; r < REGISTERS; r++)
        used += c->owner[r] != FREE;
    if (used + 1 > c->peak) c->peak = used + 1;
    for (int r = 0; r < (low ? LOW : c->registers); r++) {
        if (c->owner[r] == FREE && !(c->pinned >> r & 1)) {
            best = r;
            break;
        }
        if (c->owner[r] < 0 || c->pinned >> r & 1 || c->fixed[c->owner[r]]) continue;
        int next = next_use(c, c->owner[r]);
        if (next > furthest) {
            furthest = next;
            best = r;
        }
    }
    if (best < 0) {
        c->failed = true;
        return 0;
    }
    if (c->owner[best] != FREE) evict(c, best);
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

static int take_positions(compiler *c, const void *positions) {
    int reg = take_register(c, false);
    c->owner[reg] = IN_USE;
    add_fixup(c, x86_vector_rip(&c->code, X86_LOAD_64, 64, reg), 0, positions, 64, false);
    return reg;
}

/* Where the numbers of this vector begin: a complex128 is no scale of an address. */
static x86_mem address_of_pairs(compiler *c, int pointer, int lane) {
    x86_mem m = address_of(c, pointer, ASN_LANE_F64, true);
    if (asn_lane_bytes(lane) == 4) return m;
    x86_general_mem(&c->code, X86_LEA, RCX, (x86_mem){R11, R11, 1, 0});
    m.index = RCX;
    return m;
}

static void load_part(compiler *c, int reg, const asn_jit_value *v) {
    bool wide = asn_lane_bytes(v->lane) == 8, half = vector_bytes(c, v->lane) < 64;
    uint32_t pinned = c->pinned;
    int positions = take_positions(c, wide ? (const void *)apart_64[v->part - 1]
                                           : apart_32[v->part - 1]);
    x86_mem m = address_of_pairs(c, v->pointer, v->lane);
    if (half) { /* one vector holds them all */
        x86_vector_indexed(&c->code, X86_PERMUTE_32, reg, positions, m);
    } else {
        x86_vector_mem(&c->code, X86_LOAD_64, 64, reg, m, 0);
        m.disp += 64;
        x86_vector_indexed(&c->code, wide ? X86_PICK_64 : X86_PICK_32, reg, positions, m);
    }
    c->owner[positions] = FREE;
    c->pinned = pinned;
}

static void load_constant(compiler *c, int reg, const asn_jit_value *v) {
    x86_mem m = address_of(c, v->pointer, v->lane, false);
    if (v->part == 2) m.disp += asn_lane_bytes(v->lane);
    emit_splat(c, reg, v->lane, m);
}

static void store_pairs(compiler *c, const asn_jit_store *store, int re, int im) {
    int lane = c->p->values[store->value].lane;
    bool wide = asn_lane_bytes(lane) == 8, half = vector_bytes(c, lane) < 64;
    x86_vop op = X86_LOAD_64;
    op.opcode |= X86_STORE_BIT;
    int both = take_register(c, false);
    c->owner[both] = IN_USE;
    for (int k = 0; k < (half ? 1 : 2); k++) {
        int positions =
            take_positions(c, wide ? (const void *)together_64[k] : together_32[k]);
        emit_copy(c, both, re);
        x86_vector(&c->code, wide ? X86_PICK_64 : X86_PICK_32, 64, both, positions, im);
        x86_mem m = address_of_pairs(c, store->pointer, lane);
        m.disp += 64 * k;
        x86_vector_mem(&c->code, op, 64, both, m, 0);
        c->owner[positions] = FREE;
        c->pinned &= ~(1u << positions);
    }
    c->owner[both] = FREE;
    c->pinned &= ~(1u << both);
}

/* Brings a value into a register, which stays its own until the operation is written. */
static int need(compiler *c, int value) {
    const asn_jit_value *v = &c->p->values[value];
    if (c->reg[value] < 0) {
        int reg = take_register(c, false);
        c->reg[value] = (int16_t)reg;
        c->owner[reg] = (int16_t)value;
        if (v->kind == ASN_JIT_INPUT && c->spill[value] < 0 && v->part)
            load_part(c, reg, v);
        else if (v->kind == ASN_JIT_INPUT && c->spill[value] < 0)
            emit_load(c, reg, v->lane, address_of(c, v->pointer, v->lane, true));
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

static void release_dead(compiler *c) {
    for (int r = 0; r < REGISTERS; r++) {
        int value = c->owner[r];
        if (value == IN_USE) c->owner[r] = FREE;
        if (value < 0 || c->fixed[value] || c->p->values[value].last_use > c->at)
            continue;
        c->reg[value] = -1;
        c->owner[r] = FREE;
    }
    c->pinned = 0;
}

/* ---- pieces */

/* The register that holds a constant of the pieces throughout, or -1. Without one the
 * constant is counted as wanted. */
static int kept_register(compiler *c, const asn_piece_constant *k) {
    if (k->kind == ASN_CONSTANT_FIXED) return -1;
    int i = 0;
    while (i < c->num_wanted &&
           (c->wanted[i].data != k->data || c->wanted[i].spread != k->spread))
        i++;
    if (i == MAX_WANTED) return -1;
    if (i == c->num_wanted)
        c->wanted[c->num_wanted++] =
            (wanted_constant){k->data, k->size, k->spread, 0, -1};
    c->wanted[i].uses++;
    return c->wanted[i].reg;
}

/* An input that is read where it lies instead of from a register. */
typedef struct {
    uint32_t at; /* of its instruction in the piece */
    x86_mem from;
} memory_input;

static void emit_piece(compiler *c, const asn_piece *piece, const uint8_t *registers,
                       const memory_input *memory, int num_memory) {
    const asn_piece_table *t = c->p->table;
    const uint8_t *code = t->code + piece->code;
    const asn_piece_field *field = &t->fields[piece->fields],
                          *end = field + piece->num_fields;
    size_t start = c->code.size;
    uint32_t from = 0, i = 0;
    ptrdiff_t left_out = 0;
    for (int m = 0; i <= piece->num_constants;) {
        const asn_piece_constant *k = &t->constants[piece->constants + i];
        bool last = i == piece->num_constants;
        uint32_t to = last ? piece->length : k->at;
        bool reads = m < num_memory && memory[m].at + 5 <= to;
        if (reads) to = memory[m].at + 5;
        last &= !reads;
        int reg = last || reads ? -1 : kept_register(c, k);
        x86_put(&c->code, code + from, to - from);
        if (c->code.full) return;
        for (; field < end && (last || field->at < to); field++)
            if (registers[field->slot] != IN_MEMORY)
                patch_field(c->code.bytes + (ptrdiff_t)start + field->at - left_out,
                            field->kind, registers[field->slot]);
        from = to;
        if (reads) {
            patch_memory(&c->code, memory[m++].from);
            left_out--;
            continue;
        }
        i++;
        if (reg >= 0) {
            patch_register(&c->code, k->kind, (unsigned)reg);
            left_out += 4;
            from += 4;
        } else if (!last) {
            add_fixup(c, c->code.size, k->tail, t->data + k->data, k->size,
                      !c->code.evex && k->kind == ASN_CONSTANT_OPERAND && k->spread);
        }
    }
}

/* The marks of arguments outside, in the register that has them over all vectors. */
static bool is_sticky(const compiler *c, int value) {
    return c->fixed[value] && c->owner[c->reg[value]] == STICKY;
}

/* The register of an input that ends here goes to the slot that may have it. */
static void pass_on(compiler *c, const asn_jit_op *op, int k, uint8_t *registers,
                    uint32_t *given) {
    int value = op->src[k], heir = op->piece->heirs[k];
    if (heir == ASN_NO_HEIR || *given >> heir & 1 || registers[k] == IN_MEMORY ||
        c->p->values[value].last_use != c->at || c->reg[value] != registers[k])
        return;
    bool marks = is_sticky(c, value); /* they stay where they are */
    if (marks ? heir != op->piece->result : c->fixed[value]) return;
    for (int other = 0; other < op->piece->inputs; other++)
        if (other != k && op->src[other] == value) return;
    if (op->piece->low >> heir & 1 && registers[k] >= LOW) return;
    registers[heir] = registers[k];
    *given |= 1u << heir;
    if (marks) return;
    c->owner[registers[k]] = IN_USE;
    c->reg[value] = -1;
}

/* Where input k of an operation lies when the piece may read it there: it is in no
 * register, nobody needs it afterwards, and its address has one. */
static bool reads_memory(compiler *c, const asn_jit_op *op, int k, memory_input *input) {
    const asn_piece *piece = op->piece;
    const asn_jit_value *v = &c->p->values[op->src[k]];
    if (!(piece->from_memory >> k & 1) || v->kind != ASN_JIT_INPUT || v->part ||
        v->last_use != c->at || c->reg[op->src[k]] >= 0 || c->spill[op->src[k]] >= 0)
        return false;
    for (int other = 0; other < piece->inputs; other++)
        if (other != k && op->src[other] == op->src[k]) return false;
    const asn_piece_field *f = &c->p->table->fields[piece->fields];
    while (f->slot != k)
        f++;
    int length = c->p->table->code[piece->code + f->at + 2] & 4 ? 32 : 16;
    if (length != vector_bytes(c, v->lane)) return false;
    for (int i = 0; i < c->num_addresses; i++)
        if (c->addresses[i] == v->pointer) {
            input->at = f->at;
            input->from = address_of(c, v->pointer, v->lane, true);
            return true;
        }
    return false;
}

static void emit_op(compiler *c, const asn_jit_op *op) {
    const asn_piece *piece = op->piece;
    uint8_t registers[32];
    uint32_t given = 0;
    memory_input memory[ASN_PIECE_INPUTS];
    int num_memory = 0;
    for (int k = 0; k < piece->inputs; k++) {
        memory_input input;
        if (reads_memory(c, op, k, &input)) {
            int m = num_memory++; /* in the order of the code */
            for (; m > 0 && memory[m - 1].at > input.at; m--)
                memory[m] = memory[m - 1];
            memory[m] = input;
            registers[k] = IN_MEMORY;
            continue;
        }
        registers[k] = (uint8_t)need(c, op->src[k]);
        if (piece->low >> k & 1 && registers[k] >= LOW) {
            int low = take_register(c, true);
            emit_copy(c, low, registers[k]);
            c->owner[low] = IN_USE;
            registers[k] = (uint8_t)low;
        }
    }
    for (int k = 0; k < piece->inputs; k++)
        pass_on(c, op, k, registers, &given);
    for (int s = piece->inputs; s < piece->slots; s++) {
        if (given >> s & 1) continue;
        registers[s] = (uint8_t)take_register(c, piece->low >> s & 1);
        c->owner[registers[s]] = IN_USE;
    }
    emit_piece(c, piece, registers, memory, num_memory);
    int result = registers[piece->result];
    if (piece->result < piece->inputs) { /* the value itself */
        int reg = take_register(c, false);
        emit_copy(c, reg, result);
        result = reg;
    }
    c->reg[op->dst] = (int16_t)result;
    if (c->owner[result] == STICKY)
        c->fixed[op->dst] = true;
    else
        c->owner[result] = (int16_t)op->dst;
}

/* Inputs still to be read come into registers before memory changes under them. */
static void save_inputs(compiler *c) {
    for (int v = 0; v < c->p->num_values; v++) {
        const asn_jit_value *value = &c->p->values[v];
        if (value->kind != ASN_JIT_INPUT || value->last_use <= c->at || c->reg[v] >= 0 ||
            c->spill[v] >= 0)
            continue;
        uint32_t pinned = c->pinned;
        need(c, v);
        c->pinned = pinned;
    }
}

static void emit_stores(compiler *c, int before) {
    const asn_jit_program *p = c->p;
    for (int s = 0; s < p->num_stores; s++) {
        const asn_jit_store *store = &p->stores[s];
        if (store->before != before) continue;
        if (p->in_place) save_inputs(c);
        int lane = p->values[store->value].lane, reg = need(c, store->value);
        if (store->imag != ASN_JIT_NONE) {
            store_pairs(c, store, reg, need(c, store->imag));
            continue;
        }
        x86_mem m = address_of(c, store->pointer, lane, true);
        if (store->past_caches && !c->tail)
            x86_vector_mem(&c->code, X86_STREAM, c->width, reg, m, 0);
        else
            emit_store(c, reg, lane, m);
    }
}

/* ---- the function */

static x86_vop adding(const compiler *c, int sum) {
    int lane = c->p->values[c->p->sums[sum].value].lane;
    return asn_lane_bytes(lane) == 8 ? X86_ADD_64 : X86_ADD_32;
}

/* -0.0, which changes no sum, in every lane; twice for float32. */
static void clear_sum(compiler *c, int sum, int reg) {
    static const uint8_t zero[8] = {0, 0, 0, 0, 0, 0, 0, 0x80},
                         zeros[8] = {0, 0, 0, 0x80, 0, 0, 0, 0x80},
                         move_to_rax[2] = {0x48, 0xb8};
    const uint8_t *bytes = adding(c, sum).wide ? zero : zeros;
    if (!c->code.evex) {
        size_t at = x86_vector_rip(&c->code, X86_SPLAT_64, c->width, reg);
        add_fixup(c, at, 0, bytes, 8, false);
        return;
    }
    x86_put(&c->code, move_to_rax, sizeof move_to_rax);
    x86_put(&c->code, bytes, 8);
    x86_vector(&c->code, X86_SPLAT_RAX, c->width, reg, 0, RAX);
}

/* Spare lanes of the last vector add nothing. */
static void emit_sums(compiler *c, int accumulator) {
    for (int s = 0; s < c->p->num_sums; s++) {
        int value = need(c, c->p->sums[s].value);
        int sum = c->accumulators[s][accumulator];
        x86_vector_masked(&c->code, adding(c, s), c->width, sum, sum, value,
                          c->tail ? TAIL_MASK : 0);
    }
}

/* One vector's worth; sums go to that of their accumulators. */
static void emit_body(compiler *c, int accumulator) {
    const asn_jit_program *p = c->p;
    for (int v = 0; v < p->num_values; v++)
        if (!c->fixed[v]) c->reg[v] = c->spill[v] = -1;
    for (int r = 0; r < REGISTERS; r++)
        if (c->owner[r] >= 0 && !c->fixed[c->owner[r]]) c->owner[r] = FREE;
    c->at = -1;
    c->spills = 0;
    emit_stores(c, 0);
    release_dead(c);
    for (c->at = 0; c->at < p->num_ops && !c->failed; c->at++) {
        emit_op(c, &p->ops[c->at]);
        emit_stores(c, c->at + 1);
        release_dead(c);
    }
    emit_sums(c, accumulator);
    for (int wide = 0; wide < 2; wide++) {
        if (p->marks[wide] == ASN_JIT_NONE) continue;
        int marks = need(c, p->marks[wide]);
        if (marks != c->sticky[wide]) emit_copy(c, c->sticky[wide], marks);
    }
    release_dead(c);
}

static void choose_addresses(compiler *c) {
    const asn_jit_program *p = c->p;
    c->num_addresses = 0;
    for (int v = 0; v < p->num_values && c->num_addresses < ADDRESSES; v++)
        if (p->values[v].kind == ASN_JIT_INPUT && p->values[v].last_use >= 0)
            c->addresses[c->num_addresses++] = p->values[v].pointer;
    for (int s = 0; s < p->num_stores && c->num_addresses < ADDRESSES; s++)
        c->addresses[c->num_addresses++] = p->stores[s].pointer;
}

/* Gives the most used constant without a register one; false when there is none. */
static bool keep_constant(compiler *c) {
    wanted_constant *best = NULL;
    for (int i = 0; i < c->num_wanted; i++)
        if (c->wanted[i].reg < 0 && (!best || c->wanted[i].uses > best->uses))
            best = &c->wanted[i];
    if (!best) return false;
    int reg = c->registers - 1; /* the low ones are for those that name no others */
    while (reg >= 0 && c->owner[reg] != FREE)
        reg--;
    if (reg < 0) return false;
    x86_vop load = !best->spread     ? X86_LOAD_64
                   : best->size == 4 ? X86_SPLAT_32
                                     : X86_SPLAT_64;
    add_fixup(c,
              x86_vector_rip(&c->code, load, best->spread ? c->width : best->size, reg),
              0, c->p->table->data + best->data, best->size, false);
    c->owner[reg] = STICKY;
    best->reg = (int16_t)reg;
    return true;
}

static void emit_prologue(compiler *c, int constants, size_t *frame) {
    const asn_jit_program *p = c->p;
    asn_code_buffer *code = &c->code;
    static const uint8_t saved[] = {RBX, R12, R14, R15};
    x86_push(code, RBP);
    x86_general(code, X86_MOVE, RBP, RSP);
    for (size_t i = 0; i < sizeof saved; i++)
        x86_push(code, saved[i]);
    x86_number(code, 4, RSP, -64);
    x86_number(code, 5, RSP, 0);
    *frame = code->size - 4;
    x86_general(code, X86_MOVE, R10, RSI);
    x86_general(code, 0x33, R11, R11);
    for (int i = 0; i < c->num_addresses; i++)
        x86_general_mem(code, X86_LOAD, address_registers[i],
                        (x86_mem){RDI, RSP, 1, 8 * c->addresses[i]});
    for (int wide = 0; wide < 2; wide++) {
        if (p->marks[wide] == ASN_JIT_NONE) continue;
        c->sticky[wide] = take_register(c, false);
        c->owner[c->sticky[wide]] = STICKY;
        x86_vector(code, X86_XOR, c->width, c->sticky[wide], c->sticky[wide],
                   c->sticky[wide]);
        c->reg[p->first_marks[wide]] = (int16_t)c->sticky[wide];
        c->fixed[p->first_marks[wide]] = true;
    }
    for (int s = 0; s < p->num_sums; s++)
        for (int k = 0; k < ACCUMULATORS * c->parts; k++) {
            int sum = c->accumulators[s][k] = take_register(c, false);
            c->owner[sum] = STICKY;
            clear_sum(c, s, sum);
        }
    for (int v = 0; v < p->num_values && constants > 0; v++) {
        if (p->values[v].kind != ASN_JIT_CONST || p->values[v].last_use < 0) continue;
        need(c, v);
        c->fixed[v] = true;
        constants--;
    }
    while (constants > 0 && keep_constant(c))
        constants--;
    c->pinned = 0;
}

static void emit_epilogue(compiler *c) {
    const asn_jit_program *p = c->p;
    asn_code_buffer *code = &c->code;
    static const uint8_t vzeroupper[] = {0xc5, 0xf8, 0x77}, clear_eax[] = {0x31, 0xc0};
    static const uint8_t kortest_k1[] = {0xc5, 0xf8, 0x98, 0xc9};
    static const uint8_t setne_dl_or_eax[] = {0x0f, 0x95, 0xc2, 0x09, 0xd0};
    static const uint8_t clear_edx[] = {0x31, 0xd2};
    x86_put(code, clear_eax, sizeof clear_eax);
    for (int wide = 0; wide < 2; wide++) {
        if (p->marks[wide] == ASN_JIT_NONE) continue;
        x86_put(code, clear_edx, sizeof clear_edx);
        int sticky = c->sticky[wide];
        if (code->evex)
            x86_vector(code, wide ? X86_SIGNS_64 : X86_SIGNS_32, c->width, 1, 0, sticky);
        else
            x86_vector(code, wide ? X86_SIGN_64 : X86_SIGN_32, c->width, sticky, 0,
                       sticky);
        if (code->evex) x86_put(code, kortest_k1, sizeof kortest_k1);
        x86_put(code, setne_dl_or_eax, sizeof setne_dl_or_eax);
    }
    x86_put(code, vzeroupper, sizeof vzeroupper);
    x86_general_mem(code, X86_LEA, RSP, (x86_mem){RBP, RSP, 1, -32});
    x86_pop(code, R15);
    x86_pop(code, R14);
    x86_pop(code, R12);
    x86_pop(code, RBX);
    x86_pop(code, RBP);
    x86_byte(code, 0xc3);
}

static void emit_constants(compiler *c) {
    asn_code_buffer *code = &c->code;
    size_t where[MAX_CONSTANTS];
    for (int i = 0; i < c->num_constants; i++) {
        int size = c->constant_size[i], bytes = c->constant_spread[i] ? c->width : size;
        while (code->size % (size_t)bytes && !code->full)
            x86_byte(code, 0);
        where[i] = code->size;
        for (int at = 0; at < bytes; at += size)
            x86_put(code, c->constant[i], (size_t)size);
    }
    for (int f = 0; f < c->num_fixups && !code->full; f++) {
        size_t next = c->fixups[f].at + 4 + c->fixups[f].tail;
        int32_t disp = (int32_t)((int64_t)where[c->fixups[f].constant] - (int64_t)next);
        memcpy(code->bytes + c->fixups[f].at, &disp, 4);
    }
}

/* while (done + vectors * lanes <= n), one accumulator of a sum after the other */
static void emit_loop(compiler *c, int vectors) {
    asn_code_buffer *code = &c->code;
    const x86_mem next = {R11, RSP, 1, vectors * c->p->lanes};
    x86_general_mem(code, X86_LEA, RAX, next);
    x86_general(code, X86_CMP, RAX, R10);
    size_t none = x86_jump(code, X86_JA);
    while (code->size % 32 && !code->full)
        x86_byte(code, 0x90);
    size_t top = code->size;
    for (int k = 0; k < vectors; k++) {
        emit_body(c, k);
        x86_number(code, 0, R11, c->p->lanes);
    }
    x86_general_mem(code, X86_LEA, RAX, next);
    x86_general(code, X86_CMP, RAX, R10);
    x86_land_at(code, x86_jump(code, X86_JBE), top);
    x86_land(code, none);
}

/* if (done < n), under a mask */
static void emit_rest(compiler *c) {
    asn_code_buffer *code = &c->code;
    static const uint8_t all_ones[] = {0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t bzhi_rax_rcx[] = {0xc4, 0xe2, 0xf0, 0xf5, 0xc0};
    static const uint8_t kmovq_k7_rax[] = {0xc4, 0xe1, 0xfb, 0x92, 0xf8};
    x86_general(code, X86_MOVE, RCX, R10);
    x86_general(code, X86_SUB, RCX, R11);
    size_t done = x86_jump(code, X86_JE);
    x86_put(code, all_ones, sizeof all_ones);
    x86_put(code, bzhi_rax_rcx, sizeof bzhi_rax_rcx);
    x86_put(code, kmovq_k7_rax, sizeof kmovq_k7_rax);
    c->tail = true;
    emit_body(c, 0);
    c->tail = false;
    x86_land(code, done);
}

/* The accumulators become one, (s0 + s1) + (s2 + s3), before the rest is added. */
static void combine_sums(compiler *c) {
    for (int s = 0; s < c->p->num_sums; s++)
        for (int h = 0; h < c->parts; h++) {
            const int *sum = c->accumulators[s] + h;
            const int step = c->parts;
            x86_vop add = adding(c, s);
            x86_vector(&c->code, add, c->width, sum[0], sum[0], sum[step]);
            x86_vector(&c->code, add, c->width, sum[2 * step], sum[2 * step],
                       sum[3 * step]);
            x86_vector(&c->code, add, c->width, sum[0], sum[0], sum[2 * step]);
        }
}

static void store_sums(compiler *c) {
    x86_vop store = X86_LOAD_64;
    store.opcode |= X86_STORE_BIT;
    for (int s = 0; s < c->p->num_sums; s++)
        for (int h = 0; h < c->parts; h++) {
            x86_mem to = address_of(c, c->p->sums[s].pointer, ASN_LANE_U8, false);
            to.disp += c->width * h;
            x86_vector_mem(&c->code, store, c->width, c->accumulators[s][h], to, 0);
        }
}

static void emit_function(compiler *c, int constants) {
    size_t frame;
    c->code.size = 0;
    c->code.full = c->failed = c->tail = false;
    c->frame = c->num_constants = c->num_fixups = 0;
    c->pinned = 0;
    c->peak = c->at = 0;
    for (int r = 0; r < REGISTERS; r++)
        c->owner[r] = FREE;
    for (int v = 0; v < c->p->num_values; v++) {
        c->reg[v] = c->spill[v] = -1;
        c->fixed[v] = false;
    }
    emit_prologue(c, constants, &frame);
    if (c->p->num_sums) emit_loop(c, ACCUMULATORS * c->parts);
    emit_loop(c, c->p->num_sums ? c->parts : 1);
    combine_sums(c);
    if (c->code.evex && !c->p->has_complex) emit_rest(c);
    store_sums(c);
    emit_epilogue(c);
    int32_t bytes = 64 * c->frame;
    if (!c->code.full) memcpy(c->code.bytes + frame, &bytes, 4);
    emit_constants(c);
}

size_t asn_jit_compile(const asn_jit_program *program, uint8_t *out, size_t room) {
    compiler c;
    c.p = program;
    bool evex = program->vector_bytes == 64;
    c.code = (asn_code_buffer){out, 0, room, false, evex};
    c.registers = evex ? REGISTERS : LOW;
    c.width = program->vector_bytes;
    c.parts = 64 / c.width;
    c.num_wanted = 0;
    choose_addresses(&c);
    emit_function(&c, 0);
    if (c.peak < c.registers && !c.failed) emit_function(&c, c.registers - c.peak);
    /* Half of AVX2's registers are the sums': what does not fit the others is faster
     * without (jit_cache.c). */
    if (program->num_sums && !evex && c.frame) return 0;
    return c.failed || c.code.full ? 0 : c.code.size;
}
