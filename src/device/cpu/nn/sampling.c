/* CPU device: sampling at positions (see sampling.h).
 *
 * The arithmetic is in sampling.inc, compiled for float and double; here is how it is
 * shared among threads. Sampling takes a query and head at a time, which write apart.
 * Gradients add to the maps wherever queries sample, so a batch's head is one task and
 * its queries run in order: results do not depend on the number of threads.
 */
#include "device/cpu/nn/sampling.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "device/cpu/threads.h"

typedef struct {
    const asnd_deform *g;
    asn_dtype t;
    const void *value, *location, *weight, *grad;
    void *out, *grad_value, *grad_location, *grad_weight;
} deform_job;

typedef struct {
    asn_dtype t;
    int spatial;
    bool align;
    const int64_t *size;
    const void *theta;
    void *grid;
} grid_job;

/* Element i of n between -1 and 1. */
static double place(int64_t i, int64_t n, bool align) {
    if (align) return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
    return n > 1 ? (double)(2 * i + 1) / (double)n - 1 : 0;
}

#define T       float
#define NAME(f) f##_4
#include "device/cpu/nn/sampling.inc"
#define T       double
#define NAME(f) f##_8
#include "device/cpu/nn/sampling.inc"

/* ---- deformable attention */

/* Checked before any access: sizes and starts are data. The division keeps high * wide
 * from overflowing. */
bool asn_deform_fits(const asnd_deform *g) {
    for (int64_t l = 0; l < g->levels; l++) {
        int64_t high = g->sizes[2 * l], wide = g->sizes[2 * l + 1], start = g->starts[l];
        bool fits = high >= 0 && wide >= 0 && start >= 0 && start <= g->keys;
        if (!fits || (wide > 0 && high > (g->keys - start) / wide)) return false;
    }
    return true;
}

/* Nanoseconds: bilinear weights are 20, each channel 2. */
static double samples_of(const asnd_deform *g) {
    double all = (double)(g->batch * g->queries * g->heads) * (double)g->levels;
    return all * (double)g->points * (20 + 2 * (double)g->channels);
}

/* Query and head i: batch, query, head in row-major order. */
static void sample_chunk(void *ctx, int64_t i) {
    const deform_job *j = ctx;
    if (j->t == ASN_F32) {
        sample_query_4(j, i);
    } else {
        sample_query_8(j, i);
    }
}

void asn_deform_sample(const asnd_deform *g, asn_dtype t, const void *value,
                       const void *location, const void *weight, void *output) {
    deform_job j = {.g = g, .t = t, .value = value, .location = location};
    j.weight = weight;
    j.out = output;
    asn_pool_run(sample_chunk, &j, g->batch * g->queries * g->heads, samples_of(g));
}

static void gradient_chunk(void *ctx, int64_t i) {
    const deform_job *j = ctx;
    if (j->t == ASN_F32) {
        gradient_head_4(j, i / j->g->heads, i % j->g->heads);
    } else {
        gradient_head_8(j, i / j->g->heads, i % j->g->heads);
    }
}

/* One task a batch's head; three times a sample's work. */
void asn_deform_gradients(const asnd_deform *g, asn_dtype t, const void *value,
                          const void *location, const void *weight, const void *grad,
                          void *grad_value, void *grad_location, void *grad_weight) {
    deform_job j = {g,    t,    value,      location,      weight,
                    grad, NULL, grad_value, grad_location, grad_weight};
    asn_pool_run(gradient_chunk, &j, g->batch * g->heads, 3 * samples_of(g));
}

/* ---- nearest points */

typedef struct {
    const asnd_chamfer *g;
    asn_dtype t;
    _Atomic bool outside;
} chamfer_job;

/* Batch b; an index outside ends it and is told by the whole. */
static void chamfer_chunk(void *ctx, int64_t b) {
    chamfer_job *j = ctx;
    bool inside = j->t == ASN_F32 ? chamfer_4(j->g, b) : chamfer_8(j->g, b);
    if (!inside) atomic_store(&j->outside, true);
}

bool asn_chamfer_gradients(const asnd_chamfer *g, asn_dtype t) {
    chamfer_job j = {.g = g, .t = t};
    double points = (double)(g->batch * (g->n[0] + g->n[1]));
    asn_pool_run(chamfer_chunk, &j, g->batch, points * (5 + (double)g->width));
    return !atomic_load(&j.outside);
}

/* ---- affine grids */

static void grid_chunk(void *ctx, int64_t row) {
    const grid_job *j = ctx;
    if (j->t == ASN_F32) {
        grid_row_4(j, row);
    } else {
        grid_row_8(j, row);
    }
}

/* Rows of the grid are tasks; a position is ten ns. */
void asn_affine_grid(asn_dtype t, int64_t n, int spatial, const int64_t *size,
                     bool align_corners, const void *theta, void *grid) {
    grid_job j = {t, spatial, align_corners, size, theta, grid};
    int64_t rows = n;
    for (int d = 0; d < spatial - 1; d++)
        rows *= size[d];
    asn_pool_run(grid_chunk, &j, rows, (double)rows * (double)size[spatial - 1] * 10);
}
