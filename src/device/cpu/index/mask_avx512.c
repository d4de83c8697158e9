/* CPU device: masks and index checks with AVX-512 (see mask_vector.h).
 *
 * Sixty-four mask bytes become one 64-bit number, whose pieces select lanes of registers
 * (compress): neither a branch nor a list of positions. Compressed registers are stored
 * whole where what follows is written later, and masked at the end.
 */
#include "device/cpu/simd/mask_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

/* The bytes at [i, i + 64) of n that are not 0, as bits. */
static inline uint64_t bits_at(const uint8_t *mask, int64_t i, int64_t n) {
    int64_t left = n - i;
    __mmask64 valid = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
    __m512i x = _mm512_maskz_loadu_epi8(valid, mask + i);
    return _mm512_test_epi8_mask(x, x);
}

/* Sums of bytes that are 0 or 1 need no mask register, whose way to a count is long (1e6
 * bytes: 15 us against 43). */
static int64_t count_bytes(const uint8_t *mask, int64_t n) {
    const __m512i one = _mm512_set1_epi8(1), zero = _mm512_setzero_si512();
    __m512i sums[2] = {zero, zero};
    int64_t i = 0;
    for (; i + 128 <= n; i += 128)
        for (int k = 0; k < 2; k++) {
            __m512i x = _mm512_min_epu8(_mm512_loadu_si512(mask + i + 64 * k), one);
            sums[k] = _mm512_add_epi64(sums[k], _mm512_sad_epu8(x, zero));
        }
    int64_t count = _mm512_reduce_add_epi64(_mm512_add_epi64(sums[0], sums[1]));
    for (; i < n; i += 64)
        count += __builtin_popcountll(bits_at(mask, i, n));
    return count;
}

static int64_t count_words(int item, uint64_t bits, const void *words, int64_t n) {
    const __m512i wanted = item == 4 ? _mm512_set1_epi32((int32_t)(uint32_t)bits)
                                     : _mm512_set1_epi64((int64_t)bits);
    int64_t count = 0, lanes = 64 / item;
    for (int64_t i = 0; i < n; i += lanes) {
        int64_t left = (n - i) * item;
        __mmask64 valid = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
        __m512i x = _mm512_maskz_loadu_epi8(valid, (const char *)words + i * item);
        count += __builtin_popcount(item == 4 ? _mm512_test_epi32_mask(x, wanted)
                                              : _mm512_test_epi64_mask(x, wanted));
    }
    return count;
}

static inline __m512i iota_32(int from) {
    return _mm512_add_epi32(
        _mm512_set1_epi32(from),
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

static int64_t positions(const uint8_t *mask, int64_t n, uint16_t *pos) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        for (int k = 0; k < 64 && bits; k += 16, bits >>= 16) {
            __m512i x = _mm512_maskz_compress_epi32((__mmask16)bits, iota_32((int)i + k));
            _mm256_storeu_si256((__m256i *)(pos + count), _mm512_cvtepi32_epi16(x));
            count += __builtin_popcount((uint16_t)bits);
        }
    }
    return count;
}

static int64_t positions_64(const uint8_t *mask, int64_t n, int64_t base, int64_t *out) {
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const int64_t total = count_bytes(mask, n);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        __m512i at = _mm512_add_epi64(_mm512_set1_epi64(base + i), iota);
        if (count + 64 <= total) {
#pragma GCC unroll 8
            for (int k = 0; k < 8; k++, bits >>= 8) {
                __m512i x = _mm512_maskz_compress_epi64((__mmask8)bits, at);
                _mm512_storeu_si512(out + count, x);
                count += __builtin_popcount((uint8_t)bits);
                at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
            }
            continue;
        }
        for (; bits; bits >>= 8) {
            int found = __builtin_popcount((uint8_t)bits);
            _mm512_mask_storeu_epi64(out + count, (__mmask8)((1u << found) - 1),
                                     _mm512_maskz_compress_epi64((__mmask8)bits, at));
            count += found;
            at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
        }
    }
    return count;
}

/* Masks mostly have long runs: 64 elements that all count are one copy, of a size that
 * the compiler knows. Of others, registers are stored whole while as many elements are
 * still to come; and all of a block are read before one is stored, since reads wait for
 * the stores before them, whose addresses hang on counts. */
static const uint64_t ALL = UINT64_MAX;

static int64_t select_4(const uint8_t *mask, int64_t n, const uint32_t *src,
                        uint32_t *dst, int64_t room) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        if (bits == ALL) {
            memcpy(dst + count, src + i, 64 * 4);
            count += 64;
            continue;
        }
        if (bits && count + 64 <= room && i + 64 <= n) {
            __m512i x[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                x[k] = _mm512_loadu_si512(src + i + 16 * k);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++, bits >>= 16) {
                __m512i y = _mm512_maskz_compress_epi32((__mmask16)bits, x[k]);
                _mm512_storeu_si512(dst + count, y);
                count += __builtin_popcount((uint16_t)bits);
            }
            continue;
        }
        for (int k = 0; k < 64 && bits; k += 16, bits >>= 16) {
            __mmask16 m = (__mmask16)bits;
            int found = __builtin_popcount(m);
            __m512i x = _mm512_maskz_loadu_epi32(m, src + i + k);
            _mm512_mask_storeu_epi32(dst + count, (__mmask16)((1u << found) - 1),
                                     _mm512_maskz_compress_epi32(m, x));
            count += found;
        }
    }
    return count;
}

/* Eight registers of 64-bit lanes, chosen by 64 bits; returns how many lanes. */
static inline int64_t select_lanes(uint64_t bits, const uint64_t *src, uint64_t *dst) {
    __m512i x[8];
    int64_t count = 0;
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++)
        x[k] = _mm512_loadu_si512(src + 8 * k);
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++, bits >>= 8) {
        __m512i y = _mm512_maskz_compress_epi64((__mmask8)bits, x[k]);
        _mm512_storeu_si512(dst + count, y);
        count += __builtin_popcount((uint8_t)bits);
    }
    return count;
}

/* The same for few of them, or where a register has no room. */
static inline int64_t select_lanes_apart(uint64_t bits, const uint64_t *src,
                                         uint64_t *dst) {
    int64_t count = 0;
    for (; bits; src += 8, bits >>= 8) {
        __mmask8 m = (__mmask8)bits;
        int found = __builtin_popcount(m);
        __m512i x = _mm512_maskz_loadu_epi64(m, src);
        _mm512_mask_storeu_epi64(dst + count, (__mmask8)((1u << found) - 1),
                                 _mm512_maskz_compress_epi64(m, x));
        count += found;
    }
    return count;
}

static int64_t select_8(const uint8_t *mask, int64_t n, const uint64_t *src,
                        uint64_t *dst, int64_t room) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        if (bits == ALL) {
            memcpy(dst + count, src + i, 64 * 8);
            count += 64;
        } else if (bits && count + 64 <= room && i + 64 <= n) {
            count += select_lanes(bits, src + i, dst + count);
        } else {
            count += select_lanes_apart(bits, src + i, dst + count);
        }
    }
    return count;
}

/* Every bit of 32 twice: elements of 16 bytes move as pairs of lanes. */
static inline uint64_t pairs_of(uint32_t bits) {
    return _mm512_movepi8_mask(_mm512_movm_epi16((__mmask32)bits));
}

static int64_t select_16(const uint8_t *mask, int64_t n, const uint64_t *src,
                         uint64_t *dst, int64_t room) {
    int64_t count = 0; /* lanes */
    for (int64_t i = 0; i < n; i += 64) {
        const uint64_t bits = bits_at(mask, i, n);
        const bool whole = count + 128 <= 2 * room && i + 64 <= n;
        if (bits == ALL) {
            memcpy(dst + count, src + 2 * i, 64 * 16);
            count += 128;
            continue;
        }
        for (int half = 0; half < 2 && bits; half++) {
            const uint64_t lanes = pairs_of((uint32_t)(bits >> 32 * half));
            const uint64_t *from = src + 2 * i + 64 * half;
            count += whole && lanes ? select_lanes(lanes, from, dst + count)
                                    : select_lanes_apart(lanes, from, dst + count);
        }
    }
    return count / 2;
}

static int64_t select_items(int item, const uint8_t *mask, int64_t n, const void *src,
                            void *dst, int64_t room) {
    return item == 4   ? select_4(mask, n, src, dst, room)
           : item == 8 ? select_8(mask, n, src, dst, room)
                       : select_16(mask, n, src, dst, room);
}

static int64_t place_4(const uint8_t *mask, int64_t n, const uint32_t *src, uint32_t *dst,
                       int64_t room) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_at(mask, i, n);
        const bool whole = count + 64 <= room;
        if (bits == ALL) {
            memcpy(dst + i, src + count, 64 * 4);
            count += 64;
            continue;
        }
        for (int64_t k = i; bits; k += 16, bits >>= 16) {
            __mmask16 m = (__mmask16)bits;
            int found = __builtin_popcount(m);
            __mmask16 first = whole ? 0xffff : (__mmask16)((1u << found) - 1);
            __m512i x = _mm512_maskz_loadu_epi32(first, src + count);
            _mm512_mask_storeu_epi32(dst + k, m, _mm512_maskz_expand_epi32(m, x));
            count += found;
        }
    }
    return count;
}

/* Lanes of 8 bytes where the bits are set; returns how many. */
static inline int64_t place_lanes(uint64_t bits, const uint64_t *src, uint64_t *dst,
                                  bool whole) {
    int64_t count = 0;
    for (; bits; dst += 8, bits >>= 8) {
        __mmask8 m = (__mmask8)bits;
        int found = __builtin_popcount(m);
        __mmask8 first = whole ? 0xff : (__mmask8)((1u << found) - 1);
        __m512i x = _mm512_maskz_loadu_epi64(first, src + count);
        _mm512_mask_storeu_epi64(dst, m, _mm512_maskz_expand_epi64(m, x));
        count += found;
    }
    return count;
}

static int64_t place_8(const uint8_t *mask, int64_t n, const uint64_t *src, uint64_t *dst,
                       int64_t room) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        const uint64_t bits = bits_at(mask, i, n);
        if (bits == ALL) {
            memcpy(dst + i, src + count, 64 * 8);
            count += 64;
            continue;
        }
        count += place_lanes(bits, src + count, dst + i, count + 64 <= room);
    }
    return count;
}

static int64_t place_16(const uint8_t *mask, int64_t n, const uint64_t *src,
                        uint64_t *dst, int64_t room) {
    int64_t count = 0; /* lanes */
    for (int64_t i = 0; i < n; i += 64) {
        const uint64_t bits = bits_at(mask, i, n);
        const bool whole = count + 128 <= 2 * room;
        if (bits == ALL) {
            memcpy(dst + 2 * i, src + count, 64 * 16);
            count += 128;
            continue;
        }
        for (int half = 0; half < 2 && bits; half++)
            count += place_lanes(pairs_of((uint32_t)(bits >> 32 * half)), src + count,
                                 dst + 2 * i + 64 * half, whole);
    }
    return count / 2;
}

static int64_t place_items(int item, const uint8_t *mask, int64_t n, const void *src,
                           void *dst, int64_t room) {
    return item == 4   ? place_4(mask, n, src, dst, room)
           : item == 8 ? place_8(mask, n, src, dst, room)
                       : place_16(mask, n, src, dst, room);
}

static uint64_t index_misses(const uint64_t *index, int64_t n, uint64_t size) {
    uint64_t misses = 0;
    for (int64_t i = 0; i < n; i++)
        misses |= (index[i] + size) | (size - 1 - index[i]);
    return misses;
}

const asnd_mask_loops asn_mask_avx512 = {count_bytes,  count_words,  positions,
                                         positions_64, select_items, place_items,
                                         index_misses};
#endif
