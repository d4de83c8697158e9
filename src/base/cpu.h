/* L0 base: what the processor can do.
 *
 * Kernels are compiled once per level and chosen at run time, in one place for each
 * library of them: the CPU device's context (device/cpu/context.c) and the generators'
 * loops (random/loops.c). ASNUMPY_ISA=baseline|avx2|avx512 lowers the choice (never
 * raises it), for tests and benchmarks.
 */
#ifndef ASN_BASE_CPU_H
#define ASN_BASE_CPU_H

#include <stdint.h>

#include "base/status.h"

typedef enum { ASN_ISA_BASELINE, ASN_ISA_AVX2, ASN_ISA_AVX512, ASN_ISA_COUNT } asn_isa;

asn_isa asn_cpu_isa(void); /* resolved once */

/* A hint to the core while a loop waits for another one. */
static inline void asn_cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* What the processor has, whatever ASNUMPY_ISA leaves of it. */
asn_isa asn_cpu_isa_highest(void);

/* How the processor's own move of bytes ("rep movsb") does between places that the first
 * cache does not hold: no better than vectors; well where both places lie alike in their
 * cache lines; well from any place to any other. */
typedef enum { ASN_MOVES_SLOW, ASN_MOVES_ALIKE, ASN_MOVES_ANY } asn_cpu_moves;
asn_cpu_moves asn_cpu_moves_get(void); /* resolved once */

/* Bytes of a core's first and second data caches and of the last one that it shares;
 * where the processor does not tell, or tells nonsense (a virtual machine may), those of
 * a usual one: 32 KiB, 1 MiB, 32 MiB. For the sizes of blocks and the like, whose results
 * do not depend on it. ASNUMPY_LAST_CACHE=bytes takes the place of the last one, so that
 * tests reach what is done with large arrays by small ones. Read once; thread-safe. */
typedef struct {
    int64_t first, second, last;
} asn_cache_sizes;
asn_cache_sizes asn_cpu_caches(void);

#endif
