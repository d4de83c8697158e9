/* L2 precision, private: the graph's two questions (asn_product_precision). */
#ifndef ASN_PRECISION_PRODUCT_H
#define ASN_PRECISION_PRODUCT_H

#include "graph/array.h"

bool asn_precision_asks(void);
ASN_CHECK_RESULT asn_status asn_precision_multiply(const asn_array *a, const asn_array *b,
                                                   asn_array *result, bool *done);

#endif
