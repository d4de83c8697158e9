/* CPU device: the operations of a JIT program: pieces of machine code (jit_pieces.h) with
 * the registers of their operands put in, and stores of results (see jit_compile.c).
 */
#include "device/cpu/jit_compiler.h"
#include "device/cpu/jit_patch.h"

enum { IN_MEMORY = 255 /* an input's register, where it has none */ };

/* The register that holds a constant of the pieces throughout, or -1. Without one the
 * constant is counted as wanted. */
static int kept_register(asn_jit_compiler *c, const asn_piece_constant *k) {
    if (k->kind == ASN_CONSTANT_FIXED) return -1;
    int i = 0;
    while (i < c->num_wanted &&
           (c->wanted[i].data != k->data || c->wanted[i].spread != k->spread))
        i++;
    if (i == ASN_JIT_MAX_WANTED) return -1;
    if (i == c->num_wanted)
        c->wanted[c->num_wanted++] = (asn_jit_wanted){k->data, k->size, k->spread, 0, -1};
    c->wanted[i].uses++;
    return c->wanted[i].reg;
}

/* An input that is read where it lies instead of from a register. */
typedef struct {
    uint32_t at; /* of its instruction in the piece */
    x86_mem from;
} memory_input;

static void emit_piece(asn_jit_compiler *c, const asn_piece *piece,
                       const uint8_t *registers, const memory_input *memory,
                       int num_memory) {
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
            asn_jit_add_fixup(c, c->code.size, k->tail, t->data + k->data, k->size,
                              !c->code.evex && k->kind == ASN_CONSTANT_OPERAND &&
                                  k->spread);
        }
    }
}

/* The marks of arguments outside, in the register that has them over all vectors. */
static bool is_sticky(const asn_jit_compiler *c, int value) {
    return c->fixed[value] && c->owner[c->reg[value]] == ASN_JIT_STICKY;
}

/* The register of an input that ends here goes to the slot that may have it. */
static void pass_on(asn_jit_compiler *c, const asn_jit_op *op, int k, uint8_t *registers,
                    uint32_t *given) {
    int value = op->src[k], heir = op->piece->heirs[k];
    if (heir == ASN_NO_HEIR || *given >> heir & 1 || registers[k] == IN_MEMORY ||
        c->p->values[value].last_use != c->at || c->reg[value] != registers[k])
        return;
    bool marks = is_sticky(c, value); /* they stay where they are */
    if (marks ? heir != op->piece->result : c->fixed[value]) return;
    for (int other = 0; other < op->piece->inputs; other++)
        if (other != k && op->src[other] == value) return;
    if (op->piece->low >> heir & 1 && registers[k] >= ASN_JIT_LOW) return;
    registers[heir] = registers[k];
    *given |= 1u << heir;
    if (marks) return;
    c->owner[registers[k]] = ASN_JIT_IN_USE;
    c->reg[value] = -1;
}

/* Where input k of an operation lies when the piece may read it there: it is in no
 * register, nobody needs it afterwards, and its address has one. */
static bool reads_memory(asn_jit_compiler *c, const asn_jit_op *op, int k,
                         memory_input *input) {
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
    if (length != asn_jit_vector_bytes(c, v->lane)) return false;
    for (int i = 0; i < c->num_addresses; i++)
        if (c->addresses[i] == v->pointer) {
            input->at = f->at;
            input->from = asn_jit_address_of(c, v->pointer, v->lane, true);
            return true;
        }
    return false;
}

void asn_jit_emit_op(asn_jit_compiler *c, const asn_jit_op *op) {
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
        registers[k] = (uint8_t)asn_jit_need(c, op->src[k]);
        if (piece->low >> k & 1 && registers[k] >= ASN_JIT_LOW) {
            int low = asn_jit_take_register(c, true);
            asn_jit_emit_copy(c, low, registers[k]);
            c->owner[low] = ASN_JIT_IN_USE;
            registers[k] = (uint8_t)low;
        }
    }
    for (int k = 0; k < piece->inputs; k++)
        pass_on(c, op, k, registers, &given);
    for (int s = piece->inputs; s < piece->slots; s++) {
        if (given >> s & 1) continue;
        registers[s] = (uint8_t)asn_jit_take_register(c, piece->low >> s & 1);
        c->owner[registers[s]] = ASN_JIT_IN_USE;
    }
    emit_piece(c, piece, registers, memory, num_memory);
    int result = registers[piece->result];
    if (piece->result < piece->inputs) { /* the value itself */
        int reg = asn_jit_take_register(c, false);
        asn_jit_emit_copy(c, reg, result);
        result = reg;
    }
    c->reg[op->dst] = (int16_t)result;
    if (c->owner[result] == ASN_JIT_STICKY)
        c->fixed[op->dst] = true;
    else
        c->owner[result] = (int16_t)op->dst;
}

/* Inputs still to be read come into registers before memory changes under them. */
static void save_inputs(asn_jit_compiler *c) {
    for (int v = 0; v < c->p->num_values; v++) {
        const asn_jit_value *value = &c->p->values[v];
        if (value->kind != ASN_JIT_INPUT || value->last_use <= c->at || c->reg[v] >= 0 ||
            c->spill[v] >= 0)
            continue;
        uint32_t pinned = c->pinned;
        asn_jit_need(c, v);
        c->pinned = pinned;
    }
}

void asn_jit_emit_stores(asn_jit_compiler *c, int before) {
    const asn_jit_program *p = c->p;
    for (int s = 0; s < p->num_stores; s++) {
        const asn_jit_store *store = &p->stores[s];
        if (store->before != before) continue;
        if (p->in_place) save_inputs(c);
        int lane = p->values[store->value].lane, reg = asn_jit_need(c, store->value);
        if (store->imag != ASN_JIT_NONE) {
            asn_jit_store_pairs(c, store, reg, asn_jit_need(c, store->imag));
            continue;
        }
        x86_mem m = asn_jit_address_of(c, store->pointer, lane, true);
        if (store->past_caches && !c->tail)
            x86_vector_mem(&c->code, X86_STREAM, c->width, reg, m, 0);
        else
            asn_jit_emit_store(c, reg, lane, m);
    }
}
