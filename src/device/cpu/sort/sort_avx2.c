/* CPU device: sorting keys with AVX2.
 *
 * sort_types.inc over the words of sort_lanes_avx2.h: a table of moves, signed
 * comparisons, and float64 as they are.
 */
#if defined(__x86_64__)
#define SORTS asn_sort_avx2
#include "device/cpu/sort/sort_types.inc"
#else
typedef int asnd_sort_avx2_unused;
#endif
