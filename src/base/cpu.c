/* L0 base: the instruction-set level, from CPUID and ASNUMPY_ISA. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static asn_isa detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return ASN_ISA_AVX512;
    /* Every processor with AVX2 has F16C, which clang 14 cannot ask for. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return ASN_ISA_AVX2;
#endif
    return ASN_ISA_BASELINE;
}

asn_isa asn_cpu_isa(void) {
    static int resolved = -1; /* a race resolves to the same value */
    int isa = __atomic_load_n(&resolved, __ATOMIC_RELAXED);
    if (isa >= 0) return (asn_isa)isa;
    isa = (int)detect();
    const char *wish = getenv("ASNUMPY_ISA");
    if (wish) {
        int cap = !strcmp(wish, "baseline") ? ASN_ISA_BASELINE
                  : !strcmp(wish, "avx2")   ? ASN_ISA_AVX2
                                            : ASN_ISA_AVX512;
        if (cap < isa) isa = cap;
    }
    __atomic_store_n(&resolved, isa, __ATOMIC_RELAXED);
    return (asn_isa)isa;
}
