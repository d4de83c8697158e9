/* CPU device: the passes of a selection among values (pick.h) with NEON. */
#if defined(__aarch64__)
#define PICKS asn_pick_neon
#include "device/cpu/sort/pick_types.inc"
#else
typedef int asnd_pick_neon_unused;
#endif
