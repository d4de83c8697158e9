/* L1 random: bit generators behind one small interface, and the distributions drawn from
 * them.
 *
 * Every algorithm is public and every stream is NumPy's, bit for bit, for the same seed:
 * SeedSequence, PCG64 and PCG64DXSM after M. E. O'Neill, MT19937 after Matsumoto and
 * Nishimura, Philox after Salmon et al., SFC64 after C. Doty-Humphrey,
 * bounded integers after D. Lemire, normals by the ziggurat (Marsaglia and Tsang;
 * Generator) or the polar method (RandomState).
 */
#ifndef ASN_RANDOM_BITGEN_H
#define ASN_RANDOM_BITGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ASN_PHILOX is the device's 4x32 cipher, ASN_PHILOX4X64 NumPy's. All but the twister
 * draw words of 64 bits. */
typedef enum {
    ASN_PCG64,
    ASN_PCG64DXSM,
    ASN_MT19937,
    ASN_PHILOX,
    ASN_PHILOX4X64,
    ASN_SFC64,
} asn_bitgen_kind;

typedef struct {
    asn_bitgen_kind kind;
    bool has_uint32; /* the upper half of the last 64 bits waits in uinteger */
    uint32_t uinteger;
    union {
        struct {
            /* ASN_PHILOX: the number of the next word, and the key */
            unsigned __int128 state, inc;
        } pcg;
        struct {
            uint32_t key[624];
            int pos;
        } mt;
        struct {
            uint64_t counter[4], key[2], buffer[4];
            int pos; /* words of buffer that are used; 4: none is left */
        } philox;
        struct {
            uint64_t s[4]; /* the last is a counter */
        } sfc;
    };
    bool has_gauss; /* RandomState's second polar normal waits */
    double gauss;
} asn_bitgen;

/* SeedSequence: the pool (numpy.random's default is 4 words) mixed from entropy, and
 * words drawn from it. */
void asn_seed_mix(const uint32_t *entropy, size_t n, uint32_t *pool, size_t pool_size);
void asn_seed_generate(const uint32_t *pool, size_t pool_size, uint32_t *words, size_t n);

/* From four 64-bit words of a SeedSequence; kind: ASN_PCG64 or ASN_PCG64DXSM. */
void asn_pcg64_seed(asn_bitgen *g, asn_bitgen_kind kind, const uint64_t words[4]);
/* From three words. */
void asn_sfc64_seed(asn_bitgen *g, const uint64_t words[3]);
void asn_philox4x64_seed(asn_bitgen *g, const uint64_t counter[4], const uint64_t key[2]);
/* RandomState's seeding by one integer, and by an array (init_by_array). */
void asn_mt19937_seed(asn_bitgen *g, uint32_t seed);
void asn_mt19937_seed_array(asn_bitgen *g, const uint32_t *key, size_t n);
/* Philox 4x32-10 from one 64-bit key. */
void asn_philox_seed(asn_bitgen *g, uint64_t key);
/* PCG64, PCG64DXSM and ASN_PHILOX move on by delta words; philox4x64 by blocks of four.
 */
void asn_pcg64_advance(asn_bitgen *g, unsigned __int128 delta);
void asn_philox4x64_advance(asn_bitgen *g, const uint64_t blocks[4]);
/* The twister after 2^128 more words. */
ASN_CHECK_RESULT asn_status asn_mt19937_jump(asn_bitgen *g);

/* Words [first, first + n) of a key's Philox stream, and the numbers in [0, 1) they
 * make. */
void asn_philox_words(uint64_t key, uint64_t first, int64_t n, uint64_t *out);
void asn_philox_doubles(uint64_t key, uint64_t first, int64_t n, double *out);

uint64_t asn_next64(asn_bitgen *g);
uint32_t asn_next32(asn_bitgen *g);
/* Uniform in [0, 1): 53 bits. */
double asn_next_double(asn_bitgen *g);

void asn_fill_double(asn_bitgen *g, int64_t n, double *out);
/* 24 bits. */
void asn_fill_float(asn_bitgen *g, int64_t n, float *out);
void asn_fill_normal(asn_bitgen *g, int64_t n, double *out);
void asn_fill_normal_float(asn_bitgen *g, int64_t n, float *out);
void asn_fill_gauss(asn_bitgen *g, int64_t n, double *out);
/* offset + an integer in [0, range], as unsigned values of `bytes` = 1, 2, 4 or 8
 * (wrapping additions make signed ranges work); bytes 0: bool, one byte each. masked:
 * RandomState's rejection by bit mask instead of Lemire's method. */
void asn_fill_bounded(asn_bitgen *g, int64_t n, int bytes, bool masked, uint64_t offset,
                      uint64_t range, void *out);
/* The same with a range and an offset per element: each range is drawn by its own width,
 * the words of 8 and 16 bits are shared. */
void asn_fill_bounded_each(asn_bitgen *g, int64_t n, int bytes, bool masked,
                           const uint64_t *offset, const uint64_t *range, void *out);

/* Fisher and Yates down to `first`: order[first ..] shuffled with all before it. masked:
 * positions by rejection under a bit mask (shuffle, permutation), else Lemire's (choice).
 */
void asn_shuffle(asn_bitgen *g, bool masked, int64_t n, int64_t first, int64_t *order);
/* k distinct of 0 ... n - 1 (Floyd's method), in random order when shuffled. */
ASN_CHECK_RESULT asn_status asn_sample(asn_bitgen *g, int64_t n, int64_t k, bool shuffled,
                                       int64_t *out);

#endif
