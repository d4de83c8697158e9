/* CPU device: small matrices in vectors of 16 bytes. */
#define WIDTH 16
#define ISA   baseline
#include "device/cpu/linalg/linalg_kernels.inc"
