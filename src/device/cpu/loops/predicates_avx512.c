/* CPU device: truth values of numbers with AVX-512.
 *
 * predicates.inc over the words of number_lanes_avx512.h: 64 numbers at a time.
 */
#include "device/cpu/loops/predicates.h"

#if defined(__x86_64__)
#define PREDICATES asn_kernels_predicates_avx512
#include "device/cpu/loops/predicates.inc"
#endif
