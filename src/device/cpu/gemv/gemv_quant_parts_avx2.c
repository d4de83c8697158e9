/* CPU device: vectors in fixed point for quantised lines (see gemv_quant.h), plain loops
 * which the compiler turns into AVX2's.
 *
 * A part's largest element has BITS bits after its first: halves that are no less than a
 * 16th (float16) or a 128th (bfloat16) of it are exact.
 */
#include "device/cpu/gemv/gemv_quant.h"

#if defined(__x86_64__)

#include <math.h>
#include <string.h>

#include "base/integers.h"

enum {
    BITS = 14,            /* of the largest value of a part, after its first */
    LEAST_EXPONENT = -60, /* of a part's largest element: all scales are normal */
    COARSE = 1 << 11      /* a part whose values have a smaller mean has a second one */
};

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
 * coarse[k]: the vector needs a second one. In that one (`second`), the others are 0:
 * each vector has the bits that it has alone. Returns whether there are any. */
static bool add_part(const asnd_quant *q, asnd_quant_parts *to, int64_t at,
                     int64_t length, float (*v)[ASN_QUANT_PART], const int *exponents,
                     bool second, bool *coarse) {
    const int64_t vectors = q->count;
    int16_t *values = to->values + to->count * vectors * ASN_QUANT_PART;
    float *scale = to->scales + to->count * 2 * vectors;
    bool any = false;
    to->parts[to->count++] = (asnd_quant_part){.at = at,
                                               .length = length,
                                               .group = at / q->group,
                                               .values = values,
                                               .scale = scale,
                                               .total = scale + vectors};
    for (int64_t k = 0; k < vectors; k++, values += ASN_QUANT_PART) {
        bool rest;
        if (second && !coarse[k]) memset(v[k], 0, (size_t)length * sizeof **v);
        const int64_t size = round_part(v[k], length, exponents[k] - second * (BITS + 1),
                                        values, scale + k, scale + vectors + k, &rest);
        coarse[k] = rest && size < COARSE * length;
        any |= coarse[k];
        if (q->nibbles) part_pairs(values, length);
    }
    return any;
}

bool asn_quant_parts_avx2(const asnd_quant *q, asnd_quant_parts *to) {
    float v[ASN_QUANT_FEW][ASN_QUANT_PART];
    int exponents[ASN_QUANT_FEW];
    bool coarse[ASN_QUANT_FEW];
    for (int64_t at = 0, length; at < q->length; at += length) {
        const int64_t group_end = asn_least((at / q->group + 1) * q->group, q->length);
        length = asn_least(group_end - at, ASN_QUANT_PART);
        for (int64_t k = 0; k < q->count; k++) {
            memcpy(v[k], q->v + k * q->length + at, (size_t)length * sizeof **v);
            exponents[k] = exponent_of(v[k], length);
            if (exponents[k] < LEAST_EXPONENT || exponents[k] > 127) return false;
        }
        if (add_part(q, to, at, length, v, exponents, false, coarse))
            add_part(q, to, at, length, v, exponents, true, coarse);
    }
    return true;
}
#endif
