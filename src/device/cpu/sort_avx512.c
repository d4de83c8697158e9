/* CPU device: sorting keys with AVX-512.
 *
 * A quicksort that partitions whole registers: keys below the pivot are compressed to the
 * front of the other buffer, the rest to its end, and the buffers change roles, so no key
 * is read before it is overwritten and nothing depends on the data but two counts. Eight
 * registers or fewer are sorted by a bitonic network (Batcher, AFIPS 1968) in registers.
 * Measured on one core of a Zen 4 (random float64): see
 * docs/design/0006-ordering-and-moving.md.
 *
 * Many short lines are sorted side by side instead, one line per lane: then a network
 * needs no permutations at all.
 */
#include "device/cpu/sort_vector.h"

#include <string.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>

static inline void append_index_4(__mmask16 chosen, const uint32_t *from, uint32_t *to,
                                  int count) {
    __m512i x = _mm512_maskz_loadu_epi32(chosen, from);
    _mm512_mask_storeu_epi32(to, (__mmask16)((1u << count) - 1),
                             _mm512_maskz_compress_epi32(chosen, x));
}

static inline void append_index_8(__mmask8 chosen, const uint32_t *from, uint32_t *to,
                                  int count) {
    __m256i x = _mm256_maskz_loadu_epi32(chosen, from);
    _mm256_mask_storeu_epi32(to, (__mmask8)((1u << count) - 1),
                             _mm256_maskz_compress_epi32(chosen, x));
}

#define K                       uint32_t
#define F(n)                    n##_4
#define MASK_4                  __mmask16
#define SIGNED_4                int32_t
#define FIRST_4(n)              ((__mmask16)((1u << (n)) - 1))
#define VEC_4(n)                VEC_4_##n
#define VEC(n)                  VEC_4(n)
#define SHIFT                   4
#define VEC_4_permutexvar(i, x) _mm512_permutexvar_epi32(i, x)
#define VEC_4_mask_max          _mm512_mask_max_epu32
#define VEC_4_min               _mm512_min_epu32
#define VEC_4_max               _mm512_max_epu32
#define VEC_4_mask_loadu        _mm512_mask_loadu_epi32
#define VEC_4_mask_storeu       _mm512_mask_storeu_epi32
#define VEC_4_set1              _mm512_set1_epi32
#define VEC_4_cmple             _mm512_cmple_epu32_mask
#define VEC_4_cmplt             _mm512_cmplt_epu32_mask
#define VEC_4_maskz_compress    _mm512_maskz_compress_epi32
#include "device/cpu/sort_avx512.inc"

#define K                       uint64_t
#define F(n)                    n##_8
#define MASK_8                  __mmask8
#define SIGNED_8                int64_t
#define FIRST_8(n)              ((__mmask8)((1u << (n)) - 1))
#define VEC_8(n)                VEC_8_##n
#define VEC(n)                  VEC_8(n)
#define SHIFT                   3
#define VEC_8_permutexvar(i, x) _mm512_permutexvar_epi64(i, x)
#define VEC_8_mask_max          _mm512_mask_max_epu64
#define VEC_8_min               _mm512_min_epu64
#define VEC_8_max               _mm512_max_epu64
#define VEC_8_mask_loadu        _mm512_mask_loadu_epi64
#define VEC_8_mask_storeu       _mm512_mask_storeu_epi64
#define VEC_8_set1              _mm512_set1_epi64
#define VEC_8_cmple             _mm512_cmple_epu64_mask
#define VEC_8_cmplt             _mm512_cmplt_epu64_mask
#define VEC_8_maskz_compress    _mm512_maskz_compress_epi64
#include "device/cpu/sort_avx512.inc"

bool asn_sort_vector_ready(void) {
    return asn_cpu_isa() >= ASN_ISA_AVX512;
}

/* Twice the depth of even partitions, before the radix sort takes over. */
static int depth_limit(int64_t n) {
    return n ? 2 * (64 - __builtin_clzll((uint64_t)n)) : 0;
}

void asn_sort_vector(int bytes, void *keys, void *spare, int64_t n) {
    if (bytes == 4)
        quicksort_4(keys, spare, n, false, depth_limit(n));
    else
        quicksort_8(keys, spare, n, false, depth_limit(n));
}

void asn_sort_columns(int bytes, void *tile, int64_t rows) {
    if (bytes == 4)
        sort_columns_4(tile, rows);
    else
        sort_columns_8(tile, rows);
}

#endif
