/* CPU device: the words of sort_lanes.h with AVX2.
 *
 * There is neither a comparison of unsigned numbers nor a minimum of 64-bit ones: 64-bit
 * keys are held signed, and take a comparison and two blends where others take a minimum
 * and a maximum. What AVX-512 does under masks is done by registers that overlap.
 */
#ifndef ASN_DEVICE_CPU_SIMD_SORT_LANES_AVX2_H
#define ASN_DEVICE_CPU_SIMD_SORT_LANES_AVX2_H

#define V_MASKS     0
#define V_SORTS_F64 1
#define V_OWN_STEPS 0
enum { V_LEAST_ROWS_4 = 8, V_LEAST_ROWS_8 = 4 };
#define V_TILES 1
/* With as many in the spare: within the first cache. */
enum { V_TWO_PLACES_4 = 16384, V_TWO_PLACES_8 = 16384, V_LINED = 128 };

/* Windows on these are masks of so many 32-bit lanes, and rotations by as many. */
static const int32_t ones_zeros[24] = {0,  0,  0,  0,  0, 0, 0, 0, -1, -1, -1, -1,
                                       -1, -1, -1, -1, 0, 0, 0, 0, 0,  0,  0,  0};
static const int32_t round_again[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};

/* Where the mask is set, y, else x. */
INLINE __m256i either(__m256i x, __m256i y, __m256i mask) {
    return _mm256_castpd_si256(_mm256_blendv_pd(
        _mm256_castsi256_pd(x), _mm256_castsi256_pd(y), _mm256_castsi256_pd(mask)));
}

/* ---- lanes of 4 bytes */

/* Minima of unsigned numbers there are at this width: keys are held as they are. */
INLINE asnd_lanes v_hold_u32(asnd_lanes x) {
    return x;
}
INLINE void v_pair_u32(asnd_lanes *low, asnd_lanes *high) {
    asnd_lanes x = *low, y = *high;
    *low = _mm256_min_epu32(x, y);
    *high = _mm256_max_epu32(x, y);
}
/* Within 128 bits one cycle, across them three. */
INLINE asnd_lanes v_partner_4(asnd_lanes x, int distance) {
    return distance == 1   ? _mm256_shuffle_epi32(x, 0xb1)
           : distance == 2 ? _mm256_shuffle_epi32(x, 0x4e)
                           : _mm256_permute2x128_si256(x, x, 1);
}
/* low's lanes, but high's where v_exchange turns. */
INLINE asnd_lanes mixed_4(asnd_lanes low, asnd_lanes high, int width, int distance) {
    switch (8 * width + distance) {
    case 8 * 2 + 1: return _mm256_blend_epi32(low, high, 0x66);
    case 8 * 4 + 2: return _mm256_blend_epi32(low, high, 0x3c);
    case 8 * 4 + 1: return _mm256_blend_epi32(low, high, 0x5a);
    case 8 * 8 + 4: return _mm256_blend_epi32(low, high, 0xf0);
    case 8 * 8 + 2: return _mm256_blend_epi32(low, high, 0xcc);
    default: return _mm256_blend_epi32(low, high, 0xaa);
    }
}
INLINE void v_exchange_u32(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    v_pair_u32(x, y);
    asnd_lanes low = *x, high = *y;
    *x = mixed_4(low, high, width, distance);
    *y = mixed_4(high, low, width, distance);
}
/* Squares of eight rows. */
INLINE void transpose_4(asnd_lanes *v) {
    asnd_lanes a[8], b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
        b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
        b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
    }
}
INLINE void v_in_order_4(asnd_lanes *v, int rows) {
    transpose_4(v);
    if (rows == 8) return;
    transpose_4(v + 8);
    asnd_lanes x[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; r++)
        x[r] = v[r % 2 * 8 + r / 2];
#pragma GCC unroll 16
    for (int r = 0; r < 16; r++)
        v[r] = x[r];
}
/* Lane i + n in lane i, round again. */
INLINE asnd_lanes v_rotate_4(asnd_lanes x, int n) {
    return _mm256_permutevar8x32_epi32(x, v_load(round_again + n));
}
/* What is not whole is read from its end on: in a tile, lanes need no order. */
INLINE asnd_lanes v_load_row_4(const void *from, int64_t n, int r, asnd_lanes fill) {
    const int64_t left = n - 8 * r;
    const int32_t *p = from;
    if (left >= 8) return v_load(p + 8 * r);
    if (left <= 0) return fill;
    return _mm256_blendv_epi8(v_load(p + n - 8), fill, v_load(ones_zeros + 8 + left));
}
/* The last register with the end of the one before. */
INLINE void v_store_row_4(void *to, int64_t n, int r, const asnd_lanes *v) {
    const int64_t left = n - 8 * r;
    int32_t *p = to;
    if (left >= 8)
        v_store(p + 8 * r, v[r]);
    else if (left > 0) {
        asnd_lanes before = r > 0 ? v[r - 1] : v[r];
        asnd_lanes x = _mm256_blendv_epi8(v[r], before, v_load(ones_zeros + 8 - left));
        v_store(p + n - 8, v_rotate_4(x, (int)left));
    }
}
INLINE asnd_lanes v_signs_4(asnd_lanes x) {
    return _mm256_srai_epi32(x, 31);
}
/* Ordered [below, others], one register serves both ends; lanes that are not valid come
 * before them all, and are overwritten. */
INLINE void v_ends_4(void *low, void *end, asnd_lanes x, asnd_chosen_4 below, int valid) {
    (void)valid;
    x = chosen_first_4(x, below);
    v_store(low, x);
    v_store((int32_t *)end - 8, x);
}
INLINE void v_store_index_4(uint32_t *to, const uint32_t *from, asnd_chosen_4 chosen) {
    v_store(to, chosen_first_4(v_load(from), chosen));
}

/* ---- lanes of 8 bytes */

/* Signed: the first bit turned. */
INLINE asnd_lanes v_hold_u64(asnd_lanes x) {
    return _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN));
}
/* A comparison and two blends, of held keys. */
INLINE void v_pair_u64(asnd_lanes *low, asnd_lanes *high) {
    asnd_lanes x = *low, y = *high, more = _mm256_cmpgt_epi64(x, y);
    *low = either(x, y, more);
    *high = either(y, x, more);
}
/* Two lanes in each half. */
INLINE asnd_lanes v_partner_8(asnd_lanes x, int distance) {
    return distance == 1 ? _mm256_shuffle_epi32(x, 0x4e)
                         : _mm256_permute2x128_si256(x, x, 1);
}
/* The comparison's mask is turned where the lane keeps the larger one. */
INLINE void v_exchange_u64(asnd_lanes *x_, asnd_lanes *y_, int width, int distance) {
    typedef int64_t lanes __attribute__((vector_size(32)));
    const lanes lane = {0, 1, 2, 3};
    const lanes upper = ((lane & distance) != 0) ^ ((lane & width) != 0);
    asnd_lanes x = *x_, y = *y_;
    asnd_lanes more = _mm256_xor_si256(_mm256_cmpgt_epi64(x, y), (asnd_lanes)upper);
    *x_ = either(x, y, more);
    *y_ = either(y, x, more);
}
/* Squares of four rows. */
INLINE void transpose_8(asnd_lanes *v) {
    asnd_lanes a = _mm256_unpacklo_epi64(v[0], v[1]),
               b = _mm256_unpackhi_epi64(v[0], v[1]);
    asnd_lanes c = _mm256_unpacklo_epi64(v[2], v[3]),
               d = _mm256_unpackhi_epi64(v[2], v[3]);
    v[0] = _mm256_permute2x128_si256(a, c, 0x20);
    v[1] = _mm256_permute2x128_si256(b, d, 0x20);
    v[2] = _mm256_permute2x128_si256(a, c, 0x31);
    v[3] = _mm256_permute2x128_si256(b, d, 0x31);
}
/* Squares one below the other: column c of square b is register b * 4 + c. */
INLINE void v_in_order_8(asnd_lanes *v, int rows) {
    const int deep = rows / 4; /* registers of a column */
    asnd_lanes x[16];
#pragma GCC unroll 4
    for (int b = 0; b < deep; b++)
        transpose_8(v + b * 4);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        x[r] = v[r % deep * 4 + r / deep];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        v[r] = x[r];
}
INLINE asnd_lanes v_rotate_8(asnd_lanes x, int n) {
    return _mm256_permutevar8x32_epi32(x, v_load(round_again + 2 * n));
}
INLINE asnd_lanes v_load_row_8(const void *from, int64_t n, int r, asnd_lanes fill) {
    const int64_t left = n - 4 * r;
    const int64_t *p = from;
    if (left >= 4) return v_load(p + 4 * r);
    if (left <= 0) return fill;
    return either(v_load(p + n - 4), fill, v_load(ones_zeros + 8 + 2 * left));
}
/* As v_store_row_4. */
INLINE void v_store_row_8(void *to, int64_t n, int r, const asnd_lanes *v) {
    const int64_t left = n - 4 * r;
    int64_t *p = to;
    if (left >= 4)
        v_store(p + 4 * r, v[r]);
    else if (left > 0) {
        asnd_lanes before = r > 0 ? v[r - 1] : v[r];
        asnd_lanes x = either(v[r], before, v_load(ones_zeros + 8 - 2 * left));
        v_store(p + n - 4, v_rotate_8(x, (int)left));
    }
}
/* There is no arithmetic shift of 64 bits. */
INLINE asnd_lanes v_signs_8(asnd_lanes x) {
    return _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
}
INLINE void v_ends_8(void *low, void *end, asnd_lanes x, asnd_chosen_8 below, int valid) {
    (void)valid;
    x = chosen_first_8(x, below);
    v_store(low, x);
    v_store((int64_t *)end - 4, x);
}
/* Four positions are half a register. */
INLINE void v_store_index_8(uint32_t *to, const uint32_t *from, asnd_chosen_8 chosen) {
    __m128i order = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)first_lanes[chosen]));
    __m128 x = _mm_permutevar_ps(_mm_loadu_ps((const float *)from), order);
    _mm_storeu_ps((float *)to, x);
}

/* ---- float64 themselves: a minimum and a maximum are one instruction each */

INLINE asnd_lanes v_hold_f64(asnd_lanes x) {
    return x;
}
INLINE void v_pair_f64(asnd_lanes *low, asnd_lanes *high) {
    __m256d x = _mm256_castsi256_pd(*low), y = _mm256_castsi256_pd(*high);
    *low = _mm256_castpd_si256(_mm256_min_pd(x, y));
    *high = _mm256_castpd_si256(_mm256_max_pd(x, y));
}
/* As mixed_4; a key is two words. */
INLINE asnd_lanes mixed_8(asnd_lanes low, asnd_lanes high, int width, int distance) {
    return width == 2      ? _mm256_blend_epi32(low, high, 0x3c)
           : distance == 2 ? _mm256_blend_epi32(low, high, 0xf0)
                           : _mm256_blend_epi32(low, high, 0xcc);
}
INLINE void v_exchange_f64(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    v_pair_f64(x, y);
    asnd_lanes low = *x, high = *y;
    *x = mixed_8(low, high, width, distance);
    *y = mixed_8(high, low, width, distance);
}

#endif
