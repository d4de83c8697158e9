/* CPU device: small matrices in vectors of 16 bytes.
 *
 * linalg_kernels.inc compiled for every processor: 2 float64 or 4 float32 matrices at a
 * time (SSE2, NEON).
 */
#define WIDTH 16
#define ISA   baseline
#include "device/cpu/linalg/linalg_kernels.inc"
