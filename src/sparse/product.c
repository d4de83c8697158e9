/* L2 sparse: products (see product.h).
 *
 * Direct where the device has no operation (an NPU): the rows of b that stored elements
 * name are taken, multiplied and added to the rows of the result (numpy.add.at), PIECE
 * numbers at a time; from DENSE_FROM on the matrix becomes dense there, too, since sums
 * at indices cost several times as much as a product's.
 *
 * A row of the result is made by one way alone, whatever its neighbours do. */
#include "sparse/product.h"

#include "array/promote.h"
#include "base/alloc.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* PIECE: 16 MiB of float32, which a cache of the last level may still hold in part. */
enum { PIECE = 1 << 22 };
static const double DENSE_FROM =
    0.3; /* measured on the CPU device without its operation */

/* NULL: it is none. Static. */
static const char *strategy_name(asn_sparse_strategy strategy) {
    static const char *const names[] = {"auto", "direct", "blocked", "dense"};
    return (unsigned)strategy <= ASN_SPARSE_DENSE ? names[strategy] : NULL;
}

/* A NaN fails every comparison, and so the check. */
asn_status asn_sparse_check(const asn_sparse_thresholds *t) {
    if (t->direct >= 0 && t->direct <= t->blocked && t->blocked <= 1 && t->inner >= 0 &&
        t->inner <= 1)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "sparse thresholds are direct %g, blocked %g, inner %g; allowed "
                         "are 0 <= direct <= blocked <= 1 and 0 <= inner <= 1",
                         t->direct, t->blocked, t->inner);
}

/* A product at a threshold goes the way above it. */
asn_sparse_strategy asn_sparse_choose(const asn_sparse_thresholds *t, double density) {
    return density < t->direct    ? ASN_SPARSE_DIRECT
           : density < t->blocked ? ASN_SPARSE_BLOCKED
                                  : ASN_SPARSE_DENSE;
}

/* Stored elements of all positions, from 0 to 1; places that are stored twice count
 * twice, so that it may be more. Of an empty matrix 0. */
static double density_of(const asn_sparse_left *l) {
    const double all = (double)l->rows * (double)l->cols;
    return all > 0 ? (double)l->indices->layout.size / all : 0;
}

/* The row of each stored element, int64: rows repeated by their counts. Counts are taken
 * on the device, so that nothing is waited for. */
static asn_status row_numbers(asn_array *out, const asn_sparse_left *l) {
    const asn_scalar start = asn_scalar_int(0), step = asn_scalar_int(1);
    ASN_TEMPORARIES;
    ASN_MAKE(ends, asn_array_range(ends, l->indptr, 0, 1, l->rows));
    ASN_MAKE(begins, asn_array_range(begins, l->indptr, 0, 0, l->rows));
    ASN_MAKE(counts,
             asn_np_binary(counts, ASN_OP_SUBTRACT, asn_np_of(ends), asn_np_of(begins)));
    ASN_MAKE(wide, asn_np_astype(wide, counts, ASN_I64));
    ASN_MAKE(rows, asn_arange(rows, ASN_I64, &start, &step, l->rows));
    return asn_repeat(out, rows, wide, 0);
}

/* The matrix with its zeros: of a mask a selection, which costs a pass over the matrix;
 * of CSR zeros onto which the stored elements are added, since one place may be stored
 * twice and means the sum then. */
static asn_status dense_left(asn_array *out, const asn_sparse_left *l) {
    const asn_operand zero = asn_operand_int(0);
    if (l->mask) {
        const asn_operand whole = asn_np_of(l->whole);
        ASN_TEMPORARIES;
        ASN_MAKE(kept, asn_where(kept, l->mask, &whole, &zero));
        return asn_np_astype(out, kept, asn_layout_dtype(&l->data->layout));
    }
    const int64_t shape[2] = {l->rows, l->cols};
    ASN_TEMPORARIES;
    ASN_MAKE(whole,
             asn_full(whole, asn_layout_dtype(&l->data->layout), 2, shape, 'C', &zero));
    if (l->data->layout.size) {
        ASN_MAKE(rows, row_numbers(rows, l));
        const asn_index_item at[2] = {{.kind = ASN_INDEX_ARRAY, .array = rows},
                                      {.kind = ASN_INDEX_ARRAY, .array = l->indices}};
        const asn_operand data = asn_np_of(l->data);
        ASN_TRY(asn_index_at(ASN_OP_ADD, whole, 2, at, &data));
    }
    return asn_array_share(out, whole);
}

/* Stored elements [first, first + count) times their rows of b, onto out. rows: of all
 * stored elements. Of rows that occur several times all are added, in any order. */
static asn_status add_piece(const asn_array *out, const asn_sparse_left *l,
                            const asn_array *rows, const asn_array *b, int64_t first,
                            int64_t count) {
    const int64_t column[2] = {count, 1};
    ASN_TEMPORARIES;
    ASN_MAKE(part, asn_array_range(part, l->data, 0, first, count));
    ASN_MAKE(factors, asn_np_reshape(factors, part, 2, column));
    ASN_MAKE(names, asn_array_range(names, l->indices, 0, first, count));
    ASN_MAKE(taken, asn_take(taken, b, names, 0, 0));
    ASN_MAKE(products, asn_np_binary(products, ASN_OP_MULTIPLY, asn_np_of(factors),
                                     asn_np_of(taken)));
    ASN_MAKE(to, asn_array_range(to, rows, 0, first, count));
    const asn_index_item at = {.kind = ASN_INDEX_ARRAY, .array = to};
    const asn_operand value = asn_np_of(products);
    return asn_index_at(ASN_OP_ADD, out, 1, &at, &value);
}

/* Whether no element of b is an infinity or a NaN; waits for the answer. */
static asn_status all_finite(const asn_array *b, bool *finite) {
    const asn_dtype dtype = asn_layout_dtype(&b->layout);
    const asn_reduce_options all = {
        .axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE, .now = true};
    asn_scalar truth = {0};
    *finite = true;
    if (!asn_is_inexact(dtype)) return ASN_OK;
    ASN_TEMPORARIES;
    ASN_MAKE(each, asn_np_unary(each, ASN_OP_ISFINITE, b));
    ASN_MAKE(whole, asn_ufunc_reduce(ASN_OP_LOGICAL_AND, each, NULL, whole, &all));
    ASN_TRY(asn_array_get_item(whole, 0, &truth));
    *finite = truth.bytes[0] != 0;
    return ASN_OK;
}

/* Callers have made sure that b is finite. */
static asn_status times_dense(asn_array *out, const asn_sparse_left *l,
                              const asn_array *b) {
    ASN_TEMPORARIES;
    ASN_MAKE(whole, dense_left(whole, l));
    return asn_matmul(whole, b, NULL, out);
}

/* The composition of a direct product. Integers and booleans have no infinity, so that
 * they may become dense at any time. */
static asn_status times_gathered(asn_array *out, const asn_sparse_left *l,
                                 const asn_array *b) {
    const asn_operand zero = asn_operand_int(0);
    const int64_t shape[2] = {l->rows, b->layout.shape[1]}, n = l->data->layout.size;
    bool finite = false;
    if (density_of(l) > DENSE_FROM) ASN_TRY(all_finite(b, &finite));
    if (finite) return times_dense(out, l, b);
    ASN_TEMPORARIES;
    ASN_MAKE(sums, asn_full(sums, asn_layout_dtype(&b->layout), 2, shape, 'C', &zero));
    if (n && shape[1]) {
        const int64_t step = shape[1] < PIECE ? PIECE / shape[1] : 1;
        ASN_MAKE(rows, row_numbers(rows, l));
        for (int64_t first = 0; first < n; first += step)
            ASN_TRY(
                add_piece(sums, l, rows, b, first, step < n - first ? step : n - first));
    }
    return asn_array_share(out, sums);
}

/* UNSUPPORTED is the device's answer for all products of a dtype, not an error. */
static asn_status times_direct(asn_array *out, const asn_sparse_left *l,
                               const asn_array *b) {
    const asn_status status = asn_sparse_matmul(out, l->indptr, l->indices, l->data, b);
    return status == ASN_ERR_UNSUPPORTED ? times_gathered(out, l, b) : status;
}

/* Rows [first, first + rows) of the product by one way, into those of `out`. ends: where
 * each row of the matrix ends. */
static asn_status times_rows(const asn_array *out, const asn_sparse_left *l,
                             const asn_array *b, const int64_t *ends, int64_t first,
                             int64_t rows, bool dense) {
    const int64_t from = first ? ends[first - 1] : 0,
                  count = ends[first + rows - 1] - from;
    asn_sparse_left part = {.rows = rows, .cols = l->cols};
    ASN_TEMPORARIES;
    ASN_MAKE(starts, asn_array_range(starts, l->indptr, 0, first, rows + 1));
    ASN_MAKE(moved, asn_np_binary(moved, ASN_OP_SUBTRACT, asn_np_of(starts),
                                  asn_operand_int(from)));
    ASN_MAKE(indices, asn_array_range(indices, l->indices, 0, from, count));
    ASN_MAKE(data, asn_array_range(data, l->data, 0, from, count));
    part.indptr = moved;
    part.indices = indices;
    part.data = data;
    if (l->mask && dense) {
        ASN_MAKE(mask, asn_array_range(mask, l->mask, 0, first, rows));
        ASN_MAKE(whole, asn_array_range(whole, l->whole, 0, first, rows));
        part.mask = mask;
        part.whole = whole;
    }
    ASN_MAKE(product,
             dense ? times_dense(product, &part, b) : times_direct(product, &part, b));
    ASN_MAKE(to, asn_array_range(to, out, 0, first, rows));
    const asn_operand value = asn_np_of(product);
    return asn_assign(to, &value, ASN_CASTING_NO, NULL);
}

/* Blocks of one way after each other are one call. */
static asn_status in_blocks(const asn_array *out, const asn_sparse_left *l,
                            const asn_array *b, const int64_t *ends, double inner) {
    int64_t begin = 0;
    bool before = false;
    for (int64_t first = 0; first < l->rows; first += ASN_SPARSE_BLOCK) {
        const int64_t rows =
            ASN_SPARSE_BLOCK < l->rows - first ? ASN_SPARSE_BLOCK : l->rows - first;
        const int64_t held = ends[first + rows - 1] - (first ? ends[first - 1] : 0);
        const bool dense = (double)held >= inner * (double)rows * (double)l->cols;
        if (first > begin && dense != before) {
            ASN_TRY(times_rows(out, l, b, ends, begin, first - begin, before));
            begin = first;
        }
        before = dense;
    }
    return times_rows(out, l, b, ends, begin, l->rows - begin, before);
}

/* indptr on the host. VALUE: it does not ascend within the stored elements. */
static asn_status read_indptr(const asn_sparse_left *l, int64_t *to) {
    ASN_TEMPORARIES;
    ASN_MAKE(wide, asn_np_astype(wide, l->indptr, ASN_I64));
    ASN_TRY(asn_array_to_host(wide, to));
    for (int64_t i = 0; i < l->rows; i++)
        if (to[i] < 0 || to[i + 1] < to[i] || to[i + 1] > l->data->layout.size)
            return asn_error_set(ASN_ERR_VALUE,
                                 "sparse matmul: indptr has %lld before %lld, of %lld "
                                 "stored elements; it must ascend",
                                 (long long)to[i], (long long)to[i + 1],
                                 (long long)l->data->layout.size);
    return ASN_OK;
}

static asn_status times_blocked(asn_array *out, const asn_sparse_left *l,
                                const asn_array *b, double inner) {
    const int64_t shape[2] = {l->rows, b->layout.shape[1]};
    if (!l->rows || !l->cols) return times_direct(out, l, b);
    int64_t *indptr = asn_malloc((size_t)(l->rows + 1) * sizeof *indptr);
    if (!indptr) return ASN_ERR_MEMORY;
    asn_status status = read_indptr(l, indptr);
    if (!status) status = asn_array_new(out, asn_layout_dtype(&b->layout), 2, shape, 'C');
    if (!status) {
        status = in_blocks(out, l, b, indptr + 1, inner);
        if (status) asn_array_fini(out);
    }
    asn_free(indptr);
    return status;
}

/* Shapes and dtypes of CSR. */
static asn_status check_left(const asn_sparse_left *l, const asn_array *b) {
    const asn_layout *p = &l->indptr->layout, *i = &l->indices->layout;
    const asn_dtype index = asn_layout_dtype(i);
    if ((index != ASN_I32 && index != ASN_I64) || asn_layout_dtype(p) != index)
        return asn_error_set(ASN_ERR_TYPE,
                             "sparse matmul: indptr is %s, indices are %s; allowed are "
                             "int32 and int64, the same for both",
                             asn_dtype_name(asn_layout_dtype(p)), asn_dtype_name(index));
    if (p->ndim != 1 || p->size != l->rows + 1 || i->ndim != 1 ||
        l->data->layout.ndim != 1 || l->data->layout.size != i->size)
        return asn_error_set(
            ASN_ERR_VALUE,
            "sparse matmul: indptr has %lld elements, indices %lld, data "
            "%lld; allowed are %lld, and as many indices as data",
            (long long)p->size, (long long)i->size, (long long)l->data->layout.size,
            (long long)l->rows + 1);
    if (b->layout.ndim != 2 || b->layout.shape[0] != l->cols)
        return asn_error_set(
            ASN_ERR_VALUE,
            "sparse matmul: dimension mismatch: (%lld, %lld) by an array of %d dimensions"
            " with %lld rows; allowed are (%lld, n)",
            (long long)l->rows, (long long)l->cols, b->layout.ndim,
            (long long)(b->layout.ndim ? b->layout.shape[0] : 1), (long long)l->cols);
    return ASN_OK;
}

/* By a way that is known. */
static asn_status times(asn_array *out, const asn_sparse_left *l, const asn_array *b,
                        asn_sparse_strategy strategy, double inner) {
    bool finite = true;
    if (strategy != ASN_SPARSE_DIRECT) ASN_TRY(all_finite(b, &finite));
    if (!finite || strategy == ASN_SPARSE_DIRECT) return times_direct(out, l, b);
    return strategy == ASN_SPARSE_DENSE ? times_dense(out, l, b)
                                        : times_blocked(out, l, b, inner);
}

asn_status asn_sparse_times(asn_array *out, const asn_sparse_left *left,
                            const asn_array *b, asn_sparse_strategy strategy,
                            const asn_sparse_thresholds *t) {
    if (!strategy_name(strategy))
        return asn_error_set(ASN_ERR_VALUE,
                             "sparse matmul: strategy is %d; it may be 0 (auto) to 3 "
                             "(direct, blocked, dense)",
                             (int)strategy);
    ASN_TRY(check_left(left, b));
    const asn_sparse_thresholds none = {0, 0, 0};
    if (!t && strategy != ASN_SPARSE_DIRECT && strategy != ASN_SPARSE_DENSE)
        return asn_error_set(ASN_ERR_NULL_POINTER, "sparse matmul: %s needs thresholds",
                             strategy_name(strategy));
    if (!t) t = &none;
    ASN_TRY(asn_sparse_check(t));
    if (strategy == ASN_SPARSE_AUTO) strategy = asn_sparse_choose(t, density_of(left));
    const asn_dtype result =
        asn_promote(asn_layout_dtype(&left->data->layout), asn_layout_dtype(&b->layout));
    const asn_dtype dtype = asn_is_half(result) ? ASN_F32 : result;
    asn_sparse_left l = *left;
    ASN_TEMPORARIES;
    ASN_MAKE(data, asn_np_astype(data, left->data, dtype));
    ASN_MAKE(wide, asn_np_astype(wide, b, dtype));
    l.data = data;
    if (dtype == result) return times(out, &l, wide, strategy, t->inner);
    ASN_MAKE(sums, times(sums, &l, wide, strategy, t->inner));
    return asn_np_astype(out, sums, result);
}
