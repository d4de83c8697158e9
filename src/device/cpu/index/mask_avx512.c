/* CPU device: masks and index checks with AVX-512 (see mask_vector.h).
 *
 * Its compress and expand instructions take lanes by mask; loads and stores under masks
 * touch no others.
 */
#if defined(__x86_64__)
#define MASKS asn_mask_avx512
#include "device/cpu/index/mask_loops.inc"
#else
typedef int asnd_mask_avx512_unused;
#endif
