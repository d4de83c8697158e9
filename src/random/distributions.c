/* L1 random: uniform numbers and bounded integers, drawn as NumPy draws them.
 *
 * Bounded integers: Lemire's multiply-and-reject (ACM TOMACS 29, 2019) on as many bits as
 * the range needs; values of 8 and 16 bits share one 32-bit draw, bools thirty-two.
 * RandomState rejects by bit mask instead.
 *
 * Every function gives NumPy's numbers for the same state: which words are drawn, how
 * wide, and in which order is part of the contract, so that a faster loop (lemire_runs)
 * must take the very words that the plain one (lemire32) takes. What words a fill has not
 * used go back to the engine (words.h).
 */
#include <string.h>

#include "random/words.h"

/* The twister: 27 bits of one word and 26 of the next (genrand_res53 of its authors). */
void asn_fill_double(asn_bitgen *g, int64_t n, double *out) {
    if (g->kind != ASN_MT19937) {
        asn_wide_doubles(g, n, out);
        return;
    }
    if (n == 1) { /* without a buffer: a third of the time */
        uint32_t a = asn_mt19937_next32(g) >> 5, b = asn_mt19937_next32(g) >> 6;
        *out = (a * 67108864.0 + b) * 0x1p-53;
        return;
    }
    asn_words w;
    asn_words_begin(&w, g, 2 * n);
    for (int64_t i = 0, got; i < n; i += got / 2) {
        const uint32_t *run = asn_words_run(&w, 2 * (n - i), &got);
        for (int64_t k = 0; k < got / 2; k++) {
            int32_t a = (int32_t)(run[2 * k] >> 5), b = (int32_t)(run[2 * k + 1] >> 6);
            out[i + k] = (a * 67108864.0 + b) * 0x1p-53;
        }
        if (got % 2) { /* a pair astride two blocks */
            int32_t a = (int32_t)(run[got - 1] >> 5);
            int32_t b = (int32_t)(asn_words_narrow(&w) >> 6);
            out[i + got / 2] = (a * 67108864.0 + b) * 0x1p-53;
            i++;
        }
    }
    asn_words_end(&w);
}

/* 24 bits of each 32-bit word. */
void asn_fill_float(asn_bitgen *g, int64_t n, float *out) {
    asn_words w;
    asn_words_begin(&w, g, n / 2);
    for (int64_t i = 0, got; i < n; i += got) {
        const uint32_t *run = asn_words_run(&w, n - i, &got);
        for (int64_t k = 0; k < got; k++)
            out[i + k] = (float)(int32_t)(run[k] >> 8) * 0x1p-24f;
    }
    asn_words_end(&w);
}

/* Words of 8 or 16 bits cut from 32-bit draws, low end first. */
typedef struct {
    uint32_t bits;
    int left;
} slices;

/* The next `width` bits. */
static inline uint32_t next_slice(asn_words *w, slices *s, int width) {
    if (s->left == 0) {
        s->bits = asn_words_next32(w);
        s->left = 32 / width - 1;
    } else {
        s->bits >>= width;
        s->left--;
    }
    return s->bits & ((1u << width) - 1);
}

/* A word of 8, 16 or 32 bits, or one bit. */
static inline uint32_t draw(asn_words *w, slices *s, int width) {
    return width == 32 ? asn_words_next32(w) : next_slice(w, s, width);
}

/* In [0, range], range below the all-ones word of `width` <= 32 bits. */
static inline uint32_t lemire32(asn_words *w, slices *s, int width, uint32_t range) {
    uint64_t all = width == 32 ? 0xffffffffu : (1u << width) - 1,
             count = (uint64_t)range + 1;
    uint64_t m = (uint64_t)draw(w, s, width) * count, low = m & all;
    if (low < count) {
        uint64_t threshold = (all - range) % count;
        while (low < threshold) {
            m = (uint64_t)draw(w, s, width) * count;
            low = m & all;
        }
    }
    return (uint32_t)(m >> width);
}

/* In [0, range], range below the all-ones word of 64 bits. */
static inline uint64_t lemire64(asn_words *w, uint64_t range) {
    uint64_t count = range + 1;
    unsigned __int128 m = (unsigned __int128)asn_words_next64(w) * count;
    if ((uint64_t)m < count) {
        uint64_t threshold = (UINT64_MAX - range) % count;
        while ((uint64_t)m < threshold)
            m = (unsigned __int128)asn_words_next64(w) * count;
    }
    return (uint64_t)(m >> 64);
}

/* The smallest all-ones word that holds the range. */
static inline uint64_t mask_for(uint64_t range) {
    return range ? UINT64_MAX >> __builtin_clzll(range) : 0;
}

/* In [0, range]: words under the mask, until one is not above it. */
static inline uint32_t masked32(asn_words *w, slices *s, int width, uint32_t range,
                                uint32_t mask) {
    uint32_t value;
    while ((value = draw(w, s, width) & mask) > range) {
    }
    return value;
}

static inline uint64_t masked64(asn_words *w, uint64_t range, uint64_t mask) {
    uint64_t value;
    while ((value = asn_words_next64(w) & mask) > range) {
    }
    return value;
}

/* One bit each; range 0 draws nothing. */
static void fill_bools(asn_words *w, int64_t n, uint64_t offset, uint64_t range,
                       uint8_t *out) {
    slices s = {0, 0};
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)(offset + (range ? next_slice(w, &s, 1) : 0));
}

/* Ranges of 64 bits. */
static void fill_wide(asn_words *w, int64_t n, bool masked, uint64_t offset,
                      uint64_t range, uint64_t mask, uint64_t *out) {
    if (range == UINT64_MAX)
        for (int64_t i = 0; i < n; i++)
            out[i] = offset + asn_words_next64(w);
    else if (masked)
        for (int64_t i = 0; i < n; i++)
            out[i] = offset + masked64(w, range, mask);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = offset + lemire64(w, range);
}

/* Element i of `bytes` bytes; what does not fit wraps. */
static inline void put(void *out, int64_t i, int bytes, uint64_t value) {
    switch (bytes) {
    case 1: ((uint8_t *)out)[i] = (uint8_t)value; break;
    case 2: ((uint16_t *)out)[i] = (uint16_t)value; break;
    case 4: ((uint32_t *)out)[i] = (uint32_t)value; break;
    default: ((uint64_t *)out)[i] = value; break;
    }
}

/* lemire32 on whole runs of 32-bit words: what is rejected is overwritten by the next. */
__attribute__((always_inline)) static inline void lemire_runs(asn_words *w, int64_t n,
                                                              int bytes, uint64_t offset,
                                                              uint32_t range, void *out) {
    const uint64_t count = (uint64_t)range + 1;
    const uint32_t threshold = (uint32_t)((UINT32_MAX - range) % count);
    enum { GROUP = 16 };
    for (int64_t i = 0, got; i < n;) {
        const uint32_t *run = asn_words_run(w, n - i, &got);
        int64_t k = 0;
        for (; k + GROUP <= got; k += GROUP) {
            uint32_t rejected = 0;
            for (int j = 0; j < GROUP; j++) {
                uint64_t m = run[k + j] * count;
                put(out, i + j, bytes, offset + (m >> 32));
                rejected |= (uint32_t)m < threshold;
            }
            /* Some of the group is rejected: it is written again, one by one. */
            if (rejected) break;
            i += GROUP;
        }
        for (; k < got; k++) {
            uint64_t m = run[k] * count;
            put(out, i, bytes, offset + (m >> 32));
            i += (uint32_t)m >= threshold;
        }
    }
}

/* masked32 on whole runs of words, without a branch for what is rejected. */
__attribute__((always_inline)) static inline void masked_runs(asn_words *w, int64_t n,
                                                              int bytes, uint64_t offset,
                                                              uint32_t range,
                                                              uint32_t mask, void *out) {
    for (int64_t i = 0, got; i < n;) {
        const uint32_t *run = asn_words_run(w, n - i, &got);
        for (int64_t k = 0; k < got; k++) {
            uint32_t value = run[k] & mask;
            put(out, i, bytes, offset + value);
            i += value <= range;
        }
    }
}

/* Ranges of at most 32 bits into elements of `bytes`, which is a constant at every call:
 * each becomes a loop of its own. */
__attribute__((always_inline)) static inline void fill_of(asn_words *w, int64_t n,
                                                          int bytes, bool masked,
                                                          uint64_t offset, uint64_t range,
                                                          uint64_t mask, void *out) {
    slices s = {0, 0};
    const int width = bytes == 8 ? 32 : 8 * bytes;
    const uint32_t all = width == 32 ? UINT32_MAX : (1u << width) - 1;
    if (range == 0)
        for (int64_t i = 0; i < n; i++)
            put(out, i, bytes, offset);
    else if (range == all)
        for (int64_t i = 0; i < n; i++)
            put(out, i, bytes, offset + draw(w, &s, width));
    else if (width == 32 && masked)
        masked_runs(w, n, bytes, offset, (uint32_t)range, (uint32_t)mask, out);
    else if (width == 32)
        lemire_runs(w, n, bytes, offset, (uint32_t)range, out);
    else if (masked)
        for (int64_t i = 0; i < n; i++)
            put(out, i, bytes,
                offset + masked32(w, &s, width, (uint32_t)range, (uint32_t)mask));
    else
        for (int64_t i = 0; i < n; i++)
            put(out, i, bytes, offset + lemire32(w, &s, width, (uint32_t)range));
}

/* Whether a range is drawn as whole 64-bit words. */
static bool is_wide(int bytes, uint64_t range) {
    return bytes == 8 && range > UINT32_MAX;
}

void asn_fill_bounded(asn_bitgen *g, int64_t n, int bytes, bool masked, uint64_t offset,
                      uint64_t range, void *out) {
    asn_words words, *w = &words;
    uint64_t mask = mask_for(range);
    int per_word = bytes == 0 ? 64 : bytes == 8 ? 2 : 8 / bytes;
    asn_words_begin(w, g, is_wide(bytes, range) ? n : n / per_word);
    switch (bytes) {
    case 0: fill_bools(w, n, offset, range, out); break;
    case 1: fill_of(w, n, 1, masked, offset, range, mask, out); break;
    case 2: fill_of(w, n, 2, masked, offset, range, mask, out); break;
    case 4: fill_of(w, n, 4, masked, offset, range, mask, out); break;
    default:
        if (is_wide(bytes, range))
            fill_wide(w, n, masked, offset, range, mask, out);
        else
            fill_of(w, n, 8, masked, offset, range, mask, out);
    }
    asn_words_end(w);
}

/* The width of the words is the range's, as numpy.random draws one integer. */
uint64_t asn_words_below(asn_words *w, bool masked, uint64_t range) {
    slices unused = {0, 0};
    if (range == 0) return 0;
    if (range == UINT64_MAX) return asn_words_next64(w);
    if (range > UINT32_MAX)
        return masked ? masked64(w, range, mask_for(range)) : lemire64(w, range);
    if (range == UINT32_MAX) return asn_words_next32(w);
    return masked ? masked32(w, &unused, 32, (uint32_t)range, (uint32_t)mask_for(range))
                  : lemire32(w, &unused, 32, (uint32_t)range);
}

/* One of 1, 8, 16 or 32 bits. */
static uint64_t bounded_narrow(asn_words *w, slices *s, int width, bool masked,
                               uint64_t range) {
    uint32_t all = width == 32 ? UINT32_MAX : (1u << width) - 1;
    if (range == 0) return 0;
    if (range == all) return draw(w, s, width);
    return masked ? masked32(w, s, width, (uint32_t)range, (uint32_t)mask_for(range))
                  : lemire32(w, s, width, (uint32_t)range);
}

void asn_fill_bounded_each(asn_bitgen *g, int64_t n, int bytes, bool masked,
                           const uint64_t *offset, const uint64_t *range, void *out) {
    asn_words w;
    slices s = {0, 0};
    asn_words_begin(&w, g, bytes == 8 ? n : n / 2);
    for (int64_t i = 0; i < n; i++) {
        uint64_t value =
            bytes == 8 ? asn_words_below(&w, masked, range[i])
                       : bounded_narrow(&w, &s, bytes ? 8 * bytes : 1, masked, range[i]);
        put(out, i, bytes ? bytes : 1, offset[i] + value);
    }
    asn_words_end(&w);
}
