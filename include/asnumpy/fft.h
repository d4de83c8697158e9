/* AsNumpy in C: discrete Fourier transforms. Include asnumpy/asnumpy.h.
 *
 * out[k] = sum of a[j] exp(-2 pi i j k / n); the inverse has exp(+...) and is divided by
 * n. norm (NULL: "backward") says which direction is scaled: "backward", "ortho" (both,
 * by the root), "forward". n: points to transform, the axis being cut or continued with
 * zeros; 0: as many as there are. Single precision for float16, float32 and complex64,
 * else double. VALUE: no points, another norm. UNSUPPORTED: the device does not compute
 * it.
 */
#ifndef ASNUMPY_FFT_H_
#define ASNUMPY_FFT_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

ASNUMPY_API asnp_status asnp_fft(const asnp_array *a, int64_t n, int32_t axis,
                                 const char *norm, asnp_array **out);
ASNUMPY_API asnp_status asnp_ifft(const asnp_array *a, int64_t n, int32_t axis,
                                  const char *norm, asnp_array **out);
/* Of real numbers (TYPE: complex): the n / 2 + 1 elements that determine all. */
ASNUMPY_API asnp_status asnp_rfft(const asnp_array *a, int64_t n, int32_t axis,
                                  const char *norm, asnp_array **out);
/* The inverse of rfft: n real numbers; 0: 2 (m - 1) from m elements. */
ASNUMPY_API asnp_status asnp_irfft(const asnp_array *a, int64_t n, int32_t axis,
                                   const char *norm, asnp_array **out);

/* Along several axes (NULL: all), the last one first. lengths: num_axes numbers of
 * points, as n above; NULL: as they are. */
ASNUMPY_API asnp_status asnp_fftn(const asnp_array *a, int32_t num_axes,
                                  const int64_t *lengths, const int32_t *axes,
                                  const char *norm, asnp_array **out);
ASNUMPY_API asnp_status asnp_ifftn(const asnp_array *a, int32_t num_axes,
                                   const int64_t *lengths, const int32_t *axes,
                                   const char *norm, asnp_array **out);
/* The last axis listed is halved. */
ASNUMPY_API asnp_status asnp_rfftn(const asnp_array *a, int32_t num_axes,
                                   const int64_t *lengths, const int32_t *axes,
                                   const char *norm, asnp_array **out);
ASNUMPY_API asnp_status asnp_irfftn(const asnp_array *a, int32_t num_axes,
                                    const int64_t *lengths, const int32_t *axes,
                                    const char *norm, asnp_array **out);

/* The frequencies of fft's n elements, and of rfft's n / 2 + 1, for samples d apart.
 * VALUE: n < 1. */
ASNUMPY_API asnp_status asnp_fftfreq(int64_t n, double d, asnp_array **out);
ASNUMPY_API asnp_status asnp_rfftfreq(int64_t n, double d, asnp_array **out);
/* Frequency zero moved to the middle of the axes listed (NULL: all), and back. */
ASNUMPY_API asnp_status asnp_fftshift(const asnp_array *a, int32_t num_axes,
                                      const int32_t *axes, asnp_array **out);
ASNUMPY_API asnp_status asnp_ifftshift(const asnp_array *a, int32_t num_axes,
                                       const int32_t *axes, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
