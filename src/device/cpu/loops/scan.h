/* CPU device: inclusive scans (cumsum, cumprod, ufunc.accumulate). */
#ifndef ASN_DEVICE_CPU_LOOPS_SCAN_H
#define ASN_DEVICE_CPU_LOOPS_SCAN_H

#include "device/cpu/nd.h"
#include "ops/ops.h"

/* out[..., i, ...] = op(out[..., i-1, ...], in[..., i, ...]), strictly left to right, for
 * any binary row whose loop maps (T, T) to T. Same shape and dtype; out may be in
 * exactly. fp_flags: NULL, or has the ACLNNX_FP_* raised or-ed in. */
ASN_CHECK_RESULT asn_status asn_cpu_scan(asn_op op, int axis, const asnd_nd *in,
                                         const asnd_nd *out, uint32_t *fp_flags);

#endif
