/* CPU device: sorting keys with AVX2.
 *
 * The sort of sort_avx512.c with registers of half the size: partitions of whole
 * registers in place, by a move of lanes that a table holds, then networks
 * (sort_network_avx2.inc). What AVX-512 does under masks is done here by registers that
 * overlap. There is neither a comparison of unsigned numbers nor a minimum of 64-bit
 * ones: 64-bit keys are held signed in registers ("turned").
 */
#include "device/cpu/sort/sort_vector.h"

#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "device/cpu/simd/first_lanes_avx2.h"
#include "device/cpu/sort/keys.h"

enum {
    LINED = 128,      /* bytes: see asnd_sort_loops */
    FEW_BYTES = 16384 /* with as many in the spare: within the first cache */
};

/* Registers of a block: a partition's reads wait for the counts of the block before. */
enum { AHEAD = 8, FAR = 4 << 20 /* bytes: past the second cache, reads are announced */ };

/* Windows on these are masks of so many 32-bit lanes, and rotations by as many. */
static const int32_t ones_zeros[24] = {0,  0,  0,  0,  0, 0, 0, 0, -1, -1, -1, -1,
                                       -1, -1, -1, -1, 0, 0, 0, 0, 0,  0,  0,  0};
static const int32_t round_again[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};

/* All but the last `count` 32-bit lanes; all but the first. Window onto eight set words
 * between clear ones. */
INLINE __m256i but_last(int count) {
    return load(ones_zeros + 8 + count);
}
INLINE __m256i but_first(int count) {
    return load(ones_zeros + 8 - count);
}

/* ---- 32-bit keys: eight lanes */

/* Keys as they are held in registers, and back: 32-bit ones unchanged. */
INLINE __m256i turned_4(__m256i x) {
    return x;
}
/* The largest key; next: the one after a smaller key. */
static const uint32_t most_4 = UINT32_MAX;
INLINE uint32_t next_4(uint32_t key) {
    return key + 1;
}
INLINE __m256i all_4(uint32_t key) {
    return _mm256_set1_epi32((int32_t)key);
}
/* The largest key where the mask is set. */
INLINE __m256i filled_4(__m256i x, __m256i mask) {
    return _mm256_or_si256(x, mask);
}
/* The step of every network: lane by lane the smaller keys to low. */
INLINE void pair_4(__m256i *low, __m256i *high) {
    __m256i x = *low, y = *high;
    *low = _mm256_min_epu32(x, y);
    *high = _mm256_max_epu32(x, y);
}

/* The lanes below the limit, as bits. */
INLINE unsigned below_4(__m256i x, __m256i limit) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    x = _mm256_cmpgt_epi32(_mm256_xor_si256(limit, sign), _mm256_xor_si256(x, sign));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

/* The chosen ones of eight positions first. */
INLINE __m256i index_first_4(const uint32_t *index, unsigned chosen) {
    return chosen_first_4(load(index), chosen);
}

/* Lane i ^ distance in lane i. */
INLINE __m256i partner_4(__m256i x, int distance) {
    return distance == 1   ? _mm256_shuffle_epi32(x, 0xb1)
           : distance == 2 ? _mm256_shuffle_epi32(x, 0x4e)
                           : _mm256_permute2x128_si256(x, x, 1);
}

/* low's lanes, but high's where the lane holds an upper half (split_4); constants at
 * every call. */
INLINE __m256i mixed_4(__m256i low, __m256i high, int width, int distance) {
    switch (8 * width + distance) { /* see `split` */
    case 8 * 2 + 1: return _mm256_blend_epi32(low, high, 0x66);
    case 8 * 4 + 2: return _mm256_blend_epi32(low, high, 0x3c);
    case 8 * 4 + 1: return _mm256_blend_epi32(low, high, 0x5a);
    case 8 * 8 + 4: return _mm256_blend_epi32(low, high, 0xf0);
    case 8 * 8 + 2: return _mm256_blend_epi32(low, high, 0xcc);
    default: return _mm256_blend_epi32(low, high, 0xaa);
    }
}

/* Of two registers' pairs the smaller key to x and the larger to y, but the other way
 * round in lanes that hold upper halves: where `distance` is a bit of the lane's number;
 * and round again where `width` is one, since those merge to descending columns. */
INLINE void split_4(__m256i *x, __m256i *y, int width, int distance) {
    pair_4(x, y);
    __m256i low = *x, high = *y;
    *x = mixed_4(low, high, width, distance);
    *y = mixed_4(high, low, width, distance);
}

/* Squares of eight rows. */
INLINE void transpose_4(__m256i *v) {
    __m256i a[8], b[8];
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

/* Where partitions were bad too often: n log n is kept by a sort that does not
 * compare. */
static void sort_slowly_4(uint32_t *keys, void *spare, int64_t n) {
    asn_keys_radix(4, keys, spare, n);
}

/* ---- 64-bit keys: four lanes */

/* Held with the sign bit turned, as AVX2 compares signed numbers alone. */
INLINE __m256i turned_8(__m256i x) {
    return _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN));
}
static const uint64_t most_8 = UINT64_MAX;
INLINE uint64_t next_8(uint64_t key) {
    return key + 1;
}
INLINE __m256i all_8(uint64_t key) {
    return _mm256_set1_epi64x((int64_t)key);
}
/* Where the mask is set, y, else x. */
INLINE __m256i either(__m256i x, __m256i y, __m256i mask) {
    return _mm256_castpd_si256(_mm256_blendv_pd(
        _mm256_castsi256_pd(x), _mm256_castsi256_pd(y), _mm256_castsi256_pd(mask)));
}
INLINE __m256i filled_8(__m256i x, __m256i mask) {
    return _mm256_or_si256(x, mask);
}
/* No minimum of 64 bits: a comparison and two blends. */
INLINE void pair_8(__m256i *low, __m256i *high) {
    __m256i x = *low, y = *high, more = _mm256_cmpgt_epi64(x, y);
    *low = either(x, y, more);
    *high = either(y, x, more);
}
/* Keys that are not turned. */
INLINE unsigned below_8(__m256i x, __m256i limit) {
    x = _mm256_cmpgt_epi64(turned_8(limit), turned_8(x));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

/* Of four positions. */
INLINE __m128i index_first_8(const uint32_t *index, unsigned chosen) {
    __m128i order = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)first_lanes[chosen]));
    return _mm_castps_si128(_mm_permutevar_ps(_mm_loadu_ps((const float *)index), order));
}

INLINE __m256i partner_8(__m256i x, int distance) {
    return distance == 1 ? _mm256_shuffle_epi32(x, 0x4e)
                         : _mm256_permute2x128_si256(x, x, 1);
}

/* As split_4: the comparison's mask is turned where the lane keeps the larger one. */
INLINE void split_8(__m256i *x_, __m256i *y_, int width, int distance) {
    typedef int64_t lanes __attribute__((vector_size(32)));
    const lanes lane = {0, 1, 2, 3};
    const lanes upper = ((lane & distance) != 0) ^ ((lane & width) != 0);
    __m256i x = *x_, y = *y_;
    __m256i more = _mm256_xor_si256(_mm256_cmpgt_epi64(x, y), (__m256i)upper);
    *x_ = either(x, y, more);
    *y_ = either(y, x, more);
}

/* Squares of four rows. */
INLINE void transpose_8(__m256i *v) {
    __m256i a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
    __m256i c = _mm256_unpacklo_epi64(v[2], v[3]), d = _mm256_unpackhi_epi64(v[2], v[3]);
    v[0] = _mm256_permute2x128_si256(a, c, 0x20);
    v[1] = _mm256_permute2x128_si256(b, d, 0x20);
    v[2] = _mm256_permute2x128_si256(a, c, 0x31);
    v[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

static void sort_slowly_8(uint64_t *keys, void *spare, int64_t n) {
    asn_keys_radix(8, keys, spare, n);
}

/* ---- float64 themselves, without NaN and -0.0: a minimum and a maximum are one
 * instruction each, and the order of equal ones does not show */

/* The largest value; next: the one above a value below infinity (-0.0 is none of
 * these). */
static const double most_f = INFINITY;
INLINE double next_f(double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += bits < 0 ? -1 : 1;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
INLINE __m256i turned_f(__m256i x) {
    return x;
}
INLINE __m256i all_f(double value) {
    return _mm256_castpd_si256(_mm256_set1_pd(value));
}
/* Infinity where the mask is set. */
INLINE __m256i filled_f(__m256i x, __m256i mask) {
    return either(x, all_f(most_f), mask);
}
INLINE void pair_f(__m256i *low, __m256i *high) {
    __m256d x = _mm256_castsi256_pd(*low), y = _mm256_castsi256_pd(*high);
    *low = _mm256_castpd_si256(_mm256_min_pd(x, y));
    *high = _mm256_castpd_si256(_mm256_max_pd(x, y));
}
INLINE unsigned below_f(__m256i x, __m256i limit) {
    return (unsigned)_mm256_movemask_pd(
        _mm256_cmp_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(limit), _CMP_LT_OQ));
}
INLINE __m256i chosen_first_f(__m256i x, unsigned chosen) {
    return chosen_first_8(x, chosen);
}
INLINE __m256i partner_f(__m256i x, int distance) {
    return partner_8(x, distance);
}
INLINE __m256i mixed_f(__m256i low, __m256i high, int width, int distance) {
    return width == 2      ? _mm256_blend_epi32(low, high, 0x3c)
           : distance == 2 ? _mm256_blend_epi32(low, high, 0xf0)
                           : _mm256_blend_epi32(low, high, 0xcc);
}
INLINE void split_f(__m256i *x, __m256i *y, int width, int distance) {
    pair_f(x, y);
    __m256i low = *x, high = *y;
    *x = mixed_f(low, high, width, distance);
    *y = mixed_f(high, low, width, distance);
}
INLINE void transpose_f(__m256i *v) {
    transpose_8(v);
}

/* By way of keys, in place. */
static void sort_slowly_f(double *values, void *spare, int64_t n) {
    asn_keys_encode(ASN_F64, values, (const char *)values, 8, n, ASN_KEYS_EXACT);
    asn_keys_radix(8, values, spare, n);
    asn_keys_decode(ASN_F64, (char *)values, 8, values, n, ASN_KEYS_EXACT);
}

#define K     uint32_t
#define F(n)  n##_4
#define SHIFT 3
#include "device/cpu/sort/sort_network_avx2.inc"
#include "device/cpu/sort/sort_avx2.inc"
#include "device/cpu/sort/select_avx2.inc"

#define K     uint64_t
#define F(n)  n##_8
#define SHIFT 2
#include "device/cpu/sort/sort_network_avx2.inc"
#include "device/cpu/sort/sort_avx2.inc"
#include "device/cpu/sort/select_avx2.inc"

#define K     double
#define F(n)  n##_f
#define SHIFT 2
#include "device/cpu/sort/sort_network_avx2.inc"
#include "device/cpu/sort/sort_avx2.inc"
#undef K
#undef F
#undef SHIFT

/* Copies (to the same place or elsewhere); whether no value is NaN or -0.0. */
static bool copy_plain(double *to, const double *from, int64_t n) {
    const __m256i minus_zero = _mm256_set1_epi64x(INT64_MIN);
    const __m256i infinity = all_f(INFINITY);
    __m256i odd = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i x = load(from + i), size = _mm256_andnot_si256(minus_zero, x);
        odd = _mm256_or_si256(odd, _mm256_cmpeq_epi64(x, minus_zero));
        odd = _mm256_or_si256(odd, _mm256_cmpgt_epi64(size, infinity));
        store(to + i, x);
    }
    bool plain = _mm256_testz_si256(odd, odd);
    for (; i < n; i++) {
        to[i] = from[i];
        plain &= !isnan(from[i]) && !(from[i] == 0 && signbit(from[i]));
    }
    return plain;
}

/* asnd_sort_loops.numbers: float64 alone. What is sorted already, as often, costs one
 * look. */
static bool sort_doubles(asn_dtype dt, void *out, const void *from, void *spare,
                         int64_t n) {
    double *to = out;
    if (dt != ASN_F64 || !copy_plain(to, from, n)) return false;
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++)
        sorted = to[i - 1] <= to[i];
    if (!sorted) quicksort_f(to, spare, n, asn_sort_depth(n));
    return true;
}

#define SORT_KEYS_AS
#include "device/cpu/sort/sort_loops.inc"

const asnd_sort_loops asn_sort_avx2 = {
    sort,
    part,
    columns,
    LINED,
    sort_doubles,
    collect_within_4,
    collect_within_8,
    three_ways_4,
    three_ways_8,
    three_ways_alone_4,
    three_ways_alone_8,
    order_three_ways_4,
    order_three_ways_8,
};

#endif
