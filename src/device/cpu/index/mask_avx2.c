/* CPU device: masks and index checks with AVX2 (see mask_vector.h).
 *
 * What is placed goes one set bit after the other: there is no move of first lanes to
 * chosen ones, and stores under masks are slow. */
#if defined(__x86_64__)
#define MASKS asn_mask_avx2
#include "device/cpu/index/mask_loops.inc"
#else
typedef int asnd_mask_avx2_unused;
#endif
