/* CPU device, private to the fused engine: running a plan's steps on one block.
 *
 * An asnd_run is one thread's state: pointers of all values and the buffer of the slots
 * (what a block takes of it stays in L1 with the operands; machine code, which gives each
 * operand that moves a slot, needs more of them than the steps). A block is n1 rows of n0
 * elements; `offset` says where it begins in every operand.
 */
#ifndef ASN_DEVICE_CPU_FUSED_BLOCK_H
#define ASN_DEVICE_CPU_FUSED_BLOCK_H

#include "device/cpu/fused/program.h"

enum { ASN_BUFFER_BYTES = 65536 };

typedef struct {
    const asnd_plan *plan;
    char *const *base;
    int64_t slot_bytes;
    bool summed; /* the reduced values of the last block are lanes of its sums (jit.h) */
    int num_moving; /* operands whose address changes from block to block */
    uint8_t moving[ACLNNX_MAX_OPERANDS];
    int64_t offset[ACLNNX_MAX_OPERANDS]; /* bytes from base, of moving operands */
    char *ptr[ASN_MAX_VALUES];
    /* what a slot was gathered from, by machine code, whose slots hold one value each */
    const char *gathered[ACLNNX_MAX_OPERANDS];
    int64_t gathered_n0, gathered_n1;
    _Alignas(64) char buffer[ASN_BUFFER_BYTES];
} asnd_run;

/* The number of elements of a block: what keeps slots and operands in L1, `largest` when
 * there are no slots at all or machine code leaves them unused. */
int64_t asn_plan_block(asnd_plan *plan, int64_t largest);

/* base: as of asn_prepared_run_at, kept as long. block: the most elements that a block of
 * this run has, which gives the slots' length. */
void asn_run_init(asnd_run *run, const asnd_plan *plan, char *const *base, int64_t block);
/* Computes the block at run->offset: n1 rows of dimension 1, n0 elements of dimension 0
 * each, n0 * n1 at most `block`. Outputs are stored, but for reduced ones, whose values
 * are left at run->ptr. */
void asn_run_block(asnd_run *run, int64_t n0, int64_t n1);

/* A position in the dimensions [lo, hi), counted in row-major order, lo innermost.
 * offset: bytes from the operand's base, of moving operands only. */
typedef struct {
    int lo, hi;
    int64_t index[ACLNNX_MAX_DIMS];
    int64_t offset[ACLNNX_MAX_OPERANDS];
} asnd_cursor;

/* To position `position` of lo..hi-1, in O(hi - lo) divisions: for the first of a task's
 * units. */
void asn_cursor_seek(asnd_cursor *c, const asnd_run *run, int lo, int hi,
                     int64_t position);

/* Moves on by `step` positions of dimension lo, which must not pass its end. */
static inline void asn_cursor_advance(asnd_cursor *c, const asnd_run *run, int64_t step) {
    const asnd_plan *plan = run->plan;
    for (int d = c->lo; d < c->hi; d++) {
        const asnd_dim *dim = &plan->dims[d];
        c->index[d] += step;
        for (int m = 0; m < run->num_moving; m++)
            c->offset[run->moving[m]] += dim->stride[run->moving[m]] * step;
        if (c->index[d] < dim->extent) return;
        c->index[d] = 0;
        for (int m = 0; m < run->num_moving; m++)
            c->offset[run->moving[m]] -= dim->stride[run->moving[m]] * dim->extent;
        step = 1;
    }
}

#endif
