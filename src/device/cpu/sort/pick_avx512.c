/* CPU device: the passes of a selection among values with AVX-512 (see pick.h). */
#include "device/cpu/sort/pick.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline

enum { BLOCK = 8 /* registers */ };
typedef __mmask16 mask_4;
typedef __mmask8 mask_8;

INLINE mask_4 less_i32(__m512i x, __m512i y) {
    return _mm512_cmplt_epi32_mask(x, y);
}
INLINE mask_4 less_u32(__m512i x, __m512i y) {
    return _mm512_cmplt_epu32_mask(x, y);
}
INLINE mask_4 less_f32(__m512i x, __m512i y) {
    return _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), _CMP_LT_OQ);
}
INLINE mask_8 less_i64(__m512i x, __m512i y) {
    return _mm512_cmplt_epi64_mask(x, y);
}
INLINE mask_8 less_u64(__m512i x, __m512i y) {
    return _mm512_cmplt_epu64_mask(x, y);
}
INLINE mask_8 less_f64(__m512i x, __m512i y) {
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(x), _mm512_castsi512_pd(y), _CMP_LT_OQ);
}
INLINE mask_4 nans_f32(__m512i x) {
    __m512 v = _mm512_castsi512_ps(x);
    return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
}
INLINE mask_8 nans_f64(__m512i x) {
    __m512d v = _mm512_castsi512_pd(x);
    return _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q);
}
INLINE __m512i all_4(const void *value) {
    return _mm512_set1_epi32(*(const int32_t *)value);
}
INLINE __m512i all_8(const void *value) {
    return _mm512_set1_epi64(*(const int64_t *)value);
}
INLINE mask_4 first_of_4(int64_t n) {
    return n >= 16 ? 0xffff : (mask_4)((1u << n) - 1);
}
INLINE mask_8 first_of_8(int64_t n) {
    return n >= 8 ? 0xff : (mask_8)((1u << n) - 1);
}
INLINE __m512i load_some_4(mask_4 lanes, const void *from) {
    return _mm512_maskz_loadu_epi32(lanes, from);
}
INLINE __m512i load_some_8(mask_8 lanes, const void *from) {
    return _mm512_maskz_loadu_epi64(lanes, from);
}
INLINE void store_some_4(void *to, mask_4 lanes, __m512i x) {
    _mm512_mask_storeu_epi32(to, lanes, x);
}
INLINE void store_some_8(void *to, mask_8 lanes, __m512i x) {
    _mm512_mask_storeu_epi64(to, lanes, x);
}
INLINE __m512i compress_4(mask_4 lanes, __m512i x) {
    return _mm512_maskz_compress_epi32(lanes, x);
}
INLINE __m512i compress_8(mask_8 lanes, __m512i x) {
    return _mm512_maskz_compress_epi64(lanes, x);
}

#define NO_NANS(x) 0

#define T       int32_t
#define F(n)    n##_i32
#define W(n)    n##_4
#define LANES   16
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx512.inc"
#define T       uint32_t
#define F(n)    n##_u32
#define W(n)    n##_4
#define LANES   16
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx512.inc"
#define T       float
#define F(n)    n##_f32
#define W(n)    n##_4
#define LANES   16
#define NANS(x) nans_f32(x)
#include "device/cpu/sort/pick_avx512.inc"
#define T       int64_t
#define F(n)    n##_i64
#define W(n)    n##_8
#define LANES   8
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx512.inc"
#define T       uint64_t
#define F(n)    n##_u64
#define W(n)    n##_8
#define LANES   8
#define NANS(x) NO_NANS(x)
#include "device/cpu/sort/pick_avx512.inc"
#define T       double
#define F(n)    n##_f64
#define W(n)    n##_8
#define LANES   8
#define NANS(x) nans_f64(x)
#include "device/cpu/sort/pick_avx512.inc"

const asnd_pick_loops asn_pick_avx512[ASN_DTYPE_COUNT] = {
    [ASN_I32] = {within_i32, part_i32}, [ASN_U32] = {within_u32, part_u32},
    [ASN_F32] = {within_f32, part_f32}, [ASN_I64] = {within_i64, part_i64},
    [ASN_U64] = {within_u64, part_u64}, [ASN_F64] = {within_f64, part_f64},
};

#else
typedef int asnd_pick_avx512_unused;
#endif
