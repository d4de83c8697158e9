/* CPU device: the codecs of keys (keys.h) with AVX-512: the same loops, wider.
 *
 * As keys_avx2.c; 64-bit comparisons and shifts of vectors are instructions here.
 */
#if defined(__x86_64__)
#define CODECS asn_key_codecs_avx512
#include "device/cpu/sort/keys_codecs.inc"
#else
typedef int asnd_keys_avx512_unused;
#endif
