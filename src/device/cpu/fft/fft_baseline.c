/* CPU device: Fourier kernels with vectors of 16 bytes. */
#define WIDTH 16
#define ISA   baseline
#include "device/cpu/fft/fft_kernels.inc"
