/* CPU device: the words of sort_lanes.h with NEON, whose registers are four lanes of 4
 * bytes or two of 8. There is a comparison of unsigned numbers of 64 bits, but no minimum
 * of them; of float64 there is one. What is not whole is done as with AVX2, by registers
 * that overlap. */
#ifndef ASN_DEVICE_CPU_SIMD_SORT_LANES_NEON_H
#define ASN_DEVICE_CPU_SIMD_SORT_LANES_NEON_H

#define V_MASKS     0
#define V_SORTS_F64 1
#define V_OWN_STEPS 0
enum { V_LEAST_ROWS_4 = 4, V_LEAST_ROWS_8 = 4 };
#define V_TILES 1
enum { V_TWO_PLACES_4 = 16384, V_TWO_PLACES_8 = 16384, V_LINED = 128 };

/* Windows on these are moves of bytes: of two registers' bytes, from some byte on. */
static const uint8_t bytes_again[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                        11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                        22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* Sixteen bytes of x and then y, from byte n on. */
INLINE asnd_lanes bytes_from(asnd_lanes x, asnd_lanes y, int64_t n) {
    return vqtbl2q_u8((uint8x16x2_t){{x, y}}, vld1q_u8(bytes_again + n));
}

/* ---- lanes of 4 bytes */

/* Comparisons and minima know unsigned numbers. */
INLINE asnd_lanes v_hold_u32(asnd_lanes x) {
    return x;
}
INLINE void v_pair_u32(asnd_lanes *low, asnd_lanes *high) {
    uint32x4_t x = vreinterpretq_u32_u8(*low), y = vreinterpretq_u32_u8(*high);
    *low = vreinterpretq_u8_u32(vminq_u32(x, y));
    *high = vreinterpretq_u8_u32(vmaxq_u32(x, y));
}
/* Neighbours change places, or halves. */
INLINE asnd_lanes v_partner_4(asnd_lanes x, int distance) {
    return distance == 1 ? vreinterpretq_u8_u32(vrev64q_u32(vreinterpretq_u32_u8(x)))
                         : vextq_u8(x, x, 8);
}
/* All bits of the lanes that v_exchange turns. */
INLINE asnd_lanes turned_lanes_4(int width, int distance) {
    const uint32x4_t lane = {0, 1, 2, 3};
    return (asnd_lanes)(((lane & (uint32_t)distance) != 0) ^
                        ((lane & (uint32_t)width) != 0));
}
INLINE void v_exchange_u32(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    const asnd_lanes upper = turned_lanes_4(width, distance);
    v_pair_u32(x, y);
    asnd_lanes low = *x, high = *y;
    *x = vbslq_u8(upper, high, low);
    *y = vbslq_u8(upper, low, high);
}
/* Squares of four rows. */
INLINE void transpose_4(asnd_lanes *v) {
    uint32x4_t a = vreinterpretq_u32_u8(v[0]), b = vreinterpretq_u32_u8(v[1]);
    uint32x4_t c = vreinterpretq_u32_u8(v[2]), d = vreinterpretq_u32_u8(v[3]);
    uint64x2_t e = vreinterpretq_u64_u32(vtrn1q_u32(a, b)),
               f = vreinterpretq_u64_u32(vtrn2q_u32(a, b)),
               g = vreinterpretq_u64_u32(vtrn1q_u32(c, d)),
               h = vreinterpretq_u64_u32(vtrn2q_u32(c, d));
    v[0] = vreinterpretq_u8_u64(vtrn1q_u64(e, g));
    v[1] = vreinterpretq_u8_u64(vtrn1q_u64(f, h));
    v[2] = vreinterpretq_u8_u64(vtrn2q_u64(e, g));
    v[3] = vreinterpretq_u8_u64(vtrn2q_u64(f, h));
}
/* Row r of a transposed tile whose columns are `deep` registers of so many lanes. */
INLINE void in_order(asnd_lanes *v, int rows, int lanes) {
    const int deep = rows / lanes;
    asnd_lanes x[16];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        x[r] = v[r % deep * lanes + r / deep];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        v[r] = x[r];
}
INLINE void v_in_order_4(asnd_lanes *v, int rows) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 4)
        transpose_4(v + r);
    in_order(v, rows, 4);
}
/* Lane i + n in lane i, round again. */
INLINE asnd_lanes v_rotate_4(asnd_lanes x, int n) {
    return bytes_from(x, x, 4 * n);
}
/* What is not whole is read from its end on: in a tile, lanes need no order. */
INLINE asnd_lanes v_load_row_4(const void *from, int64_t n, int r, asnd_lanes fill) {
    const int64_t left = n - 4 * r;
    const uint32_t *p = from;
    if (left >= 4) return v_load(p + 4 * r);
    if (left <= 0) return fill;
    return bytes_from(v_load(p + n - 4), fill, 16 - 4 * left);
}
/* The last register with the end of the one before. */
INLINE void v_store_row_4(void *to, int64_t n, int r, const asnd_lanes *v) {
    const int64_t left = n - 4 * r;
    uint32_t *p = to;
    if (left >= 4)
        v_store(p + 4 * r, v[r]);
    else if (left > 0)
        v_store(p + n - 4, bytes_from(r > 0 ? v[r - 1] : v[r], v[r], 4 * left));
}
INLINE asnd_lanes v_signs_4(asnd_lanes x) {
    return vreinterpretq_u8_s32(vshrq_n_s32(vreinterpretq_s32_u8(x), 31));
}
/* Ordered [below, others], one register serves both ends. */
INLINE void v_ends_4(void *low, void *end, asnd_lanes x, asnd_chosen_4 below, int valid) {
    (void)valid;
    x = v_compress_4(below, x);
    v_store(low, x);
    v_store((uint32_t *)end - 4, x);
}
INLINE void v_store_index_4(uint32_t *to, const uint32_t *from, asnd_chosen_4 chosen) {
    v_store(to, v_compress_4(chosen, v_load(from)));
}

/* ---- lanes of 8 bytes */

INLINE asnd_lanes v_hold_u64(asnd_lanes x) {
    return x;
}
/* A comparison and two selections: there is no minimum of 64 bits. */
INLINE void v_pair_u64(asnd_lanes *low, asnd_lanes *high) {
    asnd_lanes x = *low, y = *high;
    asnd_lanes more =
        vreinterpretq_u8_u64(vcgtq_u64(vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y)));
    *low = vbslq_u8(more, y, x);
    *high = vbslq_u8(more, x, y);
}
INLINE asnd_lanes v_partner_8(asnd_lanes x, int distance) {
    (void)distance; /* 1: there are two lanes */
    return vextq_u8(x, x, 8);
}
/* The second lane keeps the larger one. */
INLINE asnd_lanes turned_lanes_8(int width) {
    return vreinterpretq_u8_u64(width == 2 ? (uint64x2_t){0, UINT64_MAX}
                                           : (uint64x2_t){UINT64_MAX, 0});
}
INLINE void v_exchange_u64(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    (void)distance;
    const asnd_lanes upper = turned_lanes_8(width);
    v_pair_u64(x, y);
    asnd_lanes low = *x, high = *y;
    *x = vbslq_u8(upper, high, low);
    *y = vbslq_u8(upper, low, high);
}
/* Squares of two rows. */
INLINE void v_in_order_8(asnd_lanes *v, int rows) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 2) {
        uint64x2_t a = vreinterpretq_u64_u8(v[r]), b = vreinterpretq_u64_u8(v[r + 1]);
        v[r] = vreinterpretq_u8_u64(vtrn1q_u64(a, b));
        v[r + 1] = vreinterpretq_u8_u64(vtrn2q_u64(a, b));
    }
    in_order(v, rows, 2);
}
INLINE asnd_lanes v_rotate_8(asnd_lanes x, int n) {
    return bytes_from(x, x, 8 * n);
}
/* As v_load_row_4: one key, at most. */
INLINE asnd_lanes v_load_row_8(const void *from, int64_t n, int r, asnd_lanes fill) {
    const int64_t left = n - 2 * r;
    const uint64_t *p = from;
    if (left >= 2) return v_load(p + 2 * r);
    if (left <= 0) return fill;
    return bytes_from(v_load(p + n - 2), fill, 16 - 8 * left);
}
INLINE void v_store_row_8(void *to, int64_t n, int r, const asnd_lanes *v) {
    const int64_t left = n - 2 * r;
    uint64_t *p = to;
    if (left >= 2)
        v_store(p + 2 * r, v[r]);
    else if (left > 0)
        vst1_u8((uint8_t *)(p + n - 1), vget_low_u8(v[r]));
}
INLINE asnd_lanes v_signs_8(asnd_lanes x) {
    return vreinterpretq_u8_s64(vshrq_n_s64(vreinterpretq_s64_u8(x), 63));
}
INLINE void v_ends_8(void *low, void *end, asnd_lanes x, asnd_chosen_8 below, int valid) {
    (void)valid;
    x = v_compress_8(below, x);
    v_store(low, x);
    v_store((uint64_t *)end - 2, x);
}
/* Two positions: the second one first where it is the only one. */
INLINE void v_store_index_8(uint32_t *to, const uint32_t *from, asnd_chosen_8 chosen) {
    to[0] = from[chosen == 2];
    to[1] = from[1];
}

/* ---- float64 themselves: a minimum and a maximum are one instruction each */

INLINE asnd_lanes v_hold_f64(asnd_lanes x) {
    return x;
}
INLINE void v_pair_f64(asnd_lanes *low, asnd_lanes *high) {
    float64x2_t x = vreinterpretq_f64_u8(*low), y = vreinterpretq_f64_u8(*high);
    *low = vreinterpretq_u8_f64(vminq_f64(x, y));
    *high = vreinterpretq_u8_f64(vmaxq_f64(x, y));
}
INLINE void v_exchange_f64(asnd_lanes *x, asnd_lanes *y, int width, int distance) {
    (void)distance;
    const asnd_lanes upper = turned_lanes_8(width);
    v_pair_f64(x, y);
    asnd_lanes low = *x, high = *y;
    *x = vbslq_u8(upper, high, low);
    *y = vbslq_u8(upper, low, high);
}

#endif
