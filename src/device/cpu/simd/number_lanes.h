/* CPU device: registers as lanes of numbers: the words for elementwise loops that
 * compilers do not find by themselves, besides chosen_lanes.h (v_load, v_store) and
 * simd.h (v_max, v_min).
 *
 * asn_v_<t> is a register of lanes of type t; GNU C's operators compute with it, and
 * casts between registers keep the bits. asnd_on_4 says for each lane of 4 bytes whether
 * something holds, asnd_on_8 for those of 8: a mask register with AVX-512, all bits of a
 * lane or none elsewhere; | is either. v_lt_<t>, v_le_<t>, v_eq_<t> and v_ne_<t>(a, b)
 * compare, floats quietly; v_negative_<t>(x): the first bit is set. v_some_<w>(on):
 * whether any lane is on; v_pick_<t>(on, a, b): a where it is on, else b.
 *
 * v_every_<t>(x): x in every lane. v_flags_<w>(out, on): V_FLAGS bytes of 0 or 1, in
 * order, of as many lanes in several registers. v_meet(x, y): whether a bit is set in
 * both; v_or_<w>(x): the or of all lanes.
 *
 * Floats, without raising "inexact": v_floor_<t>(x), v_trunc_<t>(x); v_fnma_<t>(a, b, c)
 * is c - a b, rounded once; v_quotient_<t>(on, a, b) is a / b where on and something that
 * raises nothing elsewhere; v_rest_<t>(on, q, b, a) is v_fnma(q, b, a) where on, else 0.
 *
 * Integers: v_min_u8(a, b); v_abs_i32 and v_abs_i64, where the most negative number stays
 * its magnitude as an unsigned one. v_widen_4(p, item, sign): lanes of 4 bytes from
 * memory's elements of `item` = 1, 2 or 4 bytes, with a sign or without; v_widen_8
 * likewise, of 4 or 8 bytes. v_narrow_4(p, item, x), v_narrow_8: the low bytes of every
 * lane to memory. v_words(a, b): the low halves of the lanes of 8 bytes of a and then of
 * b. v_wide_low(x), v_wide_high(x): the first and the last half of x's 32-bit lanes as
 * unsigned ones of 64; v_wide_product_low(x, y) and _high the products of these.
 *
 * Conversions, exact ones: v_f64_of_i64(x) for |x| < 2^51 and back, v_i64_of_f64(x), of
 * whole numbers; v_f64_low(x, sign), v_f64_high(x, sign): the first and the last half of
 * 32-bit lanes; v_i32_of_f64(low, high, sign) the way back, of whole numbers.
 *
 * With AVX2 alone, which has no casts of 64-bit integers: v_every_on_8(on): whether all
 * lanes are; v_low_words(x, y): x's low halves under y's upper ones; v_widen_f64(p) from
 * memory's float32, v_narrow_f64(p, x) to those, rounded. For pairs, which compilers take
 * apart there: v_addsub_<t>(a, b, c), a b - c in even lanes and a b + c in odd ones,
 * rounded once, and v_sqrt_<t>(x).
 */
#ifndef ASN_DEVICE_CPU_SIMD_NUMBER_LANES_H
#define ASN_DEVICE_CPU_SIMD_NUMBER_LANES_H

#include <stdbool.h>

#include "device/cpu/simd/chosen_lanes.h"
#include "device/cpu/simd/simd.h"

typedef uint64_t asn_v_u64 __attribute__((vector_size(ASN_V)));
typedef uint32_t asn_v_u32 __attribute__((vector_size(ASN_V)));
typedef uint8_t asn_v_u8 __attribute__((vector_size(ASN_V)));

/* Lanes of a register. */
enum { V_LANES_4 = ASN_V / 4, V_LANES_8 = ASN_V / 8 };

#define INLINE __attribute__((always_inline)) static inline

/* One number in every lane; a difference, as -0.0 + 0.0 is 0.0. */
#define EVERY(type, real)                                                                \
    INLINE asn_v_##type v_every_##type(real x) {                                         \
        return x - (asn_v_##type){0};                                                    \
    }
EVERY(f64, double)
EVERY(f32, float)
EVERY(i64, int64_t)
EVERY(i32, int32_t)
#undef EVERY

/* Products modulo 2^32 and 2^64: of signed lanes C leaves them undefined. */
INLINE asn_v_i32 v_times_i32(asn_v_i32 a, asn_v_i32 b) {
    return (asn_v_i32)((asn_v_u32)a * (asn_v_u32)b);
}
INLINE asn_v_i64 v_times_i64(asn_v_i64 a, asn_v_i64 b) {
    return (asn_v_i64)((asn_v_u64)a * (asn_v_u64)b);
}

#if defined(__AVX512F__)
typedef __mmask16 asnd_on_4;
typedef __mmask8 asnd_on_8;
#include "device/cpu/simd/number_lanes_avx512.h"
#elif defined(__AVX2__)
typedef asn_v_i32 asnd_on_4;
typedef asn_v_i64 asnd_on_8;
#include "device/cpu/simd/number_lanes_avx2.h"
#elif defined(__ARM_NEON)
typedef asn_v_i32 asnd_on_4;
typedef asn_v_i64 asnd_on_8;
#include "device/cpu/simd/number_lanes_neon.h"
#endif

#endif
