/* AsNumpy in C: elementwise operations, reductions, scans. Include asnumpy/asnumpy.h. */
#ifndef ASNUMPY_UFUNC_H_
#define ASNUMPY_UFUNC_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ufuncs, by NumPy's names: "add", "sqrt", "less", "where", "modf", ... Arguments
 * broadcast and promote as NumPy's do. VALUE: no such operation, shapes that do not
 * broadcast. TYPE: another number of arguments. NO_LOOP: dtypes that it does not take. */

/* The name of operation i, i = 0, 1, ...; NULL past the last. num_in and num_out (may be
 * NULL) receive its numbers of arguments and results. Static. */
ASNUMPY_API const char *asnp_ufunc_name(int32_t i, int32_t *num_in, int32_t *num_out);

ASNUMPY_API asnp_status asnp_unary(const char *name, const asnp_array *a,
                                   asnp_array **out);
ASNUMPY_API asnp_status asnp_binary(const char *name, const asnp_array *a,
                                    const asnp_array *b, asnp_array **out);
/* a op number. */
ASNUMPY_API asnp_status asnp_binary_number(const char *name, const asnp_array *a,
                                           asnp_number b, asnp_array **out);
/* number op b. */
ASNUMPY_API asnp_status asnp_number_binary(const char *name, asnp_number a,
                                           const asnp_array *b, asnp_array **out);
/* Any number of arguments and results; at least one argument an array. */
ASNUMPY_API asnp_status asnp_ufunc(const char *name, int32_t num_in,
                                   const asnp_operand *in, int32_t num_out,
                                   asnp_array **out);
/* Into existing arrays or views of the broadcast shape, where `where` (bool, broadcast;
 * NULL: everywhere) is true. Overlap with arguments is safe. CASTING: a result of another
 * kind than the array's. VALUE: another shape, read-only. */
ASNUMPY_API asnp_status asnp_ufunc_into(const char *name, int32_t num_in,
                                        const asnp_operand *in, int32_t num_out,
                                        asnp_array *const *out, const asnp_array *where);

ASNUMPY_API asnp_status asnp_add(const asnp_array *a, const asnp_array *b,
                                 asnp_array **out);
ASNUMPY_API asnp_status asnp_subtract(const asnp_array *a, const asnp_array *b,
                                      asnp_array **out);
ASNUMPY_API asnp_status asnp_multiply(const asnp_array *a, const asnp_array *b,
                                      asnp_array **out);
ASNUMPY_API asnp_status asnp_divide(const asnp_array *a, const asnp_array *b,
                                    asnp_array **out);

/* ---- reductions over the axes listed (axes NULL: all; num_axes is then not read), which
 * go, or stay with extent 1 when keepdims is 1. AXIS: out of range; VALUE: twice the same
 * axis, nothing to reduce by an operation without identity. */

typedef struct {
    int32_t num_axes;
    const int32_t *axes;
    int32_t keepdims;
    asnp_dtype dtype;           /* to compute in; ASNP_DTYPE_NONE: NumPy's choice */
    const asnp_array *where;    /* bool, broadcasts; NULL: everywhere */
    const asnp_number *initial; /* NULL: the identity, or the first element */
} asnp_reduce_options;
#define ASNP_REDUCE_DEFAULTS {0, NULL, 0, ASNP_DTYPE_NONE, NULL, NULL}

/* ufunc.reduce of an operation with two arguments. options NULL: the defaults. */
ASNUMPY_API asnp_status asnp_reduce(const char *name, const asnp_array *a,
                                    const asnp_reduce_options *options, asnp_array **out);
/* Into an existing array of the result's shape. */
ASNUMPY_API asnp_status asnp_reduce_into(const char *name, const asnp_array *a,
                                         const asnp_reduce_options *options,
                                         asnp_array *out);
/* Sums and products of small integers are int64 or uint64. */
ASNUMPY_API asnp_status asnp_sum(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);
ASNUMPY_API asnp_status asnp_prod(const asnp_array *a, int32_t num_axes,
                                  const int32_t *axes, int32_t keepdims,
                                  asnp_array **out);
/* NaN wins. */
ASNUMPY_API asnp_status asnp_max(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);
ASNUMPY_API asnp_status asnp_min(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);
ASNUMPY_API asnp_status asnp_any(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);
ASNUMPY_API asnp_status asnp_all(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);
/* int64 */
ASNUMPY_API asnp_status asnp_count_nonzero(const asnp_array *a, int32_t num_axes,
                                           const int32_t *axes, int32_t keepdims,
                                           asnp_array **out);
/* Integers are averaged in float64; of nothing the mean is NaN. */
ASNUMPY_API asnp_status asnp_mean(const asnp_array *a, int32_t num_axes,
                                  const int32_t *axes, int32_t keepdims,
                                  asnp_array **out);
/* sum(|a - mean|**2) / (n - ddof), real. */
ASNUMPY_API asnp_status asnp_var(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, double ddof, int32_t keepdims,
                                 asnp_array **out);
ASNUMPY_API asnp_status asnp_std(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, double ddof, int32_t keepdims,
                                 asnp_array **out);
/* int64 indices of the first extreme; NaN counts as one. VALUE: empty. */
ASNUMPY_API asnp_status asnp_argmax(const asnp_array *a, int32_t axis, int32_t keepdims,
                                    asnp_array **out);
ASNUMPY_API asnp_status asnp_argmin(const asnp_array *a, int32_t axis, int32_t keepdims,
                                    asnp_array **out);

/* ---- scans along an axis, or over ASNP_FLATTENED */

/* ufunc.accumulate; dtype ASNP_DTYPE_NONE: NumPy's choice. */
ASNUMPY_API asnp_status asnp_accumulate(const char *name, const asnp_array *a,
                                        int32_t axis, asnp_dtype dtype, asnp_array **out);
ASNUMPY_API asnp_status asnp_cumsum(const asnp_array *a, int32_t axis, asnp_array **out);
ASNUMPY_API asnp_status asnp_cumprod(const asnp_array *a, int32_t axis, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
