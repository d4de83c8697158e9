/* L2 runtime: loops of the host's own (custom operators) over operands of any strides, on
 * several threads.
 *
 * A loop computes n elements that lie one step apart in each operand, NumPy's convention
 * for ufuncs. An output may stand still (step 0) along axes: the loop reduces into it,
 * and no two threads then meet in one element of it.
 */
#ifndef ASN_RUNTIME_LOOPS_H
#define ASN_RUNTIME_LOOPS_H

#include <stdint.h>

#include "base/status.h"

enum { ASN_LOOP_ARGS = 32, ASN_LOOP_DIMS = 65, ASN_LOOP_THREADS = 256 };

typedef void (*asn_loop)(char **args, const int64_t *n, const int64_t *steps, void *data);

typedef struct {
    asn_loop loop;
    void *data; /* passed on to the loop */
    int32_t num_args, num_inputs, num_dims;
    /* The first axes go in order, one step after the other on one thread: an output at
     * one step may be an input of the next. */
    int32_t num_ordered;
    int64_t shape[ASN_LOOP_DIMS];
    char *args[ASN_LOOP_ARGS]; /* of element (0, ..., 0) */
    int64_t strides[ASN_LOOP_ARGS][ASN_LOOP_DIMS];
} asn_loop_call;

/* Axes that the operands step through as through one become one, the axis with the
 * smallest steps the innermost; then parts of at least min_elements on up to `threads`
 * threads, this one among them. MemoryError. */
ASN_CHECK_RESULT asn_status asn_loops_run(asn_loop_call *call, int threads,
                                          int64_t min_elements);

/* target[offsets[i]] = loop(target[offsets[i]], values[i]), i = 0, 1, ..., n - 1, one
 * after the other; offsets in bytes, values `step` bytes apart. values NULL: the loop has
 * one input. */
void asn_loops_update(asn_loop loop, void *data, int64_t n, char *target,
                      const int64_t *offsets, char *values, int64_t step);

#endif
