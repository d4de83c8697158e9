/* L2 graph: the operations that are no rows of the elementwise table: joining, sorting,
 * searching, products, creation.
 *
 * Each makes *result (uninitialised before) and raises NumPy's errors. They are not
 * fused: what is recorded for the arrays that they read is flushed first, and their own
 * operator is enqueued at once. Axes are in range and not negative, unless something else
 * is said. */
#ifndef ASN_GRAPH_OPERATORS_FAMILIES_H
#define ASN_GRAPH_OPERATORS_FAMILIES_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* NumPy's checks of n >= 1 arrays to be joined along `axis`, normalised in *which:
 * VALUE for 0-d ones and for shapes that differ elsewhere, AXIS. */
ASN_CHECK_RESULT asn_status asn_join_check(int n, const asn_array *const *arrays,
                                           int64_t axis, int *which);
/* n >= 1 arrays of equal shape but for `axis` (normalised), cast to dtype. out or *result
 * as in ufunc.h. */
ASN_CHECK_RESULT asn_status asn_concatenate(int n, const asn_array *const *arrays,
                                            int axis, asn_dtype dtype,
                                            asn_casting casting, const asn_array *out,
                                            asn_array *result);
/* The elements of `a`, which has some, `shift` places further along an axis (normalised),
 * those that leave it coming back at its beginning. */
ASN_CHECK_RESULT asn_status asn_roll(asn_array *result, const asn_array *a, int64_t shift,
                                     int axis);
/* counts: int64, 1-d, of length 1 or the axis' extent. */
ASN_CHECK_RESULT asn_status asn_repeat(asn_array *result, const asn_array *a,
                                       const asn_array *counts, int axis);
/* A new array of uniform numbers in [0, 1) or of standard normal ones, drawn by the
 * device from the stream `seed`, two elements per position from `offset` on. */
ASN_CHECK_RESULT asn_status asn_random_new(asn_array *result, asn_dtype dtype, int ndim,
                                           const int64_t *shape, bool normal,
                                           uint64_t seed, uint64_t offset);

/* Along one axis, stable, NaN last. Sorted copy / int64 indices. Only a `stable` copy
 * keeps the order of what is equal with other bits: zeros of both signs, kinds of NaN. */
ASN_CHECK_RESULT asn_status asn_sort(asn_array *result, const asn_array *a, int axis,
                                     bool stable);
ASN_CHECK_RESULT asn_status asn_argsort(asn_array *result, const asn_array *a, int axis);
/* The same with only the positions kth (in range, any order) in their sorted places. */
ASN_CHECK_RESULT asn_status asn_partition(asn_array *result, const asn_array *a, int axis,
                                          int num_kth, const int64_t *kth);
ASN_CHECK_RESULT asn_status asn_argpartition(asn_array *result, const asn_array *a,
                                             int axis, int num_kth, const int64_t *kth);
/* The elements that sorting puts at the positions kth, which ascend, along the axis. */
ASN_CHECK_RESULT asn_status asn_order_statistics(asn_array *result, const asn_array *a,
                                                 int axis, int num_kth,
                                                 const int64_t *kth);
/* a sorted, or partitioned where num_kth > 0, in its own memory. */
ASN_CHECK_RESULT asn_status asn_order_in_place(const asn_array *a, int axis, bool stable,
                                               int num_kth, const int64_t *kth);
/* First occurrence; NaN counts as the extreme. axis < 0: over the flattened array.
 * ValueError when empty. */
ASN_CHECK_RESULT asn_status asn_argreduce(asn_array *result, const asn_array *a, int axis,
                                          bool keepdims, bool maximum);
/* sorted: 1-d; result int64 of values' shape. Same dtype for both. */
ASN_CHECK_RESULT asn_status asn_searchsorted(asn_array *result, const asn_array *sorted,
                                             const asn_array *values, bool right);
/* numpy.interp of float64 arrays, the values in x's shape. UNSUPPORTED where the device
 * has no such operation. */
ASN_CHECK_RESULT asn_status asn_interp(asn_array *result, const asn_array *x,
                                       const asn_array *xp, const asn_array *fp,
                                       double left, double right);
/* out[i] = sum_j a[first + i + j] v[j], i of count, over the j for which a has that
 * element; both 1-d and of one dtype, the result's. UNSUPPORTED where the device has no
 * such operation on that dtype. */
ASN_CHECK_RESULT asn_status asn_correlate(asn_array *result, const asn_array *a,
                                          const asn_array *v, int64_t first,
                                          int64_t count);
/* A b for A in CSR (aclnnxSparseMatmul): indptr (m + 1, at least 1) and indices of one
 * dtype, int32 or int64, data as long as indices; b of two dimensions and data's dtype.
 * UNSUPPORTED where the device has no such operation on that dtype. */
ASN_CHECK_RESULT asn_status asn_sparse_matmul(asn_array *result, const asn_array *indptr,
                                              const asn_array *indices,
                                              const asn_array *data, const asn_array *b);
/* x: 1-d non-negative integers; weights NULL (int64 counts) or float64. */
ASN_CHECK_RESULT asn_status asn_bincount(asn_array *result, const asn_array *x,
                                         const asn_array *weights, int64_t minlength);

/* NumPy's matmul: 1-d rules, broadcast batch dimensions, promoted dtype. */
ASN_CHECK_RESULT asn_status asn_matmul(const asn_array *a, const asn_array *b,
                                       const asn_array *out, asn_array *result);
/* The same product, computed in `place` (or NULL) where it can be: of its dtype and
 * shape, and with memory that neither a nor b has. The result is then another handle on
 * it. */
ASN_CHECK_RESULT asn_status asn_matmul_at(const asn_array *a, const asn_array *b,
                                          const asn_array *place, asn_array *result);
/* The same product, which reports no floating-point exceptions: einsum's. */
ASN_CHECK_RESULT asn_status asn_contract(const asn_array *a, const asn_array *b,
                                         asn_array *result);
/* Who computes products of float32 in another precision (src/precision). NULL: nobody has
 * asked for it in this process. */
typedef struct {
    /* Whether the caller's products may be computed so. Any thread. */
    bool (*asks)(void);
    /* a @ b into *result, float32; *done false: as usual, and nothing was made. a, b:
     * float32, one of them perhaps a half, of two dimensions or more, which fit but may
     * broadcast. With the library's lock held. */
    asn_status (*multiply)(const asn_array *a, const asn_array *b, asn_array *result,
                           bool *done);
} asn_product_precision;
extern const asn_product_precision *asn_product_precision_of;
/* What `multiply` calls: the product of operands as they are, with the lock held and
 * under the name of the function that is at work. */
ASN_CHECK_RESULT asn_status asn_product_plain(const asn_array *a, const asn_array *b,
                                              asn_array *result);

/* The inner product of vectors of one length and dtype, the first conjugated. */
ASN_CHECK_RESULT asn_status asn_vdot(const asn_array *a, const asn_array *b,
                                     asn_array *result);

/* NumPy's dot: scalars multiply, 1-d inner product, else sum over a's last and b's
 * second-last axis. */
ASN_CHECK_RESULT asn_status asn_dot(const asn_array *a, const asn_array *b,
                                    const asn_array *out, asn_array *result);

/* The dtype that a transform of `kind` takes for elements of dtype d: single precision
 * for float16, bfloat16, float32 and complex64. */
asn_dtype asn_fft_dtype(asn_dtype d, int kind);
/* The factor of a transform of n points: `norm` says which direction is scaled
 * ("backward", "ortho", "forward"). false: there is no such norm. */
bool asn_fft_factor(const char *norm, int64_t n, int kind, double *scale);
/* Transforms along one axis (normalised); kind as aclnnx.h names them, n >= 1 points. a
 * has the kind's input dtype; the result its output dtype. UNSUPPORTED on a device
 * without aclnnxFft. `into`: NULL, or an array of the result's shape and dtype that is
 * filled instead; it may be a itself, not overlap it otherwise. */
ASN_CHECK_RESULT asn_status asn_fft(asn_array *result, const asn_array *a, int kind,
                                    int64_t n, double scale, int axis,
                                    const asn_array *into);

/* One operation of aclnnxLinalg on arrays that have its shapes and dtypes (inputs may be
 * broadcast views), with ACLNNX_LINALG_* options: the outputs are made by the caller.
 * *failed: matrices without a result. UNSUPPORTED on a device without aclnnxLinalg. */
ASN_CHECK_RESULT asn_status asn_linalg(int op, int options, double rcond, int num_batch,
                                       int num_arrays, const asn_array *const *arrays,
                                       int num_inputs, int64_t *failed);

/* start + i * step for i < n, computed in dtype (float dtypes in float64 as NumPy does).
 */
ASN_CHECK_RESULT asn_status asn_arange(asn_array *result, asn_dtype dtype,
                                       const asn_scalar *start, const asn_scalar *step,
                                       int64_t n);
/* The same for any n, with a step that is no number of the dtype but zero. */
ASN_CHECK_RESULT asn_status asn_arange_fill(asn_array *result, asn_dtype dtype,
                                            const asn_scalar *start,
                                            const asn_scalar *step, int64_t n);
/* How many integers there are from 0 in steps of `step` (not 0) before `span`. */
int64_t asn_arange_steps(int64_t span, int64_t step);
/* The number of elements for the ratio (stop - start) / step. VALUE: NaN, or too many. */
ASN_CHECK_RESULT asn_status asn_arange_count(double ratio, int64_t *n);
/* The step as NumPy's filling loops see it: second value minus first, in their dtype. */
ASN_CHECK_RESULT asn_status asn_arange_delta(const asn_scalar *first,
                                             const asn_scalar *second, asn_scalar *step);
/* start + i * ((stop - start) / (n - 1)) for i < n - 1, then stop, in float64. */
ASN_CHECK_RESULT asn_status asn_linspace(asn_array *result, double start, double stop,
                                         int64_t n);

#endif
