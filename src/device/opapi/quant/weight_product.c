/* CPU device, operators: x @ ((weight + offset) * scale) (see weight_product.h).
 *
 * The weight is read as it lies, in lines: its rows, or its columns where those are
 * contiguous. A few rows of x (a language model writes one word after the other) meet
 * some lines at a time, widened into memory that stays in the second cache, so that the
 * weight's bytes are all that is read from memory. Of many rows the whole weight is
 * widened once, for a product of matrices.
 */
#include "device/opapi/quant/weight_product.h"

#include <stdatomic.h>
#include <string.h>

#include "base/integers.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemv.h"
#include "device/cpu/kernels.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    FEW = 16,        /* rows of x */
    TILE = 1 << 14,  /* weights that are widened at once */
    STRIP = 1 << 9,  /* columns that are summed together */
    LINES = 1 << 15, /* bytes of a task that widens alone, at least */
    ITEM = sizeof(float)
};

typedef struct {
    const asnd_weight *w;
    bool columns;        /* lines are columns */
    int64_t lines, line; /* how many, and elements from one to the next */
    int64_t length;      /* elements of a line */
    int64_t tile;        /* lines of a task */
    const float *x;      /* (m, k) */
    int64_t m;
    float *out; /* (m, n), or the weight in lines */
    _Atomic int status;
} job;

/* ---- widening */

/* The first parameter of row i of the weight. */
static const float *of_row(const asnd_weight *w, const asnd_weight_parameter *p,
                           int64_t i) {
    return p->data + (p->size > w->n ? i / w->group * w->n : 0);
}

/* `count` elements of row i from column j on: each column has parameters. */
static void scale_row(const asnd_weight *w, int64_t i, int64_t j, int64_t count,
                      float *to) {
    const float *scale = of_row(w, &w->scale, i);
    const float *offset = w->offset.data ? of_row(w, &w->offset, i) : NULL;
    if (offset && w->offset.size == 1)
        for (int64_t l = 0; l < count; l++)
            to[l] += offset[0];
    else if (offset)
        for (int64_t l = 0; l < count; l++)
            to[l] += offset[j + l];
    if (w->scale.size == 1)
        for (int64_t l = 0; l < count; l++)
            to[l] *= scale[0];
    else
        for (int64_t l = 0; l < count; l++)
            to[l] *= scale[j + l];
}

/* All of column j: a group's elements have the same parameters. */
static void scale_column(const asnd_weight *w, int64_t j, float *to) {
    const int64_t group = w->group ? w->group : w->k;
    for (int64_t i = 0; i < w->k; i += group) {
        const int64_t end = asn_least(i + group, w->k);
        const float scale = of_row(w, &w->scale, i)[w->scale.size == 1 ? 0 : j];
        if (w->offset.data) {
            const float offset = of_row(w, &w->offset, i)[w->offset.size == 1 ? 0 : j];
            for (int64_t l = i; l < end; l++)
                to[l] += offset;
        }
        for (int64_t l = i; l < end; l++)
            to[l] *= scale;
    }
}

/* `count` int4 as float32. */
static void widen_nibbles(const uint8_t *from, int64_t count, float *to) {
    enum { CHUNK = 512 };
    int8_t bytes[CHUNK];
    for (int64_t i = 0; i < count; i += CHUNK) {
        const int64_t n = asn_least(count - i, CHUNK), pairs = (n + 1) / 2;
        for (int64_t b = 0; b < pairs; b++) {
            const uint8_t both = from[i / 2 + b];
            bytes[2 * b] = (int8_t)(((both & 15) ^ 8) - 8); /* sign-extended */
            bytes[2 * b + 1] = (int8_t)((both >> 4 ^ 8) - 8);
        }
        asn_kernels_get()->cast[ASN_I8][ASN_F32](n, to + i, bytes, NULL, NULL);
    }
}

/* Elements of a line as float32, times their scales: `count` from `first` on, of a column
 * all. */
static void widen(const job *j, int64_t line, int64_t first, int64_t count, float *to) {
    const int64_t at = line * j->line + first;
    if (j->w->nibbles)
        widen_nibbles((const uint8_t *)j->w->data + at / 2, count, to);
    else
        asn_kernels_get()->cast[ASN_I8][ASN_F32](count, to, j->w->data + at, NULL, NULL);
    if (j->columns)
        scale_column(j->w, line, to);
    else
        scale_row(j->w, line, first, count, to);
}

/* ---- tasks */

/* Some lines, one after the other, into `out`. */
static void widen_task(void *ctx, int64_t task) {
    job *j = ctx;
    const int64_t end = asn_least((task + 1) * j->tile, j->lines);
    for (int64_t l = task * j->tile; l < end; l++)
        widen(j, l, 0, j->length, j->out + l * j->length);
}

/* Inner products of x's rows and some columns. */
static void columns_task(void *ctx, int64_t task) {
    job *j = ctx;
    const int64_t first = task * j->tile, count = asn_least(j->lines - first, j->tile);
    const int64_t k = j->length;
    float *wide = asn_scratch_take((size_t)(count * k) * ITEM);
    asn_status status = wide ? ASN_OK : ASN_ERR_MEMORY;
    for (int64_t l = 0; l < count && wide; l++)
        widen(j, first + l, 0, k, wide + l * k);
    for (int64_t i = 0; i < j->m && !status; i++) {
        const asnd_gemv g = {.dtype = ASN_F32,
                             .dots = true,
                             .rows = count,
                             .cols = k,
                             .x = (const char *)wide,
                             .x_row = k * ITEM,
                             .v = (const char *)(j->x + i * k),
                             .v_step = ITEM,
                             .out = (char *)(j->out + i * j->lines + first),
                             .out_step = ITEM};
        status = asn_gemv_run(&g, true);
    }
    if (wide) asn_scratch_give(wide);
    if (status) atomic_store(&j->status, status);
}

/* Sums of rows in a strip of columns, for each row of x. */
static void strip_task(void *ctx, int64_t task) {
    job *j = ctx;
    const int64_t first = task * STRIP, n = j->length, k = j->lines,
                  count = asn_least(n - first, STRIP);
    enum { ROWS = TILE / STRIP };
    float *sums = asn_scratch_take((size_t)(FEW * STRIP + TILE) * ITEM);
    if (!sums) {
        atomic_store(&j->status, ASN_ERR_MEMORY);
        return;
    }
    float *wide = sums + FEW * STRIP;
    memset(sums, 0, (size_t)(j->m * STRIP) * ITEM);
    for (int64_t row = 0, rows; row < k; row += rows) {
        rows = asn_least(k - row, ROWS);
        for (int64_t l = 0; l < rows; l++)
            widen(j, row + l, first, count, wide + l * STRIP);
        for (int64_t i = 0; i < j->m; i++)
            asn_kernels_get()->gemv_sums[ASN_F32](
                rows, count, (const char *)wide, STRIP * ITEM,
                (const char *)(j->x + i * k + row), ITEM, (char *)(sums + i * STRIP));
    }
    for (int64_t i = 0; i < j->m; i++)
        memcpy(j->out + i * n + first, sums + i * STRIP, (size_t)count * ITEM);
    asn_scratch_give(sums);
}

/* ---- products */

/* Estimated time of all weights on one thread: read and widened, and multiplied. */
static double work_of(const job *j, int64_t rows) {
    return (double)j->lines * (double)j->length * (0.4 + 0.15 * (double)rows);
}

static asn_status few_rows(job *j, const asnd_view *sum) {
    j->out = (float *)(void *)sum->nd.data;
    j->tile = asn_round_up(asn_least(j->lines, TILE / j->length + 1), 4);
    asn_pool_run(j->columns ? columns_task : strip_task, j,
                 j->columns ? asn_pieces(j->lines, j->tile)
                            : asn_pieces(j->length, STRIP),
                 work_of(j, j->m));
    const asn_status status = (asn_status)atomic_load(&j->status);
    return status ? asn_error_set(status, "no memory for a product") : ASN_OK;
}

static asn_status many_rows(job *j, const asnd_view *x, asnd_tmp *tmp,
                            const asnd_view *sum) {
    asnd_view wide;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (const int64_t[]){j->lines, j->length}, &wide));
    j->out = (float *)(void *)wide.nd.data;
    j->tile = LINES / j->length + 1;
    asn_pool_run(widen_task, j, asn_pieces(j->lines, j->tile), work_of(j, 0));
    if (j->columns) asn_view_swap_last(&wide);
    return asn_cpu_matmul(&x->nd, &wide.nd, &sum->nd);
}

asn_status asn_weight_product(const asnd_weight *w, const asnd_view *x, asnd_tmp *tmp,
                              asnd_view *sum) {
    job j = {.w = w,
             .columns = w->col != 1,
             .x = (const float *)(const void *)x->nd.data,
             .m = x->shape[0]};
    j.lines = j.columns ? w->n : w->k;
    j.length = j.columns ? w->k : w->n;
    j.line = j.columns ? w->col : w->row;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (const int64_t[]){j.m, w->n}, sum));
    if (w->k == 0) {
        memset(sum->nd.data, 0, (size_t)(j.m * w->n) * ITEM);
        return ASN_OK;
    }
    return j.m <= FEW ? few_rows(&j, sum) : many_rows(&j, x, tmp, sum);
}
