/* CPU device: quotients and remainders of integers with AVX2.
 *
 * divide.inc over the words of number_lanes_avx2.h: 64-bit integers become float64 by an
 * addition to the bits of 3 * 2^51.
 */
#include "device/cpu/integers/divide.h"

#if defined(__x86_64__)
#define DIVIDES asn_kernels_divide_avx2
#include "device/cpu/integers/divide.inc"
#endif
