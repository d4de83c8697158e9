/* L2 numpy: arrays with more elements around them. */
#ifndef ASN_NUMPY_PADDING_H
#define ASN_NUMPY_PADDING_H

#include "graph/array.h"

/* `a` repeated around itself (mode "wrap"), widths[d][0] elements before and
 * widths[d][1] behind each axis, none of them negative; column-major where `a` is. VALUE:
 * an axis without elements would grow, too many elements. */
ASN_CHECK_RESULT asn_status asn_np_pad_wrapped(asn_array *result, const asn_array *a,
                                               const int64_t (*widths)[2]);

#endif
