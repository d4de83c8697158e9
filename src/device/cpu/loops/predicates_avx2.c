/* CPU device: comparisons and tests of 32 and 64-bit numbers with AVX2.
 *
 * A comparison leaves a mask as wide as the number, its result is a byte. Compilers bring
 * 64-bit masks to bytes with a shuffle across the register's halves at every step: 1.9
 * instructions an element (isnan of float64 in the second cache: 0.20 ns). Here 32
 * elements are compared first, and their masks narrowed by the saturating packs that stay
 * within the halves; one exchange at the end puts the elements in order (0.7
 * instructions). The last elements overlap the ones before, since a result of one byte is
 * no input.
 *
 * any() and all() of truth values are here as well.
 *
 * Comparisons are the quiet ones: what a NaN raises in the others nobody reports.
 */
#include "device/cpu/loops/predicates_avx2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE __attribute__((always_inline)) static inline

enum {
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    EQUAL,
    NOT_EQUAL,
    IS_NAN, /* from here on of one number */
    IS_INF,
    IS_FINITE,
    SIGN_BIT,
    IS_TRUE, /* the cast to bool */
    KINDS
};
enum { STEP = 32 };

/* The loops for fewer than STEP elements. */
static asnd_ew_fn other[KINDS][ASN_DTYPE_COUNT];

/* ---- masks of one vector */

INLINE __m256i all_but(__m256i mask) {
    return _mm256_xor_si256(mask, _mm256_set1_epi8(-1));
}

/* All ones in the 64-bit lanes of p (and q) for which the answer is yes. */
INLINE __m256i test_f64(const double *p, const double *q, int kind) {
    __m256d a = _mm256_loadu_pd(p), b = kind < IS_NAN ? _mm256_loadu_pd(q) : a;
    const __m256d sign = _mm256_set1_pd(-0.0), inf = _mm256_set1_pd(__builtin_inf());
    __m256d size = _mm256_andnot_pd(sign, a);
    switch (kind) {
    case LESS: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_LT_OQ));
    case LESS_EQUAL: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_LE_OQ));
    case GREATER: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_GT_OQ));
    case GREATER_EQUAL: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_GE_OQ));
    case EQUAL: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_EQ_OQ));
    case NOT_EQUAL: return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_NEQ_UQ));
    case IS_NAN: return _mm256_castpd_si256(_mm256_cmp_pd(a, a, _CMP_UNORD_Q));
    case IS_INF: return _mm256_castpd_si256(_mm256_cmp_pd(size, inf, _CMP_EQ_OQ));
    case IS_FINITE: return _mm256_castpd_si256(_mm256_cmp_pd(size, inf, _CMP_LT_OQ));
    case IS_TRUE:
        return _mm256_castpd_si256(_mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_NEQ_UQ));
    default: /* the sign over the upper half, which is all that the packs look at */
        return _mm256_shuffle_epi32(_mm256_srai_epi32(_mm256_castpd_si256(a), 31), 0xf5);
    }
}

INLINE __m256i test_f32(const float *p, const float *q, int kind) {
    __m256 a = _mm256_loadu_ps(p), b = kind < IS_NAN ? _mm256_loadu_ps(q) : a;
    const __m256 sign = _mm256_set1_ps(-0.0f), inf = _mm256_set1_ps(__builtin_inff());
    __m256 size = _mm256_andnot_ps(sign, a);
    switch (kind) {
    case LESS: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
    case LESS_EQUAL: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LE_OQ));
    case GREATER: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
    case GREATER_EQUAL: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GE_OQ));
    case EQUAL: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
    case NOT_EQUAL: return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ));
    case IS_NAN: return _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    case IS_INF: return _mm256_castps_si256(_mm256_cmp_ps(size, inf, _CMP_EQ_OQ));
    case IS_FINITE: return _mm256_castps_si256(_mm256_cmp_ps(size, inf, _CMP_LT_OQ));
    case IS_TRUE:
        return _mm256_castps_si256(_mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_UQ));
    default: return _mm256_srai_epi32(_mm256_castps_si256(a), 31);
    }
}

/* `top`: what an unsigned number's first bit is worth as a signed one's. */
INLINE __m256i test_64(const void *p, const void *q, __m256i top, int kind) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_loadu_si256(p), b = kind == IS_TRUE ? zero : _mm256_loadu_si256(q);
    if (kind == IS_TRUE) return all_but(_mm256_cmpeq_epi64(a, b));
    if (kind == EQUAL) return _mm256_cmpeq_epi64(a, b);
    if (kind == NOT_EQUAL) return all_but(_mm256_cmpeq_epi64(a, b));
    a = _mm256_xor_si256(a, top);
    b = _mm256_xor_si256(b, top);
    if (kind == LESS) return _mm256_cmpgt_epi64(b, a);
    if (kind == GREATER) return _mm256_cmpgt_epi64(a, b);
    return all_but(kind == LESS_EQUAL ? _mm256_cmpgt_epi64(a, b)
                                      : _mm256_cmpgt_epi64(b, a));
}

/* As test_64, of 32 bits. */
INLINE __m256i test_32(const void *p, const void *q, __m256i top, int kind) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_loadu_si256(p), b = kind == IS_TRUE ? zero : _mm256_loadu_si256(q);
    if (kind == IS_TRUE) return all_but(_mm256_cmpeq_epi32(a, b));
    if (kind == EQUAL) return _mm256_cmpeq_epi32(a, b);
    if (kind == NOT_EQUAL) return all_but(_mm256_cmpeq_epi32(a, b));
    a = _mm256_xor_si256(a, top);
    b = _mm256_xor_si256(b, top);
    if (kind == LESS) return _mm256_cmpgt_epi32(b, a);
    if (kind == GREATER) return _mm256_cmpgt_epi32(a, b);
    return all_but(kind == LESS_EQUAL ? _mm256_cmpgt_epi32(a, b)
                                      : _mm256_cmpgt_epi32(b, a));
}

/* ---- masks of 32 elements to bytes */

/* Eight vectors of masks to 32 bytes of 0 and 1. */
INLINE void put_64(char *out, const __m256i *m) {
    __m256i w[4], v[2];
    for (int i = 0; i < 4; i++)
        w[i] = _mm256_packs_epi32(m[2 * i], m[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        v[i] = _mm256_packs_epi16(w[2 * i], w[2 * i + 1]);
    /* of each four elements two are below and two above */
    __m256i bytes = _mm256_and_si256(_mm256_packs_epi16(v[0], v[1]), _mm256_set1_epi8(1));
    __m128i below = _mm256_castsi256_si128(bytes),
            above = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128((void *)out, _mm_unpacklo_epi16(below, above));
    _mm_storeu_si128((void *)(out + 16), _mm_unpackhi_epi16(below, above));
}

/* Four vectors of masks likewise. */
INLINE void put_32(char *out, const __m256i *m) {
    __m256i low = _mm256_packs_epi32(m[0], m[1]), high = _mm256_packs_epi32(m[2], m[3]);
    __m256i bytes = _mm256_and_si256(_mm256_packs_epi16(low, high), _mm256_set1_epi8(1));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((void *)out, _mm256_permutevar8x32_epi32(bytes, order));
}

/* ---- loops */

/* asnd_ew_fn. TEST is the mask of vector v of the block at i. */
#define LOOP(name, T, V, PUT, TEST, kind, dtype)                                         \
    static void name(int64_t n, void *dst, const void *a, const void *b,                 \
                     const void *c) {                                                    \
        const T *p = a, *q = b;                                                          \
        if (n < STEP) {                                                                  \
            other[kind][dtype](n, dst, a, b, c);                                         \
            return;                                                                      \
        }                                                                                \
        for (int64_t i = 0; i < n; i += STEP) {                                          \
            __m256i m[STEP / (V)];                                                       \
            if (i > n - STEP) i = n - STEP;                                              \
            for (int v = 0; v < STEP / (V); v++)                                         \
                m[v] = TEST;                                                             \
            PUT((char *)dst + i, m);                                                     \
        }                                                                                \
    }

#define F64(name, kind)                                                                  \
    LOOP(name##_f64, double, 4, put_64,                                                  \
         test_f64(p + i + 4 * v, q + (kind < IS_NAN ? i + 4 * v : 0), kind), kind,       \
         ASN_F64)
#define F32(name, kind)                                                                  \
    LOOP(name##_f32, float, 8, put_32,                                                   \
         test_f32(p + i + 8 * v, q + (kind < IS_NAN ? i + 8 * v : 0), kind), kind,       \
         ASN_F32)
#define I64(name, kind, dtype, top)                                                      \
    LOOP(name, int64_t, 4, put_64,                                                       \
         test_64(p + i + 4 * v, q + (kind < IS_NAN ? i + 4 * v : 0),                     \
                 _mm256_set1_epi64x(top), kind),                                         \
         kind, dtype)
#define I32(name, kind, dtype, top)                                                      \
    LOOP(name, int32_t, 8, put_32,                                                       \
         test_32(p + i + 8 * v, q + (kind < IS_NAN ? i + 8 * v : 0),                     \
                 _mm256_set1_epi32(top), kind),                                          \
         kind, dtype)

/* One kind of comparison for the six dtypes; an unsigned number's first bit is turned,
 * after which signed comparisons order them. */
#define EVERY(name, kind)                                                                \
    F64(name, kind)                                                                      \
    F32(name, kind)                                                                      \
    I64(name##_i64, kind, ASN_I64, 0)                                                    \
    I64(name##_u64, kind, ASN_U64, INT64_MIN)                                            \
    I32(name##_i32, kind, ASN_I32, 0)                                                    \
    I32(name##_u32, kind, ASN_U32, INT32_MIN)
EVERY(less, LESS)
EVERY(less_equal, LESS_EQUAL)
EVERY(greater, GREATER)
EVERY(greater_equal, GREATER_EQUAL)
EVERY(equal, EQUAL)
EVERY(not_equal, NOT_EQUAL)
EVERY(is_true, IS_TRUE)

#define FLOATS(name, kind)                                                               \
    F64(name, kind)                                                                      \
    F32(name, kind)
FLOATS(isnan, IS_NAN)
FLOATS(isinf, IS_INF)
FLOATS(isfinite, IS_FINITE)
FLOATS(signbit, SIGN_BIT)

/* ---- any and all */

/* `met`, or-ed with what of 32 bytes is not 0 (`set`), or is. */
INLINE __m256i look(__m256i met, const char *p, bool set) {
    __m256i x = _mm256_loadu_si256((const void *)p);
    return _mm256_or_si256(met, set ? x : _mm256_cmpeq_epi8(x, _mm256_setzero_si256()));
}

/* Whether some of n bytes is not 0 (`set`), or is. The last look may be a second one. */
INLINE bool some(int64_t n, const char *p, bool set) {
    __m256i met = _mm256_setzero_si256();
    int64_t i = 0;
    bool found = false;
    for (; i + 4 * STEP <= n; i += 4 * STEP)
        for (int v = 0; v < 4; v++)
            met = look(met, p + i + STEP * v, set);
    for (; i + STEP <= n; i += STEP)
        met = look(met, p + i, set);
    if (i < n && n >= STEP) met = look(met, p + n - STEP, set);
    for (; n < STEP && i < n; i++)
        found |= (p[i] != 0) == set;
    return found || !_mm256_testz_si256(met, met);
}

/* any(): the accumulator is a bool, the elements bytes that are true where they are not
 * 0. */
static void fold_or(int64_t n, void *acc, const void *src) {
    *(char *)acc = *(const char *)acc || some(n, src, true);
}

static void fold_and(int64_t n, void *acc, const void *src) {
    *(char *)acc = *(const char *)acc && !some(n, src, false);
}

void asn_kernels_predicates_avx2(asnd_kernels *k) {
    k->fold[ASN_OP_LOGICAL_OR][ASN_BOOL] = fold_or;
    k->fold[ASN_OP_LOGICAL_AND][ASN_BOOL] = fold_and;
    static const asn_dtype dtypes[6] = {ASN_F64, ASN_F32, ASN_I64,
                                        ASN_U64, ASN_I32, ASN_U32};
#define ROW(name, op)                                                                    \
    {                                                                                    \
        ASN_OP_##op, {                                                                   \
            name##_f64, name##_f32, name##_i64, name##_u64, name##_i32, name##_u32       \
        }                                                                                \
    }
    static const struct {
        asn_op op;
        asnd_ew_fn fn[6];
    } rows[KINDS] = {
        [LESS] = ROW(less, LESS),
        [LESS_EQUAL] = ROW(less_equal, LESS_EQUAL),
        [GREATER] = ROW(greater, GREATER),
        [GREATER_EQUAL] = ROW(greater_equal, GREATER_EQUAL),
        [EQUAL] = ROW(equal, EQUAL),
        [NOT_EQUAL] = ROW(not_equal, NOT_EQUAL),
        [IS_NAN] = {ASN_OP_ISNAN, {isnan_f64, isnan_f32}},
        [IS_INF] = {ASN_OP_ISINF, {isinf_f64, isinf_f32}},
        [IS_FINITE] = {ASN_OP_ISFINITE, {isfinite_f64, isfinite_f32}},
        [SIGN_BIT] = {ASN_OP_SIGNBIT, {signbit_f64, signbit_f32}},
        [IS_TRUE] = ROW(is_true, CAST),
    };
    /* The loops that were there stay for rows of fewer than STEP elements. */
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 6 && rows[kind].fn[i]; i++) {
            asnd_ew_fn *slot = kind == IS_TRUE ? &k->cast[dtypes[i]][ASN_BOOL]
                                               : &k->ew[rows[kind].op][dtypes[i]];
            other[kind][dtypes[i]] = *slot;
            *slot = rows[kind].fn[i];
        }
}
#endif
