/* AsNumpy in C: sorting, searching, unique elements, counting. Include asnumpy/asnumpy.h.
 */
#ifndef ASNUMPY_ORDER_H_
#define ASNUMPY_ORDER_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Along an axis or over ASNP_FLATTENED; stable, NaN last. */
ASNUMPY_API asnp_status asnp_sort(const asnp_array *a, int32_t axis, asnp_array **out);
/* In a's own memory. VALUE: read-only, ASNP_FLATTENED. */
ASNUMPY_API asnp_status asnp_sort_in_place(asnp_array *a, int32_t axis);
/* The int64 indices that sort. */
ASNUMPY_API asnp_status asnp_argsort(const asnp_array *a, int32_t axis, asnp_array **out);
/* With the num_kth (1 to 64) positions kth in their sorted places, smaller elements
 * before and larger ones after each. VALUE: a position out of bounds. */
ASNUMPY_API asnp_status asnp_partition(const asnp_array *a, int32_t axis, int32_t num_kth,
                                       const int64_t *kth, asnp_array **out);
ASNUMPY_API asnp_status asnp_argpartition(const asnp_array *a, int32_t axis,
                                          int32_t num_kth, const int64_t *kth,
                                          asnp_array **out);
/* Where values go in a sorted 1-d array, as int64 of values' shape: before (right 0) or
 * after (right 1) equal elements. VALUE: `sorted` is not 1-d. */
ASNUMPY_API asnp_status asnp_searchsorted(const asnp_array *sorted,
                                          const asnp_array *values, int32_t right,
                                          asnp_array **out);
/* The sorted distinct elements (NaNs count as equal) and, where not NULL: the index of
 * each one's first occurrence, for each element of `a` (in a's shape) its place among
 * them, and how often each occurs. */
ASNUMPY_API asnp_status asnp_unique(const asnp_array *a, asnp_array **values,
                                    asnp_array **first, asnp_array **inverse,
                                    asnp_array **counts);
/* How often each of 0, 1, ... occurs in 1-d non-negative integers; at least minlength
 * numbers. weights: NULL (int64 counts), or a number per element to add up (float64). */
ASNUMPY_API asnp_status asnp_bincount(const asnp_array *a, const asnp_array *weights,
                                      int64_t minlength, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
