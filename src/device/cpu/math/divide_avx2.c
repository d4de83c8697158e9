/* CPU device: quotients, remainders and common divisors of integers with AVX2, by way of
 * floating point.
 *
 * As in divide_int.inc, a float quotient of integers whose magnitudes are well within its
 * precision is rounded to an integer only if it is one, so rounding it down (or towards
 * zero) gives the integer quotient. What compilers make of that loop converts 64-bit
 * integers one by one and 32-bit ones through 64 bits (floor_divide of int32: 1.8 ns,
 * 0.9 so; of int8 2.7 and 0.6). Here
 *  - bytes are divided as float32, 32-bit integers as float64;
 *  - 64-bit integers below 2^51 become float64 by an addition to the bits of 3 * 2^51,
 *    whose last place is one, and back by a subtraction.
 * Where 64-bit integers are wider and divided by one number, its reciprocal does it
 * (divide_by.h). Another vector with another operand, a zero divisor or the most negative
 * integer (whose quotient by -1 overflows) goes to the loop that was there before, which
 * knows NumPy's results and exceptions for those.
 */
#include "device/cpu/math/divide_avx2.h"

#include "device/cpu/math/divide_by.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define INLINE __attribute__((always_inline)) static inline

enum {
    FLOOR = ASN_DIVIDE_FLOOR,
    MODULO = ASN_DIVIDE_MODULO,
    REST = ASN_DIVIDE_REST,
    KINDS
};

/* The loops for what vectors leave. */
static asnd_ew_fn other[KINDS][ASN_DTYPE_COUNT];

INLINE __m256i load(const void *p) {
    return _mm256_loadu_si256(p);
}

/* The quotient as a whole number: towards zero for fmod, down for the others. No inexact
 * is raised. */
INLINE __m256d whole_pd(__m256d quotient, int kind) {
    return kind == REST
               ? _mm256_round_pd(quotient, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
               : _mm256_round_pd(quotient, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

INLINE __m256 whole_ps(__m256 quotient, int kind) {
    return kind == REST
               ? _mm256_round_ps(quotient, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
               : _mm256_round_ps(quotient, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* ---- 8 bits: eight at a time */

/* Eight quotients or remainders (kind), or false and nothing written: a divisor is 0, or
 * a dividend the most negative number. */
INLINE bool divide_8(char *out, const char *a, const char *b, bool sign, int kind) {
    __m128i x = _mm_loadl_epi64((const void *)a), y = _mm_loadl_epi64((const void *)b);
    __m128i bad = _mm_cmpeq_epi8(y, _mm_setzero_si128());
    if (sign) bad = _mm_or_si128(bad, _mm_cmpeq_epi8(x, _mm_set1_epi8(INT8_MIN)));
    if (_mm_movemask_epi8(bad) & 255) return false;
    __m256i p = sign ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x);
    __m256i d = sign ? _mm256_cvtepi8_epi32(y) : _mm256_cvtepu8_epi32(y);
    __m256i q = _mm256_cvttps_epi32(whole_ps(
        _mm256_div_ps(_mm256_cvtepi32_ps(p), _mm256_cvtepi32_ps(d)), sign ? kind : REST));
    if (kind != FLOOR) q = _mm256_sub_epi32(p, _mm256_mullo_epi32(q, d));
    const __m256i low =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    q = _mm256_shuffle_epi8(q, low);
    _mm_storel_epi64((void *)out, _mm_or_si128(_mm256_castsi256_si128(q),
                                               _mm256_extracti128_si256(q, 1)));
    return true;
}

/* ---- 32 bits: eight at a time */

/* An unsigned integer is a signed one moved by 2^31. */
INLINE __m256d wide_32(__m128i x, bool sign) {
    if (sign) return _mm256_cvtepi32_pd(x);
    x = _mm_xor_si128(x, _mm_set1_epi32(INT32_MIN));
    return _mm256_add_pd(_mm256_cvtepi32_pd(x), _mm256_set1_pd(2147483648.0));
}

/* Four quotients. Unsigned ones come back by way of signed conversion, moved by 2^31 as
 * well. */
INLINE __m128i quotient_32(__m128i a, __m128i b, bool sign, int kind) {
    __m256d q = _mm256_div_pd(wide_32(a, sign), wide_32(b, sign));
    if (sign) return _mm256_cvttpd_epi32(whole_pd(q, kind));
    q = _mm256_sub_pd(whole_pd(q, kind), _mm256_set1_pd(2147483648.0));
    return _mm_xor_si128(_mm256_cvttpd_epi32(q), _mm_set1_epi32(INT32_MIN));
}

/* As divide_8, of 32 bits. */
INLINE bool divide_32(char *out, const char *a, const char *b, bool sign, int kind) {
    __m256i x = load(a), y = load(b);
    __m256i bad = _mm256_cmpeq_epi32(y, _mm256_setzero_si256());
    if (sign)
        bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(x, _mm256_set1_epi32(INT32_MIN)));
    if (!_mm256_testz_si256(bad, bad)) return false;
    __m128i low =
        quotient_32(_mm256_castsi256_si128(x), _mm256_castsi256_si128(y), sign, kind);
    __m128i high = quotient_32(_mm256_extracti128_si256(x, 1),
                               _mm256_extracti128_si256(y, 1), sign, kind);
    __m256i q = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    if (kind != FLOOR) q = _mm256_sub_epi32(x, _mm256_mullo_epi32(q, y));
    _mm256_storeu_si256((void *)out, q);
    return true;
}

/* ---- 64 bits: four at a time */

#define SHIFTED 6755399441055744.0 /* 3 * 2^51 */

/* Four integers, |x| < 2^51, as float64, exactly. */
INLINE __m256d float_64(__m256i x) {
    const __m256d shifted = _mm256_set1_pd(SHIFTED);
    x = _mm256_add_epi64(x, _mm256_castpd_si256(shifted));
    return _mm256_sub_pd(_mm256_castsi256_pd(x), shifted);
}

/* The way back, of whole numbers with |x| < 2^51. */
INLINE __m256i integer_64(__m256d x) {
    const __m256d shifted = _mm256_set1_pd(SHIFTED);
    return _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(x, shifted)),
                            _mm256_castpd_si256(shifted));
}

/* As divide_8, and false where an operand does not lie in [-2^51, 2^51), unsigned ones in
 * [0, 2^51). */
INLINE bool divide_64(char *out, const char *a, const char *b, bool sign, int kind) {
    const __m256i least = _mm256_set1_epi64x(sign ? INT64_C(1) << 51 : 0);
    const __m256i beyond = _mm256_set1_epi64x(-(INT64_C(1) << (sign ? 52 : 51)));
    __m256i x = load(a), y = load(b);
    __m256i wide = _mm256_and_si256(
        _mm256_or_si256(_mm256_add_epi64(x, least), _mm256_add_epi64(y, least)), beyond);
    __m256i bad = _mm256_or_si256(wide, _mm256_cmpeq_epi64(y, _mm256_setzero_si256()));
    if (!_mm256_testz_si256(bad, bad)) return false;
    __m256d p = float_64(x), d = float_64(y), q = whole_pd(_mm256_div_pd(p, d), kind);
    if (kind != FLOOR) q = _mm256_fnmadd_pd(q, d, p); /* exact: it is below d */
    _mm256_storeu_si256((void *)out, integer_64(q));
    return true;
}

/* ---- the loops */

enum { LONGEST_RUN = 256 }; /* elements that are divided one by one without a look */

/* A block whose vectors do not do, by one number; false: it is not one. */
INLINE bool by_one(int kind, asn_dtype dtype, int64_t n, char *to, const char *x,
                   const char *y) {
    enum { WORTH = 16 };
    if (n < WORTH) return false;
    if (dtype == ASN_I64)
        return asn_divide_by_i64(kind, n, (void *)to, (const void *)x, (const void *)y);
    return dtype == ASN_U64 &&
           asn_divide_by_u64(kind, n, (void *)to, (const void *)x, (const void *)y);
}

/* 64-bit elements whose vectors do not do, without a look at all of them first; false:
 * they have fewer bits. Divisors 0 and -1 are left to the loop that knows their
 * exceptions. */
INLINE bool alone(int kind, asn_dtype dtype, int64_t n, char *to, const char *x,
                  const char *y) {
    if (dtype != ASN_I64 && dtype != ASN_U64) return false;
    const uint64_t *a = (const void *)x, *b = (const void *)y;
    uint64_t *out = (void *)to;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t p = a[i], d = b[i];
        if (d == 0 || (dtype == ASN_I64 && d == UINT64_MAX)) {
            other[kind][dtype](1, out + i, a + i, b + i, NULL);
        } else if (dtype == ASN_U64) {
            out[i] = kind == FLOOR ? p / d : p % d;
        } else {
            const int64_t q = (int64_t)p / (int64_t)d, rest = (int64_t)p % (int64_t)d;
            const bool less = kind != REST && rest != 0 && (rest ^ (int64_t)d) < 0;
            out[i] =
                kind == FLOOR ? (uint64_t)(q - less) : (uint64_t)rest + (less ? d : 0);
        }
    }
    return true;
}

#define LOOP(name, part, kind, bits, lanes, sign, dtype)                                 \
    static void name(int64_t n, void *dst, const void *a, const void *b,                 \
                     const void *c) {                                                    \
        const char *x = a, *y = b;                                                       \
        char *to = dst;                                                                  \
        bool asked = false;                                                              \
        int64_t run = lanes; /* twice as many each time the first do not do */           \
        for (int64_t m; n >= lanes;                                                      \
             n -= m, to += m * (bits) / 8, x += m * (bits) / 8, y += m * (bits) / 8) {   \
            m = lanes;                                                                   \
            if (part(to, x, y, sign, kind)) {                                            \
                run = lanes;                                                             \
                continue;                                                                \
            }                                                                            \
            if (!asked && by_one(kind, dtype, n, to, x, y)) return;                      \
            asked = true;                                                                \
            m = run < n ? run : n;                                                       \
            if (!alone(kind, dtype, m, to, x, y)) other[kind][dtype](m, to, x, y, c);    \
            run = run < LONGEST_RUN ? 2 * run : run;                                     \
        }                                                                                \
        if (n) other[kind][dtype](n, to, x, y, c);                                       \
    }
#define LOOPS(tag, part, bits, lanes, sign, dtype)                                       \
    LOOP(floor_##tag, part, FLOOR, bits, lanes, sign, dtype)                             \
    LOOP(modulo_##tag, part, MODULO, bits, lanes, sign, dtype)                           \
    LOOP(rest_##tag, part, REST, bits, lanes, sign, dtype)
LOOPS(i8, divide_8, 8, 8, true, ASN_I8)
LOOPS(u8, divide_8, 8, 8, false, ASN_U8)
LOOPS(i32, divide_32, 32, 8, true, ASN_I32)
LOOPS(u32, divide_32, 32, 8, false, ASN_U32)
LOOPS(i64, divide_64, 64, 4, true, ASN_I64)
LOOPS(u64, divide_64, 64, 4, false, ASN_U64)

/* ---- greatest common divisors: Euclid's steps on sixteen pairs at a time, until the
 * last of them is done; a division takes as long for four lanes as for one (int64 below
 * 100: 20 ns one by one, 6 so) */

enum { PAIRS = 16, VECTORS = PAIRS / 4, GCD = 0, LCM = 1 };
static asnd_ew_fn other_gcd[2][ASN_DTYPE_COUNT];

/* y ends as 0, x as the divisor. Lanes that are done divide by 1 and keep their x. */
INLINE void euclid(__m256d x[VECTORS], __m256d y[VECTORS]) {
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1);
    for (int left = 1; left;) {
        left = 0;
        for (int v = 0; v < VECTORS; v++) {
            __m256d on = _mm256_cmp_pd(y[v], zero, _CMP_NEQ_OQ);
            __m256d by = _mm256_blendv_pd(one, y[v], on);
            __m256d q = _mm256_floor_pd(_mm256_div_pd(x[v], by));
            __m256d rest = _mm256_fnmadd_pd(q, by, x[v]); /* exact: it is below y */
            x[v] = _mm256_blendv_pd(x[v], y[v], on);
            y[v] = _mm256_and_pd(rest, on);
            left |= _mm256_movemask_pd(on);
        }
    }
}

/* Magnitudes of four integers; false: one is too large. */
INLINE bool magnitudes(const char *p, int item, bool sign, __m256d *to) {
    const __m256d no_sign = _mm256_set1_pd(-0.0);
    if (item == 4) {
        *to = wide_32(_mm_loadu_si128((const void *)p), sign);
    } else {
        __m256i x = load(p);
        const __m256i least = _mm256_set1_epi64x(sign ? INT64_C(1) << 51 : 0);
        const __m256i beyond = _mm256_set1_epi64x(-(INT64_C(1) << (sign ? 52 : 51)));
        if (!_mm256_testz_si256(_mm256_add_epi64(x, least), beyond)) return false;
        *to = float_64(x);
    }
    *to = _mm256_andnot_pd(no_sign, *to);
    return true;
}

INLINE void put(char *out, int item, int64_t v) {
    memcpy(out, &v, (size_t)item); /* the low bytes: results wrap */
}

/* Sixteen pairs; false and nothing written: a magnitude is too large. lcm(p, m) is (p /
 * g) m, multiplied as integers, which wrap as NumPy's do. */
INLINE bool sixteen(char *out, const char *a, const char *b, int item, bool sign,
                    int kind) {
    __m256d x[VECTORS], y[VECTORS], p[VECTORS];
    _Alignas(32) int64_t g[PAIRS], q[PAIRS], m[PAIRS];
    for (int v = 0; v < VECTORS; v++)
        if (!magnitudes(a + 4 * v * item, item, sign, &x[v]) ||
            !magnitudes(b + 4 * v * item, item, sign, &y[v]))
            return false;
    for (int v = 0; v < VECTORS; v++) {
        p[v] = x[v];
        if (kind == LCM) _mm256_store_si256((__m256i *)(m + 4 * v), integer_64(y[v]));
    }
    euclid(x, y);
    for (int v = 0; v < VECTORS; v++) {
        __m256d by = _mm256_max_pd(x[v], _mm256_set1_pd(1)); /* 0 is lcm's of zeros */
        _mm256_store_si256((__m256i *)(g + 4 * v), integer_64(x[v]));
        if (kind == LCM)
            _mm256_store_si256((__m256i *)(q + 4 * v),
                               integer_64(_mm256_div_pd(p[v], by)));
    }
    for (int i = 0; i < PAIRS; i++)
        put(out + i * item, item,
            kind == GCD ? g[i] : (int64_t)((uint64_t)q[i] * (uint64_t)m[i]));
    return true;
}

#define PAIR_LOOP(name, kind, item, sign, dtype)                                         \
    static void name(int64_t n, void *dst, const void *a, const void *b,                 \
                     const void *c) {                                                    \
        const char *x = a, *y = b;                                                       \
        char *to = dst;                                                                  \
        for (; n >= PAIRS;                                                               \
             n -= PAIRS, to += PAIRS * (item), x += PAIRS * (item), y += PAIRS * (item)) \
            if (!sixteen(to, x, y, item, sign, kind))                                    \
                other_gcd[kind][dtype](PAIRS, to, x, y, c);                              \
        if (n) other_gcd[kind][dtype](n, to, x, y, c);                                   \
    }
PAIR_LOOP(gcd_i32, GCD, 4, true, ASN_I32)
PAIR_LOOP(gcd_u32, GCD, 4, false, ASN_U32)
PAIR_LOOP(gcd_i64, GCD, 8, true, ASN_I64)
PAIR_LOOP(gcd_u64, GCD, 8, false, ASN_U64)
PAIR_LOOP(lcm_i32, LCM, 4, true, ASN_I32)
PAIR_LOOP(lcm_u32, LCM, 4, false, ASN_U32)
PAIR_LOOP(lcm_i64, LCM, 8, true, ASN_I64)
PAIR_LOOP(lcm_u64, LCM, 8, false, ASN_U64)

/* Puts the loops in their slots and keeps those that were there for what vectors
 * leave. */
static void put_gcd(asnd_kernels *k) {
    static const struct {
        asn_dtype dtype;
        asnd_ew_fn fn[2];
    } loops[] = {{ASN_I32, {gcd_i32, lcm_i32}},
                 {ASN_U32, {gcd_u32, lcm_u32}},
                 {ASN_I64, {gcd_i64, lcm_i64}},
                 {ASN_U64, {gcd_u64, lcm_u64}}};
    static const asn_op ops[2] = {ASN_OP_GCD, ASN_OP_LCM};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int kind = 0; kind < 2; kind++) {
            asnd_ew_fn *slot = &k->ew[ops[kind]][loops[i].dtype];
            other_gcd[kind][loops[i].dtype] = *slot;
            *slot = loops[i].fn[kind];
        }
}

void asn_kernels_divide_avx2(asnd_kernels *k) {
    put_gcd(k);
    static const struct {
        asn_dtype dtype;
        asnd_ew_fn fn[KINDS];
    } loops[] = {
        {ASN_I8, {floor_i8, modulo_i8, rest_i8}},
        {ASN_U8, {floor_u8, modulo_u8, rest_u8}},
        {ASN_I32, {floor_i32, modulo_i32, rest_i32}},
        {ASN_U32, {floor_u32, modulo_u32, rest_u32}},
        {ASN_I64, {floor_i64, modulo_i64, rest_i64}},
        {ASN_U64, {floor_u64, modulo_u64, rest_u64}},
    };
    static const asn_op ops[KINDS] = {ASN_OP_FLOOR_DIVIDE, ASN_OP_REMAINDER, ASN_OP_FMOD};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            asnd_ew_fn *slot = &k->ew[ops[kind]][loops[i].dtype];
            other[kind][loops[i].dtype] = *slot;
            *slot = loops[i].fn[kind];
        }
}
#endif
