/* CPU device: what the generated loops and the loop templates share. */
#ifndef ASN_DEVICE_CPU_LOOPS_LOOP_H
#define ASN_DEVICE_CPU_LOOPS_LOOP_H

#include "device/cpu/kernels.h"
#include "device/cpu/math/scalar.h"
#include "device/cpu/simd/simd.h"
#include "device/cpu/math/vmath.h"

/* The iterations are independent: dst is an input exactly, or overlaps none. */
#if defined(__clang__)
#define ASN_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASN_IVDEP _Pragma("GCC ivdep")
#endif

/* A short loop of known length over accumulators, which then stay in registers. */
#if defined(__clang__)
#define ASN_UNROLLED _Pragma("unroll")
#else
#define ASN_UNROLLED _Pragma("GCC unroll 16")
#endif

/* The last elements of a row. Compilers finish a vector loop with up to 63 scalar steps,
 * which shows for one-byte
 * dtypes and short rows (four operations on a bool row of 1020: 132 ns, 121 with this).
 * With AVX-512 the rest is loaded under a mask into one whole vector's worth of elements,
 * its spare lanes filled with the first of them so that they raise no flag of their own,
 * and computed like the others. ASN_LANES: elements that fit a vector in the widest of
 * the dtypes. */
#if defined(__AVX512BW__)
#include <immintrin.h>
#define ASN_WIDEST(x, y)    ((x) > (y) ? (x) : (y))
#define ASN_LANES(a, b, o)  (64 / ASN_WIDEST(ASN_WIDEST(a, b), o))
#define ASN_WHOLE(n, lanes) ((n) & ~(int64_t)((lanes) - 1))

/* to: 64 bytes, aligned; 1 <= count, count * item below 64. */
static inline void asn_tail_load(void *to, const void *from, int64_t count, size_t item) {
    __mmask64 mask = ((uint64_t)1 << (size_t)count * item) - 1;
    __m512i fill = item == 1   ? _mm512_set1_epi8(*(const char *)from)
                   : item == 2 ? _mm512_set1_epi16(*(const short *)from)
                   : item == 4 ? _mm512_set1_epi32(*(const int *)from)
                   : item == 8 ? _mm512_set1_epi64(*(const long long *)from)
                               : _mm512_broadcast_i32x4(_mm_loadu_si128(from));
    _mm512_store_si512(to, _mm512_mask_loadu_epi8(fill, mask, from));
}

/* The first `count` elements of the 64 bytes at `from`; memory beyond is not touched. */
static inline void asn_tail_store(void *to, const void *from, int64_t count,
                                  size_t item) {
    __mmask64 mask = ((uint64_t)1 << (size_t)count * item) - 1;
    _mm512_mask_storeu_epi8(to, mask, _mm512_load_si512(from));
}
#endif

#endif
