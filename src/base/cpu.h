/* L0 base: what the processor can do.
 *
 * Kernels are compiled once per level and chosen at run time;
 * ASNUMPY_ISA=baseline|avx2|avx512 lowers the choice (never raises it), for tests and
 * benchmarks.
 */
#ifndef ASN_BASE_CPU_H
#define ASN_BASE_CPU_H

typedef enum { ASN_ISA_BASELINE, ASN_ISA_AVX2, ASN_ISA_AVX512, ASN_ISA_COUNT } asn_isa;

asn_isa asn_cpu_isa(void); /* resolved once */

#endif
