/* CPU device: a tile of int8 products by sums of pairs of int16, and panels for it (see
 * gemm_int8.h).
 *
 * Six rows times sixteen columns are twelve accumulators; two registers hold a pair of
 * rows of the panel, two a pair of a's elements and a product. Sixteen products an
 * instruction, twice those of float32: unsigned times signed bytes would be four times as
 * many, but their sums saturate in 16 bits.
 */
#include "device/cpu/gemm/gemm_int8.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

/* The sums of one row of the tile, eight columns each. */
typedef struct {
    __m256i left, right;
} row_sums;

/* s + a * b, pairs added up. Spelled out: gcc 12 would load all of a's first and put sums
 * on the stack, or move each sum once more. */
static inline __attribute__((always_inline)) __m256i add_pairs(__m256i s, __m256i a,
                                                               __m256i b) {
    __m256i product;
    __asm__("vpmaddwd %[b], %[a], %[product]\n\t"
            "vpaddd %[product], %[s], %[s]"
            : [s] "+x"(s), [product] "=&x"(product)
            : [a] "x"(a), [b] "x"(b));
    return s;
}

static inline __attribute__((always_inline)) row_sums add_row(row_sums s,
                                                              const int16_t *a,
                                                              __m256i left,
                                                              __m256i right) {
    int32_t pair;
    memcpy(&pair, a, sizeof pair);
    __m256i both = _mm256_set1_epi32(pair);
    s.left = add_pairs(s.left, both, left);
    s.right = add_pairs(s.right, both, right);
    return s;
}

static inline __attribute__((always_inline)) void put_row(int32_t *out, row_sums s) {
    _mm256_storeu_si256((__m256i *)(void *)out, s.left);
    _mm256_storeu_si256((__m256i *)(void *)(out + 8), s.right);
}

/* The six rows are spelled out: their sums must stay in registers. */
void asn_int8_tile_avx2(int64_t pairs, const int16_t *a, const int16_t *panel,
                        int32_t *out) {
    const __m256i zero = _mm256_setzero_si256();
    row_sums s0 = {zero, zero}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    for (int64_t p = 0; p < pairs; p++) {
        __m256i left = _mm256_load_si256((const __m256i *)(const void *)panel);
        __m256i right = _mm256_load_si256((const __m256i *)(const void *)(panel + 16));
        s0 = add_row(s0, a, left, right);
        s1 = add_row(s1, a + 2, left, right);
        s2 = add_row(s2, a + 4, left, right);
        s3 = add_row(s3, a + 6, left, right);
        s4 = add_row(s4, a + 8, left, right);
        s5 = add_row(s5, a + 10, left, right);
        a += 2 * ASN_INT8_ROWS;
        panel += 2 * ASN_INT8_COLUMNS;
    }
    put_row(out, s0);
    put_row(out + ASN_INT8_COLUMNS, s1);
    put_row(out + 2 * ASN_INT8_COLUMNS, s2);
    put_row(out + 3 * ASN_INT8_COLUMNS, s3);
    put_row(out + 4 * ASN_INT8_COLUMNS, s4);
    put_row(out + 5 * ASN_INT8_COLUMNS, s5);
}

/* Sixteen bytes, pairs of eight columns, as int16. */
static inline void put_pairs(int16_t *to, __m128i pairs) {
    _mm256_store_si256((__m256i *)(void *)to, _mm256_cvtepi8_epi16(pairs));
}

static inline __m128i load_bytes(const char *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Rows are far apart, and a processor sees no stride beyond a page: those to come are
 * asked for. */
void asn_int8_weave_avx2(int64_t pairs, int64_t panels, const char *b, int64_t row,
                         int16_t *packed, int64_t step) {
    enum { AHEAD = 8 };
    for (int64_t p = 0; p < pairs; p++, b += 2 * row, packed += 2 * ASN_INT8_COLUMNS)
        for (int64_t i = 0; i < panels; i++) {
            const char *at = b + i * ASN_INT8_COLUMNS;
            const __m128i x = load_bytes(at), y = load_bytes(at + row);
            if (i % 4 == 0 && p + AHEAD / 2 < pairs) {
                __builtin_prefetch(at + AHEAD * row);
                __builtin_prefetch(at + AHEAD * row + row);
            }
            put_pairs(packed + i * step, _mm_unpacklo_epi8(x, y));
            put_pairs(packed + i * step + 16, _mm_unpackhi_epi8(x, y));
        }
}

/* Eight pairs of eight columns: a pair of each column in turn. */
static inline void turn_square(const char *b, int64_t col, int16_t *to) {
    __m128i x[8], y[8];
    for (int i = 0; i < 8; i++)
        x[i] = load_bytes(b + i * col);
    for (int i = 0; i < 4; i++) { /* y[i], y[i + 4]: pairs 0-3, 4-7 of columns i, i + 4 */
        y[i] = _mm_unpacklo_epi16(x[i], x[i + 4]);
        y[i + 4] = _mm_unpackhi_epi16(x[i], x[i + 4]);
    }
    for (int i = 0; i < 8; i += 4) { /* pairs i, i + 1 and i + 2, i + 3 of four columns */
        for (int j = 0; j < 2; j++) {
            x[i + j] = _mm_unpacklo_epi16(y[i + j], y[i + j + 2]);
            x[i + j + 2] = _mm_unpackhi_epi16(y[i + j], y[i + j + 2]);
        }
    }
    for (int i = 0; i < 8; i += 2) {
        int16_t *at = to + i * 2 * ASN_INT8_COLUMNS;
        put_pairs(at, _mm_unpacklo_epi16(x[i], x[i + 1]));
        put_pairs(at + 2 * ASN_INT8_COLUMNS, _mm_unpackhi_epi16(x[i], x[i + 1]));
    }
}

void asn_int8_turn_avx2(int64_t sixteens, const char *b, int64_t col, int16_t *panel) {
    for (int64_t i = 0; i < sixteens; i++, b += 16, panel += 16 * ASN_INT8_COLUMNS) {
        turn_square(b, col, panel);
        turn_square(b + 8 * col, col, panel + 16);
    }
}

#endif
