/* CPU device: a sparse matrix in CSR times a dense one. */
#ifndef ASN_DEVICE_CPU_SPARSE_SPARSE_H
#define ASN_DEVICE_CPU_SPARSE_SPARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/cpu/nd.h"

/* Rows of a product in some columns of the result. Counts are of elements. */
typedef struct {
    const int64_t *starts;  /* rows + 1: row i has stored elements starts[i] ... */
    const int32_t *indices; /* columns of stored elements: rows of b */
    const uint16_t *places; /* NULL, or these in a block of b (asnd_sparse_cells) */
    const char *data;       /* stored elements */
    int64_t rows;
    const char *b;   /* the dense matrix's row 0 in these columns, or the block's first */
    int64_t b_row;   /* from a row to the next: cols where there are places */
    char *out;       /* the first row of the result in these columns */
    int64_t out_row; /* from a row to the next */
    int64_t cols;    /* at most what the loops take at once */
    bool adds;       /* onto what out holds; else it is overwritten */
} asnd_sparse_part;

/* A row's stored elements, whose columns ascend, by blocks of b: the first `block`
 * columns are block 0. */
typedef struct {
    const int32_t *indices;
    const char *data;
    const int64_t *starts; /* block c's go to starts[c * step] to before the next start */
    int64_t step, blocks;
    int32_t block;    /* columns, at most 65536 */
    uint16_t *places; /* to: columns in their block */
    char *ordered;    /* to: elements */
} asnd_sparse_cells;

/* Eight columns in the block that begins at column `first`. */
static inline void asn_sparse_places8(uint16_t *to, const int32_t *columns,
                                      int32_t first) {
    typedef int32_t eight __attribute__((vector_size(32)));
    typedef uint16_t narrow __attribute__((vector_size(16)));
    eight x;
    memcpy(&x, columns, sizeof x);
    const narrow y = __builtin_convertvector(x - first, narrow);
    memcpy(to, &y, sizeof y);
}

/* What an instruction set has for a dtype. */
typedef struct asnd_sparse_loops {
    int64_t cols; /* that a part has at most */
    /* Terms are added in the order in which they are stored, products and sums rounded
     * once together where the set has such an instruction. */
    void (*rows)(const asnd_sparse_part *part);
    void (*fill)(const asnd_sparse_cells *cells); /* their places and ordered */
} asnd_sparse_loops;

extern const asnd_sparse_loops asn_sparse_f32_avx2, asn_sparse_f64_avx2;
extern const asnd_sparse_loops asn_sparse_f32_avx512, asn_sparse_f64_avx512;

/* out = A b, A of (m, k) elements in CSR. indptr (m + 1) and indices (as many as data)
 * are of one dtype, int32 or int64; data, b (k, n) and out (m, n) of another one: bool,
 * integers, float32, float64, complex. All are contiguous; out overlaps nothing. Bits do
 * not depend on the number of threads. VALUE: indptr does not ascend from 0 to the number
 * of elements, an index is not in [0, k), k is 2^31 or more. NO_LOOP: another dtype.
 * MEMORY. */
ASN_CHECK_RESULT asn_status asn_cpu_sparse_matmul(const asnd_nd *indptr,
                                                  const asnd_nd *indices,
                                                  const asnd_nd *data, const asnd_nd *b,
                                                  const asnd_nd *out);

#endif
