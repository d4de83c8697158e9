/* CPU device: the codecs of keys (keys.h) with AVX2: the same loops, wider.
 *
 * The compiler vectorises them; the table takes the place of the baseline's when the
 * process starts to compute (context.c).
 */
#if defined(__x86_64__)
#define CODECS asn_key_codecs_avx2
#include "device/cpu/sort/keys_codecs.inc"
#else
typedef int asnd_keys_avx2_unused;
#endif
