/* CPU device: n-dimensional copy of one dtype. */
#ifndef ASN_DEVICE_CPU_MOVE_COPY_H
#define ASN_DEVICE_CPU_MOVE_COPY_H

#include "device/cpu/nd.h"

/* dst[...] = src[...]: same dtype and shape (src broadcast by 0 strides); the two do not
 * overlap. Parallel when large; contiguous runs at memcpy's speed, transposes in blocks.
 */
ASN_CHECK_RESULT asn_status asn_cpu_copy(const asnd_nd *dst, const asnd_nd *src);

#endif
