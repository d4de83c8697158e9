/* CPU device: how a matrix product is cut into tiles, and one of them, by panels, BLAS,
 * our loops or inner products (see gemm.c). But for panels every call is single-threaded.
 */
#include "device/cpu/gemm/gemm_tiles.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/forks.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_complex.h"
#include "device/cpu/gemv/gemv.h"
#include "device/cpu/threads.h"

enum { LEAST_PART = 16384, MAX_PARTS = 1024 };         /* of a long inner product */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* CBLAS's */

/* CBLAS's functions of the dtypes, as cblas.h declares them; complex scalars are passed
 * by address. */
typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha,
                         const double *a, int lda, const double *b, int ldb, double beta,
                         double *c, int ldc);
typedef void (*zgemm_fn)(int order, int ta, int tb, int m, int n, int k,
                         const void *alpha, const void *a, int lda, const void *b,
                         int ldb, const void *beta, void *c, int ldc);

typedef struct {
    sgemm_fn s;
    dgemm_fn d;
    zgemm_fn c, z;
} gemm_functions;
static gemm_functions gemm;
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER; /* written under it */
ASN_FORK_TAKES(load, &load_lock, ASN_FORK_LEAF)

/* Once; an error leaves it to the next call to try again. */
asn_status asn_gemm_load(void) {
    static int loaded;
    if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE)) return ASN_OK;
    gemm_functions f = {0};
    ASN_TRY(asn_blas_symbol("cblas_sgemm", (void **)&f.s));
    ASN_TRY(asn_blas_symbol("cblas_dgemm", (void **)&f.d));
    ASN_TRY(asn_blas_symbol("cblas_cgemm", (void **)&f.c));
    ASN_TRY(asn_blas_symbol("cblas_zgemm", (void **)&f.z));
    pthread_mutex_lock(&load_lock);
    if (!loaded) gemm = f; /* another thread may be reading it by now */
    __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&load_lock);
    return ASN_OK;
}

bool asn_matrix_reads(const asnd_matrix *x, int64_t rows, int64_t cols, int item) {
    bool by_rows = (x->col == item || cols == 1) && (rows == 1 || x->row % item == 0) &&
                   (rows == 1 || x->row >= cols * item);
    bool by_cols = (x->row == item || rows == 1) && (cols == 1 || x->col % item == 0) &&
                   (cols == 1 || x->col >= rows * item);
    int64_t step = x->col > x->row ? x->col : x->row;
    return (by_rows || by_cols) && step / item < INT_MAX && rows < INT_MAX &&
           cols < INT_MAX;
}

/* CBLAS's leading dimension, in elements, and whether the matrix is transposed to it;
 * asn_matrix_reads has said yes. */
static int lead_of(const asnd_matrix *x, int64_t rows, int64_t cols, int item,
                   int *trans) {
    bool by_rows = (x->col == item || cols == 1) && (rows == 1 || x->row >= cols * item);
    int64_t lead;
    if (by_rows) {
        *trans = NO_TRANS;
        lead = rows == 1 ? cols : x->row / item;
    } else {
        *trans = TRANS;
        lead = cols == 1 ? rows : x->col / item;
    }
    return lead < 1 ? 1 : (int)lead;
}

/* CBLAS is asked for C in row-major order; a C whose columns are contiguous is its
 * transpose. */
static void blas_tile(const asnd_product *p, const asnd_matrix *a, const asnd_matrix *b,
                      const asnd_matrix *c, int64_t m, int64_t n) {
    int ta, tb, tc, k = (int)p->k;
    int lda = lead_of(a, m, k, p->item, &ta), ldb = lead_of(b, k, n, p->item, &tb);
    int ldc = lead_of(c, m, n, p->item, &tc), rows = (int)m, cols = (int)n;
    const void *x = a->data, *y = b->data;
    if (tc == TRANS) { /* C^T = B^T A^T */
        x = b->data;
        y = a->data;
        int t = ta, l = lda;
        ta = tb == TRANS ? NO_TRANS : TRANS;
        tb = t == TRANS ? NO_TRANS : TRANS;
        lda = ldb;
        ldb = l;
        rows = (int)n;
        cols = (int)m;
    }
    float fa, fb;
    double da, db;
    switch (p->dtype) {
    case ASN_F32:
        memcpy(&fa, p->alpha, sizeof fa);
        memcpy(&fb, p->beta, sizeof fb);
        gemm.s(ROW_MAJOR, ta, tb, rows, cols, k, fa, x, lda, y, ldb, fb, (float *)c->data,
               ldc);
        break;
    case ASN_F64:
        memcpy(&da, p->alpha, sizeof da);
        memcpy(&db, p->beta, sizeof db);
        gemm.d(ROW_MAJOR, ta, tb, rows, cols, k, da, x, lda, y, ldb, db,
               (double *)c->data, ldc);
        break;
    default:
        (p->dtype == ASN_C64 ? gemm.c : gemm.z)(ROW_MAJOR, ta, tb, rows, cols, k,
                                                p->alpha, x, lda, y, ldb, p->beta,
                                                c->data, ldc);
    }
}

/* Inner products: one of the matrices is a vector, the other's rows run along k. */
static void dot_tile(const asnd_product *p, const asnd_matrix *a, const asnd_matrix *b,
                     const asnd_matrix *c, int64_t m, int64_t n) {
    asnd_dot_fn dot = asn_kernels_get()->dot[p->dtype];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            dot(p->k, a->data + i * a->row, a->col, b->data + j * b->col, b->row,
                c->data + i * c->row + j * c->col);
}

typedef struct {
    asnd_dot_fn dot;
    int64_t n, a_step, b_step;
    const char *a, *b;
    int item;
    int64_t part; /* terms of a partial sum */
    char *sums;
} long_dot;

/* One part's inner product, to its place in d->sums. */
static void dot_part(void *ctx, int64_t part) {
    long_dot *d = ctx;
    int64_t first = part * d->part, n = d->n - first;
    d->dot(n < d->part ? n : d->part, d->a + first * d->a_step, d->a_step,
           d->b + first * d->b_step, d->b_step, d->sums + part * d->item);
}

/* A long inner product in parts, which threads share. Parts are LEAST_PART terms or a
 * power of two times as many, at most MAX_PARTS: by the length alone. c receives one
 * element. */
static void dot_in_parts(long_dot *d, asn_dtype dtype, char *c) {
    _Alignas(64) char sums[MAX_PARTS * 16];
    d->item = asn_itemsize(dtype);
    d->sums = sums;
    d->part = LEAST_PART;
    while (d->n > d->part * MAX_PARTS)
        d->part *= 2;
    int64_t parts = (d->n + d->part - 1) / d->part;
    asn_pool_run(dot_part, d, parts, (double)(2 * d->n * d->item) * 0.015);
    double total[2];
    asn_kernels_get()->sum[dtype](parts, total, sums);
    const float single[2] = {(float)total[0], (float)total[1]};
    bool narrow = dtype == ASN_F32 || dtype == ASN_C64;
    memcpy(c, narrow ? (const void *)single : total, (size_t)d->item);
}

bool asn_product_dot(const asnd_product *p) {
    const asnd_kernels *k = asn_kernels_get();
    if (!p->by_dots || p->m * p->n * p->batch != 1 || p->k < 2 * LEAST_PART ||
        !k->sum[p->dtype])
        return false;
    long_dot d = {.dot = k->dot[p->dtype],
                  .n = p->k,
                  .a_step = p->a.col,
                  .b_step = p->b.row,
                  .a = p->a.data,
                  .b = p->b.data};
    dot_in_parts(&d, p->dtype, p->c.data);
    return true;
}

void asn_cpu_vdot(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
    asnd_dot_fn vdot = asn_kernels_get()->vdot[c->dtype];
    if (a->shape[1] < 2 * LEAST_PART) {
        vdot(a->shape[1], a->data, a->strides[1], b->data, b->strides[0], c->data);
        return;
    }
    long_dot d = {.dot = vdot,
                  .n = a->shape[1],
                  .a_step = a->strides[1],
                  .b_step = b->strides[0],
                  .a = a->data,
                  .b = b->data};
    dot_in_parts(&d, c->dtype, c->data);
}

/* The loops of small products, or the general one of kernels.h. */
static void loop_tile(const asnd_product *p, const asnd_matrix *a, const asnd_matrix *b,
                      const asnd_matrix *c, int64_t m, int64_t n) {
    asnd_matmul s = {m, n, p->k, a->row, a->col, b->row, c->row};
    (p->small ? p->small : asn_kernels_get()->matmul[p->dtype])(&s, a->data, b->data,
                                                                c->data);
}

/* A matrix of contiguous rows times a column, or a row times it. */
static asnd_gemv gemv_of(const asnd_product *p, const asnd_matrix *a,
                         const asnd_matrix *b, const asnd_matrix *c) {
    bool column = p->n == 1;
    const asnd_matrix *x = column ? a : b;
    return (asnd_gemv){.dtype = p->dtype,
                       .dots = column,
                       .rows = column ? p->m : p->k,
                       .cols = column ? p->k : p->n,
                       .x = x->data,
                       .x_row = x->row,
                       .v = column ? b->data : a->data,
                       .v_step = column ? b->row : a->col,
                       .count = 1,
                       .out = c->data,
                       .out_step = column ? c->row : c->col};
}

/* One element of float32 or float64 as a double. */
static double number(asn_dtype dt, const char *bytes) {
    float single;
    double twice;
    memcpy(&single, bytes, sizeof single);
    memcpy(&twice, bytes, sizeof twice);
    return dt == ASN_F32 ? (double)single : twice;
}

/* The transpose, in the same memory. */
static asnd_matrix turned(const asnd_matrix *x) {
    return (asnd_matrix){x->data, x->col, x->row};
}

/* Panels want contiguous rows of C: where its columns are, the transposed product is
 * computed. */
static asn_status panels_tile(const asnd_product *p, const asnd_matrix *a,
                              const asnd_matrix *b, const asnd_matrix *c, int64_t m,
                              int64_t n) {
    asnd_matrix left = *a, right = *b;
    bool turns = c->col != p->item && n > 1; /* C^T = B^T A^T */
    if (turns) {
        left = turned(b);
        right = turned(a);
    }
    asnd_panels x = {.m = turns ? n : m,
                     .n = turns ? m : n,
                     .k = p->k,
                     .a = left.data,
                     .a_row = left.row,
                     .a_col = left.col,
                     .b = right.data,
                     .b_row = right.row,
                     .b_col = right.col,
                     .c = c->data,
                     .c_row = turns ? c->col : c->row};
    x.symmetric = p->symmetric;
    x.alpha = number(p->dtype, p->alpha);
    x.beta = number(p->dtype, p->beta);
    if (p->dtype >= ASN_C64) return asn_gemm_complex(p->by_panels, &x);
    return asn_gemm_panels(p->by_panels, &x);
}

/* ---- symmetric products */

bool asn_product_is_symmetric(const asnd_product *p) {
    enum { LEAST = 160 };
    static const char zero[16];
    bool halves = p->by_blas || (p->by_panels && p->dtype < ASN_C64);
    return halves && p->m == p->n && p->m >= LEAST && p->batch == 1 &&
           p->a.data == p->b.data && p->a.row == p->b.col && p->a.col == p->b.row &&
           !memcmp(p->beta, zero, sizeof zero);
}

/* Blocks of rows, copied from above the diagonal by the copy that knows transposes; the
 * block on the diagonal element by element. */
asn_status asn_product_mirror(const asnd_product *p) {
    enum { BLOCK = 64 };
    asnd_matrix right = p->c;
    if (p->by_panels && right.col != p->item) right = turned(&right); /* as was c */
    const asnd_matrix *c = &right;
    for (int64_t i = 0; i < p->m; i += BLOCK) {
        int64_t rows = p->m - i < BLOCK ? p->m - i : BLOCK;
        int64_t shape[2] = {rows, i}, strides[2] = {c->row, c->col},
                across[2] = {c->col, c->row};
        asnd_nd below = {c->data + i * c->row, 2, p->dtype, shape, strides},
                above = {c->data + i * c->col, 2, p->dtype, shape, across};
        if (i) ASN_TRY(asn_cpu_copy(&below, &above));
        for (int64_t y = i; y < i + rows; y++)
            for (int64_t x = i; x < y; x++)
                memcpy(c->data + y * c->row + x * c->col,
                       c->data + x * c->row + y * c->col, (size_t)p->item);
    }
    return ASN_OK;
}

/* Extent of a tile along a dimension: halves or quarters, 512 at most, in whole register
 * blocks. */
static int64_t tile_extent(int64_t extent) {
    enum { ALIGN = 32, LARGEST = 512 };
    int64_t parts = extent <= 256    ? 2
                    : extent <= 2048 ? 4
                                     : (extent + LARGEST - 1) / LARGEST;
    int64_t tile = (extent + parts - 1) / parts;
    return (tile + ALIGN - 1) / ALIGN * ALIGN;
}

/* Rows of a matrix (columns, for a row by a matrix) that one call multiplies by a vector:
 * a quarter of the bytes, but what takes some 3 us to read at least and 40 at most. */
static int64_t vector_tile(const asnd_product *p, int64_t extent) {
    enum { LEAST = 1 << 18, MOST = 1 << 22, ALIGN = 64 };
    double line = p->k ? (double)p->k * p->item : 1, bytes = (double)extent * line / 4;
    bytes = bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes;
    int64_t tile = ((int64_t)(bytes / line) + ALIGN) & ~(int64_t)(ALIGN - 1);
    return tile < extent ? tile : extent;
}

/* Panels and vectors are cut by their own code. C is cut along m unless it is much wider
 * than high. Small products are grouped to chunks of some microseconds. */
void asn_product_cut(asnd_product *p) {
    double work = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    p->tile_m = p->m;
    p->tile_n = p->n;
    const bool whole = p->by_panels || p->by_gemv; /* cut by who computes them */
    if (p->n == 1 && !whole && !p->by_blas) {
        p->tile_m = vector_tile(p, p->m);
    } else if (p->m == 1 && !whole && !p->by_blas) {
        p->tile_n = vector_tile(p, p->n);
    } else if (!whole && work > 2000000) { /* 20 us at 100 GFLOP/s */
        if (p->m >= p->n / 4 && p->m > 32)
            p->tile_m = tile_extent(p->m);
        else if (p->n > 32)
            p->tile_n = tile_extent(p->n);
    }
    p->tiles_m = (p->m + p->tile_m - 1) / p->tile_m;
    p->tiles_n = (p->n + p->tile_n - 1) / p->tile_n;
    double per_tile = work / (double)(p->tiles_m * p->tiles_n);
    bool few = per_tile < 200000 && p->tiles_m * p->tiles_n == 1;
    p->items_per_chunk = few ? (int64_t)(200000 / (per_tile + 100)) + 1 : 1;
}

asn_status asn_product_tile(const asnd_product *p, const asnd_matrix *a,
                            const asnd_matrix *b, const asnd_matrix *c, int64_t m,
                            int64_t n) {
    if (p->by_panels) return panels_tile(p, a, b, c, m, n);
    if (p->by_gemv) {
        const asnd_gemv g = gemv_of(p, a, b, c);
        return asn_gemv_run(&g, !p->shares);
    }
    if (p->by_blas)
        blas_tile(p, a, b, c, m, n);
    else if (p->by_dots)
        dot_tile(p, a, b, c, m, n);
    else
        loop_tile(p, a, b, c, m, n);
    return ASN_OK;
}
