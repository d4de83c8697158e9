/* CPU device: inner products of quantised lines with AVX2 (see gemv_quant.h).
 *
 * Sixteen elements of a line are widened to 16 bits and multiplied by a vector's, whose
 * neighbours are added (pmaddwd): half the instructions of float32, which widening to 32
 * bits, conversion and multiplication bound at 8 bytes a cycle. Four lines at once, a
 * quarter of all of them apart, share the vector's elements and have reads under way
 * together (gemv.inc); several vectors share the widened lines. Figures:
 * docs/design/0021-products.md.
 */
#include "device/cpu/gemv/gemv_quant.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum {
    /* Bytes of a line that are fetched before they are needed: widening leaves no room
     * for as many reads under way as memory takes (8 int8 weights of 12 to 23 MB, two
     * threads, GB/s: 17.4 -> 20.3, medians of three). */
    AHEAD = 512,
    LINES = 4, /* at once, at most, */
    SUMS = 8   /* and of all vectors */
};

#define INLINE __attribute__((always_inline)) static inline

/* Some lines, `apart` lines from one to the next, and the vectors from `vector` on. */
typedef struct {
    const asnd_quant *q;
    const uint8_t *x;
    int64_t line, apart, vector;
    int lines, vectors;
    bool nibbles, offsets;
} block;

/* Sixteen elements as 16 bits: neighbours, of nibbles the even or the odd ones of 32. */
INLINE __m256i widen(const uint8_t *x, bool nibbles, int odd) {
    const __m256i bytes = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)x));
    if (!nibbles) return bytes;
    return _mm256_srai_epi16(odd ? bytes : _mm256_slli_epi16(bytes, 12), odd ? 4 : 12);
}

/* Sixteen bytes of each line times the vectors' elements. */
INLINE void add_bytes(const block *b, const uint8_t *x, const int16_t *values,
                      __m256i sums[SUMS]) {
    const int64_t step = b->apart * b->q->line;
    for (int r = 0; b->vector == 0 && r < b->lines; r++)
        _mm_prefetch((const void *)(x + r * step + AHEAD), _MM_HINT_T0);
    for (int odd = 0; odd < (b->nibbles ? 2 : 1); odd++, values += 16) {
        __m256i wide[LINES];
        for (int r = 0; r < b->lines; r++)
            wide[r] = widen(x + r * step, b->nibbles, odd);
        for (int k = 0; k < b->vectors; k++) {
            const __m256i v =
                _mm256_load_si256((const void *)(values + k * ASN_QUANT_PART));
            for (int r = 0; r < b->lines; r++) {
                __m256i *sum = &sums[r * b->vectors + k];
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(wide[r], v));
            }
        }
    }
}

/* sums[r][k] = the products of line r and vector k over a part. */
INLINE void sum_part(const block *b, const asnd_quant_part *part, __m256i sums[SUMS]) {
    const int16_t *values = part->values + b->vector * ASN_QUANT_PART;
    const int64_t step = b->nibbles ? 32 : 16; /* elements of sixteen bytes */
    const uint8_t *x = b->x + 16 * (part->at / step);
    for (int i = 0; i < b->lines * b->vectors; i++)
        sums[i] = _mm256_setzero_si256();
    for (int64_t at = 0; at < part->length; at += step, x += 16)
        add_bytes(b, x, values + at, sums);
}

INLINE float sum_of(__m256 x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

INLINE void some_dots(const block *b, const asnd_quant_parts *parts) {
    const asnd_quant *q = b->q;
    __m256 all[SUMS];
    float shifts[SUMS] = {0};
    for (int i = 0; i < b->lines * b->vectors; i++)
        all[i] = _mm256_setzero_ps();
    for (int64_t p = 0; p < parts->count; p++) {
        const asnd_quant_part *part = &parts->parts[p];
        __m256i sums[SUMS];
        sum_part(b, part, sums);
        for (int r = 0; r < b->lines; r++) {
            const int64_t line = b->line + r * b->apart;
            const float *scale =
                q->scale.data + line * q->scale.line + part->group * q->scale.step;
            const float shift =
                b->offsets ? *scale * q->offset.data[line * q->offset.line +
                                                     part->group * q->offset.step]
                           : 0;
            for (int k = 0; k < b->vectors; k++) {
                const int i = r * b->vectors + k;
                const __m256 sum =
                    _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]),
                                  _mm256_broadcast_ss(part->scale + b->vector + k));
                all[i] = _mm256_fmadd_ps(sum, _mm256_broadcast_ss(scale), all[i]);
                if (b->offsets) shifts[i] += shift * part->total[b->vector + k];
            }
        }
    }
    for (int r = 0; r < b->lines; r++)
        for (int k = 0; k < b->vectors; k++) {
            const int i = r * b->vectors + k;
            q->out[(b->vector + k) * q->out_row + b->line + r * b->apart] =
                sum_of(all[i]) + shifts[i];
        }
}

/* All lines with some vectors: constants of the loops, as nibbles and offsets. */
INLINE void dots_of(block b, const asnd_quant_parts *parts, int64_t first, int64_t end) {
    const int lines = b.lines;
    b.apart = (end - first) / lines;
    for (b.line = first; b.line < first + b.apart; b.line++) {
        b.x = b.q->x + b.line * b.q->line;
        some_dots(&b, parts);
    }
    b.lines = 1;
    for (b.line = first + lines * b.apart; b.line < end; b.line++) {
        b.x = b.q->x + b.line * b.q->line;
        some_dots(&b, parts);
    }
}

INLINE void dots(const asnd_quant *q, const asnd_quant_parts *parts, int64_t first,
                 int64_t end, bool nibbles, bool offsets) {
    block b = {.q = q, .nibbles = nibbles, .offsets = offsets};
    for (; b.vector + 4 <= q->count; b.vector += 4) {
        b.lines = 2;
        b.vectors = 4;
        dots_of(b, parts, first, end);
    }
    b.lines = 4;
    for (; b.vector + 2 <= q->count; b.vector += 2) {
        b.vectors = 2;
        dots_of(b, parts, first, end);
    }
    b.vectors = 1;
    if (b.vector < q->count) dots_of(b, parts, first, end);
}

void asn_quant_dots_avx2(const asnd_quant *q, const asnd_quant_parts *parts,
                         int64_t first, int64_t end) {
    const bool offsets = q->offset.data;
    if (q->nibbles && offsets)
        dots(q, parts, first, end, true, true);
    else if (q->nibbles)
        dots(q, parts, first, end, true, false);
    else if (offsets)
        dots(q, parts, first, end, false, true);
    else
        dots(q, parts, first, end, false, false);
}
#endif
