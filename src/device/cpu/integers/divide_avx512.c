/* CPU device: quotients and remainders of integers with AVX-512.
 *
 * divide.inc over the words of number_lanes_avx512.h.
 */
#include "device/cpu/integers/divide.h"

#if defined(__x86_64__)
#define DIVIDES asn_kernels_divide_avx512
#include "device/cpu/integers/divide.inc"
#endif
