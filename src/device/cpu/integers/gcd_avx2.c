/* CPU device: greatest common divisors and lowest common multiples with AVX2.
 *
 * gcd.inc over the words of number_lanes_avx2.h: 32 pairs, of which lanes that are done
 * divide by 1.
 */
#include "device/cpu/integers/gcd.h"

#if defined(__x86_64__)
#define GCDS asn_kernels_gcd_avx2
#define COST 30
#include "device/cpu/integers/gcd.inc"
#endif
