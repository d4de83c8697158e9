/* CPU device: the passes of a selection among values (pick.h) with AVX2.
 *
 * pick_types.inc over the words of chosen_lanes_avx2.h: a table of moves brings chosen
 * lanes first.
 */
#if defined(__x86_64__)
#define PICKS asn_pick_avx2
#include "device/cpu/sort/pick_types.inc"
#else
typedef int asnd_pick_avx2_unused;
#endif
