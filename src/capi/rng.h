/* L3 C binding: what files of random numbers share. */
#ifndef ASN_CAPI_RNG_H
#define ASN_CAPI_RNG_H

#include "capi/capi.h"
#include "graph/array.h"

/* A new array that `fill` draws with g's engine; what: size bytes without pointers into
 * itself, which a capture copies. */
ASN_CHECK_RESULT asn_status asn_capi_drawn(asnp_rng *g, asn_dtype dtype, int32_t ndim,
                                           const int64_t *shape, asn_filling fill,
                                           const void *what, size_t size,
                                           asnp_array **out);

#endif
