/* L1 ops: rows of the operation table that are added while the program runs: loops of
 * custom operators.
 *
 * A loop of n outputs takes n rows, one after the other: row k computes output k of it,
 * from operands of fixed dtypes. Rows are never removed; whoever knows an added opcode
 * may read its row without a lock.
 */
#ifndef ASN_OPS_ADDED_H
#define ASN_OPS_ADDED_H

#include "ops/ops.h"

enum { ASN_ADDED_ARGS = 8, ASN_ADDED_INPUTS = 3 };

/* NumPy's form of a loop: n elements that lie `steps` bytes apart in each argument. */
typedef void (*asn_added_fn)(char **args, const int64_t *n, const int64_t *steps,
                             void *data);

typedef struct {
    const char *name;
    asn_added_fn fn;
    void *data; /* handed to fn */
    int num_in, num_out;
    uint8_t dtypes[ASN_ADDED_ARGS]; /* of the inputs, then the outputs */
} asn_added_loop;

/* The opcode of the loop's first output; the same for the same loop again. -1: it has too
 * many inputs or arguments, or there is no room. Copies what it is given. Thread-safe. */
int asn_op_add(const asn_added_loop *loop);

/* The loop of a row, and which of its outputs the row is; NULL: the row is not added. */
const asn_added_loop *asn_op_added(int op, int *output);

#endif
