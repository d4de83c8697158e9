/* CPU device: sorting keys with NEON.
 *
 * sort_types.inc over the words of sort_lanes_neon.h: registers of four or two keys, and
 * float64 as they are.
 */
#if defined(__aarch64__)
#define SORTS asn_sort_neon
#include "device/cpu/sort/sort_types.inc"
#else
typedef int asnd_sort_neon_unused;
#endif
