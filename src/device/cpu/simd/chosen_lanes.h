/* CPU device: registers as lanes of 4 or 8 bytes of which some are chosen: the words for
 * passes that compare elements, count them and store those chosen on end. AVX-512 has a
 * mask register and a compressing move for it; with AVX2 and NEON a comparison's signs
 * become bits and a table has the move of lanes for every choice.
 *
 * asnd_lanes is a register, v_load and v_store move a whole one. Of lanes of 4 bytes, and
 * likewise of 8: asnd_chosen_4 a choice of them, a bit each, v_chosen_4(bits) that of the
 * lowest bits of a number and v_count_4(chosen) how many it chooses; v_first_4(n) the
 * first n, or all; v_neither_4(a, b) those in neither of two choices that share none;
 * v_compress_4(chosen, x) the chosen ones first, in their order, then anything;
 * v_load_first_4(p, n) the first n from memory, the others 0; v_store_first_4(p, n, x)
 * those to memory, and no more is touched; v_load_chosen_4(p, left, chosen) the chosen
 * ones, others anything, from memory that has `left` elements, those chosen among them;
 * v_store_within_4(p, n, room, x) the first n to memory that has room for `room`, of
 * which all may be written; v_all_4(p) one element in every lane. v_less_<type>(x, y)
 * chooses where x < y, which no NaN is.
 *
 * Of at most V_FEW_4 chosen ones among 64 it is faster to go from one to the next than by
 * registers. V_EXPANDS: whether there are v_expand_4(chosen, x), the first lanes to the
 * chosen ones, v_store_chosen_4(p, chosen, x), no more is touched, and v_pairs(bits),
 * every bit of 32 twice.
 */
#ifndef ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_H
#define ASN_DEVICE_CPU_SIMD_CHOSEN_LANES_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512i asnd_lanes;
typedef __mmask16 asnd_chosen_4;
typedef __mmask8 asnd_chosen_8;
#include "device/cpu/simd/chosen_lanes_avx512.h"
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256i asnd_lanes;
typedef unsigned asnd_chosen_4;
typedef unsigned asnd_chosen_8;
#include "device/cpu/simd/chosen_lanes_avx2.h"
#elif defined(__ARM_NEON)
#include <arm_neon.h>
typedef uint8x16_t asnd_lanes;
typedef unsigned asnd_chosen_4;
typedef unsigned asnd_chosen_8;
#include "device/cpu/simd/chosen_lanes_neon.h"
#endif

#endif
