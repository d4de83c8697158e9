/* L1 random: uniform numbers and bounded integers, drawn as NumPy draws them.
 *
 * Bounded integers: Lemire's multiply-and-reject (ACM TOMACS 29, 2019) on as many bits as
 * the range needs; values of 8 and 16 bits share one 32-bit draw, bools thirty-two.
 * RandomState rejects by bit mask instead.
 */
#include <string.h>

#include "random/engines.h"

uint32_t asn_next32(asn_bitgen *g) {
    return g->kind == ASN_PCG64 ? asn_pcg64_next32(g) : asn_mt19937_next32(g);
}

uint64_t asn_next64(asn_bitgen *g) {
    if (g->kind == ASN_PCG64) return asn_pcg64_next(g);
    uint64_t high = asn_mt19937_next32(g);
    return high << 32 | asn_mt19937_next32(g);
}

double asn_next_double(asn_bitgen *g) {
    if (g->kind == ASN_PCG64) return (double)(asn_pcg64_next(g) >> 11) * 0x1p-53;
    uint32_t a = asn_mt19937_next32(g) >> 5, b = asn_mt19937_next32(g) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

void asn_fill_double(asn_bitgen *g, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = asn_next_double(g);
}

void asn_fill_float(asn_bitgen *g, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(asn_next32(g) >> 8) * 0x1p-24f;
}

/* Words of 8 or 16 bits cut from 32-bit draws, low end first. */
typedef struct {
    uint32_t bits;
    int left;
} slices;

static uint32_t next_slice(asn_bitgen *g, slices *s, int width) {
    if (s->left == 0) {
        s->bits = asn_next32(g);
        s->left = 32 / width - 1;
    } else {
        s->bits >>= width;
        s->left--;
    }
    return s->bits & ((1u << width) - 1);
}

static uint32_t draw(asn_bitgen *g, slices *s, int width) {
    return width == 32 ? asn_next32(g) : next_slice(g, s, width);
}

/* In [0, range], range below the all-ones word of `width` <= 32 bits. */
static uint32_t lemire32(asn_bitgen *g, slices *s, int width, uint32_t range) {
    uint64_t all = width == 32 ? 0xffffffffu : (1u << width) - 1,
             count = (uint64_t)range + 1;
    uint64_t m = (uint64_t)draw(g, s, width) * count, low = m & all;
    if (low < count) {
        uint64_t threshold = (all - range) % count;
        while (low < threshold) {
            m = (uint64_t)draw(g, s, width) * count;
            low = m & all;
        }
    }
    return (uint32_t)(m >> width);
}

static uint64_t lemire64(asn_bitgen *g, uint64_t range) {
    uint64_t count = range + 1;
    unsigned __int128 m = (unsigned __int128)asn_next64(g) * count;
    if ((uint64_t)m < count) {
        uint64_t threshold = (UINT64_MAX - range) % count;
        while ((uint64_t)m < threshold)
            m = (unsigned __int128)asn_next64(g) * count;
    }
    return (uint64_t)(m >> 64);
}

static uint64_t mask_for(uint64_t range) {
    return range ? UINT64_MAX >> __builtin_clzll(range) : 0;
}

static uint32_t masked32(asn_bitgen *g, slices *s, int width, uint32_t range,
                         uint32_t mask) {
    uint32_t value;
    while ((value = draw(g, s, width) & mask) > range) {
    }
    return value;
}

static uint64_t masked64(asn_bitgen *g, uint64_t range, uint64_t mask) {
    uint64_t value;
    while ((value = asn_next64(g) & mask) > range) {
    }
    return value;
}

static uint64_t bounded(asn_bitgen *g, slices *s, int bytes, bool masked, uint64_t range,
                        uint64_t mask) {
    int width = bytes == 8 ? 32 : 8 * bytes;
    uint64_t all = width == 32 ? 0xffffffffu : (1u << width) - 1;
    if (bytes == 0) return range ? next_slice(g, s, 1) : 0;
    if (range == 0) return 0;
    if (range < all)
        return masked ? masked32(g, s, width, (uint32_t)range, (uint32_t)mask)
                      : lemire32(g, s, width, (uint32_t)range);
    if (range == all) return draw(g, s, width);
    if (range == UINT64_MAX) return asn_next64(g);
    return masked ? masked64(g, range, mask) : lemire64(g, range);
}

void asn_fill_bounded(asn_bitgen *g, int64_t n, int bytes, bool masked, uint64_t offset,
                      uint64_t range, void *out) {
    slices s = {0, 0};
    uint64_t mask = mask_for(range);
    int size = bytes ? bytes : 1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = offset + bounded(g, &s, bytes, masked, range, mask);
        memcpy((char *)out + i * size, &value, (size_t)size);
    }
}

uint64_t asn_random_interval(asn_bitgen *g, uint64_t max) {
    slices s = {0, 0};
    if (max == 0) return 0;
    uint64_t mask = mask_for(max);
    return max <= 0xffffffffu ? masked32(g, &s, 32, (uint32_t)max, (uint32_t)mask)
                              : masked64(g, max, mask);
}
