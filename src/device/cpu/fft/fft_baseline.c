/* CPU device: Fourier kernels with vectors of 16 bytes.
 *
 * fft_kernels.inc compiled for every processor: 2 lanes of float64, 4 of float32 (SSE2,
 * NEON).
 */
#define WIDTH 16
#define ISA   baseline
#include "device/cpu/fft/fft_kernels.inc"
