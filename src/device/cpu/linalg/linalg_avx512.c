/* CPU device: small matrices in vectors of 64 bytes. */
#if defined(__x86_64__)
#define WIDTH 64
#define ISA   avx512
#include "device/cpu/linalg/linalg_kernels.inc"
#else
typedef int asnd_linalg_avx512_not_built; /* C has no empty file */
#endif
