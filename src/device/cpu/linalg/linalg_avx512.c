/* CPU device: small matrices in vectors of 64 bytes.
 *
 * linalg_kernels.inc compiled for AVX-512: 8 float64 or 16 float32 matrices at a time,
 * with the bits of the other instruction sets.
 */
#if defined(__x86_64__)
#define WIDTH 64
#define ISA   avx512
#include "device/cpu/linalg/linalg_kernels.inc"
#else
typedef int asnd_linalg_avx512_not_built; /* C has no empty file */
#endif
