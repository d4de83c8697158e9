/* L1 array: converting single elements. The value goes through the widest type of its
 * kind: int64, uint64, double or a complex pair; that is exact for every dtype of the
 * kind.
 *
 * A switch over pairs of dtypes would have a case for each of them; by way of the widest
 * types there is one to read and one to write each.
 */
#include "array/scalar.h"

#include <string.h>

#include "base/half.h"

/* A value of any kind: i, u, or re and im, as `kind` says. */
typedef struct {
    char kind; /* 'i', 'u', 'f', 'c' */
    int64_t i;
    uint64_t u;
    double re, im;
} wide;

/* `to` = the element read as T. */
#define READ(ID, T, to, expr)                                                            \
    case ASN_##ID: {                                                                     \
        T v;                                                                             \
        memcpy(&v, s->bytes, sizeof v);                                                  \
        to = expr;                                                                       \
        break;                                                                           \
    }

static wide widen(const asn_scalar *s) {
    asn_dtype dtype = (asn_dtype)s->dtype;
    wide w = {.kind = asn_is_complex(dtype)   ? 'c'
                      : asn_is_inexact(dtype) ? 'f'
                      : dtype == ASN_U64      ? 'u'
                                              : 'i'};
    asn_c128 c = {0, 0};
    switch (dtype) {
        READ(BOOL, uint8_t, w.i, v != 0)
        READ(I8, int8_t, w.i, v)
        READ(U8, uint8_t, w.i, v)
        READ(I16, int16_t, w.i, v)
        READ(U16, uint16_t, w.i, v)
        READ(I32, int32_t, w.i, v)
        READ(U32, uint32_t, w.i, v)
        READ(I64, int64_t, w.i, v)
        READ(U64, uint64_t, w.u, v)
        READ(F16, uint16_t, w.re, asn_f16_to_f32(v))
        READ(BF16, uint16_t, w.re, asn_bf16_to_f32(v))
        READ(F32, float, w.re, v)
        READ(F64, double, w.re, v)
        READ(C64, asn_c64, c, ((asn_c128){v.re, v.im}))
    default: memcpy(&c, s->bytes, sizeof c);
    }
    if (w.kind == 'c') {
        w.re = c.re;
        w.im = c.im;
    }
    return w;
}

#undef READ

/* The real part of any value. */
static double as_double(const wide *w) {
    return w->kind == 'i' ? (double)w->i : w->kind == 'u' ? (double)w->u : w->re;
}

/* A float's integer part modulo 2^64; what does not fit gives the machine's "indefinite"
 * value, as NumPy on x86-64. */
static uint64_t as_bits(const wide *w, bool is_unsigned) {
    if (w->kind == 'i') return (uint64_t)w->i;
    if (w->kind == 'u') return w->u;
    if (w->re >= -0x1p63 && w->re < 0x1p63) return (uint64_t)(int64_t)w->re;
    if (is_unsigned && w->re >= 0x1p63 && w->re < 0x1p64) return (uint64_t)w->re;
    return (uint64_t)INT64_MIN;
}

/* Narrow integers go through int32, as C casts compiled for x86-64 do. */
static uint64_t narrow_bits(const wide *w) {
    if (w->kind == 'i' || w->kind == 'u') return as_bits(w, false);
    if (w->re > -2147483649.0 && w->re < 2147483648.0) return (uint64_t)(int64_t)w->re;
    return (uint64_t)(int64_t)INT32_MIN;
}

asn_status asn_scalar_cast(const asn_scalar *s, asn_dtype dtype, asn_scalar *out) {
    if ((asn_dtype)s->dtype == dtype) {
        *out = *s;
        return ASN_OK;
    }
    if ((unsigned)dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE, "no dtype has number %d", (int)dtype);
    wide w = widen(s);
    asn_scalar r = {.dtype = (uint8_t)dtype};
    uint64_t bits;
    double re = as_double(&w);
    float f = (float)re;
    uint16_t half;
    asn_c64 c64 = {f, (float)w.im};
    asn_c128 c128 = {re, w.im};
    switch (dtype) {
    case ASN_BOOL:
        r.bytes[0] = w.kind == 'i'   ? w.i != 0
                     : w.kind == 'u' ? w.u != 0
                                     : re != 0 || w.im != 0;
        break;
    case ASN_I8:
    case ASN_U8:
    case ASN_I16:
    case ASN_U16:
    case ASN_I32:
        bits = narrow_bits(&w);
        memcpy(r.bytes, &bits, (size_t)asn_itemsize(dtype));
        break;
    case ASN_U32:
    case ASN_I64:
    case ASN_U64:
        bits = as_bits(&w, dtype == ASN_U64);
        memcpy(r.bytes, &bits, (size_t)asn_itemsize(dtype));
        break;
    case ASN_F16:
        half = w.kind == 'f' && s->dtype == ASN_F64 ? asn_f64_to_f16(re)
               : w.kind == 'i' || w.kind == 'u'     ? asn_f64_to_f16(re)
                                                    : asn_f32_to_f16(f);
        memcpy(r.bytes, &half, 2);
        break;
    case ASN_BF16:
        half = asn_f64_to_bf16(re);
        memcpy(r.bytes, &half, 2);
        break;
    case ASN_F32:
        if (w.kind == 'i') f = (float)w.i;
        if (w.kind == 'u') f = (float)w.u;
        memcpy(r.bytes, &f, 4);
        break;
    case ASN_F64: memcpy(r.bytes, &re, 8); break;
    case ASN_C64: memcpy(r.bytes, &c64, 8); break;
    default: memcpy(r.bytes, &c128, 16);
    }
    *out = r;
    return ASN_OK;
}

asn_scalar asn_scalar_bool(bool v) {
    asn_scalar s = {.dtype = ASN_BOOL};
    s.bytes[0] = v;
    return s;
}

asn_scalar asn_scalar_int(int64_t v) {
    asn_scalar s = {.dtype = ASN_I64};
    memcpy(s.bytes, &v, sizeof v);
    return s;
}

asn_scalar asn_scalar_float(double v) {
    asn_scalar s = {.dtype = ASN_F64};
    memcpy(s.bytes, &v, sizeof v);
    return s;
}
