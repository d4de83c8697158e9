/* CPU device: regions of images averaged into bins (RoIAlign), and the gradient. */
#ifndef ASN_DEVICE_CPU_NN_ROI_ALIGN_H
#define ASN_DEVICE_CPU_NN_ROI_ALIGN_H

#include "device/cpu/nd.h"

/* Images (images, channels, size[0], size[1]); rois (count, 5): an image's index, x0, y0,
 * x1, y1, times `scale` in elements; bins (count, channels, pooled[0], pooled[1]). A bin
 * is the mean of samples x samples points (0: as many as the region has elements for each
 * bin), bilinear, the edge's value up to an element outside, 0 beyond. mode 0: a region
 * has an extent of 1 at least; 1: its end is an element later; 3: half an element is
 * taken off its ends (aligned). */
typedef struct {
    int64_t images, channels, size[2], count, pooled[2], samples;
    double scale;
    int mode;
} asnd_rois;

/* false: an index is none of an image. */
bool asn_rois_fit(const asnd_rois *g, asn_dtype t, const void *rois);
ASN_CHECK_RESULT asn_status asn_roi_align(const asnd_rois *g, asn_dtype t, const void *x,
                                          const void *rois, void *bins);
/* x, the images' gradient, is overwritten. */
ASN_CHECK_RESULT asn_status asn_roi_align_back(const asnd_rois *g, asn_dtype t,
                                               const void *bins, const void *rois,
                                               void *x);

#endif
