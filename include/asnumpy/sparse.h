/* AsNumpy in C: a sparse matrix times a dense one, by the way that suits its density, and
 * patterns (masks, bands, blocks) that many products use. Include asnumpy/asnumpy.h.
 *
 *     asnp_sparse_pattern *p = NULL;
 *     asnp_array *out = NULL;
 *     if (asnp_sparse_pattern_banded(2048, 2048, 64, 0, &p) ||
 *         asnp_sparse_multiply(p, scores, values, ASNP_SPARSE_AUTO, NULL, &out))
 *         fprintf(stderr, "%s\n", asnp_message());
 *     asnp_sparse_pattern_release(p);
 *
 * multiplies those elements of scores (2048, 2048) that lie on the diagonal and up to 64
 * places below it by values (2048, n).
 */
#ifndef ASNUMPY_SPARSE_H_
#define ASNUMPY_SPARSE_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* AUTO: by the thresholds. DIRECT: over stored elements. BLOCKED: 64 rows at a time (the
 * last block may have fewer), blocks of at least the inner density as products of dense
 * matrices, the others direct. DENSE: the whole as a product of dense matrices. Where the
 * dense factor holds an infinity or a NaN all are direct: elements that are not stored
 * take no part. */
enum { ASNP_SPARSE_AUTO, ASNP_SPARSE_DIRECT, ASNP_SPARSE_BLOCKED, ASNP_SPARSE_DENSE };
enum { ASNP_SPARSE_BLOCK_ROWS = 64 };

/* Densities, 0 <= direct <= blocked <= 1: below `direct` a product is DIRECT, below
 * `blocked` BLOCKED, else DENSE. inner, 0 to 1: of a block. {0.10, 0.30, 0.15} are
 * customary; what is best depends on the machine. */
typedef struct {
    double direct, blocked, inner;
} asnp_sparse_thresholds;

/* Thresholds where one way becomes slower than another here, measured at the first call
 * of a process and kept. RUNTIME: in a capture. */
ASNUMPY_API asnp_status asnp_sparse_measured(asnp_sparse_thresholds *thresholds);

/* A sparse matrix in CSR times b, a new array (rows, n) of the promoted dtype: indptr
 * (rows + 1) and indices of one dtype, int32 or int64, data as long as indices; b (cols,
 * n). thresholds NULL: those that are measured. DIRECT waits for nothing on the CPU
 * device. VALUE: shapes that do not fit, thresholds, another strategy, an indptr that
 * does not ascend. INDEX, VALUE: an index out of range. TYPE: indices that are none. */
ASNUMPY_API asnp_status asnp_sparse_matmul(const asnp_array *indptr,
                                           const asnp_array *indices,
                                           const asnp_array *data, const asnp_array *b,
                                           int32_t strategy,
                                           const asnp_sparse_thresholds *thresholds,
                                           asnp_array **out);

/* Which elements of a matrix count; made once, of no use to anybody but the functions
 * below, ended with asnp_sparse_pattern_release. Several threads may use one. */
typedef struct asnp_sparse_pattern asnp_sparse_pattern;

/* Where a bool array of two dimensions is true; it is copied. TYPE: another dtype. VALUE.
 */
ASNUMPY_API asnp_status asnp_sparse_pattern_mask(const asnp_array *mask,
                                                 asnp_sparse_pattern **out);
/* Element (i, j) counts where j <= i. VALUE: a negative extent. */
ASNUMPY_API asnp_status asnp_sparse_pattern_causal(int64_t rows, int64_t cols,
                                                   asnp_sparse_pattern **out);
/* Where -lower <= j - i <= upper. VALUE: a negative extent. */
ASNUMPY_API asnp_status asnp_sparse_pattern_banded(int64_t rows, int64_t cols,
                                                   int64_t lower, int64_t upper,
                                                   asnp_sparse_pattern **out);
/* Where blocks[i / height, j / width] is true: bool, as many as cover (rows, cols), the
 * last ones perhaps in part. VALUE, TYPE. */
ASNUMPY_API asnp_status asnp_sparse_pattern_blocks(const asnp_array *blocks,
                                                   int64_t height, int64_t width,
                                                   int64_t rows, int64_t cols,
                                                   asnp_sparse_pattern **out);
/* NULL is nothing. */
ASNUMPY_API void asnp_sparse_pattern_release(asnp_sparse_pattern *pattern);
/* Its mask, and its structure in CSR: new arrays (any of the pointers may be NULL). */
ASNUMPY_API asnp_status asnp_sparse_pattern_parts(const asnp_sparse_pattern *pattern,
                                                  asnp_array **mask, asnp_array **indptr,
                                                  asnp_array **indices);

/* What a product with a pattern would do, and why (a sentence). Elements that count: of
 * all (density), how many, the least and the most in a row. Blocks of 64 rows: how many;
 * not empty; of at least the inner density; the least and the largest density. */
typedef struct {
    double density;
    int64_t count, least_row, most_row;
    int64_t blocks, filled_blocks, dense_blocks;
    double least_block, most_block;
    int32_t strategy;
    char why[128];
} asnp_sparse_analysis;

/* occupancy receives the density of each block, `room` at most (NULL when room is 0).
 * thresholds NULL: those that are measured. VALUE: thresholds, a negative room. */
ASNUMPY_API asnp_status asnp_sparse_pattern_analyze(
    const asnp_sparse_pattern *pattern, const asnp_sparse_thresholds *thresholds,
    int64_t room, double *occupancy, asnp_sparse_analysis *found);

/* The elements of a (rows, cols) that count, times b (cols, n): as asnp_sparse_matmul. An
 * infinity or a NaN elsewhere in `a` takes no part. */
ASNUMPY_API asnp_status asnp_sparse_multiply(const asnp_sparse_pattern *pattern,
                                             const asnp_array *a, const asnp_array *b,
                                             int32_t strategy,
                                             const asnp_sparse_thresholds *thresholds,
                                             asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
