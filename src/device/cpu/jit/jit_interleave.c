/* CPU device: a JIT program for two vectors, interleaved.
 *
 * The operations of one vector wait for each other; a processor looks as far ahead as
 * its schedulers hold instructions, which in a long program is less than a vector. With
 * an operation of the first vector beside the same of the second there is always
 * something to do. Constants, and the marks of arguments outside, are common to both.
 */
#include "device/cpu/jit/jit_program.h"

typedef struct {
    asnd_jit_program *two;
    const asnd_jit_program *one;
    uint16_t twin[ASN_JIT_MAX_VALUES]; /* the second vector's value */
} turning;

/* The second vector's value in the place of one of the first's; NONE stays NONE. */
static uint16_t twin_of(const turning *t, uint16_t value) {
    return value == ASN_JIT_NONE ? value : t->twin[value];
}

/* One register serves both vectors. */
static bool is_common(const asnd_jit_value *value) {
    return value->kind == ASN_JIT_CONST || value->kind == ASN_JIT_ZERO;
}

/* The first vector's values keep their numbers, their twins come after all of them. */
static void add_values(turning *t) {
    asnd_jit_program *two = t->two;
    two->num_values = t->one->num_values;
    for (int v = 0; v < t->one->num_values; v++) {
        two->values[v] = t->one->values[v];
        two->values[v].last_use = -1;
        t->twin[v] = (uint16_t)(is_common(&two->values[v]) ? v : two->num_values++);
        if (t->twin[v] == v) continue;
        two->values[t->twin[v]] = two->values[v];
        two->values[t->twin[v]].second = true;
    }
}

/* The marks that a check goes on from are its last input; those of both vectors are one
 * chain, so the second vector's go on from the first's, and the first's from the
 * second's of the check before. */
static void add_operations(turning *t) {
    asnd_jit_program *two = t->two;
    bool is_marks[ASN_JIT_MAX_VALUES] = {false};
    for (int wide = 0; wide < 2; wide++)
        if (t->one->marks[wide] != ASN_JIT_NONE)
            is_marks[t->one->first_marks[wide]] = true;
    two->num_ops = 0;
    for (int i = 0; i < t->one->num_ops; i++) {
        const asnd_jit_op *op = &t->one->ops[i];
        asnd_jit_op *first = &two->ops[two->num_ops++],
                    *second = &two->ops[two->num_ops++];
        int last = op->piece->inputs - 1;
        *first = *second = *op;
        second->dst = t->twin[op->dst];
        for (int k = 0; k <= last; k++)
            second->src[k] = t->twin[op->src[k]];
        if (!is_marks[op->src[last]]) continue;
        is_marks[op->dst] = true;
        first->src[last] = second->src[last];
        second->src[last] = first->dst;
    }
    for (int wide = 0; wide < 2; wide++) {
        two->marks[wide] = twin_of(t, t->one->marks[wide]);
        two->first_marks[wide] = t->one->first_marks[wide];
    }
}

/* Each store twice; a store before operation i of one is before the pair 2 i. Each sum
 * has a value of either vector. */
static void add_stores(turning *t) {
    asnd_jit_program *two = t->two;
    two->num_stores = 0;
    for (int s = 0; s < t->one->num_stores; s++) {
        asnd_jit_store *first = &two->stores[two->num_stores++],
                       *second = &two->stores[two->num_stores++];
        *first = *second = t->one->stores[s];
        first->before = second->before = (uint16_t)(2 * first->before);
        second->value = t->twin[first->value];
        second->imag = twin_of(t, first->imag);
        second->second = true;
    }
    two->num_sums = t->one->num_sums;
    for (int s = 0; s < two->num_sums; s++) {
        two->sums[s] = t->one->sums[s];
        two->sums[s].value[1] = t->twin[two->sums[s].value[0]];
    }
}

/* Whether the values alone, in the best case, take more registers than there are: what is
 * read last gives way to what is made. A lower bound, by counting values alive before
 * each operation: what passes may still not fit, which the allocator finds out. */
static bool is_crowded(const asnd_jit_program *p) {
    const int registers = p->vector_bytes == 64 ? 32 : 16;
    int16_t change[ASN_JIT_MAX_OPS + 2] = {0};
    for (int v = 0; v < p->num_values; v++) {
        const asnd_jit_value *value = &p->values[v];
        if (value->kind != ASN_JIT_INPUT || value->last_use < 0) continue;
        change[value->first_use < 0 ? 0 : value->first_use]++;
        change[value->last_use]--;
    }
    int live = p->num_sums * ASN_JIT_ACCUMULATORS * 64 / p->vector_bytes;
    for (int i = 0; i < p->num_ops; i++) {
        const asnd_jit_op *op = &p->ops[i];
        live += change[i];
        if (live + op->piece->slots - op->piece->inputs > registers) return true;
        if (p->values[op->dst].last_use <= i) continue;
        live++;
        change[p->values[op->dst].last_use]--;
    }
    return false;
}

/* Builds the program; its uses are found anew. */
bool asn_jit_in_turns(asnd_jit_program *two, const asnd_jit_program *one) {
    if (2 * one->num_values > ASN_JIT_MAX_VALUES || 2 * one->num_ops > ASN_JIT_MAX_OPS ||
        2 * one->num_stores > ASN_JIT_MAX_STORES)
        return false;
    turning t;
    t.two = two;
    t.one = one;
    two->table = one->table;
    two->vector_bytes = one->vector_bytes;
    two->lanes = one->lanes;
    two->count_index = one->count_index;
    two->vectors = 2;
    two->has_complex = one->has_complex;
    two->in_place = one->in_place;
    add_values(&t);
    add_operations(&t);
    add_stores(&t);
    asn_jit_find_uses(two);
    return !is_crowded(two);
}
