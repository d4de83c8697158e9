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
    ASN_QUANT_FEW = 8     /* vectors, at most: of more, widening each line once wins */
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

/* out[k][i] = the sum over p of line i's element times v[k][p], in float32; ns: estimate
 * of all of it on one thread. *done false: this is not for these loops (more vectors,
 * blocks of other lengths, a processor without them), and nothing was written. Must equal
 * the way by widened lines (gemv_lines.h), but for the order of sums and one rounding in
 * place of two. Bits do not depend on the number of threads. */
void asn_gemv_quant(const asnd_quant *q, double ns, bool *done);

/* Field of the context: the sums of lines [first, end) with one vector. */
typedef void (*asnd_quant_dots_fn)(const asnd_quant *q, int64_t first, int64_t end,
                                   int64_t vector);
void asn_quant_dots_avx2(const asnd_quant *q, int64_t first, int64_t end, int64_t vector);

#endif
