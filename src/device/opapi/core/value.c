/* CPU device, operators: conversion of single values.
 *
 * A value is read into the widest type of its kind, then written: int64, uint64 and
 * double keep every value of their kind exactly. So n dtypes need 2 n conversions instead
 * of n squared.
 */
#include "device/opapi/core/value.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

/* A value of any kind: i, u, or re and im, as `kind` says. */
typedef struct {
    enum { SIGNED, UNSIGNED, REAL } kind;
    int64_t i;
    uint64_t u;
    double re, im;
} wide;

/* memcpy: the address may not be aligned. */
#define LOAD(type, x)                                                                    \
    type x;                                                                              \
    memcpy(&x, src, sizeof x)

/* The value of an integer or bool; every byte but 0 is true. */
static wide read_int(asn_dtype from, const void *src) {
    wide w = {SIGNED, 0, 0, 0, 0};
    switch (from) {
    case ASN_I8: {
        LOAD(int8_t, x);
        w.i = x;
        break;
    }
    case ASN_I16: {
        LOAD(int16_t, x);
        w.i = x;
        break;
    }
    case ASN_I32: {
        LOAD(int32_t, x);
        w.i = x;
        break;
    }
    case ASN_I64: {
        LOAD(int64_t, x);
        w.i = x;
        break;
    }
    case ASN_BOOL: {
        LOAD(uint8_t, x);
        w.i = x != 0;
        break;
    }
    case ASN_U8: {
        LOAD(uint8_t, x);
        w.i = x;
        break;
    }
    case ASN_U16: {
        LOAD(uint16_t, x);
        w.i = x;
        break;
    }
    case ASN_U32: {
        LOAD(uint32_t, x);
        w.i = x;
        break;
    }
    default: {
        LOAD(uint64_t, x);
        w.kind = UNSIGNED;
        w.u = x;
        break;
    }
    }
    return w;
}

static wide read_value(asn_dtype from, const void *src) {
    wide w = {REAL, 0, 0, 0, 0};
    switch (from) {
    case ASN_F16: {
        LOAD(uint16_t, x);
        w.re = asn_f16_to_f32(x);
        break;
    }
    case ASN_BF16: {
        LOAD(uint16_t, x);
        w.re = asn_bf16_to_f32(x);
        break;
    }
    case ASN_F32: {
        LOAD(float, x);
        w.re = x;
        break;
    }
    case ASN_F64: {
        LOAD(double, x);
        w.re = x;
        break;
    }
    case ASN_C64: {
        LOAD(asn_c64, x);
        w.re = x.re;
        w.im = x.im;
        break;
    }
    case ASN_C128: {
        LOAD(asn_c128, x);
        w.re = x.re;
        w.im = x.im;
        break;
    }
    default: return read_int(from, src);
    }
    return w;
}

/* The value as a double; the imaginary part is dropped. */
static double real_of(const wide *w) {
    return w->kind == REAL ? w->re : w->kind == SIGNED ? (double)w->i : (double)w->u;
}

/* The value's integer, modulo 2^64; floats below -2^63 and above 2^64 give the nearest of
 * these, NaN 0. */
static uint64_t bits_of(const wide *w) {
    if (w->kind == SIGNED) return (uint64_t)w->i;
    if (w->kind == UNSIGNED) return w->u;
    if (isnan(w->re)) return 0;
    if (w->re < 0)
        return w->re <= -0x1p63 ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)w->re;
    return w->re >= 0x1p64 ? UINT64_MAX : (uint64_t)w->re;
}

static bool is_true(const wide *w) {
    if (w->kind == SIGNED) return w->i != 0;
    if (w->kind == UNSIGNED) return w->u != 0;
    return w->re != 0 || w->im != 0;
}

/* Integers keep the low bytes of the 64 bits. */
static void write_value(asn_dtype to, void *dst, const wide *w) {
    if (to == ASN_BOOL) {
        *(uint8_t *)dst = is_true(w);
    } else if (asn_is_integer(to)) {
        uint64_t bits = bits_of(w);
        memcpy(dst, &bits, (size_t)asn_itemsize(to)); /* little-endian: the low bytes */
    } else if (asn_is_complex(to)) {
        double parts[2] = {real_of(w), w->im};
        float narrow[2] = {(float)parts[0], (float)parts[1]};
        memcpy(dst, to == ASN_C64 ? (void *)narrow : (void *)parts,
               (size_t)asn_itemsize(to));
    } else {
        double d = real_of(w);
        float f = (float)d;
        uint16_t half = to == ASN_F16 ? asn_f64_to_f16(d) : asn_f64_to_bf16(d);
        const void *src = to == ASN_F64 ? (void *)&d : to == ASN_F32 ? (void *)&f : &half;
        memcpy(dst, src, (size_t)asn_itemsize(to));
    }
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "integers are cut by their low bytes");

void asn_value_cast(asn_dtype to, void *dst, asn_dtype from, const void *src) {
    wide w = read_value(from, src);
    write_value(to, dst, &w);
}

void asn_value_from_double(asn_dtype to, void *dst, double value) {
    wide w = {REAL, 0, 0, value, 0};
    write_value(to, dst, &w);
}

void asn_value_from_int(asn_dtype to, void *dst, int64_t value) {
    wide w = {SIGNED, value, 0, 0, 0};
    write_value(to, dst, &w);
}

double asn_value_to_double(asn_dtype from, const void *src) {
    wide w = read_value(from, src);
    return real_of(&w);
}

int64_t asn_value_to_int(asn_dtype from, const void *src) {
    wide w = read_value(from, src);
    return (int64_t)bits_of(&w);
}
