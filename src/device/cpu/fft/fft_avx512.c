/* CPU device: Fourier kernels with vectors of 64 bytes. */
#if defined(__x86_64__)
#define WIDTH 64
#define ISA   avx512
#include "device/cpu/fft/fft_kernels.inc"
#else
typedef int asnd_fft_avx512_not_built; /* C has no empty file */
#endif
