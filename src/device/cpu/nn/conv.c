/* CPU device: convolution (see conv.h).
 *
 * Three directions over one geometry, each by products of matrices: patches of X (im2col)
 * times the weight gives Y, the weight's transpose times Y gives patches that are added
 * back to X, and Y times the transpose of patches adds up to the weight's gradient. The
 * patches of a whole image would be k times its size, so they are made a band of window
 * positions at a time, BAND_BYTES at most, and used while they are in the cache.
 *
 * Tasks (an image's band, an image, a group) are handed to strands, at most STRANDS of
 * them, each with one buffer for its bands. What a task computes does not depend on which
 * strand runs it. From X to Y those that conv_direct.h takes skip patches. So do
 * depthwise convolutions (one channel a group, few filters), whose products would be one
 * row high: a tap at a time. With dot products of bfloat16 patches and the weight may be
 * of it, given many filters.
 */
#include "device/cpu/nn/conv.h"

#include <string.h>

#include "base/integers.h"
#include "base/alloc.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_dot.h"
#include "device/cpu/nn/conv_direct.h"
#include "device/cpu/threads.h"

enum {
    STRANDS = 32,
    BAND_BYTES = 1 << 20,
    /* From which on products repay patches of bfloat16, and their packing: 28 x 28
     * windows of 64 x 3 x 3 terms take 0.77 and 0.65 of float32's instructions with 128
     * and 256 filters, of 64 terms 1.25. */
    HALVES_FILTERS = 128,
    HALVES_TERMS = 256
};

int64_t asn_conv_extent(const int64_t extents[3]) {
    return extents[0] * extents[1] * extents[2];
}

/* A run of windows along the last dimension: elements [first, last) lie inside the image
 * at base + i * stride, the others outside. */
typedef struct {
    int64_t base, first, last, count;
} conv_run;

/* Windows from position `from` on, tap k of each; at most to the end of their row. */
static conv_run run_of(const asnd_conv *g, const int64_t k[3], int64_t from,
                       int64_t count) {
    conv_run r = {0, 0, 0, 0};
    int64_t w = from % g->y[2], rest = from / g->y[2];
    int64_t at[2] = {rest / g->y[1], rest % g->y[1]};
    r.count = asn_least(count, g->y[2] - w);
    for (int d = 0; d < 2; d++) {
        int64_t i = at[d] * g->stride[d] - g->pad[d] + k[d] * g->dilation[d];
        if (i < 0 || i >= g->x[d]) return r;
        r.base = r.base * g->x[d] + i;
    }
    int64_t s = g->stride[2];
    int64_t start = w * s - g->pad[2] + k[2] * g->dilation[2], end = g->x[2];
    r.base = r.base * g->x[2] + start;
    r.first = start < 0 ? asn_least((-start + s - 1) / s, r.count) : 0;
    r.last = start < end ? asn_least((end - start + s - 1) / s, r.count) : 0;
    if (r.last < r.first) r.last = r.first;
    return r;
}

/* Tap i as coordinates in the window. */
static void window_of(const asnd_conv *g, int64_t i, int64_t k[3]) {
    k[2] = i % g->k[2];
    k[1] = i / g->k[2] % g->k[1];
    k[0] = i / g->k[2] / g->k[1];
}

/* The typed loops, by element size; those of 4 and 8 bytes sum as float32 and float64. */
#define EACH_NUMBER "device/cpu/nn/conv.inc"
#include "device/cpu/each_number.inc"

/* ---- patches */

typedef struct {
    const asnd_conv *g;
    const char *x;
    char *to; /* what unpatching adds to */
    char *rows;
    int64_t from, count;
    int itemsize;
} patch_job;

/* One row: a channel and a tap. The typed loops differ in the element's size alone. */
static void patch_row(void *ctx, int64_t row) {
    const patch_job *j = ctx;
    const asnd_conv *g = j->g;
    int64_t taps = asn_conv_extent(g->k), k[3];
    const void *x = j->x + row / taps * asn_conv_extent(g->x) * j->itemsize;
    void *to = j->rows + row * j->count * j->itemsize;
    window_of(g, row % taps, k);
    switch (j->itemsize) {
    case 1: patch_1(g, x, k, j->from, j->count, to); break;
    case 2: patch_2(g, x, k, j->from, j->count, to); break;
    case 4: patch_4(g, x, k, j->from, j->count, to); break;
    case 8: patch_8(g, x, k, j->from, j->count, to); break;
    default: patch_16(g, x, k, j->from, j->count, to); break;
    }
}

void asn_patches(const asnd_conv *g, int itemsize, int64_t channels, const void *x,
                 int64_t from, int64_t count, void *rows) {
    patch_job j = {g, x, NULL, rows, from, count, itemsize};
    int64_t n = channels * asn_conv_extent(g->k);
    asn_pool_run(patch_row, &j, n, 0.5 * (double)n * (double)count);
}

/* All rows of a channel: channels meet nowhere, so threads add to different memory. */
static void unpatch_channel(void *ctx, int64_t c) {
    const patch_job *j = ctx;
    const asnd_conv *g = j->g;
    int64_t taps = asn_conv_extent(g->k), k[3];
    char *to = j->to + c * asn_conv_extent(g->x) * j->itemsize;
    for (int64_t i = 0; i < taps; i++) {
        const void *row = j->rows + (c * taps + i) * j->count * j->itemsize;
        window_of(g, i, k);
        if (j->itemsize == 4) {
            unpatch_4(g, (float *)to, k, j->from, j->count, row);
        } else {
            unpatch_8(g, (double *)to, k, j->from, j->count, row);
        }
    }
}

void asn_unpatch(const asnd_conv *g, int itemsize, const void *rows, int64_t from,
                 int64_t count, void *x) {
    patch_job j = {g, NULL, x, (char *)rows, from, count, itemsize};
    double work = (double)(g->cx * asn_conv_extent(g->k)) * (double)count;
    asn_pool_run(unpatch_channel, &j, g->cx, work);
}

/* ---- products: c (m, n) = a (m, k) @ b (k, n) [+ c], leading extents as given */

typedef struct {
    const char *data;
    int64_t row, column; /* strides in elements */
} matrix;

/* By strides alone: transposes and bands of larger matrices are views. a and b are of
 * dtype `from`: t, or bfloat16, whose products asn_conv_takes_halves has asked about. */
static asn_status product(asn_dtype from, asn_dtype t, matrix a, matrix b, matrix c,
                          int64_t m, int64_t k, int64_t n, bool add) {
    const asn_dtype dtypes[3] = {from, from, t};
    int64_t shapes[3][2] = {{m, k}, {k, n}, {m, n}}, strides[3][2];
    const matrix in[3] = {a, b, c};
    asnd_nd v[3];
    for (int i = 0; i < 3; i++) {
        strides[i][0] = in[i].row * asn_itemsize(dtypes[i]);
        strides[i][1] = in[i].column * asn_itemsize(dtypes[i]);
        v[i] =
            (asnd_nd){(char *)(uintptr_t)in[i].data, 2, dtypes[i], shapes[i], strides[i]};
    }
    if (from != t) {
        bool done;
        ASN_TRY(asn_gemm_dot(&v[0], &v[1], &v[2], &done));
        return done ? ASN_OK : ASN_ERR_RUNTIME;
    }
    if (!add) return asn_cpu_matmul(&v[0], &v[1], &v[2]);
    float one = 1;
    double one_wide = 1;
    const void *factor = t == ASN_F64 ? (const void *)&one_wide : &one;
    return asn_cpu_gemm(factor, &v[0], &v[1], factor, &v[2]);
}

/* ---- what the directions share */

typedef struct conv_job conv_job;
/* One task; the buffer has room for a band of patches (NULL: the job is plain). */
typedef asn_status (*conv_task)(conv_job *j, int64_t task, char *buffer);

/* from: the dtype of X and the weight where they are read as bfloat16, else t; item,
 * size: bytes of their elements and of t's; rows: of a matrix of patches (cx times the
 * window); plane_x, plane_y: elements of a channel; band: windows of one, bands: of them
 * a plane; strands: runs of tasks, each with its status. */
struct conv_job {
    const asnd_conv *g;
    asn_dtype from, t;
    const char *x, *y, *w, *bias;
    char *out;
    conv_task task;
    int64_t item, size, rows, plane_x, plane_y, band, bands, tasks, strands;
    bool plain; /* windows of one element each, one after the other: X is its patches */
    bool back;  /* from Y to X */
    asn_status status[STRANDS];
};

/* A band has at least 64 windows, else a multiple of 16 that fits: the product's loops
 * like whole vectors. */
static void job_set(conv_job *j, const asnd_conv *g, asn_dtype from, asn_dtype t) {
    memset(j, 0, sizeof *j);
    j->g = g;
    j->from = from;
    j->t = t;
    j->item = asn_itemsize(from);
    j->size = asn_itemsize(t);
    j->rows = g->cx * asn_conv_extent(g->k);
    j->plane_x = asn_conv_extent(g->x);
    j->plane_y = asn_conv_extent(g->y);
    j->plain = true;
    for (int d = 0; d < 3; d++)
        j->plain = j->plain && g->k[d] == 1 && g->stride[d] == 1 && g->pad[d] == 0 &&
                   g->x[d] == g->y[d];
    int64_t fits = BAND_BYTES / (j->item * (j->rows > 0 ? j->rows : 1)) & ~(int64_t)15;
    j->band = asn_least(fits < 64 ? 64 : fits, j->plane_y);
    j->bands = (j->plane_y + j->band - 1) / j->band;
}

/* Estimated ns on one thread, at 20 GFLOP/s. */
static double job_work(const conv_job *j) {
    const asnd_conv *g = j->g;
    double flops = 2 * (double)(g->n * g->groups * g->cy) * (double)j->rows;
    return flops * (double)j->plane_y / 20;
}

/* A strand's buffer: patches of a band. */
static int64_t band_bytes(const conv_job *j) {
    return j->rows * j->band * j->item;
}

/* A run of tasks, with a buffer of its own. */
static void run_strand(void *ctx, int64_t strand) {
    conv_job *j = ctx;
    char *buffer = j->plain ? NULL : asn_malloc((size_t)band_bytes(j));
    if (!j->plain && buffer == NULL) {
        j->status[strand] = ASN_ERR_MEMORY;
        return;
    }
    int64_t end = (strand + 1) * j->tasks / j->strands;
    for (int64_t i = strand * j->tasks / j->strands; i < end; i++)
        if (j->status[strand] == ASN_OK) j->status[strand] = j->task(j, i, buffer);
    asn_free(buffer);
}

/* Runs the strands, a lone one outside the pool so that its products may use it. */
static asn_status job_run(conv_job *j, conv_task task, int64_t tasks) {
    j->task = task;
    j->tasks = tasks;
    j->strands = asn_least(tasks, STRANDS);
    if (tasks == 1) {
        run_strand(j, 0);
    } else {
        asn_pool_run(run_strand, j, j->strands, job_work(j));
    }
    for (int64_t i = 0; i < j->strands; i++) {
        if (j->status[i] == ASN_ERR_MEMORY)
            return asn_error_set(ASN_ERR_MEMORY, "convolution: no memory for %lld bytes",
                                 (long long)band_bytes(j));
        if (j->status[i] != ASN_OK)
            return asn_error_set(j->status[i], "convolution: a matrix product failed");
    }
    return ASN_OK;
}

/* Adds the bias, or sets it where there is nothing to add to yet. */
static void bias_rows(const conv_job *j, char *out, int64_t channel, int64_t channels,
                      int64_t stride, int64_t count, bool fill) {
    for (int64_t c = 0; c < channels; c++) {
        char *row = out + c * stride * j->size;
        if (j->t == ASN_F32) {
            float b = j->bias ? ((const float *)j->bias)[channel + c] : 0;
            (fill ? fill_4 : shift_4)((float *)row, count, b);
        } else {
            double b = j->bias ? ((const double *)j->bias)[channel + c] : 0;
            (fill ? fill_8 : shift_8)((double *)row, count, b);
        }
    }
}

/* ---- X to Y */

static void job_to_y(conv_job *j, const asnd_conv *g, asn_dtype from, asn_dtype t,
                     const void *x, const void *w, const void *bias, void *y) {
    job_set(j, g, from, t);
    j->x = x;
    j->w = w;
    j->bias = bias;
    j->out = y;
}

/* One band of one image and group. A plain job's patches are the image itself. */
static asn_status band_to_y(conv_job *j, int64_t task, char *buffer) {
    const asnd_conv *g = j->g;
    int64_t image = task / j->bands, from = task % j->bands * j->band;
    int64_t group = image % g->groups, count = asn_least(j->band, j->plane_y - from);
    const char *x = j->x + image * g->cx * j->plane_x * j->item;
    char *y = j->out + (image * g->cy * j->plane_y + from) * j->size;
    matrix patches = {x + from * j->item, j->plane_x, 1};
    if (!j->plain) {
        asn_patches(g, (int)j->item, g->cx, x, from, count, buffer);
        patches = (matrix){buffer, count, 1};
    }
    matrix w = {j->w + group * g->cy * j->rows * j->item, j->rows, 1};
    ASN_TRY(product(j->from, j->t, w, patches, (matrix){y, j->plane_y, 1}, g->cy, j->rows,
                    count, false));
    if (j->bias) bias_rows(j, y, group * g->cy, g->cy, j->plane_y, count, false);
    return ASN_OK;
}

/* A depthwise plane: each tap is one multiply and add over a run of windows. */
static void deep_to_y(void *ctx, int64_t plane) {
    conv_job *j = ctx;
    const asnd_conv *g = j->g;
    int64_t channel = plane % (g->groups * g->cy), taps = j->rows;
    const char *x = j->x + plane / g->cy * j->plane_x * j->size;
    const char *w = j->w + channel * taps * j->size;
    char *y = j->out + plane * j->plane_y * j->size;
    bias_rows(j, y, channel, 1, 0, j->plane_y, true);
    if (j->t == ASN_F32) {
        deep_y_4(g, (const float *)x, (const float *)w, (float *)y);
    } else {
        deep_y_8(g, (const double *)x, (const double *)w, (double *)y);
    }
}

/* ---- integers: in int64, which wraps around; tap by tap, since nothing waits for them
 */

/* A tap at all positions of two planes: y += w x, or x += w y. */
static void integer_tap(const asnd_conv *g, const int64_t k[3], uint64_t w, bool back,
                        uint64_t *x, uint64_t *y) {
    int64_t planes = g->y[0] * g->y[1], at[3];
    for (int64_t line = 0; line < planes; line++, y += g->y[2]) {
        const int64_t from[3] = {line / g->y[1], line % g->y[1], 0};
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            at[d] = from[d] * g->stride[d] - g->pad[d] + k[d] * g->dilation[d];
            if (d < 2 && (at[d] < 0 || at[d] >= g->x[d])) inside = false;
        }
        if (!inside) continue;
        uint64_t *row = x + (at[0] * g->x[1] + at[1]) * g->x[2];
        for (int64_t i = 0, j = at[2]; i < g->y[2]; i++, j += g->stride[2]) {
            if (j < 0 || j >= g->x[2]) continue;
            if (back) {
                row[j] += w * y[i];
            } else {
                y[i] += w * row[j];
            }
        }
    }
}

/* An image's group: what it sums to starts as the bias. */
static void integer_image(void *ctx, int64_t image) {
    const conv_job *j = ctx;
    const asnd_conv *g = j->g;
    int64_t group = image % g->groups, taps = asn_conv_extent(g->k), k[3];
    const bool back = j->back;
    int64_t channels = back ? g->cx : g->cy, plane = back ? j->plane_x : j->plane_y;
    uint64_t *out = (uint64_t *)(void *)j->out + image * channels * plane;
    const uint64_t *bias = (const uint64_t *)(const void *)j->bias;
    for (int64_t i = 0; i < channels * plane; i++)
        out[i] = bias ? bias[group * channels + i / plane] : 0;
    char *in = (char *)(uintptr_t)(back ? j->y : j->x);
    uint64_t *from = (uint64_t *)(void *)in;
    from += image * (back ? g->cy * j->plane_y : g->cx * j->plane_x);
    const uint64_t *w = (const uint64_t *)(const void *)j->w + group * g->cy * j->rows;
    for (int64_t i = 0; i < g->cy * j->rows; i++) {
        uint64_t *x = (back ? out : from) + i / taps % g->cx * j->plane_x;
        uint64_t *y = (back ? from : out) + i / j->rows * j->plane_y;
        window_of(g, i % taps, k);
        integer_tap(g, k, w[i], back, x, y);
    }
}

/* Directly, else depthwise planes a tap at a time, and the others as tasks of a band of
 * an image's group each. */
asn_status asn_conv_to_y(const asnd_conv *g, asn_dtype t, const void *x, const void *w,
                         const void *bias, void *y) {
    conv_job j;
    job_to_y(&j, g, t, t, x, w, bias, y);
    int64_t planes = g->n * g->groups * g->cy;
    if (planes == 0 || j.plane_y == 0) return ASN_OK;
    if (t == ASN_I64) {
        asn_pool_run(integer_image, &j, g->n * g->groups, job_work(&j) * 8);
        return ASN_OK;
    }
    bool done = false;
    if (j.rows > 0) ASN_TRY(asn_conv_direct(g, t, x, w, bias, y, &done));
    if (done) return ASN_OK;
    if (g->cx != 1 || g->cy >= 4)
        return job_run(&j, band_to_y, g->n * g->groups * j.bands);
    asn_pool_run(deep_to_y, &j, planes, job_work(&j) * 8);
    return ASN_OK;
}

bool asn_conv_takes_halves(const asnd_conv *g) {
    conv_job j;
    if (!asn_context_get()->dots_of_bf16) return false;
    job_set(&j, g, ASN_BF16, ASN_F32);
    if (g->cy < HALVES_FILTERS || j.rows < HALVES_TERMS || g->n == 0 || j.plane_y == 0)
        return false;
    const int64_t last = j.plane_y - (j.bands - 1) * j.band;
    return asn_gemm_dot_pays(g->cy, j.rows, last); /* the smallest product */
}

asn_status asn_conv_of_halves(const asnd_conv *g, const void *x, const void *w,
                              const void *bias, void *y) {
    conv_job j;
    job_to_y(&j, g, ASN_BF16, ASN_F32, x, w, bias, y);
    return job_run(&j, band_to_y, g->n * g->groups * j.bands);
}

/* ---- Y to X */

/* A whole image, since neighbouring windows add to the same elements of X. */
static asn_status image_to_x(conv_job *j, int64_t image, char *buffer) {
    const asnd_conv *g = j->g;
    int64_t group = image % g->groups;
    char *x = j->out + image * g->cx * j->plane_x * j->size;
    matrix w = {j->w + group * g->cy * j->rows * j->size, 1, j->rows};
    if (!j->plain) bias_rows(j, x, group * g->cx, g->cx, j->plane_x, j->plane_x, true);
    for (int64_t from = 0; from < j->plane_y; from += j->band) {
        int64_t count = asn_least(j->band, j->plane_y - from);
        matrix y = {j->y + (image * g->cy * j->plane_y + from) * j->size, j->plane_y, 1};
        matrix patches = {buffer, count, 1};
        if (j->plain) patches = (matrix){x + from * j->size, j->plane_x, 1};
        ASN_TRY(product(j->t, j->t, w, y, patches, j->rows, g->cy, count, false));
        if (!j->plain) asn_unpatch(g, (int)j->size, buffer, from, count, x);
    }
    if (j->plain && j->bias)
        bias_rows(j, x, group * g->cx, g->cx, j->plane_x, j->plane_x, false);
    return ASN_OK;
}

/* One channel's image, from all of its filters in order. */
static void deep_to_x(void *ctx, int64_t image) {
    conv_job *j = ctx;
    const asnd_conv *g = j->g;
    int64_t group = image % g->groups;
    char *x = j->out + image * j->plane_x * j->size;
    bias_rows(j, x, group, 1, 0, j->plane_x, true);
    for (int64_t c = 0; c < g->cy; c++) {
        const char *w = j->w + (group * g->cy + c) * j->rows * j->size;
        const char *y = j->y + (image * g->cy + c) * j->plane_y * j->size;
        if (j->t == ASN_F32) {
            deep_x_4(g, (const float *)y, (const float *)w, (float *)x);
        } else {
            deep_x_8(g, (const double *)y, (const double *)w, (double *)x);
        }
    }
}

/* Without windows X is the bias. */
asn_status asn_conv_to_x(const asnd_conv *g, asn_dtype t, const void *y, const void *w,
                         const void *bias, void *x) {
    conv_job j;
    job_set(&j, g, t, t);
    j.y = y;
    j.w = w;
    j.bias = bias;
    j.out = x;
    j.back = true;
    if (g->n * g->groups * g->cx == 0 || j.plane_x == 0) return ASN_OK;
    if (t == ASN_I64) {
        asn_pool_run(integer_image, &j, g->n * g->groups, job_work(&j) * 8);
        return ASN_OK;
    }
    if (g->cx == 1 && g->cy < 4) {
        asn_pool_run(deep_to_x, &j, g->n * g->groups, job_work(&j) * 8);
        return ASN_OK;
    }
    if (j.plane_y == 0) j.plain = false;
    return job_run(&j, image_to_x, g->n * g->groups);
}

/* ---- X and Y to the weight: a group's sum runs over images and bands in order */

/* One group at a time, so that its sum has one order; few groups leave threads to the
 * products. */
static asn_status group_to_w(conv_job *j, int64_t group, char *buffer) {
    const asnd_conv *g = j->g;
    char *w = j->out + group * g->cy * j->rows * j->size;
    memset(w, 0, (size_t)(g->cy * j->rows * j->size));
    for (int64_t n = 0; n < g->n; n++) {
        int64_t image = n * g->groups + group;
        const char *x = j->x + image * g->cx * j->plane_x * j->size;
        for (int64_t from = 0; from < j->plane_y; from += j->band) {
            int64_t count = asn_least(j->band, j->plane_y - from);
            matrix y = {j->y + (image * g->cy * j->plane_y + from) * j->size, j->plane_y,
                        1};
            matrix patches = {x + from * j->size, 1, j->plane_x};
            if (!j->plain) {
                asn_patches(g, (int)j->size, g->cx, x, from, count, buffer);
                patches = (matrix){buffer, 1, count};
            }
            ASN_TRY(product(j->t, j->t, y, patches, (matrix){w, j->rows, 1}, g->cy, count,
                            j->rows, true));
        }
    }
    return ASN_OK;
}

/* One filter's gradient, summed over the images in order. */
static void deep_to_w(void *ctx, int64_t channel) {
    conv_job *j = ctx;
    const asnd_conv *g = j->g;
    char *w = j->out + channel * j->rows * j->size;
    memset(w, 0, (size_t)(j->rows * j->size));
    for (int64_t n = 0; n < g->n; n++) {
        int64_t plane = n * g->groups * g->cy + channel;
        const char *x = j->x + plane / g->cy * j->plane_x * j->size;
        const char *y = j->y + plane * j->plane_y * j->size;
        if (j->t == ASN_F32) {
            deep_w_4(g, (const float *)x, (const float *)y, (float *)w);
        } else {
            deep_w_8(g, (const double *)x, (const double *)y, (double *)w);
        }
    }
}

/* Without windows or images the gradient is zero. */
asn_status asn_conv_to_w(const asnd_conv *g, asn_dtype t, const void *x, const void *y,
                         void *w) {
    conv_job j;
    job_set(&j, g, t, t);
    j.x = x;
    j.y = y;
    j.out = w;
    if (g->groups * g->cy * j.rows == 0) return ASN_OK;
    if (g->cx == 1 && g->cy < 4) {
        asn_pool_run(deep_to_w, &j, g->groups * g->cy, job_work(&j) * 8);
        return ASN_OK;
    }
    return job_run(&j, group_to_w, g->groups);
}
