/* CPU device, private to convolution: X to Y without patches. */
#ifndef ASN_DEVICE_CPU_NN_CONV_DIRECT_H
#define ASN_DEVICE_CPU_NN_CONV_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/context.h"
#include "device/cpu/nn/conv.h"

/* A picture with its zeros around it, as the loops read it. Positions of the output are
 * counted in rows of `pitch`, of which the first `width` are outputs. All are counts of
 * elements. */
typedef struct {
    int64_t terms; /* of a sum: channels times taps, as a filter has them */
    /* Sums are over blocks of so many terms, the last one shorter: term i of a block
     * reads, at position q, element q + offsets[i], and those of the next block `step`
     * elements on. */
    int64_t block, step;
    const int64_t *offsets;
    int64_t ahead; /* of what is read: worth a prefetch */
    int64_t pitch, width;
    int64_t y_row, y_plane; /* in Y: from a row, from a filter to the next */
} asnd_conv_flat;

enum {
    ASN_CONV_SLACK = 64, /* bytes */
    ASN_CONV_VECS = 4    /* vectors of positions of a lone filter, whose sums would else
                            wait for each other; of several fewer fit the registers */
};

/* What one instruction set has for a dtype. */
typedef struct asnd_conv_loops {
    int most; /* filters of a strip; it has half as many at least */
    /* Positions [first, end) of a strip of filters: y = w * x + bias (or NULL). x is read
     * up to ASN_CONV_SLACK bytes beyond what `end` needs; lanes that count for nothing
     * may compute with anything there. w: filters of `terms` elements. */
    void (*strip)(const asnd_conv_flat *f, int filters, int64_t first, int64_t end,
                  const void *x, const void *w, const void *bias, void *y);
    /* to[i] = line[start + i * stride], zero where that is not in [0, end). A
     * stride of 1 or 2. */
    void (*row)(const void *line, int64_t start, int64_t stride, int64_t end, int64_t n,
                void *to);
} asnd_conv_loops;

extern const asnd_conv_loops asn_conv_f32_avx2, asn_conv_f64_avx2;
extern const asnd_conv_loops asn_conv_f32_avx512, asn_conv_f64_avx512;

/* asn_conv_to_y where it is faster than the patches and products of conv.c, whose result
 * is the same within rounding; *done says whether it was. A block's terms are added in
 * their order, each rounded once with its product, then the blocks, then the bias: bits
 * depend neither on the number of threads nor on what lies beside. Windows, channels and
 * filters are not 0. With AVX2 and AVX-512. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_conv_direct(const asnd_conv *g, asn_dtype t,
                                            const void *x, const void *w,
                                            const void *bias, void *y, bool *done);

#endif
