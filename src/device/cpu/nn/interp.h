/* CPU device: piecewise linear interpolation. */
#ifndef ASN_DEVICE_CPU_NN_INTERP_H
#define ASN_DEVICE_CPU_NN_INTERP_H

#include "device/cpu/nd.h"

/* out[i] = the value at x[i] of the line through (xp[k], fp[k]), xp ascending; left and
 * right outside. All are float64, 1-d and contiguous; out is as long as x and may be x.
 */
ASN_CHECK_RESULT asn_status asn_cpu_interp(const asnd_nd *x, const asnd_nd *xp,
                                           const asnd_nd *fp, double left, double right,
                                           const asnd_nd *out);

#endif
