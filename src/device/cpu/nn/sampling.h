/* CPU device: sampling at positions, over plain arrays of float32 or float64. */
#ifndef ASN_DEVICE_CPU_NN_SAMPLING_H
#define ASN_DEVICE_CPU_NN_SAMPLING_H

#include "device/cpu/nd.h"

/* Deformable attention over feature maps of several sizes: value (batch, keys, heads,
 * channels), sizes (levels, 2) of height and width, starts (levels) of each map among the
 * keys, location (batch, queries, heads, levels, points, 2) of x and y in [0, 1], weight
 * (batch, queries, heads, levels, points), output (batch, queries, heads * channels).
 * Values between elements are bilinear, zero outside a map. */
typedef struct {
    int64_t batch, keys, heads, channels, queries, levels, points;
    const int64_t *sizes, *starts;
} asnd_deform;

/* Every map lies among the keys. */
bool asn_deform_fits(const asnd_deform *g);
void asn_deform_sample(const asnd_deform *g, asn_dtype t, const void *value,
                       const void *location, const void *weight, void *output);
/* A head's queries are summed in order. grad_value, grad_location and grad_weight have
 * the shapes of value, location and weight and are overwritten; grad that of output. */
void asn_deform_gradients(const asnd_deform *g, asn_dtype t, const void *value,
                          const void *location, const void *weight, const void *grad,
                          void *grad_value, void *grad_location, void *grad_weight);

/* Two sets of points (batch, n, width) and (batch, m, width), for each point the nearest
 * of the other set (batch, n), and the gradient of the squared distance to it: the
 * gradients of the points. false: an index is out of range. */
typedef struct {
    int64_t batch, n[2], width;
    const void *points[2], *grad[2];
    const int64_t *nearest[2];
    void *grad_points[2];
} asnd_chamfer;
bool asn_chamfer_gradients(const asnd_chamfer *g, asn_dtype t);

/* grid (n, size..., spatial) of theta (n, spatial, spatial + 1) at points of [-1, 1],
 * whose ends are the corners' centres or (else) their outer edges. */
void asn_affine_grid(asn_dtype t, int64_t n, int spatial, const int64_t *size,
                     bool align_corners, const void *theta, void *grid);

#endif
