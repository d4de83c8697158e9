/* CPU device: products of int8 in int32 (see gemm_int8.h).
 *
 * With AVX-512 VNNI the dot products of four bytes do it (gemm_dot.h). Otherwise a few
 * rows times a matrix leave that where it is (gemv_int8.h), and of others both are
 * widened to int16 and packed, a by slabs of six rows, b by panels of sixteen columns,
 * pairs of k together, so that one instruction (pmaddwd) multiplies and adds a pair:
 * exact in int32. A piece of k of a panel stays in L1, that of a block of slabs in L2.
 * Tasks are groups of panels and parts of the rows, cut by the shape alone. Where b's
 * rows or columns are contiguous, whole panels are packed by the context's loops, as
 * pack_panel does it, all panels of a group together: a line of b's memory is read once.
 */
#include "device/cpu/gemm/gemm_int8.h"

#include <string.h>

#include "base/alloc.h"
#include "device/cpu/context.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/gemm/gemm_dot.h"
#include "device/cpu/gemv/gemv_int8.h"
#include "device/cpu/threads.h"

enum {
    PIECE = 512,                /* of k: 16 KB of a panel */
    GROUP = 8,                  /* panels of a task: 128 KB */
    BLOCK = 32 * ASN_INT8_ROWS, /* rows of a that stay in L2: 192 KB */
    PART = 4 * BLOCK            /* rows of a task, if there are tasks to share out */
};

typedef struct {
    const asnd_nd *a, *b, *c;
    asnd_int8_tile tile;
    int16_t *slabs; /* a, packed */
    int64_t m, n, k, pairs, slabs_of_item, groups, parts, part_rows;
    int failed;
} int8_run;

/* The general tile, as plain C: what the others must equal. Sums wrap by way of
 * uint32. */
void asn_int8_tile_baseline(int64_t pairs, const int16_t *a, const int16_t *panel,
                            int32_t *out) {
    memset(out, 0, ASN_INT8_ROWS * ASN_INT8_COLUMNS * sizeof *out);
    for (int r = 0; r < ASN_INT8_ROWS; r++) {
        int32_t *to = out + r * ASN_INT8_COLUMNS;
        for (int64_t p = 0; p < pairs; p++) {
            const int16_t *pair = a + 2 * (ASN_INT8_ROWS * p + r);
            const int16_t *b = panel + 2 * ASN_INT8_COLUMNS * p;
            for (int c = 0; c < ASN_INT8_COLUMNS; c++)
                to[c] = (int32_t)((uint32_t)to[c] + (uint32_t)(pair[0] * b[2 * c]) +
                                  (uint32_t)(pair[1] * b[2 * c + 1]));
        }
    }
}

/* One slab of a; rows and an element of k beyond its end are 0. */
static void pack_slab(void *ctx, int64_t task) {
    const int8_run *r = ctx;
    int nd = r->a->ndim;
    int64_t item = task / r->slabs_of_item,
            first = task % r->slabs_of_item * ASN_INT8_ROWS;
    int64_t row = r->a->strides[nd - 2], col = r->a->strides[nd - 1];
    const int8_t *a = (const int8_t *)asn_nd_item(r->a, 2, item) + first * row;
    int16_t *slab = r->slabs + task * r->pairs * 2 * ASN_INT8_ROWS;
    for (int i = 0; i < ASN_INT8_ROWS; i++, a += row) {
        int16_t *to = slab + 2 * i;
        int64_t count = first + i < r->m ? r->k : 0;
        for (int64_t p = 0; p < count / 2; p++) {
            to[2 * ASN_INT8_ROWS * p] = a[2 * p * col];
            to[2 * ASN_INT8_ROWS * p + 1] = a[(2 * p + 1) * col];
        }
        for (int64_t k = count / 2 * 2; k < 2 * r->pairs; k++)
            to[k / 2 * 2 * ASN_INT8_ROWS + k % 2] = k < count ? a[k * col] : (int16_t)0;
    }
}

/* Rows [from, count) of a piece of b, columns [0, columns), as pairs. */
static void pack_panel(const char *b, int64_t row, int64_t col, int64_t from,
                       int64_t count, int64_t columns, int16_t *panel) {
    int16_t *to = panel + from * ASN_INT8_COLUMNS;
    memset(to, 0, (size_t)((count - from + 1) / 2 * 2 * ASN_INT8_COLUMNS) * sizeof *to);
    for (int64_t i = from; i < count; i++) {
        to = panel + i / 2 * 2 * ASN_INT8_COLUMNS + i % 2;
        for (int64_t c = 0; c < columns; c++)
            to[2 * c] = *(const int8_t *)(b + i * row + c * col);
    }
}

void asn_int8_weave_baseline(int64_t pairs, int64_t panels, const char *b, int64_t row,
                             int16_t *packed, int64_t step) {
    for (int64_t i = 0; i < panels; i++)
        pack_panel(b + i * ASN_INT8_COLUMNS, row, 1, 0, 2 * pairs, ASN_INT8_COLUMNS,
                   packed + i * step);
}

void asn_int8_turn_baseline(int64_t sixteens, const char *b, int64_t col,
                            int16_t *panel) {
    pack_panel(b, 1, col, 0, 16 * sixteens, ASN_INT8_COLUMNS, panel);
}

/* `count` rows of some columns of b, as panels of PIECE rows. */
static void pack_group(const char *b, int64_t row, int64_t col, int64_t count,
                       int64_t columns, int16_t *packed) {
    const asnd_context *context = asn_context_get();
    const int64_t whole = columns / ASN_INT8_COLUMNS * ASN_INT8_COLUMNS;
    int64_t done = 0; /* rows of whole panels */
    if (col == 1) {
        context->int8_weave(count / 2, whole / ASN_INT8_COLUMNS, b, row, packed,
                            ASN_INT8_COLUMNS * PIECE);
        done = count / 2 * 2;
    } else if (row == 1) {
        for (int64_t at = 0; at < whole; at += ASN_INT8_COLUMNS)
            context->int8_turn(count / 16, b + at * col, col, packed + at * PIECE);
        done = count / 16 * 16;
    }
    for (int64_t at = 0; at < columns; at += ASN_INT8_COLUMNS)
        pack_panel(b + at * col, row, col, at < whole ? done : 0, count,
                   columns - at < ASN_INT8_COLUMNS ? columns - at : ASN_INT8_COLUMNS,
                   packed + at * PIECE);
}

/* Sums of one tile into c, onto what former pieces of k left. */
static void store_tile(char *c, int64_t row, int64_t col, int rows, int64_t columns,
                       const int32_t *sums, bool first) {
    for (int r = 0; r < rows; r++) {
        const uint32_t *sum = (const uint32_t *)sums + r * ASN_INT8_COLUMNS;
        uint32_t *line = (uint32_t *)(void *)(c + r * row);
        if (col == sizeof *line && columns == ASN_INT8_COLUMNS) {
            for (int j = 0; j < ASN_INT8_COLUMNS; j++)
                line[j] = first ? sum[j] : line[j] + sum[j];
            continue;
        }
        for (int64_t j = 0; j < columns; j++) {
            uint32_t *to = (uint32_t *)(void *)((char *)line + j * col);
            *to = first ? sum[j] : *to + sum[j];
        }
    }
}

/* A piece of k of some packed panels times rows [low, high) of slabs. */
static void run_piece(const int8_run *r, const int16_t *slabs, char *c,
                      const int16_t *packed, int64_t columns, int64_t from,
                      const int64_t rows[2]) {
    int64_t c_row = r->c->strides[r->c->ndim - 2], c_col = r->c->strides[r->c->ndim - 1];
    int64_t count = r->k - from < PIECE ? r->k - from : PIECE;
    int32_t sums[ASN_INT8_ROWS * ASN_INT8_COLUMNS];
    for (int64_t low = rows[0]; low < rows[1]; low += BLOCK) {
        int64_t high = low + BLOCK < rows[1] ? low + BLOCK : rows[1];
        for (int64_t j = 0; j < columns; j += ASN_INT8_COLUMNS) {
            const int16_t *panel = packed + j * PIECE;
            int64_t wide =
                columns - j < ASN_INT8_COLUMNS ? columns - j : ASN_INT8_COLUMNS;
            for (int64_t i = low; i < high; i += ASN_INT8_ROWS) {
                int n = high - i < ASN_INT8_ROWS ? (int)(high - i) : ASN_INT8_ROWS;
                r->tile((count + 1) / 2, slabs + i * 2 * r->pairs + from * ASN_INT8_ROWS,
                        panel, sums);
                store_tile(c + i * c_row + j * c_col, c_row, c_col, n, wide, sums,
                           from == 0);
            }
        }
    }
}

/* A task is a group of panels for some rows of one product: its panels are packed piece
 * by piece of k, for these rows alone. */
static void run_task(void *ctx, int64_t task) {
    int8_run *r = ctx;
    int64_t part = task % r->parts, group = task / r->parts % r->groups;
    int64_t item = task / r->parts / r->groups;
    const int16_t *slabs =
        r->slabs + item * r->slabs_of_item * r->pairs * 2 * ASN_INT8_ROWS;
    const char *b = asn_nd_item(r->b, 2, item);
    char *c = asn_nd_item(r->c, 2, item);
    int64_t width = GROUP * ASN_INT8_COLUMNS, j = group * width;
    int64_t columns = r->n - j < width ? r->n - j : width;
    int64_t rows[2] = {part * r->part_rows, (part + 1) * r->part_rows};
    int64_t row = r->b->strides[r->b->ndim - 2], col = r->b->strides[r->b->ndim - 1];
    if (rows[1] > r->m) rows[1] = r->m;
    char *memory = asn_malloc((size_t)(width * PIECE) * sizeof(int16_t) + 64);
    if (memory == NULL) {
        __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    int16_t *packed = (int16_t *)(void *)(memory + (64 - ((uintptr_t)memory & 63)) % 64);
    for (int64_t from = 0; from < r->k; from += PIECE) {
        int64_t count = r->k - from < PIECE ? r->k - from : PIECE;
        pack_group(b + from * row + j * col, row, col, count, columns, packed);
        run_piece(r, slabs, c + j * r->c->strides[r->c->ndim - 1], packed, columns, from,
                  rows);
    }
    asn_free(memory);
}

/* By pairs of int16: A is packed once for all tasks. k > 0. */
static asn_status multiply_pairs(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
    int64_t batch = 1, width = GROUP * ASN_INT8_COLUMNS;
    int nd = c->ndim;
    int8_run r = {.a = a,
                  .b = b,
                  .c = c,
                  .tile = asn_context_get()->int8_tile,
                  .m = c->shape[nd - 2],
                  .n = c->shape[nd - 1],
                  .k = a->shape[nd - 1]};
    for (int d = 0; d < nd - 2; d++)
        batch *= c->shape[d];
    r.pairs = (r.k + 1) / 2;
    r.slabs_of_item = (r.m + ASN_INT8_ROWS - 1) / ASN_INT8_ROWS;
    r.slabs = asn_malloc((size_t)(batch * r.slabs_of_item * r.pairs * 2 * ASN_INT8_ROWS) *
                         sizeof *r.slabs);
    if (r.slabs == NULL) return ASN_ERR_MEMORY;
    double bytes = (double)batch * (double)r.m * (double)r.k;
    asn_pool_run(pack_slab, &r, batch * r.slabs_of_item, bytes);
    r.groups = (r.n + width - 1) / width;
    r.part_rows = r.groups * batch >= 16 ? r.m : PART;
    r.parts = (r.m + r.part_rows - 1) / r.part_rows;
    asn_pool_run(run_task, &r, batch * r.groups * r.parts, bytes * (double)r.n * 0.015);
    asn_free(r.slabs);
    return r.failed ? asn_error_set(ASN_ERR_MEMORY, "matmul: no memory for a panel")
                    : ASN_OK;
}

/* A row-major copy of x; batches that are one matrix stay so. The caller frees
 * copy->data. */
static asn_status copy_rows(const asnd_nd *x, asnd_nd *copy, int64_t *shape,
                            int64_t *strides) {
    int64_t step = 1;
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (d < x->ndim - 2 && x->strides[d] == 0) shape[d] = 1;
        strides[d] = step;
        step *= shape[d];
    }
    *copy = (asnd_nd){asn_malloc((size_t)step), x->ndim, x->dtype, shape, strides};
    if (copy->data == NULL) return ASN_ERR_MEMORY;
    asnd_nd once = *x;
    once.shape = shape;
    ASN_TRY(asn_cpu_copy(copy, &once));
    for (int d = 0; d < x->ndim - 2; d++)
        if (shape[d] == 1) strides[d] = 0;
    copy->shape = x->shape;
    return ASN_OK;
}

/* By dot products of four bytes, of whole rows of a and c. *done false: the processor has
 * none, or the product is small; nothing was written then. */
static asn_status multiply_dots(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c,
                                bool *done) {
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
    asnd_nd rows = {.data = NULL};
    *done = false;
    if (!asn_context_get()->dots_of_bytes) return ASN_OK;
    if (a->strides[a->ndim - 1] == 1) return asn_gemm_dot(a, b, c, done);
    asn_status status = copy_rows(a, &rows, shape, strides);
    if (status == ASN_OK) status = asn_gemm_dot(&rows, b, c, done);
    asn_free(rows.data);
    return status;
}

asn_status asn_cpu_matmul_int8(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
    static const char zero[4];
    int nd = c->ndim;
    bool fits = nd >= 2 && a->ndim == nd && b->ndim == nd && a->dtype == ASN_I8 &&
                b->dtype == ASN_I8 && c->dtype == ASN_I32 &&
                a->shape[nd - 1] == b->shape[nd - 2] &&
                a->shape[nd - 2] == c->shape[nd - 2] &&
                b->shape[nd - 1] == c->shape[nd - 1];
    for (int d = 0; d < nd - 2 && fits; d++)
        fits = a->shape[d] == c->shape[d] && b->shape[d] == c->shape[d];
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "matmul: a %d-d %s times a %d-d %s does not "
                             "give the %d-d %s asked for",
                             a->ndim, asn_dtype_name(a->dtype), b->ndim,
                             asn_dtype_name(b->dtype), nd, asn_dtype_name(c->dtype));
    if (asn_nd_size(c) == 0) return ASN_OK;
    if (a->shape[nd - 1] == 0) return asn_cpu_fill(c, zero);
    bool done;
    ASN_TRY(multiply_dots(a, b, c, &done));
    if (!done) ASN_TRY(asn_int8_few_rows(a, b, c, &done));
    return done ? ASN_OK : multiply_pairs(a, b, c);
}
