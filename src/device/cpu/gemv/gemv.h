/* CPU device, private to matrix products: a matrix of floats times a vector or a few. */
#ifndef ASN_DEVICE_CPU_GEMV_GEMV_H
#define ASN_DEVICE_CPU_GEMV_GEMV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct {
    asn_dtype dtype; /* float32 or float64; float16 and bfloat16, where there are kernels
                        of them: of x, while v and out are float32 */
    bool dots;       /* out: every row's inner product with v; else the sum of the rows,
                        each times its element of v */
    int64_t rows, cols;
    const char *x; /* rows of contiguous elements, x_row bytes from one to the next */
    int64_t x_row;
    const char *v; /* cols elements (dots), contiguous; or rows, v_step apart */
    int64_t v_step;
    int64_t count,
        v_next; /* vectors, of dots alone several: bytes from one to the next */
    char *out;  /* overlaps neither; out_step apart */
    int64_t out_step, out_next;
} asnd_gemv;

/* The products, shared out over the pool or, `alone`, not. Its bits depend neither on
 * that nor on the number of threads or of vectors. rows, cols, count >= 1.
 * ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_gemv_run(const asnd_gemv *g, bool alone);

#endif
