/* L2 numpy: matrices of ones along a diagonal. */
#ifndef ASN_NUMPY_IDENTITIES_H
#define ASN_NUMPY_IDENTITIES_H

#include "graph/array.h"

/* Zeros, and ones on the k-th diagonal; order 'C' or 'F'. VALUE: a negative extent. */
ASN_CHECK_RESULT asn_status asn_np_eye(asn_array *out, asn_dtype dtype, int64_t rows,
                                       int64_t columns, int64_t k, char order);

#endif
