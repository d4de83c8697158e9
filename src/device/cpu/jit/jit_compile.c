/* CPU device: register allocation and assembly of a JIT program.
 *
 * One pass over the operations for the loop over whole vectors; with AVX-512 another one
 * for the elements left over, whose loads and stores go under a mask; the spare lanes of
 * a masked load hold the first element, so that they raise no exception of their own
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
#include "device/cpu/jit/jit_compiler.h"

/* The instruction that adds to the sum's lanes. */
static x86_vop adding(const asnd_jit_compiler *c, int sum) {
    int lane = c->p->values[c->p->sums[sum].value[0]].lane;
    return asn_lane_bytes(lane) == 8 ? X86_ADD_64 : X86_ADD_32;
}

/* -0.0, which changes no sum, in every lane; twice for float32. */
static void clear_sum(asnd_jit_compiler *c, int sum, int reg) {
    static const uint8_t zero[8] = {0, 0, 0, 0, 0, 0, 0, 0x80},
                         zeros[8] = {0, 0, 0, 0x80, 0, 0, 0, 0x80},
                         move_to_rax[2] = {0x48, 0xb8};
    const uint8_t *bytes = adding(c, sum).wide ? zero : zeros;
    if (!c->code.evex) {
        size_t at = x86_vector_rip(&c->code, X86_SPLAT_64, c->width, reg);
        asn_jit_add_fixup(c, at, 0, bytes, 8, false);
        return;
    }
    x86_put(&c->code, move_to_rax, sizeof move_to_rax);
    x86_put(&c->code, bytes, 8);
    x86_vector(&c->code, X86_SPLAT_RAX, c->width, reg, 0, RAX);
}

/* Spare lanes of the last vector add nothing. accumulator: the first vector's; a second
 * vector goes to the next. */
static void emit_sums(asnd_jit_compiler *c, int accumulator) {
    for (int s = 0; s < c->p->num_sums; s++)
        for (int k = 0; k < c->p->vectors; k++) {
            int value = asn_jit_need(c, c->p->sums[s].value[k]);
            int sum = c->accumulators[s][accumulator + k];
            x86_vector_masked(&c->code, adding(c, s), c->width, sum, sum, value,
                              c->tail ? ASN_JIT_TAIL_MASK : 0);
        }
}

/* What the program computes at a time; sums go to their accumulators from that one on. At
 * its beginning no value but the fixed ones is in a register, whatever came before, so it
 * can be written several times in one function. Stores and sums are the only effects. */
static void emit_body(asnd_jit_compiler *c, int accumulator) {
    const asnd_jit_program *p = c->p;
    for (int v = 0; v < p->num_values; v++) {
        if (!c->fixed[v]) c->reg[v] = c->spill[v] = -1;
        c->next_use[v] = p->values[v].first_use;
    }
    for (int r = 0; r < ASN_JIT_REGISTERS; r++)
        if (c->owner[r] >= 0 && !c->fixed[c->owner[r]]) c->owner[r] = ASN_JIT_FREE;
    c->at = -1;
    c->spills = 0;
    asn_jit_emit_stores(c, 0);
    asn_jit_release_dead(c);
    for (c->at = 0; c->at < p->num_ops && !c->failed; c->at++) {
        if (p->vectors == 1 || c->at % 2 || !asn_jit_emit_two(c, &p->ops[c->at]))
            asn_jit_emit_op(c, &p->ops[c->at]);
        asn_jit_emit_stores(c, c->at + 1);
        asn_jit_release_dead(c);
    }
    emit_sums(c, accumulator);
    for (int wide = 0; wide < 2; wide++) {
        if (p->marks[wide] == ASN_JIT_NONE) continue;
        int marks = asn_jit_need(c, p->marks[wide]);
        if (marks != c->sticky[wide]) asn_jit_emit_copy(c, c->sticky[wide], marks);
    }
    asn_jit_release_dead(c);
}

/* The first arrays that are read, then those written, get a register each; pointers of
 * others are loaded at each access (asn_jit_address_of). */
static void choose_addresses(asnd_jit_compiler *c) {
    const asnd_jit_program *p = c->p;
    c->num_addresses = 0;
    for (int v = 0; v < p->num_values && c->num_addresses < ASN_JIT_ADDRESSES; v++)
        if (p->values[v].kind == ASN_JIT_INPUT && p->values[v].last_use >= 0)
            c->addresses[c->num_addresses++] = p->values[v].pointer;
    for (int s = 0; s < p->num_stores && c->num_addresses < ASN_JIT_ADDRESSES; s++)
        c->addresses[c->num_addresses++] = p->stores[s].pointer;
}

/* Gives the most used constant without a register one; false when there is none. */
static bool keep_constant(asnd_jit_compiler *c) {
    asnd_jit_wanted *best = NULL;
    for (int i = 0; i < c->num_wanted; i++)
        if (c->wanted[i].reg < 0 && (!best || c->wanted[i].uses > best->uses))
            best = &c->wanted[i];
    if (!best) return false;
    int reg = c->registers - 1; /* the low ones are for those that name no others */
    while (reg >= 0 && c->owner[reg] != ASN_JIT_FREE)
        reg--;
    if (reg < 0) return false;
    x86_vop load = !best->spread     ? X86_LOAD_64
                   : best->size == 4 ? X86_SPLAT_32
                                     : X86_SPLAT_64;
    asn_jit_add_fixup(
        c, x86_vector_rip(&c->code, load, best->spread ? c->width : best->size, reg), 0,
        c->p->table->data + best->data, best->size, false);
    c->owner[reg] = ASN_JIT_STICKY;
    best->reg = (int16_t)reg;
    return true;
}

/* Saves registers, makes a frame of 64-byte slots (whose number is put in at *frame when
 * it is known), loads addresses, clears marks and sums, and loads up to `constants`
 * constants that stay. */
static void emit_prologue(asnd_jit_compiler *c, int constants, size_t *frame) {
    const asnd_jit_program *p = c->p;
    asnd_code_buffer *code = &c->code;
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
        x86_general_mem(code, X86_LOAD, asn_jit_address_register(i),
                        (x86_mem){RDI, RSP, 1, 8 * c->addresses[i]});
    for (int wide = 0; wide < 2; wide++) {
        if (p->marks[wide] == ASN_JIT_NONE) continue;
        c->sticky[wide] = asn_jit_take_register(c, false);
        c->owner[c->sticky[wide]] = ASN_JIT_STICKY;
        x86_vector(code, X86_XOR, c->width, c->sticky[wide], c->sticky[wide],
                   c->sticky[wide]);
        c->reg[p->first_marks[wide]] = (int16_t)c->sticky[wide];
        c->fixed[p->first_marks[wide]] = true;
    }
    for (int s = 0; s < p->num_sums; s++)
        for (int k = 0; k < ASN_JIT_ACCUMULATORS * c->parts; k++) {
            int sum = c->accumulators[s][k] = asn_jit_take_register(c, false);
            c->owner[sum] = ASN_JIT_STICKY;
            clear_sum(c, s, sum);
        }
    for (int v = 0; v < p->num_values && constants > 0; v++) {
        if (p->values[v].kind != ASN_JIT_CONST || p->values[v].last_use < 0) continue;
        asn_jit_need(c, v);
        c->fixed[v] = true;
        constants--;
    }
    while (constants > 0 && keep_constant(c))
        constants--;
    c->pinned = 0;
}

/* eax = whether a sticky register has a sign bit set: some argument was outside.
 * vzeroupper spares callers with SSE code the penalty of dirty upper halves. */
static void emit_epilogue(asnd_jit_compiler *c) {
    const asnd_jit_program *p = c->p;
    asnd_code_buffer *code = &c->code;
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

/* Constants follow the code, aligned to their size; the displacements of the instructions
 * that read them (relative to the next instruction) are put in. */
static void emit_constants(asnd_jit_compiler *c) {
    asnd_code_buffer *code = &c->code;
    size_t where[ASN_JIT_MAX_CONSTANTS];
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

/* while (done + vectors * lanes <= n), one accumulator of a sum after the other. The loop
 * begins at a multiple of 32 bytes. */
static void emit_loop(asnd_jit_compiler *c, int vectors) {
    asnd_code_buffer *code = &c->code;
    const x86_mem next = {R11, RSP, 1, vectors * c->p->lanes};
    x86_general_mem(code, X86_LEA, RAX, next);
    x86_general(code, X86_CMP, RAX, R10);
    size_t none = x86_jump(code, X86_JA);
    while (code->size % 32 && !code->full)
        x86_byte(code, 0x90);
    size_t top = code->size;
    for (int k = 0; k < vectors; k += c->p->vectors) {
        emit_body(c, k);
        x86_number(code, 0, R11, c->p->vectors * c->p->lanes);
    }
    x86_general_mem(code, X86_LEA, RAX, next);
    x86_general(code, X86_CMP, RAX, R10);
    x86_land_at(code, x86_jump(code, X86_JBE), top);
    x86_land(code, none);
}

/* while (done < n), under a mask: two vectors at most where they are interleaved. The
 * mask is the lowest min(n - done, lanes) bits (bzhi). */
static void emit_rest(asnd_jit_compiler *c) {
    asnd_code_buffer *code = &c->code;
    static const uint8_t move_to_rax[] = {0x48, 0xb8};
    const uint64_t lanes = ~(uint64_t)0 >> (64 - c->p->lanes);
    static const uint8_t bzhi_rax_rcx[] = {0xc4, 0xe2, 0xf0, 0xf5, 0xc0};
    static const uint8_t kmovq_k7_rax[] = {0xc4, 0xe1, 0xfb, 0x92, 0xf8};
    x86_general(code, X86_CMP, R11, R10);
    size_t done = x86_jump(code, X86_JAE);
    size_t top = code->size;
    x86_general(code, X86_MOVE, RCX, R10);
    x86_general(code, X86_SUB, RCX, R11);
    x86_put(code, move_to_rax, sizeof move_to_rax);
    x86_put(code, &lanes, sizeof lanes);
    x86_put(code, bzhi_rax_rcx, sizeof bzhi_rax_rcx);
    x86_put(code, kmovq_k7_rax, sizeof kmovq_k7_rax);
    c->tail = true;
    emit_body(c, 0);
    c->tail = false;
    x86_number(code, 0, R11, c->p->lanes);
    x86_general(code, X86_CMP, R11, R10);
    x86_land_at(code, x86_jump(code, X86_JB), top);
    x86_land(code, done);
}

/* The accumulators become one, (s0 + s1) + (s2 + s3), before the rest is added. */
static void combine_sums(asnd_jit_compiler *c) {
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

/* The accumulators' lanes go to ptr[sum], 64 bytes, for the kernel's last steps in
 * fused_fold.c. */
static void store_sums(asnd_jit_compiler *c) {
    x86_vop store = X86_LOAD_64;
    store.opcode |= X86_STORE_BIT;
    for (int s = 0; s < c->p->num_sums; s++)
        for (int h = 0; h < c->parts; h++) {
            x86_mem to = asn_jit_address_of(c, c->p->sums[s].pointer, ASN_LANE_U8, false);
            to.disp += c->width * h;
            x86_vector_mem(&c->code, store, c->width, c->accumulators[s][h], to, 0);
        }
}

/* A whole vector that is left over by two interleaved is the rest's, but for where there
 * is none, where a sum's order needs it, and where it is little code. */
static bool needs_single(const asnd_jit_compiler *c, const asnd_jit_program *one) {
    enum { SHORT = 400 };
    size_t length = 0;
    for (int i = 0; i < one->num_ops; i++)
        length += one->ops[i].piece->length;
    return c->p == one || !c->code.evex || one->has_complex || one->num_sums ||
           length < SHORT;
}

/* Nothing written, no register taken. */
static void begin(asnd_jit_compiler *c, const asnd_jit_program *p) {
    c->p = p;
    c->code.size = 0;
    c->code.full = c->failed = c->tail = false;
    c->frame = c->num_constants = c->num_fixups = 0;
    c->pinned = 0;
    c->peak = c->at = 0;
    for (int r = 0; r < ASN_JIT_REGISTERS; r++)
        c->owner[r] = ASN_JIT_FREE;
    for (int v = 0; v < p->num_values; v++) {
        c->reg[v] = c->spill[v] = -1;
        c->next_use[v] = p->values[v].first_use;
        c->fixed[v] = false;
    }
}

/* How many registers the program needs, and which constants it asks for how often: what
 * is written is the body of a loop, which the real one takes the place of. */
static void count_needs(asnd_jit_compiler *c, const asnd_jit_program *p) {
    size_t frame;
    c->counted = false;
    c->num_wanted = 0;
    begin(c, p);
    emit_prologue(c, 0, &frame);
    emit_body(c, 0);
    c->counted = true;
}

/* The whole function: prologue, loop of two vectors (or of all accumulators), loop of
 * one, rest, sums, epilogue, constants. */
static void emit_function(asnd_jit_compiler *c, const asnd_jit_program *one,
                          const asnd_jit_program *two, int constants) {
    size_t frame;
    begin(c, two ? two : one);
    emit_prologue(c, constants, &frame);
    if (c->p->num_sums)
        emit_loop(c, ASN_JIT_ACCUMULATORS * c->parts);
    else if (two)
        emit_loop(c, two->vectors);
    bool single = needs_single(c, one);
    c->p = one;
    if (single) emit_loop(c, c->p->num_sums ? c->parts : 1);
    combine_sums(c);
    if (c->code.evex && !c->p->has_complex) emit_rest(c);
    store_sums(c);
    emit_epilogue(c);
    int32_t bytes = 64 * c->frame;
    if (!c->code.full) memcpy(c->code.bytes + frame, &bytes, 4);
    emit_constants(c);
}

/* Registers that the first pass found unused (beyond c.peak) are the constants'. */
size_t asn_jit_compile(const asnd_jit_program *one, const asnd_jit_program *two,
                       uint8_t *out, size_t room) {
    asnd_jit_compiler c;
    c.p = one;
    bool evex = one->vector_bytes == 64;
    c.code = (asnd_code_buffer){out, 0, room, false, evex};
    c.registers = evex ? ASN_JIT_REGISTERS : ASN_JIT_LOW;
    c.width = one->vector_bytes;
    c.parts = 64 / c.width;
    choose_addresses(&c);
    count_needs(&c, two ? two : one);
    if (c.failed || (two && c.frame)) return 0;
    emit_function(&c, one, two, c.peak < c.registers ? c.registers - c.peak : 0);
    /* Half of AVX2's registers are the sums': what does not fit the others is faster
     * without (jit_cache.c). */
    if (one->num_sums && !evex && c.frame) return 0;
    return c.failed || c.code.full ? 0 : c.code.size;
}
