/* CPU device: sliding products (numpy.correlate). */
#ifndef ASN_DEVICE_CPU_NN_SLIDE_H
#define ASN_DEVICE_CPU_NN_SLIDE_H

#include "device/cpu/nd.h"

/* out[i] = sum_j a[first + i + j] v[j] over the j for which a has that element. All are
 * 1-d, contiguous and of one dtype: an integer's, float32 or float64. out overlaps
 * neither. */
ASN_CHECK_RESULT asn_status asn_cpu_slide(const asnd_nd *a, const asnd_nd *v,
                                          int64_t first, const asnd_nd *out);

#endif
