/* CPU device: grid sampling (see grid_sample.h).
 *
 * Every mode is a product over the axes: an axis has one, two or four elements with
 * weights (nearest; the two neighbours; Keys' kernel with a = -3/4), and a position's
 * taps are all of their combinations. Padding moves positions (bicubic: each element's)
 * into the image by clamping or mirrors; what is outside then counts as zero. This is
 * PyTorch's definition, and so are the derivatives where a position was moved: 0 where it
 * was clamped, a change of sign for each mirror; bicubic ignores the padding there.
 *
 * Taps of a tile of positions are found once and used for all channels. Sampling and the
 * grid's gradient take a tile a task. The image's gradient has a few channels of an image
 * a task, whose positions run in order: results do not depend on the number of threads.
 */
#include "device/cpu/nn/grid_sample.h"

#include <math.h>
#include <string.h>

#include "device/cpu/threads.h"

enum { MOST_TAPS = 16, TILE = 64, GROUP = 16 }; /* taps; positions; channels */

typedef struct {
    const asnd_grid *g;
    asn_dtype t;
    int64_t plane, tiles, groups; /* elements; of one image */
    const void *image, *grid, *grad;
    void *out, *grad_image, *grad_grid;
} grid_job;

#define T       float
#define NAME(f) f##_4
#include "device/cpu/nn/grid_sample.inc"
#define T       double
#define NAME(f) f##_8
#include "device/cpu/nn/grid_sample.inc"

/* Tile `chunk` of all images': the first of its positions, and how many they are. */
static int64_t tile_of(const grid_job *j, int64_t chunk, int64_t *count) {
    int64_t first = chunk % j->tiles * TILE;
    *count = j->g->points - first < TILE ? j->g->points - first : TILE;
    return first;
}

static void sample_chunk(void *ctx, int64_t chunk) {
    const grid_job *j = ctx;
    int64_t n, first = tile_of(j, chunk, &n);
    (j->t == ASN_F32 ? sample_4 : sample_8)(j, chunk / j->tiles, first, n);
}

static void slopes_chunk(void *ctx, int64_t chunk) {
    const grid_job *j = ctx;
    int64_t n, first = tile_of(j, chunk, &n);
    (j->t == ASN_F32 ? slopes_4 : slopes_8)(j, chunk / j->tiles, first, n);
}

static void scatter_chunk(void *ctx, int64_t chunk) {
    const grid_job *j = ctx;
    int64_t first = chunk % j->groups * GROUP, end = first + GROUP;
    if (end > j->g->channels) end = j->g->channels;
    (j->t == ASN_F32 ? scatter_4 : scatter_8)(j, chunk / j->groups, first, end);
}

static grid_job job_of(const asnd_grid *g, asn_dtype t) {
    grid_job j = {.g = g, .t = t, .plane = 1};
    for (int d = 0; d < g->spatial; d++)
        j.plane *= g->size[d];
    j.tiles = (g->points + TILE - 1) / TILE;
    j.groups = (g->channels + GROUP - 1) / GROUP;
    return j;
}

/* Nanoseconds: finding a tap takes 5, using it 1. */
static double work_of(const asnd_grid *g) {
    double taps = g->mode == ASN_GRID_BICUBIC   ? 16
                  : g->mode == ASN_GRID_NEAREST ? 1
                                                : 1 << g->spatial;
    return (double)g->batch * (double)g->points * taps * (5 + (double)g->channels);
}

void asn_grid_sample(const asnd_grid *g, asn_dtype t, const void *image, const void *grid,
                     void *out) {
    grid_job j = job_of(g, t);
    j.image = image;
    j.grid = grid;
    j.out = out;
    asn_pool_run(sample_chunk, &j, g->batch * j.tiles, work_of(g));
}

void asn_grid_gradients(const asnd_grid *g, asn_dtype t, const void *image,
                        const void *grid, const void *grad, void *grad_image,
                        void *grad_grid) {
    grid_job j = job_of(g, t);
    j.image = image;
    j.grid = grid;
    j.grad = grad;
    j.grad_image = grad_image;
    j.grad_grid = grad_grid;
    if (grad_image) asn_pool_run(scatter_chunk, &j, g->batch * j.groups, work_of(g));
    if (grad_grid) asn_pool_run(slopes_chunk, &j, g->batch * j.tiles, 2 * work_of(g));
}
