/* CPU device: strided moves with AVX2 (see moves.h): the same loops, wider, and
 * transpositions in registers. */
#if defined(__x86_64__)
#define MOVES asn_moves_avx2
#include "device/cpu/move/moves.inc"
#else
typedef int asnd_moves_avx2_unused;
#endif
