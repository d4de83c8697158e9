/* CPU device: a matrix of halves times a vector or a few, without a copy of the whole
 * matrix.
 *
 * Of one vector the loops of float32 widen elements as they load them (gemv.c), where the
 * processor has such loads. Of a few (sequences that a language model writes side by
 * side), and where it has none, rows are converted to float32 some at a time, into memory
 * that stays in the second cache, and multiplied there by each vector; where the matrix's
 * columns are contiguous, strips of columns are summed. Either way the matrix is read
 * once, with half the bytes. It must equal the way by a float32 copy of everything
 * (gemm.c), but for the order of sums.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/gemm/gemv.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    ITEM = 2,        /* bytes of a half */
    TILE = 1 << 14,  /* float32 elements that are converted at once */
    STRIP = 1 << 9,  /* columns that are summed together */
    LEAST = 1 << 14, /* elements of the matrix; below, a copy costs little */
    FEW = 16         /* vectors, at most: of more, a product of matrices is faster */
};

typedef struct {
    asn_dtype half;
    int64_t rows, cols, row; /* of the matrix; bytes from row to row */
    const char *x;
    const void *v; /* cols elements (dots) or rows: float32, of direct_task bfloat16 */
    int64_t count; /* vectors, one after the other; one of direct_task */
    char *out;
    int64_t out_step, out_row; /* from element to element, from vector to vector */
    int64_t tile;              /* rows of a task (dots) */
    _Atomic int status;
} halves;

/* Some columns of some rows as float32, one row after the other. */
static void widen(const halves *h, int64_t row, int64_t rows, int64_t col, int64_t cols,
                  float *to) {
    const asnd_ew_fn cast = asn_kernels_get()->cast[h->half][ASN_F32];
    for (int64_t i = 0; i < rows; i++)
        cast(cols, to + i * cols, h->x + (row + i) * h->row + col * ITEM, NULL, NULL);
}

/* The inner products of the task's rows. */
static void dots_task(void *ctx, int64_t task) {
    halves *h = ctx;
    const int64_t row = task * h->tile, rows = asn_least(h->rows - row, h->tile);
    float *wide = asn_scratch_take((size_t)(rows * h->cols) * sizeof *wide);
    asn_status status = wide ? ASN_OK : ASN_ERR_MEMORY;
    if (wide) {
        widen(h, row, rows, 0, h->cols, wide);
        asnd_gemv g = {.dtype = ASN_F32,
                       .dots = true,
                       .rows = rows,
                       .cols = h->cols,
                       .x = (const char *)wide,
                       .x_row = h->cols * (int64_t)sizeof *wide,
                       .v_step = sizeof(float),
                       .out_step = h->out_step};
        for (int64_t i = 0; i < h->count && !status; i++) {
            g.v = (const char *)((const float *)h->v + i * h->cols);
            g.out = h->out + i * h->out_row + row * h->out_step;
            status = asn_gemv_run(&g, true);
        }
        asn_scratch_give(wide);
    }
    if (status != ASN_OK) atomic_store(&h->status, status);
}

/* The same by the processor's dot products of bfloat16, as the matrix lies: 4096 x 4096,
 * two threads, 1.40 -> 0.58 ms. */
static void direct_task(void *ctx, int64_t task) {
    const halves *h = ctx;
    const int64_t row = task * h->tile, rows = asn_least(h->rows - row, h->tile);
    asn_context_get()->dots_by_vector(rows, h->cols, h->x + row * h->row, h->row, h->v,
                                      h->out + row * h->out_step, h->out_step);
}

/* The sum of all rows in a strip of columns, for each vector. */
static void sums_task(void *ctx, int64_t task) {
    halves *h = ctx;
    const int64_t col = task * STRIP, cols = asn_least(h->cols - col, STRIP);
    _Alignas(64) float sums[FEW][STRIP];
    float *wide = asn_scratch_take(TILE * sizeof *wide);
    if (wide == NULL) {
        atomic_store(&h->status, ASN_ERR_MEMORY);
        return;
    }
    memset(sums, 0, (size_t)h->count * sizeof *sums);
    for (int64_t row = 0, rows; row < h->rows; row += rows) {
        rows = asn_least(h->rows - row, TILE / STRIP);
        widen(h, row, rows, col, cols, wide);
        for (int64_t i = 0; i < h->count; i++)
            asn_kernels_get()->gemv_sums[ASN_F32](
                rows, cols, (const char *)wide, cols * (int64_t)sizeof *wide,
                (const char *)((const float *)h->v + i * h->rows + row), sizeof(float),
                (char *)sums[i]);
    }
    asn_scratch_give(wide);
    for (int64_t i = 0; i < h->count; i++)
        for (int64_t j = 0; j < cols; j++)
            memcpy(h->out + i * h->out_row + (col + j) * h->out_step, &sums[i][j],
                   sizeof **sums);
}

/* The matrix as rows of contiguous elements; false: neither way is contiguous. turned:
 * they are the matrix's columns. */
static bool rows_of(const asnd_nd *m, int row_dim, halves *h, bool *turned) {
    int col_dim = 1 - row_dim;
    *turned = m->strides[col_dim] != ITEM && m->shape[col_dim] != 1;
    if (*turned && m->strides[row_dim] != ITEM && m->shape[row_dim] != 1) return false;
    int across = *turned ? row_dim : col_dim, along = 1 - across;
    h->x = m->data;
    h->rows = m->shape[along];
    h->cols = m->shape[across];
    h->row = m->strides[along];
    return true;
}

/* The product with v in float32: by loops that read halves, else by conversion. */
static asn_status multiply_by_wide(halves *h, bool turned, double ns) {
    if (h->count == 1 && asn_kernels_get()->gemv_dots[h->half]) {
        const asnd_gemv g = {.dtype = h->half,
                             .dots = !turned,
                             .rows = h->rows,
                             .cols = h->cols,
                             .x = h->x,
                             .x_row = h->row,
                             .v = h->v,
                             .v_step = sizeof(float),
                             .out = h->out,
                             .out_step = h->out_step};
        return asn_gemv_run(&g, false);
    }
    asn_pool_run(turned ? sums_task : dots_task, h,
                 turned ? asn_pieces(h->cols, STRIP) : asn_pieces(h->rows, h->tile), ns);
    const asn_status status = (asn_status)atomic_load(&h->status);
    return status ? asn_error_set(status, "no memory for a product") : ASN_OK;
}

/* The vectors as float32, one after the other: where they lie, or converted into new
 * scratch memory, *room. along: the dimension of v that the matrix is summed over. */
static asn_status vectors_of(halves *h, const asnd_nd *v, int along, float **room) {
    const int64_t length = v->shape[along], step = sizeof(float);
    const bool alone = h->count == 1 || v->strides[1 - along] == length * step;
    *room = NULL;
    h->v = v->data;
    if (v->dtype == ASN_F32 && v->strides[along] == step && alone) return ASN_OK;
    *room = asn_scratch_take((size_t)(h->count * length) * sizeof(float));
    if (*room == NULL) return asn_error_set(ASN_ERR_MEMORY, "no memory for a vector");
    int64_t strides[2];
    strides[along] = step;
    strides[1 - along] = length * step;
    const asnd_nd to = {.data = (char *)*room,
                        .dtype = ASN_F32,
                        .ndim = 2,
                        .shape = v->shape,
                        .strides = strides};
    h->v = *room;
    return v->dtype == ASN_F32 ? asn_cpu_copy(&to, v) : asn_cpu_cast(v, &to, NULL);
}

asn_status asn_gemv_halves(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t,
                           bool *done) {
    *done = false;
    if (t->ndim != 2 || t->dtype != ASN_F32) return ASN_OK;
    /* out = M v for each v: M is a, or b with its dimensions exchanged. */
    const bool columns = b->shape[1] <= FEW && asn_is_half(a->dtype),
               lines = a->shape[0] <= FEW && asn_is_half(b->dtype),
               column = columns && (!lines || b->shape[1] <= a->shape[0]);
    const asnd_nd *m = column ? a : b, *v = column ? b : a;
    if ((!columns && !lines) || (v->dtype != m->dtype && v->dtype != ASN_F32))
        return ASN_OK;
    halves h = {.half = m->dtype,
                .count = v->shape[column ? 1 : 0],
                .out = t->data,
                .out_step = t->strides[column ? 0 : 1],
                .out_row = t->strides[column ? 1 : 0]};
    bool turned;
    if (asn_nd_size(m) < LEAST || !rows_of(m, column ? 0 : 1, &h, &turned)) return ASN_OK;
    if (!turned && h.cols > 4 * TILE)
        return ASN_OK; /* rows would not stay in the cache */
    h.tile = asn_round_up(asn_least(h.rows, TILE / h.cols + 1), 4);
    const double ns = 0.15 * (double)asn_nd_size(m) * (double)h.count;
    const int along = column ? 0 : 1;
    if (!turned && h.count == 1 && v->dtype == ASN_BF16 && v->strides[along] == ITEM &&
        asn_context_get()->dots_by_vector) {
        h.v = v->data;
        asn_pool_run(direct_task, &h, asn_pieces(h.rows, h.tile), ns);
        *done = true;
        return ASN_OK;
    }
    float *room;
    asn_status status = vectors_of(&h, v, along, &room);
    if (status == ASN_OK) status = multiply_by_wide(&h, turned, ns);
    if (room) asn_scratch_give(room);
    *done = status == ASN_OK;
    return status;
}
