/* CPU device: the passes of a selection among values with AVX2 (see pick.h). */
#include "device/cpu/sort/pick.h"

#if defined(__x86_64__)
#include <math.h>

#include "device/cpu/simd/first_lanes_avx2.h"

INLINE unsigned bits_4(__m256i mask) {
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}
INLINE unsigned bits_8(__m256i mask) {
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(mask));
}

/* x < y, as bits; there is no comparison of unsigned numbers */
INLINE unsigned less_i32(__m256i x, __m256i y) {
    return bits_4(_mm256_cmpgt_epi32(y, x));
}
INLINE unsigned less_u32(__m256i x, __m256i y) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    return less_i32(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
}
INLINE unsigned less_f32(__m256i x, __m256i y) {
    return (unsigned)_mm256_movemask_ps(
        _mm256_cmp_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y), _CMP_LT_OQ));
}
INLINE unsigned less_i64(__m256i x, __m256i y) {
    return bits_8(_mm256_cmpgt_epi64(y, x));
}
INLINE unsigned less_u64(__m256i x, __m256i y) {
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    return less_i64(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
}
INLINE unsigned less_f64(__m256i x, __m256i y) {
    return (unsigned)_mm256_movemask_pd(
        _mm256_cmp_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(y), _CMP_LT_OQ));
}
INLINE __m256i nans_f32(__m256i x) {
    __m256 v = _mm256_castsi256_ps(x);
    return _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
INLINE __m256i nans_f64(__m256i x) {
    __m256d v = _mm256_castsi256_pd(x);
    return _mm256_castpd_si256(_mm256_cmp_pd(v, v, _CMP_UNORD_Q));
}
INLINE __m256i all_4(const void *value) {
    return _mm256_set1_epi32(*(const int32_t *)value);
}
INLINE __m256i all_8(const void *value) {
    return _mm256_set1_epi64x(*(const int64_t *)value);
}

#define NO_NANS(x) _mm256_setzero_si256()

#define T       int32_t
#define F(n)    n##_i32
#define W(n)    n##_4
#define LANES   8
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx2.inc"
#define T       uint32_t
#define F(n)    n##_u32
#define W(n)    n##_4
#define LANES   8
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx2.inc"
#define T       float
#define F(n)    n##_f32
#define W(n)    n##_4
#define LANES   8
#define NANS(x) nans_f32(x)
#include "device/cpu/sort/pick_avx2.inc"
#define T       int64_t
#define F(n)    n##_i64
#define W(n)    n##_8
#define LANES   4
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx2.inc"
#define T       uint64_t
#define F(n)    n##_u64
#define W(n)    n##_8
#define LANES   4
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx2.inc"
#define T       double
#define F(n)    n##_f64
#define W(n)    n##_8
#define LANES   4
#define NANS(x) nans_f64(x)
#include "device/cpu/sort/pick_avx2.inc"

const asnd_pick_loops asn_pick_avx2[ASN_DTYPE_COUNT] = {
    [ASN_I32] = {within_i32, part_i32}, [ASN_U32] = {within_u32, part_u32},
    [ASN_F32] = {within_f32, part_f32}, [ASN_I64] = {within_i64, part_i64},
    [ASN_U64] = {within_u64, part_u64}, [ASN_F64] = {within_f64, part_f64},
};

#else
typedef int asnd_pick_avx2_unused;
#endif
