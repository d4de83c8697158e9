/* CPU device: a matrix times a few vectors, and a matrix of halves times one, without a
 * copy of the whole matrix, which is read once.
 *
 * Inner products with up to DIRECT vectors are the loops of one (gemv.c), of halves where
 * the processor has such loops, for a task's rows after each other, which stay in its
 * cache: each result has the bits that it has alone. Of more vectors of halves (sequences
 * that a language model writes side by side, a prompt), and where there are no loops, the
 * matrix's lines are widened some at a time (gemv_lines.c, gemm_lines.c). It must equal
 * the way by a float32 copy of everything, and of float32 and float64 that by panels or
 * BLAS (gemm.c), but for the order of sums.
 */
#include "device/cpu/gemm/gemm_few.h"

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/gemv/gemv.h"
#include "device/cpu/gemv/gemv_lines.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    LEAST = 1 << 14, /* elements of the matrix; below, a copy costs little */
    DIRECT = 8,      /* vectors by the loops of one, of halves, at most, and of floats, */
    FLOATS = 4,      /* which other ways need not convert */
    TIMES = 4,       /* rows by halves that the matrix has so many times of, at least: of
                        a square's, each is widened once either way */
    ROWS = 64,       /* of a matrix of float32 or float64, at least: threads share them */
    BY_DOTS = 1 << 14, /* elements of a task of the processor's dot products */
    AHEAD = 8          /* rows that are asked for early */
};

typedef struct {
    asn_dtype dtype;         /* of the matrix */
    int64_t rows, cols, row; /* of the matrix; bytes from row to row */
    const char *x;
    const void *v; /* cols elements (dots) or rows: of the result's dtype, of direct_task
                      bfloat16 */
    int64_t count; /* vectors, one after the other */
    char *out;
    int64_t out_step, out_row; /* from element to element, from vector to vector */
    int64_t tile;              /* rows of a direct_task */
} few;

/* Some elements of a row as float32. Of a part of each row, the rows to come are asked
 * for: they are far apart, and the processor sees no stride beyond a page. */
static void widen(const void *matrix, int64_t row, int64_t col, int64_t count,
                  float *to) {
    const few *h = matrix;
    const int item = asn_itemsize(h->dtype);
    const char *from = h->x + row * h->row + col * item;
    if (count < h->cols && row + AHEAD < h->rows)
        for (int64_t at = 0; at < count * item; at += 64)
            __builtin_prefetch(from + AHEAD * h->row + at);
    asn_kernels_get()->cast[h->dtype][ASN_F32](count, to, from, NULL, NULL);
}

/* Some rows by the processor's dot products of bfloat16, as the matrix lies: 4096 x 4096,
 * two threads, 1.40 -> 0.58 ms. */
static void direct_task(void *ctx, int64_t task) {
    const few *h = ctx;
    const int64_t row = task * h->tile, rows = asn_least(h->rows - row, h->tile);
    for (int64_t k = 0; k < h->count; k++)
        asn_context_get()->dots_by_vector(rows, h->cols, h->x + row * h->row, h->row,
                                          (const uint16_t *)h->v + k * h->cols,
                                          h->out + k * h->out_row + row * h->out_step,
                                          h->out_step);
}

/* The matrix as rows of contiguous elements; false: neither way is contiguous. turned:
 * they are the matrix's columns. */
static bool rows_of(const asnd_nd *m, int row_dim, few *h, bool *turned) {
    const int col_dim = 1 - row_dim, item = asn_itemsize(m->dtype);
    *turned = m->strides[col_dim] != item && m->shape[col_dim] != 1;
    if (*turned && m->strides[row_dim] != item && m->shape[row_dim] != 1) return false;
    int across = *turned ? row_dim : col_dim, along = 1 - across;
    h->x = m->data;
    h->rows = m->shape[along];
    h->cols = m->shape[across];
    h->row = m->strides[along];
    return true;
}

/* Whether the loops of one vector multiply by each. */
static bool is_direct(const few *h, bool turned) {
    return h->count <= (turned ? 1 : DIRECT) && asn_kernels_get()->gemv_dots[h->dtype];
}

/* The product with vectors of `item` bytes an element: by loops that read the matrix's
 * dtype, else by conversion of halves. */
static asn_status multiply(const few *h, bool turned, int item, double ns) {
    if (is_direct(h, turned)) {
        const asnd_gemv g = {.dtype = h->dtype,
                             .dots = !turned,
                             .rows = h->rows,
                             .cols = h->cols,
                             .x = h->x,
                             .x_row = h->row,
                             .v = h->v,
                             .v_step = item,
                             .count = h->count,
                             .v_next = (turned ? h->rows : h->cols) * item,
                             .out = h->out,
                             .out_step = h->out_step,
                             .out_next = h->out_row};
        return asn_gemv_run(&g, false);
    }
    const asnd_wide_lines l = {.widen = widen,
                               .matrix = h,
                               .lines = h->rows,
                               .length = h->cols,
                               .dots = !turned,
                               .v = h->v,
                               .count = h->count,
                               .out = h->out,
                               .out_step = h->out_step,
                               .out_row = h->out_row};
    return asn_gemm_lines(&l, ns);
}

/* The vectors as elements of dtype `to`, one after the other: where they lie, or
 * converted into new scratch memory, *room. along: the dimension of v that the matrix is
 * summed over. */
static asn_status vectors_of(few *h, const asnd_nd *v, int along, asn_dtype to,
                             char **room) {
    const int64_t length = v->shape[along], step = asn_itemsize(to);
    const bool alone = h->count == 1 || v->strides[1 - along] == length * step;
    *room = NULL;
    h->v = v->data;
    if (v->dtype == to && v->strides[along] == step && alone) return ASN_OK;
    *room = asn_scratch_take((size_t)(h->count * length * step));
    if (*room == NULL) return asn_error_set(ASN_ERR_MEMORY, "no memory for a vector");
    int64_t strides[2];
    strides[along] = step;
    strides[1 - along] = length * step;
    const asnd_nd copy = {
        .data = *room, .dtype = to, .ndim = 2, .shape = v->shape, .strides = strides};
    h->v = *room;
    return v->dtype == to ? asn_cpu_copy(&copy, v) : asn_cpu_cast(v, &copy, NULL);
}

/* Vectors that a matrix of this dtype meets here, at most. */
static int64_t most_of(asn_dtype matrix, int64_t most) {
    if (asn_is_half(matrix)) return most;
    return matrix == ASN_F32 || matrix == ASN_F64 ? FLOATS : 0;
}

/* Which of a and b is the matrix, described, and *v the vectors, whose dimension *along
 * it is summed over; its rows or columns are contiguous. False: it is another product. */
static bool describe(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t, int64_t most,
                     few *h, const asnd_nd **v, int *along, bool *turned) {
    if (t->ndim != 2) return false;
    /* out = M v for each v: M is a, or b with its dimensions exchanged. */
    const bool columns = b->shape[1] <= most_of(a->dtype, most),
               lines = a->shape[0] <= most_of(b->dtype, most),
               column = columns && (!lines || b->shape[1] <= a->shape[0]);
    const asnd_nd *m = column ? a : b;
    *v = column ? b : a;
    *along = column ? 0 : 1;
    *h = (few){.dtype = m->dtype,
               .count = (*v)->shape[1 - *along],
               .out = t->data,
               .out_step = t->strides[column ? 0 : 1],
               .out_row = t->strides[column ? 1 : 0]};
    if ((!columns && !lines) || asn_nd_size(m) < LEAST ||
        !rows_of(m, column ? 0 : 1, h, turned))
        return false;
    const int64_t across = *turned ? h->cols : h->rows;
    if (asn_is_half(m->dtype))
        return t->dtype == ASN_F32 &&
               (h->count <= ASN_WIDE_FEW || across >= TIMES * h->count) &&
               ((*v)->dtype == m->dtype || (*v)->dtype == ASN_F32);
    return t->dtype == m->dtype && (*v)->dtype == m->dtype && h->count > 1 && !*turned &&
           h->rows >= ROWS;
}

asn_status asn_gemm_few(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t,
                        int64_t most, bool *done) {
    few h;
    const asnd_nd *v;
    int along;
    bool turned;
    *done = describe(a, b, t, most, &h, &v, &along, &turned);
    if (!*done) return ASN_OK;
    h.tile = asn_round_up(asn_least(h.rows, BY_DOTS / h.cols + 1), 4);
    const double ns = 0.15 * (double)h.rows * (double)h.cols * (double)h.count;
    const bool by_processor = v->dtype == ASN_BF16 && !turned && h.count <= DIRECT &&
                              asn_context_get()->dots_by_vector;
    char *room;
    asn_status status =
        vectors_of(&h, v, along, by_processor ? ASN_BF16 : t->dtype, &room);
    if (status == ASN_OK && by_processor)
        asn_pool_run(direct_task, &h, asn_pieces(h.rows, h.tile), ns);
    else if (status == ASN_OK)
        status = multiply(&h, turned, asn_itemsize(t->dtype), ns);
    if (room) asn_scratch_give(room);
    *done = status == ASN_OK;
    return status;
}
