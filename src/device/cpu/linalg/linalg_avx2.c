/* CPU device: small matrices in vectors of 32 bytes.
 *
 * linalg_kernels.inc compiled for AVX2: 4 float64 or 8 float32 matrices at a time, with
 * the bits of the other instruction sets.
 */
#if defined(__x86_64__)
#define WIDTH 32
#define ISA   avx2
#include "device/cpu/linalg/linalg_kernels.inc"
#else
typedef int asnd_linalg_avx2_not_built; /* C has no empty file */
#endif
