/* CPU device, private to matrix products: complex128 by the panels of float64. */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_COMPLEX_H
#define ASN_DEVICE_CPU_GEMM_GEMM_COMPLEX_H

#include "device/cpu/gemm/gemm_panels.h"

/* c = a b of complex elements, strides as in asnd_panels, alpha 1, beta 0; `by`: the
 * panels of float64. Shared out over the pool; bits as asn_gemm_panels'.
 * ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_gemm_complex(const asnd_panels_kernels *by,
                                             const asnd_panels *x);

#endif
