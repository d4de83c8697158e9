/* CPU device: a matrix of int8 or int4 lines with scales times a few vectors, read as it
 * lies.
 */
#ifndef ASN_DEVICE_CPU_GEMV_GEMV_QUANT_H
#define ASN_DEVICE_CPU_GEMV_GEMV_QUANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    ASN_QUANT_BLOCK = 32, /* elements that have one scale, at least */
    ASN_QUANT_PART = 256, /* elements of a vector that share an exponent, at most */
    ASN_QUANT_FEW = 32    /* vectors, at most */
};

/* Lines of int8, or of int4: two to a byte, the first in its low bits. Element p of line
 * i is worth (x[i][p] + offset[i, g]) * scale[i, g], g = p / group, whose parameters lie
 * at data[i * line + g * step]. group and length are multiples of ASN_QUANT_BLOCK. */
typedef struct {
    const float *data; /* NULL: no offsets */
    int64_t line, step;
} asnd_quant_parameter;

typedef struct asnd_quant {
    bool nibbles;
    const uint8_t *x;
    int64_t lines, length, line; /* bytes from line to line */
    int64_t group;
    asnd_quant_parameter scale, offset;
    const float *v; /* `count` vectors of `length`, one after the other */
    int64_t count;
    float *out; /* `lines` results of each vector */
    int64_t out_row;
} asnd_quant;

/* out[k][i] = the sum over p of line i's element times v[k][p]; ns: estimate of all of it
 * on one thread. *done false: this is not for these loops (more vectors, blocks of other
 * lengths, values that no fixed point holds, a processor without them), and nothing was
 * written. Must equal the way by widened lines (gemv_lines.h), but for the order of sums
 * and for each element of v, which may be off by 2^-12 of the mean size of the
 * ASN_QUANT_PART elements around it (of one of that size, what rounding to float16
 * takes). A vector's bits depend neither on the others nor on the number of threads.
 * ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_gemv_quant(const asnd_quant *q, double ns, bool *done);

/* Some elements of all vectors in fixed point: a vector's element p from `at` on, one of
 * `length`, is values[p] * scale; `total` is their sum. Where that is too coarse, a
 * second part of the same elements holds what the first leaves. */
typedef struct asnd_quant_part {
    int64_t at, length, group;
    const int16_t *values; /* ASN_QUANT_PART of each vector; in blocks whose elements are
                              nibbles, the even ones before the odd ones */
    const float *scale, *total;
} asnd_quant_part;

typedef struct asnd_quant_parts {
    int64_t count;
    asnd_quant_part *parts;
    int16_t *values; /* of each part in turn, for the next */
    float *scales;   /* and its scales and totals */
} asnd_quant_parts;

/* Fields of the context: the vectors' parts, in memory for twice as many as there are
 * pieces of ASN_QUANT_PART elements in groups (false: a value that fixed point does not
 * hold), and the sums of lines [first, end) with all vectors. */
bool asn_quant_parts_avx2(const asnd_quant *q, asnd_quant_parts *to);
void asn_quant_dots_avx2(const asnd_quant *q, const asnd_quant_parts *parts,
                         int64_t first, int64_t end);

#endif
