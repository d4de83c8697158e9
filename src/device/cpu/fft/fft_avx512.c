/* CPU device: Fourier kernels with vectors of 64 bytes.
 *
 * fft_kernels.inc compiled for AVX-512: 8 lanes of float64, 16 of float32.
 */
#if defined(__x86_64__)
#define WIDTH 64
#define ISA   avx512
#include "device/cpu/fft/fft_kernels.inc"
#else
typedef int asnd_fft_avx512_not_built; /* C has no empty file */
#endif
