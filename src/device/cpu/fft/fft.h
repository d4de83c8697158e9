/* CPU device: discrete Fourier transforms along one axis. */
#ifndef ASN_DEVICE_CPU_FFT_FFT_H
#define ASN_DEVICE_CPU_FFT_FFT_H

#include "device/cpu/nd.h"

typedef enum {
    ASN_FFT_COMPLEX,      /* n complex -> n complex */
    ASN_FFT_REAL_FORWARD, /* n real -> n / 2 + 1 complex */
    ASN_FFT_REAL_INVERSE, /* n / 2 + 1 complex -> n real */
} asnd_fft_kind;

/* out = scale * sum over j of in[j] exp(-+ 2 pi i j k / n) along `axis`, + when `inverse`
 * (REAL_INVERSE is inverse, REAL_FORWARD is not). A line of `in` that is longer than the
 * transform needs is cut, a shorter one is extended with zeros. Precision is that of the
 * dtypes: float32 and complex64, or float64 and complex128. Other extents of in and out
 * agree; out may be in itself (COMPLEX of one shape), else not overlap it. n >= 1.
 * Errors: ASN_ERR_VALUE, ASN_ERR_TYPE, ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_cpu_fft(asnd_fft_kind kind, bool inverse, int64_t n,
                                        double scale, int axis, const asnd_nd *in,
                                        const asnd_nd *out);

#endif
