/* CPU device, private to matrix products: what gemm.c plans, and one tile of it. */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_TILES_H
#define ASN_DEVICE_CPU_GEMM_GEMM_TILES_H

#include <stdatomic.h>

#include "device/cpu/gemm/gemm_panels.h"
#include "device/cpu/kernels.h"
#include "device/cpu/gemm/matmul_small.h"
#include "device/cpu/nd.h"

/* A matrix as CBLAS wants it: element (i, j) at data + i * row + j * col. */
typedef struct {
    char *data;
    int64_t row, col;
} asnd_matrix;

/* A product with its engine: one of by_panels, by_blas, by_dots, by_gemv, else loops. */
typedef struct {
    asn_dtype dtype;
    int item;
    int64_t m, n, k, batch;
    asnd_matrix a, b, c; /* of batch item 0 */
    int num_batch;
    int64_t extent[ASN_ND_MAX_DIMS], a_step[ASN_ND_MAX_DIMS], b_step[ASN_ND_MAX_DIMS],
        c_step[ASN_ND_MAX_DIMS];
    /* One element each of the dtype, 0 where a plain product has none. */
    _Alignas(16) char alpha[16], beta[16];
    const asnd_panels_kernels *by_panels; /* or NULL */
    bool by_blas, by_dots, by_gemv;
    bool swapped;             /* a and b have changed roles */
    bool shares;              /* threads share each product of the batch */
    bool symmetric;           /* b is a's transpose: half of c is the other half */
    asnd_matmul_fn small;     /* or NULL */
    asnd_matmul_many_fn many; /* along the only batch dimension; or NULL */
    /* A tile's extents, how many there are along m and n, tiles of a pool chunk. */
    int64_t tile_m, tile_n, tiles_m, tiles_n, items_per_chunk;
    atomic_bool failed;
} asnd_product;

/* Finds BLAS's functions; before a product by_blas runs. Thread-safe. */
ASN_CHECK_RESULT asn_status asn_gemm_load(void);

/* Whether BLAS can read a matrix where it lies: row- or column-contiguous, with strides
 * that it can express. */
bool asn_matrix_reads(const asnd_matrix *x, int64_t rows, int64_t cols, int item);

/* Whether b is a's transpose, in its very memory, of an extent that makes half of c worth
 * leaving out. The engine is chosen. */
bool asn_product_is_symmetric(const asnd_product *p);
/* Fills in what lies below the diagonal of c. */
ASN_CHECK_RESULT asn_status asn_product_mirror(const asnd_product *p);

/* Chooses the tiles, which do not depend on the number of threads: the engine is chosen.
 */
void asn_product_cut(asnd_product *p);

/* m x n elements of C, by the engine chosen; a, b, c: where the tile's operands begin.
 * ASN_ERR_MEMORY of panels and vectors only. */
ASN_CHECK_RESULT asn_status asn_product_tile(const asnd_product *p, const asnd_matrix *a,
                                             const asnd_matrix *b, const asnd_matrix *c,
                                             int64_t m, int64_t n);

/* One long inner product of floats or complex numbers, shared out between threads by k
 * alone; false: it is another product. */
bool asn_product_dot(const asnd_product *p);

#endif
