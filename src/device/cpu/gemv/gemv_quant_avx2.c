/* CPU device: inner products of quantised lines with AVX2 (see gemv_quant.h).
 *
 * Blocks of 32 elements are widened in registers, multiplied by the vector's and summed
 * in eight lanes over a group, and these are added to the line's times its scale. Four
 * lines at once, a quarter of all of them apart, share the vector's elements and have
 * reads under way together (gemv.inc). Figures: docs/design/0021-products.md.
 */
#include "device/cpu/gemv/gemv_quant.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* Bytes of a line that are fetched before they are needed: widening leaves no room for as
 * many reads under way as memory takes (8 int8 weights of 12 to 23 MB, two threads, GB/s:
 * 17.4 -> 20.3, medians of three). */
enum { AHEAD = 512 };

#define INLINE __attribute__((always_inline)) static inline

/* 32 int4 as bytes. */
INLINE __m256i bytes_of(const uint8_t *x) {
    const __m128i both = _mm_loadu_si128((const void *)x);
    const __m128i mask = _mm_set1_epi8(15);
    const __m128i signed_of =
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    const __m128i low = _mm_shuffle_epi8(signed_of, _mm_and_si128(both, mask));
    const __m128i high =
        _mm_shuffle_epi8(signed_of, _mm_and_si128(_mm_srli_epi16(both, 4), mask));
    return _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
}

/* Eight of 32 bytes as float32. */
INLINE __m256 eight_of(__m256i bytes, int part) {
    const __m128i half =
        part < 2 ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(part % 2 ? _mm_unpackhi_epi64(half, half) : half));
}

/* The same, from memory: a load that widens is one instruction. */
INLINE __m256 eight_at(const uint8_t *x) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)x)));
}

/* sum + a block's elements times v's. */
INLINE __m256 add_block(__m256 sum, const uint8_t *x, int64_t at, bool nibbles,
                        const __m256 v[4]) {
    if (nibbles) {
        const __m256i bytes = bytes_of(x + at / 2);
        for (int part = 0; part < 4; part++)
            sum = _mm256_fmadd_ps(eight_of(bytes, part), v[part], sum);
    } else {
        for (int part = 0; part < 4; part++)
            sum = _mm256_fmadd_ps(eight_at(x + at + 8 * part), v[part], sum);
    }
    return sum;
}

INLINE float sum_of(__m256 x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* `count` lines, `apart` lines from one to the next. */
INLINE void some_dots(const asnd_quant *q, int count, int64_t line, int64_t apart,
                      int64_t vector, bool nibbles, bool offsets) {
    const uint8_t *x = q->x + line * q->line;
    const float *v = q->v + vector * q->length;
    float *out = q->out + vector * q->out_row + line;
    const float *scale = q->scale.data + line * q->scale.line;
    const float *offset = offsets ? q->offset.data + line * q->offset.line : NULL;
    __m256 sums[4];
    for (int r = 0; r < count; r++)
        sums[r] = _mm256_setzero_ps();
    for (int64_t at = 0; at < q->length;) {
        const int64_t end = at + q->group < q->length ? at + q->group : q->length;
        __m256 all = _mm256_setzero_ps(), group[4];
        for (int r = 0; r < count; r++)
            group[r] = _mm256_setzero_ps();
        for (; at < end; at += ASN_QUANT_BLOCK) {
            __m256 part[4];
            for (int k = 0; k < 4; k++)
                part[k] = _mm256_loadu_ps(v + at + 8 * k);
            if (offsets)
                all = _mm256_add_ps(all, _mm256_add_ps(_mm256_add_ps(part[0], part[1]),
                                                       _mm256_add_ps(part[2], part[3])));
            for (int r = 0; r < count; r++) {
                const uint8_t *from = x + r * apart * q->line;
                _mm_prefetch((const void *)(from + (nibbles ? at / 2 : at) + AHEAD),
                             _MM_HINT_T0);
                group[r] = add_block(group[r], from, at, nibbles, part);
            }
        }
        for (int r = 0; r < count; r++) {
            const int64_t i = r * apart;
            if (offsets)
                group[r] = _mm256_fmadd_ps(
                    _mm256_broadcast_ss(offset + i * q->offset.line), all, group[r]);
            sums[r] = _mm256_fmadd_ps(
                group[r], _mm256_broadcast_ss(scale + i * q->scale.line), sums[r]);
        }
        scale += q->scale.step;
        if (offsets) offset += q->offset.step;
    }
    for (int r = 0; r < count; r++)
        out[r * apart] = sum_of(sums[r]);
}

INLINE void dots(const asnd_quant *q, int64_t first, int64_t end, int64_t vector,
                 bool nibbles, bool offsets) {
    const int64_t apart = (end - first) / 4;
    for (int64_t i = first; i < first + apart; i++)
        some_dots(q, 4, i, apart, vector, nibbles, offsets);
    for (int64_t i = first + 4 * apart; i < end; i++)
        some_dots(q, 1, i, 0, vector, nibbles, offsets);
}

void asn_quant_dots_avx2(const asnd_quant *q, int64_t first, int64_t end,
                         int64_t vector) {
    const bool offsets = q->offset.data;
    if (q->nibbles && offsets)
        dots(q, first, end, vector, true, true);
    else if (q->nibbles)
        dots(q, first, end, vector, true, false);
    else if (offsets)
        dots(q, first, end, vector, false, true);
    else
        dots(q, first, end, vector, false, false);
}
#endif
