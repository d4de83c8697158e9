/* CPU device: masks and index checks with NEON (see mask_vector.h).
 *
 * Registers hold few elements of 8 and 16 bytes: those go one set bit after the other. */
#if defined(__aarch64__)
#define MASKS asn_mask_neon
#include "device/cpu/index/mask_loops.inc"
#else
typedef int asnd_mask_neon_unused;
#endif
