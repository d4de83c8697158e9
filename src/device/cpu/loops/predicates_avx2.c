/* CPU device: truth values of numbers with AVX2.
 *
 * predicates.inc over the words of number_lanes_avx2.h: 32 numbers at a time.
 */
#include "device/cpu/loops/predicates.h"

#if defined(__x86_64__)
#define PREDICATES asn_kernels_predicates_avx2
#include "device/cpu/loops/predicates.inc"
#endif
