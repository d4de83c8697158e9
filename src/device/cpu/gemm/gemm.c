/* CPU device: matrix products.
 *
 * Who computes what: products of floats that are large enough to pay and of complex128 go
 * to our panels where the processor has them (gemm_panels.h), else, and complex64, to
 * OpenBLAS; small ones, integers and bool to loops of our own (matmul.inc,
 * matmul_small.inc); a matrix of floats times a vector to gemv.c, of others to inner
 * products or sums of rows; bytes and bfloat16 go to the processor's dot products where
 * it has them (gemm_dot.h); other halves are converted to float32 as a whole, multiplied,
 * and rounded once.
 *
 * A product is cut into tiles of C by its shape alone, so the result does not depend on
 * the number of threads; every tile is a single-threaded call. Many small products are
 * shared out as they are. Operands that BLAS cannot read where they lie (neither rows nor
 * columns contiguous) are copied first.
 */
#include "device/cpu/gemm/gemm.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/gemm/gemm_dot.h"
#include "device/cpu/gemm/gemm_tiles.h"
#include "device/cpu/gemm/gemm_few.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

enum { SMALL_WORK = 512 }; /* m n k up to which our loops win, */
enum { SMALL_ROW = 8 };    /* if C has no more columns */
enum { COMPLEX_LEAST = 24 };
enum { NARROW = 16 }; /* or if neither its rows nor its sums are longer than this */
enum { SHARED_NS = 500000 }; /* from here on threads share each product of a batch */
enum { VECTOR_WORK = 64 };   /* m k from which a call of gemv.c pays */

/* ---- tiles */

/* Small products in a row, along the only batch dimension. */
static void small_chunk(const asnd_product *p, int64_t first, int64_t end) {
    const asnd_matmul s = {p->m, p->n, p->k, p->a.row, p->a.col, p->b.row, p->c.row};
    if (p->many) {
        p->many(&s, end - first, p->a.data + first * p->a_step[0], p->a_step[0],
                p->b.data + first * p->b_step[0], p->b_step[0],
                p->c.data + first * p->c_step[0], p->c_step[0]);
        return;
    }
    for (int64_t i = first; i < end; i++)
        p->small(&s, p->a.data + i * p->a_step[0], p->b.data + i * p->b_step[0],
                 p->c.data + i * p->c_step[0]);
}

/* Tile t of the batch's: item, then rows, then columns. p->tile_m or tile_n is all of C
 * where it is not cut. */
static asn_status product_tile(const asnd_product *p, int64_t t) {
    int64_t tiles = p->tiles_m * p->tiles_n, item = t / tiles,
            i = t % tiles / p->tiles_n * p->tile_m, j = t % p->tiles_n * p->tile_n;
    asnd_matrix a = p->a, b = p->b, c = p->c;
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
    if (p->symmetric && p->by_blas) { /* right of the diagonal only */
        b.data += i * b.col;
        c.data += i * c.col;
        n -= i;
    }
    return asn_product_tile(p, &a, &b, &c, m, n);
}

/* A chunk of tiles, or of small products. Its errors are all lack of memory: one flag
 * tells. */
static void product_chunk(void *ctx, int64_t chunk) {
    asnd_product *p = ctx;
    int64_t first = chunk * p->items_per_chunk, end = first + p->items_per_chunk;
    int64_t tiles = p->tiles_m * p->tiles_n;
    if (end > p->batch * tiles) end = p->batch * tiles;
    if (p->small && p->num_batch == 1 && tiles == 1) {
        small_chunk(p, first, end);
        return;
    }
    for (int64_t t = first; t < end; t++)
        if (product_tile(p, t) != ASN_OK) atomic_store(&p->failed, true);
}

/* Estimated time of the whole product on one thread, for the pool: by GFLOP/s of the
 * engine that computes it. */
static double product_ns(const asnd_product *p) {
    double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
    if (p->by_panels)
        return flops / (p->dtype == ASN_F32 ? 200 : p->dtype == ASN_F64 ? 100 : 25);
    if (p->by_blas)
        return flops / (p->dtype == ASN_F32 ? 100 : p->dtype == ASN_F64 ? 50 : 12);
    if (p->by_gemv) return flops * 0.006 * p->item;
    if (p->by_dots) return flops * 0.06 * p->item / 4;
    return flops * 0.1 + 20.0 * (double)p->batch;
}

/* The engine is chosen and the operands fit it. Threads share tiles, or (panels and
 * vectors alone) each product from within. */
static asn_status run_product(asnd_product *p) {
    if (asn_product_dot(p)) return ASN_OK;
    p->symmetric = asn_product_is_symmetric(p);
    asn_product_cut(p);
    int64_t total = p->batch * p->tiles_m * p->tiles_n;
    double ns = product_ns(p);
    p->shares =
        (p->by_panels || p->by_gemv) && (total == 1 || ns / (double)total > SHARED_NS);
    if (p->shares) {
        for (int64_t t = 0; t < total; t++)
            ASN_TRY(product_tile(p, t));
        return p->symmetric ? asn_product_mirror(p) : ASN_OK;
    }
    atomic_init(&p->failed, false);
    asn_pool_run(product_chunk, p, (total + p->items_per_chunk - 1) / p->items_per_chunk,
                 ns);
    if (!atomic_load(&p->failed)) return p->symmetric ? asn_product_mirror(p) : ASN_OK;
    return asn_error_set(ASN_ERR_MEMORY, "matmul: out of memory");
}

/* ---- preparing */

static asnd_matrix matrix_of(const asnd_nd *x) {
    return (asnd_matrix){x->data, x->strides[x->ndim - 2], x->strides[x->ndim - 1]};
}

/* Shapes and dtypes as in gemm.h, else ASN_ERR_VALUE. */
static asn_status check_shapes(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
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

/* Sizes, strides and the batch's dimensions of extent above 1; no engine yet. */
static void describe(asnd_product *p, const asnd_nd *a, const asnd_nd *b,
                     const asnd_nd *c) {
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
static void transpose_product(asnd_product *p) {
    asnd_matrix a = p->a;
    p->swapped = !p->swapped;
    p->a = (asnd_matrix){p->b.data, p->b.col, p->b.row};
    p->b = (asnd_matrix){a.data, a.col, a.row};
    p->c = (asnd_matrix){p->c.data, p->c.col, p->c.row};
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

/* One of the operands is a vector: inner products where the other's rows run along k.
 * After it one of them is a column or a row, with by_dots where rows are contracted.
 * False: both are matrices. */
static bool choose_vector_form(asnd_product *p) {
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
 * described. A vector form may have swapped a and b; misfit is told of the caller's. */
static void find_misfits(const asnd_product *p, bool misfit[3]) {
    misfit[0] = misfit[1] = misfit[2] = false;
    if (p->by_panels) {
        misfit[0] = p->a.row % p->item || p->a.col % p->item;
        misfit[1] = p->b.row % p->item || p->b.col % p->item;
        misfit[2] = p->c.col != p->item && p->c.row != p->item;
    } else if (p->by_blas) {
        misfit[0] = !asn_matrix_reads(&p->a, p->m, p->k, p->item);
        misfit[1] = !asn_matrix_reads(&p->b, p->k, p->n, p->item);
        misfit[2] = !asn_matrix_reads(&p->c, p->m, p->n, p->item);
    } else if (p->by_gemv) {
        misfit[1] = p->n == 1 && p->b.row != p->item;
    } else if (!p->by_dots) {
        misfit[1] = p->b.col != p->item && p->n > 1;
        misfit[2] = p->c.col != p->item && p->n > 1;
    }
    if (p->swapped) {
        bool t = misfit[0];
        misfit[0] = misfit[1];
        misfit[1] = t;
    }
}

/* Whether the matrix of choose_vector_form has contiguous rows, and elements enough. */
static bool is_gemv(const asnd_product *p) {
    bool column = p->n == 1;
    const asnd_matrix *x = column ? &p->a : &p->b;
    int64_t rows = column ? p->m : p->k, cols = column ? p->k : p->n;
    return (p->dtype == ASN_F32 || p->dtype == ASN_F64) && rows > 1 && cols > 1 &&
           rows * cols >= VECTOR_WORK && x->col == p->item;
}

/* Few columns and few terms: BLAS packs operands for longer than it multiplies. */
static bool is_narrow(const asnd_product *p) {
    return (p->dtype == ASN_F32 || p->dtype == ASN_F64) && p->k <= NARROW &&
           p->n <= NARROW && p->n > 1;
}

/* complex128 is worth its planes from some size on; BLAS's complex64 is near the peak.
 * NULL: the processor or the product has none. `scaled`: alpha is given. */
static const asnd_panels_kernels *panels_of(const asnd_product *p, bool scaled) {
    if (p->dtype != ASN_C128) return asn_panels_kernels_of(p->dtype);
    bool long_enough =
        p->m >= COMPLEX_LEAST && p->n >= COMPLEX_LEAST && p->k >= COMPLEX_LEAST;
    return long_enough && !scaled ? asn_panels_kernels_of(ASN_F64) : NULL;
}

/* alpha: NULL, or the product is scaled, which panels and BLAS alone can. Opens BLAS
 * where that is needed: ASN_ERR_RUNTIME. */
static asn_status choose_engine(asnd_product *p, const void *alpha) {
    static const float one_f = 1;
    static const double one_d = 1;
    double work = (double)p->m * (double)p->n * (double)p->k;
    bool few = work <= SMALL_WORK && p->batch > 1 && p->n <= SMALL_ROW;
    bool vector = !alpha && !few && choose_vector_form(p);
    if (vector && is_gemv(p)) {
        p->by_dots = false;
        p->by_gemv = true;
        return ASN_OK;
    }
    bool small = (work <= SMALL_WORK && p->n <= SMALL_ROW) || is_narrow(p);
    if (!alpha && !vector && small) p->small = asn_matmul_small(p->dtype, p->n);
    if (p->small && p->num_batch == 1 && p->a.col == p->item)
        p->many = asn_matmul_many(p->dtype, p->n, p->k);
    if (vector || !is_blas_dtype(p->dtype) || (!alpha && small)) return ASN_OK;
    p->by_panels = panels_of(p, alpha);
    if (!p->by_panels) ASN_TRY(asn_gemm_load());
    p->by_blas = !p->by_panels;
    bool single = p->dtype == ASN_F32 || p->dtype == ASN_C64;
    if (!alpha) memcpy(p->alpha, single ? (const void *)&one_f : &one_d, single ? 4 : 8);
    return ASN_OK;
}

static asn_status multiply(const asnd_nd *const views[3], const void *alpha,
                           const void *beta);

/* New contiguous memory of x's shape; the caller frees fresh->data. */
static asn_status allocate_like(const asnd_nd *x, asn_dtype dt, asnd_nd *fresh,
                                int64_t *strides) {
    int64_t step = asn_itemsize(dt);
    for (int d = x->ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= x->shape[d];
    }
    *fresh = (asnd_nd){asn_malloc((size_t)step), x->ndim, dt, x->shape, strides};
    return fresh->data ? ASN_OK : ASN_ERR_MEMORY;
}

/* A contiguous copy of x; batches that are one matrix stay so. *copy borrows shape and
 * strides; the caller frees copy->data. */
static asn_status copy_input(const asnd_nd *x, asnd_nd *copy, int64_t *shape,
                             int64_t *strides) {
    asnd_nd once = *x;
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    for (int d = 0; d < x->ndim - 2; d++)
        if (x->strides[d] == 0) shape[d] = 1;
    once.shape = shape;
    ASN_TRY(allocate_like(&once, x->dtype, copy, strides));
    ASN_TRY(asn_cpu_copy(copy, &once));
    for (int d = 0; d < x->ndim - 2; d++)
        if (x->strides[d] == 0) strides[d] = 0;
    copy->shape = x->shape;
    return ASN_OK;
}

/* Copies what does not fit and multiplies again. c's copy begins as c only where beta
 * reads it, and goes back at the end. */
static asn_status multiply_copies(const asnd_nd *const views[3], const bool misfit[3],
                                  const void *alpha, const void *beta) {
    int64_t strides[3][ASN_ND_MAX_DIMS], shapes[2][ASN_ND_MAX_DIMS];
    asnd_nd copy[3] = {{.data = NULL}, {.data = NULL}, {.data = NULL}};
    const asnd_nd *use[3] = {views[0], views[1], views[2]};
    asn_status status = ASN_OK;
    for (int i = 0; i < 3 && status == ASN_OK; i++) {
        if (!misfit[i]) continue;
        if (i < 2) {
            status = copy_input(views[i], &copy[i], shapes[i], strides[i]);
        } else {
            status = allocate_like(views[i], views[i]->dtype, &copy[i], strides[i]);
            if (status == ASN_OK && beta) status = asn_cpu_copy(&copy[i], views[i]);
        }
        use[i] = &copy[i];
    }
    if (status == ASN_OK) status = multiply(use, alpha, beta);
    if (status == ASN_OK && misfit[2]) status = asn_cpu_copy(views[2], use[2]);
    for (int i = 0; i < 3; i++)
        asn_free(copy[i].data);
    return status;
}

/* views: a, b, c. alpha NULL: c = a b. alpha, beta: one element each of the dtype; both
 * NULL or both given. k > 0. */
static asn_status multiply(const asnd_nd *const views[3], const void *alpha,
                           const void *beta) {
    asnd_product p; /* two kilobytes, most of them extents that few products have */
    bool misfit[3];
    p.by_blas = p.by_dots = p.by_gemv = p.swapped = false;
    p.small = NULL;
    p.many = NULL;
    p.by_panels = NULL;
    memset(p.alpha, 0, sizeof p.alpha);
    memset(p.beta, 0, sizeof p.beta);
    describe(&p, views[0], views[1], views[2]);
    if (alpha) memcpy(p.alpha, alpha, (size_t)p.item);
    if (beta) memcpy(p.beta, beta, (size_t)p.item);
    ASN_TRY(choose_engine(&p, alpha));
    find_misfits(&p, misfit);
    if (misfit[0] || misfit[1] || misfit[2])
        return multiply_copies(views, misfit, alpha, beta);
    return run_product(&p);
}

/* x in float32, with columns in memory where x has them: a copy that turns takes several
 * times as long. The caller frees wide->data; shape and strides are wide's. */
static asn_status widen(const asnd_nd *x, asnd_nd *wide, int64_t *shape,
                        int64_t *strides) {
    const int row = x->ndim - 2, col = x->ndim - 1;
    const int64_t item = asn_itemsize(x->dtype);
    const bool turned = x->strides[row] == item && x->strides[col] != item;
    int64_t given[ASN_ND_MAX_DIMS];
    asnd_nd from = *x;
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    memcpy(given, x->strides, (size_t)x->ndim * sizeof *given);
    from.shape = shape;
    from.strides = given;
    if (turned) {
        shape[row] = x->shape[col];
        shape[col] = x->shape[row];
        given[row] = x->strides[col];
        given[col] = x->strides[row];
    }
    ASN_TRY(allocate_like(&from, ASN_F32, wide, strides));
    ASN_TRY(asn_cpu_cast(&from, wide, NULL));
    if (turned) {
        const int64_t step = strides[row];
        strides[row] = strides[col];
        strides[col] = step;
    }
    wide->shape = x->shape;
    return ASN_OK;
}

/* t = a b without a scale; k may be 0. A float32 t of halves: whole matrices by way of
 * float32. */
static asn_status multiply_plain(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t) {
    static const char zero[16];
    bool done = false;
    if (a->shape[a->ndim - 1] == 0) return asn_cpu_fill(t, zero);
    ASN_TRY(asn_gemm_few(a, b, t, ASN_WIDE_FEW, &done));
    if (!done) ASN_TRY(asn_gemm_dot(a, b, t, &done));
    if (!done) ASN_TRY(asn_gemm_few(a, b, t, ASN_ROWS_SOME, &done));
    if (done) return ASN_OK;
    if (!asn_is_half(a->dtype)) return multiply((const asnd_nd *[]){a, b, t}, NULL, NULL);
    int64_t shapes[2][ASN_ND_MAX_DIMS], strides[2][ASN_ND_MAX_DIMS];
    asnd_nd wide[2] = {{.data = NULL}, {.data = NULL}};
    asn_status status = widen(a, &wide[0], shapes[0], strides[0]);
    if (status == ASN_OK) status = widen(b, &wide[1], shapes[1], strides[1]);
    if (status == ASN_OK)
        status = multiply((const asnd_nd *[]){&wide[0], &wide[1], t}, NULL, NULL);
    asn_free(wide[0].data);
    asn_free(wide[1].data);
    return status;
}

/* A product of two small matrices, straight away: the plan of a product costs more.
 * False: it is none. Its loops are those that the general path would choose, so the bits
 * are the same; B is packed where its rows are not contiguous. */
static bool multiply_few(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
    if (c->ndim != 2 || (c->dtype != ASN_F64 && c->dtype != ASN_F32)) return false;
    int64_t m = c->shape[0], n = c->shape[1], k = a->shape[1],
            item = asn_itemsize(c->dtype);
    if (k < 1 || k > NARROW || n > SMALL_ROW || m > SMALL_WORK ||
        m * n * k > SMALL_WORK || (n > 1 && c->strides[1] != item))
        return false;
    char packed[NARROW * SMALL_ROW * 8];
    asnd_matmul s = {m, n, k, a->strides[0], a->strides[1], b->strides[0], c->strides[0]};
    const char *from = b->data;
    if (n > 1 && b->strides[1] != item) {
        asn_block_gather(packed, b->data, (int)item, n, b->strides[1], k, b->strides[0]);
        from = packed;
        s.b_row = n * item;
    }
    asnd_matmul_fn small = asn_matmul_small(c->dtype, n);
    (small ? small : asn_kernels_get()->matmul[c->dtype])(&s, a->data, from, c->data);
    return true;
}

/* a, b and c with fewer dimensions. */
typedef struct {
    asnd_nd a, b, c;
    int64_t extents[3][ASN_ND_MAX_DIMS], strides[3][ASN_ND_MAX_DIMS];
} joined;

/* Whether matrices of m rows along the batch's last dimension d are one matrix of rows.
 */
static bool rows_follow(const asnd_nd *x, int d, int64_t m) {
    return m == 1 || x->shape[d] == 1 || x->strides[d] == m * x->strides[d + 1];
}

/* Drops dimension d, the batch's last: the matrix has `rows`, `step` bytes apart. */
static void append_rows(asnd_nd *x, int d, int64_t rows, int64_t step, int64_t *extents,
                        int64_t *strides) {
    memmove(extents, x->shape, (size_t)d * sizeof *extents);
    memmove(strides, x->strides, (size_t)d * sizeof *strides);
    extents[d + 1] = x->shape[d + 2];
    strides[d + 1] = x->strides[d + 2];
    extents[d] = rows;
    strides[d] = step;
    x->ndim--;
    x->shape = extents;
    x->strides = strides;
}

/* A batch over which b stays the same, and whose rows of a and of c follow each other, is
 * one product of more rows: b is packed once, and few rows become many. (64, 1, 256) by
 * (256, 256) takes a third of the time; small matrices stay, for which there are loops
 * over many. */
static void join_batch(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c, joined *j) {
    asnd_nd *const x[] = {&j->a, &j->b, &j->c};
    j->a = *a;
    j->b = *b;
    j->c = *c;
    for (int d = c->ndim - 3; d >= 0; d--) {
        const int64_t m = j->c.shape[d + 1], count = j->c.shape[d];
        if (m > 1 && m * j->c.shape[d + 2] * j->a.shape[d + 2] <= SMALL_WORK) return;
        if ((j->b.strides[d] != 0 && count > 1) || !rows_follow(&j->a, d, m) ||
            !rows_follow(&j->c, d, m))
            return;
        for (int i = 0; i < 3; i++) {
            const bool alone = i != 1 && m == 1 && count > 1;
            append_rows(x[i], d, i == 1 ? j->b.shape[d + 1] : count * m,
                        x[i]->strides[alone ? d : d + 1], j->extents[i], j->strides[i]);
        }
    }
}

/* Halves are multiplied as float32 and rounded once; bfloat16 by its own instructions
 * where they do the same. */
asn_status asn_cpu_matmul(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c) {
    joined j;
    ASN_TRY(check_shapes(a, b, c));
    if (asn_nd_size(c) == 0) return ASN_OK;
    if (c->ndim > 2) {
        join_batch(a, b, c, &j);
        a = &j.a;
        b = &j.b;
        c = &j.c;
    }
    if (multiply_few(a, b, c)) return ASN_OK;
    if (!asn_is_half(c->dtype)) return multiply_plain(a, b, c);
    /* Of a vector the matrix is read once: the instructions would wait for it. */
    bool done = false, vector = c->shape[c->ndim - 1] == 1 || c->shape[c->ndim - 2] == 1;
    if (c->dtype == ASN_BF16 && a->shape[a->ndim - 1] && !(vector && c->ndim == 2))
        ASN_TRY(asn_gemm_dot(a, b, c, &done));
    if (done) return ASN_OK;
    int64_t strides[ASN_ND_MAX_DIMS];
    asnd_nd t;
    asn_status status = allocate_like(c, ASN_F32, &t, strides);
    if (status == ASN_OK) status = multiply_plain(a, b, &t);
    if (status == ASN_OK) status = asn_cpu_cast(&t, c, NULL);
    asn_free(t.data);
    return status;
}

/* (Contract in gemm.h.) A batch becomes one product where its rows follow each other;
 * else its products are done one by one, each by all threads. */
asn_status asn_cpu_matmul_mixed(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c,
                                bool *done) {
    joined j;
    join_batch(a, b, c, &j);
    const int nd = j.c.ndim;
    int64_t count = 1, at[ASN_ND_MAX_DIMS] = {0};
    for (int d = 0; d < nd - 2; d++)
        count *= j.c.shape[d];
    *done = false;
    for (int64_t i = 0; i < count; i++) {
        asnd_nd one[] = {j.a, j.b, j.c};
        for (int k = 0; k < 3; k++) {
            for (int d = 0; d < nd - 2; d++)
                one[k].data += at[d] * one[k].strides[d];
            one[k].ndim = 2;
            one[k].shape += nd - 2;
            one[k].strides += nd - 2;
        }
        ASN_TRY(asn_gemm_few(&one[0], &one[1], &one[2], ASN_ROWS_SOME, done));
        if (!*done) return ASN_OK; /* the first decides: all have one shape and strides */
        for (int d = nd - 3; d >= 0 && ++at[d] == j.c.shape[d]; d--)
            at[d] = 0;
    }
    return ASN_OK;
}

/* c = alpha * t + beta * c as a fused program; scalars and arithmetic are in `dt`,
 * float32 for halves. reads_c: beta is not 0; else c's old elements are no part of the
 * program, as BLAS promises (NaN in them does not matter). */
static asn_status scale_and_add(const void *alpha, const asnd_nd *t, const void *beta,
                                const asnd_nd *c, bool reads_c) {
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

/* Whether a factor is 1: then a product is what it is scaled to. */
static bool is_one(asn_dtype dt, const void *factor) {
    double value;
    if (dt != ASN_F32 && dt != ASN_F64) return false;
    asn_kernels_get()->cast[dt][ASN_F64](1, &value, factor, NULL, NULL);
    return value == 1;
}

/* Matrices of BLAS's dtypes are scaled by the engine itself, the rest afterwards. */
asn_status asn_cpu_gemm(const void *alpha, const asnd_nd *a, const asnd_nd *b,
                        const void *beta, const asnd_nd *c) {
    joined j;
    ASN_TRY(check_shapes(a, b, c));
    if (asn_nd_size(c) == 0) return ASN_OK;
    if (c->ndim > 2) {
        join_batch(a, b, c, &j);
        a = &j.a;
        b = &j.b;
        c = &j.c;
    }
    uint8_t nonzero; /* -0.0 counts as 0 */
    asn_dtype dt = asn_is_half(c->dtype) ? ASN_F32 : c->dtype;
    asn_kernels_get()->cast[dt][ASN_BOOL](1, &nonzero, beta, NULL, NULL);
    bool vector = c->shape[c->ndim - 1] == 1 || c->shape[c->ndim - 2] == 1;
    if (is_blas_dtype(c->dtype) && a->shape[a->ndim - 1] && !vector)
        return multiply((const asnd_nd *[]){a, b, c}, alpha, beta);
    int64_t strides[ASN_ND_MAX_DIMS];
    asnd_nd t;
    if (!nonzero && c->dtype == dt) { /* nothing of c is read: it takes the product */
        ASN_TRY(multiply_plain(a, b, c));
        return is_one(dt, alpha) ? ASN_OK : scale_and_add(alpha, c, beta, c, false);
    }
    asn_status status = allocate_like(c, dt, &t, strides);
    if (status == ASN_OK) status = multiply_plain(a, b, &t);
    if (status == ASN_OK) status = scale_and_add(alpha, &t, beta, c, nonzero);
    asn_free(t.data);
    return status;
}
