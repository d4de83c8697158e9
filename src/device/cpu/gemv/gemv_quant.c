/* CPU device: quantised lines times a few vectors (see gemv_quant.h).
 *
 * Vectors become fixed point of 16 bits, some elements with one exponent, so that the
 * processor multiplies pairs of integers and a part's sums are exact. Threads share
 * lines; a task's lines stay in the cache for the vectors after the first.
 */
#include "device/cpu/gemv/gemv_quant.h"

#include <math.h>
#include <string.h>

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    TILE_BYTES = 1 << 17, /* lines that a thread takes at once, at least */
    BITS = 14,            /* of the largest value of a part, after its first */
    LEAST_EXPONENT = -60, /* of a part's largest element: all scales are normal */
    COARSE = 1 << 11      /* a part whose values have a smaller mean has a second one */
};

typedef struct {
    const asnd_quant *q;
    asnd_quant_dots_fn dots;
    int64_t tile; /* lines of a task */
    asnd_quant_part *parts;
    int64_t count; /* of parts */
    int16_t *values;
    float *scales; /* of a part's vectors, and their totals */
} job;

/* ---- vectors in fixed point */

/* The exponent of the largest |v|: 0 of zeros, 128 of infinity and NaN. */
static int exponent_of(const float *v, int64_t n) {
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, v + i, sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return most ? (most >> 23) - 127 : 0;
}

/* values = v / scale, rounded to the nearest; v becomes what is left, and *rest tells
 * whether there is any. Returns the sum of |values|. */
static int64_t round_part(float *v, int64_t n, int exponent, int16_t *values,
                          float *scale, float *total, bool *rest) {
    const float magic = 0x1.8p23F; /* with it, a sum has no fraction */
    const float inverse = ldexpf(1, BITS - exponent), unit = ldexpf(1, exponent - BITS);
    int32_t sum = 0, size = 0, left = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t value = (int32_t)((v[i] * inverse + magic) - magic);
        value = value > INT16_MAX ? INT16_MAX : value;
        values[i] = (int16_t)value;
        sum += value;
        size += value < 0 ? -value : value;
        v[i] -= (float)value * unit;
        left |= v[i] != 0;
    }
    *scale = unit;
    *total = (float)sum * unit;
    *rest = left;
    return size;
}

/* Of each block the even elements, then the odd ones. */
static void part_pairs(int16_t *values, int64_t n) {
    int16_t block[ASN_QUANT_BLOCK];
    for (int64_t i = 0; i < n; i += ASN_QUANT_BLOCK) {
        memcpy(block, values + i, sizeof block);
        for (int64_t k = 0; k < ASN_QUANT_BLOCK / 2; k++) {
            values[i + k] = block[2 * k];
            values[i + ASN_QUANT_BLOCK / 2 + k] = block[2 * k + 1];
        }
    }
}

/* The next part, of elements [at, at + length); v[k] becomes what it leaves of vector k.
 * False: no second part is needed. */
static bool add_part(job *j, int64_t at, int64_t length, float (*v)[ASN_QUANT_PART],
                     const int *exponents, int lower) {
    const int64_t vectors = j->q->count;
    int16_t *values = j->values + j->count * vectors * ASN_QUANT_PART;
    float *scale = j->scales + j->count * 2 * vectors;
    bool coarse = false;
    j->parts[j->count++] = (asnd_quant_part){.at = at,
                                             .length = length,
                                             .group = at / j->q->group,
                                             .values = values,
                                             .scale = scale,
                                             .total = scale + vectors};
    for (int64_t k = 0; k < vectors; k++, values += ASN_QUANT_PART) {
        bool rest;
        const int64_t size = round_part(v[k], length, exponents[k] - lower, values,
                                        scale + k, scale + vectors + k, &rest);
        coarse |= rest && size < COARSE * length;
        if (j->q->nibbles) part_pairs(values, length);
    }
    return coarse;
}

/* False: there is a value that fixed point does not hold. */
static bool pack(job *j) {
    const asnd_quant *q = j->q;
    float v[ASN_QUANT_FEW][ASN_QUANT_PART];
    int exponents[ASN_QUANT_FEW];
    for (int64_t at = 0, length; at < q->length; at += length) {
        const int64_t group_end = asn_least((at / q->group + 1) * q->group, q->length);
        length = asn_least(group_end - at, ASN_QUANT_PART);
        for (int64_t k = 0; k < q->count; k++) {
            memcpy(v[k], q->v + k * q->length + at, (size_t)length * sizeof **v);
            exponents[k] = exponent_of(v[k], length);
            if (exponents[k] < LEAST_EXPONENT || exponents[k] > 127) return false;
        }
        if (add_part(j, at, length, v, exponents, 0))
            add_part(j, at, length, v, exponents, BITS + 1);
    }
    return true;
}

/* ---- products */

static void dots_task(void *ctx, int64_t task) {
    const job *j = ctx;
    const int64_t first = task * j->tile;
    j->dots(j->q, j->parts, j->count, first, asn_least(first + j->tile, j->q->lines));
}

static bool multiply(job *j, double ns) {
    const asnd_quant *q = j->q;
    if (!pack(j)) return false;
    const int64_t bytes = q->nibbles ? q->length / 2 : q->length;
    const int64_t tiles = asn_pieces(q->lines, TILE_BYTES / bytes + 1);
    j->tile = asn_round_up(asn_pieces(q->lines, tiles), 4); /* as even as can be */
    asn_pool_run(dots_task, j, asn_pieces(q->lines, j->tile), ns);
    return true;
}

asn_status asn_gemv_quant(const asnd_quant *q, double ns, bool *done) {
    job j = {.q = q, .dots = asn_context_get()->quant_dots};
    *done = j.dots && q->count <= ASN_QUANT_FEW && q->length % ASN_QUANT_BLOCK == 0 &&
            q->group % ASN_QUANT_BLOCK == 0;
    if (!*done) return ASN_OK;
    const int64_t most = 2 * asn_pieces(q->length, asn_least(q->group, q->length)) *
                         asn_pieces(asn_least(q->group, q->length), ASN_QUANT_PART);
    const size_t values = (size_t)(most * q->count * ASN_QUANT_PART) * sizeof *j.values,
                 scales = (size_t)(most * q->count * 2) * sizeof *j.scales;
    j.values = asn_scratch_take(values + scales + (size_t)most * sizeof *j.parts);
    if (j.values == NULL) return ASN_ERR_MEMORY;
    j.scales = (float *)(void *)((char *)j.values + values);
    j.parts = (asnd_quant_part *)(void *)((char *)j.scales + scales);
    *done = multiply(&j, ns);
    asn_scratch_give(j.values);
    return ASN_OK;
}
