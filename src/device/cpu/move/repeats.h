/* CPU device, private to copies: every element several times in a row, by permutations of
 * AVX-512.
 *
 * Vector j of the result holds elements [j * lanes, (j + 1) * lanes) of the repetition,
 * of which number i is element i / times.
 */
#ifndef ASN_DEVICE_CPU_MOVE_REPEATS_H
#define ASN_DEVICE_CPU_MOVE_REPEATS_H

enum { MOST_REPEATS = 8 };

#if defined(__AVX512BW__)
/* The elements of v at positions `at`, of 2, 4 or 8 bytes. */
__attribute__((always_inline)) static inline __m512i permuted(__m512i v, __m512i at,
                                                              int item) {
    return item == 2   ? _mm512_permutexvar_epi16(at, v)
           : item == 4 ? _mm512_permutexvar_epi32(at, v)
                       : _mm512_permutexvar_epi64(at, v);
}

/* How many of the n elements were done: whole vectors of them. */
__attribute__((always_inline)) static inline int64_t
repeat_vectors(char *dst, const char *src, int item, int times, int64_t n) {
    const int lanes = 64 / item;
    __m512i at[MOST_REPEATS];
    int64_t i = 0;
    if (item < 2 || item > 8 || times > MOST_REPEATS || n < lanes) return 0;
    for (int j = 0; j < times; j++) {
        _Alignas(64) char number[64];
        for (int l = 0; l < lanes; l++) {
            uint64_t from = (uint64_t)((j * lanes + l) / times);
            memcpy(number + l * item, &from, item == 2 ? 2 : item == 4 ? 4 : 8);
        }
        at[j] = _mm512_load_si512(number);
    }
    for (; i + lanes <= n; i += lanes, dst += 64 * times) {
        const __m512i v = _mm512_loadu_si512(src + i * item);
        for (int j = 0; j < times; j++)
            _mm512_storeu_si512(dst + 64 * j, permuted(v, at[j], item));
    }
    return i;
}
#else
static inline int64_t repeat_vectors(char *dst, const char *src, int item, int times,
                                     int64_t n) {
    (void)dst, (void)src, (void)item, (void)times, (void)n;
    return 0;
}
#endif

#endif
