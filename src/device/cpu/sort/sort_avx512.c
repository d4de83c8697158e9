/* CPU device: sorting keys with AVX-512.
 *
 * sort_types.inc over the words of sort_lanes_avx512.h: minima of either width, so that
 * up to eight tiles are merged by networks.
 */
#if defined(__x86_64__)
#define SORTS asn_sort_avx512
#include "device/cpu/sort/sort_types.inc"
#else
typedef int asnd_sort_avx512_unused;
#endif
