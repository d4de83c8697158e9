/* CPU device: the scalar functions that the expressions of ops.def call, M(f) being f
 * with the dtype's suffix: `f` for float32 and complex64 as in C's own library, nothing
 * for float64 and complex128, _i8 ... _u64 for integers.
 *
 * Semantics are NumPy's, down to signs of zero, infinities and NaN; the scalar_*.inc
 * templates say where they are not obvious. Comparisons are written without short cuts (|
 * and &), so that the loops around them vectorise.
 */
#ifndef ASN_DEVICE_CPU_SCALAR_H
#define ASN_DEVICE_CPU_SCALAR_H

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
#include "device/cpu/scalar_float.inc"
#include "device/cpu/scalar_complex.inc"
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
#include "device/cpu/scalar_float.inc"
#include "device/cpu/scalar_complex.inc"
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
#include "device/cpu/scalar_int.inc"
#define T       int16_t
#define U       uint32_t
#define SIGNED  1
#define F(name) name##_i16
#include "device/cpu/scalar_int.inc"
#define T       int32_t
#define U       uint32_t
#define SIGNED  1
#define F(name) name##_i32
#include "device/cpu/scalar_int.inc"
#define T       int64_t
#define U       uint64_t
#define SIGNED  1
#define F(name) name##_i64
#include "device/cpu/scalar_int.inc"
#define T       uint8_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u8
#include "device/cpu/scalar_int.inc"
#define T       uint16_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u16
#include "device/cpu/scalar_int.inc"
#define T       uint32_t
#define U       uint32_t
#define SIGNED  0
#define F(name) name##_u32
#include "device/cpu/scalar_int.inc"
#define T       uint64_t
#define U       uint64_t
#define SIGNED  0
#define F(name) name##_u64
#include "device/cpu/scalar_int.inc"

#endif
