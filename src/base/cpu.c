/* L0 base: the instruction-set level, from CPUID and a setting, moves and the caches.
 */
#include "base/cpu.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/settings.h"

asn_isa asn_cpu_isa_highest(void) {
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
    int most = asn_setting_choice(ASN_SETTING_ISA); /* in the order of asn_isa */
    isa = (int)asn_cpu_isa_highest();
    if (most >= 0 && most < isa) isa = most;
    __atomic_store_n(&resolved, isa, __ATOMIC_RELAXED);
    return (asn_isa)isa;
}

/* ---- moves */

/* "Fast short moves" tell that there is no long start. Zen 4 moves at a tenth of the
 * speed between places that lie differently in their lines; Zen 5 (family 26) does not.
 * With AVX2 nothing was measured. */
static asn_cpu_moves ask_moves(void) {
#if defined(__x86_64__)
    enum { ENHANCED = 1 << 9, SHORT = 1 << 4, ZEN5 = 26 };
    unsigned a, b, c, d;
    if (asn_cpu_isa() < ASN_ISA_AVX512 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
        !(b & ENHANCED) || !(d & SHORT))
        return ASN_MOVES_SLOW;
    __cpuid(0, a, b, c, d);
    bool amd = b == signature_AMD_ebx;
    __cpuid(1, a, b, c, d);
    unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
    return amd && family >= ZEN5 ? ASN_MOVES_ANY : ASN_MOVES_ALIKE;
#else
    return ASN_MOVES_SLOW;
#endif
}

asn_cpu_moves asn_cpu_moves_get(void) {
    static int resolved = -1; /* a race resolves to the same value */
    int moves = __atomic_load_n(&resolved, __ATOMIC_RELAXED);
    if (moves >= 0) return (asn_cpu_moves)moves;
    moves = (int)ask_moves();
    __atomic_store_n(&resolved, moves, __ATOMIC_RELAXED);
    return (asn_cpu_moves)moves;
}

/* ---- caches */

static asn_cache_sizes caches;

#if defined(__x86_64__)
/* From the processor: leaf 4 of Intel's is leaf 0x8000001d of AMD's. The C library tells
 * the sum of all last caches on AMD's servers (256 MiB where a core has 32). */
static asn_cache_sizes ask(void) {
    asn_cache_sizes found = {0, 0, 0};
    unsigned a, b, c, d, leaf = 4;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d) && c >> 22 & 1) leaf = 0x8000001du;
    for (unsigned i = 0; i < 8 && __get_cpuid_count(leaf, i, &a, &b, &c, &d); i++) {
        unsigned type = a & 31, level = a >> 5 & 7; /* type 1: data, 3: both */
        if (type == 0) break;
        if (type == 2) continue;
        int64_t size = (int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) *
                       ((b & 4095) + 1) * ((int64_t)c + 1);
        if (level == 1) found.first = size;
        if (level == 2) found.second = size;
        if (level >= 2) found.last = size;
    }
    return found;
}
#elif defined(_SC_LEVEL1_DCACHE_SIZE)
static asn_cache_sizes ask(void) {
    return (asn_cache_sizes){sysconf(_SC_LEVEL1_DCACHE_SIZE),
                             sysconf(_SC_LEVEL2_CACHE_SIZE),
                             sysconf(_SC_LEVEL3_CACHE_SIZE)};
}
#else
static asn_cache_sizes ask(void) {
    return (asn_cache_sizes){0, 0, 0};
}
#endif

static int64_t within(int64_t size, int64_t least, int64_t most, int64_t usual) {
    return size >= least && size <= most ? size : usual;
}

static void find_caches(void) {
    asn_cache_sizes told = ask();
    caches.first = within(told.first, 16 << 10, 256 << 10, 32 << 10);
    caches.second = within(told.second, 128 << 10, 16 << 20, 1 << 20);
    caches.last = within(told.last, 1 << 20, 1 << 30, 32 << 20);
    caches.last = asn_setting_number(ASN_SETTING_LAST_CACHE, caches.last);
}

asn_cache_sizes asn_cpu_caches(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_caches);
    return caches;
}
