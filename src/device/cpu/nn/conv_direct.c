/* CPU device: X to Y without patches (see conv_direct.h).
 *
 * X is copied with its zeros, so that no window meets an edge, and each phase of a stride
 * of two has a plane of its own: a tap is an offset then, the same for all windows. Rows
 * share the zeros between them: those on the right of one are those on the left of the
 * next. The loops count positions through from row to row, over the zeros. Weights are
 * read where they lie. A picture is what a task sees of X: an image's group, or of three
 * dimensions those depths of it that one depth of Y needs, as so many more channels.
 *
 * A slab of the copy is made by all threads, then computed by all: pictures, or a piece
 * of one that is larger than PIECE_BYTES. Tasks are bands of positions whose part of the
 * copy stays in the second cache, times runs of strips of filters. All of it is cut by
 * shape alone.
 *
 * Against patches and products (conv.c) on a Zen 3 with AVX2, us, two threads: 1 x 3 x
 * 224 x 224 by 7 x 7, stride 2: 2435 -> 1382; 1 x 64 x 56 x 56 by 3 x 3: 1907 -> 1371; 1
 * x 256 x 14 x 14: 1714 -> 1396; 1 x 512 x 7 x 7: 1754 -> 1454. One thread: few filters
 * (32 -> 7) a third, 32 groups of four a third, stride 2 nine tenths, float64 three
 * quarters. AVX-512, one thread, processor time, us: 1 x 3 x 224 x 224 by 7 x 7, stride
 * 2: 3694 -> 1802; 1 x 64 x 56 x 56: 2201 -> 1693; 1 x 256 x 14 x 14: 2327 -> 1730; 2 x
 * 128 x 56 x 56, stride 2: 5288 -> 4055. 8 x 64 x 56 x 56, a filter of 3 x 3 for each
 * channel (AVX2, two threads): 5047 -> 1859 by a tap at a time. Where a picture is small,
 * a window short and filters are many, products win; so they do where rows are short
 * beside what windows add to them.
 */
#include "device/cpu/nn/conv_direct.h"

#include <string.h>

#include "base/integers.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    SLAB_BYTES = 1 << 20,   /* of pictures together: what was copied is in L2 */
    PIECE_BYTES = 8 << 20,  /* of one, which is cut beyond */
    BAND_BYTES = 192 << 10, /* of the copy */
    BAND_LEAST = 64,        /* positions */
    TASKS = 16,             /* of a slab, at least, where there are so many strips */
    LINE = 64,
    BLOCK = 256, /* terms, at most */
    MOST_STRIDE = 2,
    /* Channels that are asked for early: three ahead; fewer are in the first cache. */
    FEW_CHANNELS = 16,
    /* Products' own: fewer terms, more filters and fewer windows than these. */
    FEW_TERMS = 16,
    SOME_FILTERS = 16,
    SOME_WINDOWS = 4096
};

/* Pairs are rows and columns. The slab is pictures from `picture` on and of each the
 * outputs [at, at + extent). A phase's plane is `tall` rows of flat.pitch elements, the
 * last one of `wide`; a channel is all its phases. */
typedef struct {
    const asnd_conv *g;
    const asnd_conv_loops *by;
    const char *x, *w, *bias;
    char *y, *copy;
    int item;
    int64_t taps, channels; /* of a picture */
    int64_t picture, pictures, at[2], extent[2];
    int64_t tall, wide, phase, channel; /* elements of a phase, of a channel */
    int64_t band, bands;                /* positions of one */
    int64_t strips, parts;              /* of the strips */
    asnd_conv_flat flat;
    int64_t offsets[BLOCK];
} direct_job;

/* ---- the copy */

/* One channel of one picture, phase after phase, and zeros to its end. Depths outside X
 * are zeros. */
static void copy_channel(void *ctx, int64_t task) {
    const direct_job *j = ctx;
    const asnd_conv *g = j->g;
    const int64_t picture = j->picture + task / j->channels, c = task % j->channels;
    const int64_t depth =
        picture % g->y[0] * g->stride[0] - g->pad[0] + c % g->k[0] * g->dilation[0];
    const int64_t plane = (picture / g->y[0] * g->cx + c / g->k[0]) * g->x[0] + depth;
    const char *x = j->x + plane * g->x[1] * g->x[2] * j->item;
    char *to = j->copy + task * j->channel * j->item, *end = to + j->channel * j->item;
    const int64_t phases = g->stride[1] * g->stride[2];
    for (int64_t p = 0; p < phases && depth >= 0 && depth < g->x[0]; p++)
        for (int64_t i = 0; i < j->tall; i++) {
            const int64_t n = i < j->tall - 1 ? j->flat.pitch : j->wide;
            const int64_t row =
                (j->at[0] + i) * g->stride[1] - g->pad[1] + p / g->stride[2];
            const int64_t column = j->at[1] * g->stride[2] - g->pad[2] + p % g->stride[2];
            if (row < 0 || row >= g->x[1])
                memset(to, 0, (size_t)(n * j->item));
            else
                j->by->row(x + row * g->x[2] * j->item, column, g->stride[2], g->x[2], n,
                           to);
            to += n * j->item;
        }
    memset(to, 0, (size_t)(end - to));
}

/* What a window adds to an output's row (1) or column (2), in elements of a phase. */
static int64_t reach(const asnd_conv *g, int d) {
    return (g->k[d] - 1) * g->dilation[d] / g->stride[d];
}

/* Zeros that whole rows can share: as many as every phase has on its left, and on its
 * right, and no more than leave room for the outputs. */
static int64_t shared_zeros(const asnd_conv *g) {
    const int64_t stride = g->stride[2], wide = g->y[2] + reach(g, 2);
    int64_t least = reach(g, 2);
    for (int64_t p = 0; p < stride; p++) {
        const int64_t start = p - g->pad[2];
        const int64_t left = start < 0 ? asn_pieces(-start, stride) : 0;
        const int64_t end = start < g->x[2] ? asn_pieces(g->x[2] - start, stride) : 0;
        least = asn_least(least, asn_least(left, end < wide ? wide - end : 0));
    }
    return least;
}

/* How a slab of `extent` outputs lies in memory. A channel's lines are odd in number, so
 * that channels do not meet in few sets of a cache. */
static void lay_out(direct_job *j, const int64_t extent[2]) {
    const asnd_conv *g = j->g;
    asnd_conv_flat *f = &j->flat;
    const int64_t sh = g->stride[1], sw = g->stride[2];
    memcpy(j->extent, extent, sizeof j->extent);
    j->tall = extent[0] + reach(g, 1);
    j->wide = extent[1] + reach(g, 2);
    f->width = extent[1];
    f->pitch = j->wide - (extent[1] == g->y[2] ? shared_zeros(g) : 0);
    j->phase = (j->tall - 1) * f->pitch + j->wide;
    const int64_t lines = asn_pieces(j->phase * sh * sw * j->item, LINE) | 1;
    j->channel = lines * LINE / j->item;
    const int64_t channels = asn_least(j->channels, BLOCK / j->taps);
    f->terms = j->channels * j->taps;
    f->block = channels * j->taps;
    f->step = channels * j->channel;
    f->ahead = j->channels < FEW_CHANNELS ? LINE / j->item : 3 * j->channel;
    f->offsets = j->offsets;
    for (int64_t i = 0; i < f->block; i++) {
        const int64_t row = i % j->taps / g->k[2] * g->dilation[1],
                      column = i % g->k[2] * g->dilation[2];
        j->offsets[i] = i / j->taps * j->channel +
                        (row % sh * sw + column % sw) * j->phase + row / sh * f->pitch +
                        column / sw;
    }
}

static int64_t picture_bytes(const direct_job *j) {
    return j->channels * j->channel * j->item;
}

/* ---- the sums */

/* Positions from a slab's first output to its last. */
static int64_t positions(const direct_job *j) {
    return (j->extent[0] - 1) * j->flat.pitch + j->flat.width;
}

/* A band of a picture, by a part of the strips. */
static void sum_band(void *ctx, int64_t task) {
    const direct_job *j = ctx;
    const asnd_conv *g = j->g;
    const int64_t band = task % j->bands, rest = task / j->bands;
    const int64_t picture = rest % j->pictures, part = rest / j->pictures;
    const int64_t first = band * j->band, end = asn_least(first + j->band, positions(j));
    const int64_t image = (j->picture + picture) / g->y[0],
                  depth = (j->picture + picture) % g->y[0],
                  filters = image % g->groups * g->cy; /* of the groups before */
    const char *x = j->copy + picture * picture_bytes(j);
    const int64_t corner = (depth * g->y[1] + j->at[0]) * g->y[2] + j->at[1];
    char *y = j->y + (image * g->cy * j->flat.y_plane + corner) * j->item;
    const int64_t last = (part + 1) * j->strips / j->parts;
    for (int64_t s = part * j->strips / j->parts; s < last; s++) {
        const int64_t c = s * g->cy / j->strips, next = (s + 1) * g->cy / j->strips;
        j->by->strip(&j->flat, (int)(next - c), first, end, x,
                     j->w + (filters + c) * j->flat.terms * j->item,
                     j->bias ? j->bias + (filters + c) * j->item : NULL,
                     y + c * j->flat.y_plane * j->item);
    }
}

/* Elements of a channel that a band of n positions reads. */
static int64_t read_by(const direct_job *j, int64_t n) {
    const asnd_conv *g = j->g;
    const int64_t rows = reach(g, 1), columns = reach(g, 2);
    const int64_t read =
        asn_least(n + rows * j->flat.pitch + columns, (rows + 1) * (n + columns));
    return g->stride[1] * g->stride[2] * asn_least(read, j->phase);
}

/* Bands that fit, and the more parts of the filters the fewer bands there are. */
static void cut(direct_job *j) {
    const int64_t all = positions(j);
    int64_t band = all;
    while (band > BAND_LEAST && read_by(j, band) * j->channels * j->item > BAND_BYTES)
        band = asn_pieces(band, 2);
    j->band = asn_round_up(asn_pieces(all, asn_pieces(all, band)), 16);
    j->bands = asn_pieces(all, j->band);
    j->strips = asn_pieces(j->g->cy, j->by->most);
    j->parts = asn_least(j->strips, asn_pieces(TASKS, j->bands * j->pictures));
}

/* A copy of eight bytes a nanosecond; 80 GFLOP/s of float32. */
static void run_slab(direct_job *j) {
    cut(j);
    const int64_t copied = j->pictures * picture_bytes(j);
    asn_pool_run(copy_channel, j, j->pictures * j->channels, (double)copied / 8);
    const double sums = (double)(j->pictures * j->g->cy * j->extent[0] * j->extent[1]);
    asn_pool_run(sum_band, j, j->parts * j->pictures * j->bands,
                 sums * (double)(j->flat.terms * j->item) / 160);
}

/* ---- all of it */

/* Where positions that are no outputs are few, and there is something to gain. */
static bool worth_it(const asnd_conv *g, const asnd_conv_loops *by) {
    const int64_t taps = g->k[1] * g->k[2];
    const bool products = g->cx * g->k[0] * taps < FEW_TERMS && g->cy > SOME_FILTERS &&
                          asn_conv_extent(g->y) < SOME_WINDOWS;
    const bool few = g->cx == 1 && g->cy <= 2;
    return (few || (g->cy >= asn_pieces(by->most, 2) && g->cy > 3)) && taps > 1 &&
           taps <= BLOCK && !products && g->stride[1] <= MOST_STRIDE &&
           g->stride[2] <= MOST_STRIDE && 3 * (reach(g, 2) - shared_zeros(g)) <= g->y[2];
}

/* One picture in slabs of `extent` outputs, the last ones of a row or column smaller. */
static void run_pieces(direct_job *j, const int64_t extent[2]) {
    const int64_t *y = j->g->y + 1;
    for (j->at[0] = 0; j->at[0] < y[0]; j->at[0] += extent[0])
        for (j->at[1] = 0; j->at[1] < y[1]; j->at[1] += extent[1]) {
            lay_out(j, (int64_t[]){asn_least(extent[0], y[0] - j->at[0]),
                                   asn_least(extent[1], y[1] - j->at[1])});
            run_slab(j);
        }
}

asn_status asn_conv_direct(const asnd_conv *g, asn_dtype t, const void *x, const void *w,
                           const void *bias, void *y, bool *done) {
    const asnd_context *context = asn_context_get();
    direct_job j = {.g = g, .by = t == ASN_F64 ? context->conv_f64 : context->conv_f32};
    *done = false;
    if (!j.by || !worth_it(g, j.by)) return ASN_OK;
    j.x = x;
    j.w = w;
    j.bias = bias;
    j.y = y;
    j.item = asn_itemsize(t);
    j.taps = g->k[1] * g->k[2];
    j.channels = g->cx * g->k[0];
    j.flat.y_row = g->y[2];
    j.flat.y_plane = asn_conv_extent(g->y);
    int64_t extent[2] = {g->y[1], g->y[2]};
    lay_out(&j, extent);
    while (picture_bytes(&j) > PIECE_BYTES && (extent[0] > 1 || extent[1] > BAND_LEAST)) {
        const int d = extent[0] > 1 ? 0 : 1;
        extent[d] = asn_pieces(extent[d], 2);
        lay_out(&j, extent);
    }
    const bool whole = extent[0] == g->y[1] && extent[1] == g->y[2];
    const int64_t all = g->n * g->groups * g->y[0], bytes = picture_bytes(&j);
    const int64_t most = whole ? asn_least(all, SLAB_BYTES / bytes + 1) : 1;
    j.copy = asn_scratch_take((size_t)(most * bytes + ASN_CONV_SLACK));
    if (!j.copy) return ASN_ERR_MEMORY;
    memset(j.copy + most * bytes, 0, ASN_CONV_SLACK);
    for (; j.picture < all; j.picture += most) {
        j.pictures = asn_least(most, all - j.picture);
        if (whole)
            run_slab(&j);
        else
            run_pieces(&j, extent);
    }
    asn_scratch_give(j.copy);
    *done = true;
    return ASN_OK;
}
