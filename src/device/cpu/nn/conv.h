/* CPU device: convolution in its three directions, over plain images.
 *
 * X is the side that windows slide over, (n, groups * cx, x[0], x[1], x[2]); Y has one
 * position per window, (n, groups * cy, y[0], y[1], y[2]); the weight is (groups * cy,
 * cx, k[0], k[1], k[2]). Everything is contiguous, of float32 or float64, or, between X
 * and Y, of int64. A convolution goes from X to Y; a transposed one, and a convolution's
 * gradient, from Y to X.
 *
 * A band of window positions is laid out as a matrix of patches (im2col), small enough
 * for the cache, and multiplied with the weight by our own gemm; windows of one element
 * need no patches, and one channel a group is summed directly. Bands do not depend on the
 * number of threads, and neither does a result.
 */
#ifndef ASN_DEVICE_CPU_NN_CONV_H
#define ASN_DEVICE_CPU_NN_CONV_H

#include "device/cpu/nd.h"

/* x, y, k: extents of one channel of X, of Y, of the window; dimensions that an image
 * lacks have extent 1. */
typedef struct {
    int64_t n, groups, cx, cy;                                /* channels of one group */
    int64_t x[3], y[3], k[3], stride[3], pad[3], dilation[3]; /* pad: before */
} asnd_conv;

/* Elements of one channel of X, of Y, of one window. The product of three extents. */
int64_t asn_conv_extent(const int64_t extents[3]);

/* y = conv(x) + bias; bias may be NULL. */
ASN_CHECK_RESULT asn_status asn_conv_to_y(const asnd_conv *g, asn_dtype t, const void *x,
                                          const void *w, const void *bias, void *y);
/* The same of bfloat16 x and w as they lie, with a bias and y of float32, by the
 * processor's dot products: it must equal asn_conv_to_y of x and w as float32, but for
 * the order of sums and for subnormals, which count as 0. Only where
 * asn_conv_takes_halves says that there are such instructions, and enough for them to do.
 */
bool asn_conv_takes_halves(const asnd_conv *g);
ASN_CHECK_RESULT asn_status asn_conv_of_halves(const asnd_conv *g, const void *x,
                                               const void *w, const void *bias, void *y);
/* x = the transposed convolution of y (x is overwritten) + bias. */
ASN_CHECK_RESULT asn_status asn_conv_to_x(const asnd_conv *g, asn_dtype t, const void *y,
                                          const void *w, const void *bias, void *x);
/* w = the sum over images and windows of y times x. */
ASN_CHECK_RESULT asn_status asn_conv_to_w(const asnd_conv *g, asn_dtype t, const void *x,
                                          const void *y, void *w);

/* Patches of the windows [from, from + count) of one image and `channels` channels: row
 * (c, kd, kh, kw), `count` elements of the size apart; zeros outside. */
void asn_patches(const asnd_conv *g, int itemsize, int64_t channels, const void *x,
                 int64_t from, int64_t count, void *rows);
/* The transpose: adds such rows of g->cx channels, of float32 or float64, to the image
 * x. */
void asn_unpatch(const asnd_conv *g, int itemsize, const void *rows, int64_t from,
                 int64_t count, void *x);

#endif
