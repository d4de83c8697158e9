/* CPU device: the passes of a selection among values (pick.h) with NEON.
 *
 * pick_types.inc over the words of chosen_lanes_neon.h: sums of bits for comparisons,
 * and a table of moves.
 */
#if defined(__aarch64__)
#define PICKS asn_pick_neon
#include "device/cpu/sort/pick_types.inc"
#else
typedef int asnd_pick_neon_unused;
#endif
