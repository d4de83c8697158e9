/* CPU device: greatest common divisors and lowest common multiples with NEON.
 *
 * gcd.inc over the words of number_lanes_neon.h: 16 pairs, of which lanes that are done
 * divide by 1.
 */
#include "device/cpu/integers/gcd.h"

#if defined(__aarch64__)
#define GCDS asn_kernels_gcd_neon
#include "device/cpu/integers/gcd.inc"
#endif
