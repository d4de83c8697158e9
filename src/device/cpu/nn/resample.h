/* CPU device: images resampled along their axes, and the gradient of that.
 *
 * Every mode is a sparse matrix per axis: a row of taps (index, weight) for each element
 * of the result. Axes are independent, so an image is multiplied by one matrix after the
 * other; a gradient takes the transposed matrices.
 */
#ifndef ASN_DEVICE_CPU_NN_RESAMPLE_H
#define ASN_DEVICE_CPU_NN_RESAMPLE_H

#include "device/cpu/nd.h"

/* PyTorch's modes of interpolation; the last two widen their windows when they shrink. */
typedef enum {
    ASN_RESAMPLE_NEAREST,
    ASN_RESAMPLE_NEAREST_EXACT,
    ASN_RESAMPLE_LINEAR,
    ASN_RESAMPLE_CUBIC,
    ASN_RESAMPLE_LINEAR_AA,
    ASN_RESAMPLE_CUBIC_AA,
} asnd_resample_mode;

/* One axis. in, out: extents of the image and of the resampled image, both at least 1.
 * scale: the factor that the caller wants positions computed by, out / in where it is not
 * above 0. align: the ends' centres stay at the ends (nearest modes have no such). */
typedef struct {
    int64_t in, out;
    double scale;
    asnd_resample_mode mode;
    bool align;
} asnd_resample_axis;

/* y = x resampled: `planes` images of axes[0].in x ... x axes[n - 1].in elements,
 * row-major, float32 or float64, n up to 3. back: x has the extents `out` and y, the
 * gradient, those `in`. Positions of nearest modes are computed in t, as PyTorch does. */
ASN_CHECK_RESULT asn_status asn_resample(asn_dtype t, int64_t planes, int n,
                                         const asnd_resample_axis *axes, bool back,
                                         const void *x, void *y);

#endif
