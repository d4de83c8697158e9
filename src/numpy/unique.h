/* L2 numpy: the elements, or sub-arrays, that an array has, each once. */
#ifndef ASN_NUMPY_UNIQUE_H
#define ASN_NUMPY_UNIQUE_H

#include "graph/array.h"

enum { ASN_UNIQUE_VALUES, ASN_UNIQUE_FIRST, ASN_UNIQUE_INVERSE, ASN_UNIQUE_COUNTS };
enum { ASN_UNIQUE_RESULTS = 4 };

/* In ascending order: the values, the position where each is first, for each element the
 * position of its value (in a's shape), how often each occurs. A NULL of results[] is not
 * wanted; all others are made, or none. equal_nan: NaNs are one value. */
ASN_CHECK_RESULT asn_status asn_np_unique(asn_array *const *results, const asn_array *a,
                                          bool equal_nan);
/* The same of the sub-arrays along an axis; positions along it. AXIS. */
ASN_CHECK_RESULT asn_status asn_np_unique_along(asn_array *const *results,
                                                const asn_array *a, int64_t axis);

#endif
