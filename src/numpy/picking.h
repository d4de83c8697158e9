/* L2 numpy: elements picked and placed by arrays of indices and masks; orders by several
 * keys.
 */
#ifndef ASN_NUMPY_PICKING_H
#define ASN_NUMPY_PICKING_H

#include "graph/array.h"
#include "graph/index/index.h"
#include "numpy/temporaries.h"

/* a[indices], or a[indices] = values, along an axis (which may be negative); elsewhere
 * indices broadcast against a. AXIS, and INDEX for a position out of bounds. */
ASN_CHECK_RESULT asn_status asn_np_take_along_axis(asn_array *result, const asn_array *a,
                                                   const asn_array *indices,
                                                   int64_t axis);
ASN_CHECK_RESULT asn_status asn_np_put_along_axis(const asn_array *a,
                                                  const asn_array *indices,
                                                  const asn_operand *values,
                                                  int64_t axis);

/* The order of a stable sort by n keys of one shape, the last one first in rank. TYPE: no
 * key. */
ASN_CHECK_RESULT asn_status asn_np_lexsort(asn_array *result, int n,
                                           const asn_array *const *keys, int64_t axis);

/* Elements where the mask, of as many elements, is true: values in their order, repeated
 * (place), or those at the same positions (putmask). An array of values is of a's dtype.
 */
ASN_CHECK_RESULT asn_status asn_np_place(const asn_array *a, const asn_array *mask,
                                         const asn_operand *values);
ASN_CHECK_RESULT asn_status asn_np_putmask(const asn_array *a, const asn_array *mask,
                                           const asn_operand *values);

#endif
