/* L2 sparse: a sparse matrix times a dense one, by the way that suits its density.
 *
 *   direct   over stored elements: the device's operation, or, where it has none, rows of
 *            the dense matrix gathered, multiplied and added up
 *   blocked  64 rows at a time (the last block may have fewer): a block of at least the
 *            inner density becomes dense, the others stay direct. Neighbours that go the
 *            same way are one operation, which all threads share.
 *   dense    the whole matrix becomes dense
 *
 * Elements that are not stored take no part in a product: where the dense factor holds an
 * infinity or a NaN every way is direct, since 0 times those is NaN.
 *
 * Functions take the library's lock themselves where they need it. */
#ifndef ASN_SPARSE_PRODUCT_H
#define ASN_SPARSE_PRODUCT_H

#include "graph/array.h"

enum { ASN_SPARSE_BLOCK = 64 }; /* rows */

typedef enum {
    ASN_SPARSE_AUTO, /* by the thresholds */
    ASN_SPARSE_DIRECT,
    ASN_SPARSE_BLOCKED,
    ASN_SPARSE_DENSE
} asn_sparse_strategy;

/* Densities from 0 to 1, direct <= blocked: below `direct` it is direct, below `blocked`
 * blocked, else dense. `inner` is a block's: below it the block is direct. */
typedef struct {
    double direct, blocked, inner;
} asn_sparse_thresholds;

/* The sparse factor (rows, cols) in CSR, borrowed: indptr (rows + 1) and indices of one
 * dtype, int32 or int64, data as long as indices. mask and whole, or NULL: stored
 * elements are those of `whole` (rows, cols) where `mask` (bool) is true. */
typedef struct {
    int64_t rows, cols;
    const asn_array *indptr, *indices, *data, *mask, *whole;
} asn_sparse_left;

/* VALUE: they are no such densities. */
ASN_CHECK_RESULT asn_status asn_sparse_check(const asn_sparse_thresholds *t);
/* What AUTO is for this density. */
asn_sparse_strategy asn_sparse_choose(const asn_sparse_thresholds *t, double density);

/* left @ b, a new array (rows, n) of the promoted dtype; float16 and bfloat16 are
 * computed in float32. b: (cols, n). t: for AUTO and BLOCKED, else may be NULL. VALUE:
 * shapes that do not fit, thresholds, another strategy. TYPE: indices that are none.
 * MEMORY. Direct on a device with an operation waits for nothing; other ways look at b
 * or at indptr and have no part in a capture: RUNTIME. */
ASN_CHECK_RESULT asn_status asn_sparse_times(asn_array *out, const asn_sparse_left *left,
                                             const asn_array *b,
                                             asn_sparse_strategy strategy,
                                             const asn_sparse_thresholds *t);

#endif
