/* CPU device: complex products as four real ones (gemm_panels.h).
 *
 * B's real and imaginary parts are packed apart, a block of k at a time, for everybody;
 * A's are parted for BLOCK_ROWS rows. c = (ar br - ai bi) + i (ar bi + ai br) is added up
 * in planes of those rows and put together again. The multiplications are those of the
 * complex product, so their exceptions are, too.
 */
#include "device/cpu/gemm/gemm_complex.h"

#include <stdatomic.h>

#include "device/cpu/threads.h"
#include "device/cpu/scratch.h"

enum { MOST_TERMS = 384, BLOCK_ROWS = 128 };

typedef struct {
    const asnd_panels_kernels *by;
    const asnd_panels *x; /* of complex elements */
    int64_t term, terms, vectors;
    char *packed[2]; /* B's parts */
    atomic_bool failed;
} region;

/* planes: a row of `cols` real, then of as many imaginary numbers, for every row. From
 * complex elements `row` and `col` bytes apart. */
static void part(const char *from, int64_t rows, int64_t cols, int64_t row, int64_t col,
                 char *planes) {
    double *to = (double *)planes;
    bool columns = row == 2 * sizeof(double) && col != row;
    for (int64_t i = 0; i < rows && !columns; i++, from += row, to += 2 * cols) {
        const double *at = (const double *)from;
        if (col == 2 * sizeof(double))
            for (int64_t j = 0; j < cols; j++)
                to[j] = at[2 * j], to[cols + j] = at[2 * j + 1];
        else
            for (int64_t j = 0; j < cols; j++, at = (const double *)(from + j * col))
                to[j] = at[0], to[cols + j] = at[1];
    }
    enum { TILE = 8 }; /* columns lie in memory: a line of them at a time */
    for (int64_t i = 0; i < rows && columns; i += TILE) {
        int64_t end = i + TILE < rows ? i + TILE : rows;
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = i; k < end; k++) {
                const double *at = (const double *)(from + j * col) + 2 * k;
                to[k * 2 * cols + j] = at[0];
                to[k * 2 * cols + cols + j] = at[1];
            }
    }
}

/* The planes' sums to C's rows, or onto what is there (adds). */
static void join(const char *planes, int64_t rows, int64_t cols, char *to, int64_t row,
                 bool adds) {
    const double *from = (const double *)planes;
    for (int64_t i = 0; i < rows; i++, to += row, from += 2 * cols) {
        double *at = (double *)to;
        if (adds)
            for (int64_t j = 0; j < cols; j++)
                at[2 * j] += from[j], at[2 * j + 1] += from[cols + j];
        else
            for (int64_t j = 0; j < cols; j++)
                at[2 * j] = from[j], at[2 * j + 1] = from[cols + j];
    }
}

/* A group of vectors of B, its real parts and then the imaginary ones, which lie item
 * bytes further. */
static void pack_chunk(void *ctx, int64_t chunk) {
    const region *r = ctx;
    int64_t first = chunk * ASN_PANELS_GROUP, end = first + ASN_PANELS_GROUP;
    asnd_panels x = *r->x;
    for (int part = 0; part < 2; part++, x.b += r->by->item)
        r->by->pack(&x, r->term, r->terms, first, end < r->vectors ? end : r->vectors,
                    r->packed[part] + first * r->terms * r->by->lanes * r->by->item);
}

/* The sums of some rows over r's terms. a: planes, row by row; c: likewise. Four real
 * products: ar br, then ai bi subtracted; ar bi, then ai br added. */
static void multiply(const region *r, int64_t rows, const char *a, char *c, char *room) {
    int64_t item = r->by->item, n = r->x->n, terms = r->terms;
    for (int second = 0; second < 2; second++)
        for (int imaginary = 0; imaginary < 2; imaginary++) {
            asnd_panels y = {.m = rows, .n = n, .k = terms, .alpha = 1, .beta = second};
            y.a = a + second * terms * item;
            y.a_row = 2 * terms * item;
            y.a_col = item;
            y.c = c + imaginary * n * item;
            y.c_row = 2 * n * item;
            if (second && !imaginary) y.alpha = -1;
            r->by->rows(&y, 0, terms, 0, rows, 0, r->vectors,
                        r->packed[second ^ imaginary], room);
        }
}

/* BLOCK_ROWS rows of C for this block of k. The scratch memory holds the rows' room for
 * packing, A's planes and C's. */
static void rows_chunk(void *ctx, int64_t chunk) {
    region *r = ctx;
    const asnd_panels *x = r->x;
    int64_t first = chunk * BLOCK_ROWS, rows = x->m - first, item = r->by->item;
    if (rows > BLOCK_ROWS) rows = BLOCK_ROWS;
    size_t plane = (size_t)((rows * r->terms * item + 63) / 64 * 64);
    char *room = asn_scratch_take(3 * plane + (size_t)(rows * 2 * x->n * item));
    if (room == NULL) {
        atomic_store(&r->failed, true);
        return;
    }
    char *a = room + plane, *c = a + 2 * plane;
    part(x->a + first * x->a_row + r->term * x->a_col, rows, r->terms, x->a_row, x->a_col,
         a);
    multiply(r, rows, a, c, room);
    join(c, rows, x->n, x->c + first * x->c_row, x->c_row, r->term > 0);
    asn_scratch_give(room);
}

asn_status asn_gemm_complex(const asnd_panels_kernels *by, const asnd_panels *x) {
    int64_t parts = (x->k + MOST_TERMS - 1) / MOST_TERMS,
            longest = (x->k + parts - 1) / parts;
    region r = {.by = by, .x = x, .vectors = (x->n + by->lanes - 1) / by->lanes};
    atomic_init(&r.failed, false);
    size_t plane = (size_t)(longest * r.vectors * by->lanes * by->item);
    r.packed[0] = asn_scratch_take(2 * plane);
    if (r.packed[0] == NULL) return ASN_ERR_MEMORY;
    r.packed[1] = r.packed[0] + plane;
    for (int64_t p = 0; p < parts && !atomic_load(&r.failed); p++, r.term += r.terms) {
        r.terms = x->k / parts + (p < x->k % parts);
        double ns = (double)x->m * (double)x->n * (double)r.terms / 13;
        asn_pool_run(pack_chunk, &r,
                     (r.vectors + ASN_PANELS_GROUP - 1) / ASN_PANELS_GROUP,
                     (double)(r.terms * x->n) * 2);
        asn_pool_run(rows_chunk, &r, (x->m + BLOCK_ROWS - 1) / BLOCK_ROWS, ns);
    }
    asn_scratch_give(r.packed[0]);
    if (!atomic_load(&r.failed)) return ASN_OK;
    return asn_error_set(ASN_ERR_MEMORY, "matmul: out of memory");
}
