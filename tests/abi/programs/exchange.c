/* Generated programs: repeatable executors (see exchange.h). */
#include "exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };

/* ---- other values */

/* Floats are scaled by a random number of [1/4, 1): their sign and their bounds stay, so
 * that they are values which the operator takes. All else is turned by an element: what
 * indices point to stays inside. */
static void other_values(char *data, size_t size, char kind) {
    static _Thread_local uint32_t state = 1;
    size_t item = kind == 'd' ? 8 : kind == 'f' ? 4 : kind == 'e' || kind == 'g' ? 2 : 0;
    for (size_t i = 0; item > 0 && i + item <= size; i += item) {
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        double by = 0.25 + 0.75 * (state >> 8) / 16777216.0, d;
        float f;
        uint16_t h;
        if (kind == 'd') {
            memcpy(&d, data + i, 8);
            d *= by;
            memcpy(data + i, &d, 8);
        } else if (kind == 'f') {
            memcpy(&f, data + i, 4);
            f *= (float)by;
            memcpy(data + i, &f, 4);
        } else { /* a half's magnitude is ordered as its bits: one of the next smaller */
            memcpy(&h, data + i, 2);
            uint16_t magnitude = h & 0x7fff, down = (uint16_t)(state >> 24);
            if (magnitude > 256) h = (uint16_t)((h & 0x8000) | (magnitude - down));
            memcpy(data + i, &h, 2);
        }
    }
    size_t turn = kind >= '1' && kind <= '8' ? (size_t)(kind - '0') : 0;
    if (turn == 0 || size < 2 * turn) return;
    char first[8];
    memcpy(first, data, turn);
    memmove(data, data + turn, size - turn);
    memcpy(data + size - turn, first, turn);
}

int exchange_prepare(program_memory_t *m, const unsigned char *values, size_t guard) {
    void *spare = NULL;
    if (aclrtMalloc(&spare, m->size + 2 * guard, ACL_MEM_MALLOC_HUGE_FIRST)) return 0;
    m->spare = spare;
    (void)aclrtMemcpy(spare, m->size + 2 * guard, m->data, m->size + 2 * guard,
                      ACL_MEMCPY_DEVICE_TO_DEVICE);
    char *other = malloc(m->size + 1);
    if (other == NULL) return 0;
    memcpy(other, values, m->size);
    other_values(other, m->size, m->kind);
    int failed = m->size > 0 && aclrtMemcpy(m->data + guard, m->size, other, m->size,
                                            ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS;
    free(other);
    return !failed;
}

/* ---- the runs */

static int32_t run_once(program *p, program_phase2 phase2, void *workspace) {
    int32_t code = phase2(workspace, p->size, p->executor, p->stream);
    int32_t after = aclrtSynchronizeStream(p->stream);
    return code != 0 ? code : after;
}

/* The address that `addr`, which lies in a memory or in its spare, has in the other. */
static void *other_address(const program *p, void *addr) {
    uintptr_t at = (uintptr_t)addr;
    for (int i = 0; i < p->num_memories; i++) {
        const program_memory_t *m = &p->memories[i];
        uintptr_t a = (uintptr_t)m->data, b = (uintptr_t)m->spare;
        size_t whole = m->size + 2 * GUARD;
        if (at >= a && at < a + whole) return m->spare + (at - a);
        if (at >= b && at < b + whole) return m->data + (at - b);
    }
    return NULL;
}

/* Every tensor's address by the function for its role: inputs and outputs are counted by
 * themselves, in the order of the operator's parameters; what is both by the function
 * that counts all. */
static void exchange(program *p) {
    size_t inputs = 0, outputs = 0;
    for (int i = 0; i < p->num_operands; i++) {
        const program_operand_t *o = &p->operands[i];
        char role = p->roles[i];
        void *addr = NULL;
        program_note(p, aclGetRawTensorAddr(o->tensor, &addr));
        addr = addr != NULL ? other_address(p, addr) : NULL;
        size_t all = (size_t)i, in = inputs, out = outputs;
        inputs += role != 'o';
        outputs += role != 'i';
        if (addr == NULL) continue; /* an empty tensor */
        size_t member = (size_t)o->member;
        if (o->list != NULL) {
            program_note(p, role == 'i'
                                ? aclSetDynamicInputTensorAddr(p->executor, in - member,
                                                               member, o->list, addr)
                            : role == 'o'
                                ? aclSetDynamicOutputTensorAddr(p->executor, out - member,
                                                                member, o->list, addr)
                                : aclSetDynamicTensorAddr(p->executor, all - member,
                                                          member, o->list, addr));
        } else {
            program_note(
                p, role == 'i' ? aclSetInputTensorAddr(p->executor, in, o->tensor, addr)
                   : role == 'o'
                       ? aclSetOutputTensorAddr(p->executor, out, o->tensor, addr)
                       : aclSetTensorAddr(p->executor, all, o->tensor, addr));
        }
    }
}

/* Copies of the memories as they are, with their guards' places; freed by the caller. */
static unsigned char *copy_of(const program_memory_t *m) {
    unsigned char *copy = malloc(m->size + 1);
    if (copy != NULL && m->size > 0)
        (void)aclrtMemcpy(copy, m->size, m->data + GUARD, m->size,
                          ACL_MEMCPY_DEVICE_TO_HOST);
    return copy;
}

int exchange_run(program *p, program_phase2 phase2, void *workspace) {
    unsigned char *left[PROGRAM_MEMORIES];
    program_note(p, aclSetAclOpExecutorRepeatable(p->executor));
    int took = run_once(p, phase2, workspace) == 0;
    (void)aclGetRecentErrMsg();
    for (int i = 0; i < p->num_memories; i++)
        left[i] = copy_of(&p->memories[i]);
    exchange(p);
    program_note(p, run_once(p, phase2, workspace));
    for (int i = 0; i < p->num_memories; i++) {
        program_memory_t *m = &p->memories[i];
        long at =
            program_difference(m->spare + GUARD, m->size, program_recorded + m->after);
        if (at >= 0) program_complain("exchanged memory differs", i, at - GUARD);
        at = program_difference(m->data + GUARD, m->size, left[i]);
        if (at >= 0) program_complain("memory exchanged away is written", i, at - GUARD);
        if (m->size > 0)
            (void)aclrtMemcpy(m->data + GUARD, m->size, program_recorded + m->before,
                              m->size, ACL_MEMCPY_HOST_TO_DEVICE);
        free(left[i]);
    }
    exchange(p);
    program_note(p, run_once(p, phase2, workspace));
    return took;
}
