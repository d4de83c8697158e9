/* AsNumpy in C: products of float32 computed in bfloat16, float16 or int8. Include
 * asnumpy/asnumpy.h.
 *
 *     asnp_autocast narrow = {0, ASNP_BFLOAT16}, before;
 *     asnp_autocast_set(&narrow, &before);
 *     asnp_matmul(a, b, &c);                      ... c is float32
 *     asnp_autocast_set(&before, NULL);
 *
 * Errors are relative to norms: ||c - exact|| <= error * ||a|| ||b|| in Frobenius' norm.
 * Gains are measured on the machine, once for shapes of the same powers of two, and kept
 * for the process: processor time on the CPU device, the clock elsewhere. */
#ifndef ASNUMPY_PRECISION_H_
#define ASNUMPY_PRECISION_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the calling thread's products of float32 are computed; those of float32 with a half
 * too. All 0: in float32. */
typedef struct {
    double error;      /* of automatic: the largest, positive */
    asnp_dtype dtype;  /* float32: nothing is narrowed; bfloat16, float16, int8 */
    int32_t automatic; /* not 0: each in the dtype that is fastest here among those whose
                          error is within `error`; dtype is float32 */
    int32_t unchecked; /* not 0: float16's range is not looked at. Else a product is
                          computed in float32 where an element is beyond 65504 or not
                          finite, or a sum might be beyond */
    int32_t reserved;  /* 0 */
} asnp_autocast;

/* The thread's settings from here on; *before: those until now; either may be NULL, which
 * changes or tells nothing. TYPE: another dtype; VALUE: the error. */
ASNUMPY_API asnp_status asnp_autocast_set(const asnp_autocast *now,
                                          asnp_autocast *before);

/* What a tensor is used in. */
enum {
    ASNP_PRECISION_PRODUCT = 0, /* a product, as its second operand */
    ASNP_PRECISION_BOUNDED = 1, /* an elementwise operation: not narrowed */
    ASNP_PRECISION_WIDE = 2     /* sums, exponentials, norms: float32 */
};
typedef struct {
    double error;       /* the largest expected error, positive */
    int64_t rows;       /* of the other operand, at least 1 */
    int32_t kind;       /* ASNP_PRECISION_... */
    int32_t transposed; /* not 0: the tensor is (..., n, k), else (..., k, n) */
    int32_t for_memory; /* not 0: the narrowest dtype, else the fastest */
    int32_t reserved;   /* 0 */
} asnp_precision_question;
typedef struct {
    double expected_error; /* with an other operand that is like the tensor */
    double gain;           /* time in float32 / time in compute; 1 of float32 */
    const char *reason;    /* a sentence that stays */
    asnp_dtype compute, memory;
} asnp_precision_decision;

/* What a float32 tensor is to be computed in and stored as: only a dtype that is 1.2
 * times as fast as float32 at least is computed in. Looks at its elements, and measures.
 * VALUE: a number out of its range, no elements, or fewer than two dimensions in a
 * product; TYPE: another dtype. */
ASNUMPY_API asnp_status asnp_precision_decide(const asnp_array *tensor,
                                              const asnp_precision_question *question,
                                              asnp_precision_decision *out);

/* How products under autocast were computed, in all threads; and how often float16 was
 * turned down for its range, float16 or int8 for their error on the values there were. */
typedef struct {
    int64_t float32, bfloat16, float16, int8, beyond_range, beyond_error;
} asnp_precision_counts;
/* Since the last call with reset not 0. */
ASNUMPY_API asnp_status asnp_precision_count(asnp_precision_counts *out, int32_t reset);

/* One measurement: `batch` products (m, k) by (k, n) in nanoseconds; stored: the second
 * operand was of the dtype already. */
typedef struct {
    double float32_ns, ns;
    int64_t m, k, n, batch;
    asnp_dtype dtype;
    int32_t stored;
} asnp_precision_gain;
/* Into out[0 ... most), which may be NULL where most is 0; *count: how many there are.
 * VALUE: most is negative. */
ASNUMPY_API asnp_status asnp_precision_gains(asnp_precision_gain *out, int64_t most,
                                             int64_t *count);

/* q = rint(x / scale), int8, with scale = max |x| / 127 along an axis, at least 2**-126,
 * where it has extent 1: one for each channel. x: float32; the axis may be negative.
 * TYPE: another dtype; AXIS; VALUE: the axis is empty. */
ASNUMPY_API asnp_status asnp_quantize_per_channel(const asnp_array *x, int32_t axis,
                                                  asnp_array **q, asnp_array **scale);
/* q * scale, float32. */
ASNUMPY_API asnp_status asnp_dequantize(const asnp_array *q, const asnp_array *scale,
                                        asnp_array **out);
/* a times int8 (..., k, n) with scales (..., 1, n), float32: the rows of a, float32
 * (..., m, k), are quantised. TYPE, VALUE: dtypes or shapes, more than 2**17 terms. */
ASNUMPY_API asnp_status asnp_matmul_int8(const asnp_array *a, const asnp_array *q,
                                         const asnp_array *scale, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
