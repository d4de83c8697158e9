/* CPU device, private to stacking reductions (fused_stack.c): several reduced rows at a
 * time onto the accumulators of a stripe. */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_ONTO_H
#define ASN_DEVICE_CPU_FUSED_FUSED_ONTO_H

#include "device/cpu/fused/fused_reduce.h"

enum { ASN_ONTO_BYTES = 32768 /* of computed rows */ };

typedef struct {
    const asnd_reduction_run *rr;
    asnd_run *run;
    const asnd_cursor *kept; /* where the stripe is */
    /* Of each reduction: the operand whose memory has its values, or -1: they are
     * computed to `rows`, `at` bytes from its beginning. */
    int operand[ACLNNX_MAX_OPERANDS];
    int64_t at[ACLNNX_MAX_OPERANDS];
    /* Pointers of the machine code that move from row to row, and by how much. */
    int moving;
    uint16_t place[2 * ACLNNX_MAX_OPERANDS];
    int64_t step[2 * ACLNNX_MAX_OPERANDS];
    int64_t width; /* elements of a row at a time */
    char *rows;    /* ASN_ONTO_BYTES of the caller's */
} asnd_onto;

/* False: the program's rows are better taken one by one. */
bool asn_onto_prepare(asnd_onto *o, const asnd_reduction_run *rr, asnd_run *run,
                      const asnd_cursor *kept, char *rows);

/* Elements [from + x, from + x + n), at most o->width of them, of ASN_ONTO * pack reduced
 * rows onto accumulators that all hold something; those of reduction r begin at
 * accs + r * size. False: nothing was done, and these rows are to be taken one by one. */
bool asn_onto_block(asnd_onto *o, const asnd_cursor *reduced, char *accs, int64_t size,
                    int64_t from, int64_t x, int64_t n);

#endif
