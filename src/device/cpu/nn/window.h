/* CPU device: pooling, windows over the last three dimensions of plain arrays.
 *
 * Arrays are contiguous: `planes` images of in[0] x in[1] x in[2] elements, and of out[0]
 * x out[1] x out[2] windows. Window o of dimension d takes the elements start[d][o],
 * start + step, ... below stop[d][o], all inside the image; share[d][o] is what the
 * dimension adds to the count that a mean divides by. So windows of one size, with
 * padding or dilation, and adaptive ones are the same to the loops. A plane is summed in
 * order by one thread.
 */
#ifndef ASN_DEVICE_CPU_NN_WINDOW_H
#define ASN_DEVICE_CPU_NN_WINDOW_H

#include "device/cpu/nd.h"

typedef struct {
    int64_t planes, in[3], out[3], step[3];
    int64_t *start[3], *stop[3], *share[3]; /* borrows */
    int64_t divisor;                        /* of means, when not 0 */
} asnd_windows;

/* float32, float64, int64: the largest element, a NaN before all, and where it lies in
 * its plane (index may be NULL). An empty window gives the lowest value at its start. */
void asn_window_max(const asnd_windows *w, asn_dtype t, const void *x, void *y,
                    int64_t *index);
/* float32, float64, int64, whose quotients are cut. */
void asn_window_mean(const asnd_windows *w, asn_dtype t, const void *x, void *y);
/* The gradient in float32 or float64: x is overwritten. */
void asn_window_spread(const asnd_windows *w, asn_dtype t, const void *y, void *x);

/* Positions: `few` elements of each plane against an image of `many`. A position outside
 * [0, many) gives ASN_ERR_INDEX. */
/* x = 0, then x[index] += y (float32, float64). */
ASN_CHECK_RESULT asn_status asn_window_add(int64_t planes, int64_t few, int64_t many,
                                           asn_dtype t, const void *y,
                                           const int64_t *index, void *x);
/* x = 0, then x[index] = y in order; y = x[index]. Any dtype. */
ASN_CHECK_RESULT asn_status asn_window_put(int64_t planes, int64_t few, int64_t many,
                                           asn_dtype t, const void *y,
                                           const int64_t *index, void *x);
ASN_CHECK_RESULT asn_status asn_window_take(int64_t planes, int64_t few, int64_t many,
                                            asn_dtype t, const void *x,
                                            const int64_t *index, void *y);

#endif
