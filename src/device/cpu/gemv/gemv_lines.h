/* CPU device: a few vectors times a matrix that becomes float32 as it is read.
 *
 * The matrix is lines of elements of any kind: what widens them is the caller's. Lines
 * are inner products' rows, or are summed, each times its element of a vector. Some are
 * widened at a time, into memory that stays in the second cache, and meet all vectors
 * there, so that the matrix's own bytes are all that is read from memory.
 */
#ifndef ASN_DEVICE_CPU_GEMV_GEMV_LINES_H
#define ASN_DEVICE_CPU_GEMV_GEMV_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    ASN_WIDE_FEW = 8,          /* vectors, at most: of more, a product of matrices wins */
    ASN_WIDE_LONGEST = 1 << 16 /* elements of a line of inner products that still stays
                                   in the cache */
};

typedef struct {
    /* Elements [first, first + count) of a line as float32; of inner products a line's
     * all. */
    void (*widen)(const void *matrix, int64_t line, int64_t first, int64_t count,
                  float *to);
    const void *matrix;
    int64_t lines, length;
    bool dots;      /* a result is a line's inner product; else the sum of all lines */
    const float *v; /* vectors, one after the other, of `length` (dots) or `lines` */
    int64_t count;  /* vectors, 1 to ASN_WIDE_FEW */
    char *out;      /* float32; overlaps nothing */
    int64_t out_step, out_row; /* bytes to the next element, to the next vector's */
} asnd_wide_lines;

/* ns: estimate of all of it on one thread. Bits do not depend on the number of threads.
 * lines, length >= 1. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_wide_lines_run(const asnd_wide_lines *l, double ns);

#endif
