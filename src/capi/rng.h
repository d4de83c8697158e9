/* L3 C face: what files of random numbers share. */
#ifndef ASN_CAPI_RNG_H
#define ASN_CAPI_RNG_H

#include "capi/capi.h"
#include "graph/array.h"

/* A new array that `fill` draws with g's engine. */
ASN_CHECK_RESULT asn_status asn_capi_drawn(asnp_rng *g, asn_dtype dtype, int32_t ndim,
                                           const int64_t *shape, asn_filling fill,
                                           const void *what, asnp_array **out);

#endif
