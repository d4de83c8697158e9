/* CPU device: the operations of a JIT program: pieces of machine code (jit_pieces.h) with
 * the registers of their operands put in, and stores of results (see jit_compile.c).
 *
 * A piece is written from front to back, in stretches that end where something of it is
 * changed: a constant's place, an input in memory, or, where two vectors are interleaved,
 * a point at which the other's piece may come in. While an operation is written its
 * registers are pinned.
 */
#include "device/cpu/jit/jit_compiler.h"
#include "device/cpu/jit/jit_patch.h"

enum { IN_MEMORY = 255 /* an input's register, where it has none */ };

/* The register that holds a constant of the pieces throughout, or -1. Without one the
 * constant is counted as wanted. */
static int kept_register(asnd_jit_compiler *c, const asnd_piece_constant *k) {
    if (k->kind == ASN_CONSTANT_FIXED) return -1;
    int i = 0;
    while (i < c->num_wanted &&
           (c->wanted[i].data != k->data || c->wanted[i].spread != k->spread))
        i++;
    if (i == ASN_JIT_MAX_WANTED) return -1;
    if (i == c->num_wanted)
        c->wanted[c->num_wanted++] =
            (asnd_jit_wanted){k->data, k->size, k->spread, 0, -1};
    c->wanted[i].uses++;
    return c->wanted[i].reg;
}

/* An input that is read where it lies instead of from a register. */
typedef struct {
    uint32_t at; /* of its instruction in the piece */
    x86_mem from;
} memory_input;

/* An operation with the registers of its piece's slots, as far as it is written. */
typedef struct {
    const asnd_jit_op *op;
    uint8_t registers[32];
    int num_memory;
    memory_input memory[ASN_PIECE_INPUTS];
    uint32_t from, field, constant; /* what comes next */
    int input;                      /* likewise, of those in memory */
} placed_op;

/* The piece's code up to an offset and the fields of its instructions. */
static void put_code(asnd_jit_compiler *c, placed_op *o, uint32_t to) {
    const asnd_piece *piece = o->op->piece;
    const asnd_piece_table *t = c->p->table;
    size_t start = c->code.size;
    x86_put(&c->code, t->code + piece->code + o->from, to - o->from);
    if (c->code.full) return;
    for (; o->field < piece->num_fields; o->field++) {
        const asnd_piece_field *f = &t->fields[piece->fields + o->field];
        bool ends_here = f->kind == ASN_FIELD_VEX_IS4 && f->at == to;
        if (f->at >= to && !ends_here) break;
        if (o->registers[f->slot] != IN_MEMORY)
            patch_field(c->code.bytes + start + (f->at - o->from), f->kind,
                        o->registers[f->slot]);
    }
    o->from = to;
}

/* The code up to the constant's displacement, which becomes a register or leads to the
 * constant behind the code (a fixup). */
static void put_constant(asnd_jit_compiler *c, placed_op *o,
                         const asnd_piece_constant *k) {
    int reg = kept_register(c, k);
    put_code(c, o, k->at);
    if (c->code.full) return;
    if (reg >= 0) {
        patch_register(&c->code, k->kind, (unsigned)reg);
        o->from += 4;
    } else {
        asn_jit_add_fixup(c, c->code.size, k->tail, c->p->table->data + k->data, k->size,
                          !c->code.evex && k->kind == ASN_CONSTANT_OPERAND && k->spread);
    }
}

/* The piece from where it was left up to an offset between two instructions. */
static void emit_piece(asnd_jit_compiler *c, placed_op *o, uint32_t until) {
    const asnd_piece *piece = o->op->piece;
    const asnd_piece_constant *constants = &c->p->table->constants[piece->constants];
    while (!c->code.full) {
        const memory_input *m = o->input < o->num_memory ? &o->memory[o->input] : NULL;
        const asnd_piece_constant *k =
            o->constant < piece->num_constants ? &constants[o->constant] : NULL;
        uint32_t read = m ? m->at + 5 : UINT32_MAX; /* behind its opcode and ModRM */
        if (m && read <= until && (!k || read <= k->at)) {
            put_code(c, o, read);
            patch_memory(&c->code, m->from);
            o->input++;
        } else if (k && k->at < until) {
            put_constant(c, o, k);
            o->constant++;
        } else {
            put_code(c, o, until);
            return;
        }
    }
}

/* Whether the value is an input of the operation. */
static bool reads(const asnd_jit_op *op, int value) {
    for (int k = 0; k < op->piece->inputs; k++)
        if (op->src[k] == value) return true;
    return false;
}

/* The marks of arguments outside, in the register that has them over all vectors. */
static bool is_sticky(const asnd_jit_compiler *c, int value) {
    return c->fixed[value] && c->owner[c->reg[value]] == ASN_JIT_STICKY;
}

/* The register of an input that ends here goes to the slot that may have it. Otherwise
 * the slot takes a register of its own; the result is the same. */
static void pass_on(asnd_jit_compiler *c, const asnd_jit_op *op, int k,
                    uint8_t *registers, uint32_t *given) {
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
    c->owner[registers[k]] = ASN_JIT_FREE; /* but pinned */
    c->reg[value] = -1;
}

/* Where input k of an operation lies when the piece may read it there: it is in no
 * register, nobody needs it afterwards, and its address has one. The instruction must
 * read exactly a vector of the program's lanes, by its length bit (VEX.L). */
static bool reads_memory(asnd_jit_compiler *c, const asnd_jit_op *op, int k,
                         memory_input *input) {
    const asnd_piece *piece = op->piece;
    const asnd_jit_value *v = &c->p->values[op->src[k]];
    if (!(piece->from_memory >> k & 1) || v->kind != ASN_JIT_INPUT || v->part ||
        v->last_use != c->at || c->reg[op->src[k]] >= 0 || c->spill[op->src[k]] >= 0)
        return false;
    for (int other = 0; other < piece->inputs; other++)
        if (other != k && op->src[other] == op->src[k]) return false;
    const asnd_piece_field *f = &c->p->table->fields[piece->fields];
    while (f->slot != k)
        f++;
    int length = c->p->table->code[piece->code + f->at + 2] & 4 ? 32 : 16;
    if (length != asn_jit_vector_bytes(c, v->lane)) return false;
    for (int i = 0; i < c->num_addresses; i++)
        if (c->addresses[i] == v->pointer) {
            input->at = f->at;
            input->from = asn_jit_address_in(c, v->pointer, v->lane, v->second);
            return true;
        }
    return false;
}

/* Registers for a piece's slots. `beside`: an operation whose piece is interleaved
 * with this one, or NULL. An input in a register stays there unless its heir takes it. */
static void place(asnd_jit_compiler *c, const asnd_jit_op *op, const asnd_jit_op *beside,
                  placed_op *o) {
    const asnd_piece *piece = op->piece;
    uint32_t given = 0;
    o->op = op;
    o->from = o->field = o->constant = 0;
    o->num_memory = o->input = 0;
    for (int k = 0; k < piece->inputs; k++) {
        memory_input input;
        if (reads_memory(c, op, k, &input)) {
            int m = o->num_memory++; /* in the order of the code */
            for (; m > 0 && o->memory[m - 1].at > input.at; m--)
                o->memory[m] = o->memory[m - 1];
            o->memory[m] = input;
            o->registers[k] = IN_MEMORY;
            continue;
        }
        o->registers[k] = (uint8_t)asn_jit_need(c, op->src[k]);
        if (piece->low >> k & 1 && o->registers[k] >= ASN_JIT_LOW) {
            int low = asn_jit_take_register(c, true);
            asn_jit_emit_copy(c, low, o->registers[k]);
            o->registers[k] = (uint8_t)low;
        }
    }
    for (int k = 0; k < piece->inputs; k++)
        if (!beside || !reads(beside, op->src[k]))
            pass_on(c, op, k, o->registers, &given);
    for (int s = piece->inputs; s < piece->slots; s++) {
        if (given >> s & 1) continue;
        o->registers[s] = (uint8_t)asn_jit_take_register(c, piece->low >> s & 1);
    }
}

/* The result of what is written gets its register. A result that is an input's own
 * register is copied, since that input may live on. */
static void settle(asnd_jit_compiler *c, const placed_op *o) {
    const asnd_piece *piece = o->op->piece;
    int result = o->registers[piece->result], dst = o->op->dst;
    for (int k = 0; k < piece->inputs; k++)
        c->next_use[o->op->src[k]] = o->op->next_use[k];
    if (piece->result < piece->inputs) { /* the value itself */
        int reg = asn_jit_take_register(c, false);
        asn_jit_emit_copy(c, reg, result);
        result = reg;
    }
    c->reg[dst] = (int16_t)result;
    if (c->owner[result] == ASN_JIT_STICKY)
        c->fixed[dst] = true;
    else
        c->owner[result] = (int16_t)dst;
}

/* Fails by c->failed: no register is free and none may be evicted. */
void asn_jit_emit_op(asnd_jit_compiler *c, const asnd_jit_op *op) {
    placed_op o;
    place(c, op, NULL, &o);
    emit_piece(c, &o, op->piece->length);
    settle(c, &o);
}

/* There are registers for both, and neither waits for the other. Decided in the first
 * pass alone: the second has other registers free, and must write what was counted. */
static bool may_mix(const asnd_jit_compiler *c, const asnd_jit_op *ops) {
    int room = 0;
    for (int r = 0; r < c->registers; r++)
        room += c->owner[r] == ASN_JIT_FREE;
    return ops->piece->num_turns && !reads(&ops[1], ops[0].dst) &&
           room >= 2 * ops->piece->slots;
}

/* Both pieces are the same, so their turning points are. */
bool asn_jit_emit_two(asnd_jit_compiler *c, const asnd_jit_op *ops) {
    const asnd_piece *piece = ops->piece;
    placed_op first, second;
    if (!c->counted) c->mixed[c->at] = may_mix(c, ops);
    if (!c->mixed[c->at]) return false;
    place(c, &ops[0], NULL, &first);
    c->at++;
    place(c, &ops[1], &ops[0], &second);
    for (uint32_t k = 0; k <= piece->num_turns; k++) {
        uint32_t until =
            k == piece->num_turns ? piece->length : c->p->table->turns[piece->turns + k];
        emit_piece(c, &first, until);
        emit_piece(c, &second, until);
    }
    settle(c, &first);
    settle(c, &second);
    return true;
}

/* Inputs still to be read come into registers before memory changes under them. For
 * programs whose outputs lie over inputs. */
static void save_inputs(asnd_jit_compiler *c) {
    for (int v = 0; v < c->p->num_values; v++) {
        const asnd_jit_value *value = &c->p->values[v];
        if (value->kind != ASN_JIT_INPUT || value->last_use <= c->at || c->reg[v] >= 0 ||
            c->spill[v] >= 0)
            continue;
        uint32_t pinned = c->pinned;
        asn_jit_need(c, v);
        c->pinned = pinned;
    }
}

void asn_jit_emit_stores(asnd_jit_compiler *c, int before) {
    const asnd_jit_program *p = c->p;
    for (int s = 0; s < p->num_stores; s++) {
        const asnd_jit_store *store = &p->stores[s];
        if (store->before != before) continue;
        if (p->in_place) save_inputs(c);
        int lane = p->values[store->value].lane, reg = asn_jit_need(c, store->value);
        if (store->imag != ASN_JIT_NONE) {
            asn_jit_store_pairs(c, store, reg, asn_jit_need(c, store->imag));
            continue;
        }
        x86_mem m = asn_jit_address_in(c, store->pointer, lane, store->second);
        if (store->past_caches && !c->tail)
            x86_vector_mem(&c->code, X86_STREAM, c->width, reg, m, 0);
        else
            asn_jit_emit_store(c, reg, lane, m);
    }
}
