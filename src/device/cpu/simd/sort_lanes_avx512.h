/* CPU device: the words of sort_lanes.h with AVX-512.
 *
 * Minima of unsigned numbers of either width, and masks for what is not whole. No table
 * has the moves for choices of sixteen lanes: those go to two ends by two compressions.
 * Moves within 128 bits by immediates are the fastest (Zen 5: four a cycle after two
 * cycles, others two after five).
 */
#ifndef ASN_DEVICE_CPU_SIMD_SORT_LANES_AVX512_H
#define ASN_DEVICE_CPU_SIMD_SORT_LANES_AVX512_H

#include "device/cpu/simd/first_lanes.h"

#define V_MASKS     1
#define V_SORTS_F64 0
#define V_OWN_STEPS 1
enum { V_LEAST_ROWS_4 = 4, V_LEAST_ROWS_8 = 4 };
#define V_TILES 8
enum { V_TWO_PLACES_4 = 4 << 20, V_TWO_PLACES_8 = 0, V_LINED = INT32_MAX };

/* Lanes that keep the larger of a pair: see v_exchange. */
INLINE unsigned upper_lanes(int width, int distance) {
    const unsigned bit = (0xffffu / ((1u << distance) + 1)) << distance;
    const unsigned again = width < 16 ? (0xffffu / ((1u << width) + 1)) << width : 0;
    return bit ^ again;
}
/* The first n lanes of sixteen, all or none where n is not among them. */
INLINE __mmask16 first_of_16(int64_t n) {
    return (__mmask16)(n >= 16 ? 0xffff : n > 0 ? (1u << n) - 1 : 0);
}

/* Four by four pieces of 128 bits, `s` registers apart, transposed. */
INLINE void transpose_quarters(asnd_lanes *v, int s) {
    asnd_lanes a = _mm512_shuffle_i64x2(v[0], v[s], 0x44),
               b = _mm512_shuffle_i64x2(v[0], v[s], 0xee),
               c = _mm512_shuffle_i64x2(v[2 * s], v[3 * s], 0x44),
               d = _mm512_shuffle_i64x2(v[2 * s], v[3 * s], 0xee);
    v[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[s] = _mm512_shuffle_i64x2(a, c, 0xdd);
    v[2 * s] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[3 * s] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/* ---- lanes of 4 bytes */

/* Keys are held as they are. */
INLINE asnd_lanes v_hold_u32(asnd_lanes x) {
    return x;
}
INLINE void v_pair_u32(asnd_lanes *low, asnd_lanes *high) {
    asnd_lanes x = *low, y = *high;
    *low = _mm512_min_epu32(x, y);
    *high = _mm512_max_epu32(x, y);
}
INLINE asnd_lanes v_partner_4(asnd_lanes x, int distance) {
    switch (distance) {
    case 1: return _mm512_shuffle_epi32(x, _MM_PERM_CDAB);
    case 2: return _mm512_shuffle_epi32(x, _MM_PERM_BADC);
    case 4: return _mm512_shuffle_i64x2(x, x, 0xb1);
    default: return _mm512_shuffle_i64x2(x, x, 0x4e);
    }
}
/* Blends go to another pipe than minima, of which 64-bit ones are two operations each on
 * Intel: 5 to 10 % faster than two minima and two maxima under masks. */
INLINE void v_exchange_u32(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    const __mmask16 upper = (__mmask16)upper_lanes(width, distance);
    v_pair_u32(x, y);
    asnd_lanes low = *x, high = *y;
    *x = _mm512_mask_blend_epi32(upper, low, high);
    *y = _mm512_mask_blend_epi32(upper, high, low);
}
/* Of a half, a maximum under a mask is the shortest. */
INLINE asnd_lanes v_step_u32(asnd_lanes x, int width, int distance) {
    const __mmask16 upper = (__mmask16)upper_lanes(width, distance);
    asnd_lanes y = v_partner_4(x, distance);
    return _mm512_mask_max_epu32(_mm512_min_epu32(x, y), upper, x, y);
}
/* Four rows become registers whose 128 bits lie within a column. */
INLINE void weave_4(asnd_lanes *v) {
    asnd_lanes a = _mm512_unpacklo_epi32(v[0], v[1]),
               b = _mm512_unpackhi_epi32(v[0], v[1]),
               c = _mm512_unpacklo_epi32(v[2], v[3]),
               d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(a, c);
    v[1] = _mm512_unpackhi_epi64(a, c);
    v[2] = _mm512_unpacklo_epi64(b, d);
    v[3] = _mm512_unpackhi_epi64(b, d);
}
INLINE void v_in_order_4(asnd_lanes *v, int rows) {
    weave_4(v);
    if (rows == 4) {
        transpose_quarters(v, 1);
        return;
    }
    weave_4(v + 4);
    if (rows == 8) {
        asnd_lanes a[4] = {v[0], v[4], v[1], v[5]}, b[4] = {v[2], v[6], v[3], v[7]};
        transpose_quarters(a, 1);
        transpose_quarters(b, 1);
        v[0] = a[0], v[1] = b[0], v[2] = a[1], v[3] = b[1];
        v[4] = a[2], v[5] = b[2], v[6] = a[3], v[7] = b[3];
        return;
    }
    weave_4(v + 8);
    weave_4(v + 12);
    transpose_quarters(v, 4);
    transpose_quarters(v + 1, 4);
    transpose_quarters(v + 2, 4);
    transpose_quarters(v + 3, 4);
}
/* The lanes from the last to the first. */
INLINE asnd_lanes v_reverse_4(asnd_lanes x) {
    const asnd_lanes lane =
        _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_epi32(lane, x);
}
/* Lane i + n in lane i: a permutation takes the lanes' numbers round again. */
INLINE asnd_lanes v_rotate_4(asnd_lanes x, int n) {
    const asnd_lanes lane =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(n)), x);
}
/* Under masks: what lies past the end is not touched. */
INLINE asnd_lanes v_load_row_4(const void *from, int64_t n, int r, asnd_lanes fill) {
    return _mm512_mask_loadu_epi32(fill, first_of_16(n - 16 * r),
                                   (const int32_t *)from + 16 * r);
}
INLINE void v_store_row_4(void *to, int64_t n, int r, const asnd_lanes *v) {
    _mm512_mask_storeu_epi32((int32_t *)to + 16 * r, first_of_16(n - 16 * r), v[r]);
}
INLINE asnd_lanes v_signs_4(asnd_lanes x) {
    return _mm512_srai_epi32(x, 31);
}
/* Below as a whole register, whose end the others overwrite under a mask. */
INLINE void v_ends_4(void *low, void *end, asnd_lanes x, asnd_chosen_4 below, int valid) {
    const int above = valid - v_count_4(below);
    const asnd_chosen_4 rest =
        (asnd_chosen_4)~below & (asnd_chosen_4)(0xffff0000u >> valid);
    _mm512_storeu_si512(low, _mm512_maskz_compress_epi32(below, x));
    _mm512_mask_storeu_epi32((int32_t *)end - above, (__mmask16)((1u << above) - 1),
                             _mm512_maskz_compress_epi32(rest, x));
}
INLINE void v_store_index_4(uint32_t *to, const uint32_t *from, asnd_chosen_4 chosen) {
    v_store(to, v_compress_4(chosen, v_load(from)));
}

/* ---- lanes of 8 bytes */

INLINE asnd_lanes v_hold_u64(asnd_lanes x) {
    return x;
}
INLINE void v_pair_u64(asnd_lanes *low, asnd_lanes *high) {
    asnd_lanes x = *low, y = *high;
    *low = _mm512_min_epu64(x, y);
    *high = _mm512_max_epu64(x, y);
}
/* Lanes as pairs of 4 bytes. */
INLINE asnd_lanes v_partner_8(asnd_lanes x, int distance) {
    return v_partner_4(x, 2 * distance);
}
INLINE void v_exchange_u64(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    const __mmask8 upper = (__mmask8)upper_lanes(width, distance);
    v_pair_u64(x, y);
    asnd_lanes low = *x, high = *y;
    *x = _mm512_mask_blend_epi64(upper, low, high);
    *y = _mm512_mask_blend_epi64(upper, high, low);
}
INLINE asnd_lanes v_step_u64(asnd_lanes x, int width, int distance) {
    const __mmask8 upper = (__mmask8)upper_lanes(width, distance);
    asnd_lanes y = v_partner_8(x, distance);
    return _mm512_mask_max_epu64(_mm512_min_epu64(x, y), upper, x, y);
}
/* As weave_4, two rows by two. */
INLINE void weave_8(asnd_lanes *v) {
    asnd_lanes a = v[0], b = v[1], c = v[2], d = v[3];
    v[0] = _mm512_unpacklo_epi64(a, b);
    v[1] = _mm512_unpackhi_epi64(a, b);
    v[2] = _mm512_unpacklo_epi64(c, d);
    v[3] = _mm512_unpackhi_epi64(c, d);
}
INLINE void v_in_order_8(asnd_lanes *v, int rows) {
    weave_8(v);
    if (rows == 4) {
        asnd_lanes x = v[1];
        v[1] = v[2];
        v[2] = x;
        transpose_quarters(v, 1);
        return;
    }
    weave_8(v + 4);
    transpose_quarters(v, 2);
    transpose_quarters(v + 1, 2);
    if (rows == 8) return;
    weave_8(v + 8);
    weave_8(v + 12);
    transpose_quarters(v + 8, 2);
    transpose_quarters(v + 9, 2);
    asnd_lanes x[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; r++)
        x[r] = v[r];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) {
        v[2 * r] = x[r];
        v[2 * r + 1] = x[r + 8];
    }
}
INLINE asnd_lanes v_reverse_8(asnd_lanes x) {
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
}
INLINE asnd_lanes v_rotate_8(asnd_lanes x, int n) {
    return v_rotate_4(x, 2 * n);
}
INLINE asnd_lanes v_load_row_8(const void *from, int64_t n, int r, asnd_lanes fill) {
    return _mm512_mask_loadu_epi64(fill, (__mmask8)first_of_16(n - 8 * r),
                                   (const int64_t *)from + 8 * r);
}
INLINE void v_store_row_8(void *to, int64_t n, int r, const asnd_lanes *v) {
    _mm512_mask_storeu_epi64((int64_t *)to + 8 * r, (__mmask8)first_of_16(n - 8 * r),
                             v[r]);
}
/* Ordered [below, others], one move of lanes serves both ends. */
INLINE asnd_lanes v_signs_8(asnd_lanes x) {
    return _mm512_srai_epi64(x, 63);
}
INLINE void v_ends_8(void *low, void *end, asnd_lanes x, asnd_chosen_8 below, int valid) {
    (void)valid;
    __m128i order = _mm_loadl_epi64((const void *)&first_lanes[below]);
    x = _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), x);
    _mm512_storeu_si512(low, x);
    _mm512_storeu_si512((int64_t *)end - 8, x);
}
/* Eight positions are half a register. */
INLINE void v_store_index_8(uint32_t *to, const uint32_t *from, asnd_chosen_8 chosen) {
    __m256i x = _mm256_loadu_si256((const void *)from);
    _mm256_storeu_si256((void *)to, _mm256_maskz_compress_epi32(chosen, x));
}

#endif
