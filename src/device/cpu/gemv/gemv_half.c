/* CPU device: a matrix of halves times a vector or a few, without a copy of the whole
 * matrix.
 *
 * Of one vector the loops of float32 widen elements as they load them (gemv.c), where the
 * processor has such loads. Of a few (sequences that a language model writes side by
 * side), and where it has none, the matrix's lines are widened some at a time
 * (gemv_lines.c). Either way the matrix is read once, with half the bytes. It must equal
 * the way by a float32 copy of everything (gemm.c), but for the order of sums.
 */
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
    ITEM = 2,        /* bytes of a half */
    LEAST = 1 << 14, /* elements of the matrix; below, a copy costs little */
    DIRECT = 1 << 14 /* elements of a task of the processor's dot products */
};

typedef struct {
    asn_dtype half;
    int64_t rows, cols, row; /* of the matrix; bytes from row to row */
    const char *x;
    const void *v; /* cols elements (dots) or rows: float32, of direct_task bfloat16 */
    int64_t count; /* vectors, one after the other; one of direct_task */
    char *out;
    int64_t out_step, out_row; /* from element to element, from vector to vector */
    int64_t tile;              /* rows of a direct_task */
} halves;

/* Some elements of a row as float32. */
static void widen(const void *matrix, int64_t row, int64_t col, int64_t count,
                  float *to) {
    const halves *h = matrix;
    asn_kernels_get()->cast[h->half][ASN_F32](count, to, h->x + row * h->row + col * ITEM,
                                              NULL, NULL);
}

/* Some rows by the processor's dot products of bfloat16, as the matrix lies: 4096 x 4096,
 * two threads, 1.40 -> 0.58 ms. */
static void direct_task(void *ctx, int64_t task) {
    const halves *h = ctx;
    const int64_t row = task * h->tile, rows = asn_least(h->rows - row, h->tile);
    asn_context_get()->dots_by_vector(rows, h->cols, h->x + row * h->row, h->row, h->v,
                                      h->out + row * h->out_step, h->out_step);
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
    return asn_wide_lines_run(&l, ns);
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
    const bool columns = b->shape[1] <= ASN_WIDE_FEW && asn_is_half(a->dtype),
               lines = a->shape[0] <= ASN_WIDE_FEW && asn_is_half(b->dtype),
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
    if (!turned && h.cols > ASN_WIDE_LONGEST) return ASN_OK;
    h.tile = asn_round_up(asn_least(h.rows, DIRECT / h.cols + 1), 4);
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
