/* CPU device, operators: softmax along a dimension, for bodies that want it. */
#ifndef ASN_DEVICE_OPAPI_NN_SOFTMAX_H
#define ASN_DEVICE_OPAPI_NN_SOFTMAX_H

#include "device/opapi/core/plan.h"

/* out = softmax(x), of one shape with a dimension at least; computed in float64 if out is
 * of it, else in float32. */
ASN_CHECK_RESULT asn_status asn_softmax(const asnd_nd *x, int axis, const asnd_nd *out,
                                        asnd_tmp *tmp);

#endif
