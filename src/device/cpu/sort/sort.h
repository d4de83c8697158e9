/* CPU device: sorting along an axis, searching in sorted data.
 *
 * Order: NumPy's. NaN last (also first when descending is asked: the exact reverse order
 * of keys, equal keys keeping theirs), complex lexicographic. Sorts are stable; but where
 * only values are made, zeros of both signs and the bits of NaN keep their order with
 * ASN_SORT_STABLE alone. ASN_SORT_UNSTABLE permits, but does not ask for, a
 * faster sort.
 */
#ifndef ASN_DEVICE_CPU_SORT_SORT_H
#define ASN_DEVICE_CPU_SORT_SORT_H

#include "device/cpu/nd.h"

enum { ASN_SORT_UNSTABLE = 1, ASN_SORT_DESCENDING = 2, ASN_SORT_STABLE = 4 };

/* Sorts along `axis` into `values` (may be `in` exactly; may be NULL) and the int64
 * `indices` that sort (may be NULL): one shape. */
ASN_CHECK_RESULT asn_status asn_cpu_sort(const asnd_nd *in, int axis, int flags,
                                         const asnd_nd *values, const asnd_nd *indices);

/* As asn_cpu_sort, but only the elements at the positions kth[0..n) along the axis are
 * final, with nothing larger before and nothing smaller after them (numpy.partition). */
ASN_CHECK_RESULT asn_status asn_cpu_partition(const asnd_nd *in, int axis,
                                              const int64_t *kth, int num_kth,
                                              const asnd_nd *values,
                                              const asnd_nd *indices);

/* Order statistics: the elements that sorting puts at the positions kth[0..n), which
 * ascend, along the axis; `values` has extent n there and lies apart from `in`. */
ASN_CHECK_RESULT asn_status asn_cpu_pick(const asnd_nd *in, int axis, const int64_t *kth,
                                         int num_kth, const asnd_nd *values);

/* The k first elements in ascending or (ASN_SORT_DESCENDING) descending order along
 * `axis`, sorted; outputs have extent k there; either may be NULL. */
ASN_CHECK_RESULT asn_status asn_cpu_topk(const asnd_nd *in, int axis, int64_t k,
                                         int flags, const asnd_nd *values,
                                         const asnd_nd *indices);

/* Insertion points (int64) of `values` in the ascending 1-d `sorted` of one dtype;
 * `sorter` is NULL or the 1-d int64 permutation that sorts it. */
ASN_CHECK_RESULT asn_status asn_cpu_searchsorted(const asnd_nd *sorted,
                                                 const asnd_nd *sorter,
                                                 const asnd_nd *values, bool right,
                                                 const asnd_nd *out);

/* Distinct values of the 1-d `in`, ascending, into the 1-d `values` (as long as in),
 * *count of them. Each may be NULL: index[u] = first position of value u, inverse[i] = u
 * of element i, counts[u] (1-d int64 views). equal_nan: all NaN are one value. */
ASN_CHECK_RESULT asn_status asn_cpu_unique(const asnd_nd *in, bool equal_nan,
                                           const asnd_nd *values, const asnd_nd *index,
                                           const asnd_nd *inverse, const asnd_nd *counts,
                                           int64_t *count);

#endif
