/* CPU device: the passes of a selection among values (pick.h) with AVX-512.
 *
 * pick_types.inc over the words of chosen_lanes_avx512.h: chosen lanes are compressed by
 * an instruction.
 */
#if defined(__x86_64__)
#define PICKS asn_pick_avx512
#include "device/cpu/sort/pick_types.inc"
#else
typedef int asnd_pick_avx512_unused;
#endif
