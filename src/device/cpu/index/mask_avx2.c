/* CPU device: masks and index checks with AVX2 (see mask_vector.h).
 *
 * Sixty-four mask bytes become one 64-bit number. Elements are selected a register at a
 * time, by a move of lanes that a table holds for every choice of lanes, and stored whole
 * while as many are to follow: how many there are is counted first. What is left, and
 * what is placed, goes one set bit after the other.
 */
#include "device/cpu/simd/mask_vector.h"

#include "device/cpu/simd/first_lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

/* The bytes at [i, i + 64) of n that are not 0, as bits. */
static inline uint64_t bits_at(const uint8_t *mask, int64_t i, int64_t n) {
    uint8_t few[64];
    const uint8_t *p = mask + i;
    if (n - i < 64) {
        memset(few, 0, sizeof few);
        memcpy(few, p, (size_t)(n - i));
        p = few;
    }
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), zero);
    __m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), zero);
    return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(low) |
             (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32);
}

static inline int next_bit(uint64_t *bits) {
    int k = __builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return k;
}

static int64_t sum_of(__m256i sums) {
    __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
}

static int64_t count_bytes(const uint8_t *mask, int64_t n) {
    const __m256i one = _mm256_set1_epi8(1), zero = _mm256_setzero_si256();
    __m256i sums[2] = {zero, zero};
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int k = 0; k < 2; k++) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(mask + i + 32 * k));
            x = _mm256_sad_epu8(_mm256_min_epu8(x, one), zero);
            sums[k] = _mm256_add_epi64(sums[k], x);
        }
    int64_t count = sum_of(_mm256_add_epi64(sums[0], sums[1]));
    return i < n ? count + __builtin_popcountll(bits_at(mask, i, n)) : count;
}

static int64_t count_words(int item, uint64_t bits, const void *words, int64_t n) {
    const __m256i wanted = item == 4 ? _mm256_set1_epi32((int32_t)(uint32_t)bits)
                                     : _mm256_set1_epi64x((int64_t)bits);
    const __m256i zero = _mm256_setzero_si256();
    const char *p = words;
    int64_t zeros = 0, lanes = 32 / item, i = 0;
    __m256i sums = zero; /* of zeros; lanes of 32 bits last for 2**31 steps */
    for (; i + lanes <= n; i += lanes) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(p + i * item));
        x = _mm256_and_si256(x, wanted);
        if (item == 4)
            zeros += __builtin_popcount((unsigned)_mm256_movemask_ps(
                _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, zero))));
        else
            sums = _mm256_sub_epi64(sums, _mm256_cmpeq_epi64(x, zero));
    }
    int64_t count = i - zeros - sum_of(sums);
    for (; i < n; i++) {
        uint64_t x = 0;
        memcpy(&x, p + i * item, (size_t)item);
        count += (x & bits) != 0;
    }
    return count;
}

/* The first lanes of a choice of four, as pairs of 32-bit lanes. */
static inline __m256i chosen_pairs(unsigned four) {
    __m256i lane = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)first_lanes[four & 15]));
    lane = _mm256_add_epi64(lane, lane);
    return _mm256_or_si256(
        lane, _mm256_slli_epi64(_mm256_add_epi64(lane, _mm256_set1_epi64x(1)), 32));
}

static int64_t positions(const uint8_t *mask, int64_t n, uint16_t *pos) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        for (int k = 0; bits; k += 8, bits >>= 8) {
            __m128i lane =
                _mm_cvtepu8_epi16(_mm_cvtsi64_si128((int64_t)first_lanes[bits & 255]));
            _mm_storeu_si128((__m128i *)(pos + count),
                             _mm_add_epi16(lane, _mm_set1_epi16((short)(i + k))));
            count += __builtin_popcount((unsigned)(bits & 255));
        }
    }
    return count;
}

static int64_t positions_64(const uint8_t *mask, int64_t n, int64_t base, int64_t *out) {
    int64_t count = 0, total = count_bytes(mask, n);
    for (int64_t i = 0; i < n && count < total; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        int64_t from = base + i;
        for (; bits && count + 4 <= total; from += 4, bits >>= 4) {
            unsigned four = (unsigned)(bits & 15);
            __m256i lane =
                _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)first_lanes[four]));
            _mm256_storeu_si256((__m256i *)(out + count),
                                _mm256_add_epi64(lane, _mm256_set1_epi64x(from)));
            count += __builtin_popcount(four);
        }
        while (bits)
            out[count++] = from + next_bit(&bits);
    }
    return count;
}

/* Masks mostly have long runs: 64 elements that all count are one copy of 4, 8 or 16
 * lines, of known size. */
static const uint64_t ALL = UINT64_MAX;

static int64_t select_4(const uint8_t *mask, int64_t n, const uint32_t *src,
                        uint32_t *dst, int64_t total) {
    int64_t count = 0;
    for (int64_t i = 0; i < n && count < total; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        const uint32_t *from = src + i;
        if (bits == ALL) {
            memcpy(dst + count, from, 64 * 4);
            count += 64;
            continue;
        }
        for (; bits && count + 8 <= total && from + 8 <= src + n; from += 8, bits >>= 8) {
            unsigned eight = (unsigned)(bits & 255);
            __m256i lane =
                _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)first_lanes[eight]));
            __m256i x = _mm256_loadu_si256((const __m256i *)from);
            _mm256_storeu_si256((__m256i *)(dst + count),
                                _mm256_permutevar8x32_epi32(x, lane));
            count += __builtin_popcount(eight);
        }
        while (bits)
            dst[count++] = from[next_bit(&bits)];
    }
    return count;
}

static int64_t select_8(const uint8_t *mask, int64_t n, const uint64_t *src,
                        uint64_t *dst, int64_t total) {
    int64_t count = 0;
    for (int64_t i = 0; i < n && count < total; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        const uint64_t *from = src + i;
        if (bits == ALL) {
            memcpy(dst + count, from, 64 * 8);
            count += 64;
            continue;
        }
        for (; bits && count + 4 <= total && from + 4 <= src + n; from += 4, bits >>= 4) {
            unsigned four = (unsigned)(bits & 15);
            __m256i x = _mm256_loadu_si256((const __m256i *)from);
            x = _mm256_permutevar8x32_epi32(x, chosen_pairs(four));
            _mm256_storeu_si256((__m256i *)(dst + count), x);
            count += __builtin_popcount(four);
        }
        while (bits)
            dst[count++] = from[next_bit(&bits)];
    }
    return count;
}

static int64_t select_16(const uint8_t *mask, int64_t n, const __m128i *src,
                         __m128i *dst) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        if (bits == ALL) {
            memcpy(dst + count, src + i, 64 * sizeof *src);
            count += 64;
            continue;
        }
        while (bits)
            _mm_storeu_si128(dst + count++, _mm_loadu_si128(src + i + next_bit(&bits)));
    }
    return count;
}

static int64_t select_items(int item, const uint8_t *mask, int64_t n, const void *src,
                            void *dst, int64_t room) {
    return item == 4   ? select_4(mask, n, src, dst, room)
           : item == 8 ? select_8(mask, n, src, dst, room)
                       : select_16(mask, n, src, dst);
}

static inline void copy_all(int item, char *to, const char *from) {
    if (item == 4)
        memcpy(to, from, 64 * 4);
    else if (item == 8)
        memcpy(to, from, 64 * 8);
    else
        memcpy(to, from, 64 * 16);
}

static int64_t place_items(int item, const uint8_t *mask, int64_t n, const void *src,
                           void *dst, int64_t room) {
    const char *from = src;
    (void)room;
    for (int64_t i = 0; i < n; i += 64) {
        char *to = (char *)dst + i * item;
        uint64_t bits = bits_at(mask, i, n);
        if (bits == ALL) {
            copy_all(item, to, from);
            from += 64 * item;
            continue;
        }
        if (item == 4)
            for (; bits; from += 4)
                memcpy(to + 4 * next_bit(&bits), from, 4);
        else if (item == 8)
            for (; bits; from += 8)
                memcpy(to + 8 * next_bit(&bits), from, 8);
        else
            for (; bits; from += 16)
                memcpy(to + 16 * next_bit(&bits), from, 16);
    }
    return (from - (const char *)src) / item;
}

static uint64_t index_misses(const uint64_t *index, int64_t n, uint64_t size) {
    uint64_t misses = 0;
    for (int64_t i = 0; i < n; i++)
        misses |= (index[i] + size) | (size - 1 - index[i]);
    return misses;
}

const asnd_mask_loops asn_mask_avx2 = {count_bytes,  count_words,  positions,
                                       positions_64, select_items, place_items,
                                       index_misses};
#endif
