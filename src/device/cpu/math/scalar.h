/* CPU device: the scalar functions that the expressions of ops.def call, M(f) being f
 * with the dtype's suffix: `f` for float32 and complex64 as in C's own library, nothing
 * for float64 and complex128, _i8 ... _u64 for integers.
 *
 * Semantics are NumPy's, down to signs of zero, infinities and NaN; the scalar_*.inc
 * templates say where they are not obvious. Comparisons are written without short cuts (|
 * and &), so that the loops around them vectorise.
 */
#ifndef ASN_DEVICE_CPU_MATH_SCALAR_H
#define ASN_DEVICE_CPU_MATH_SCALAR_H

#include <complex.h>
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "base/half.h"
#include "device/cpu/fpflags.h"

#ifndef CMPLX
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif

/* The functions of C's library that are instructions, of vectors too; loops that call
 * others are not compiled for the faster instruction sets. tools/functions.py reads this:
 * those that move bits, those that round (which are instructions only where "inexact"
 * does not matter: -fno-trapping-math), and those whose exceptions are the program's. */
#define ASN_MOVING    fabs copysign
#define ASN_ROUNDING  floor ceil trunc rint
#define ASN_COMPUTING sqrt fma
/* A function that computes what it may not use: a compiler makes vector code of it only
 * where the exceptions of that do not matter (as above). */
#define ASN_SPECULATES

#define LN2     0.693147180559945309417232121458176568
#define LOG2_E  1.442695040888963407359924681001892137
#define LOG10_E 0.434294481903251827651128918916605082

/* float: R real type, B bits type */
#define R        float
#define C        asn_c64
#define CC       float complex
#define B        uint32_t
#define SIGN_BIT 31
#define EXP_BITS 0x7f800000u
#define F(name)  name##f
#define TO_CC    CMPLXF
#include "device/cpu/math/scalar_float.inc"
#include "device/cpu/math/scalar_complex.inc"
#undef R
#undef C
#undef CC
#undef B
#undef SIGN_BIT
#undef EXP_BITS
#undef F
#undef TO_CC

#define R        double
#define C        asn_c128
#define CC       double complex
#define B        uint64_t
#define SIGN_BIT 63
#define EXP_BITS 0x7ff0000000000000u
#define F(name)  name
#define TO_CC    CMPLX
#include "device/cpu/math/scalar_float.inc"
#include "device/cpu/math/scalar_complex.inc"
#undef R
#undef C
#undef CC
#undef B
#undef SIGN_BIT
#undef EXP_BITS
#undef F
#undef TO_CC

/* integers: U is the unsigned type of the width, at least 32 bits wide so that products
 * of U do not become signed by promotion; SIGNED 0 or 1 */
#define T       int8_t
#define U       uint32_t
#define SIGNED  1
#define F(name) name##_i8
#include "device/cpu/math/scalar_int.inc"
#define T       int16_t
#define U       uint32_t
#define SIGNED  1
#define F(name) name##_i16
#include "device/cpu/math/scalar_int.inc"
#define T       int32_t
#define U       uint32_t
#define SIGNED  1
#define F(name) name##_i32
#include "device/cpu/math/scalar_int.inc"
#define T       int64_t
#define U       uint64_t
#define SIGNED  1
#define F(name) name##_i64
#include "device/cpu/math/scalar_int.inc"
#define T       uint8_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u8
#include "device/cpu/math/scalar_int.inc"
#define T       uint16_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u16
#include "device/cpu/math/scalar_int.inc"
#define T       uint32_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u32
#include "device/cpu/math/scalar_int.inc"
#define T       uint64_t
#define U       uint64_t
#define SIGNED  0
#define F(name) name##_u64
#include "device/cpu/math/scalar_int.inc"

/* The next half after `a` towards `b`, as bits; `infinity` is the bits of the largest
 * magnitude that is no NaN. Of equal ones it is `b`, as C has it and NumPy from 2.5 on
 * (before, float16 alone gave the first of two zeros). Magnitudes are ordered as their
 * bits are. A NaN comes back as it is, the first one before the second. */
static inline uint16_t half_nextafter(uint16_t a, uint16_t b, uint16_t infinity) {
    uint16_t mag_a = a & 0x7fff, mag_b = b & 0x7fff;
    if (mag_a > infinity) return a;
    if (mag_b > infinity) return b;
    if (a == b || (mag_a | mag_b) == 0) return b;
    if (mag_a == 0) return (uint16_t)((b & 0x8000) | 1);
    bool away = (a & 0x8000) == (b & 0x8000) && mag_b > mag_a;
    return (uint16_t)(away ? a + 1 : a - 1);
}
static inline uint16_t asn_f16_nextafter(uint16_t a, uint16_t b) {
    uint16_t next = half_nextafter(a, b, 0x7c00);
    if ((next & 0x7fff) == 0x7c00 && (a & 0x7fff) < 0x7c00) asn_fp_raise(FE_OVERFLOW);
    return next;
}
static inline uint16_t asn_bf16_nextafter(uint16_t a, uint16_t b) {
    return half_nextafter(a, b, 0x7f80);
}

#endif
