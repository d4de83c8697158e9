/* L2 sparse: which elements of a matrix count, made once and used for many products: a
 * mask, and what products need of it, its structure in CSR.
 *
 * A pattern does not change: several threads may use one. Making one waits for the mask
 * and has no part in a capture: RUNTIME. */
#ifndef ASN_SPARSE_PATTERN_H
#define ASN_SPARSE_PATTERN_H

#include "sparse/product.h"

/* Owns all. `places`: of each stored element among all in row-major order, int64. */
typedef struct {
    asn_array mask, indptr, indices, places;
    int64_t rows, cols, count;
    int64_t *ends; /* where each row ends; one more than there are rows, from 0 */
} asn_sparse_pattern;

/* Of a bool array (rows, cols), which is copied. TYPE: another dtype. VALUE: another
 * number of dimensions. MEMORY, as everywhere here. */
ASN_CHECK_RESULT asn_status asn_sparse_pattern_new(const asn_array *mask,
                                                   asn_sparse_pattern **out);
/* Element (i, j) counts where -lower <= j - i <= upper. VALUE: a negative extent. */
ASN_CHECK_RESULT asn_status asn_sparse_pattern_banded(int64_t rows, int64_t cols,
                                                      int64_t lower, int64_t upper,
                                                      asn_sparse_pattern **out);
/* Element (i, j) counts where blocks[i / height, j / width] does. blocks: bool, as many
 * as cover (rows, cols), the last ones perhaps in part. VALUE, TYPE. */
ASN_CHECK_RESULT asn_status asn_sparse_pattern_blocks(const asn_array *blocks,
                                                      int64_t height, int64_t width,
                                                      int64_t rows, int64_t cols,
                                                      asn_sparse_pattern **out);
/* NULL is nothing. */
void asn_sparse_pattern_free(asn_sparse_pattern *p);

/* What analysis finds. Densities are from 0 to 1; of nothing 0. */
typedef struct {
    double density;
    int64_t count, least_row, most_row; /* stored elements, in all and of a row */
    int64_t blocks, filled, dense;      /* of 64 rows: all; not empty; >= t->inner */
    double least_block, most_block;     /* densities */
    asn_sparse_strategy strategy;       /* what AUTO is */
    char why[128];                      /* a sentence */
} asn_sparse_analysis;

/* occupancy: the density of each block of 64 rows, `room` at most; may be NULL when room
 * is 0. VALUE: thresholds. */
ASN_CHECK_RESULT asn_status asn_sparse_analyze(const asn_sparse_pattern *p,
                                               const asn_sparse_thresholds *t,
                                               asn_sparse_analysis *found, int64_t room,
                                               double *occupancy);

/* The elements of a (rows, cols) that count, times b: asn_sparse_times. Elements that do
 * not count take no part, NaN neither. VALUE: another shape. */
ASN_CHECK_RESULT asn_status asn_sparse_multiply(asn_array *out,
                                                const asn_sparse_pattern *p,
                                                const asn_array *a, const asn_array *b,
                                                asn_sparse_strategy strategy,
                                                const asn_sparse_thresholds *t);

/* Thresholds where one way becomes slower than another on the device in use, measured at
 * the first call of the process (products of (512, 512) by (512, 256) in float32) and
 * kept. Where the direct product's time, a line through two densities, meets the dense
 * one's is `blocked`; where it meets that of eight products of 64 rows, `inner`; `direct`
 * is two thirds of inner: a product of less has few blocks that repay a look. Callers
 * hold the library's lock. */
ASN_CHECK_RESULT asn_status asn_sparse_measured(asn_sparse_thresholds *t);

#endif
