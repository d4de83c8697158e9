/* CPU device: softmax along rows of contiguous elements, each in one visit: its maximum,
 * its exponentials and their sum, the quotients, while the row is in the nearest caches.
 * Other dimensions, masks and the logarithm are programs of the fused engine
 * (opapi/nn/softmax.c), which this must equal within a few units of the last place.
 *
 * Exponentials are computed once; the engine's three passes compute them twice and read
 * the tensor from memory three times. */
#ifndef ASN_DEVICE_CPU_NN_SOFTMAX_ROWS_H
#define ASN_DEVICE_CPU_NN_SOFTMAX_ROWS_H

#include "device/cpu/nd.h"

/* Whether the last dimension of both is contiguous and a row fits the nearest caches. */
bool asn_softmax_rows_fit(const asnd_nd *x, const asnd_nd *out);

/* out = exp(x - max) / sum(exp(x - max)) over the last dimension; of one shape, any real
 * floating dtypes. t: the arithmetic's, float32 or float64. out may be x. ASN_ERR_MEMORY.
 */
ASN_CHECK_RESULT asn_status asn_softmax_rows(const asnd_nd *x, const asnd_nd *out,
                                             asn_dtype t);

#endif
