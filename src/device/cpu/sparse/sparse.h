/* CPU device: a sparse matrix in CSR times a dense one. */
#ifndef ASN_DEVICE_CPU_SPARSE_SPARSE_H
#define ASN_DEVICE_CPU_SPARSE_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/nd.h"

/* Rows of a product in some columns of the result. Counts are of elements. */
typedef struct {
    const int64_t *starts;  /* rows + 1: row i has stored elements starts[i] ... */
    const int32_t *indices; /* columns of stored elements */
    const char *data;       /* stored elements */
    int64_t rows;
    const char *b;   /* the dense matrix's row 0 in these columns */
    int64_t b_row;   /* from a row to the next */
    char *out;       /* the first row of the result in these columns */
    int64_t out_row; /* from a row to the next */
    int64_t cols;    /* at most what the loops take at once */
    bool adds;       /* onto what out holds; else it is overwritten */
} asnd_sparse_part;

/* What an instruction set has for a dtype. */
typedef struct asnd_sparse_loops {
    int64_t cols; /* that a part has at most */
    /* Terms are added in the order in which they are stored, products and sums rounded
     * once together where the set has such an instruction. */
    void (*rows)(const asnd_sparse_part *part);
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
