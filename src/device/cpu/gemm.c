/* CPU device: matrix products.
 *
 * Who computes what: products of floats and complex numbers that are large enough to pay
 * go to OpenBLAS; small ones, integers and bool to loops of our own (matmul.inc,
 * matmul_avx512.c); a matrix times a vector to BLAS where its strides allow, and where
 * not, it is inner products or row sums of our own; halves are converted to float32 as a
 * whole, multiplied, and rounded once.
 *
 * A product is cut into tiles of C by its shape alone, so the result does not depend on
 * the number of threads; every tile is a single-threaded call. Many small products are
 * shared out as they are. Operands that BLAS cannot read where they lie (neither rows nor
 * columns contiguous) are copied first.
 */
#include "device/cpu/gemm.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/copy.h"
#include "device/cpu/fused.h"
#include "device/cpu/kernels.h"
#include "device/cpu/matmul_small.h"
#include "device/cpu/pool.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* CBLAS's */
enum { SMALL_WORK = 512 }; /* m n k up to which our loops win, */
enum { SMALL_ROW = 8 };    /* if C has no more columns */
enum { VECTOR_WORK = 64 }; /* m k from which a call of BLAS pays, */
enum { LONG_ROW = 256 };   /* but not for sums of rows as long as this */

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha,
                         const double *a, int lda, const double *b, int ldb, double beta,
                         double *c, int ldc);
typedef void (*zgemm_fn)(int order, int ta, int tb, int m, int n, int k,
                         const void *alpha, const void *a, int lda, const void *b,
                         int ldb, const void *beta, void *c, int ldc);

typedef void (*sgemv_fn)(int order, int trans, int m, int n, float alpha, const float *a,
                         int lda, const float *x, int incx, float beta, float *y,
                         int incy);
typedef void (*dgemv_fn)(int order, int trans, int m, int n, double alpha,
                         const double *a, int lda, const double *x, int incx, double beta,
                         double *y, int incy);

static struct {
    sgemm_fn s;
    dgemm_fn d;
    zgemm_fn c, z;
    sgemv_fn sv;
    dgemv_fn dv;
} gemm;

/* A matrix as CBLAS wants it: element (i, j) at data + i * row + j * col. */
typedef struct {
    char *data;
    int64_t row, col;
} matrix;

typedef struct {
    asn_dtype dtype;
    int item;
    int64_t m, n, k, batch;
    matrix a, b, c; /* of batch item 0 */
    int num_batch;
    int64_t extent[ASN_ND_MAX_DIMS], a_step[ASN_ND_MAX_DIMS], b_step[ASN_ND_MAX_DIMS],
        c_step[ASN_ND_MAX_DIMS];
    _Alignas(16) char alpha[16], beta[16];
    bool by_blas, by_dots, by_gemv;
    bool swapped;        /* a and b have changed roles */
    asn_matmul_fn small; /* or NULL */
    int64_t tile_m, tile_n, tiles_m, tiles_n, items_per_chunk;
} product;

/* ---- one tile */

/* Row- or column-contiguous, strides that BLAS can express. */
static bool blas_reads(const matrix *x, int64_t rows, int64_t cols, int item) {
    bool by_rows = (x->col == item || cols == 1) && (rows == 1 || x->row % item == 0) &&
                   (rows == 1 || x->row >= cols * item);
    bool by_cols = (x->row == item || rows == 1) && (cols == 1 || x->col % item == 0) &&
                   (cols == 1 || x->col >= rows * item);
    int64_t step = x->col > x->row ? x->col : x->row;
    return (by_rows || by_cols) && step / item < INT_MAX && rows < INT_MAX &&
           cols < INT_MAX;
}

static int lead_of(const matrix *x, int64_t rows, int64_t cols, int item, int *trans) {
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

static void blas_tile(const product *p, const matrix *a, const matrix *b, const matrix *c,
                      int64_t m, int64_t n) {
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
static void dot_tile(const product *p, const matrix *a, const matrix *b, const matrix *c,
                     int64_t m, int64_t n) {
    asn_dot_fn dot = asn_kernels_get()->dot[p->dtype];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            dot(p->k, a->data + i * a->row, a->col, b->data + j * b->col, b->row,
                c->data + i * c->row + j * c->col);
}

static void loop_tile(const product *p, const matrix *a, const matrix *b, const matrix *c,
                      int64_t m, int64_t n) {
    asn_matmul s = {m, n, p->k, a->row, a->col, b->row, c->row};
    (p->small ? p->small : asn_kernels_get()->matmul[p->dtype])(&s, a->data, b->data,
                                                                c->data);
}

/* A column times A's rows (n = 1), or a row times B's (m = 1). The result is cleared
 * first: BLAS scales by beta what it finds there. */
static void gemv_tile(const product *p, const matrix *a, const matrix *b, const matrix *c,
                      int64_t m, int64_t n) {
    bool column = n == 1 && p->n == 1;
    const matrix *x = column ? a : b;
    int rows = (int)(column ? m : p->k), cols = (int)(column ? p->k : n);
    int64_t step = column ? c->row : c->col, length = column ? m : n;
    const char *v = column ? b->data : a->data;
    int trans = column ? NO_TRANS : TRANS, lead = (int)(x->row / p->item);
    int by = (int)((column ? b->row : a->col) / p->item), to = (int)(step / p->item);
    if (to == 1) memset(c->data, 0, (size_t)(length * p->item));
    for (int64_t i = 0; i < length && to != 1; i++)
        memset(c->data + i * step, 0, (size_t)p->item);
    if (p->dtype == ASN_F32)
        gemm.sv(ROW_MAJOR, trans, rows, cols, 1, (const float *)x->data, lead,
                (const float *)v, by, 1, (float *)c->data, to);
    else
        gemm.dv(ROW_MAJOR, trans, rows, cols, 1, (const double *)x->data, lead,
                (const double *)v, by, 1, (double *)c->data, to);
}

/* ---- all tiles */

/* Small products in a row, along the only batch dimension. */
static void small_chunk(const product *p, int64_t first, int64_t end) {
    const asn_matmul s = {p->m, p->n, p->k, p->a.row, p->a.col, p->b.row, p->c.row};
    for (int64_t i = first; i < end; i++)
        p->small(&s, p->a.data + i * p->a_step[0], p->b.data + i * p->b_step[0],
                 p->c.data + i * p->c_step[0]);
}

static void product_chunk(void *ctx, int64_t chunk) {
    const product *p = ctx;
    int64_t first = chunk * p->items_per_chunk, end = first + p->items_per_chunk;
    int64_t tiles = p->tiles_m * p->tiles_n;
    if (end > p->batch * tiles) end = p->batch * tiles;
    if (p->small && p->num_batch == 1) {
        small_chunk(p, first, end);
        return;
    }
    for (int64_t t = first; t < end; t++) {
        int64_t item = t / tiles, i = t % tiles / p->tiles_n * p->tile_m,
                j = t % p->tiles_n * p->tile_n;
        matrix a = p->a, b = p->b, c = p->c;
        for (int d = 0; d < p->num_batch; d++) {
            int64_t at = item % p->extent[d];
            item /= p->extent[d];
            a.data += at * p->a_step[d];
            b.data += at * p->b_step[d];
            c.data += at * p->c_step[d];
        }
        a.data += i * a.row;
        b.data += j * b.col;
        c.data += i * c.row + j * c.col;
        int64_t m = p->m - i < p->tile_m ? p->m - i : p->tile_m;
        int64_t n = p->n - j < p->tile_n ? p->n - j : p->tile_n;
        if (p->by_blas)
            blas_tile(p, &a, &b, &c, m, n);
        else if (p->by_gemv)
            gemv_tile(p, &a, &b, &c, m, n);
        else if (p->by_dots)
            dot_tile(p, &a, &b, &c, m, n);
        else
            loop_tile(p, &a, &b, &c, m, n);
    }
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

static void choose_tiles(product *p) {
    double work = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    p->tile_m = p->m;
    p->tile_n = p->n;
    if (p->by_gemv && p->n == 1 && work > 2000000) {
        int64_t rows = (1 << 19) / p->k; /* about 20 us of reading */
        p->tile_m = (rows < 32 ? 32 : rows) & ~(int64_t)31;
        if (p->tile_m > p->m) p->tile_m = p->m;
    } else if (work > 2000000) { /* 20 us at 100 GFLOP/s */
        if (p->m >= p->n / 4 && p->m > 32)
            p->tile_m = tile_extent(p->m);
        else if (p->n > 32)
            p->tile_n = tile_extent(p->n);
    }
    p->tiles_m = (p->m + p->tile_m - 1) / p->tile_m;
    p->tiles_n = (p->n + p->tile_n - 1) / p->tile_n;
    double per_tile = work / (double)(p->tiles_m * p->tiles_n);
    p->items_per_chunk = per_tile < 200000 ? (int64_t)(200000 / (per_tile + 100)) + 1 : 1;
}

static double product_ns(const product *p) {
    double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
    if (p->by_blas)
        return flops / (p->dtype == ASN_F32 ? 100 : p->dtype == ASN_F64 ? 50 : 12);
    if (p->by_gemv) return flops * 0.01 * p->item;
    if (p->by_dots) return flops * 0.06 * p->item / 4;
    return flops * 0.1 + 20.0 * (double)p->batch;
}

static void run_product(product *p) {
    choose_tiles(p);
    int64_t total = p->batch * p->tiles_m * p->tiles_n;
    asn_pool_run(product_chunk, p, (total + p->items_per_chunk - 1) / p->items_per_chunk,
                 product_ns(p));
}

/* ---- preparing */

static asn_status load_blas(void) {
    static int loaded;
    if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE)) return ASN_OK;
    *(void **)&gemm.s = asn_blas_symbol("cblas_sgemm");
    *(void **)&gemm.d = asn_blas_symbol("cblas_dgemm");
    *(void **)&gemm.c = asn_blas_symbol("cblas_cgemm");
    *(void **)&gemm.z = asn_blas_symbol("cblas_zgemm");
    *(void **)&gemm.sv = asn_blas_symbol("cblas_sgemv");
    *(void **)&gemm.dv = asn_blas_symbol("cblas_dgemv");
    if (!gemm.s || !gemm.d || !gemm.c || !gemm.z || !gemm.sv || !gemm.dv)
        return ASN_ERR_RUNTIME;
    __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
    return ASN_OK;
}

static matrix matrix_of(const asn_nd *x) {
    return (matrix){x->data, x->strides[x->ndim - 2], x->strides[x->ndim - 1]};
}

static asn_status check_shapes(const asn_nd *a, const asn_nd *b, const asn_nd *c) {
    int nd = c->ndim;
    bool fits = nd >= 2 && a->ndim == nd && b->ndim == nd && a->dtype == b->dtype &&
                a->dtype == c->dtype && a->shape[nd - 1] == b->shape[nd - 2] &&
                a->shape[nd - 2] == c->shape[nd - 2] &&
                b->shape[nd - 1] == c->shape[nd - 1];
    for (int d = 0; d < nd - 2 && fits; d++)
        fits = a->shape[d] == c->shape[d] && b->shape[d] == c->shape[d];
    if (fits) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "matmul: a %d-d %s times a %d-d %s does not give the %d-d %s asked for", a->ndim,
        asn_dtype_name(a->dtype), b->ndim, asn_dtype_name(b->dtype), c->ndim,
        asn_dtype_name(c->dtype));
}

static void describe(product *p, const asn_nd *a, const asn_nd *b, const asn_nd *c) {
    int nd = c->ndim;
    p->dtype = c->dtype;
    p->item = asn_itemsize(c->dtype);
    p->m = c->shape[nd - 2];
    p->n = c->shape[nd - 1];
    p->k = a->shape[nd - 1];
    p->a = matrix_of(a);
    p->b = matrix_of(b);
    p->c = matrix_of(c);
    p->batch = 1;
    p->num_batch = 0;
    for (int d = nd - 3; d >= 0; d--) {
        if (c->shape[d] == 1) continue;
        int at = p->num_batch++;
        p->extent[at] = c->shape[d];
        p->a_step[at] = a->strides[d];
        p->b_step[at] = b->strides[d];
        p->c_step[at] = c->strides[d];
        p->batch *= c->shape[d];
    }
}

/* Exchanges the roles of A and B: C^T = B^T A^T. */
static void transpose_product(product *p) {
    matrix a = p->a;
    p->swapped = !p->swapped;
    p->a = (matrix){p->b.data, p->b.col, p->b.row};
    p->b = (matrix){a.data, a.col, a.row};
    p->c = (matrix){p->c.data, p->c.col, p->c.row};
    int64_t m = p->m;
    p->m = p->n;
    p->n = m;
    for (int d = 0; d < p->num_batch; d++) {
        int64_t step = p->a_step[d];
        p->a_step[d] = p->b_step[d];
        p->b_step[d] = step;
    }
}

static bool is_blas_dtype(asn_dtype dt) {
    return dt == ASN_F32 || dt == ASN_F64 || dt >= ASN_C64;
}

/* One of the operands is a vector: inner products where the other's rows run along k. */
static bool choose_vector_form(product *p) {
    if (p->m != 1 && p->n != 1) return false;
    if (p->n != 1) transpose_product(p);
    /* Now B is a column. A's rows along k: inner products; else row sums of A^T. */
    int64_t row = p->a.row < 0 ? -p->a.row : p->a.row,
            col = p->a.col < 0 ? -p->a.col : p->a.col;
    if (p->m == 1 || col < row)
        p->by_dots = true;
    else
        transpose_product(p);
    return true;
}

/* Whether the engine chosen can use the operands where they lie: [0] a, [1] b, [2] c, as
 * described. */
static void find_misfits(const product *p, bool misfit[3]) {
    misfit[0] = misfit[1] = misfit[2] = false;
    if (p->by_blas) {
        misfit[0] = !blas_reads(&p->a, p->m, p->k, p->item);
        misfit[1] = !blas_reads(&p->b, p->k, p->n, p->item);
        misfit[2] = !blas_reads(&p->c, p->m, p->n, p->item);
    } else if (!p->by_dots && !p->by_gemv) {
        misfit[1] = p->b.col != p->item && p->n > 1;
        misfit[2] = p->c.col != p->item && p->n > 1;
    }
    if (p->swapped) {
        bool t = misfit[0];
        misfit[0] = misfit[1];
        misfit[1] = t;
    }
}

static bool is_step(int64_t bytes, int item) {
    return bytes > 0 && bytes % item == 0 && bytes / item < INT_MAX;
}

/* Whether BLAS can multiply the matrix and the vector of choose_vector_form where they
 * lie. */
static bool gemv_reads(const product *p) {
    bool column = p->n == 1;
    const matrix *x = column ? &p->a : &p->b;
    int64_t rows = column ? p->m : p->k, cols = column ? p->k : p->n;
    return (p->dtype == ASN_F32 || p->dtype == ASN_F64) && rows > 1 && cols > 1 &&
           rows * cols >= VECTOR_WORK && (column || cols < LONG_ROW) && rows < INT_MAX &&
           cols < INT_MAX && x->col == p->item && is_step(x->row, p->item) &&
           x->row >= cols * p->item && is_step(column ? p->b.row : p->a.col, p->item) &&
           is_step(column ? p->c.row : p->c.col, p->item);
}

static asn_status choose_engine(product *p, const void *alpha) {
    static const float one_f = 1;
    static const double one_d = 1;
    bool vector = !alpha && choose_vector_form(p);
    double work = (double)p->m * (double)p->n * (double)p->k;
    if (vector && gemv_reads(p)) {
        p->by_dots = false;
        p->by_gemv = true;
        return load_blas();
    }
    bool small = work <= SMALL_WORK && p->n <= SMALL_ROW;
    if (!alpha && !vector && small) p->small = asn_matmul_small(p->dtype, p->n);
    if (vector || !is_blas_dtype(p->dtype) || (!alpha && small)) return ASN_OK;
    ASN_TRY(load_blas());
    p->by_blas = true;
    bool single = p->dtype == ASN_F32 || p->dtype == ASN_C64;
    if (!alpha) memcpy(p->alpha, single ? (const void *)&one_f : &one_d, single ? 4 : 8);
    return ASN_OK;
}

static asn_status multiply(const asn_nd *const views[3], const void *alpha,
                           const void *beta);

/* New contiguous memory of x's shape; the caller frees fresh->data. */
static asn_status allocate_like(const asn_nd *x, asn_dtype dt, asn_nd *fresh,
                                int64_t *strides) {
    int64_t step = asn_itemsize(dt);
    for (int d = x->ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= x->shape[d];
    }
    *fresh = (asn_nd){asn_malloc((size_t)step), x->ndim, dt, x->shape, strides};
    return fresh->data ? ASN_OK : ASN_ERR_MEMORY;
}

/* Copies what does not fit and multiplies again. */
static asn_status multiply_copies(const asn_nd *const views[3], const bool misfit[3],
                                  const void *alpha, const void *beta) {
    int64_t strides[3][ASN_ND_MAX_DIMS];
    asn_nd copy[3] = {{.data = NULL}, {.data = NULL}, {.data = NULL}};
    const asn_nd *use[3] = {views[0], views[1], views[2]};
    asn_status status = ASN_OK;
    for (int i = 0; i < 3 && status == ASN_OK; i++) {
        if (!misfit[i]) continue;
        status = allocate_like(views[i], views[i]->dtype, &copy[i], strides[i]);
        bool reads = i < 2 || beta;
        if (status == ASN_OK && reads) status = asn_cpu_copy(&copy[i], views[i]);
        use[i] = &copy[i];
    }
    if (status == ASN_OK) status = multiply(use, alpha, beta);
    if (status == ASN_OK && misfit[2]) status = asn_cpu_copy(views[2], use[2]);
    for (int i = 0; i < 3; i++)
        asn_free(copy[i].data);
    return status;
}

/* views: a, b, c. alpha NULL: c = a b. */
static asn_status multiply(const asn_nd *const views[3], const void *alpha,
                           const void *beta) {
    product p = {.by_blas = false};
    bool misfit[3];
    describe(&p, views[0], views[1], views[2]);
    if (alpha) memcpy(p.alpha, alpha, (size_t)p.item);
    if (beta) memcpy(p.beta, beta, (size_t)p.item);
    ASN_TRY(choose_engine(&p, alpha));
    find_misfits(&p, misfit);
    if (misfit[0] || misfit[1] || misfit[2])
        return multiply_copies(views, misfit, alpha, beta);
    run_product(&p);
    return ASN_OK;
}

/* t = a b without a scale; k may be 0. A float32 t of halves: whole matrices by way of
 * float32. */
static asn_status multiply_plain(const asn_nd *a, const asn_nd *b, const asn_nd *t) {
    static const char zero[16];
    if (a->shape[a->ndim - 1] == 0) return asn_cpu_fill(t, zero);
    if (!asn_is_half(a->dtype)) return multiply((const asn_nd *[]){a, b, t}, NULL, NULL);
    int64_t strides[2][ASN_ND_MAX_DIMS];
    asn_nd wide[2] = {{.data = NULL}, {.data = NULL}};
    asn_status status = allocate_like(a, ASN_F32, &wide[0], strides[0]);
    if (status == ASN_OK) status = asn_cpu_cast(a, &wide[0], NULL);
    if (status == ASN_OK) status = allocate_like(b, ASN_F32, &wide[1], strides[1]);
    if (status == ASN_OK) status = asn_cpu_cast(b, &wide[1], NULL);
    if (status == ASN_OK)
        status = multiply((const asn_nd *[]){&wide[0], &wide[1], t}, NULL, NULL);
    asn_free(wide[0].data);
    asn_free(wide[1].data);
    return status;
}

asn_status asn_cpu_matmul(const asn_nd *a, const asn_nd *b, const asn_nd *c) {
    ASN_TRY(check_shapes(a, b, c));
    if (asn_nd_size(c) == 0) return ASN_OK;
    if (!asn_is_half(c->dtype)) return multiply_plain(a, b, c);
    int64_t strides[ASN_ND_MAX_DIMS];
    asn_nd t;
    asn_status status = allocate_like(c, ASN_F32, &t, strides);
    if (status == ASN_OK) status = multiply_plain(a, b, &t);
    if (status == ASN_OK) status = asn_cpu_cast(&t, c, NULL);
    asn_free(t.data);
    return status;
}

/* c = alpha * t + beta * c as a fused program; scalars and arithmetic are in `dt`,
 * float32 for halves. */
static asn_status scale_and_add(const void *alpha, const asn_nd *t, const void *beta,
                                const asn_nd *c, bool reads_c) {
    asn_dtype dt = asn_is_half(c->dtype) ? ASN_F32 : c->dtype;
    uint8_t acl = (uint8_t)asn_dtype_table[c->dtype].acl,
            wide = (uint8_t)asn_dtype_table[dt].acl;
    enum { PRODUCT, OLD, ALPHA, BETA, RESULT, FIRST_FREE };
    aclnnxOperand operands[] = {{.data = t->data,
                                 .strides = t->strides,
                                 .dtype = wide,
                                 .reduceOp = ACLNNX_NO_REDUCE},
                                {.data = c->data,
                                 .strides = c->strides,
                                 .dtype = acl,
                                 .reduceOp = ACLNNX_NO_REDUCE},
                                {.dtype = wide, .reduceOp = ACLNNX_NO_REDUCE},
                                {.dtype = wide, .reduceOp = ACLNNX_NO_REDUCE},
                                {.data = c->data,
                                 .strides = c->strides,
                                 .dtype = acl,
                                 .reduceOp = ACLNNX_NO_REDUCE}};
    memcpy(operands[ALPHA].immediate, alpha, (size_t)asn_itemsize(dt));
    memcpy(operands[BETA].immediate, beta, (size_t)asn_itemsize(dt));
    enum { SCALED = FIRST_FREE, WIDE_OLD, SCALED_OLD, SUM, REGS };
    aclnnxInstr all[] = {
        {ASN_OP_MULTIPLY, wide, wide, SCALED, {PRODUCT, ALPHA, 0}},
        {ASN_OP_CAST, acl, wide, WIDE_OLD, {OLD, 0, 0}},
        {ASN_OP_MULTIPLY, wide, wide, SCALED_OLD, {WIDE_OLD, BETA, 0}},
        {ASN_OP_ADD, wide, wide, SUM, {SCALED, SCALED_OLD, 0}},
        {ASN_OP_CAST, wide, acl, RESULT, {SUM, 0, 0}},
    };
    aclnnxInstr alone[] = {all[0], {ASN_OP_CAST, wide, acl, RESULT, {SCALED, 0, 0}}};
    aclnnxProgram p = {.numDims = c->ndim,
                       .numIn = 4,
                       .numOut = 1,
                       .numInstrs = reads_c ? 5 : 2,
                       .numRegs = REGS,
                       .shape = c->shape,
                       .operands = operands,
                       .instrs = reads_c ? all : alone};
    return asn_cpu_fused(&p);
}

asn_status asn_cpu_gemm(const void *alpha, const asn_nd *a, const asn_nd *b,
                        const void *beta, const asn_nd *c) {
    ASN_TRY(check_shapes(a, b, c));
    if (asn_nd_size(c) == 0) return ASN_OK;
    uint8_t nonzero; /* -0.0 counts as 0 */
    asn_dtype dt = asn_is_half(c->dtype) ? ASN_F32 : c->dtype;
    asn_kernels_get()->cast[dt][ASN_BOOL](1, &nonzero, beta, NULL, NULL);
    bool vector = c->shape[c->ndim - 1] == 1 || c->shape[c->ndim - 2] == 1;
    if (is_blas_dtype(c->dtype) && a->shape[a->ndim - 1] && !vector)
        return multiply((const asn_nd *[]){a, b, c}, alpha, beta);
    int64_t strides[ASN_ND_MAX_DIMS];
    asn_nd t;
    asn_status status = allocate_like(c, dt, &t, strides);
    if (status == ASN_OK) status = multiply_plain(a, b, &t);
    if (status == ASN_OK) status = scale_and_add(alpha, &t, beta, c, nonzero);
    asn_free(t.data);
    return status;
}
