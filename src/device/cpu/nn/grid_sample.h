/* CPU device: images sampled at a grid of positions, and the gradients (PyTorch's
 * grid_sample), over plain arrays of float32 or float64.
 */
#ifndef ASN_DEVICE_CPU_NN_GRID_SAMPLE_H
#define ASN_DEVICE_CPU_NN_GRID_SAMPLE_H

#include "device/cpu/nd.h"

/* PyTorch's numbers of modes. */
enum { ASN_GRID_BILINEAR, ASN_GRID_NEAREST, ASN_GRID_BICUBIC };
enum { ASN_GRID_ZEROS, ASN_GRID_BORDER, ASN_GRID_REFLECTION };

/* image (batch, channels, size[0], ...) of `spatial` (2 or 3) extents, all at least 1;
 * grid (batch, points, spatial), the last axis' coordinate first, [-1, 1] being the whole
 * image: the corners' centres (align) or their outer edges. */
typedef struct {
    int64_t batch, channels, points, size[3];
    int spatial, mode, padding;
    bool align, indices; /* indices: coordinates count elements instead, from 0 */
} asnd_grid;

/* out (batch, channels, points). */
void asn_grid_sample(const asnd_grid *g, asn_dtype t, const void *image, const void *grid,
                     void *out);
/* Gradients of image and grid from that of out; either may be NULL. They are overwritten.
 */
void asn_grid_gradients(const asnd_grid *g, asn_dtype t, const void *image,
                        const void *grid, const void *grad, void *grad_image,
                        void *grad_grid);

#endif
