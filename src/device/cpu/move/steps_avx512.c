/* CPU device: the loops of steps.h with AVX-512, whose integer products and conversions
 * the baseline lacks. */
#if defined(__x86_64__)
#define STEPS asn_steps_avx512
#include "device/cpu/move/steps.inc"
#else
typedef int asnd_steps_avx512_unused;
#endif
