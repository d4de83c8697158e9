/* CPU device: what sorts need of registers besides chosen_lanes.h: steps of networks
 * between lanes, and partitions to two ends. Words end in a type (u32, u64, f64) or in
 * the bytes of a lane (4, 8).
 *
 * v_hold_<t>(x) is a register of keys as the other words of a type take it, and back: the
 * same, but where there is no comparison of unsigned numbers. v_pair_<t>(&x, &y): lane by
 * lane the smaller keys to x, the larger to y. v_exchange_<t>(&x, &y, width, distance):
 * likewise, but the other way round in lanes whose number has the bit `distance`, and
 * round again where it has the bit `width` (powers of two, constants at every call; a
 * width that no lane's number has says "all ascend").
 *
 * v_partner_4(x, d): lane i ^ d in lane i; v_step_<t>(x, width, distance) is what
 * v_exchange leaves in x, y being x's partners. v_in_order_4(v, rows): the lanes' columns
 * of `rows` registers one after the other. v_rotate_4(x, n): the first n lanes last.
 * v_load_row_4(from, n, r, fill): row r of n elements, lanes past their end from `fill`;
 * v_store_row_4(to, n, r, v): row r of n elements, which v[r] has. More than `n` elements
 * are neither read nor written, and a row that is not whole comes after a whole one,
 * unless V_MASKS: masked loads and stores cost nothing.
 *
 * v_ends_4(low, end, x, below, valid): of x's last `valid` lanes those chosen from low
 * on, the others to the places before `end`, in any order; either may be stored as a
 * whole register, which must be the same one or apart where there is room for two.
 * v_store_index_4(to, from, chosen): of as many 32-bit positions as a register has lanes
 * those chosen first, to memory that has room for all.
 *
 * V_SORTS_F64: whether float64 (without NaN and -0.0) have faster words than their keys.
 * V_LEAST_ROWS_4: of a tile that v_in_order_4 takes. V_TILES: how many tiles are worth
 * merging. V_TWO_PLACES_4: bytes up to which a partition from one place to another is
 * faster than in place. V_OWN_STEPS: the set has v_step itself, faster than what
 * v_exchange leaves.
 */
#ifndef ASN_DEVICE_CPU_SIMD_SORT_LANES_H
#define ASN_DEVICE_CPU_SIMD_SORT_LANES_H

#include "device/cpu/simd/chosen_lanes.h"

#define INLINE __attribute__((always_inline)) static inline

#if defined(__AVX512F__)
#include "device/cpu/simd/sort_lanes_avx512.h"
#elif defined(__AVX2__)
#include "device/cpu/simd/sort_lanes_avx2.h"
#elif defined(__ARM_NEON)
#include "device/cpu/simd/sort_lanes_neon.h"
#endif

#if !V_OWN_STEPS
/* Half of an exchange: the compiler leaves out what y would get. */
#define STEP(type, bytes)                                                                \
    INLINE asnd_lanes v_step_##type(asnd_lanes x, int width, int distance) {             \
        asnd_lanes y = v_partner_##bytes(x, distance);                                   \
        v_exchange_##type(&x, &y, width, distance);                                      \
        return x;                                                                        \
    }
STEP(u32, 4)
STEP(u64, 8)
#if V_SORTS_F64
STEP(f64, 8)
#endif
#undef STEP
#endif

#endif
