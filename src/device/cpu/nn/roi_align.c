/* CPU device: RoIAlign (see roi_align.h; He et al., "Mask R-CNN", 2017; conventions of
 * torchvision's roi_align, whose `aligned` is mode 3).
 *
 * A sample's weights are a product over the axes, and so are their sums over a bin: each
 * axis has a row of weights per bin, zero outside a range of elements, and a bin is the
 * product of two rows with the image. Regions run one after the other with their channels
 * shared among the threads, so that gradients are added in one order.
 */
#include "device/cpu/nn/roi_align.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/threads.h"

/* One region. w: rows of weights, pooled by size; low, high: their ranges. */
typedef struct {
    const asnd_rois *g;
    asn_dtype t;
    double *w[2];
    int64_t *low[2], *high[2];
    const char *from;
    char *to;
    int64_t from_step, to_step; /* bytes of a channel */
    bool back;
} roi_job;

#define T       float
#define NAME(f) f##_4
#include "device/cpu/nn/roi_align.inc"
#define T       double
#define NAME(f) f##_8
#include "device/cpu/nn/roi_align.inc"

/* Number k of region i. */
static double number(asn_dtype t, const void *rois, int64_t i, int k) {
    return t == ASN_F32 ? (double)((const float *)rois)[5 * i + k]
                        : ((const double *)rois)[5 * i + k];
}

bool asn_rois_fit(const asnd_rois *g, asn_dtype t, const void *rois) {
    for (int64_t i = 0; i < g->count; i++) {
        double image = number(t, rois, i, 0);
        if (!(image >= 0 && image < (double)g->images)) return false;
        for (int k = 1; k < 5; k++)
            if (!isfinite(number(t, rois, i, k))) return false;
    }
    return true;
}

/* Adds a sample at `at` to a row of weights and its range. */
static void add_sample(double at, double share, int64_t size, double *w, int64_t *low,
                       int64_t *high) {
    if (!(at >= -1 && at <= (double)size)) return;
    if (at < 0) at = 0;
    int64_t i = at < (double)(size - 1) ? (int64_t)at : size - 1;
    double f = i < size - 1 ? at - (double)i : 0;
    w[i] += share * (1 - f);
    if (f > 0) w[i + 1] += share * f;
    if (i < *low) *low = i;
    if (i + (f > 0) >= *high) *high = i + (f > 0) + 1;
}

/* The rows of axis d (0: y) for the region's ends along it. */
static void rows_of(const roi_job *j, int d, double from, double to) {
    const asnd_rois *g = j->g;
    double half = g->mode == 3 ? 0.5 : 0;
    double start = from * g->scale - half;
    double length = (to + (g->mode == 1 ? 1 : 0)) * g->scale - half - start;
    if (g->mode == 0 && length < 1) length = 1;
    double bin = length / (double)g->pooled[d];
    /* Samples that nobody could wait for are cut. */
    double wanted = g->samples > 0 ? (double)g->samples : ceil(bin);
    int64_t count = wanted < 1 ? 0 : wanted < 1e6 ? (int64_t)wanted : 1000000;
    memset(j->w[d], 0, (size_t)(g->pooled[d] * g->size[d]) * sizeof *j->w[d]);
    for (int64_t p = 0; p < g->pooled[d]; p++) {
        j->low[d][p] = g->size[d];
        j->high[d][p] = 0;
        for (int64_t s = 0; s < count; s++)
            add_sample(start + (double)p * bin + ((double)s + 0.5) * bin / (double)count,
                       1 / (double)count, g->size[d], j->w[d] + p * g->size[d],
                       &j->low[d][p], &j->high[d][p]);
    }
}

/* One channel of the region, in the direction of the job. */
static void channel_chunk(void *ctx, int64_t c) {
    const roi_job *j = ctx;
    const void *from = j->from + c * j->from_step;
    void *to = j->to + c * j->to_step;
    if (j->back && j->t == ASN_F32) {
        scatter_4(j, from, to);
    } else if (j->back) {
        scatter_8(j, from, to);
    } else if (j->t == ASN_F32) {
        gather_4(j, from, to);
    } else {
        gather_8(j, from, to);
    }
}

/* The region's multiplications for each channel. */
static double work_of(const roi_job *j) {
    double sum[2] = {0, 0};
    for (int d = 0; d < 2; d++)
        for (int64_t p = 0; p < j->g->pooled[d]; p++)
            if (j->high[d][p] > j->low[d][p])
                sum[d] += (double)(j->high[d][p] - j->low[d][p]);
    return sum[0] * sum[1];
}

/* All regions; images and bins are read or written by the direction. */
static asn_status run(const asnd_rois *g, asn_dtype t, const void *rois, char *images,
                      char *bins, bool back) {
    roi_job j = {.g = g, .t = t, .back = back};
    int64_t item = asn_itemsize(t), image = g->size[0] * g->size[1] * item;
    int64_t pooled = g->pooled[0] * g->pooled[1] * item;
    size_t bytes = 0;
    for (int d = 0; d < 2; d++)
        bytes += (size_t)g->pooled[d] *
                 ((size_t)g->size[d] * sizeof(double) + 2 * sizeof(int64_t));
    char *block = asn_malloc(bytes), *at = block;
    if (block == NULL) return ASN_ERR_MEMORY;
    for (int d = 0; d < 2; d++) {
        j.w[d] = (double *)(void *)at;
        j.low[d] = (int64_t *)(void *)(j.w[d] + g->pooled[d] * g->size[d]);
        j.high[d] = j.low[d] + g->pooled[d];
        at = (char *)(j.high[d] + g->pooled[d]);
    }
    /* In order, so that sums do not depend on the threads. */
    for (int64_t i = 0; i < g->count; i++) {
        rows_of(&j, 0, number(t, rois, i, 2), number(t, rois, i, 4));
        rows_of(&j, 1, number(t, rois, i, 1), number(t, rois, i, 3));
        int64_t index = (int64_t)number(t, rois, i, 0);
        char *x = images + index * g->channels * image,
             *y = bins + i * g->channels * pooled;
        j.from = back ? y : x;
        j.to = back ? x : y;
        j.from_step = back ? pooled : image;
        j.to_step = back ? image : pooled;
        asn_pool_run(channel_chunk, &j, g->channels, (double)g->channels * work_of(&j));
    }
    asn_free(block);
    return ASN_OK;
}

asn_status asn_roi_align(const asnd_rois *g, asn_dtype t, const void *x, const void *rois,
                         void *bins) {
    return run(g, t, rois, (char *)x, bins, false);
}

asn_status asn_roi_align_back(const asnd_rois *g, asn_dtype t, const void *bins,
                              const void *rois, void *x) {
    int64_t all = g->images * g->channels * g->size[0] * g->size[1];
    memset(x, 0, (size_t)(all * asn_itemsize(t)));
    return run(g, t, rois, x, (char *)bins, true);
}
