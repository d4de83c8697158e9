/* CPU device: a matrix of floats times a vector, cut for threads and caches.
 *
 * Inner products. Rows are cut into parts that leave v in the first cache, and a row's
 * sum is that of its parts, first to last: by shape alone, so that it does not matter who
 * adds them. Threads share rows; of a few long rows they share the parts, whose sums are
 * kept until all are there (20 x 50000 float64, two threads: 113 -> 58 us).
 *
 * Sums of rows. Threads share columns where rows are long enough for each to read some
 * kilobytes of every row; of shorter rows they share the rows, in parts by shape alone
 * whose sums are added at the end. Either way memory is read from front to back: BLAS,
 * given some columns to each thread, reads a line or two of every row (10000 x 100).
 *
 * Ours rather than BLAS's, which has no say in the order of a sum and no AVX-512 for
 * these on most processors. Figures: make bench GROUP=vectors.
 */
#include "device/cpu/gemv/gemv.h"

#include <string.h>

#include "base/integers.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"
#include "device/cpu/scratch.h"

enum {
    PART_BYTES = 1 << 15,  /* of v: inner products */
    FEW_ROWS = 64,         /* of which threads share the parts */
    TILE_BYTES = 1 << 18,  /* of the matrix, at least: rows that a thread takes at once */
    STRIP_BYTES = 1 << 14, /* of sums, at most, and ... */
    LONG_ROW = 1 << 12,    /* of a row that threads share, each so much at least: */
    SHARE_BYTES = 1 << 11,
    SUMS_BYTES = 1 << 18, /* of the matrix, some: rows that are summed before others */
    SUMS_ROWS = 32,       /* of them, at least */
    SUMS_PARTS = 4        /* so many times some number */
};

typedef struct {
    asnd_gemv g;
    int item, x_item;    /* bytes of an element of v and of the result, of the matrix */
    int64_t parts, part; /* columns (inner products) or rows (sums) of a part */
    int64_t tiles, tile; /* rows (inner products) or columns (sums) of a task */
    char *sums;          /* of each part, `pitch` bytes apart; or NULL */
    int64_t pitch;
} gemv_job;

/* The dtype of v and of the sums. */
static asn_dtype sum_dtype(asn_dtype matrix) {
    return asn_is_half(matrix) ? ASN_F32 : matrix;
}

/* ---- inner products */

/* Part `part` of `rows` rows from `row` on: their inner products over its columns, with
 * v, to out, or (adds) onto it. */
static void dots_of_part(const gemv_job *j, int64_t part, int64_t row, int64_t rows,
                         const char *v, char *out, int64_t step, bool adds) {
    const int64_t first = part * j->part, n = asn_least(j->g.cols - first, j->part);
    asn_kernels_get()->gemv_dots[j->g.dtype](
        rows, n, j->g.x + row * j->g.x_row + first * j->x_item, j->g.x_row,
        v + first * j->item, out, step, adds);
}

/* Some rows with each vector, part after part. */
static void dots_tile(void *ctx, int64_t tile) {
    const gemv_job *j = ctx;
    const int64_t row = tile * j->tile, rows = asn_least(j->g.rows - row, j->tile);
    for (int64_t k = 0; k < j->g.count; k++) {
        char *out = j->g.out + k * j->g.out_next + row * j->g.out_step;
        for (int64_t p = 0; p < j->parts; p++)
            dots_of_part(j, p, row, rows, j->g.v + k * j->g.v_next, out, j->g.out_step,
                         p > 0);
    }
}

/* One part of all rows. */
static void dots_part(void *ctx, int64_t part) {
    const gemv_job *j = ctx;
    dots_of_part(j, part, 0, j->g.rows, j->g.v, j->sums + part * j->pitch, j->item,
                 false);
}

/* ---- sums of rows */

/* The sum of a part's rows in a strip of columns, kept on the stack, then stored: to the
 * part's sums, or to the result. */
static void sums_task(void *ctx, int64_t task) {
    const gemv_job *j = ctx;
    const asnd_gemv *g = &j->g;
    const int64_t part = task / j->tiles, col = task % j->tiles * j->tile;
    const int64_t row = part * j->part, n = asn_least(g->cols - col, j->tile);
    _Alignas(64) char sums[STRIP_BYTES];
    memset(sums, 0, (size_t)asn_round_up(n * j->item, 64));
    asn_kernels_get()->gemv_sums[g->dtype](
        asn_least(g->rows - row, j->part), n, g->x + row * g->x_row + col * j->x_item,
        g->x_row, g->v + row * g->v_step, g->v_step, sums);
    if (j->sums || g->out_step == j->item) {
        char *to = j->sums ? j->sums + part * j->pitch : g->out;
        memcpy(to + col * j->item, sums, (size_t)(n * j->item));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(g->out + (col + i) * g->out_step, sums + i * j->item, (size_t)j->item);
}

/* ---- both */

/* The sums of the parts, first to last. */
static void add_parts(const gemv_job *j, int64_t n) {
    const asnd_ew_fn add = asn_kernels_get()->ew[ASN_OP_ADD][sum_dtype(j->g.dtype)];
    for (int64_t p = 1; p < j->parts; p++)
        add(n, j->sums, j->sums, j->sums + p * j->pitch, NULL);
    if (j->g.out_step == j->item)
        memcpy(j->g.out, j->sums, (size_t)(n * j->item));
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(j->g.out + i * j->g.out_step, j->sums + i * j->item, (size_t)j->item);
}

/* Parts of v by the length alone, in whole 64 bytes; tiles of rows, a multiple of four,
 * as the kernel takes them. */
static void cut_dots(gemv_job *j) {
    const asnd_gemv *g = &j->g;
    j->parts = asn_pieces(g->cols * j->item, PART_BYTES);
    j->part = asn_round_up(asn_pieces(g->cols, j->parts), 64 / j->item);
    j->parts = asn_pieces(g->cols, j->part);
    const int64_t rows = TILE_BYTES / (g->cols * j->item) + 1;
    j->tile = asn_round_up(asn_pieces(g->rows, asn_pieces(g->rows, rows)),
                           4); /* as even as can be */
    j->tiles = asn_pieces(g->rows, j->tile);
}

/* Long rows: strips of columns, as many as threads, which changes no sum. Shorter ones:
 * parts of rows, by the shape alone. */
static void cut_sums(gemv_job *j, double ns) {
    const asnd_gemv *g = &j->g;
    const int64_t bytes = g->cols * j->item;
    j->part = g->rows;
    j->tile = g->cols;
    if (bytes >= LONG_ROW) {
        const int64_t most = bytes / SHARE_BYTES,
                      width = asn_least(asn_pool_width(ns), most);
        const int64_t strips = asn_pieces(bytes, width * STRIP_BYTES) * width;
        j->tile = asn_round_up(asn_pieces(bytes, strips), 64) / j->item;
    } else {
        const int64_t parts =
            asn_round_up(asn_pieces(g->rows * bytes, SUMS_BYTES), SUMS_PARTS);
        const int64_t rows = asn_round_up(asn_pieces(g->rows, parts), ASN_GEMV_SUMS);
        if (g->rows * bytes > SUMS_BYTES) j->part = rows < SUMS_ROWS ? SUMS_ROWS : rows;
    }
    j->parts = asn_pieces(g->rows, j->part);
    j->tiles = asn_pieces(g->cols, j->tile);
}

/* All tasks on this thread (alone), or by the pool. */
static void run(asnd_pool_fn task, gemv_job *j, int64_t tasks, bool alone, double ns) {
    for (int64_t t = 0; t < tasks && alone; t++)
        task(j, t);
    if (!alone) asn_pool_run(task, j, tasks, ns);
}

asn_status asn_gemv_run(const asnd_gemv *g, bool alone) {
    gemv_job j = {.g = *g,
                  .item = asn_itemsize(sum_dtype(g->dtype)),
                  .x_item = asn_itemsize(g->dtype)};
    const double ns =
        (double)g->rows * (double)g->cols * j.x_item * 0.012 * (double)g->count;
    const int64_t outputs = g->dots ? g->rows : g->cols;
    if (g->dots)
        cut_dots(&j);
    else
        cut_sums(&j, ns);
    const bool keeps = g->dots
                           ? !alone && g->count == 1 && g->rows < FEW_ROWS && j.parts > 2
                           : j.parts > 1;
    if (keeps) {
        j.pitch = asn_round_up(outputs * j.item, 64);
        j.sums = asn_scratch_take((size_t)(j.parts * j.pitch));
        if (!j.sums) return ASN_ERR_MEMORY;
    }
    if (!g->dots)
        run(sums_task, &j, j.parts * j.tiles, alone, ns);
    else if (keeps)
        run(dots_part, &j, j.parts, alone, ns);
    else
        run(dots_tile, &j, j.tiles, alone, ns);
    if (keeps) {
        add_parts(&j, outputs);
        asn_scratch_give(j.sums);
    }
    return ASN_OK;
}
