/* CPU device: order-preserving keys of every dtype (see keys.h). */
#include "device/cpu/keys.h"

#include <string.h>

#include "base/half.h"

typedef unsigned __int128 u128;

/* Floats by their bits: B the bits, S the sign bit, I the bits of infinity. */
#define FLOAT_KEY(B, name, S, I)                                                         \
    static inline B name(B u, bool exact) {                                              \
        if ((u & ~(S)) > (I)) return (B) ~(B)0;                                          \
        if (u == (S) && !exact) u = 0;                                                   \
        return (B)(u & (S) ? ~u : u | (S));                                              \
    }
FLOAT_KEY(uint16_t, key_f16, (uint16_t)0x8000, 0x7c00)
FLOAT_KEY(uint16_t, key_bf16, (uint16_t)0x8000, 0x7f80)
FLOAT_KEY(uint32_t, key_u32, 0x80000000u, 0x7f800000u)
FLOAT_KEY(uint64_t, key_u64, (uint64_t)1 << 63, 0x7ff0000000000000u)
#undef FLOAT_KEY

static inline uint16_t bits_16(uint16_t k) {
    return (uint16_t)(k & 0x8000 ? k ^ 0x8000 : ~k);
}
static inline uint32_t bits_32(uint32_t k) {
    return k >> 31 ? k ^ 0x80000000u : ~k;
}
static inline uint64_t bits_64(uint64_t k) {
    return k >> 63 ? k ^ (uint64_t)1 << 63 : ~k;
}

static inline uint32_t key_f32(float v, bool exact) {
    return key_u32(asn_bits_f32(v), exact);
}
static inline float from_f32(uint32_t k) {
    return asn_f32_bits(bits_32(k));
}
static inline uint64_t key_f64(double v, bool exact) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return key_u64(u, exact);
}
static inline double from_f64(uint64_t k) {
    double v;
    k = bits_64(k);
    memcpy(&v, &k, sizeof v);
    return v;
}

/* The codes that mark NaN parts lie between infinity's key and the key of NaN. */
static inline uint64_t key_c64(asn_c64 v, bool exact) {
    const uint32_t codes = 0xff800000u; /* infinity's */
    uint32_t re = key_f32(v.re, exact), im = key_f32(v.im, exact);
    bool nan_re = v.re != v.re, nan_im = v.im != v.im;
    if (!nan_re && !nan_im) return (uint64_t)re << 32 | im;
    uint32_t low = nan_re && nan_im ? 0 : nan_re ? im : re;
    return (uint64_t)(codes + 2 * nan_re + nan_im) << 32 | low;
}
static inline asn_c64 from_c64(uint64_t k) {
    uint32_t high = (uint32_t)(k >> 32), low = (uint32_t)k;
    const float nan = asn_f32_bits(0x7fc00000);
    if (high <= 0xff800000u) return (asn_c64){from_f32(high), from_f32(low)};
    if (high == 0xff800001u) return (asn_c64){from_f32(low), nan};
    return (asn_c64){nan, high == 0xff800002u ? from_f32(low) : nan};
}

static inline u128 key_c128(asn_c128 v, bool exact) {
    const uint64_t codes = 0xfff0000000000000u;
    uint64_t re = key_f64(v.re, exact), im = key_f64(v.im, exact);
    bool nan_re = v.re != v.re, nan_im = v.im != v.im;
    if (!nan_re && !nan_im) return (u128)re << 64 | im;
    uint64_t low = nan_re && nan_im ? 0 : nan_re ? im : re;
    return (u128)(codes + 2 * nan_re + nan_im) << 64 | low;
}
static inline asn_c128 from_c128(u128 k) {
    const uint64_t codes = 0xfff0000000000000u;
    uint64_t high = (uint64_t)(k >> 64), low = (uint64_t)k;
    const double nan = from_f64(0xfff8000000000000u);
    if (high <= codes) return (asn_c128){from_f64(high), from_f64(low)};
    if (high == codes + 1) return (asn_c128){from_f64(low), nan};
    return (asn_c128){nan, high == codes + 2 ? from_f64(low) : nan};
}

#define S        uint8_t
#define K        uint16_t
#define TO(v, e) (v)
#define FROM(k)  ((uint8_t)(k))
#define F(n)     n##_u8
#include "device/cpu/keys.inc"
#define S        int8_t
#define K        uint16_t
#define TO(v, e) ((uint16_t)((v) + 128))
#define FROM(k)  ((int8_t)((int)(k) - 128))
#define F(n)     n##_i8
#include "device/cpu/keys.inc"
#define S        uint16_t
#define K        uint16_t
#define TO(v, e) (v)
#define FROM(k)  (k)
#define F(n)     n##_u16
#include "device/cpu/keys.inc"
#define S        int16_t
#define K        uint16_t
#define TO(v, e) ((uint16_t)((uint16_t)(v) ^ 0x8000))
#define FROM(k)  ((int16_t)((k) ^ 0x8000))
#define F(n)     n##_i16
#include "device/cpu/keys.inc"
#define S        uint32_t
#define K        uint32_t
#define TO(v, e) (v)
#define FROM(k)  (k)
#define F(n)     n##_u32
#include "device/cpu/keys.inc"
#define S        int32_t
#define K        uint32_t
#define TO(v, e) ((uint32_t)(v) ^ 0x80000000u)
#define FROM(k)  ((int32_t)((k) ^ 0x80000000u))
#define F(n)     n##_i32
#include "device/cpu/keys.inc"
#define S        uint64_t
#define K        uint64_t
#define TO(v, e) (v)
#define FROM(k)  (k)
#define F(n)     n##_u64
#include "device/cpu/keys.inc"
#define S        int64_t
#define K        uint64_t
#define TO(v, e) ((uint64_t)(v) ^ (uint64_t)1 << 63)
#define FROM(k)  ((int64_t)((k) ^ (uint64_t)1 << 63))
#define F(n)     n##_i64
#include "device/cpu/keys.inc"
#define S        uint16_t
#define K        uint16_t
#define TO(v, e) key_f16(v, e)
#define FROM(k)  bits_16(k)
#define F(n)     n##_f16
#include "device/cpu/keys.inc"
#define S        uint16_t
#define K        uint16_t
#define TO(v, e) key_bf16(v, e)
#define FROM(k)  bits_16(k)
#define F(n)     n##_bf16
#include "device/cpu/keys.inc"
#define S        float
#define K        uint32_t
#define TO(v, e) key_f32(v, e)
#define FROM(k)  from_f32(k)
#define F(n)     n##_f32
#include "device/cpu/keys.inc"
#define S        double
#define K        uint64_t
#define TO(v, e) key_f64(v, e)
#define FROM(k)  from_f64(k)
#define F(n)     n##_f64
#include "device/cpu/keys.inc"
#define S        asn_c64
#define K        uint64_t
#define TO(v, e) key_c64(v, e)
#define FROM(k)  from_c64(k)
#define F(n)     n##_c64
#include "device/cpu/keys.inc"
#define S        asn_c128
#define K        u128
#define TO(v, e) key_c128(v, e)
#define FROM(k)  from_c128(k)
#define F(n)     n##_c128
#include "device/cpu/keys.inc"

typedef struct {
    int bytes;
    void (*encode)(void *keys, const char *src, int64_t stride, int64_t n, int flags);
    void (*decode)(char *dst, int64_t stride, const void *keys, int64_t n, int flags);
} key_codec;

static const key_codec codecs[ASN_DTYPE_COUNT] = {
    [ASN_BOOL] = {2, encode_u8, decode_u8},      [ASN_I8] = {2, encode_i8, decode_i8},
    [ASN_U8] = {2, encode_u8, decode_u8},        [ASN_I16] = {2, encode_i16, decode_i16},
    [ASN_U16] = {2, encode_u16, decode_u16},     [ASN_I32] = {4, encode_i32, decode_i32},
    [ASN_U32] = {4, encode_u32, decode_u32},     [ASN_I64] = {8, encode_i64, decode_i64},
    [ASN_U64] = {8, encode_u64, decode_u64},     [ASN_F16] = {2, encode_f16, decode_f16},
    [ASN_BF16] = {2, encode_bf16, decode_bf16},  [ASN_F32] = {4, encode_f32, decode_f32},
    [ASN_F64] = {8, encode_f64, decode_f64},     [ASN_C64] = {8, encode_c64, decode_c64},
    [ASN_C128] = {16, encode_c128, decode_c128},
};

int asn_key_bytes(asn_dtype dt) {
    return codecs[dt].bytes;
}

void asn_keys_encode(asn_dtype dt, void *keys, const char *src, int64_t stride, int64_t n,
                     int flags) {
    codecs[dt].encode(keys, src, stride, n, flags);
}

void asn_keys_decode(asn_dtype dt, char *dst, int64_t stride, const void *keys, int64_t n,
                     int flags) {
    codecs[dt].decode(dst, stride, keys, n, flags);
}
