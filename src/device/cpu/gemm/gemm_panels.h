/* CPU device, private to matrix products: float32 and float64 by vectors of our own. */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_PANELS_H
#define ASN_DEVICE_CPU_GEMM_GEMM_PANELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "device/cpu/context.h"

/* c = alpha a b + beta c; strides in bytes, those of a and b any, c's rows contiguous.
 * k > 0. beta = 0 never reads c. */
typedef struct {
    int64_t m, n, k;
    const char *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    char *c;
    int64_t c_row;
    double alpha, beta;
    /* b is a's transpose, and c, of which beta has nothing, symmetric: what lies below
     * its diagonal need not be computed, and is whatever it was, or right. */
    bool symmetric;
} asnd_panels;

enum { ASN_PANELS_GROUP = 12 };

/* What one instruction set has for a dtype. Columns are counted in vectors, of which the
 * last may be part of one; `first` is a multiple of ASN_PANELS_GROUP, `end` one or n's.
 */
typedef struct asnd_panels_kernels {
    int item, lanes;
    /* Vectors [first, end) of columns of b's terms [term, term + terms), as rows() wants
     * them: terms * lanes elements a vector. */
    void (*pack)(const asnd_panels *x, int64_t term, int64_t terms, int64_t first,
                 int64_t end, char *packed);
    /* Those terms of rows [row, row + rows) of c, in vectors [first, end). `packed` is
     * those vectors of b, or NULL: they are read where they lie. room: rows * terms
     * elements for a's, or NULL likewise. */
    void (*rows)(const asnd_panels *x, int64_t term, int64_t terms, int64_t row,
                 int64_t rows, int64_t first, int64_t end, const char *packed,
                 char *room);
} asnd_panels_kernels;

extern const asnd_panels_kernels asn_panels_f32_avx512, asn_panels_f64_avx512;

/* NULL: the dtype is neither float32 nor float64, or there are none for the processor. */
static inline const asnd_panels_kernels *asn_panels_kernels_of(asn_dtype dt) {
    const asnd_context *context = asn_context_get();
    return dt == ASN_F64   ? context->panels_f64
           : dt == ASN_F32 ? context->panels_f32
                           : NULL;
}

/* The product, shared out over the pool. An element's bits depend on its row of a, its
 * column of b and its own former value alone. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_gemm_panels(const asnd_panels_kernels *by,
                                            const asnd_panels *x);

#endif
