/* CPU device: the floating-point exceptions a thread has raised, read from the status
 * register of the vector unit (a read costs 2 ns on x86, fetestexcept 7), whose bits are
 * the values of <fenv.h>; from <fenv.h> itself on other architectures. On x86 all our
 * arithmetic runs there: the x87 unit's own flags are not looked at, so exceptions are
 * raised with asn_fp_raise: feraiseexcept raises overflow on the x87 unit only.
 */
#ifndef ASN_DEVICE_CPU_FPFLAGS_H
#define ASN_DEVICE_CPU_FPFLAGS_H

#include <fenv.h>
#include <stdint.h>

#include "aclnn/aclnnx.h"

/* What asn_fp_exceptions tells of. */
#define ASN_FP_CONDITIONS                                                                \
    (uint32_t)(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

#if defined(__x86_64__)
#define ASN_FP_ALL 0x3fu
static inline uint32_t asn_fp_read(void) {
    return __builtin_ia32_stmxcsr();
}
static inline void asn_fp_write(uint32_t state) {
    __builtin_ia32_ldmxcsr(state);
}
#elif defined(__aarch64__)
#define ASN_FP_ALL 0x9fu
static inline uint32_t asn_fp_read(void) {
    uint64_t state;
    __asm__ volatile("mrs %0, fpsr" : "=r"(state) : : "memory");
    return (uint32_t)state;
}
static inline void asn_fp_write(uint32_t state) {
    __asm__ volatile("msr fpsr, %0" : : "r"((uint64_t)state) : "memory");
}
#else
#define ASN_FP_ALL ((uint32_t)FE_ALL_EXCEPT)
static inline uint32_t asn_fp_read(void) {
    return (uint32_t)fetestexcept(FE_ALL_EXCEPT);
}
static inline void asn_fp_write(uint32_t state) {
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept((int)state);
}
#endif

/* Inexact is nearly always set and never looked at: only what will be read is worth a
 * write (10 ns). */
static inline void asn_fp_clear(void) {
    uint32_t state = asn_fp_read();
    if (state & ASN_FP_CONDITIONS) asn_fp_write(state & ~ASN_FP_ALL);
}
/* Takes back what was met since `before` was read. */
static inline void asn_fp_restore(uint32_t before) {
    if ((asn_fp_read() ^ before) & ASN_FP_CONDITIONS) asn_fp_write(before);
}
/* `fe` is of <fenv.h>. */
static inline void asn_fp_raise(int fe) {
    asn_fp_write(asn_fp_read() | (uint32_t)fe);
}
static inline uint32_t asn_fp_exceptions(void) {
    uint32_t s = asn_fp_read();
    return (s & FE_DIVBYZERO ? ACLNNX_FP_DIVIDE : 0) |
           (s & FE_OVERFLOW ? ACLNNX_FP_OVERFLOW : 0) |
           (s & FE_UNDERFLOW ? ACLNNX_FP_UNDERFLOW : 0) |
           (s & FE_INVALID ? ACLNNX_FP_INVALID : 0);
}

/* What was met since asn_fp_clear goes to *fp_flags (ACLNNX_FP_*, or-ed in). */
static inline void asn_fp_collect(uint32_t *fp_flags) {
    uint32_t met = asn_fp_exceptions();
    if (met) __atomic_fetch_or(fp_flags, met, __ATOMIC_RELAXED);
}

#endif
