/* CPU device, operators: x @ ((weight + offset) * scale) (see weight_product.h).
 *
 * The weight is read as it lies, in lines: its rows, or its columns where those are
 * contiguous. A few rows of x (a language model writes one word after the other) meet
 * columns that are widened in registers (cpu/gemv/gemv_quant.c); others meet some widened
 * lines at a time (cpu/gemm/gemm_lines.c).
 */
#include "device/opapi/quant/weight_product.h"

#include <string.h>

#include "base/integers.h"
#include "device/cpu/gemm/gemm_few.h"
#include "device/cpu/gemv/gemv_quant.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

enum { ITEM = sizeof(float) };

typedef struct {
    const asnd_weight *w;
    bool columns;        /* lines are columns */
    int64_t lines, line; /* how many, and elements from one to the next */
    int64_t length;      /* elements of a line */
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
static void widen(const void *matrix, int64_t line, int64_t first, int64_t count,
                  float *to) {
    const job *j = matrix;
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

/* ---- products */

/* Estimated time of all weights on one thread: read and widened, and multiplied. */
static double work_of(const job *j, int64_t rows) {
    return (double)j->lines * (double)j->length * (0.4 + 0.15 * (double)rows);
}

/* A parameter of columns, as gemv_quant.h has it. */
static asnd_quant_parameter of_columns(const asnd_weight *w,
                                       const asnd_weight_parameter *p) {
    return (asnd_quant_parameter){
        .data = p->data, .line = p->size > 1, .step = p->size > w->n ? w->n : 0};
}

static asn_status in_registers(const job *j, const asnd_view *x, const asnd_view *sum,
                               bool *done) {
    const asnd_weight *w = j->w;
    const int64_t m = x->shape[0];
    const asnd_quant q = {.nibbles = w->nibbles,
                          .x = (const uint8_t *)w->data,
                          .lines = w->n,
                          .length = w->k,
                          .line = w->nibbles ? j->line / 2 : j->line,
                          .group = w->group ? w->group : w->k,
                          .scale = of_columns(w, &w->scale),
                          .offset = of_columns(w, &w->offset),
                          .v = (const float *)(const void *)x->nd.data,
                          .count = m,
                          .out = (float *)(void *)sum->nd.data,
                          .out_row = w->n};
    *done = false;
    return j->columns ? asn_gemv_quant(&q, work_of(j, m), done) : ASN_OK;
}

/* Lines that are widened some at a time: of many rows, too, the weight's own bytes are
 * all that is read. */
static asn_status in_tiles(const job *j, const asnd_view *x, const asnd_view *sum) {
    const int64_t m = x->shape[0];
    const asnd_wide_lines l = {.widen = widen,
                               .matrix = j,
                               .lines = j->lines,
                               .length = j->length,
                               .dots = j->columns,
                               .v = (const float *)(const void *)x->nd.data,
                               .count = m,
                               .out = sum->nd.data,
                               .out_step = ITEM,
                               .out_row = j->w->n * ITEM};
    return asn_gemm_lines(&l, work_of(j, m));
}

asn_status asn_weight_product(const asnd_weight *w, const asnd_view *x, asnd_tmp *tmp,
                              asnd_view *sum) {
    const int64_t m = x->shape[0];
    job j = {.w = w, .columns = w->col != 1};
    j.lines = j.columns ? w->n : w->k;
    j.length = j.columns ? w->k : w->n;
    j.line = j.columns ? w->col : w->row;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (const int64_t[]){m, w->n}, sum));
    if (w->k == 0) {
        memset(sum->nd.data, 0, (size_t)(m * w->n) * ITEM);
        return ASN_OK;
    }
    bool done;
    ASN_TRY(in_registers(&j, x, sum, &done));
    return done ? ASN_OK : in_tiles(&j, x, sum);
}
