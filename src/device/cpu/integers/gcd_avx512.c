/* CPU device: greatest common divisors and lowest common multiples with AVX-512.
 *
 * gcd.inc over the words of number_lanes_avx512.h: 64 pairs, of which lanes that are done
 * take no part in a division.
 */
#include "device/cpu/integers/gcd.h"

#if defined(__x86_64__)
#define GCDS asn_kernels_gcd_avx512
#define COST 10
#include "device/cpu/integers/gcd.inc"
#endif
