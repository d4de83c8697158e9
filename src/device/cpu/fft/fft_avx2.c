/* CPU device: Fourier kernels with vectors of 32 bytes.
 *
 * fft_kernels.inc compiled for AVX2: 4 lanes of float64, 8 of float32.
 */
#if defined(__x86_64__)
#define WIDTH 32
#define ISA   avx2
#include "device/cpu/fft/fft_kernels.inc"
#else
typedef int asnd_fft_avx2_not_built; /* C has no empty file */
#endif
