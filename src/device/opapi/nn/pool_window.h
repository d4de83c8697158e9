/* CPU device, operators: the windows of a pooling operator, from its parameters. */
#ifndef ASN_DEVICE_OPAPI_NN_POOL_WINDOW_H
#define ASN_DEVICE_OPAPI_NN_POOL_WINDOW_H

#include "device/cpu/nn/window.h"
#include "device/opapi/nn/image.h"

/* Where the parameters stand; -1: the operator has none. ceil, include_pad: flags;
 * divisor: replaces a mean's count when not 0. */
typedef struct {
    int kernel, stride, pad, dilation, ceil, include_pad, divisor;
} asnd_pool_params;

/* Sets *w for windows of one size over the last `spatial` dimensions of `in`; tables live
 * in the executor. `pairs`: padding may be (before..., after...), of any width. */
ASN_CHECK_RESULT asn_status asn_pool_windows(const asnd_call *c,
                                             const asnd_pool_params *at,
                                             const asnd_nd *in, int spatial, bool pairs,
                                             asnd_windows *w);
/* Adaptive ones: `out` has the extents of the result. */
ASN_CHECK_RESULT asn_status asn_pool_adaptive(const asnd_call *c, const asnd_nd *in,
                                              int spatial, const int64_t *out,
                                              asnd_windows *w);
/* Parameter i has the shape of `in` with the windows' extents. */
ASN_CHECK_RESULT asn_status asn_pool_shape(const asnd_call *c, int i, const asnd_nd *in,
                                           int spatial, const asnd_windows *w);

#endif
