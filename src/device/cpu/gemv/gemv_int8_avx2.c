/* CPU device: rows and inner products of int8 by sums of pairs of int16 (see
 * gemv_int8.h).
 *
 * Two rows of the matrix are interleaved byte by byte and widened, so that one
 * instruction (pmaddwd) multiplies them by a pair of a's elements and adds: exact in
 * int32. Eight rows go into the sums at a time, so that these are loaded and stored once
 * for them. Unsigned times signed bytes (pmaddubsw) would be fewer instructions, but
 * their sums saturate in 16 bits. */
#include "device/cpu/gemv/gemv_int8.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

/* Sums of sixteen columns. */
typedef struct {
    __m256i left, right;
} column_sums;

/* Two elements of a in each 32 bits; the second is 0 where there is none. */
static inline __m256i pair_of(const int16_t *a, bool both) {
    int32_t pair = (uint16_t)a[0];
    if (both) memcpy(&pair, a, sizeof pair);
    return _mm256_set1_epi32(pair);
}

/* s + the pair times two rows' sixteen bytes. */
static inline column_sums add_rows(column_sums s, __m256i pair, const char *first,
                                   const char *second) {
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)first);
    const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)second);
    const __m256i left = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y));
    const __m256i right = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x, y));
    s.left = _mm256_add_epi32(s.left, _mm256_madd_epi16(left, pair));
    s.right = _mm256_add_epi32(s.right, _mm256_madd_epi16(right, pair));
    return s;
}

static inline column_sums load(const int32_t *sums) {
    return (column_sums){_mm256_loadu_si256((const __m256i *)(const void *)sums),
                         _mm256_loadu_si256((const __m256i *)(const void *)(sums + 8))};
}

static inline void store(int32_t *sums, column_sums s) {
    _mm256_storeu_si256((__m256i *)(void *)sums, s.left);
    _mm256_storeu_si256((__m256i *)(void *)(sums + 8), s.right);
}

void asn_int8_add_avx2(int64_t k, const int16_t *a, const char *b, int64_t row, int64_t n,
                       int32_t *sums) {
    const int64_t wide = n / 16 * 16;
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) {
        const __m256i pairs[] = {pair_of(a + p, true), pair_of(a + p + 2, true),
                                 pair_of(a + p + 4, true), pair_of(a + p + 6, true)};
        const char *from = b + p * row;
        for (int64_t j = 0; j < wide; j += 16, from += 16) {
            column_sums s = load(sums + j);
            s = add_rows(s, pairs[0], from, from + row);
            s = add_rows(s, pairs[1], from + 2 * row, from + 3 * row);
            s = add_rows(s, pairs[2], from + 4 * row, from + 5 * row);
            s = add_rows(s, pairs[3], from + 6 * row, from + 7 * row);
            store(sums + j, s);
        }
    }
    for (; p < k; p += 2) { /* the last row's partner is itself, times 0 */
        const bool both = p + 1 < k;
        const __m256i pair = pair_of(a + p, both);
        const char *from = b + p * row;
        for (int64_t j = 0; j < wide; j += 16)
            store(sums + j,
                  add_rows(load(sums + j), pair, from + j, from + j + (both ? row : 0)));
    }
    asn_int8_add_baseline(k, a, b + wide, row, n - wide, sums + wide);
}

/* Sixteen elements of a column at a time. */
void asn_int8_dots_avx2(int64_t k, const int16_t *a, const char *b, int64_t column,
                        int64_t n, int32_t *sums) {
    const int64_t wide = k / 16 * 16;
    for (int64_t j = 0; j < n; j++, b += column) {
        __m256i sum = _mm256_setzero_si256();
        int32_t parts[8];
        uint32_t all = 0;
        for (int64_t p = 0; p < wide; p += 16) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(b + p));
            const __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(a + p));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), y));
        }
        _mm256_storeu_si256((__m256i *)(void *)parts, sum);
        for (int i = 0; i < 8; i++)
            all += (uint32_t)parts[i];
        sums[j] = (int32_t)((uint32_t)sums[j] + all);
    }
    asn_int8_dots_baseline(k - wide, a + wide, b - n * column + wide, column, n, sums);
}

#endif
