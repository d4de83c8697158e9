/* L2 sparse: patterns (see pattern.h). Every kind becomes a mask by array operations, and
 * the mask's true elements, in row-major order, are the structure in CSR. Indices are of
 * 32 bits where they can be: they are what a product reads beside its numbers. */
#include "sparse/pattern.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* ---- making */

/* 0, then the sums of counts up to each, on the host. */
static asn_status read_ends(asn_sparse_pattern *p, const asn_array *counts) {
    p->ends = asn_malloc((size_t)(p->rows + 1) * sizeof *p->ends);
    if (!p->ends) return ASN_ERR_MEMORY;
    p->ends[0] = 0;
    if (p->rows) ASN_TRY(asn_array_to_host(counts, p->ends + 1));
    for (int64_t i = 0; i < p->rows; i++)
        p->ends[i + 1] += p->ends[i];
    p->count = p->ends[p->rows];
    return ASN_OK;
}

/* Of p->mask, which is there: indptr, indices, places. */
static asn_status structure(asn_sparse_pattern *p) {
    const asn_reduce_options along = {.axes = 2, .dtype = ASN_I64, .now = true};
    asn_array at[2];
    ASN_TEMPORARIES;
    ASN_MAKE(counts, asn_ufunc_reduce(ASN_OP_ADD, &p->mask, NULL, counts, &along));
    ASN_TRY(read_ends(p, counts));
    const asn_dtype index =
        p->count <= INT32_MAX && p->cols <= INT32_MAX ? ASN_I32 : ASN_I64;
    const int64_t heads = p->rows + 1, step = sizeof *p->ends;
    ASN_MAKE(starts, asn_array_from_host(starts, ASN_I64, 1, &heads, &step, p->ends));
    ASN_MAKE(indptr, asn_np_astype(indptr, starts, index));
    ASN_TRY(asn_nonzero(at, &p->mask));
    for (int d = 0; d < 2; d++)
        asn_array_move(&temporaries_.made[temporaries_.count++], &at[d]);
    const asn_array *const row = &temporaries_.made[temporaries_.count - 2];
    ASN_MAKE(indices, asn_copy(indices, row + 1, index, 'C'));
    ASN_MAKE(before, asn_np_binary(before, ASN_OP_MULTIPLY, asn_np_of(row),
                                   asn_operand_int(p->cols)));
    ASN_TRY(asn_np_binary(&p->places, ASN_OP_ADD, asn_np_of(before), asn_np_of(row + 1)));
    asn_array_move(&p->indptr, indptr);
    asn_array_move(&p->indices, indices);
    return ASN_OK;
}

/* What is made before the arrays of CSR are there is ended here. */
asn_status asn_sparse_pattern_new(const asn_array *mask, asn_sparse_pattern **out) {
    const asn_layout *l = &mask->layout;
    if (asn_layout_dtype(l) != ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE,
                             "sparse pattern: the mask is %s; it must be bool",
                             asn_dtype_name(asn_layout_dtype(l)));
    if (l->ndim != 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "sparse pattern: the mask has %d dimensions; it must have 2",
                             l->ndim);
    asn_sparse_pattern *p = asn_malloc(sizeof *p);
    if (!p) return ASN_ERR_MEMORY;
    memset(p, 0, sizeof *p);
    p->rows = l->shape[0];
    p->cols = l->shape[1];
    asn_status status = asn_copy(&p->mask, mask, ASN_BOOL, 'C');
    if (!status) {
        status = structure(p);
        if (status) asn_array_fini(&p->mask);
    }
    if (!status) {
        *out = p;
        return ASN_OK;
    }
    asn_free(p->ends);
    asn_free(p);
    return status;
}

/* Memory that queued products read goes back when they have run. */
void asn_sparse_pattern_free(asn_sparse_pattern *p) {
    if (!p) return;
    asn_array_fini(&p->mask);
    asn_array_fini(&p->indptr);
    asn_array_fini(&p->indices);
    asn_array_fini(&p->places);
    asn_free(p->ends);
    asn_free(p);
}

/* 0 ... n - 1 as a column (n, 1) or a row (n). */
static asn_status counted(asn_array *out, int64_t n, bool column) {
    const asn_scalar start = asn_scalar_int(0), step = asn_scalar_int(1);
    const int64_t shape[] = {n, 1};
    ASN_TEMPORARIES;
    ASN_MAKE(line, asn_arange(line, ASN_I64, &start, &step, n));
    return asn_np_reshape(out, line, column ? 2 : 1, shape);
}

/* lower and upper are first brought within the matrix, so that nothing overflows. */
asn_status asn_sparse_pattern_banded(int64_t rows, int64_t cols, int64_t lower,
                                     int64_t upper, asn_sparse_pattern **out) {
    if (rows < 0 || cols < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "sparse pattern: shape is (%lld, %lld); extents may be 0 or "
                             "more",
                             (long long)rows, (long long)cols);
    lower = lower > rows ? rows : lower < -cols ? -cols : lower;
    upper = upper > cols ? cols : upper < -rows ? -rows : upper;
    ASN_TEMPORARIES;
    ASN_MAKE(i, counted(i, rows, true));
    ASN_MAKE(j, counted(j, cols, false));
    ASN_MAKE(apart, asn_np_binary(apart, ASN_OP_SUBTRACT, asn_np_of(j), asn_np_of(i)));
    ASN_MAKE(above, asn_np_binary(above, ASN_OP_GREATER_EQUAL, asn_np_of(apart),
                                  asn_operand_int(-lower)));
    ASN_MAKE(below, asn_np_binary(below, ASN_OP_LESS_EQUAL, asn_np_of(apart),
                                  asn_operand_int(upper)));
    ASN_MAKE(mask,
             asn_np_binary(mask, ASN_OP_LOGICAL_AND, asn_np_of(above), asn_np_of(below)));
    return asn_sparse_pattern_new(mask, out);
}

/* Whether `blocks` blocks of `size` cover `extent`, all of them needed. */
static bool covers(int64_t blocks, int64_t size, int64_t extent) {
    return extent >= 0 && extent / size + (extent % size != 0) == blocks;
}

/* Whole blocks by two repetitions, of which the shape is cut. */
asn_status asn_sparse_pattern_blocks(const asn_array *blocks, int64_t height,
                                     int64_t width, int64_t rows, int64_t cols,
                                     asn_sparse_pattern **out) {
    const asn_layout *l = &blocks->layout;
    if (height < 1 || width < 1 || l->ndim != 2 || !covers(l->shape[0], height, rows) ||
        !covers(l->shape[1], width, cols))
        return asn_error_set(
            ASN_ERR_VALUE,
            "sparse pattern: %lld by %lld blocks of (%lld, %lld) for a shape of (%lld, "
            "%lld); allowed are two dimensions of just as many as cover it",
            (long long)(l->ndim == 2 ? l->shape[0] : 0),
            (long long)(l->ndim == 2 ? l->shape[1] : 0), (long long)height,
            (long long)width, (long long)rows, (long long)cols);
    const int64_t one = 1, step = sizeof height;
    ASN_TEMPORARIES;
    ASN_MAKE(tall, asn_array_from_host(tall, ASN_I64, 1, &one, &step, &height));
    ASN_MAKE(wide, asn_array_from_host(wide, ASN_I64, 1, &one, &step, &width));
    ASN_MAKE(high, asn_repeat(high, blocks, tall, 0));
    ASN_MAKE(whole, asn_repeat(whole, high, wide, 1));
    ASN_MAKE(top, asn_array_range(top, whole, 0, 0, rows));
    ASN_MAKE(mask, asn_array_range(mask, top, 1, 0, cols));
    return asn_sparse_pattern_new(mask, out);
}

/* ---- use */

/* Which way, and the numbers that say so. */
static void explain(asn_sparse_analysis *f, const asn_sparse_thresholds *t) {
    f->strategy = asn_sparse_choose(t, f->density);
    if (f->strategy == ASN_SPARSE_DIRECT)
        snprintf(f->why, sizeof f->why, "direct: density %.4g is below %.4g", f->density,
                 t->direct);
    else if (f->strategy == ASN_SPARSE_BLOCKED)
        snprintf(
            f->why, sizeof f->why,
            "blocked: density %.4g is in [%.4g, %.4g); %lld of %lld blocks have %.4g "
            "or more",
            f->density, t->direct, t->blocked, (long long)f->dense, (long long)f->blocks,
            t->inner);
    else
        snprintf(f->why, sizeof f->why, "dense: density %.4g is not below %.4g",
                 f->density, t->blocked);
}

/* From where rows end, which the host knows: the device is not asked. Comparisons are
 * those of a product (in_blocks, product.c), so that the counts are what it does. */
asn_status asn_sparse_analyze(const asn_sparse_pattern *p, const asn_sparse_thresholds *t,
                              asn_sparse_analysis *found, int64_t room,
                              double *occupancy) {
    ASN_TRY(asn_sparse_check(t));
    const double all = (double)p->rows * (double)p->cols;
    asn_sparse_analysis f = {.count = p->count,
                             .density = all > 0 ? (double)p->count / all : 0};
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t n = p->ends[i + 1] - p->ends[i];
        if (!i || n < f.least_row) f.least_row = n;
        if (n > f.most_row) f.most_row = n;
    }
    for (int64_t first = 0; first < p->rows; first += ASN_SPARSE_BLOCK, f.blocks++) {
        const int64_t left = p->rows - first;
        const int64_t rows = left < ASN_SPARSE_BLOCK ? left : ASN_SPARSE_BLOCK;
        const int64_t n = p->ends[first + rows] - p->ends[first];
        const double density = p->cols ? (double)n / ((double)rows * (double)p->cols) : 0;
        if (f.blocks < room) occupancy[f.blocks] = density;
        if (!first || density < f.least_block) f.least_block = density;
        if (density > f.most_block) f.most_block = density;
        f.filled += n > 0;
        f.dense += (double)n >= t->inner * (double)rows * (double)p->cols;
    }
    explain(&f, t);
    *found = f;
    return ASN_OK;
}

/* What counts is gathered at each product: `a` changes, the places stay. A direct product
 * reads nothing else, a dense one selects by the mask. */
asn_status asn_sparse_multiply(asn_array *out, const asn_sparse_pattern *p,
                               const asn_array *a, const asn_array *b,
                               asn_sparse_strategy strategy,
                               const asn_sparse_thresholds *t) {
    const asn_layout *l = &a->layout;
    if (l->ndim != 2 || l->shape[0] != p->rows || l->shape[1] != p->cols)
        return asn_error_set(ASN_ERR_VALUE,
                             "sparse multiply: a has %d dimensions and shape (%lld, "
                             "%lld); the pattern's is (%lld, %lld)",
                             l->ndim, (long long)(l->ndim > 0 ? l->shape[0] : 0),
                             (long long)(l->ndim > 1 ? l->shape[1] : 0),
                             (long long)p->rows, (long long)p->cols);
    ASN_TEMPORARIES;
    ASN_MAKE(line, asn_np_ravel(line, a));
    ASN_MAKE(data, asn_take(data, line, &p->places, 0, 0));
    const asn_sparse_left left = {.rows = p->rows,
                                  .cols = p->cols,
                                  .indptr = &p->indptr,
                                  .indices = &p->indices,
                                  .data = data,
                                  .mask = &p->mask,
                                  .whole = a};
    return asn_sparse_times(out, &left, b, strategy, t);
}
