/* CPU device: sorting keys with AVX-512.
 *
 * A quicksort that partitions whole registers (as Bramas, IJACSA 8, 2017, and Wassenberg
 * et al., 2022). 64-bit keys in place: a register is ordered by one move of lanes and
 * stored whole at both ends. 32-bit keys, of which no table has the moves, from one
 * buffer to two. What is left is sorted by networks (sort_network.inc). Nothing depends
 * on the data but counts; twice the depth of even partitions, and the radix sort takes
 * over.
 *
 * Many short lines are sorted side by side instead, one line per lane: then a network
 * needs no permutations at all. Figures: docs/design/0006-ordering-and-moving.md.
 */
#include "device/cpu/sort/sort_vector.h"

#include <string.h>

#include "device/cpu/simd/first_lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "device/cpu/simd/mask_count_avx512.h"

#define INLINE __attribute__((always_inline)) static inline

/* Positions of chosen keys, `count` of them, to memory; no more is touched. */
static inline void append_index_4(__mmask16 chosen, const uint32_t *from, uint32_t *to,
                                  int count) {
    __m512i x = _mm512_maskz_loadu_epi32(chosen, from);
    _mm512_mask_storeu_epi32(to, (__mmask16)((1u << count) - 1),
                             _mm512_maskz_compress_epi32(chosen, x));
}

/* Eight keys have eight positions of 32 bits: half a register. */
static inline void append_index_8(__mmask8 chosen, const uint32_t *from, uint32_t *to,
                                  int count) {
    __m256i x = _mm256_maskz_loadu_epi32(chosen, from);
    _mm256_mask_storeu_epi32(to, (__mmask8)((1u << count) - 1),
                             _mm256_maskz_compress_epi32(chosen, x));
}

/* Registers of a block: a partition's reads wait for the counts of the block before. */
enum { AHEAD = 8, FAR = 4 << 20 /* bytes: past the second cache, reads are announced */ };
enum { LEAF_TILES = 8 }; /* of what is sorted by networks alone */

/* Whose keys are themselves; signed integers; floating-point numbers. */
typedef enum { PLAIN, SIGNED, FLOAT } number_kind;
typedef struct {
    number_kind from, to; /* what is read and what is written */
} coding;
/* Between a tile and another one of a merge, the lower or the upper of which it becomes:
 * register by register, or with the mirrored one. */
typedef enum { ALONE, LOWER, UPPER, LOWER_MIRRORED, UPPER_MIRRORED } tile_steps;

#define K                       uint32_t
#define F(n)                    n##_4
#define MASK_4                  __mmask16
#define SIGNED_4                int32_t
#define FIRST_4(n)              ((__mmask16)((1u << (n)) - 1))
#define COUNT_4(mask)           asn_mask_count_16(mask)
#define VEC_4(n)                VEC_4_##n
#define VEC(n)                  VEC_4(n)
#define SHIFT                   4
#define EACH_LANE               0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define VEC_4_permutexvar(i, x) _mm512_permutexvar_epi32(i, x)
#define VEC_4_permutex2var      _mm512_permutex2var_epi32
#define VEC_4_mask_blend        _mm512_mask_blend_epi32
#define VEC_4_mask_max          _mm512_mask_max_epu32
#define VEC_4_min               _mm512_min_epu32
#define VEC_4_max               _mm512_max_epu32
#define VEC_4_mask_loadu        _mm512_mask_loadu_epi32
#define VEC_4_mask_storeu       _mm512_mask_storeu_epi32
#define INFINITE_4              0x7f800000
#define VEC_4_srai(x, n)        _mm512_srai_epi32(x, n)
#define VEC_4_cmpgt             _mm512_cmpgt_epi32_mask
#define VEC_4_set1              _mm512_set1_epi32
#define VEC_4_cmple             _mm512_cmple_epu32_mask
#define VEC_4_cmplt             _mm512_cmplt_epu32_mask
#define VEC_4_maskz_compress    _mm512_maskz_compress_epi32
#include "device/cpu/sort/sort_network.inc"
#include "device/cpu/sort/sort_tiles.inc"
#include "device/cpu/sort/sort_avx512.inc"

#define K                       uint64_t
#define F(n)                    n##_8
#define MASK_8                  __mmask8
#define SIGNED_8                int64_t
#define FIRST_8(n)              ((__mmask8)((1u << (n)) - 1))
#define COUNT_8(mask)           asn_mask_count_8(mask)
#define VEC_8(n)                VEC_8_##n
#define VEC(n)                  VEC_8(n)
#define SHIFT                   3
#define EACH_LANE               0, 1, 2, 3, 4, 5, 6, 7
#define VEC_8_permutexvar(i, x) _mm512_permutexvar_epi64(i, x)
#define VEC_8_permutex2var      _mm512_permutex2var_epi64
#define VEC_8_mask_blend        _mm512_mask_blend_epi64
#define VEC_8_mask_max          _mm512_mask_max_epu64
#define VEC_8_min               _mm512_min_epu64
#define VEC_8_max               _mm512_max_epu64
#define VEC_8_mask_loadu        _mm512_mask_loadu_epi64
#define VEC_8_mask_storeu       _mm512_mask_storeu_epi64
#define INFINITE_8              0x7ff0000000000000
#define VEC_8_srai(x, n)        _mm512_srai_epi64(x, n)
#define VEC_8_cmpgt             _mm512_cmpgt_epi64_mask
#define VEC_8_set1              _mm512_set1_epi64
#define VEC_8_cmple             _mm512_cmple_epu64_mask
#define VEC_8_cmplt             _mm512_cmplt_epu64_mask
#define VEC_8_maskz_compress    _mm512_maskz_compress_epi64
#include "device/cpu/sort/sort_network.inc"
#include "device/cpu/sort/sort_tiles.inc"
#include "device/cpu/sort/sort_avx512.inc"

/* asnd_sort_loops.numbers, of all 32 and 64-bit dtypes: NaN and -0.0 are keys of their
 * own in registers. */
static bool sort_numbers(asn_dtype dt, void *to, const void *from, void *spare,
                         int64_t n) {
    switch (dt) {
    case ASN_U32: sort_numbers_4(from, to, spare, n, PLAIN); return true;
    case ASN_I32: sort_numbers_4(from, to, spare, n, SIGNED); return true;
    case ASN_F32: sort_numbers_4(from, to, spare, n, FLOAT); return true;
    case ASN_U64: sort_numbers_8(from, to, spare, n, PLAIN); return true;
    case ASN_I64: sort_numbers_8(from, to, spare, n, SIGNED); return true;
    case ASN_F64: sort_numbers_8(from, to, spare, n, FLOAT); return true;
    default: return false;
    }
}

#define SORT_KEYS_AS , PLAIN
#include "device/cpu/sort/sort_loops.inc"

const asnd_sort_loops asn_sort_avx512 = {
    sort,
    part,
    columns,
    INT64_MAX,
    sort_numbers,
    collect_within_4,
    collect_within_8,
    three_ways_4,
    three_ways_8,
    three_ways_alone_4,
    three_ways_alone_8,
    NULL,
    NULL,
};

#endif
